//! Runs the passes that find the ranges of histograms, before anything is counted.

use crate::device::{DeviceSelector, place};
use crate::options::{Options, Progress, Target};
use crate::outcome::{Outcome, Output};
use crate::planned_question::run;
use std::borrow::Cow;
use std::time::Instant;
use zipfold_core::data::Data;
use zipfold_core::fold::Fold;
use zipfold_core::open_axes::OpenAxes;
use zipfold_core::problem::Problem;
use zipfold_core::{Blame, Job, Result};
use zipfold_plan::Plan;
use zipfold_plan::passes::{self, Pass};

/// Devices that stay open while this lives: opening one takes longer than many runs.
pub struct Held(Vec<zipfold_gpu::Device>);

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Held({:?})", self.0)
    }
}

/// A problem whose histograms all have ranges.
#[derive(Debug)]
pub struct Ranged<'p> {
    /// The problem; the ranges found are in it.
    pub problem: Cow<'p, Problem>,
    /// How they were found, if there were any to find.
    pub found: Option<Found>,
    /// The devices that found them, for the run that follows.
    pub held: Option<Held>,
}

/// How ranges were found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The plans, of one run after another.
    pub plans: Vec<Plan>,
    /// Pairs that ranges are of, in all runs.
    pub pairs: u64,
    /// Pairs whose values were computed.
    pub evaluated: u64,
    /// Seconds.
    pub seconds: f64,
}

/// The problem with the exact minimum and maximum where a histogram has no range.
///
/// # Errors
/// `Request` when there is no value to find a range of.
pub fn with_ranges<'p>(
    problem: &'p Problem,
    data: &Data,
    options: &Options<'_>,
) -> Result<Cow<'p, Problem>> {
    find(problem, data, options).map(|ranged| ranged.problem)
}

/// As [`with_ranges`], with what it took.
///
/// # Errors
/// `Request` when there is no value to find a range of; those of [`zipfold_core::describe()`] and
/// [`run`].
pub fn find<'p>(problem: &'p Problem, data: &Data, options: &Options<'_>) -> Result<Ranged<'p>> {
    let Some(open) = OpenAxes::find(problem, data)? else {
        return Ok(Ranged {
            problem: Cow::Borrowed(problem),
            found: None,
            held: None,
        });
    };
    let start = Instant::now();
    let mut found = Found {
        plans: vec![],
        pairs: 0,
        evaluated: 0,
        seconds: 0.0,
    };
    let mut ends = open.unknown();
    let (passes, mut held) = passes(&open, options)?;
    for pass in passes {
        let outcome = run_pass(problem, &pass, options)?;
        found.pairs += outcome.pairs;
        found.evaluated += outcome.pairs - outcome.tally.skipped - outcome.tally.settled;
        if let Some(Output::State(state)) = outcome.outputs.first() {
            open.learn(&pass.job, state, &mut ends);
        }
        // A device that has failed is opened afresh, or not at all.
        held = held.filter(|_| !outcome.plan.backend.contains("cpu"));
        found.plans.push(outcome.plan);
    }
    let problem = open.closed(problem, &ends)?;
    found.seconds = start.elapsed().as_secs_f64();
    Ok(Ranged {
        problem: Cow::Owned(problem),
        found: Some(found),
        held,
    })
}

/// The problem with ranges as a sample of its rows has them, and the plans by which the real ones
/// would be found. Nothing else is computed.
///
/// # Errors
/// Those of [`zipfold_core::describe()`] and [`zipfold_plan::choose()`].
pub fn foresee<'p>(
    problem: &'p Problem,
    data: &Data,
    options: &Options<'_>,
) -> Result<(Cow<'p, Problem>, Vec<Plan>)> {
    let Some(open) = OpenAxes::find(problem, data)? else {
        return Ok((Cow::Borrowed(problem), vec![]));
    };
    let placed = |pass: Pass| Ok(place(&pass.job, pass.plan, options)?.0);
    let plans = passes(&open, options)?
        .0
        .into_iter()
        .map(placed)
        .collect::<Result<_>>()?;
    Ok((
        Cow::Owned(open.closed(problem, &passes::sampled_ends(&open))?),
        plans,
    ))
}

/// The passes for the ends of `open`, and the devices that run them.
fn passes(open: &OpenAxes, options: &Options<'_>) -> Result<(Vec<Pass>, Option<Held>)> {
    let machine = zipfold_cpu::detect(options.threads, options.budget.limit());
    let mut held = None;
    let mut on_device = |job: &Job, plan: &Plan| {
        if options.device != DeviceSelector::Cpu {
            held = Some(place(job, plan.clone(), options)?.1)
                .filter(|devices| !devices.is_empty())
                .map(Held);
        }
        Ok(held.is_some())
    };
    let passes = passes::for_ranges(open, &machine, &options.overrides, &mut on_device)?;
    Ok((passes, held))
}

/// Runs one pass to its end. Interrupted, it keeps nothing.
fn run_pass(problem: &Problem, pass: &Pass, options: &Options<'_>) -> Result<Outcome> {
    let told = |p: Progress| {
        if let Some(tell) = options.progress {
            tell(Progress {
                phase: pass.purpose.name(),
                ..p
            });
        }
    };
    let options = Options {
        threads: options.threads,
        budget: options.budget.clone(),
        overrides: options.overrides.clone(),
        stop: options.stop,
        // Devices fold one extreme at a time.
        device: if matches!(pass.job.folds[0], Fold::Extremes(_)) {
            DeviceSelector::Cpu
        } else {
            options.device
        },
        progress: Some(&told),
        warnings: options.warnings.clone(),
        ..Options::default()
    };
    run(
        problem,
        &pass.job,
        pass.plan.clone(),
        &Target::Memory,
        &options,
    )
    .map_err(|e| match e.blame() {
        Blame::Interrupted => e.remedy("run it again: nothing was counted yet"),
        _ => e,
    })
}
