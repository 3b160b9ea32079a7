//! Tiles: rectangles of pairs that cover a domain, numbered in row-major order, which is the order
//! in which their results are merged.
//!
//! The order of merging decides the last bits of float sums, so it depends on the problem and the
//! tiling alone. Tiles whose sides are multiples of a block ([`BLOCK`]) then give the same bits for
//! every tiling, because sums are taken within blocks and blocks are added in order.
//!
//! ```text
//! n = 300, triangle, tiles of 128 × 128:     (0,0) (0,1) (0,2)
//!                                                  (1,1) (1,2)
//!                                                        (2,2)     6 tiles, the last ones cut off at 300
//! ```

use crate::order::Order;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use zipfold_core::fold::{BLOCK, Fold};
use zipfold_core::{Error, Job, Precision, Result, Space};

/// A rectangle of pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Rows of x.
    pub rows: Range<usize>,
    /// Rows of y.
    pub cols: Range<usize>,
}

impl Tile {
    /// Lists the blocks of the tile in `order`, with their numbers (row of blocks, column of
    /// blocks), cut off at the tile's ends. Numbers count from the beginning of the domain, not of
    /// the tile.
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

/// Returns the rows of consecutive `tiles`, each of which has all of `m` columns.
///
/// # Errors
/// `Internal` for other tiles.
pub fn whole_rows(tiles: &[Tile], m: usize) -> Result<Range<usize>> {
    let all = rows(tiles);
    let covered: usize = tiles.iter().map(|tile| tile.rows.len()).sum();
    match covered == all.len() && tiles.iter().all(|tile| tile.cols == (0..m)) {
        true => Ok(all),
        false => Err(Error::internal(
            "tiles of some columns, where rows want all",
        )),
    }
}

/// Returns the rows of x that `tiles` span.
pub fn rows(tiles: &[Tile]) -> Range<usize> {
    let start = tiles.iter().map(|t| t.rows.start).min().unwrap_or(0);
    start..tiles.iter().map(|t| t.rows.end).max().unwrap_or(start)
}

/// Returns the rows that pairs in `tiles` are credited to: those of x, and in a triangular domain
/// those of both sides. A state by row needs to be no longer than that.
pub fn credited(space: &Space, tiles: &[Tile]) -> Range<usize> {
    let Range { start, end } = rows(tiles);
    let columns = tiles
        .iter()
        .map(|t| t.cols.end)
        .filter(|_| space.is_triangular());
    start..columns.fold(end, usize::max)
}

/// Columns whose results may be added in single precision: 8 blocks. Tiles of such sums are as wide
/// or a multiple, so that sums have the same bits for every tiling. Part of the definition of such
/// sums, like [`BLOCK`]: another value would change their bits.
pub const SPAN: usize = 8 * BLOCK;

/// Tiles that a run lists without thinking: 64 MiB. From about 1.5 · 10⁶ rows on tiles grow.
const LISTED: usize = 1 << 21;
/// The side of a tile that does not grow any more: sums of its blocks are kept apart until they are
/// added, 32 MiB of them.
const LARGEST: usize = 128 * BLOCK;

/// How a domain is cut: the sides of a tile, multiples of [`BLOCK`], or of [`SPAN`] in width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tiling {
    /// Rows of a tile.
    pub rows: usize,
    /// Columns of a tile.
    pub cols: usize,
}

