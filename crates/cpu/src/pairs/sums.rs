//! Plain sums by row without values in between: compiled code adds the results of whole blocks of columns up, lane by lane.
//!
//! Lanes are columns modulo 8 in double precision, modulo 16 in single, whatever the instruction set. A block adds at most
//! sixteen values in single precision before they are widened.

use super::lanes::Real;
use super::program::Program;
use crate::jit::{Code, SUM};
use std::sync::Arc;
use zipfold_core::fold::{BLOCK, Fold, RowPiece};
use zipfold_core::pair::lower::Lowered;
use zipfold_core::{Cells, Job};
use zipfold_plan::Plan;

/// Numbers in the lanes of a sum.
pub const fn lanes<T>() -> usize {
    SUM / size_of::<T>()
}

/// Whether every fold of `job` is a plain sum or mean, and some block of columns is whole.
pub fn serve(job: &Job) -> bool {
    let half = job.space.is_half();
    let plain = |f: &Fold| matches!(f, Fold::Rows(f) if f.sums_runs(half));
    let whole = job.space.cells == Cells::Cross || job.space.cells == Cells::Square;
    whole && job.near_root.is_none() && job.space.m >= BLOCK && job.folds.iter().all(plain)
}

/// The code that adds the results of `program` up, compiled once and kept with `low`.
pub fn compiled<T: Real>(plan: &Plan, low: &Lowered, program: &Program, given: bool) -> Option<Arc<Code<T>>> {
    let number = 64 + plan.isa as u64 * 2 + u64::from(given);
    low.made.get(number, || Code::compile(low, program, plan.isa, given, true).ok().map(Arc::new)).as_ref().clone()
}

/// What the lanes of a row hold of all numbers as eight lanes each; false where a sum is not finite, so that its values must
/// be looked at one by one.
pub fn totals<T: Real>(sums: &[T], totals: &mut Vec<[f64; 8]>) -> bool {
    totals.clear();
    let mut all = 0.0;
    for number in sums.chunks_exact(lanes::<T>()) {
        let mut total = [0.0; 8];
        for eight in number.chunks_exact(8) {
            total.iter_mut().zip(eight).for_each(|(t, v)| *t += v.wide());
        }
        // Of a lane that is not finite the sum is not a number.
        all += total.iter().map(|t| t * 0.0).sum::<f64>();
        totals.push(total);
    }
    all == 0.0
}

/// Credits `totals` of a whole block of columns to row `i` of every fold; `firsts` says where the numbers of a root begin.
pub fn credit(job: &Job, pieces: &mut [Option<[RowPiece; 2]>], firsts: &[usize], i: usize, totals: &[[f64; 8]]) {
    for (fold, pieces) in job.folds.iter().zip(pieces) {
        if let (Fold::Rows(f), Some([by_row, _])) = (fold, pieces) {
            let numbers = &totals[firsts[f.root]..firsts[f.root + 1]];
            let parts = numbers.iter().enumerate();
            parts.for_each(|(part, lanes)| by_row.add_sum(f, i, part, *lanes, BLOCK as u64));
        }
    }
}
