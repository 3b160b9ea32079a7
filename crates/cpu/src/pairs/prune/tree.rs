//! Rows along a space-filling curve, and a small hierarchy of bounding boxes over them.

use rayon::prelude::*;
use zipfold_core::pair::interval_bounds::{Bounds, LANES, hoisted_into};
use zipfold_core::pair::lower::Lowered;
use zipfold_core::space::curve::{self, Coordinates};
use zipfold_core::{Side, Table};
use zipfold_vector::memory::Block;

/// Rows that one thread hoists at a time.
const CHUNK: usize = 2048;

/// Threads from which on a sort by comparison, which they share, is faster than one by digits.
const SORTERS: usize = 4;

/// Hoisted values of all rows of a side: `width` numbers each, row-major.
#[derive(Debug)]
pub(super) struct Hoisted {
    /// The numbers.
    pub values: Block<f64>,
    /// Numbers in a row.
    pub width: usize,
}

impl Hoisted {
    /// Hoists the rows of `table`.
    pub(super) fn new(low: &Lowered, table: &Table, side: Side) -> Hoisted {
        let width = Bounds::coordinates(low, side);
        let mut values = Block::zeros(table.rows() * width);
        if let Some(columns) = low.raw_columns(side) {
            values
                .par_chunks_mut((CHUNK * width).max(1))
                .enumerate()
                .for_each(|(chunk, out)| {
                    let mut whole = vec![0.0; table.width()];
                    for (at, out) in out.chunks_exact_mut(width).enumerate() {
                        let row = chunk * CHUNK + at;
                        if table.width() > 4 * width {
                            out.iter_mut()
                                .zip(&columns)
                                .for_each(|(o, c)| *o = table.get(row, *c));
                            continue;
                        }
                        table.row_into(row, &mut whole);
                        out.iter_mut()
                            .zip(&columns)
                            .for_each(|(o, c)| *o = whole[*c]);
                    }
                });
            return Hoisted { values, width };
        }
        values
            .par_chunks_mut((CHUNK * width).max(1))
            .enumerate()
            .for_each(|(chunk, out)| {
                let mut hoister = low.hoister(side);
                let mut row = vec![];
                for (at, out) in out.chunks_exact_mut(width).enumerate() {
                    hoister.load(table, chunk * CHUNK + at);
                    hoisted_into(&hoister, low, side, &mut row);
                    out.copy_from_slice(&row);
                }
            });
        Hoisted { values, width }
    }
    /// The order of the rows along the curve: components of a vector share a scale, numbers have
    /// their own.
    pub(super) fn order(&self, low: &Lowered, side: Side) -> Vec<u32> {
        let row_vectors = low.row_vectors[side as usize].len();
        let mut groups: Vec<Vec<usize>> = (0..row_vectors)
            .map(|s| (s * low.dim..(s + 1) * low.dim).collect())
            .collect();
        groups.extend((row_vectors * low.dim..self.width).map(|c| vec![c]));
        let coordinates = Coordinates {
            values: &self.values,
            width: self.width,
            groups,
        };
        match coordinates.whole() {
            None => (0..coordinates.rows() as u32).collect(),
            Some(grid) => {
                let rows = self.values.par_chunks_exact(self.width).with_min_len(CHUNK);
                let mut places: Vec<(u64, u32)> =
                    rows.map(|row| grid.key(row)).zip(0..self.rows()).collect();
                // By key, ties by row: the one order that there is, whoever sorts.
                if rayon::current_num_threads() >= SORTERS {
                    places.par_sort_unstable();
                } else {
                    curve::sort(&mut places, &grid);
                }
                curve::order(&coordinates, places)
            }
        }
    }
    fn rows(&self) -> u32 {
        (self.values.len() / self.width.max(1)) as u32
    }
    /// The row `order[row]`, or none behind the last.
    pub(super) fn row(&self, order: &[u32], row: usize) -> Option<&[f64]> {
        let at = *order.get(row)? as usize;
        Some(&self.values[at * self.width..][..self.width])
    }
}

/// Boxes over runs of rows or of smaller boxes: hoisted value c of box b lies between
/// `lo[c·stride + b]` and `hi[c·stride + b]`, both NaN where one is NaN. A batch of [`LANES`] may
/// be read from any box on.
#[derive(Clone, Debug)]
pub(super) struct Level {
    /// Boxes.
    pub count: usize,
    /// From one hoisted value to the next.
    pub stride: usize,
    /// Least values.
    pub lo: Vec<f64>,
    /// Largest values.
    pub hi: Vec<f64>,
}

impl Level {
    /// No bounds yet.
    fn new(count: usize, width: usize) -> Level {
        let stride = count + LANES;
        Level {
            count,
            stride,
            lo: vec![f64::INFINITY; stride * width],
            hi: vec![f64::NEG_INFINITY; stride * width],
        }
    }
    fn widen(&mut self, at: usize, lo: f64, hi: f64) {
        let (l, h) = (&mut self.lo[at], &mut self.hi[at]);
        // A comparison with NaN is false, so that NaN, once there, stays.
        *l = if lo >= *l || l.is_nan() { *l } else { lo };
        *h = if hi <= *h || h.is_nan() { *h } else { hi };
    }
    /// The boxes of `size` rows each, in `order`.
    pub(super) fn over_rows(hoisted: &Hoisted, order: &[u32], size: usize) -> Level {
        let width = hoisted.width;
        let mut level = Level::new(order.len().div_ceil(size), width);
        // Threads box some rows each, box by box; levels lie number by number.
        let step = CHUNK.div_ceil(size) * size;
        let parts = order.par_chunks(step).map(|rows| {
            let mut part = Level::new(rows.len().div_ceil(size), width);
            for row in 0..rows.len() {
                let Some(values) = hoisted.row(rows, row) else {
                    continue;
                };
                for (c, v) in values.iter().enumerate() {
                    part.widen(c * part.stride + row / size, *v, *v);
                }
            }
            part
        });
        let parts: Vec<Level> = parts.collect();
        for (part, first) in parts.iter().zip((0..).step_by(step / size)) {
            for c in 0..width {
                let (to, from) = (c * level.stride + first, c * part.stride);
                level.lo[to..to + part.count].copy_from_slice(&part.lo[from..from + part.count]);
                level.hi[to..to + part.count].copy_from_slice(&part.hi[from..from + part.count]);
            }
        }
        level
    }
    /// The boxes of [`LANES`] boxes of `below` each.
    pub(super) fn over(below: &Level, width: usize) -> Level {
        let mut level = Level::new(below.count.div_ceil(LANES), width);
        for c in 0..width {
            for b in 0..below.count {
                let at = c * below.stride + b;
                level.widen(c * level.stride + b / LANES, below.lo[at], below.hi[at]);
            }
        }
        level
    }
}

/// Boxes of `leaf` rows, boxes of those, and so on, up to one batch.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// Rows in a leaf.
    pub leaf: usize,
    /// From the leaves up; the last has at most [`LANES`] boxes.
    pub levels: Vec<Level>,
}

impl Tree {
    /// The tree over rows in `order`.
    pub(super) fn new(hoisted: &Hoisted, order: &[u32], leaf: usize) -> Tree {
        let mut levels = vec![Level::over_rows(hoisted, order, leaf)];
        while levels[levels.len() - 1].count > LANES {
            let above = Level::over(&levels[levels.len() - 1], hoisted.width);
            levels.push(above);
        }
        Tree { leaf, levels }
    }
    /// Rows under a box of a level.
    pub(super) fn span(&self, level: usize) -> usize {
        self.leaf * LANES.pow(level as u32)
    }
}
