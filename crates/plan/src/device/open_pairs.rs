//! Pairs that bounds leave open for a device: the border between the host, which sorts the rows and
//! walks the boxes, and the kernels, which sweep what is left.
//!
//! ```text
//! host:     rows along a curve; for each group of rows of x, from the top of the tree of y down:
//!               a box is settled: its pairs go to the states of the folds, uncounted or whole
//!               a panel is left: it joins the run before it, or begins one
//! device:   each thread block takes its part of the list of runs, and sweeps the panels of each
//! ```
//!
//! The walk of the host has the bounds of every formula and the rules of every fold, proved once
//! (BOUNDS-ENCLOSE, PRUNED-SAME). A list of runs is small: one run has 10⁵ pairs and more.

use super::sweeps::{Sweeps, THREADS};
use super::work::{DeviceWork, Pruned};
use crate::executor::{Folded, Sink, Stop};
use crate::overrides::{Overrides, Pruning};
use crate::prune::{self, Mode, Prune};
use crate::swept::Swept;
use std::ops::Range;
use std::sync::LazyLock;
use zipfold_core::pair::interval_bounds::Bounds;
use zipfold_core::{Job, Message, Result, Side};

/// Rows of y that a thread block meets at a time: boxes of y hold as many.
pub const PANEL: usize = THREADS;

/// Consecutive panels of y that a group of rows of x meets: sorted rows, all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PanelRun {
    /// The first row of the group.
    pub first: u32,
    /// Where the panels begin.
    pub from: u32,
    /// Where they end; the last may not be whole.
    pub to: u32,
}

/// What a walk looks for.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// All that bounds leave open.
    Open,
    /// A few panels near each group: the best of a row are expected there.
    Near,
    /// What bounds leave open of the other panels, where the worst value that a row of each group
    /// has kept is this.
    Rest(&'a [f64]),
}

/// What a walk found of the pairs of some rows.
#[derive(Debug)]
pub struct Open {
    /// What a device has to sweep.
    pub runs: Vec<PanelRun>,
    /// The pairs of these.
    pub pairs: u64,
    /// The pairs that bounds settled.
    pub settled: Folded,
}

/// The rows of a job in an order that puts near ones together, and the walk over their boxes.
pub trait OpenPairs: Send + Sync {
    /// The rows of `side` in the order in which tiles number them.
    fn order(&self, side: Side) -> &[u32];
    /// The part of every fold for the sorted rows of x of a batch: nothing found yet.
    fn empty(&self, rows: &Range<usize>) -> Folded;
    /// Adds what was found of other rows of the same batch.
    fn merge(&self, into: &mut Folded, from: Folded);
    /// Walks the sorted `rows` of x, in groups of `group`, against the sorted `cols` of y, for what
    /// is `wanted`.
    ///
    /// # Errors
    /// Those of `sink`, which gives room for matches; `Interrupted` when told to stop.
    fn open(
        &self,
        sides: [&Range<usize>; 2],
        group: usize,
        wanted: Wanted<'_>,
        room: (&dyn Sink, Stop<'_>),
    ) -> Result<Open>;
}

/// Rows in an order of their own that the first who wants them sorts; kernels are compiled meanwhile.
pub type LazyPairs<'j> =
    LazyLock<Box<dyn OpenPairs + 'j>, Box<dyn FnOnce() -> Box<dyn OpenPairs + 'j> + Send + 'j>>;

/// Rows that the host sorts, boxes and packs in an order of its own, a second and thread: an
/// estimate.
const SORTED: f64 = 1.1e6;
/// Seconds of a thread for the way of a group down the tree of y, and for each panel that it leaves
/// open: estimates.
const WALK: [f64; 2] = [4e-5, 1.6e-7];

/// Threads of the host next to a device for which pruning is chosen, on any machine.
const REFERENCE: usize = 16;

impl Pruned {
    /// Decides whether the kernels of `work` sweep what bounds leave open: as the user set it, or if
    /// the time of both is less than that of all pairs, with [`REFERENCE`] threads of the host.
    /// `seconds` tells the time of the kernels for a number of pairs.
    pub(super) fn choose(
        job: &Job,
        work: &DeviceWork,
        overrides: &Overrides,
        seconds: impl Fn(u64) -> f64,
        reasons: &mut Vec<Message>,
    ) -> Option<Pruned> {
        let wanted = overrides.prune.unwrap_or(Pruning::Auto);
        let group = group(job, work);
        let (Some(group), true) = (group, wanted != Pruning::Off) else {
            if wanted == Pruning::On {
                reasons.push("a device sweeps all pairs of this question".into());
            }
            return None;
        };
        let pairs = job.space.size().ok()?;
        let swept = prune::open_share(job, [group, PANEL])?;
        let pruned = Pruned { group, swept };
        if wanted == Pruning::On {
            return Some(pruned);
        }
        let all = seconds(pairs);
        let left = seconds((pairs as f64 * swept) as u64) + pruned.host_seconds(job, REFERENCE);
        let pays = left < all;
        let what = if pays {
            "which pays"
        } else {
            "which does not pay"
        };
        let percent = 100.0 * swept;
        reasons.push(
            format!("bounds would leave about {percent:.3} % of the pairs to a device, {what}")
                .into(),
        );
        pays.then_some(pruned)
    }
    /// Predicts the seconds of the host: sorting the rows, and walking the boxes.
    pub(super) fn host_seconds(&self, job: &Job, threads: usize) -> f64 {
        let rows = job.space.n + if job.y.is_some() { job.space.m } else { 0 };
        let groups = job.space.n.div_ceil(self.group) as f64;
        let open = groups * job.space.m.div_ceil(PANEL) as f64 * self.swept;
        let seconds = rows as f64 / SORTED + groups * WALK[0] + open * WALK[1];
        seconds / threads.max(1) as f64
    }
    /// Returns how such a plan prunes, for the host that may take over: by boxes of the same rows.
    pub(super) fn by_boxes(&self) -> Prune {
        Prune::by_boxes(self.swept)
    }
}

/// Returns the rows of x that a thread block of every fold can take together, where the kernels of
/// `work` can sweep runs of panels of `job`, and bounds are allowed to leave out pairs.
fn group(job: &Job, work: &DeviceWork) -> Option<usize> {
    let DeviceWork::Sweeps(folds) = work else {
        return None;
    };
    let allowed = prune::mode(job) == Some(Mode::Once)
        && prune::takes_boxes(job)
        && Bounds::new(&job.low, job.periodic_box.as_ref()).is_some()
        && job.folds.iter().all(|fold| match Swept::for_fold(fold) {
            // The others ask for the best found so far, which is on the device.
            Some(Swept::Histogram(_)) => true,
            Some(Swept::Join(join)) => join.is_inner(),
            Some(Swept::Nearest(nearest)) => job.folds.len() == 1 && nearest.k > 0,
            Some(Swept::Reduce(_) | Swept::Extremes(_)) | None => false,
        });
    let sweeps = |sweeps: &Sweeps| {
        let suits = |pass: &super::sweeps::Shape| pass.tiled.is_none() && pass.anchor == Side::X;
        sweeps.products.is_none() && sweeps.passes.len() == 1 && sweeps.passes.iter().all(suits)
    };
    if !allowed || !folds.iter().all(sweeps) {
        return None;
    }
    let rows = folds.iter().flat_map(|sweeps| &sweeps.passes);
    // What the registers of every fold hold.
    rows.map(|pass| pass.anchors * THREADS).min()
}
