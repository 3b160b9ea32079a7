//! The ranges of histograms that were given none: the least and the largest value of an axis, found before anything is
//! counted. First and last edge are these values, so that no pair is outside.

use crate::device::place;
use crate::run::{Options, Outcome, Output, Progress, Target, run};
use std::borrow::Cow;
use std::time::Instant;
use zipfold_core::describe::Data;
use zipfold_core::fold::rows::Along;
use zipfold_core::fold::{Closed, Extremes, Fold, RowFold, RowOp, State};
use zipfold_core::problem::{AxisSpec, FoldSpec, NanPolicy, Problem};
use zipfold_core::{Error, Job, Result, describe};
use zipfold_plan::{Plan, choose, prune};

/// A device that stays open while this lives: opening one takes longer than many runs.
pub struct Held(zipfold_gpu::Device);

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Held({})", self.0.facts.id())
    }
}

/// A problem whose histograms all have ranges.
#[derive(Debug)]
pub struct Ranged<'p> {
    /// The problem; the ranges found are in it.
    pub problem: Cow<'p, Problem>,
    /// How they were found, if there were any to find.
    pub found: Option<Found>,
    /// The device that found them, for the run that follows.
    pub held: Option<Held>,
}

/// How ranges were found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The plans, of one run after another.
    pub plans: Vec<Plan>,
    /// Cells that ranges are of, in all runs.
    pub cells: u64,
    /// Cells whose values were computed.
    pub evaluated: u64,
    /// Seconds.
    pub seconds: f64,
}

/// The problem with the exact minimum and maximum where a histogram has no range.
///
/// # Errors
/// `Request` when there is no value to find a range of.
pub fn with_ranges<'p>(problem: &'p Problem, data: &Data, options: &Options<'_>) -> Result<Cow<'p, Problem>> {
    find(problem, data, options).map(|ranged| ranged.problem)
}

/// As [`with_ranges`], with what it took.
///
/// # Errors
/// `Request` when there is no value to find a range of; those of [`describe()`] and [`run`].
pub fn find<'p>(problem: &'p Problem, data: &Data, options: &Options<'_>) -> Result<Ranged<'p>> {
    let Some(asked) = Asked::of(problem, data)? else {
        return Ok(Ranged { problem: Cow::Borrowed(problem), found: None, held: None });
    };
    let start = Instant::now();
    let mut found = Found { plans: vec![], cells: 0, evaluated: 0, seconds: 0.0 };
    let mut ends = vec![[f64::NAN; 2]; asked.roots.len()];
    let (jobs, mut held) = asked.jobs(options)?;
    for job in jobs {
        let machine = zipfold_cpu::detect(options.threads, options.budget.limit());
        let plan = choose(&job, &machine, &options.overrides)?;
        let outcome = one(problem, &job, plan, options)?;
        found.cells += outcome.cells;
        found.evaluated += outcome.cells - outcome.tally.skipped - outcome.tally.settled;
        asked.take(&job, &outcome, &mut ends);
        // A device that has failed is opened afresh, or not at all.
        held = held.filter(|_| !outcome.plan.backend.contains("cpu"));
        found.plans.push(outcome.plan);
    }
    let problem = asked.filled(problem, |at| ends[at])?;
    found.seconds = start.elapsed().as_secs_f64();
    Ok(Ranged { problem: Cow::Owned(problem), found: Some(found), held })
}

