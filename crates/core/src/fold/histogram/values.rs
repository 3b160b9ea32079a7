//! Values per bin: sums, means, variances, least and largest of formulas, for the pairs of each bin;
//! and pair weights that are a formula.
//!
//! Nobody knows how large the values of a formula are, so sums take all windows of exponents
//! ([`Scale::everything`]). They are exact for every finite term, in any order of pairs, and
//! only the finished number is rounded. A square is added as its rounded product and the rest of it,
//! so sums of squares are exact, too, and a variance does not suffer from a large mean:
//!
//! ```text
//! Σ(v − m)² = Σv² − 2m·Σv + n·m²        exact, for m the rounded mean
//! variance  = (Σ(v − m)² − r²/n) / n    r = Σv − n·m, what the rounding of m left
//! ```

use super::odd::{INF, NAN, NEGATIVE_INF, add, note};
use crate::error::{Error, Result};
use crate::fold::BLOCK;
use crate::fold::roots::Roots;
use crate::fold::scale::{Scale, add_run};
use crate::hash::Hash;
use crate::text_or::{FromText, TextOr};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most formulas of a histogram: a cell keeps some kilobytes for each.
const MOST_VALUES: usize = 16;

/// A formula whose values are kept by bin. A text alone is the formula, of which the mean is kept.
///
/// In a problem file: `gamma = "(x.z - y.z)^2 / 2"`, or
/// `gamma = { formula = "(x.z - y.z)^2 / 2", keep = ["mean", "variance"] }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "TextOr<LongValue>")]
pub struct BinValueSpec {
    /// The formula, a number for each pair.
    pub formula: String,
    /// What is kept of its values.
    pub keep: Vec<BinStatistic>,
}

/// [`BinValueSpec`] as a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongValue {
    formula: String,
    #[serde(default = "mean_alone")]
    keep: Vec<BinStatistic>,
}

impl From<TextOr<LongValue>> for BinValueSpec {
    fn from(TextOr(LongValue { formula, keep }): TextOr<LongValue>) -> Self {
        BinValueSpec { formula, keep }
    }
}

impl FromText for LongValue {
    const EXPECTED: &'static str = "a formula, or a table with 'formula'";
    fn from_text(text: &str) -> Self {
        LongValue {
            formula: text.into(),
            keep: mean_alone(),
        }
    }
}

/// What is kept of the values of a formula in a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BinStatistic {
    /// Σ v; 0 for an empty bin.
    Sum,
    /// Σ v / n; NaN for an empty bin.
    Mean,
    /// The mean of (v − mean)²; NaN for an empty bin.
    Variance,
    /// The least value; NaN for an empty bin.
    Min,
    /// The largest value; NaN for an empty bin.
    Max,
}

impl BinStatistic {
    /// All of them, in the order of results.
    pub const ALL: [BinStatistic; 5] = [
        BinStatistic::Sum,
        BinStatistic::Mean,
        BinStatistic::Variance,
        BinStatistic::Min,
        BinStatistic::Max,
    ];
    /// Its name in results and requests.
    #[doc(hidden)]
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BinStatistic::Sum => "sum",
            BinStatistic::Mean => "mean",
            BinStatistic::Variance => "variance",
            BinStatistic::Min => "min",
            BinStatistic::Max => "max",
        }
    }
}

fn mean_alone() -> Vec<BinStatistic> {
    vec![BinStatistic::Mean]
}

/// A formula whose values are summed by bin.
#[derive(Clone, Debug, PartialEq)]
pub struct BinValue {
    /// What results call it.
    pub name: String,
    /// The root of its formula.
    pub root: usize,
    /// What is kept of the values, in the order of results.
    pub keep: Vec<BinStatistic>,
    /// The exponent of the largest of some sampled values. No answer depends on it: a device keeps
    /// the digits around it near.
    pub(super) size: i32,
}

