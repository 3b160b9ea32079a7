//! Folds by rows: sum, mean, minimum, log-sum-exp and others of all values of a row, a column, or
//! all.
//!
//! States are kept by row. A block of pairs fills a [`RowPiece`] for its rows and one for its
//! columns; `row_states.rs` adds pieces in a fixed order, so float sums have the same bits for every
//! tiling and every number of threads. Kernels may fill pieces themselves; `runs.rs` is how the
//! others do.
//!
//! State of a row by operation, in f64 numbers (and a count of values):
//!
//! ```text
//! sum            Σ v·w                          one for each number of a result
//! mean           Σ v·w …, Σ w …
//! min, argmin    best value, its index          also max, argmax
//! count          –                              the count itself
//! logsumexp      top, Σ w·e^(v − top)
//! softmax        top, Σ e^(v − top), Σ w·e^(v − top) …
//! ```

#[cfg(doc)]
use super::BLOCK;
use crate::number;
use serde::{Deserialize, Serialize};

/// What is computed of the values of one row.
///
/// Sums, means and exponentials round, so the order of their additions is fixed. The other
/// operations are exact, and bounds may leave pairs out of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReduceOp {
    /// Σ v (or Σ v·w).
    Sum,
    /// Σ v / count, weighted: Σ v·w / Σ w, for every column of weights. NaN for a row without
    /// values, and for weights that add up to 0.
    Mean,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The index of the smallest value, ties to the lowest index.
    Argmin,
    /// The index of the largest value, ties to the lowest index.
    Argmax,
    /// The number of values that are not zero.
    Count,
    /// ln Σ exp v. −∞ for a row without values.
    Logsumexp,
    /// Σ w·exp v / Σ exp v. The weights are what is averaged; without weights the result is 1. NaN
    /// for a row without values.
    Softmax,
}

impl ReduceOp {
    /// Returns whether the result is one of the values or its place.
    ///
    /// Such a result comes with its place in the state, and a bound on values can prove that a pair
    /// does not change it.
    #[doc(hidden)]
    pub fn is_extreme(self) -> bool {
        matches!(
            self,
            ReduceOp::Min | ReduceOp::Max | ReduceOp::Argmin | ReduceOp::Argmax
        )
    }
    /// Returns whether the operation takes the largest value.
    ///
    /// Pruned runs negate values where it does, so that one comparison serves both directions.
    #[doc(hidden)]
    pub fn wants_largest(self) -> bool {
        matches!(self, ReduceOp::Max | ReduceOp::Argmax)
    }
    /// Returns whether the operation adds values, or exponentials of values, and therefore rounds.
    #[doc(hidden)]
    pub fn adds(self) -> bool {
        matches!(
            self,
            ReduceOp::Sum | ReduceOp::Mean | ReduceOp::Logsumexp | ReduceOp::Softmax
        )
    }
}

/// The direction of a fold by rows: which rows have a result.
///
/// [`ReduceOp::Argmin`] and [`ReduceOp::Argmax`] along [`ReduceAxis::Row`] name a row of y, and along
/// [`ReduceAxis::Column`] a row of x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReduceAxis {
    /// One result per row of x.
    Row,
    /// One result per row of y.
    Column,
    /// One result in all.
    All,
}

/// A fold by rows.
///
/// A result has [`Self::out_width`] numbers and a state [`Self::stride`] numbers. Both follow from
/// the fields here, so no state has to carry them.
#[derive(Clone, Debug)]
pub struct Reduce {
    /// Which root is folded.
    pub root: usize,
    /// Numbers of a value.
    pub width: usize,
    /// The operation.
    pub op: ReduceOp,
    /// Results by row, column, or one.
    pub axis: ReduceAxis,
    /// Weights of the rows that are folded away: `weight_width` numbers for each, row by row.
    pub weights: Option<Vec<f64>>,
    /// Numbers in a weight.
    pub weight_width: usize,
    /// Whether a pair of a triangular domain is folded once, not once for each of its rows. Set for
    /// one result over half of the pairs that the user chose. Otherwise such a result would have
    /// every pair twice.
    pub once: bool,
    /// Whether every value is 0 or 1: a condition, or what is made of conditions. Sums of such are
    /// whole numbers, so their order does not matter.
    pub truths: bool,
}

