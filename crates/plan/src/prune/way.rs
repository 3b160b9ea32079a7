//! How pairs are left out: the record in a plan, whether a job allows it, and the domain that such
//! a run walks.

use super::reach::reach;
use serde::{Deserialize, Serialize};
use zipfold_core::fold::{Fold, Traits};
use zipfold_core::pair::Shape;
use zipfold_core::{Domain, Job, Precision, Space};

/// Hoisted numbers of a row beyond which boxes say little (the distances of random points become
/// alike) and cost much.
const MOST_COORDINATES: usize = 64;

/// How the pairs of a pruned run are walked.
///
/// A search finds the partners of one row of x. Where a pair counts for both rows it must be found
/// from both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each once.
    Once,
    /// Those of a half space from both their rows, for folds that credit rows.
    Doubled,
}

/// Whether and how a plan leaves out pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prune {
    pub(super) on: bool,
    /// The share of pairs that is expected to be evaluated, where it was estimated.
    pub evaluated: Option<f64>,
    /// The column grid, where a histogram of distances looks for its pairs in one.
    pub column_grid: Option<ColumnGrid>,
    /// Cells of a grid, where folds by row look for the pairs within a cut-off in one.
    #[serde(default)]
    pub grid: Option<Grid>,
}

impl Prune {
    /// Returns how rows are sorted, as part of the identity of a checkpoint: tiles of runs that
    /// sort them otherwise are of other rows.
    pub fn rows(self) -> String {
        match (self.on, self.column_grid) {
            (false, _) => "as given".into(),
            (true, _) if self.grid.is_some() => "grid".into(),
            (true, None) => "boxes".into(),
            // A word of checkpoints, which keep the name that it had.
            (true, Some(column_grid)) if column_grid.groups > 0 => {
                format!("mesh {} of all groups", column_grid.parts)
            }
            (true, Some(column_grid)) => format!("mesh {}", column_grid.parts),
        }
    }
    /// Returns pruning by boxes that leave about this share of the pairs.
    pub(crate) fn by_boxes(share: f64) -> Self {
        Prune {
            on: true,
            evaluated: Some(share),
            ..Prune::default()
        }
    }
    /// Returns whether pairs are left out.
    pub fn is_on(self) -> bool {
        self.on
    }
}

/// Returns how `job` can be pruned, if it can: its folds do not depend on the order of pairs, or
/// take them in the order given, and its values are numbers.
pub fn mode(job: &Job) -> Option<Mode> {
    // Rows in another order have no band: it is visited as it is, and has few pairs.
    if job.space.band.is_some() {
        return None;
    }
    let by_row = job.folds.iter().all(|f| matches!(f, Fold::Reduce(_)));
    if by_row && reach(job).is_some() {
        return Some(if job.space.is_triangular() {
            Mode::Doubled
        } else {
            Mode::Once
        });
    }
    if !boxed(job) {
        return None;
    }
    if !job.space.is_triangular() {
        return Some(Mode::Once);
    }
    let by_row = job.folds.iter().filter(|fold| fold.traits().by_row).count();
    match by_row {
        0 => Some(Mode::Once),
        all if all == job.folds.len() => Some(Mode::Doubled),
        _ => None,
    }
}

/// Returns whether boxes of the rows of `job` say something, and its folds take pairs in any order.
pub(super) fn boxed(job: &Job) -> bool {
    let formula = &job.low.formula;
    let numbers = formula
        .roots
        .iter()
        .all(|r| formula.ty(*r).shape == Shape::Scalar);
    let width =
        |s: usize| job.low.row_vectors[s].len() * job.low.dim + job.low.row_scalars[s].len();
    let rows = [job.space.n, job.space.m];
    let boxed = [0, 1]
        .into_iter()
        .all(|s| (1..=MOST_COORDINATES).contains(&width(s)));
    // Orders of rows are lists of u32: half the memory of usize.
    let countable = rows.iter().all(|r| *r > 0 && u32::try_from(*r).is_ok());
    numbers && boxed && countable && !job.holes && takes_boxes(job)
}

/// Returns the domain that is walked: a triangular one whose folds credit rows is walked from both
/// rows of a pair, because a search finds the partners of one row.
pub fn walked(job: &Job, prune: Prune) -> Space {
    let doubled = prune.on && mode(job) == Some(Mode::Doubled);
    let domain = match (job.space.domain, doubled) {
        (Domain::Triangle, true) => Domain::Ordered,
        (Domain::Diagonal, true) => Domain::Square,
        (domain, _) => domain,
    };
    Space {
        domain,
        ..job.space.clone()
    }
}

/// Returns whether boxes serve `job`: the answers of its folds are the same in any order of pairs.
///
/// Boxes compute in double precision, which decides another number of pairs than a sweep in the
/// precision of a job whose folds round.
pub fn takes_boxes(job: &Job) -> bool {
    let bounded =
        |traits: Traits| traits.bounded && (!traits.rounds || job.precision == Precision::F64);
    job.folds.iter().all(|fold| bounded(fold.traits()))
}

/// The sizes of a column grid, and what it is expected to leave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnGrid {
    /// Cells to the last edge.
    pub parts: u32,
    /// Columns that a row meets.
    pub met: f64,
    /// The share of pairs that is looked at, padding of vectors apart.
    pub evaluated: f64,
    /// The share of pairs below the last edge.
    pub below: f64,
    /// The groups whose pairs it counts apart; 0 where all pairs are counted as one.
    #[serde(default)]
    pub groups: u32,
}

/// What a grid is expected to leave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// The share of pairs in cells that meet.
    pub evaluated: f64,
    /// The share of pairs within reach.
    pub within: f64,
    /// Rows of x that share a cell.
    pub together: f64,
    /// The largest share of the rows of y that one row of x looks at, with room for rows that no
    /// sample met.
    pub densest: f64,
}
