//! What folds tiles: the host's processor, or devices with the host behind them when they fail.

use crate::options::Options;
use crate::warnings::Warnings;
use rayon::prelude::*;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use zipfold_core::budget::human_bytes;
use zipfold_core::fold::Fold;
use zipfold_core::pair::interval_bounds::Bounds;
use zipfold_core::{Blame, Error, Job, Opt, Result, Side};
use zipfold_cpu::pairs::Blocks;
use zipfold_cpu::pairs::prune::SortedRows;
use zipfold_gpu as gpu;
pub use zipfold_gpu::{DeviceSelector, Facts, Runtime, Which, find, list};
use zipfold_plan::device::open_pairs::{LazyPairs, OpenPairs};
use zipfold_plan::overrides::{DeviceFamily, Overrides, Residency};
use zipfold_plan::{Executor, Folded, Plan, Sink, Stop, Strategy, Tile, device};

/// Devices with the host behind them: the work of a device that fails is that of the others, and
/// the host's where none is left.
struct OnDevices<'j, T> {
    engines: Vec<Mutex<Option<gpu::Engine<'j>>>>,
    /// By device, threads for the host's part of its batches. In a pool that devices share, a
    /// thread that waits for a part of one batch might begin another, and that of another device:
    /// the first device would wait, and calls to its driver would go to the other.
    pools: Vec<rayon::ThreadPool>,
    /// Devices that are not lost.
    left: AtomicUsize,
    host: OnceLock<Box<dyn Executor + 'j>>,
    /// The rows in an order of their own, where bounds leave out pairs.
    sorted: Option<Arc<LazyPairs<'j>>>,
    job: &'j Job,
    plan: Plan,
    /// Batches that devices have answered.
    answered: AtomicUsize,
    warnings: Warnings,
    values: PhantomData<fn(T)>,
}

/// A plan, and the devices it is for; none for the host.
pub type Placed = (Plan, Vec<gpu::Device>);

/// The plan for the devices that `options` ask for, with the devices opened; the plan as it is for
/// the host.
///
/// # Errors
/// `Device` when a device named outright is missing.
pub fn place(job: &Job, plan: Plan, options: &Options<'_>) -> Result<Placed> {
    let driver = options.overrides.fault_driver.map(|v| v.get() as u64);
    match options.device {
        DeviceSelector::Cpu => Ok((plan, vec![])),
        DeviceSelector::Devices(runtime, which) => {
            check_driver_fault(runtime, driver)?;
            on(
                job,
                plan,
                opened(&gpu::find(runtime, which)?, &options.warnings)?,
                options,
            )
        }
        DeviceSelector::Auto => {
            let mut plan = plan;
            let opened = faster(job, &mut plan, driver, options)?;
            on(job, plan, opened, options)
        }
    }
}

/// What opening the devices of these facts gives, in their order. Each takes a thread: a context
/// takes a driver some hundred milliseconds.
pub(crate) fn all_opened(found: &[Facts]) -> Vec<Result<gpu::Device>> {
    let panicked = || Err(Error::internal("the thread that opens a device panicked"));
    std::thread::scope(|scope| {
        let open = |facts: &Facts| {
            let (runtime, index) = (facts.runtime, facts.index);
            scope.spawn(move || gpu::open(runtime, index))
        };
        let threads: Vec<_> = found.iter().map(open).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| panicked()))
            .collect()
    })
}

/// What is left of `tried` without the ones that yield to the others, which `warnings` takes.
pub(crate) fn those_left<T>(
    tried: Vec<Result<T>>,
    warnings: &Warnings,
    yields: fn(&Error) -> bool,
) -> Result<Vec<T>> {
    let mut out = vec![];
    let count = tried.len();
    for (at, one) in tried.into_iter().enumerate() {
        match one {
            Ok(one) => out.push(one),
            Err(e) if yields(&e) => warn(warnings, &e, out.len() + count - at - 1),
            Err(e) => return Err(e),
        }
    }
    Ok(out)
}

/// The devices of these facts that have room for us.
fn opened(found: &[Facts], warnings: &Warnings) -> Result<Vec<gpu::Device>> {
    those_left(all_opened(found), warnings, |e| {
        e.blame() == Blame::Resource
    })
}