impl Reduce {
    /// Returns the number of rows of the state. One result in all is kept by rows and added last,
    /// so that its bits do not depend on tiles.
    pub fn rows(&self, n: usize, m: usize) -> usize {
        if self.axis == ReduceAxis::Column {
            m
        } else {
            n
        }
    }
    /// Returns whether the result is a number of pairs: a count, or a sum or a mean of conditions
    /// without weights.
    pub fn counts_pairs(&self) -> bool {
        let sums = matches!(self.op, ReduceOp::Sum | ReduceOp::Mean);
        self.op == ReduceOp::Count || sums && self.truths && self.weights.is_none()
    }
    /// Returns whether the result has the same bits in any order of the values.
    pub fn is_exact(&self) -> bool {
        !self.op.adds() || self.counts_pairs()
    }
    /// Returns the numbers of a result: several values with one weight, or one value with several
    /// weights.
    pub fn out_width(&self) -> usize {
        match self.op {
            ReduceOp::Sum | ReduceOp::Mean | ReduceOp::Softmax => self.width.max(self.weight_width),
            _ => 1,
        }
    }
    /// Returns whether a pair counts for both of its rows, in a `half` domain.
    pub fn credits_both(&self, half: bool) -> bool {
        half && !self.once
    }
    /// Returns whether generated code may add the values itself: plain sums and means whose pairs
    /// count for one row.
    ///
    /// A value that counts for a second row must reach memory anyway, so nothing is saved by adding
    /// it in a register.
    pub fn sums_runs(&self, half: bool) -> bool {
        let plain = matches!(self.op, ReduceOp::Sum | ReduceOp::Mean) && self.weights.is_none();
        plain && self.axis != ReduceAxis::Column && !self.credits_both(half)
    }
    /// Returns the weights if generated code may add products with them: sums over all pairs with
    /// one number per weight.
    pub fn sums_weighted(&self, half: bool) -> Option<&[f64]> {
        let plain = self.op == ReduceOp::Sum
            && self.weight_width == 1
            && self.axis != ReduceAxis::Column
            && !half;
        self.weights.as_deref().filter(|_| plain && self.width > 0)
    }
    /// Returns the numbers in the state of a row; see the table of the module.
    ///
    /// A count keeps no number here: [`RowPiece::counts`] is its state, exact up to 2⁶⁴ where an
    /// f64 would end at 2⁵³.
    pub fn stride(&self) -> usize {
        match self.op {
            ReduceOp::Sum => self.out_width(),
            ReduceOp::Mean => self.out_width() + self.weight_width,
            ReduceOp::Min
            | ReduceOp::Max
            | ReduceOp::Argmin
            | ReduceOp::Argmax
            | ReduceOp::Logsumexp => 2,
            ReduceOp::Count => 0,
            ReduceOp::Softmax => 2 + self.out_width(),
        }
    }
    /// Returns number `part` of the weight of `row`, 1 without weights.
    #[inline(always)]
    pub(super) fn weight(&self, row: usize, part: usize) -> f64 {
        match &self.weights {
            None => 1.0,
            Some(w) if self.weight_width == 1 => w[row],
            Some(w) => w[row * self.weight_width + part],
        }
    }
    /// Gives the places of minima and maxima among the states of rows the names `cols`.
    pub(super) fn rename(&self, acc: &mut [f64], cols: &[u32]) {
        if self.op.is_extreme() {
            let places = acc.iter_mut().skip(1).step_by(2);
            let found = places.filter(|at| at.is_finite());
            found.for_each(|at| *at = f64::from(cols[*at as usize]));
        }
    }
    /// Returns the state of a row before any value.
    fn identity(&self) -> Vec<f64> {
        let mut start = vec![];
        self.start_into(&mut start);
        start
    }
    /// Appends the state of a row before any value. An index of ∞ means "none yet" and loses every
    /// tie.
    ///
    /// The state is neutral in [`Self::combine`]: rows that a part never met do not change the
    /// others.
    fn start_into(&self, start: &mut Vec<f64>) {
        let first = start.len();
        start.resize(first + self.stride(), 0.0);
        let start = &mut start[first..];
        match self.op {
            ReduceOp::Min | ReduceOp::Argmin => {
                start.copy_from_slice(&[f64::INFINITY, f64::INFINITY])
            }
            ReduceOp::Max | ReduceOp::Argmax => {
                start.copy_from_slice(&[f64::NEG_INFINITY, f64::INFINITY])
            }
            ReduceOp::Logsumexp | ReduceOp::Softmax => start[0] = f64::NEG_INFINITY,
            _ => {}
        }
    }
    /// Folds one value of `width` numbers, against row `other`, into a state.
    fn absorb(&self, acc: &mut [f64], value: &[f64], other: usize) {
        match self.op {
            ReduceOp::Sum | ReduceOp::Mean => {
                for (part, a) in acc.iter_mut().take(self.out_width()).enumerate() {
                    // A value of one number meets every number of the weight.
                    *a += value[if self.width == 1 { 0 } else { part }] * self.weight(other, part);
                }
                if self.op == ReduceOp::Mean {
                    let totals = acc[self.out_width()..].iter_mut().enumerate();
                    totals.for_each(|(part, a)| *a += self.weight(other, part));
                }
            }
            ReduceOp::Min | ReduceOp::Argmin => {
                better(acc, value[0], other as f64, value[0] < acc[0])
            }
            ReduceOp::Max | ReduceOp::Argmax => {
                better(acc, value[0], other as f64, value[0] > acc[0])
            }
            ReduceOp::Count => {}
            ReduceOp::Logsumexp | ReduceOp::Softmax => self.absorb_exp(acc, value[0], other),
        }
    }
    /// Adds an exponential relative to the largest value so far. If the value is a new largest one,
    /// the sums are scaled down to it (the streaming log-sum-exp; Milakov and Gimelshein 2018), so
    /// one pass suffices and nothing overflows.
    #[inline(always)]
    pub(super) fn absorb_exp(&self, acc: &mut [f64], value: f64, other: usize) {
        let top = number::max(acc[0], value);
        let (shrink, e) = (below(acc[0], top), below(value, top));
        acc[0] = top;
        // Log-sum-exp weights its only sum; softmax keeps the plain sum for its denominator.
        let first = if self.op == ReduceOp::Logsumexp {
            e * self.weight(other, 0)
        } else {
            e
        };
        acc[1] = acc[1] * shrink + first;
        for (part, a) in acc[2..].iter_mut().enumerate() {
            *a = *a * shrink + e * self.weight(other, part);
        }
    }
    /// Adds the state of later values of the same row.
    ///
    /// Additions of f64 are not associative. Callers combine blocks in the order of
    /// [`super::block_order`], which fixes the bits of a sum for every tiling.
    pub(super) fn combine(&self, acc: &mut [f64], more: &[f64]) {
        match self.op {
            ReduceOp::Min | ReduceOp::Argmin => better(acc, more[0], more[1], more[0] < acc[0]),
            ReduceOp::Max | ReduceOp::Argmax => better(acc, more[0], more[1], more[0] > acc[0]),
            ReduceOp::Logsumexp | ReduceOp::Softmax => {
                // Both states are brought to the larger top before they are added.
                let top = number::max(acc[0], more[0]);
                let (a, b) = (below(acc[0], top), below(more[0], top));
                acc[0] = top;
                acc[1..]
                    .iter_mut()
                    .zip(&more[1..])
                    .for_each(|(x, y)| *x = *x * a + *y * b);
            }
            _ => acc.iter_mut().zip(more).for_each(|(x, y)| *x += *y),
        }
    }
    /// Adds states, and counts, of later values of consecutive rows.
    pub(super) fn combine_rows(
        &self,
        (acc, counts): (&mut [f64], &mut [u64]),
        (more, seen): (&[f64], &[u64]),
    ) {
        // One loop over all numbers of all rows, which vectorises.
        if matches!(self.op, ReduceOp::Sum | ReduceOp::Mean) {
            acc.iter_mut().zip(more).for_each(|(a, b)| *a += *b);
        } else if self.stride() > 0 {
            let stride = self.stride();
            let rows = acc.chunks_exact_mut(stride).zip(more.chunks_exact(stride));
            let some = rows.zip(seen).filter(|(_, seen)| **seen > 0);
            some.for_each(|((acc, more), _)| self.combine(acc, more));
        }
        counts.iter_mut().zip(seen).for_each(|(a, b)| *a += *b);
    }
    /// Appends the result of one row, from its state and count. A row without values has the sum 0,
    /// the minimum ∞ and the index −1.
    pub fn finish(&self, acc: &[f64], count: u64, out: &mut Vec<f64>) {
        let width = self.out_width();
        match self.op {
            ReduceOp::Sum => out.extend_from_slice(acc),
            ReduceOp::Mean => {
                let totals = acc[width..].iter().cycle();
                out.extend(acc[..width].iter().zip(totals).map(|(a, total)| a / total));
            }
            ReduceOp::Min | ReduceOp::Max => out.push(acc[0]),
            ReduceOp::Argmin | ReduceOp::Argmax => {
                out.push(if acc[1].is_finite() { acc[1] } else { -1.0 })
            }
            ReduceOp::Count => out.push(count as f64),
            ReduceOp::Logsumexp => out.push(acc[0] + number::log(acc[1])),
            ReduceOp::Softmax => out.extend(acc[2..].iter().map(|a| a / acc[1])),
        }
    }
}

