//! Signals that loops over rows look for.

use crate::options::Options;
use zipfold_core::Result;
use zipfold_plan::Stop;

/// Looks for a signal once in many steps of a loop.
pub(super) struct StopNowAndThen<'a> {
    stop: Stop<'a>,
    steps: u32,
}

/// Steps between looks.
const STEPS: u32 = 1 << 16;

impl<'a> StopNowAndThen<'a> {
    /// For the loops of a run.
    pub(super) fn new(options: &'a Options<'_>) -> StopNowAndThen<'a> {
        StopNowAndThen {
            stop: Stop(options.stop),
            steps: 0,
        }
    }
    /// A step.
    ///
    /// # Errors
    /// `Interrupted`.
    pub(super) fn look(&mut self) -> Result<()> {
        self.steps += 1;
        match self.steps.is_multiple_of(STEPS) {
            true => self.stop.check(),
            false => Ok(()),
        }
    }
}
