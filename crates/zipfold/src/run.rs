//! The run loop: batches of tiles in parallel, partials merged in tile order, progress,
//! checkpoints, the conservation law.

use crate::batches::{Left, Shares, Then, by_devices, in_order};
use crate::checkpoint::Keeper;
use crate::identity::Identity;
use crate::matches;
pub use crate::options::{LentSink, Options, Progress, Target};
pub use crate::outcome::{Outcome, Output};
use crate::partial::{self, Partial};
use crate::places::{Place, Places, Run, Typed, UnitPlaces};
use crate::pool::Workers;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use zipfold_core::fold::{Axis, Fold, Histogram, JoinState, Kept, State, Tally, table_bytes};
use zipfold_core::problem::{AxisSpec, FoldSpec, NanPolicy, Problem};
use zipfold_core::{Blame, Error, Job, Opt, Precision, Reservation, Result};
use zipfold_plan::device::{self, Blocks, OnDevice, host_tiling};
use zipfold_plan::parts::working_of;
use zipfold_plan::{Executor, Folded, Plan, Stop, Tile, Tiling, dense_bytes};

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
    problem
        .folds
        .iter()
        .fold(0, |sum, f| sum.saturating_add(of(f)))
}

/// Bytes of an edge: as requested, as compared, and the ends of its bin in the answer.
const EDGE: u64 = 32;

/// Runs `job` by `plan`.
///
/// # Errors
/// `Resource` when the budget does not hold it; `Input` for NaN under the policy `error`; those of
/// the files.
pub fn run(
    problem: &Problem,
    job: &Job,
    plan: Plan,
    target: &Target,
    options: &Options<'_>,
) -> Result<Outcome> {
    let (plan, devices) = crate::device::place(job, plan, options)?;
    match plan.precision {
        Precision::F32 => {
            let load =
                |plan: &Plan| crate::device::load::<f32>(job, plan, devices, &options.warnings);
            run_typed::<f32>(problem, job, plan, target, options, load)
        }
        Precision::F64 => {
            let load =
                |plan: &Plan| crate::device::load::<f64>(job, plan, devices, &options.warnings);
            run_typed::<f64>(problem, job, plan, target, options, load)
        }
    }
}

/// Runs `job` by `plan` on the executor that `load` makes for it.
///
/// # Errors
/// Those of [`run`], of `load` and of the executor.
pub fn run_by<'e>(
    problem: &Problem,
    job: &Job,
    plan: Plan,
    target: &Target,
    options: &Options<'_>,
    load: impl FnOnce(&Plan) -> Result<Box<dyn Executor + 'e>> + Send,
) -> Result<Outcome> {
    match plan.precision {
        Precision::F32 => run_typed::<f32>(problem, job, plan, target, options, load),
        Precision::F64 => run_typed::<f64>(problem, job, plan, target, options, load),
    }
}

