//! Histograms of pairs whose rows are in a grid of cells. Vectors rule out the values that an axis
//! leaves out; the rest are placed in bins one by one.
//!
//! ```text
//! for each group of sorted rows that share a cell
//!     found = the rows of y in the cells around it, ascending                  grid.rs
//!     for some rows of the group, for each chunk of found
//!         gather the rows of x, and the chunk as strips of y
//!         for each block of 128 columns, for each row
//!             values = evaluator(row, block)
//!             marks = the columns that the domain has                          triangle, diagonal
//!             marks &= within the cut-off; count them
//!             a NaN among the marked: absorb one by one, tell or skip NaN
//!             marks &= between the first and the last edge of each axis
//!             absorb the marked lanes
//!     pairs of the row that were not looked at: far, or counted above the last edge
//! ```
//!
//! Why this shape: most pairs of neighbouring cells are beyond the last edge. Marks are bytes that
//! vectors compute without a branch, so only pairs with a bin pay for the search of the bin.

use super::cutoff::{BLOCKS, CutoffGrid, ROWS};
use crate::pairs::reductions;
use crate::pairs::vm::{Scratch, Vm};
use std::ops::Range;
use zipfold_core::fold::{
    BLOCK, Bounded, Histogram, HistogramState, Pairs, Scattered, State, Tally,
};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Domain, Error, Result};
use zipfold_plan::Tile;
use zipfold_plan::executor::{Folded, Stop};
use zipfold_vector::simd::{Element, Kernel, Lanes};

/// Values of a root from `lo` to `hi` count.
#[derive(Clone, Copy, Debug)]
struct Limit {
    root: usize,
    lo: f64,
    hi: f64,
}

/// One batch on its way.
pub(super) struct Binned<'e, 'j> {
    engine: &'e CutoffGrid<'j>,
    fold: &'j Histogram,
    vm: Vm<'j, f64>,
    scratch: Scratch<f64>,
    limits: Vec<Limit>,
    state: HistogramState,
    tally: Tally,
    found: Vec<u32>,
    /// Sorted places of the columns of a block.
    ranks: Vec<u32>,
    marks: Box<[u8; BLOCK]>,
}

/// The values of each axis that have a bin.
fn limits(fold: &Histogram) -> Vec<Limit> {
    let limit = |axis: &zipfold_core::fold::Axis| {
        let (first, last) = (axis.compared[0], axis.compared[axis.bins()]);
        // What is under the only axis is counted there.
        let lo = if fold.axes.len() > 1 {
            first
        } else {
            f64::NEG_INFINITY
        };
        Limit {
            root: axis.root,
            lo,
            hi: if axis.closed { last } else { last.next_down() },
        }
    };
    fold.axes.iter().map(limit).collect()
}

