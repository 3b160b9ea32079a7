//! Predicts the seconds of device kernels.
//!
//! The unit of account is "operations that a unit could have started meanwhile": everything that
//! takes time (a write, a read, a collision) is expressed in single-precision operations of a lane,
//! so that predictions scale with the number of units and the clock of a device. The constants are
//! rates of one NVIDIA H200, measured in `bench/records`.

use crate::device::bins::{Cells, Scale};
use crate::device::fixed::{BinSums, Fixed};
use crate::device::images::shifts;
use crate::device::matrix::{Matrix, MatrixKernel};
use crate::device::products;
use crate::device::sweeps::{Sweeps, private_words};
use crate::device::{self, Facts};
use crate::low_precision::ProductType;
use crate::overrides::MatrixUnits;
use crate::sweep::{FEW, HELD, SHARED, SweepWork, UNIT, WIDE, width};
use crate::swept::Swept;
use std::borrow::Cow;
use zipfold_core::fold::{Axis, Fold, Histogram, ReduceOp, SummedTerms};
use zipfold_core::pair::tree::{Binary, ComponentReduce, Id, Node, Unary};
use zipfold_core::space::periodic_box::Image;
use zipfold_core::{Job, Precision};

/// Single-precision operations that a unit starts in a cycle; half as many in double precision.
const LANES: f64 = 128.0;
/// The share of these that register-blocked tiles do start.
const TILED: f64 = 0.83;
/// Products that matrix units add in the time of one operation: of 16-bit numbers, of single precision
/// rounded to 11 bits, of single precision by three products, of double precision in the time of one
/// operation of double precision.
const MATRIX: f64 = 5.5;
const TF32: f64 = 3.5;
const TF32X3: f64 = 1.3;
/// The same by four warps together, on one NVIDIA H100 (`bench/records/h100/2026-11-26-warpgroups.md`).
const GROUPED_MATRIX: f64 = 9.2;
const GROUPED_TF32: f64 = 5.3;
const DOUBLES: f64 = 1.63;
/// The same in tiles whose rows stay in shared memory, and in others, on one NVIDIA H100
/// (`bench/records/h100/2026-11-25-wide.md`).
const STAYING: f64 = 6.2;
const MOVING: f64 = 3.5;
const GROUPED_STAYING: f64 = 10.3;
const GROUPED_MOVING: f64 = 7.6;
/// Operations that could start while a value is taken out of a tile of four warps: they wait for each
/// other only where a pair is open.
const GROUPED_TAKEN: f64 = 9.0;
/// Cycles of a unit for one level of a row's list, where pairs that products leave open come together.
const KEPT: f64 = 95.0;
/// Cycles of a unit for a component of a pair that products leave open.
const OPEN: f64 = 3.3;
/// Operations that could start while one of a pair's own runs behind matrix units.
const BEHIND: f64 = 18.0;
/// Operations that could start while a unit writes a number of a matrix.
const WRITE: f64 = 30.0;
/// Operations that could start while a number that belongs to a row is read for a pair of a tile.
const NUMBER: f64 = 25.0;
/// Cycles of a unit for one level of a row's sorted list of neighbours, when one of them is
/// replaced; of one in a heap.
const LEVEL: f64 = 55.0;
const HEAP: f64 = 27.0;
/// Components of a slice: rows that are no longer leave nothing to fetch next to the work.
const SLICE: usize = 16;
/// How much longer double precision waits where few threads fit.
const DOUBLE: f64 = 2.8;
/// Seconds of a run next to its kernels: memory, launches, results.
const BESIDE: f64 = 1.8e-4;

/// Predicts the seconds of the kernels alone: operations per pair times pairs, divided by what the
/// device starts per second.
pub fn kernel_seconds(job: &Job, facts: &Facts, pairs: u64, work: &device::DeviceWork) -> f64 {
    let device::DeviceWork::Sweeps(folds) = work else {
        return one_fold_seconds(job, facts, pairs, work);
    };
    let parts = device::parts(job);
    let of_fold = |(part, sweeps): (&Cow<'_, Job>, &Sweeps)| {
        let work = device::DeviceWork::Sweeps(vec![sweeps.clone()]);
        one_fold_seconds(part, facts, pairs, &work)
    };
    parts.iter().zip(folds).map(of_fold).sum()
}

