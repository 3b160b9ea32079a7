//! The planner of zipfold: a pure function from a problem, a machine and a budget to a plan. No
//! I/O, no clock.
#![forbid(unsafe_code)]

mod bytes;
mod choose;
pub mod cost;
pub mod device;
pub mod executor;
pub mod explain;
pub mod family;
mod kernels;
pub mod low_precision;
pub mod machine;
pub mod order;
pub mod overrides;
pub mod passes;
mod plan;
pub mod points;
pub mod prune;
pub mod screen;
pub mod search;
pub mod strategy;
pub mod sweep;
pub mod tiles;

pub use bytes::{dense_bytes, working_bytes};
pub use choose::choose;
pub use executor::{Executor, Folded, Sink, Stop, Values};
pub use machine::{Isa, Machine};
pub use order::Order;
pub use overrides::{Family, Overrides};
pub use plan::Plan;
pub use strategy::{Evaluator, Strategy};
pub use tiles::{SPAN, Tile, Tiling};
