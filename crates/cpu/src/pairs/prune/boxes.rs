//! Any formula by bounds over a hierarchy of boxes: its pairs are skipped, settled whole, or
//! evaluated as ever.

use super::hierarchy::Hierarchy;
use super::sorted::Sorted;
use super::tree::Level;
use crate::jit::{self, Code};
use crate::pairs::code::compiled;
use crate::pairs::points::{Distances, NOT_FINITE};
use crate::pairs::program::{Program, compile};
use crate::pairs::rows::Rows;
use crate::pairs::vm::Vm;
use crate::pairs::worst_row::WorstRow;
use std::sync::Arc;
use zipfold_core::fold::{BLOCK, Fold};
use zipfold_core::pair::interval_bounds::Bounds;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::{Job, Side};
use zipfold_plan::executor::Declined;
use zipfold_plan::{Evaluator, Plan};

/// A job loaded for a pruned run.
#[derive(Debug)]
pub struct Boxes<'j> {
    pub(super) hierarchy: Hierarchy<'j>,
    pub(super) vm: Vm<'j, f64>,
    /// What is looked for, where leaves come in the order of their bounds; nothing where they come in
    /// their own order.
    pub(super) sought: Vec<Sought>,
    /// By fold, of answers that are one row alone: what is known of it.
    pub(super) worst_rows: Vec<Option<WorstRow>>,
    /// The roots that may be NaN.
    pub(super) odd: Vec<usize>,
    /// Boxes of single rows of x.
    pub(super) points: Level,
    /// Points of a histogram of distances, swept by their own kernel.
    pub(super) distances: Option<Distances>,
}

/// Rows in a leaf of points: their kernel needs no whole blocks.
const SMALL_LEAF: usize = 32;

/// The code of a formula, where that evaluates pairs.
fn code_of(
    plan: &Plan,
    low: &Lowered,
    program: &Program,
    evaluator: Evaluator,
) -> Result<Option<Arc<Code<f64>>>, Declined> {
    match evaluator {
        Evaluator::Code => {
            let code = compiled(plan, low, program, false);
            Ok(Some(code.ok_or("no code can be made for the formula")?))
        }
        Evaluator::Points | Evaluator::Steps => Ok(None),
    }
}

impl<'j> Boxes<'j> {
    /// Sorts and boxes the rows of `job`, whose pairs `evaluator` computes.
    pub fn load(job: &'j Job, plan: &Plan, evaluator: Evaluator) -> Result<Self, Declined> {
        let low = &job.low;
        let bounds =
            Bounds::new(low, job.periodic_box.as_ref()).ok_or("the formula has no bounds")?;
        let by_points = evaluator == Evaluator::Points;
        if by_points && !Distances::applies(job) {
            return Err(NOT_FINITE);
        }
        let program = compile(low);
        let code = code_of(plan, low, &program, evaluator)?;
        let leaf = if by_points { SMALL_LEAF } else { BLOCK };
        let lanes = if code.is_some() {
            jit::lanes::<f64>(plan.isa)
        } else {
            BLOCK
        };
        let pack = |sorted: &Sorted| {
            let [of_x, of_y] = [Side::X, Side::Y].map(|side| sorted.orders.by_side(side));
            // Points meet leaves by groups, not by rows.
            let [singles, panels]: [&[u32]; 2] = if by_points { [&[], &[]] } else { [of_x, of_y] };
            rayon::join(
                || {
                    (
                        Rows::arranged_by_row(low, Side::X, &sorted.x.values, singles),
                        Level::over_rows(&sorted.x, singles, 1),
                    )
                },
                || Rows::arranged_by_strip(low, &sorted.y.values, panels, lanes),
            )
        };
        let (hierarchy, ((rows, points), panels)) =
            Hierarchy::new((job, bounds), plan.prune, leaf, pack);
        let [of_x, of_y] = [Side::X, Side::Y].map(|side| hierarchy.orders.by_side(side));
        let distances = match by_points {
            true => Some(Distances::arranged(job, of_x, of_y).ok_or(NOT_FINITE)?),
            false => None,
        };
        let vm = Vm {
            low,
            program,
            x: rows,
            y: panels,
            periodic_box: job.periodic_box.as_ref(),
            isa: plan.isa,
            code,
            lines: None,
            sums: None,
            unit: 1.0,
        };
        let worst_rows = (0..job.folds.len()).map(|at| WorstRow::of_fold(job, plan, at));
        Ok(Boxes {
            hierarchy,
            vm,
            sought: sought(job),
            worst_rows: worst_rows.collect(),
            odd: may_be_nan(low),
            points,
            distances,
        })
    }
    /// Which rows of `side` the sorted ones are.
    pub fn order(&self, side: Side) -> &[u32] {
        self.hierarchy.orders.by_side(side)
    }
}

/// The roots that are not truth values.
fn may_be_nan(low: &Lowered) -> Vec<usize> {
    let roots = low.formula.roots.iter().enumerate();
    let numbers = roots.filter(|(_, root)| !low.formula.ty(**root).truth);
    numbers.map(|(at, _)| at).collect()
}

/// Values that a walk looks for, the best first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sought {
    /// The root of the values.
    pub(super) root: usize,
    /// The largest rather than the least.
    pub(super) largest: bool,
    /// Who says which values matter.
    pub(super) by: SoughtBy,
}

/// Who says which values matter.
#[derive(Clone, Copy, Debug)]
pub(super) enum SoughtBy {
    /// The rows of this fold: what each has kept.
    Fold(usize),
    /// The extremes of this number that were found so far.
    Ends(usize),
}

/// What the folds look for, if all of them look for the best values, and no cut-off decides too.
fn sought(job: &Job) -> Vec<Sought> {
    if let [Fold::Extremes(fold)] = job.folds.as_slice() {
        let ends = |(at, root): (usize, &usize)| {
            [false, true].map(|largest| Sought {
                root: *root,
                largest,
                by: SoughtBy::Ends(at),
            })
        };
        return fold.roots.iter().enumerate().flat_map(ends).collect();
    }
    let best = |(at, fold): (usize, &Fold)| {
        let best = fold.best()?;
        Some(Sought {
            root: best.root,
            largest: best.largest,
            by: SoughtBy::Fold(at),
        })
    };
    let all = job.folds.iter().enumerate().map(best);
    let all: Option<Vec<Sought>> = all.collect();
    all.filter(|_| job.cutoff_root.is_none())
        .unwrap_or_default()
}
