//! The decision tree of sweeps on devices: how anchors and others reach the arithmetic, and where
//! the answer is kept.
//!
//! In a sweep a thread holds one or more rows of one side (*anchors*) in registers and visits all
//! rows of the other side (*others*), which a block of threads loads together in panels. The tree
//! is a pure function of the question; each leaf says why in words, which `explain` prints. The
//! figures behind it are measurements in `bench/records`.

use crate::device::bins::Cells;
use crate::swept::Swept;
use crate::tiles::SPAN;
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{BLOCK, Fold, ReduceOp};
use zipfold_core::{Job, Precision};

/// What is folded, as far as the shape of a sweep depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepWork {
    /// Sums by row, and other folds that keep a few numbers a row.
    Sums,
    /// Sums by row of values that are vectors.
    Vectors,
    /// The k best of every row; an extreme is the best one.
    Best(usize),
    /// Counters of a histogram, in shared memory.
    Counters,
    /// Counters of a histogram, in device memory.
    Scattered,
    /// Matches of a join.
    Matches,
}

impl SweepWork {
    /// Returns the work of the first fold of `job`; a device folds one.
    pub fn for_job(job: &Job) -> Self {
        job.folds
            .first()
            .map_or(SweepWork::Sums, SweepWork::of_fold)
    }
    /// Returns the work of `fold`.
    pub fn of_fold(fold: &Fold) -> Self {
        match Swept::for_fold(fold) {
            Some(Swept::Nearest(f)) => SweepWork::Best(f.k),
            Some(Swept::Reduce(f)) if f.op.is_extreme() => SweepWork::Best(1),
            Some(Swept::Reduce(f)) if f.width > 1 => SweepWork::Vectors,
            Some(Swept::Histogram(_)) => SweepWork::Counters,
            Some(Swept::Join(_)) => SweepWork::Matches,
            Some(Swept::Reduce(_) | Swept::Extremes(_)) | None => SweepWork::Sums,
        }
    }
}

/// Returns the numbers of a packed row of side 0 (x) or 1 (y).
pub fn width(job: &Job, side: usize) -> usize {
    let low = &job.low;
    low.row_vectors[side].len() * low.dim + low.row_scalars[side].len()
}

/// Numbers of a row up to which a thread keeps it in registers.
pub const HELD: usize = 32;
/// Numbers of a row from which on predicates take their pairs from tiles: an H200 joins rows of 12
/// numbers 1.15 times as fast that way, rows of 16 1.3 times.
const TRUTHS: usize = 12;

/// Returns whether the rows of `job` are so wide that tiles serve its fold better than a sweep.
pub fn is_wide(job: &Job) -> bool {
    let predicate = match job.folds.first() {
        Some(Fold::Reduce(f)) => f.op == ReduceOp::Count,
        Some(fold) => matches!(fold, Fold::Join(_)),
        None => false,
    };
    width(job, 0).max(width(job, 1)) > if predicate { TRUTHS - 1 } else { HELD }
}

/// Counters of a histogram, and words of the tables of its edges, up to which they fit the shared
/// memory that the slices of a tile leave.
const BESIDE: usize = 3000;
/// Components up to which sums of a tile stay in single precision.
const LONGEST: usize = 1024;

/// Returns whether the fold of `job` can take its values from register-blocked tiles.
pub fn tiles(job: &Job) -> bool {
    let [fold] = job.folds.as_slice() else {
        return false;
    };
    match Swept::for_fold(fold) {
        Some(Swept::Nearest(_)) => true,
        Some(Swept::Reduce(f)) if f.op == ReduceOp::Sum => {
            f.width == 1 && f.weight_width <= 1 && job.low.dim <= LONGEST
        }
        Some(Swept::Reduce(f)) => f.op.is_extreme() || f.op == ReduceOp::Count,
        Some(Swept::Join(f)) => f.value.is_none(),
        // Sums of weights and values are added where the rows of a pair are known.
        Some(Swept::Histogram(h)) => {
            let words = h.cells() + Cells::bytes(h) / 4;
            h.axes.len() == 1 && words <= BESIDE && !h.is_summed()
        }
        Some(Swept::Extremes(_)) | None => false,
    }
}

/// Blocks that fill a large device several times over: 16 for each of 132 multiprocessors.
const FILL: usize = 132 * 16;
/// Anchors of a block, about.
const ANCHORS: usize = 256;
/// The most bytes of the rows of a span, so that every device holds the rows of a tile.
const SPAN_BYTES: usize = 64 << 20;

