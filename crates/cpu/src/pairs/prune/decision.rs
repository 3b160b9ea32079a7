//! What the bounds of a box of pairs settle: for every fold, whether its values need not be
//! computed.

use super::limits::Limits;
use zipfold_core::Job;
use zipfold_core::fold::{Fold, Known, Whole};
use zipfold_core::pair::interval_bounds::{Bounds, LANES};

/// What is known of a box of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PruneDecision {
    /// Not enough.
    Evaluate,
    /// Every pair is beyond the cut-off.
    Far,
    /// Every fold's part is in the list of [`Pruner::wholes`].
    Settled,
}

/// Judges boxes of pairs for the folds of a job.
#[derive(Clone, Debug)]
pub(super) struct Pruner<'j> {
    folds: &'j [Fold],
    /// Roots of the formula.
    roots: usize,
    /// The root that a cut-off compares, and with what.
    cutoff: Option<(usize, f64)>,
    /// Of extremes, those found so far.
    limits: &'j Limits,
    /// By lane, whether the bounds of all roots are known.
    known: [bool; LANES],
    /// By fold, after [`PruneDecision::Settled`].
    pub(super) wholes: Vec<Whole>,
}

impl<'j> Pruner<'j> {
    /// A judge.
    pub(super) fn new(job: &'j Job, limits: &'j Limits) -> Self {
        Self::of_folds(job, &job.folds, limits)
    }
    /// A judge for these folds in place of those of the job.
    pub(super) fn of_folds(job: &Job, folds: &'j [Fold], limits: &'j Limits) -> Self {
        let cutoff = job.cutoff_root.zip(job.space.cutoff_squared());
        Pruner {
            folds,
            roots: job.low.formula.roots.len(),
            cutoff,
            limits,
            known: [false; LANES],
            wholes: vec![Whole::Nothing; folds.len()],
        }
    }
    /// Looks at bounds that were computed anew. Call it before [`Self::decide`].
    #[inline]
    pub(super) fn look(&mut self, bounds: &Bounds<'_>) {
        self.known = [true; LANES];
        for root in 0..self.roots {
            let spans = bounds.root(root);
            for (lane, known) in self.known.iter_mut().enumerate() {
                *known &= spans.lane(lane).is_known();
            }
        }
    }
    /// Whether all values of a lane are numbers, of all rows of its box.
    #[inline]
    pub(super) fn is_known(&self, lane: usize) -> bool {
        self.known[lane]
    }
    /// The verdict on lane `lane` of `bounds`; `worst(fold)` is what a value must not exceed to
    /// matter (for minima and neighbours, negated where the largest are wanted), NaN while
    /// everything matters.
    #[inline]
    pub(super) fn decide(
        &mut self,
        bounds: &Bounds<'_>,
        lane: usize,
        worst: impl Fn(usize) -> f64,
    ) -> PruneDecision {
        if let Some((root, limit)) = self.cutoff {
            let r = bounds.root(root).lane(lane);
            if r.lo > limit {
                return PruneDecision::Far;
            }
            let inside = r.hi <= limit;
            if !inside {
                return PruneDecision::Evaluate;
            }
        }
        let known = self.known[lane];
        for (at, fold) in self.folds.iter().enumerate() {
            let found = FoldKnown {
                worst: || worst(at),
                limits: self.limits,
            };
            let whole = fold.settles(|root| bounds.root(root).lane(lane), known, &found);
            match whole {
                Some(whole) => self.wholes[at] = whole,
                None => return PruneDecision::Evaluate,
            }
        }
        PruneDecision::Settled
    }
    /// Whether the pairs of a settled box change the answer.
    pub(super) fn matters(&self) -> bool {
        self.wholes
            .iter()
            .any(|w| matches!(w, Whole::All | Whole::Cell(_, true)))
    }
}

/// What is known of a fold: its worst value that matters, and the extremes that all threads have
/// found.
struct FoldKnown<'j, F> {
    worst: F,
    limits: &'j Limits,
}

impl<F: Fn() -> f64> Known for FoldKnown<'_, F> {
    #[inline]
    fn worst(&self) -> f64 {
        (self.worst)()
    }
    #[inline]
    fn ends(&self, at: usize) -> [f64; 2] {
        self.limits.ends(at)
    }
}
