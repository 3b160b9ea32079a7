//! Devices next to the host for the joins of a sum-product plan: a slice on each at a time.

use crate::device;
use crate::warnings::Warnings;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use zipfold_core::budget::human_bytes;
use zipfold_core::{Blame, Error, Opt, Precision, Result};
use zipfold_gpu::choice::{self, JoinForm, predicted};
use zipfold_gpu::contract::Contractor;
use zipfold_gpu::paged::Bucket;
use zipfold_gpu::pages::Pages;
use zipfold_gpu::{DeviceSelector, Facts};
use zipfold_plan::overrides::{Overrides, ProductJoins, ProductKernel};
use zipfold_product::cpu::Engine;
use zipfold_product::cpu::bucket::Mode;
use zipfold_product::cpu::shape::{JoinShapes, Shape};
use zipfold_product::plan::places::Places;
use zipfold_product::plan::{Node, Options, Pass, Plan, Rates};

/// The plan choices that an inference takes.
const TAKEN: [&str; 12] = [
    "fault.driver",
    "fault.devices",
    "fault.launches",
    "device.memory",
    "product.cache",
    "product.joins",
    "product.kernel",
    "product.knapsack",
    "product.method",
    "product.pages",
    "product.slices",
    "product.unroll",
];
/// The ones that are for the paged kernel alone.
const PAGED: [&str; 4] = [
    "product.cache",
    "product.knapsack",
    "product.pages",
    "product.unroll",
];

/// Refuses plan choices that an inference has no use for.
///
/// # Errors
/// `Request` with the first of them.
pub(crate) fn check(overrides: &Overrides) -> Result<()> {
    let paged = overrides.product_kernel == Some(ProductKernel::Paged);
    let texts = overrides.texts();
    if let Some((key, value)) = texts.iter().find(|(key, _)| PAGED.contains(key) && !paged) {
        let e = Error::request(format!("'{key}={value}' is a choice of the paged kernel"));
        return Err(e.at_place(Opt::Set).remedy("product.kernel=paged too"));
    }
    match texts.into_iter().find(|(key, _)| !TAKEN.contains(key)) {
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

/// A device next to the host as an answer names it.
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
    /// How many joins have each kernel of [`JoinForm::ALL`].
    pub kernels: [usize; 4],
    /// The joins by the paged kernel, where it takes any.
    pub paged: Option<PagedJoins>,
}

/// What the paged kernel is predicted to do: reads that its segments serve, and its speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PagedJoins {
    /// Joins.
    pub joins: usize,
    /// The share of the reads of operands that segments serve.
    pub hit_rate: f64,
    /// Operations a second, by the paper's count `|O| (N m - 1)`.
    pub rate: f64,
}

/// What is asked of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub device: DeviceSelector,
    pub overrides: &'a Overrides,
    pub precision: Precision,
    pub warnings: &'a Warnings,
    /// Whether plans are those of a store, which stay as they are: all of its processes have the same.
    pub fixed: bool,
}

/// Open devices, and the joins that run there. Each device has a slice of its own at a time.
#[derive(Debug)]
pub(crate) struct Beside {
    pub devices: Vec<Contractor>,
    /// By plan: the joins that run there.
    pub places: Vec<Places>,
    /// Predicted seconds of the execution.
    seconds: f64,
    kernels: [usize; 4],
    paged: Option<PagedJoins>,
    /// Whether the device of groups failed: from then on the host does all of them.
    lost: AtomicBool,
}

/// A plan for some devices.
struct Choice {
    plan: Plan,
    places: Places,
    /// By node: its join by the paged kernel.
    paged: Vec<Option<Bucket>>,
    devices: usize,
    seconds: f64,
}

/// What joins are placed for.
#[derive(Clone, Copy)]
struct JoinTarget<'a> {
    facts: &'a Facts,
    pages: &'a Pages,
    settings: Asked<'a>,
}

impl Choice {
    /// `plan` on as many of `most` devices as it has slices for.
    fn new(plan: Plan, pass: Pass, most: usize, target: JoinTarget<'_>) -> Self {
        let paged = buckets(&plan, target);
        let places = places(&plan, (pass, &paged), target);
        let slices = plan.slices();
        let devices = most.min(slices).max(1);
        let turns = slices.div_ceil(devices) as f64 / slices as f64;
        Choice {
            seconds: places.seconds * turns,
            plan,
            places,
            paged,
            devices,
        }
    }
    /// Predicted seconds, those of opening the devices too.
    fn whole(&self) -> f64 {
        use zipfold_plan::device::{ONE_MORE, OPENING};
        self.seconds + OPENING + ONE_MORE * (self.devices - 1) as f64
    }
}

