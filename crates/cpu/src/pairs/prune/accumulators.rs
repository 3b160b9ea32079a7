//! The states of the folds while one thread works on a run of sorted rows; indices are those of the
//! rows as given.

use super::fused::{Fused, fused};
use super::limits::Limits;
use crate::kernels::histogram::Counts;
use crate::pairs::points::Distances;
use crate::pairs::vm::Scratch;
use std::ops::Range;
use zipfold_core::fold::{BLOCK, Fold, Pairs, Scattered, State, Whole, Written, worse};
use zipfold_core::{Job, Result};
use zipfold_plan::Sink;
use zipfold_vector::simd::Isa;

/// A fold, and what is kept of it.
struct Part<'e> {
    fold: &'e Fold,
    state: State,
    /// The loop that serves the fold in the place of its own.
    fused: Option<Box<dyn Fused + 'e>>,
    /// Whether the best of any row beats the values of all.
    in_all: bool,
}

/// A run of evaluated pairs: row `row` against the sorted columns `cols`, whose values by root
/// start at lane `lane`.
pub(super) struct Run<'v> {
    /// Sorted row.
    pub(super) row: usize,
    /// Sorted columns.
    pub(super) cols: Range<usize>,
    /// Values of the row.
    pub(super) values: &'v Scratch<f64>,
    /// Lane of the first column.
    pub(super) lane: usize,
}

/// The states of one batch.
pub(super) struct Accumulators<'e> {
    rows: Range<usize>,
    order: [&'e [u32]; 2],
    /// A pair counts for both ways round and is kept with its lower index first.
    half: bool,
    parts: Vec<Part<'e>>,
    /// How many more pairs a row has that no fold needs than the row before; as sums wrap.
    skipped: Vec<u64>,
    limits: &'e Limits,
    /// By fold, what other questions know of each row.
    known: &'e [Vec<f64>],
}

