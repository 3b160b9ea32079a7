//! Finds bins among edges that are not evenly spaced, for a whole run of values at once.
//!
//! A binary search over all edges takes log₂(bins) dependent steps, each with a branch that is
//! mispredicted half of the time. Here a table narrows it down: the axis is cut into parts, and for
//! each part the table holds the first bin that its values may be in. The rest is a search over
//! `span` bins, the same number of steps for every value, without branches.
//!
//! Two ways to cut the axis are tried, and the one with fewer steps is kept: parts of equal width,
//! and parts of equal width in the bits of the numbers, which is nearly logarithmic and suits edges
//! such as 1, 10, 100.

use std::hint::select_unpredictable;

/// 2⁵². Adding it to a whole number below it leaves that number in the low 52 bits.
pub(super) const TWO_52: f64 = 4_503_599_627_370_496.0;
pub(super) const LAST_DIGITS: u64 = (1 << 52) - 1;

/// Parts of the axis for each bin, and at most this many that the table stays in the second cache.
const PARTS: usize = 4;
const MOST: usize = 1 << 20;

/// Returns the number of parts, a power of two.
fn parts(bins: usize) -> usize {
    (PARTS * bins).next_power_of_two().min(MOST)
}

/// Returns the bytes of the tables for this many bins: both candidates exist while one is chosen.
pub fn table_bytes(bins: u64) -> u64 {
    2 * 4 * parts(bins.min(MOST as u64) as usize) as u64
}

/// How the part of a value is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Key {
    /// Parts of equal width: `(first edge, parts per unit)`.
    Even(f64, f64),
    /// Parts of equal width in the bits of numbers from 0 on: `(first edge, last edge, bits left
    /// out)`. The bits of a positive f64, read as an integer, ascend with the number.
    Digits(f64, f64, u32),
}

/// A table over the parts of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finder {
    key: Key,
    /// By part, the first bin that its values may be in.
    firsts: Vec<u32>,
    /// From that bin on, how many bins may be theirs: the same for every part.
    span: usize,
}

impl Finder {
    /// Returns the finder for `edges`: at least two, ascending, some may be equal.
    ///
    /// All edges may be searched if neither cut helps, for example where they hold an infinity.
    /// That is slower and as correct.
    pub(super) fn new(edges: &[f64]) -> Self {
        let bins = edges.len() - 1;
        let parts = parts(bins);
        let (lo, hi) = (edges[0] + 0.0, edges[bins]);
        // + 0.0 turns −0 into 0, whose bits are the smallest.
        let rate = parts as f64 / (hi - lo);
        let mut keys = vec![];
        if rate.is_finite() && rate > 0.0 {
            keys.push(Key::Even(lo, rate));
        }
        // Bits ascend with the number only from +0 on.
        if lo >= 0.0 && hi.is_finite() {
            let range = hi.to_bits() - lo.to_bits();
            let left_out =
                (u64::BITS - range.leading_zeros()).saturating_sub(parts.trailing_zeros());
            keys.push(Key::Digits(lo, hi, left_out));
        }
        let all = keys.into_iter().map(|key| Self::with(key, parts, edges));
        // Without a key all edges are searched.
        all.min_by_key(|finder| finder.span).unwrap_or(Finder {
            key: Key::Even(0.0, 0.0),
            firsts: vec![0],
            span: bins,
        })
    }
    /// Makes the table for one key.
    fn with(key: Key, parts: usize, edges: &[f64]) -> Self {
        let bins = edges.len() - 1;
        let mut of_edges = vec![0; edges.len()];
        parts_of(key, parts, edges, &mut of_edges);
        // Parts rise with values: those of a bin lie from that of its lower edge to that of its
        // upper one.
        let first = |part: u64| of_edges[1..].partition_point(|of| *of < part).min(bins - 1);
        let last = |part: u64| {
            of_edges[..bins]
                .partition_point(|of| *of <= part)
                .saturating_sub(1)
        };
        let mut firsts: Vec<u32> = (0..parts as u64).map(|part| first(part) as u32).collect();
        // The most bins that any part may hold: all parts search that many.
        let span = firsts
            .iter()
            .enumerate()
            .map(|(part, first)| (last(part as u64) + 1).saturating_sub(*first as usize));
        let span = span.max().unwrap_or(bins).max(1);
        // As many bins for every part: at the end of the axis they begin before.
        firsts
            .iter_mut()
            .for_each(|first| *first = (*first).min((bins - span) as u32));
        Finder { key, firsts, span }
    }
    /// Finds the bins of `values` among the edges that this was made for. Values outside of all
    /// edges and NaN get some bin; the caller corrects them.
    #[inline(always)]
    pub(super) fn bins(&self, edges: &[f64], values: &[f64], bins: &mut [u64]) {
        let firsts = &self.firsts[..];
        parts_of(self.key, firsts.len(), values, bins);
        for bin in bins.iter_mut() {
            *bin = u64::from(firsts[*bin as usize]);
        }
        // A step of all searches at a time: in a search by itself each step waits for the one
        // before. No branch: it would be foretold wrongly half of the time.
        let mut left = self.span;
        while left > 1 {
            let half = left / 2;
            for (bin, value) in bins.iter_mut().zip(values) {
                let above = *bin as usize + half;
                *bin = select_unpredictable(edges[above] <= *value, above as u64, *bin);
            }
            left -= half;
        }
    }
}

