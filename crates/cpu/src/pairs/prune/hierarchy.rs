//! Sorted rows in a hierarchy of boxes, and the walk down it that leaves out or settles pairs.
//!
//! ```text
//! rows of both sides, hoisted, in the order of a curve
//! x: boxes of GROUP rows        y: boxes of `leaf` rows, boxes of LANES of these, and so on
//! leaves of a block of rows:
//!     hull = the bounds of its groups together
//!     from the top of the tree of y: bounds of the hull against LANES boxes
//!         beyond the cut-off: told, left out        settled by every fold: counted, left out
//!         a leaf: left open                         else: its LANES boxes are next
//! ```
//!
//! Both kinds of pruned runs walk here: the host evaluates what is left row by row
//! (`traversal.rs`), a device sweeps it by blocks (`open_pairs.rs`).

use super::accumulators::Accumulators;
use super::decision::{PruneDecision, Pruner};
use super::limits::Limits;
use super::sorted::{Orders, Sorted};
use super::tree::{Level, Tree};
use crate::pairs::worst_row::WorstRow;
use std::ops::Range;
use zipfold_core::fold::{Tally, Whole, worse};
use zipfold_core::pair::interval_bounds::{Bounds, LANES};
use zipfold_core::{Domain, Job, Result, Side, Space};
use zipfold_plan::executor::{Folded, Sink};
use zipfold_plan::prune::{self, Prune};
use zipfold_vector::simd::Isa;

/// Rows of x in a group: its rows are the lanes of one evaluation of bounds.
pub(super) const GROUP: usize = LANES;

/// The rows of a job along a curve, and boxes over them.
#[derive(Debug)]
pub(super) struct Hierarchy<'j> {
    pub(super) job: &'j Job,
    pub(super) bounds: Bounds<'j>,
    /// What is walked: half spaces from both rows of a pair where `doubled`.
    pub(super) space: Space,
    pub(super) doubled: bool,
    pub(super) orders: Orders,
    /// Boxes of groups of rows of x.
    pub(super) groups: Level,
    /// Boxes of rows of y, and boxes of those.
    pub(super) tree: Tree,
    /// The extremes that all threads have found.
    pub(super) limits: Limits,
}

impl<'j> Hierarchy<'j> {
    /// Boxes the rows of `job`, whose formula has these `bounds`, `leaf` rows of y in a leaf. Hands
    /// the sorted rows to `pack` meanwhile.
    pub(super) fn new<R: Send>(
        (job, bounds): (&'j Job, Bounds<'j>),
        prune: Prune,
        leaf: usize,
        pack: impl FnOnce(&Sorted) -> R + Send,
    ) -> (Self, R) {
        let sorted = Sorted::new(job);
        let [of_x, of_y] = [Side::X, Side::Y].map(|side| sorted.orders.by_side(side));
        let boxes = || {
            rayon::join(
                || Level::over_rows(&sorted.x, of_x, GROUP),
                || Tree::new(&sorted.y, of_y, leaf),
            )
        };
        let ((groups, tree), packed) = rayon::join(boxes, || pack(&sorted));
        let space = prune::walked(job, prune);
        let hierarchy = Hierarchy {
            job,
            bounds,
            doubled: space.domain != job.space.domain,
            space,
            orders: sorted.orders,
            groups,
            tree,
            limits: Limits::new(&job.folds),
        };
        (hierarchy, packed)
    }
}

/// One batch of tiles on its way down a hierarchy.
pub(super) struct BoxWalk<'e, 'j> {
    pub(super) hierarchy: &'e Hierarchy<'j>,
    pub(super) bounds: Bounds<'e>,
    pub(super) pruner: Pruner<'e>,
    pub(super) accumulators: Accumulators<'e>,
    pub(super) tally: Tally,
    /// Where room for matches is requested, and how much was.
    sink: &'e dyn Sink,
    held: u64,
    /// Columns of the current tile.
    pub(super) cols: Range<usize>,
    /// What a value must not exceed to matter, where another keeps the best of a row.
    pub(super) told: Option<f64>,
    /// Leaves whose pairs the walk leaves to another.
    pub(super) without: Range<usize>,
    /// By fold, of answers that are one row alone: what is known of it.
    worst_rows: &'e [Option<WorstRow>],
}

