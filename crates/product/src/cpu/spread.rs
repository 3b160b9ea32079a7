//! Tasks on all threads, where there is work enough to wake them.

use rayon::prelude::*;

/// Multiply-adds that are done before another thread has woken up.
pub(super) const ALONE: usize = 1 << 18;

/// Runs `run` with every number below `tasks`, which together take `work` multiply-adds; each
/// thread makes its own state.
pub(super) fn spread<S>(
    tasks: usize,
    work: usize,
    init: impl Fn() -> S + Sync + Send,
    run: impl Fn(&mut S, usize) + Sync + Send,
) {
    if tasks < 2 || work < ALONE {
        let mut state = init();
        return (0..tasks).for_each(|task| run(&mut state, task));
    }
    (0..tasks).into_par_iter().for_each_init(init, run);
}