/// Predicts the seconds of the kernels of a job of one fold, or of values.
fn one_fold_seconds(job: &Job, facts: &Facts, pairs: u64, work: &device::DeviceWork) -> f64 {
    // Operations of histograms are told in those of single precision.
    let swept = sweeps(work).is_some_and(|sweeps| sweeps.filter.is_some())
        || matches!(job.folds.first(), Some(Fold::Histogram(_)));
    let lanes = if job.precision == Precision::F32 || swept {
        LANES
    } else {
        LANES / 2.0
    };
    // Lower limits, because a driver may report zeros.
    let cycles = facts.units.max(1) as f64 * facts.clock.max(1e6);
    let tiled = sweeps(work).is_some_and(Sweeps::is_tiled);
    let by_products = sweeps(work).is_some_and(|sweeps| sweeps.products.is_some());
    // By the way values take: into a matrix, from tiles, or from a sweep.
    let pair = if job.folds.first().is_some_and(Fold::is_dense) {
        matrix_operations(job, work)
    } else if by_products {
        let units = sweeps(work).and_then(Sweeps::units);
        product_operations(job, units == Some(MatrixUnits::Warpgroups))
    } else if tiled {
        tiled_operations(job)
    } else {
        sweep_operations(job, work)
    };
    // Lists cost cycles by row and not by pair, so they are added after the pairs.
    let lists: f64 = job
        .folds
        .iter()
        .map(|f| match by_products {
            true => open_cycles(f, job),
            false => list_cycles(f, job, facts, tiled),
        })
        .sum();
    let beside = if job.folds.iter().any(Fold::is_dense) {
        0.0
    } else {
        BESIDE
    };
    (pairs as f64 * pair / lanes + lists) / cycles + beside
}

/// Returns the sweeps of the only fold, if a device folds.
fn sweeps(work: &device::DeviceWork) -> Option<&Sweeps> {
    if let device::DeviceWork::Sweeps(folds) = work {
        folds.first()
    } else {
        None
    }
}

/// Returns the operations of a pair of a matrix: its reductions, its own operations, and writing
/// it, twice if it is mirrored.
fn matrix_operations(job: &Job, work: &device::DeviceWork) -> f64 {
    let mirrored = job.folds[0]
        .dense()
        .is_some_and(|f| f.is_mirrored(&job.space));
    let write = if mirrored { 2.0 * WRITE } else { WRITE };
    let single = job.low.operations().1 as f64;
    if let device::DeviceWork::Matrix(Matrix {
        kernel: MatrixKernel::Products(shape),
        ..
    }) = work
    {
        let grouped = shape.units == MatrixUnits::Warpgroups;
        let rate = match shape.input {
            ProductType::Half(_) if grouped => GROUPED_MATRIX,
            ProductType::Half(_) => MATRIX,
            ProductType::Tf32 if grouped => GROUPED_TF32,
            ProductType::Tf32 => TF32,
            ProductType::Tf32x3 => TF32X3,
            ProductType::F64 => DOUBLES,
        };
        return job.low.dim as f64 / rate + single * BEHIND + write;
    }
    pair_operations(job) / TILED + single + write
}

/// Operations of a pair that goes from a register-blocked tile to the fold. The number for each
/// fold is what it costs to take a value out of a tile.
fn tiled_operations(job: &Job) -> f64 {
    let fold = match Swept::for_fold(&job.folds[0]) {
        Some(Swept::Histogram(_)) => 80.0,
        Some(Swept::Nearest(_)) => 85.0,
        Some(Swept::Join(f)) if f.is_inner() && job.low.dim <= SLICE => 58.0,
        Some(Swept::Join(f)) if f.is_inner() => 38.0,
        Some(Swept::Join(_)) => 22.0,
        Some(Swept::Reduce(f)) if f.op == ReduceOp::Count => 22.0,
        Some(Swept::Reduce(f)) if f.op == ReduceOp::Sum => 11.0,
        Some(Swept::Reduce(_) | Swept::Extremes(_)) | None => 28.0,
    };
    let numbers = job.low.row_scalars.iter().map(Vec::len).sum::<usize>() as f64;
    pair_operations(job) / TILED + job.low.operations().1 as f64 + numbers * NUMBER + fold
}

