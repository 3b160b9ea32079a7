//! Runs of values on their way into folds by rows: values of one row against consecutive others, credited to the row, to the
//! others, or to both.
//!
//! The loops are straight, so that they vectorise for the instruction set of the caller; nothing is contracted, so that the
//! bits are those of any other. A row takes a run in eight lanes (lane = column modulo 8), products with weights one by one;
//! a column takes its values one after another.

use super::BLOCK;
use super::rows::{Along, RowFold, RowOp, RowPiece, sum_of_lanes};
use crate::number;
use std::ops::Range;

/// Values of row `row` against the rows `columns` of the other side, at most a [`BLOCK`] of them.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a, T> {
    /// The row.
    pub row: usize,
    /// The first of the others.
    pub first: usize,
    /// How many there are.
    pub len: usize,
    /// Number after number of the values, each from `stride` on after the one before.
    pub values: &'a [T],
    /// See `values`.
    pub stride: usize,
    /// The weights of the others, where the fold has some: number after number, as the values.
    pub weights: &'a [f64],
    /// See `weights`.
    pub apart: usize,
}

impl<'a, T: Copy + Into<f64>> Run<'a, T> {
    /// Credits the run to the row, and to the others along columns, or in a `half` space whose pairs count for both rows.
    #[inline(always)]
    pub fn credit(&self, fold: &RowFold, half: bool, [by_row, by_col]: &mut [RowPiece; 2]) {
        let half = fold.credits_both(half);
        let by_column = fold.along == Along::Column;
        // The diagonal of a half space counts once.
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
    /// The run without its first `cut` values.
    #[inline(always)]
    fn from(&self, cut: usize) -> Self {
        let weights = self.weights.get(cut..).unwrap_or(&[]);
        Run { first: self.first + cut, len: self.len - cut, values: &self.values[cut..], weights, ..*self }
    }
    #[inline(always)]
    fn number(&self, part: usize) -> &'a [T] {
        &self.values[part * self.stride..][..self.len]
    }
    /// Number `part` of the weights; of weights of one number each that one.
    #[inline(always)]
    fn weight(&self, fold: &RowFold, part: usize) -> &'a [f64] {
        let part = if fold.weight_width == 1 { 0 } else { part };
        &self.weights[part * self.apart..][..self.len]
    }
    /// Credits the run to its row.
    #[inline(always)]
    pub fn along(&self, fold: &RowFold, piece: &mut RowPiece) {
        if self.len == 0 {
            return;
        }
        let (at, stride) = (self.row - piece.start, fold.stride());
        match fold.op {
            RowOp::Sum | RowOp::Mean => {
                piece.counts[at] += self.len as u64;
                self.add(fold, &mut piece.acc[at * stride..(at + 1) * stride]);
            }
            RowOp::Logsumexp | RowOp::Softmax => {
                piece.counts[at] += self.len as u64;
                self.add_exp(fold, &mut piece.acc[at * stride..(at + 1) * stride]);
            }
            _ => self.best(fold, piece),
        }
    }
    #[inline(always)]
    fn add(&self, fold: &RowFold, acc: &mut [f64]) {
        let width = fold.out_width();
        for (part, a) in acc[..width].iter_mut().enumerate() {
            let values = self.number(if fold.width == 1 { 0 } else { part });
            *a += match fold.weights {
                None => lane_sums(self.first, values, |v, _| v.into()),
                Some(_) => {
                    let weights = self.weight(fold, part);
                    lane_sums(self.first, values, |v, l| v.into() * weights[l])
                }
            };
        }
        if fold.op == RowOp::Mean {
            for (part, total) in acc[width..].iter_mut().enumerate() {
                *total += match fold.weights {
                    Some(_) => lane_sums(self.first, self.weight(fold, part), |w, _| w),
                    None => self.len as f64,
                };
            }
        }
    }
    /// Exponentials below the largest of the run.
    #[inline(always)]
    fn add_exp(&self, fold: &RowFold, acc: &mut [f64]) {
        let values = self.number(0);
        let mut tops = [f64::NEG_INFINITY; 8];
        let eights = values.chunks_exact(8);
        for (top, v) in tops.iter_mut().zip(eights.remainder()) {
            *top = number::max(*top, (*v).into());
        }
        for eight in eights {
            tops.iter_mut().zip(eight).for_each(|(top, v)| *top = number::max(*top, (*v).into()));
        }
        let top = tops.into_iter().fold(f64::NEG_INFINITY, number::max);
        let mut exps = [0.0f64; BLOCK];
        let exps = &mut exps[..self.len];
        exps.iter_mut().zip(values).for_each(|(e, v)| *e = below((*v).into(), top));
        let mut room = [0.0; 16];
        let mut long = vec![0.0; if acc.len() > 16 { acc.len() } else { 0 }];
        let own = if acc.len() > 16 { &mut long[..] } else { &mut room[..acc.len()] };
        own[0] = top;
        let weighted = |part: usize| match fold.weights {
            None => lane_sums(self.first, exps, |e, _| e),
            Some(_) => {
                let weights = self.weight(fold, part);
                lane_sums(self.first, exps, |e, l| e * weights[l])
            }
        };
        own[1] = if fold.op == RowOp::Logsumexp { weighted(0) } else { lane_sums(self.first, exps, |e, _| e) };
        own[2..].iter_mut().enumerate().for_each(|(part, sum)| *sum = weighted(part));
        fold.combine(acc, own);
    }
    /// Counts, and the best of the run: what needs every value looked at goes one by one.
    #[inline(always)]
    fn best(&self, fold: &RowFold, piece: &mut RowPiece) {
        let mut wide = [0.0f64; BLOCK];
        let wide = &mut wide[..self.len];
        wide.iter_mut().zip(self.number(0)).for_each(|(w, v)| *w = (*v).into());
        if !piece.absorb_run(fold, self.row, self.first, wide) {
            wide.iter().enumerate().for_each(|(l, v)| piece.absorb(fold, self.row, self.first + l, &[*v]));
        }
    }
    /// Credits the run to the others: to each its value.
    #[inline(always)]
    pub fn down(&self, fold: &RowFold, piece: &mut RowPiece) {
        if self.len == 0 {
            return;
        }
        let (at, stride) = (self.first - piece.start, fold.stride());
        let rows = at..at + self.len;
        match fold.op {
            RowOp::Count => {
                let counts = piece.counts[rows].iter_mut().zip(self.number(0));
                counts.for_each(|(c, v)| *c += u64::from((*v).into() != 0.0));
            }
            RowOp::Sum | RowOp::Mean => {
                piece.counts[rows.clone()].iter_mut().for_each(|c| *c += 1);
                self.add_down(fold, &mut piece.acc[rows.start * stride..rows.end * stride]);
            }
            RowOp::Logsumexp => {
                piece.counts[rows.clone()].iter_mut().for_each(|c| *c += 1);
                self.add_exp_down(fold, piece.acc[rows.start * 2..rows.end * 2].as_chunks_mut().0);
            }
            RowOp::Softmax => {
                piece.counts[rows.clone()].iter_mut().for_each(|c| *c += 1);
                let acc = piece.acc[rows.start * stride..rows.end * stride].chunks_exact_mut(stride);
                acc.zip(self.number(0)).for_each(|(acc, v)| fold.absorb_exp(acc, (*v).into(), self.row));
            }
            RowOp::Min | RowOp::Argmin => self.best_down(fold, piece, |v, best| v > best),
            RowOp::Max | RowOp::Argmax => self.best_down(fold, piece, |v, best| v < best),
        }
    }
    #[inline(always)]
    fn add_down(&self, fold: &RowFold, acc: &mut [f64]) {
        let (width, stride) = (fold.out_width(), fold.stride());
        for part in 0..width {
            let weight = fold.weight(self.row, part);
            let values = self.number(if fold.width == 1 { 0 } else { part });
            match stride {
                1 => acc.iter_mut().zip(values).for_each(|(a, v)| *a += (*v).into() * weight),
                2 => {
                    acc.as_chunks_mut::<2>().0.iter_mut().zip(values).for_each(|(a, v)| a[part] += (*v).into() * weight)
                }
                _ => acc[part..].iter_mut().step_by(stride).zip(values).for_each(|(a, v)| *a += (*v).into() * weight),
            }
        }
        if fold.op == RowOp::Mean {
            for part in 0..stride - width {
                let weight = fold.weight(self.row, part);
                acc[width + part..].iter_mut().step_by(stride).for_each(|a| *a += weight);
            }
        }
    }
    /// As [`RowFold::absorb_exp`] for each, with tops and sums apart, so that the loop vectorises.
    #[inline(always)]
    fn add_exp_down(&self, fold: &RowFold, acc: &mut [[f64; 2]]) {
        let (mut tops, mut sums) = ([0.0; BLOCK], [0.0; BLOCK]);
        for (l, [top, sum]) in acc.iter().enumerate() {
            (tops[l], sums[l]) = (*top, *sum);
        }
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
    /// Only what is not worse (a tie and a NaN are neither) is looked at.
    #[inline(always)]
    fn best_down(&self, fold: &RowFold, piece: &mut RowPiece, worse: impl Fn(f64, f64) -> bool) {
        let at = self.first - piece.start;
        for (l, v) in self.number(0).iter().enumerate() {
            let v: f64 = (*v).into();
            if worse(v, piece.acc[2 * (at + l)]) {
                piece.counts[at + l] += 1;
            } else {
                piece.absorb(fold, self.first + l, self.row, &[v]);
            }
        }
    }
}

