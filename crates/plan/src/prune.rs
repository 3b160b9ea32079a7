//! Decides whether pairs may be left out, how, and whether that pays.
//!
//! Three ways leave out pairs: a grid of cells (folds by row within a cut-off), a column grid
//! (histograms of short distances), and bounds over a hierarchy of boxes (everything whose answer
//! does not depend on the order of pairs). Each estimates, from a sample of the rows, which share
//! of the pairs it would leave to evaluate. Pruning is on if that share is small enough: pruned
//! pairs are not evaluated as fast as a plain sweep does.
//!
//! ```text
//! cut-off 0.1 in a unit cube, 10⁶ rows:   a row sees (3 · 0.1)³ = 2.7 % of the rows        → a grid pays
//! histogram over all distances:            bounds settle few boxes                           → all pairs
//! ```
//!
//! Whether pruning is *possible* is a question of the job (`way.rs`: `mode`); whether it *pays*
//! also depends on the data. Neither depends on clocks or cores, so a checkpoint can be continued
//! elsewhere.

mod column_grid;
mod estimate;
mod grid;
mod kernel;
mod line;
mod reach;
mod way;

pub use estimate::sampled_ends;
pub(crate) use estimate::{open_share, pairs_within};
pub use grid::{NEAR_TOGETHER, list_bytes};
pub use kernel::{Kernel, kernel};
pub use line::{Gap, OnLine, OwnAxis, on_line};
pub use reach::reach;
pub use way::{ColumnGrid, Grid, Mode, Prune, mode, takes_boxes, walked};

use crate::overrides::{ColumnGridCells, Family, Overrides, Pruning};
use crate::points;
use zipfold_core::fold::Fold;
use zipfold_core::pair::interval_bounds::Bounds;
use zipfold_core::space::periodic_box::Image;
use zipfold_core::{Error, Job, Message, Opt, PeriodicBox, Result};

/// Cycles below which all pairs are sooner evaluated than sampled, sorted and put into boxes: some
/// milliseconds. A fixed number, so that two machines plan the same question alike.
const WORTH_CYCLES: f64 = 1.6e7;
/// Pairs from which on extremes are looked for in a hierarchy, which takes no sample.
const WORTH_ENDS: usize = 1 << 14;
/// Pairs per row that such a search evaluates, about.
const LEFT_BY_ENDS: f64 = 64.0;
/// The largest share of pairs left to evaluate for which bounds pay. Above it a sweep of all pairs
/// is faster, since it takes less time for each.
const WORTH_SHARE: f64 = 0.4;

/// The same for distances of points in a triclinic box: bounds of gaps over all images cost about
/// what they save above it (`bench/records/epyc-2core/2026-11-25-rdf.md`).
const WORTH_SKEWED: f64 = 0.15;

/// The same for a column grid, whose pairs are swept nearly as fast as those of a plain run.
const WORTH_COLUMN_GRID: f64 = 0.7;
/// Boxes are preferred to a column grid if they leave less than this part of what the column grid
/// leaves.
const WORTH_BOXES: f64 = 0.5;

/// Decides whether and how to prune `job`, all of whose pairs take `cycles`: as the user set it, or
/// if it pays.
///
/// # Errors
/// `Request` if the user asks for pruning that is not possible.
pub fn choose(
    job: &Job,
    overrides: &Overrides,
    cycles: f64,
    reasons: &mut Vec<Message>,
) -> Result<Prune> {
    let can = mode(job).is_some();
    match overrides.prune.unwrap_or(Pruning::Auto) {
        Pruning::Off => Ok(Prune::default()),
        Pruning::On if can => Ok(Prune {
            on: true,
            ..expected(job, overrides)
        }),
        Pruning::On => {
            let e = Error::request(
                "bounds cannot prune this: its values or folds need every pair in order",
            );
            Err(e
                .at_place(Opt::Set.like("prune"))
                .remedy(Opt::Set.to("prune=auto")))
        }
        Pruning::Auto if !can || !is_large(job, overrides, cycles) => Ok(Prune::default()),
        Pruning::Auto => {
            let found = expected(job, overrides);
            let worth = worth(job, &found);
            let on = found.evaluated.is_some_and(|share| share <= worth);
            reasons.extend(found.evaluated.map(|share| pays(&found, share, on)));
            Ok(Prune { on, ..found })
        }
    }
}

/// Returns the largest share of pairs left to evaluate for which pruning as `found` pays.
fn worth(job: &Job, found: &Prune) -> f64 {
    let by_row = job.folds.iter().all(|f| matches!(f, Fold::Reduce(_)));
    let image = job.periodic_box.as_ref().map(PeriodicBox::image);
    let skewed = matches!(image, Some(Image::Triclinic(_))) && points::apply(job);
    let worth = if found.column_grid.is_some() {
        WORTH_COLUMN_GRID
    } else if skewed {
        WORTH_SKEWED
    } else {
        WORTH_SHARE
    };
    // Such a run walks each pair from both of its rows, so it must leave half as many.
    if found.grid.is_some() && by_row && job.space.is_triangular() {
        0.5 * worth
    } else {
        worth
    }
}

