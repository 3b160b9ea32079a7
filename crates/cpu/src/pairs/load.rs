//! Loads a job for the strategy that its plan chose.

use super::engine::Engine;
use super::filter::Filtered;
use super::points::Counted;
use super::prune::{Boxes, ColumnGridHistogram, CutoffGrid, RangeSearch};
use super::reductions::Element;
use zipfold_core::{Error, Job, Result};
use zipfold_plan::executor::{Declined, Executor};
use zipfold_plan::{Plan, Strategy};

/// Loads `job` for the first of the strategies of `plan` that loads; with it, why the ones before
/// did not.
///
/// # Errors
/// `Internal` for a plan without a strategy that loads.
pub fn load<'j, T: Element>(
    job: &'j Job,
    plan: &Plan,
) -> Result<(Box<dyn Executor + 'j>, Vec<String>)> {
    let mut declined = vec![];
    for strategy in &plan.strategies {
        match load_for::<T>(job, plan, strategy) {
            Ok(executor) => return Ok((executor, declined)),
            Err(why) => declined.push(format!("not by {strategy}: {why}")),
        }
    }
    Err(Error::internal("no strategy of the plan loads"))
}

/// Loads `job` for `strategy`.
fn load_for<'j, T: Element>(
    job: &'j Job,
    plan: &Plan,
    strategy: &Strategy,
) -> std::result::Result<Box<dyn Executor + 'j>, Declined> {
    Ok(match strategy {
        Strategy::Grid { code } => Box::new(CutoffGrid::load(job, plan, *code)?),
        Strategy::ColumnGrid { parts } => Box::new(ColumnGridHistogram::load(job, plan, *parts)?),
        Strategy::Search(search) => Box::new(RangeSearch::load(job, plan, search)?),
        Strategy::Boxes(evaluator) => Box::new(Boxes::load(job, plan, *evaluator)?),
        Strategy::Points => Box::new(Counted::load(job, plan)?),
        Strategy::Filter(form) => Box::new(Filtered::load(job, plan, form)?),
        Strategy::Blocks { packed, code } => {
            Box::new(Engine::<T>::load(job, plan, *packed, *code)?)
        }
    })
}
