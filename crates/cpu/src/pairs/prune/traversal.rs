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
//! best first (nearest, extremes), for each group of rows
//!     heap = boxes of y by the best value that their bounds allow
//!     pop a box: not better than the worst value kept: stop
//!                a leaf: its rows as above; else: bounds of its children → heap
//!     what was never reached changes nothing: counted and skipped
//! ```
//!
//! Why this shape: bounds of a formula cost about as much as its value, so they are computed for
//! LANES boxes by one pass, and in three steps (hull, group, row), each of which spares the next.
//! Leaves in ascending order keep the values of a row in the order of the sorted columns.

use super::accumulators::{Accumulators, Run};
use super::boxes::{Boxes, GROUP};
use super::decision::{PruneDecision, Pruner};
use super::tree::Level;
use crate::kernels::histogram::{Histogram as Sweep, Span, Strip};
use crate::pairs::points::Distances;
use crate::pairs::vm::Scratch;
use std::cmp;
use std::collections::BinaryHeap;
use std::ops::Range;
use zipfold_core::fold::{Extremes, Fold, Tally, Whole};
use zipfold_core::pair::interval_bounds::{Bounds, LANES};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Domain, Result, Side};
use zipfold_plan::executor::{Executor, Folded, Sink, Stop};
use zipfold_plan::{Tile, tiles};

