//! Quantiles of the values of every row of x: the median and others, exact, interpolated as NumPy
//! does by default (type 7 of Hyndman and Fan, *Sample Quantiles in Statistical Packages*, 1996).
//!
//! A quantile needs all values of a row at once. Tiles are therefore as wide as the rows of y are
//! many; the values of a row are collected, and when the batch ends its quantiles take their
//! place. The answer takes no more than its numbers, and a batch holds the values of its own rows
//! only.
//!
//! A value is found by its rank in expected linear time: by a selection, or for long rows by a
//! sample that brackets the rank, in the manner of Floyd and Rivest (1975).
//!
//! ```text
//! values 1, 2, 10, 20    q = 0.5: place 0.5 · 3 = 1.5 → between 2 and 10 → 6
//! ```

use super::roots::Roots;
use super::{
    Accumulate, Bounded, Column, Columns, Layout, Lent, Line, Role, Traits, Value, ValuedPair,
};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::pair::Side;
use crate::space::Domain;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The most quantiles of a request. Every row has as many numbers in the answer.
const MOST: usize = 10_000;

/// The fold in a problem file.
///
/// In a problem file: `{ kind = "quantile", q = [0.25, 0.5, 0.75] }`. The answer has a line for
/// each row of x and a column for each number of `q`, in the order given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuantileSpec {
    /// Which quantiles, from 0 (the least value) to 1 (the largest); by default the median.
    #[serde(default = "median")]
    pub q: Vec<f64>,
}

/// The default: the median.
fn median() -> Vec<f64> {
    vec![0.5]
}

impl QuantileSpec {
    /// The fold of the pair's value.
    ///
    /// # Errors
    /// `Request` for no quantile, too many, what is none, and for a pair that is a vector.
    pub(super) fn fold(&self, roots: &mut Roots<'_>) -> Result<Quantile> {
        roots.scalar("a quantile")?;
        self.check()?;
        let (root, squared) = roots.ordered(roots.value());
        Ok(Quantile {
            root,
            q: self.q.clone(),
            squared,
        })
    }
    /// Refuses numbers that are not between 0 and 1, none, or too many.
    fn check(&self) -> Result<()> {
        if !(1..=MOST).contains(&self.q.len()) {
            let e = Error::request(format!(
                "expected 1 to {MOST} quantiles, got {}",
                self.q.len()
            ))
            .at_place("q");
            return Err(e.remedy("0.5 for the median"));
        }
        if let Some(odd) = self.q.iter().find(|q| !(0.0..=1.0).contains(*q)) {
            let e =
                Error::request(format!("expected a quantile from 0 to 1, got {odd}")).at_place("q");
            return Err(
                e.remedy("0.5 for the median, 0.9 for the value that nine in ten do not exceed")
            );
        }
        Ok(())
    }
}

/// A fold to quantiles of every row.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantile {
    /// Which root orders the values.
    pub root: usize,
    /// Which quantiles.
    pub q: Vec<f64>,
    /// Whether the root is the square of the value: roots are taken before interpolation.
    /// Interpolating squares would give another number.
    pub squared: bool,
}

/// What is kept of a row.
///
/// A state of many rows holds values only for the rows of units in progress; the others are a few
/// numbers each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Row {
    /// Its values so far.
    Open(Vec<f64>),
    /// Its quantiles.
    Done(Vec<f64>),
}

/// The rows of a part of the domain, from `start` on.
///
/// Every row of one unit is open until [`Accumulate::settle`] finishes it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct QuantileState {
    /// The first of them.
    start: usize,
    rows: Vec<Row>,
}

impl QuantileState {
    /// Takes the value of a pair of row `i`.
    ///
    /// A finished row takes nothing more: its unit had all columns.
    pub fn push(&mut self, i: usize, value: f64) {
        if let Row::Open(values) = &mut self.rows[i - self.start] {
            values.push(value);
        }
    }
}

/// From this many quantiles on a row is sorted once, instead of selected from for each. A sort of n
/// values costs about log₂ n passes, a selection two or three.
const MANY: usize = 16;
/// From this many values on a sample narrows down where a rank is: one value of every [`STRIDE`].
/// Below that, sorting the sample and copying values cost more than a plain selection saves.
const LONG: usize = 1024;
const STRIDE: usize = 32;
/// How far a rank may be off in the sample, in units of the root of its size. The rank of the
/// median in a sample of s values has a standard deviation of √s/2, so 1.5 √s are three of them.
/// Other ranks deviate less. A miss costs a selection over all values and changes no bit.
const MARGIN: f64 = 1.5;

/// Finds values by rank, for one row after another. It keeps its buffers.
///
/// Buffers grow to the longest row and stay, so a unit allocates once.
#[derive(Default)]
struct QuantileFinder {
    /// Some of the values, sorted; empty for short rows.
    sample: Vec<f64>,
    /// Buffer for the values near a rank.
    near: Vec<f64>,
}

