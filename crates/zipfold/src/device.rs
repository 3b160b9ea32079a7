//! What folds tiles: the host's processor, or a device with the host behind it when it fails.

use crate::options::Options;
use crate::warnings::Warnings;
use rayon::prelude::*;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use zipfold_core::budget::human_bytes;
use zipfold_core::fold::Fold;
use zipfold_core::{Blame, Error, Job, Opt, Result};
use zipfold_cpu::pairs::Element;
use zipfold_gpu as gpu;
pub use zipfold_gpu::{Facts, Runtime, Wanted, list};
use zipfold_plan::{Executor, Folded, Plan, Sink, Stop, Strategy, Tile, device};

/// A device with the host behind it: a failing device ends its work, and the host goes on.
struct OnDevice<'j, T> {
    device: Mutex<Option<gpu::Engine<'j>>>,
    host: OnceLock<Box<dyn Executor + 'j>>,
    job: &'j Job,
    plan: Plan,
    /// Units that the device has answered.
    answered: AtomicUsize,
    warnings: Warnings,
    values: PhantomData<fn(T)>,
}

/// A plan, and the device it is for.
pub type Placed = (Plan, Option<gpu::Device>);

/// The plan for the device that `options` ask for, with the device opened; the plan as it is for the host.
///
/// # Errors
/// `Device` when a device named outright is missing.
pub fn place(job: &Job, plan: Plan, options: &Options<'_>) -> Result<Placed> {
    let driver = options.overrides.device_driver.map(|v| v.get() as u64);
    let opened = match options.device {
        gpu::Wanted::Cpu => return Ok((plan, None)),
        gpu::Wanted::Device(runtime, index) => {
            drill(runtime, driver)?;
            match gpu::open(runtime, index) {
                Ok(device) => device,
                // The device is there and has no room for us.
                Err(e) if e.blame() == Blame::Resource => {
                    warn(&options.warnings, &e);
                    return Ok((plan, None));
                }
                Err(e) => return Err(e),
            }
        }
        gpu::Wanted::Auto => {
            let mut plan = plan;
            return match faster(job, &mut plan, driver, options)? {
                Some(device) => on(job, plan, device, options),
                None => Ok((plan, None)),
            };
        }
    };
    on(job, plan, opened, options)
}

/// The plan for `opened`; the plan as it is for the host where bits decide that a device may round otherwise.
fn on(job: &Job, plan: Plan, opened: gpu::Device, options: &Options<'_>) -> Result<Placed> {
    let opened = match options.overrides.device_memory {
        Some(bytes) => opened.within(bytes.get() as u64),
        None => opened,
    };
    let opened = match options.overrides.device_launches {
        Some(launches) => opened.lost_after(launches.get() as u64),
        None => opened,
    };
    if let Some(why) = unsuited(job) {
        let mut plan = plan;
        plan.reasons.push(format!("on the host: {why}").into());
        return Ok((plan, None));
    }
    let plan = device::plan_for(job, plan, &opened.facts, &options.overrides, gpu::rows::data_ranges(job).as_ref())?;
    Ok((plan, Some(opened)))
}

/// The device for work that only devices do; `auto` takes a GPU, or else a processor that poses as a device.
///
/// # Errors
/// `Request` for the host, `Device` when there is none.
pub fn required(wanted: Wanted) -> Result<gpu::Device> {
    match wanted {
        Wanted::Device(runtime, index) => gpu::open(runtime, index),
        Wanted::Auto => best(None).map_or_else(|| gpu::open(Runtime::OpenCl, 0), Ok),
        Wanted::Cpu => {
            let e = Error::request("a pair source runs on devices only").at(Opt::Device);
            Err(e.remedy(format!(
                "{} or opencl, or write the pair as a formula: {}",
                Opt::Device.to("cuda"),
                Opt::Pair
            )))
        }
    }
}

/// Why a device may not answer `job`, if so: decisions need the bits of the reference.
fn unsuited(job: &Job) -> Option<&'static str> {
    let decides = |f: &Fold| match f {
        Fold::Dense(_) => false,
        Fold::Rows(f) => !matches!(f.op, zipfold_core::fold::RowOp::Sum | zipfold_core::fold::RowOp::Mean),
        _ => true,
    };
    if job.holes {
        return Some("weights that are missing leave out pairs");
    }
    if job.folds.iter().any(|fold| fold.traits().whole_rows) {
        return Some("quantiles want whole rows of values, which a device would send home one by one");
    }
    let exact = device::rounding::is_exact(&job.low);
    let must = job.folds.iter().any(decides) || job.near_root.is_some();
    (must && !exact).then_some("the formula has functions whose last bit devices round otherwise, and bits decide here")
}

