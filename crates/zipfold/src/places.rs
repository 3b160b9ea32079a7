//! Where dense results are while a run goes on (memory, a file, memory of the caller), and what of
//! them a checkpoint vouches for.

use crate::frame::Frame;
use crate::options::{LentSink, Target};
use crate::outcome::Output;
use crate::partial::aside;
use crate::runs::{MatchStores, RunFacts, RunPlace, folder_of};
use rayon::prelude::*;
use std::path::Path;
use std::sync::{Mutex, OnceLock};
use zipfold_core::fold::{Fold, State};
use zipfold_core::{Budget, Error, Hash, Job, Opt, Reservation, Result};
use zipfold_cpu::pairs::dense::Shared;
use zipfold_cpu::pairs::{Blocks, SharedMatrix};
use zipfold_io::{NpyElement, NpyFile};
use zipfold_plan::{Sink, Tile, Values};

/// Numbers of a dense result.
pub(crate) trait Typed: Blocks + Shared + NpyElement {
    /// The whole result.
    fn output(items: Vec<Self>) -> Output;
    /// Mixes a run in.
    fn mix(hash: &mut Hash, run: &[Self]);
}
impl Typed for f32 {
    fn output(items: Vec<f32>) -> Output {
        Output::F32(items)
    }
    fn mix(hash: &mut Hash, run: &[f32]) {
        hash.singles(run);
    }
}
impl Typed for f64 {
    fn output(items: Vec<f64>) -> Output {
        Output::F64(items)
    }
    fn mix(hash: &mut Hash, run: &[f64]) {
        hash.doubles(run);
    }
}

/// Where the result of one fold is.
pub(crate) enum Place<T: Shared> {
    /// In its state.
    None,
    /// In memory. What a checkpoint vouches for is in a file next to it too, from the first
    /// checkpoint on.
    Memory(SharedMatrix<T>, OnceLock<NpyFile>),
    /// The part of a share, in memory, and its file as of [`Place::Memory`].
    Framed(Frame, SharedMatrix<T>, OnceLock<NpyFile>),
    /// In the file that becomes the output.
    File(NpyFile),
    /// In memory of the caller.
    Lent(LentSink),
}

/// Where the results of a run are.
pub(crate) struct Places<T: Shared> {
    /// By fold.
    pub items: Vec<Place<T>>,
    /// Where matches go that memory does not hold.
    pub stores: MatchStores,
    /// Bytes of matches that a batch holds.
    of_batch: u64,
    budget: Budget,
}

/// A run that an unfinished file belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    /// Its number.
    pub number: u128,
    /// Its checkpoint, where it keeps one.
    pub checkpoint: Option<&'a Path>,
    /// Whether it goes on from that checkpoint.
    pub resumed: bool,
}

/// Elements of the result of a dense fold; none of others.
fn shape(job: &Job, fold: &Fold) -> Option<Vec<usize>> {
    fold.dense().map(|f| f.shape(job.space.n, job.space.m))
}

/// The runs of elements (first, how many) of a dense fold that `tile` gives, in one order.
fn runs(
    job: &Job,
    fold: &Fold,
    tile: &Tile,
    each: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let (n, m, Tile { rows, cols }) = (job.space.n, job.space.m, tile);
    let mut some = |at: usize, len: usize| if len > 0 { each(at, len) } else { Ok(()) };
    if fold.dense().is_some_and(|f| f.condensed) {
        return rows.clone().try_for_each(|i| {
            let from = (i + 1).clamp(cols.start, cols.end);
            some(
                (n * i + from).saturating_sub(i * (i + 1) / 2 + i + 1),
                cols.end - from,
            )
        });
    }
    for i in rows.clone() {
        let from = if job.space.is_triangular() {
            i.clamp(cols.start, cols.end)
        } else {
            cols.start
        };
        some(i * m + from, cols.end - from)?;
    }
    let mirrored = if job.space.is_triangular() {
        cols.clone()
    } else {
        0..0
    };
    mirrored.into_iter().try_for_each(|j| {
        some(
            j * m + rows.start,
            rows.end.min(j).saturating_sub(rows.start),
        )
    })
}

