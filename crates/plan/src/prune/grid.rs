//! The grid of cells in which folds by row look for the pairs within a cut-off, and an estimate of
//! what it would leave.
//!
//! A cell is one window wide (see `Windows` of `core`), so the pairs of a row are in its own cell
//! and the neighbouring ones: an interval of 3 windows along each of up to three coordinates. The
//! estimate compares a sample of rows of x with a sample of y.

use super::estimate::picked;
use super::way::Grid;
use zipfold_core::space::reach::Place;
use zipfold_core::{Job, Table, Windows};

/// Rows of x that are compared with a sample of y.
const QUERIES: usize = 128;
/// How far a row sees along a coordinate, in windows, on average: from anywhere in its cell to the
/// far end of the next one.
const LOOK: f64 = 1.5;

/// Columns that the lists of rows which are computed together may hold in all; a single row may
/// have more.
pub const NEAR_TOGETHER: usize = 1 << 18;

/// How many times the largest share of a sample the largest of all is taken to be, and the share of
/// the rows that a sample may have missed altogether: of rows of which one in fifty is in one
/// place, [`QUERIES`] miss that place one time in thirteen.
const DENSER: f64 = 4.0;
const MISSED: f64 = 0.02;

/// Returns the bytes of what a thread finds near the rows of a cell: the columns of the cell, those
/// of each row, and their values.
pub fn list_bytes(job: &Job, grid: &Grid) -> u64 {
    let numbers: usize = (0..job.low.formula.roots.len())
        .map(|root| job.low.formula.width(root, job.low.dim))
        .sum();
    let one = 4 + 8 * numbers as u64;
    let m = (job.space.m as f64 * grid.densest).ceil() as u64;
    // Sixteen rows of a cell; what more of them need shrinks as 1/2 + 1/3 + … + 1/16 of what they
    // may hold.
    let others = (15 * m).min(5 * NEAR_TOGETHER as u64 / 2);
    (m * (4 + one)).saturating_add(others * one)
}

/// Returns what a grid would leave of `job`; `None` if nothing bounds how far apart the rows of its
/// pairs are.
pub(super) fn choose(job: &Job) -> Option<Grid> {
    let reach = super::reach(job)?;
    let windows = Windows::new(&reach, job.periodic_box.as_ref(), [&job.x, job.other()]);
    let (x, y) = (
        sample(&windows, &job.x, QUERIES),
        sample(&windows, job.other(), usize::MAX),
    );
    let (mut looked, mut within, mut together, mut all) = (0u64, 0u64, 0u64, 0u64);
    let mut densest = 0;
    for x in &x {
        let before = looked;
        for y in y.iter() {
            let widest = |times: f64| {
                (0..windows.len()).all(|k| windows.apart(k, x, y) <= times * windows.window(k))
            };
            all += 1;
            looked += u64::from(widest(LOOK));
            within += u64::from(widest(1.0));
            together += u64::from(widest(0.5));
        }
        densest = densest.max(looked - before);
    }
    let share = |count: u64| count as f64 / all.max(1) as f64;
    // The share of a window's cube (one to three dimensions) that the ball inside it takes: 1, π/4,
    // π/6.
    let ball = if reach.length.is_finite() {
        [1.0, 1.0, 0.785, 0.524][windows.len()]
    } else {
        1.0
    };
    let densest = (DENSER * densest as f64 / y.len().max(1) as f64).clamp(MISSED, 1.0);
    let others = 1.0 / job.space.m.max(1) as f64;
    Some(Grid {
        evaluated: share(looked).max(others),
        within: share(within) * ball,
        together: (share(together) * job.space.n as f64).max(1.0),
        densest,
    })
}

/// Returns the coordinates of at most `most` sampled rows; rows that are not finite have none.
fn sample(windows: &Windows, table: &Table, most: usize) -> Vec<Place> {
    let rows = picked(table.rows());
    let step = rows.len().div_ceil(most).max(1);
    let mut row = vec![0.0; table.width()];
    let place = |at: &usize| {
        table.row_into(*at, &mut row);
        windows.place(&row)
    };
    rows.iter().step_by(step).filter_map(place).collect()
}
