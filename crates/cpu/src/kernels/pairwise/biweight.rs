//! The biweight midcorrelation over the samples that two rows have in common (Langfelder and Horvath
//! 2012, WGCNA's `bicor`).
//!
//! ```text
//! u = (x − median) / (9 · mad)     mad = median of |x − median|
//! w = (1 − u²)²  where |u| < 1, else 0
//! a = (x − median) w               bicor = Σab / √(Σa² Σb²)
//! ```
//!
//! A row whose mad is 0 has x − mean for a, as in Pearson's correlation (WGCNA's default fallback).
//! Medians are those of the common samples. A row that lacks none of its samples in a pair has
//! them prepared; of any other they are found by a walk over its order, in O(samples).

use super::presence::{has, within};
use super::{Line, Presence, Values};

/// Rows prepared for biweight midcorrelations.
#[derive(Clone, Debug)]
pub struct BiweightRows {
    values: Vec<f64>,
    order: Vec<u32>,
    /// a over all samples of the row, 0 where missing.
    weighed: Vec<f64>,
    presence: Presence,
    samples: usize,
}

/// Memory of a walk.
#[derive(Default)]
struct MedianWalk {
    /// Common samples in ascending order of the row.
    sorted: Vec<(f64, u32)>,
    weighed: Vec<f64>,
}

impl BiweightRows {
    /// Rows of `samples` values each; NaN is missing.
    pub fn new(values: &[f64], samples: usize) -> Self {
        let order = |row: &[f64]| {
            let mut order: Vec<u32> = (0..samples as u32).collect();
            let key = |at: &u32| row[*at as usize];
            order.sort_by(|a, b| {
                let missing = |at: &u32| key(at).is_nan();
                missing(a).cmp(&missing(b)).then(key(a).total_cmp(&key(b)))
            });
            order
        };
        let mut rows = BiweightRows {
            values: values.to_vec(),
            order: values.chunks(samples.max(1)).flat_map(order).collect(),
            weighed: vec![],
            presence: Presence::new(values, samples),
            samples,
        };
        let mut walk = MedianWalk::default();
        for row in 0..values.len() / samples.max(1) {
            walk.weigh(&rows, row, rows.presence.row(row));
            rows.weighed.extend(&walk.weighed);
        }
        rows
    }
    /// a of each row over all of its samples, 0 where missing.
    pub fn weighed(&self) -> &[f64] {
        &self.weighed
    }
    /// Midcorrelations of a line of pairs.
    pub fn correlate(&self, line: Line, other: &BiweightRows, out: Values<'_>) {
        let (x, y, row) = (self, other, line.row);
        let mut walks = [MedianWalk::default(), MedianWalk::default()];
        for (at, other) in line.others.enumerate() {
            out.counts[at] = x.presence.common(row, &y.presence, other);
            let [walk_x, walk_y] = &mut walks;
            let a = walk_x.weighed(x, row, y.presence.row(other));
            let b = walk_y.weighed(y, other, x.presence.row(row));
            out.values[at] = cosine(a, b);
        }
    }
}

impl MedianWalk {
    /// a of `row` over the samples of `others`.
    fn weighed<'a>(&'a mut self, rows: &'a BiweightRows, row: usize, others: &[u64]) -> &'a [f64] {
        if within(rows.presence.row(row), others) {
            return &rows.weighed[row * rows.samples..][..rows.samples];
        }
        self.weigh(rows, row, others);
        &self.weighed
    }
    fn weigh(&mut self, rows: &BiweightRows, row: usize, others: &[u64]) {
        let own = rows.presence.row(row);
        let order = &rows.order[row * rows.samples..][..rows.samples];
        let common = |at: &&u32| has(own, **at as usize) && has(others, **at as usize);
        let value = |at: &u32| (rows.values[row * rows.samples + *at as usize], *at);
        self.sorted.clear();
        self.sorted.extend(order.iter().filter(common).map(value));
        self.weighed.clear();
        self.weighed.resize(rows.samples, 0.0);
        let n = self.sorted.len();
        if n == 0 {
            return;
        }
        let sorted = &self.sorted;
        let median = 0.5 * sorted[(n - 1) / 2].0 + 0.5 * sorted[n / 2].0;
        let mad = median_away(sorted, median);
        if sorted[0].0 == sorted[n - 1].0 {
            return;
        }
        if mad > 0.0 {
            for (v, at) in sorted {
                let u = (v - median) / (9.0 * mad);
                let w = (1.0 - u * u) * (1.0 - u * u);
                self.weighed[*at as usize] = if u.abs() < 1.0 { (u * w) * 9.0 } else { 0.0 };
            }
        } else {
            let away = |v: f64| v - median;
            let mean = sorted.iter().map(|(v, _)| away(*v)).sum::<f64>() / n as f64;
            let largest = sorted.iter().map(|(v, _)| (away(*v) - mean).abs());
            let scale = largest.fold(0.0, f64::max);
            for (v, at) in sorted {
                self.weighed[*at as usize] = (away(*v) - mean) / scale;
            }
        }
    }
}

/// The median of the distances of ascending values from `median`.
fn median_away(sorted: &[(f64, u32)], median: f64) -> f64 {
    let n = sorted.len();
    let split = sorted.partition_point(|(v, _)| *v < median);
    // Distances ascend to the left of the split and to its right: they are merged up to the middle.
    let (mut left, mut right) = (split, split);
    let mut last = [0.0; 2];
    for _ in 0..=n / 2 {
        let low = left.checked_sub(1).map(|at| median - sorted[at].0);
        let high = sorted.get(right).map(|(v, _)| v - median);
        let low_is_next = match (low, high) {
            (Some(low), Some(high)) => low < high,
            (low, _) => low.is_some(),
        };
        let next = if low_is_next {
            left -= 1;
            low
        } else {
            right += 1;
            high
        };
        last = [last[1], next.unwrap_or(0.0)];
    }
    match n % 2 {
        0 => 0.5 * last[0] + 0.5 * last[1],
        _ => last[1],
    }
}

/// Σab / √(Σa² Σb²); a is 0 where the row has no such sample, so products are over common ones.
fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    (sum(a, b) / (sum(a, a).sqrt() * sum(b, b).sqrt())).clamp(-1.0, 1.0)
}