/// Returns the rows whose terms a device adds in one piece, if a fold of `job` rounds sums by row:
/// of several folds the most, which is a multiple of the others.
///
/// The grouping of a sum decides its last bits, so it depends on the job alone, not on the device:
/// every device, any number of them, and every tiling (tiles are whole spans) give the same bits.
/// A span is a leaf of the tree of sums, so it is a power of two of blocks. Longer spans mean fewer
/// pieces to add; shorter ones fill a large device when there are few anchors.
pub fn span(job: &Job) -> Option<usize> {
    job.folds.iter().filter_map(|fold| span_of(job, fold)).max()
}

fn span_of(job: &Job, fold: &Fold) -> Option<usize> {
    let Fold::Reduce(f) = fold else {
        return None;
    };
    if !f.op.adds() {
        return None;
    }
    let (n, m) = (job.space.n, job.space.m);
    let (anchors, others) = if f.axis == ReduceAxis::Column {
        (m, n)
    } else {
        (n, m)
    };
    let wanted = FILL.div_ceil(anchors.div_ceil(ANCHORS).max(1));
    let panels = others
        .div_ceil(BLOCK)
        .div_ceil(wanted)
        .max(SPAN / BLOCK)
        .next_power_of_two();
    let row = 12 * (width(job, 0) + width(job, 1)).max(1);
    let most = (SPAN_BYTES / row / BLOCK).max(SPAN / BLOCK);
    Some(panels.min(1 << most.ilog2()).min(1 << 13) * BLOCK)
}

/// Where counters of a histogram are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counters {
    /// Copies in the shared memory of a block, this many.
    Private(usize),
    /// In device memory, by global atomics.
    Global,
}

/// How a sweep is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// Anchors a thread.
    pub anchors: usize,
    /// Steps of whole panels in a row without a jump.
    pub unroll: usize,
    /// Blocks that should fit a multiprocessor, which bounds the registers of a thread.
    pub blocks: usize,
    /// Why.
    pub reason: &'static str,
}

/// Numbers of a row from which on one anchor fills the registers.
pub const WIDE: usize = 8;
/// Neighbours up to which the list of a row stays sorted in registers; longer ones are heaps in
/// memory.
pub const FEW: usize = 16;
/// Bytes of shared memory that counters take where there are several copies.
pub const SHARED: usize = 32 << 10;

/// Returns the shape for `work` on rows of up to `width` numbers that are swept in `precision`.
///
/// More anchors per thread mean more arithmetic for each row that is loaded, and more registers.
/// Unrolling hides the latency of loads and fills the instruction cache. The leaves are where
/// measurements put the balance.
pub fn sweep(work: SweepWork, width: usize, precision: Precision) -> Sweep {
    let shape = |anchors, unroll, reason| Sweep {
        anchors,
        unroll,
        blocks: 1,
        reason,
    };
    if width > WIDE {
        return shape(1, 2, "a wide row fills the registers: one anchor a thread");
    }
    if precision == Precision::F64 {
        return shape(
            1,
            2,
            "double precision waits for its arithmetic: one anchor a thread",
        );
    }
    match work {
        SweepWork::Sums => shape(
            2,
            8,
            "two sums a thread hide the exponential's latency, eight steps without a jump the loads'",
        ),
        SweepWork::Vectors => shape(4, 8, "four anchors a load of another and of its weight"),
        SweepWork::Best(k) if k <= FEW => shape(
            2,
            4,
            "more than two anchors a thread make too many candidates wait at a time",
        ),
        SweepWork::Best(_) => shape(
            1,
            2,
            "long lists are bound by memory: one anchor a thread keeps the most threads busy",
        ),
        SweepWork::Counters => Sweep {
            blocks: 8,
            ..shape(
                3,
                1,
                "three anchors a load of another, registers for eight blocks; longer loops leave the instruction cache",
            )
        },
        SweepWork::Scattered => shape(
            1,
            1,
            "global atomics set the pace: one anchor a thread keeps the most in flight",
        ),
        SweepWork::Matches => shape(4, 1, "four anchors a load of another; matches are rare"),
    }
}

/// Lanes of a warp; there are as many banks of shared memory.
const LANES: usize = 32;
/// Bytes of shared memory of a multiprocessor (Hopper), and blocks of 128 threads that it takes.
pub(crate) const UNIT: usize = 228 << 10;
const BLOCKS: usize = 16;

/// Copies whose predicted steps are within this factor of the fewest are good enough.
const NEAR: f64 = 1.1;

