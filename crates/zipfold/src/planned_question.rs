//! Questions that are planned, with what executes them: one run, or one run for each share, over rows
//! that are sorted, laid out and copied to devices once.

use crate::identity::Key;
use crate::options::{Options, Target};
use crate::outcome::Outcome;
use crate::run::run_typed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zipfold_core::fold::Fold;
use zipfold_core::{Job, Precision, Problem, Result};
use zipfold_cpu::pairs::Blocks;
use zipfold_gpu::Device;
use zipfold_plan::{Executor, Plan, Tiling};

/// Runs `job` by `plan`.
///
/// # Errors
/// `Resource` when the budget does not hold it; `Input` for NaN under the policy `error`; those of
/// the files.
pub fn run(
    problem: &Problem,
    job: &Job,
    plan: Plan,
    target: &Target,
    options: &Options<'_>,
) -> Result<Outcome> {
    PlannedQuestion::new(problem, job, plan, options)?.run(target, options)
}

/// A question with its plan, and its executor once it is loaded.
pub(crate) struct PlannedQuestion<'j> {
    problem: &'j Problem,
    job: &'j Job,
    /// The plan of the host.
    of_host: Plan,
    /// The same, on devices where it is for some.
    plan: Plan,
    /// The devices, until an executor has them.
    devices: Mutex<Option<Vec<Device>>>,
    /// The executor, and the tiles that it was loaded for.
    executor: Mutex<Option<(Tiling, Arc<dyn Executor + 'j>)>>,
}

impl<'j> PlannedQuestion<'j> {
    /// Opens the devices that `options` ask for. No executor is loaded.
    ///
    /// # Errors
    /// Those of opening devices.
    pub(crate) fn new(
        problem: &'j Problem,
        job: &'j Job,
        of_host: Plan,
        options: &Options<'_>,
    ) -> Result<Self> {
        let (plan, devices) = crate::device::place(job, of_host.clone(), options)?;
        Ok(PlannedQuestion {
            problem,
            job,
            of_host,
            plan,
            devices: Mutex::new(Some(devices)),
            executor: Mutex::new(None),
        })
    }
    /// How numbers come about in one of `parts` shares.
    pub(crate) fn key(&self, parts: usize) -> Key {
        Key::of_plan(self.job, &self.plan, parts)
    }
    /// Runs the question, or the share of it that `options` name.
    ///
    /// # Errors
    /// Those of the run.
    pub(crate) fn run(&self, target: &Target, options: &Options<'_>) -> Result<Outcome> {
        let mut plan = self.plan.clone();
        plan.matches = plan.matches.map(|matches| matches.going(target.goal()));
        let done = match plan.precision {
            Precision::F32 => {
                let load = |plan: &Plan| self.loaded::<f32>(plan, options);
                run_typed::<f32>(self.problem, self.job, plan, target, options, load)
            }
            Precision::F64 => {
                let load = |plan: &Plan| self.loaded::<f64>(plan, options);
                run_typed::<f64>(self.problem, self.job, plan, target, options, load)
            }
        };
        // A device may be lost; and a share is the same regardless of what was run before it.
        if done.is_err() || self.learns() {
            *self.kept() = None;
        }
        done
    }
    /// Whether an executor keeps what it has found, by which it leaves out pairs of later runs: the best
    /// of all pairs, extremes, on devices the best of a row, and the row that is the answer.
    fn learns(&self) -> bool {
        let on_device = self.plan.device.is_some();
        self.plan.leaves_rows
            || self.job.folds.iter().any(|fold| {
                let fold = fold.grouped().map_or(fold, |grouped| &grouped.inner);
                matches!(fold, Fold::Top(_) | Fold::Extremes(_))
                    || (on_device && fold.best().is_some())
            })
    }
    fn kept(&self) -> MutexGuard<'_, Option<(Tiling, Arc<dyn Executor + 'j>)>> {
        self.executor.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// The executor of an earlier run, or a new one where there is none for these tiles: a run that
    /// goes on has those of its checkpoint.
    fn loaded<T: Blocks>(
        &self,
        plan: &Plan,
        options: &Options<'_>,
    ) -> Result<Arc<dyn Executor + 'j>> {
        let mut kept = self.kept();
        if let Some((tiling, executor)) = &*kept
            && *tiling == plan.tiling
        {
            return Ok(executor.clone());
        }
        // Its rows go before those of the next one come.
        *kept = None;
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        let devices = match devices.take() {
            Some(devices) => devices,
            None => crate::device::place(self.job, self.of_host.clone(), options)?.1,
        };
        let executor = crate::device::load::<T>(self.job, plan, devices, &options.warnings)?;
        let executor: Arc<dyn Executor + 'j> = executor.into();
        *kept = Some((plan.tiling, executor.clone()));
        Ok(executor)
    }
}
