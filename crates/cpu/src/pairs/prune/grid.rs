//! A grid of cells, in which the rows within reach of some others lie in few.
//!
//! ```text
//! new:     cells along a coordinate = extent / window, together at most as many as rows
//!          counting sort of the rows of y by cell; rows of x likewise, those without a place last
//! around:  lo, hi = the places of some rows of one cell
//!          for each coordinate: the cells from lo − window to hi + window, round the end if periodic
//!          found = the rows of y in the product of these cells, sorted
//! ```
//!
//! Why this shape: cells are a little wider than a window, so a row meets at most three of them
//! along a coordinate. No more cells than rows, so that a wide space with few rows does not fill
//! the memory with empty cells. Cells along the last coordinate follow one another, so they are one
//! range of rows.

use std::ops::Range;
use zipfold_core::space::reach::{MOST, Place};
use zipfold_core::{Table, Windows};

/// Rows that are looked for together, at most.
pub(super) const TOGETHER: usize = 256;

/// Rows of both sides by cell.
#[derive(Debug)]
pub(super) struct Grid {
    windows: Windows,
    /// Cells along every coordinate, the first of them, and cells in a unit.
    cells: [usize; MOST],
    first: [f64; MOST],
    per_unit: [f64; MOST],
    /// Rows of y by cell, ascending in each, and where cells begin.
    others: Vec<u32>,
    starts: Vec<u32>,
    /// Rows of x by cell; the ones that nothing is within reach of come last.
    order: Vec<u32>,
    /// Their places.
    places: Vec<Option<Place>>,
}

