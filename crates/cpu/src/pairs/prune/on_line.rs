//! Histograms of rows on a line: one axis is the difference of a number of each row, the others are
//! numbers of one row alone.
//!
//! ```text
//! load:   rows of x and of y sorted by their numbers; the cells that their own axes choose
//! for some sorted rows of x at a time
//!     windows = the rows of y whose difference has a bin                two ends that only rise
//!     the rows by the cell that their own axes choose                   counting sort
//!     for each row, for up to 128 rows of its window
//!         differences, their bins                                       vectors
//!         counts[cell of x + cell of y + bin] += 1
//!     less the pair of each row with itself, where the domain has none
//! pairs that were not looked at: counted above the last edge
//! ```
//!
//! Why this shape: rows of x that choose the same cells follow each other, so the counts that they
//! meet stay in a near cache, however many cells there are in all.

use super::tree::Hoisted;
use crate::pairs::reductions;
use rayon::prelude::*;
use std::ops::Range;
use zipfold_core::fold::{Axis, BLOCK, Fold, Histogram, HistogramState, State, Tally};
use zipfold_core::{Domain, Error, Job, Result, Side};
use zipfold_plan::executor::{Declined, Executor, Folded, Sink, Stop};
use zipfold_plan::prune::{Gap, OnLine, OwnAxis, on_line};
use zipfold_plan::{Plan, Tile, tiles};
use zipfold_vector::simd::{Element, Isa, Kernel, Lanes};

/// Rows of x that are grouped by cells: enough for groups of some rows, and few enough for
/// the rows of y near them to stay in a near cache.
const TOGETHER: usize = 1 << 16;
/// The cell of a row that one of its axes leaves out.
const NONE: u32 = u32::MAX;
/// Why other executors take the job.
const ODD: Declined = "a number of a row is not finite, or the histogram has too many cells";

/// A histogram of rows on a line, loaded.
#[derive(Debug)]
pub struct LineSweep<'j> {
    job: &'j Job,
    fold: &'j Histogram,
    isa: Isa,
    /// The axis of both rows, what is binned, and the cells from one bin to the next.
    axis: &'j Axis,
    gap: Gap,
    stride: usize,
    even: Option<Even>,
    /// The sorted rows of x.
    order: Vec<u32>,
    x: LineRows,
    /// The rows of y that have bins, sorted.
    y: LineRows,
    /// The cell of each sorted row of x with itself, where that is not a pair; else nothing.
    own: Vec<u32>,
    /// How many codes the rows of x may have.
    codes: usize,
}

/// Edges that are evenly spaced: the bins of values by a multiplication, where no value is near an
/// edge.
#[derive(Debug)]
struct Even {
    first: f64,
    /// Bins in a unit.
    rate: f64,
    /// How near to an edge a value is, in bins, for which comparisons decide.
    near: f64,
}

impl Even {
    fn of_axis(axis: &Axis) -> Option<Even> {
        let [first, last] = axis.ends()?;
        let bins = axis.bins() as f64;
        let step = (last - first) / bins;
        // Edges are off by four roundings of the larger end, differences and products by one each.
        let near = 64.0 * f64::EPSILON * (first.abs().max(last.abs()) / step + bins);
        let plain = !axis.squared && (1.0 / step).is_finite() && near < 1e-3;
        plain.then_some(Even {
            first,
            rate: 1.0 / step,
            near,
        })
    }
    /// Places values as [`Axis::places`] does, but gives places beyond the last to all values outside.
    /// Returns whether all places are certain.
    #[inline(always)]
    fn places(&self, values: &[f64], places: &mut [u64]) -> bool {
        // 2⁵² plus a whole number below it has that number as its low bits.
        const TWO_52: f64 = (1u64 << 52) as f64;
        let (near, far) = (self.near, 1.0 - self.near);
        let mut unsure = 0;
        for (place, value) in places.iter_mut().zip(values) {
            let at = (value - self.first) * self.rate;
            let whole = at.floor();
            let part = at - whole;
            unsure |= u64::from(part < near) | u64::from(part > far);
            let bin = (whole + TWO_52).to_bits() & ((1 << 52) - 1);
            *place = bin.wrapping_add(1);
        }
        unsure == 0
    }
}

/// Sorted rows.
#[derive(Debug, Default)]
struct LineRows {
    places: Vec<f64>,
    /// What the axes of the row add to the number of a cell, or [`NONE`].
    cells: Vec<u32>,
    /// Numbers of these: the same for rows with the same cells.
    codes: Vec<u32>,
}

