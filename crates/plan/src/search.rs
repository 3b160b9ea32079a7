//! Recognises the jobs that a search in a bounding-volume hierarchy answers: the nearest, all
//! within a limit, or the extremes of a norm of differences of one to four coordinates.
//!
//! The hierarchy is pruned by evaluating the norm on the gaps between a row and a box, so it needs
//! a norm whose terms can be told (`pair/pattern.rs`). Other formulas use boxes with interval
//! bounds.

use zipfold_core::Job;
use zipfold_core::fold::{Fold, SelectKind};
use zipfold_core::pair::pattern::{Norm, Patterns, Term};
use zipfold_core::pair::tree::{Id, Node, Unary};
use zipfold_core::problem::NanPolicy;

/// The most coordinates of a point: kernels are written out for each number.
pub const MOST: usize = 4;

/// What is asked about the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Question {
    /// The `k` smallest of every row.
    Nearest(usize),
    /// The pairs with values up to this.
    Within(f64),
    /// The least and the largest value.
    Extremes,
}

/// A job that a search answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// From differences to a value.
    pub norm: Norm,
    /// The differences, in the order in which they are added; all of nearest images, or none.
    pub terms: Vec<Term>,
    /// What is asked.
    pub question: Question,
}

impl Search {
    /// Returns the search that answers `job`, if there is one.
    pub fn of(job: &Job) -> Option<Search> {
        let [fold] = job.folds.as_slice() else {
            return None;
        };
        if job.near_root.is_some() {
            return None;
        }
        let patterns = Patterns::new(&job.low, job.cell.as_ref());
        let roots = &job.low.formula.roots;
        let (id, question) = if let Fold::Nearest(f) = fold
            && !f.largest
            && f.k > 0
        {
            (roots[f.root], Question::Nearest(f.k))
        } else if let Fold::Select(f) = fold
            && f.kind == SelectKind::Inner
            && f.value.is_none()
        {
            let (id, limit) = patterns.threshold(roots[f.root])?;
            (id, Question::Within(limit))
        } else if let Fold::Extremes(f) = fold
            && f.roots.len() == 1
            && alone(job, f.roots[0])
        {
            (roots[f.roots[0]], Question::Extremes)
        } else {
            return None;
        };
        let (norm, terms) = patterns.norm(id)?;
        let periodic = terms.iter().filter(|t| t.period.is_some()).count();
        let mixed = periodic != 0 && (periodic != terms.len() || norm != Norm::Squares);
        ((1..=MOST).contains(&terms.len()) && !mixed).then_some(Search {
            norm,
            terms,
            question,
        })
    }
}

/// Returns whether no other root decides which pairs are left out: NaN is an error, or all other
/// roots are root `at` or its square root.
fn alone(job: &Job, at: usize) -> bool {
    let roots = &job.low.formula.roots;
    let own = |id: &Id| {
        *id == roots[at] || *job.low.formula.node(*id) == Node::Unary(Unary::Sqrt, roots[at])
    };
    job.nan == NanPolicy::Error || roots.iter().all(own)
}