fn run_typed<'e, T: Typed>(
    problem: &Problem,
    job: &Job,
    mut plan: Plan,
    target: &Target,
    options: &Options<'_>,
    load: impl FnOnce(&Plan) -> Result<Box<dyn Executor + 'e>> + Send,
) -> Result<Outcome> {
    let start = Instant::now();
    let workers = Workers::for_plan(job, &plan)?;
    let (identity, found) = identify(problem, job, &mut plan, options)?;
    let resumed = found.is_some();
    let before = found.as_ref().map_or(0, |earlier| earlier.pairs);
    let tiles = tiles(job, &plan, options.shard);
    let batches = batches_left(tiles.len(), &plan, found.as_ref());
    let (_held, ahead) = reserve(job, &plan, batches, target, options)?;
    let merged = found.unwrap_or_else(|| fresh(job, &plan, identity, options));
    let run = Run {
        number: merged.run,
        checkpoint: options.checkpoint.as_deref(),
        resumed,
    };
    if let Some(path) = run.checkpoint.filter(|_| resumed) {
        check_resumed(job, &merged, &tiles, path)?;
    }
    let places = Places::<T>::new(job, target, &options.budget, run)?;
    if resumed {
        workers.install(|| places.recall(job, &tiles[..merged.tiles_done], run, &merged.sums))?;
    }
    // A batch that ends early would lose what a checkpoint after it keeps.
    let stop = Stop(options.stop.filter(|_| options.checkpoint.is_none()));
    let executor = workers.install(|| load(&plan))?;
    let load_seconds = start.elapsed().as_secs_f64();
    let keeper = Keeper::new(run, &merged, options);
    let sweep = Sweep {
        job,
        plan: &plan,
        tiles: &tiles,
        places: &places,
        options,
        ahead,
        stop,
    };
    let merged = sweep.run(executor.as_ref(), &workers, merged, keeper)?;
    conservation(&merged)?;
    refuse_nan(job, &merged.tally)?;
    let outputs = outputs(places, merged.states, &workers)?;
    let said = zipfold_gpu::runtime::take_warnings();
    said.into_iter().for_each(|w| options.warnings.add(w));
    plan.backend = executor.backend();
    Ok(Outcome {
        warnings: options.warnings.all(),
        plan,
        outputs,
        tally: merged.tally,
        pairs: merged.pairs,
        before,
        kernel_seconds: start.elapsed().as_secs_f64(),
        load_seconds,
        identity,
    })
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
fn fresh(job: &Job, plan: &Plan, identity: Option<Identity>, options: &Options<'_>) -> Partial {
    Partial {
        tiling: plan.device.as_ref().map(|_| plan.tiling),
        ..Partial::start(identity.unwrap_or_default(), states(job, plan, options))
    }
}

/// Refuses a checkpoint whose states do not fit the folds, or whose pairs are not those of the
/// tiles that it says are done.
fn check_resumed(job: &Job, merged: &Partial, tiles: &[Tile], path: &Path) -> Result<()> {
    let name = path.to_string_lossy();
    merged.check(job, &name)?;
    let done = tiles.get(..merged.tiles_done);
    if done.map(|done| pairs(job, done)) != Some(merged.pairs) {
        return Err(Error::input(
            "the checkpoint is damaged: its pairs are not those of its tiles",
        )
        .at_place(name));
    }
    Ok(())
}

/// By fold the answer: matches in order, files under their names, values in their place.
fn outputs<T: Typed>(
    places: Places<T>,
    states: Vec<State>,
    workers: &Workers,
) -> Result<Vec<Output>> {
    let output = |(place, mut state): (Place<T>, State)| {
        if let State::Join(join) = &mut state {
            workers.install(|| matches::sort(join));
        }
        Ok(match place {
            Place::Memory(items, _) => T::output(items.into_vec()),
            Place::File(file) => {
                file.publish()?;
                Output::Stored
            }
            Place::Lent(_) => Output::Stored,
            Place::None => Output::State(state),
        })
    };
    places.items.into_iter().zip(states).map(output).collect()
}

/// Everything proportional to the data is requested before work of this many `batches` starts.
/// With it, how many batches may be begun before an earlier one is merged.
fn reserve(
    job: &Job,
    plan: &Plan,
    batches: usize,
    target: &Target,
    options: &Options<'_>,
) -> Result<(Vec<Reservation>, usize)> {
    let (n, m) = (job.space.n, job.space.m);
    let mut held = vec![options.budget.reserve(
        working_of(job, plan, host_tiling(job, plan))?,
        "hoisted rows and tiles",
    )?];
    let mut counters = 0u64;
    for fold in &job.folds {
        let dense = dense_bytes(fold, n, m, plan.precision);
        if dense > 0 && matches!(target, Target::Memory) {
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

/// The tiles of the run, or of its shard.
fn tiles(job: &Job, plan: &Plan, shard: Option<(usize, usize)>) -> Vec<Tile> {
    let tiles = zipfold_plan::parts::tiles_of_run(job, plan);
    let pairs = |t: &Tile| job.count(&t.rows, &t.cols);
    match shard {
        Some((index, parts)) => Tiling::shard(tiles, pairs, index, parts),
        None => tiles,
    }
}

fn pairs(job: &Job, tiles: &[Tile]) -> u64 {
    tiles.iter().map(|t| job.count(&t.rows, &t.cols)).sum()
}

/// The states before any value.
fn states(job: &Job, plan: &Plan, options: &Options<'_>) -> Vec<State> {
    // A shard keeps its pieces apart, so that a merge adds them in the order, and to the bits, of
    // the whole.
    let apart = options.shard.is_some() && !plan.prune.is_on();
    let start = |f: &Fold| {
        if apart && matches!(f, Fold::Reduce(_)) {
            f.part(&(0..job.space.n))
        } else {
            f.start(job.space.n, job.space.m)
        }
    };
    job.folds.iter().map(start).collect()
}

/// Batches that are worth being begun before an earlier one is merged.
fn batches_ahead(plan: &Plan) -> usize {
    // Pruned batches differ in their work, so that more of them are needed to even it out.
    let devices = plan.device.as_ref().map_or(0, |on| on.devices);
    // Blocks begin far behind one another.
    if plan.device.as_ref().is_some_and(OnDevice::is_in_blocks) {
        return plan.tiles;
    }
    plan.threads.max(devices) * if plan.prune.is_on() { 16 } else { 4 }
}

/// A run over its tiles.
struct Sweep<'a, T: Typed> {
    job: &'a Job,
    plan: &'a Plan,
    tiles: &'a [Tile],
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
            tiles,
            places,
            options,
            ..
        } = *self;
        let (total, before) = (pairs(job, tiles), merged.pairs);
        let mut growth = Growth::default();
        let stopped = || options.stop.is_some_and(|s| s.load(Ordering::Relaxed));
        let batches: Vec<&[Tile]> = tiles[merged.tiles_done.min(tiles.len())..]
            .chunks(plan.tiles_per_batch)
            .collect();
        let work = |batch: usize| -> Result<_> {
            let sink = UnitPlaces::new(places);
            Ok((executor.run(batches[batch], &sink, self.stop)?, sink.found))
        };
        let mut take = |batch: usize, result: Result<Done>| -> Result<Then> {
            let (state, found) = result?;
            merge_batch(job, &mut merged, state, executor.order());
            growth.cover(&merged, found.into_inner().unwrap_or_default(), options)?;
            merged.tiles_done += batches[batch].len();
            merged.pairs += pairs(job, batches[batch]);
            if let Some(progress) = options.progress {
                progress(Progress {
                    phase: "pairs",
                    pairs: merged.pairs,
                    total,
                    before,
                });
            }
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
    /// Keeps what there is for a resumption; the error that the run ends with.
    fn interrupted(&self, mut keeper: Keeper<'_>, merged: &mut Partial) -> Error {
        let words = match keeper.at_the_end(self.job, self.tiles, self.places, merged) {
            Ok(()) => "interrupted".to_string(),
            Err(e) => format!(
                "interrupted, and nothing new could be kept: {}",
                e.what().marked()
            ),
        };
        Error::new(Blame::Interrupted, words)
    }
    /// Has devices take `batches`. Each has a thread that waits for it, while this one merges. What
    /// devices that are lost leave is the host's.
    fn on_devices(
        &self,
        executor: &dyn Executor,
        batches: &[&[Tile]],
        take: impl FnMut(usize, Result<Done>) -> Result<Then> + Send,
    ) -> Result<Left<Result<Done>>> {
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
        by_devices(devices, (all, shares), self.ahead, work, take)
    }
}

/// What a batch gives, with what it has reserved.
type Done = (Folded, Mutex<Vec<Reservation>>);

fn merge_batch(job: &Job, merged: &mut Partial, batch: Folded, order: Option<&[u32]>) {
    for ((fold, into), from) in job.folds.iter().zip(&mut merged.states).zip(batch.states) {
        match order {
            Some(order) => fold.merge_sorted(into, from, order),
            None => fold.merge(into, from),
        }
    }
    merged.tally.merge(&batch.tally);
}

/// Reservations for results whose size nobody knows before.
#[derive(Default)]
struct Growth {
    held: Vec<Reservation>,
    bytes: u64,
}

impl Growth {
    /// Holds as much as `merged` takes: what the batch that was merged has reserved, and more or
    /// less.
    fn cover(
        &mut self,
        merged: &Partial,
        found: Vec<Reservation>,
        options: &Options<'_>,
    ) -> Result<()> {
        let now: u64 = merged.states.iter().map(matches_bytes).sum();
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

/// Bytes of the matches that a state holds.
fn matches_bytes(state: &State) -> u64 {
    if let State::Grouped(grouped) = state {
        return grouped.states().map(matches_bytes).sum();
    }
    JoinState::within(state).map_or(0, JoinState::bytes)
}

/// Every cell of the run was counted or skipped, and every counted pair is in a histogram's grid.
fn conservation(merged: &Partial) -> Result<()> {
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

fn refuse_nan(job: &Job, tally: &Tally) -> Result<()> {
    let dense = job.folds.iter().all(Fold::is_dense);
    match tally.first_nan {
        Some((i, j)) if job.nan == NanPolicy::Error && !dense => {
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