impl QuantileFinder {
    /// Takes a sample of `values`, none of which is NaN. The stride is fixed, so the result is
    /// reproducible; a row that is periodic in it makes the search slower, never wrong.
    fn sample(&mut self, values: &[f64]) {
        self.sample.clear();
        if values.len() >= LONG {
            self.sample.extend(values.iter().step_by(STRIDE));
            self.sample.sort_unstable_by(f64::total_cmp);
            self.near.resize(values.len(), 0.0);
        }
    }
    /// Returns the value of rank `rank` and the next one.
    ///
    /// The sample gives an interval that holds the rank in all likelihood. One pass copies the
    /// values inside it and counts those below, without branches: every value is written, and the
    /// position advances only for those inside. If the counts prove that the rank is inside, the
    /// selection runs over a few values; else over all.
    fn neighbours(&mut self, values: &mut [f64], rank: usize) -> (f64, Option<f64>) {
        if !self.sample.is_empty() {
            // Rank r of all is about rank r / STRIDE of the sample.
            let (size, at) = (self.sample.len(), rank / STRIDE);
            let margin = (MARGIN * (size as f64).sqrt()).ceil() as usize;
            let lo = if at < margin {
                f64::NEG_INFINITY
            } else {
                self.sample[at - margin]
            };
            let hi = self
                .sample
                .get(at + margin)
                .copied()
                .unwrap_or(f64::INFINITY);
            // Branch-free compaction: each value is written to the next free place, which advances
            // only for values inside.
            let (mut below, mut found) = (0, 0);
            for v in values.iter() {
                self.near[found] = *v;
                found += usize::from(*v >= lo && *v <= hi);
                below += usize::from(*v < lo);
                // The last place takes what is outside.
                found = found.min(values.len() - 1);
            }
            // The bracket holds the rank and the one after it, proved by counting; luck is not
            // needed.
            if below <= rank && rank + 1 < below + found {
                return select(&mut self.near[..found], rank - below);
            }
        }
        // Short rows, and ranks that the bracket missed.
        select(values, rank)
    }
}

/// Returns the value of rank `rank` and the next one, by a selection that leaves larger values
/// behind it.
///
/// The next value is the least of those behind, which the selection has moved there: no second
/// selection is needed.
fn select(values: &mut [f64], rank: usize) -> (f64, Option<f64>) {
    let (_, lower, above) = values.select_nth_unstable_by(rank, f64::total_cmp);
    (*lower, above.iter().copied().reduce(f64::min))
}

/// Returns the quantile `q` of `values`, whose order changes: NaN without values, or if one is NaN.
pub(crate) fn quantile_among(q: f64, values: &mut [f64]) -> f64 {
    let alone = Quantile {
        root: 0,
        q: vec![q],
        squared: false,
    };
    alone.quantiles(values, &mut QuantileFinder::default())[0]
}

impl Quantile {
    /// Returns the quantiles of `values`: NaN without values, or if one is NaN, as NumPy.
    ///
    /// The order of `values` changes. Their multiset decides the result, so the order of tiles does
    /// not.
    fn quantiles(&self, values: &mut [f64], finder: &mut QuantileFinder) -> Vec<f64> {
        if values.is_empty() || values.iter().any(|v| v.is_nan()) {
            return vec![f64::NAN; self.q.len()];
        }
        // Sorting once is cheaper than many selections.
        if self.q.len() > MANY {
            values.sort_unstable_by(f64::total_cmp);
            return self
                .q
                .iter()
                .map(|q| {
                    self.quantile(values.len(), *q, |at| {
                        (values[at], values.get(at + 1).copied())
                    })
                })
                .collect();
        }
        finder.sample(values);
        let count = values.len();
        self.q
            .iter()
            .map(|q| self.quantile(count, *q, |at| finder.neighbours(values, at)))
            .collect()
    }
    /// Returns one quantile of `count` values: interpolated between two neighbours in order, from
    /// the nearer of the two, as NumPy's `_lerp` does, so that equal neighbours give their value
    /// exactly.
    fn quantile(
        &self,
        count: usize,
        q: f64,
        neighbours: impl FnOnce(usize) -> (f64, Option<f64>),
    ) -> f64 {
        // Type 7: q = 0 is the least value and q = 1 the largest, with equal steps in between.
        let place = q * (count - 1) as f64;
        let part = place - place.floor();
        let (lower, upper) = neighbours(place.floor() as usize);
        let value = |v: f64| if self.squared { v.sqrt() } else { v };
        let a = value(lower);
        let Some(b) = upper.filter(|_| part > 0.0).map(value) else {
            return a;
        };
        let step = b - a;
        if part < 0.5 {
            a + step * part
        } else {
            b - step * (1.0 - part)
        }
    }
}