impl<'e, 'j> Binned<'e, 'j> {
    /// Counts the pairs of consecutive `tiles` of sorted rows, each against all columns.
    ///
    /// # Errors
    /// `Interrupted` when told to stop.
    pub(super) fn run(
        engine: &'e CutoffGrid<'j>,
        fold: &'j Histogram,
        tiles: &[Tile],
        stop: Stop<'_>,
    ) -> Result<Folded> {
        let vm = engine.vm();
        let scratch = vm.scratch();
        let mut walk = Binned {
            engine,
            fold,
            vm,
            scratch,
            limits: limits(fold),
            state: HistogramState::new(fold),
            tally: Tally::default(),
            found: vec![],
            ranks: vec![],
            marks: Box::new([0; BLOCK]),
        };
        engine.groups(tiles, stop, |rows| walk.group(rows))?;
        walk.finish()
    }
    /// Counts the pairs that were not placed as over the last edge.
    fn finish(mut self) -> Result<Folded> {
        self.tally.counted -= self.tally.nan;
        let outside = self.tally.counted.checked_sub(self.state.total());
        let outside = outside
            .ok_or_else(|| Error::internal("more pairs in a histogram than were counted"))?;
        // What was not placed is over the last edge, or over all of several axes.
        if let Some(last) = self.state.counts.last_mut() {
            *last += outside;
        }
        Ok(Folded {
            states: vec![State::Histogram(self.state)],
            tally: self.tally,
        })
    }
    /// Sorted rows of one cell.
    fn group(&mut self, rows: Range<usize>) {
        let engine = self.engine;
        let mut found = std::mem::take(&mut self.found);
        engine.grid.around(&rows, &mut found);
        let half = engine.job.space.is_triangular();
        if half {
            found.retain(|row| engine.ranks[*row as usize] as usize >= rows.start);
        }
        for start in rows.clone().step_by(ROWS) {
            let rows = start..rows.end.min(start + ROWS);
            self.vm
                .x
                .take(&engine.x.values, &engine.grid.order()[rows.clone()]);
            let mut counted = [0u64; ROWS];
            for columns in found.chunks(BLOCKS * BLOCK) {
                self.vm.y.take_in_strips(&engine.y.values, columns);
                self.scratch.forget(0);
                for (block, columns) in columns.chunks(BLOCK).enumerate() {
                    self.ranks.clear();
                    if engine.job.space.is_self() {
                        self.ranks
                            .extend(columns.iter().map(|row| engine.ranks[*row as usize]));
                    }
                    for (at, counted) in counted[..rows.len()].iter_mut().enumerate() {
                        self.vm.eval(
                            &mut self.scratch,
                            at,
                            rows.len(),
                            block,
                            &(0..columns.len()),
                        );
                        *counted += self.take(rows.start + at, columns);
                    }
                }
            }
            for (row, counted) in rows.clone().zip(counted) {
                self.close(row, counted, found.len() as u64);
            }
        }
        self.found = found;
    }
    /// Places the values of sorted `row` in bins; how many of the columns lie within the cut-off.
    fn take(&mut self, row: usize, columns: &[u32]) -> u64 {
        let engine = self.engine;
        let isa = reductions::isa(engine.isa);
        let marks = &mut self.marks[..columns.len()];
        mark_space(engine.job.space.domain, row as u32, &self.ranks, marks);
        let within = engine.limit.map_or(0, |(root, limit)| {
            let limits = [Limit {
                root,
                lo: f64::NEG_INFINITY,
                hi: limit,
            }];
            f64::dispatch(
                isa,
                Mark {
                    scratch: &self.scratch,
                    limits: &limits,
                    marks: &mut *marks,
                },
            );
            marks.iter().map(|m| u64::from(*m)).sum()
        });
        let i = engine.grid.order()[row] as usize;
        // A row against itself is often 0 / 0.
        if any_nan(self.scratch.all(), marks) {
            self.take_one_by_one(i, columns);
            return within;
        }
        f64::dispatch(
            isa,
            Mark {
                scratch: &self.scratch,
                limits: &self.limits,
                marks: &mut *marks,
            },
        );
        // Every lane is written where the next one that counts goes.
        let mut lanes = [0u8; BLOCK + 1];
        let mut count = 0;
        for (lane, mark) in marks.iter().enumerate() {
            lanes[count] = lane as u8;
            count += usize::from(*mark);
        }
        for lane in &lanes[..count] {
            let line = lane_of(&self.scratch, i, columns, usize::from(*lane));
            self.fold.absorb_scattered(&mut self.state, &line);
        }
        within
    }
    /// Where some values are NaN.
    fn take_one_by_one(&mut self, i: usize, columns: &[u32]) {
        let engine = self.engine;
        for (lane, j) in columns
            .iter()
            .enumerate()
            .filter(|(lane, _)| self.marks[*lane] != 0)
        {
            let value = |root: usize| self.scratch.root(root)[0][lane];
            let is_nan = |root: usize| value(root).is_nan();
            if engine.job.folds[0].meets_nan(is_nan, value) {
                let (a, b) = (i as u64, u64::from(*j));
                let pair = if engine.job.space.is_triangular() {
                    (a.min(b), a.max(b))
                } else {
                    (a, b)
                };
                self.tally.note_nan(pair);
                if engine.job.nan == NanPolicy::Skip {
                    self.tally.nan += 1;
                    continue;
                }
            }
            let line = lane_of(&self.scratch, i, columns, lane);
            self.fold.absorb_scattered(&mut self.state, &line);
        }
    }
    /// Counts what is left of a sorted row, of this many columns that were looked at.
    fn close(&mut self, row: usize, within: u64, looked: u64) {
        let all = self
            .engine
            .job
            .space
            .count(&(row..row + 1), &(0..self.engine.job.space.m));
        let looked = looked.min(all);
        match self.engine.limit {
            None => self.tally.counted += all,
            Some(_) => {
                self.tally.counted += within;
                self.tally.beyond_cutoff += all - within;
            }
        }
        self.tally.skipped += all - looked.max(within);
    }
}

/// The value of row `i` against the column of one lane.
#[inline(always)]
fn lane_of<'a>(
    scratch: &'a Scratch<f64>,
    i: usize,
    columns: &'a [u32],
    lane: usize,
) -> Scattered<'a> {
    Scattered {
        pairs: Pairs {
            place: i,
            row: i,
            others: &columns[lane..=lane],
            half: false,
        },
        values: &scratch.all().as_flattened()[lane..],
        stride: BLOCK,
        firsts: scratch.firsts(),
    }
}

/// Marks the columns, by their sorted places, that a sorted row meets in the space.
fn mark_space(domain: Domain, row: u32, ranks: &[u32], marks: &mut [u8]) {
    match domain {
        Domain::Cross | Domain::Square => marks.fill(1),
        Domain::Triangle => marks
            .iter_mut()
            .zip(ranks)
            .for_each(|(m, rank)| *m = u8::from(*rank > row)),
        Domain::Diagonal => marks
            .iter_mut()
            .zip(ranks)
            .for_each(|(m, rank)| *m = u8::from(*rank >= row)),
        Domain::Ordered => marks
            .iter_mut()
            .zip(ranks)
            .for_each(|(m, rank)| *m = u8::from(*rank != row)),
    }
}

/// Whether a value of a marked lane is NaN.
fn any_nan(values: &[[f64; BLOCK]], marks: &[u8]) -> bool {
    values.iter().any(|v| {
        v.iter()
            .zip(marks)
            .fold(false, |any, (v, mark)| any | (v.is_nan() & (*mark != 0)))
    })
}

/// Takes the mark of lanes whose values are beyond a limit.
struct Mark<'a> {
    scratch: &'a Scratch<f64>,
    limits: &'a [Limit],
    marks: &'a mut [u8],
}

impl Kernel<f64> for Mark<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, _: S) {
        for limit in self.limits {
            let values = &self.scratch.root(limit.root)[0][..self.marks.len()];
            for (mark, v) in self.marks.iter_mut().zip(values) {
                *mark &= u8::from(*v >= limit.lo) & u8::from(*v <= limit.hi);
            }
        }
    }
}
