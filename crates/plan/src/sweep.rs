//! The decision tree of family *points* on devices: how anchors and others reach the arithmetic, and where the answer is kept.
//! A pure function of what is asked; each leaf says why. The figures behind it are in `bench/records`.

use zipfold_core::fold::{Fold, RowOp};
use zipfold_core::{Job, Precision};

/// What is folded, as far as the sweep's shape depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Sums by row, and other folds that keep a few numbers a row.
    Sums,
    /// The best so many of every row; an extreme is the best one.
    Best(usize),
    /// Counters: so many cells.
    Counters(usize),
    /// Matches of a join.
    Matches,
}

impl Work {
    /// Of the first fold of `job`.
    pub fn of(job: &Job) -> Self {
        job.folds.first().map_or(Work::Sums, Work::of_fold)
    }
    /// Of `fold`.
    pub fn of_fold(fold: &Fold) -> Self {
        match fold {
            Fold::Nearest(f) => Work::Best(f.k),
            Fold::Rows(f) if matches!(f.op, RowOp::Min | RowOp::Max | RowOp::Argmin | RowOp::Argmax) => Work::Best(1),
            Fold::Histogram(h) => Work::Counters(h.cells()),
            Fold::Select(_) => Work::Matches,
            _ => Work::Sums,
        }
    }
}

/// Numbers of a packed row of side 0 (x) or 1 (y).
pub fn width(job: &Job, side: usize) -> usize {
    let low = &job.low;
    low.streams[side].len() * low.dim + low.attrs[side].len()
}

/// Where counters are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counters {
    /// So many copies in the shared memory of a block.
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
    /// Why.
    pub reason: &'static str,
}

/// Numbers of a row from which on one anchor fills the registers.
const WIDE: usize = 8;
/// Neighbours up to which a row's list stays sorted, in registers where every value is one of double precision; longer ones
/// are heaps.
pub const FEW: usize = 16;
/// Bytes of shared memory that counters take.
pub const SHARED: usize = 32 << 10;

/// The shape for `work` on rows of up to `width` numbers that are swept in `precision`.
pub fn sweep(work: Work, width: usize, precision: Precision) -> Sweep {
    let shape = |anchors, unroll, reason| Sweep { anchors, unroll, reason };
    if width > WIDE {
        return shape(1, 2, "a wide row fills the registers: one anchor a thread");
    }
    if precision == Precision::F64 {
        return shape(1, 2, "double precision waits for its arithmetic: one anchor a thread");
    }
    match work {
        Work::Sums => {
            shape(2, 8, "two sums a thread hide the exponential's latency, eight steps without a jump the loads'")
        }
        Work::Best(k) if k <= FEW => {
            shape(2, 4, "more than two anchors a thread make too many candidates wait at a time")
        }
        Work::Best(_) => shape(1, 2, "long lists are bound by memory: one anchor a thread keeps the most threads busy"),
        Work::Counters(cells) => match counters(cells) {
            Counters::Private(_) => {
                shape(4, 1, "four anchors a load of another; longer loops leave the instruction cache")
            }
            Counters::Global => {
                shape(1, 1, "global atomics set the pace: one anchor a thread keeps the most in flight")
            }
        },
        Work::Matches => shape(4, 1, "four anchors a load of another; matches are rare"),
    }
}

/// Private copies where they fit a block's shared memory: more where cells are few and increments meet.
pub fn counters(cells: usize) -> Counters {
    if cells * 4 > SHARED {
        Counters::Global
    } else {
        Counters::Private((128 / cells.max(1)).clamp(1, 8).next_power_of_two())
    }
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
        assert_eq!(of(Work::Sums), (2, 8));
        assert_eq!(of(Work::Best(1)), (2, 4));
        assert_eq!(of(Work::Best(10)), (2, 4));
        assert_eq!(of(Work::Best(1000)), (1, 2));
        assert_eq!(of(Work::Counters(302)), (4, 1));
        assert_eq!(of(Work::Counters(1_000_002)), (1, 1));
    }

    #[test]
    fn wide_rows_and_double_precision_take_one_anchor() {
        for work in [Work::Sums, Work::Best(10), Work::Counters(302), Work::Matches] {
            assert_eq!(sweep(work, 40, Precision::F32).anchors, 1);
            assert_eq!(sweep(work, 3, Precision::F64).anchors, 1);
        }
    }

    #[test]
    fn copies_fit_shared_memory() {
        for cells in [1, 3, 52, 302, 1002, 8192] {
            let Counters::Private(copies) = counters(cells) else { panic!("{cells} cells fit") };
            assert!(copies.is_power_of_two() && copies * cells * 4 <= SHARED, "{cells}: {copies}");
        }
        assert_eq!(counters(8193), Counters::Global);
    }
}
