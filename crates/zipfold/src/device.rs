//! What folds tiles: the host's processor, or a device with the host behind it when it fails.

use crate::run::Options;
use crate::warnings::Warnings;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use zipfold_core::budget::human_bytes;
use zipfold_core::fold::Fold;
use zipfold_core::{Blame, Error, Job, Result};
use zipfold_cpu::pairs::engine::Element;
use zipfold_cpu::pairs::{Engine, Sink, UnitState, Values};
use zipfold_gpu as gpu;
pub use zipfold_gpu::{Facts, Runtime, Wanted, list};
use zipfold_plan::{Plan, Tile, device};

/// A job loaded where it will run.
pub enum Worker<'j, T> {
    /// On the host.
    Host(Box<Engine<'j, T>>),
    /// On a device.
    Device(Box<OnDevice<'j, T>>),
}

/// A job on a device; a failing device ends its work, and the host goes on.
pub struct OnDevice<'j, T> {
    device: Mutex<Option<gpu::Engine<'j>>>,
    host: OnceLock<Engine<'j, T>>,
    job: &'j Job,
    plan: Plan,
    stop: Option<&'j AtomicBool>,
    /// Units that the device has answered.
    answered: AtomicUsize,
    warnings: Warnings,
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
        plan.reasons.push(format!("on the host: {why}"));
        return Ok((plan, None));
    }
    let plan = device::plan_for(job, plan, &opened.facts, &options.overrides)?;
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
            let e = Error::request("a pair source runs on devices only").at("--device");
            Err(e.remedy("--device cuda or opencl, or write the pair as a formula: --pair"))
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
    let exact = gpu::emit::pair::is_exact(&job.low);
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
        plan.reasons
            .push(format!("no device was looked for: its driver may take {needs} of memory, --memory leaves {has}"));
        return Ok(None);
    }
    let Some(facts) = first(driver) else { return Ok(None) };
    let there = device::plan_for(job, plan.clone(), &facts, &options.overrides)?;
    let (here, far) = (plan.seconds, device::whole_seconds(job, &there));
    plan.reasons.push(format!("predicted: {here:.2} s on the host, {far:.2} s on {} with its start", facts.id()));
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

impl<'j, T: Element> Worker<'j, T> {
    /// Loads `job` on `device`, or on the host. `warnings` takes why the host does what the device was to do.
    ///
    /// # Errors
    /// None but those of a request: what the device cannot hold, the host runs.
    pub fn load(job: &'j Job, plan: &Plan, device: Option<gpu::Device>, warnings: &Warnings) -> Result<Self> {
        let Some(device) = device else {
            warn_of(plan, warnings);
            return Ok(Worker::Host(Box::new(Engine::load(job, plan))));
        };
        match gpu::Engine::load(job, plan, device) {
            Ok(engine) => Ok(Worker::Device(Box::new(OnDevice {
                device: Mutex::new(Some(engine)),
                host: OnceLock::new(),
                job,
                plan: plan.clone(),
                stop: None,
                answered: AtomicUsize::new(0),
                warnings: warnings.clone(),
            }))),
            Err(e) if yields(&e) => {
                warn(warnings, &e);
                warn_of(plan, warnings);
                Ok(Worker::Host(Box::new(Engine::load(job, plan))))
            }
            Err(e) => Err(e),
        }
    }
    /// The same worker, which leaves a tile on the host, or begins none on a device, when `stop` is set.
    pub fn until(self, stop: Option<&'j AtomicBool>) -> Self {
        match self {
            Worker::Host(engine) => Worker::Host(Box::new(engine.until(stop))),
            Worker::Device(on) => Worker::Device(Box::new(OnDevice { stop, ..*on })),
        }
    }
    /// The rows of x in the order in which states number them, where that is not the order given.
    pub fn order(&self) -> Option<&[u32]> {
        match self {
            Worker::Host(engine) => engine.order(),
            Worker::Device(_) => None,
        }
    }
    /// Whether a device takes units: one at a time, with all threads of the host at its service.
    pub fn has_device(&self) -> bool {
        match self {
            Worker::Host(_) => false,
            Worker::Device(on) => on.device.lock().unwrap_or_else(PoisonError::into_inner).is_some(),
        }
    }
    /// What did the work of a plan for `planned`: that device, the host, or both.
    pub fn backend(&self, planned: &str) -> String {
        match self {
            Worker::Host(_) => "cpu".into(),
            Worker::Device(on) if on.answered.load(Ordering::Relaxed) == 0 && on.host.get().is_some() => "cpu".into(),
            Worker::Device(on) if on.host.get().is_some() => format!("{planned}, then cpu"),
            Worker::Device(_) => planned.into(),
        }
    }
    /// Folds the cells of consecutive `tiles`.
    ///
    /// # Errors
    /// Those of the sink, and of the device where the host cannot help.
    pub fn run(&self, tiles: &[Tile], sink: &dyn Sink) -> Result<UnitState> {
        match self {
            Worker::Host(engine) => engine.run(tiles, sink),
            Worker::Device(on) => on.run(tiles, sink),
        }
    }
}

impl<T: Element> OnDevice<'_, T> {
    fn run(&self, tiles: &[Tile], sink: &dyn Sink) -> Result<UnitState> {
        let put = |fold: usize, at: usize, values: gpu::Values<'_>| match values {
            gpu::Values::F32(run) => sink.put(fold, at, Values::F32(run)),
            gpu::Values::F64(run) => sink.put(fold, at, Values::F64(run)),
        };
        if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Error::new(Blame::Interrupted, "interrupted"));
        }
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = device.as_ref() {
            match engine.run(tiles, &put) {
                Ok(part) => {
                    self.answered.fetch_add(1, Ordering::Relaxed);
                    return Ok(UnitState { states: part.states, tally: part.tally });
                }
                Err(e) if yields(&e) => {
                    warn(&self.warnings, &e);
                    warn_of(&self.plan, &self.warnings);
                    *device = None;
                }
                Err(e) => return Err(e),
            }
        }
        drop(device);
        let host = self.host.get_or_init(|| Engine::load(self.job, &self.plan).until(self.stop));
        let Some(tiles) = device::host_tiles(self.job, tiles) else { return host.run(tiles, sink) };
        // Parts of dense results leave nothing to merge but what was counted.
        let parts = tiles.par_iter().map(|tile| host.run(std::slice::from_ref(tile), sink));
        let mut parts = parts.collect::<Result<Vec<_>>>()?.into_iter();
        let mut all = parts.next().ok_or_else(|| Error::internal("a unit without tiles"))?;
        parts.for_each(|part| all.tally.merge(&part.tally));
        Ok(all)
    }
}

/// Whether the host takes over after this error.
fn yields(e: &Error) -> bool {
    matches!(e.blame(), Blame::Device | Blame::Resource)
}

/// What the plan has to say of the host's work, where the host does it.
fn warn_of(plan: &Plan, warnings: &Warnings) {
    plan.warnings.iter().for_each(|w| warnings.add(w.as_str()));
}

fn warn(warnings: &Warnings, e: &Error) {
    warnings.add(format!("{}; the work goes on on the host's processor", e.what()));
}
