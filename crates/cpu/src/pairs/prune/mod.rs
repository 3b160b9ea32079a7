//! Pruning: rows sorted so that near ones follow one another, and pairs left out, or settled whole,
//! that bounds tell enough of. What is left is evaluated as ever.
//!
//! Tiles are over the *sorted* rows, so that shares, checkpoints and threads work as without
//! pruning. Only folds whose answer does not depend on the order of pairs are pruned
//! ([`zipfold_plan::prune::mode`]), and folds by row of the pairs within a cut-off, whose values
//! are put into the order of the columns as given; so the answer has the same bits.

mod binned;
mod boxes;
mod fused;
mod grid;
mod limits;
mod meshes;
mod near;
mod near_rows;
mod range_search;
mod sheet;
mod sorted;
mod tree;
mod verdict;
mod walk;

pub use boxes::Boxes;
pub use meshes::Meshes;
pub use near::Near;
pub use range_search::RangeSearch;