impl Accumulate for Quantile {
    type State = QuantileState;

    fn traits(&self) -> Traits {
        Traits {
            // Half of the pairs would leave a row's values in two places, and `whole_rows` needs
            // them in one.
            by_side: true,
            by_row: true,
            whole_rows: true,
            operations: 1.0,
            cycles: 40.0,
            ..Traits::default()
        }
    }
    fn domain(&self, _: bool) -> Domain {
        Domain::Square
    }
    fn any_root(&self, test: &mut dyn FnMut(usize) -> bool) -> bool {
        test(self.root)
    }
    fn start(&self, n: usize, _: usize) -> QuantileState {
        self.part(&(0..n))
    }
    fn part(&self, rows: &Range<usize>) -> QuantileState {
        QuantileState {
            start: rows.start,
            rows: vec![Row::Open(vec![]); rows.len()],
        }
    }
    fn span(&self, state: &QuantileState) -> Range<usize> {
        state.start..state.start + state.rows.len()
    }
    /// Finished rows. The values of open ones belong to a unit and are counted with its buffers.
    fn bytes(&self, n: usize, _: usize) -> u64 {
        (n as u64).saturating_mul((size_of::<Row>() + 8 * self.q.len()) as u64)
    }
    /// A row has at most one value for each row of y.
    fn takes(&self, state: &QuantileState, n: usize, m: usize) -> bool {
        let fits = |row: &Row| match row {
            Row::Open(values) => values.len() <= m,
            Row::Done(quantiles) => quantiles.len() == self.q.len(),
        };
        let end = state.start.checked_add(state.rows.len());
        end.is_some_and(|end| end <= n) && state.rows.iter().all(fits)
    }
    #[inline(always)]
    fn absorb<T: Value>(&self, state: &mut QuantileState, line: &Line<'_, T>, lent: Lent<'_>) {
        let Row::Open(values) = &mut state.rows[line.row - state.start] else {
            return;
        };
        values.extend_from_slice(line.widened(self.root, lent.wide));
    }
    fn absorb_pair(&self, state: &mut QuantileState, pair: &ValuedPair<'_>) {
        state.push(pair.i, pair.scalar(self.root));
    }
    /// The values of a row are freed as soon as its quantiles are known.
    fn settle(&self, state: &mut QuantileState, rows: &Range<usize>) {
        // One set of buffers for all rows.
        let mut finder = QuantileFinder::default();
        for row in &mut state.rows[rows.start - state.start..rows.end - state.start] {
            if let Row::Open(values) = row {
                *row = Row::Done(self.quantiles(values, &mut finder));
            }
        }
    }
    fn merge(&self, into: &mut QuantileState, from: QuantileState) {
        let rows = &mut into.rows[from.start - into.start..];
        for (into, from) in rows.iter_mut().zip(from.rows) {
            // Parts of an open row are joined in the order of tiles; a finished row is final.
            match (into, from) {
                (Row::Open(into), Row::Open(from)) => into.extend(from),
                (into @ Row::Open(_), from @ Row::Done(_)) => *into = from,
                (Row::Done(_), _) => {}
            }
        }
    }
    fn identify(&self, hash: &mut Hash) {
        hash.text(&format!("{self:?}"));
    }
    /// Rows that are still open come from the oracle, which never settles any.
    fn columns<'a>(&'a self, state: &'a QuantileState, _: usize, _: usize) -> Columns<'a> {
        let mut finder = QuantileFinder::default();
        let quantiles = state.rows.iter().flat_map(|row| match row {
            Row::Open(values) => self.quantiles(&mut values.clone(), &mut finder),
            Row::Done(quantiles) => quantiles.clone(),
        });
        let values: Vec<f64> = quantiles.collect();
        let (rows, width) = (state.rows.len(), self.q.len());
        let shape = if width == 1 {
            vec![rows]
        } else {
            vec![rows, width]
        };
        let column = Column::new("values", Role::Value, values).called("value");
        Columns::new(Layout::Array(Some(Side::X)), shape, vec![column])
    }
    fn describe(&self) -> String {
        let q: Vec<String> = self.q.iter().map(f64::to_string).collect();
        format!("the quantiles {} of every row", q.join(", "))
    }
}

// Every value of a row takes part in its ranks, so bounds cannot leave any out.
impl Bounded for Quantile {}

#[cfg(test)]
mod tests {
    use super::super::BLOCK;
    use super::*;

    fn fold(q: &[f64], squared: bool) -> Quantile {
        Quantile {
            root: 0,
            q: q.to_vec(),
            squared,
        }
    }