impl Tiling {
    /// Returns a tiling with sides rounded up to blocks, at least one.
    pub fn new(rows: usize, cols: usize) -> Self {
        let up = |v: usize| v.max(1).div_ceil(BLOCK) * BLOCK;
        Tiling {
            rows: up(rows),
            cols: up(cols),
        }
    }
    /// Widens tiles to whole spans if `job` has sums by row in single precision.
    pub fn in_spans(self, job: &Job) -> Self {
        let half = job.space.is_triangular();
        let summed = |f: &Fold| matches!(f, Fold::Reduce(f) if f.sums_runs(half) || f.sums_weighted(half).is_some());
        let spans = job.precision == Precision::F32 && job.folds.iter().all(summed);
        Tiling {
            cols: self.cols.next_multiple_of(if spans { SPAN } else { BLOCK }),
            ..self
        }
    }
    /// Returns how many tiles of `space` hold pairs, without a list of them.
    pub fn count(&self, space: &Space) -> usize {
        let strips = (0..space.n).step_by(self.rows);
        let rows = |row: usize| row..(row + self.rows).min(space.n);
        strips
            .map(|row| self.columns(space, &rows(row)).len())
            .sum()
    }
    /// Returns the columns of tiles that may hold pairs of `rows`, by their numbers. Every row has a
    /// tile, even one without a pair, so that it has a result.
    fn columns(&self, space: &Space, rows: &Range<usize>) -> Range<usize> {
        let (met, all) = (space.met(rows), space.m.div_ceil(self.cols));
        let first = (met.start / self.cols).min(all.saturating_sub(1));
        first..met.end.div_ceil(self.cols).max(first + 1).min(all)
    }
    /// Returns the tiling with sides that are doubled, in turn, until `space` has few enough tiles
    /// for a list (`LISTED`), or a tile is as large as may be (`LARGEST`).
    pub fn listed(self, space: &Space) -> Self {
        let mut tiling = self;
        while tiling.count(space) > LISTED && tiling.rows.min(tiling.cols) < LARGEST {
            if tiling.rows <= tiling.cols {
                tiling.rows *= 2;
            } else {
                tiling.cols *= 2;
            }
        }
        tiling
    }
    /// Lists the tiles of `space` that hold pairs, in merge order. Below the diagonal of a
    /// triangular domain there are none, nor outside a band.
    pub fn tiles(&self, space: &Space) -> Vec<Tile> {
        self.tiles_of(space, &(0..space.n))
    }
    /// Lists the tiles of these rows of `space`, which begin with a block.
    pub fn tiles_of(&self, space: &Space, strip: &Range<usize>) -> Vec<Tile> {
        let mut out = vec![];
        for r in strip.clone().step_by(self.rows) {
            let rows = r..(r + self.rows).min(strip.end);
            for c in self.columns(space, &rows) {
                let first = c * self.cols;
                out.push(Tile {
                    rows: rows.clone(),
                    cols: first..(first + self.cols).min(space.m),
                });
            }
        }
        out
    }
    /// Returns shard `index` of `parts`: consecutive tiles with about the same number of pairs.
    /// Shards are disjoint and cover all tiles, because each tile belongs to the shard in whose
    /// interval of pairs it begins.
    pub fn shard(
        tiles: Vec<Tile>,
        count: impl Fn(&Tile) -> u64,
        index: usize,
        parts: usize,
    ) -> Vec<Tile> {
        let pairs = |t: &Tile| u128::from(count(t));
        let total: u128 = tiles.iter().map(pairs).sum();
        let bound = |part: usize| total * part as u128 / parts as u128;
        let mut before = 0;
        let mut mine = vec![];
        for tile in tiles {
            let inside =
                before >= bound(index) && (before < bound(index + 1) || index + 1 == parts);
            before += pairs(&tile);
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
    use zipfold_core::{Band, Domain};

    #[test]
    fn tiles_of_many_rows_are_few_enough_for_a_list() {
        let small = Tiling::new(1024, 1024);
        for (n, domain) in [
            (1_000_000, Domain::Ordered),
            (10_000_000, Domain::Ordered),
            (10_000_000, Domain::Triangle),
            (100_000_000, Domain::Triangle),
        ] {
            let space = Space {
                domain,
                n,
                m: n,
                cutoff: None,
                band: None,
            };
            let tiling = small.listed(&space);
            assert_eq!(tiling == small, n == 1_000_000);
            assert!(tiling.cols.is_multiple_of(SPAN) && tiling.rows.is_multiple_of(BLOCK));
            let most = if n < 100_000_000 { LISTED } else { 20 * LISTED };
            assert!(tiling.count(&space) <= most, "{n}: {tiling:?}");
        }
    }

    #[test]
    fn tiles_and_shares_cover_every_cell_once() {
        for domain in [
            Domain::Cross,
            Domain::Triangle,
            Domain::Diagonal,
            Domain::Ordered,
            Domain::Square,
        ] {
            for n in [0usize, 1, 127, 128, 129, 700] {
                check(domain, n, None);
                // A band that ends before the last rows do, which still have a tile.
                let near = |i: usize| i.saturating_sub(90).min(n)..(i + 120).min(n).min(290);
                check(domain, n, Some(Band::new((0..n).map(near))));
            }
        }
    }

    fn check(domain: Domain, n: usize, band: Option<Band>) {
        let space = Space {
            domain,
            n,
            m: if domain == Domain::Cross { 300 } else { n },
            cutoff: None,
            band,
        };
        let tiling = Tiling::new(200, 100);
        let count = |tiles: &[Tile]| {
            tiles
                .iter()
                .map(|t| space.count(&t.rows, &t.cols))
                .sum::<u64>()
        };
        let all = tiling.tiles(&space);
        assert_eq!(tiling.count(&space), all.len(), "{domain:?} {n}");
        assert_eq!(count(&all), space.size().unwrap());
        let shared: Vec<Tile> = (0..7)
            .flat_map(|i| {
                let count = |t: &Tile| space.count(&t.rows, &t.cols);
                Tiling::shard(all.clone(), count, i, 7)
            })
            .collect();
        assert_eq!(shared, all);
        let rows = all.iter().flat_map(|tile| tile.rows.clone());
        let rows: std::collections::BTreeSet<usize> = rows.collect();
        assert_eq!(rows.len(), if space.m > 0 { n } else { 0 });
    }
}
