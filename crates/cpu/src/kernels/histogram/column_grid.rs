//! A column grid: points in cells across all axes but one, and sorted along that one, for
//! histograms whose last edge is short against the extent of the points.
//!
//! The points of a column that may be below the last edge of a point follow one another: those
//! whose coordinate along the column is at most √(last² − gap²) away, where the gap is that between
//! the cells. What is left out is certain to be beyond the edge in the reference's arithmetic too.
//! Cell lists as in Hockney & Eastwood, *Computer Simulation Using Particles* (1988), chapter 8,
//! with the innermost axis sorted (Sinha & Garrison, MNRAS 491 (2020) 3022).
//!
//! ```text
//! build:  column of every point, counting sort by column, sort of each column along the axis
//!         steps = cells around a column whose gap is below the reach, with √(reach² − gap²) for each
//!
//! for each column of x in the rows wanted
//!     passing = the columns of y at its steps, a cursor at the start of each
//!     for each group of 4 points along the column
//!         lo, hi = their first and last coordinate
//!         for each passing column
//!             move its cursors up to lo − reach and hi + reach          they only move forward
//!             add the span between them to the group's strip            up to three spans in a periodic box
//!     give the strips to the sweep
//! ```
//!
//! Cursors instead of searches: groups ascend along the column, so all spans of a column cost one
//! pass over it. Columns are padded, so that the sweep may read whole vectors past their ends.

use super::points::{Frame, GAP, Near, Points, Space};
use super::strips::{Span, Strip};
use rayon::prelude::*;
use std::ops::Range;
use zipfold_core::slices::split;
use zipfold_vector::memory::Block;
use zipfold_vector::simd::array_of;

/// Rows that a thread takes at a time.
const CHUNK: usize = 4096;
/// Rows that share the columns they meet.
const GROUP: usize = 4;
/// Places behind each column: vectors may be read past the last point.
const PADDING: usize = 16;
/// Relative widening of the last edge, far beyond the rounding of a squared distance.
const WIDER: f64 = 1e-9;

/// How a space is cut into columns.
#[derive(Clone, Debug)]
pub struct ColumnGrid {
    /// The axis that columns follow, and its period.
    along: usize,
    period: Option<f64>,
    across: Vec<Across>,
    /// Steps from a column to the ones that it may meet.
    meets: Vec<ColumnStep>,
    /// What coordinates may err by.
    slack: f64,
}

/// From a column to one that it may meet.
#[derive(Clone, Copy, Debug)]
struct ColumnStep {
    cells: [isize; 3],
    /// How far apart along the axis their points may be.
    reach: f64,
    /// The other images of the column are out of reach.
    alone: bool,
}

/// Cells along an axis.
#[derive(Clone, Copy, Debug)]
struct Across {
    axis: usize,
    first: f64,
    width: f64,
    /// Cells in a unit of length.
    per_unit: f64,
    cells: usize,
    periodic: bool,
}

/// Points of a side by column.
#[derive(Clone, Debug)]
pub struct Columns {
    /// The sorted rows.
    pub order: Vec<u32>,
    /// First sorted row of every column, and the end.
    starts: Vec<usize>,
}

/// A column grid with the points of one or two sides.
#[derive(Clone, Debug)]
pub struct GriddedPoints {
    /// The column grid.
    pub column_grid: ColumnGrid,
    /// The columns of x, and of y if it is another side.
    pub columns: Vec<Columns>,
    /// Their points, in their places.
    pub points: Vec<Points>,
}

/// The points that are cut, by their coordinates in a frame.
#[derive(Clone, Copy, Debug)]
struct ColumnGridExtent {
    dimensions: usize,
    /// Least and largest coordinates, or in a periodic box half its edges.
    ends: [(f64, f64); 4],
    periods: Option<[f64; 4]>,
    /// Points of both sides.
    points: usize,
    /// What a difference of two coordinates may err by.
    error: f64,
}

