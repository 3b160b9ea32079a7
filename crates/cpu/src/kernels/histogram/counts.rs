//! The counters of a histogram, and its counts when it is finished.

use super::copies::copies;
use super::edges::Edges;
use super::sums::{Sums, Terms};
use super::work::Work;

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
    /// Sums of products of weights per bin, by the scale of [`Terms`]; empty where they are not
    /// wanted.
    pub weights: Vec<i128>,
    /// Sums of values per bin, likewise.
    pub values: Vec<i128>,
}

/// A histogram in the making, for one thread.
#[derive(Debug)]
pub struct Histogram<'e> {
    pub(super) edges: &'e Edges,
    /// One count per slot of [`Edges::slot`]; may wrap below zero until the private counts are
    /// added.
    pub(super) slots: Vec<u64>,
    /// `copies` counters per slot.
    pub(super) private: Vec<u32>,
    pub(super) copies: usize,
    /// No private counter exceeds this.
    pub(super) pending: u64,
    /// Pairs that were decided in `f64`.
    pub(super) undecided: u64,
    /// The share of pairs below the last edge, by the last sample.
    pub(super) share: Option<f64>,
    pub(super) sums: Option<Sums<'e>>,
    pub(super) fast: bool,
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
        Histogram {
            sums: Some(Sums::new(terms, self.slots.len())),
            ..self
        }
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

    #[inline]
    pub(super) fn count_exactly(&mut self, work: &Work<'_>, i: usize, j: usize) {
        let slot = self.edges.slot(work.x.squared_distance(i, work.y, j));
        self.take(work, i, j, slot);
        self.undecided += 1;
    }

    /// Counts a pair of a slot, with its terms.
    pub(super) fn take(&mut self, work: &Work<'_>, i: usize, j: usize, slot: usize) {
        self.slots[slot] = self.slots[slot].wrapping_add(1);
        if let Some(sums) = &mut self.sums
            && slot.wrapping_sub(1) < self.edges.bins()
        {
            sums.add(i, j, slot, work.x.squared_distance(i, work.y, j));
        }
    }

    /// As `count_exactly`, where the slot is near `guess`.
    #[inline]
    pub(super) fn count_near(&mut self, work: &Work<'_>, i: usize, j: usize, guess: usize) {
        let slot = self.slot_near(work, i, j, guess);
        self.slots[slot] = self.slots[slot].wrapping_add(1);
    }

    /// The slot of a pair, which is near `guess`, in `f64`.
    pub(super) fn slot_near(&mut self, work: &Work<'_>, i: usize, j: usize, guess: usize) -> usize {
        self.undecided += 1;
        self.edges
            .slot_near(work.x.squared_distance(i, work.y, j), guess)
    }

    /// Makes room for `increments` of any one private counter.
    pub(super) fn reserve(&mut self, increments: u64) {
        if self.pending + increments > u64::from(u32::MAX) {
            self.flush();
        }
        self.pending += increments;
    }

    fn flush(&mut self) {
        for (slot, private) in self
            .slots
            .iter_mut()
            .zip(self.private.chunks_exact(self.copies))
        {
            *slot = private
                .iter()
                .fold(*slot, |sum, &n| sum.wrapping_add(u64::from(n)));
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
            sums.get(windows..(bins + 1) * windows)
                .map(<[i128]>::to_vec)
                .unwrap_or_default()
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
        assert_eq!(
            self.bins.len(),
            other.bins.len(),
            "counts of different edges"
        );
        self.bins
            .iter_mut()
            .zip(&other.bins)
            .for_each(|(a, b)| *a += b);
        self.weights
            .iter_mut()
            .zip(&other.weights)
            .for_each(|(a, b)| *a += b);
        self.values
            .iter_mut()
            .zip(&other.values)
            .for_each(|(a, b)| *a += b);
        self.under += other.under;
        self.over += other.over;
        self.skipped += other.skipped;
    }

    /// All pairs that were visited.
    pub fn total(&self) -> u64 {
        self.bins.iter().sum::<u64>() + self.under + self.over + self.skipped
    }
}