/// Computes e^(`value` − `top`): 0 for −∞, and 1 for the top itself, also +∞, whose difference is
/// NaN.
///
/// Without these two cases a row with one infinite value would be NaN, although its log-sum-exp is
/// that infinity.
#[inline(always)]
pub(super) fn below(value: f64, top: f64) -> f64 {
    let e = if value == top {
        1.0
    } else {
        number::exp(value - top)
    };
    if value == f64::NEG_INFINITY { 0.0 } else { e }
}

/// Takes a better value, or an equal one at a lower index. A NaN wins over numbers and stays, the
/// one with the lowest index, so the result does not depend on the order of values.
fn better(acc: &mut [f64], value: f64, index: f64, wins: bool) {
    let tie = value == acc[0] && index < acc[1];
    if wins || tie || (value.is_nan() && (!acc[0].is_nan() || index < acc[1])) {
        acc[0] = value;
        acc[1] = index;
    }
}

/// States of consecutive rows, from one block of pairs.
///
/// Engines fill pieces and merge them later, because threads finish blocks in any order and sums
/// must not depend on that order. A piece of a sweep has at most a [`BLOCK`] of rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowPiece {
    /// First row.
    pub start: usize,
    /// The states, row by row, `stride` numbers each.
    pub acc: Vec<f64>,
    /// Values folded, by row. For [`ReduceOp::Count`], only values that are not zero.
    pub counts: Vec<u64>,
}

