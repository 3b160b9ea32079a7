//! Shares of a run: parts of the pairs that any worker computes, in any order, and whose results
//! merge to the bits of one run.
//!
//! A share has the shape that makes its result small. A result that belongs to a row is complete in
//! one share where that is possible, so that merging is placing it:
//!
//! ```text
//! bands      rows of x with all rows of y             results by row, matrices
//! columns    rows of y with all rows of x             results by column
//! cells      squares of a grid                        counts, histograms, matches, the best pairs;
//!                                                     results by row of half of the pairs
//! crosses    rows of one table as rows and as columns neighbours of half of the pairs, and sums
//!            of half of the pairs                     where cells would have too many bytes
//! strips     rows of consecutive parts                questions about groups, or within keys
//! ```
//!
//! In half of the pairs a row is credited from both sides. A cell has what its pairs add to its rows
//! and to its columns: states, or sums of a few runs of blocks for each (`block_order` of the folds).
//! Cells of all shares hold each row about √(2 · shares) times, so bytes grow with the shares.
//!
//! A cross computes the pairs above its rows a second time, for what they add to its rows: half of
//! the pairs becomes all pairs, and the result is a state for each row, in all shares together.
//!
//! Shares are made of whole tiles, except for the columns of a cross. Sides of tiles come from the
//! problem, so every machine makes the same shares.

use crate::parts::tiles_of_run;
use crate::plan::Plan;
use crate::prune::walked;
use crate::tiles::{Tile, Tiling};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use zipfold_core::fold::{BLOCK, Fold, ReduceAxis};
use zipfold_core::{Job, Space};

/// Bytes of the results of all shares up to which every share has states of all rows, rather than
/// pairs computed twice.
const LITTLE: u64 = 64 << 20;
/// Bytes of the results of all cells up to which pairs are not computed twice.
const MUCH: u64 = 1 << 30;
/// States that a share has for each row of a square as large as its pairs: both sides of the square,
/// and up to several nodes for each, as the order of tiles leaves them. A test holds the bytes of 8 and
/// of 30 shares to it; 2 or 3 shares may have more.
const OF_SQUARE: f64 = 5.0;

/// What the shares of a question look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cut {
    /// Rows of x with all rows of y.
    Bands,
    /// Rows of y with all rows of x.
    Columns,
    /// Rows of one table, as rows and as columns of half of the pairs.
    Crosses,
    /// Squares of a grid.
    Cells,
    /// Rows of consecutive parts.
    Strips,
}

impl Cut {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Cut::Bands => "bands of rows",
            Cut::Columns => "bands of columns",
            Cut::Crosses => "crosses",
            Cut::Cells => "cells of a grid",
            Cut::Strips => "strips of parts",
        }
    }
}

/// A share of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its shape.
    pub shape: Cut,
    /// The rows whose results it has, complete; of columns the rows of y.
    pub rows: Range<usize>,
    /// Whether states are those of `rows` alone.
    pub placed: bool,
    /// Its tiles in merge order.
    pub tiles: Vec<Tile>,
    /// How many of the first tiles belong to other shares, and are computed for what they add to
    /// the rows of this one.
    pub foreign: usize,
}

impl Share {
    /// Returns whether the results of a fold along `axis` are those of the rows of this share.
    pub fn has_results_of(&self, axis: ReduceAxis) -> bool {
        match self.shape {
            // Rows and columns are those of one table.
            Cut::Crosses => true,
            Cut::Columns => axis == ReduceAxis::Column,
            Cut::Bands => axis != ReduceAxis::Column,
            Cut::Cells | Cut::Strips => false,
        }
    }
}

/// Returns whether results of the fold have no rows, and the same bits in any order of pairs.
fn is_loose(fold: &Fold) -> bool {
    match fold {
        Fold::Histogram(_) | Fold::Extremes(_) | Fold::Top(_) => true,
        Fold::Join(join) => join.is_inner(),
        Fold::Grouped(grouped) => is_loose(&grouped.inner),
        Fold::Reduce(_)
        | Fold::Nearest(_)
        | Fold::Dense(_)
        | Fold::Quantile(_)
        | Fold::Listed(_) => false,
    }
}