/// Says what share of the pairs would be left, and whether that pays.
fn pays(found: &Prune, share: f64, on: bool) -> Message {
    let percent = 100.0 * share;
    let by = match (found.column_grid, found.grid) {
        (Some(_), _) => "a column grid",
        (None, Some(_)) => "a grid of cells",
        (None, None) => "bounds",
    };
    let what = if on {
        "which pays"
    } else {
        "which does not pay"
    };
    format!("{by} would leave about {percent:.3} % of the pairs to evaluate, {what}").into()
}

/// Returns whether `job` is large enough to try. Cycles are those of an instruction set, not of
/// clocks and cores, so that a run that continues elsewhere is planned alike.
fn is_large(job: &Job, overrides: &Overrides, cycles: f64) -> bool {
    match kernel(job, may_use_points(overrides)) {
        Kernel::Ends => job.space.n.saturating_mul(job.space.m) >= WORTH_ENDS,
        _ => cycles >= WORTH_CYCLES,
    }
}

/// Returns whether the kernels of points may answer: another family of the user's rules them out.
fn may_use_points(overrides: &Overrides) -> bool {
    overrides
        .family
        .is_none_or(|family| family == Family::Points)
}

/// Returns how `job` would be pruned, and what that would leave.
fn expected(job: &Job, overrides: &Overrides) -> Prune {
    let by_hand = overrides.prune == Some(Pruning::On);
    let off = overrides.column_grid == Some(ColumnGridCells::Off);
    // A job that boxes serve too takes the grid only if it leaves few pairs; one that needs the
    // order of pairs has no other way.
    let worth = |grid: &Grid| !off && (by_hand || grid.evaluated <= WORTH_SHARE);
    let asked = parts(overrides);
    // Cells as wide as the reach leave three times as many pairs as columns that are finer.
    let in_columns = may_use_points(overrides) && asked != Some(0) && points::in_columns(job);
    if in_columns && !points::apply(job) {
        let found = column_grid::choose(job, asked);
        if let Some(column_grid) = found.filter(|found| by_hand || found.evaluated <= WORTH_SHARE) {
            return of_column_grid(column_grid);
        }
    }
    // Numbers of pairs do not need the order of columns, which a grid keeps at a price.
    let by_number = job.cutoff_root.is_none()
        && way::boxed(job)
        && Bounds::new(&job.low, job.periodic_box.as_ref()).is_some()
        && (job.folds.iter()).all(|f| matches!(f, Fold::Reduce(f) if f.counts_pairs()));
    let grid = if by_number { None } else { grid::choose(job) };
    if let Some(grid) = grid.filter(|grid| !takes_boxes(job) || worth(grid)) {
        return Prune {
            evaluated: Some(grid.evaluated),
            grid: Some(grid),
            ..Prune::default()
        };
    }
    let kernel = kernel(job, may_use_points(overrides));
    // Extremes prune themselves: after a few rows the best value so far excludes nearly all boxes.
    if kernel == Kernel::Ends {
        let evaluated = Some((LEFT_BY_ENDS / job.space.m.max(1) as f64).min(WORTH_SHARE));
        return Prune {
            evaluated,
            ..Prune::default()
        };
    }
    let boxes = || Prune {
        evaluated: estimate::evaluated(job, kernel),
        ..Prune::default()
    };
    if kernel != Kernel::Points || asked == Some(0) {
        return boxes();
    }
    column_grid::choose(job, asked).map_or_else(boxes, |column_grid| {
        column_grid_or_boxes(column_grid, asked.is_some(), boxes)
    })
}

/// Returns the pruning by a column grid, unless boxes leave far fewer pairs and the user did not
/// set the grid.
fn column_grid_or_boxes(
    column_grid: ColumnGrid,
    asked: bool,
    boxes: impl FnOnce() -> Prune,
) -> Prune {
    if asked || column_grid.evaluated < WORTH_SHARE {
        return of_column_grid(column_grid);
    }
    // Most pairs are within the last edge: boxes may settle them whole.
    let of_boxes = boxes();
    let fewer = of_boxes
        .evaluated
        .is_some_and(|share| share < WORTH_BOXES * column_grid.evaluated);
    if fewer {
        of_boxes
    } else {
        of_column_grid(column_grid)
    }
}

fn of_column_grid(column_grid: ColumnGrid) -> Prune {
    Prune {
        evaluated: Some(column_grid.evaluated),
        column_grid: Some(column_grid),
        ..Prune::default()
    }
}

/// Returns the cells to the last edge that the user set; 0 for no column grid.
fn parts(overrides: &Overrides) -> Option<u32> {
    match overrides.column_grid? {
        ColumnGridCells::Auto => None,
        ColumnGridCells::Off => Some(0),
        ColumnGridCells::Parts(parts) => Some(parts),
    }
}
