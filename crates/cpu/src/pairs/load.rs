//! Loads a job for the strategy that its plan chose.

use super::engine::Engine;
use super::farthest::Farthest;
use super::filter::Filtered;
use super::parts::{ByParts, Load};
use super::points::Counted;
use super::prune::{ColumnGridHistogram, CutoffGrid, LineSweep, RangeSearch, load_boxes};
use super::reductions::Element;
use zipfold_core::{Error, Job, Result};
use zipfold_plan::executor::{Declined, Executor};
use zipfold_plan::{Plan, Strategy};

/// Element types whose blocks of rows are loaded.
pub trait Blocks: Element {
    /// Loads `job` for blocks of rows with results of this type.
    ///
    /// Its two implementations are compiled here once. A generic function would be compiled again
    /// in every crate that calls it, with all the code below it.
    ///
    /// # Errors
    /// Why the job is not for blocks.
    fn load_blocks<'j>(
        job: &'j Job,
        plan: &Plan,
        packed: bool,
        code: bool,
    ) -> std::result::Result<Box<dyn Executor + 'j>, Declined>;
}

macro_rules! blocks {
    ($($kind:ty),*) => {$(
        impl Blocks for $kind {
            fn load_blocks<'j>(
                job: &'j Job,
                plan: &Plan,
                packed: bool,
                code: bool,
            ) -> std::result::Result<Box<dyn Executor + 'j>, Declined> {
                Ok(Box::new(Engine::<$kind>::load(job, plan, packed, code)?))
            }
        }
    )*};
}
blocks!(f32, f64);

/// Loads `job` for the first of the strategies of `plan` that loads; with it, why the ones before
/// did not.
///
/// # Errors
/// `Internal` for a plan without a strategy that loads.
pub fn load<'j, T: Blocks>(
    job: &'j Job,
    plan: &Plan,
) -> Result<(Box<dyn Executor + 'j>, Vec<String>)> {
    if let (Some(parts), Some(plan)) = (&job.parts, &plan.part) {
        return Ok((Box::new(ByParts::new(job, parts, plan, load::<T>)), vec![]));
    }
    let mut declined = vec![];
    for strategy in &plan.strategies {
        match load_for(job, plan, strategy, (T::load_blocks, load::<T>)) {
            Ok(executor) => return Ok((executor, declined)),
            Err(why) => declined.push(format!("not by {strategy}: {why}")),
        }
    }
    Err(Error::internal("no strategy of the plan loads"))
}

/// [`Blocks::load_blocks`].
type LoadBlocks<'j> =
    fn(&'j Job, &Plan, bool, bool) -> std::result::Result<Box<dyn Executor + 'j>, Declined>;

/// Loads `job` for `strategy`, blocks by `load_blocks`, some of its rows by `load`.
fn load_for<'j>(
    job: &'j Job,
    plan: &Plan,
    strategy: &Strategy,
    (load_blocks, load): (LoadBlocks<'j>, Load),
) -> std::result::Result<Box<dyn Executor + 'j>, Declined> {
    Ok(match strategy {
        Strategy::Line => Box::new(LineSweep::load(job, plan)?),
        Strategy::Grid { code } => Box::new(CutoffGrid::load(job, plan, *code)?),
        Strategy::ColumnGrid { parts } => Box::new(ColumnGridHistogram::load(job, plan, *parts)?),
        Strategy::Search(search) => Box::new(RangeSearch::load(job, plan, search)?),
        Strategy::Boxes(evaluator) => Box::new(load_boxes(job, plan, *evaluator)?),
        Strategy::Farthest => Box::new(Farthest::load(job, plan, load)?),
        Strategy::Points => Box::new(Counted::load(job, plan)?),
        Strategy::Filter(form) => Box::new(Filtered::load(job, plan, form)?),
        Strategy::Blocks { packed, code } => load_blocks(job, plan, *packed, *code)?,
    })
}
