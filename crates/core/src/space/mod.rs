//! Which pairs a question visits, and the periodic boxes that differences live in.
//!
//! `shape` is the domain and its size; `band` has the columns that each row meets; `half` decides
//! whether half of a domain suffices; `reach` and `curve` arrange rows so that far pairs are not
//! visited; `periodic_box` has the minimum image.

pub mod band;
pub mod curve;
pub mod half;
pub mod periodic_box;
pub mod reach;
mod shape;

pub use band::{Band, Window};
pub use periodic_box::PeriodicBox;
pub use reach::{Reach, Windows};
pub use shape::{Domain, Space};
