//! What a pruned run costs: sorting rows, bounding boxes, and evaluating the pairs that are left.
//!
//! The share of pairs that is left comes from the estimates in `prune`, which bound a sample of the
//! real rows. Here it is multiplied by what each kernel takes for a pair, a box and a row.
//!
//! ```text
//! 1 000 000 rows, nearest 10, estimate: 0.02 % of the pairs are evaluated
//! sorting     10⁶ · log₂ 10⁶ / 17 · SORTED
//! boxes       10⁶ · NEAREST[0] + 2 · 10⁸ / 32 · NEAREST[1]
//! pairs       2 · 10⁸ · NEAREST[2]
//! ```
//!
//! The rates are cycles that were measured ([`rates`]). Their proportions decide between plans.

use super::{Term, Work, formula, rates};
use crate::prune::{ColumnGrid, Grid, Kernel, walked};
use crate::strategy::{Evaluator, Strategy};
use zipfold_core::Job;
use zipfold_core::fold::Fold;

/// Columns in a leaf of the hierarchies of points. If the kernels change theirs, the prediction is
/// off, not the answer.
const LEAF: f64 = 32.0;
// Columns in a block of boxes of the general kernel.
const BLOCK: f64 = 128.0;
/// Rows that go down the boxes together: one visit of a box serves 16 rows, at the price that it is
/// opened if it matters to any of them.
const GROUP: f64 = 16.0;
/// Distances in a vector of single precision, on the widest machine. A narrower one takes
/// proportionally longer for all plans.
const VECTOR: f64 = 16.0;

/// Returns the cycles in which a column grid finds the pairs of `job` and their squared distances:
/// intervals of columns for groups of four rows, and vectors in them.
///
/// An interval begins and ends anywhere, so it fills its last vector by half on average. That is
/// the `0.5 · met` below, and it is why fine column grids stop paying: more intervals, each with
/// less in it.
pub fn gridded(job: &Job, column_grid: &ColumnGrid) -> f64 {
    let (n, m) = (job.space.n as f64, job.space.m as f64);
    let half = if job.space.is_triangular() { 0.5 } else { 1.0 };
    let vectors = n * (column_grid.evaluated * half * m / VECTOR + 0.5 * column_grid.met);
    n / 4.0 * column_grid.met * rates::COLUMN_GRID[0] + vectors * rates::COLUMN_GRID[1]
}

/// Returns the cycles per counted pair for weights and values that are summed with it.
///
/// Counting alone adds one to an integer. A weighted histogram adds a product of two weights in
/// double precision, and a mean of values adds the value, each to an array of its own.
pub(super) fn summed(job: &Job) -> f64 {
    let [Fold::Histogram(h)] = job.folds.as_slice() else {
        return 0.0;
    };
    f64::from(u8::from(h.weights.is_some())) * rates::SUMMED[0]
        + f64::from(u8::from(h.mean)) * rates::SUMMED[1]
        + h.formula_terms() as f64 * rates::EXACT_TERM
}

/// Returns the cycles in which the formulas that are summed by bin are computed for a pair.
fn formulas(work: &Work<'_>) -> f64 {
    let [Fold::Histogram(h)] = work.job.folds.as_slice() else {
        return 0.0;
    };
    if h.sums_formulas() {
        formula::vector(work) / work.lanes()
    } else {
        0.0
    }
}

/// The kernel that answers by `strategy`.
fn kernel_of(strategy: &Strategy) -> Kernel {
    match strategy {
        Strategy::Search(search) => Kernel::of_search(search),
        Strategy::Boxes(Evaluator::Points) | Strategy::ColumnGrid { .. } => Kernel::Points,
        Strategy::Line
        | Strategy::Grid { .. }
        | Strategy::Boxes(Evaluator::Code | Evaluator::Steps)
        | Strategy::Points
        | Strategy::Farthest
        | Strategy::Filter(_)
        | Strategy::Blocks { .. } => Kernel::General,
    }
}

/// Returns the terms of a pruned run: of a column grid, of a grid, or of boxes.
///
/// The three exclude each other: a column grid serves histograms of distances of points, a grid
/// serves a known reach, and boxes serve everything that interval arithmetic can bound.
pub(super) fn terms(work: &Work<'_>) -> Vec<Term> {
    let kernel = kernel_of(work.strategy);
    let pairs = work.pairs as f64 * work.prune.evaluated.unwrap_or(1.0);
    // A pair that is walked from both rows is evaluated twice.
    let doubled = walked(work.job, work.prune).domain != work.job.space.domain;
    let pairs = if doubled { 2.0 * pairs } else { pairs };
    // Rows into columns, intervals and distances, counters.
    if let Some(column_grid) = &work.prune.column_grid {
        let rows = (work.job.space.n
            + if work.job.y.is_some() {
                work.job.space.m
            } else {
                0
            }) as f64;
        let each = rates::COLUMN_GRID[3] + summed(work.job) + formulas(work);
        return vec![
            work.shared("placing rows in columns", rows * rates::COLUMN_GRID[2]),
            work.shared("looking for pairs", gridded(work.job, column_grid)),
            work.shared("counting", work.pairs as f64 * column_grid.below * each),
        ];
    }
    if let (Some(grid), Strategy::Line) = (&work.prune.grid, work.strategy) {
        let rows = (work.job.space.n + work.job.space.m) as f64;
        let within = work.pairs as f64 * grid.within;
        return vec![
            work.shared("sorting rows", rows * rates::LINE[0]),
            work.shared("counting", within * rates::LINE[1]),
        ];
    }
    if let Some(grid) = &work.prune.grid {
        return cells(work, grid, pairs);
    }
    vec![
        sorted(work),
        boxes(work, kernel, pairs),
        evaluated(work, kernel, pairs),
    ]
}

