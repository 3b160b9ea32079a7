//! Machine code of a formula, compiled once and kept with it.

use super::lanes::Real;
use super::program::Program;
use crate::jit::{Code, Results};
use std::sync::Arc;
use zipfold_core::pair::lower::Lowered;
use zipfold_plan::Plan;

/// The code of `program`, compiled once and kept with `low`; none where none can be made.
pub fn compiled<T: Real>(
    plan: &Plan,
    low: &Lowered,
    program: &Program,
    given: bool,
) -> Option<Arc<Code<T>>> {
    code_for(plan, low, program, given, Results::Blocks)
}

/// Code that leaves results so, compiled once and kept with `low`.
pub fn code_for<T: Real>(
    plan: &Plan,
    low: &Lowered,
    program: &Program,
    given: bool,
    results: Results,
) -> Option<Arc<Code<T>>> {
    let number = (plan.isa as u64 * 4 + results as u64) * 2 + u64::from(given);
    low.made
        .get(number, || {
            Code::compile(low, program, plan.isa, given, results)
                .ok()
                .map(Arc::new)
        })
        .as_ref()
        .clone()
}
