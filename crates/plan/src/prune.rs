//! Whether bounds may leave pairs out, and whether that pays.

mod estimate;
mod grid;
mod mesh;
mod reach;

pub use estimate::sampled_ends;
pub use grid::{Grid, NEAR_TOGETHER, list_bytes};
pub use mesh::Mesh;
pub use reach::reach;

use crate::cost;
use crate::overrides::{Family, MeshCells, Overrides, Pruning};
use serde::{Deserialize, Serialize};
use zipfold_core::fold::Fold;
use zipfold_core::pair::Shape;
use zipfold_core::{Cells, Error, Job, Result, Space};

/// Hoisted numbers of a row beyond which boxes say little and cost much.
const MOST_COORDINATES: usize = 64;

/// What takes fewer cycles is sooner evaluated than sampled, sorted and boxed.
const WORTH_CYCLES: f64 = 1.6e7;
/// Pairs from which on a cloud looks for extremes, which takes no sample.
const WORTH_ENDS: usize = 1 << 14;
/// Pairs that it evaluates, by row.
const LEFT_BY_ENDS: f64 = 64.0;
/// The largest share of pairs left to evaluate for which bounds pay: they are not swept as fast as a plain run sweeps.
const WORTH_SHARE: f64 = 0.4;

/// As much for a mesh, whose pairs are swept as fast as those of a plain run.
const WORTH_MESH: f64 = 0.7;
/// Boxes that leave this part of what a mesh leaves are better than that.
const WORTH_BOXES: f64 = 0.5;

/// How the cells of a pruned run are walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each once.
    Once,
    /// Those of a half space from both their rows, for folds that credit rows.
    Doubled,
}

/// Whether a plan prunes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prune {
    on: bool,
    /// The share of pairs that is expected to be evaluated, where it was estimated.
    pub evaluated: Option<f64>,
    /// Columns of a mesh, where a histogram of distances looks for its pairs in one.
    pub mesh: Option<Mesh>,
    /// Cells of a grid, where folds by row look for the pairs within a cut-off in one.
    #[serde(default)]
    pub grid: Option<Grid>,
}

impl Prune {
    /// How rows are sorted: tiles of runs that sort them in another way are of other rows.
    pub fn rows(self) -> String {
        match (self.on, self.mesh) {
            (false, _) => "as given".into(),
            (true, _) if self.grid.is_some() => "grid".into(),
            (true, None) => "boxes".into(),
            (true, Some(mesh)) => format!("mesh {}", mesh.parts),
        }
    }
    /// Whether bounds are used.
    pub fn is_on(self) -> bool {
        self.on
    }
}

/// How `job` can be pruned, if it can: its folds must not depend on the order of pairs, or take them in the order given, and
/// its values must be numbers.
pub fn mode(job: &Job) -> Option<Mode> {
    let by_row = job.folds.iter().all(|f| matches!(f, Fold::Rows(_)));
    if by_row && reach(job).is_some() {
        return Some(if job.space.is_half() { Mode::Doubled } else { Mode::Once });
    }
    let formula = &job.low.formula;
    let numbers = formula.roots.iter().all(|r| formula.ty(*r).shape == Shape::Scalar);
    let width = |s: usize| job.low.streams[s].len() * job.low.dim + job.low.attrs[s].len();
    let rows = [job.space.n, job.space.m];
    let boxed = [0, 1].into_iter().all(|s| (1..=MOST_COORDINATES).contains(&width(s)));
    let countable = rows.iter().all(|r| *r > 0 && u32::try_from(*r).is_ok());
    if !(numbers && boxed && countable && !job.holes && job.folds.iter().all(|fold| fold.traits().bounded)) {
        return None;
    }
    if !job.space.is_half() {
        return Some(Mode::Once);
    }
    let by_row = job.folds.iter().filter(|fold| fold.traits().by_row).count();
    match by_row {
        0 => Some(Mode::Once),
        all if all == job.folds.len() => Some(Mode::Doubled),
        _ => None,
    }
}

/// The space that is walked: a half space whose folds credit rows is walked from both rows of a cell.
pub fn walked(job: &Job, prune: Prune) -> Space {
    let doubled = prune.on && mode(job) == Some(Mode::Doubled);
    let cells = match (job.space.cells, doubled) {
        (Cells::Triangle, true) => Cells::Ordered,
        (Cells::Diagonal, true) => Cells::Square,
        (cells, _) => cells,
    };
    Space { cells, ..job.space }
}

