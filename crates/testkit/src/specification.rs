//! What every answer means, as plainly as it can be said: a double loop over pairs. Nothing of the
//! engine is used but the value of a pair, whether a NaN leaves it out, and what was asked.
//!
//! Counts, pairs, neighbours, extremes and quantiles must be equal. Sums are added in twice the
//! precision here, and engines may differ from them by what rounding allows: `SUMS` times the sum
//! of magnitudes.

mod grouped;

use crate::compare::{Numbers, STATISTICS};
use std::cmp::Ordering;
use zipfold_core::fold::BinStatistic;
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{
    Closed, Dense, Extremes, Fold, Histogram, Join, JoinKind, Nearest, Quantile, Reduce, ReduceOp,
    Top,
};
use zipfold_core::oracle::PairValues;
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Domain, Job};

/// Rounding errors of a sum, relative to the sum of magnitudes: each of 100 blocks, lanes and terms
/// may add one.
const SUMS: f64 = 100.0 * f64::EPSILON;

/// A number, and how far from it an answer may be.
#[derive(Clone, Copy, Debug)]
struct Wanted(f64, f64);

impl Wanted {
    fn exactly(value: f64) -> Self {
        Wanted(value, 0.0)
    }
    /// Whether `got` is as wanted.
    fn takes(self, got: f64) -> bool {
        let Wanted(value, within) = self;
        let same = got == value || got.is_nan() && value.is_nan();
        // What overflows on the way may overflow in another order.
        same || (got - value).abs() <= within
            || !within.is_finite()
            || value.is_infinite() && within > 1e290
    }
}

/// A pair that counts, and its values by root.
struct Pair {
    i: usize,
    j: usize,
    roots: Vec<Vec<f64>>,
}

/// What differs between the numbers of all folds, as [`crate::compare::of_state`] has them, and
/// what they should be; one line each.
pub fn differences(job: &Job, got: &[Numbers]) -> Vec<String> {
    let pairs = pairs(job);
    let mut found = vec![];
    for (at, (fold, got)) in job.folds.iter().zip(got).enumerate() {
        for (part, wanted) in answer(job, fold, &pairs) {
            let numbers = got
                .iter()
                .find(|(name, _)| *name == part)
                .map(|(_, numbers)| &numbers[..])
                .unwrap_or_default();
            if numbers.len() != wanted.len() {
                found.push(format!(
                    "fold {at}: {} {part}, the specification has {}",
                    numbers.len(),
                    wanted.len()
                ));
                continue;
            }
            let odd = (0..wanted.len()).find(|at| !wanted[*at].takes(numbers[*at]));
            found.extend(odd.map(|odd| {
                let Wanted(value, within) = wanted[odd];
                format!("fold {at}: {part}[{odd}] is {:e}, the specification has {value:e} ± {within:e}", numbers[odd])
            }));
        }
    }
    found
}

/// Whether the domain and its window have the pair (i, j).
fn is_visited(job: &Job, i: usize, j: usize) -> bool {
    let there = match job.space.domain {
        Domain::Cross | Domain::Square => true,
        Domain::Triangle => i < j,
        Domain::Diagonal => i <= j,
        Domain::Ordered => i != j,
    };
    there && job.window.holds(i, j)
}

/// The pairs whose values reach folds. Of a dense one the ones that are left out for a NaN, too.
fn pairs(job: &Job) -> Vec<(Pair, bool)> {
    let mut values = PairValues::new(job);
    let mut pairs = vec![];
    for i in 0..job.space.n {
        for j in 0..job.space.m {
            if !is_visited(job, i, j) {
                continue;
            }
            let mut roots = vec![];
            values.get(i, j, &mut roots);
            let within = |limit: f64| {
                job.cutoff_root
                    .is_none_or(|root| roots[root][0].sqrt() <= limit)
            };
            if !job.space.cutoff.is_none_or(within) {
                continue;
            }
            let is_nan = |root: usize| roots[root].iter().any(|v| v.is_nan());
            let left_out =
                job.nan == NanPolicy::Skip && job.meets_nan(is_nan, |root| roots[root][0]);
            pairs.push((Pair { i, j, roots }, left_out));
        }
    }
    pairs
}

/// Whether a pair counts for both of its rows: it counts for (i, j) and (j, i).
fn counts_for_both(job: &Job, pair: &Pair) -> bool {
    job.space.is_triangular() && pair.i != pair.j
}

fn exactly(values: Vec<f64>) -> Vec<Wanted> {
    values.into_iter().map(Wanted::exactly).collect()
}