/// The plan for `opened`; the plan as it is for the host where there are none, or bits decide that
/// a device may round otherwise.
fn on(job: &Job, plan: Plan, opened: Vec<gpu::Device>, options: &Options<'_>) -> Result<Placed> {
    if opened.is_empty() {
        return Ok((plan, opened));
    }
    if let Some(why) = unsuited(job, &options.overrides) {
        let mut plan = plan;
        plan.reasons.push(format!("on the host: {why}").into());
        return Ok((plan, vec![]));
    }
    let set = &options.overrides;
    let faulty = set.fault_devices.map_or(opened.len(), |count| count.get());
    let with_faults = |(at, device)| {
        if at < faulty {
            with_faults(device, set)
        } else {
            device
        }
    };
    let opened: Vec<gpu::Device> = opened.into_iter().enumerate().map(with_faults).collect();
    let facts: Vec<Facts> = opened.iter().map(|device| device.facts.clone()).collect();
    let swept = device::groups::swept_whole(job);
    let rows = gpu::rows::data_facts(&swept, &facts, set);
    let plan = device::plan_for_all(job, plan, &facts, set, rows.as_ref())?;
    Ok((plan, opened))
}

/// The device with the memory and the faults that overrides give it.
pub(crate) fn with_faults(mut device: gpu::Device, set: &Overrides) -> gpu::Device {
    if let Some(bytes) = set.device_memory {
        device = device.within(bytes.get() as u64);
    }
    if let Some(launches) = set.fault_launches {
        device = device.lost_after(launches.get() as u64);
    }
    if let Some(sources) = set.fault_compiles {
        device = device.refusing_after(sources.get() as u64);
    }
    device
}

/// The device for work that only one device does, the first of those wanted; `auto` takes a GPU, or
/// else a processor that poses as a device.
///
/// # Errors
/// `Request` for the host, `Device` when there is none.
pub fn required(wanted: DeviceSelector) -> Result<gpu::Device> {
    let first = |found: Vec<Facts>| match found.first() {
        Some(facts) => gpu::open(facts.runtime, facts.index),
        None => gpu::open(Runtime::OpenCl, 0),
    };
    match wanted {
        DeviceSelector::Devices(runtime, which) => first(gpu::find(runtime, which)?),
        DeviceSelector::Auto => first(gpus(None)),
        DeviceSelector::Cpu => {
            let e = Error::request("a pair source runs on devices only").at_place(Opt::Device);
            Err(e.remedy(format!(
                "{} or opencl, or write the pair as a formula: {}",
                Opt::Device.to("cuda"),
                Opt::Pair
            )))
        }
    }
}

/// The plan of a question on a device that `facts` describe, and the text of its kernels. `plan` is
/// the one for the host.
///
/// # Errors
/// `Request` for questions that devices leave to the host, with the reason; those of planning.
pub fn kernels(
    job: &Job,
    plan: Plan,
    facts: &Facts,
    overrides: &Overrides,
) -> Result<(Plan, String)> {
    if let Some(why) = unsuited(job, overrides) {
        let e = Error::request(format!("the host answers this question: {why}"));
        return Err(e.remedy("a question that devices sweep, as a histogram or nearest rows"));
    }
    let swept = device::groups::swept_whole(job);
    let rows = gpu::rows::data_facts(&swept, std::slice::from_ref(facts), overrides);
    let plan = device::plan_for(job, plan, facts, overrides, rows.as_ref())?;
    gpu::engine::check_double(facts, plan.precision)?;
    let sources = gpu::engine::sources(&swept, &plan, facts.runtime)?;
    Ok((plan, gpu::engine::text_of(&sources)))
}

