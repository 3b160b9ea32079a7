//! How a question about a network is answered, and what an answer says of itself.

use super::counting::Counting;
use crate::beside::{Asked, OnDevice};
use crate::branch::Searched;
use crate::shared_slices::SliceStore;
use crate::sliced_plan::SlicedPlan;
use crate::slices::Checkpoint;
use crate::warnings::Warnings;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use zipfold_core::factor::Answer;
use zipfold_core::{Message, Precision};
use zipfold_gpu::DeviceSelector;
use zipfold_plan::overrides::Overrides;
use zipfold_product::plan::{Grouping, Options, Pass, Plan, Prediction, Rates, Split};

/// Takes the name of a phase and its predicted seconds.
type Told = dyn Fn(&str, f64) + Send + Sync;

/// Who is told of the phases: the name of one that begins, and the seconds it is predicted to take
/// (0 where nobody knows).
#[derive(Clone)]
pub struct Listener(Arc<Told>);

impl Listener {
    /// Tells `told`.
    pub fn new(told: impl Fn(&str, f64) + Send + Sync + 'static) -> Self {
        Listener(Arc::new(told))
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Listener")
    }
}

/// How a question is to be answered.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes that may be held.
    pub memory: u64,
    /// f64, or f32 at twice the speed and half the memory.
    pub precision: Precision,
    /// Seed of the order search and of samples.
    pub seed: u64,
    /// Seconds for the order search; `None` ties them to the predicted execution.
    pub order_seconds: Option<f64>,
    /// Predicted seconds beyond which a problem is refused.
    pub time_limit: f64,
    /// Whether marginals may be planned by groups of variables.
    pub grouping: Grouping,
    /// Where joins run: the host alone, or a device next to it.
    pub device: DeviceSelector,
    /// Plan choices: `product.joins`, and the ones that stand for a device's memory and faults.
    pub overrides: Overrides,
    /// Where a plan with slices keeps the ones that are done.
    pub checkpoint: Option<Checkpoint>,
    /// Where processes share out the slices of a plan; a checkpoint is not kept then.
    pub store: Option<SliceStore>,
    /// Set to stop before the next slice.
    pub stop: Option<Arc<AtomicBool>>,
    /// Told of every phase.
    pub listener: Option<Listener>,
    /// Takes what the user should know; shared with whoever asks.
    pub warnings: Warnings,
}

impl Settings {
    /// Tells that a phase begins.
    pub(super) fn tell(&self, phase: &str, seconds: f64) {
        if let Some(Listener(told)) = &self.listener {
            told(phase, seconds);
        }
    }
    /// What they ask of a device.
    pub(crate) fn asked(&self) -> Asked<'_> {
        let Settings {
            device,
            overrides,
            precision,
            warnings,
            ..
        } = self;
        Asked {
            device: *device,
            overrides,
            precision: *precision,
            warnings,
            fixed: self.store.as_ref().is_some_and(|s| s.planned().is_some()),
        }
    }
    /// The same, with a list of warnings for one answer.
    pub(super) fn of_one_answer(&self) -> Self {
        Settings {
            warnings: self.warnings.of_one_answer(),
            ..self.clone()
        }
    }
    /// What the planner takes of them.
    pub(crate) fn options(&self, pass: Pass, rates: Rates) -> Options {
        Options {
            seed: self.seed,
            order_seconds: self.order_seconds,
            patience: Options::PATIENCE,
            memory: self.memory,
            held: 0,
            time_limit: self.time_limit,
            pass,
            rates,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            memory: zipfold_io::memory::usual(),
            precision: Precision::F64,
            seed: 1,
            order_seconds: None,
            time_limit: 120.0,
            grouping: Grouping::Auto,
            device: DeviceSelector::Auto,
            overrides: Overrides::default(),
            checkpoint: None,
            store: None,
            stop: None,
            listener: None,
            warnings: Warnings::default(),
        }
    }
}

/// An answer and what it took.
#[must_use]
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct Inferred {
    /// The answer.
    pub answer: Answer,
    /// The plan that was executed (for MMAP that of its last stage); `None` when simplification
    /// settled everything.
    pub plan: Planned,
    /// The device next to the host, and the joins that ran there, if any did.
    pub device: Option<OnDevice>,
    /// Seconds of simplification, order search, execution.
    pub seconds: [f64; 3],
    /// The most bytes held in tables at one time.
    pub peak_bytes: u64,
    /// Things the user should know.
    pub warnings: Vec<Message>,
}

/// What is executed.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum Planned {
    /// Nothing: simplification settled everything.
    Settled,
    /// One plan.
    Whole(Plan),
    /// Marginals by groups of variables, each with its plan.
    Groups(Split),
    /// A search for the most probable assignment, where elimination is refused.
    Searched(Searched),
    /// A count of components.
    Counted(Counting),
}

impl Planned {
    /// All plans, in the order of execution.
    #[doc(hidden)]
    pub fn plans(&self) -> Vec<&Plan> {
        match self {
            Planned::Settled | Planned::Searched(_) | Planned::Counted(_) => Vec::new(),
            Planned::Whole(plan) => vec![plan],
            Planned::Groups(split) => split.groups.iter().map(|g| &g.plan).collect(),
        }
    }
    /// The plan for processes that share out its slices; `None` when there is none.
    pub(crate) fn sliced(&self) -> Option<SlicedPlan> {
        match self {
            Planned::Whole(plan) => Some(SlicedPlan::Whole(plan.clone())),
            Planned::Groups(split) => Some(SlicedPlan::Groups(split.clone())),
            Planned::Settled | Planned::Searched(_) | Planned::Counted(_) => None,
        }
    }
    /// What the execution will take; `None` when there is none.
    #[doc(hidden)]
    pub fn prediction(&self) -> Option<Prediction> {
        match self {
            Planned::Settled | Planned::Searched(_) | Planned::Counted(_) => None,
            Planned::Whole(plan) => Some(plan.prediction),
            Planned::Groups(split) => Some(split.prediction()),
        }
    }
    /// The plan for all variables at once, where there is one.
    #[doc(hidden)]
    pub fn whole(&self) -> Option<&Plan> {
        match self {
            Planned::Whole(plan) => Some(plan),
            Planned::Settled | Planned::Groups(_) | Planned::Searched(_) | Planned::Counted(_) => {
                None
            }
        }
    }
    /// The count, where there is one.
    #[doc(hidden)]
    pub fn counted(&self) -> Option<&Counting> {
        match self {
            Planned::Counted(counting) => Some(counting),
            Planned::Settled | Planned::Groups(_) | Planned::Searched(_) | Planned::Whole(_) => {
                None
            }
        }
    }
    /// The search, where there is one.
    #[doc(hidden)]
    pub fn searched(&self) -> Option<&Searched> {
        match self {
            Planned::Searched(searched) => Some(searched),
            Planned::Settled | Planned::Whole(_) | Planned::Groups(_) | Planned::Counted(_) => None,
        }
    }
}
