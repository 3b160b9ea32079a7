//! A job of several folds as jobs of one fold each, which a device sweeps one after another.
//!
//! Each sweep then has the filter, the precision and the shape that serve its fold; a kernel of
//! several folds would have those of the most demanding one.

use std::borrow::Cow;
use std::collections::BTreeSet;
use zipfold_core::Job;
use zipfold_core::fold::Fold;
use zipfold_core::problem::NanPolicy;

/// Returns the jobs of one fold each that `job` consists of, in the order of its folds.
pub fn parts(job: &Job) -> Vec<Cow<'_, Job>> {
    if job.folds.len() == 1 {
        return vec![Cow::Borrowed(job)];
    }
    let one = |fold: &Fold| {
        Cow::Owned(Job {
            folds: vec![fold.clone()],
            // Those of all folds.
            limits: vec![],
            ..job.clone()
        })
    };
    job.folds.iter().map(one).collect()
}

/// Returns whether the folds of `job` may be swept one after another: each leaves out the pairs that
/// all leave out.
///
/// A NaN that is skipped leaves a pair out of all folds, so all must take the same values.
pub(super) fn agree(job: &Job) -> bool {
    let roots = |fold: &Fold| fold.roots().into_iter().collect::<BTreeSet<usize>>();
    let [first, rest @ ..] = job.folds.as_slice() else {
        return false;
    };
    let several = |fold: &Fold| matches!(fold, Fold::Histogram(h) if h.looks_inside());
    rest.is_empty()
        || job.nan != NanPolicy::Skip
        || (rest.iter().all(|fold| roots(fold) == roots(first)) && !job.folds.iter().any(several))
}
