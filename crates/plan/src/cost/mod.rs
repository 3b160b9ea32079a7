//! The cost model of the CPU: predicted seconds as a sum of terms, one function for each thing that
//! takes time.
//!
//! A term is a number of cycles of one core (from the table in [`rates`]), divided by the clock and
//! the threads of the machine, or a number of bytes divided by a bandwidth. Terms add up, because
//! each is about something that does not overlap with the others; the largest is what limits the
//! run, and `explain` says so.
//!
//! The model serves decisions between strategies and a prediction for people. It should be right
//! within a factor of two; `zipfold bench --everything` lists questions for which it is three times
//! off. It reads no clock and measures nothing: rates are constants, measured once.
//!
//! ```text
//! histogram of 54 M distances, 2 threads at 3 GHz, 0.35 cycles a pair  →  counting: 54 M · 0.35 / (3 G · 2) = 3.2 ms
//! ```

mod formula;
mod pruned;
pub mod rates;

pub use pruned::gridded;

use crate::bytes::dense_bytes;
use crate::machine::{Isa, Machine};
use crate::prune::Prune;
use crate::strategy::{Evaluator, Strategy};
use rates::Rates;
use serde::{Deserialize, Serialize};
use zipfold_core::fold::{Axis, BLOCK, Fold, Histogram, Reduce, ReduceOp};
use zipfold_core::pair::Shape;
use zipfold_core::pair::pattern::{Reduction, VectorReduction};
use zipfold_core::pair::tree::{DEP_X, DEP_Y, Deps, Id, Node};
use zipfold_core::space::periodic_box::Image;
use zipfold_core::{Job, Precision};

/// The seconds of one thing that takes time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// What takes them.
    pub what: String,
    /// Seconds.
    pub seconds: f64,
}

/// The term of page faults in a result that is new to the process. It falls away if the caller
/// lends memory that was written before. Plans and the benchmark find the term by this name.
pub const FRESH: &str = "new pages of the result";

/// What the terms depend on.
pub struct Work<'a> {
    /// The job.
    pub job: &'a Job,
    /// The machine.
    pub machine: &'a Machine,
    /// Instruction set.
    pub isa: Isa,
    /// How the pairs are computed.
    pub strategy: &'a Strategy,
    /// The type of values.
    pub precision: Precision,
    /// Whether bounds leave pairs out.
    pub prune: Prune,
    /// Pairs of the space.
    pub pairs: u64,
    /// Batches, each with a partial state.
    pub batches: usize,
}

impl Work<'_> {
    /// Returns the rates of the instruction set that runs, which need not be the widest of the
    /// machine.
    fn rates(&self) -> &'static Rates {
        rates::for_isa(self.isa)
    }
    /// Returns the lanes of a vector in the precision of values: 8 doubles or 16 floats with
    /// AVX-512.
    fn lanes(&self) -> f64 {
        (self.isa.lanes() * 8 / self.precision.bytes()) as f64
    }
    /// Returns whether differences are images in a triclinic box.
    fn is_triclinic(&self) -> bool {
        let cell = self.job.periodic_box.as_ref();
        cell.is_some_and(|cell| matches!(cell.image(), Image::Triclinic(_)))
    }
    /// Returns the threads, at least one.
    fn threads(&self) -> f64 {
        self.machine.threads.max(1) as f64
    }
    /// Returns the term of `cycles` that all threads share, as if they shared them evenly. Uneven
    /// shares are not predicted: batches are small enough that the last one does not matter.
    fn shared(&self, what: &str, cycles: f64) -> Term {
        Term {
            what: what.into(),
            seconds: cycles / (self.machine.clock * self.threads()),
        }
    }
    /// Returns the term of `cycles` of one thread, while the others wait.
    fn alone(&self, what: &str, cycles: f64) -> Term {
        Term {
            what: what.into(),
            seconds: cycles / self.machine.clock,
        }
    }
    /// Returns the number of pairs that are computed: blocks across the diagonal of a triangular
    /// domain are computed whole, half of which is thrown away.
    ///
    /// There are n / BLOCK such blocks of BLOCK² pairs each; half of all of them is n · BLOCK / 2.
    /// Rows of a band have about as many on each side of it.
    fn computed(&self) -> f64 {
        let space = &self.job.space;
        let diagonal = if space.band.is_some() {
            space.n * BLOCK.min(space.m)
        } else if space.is_triangular() {
            space.n * BLOCK.min(space.n) / 2
        } else {
            0
        };
        self.pairs as f64 + diagonal as f64
    }
    /// Returns whether values are in single precision.
    fn is_single(&self) -> bool {
        self.precision == Precision::F32
    }
    /// Whether kernels of packed rows compute the reductions.
    fn is_packed(&self) -> bool {
        matches!(self.strategy, Strategy::Blocks { packed: true, .. })
    }
    /// Whether the formula is computed step by step.
    fn is_stepwise(&self) -> bool {
        matches!(
            self.strategy,
            Strategy::Blocks { code: false, .. }
                | Strategy::Grid { code: false }
                | Strategy::Boxes(Evaluator::Steps)
        )
    }
}

