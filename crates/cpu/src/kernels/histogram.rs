//! Histograms of distances between points of one to four dimensions, exact at the speed of `f32`.
//!
//! A pair's bin is decided by its reference r² in `f64` ([`Points::squared_distance`]). The fast path computes in `f32`
//! with a proved bound of its error, counts what is clear of every edge, and re-evaluates the rest. Counts are kept in
//! private `u32` copies of the bins, one per lane (modulo [`COPIES`]), and flushed before they can overflow.

mod edges;
mod points;
mod sweep;
mod table;
#[cfg(test)]
mod tests;
mod uniform;

pub use edges::Edges;
pub use points::{Frame, Points};

use crate::simd::Isa;
use points::Near;
use std::marker::PhantomData;
use std::ops::Range;
use sweep::{Binner, Sweep};
use table::Table;
use uniform::Scale;

/// Private copies of the bins: neighbouring increments never meet in one counter.
pub const COPIES: usize = 8;
/// Counters that may be copied: beyond, the copies would leave the L1 cache.
const COPIED: usize = 1024;

/// Columns that are swept at once.
const CHUNK: usize = 1 << 26;

/// Which pairs of rows × cols are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// All of them.
    All,
    /// Those with i < j.
    Above,
}

/// The counts of a finished histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// One count per bin.
    pub bins: Vec<u64>,
    /// Pairs below the first edge.
    pub under: u64,
    /// Pairs beyond the last edge.
    pub over: u64,
    /// Pairs whose distance is NaN.
    pub skipped: u64,
}

/// A histogram in the making, for one thread.
#[derive(Debug)]
pub struct Histogram<'e> {
    edges: &'e Edges,
    /// One count per slot of [`Edges::slot`]; may wrap below zero until the private counts are added.
    slots: Vec<u64>,
    /// `copies` counters per slot.
    private: Vec<u32>,
    copies: usize,
    /// No private counter exceeds this.
    pending: u64,
    /// Pairs that were decided in `f64`.
    undecided: u64,
    fast: bool,
}

impl<'e> Histogram<'e> {
    /// An empty histogram.
    pub fn new(edges: &'e Edges) -> Histogram<'e> {
        let slots = edges.bins() + 3;
        let copies = if slots <= COPIED { COPIES } else { 1 };
        // The upper half takes what tables leave undecided.
        let private = vec![0; slots.next_power_of_two() * copies * 2];
        Histogram { edges, slots: vec![0; slots], private, copies, pending: 0, undecided: 0, fast: true }
    }

    /// Evaluates every pair in `f64`: slow, and the same counts.
    pub fn without_fast_path(mut self) -> Histogram<'e> {
        self.fast = false;
        self
    }

    /// Pairs so far that were too near to an edge for `f32`, and were decided in `f64`.
    pub fn undecided(&self) -> u64 {
        self.undecided
    }

    /// Counts the pairs (i, j) of `rows` of x and `cols` of y.
    ///
    /// # Panics
    /// If the ranges end outside the points, or the frames have different dimensions.
    pub fn add(&mut self, isa: Isa, x: &Points, rows: Range<usize>, y: &Points, cols: Range<usize>, pairs: Pairs) {
        assert!(rows.end <= x.len() && cols.end <= y.len(), "pairs outside the points");
        assert_eq!(x.frame(), y.frame(), "points in different frames");
        let work = Work { x, y, rows, cols, pairs };
        if !self.fast || work.is_small() {
            return self.add_exactly(&work);
        }
        if let Some(uniform) = self.edges.as_uniform() {
            if let Some(scale) = Scale::<f32>::new(uniform, x, y) {
                self.sweep(isa, &work, scale);
            } else if let Some(scale) = Scale::<f64>::new(uniform, x, y) {
                self.sweep(isa, &work, scale);
            } else {
                self.add_exactly(&work);
            }
        } else if let Some(table) = Table::<f32>::new(self.edges, self.copies, x, y) {
            self.sweep(isa, &work, table);
        } else if let Some(table) = Table::<f64>::new(self.edges, self.copies, x, y) {
            self.sweep(isa, &work, table);
        } else {
            self.add_exactly(&work);
        }
    }

