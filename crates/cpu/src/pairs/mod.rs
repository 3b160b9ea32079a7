//! All-pairs on the CPU: programs over lanes, hoisted rows, tiles, dense results.

pub mod dense;
pub mod engine;
mod gather;
pub mod lanes;
pub mod points;
pub mod program;
pub mod prune;
pub mod rows;
mod screen;
pub mod store;
mod sums;
pub mod vm;
pub mod zips;

pub use dense::{Shared, SharedMatrix};
pub use engine::{Element, load};
