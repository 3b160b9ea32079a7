//! Family *points*: a histogram of distances in one to four dimensions, with weights and means,
//! swept by its own kernel with the exact-edge rule.
//!
//! ```text
//! load:  columns of x and y (in the order of a grid or tree, if there is one) → points of vectors
//!        edges → squares, evenly spaced ones by first and last
//!        weights in the order of the points; scales of the fixed-point sums
//! run:   for each tile: one strip, rows × columns → sweep               kernels/histogram/sweep.rs
//!        counts of the sweep → state: under, bins, over, sums; NaN → tally
//! ```
//!
//! Why this shape: the kernel compares squares with squared edges, so no root is taken and no value
//! goes to memory. Its counters are private to a thread and have the layout that its vectors want.
//! This file turns a job into its points and edges, and its counters into a state of the fold, once
//! a batch. Whoever prunes (boxes, column grids) uses the same [`Distances`] and hands over strips
//! of the columns that are left instead of whole tiles.

use super::reductions;
use crate::kernels::histogram::{
    BEHIND, Binning, Counts, Edges, Frame, Groups, Histogram as Sweep, Pairs, Points, Span, Strip,
    TakesPairs, Terms, Work,
};
use std::ops::Range;
use zipfold_core::fold::{Fold, Histogram, HistogramState, Scale, State, Tally};
use zipfold_core::space::periodic_box::Image;
use zipfold_core::{Domain, Job, Result, Space, Table};
use zipfold_plan::executor::Declined;
use zipfold_plan::executor::{Executor, Folded, Sink, Stop};
use zipfold_plan::{Plan, Tile};
use zipfold_vector::simd;

/// A job that the points family answers.
#[derive(Debug)]
pub struct Distances {
    x: Points,
    y: Option<Points>,
    edges: Edges,
    binning: Binning,
    pairs: Pairs,
    /// What is summed next to the counts.
    sums: Option<WeightedTerms>,
    /// Groups whose pairs are counted apart.
    groups: Option<Groups>,
}

/// Who the points in places are.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlacedRows<'a> {
    /// The rows of x and of y, where they are in another order than given.
    pub rows: Option<[&'a [u32]; 2]>,
    /// The number of groups, and that of each point.
    pub groups: Option<(usize, [&'a [u32]; 2])>,
}

/// Weights in the order of the points, and how the fold keeps sums.
#[derive(Debug)]
struct WeightedTerms {
    weights: Option<[Vec<f64>; 2]>,
    scales: [Scale; 2],
    values: bool,
    squares: bool,
}

impl WeightedTerms {
    fn for_histogram(h: &Histogram, orders: Option<[&[u32]; 2]>) -> Option<Self> {
        let ordered = |side: usize, weights: &[f64]| {
            let mut ordered: Vec<f64> = match orders {
                None => weights.to_vec(),
                // Places without a row are met by no pair within the edges.
                Some(orders) => orders[side]
                    .iter()
                    .map(|r| weights.get(*r as usize).copied().unwrap_or(0.0))
                    .collect(),
            };
            ordered.resize(ordered.len() + BEHIND, 0.0);
            ordered
        };
        let weights = h
            .weights
            .as_ref()
            .map(|[x, y]| [ordered(0, x), ordered(1, y)]);
        let scales = [h.weight_scale(), h.value_scale()];
        (h.weights.is_some() || h.mean).then(|| WeightedTerms {
            weights,
            scales,
            values: h.mean,
            squares: !h.axes[0].squared,
        })
    }
}

/// Why points do not load.
pub const NOT_FINITE: Declined = "a coordinate is not finite";

/// The distances of a job, all of them counted.
#[derive(Debug)]
pub struct Counted<'j> {
    space: &'j Space,
    fold: &'j Histogram,
    isa: simd::Isa,
    distances: Distances,
}

impl<'j> Counted<'j> {
    /// The points and edges of `job`.
    pub fn load(job: &'j Job, plan: &Plan) -> std::result::Result<Self, Declined> {
        let [Fold::Histogram(fold)] = job.folds.as_slice() else {
            return Err("it is for one histogram");
        };
        let distances = if Distances::applies(job) {
            Distances::load(job, PlacedRows::default())
        } else {
            None
        };
        Ok(Counted {
            space: &job.space,
            fold,
            isa: reductions::isa(plan.isa),
            distances: distances.ok_or(NOT_FINITE)?,
        })
    }
}

impl Executor for Counted<'_> {
    fn run(&self, tiles: &[Tile], _sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        let mut sweep = self.distances.sweep();
        for tile in tiles {
            stop.check()?;
            let strips = strips(self.space, tile);
            self.distances.add(&mut sweep, self.isa, &strips, false);
        }
        let counts = sweep.finish();
        let mut state = HistogramState::new(self.fold);
        let counted = Distances::put(&counts, &mut state);
        let tally = Tally {
            counted,
            nan: counts.skipped,
            ..Tally::default()
        };
        Ok(Folded {
            states: vec![State::Histogram(state)],
            tally,
        })
    }
}

