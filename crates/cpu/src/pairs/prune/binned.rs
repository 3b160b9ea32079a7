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
//!             near = marks, of those within the cut-off; count them
//!             a NaN among the near: absorb one by one, tell or skip NaN
//!             picked = near, of those between the first and the last edge of each axis
//!             values of the picked side by side; place and absorb them as a run
//!     pairs of the row that were not looked at: far, or counted above the last edge
//! ```
//!
//! Why this shape: most pairs of neighbouring cells are beyond the last edge. Vectors rule them out
//! without a branch, a bit for each lane, so only pairs with a bin pay for the search of the bin.

use super::cutoff::{BLOCKS, CutoffGrid, ROWS};
use crate::pairs::reductions;
use crate::pairs::vm::{Scratch, Vm};
use std::ops::Range;
use zipfold_core::fold::{BLOCK, Histogram, HistogramState, LONG_RUN, State, Tally};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Domain, Error, Result};
use zipfold_plan::Tile;
use zipfold_plan::executor::{Folded, Stop};
use zipfold_vector::simd::{Element, Kernel, Lanes, first_lanes};

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
    /// The first and the last of them.
    ends: [u32; 2],
    /// Which columns of a block the domain has.
    marks: Marks,
    /// Values of the pairs of a row and a block that have a bin, number after number.
    picked: Vec<f64>,
}

/// Lanes of a mask.
const MASK: usize = 8;
/// Room for the values of a block and of one vector behind them.
const ROOM: usize = BLOCK + MASK;
/// A bit for each lane of a block.
type Marks = [u8; BLOCK / MASK];

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
        let picked = vec![0.0; ROOM * scratch.numbers()];
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
            ends: [0; 2],
            marks: [0; BLOCK / MASK],
            picked,
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
                        let ends =
                            |ends: [u32; 2], rank: &u32| [ends[0].min(*rank), ends[1].max(*rank)];
                        self.ends = self.ranks.iter().fold([u32::MAX, 0], ends);
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
        let cutoff = engine.limit.map(|(root, limit)| Limit {
            root,
            lo: f64::NEG_INFINITY,
            hi: limit,
        });
        let i = engine.grid.order()[row] as usize;
        mark_space(
            engine.job.space.domain,
            row as u32,
            (columns.len(), &self.ranks, self.ends),
            &mut self.marks,
        );
        let seen = f64::dispatch(
            reductions::isa(engine.isa),
            TakeRow {
                fold: self.fold,
                state: &mut self.state,
                scratch: &self.scratch,
                pairs: (i, columns),
                cutoff: cutoff.as_slice(),
                limits: &self.limits,
                marks: &mut self.marks,
                picked: &mut self.picked,
            },
        );
        if seen.nan {
            self.take_one_by_one(i, columns);
        }
        // Without a cut-off, all pairs of the row count.
        if cutoff.is_some() { seen.near } else { 0 }
    }
    /// Where some values are NaN.
    fn take_one_by_one(&mut self, i: usize, columns: &[u32]) {
        let engine = self.engine;
        let is_marked = |lane: usize| self.marks[lane / MASK] >> (lane % MASK) & 1 != 0;
        for (lane, j) in columns
            .iter()
            .enumerate()
            .filter(|(lane, _)| is_marked(*lane))
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
            self.state.absorb(self.fold, i, *j as usize, value);
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

/// Marks the columns of a block that a sorted row meets in the space: their number, with their sorted
/// places where x and y are one input, and the ends of these.
fn mark_space(
    domain: Domain,
    row: u32,
    (columns, ranks, [first, last]): (usize, &[u32], [u32; 2]),
    marks: &mut Marks,
) {
    let all = match domain {
        Domain::Cross | Domain::Square => true,
        Domain::Triangle => first > row,
        Domain::Diagonal => first >= row,
        Domain::Ordered => first > row || last < row,
    };
    let meets = |rank: u32| match domain {
        Domain::Cross | Domain::Square => true,
        Domain::Triangle => rank > row,
        Domain::Diagonal => rank >= row,
        Domain::Ordered => rank != row,
    };
    marks.fill(0);
    for (at, mark) in marks[..columns.div_ceil(MASK)].iter_mut().enumerate() {
        let lanes = MASK.min(columns - at * MASK);
        // Few blocks have columns that the row does not meet: those of its own cell.
        *mark = if all {
            first_lanes(lanes) as u8
        } else {
            let ranks = ranks[at * MASK..][..lanes].iter().enumerate();
            ranks.fold(0, |bits, (lane, rank)| {
                bits | u8::from(meets(*rank)) << lane
            })
        };
    }
}

/// The ends between which every number is that is not NaN.
const EVERY: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// What the values of a row and a block of columns are.
#[derive(Clone, Copy, Debug)]
struct RowSeen {
    /// Pairs of the domain within the cut-off.
    near: u64,
    /// One of them has a NaN. None was taken, and the marks are those of the near.
    nan: bool,
}

/// Takes the pairs of a row that have a bin.
struct TakeRow<'a> {
    fold: &'a Histogram,
    state: &'a mut HistogramState,
    scratch: &'a Scratch<f64>,
    /// The row, and the columns of the lanes.
    pairs: (usize, &'a [u32]),
    cutoff: &'a [Limit],
    limits: &'a [Limit],
    marks: &'a mut Marks,
    /// For the values of the pairs in bins, number after number.
    picked: &'a mut [f64],
}

impl Kernel<f64> for TakeRow<'_> {
    type Output = RowSeen;
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, s: S) -> RowSeen {
        let (scratch, columns) = (self.scratch, self.pairs.1);
        let mut seen = RowSeen {
            near: 0,
            nan: false,
        };
        let mut picked: Marks = [0; BLOCK / MASK];
        let masks = columns.len().div_ceil(MASK);
        for (at, (mark, picked)) in self.marks[..masks].iter_mut().zip(&mut picked).enumerate() {
            *mark &= within(s, scratch, self.cutoff, at);
            seen.near += u64::from(mark.count_ones());
            for values in scratch.all() {
                seen.nan |= !between(s, values, at, EVERY) & *mark != 0;
            }
            *picked = *mark & within(s, scratch, self.limits, at);
        }
        if seen.nan {
            return seen;
        }
        self.absorb(s, &picked[..masks]);
        seen
    }
}