impl<'e, 'j> BoxWalk<'e, 'j> {
    /// Nothing visited; `rows` are all that tiles will have.
    pub(super) fn new(
        hierarchy: &'e Hierarchy<'j>,
        isa: Isa,
        rows: Range<usize>,
        sink: &'e dyn Sink,
    ) -> Self {
        let job = hierarchy.job;
        let orders = [Side::X, Side::Y].map(|side| hierarchy.orders.by_side(side));
        let half = job.space.is_triangular() && !hierarchy.doubled;
        BoxWalk {
            hierarchy,
            bounds: hierarchy.bounds.clone(),
            pruner: Pruner::new(job, &hierarchy.limits),
            accumulators: Accumulators::new(job, isa, rows, orders, half, &hierarchy.limits),
            tally: Tally::default(),
            sink,
            held: 0,
            cols: 0..0,
            told: None,
            without: 0..0,
            worst_rows: &[],
        }
    }
    /// The same walk, which leaves rows that cannot be the answer.
    pub(super) fn leaving(self, worst_rows: &'e [Option<WorstRow>]) -> Self {
        BoxWalk { worst_rows, ..self }
    }
    /// What a value of fold `at` must not exceed to matter to any of `rows`; NaN while everything
    /// matters.
    #[inline]
    pub(super) fn worst(&self, at: usize, rows: &Range<usize>) -> f64 {
        worst(&self.accumulators, self.worst_rows, at, rows)
    }
    /// Takes what `rows` have kept, which have met all columns.
    pub(super) fn learn(&self, rows: &Range<usize>) {
        for (at, known) in self.worst_rows.iter().enumerate() {
            let Some(known) = known else { continue };
            for row in rows.clone() {
                known.learn(self.accumulators.worst(at, &(row..row + 1)));
            }
        }
    }
    /// Asks for room for the matches found, and for as many more as `pairs` pairs may be.
    pub(super) fn hold(&mut self, pairs: u64) -> Result<()> {
        let bytes = self.accumulators.bytes(pairs);
        match bytes.iter().sum::<u64>() > self.held {
            true => self.accumulators.hold(self.sink, bytes, &mut self.held),
            false => Ok(()),
        }
    }
    /// The columns of a box of y that the tile has.
    pub(super) fn columns(&self, level: usize, at: usize) -> Range<usize> {
        let span = self.hierarchy.tree.span(level);
        let start = (at * span).max(self.cols.start);
        start..((at + 1) * span).min(self.cols.end).max(start)
    }
    /// Whether `rows` and `cols` have no pair that is walked.
    pub(super) fn is_empty(&self, rows: &Range<usize>, cols: &Range<usize>) -> bool {
        let domain = self.hierarchy.space.domain;
        let half = matches!(domain, Domain::Triangle | Domain::Diagonal);
        cols.is_empty() || half && cols.end <= rows.start
    }
    /// The leaves that bounds leave open for a block of rows, whole groups, in their order.
    pub(super) fn leaves(&mut self, rows: &Range<usize>) -> Result<Vec<usize>> {
        let hierarchy = self.hierarchy;
        let groups = rows.start / GROUP..rows.end.div_ceil(GROUP);
        let (lo, hi) = hull(&hierarchy.groups, groups);
        self.bounds.set_one(Side::X, &lo, &hi, 1);
        let mut leaves = vec![];
        let top = hierarchy.tree.levels.len() - 1;
        let mut open = vec![(top, 0)];
        while let Some((level, first)) = open.pop() {
            self.set_boxes(level, first);
            self.bound();
            for lane in 0..LANES.min(hierarchy.tree.levels[level].count - first) {
                let cols = self.columns(level, first + lane);
                // A box that the walk has a part of: only smaller boxes can be settled.
                let divided = self.holds_others(level, first + lane);
                if self.is_empty(rows, &cols)
                    || divided && level == 0
                    || !divided && self.settle(lane, rows, &cols)?
                {
                    continue;
                }
                match level {
                    0 => leaves.push(first + lane),
                    _ => open.push((level - 1, (first + lane) * LANES)),
                }
            }
        }
        leaves.sort_unstable();
        Ok(leaves)
    }
    /// Whether a box of y holds leaves that the walk leaves to another.
    fn holds_others(&self, level: usize, at: usize) -> bool {
        let leaves = LANES.pow(level as u32);
        self.without.start < (at + 1) * leaves && at * leaves < self.without.end
    }
    /// The leaf where the best of a block of rows are expected: from the top down, the box whose
    /// bounds allow the best value of root `best.0`, the largest if `best.1`.
    pub(super) fn best_leaf(&mut self, rows: &Range<usize>, best: (usize, bool)) -> usize {
        let (root, largest) = best;
        let hierarchy = self.hierarchy;
        let groups = rows.start / GROUP..rows.end.div_ceil(GROUP);
        let (lo, hi) = hull(&hierarchy.groups, groups);
        // A point in the middle: a hull meets many boxes.
        let middle: Vec<f64> = lo.iter().zip(&hi).map(|(l, h)| 0.5 * l + 0.5 * h).collect();
        self.bounds.set_one(Side::X, &middle, &middle, 1);
        let mut first = 0;
        for level in (0..hierarchy.tree.levels.len()).rev() {
            self.set_boxes(level, first);
            self.bound();
            let bound = |lane: usize| self.bounds.root(root).lane(lane).falling(largest).lo;
            let lanes = 0..LANES.min(hierarchy.tree.levels[level].count - first);
            let found = lanes.min_by(|a, b| bound(*a).total_cmp(&bound(*b)));
            first += found.unwrap_or(0);
            if level > 0 {
                first *= LANES;
            }
        }
        first
    }
    /// Computes the bounds of the boxes that are set.
    pub(super) fn bound(&mut self) {
        self.bounds.run();
        self.pruner.look(&self.bounds);
    }
    /// Sets the bounds of y: the boxes of a level from `first` on, a lane each.
    pub(super) fn set_boxes(&mut self, level: usize, first: usize) {
        let boxes = &self.hierarchy.tree.levels[level];
        self.bounds.set_lanes(
            Side::Y,
            &boxes.lo[first..],
            &boxes.hi[first..],
            boxes.stride,
        );
    }
    /// Settles the pairs of `rows` and `cols` if the bounds of `lane` tell enough.
    pub(super) fn settle(
        &mut self,
        lane: usize,
        rows: &Range<usize>,
        cols: &Range<usize>,
    ) -> Result<bool> {
        let (accumulators, worst_rows, told) = (&self.accumulators, self.worst_rows, self.told);
        let worst =
            |fold: usize| told.unwrap_or_else(|| worst(accumulators, worst_rows, fold, rows));
        match self.pruner.decide(&self.bounds, lane, worst) {
            PruneDecision::Evaluate => return Ok(false),
            PruneDecision::Far => {
                let pairs = self.hierarchy.job.space.count(rows, cols);
                self.tally.beyond_cutoff += pairs;
                self.tally.skipped += pairs;
            }
            PruneDecision::Settled => self.take_whole(rows, cols)?,
        }
        Ok(true)
    }
    fn take_whole(&mut self, rows: &Range<usize>, cols: &Range<usize>) -> Result<()> {
        let hierarchy = self.hierarchy;
        let pairs = hierarchy.job.space.count(rows, cols);
        let all = self.pruner.wholes.contains(&Whole::All);
        self.tally.counted += pairs;
        if self.pruner.matters() {
            self.tally.settled += pairs;
        } else {
            self.tally.skipped += pairs;
        }
        self.accumulators.settle_count(&self.pruner.wholes, pairs);
        if !self.accumulators.has_rows(&self.pruner.wholes) {
            return Ok(());
        }
        let nothing = (self.pruner.wholes.iter()).all(|whole| *whole == Whole::Nothing);
        if nothing && all_meet(hierarchy.space.domain, rows, cols) {
            self.accumulators.skip(rows, cols.len() as u64);
            return Ok(());
        }
        for row in rows.clone() {
            for run in hierarchy.space.columns(row, cols) {
                if !run.is_empty() {
                    // Row by row, since a box may have more matches than memory holds.
                    if all {
                        self.hold(run.len() as u64)?;
                    }
                    self.accumulators.settle_row(&self.pruner.wholes, row, &run);
                }
            }
        }
        Ok(())
    }
    /// The states and tally of all tiles.
    pub(super) fn finish(self) -> Folded {
        Folded {
            tally: self.tally,
            states: self.accumulators.finish(),
        }
    }
}

