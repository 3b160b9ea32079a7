//! The plan of a sum-product problem: joins in the order of execution, over one global variable
//! order.

use super::cost::{Prediction, Rates};
use super::forest::Node;
use super::sweep::Sweep;
use zipfold_core::{Error, Opt, budget::human_bytes, budget::human_bytes_up};

/// What a plan may use.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Seed of the order search.
    pub seed: u64,
    /// Seconds for the order search; `None` ties them to the predicted execution.
    pub order_seconds: Option<f64>,
    /// Seconds beyond which the search does not go where its seconds are tied to the execution.
    pub patience: f64,
    /// Bytes that the run may hold.
    pub memory: u64,
    /// Bytes of them that are taken already: the network, and what the plan itself takes.
    pub held: u64,
    /// Predicted seconds beyond which the problem is refused.
    pub time_limit: f64,
    /// What the tables are needed for.
    pub pass: Pass,
    /// Rates of the device.
    pub rates: Rates,
}

impl Options {
    /// The usual [`Options::patience`].
    pub const PATIENCE: f64 = 15.0;
}

/// What happens to tables after they were used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Pass {
    /// They go: only the result counts.
    Forward,
    /// They stay for a traceback or for sampling.
    Trace,
    /// They stay for the backward sweep.
    Sweep,
}

/// Joins in the order of execution. Scopes follow one global order: the variable summed first
/// stands first (slowest), so that variables which live long, and stand in most tables, run
/// fastest.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Plan {
    /// Domain sizes.
    pub cards: Vec<usize>,
    /// All tables, inputs of a join before it.
    pub nodes: Vec<Node>,
    /// Tables that nothing uses: one for each component.
    pub roots: Vec<usize>,
    /// Place of each variable in the global order.
    pub rank: Vec<u32>,
    /// Variables conditioned on, to fit the memory.
    pub sliced: Vec<usize>,
    /// The backward sweep, if there is one.
    pub sweep: Sweep,
    /// What the run will take.
    pub prediction: Prediction,
    /// Tree cost of each component with more than one table left after easy eliminations, and its
    /// variables.
    pub hard: Vec<(usize, f64)>,
    /// Seconds of the order search, by its own count of moves.
    pub searched: f64,
}

/// The refusal when even full slicing does not fit, and `needed` bytes would do.
pub(super) fn refuse_memory(needed: f64, plan: &Plan, options: &Options) -> Error {
    Error::resource(format!(
        "the tables need {} (width {}, largest table 2^{:.0} entries)",
        human_bytes(needed.min(1.8e19) as u64),
        plan.prediction.width,
        plan.prediction.largest
    ))
    .limit(format!("memory {}", human_bytes(options.memory)))
    .remedy(format!(
        "{} or more",
        Opt::Memory.to(human_bytes_up(needed.min(1.8e19) as u64))
    ))
}