/// Operations of a pair whose value is a product of rounded rows: whole slices of components, and
/// taking the value out of a tile, `grouped` by four warps or not.
fn product_operations(job: &Job, grouped: bool) -> f64 {
    let whole = job.low.dim.next_multiple_of(products::SLICE) as f64;
    let rate = match (job.low.dim <= products::STAYING, grouped) {
        (true, false) => STAYING,
        (false, false) => MOVING,
        (true, true) => GROUPED_STAYING,
        (false, true) => GROUPED_MOVING,
    };
    let fold = match Swept::for_fold(&job.folds[0]) {
        Some(Swept::Reduce(f)) if f.op == ReduceOp::Count => 17.0,
        Some(Swept::Join(f)) if !f.is_inner() => 17.0,
        Some(
            Swept::Reduce(_)
            | Swept::Join(_)
            | Swept::Nearest(_)
            | Swept::Histogram(_)
            | Swept::Extremes(_),
        )
        | None => 14.0,
    };
    let fold = if grouped {
        fold - 14.0 + GROUPED_TAKEN
    } else {
        fold
    };
    whole / rate + job.low.operations().1 as f64 + fold
}

/// Operations of a pair of a sweep. Rows of more than 32 numbers come from device memory for every
/// pair, which sets the pace.
fn sweep_operations(job: &Job, work: &device::DeviceWork) -> f64 {
    let widest = width(job, 0).max(width(job, 1));
    let dim = job.low.dim as f64;
    // Registers hold short rows; wider ones are loaded for every pair, and the widest come from far
    // away.
    let pair = match widest {
        w if w > HELD => pair_operations(job).max(far(&job.folds) * dim),
        // One anchor a thread: every number of an other is loaded for one pair.
        w if w > WIDE => pair_operations(job) + dim,
        _ => pair_operations(job),
    };
    let fold: f64 = job
        .folds
        .iter()
        .map(|f| fold_operations(f, work, widest))
        .sum();
    pair + job.low.operations().1 as f64 + fold + space_operations(job, work)
}

/// Operations of a pair for its minimum image and for a cut-off, by single precision or by double.
///
/// Rates of one NVIDIA H100 (`bench/records/h100/2026-11-26-filters.md`).
fn space_operations(job: &Job, work: &device::DeviceWork) -> f64 {
    let filter = sweeps(work).and_then(|sweeps| sweeps.filter);
    let periodic = job.periodic_box.as_ref().filter(|_| job.low.periodic);
    let image = match (periodic.map(|cell| cell.image()), filter.is_some()) {
        (None, _) => 0.0,
        (Some(Image::Orthorhombic(_)), true) => 3.2 * job.low.dim as f64,
        (Some(Image::Orthorhombic(_)), false) => 15.0 * job.low.dim as f64,
        (Some(Image::Triclinic(lattice)), true) => 15.0 + 7.0 * shifts(lattice).len() as f64,
        (Some(Image::Triclinic(_)), false) => 300.0,
    };
    let cut = match (job.cutoff_root.is_some(), filter.is_some()) {
        (false, _) => 0.0,
        (true, true) => 10.0,
        (true, false) => 24.0,
    };
    image + cut
}

/// Operations that could start while one number of a row comes from device memory, by what the fold
/// leaves of the registers.
fn far(folds: &[Fold]) -> f64 {
    match folds.first().and_then(Swept::for_fold) {
        Some(Swept::Reduce(f)) if f.op.is_extreme() => 13.0,
        Some(Swept::Join(_)) => 10.0,
        Some(Swept::Reduce(_) | Swept::Nearest(_) | Swept::Histogram(_) | Swept::Extremes(_))
        | None => 6.6,
    }
}

/// Operations of the components of a pair. A magnitude is a flag of the next operation and costs
/// nothing; a product that is summed is one fused operation in single precision; a whole power
/// takes one product less than it has factors.
fn pair_operations(job: &Job) -> f64 {
    let single = job.precision == Precision::F32;
    let of = |id: &Id| match job.low.formula.node(*id) {
        Node::Unary(Unary::Abs, _) => 0.0,
        Node::Binary(Binary::Pow, _, p) => factors(job, *p).map_or(1.0, |n| n - 1.0),
        Node::Reduce(ComponentReduce::Sum, body) if single && ends_in_product(job, *body) => 0.0,
        _ => 1.0,
    };
    let loops: f64 = job
        .low
        .stages
        .iter()
        .flat_map(|s| s.vectors.iter().chain(&s.reduces))
        .map(of)
        .sum();
    // All of them once per component; operations per pair are added by the callers.
    (loops + job.low.vector_tail.len() as f64) * job.low.dim as f64
}

