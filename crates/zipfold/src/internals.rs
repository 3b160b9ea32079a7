//! Everything else, for the command, the Python package and the tests of this workspace. There is
//! no promise of stability: an item here may change or vanish with any version.

pub use zipfold_core as core;
pub use zipfold_cpu as cpu;
pub use zipfold_gpu as gpu;
pub use zipfold_io as io;
pub use zipfold_plan as plan;
pub use zipfold_product as product;

pub use zipfold_core::{Job, describe};

/// Networks of rows that go together.
pub mod association {
    pub use crate::association::*;
}

/// Sum-products of bare tables.
pub mod contract {
    pub use crate::contract::*;
}

/// Questions of jobs as text.
pub mod described {
    pub use crate::described::*;
}

/// Files that an answer may go to.
pub mod destination {
    pub use crate::destination::*;
}

/// Devices: found, opened, and given their part of a run.
pub mod device {
    pub use crate::device::*;
}

/// What decides an answer.
pub mod identity {
    pub use crate::identity::*;
}

/// Exact inference.
pub mod infer {
    pub use crate::infer::*;
}

/// Matches of a join, in order.
pub mod matches {
    pub use crate::matches::*;
}

/// Partial results as bytes and files.
pub mod partial {
    pub use crate::partial::*;
}

/// Pictures.
#[cfg(feature = "plot")]
pub mod picture {
    pub use crate::picture::*;
}

/// Threads.
pub mod pool {
    pub use crate::pool::*;
}

/// Problems in files.
pub mod problem_file {
    pub use crate::problem_file::*;
}

/// Questions and their answers.
pub mod query {
    pub use crate::query::*;
}

/// Ranges of histograms.
pub mod ranges {
    pub use crate::ranges::*;
}

/// Tables of a problem.
pub mod reading {
    pub use crate::reading::*;
}

/// Counts of pairs of catalogues.
pub mod paircount {
    pub use crate::paircount::*;
}

/// Matches of catalogues by position.
pub mod crossmatch {
    pub use crate::crossmatch::*;
}

/// Questions about one table.
pub mod one_table {
    pub use crate::one_table::*;
}

/// Distances of sets of rows.
pub mod set_distance {
    pub use crate::set_distance::*;
}

/// Silhouettes of labelled rows.
pub mod silhouette {
    pub use crate::silhouette::*;
}

/// Variograms of values at places.
pub mod variogram {
    pub use crate::variogram::*;
}

/// Correlograms of spike trains.
pub mod correlogram {
    pub use crate::correlogram::*;
}

/// Patterns of points: Ripley's functions, co-occurrence of kinds.
pub mod pattern {
    pub use crate::pattern::*;
}

/// Joins of tables by name.
pub mod tables {
    pub use crate::tables::*;
}

/// Radial distribution functions of trajectories.
pub mod rdf {
    pub use crate::distribution::*;
    pub use crate::saved::refuse;
}

/// Pages about answers.
#[cfg(feature = "plot")]
pub mod report {
    pub use crate::report::*;
}

/// Names of rows.
pub mod row_names {
    pub use crate::row_names::*;
}

/// The run loop.
pub mod run {
    pub use crate::planned_question::run;
    pub use crate::run::*;
}

/// Shards of a run.
pub mod shards {
    pub use crate::sharding::*;
}

/// Slices of a sum-product, their checkpoints, and their shares.
pub mod slices {
    pub use crate::shared_inference::*;
    pub use crate::shared_slices::*;
    pub use crate::slices::*;
}

/// Warnings of a run.
pub mod warnings {
    pub use crate::warnings::*;
}

/// Answers to files.
pub mod written {
    pub use crate::written::*;
}

/// Questions that are worked on in shares.
pub mod store {
    pub use crate::store::*;
}