/// Whether each of `rows` meets all of `cols`: where the space has all pairs, and off its diagonal.
fn all_meet(domain: Domain, rows: &Range<usize>, cols: &Range<usize>) -> bool {
    match domain {
        Domain::Cross | Domain::Square => true,
        Domain::Ordered => rows.end <= cols.start || cols.end <= rows.start,
        Domain::Triangle | Domain::Diagonal => rows.end <= cols.start,
    }
}

/// What a value of fold `at` must not exceed to matter to any of `rows`: nothing to a row that cannot
/// be the answer.
#[inline]
fn worst(
    accumulators: &Accumulators<'_>,
    worst_rows: &[Option<WorstRow>],
    at: usize,
    rows: &Range<usize>,
) -> f64 {
    let Some(Some(known)) = worst_rows.get(at) else {
        return accumulators.worst(at, rows);
    };
    let limit = known.limit();
    let of_row = |row: usize| {
        let worst = accumulators.worst(at, &(row..row + 1));
        if worst < limit {
            f64::NEG_INFINITY
        } else {
            worst
        }
    };
    rows.clone().map(of_row).fold(f64::NEG_INFINITY, worse)
}

/// The bounds of some boxes together.
fn hull(level: &Level, boxes: Range<usize>) -> (Vec<f64>, Vec<f64>) {
    let width = level.lo.len() / level.stride.max(1);
    let of = |side: &[f64], pick: fn(f64, f64) -> f64| -> Vec<f64> {
        (0..width)
            .map(|c| {
                side[c * level.stride..][boxes.clone()]
                    .iter()
                    .copied()
                    .reduce(pick)
                    .unwrap_or(f64::NAN)
            })
            .collect()
    };
    (
        of(&level.lo, zipfold_core::number::min),
        of(&level.hi, zipfold_core::number::max),
    )
}
