//! Sums by row without values in between, plain or of one fold with weights: compiled code adds the
//! results of whole blocks of columns up, lane by lane.
//!
//! Lanes are columns modulo 8 in double precision, modulo 16 in single, regardless of the
//! instruction set. A lane adds the values of a span of blocks in single precision, 64 of them,
//! before they are widened.

use super::reductions::Dense;
use crate::jit::SUM;
use zipfold_core::Job;
use zipfold_core::fold::{BLOCK, Fold, RowPiece, rows};
use zipfold_plan::SPAN;
use zipfold_vector::simd::{Isa, Kernel, Lanes};

/// Numbers in the lanes of a sum.
pub(super) const fn lanes<T>() -> usize {
    SUM / size_of::<T>()
}

/// Blocks of columns whose results are added up together, where they are in one tile: of one block
/// in double precision, so that sums have the bits of the reference.
pub(super) const fn span<T>() -> usize {
    if size_of::<T>() == 4 { SPAN / BLOCK } else { 1 }
}

/// Whether every fold of `job` is a plain sum or mean, or the only one a weighted sum, and some
/// block of columns is whole.
pub(super) fn serve<T>(job: &Job) -> bool {
    let half = job.space.is_triangular();
    let weighted = weights::<T>(job).is_some();
    let plain =
        |f: &Fold| weighted || matches!(f, Fold::Reduce(f) if f.sums_runs(half) && f.width > 0);
    !half && job.cutoff_root.is_none() && job.space.m >= BLOCK && job.folds.iter().all(plain)
}

/// Magnitudes of weights whose products with ordinary values lie well within single precision.
const ORDINARY: std::ops::RangeInclusive<f64> = 1e-15..=1e15;

/// The weights of the only fold of `job`, where it is a sum with one weight a row, which single
/// precision must hold where values are of it.
pub(super) fn weights<T>(job: &Job) -> Option<&[f64]> {
    let [Fold::Reduce(f)] = job.folds.as_slice() else {
        return None;
    };
    let held = |w: &f64| size_of::<T>() == 8 || *w == 0.0 || ORDINARY.contains(&w.abs());
    f.sums_weighted(job.space.is_triangular())
        .filter(|w| w.iter().all(held))
}

/// Weights of single precision times a power of two, so that none but 0 is less than 1 in
/// magnitude, and the unit that sums are then in: the weight of a factor must not make it too
/// small. Those of double precision are taken as they are.
pub(super) fn scaled<T>(weights: &[f64]) -> (Vec<f64>, f64) {
    if size_of::<T>() == 8 {
        return (weights.to_vec(), 1.0);
    }
    let least = weights
        .iter()
        .map(|w| w.abs())
        .filter(|w| *w > 0.0)
        .fold(1.0, f64::min);
    let unit = 2f64.powi(least.log2().floor() as i32);
    (weights.iter().map(|w| w / unit).collect(), unit)
}

/// The totals of all lanes of consecutive sums, each in the order of
/// [`sum_of_lanes`](rows::sum_of_lanes); the sums become zeros.
pub(super) fn totals<T: Dense>(isa: Isa, sums: &mut [T], totals: &mut Vec<f64>) {
    totals.clear();
    T::dispatch(isa, Totals { sums, totals });
}

struct Totals<'a, T> {
    sums: &'a mut [T],
    totals: &'a mut Vec<f64>,
}

impl<T: Dense> Kernel<T> for Totals<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<T>>(self, _: S) {
        let total = |number: &mut [T]| {
            let mut total = [0.0; 8];
            for eight in number.chunks_exact(8) {
                total
                    .iter_mut()
                    .zip(eight)
                    .for_each(|(t, v)| *t += v.wide());
            }
            number.fill(T::ZERO);
            rows::sum_of_lanes(total)
        };
        self.totals
            .extend(self.sums.chunks_exact_mut(lanes::<T>()).map(total));
    }
}

/// Credits `totals` of `count` columns to consecutive rows from `row`, `numbers` each; `firsts`
/// says where the numbers of a root begin. False, and nothing done, where one is not finite, so
/// that values must be looked at one by one.
pub(super) fn credit(
    job: &Job,
    pieces: &mut [Option<[RowPiece; 2]>],
    firsts: &[usize],
    row: usize,
    totals: &[f64],
    count: usize,
) -> bool {
    // Of a number that is not finite the sum is not 0.
    if totals.iter().map(|t| t * 0.0).sum::<f64>() != 0.0 {
        return false;
    }
    let numbers = firsts[firsts.len() - 1];
    for (fold, pieces) in job.folds.iter().zip(pieces) {
        if let (Fold::Reduce(f), Some([by_row, _])) = (fold, pieces) {
            by_row.add_rows(f, row, totals, (numbers, firsts[f.root]), count as u64);
        }
    }
    true
}