/// Returns whether a pair of a `half` domain is credited to both of its rows.
fn credits_both(fold: &Fold, half: bool) -> bool {
    match fold {
        Fold::Reduce(reduce) => reduce.credits_both(half),
        Fold::Nearest(_) => half,
        Fold::Join(join) => half && !join.is_inner(),
        Fold::Histogram(_)
        | Fold::Extremes(_)
        | Fold::Top(_)
        | Fold::Dense(_)
        | Fold::Quantile(_)
        | Fold::Listed(_)
        | Fold::Grouped(_) => false,
    }
}

/// Returns whether the fold has a result for each row of y.
fn is_by_column(fold: &Fold) -> bool {
    matches!(fold, Fold::Reduce(reduce) if reduce.axis == ReduceAxis::Column)
}

/// Bytes of the results of `parts` bands of half of the pairs, without sums: those have cells.
fn banded_bytes(job: &Job, parts: usize) -> u64 {
    let (n, m) = (job.space.n, job.space.m);
    let of = |fold: &Fold| {
        let states = if credits_both(fold, true) { parts } else { 1 };
        fold.bytes(n, m).saturating_mul(states as u64)
    };
    job.folds.iter().map(of).fold(0, u64::saturating_add)
}

/// Bytes of the results of `parts` cells of half of the pairs.
pub fn cell_bytes(job: &Job, parts: usize) -> u64 {
    let (n, m) = (job.space.n, job.space.m);
    let of = |fold: &Fold| {
        let states = match credits_both(fold, true) {
            // A square of its pairs has n / √(2 · parts) rows.
            true => OF_SQUARE * (parts as f64 / 2.0).sqrt().max(1.0),
            false => parts as f64,
        };
        fold.bytes(n, m) as f64 * states
    };
    job.folds.iter().map(of).sum::<f64>() as u64
}

/// Returns whether every result is one of cells: without rows, or of rows and columns of the cell.
fn serves_cells(job: &Job) -> bool {
    let by_row = |fold: &Fold| matches!(fold, Fold::Reduce(_));
    job.folds.iter().all(|fold| is_loose(fold) || by_row(fold))
}

/// Returns the shape of `parts` shares of the run of `job` by `plan`.
pub fn shape(job: &Job, plan: &Plan, parts: usize) -> Cut {
    let half = walked(job, plan.prune).is_triangular();
    let both = job.folds.iter().any(|fold| credits_both(fold, half));
    let none_loose = !job.folds.iter().any(is_loose);
    let swept = both && !plan.prune.is_on();
    if plan.part.is_some() {
        Cut::Strips
    } else if job.folds.iter().all(is_loose)
        || swept && serves_cells(job) && cell_bytes(job, parts) <= MUCH
    {
        Cut::Cells
    } else if !half && job.folds.iter().all(is_by_column) {
        Cut::Columns
    } else if swept && none_loose && banded_bytes(job, parts) > LITTLE {
        Cut::Crosses
    } else {
        Cut::Bands
    }
}

/// Returns share `index` of `parts` of the run of `job` by `plan`. Shares are disjoint in the pairs
/// that they count, cover all of them, and have about as many each. A share of few rows may be
/// empty.
pub fn share(job: &Job, plan: &Plan, index: usize, parts: usize) -> Share {
    let tiles = tiles_of_run(job, plan);
    let space = walked(job, plan.prune);
    let shape = shape(job, plan, parts);
    let count = |tile: &Tile| crate::parts::count(job, plan, tile);
    match shape {
        Cut::Cells => {
            let sorted = match job.folds.iter().all(is_loose) {
                true => by_cells(tiles, &space, parts),
                false => by_squares(tiles),
            };
            let mut mine = Tiling::shard(sorted, count, index, parts);
            mine.sort_by_key(|tile| (tile.rows.start, tile.cols.start));
            whole(shape, mine, &space)
        }
        Cut::Strips => whole(shape, Tiling::shard(tiles, count, index, parts), &space),
        Cut::Bands => {
            let rows = cut(&tiles, |tile| &tile.rows, count, index, parts);
            let mine = tiles.into_iter().filter(|tile| within(&tile.rows, &rows));
            Share {
                shape,
                placed: !space.is_triangular(),
                tiles: mine.collect(),
                rows,
                foreign: 0,
            }
        }
        Cut::Columns => {
            let rows = cut(&tiles, |tile| &tile.cols, count, index, parts);
            let mine = tiles.into_iter().filter(|tile| within(&tile.cols, &rows));
            Share {
                shape,
                placed: true,
                tiles: mine.collect(),
                rows,
                foreign: 0,
            }
        }
        Cut::Crosses => {
            // A cross meets all rows, so its work is that of its rows; of a band, that of its pairs.
            let work = |tile: &Tile| match space.band.is_some() {
                true => count(tile),
                false => u64::from(tile.cols.end == space.m) * tile.rows.len() as u64,
            };
            let rows = cut(&tiles, |tile| &tile.rows, work, index, parts);
            cross(tiles, rows)
        }
    }
}