/// Returns the terms of a run, the largest first.
///
/// Their sum is the predicted time, and the first one is what the plan is "bound by". Terms add up,
/// as if nothing overlapped: loading and computing do overlap within a core, which the measured
/// rates contain.
pub fn terms(work: &Work<'_>) -> Vec<Term> {
    // What every run pays, then its pairs, then what its results cost.
    let mut terms = vec![start(work), laid(work)];
    terms.extend(if work.strategy.is_pruned() {
        pruned::terms(work)
    } else {
        of_pairs(work)
    });
    terms.push(grids(work));
    terms.extend(results(work));
    let mut terms = by_name(terms);
    terms.retain(|t| t.seconds > 0.0);
    terms.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    terms
}

/// Adds up terms of the same name: several folds have a term each.
fn by_name(terms: Vec<Term>) -> Vec<Term> {
    let mut all: Vec<Term> = vec![];
    for term in terms {
        match all.iter_mut().find(|have| have.what == term.what) {
            Some(have) => have.seconds += term.seconds,
            None => all.push(term),
        }
    }
    all
}

/// Returns the cycles of evaluating all pairs one by one and folding them, without what happens
/// once: what pruning could save.
pub fn cycles_of_pairs(work: &Work<'_>) -> f64 {
    of_pairs(work).iter().map(|term| term.seconds).sum::<f64>()
        * work.machine.clock
        * work.threads()
}

/// Returns the terms of all pairs, evaluated one by one, by family.
///
/// A family decides what is a term of its own. The points kernel does everything in one loop, so it
/// has one rate; the others compute a reduction, the rest of the formula and the folds in separate
/// loops over a block, so their terms add.
fn of_pairs(work: &Work<'_>) -> Vec<Term> {
    // The kernel of points counts as it computes: one rate covers both.
    if *work.strategy == Strategy::Points {
        return vec![counted(work)];
    }
    if *work.strategy == Strategy::Farthest {
        let next = Work {
            strategy: &Strategy::LAST,
            ..*work
        };
        let seconds: f64 = of_pairs(&next).iter().map(|term| term.seconds).sum();
        return vec![Term {
            what: "rows until they are left".into(),
            seconds: seconds * rates::MET_BY_ROWS,
        }];
    }
    // Few pairs need the formula at all, so only the reduction and the look at its value cost.
    if let Strategy::Filter(_) = work.strategy {
        return vec![
            reductions(work),
            work.shared("looking at values", work.pairs as f64 * rates::FILTERED),
        ];
    }
    let mut terms = vec![reductions(work), formula::term(work)];
    terms.extend(work.job.folds.iter().map(|fold| folded(work, fold)));
    let cut = if work.job.cutoff_root.is_some() {
        rates::CUT
    } else {
        0.0
    };
    terms.push(work.shared("cut-off", work.pairs as f64 * cut));
    terms
}

/// The term of description, plan and threads. One block is computed by the calling thread, which
/// starts in a tenth of the time.
fn start(work: &Work<'_>) -> Term {
    let sampled = if work.prune.evaluated.is_some() {
        rates::SAMPLED
    } else {
        0.0
    };
    let one_block = work.job.space.n <= BLOCK && work.job.space.m <= BLOCK;
    work.alone(
        "start",
        sampled
            + if one_block {
                rates::START / 10.0
            } else {
                rates::START
            },
    )
}

/// Returns the term of hoisting rows and laying them out for the kernels.
///
/// It grows with rows and not with pairs, so it matters for few rows on one side and for long
/// formulas of one row.
fn laid(work: &Work<'_>) -> Term {
    let (low, space) = (&work.job.low, &work.job.space);
    let width = |side: usize| low.row_vectors[side].len() * low.dim + low.row_scalars[side].len();
    let numbers = space.n * width(0) + space.m * width(1);
    // Rows of one table that are the same on either side are hoisted once for the dense kernels.
    let once =
        work.is_packed() && work.job.y.is_none() && low.vector_tail.is_empty() && low.is_mirrored();
    let others = if once { 0 } else { space.m };
    let hoisted =
        (space.n * hoisted(work.job, DEP_X) + others * hoisted(work.job, DEP_Y)) * low.dim;
    work.shared(
        "laying out rows",
        numbers as f64 * rates::LAID + hoisted as f64 * rates::HOISTED,
    )
}

