//! How the pairs of a job are computed: an ordered list of strategies.
//!
//! A strategy carries every number that its executor needs besides the job and the plan. Loading
//! one may fail on the rows themselves (a point that is not finite, say); the run then takes the
//! next. The last of the list, blocks of the formula step by step, takes any rows.
//!
//! ```text
//! histogram, short edges    [ColumnGrid, Boxes(Points), Boxes(Code), Boxes(Steps), Points, Blocks …]
//! k nearest in 3 numbers    [Search, Boxes(Code), Boxes(Steps), Blocks …]
//! matrix of long rows       [Blocks { packed, code }, …, Blocks { step by step }]
//! ```
//!
//! A new strategy is one variant here, its place in [`Strategy::list`], and an executor in the
//! crate `cpu`.

use crate::filter::{Form, LONG};
use crate::overrides::Family;
use crate::prune::{self, Prune};
use crate::search::Search;
use serde::{Serialize, Serializer};
use std::fmt;
use zipfold_core::Job;
use zipfold_core::pair::interval_bounds::Bounds;

/// A way to compute the pairs of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Strategy {
    /// Rows sorted along a line, for one histogram of their differences and of numbers of one row.
    Line,
    /// A grid of cells finds the pairs within a cut-off; folds take them in the order of the
    /// columns as given, so sums have the bits of a full run.
    Grid {
        /// Values by machine code made for the formula, else step by step.
        code: bool,
    },
    /// Points sorted into a column grid, for one histogram of distances with short edges.
    ColumnGrid {
        /// Cells to the last edge.
        parts: u32,
    },
    /// A search in a bounding-volume hierarchy, for neighbours, pairs within a limit, and extremes
    /// of a norm.
    Search(Search),
    /// Bounds over a hierarchy of boxes settle or leave out pairs; the rest is evaluated.
    Boxes(Evaluator),
    /// A sweep of all points, for one histogram of distances.
    Points,
    /// Rows meet some columns at a time, by the next strategy, and are left once another row is known
    /// to be the answer in their place.
    Farthest,
    /// Single precision decides most pairs, double precision the others.
    Filter(Form),
    /// All pairs, block by block: any formula, any fold.
    Blocks {
        /// Reductions of packed rows by register-blocked kernels.
        packed: bool,
        /// What is left of the formula by machine code made for it, else step by step.
        code: bool,
    },
}

/// What evaluates the pairs that bounds leave open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluator {
    /// The kernel of points.
    Points,
    /// Machine code made for the formula.
    Code,
    /// The formula step by step.
    Steps,
}