/// The first GPU there is, opened, where it is the faster one by prediction, with all that it takes to begin there; `plan`
/// learns why, or why not.
fn faster(job: &Job, plan: &mut Plan, driver: Option<u64>, options: &Options<'_>) -> Result<Option<gpu::Device>> {
    // Drivers take tens of megabytes and of milliseconds before they answer: shorter work does not ask them.
    if plan.seconds <= 2.0 * device::OPENING || unsuited(job).is_some() {
        return Ok(None);
    }
    let room = options.budget.free();
    if room < device::DRIVER {
        let (needs, has) = (human_bytes(device::DRIVER), human_bytes(room));
        plan.reasons.push(
            format!("no device was looked for: its driver may take {needs} of memory, {} leaves {has}", Opt::Memory)
                .into(),
        );
        return Ok(None);
    }
    let Some(facts) = first(driver) else { return Ok(None) };
    let there = device::plan_for(job, plan.clone(), &facts, &options.overrides, None)?;
    let (here, far) = (plan.seconds, device::whole_seconds(job, &there));
    plan.reasons
        .push(format!("predicted: {here:.2} s on the host, {far:.2} s on {} with its start", facts.id()).into());
    if !device::is_faster(job, &there, plan) {
        return Ok(None);
    }
    Ok(gpu::open(facts.runtime, facts.index).ok())
}

/// Whether a driver of version `driver` would do, where `device.driver` has one count as such: a drill for old ones.
fn drill(runtime: Runtime, driver: Option<u64>) -> Result<()> {
    match (runtime, driver) {
        (Runtime::Cuda, Some(version)) => {
            gpu::runtime::cuda::supported(i32::try_from(version).unwrap_or(i32::MAX)).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// The first GPU there is; a processor that poses as a device is none.
fn first(driver: Option<u64>) -> Option<Facts> {
    [gpu::Runtime::Cuda, gpu::Runtime::OpenCl].into_iter().find_map(|runtime| {
        drill(runtime, driver).ok()?;
        gpu::list(runtime).ok()?.into_iter().find(|f| !f.host)
    })
}

/// The first GPU there is, opened.
fn best(driver: Option<u64>) -> Option<gpu::Device> {
    let facts = first(driver)?;
    gpu::open(facts.runtime, facts.index).ok()
}

/// Loads `job` on `device`, or on the host. `warnings` takes why the host does what the device was to do, or computes in
/// another way than the plan had first.
///
/// # Errors
/// None but those of a request: what the device cannot hold, the host runs.
pub fn load<'j, T: Element>(
    job: &'j Job,
    plan: &Plan,
    device: Option<gpu::Device>,
    warnings: &Warnings,
) -> Result<Box<dyn Executor + 'j>> {
    let Some(device) = device else { return on_host::<T>(job, plan, warnings) };
    match gpu::Engine::load(job, plan, device) {
        Ok(engine) => Ok(Box::new(OnDevice::<T> {
            device: Mutex::new(Some(engine)),
            host: OnceLock::new(),
            job,
            plan: plan.clone(),
            answered: AtomicUsize::new(0),
            warnings: warnings.clone(),
            values: PhantomData,
        })),
        Err(e) if yields(&e) => {
            warn(warnings, &e);
            on_host::<T>(job, plan, warnings)
        }
        Err(e) => Err(e),
    }
}

/// Loads `job` for the first strategy of `plan` that loads on the host. Pairs that bounds were to leave out take long: why none
/// are left out is a warning.
fn on_host<'j, T: Element>(job: &'j Job, plan: &Plan, warnings: &Warnings) -> Result<Box<dyn Executor + 'j>> {
    plan.warnings.iter().for_each(|w| warnings.add(w.clone()));
    let (executor, declined) = zipfold_cpu::pairs::load::<T>(job, plan)?;
    let ran = plan.strategies.get(declined.len());
    if plan.strategy().is_some_and(Strategy::is_pruned) && !ran.is_some_and(Strategy::is_pruned) {
        let why = declined.join("; ");
        warnings.add(format!("all pairs are evaluated, {why}"));
    }
    Ok(executor)
}

impl<T: Element> Executor for OnDevice<'_, T> {
    fn run(&self, tiles: &[Tile], sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        stop.check()?;
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = device.as_ref() {
            match engine.run(tiles, sink, stop) {
                Ok(folded) => {
                    self.answered.fetch_add(1, Ordering::Relaxed);
                    return Ok(folded);
                }
                Err(e) if yields(&e) => {
                    warn(&self.warnings, &e);
                    *device = None;
                }
                Err(e) => return Err(e),
            }
        }
        if self.host.get().is_none() {
            let host = on_host::<T>(self.job, &self.plan, &self.warnings)?;
            self.host.get_or_init(|| host);
        }
        drop(device);
        let host = self.host.get().ok_or_else(|| Error::internal("a host that was not loaded"))?;
        let Some(tiles) = device::host_tiles(self.job, tiles) else { return host.run(tiles, sink, stop) };
        // Parts of dense results leave nothing to merge but what was counted.
        let parts = tiles.par_iter().map(|tile| host.run(std::slice::from_ref(tile), sink, stop));
        let mut parts = parts.collect::<Result<Vec<_>>>()?.into_iter();
        let mut all = parts.next().ok_or_else(|| Error::internal("a unit without tiles"))?;
        parts.for_each(|part| all.tally.merge(&part.tally));
        Ok(all)
    }
    fn order(&self) -> Option<&[u32]> {
        self.host.get().and_then(|host| host.order())
    }
    fn takes_turns(&self) -> bool {
        self.device.lock().unwrap_or_else(PoisonError::into_inner).is_some()
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

fn warn(warnings: &Warnings, e: &Error) {
    warnings.add(format!("{}; the work goes on on the host's processor", e.what().marked()));
}