/// The devices that the settings ask for, for work that takes the host this many seconds; none for
/// the host alone.
fn wanted(host: f64, settings: Asked<'_>) -> Result<Vec<Facts>> {
    let driver = settings.overrides.fault_driver.map(|v| v.get() as u64);
    match settings.device {
        DeviceSelector::Cpu => Ok(Vec::new()),
        // Drivers take long before they answer: shorter work does not ask them.
        DeviceSelector::Auto if host <= 2.0 * zipfold_plan::device::OPENING => Ok(Vec::new()),
        DeviceSelector::Auto => Ok(device::gpus(driver)),
        DeviceSelector::Devices(runtime, which) => {
            device::check_driver_fault(runtime, driver)?;
            zipfold_gpu::find(runtime, which)
        }
    }
}

/// The facts of the slowest of `found`, with the memory that the settings give it.
fn slowest(found: &[Facts], settings: Asked<'_>) -> Option<Facts> {
    let slowest = found.iter().min_by_key(|facts| facts.units)?;
    let most = settings.overrides.device_memory.map(|m| m.get() as u64);
    Some(Facts {
        memory: most.map_or(slowest.memory, |m| slowest.memory.min(m)),
        ..slowest.clone()
    })
}

impl Beside {
    /// The devices that the settings ask for, where a join of `plan` is to run there. `plan` is cut
    /// as the settings ask, and into a slice for each device where that is predicted to pay. Where
    /// nobody names a device, as many are opened as shorten the run by more than their start takes.
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
        let auto = settings.device == DeviceSelector::Auto;
        let found = wanted(host, settings)?;
        // All take the same joins: the ones that pay on the slowest.
        let Some(facts) = slowest(&found, settings) else {
            return Ok(None);
        };
        let pages = pages(&facts, settings)?.over(plan.slices() as f64);
        let target = JoinTarget {
            facts: &facts,
            pages: &pages,
            settings,
        };
        let on = |plan: Plan, most: usize| Choice::new(plan, options.pass, most, target);
        let one = |plan: Plan| on(plan, if auto { 1 } else { found.len() });
        let mut best = one(plan.clone());
        if !settings.fixed {
            let fused = one(fused(&best.plan, &best.places, options, target));
            if fused.seconds < best.seconds {
                best = fused;
            }
        }
        if found.len() > 1 && !settings.fixed {
            let cut = on(best.plan.cut(found.len(), options), found.len());
            if cut.whole() < best.whole() {
                best = cut;
            }
        }
        if best.places.many() == 0 || (auto && best.whole() >= host) {
            return Ok(None);
        }
        let many = best.devices;
        let kernels = kernels(&best.plan, &best.places, &best.paged, target);
        let joins = vec![(best.places, best.paged, kernels)];
        let beside = Self::open(&found[..many], best.seconds, joins, target)?;
        if beside.is_some() {
            *plan = best.plan;
        }
        Ok(beside)
    }
    /// Opens devices for the joins of some plans.
    fn open(
        found: &[Facts],
        seconds: f64,
        joins: Vec<(Places, Vec<Option<Bucket>>, [usize; 4])>,
        target: JoinTarget<'_>,
    ) -> Result<Option<Self>> {
        let devices = opened(found, target)?;
        if devices.is_empty() {
            return Ok(None);
        }
        let mut kernels = [0; 4];
        let (mut places, mut paged) = (Vec::new(), Vec::new());
        for (own, buckets, counts) in joins {
            kernels.iter_mut().zip(counts).for_each(|(k, n)| *k += n);
            places.push(own);
            paged.push(buckets);
        }
        Ok(Some(Beside {
            kernels,
            devices,
            paged: told(&paged, &places),
            places,
            seconds,
            lost: AtomicBool::new(false),
        }))
    }
    /// As [`Beside::for_plan`] for plans that run one after another, so often each, all on the
    /// first device.
    ///
    /// # Errors
    /// `Device` when a device named outright is missing.
    pub(crate) fn for_plans(
        plans: &[(&Plan, Pass)],
        turns: f64,
        settings: Asked<'_>,
    ) -> Result<Option<Self>> {
        let host = plans.iter().map(|(p, _)| p.prediction.seconds).sum();
        let auto = settings.device == DeviceSelector::Auto;
        let mut found = wanted(host, settings)?;
        found.truncate(1);
        let Some(facts) = slowest(&found, settings) else {
            return Ok(None);
        };
        let pages = pages(&facts, settings)?.over(turns);
        let target = JoinTarget {
            facts: &facts,
            pages: &pages,
            settings,
        };
        let on = |(plan, pass): &(&Plan, Pass)| {
            let paged = buckets(plan, target);
            let places = places(plan, (*pass, &paged), target);
            let kernels = kernels(plan, &places, &paged, target);
            (places, paged, kernels)
        };
        let joins: Vec<_> = plans.iter().map(on).collect();
        let seconds = joins.iter().map(|(p, ..)| p.seconds).sum::<f64>();
        let pays = !auto || seconds + zipfold_plan::device::OPENING < host;
        if joins.iter().all(|(p, ..)| p.many() == 0) || !pays {
            return Ok(None);
        }
        Self::open(&found, seconds, joins, target)
    }
    /// What an answer says of it.
    pub(crate) fn told(&self) -> OnDevice {
        let facts: Vec<Facts> = self.devices.iter().map(|d| d.facts().clone()).collect();
        let work = self.places.iter().map(|p| p.work).sum::<f64>();
        let there = self.places.iter().map(|p| p.share * p.work).sum::<f64>();
        OnDevice {
            device: zipfold_plan::device::ids(&facts),
            joins: self.places.iter().map(Places::many).sum(),
            share: if work > 0.0 { there / work } else { 0.0 },
            seconds: self.seconds,
            kernels: self.kernels,
            paged: self.paged,
        }
    }
    /// What `work` gives on `engine` of plan `at`, with its joins on the first device while that
    /// works.
    ///
    /// # Errors
    /// Those of `work`.
    pub(crate) fn joined<'b, R>(
        &'b self,
        (engine, at): (Engine<'b>, usize),
        warnings: &Warnings,
        mut work: impl FnMut(&Engine<'b>) -> Result<R>,
    ) -> Result<R> {
        let there = self.devices.first().zip(self.places.get(at));
        let engine = match there.filter(|_| !self.lost.load(Ordering::Relaxed)) {
            Some((device, places)) => engine.beside(device, places),
            None => engine,
        };
        let done = match work(&engine) {
            Err(e) if e.blame() == Blame::Device && engine.lose_device() => {
                if !self.lost.swap(true, Ordering::Relaxed) {
                    device::warn(warnings, &e, 0);
                }
                work(&engine)
            }
            other => other,
        };
        if let Some(device) = self.devices.first() {
            tell_of_full(&engine, device, warnings);
        }
        done
    }
    /// Whether the device of plans that run one after another failed.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }
}

