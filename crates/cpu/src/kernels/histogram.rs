//! Histograms of distances between points of one to four dimensions, exact at the speed of `f32`.
//!
//! A pair's bin is decided by its reference r² in `f64` ([`Points::squared_distance`]). The fast path computes in `f32`
//! with a proved bound of its error, counts what is clear of every edge, and re-evaluates the rest. Counts are kept in
//! private `u32` copies of the bins, one per lane (modulo [`COPIES`]), and flushed before they can overflow.

mod binner;
mod edges;
mod lattice;
mod mesh;
mod points;
mod strips;
mod sums;
mod sweep;
mod table;
#[cfg(test)]
mod tests;
mod uniform;

pub use edges::Edges;
pub use mesh::{Columns, Meeting, Mesh, Meshed};
pub use points::{Frame, Points};
pub use strips::{Binning, Span, Strip};
pub use sums::{BEHIND, Terms};

use binner::Binner;
use points::Near;
use std::marker::PhantomData;
use std::ops::Range;
use strips::Form;
use sums::Sums;
use sweep::{Counting, Drain, Queue, Queueing, Sweep};
use zipfold_vector::simd::Isa;

/// Private copies of the bins: neighbouring increments never meet in one counter.
pub const COPIES: usize = 8;
/// Counters that may be copied: beyond, the copies would leave the L1 cache.
const COPIED: usize = 1024;

/// Columns that are swept at once: bounds what one group of anchors can add to a private counter.
const CHUNK: usize = 1 << 26;
/// The share of pairs below the last edge up to which the others are dropped before they are counted.
const SPARSE: f64 = 0.5;
/// Fewer pairs are not worth any preparation.
const SMALL: usize = 256;

/// Which pairs of rows × cols are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// All of them.
    All,
    /// Those with i < j.
    Above,
}

/// Private copies of the counters of a histogram.
fn copies(edges: &Edges) -> usize {
    if edges.bins() + 3 <= COPIED { COPIES } else { 1 }
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
    /// Sums of products of weights per bin, by the scale of [`Terms`]; empty where they are not wanted.
    pub weights: Vec<i128>,
    /// Sums of values per bin, likewise.
    pub values: Vec<i128>,
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
    /// The share of pairs below the last edge, by the last sample.
    share: Option<f64>,
    sums: Option<Sums<'e>>,
    fast: bool,
}

