//! The run loop: batches of tiles in parallel, partials merged in tile order, progress,
//! checkpoints, the conservation law.

use crate::batches::{Left, Shares, Then, by_devices, in_order};
use crate::checkpoint::Keeper;
use crate::frame::Frame;
use crate::identity::{Identity, Key};
use crate::matches;
pub use crate::options::{LentSink, Options, Progress, Target};
use crate::outcome::ShareFacts;
pub use crate::outcome::{Outcome, Output};
use crate::partial::{self, Partial};
use crate::places::{FoundOfBatch, Place, Places, Run, Typed, UnitPlaces};
use crate::pool::Workers;
use crate::runs::{HELD_BY_PART, MatchRuns, MatchStores, RunFacts, bytes_of_matches};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use zipfold_core::fold::{Axis, Fold, Histogram, State, Tally, table_bytes};
use zipfold_core::problem::{AxisSpec, FoldSpec, NanPolicy, Problem};
use zipfold_core::{Blame, Error, Job, Message, Opt, Precision, Reservation, Result};
use zipfold_plan::device::{self, Blocks, OnDevice, host_tiling};
use zipfold_plan::parts::{self, tiles_of_run, working_of};
use zipfold_plan::shares::{self, Cut, Share};
use zipfold_plan::{Executor, Folded, Plan, Stop, Tile, dense_bytes};

/// Bytes of the grids of all histograms: edges as requested and as compared, and a count for each
/// bin. Requested before the edges are made.
pub(crate) fn grid_bytes(problem: &Problem) -> u64 {
    // More bins than there may be are refused by name when the problem is described.
    let asked = |a: &AxisSpec| a.bins.filter(|bins| *bins <= 100_000_000).unwrap_or(100);
    let bins = |a: &AxisSpec| {
        a.edges
            .as_ref()
            .map_or(asked(a), |e| e.len().saturating_sub(1)) as u64
    };
    let of = |f: &FoldSpec| match f {
        FoldSpec::Histogram { axes, .. } => {
            let bytes = |a: &AxisSpec| {
                bins(a)
                    .saturating_mul(EDGE)
                    .saturating_add(table_bytes(bins(a)))
            };
            let edges = axes
                .iter()
                .fold(0u64, |sum, a| sum.saturating_add(bytes(a)));
            let bins = axes.iter().fold(8u64, |room, a| {
                room.saturating_mul(bins(a).saturating_add(2))
            });
            edges.saturating_add(bins)
        }
        FoldSpec::Matrix {}
        | FoldSpec::Condensed {}
        | FoldSpec::Reduce { .. }
        | FoldSpec::Nearest { .. }
        | FoldSpec::Top(_)
        | FoldSpec::Quantile(_)
        | FoldSpec::Join { .. } => 0,
    };
    let folds = problem.folds.iter();
    let of_value = folds.fold(0, |sum: u64, f| sum.saturating_add(of(f)));
    of_value.saturating_mul(problem.questions() as u64)
}

/// Bytes of an edge: as requested, as compared, and the ends of its bin in the answer.
const EDGE: u64 = 32;

/// What is said of a device that takes this many times the predicted seconds, and some seconds
/// more, so that it matters: a runtime may compile kernels at their first launch.
const FAR_SLOWER: f64 = 10.0;
const SECONDS_MORE: f64 = 5.0;

/// The warning of a device that was far slower than the planner took it for: the choice of the
/// device was made by that number.
fn slower_than_predicted(predicted: f64, taken: f64) -> Option<Message> {
    let far = taken > FAR_SLOWER * predicted && taken > predicted + SECONDS_MORE;
    far.then(|| {
        let cpu = Opt::Device.to("cpu");
        format!(
            "the device took {taken:.1} s where {predicted:.2} s were predicted: {cpu} may be faster"
        )
        .into()
    })
}