/// Why a device may not answer `job`, if so: decisions need the bits of the reference.
fn unsuited(job: &Job, overrides: &Overrides) -> Option<&'static str> {
    let decides = |f: &Fold| match f {
        Fold::Dense(_) => false,
        Fold::Reduce(f) => !matches!(
            f.op,
            zipfold_core::fold::ReduceOp::Sum | zipfold_core::fold::ReduceOp::Mean
        ),
        Fold::Nearest(_)
        | Fold::Histogram(_)
        | Fold::Join(_)
        | Fold::Extremes(_)
        | Fold::Top(_)
        | Fold::Quantile(_)
        | Fold::Listed(_)
        | Fold::Grouped(_) => true,
    };
    if let Some(why) = device::groups::hindrance(job, overrides) {
        return Some(why);
    }
    if job.space.band.is_some() {
        return Some("a band has few columns of each row, which the host visits");
    }
    let formulas = |f: &Fold| {
        let inner = f.grouped().map_or(f, |grouped| &grouped.inner);
        if let Fold::Histogram(h) = inner {
            return device::fixed::hindrance(h);
        }
        None
    };
    if let Some(why) = job.folds.iter().find_map(formulas) {
        return Some(why);
    }
    if wants_sweeps(job) && !sweeps(job, overrides) {
        return Some("its folds need values of their own, which one thread would take");
    }
    if job.holes {
        return Some("weights that are missing leave out pairs");
    }
    if job.folds.iter().any(|fold| fold.traits().whole_rows) {
        return Some(
            "quantiles want whole rows of values, which a device would send home one by one",
        );
    }
    let exact = device::rounding::is_exact(&job.low);
    let must = job.folds.iter().any(decides) || job.cutoff_root.is_some();
    (must && !exact).then_some(
        "the formula has functions whose last bit devices round otherwise, and bits decide here",
    )
}

/// Whether values of `job` from a device do not help: groups have states that kernels
/// alone fill, and exact sums of formulas take one thread of the host longer than all of them.
fn wants_sweeps(job: &Job) -> bool {
    let formulas = |fold: &Fold| matches!(fold, Fold::Histogram(h) if h.sums_formulas());
    job.parts.is_some() || job.folds.iter().any(formulas)
}

/// Whether kernels of a device fold `job` themselves.
fn sweeps(job: &Job, overrides: &Overrides) -> bool {
    overrides.device_family != Some(DeviceFamily::Values)
        && device::folds(&device::groups::swept_whole(job))
}

/// The GPUs there are, opened, one or all, where they are the faster ones by prediction, with all
/// that it takes to begin there; none otherwise. `plan` learns why, or why not.
fn faster(
    job: &Job,
    plan: &mut Plan,
    driver: Option<u64>,
    options: &Options<'_>,
) -> Result<Vec<gpu::Device>> {
    // Drivers take tens of megabytes and of milliseconds before they answer: shorter work does not
    // ask them.
    if plan.seconds <= 2.0 * device::OPENING || unsuited(job, &options.overrides).is_some() {
        return Ok(vec![]);
    }
    let room = options.budget.free();
    if room < device::DRIVER {
        let (needs, has) = (human_bytes(device::DRIVER), human_bytes(room));
        plan.reasons.push(
            format!(
                "no device was looked for: its driver may take {needs} of memory, {} leaves {has}",
                Opt::Memory
            )
            .into(),
        );
        return Ok(vec![]);
    }
    let mut best: Option<(Plan, usize)> = None;
    let found = gpus(driver);
    if found.is_empty() {
        return Ok(vec![]);
    }
    for count in [1, found.len()] {
        let there =
            device::plan_for_all(job, plan.clone(), &found[..count], &options.overrides, None)?;
        let seconds = |plan: &Plan| device::whole_seconds(job, plan);
        if best
            .as_ref()
            .is_none_or(|(least, _)| seconds(&there) < seconds(least))
        {
            best = Some((there, count));
        }
    }
    let Some((there, count)) = best else {
        return Ok(vec![]);
    };
    let (here, far, ids) = (
        plan.seconds,
        device::whole_seconds(job, &there),
        &there.backend,
    );
    plan.reasons.push(
        format!("predicted: {here:.2} s on the host, {far:.2} s on {ids} with its start").into(),
    );
    if !device::is_faster(job, &there, plan) {
        return Ok(vec![]);
    }
    let opened = all_opened(&found[..count]).into_iter();
    Ok(opened.filter_map(Result::ok).collect())
}

