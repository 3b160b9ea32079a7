//! Which pairs a question visits, and the periodic boxes that differences live in.
//!
//! `shape` is the domain and its size; `half` decides whether half of it suffices; `reach` and
//! `curve` arrange rows so that far pairs are not visited; `periodic_box` has the minimum image.

pub mod curve;
pub mod half;
pub mod periodic_box;
pub mod reach;
mod shape;

pub use periodic_box::PeriodicBox;
pub use reach::{Reach, Windows};
pub use shape::{Domain, Space};
