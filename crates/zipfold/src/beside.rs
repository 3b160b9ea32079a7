//! Devices next to the host for the joins of a sum-product plan: a slice on each at a time.

use crate::device;
use crate::warnings::Warnings;
use std::sync::atomic::{AtomicUsize, Ordering};
use zipfold_core::{Blame, Error, Opt, Precision, Result};
use zipfold_gpu::contract::Contractor;
use zipfold_gpu::{DeviceSelector, Facts};
use zipfold_plan::overrides::{Overrides, ProductJoins};
use zipfold_product::cpu::Engine;
use zipfold_product::plan::places::Places;
use zipfold_product::plan::{Options, Pass, Plan, Rates};

/// The plan choices that an inference takes.
const TAKEN: [&str; 6] = [
    "fault.driver",
    "fault.devices",
    "fault.launches",
    "device.memory",
    "product.joins",
    "product.slices",
];

/// Refuses plan choices that an inference has no use for.
///
/// # Errors
/// `Request` with the first of them.
pub(crate) fn check(overrides: &Overrides) -> Result<()> {
    match overrides
        .texts()
        .into_iter()
        .find(|(key, _)| !TAKEN.contains(key))
    {
        None => Ok(()),
        Some((key, value)) => {
            let e = Error::request(format!("'{key}={value}' is a choice of plans over pairs"))
                .at_place(Opt::Set);
            let e = e.limit(TAKEN.join(", "));
            Err(e.remedy(format!(
                "{}, a seed and {} steer the search of an order",
                Opt::OrderTime,
                Opt::Memory
            )))
        }
    }
}

/// A device beside the host as an answer names it.
#[derive(Clone, Debug, PartialEq)]
pub struct OnDevice {
    /// Its name: `cuda:0`.
    pub device: String,
    /// Joins that run there.
    pub joins: usize,
    /// Their share of all operations.
    pub share: f64,
    /// Predicted seconds of the execution, on both.
    pub seconds: f64,
}

/// What is asked of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub device: DeviceSelector,
    pub overrides: &'a Overrides,
    pub precision: Precision,
    pub warnings: &'a Warnings,
}

/// Open devices, and the joins that run there. Each device has a slice of its own at a time.
#[derive(Debug)]
pub(crate) struct Beside {
    pub devices: Vec<Contractor>,
    pub places: Places,
    /// Predicted seconds of the execution.
    seconds: f64,
}

/// A plan for some devices.
struct Choice {
    plan: Plan,
    places: Places,
    devices: usize,
    seconds: f64,
}

impl Choice {
    /// `plan` on as many of `most` devices as it has slices for.
    fn new(plan: Plan, pass: Pass, (facts, most): (&Facts, usize), settings: Asked<'_>) -> Self {
        let places = places(&plan, pass, facts, settings);
        let slices = plan.slices();
        let devices = most.min(slices).max(1);
        let turns = slices.div_ceil(devices) as f64 / slices as f64;
        Choice {
            seconds: places.seconds * turns,
            plan,
            places,
            devices,
        }
    }
    /// Predicted seconds, those of opening the devices too.
    fn whole(&self) -> f64 {
        use zipfold_plan::device::{ONE_MORE, OPENING};
        self.seconds + OPENING + ONE_MORE * (self.devices - 1) as f64
    }
}

impl Beside {
    /// The devices that the settings ask for, where a join of `plan` is to run there. `plan` is cut
    /// as the settings ask, and into a slice for each device where that is predicted to pay. Where nobody names a device, as many
    /// are opened as shorten the run by more than their start takes.
    ///
    /// # Errors
    /// `Device` when a device named outright is missing.
    pub(crate) fn for_plan(
        plan: &mut Plan,
        options: &Options,
        settings: Asked<'_>,
    ) -> Result<Option<Self>> {
        let overrides = settings.overrides;
        if let Some(many) = overrides.product_slices {
            *plan = plan.cut(many.get(), options);
        }
        let host = plan.prediction.seconds;
        let driver = overrides.fault_driver.map(|v| v.get() as u64);
        let auto = settings.device == DeviceSelector::Auto;
        let found = match settings.device {
            DeviceSelector::Cpu => return Ok(None),
            // Drivers take long before they answer: shorter work does not ask them.
            DeviceSelector::Auto if host <= 2.0 * zipfold_plan::device::OPENING => return Ok(None),
            DeviceSelector::Auto => device::gpus(driver),
            DeviceSelector::Devices(runtime, which) => {
                device::drill(runtime, driver)?;
                zipfold_gpu::find(runtime, which)?
            }
        };
        // All take the same joins: those that pay on the slowest.
        let Some(slowest) = found.iter().min_by_key(|facts| facts.units) else {
            return Ok(None);
        };
        let on =
            |plan: Plan, most: usize| Choice::new(plan, options.pass, (slowest, most), settings);
        let mut best = on(plan.clone(), if auto { 1 } else { found.len() });
        if found.len() > 1 {
            let cut = on(plan.cut(found.len(), options), found.len());
            if cut.whole() < best.whole() {
                best = cut;
            }
        }
        if best.places.many() == 0 || (auto && best.whole() >= host) {
            return Ok(None);
        }
        let devices = opened(&found[..best.devices], auto, settings)?;
        if devices.is_empty() {
            return Ok(None);
        }
        *plan = best.plan;
        Ok(Some(Beside {
            devices,
            places: best.places,
            seconds: best.seconds,
        }))
    }
    /// What an answer says of it.
    pub(crate) fn told(&self) -> OnDevice {
        let facts: Vec<Facts> = self.devices.iter().map(|d| d.facts().clone()).collect();
        OnDevice {
            device: zipfold_plan::device::ids(&facts),
            joins: self.places.many(),
            share: self.places.share,
            seconds: self.seconds,
        }
    }
}

