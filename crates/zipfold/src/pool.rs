//! Where the tiles of a run are computed: on the caller's thread when that is quicker, else in a
//! pool that is kept.

use rayon::ThreadPool;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use zipfold_core::fold::BLOCK;
use zipfold_core::{Error, Job, Opt, Result};
use zipfold_plan::{Plan, Strategy};

/// Predicted seconds below which waking other threads costs more than it gains.
const SHORT: f64 = 2e-4;

/// The most pools kept.
const KEPT: usize = 8;

/// Pools by process and number of threads. A process that was forked has none of its parent's
/// threads.
static POOLS: Mutex<Option<Pools>> = Mutex::new(None);
type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;

/// Who computes.
pub(crate) enum Workers {
    /// The calling thread.
    Caller,
    /// A pool.
    Pool(Arc<ThreadPool>),
}

impl Workers {
    /// The workers for `plan`: for one thread also the caller, where it is the thread of a pool of
    /// one.
    ///
    /// # Errors
    /// `Resource` when the system refuses threads.
    pub(crate) fn for_plan(job: &Job, plan: &Plan) -> Result<Workers> {
        // One block a side, whose rows are not packed: nothing below this would look for a pool of
        // its own.
        let one_block = job.space.n <= BLOCK
            && job.space.m <= BLOCK
            && !plan.strategy().is_some_and(Strategy::is_packed);
        // Callers of this kind run side by side, and one pool of one thread would make them wait
        // for one another.
        let alone = plan.threads == 1
            && rayon::current_thread_index().is_some()
            && rayon::current_num_threads() == 1;
        if (alone || one_block && plan.seconds < SHORT) && plan.device.is_none() {
            Ok(Workers::Caller)
        } else {
            kept(plan.threads).map(Workers::Pool)
        }
    }
    /// Runs `work` with the pool as the place of parallel iterators.
    pub(crate) fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match self {
            Workers::Caller => work(),
            Workers::Pool(pool) => pool.install(work),
        }
    }
}

/// Runs `work` with a kept pool of `threads` threads (0: all there are) as the place of its
/// parallel iterators.
///
/// # Errors
/// `Resource` when the system refuses threads.
pub fn within<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> Result<R> {
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    Ok(kept(if threads == 0 { all() } else { threads })?.install(work))
}

/// The pool of `threads` threads of this process, started on first use.
pub(crate) fn kept(threads: usize) -> Result<Arc<ThreadPool>> {
    let key = (std::process::id(), threads);
    // A lock that is taken is not waited for: a fork may have copied it taken, and a pool more does
    // no harm.
    let Ok(mut pools) = POOLS.try_lock() else {
        return start(threads).map(Arc::new);
    };
    let pools = pools.get_or_insert_with(Pools::new);
    if let Some(pool) = pools.get(&key) {
        return Ok(pool.clone());
    }
    let pool = Arc::new(start(threads)?);
    // Pools of another process are ghosts: their threads are not here to be ended.
    let (ghosts, own): (Vec<_>, Vec<_>) = pools
        .drain()
        .partition(|((process, _), _)| *process != key.0);
    ghosts
        .into_iter()
        .for_each(|(_, pool)| std::mem::forget(pool));
    pools.extend(own.into_iter().take(KEPT - 1));
    pools.insert(key, pool.clone());
    Ok(pool)
}

/// A pool of this many threads that is nobody else's.
///
/// # Errors
/// `Resource` when the system refuses threads.
pub(crate) fn start(threads: usize) -> Result<ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|n| format!("zipfold-{n}"))
        .build();
    pool.map_err(|e| {
        Error::resource(format!("threads cannot be started: {e}")).remedy(Opt::Threads.to(1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_kept_and_has_the_threads_asked_for() {
        let (a, b, other) = (kept(3).unwrap(), kept(3).unwrap(), kept(2).unwrap());
        assert!(Arc::ptr_eq(&a, &b));
        assert_eq!(
            (a.current_num_threads(), other.current_num_threads()),
            (3, 2)
        );
    }
}
