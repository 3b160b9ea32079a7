//! Units of work by all threads, begun in order and taken in order as they are done, without a pause in between.

use crate::pool::Workers;
use rayon::ScopeFifo;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use zipfold_core::Result;

/// What is left to do after a unit was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// All other units.
    GoOn,
    /// No more are begun; those under way are still taken.
    End,
}

/// Runs `work` of each unit with `workers` and hands what it gives to `take`, in the order of units; no unit is begun `ahead` or
/// more beyond the last one taken.
///
/// # Errors
/// The first of `take`; units that are not begun yet are left out then.
pub(crate) fn in_order<U: Send>(
    workers: &Workers,
    units: Range<usize>,
    ahead: usize,
    work: impl Fn(usize) -> U + Sync,
    mut take: impl FnMut(usize, U) -> Result<Then> + Send,
) -> Result<()> {
    let Workers::Pool(pool) = workers else {
        for unit in units {
            if take(unit, work(unit))? == Then::End {
                break;
            }
        }
        return Ok(());
    };
    let Range { start, end } = units;
    let state =
        State { waiting: BTreeMap::new(), head: start, begun: start, called: start, taken: false, over: Ok(false) };
    let line = Line { end, ahead: ahead.max(1), work, take: Mutex::new(take), state: Mutex::new(state) };
    pool.scope_fifo(|scope| line.call(scope, &mut lock(&line.state)));
    let over = lock(&line.state).over.clone();
    over.map(drop)
}

/// Units under way.
struct Line<U, W, F> {
    end: usize,
    ahead: usize,
    work: W,
    take: Mutex<F>,
    state: Mutex<State<U>>,
}

struct State<U> {
    /// Done, but not taken.
    waiting: BTreeMap<usize, U>,
    /// The next to be taken, the next to be begun, and the first that no thread was called for.
    head: usize,
    begun: usize,
    called: usize,
    /// A thread is taking: it will find what is added.
    taken: bool,
    /// Whether no more are to be begun.
    over: Result<bool>,
}

impl<U: Send, W: Fn(usize) -> U + Sync, F: FnMut(usize, U) -> Result<Then> + Send> Line<U, W, F> {
    /// Calls a thread for each unit that may be begun. Which one it is is said when it comes, so that none is left out between
    /// those that are begun.
    fn call<'s>(&'s self, scope: &ScopeFifo<'s>, state: &mut State<U>) {
        while state.goes_on() && state.called < self.end.min(state.head + self.ahead) {
            state.called += 1;
            scope.spawn_fifo(move |scope| {
                let unit = lock(&self.state).begin();
                if let Some(unit) = unit {
                    self.done(scope, unit, (self.work)(unit));
                }
            });
        }
    }
    /// Adds a result, and takes all whose turn it is, unless another thread is at it.
    fn done<'s>(&'s self, scope: &ScopeFifo<'s>, unit: usize, result: U) {
        let mut state = lock(&self.state);
        state.waiting.insert(unit, result);
        if std::mem::replace(&mut state.taken, true) {
            return;
        }
        let mut take = lock(&self.take);
        while let Some((head, result)) = state.turn() {
            drop(state);
            let then = take(head, result);
            state = lock(&self.state);
            state.head += 1;
            match then {
                Ok(Then::GoOn) => {}
                Ok(Then::End) => state.over = state.over.clone().map(|_| true),
                Err(e) => state.over = Err(e),
            }
            self.call(scope, &mut state);
        }
        state.taken = false;
    }
}

impl<U> State<U> {
    fn goes_on(&self) -> bool {
        matches!(self.over, Ok(false))
    }
    fn begin(&mut self) -> Option<usize> {
        self.goes_on().then(|| {
            self.begun += 1;
            self.begun - 1
        })
    }
    /// The result whose turn it is; none after an error.
    fn turn(&mut self) -> Option<(usize, U)> {
        if self.over.is_err() {
            return None;
        }
        self.waiting.remove(&self.head).map(|result| (self.head, result))
    }
}

/// A panic of `work` or `take` is passed on when all threads are done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::time::Duration;
    use zipfold_core::Error;

    fn pool(threads: usize) -> Workers {
        Workers::Pool(rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().into())
    }

    #[test]
    fn all_are_taken_in_order_and_none_far_ahead() {
        for workers in [Workers::Caller, pool(1), pool(3)] {
            for (units, ahead) in [(0..0, 4), (5..6, 4), (2..90, 1), (0..200, 7)] {
                let head = AtomicUsize::new(units.start);
                let mut taken = vec![];
                let work = |unit: usize| {
                    assert!(unit < head.load(Relaxed) + ahead);
                    std::thread::sleep(Duration::from_micros((unit * 7919 % 5) as u64 * 100));
                    unit * 2
                };
                let take = |unit, doubled| {
                    assert_eq!(doubled, unit * 2);
                    taken.push(unit);
                    head.store(unit + 1, Relaxed);
                    Ok(Then::GoOn)
                };
                in_order(&workers, units.clone(), ahead, work, take).unwrap();
                assert_eq!(taken, units.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn an_error_or_an_end_begins_no_more() {
        for workers in [Workers::Caller, pool(1), pool(3)] {
            let begun = AtomicUsize::new(0);
            let work = |unit: usize| {
                begun.fetch_add(1, Relaxed);
                unit
            };
            let fail = |unit, _| if unit == 20 { Err(Error::internal("twenty")) } else { Ok(Then::GoOn) };
            assert!(in_order(&workers, 0..1000, 8, work, fail).unwrap_err().to_string().contains("twenty"));
            assert!(begun.load(Relaxed) <= 28);
            // A slow unit, while those behind it are done: all that were begun are taken.
            let begun = AtomicUsize::new(0);
            let work = |unit: usize| {
                begun.fetch_add(1, Relaxed);
                std::thread::sleep(Duration::from_millis(if unit % 7 == 3 { 10 } else { 0 }));
            };
            let mut taken = 0;
            let end = |unit, ()| {
                taken += 1;
                Ok(if unit == 20 { Then::End } else { Then::GoOn })
            };
            in_order(&workers, 0..1000, 8, work, end).unwrap();
            assert!(taken == begun.load(Relaxed) && (21..29).contains(&taken), "{taken}");
        }
    }

    #[test]
    fn a_panic_is_passed_on() {
        let run = || in_order(&pool(2), 0..9, 4, |unit| assert!(unit != 3), |_, ()| Ok(Then::GoOn));
        assert!(std::panic::catch_unwind(run).is_err());
    }

    #[test]
    fn a_thread_of_the_pool_may_ask_for_it() {
        let workers = pool(1);
        let Workers::Pool(inner) = &workers else { unreachable!() };
        let mut sum = 0;
        let take = |_, unit| {
            sum += unit;
            Ok(Then::GoOn)
        };
        inner.install(|| in_order(&workers, 0..50, 4, |unit| unit, take)).unwrap();
        assert_eq!(sum, 49 * 25);
    }
}
