//! Histograms of distances by a column grid.

use super::tree::Hoisted;
use crate::kernels::histogram::{ColumnGrid, Columns, Frame, GriddedPoints, Meeting};
use crate::pairs::points::{Distances, NOT_FINITE, frame};
use crate::pairs::reductions;
use zipfold_core::fold::{Fold, HistogramState, State, Tally};
use zipfold_core::{Domain, Error, Job, Result, Side};
use zipfold_plan::executor::Declined;
use zipfold_plan::executor::{Executor, Folded, Sink, Stop};
use zipfold_plan::{Plan, Tile};
use zipfold_vector::memory::Block;
use zipfold_vector::simd::Isa;

/// A histogram of distances whose points lie in a column grid.
#[derive(Debug)]
pub struct ColumnGridHistogram<'j> {
    job: &'j Job,
    isa: Isa,
    column_grid: ColumnGrid,
    /// The columns of x, and of y if it is another input.
    columns: Vec<Columns>,
    distances: Distances,
}

impl<'j> ColumnGridHistogram<'j> {
    /// Places the rows of `job` in columns of cells as wide as the last edge over `parts`; none
    /// where the job is of another kind, or its points too wide apart for single precision.
    pub fn load(job: &'j Job, plan: &Plan, parts: u32) -> std::result::Result<Self, Declined> {
        let [Fold::Histogram(h)] = job.folds.as_slice() else {
            return Err("it is for one histogram");
        };
        let axis = &h.axes[0];
        let last = axis.compared[axis.bins()].sqrt();
        if !Distances::applies(job) || !last.is_finite() {
            return Err(NOT_FINITE);
        }
        let x = Hoisted::new(&job.low, &job.x, Side::X).values;
        let y = job.y.as_ref();
        let y = y.map(|y| Hoisted::new(&job.low, y, Side::Y).values);
        let sides: Vec<&[f64]> = std::iter::once(&x[..]).chain(y.as_deref()).collect();
        let frame = frame(job, || Frame::open_rows(&x, job.low.dim));
        let GriddedPoints {
            column_grid,
            columns,
            points,
        } = GriddedPoints::new(&frame, &sides, last, parts as usize)
            .ok_or("the points are too far apart for single precision")?;
        let mut points = points.into_iter();
        let places = if h.weights.is_some() {
            columns.iter().map(Columns::places).collect()
        } else {
            vec![Block::default()]
        };
        let orders = [&places[0][..], &places[places.len() - 1]];
        let distances = points
            .next()
            .and_then(|x| Distances::between(job, x, points.next(), Some(orders)))
            .ok_or(NOT_FINITE)?;
        Ok(ColumnGridHistogram {
            job,
            isa: reductions::isa(plan.isa),
            column_grid,
            columns,
            distances,
        })
    }
    fn side(&self, side: Side) -> &Columns {
        if side == Side::Y {
            &self.columns[self.columns.len() - 1]
        } else {
            &self.columns[0]
        }
    }
}

impl Executor for ColumnGridHistogram<'_> {
    fn order(&self) -> Option<&[u32]> {
        Some(&self.side(Side::X).order)
    }
    fn run(&self, tiles: &[Tile], _sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        let [Fold::Histogram(fold)] = self.job.folds.as_slice() else {
            return Err(Error::internal("a column grid without a histogram"));
        };
        let meeting = Meeting {
            column_grid: &self.column_grid,
            columns: [self.side(Side::X), self.side(Side::Y)],
            points: self.distances.points(),
            above: self.job.space.domain == Domain::Triangle,
        };
        let mut sweep = self.distances.sweep();
        let mut tally = Tally::default();
        for tile in tiles {
            // Vectors may run over the end of a span where all that follows in the column is of the
            // tile.
            let padded = tile.cols == (0..self.job.space.m);
            let take = |strips: &[_]| {
                // A tile of many near points takes long: its columns are passed by once told to
                // stop.
                if !stop.is_set() {
                    self.distances.add(&mut sweep, self.isa, strips, padded);
                }
            };
            let seen = meeting.strips(&tile.rows, &tile.cols, take);
            stop.check()?;
            let cells = self.job.space.count(&tile.rows, &tile.cols);
            tally.counted += cells;
            tally.skipped += cells - seen;
        }
        let mut state = HistogramState::new(fold);
        Distances::put_all(&sweep.finish(), &mut state, tally.counted);
        Ok(Folded {
            states: vec![State::Histogram(state)],
            tally,
        })
    }
}