    /// `numpy.quantile` of these values (NumPy 2.3).
    #[test]
    fn quantiles_are_those_of_numpy() {
        let mut values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0];
        let q = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0];
        assert_eq!(
            fold(&q, false).quantiles(&mut values, &mut QuantileFinder::default()),
            [1.0, 1.0, 1.75, 3.5, 5.25, 6.8999999999999995, 9.0]
        );
        assert_eq!(
            fold(&[0.5], true).quantiles(&mut [4.0, 9.0], &mut QuantileFinder::default()),
            [2.5]
        );
        assert!(fold(&[0.5], false).quantiles(&mut [], &mut QuantileFinder::default())[0].is_nan());
        assert!(
            fold(&[0.5, 1.0], false)
                .quantiles(&mut [1.0, f64::NAN], &mut QuantileFinder::default())
                .iter()
                .all(|v| v.is_nan())
        );
        let infinite = fold(&[0.5, 1.0], false).quantiles(
            &mut [1.0, f64::INFINITY, 3.0],
            &mut QuantileFinder::default(),
        );
        assert_eq!(infinite, [3.0, f64::INFINITY]);
    }

    /// A sample brackets ranks, or fails to: of random values, ties, sorted ones and of a period
    /// that strides meet.
    #[test]
    fn ranks_of_long_rows_are_those_of_a_sort() {
        let mut state = 11u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64
        };
        for n in [LONG - 1, LONG, 5000, 40_001] {
            let random: Vec<f64> = (0..n).map(|_| draw()).collect();
            let ties: Vec<f64> = random.iter().map(|v| v % 3.0).collect();
            let periodic: Vec<f64> = (0..n).map(|at| (at % STRIDE) as f64).collect();
            let outliers: Vec<f64> = (0..n)
                .map(|at| if at % STRIDE == 0 { -1e300 } else { at as f64 })
                .collect();
            let mut sorted = random.clone();
            sorted.sort_by(f64::total_cmp);
            for values in [random, ties, periodic, outliers, sorted, vec![-0.0; n]] {
                let mut wanted = values.clone();
                wanted.sort_by(f64::total_cmp);
                let (mut finder, mut values) = (QuantileFinder::default(), values);
                finder.sample(&values);
                for rank in [0, 1, n / 7, n / 2, n - 2, n - 1] {
                    let (lower, upper) = finder.neighbours(&mut values, rank);
                    assert_eq!(
                        (lower, upper),
                        (wanted[rank], wanted.get(rank + 1).copied()),
                        "{n} {rank}"
                    );
                }
            }
        }
    }

    #[test]
    fn odd_quantiles_are_refused() {
        for q in [
            vec![],
            vec![-0.1],
            vec![1.1],
            vec![f64::NAN],
            vec![0.5; MOST + 1],
        ] {
            assert!(QuantileSpec { q }.check().is_err());
        }
    }

    /// Rows of batches that are finished, of parts of rows, and rows that come late are those of
    /// all values at once.
    #[test]
    fn parts_merge_to_the_whole() {
        let (n, m) = (7, 300);
        let value = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 1009) as f64;
        let fold = fold(&[0.1, 0.5, 0.77], false);
        let take = |state: &mut QuantileState, i: usize, cols: Range<usize>| {
            for first in cols.clone().step_by(BLOCK) {
                let values: Vec<f64> = (first..(first + BLOCK).min(cols.end))
                    .map(|j| value(i, j))
                    .collect();
                let len = values.len();
                let line = Line {
                    row: i,
                    first,
                    len,
                    half: false,
                    values: &values,
                    stride: len,
                    firsts: &[0, 1],
                };
                let mut wide = [0.0; BLOCK];
                fold.absorb(
                    state,
                    &line,
                    Lent {
                        pieces: None,
                        weights: (&[], 0),
                        wide: &mut wide,
                    },
                );
            }
        };
        let mut merged = fold.start(n, m);
        for rows in [0..3, 3..5] {
            let mut part = fold.part(&rows);
            rows.clone().for_each(|i| take(&mut part, i, 0..m));
            fold.settle(&mut part, &rows);
            fold.merge(&mut merged, part);
        }
        for cols in [0..100, 100..m] {
            let mut part = fold.part(&(5..n));
            (5..n).for_each(|i| take(&mut part, i, cols.clone()));
            fold.merge(&mut merged, part);
        }
        assert!(fold.takes(&merged, n, m));
        let columns = fold.columns(&merged, n, m);
        let numbers = columns.all(&columns.columns[0]);
        let got: Vec<f64> = (0..numbers.len()).map(|at| numbers.get(at)).collect();
        let wanted: Vec<f64> = (0..n)
            .flat_map(|i| {
                fold.quantiles(
                    &mut (0..m).map(|j| value(i, j)).collect::<Vec<_>>(),
                    &mut QuantileFinder::default(),
                )
            })
            .collect();
        assert_eq!(got, wanted);
    }
}
