//! A plan: everything that is decided before a run. It is data, with no behaviour; `choose.rs`
//! makes it, `explain.rs` prints it, the run loop and executors read it.

use crate::cost::{self, Term};
use crate::device::OnDevice;
use crate::machine::Isa;
use crate::matches::MatchPlan;
use crate::order::Order;
use crate::overrides::Family;
use crate::prune::Prune;
use crate::strategy::Strategy;
use crate::tiles::Tiling;
use serde::Serialize;
use zipfold_core::{Message, Precision};

/// How a job is run. A plan changes speed, never meaning.
#[must_use]
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// `cpu`, or devices: `cuda:0`, `cuda:0,1`.
    pub backend: String,
    /// The kernels of a processor.
    pub family: Family,
    /// What the CPU runs: the first of these that loads. The list is ordered, best first, and its
    /// last entry always loads.
    pub strategies: Vec<Strategy>,
    /// Instruction set.
    pub isa: Isa,
    /// Threads.
    pub threads: usize,
    /// Tile sides.
    pub tiling: Tiling,
    /// The order of the blocks of a tile.
    pub order: Order,
    /// Consecutive tiles that one thread folds into one partial state.
    pub tiles_per_batch: usize,
    /// The type in which values are computed.
    pub precision: Precision,
    /// Pairs of the space.
    pub pairs: u64,
    /// Tiles of the space.
    pub tiles: usize,
    /// Operations per pair.
    pub operations: f64,
    /// Bytes of states, panels and batches in flight.
    pub peak_bytes: u64,
    /// Predicted seconds.
    pub seconds: f64,
    /// What takes most of the time: the largest term.
    pub bound: String,
    /// What the time is made of, the largest first.
    pub terms: Vec<Term>,
    /// Whether bounds leave pairs out.
    pub prune: Prune,
    /// Whether hulls of groups may settle the pairs of a part.
    #[doc(hidden)]
    pub hulls: bool,
    /// Whether the answer is one row alone, so that rows are left that cannot be that row.
    pub leaves_rows: bool,
    /// Why each choice was made, as `explain` shows it.
    pub reasons: Vec<Message>,
    /// What a device runs, if the plan is for one. The strategies are then for the host, should the
    /// device fail.
    pub device: Option<OnDevice>,
    /// How each part is computed, if the question has parts: about groups, or within keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<Box<Plan>>,
    /// The plan part by part, where groups share a column grid instead: a device starts from it.
    #[serde(skip)]
    pub by_parts: Option<Box<Plan>>,
    /// Where the matches of a join are while it runs, if the question has an inner join.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matches: Option<MatchPlan>,
    /// What makes the run slower than it could be, and what would help.
    pub warnings: Vec<Message>,
}

impl Plan {
    /// Returns what the CPU tries first.
    #[doc(hidden)]
    pub fn strategy(&self) -> Option<&Strategy> {
        self.strategies.first()
    }
    /// Returns how rows are sorted, as part of the identity of a checkpoint; see [`Prune::rows`].
    #[doc(hidden)]
    pub fn order_of_rows(&self) -> String {
        if self.strategy() == Some(&Strategy::Line) {
            return "line".into();
        }
        self.prune.rows()
    }
    /// Gives every row its result, as in the part of a share, which is the same whoever computes it.
    #[doc(hidden)]
    pub fn complete_rows(&mut self) {
        self.leaves_rows = false;
        (self.strategies).retain(|strategy| *strategy != Strategy::Farthest);
        if let Some(part) = &mut self.part {
            part.complete_rows();
        }
    }
    /// Returns the predicted seconds if dense results go to memory that was written before: new
    /// pages cost a fault each, pages of the caller's array do not.
    #[doc(hidden)]
    pub fn seconds_into_lent(&self) -> f64 {
        self.terms
            .iter()
            .filter(|t| t.what != cost::FRESH)
            .map(|t| t.seconds)
            .sum()
    }
}
