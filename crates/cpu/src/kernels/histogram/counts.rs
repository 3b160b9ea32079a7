//! The counters of a histogram, and its counts when it is finished.
//!
//! ```text
//! private   u32, some copies of each slot         incremented by the loops, added to slots before they overflow
//! slots     u64: under | bins | over | NaN        of each pair of groups, where there are groups
//! finish:   private → slots → counts of each pair of groups, with the sums of its slots
//! ```

use super::copies::copies;
use super::edges::Edges;
use super::groups::{Groups, slots};
use super::queued::{From, QueuedPairs, TakesPairs};
use super::sums::{Sums, Terms};
use super::work::Work;
use std::ops::Range;

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
    /// The groups whose pairs have counters of their own.
    pub(super) groups: Option<&'e Groups>,
    /// What else takes the pairs in bins.
    pub(super) taker: Option<&'e mut dyn TakesPairs>,
    pub(super) fast: bool,
}

impl<'e> Histogram<'e> {
    /// An empty histogram.
    pub fn new(edges: &'e Edges) -> Histogram<'e> {
        let slots = slots(edges);
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
            groups: None,
            taker: None,
            fast: true,
        }
    }

    /// Counts each pair of groups on its own.
    pub fn with_groups(self, groups: &'e Groups) -> Histogram<'e> {
        debug_assert!(self.sums.is_none(), "sums need to know the groups");
        let counters = groups.pairs() * slots(self.edges);
        Histogram {
            groups: Some(groups),
            slots: vec![0; counters],
            private: vec![0; counters],
            copies: 1,
            ..self
        }
    }

    /// Also hands the pairs in bins to `taker`.
    pub fn with_taker(self, taker: &'e mut dyn TakesPairs) -> Histogram<'e> {
        Histogram {
            taker: Some(taker),
            ..self
        }
    }

    /// The bits of a counter within the slots of one pair of groups, copies included. Those above
    /// mark undecided cells of tables.
    #[inline(always)]
    pub(super) fn mask(&self) -> usize {
        slots(self.edges).next_power_of_two() * self.copies - 1
    }

    /// What the groups of a pair add to its counter.
    #[inline(always)]
    pub(super) fn shift(&self, i: usize, j: usize) -> usize {
        self.groups.map_or(0, |groups| groups.shift(i, j))
    }

    /// Whether pairs are counted by who they are, and not by their distance alone.
    pub(super) fn names_pairs(&self) -> bool {
        self.sums.is_some() || self.groups.is_some() || self.taker.is_some()
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
        let mut slots = [slot as i32];
        if let Some(taker) = &mut self.taker {
            taker.take(
                &QueuedPairs::of_one(&mut From::default(), i, j),
                &mut slots,
                0,
            );
        }
        let slot = slots[0] as usize;
        let counter = slot + self.shift(i, j);
        self.slots[counter] = self.slots[counter].wrapping_add(1);
        if let Some(sums) = &mut self.sums
            && slot.wrapping_sub(1) < self.edges.bins()
        {
            sums.add(i, j, counter, work.x.squared_distance(i, work.y, j));
        }
    }

    /// As `count_exactly`, where the slot is near `guess`.
    #[inline]
    pub(super) fn count_near(&mut self, work: &Work<'_>, i: usize, j: usize, guess: usize) {
        let slot = self.slot_near(work, i, j, guess) + self.shift(i, j);
        self.slots[slot] = self.slots[slot].wrapping_add(1);
    }

    /// The slot of a pair, which is near `guess`, in `f64`.
    pub(super) fn slot_near(&mut self, work: &Work<'_>, i: usize, j: usize, guess: usize) -> usize {
        self.undecided += 1;
        self.edges
            .slot_near(work.x.squared_distance(i, work.y, j), guess)
    }

    /// Makes room for `increments` of any one private counter.
    #[doc(hidden)]
    pub fn reserve(&mut self, increments: u64) {
        if self.pending + increments > u64::from(u32::MAX) {
            self.flush();
        }
        self.pending += increments;
    }

    /// Sets a private counter. Tests begin near its largest count so.
    #[doc(hidden)]
    pub fn set_private(&mut self, counter: usize, count: u32) {
        self.private[counter] = count;
    }

    /// Adds the private counters to the slots. Out of line: it runs once in 2³² pairs, and would take
    /// registers of the loops around it.
    #[cold]
    #[inline(never)]
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

    /// The counts so far, of all groups together.
    pub fn finish(self) -> Counts {
        let none = Counts::of_slots(&vec![0; slots(self.edges)], [&[], &[]]);
        let mut pairs = self.finish_groups().into_iter().flatten();
        let first = pairs.next().unwrap_or(none);
        pairs.fold(first, |mut all, counts| {
            all.merge(&counts);
            all
        })
    }

    /// The counts so far by pair of groups (0, 0), (0, 1), …; of one where there are none. Groups
    /// none of whose pairs was counted have no counts: of many groups, most are far from each other.
    pub fn finish_groups(mut self) -> Vec<Option<Counts>> {
        self.flush();
        let [weights, values] = self.sums.take().map(Sums::finish).unwrap_or_default();
        let slots = slots(self.edges);
        let pair = |(at, counters): (usize, &[u64])| {
            let of = |sums: &[i128]| -> Range<usize> {
                let long = sums.len() / self.slots.len() * slots;
                at * long..(at + 1) * long
            };
            let sums = [&weights[of(&weights)], &values[of(&values)]];
            let seen = self.groups.is_none() || counters.iter().any(|count| *count != 0);
            seen.then(|| Counts::of_slots(counters, sums))
        };
        self.slots
            .chunks_exact(slots)
            .enumerate()
            .map(pair)
            .collect()
    }
}

impl Counts {
    /// Those of the counters of all slots, with sums by slot.
    fn of_slots(counters: &[u64], sums: [&[i128]; 2]) -> Counts {
        let bins = counters.len() - 3;
        let [weights, values] = sums.map(|sums| {
            let windows = sums.len() / counters.len();
            sums[windows..(bins + 1) * windows].to_vec()
        });
        Counts {
            bins: counters[1..=bins].to_vec(),
            under: counters[0],
            over: counters[bins + 1],
            skipped: counters[bins + 2],
            weights,
            values,
        }
    }

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
