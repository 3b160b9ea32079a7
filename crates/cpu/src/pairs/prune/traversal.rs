//! The walk over pairs of boxes: from the top of the tree of y down for each block of rows of x,
//! until bounds settle a pair of boxes or single rows meet leaves, whose pairs are evaluated.
//!
//! ```text
//! for each block of rows of x (LANES groups of GROUP rows)
//!     from the top of the tree: bounds of the block's hull against LANES boxes of y
//!         a pair of boxes is settled (beyond the cut-off, counted whole, no effect), or
//!         its children are next, or it is a leaf that is left
//!     for each leaf that is left, in ascending order
//!         bounds of LANES groups against it: settled, or
//!         bounds of the rows of a group against it: settled, or
//!         evaluate the row against the leaf; admit; the folds absorb
//!         histograms of distances note the leaf instead; the points kernel sweeps all noted strips
//! best first (all folds look for the best: nearest, minima, extremes), for each group of rows
//!     for each fold
//!         heap = boxes of y by the best value that their bounds allow
//!         pop a box: not better than the worst value kept: next fold
//!                    a leaf that no fold has met: its rows as above; else: bounds of its children → heap
//!     what was never reached changes nothing: counted and skipped
//! ```
//!
//! Why this shape: bounds of a formula cost about as much as its value, so they are computed for
//! LANES boxes by one pass, and in three steps (hull, group, row), each of which spares the next.
//! Leaves in ascending order keep the values of a row in the order of the sorted columns.

use super::accumulators::Run;
use super::boxes::{Boxes, Sought, SoughtBy};
use super::hierarchy::{BoxWalk, GROUP};
use crate::kernels::histogram::{Histogram as Sweep, Span, Strip};
use crate::pairs::points::Distances;
use crate::pairs::vm::Scratch;
use std::cmp;
use std::collections::BinaryHeap;
use std::ops::Range;
use zipfold_core::fold::Whole;
use zipfold_core::pair::interval_bounds::LANES;
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Job, Result, Side};
use zipfold_plan::executor::{Declined, Executor, Folded, Nowhere, Sink, Stop};
use zipfold_plan::{Evaluator, Plan, Tile, tiles};

/// Rows of x in a block: its groups are the lanes of one evaluation of bounds.
const BLOCK: usize = GROUP * LANES;

/// Groups of rows that meet all columns first, where the answer is one row.
const FIRST: usize = 8;

/// Sorts and boxes the rows of `job`, whose pairs `evaluator` computes. Where the answer is one row,
/// some rows meet all columns, so that others are soon known to be better.
pub fn load_boxes<'j>(
    job: &'j Job,
    plan: &Plan,
    evaluator: Evaluator,
) -> std::result::Result<Boxes<'j>, Declined> {
    let boxes = Boxes::load(job, plan, evaluator)?;
    let all = boxes.hierarchy.groups.count;
    let first = (0..all).step_by(all.div_ceil(FIRST).max(1));
    let sought = plan.leaves_rows && !boxes.sought.is_empty();
    for group in first.filter(|_| sought) {
        let rows = group * GROUP..((group + 1) * GROUP).min(job.space.n);
        let mut walk = Traversal::new(&boxes, rows.clone(), &Nowhere, Stop::default());
        let met = walk.tile(&rows, &(0..job.space.m));
        met.map_err(|_| "the first rows cannot be computed")?;
    }
    Ok(boxes)
}

impl Executor for Boxes<'_> {
    fn run(&self, tiles: &[Tile], sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        let mut traversal = Traversal::new(self, tiles::rows(tiles), sink, stop);
        for tile in tiles {
            traversal.tile(&tile.rows, &tile.cols)?;
        }
        Ok(traversal.finish())
    }
    fn order(&self) -> Option<&[u32]> {
        Some(Boxes::order(self, Side::X))
    }
}

/// One batch of tiles on its way.
pub(super) struct Traversal<'e, 'j> {
    pruned: &'e Boxes<'j>,
    walk: BoxWalk<'e, 'j>,
    /// Counts of the points family, and the strips of the current block of rows, one a group.
    sweep: Option<(&'e Distances, Sweep<'e>)>,
    strips: Vec<Strip>,
    scratch: Scratch<f64>,
    stop: Stop<'e>,
    /// Pairs of each row of a group that met a leaf: as walked, and as the space counts them.
    seen: [[u64; 2]; GROUP],
    /// The leaves that a group has met, where they come in the order of their bounds.
    visited: Vec<usize>,
    is_visited: Vec<bool>,
}

