//! Variograms: how unlike the values of two places are, by their distance. A description on top of
//! histograms with values per bin, without kernels of its own.
//!
//! ```text
//! table → positions, one or two values of each row                       once
//! direction → a histogram of distances, formulas summed by lag           a question of the engine each
//! sums by lag → estimators → models by weighted least squares            once
//! ```
//!
//! All estimators of a direction are sums over the same pairs, so one sweep gives them all. A direction
//! leaves pairs out by terms of 0, so the sums have the exactness of values per bin.

mod answer;
mod asked;
mod lags;
mod models;

pub use answer::{Direction, LagCurve, Variograms};
pub use asked::{LagEstimator, Variogram};
pub use models::{FitWeights, FittedModel, VariogramModel};
