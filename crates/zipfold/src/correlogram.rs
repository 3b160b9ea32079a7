//! Correlograms of spike trains: how the spikes of each unit lie around those of each other one. A
//! description on top of one histogram, without a kernel of its own.
//!
//! ```text
//! table → times, the number of the unit of each spike                     once
//! axes unit i, unit j, t_j - t_i over ordered pairs → counts              one question of the engine
//! counts → rates, probabilities                                           once
//! ```
//!
//! The edges of the last axis bound the difference of times, so the engine visits spikes that are near
//! each other alone, of all units at once. The order of rows does not matter.

mod answer;
mod asked;

pub use answer::{Correlograms, LagUnits};
pub use asked::Correlogram;