/// Refuses a driver that is too old, of the version `driver` if `fault.driver` sets one for a test.
pub(crate) fn check_driver_fault(runtime: Runtime, driver: Option<u64>) -> Result<()> {
    match (runtime, driver) {
        (Runtime::Cuda, Some(version)) => {
            gpu::runtime::cuda::supported(i32::try_from(version).unwrap_or(i32::MAX)).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// The GPUs of the first runtime that has some; a processor that poses as a device is none.
pub(crate) fn gpus(driver: Option<u64>) -> Vec<Facts> {
    let of = |runtime| -> Option<Vec<Facts>> {
        check_driver_fault(runtime, driver).ok()?;
        let found: Vec<Facts> = gpu::list(runtime)
            .ok()?
            .into_iter()
            .filter(|f| !f.host)
            .collect();
        (!found.is_empty()).then_some(found)
    };
    [Runtime::Cuda, Runtime::OpenCl]
        .into_iter()
        .find_map(of)
        .unwrap_or_default()
}

/// Loads `job` on `devices`, or on the host. `warnings` takes why another does what a device was to
/// do, or computes in another way than the plan had first.
///
/// # Errors
/// None but those of a request: what no device can hold, the host runs.
pub fn load<'j, T: Blocks>(
    job: &'j Job,
    plan: &Plan,
    devices: Vec<gpu::Device>,
    warnings: &Warnings,
) -> Result<Box<dyn Executor + 'j>> {
    let threads = rayon::current_num_threads().div_ceil(devices.len().max(1));
    let pools = devices
        .iter()
        .map(|_| crate::pool::start(threads))
        .collect::<Result<Vec<_>>>()?;
    let sorted = sorted(job, plan)?;
    let tried = loaded(job, plan, (devices, &pools), sorted.as_ref());
    // One that does not load keeps its place: blocks of tiles go by it.
    let mut left = tried.len();
    let mut engines = vec![];
    for one in tried {
        engines.push(Mutex::new(match one {
            Ok(engine) => Some(engine),
            Err(e) if yields(&e) => {
                left -= 1;
                warn(warnings, &e, left);
                None
            }
            Err(e) => return Err(e),
        }));
    }
    if left == 0 {
        return on_host::<T>(job, plan, warnings);
    }
    Ok(Box::new(OnDevices::<T> {
        left: AtomicUsize::new(left),
        engines,
        pools,
        host: OnceLock::new(),
        sorted,
        job,
        plan: plan.clone(),
        answered: AtomicUsize::new(0),
        warnings: warnings.clone(),
        values: PhantomData,
    }))
}

/// The rows of `job` in the order of `plan`, where its devices sweep what bounds leave open.
fn sorted<'j>(job: &'j Job, plan: &Plan) -> Result<Option<Arc<LazyPairs<'j>>>> {
    if plan.device.as_ref().is_none_or(|on| on.pruned.is_none()) {
        return Ok(None);
    }
    let bounds = Bounds::new(&job.low, job.periodic_box.as_ref());
    let bounds = bounds.ok_or_else(|| Error::internal("bounds of a formula that has none"))?;
    let how = (plan.prune, plan.isa);
    let sort = move || -> Box<dyn OpenPairs + 'j> { Box::new(SortedRows::new(job, bounds, how)) };
    Ok(Some(Arc::new(LazyPairs::new(Box::new(sort)))))
}

/// What loading `job` on each of `devices` gives: they compile kernels and pack rows next to each
/// other, each by its own threads.
fn loaded<'j>(
    job: &'j Job,
    plan: &Plan,
    (devices, pools): (Vec<gpu::Device>, &[rayon::ThreadPool]),
    sorted: Option<&Arc<LazyPairs<'j>>>,
) -> Vec<Result<gpu::Engine<'j>>> {
    let panicked = || Err(Error::internal("the thread that loads a device panicked"));
    std::thread::scope(|scope| {
        let mut threads = vec![];
        for (at, (device, pool)) in devices.into_iter().zip(pools).enumerate() {
            let sorted = sorted.cloned();
            let load = move || gpu::Engine::load(job, plan, (device, at), sorted);
            threads.push(scope.spawn(move || pool.install(load)));
        }
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| panicked()))
            .collect()
    })
}