/// e to what `value` is below `top`; nothing of −∞, and 1 of the top itself, even +∞.
#[inline(always)]
pub(super) fn below(value: f64, top: f64) -> f64 {
    let e = if value == top { 1.0 } else { number::exp(value - top) };
    if value == f64::NEG_INFINITY { 0.0 } else { e }
}

/// The sum of what `term` makes of values and their places, in eight lanes by column, the first of which is `first`.
#[inline(always)]
fn lane_sums<T: Copy>(first: usize, values: &[T], term: impl Fn(T, usize) -> f64) -> f64 {
    let mut lanes = [0.0; 8];
    let lead = ((8 - first % 8) % 8).min(values.len());
    (0..lead).for_each(|l| lanes[(first + l) % 8] += term(values[l], l));
    let whole = values[lead..].len() / 8 * 8;
    for start in (lead..lead + whole).step_by(8) {
        let eight: &[T; 8] = match values[start..start + 8].try_into() {
            Ok(eight) => eight,
            Err(_) => break,
        };
        for l in 0..8 {
            lanes[l] += term(eight[l], start + l);
        }
    }
    (lead + whole..values.len()).for_each(|l| lanes[l - lead - whole] += term(values[l], l));
    sum_of_lanes(lanes)
}

/// The weights of rows `rows`, and how far apart their numbers lie: as given where each is one number, else in `room`.
pub fn weights<'a>(fold: &'a RowFold, rows: &Range<usize>, room: &'a mut Vec<f64>) -> (&'a [f64], usize) {
    match &fold.weights {
        Some(weights) if fold.weight_width == 1 => (&weights[rows.clone()], 0),
        _ => {
            by_number(fold, rows, room);
            (room, BLOCK)
        }
    }
}

/// A block of the weights of rows `rows` number after number, each [`BLOCK`] after the one before.
pub fn by_number(fold: &RowFold, rows: &Range<usize>, to: &mut Vec<f64>) {
    let Some(weights) = &fold.weights else { return };
    let wide = fold.weight_width;
    to.resize(wide * BLOCK, 0.0);
    for (l, row) in weights[rows.start * wide..rows.end * wide].chunks_exact(wide).enumerate() {
        row.iter().enumerate().for_each(|(part, w)| to[part * BLOCK + l] = *w);
    }
}
