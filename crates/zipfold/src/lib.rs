//! All-pairs and sum-product computing: say what one pair is, and what you want to know about all
//! of them.
//!
//! ```
//! use zipfold::{Table, pairs};
//! let a = Table::f64(2, 2, vec![0.0, 0.0, 3.0, 4.0])?;
//! let d = pairs(&a).metric("euclidean").matrix()?;
//! assert_eq!(d, [0.0, 5.0, 5.0, 0.0]);
//! # Ok::<(), zipfold::Error>(())
//! ```
#![forbid(unsafe_code)]

mod beside;
mod checkpoint;
pub mod closure;
pub mod device;
mod footprint;
pub mod identity;
pub mod library;
pub mod matches;
mod options;
mod outcome;
pub mod partial;
mod places;
pub mod pool;
pub mod query;
pub mod ranges;
pub mod reading;
pub mod run;
pub mod shards;
pub mod slices;
mod units;
pub mod warnings;

pub use library::{Pairs, pairs};
pub use options::{Lent, Options, Progress, Target};
pub use outcome::{Outcome, Output};
pub use query::{Answer, Query};
pub use run::run;
pub use zipfold_core as core;
pub use zipfold_core::{
    Blame, Budget, Data, Error, Job, Message, Problem, Result, Table, describe,
};
pub use zipfold_cpu as cpu;
pub use zipfold_gpu as gpu;
pub use zipfold_io as io;
pub use zipfold_plan as plan;
pub use zipfold_product as product;

pub mod contract;
pub mod infer;
