//! The cells to visit, and the periodic boxes that differences live in.

pub mod cell;
pub mod curve;
mod shape;

pub use cell::Cell;
pub use shape::{Cells, Space};