/// Rows of a band that are counted together, where all of them meet a column.
const TOGETHER: usize = 16;

/// The rows and columns of a tile: as it is, or the columns that rows of a band meet together, and
/// the others of each row.
fn strips(space: &Space, tile: &Tile) -> Vec<Strip> {
    let strip = |rows: Range<usize>, cols: Range<usize>| Strip {
        rows,
        spans: vec![Span::from_range(cols)],
    };
    let Tile { rows, cols } = tile;
    if space.band.is_none() {
        return vec![strip(rows.clone(), cols.clone())];
    }
    let mut strips = vec![];
    for first in rows.clone().step_by(TOGETHER) {
        let rows = first..(first + TOGETHER).min(rows.end);
        let inside = space.inside(&rows);
        let inside = inside.start.max(cols.start)..inside.end.min(cols.end);
        let shared = !inside.is_empty();
        if shared {
            strips.push(strip(rows.clone(), inside.clone()));
        }
        for row in rows {
            let [own, _] = space.columns(row, cols);
            let rest = match shared {
                true => [own.start..inside.start, inside.end..own.end],
                false => [own, 0..0],
            };
            let some = rest.into_iter().filter(|cols| !cols.is_empty());
            strips.extend(some.map(|cols| strip(row..row + 1, cols)));
        }
    }
    strips
}

