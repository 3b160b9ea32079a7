//! What a histogram sums next to its counts, and how that is requested and read.

use super::values::BinValue;
use super::{Histogram, HistogramState};
use crate::fold::scale::Scale;

impl Histogram {
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