/// What hashes of `tiles` of a dense fold add up to; `get` fills a run from its first element on.
fn sum<T: Typed>(
    job: &Job,
    (at, fold): (usize, &Fold),
    tiles: &[Tile],
    get: impl Fn(usize, &mut [T]) -> Result<()> + Sync,
) -> Result<u128> {
    let one = |tile: &Tile| {
        let mut hash = Hash::default();
        [at, tile.rows.start, tile.cols.start]
            .iter()
            .for_each(|word| hash.word(*word as u64));
        let mut held = vec![];
        runs(job, fold, tile, &mut |first, len| {
            held.clear();
            held.resize(len, T::default());
            get(first, &mut held)?;
            T::mix(&mut hash, &held);
            Ok(())
        })?;
        Ok(hash.finish())
    };
    // Outside a pool the caller is the only thread.
    if rayon::current_thread_index().is_none() {
        return tiles
            .iter()
            .try_fold(0u128, |sum, tile| Ok(sum.wrapping_add(one(tile)?)));
    }
    tiles
        .par_iter()
        .map(one)
        .try_reduce(|| 0, |a, b| Ok(a.wrapping_add(b)))
}

/// Memory for fold `at`, and the file that keeps it next to a checkpoint.
fn in_memory<T: Typed>(
    at: usize,
    shape: &[usize],
    run: Run<'_>,
) -> Result<(SharedMatrix<T>, OnceLock<NpyFile>)> {
    let matrix = SharedMatrix::zeros(shape.iter().product()).ok_or_else(|| {
        let output = Opt::Output.like("FILE.npy");
        Error::resource("the system has no memory for the matrix")
            .remedy(format!("write it to an .npy file: {output}"))
    })?;
    let left = match run.checkpoint.filter(|_| run.resumed) {
        Some(path) => OnceLock::from(NpyFile::resume_aside::<T>(&aside(path, at), shape)?),
        None => OnceLock::new(),
    };
    Ok((matrix, left))
}

/// The file that keeps what is in memory next to a checkpoint, made when it is needed first.
fn kept<'a, T: Typed>(
    left: &'a OnceLock<NpyFile>,
    path: &Path,
    shape: &[usize],
    run: Run<'_>,
) -> Result<&'a NpyFile> {
    if let Some(file) = left.get() {
        return Ok(file);
    }
    let file = NpyFile::aside::<T>(path, shape, run.number)?;
    file.keep();
    Ok(left.get_or_init(|| file))
}