impl BinValue {
    /// Returns the formulas as a problem asks for them.
    ///
    /// # Errors
    /// `Request` for names that are none, for too many formulas, and for formulas that mean nothing.
    pub(in crate::fold) fn asked(
        values: &BTreeMap<String, BinValueSpec>,
        roots: &mut Roots<'_>,
    ) -> Result<Vec<BinValue>> {
        if values.len() > MOST_VALUES {
            let e = Error::request(format!("values of {} formulas", values.len()));
            return Err(e
                .at_place("values")
                .limit(format!("{MOST_VALUES} formulas")));
        }
        let one = |(name, spec): (&String, &BinValueSpec)| {
            let letters = |c: char| c.is_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(letters) {
                let e = Error::request(format!(
                    "expected a name of letters, digits and _, got '{name}'"
                ));
                return Err(e.at_place("values").remedy("gamma"));
            }
            let mut keep = spec.keep.clone();
            keep.sort_unstable();
            keep.dedup();
            if keep.is_empty() {
                let e = Error::request(format!("expected what to keep of '{name}', got nothing"));
                return Err(e
                    .at_place("values")
                    .remedy("sum, mean, variance, min or max"));
            }
            Ok(BinValue {
                name: name.clone(),
                root: roots.number(&spec.formula)?,
                keep,
                size: 0,
            })
        };
        values.iter().map(one).collect()
    }
    /// Whether sums of squares are kept.
    pub(super) fn has_squares(&self) -> bool {
        self.keep.contains(&BinStatistic::Variance)
    }
    /// Whether sums are kept.
    pub(super) fn has_sums(&self) -> bool {
        let adds = |s: &BinStatistic| match s {
            BinStatistic::Sum | BinStatistic::Mean | BinStatistic::Variance => true,
            BinStatistic::Min | BinStatistic::Max => false,
        };
        self.keep.iter().any(adds)
    }
    /// Whether the least and the largest value are kept.
    pub(super) fn has_ends(&self) -> bool {
        let is_end = |s: &BinStatistic| matches!(s, BinStatistic::Min | BinStatistic::Max);
        self.keep.iter().any(is_end)
    }
    /// Returns the 8-byte numbers that a cell keeps.
    pub(super) fn numbers(&self) -> usize {
        let windows = 2 * Scale::everything().windows();
        windows * (usize::from(self.has_sums()) + usize::from(self.has_squares()))
            + 2 * usize::from(self.has_ends())
    }
    pub(super) fn identify(&self, hash: &mut Hash) {
        hash.text(&format!("{} {} {:?}", self.name, self.root, self.keep));
    }
}

/// What is kept of the values of one formula, by cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ValueState {
    sums: Vec<i128>,
    squares: Vec<i128>,
    /// The least and the largest value.
    ends: Vec<[f64; 2]>,
    /// Which values that are not finite a cell has had, and which squares.
    odd: [BTreeMap<u64, u8>; 2],
}

