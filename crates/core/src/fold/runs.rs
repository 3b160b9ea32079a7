//! Runs of values on their way into folds by rows: the values of one row of x against consecutive
//! rows of y, credited to the row, to the others, or to both.
//!
//! This is the innermost loop of sums, so it is written for the compiler. Loops are straight and
//! work on slices of known length, so that they become vector code for the instruction set of the
//! caller; long closures would be compiled apart, without it. Nothing is contracted, so the bits
//! are the same for every instruction set.
//!
//! The order of additions is fixed (invariant CANONICAL-BLOCKS):
//!
//! * A row adds a run in eight lanes, and a value belongs to the lane (column modulo 8). The lanes
//!   are added by [`sum_of_lanes`], whose bits stay the same if all lanes move around by as many
//!   places: lane l is added to lane l + 4, these sums to those two lanes on, and the last two to
//!   each other. So this file counts lanes from the first value of the run, which gives the bits of
//!   lanes by column, and a run begins with a whole eight wherever it begins.
//! * A column takes its values one after another, in the order of rows.
//!
//! ```text
//! run of columns 5 … 18:   5 6 7 8 9 10 11 12 | 13 14 15 16 17 18
//! lanes by column          5 6 7 0 1  2  3  4 |  5  6  7  0  1  2
//! lanes here               0 1 2 3 4  5  6  7 |  0  1  2  3  4  5
//!                          whole eights          rest
//! ```

use super::BLOCK;
use super::rows::{Reduce, ReduceAxis, ReduceOp, RowPiece, below, sum_of_lanes};
use crate::number;
use std::ops::Range;

/// A number that is folded: f64, or f32 in matrices and sums of single precision.
///
/// States are f64 in both cases: a sum of f32 values widens each value before it adds.
pub trait Value: Copy + Into<f64> {
    /// A number that no value is below. The start of a maximum.
    const LEAST: Self;
    /// Returns the larger of two; NaN if either is.
    fn max(a: Self, b: Self) -> Self;
    /// Computes e^(v − `top`) for each of up to a [`BLOCK`] of values, `top` being the largest. In
    /// single precision the result is within some 10⁻⁷ of its exact value, and 0 for values more
    /// than 690 below.
    fn below(values: &[Self], top: Self, exps: &mut [f64]);
}

impl Value for f64 {
    const LEAST: f64 = f64::NEG_INFINITY;
    #[inline(always)]
    fn max(a: f64, b: f64) -> f64 {
        number::max(a, b)
    }
    #[inline(always)]
    fn below(values: &[f64], top: f64, exps: &mut [f64]) {
        for (e, v) in exps.iter_mut().zip(values) {
            *e = below(*v, top);
        }
    }
}

impl Value for f32 {
    const LEAST: f32 = f32::NEG_INFINITY;
    #[inline(always)]
    /// Written as a comparison, for it becomes one vector instruction. NaN in `b` must pass, hence
    /// the order of operands.
    fn max(a: f32, b: f32) -> f32 {
        if a > b || a.is_nan() { a } else { b }
    }
    #[inline(always)]
    fn below(values: &[f32], top: f32, exps: &mut [f64]) {
        // Two loops, so that the first has vectors of single precision.
        let (mut factors, mut powers) = ([0.0f32; BLOCK], [0i32; BLOCK]);
        for ((factor, power), v) in factors.iter_mut().zip(&mut powers).zip(values) {
            (*factor, *power) = single_below(*v, top);
        }
        for ((e, factor), power) in exps.iter_mut().zip(&factors).zip(&powers) {
            *e = f64::from(*factor) * f64::from_bits(((1023 + i64::from(*power)) << 52) as u64);
        }
    }
}

