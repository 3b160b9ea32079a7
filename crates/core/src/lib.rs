//! The vocabulary of zipfold and its meaning: problems, formulas, domains, folds, the oracle,
//! budgets.
//!
//! This crate says what an answer *is*. Everything that decides a bit of an answer is here or is
//! held to what is here; the planner, the kernels and the interfaces decide only how fast it comes
//! and how it looks.
//!
//! What it must not have: I/O, threads, a clock, `unsafe`, or code that differs between platforms.
//! So it can be tested by itself, and its results are reproducible. The way through it:
//!
//! ```text
//! Problem + Data ──describe──→ Job { low, space, folds, … }      (describe.rs)
//!   text ──parse──→ Formula ──by_images──→ ──Lowered::new──→     (pair/)
//!   Job ──oracle::run──→ states ──columns──→ the answer          (oracle.rs, fold/)
//! ```
#![forbid(unsafe_code)]

pub mod advice;
pub mod answers;
pub mod budget;
pub mod buffer;
pub mod columns;
pub mod conditions;
pub mod data;
pub mod describe;
pub mod error;
mod exact;
pub mod factor;
pub mod figures;
pub mod fold;
pub mod hash;
pub mod keys;
pub mod labels;
mod meaning;
pub mod message;
pub mod number;
pub mod open_axes;
pub mod opt;
pub mod oracle;
pub mod pair;
mod pair_values;
pub mod param_axis;
pub mod parts;
pub mod problem;
pub mod random;
pub mod renamed;
pub mod shown;
pub mod slices;
pub mod space;
pub mod suggest;
pub mod table;
mod text_or;
pub mod then;

pub use budget::{Budget, Reservation, Reserved};
pub use buffer::Buffer;
pub use data::Data;
pub use describe::{Job, describe};
pub use error::{Blame, Error, Result, TextSpan};
pub use fold::Tally;
pub use hash::Hash;
pub use labels::{Labels, Words};
pub use message::Message;
pub use opt::Opt;
pub use pair::Side;
pub use problem::Problem;
pub use random::Random;
pub use space::{Band, Domain, PeriodicBox, Reach, Space, Windows};
pub use table::{Elements, Precision, Table};
