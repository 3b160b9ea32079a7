//! The cells to visit.

mod shape;
pub use shape::{Cells, Space};
