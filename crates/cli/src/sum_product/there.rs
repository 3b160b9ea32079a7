//! A random bucket on a device: the plan's joins, and the paged kernel.

use super::draw::RandomBucket;
use super::host::{least, numbers, total};
use std::time::Instant;
use zipfold::internals::core::{Budget, Error, Precision, Result};
use zipfold::internals::device::DeviceSelector;
use zipfold::internals::gpu::Device;
use zipfold::internals::gpu::ceilings::{Ceilings, measure};
use zipfold::internals::gpu::choice::{Predicted, fused};
use zipfold::internals::gpu::contract::Contractor;
use zipfold::internals::gpu::paged::Contraction;
use zipfold::internals::gpu::pages::Pages;
use zipfold::internals::gpu::runtime::Memory;
use zipfold::internals::plan::Overrides;
use zipfold::internals::product::cpu::bucket::Mode;
use zipfold::internals::product::cpu::real::Items;
use zipfold::internals::product::cpu::scaled::Entries;
use zipfold::internals::product::cpu::shape::{JoinShapes, Shape};
use zipfold::internals::product::cpu::{Contracted, Engine, Fold, Forward};
use zipfold::internals::product::plan::places::Places;
use zipfold::internals::product::plan::{Options, Pass, Plan, Rates, Reduced, Table, plan};

/// What the joins of a plan took.
#[derive(Clone, Debug)]
pub(crate) struct Joins {
    /// Seconds of all, until the host knows that they ended.
    pub seconds: f64,
    /// Seconds of one of several turns, for whose end the host waits once.
    pub repeated: f64,
    /// The sum of the result.
    pub total: f64,
    /// Predicted seconds of the kernels.
    pub predicted: f64,
    /// The kernel of each.
    pub kernels: Vec<Predicted>,
}

/// A device with the ceilings of one type.
#[derive(Debug)]
pub(crate) struct There {
    /// For the paged kernel.
    device: Device,
    /// For joins of a plan.
    contractor: Contractor,
    /// Its rates.
    pub ceilings: Ceilings,
    /// What the paged kernel runs on.
    pub pages: Pages,
}

/// The tables of a bucket on a device.
pub(crate) struct Loaded {
    shape: Shape,
    tables: Vec<Memory>,
    out: Memory,
    entries: Entries,
    /// Seconds of the copies.
    pub upload: f64,
}

/// The paged kernel on one bucket.
#[derive(Clone, Debug)]
pub(crate) struct Paged {
    /// Measured seconds.
    pub seconds: f64,
    /// Predicted seconds.
    pub predicted: f64,
    /// The share of reads that segments serve.
    pub hit_rate: f64,
    /// Operations for an entry read or written, by the model.
    pub intensity: f64,
    /// Pages that a thread block takes.
    pub pages_per_block: usize,
    /// Entries of all segments.
    pub cached: usize,
    /// Seconds of planning: pages, segments, validity.
    pub planning: f64,
    /// Seconds of compilation.
    pub compiling: f64,
    /// Seconds until the result is on the host.
    pub download: f64,
    /// The sum of the result's values.
    pub total: f64,
}

/// Executions that a plan with tables on the device is made for, as `contract::PreparedOnDevice`.
const PLANNED_FOR: f64 = 1e5;
/// Turns for whose end the host waits once.
const TURNS: usize = 8;

/// What a bucket is planned with.
pub(crate) fn options() -> Options {
    Options {
        seed: 1,
        order_seconds: None,
        patience: Options::PATIENCE,
        memory: zipfold::internals::io::memory::usual(),
        held: 0,
        time_limit: 1e9,
        pass: Pass::Forward,
        rates: Rates::default(),
    }
}

/// The joins of a bucket, in one slice.
pub(crate) fn planned(drawn: &RandomBucket, options: &Options) -> Result<Plan> {
    let bare = drawn.scopes.iter().cloned().map(|scope| Table {
        scope,
        values: Vec::new(),
    });
    let reduced = Reduced::as_given(&drawn.cards, bare.collect());
    let plan = plan(&reduced, &drawn.kept(), options)?;
    match plan.sliced.is_empty() {
        true => Ok(plan),
        false => Err(Error::resource("the bucket needs slices")),
    }
}