    fn sweep<T: Near, B: Binner<T>>(&mut self, isa: Isa, work: &Work<'_>, binner: B) {
        let sparse = work.share_in_range(self.edges) < if B::QUEUES { 0.6 } else { 0.1 };
        // Column chunks bound what one group of anchors can add to a private counter.
        for start in work.cols.clone().step_by(CHUNK) {
            let work = Work { cols: start..work.cols.end.min(start + CHUNK), ..work.clone() };
            if self.copies == COPIES {
                T::dispatch(
                    isa,
                    Sweep::<T, B, 3> { work, binner: &binner, sparse, histogram: self, near: PhantomData },
                );
            } else {
                T::dispatch(
                    isa,
                    Sweep::<T, B, 0> { work, binner: &binner, sparse, histogram: self, near: PhantomData },
                );
            }
        }
    }

    fn add_exactly(&mut self, work: &Work<'_>) {
        for i in work.rows.clone() {
            for j in work.columns_of(i) {
                self.count_exactly(work, i, j);
            }
        }
    }

    #[inline]
    fn count_exactly(&mut self, work: &Work<'_>, i: usize, j: usize) {
        let slot = self.edges.slot(work.x.squared_distance(i, work.y, j));
        self.slots[slot] = self.slots[slot].wrapping_add(1);
        self.undecided += 1;
    }

    /// As `count_exactly`, where the slot is near `guess`.
    #[inline]
    fn count_near(&mut self, work: &Work<'_>, i: usize, j: usize, guess: usize) {
        let slot = self.edges.slot_near(work.x.squared_distance(i, work.y, j), guess);
        self.slots[slot] = self.slots[slot].wrapping_add(1);
        self.undecided += 1;
    }

    /// Makes room for `increments` of any one private counter.
    fn reserve(&mut self, increments: u64) {
        if self.pending + increments > u64::from(u32::MAX) {
            self.flush();
        }
        self.pending += increments;
    }

    fn flush(&mut self) {
        for (slot, private) in self.slots.iter_mut().zip(self.private.chunks_exact(self.copies)) {
            *slot = private.iter().fold(*slot, |sum, &n| sum.wrapping_add(u64::from(n)));
        }
        self.private.fill(0);
        self.pending = 0;
    }

    /// The counts so far.
    pub fn finish(mut self) -> Counts {
        self.flush();
        let bins = self.edges.bins();
        let (under, over, skipped) = (self.slots[0], self.slots[bins + 1], self.slots[bins + 2]);
        Counts { bins: self.slots[1..=bins].to_vec(), under, over, skipped }
    }
}

impl Counts {
    /// Adds other counts of the same edges.
    ///
    /// # Panics
    /// If the numbers of bins differ.
    pub fn merge(&mut self, other: &Counts) {
        assert_eq!(self.bins.len(), other.bins.len(), "counts of different edges");
        self.bins.iter_mut().zip(&other.bins).for_each(|(a, b)| *a += b);
        self.under += other.under;
        self.over += other.over;
        self.skipped += other.skipped;
    }

    /// All pairs that were visited.
    pub fn total(&self) -> u64 {
        self.bins.iter().sum::<u64>() + self.under + self.over + self.skipped
    }
}

/// The pairs to count.
#[derive(Clone)]
struct Work<'a> {
    x: &'a Points,
    y: &'a Points,
    rows: Range<usize>,
    cols: Range<usize>,
    pairs: Pairs,
}

impl Work<'_> {
    fn columns_of(&self, i: usize) -> Range<usize> {
        match self.pairs {
            Pairs::All => self.cols.clone(),
            Pairs::Above => self.cols.start.max(i + 1)..self.cols.end,
        }
    }

    /// Too few pairs to be worth any preparation.
    fn is_small(&self) -> bool {
        self.rows.len().saturating_mul(self.cols.len()) < 256
    }

    /// The share of pairs below the last edge, by a sample.
    fn share_in_range(&self, edges: &Edges) -> f64 {
        const SAMPLE: usize = 256;
        let last = edges.squares()[edges.bins()];
        let inside = (0..SAMPLE).filter(|n| {
            let at = |r: &Range<usize>, step: usize| r.start + (n * step + step / 2) % r.len();
            self.x.squared_distance(at(&self.rows, 7919), self.y, at(&self.cols, 104_729)) < last
        });
        inside.count() as f64 / SAMPLE as f64
    }
}
