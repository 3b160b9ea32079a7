//! Any formula by bounds over a hierarchy of boxes: its pairs are skipped, settled whole, or evaluated as ever.

use super::limits::Limits;
use super::nearby::Nearby;
use super::tree::{Hoisted, Level, Tree};
use super::walk::{GROUP, Walk};
use crate::jit;
use crate::pairs::engine::{Sink, UnitState, compiled};
use crate::pairs::points::Distances;
use crate::pairs::program::compile;
use crate::pairs::rows::Rows;
use crate::pairs::vm::Vm;
use crate::pairs::zips;
use std::sync::atomic::AtomicBool;
use zipfold_core::fold::{BLOCK, Fold, RowOp};
use zipfold_core::pair::bounds::Bounds;
use zipfold_core::{Job, Result, Side, Space};
use zipfold_plan::{Family, Plan, Tile, prune};

/// A job loaded for a pruned run.
#[derive(Debug)]
pub struct Boxes<'j> {
    pub(super) job: &'j Job,
    pub(super) vm: Vm<'j, f64>,
    pub(super) bounds: Bounds<'j>,
    /// What is walked: half spaces from both rows of a cell where `doubled`.
    pub(super) space: Space,
    pub(super) doubled: bool,
    /// Leaves in the order of their bounds, for one fold that looks for the best.
    pub(super) best_first: bool,
    order_x: Vec<u32>,
    /// The order of y, where it is another input.
    order_y: Option<Vec<u32>>,
    /// Boxes of single rows of x, and of groups of them.
    pub(super) points: Level,
    pub(super) groups: Level,
    pub(super) tree: Tree,
    /// Points of a histogram of distances, swept by their own kernel.
    pub(super) distances: Option<Distances>,
    /// Neighbours, pairs within a distance and extremes, found by their own kernels.
    nearby: Option<Nearby<'j>>,
    /// The extremes that all threads have found.
    pub(super) limits: Limits,
}

/// Rows in a leaf of points: their kernel needs no whole blocks.
const SMALL_LEAF: usize = 32;

impl<'j> Boxes<'j> {
    /// Sorts and boxes the rows of `job`; none where it cannot be pruned.
    pub fn load(job: &'j Job, plan: &Plan) -> Option<Self> {
        let mode = prune::mode(job).filter(|_| prune::takes_boxes(job))?;
        let low = &job.low;
        let bounds = Bounds::new(low, job.cell.as_ref())?;
        let (x, y) = rayon::join(
            || {
                let x = Hoisted::new(low, &job.x, Side::X);
                let order = x.order(low, Side::X);
                (x, order)
            },
            || {
                let y = Hoisted::new(low, job.other(), Side::Y);
                let order = job.y.as_ref().map(|_| y.order(low, Side::Y));
                (y, order)
            },
        );
        let ((x, order_x), (y, order_y)) = (x, y);
        let of_y = order_y.as_deref().unwrap_or(&order_x);
        let doubled = mode == prune::Mode::Doubled;
        let space = prune::walked(job, plan.prune);
        // A family that is asked for by hand is taken at its word.
        let own_kernels = !matches!(plan.choices.family, Some(Family::Vm | Family::Jit));
        let nearby = || Nearby::load(job, space, zips::isa(plan.isa), [(&x, &order_x), (&y, of_y)]);
        let nearby = if own_kernels { nearby() } else { None };
        let by_points = plan.family == Family::Points && Distances::applies(job);
        let leaf = if by_points { SMALL_LEAF } else { BLOCK };
        // Points meet leaves by groups, not by rows; clouds hold all they need.
        let none = || Rows::empty(low.dim, 0, 0);
        let own = by_points || nearby.is_some();
        let (boxed_x, boxed_y): (&[u32], &[u32]) = if nearby.is_some() { (&[], &[]) } else { (&order_x, of_y) };
        let singles: &[u32] = if own { &[] } else { &order_x };
        let rows = || if own { none() } else { Rows::arranged_by_row(low, Side::X, &x.values, &order_x) };
        let program = compile(low);
        let code = if own { None } else { compiled(plan, low, &program, false) };
        let lanes = if code.is_some() { jit::lanes::<f64>(plan.isa) } else { BLOCK };
        let panels = || if own { none() } else { Rows::arranged_by_strip(low, &y.values, of_y, lanes) };
        let boxes = || (Level::over_rows(&x, singles, 1), Level::over_rows(&x, boxed_x, GROUP));
        let columns = || (panels(), Tree::new(&y, boxed_y, leaf));
        let ((rows, (points, groups)), (panels, tree)) = rayon::join(|| (rows(), boxes()), columns);
        let distances = if by_points { Distances::arranged(job, &order_x, of_y) } else { None };
        let vm = Vm {
            low,
            program,
            x: rows,
            y: panels,
            cell: job.cell.as_ref(),
            isa: plan.isa,
            code,
            lines: None,
            sums: None,
            unit: 1.0,
        };
        let best_first = looks_for_best(job);
        let placed = Boxes {
            job,
            vm,
            bounds,
            space,
            doubled,
            best_first,
            order_x,
            order_y,
            points,
            groups,
            tree,
            distances,
            nearby,
            limits: Limits::new(&job.folds),
        };
        Some(placed)
    }
    /// Which rows of `side` the sorted ones are.
    pub fn order(&self, side: Side) -> &[u32] {
        match (side, &self.order_y) {
            (Side::Y, Some(order)) => order,
            _ => &self.order_x,
        }
    }
    /// Folds the cells of consecutive `tiles` of sorted rows.
    ///
    /// # Errors
    /// Those of the sink, which is asked for room for the matches of joins; `Interrupted` when told to stop.
    pub fn run(&self, tiles: &[Tile], sink: &dyn Sink, stop: Option<&AtomicBool>) -> Result<UnitState> {
        if let Some(nearby) = &self.nearby {
            return nearby.run(tiles, [self.order(Side::X), self.order(Side::Y)], sink, stop);
        }
        let start = tiles.iter().map(|t| t.rows.start).min().unwrap_or(0);
        let end = tiles.iter().map(|t| t.rows.end).max().unwrap_or(0);
        let mut walk = Walk::new(self, start..end, sink, stop);
        for tile in tiles {
            walk.tile(&tile.rows, &tile.cols)?;
        }
        Ok(walk.finish())
    }
}

/// Whether the one fold looks for the best values, and no cut-off decides too.
fn looks_for_best(job: &Job) -> bool {
    let best = match job.folds.as_slice() {
        [Fold::Nearest(_) | Fold::Top(_)] => true,
        [Fold::Rows(f)] => f.op != RowOp::Count,
        _ => false,
    };
    let ends = matches!(job.folds.as_slice(), [Fold::Extremes(_)]);
    ends || (best && job.near_root.is_none())
}
