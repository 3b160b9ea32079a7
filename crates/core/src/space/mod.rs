//! The cells to visit.

mod cell;
mod shape;
pub use cell::Cell;
pub use shape::{Cells, Space};