/// Returns (f, k) such that f · 2^k is e^(`value` − `top`), with the reduction and coefficients of
/// Cephes (Moshier 1992).
///
/// The power of two is returned apart, because the result may be far below the range of f32: it is
/// put together in f64. Infinite values: the largest value itself gives 1 even if it is +∞, whose
/// difference from itself is NaN.
#[inline(always)]
fn single_below(value: f32, top: f32) -> (f32, i32) {
    /// 1.5 · 2²³: adding it rounds to an integer, which the low bits of the sum then hold.
    const SHIFT: f32 = 12_582_912.0;
    let depth = value - top;
    // Clamped so that k fits the exponent of an f64; anything deeper is 0 below.
    let depth = if depth > -690.0 { depth } else { -690.0 };
    let shifted = depth * std::f32::consts::LOG2_E + SHIFT;
    let k = shifted - SHIFT;
    // ln 2 in two parts: the first product is exact (Cody and Waite).
    let r = (depth - k * 0.693_359_4) - k * -2.121_944_4e-4;
    // (e^r − 1 − r)/r² for |r| ≤ ln 2 / 2. The terms r and 1 are added last, which keeps the errors
    // of the polynomial small next to them.
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 0.166_666_65;
    let p = p * r + 0.5;
    let e = (p * (r * r) + r) + 1.0;
    let e = if depth > -690.0 { e } else { 0.0 };
    // Infinite values are 1 of themselves: their difference is not a number.
    let e = if value == top && value > f32::NEG_INFINITY {
        1.0
    } else {
        e
    };
    // The clamp above has turned NaN into −690, so NaN is put back.
    let e = if value.is_nan() || top.is_nan() {
        f32::NAN
    } else {
        e
    };
    (
        e,
        if value == top {
            0
        } else {
            shifted.to_bits() as i32 - SHIFT.to_bits() as i32
        },
    )
}

/// The values of row `row` against `len` rows of the other side from `first` on, at most a
/// [`BLOCK`] and within one block.
///
/// Within one block, since the sum of a block is added on its own; at most a [`BLOCK`], so buffers
/// on the stack suffice.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a, T> {
    /// The row.
    pub row: usize,
    /// The first of the others.
    pub first: usize,
    /// How many there are.
    pub len: usize,
    /// The values, number after number; number p begins at `p * stride`. Seven more numbers behind
    /// the last value make the sum of a short run faster; they may be anything.
    pub values: &'a [T],
    /// See `values`.
    pub stride: usize,
    /// The weights of the other rows, if the fold has weights: number after number, `apart` between
    /// them. A weight of one number per row has no second number, and `apart` is 0. What `values`
    /// says of more numbers holds for weights.
    pub weights: &'a [f64],
    /// See `weights`.
    pub apart: usize,
}