/// Loads `job` for the first strategy of `plan` that loads on the host. Pairs that bounds were to
/// leave out take long: why none are left out is a warning.
fn on_host<'j, T: Blocks>(
    job: &'j Job,
    plan: &Plan,
    warnings: &Warnings,
) -> Result<Box<dyn Executor + 'j>> {
    plan.warnings.iter().for_each(|w| warnings.add(w.clone()));
    let (executor, declined) = zipfold_cpu::pairs::load::<T>(job, plan)?;
    let ran = plan.strategies.get(declined.len());
    if plan.strategy().is_some_and(Strategy::is_pruned) && !ran.is_some_and(Strategy::is_pruned) {
        let why = declined.join("; ");
        warnings.add(format!("all pairs are evaluated, {why}"));
    }
    Ok(executor)
}

impl<T: Blocks> OnDevices<'_, T> {
    /// The host, loaded where the last device is lost. No lock is held meanwhile: threads that load
    /// may take another batch.
    fn host(&self) -> Result<&dyn Executor> {
        if self.host.get().is_none() {
            let _ = self
                .host
                .set(on_host::<T>(self.job, &self.plan, &self.warnings)?);
        }
        self.host
            .get()
            .map(|host| host.as_ref())
            .ok_or_else(|| Error::internal("a host that was not loaded"))
    }
}

impl<T: Blocks> Executor for OnDevices<'_, T> {
    fn run_on(
        &self,
        at: usize,
        tiles: &[Tile],
        sink: &dyn Sink,
        stop: Stop<'_>,
    ) -> Result<Option<Folded>> {
        stop.check()?;
        let Some(engine) = self.engines.get(at) else {
            return Ok(None);
        };
        let mut engine = engine.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(device) = engine.as_ref() else {
            return Ok(None);
        };
        match self.pools[at].install(|| device.run(tiles, sink, stop)) {
            Ok(folded) => {
                self.answered.fetch_add(1, Ordering::Relaxed);
                Ok(Some(folded))
            }
            Err(e) if yields(&e) => {
                *engine = None;
                let left = self.left.fetch_sub(1, Ordering::Relaxed) - 1;
                let rows = self.plan.device.as_ref().map(|on| on.rows);
                // No other device has the rows of its block.
                let others = if rows == Some(Residency::Block) {
                    0
                } else {
                    left
                };
                warn(&self.warnings, &e, others);
                if left == 0 {
                    self.host()?;
                }
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }
    fn run(&self, tiles: &[Tile], sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        stop.check()?;
        let host = self.host()?;
        let Some(tiles) = device::host_tiles(self.job, tiles) else {
            return host.run(tiles, sink, stop);
        };
        // Parts of dense results leave nothing to merge but what was counted.
        let parts = tiles
            .par_iter()
            .map(|tile| host.run(std::slice::from_ref(tile), sink, stop));
        let mut parts = parts.collect::<Result<Vec<_>>>()?.into_iter();
        let mut all = parts
            .next()
            .ok_or_else(|| Error::internal("a batch without tiles"))?;
        parts.for_each(|part| all.tally.merge(&part.tally));
        Ok(all)
    }
    fn order(&self) -> Option<&[u32]> {
        match &self.sorted {
            Some(sorted) => Some(sorted.order(Side::X)),
            None => self.host.get().and_then(|host| host.order()),
        }
    }
    fn devices(&self) -> usize {
        if self.left.load(Ordering::Relaxed) > 0 {
            self.engines.len()
        } else {
            0
        }
    }
    fn backend(&self) -> String {
        let answered = self.answered.load(Ordering::Relaxed) > 0;
        match (answered, self.host.get()) {
            (false, Some(host)) => host.backend(),
            (true, Some(host)) => format!("{}, then {}", self.plan.backend, host.backend()),
            (_, None) => self.plan.backend.clone(),
        }
    }
}

/// Whether the host takes over after this error.
fn yields(e: &Error) -> bool {
    matches!(e.blame(), Blame::Device | Blame::Resource)
}

/// Warns that a device is lost, and says whose its work is where `left` are left.
pub(crate) fn warn(warnings: &Warnings, e: &Error, left: usize) {
    let others = match left {
        0 => "the host's processor",
        1 => "the other device",
        _ => "the other devices",
    };
    warnings.add(format!(
        "{}; the work goes on on {others}",
        e.what().marked()
    ));
}