/// Rows of x in a block: its groups are the lanes of one evaluation of bounds.
const BLOCK: usize = GROUP * LANES;

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
    bounds: Bounds<'e>,
    pruner: Pruner<'e>,
    accumulators: Accumulators<'e>,
    tally: Tally,
    /// Counts of the points family, and the strips of the current block of rows, one a group.
    sweep: Option<(&'e Distances, Sweep<'e>)>,
    strips: Vec<Strip>,
    scratch: Scratch<f64>,
    /// Where room for matches is requested, and how much was.
    sink: &'e dyn Sink,
    stop: Stop<'e>,
    held: u64,
    /// Columns of the current tile.
    cols: Range<usize>,
    /// Pairs of each row of a group that met a leaf: as walked, and as the space counts them.
    seen: [[u64; 2]; GROUP],
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
        let job = pruned.job;
        let isa = crate::pairs::reductions::isa(pruned.vm.isa);
        let half = job.space.is_triangular() && !pruned.doubled;
        Traversal {
            pruned,
            bounds: pruned.bounds.clone(),
            stop,
            pruner: Pruner::new(job, &pruned.limits),
            accumulators: Accumulators::new(
                job,
                isa,
                rows,
                [pruned.order(Side::X), pruned.order(Side::Y)],
                half,
                &pruned.limits,
            ),
            tally: Tally::default(),
            sweep: pruned.distances.as_ref().map(|d| (d, d.sweep())),
            strips: vec![Strip::default(); LANES],
            scratch: pruned.vm.scratch(),
            sink,
            held: 0,
            cols: 0..0,
            seen: [[0; 2]; GROUP],
        }
    }
    /// Visits the pairs of `rows` and `cols`.
    ///
    /// # Errors
    /// Those of the sink; `Interrupted` when told to stop.
    pub(super) fn tile(&mut self, rows: &Range<usize>, cols: &Range<usize>) -> Result<()> {
        self.cols = cols.clone();
        let step = if self.pruned.best_first { GROUP } else { BLOCK };
        let mut start = rows.start;
        while start < rows.end {
            self.stop.check()?;
            let end = rows.end.min((start / step + 1) * step);
            match (self.pruned.best_first, &self.pruned.job.folds[0]) {
                (true, Fold::Extremes(f)) => self.extremes(f, start..end)?,
                (true, _) => self.nearest_first(start..end)?,
                (false, _) => self.block(start..end)?,
            }
            start = end;
        }
        Ok(())
    }
    /// Asks for room for the matches found, and for as many more as `pairs` pairs may be.
    fn hold(&mut self, pairs: u64) -> Result<()> {
        let bytes = self.accumulators.bytes(pairs);
        if bytes > self.held {
            self.sink.hold(bytes - self.held)?;
            self.held = bytes;
        }
        Ok(())
    }
    /// The columns of a box of y that the tile has.
    fn columns(&self, level: usize, at: usize) -> Range<usize> {
        let span = self.pruned.tree.span(level);
        let start = (at * span).max(self.cols.start);
        start..((at + 1) * span).min(self.cols.end).max(start)
    }
    fn is_empty(&self, rows: &Range<usize>, cols: &Range<usize>) -> bool {
        let before = matches!(
            self.pruned.space.domain,
            Domain::Triangle | Domain::Diagonal
        ) && cols.end <= rows.start;
        cols.is_empty() || before
    }
    /// All leaves for a block of rows, in their order.
    fn block(&mut self, rows: Range<usize>) -> Result<()> {
        let (lo, hi) = hull(
            &self.pruned.groups,
            rows.start / GROUP..rows.end.div_ceil(GROUP),
        );
        self.bounds.set_one(Side::X, &lo, &hi, 1);
        let mut leaves = vec![];
        let top = self.pruned.tree.levels.len() - 1;
        let mut open = vec![(top, 0)];
        while let Some((level, first)) = open.pop() {
            self.set_boxes(level, first);
            self.bounds.run();
            for lane in 0..LANES.min(self.pruned.tree.levels[level].count - first) {
                let cols = self.columns(level, first + lane);
                if self.is_empty(&rows, &cols) || self.settle(lane, &rows, &cols)? {
                    continue;
                }
                match level {
                    0 => leaves.push(first + lane),
                    _ => open.push((level - 1, (first + lane) * LANES)),
                }
            }
        }
        leaves.sort_unstable();
        for leaf in leaves {
            self.groups(&rows, leaf)?;
        }
        self.sweep_strips();
        Ok(())
    }
    /// The states and tally of all tiles.
    pub(super) fn finish(mut self) -> Folded {
        if let Some((_, sweep)) = self.sweep {
            self.tally.counted += self.accumulators.put_counts(&sweep.finish());
        }
        Folded {
            tally: self.tally,
            states: self.accumulators.finish(),
        }
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
        let cols = self.columns(0, leaf);
        let first = rows.start / GROUP;
        let groups = &self.pruned.groups;
        self.set_leaf(leaf);
        self.bounds.set_lanes(
            Side::X,
            &groups.lo[first..],
            &groups.hi[first..],
            groups.stride,
        );
        self.bounds.run();
        let mut open = [false; LANES];
        for (lane, open) in open
            .iter_mut()
            .enumerate()
            .take(rows.end.div_ceil(GROUP) - first)
        {
            let mine = ((first + lane) * GROUP).max(rows.start)
                ..((first + lane + 1) * GROUP).min(rows.end);
            *open = !self.is_empty(&mine, &cols) && !self.settle(lane, &mine, &cols)?;
        }
        for lane in (0..LANES).filter(|l| open[*l]) {
            let mine = ((first + lane) * GROUP).max(rows.start)
                ..((first + lane + 1) * GROUP).min(rows.end);
            match self.sweep {
                Some(_) => self.note(lane, mine, cols.clone()),
                None => self.rows(&mine, leaf)?,
            }
        }
        self.hold(0)
    }
    /// Sets the bounds of y: the boxes of a level from `first` on, a lane each.
    fn set_boxes(&mut self, level: usize, first: usize) {
        let boxes = &self.pruned.tree.levels[level];
        self.bounds.set_lanes(
            Side::Y,
            &boxes.lo[first..],
            &boxes.hi[first..],
            boxes.stride,
        );
    }
    fn set_leaf(&mut self, leaf: usize) {
        let leaves = &self.pruned.tree.levels[0];
        self.bounds.set_one(
            Side::Y,
            &leaves.lo[leaf..],
            &leaves.hi[leaf..],
            leaves.stride,
        );
    }
    /// The rows of a group against a leaf; the bounds of y are set.
    fn rows(&mut self, rows: &Range<usize>, leaf: usize) -> Result<()> {
        let cols = self.columns(0, leaf);
        let lanes =
            cols.start - leaf * self.pruned.tree.leaf..cols.end - leaf * self.pruned.tree.leaf;
        let points = &self.pruned.points;
        let first = rows.start;
        self.bounds.set_lanes(
            Side::X,
            &points.lo[first..],
            &points.hi[first..],
            points.stride,
        );
        self.bounds.run();
        for row in rows.clone() {
            for run in self.pruned.space.columns(row, &cols) {
                if run.is_empty() {
                    continue;
                }
                let one = row..row + 1;
                let seen = &mut self.seen[row % GROUP];
                seen[0] += run.len() as u64;
                seen[1] += self.pruned.job.space.count(&one, &run);
                if !self.settle(row - first, &one, &run)? {
                    self.pruned
                        .vm
                        .eval(&mut self.scratch, row, row + 1, leaf, &lanes);
                    self.admit(row, leaf, &run);
                }
            }
        }
        Ok(())
    }
    /// Settles the pairs of `rows` and `cols` if the bounds of `lane` tell enough.
    fn settle(&mut self, lane: usize, rows: &Range<usize>, cols: &Range<usize>) -> Result<bool> {
        let accumulators = &self.accumulators;
        match self
            .pruner
            .decide(&self.bounds, lane, |fold| accumulators.worst(fold, rows))
        {
            PruneDecision::Evaluate => return Ok(false),
            PruneDecision::Far => {
                let pairs = self.pruned.job.space.count(rows, cols);
                self.tally.beyond_cutoff += pairs;
                self.tally.skipped += pairs;
            }
            PruneDecision::Settled => self.take_whole(rows, cols)?,
        }
        Ok(true)
    }
    fn take_whole(&mut self, rows: &Range<usize>, cols: &Range<usize>) -> Result<()> {
        let pairs = self.pruned.job.space.count(rows, cols);
        if self.pruner.wholes.contains(&Whole::All) {
            self.hold(pairs)?;
        }
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
        for row in rows.clone() {
            for run in self.pruned.space.columns(row, cols) {
                if !run.is_empty() {
                    self.accumulators.settle_row(&self.pruner.wholes, row, &run);
                }
            }
        }
        Ok(())
    }
    /// Leaves in ascending order of the best value they may hold, until none can improve any row of
    /// the group.
    fn nearest_first(&mut self, rows: Range<usize>) -> Result<()> {
        let best = self.pruned.job.folds[0].best();
        let wanted = best.map_or((0, false), |best| (best.root, best.largest));
        self.search(&rows, wanted, |traversal| {
            traversal.accumulators.worst(0, &rows)
        })?;
        self.rest(rows);
        Ok(())
    }
    /// Leaves in the order of the least, then of the largest values that they may hold, until none
    /// can be beyond the limits.
    fn extremes(&mut self, fold: &Extremes, rows: Range<usize>) -> Result<()> {
        let ends = (0..fold.roots.len()).flat_map(|at| [(at, false), (at, true)]);
        for (round, (at, largest)) in ends.enumerate() {
            let limit = move |traversal: &Self| {
                let [least, most] = traversal.pruned.limits.ends(at);
                // What is as good as the limit changes nothing; where there is none yet, anything
                // does.
                (if largest { -most } else { least }).next_down()
            };
            let before = self.tally;
            self.search(&rows, (fold.roots[at], largest), limit)?;
            if round == 0 {
                self.rest(rows.clone());
                continue;
            }
            // Pairs are told of once; those evaluated again count as not left out.
            let again: u64 = self.seen.iter().map(|[_, pairs]| pairs).sum();
            self.tally = Tally {
                skipped: before.skipped.saturating_sub(again),
                ..before
            };
        }
        Ok(())
    }
    /// Leaves in ascending order of the best value of a root they may hold, until none has one up
    /// to `limit`.
    fn search(
        &mut self,
        rows: &Range<usize>,
        best: (usize, bool),
        limit: impl Fn(&Self) -> f64,
    ) -> Result<()> {
        self.seen = [[0; 2]; GROUP];
        let mut heap = BinaryHeap::new();
        let top = self.pruned.tree.levels.len() - 1;
        self.offer(&mut heap, rows, (top, 0), best, limit(self));
        while let Some(next) = heap.pop() {
            if next.best > limit(self) {
                break;
            }
            match next.level {
                0 => {
                    self.set_leaf(next.at);
                    self.rows(rows, next.at)?;
                }
                level => {
                    let limit = limit(self);
                    self.offer(&mut heap, rows, (level - 1, next.at * LANES), best, limit);
                }
            }
        }
        Ok(())
    }
    /// What was not visited cannot change any row.
    fn rest(&mut self, rows: Range<usize>) {
        let wholes = [Whole::Nothing];
        for row in rows {
            let one = row..row + 1;
            let [walked, pairs] = self.seen[row % GROUP];
            let rest = self.pruned.space.count(&one, &self.cols) - walked;
            self.accumulators
                .settle_row(&wholes, row, &(0..rest as usize));
            let rest = self.pruned.job.space.count(&one, &self.cols) - pairs;
            self.tally.skipped += rest;
            self.tally.counted += rest;
        }
    }
    /// Puts the boxes of a batch on the heap.
    fn offer(
        &mut self,
        heap: &mut BinaryHeap<Waiting>,
        rows: &Range<usize>,
        (level, first): (usize, usize),
        (root, largest): (usize, bool),
        worst: f64,
    ) {
        let groups = &self.pruned.groups;
        let group = rows.start / GROUP;
        self.bounds.set_one(
            Side::X,
            &groups.lo[group..],
            &groups.hi[group..],
            groups.stride,
        );
        self.set_boxes(level, first);
        self.bounds.run();
        for lane in 0..LANES.min(self.pruned.tree.levels[level].count - first) {
            if self.columns(level, first + lane).is_empty() {
                continue;
            }
            let known = (0..self.pruned.job.low.formula.roots.len())
                .all(|r| self.bounds.root(r).lane(lane).is_known());
            let best = self.bounds.root(root).lane(lane).falling(largest).lo;
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
        let job = self.pruned.job;
        let first = leaf * self.pruned.tree.leaf;
        let values = &self.scratch;
        let lanes = run.start - first..run.end - first;
        let clean = !values.all().iter().any(|v| {
            v[lanes.clone()]
                .iter()
                .fold(false, |any, v| any | v.is_nan())
        });
        let cutoff = job.cutoff_root.zip(job.space.cutoff_squared());
        if clean && cutoff.is_none() {
            self.tally.counted += job.space.count(&(row..row + 1), run);
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
        let folds = &self.pruned.job.folds;
        folds
            .iter()
            .any(|fold| fold.meets_nan(is_nan, |root| values.root(root)[0][l]))
    }
    /// Counts the pair of sorted `row` and `column`: beyond the cut-off, with a NaN, left out.
    #[inline(always)]
    fn tell(&mut self, row: usize, column: usize, [far, nan, out]: [bool; 3]) {
        let job = self.pruned.job;
        let pairs = if self.pruned.doubled {
            job.space.count(&(row..row + 1), &(column..column + 1))
        } else {
            1
        };
        if nan && pairs > 0 {
            let (i, j) = (
                self.pruned.order(Side::X)[row] as u64,
                self.pruned.order(Side::Y)[column] as u64,
            );
            let pair = if job.space.is_triangular() {
                (i.min(j), i.max(j))
            } else {
                (i, j)
            };
            self.tally.note_nan(pair);
        }
        self.tally.beyond_cutoff += if far { pairs } else { 0 };
        self.tally.nan += if nan && out { pairs } else { 0 };
        self.tally.counted += if out { 0 } else { pairs };
    }
    /// Hands some lanes of an evaluated run to the folds; column `first` has lane 0.
    #[inline(always)]
    fn hand_over(&mut self, row: usize, first: usize, lanes: Range<usize>) {
        self.accumulators.absorb(&Run {
            row,
            cols: first + lanes.start..first + lanes.end,
            values: &self.scratch,
            lane: lanes.start,
        });
    }
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
