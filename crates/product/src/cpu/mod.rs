//! Execution of sum-product plans: matrix and bucket kernels over scaled tables, forward and
//! backward.

mod bounds;
pub mod bucket;
pub mod buffer_pool;
pub mod contract;
pub mod copies;
pub mod direct;
pub mod engine;
pub mod gather;
mod lanes;
mod logs;
pub mod matrix;
mod micro;
pub mod number;
mod pack;
mod permute;
mod pick;
mod pieces;
mod places;
pub mod prepared;
mod products;
pub mod real;
mod rows;
pub mod scaled;
pub mod semiring;
pub mod shape;
mod slices;
mod spread;
mod target;
mod tiles;
pub mod vectors;

pub use engine::{Engine, Forward, Marginals};
pub use prepared::Prepared;
pub use products::{Contracted, Fold};
pub use real::Real;
