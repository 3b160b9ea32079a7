//! The bytes that a run takes in addition to its inputs, as functions of job and plan.
//!
//! The run reserves them from its budget before it starts, so they must be upper bounds, and near
//! ones: too large a bound refuses questions that would fit. They are sums over what each strategy
//! allocates; the comments name the arrays.

use crate::overrides::Family;
use crate::prune::{self, Kernel, Prune};
use crate::screen::Form;
use crate::tiles::Tiling;
use zipfold_core::fold::{BLOCK, Fold};
use zipfold_core::{Job, Precision};

/// Returns the bytes of a dense result; 0 for other folds.
pub fn dense_bytes(fold: &Fold, n: usize, m: usize, precision: Precision) -> u64 {
    fold.dense().map_or(0, |f| {
        f.elements(n, m).saturating_mul(precision.bytes() as u64)
    })
}

/// Returns the bytes of hoisted rows, copies of them, and of what each thread holds.
pub fn working_bytes(job: &Job, threads: usize, tiling: Tiling, prune: Prune) -> u64 {
    // Hoisted rows of a side, in f64.
    let side = |s: usize, rows: usize| {
        (rows * (job.low.streams[s].len() * job.low.dim + job.low.attrs[s].len()) * 8) as u64
    };
    let nodes = job.low.formula.nodes().len() as u64;
    // What one thread needs to evaluate a block: a vector of 128 numbers for each node, and a few
    // more.
    let registers = (nodes + 8 + BLOCK as u64 * 2) * (BLOCK * 8) as u64;
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
    let (x, y) = (side(0, job.space.n), side(1, job.space.m));
    if prune.mesh.is_some() {
        // Hoisted rows, sorted ones, columns and order; of one table where it meets itself.
        return 7 * (x + if job.y.is_some() { y } else { 0 }) + threads as u64 * registers;
    }
    if prune.is_on()
        && matches!(
            prune::kernel(job, Family::Points),
            Kernel::Nearest | Kernel::Within
        )
    {
        // Hierarchies: hoisted rows of both sides; then keys on their way to an order, or sorted
        // rows with names and boxes. Long rows are kept once more (resident for neighbours of one
        // table: 115 bytes a row of 3, 438 of 8).
        let sorted = job.space.n + if job.y.is_some() { job.space.m } else { 0 };
        let lists = if matches!(job.folds[0], Fold::Nearest(_)) {
            24 * job.space.n as u64
        } else {
            0
        };
        let rows = if job.low.dim <= 4 { x + y } else { 3 * (x + y) };
        return rows + 48 * sorted as u64 + lists + threads as u64 * registers;
    }
    // Weights that are multiplied as values are computed: in the units of the sum, and by lane.
    let sums = |f: &Fold| matches!(f, Fold::Rows(f) if f.sums_weighted(job.space.is_triangular()).is_some());
    let weights = if job.folds.iter().any(sums) {
        16 * job.space.m as u64
    } else {
        0
    };
    // Other bounds: hoisted and sorted rows, boxes of single rows and of groups, order and keys.
    // Else packed copies of long rows.
    let copies = match prune.is_on() {
        true => 7,
        false if Form::of(job).is_some() => 3,
        false => 1 + u64::from(job.low.dim >= 16),
    };
    let lists = prune.grid.map_or(0, |grid| prune::list_bytes(job, &grid));
    // Values of rows that are not finished, in lists that grow by doubling.
    let whole = job
        .folds
        .iter()
        .filter(|fold| fold.traits().whole_rows)
        .count() as u64;
    let open = whole * 16 * (tiling.rows.min(job.space.n) * job.space.m) as u64;
    copies * (x + y) + weights + threads as u64 * (registers + tile + gathered + lists + open)
}
