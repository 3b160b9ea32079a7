//! Networks of rows that go together: correlations or mutual information of all pairs of rows,
//! their significance, and the edges that are kept.
//!
//! ```text
//! file → rows (genes) by samples, missing values                     once
//! strip of rows → values, common samples, evidence of its pairs      a question of the engine, or a
//!                                                                    kernel of pairs with gaps
//! sweep 1: counts of pairs by evidence → the bound of the false discovery rate
//! sweep 2: pairs beyond the bound, the best of each row → edges
//! edges → pruned triangles → names, weights, files
//! ```
//!
//! No sweep keeps a value of every pair: 20 000 rows have 200 million pairs, and the strips of a
//! sweep take some tens of MiB. Both sweeps compute the same bits, so a bound found by the first is
//! exact in the second.

mod answer;
mod asked;
mod discovery;
mod edges;
mod expression;
mod matrices;
mod measures;
mod prune;
mod scale_free;
mod sweep;
mod tails;
mod written;

pub use answer::{AssociationNetwork, Edges};
pub use asked::{Association, Measure, PowerSpec, Sign};
pub use expression::Expression;
pub use matrices::{Dense, DenseMatrix};
pub use scale_free::ScaleFree;
pub use written::{EDGES, refuse};