/// Runs `job` by `plan` on the executor that `load` makes for it.
///
/// # Errors
/// Those of the run, of `load` and of the executor.
pub fn run_by<'e>(
    problem: &Problem,
    job: &Job,
    plan: Plan,
    target: &Target,
    options: &Options<'_>,
    load: impl FnOnce(&Plan) -> Result<Box<dyn Executor + 'e>> + Send,
) -> Result<Outcome> {
    let load = |plan: &Plan| load(plan).map(Arc::from);
    match plan.precision {
        Precision::F32 => run_typed::<f32>(problem, job, plan, target, options, load),
        Precision::F64 => run_typed::<f64>(problem, job, plan, target, options, load),
    }
}

/// As [`run_by`], for numbers of one type.
pub(crate) fn run_typed<'e, T: Typed>(
    problem: &Problem,
    job: &Job,
    mut plan: Plan,
    target: &Target,
    options: &Options<'_>,
    load: impl FnOnce(&Plan) -> Result<Arc<dyn Executor + 'e>> + Send,
) -> Result<Outcome> {
    let start = Instant::now();
    let workers = Workers::for_plan(job, &plan)?;
    let (identity, found) = identify(problem, job, &mut plan, options)?;
    let resumed = found.is_some();
    let before = found.as_ref().map_or(0, |f| f.pairs);
    let share = share_of(job, &plan, options.shard);
    let frames = frames(job, &share, options);
    let batches = batches_left(share.tiles.len(), &plan, found.as_ref());
    let (held, ahead) = reserve(job, &plan, (&share, &frames), batches, target, options)?;
    let merged = found.unwrap_or_else(|| fresh(job, &plan, identity, (&share, options)));
    let run = Run {
        number: merged.run,
        checkpoint: options.checkpoint.as_deref(),
        resumed,
    };
    check_checkpoint(job, &plan, (&share, options), &merged, run)?;
    let places = places_of::<T>((job, &plan), target, (options, &held), (run, &frames))?;
    recall(job, &share, (&merged, run), &places, &workers)?;
    let stop = stop_within(options);
    let executor = workers.install(|| load(&plan))?;
    let load_seconds = start.elapsed().as_secs_f64();
    let keeper = Keeper::new(run, &merged, options);
    let sweep = Sweep {
        job,
        plan: &plan,
        share: &share,
        places: &places,
        options,
        ahead,
        stop,
    };
    let merged = sweep.run(executor.as_ref(), &workers, merged, keeper)?;
    sound(job, &merged)?;
    let found = (merged.states, &merged.runs[..], vec![]);
    let outputs = outputs(places, found, most_held(options), &workers)?;
    let shared = facts(job, &plan, (&share, frames), executor.order(), options);
    plan.backend = executor.backend();
    Ok(Outcome {
        warnings: all_warnings(options),
        plan,
        outputs,
        tally: merged.tally,
        pairs: merged.pairs,
        before,
        kernel_seconds: start.elapsed().as_secs_f64(),
        load_seconds,
        identity,
        shared,
    })
}

