//! Histogram axes without a range: which values must be known before the histogram can be
//! described.
//!
//! A histogram without `range` takes the least and the largest value, as in NumPy. They are not
//! known before the pairs are computed, so another pass finds them. This module says what that pass
//! asks (jobs with the fold `Extremes`, or minima and maxima for devices) and closes the axes with
//! what it found.
//!
//! ```text
//! hist without range → OpenAxes::find → both_ends(roots) → run → learn → closed(problem) → describe → run
//! ```

use crate::data::Data;
use crate::describe::{Job, describe};
use crate::error::{Error, Result};
use crate::fold::rows::ReduceAxis;
use crate::fold::{Closed, Extremes, Fold, Grouped, Histogram, Reduce, ReduceOp, State};
use crate::opt::Opt;
use crate::problem::{AxisSpec, FoldSpec, NanPolicy, Problem};

/// The axes of a problem that have no range.
///
/// It exists between two passes of one question. A run makes it, and `explain` does with a sample.
#[derive(Debug)]
pub struct OpenAxes {
    /// The problem, described with a range that means nothing.
    job: Job,
    axes: Vec<OpenAxis>,
    /// The roots of the formula whose ends are wanted, each once.
    roots: Vec<usize>,
}

/// One axis without a range: which fold, which axis of it, and its value's place in `roots`.
#[derive(Debug)]
struct OpenAxis {
    fold: usize,
    axis: usize,
    /// Its value among the roots, for each value of a parameter.
    roots: Vec<usize>,
}

/// Returns whether an axis has neither edges nor a range.
fn is_open(axis: &AxisSpec) -> bool {
    axis.edges.is_none() && axis.range.is_none()
}

impl OpenAxes {
    /// Returns the open axes of `problem`; `None` if every axis has a range or edges.
    ///
    /// # Errors
    /// Those of [`describe()`].
    pub fn find(problem: &Problem, data: &Data) -> Result<Option<OpenAxes>> {
        let has = |f: &FoldSpec| matches!(f, FoldSpec::Histogram { axes, .. } if axes.iter().any(is_open));
        if !problem.folds.iter().any(has) {
            return Ok(None);
        }
        // The whole problem is described, so it is refused before the first pass and not after it.
        let mut probe = problem.clone();
        let mut open = vec![];
        for (fold, spec) in probe.folds.iter_mut().enumerate() {
            let FoldSpec::Histogram { axes, .. } = spec else {
                continue;
            };
            for (axis, spec) in axes
                .iter_mut()
                .enumerate()
                .filter(|(_, spec)| is_open(spec))
            {
                // Any range will do: the description needs one, and its roots do not depend on it.
                (spec.range, spec.bins) = (Some([0.0, 1.0]), Some(1));
                open.push((fold, axis));
            }
        }
        // Ranges need no weights, unless pairs of rows without one are left out.
        let skips = problem.nan == NanPolicy::Skip;
        // A range needs no weights, unless pairs of rows without one are left out.
        let weights = if skips {
            data.weights.clone()
        } else {
            vec![None; probe.folds.len()]
        };
        let job = describe(
            &probe,
            Data {
                weights,
                ..data.clone()
            },
        )?;
        let (mut roots, mut axes): (Vec<usize>, Vec<OpenAxis>) = (vec![], vec![]);
        for (fold, axis) in open {
            let folds = job.folds.iter().skip(fold).step_by(job.answers());
            let of_axis = folds.filter_map(histogram).map(|h| h.axes[axis].root);
            let of_axis: Vec<usize> = of_axis.map(|root| place(&mut roots, root)).collect();
            let roots = of_axis;
            axes.push(OpenAxis { fold, axis, roots });
        }
        // With `skip`, a pair with any NaN is left out of every fold, so roots that need no range
        // matter, too.
        for root in job.folds.iter().flat_map(Fold::roots).filter(|_| skips) {
            place(&mut roots, root);
        }
        Ok(Some(OpenAxes { job, axes, roots }))
    }
    /// Returns the problem, described with a range that means nothing.
    pub fn job(&self) -> &Job {
        &self.job
    }
    /// Returns the roots whose ends are wanted, each once.
    ///
    /// Two axes over one value share a root and one search.
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }
    /// Returns whether a pair counts only if none of its roots is NaN. Then one pass must see all
    /// roots.
    pub fn belong_together(&self) -> bool {
        self.roots.len() > 1 && self.job.nan == NanPolicy::Skip
    }
    /// Returns the job that finds both ends of `roots` in one pass.
    ///
    /// The processor takes this: both ends of all roots cost little more than one.
    pub fn both_ends(&self, roots: &[usize]) -> Job {
        self.asking(Fold::Extremes(Extremes {
            roots: roots.to_vec(),
        }))
    }
    /// Returns the job that finds one end of one root; `op` is `Min` or `Max`. Devices have kernels
    /// for these.
    pub fn one_end(&self, root: usize, op: ReduceOp) -> Job {
        let axis = ReduceAxis::All;
        self.asking(Fold::Reduce(Reduce {
            root,
            width: 1,
            op,
            axis,
            weights: None,
            weight_width: 1,
            once: false,
            truths: false,
        }))
    }
    /// Returns the job of this problem with another fold. NaN is skipped unless it is an error: a
    /// range has no use for it.
    ///
    /// Domain, box and cut-off stay, so the range is that of the pairs that the histogram counts.
    fn asking(&self, fold: Fold) -> Job {
        let nan = if self.job.nan == NanPolicy::Error {
            NanPolicy::Error
        } else {
            NanPolicy::Skip
        };
        let fold = match &self.job.parts {
            Some(parts) => Fold::Grouped(Grouped::over(fold, parts.clone(), &self.job.space)),
            None => fold,
        };
        Job {
            folds: vec![fold],
            param: None,
            then: None,
            nan,
            ..self.job.clone()
        }
    }
    /// Returns ends that are not known yet, by root.
    pub fn unknown(&self) -> Vec<[f64; 2]> {
        vec![[f64::NAN; 2]; self.roots.len()]
    }
    /// Writes what the answer of `job`, one of this problem's passes, says into `ends`.
    ///
    /// Passes may come in any order, and each knows its own roots.
    pub fn learn(&self, job: &Job, state: &State, ends: &mut [[f64; 2]]) {
        let place = |root: usize| self.roots.iter().position(|r| *r == root);
        if let (Fold::Grouped(fold), State::Grouped(state)) = (&job.folds[0], state) {
            let fold = Job {
                folds: vec![(*fold.inner).clone()],
                ..job.clone()
            };
            let mut all = self.unknown();
            for state in state.states() {
                let mut found = self.unknown();
                self.learn(&fold, state, &mut found);
                for (all, found) in all.iter_mut().zip(&found) {
                    *all = [all[0].min(found[0]), all[1].max(found[1])];
                }
            }
            for (ends, found) in ends.iter_mut().zip(all).filter(|(_, f)| !f[0].is_nan()) {
                *ends = found;
            }
            return;
        }
        if let (Fold::Extremes(fold), State::Extremes(state)) = (&job.folds[0], state) {
            for (root, found) in fold.roots.iter().zip(state.ends()) {
                place(*root).into_iter().for_each(|at| ends[at] = *found);
            }
        }
        if let (Fold::Reduce(fold), State::Reduce(state)) = (&job.folds[0], state) {
            let value = state.finish(fold)[0];
            place(fold.root)
                .into_iter()
                .for_each(|at| ends[at][usize::from(fold.op == ReduceOp::Max)] = value);
        }
    }
    /// Returns `problem` with a range for each open axis, from the `ends` of its root.
    ///
    /// The number of bins stays as requested.
    ///
    /// # Errors
    /// `Request` where there is no finite value.
    pub fn closed(&self, problem: &Problem, ends: &[[f64; 2]]) -> Result<Problem> {
        let mut problem = problem.clone();
        for open in &self.axes {
            let FoldSpec::Histogram { axes, closed, .. } = &mut problem.folds[open.fold] else {
                continue;
            };
            let Some(histogram) = histogram(&self.job.folds[open.fold]) else {
                continue;
            };
            let squared = histogram.axes[open.axis].squared;
            // One range for all values of a parameter.
            let all = open.roots.iter().map(|root| ends[*root]);
            let ends = all.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
            let ends = ends.unwrap_or([f64::NAN; 2]);
            let ends = ends.map(|v| if squared { v.sqrt() } else { v });
            axes[open.axis].range = Some(range(ends, *closed)?);
        }
        Ok(problem)
    }
}