fn answer(job: &Job, fold: &Fold, all: &[(Pair, bool)]) -> Vec<(&'static str, Vec<Wanted>)> {
    let pairs: Vec<&Pair> = all
        .iter()
        .filter(|(_, left_out)| !left_out)
        .map(|(pair, _)| pair)
        .collect();
    match fold {
        Fold::Dense(f) => vec![("values", exactly(dense(job, f, all)))],
        Fold::Reduce(f) => vec![("values", rows(job, f, &pairs))],
        Fold::Nearest(f) => nearest(f, by_row(job, f.root, &pairs)),
        Fold::Histogram(f) => histogram(f, &pairs),
        Fold::Join(f) => join(job, f, &pairs),
        Fold::Extremes(f) => vec![("values", exactly(extremes(f, &pairs)))],
        Fold::Top(f) => vec![("values", exactly(top(f, &pairs)))],
        Fold::Grouped(f) => vec![("values", grouped::lines(job, f, &pairs))],
        Fold::Listed(_) => vec![],
        Fold::Quantile(f) => {
            let values = by_row(job, f.root, &pairs)
                .into_iter()
                .flat_map(|row| quantiles(f, row));
            vec![("values", exactly(values.collect()))]
        }
    }
}

/// The values of each row of x, with the rows that they are of.
fn by_row(job: &Job, root: usize, pairs: &[&Pair]) -> Vec<Vec<(f64, usize)>> {
    let mut rows: Vec<Vec<(f64, usize)>> = vec![vec![]; job.space.n];
    for pair in pairs {
        rows[pair.i].push((pair.roots[root][0], pair.j));
        if counts_for_both(job, pair) {
            rows[pair.j].push((pair.roots[root][0], pair.i));
        }
    }
    rows
}

/// Every value; a matrix has those of pairs that are left out for a NaN, too.
fn dense(job: &Job, f: &Dense, all: &[(Pair, bool)]) -> Vec<f64> {
    if f.condensed {
        // SciPy's order is that of the pairs.
        return all.iter().map(|(pair, _)| pair.roots[f.root][0]).collect();
    }
    let (n, m) = (job.space.n, job.space.m);
    let mut matrix = vec![f64::NAN; n * m];
    for (pair, _) in all {
        matrix[pair.i * m + pair.j] = pair.roots[f.root][0];
        if counts_for_both(job, pair) {
            matrix[pair.j * m + pair.i] = pair.roots[f.root][0];
        }
    }
    matrix
}

/// The least and the largest value of each root.
fn extremes(f: &Extremes, pairs: &[&Pair]) -> Vec<f64> {
    let mut out = vec![];
    for root in &f.roots {
        let (mut least, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in pairs.iter().map(|pair| pair.roots[*root][0]) {
            least = if value < least { value } else { least };
            largest = if value > largest { value } else { largest };
        }
        out.extend([least, largest]);
    }
    out
}

/// A sum in twice the precision, and the sum of magnitudes.
#[derive(Clone, Copy, Default)]
struct Sum {
    high: f64,
    low: f64,
    magnitude: f64,
}

impl Sum {
    fn add(&mut self, term: f64) {
        let high = self.high + term;
        let back = high - self.high;
        self.low += (self.high - (high - back)) + (term - back);
        self.high = high;
        self.magnitude += term.abs();
    }
    fn value(self) -> f64 {
        // Beyond the largest number errors mean nothing.
        if self.high.is_finite() {
            self.high + self.low
        } else {
            self.high
        }
    }
    fn wanted(self) -> Wanted {
        Wanted(self.value(), SUMS * self.magnitude)
    }
}

/// A value (of some numbers) that a result takes, and the row that it is of.
type Taken<'p> = (&'p [f64], usize);

fn rows(job: &Job, f: &Reduce, pairs: &[&Pair]) -> Vec<Wanted> {
    let mut results: Vec<Vec<Taken<'_>>> = match f.axis {
        ReduceAxis::Row => vec![vec![]; job.space.n],
        ReduceAxis::Column => vec![vec![]; job.space.m],
        ReduceAxis::All => vec![vec![]],
    };
    for pair in pairs {
        let mut take = |of: usize, other: usize| match f.axis {
            ReduceAxis::Row => results[of].push((&pair.roots[f.root][..], other)),
            ReduceAxis::Column => results[other].push((&pair.roots[f.root][..], of)),
            ReduceAxis::All => results[0].push((&pair.roots[f.root][..], other)),
        };
        take(pair.i, pair.j);
        if counts_for_both(job, pair) && !f.once {
            take(pair.j, pair.i);
        }
    }
    results.iter().flat_map(|taken| row(f, taken)).collect()
}