/// The tables of a bucket, of values or of logarithms, for joins of `engine`.
fn standing<T: Contracted>(
    engine: &Engine<'_>,
    drawn: &RandomBucket,
    tables: &[Vec<f64>],
    entries: Entries,
) -> Result<Forward<T>> {
    let mut all = engine.standing::<T>();
    for (at, (scope, values)) in drawn.scopes.iter().zip(tables).enumerate() {
        let own: Vec<T> = numbers(values, entries);
        let values = own.iter().map(|v| v.to_f64()).collect();
        let scope = scope.clone();
        engine.put(at, &Table { scope, values }, &mut all)?;
    }
    Ok(all)
}

impl There {
    /// The device that `wanted` names.
    ///
    /// # Errors
    /// `Device` where it is missing or has no such numbers.
    pub(crate) fn open(
        wanted: DeviceSelector,
        precision: Precision,
        set: &Overrides,
    ) -> Result<Self> {
        let device = zipfold::internals::device::required(wanted)?;
        let contractor = Contractor::new(zipfold::internals::device::required(wanted)?, precision)?;
        let contractor =
            contractor.by_pages(Pages::new(&device.facts, precision, set).over(PLANNED_FOR));
        let ceilings = measure(&device, precision)?;
        let pages = Pages::new(&device.facts, precision, set).under(&ceilings);
        Ok(There {
            device,
            contractor,
            ceilings,
            pages,
        })
    }
    /// Its name.
    pub(crate) fn id(&self) -> String {
        self.device.facts.id()
    }
    /// What makes joins there.
    pub(crate) fn contractor(&self) -> &Contractor {
        &self.contractor
    }
    /// Bytes of shared memory of a thread block.
    pub(crate) fn shared(&self) -> usize {
        self.device.facts.shared
    }
    /// The plan's joins with tables that stay on the device, of values or of logarithms: the time of
    /// logarithms is that of all mantissas, of the joins and of the result's logarithms.
    ///
    /// # Errors
    /// `Resource` when host or device have no room, `Device` when the device fails.
    pub(crate) fn joins<T: Contracted>(
        &self,
        drawn: &RandomBucket,
        tables: &[Vec<f64>],
        entries: Entries,
    ) -> Result<Joins> {
        let options = options();
        let plan = planned(drawn, &options)?;
        let own = |shape: &Shape| self.contractor.predicted(shape);
        let plan = fused(&plan, &options, &|_, shape| Some(own(shape).seconds));
        let places = Places {
            remote: plan.nodes.iter().map(|n| n.is_join()).collect(),
            ..Places::default()
        };
        let timed = self.time_joins::<T>(&plan, &places, (drawn, tables, entries))?;
        let shapes = JoinShapes::new(&plan);
        let made = plan.nodes.iter().filter_map(|n| shapes.of_node(n));
        let kernels: Vec<Predicted> = made.map(|shape| own(&shape)).collect();
        Ok(Joins {
            predicted: kernels.iter().map(|k| k.seconds).sum(),
            kernels,
            ..timed
        })
    }
    /// The joins of `plan` where `places` has them: seconds, and the sum of the result.
    fn time_joins<T: Contracted>(
        &self,
        plan: &Plan,
        places: &Places,
        (drawn, tables, entries): (&RandomBucket, &[Vec<f64>], Entries),
    ) -> Result<Joins> {
        let budget = Budget::new(options().memory);
        let engine = Engine::new(plan, &[], Fold::Sum, Pass::Forward, &budget)
            .beside(&self.contractor, places)
            .with_entries(entries);
        let engine = match entries {
            Entries::Values => engine,
            Entries::Logs => engine.with_log_roots(),
        };
        let mut all = standing::<T>(&engine, drawn, tables, entries)?;
        let logs = engine.send_logs(&all)?;
        engine.again(&mut all)?;
        let mut turns = |many: usize| {
            let mut turn = |_| {
                engine.exponentials(&logs, &mut all)?;
                engine.again(&mut all)
            };
            let seconds = least(|| {
                (0..many).try_for_each(&mut turn)?;
                self.contractor.finish()
            });
            seconds.map(|seconds| seconds / many as f64)
        };
        let (seconds, repeated) = (turns(1)?, turns(TURNS)?);
        engine.bring_home(&mut all)?;
        let sum = |root: &usize| {
            let table = all.tables[*root].here.as_ref();
            table.map_or(0.0, |t| (0..t.len()).map(|at| t.scalar(at).value()).sum())
        };
        Ok(Joins {
            seconds,
            repeated,
            total: plan.roots.iter().map(sum).product(),
            predicted: 0.0,
            kernels: Vec::new(),
        })
    }
    /// Copies the tables of a bucket, of values or of logarithms.
    ///
    /// # Errors
    /// `Resource` when the device has no room.
    pub(crate) fn load<T: Contracted>(
        &self,
        drawn: &RandomBucket,
        tables: &[Vec<f64>],
        entries: Entries,
    ) -> Result<Loaded> {
        // Summed variables are slowest, as in the paper; all scopes have this order.
        let rank: Vec<u32> = (0..drawn.cards.len() as u32).collect();
        let scopes: Vec<&[usize]> = drawn.scopes.iter().map(|s| &s[..]).collect();
        let shape = Shape::new(&scopes, &drawn.kept(), &rank, &drawn.cards);
        let own: Vec<Vec<T>> = tables.iter().map(|t| numbers(t, entries)).collect();
        let start = Instant::now();
        let send = |table: &Vec<T>| match T::items(table) {
            Items::F32(items) => self.device.upload(items),
            Items::F64(items) => self.device.upload(items),
        };
        let tables = own.iter().map(send).collect::<Result<Vec<_>>>()?;
        self.device.finish()?;
        let upload = start.elapsed().as_secs_f64();
        let out = self.device.allocate(shape.out_len * T::PRECISION.bytes())?;
        Ok(Loaded {
            shape,
            tables,
            out,
            entries,
            upload,
        })
    }
    /// Runs the paged kernel as `pages` says.
    ///
    /// # Errors
    /// `Request` for a bucket without its form, `Device` when the device fails.
    pub(crate) fn paged<T: Contracted>(&self, loaded: &Loaded, pages: &Pages) -> Result<Paged> {
        let mode = match loaded.entries {
            Entries::Values => Mode::Sum,
            Entries::Logs => Mode::LogSum,
        };
        let start = Instant::now();
        let bucket = pages
            .bucket(&loaded.shape, mode)
            .ok_or_else(|| Error::request("the bucket does not have the form of the kernel"))?;
        let planning = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let kernel = Contraction::new(&self.device, &bucket)?;
        let compiling = start.elapsed().as_secs_f64();
        let tables: Vec<&Memory> = loaded.tables.iter().collect();
        let seconds = least(|| {
            kernel.run(&self.device, &tables, &loaded.out)?;
            self.device.finish()
        })?;
        let mut out = vec![T::from_f64(0.0); loaded.shape.out_len];
        let start = Instant::now();
        self.read(&loaded.out, &mut out)?;
        let plan = &bucket.plan;
        Ok(Paged {
            seconds,
            predicted: plan.seconds,
            hit_rate: plan.hit_rate(&loaded.shape.bucket()),
            intensity: plan.traffic.intensity(),
            pages_per_block: plan.pages_per_block,
            cached: plan.entries(),
            planning,
            compiling,
            download: start.elapsed().as_secs_f64(),
            total: total(&out, loaded.entries),
        })
    }
    fn read<T: Contracted>(&self, memory: &Memory, out: &mut [T]) -> Result<()> {
        use zipfold::internals::product::cpu::real::ItemsMut;
        match T::items_mut(out) {
            ItemsMut::F32(items) => self.device.read(memory, items),
            ItemsMut::F64(items) => self.device.read(memory, items),
        }
    }
}