impl<'e> Accumulators<'e> {
    /// Empty states for the sorted `rows`; `order` says which rows of x and of y they are.
    pub(super) fn new(
        job: &'e Job,
        isa: Isa,
        rows: Range<usize>,
        order: [&'e [u32]; 2],
        half: bool,
        limits: &'e Limits,
    ) -> Self {
        let part = |fold: &'e Fold| Part {
            fold,
            state: fold.sorted_part(&rows),
            fused: fused(fold, &rows, isa),
            in_all: fold.best().is_some_and(|best| !best.by_row),
        };
        let parts = job.folds.iter().map(part).collect();
        Accumulators {
            skipped: vec![0; rows.len() + 1],
            rows,
            order,
            half,
            parts,
            limits,
            known: &job.limits,
        }
    }
    /// What a value of fold `at` must not exceed to matter to any of `rows`; NaN while everything
    /// matters.
    #[inline]
    pub(super) fn worst(&self, at: usize, rows: &Range<usize>) -> f64 {
        let part = &self.parts[at];
        if let Some(worst) = self.limits.worst(at) {
            return worst;
        }
        let rows = if part.in_all { &self.rows } else { rows };
        let found = |rows: &Range<usize>| {
            let fused = part.fused.as_ref().and_then(|fused| fused.worst(rows));
            fused.unwrap_or_else(|| part.fold.worst(&part.state, rows))
        };
        let Some(known) = self.known.get(at).filter(|known| !known.is_empty()) else {
            return found(rows);
        };
        let of_row = |row: usize| {
            let known = known[self.order[0][row] as usize];
            match found(&(row..row + 1)) {
                worst if known == f64::INFINITY => worst,
                worst if worst.is_nan() => known,
                worst => worst.min(known),
            }
        };
        rows.clone().map(of_row).fold(f64::NEG_INFINITY, worse)
    }
    /// The pairs of sorted `row` with the sorted columns `cols`.
    fn pairs(&self, row: usize, cols: &Range<usize>) -> Pairs<'e> {
        Pairs {
            place: row,
            row: self.order[0][row] as usize,
            others: &self.order[1][cols.clone()],
            half: self.half,
        }
    }
    /// Takes a run of values.
    pub(super) fn absorb(&mut self, run: &Run<'_>) {
        let line = Scattered {
            pairs: self.pairs(run.row, &run.cols),
            values: &run.values.all().as_flattened()[run.lane..],
            stride: BLOCK,
            firsts: run.values.firsts(),
        };
        for (at, part) in self.parts.iter_mut().enumerate() {
            match &mut part.fused {
                Some(fused) => fused.absorb(&mut part.state, &line),
                None => part.fold.absorb_scattered(&mut part.state, &line),
            }
            self.limits.learn(at, &part.state);
        }
    }
    /// Bytes of matches found, and those of `more` to come.
    pub(super) fn bytes(&self, more: u64) -> [u64; 2] {
        let now = self.parts.iter().map(|part| part.fold.grown(&part.state));
        let more = self.parts.iter().map(|part| part.fold.growth(more));
        [now.sum(), more.sum()]
    }
    /// Asks `sink` for these bytes, `held` of which it has given already.
    pub(super) fn hold(&mut self, sink: &dyn Sink, bytes: [u64; 2], held: &mut u64) -> Result<()> {
        let placeholder = || State::Dense(Written);
        let all = self.parts.iter_mut();
        let mut states: Vec<State> = all
            .map(|part| std::mem::replace(&mut part.state, placeholder()))
            .collect();
        let asked = sink.grown(&mut states, bytes, held);
        for (part, state) in self.parts.iter_mut().zip(states) {
            part.state = state;
        }
        asked
    }
    /// Adds what the points family counted; the pairs that it counted.
    pub(super) fn put_counts(&mut self, counts: &Counts) -> u64 {
        let states = self.parts.iter_mut().map(|part| &mut part.state);
        let histograms = states.filter_map(|state| {
            if let State::Histogram(state) = state {
                Some(state)
            } else {
                None
            }
        });
        histograms.map(|state| Distances::put(counts, state)).sum()
    }
    /// Settles `pairs` pairs as judged, for folds that keep nothing by row.
    pub(super) fn settle_count(&mut self, wholes: &[Whole], pairs: u64) {
        for (part, whole) in self.parts.iter_mut().zip(wholes) {
            part.fold.settle_count(&mut part.state, *whole, pairs);
        }
    }
    /// Whether settled pairs matter by row, so that [`Self::settle_row`] is owed.
    pub(super) fn has_rows(&self, wholes: &[Whole]) -> bool {
        let mut parts = self.parts.iter().zip(wholes);
        parts.any(|(part, whole)| part.fold.owes_pairs(*whole))
    }
    /// Counts the same number of pairs of each of some sorted rows, which no fold needs.
    pub(super) fn skip(&mut self, rows: &Range<usize>, pairs: u64) {
        let (start, end) = (rows.start - self.rows.start, rows.end - self.rows.start);
        self.skipped[start] = self.skipped[start].wrapping_add(pairs);
        self.skipped[end] = self.skipped[end].wrapping_sub(pairs);
    }
    /// Settles the pairs of sorted `row` with the columns `cols`, as judged, for folds that keep
    /// something by row.
    pub(super) fn settle_row(&mut self, wholes: &[Whole], row: usize, cols: &Range<usize>) {
        let pairs = self.pairs(row, cols);
        for (part, whole) in self.parts.iter_mut().zip(wholes) {
            part.fold.settle_pairs(&mut part.state, *whole, &pairs);
        }
    }
    /// The states.
    pub(super) fn finish(self) -> Vec<State> {
        let finish = |mut part: Part<'e>| {
            let mut pairs = 0u64;
            for (row, more) in self.rows.clone().zip(&self.skipped) {
                pairs = pairs.wrapping_add(*more);
                if pairs > 0 {
                    part.fold.skip(&mut part.state, row, pairs);
                }
            }
            if let Some(mut fused) = part.fused {
                fused.finish(&mut part.state);
            }
            part.state
        };
        self.parts.into_iter().map(finish).collect()
    }
}
