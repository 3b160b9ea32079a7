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
//!
//! [`pairs`] begins a question. [`Query`] is the one handle of it: [`Query::plan`],
//! [`Query::explain`] and [`Query::run`], whose [`Answer`] has columns. [`network`] has sum-products.
#![forbid(unsafe_code)]

mod beside;
mod checkpoint;
mod closure;
mod contract;
mod device;
mod footprint;
mod identity;
mod infer;
pub mod internals;
mod library;
mod matches;
mod options;
mod outcome;
mod partial;
#[cfg(feature = "plot")]
mod picture;
mod places;
mod pool;
mod query;
mod ranges;
mod reading;
mod row_names;
mod run;
mod shards;
mod slices;
mod units;
mod warnings;
mod written;

pub use crate::closure::all_pairs;
pub use crate::library::{Pairs, pairs};
pub use crate::options::{Options, Progress, Target};
pub use crate::outcome::{Outcome, Output};
pub use crate::query::{Answer, Explained, Query};
pub use crate::warnings::Warnings;
pub use zipfold_core::budget::Budget;
pub use zipfold_core::data::Data;
pub use zipfold_core::error::{Blame, Error, Result};
pub use zipfold_core::message::Message;
pub use zipfold_core::problem::Problem;
pub use zipfold_core::table::{Precision, Table};
pub use zipfold_plan::Plan;
pub use zipfold_plan::overrides::Overrides;

/// The words of a [`Problem`]: what one pair is, which pairs are visited and what is kept of them.
pub mod problem {
    pub use zipfold_core::fold::rows::{Along, RowOp};
    pub use zipfold_core::fold::{Closed, QuantileSpec, SelectKind, TopSpec};
    pub use zipfold_core::pair::Param;
    pub use zipfold_core::problem::{AxisSpec, FoldSpec, Input, NanPolicy, PairSpec, SCHEMA};
    pub use zipfold_core::space::Domain;
}

/// The columns of an [`Answer`].
pub mod columns {
    pub use zipfold_core::fold::Tally;
    pub use zipfold_core::fold::columns::{Column, Columns, Layout, Numbers, Role};
    pub use zipfold_core::pair::tree::Side;
}

/// Tables from files, and how files are written.
pub mod io {
    pub use crate::reading::read_data;
    pub use zipfold_io::atomic::OutputOptions;
    pub use zipfold_io::read::ReadOptions;
    pub use zipfold_io::read::read_table;
}

/// The devices of this machine, and the choice among them.
pub mod devices {
    pub use zipfold_gpu::wanted::{Wanted, Which, list};
    pub use zipfold_plan::device::{Facts, Runtime};
}

/// Shares of a run: made anywhere, merged to the bits of one run.
pub mod shares {
    pub use crate::partial::{Partial, read, write};
    pub use crate::shards::{merge, part, problem_of};
}

/// Sum-products: exact inference in networks, and contraction of bare tables over a semiring.
pub mod network {
    pub use crate::contract::{Bare, contract, contract_logs};
    pub use crate::infer::{Inferred, Planned, Settings, explain, infer, samples};
    pub use zipfold_core::factor::evidence::Evidence;
    pub use zipfold_core::factor::network::{Kind, Names, Network};
    pub use zipfold_core::factor::semiring::{MaxProduct, MinSum, OrAnd, Semiring, SumProduct};
    pub use zipfold_core::factor::table::Factor;
    pub use zipfold_core::factor::task::{Answer, Task};
    pub use zipfold_io::network::{read_evidence, read_network};
}