/// The rows of a side as given.
struct RowsOfSide<'a> {
    rows: &'a Hoisted,
    /// Where the number on the line is.
    place: usize,
    /// The axes of the side: the axis, the place of its number, the cells from one bin to the next.
    axes: Vec<(&'a Axis, usize, usize)>,
}

impl RowsOfSide<'_> {
    fn count(&self) -> usize {
        self.rows.values.len() / self.rows.width.max(1)
    }
    fn number(&self, row: usize, place: usize) -> f64 {
        self.rows.values[row * self.rows.width + place]
    }
    fn place_of(&self, row: usize) -> f64 {
        self.number(row, self.place)
    }
    /// The cell and the code of a row.
    fn cell(&self, row: usize) -> (u32, u32) {
        let (mut cell, mut code) = (0, 0);
        for (axis, place, stride) in &self.axes {
            let bin = axis.place(self.number(row, *place));
            if bin == 0 || bin > axis.bins() {
                return (NONE, 0);
            }
            cell += bin * stride;
            code = code * axis.bins() + bin - 1;
        }
        (cell as u32, code as u32)
    }
    /// Whether every number is one that has a place.
    fn is_plain(&self) -> bool {
        let own = |row: usize| {
            let mut axes = self.axes.iter();
            axes.all(|(_, place, _)| !self.number(row, *place).is_nan())
        };
        (0..self.count()).all(|row| self.place_of(row).is_finite() && own(row))
    }
    /// The rows in the order of their numbers.
    fn order(&self) -> Vec<u32> {
        let mut order: Vec<(f64, u32)> = (0..self.count())
            .map(|row| (self.place_of(row), row as u32))
            .collect();
        if !order.is_sorted_by(|a, b| a.0 <= b.0) {
            order.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        order.into_iter().map(|(_, row)| row).collect()
    }
    /// The rows in this order, as far as `kept` says so of their cells.
    fn sorted(&self, order: &[u32], kept: impl Fn(u32) -> bool) -> LineRows {
        let mut sorted = LineRows::default();
        for row in order {
            let (cell, code) = self.cell(*row as usize);
            if kept(cell) {
                sorted.places.push(self.place_of(*row as usize));
                sorted.cells.push(cell);
                sorted.codes.push(code);
            }
        }
        sorted
    }
}

