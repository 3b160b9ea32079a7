//! How a job is run, and where its answer goes.

use crate::warnings::Warnings;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use zipfold_core::Budget;
use zipfold_gpu::DeviceSelector;
use zipfold_io::OutputOptions;
use zipfold_plan::overrides::RowsMet;
use zipfold_plan::{MatchGoal, Overrides, Sink};

/// How a job is run. More fields may come: name the ones that you set, and take the others from
/// `Options::default()`.
///
/// ```
/// use zipfold::{Budget, Options};
/// let options = Options { threads: 2, budget: Budget::new(1 << 30), ..Options::default() };
/// assert!(options.checkpoint.is_none());
/// ```
#[derive(Clone)]
pub struct Options<'a> {
    /// Threads, 0 for all.
    pub threads: usize,
    /// Memory that the run may hold.
    pub budget: Budget,
    /// Plan choices that the user makes.
    pub overrides: Overrides,
    /// One balanced shard of the space: (index from 0, parts).
    pub shard: Option<(usize, usize)>,
    /// Where progress is kept for a resumption.
    pub checkpoint: Option<PathBuf>,
    /// Time between checkpoints.
    pub checkpoint_every: Duration,
    /// Go on from the checkpoint, if there is one.
    pub resume: bool,
    /// Told after every batch, on the thread that merged it.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Stops the run before the next batch, or within a batch where nothing is kept for a
    /// resumption.
    pub stop: Option<&'a AtomicBool>,
    /// Where to run.
    pub device: DeviceSelector,
    /// Takes what the run has to say next to its answer.
    pub warnings: Warnings,
}

impl Options<'_> {
    /// The choices of a plan: in the part of a share every row has its result, so that it is the same
    /// whoever computes it.
    pub(crate) fn choices(&self) -> Cow<'_, Overrides> {
        match self.shard.is_some() {
            true => Cow::Owned(all_rows(&self.overrides)),
            false => Cow::Borrowed(&self.overrides),
        }
    }
}

/// These choices, and that every row has its result.
pub(crate) fn all_rows(overrides: &Overrides) -> Overrides {
    Overrides {
        rows_met: Some(RowsMet::All),
        ..overrides.clone()
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            threads: 0,
            budget: Budget::new(zipfold_io::memory::at_first()),
            overrides: Overrides::default(),
            shard: None,
            checkpoint: None,
            checkpoint_every: Duration::from_secs(10),
            resume: false,
            progress: None,
            stop: None,
            device: DeviceSelector::Cpu,
            warnings: Warnings::default(),
        }
    }
}

/// How far a run is.
///
/// ```
/// use zipfold::{Options, Progress};
/// let tell = |p: Progress| eprintln!("{}: {} of {} pairs", p.phase, p.pairs, p.total);
/// let options = Options { progress: Some(&tell), ..Options::default() };
/// # let _ = options;
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What the run is doing: `range`, `pairs`.
    pub phase: &'static str,
    /// Pairs visited so far in this phase, those of an earlier run included.
    pub pairs: u64,
    /// Pairs of this phase.
    pub total: u64,
    /// Pairs that an earlier run visited, from whose checkpoint this one goes on.
    pub before: u64,
}

impl Progress {
    /// Progress of a phase: pairs visited so far, pairs of the phase, pairs of an earlier run.
    #[doc(hidden)]
    #[must_use]
    pub fn new(phase: &'static str, [pairs, total, before]: [u64; 3]) -> Self {
        Progress {
            phase,
            pairs,
            total,
            before,
        }
    }
}

/// Where a dense result goes.
///
/// ```
/// use zipfold::{Target, io::OutputOptions};
/// let file = Target::Npy("distances.npy".into(), OutputOptions::default());
/// assert!(!matches!(file, Target::Memory));
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub enum Target {
    /// Into memory, within the budget.
    #[default]
    Memory,
    /// Into an `.npy` file, by positional writes.
    Npy(String, OutputOptions),
    /// Into memory; matches of a join that it does not hold into sorted runs in this folder. It goes
    /// with the answer, unless a checkpoint has its own. The name is that of the file that is written
    /// from them, if it is known.
    Runs(PathBuf, Option<String>),
    /// Into memory that the caller owns.
    #[doc(hidden)]
    Lent(LentSink),
}

impl Target {
    /// Where matches go.
    pub(crate) fn goal(&self) -> MatchGoal {
        match self {
            Target::Runs(..) => MatchGoal::File,
            Target::Memory | Target::Npy(..) | Target::Lent(_) => MatchGoal::Memory,
        }
    }
}

/// A place for dense results that the caller owns; it outlives the run.
#[derive(Clone)]
pub struct LentSink(pub Arc<dyn Sink + Send>);

impl std::fmt::Debug for LentSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lent")
    }
}
