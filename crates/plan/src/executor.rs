//! What every backend implements: an executor folds the pairs of tiles. The run loop knows
//! executors alone.

use crate::tiles::Tile;
use std::sync::atomic::{AtomicBool, Ordering};
use zipfold_core::fold::{State, Tally};
use zipfold_core::{Blame, Error, Result};

/// A job loaded for one strategy on one device.
pub trait Executor: Send + Sync {
    /// Folds the pairs of consecutive `tiles`. Values of dense results go to `sink`.
    ///
    /// # Errors
    /// Those of the device and of the sink; `Interrupted` when told to stop.
    fn run(&self, tiles: &[Tile], sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded>;
    /// The rows of x in the order in which states number them, where that is not the order given.
    fn order(&self) -> Option<&[u32]> {
        None
    }
    /// Devices that take a batch of tiles each at a time, with all threads of the host at their
    /// service; none where threads of the host take batches.
    fn devices(&self) -> usize {
        0
    }
    /// Folds `tiles` on device number `at`, below [`Executor::devices`]. None where that device is
    /// lost: it takes no batch any more, and another device, or the host by [`Executor::run`],
    /// takes this one.
    ///
    /// # Errors
    /// As [`Executor::run`].
    fn run_on(
        &self,
        _at: usize,
        tiles: &[Tile],
        sink: &dyn Sink,
        stop: Stop<'_>,
    ) -> Result<Option<Folded>> {
        self.run(tiles, sink, stop).map(Some)
    }
    /// What did the work so far: `cpu`, `cuda:0`, `cuda:0,1`, `cuda:0, then cpu`.
    fn backend(&self) -> String {
        "cpu".into()
    }
}

/// Why an executor does not load: what the plan could not see in the rows.
pub type Declined = &'static str;

/// What tiles fold to.
#[derive(Clone, Debug)]
pub struct Folded {
    /// By fold.
    pub states: Vec<State>,
    /// What happened to the pairs.
    pub tally: Tally,
}

/// Whether work should end early.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stop<'a>(pub Option<&'a AtomicBool>);

impl Stop<'_> {
    /// Whether it should.
    pub fn is_set(self) -> bool {
        self.0.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
    /// Goes on unless it should end.
    ///
    /// # Errors
    /// `Interrupted` where it should.
    pub fn check(self) -> Result<()> {
        if self.is_set() {
            Err(Error::new(Blame::Interrupted, "interrupted"))
        } else {
            Ok(())
        }
    }
}

/// Values on their way into a dense result.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

/// The types of values.
pub trait ValueType: Copy {
    /// Wraps a run.
    fn values(run: &[Self]) -> Values<'_>;
    /// Unwraps a run of this type.
    fn run(values: Values<'_>) -> Option<&[Self]>;
}

impl ValueType for f32 {
    fn values(run: &[f32]) -> Values<'_> {
        Values::F32(run)
    }
    fn run(values: Values<'_>) -> Option<&[f32]> {
        if let Values::F32(run) = values {
            Some(run)
        } else {
            None
        }
    }
}

impl ValueType for f64 {
    fn values(run: &[f64]) -> Values<'_> {
        Values::F64(run)
    }
    fn run(values: Values<'_>) -> Option<&[f64]> {
        if let Values::F64(run) = values {
            Some(run)
        } else {
            None
        }
    }
}

/// Where dense results go: element offsets of fold number `fold`. Runs never overlap.
pub trait Sink: Sync {
    /// Takes consecutive elements.
    ///
    /// # Errors
    /// `Resource` when they cannot be stored.
    fn put(&self, fold: usize, at: usize, values: Values<'_>) -> Result<()>;
    /// Asks for `bytes` more that a result of unknown size (the matches of a join) takes until it
    /// is merged.
    ///
    /// # Errors
    /// `Resource` when there is no room.
    fn hold(&self, _bytes: u64) -> Result<()> {
        Ok(())
    }
    /// As [`Sink::hold`], of the `states` of all folds, in their order, that take `now` bytes and
    /// will take `more`; `held` of these are given already. A sink that writes matches to files
    /// may take them out of the states, which then hold none.
    ///
    /// # Errors
    /// `Resource` when there is no room, in memory or on the disk.
    fn grown(&self, _states: &mut [State], [now, more]: [u64; 2], held: &mut u64) -> Result<()> {
        if now + more > *held {
            self.hold(now + more - *held)?;
            *held = now + more;
        }
        Ok(())
    }
    /// Whether long runs are much cheaper than short ones: the runs of a tile are then gathered
    /// before they are put.
    fn gathers(&self) -> bool {
        false
    }
}

/// A sink that stores nothing, for measurements.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl Sink for Nowhere {
    fn put(&self, _fold: usize, _at: usize, _values: Values<'_>) -> Result<()> {
        Ok(())
    }
}
