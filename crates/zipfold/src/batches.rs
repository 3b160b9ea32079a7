//! Batches by all threads, or by devices, begun in order and taken in order as they are done,
//! without a pause in between.

use crate::pool::Workers;
use rayon::ScopeFifo;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use zipfold_core::Result;

/// What is left to do after a batch was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// All other batches.
    GoOn,
    /// No more are begun; those under way are still taken.
    End,
}

/// Runs `work` of each batch with `workers` and hands what it gives to `take`, in the order of
/// batches; no batch is begun `ahead` or more beyond the last one taken.
///
/// # Errors
/// The first of `take`; batches that are not begun yet are left out then.
pub(crate) fn in_order<U: Send>(
    workers: &Workers,
    batches: Range<usize>,
    ahead: usize,
    work: impl Fn(usize) -> U + Sync,
    mut take: impl FnMut(usize, U) -> Result<Then> + Send,
) -> Result<()> {
    let Workers::Pool(pool) = workers else {
        for batch in batches {
            if take(batch, work(batch))? == Then::End {
                break;
            }
        }
        return Ok(());
    };
    let Range { start, end } = batches;
    let state = State::before(start);
    let line = Line {
        end,
        ahead: ahead.max(1),
        work,
        take: Mutex::new(take),
        state: Mutex::new(state),
    };
    pool.scope_fifo(|scope| line.call(scope, &mut lock(&line.state)));
    let over = lock(&line.state).over.clone();
    over.map(drop)
}

/// Batches under way.
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
    /// Calls a thread for each batch that may be begun. Which one it is is said when it comes, so
    /// that none is left out between the ones that are begun.
    fn call<'s>(&'s self, scope: &ScopeFifo<'s>, state: &mut State<U>) {
        while state.goes_on() && state.called < self.end.min(state.head + self.ahead) {
            state.called += 1;
            scope.spawn_fifo(move |scope| {
                let batch = lock(&self.state).begin();
                if let Some(batch) = batch {
                    self.done(scope, batch, (self.work)(batch));
                }
            });
        }
    }
    /// Adds a result, and takes all whose turn it is, unless another thread is at it.
    fn done<'s>(&'s self, scope: &ScopeFifo<'s>, batch: usize, result: U) {
        let mut state = lock(&self.state);
        state.waiting.insert(batch, result);
        if std::mem::replace(&mut state.taken, true) {
            return;
        }
        let mut take = lock(&self.take);
        while let Some((head, result)) = state.turn() {
            drop(state);
            let then = take(head, result);
            state = lock(&self.state);
            state.took(then);
            self.call(scope, &mut state);
        }
        state.taken = false;
    }
}

impl<U> State<U> {
    /// The state before batch `start` is begun.
    fn before(start: usize) -> Self {
        State {
            waiting: BTreeMap::new(),
            head: start,
            begun: start,
            called: start,
            taken: false,
            over: Ok(false),
        }
    }
    fn goes_on(&self) -> bool {
        matches!(self.over, Ok(false))
    }
    /// Notes that the batch whose turn it was is taken.
    fn took(&mut self, then: Result<Then>) {
        self.head += 1;
        match then {
            Ok(Then::GoOn) => {}
            Ok(Then::End) => self.over = self.over.clone().map(|_| true),
            Err(e) => self.over = Err(e),
        }
    }
    /// Whether a batch is being taken, or is the next to be.
    fn moves(&self) -> bool {
        self.taken || self.waiting.contains_key(&self.head)
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
        self.waiting
            .remove(&self.head)
            .map(|result| (self.head, result))
    }
}

/// What devices leave of their batches: the first that was not taken, and those behind it that are
/// done.
pub(crate) struct Left<U> {
    pub(crate) next: usize,
    pub(crate) done: BTreeMap<usize, U>,
}

/// Batches that belong to devices.
pub(crate) struct Shares {
    /// By batch the device whose it is.
    pub(crate) owners: Vec<usize>,
    /// By device the one that takes the last of its batches when its own are done, if there is one.
    pub(crate) neighbours: Vec<Option<usize>>,
}

