//! Measures of association of two rows over the samples that both have.
//!
//! A row may lack samples. A measure of ranks or medians then depends on the pair, so no product of
//! prepared rows gives it. Each file has one measure: rows are prepared once, and a call takes one
//! row of x with many rows of y.
//!
//! ```text
//! for each row i of x                                   on any thread
//!     for j in a range of rows of y
//!         common = samples of i & samples of j           words of bits
//!         the measure over them                          vectors over samples
//! ```
//!
//! The loops are plain Rust over fixed lanes, compiled for each instruction set. Integers are exact
//! and sums of floats have eight lanes and say where a product is fused, so all sets give the same bits.

mod biweight;
mod concordance;
mod moments;
mod presence;
mod ranks;
mod splines;

pub use biweight::BiweightRows;
pub use concordance::{Balance, ConcordanceRows, TieSums};
pub use moments::MomentRows;
pub use presence::Presence;
pub use ranks::RankRows;
pub use splines::SplineRows;

pub use zipfold_vector::simd::Isa;

use std::ops::Range;

/// Lanes of a sum of floats.
const LANES: usize = 8;

/// One row of x with some rows of y.
#[derive(Clone, Debug)]
pub struct Line {
    /// The row of x.
    pub row: usize,
    /// The rows of y.
    pub others: Range<usize>,
}

/// Values of the pairs of a [`Line`], and the samples that each has.
#[derive(Debug)]
pub struct Values<'a> {
    /// By row of y; NaN where the measure has no value.
    pub values: &'a mut [f64],
    /// Common samples.
    pub counts: &'a mut [u32],
}

/// The sum of the lanes, in pairs.
#[inline(always)]
fn total(lanes: &[f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = *lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}