/// Number `part` of the weight of a row; 1 without weights.
fn weight(f: &Reduce, other: usize, part: usize) -> f64 {
    match &f.weights {
        None => 1.0,
        Some(w) if f.weight_width == 1 => w[other],
        Some(w) => w[other * f.weight_width + part],
    }
}

/// The numbers of one result.
fn row(f: &Reduce, taken: &[Taken<'_>]) -> Vec<Wanted> {
    let parts = 0..f.out_width();
    let least = || best(taken, |a, b| a < b);
    let largest = || best(taken, |a, b| a > b);
    // Infinities are where a search begins: none of them is found.
    let place = |found: Option<(f64, usize)>, start: f64| {
        let found = found.filter(|(value, _)| *value != start);
        vec![Wanted::exactly(found.map_or(-1.0, |(_, at)| at as f64))]
    };
    let value = |found: Option<(f64, usize)>, start: f64| {
        vec![Wanted::exactly(found.map_or(start, |(value, _)| value))]
    };
    match f.op {
        ReduceOp::Sum => parts.map(|part| sum(f, taken, part).wanted()).collect(),
        ReduceOp::Mean => parts.map(|part| mean(f, taken, part)).collect(),
        ReduceOp::Min => value(least(), f64::INFINITY),
        ReduceOp::Max => value(largest(), f64::NEG_INFINITY),
        ReduceOp::Argmin => place(least(), f64::INFINITY),
        ReduceOp::Argmax => place(largest(), f64::NEG_INFINITY),
        ReduceOp::Count => vec![Wanted::exactly(
            taken.iter().filter(|(value, _)| value[0] != 0.0).count() as f64,
        )],
        ReduceOp::Logsumexp | ReduceOp::Softmax => exponentials(f, taken),
    }
}

/// Σ v·w of number `part`.
fn sum(f: &Reduce, taken: &[Taken<'_>], part: usize) -> Sum {
    let mut sum = Sum::default();
    for (value, other) in taken {
        sum.add(value[if f.width == 1 { 0 } else { part }] * weight(f, *other, part));
    }
    sum
}

/// Σ v·w / Σ w of number `part`.
fn mean(f: &Reduce, taken: &[Taken<'_>], part: usize) -> Wanted {
    let mut total = Sum::default();
    taken
        .iter()
        .for_each(|(_, other)| total.add(weight(f, *other, part.min(f.weight_width - 1))));
    let sum = sum(f, taken, part);
    // Where weights cancel, both errors grow by what is left of them.
    let left = total.magnitude / total.value().abs();
    Wanted(
        sum.value() / total.value(),
        2.0 * SUMS * sum.magnitude / total.value().abs() * left,
    )
}

/// The best value and the row that it is of, the first of equals; the first that is not a number is
/// better than all, as in NumPy.
fn best(taken: &[Taken<'_>], better: fn(f64, f64) -> bool) -> Option<(f64, usize)> {
    let mut best: Option<(f64, usize)> = None;
    for (value, other) in taken.iter().map(|(value, other)| (value[0], *other)) {
        let wins = best.is_none_or(|(b, at)| match (value.is_nan(), b.is_nan()) {
            (false, false) => better(value, b) || value == b && other < at,
            (true, true) => other < at,
            (odd, _) => odd,
        });
        best = if wins { Some((value, other)) } else { best };
    }
    best
}

/// ln Σ w·exp v, or Σ w·exp v / Σ exp v.
fn exponentials(f: &Reduce, taken: &[Taken<'_>]) -> Vec<Wanted> {
    let largest = taken
        .iter()
        .map(|(value, _)| value[0])
        .fold(f64::NEG_INFINITY, f64::max);
    let anything = Wanted(0.0, f64::INFINITY);
    // What is not a number, or infinite, is decided by tests of their own.
    if !largest.is_finite() || taken.iter().any(|(value, _)| value[0].is_nan()) {
        return vec![anything; f.out_width()];
    }
    if f.op == ReduceOp::Logsumexp {
        return vec![log_sum_exp(f, taken, largest)];
    }
    let whole = sum_exp(taken, largest, |_| 1.0);
    let part = |part: usize| {
        let sum = sum_exp(taken, largest, |other| weight(f, other, part));
        Wanted(
            sum.value() / whole.value(),
            20.0 * SUMS * sum.magnitude / whole.value(),
        )
    };
    (0..f.out_width()).map(part).collect()
}

/// Σ w·exp (v - `largest`).
fn sum_exp(taken: &[Taken<'_>], largest: f64, weight: impl Fn(usize) -> f64) -> Sum {
    let mut sum = Sum::default();
    for (value, other) in taken {
        sum.add((value[0] - largest).exp() * weight(*other));
    }
    sum
}

/// ln Σ w·exp v. An exponential is good to some places, more with the distance from the largest
/// value.
fn log_sum_exp(f: &Reduce, taken: &[Taken<'_>], largest: f64) -> Wanted {
    let sum = sum_exp(taken, largest, |other| weight(f, other, 0));
    let good = 10.0 * SUMS * sum.magnitude / sum.value().abs();
    Wanted(largest + sum.value().ln(), good + SUMS * largest.abs())
}

/// Ascending, what is not a number last.
fn ascending(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b)
        .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Ascending or descending by value, what is not a number last.
fn ordered(a: f64, b: f64, largest: bool) -> Ordering {
    if largest {
        ascending(-a, -b)
    } else {
        ascending(a, b)
    }
}

fn nearest(f: &Nearest, rows: Vec<Vec<(f64, usize)>>) -> Vec<(&'static str, Vec<Wanted>)> {
    let (mut indices, mut values) = (vec![], vec![]);
    for mut row in rows {
        row.sort_by(|a, b| ordered(a.0, b.0, f.largest).then(a.1.cmp(&b.1)));
        for at in 0..f.k {
            let found = row.get(at);
            indices.push(Wanted::exactly(
                found.map_or(-1.0, |(_, other)| *other as f64),
            ));
            let value = found.map_or(f64::NAN, |(value, _)| *value);
            values.push(Wanted::exactly(if f.squared {
                value.sqrt()
            } else {
                value
            }));
        }
    }
    vec![("values", indices), ("distances", values)]
}

fn top(f: &Top, pairs: &[&Pair]) -> Vec<f64> {
    let mut all: Vec<(f64, usize, usize)> = pairs
        .iter()
        .map(|pair| (pair.roots[f.root][0], pair.i, pair.j))
        .collect();
    all.sort_by(|a, b| ordered(a.0, b.0, f.largest).then((a.1, a.2).cmp(&(b.1, b.2))));
    all.truncate(f.k);
    let value = |v: f64| if f.squared { v.sqrt() } else { v };
    all.into_iter()
        .flat_map(|(v, i, j)| [i as f64, j as f64, value(v)])
        .collect()
}

/// NumPy's default: linear between the two values next to the place of a quantile.
fn quantiles(f: &Quantile, row: Vec<(f64, usize)>) -> Vec<f64> {
    let mut values: Vec<f64> = row
        .into_iter()
        .map(|(v, _)| if f.squared { v.sqrt() } else { v })
        .collect();
    if values.is_empty() || values.iter().any(|v| v.is_nan()) {
        return vec![f64::NAN; f.q.len()];
    }
    values.sort_by(f64::total_cmp);
    let of = |q: &f64| {
        let place = q * (values.len() - 1) as f64;
        let (low, part) = (place.floor(), place - place.floor());
        let (a, b) = (
            values[low as usize],
            values[(low as usize + 1).min(values.len() - 1)],
        );
        match () {
            () if a == b => a,
            () if part >= 0.5 => b - (b - a) * (1.0 - part),
            () => a + (b - a) * part,
        }
    };
    f.q.iter().map(of).collect()
}

/// The value of a pair along axis `at`.
fn binned(f: &Histogram, at: usize, pair: &Pair) -> f64 {
    let root = pair.roots[f.axes[at].root][0];
    if f.axes[at].squared {
        root.sqrt()
    } else {
        root
    }
}

/// The place of a value along an axis: under, a bin, or over; the last edge is in the last bin
/// where it is closed.
fn place(edges: &[f64], closed: Closed, value: f64) -> usize {
    let bins = edges.len() - 1;
    if value.is_nan() {
        return bins + 1;
    }
    let place = edges.iter().take_while(|edge| **edge <= value).count();
    if place == bins + 1 && closed == Closed::Last && value == edges[bins] {
        bins
    } else {
        place
    }
}

/// The cell of a pair, and whether it is outside of the edges of some axis.
fn cell_of(f: &Histogram, pair: &Pair) -> (usize, bool) {
    let (mut cell, mut outside) = (0, false);
    for (at, axis) in f.axes.iter().enumerate() {
        let bins = axis.edges.len() - 1;
        let place = place(&axis.edges, f.closed, binned(f, at, pair));
        outside |= place == 0 || place > bins;
        cell = cell * (bins + 2) + place;
    }
    if outside && f.axes.len() > 1 {
        cell = f.cells() - 1;
    }
    (cell, outside)
}

fn histogram(f: &Histogram, pairs: &[&Pair]) -> Vec<(&'static str, Vec<Wanted>)> {
    let mut counts = vec![0.0; f.cells()];
    let (mut weights, mut values) = (
        vec![Sum::default(); f.cells()],
        vec![Sum::default(); f.cells()],
    );
    for pair in pairs {
        let (cell, outside) = cell_of(f, pair);
        counts[cell] += 1.0;
        // Only what is inside keeps sums.
        if !outside {
            if let Some([x, y]) = &f.weights {
                weights[cell].add(x[pair.i] * y[pair.j]);
            }
            if let Some(root) = f.pair_weight {
                weights[cell].add(pair.roots[root][0]);
            }
            values[cell].add(binned(f, 0, pair));
        }
    }
    let means = values.iter().zip(&counts).map(|(sum, count)| {
        let Wanted(value, within) = sum.wanted();
        Wanted(value / count, within / count)
    });
    let mut out = vec![(
        "values",
        counts.iter().copied().map(Wanted::exactly).collect(),
    )];
    if f.weights.is_some() || f.pair_weight.is_some() {
        out.push(("sums", weights.into_iter().map(Sum::wanted).collect()));
    }
    if f.mean {
        out.push(("means", means.collect()));
    }
    out.extend(STATISTICS.into_iter().zip(statistics(f, pairs)));
    out
}

/// What is kept of the values of each formula, by cell. Only what is inside keeps values.
fn statistics(f: &Histogram, pairs: &[&Pair]) -> Vec<Vec<Wanted>> {
    let mut out = vec![];
    for value in &f.values {
        let mut cells = vec![vec![]; f.cells()];
        for pair in pairs {
            let (cell, outside) = cell_of(f, pair);
            if !outside {
                cells[cell].push(pair.roots[value.root][0]);
            }
        }
        for which in &value.keep {
            out.push(
                cells
                    .iter()
                    .map(|values| statistic(*which, values))
                    .collect(),
            );
        }
    }
    out
}

/// The sum of what `term` makes of values.
fn total(values: &[f64], term: impl Fn(f64) -> f64) -> Wanted {
    let mut sum = Sum::default();
    values.iter().for_each(|v| sum.add(term(*v)));
    sum.wanted()
}

fn statistic(which: BinStatistic, values: &[f64]) -> Wanted {
    let (n, Wanted(sum, within)) = (values.len() as f64, total(values, |v| v));
    match which {
        BinStatistic::Sum => Wanted(sum, within),
        BinStatistic::Mean => Wanted(sum / n, within / n),
        BinStatistic::Variance => variance(values, sum / n),
        BinStatistic::Min => Wanted::exactly(end(values, f64::min)),
        BinStatistic::Max => Wanted::exactly(end(values, f64::max)),
    }
}

/// In a second pass.
fn variance(values: &[f64], mean: f64) -> Wanted {
    let n = values.len() as f64;
    let Wanted(value, within) = total(values, |v| (v - mean).powi(2));
    let rounded = (mean * f64::EPSILON).powi(2) * 10.0;
    Wanted(value / n, 10.0 * within / n + rounded)
}

/// The least or the largest value; NaN of none, and where a value is.
fn end(values: &[f64], pick: fn(f64, f64) -> f64) -> f64 {
    let nan = values.iter().any(|v| v.is_nan());
    let end = values.iter().copied().reduce(pick);
    end.filter(|_| !nan).unwrap_or(f64::NAN)
}

fn join(job: &Job, f: &Join, pairs: &[&Pair]) -> Vec<(&'static str, Vec<Wanted>)> {
    let (mut flat, mut kept, mut matched) = (vec![], vec![], vec![false; job.space.n]);
    for pair in pairs.iter().filter(|pair| pair.roots[f.root][0] != 0.0) {
        flat.extend([pair.i as f64, pair.j as f64]);
        kept.extend(f.value.map(|root| pair.roots[root][0]));
        matched[pair.i] = true;
        if counts_for_both(job, pair) {
            matched[pair.j] = true;
        }
    }
    if f.kind != JoinKind::Inner {
        (flat, kept) = (
            matched
                .into_iter()
                .map(|m| f64::from(u8::from(m)))
                .collect(),
            vec![],
        );
    }
    vec![("values", exactly(flat)), ("kept", exactly(kept))]
}
