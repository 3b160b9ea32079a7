//! What a histogram sums next to its counts, and how that is requested and read.

use super::odd::{INF, NAN, NEGATIVE_INF};
use super::values::BinValue;
use super::{Histogram, HistogramState};
use crate::fold::scale::{Scale, exponent};

/// Terms that a histogram sums by cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummedTerms {
    /// Weights of pairs: products of those of their rows, or a formula.
    Weights,
    /// Values of the first axis, for their means.
    Means,
    /// The values of a formula, by its number.
    Values(usize),
    /// Their squares.
    Squares(usize),
}

impl SummedTerms {
    /// What a sum notes of terms that are not finite: NaN, infinity, and the negative one.
    pub const ODD: [u8; 3] = [NAN, INF, NEGATIVE_INF];
}

impl Histogram {
    /// Returns what is summed of formulas, with the root of each, and the exponent of the largest
    /// of some sampled terms.
    pub fn summed_terms(&self) -> Vec<(SummedTerms, usize, i32)> {
        let weight = self.pair_weight.into_iter();
        let mut out: Vec<_> = weight
            .map(|root| (SummedTerms::Weights, root, self.weight_size))
            .collect();
        for (at, value) in self.values.iter().enumerate() {
            if value.has_sums() {
                out.push((SummedTerms::Values(at), value.root, value.size));
            }
            if value.has_squares() {
                // Of a number below 2^(e + 1).
                let size = 2 * value.size + 1;
                out.push((SummedTerms::Squares(at), value.root, size));
            }
        }
        out
    }
    /// Returns whether the least or the largest value of a formula is kept by bin.
    pub fn keeps_ends(&self) -> bool {
        self.values.iter().any(BinValue::has_ends)
    }
    /// Notes the largest value of each formula that is summed, of some sampled pairs: `largest` by
    /// root.
    pub(crate) fn note_sizes(&mut self, largest: &[f64]) {
        let size = |root: usize| match largest[root] {
            size if size > 0.0 && size.is_finite() => exponent(size),
            _ => 0,
        };
        self.weight_size = self.pair_weight.map_or(0, size);
        self.values
            .iter_mut()
            .for_each(|value| value.size = size(value.root));
    }
    /// Returns whether formulas are summed by bin: values, or pair weights.
    pub fn sums_formulas(&self) -> bool {
        self.pair_weight.is_some() || !self.values.is_empty()
    }
    /// Returns the exact additions that a pair in a bin takes.
    pub fn formula_terms(&self) -> usize {
        let of = |v: &BinValue| usize::from(v.has_sums()) + 2 * usize::from(v.has_squares());
        usize::from(self.pair_weight.is_some()) + self.values.iter().map(of).sum::<usize>()
    }
    /// Returns whether a cell keeps anything next to its count.
    pub fn is_summed(&self) -> bool {
        self.mean || self.weights.is_some() || self.sums_formulas()
    }
    /// Returns the histogram with formulas that are summed by bin, and the root of a pair weight.
    pub(in crate::fold) fn with_formulas(
        self,
        values: Vec<BinValue>,
        pair_weight: Option<usize>,
    ) -> Self {
        let weight_scale = match pair_weight {
            Some(_) => Scale::everything(),
            None => self.weight_scale,
        };
        Histogram {
            values,
            pair_weight,
            weight_scale,
            ..self
        }
    }

    /// Returns whether pairs have weights.
    pub(super) fn is_weighted(&self) -> bool {
        self.weights.is_some() || self.pair_weight.is_some()
    }
    /// Returns each statistic of each formula, by cell.
    pub fn statistics<'a>(
        &'a self,
        state: &'a HistogramState,
    ) -> impl Iterator<Item = (String, Vec<f64>)> + 'a {
        self.values
            .iter()
            .zip(&state.values)
            .flat_map(move |(value, kept)| {
                value.keep.iter().map(move |which| {
                    let cells = state.counts.iter().enumerate();
                    let of = |(cell, count): (usize, &u64)| kept.statistic(*which, cell, *count);
                    (
                        format!("{}.{}", value.name, which.name()),
                        cells.map(of).collect(),
                    )
                })
            })
    }
}
