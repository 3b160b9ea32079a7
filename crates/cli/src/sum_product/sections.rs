//! The sections over random buckets: what each measures of one of them.

use super::draw::RandomBucket;
use super::host::{self, bucket, on};
use super::rows::{Cell, Row};
use super::there::{Loaded, Paged, There};
use zipfold::internals::core::{Error, Precision, Result};
use zipfold::internals::device::DeviceSelector;
use zipfold::internals::gpu::paged::Unroll;
use zipfold::internals::gpu::pages::Pages;
use zipfold::internals::plan::Overrides;
use zipfold::internals::product::cpu::Contracted;
use zipfold::internals::product::cpu::scaled::Entries;
use zipfold::internals::product::plan::paged::Knapsack;

/// Buckets of a section that varies the paged kernel.
const VARIED: usize = 4;
/// Results whose sums differ by more, relatively, are wrong: single precision adds up to 10⁸ terms.
const DIFFERS: f64 = 1e-2;

/// What measures in one precision.
pub(crate) struct Bench<T: Contracted> {
    threads: usize,
    /// Of one core, and of all threads.
    host: [host::Ceilings; 2],
    there: Option<There>,
    _type: std::marker::PhantomData<T>,
}

/// The buckets of `section`, smallest first: all, or a few of the larger ones.
pub(crate) fn chosen<'b>(section: &str, buckets: &'b [RandomBucket]) -> Vec<&'b RandomBucket> {
    match section {
        "buckets" | "hardware" => buckets.iter().collect(),
        _ => {
            let half = &buckets[buckets.len() / 2..];
            let step = half.len().div_ceil(VARIED).max(1);
            half.iter().step_by(step).collect()
        }
    }
}