impl ColumnGridExtent {
    /// That of this many points, whose coordinates lie between the `corners`.
    fn new(
        frame: &Frame,
        [lo, hi]: [&[f64]; 2],
        periods: Option<[f64; 4]>,
        points: usize,
    ) -> ColumnGridExtent {
        let dimensions = lo.len();
        let [first, last] = [lo, hi].map(|corner| frame.place(corner));
        let ends: [(f64, f64); 4] = array_of(|k| match periods {
            _ if k >= dimensions => (0.0, 0.0),
            Some(l) => (-0.5 * l[k], 0.5 * l[k]),
            None => (first[k], last[k]),
        });
        // Of a coordinate: to single precision, and of its place in the frame.
        let most = |ends: [f64; 2]| ends[0].abs().max(ends[1].abs());
        let error = (0..dimensions).fold(0.0f64, |error, k| {
            let (near, exact) = (most(ends[k].into()), most([lo[k], hi[k]]));
            error.max(f64::from(f32::EPSILON) * near + 16.0 * f64::EPSILON * exact)
        });
        ColumnGridExtent {
            dimensions,
            ends,
            periods,
            points,
            error: 2.0 * error,
        }
    }
}

impl ColumnGrid {
    /// Columns whose cells are `reach / parts` wide; none where single precision cannot place the
    /// points.
    fn new(of: &ColumnGridExtent, reach: f64, parts: usize) -> Option<ColumnGrid> {
        let dimensions = of.dimensions;
        let extent = |k: &usize| of.ends[*k].1 - of.ends[*k].0;
        let along = (0..dimensions).max_by(|a, b| extent(a).total_cmp(&extent(b)))?;
        let most = of.ends[..dimensions]
            .iter()
            .fold(0.0f64, |most, (a, b)| most.max(b.abs()).max(a.abs()));
        let slack = of.error + 64.0 * f64::EPSILON * most;
        let reach = reach * (1.0 + WIDER);
        if !(reach > slack * 16.0 && most < 1e30 && reach < 1e15) {
            return None;
        }
        // As many columns as points would be too many.
        let most = ((of.points / PADDING) as f64)
            .powf(1.0 / (dimensions - 1).max(1) as f64)
            .max(1.0);
        let cut = |axis: usize| {
            // A little wider than a part of the reach, so that cells `parts` apart are out of it.
            let width = (reach + slack * 4.0) * (1.0 + WIDER) / parts as f64;
            let cells = (extent(&axis) / width).clamp(1.0, most) as usize;
            let width = if cells == 1 {
                extent(&axis).max(width)
            } else {
                extent(&axis) / cells as f64
            };
            Across {
                axis,
                first: of.ends[axis].0,
                width,
                per_unit: 1.0 / width,
                cells,
                periodic: of.periods.is_some(),
            }
        };
        let across: Vec<Across> = (0..dimensions).filter(|k| *k != along).map(cut).collect();
        let meets = meets(&across, reach, slack);
        Some(ColumnGrid {
            along,
            period: of.periods.map(|l| l[along]),
            across,
            meets,
            slack,
        })
    }
    /// Number of columns.
    fn columns(&self) -> usize {
        self.across.iter().map(|a| a.cells).product()
    }
    /// The column of a point.
    #[inline]
    fn column(&self, point: &[f64]) -> usize {
        self.across.iter().fold(0, |at, a| {
            let cell = ((point[a.axis] - a.first) * a.per_unit) as usize;
            at * a.cells + cell.min(a.cells - 1)
        })
    }
    /// Cells of a column by axis.
    fn cells(&self, mut column: usize) -> [usize; 3] {
        let mut cells = [0; 3];
        for (k, a) in self.across.iter().enumerate().rev() {
            cells[k] = column % a.cells;
            column /= a.cells;
        }
        cells
    }
    /// The column a step from the one with `cells`, where there is one, and the edges of the box in
    /// between by axis.
    #[inline]
    fn step(&self, cells: &[usize; 3], step: &ColumnStep) -> Option<(usize, [i8; 4])> {
        let (mut at, mut image) = (0, [0; 4]);
        for (k, a) in self.across.iter().enumerate() {
            let (cell, count) = (cells[k] as isize + step.cells[k], a.cells as isize);
            let inside = if a.periodic {
                cell.rem_euclid(count)
            } else {
                cell
            };
            if !(0..count).contains(&inside) {
                return None;
            }
            image[a.axis] = ((inside - cell) / count) as i8;
            at = at * a.cells + inside as usize;
        }
        Some((at, image))
    }
}