impl Distances {
    /// The points and edges of `job`, where it is one histogram of Euclidean distances, with the
    /// rows of x and of y in other orders.
    pub fn arranged(job: &Job, x: &[u32], y: &[u32]) -> Option<Self> {
        Self::applies(job)
            .then(|| {
                let rows = Some([x, y]);
                Self::load(job, PlacedRows { rows, groups: None })
            })
            .flatten()
    }
    /// Whether `job` is one histogram of Euclidean distances between finite points.
    pub fn applies(job: &Job) -> bool {
        zipfold_plan::points::apply(job) && finite(&job.x) && finite(job.other())
    }
    /// Whether `job` is one histogram of Euclidean distances between finite points, perhaps with
    /// formulas that are summed by bin.
    pub fn in_columns(job: &Job) -> bool {
        zipfold_plan::points::in_columns(job) && finite(&job.x) && finite(job.other())
    }
    fn load(job: &Job, placed: PlacedRows<'_>) -> Option<Self> {
        let orders = placed.rows;
        let columns_x = columns(&job.x, orders.map(|o| o[0]));
        let slices: Vec<&[f64]> = columns_x.iter().map(Vec::as_slice).collect();
        let frame = frame(job, || Frame::open(&slices));
        let x = Points::new(&frame, &slices);
        let y = job.y.as_ref();
        let y = y.map(|y| arranged(&frame, y, orders.map(|o| o[1])));
        Self::between(job, x, y, placed)
    }
    /// The distances of `job` between points that are loaded.
    pub fn between(
        job: &Job,
        x: Points,
        y: Option<Points>,
        placed: PlacedRows<'_>,
    ) -> Option<Self> {
        let [Fold::Histogram(h)] = job.folds.as_slice() else {
            return None;
        };
        let edges = edges(h);
        let groups = placed.groups;
        let groups = groups.map(|(count, codes)| Groups::new(&edges, count, codes));
        let of_binning = match groups {
            Some(_) => Binning::by_groups,
            None => Binning::new,
        };
        let binning = of_binning(&edges, &x, y.as_ref().unwrap_or(&x));
        let pairs = if job.space.domain == Domain::Triangle {
            Pairs::Above
        } else {
            Pairs::All
        };
        let (x, y) = if binning.is_double() {
            (x.with_doubles(), y.map(Points::with_doubles))
        } else {
            (x, y)
        };
        Some(Distances {
            x,
            y,
            edges,
            binning,
            pairs,
            sums: WeightedTerms::for_histogram(h, placed.rows),
            groups,
        })
    }
    /// Points of x and of y.
    pub fn points(&self) -> [&Points; 2] {
        [&self.x, self.y.as_ref().unwrap_or(&self.x)]
    }
    /// An empty histogram of these distances.
    pub fn sweep(&self) -> Sweep<'_> {
        let sweep = Sweep::new(&self.edges);
        let sweep = match &self.groups {
            Some(groups) => sweep.with_groups(groups),
            None => sweep,
        };
        let Some(WeightedTerms {
            weights,
            scales,
            values,
            squares,
        }) = &self.sums
        else {
            return sweep;
        };
        let weights = weights.as_ref().map(|[x, y]| [x.as_slice(), y.as_slice()]);
        let [weight_scale, value_scale] = *scales;
        sweep.with_sums(Terms {
            weights,
            weight_scale,
            values: *values,
            value_scale,
            squares: *squares,
        })
    }
    /// An empty histogram of these distances, that hands the pairs in bins to `taker`.
    pub fn sweep_for<'s>(&'s self, taker: Option<&'s mut (dyn TakesPairs + 's)>) -> Sweep<'s> {
        match taker {
            Some(taker) => self.sweep().with_taker(taker),
            None => self.sweep(),
        }
    }
    /// Counts the pairs of `strips`; see [`Work::padded`].
    pub fn add(&self, sweep: &mut Sweep<'_>, isa: simd::Isa, strips: &[Strip], padded: bool) {
        let [x, y] = self.points();
        sweep.add_strips(
            isa,
            &self.binning,
            &Work {
                x,
                y,
                strips,
                pairs: self.pairs,
                padded,
            },
        );
    }
    /// Adds counts to a state of the fold; the pairs that they count.
    pub fn put(counts: &Counts, state: &mut HistogramState) -> u64 {
        let last = state.counts.len() - 1;
        state.counts[last] += counts.over;
        Self::put_below(counts, state) + counts.over
    }
    /// Adds the counts of pairs below the last edge; how many they are.
    fn put_below(counts: &Counts, state: &mut HistogramState) -> u64 {
        let last = state.counts.len() - 1;
        state.counts[0] += counts.under;
        state.counts[1..last]
            .iter_mut()
            .zip(&counts.bins)
            .for_each(|(c, more)| *c += more);
        state.add_sums(&counts.weights, &counts.values);
        counts.under + counts.bins.iter().sum::<u64>()
    }
    /// As [`Self::put`], where the pairs that are not below the last edge are the others of `all`: all
    /// of them where nothing was counted.
    pub fn put_all(counts: Option<&Counts>, state: &mut HistogramState, all: u64) {
        let below = counts.map_or(0, |counts| Self::put_below(counts, state));
        let last = state.counts.len() - 1;
        state.counts[last] += all - below;
    }
}

fn finite(table: &Table) -> bool {
    table.elements().is_finite()
}

/// The points of a table, with its rows in another order.
pub fn arranged(frame: &Frame, table: &Table, order: Option<&[u32]>) -> Points {
    let columns = columns(table, order);
    let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    Points::new(frame, &slices)
}

fn columns(table: &Table, order: Option<&[u32]>) -> Vec<Vec<f64>> {
    let column = |c: usize| match order {
        None => (0..table.rows()).map(|r| table.get(r, c)).collect(),
        Some(order) => order.iter().map(|r| table.get(*r as usize, c)).collect(),
    };
    (0..table.cols()).map(column).collect()
}

/// The frame of the box of a job, or that of open space which `open` makes.
pub fn frame(job: &Job, open: impl FnOnce() -> Frame) -> Frame {
    match job.periodic_box.as_ref().map(|c| c.image()) {
        None => open(),
        Some(Image::Orthorhombic(o)) => Frame::periodic(o.lengths()),
        Some(Image::Triclinic(o)) => Frame::triclinic(o),
    }
}

/// The fold's edges; uniform ones in the form that the kernel guesses without a table.
fn edges(h: &Histogram) -> Edges {
    let axis = &h.axes[0];
    let edges = Edges::from_squares(axis.compared.clone());
    let edges = match axis.ends().filter(|_| axis.squared) {
        Some([lo, hi]) => edges.evenly_from(lo, hi),
        None => edges,
    };
    if axis.closed {
        edges.close_last()
    } else {
        edges
    }
}
