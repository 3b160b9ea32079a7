//! Answers that are one row alone: the one whose best value is the worst, as of Hausdorff's distance.
//! Other rows may be left before they have met all others.

use crate::overrides::Overrides;
use zipfold_core::fold::Fold;
use zipfold_core::{Domain, Job};

/// The fewest rows of y that are met in pieces, and of x: few rows take less time than planning.
const WORTH: [usize; 2] = [256, 1024];

/// Returns whether the answer of `job` is, for each of its folds, the row whose best value is the worst,
/// and nothing else is kept of the others.
pub(crate) fn leaves_rows(job: &Job, overrides: &Overrides) -> bool {
    let (Some(then), None) = (job.then, overrides.rows_met) else {
        return false;
    };
    let worst = |fold: &Fold| {
        let best = fold.best();
        best.is_some_and(|best| best.by_row && best.k == 1 && then.wants_worst(best.largest))
    };
    !job.folds.is_empty() && job.folds.iter().all(worst)
}

/// Returns whether rows of `job` may meet the rows of y in pieces, and be left in between.
pub(crate) fn by_pieces(job: &Job, overrides: &Overrides) -> bool {
    in_pieces(job) && leaves_rows(job, overrides)
}

/// Returns whether the pairs of `job` are of rows that may meet the rows of y in pieces. Parts of a
/// question have one plan, and not all of them may.
pub fn in_pieces(job: &Job) -> bool {
    let nearest = matches!(job.folds.as_slice(), [Fold::Nearest(_)]);
    let plain = job.cutoff_root.is_none()
        && !job.holes
        && job.parts.is_none()
        && job.space.band.is_none()
        && job.space.domain == Domain::Cross;
    let worth = job.space.n >= WORTH[0] && job.space.m >= WORTH[1];
    let countable = [job.space.n, job.space.m]
        .iter()
        .all(|rows| u32::try_from(*rows).is_ok());
    nearest && plain && worth && countable
}
