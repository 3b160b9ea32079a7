//! Pearson's correlation over the samples that two rows have in common.
//!
//! ```text
//! once    values − mean of the row, 0 where missing; 1 or 0 for each sample     in eight lanes
//! pair    a = x · there(y)   b = y · there(x)
//!         Σa  Σb  Σa²  Σb²  Σab
//!         r = (Σab − ΣaΣb / n) / √((Σa² − (Σa)² / n) (Σb² − (Σb)² / n))
//! ```
//!
//! The mean of a row is not that of the common samples, so differences may cancel. A pair whose
//! variance is less than a hundredth of its sum of squares is computed again in two passes over the
//! values as given: otherwise at most two digits are lost.

use super::presence::has;
use super::{LANES, Line, Presence, Values, total};
use zipfold_vector::simd::{Element, Isa, Kernel, Lanes};

/// The share of a sum of squares below which a variance is computed again.
const CANCELS: f64 = 0.01;

/// Rows prepared for sums over common samples.
#[derive(Clone, Debug)]
pub struct MomentRows {
    /// As given times a power of two, which keeps squares in range.
    given: Vec<f64>,
    /// Less the mean of the row, 0 where missing.
    centred: Vec<[f64; LANES]>,
    /// 1 for each sample that is there.
    there: Vec<[f64; LANES]>,
    presence: Presence,
    samples: usize,
}

impl MomentRows {
    /// Rows of `samples` values each; NaN is missing.
    pub fn new(values: &[f64], samples: usize) -> Self {
        let mut rows = MomentRows {
            given: Vec::with_capacity(values.len()),
            centred: vec![],
            there: vec![],
            presence: Presence::new(values, samples),
            samples,
        };
        values.chunks(samples.max(1)).for_each(|row| rows.push(row));
        rows
    }
    fn push(&mut self, row: &[f64]) {
        let present = || row.iter().copied().filter(|v| !v.is_nan());
        let scale = power_below(present().fold(0.0, |a, v| a.max(v.abs())));
        let count = present().count().max(1) as f64;
        let mean = present().map(|v| v * scale).sum::<f64>() / count;
        self.given.extend(row.iter().map(|v| v * scale));
        for part in row.chunks(LANES) {
            let (mut centred, mut there) = ([0.0; LANES], [0.0; LANES]);
            for (lane, v) in part.iter().enumerate().filter(|(_, v)| !v.is_nan()) {
                (centred[lane], there[lane]) = (v * scale - mean, 1.0);
            }
            self.centred.push(centred);
            self.there.push(there);
        }
    }
    /// Correlations of a line of pairs.
    pub fn correlate(&self, isa: Isa, line: Line, other: &MomentRows, out: Values<'_>) {
        f64::dispatch(
            isa,
            Correlate {
                x: self,
                y: other,
                line,
                out,
            },
        );
    }
    #[inline(always)]
    fn parts(&self) -> usize {
        self.samples.div_ceil(LANES)
    }
    #[inline(always)]
    fn row(&self, row: usize) -> (&[[f64; LANES]], &[[f64; LANES]]) {
        let parts = self.parts();
        (
            &self.centred[row * parts..][..parts],
            &self.there[row * parts..][..parts],
        )
    }
}

/// A power of two at most 1 / `largest`, within the range of normal numbers.
fn power_below(largest: f64) -> f64 {
    let exponent = (largest.to_bits() >> 52 & 0x7ff) as i64 - 1022;
    f64::from_bits(((1023 - exponent).clamp(1, 2046) as u64) << 52)
}

struct Correlate<'a> {
    x: &'a MomentRows,
    y: &'a MomentRows,
    line: Line,
    out: Values<'a>,
}

impl Kernel<f64> for Correlate<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, _: S) {
        let row = self.line.row;
        for (at, other) in self.line.others.clone().enumerate() {
            let count = self.x.presence.common(row, &self.y.presence, other);
            self.out.counts[at] = count;
            let sums = sums(self.x.row(row), self.y.row(other));
            self.out.values[at] = match coefficient(&sums, f64::from(count)) {
                Some(value) => value,
                None => again(self.x, row, self.y, other, f64::from(count)),
            };
        }
    }
}

/// Σa, Σb, Σa², Σb², Σab.
#[inline(always)]
fn sums(
    (x, has_x): (&[[f64; LANES]], &[[f64; LANES]]),
    (y, has_y): (&[[f64; LANES]], &[[f64; LANES]]),
) -> [f64; 5] {
    let mut all = [[0.0; LANES]; 5];
    let lines = x.iter().zip(has_x).zip(y.iter().zip(has_y));
    for ((x, has_x), (y, has_y)) in lines {
        for lane in 0..LANES {
            let a = x[lane] * has_y[lane];
            let b = y[lane] * has_x[lane];
            all[0][lane] += a;
            all[1][lane] += b;
            all[2][lane] = a.mul_add(a, all[2][lane]);
            all[3][lane] = b.mul_add(b, all[3][lane]);
            all[4][lane] = a.mul_add(b, all[4][lane]);
        }
    }
    [0, 1, 2, 3, 4].map(|k| total(&all[k]))
}

/// The correlation, where no variance cancels.
#[inline(always)]
fn coefficient([a, b, aa, bb, ab]: &[f64; 5], count: f64) -> Option<f64> {
    let (in_x, in_y) = (aa - a * a / count, bb - b * b / count);
    let square = in_x * in_y;
    // Products of tiny variances lose digits below the normal numbers.
    let fine = in_x > CANCELS * aa && in_y > CANCELS * bb && square > 1e-280;
    let value = (ab - a * b / count) / square.sqrt();
    fine.then(|| value.clamp(-1.0, 1.0))
}

/// The correlation in two passes over the values as given. NaN of rows that do not vary.
fn again(x: &MomentRows, row: usize, y: &MomentRows, other: usize, count: f64) -> f64 {
    let samples = x.samples;
    let (a, b) = (
        &x.given[row * samples..][..samples],
        &y.given[other * samples..][..samples],
    );
    let (in_a, in_b) = (x.presence.row(row), y.presence.row(other));
    let common = || (0..samples).filter(|at| has(in_a, *at) && has(in_b, *at));
    let Some(first) = common().next() else {
        return f64::NAN;
    };
    let varies = |v: &[f64]| common().any(|at| v[at] != v[first]);
    if !varies(a) || !varies(b) {
        return f64::NAN;
    }
    // Differences from a common sample first: the mean of values far from zero would be rounded.
    let mean = |v: &[f64]| common().map(|at| v[at] - v[first]).sum::<f64>() / count;
    let away = |v: &[f64], mean: f64| -> Vec<f64> {
        let away: Vec<f64> = common().map(|at| (v[at] - v[first]) - mean).collect();
        let scale = power_below(away.iter().fold(0.0, |a, v| a.max(v.abs())));
        away.iter().map(|v| v * scale).collect()
    };
    let (a, b) = (away(a, mean(a)), away(b, mean(b)));
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    (sum(&a, &b) / (sum(&a, &a) * sum(&b, &b)).sqrt()).clamp(-1.0, 1.0)
}
