//! Execution of sum-product plans (DESIGN 9): matrix and bucket kernels over scaled tables, forward and backward.

pub mod bucket;
pub mod contract;
pub mod engine;
pub mod gather;
pub mod held;
mod lanes;
mod logs;
pub mod matrix;
mod micro;
mod pack;
mod pick;
mod places;
pub mod real;
mod rows;
pub mod scaled;
pub mod semiring;
pub mod shape;
mod spread;
mod target;
pub mod vectors;

pub use contract::Fold;
pub use engine::{Engine, Forward, Marginals};
pub use real::Real;
