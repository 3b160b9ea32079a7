//! Histograms of distances by a column grid: of all pairs, by pair of groups, with formulas that are
//! summed by bin.
//!
//! ```text
//! load:  rows that have a group (all, where there are none) → columns, points in their places
//!        sorted rows: those of the columns, then the rows without a group, which no tile visits
//! run:   for each tile: strips of near columns → sweep                    kernels/histogram/column_grid.rs
//!        formulas take the queued pairs                                     pair_formulas.rs
//!        counts → state of each pair of groups; over = its pairs − those below the last edge
//! ```

use super::group_pairs::{SortedGroups, add_pairs};
use super::pair_formulas::PairFormulas;
use super::placed_tables::{CHUNK, PlacedTables};
use crate::kernels::histogram::{ColumnGrid, Columns, Counts, Meeting, Span, Strip, TakesPairs};
use crate::pairs::points::{Distances, NOT_FINITE, PlacedRows};
use crate::pairs::reductions;
use rayon::prelude::*;
use std::ops::Range;
use zipfold_core::fold::{Fold, Grouped, GroupedState, Histogram, HistogramState, State, Tally};
use zipfold_core::keys::RowKeys;
use zipfold_core::{Domain, Error, Job, Result};
use zipfold_plan::executor::Declined;
use zipfold_plan::executor::{Executor, Folded, Sink, Stop};
use zipfold_plan::{Plan, Tile};
use zipfold_vector::simd;

/// A histogram of distances whose points lie in a column grid.
#[derive(Debug)]
pub struct ColumnGridHistogram<'j> {
    job: &'j Job,
    /// The same question without its groups, where it has some.
    ungrouped: Option<Job>,
    isas: (zipfold_plan::Isa, simd::Isa),
    /// The grid, and the columns of x, and of y if it is another input; none where single precision
    /// cannot place the points: every pair is swept then.
    grid: Option<(ColumnGrid, Vec<Columns>)>,
    /// The sorted rows of x.
    order: Vec<u32>,
    /// Sorted rows of x and of y that have a group.
    members: [usize; 2],
    distances: Distances,
    /// The groups of the sorted rows of x, and of y if it is another input.
    groups: Vec<SortedGroups>,
    formulas: Option<PairFormulas>,
}