/// Those of `found` that open, each with its faults; where nobody named them, none is missed.
fn opened(found: &[Facts], auto: bool, settings: Asked<'_>) -> Result<Vec<Contractor>> {
    let set = settings.overrides;
    let faulty = set.fault_devices.map_or(found.len(), |count| count.get());
    let tried = device::all_opened(found).into_iter().enumerate();
    let contractors = tried.map(|(at, opened)| {
        let drilled = |device| {
            if at < faulty {
                device::drilled(device, set)
            } else {
                device
            }
        };
        Contractor::new(drilled(opened?), settings.precision)
    });
    let is_left: fn(&Error) -> bool = if auto {
        |_| true
    } else {
        |e| e.blame() == Blame::Resource
    };
    device::those_left(contractors.collect(), settings.warnings, is_left)
}

fn places(plan: &Plan, pass: Pass, facts: &Facts, settings: Asked<'_>) -> Places {
    let link = Contractor::link(facts, settings.precision);
    let by_time = Places::new(plan, &Rates::default(), &link, pass);
    match settings.overrides.product_joins {
        None | Some(ProductJoins::Time) => by_time,
        Some(ProductJoins::All) => Places {
            remote: plan.nodes.iter().map(|n| n.is_join()).collect(),
            share: 1.0,
            ..by_time
        },
    }
}

/// The executors of slices: one for each device, or one for the host.
pub(crate) struct Lanes<'a> {
    pub engines: Vec<Engine<'a>>,
    /// Lanes that take slices.
    left: AtomicUsize,
    warnings: &'a Warnings,
}

impl<'a> Lanes<'a> {
    /// One lane for each of `engines`.
    pub(crate) fn new(engines: Vec<Engine<'a>>, warnings: &'a Warnings) -> Self {
        Lanes {
            left: AtomicUsize::new(engines.len()),
            engines,
            warnings,
        }
    }
    /// The executor that knows the plan; all of them do.
    pub(crate) fn first(&self) -> &Engine<'a> {
        &self.engines[0]
    }
    /// What `work` gives on `lane`; nothing where its device is lost, or there is no memory for it
    /// next to the others: they take its slices. The last one goes on on the host.
    ///
    /// # Errors
    /// Those of `work`.
    pub(crate) fn guarded<R>(
        &self,
        lane: usize,
        work: impl Fn(&Engine<'a>) -> Result<R>,
    ) -> Result<Option<R>> {
        let engine = &self.engines[lane];
        match work(engine) {
            Err(e) if e.blame() == Blame::Device && engine.lose_device() => {
                let others = self.left.load(Ordering::Acquire) - 1;
                device::warn(self.warnings, &e, others);
                if self.retires() {
                    Ok(None)
                } else {
                    work(engine).map(Some)
                }
            }
            Err(e) if e.blame() == Blame::Resource && self.retires() => Ok(None),
            other => other.map(Some),
        }
    }
    /// Whether a lane may end because others are left.
    fn retires(&self) -> bool {
        let one_less = |left: usize| (left > 1).then(|| left - 1);
        self.left
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less)
            .is_ok()
    }
    /// As [`Self::guarded`] on the first lane, for work that slices are not shared out for.
    ///
    /// # Errors
    /// Those of `work`.
    pub(crate) fn alone<R>(&self, work: impl Fn(&Engine<'a>) -> Result<R>) -> Result<R> {
        match work(self.first()) {
            Err(e) if e.blame() == Blame::Device && self.first().lose_device() => {
                device::warn(self.warnings, &e, 0);
                work(self.first())
            }
            other => other,
        }
    }
    /// Warns of devices that had no room for some joins.
    pub(crate) fn tell_of_full(&self, beside: Option<&Beside>) {
        let devices = beside.iter().flat_map(|b| &b.devices);
        for (engine, device) in self.engines.iter().zip(devices) {
            if engine.device_was_full() {
                let id = device.facts().id();
                self.warnings.add(format!(
                    "{id} could not take some of the joins; the host did those"
                ));
            }
        }
    }
}
