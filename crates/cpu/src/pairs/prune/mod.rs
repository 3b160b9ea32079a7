//! Pruning: rows sorted so that near ones follow one another, and pairs left out, or settled whole,
//! that bounds tell enough of. What is left is evaluated as ever.
//!
//! Tiles are over the *sorted* rows, so that shares, checkpoints and threads work as without
//! pruning. Only folds whose answer does not depend on the order of pairs are pruned
//! ([`zipfold_plan::prune::mode`]), and folds by row of the pairs within a cut-off, whose values
//! are put into the order of the columns as given; so the answer has the same bits.

mod accumulators;
mod apart;
mod binned;
mod boxes;
mod column_grids;
mod cutoff;
mod cutoff_rows;
mod decision;
mod fused;
mod grid;
mod group_pairs;
mod hierarchy;
mod hull;
mod limits;
mod on_line;
mod open_pairs;
mod pair_formulas;
mod placed_tables;
mod range_search;
mod sorted;
mod squares;
mod traversal;
mod tree;

pub use apart::Hulls;
pub use column_grids::ColumnGridHistogram;
pub use cutoff::CutoffGrid;
#[doc(hidden)]
pub use group_pairs::{STEP, SortedGroups, add_pairs};
pub(super) use hull::Hull;
#[doc(hidden)]
pub use limits::{key, number};
pub use on_line::LineSweep;
pub use open_pairs::SortedRows;
pub use range_search::RangeSearch;
pub use squares::{RowsByPlace, squares};
pub use traversal::load_boxes;