impl<'a, T: Value> Run<'a, T> {
    /// Credits the run to its row, to the other rows, or to both in a `half` domain whose pairs
    /// count for both.
    ///
    /// The pair on the diagonal (i, i) is one pair of one row, so it is credited once: the run
    /// without its first value goes to the second side.
    #[inline(always)]
    pub fn credit(&self, fold: &Reduce, half: bool, [by_row, by_col]: &mut [RowPiece; 2]) {
        let half = fold.credits_both(half);
        let by_column = fold.axis == ReduceAxis::Column;
        // The diagonal pair is in the run only if the run begins at its own row.
        let apart = self.from(usize::from(half && self.first == self.row));
        if half || !by_column {
            let run = if by_column { &apart } else { self };
            run.along(fold, by_row);
        }
        if half || by_column {
            let run = if by_column { self } else { &apart };
            run.down(fold, by_col);
        }
    }
    /// Returns the run without its first `cut` values.
    #[inline(always)]
    fn from(&self, cut: usize) -> Self {
        let weights = self.weights.get(cut..).unwrap_or(&[]);
        Run {
            first: self.first + cut,
            len: self.len - cut,
            values: &self.values[cut..],
            weights,
            ..*self
        }
    }
    /// Returns number `part` of all values.
    #[inline(always)]
    fn number(&self, part: usize) -> &'a [T] {
        &self.values[part * self.stride..][..self.len]
    }
    /// Returns number `part` of all values, and all that lies behind them.
    #[inline(always)]
    fn onward(&self, part: usize) -> &'a [T] {
        &self.values[part * self.stride..]
    }
    /// Returns number `part` of the weights, and all that lies behind them. A weight of one number
    /// serves all numbers of a value.
    #[inline(always)]
    fn weight(&self, fold: &Reduce, part: usize) -> &'a [f64] {
        let part = if fold.weight_width == 1 { 0 } else { part };
        &self.weights[part * self.apart..]
    }
    /// Credits the run to its row.
    #[inline(always)]
    pub fn along(&self, fold: &Reduce, piece: &mut RowPiece) {
        if self.len == 0 {
            return;
        }
        // A piece begins at the first row of its block.
        let (at, stride) = (self.row - piece.start, fold.stride());
        match fold.op {
            ReduceOp::Sum | ReduceOp::Mean => {
                piece.counts[at] += self.len as u64;
                self.add(fold, &mut piece.acc[at * stride..(at + 1) * stride]);
            }
            ReduceOp::Logsumexp | ReduceOp::Softmax => {
                piece.counts[at] += self.len as u64;
                self.add_exp(fold, &mut piece.acc[at * stride..(at + 1) * stride]);
            }
            _ => self.best(fold, piece),
        }
    }
    /// Adds the run to a sum or mean. A mean keeps the sum of weights behind its sums.
    #[inline(always)]
    fn add(&self, fold: &Reduce, acc: &mut [f64]) {
        let width = fold.out_width();
        let values = |part: usize| self.onward(if fold.width == 1 { 0 } else { part });
        if fold.weights.is_none() {
            for (part, a) in acc[..width].iter_mut().enumerate() {
                *a += lane_sum(self.len, values(part));
            }
        } else {
            self.add_products(fold, values, &mut acc[..width]);
        }
        if fold.op == ReduceOp::Mean {
            for (part, total) in acc[width..].iter_mut().enumerate() {
                *total += match fold.weights {
                    Some(_) => lane_sum(self.len, self.weight(fold, part)),
                    // 1 for each value, exact: a run has at most 128 of them.
                    None => self.len as f64,
                };
            }
        }
    }
    /// Adds the products of values and weights, number by number.
    ///
    /// Values are a closure, because exponentials are weighted by the same loop as plain values.
    #[inline(always)]
    fn add_products<'v, V: Value + 'v>(
        &self,
        fold: &Reduce,
        values: impl Fn(usize) -> &'v [V],
        acc: &mut [f64],
    ) {
        for (part, a) in acc.iter_mut().enumerate() {
            *a += lane_products(self.len, values(part), self.weight(fold, part));
        }
    }
    /// Adds exponentials below the largest of the run, and combines the result with the state: e^v
    /// would overflow, e^(v − top) cannot. One pass finds the largest, one the exponentials, one
    /// adds them.
    #[inline(always)]
    fn add_exp(&self, fold: &Reduce, acc: &mut [f64]) {
        let values = self.number(0);
        // Eight maxima side by side vectorise; a maximum does not depend on the order.
        let mut tops = [T::LEAST; 8];
        let (eights, rest) = values.as_chunks::<8>();
        for (top, v) in tops.iter_mut().zip(rest) {
            *top = T::max(*top, *v);
        }
        for eight in eights {
            for l in 0..8 {
                tops[l] = T::max(tops[l], eight[l]);
            }
        }
        let mut top = T::LEAST;
        for v in tops {
            top = T::max(top, v);
        }
        // On the stack: this runs for every row of every block.
        let mut exps = [0.0f64; BLOCK];
        T::below(values, top, &mut exps[..self.len]);
        // States of up to 16 numbers need no allocation; wider ones are rare.
        let mut room = [0.0; 16];
        let mut long = vec![0.0; if acc.len() > 16 { acc.len() } else { 0 }];
        let own = if acc.len() > 16 {
            &mut long[..]
        } else {
            &mut room[..acc.len()]
        };
        // The state of this run alone: its top, its sum of exponentials, its weighted sums.
        own[0] = top.into();
        let exps = &exps[..];
        if fold.op == ReduceOp::Softmax || fold.weights.is_none() {
            own[1] = lane_sum(self.len, exps);
        }
        if fold.weights.is_some() {
            let first = if fold.op == ReduceOp::Softmax { 2 } else { 1 };
            self.add_products(fold, |_| exps, &mut own[first..]);
        // Without weights every value counts 1, so the weighted sums are the plain one.
        } else if fold.op == ReduceOp::Softmax {
            let sum = own[1];
            own[2..].fill(sum);
        }
        fold.combine(acc, own);
    }
    /// Counts, or takes the smallest or largest of the run. [`RowPiece::absorb_run`] does it at
    /// once unless a NaN makes it go value by value.
    #[inline(always)]
    fn best(&self, fold: &Reduce, piece: &mut RowPiece) {
        let mut wide = [0.0f64; BLOCK];
        let wide = &mut wide[..self.len];
        for (w, v) in wide.iter_mut().zip(self.number(0)) {
            *w = (*v).into();
        }
        if !piece.absorb_run(fold, self.row, self.first, wide) {
            wide.iter()
                .enumerate()
                .for_each(|(l, v)| piece.absorb(fold, self.row, self.first + l, &[*v]));
        }
    }
    /// Credits the run to the other rows: each takes its one value.
    ///
    /// The work is as large as along a row, but each state is loaded and stored once per value.
    /// That is the cost that [`super::Accumulate::halving_pays`] weighs.
    #[inline(always)]
    pub fn down(&self, fold: &Reduce, piece: &mut RowPiece) {
        if self.len == 0 {
            return;
        }
        let (at, stride) = (self.first - piece.start, fold.stride());
        let rows = at..at + self.len;
        match fold.op {
            ReduceOp::Count => {
                for (c, v) in piece.counts[rows].iter_mut().zip(self.number(0)) {
                    *c += u64::from((*v).into() != 0.0);
                }
            }
            ReduceOp::Sum | ReduceOp::Mean => {
                count(&mut piece.counts[rows.clone()]);
                self.add_down(fold, &mut piece.acc[rows.start * stride..rows.end * stride]);
            }
            ReduceOp::Logsumexp => {
                count(&mut piece.counts[rows.clone()]);
                self.add_exp_down(
                    fold,
                    piece.acc[rows.start * 2..rows.end * 2].as_chunks_mut().0,
                );
            }
            ReduceOp::Softmax => {
                count(&mut piece.counts[rows.clone()]);
                let acc =
                    piece.acc[rows.start * stride..rows.end * stride].chunks_exact_mut(stride);
                for (acc, v) in acc.zip(self.number(0)) {
                    fold.absorb_exp(acc, (*v).into(), self.row);
                }
            }
            ReduceOp::Min | ReduceOp::Argmin => self.best_down(fold, piece, |v, best| v > best),
            ReduceOp::Max | ReduceOp::Argmax => self.best_down(fold, piece, |v, best| v < best),
        }
    }
    /// Adds one value to each of `len` sums. Strides 1 and 2 (a sum, a mean) have loops of their
    /// own, which vectorise; others step through the states.
    #[inline(always)]
    fn add_down(&self, fold: &Reduce, acc: &mut [f64]) {
        let (width, stride) = (fold.out_width(), fold.stride());
        for part in 0..width {
            let weight = fold.weight(self.row, part);
            let values = self.number(if fold.width == 1 { 0 } else { part });
            // A stride that the compiler knows makes the loads of states plain vector loads.
            match stride {
                1 => {
                    for (a, v) in acc.iter_mut().zip(values) {
                        *a += (*v).into() * weight;
                    }
                }
                2 => {
                    for (a, v) in acc.as_chunks_mut::<2>().0.iter_mut().zip(values) {
                        a[part] += (*v).into() * weight;
                    }
                }
                _ => {
                    for (a, v) in acc[part..].iter_mut().step_by(stride).zip(values) {
                        *a += (*v).into() * weight;
                    }
                }
            }
        }
        if fold.op == ReduceOp::Mean {
            for part in 0..stride - width {
                let weight = fold.weight(self.row, part);
                for a in acc[width + part..].iter_mut().step_by(stride) {
                    *a += weight;
                }
            }
        }
    }
    /// As [`Reduce::absorb_exp`] for each of the others, with tops and sums copied to arrays of
    /// their own, so that the loop vectorises.
    ///
    /// The order of operations is that of one value after another, so the bits are those of the
    /// oracle.
    #[inline(always)]
    fn add_exp_down(&self, fold: &Reduce, acc: &mut [[f64; 2]]) {
        let (mut tops, mut sums) = ([0.0; BLOCK], [0.0; BLOCK]);
        for (l, [top, sum]) in acc.iter().enumerate() {
            (tops[l], sums[l]) = (*top, *sum);
        }
        // A column folds rows away, so the weight is that of the row of the run.
        let weight = fold.weight(self.row, 0);
        let states = tops[..self.len].iter_mut().zip(&mut sums[..self.len]);
        for ((top, sum), v) in states.zip(self.number(0)) {
            let v: f64 = (*v).into();
            let now = number::max(*top, v);
            *sum = *sum * below(*top, now) + below(v, now) * weight;
            *top = now;
        }
        for (l, to) in acc.iter_mut().enumerate() {
            *to = [tops[l], sums[l]];
        }
    }
    /// Offers one value to each of `len` minima or maxima. Most values are worse than what is kept,
    /// so a vector loop marks the others first. A tie and a NaN are not `worse`: both are looked
    /// at.
    #[inline(always)]
    fn best_down(&self, fold: &Reduce, piece: &mut RowPiece, worse: impl Fn(f64, f64) -> bool) {
        let at = self.first - piece.start;
        let values = self.number(0);
        let mut open = [0u8; BLOCK];
        let mut any = 0;
        let (bests, _) = piece.acc[2 * at..2 * (at + self.len)].as_chunks::<2>();
        for ((open, v), [best, _]) in open.iter_mut().zip(values).zip(bests) {
            *open = u8::from(!worse((*v).into(), *best));
            any |= *open;
        }
        // All values are worse than what is kept: only the counts change.
        if any == 0 {
            return count(&mut piece.counts[at..at + self.len]);
        }
        for (l, (v, open)) in values.iter().zip(open).enumerate() {
            if open == 0 {
                piece.counts[at + l] += 1;
            } else {
                // Decides again, with ties and NaN; it counts the value, too.
                piece.absorb(fold, self.first + l, self.row, &[(*v).into()]);
            }
        }
    }
}