impl Grid {
    /// Puts the rows of `x`, and of `y` or the same, into cells as wide as `windows`.
    pub(super) fn new(windows: Windows, x: &Table, y: Option<&Table>) -> Grid {
        let places_x = places(&windows, x);
        let places_y = y.map(|y| places(&windows, y));
        let of_y = places_y.as_ref().unwrap_or(&places_x);
        let mut grid = Grid {
            cells: [1; MOST],
            first: [0.0; MOST],
            per_unit: [0.0; MOST],
            others: vec![],
            starts: vec![],
            order: vec![],
            places: vec![],
            windows,
        };
        grid.cut(of_y);
        (grid.others, grid.starts) = grid.sorted(of_y);
        grid.order = match &places_y {
            None => grid.others.clone(),
            Some(_) => grid.sorted(&places_x).0,
        };
        let lost = (0..places_x.len()).filter(|row| places_x[*row].is_none());
        grid.order.extend(lost.map(|row| row as u32));
        grid.places = grid
            .order
            .iter()
            .map(|row| places_x[*row as usize])
            .collect();
        grid
    }
    /// The least and the largest number along a coordinate.
    fn ends(&self, places: &[Option<Place>], at: usize) -> (f64, f64) {
        if self.windows.is_periodic(at) {
            return (0.0, 1.0);
        }
        let numbers = places.iter().flatten().map(|p| p[at]);
        numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| {
            (lo.min(v), hi.max(v))
        })
    }
    /// Cells a window wide, no more than there are rows.
    fn cut(&mut self, places: &[Option<Place>]) {
        let axes = self.windows.len();
        let mut wanted = [1.0f64; MOST];
        for (at, wanted) in wanted.iter_mut().enumerate().take(axes) {
            let (lo, hi) = self.ends(places, at);
            let extent = if hi > lo {
                (hi - lo).min(f64::MAX)
            } else {
                0.0
            };
            // A little wider than a window, so that rows of a cell look at one more to either side.
            *wanted = (extent / (self.windows.window(at) * (1.0 + 1e-6)))
                .floor()
                .max(1.0);
            (self.first[at], self.per_unit[at]) = (if lo.is_finite() { lo } else { 0.0 }, extent);
        }
        let most = places.len().max(1) as f64;
        let mut left = wanted.iter().map(|w| w.min(most)).product::<f64>() / most;
        for (at, wanted) in wanted.iter().map(|w| w.min(most)).enumerate().take(axes) {
            let share = left.max(1.0).powf(1.0 / (axes - at) as f64);
            let cells = (wanted / share).floor().max(1.0);
            left /= wanted / cells;
            self.cells[at] = cells as usize;
            let extent = self.per_unit[at];
            self.per_unit[at] = if extent > 0.0 { cells / extent } else { 0.0 };
        }
    }
    /// The cell of a number along a coordinate; never less for a larger one.
    #[inline]
    fn along(&self, at: usize, v: f64) -> usize {
        (((v - self.first[at]) * self.per_unit[at]) as usize).min(self.cells[at] - 1)
    }
    #[inline]
    fn cell(&self, place: &Place) -> usize {
        (0..MOST).fold(0, |cell, at| {
            cell * self.cells[at] + self.along(at, place[at])
        })
    }
    /// Rows by cell, and where cells begin.
    fn sorted(&self, places: &[Option<Place>]) -> (Vec<u32>, Vec<u32>) {
        let cells: usize = self.cells.iter().product();
        let mut starts = vec![0u32; cells + 1];
        let of: Vec<Option<usize>> = places
            .iter()
            .map(|place| place.as_ref().map(|place| self.cell(place)))
            .collect();
        of.iter().flatten().for_each(|cell| starts[cell + 1] += 1);
        (0..cells).for_each(|cell| starts[cell + 1] += starts[cell]);
        let mut next = starts.clone();
        let mut rows = vec![0; starts[cells] as usize];
        for (row, cell) in of.iter().enumerate() {
            if let Some(cell) = cell {
                rows[next[*cell] as usize] = row as u32;
                next[*cell] += 1;
            }
        }
        (rows, starts)
    }
    /// The rows of x in the order of their cells.
    pub(super) fn order(&self) -> &[u32] {
        &self.order
    }
    /// The first of the sorted `rows` that share a cell, at most [`TOGETHER`].
    pub(super) fn group(&self, rows: &Range<usize>) -> Range<usize> {
        let end = rows.end.min(rows.start + TOGETHER);
        let cell = |row: usize| self.places[row].as_ref().map(|place| self.cell(place));
        let mine = cell(rows.start);
        rows.start
            ..(rows.start..end)
                .find(|row| cell(*row) != mine)
                .unwrap_or(end)
    }
    /// The rows of y, ascending, that may be within reach of one of the sorted `rows`, which share
    /// a cell.
    pub(super) fn around(&self, rows: &Range<usize>, found: &mut Vec<u32>) {
        found.clear();
        let mut places = self.places[rows.clone()].iter().flatten();
        let Some(first) = places.next() else { return };
        let (mut lo, mut hi) = (*first, *first);
        for place in places {
            for at in 0..MOST {
                (lo[at], hi[at]) = (lo[at].min(place[at]), hi[at].max(place[at]));
            }
        }
        let met: [Met; MOST] = std::array::from_fn(|at| self.met(at, lo[at], hi[at]));
        for a in met[0].cells() {
            for b in met[1].cells() {
                let line = (a * self.cells[1] + b) * self.cells[2];
                for c in met[2].runs() {
                    let cells =
                        self.starts[line + c.start] as usize..self.starts[line + c.end] as usize;
                    found.extend_from_slice(&self.others[cells]);
                }
            }
        }
        found.sort_unstable();
    }
    /// Cells along a coordinate within a window of those between `lo` and `hi`.
    fn met(&self, at: usize, lo: f64, hi: f64) -> Met {
        let count = self.cells[at];
        if at >= self.windows.len() {
            return Met {
                first: 0,
                many: 1,
                count: 1,
            };
        }
        let (lo, hi) = (lo - self.windows.window(at), hi + self.windows.window(at));
        if !self.windows.is_periodic(at) {
            let (first, last) = (self.along(at, lo), self.along(at, hi));
            return Met {
                first,
                many: last - first + 1,
                count,
            };
        }
        let (first, last) = (
            (lo * count as f64).floor() as i64,
            (hi * count as f64).floor() as i64,
        );
        let many = (last - first + 1).clamp(1, count as i64) as usize;
        Met {
            first: first.rem_euclid(count as i64) as usize,
            many,
            count,
        }
    }
}

/// Cells of a coordinate, from one on, round the end where it is periodic.
#[derive(Clone, Copy)]
struct Met {
    first: usize,
    many: usize,
    count: usize,
}

impl Met {
    fn runs(self) -> [Range<usize>; 2] {
        let end = self.first + self.many;
        [
            self.first..end.min(self.count),
            0..end.saturating_sub(self.count),
        ]
    }
    fn cells(self) -> impl Iterator<Item = usize> {
        self.runs().into_iter().flatten()
    }
}

fn places(windows: &Windows, table: &Table) -> Vec<Option<Place>> {
    let mut row = vec![0.0; table.width()];
    let place = |at: usize| {
        table.row_into(at, &mut row);
        windows.place(&row)
    };
    (0..table.rows()).map(place).collect()
}