impl<'j> LineSweep<'j> {
    /// Sorts the rows of `job`.
    pub fn load(job: &'j Job, plan: &Plan) -> std::result::Result<Self, Declined> {
        let line = on_line(job).ok_or("the rows do not lie on a line")?;
        let [Fold::Histogram(fold)] = job.folds.as_slice() else {
            return Err("not a histogram");
        };
        let low = &job.low;
        let (rows_x, rows_y) = rayon::join(
            || Hoisted::new(low, &job.x, Side::X),
            || Hoisted::new(low, job.other(), Side::Y),
        );
        let (x, y) = (
            side(fold, &line, Side::X, &rows_x),
            side(fold, &line, Side::Y, &rows_y),
        );
        let mut counts = [job.space.n, job.space.m, fold.cells()].into_iter();
        if !(counts.all(|count| count < NONE as usize) && x.is_plain() && y.is_plain()) {
            return Err(ODD);
        }
        // Other numbers of the rows of one input have another order.
        let same = |row: usize| x.place_of(row) == y.place_of(row);
        let same = job.y.is_none() && (0..job.space.n).all(same);
        let (order, sorted_x, sorted_y) = sorted(&x, &y, same);
        let axis = &fold.axes[line.axis];
        let stride = stride(fold, line.axis);
        let own = match job.space.domain {
            Domain::Ordered => own_cells((axis, line.gap, stride), (&order, &sorted_x), &y),
            Domain::Cross | Domain::Square | Domain::Triangle | Domain::Diagonal => vec![],
        };
        let codes = x.axes.iter().map(|(axis, _, _)| axis.bins()).product();
        Ok(LineSweep {
            job,
            fold,
            isa: reductions::isa(plan.isa),
            axis,
            gap: line.gap,
            stride,
            even: Even::of_axis(axis),
            order,
            x: sorted_x,
            y: sorted_y,
            own,
            codes,
        })
    }
    /// The rows of y whose differences from sorted `rows` of x have a bin: from … to, for each.
    fn windows(&self, rows: &Range<usize>) -> Vec<[u32; 2]> {
        let (first, last) = (self.axis.compared[0], self.axis.compared[self.axis.bins()]);
        let over = |value: f64| value > last || value == last && !self.axis.closed;
        // The difference y − x rises with y. Which of its values come before the window, and behind.
        let before = |d: f64| match self.gap {
            Gap::Ahead => d < first,
            Gap::Behind | Gap::Either => over(-d),
        };
        let behind = |d: f64| match self.gap {
            Gap::Ahead | Gap::Either => over(d),
            Gap::Behind => -d < first,
        };
        let places = &self.y.places;
        let start = self.x.places[rows.start];
        let mut from = places.partition_point(|y| before(y - start));
        let mut to = places.partition_point(|y| !behind(y - start));
        let window = |x: &f64| {
            while from < places.len() && before(places[from] - x) {
                from += 1;
            }
            while to < places.len() && !behind(places[to] - x) {
                to += 1;
            }
            [from as u32, to.max(from) as u32]
        };
        self.x.places[rows.clone()].iter().map(window).collect()
    }
    /// Counts the pairs of some sorted rows of x. Returns how many have a bin, and how many were looked
    /// at.
    fn count(&self, rows: &Range<usize>, counts: &mut [u64]) -> [u64; 2] {
        let windows = self.windows(rows);
        let sweep = RowsOnLine {
            line: self,
            first: rows.start,
            windows: &windows,
            rows: &self.by_cell(rows),
            counts,
        };
        let mut inside = f64::dispatch(self.isa, sweep);
        for cell in self.own.iter().skip(rows.start).take(rows.len()) {
            if *cell != NONE {
                counts[*cell as usize] -= 1;
                inside -= 1;
            }
        }
        let looked = windows.iter().map(|[from, to]| u64::from(to - from));
        [inside, looked.sum()]
    }
    /// Numbers of some sorted rows, those of a cell together, as far as they have one.
    fn by_cell(&self, rows: &Range<usize>) -> Vec<u32> {
        let has = |row: &usize| self.x.cells[*row] != NONE;
        // More cells than rows: hardly two rows would meet the same counts.
        if self.codes > rows.len() {
            return rows.clone().filter(has).map(|row| row as u32).collect();
        }
        let mut next = vec![0u32; self.codes + 1];
        for row in rows.clone().filter(has) {
            next[self.x.codes[row] as usize + 1] += 1;
        }
        (0..self.codes).for_each(|code| next[code + 1] += next[code]);
        let mut sorted = vec![0; next[self.codes] as usize];
        for row in rows.clone().filter(has) {
            let to = &mut next[self.x.codes[row] as usize];
            sorted[*to as usize] = row as u32;
            *to += 1;
        }
        sorted
    }
}

/// The order of the rows of x, these in this order, and the rows of y that have bins. Rows of one input
/// with the same numbers have one order.
fn sorted(x: &RowsOfSide<'_>, y: &RowsOfSide<'_>, same: bool) -> (Vec<u32>, LineRows, LineRows) {
    let order = x.order();
    let order_y = if same { None } else { Some(y.order()) };
    let (sorted_x, sorted_y) = rayon::join(
        || x.sorted(&order, |_| true),
        || y.sorted(order_y.as_ref().unwrap_or(&order), |cell| cell != NONE),
    );
    (order, sorted_x, sorted_y)
}

/// The cells from one bin of axis `at` to the next.
fn stride(fold: &Histogram, at: usize) -> usize {
    fold.axes[at + 1..]
        .iter()
        .map(|axis| axis.bins() + 2)
        .product()
}

fn side<'a>(fold: &'a Histogram, line: &OnLine, side: Side, rows: &'a Hoisted) -> RowsOfSide<'a> {
    let mine = line.others.iter().filter(|own| own.side == side);
    let axis = |own: &OwnAxis| (&fold.axes[own.axis], own.place, stride(fold, own.axis));
    RowsOfSide {
        rows,
        place: line.places[side as usize],
        axes: mine.map(axis).collect(),
    }
}

