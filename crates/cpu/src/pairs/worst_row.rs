//! The row whose best value is the worst, where an answer is that row alone: what is known of it, by
//! all threads.
//!
//! ```text
//! Hausdorff's distance     the largest of the distances of rows to their nearest
//! known                    the largest of those rows that have met all others
//! a row                    is left once its nearest so far is nearer than that
//! ```
//!
//! (Taha and Hanbury 2015.) A row that is left keeps the best value that it has met, which is better
//! than that of the row that is known. So it never has the answer, nor ties with it.

use super::prune::{key, number};
use std::sync::atomic::{AtomicU64, Ordering};
use zipfold_core::Job;
use zipfold_core::fold::Fold;
use zipfold_plan::Plan;

/// The worst of the best values of rows, as folds keep values: negated where the largest are wanted,
/// squared where that saves a root.
#[derive(Debug)]
pub struct WorstRow {
    /// Bits in the order of the numbers.
    known: AtomicU64,
    /// Whether the answer is the root of what is kept.
    squared: bool,
}

/// Squares that differ by less than this part of them may have the same root.
const SAME_ROOT: f64 = 1e-14;

impl WorstRow {
    /// Nothing known of the rows of fold `at`; none where every row has its answer.
    pub fn of_fold(job: &Job, plan: &Plan, at: usize) -> Option<WorstRow> {
        let squared = matches!(&job.folds[at], Fold::Nearest(fold) if fold.squared);
        plan.leaves_rows.then(|| WorstRow::new(squared))
    }
    /// Nothing known of rows whose values are kept as squares, or as they are.
    pub fn new(squared: bool) -> WorstRow {
        WorstRow {
            known: AtomicU64::new(key(f64::NEG_INFINITY)),
            squared,
        }
    }
    /// A row whose best value so far is below this cannot have the answer.
    #[inline]
    pub fn limit(&self) -> f64 {
        let known = number(self.known.load(Ordering::Relaxed));
        match self.squared && known.is_finite() {
            true => known - known.abs() * SAME_ROOT,
            false => known,
        }
    }
    /// Takes the best value of a row that has met all others.
    #[inline]
    pub fn learn(&self, best: f64) {
        if best > number(self.known.load(Ordering::Relaxed)) {
            self.known.fetch_max(key(best), Ordering::Relaxed);
        }
    }
}