impl ValueState {
    pub(super) fn new(value: &BinValue, cells: usize) -> Self {
        let windows = cells * Scale::everything().windows();
        let kept = |wanted: bool| vec![0; if wanted { windows } else { 0 }];
        ValueState {
            sums: kept(value.has_sums()),
            squares: kept(value.has_squares()),
            ends: vec![
                [f64::INFINITY, f64::NEG_INFINITY];
                if value.has_ends() { cells } else { 0 }
            ],
            odd: [BTreeMap::new(), BTreeMap::new()],
        }
    }
    /// Returns whether a formula over this many cells can have the state.
    pub(super) fn fits(&self, value: &BinValue, cells: usize) -> bool {
        let windows = cells.saturating_mul(Scale::everything().windows());
        let long = |kept: bool, len: usize| if kept { len } else { 0 };
        let odd = |odd: &BTreeMap<u64, u8>| odd.keys().all(|cell| *cell < cells as u64);
        self.sums.len() == long(value.has_sums(), windows)
            && self.squares.len() == long(value.has_squares(), windows)
            && self.ends.len() == long(value.has_ends(), cells)
            && self.odd.iter().all(odd)
    }
    /// Returns the sums of values, or of squares, and the terms that are not finite.
    pub(super) fn kept(&mut self, squares: bool) -> (&mut [i128], &mut BTreeMap<u64, u8>) {
        let sums = match squares {
            true => &mut self.squares,
            false => &mut self.sums,
        };
        (sums, &mut self.odd[usize::from(squares)])
    }
    /// Takes a value of the pair in `cell`.
    #[inline]
    pub(super) fn add(&mut self, cell: usize, v: f64) {
        let scale = Scale::everything();
        if !self.sums.is_empty() {
            add(&mut self.sums, &mut self.odd[0], scale, cell, v);
        }
        if !self.squares.is_empty() {
            let square = v * v;
            add(&mut self.squares, &mut self.odd[1], scale, cell, square);
            if square.is_finite() {
                let rest = v.mul_add(v, -square);
                add(&mut self.squares, &mut self.odd[1], scale, cell, rest);
            }
        }
        self.widen(cell, v);
    }
    /// Takes values of pairs in bins, at most a block; `cells` says the bin of each.
    #[inline(always)]
    pub(super) fn add_run(&mut self, cells: &[u64], values: &[f64]) {
        // A square that is finite is that of a finite number.
        if !values.iter().fold(true, |all, v| all & (v * v).is_finite()) {
            let run = cells.iter().zip(values);
            return run.for_each(|(cell, v)| self.add(*cell as usize, *v));
        }
        if !self.sums.is_empty() {
            add_run(&mut self.sums, cells, values);
        }
        if !self.squares.is_empty() {
            let (mut squares, mut rests) = ([0.0; BLOCK], [0.0; BLOCK]);
            let to = squares.iter_mut().zip(&mut rests).zip(values);
            for ((square, rest), v) in to {
                *square = v * v;
                *rest = v.mul_add(*v, -*square);
            }
            add_run(&mut self.squares, cells, &squares[..values.len()]);
            add_run(&mut self.squares, cells, &rests[..values.len()]);
        }
        if !self.ends.is_empty() {
            let run = cells.iter().zip(values);
            run.for_each(|(cell, v)| self.widen(*cell as usize, *v));
        }
    }
    /// Takes a value into the least and the largest of a cell, where they are kept.
    #[inline]
    fn widen(&mut self, cell: usize, v: f64) {
        if let Some([least, largest]) = self.ends.get_mut(cell) {
            // NaN stays: it fails the comparison from then on.
            let nan = v.is_nan() || least.is_nan();
            *least = if nan { f64::NAN } else { least.min(v) };
            *largest = if nan { f64::NAN } else { largest.max(v) };
        }
    }
    pub(super) fn merge(&mut self, other: &ValueState) {
        let sums = [
            (&mut self.sums, &other.sums),
            (&mut self.squares, &other.squares),
        ];
        for (mine, more) in sums {
            // Sums of a file may be any numbers, so additions wrap instead of panicking.
            mine.iter_mut()
                .zip(more)
                .for_each(|(a, b)| *a = a.wrapping_add(*b));
        }
        for (mine, more) in self.ends.iter_mut().zip(&other.ends) {
            let nan = mine[0].is_nan() || more[0].is_nan();
            mine[0] = if nan { f64::NAN } else { mine[0].min(more[0]) };
            mine[1] = if nan { f64::NAN } else { mine[1].max(more[1]) };
        }
        for (mine, more) in self.odd.iter_mut().zip(&other.odd) {
            more.iter()
                .for_each(|(cell, what)| note(mine, *cell, *what));
        }
    }
    /// Returns a statistic of the `count` pairs in `cell`. A sum of none is 0; the others are NaN.
    pub(super) fn statistic(&self, which: BinStatistic, cell: usize, count: u64) -> f64 {
        match which {
            BinStatistic::Sum => self.sum(cell),
            BinStatistic::Mean => self.sum(cell) / count as f64,
            BinStatistic::Variance => self.variance(cell, count),
            // No value was taken: of an empty bin, and of pairs outside of all bins.
            BinStatistic::Min | BinStatistic::Max if self.ends[cell][0] > self.ends[cell][1] => {
                f64::NAN
            }
            BinStatistic::Min => self.ends[cell][0],
            BinStatistic::Max => self.ends[cell][1],
        }
    }
    fn sum(&self, cell: usize) -> f64 {
        match self.odd[0].get(&(cell as u64)) {
            None => Scale::everything().value(self.windows(&self.sums, cell)),
            Some(&INF) => f64::INFINITY,
            Some(&NEGATIVE_INF) => f64::NEG_INFINITY,
            Some(_) => f64::NAN,
        }
    }
    fn windows<'s>(&self, sums: &'s [i128], cell: usize) -> &'s [i128] {
        let windows = Scale::everything().windows();
        &sums[cell * windows..(cell + 1) * windows]
    }
    /// The mean of squared distances from the mean, by exact sums.
    fn variance(&self, cell: usize, count: u64) -> f64 {
        let odd = |at: usize| self.odd[at].get(&(cell as u64)).copied().unwrap_or(0);
        // A square beyond the largest number, of a finite value.
        if odd(0) == 0 && odd(1) & NAN == 0 && odd(1) != 0 {
            return f64::INFINITY;
        }
        if count == 0 || odd(0) != 0 || odd(1) != 0 {
            return f64::NAN;
        }
        let scale = Scale::everything();
        let n = count as f64;
        let mut rest = self.windows(&self.sums, cell).to_vec();
        let mean = scale.value(&rest) / n;
        let mut squares = self.windows(&self.squares, cell).to_vec();
        // −2m·Σv, the sum as numbers that add up to it.
        for _ in 0..3 {
            let part = scale.value(&rest);
            scale.add(&mut rest, -part);
            add_product(&mut squares, -2.0 * mean, part);
        }
        // n·m² = n·(p + e).
        let product = mean * mean;
        add_product(&mut squares, n, product);
        add_product(&mut squares, n, mean.mul_add(mean, -product));
        let mut left = self.windows(&self.sums, cell).to_vec();
        add_product(&mut left, -n, mean);
        let left = scale.value(&left);
        ((scale.value(&squares) - left * (left / n)) / n).max(0.0)
    }
}

