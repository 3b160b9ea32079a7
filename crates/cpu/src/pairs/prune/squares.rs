//! Squares of sorted rows whose boxes settle all of their pairs, found when a question is planned.
//!
//! ```text
//! unit  = rows along the curve, LANES units a range
//! for each range of x
//!     bounds of its box against those of LANES ranges of y: settled, or
//!         against the LANES units of a range: settled, or left
//!         units of x against those: pairs that stay open, a measure of the work
//! ```

use super::decision::{PruneDecision, Pruner};
use super::limits::Limits;
use super::sorted::Sorted;
use super::tree::{Hoisted, Level};
use std::ops::Range;
use zipfold_core::fold::{State, Tally};
use zipfold_core::pair::interval_bounds::{Bounds, LANES};
use zipfold_core::{Job, Side, Space};
use zipfold_plan::squares::{Band, SquareCounts, Squares};

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
        let size = self.unit * LANES;
        at * size..((at + 1) * size).min(self.rows)
    }
    /// The places of a unit.
    fn unit(&self, at: usize) -> Range<usize> {
        (at * self.unit).min(self.rows)..((at + 1) * self.unit).min(self.rows)
    }
}

/// Finds the squares that are left of `job`, with about `wanted` ranges a side; none where its
/// formula has no bounds. Its folds are those of [`zipfold_plan::squares::serve`].
pub fn squares(job: &Job, wanted: usize) -> Option<Squares> {
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
        states: job
            .folds
            .iter()
            .map(|fold| fold.start(job.space.n, job.space.m))
            .collect(),
        tally: Tally::default(),
        counts: SquareCounts {
            ranges: [x.ranges.count, y.ranges.count],
            ..SquareCounts::default()
        },
    };
    let bands = (0..x.ranges.count).map(|at| search.band(at));
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
    Some(Squares {
        counts,
        bands,
        orders: [sorted.orders.by_side(Side::X).to_vec(), second],
        states,
        tally,
    })
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
}

impl Search<'_, '_> {
    fn space(&self) -> &Space {
        &self.job.space
    }
    /// What is left of the squares of range `at` of x.
    fn band(&mut self, at: usize) -> Band {
        let rows = self.x.range(at);
        let first = if self.space().is_triangular() { at } else { 0 };
        let mut band = Band {
            rows: rows.clone(),
            own: false,
            cols: vec![],
            open: 0,
        };
        let left: Vec<usize> = (first / LANES * LANES..self.y.ranges.count)
            .step_by(LANES)
            .flat_map(|batch| self.left(at, first, batch))
            .collect();
        for other in left {
            self.counts.left += 1;
            if self.space().is_self() && other == at {
                band.own = true;
                band.open += self.space().count(&rows, &rows);
                continue;
            }
            self.square(at, other, &mut band);
        }
        band
    }
    /// The ranges of y, from `first` on, of the batch from `batch` on that are not settled with
    /// range `at` of x.
    fn left(&mut self, at: usize, first: usize, batch: usize) -> Vec<usize> {
        let (x, y) = (&self.x.ranges, &self.y.ranges);
        self.bounds
            .set_one(Side::X, &x.lo[at..], &x.hi[at..], x.stride);
        self.bounds
            .set_lanes(Side::Y, &y.lo[batch..], &y.hi[batch..], y.stride);
        self.bounds.run();
        let rows = self.x.range(at);
        let mut left = vec![];
        for other in batch.max(first)..(batch + LANES).min(y.count) {
            let pairs = self.space().count(&rows, &self.y.range(other));
            if pairs == 0 {
                continue;
            }
            self.counts.all += 1;
            if !self.settle(other - batch, pairs) {
                left.push(other);
            }
        }
        left
    }
    /// Adds to `band` the units of range `other` of y that are not settled with range `at` of x.
    fn square(&mut self, at: usize, other: usize, band: &mut Band) {
        let (x, y, first) = (&self.x.ranges, &self.y.units, other * LANES);
        self.bounds
            .set_one(Side::X, &x.lo[at..], &x.hi[at..], x.stride);
        self.bounds
            .set_lanes(Side::Y, &y.lo[first..], &y.hi[first..], y.stride);
        self.bounds.run();
        let mut open = [false; LANES];
        for (lane, open) in open.iter_mut().enumerate() {
            let cols = self.y.unit(first + lane);
            if cols.is_empty() {
                continue;
            }
            let pairs = self.space().count(&band.rows, &cols);
            *open = !self.settle(lane, pairs);
            if *open {
                match band.cols.last_mut() {
                    Some(last) if last.end == cols.start => last.end = cols.end,
                    _ => band.cols.push(cols),
                }
            }
        }
        for unit in at * LANES..((at + 1) * LANES).min(self.x.units.count) {
            let units = &self.x.units;
            self.bounds
                .set_one(Side::X, &units.lo[unit..], &units.hi[unit..], units.stride);
            self.bounds.run();
            for lane in (0..LANES).filter(|lane| open[*lane]) {
                if self.verdict(lane) == PruneDecision::Evaluate {
                    let (rows, cols) = (self.x.unit(unit), self.y.unit(first + lane));
                    band.open += rows.len() as u64 * cols.len() as u64;
                }
            }
        }
    }
    /// What bounds say of a lane; pairs that the answer must have one by one are left.
    fn verdict(&mut self, lane: usize) -> PruneDecision {
        match self.pruner.decide(&self.bounds, lane, |_| f64::NAN) {
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
