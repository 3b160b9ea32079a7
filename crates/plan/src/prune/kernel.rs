//! Which kernel answers a pruned job. Estimates and costs depend on it; the strategy list decides
//! the same way.

use crate::points;
use crate::search::{Search, SearchQuestion};
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

impl Kernel {
    /// Returns the kernel of a search.
    pub fn of_search(search: &Search) -> Kernel {
        match search.question {
            SearchQuestion::Nearest(_) => Kernel::Nearest,
            SearchQuestion::Within(_) => Kernel::Within,
            SearchQuestion::Extremes => Kernel::Ends,
        }
    }
}

/// Returns the kernel of `job`; whether those of `points` may serve.
pub fn kernel(job: &Job, points: bool) -> Kernel {
    if points && points::apply(job) {
        return Kernel::Points;
    }
    Search::for_job(job).map_or(Kernel::General, |search| Kernel::of_search(&search))
}