/// Returns a whole exponent from 2 to 64.
fn factors(job: &Job, power: Id) -> Option<f64> {
    job.low
        .formula
        .constant(power)
        .filter(|p| *p == p.trunc() && (2.0..=64.0).contains(p))
}

/// Returns whether the last operation of a summed body is a product, which the sum adds at once.
///
/// Double precision does not contract, so it pays for both.
fn ends_in_product(job: &Job, body: Id) -> bool {
    match job.low.formula.node(body) {
        Node::Binary(Binary::Mul, ..) => true,
        Node::Binary(Binary::Pow, _, p) => factors(job, *p).is_some(),
        _ => false,
    }
}

/// Operations of a fold for every pair of a sweep, with the loop of the sweep.
fn fold_operations(fold: &Fold, work: &device::DeviceWork, widest: usize) -> f64 {
    let sweeps = sweeps(work);
    let is = |test: fn(&Sweeps) -> bool| sweeps.is_some_and(test);
    let Some(fold) = Swept::for_fold(fold) else {
        return 1.0;
    };
    match fold {
        // Counters in device memory: atomics collide more the fewer cells there are.
        Swept::Histogram(h) if is(|s| s.passes.iter().any(|pass| pass.copies == 0)) => {
            let cells = h.cells().max(1) as f64;
            770.0 * (1.0 + 2000.0 / cells) + far_operations(h) * (1.0 + 750.0 / cells)
        }
        // Without a filter each pair is placed in double precision.
        Swept::Histogram(h) if is(|s| s.filter.is_none()) => {
            let others = 34.0 * (h.axes.len() - 1) as f64;
            78.0 + others + DOUBLE * few_blocks(h) + search_operations(h) + sum_operations(h)
        }
        Swept::Histogram(h) if is(|s| s.fast_bins) => 10.0 * h.axes.len() as f64,
        Swept::Histogram(h) => {
            let few = few_blocks(h) + look_ups(h);
            16.5 * h.axes.len() as f64 + few + sum_operations(h)
        }
        // Two passes.
        Swept::Join(_) if is(|s| s.counts_first) => 18.0,
        // Threads of a block wait for each other before every few cells.
        Swept::Join(_) if widest > WIDE => 65.0,
        Swept::Join(_) => 10.0,
        Swept::Reduce(f) if matches!(f.op, ReduceOp::Logsumexp | ReduceOp::Softmax) => 29.0,
        Swept::Reduce(f) if matches!(f.op, ReduceOp::Sum | ReduceOp::Mean) => 3.0,
        Swept::Reduce(f) if f.op == ReduceOp::Count => 12.0,
        Swept::Reduce(_) | Swept::Nearest(_) => 5.5,
        Swept::Extremes(f) => 6.0 * f.roots.len() as f64,
    }
}

/// Blocks of threads that a multiprocessor has room for, where one copy of the counters and sums is
/// large.
fn blocks_of_large(h: &Histogram) -> Option<f64> {
    let bytes = 4 * private_words(h)?;
    (bytes > SHARED).then(|| (UNIT / bytes).max(1) as f64)
}

/// Operations that could start while there is room for few blocks.
fn few_blocks(h: &Histogram) -> f64 {
    blocks_of_large(h).map_or(0.0, |blocks| 88.0 / blocks.powf(1.7))
}

/// How many times as long as in many blocks the terms of sums take in few: 3.5 times in one, 1.2 times
/// in four (`bench/records/h100/2026-11-28-values.md`).
fn waits_of_sums(h: &Histogram) -> f64 {
    blocks_of_large(h).map_or(1.0, |blocks| (5.0 / (blocks + 0.4)).max(1.0))
}

/// Operations of a pair for the search among edges that are not even.
fn search_operations(h: &Histogram) -> f64 {
    let one = |axis: &Axis| match Scale::even(axis) {
        Some(_) => 0.0,
        None => 24.0 * (axis.bins() as f64).log2().max(1.0),
    };
    h.axes.iter().map(one).sum()
}