/// The cells of rows with themselves.
fn own_cells(
    (axis, gap, stride): (&Axis, Gap, usize),
    (order, sorted): (&[u32], &LineRows),
    y: &RowsOfSide<'_>,
) -> Vec<u32> {
    let cell = |(row, (mine, place)): (&u32, (&u32, &f64))| {
        let bin = axis.place(gap_of(gap, *place, y.place_of(*row as usize)));
        let (its, _) = y.cell(*row as usize);
        let inside = (1..=axis.bins()).contains(&bin);
        match inside && *mine != NONE && its != NONE {
            true => mine + its + (bin * stride) as u32,
            false => NONE,
        }
    };
    let rows = sorted.cells.iter().zip(&sorted.places);
    order.iter().zip(rows).map(cell).collect()
}

/// What the axis of both rows has of their numbers.
#[inline(always)]
fn gap_of(gap: Gap, x: f64, y: f64) -> f64 {
    match gap {
        Gap::Ahead => y - x,
        Gap::Behind => x - y,
        Gap::Either => (x - y).abs(),
    }
}

impl Executor for LineSweep<'_> {
    fn run(&self, tiles: &[Tile], _: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        let all = tiles::whole_rows(tiles, self.job.space.m)?;
        let mut state = HistogramState::new(self.fold);
        let (mut tally, mut inside) = (Tally::default(), 0);
        for start in all.clone().step_by(TOGETHER) {
            stop.check()?;
            let rows = start..all.end.min(start + TOGETHER);
            let [found, looked] = self.count(&rows, &mut state.counts);
            let pairs = self.job.space.count(&rows, &(0..self.job.space.m));
            inside += found;
            tally.counted += pairs;
            tally.skipped += pairs.saturating_sub(looked);
        }
        let outside = tally.counted.checked_sub(inside);
        let outside = outside
            .ok_or_else(|| Error::internal("more pairs in a histogram than were counted"))?;
        if let Some(last) = state.counts.last_mut() {
            *last += outside;
        }
        Ok(Folded {
            states: vec![State::Histogram(state)],
            tally,
        })
    }
    fn order(&self) -> Option<&[u32]> {
        Some(&self.order)
    }
}

/// Counts the pairs of some rows with those of their windows.
struct RowsOnLine<'a, 'j> {
    line: &'a LineSweep<'j>,
    /// The row of the first window.
    first: usize,
    windows: &'a [[u32; 2]],
    /// Sorted rows, those of a cell together.
    rows: &'a [u32],
    counts: &'a mut [u64],
}

impl Kernel<f64> for RowsOnLine<'_, '_> {
    /// Pairs that have a bin.
    type Output = u64;
    #[inline(always)]
    fn run<S: Lanes<f64>>(mut self, _: S) -> u64 {
        let (mut values, mut places) = ([0.0; BLOCK], [0; BLOCK]);
        let mut inside = 0;
        for row in self.rows {
            let row = *row as usize;
            let [from, to] = self.windows[row - self.first];
            let (mut from, to) = (from as usize, to as usize);
            while from < to {
                let end = to.min(from + BLOCK);
                let cols = from..end;
                inside =
                    u64::wrapping_add(inside, self.run_of(row, cols, &mut values, &mut places));
                from = end;
            }
        }
        inside
    }
}

impl RowsOnLine<'_, '_> {
    /// Counts the pairs of a row with some of its window, at most a block.
    #[inline(always)]
    fn run_of(
        &mut self,
        row: usize,
        cols: Range<usize>,
        values: &mut [f64; BLOCK],
        places: &mut [u64; BLOCK],
    ) -> u64 {
        let (line, axis) = (self.line, self.line.axis);
        let (x, mine) = (line.x.places[row], line.x.cells[row] as usize);
        let (others, cells) = (&line.y.places[cols.clone()], &line.y.cells[cols]);
        let (values, places) = (&mut values[..others.len()], &mut places[..others.len()]);
        for (value, y) in values.iter_mut().zip(others) {
            *value = gap_of(line.gap, x, *y);
        }
        if !(line.even.as_ref()).is_some_and(|even| even.places(values, places)) {
            axis.places(values, places);
        }
        let (bins, mut inside) = (axis.bins() as u64, 0u64);
        for (place, cell) in places.iter().zip(cells) {
            // Under the first edge, between both ends of a window.
            if place.wrapping_sub(1) < bins {
                let cell = (*place as usize)
                    .wrapping_mul(line.stride)
                    .wrapping_add(*cell as usize);
                let count = &mut self.counts[cell.wrapping_add(mine)];
                *count = count.wrapping_add(1);
                inside = inside.wrapping_add(1);
            }
        }
        inside
    }
}
