//! The column grid in which a histogram of distances looks for its pairs, and an estimate of
//! what it would leave.
//!
//! Points are binned in all but their longest axis, and sorted along that one. A point then meets,
//! in each column nearby, one interval of consecutive points, which is swept like an array: no
//! boxes, no per-pair decisions. This is the gridlink of Corrfunc (Sinha and Garrison 2020). Cells
//! may be a fraction of the last edge wide (`parts`): narrower columns fit the ball better and cost
//! more intervals.
//!
//! ```text
//! last edge r, parts = 2: columns r/2 wide; a point looks at columns up to 2 away, in each along
//! ±sqrt(r² − gap²), gap being the distance of the two columns
//! ```

use super::estimate::picked;
use super::way::ColumnGrid;
use crate::cost;
use std::f64::consts::{FRAC_PI_4, FRAC_PI_6, PI};
use zipfold_core::fold::Fold;
use zipfold_core::number::round_even;
use zipfold_core::space::periodic_box::Image;
use zipfold_core::{Domain, Job, Table};

/// Rows of x whose pairs with a sample of y are looked at: at most this many, and at least [`FEW`]
/// once enough pairs are found.
const QUERIES: usize = 128;
const FEW: usize = 24;
/// Pairs that determine a share well enough: 5 % standard deviation.
const ENOUGH: usize = 400;
/// Cells to the last edge that are tried in turn, until more are predicted to be slower.
const PARTS: [u32; 8] = [1, 2, 3, 4, 6, 8, 12, 16];
/// The fewest points per column on average.
const FEWEST: f64 = 16.0;
/// Rows that share the intervals of columns they meet.
const GROUP: f64 = 4.0;

/// A sample of points, the longest axis last.
///
/// Four coordinates for any number of axes, unused ones 0, so loops have a fixed length.
struct Sample {
    x: Vec<[f64; 4]>,
    y: Vec<[f64; 4]>,
    /// The edge of the box along each axis, or how far the points reach.
    extents: [f64; 4],
    periodic: bool,
    axes: usize,
    /// Of one table: point 0 of x is point 0 of y, point 1 is this one, point 2 is twice as far.
    step: Option<usize>,
}

/// Returns the best column grid for `job`, which is one plain histogram of distances, or the one
/// with `parts` cells to the last edge. Returns `None` if the last edge is infinite, or in a
/// triclinic box.
pub(super) fn choose(job: &Job, parts: Option<u32>) -> Option<ColumnGrid> {
    let [Fold::Histogram(h)] = job.folds.as_slice() else {
        return None;
    };
    let axis = &h.axes[0];
    let last = axis.compared[axis.bins()];
    let whole = matches!(
        job.space.domain,
        Domain::Cross | Domain::Square | Domain::Triangle
    );
    if !(whole && last > 0.0 && last.is_finite() && job.space.n > 0 && job.space.m > 0) {
        return None;
    }
    // Taken once: every width is counted on the same points.
    let sample = Sample::take(job)?;
    if let Some(parts) = parts {
        return Some(sample.column_grid(job, last.sqrt(), parts));
    }
    // The cost is taken to have one minimum in the number of parts, so the search stops at the
    // first that is worse.
    let mut best = sample.column_grid(job, last.sqrt(), PARTS[0]);
    for parts in &PARTS[1..] {
        let column_grid = sample.column_grid(job, last.sqrt(), *parts);
        if cost::gridded(job, &column_grid) >= cost::gridded(job, &best) {
            break;
        }
        best = column_grid;
    }
    Some(best)
}

/// Returns sampled rows of a table as points of `axes` coordinates.
fn sampled_points(table: &Table, axes: usize) -> Vec<[f64; 4]> {
    let point =
        |row: &usize| std::array::from_fn(|k| if k < axes { table.get(*row, k) } else { 0.0 });
    picked(table.rows()).iter().map(point).collect()
}

/// Cells of a column grid across its columns.
struct Columns {
    cells: Vec<f64>,
    widths: Vec<f64>,
    /// How far a group of rows reaches along a column, from its middle. Rows of a group are looked
    /// for together, so an interval is longer by what they are apart along the axis.
    group: f64,
}

