//! Which kernel answers a pruned job. Estimates and costs depend on it; the strategy list decides
//! the same way.

use crate::overrides::Family;
use crate::points;
use crate::search::{Question, Search};
use zipfold_core::Job;

/// The kernel that answers a pruned job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// A histogram of distances between points.
    Points,
    /// The nearest by a bounding volume hierarchy.
    Nearest,
    /// Those within a limit by a bounding volume hierarchy.
    Within,
    /// The least and the largest by a bounding volume hierarchy.
    Ends,
    /// Any formula and folds, by bounds.
    General,
}

/// Returns the kernel of `job` in `family`.
pub fn kernel(job: &Job, family: Family) -> Kernel {
    if family == Family::Points && points::apply(job) {
        return Kernel::Points;
    }
    match Search::of(job).map(|search| search.question) {
        Some(Question::Nearest(_)) => Kernel::Nearest,
        Some(Question::Within(_)) => Kernel::Within,
        Some(Question::Extremes) => Kernel::Ends,
        None => Kernel::General,
    }
}