/// Returns how many shares have a tile of their own at most.
pub fn most(job: &Job, plan: &Plan) -> usize {
    let tiles = tiles_of_run(job, plan);
    let side = |of: fn(&Tile) -> &Range<usize>| starts(&tiles, of).len();
    match shape(job, plan, usize::MAX) {
        Cut::Cells | Cut::Strips => tiles.len(),
        Cut::Bands | Cut::Crosses => side(|tile| &tile.rows),
        Cut::Columns => side(|tile| &tile.cols),
    }
}

/// A share whose states are those of all rows.
fn whole(shape: Cut, tiles: Vec<Tile>, space: &Space) -> Share {
    Share {
        shape,
        rows: 0..space.n,
        placed: false,
        tiles,
        foreign: 0,
    }
}

fn within(tile: &Range<usize>, rows: &Range<usize>) -> bool {
    rows.start <= tile.start && tile.start < rows.end
}

/// The cross of these rows: the columns of the tiles above, then the rows.
fn cross(tiles: Vec<Tile>, rows: Range<usize>) -> Share {
    let (mut above, mut own) = (vec![], vec![]);
    for tile in tiles {
        let cols = tile.cols.start.max(rows.start)..tile.cols.end.min(rows.end);
        if within(&tile.rows, &rows) {
            own.push(tile);
        } else if tile.rows.start < rows.start && !cols.is_empty() {
            above.push(Tile { cols, ..tile });
        }
    }
    let foreign = above.len();
    above.append(&mut own);
    Share {
        shape: Cut::Crosses,
        rows,
        placed: true,
        tiles: above,
        foreign,
    }
}