/// Adds a·b to a sum, exactly. A product beyond the largest number makes nothing: the squares of the
/// sum were beyond it before.
fn add_product(sum: &mut [i128], a: f64, b: f64) {
    let product = a * b;
    if product.is_finite() {
        let scale = Scale::everything();
        scale.add(sum, product);
        scale.add(sum, a.mul_add(b, -product));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(values: &[f64], keep: &[BinStatistic]) -> ValueState {
        let value = BinValue {
            name: "v".into(),
            root: 0,
            keep: keep.to_vec(),
            size: 0,
        };
        let mut state = ValueState::new(&value, 1);
        // In two parts, which are merged.
        let mut other = ValueState::new(&value, 1);
        for (at, v) in values.iter().enumerate() {
            [&mut state, &mut other][at % 2].add(0, *v);
        }
        state.merge(&other);
        state
    }

    #[test]
    fn a_large_mean_costs_a_variance_no_digits() {
        let keep = [BinStatistic::Variance, BinStatistic::Mean];
        for offset in [0.0, 1.0, 1e8, -1e12, 1e15] {
            let values: Vec<f64> = (0..100).map(|k| offset + f64::from(k % 4)).collect();
            let variance = state(&values, &keep).statistic(BinStatistic::Variance, 0, 100);
            assert_eq!(variance, 1.25, "{offset}");
        }
        let tiny = state(&[1e-160, 3e-160], &keep);
        assert!(tiny.statistic(BinStatistic::Variance, 0, 2) >= 0.0);
        let huge = state(&[1e300, -1e300], &keep);
        assert_eq!(huge.statistic(BinStatistic::Variance, 0, 2), f64::INFINITY);
        assert_eq!(huge.statistic(BinStatistic::Mean, 0, 2), 0.0);
        let one = state(&[0.1], &keep);
        assert_eq!(one.statistic(BinStatistic::Variance, 0, 1), 0.0);
    }

    #[test]
    fn a_run_is_taken_as_value_by_value() {
        let keep = BinStatistic::ALL.to_vec();
        let name = "v".into();
        let value = BinValue {
            name,
            root: 0,
            keep,
            size: 0,
        };
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e200, 5e-324];
        for odd in odd.map(Some).into_iter().chain([None]) {
            let mut values: Vec<f64> = (0..BLOCK).map(|k| (k as f64 - 50.0) * 0.37).collect();
            values[17] = odd.unwrap_or(values[17]);
            let cells: Vec<u64> = (0..BLOCK as u64).map(|k| 1 + k % 3).collect();
            let (mut run, mut single) = (ValueState::new(&value, 5), ValueState::new(&value, 5));
            run.add_run(&cells, &values);
            let pairs = cells.iter().zip(&values);
            pairs.for_each(|(cell, v)| single.add(*cell as usize, *v));
            assert_eq!(format!("{run:?}"), format!("{single:?}"), "{odd:?}");
        }
    }

    #[test]
    fn values_that_are_not_finite_stay_visible() {
        use BinStatistic::{Max, Min, Sum, Variance};
        let keep = [Sum, Variance, Min, Max];
        let infinite = state(&[1.0, f64::INFINITY], &keep);
        assert_eq!(infinite.statistic(Sum, 0, 2), f64::INFINITY);
        assert!(infinite.statistic(Variance, 0, 2).is_nan());
        assert_eq!(infinite.statistic(Min, 0, 2), 1.0);
        let nan = state(&[1.0, f64::NAN, 0.0], &keep);
        for which in keep {
            assert!(nan.statistic(which, 0, 3).is_nan(), "{which:?}");
        }
        let none = state(&[], &keep);
        assert_eq!(none.statistic(Sum, 0, 0), 0.0);
        assert!(none.statistic(Max, 0, 0).is_nan());
    }
}
