//! The bytes that a run takes in addition to its inputs, as functions of job and plan.
//!
//! The run reserves them from its budget before it starts, so they must be upper bounds, and near
//! ones: too large a bound refuses questions that would fit. They are sums over what each strategy
//! allocates; the comments name the arrays.

use crate::filter::{Form, LONG};
use crate::overrides::Overrides;
use crate::prune::{self, Prune};
use crate::search::{Search, SearchQuestion};
use crate::tiles::{Tile, Tiling};
use crate::worst_row;
use zipfold_core::fold::{BLOCK, Fold};
use zipfold_core::{Job, Precision, Space};

/// Returns the bytes of a dense result; 0 for other folds.
pub fn dense_bytes(fold: &Fold, n: usize, m: usize, precision: Precision) -> u64 {
    fold.dense().map_or(0, |f| {
        f.elements(n, m).saturating_mul(precision.bytes() as u64)
    })
}

/// Returns the bytes of hoisted rows, copies of them, and of what each thread holds.
pub fn working_bytes(job: &Job, threads: usize, tiling: Tiling, prune: Prune) -> u64 {
    let threads = threads as u64;
    let nodes = job.low.formula.nodes().len() as u64;
    // What one thread needs to evaluate a block: a vector of 128 numbers for each node, and a few
    // more.
    let registers = (nodes + 8 + BLOCK as u64 * 2) * (BLOCK * 8) as u64;
    let rows = [
        hoisted_bytes(job, 0, job.space.n),
        hoisted_bytes(job, 1, job.space.m),
    ];
    if prune.column_grid.is_some() {
        // Hoisted rows, sorted ones, columns and order; of one table where it meets itself.
        let other = if job.y.is_some() { rows[1] } else { 0 };
        return 7 * (rows[0] + other) + threads * registers + group_bytes(job, threads, prune);
    }
    let search = prune.is_on()
        && Search::for_job(job).is_some_and(|s| s.question != SearchQuestion::Extremes);
    if search {
        return search_bytes(job, rows) + threads * registers;
    }
    // With bounds a tile may have all rows, and threads hold none of them.
    let tile = if prune.is_on() {
        0
    } else {
        (tiling.rows + tiling.cols) as u64 * 64
    };
    // A matrix on its way into a file is gathered tile by tile, with the transposed tile of a
    // symmetric one.
    let gathered = 3
        * job.folds.iter().filter(|f| f.is_dense()).count() as u64
        * (tiling.rows * tiling.cols * 8) as u64;
    let lists = prune.grid.map_or(0, |grid| prune::list_bytes(job, &grid));
    // Values of rows that are not finished, in lists that grow by doubling.
    let whole = job
        .folds
        .iter()
        .filter(|fold| fold.traits().whole_rows)
        .count() as u64;
    let longest = if whole > 0 {
        longest_row(&job.space)
    } else {
        0
    };
    let open = whole * 16 * (tiling.rows.min(job.space.n) * longest) as u64;
    // Pruned runs have few tiles.
    let listed = if prune.is_on() {
        0
    } else {
        tiling.count(&job.space) * size_of::<Tile>()
    };
    // Rows of a tile and pieces of columns, each with a copy as its kernel takes it.
    let by_pieces = worst_row::by_pieces(job, &Overrides::default());
    let pieces = match !prune.is_on() && tiling.cols >= job.space.m && by_pieces {
        true => 3 * (rows[1] + hoisted_bytes(job, 0, tiling.rows)),
        false => 0,
    };
    listed as u64
        + threads * pieces
        + copies(job, prune) * (rows[0] + rows[1])
        + weight_bytes(job)
        + threads * (registers + tile + gathered + lists + open)
}

/// Returns the most columns that the rows of a block may meet.
fn longest_row(space: &Space) -> usize {
    if space.band.is_none() {
        return space.m;
    }
    let blocks = (0..space.n).step_by(BLOCK);
    let met = blocks.map(|row| space.met(&(row..(row + BLOCK).min(space.n))).len());
    met.max().unwrap_or(0)
}

