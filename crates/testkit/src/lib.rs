//! The case suite: problems, inputs and expected values or errors as data (`cases/`), run on the
//! oracle and on the CPU engine for every instruction set, number of threads and tiling; and
//! generators for property tests.
#![forbid(unsafe_code)]

pub mod case;
pub mod compare;
pub mod everywhere;
pub mod formulas;
pub mod inputs;
pub mod questions;
pub mod runner;
pub mod specification;

pub use case::{Case, load};
pub use inputs::Lcg;
pub use questions::Question;
pub use runner::check;
