//! Whether the matches of a join are held in memory, or written to sorted runs while they are found.
//!
//! The number of matches is not known before a run. A sample of rows or pairs predicts it, for `explain`
//! and for the number of batches under way; the run counts, and [`MatchPlan::writes`] decides by what it
//! has counted.

use crate::prune::pairs_within;
use serde::Serialize;
use std::ops::Range;
use zipfold_core::fold::{Fold, Join};
use zipfold_core::oracle::PairValues;
use zipfold_core::parts::KeyParts;
use zipfold_core::{Job, Result, Space};

/// Pairs of a sample: half a millisecond, and a share of 1/1000 is seen. Where next to none of many
/// pairs matched, the large one sees 1/50 000.
const SAMPLE: usize = 2048;
const LARGE_SAMPLE: usize = 1 << 17;
const FEW: usize = 8;
const MANY_PAIRS: u64 = 1 << 29;
/// Bytes of a match while it is held: two rows, a value, and as many again for sorting.
const BYTES: u64 = 32;
const BYTES_OF_VALUE: u64 = 16;
/// The part of the memory that inputs and work leave which matches may take; the rest is for batches that
/// wait for their turn.
const PART: u64 = 2;
/// The least bytes of matches that are held at one time, and of those of a batch, which is the least run
/// of matches: smaller ones make more files. Three times as many batches as threads hold some.
const LEAST: u64 = 1 << 20;
const LEAST_OF_BATCH: u64 = 1 << 18;

/// Where an answer goes, as far as its matches are concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MatchGoal {
    /// Nobody has said yet.
    #[default]
    Unknown,
    /// To a file that takes matches from runs, one after another.
    File,
    /// Into memory: matches that do not fit are refused.
    Memory,
}

/// Where the matches of a join are while a run goes on. They are written only where the answer goes
/// to a file that takes them one after another; an answer in memory that does not fit is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MatchPlan {
    /// Matches of all inner joins, as a sample of pairs predicts them.
    pub predicted: u64,
    /// Pairs that one of the sample represents: fewer matches may be predicted as none.
    pub seen: u64,
    /// Bytes of a match in memory.
    pub bytes: u64,
    /// Bytes of matches that are held at one time.
    pub room: u64,
    /// Where the answer goes.
    pub goal: MatchGoal,
    /// Whether the predicted ones exceed what is held, and go to runs if the answer may.
    pub written: bool,
}

impl MatchPlan {
    /// Returns the plan for the inner joins of `job`, if it has one; matches may take part of the
    /// `free` bytes.
    ///
    /// # Errors
    /// `Request` beyond 2^64 pairs.
    pub fn of_job(job: &Job, free: u64) -> Result<Option<MatchPlan>> {
        let joins: Vec<&Join> = job.folds.iter().filter_map(Fold::inner_join).collect();
        if joins.is_empty() {
            return Ok(None);
        }
        let bytes = match joins.iter().any(|join| join.value.is_some()) {
            true => BYTES + BYTES_OF_VALUE,
            false => BYTES,
        };
        let (pairs, many) = (job.pairs()?, joins.len() as u64);
        let room = (free / PART).max(LEAST);
        // Where all pairs would fit, nothing is left to predict.
        let (predicted, seen) = match pairs.saturating_mul(bytes * many) <= room {
            true => (pairs * many, 1),
            false => foreseen(job, &joins, pairs),
        };
        let plan = MatchPlan {
            predicted,
            seen,
            bytes,
            room,
            goal: MatchGoal::Unknown,
            written: false,
        };
        let written = plan.writes(predicted.saturating_mul(bytes));
        Ok(Some(MatchPlan { written, ..plan }))
    }
    /// Returns the plan of an answer that goes there.
    #[must_use]
    pub fn going(self, goal: MatchGoal) -> MatchPlan {
        MatchPlan {
            goal,
            written: self.written && goal != MatchGoal::Memory,
            ..self
        }
    }
    /// Returns whether the predicted matches exceed what is held.
    #[must_use]
    pub fn exceeds(&self) -> bool {
        self.writes(self.predicted.saturating_mul(self.bytes))
    }
    /// Returns whether matches of this many bytes are written and not held: the one decision, by
    /// predicted or by counted matches.
    #[must_use]
    pub fn writes(&self, bytes: u64) -> bool {
        bytes > self.room
    }
    /// Returns the bytes of matches that a batch holds before it writes them, with `threads` of them
    /// at work.
    #[must_use]
    pub fn of_batch(&self, threads: usize) -> u64 {
        (self.room / (2 * threads.max(1) as u64)).max(LEAST_OF_BATCH)
    }
}

/// The place `at` among `of`, by steps of the golden ratio, which are even at every length, and the same
/// in every run.
fn step(at: usize, of: usize) -> usize {
    let place = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    ((u128::from(place) * of as u128) >> 32) as usize
}

/// The matches of these joins, and how many pairs one of the sample represents.
fn foreseen(job: &Job, joins: &[&Join], pairs: u64) -> (u64, u64) {
    if let Some(within) = pairs_within(job) {
        return ((within as u64).min(pairs), 1);
    }
    let roots: Vec<usize> = joins.iter().map(|join| join.root).collect();
    let mut sample = MatchSample::default();
    sample.take((job, pairs), &roots, 0..SAMPLE);
    // A sample that met next to none of very many pairs says little.
    if sample.met < FEW && pairs > MANY_PAIRS {
        sample.take((job, pairs), &roots, SAMPLE..LARGE_SAMPLE);
    }
    let (most, drawn) = (
        pairs.saturating_mul(joins.len() as u64),
        sample.drawn.max(1),
    );
    let predicted = (sample.sum / drawn as f64) as u64;
    (predicted.min(most), (pairs / drawn as u64).max(1))
}