impl Sample {
    /// Samples the points, folds them into the box, and puts the longest axis last.
    fn take(job: &Job) -> Option<Sample> {
        let axes = job.low.dim;
        let lengths = match job.periodic_box.as_ref().map(|c| c.image()) {
            None => None,
            Some(Image::Orthorhombic(o)) if o.lengths().len() == axes => Some(o.lengths().to_vec()),
            Some(_) => return None,
        };
        let all = sampled_points(&job.x, axes);
        let step = all.len().div_ceil(QUERIES).max(1);
        let mut x: Vec<[f64; 4]> = all.into_iter().step_by(step).collect();
        let mut y = sampled_points(job.other(), axes);
        let spread = |k: usize| {
            let values = x.iter().chain(&y).map(|p| p[k]).filter(|v| v.is_finite());
            let (lo, hi) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| {
                (lo.min(v), hi.max(v))
            });
            (hi - lo).max(0.0)
        };
        let mut extents: [f64; 4] = std::array::from_fn(|k| if k < axes { spread(k) } else { 0.0 });
        if let Some(lengths) = &lengths {
            extents[..axes].copy_from_slice(lengths);
            let inside = |v: f64, l: f64| v - l * round_even(v / l);
            x.iter_mut()
                .chain(&mut y)
                .for_each(|p| (0..axes).for_each(|k| p[k] = inside(p[k], lengths[k])));
        }
        // Sorting along the longest axis leaves the fewest columns.
        let longest = (0..axes).max_by(|a, b| extents[*a].total_cmp(&extents[*b]))?;
        x.iter_mut()
            .chain(&mut y)
            .for_each(|p| p.swap(longest, axes - 1));
        extents.swap(longest, axes - 1);
        Some(Sample {
            x,
            y,
            extents,
            periodic: lengths.is_some(),
            axes,
            step: job.y.is_none().then_some(step),
        })
    }
    /// Returns what a column grid with cells a `parts`-th of `reach` wide would leave, by counting
    /// sampled pairs that its intervals would hold.
    fn column_grid(&self, job: &Job, reach: f64, parts: u32) -> ColumnGrid {
        let across = self.axes - 1;
        let columns = self.columns(job, reach, parts);
        let widths = &columns.widths;
        // Coordinates in cells, but along the axis.
        let scales: [f64; 4] =
            std::array::from_fn(|k| if k < across { 1.0 / widths[k] } else { 1.0 });
        // The number of a cell across, the coordinate itself along. The offset makes truncation
        // round down.
        let placed = |p: &[f64; 4]| -> [f64; 4] {
            std::array::from_fn(|k| {
                if k < across {
                    (p[k] * scales[k] + 1e6).trunc()
                } else {
                    p[k]
                }
            })
        };
        let y: Vec<[f64; 4]> = self.y.iter().map(placed).collect();
        let (mut near, mut below, mut seen) = (0, 0, 0);
        for (at, x) in self.x.iter().map(placed).enumerate() {
            // Enough pairs determine the share.
            if at >= FEW && near >= ENOUGH {
                break;
            }
            // A row is not its own neighbour; in a sample it would stand for many.
            let own = self.step.map(|step| at * step);
            seen += y.len() - usize::from(own.is_some());
            for (place, (y, other)) in y.iter().zip(&self.y).enumerate() {
                if own != Some(place) && self.meets(&columns, reach, &x, y) {
                    let apart =
                        |k: usize| self.apart((self.x[at][k] - other[k]).abs(), self.extents[k]);
                    let square: f64 = (0..self.axes).map(|k| apart(k) * apart(k)).sum();
                    // Looked at; those below the last edge are what the answer counts.
                    near += 1;
                    below += usize::from(square < reach * reach);
                }
            }
        }
        let met = self.met(reach, &columns.cells, &columns.widths);
        let even = self.even(reach, met, &columns);
        // What the sample is too small for is as if points filled their extents evenly.
        let share = |count: usize, even: f64| match count {
            0 => even.min(1.0 / seen.max(1) as f64),
            some => some as f64 / seen as f64,
        };
        ColumnGrid {
            parts,
            met: met * half(job),
            evaluated: share(near, even[0]),
            below: share(below, even[1]),
            groups: 0,
        }
    }
    /// Returns the shares of pairs in the intervals of a row and within reach, of points that fill
    /// their extents evenly. Intervals are taken to be as long as the longest.
    fn even(&self, reach: f64, met: f64, columns: &Columns) -> [f64; 2] {
        let along = self.extents[self.axes - 1];
        let all: f64 = columns.cells.iter().product();
        let interval = 2.0 * (reach + columns.group) / along;
        // Of an interval and of a ball, cut off at the extents.
        let ball: f64 = (0..self.axes)
            .map(|k| (2.0 * reach / self.extents[k]).min(1.0))
            .product();
        let of_cube = [1.0, 1.0, FRAC_PI_4, FRAC_PI_6, PI * PI / 32.0][self.axes];
        [met / all * interval.min(1.0), ball * of_cube]
    }
    /// Returns cells a `parts`-th of `reach` wide, but not more of them than points can fill.
    fn columns(&self, job: &Job, reach: f64, parts: u32) -> Columns {
        let across = self.axes - 1;
        let points = (job.space.n + if job.y.is_some() { job.space.m } else { 0 }) as f64;
        // Not more columns than points to fill them.
        let most = (points / FEWEST).powf(1.0 / across.max(1) as f64).max(1.0);
        let count = |k: usize| {
            let wanted = self.extents[k] / reach * f64::from(parts);
            // Down, so that a cell is at least as wide as requested.
            wanted.clamp(1.0, most).floor()
        };
        let cells: Vec<f64> = (0..across).map(count).collect();
        let widths = (0..across).map(|k| self.extents[k] / cells[k]).collect();
        // Rows of a group follow one another along a column.
        let columns: f64 = cells.iter().product();
        let group = 0.5 * (GROUP - 1.0) * self.extents[across] * columns / points;
        Columns {
            cells,
            widths,
            group,
        }
    }
    /// Returns whether the cell of `y` is within reach of the group of rows around `x`; both in
    /// cells, but along the axis.
    #[inline]
    fn meets(&self, columns: &Columns, reach: f64, x: &[f64; 4], y: &[f64; 4]) -> bool {
        let across = self.axes - 1;
        let along = self.apart((x[across] - y[across]).abs(), self.extents[across]);
        if along > reach + columns.group {
            return false;
        }
        // The squared reach less the squared gaps between the columns: what is left for the axis
        // along.
        let left = (0..across).fold(reach * reach, |left, k| {
            let cells = self.apart((x[k] - y[k]).abs(), columns.cells[k]) - 1.0;
            let gap = cells.max(0.0) * columns.widths[k];
            left - gap * gap
        });
        left > 0.0 && along <= left.sqrt() + columns.group
    }
    /// Returns the distance of two coordinates that differ by `d`, around a box of `edge` if that
    /// is shorter.
    ///
    /// Points were folded into the box, so one turn suffices.
    #[inline]
    fn apart(&self, d: f64, edge: f64) -> f64 {
        if self.periodic && d > 0.5 * edge {
            edge - d
        } else {
            d
        }
    }
    /// Counts the columns that may hold points within `reach` of a point in one column: those whose
    /// squared gaps add up to less than the squared reach.
    fn met(&self, reach: f64, cells: &[f64], widths: &[f64]) -> f64 {
        // All combinations of gaps, axis by axis, dropping those beyond the reach.
        let mut squares = vec![0.0];
        for (cells, width) in cells.iter().zip(widths) {
            // Columns at the border of open space meet fewer.
            let most = if self.periodic {
                0.5 * cells
            } else {
                (reach / width + 1.0).min(cells - 1.0)
            };
            let steps = (reach / width + 1.0).min(most).floor() as i64;
            let gap = |d: i64| (d.abs() - 1).max(0) as f64 * width;
            let wider = squares
                .iter()
                .flat_map(|s| (-steps..=steps).map(move |d| s + gap(d) * gap(d)));
            squares = wider.filter(|s| *s < reach * reach).collect();
        }
        squares.len() as f64
    }
}

/// Returns the part of all columns that rows meet: a triangular domain looks one way.
fn half(job: &Job) -> f64 {
    if job.space.domain == Domain::Triangle {
        0.5
    } else {
        1.0
    }
}