/// Chooses where counters live: private copies if they fit the shared memory of a block, as many as
/// are fastest by a model of collisions and occupancy. `merges` says whether the device adds what
/// lanes of a warp add to one place in one step, as NVIDIA's does.
///
/// More copies mean fewer collisions of the lanes of a warp, but also fewer blocks per
/// multiprocessor, and more to clear and add up. Of nearly equal choices the one with the fewest
/// copies is taken.
pub fn counters(cells: usize, merges: bool) -> Counters {
    if cells * 4 > SHARED {
        return Counters::Global;
    }
    let room = SHARED / 4 / cells.max(1);
    let steps = |copies: usize| collisions(cells, copies, merges) / occupancy(cells * copies * 4);
    let fits: Vec<usize> = (0..6)
        .map(|power| 1usize << power)
        .filter(|copies| *copies <= room)
        .collect();
    let least = fits
        .iter()
        .map(|copies| steps(*copies))
        .fold(f64::INFINITY, f64::min);
    // The fewest that come near: copies are set to zero and added up, too.
    Counters::Private(
        fits.into_iter()
            .find(|copies| steps(*copies) <= NEAR * least)
            .unwrap_or(1),
    )
}

/// Estimates the steps that the 32 increments of a warp take if they go to random cells: the most
/// that meet in one bank, and one for every 16 places. It is the mean of 64 draws with a fixed
/// generator, so it is reproducible. On an H200, 7.9 T increments/s go to 10 cells, 4.0 T to 50,
/// 2.5 T to 300: 1, 2 and 3 steps.
pub fn collisions(cells: usize, copies: usize, merges: bool) -> f64 {
    const DRAWS: usize = 64;
    let mut state = 1u64;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % cells.max(1)
    };
    let mut steps = 0;
    for _ in 0..DRAWS {
        let mut places: Vec<usize> = (0..LANES)
            .map(|lane| draw() * copies + lane % copies)
            .collect();
        if merges {
            places.sort_unstable();
            places.dedup();
        }
        let mut banks = [0usize; LANES];
        places.iter().for_each(|place| banks[place % LANES] += 1);
        steps += banks
            .iter()
            .max()
            .copied()
            .unwrap_or(0)
            .max(places.len().div_ceil(LANES / 2));
    }
    steps as f64 / DRAWS as f64
}

/// Returns the share of the blocks of a multiprocessor that fit if each takes `bytes` for counters
/// and 2 KiB for a panel.
fn occupancy(bytes: usize) -> f64 {
    // Next to counters a block holds a panel of others.
    (UNIT / (bytes + 2048)).min(BLOCKS) as f64 / BLOCKS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_those_of_the_record() {
        let of = |work| {
            let s = sweep(work, 3, Precision::F32);
            (s.anchors, s.unroll)
        };
        assert_eq!(of(SweepWork::Sums), (2, 8));
        assert_eq!(of(SweepWork::Best(1)), (2, 4));
        assert_eq!(of(SweepWork::Best(10)), (2, 4));
        assert_eq!(of(SweepWork::Best(1000)), (1, 2));
        assert_eq!(of(SweepWork::Counters), (3, 1));
        assert_eq!(of(SweepWork::Scattered), (1, 1));
    }

    #[test]
    fn wide_rows_and_double_precision_take_one_anchor() {
        for work in [
            SweepWork::Sums,
            SweepWork::Best(10),
            SweepWork::Counters,
            SweepWork::Matches,
        ] {
            assert_eq!(sweep(work, 40, Precision::F32).anchors, 1);
            assert_eq!(sweep(work, 3, Precision::F64).anchors, 1);
        }
    }

    #[test]
    fn copies_fit_shared_memory() {
        for merges in [true, false] {
            for cells in [1, 3, 52, 302, 1002, 8192] {
                let Counters::Private(copies) = counters(cells, merges) else {
                    panic!("{cells} cells fit")
                };
                assert!(
                    copies.is_power_of_two() && copies * cells * 4 <= SHARED,
                    "{cells}: {copies}"
                );
            }
            assert_eq!(counters(8193, merges), Counters::Global);
        }
    }

    /// The rates of shared atomics in `bench/records/h200`, as steps of a warp.
    #[test]
    fn collisions_are_those_of_the_record() {
        for (cells, copies, rate) in [
            (10, 1, 7940.0),
            (10, 32, 4048.0),
            (50, 1, 4067.0),
            (300, 1, 2523.0),
            (1000, 1, 2357.0),
            (300, 8, 2585.0),
        ] {
            let steps = collisions(cells, copies, true);
            let ratio = steps / (7940.0 / rate);
            assert!(
                (0.85..1.25).contains(&ratio),
                "{cells} cells, {copies} copies: {steps} steps, {ratio}"
            );
        }
    }

    /// Where every increment of one place waits for the one before, few cells want many copies;
    /// elsewhere one serves.
    #[test]
    fn copies_follow_what_the_device_does_with_one_place() {
        assert_eq!(counters(302, true), Counters::Private(1));
        let Counters::Private(copies) = counters(4, false) else {
            panic!("4 cells fit")
        };
        assert!(copies >= 8, "{copies}");
    }
}