impl<'e> Histogram<'e> {
    /// An empty histogram.
    pub fn new(edges: &'e Edges) -> Histogram<'e> {
        let slots = edges.bins() + 3;
        let copies = copies(edges);
        // The upper half takes what tables leave undecided.
        let private = vec![0; slots.next_power_of_two() * copies * 2];
        Histogram {
            edges,
            slots: vec![0; slots],
            private,
            copies,
            pending: 0,
            undecided: 0,
            share: None,
            sums: None,
            fast: true,
        }
    }

    /// Also sums `terms` of the pairs in bins.
    pub fn with_sums(self, terms: Terms<'e>) -> Histogram<'e> {
        Histogram { sums: Some(Sums::new(terms, self.slots.len())), ..self }
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
        if self.fast && rows.len().saturating_mul(cols.len()) >= SMALL {
            let binning = Binning::new(self.edges, x, y);
            let strips = &[Strip { rows, spans: vec![Span::of(cols)] }];
            return self.add_strips(isa, &binning, &Work { x, y, strips, pairs, padded: false });
        }
        self.add_exactly(&Work { x, y, strips: &[Strip { rows, spans: vec![Span::of(cols)] }], pairs, padded: false });
    }

    /// Counts the pairs of `work`; `binning` is of the same edges and points.
    ///
    /// # Panics
    /// If the ranges end outside the points, the frames have different dimensions, or points have no weights.
    pub fn add_strips(&mut self, isa: Isa, binning: &Binning, work: &Work<'_>) {
        // Queues name pairs by 32 bits.
        if work.x.len().max(work.y.len()) > u32::MAX as usize {
            return self.add_exactly(work);
        }
        let inside = |s: &Strip| s.rows.end <= work.x.len() && s.spans.iter().all(|c| c.cols.end <= work.y.len());
        assert!(work.strips.iter().all(inside), "pairs outside the points");
        assert_eq!(work.x.frame(), work.y.frame(), "points in different frames");
        let weights = self.sums.as_ref().and_then(|sums| sums.terms.weights);
        let weighed = |[x, y]: [&[f64]; 2]| x.len() >= work.x.len() + BEHIND && y.len() >= work.y.len() + BEHIND;
        assert!(weights.is_none_or(weighed), "points without weights");
        match &binning.0 {
            Form::SingleScale(b) => self.sweep::<f32, _>(isa, work, b),
            Form::DoubleScale(b) => self.sweep::<f64, _>(isa, work, b),
            Form::SingleTable(b) => self.sweep::<f32, _>(isa, work, b),
            Form::DoubleTable(b) => self.sweep::<f64, _>(isa, work, b),
            Form::Exact => self.add_exactly(work),
        }
    }

    fn sweep<T: Near, B: Binner<T>>(&mut self, isa: Isa, work: &Work<'_>, binner: &B) {
        match self.copies {
            COPIES => self.sweep_copies::<T, B, 3>(isa, work, binner),
            _ => self.sweep_copies::<T, B, 0>(isa, work, binner),
        }
    }

    fn sweep_copies<T: Near, B: Binner<T>, const SHIFT: i32>(&mut self, isa: Isa, work: &Work<'_>, binner: &B) {
        // Terms are of pairs that are known by name, as in a queue.
        if self.sums.is_some() || self.share_in_range(work) < SPARSE {
            let mut drain = |queue: &mut Queue<T>| {
                T::dispatch(isa, Drain::<T, B, SHIFT> { binner, work, histogram: self, queue, isa });
            };
            let mut queue = Queue::new();
            let visitor = Queueing::new(binner.far(), &mut queue, &mut drain);
            let beyond = T::dispatch(isa, Sweep { work, visitor, near: PhantomData }).finish();
            let over = self.edges.bins() + 1;
            self.slots[over] = self.slots[over].wrapping_add(beyond);
        } else {
            let visitor = Counting::<B, SHIFT> { binner, histogram: self };
            T::dispatch(isa, Sweep { work, visitor, near: PhantomData });
        }
    }

    /// The share of pairs below the last edge: of padded strips, which are alike, that of the first.
    fn share_in_range(&mut self, work: &Work<'_>) -> f64 {
        let known = self.share.filter(|_| work.padded);
        let share = known.unwrap_or_else(|| work.share_in_range(self.edges));
        self.share = Some(share);
        share
    }

    fn add_exactly(&mut self, work: &Work<'_>) {
        for strip in work.strips {
            for i in strip.rows.clone() {
                for span in &strip.spans {
                    for j in work.columns_of(i, &span.cols) {
                        self.count_exactly(work, i, j);
                    }
                }
            }
        }
    }

    #[inline]
    fn count_exactly(&mut self, work: &Work<'_>, i: usize, j: usize) {
        let slot = self.edges.slot(work.x.squared_distance(i, work.y, j));
        self.take(work, i, j, slot);
        self.undecided += 1;
    }

    /// Counts a pair of a slot, with its terms.
    fn take(&mut self, work: &Work<'_>, i: usize, j: usize, slot: usize) {
        self.slots[slot] = self.slots[slot].wrapping_add(1);
        if let Some(sums) = &mut self.sums
            && slot.wrapping_sub(1) < self.edges.bins()
        {
            sums.add(i, j, slot, work.x.squared_distance(i, work.y, j));
        }
    }

    /// As `count_exactly`, where the slot is near `guess`.
    #[inline]
    fn count_near(&mut self, work: &Work<'_>, i: usize, j: usize, guess: usize) {
        let slot = self.slot_near(work, i, j, guess);
        self.slots[slot] = self.slots[slot].wrapping_add(1);
    }

    /// The slot of a pair, which is near `guess`, in `f64`.
    fn slot_near(&mut self, work: &Work<'_>, i: usize, j: usize, guess: usize) -> usize {
        self.undecided += 1;
        self.edges.slot_near(work.x.squared_distance(i, work.y, j), guess)
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
        let [weights, values] = self.sums.take().map(Sums::finish).unwrap_or_default();
        let inside = |sums: Vec<i128>| {
            let windows = sums.len() / self.slots.len();
            sums.get(windows..(bins + 1) * windows).map(<[i128]>::to_vec).unwrap_or_default()
        };
        Counts {
            bins: self.slots[1..=bins].to_vec(),
            under,
            over,
            skipped,
            weights: inside(weights),
            values: inside(values),
        }
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
        self.weights.iter_mut().zip(&other.weights).for_each(|(a, b)| *a += b);
        self.values.iter_mut().zip(&other.values).for_each(|(a, b)| *a += b);
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
#[derive(Clone, Debug)]
pub struct Work<'a> {
    /// Points of x.
    pub x: &'a Points,
    /// Points of y.
    pub y: &'a Points,
    /// Rows and the columns they meet.
    pub strips: &'a [Strip],
    /// Which of their pairs.
    pub pairs: Pairs,
    /// What follows a span, up to a vector, may be counted with it: it is beyond the last edge. Pairs beyond are not all
    /// counted then.
    pub padded: bool,
}

impl Work<'_> {
    fn columns_of(&self, i: usize, cols: &Range<usize>) -> Range<usize> {
        match self.pairs {
            Pairs::All => cols.clone(),
            Pairs::Above => cols.start.max(i + 1)..cols.end,
        }
    }

    /// The share of pairs below the last edge, by a sample.
    fn share_in_range(&self, edges: &Edges) -> f64 {
        const SAMPLE: usize = 256;
        let last = edges.squares()[edges.bins()];
        let at = |n: usize, r: &Range<usize>, step: usize| r.start + (n * step + step / 2) % r.len().max(1);
        let inside = (0..SAMPLE).filter(|n| {
            let strip = &self.strips[at(*n, &(0..self.strips.len()), 31_337)];
            let Some(span) = strip.spans.get(at(*n, &(0..strip.spans.len()), 15_485_863)) else { return false };
            let some = !strip.rows.is_empty() && !span.cols.is_empty();
            let pair = || self.x.squared_distance(at(*n, &strip.rows, 7919), self.y, at(*n, &span.cols, 104_729));
            some && pair() < last
        });
        if self.strips.is_empty() { 0.0 } else { inside.count() as f64 / SAMPLE as f64 }
    }
}