/// Returns the histogram that `fold` is, by groups or not.
fn histogram(fold: &Fold) -> Option<&Histogram> {
    if let Fold::Histogram(histogram) = fold.grouped().map_or(fold, |grouped| &grouped.inner) {
        Some(histogram)
    } else {
        None
    }
}

/// Returns the place of `root` in `roots`, to which it is appended if it is new.
fn place(roots: &mut Vec<usize>, root: usize) -> usize {
    roots.iter().position(|r| *r == root).unwrap_or_else(|| {
        roots.push(root);
        roots.len() - 1
    })
}

/// Returns the first and last edge around values from `lo` to `hi`, as `numpy.histogram` does:
/// equal ends are moved apart by ½. Half-open bins end right above the largest value, so that it is
/// in the last bin.
fn range([lo, hi]: [f64; 2], closed: Closed) -> Result<[f64; 2]> {
    let refused = |what: String| {
        Error::request(what)
            .at_place(Opt::Range)
            .remedy(format!("give one: {}", Opt::Range.like("LO HI")))
    };
    // Out of order: the ends of an empty fold are ∞ and −∞.
    if lo > hi || lo.is_nan() || hi.is_nan() {
        return Err(refused(
            "no finite range for bins: there is no value".into(),
        ));
    }
    if !lo.is_finite() || !hi.is_finite() {
        return Err(refused(format!(
            "values from {lo} to {hi} give bins no finite range"
        )));
    }
    // A single value gets a bin of width 1 around it, as in NumPy.
    Ok(match closed {
        _ if lo == hi => [lo - 0.5, hi + 0.5],
        Closed::Last => [lo, hi],
        Closed::HalfOpen => [lo, hi.next_up()],
    })
}
