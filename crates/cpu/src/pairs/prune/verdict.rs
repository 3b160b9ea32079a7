//! What the bounds of a box of pairs settle: for every fold, whether its values need not be
//! computed.

use super::limits::Limits;
use zipfold_core::Job;
use zipfold_core::fold::{Axis, Fold, Histogram, RowFold, RowOp, Select};
use zipfold_core::pair::bounds::Bounds;
use zipfold_core::pair::interval::Span;

/// What a fold makes of a whole box of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// Nothing: no pair can change the answer.
    Nothing,
    /// All pairs fall in this cell of the histogram, inside (true) or outside of its grid.
    PeriodicBox(usize, bool),
    /// The predicate holds for every pair; every value counts.
    All,
}

/// What is known of a box of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Not enough.
    Evaluate,
    /// Every pair is beyond the cut-off.
    Far,
    /// Every fold's part is in the list of [`Judge::wholes`].
    Settled,
}

/// Judges boxes of pairs for the folds of a job.
#[derive(Clone, Debug)]
pub(super) struct Judge<'j> {
    job: &'j Job,
    /// The root that a cut-off compares, and with what.
    near: Option<(usize, f64)>,
    /// Of extremes, those found so far.
    limits: &'j Limits,
    /// By fold, after [`Verdict::Settled`].
    pub wholes: Vec<Whole>,
}

impl<'j> Judge<'j> {
    /// A judge.
    pub(super) fn new(job: &'j Job, limits: &'j Limits) -> Self {
        let near = job.near_root.zip(job.space.near_square());
        Judge {
            job,
            near,
            limits,
            wholes: vec![Whole::Nothing; job.folds.len()],
        }
    }
    /// The verdict on lane `lane` of `bounds`; `worst(fold)` is what a value must not exceed to
    /// matter (for minima and neighbours, after [`falling`]), NaN while everything matters.
    #[inline]
    pub(super) fn judge(
        &mut self,
        bounds: &Bounds<'_>,
        lane: usize,
        worst: impl Fn(usize) -> f64,
    ) -> Verdict {
        let job = self.job;
        if let Some((root, limit)) = self.near {
            let r = bounds.root(root).at(lane);
            if r.lo > limit {
                return Verdict::Far;
            }
            let inside = r.hi <= limit;
            if !inside {
                return Verdict::Evaluate;
            }
        }
        let known =
            (0..job.low.formula.roots.len()).all(|root| bounds.root(root).at(lane).is_known());
        for (at, fold) in job.folds.iter().enumerate() {
            let whole = match fold {
                // One axis that leaves all pairs out says enough, whatever the values of others.
                Fold::Histogram(f) if is_outside(f, |root| bounds.root(root).at(lane)) => {
                    Some(Whole::PeriodicBox(f.cells() - 1, false))
                }
                _ if !known => None,
                Fold::Histogram(f) => histogram(f, |root| bounds.root(root).at(lane)),
                Fold::Select(f) => select(f, bounds.root(f.root).at(lane)),
                Fold::Nearest(f) => {
                    beaten(falling(bounds.root(f.root).at(lane), f.largest), worst(at))
                }
                Fold::Rows(f) => rows(f, bounds.root(f.root).at(lane), || worst(at)),
                // By one list of all threads, whatever the rows.
                Fold::Top(f) => beaten(
                    falling(bounds.root(f.root).at(lane), f.largest),
                    self.limits.worst(at),
                ),
                Fold::Extremes(f) => self
                    .limits
                    .enclose(f, |root| bounds.root(root).at(lane))
                    .then_some(Whole::Nothing),
                _ => None,
            };
            match whole {
                Some(whole) => self.wholes[at] = whole,
                None => return Verdict::Evaluate,
            }
        }
        Verdict::Settled
    }
    /// Whether the pairs of a settled box change the answer.
    pub(super) fn matters(&self) -> bool {
        self.wholes
            .iter()
            .any(|w| matches!(w, Whole::All | Whole::PeriodicBox(_, true)))
    }
}

/// The interval in which smaller is better.
#[inline]
pub(super) fn falling(s: Span, largest: bool) -> Span {
    if largest {
        Span {
            lo: -s.hi,
            hi: -s.lo,
        }
    } else {
        s
    }
}

/// Whether a row fold looks for the largest value.
pub(super) fn wants_largest(f: &RowFold) -> bool {
    matches!(f.op, RowOp::Max | RowOp::Argmax)
}

fn beaten(s: Span, worst: f64) -> Option<Whole> {
    (s.lo > worst).then_some(Whole::Nothing)
}

fn rows(f: &RowFold, s: Span, worst: impl Fn() -> f64) -> Option<Whole> {
    match f.op {
        RowOp::Count if s.must() => Some(Whole::All),
        RowOp::Count => (!s.may()).then_some(Whole::Nothing),
        RowOp::Min | RowOp::Argmin | RowOp::Max | RowOp::Argmax => {
            beaten(falling(s, wants_largest(f)), worst())
        }
        _ => None,
    }
}

fn select(f: &Select, s: Span) -> Option<Whole> {
    if !s.may() {
        return Some(Whole::Nothing);
    }
    (s.must() && f.value.is_none()).then_some(Whole::All)
}

/// Whether one of several axes leaves all pairs out.
fn is_outside(f: &Histogram, root: impl Fn(usize) -> Span) -> bool {
    let outside = |axis: &Axis| {
        let s = root(axis.root);
        let [a, b] = [s.lo, s.hi].map(|v| axis.place(v));
        s.is_known() && a == b && (a == 0 || a > axis.bins())
    };
    f.axes.len() > 1 && f.axes.iter().any(outside)
}

/// One cell for all values, unless weights or means inside the grid need them one by one.
fn histogram(f: &Histogram, root: impl Fn(usize) -> Span) -> Option<Whole> {
    let mut cell = 0;
    let mut inside = true;
    for axis in &f.axes {
        let s = root(axis.root);
        let place = axis.place(s.lo);
        if place != axis.place(s.hi) {
            return None;
        }
        cell = cell * (axis.bins() + 2) + place;
        inside &= place >= 1 && place <= axis.bins();
    }
    let summed = f.mean || f.weights.is_some();
    (!inside || !summed).then_some(Whole::PeriodicBox(cell, inside))
}
