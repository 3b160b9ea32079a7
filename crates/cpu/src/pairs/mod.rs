//! All-pairs on the CPU: programs over lanes, hoisted rows, tiles, dense results.

pub mod code;
pub mod dense;
pub mod engine;
mod farthest;
mod filter;
mod gather;
pub mod lanes;
mod load;
mod paired;
mod parts;
pub mod points;
pub mod program;
pub mod prune;
pub mod reductions;
pub mod rows;
pub mod store;
mod sums;
pub mod vm;
mod worst_row;

pub use dense::{Shared, SharedMatrix};
pub use load::{Blocks, load};
pub use reductions::Element;
#[doc(hidden)]
pub use worst_row::WorstRow;