/// The problem with ranges as a sample of its rows has them, and the plans by which the real ones would be found. Nothing
/// else is computed.
///
/// # Errors
/// Those of [`describe()`] and [`choose()`].
pub fn foresee<'p>(problem: &'p Problem, data: &Data, options: &Options<'_>) -> Result<(Cow<'p, Problem>, Vec<Plan>)> {
    let Some(asked) = Asked::of(problem, data)? else { return Ok((Cow::Borrowed(problem), vec![])) };
    let machine = zipfold_cpu::detect(options.threads, options.budget.limit());
    let mut plans = vec![];
    for job in asked.jobs(options)?.0 {
        let plan = choose(&job, &machine, &options.overrides)?;
        plans.push(place(&job, plan, options)?.0);
    }
    let sampled = prune::sampled_ends(&asked.job, &asked.roots);
    let problem = asked.filled(problem, |at| {
        let [lo, hi] = sampled[at];
        if lo <= hi && lo.is_finite() && hi.is_finite() { [lo, hi] } else { [0.0, 1.0] }
    })?;
    Ok((Cow::Owned(problem), plans))
}

/// The axes without a range.
struct Asked {
    /// The problem described with other ranges.
    job: Job,
    /// Fold, axis, and which of `roots` its value is.
    axes: Vec<(usize, usize, usize)>,
    roots: Vec<usize>,
}

fn is_open(axis: &AxisSpec) -> bool {
    axis.edges.is_none() && axis.range.is_none()
}

