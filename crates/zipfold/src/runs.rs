//! Matches that memory does not hold: sorted runs in files, and the merge of many runs into one
//! order.
//!
//! ```text
//! batch 0 ─┬─ more than a batch may hold ──→ run 0-000001   sorted by (row, column)
//! batch 1 ─┤                                 run 0-000002
//!          └─ the rest, merged in order ───→ run 0-000003   when memory holds no more
//!                          all runs ──k-way merge, a block of each in memory──→ CSV, Parquet, NPZ
//! ```
//!
//! The order of rows and columns is total, so the merged rows are those of an answer in memory. Runs
//! lie in a folder of the job (`zipfold_io::runs`): next to its checkpoint, to its output, or to a
//! part of a store. A checkpoint and a part name their runs; what no file names goes with the folder.

mod facts;
mod merge;
mod records;
mod stores;

pub(crate) use facts::RunFacts;
pub(crate) use facts::folder_of;
pub(crate) use merge::MatchRuns;
pub(crate) use records::RecordForm;
pub(crate) use stores::{HELD_BY_PART, MatchStores, RunPlace, bytes_of_matches};