impl<T: Typed> Places<T> {
    /// The places that `target` names; those of a run that goes on hold what it left, unchecked.
    ///
    /// # Errors
    /// Those of the files; `Resource` where the system has no memory.
    pub(crate) fn new(job: &Job, target: &Target, budget: &Budget, run: Run<'_>) -> Result<Self> {
        Places::framed(job, target, budget, run, (&[], u64::MAX))
    }
    /// As [`Places::new`], with the part of a share in memory where a fold has a frame; a batch holds
    /// matches of `of_batch` bytes.
    ///
    /// # Errors
    /// As [`Places::new`].
    pub(crate) fn framed(
        job: &Job,
        target: &Target,
        budget: &Budget,
        run: Run<'_>,
        (frames, of_batch): (&[Option<Frame>], u64),
    ) -> Result<Self> {
        let clear = || {
            run.checkpoint
                .filter(|_| !run.resumed)
                .into_iter()
                .for_each(crate::partial::discard);
            Ok(())
        };
        let make = |(at, fold): (usize, &Fold)| -> Result<Place<T>> {
            let Some(shape) = shape(job, fold) else {
                return Ok(Place::None);
            };
            if let Some(Some(frame)) = frames.get(at) {
                let (matrix, left) = in_memory(at, &[frame.elements()], run)?;
                return Ok(Place::Framed(frame.clone(), matrix, left));
            }
            match target {
                Target::Memory | Target::Runs(..) => {
                    in_memory(at, &shape, run).map(|(matrix, left)| Place::Memory(matrix, left))
                }
                Target::Npy(path, options) if run.resumed => {
                    Ok(Place::File(NpyFile::resume::<T>(path, &shape, *options)?))
                }
                Target::Npy(path, options) => {
                    let number = run.checkpoint.map(|_| run.number);
                    Ok(Place::File(NpyFile::create_for::<T>(
                        path, &shape, *options, number, &clear,
                    )?))
                }
                Target::Lent(_) if run.checkpoint.is_some() => {
                    let e = Error::request("a result in memory of the caller keeps no checkpoint");
                    Err(e.remedy("leave the checkpoint out, or have the result in a file"))
                }
                Target::Lent(lent) => Ok(Place::Lent(lent.clone())),
            }
        };
        if !matches!(target, Target::Npy(..))
            || job.folds.iter().all(|fold| shape(job, fold).is_none())
        {
            clear()?;
        }
        let items = job
            .folds
            .iter()
            .enumerate()
            .map(make)
            .collect::<Result<_>>()?;
        Ok(Places {
            items,
            stores: MatchStores::new(job, place_of_runs(target, run), budget),
            of_batch,
            budget: budget.clone(),
        })
    }
    /// Waits until the disk has what went to output files, which outlive this process from now on.
    ///
    /// # Errors
    /// `Resource` when the disk fails.
    pub(crate) fn sync(&self) -> Result<()> {
        for place in &self.items {
            if let Place::File(file) = place {
                file.sync()?;
                file.keep();
            }
        }
        Ok(())
    }
    /// Brings what `tiles` gave to where it outlives this process; by fold, what their hashes add
    /// up to.
    ///
    /// # Errors
    /// `Resource` when the disk is full.
    pub(crate) fn record(&self, job: &Job, tiles: &[Tile], run: Run<'_>) -> Result<Vec<u128>> {
        let one = |((at, fold), place): ((usize, &Fold), &Place<T>)| match (place, run.checkpoint) {
            (Place::File(file), _) => sum::<T>(job, (at, fold), tiles, |first, run| {
                file.read(first as u64, run)
            }),
            (Place::Memory(matrix, left), Some(path)) => {
                let shape = shape(job, fold).unwrap_or_default();
                let file = kept::<T>(left, &aside(path, at), &shape, run)?;
                let sum = sum::<T>(job, (at, fold), tiles, |first, run| {
                    matrix.get(first, run);
                    file.write(first as u64, run)
                })?;
                file.sync().map(|()| sum)
            }
            (Place::Framed(frame, matrix, left), Some(path)) => {
                let file = kept::<T>(left, &aside(path, at), &[frame.elements()], run)?;
                let sum = sum::<T>(job, (at, fold), tiles, |first, run| {
                    let Some(first) = frame.place(first) else {
                        return Ok(());
                    };
                    matrix.get(first, run);
                    file.write(first as u64, run)
                })?;
                file.sync().map(|()| sum)
            }
            _ => Ok(0),
        };
        job.folds
            .iter()
            .enumerate()
            .zip(&self.items)
            .map(one)
            .collect()
    }
    /// Checks what an earlier run has left of `tiles` against `sums`, and takes it into memory.
    ///
    /// # Errors
    /// `Request` where it is not what that run has written.
    pub(crate) fn recall(
        &self,
        job: &Job,
        tiles: &[Tile],
        run: Run<'_>,
        sums: &[u128],
    ) -> Result<()> {
        let changed = |file: &NpyFile, what: &str| {
            let place = file.partial_path().to_string_lossy();
            Error::request(what.to_string())
                .at_place(place)
                .remedy(format!("run it without {} to start again", Opt::Resume))
        };
        for (at, (fold, place)) in job.folds.iter().zip(&self.items).enumerate() {
            let (file, matrix, frame) = match place {
                Place::File(file) => (file, None, None),
                Place::Memory(matrix, left) => match left.get() {
                    Some(file) => (file, Some(matrix), None),
                    None => continue,
                },
                Place::Framed(frame, matrix, left) => match left.get() {
                    Some(file) => (file, Some(matrix), Some(frame)),
                    None => continue,
                },
                _ => continue,
            };
            if file.run().is_some_and(|number| number != run.number) {
                return Err(changed(
                    file,
                    "the unfinished output is of another run than the checkpoint",
                ));
            }
            let sum = sum::<T>(job, (at, fold), tiles, |first, run| {
                // Other parts of the result are neither kept nor read.
                let Some(first) = frame.map_or(Some(first), |frame| frame.place(first)) else {
                    run.fill(T::default());
                    return Ok(());
                };
                file.read(first as u64, run)?;
                match matrix {
                    Some(matrix) if !matrix.put(first, run) => {
                        Err(Error::internal("a tile beyond the matrix"))
                    }
                    _ => Ok(()),
                }
            })?;
            if sums.get(at) != Some(&sum) {
                return Err(changed(
                    file,
                    "the unfinished output was changed after its checkpoint",
                ));
            }
        }
        Ok(())
    }
}

