//! Frames in parallel: one thread reads ahead, others count.
//!
//! ```text
//! reader: file → frames of the slice → queue of a few       workers: queue → counts → sums
//! ```
//!
//! Small frames are counted one by each worker, large ones by all threads of the engine one after
//! another. Counts are whole numbers, and volumes are added in the order of frames, so threads
//! change no bit. An error is that of the first frame that has one.

use super::asked::Slice;
use super::frame::Prepared;
use crate::options::Options;
use crate::pool;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use zipfold_core::{Blame, Error, Result};
use zipfold_io::Source;
use zipfold_io::trajectory::{Snapshot, Trajectory, TrajectoryFormat};

/// Pairs of a frame below which frames are counted side by side.
const SMALL: u64 = 50_000_000;
/// Frames that are read ahead for each worker.
const AHEAD: usize = 2;

/// What all frames give.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// By question, pairs by bin.
    pub(super) counts: Vec<Vec<u64>>,
    /// By frame, in order, the volume of its box; none where it has none.
    pub(super) volumes: Vec<Option<f64>>,
    /// Pairs that were visited.
    pub(super) pairs: u64,
}

/// What a worker has found.
#[derive(Default)]
struct Part {
    counts: Vec<Vec<u64>>,
    volumes: Vec<(u64, Option<f64>)>,
    pairs: u64,
    error: Option<(u64, Error)>,
}

impl Part {
    fn take(&mut self, number: u64, counted: super::frame::FrameCounts) {
        if self.counts.is_empty() {
            self.counts = counted.counts;
        } else {
            for (sums, counts) in self.counts.iter_mut().zip(&counted.counts) {
                sums.iter_mut()
                    .zip(counts)
                    .for_each(|(sum, count)| *sum += count);
            }
        }
        self.volumes.push((number, counted.volume));
        self.pairs += counted.pairs;
    }
}

/// A file whose frames are read.
pub(super) struct File<'a> {
    pub(super) source: &'a Source,
    pub(super) kind: TrajectoryFormat,
    pub(super) slice: Slice,
}

/// Counts the pairs of all frames of a file.
pub(super) fn totals(
    file: &File<'_>,
    prepared: &Prepared,
    options: &Options<'_>,
) -> Result<Totals> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if options.threads == 0 {
        all
    } else {
        options.threads
    };
    let pairs: u64 = prepared
        .questions
        .iter()
        .map(|q| prepared.sets[q.from].atoms.len() as u64 * prepared.sets[q.to].atoms.len() as u64)
        .sum();
    let (workers, each) = if pairs < SMALL {
        (threads, 1)
    } else {
        (1, threads)
    };
    let (sender, receiver) = sync_channel(AHEAD * workers);
    let (queue, stop) = (Mutex::new(Some(receiver)), AtomicBool::new(false));
    let count = || worker(prepared, &queue, options, each, &stop);
    let work = || side_by_side(each, &count);
    let parts = std::thread::scope(|scope| {
        scope.spawn(|| read(file, options, &stop, sender));
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut parts = vec![work()];
        parts.extend(
            others
                .into_iter()
                .map(|other| other.join().unwrap_or_else(|_| panicked())),
        );
        // The reader may wait for room in the queue.
        *queue.lock().unwrap_or_else(PoisonError::into_inner) = None;
        parts
    });
    merged(parts, prepared)
}

/// Hands the frames of a file to `take`, one after another, while the next ones are read.
pub(super) fn in_turn(
    file: &File<'_>,
    options: &Options<'_>,
    mut take: impl FnMut(Snapshot) -> Result<()>,
) -> Result<()> {
    let (sender, receiver) = sync_channel(AHEAD);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| read(file, options, &stop, sender));
        let taken = receiver
            .iter()
            .try_for_each(|(_, snapshot)| take(snapshot?));
        // The reader may wait for room in the queue.
        drop(receiver);
        taken
    })
}

/// Runs `count` as a worker: one of a single thread in a pool of its own, where the engine leaves
/// it.
fn side_by_side(threads: usize, count: &(impl Fn() -> Part + Sync)) -> Part {
    if threads > 1 {
        return count();
    }
    match pool::start(1) {
        Ok(pool) => pool.install(count),
        Err(error) => Part {
            error: Some((0, error)),
            ..Part::default()
        },
    }
}

fn panicked() -> Part {
    let error = Some((
        0,
        Error::internal("a thread that counts frames ended early"),
    ));
    Part {
        error,
        ..Part::default()
    }
}

/// The sum of all parts, or the error of the first frame that has one.
fn merged(parts: Vec<Part>, prepared: &Prepared) -> Result<Totals> {
    let bins = prepared.edges.len() - 1;
    let mut totals = Totals {
        counts: vec![vec![0; bins]; prepared.questions.len()],
        ..Totals::default()
    };
    let (mut volumes, mut errors) = (Vec::new(), Vec::new());
    for part in parts {
        for (sums, counts) in totals.counts.iter_mut().zip(&part.counts) {
            sums.iter_mut()
                .zip(counts)
                .for_each(|(sum, count)| *sum += count);
        }
        totals.pairs += part.pairs;
        volumes.extend(part.volumes);
        errors.extend(part.error);
    }
    if let Some((_, error)) = errors.into_iter().min_by_key(|(number, _)| *number) {
        return Err(error);
    }
    volumes.sort_unstable_by_key(|(number, _)| *number);
    totals.volumes = volumes.into_iter().map(|(_, volume)| volume).collect();
    Ok(totals)
}

/// A frame on its way to a worker, or why there is none.
type Read = (u64, Result<Snapshot>);

/// Reads the frames of the slice into the queue, until its end, an error or a stop.
fn read(file: &File<'_>, options: &Options<'_>, stop: &AtomicBool, queue: SyncSender<Read>) {
    let mut number = 0;
    let mut next = || -> Result<Option<Snapshot>> {
        let mut trajectory = Trajectory::open(file.source, file.kind, &options.budget)?;
        while number < file.slice.end && !stop.load(Ordering::Relaxed) {
            if !file.slice.has(number) {
                if !trajectory.pass_over()? {
                    break;
                }
            } else {
                let Some(snapshot) = trajectory.read_next()? else {
                    break;
                };
                // Nobody listens any more after an error.
                if queue.send((number, Ok(snapshot))).is_err() {
                    break;
                }
            }
            number += 1;
        }
        Ok(None)
    };
    if let Err(error) = next() {
        let _ = queue.send((number, Err(error)));
    }
}

/// Counts frames of the queue until it ends.
fn worker(
    prepared: &Prepared,
    queue: &Mutex<Option<Receiver<Read>>>,
    options: &Options<'_>,
    threads: usize,
    stop: &AtomicBool,
) -> Part {
    let own = Options {
        threads,
        budget: options.budget.clone(),
        overrides: options.overrides.clone(),
        device: options.device,
        warnings: options.warnings.clone(),
        stop: options.stop,
        ..Options::default()
    };
    let mut part = Part::default();
    let next = || {
        let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.as_ref().and_then(|queue| queue.recv().ok())
    };
    while let Some((number, snapshot)) = next() {
        let interrupted = options
            .stop
            .is_some_and(|stop| stop.load(Ordering::Relaxed));
        let counted = match interrupted {
            true => Err(Error::new(Blame::Interrupted, "interrupted")),
            false => snapshot.and_then(|snapshot| prepared.count(&snapshot, &own)),
        };
        match counted {
            Ok(counted) => part.take(number, counted),
            Err(error) => {
                stop.store(true, Ordering::Relaxed);
                part.error = Some((number, error));
                break;
            }
        }
    }
    part
}