/// Returns the bytes of groups of sorted rows and of places, and of the counters of every thread.
fn group_bytes(job: &Job, threads: u64, prune: Prune) -> u64 {
    let groups = prune
        .column_grid
        .map_or(0, |column_grid| column_grid.groups);
    if groups == 0 {
        return 0;
    }
    // A counter of 32 bits, its count, and of both sums what is not added yet and the numbers. Copies
    // of few sums take less than a megabyte.
    let counters = counters(job, groups as usize) as u64;
    let of_thread = counters.saturating_mul(100).saturating_add(1 << 20);
    12 * (job.space.n + job.space.m) as u64 + threads.saturating_mul(of_thread)
}

/// Returns the bytes of the rows of `job` as bounds take them, along the curve.
pub fn sorted_bytes(job: &Job) -> u64 {
    // A place and a key a row.
    const ORDERED: u64 = 16;
    let (n, m) = (job.space.n, if job.y.is_some() { job.space.m } else { 0 });
    let rows = hoisted_bytes(job, 0, n) + hoisted_bytes(job, 1, job.space.m);
    rows + ORDERED * (n as u64 + m as u64)
}

/// Returns the bytes of the hoisted values, in f64, of this many rows of side 0 (x) or 1 (y).
///
/// In f64 also for f32 tables: hoisted values are those of the reference.
fn hoisted_bytes(job: &Job, side: usize, rows: usize) -> u64 {
    let low = &job.low;
    (rows * (low.row_vectors[side].len() * low.dim + low.row_scalars[side].len()) * 8) as u64
}

/// Returns the bytes of hierarchies: hoisted rows of both sides; then keys on their way to an
/// order, or sorted rows with names and boxes. Long rows are kept once more (resident for
/// neighbours of one table: 115 bytes a row of 3, 438 of 8).
fn search_bytes(job: &Job, [x, y]: [u64; 2]) -> u64 {
    let sorted = job.space.n + if job.y.is_some() { job.space.m } else { 0 };
    let lists = if matches!(job.folds[0], Fold::Nearest(_)) {
        24 * job.space.n as u64
    } else {
        0
    };
    let rows = if job.low.dim <= 4 { x + y } else { 3 * (x + y) };
    rows + 48 * sorted as u64 + lists
}

/// Returns the bytes of weights that are multiplied as values are computed: in the units of the
/// sum, and by lane.
fn weight_bytes(job: &Job) -> u64 {
    let half = job.space.is_triangular();
    let sums = |f: &Fold| matches!(f, Fold::Reduce(f) if f.sums_weighted(half).is_some());
    if job.folds.iter().any(sums) {
        16 * job.space.m as u64
    } else {
        0
    }
}

/// Returns how often rows are kept. Other bounds: hoisted and sorted rows, boxes of single rows and
/// of groups, order and keys. Else packed copies of long rows.
fn copies(job: &Job, prune: Prune) -> u64 {
    match prune.is_on() {
        true => 7,
        false if Form::for_job(job).is_some() => 3,
        false => 1 + u64::from(job.low.dim >= LONG),
    }
}

/// Returns the counters of a histogram by this many groups; none of another fold. One whose sums take
/// more numbers than those of one unit counts several times.
pub(crate) fn counters(job: &Job, groups: usize) -> usize {
    let inner =
        (job.folds.iter()).map(|fold| fold.grouped().map_or(fold, |grouped| &grouped.inner));
    let slots = |fold: &Fold| match fold {
        // Under, over, and NaN. A count and two sums of two words each are five numbers.
        Fold::Histogram(h) => (h.axes[0].bins() + 3) * h.numbers().div_ceil(5),
        Fold::Reduce(_)
        | Fold::Nearest(_)
        | Fold::Join(_)
        | Fold::Dense(_)
        | Fold::Extremes(_)
        | Fold::Quantile(_)
        | Fold::Top(_)
        | Fold::Listed(_)
        | Fold::Grouped(_) => 0,
    };
    let slots: usize = inner.map(slots).sum();
    groups.saturating_mul(groups).saturating_mul(slots)
}