impl<T: Contracted> Bench<T> {
    /// Opens the device, and measures the ceilings.
    ///
    /// # Errors
    /// `Device` where a device named outright is missing.
    pub(crate) fn new(threads: usize, device: DeviceSelector, set: &Overrides) -> Result<Self> {
        let host = [host::ceilings::<T>(1)?, host::ceilings::<T>(threads)?];
        let there = match device {
            DeviceSelector::Cpu => None,
            wanted => Some(There::open(wanted, T::PRECISION, set)?),
        };
        Ok(Bench {
            threads,
            host,
            there,
            _type: std::marker::PhantomData,
        })
    }
    /// The name of the type.
    pub(crate) fn name(&self) -> &'static str {
        match T::PRECISION {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        }
    }
    /// The device.
    pub(crate) fn there(&self) -> Option<&There> {
        self.there.as_ref()
    }
    pub(crate) fn kind(&self) -> (&'static str, Cell) {
        ("type", Cell::Text(self.name().into()))
    }
    /// What processor and device reach.
    pub(crate) fn ceilings(&self) -> Row {
        let [one, all] = self.host;
        let mut row: Row = vec![
            self.kind(),
            ("one_core_operations", Cell::Number(one.operations)),
            ("one_core_bytes", Cell::Number(one.memory)),
            ("all_cores_operations", Cell::Number(all.operations)),
            ("all_cores_bytes", Cell::Number(all.memory)),
        ];
        if let Some(there) = &self.there {
            let c = &there.ceilings;
            row.push(("device", Cell::Text(there.id())));
            row.push(("device_operations", Cell::Number(c.operations)));
            row.push(("device_operands", Cell::Number(c.operands)));
            row.push(("device_bytes", Cell::Number(c.memory)));
            row.push(("device_cached_bytes", Cell::Number(c.shared)));
            row.push(("device_start", Cell::Seconds(c.start)));
        }
        row
    }
    /// The rows of `section` for one bucket. A kernel that does not take it is named with the
    /// reason.
    ///
    /// # Errors
    /// `Internal` where two kernels differ in their result, `Device` when the device fails.
    pub(crate) fn rows(&self, section: &str, drawn: &RandomBucket) -> Result<Vec<Row>> {
        let tables: Vec<Vec<f64>> = (0..drawn.scopes.len()).map(|f| drawn.table(f)).collect();
        if section == "buckets" {
            let entries = [Entries::Values, Entries::Logs];
            return entries
                .iter()
                .map(|e| self.bucket(drawn, &tables, *e))
                .collect();
        }
        let Some(there) = &self.there else {
            return Ok(Vec::new());
        };
        let loaded = there.load::<T>(drawn, &tables, Entries::Values)?;
        match section {
            "cache" => self.cache(there, drawn, &loaded),
            "unrolling" => self.unrolling(there, drawn, &loaded),
            "hardware" => Ok(vec![self.hardware(there, drawn, &loaded)?]),
            "overheads" => Ok(vec![self.overheads(there, drawn, &loaded)?]),
            other => Err(Error::internal(format!("a section '{other}'"))),
        }
    }
    fn head(&self, drawn: &RandomBucket) -> Row {
        vec![
            self.kind(),
            ("operations", Cell::Number(drawn.operations)),
            ("tables", Cell::Number(drawn.scopes.len() as f64)),
        ]
    }
    /// Seconds at the rates given, every table once.
    fn roofline(&self, drawn: &RandomBucket, operations: f64, memory: f64) -> f64 {
        let bytes = drawn.once() * T::PRECISION.bytes() as f64;
        (drawn.operations / operations).max(bytes / memory)
    }
    fn bucket(&self, drawn: &RandomBucket, tables: &[Vec<f64>], entries: Entries) -> Result<Row> {
        let name = match entries {
            Entries::Values => "values",
            Entries::Logs => "logs",
        };
        let mut row = self.head(drawn);
        row.push(("entries", Cell::Text(name.into())));
        let one = on(1, || bucket::<T>(drawn, tables, entries))?;
        let all = on(self.threads, || bucket::<T>(drawn, tables, entries))?;
        agree("all cores", all.1, one.1)?;
        row.push(("one_core", Cell::Seconds(one.0)));
        row.push(("all_cores", Cell::Seconds(all.0)));
        let floor = self.roofline(drawn, self.host[1].operations, self.host[1].memory);
        row.push(("all_cores_share", Cell::Share(floor / all.0)));
        if let Some(there) = &self.there {
            let c = &there.ceilings;
            let floor = self.roofline(drawn, c.operations, c.memory);
            row.push(("roofline", Cell::Seconds(floor)));
            self.joins(there, (drawn, tables, entries), (floor, one.1), &mut row)?;
            let loaded = there.load::<T>(drawn, tables, entries);
            self.paged(there, loaded, (floor, one.1), &mut row)?;
        }
        Ok(row)
    }
    /// The paged kernel on the device, against the `floor` and the `total` of the processor.
    fn paged(
        &self,
        there: &There,
        loaded: Result<Loaded>,
        (floor, total): (f64, f64),
        row: &mut Row,
    ) -> Result<()> {
        match kept(loaded.and_then(|loaded| there.paged::<T>(&loaded, &there.pages)))? {
            Ok(paged) => {
                agree("the paged kernel", paged.total, total)?;
                row.push(("paged", Cell::Seconds(paged.seconds)));
                row.push(("paged_share", Cell::Share(floor / paged.seconds)));
            }
            Err(why) => row.push(("paged_refused", Cell::Text(why))),
        }
        Ok(())
    }
    /// The joins of the plan on the device, against the `floor` and the `total` of the processor.
    fn joins(
        &self,
        there: &There,
        (drawn, tables, entries): (&RandomBucket, &[Vec<f64>], Entries),
        (floor, total): (f64, f64),
        row: &mut Row,
    ) -> Result<()> {
        match kept(there.joins::<T>(drawn, tables, entries))? {
            Ok(joins) => {
                agree("joins on the device", joins.total, total)?;
                let kernels = joins.kernels.iter().map(|kernel| {
                    let [tall, wide] = kernel.tile;
                    format!("{tall}x{wide} {}", kernel.form.name())
                });
                row.push((
                    "joins_kernels",
                    Cell::Text(kernels.collect::<Vec<_>>().join(", ")),
                ));
                row.push(("joins_predicted", Cell::Seconds(joins.predicted)));
                row.push(("joins", Cell::Seconds(joins.seconds)));
                row.push(("joins_share", Cell::Share(floor / joins.seconds)));
                row.push(("joins_repeated", Cell::Seconds(joins.repeated)));
                let share = Cell::Share(floor / joins.repeated);
                row.push(("joins_repeated_share", share));
            }
            Err(why) => row.push(("joins_refused", Cell::Text(why))),
        }
        Ok(())
    }
    /// One run of the paged kernel with the plan of the paper, its model next to it: the experiments
    /// are about its cache, also where other pages are predicted to be faster.
    fn variant(
        &self,
        there: &There,
        (drawn, loaded): (&RandomBucket, &Loaded),
        pages: &Pages,
        what: Row,
    ) -> Result<(Row, Paged)> {
        let pages = Pages {
            always: true,
            ..pages.clone()
        };
        let paged = there.paged::<T>(loaded, &pages)?;
        let mut row = self.head(drawn);
        row.extend(what);
        row.push(("hit_rate", Cell::Share(paged.hit_rate)));
        row.push(("intensity", Cell::Number(paged.intensity)));
        row.push(("predicted", Cell::Seconds(paged.predicted)));
        row.push(("measured", Cell::Seconds(paged.seconds)));
        row.push(("ratio", Cell::Share(paged.predicted / paged.seconds)));
        Ok((row, paged))
    }
    fn cache(&self, there: &There, drawn: &RandomBucket, loaded: &Loaded) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        let whole = there.shared();
        for bytes in [0, whole / 16, whole / 8, whole / 4, whole / 2, whole] {
            let mut pages = there.pages.clone();
            pages.unit.entries = bytes / T::PRECISION.bytes();
            let what = vec![("cache_bytes", Cell::Number(bytes as f64))];
            rows.push(self.variant(there, (drawn, loaded), &pages, what)?.0);
        }
        let planned = there.paged::<T>(loaded, &there.pages)?.pages_per_block;
        for many in [1, 2, planned, 4 * planned, 16 * planned] {
            let mut pages = there.pages.clone();
            pages.unit.pages_per_block = Some(many);
            let what = vec![("pages_per_block", Cell::Number(many as f64))];
            rows.push(self.variant(there, (drawn, loaded), &pages, what)?.0);
        }
        Ok(rows)
    }
    fn unrolling(&self, there: &There, drawn: &RandomBucket, loaded: &Loaded) -> Result<Vec<Row>> {
        let ways = [
            ("off", Unroll::None),
            ("2", Unroll::By(2)),
            ("4", Unroll::By(4)),
            ("8", Unroll::By(8)),
            ("whole", Unroll::Whole),
        ];
        let of = |(name, unroll): (&str, Unroll)| {
            let pages = Pages {
                unroll,
                ..there.pages.clone()
            };
            let what = vec![("unroll", Cell::Text(name.into()))];
            Ok(self.variant(there, (drawn, loaded), &pages, what)?.0)
        };
        ways.into_iter().map(of).collect()
    }
    fn hardware(&self, there: &There, drawn: &RandomBucket, loaded: &Loaded) -> Result<Row> {
        let of = |knapsack| {
            let pages = Pages {
                knapsack,
                ..there.pages.clone()
            };
            there.paged::<T>(loaded, &pages)
        };
        let (greedy, exact) = (of(Knapsack::Greedy)?, of(Knapsack::Exact)?);
        let none = of(Knapsack::None)?;
        agree("the kernel without segments", none.total, greedy.total)?;
        agree("the exact knapsack", exact.total, greedy.total)?;
        let mut row = self.head(drawn);
        row.extend([
            ("hit_rate", Cell::Share(greedy.hit_rate)),
            ("greedy", Cell::Seconds(greedy.seconds)),
            ("greedy_predicted", Cell::Seconds(greedy.predicted)),
            ("exact", Cell::Seconds(exact.seconds)),
            ("hardware", Cell::Seconds(none.seconds)),
            ("hardware_predicted", Cell::Seconds(none.predicted)),
            ("gain", Cell::Share(none.seconds / greedy.seconds)),
            ("ratio", Cell::Share(greedy.predicted / greedy.seconds)),
        ]);
        Ok(row)
    }
    fn overheads(&self, there: &There, drawn: &RandomBucket, loaded: &Loaded) -> Result<Row> {
        let paged = there.paged::<T>(loaded, &there.pages)?;
        let mut row = self.head(drawn);
        row.extend([
            ("planning", Cell::Seconds(paged.planning)),
            ("compiling", Cell::Seconds(paged.compiling)),
            ("upload", Cell::Seconds(loaded.upload)),
            ("kernel", Cell::Seconds(paged.seconds)),
            ("download", Cell::Seconds(paged.download)),
            ("segment_entries", Cell::Number(paged.cached as f64)),
        ]);
        Ok(row)
    }
}

/// What was measured, or why a kernel does not take the bucket; other errors end the run.
fn kept<R>(made: Result<R>) -> Result<std::result::Result<R, String>> {
    use zipfold::internals::core::Blame;
    match made {
        Ok(made) => Ok(Ok(made)),
        Err(e) if matches!(e.blame(), Blame::Resource | Blame::Request) => {
            Ok(Err(e.what().told(crate::flags::words)))
        }
        Err(e) => Err(e),
    }
}

fn agree(who: &str, got: f64, expected: f64) -> Result<()> {
    if (got - expected).abs() <= DIFFERS * expected.abs() {
        return Ok(());
    }
    Err(Error::internal(format!(
        "{who}: expected a sum of {expected}, got {got}"
    )))
}
