//! Squares of sorted rows whose boxes settle all of their pairs, found when a question is planned.
//!
//! ```text
//! unit  = rows along the curve, LANES units a range, some ranges a band
//! for each band of x
//!     for each of its ranges
//!         neighbours: the k-th best of its rows is at most what bounds say of k others
//!         bounds of its box against those of LANES ranges of y: settled, or
//!             against the LANES units of a range: settled, or left
//!     units of y that all of its ranges settle are settled, the others are columns of the band
//!     units of x against those: pairs that stay open, a measure of the work
//! ```
//!
//! Small ranges say more about the k-th best; a large band has fewer columns for each of its rows.

use super::decision::{PruneDecision, Pruner};
use super::limits::Limits;
use super::sorted::Sorted;
use super::tree::{Hoisted, Level};
use std::ops::Range;
use zipfold_core::fold::{Best, Fold, State, Tally};
use zipfold_core::pair::interval_bounds::{Bounds, LANES};
use zipfold_core::{Job, Side, Space};
use zipfold_plan::squares::{SquareBand, SquareCounts, Squares, is_by_row};

/// Boxes of units of rows, and of ranges of LANES units each.
struct Ranges {
    unit: usize,
    rows: usize,
    units: Level,
    ranges: Level,
}

impl Ranges {
    /// About `wanted` ranges of the rows in `order`.
    fn new(hoisted: &Hoisted, order: &[u32], wanted: usize) -> Ranges {
        let unit = order.len().div_ceil(wanted.max(1) * LANES).max(1);
        let units = Level::over_rows(hoisted, order, unit);
        Ranges {
            unit,
            rows: order.len(),
            ranges: Level::over(&units, hoisted.width),
            units,
        }
    }
    /// The places of a range.
    fn range(&self, at: usize) -> Range<usize> {
        let size = self.size();
        at * size..((at + 1) * size).min(self.rows)
    }
    /// Rows of a whole range.
    fn size(&self) -> usize {
        self.unit * LANES
    }
    /// The places of a unit.
    fn unit(&self, at: usize) -> Range<usize> {
        (at * self.unit).min(self.rows)..((at + 1) * self.unit).min(self.rows)
    }
}

/// The rows of x and of y by place along the curve; of one table once.
pub type RowsByPlace = [Vec<u32>; 2];

/// Finds the squares that are left of `job`, with about `wanted` ranges a side in `bands` bands, and
/// the rows by place; none where its formula has no bounds. Its folds are those of
/// [`zipfold_plan::squares::serve`].
pub fn squares(job: &Job, (wanted, bands): (usize, usize)) -> Option<(Squares, RowsByPlace)> {
    let bounds = Bounds::new(&job.low, job.periodic_box.as_ref())?;
    let sorted = Sorted::new(job);
    let sides = [(Side::X, &sorted.x), (Side::Y, &sorted.y)];
    let [x, y] = sides.map(|(side, rows)| Ranges::new(rows, sorted.orders.by_side(side), wanted));
    let limits = Limits::new(&[]);
    let mut search = Search {
        job,
        x: &x,
        y: &y,
        pruner: Pruner::new(job, &limits),
        bounds,
        states: job.folds.iter().map(|fold| nothing(job, fold)).collect(),
        worst: vec![f64::NAN; job.folds.len()],
        tally: Tally::default(),
        counts: SquareCounts {
            ranges: [x.ranges.count, y.ranges.count],
            ..SquareCounts::default()
        },
    };
    for (number, fold) in job.folds.iter().enumerate() {
        if let Some(best) = fold.best().filter(|_| !is_by_row(fold)) {
            search.worst[number] = search.kth_of_all(&best);
        }
    }
    let (count, of_band) = (x.ranges.count, x.ranges.count.div_ceil(bands.max(1)).max(1));
    let bands = (0..count).step_by(of_band);
    let bands = bands.map(|at| search.band(at..(at + of_band).min(count)));
    let bands = bands.filter(|band| band.own || !band.cols.is_empty());
    let bands = bands.collect();
    let Search {
        states,
        tally,
        counts,
        ..
    } = search;
    let second = match job.space.is_self() {
        true => vec![],
        false => sorted.orders.by_side(Side::Y).to_vec(),
    };
    let squares = Squares {
        counts,
        sizes: [x.size(), y.size()],
        bands,
        states,
        tally,
    };
    Some((squares, [sorted.orders.by_side(Side::X).to_vec(), second]))
}