impl Strategy {
    /// The strategy that always loads.
    pub const LAST: Strategy = Strategy::Blocks {
        packed: false,
        code: false,
    };
    /// Returns the strategies for `job` by kernels of `family`, the best first. `code` says whether
    /// code can be generated for the formula, `by_hand` whether the user chose the family: then no
    /// kernel that the family does not have comes before it.
    pub fn list(
        job: &Job,
        family: Family,
        by_hand: bool,
        code: bool,
        prune: &Prune,
    ) -> Vec<Strategy> {
        // The family `vm` is the request for no generated code.
        let code = code && family != Family::Vm;
        let mut list = if prune.is_on() {
            Self::pruned(job, family, by_hand, code, prune)
        } else {
            vec![]
        };
        if family == Family::Points && crate::points::apply(job) {
            list.push(Strategy::Points);
        }
        if family == Family::Filter {
            list.extend(Form::for_job(job).map(Strategy::Filter));
        }
        let long = job.low.dim >= LONG && job.space.n > 0 && job.space.m > 0;
        let packed = long && matches!(family, Family::Filter | Family::Dense);
        for packed in [true, false].into_iter().filter(|p| packed || !p) {
            for code in [true, false].into_iter().filter(|c| code || !c) {
                list.push(Strategy::Blocks { packed, code });
            }
        }
        list
    }
    /// Returns the strategies that leave pairs out, the best first.
    fn pruned(
        job: &Job,
        family: Family,
        by_hand: bool,
        code: bool,
        prune: &Prune,
    ) -> Vec<Strategy> {
        let mut list = vec![];
        if prune.grid.is_some() {
            list.extend(prune::on_line(job).map(|_| Strategy::Line));
            list.extend(code.then_some(Strategy::Grid { code: true }));
            list.push(Strategy::Grid { code: false });
        }
        list.extend(prune.column_grid.map(|column_grid| Strategy::ColumnGrid {
            parts: column_grid.parts,
        }));
        if prune::takes_boxes(job) && Bounds::new(&job.low, job.periodic_box.as_ref()).is_some() {
            // A family that the user sets is taken at its word.
            let own = !(by_hand && matches!(family, Family::Vm | Family::Jit));
            list.extend(Search::for_job(job).filter(|_| own).map(Strategy::Search));
            if family == Family::Points && crate::points::apply(job) {
                list.push(Strategy::Boxes(Evaluator::Points));
            }
            list.extend(code.then_some(Strategy::Boxes(Evaluator::Code)));
            list.push(Strategy::Boxes(Evaluator::Steps));
        }
        list
    }
    /// Returns whether rows of one side are copied into packed panels, with the help of all
    /// threads.
    pub fn is_packed(&self) -> bool {
        matches!(
            self,
            Strategy::Filter(_) | Strategy::Blocks { packed: true, .. }
        )
    }
    /// Returns whether code made for the formula evaluates pairs.
    pub(crate) fn has_code(&self) -> bool {
        match self {
            Strategy::Grid { code } | Strategy::Blocks { code, .. } => *code,
            Strategy::Boxes(evaluator) => *evaluator == Evaluator::Code,
            Strategy::ColumnGrid { .. }
            | Strategy::Line
            | Strategy::Search(_)
            | Strategy::Points
            | Strategy::Farthest
            | Strategy::Filter(_) => false,
        }
    }
    /// Returns whether rows are sorted and pairs left out.
    pub fn is_pruned(&self) -> bool {
        match self {
            Strategy::Line
            | Strategy::Grid { .. }
            | Strategy::ColumnGrid { .. }
            | Strategy::Search(_)
            | Strategy::Boxes(_) => true,
            Strategy::Points
            | Strategy::Farthest
            | Strategy::Filter(_)
            | Strategy::Blocks { .. } => false,
        }
    }
}

/// For people: `a column grid with 2 cells to the last edge`.
impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = |code: bool| {
            if code {
                "code made for the formula"
            } else {
                "the formula step by step"
            }
        };
        match self {
            Strategy::Line => f.write_str("rows sorted along a line"),
            Strategy::Grid { code } => write!(f, "a grid of cells, {}", by(*code)),
            Strategy::ColumnGrid { parts } => {
                write!(f, "a column grid with {parts} cells to the last edge")
            }
            Strategy::Search(_) => f.write_str("a search in a hierarchy of boxes"),
            Strategy::Boxes(Evaluator::Points) => {
                f.write_str("bounds of groups of rows, a sweep of points")
            }
            Strategy::Boxes(Evaluator::Code) => write!(f, "bounds of groups of rows, {}", by(true)),
            Strategy::Boxes(Evaluator::Steps) => {
                write!(f, "bounds of groups of rows, {}", by(false))
            }
            Strategy::Points => f.write_str("a sweep of points"),
            Strategy::Farthest => f.write_str("some columns at a time, for the rows that are left"),
            Strategy::Filter(_) => f.write_str("single precision where it can decide"),
            Strategy::Blocks { packed: true, code } => {
                write!(f, "blocks of packed rows, {}", by(*code))
            }
            Strategy::Blocks {
                packed: false,
                code,
            } => f.write_str(by(*code)),
        }
    }
}

impl Serialize for Strategy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