impl Asked {
    /// None where every axis has its range, or edges of its own.
    fn of(problem: &Problem, data: &Data) -> Result<Option<Asked>> {
        let whole = |f: &FoldSpec| !matches!(f, FoldSpec::Histogram { axes, .. } if axes.iter().any(is_open));
        if problem.folds.iter().all(whole) {
            return Ok(None);
        }
        let mut probe = problem.clone();
        let mut open = vec![];
        for (at, fold) in probe.folds.iter_mut().enumerate() {
            let FoldSpec::Histogram { axes, .. } = fold else { continue };
            for (number, axis) in axes.iter_mut().enumerate().filter(|(_, axis)| is_open(axis)) {
                (axis.range, axis.bins) = (Some([0.0, 1.0]), Some(1));
                open.push((at, number));
            }
        }
        // Ranges need no weights, but where pairs of rows without one are left out.
        let skips = problem.nan == NanPolicy::Skip;
        let weights = if skips { data.weights.clone() } else { vec![None; probe.folds.len()] };
        let job = describe(&probe, Data { weights, ..data.clone() })?;
        let (mut roots, mut axes): (Vec<usize>, Vec<(usize, usize, usize)>) = (vec![], vec![]);
        for (at, number) in open {
            let Fold::Histogram(h) = &job.folds[at] else { continue };
            let root = h.axes[number].root;
            let place = roots.iter().position(|r| *r == root).unwrap_or_else(|| {
                roots.push(root);
                roots.len() - 1
            });
            axes.push((at, number, place));
        }
        // A pair of which any value is NaN is left out of everything: those that need no range tell, too.
        for root in job.folds.iter().flat_map(Fold::roots).filter(|_| skips) {
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        Ok(Some(Asked { job, axes, roots }))
    }
    /// What is to be run: on the host all roots at once, or one after the other where that takes less time; on a device the least
    /// and the largest of each root.
    fn jobs(&self, options: &Options<'_>) -> Result<(Vec<Job>, Option<Held>)> {
        let nan = if self.job.nan == NanPolicy::Error { NanPolicy::Error } else { NanPolicy::Skip };
        let with = |fold: Fold| Job { folds: vec![fold], nan, ..self.job.clone() };
        let extremes = |roots: &[usize]| with(Fold::Extremes(Extremes { roots: roots.to_vec() }));
        let machine = zipfold_cpu::detect(options.threads, options.budget.limit());
        let plan = |job: &Job| choose(job, &machine, &options.overrides);
        let together = extremes(&self.roots);
        let whole = plan(&together)?;
        let end = |op: RowOp| {
            move |root: &usize| {
                let fold = RowFold {
                    root: *root,
                    width: 1,
                    op,
                    along: Along::All,
                    weights: None,
                    weight_width: 1,
                    once: false,
                };
                with(Fold::Rows(fold))
            }
        };
        // Alone, an extreme knows nothing of NaN in other values.
        if self.roots.len() > 1 && self.job.nan == NanPolicy::Skip {
            return Ok((vec![together], None));
        }
        if options.device != crate::device::Wanted::Cpu {
            let ends = |root: &usize| [end(RowOp::Min)(root), end(RowOp::Max)(root)];
            let jobs: Vec<Job> = self.roots.iter().flat_map(ends).collect();
            if let (_, Some(device)) = place(&jobs[0], whole.clone(), options)? {
                return Ok((jobs, Some(Held(device))));
            }
        }
        if self.roots.len() > 1 {
            let apart: Vec<Job> = self.roots.iter().map(|root| extremes(&[*root])).collect();
            let seconds = apart.iter().map(|job| Ok(plan(job)?.seconds)).sum::<Result<f64>>()?;
            if seconds < whole.seconds {
                return Ok((apart, None));
            }
        }
        Ok((vec![together], None))
    }
    /// Takes the extremes that a run of `job` has found.
    fn take(&self, job: &Job, outcome: &Outcome, ends: &mut [[f64; 2]]) {
        let place = |root: usize| self.roots.iter().position(|r| *r == root);
        match (&job.folds[0], &outcome.outputs[0]) {
            (Fold::Extremes(f), Output::State(State::Extremes(s))) => {
                for (root, found) in f.roots.iter().zip(s.ends()) {
                    place(*root).into_iter().for_each(|at| ends[at] = *found);
                }
            }
            (Fold::Rows(f), Output::State(State::Rows(s))) => {
                let value = s.finish(f)[0];
                place(f.root).into_iter().for_each(|at| ends[at][usize::from(f.op == RowOp::Max)] = value);
            }
            _ => {}
        }
    }
    /// The problem with ranges from the extremes of each root.
    fn filled(&self, problem: &Problem, ends: impl Fn(usize) -> [f64; 2]) -> Result<Problem> {
        let mut problem = problem.clone();
        for (at, number, place) in &self.axes {
            let FoldSpec::Histogram { axes, closed, .. } = &mut problem.folds[*at] else { continue };
            let Fold::Histogram(h) = &self.job.folds[*at] else { continue };
            let ends = ends(*place).map(|v| if h.axes[*number].squared { v.sqrt() } else { v });
            axes[*number].range = Some(range(ends, *closed)?);
        }
        Ok(problem)
    }
}

/// First and last edge around values from `lo` to `hi`, as `numpy.histogram` has them. Half-open bins end right above the
/// largest value.
fn range([lo, hi]: [f64; 2], closed: Closed) -> Result<[f64; 2]> {
    let refused = |what: String| Error::request(what).at("--range").remedy("give one: --range LO HI");
    if lo > hi || lo.is_nan() || hi.is_nan() {
        return Err(refused("no finite range for bins: there is no value".into()));
    }
    if !lo.is_finite() || !hi.is_finite() {
        return Err(refused(format!("values from {lo} to {hi} give bins no finite range")));
    }
    Ok(match closed {
        _ if lo == hi => [lo - 0.5, hi + 0.5],
        Closed::Last => [lo, hi],
        Closed::HalfOpen => [lo, hi.next_up()],
    })
}

/// Runs one job to its end, and tells of it as of the search for a range.
fn one(problem: &Problem, job: &Job, plan: Plan, options: &Options<'_>) -> Result<Outcome> {
    let told = |p: Progress| {
        if let Some(tell) = options.progress {
            tell(Progress { phase: "range", ..p });
        }
    };
    let options = Options {
        threads: options.threads,
        budget: options.budget.clone(),
        overrides: options.overrides.clone(),
        stop: options.stop,
        // Devices fold one extreme at a time.
        device: if matches!(job.folds[0], Fold::Extremes(_)) { crate::device::Wanted::Cpu } else { options.device },
        progress: Some(&told),
        warnings: options.warnings.clone(),
        ..Options::default()
    };
    run(problem, job, plan, &Target::Memory, &options)
}
