//! Patterns of points: Ripley's functions in a window, and which kinds occur together. Descriptions on
//! top of histograms of distances by kind, without kernels of their own.
//!
//! ```text
//! table → positions, kinds, distances to the sides of the window            once
//! weights of the edge → a formula; pairs by distance and kinds              one question of the engine
//! counts or sums → K, L, g; ratios of probabilities                         once
//! points of a seed → the same question → envelopes                          for each simulation
//! ```

mod answer;
mod asked;
mod cooccurrence;
mod counts;
mod ripley;
mod shape;

pub use answer::{RipleyAnswer, RipleyCurve};
pub use asked::{Correction, NullModel, Ripley};
pub use cooccurrence::{Cooccurrence, Occurrences};
