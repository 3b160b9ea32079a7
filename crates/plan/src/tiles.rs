//! Tiles: numbered rectangles of cells that cover a space, in row-major order (the merge order).

use crate::order::Order;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use zipfold_core::fold::{BLOCK, Fold};
use zipfold_core::{Domain, Job, Precision, Space};

/// A rectangle of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Rows of x.
    pub rows: Range<usize>,
    /// Rows of y.
    pub cols: Range<usize>,
}

impl Tile {
    /// The blocks of the tile in `order`, by the numbers of their rows and of their columns, cut
    /// off at its ends.
    pub fn blocks(&self, order: Order) -> impl Iterator<Item = ((usize, usize), Tile)> {
        let numbers = |side: &Range<usize>| side.start / BLOCK..side.end.div_ceil(BLOCK);
        let clip = |b: usize, side: &Range<usize>| {
            (b * BLOCK).max(side.start)..((b + 1) * BLOCK).min(side.end)
        };
        let all = order
            .blocks(numbers(&self.rows), numbers(&self.cols))
            .into_iter();
        all.map(move |(i, j)| {
            (
                (i, j),
                Tile {
                    rows: clip(i, &self.rows),
                    cols: clip(j, &self.cols),
                },
            )
        })
    }
}

/// The rows of x that `tiles` have.
pub fn rows(tiles: &[Tile]) -> Range<usize> {
    let start = tiles.iter().map(|t| t.rows.start).min().unwrap_or(0);
    start..tiles.iter().map(|t| t.rows.end).max().unwrap_or(start)
}

/// The rows that pairs in `tiles` are credited to: those of x, and in half of a space those of both
/// sides.
pub fn credited(space: &Space, tiles: &[Tile]) -> Range<usize> {
    let Range { start, end } = rows(tiles);
    let columns = tiles
        .iter()
        .map(|t| t.cols.end)
        .filter(|_| space.is_triangular());
    start..columns.fold(end, usize::max)
}

/// Columns whose results may be added up in single precision, [`BLOCK`]s of them: tiles of sums by
/// row are as wide or a multiple, so that sums have the same bits for every tiling.
pub const SPAN: usize = 8 * BLOCK;

/// How a space is cut. Sides are multiples of [`BLOCK`], or widths of [`SPAN`], so that sums have
/// the same bits for every tiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tiling {
    /// Rows of a tile.
    pub rows: usize,
    /// Columns of a tile.
    pub cols: usize,
}

impl Tiling {
    /// Tiles of at least one block, sides rounded up to blocks.
    pub fn new(rows: usize, cols: usize) -> Self {
        let up = |v: usize| v.max(1).div_ceil(BLOCK) * BLOCK;
        Tiling {
            rows: up(rows),
            cols: up(cols),
        }
    }
    /// As wide that the spans of sums by row are whole, where `job` asks for such sums of single
    /// precision.
    pub fn in_spans(self, job: &Job) -> Self {
        let half = job.space.is_triangular();
        let summed = |f: &Fold| matches!(f, Fold::Rows(f) if f.sums_runs(half) || f.sums_weighted(half).is_some());
        let spans = job.precision == Precision::F32 && job.folds.iter().all(summed);
        Tiling {
            cols: self.cols.next_multiple_of(if spans { SPAN } else { BLOCK }),
            ..self
        }
    }
    /// The tiles of `space` that hold cells, in merge order.
    pub fn tiles(&self, space: &Space) -> Vec<Tile> {
        let mut out = vec![];
        for r in (0..space.n).step_by(self.rows) {
            let rows = r..(r + self.rows).min(space.n);
            for c in (0..space.m).step_by(self.cols) {
                let cols = c..(c + self.cols).min(space.m);
                let empty = match space.cells {
                    Domain::Triangle | Domain::Diagonal => cols.end <= rows.start,
                    _ => false,
                };
                if !empty {
                    out.push(Tile {
                        rows: rows.clone(),
                        cols,
                    });
                }
            }
        }
        out
    }
    /// The share `index` of `parts` of `tiles`, balanced by cells: shares are consecutive and cover
    /// all.
    pub fn share(&self, space: &Space, tiles: Vec<Tile>, index: usize, parts: usize) -> Vec<Tile> {
        let cells = |t: &Tile| space.count(&t.rows, &t.cols) as u128;
        let total: u128 = tiles.iter().map(cells).sum();
        let bound = |part: usize| total * part as u128 / parts as u128;
        let mut before = 0;
        let mut mine = vec![];
        for tile in tiles {
            let inside =
                before >= bound(index) && (before < bound(index + 1) || index + 1 == parts);
            before += cells(&tile);
            if inside {
                mine.push(tile);
            }
        }
        mine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_and_shares_cover_every_cell_once() {
        for cells in [
            Domain::Cross,
            Domain::Triangle,
            Domain::Diagonal,
            Domain::Ordered,
            Domain::Square,
        ] {
            for n in [0usize, 1, 127, 128, 129, 700] {
                let space = Space {
                    cells,
                    n,
                    m: if cells == Domain::Cross { 300 } else { n },
                    near: None,
                };
                let tiling = Tiling::new(200, 100);
                let count = |tiles: &[Tile]| {
                    tiles
                        .iter()
                        .map(|t| space.count(&t.rows, &t.cols))
                        .sum::<u64>()
                };
                let all = tiling.tiles(&space);
                assert_eq!(count(&all), space.size().unwrap());
                let shared: Vec<Tile> = (0..7)
                    .flat_map(|i| tiling.share(&space, all.clone(), i, 7))
                    .collect();
                assert_eq!(shared, all);
            }
        }
    }
}