/// What a fold has before any pair, without rows of its own.
fn nothing(job: &Job, fold: &Fold) -> State {
    match is_by_row(fold) {
        true => fold.part(&(0..0)),
        false => fold.start(job.space.n, job.space.m),
    }
}

/// The search on its way.
struct Search<'e, 'j> {
    job: &'j Job,
    x: &'e Ranges,
    y: &'e Ranges,
    bounds: Bounds<'e>,
    pruner: Pruner<'e>,
    states: Vec<State>,
    tally: Tally,
    counts: SquareCounts,
    /// By fold: what a value must not exceed to matter to a row of the range of x; NaN where all
    /// matter.
    worst: Vec<f64>,
}

impl Search<'_, '_> {
    fn space(&self) -> &Space {
        &self.job.space
    }
    /// What is left of the squares of some ranges of x.
    fn band(&mut self, ranges: Range<usize>) -> SquareBand {
        let first = match self.space().is_triangular() {
            true => ranges.start,
            false => 0,
        };
        let limits: Vec<Vec<f64>> = ranges.clone().map(|at| self.limits(at)).collect();
        let mut open = vec![false; self.y.ranges.count * LANES];
        let mut left = vec![];
        for (at, worst) in ranges.clone().zip(&limits) {
            self.worst.clone_from(worst);
            left.push(self.open_units((at, first), &mut open));
        }
        let itself = match self.space().is_self() {
            true => ranges.start * LANES..ranges.end * LANES,
            false => 0..0,
        };
        let own = open[itself.clone()].contains(&true);
        // Its own pairs are one question: all of them are left, or none.
        open[itself.clone()].fill(own);
        let mut work = 0;
        for ((at, worst), left) in ranges.clone().zip(&limits).zip(&left) {
            self.worst.clone_from(worst);
            self.settle_others((at, first), &open);
            work += self.work((at, left), &open);
        }
        let mut cols: Vec<Range<usize>> = vec![];
        let others = (0..open.len()).filter(|unit| open[*unit] && !itself.contains(unit));
        for places in others.map(|unit| self.y.unit(unit)) {
            match cols.last_mut() {
                Some(last) if last.end == places.start => last.end = places.end,
                _ => cols.push(places),
            }
        }
        SquareBand {
            rows: self.x.range(ranges.start).start..self.x.range(ranges.end - 1).end,
            own,
            cols,
            open: work,
        }
    }
    /// By fold: what a value must not exceed to matter to a row of range `at` of x.
    fn limits(&mut self, at: usize) -> Vec<f64> {
        let mut limits = self.worst.clone();
        for (limit, fold) in limits.iter_mut().zip(&self.job.folds) {
            if let Some(best) = fold.best().filter(|_| is_by_row(fold)) {
                *limit = self.kth(at, &best);
            }
        }
        limits
    }
    /// What the k-th best value of any row of range `at` of x is at most: one box of y with k rows
    /// is enough for a row.
    fn kth(&mut self, at: usize, best: &Best) -> f64 {
        let (x, y, own) = (self.x, self.y, self.space().is_self());
        // A row is not its own neighbour.
        let enough = |rows: usize, same: bool| rows >= best.k + usize::from(same && own);
        let (mut least, mut spans) = (f64::INFINITY, vec![]);
        set(&mut self.bounds, &x.ranges, at);
        for batch in (0..y.ranges.count).step_by(LANES) {
            self.run_lanes(&y.ranges, batch);
            for other in batch..(batch + LANES).min(y.ranges.count) {
                let (lo, hi) = self.ends(other - batch, best);
                spans.push(lo);
                if enough(y.range(other).len(), other == at) {
                    least = least.min(hi);
                }
            }
        }
        // Smaller boxes say more: those of ranges that may have a better one.
        let near: Vec<usize> = (0..spans.len()).filter(|b| spans[*b] <= least).collect();
        let mut of_all = f64::NEG_INFINITY;
        for unit in at * LANES..((at + 1) * LANES).min(x.units.count) {
            set(&mut self.bounds, &x.units, unit);
            let mut of_unit = least;
            for first in near.iter().map(|range| range * LANES) {
                self.run_lanes(&y.units, first);
                for other in first..(first + LANES).min(y.units.count) {
                    if enough(y.unit(other).len(), other == unit) {
                        of_unit = of_unit.min(self.ends(other - first, best).1);
                    }
                }
            }
            of_all = of_all.max(of_unit);
        }
        of_all
    }
    /// What the k-th best value of all pairs is at most: as many pairs as that lie in squares, and then
    /// in squares of units, whose bounds end there.
    fn kth_of_all(&mut self, best: &Best) -> f64 {
        let (x, y) = (self.x, self.y);
        let (mut ends, mut near) = (vec![], vec![]);
        for at in 0..x.ranges.count {
            set(&mut self.bounds, &x.ranges, at);
            for batch in (0..y.ranges.count).step_by(LANES) {
                self.run_lanes(&y.ranges, batch);
                for other in batch..(batch + LANES).min(y.ranges.count) {
                    let pairs = self.space().count(&x.range(at), &y.range(other));
                    let (lo, hi) = self.ends(other - batch, best);
                    if pairs > 0 {
                        ends.push((hi, pairs));
                        near.push((lo, at, other));
                    }
                }
            }
        }
        let of_ranges = least_with(best.k, &mut ends);
        // Smaller squares say more: those of ranges that may have one of the best.
        near.retain(|(lo, ..)| *lo <= of_ranges);
        let mut of_units = vec![];
        for (_, at, other) in near {
            for unit in at * LANES..((at + 1) * LANES).min(x.units.count) {
                set(&mut self.bounds, &x.units, unit);
                self.run_lanes(&y.units, other * LANES);
                for lane in 0..LANES.min(y.units.count.saturating_sub(other * LANES)) {
                    let cols = y.unit(other * LANES + lane);
                    let pairs = self.space().count(&x.unit(unit), &cols);
                    let (_, hi) = self.ends(lane, best);
                    if pairs > 0 && hi < of_ranges {
                        of_units.push((hi, pairs));
                    }
                }
            }
        }
        of_ranges.min(least_with(best.k, &mut of_units))
    }
    /// Bounds of the box of x that is set against LANES boxes of y from `first` on.
    fn run_lanes(&mut self, level: &Level, first: usize) {
        let (lo, hi) = (&level.lo[first..], &level.hi[first..]);
        self.bounds.set_lanes(Side::Y, lo, hi, level.stride);
        self.bounds.run();
        self.pruner.look(&self.bounds);
    }
    /// Between what the values of a lane lie, negated where the largest are wanted; anything where
    /// one of them may be none.
    fn ends(&self, lane: usize, best: &Best) -> (f64, f64) {
        let span = |root: usize| self.bounds.root(root).lane(lane);
        if !self.pruner.is_known(lane) {
            return (f64::NEG_INFINITY, f64::INFINITY);
        }
        let of_best = span(best.root).falling(best.largest);
        (of_best.lo, of_best.hi)
    }
    /// Marks the units of y, of ranges from `first` on, that are not settled with range `at` of x, and
    /// returns their ranges.
    fn open_units(&mut self, (at, first): (usize, usize), open: &mut [bool]) -> Vec<usize> {
        let mut all = vec![];
        let (x, y) = (self.x, self.y);
        set(&mut self.bounds, &x.ranges, at);
        for batch in (first / LANES * LANES..y.ranges.count).step_by(LANES) {
            self.run_lanes(&y.ranges, batch);
            let of_batch = batch.max(first)..(batch + LANES).min(y.ranges.count);
            let left: Vec<usize> = of_batch
                .filter(|other| {
                    self.space().count(&x.range(at), &y.range(*other)) > 0
                        && self.verdict(other - batch) == PruneDecision::Evaluate
                })
                .collect();
            all.extend(&left);
            for other in left {
                self.run_lanes(&y.units, other * LANES);
                let units = other * LANES..((other + 1) * LANES).min(y.units.count);
                for (lane, open) in open[units].iter_mut().enumerate() {
                    *open |= self.verdict(lane) == PruneDecision::Evaluate;
                }
            }
        }
        all
    }
    /// Counts the pairs of range `at` of x and the units of y, of ranges from `first` on, that are not
    /// open.
    fn settle_others(&mut self, (at, first): (usize, usize), open: &[bool]) {
        let (x, y) = (self.x, self.y);
        let rows = x.range(at);
        set(&mut self.bounds, &x.ranges, at);
        for batch in (first / LANES * LANES..y.ranges.count).step_by(LANES) {
            self.run_lanes(&y.ranges, batch);
            let mut by_unit = vec![];
            for other in batch.max(first)..(batch + LANES).min(y.ranges.count) {
                if self.space().count(&rows, &y.range(other)) == 0 {
                    continue;
                }
                let closed = (other * LANES..(other + 1) * LANES).filter(|unit| !open[*unit]);
                let pairs = |unit| self.space().count(&rows, &y.unit(unit));
                let pairs = closed.map(pairs).sum();
                let left = open[other * LANES..(other + 1) * LANES].contains(&true);
                self.counts.all += 1;
                self.counts.left += u64::from(left);
                if pairs > 0 && !self.settle(other - batch, pairs) {
                    by_unit.push(other);
                }
            }
            for other in by_unit {
                self.run_lanes(&y.units, other * LANES);
                let units = other * LANES..((other + 1) * LANES).min(y.units.count);
                for unit in units.filter(|unit| !open[*unit]) {
                    let pairs = self.space().count(&rows, &y.unit(unit));
                    if pairs > 0 {
                        let settled = self.settle(unit % LANES, pairs);
                        debug_assert!(settled, "a unit is open for a range that has settled it");
                    }
                }
            }
        }
    }
    /// Pairs of range `at` of x and the open units of the ranges of y that it leaves, as far as bounds
    /// of their units leave them open.
    fn work(&mut self, (at, left): (usize, &[usize]), open: &[bool]) -> u64 {
        let (x, y) = (self.x, self.y);
        let mut work = 0;
        for unit in at * LANES..((at + 1) * LANES).min(x.units.count) {
            set(&mut self.bounds, &x.units, unit);
            for first in left.iter().map(|range| range * LANES) {
                self.run_lanes(&y.units, first);
                let others = first..(first + LANES).min(y.units.count);
                for other in others.filter(|other| open[*other]) {
                    if self.verdict(other - first) == PruneDecision::Evaluate {
                        work += self.space().count(&x.unit(unit), &y.unit(other));
                    }
                }
            }
        }
        work
    }
    /// What bounds say of a lane; pairs that the answer must have one by one are left.
    fn verdict(&mut self, lane: usize) -> PruneDecision {
        let worst = &self.worst;
        match self.pruner.decide(&self.bounds, lane, |at| worst[at]) {
            PruneDecision::Settled if self.pruner.matters() => PruneDecision::Evaluate,
            decision => decision,
        }
    }
    /// Counts `pairs` pairs of a lane, if bounds settle them.
    fn settle(&mut self, lane: usize, pairs: u64) -> bool {
        match self.verdict(lane) {
            PruneDecision::Evaluate => return false,
            PruneDecision::Far => self.tally.beyond_cutoff += pairs,
            PruneDecision::Settled => {
                self.tally.counted += pairs;
                let folds = self.job.folds.iter().zip(&mut self.states);
                for ((fold, state), whole) in folds.zip(&self.pruner.wholes) {
                    fold.settle_count(state, *whole, pairs);
                }
            }
        }
        self.tally.skipped += pairs;
        self.counts.settled += pairs;
        true
    }
}

/// The least end up to which squares have `k` pairs, of the ends of squares and their pairs; infinite
/// where all of them have fewer.
fn least_with(k: usize, ends: &mut [(f64, u64)]) -> f64 {
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut pairs = 0u64;
    let enough = ends.iter().find(|(_, more)| {
        pairs = pairs.saturating_add(*more);
        pairs >= k as u64
    });
    enough.map_or(f64::INFINITY, |(end, _)| *end)
}

/// Sets box `at` of x for all lanes.
fn set(bounds: &mut Bounds<'_>, level: &Level, at: usize) {
    bounds.set_one(Side::X, &level.lo[at..], &level.hi[at..], level.stride);
}