/// Counts the operations on every element of a row that are done once per row.
fn hoisted(job: &Job, side: Deps) -> usize {
    let formula = &job.low.formula;
    let live = formula.live();
    let ids = (0..live.len())
        .filter(|at| live[*at])
        .map(|at| Id(at as u32));
    let plain = |id: &Id| matches!(formula.node(*id), Node::Row(_) | Node::At(..) | Node::Delta);
    let by_element = |id: &Id| {
        formula.ty(*id).shape == Shape::Vector || matches!(formula.node(*id), Node::Reduce(..))
    };
    ids.filter(|id| formula.deps(*id) == side && !plain(id) && by_element(id))
        .count()
}

/// Returns the term of reductions that kernels of packed rows compute.
///
/// A dense kernel keeps a tile of sums in registers and reads each component once per tile, as a
/// matrix product does, so its cycles per component and pair are far below those of the general
/// loop. Truth values are packed to bits there: 64 components are one `xor` and one count.
fn reductions(work: &Work<'_>) -> Term {
    let low = &work.job.low;
    let filter = matches!(work.strategy, Strategy::Filter(_));
    let dense = work.is_packed() || filter;
    let forms = low
        .stages
        .iter()
        .flat_map(|s| &s.reduces)
        .filter_map(|r| low.reduction(*r));
    // Filtering computes in single precision, with twice the lanes.
    let lanes = if filter {
        2.0 * work.lanes()
    } else {
        work.lanes()
    };
    let table = if work.is_single() || filter {
        &work.rates().dense_single
    } else {
        &work.rates().dense_double
    };
    let cycles = |form: Reduction| match form {
        Reduction::L1 => table[0],
        Reduction::SqDiff => table[1],
        Reduction::Dot => table[2],
        Reduction::Chebyshev => table[3],
        Reduction::Lp3 => table[4],
        Reduction::Differ => table[5],
    };
    // Rows of truth values are bits: 64 components are one word.
    let truths = |[a, b]: [Id; 2]| low.formula.ty(a).truth && low.formula.ty(b).truth;
    let words = low.dim.div_ceil(64) as f64 * work.rates().bits * lanes;
    let one = |reduction: VectorReduction| {
        if truths(reduction.sides) {
            words
        } else {
            cycles(reduction.form) * low.dim as f64
        }
    };
    let each: f64 = forms.filter(|_| dense).map(one).sum();
    work.shared(
        "arithmetic of the reductions",
        work.computed() / lanes * each,
    )
}

/// Returns the term of pairs of points that are counted by their own kernel.
fn counted(work: &Work<'_>) -> Term {
    work.shared("counting", work.pairs as f64 * bumped(work))
}

/// Returns the cycles of a pair of points that is counted, by the kind of box, with its sums.
fn bumped(work: &Work<'_>) -> f64 {
    let space = match work.job.periodic_box.as_ref().map(|c| c.image()) {
        None => 0,
        Some(Image::Orthorhombic(_)) => 1,
        Some(Image::Triclinic(_)) => 2,
    };
    work.rates().counted[space] + pruned::summed(work.job)
}

/// Returns the term of values that a fold takes, if all pairs are visited.
fn folded(work: &Work<'_>, fold: &Fold) -> Term {
    work.shared("folding values", work.pairs as f64 * each(work, fold))
}