/// Adds `len` values in eight lanes.
///
/// A sum in one chain would wait four cycles for each addition; eight lanes hide that and fill a
/// register.
#[inline(always)]
fn lane_sum<T: Value>(len: usize, values: &[T]) -> f64 {
    let (whole, kept) = (len / 8 * 8, &KEPT[len % 8]);
    let mut lanes = [0.0; 8];
    for eight in values[..whole].as_chunks::<8>().0 {
        for l in 0..8 {
            lanes[l] += eight[l].into();
        }
    }
    if whole < len {
        if let Some(eight) = values[whole..].first_chunk::<8>() {
            for l in 0..8 {
                lanes[l] += keep(eight[l].into(), kept[l]);
            }
        } else {
            let eight = padded(&values[whole..len]);
            for l in 0..8 {
                lanes[l] += eight[l];
            }
        }
    }
    sum_of_lanes(lanes)
}

/// Adds `len` products of values and weights in eight lanes.
///
/// A product is rounded before it is added. A fused multiply-add would give other bits on machines
/// that have it.
#[inline(always)]
fn lane_products<T: Value>(len: usize, values: &[T], weights: &[f64]) -> f64 {
    let (whole, kept) = (len / 8 * 8, &KEPT[len % 8]);
    let mut lanes = [0.0; 8];
    let eights = values[..whole]
        .as_chunks::<8>()
        .0
        .iter()
        .zip(weights[..whole].as_chunks::<8>().0);
    for (eight, weights) in eights {
        for l in 0..8 {
            lanes[l] += eight[l].into() * weights[l];
        }
    }
    // After the eights: a lane adds in the order of its columns.
    if whole < len {
        if let (Some(eight), Some(weights)) = (
            values[whole..].first_chunk::<8>(),
            weights[whole..].first_chunk::<8>(),
        ) {
            for l in 0..8 {
                lanes[l] += keep(eight[l].into() * weights[l], kept[l]);
            }
        } else {
            let (eight, weights) = (padded(&values[whole..len]), padded(&weights[whole..len]));
            for l in 0..8 {
                lanes[l] += eight[l] * weights[l];
            }
        }
    }
    sum_of_lanes(lanes)
}