/// Where the ranges of a side begin, in order.
fn starts(tiles: &[Tile], side: impl Fn(&Tile) -> &Range<usize>) -> Vec<usize> {
    let mut starts: Vec<usize> = tiles.iter().map(|tile| side(tile).start).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

/// Range `index` of `parts` of a side, which ends with tiles and has about as much work as others.
fn cut(
    tiles: &[Tile],
    side: impl Fn(&Tile) -> &Range<usize>,
    work: impl Fn(&Tile) -> u64,
    index: usize,
    parts: usize,
) -> Range<usize> {
    let starts = starts(tiles, &side);
    let end = tiles.iter().map(|tile| side(tile).end).max().unwrap_or(0);
    let mut sums = vec![0u128; starts.len()];
    for tile in tiles {
        let at = starts.partition_point(|start| *start <= side(tile).start);
        sums[at - 1] += u128::from(work(tile));
    }
    // What lies before each range.
    let mut total = 0;
    for sum in &mut sums {
        total += std::mem::replace(sum, total);
    }
    let begin = |part: usize| {
        let bound = total * part as u128 / parts as u128;
        let at = sums.partition_point(|before| *before < bound);
        let at = if part == 0 { 0 } else { at };
        starts
            .get(at)
            .copied()
            .filter(|_| part < parts)
            .unwrap_or(end)
    };
    begin(index)..begin(index + 1)
}

/// The tiles by cells of a grid, so that consecutive ones share rows of both sides: as many cells as
/// `parts`, or twice as many places where half of them are empty.
fn by_cells(mut tiles: Vec<Tile>, space: &Space, parts: usize) -> Vec<Tile> {
    let places = parts.saturating_mul(if space.is_triangular() { 2 } else { 1 });
    let side = places.isqrt().max(1) as u128;
    let of = |at: usize, rows: usize| at as u128 * side / rows.max(1) as u128;
    let cell = |tile: &Tile| (of(tile.rows.start, space.n), of(tile.cols.start, space.m));
    tiles.sort_by_key(cell);
    tiles
}

/// The tiles along a curve through aligned squares of 2, 4, 8 and more blocks: a run of them is few
/// squares, so it has few nodes of the sums of a row.
fn by_squares(mut tiles: Vec<Tile>) -> Vec<Tile> {
    let spread = |at: usize| {
        let bits = (0..u32::BITS).filter(|bit| at >> bit & 1 == 1);
        bits.fold(0u64, |sum, bit| sum | 1 << (2 * bit))
    };
    let blocks = |start: usize| spread(start / BLOCK);
    tiles.sort_by_key(|tile| blocks(tile.rows.start) << 1 | blocks(tile.cols.start));
    tiles
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::Domain;

    fn space(domain: Domain, n: usize) -> Space {
        let m = if domain == Domain::Cross { 900 } else { n };
        Space {
            domain,
            n,
            m,
            cutoff: None,
            band: None,
        }
    }

    #[test]
    fn ranges_of_a_side_are_disjoint_cover_it_and_are_balanced() {
        for domain in [Domain::Cross, Domain::Triangle, Domain::Ordered] {
            for n in [0, 1, 128, 129, 5000] {
                let space = space(domain, n);
                let tiles = Tiling::new(128, 256).tiles(&space);
                let count = |tile: &Tile| space.count(&tile.rows, &tile.cols);
                for parts in [1, 2, 3, 7, 100] {
                    let of = |at| cut(&tiles, |tile| &tile.rows, count, at, parts);
                    let ranges: Vec<Range<usize>> = (0..parts).map(of).collect();
                    assert_eq!(ranges[0].start, 0);
                    let end = ranges.iter().fold(0, |end, range| {
                        assert_eq!(range.start, end, "{domain:?} {n} {parts}");
                        range.end
                    });
                    assert_eq!(end, tiles.iter().map(|t| t.rows.end).max().unwrap_or(0));
                    let pairs = ranges.iter().map(|rows| space.count(rows, &(0..space.m)));
                    let (most, strip) = (pairs.max().unwrap(), 128 * space.m as u64);
                    assert!(most <= space.size().unwrap() / parts as u64 + 2 * strip);
                }
            }
        }
    }

    #[test]
    fn crosses_credit_every_row_with_all_others_once() {
        let space = space(Domain::Triangle, 1000);
        let tiles = Tiling::new(128, 256).tiles(&space);
        let mut own = 0;
        for rows in [0..256, 256..896, 896..1000] {
            let share = cross(tiles.clone(), rows.clone());
            let mut credits = vec![0u64; 1000];
            for tile in &share.tiles {
                for i in tile.rows.clone() {
                    for j in space.columns(i, &tile.cols).into_iter().flatten() {
                        credits[i] += 1;
                        credits[j] += 1;
                    }
                }
            }
            assert!(rows.clone().all(|row| credits[row] == 999));
            own += share.tiles[share.foreign..]
                .iter()
                .map(|tile| space.count(&tile.rows, &tile.cols))
                .sum::<u64>();
        }
        assert_eq!(own, space.size().unwrap());
    }

    #[test]
    fn cells_keep_all_tiles_and_bring_neighbours_together() {
        let space = space(Domain::Ordered, 4096);
        let tiles = Tiling::new(128, 128).tiles(&space);
        let sorted = by_cells(tiles.clone(), &space, 16);
        assert_eq!(sorted.len(), tiles.len());
        // The first cell is a square of a quarter of each side.
        let first = &sorted[..tiles.len() / 16];
        assert!(
            first
                .iter()
                .all(|tile| tile.rows.end <= 1024 && tile.cols.end <= 1024)
        );
    }
    #[test]
    fn runs_of_tiles_along_the_curve_are_aligned_squares() {
        let space = space(Domain::Ordered, 4096);
        let tiles = Tiling::new(128, 256).tiles(&space);
        let sorted = by_squares(tiles.clone());
        assert_eq!(sorted.len(), tiles.len());
        for square in sorted.chunks(tiles.len() / 16) {
            let first = &square[0];
            assert!(first.rows.start.is_multiple_of(1024) && first.cols.start.is_multiple_of(1024));
            let within =
                |at: &Range<usize>, first: usize| at.start >= first && at.end <= first + 1024;
            let inside = |tile: &Tile| {
                within(&tile.rows, first.rows.start) && within(&tile.cols, first.cols.start)
            };
            assert!(square.iter().all(inside));
        }
    }
}
