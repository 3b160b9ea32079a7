//! The cells to visit, and the periodic boxes that differences live in.

pub mod cell;
pub mod curve;
pub mod half;
pub mod reach;
mod shape;

pub use cell::Cell;
pub use reach::{Reach, Windows};
pub use shape::{Cells, Space};