impl RowPiece {
    /// Returns a piece without values for `rows` rows from `start` on. A state of zeros is
    /// allocated as zeros, which the system gives for free.
    pub fn new(fold: &Reduce, start: usize, rows: usize) -> Self {
        let identity = fold.identity();
        let acc = match identity.iter().all(|v| *v == 0.0) {
            true => vec![0.0; rows * identity.len()],
            false => identity.repeat(rows),
        };
        RowPiece {
            start,
            acc,
            counts: vec![0; rows],
        }
    }
    /// Makes this a piece without values for one row, reusing its memory.
    pub fn restart(&mut self, fold: &Reduce, row: usize) {
        self.start = row;
        self.acc.clear();
        fold.start_into(&mut self.acc);
        self.counts.clear();
        self.counts.push(0);
    }
    /// Sets the number of values of the only row, for a sum or mean without weights: values that
    /// are zero were not visited and still count.
    pub fn recount(&mut self, fold: &Reduce, count: u64) {
        self.counts[0] = count;
        if fold.op == ReduceOp::Mean {
            self.acc[fold.out_width()] = count as f64;
        }
    }
    /// Adds the states of later values of the same rows, from the first of them on.
    pub fn join(&mut self, fold: &Reduce, more: &RowPiece) {
        debug_assert_eq!(self.start, more.start);
        // Kernels end pieces with their last row of interest; those without values are left out.
        for _ in self.counts.len()..more.counts.len() {
            self.counts.push(0);
            fold.start_into(&mut self.acc);
        }
        fold.combine_rows((&mut self.acc, &mut self.counts), (&more.acc, &more.counts));
    }
    /// Replaces the state of `row` by that of the only row of `one`.
    pub fn put(&mut self, fold: &Reduce, row: usize, one: &RowPiece) {
        let (at, stride) = (row - self.start, fold.stride());
        self.acc[at * stride..(at + 1) * stride].copy_from_slice(&one.acc);
        self.counts[at] = one.counts[0];
    }
    /// Folds one value of row `row` against row `other`.
    pub fn absorb(&mut self, fold: &Reduce, row: usize, other: usize, value: &[f64]) {
        let at = row - self.start;
        let stride = fold.stride();
        if fold.op == ReduceOp::Count {
            self.counts[at] += u64::from(value[0] != 0.0);
            return;
        }
        self.counts[at] += 1;
        fold.absorb(&mut self.acc[at * stride..(at + 1) * stride], value, other);
    }
    /// Counts a run of values of one row, or takes the best of them (the first of equals), with the
    /// result that value after value would give. Returns `false` and does nothing if the operation,
    /// or a NaN, needs the values one by one.
    ///
    /// The best value is found without its place, which vectorises. Its place is looked up only if
    /// the value can change the state, which is rare after a few runs.
    #[inline(always)]
    pub fn absorb_run(&mut self, fold: &Reduce, row: usize, first: usize, values: &[f64]) -> bool {
        let at = row - self.start;
        if fold.op == ReduceOp::Count {
            self.counts[at] += not_zero(values);
            return true;
        }
        let Some(best) = fold.best_of(values) else {
            return false;
        };
        self.counts[at] += values.len() as u64;
        // The state of the row: its best value and the index of that.
        let acc = &mut self.acc[at * fold.stride()..(at + 1) * fold.stride()];
        // What cannot be better by its value is looked up by its place only where it ties.
        let place = || values.iter().position(|v| *v == best);
        if let (false, Some(place)) = (fold.is_worse(best, acc[0]), place()) {
            fold.absorb(acc, &[best], first + place);
        }
        true
    }
    /// Adds sums that a kernel computed: `count` values each, for consecutive rows from `row` on.
    /// `sums` has `numbers` sums per row, of which those of this fold begin at `first`.
    pub fn add_rows(
        &mut self,
        fold: &Reduce,
        row: usize,
        sums: &[f64],
        (numbers, first): (usize, usize),
        count: u64,
    ) {
        let (stride, width, at) = (fold.stride(), fold.width, row - self.start);
        let rows = self.acc[at * stride..]
            .chunks_exact_mut(stride)
            .zip(sums.chunks_exact(numbers));
        for (acc, sums) in rows {
            acc.iter_mut()
                .zip(&sums[first..first + width])
                .for_each(|(a, s)| *a += *s);
            if fold.op == ReduceOp::Mean {
                acc[stride - 1] += count as f64;
            }
        }
        self.counts[at..at + sums.len() / numbers]
            .iter_mut()
            .for_each(|c| *c += count);
    }
}

