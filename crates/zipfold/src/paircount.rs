//! Counts of pairs of catalogues by separation, and correlation functions: a description on top of
//! questions about pairs, without kernels of its own.
//!
//! ```text
//! files → columns → positions, weights, regions of each catalogue          once
//! DD, DR, RR → a histogram each, of regions by pair of regions             a question of the engine
//! sums → ξ by an estimator → wp, multipoles, wedges                        once, and for each sample
//! samples → covariance
//! ```
//!
//! Bins are decided by the reference value of a pair and sums of weights are exact, so all numbers
//! have the same bits for any threads and devices.

mod answer;
mod asked;
mod catalogue;
mod counts;
mod estimate;
mod regions;
mod resample;
mod separation;

pub use answer::{Correlation, PairCounts, Term};
pub use asked::{Cut, Estimator, PairCount, Pip, Regions, Resample, Separation, Sight};
pub use catalogue::Catalogues;
pub(crate) use catalogue::{refuse_nan, sky};