/// Row r keeps the first r of eight terms.
static KEPT: [[u64; 8]; 8] = {
    let mut kept = [[0; 8]; 8];
    let mut at = 0;
    while at < 64 {
        kept[at / 8][at % 8] = if at % 8 < at / 8 { u64::MAX } else { 0 };
        at += 1;
    }
    kept
};

/// Returns the term, or +0 where `kept` is 0. Lanes begin with +0 and are never −0, so adding +0
/// changes no bit of them.
///
/// The rest of a run is a whole eight that is read past its end, and not a loop over its terms: a
/// lane whose index the compiler does not know is in memory, and a vector that is read there right
/// after single numbers were written waits for them. In questions with a cut-off, whose runs are
/// short, that wait was a fifth of the time.
#[inline(always)]
fn keep(term: f64, kept: u64) -> f64 {
    f64::from_bits(term.to_bits() & kept)
}

/// Returns fewer than eight numbers and zeros behind them, where memory ends right after a run.
#[cold]
#[inline(never)]
fn padded<T: Value>(numbers: &[T]) -> [f64; 8] {
    std::array::from_fn(|l| numbers.get(l).map_or(0.0, |v| (*v).into()))
}

/// Adds one to each count.
#[inline(always)]
fn count(counts: &mut [u64]) {
    for c in counts {
        *c += 1;
    }
}

