//! The passes over the pairs that a question takes.
//!
//! Most questions take one. A histogram without a range takes another one before it, which finds
//! the least and the largest value. A pass is a job and a plan like any other, so it is explained,
//! predicted, pruned and reported like any other.

use crate::machine::Machine;
use crate::overrides::Overrides;
use crate::plan::Plan;
use crate::{choose, prune};
use zipfold_core::fold::ReduceOp;
use zipfold_core::open_axes::OpenAxes;
use zipfold_core::{Job, Result};

/// One pass over the pairs before the last one.
#[derive(Clone, Debug)]
pub struct Pass {
    /// What it is for.
    pub purpose: Purpose,
    /// What it asks.
    pub job: Job,
    /// How the host would run it. A run places it on the device that is requested.
    pub plan: Plan,
}

/// What a pass before the last one is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It finds the ends of histogram axes without a range.
    Range,
}

impl Purpose {
    /// Returns the word for it in progress, reports and plans.
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Range => "range",
        }
    }
}

/// Returns the passes that find the ends of `open`.
///
/// The host takes all roots in one pass, or one after the other if pruning makes that faster:
/// bounds prune the extremes of one root well and of several together badly. A device has kernels
/// for one end of one root at a time; `on_device` says whether a device would run such a job.
///
/// # Errors
/// Those of [`choose()`] and of `on_device`.
pub fn for_ranges(
    open: &OpenAxes,
    machine: &Machine,
    overrides: &Overrides,
    on_device: &mut dyn FnMut(&Job, &Plan) -> Result<bool>,
) -> Result<Vec<Pass>> {
    let pass = |job: Job| {
        let plan = choose(&job, machine, overrides)?;
        Ok(Pass {
            purpose: Purpose::Range,
            job,
            plan,
        })
    };
    let together = pass(open.both_ends(open.roots()))?;
    if open.belong_together() {
        return Ok(vec![together]);
    }
    let ends = open
        .roots()
        .iter()
        .flat_map(|root| [ReduceOp::Min, ReduceOp::Max].map(|op| open.one_end(*root, op)));
    let ends: Vec<Job> = ends.collect();
    if on_device(&ends[0], &together.plan)? {
        return ends.into_iter().map(pass).collect();
    }
    if open.roots().len() > 1 {
        let apart = open
            .roots()
            .iter()
            .map(|root| pass(open.both_ends(&[*root])))
            .collect::<Result<Vec<Pass>>>()?;
        if apart.iter().map(|pass| pass.plan.seconds).sum::<f64>() < together.plan.seconds {
            return Ok(apart);
        }
    }
    Ok(vec![together])
}

/// The ends of the roots of `open` in a sample of its rows, for a plan before anything is computed;
/// 0 and 1 where the sample has no finite ones.
pub fn sampled_ends(open: &OpenAxes) -> Vec<[f64; 2]> {
    let finite = |[lo, hi]: [f64; 2]| lo <= hi && lo.is_finite() && hi.is_finite();
    let mut ends = prune::sampled_ends(open.job(), open.roots());
    ends.iter_mut()
        .filter(|ends| !finite(**ends))
        .for_each(|ends| *ends = [0.0, 1.0]);
    ends
}