/// What is kept of one row.
///
/// Pruned runs meet the columns of a row in any order, so they skip the pieces of blocks and change
/// the state in place. Only exact operations come here.
#[derive(Debug)]
pub(super) struct OneRow<'a> {
    /// Its state.
    pub acc: &'a mut [f64],
    /// Values folded.
    pub count: &'a mut u64,
}

impl OneRow<'_> {
    /// Folds values of one number, each against its row of `others`.
    ///
    /// Counts, and runs without a better value, vectorise where the caller has vectors.
    #[inline(always)]
    pub(super) fn absorb(&mut self, fold: &Reduce, values: &[f64], others: &[u32]) {
        if fold.counts_pairs() {
            return self.take_truths(fold, values.len() as u64, not_zero(values));
        }
        *self.count += values.len() as u64;
        let best = fold.best_of(values);
        // Values that are as good as the best of the run: of equal ones the lowest row has it.
        let matters = |v: f64| best.is_none_or(|best| v == best);
        if best.is_some_and(|best| fold.is_worse(best, self.acc[0])) {
            return;
        }
        for (value, other) in values.iter().zip(others).filter(|(v, _)| matters(**v)) {
            fold.absorb(self.acc, &[*value], *other as usize);
        }
    }
    /// Takes `pairs` pairs, `holds` of which have a value other than 0, for a number of pairs.
    #[inline(always)]
    pub(super) fn take_truths(&mut self, fold: &Reduce, pairs: u64, holds: u64) {
        if fold.op == ReduceOp::Count {
            *self.count += holds;
            return;
        }
        *self.count += pairs;
        self.acc[0] += holds as f64;
        if fold.op == ReduceOp::Mean {
            self.acc[1] += pairs as f64;
        }
    }
}