impl Shares {
    /// The next of the `open` batches for `device`: the first of its own, or the last of a
    /// neighbour's.
    fn next(&self, device: usize, open: &BTreeSet<usize>) -> Option<usize> {
        let own = open.iter().find(|batch| self.owners[**batch] == device);
        let others = || {
            let theirs = |batch: &&usize| self.neighbours[self.owners[**batch]] == Some(device);
            open.iter().rev().find(theirs)
        };
        own.or_else(others).copied()
    }
}

/// As [`in_order`], by `devices` devices, each of which takes the next batch when it is done with
/// one, or the next of its own where batches belong to devices. A device whose `work` gives nothing
/// is lost: it takes no batch any more, and another takes this one.
///
/// # Errors
/// The first of `take`; batches that are not begun yet are left out then.
pub(crate) fn by_devices<U: Send>(
    devices: usize,
    (batches, shares): (Range<usize>, Option<Shares>),
    ahead: usize,
    work: impl Fn(usize, usize) -> Option<U> + Sync,
    take: impl FnMut(usize, U) -> Result<Then>,
) -> Result<Left<U>> {
    let Range { start, end } = batches;
    let state = State::before(start);
    let open = if shares.is_some() {
        (start..end).collect()
    } else {
        BTreeSet::new()
    };
    let shared = DeviceQueue {
        state,
        open,
        busy: 0,
        serving: devices,
    };
    let queue = Queue {
        end,
        shares,
        ahead: ahead.max(1),
        work,
        shared: Mutex::new(shared),
        more: Condvar::new(),
    };
    // The caller merges, next to the work of all devices.
    let queue_of_all = &queue;
    std::thread::scope(|scope| {
        (0..devices).for_each(|device| drop(scope.spawn(move || queue_of_all.serve(device))));
        queue_of_all.merge(take);
    });
    let DeviceQueue { state, .. } = queue
        .shared
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    state.over.map(|_| Left {
        next: state.head,
        done: state.waiting,
    })
}

/// Batches that devices share out.
struct Queue<U, W> {
    end: usize,
    shares: Option<Shares>,
    ahead: usize,
    work: W,
    shared: Mutex<DeviceQueue<U>>,
    /// A batch was taken, returned or done, or a device takes none any more.
    more: Condvar,
}

struct DeviceQueue<U> {
    state: State<U>,
    /// Batches that were not begun and are not behind the ones that were: of devices that were
    /// lost, and all where batches belong to devices.
    open: BTreeSet<usize>,
    /// Batches under way, which may come back.
    busy: usize,
    /// Devices that may take batches.
    serving: usize,
}

/// What a thread counts as until this is dropped; where that is by a panic no more batches are
/// begun.
struct Counted<'q, U, W>(&'q Queue<U, W>, fn(&mut DeviceQueue<U>));

impl<U, W> Drop for Counted<'_, U, W> {
    fn drop(&mut self) {
        let mut shared = lock(&self.0.shared);
        (self.1)(&mut shared);
        if std::thread::panicking() {
            shared.state.over = shared.state.over.clone().map(|_| true);
        }
        self.0.more.notify_all();
    }
}