/// Returns the weights of rows `rows`, more behind them where there are, and how far apart their
/// numbers lie: in place if each weight is one number, else transposed into `room`.
///
/// Engines look them up once for a block of columns, and every row of the block reads them.
pub fn weights<'a>(
    fold: &'a Reduce,
    rows: &Range<usize>,
    room: &'a mut Vec<f64>,
) -> (&'a [f64], usize) {
    match &fold.weights {
        Some(weights) if fold.weight_width == 1 => (&weights[rows.start..], 0),
        _ => {
            by_number(fold, rows, room);
            (room, BLOCK)
        }
    }
}

/// Transposes a block of weights from row by row to number by number, [`BLOCK`] apart, so that the
/// loops over a run read them in order.
pub fn by_number(fold: &Reduce, rows: &Range<usize>, to: &mut Vec<f64>) {
    let Some(weights) = &fold.weights else { return };
    let wide = fold.weight_width;
    to.resize(wide * BLOCK, 0.0);
    for (l, row) in weights[rows.start * wide..rows.end * wide]
        .chunks_exact(wide)
        .enumerate()
    {
        row.iter()
            .enumerate()
            .for_each(|(part, w)| to[part * BLOCK + l] = *w);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    /// Lanes by column, one term after another.
    fn by_column(first: usize, terms: &[f64]) -> f64 {
        let mut lanes = [0.0; 8];
        for (at, term) in terms.iter().enumerate() {
            lanes[(first + at) % 8] += term;
        }
        sum_of_lanes(lanes)
    }

    #[test]
    fn sums_have_the_bits_of_lanes_by_column_wherever_a_run_begins_and_memory_ends() {
        let mut random = Random::new(8);
        for _ in 0..4000 {
            let (first, len) = (random.below(8), random.below(40));
            let odd = [-0.0, 5e-324, 1e300, -1e300, f64::INFINITY];
            let mut draw = |_| match random.below(40) {
                0 => odd[random.below(odd.len())],
                _ => (random.unit() - 0.5) * 10f64.powi(random.below(30) as i32 - 15),
            };
            let mut values: Vec<f64> = (0..len).map(&mut draw).collect();
            let mut weights: Vec<f64> = (0..len).map(&mut draw).collect();
            let products: Vec<f64> = values.iter().zip(&weights).map(|(v, w)| v * w).collect();
            let want = [by_column(first, &values), by_column(first, &products)];
            // What lies behind a run counts for nothing, much of it or little.
            values.resize(len + random.below(10), f64::NAN);
            weights.resize(len + random.below(10), f64::INFINITY);
            let got = [
                lane_sum(len, &values),
                lane_products(len, &values, &weights),
            ];
            for (got, want) in got.into_iter().zip(want) {
                let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
                assert!(same, "{got} but {want}: {len} values from column {first}");
            }
        }
    }
}