impl TakeRow<'_> {
    /// Hands the picked pairs to the fold.
    #[inline(always)]
    fn absorb<S: Lanes<f64>>(self, s: S, picked: &[u8]) {
        let (scratch, (i, columns)) = (self.scratch, self.pairs);
        let mut count = 0;
        for mask in picked {
            count += mask.count_ones() as usize;
        }
        if count < LONG_RUN {
            return self.absorb_single(picked);
        }
        let mut lanes = [0u32; BLOCK + 16];
        if self.fold.weights.is_some() {
            indices(s, picked, &mut lanes);
        }
        let column = |at: usize| columns[lanes[at] as usize] as usize;
        // Before the fold asks: in a function that it calls, vectors would not be inlined.
        for (values, to) in scratch.all().iter().zip(self.picked.chunks_exact_mut(ROOM)) {
            compress(s, values, picked, to);
        }
        let all = &*self.picked;
        let fill = |root: usize, to: &mut [f64]| {
            to.copy_from_slice(&all[scratch.firsts()[root] * ROOM..][..to.len()]);
        };
        self.state.absorb_some(self.fold, i, (column, count), fill);
    }
    /// Hands the picked pairs to the fold one by one: they are few.
    fn absorb_single(self, picked: &[u8]) {
        let (i, columns) = self.pairs;
        for (at, mask) in picked.iter().enumerate() {
            for lane in (0..MASK).filter(|lane| mask >> lane & 1 != 0) {
                let lane = at * MASK + lane;
                let value = |root: usize| self.scratch.root(root)[0][lane];
                self.state
                    .absorb(self.fold, i, columns[lane] as usize, value);
            }
        }
    }
}

/// Lists the picked lanes.
#[inline(always)]
fn indices<S: Lanes<f64>>(s: S, picked: &[u8], lanes: &mut [u32; BLOCK + 16]) {
    let mut to = 0;
    for (at, mask) in picked.iter().enumerate() {
        let base = (at * MASK) as u32;
        let mut part = 0;
        while part < MASK {
            let bits = part_of::<S>(*mask, part);
            // SAFETY: at most as many lanes as a block has were stored, and 16 more fit.
            unsafe { s.store_indices(bits, base + part as u32, lanes.as_mut_ptr().add(to)) };
            to += bits.count_ones() as usize;
            part += S::N;
        }
    }
}

/// The bits of the lanes of a vector that begins with lane `part` of a mask.
#[inline(always)]
fn part_of<S: Lanes<f64>>(mask: u8, part: usize) -> u32 {
    u32::from(mask) >> part & first_lanes(S::N)
}

/// The lanes of mask `at` from `lo` to `hi`: loops and no iterators, which would keep vectors from
/// being inlined.
#[inline(always)]
fn between<S: Lanes<f64>>(s: S, values: &[f64; BLOCK], at: usize, [lo, hi]: [f64; 2]) -> u8 {
    let eight = &values[at * MASK..][..MASK];
    let (lo, hi) = (s.splat(lo), s.splat(hi));
    let (mut bits, mut part) = (0, 0);
    while part < MASK {
        // SAFETY: N divides 8, so the vector lies within the eight values.
        let v = unsafe { s.load(eight.as_ptr().add(part)) };
        bits |= s.bits(s.and(s.le(lo, v), s.le(v, hi))) << part;
        part += S::N;
    }
    bits as u8
}

/// The lanes of mask `at` that are within all `limits`.
#[inline(always)]
fn within<S: Lanes<f64>>(s: S, scratch: &Scratch<f64>, limits: &[Limit], at: usize) -> u8 {
    let mut bits = !0;
    for limit in limits {
        bits &= between(s, &scratch.root(limit.root)[0], at, [limit.lo, limit.hi]);
    }
    bits
}

/// Puts the picked values side by side, where there is [`ROOM`].
#[inline(always)]
fn compress<S: Lanes<f64>>(s: S, values: &[f64; BLOCK], picked: &[u8], to: &mut [f64]) {
    let mut count = 0;
    for (at, mask) in picked.iter().enumerate() {
        let mut part = 0;
        while part < MASK {
            let bits = part_of::<S>(*mask, part);
            // SAFETY: N divides 8; at most as many values as a block has were stored, and 8 more
            // fit.
            unsafe {
                let v = s.load(values.as_ptr().add(at * MASK + part));
                s.store_compressed(v, bits, to.as_mut_ptr().add(count));
            }
            count += bits.count_ones() as usize;
            part += S::N;
        }
    }
}