/// Warns of a device that had no room for a piece of some join.
fn tell_of_full(engine: &Engine<'_>, device: &Contractor, warnings: &Warnings) {
    let Some(least) = engine.device_was_full() else {
        return;
    };
    let facts = device.facts();
    warnings.add(format!(
        "the smallest piece of a join takes {} on {}, which has {}; the host did it",
        human_bytes(least + Contractor::OVERHEAD),
        facts.id(),
        human_bytes(facts.memory)
    ));
}

/// Those of `found` that open, each with its faults; where nobody named them, none is missed.
fn opened(found: &[Facts], target: JoinTarget<'_>) -> Result<Vec<Contractor>> {
    let set = target.settings.overrides;
    let faulty = set.fault_devices.map_or(found.len(), |count| count.get());
    let tried = device::all_opened(found).into_iter().enumerate();
    let contractors = tried.map(|(at, opened)| {
        let with_faults = |device| {
            if at < faulty {
                device::with_faults(device, set)
            } else {
                device
            }
        };
        let made = Contractor::new(with_faults(opened?), target.settings.precision)?;
        let made = made.choosing_for(target.facts.units);
        Ok(made.by_pages(target.pages.clone()))
    });
    let is_left: fn(&Error) -> bool = if target.settings.device == DeviceSelector::Auto {
        |_| true
    } else {
        |e| e.blame() == Blame::Resource
    };
    device::those_left(contractors.collect(), target.settings.warnings, is_left)
}

/// When and how the paged kernel takes joins.
fn pages(facts: &Facts, settings: Asked<'_>) -> Result<Pages> {
    let cache = settings.overrides.product_cache.map_or(0, |c| c.get());
    if cache > facts.shared {
        let e = Error::request(format!(
            "expected at most {} bytes of shared memory on {}, got {cache}",
            facts.shared,
            facts.id()
        ));
        return Err(e
            .at_place(Opt::Set.like("product.cache"))
            .remedy("a smaller cache"));
    }
    let (precision, made) = (settings.precision, settings.overrides);
    Ok(Pages::new(facts, precision, made))
}