/// Pairs of a sample, and how many of them match.
#[derive(Default)]
struct MatchSample {
    /// Pairs that were drawn.
    drawn: usize,
    /// Matches among them, and how many of all these represent, summed over the draws.
    met: usize,
    sum: f64,
}

impl MatchSample {
    /// Draws the pairs number `draws` of all `pairs`.
    fn take(&mut self, (job, pairs): (&Job, u64), roots: &[usize], draws: Range<usize>) {
        let space = &job.space;
        // A question whose rows are not there has no sample.
        let there = job.x.rows() == space.n && job.other().rows() == space.m;
        if pairs == 0 || !there {
            return;
        }
        let draws = draws.start..draws.end.min(space.n.saturating_mul(64));
        let mut values = SampledValues::new(job, roots);
        match &job.parts {
            None => {
                for at in draws {
                    self.drawn += 1;
                    if let Some((i, j, stands_for)) = drawn(space, at) {
                        self.meet(values.matches(i, j), stands_for);
                    }
                }
            }
            Some(parts) => self.take_in_parts((parts, pairs), draws, &mut values),
        }
    }
    fn meet(&mut self, matches: usize, stands_for: f64) {
        self.met += matches;
        self.sum += matches as f64 * stands_for;
    }
    /// As [`MatchSample::take`]: a part has as many draws as it has of all pairs.
    fn take_in_parts(
        &mut self,
        (parts, pairs): (&KeyParts, u64),
        draws: Range<usize>,
        values: &mut SampledValues<'_>,
    ) {
        let mut drawn_pairs: Vec<(u64, usize)> = draws
            .map(|at| (step(at, pairs as usize) as u64, at))
            .collect();
        drawn_pairs.sort_unstable();
        let mut drawn_pairs = drawn_pairs.into_iter().peekable();
        let mut before = 0u64;
        for (number, part) in parts.list.iter().enumerate() {
            let space = part.space(values.job.space.cutoff);
            let size = space.size().unwrap_or(0);
            before += size;
            let (mut rows, mut cols) = (vec![], vec![]);
            while let Some((_, at)) = drawn_pairs.next_if(|(pair, _)| *pair < before) {
                if rows.is_empty() {
                    (rows, cols) = (parts.rows(number), parts.cols(number));
                }
                self.drawn += 1;
                if let Some((i, j, stands_for)) = drawn(&space, at) {
                    let of_all = pairs as f64 / size as f64;
                    let (i, j) = (rows[i] as usize, cols[j] as usize);
                    self.meet(values.matches(i, j), stands_for * of_all);
                }
            }
        }
    }
}

/// The values of sampled pairs.
struct SampledValues<'j> {
    job: &'j Job,
    roots: &'j [usize],
    values: PairValues<'j>,
    out: Vec<Vec<f64>>,
}

impl<'j> SampledValues<'j> {
    fn new(job: &'j Job, roots: &'j [usize]) -> Self {
        SampledValues {
            job,
            roots,
            values: PairValues::new(job),
            out: vec![],
        }
    }
    /// The joins of which pair (i, j) is a match.
    fn matches(&mut self, i: usize, j: usize) -> usize {
        self.values.get(i, j, &mut self.out);
        let of = |root: usize| self.out[root].first().copied().unwrap_or(f64::NAN);
        let near = match (self.job.cutoff_root, self.job.space.cutoff) {
            (Some(root), Some(most)) => of(root) <= most,
            _ => true,
        };
        let holds = |root: &&usize| near && of(**root) != 0.0 && !of(**root).is_nan();
        self.roots.iter().filter(holds).count()
    }
}

/// The row and the column of draw `at`, and how many pairs it represents; none for a row without one.
fn drawn(space: &Space, at: usize) -> Option<(usize, usize, f64)> {
    let i = step(at, space.n);
    let [first, second] = space.columns(i, &(0..space.m));
    let count = first.len() + second.len();
    if count == 0 {
        return None;
    }
    let place = step(at.wrapping_mul(7919) + 1, count);
    let j = match place.checked_sub(first.len()) {
        None => first.start + place,
        Some(place) => second.start + place,
    };
    Some((i, j, count as f64 * space.n as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::fold::{Join, JoinKind};

    #[test]
    fn places_of_a_sample_are_among_any_number() {
        for of in [1, 7, 1 << 32, 1 << 45] {
            let places: Vec<usize> = (0..SAMPLE).map(|at| step(at, of)).collect();
            assert!(places.iter().all(|place| *place < of), "{of}");
            // Even: the last tenth has its tenth.
            let last = places.iter().filter(|place| **place >= of / 10 * 9).count();
            assert!(of < 10 || last.abs_diff(SAMPLE / 10) < 9, "{of}: {last}");
        }
    }

    #[test]
    fn the_decision_is_by_bytes() {
        let plan = MatchPlan {
            predicted: 3 << 20,
            seen: 1,
            bytes: 32,
            room: 64 << 20,
            goal: MatchGoal::Unknown,
            written: true,
        };
        assert!(plan.exceeds() && plan.going(MatchGoal::File).written);
        assert!(!plan.going(MatchGoal::Memory).written);
        assert!(!plan.writes(64 << 20) && plan.writes((64 << 20) + 1));
        assert_eq!(plan.of_batch(2), 16 << 20);
        assert_eq!(plan.of_batch(1000), LEAST_OF_BATCH);
        let join = Join {
            root: 0,
            value: None,
            kind: JoinKind::Semi,
        };
        assert!(!join.is_inner());
    }
}