impl<U: Send, W: Fn(usize, usize) -> Option<U> + Sync> Queue<U, W> {
    /// The work of a device, to its end.
    fn serve(&self, device: usize) {
        let _serving = Counted(self, |shared| shared.serving -= 1);
        while let Some(batch) = self.next(device) {
            let _busy = Counted(self, |shared| shared.busy -= 1);
            let Some(result) = (self.work)(device, batch) else {
                lock(&self.shared).open.insert(batch);
                return;
            };
            lock(&self.shared).state.waiting.insert(batch, result);
        }
    }
    /// Takes all whose turn it is, until no device will add more.
    fn merge(&self, mut take: impl FnMut(usize, U) -> Result<Then>) {
        loop {
            let mut shared = lock(&self.shared);
            let (head, result) = loop {
                if let Some(turn) = shared.state.turn() {
                    break turn;
                }
                if shared.serving == 0 {
                    return;
                }
                shared = self
                    .more
                    .wait(shared)
                    .unwrap_or_else(PoisonError::into_inner);
            };
            shared.state.taken = true;
            drop(shared);
            let _taken = Counted(self, |shared| shared.state.taken = false);
            let then = take(head, result);
            lock(&self.shared).state.took(then);
        }
    }
    /// Waits for a batch that may be begun; none where there will be no more.
    fn next(&self, device: usize) -> Option<usize> {
        let mut shared = lock(&self.shared);
        loop {
            if !shared.state.goes_on() {
                return None;
            }
            if let Some(batch) = self.choose(device, &mut shared) {
                shared.busy += 1;
                return Some(batch);
            }
            if shared.busy == 0 && !shared.state.moves() {
                return None;
            }
            shared = self
                .more
                .wait(shared)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
    /// The batch that `device` begins now, if there is one.
    fn choose(&self, device: usize, shared: &mut DeviceQueue<U>) -> Option<usize> {
        let most = self.end.min(shared.state.head + self.ahead);
        if let Some(shares) = &self.shares {
            let batch = shares
                .next(device, &shared.open)
                .filter(|batch| *batch < most)?;
            shared.open.remove(&batch);
            return Some(batch);
        }
        let back = shared.open.pop_first();
        back.or_else(|| {
            if shared.state.begun < most {
                shared.state.begin()
            } else {
                None
            }
        })
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
        Workers::Pool(
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap()
                .into(),
        )
    }

    #[test]
    fn all_are_taken_in_order_and_none_far_ahead() {
        for workers in [Workers::Caller, pool(1), pool(3)] {
            for (batches, ahead) in [(0..0, 4), (5..6, 4), (2..90, 1), (0..200, 7)] {
                let head = AtomicUsize::new(batches.start);
                let mut taken = vec![];
                let work = |batch: usize| {
                    assert!(batch < head.load(Relaxed) + ahead);
                    std::thread::sleep(Duration::from_micros((batch * 7919 % 5) as u64 * 100));
                    batch * 2
                };
                let take = |batch, doubled| {
                    assert_eq!(doubled, batch * 2);
                    taken.push(batch);
                    head.store(batch + 1, Relaxed);
                    Ok(Then::GoOn)
                };
                in_order(&workers, batches.clone(), ahead, work, take).unwrap();
                assert_eq!(taken, batches.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn an_error_or_an_end_begins_no_more() {
        for workers in [Workers::Caller, pool(1), pool(3)] {
            let begun = AtomicUsize::new(0);
            let work = |batch: usize| {
                begun.fetch_add(1, Relaxed);
                batch
            };
            let fail = |batch, _| {
                if batch == 20 {
                    Err(Error::internal("twenty"))
                } else {
                    Ok(Then::GoOn)
                }
            };
            assert!(
                in_order(&workers, 0..1000, 8, work, fail)
                    .unwrap_err()
                    .to_string()
                    .contains("twenty")
            );
            assert!(begun.load(Relaxed) <= 28);
            // A slow batch, while those behind it are done: all that were begun are taken.
            let begun = AtomicUsize::new(0);
            let work = |batch: usize| {
                begun.fetch_add(1, Relaxed);
                std::thread::sleep(Duration::from_millis(if batch % 7 == 3 { 10 } else { 0 }));
            };
            let mut taken = 0;
            let end = |batch, ()| {
                taken += 1;
                Ok(if batch == 20 { Then::End } else { Then::GoOn })
            };
            in_order(&workers, 0..1000, 8, work, end).unwrap();
            assert!(
                taken == begun.load(Relaxed) && (21..29).contains(&taken),
                "{taken}"
            );
        }
    }

    #[test]
    fn a_panic_is_passed_on() {
        let run = || {
            in_order(
                &pool(2),
                0..9,
                4,
                |batch| assert!(batch != 3),
                |_, ()| Ok(Then::GoOn),
            )
        };
        assert!(std::panic::catch_unwind(run).is_err());
    }

    #[test]
    fn devices_take_every_batch_once_and_lost_ones_give_theirs_back() {
        // (devices, the batch at which each is lost)
        for lost in [
            vec![None],
            vec![None; 3],
            vec![Some(4), None],
            vec![Some(0), Some(9), None],
            vec![Some(3), Some(7)],
        ] {
            let mut taken = vec![];
            let work = |device: usize, batch: usize| {
                std::thread::sleep(Duration::from_micros((batch * 7919 % 5) as u64 * 100));
                lost[device]
                    .is_none_or(|at| batch < at)
                    .then_some(batch * 2)
            };
            let take = |batch, doubled| {
                assert_eq!(doubled, batch * 2);
                taken.push(batch);
                Ok(Then::GoOn)
            };
            let left = by_devices(lost.len(), (0..60, None), 5, work, take).unwrap();
            let all = lost.contains(&None);
            assert!(
                if all {
                    left.next == 60 && left.done.is_empty()
                } else {
                    left.next < 8
                },
                "{}",
                left.next
            );
            assert!(
                left.done
                    .keys()
                    .all(|batch| (left.next + 1..left.next + 5).contains(batch))
            );
            assert_eq!(taken, (0..left.next).collect::<Vec<_>>());
        }
    }

    #[test]
    fn devices_take_their_own_batches_and_the_last_of_a_neighbour() {
        for (overlap, lost) in [
            (false, None),
            (true, None),
            (false, Some(1)),
            (true, Some(1)),
        ] {
            let by: Mutex<Vec<(usize, usize)>> = Mutex::default();
            let work = |device: usize, batch: usize| {
                // The first device is slow, so that its neighbour takes some of its batches.
                std::thread::sleep(Duration::from_millis(if device == 0 { 5 } else { 1 }));
                if lost == Some(device) {
                    return None;
                }
                by.lock().unwrap().push((device, batch));
                Some(batch)
            };
            let mut taken = vec![];
            let take = |batch, _| {
                taken.push(batch);
                Ok(Then::GoOn)
            };
            let shares = Shares {
                owners: (0..30).map(|batch| batch / 10).collect(),
                neighbours: (0..3)
                    .map(|device| overlap.then(|| (device + 2) % 3))
                    .collect(),
            };
            let left = by_devices(3, (0..30, Some(shares)), 30, work, take).unwrap();
            let by = by.into_inner().unwrap();
            let may = |(device, batch): &(usize, usize)| {
                let owner = batch / 10;
                owner == *device || overlap && (owner + 2) % 3 == *device
            };
            assert!(by.iter().all(may), "{by:?}");
            if lost.is_none() {
                assert_eq!((left.next, taken.len()), (30, 30));
                let helped = by
                    .iter()
                    .filter(|(device, batch)| batch / 10 != *device)
                    .count();
                assert_eq!(helped > 0, overlap, "{by:?}");
            } else {
                // What nobody else may take is left, and what others did is kept.
                assert_eq!(left.next + left.done.len(), by.len());
                assert!(by.len() >= 20 && taken.len() == left.next, "{by:?}");
            }
        }
    }

    #[test]
    fn an_error_an_end_or_a_panic_of_a_device_begins_no_more() {
        let fail = |batch, _| {
            if batch == 20 {
                Err(Error::internal("twenty"))
            } else {
                Ok(Then::GoOn)
            }
        };
        assert!(by_devices(3, (0..1000, None), 8, |_, batch| Some(batch), fail).is_err());
        let end = |batch, _| Ok(if batch == 20 { Then::End } else { Then::GoOn });
        let left = by_devices(3, (0..1000, None), 8, |_, batch| Some(batch), end).unwrap();
        assert!(
            (21..29).contains(&left.next) && left.done.is_empty(),
            "{}",
            left.next
        );
        let nine = |_, batch| (batch != 9).then_some(batch).or_else(|| panic!("nine"));
        let panic = || by_devices(3, (0..1000, None), 8, nine, |_, _| Ok(Then::GoOn)).map(drop);
        assert!(std::panic::catch_unwind(panic).is_err());
    }

    #[test]
    fn a_thread_of_the_pool_may_ask_for_it() {
        let workers = pool(1);
        let Workers::Pool(inner) = &workers else {
            unreachable!()
        };
        let mut sum = 0;
        let take = |_, batch| {
            sum += batch;
            Ok(Then::GoOn)
        };
        inner
            .install(|| in_order(&workers, 0..50, 4, |batch| batch, take))
            .unwrap();
        assert_eq!(sum, 49 * 25);
    }
}