/// By node: what the paged kernel does with its join, in one slice, where it takes it.
fn buckets(plan: &Plan, target: JoinTarget<'_>) -> Vec<Option<Bucket>> {
    let shapes = JoinShapes::new(plan);
    let of = |node: &Node| paged(&shapes.of_node(node)?, target);
    plan.nodes.iter().map(of).collect()
}

/// How many joins of `plan` on the device have each kernel of [`JoinForm::ALL`].
fn kernels(
    plan: &Plan,
    places: &Places,
    paged: &[Option<Bucket>],
    target: JoinTarget<'_>,
) -> [usize; 4] {
    let (facts, precision) = (target.facts, target.settings.precision);
    let shapes = JoinShapes::new(plan);
    let mut counts = [0; 4];
    let there = plan.nodes.iter().enumerate();
    for (at, node) in there.filter(|(at, _)| places.remote[*at]) {
        let form = match (&paged[at], shapes.of_node(node)) {
            (Some(_), _) => JoinForm::Paged,
            (None, Some(shape)) => predicted(&shape, precision, facts).form,
            (None, None) => continue,
        };
        let all = JoinForm::ALL.iter().zip(&mut counts);
        all.filter(|(f, _)| **f == form).for_each(|(_, n)| *n += 1);
    }
    counts
}

/// The paged kernel for a join that it takes.
fn paged(shape: &Shape, target: JoinTarget<'_>) -> Option<Bucket> {
    let seconds = match target.pages.saving {
        None => f64::INFINITY,
        Some(_) => joined(shape, target)?,
    };
    target.pages.takes(shape, Mode::Sum, seconds)
}

/// Seconds of a join by the other kernels; none where nothing but the count of operations is worth
/// knowing.
fn joined(shape: &Shape, target: JoinTarget<'_>) -> Option<f64> {
    let precision = target.settings.precision;
    (shape.visits() >= LARGE).then(|| predicted(shape, precision, target.facts).seconds)
}

/// Configurations from which a join's kernel is worth its own prediction.
const LARGE: f64 = 1e6;

/// Seconds of a join by the kernel that the device would take; none where nothing but the count of
/// operations is worth knowing.
fn seconds(shape: &Shape, target: JoinTarget<'_>) -> Option<f64> {
    match paged(shape, target) {
        Some(bucket) => Some(bucket.seconds),
        None if target.pages.saving.is_none() => None,
        None => joined(shape, target),
    }
}

/// `plan` with joins on the device fused where its kernels take less time so.
fn fused(plan: &Plan, places: &Places, options: &Options, target: JoinTarget<'_>) -> Plan {
    choice::fused(plan, options, &|at, shape| {
        places.remote[at].then(|| seconds(shape, target)).flatten()
    })
}

/// What an answer says of the joins by the paged kernel, by plan and node.
fn told(buckets: &[Vec<Option<Bucket>>], places: &[Places]) -> Option<PagedJoins> {
    let nodes = buckets.iter().zip(places);
    let nodes = nodes.flat_map(|(buckets, places)| buckets.iter().zip(&places.remote));
    let there = nodes.filter(|(_, there)| **there);
    let all: Vec<&Bucket> = there.filter_map(|(bucket, _)| bucket.as_ref()).collect();
    let sum = |of: &dyn Fn(&Bucket) -> f64| all.iter().map(|b| of(b)).sum::<f64>();
    (!all.is_empty()).then(|| PagedJoins {
        joins: all.len(),
        // Pages that reach beyond the result read more than the formula counts.
        hit_rate: (1.0
            - sum(&|b| b.plan.traffic.read) / sum(&|b| b.shape.bucket().uncached().read))
        .max(0.0),
        rate: sum(&|b| b.plan.traffic.operations) / sum(&|b| b.seconds),
    })
}

fn places(plan: &Plan, (pass, paged): (Pass, &[Option<Bucket>]), target: JoinTarget<'_>) -> Places {
    let link = Contractor::link(target.facts, target.settings.precision);
    let shapes = JoinShapes::new(plan);
    let own = |at: usize| match &paged[at] {
        Some(bucket) => Some(bucket.seconds),
        None if target.pages.saving.is_none() => None,
        None => joined(&shapes.of_node(&plan.nodes[at])?, target),
    };
    let by_time = Places::new(plan, &Rates::default(), &link, pass, &own);
    match target.settings.overrides.product_joins {
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
            tell_of_full(engine, device, self.warnings);
        }
    }
}