/// Finds the parts of `values`. Comparisons are written so that NaN ends in part 0.
#[inline(always)]
fn parts_of(key: Key, parts: usize, values: &[f64], found: &mut [u64]) {
    let top = (parts - 1) as f64;
    match key {
        Key::Even(lo, rate) => {
            for (part, value) in found.iter_mut().zip(values) {
                let at = (*value - lo) * rate;
                let at = if at < top { at } else { top };
                let at = if at > 0.0 { at } else { 0.0 };
                // Whole numbers are the last digits of what is added to 2⁵².
                *part = (at.floor() + TWO_52).to_bits() & LAST_DIGITS;
            }
        }
        Key::Digits(lo, hi, left_out) => {
            for (part, value) in found.iter_mut().zip(values) {
                let v = if *value < hi { *value } else { hi };
                let v = if v > lo { v } else { lo };
                *part = (v.to_bits() - lo.to_bits()) >> left_out;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(edges: &[f64], values: &[f64]) {
        let finder = Finder::new(edges);
        let mut bins = vec![0; values.len()];
        finder.bins(edges, values, &mut bins);
        let last = edges.len() - 1;
        for (value, bin) in values.iter().zip(bins) {
            assert!((bin as usize) < last, "{value}: bin {bin} of {last}");
            if *value >= edges[0] && *value < edges[last] {
                assert_eq!(
                    bin as usize,
                    edges.partition_point(|e| e <= value) - 1,
                    "{value} among {edges:?}"
                );
            }
        }
    }

    #[test]
    fn bins_are_those_of_a_search() {
        let lists: Vec<Vec<f64>> = vec![
            vec![0.0, 1.0],
            vec![-1.0, 0.5, 0.75],
            vec![-0.0, 1e-300, 1.0],
            vec![f64::NEG_INFINITY, -1.0, 0.0, 2.0, f64::INFINITY],
            vec![0.0, f64::INFINITY],
            vec![1.0, 1.0, 1.0, 2.0, 2.0, 3.0],
            vec![5.0, 5.0, 5.0],
            vec![-f64::MAX, 0.0, f64::MAX],
            (0..=100)
                .map(|k| (f64::from(k) / 100.0).powi(2) * 3.0)
                .collect(),
            (0..=60)
                .map(|k| 10f64.powf(f64::from(k) / 10.0 - 3.0))
                .collect(),
            (0..=500).map(|k| f64::from(k).sqrt() - 7.0).collect(),
            (0..=9)
                .map(|k| 1.0 + f64::from(k) * f64::EPSILON)
                .chain([2.0, 1e6, 1e12])
                .collect(),
            (0..5000).map(|k| f64::from(k * k % 7919)).collect(),
        ]
        .into_iter()
        .map(|mut list: Vec<f64>| {
            list.sort_by(f64::total_cmp);
            list.dedup_by(|a, b| a == b && *a != 1.0 && *a != 2.0 && *a != 5.0);
            list
        })
        .collect();
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for edges in &lists {
            let (lo, hi) = (edges[0].max(-1e9), edges[edges.len() - 1].min(1e9));
            let mut values: Vec<f64> = edges
                .iter()
                .flat_map(|e| [*e, e.next_up(), e.next_down(), -e])
                .collect();
            values.extend([
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                0.0,
                -0.0,
                5e-324,
                -5e-324,
                f64::MAX,
                f64::MIN,
            ]);
            for _ in 0..20_000 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let u = (state >> 11) as f64 / (1u64 << 53) as f64;
                values.extend([
                    lo + (hi - lo) * u,
                    f64::from_bits(state ^ (state << 23)),
                    lo + (hi - lo) * u.powi(9),
                ]);
            }
            check(edges, &values);
        }
    }
}