/// Whether boxes serve `job`: the answers of its folds are the same in any order of pairs.
pub fn takes_boxes(job: &Job) -> bool {
    job.folds.iter().all(|fold| fold.traits().bounded)
}

/// Whether and how to prune `job`, all of whose pairs take `cycles`: as set by hand, or where it pays.
///
/// # Errors
/// `Request` for a setting that is none, or that asks for what is impossible.
pub fn choose(job: &Job, overrides: &Overrides, cycles: f64, reasons: &mut Vec<String>) -> Result<Prune> {
    let can = mode(job).is_some();
    match overrides.prune.unwrap_or(Pruning::Auto) {
        Pruning::Off => Ok(Prune::default()),
        Pruning::On if can => Ok(Prune { on: true, ..expected(job, overrides) }),
        Pruning::On => {
            let e = Error::request("bounds cannot prune this: its values or folds need every pair in order");
            Err(e.at("--set prune").remedy("--set prune=auto"))
        }
        Pruning::Auto if !can || !is_large(job, overrides, cycles) => Ok(Prune::default()),
        Pruning::Auto => {
            let found = expected(job, overrides);
            let by_row = job.folds.iter().all(|f| matches!(f, Fold::Rows(_)));
            let worth = if found.mesh.is_some() { WORTH_MESH } else { WORTH_SHARE };
            let worth = if found.grid.is_some() && by_row && job.space.is_half() { 0.5 * worth } else { worth };
            let on = found.evaluated.is_some_and(|share| share <= worth);
            if let Some(share) = found.evaluated {
                let percent = 100.0 * share;
                let by = match (found.mesh, found.grid) {
                    (Some(_), _) => "a mesh of columns",
                    (None, Some(_)) => "a grid of cells",
                    (None, None) => "bounds",
                };
                let what = if on { "which pays" } else { "which does not pay" };
                reasons.push(format!("{by} would leave about {percent:.3} % of the pairs to evaluate, {what}"));
            }
            Ok(Prune { on, ..found })
        }
    }
}

/// Whether `job` is large enough to try bounds: a run of all its pairs takes `cycles`. These are of an instruction set, not of
/// clocks and cores, so that a run that goes on elsewhere is planned alike.
fn is_large(job: &Job, overrides: &Overrides, cycles: f64) -> bool {
    let family = overrides.family.unwrap_or(Family::Points);
    match cost::kernel(job, family) {
        cost::Kernel::Ends => job.space.n.saturating_mul(job.space.m) >= WORTH_ENDS,
        _ => cycles >= WORTH_CYCLES,
    }
}

/// How `job` would be pruned, and what that would leave.
fn expected(job: &Job, overrides: &Overrides) -> Prune {
    let by_hand = overrides.prune == Some(Pruning::On);
    let off = overrides.mesh == Some(MeshCells::Off);
    // Boxes are for what does not depend on the order of pairs.
    let worth = |grid: &Grid| !off && (by_hand || grid.evaluated <= WORTH_SHARE);
    if let Some(grid) = grid::choose(job).filter(|grid| !takes_boxes(job) || worth(grid)) {
        return Prune { evaluated: Some(grid.evaluated), grid: Some(grid), ..Prune::default() };
    }
    let family = overrides.family.unwrap_or(Family::Points);
    let kernel = cost::kernel(job, family);
    if kernel == cost::Kernel::Ends {
        let evaluated = Some((LEFT_BY_ENDS / job.space.m.max(1) as f64).min(WORTH_SHARE));
        return Prune { evaluated, ..Prune::default() };
    }
    let boxes = || Prune { evaluated: estimate::evaluated(job, kernel), ..Prune::default() };
    let asked = parts(overrides);
    if kernel != cost::Kernel::Points || asked == Some(0) {
        return boxes();
    }
    let Some(mesh) = mesh::choose(job, asked) else { return boxes() };
    let of_mesh = Prune { evaluated: Some(mesh.evaluated), mesh: Some(mesh), ..Prune::default() };
    if asked.is_some() || mesh.evaluated < WORTH_SHARE {
        return of_mesh;
    }
    // Most pairs are within the last edge: boxes may settle them whole.
    let of_boxes = boxes();
    let fewer = of_boxes.evaluated.is_some_and(|share| share < WORTH_BOXES * mesh.evaluated);
    if fewer { of_boxes } else { of_mesh }
}

/// Cells to the last edge as the choice `mesh` has them, 0 for none.
fn parts(overrides: &Overrides) -> Option<u32> {
    match overrides.mesh? {
        MeshCells::Auto => None,
        MeshCells::Off => Some(0),
        MeshCells::Parts(parts) => Some(parts),
    }
}