impl<'j> ColumnGridHistogram<'j> {
    /// Places the rows of `job` in columns of cells as wide as the last edge over `parts`; none
    /// where the job is of another kind, or its points too wide apart for single precision.
    pub fn load(job: &'j Job, plan: &Plan, parts: u32) -> std::result::Result<Self, Declined> {
        let ungrouped = job.ungrouped();
        let asked = ungrouped.as_ref().unwrap_or(job);
        let [Fold::Histogram(h)] = asked.folds.as_slice() else {
            return Err("it is for one histogram");
        };
        let axis = &h.axes[0];
        let last = axis.compared[axis.bins()].sqrt();
        if !Distances::in_columns(asked) || !last.is_finite() {
            return Err(NOT_FINITE);
        }
        let keys = job.parts.as_deref();
        let by = keys.and_then(|keys| keys.by.as_ref());
        let rows = PlacedTables::new(asked, keys, (last, parts as usize))
            .ok_or("the points are too far apart for single precision")?;
        let [x, y] = rows.places();
        // Places without a row are met by no pair within the edges.
        let codes = by.map(|by| {
            let codes = |side: usize, rows: &[u32]| codes_of(rows, &by.codes[side]);
            [codes(0, x), codes(1, y)]
        });
        let placed = PlacedRows {
            rows: Some([x, y]),
            groups: by
                .zip(codes.as_ref())
                .map(|(by, [x, y])| (by.len(), [&x[..], &y[..]])),
        };
        let formulas = match h.sums_formulas() {
            true => Some(PairFormulas::new(asked, h, [x, y]).ok_or(NOT_OF_NUMBERS)?),
            false => None,
        };
        let [of_x, of_y] = rows.points.clone();
        let distances = of_x.and_then(|x| Distances::between(asked, x, of_y, placed));
        let sorted = |by: &RowKeys| {
            let orders = rows.orders.iter().zip(&by.codes);
            let sorted = orders.map(|(order, codes)| codes_of(order, codes));
            sorted
                .map(|codes| SortedGroups::new(by.len(), codes))
                .collect()
        };
        Ok(ColumnGridHistogram {
            job,
            isas: (plan.isa, reductions::isa(plan.isa)),
            members: rows.members(),
            groups: by.map_or(vec![], sorted),
            order: rows.order(asked.space.n),
            grid: rows.grid,
            distances: distances.ok_or(NOT_FINITE)?,
            formulas,
            ungrouped,
        })
    }
    /// The question without groups.
    fn asked(&self) -> &Job {
        self.ungrouped.as_ref().unwrap_or(self.job)
    }
    /// The rows and columns of a tile that have a group.
    fn within(&self, tile: &Tile) -> Tile {
        let clipped = |range: &Range<usize>, end: usize| range.start.min(end)..range.end.min(end);
        Tile {
            rows: clipped(&tile.rows, self.members[0]),
            cols: clipped(&tile.cols, self.members[1]),
        }
    }
    /// Hands over the pairs of a tile that may be below the last edge; how many they are.
    fn strips(&self, tile: &Tile, mut take: impl FnMut(&[Strip])) -> u64 {
        let space = &self.asked().space;
        let Some((column_grid, columns)) = &self.grid else {
            take(&[Strip {
                rows: tile.rows.clone(),
                spans: vec![Span::from_range(tile.cols.clone())],
            }]);
            return space.count(&tile.rows, &tile.cols);
        };
        let meeting = Meeting {
            column_grid,
            columns: [&columns[0], &columns[columns.len() - 1]],
            points: self.distances.points(),
            above: space.domain == Domain::Triangle,
        };
        meeting.strips(&tile.rows, &tile.cols, take)
    }
    /// Counts the pairs of tiles: by pair of groups, or all as one. The tally, and by group of x and of
    /// y all pairs that there are.
    fn count<'s>(
        &'s self,
        tiles: &[Tile],
        taker: Option<&'s mut (dyn TakesPairs + 's)>,
        stop: Stop<'_>,
    ) -> Result<(Vec<Option<Counts>>, Tally, Vec<u64>)> {
        let mut sweep = self.distances.sweep_for(taker);
        let mut tally = Tally::default();
        let mut pairs = vec![0; self.groups.first().map_or(0, SortedGroups::pairs)];
        for tile in tiles.iter().map(|tile| self.within(tile)) {
            // Vectors may run over the end of a span where all that follows in the column is of the
            // tile.
            let padded = self.grid.is_some() && tile.cols == (0..self.members[1]);
            let take = |strips: &[Strip]| {
                // A tile of many near points takes long: its columns are passed by once told to
                // stop.
                if !stop.is_set() {
                    let isa = self.isas.1;
                    self.distances.add(&mut sweep, isa, strips, padded);
                }
            };
            let seen = self.strips(&tile, take);
            stop.check()?;
            let space = &self.asked().space;
            let cells = space.count(&tile.rows, &tile.cols);
            tally.counted += cells;
            tally.skipped += cells - seen;
            if let (Some(x), Some(y)) = (self.groups.first(), self.groups.last()) {
                add_pairs([x, y], space.domain, &tile, &mut pairs);
            }
        }
        Ok((sweep.finish_groups(), tally, pairs))
    }
    /// The states of all pairs of groups that have pairs.
    fn by_groups(
        &self,
        (fold, inner): (&Grouped, &Histogram),
        mut counts: Vec<Option<Counts>>,
        mut pairs: Vec<u64>,
    ) -> State {
        let groups = fold.parts.groups();
        let mut slots = vec![];
        for at in 0..counts.len() {
            let [a, b] = [at / groups, at % groups];
            let turned = b * groups + a;
            if fold.parts.half && b < a {
                continue;
            }
            if fold.parts.half && a < b {
                let more = counts[turned].take();
                match (&mut counts[at], more) {
                    (Some(counts), Some(more)) => counts.merge(&more),
                    (counts, more) => *counts = counts.take().or(more),
                }
                pairs[at] += pairs[turned];
            }
            if pairs[at] > 0 {
                let mut state = HistogramState::new(inner);
                Distances::put_all(counts[at].as_ref(), &mut state, pairs[at]);
                slots.push((fold.cell([a as u32, b as u32]), State::Histogram(state)));
            }
        }
        State::Grouped(GroupedState::of_slots(slots))
    }
}

/// Why formulas do not load.
const NOT_OF_NUMBERS: Declined = "a formula that is summed reads more than numbers of rows";

impl Executor for ColumnGridHistogram<'_> {
    fn order(&self) -> Option<&[u32]> {
        Some(&self.order)
    }
    fn run(&self, tiles: &[Tile], _sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        let asked = self.asked();
        let [Fold::Histogram(fold)] = asked.folds.as_slice() else {
            return Err(Error::internal("a column grid without a histogram"));
        };
        let points = self.distances.points();
        let formulas = self.formulas.as_ref();
        let mut sums = formulas.map(|formulas| formulas.begin(asked, fold, points, self.isas));
        let taker = sums.as_mut().map(|sums| sums as &mut dyn TakesPairs);
        let (counts, mut tally, pairs) = self.count(tiles, taker, stop)?;
        if let Some(grouped) = self.job.folds[0].grouped() {
            let state = self.by_groups((grouped, fold), counts, pairs);
            let states = vec![state];
            return Ok(Folded { states, tally });
        }
        let mut state = HistogramState::new(fold);
        if let Some(sums) = sums {
            state = sums.state;
            tally.nan = sums.tally.nan;
            tally.first_nan = sums.tally.first_nan;
            tally.counted -= tally.nan;
        }
        Distances::put_all(counts[0].as_ref(), &mut state, tally.counted);
        Ok(Folded {
            states: vec![State::Histogram(state)],
            tally,
        })
    }
}

/// The codes of rows; 0 of places without a row.
fn codes_of(rows: &[u32], codes: &[u32]) -> Vec<u32> {
    let code = |row: &u32| codes.get(*row as usize).copied().unwrap_or(0);
    rows.par_iter().with_min_len(CHUNK).map(code).collect()
}