/// Where the results of a run go.
fn places_of<T: Typed>(
    (job, plan): (&Job, &Plan),
    target: &Target,
    (options, held): (&Options<'_>, &[Reservation]),
    (run, frames): (Run<'_>, &[Option<Frame>]),
) -> Result<Places<T>> {
    let of_batch = plan.matches.map_or(u64::MAX, |m| m.of_batch(plan.threads));
    let mut places = Places::framed(job, target, &options.budget, run, (frames, of_batch))?;
    // What the run takes for its time is free again when the answer is written.
    let free = options.budget.free() + held.iter().map(Reservation::bytes).sum::<u64>();
    (places.stores).plan_output(plan, free, options.shard)?;
    Ok(places)
}

/// What ends work within a batch. One that ends early would lose what a checkpoint after it keeps.
fn stop_within<'o>(options: &'o Options<'_>) -> Stop<'o> {
    Stop(options.stop.filter(|_| options.checkpoint.is_none()))
}

/// Bytes of matches that an answer holds where they may be written. A merge will read those of a
/// share.
fn most_held(options: &Options<'_>) -> u64 {
    options.shard.map_or(u64::MAX, |_| HELD_BY_PART)
}

/// What a share says of itself: of sorted rows, the row of x by place, too.
fn facts(
    job: &Job,
    plan: &Plan,
    (share, frames): (&Share, Vec<Option<Frame>>),
    order: Option<&[u32]>,
    options: &Options<'_>,
) -> Option<ShareFacts> {
    let (_, parts) = options.shard?;
    let own = order.filter(|_| share.placed);
    let order = own.and_then(|order| order.get(share.rows.clone()));
    Some(ShareFacts {
        key: Key::of_plan(job, plan, parts),
        order: order.map_or(vec![], <[u32]>::to_vec),
        frames,
    })
}

/// The warnings of a run, with the ones of drivers.
fn all_warnings(options: &Options<'_>) -> Vec<Message> {
    let said = zipfold_gpu::runtime::take_warnings();
    said.into_iter().for_each(|w| options.warnings.add(w));
    options.warnings.all()
}

/// Refuses the checkpoint of a run that goes on, where it is damaged.
fn check_checkpoint(
    job: &Job,
    plan: &Plan,
    (share, options): (&Share, &Options<'_>),
    merged: &Partial,
    run: Run<'_>,
) -> Result<()> {
    let Some(path) = run.checkpoint.filter(|_| run.resumed) else {
        return Ok(());
    };
    let fresh = states(job, plan, share, options);
    check_resumed((job, plan), merged, (share, &fresh), path)
}

/// Brings back what a run that goes on has left of dense results.
fn recall<T: Typed>(
    job: &Job,
    share: &Share,
    (merged, run): (&Partial, Run<'_>),
    places: &Places<T>,
    workers: &Workers,
) -> Result<()> {
    if !run.resumed {
        return Ok(());
    }
    places.stores.recall(&merged.runs)?;
    let done = &share.tiles[..merged.tiles_done];
    workers.install(|| places.recall(job, done, run, &merged.sums))
}

/// The share that is requested; the whole run as one share if none is.
fn share_of(job: &Job, plan: &Plan, shard: Option<(usize, usize)>) -> Share {
    match shard {
        Some((index, parts)) => shares::share(job, plan, index, parts),
        None => Share {
            shape: Cut::Bands,
            rows: 0..job.space.n,
            placed: false,
            tiles: tiles_of_run(job, plan),
            foreign: 0,
        },
    }
}

/// By fold: the part of a dense result that a share gives; none for a whole run.
fn frames(job: &Job, share: &Share, options: &Options<'_>) -> Vec<Option<Frame>> {
    let of = |fold| {
        options
            .shard
            .and_then(|_| Frame::of_share(job, fold, share))
    };
    job.folds.iter().map(of).collect()
}

/// What decides the answer, and the checkpoint of the same that the run goes on from, if there is
/// one. The plan then cuts the domain as the earlier run did.
fn identify(
    problem: &Problem,
    job: &Job,
    plan: &mut Plan,
    options: &Options<'_>,
) -> Result<(Option<Identity>, Option<Partial>)> {
    // All data are read for it; only what may be resumed or merged needs it.
    let keyed = options.checkpoint.is_some() || options.shard.is_some();
    if options.shard.is_some() {
        plan.complete_rows();
    }
    let found = match &options.checkpoint {
        Some(path) if options.resume => {
            partial::read_if_there(path, &options.budget)?.map(|found| (found, path))
        }
        _ => None,
    };
    if let Some(tiling) = found.as_ref().and_then(|(found, _)| found.tiling) {
        device::cut_as(job, plan, tiling);
    }
    let identity = keyed.then(|| Identity::of_run(problem, job, plan, options.shard));
    let found = match (found, &identity) {
        (Some((found, path)), Some(identity)) => Some(found.matching(identity, path)?),
        _ => None,
    };
    Ok((identity, found))
}

/// How many batches `tiles` make without the ones that an earlier run has done.
fn batches_left(tiles: usize, plan: &Plan, found: Option<&Partial>) -> usize {
    let done = found.map_or(0, |earlier| earlier.tiles_done);
    let left = tiles.saturating_sub(done);
    left.div_ceil(plan.tiles_per_batch.max(1))
}

/// The state of a run before any pair.
fn fresh(
    job: &Job,
    plan: &Plan,
    identity: Option<Identity>,
    (share, options): (&Share, &Options<'_>),
) -> Partial {
    let states = states(job, plan, share, options);
    Partial {
        tiling: plan.device.as_ref().map(|_| plan.tiling),
        ..Partial::start(identity.unwrap_or_default(), states)
    }
}

/// Refuses a checkpoint whose states do not fit the folds, or whose pairs are not those of the
/// tiles that it says are done, or whose rows are not those of `fresh` states.
fn check_resumed(
    (job, plan): (&Job, &Plan),
    merged: &Partial,
    (share, fresh): (&Share, &[State]),
    path: &Path,
) -> Result<()> {
    let name = path.to_string_lossy();
    merged.check(job, &name)?;
    let damaged = |what: &str| Err(Error::input(what.to_string()).at_place(name.clone()));
    let done = share.tiles.get(..merged.tiles_done);
    if done.map(|_| own_pairs(job, plan, share, 0..merged.tiles_done)) != Some(merged.pairs) {
        return damaged("the checkpoint is damaged: its pairs are not those of its tiles");
    }
    let states = job.folds.iter().zip(merged.states.iter().zip(fresh));
    let mut rows = states.map(|(fold, (kept, fresh))| fold.span(kept) == fold.span(fresh));
    match rows.all(|same| same) {
        true => Ok(()),
        false => damaged("the checkpoint is damaged: its rows are not those of the run"),
    }
}

/// By fold the answer: matches in order, files under their names, values in their place.
pub(crate) fn outputs<T: Typed>(
    places: Places<T>,
    (states, runs, parts): (Vec<State>, &[Vec<RunFacts>], Vec<Vec<MatchRuns>>),
    most: u64,
    workers: &Workers,
) -> Result<Vec<Output>> {
    if runs.iter().any(|written| !written.is_empty()) {
        // Blocks of runs take the memory that batches of matches had.
        zipfold_cpu::give_freed_back();
    }
    let stores = &places.stores;
    let mut parts = parts.into_iter();
    let output = |(at, (place, mut state)): (usize, (Place<T>, State))| {
        let written = runs.get(at).map_or(&[][..], Vec::as_slice);
        let parts = parts.next().unwrap_or_default();
        if let Some(runs) = stores.finish(at, (written, parts), &mut state, most)? {
            return Ok(Output::Runs(runs));
        }
        if let State::Join(join) = &mut state {
            workers.install(|| matches::sort(join));
        }
        Ok(match place {
            Place::Memory(items, _) | Place::Framed(_, items, _) => T::output(items.into_vec()),
            Place::File(file) => {
                file.publish()?;
                Output::Stored
            }
            Place::Lent(_) => Output::Stored,
            Place::None => Output::State(state),
        })
    };
    places
        .items
        .into_iter()
        .zip(states)
        .enumerate()
        .map(output)
        .collect()
}

/// Everything proportional to the data is requested before work of this many `batches` starts.
/// With it, how many batches may be begun before an earlier one is merged.
fn reserve(
    job: &Job,
    plan: &Plan,
    (share, frames): (&Share, &[Option<Frame>]),
    batches: usize,
    target: &Target,
    options: &Options<'_>,
) -> Result<(Vec<Reservation>, usize)> {
    // A share has the states of its own rows.
    let [n, m] = match (share.placed, share.shape) {
        (false, _) => [job.space.n, job.space.m],
        (true, Cut::Columns) => [job.space.n, share.rows.len()],
        (true, _) => [share.rows.len(), job.space.m],
    };
    let mut held = vec![options.budget.reserve(
        working_of(job, plan, host_tiling(job, plan))?,
        "hoisted rows and tiles",
    )?];
    let listed = job.parts.as_ref().map_or(0, |parts| parts.listed_bytes());
    held.push(options.budget.reserve(listed, "the list of pairs")?);
    let mut counters = 0u64;
    for (fold, frame) in job.folds.iter().zip(frames) {
        let framed = |frame: &Frame| (frame.elements() * plan.precision.bytes()) as u64;
        let dense = frame.as_ref().map_or_else(
            || dense_bytes(fold, job.space.n, job.space.m, plan.precision),
            framed,
        );
        if dense > 0 && (frame.is_some() || matches!(target, Target::Memory | Target::Runs(..))) {
            held.push(options.budget.reserve(dense, "the matrix")?);
        }
        if let Fold::Histogram(h) = fold.grouped().map_or(fold, |grouped| &grouped.inner) {
            let edges = edge_bytes(h);
            held.push(options.budget.reserve(edges, "the edges of the bins")?);
        }
        match fold {
            _ if fold.traits().fixed_size => counters = counters.saturating_add(fold.bytes(n, m)),
            _ => held.push(options.budget.reserve(fold.bytes(n, m), "the result")?),
        }
        let waiting = fold.waiting(n, m, job.space.is_triangular());
        held.push(options.budget.reserve(waiting, "sums of some columns")?);
    }
    let more = reserve_counters(&mut held, plan, batches, counters, options)?;
    Ok((held, more + 1))
}

/// Bytes of the edges of a histogram, and of the tables that find bins.
fn edge_bytes(h: &Histogram) -> u64 {
    let table = |a: &Axis| {
        if a.is_even() {
            0
        } else {
            table_bytes(a.bins() as u64)
        }
    };
    let bytes = |a: &Axis| a.edges.len() as u64 * EDGE + table(a);
    h.axes.iter().map(bytes).sum()
}

/// Reserves what each batch counts on its own: the merged counts, those of one batch, and of more
/// where there is room. Returns how many more.
fn reserve_counters(
    held: &mut Vec<Reservation>,
    plan: &Plan,
    batches: usize,
    counters: u64,
    options: &Options<'_>,
) -> Result<usize> {
    held.push(options.budget.reserve(
        counters.saturating_mul(2),
        "the counts, and those of a batch",
    )?);
    let most = batches_ahead(plan).min(batches).saturating_sub(1);
    let more = (options.budget.free() / 4 * 3)
        .checked_div(counters)
        .map_or(most, |room| most.min(room as usize));
    held.push(options.budget.reserve(
        counters.saturating_mul(more as u64),
        "the counts of batches",
    )?);
    let busy = plan.threads.min(batches);
    if more + 1 < busy {
        let few = format!("threads at work: {} of {busy}", more + 1);
        options.warnings.add(format!(
            "{few}, since {} has no room for the counts of more",
            Opt::Memory
        ));
    }
    Ok(more)
}

/// The pairs of these tiles of a share that are its own.
fn own_pairs(job: &Job, plan: &Plan, share: &Share, tiles: Range<usize>) -> u64 {
    let own = tiles.start.max(share.foreign)..tiles.end.max(share.foreign);
    let count = |tile| parts::count(job, plan, tile);
    share.tiles[own].iter().map(count).sum()
}

/// The states before any value.
fn states(job: &Job, plan: &Plan, share: &Share, options: &Options<'_>) -> Vec<State> {
    let (n, m) = (job.space.n, job.space.m);
    // Results that are not complete in a shard are sums of runs of blocks, so that a merge adds them
    // in the order, and to the bits, of the whole.
    let apart = options.shard.is_some() && !plan.prune.is_on();
    let start = |f: &Fold| {
        let Fold::Reduce(reduce) = f else {
            return match share.placed {
                true => f.band(&share.rows),
                false => f.start(n, m),
            };
        };
        // Of half of the pairs, each counted for its row alone, a band has whole rows, too.
        let whole = share.placed || (apart && reduce.once);
        if whole && share.has_results_of(reduce.axis) {
            f.band(&share.rows)
        } else if apart {
            f.part(&(0..n))
        } else {
            f.start(n, m)
        }
    };
    job.folds.iter().map(start).collect()
}

/// Batches that are worth being begun before an earlier one is merged.
fn batches_ahead(plan: &Plan) -> usize {
    // Pruned batches differ in their work, so that more of them are needed to even it out.
    let devices = plan.device.as_ref().map_or(0, |on| on.devices);
    // Blocks begin far behind one another, so a device waits for the whole block before its own
    // otherwise. Matches that a batch finds beyond its part are written, whenever it is merged.
    if plan.device.as_ref().is_some_and(OnDevice::is_in_blocks) {
        return plan.tiles;
    }
    // Matches of batches that wait for their turn take memory, too.
    if plan.matches.is_some_and(|matches| matches.written) {
        return 2 * plan.threads.max(devices);
    }
    plan.threads.max(devices) * if plan.prune.is_on() { 16 } else { 4 }
}

/// A run over its tiles.
struct Sweep<'a, T: Typed> {
    job: &'a Job,
    plan: &'a Plan,
    share: &'a Share,
    places: &'a Places<T>,
    options: &'a Options<'a>,
    /// Batches that may be begun before an earlier one is merged.
    ahead: usize,
    /// Ends the work within a batch.
    stop: Stop<'a>,
}

impl<T: Typed> Sweep<'_, T> {
    /// Adds the tiles that `merged` lacks.
    fn run(
        &self,
        executor: &dyn Executor,
        workers: &Workers,
        mut merged: Partial,
        mut keeper: Keeper<'_>,
    ) -> Result<Partial> {
        let Sweep {
            job,
            plan,
            share,
            places,
            options,
            ..
        } = *self;
        let tiles = &share.tiles;
        let (total, before) = (own_pairs(job, plan, share, 0..tiles.len()), merged.pairs);
        let mut growth = Growth::default();
        let stopped = || options.stop.is_some_and(|s| s.load(Ordering::Relaxed));
        let batches = batches(share, merged.tiles_done, plan.tiles_per_batch);
        let work = |batch: usize| -> Result<_> {
            let sink = UnitPlaces::new(places);
            Ok((executor.run(batches[batch], &sink, self.stop)?, sink.found))
        };
        let mut take = |batch: usize, result: Result<Done>| -> Result<Then> {
            self.merge(&mut merged, result?, executor.order(), &mut growth)?;
            let done = merged.tiles_done..merged.tiles_done + batches[batch].len();
            merged.tiles_done = done.end;
            merged.pairs += own_pairs(job, plan, share, done);
            close(job, &mut merged, share);
            tell(options, [merged.pairs, total, before]);
            keeper.now_and_then(job, tiles, places, &mut merged)?;
            Ok(if stopped() { Then::End } else { Then::GoOn })
        };
        let mut left = Left {
            next: 0,
            done: BTreeMap::new(),
        };
        if executor.devices() > 0 && !stopped() {
            let take = |batch, result| workers.install(|| take(batch, result));
            left = self.on_devices(executor, &batches, take)?;
        }
        if !stopped() {
            let done = Mutex::new(left.done);
            let work = |batch: usize| {
                let done = done
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(&batch);
                done.unwrap_or_else(|| work(batch))
            };
            in_order(workers, left.next..batches.len(), self.ahead, work, take)?;
        }
        if merged.tiles_done < tiles.len() {
            return Err(workers.install(|| self.interrupted(keeper, &mut merged)));
        }
        Ok(merged)
    }
}

impl<T: Typed> Sweep<'_, T> {
    /// Adds what a batch has given, and writes matches that memory does not hold.
    fn merge(
        &self,
        merged: &mut Partial,
        (state, found): Done,
        order: Option<&[u32]>,
        growth: &mut Growth,
    ) -> Result<()> {
        let own = merged.tiles_done >= self.share.foreign;
        merge_batch(self.job, merged, state, (self.share, order, own));
        let found = found.into_inner().unwrap_or_default();
        let runs = found.runs.into_iter();
        runs.for_each(|(at, run)| merged.runs[at].push(run));
        let both = (&mut merged.states[..], &mut merged.runs[..]);
        let stores = &self.places.stores;
        growth.cover_or_write(both, found.held, stores, (self.plan, self.options))
    }
    /// Keeps what there is for a resumption; the error that the run ends with.
    fn interrupted(&self, mut keeper: Keeper<'_>, merged: &mut Partial) -> Error {
        let words = match keeper.at_the_end(self.job, &self.share.tiles, self.places, merged) {
            Ok(()) => "interrupted".to_string(),
            Err(e) => format!(
                "interrupted, and nothing new could be kept: {}",
                e.what().marked()
            ),
        };
        Error::new(Blame::Interrupted, words)
    }
    /// Warns if devices took far longer for this many pairs than predicted.
    fn tell_if_slow(&self, start: Instant, pairs: u64) {
        let predicted = self.plan.seconds * pairs as f64 / self.plan.pairs.max(1) as f64;
        let slow = slower_than_predicted(predicted, start.elapsed().as_secs_f64());
        slow.into_iter()
            .for_each(|text| self.options.warnings.add(text));
    }
    /// Has devices take `batches`, Each has a thread that waits for it, while this one merges. What
    /// devices that are lost leave is the host's.
    fn on_devices(
        &self,
        executor: &dyn Executor,
        batches: &[&[Tile]],
        take: impl FnMut(usize, Result<Done>) -> Result<Then> + Send,
    ) -> Result<Left<Result<Done>>> {
        let start = Instant::now();
        let work = |device: usize, batch: usize| {
            let sink = UnitPlaces::new(self.places);
            let folded = executor
                .run_on(device, batches[batch], &sink, self.stop)
                .transpose()?;
            Some(folded.map(|folded| (folded, sink.found)))
        };
        let blocks = Blocks::new(self.job, self.plan);
        let shares = blocks.as_ref().map(|blocks| Shares {
            owners: batches
                .iter()
                .map(|batch| blocks.owner(&batch[0]))
                .collect(),
            neighbours: (0..executor.devices())
                .map(|device| blocks.neighbour(device))
                .collect(),
        });
        let (devices, all) = (executor.devices(), 0..batches.len());
        let left = by_devices(devices, (all, shares), self.ahead, work, take)?;
        let tiles = batches.iter().copied().flatten();
        let pairs = tiles.map(|tile| self.job.count(&tile.rows, &tile.cols));
        self.tell_if_slow(start, pairs.sum());
        Ok(left)
    }
}

/// What a batch gives, with what it has found in addition.
type Done = (Folded, Mutex<FoundOfBatch>);

/// Tells how far a run is: pairs visited, pairs in all, pairs of an earlier run.
fn tell(options: &Options<'_>, pairs: [u64; 3]) {
    if let Some(progress) = options.progress {
        progress(Progress::new("pairs", pairs));
    }
}

/// The batches of a share that are left. None has tiles of its own and of others.
fn batches(share: &Share, done: usize, most: usize) -> Vec<&[Tile]> {
    let tiles = &share.tiles;
    let (done, own) = (done.min(tiles.len()), share.foreign.min(tiles.len()));
    let (foreign, own) = (&tiles[done.min(own)..own], &tiles[done.max(own)..]);
    foreign.chunks(most).chain(own.chunks(most)).collect()
}

/// Ends the sums of rows that no later tile of a share reaches: tiles come in the order of rows, and
/// credit no row before their own.
fn close(job: &Job, merged: &mut Partial, share: &Share) {
    let next = share.tiles.get(merged.tiles_done);
    let rows = next.map(|tile| tile.rows.start);
    for (fold, state) in job.folds.iter().zip(&mut merged.states) {
        fold.close(state, rows);
    }
}

/// Adds a batch. Pairs that are counted by another share are not counted here.
fn merge_batch(
    job: &Job,
    merged: &mut Partial,
    batch: Folded,
    (share, order, own): (&Share, Option<&[u32]>, bool),
) {
    // The states of a share of sorted rows stay by place until they are merged.
    let order = order.filter(|_| !share.placed);
    for ((fold, into), from) in job.folds.iter().zip(&mut merged.states).zip(batch.states) {
        match order {
            Some(order) => fold.merge_sorted(into, from, order),
            None => fold.merge(into, from),
        }
    }
    if own {
        merged.tally.merge(&batch.tally);
    }
}

/// Reservations for results whose size nobody knows before.
#[derive(Default)]
pub(crate) struct Growth {
    held: Vec<Reservation>,
    bytes: u64,
}

impl Growth {
    /// As [`Growth::cover`]; matches that are too many, or do not fit, are written where they may be.
    pub(crate) fn cover_or_write(
        &mut self,
        (states, runs): (&mut [State], &mut [Vec<RunFacts>]),
        found: Vec<Reservation>,
        stores: &MatchStores,
        (plan, options): (&Plan, &Options<'_>),
    ) -> Result<()> {
        if !stores.any() {
            let covered = self.cover(states, found, options);
            return covered.map_err(|e| stores.refused(e));
        }
        let bytes: u64 = states.iter().map(bytes_of_matches).sum();
        let many = plan.matches.is_some_and(|matches| matches.writes(bytes));
        if !many && self.cover(states, found, options).is_ok() {
            return Ok(());
        }
        let written = stores.relieve(states, 0)?;
        written.into_iter().for_each(|(at, run)| runs[at].push(run));
        self.cover(states, vec![], options)
    }
    /// Holds as much as `merged` takes: what the batch that was merged has reserved, and more or
    /// less.
    fn cover(
        &mut self,
        states: &[State],
        found: Vec<Reservation>,
        options: &Options<'_>,
    ) -> Result<()> {
        let now: u64 = states.iter().map(bytes_of_matches).sum();
        self.bytes += found.iter().map(Reservation::bytes).sum::<u64>();
        self.held.extend(found);
        if now > self.bytes {
            self.held.push(
                options
                    .budget
                    .reserve(now - self.bytes, "the matches found so far")?,
            );
            self.bytes = now;
        }
        while let Some(last) = self.held.pop_if(|last| self.bytes - last.bytes() >= now) {
            self.bytes -= last.bytes();
        }
        Ok(())
    }
}

/// Refuses an answer that cannot be right, or that the policy of NaN forbids.
fn sound(job: &Job, merged: &Partial) -> Result<()> {
    conservation(merged)?;
    refuse_nan(job, &merged.tally)
}

/// Every cell of the run was counted or skipped, and every counted pair is in a histogram's grid.
pub(crate) fn conservation(merged: &Partial) -> Result<()> {
    let seen = merged.tally.counted + merged.tally.beyond_cutoff + merged.tally.nan;
    if seen != merged.pairs {
        let what = format!(
            "{} pairs visited, {seen} counted, beyond the cut-off or NaN",
            merged.pairs
        );
        return Err(Error::internal(what));
    }
    for state in &merged.states {
        let total = state.pairs_counted();
        if let Some(total) = total.filter(|total| *total != merged.tally.counted) {
            let what = format!(
                "{} pairs counted, {total} in the histogram",
                merged.tally.counted
            );
            return Err(Error::internal(what));
        }
    }
    Ok(())
}

/// Refuses a NaN where the policy is to.
pub(crate) fn refuse_nan(job: &Job, tally: &Tally) -> Result<()> {
    let shown = job.folds.iter().all(Fold::shows_nan);
    match tally.first_nan {
        Some((i, j)) if job.nan == NanPolicy::Error && !shown => {
            let e = Error::input(format!("the value of the pair of rows {i} and {j} is NaN"))
                .at_place(format!("pair ({i}, {j})"));
            Err(e.remedy(format!(
                "{} leaves such pairs out, {} lets them through",
                Opt::Nan.to("skip"),
                Opt::Nan.to("propagate")
            )))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::slower_than_predicted;

    #[test]
    fn devices_far_slower_than_predicted_are_told() {
        assert!(slower_than_predicted(1.0, 10.1).is_some());
        // Less than ten times, and too short to matter.
        assert!(slower_than_predicted(1.2, 11.9).is_none());
        assert!(slower_than_predicted(0.001, 4.9).is_none());
        assert!(slower_than_predicted(f64::NAN, 50.0).is_none());
    }
}