/// Returns the cycles of a value on its way into a fold, once it is computed.
///
/// Most are a few cycles: a store, a comparison, an addition. A histogram pays for placing the
/// value, which is a multiplication for even bins and a binary search for others.
fn each(work: &Work<'_>, fold: &Fold) -> f64 {
    let half = work.job.space.is_triangular();
    let [matrix, mirrored, nearest, bins, select] = rates::FOLD;
    if let Fold::Dense(f) = fold {
        return if f.is_mirrored(&work.job.space) {
            mirrored
        } else {
            matrix
        };
    }
    if let Fold::Reduce(f) = fold {
        return credited(work, f);
    }
    // A comparison with the worst kept, and now and then an insertion.
    if let Fold::Nearest(f) = fold {
        let other = if half { rates::NEAREST_OF_OTHER } else { 0.0 };
        return nearest + other + listed(f.k, work.job.space.m) * if half { 2.0 } else { 1.0 };
    }
    // Each axis places the value; uneven edges take a search.
    if let Fold::Histogram(h) = fold {
        let [weight, mean] = rates::TERMS;
        let search = |a: &Axis| if a.is_even() { 0.0 } else { rates::SEARCHED };
        let placed: f64 = h.axes.iter().map(|a| bins + search(a)).sum();
        return placed
            + if h.weights.is_some() { weight } else { 0.0 }
            + if h.mean { mean } else { 0.0 }
            + h.formula_terms() as f64 * rates::EXACT_TERM;
    }
    if let Fold::Join(_) = fold {
        return select;
    }
    // Folds without kernels of their own say it themselves.
    fold.traits().cycles
}

/// Returns the cycles per value of a list of `k` neighbours.
///
/// Of `m` values in random order the n-th is among the k best so far with probability min(1, k/n).
/// The sum over n is k (1 + ln(m/k)) insertions: for k = 10 of m = 10⁶ that is 125, so that an
/// insertion may cost much more than a comparison. Short lists are in registers.
fn listed(k: usize, m: usize) -> f64 {
    let (k, m) = (k.min(m).max(1) as f64, m.max(1) as f64);
    let taken = k * (1.0 + (m / k).ln());
    if k <= rates::SHORT_LIST {
        0.0
    } else {
        taken / m * rates::LISTED[0]
    }
}

/// Returns the cycles of a value that is credited to its row, and in a triangular domain to its
/// column.
fn credited(work: &Work<'_>, fold: &Reduce) -> f64 {
    let half = work.job.space.is_triangular();
    let one = work.job.folds.len() == 1;
    let weighted = fold.sums_weighted(half).is_some() && one;
    // Pruned runs and the evaluator hand values over; code that was made for a formula adds them up
    // itself.
    let added = !work.strategy.is_pruned() && !work.is_stepwise() && work.job.cutoff_root.is_none();
    let all = work
        .job
        .folds
        .iter()
        .all(|f| matches!(f, Fold::Reduce(f) if f.sums_runs(half)));
    let [value, number, to_column, of_single, best] = rates::CREDITED;
    // Columns take theirs in double precision.
    let of_double = work.rates().functions.exp[0];
    let exponential = if work.is_single() {
        of_single
    } else {
        of_double
    };
    // A result of several numbers is several sums.
    let numbers = fold.out_width() as f64;
    let sides = if half { 1.0 } else { 0.0 };
    // Sums inside generated code cost an addition; handed over, a value costs its way out and in.
    match fold.op {
        ReduceOp::Sum | ReduceOp::Mean if added && weighted => 2.0 * rates::ADDED,
        ReduceOp::Sum | ReduceOp::Mean if added && all => rates::ADDED * numbers,
        ReduceOp::Sum | ReduceOp::Mean => value + numbers * (number + sides * to_column),
        ReduceOp::Logsumexp | ReduceOp::Softmax => {
            value + exponential + (numbers - 1.0) * number + sides * 2.0 * of_double * numbers
        }
        _ => value + best * (1.0 + sides),
    }
}

/// The term of bins: making their edges, and clearing and merging the counters of all batches.
fn grids(work: &Work<'_>) -> Term {
    let histograms = work.job.folds.iter().filter_map(|f| {
        if let Fold::Histogram(h) = f {
            Some(h)
        } else {
            None
        }
    });
    let [edge, counter] = rates::BINS;
    // Edges are made once, counters once per batch.
    let cycles = |h: &Histogram| {
        let edges: usize = h.axes.iter().map(Axis::bins).sum();
        edges as f64 * edge + (h.cells() * h.numbers()) as f64 * counter * work.batches as f64
    };
    work.shared("bins", histograms.map(cycles).sum())
}

/// The terms of dense results: writing their bytes, and the first touch of their pages.
fn results(work: &Work<'_>) -> [Term; 2] {
    let (n, m) = (work.job.space.n, work.job.space.m);
    let bytes = work
        .job
        .folds
        .iter()
        .map(|f| dense_bytes(f, n, m, work.precision))
        .sum::<u64>() as f64;
    let term = |what: &str, rate: f64| Term {
        what: what.into(),
        seconds: bytes / rate,
    };
    [
        term("writing the result", work.machine.write_rate),
        term(FRESH, work.machine.fresh_rate),
    ]
}