/// The steps between columns whose points may be within `reach`.
fn meets(across: &[Across], reach: f64, slack: f64) -> Vec<ColumnStep> {
    let mut meets = vec![ColumnStep {
        cells: [0; 3],
        reach: 0.0,
        alone: true,
    }];
    for (k, a) in across.iter().enumerate() {
        let (cells, gap) = (a.cells as isize, |d: isize| {
            ((d.abs() - 1).max(0) as f64 * a.width - slack).max(0.0)
        });
        // In a box every cell is met once, by the shorter way.
        let steps = if a.periodic {
            -(cells - 1) / 2..=cells / 2
        } else {
            1 - cells..=cells - 1
        };
        let near: Vec<isize> = steps.filter(|d| gap(*d) < reach).collect();
        let wider = meets.iter().flat_map(|step| {
            near.iter().map(move |d| {
                let mut step = *step;
                step.cells[k] = *d;
                // The sum of squares for now.
                step.reach += gap(*d) * gap(*d);
                step.alone &= !a.periodic || gap(cells - d.abs()) >= reach + slack;
                step
            })
        });
        meets = wider.filter(|step| step.reach < reach * reach).collect();
    }
    meets
        .iter_mut()
        .for_each(|step| step.reach = (reach * reach - step.reach).sqrt() + slack);
    meets
}

impl GriddedPoints {
    /// Places the points of `sides`, whose exact coordinates are given row-major, in columns for
    /// distances up to `reach`, with cells `reach / parts` wide; none where single precision cannot
    /// place them, one is not finite or the box triclinic.
    pub fn new(frame: &Frame, sides: &[&[f64]], reach: f64, parts: usize) -> Option<GriddedPoints> {
        let dimensions = frame.dimensions();
        let ([lo, hi], finite) = hull(sides, dimensions);
        if !finite {
            return None;
        }
        let periods = match frame.space() {
            Space::Open(_) => None,
            Space::Orthorhombic(l) => Some(*l),
            Space::Triclinic(_) => return None,
        };
        let points = sides.iter().map(|s| s.len() / dimensions).sum();
        let extent =
            ColumnGridExtent::new(frame, [&lo, &hi].map(|c| &c[..dimensions]), periods, points);
        let ends = extent.ends;
        let column_grid = ColumnGrid::new(&extent, reach, parts)?;
        let far = 2.0
            * (ends[column_grid.along]
                .1
                .abs()
                .max(ends[column_grid.along].0.abs())
                + column_grid.period.unwrap_or(0.0))
            + 4.0 * reach;
        let place = |side: &&[f64]| {
            let key = |row: &[f64]| {
                let near = frame.place(row);
                (
                    column_grid.column(&near) as u32,
                    near[column_grid.along] as f32,
                )
            };
            let rows = side.par_chunks_exact(dimensions).with_min_len(CHUNK);
            let keys: Vec<(u32, f32)> = rows.map(key).collect();
            let columns = Columns::new(column_grid.columns(), &keys);
            let points = Points::placed(frame, side, &columns.places(), (column_grid.along, far));
            (columns, points)
        };
        let (columns, points) = sides.iter().map(place).unzip();
        Some(GriddedPoints {
            column_grid,
            columns,
            points,
        })
    }
}

/// Least and largest coordinates of row-major points, and whether all are finite.
fn hull(sides: &[&[f64]], dimensions: usize) -> ([[f64; 4]; 2], bool) {
    let none = ([[f64::INFINITY; 4], [f64::NEG_INFINITY; 4]], true);
    let both = |([lo, hi], finite): ([[f64; 4]; 2], bool), other: ([[f64; 4]; 2], bool)| {
        let of =
            |a: [f64; 4], b: [f64; 4], pick: fn(f64, f64) -> f64| array_of(|k| pick(a[k], b[k]));
        (
            [of(lo, other.0[0], f64::min), of(hi, other.0[1], f64::max)],
            finite & other.1,
        )
    };
    let one = |rows: &[f64]| {
        let ([mut lo, mut hi], mut finite) = none;
        for row in rows.chunks_exact(dimensions) {
            for (k, v) in row.iter().enumerate() {
                lo[k] = if *v < lo[k] { *v } else { lo[k] };
                hi[k] = if *v > hi[k] { *v } else { hi[k] };
                finite &= v.is_finite();
            }
        }
        ([lo, hi], finite)
    };
    let of_side = |side: &&[f64]| {
        side.par_chunks(CHUNK * dimensions)
            .map(one)
            .reduce(|| none, both)
    };
    sides.iter().map(of_side).fold(none, both)
}