/// A box of y that waits for its turn: the one with the best bound first.
struct Waiting {
    best: f64,
    level: usize,
    at: usize,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == cmp::Ordering::Equal
    }
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    // The heap gives the largest first.
    fn cmp(&self, other: &Self) -> cmp::Ordering {
        other
            .best
            .total_cmp(&self.best)
            .then(other.level.cmp(&self.level))
            .then(other.at.cmp(&self.at))
    }
}

impl<'e, 'j> Traversal<'e, 'j> {
    /// Nothing visited; `rows` are all that tiles will have.
    pub(super) fn new(
        pruned: &'e Boxes<'j>,
        rows: Range<usize>,
        sink: &'e dyn Sink,
        stop: Stop<'e>,
    ) -> Self {
        let isa = crate::pairs::reductions::isa(pruned.vm.isa);
        Traversal {
            pruned,
            walk: BoxWalk::new(&pruned.hierarchy, isa, rows, sink).leaving(&pruned.worst_rows),
            stop,
            sweep: pruned.distances.as_ref().map(|d| (d, d.sweep())),
            strips: vec![Strip::default(); LANES],
            scratch: pruned.vm.scratch(),
            seen: [[0; 2]; GROUP],
            visited: vec![],
            is_visited: vec![false; pruned.hierarchy.tree.levels[0].count],
        }
    }
    /// Visits the pairs of `rows` and `cols`.
    ///
    /// # Errors
    /// Those of the sink; `Interrupted` when told to stop.
    pub(super) fn tile(&mut self, rows: &Range<usize>, cols: &Range<usize>) -> Result<()> {
        self.walk.cols = cols.clone();
        let best_first = !self.pruned.sought.is_empty();
        let step = if best_first { GROUP } else { BLOCK };
        let mut start = rows.start;
        while start < rows.end {
            self.stop.check()?;
            let end = rows.end.min((start / step + 1) * step);
            match best_first {
                true => self.best_first(start..end)?,
                false => self.block(start..end)?,
            }
            start = end;
        }
        Ok(())
    }
    /// All leaves for a block of rows, in their order.
    fn block(&mut self, rows: Range<usize>) -> Result<()> {
        let leaves = self.walk.leaves(&rows)?;
        for leaf in leaves {
            self.groups(&rows, leaf)?;
        }
        self.sweep_strips();
        Ok(())
    }
    /// The states and tally of all tiles.
    pub(super) fn finish(mut self) -> Folded {
        if let Some((_, sweep)) = self.sweep {
            self.walk.tally.counted += self.walk.accumulators.put_counts(&sweep.finish());
        }
        self.walk.finish()
    }
    /// Counts the strips of a block of rows, and clears them.
    fn sweep_strips(&mut self) {
        if let Some((distances, sweep)) = &mut self.sweep {
            self.strips.retain(|s| !s.spans.is_empty());
            distances.add(
                sweep,
                crate::pairs::reductions::isa(self.pruned.vm.isa),
                &self.strips,
                false,
            );
            self.strips.clear();
            self.strips.resize(LANES, Strip::default());
        }
    }
    /// Notes that the rows of a group meet the columns of a leaf; leaves come in order.
    fn note(&mut self, lane: usize, rows: Range<usize>, cols: Range<usize>) {
        let strip = &mut self.strips[lane];
        strip.rows = rows;
        match strip.spans.last_mut() {
            Some(last) if last.cols.end == cols.start => last.cols.end = cols.end,
            _ => strip.spans.push(Span::from_range(cols)),
        }
    }
    /// The groups of a block of rows against a leaf.
    fn groups(&mut self, rows: &Range<usize>, leaf: usize) -> Result<()> {
        let cols = self.walk.columns(0, leaf);
        let first = rows.start / GROUP;
        let groups = &self.walk.hierarchy.groups;
        self.set_leaf(leaf);
        self.walk.bounds.set_lanes(
            Side::X,
            &groups.lo[first..],
            &groups.hi[first..],
            groups.stride,
        );
        self.walk.bound();
        let mut open = [false; LANES];
        for (lane, open) in open
            .iter_mut()
            .enumerate()
            .take(rows.end.div_ceil(GROUP) - first)
        {
            let mine = ((first + lane) * GROUP).max(rows.start)
                ..((first + lane + 1) * GROUP).min(rows.end);
            *open = !self.walk.is_empty(&mine, &cols) && !self.walk.settle(lane, &mine, &cols)?;
        }
        for lane in (0..LANES).filter(|l| open[*l]) {
            let mine = ((first + lane) * GROUP).max(rows.start)
                ..((first + lane + 1) * GROUP).min(rows.end);
            match self.sweep {
                Some(_) => self.note(lane, mine, cols.clone()),
                None => self.rows(&mine, leaf)?,
            }
        }
        self.walk.hold(0)
    }
    fn set_leaf(&mut self, leaf: usize) {
        let leaves = &self.walk.hierarchy.tree.levels[0];
        self.walk.bounds.set_one(
            Side::Y,
            &leaves.lo[leaf..],
            &leaves.hi[leaf..],
            leaves.stride,
        );
    }
    /// The rows of a group against a leaf; the bounds of y are set.
    fn rows(&mut self, rows: &Range<usize>, leaf: usize) -> Result<()> {
        let cols = self.walk.columns(0, leaf);
        let lanes = cols.start - leaf * self.walk.hierarchy.tree.leaf
            ..cols.end - leaf * self.walk.hierarchy.tree.leaf;
        let points = &self.pruned.points;
        let first = rows.start;
        self.walk.bounds.set_lanes(
            Side::X,
            &points.lo[first..],
            &points.hi[first..],
            points.stride,
        );
        self.walk.bound();
        for row in rows.clone() {
            for run in self.walk.hierarchy.space.columns(row, &cols) {
                if run.is_empty() {
                    continue;
                }
                let one = row..row + 1;
                let seen = &mut self.seen[row % GROUP];
                seen[0] += run.len() as u64;
                seen[1] += self.walk.hierarchy.job.space.count(&one, &run);
                if !self.walk.settle(row - first, &one, &run)? {
                    self.pruned
                        .vm
                        .eval(&mut self.scratch, row, row + 1, leaf, &lanes);
                    self.admit(row, leaf, &run);
                }
            }
        }
        Ok(())
    }
    /// Leaves in ascending order of the best value they may hold, until none can improve what is
    /// sought: for one of the folds after another, each leaf once.
    fn best_first(&mut self, rows: Range<usize>) -> Result<()> {
        self.seen = [[0; 2]; GROUP];
        for at in 0..self.pruned.sought.len() {
            self.search(&rows, self.pruned.sought[at])?;
        }
        for leaf in self.visited.drain(..) {
            self.is_visited[leaf] = false;
        }
        // All columns in one tile: the rows have met them.
        if self.walk.cols == (0..self.walk.hierarchy.job.space.m) {
            self.walk.learn(&rows);
        }
        self.rest(rows);
        Ok(())
    }
    /// What a value must not exceed to matter, negated where the largest are sought.
    fn limit(&self, sought: Sought, rows: &Range<usize>) -> f64 {
        match sought.by {
            SoughtBy::Fold(at) => self.walk.worst(at, rows),
            SoughtBy::Ends(at) => {
                let [least, most] = self.walk.hierarchy.limits.ends(at);
                // What is as good as the limit changes nothing; where there is none yet, anything
                // does.
                (if sought.largest { -most } else { least }).next_down()
            }
        }
    }
    /// Leaves in ascending order of the best value that they may hold of what is sought, until none
    /// has one that matters.
    fn search(&mut self, rows: &Range<usize>, sought: Sought) -> Result<()> {
        let mut heap = BinaryHeap::new();
        let top = self.walk.hierarchy.tree.levels.len() - 1;
        self.offer(&mut heap, rows, (top, 0), sought);
        while let Some(next) = heap.pop() {
            if next.best > self.limit(sought, rows) {
                break;
            }
            match next.level {
                0 if self.is_visited[next.at] => {}
                0 => {
                    self.is_visited[next.at] = true;
                    self.visited.push(next.at);
                    self.set_leaf(next.at);
                    self.rows(rows, next.at)?;
                }
                level => self.offer(&mut heap, rows, (level - 1, next.at * LANES), sought),
            }
        }
        Ok(())
    }
    /// What was not visited cannot change any row.
    fn rest(&mut self, rows: Range<usize>) {
        let wholes = vec![Whole::Nothing; self.walk.hierarchy.job.folds.len()];
        for row in rows {
            let one = row..row + 1;
            let [walked, pairs] = self.seen[row % GROUP];
            let rest = self.walk.hierarchy.space.count(&one, &self.walk.cols) - walked;
            self.walk
                .accumulators
                .settle_row(&wholes, row, &(0..rest as usize));
            let rest = self.walk.hierarchy.job.space.count(&one, &self.walk.cols) - pairs;
            self.walk.tally.skipped += rest;
            self.walk.tally.counted += rest;
        }
    }
    /// Puts the boxes of a batch on the heap.
    fn offer(
        &mut self,
        heap: &mut BinaryHeap<Waiting>,
        rows: &Range<usize>,
        (level, first): (usize, usize),
        sought: Sought,
    ) {
        let worst = self.limit(sought, rows);
        let groups = &self.walk.hierarchy.groups;
        let group = rows.start / GROUP;
        self.walk.bounds.set_one(
            Side::X,
            &groups.lo[group..],
            &groups.hi[group..],
            groups.stride,
        );
        self.walk.set_boxes(level, first);
        self.walk.bound();
        for lane in 0..LANES.min(self.walk.hierarchy.tree.levels[level].count - first) {
            if self.walk.columns(level, first + lane).is_empty() {
                continue;
            }
            let known = self.walk.pruner.is_known(lane);
            let best = self.walk.bounds.root(sought.root).lane(lane);
            let best = best.falling(sought.largest).lo;
            let best = if known { best } else { f64::NEG_INFINITY };
            let beaten = best > worst;
            if !beaten {
                heap.push(Waiting {
                    best,
                    level,
                    at: first + lane,
                });
            }
        }
    }
    /// Splits an evaluated run at pairs that are left out, and hands what remains to the folds.
    fn admit(&mut self, row: usize, leaf: usize, run: &Range<usize>) {
        let job = self.walk.hierarchy.job;
        let first = leaf * self.walk.hierarchy.tree.leaf;
        let values = &self.scratch;
        let lanes = run.start - first..run.end - first;
        let clean = !self.pruned.odd.iter().any(|root| {
            values.root(*root)[0][lanes.clone()]
                .iter()
                .fold(false, |any, v| any | v.is_nan())
        });
        let cutoff = job.cutoff_root.zip(job.space.cutoff_squared());
        if clean && cutoff.is_none() {
            self.walk.tally.counted += job.space.count(&(row..row + 1), run);
            self.hand_over(row, first, lanes);
            return;
        }
        let mut open: Option<usize> = None;
        for l in lanes.clone() {
            let far = cutoff.is_some_and(|(root, limit)| !self.scratch.root(root)[0][l].le(&limit));
            let nan = !far && !clean && self.is_nan(l);
            let out = far || (nan && job.nan == NanPolicy::Skip);
            self.tell(row, first + l, [far, nan, out]);
            match (out, open) {
                (false, None) => open = Some(l),
                (true, Some(from)) => {
                    self.hand_over(row, first, from..l);
                    open = None;
                }
                (false, Some(_)) | (true, None) => {}
            }
        }
        if let Some(from) = open {
            self.hand_over(row, first, from..lanes.end);
        }
    }
    /// Whether a NaN of lane `l` reaches a fold.
    fn is_nan(&self, l: usize) -> bool {
        let values = &self.scratch;
        let is_nan = |root: usize| values.root(root).iter().any(|v| v[l].is_nan());
        let folds = &self.walk.hierarchy.job.folds;
        folds
            .iter()
            .any(|fold| fold.meets_nan(is_nan, |root| values.root(root)[0][l]))
    }
    /// Counts the pair of sorted `row` and `column`: beyond the cut-off, with a NaN, left out.
    #[inline(always)]
    fn tell(&mut self, row: usize, column: usize, [far, nan, out]: [bool; 3]) {
        let job = self.walk.hierarchy.job;
        let pairs = if self.walk.hierarchy.doubled {
            job.space.count(&(row..row + 1), &(column..column + 1))
        } else {
            1
        };
        if nan && pairs > 0 {
            let (i, j) = (
                self.walk.hierarchy.orders.by_side(Side::X)[row] as u64,
                self.walk.hierarchy.orders.by_side(Side::Y)[column] as u64,
            );
            let pair = if job.space.is_triangular() {
                (i.min(j), i.max(j))
            } else {
                (i, j)
            };
            self.walk.tally.note_nan(pair);
        }
        self.walk.tally.beyond_cutoff += if far { pairs } else { 0 };
        self.walk.tally.nan += if nan && out { pairs } else { 0 };
        self.walk.tally.counted += if out { 0 } else { pairs };
    }
    /// Hands some lanes of an evaluated run to the folds; column `first` has lane 0.
    #[inline(always)]
    fn hand_over(&mut self, row: usize, first: usize, lanes: Range<usize>) {
        self.walk.accumulators.absorb(&Run {
            row,
            cols: first + lanes.start..first + lanes.end,
            values: &self.scratch,
            lane: lanes.start,
        });
    }
}
