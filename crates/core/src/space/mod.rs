//! The cells to visit, and the periodic boxes that differences live in.

pub mod curve;
pub mod half;
pub mod periodic_box;
pub mod reach;
mod shape;

pub use periodic_box::PeriodicBox;
pub use reach::{Reach, Windows};
pub use shape::{Domain, Space};
