//! The planner of zipfold: from a job, a machine and the user's overrides to a plan.
//!
//! A plan holds every decision about how a question runs: strategies, tiles, precision, instruction
//! set, memory and predicted time. It changes speed, never an answer. Executors take its numbers as
//! they are and decide nothing again.
//!
//! Planning is a pure function: no I/O, no threads, no clock, no look at the hardware (a
//! [`Machine`] is an argument). So a plan can be tested, printed by `explain`, and made for a
//! machine that is somewhere else.
//!
//! ```text
//! choose(job, machine, overrides) → Plan      for the CPU (choose.rs)
//! device::plan_for(job, plan, facts, …) → Plan      the same with the work of a device
//! passes::for_ranges(…)                        a pass before it, if a histogram has no range
//! ```
//!
//! `cost` predicts seconds, `prune` decides whether pairs are left out, `filter`, `search` and
//! `points` recognise the questions that have kernels of their own.
#![forbid(unsafe_code)]

mod bytes;
mod choose;
pub mod cost;
pub mod device;
pub mod executor;
pub mod explain;
pub mod family;
pub mod filter;
mod groups;
mod kernels;
pub mod low_precision;
pub mod machine;
mod matches;
pub mod order;
pub mod overrides;
pub mod parts;
pub mod passes;
mod plan;
pub mod points;
pub mod prune;
pub mod search;
pub mod shares;
pub mod squares;
pub mod strategy;
pub mod sweep;
pub mod swept;
pub mod tiles;
pub mod worst_row;

pub use bytes::{dense_bytes, sorted_bytes, working_bytes};
pub use choose::choose;
pub use executor::{Executor, Folded, Sink, Stop, Values};
pub use machine::{Isa, Machine};
pub use matches::{MatchGoal, MatchPlan};
pub use order::Order;
pub use overrides::{Family, Overrides};
pub use plan::Plan;
pub use strategy::{Evaluator, Strategy};
pub use tiles::{SPAN, Tile, Tiling};