impl Columns {
    /// Sorts points: `keys` are their columns and their coordinates along them.
    fn new(columns: usize, keys: &[(u32, f32)]) -> Columns {
        let mut starts = vec![0usize; columns + 1];
        keys.iter().for_each(|(c, _)| starts[*c as usize + 1] += 1);
        (0..columns).for_each(|c| starts[c + 1] += starts[c]);
        let mut next = starts.clone();
        let mut sorted = Block::<u64>::zeros(keys.len());
        for (row, (column, along)) in keys.iter().enumerate() {
            let to = &mut next[*column as usize];
            sorted[*to] = u64::from(ascending(*along)) << 32 | row as u64;
            *to += 1;
        }
        let slices = split(&mut sorted, starts.windows(2).map(|s| s[1] - s[0]));
        slices
            .into_par_iter()
            .with_min_len(16)
            .for_each(<[u64]>::sort_unstable);
        Columns {
            order: sorted
                .par_iter()
                .with_min_len(CHUNK)
                .map(|s| *s as u32)
                .collect(),
            starts,
        }
    }
    /// The row in every place of its points; one beyond all rows in the places behind each column.
    pub fn places(&self) -> Block<u32> {
        let mut places = Block::zeros(self.order.len() + PADDING * (self.starts.len() - 1));
        let slices = split(
            &mut places,
            self.starts.windows(2).map(|s| s[1] - s[0] + PADDING),
        );
        slices
            .into_par_iter()
            .enumerate()
            .with_min_len(16)
            .for_each(|(c, places)| {
                let (rows, behind) = places.split_at_mut(places.len() - PADDING);
                rows.copy_from_slice(&self.order[self.starts[c]..self.starts[c + 1]]);
                behind.fill(GAP);
            });
        places
    }
    /// The places of a column's points among the sorted `rows`.
    fn within(&self, column: usize, rows: &Range<usize>) -> Range<usize> {
        let start = self.starts[column].max(rows.start);
        let end = self.starts[column + 1].min(rows.end).max(start);
        start + PADDING * column..end + PADDING * column
    }
}

/// An integer that ascends with a number.
fn ascending(v: f32) -> u32 {
    let bits = v.to_bits();
    if bits >> 31 == 1 {
        !bits
    } else {
        bits | 1 << 31
    }
}

