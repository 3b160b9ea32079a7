//! A random bucket on the processor: one core and all of them.

use super::draw::RandomBucket;
use std::time::Instant;
use zipfold::internals::core::{Error, Result};
use zipfold::internals::product::cpu::scaled::Entries;
use zipfold::internals::product::cpu::{Contracted, Prepared};

/// Seconds that turns of one measurement take at least together; at least two are taken.
const LEAST: f64 = 0.05;

/// Rates of the processor, by the engine itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ceilings {
    /// Operations a second of a product of square matrices.
    pub operations: f64,
    /// Bytes a second of a copy, read and written.
    pub memory: f64,
}

/// The least seconds of several calls.
///
/// # Errors
/// Those of `call`.
pub(crate) fn least(mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let (mut best, begin, mut turns) = (f64::INFINITY, Instant::now(), 0);
    while turns < 2 || begin.elapsed().as_secs_f64() < LEAST {
        let start = Instant::now();
        call()?;
        best = best.min(start.elapsed().as_secs_f64());
        turns += 1;
    }
    Ok(best)
}

/// What `work` gives on so many threads; 0 are all.
///
/// # Errors
/// `Resource` when the system starts no threads, and those of `work`.
pub(crate) fn on<R: Send>(threads: usize, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|e| Error::resource(e.to_string()))?
        .install(work)
}

/// Numbers of the type, values or logarithms.
pub(crate) fn numbers<T: Contracted>(values: &[f64], entries: Entries) -> Vec<T> {
    let one = |v: &f64| match entries {
        Entries::Values => T::from_f64(*v),
        Entries::Logs => T::from_f64(v.ln()),
    };
    values.iter().map(one).collect()
}

/// Seconds of a bucket, and the sum of its result's values.
///
/// # Errors
/// `Request` where no order of pairs takes the bucket.
pub(crate) fn bucket<T: Contracted>(
    drawn: &RandomBucket,
    tables: &[Vec<f64>],
    entries: Entries,
) -> Result<(f64, f64)> {
    let held: Vec<Vec<T>> = tables.iter().map(|t| numbers(t, entries)).collect();
    let views: Vec<&[T]> = held.iter().map(|t| &t[..]).collect();
    let mut bucket = Prepared::<T>::new(&drawn.cards, &drawn.scopes, &drawn.summed, entries)?;
    let mut out = vec![T::from_f64(1.0); bucket.len()];
    let seconds = least(|| bucket.run(&views, &mut out))?;
    Ok((seconds, total(&out, entries)))
}

/// The sum of the values.
pub(crate) fn total<T: Contracted>(out: &[T], entries: Entries) -> f64 {
    let value = |v: &T| match entries {
        Entries::Values => v.to_f64(),
        Entries::Logs => v.to_f64().exp(),
    };
    out.iter().map(value).sum()
}

/// Measures the ceilings on so many threads: each has a product and a copy of its own, so that none
/// waits for another.
///
/// # Errors
/// Those of the engine.
pub(crate) fn ceilings<T: Contracted>(threads: usize) -> Result<Ceilings> {
    const SIDE: usize = 768;
    const COPIED: usize = 32 << 20;
    let square = RandomBucket {
        cards: vec![SIDE; 3],
        scopes: vec![vec![0, 1], vec![1, 2]],
        summed: vec![1],
        operations: 2.0 * (SIDE as f64).powi(3),
    };
    let tables = [square.table(0), square.table(1)];
    let many = on(threads, || Ok(rayon::current_num_threads()))?;
    let product = || on(1, || bucket::<T>(&square, &tables, Entries::Values)).map(|(took, _)| took);
    let copy = || {
        let from = vec![1u64; COPIED / 8];
        let mut to = vec![0u64; COPIED / 8];
        least(|| {
            to.copy_from_slice(std::hint::black_box(&from));
            std::hint::black_box(&mut to);
            Ok(())
        })
    };
    Ok(Ceilings {
        operations: square.operations * rate(many, &product)?,
        memory: 2.0 * COPIED as f64 * rate(many, &copy)?,
    })
}

/// What `many` threads do together in a second, each the same with these seconds.
fn rate(many: usize, seconds: &(dyn Fn() -> Result<f64> + Sync)) -> Result<f64> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..many).map(|_| scope.spawn(seconds)).collect();
        let ended = threads.into_iter().map(|t| {
            let seconds = t
                .join()
                .map_err(|_| Error::internal("a thread that measures failed"))?;
            seconds.map(f64::recip)
        });
        ended.sum()
    })
}
