//! Recognises the jobs that a search in a bounding-volume hierarchy answers: the nearest, all
//! within a limit, or the extremes of a norm of differences of one to four coordinates.
//!
//! The hierarchy is pruned by evaluating the norm on the gaps between a row and a box, so it needs
//! a norm whose terms can be told (`pair/pattern.rs`). Other formulas use boxes with interval
//! bounds.
//!
//! Only questions whose answer needs few pairs are here. A join that keeps values, or one of
//! several folds, visits its pairs by the general walk, which can give them to any fold.

use zipfold_core::Job;
use zipfold_core::fold::{Fold, JoinKind};
pub use zipfold_core::pair::pattern::MOST;
use zipfold_core::pair::pattern::{Difference, Differences, Norm};
use zipfold_core::pair::tree::{Id, Node, Unary};
use zipfold_core::problem::NanPolicy;
use zipfold_core::space::periodic_box::Image;

/// What is asked about the values.
///
/// Each has its own way to shrink the search: the worst neighbour so far, a fixed limit, or the two
/// ends so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchQuestion {
    /// The `k` smallest of every row.
    Nearest(usize),
    /// The pairs with values up to this.
    Within(f64),
    /// The least and the largest value.
    Extremes,
}

/// The difference of a coordinate of x and one of y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Component {
    /// The places of the two numbers among the ones that are hoisted of a row of x and of y.
    pub coordinates: [usize; 2],
    /// Edge of the box, where the difference is that of the nearest image.
    pub period: Option<f64>,
}

/// A job that a search answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// From differences to a value.
    pub norm: Norm,
    /// The differences, in the order in which they are added; all of nearest images, or none.
    pub terms: Vec<Component>,
    /// What is asked.
    pub question: SearchQuestion,
}

impl Search {
    /// Returns the search that answers `job`, if there is one.
    pub fn for_job(job: &Job) -> Option<Search> {
        let [fold] = job.folds.as_slice() else {
            return None;
        };
        if job.cutoff_root.is_some() {
            return None;
        }
        let norm = |root: usize| job.low.pattern(root).norm.as_ref();
        let (norm, question) = if let Fold::Nearest(f) = fold
            // The farthest would need upper bounds of boxes.
            && !f.largest
            && f.k > 0
        {
            (norm(f.root)?, SearchQuestion::Nearest(f.k))
        } else if let Fold::Join(f) = fold
            && f.kind == JoinKind::Inner
            && f.value.is_none()
        {
            let threshold = job.low.pattern(f.root).threshold.as_ref()?;
            let (norm, limit) = threshold.norm.as_ref()?;
            (norm, SearchQuestion::Within(*limit))
        } else if let Fold::Extremes(f) = fold
            && f.roots.len() == 1
            && alone(job, f.roots[0])
        {
            (norm(f.roots[0])?, SearchQuestion::Extremes)
        } else {
            return None;
        };
        Some(Search {
            norm: norm.norm,
            terms: components(job, norm)?,
            question,
        })
    }
}

/// Returns the components of `norm`: all of nearest images in a box with right angles, or none.
/// Kernels of nearest images exist for sums of squares only.
fn components(job: &Job, norm: &Differences) -> Option<Vec<Component>> {
    let periodic = norm.terms.iter().filter(|t| t.image.is_some()).count();
    let mixed = periodic != 0 && (periodic != norm.terms.len() || norm.norm != Norm::Squares);
    let period = |k: usize| match job.periodic_box.as_ref()?.image() {
        Image::Orthorhombic(edges) => edges.lengths().get(k).copied(),
        Image::Triclinic(_) => None,
    };
    let component = |difference: &Difference| {
        let period = difference.image.map(period);
        Some(Component {
            coordinates: difference.coordinates,
            period: if period.is_some() {
                Some(period??)
            } else {
                None
            },
        })
    };
    let terms = norm.terms.iter().map(component).collect::<Option<Vec<_>>>();
    terms.filter(|_| !mixed)
}

/// Returns whether no other root decides which pairs are left out: NaN is an error, or all other
/// roots are root `at` or its square root.
///
/// If NaN are skipped, another root may leave a pair out, and the search looks at one root.
fn alone(job: &Job, at: usize) -> bool {
    let roots = &job.low.formula.roots;
    let own = |id: &Id| {
        *id == roots[at] || *job.low.formula.node(*id) == Node::Unary(Unary::Sqrt, roots[at])
    };
    job.nan == NanPolicy::Error || roots.iter().all(own)
}
