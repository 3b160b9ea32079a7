//! Whether the matches of a join are held in memory, or written to sorted runs while they are found.
//!
//! The number of matches is not known before a run. A sample of pairs predicts it, for `explain` and
//! for the number of batches under way; the run counts, and [`MatchPlan::writes`] decides by what it
//! has counted.

use serde::Serialize;
use zipfold_core::fold::Fold;
use zipfold_core::oracle::PairValues;
use zipfold_core::{Job, Result};

/// Pairs of a sample: half a millisecond, and a share of 1/1000 is seen.
const SAMPLE: usize = 2048;
/// Bytes of a match while it is held: two rows, a value, and as many again for sorting.
const BYTES: u64 = 32;
const BYTES_OF_VALUE: u64 = 16;
/// The part of the memory that inputs and work leave which matches may take; the rest is for batches that
/// wait for their turn.
const PART: u64 = 2;
/// The least bytes of a run: smaller ones make more files, not less memory.
const LEAST: u64 = 1 << 20;

/// Where the matches of a join are while a run goes on. They are written only where the answer goes
/// to a file that takes them one after another; an answer in memory that does not fit is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MatchPlan {
    /// Matches, as a sample of pairs predicts them.
    pub predicted: u64,
    /// Bytes of a match in memory.
    pub bytes: u64,
    /// Bytes of matches that are held at one time.
    pub room: u64,
    /// Whether the predicted ones exceed them.
    pub written: bool,
}

impl MatchPlan {
    /// Returns the plan for the inner join of `job`, if it has one; matches may take part of the
    /// `free` bytes.
    ///
    /// # Errors
    /// `Request` beyond 2^64 pairs.
    pub fn of_job(job: &Job, free: u64) -> Result<Option<MatchPlan>> {
        let joins = job.folds.iter().filter_map(|fold| {
            if let Fold::Join(join) = fold {
                return Some(join).filter(|join| join.is_inner());
            }
            None
        });
        let bytes_of = |value: Option<usize>| match value {
            Some(_) => BYTES + BYTES_OF_VALUE,
            None => BYTES,
        };
        let Some(join) = joins.max_by_key(|join| bytes_of(join.value)) else {
            return Ok(None);
        };
        let (pairs, bytes) = (job.pairs()?, bytes_of(join.value));
        let room = (free / PART).max(LEAST);
        // Where all pairs would fit, nothing is left to predict.
        let predicted = match pairs.saturating_mul(bytes) <= room {
            true => pairs,
            false => sampled(job, join.root).min(pairs),
        };
        let plan = MatchPlan {
            predicted,
            bytes,
            room,
            written: false,
        };
        let written = plan.writes(predicted.saturating_mul(bytes));
        Ok(Some(MatchPlan { written, ..plan }))
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
        (self.room / (2 * threads.max(1) as u64)).max(LEAST)
    }
}

/// The place `at` among `of`, by steps of the golden ratio, which are even at every length, and the same
/// in every run.
fn step(at: usize, of: usize) -> usize {
    let place = (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    ((u128::from(place) * of as u128) >> 32) as usize
}

/// The matches of all pairs, by those of a sample of them.
fn sampled(job: &Job, root: usize) -> u64 {
    let space = &job.space;
    // A question whose rows are not there has no sample.
    let there = job.x.rows() == space.n && job.other().rows() == space.m;
    if space.n == 0 || job.parts.is_some() || !there {
        return 0;
    }
    let (mut values, mut out) = (PairValues::new(job), vec![]);
    let rows = SAMPLE.min(space.n.saturating_mul(64));
    let mut sum = 0.0;
    for at in 0..rows {
        let i = step(at, space.n);
        let ranges = space.columns(i, &(0..space.m));
        let count: usize = ranges.iter().map(|range| range.len()).sum();
        if count == 0 {
            continue;
        }
        let mut place = step(at.wrapping_mul(7919) + 1, count);
        let [first, second] = ranges;
        let j = match place < first.len() {
            true => first.start + place,
            false => {
                place -= first.len();
                second.start + place
            }
        };
        values.get(i, j, &mut out);
        let of = |root: usize| out[root].first().copied().unwrap_or(f64::NAN);
        let near = match (job.cutoff_root, space.cutoff) {
            (Some(root), Some(most)) => of(root) <= most,
            _ => true,
        };
        let holds = of(root);
        if near && holds != 0.0 && !holds.is_nan() {
            sum += count as f64;
        }
    }
    (sum * space.n as f64 / rows as f64) as u64
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
            predicted: 0,
            bytes: 32,
            room: 64 << 20,
            written: false,
        };
        assert!(!plan.writes(64 << 20) && plan.writes((64 << 20) + 1));
        assert_eq!(plan.of_batch(2), 16 << 20);
        assert_eq!(plan.of_batch(1000), LEAST);
        let join = Join {
            root: 0,
            value: None,
            kind: JoinKind::Semi,
        };
        assert!(!join.is_inner());
    }
}