/// Two sides in a column grid, and which of their pairs are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Meeting<'a> {
    /// The column grid.
    pub column_grid: &'a ColumnGrid,
    /// Columns of x and of y.
    pub columns: [&'a Columns; 2],
    /// Points of x and of y in their places.
    pub points: [&'a Points; 2],
    /// Each pair of one set once: columns behind the row.
    pub above: bool,
}

/// A column on its way past the groups of another: cursors move up only, as the groups do.
struct Passing {
    places: Range<usize>,
    reach: f64,
    /// Edges of the box by which rows are moved to be next to it, where no other image is within
    /// reach.
    image: Option<[i8; 4]>,
    start: usize,
    end: usize,
    /// Ends of what is met through the lower face of a box, and starts through the upper one.
    prefix: usize,
    suffix: usize,
}

impl Meeting<'_> {
    /// Gives the pairs of sorted `rows` and `cols` that may be below the last edge as strips, in
    /// places, those of a column at a time; returns how many they are.
    pub fn strips(
        &self,
        rows: &Range<usize>,
        cols: &Range<usize>,
        mut take: impl FnMut(&[Strip]),
    ) -> u64 {
        let mut seen = 0;
        let mut passing = vec![];
        let mut strips: Vec<Strip> = vec![];
        let [x, y] = self.columns;
        let first = x
            .starts
            .partition_point(|s| *s <= rows.start)
            .saturating_sub(1);
        for column in (first..x.starts.len() - 1).take_while(|c| x.starts[*c] < rows.end) {
            let mine = x.within(column, rows);
            if mine.is_empty() {
                continue;
            }
            let cells = self.column_grid.cells(column);
            passing.clear();
            for step in &self.column_grid.meets {
                let Some((other, image)) = self.column_grid.step(&cells, step) else {
                    continue;
                };
                let places = y.within(other, cols);
                if !places.is_empty() && (!self.above || other >= column) {
                    let start = places.start;
                    let image = step.alone.then_some(image);
                    let reach = step.reach;
                    passing.push(Passing {
                        places,
                        reach,
                        image,
                        start,
                        end: start,
                        prefix: start,
                        suffix: start,
                    });
                }
            }
            let groups = mine.len().div_ceil(GROUP);
            if strips.len() < groups {
                strips.resize(groups, Strip::default());
            }
            for (at, strip) in strips[..groups].iter_mut().enumerate() {
                strip.rows = mine.start + at * GROUP..(mine.start + (at + 1) * GROUP).min(mine.end);
                strip.spans.clear();
                self.meet(strip, &mut passing);
                seen += self.count(strip);
            }
            take(&strips[..groups]);
        }
        seen
    }
    /// The spans of a group of rows.
    fn meet(&self, strip: &mut Strip, passing: &mut [Passing]) {
        let [x, y] = self.points.map(|p| f32::column(p, self.column_grid.along));
        let ends = (
            f64::from(x[strip.rows.start]),
            f64::from(x[strip.rows.end - 1]),
        );
        let least = if self.above { strip.rows.start + 1 } else { 0 };
        for other in passing {
            let all = other.places.start.max(least).min(other.places.end)..other.places.end;
            let (lo, hi) = (ends.0 - other.reach, ends.1 + other.reach);
            // Moved by this many edges along the axis.
            let moved = |edges: i8| {
                other.image.map(|mut image| {
                    image[self.column_grid.along] = edges;
                    image
                })
            };
            let Some(period) = self.column_grid.period else {
                other.advance(y, lo, hi);
                add(&mut strip.spans, &all, other.start..other.end, None);
                continue;
            };
            if hi - lo >= period - self.column_grid.slack {
                add(&mut strip.spans, &all, all.clone(), None);
                continue;
            }
            let (before, here, behind) = (moved(-1), moved(0), moved(1));
            other.advance(y, lo, hi);
            let spans = strip.spans.len();
            if hi > 0.5 * period {
                forward(&mut other.prefix, &other.places, |place| {
                    f64::from(y[place]) <= hi - period
                });
                add(&mut strip.spans, &all, all.start..other.prefix, before);
            }
            join(&mut strip.spans, spans, &all, other.start..other.end, here);
            if lo < -0.5 * period {
                forward(&mut other.suffix, &other.places, |place| {
                    f64::from(y[place]) < lo + period
                });
                join(&mut strip.spans, spans, &all, other.suffix..all.end, behind);
            }
        }
    }
    /// Pairs of a strip.
    fn count(&self, strip: &Strip) -> u64 {
        let one = |Span { cols, .. }: &Span| match self.above {
            true => strip
                .rows
                .clone()
                .map(|i| cols.end.saturating_sub(cols.start.max(i + 1)))
                .sum::<usize>(),
            false => strip.rows.len() * cols.len(),
        };
        strip.spans.iter().map(one).sum::<usize>() as u64
    }
}

impl Passing {
    /// Moves on to the points between `lo` and `hi`.
    #[inline]
    fn advance(&mut self, y: &[f32], lo: f64, hi: f64) {
        forward(&mut self.start, &self.places, |place| {
            f64::from(y[place]) < lo
        });
        forward(&mut self.end, &self.places, |place| {
            f64::from(y[place]) <= hi
        });
    }
}

/// Moves a cursor past the places that are passed.
#[inline]
fn forward(cursor: &mut usize, places: &Range<usize>, passed: impl Fn(usize) -> bool) {
    while *cursor < places.end && passed(*cursor) {
        *cursor += 1;
    }
}

/// Adds what `all` has of a span.
#[inline]
fn add(spans: &mut Vec<Span>, all: &Range<usize>, cols: Range<usize>, image: Option<[i8; 4]>) {
    let cols = cols.start.max(all.start)..cols.end.min(all.end);
    if !cols.is_empty() {
        spans.push(Span { cols, image });
    }
}

/// As `add`, after the spans from `from` on of the same column: one with the last, of any
/// images, where a vector of that might reach it.
#[inline]
fn join(
    spans: &mut Vec<Span>,
    from: usize,
    all: &Range<usize>,
    cols: Range<usize>,
    image: Option<[i8; 4]>,
) {
    match spans[from..].last_mut() {
        Some(last) if !cols.is_empty() && cols.start < last.cols.end + PADDING => {
            last.cols.end = last.cols.end.max(cols.end.min(all.end));
            last.image = None;
        }
        _ => add(spans, all, cols, image),
    }
}