/// Returns the terms of folds by row over the pairs that a grid of cells finds.
///
/// `grid.evaluated` is the share of pairs in neighbouring cells and `grid.within` the share within
/// reach. In three dimensions a ball takes up (4π/3)/27 ≈ 16 % of the 27 cells around it, so most
/// pairs that are looked at are dropped after their distance, and only the others pay for the fold.
fn cells(work: &Work<'_>, grid: &Grid, pairs: f64) -> Vec<Term> {
    let rows = (work.job.space.n
        + if work.job.y.is_some() {
            work.job.space.m
        } else {
            0
        }) as f64;
    // Of the pairs that are looked at, those within reach are folded.
    let within = pairs * grid.within / grid.evaluated.max(f64::MIN_POSITIVE);
    let [placed, gathered, looked, kept] = rates::GRID;
    let folds: f64 = work
        .job
        .folds
        .iter()
        .map(|f| {
            if let Fold::Reduce(f) = f {
                f.width as f64
            } else {
                1.0
            }
        })
        .sum();
    vec![
        work.shared("placing rows in cells", rows * placed),
        work.shared("gathering neighbours", pairs / grid.together * gathered),
        work.shared(
            "pairs within reach",
            pairs * (formula::vector(work) / work.lanes() + looked),
        ),
        work.shared("folding values", within * folds * kept),
    ]
}

/// Returns the term of sorting rows along the curve.
///
/// The two sides are sorted at the same time if there are threads. The rate was measured for 2¹⁷
/// rows; a sort takes n log₂ n steps, so it is scaled by log₂ n / 17.
fn sorted(work: &Work<'_>) -> Term {
    let (n, m) = (
        work.job.space.n,
        if work.job.y.is_some() {
            work.job.space.m
        } else {
            0
        },
    );
    let numbers = |rows: usize| rows as f64 * (rows.max(2) as f64).log2() / 17.0;
    match work.threads() > 1.0 {
        true => work.alone("sorting rows", numbers(n).max(numbers(m)) * rates::SORTED),
        false => work.alone("sorting rows", (numbers(n) + numbers(m)) * rates::SORTED),
    }
}

/// Returns the term of bounding boxes: the way down for a row or a group, then the leaves it
/// reaches.
///
/// A way down costs about the same for any data, so it counts by rows; leaves count by the pairs in
/// them, divided by the size of a leaf.
fn boxes(work: &Work<'_>, kernel: Kernel, pairs: f64) -> Term {
    let rows = work.job.space.n as f64;
    let cycles = match kernel {
        // Groups of 16 rows go down together; then each pair of a group and a leaf.
        Kernel::Points => {
            let skewed = if work.is_triclinic() {
                rates::SKEWED
            } else {
                1.0
            };
            let leaves = pairs / (GROUP * LEAF) * rates::GROUP[1];
            skewed * (rows / GROUP * rates::GROUP[0] + leaves)
        }
        Kernel::Nearest => {
            let [Fold::Nearest(f)] = work.job.folds.as_slice() else {
                return work.shared("bounding boxes", 0.0);
            };
            // A list longer than a register is kept in memory, and each candidate that enters moves
            // the ones behind it.
            let beyond = (f.k.min(work.job.space.m) as f64 - rates::SHORT_LIST).max(0.0);
            rows * (rates::NEAREST[0] + beyond * rates::LISTED[1])
                + pairs / LEAF * rates::NEAREST[1]
        }
        Kernel::Within => rows * rates::WITHIN[0] + pairs / LEAF * rates::WITHIN[1],
        Kernel::Ends => rows * rates::ENDS[0] + pairs / LEAF * rates::ENDS[1],
        // Interval arithmetic costs a constant factor more than the formula itself.
        Kernel::General => {
            let (component, pair) = work.job.low.operations();
            let bound = (component * work.job.low.dim + pair) as f64 * rates::BOUND;
            // Rows of a group are bounded against a leaf one by one.
            (rows / GROUP * 50.0 + pairs / BLOCK * 2.0) * bound
        }
    };
    work.shared("bounding boxes", cycles)
}

/// Returns the term of the pairs that bounds leave.
///
/// Specialised kernels have measured rates for a pair with everything that is done to it. The
/// general one evaluates the formula like a run over all pairs and then passes the value to each
/// fold.
fn evaluated(work: &Work<'_>, kernel: Kernel, pairs: f64) -> Term {
    let each = match kernel {
        Kernel::Points => super::bumped(work),
        Kernel::Nearest => rates::NEAREST[2],
        Kernel::Within => rates::WITHIN[2],
        Kernel::Ends => rates::ENDS[2],
        // The formula in vectors, then every fold.
        Kernel::General => {
            let folds: f64 = work.job.folds.iter().map(|f| super::each(work, f)).sum();
            formula::vector(work) / work.lanes() + folds
        }
    };
    work.shared(
        if kernel == Kernel::Points {
            "counting"
        } else {
            "pairs that bounds leave"
        },
        pairs * each,
    )
}