/// Operations of a pair for the cells of uneven edges: lanes that look up many different cells wait
/// for each other.
fn look_ups(h: &Histogram) -> f64 {
    let axes = h
        .axes
        .iter()
        .filter(|a| Scale::of_axis(a).is_none())
        .count() as f64;
    let cells = Cells::bytes(h) as f64 / 8.0 / axes.max(1.0);
    axes * (6.0 + 2.6 * (cells / 128.0).log2().max(0.0))
}

/// Operations for a term of any size: its digits, and three words; and for a term whose sum is in
/// device memory, of many cells (`bench/records/h100/2026-11-28-values.md`).
const OF_TERM: f64 = 150.0;
const FAR_TERM: f64 = 1240.0;
/// Those of a weight of one of many sizes, which is split by its digits, too.
const OF_DIGITS: f64 = 255.0;

/// Terms that a pair adds to sums of this kind.
fn terms_of(terms: SummedTerms) -> f64 {
    match terms {
        SummedTerms::Weights | SummedTerms::Means | SummedTerms::Values(_) => 1.0,
        // The square, and what is left of its rounding.
        SummedTerms::Squares(_) => 2.0,
    }
}

/// Operations of a pair for its terms where sums by bin are in device memory.
fn far_operations(h: &Histogram) -> f64 {
    let sums = BinSums::for_histogram(h).unwrap_or_default();
    sums.all()
        .map(|(terms, _)| FAR_TERM * terms_of(terms))
        .sum()
}

/// Operations of a pair for its terms of sums by bin: splitting them, and an atomic a word.
///
/// Rates of one NVIDIA H100 (`bench/records/h100/2026-11-25-folds.md`).
fn sum_operations(h: &Histogram) -> f64 {
    let sums = BinSums::for_histogram(h).unwrap_or_default();
    let words = |fixed: Fixed| fixed.private.unwrap_or(fixed.words) as f64;
    let weights = sums.weights.map_or(0.0, |fixed| match fixed.split {
        true => 18.0 + 19.0 * words(fixed),
        false => OF_DIGITS,
    });
    let values = sums.values.map_or(0.0, |fixed| 14.0 * words(fixed));
    let formulas = sums.formulas.iter();
    let formulas = formulas.map(|(terms, ..)| OF_TERM * terms_of(*terms));
    (weights + values + formulas.sum::<f64>()) * waits_of_sums(h)
}

/// Cycles of all units for the lists of neighbours. If rows come in random order, the n-th is among
/// the k best with probability k/n, so a list of m rows is changed about k·(1 + ln(m/k)) times, and
/// each change moves log₂ k levels.
fn list_cycles(fold: &Fold, job: &Job, facts: &Facts, tiled: bool) -> f64 {
    let SweepWork::Best(k) = SweepWork::of_fold(fold) else {
        return 0.0;
    };
    // Anchors of a block, and blocks per multiprocessor.
    let (rows, blocks) = if tiled { (128, 3) } else { (256, 6) };
    let groups = job.space.n.div_ceil(rows).max(1);
    // Few rows are split by columns, so that all multiprocessors work; each part has its own lists.
    let spans = (facts.units * blocks)
        .div_ceil(groups)
        .min(job.space.m.div_ceil(1 << 15))
        .max(1);
    let best = k.max(1) as f64;
    let span = job.space.m as f64 / spans as f64;
    let levels = (job.space.n * spans) as f64
        * best
        * (1.0 + (span / best).max(1.0).ln())
        * (best + 1.0).log2();
    if k <= FEW {
        return levels * LEVEL;
    }
    // A heap reads two places a level, one row of a thread; units without a block idle.
    let started = job.space.n.div_ceil(128) * spans;
    let idle = facts.units.max(1) as f64 / started.clamp(1, facts.units.max(1)) as f64;
    2.0 * levels * HEAP * idle
}

/// Cycles of all units for the pairs that products leave open, where the best of a row are kept: the
/// first tile leaves about as many as are kept, the others as [`list_cycles`] says.
fn open_cycles(fold: &Fold, job: &Job) -> f64 {
    let SweepWork::Best(k) = SweepWork::of_fold(fold) else {
        return 0.0;
    };
    let best = k.max(1) as f64;
    let tiles = job.space.m.div_ceil(device::matrix::TILE).max(1) as f64;
    let level = if k <= FEW { KEPT } else { HEAP };
    let each = level * (best + 1.0).log2() + OPEN * job.low.dim as f64;
    job.space.n as f64 * best * (1.0 + tiles.ln()) * each
}
