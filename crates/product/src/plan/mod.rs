//! The planner of sum-product problems: simplify, order, fit.
#![forbid(unsafe_code)]

pub mod absorb;
pub mod anneal;
pub mod barren;
mod bound;
pub mod cache;
mod copies;
pub mod cost;
pub mod forest;
pub mod fuse;
pub mod greedy;
pub mod groups;
pub mod joins;
pub mod local;
pub mod paged;
pub mod places;
pub mod planner;
pub mod reduce;
pub mod reduced;
pub mod scalar;
pub mod search;
pub mod slice;
pub mod sparse;
mod support;
pub mod sweep;
pub mod topology;

pub use cost::{Prediction, Rates};
pub use forest::{Node, Source};
pub use groups::{Group, Grouping, Joint, Split};
pub use joins::{Options, Pass, Plan};
pub use planner::plan;
pub use reduce::{Need, reduce};
pub use reduced::{Reduced, Table};
pub use scalar::Scalar;