/// Where the runs of matches of a run lie, if `target` allows some. A checkpoint has the ones that it
/// names next to it.
fn place_of_runs(target: &Target, run: Run<'_>) -> Option<RunPlace> {
    match target {
        Target::Runs(folder, output) => Some(RunPlace {
            output: output.clone(),
            folder: run.checkpoint.map_or_else(|| folder.clone(), folder_of),
            owner: run.checkpoint.map(Path::to_owned),
            identity: run.number,
        }),
        Target::Memory | Target::Npy(..) | Target::Lent(_) => None,
    }
}

/// What a batch has found in addition to its states.
#[derive(Default)]
pub(crate) struct FoundOfBatch {
    /// What its matches take.
    pub held: Vec<Reservation>,
    /// The runs of the matches that memory did not hold, with their folds.
    pub runs: Vec<(usize, RunFacts)>,
}

/// The places as one batch sees them.
pub(crate) struct UnitPlaces<'a, T: Shared> {
    all: &'a Places<T>,
    /// For what the batch has found.
    pub found: Mutex<FoundOfBatch>,
}

impl<'a, T: Shared> UnitPlaces<'a, T> {
    /// Nothing found yet.
    pub(crate) fn new(all: &'a Places<T>) -> Self {
        UnitPlaces {
            all,
            found: Mutex::default(),
        }
    }
}

impl<T: Typed> Sink for UnitPlaces<'_, T> {
    fn hold(&self, bytes: u64) -> Result<()> {
        let more = self.all.budget.reserve(bytes, "the matches found so far")?;
        if let Ok(mut found) = self.found.lock() {
            found.held.push(more);
        }
        Ok(())
    }
    fn grown(&self, states: &mut [State], [now, more]: [u64; 2], held: &mut u64) -> Result<()> {
        let ask = |held: &mut u64, bytes: u64| {
            let asked = self.hold(bytes.saturating_sub(*held));
            asked.map(|()| *held = bytes.max(*held))
        };
        let all = now.saturating_add(more);
        if !self.all.stores.any() {
            return ask(held, all).map_err(|e| self.all.stores.refused(e));
        }
        if all <= self.all.of_batch && ask(held, all).is_ok() {
            return Ok(());
        }
        let runs = self.all.stores.relieve(states, 0)?;
        if let Ok(mut found) = self.found.lock() {
            // What was given last is for these states; matches of other parts stay.
            let mut given = *held;
            while let Some(last) = found.held.pop_if(|_| given > 0) {
                given = given.saturating_sub(last.bytes());
            }
            found.runs.extend(runs);
        }
        *held = 0;
        ask(held, more)
    }
    fn gathers(&self) -> bool {
        self.all.items.iter().any(|place| match place {
            Place::File(_) => true,
            Place::Memory(matrix, _) | Place::Framed(_, matrix, _) => matrix.gathers(),
            Place::Lent(lent) => lent.0.gathers(),
            Place::None => false,
        })
    }
    fn put(&self, fold: usize, at: usize, values: Values<'_>) -> Result<()> {
        match &self.all.items[fold] {
            Place::Memory(matrix, _) => put_in(matrix, at, values),
            Place::Framed(frame, matrix, _) => frame
                .place(at)
                .map_or(Ok(()), |at| put_in(matrix, at, values)),
            Place::File(file) => match T::run(values) {
                Some(run) => file.write(at as u64, run),
                None => Err(Error::internal("a tile of another precision than its file")),
            },
            Place::Lent(lent) => lent.0.put(fold, at, values),
            Place::None => Ok(()),
        }
    }
}

fn put_in<T: Typed>(matrix: &SharedMatrix<T>, at: usize, values: Values<'_>) -> Result<()> {
    match T::run(values) {
        Some(run) if matrix.put(at, run) => Ok(()),
        _ => Err(Error::internal("a tile wrote beyond the matrix")),
    }
}