/// Returns how many values are not 0. A sum of 0 and 1 in lanes vectorises; a count by `filter` would
/// branch, and so would checks of the additions.
#[inline(always)]
fn not_zero(values: &[f64]) -> u64 {
    let mut lanes = [0u64; 8];
    let (eights, rest) = values.as_chunks::<8>();
    for eight in eights {
        for l in 0..8 {
            lanes[l] = lanes[l].wrapping_add(u64::from(eight[l] != 0.0));
        }
    }
    for (l, v) in rest.iter().enumerate() {
        lanes[l] = lanes[l].wrapping_add(u64::from(*v != 0.0));
    }
    lanes.iter().sum()
}

impl Reduce {
    /// Returns the best of the values of an operation that takes the best; none of another one, or
    /// where one is NaN.
    #[inline(always)]
    fn best_of(&self, values: &[f64]) -> Option<f64> {
        match self.op {
            ReduceOp::Min | ReduceOp::Argmin => best_of(values, f64::INFINITY, |v, best| v < best),
            ReduceOp::Max | ReduceOp::Argmax => {
                best_of(values, f64::NEG_INFINITY, |v, best| v > best)
            }
            _ => None,
        }
    }
    /// Returns whether a value is worse than the one that is kept, and not equal to it.
    #[inline(always)]
    fn is_worse(&self, value: f64, kept: f64) -> bool {
        match self.op.wants_largest() {
            false => value > kept,
            true => value < kept,
        }
    }
}

/// Returns the best of the values in eight lanes, or `worst` if none is better; `None` if one is
/// NaN.
///
/// Eight lanes fill a register of AVX-512 and two of AVX2. NaN are noted in integers and looked at
/// once: a branch for each value would keep the loop from becoming vector code.
#[inline(always)]
fn best_of(values: &[f64], worst: f64, better: impl Fn(f64, f64) -> bool) -> Option<f64> {
    let (mut best, mut odd) = ([worst; 8], [0u64; 8]);
    let (eights, rest) = values.as_chunks::<8>();
    for eight in eights {
        for l in 0..8 {
            best[l] = if better(eight[l], best[l]) {
                eight[l]
            } else {
                best[l]
            };
            odd[l] |= u64::from(eight[l].is_nan());
        }
    }
    for (l, v) in rest.iter().enumerate() {
        best[l] = if better(*v, best[l]) { *v } else { best[l] };
        odd[l] |= u64::from(v.is_nan());
    }
    // The lanes last; ties need no care, since only the value is wanted here.
    let mut all = worst;
    for v in best {
        all = if better(v, all) { v } else { all };
    }
    (odd == [0; 8]).then_some(all)
}

/// Adds eight lanes in a fixed order: lane l with lane l + 4, which is adding the halves of a
/// register of eight, then quarters, then the last two. Generated code reduces registers this way.
/// Every engine must add in this order, or sums would depend on the instruction set.
#[inline]
pub fn sum_of_lanes(lanes: [f64; 8]) -> f64 {
    let pairs = [
        lanes[0] + lanes[4],
        lanes[1] + lanes[5],
        lanes[2] + lanes[6],
        lanes[3] + lanes[7],
    ];
    (pairs[0] + pairs[2]) + (pairs[1] + pairs[3])
}
