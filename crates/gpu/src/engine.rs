//! Runs tiles on a device.

use crate::dense::{self, Dense};
use crate::emit::{self, values};
use crate::host::Host;
use crate::pack::pack;
use crate::points::{self, Points};
use crate::runtime::{Arg, Device, Grid, Kernel, Memory, Plain};
use std::ops::Range;
use std::sync::Mutex;
use zipfold_core::fold::{BLOCK, Fold, State, Tally};
use zipfold_core::pair::tree::Side;
use zipfold_core::{Error, Job, Precision, Result};
use zipfold_plan::device::{Facts, Runtime};
use zipfold_plan::{Plan, Tile};

/// Values on their way into a dense result.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

/// Takes consecutive elements of the dense result of a fold: `(fold, first element, values)`.
pub type Put<'p> = dyn Fn(usize, usize, Values<'_>) -> Result<()> + Sync + 'p;

/// The state of a part of the space.
#[derive(Clone, Debug)]
pub struct Part {
    /// By fold.
    pub states: Vec<State>,
    /// What happened to the cells.
    pub tally: Tally,
}

/// Numbers that devices compute.
pub trait Number: Plain + Default + Send + Sync {
    /// Not a number.
    const NAN: Self;
    /// Widened.
    fn wide(self) -> f64;
    /// Wraps a run.
    fn values(run: &[Self]) -> Values<'_>;
}
impl Number for f32 {
    const NAN: f32 = f32::NAN;
    fn wide(self) -> f64 {
        f64::from(self)
    }
    fn values(run: &[f32]) -> Values<'_> {
        Values::F32(run)
    }
}
impl Number for f64 {
    const NAN: f64 = f64::NAN;
    fn wide(self) -> f64 {
        self
    }
    fn values(run: &[f64]) -> Values<'_> {
        Values::F64(run)
    }
}

/// Values of a rectangle of cells: parts (numbers of roots), rows, columns.
#[derive(Debug)]
pub struct Rectangle<T> {
    /// Rows of x.
    pub rows: Range<usize>,
    /// Rows of y.
    pub cols: Range<usize>,
    /// The numbers.
    pub items: Vec<T>,
}

impl<T: Number> Rectangle<T> {
    fn place(&self, part: usize, i: usize, j: usize) -> usize {
        (part * self.rows.len() + i - self.rows.start) * self.cols.len() + j - self.cols.start
    }
    /// Number `part` of cell (i, j), widened.
    pub fn at(&self, part: usize, i: usize, j: usize) -> f64 {
        self.items[self.place(part, i, j)].wide()
    }
    /// Number `part` of the cells of row `i` in `run`.
    pub fn run(&self, part: usize, i: usize, run: &Range<usize>) -> &[T] {
        let at = self.place(part, i, run.start);
        &self.items[at..at + run.len()]
    }
}

/// The rows of a job in device memory, in one or both precisions, and constant vectors.
pub struct Loaded {
    wide: Option<[Memory; 3]>,
    /// In single precision.
    pub narrow: Option<[Memory; 3]>,
    /// Ranges of the rows, where filters want them.
    pub ranges: Option<[crate::bound::Ranges; 2]>,
}

/// Numbers past the last panel, since whole slices of components are fetched.
const SLACK: usize = 32 * 128;

impl Loaded {
    fn new(job: &Job, device: &Device, wide: bool, narrow: bool) -> Result<Self> {
        let low = &job.low;
        let flat: Vec<f64> = low.constants.iter().flatten().copied().collect();
        let mut out = Loaded { wide: None, narrow: None, ranges: None };
        if wide {
            let mut x = pack(low, &job.x, Side::X, Precision::F64).wide;
            let mut y = pack(low, job.other(), Side::Y, Precision::F64).wide;
            out.ranges = if narrow { points::data_ranges(job, [&x, &y]) } else { None };
            [&mut x, &mut y].into_iter().for_each(|v| v.resize(v.len() + SLACK, 0.0));
            out.wide = Some([device.upload(&x)?, device.upload(&y)?, device.upload(&flat)?]);
        }
        if narrow {
            let mut x = pack(low, &job.x, Side::X, Precision::F32).narrow;
            let mut y = pack(low, job.other(), Side::Y, Precision::F32).narrow;
            [&mut x, &mut y].into_iter().for_each(|v| v.resize(v.len() + SLACK, 0.0));
            let flat: Vec<f32> = flat.iter().map(|v| *v as f32).collect();
            out.narrow = Some([device.upload(&x)?, device.upload(&y)?, device.upload(&flat)?]);
        }
        Ok(out)
    }
    /// Arguments of a kernel: rows of x, of y, constants.
    ///
    /// # Errors
    /// `Internal` when they were not loaded in this precision.
    pub fn inputs(&self, precision: Precision) -> Result<Vec<Arg<'_>>> {
        let held = if precision == Precision::F32 { &self.narrow } else { &self.wide };
        match held {
            Some(memories) => Ok(memories.iter().map(Arg::Memory).collect()),
            None => Err(Error::internal("rows that were not loaded")),
        }
    }
}

/// A job loaded on a device.
pub struct Engine<'j> {
    job: &'j Job,
    device: Device,
    precision: Precision,
    loaded: Loaded,
    family: Family<'j>,
    /// One user at a time: kernels share memory for their results.
    turn: Mutex<()>,
}

enum Family<'j> {
    /// The device computes a matrix by register-blocked tiles.
    Dense(Box<Dense<'j>>),
    /// The device folds.
    Points(Box<Points<'j>>),
    /// The device computes so many numbers a cell, the host folds.
    Values(Kernel, usize),
}

/// Bytes of values that one launch leaves in device memory for the host to fold.
const VALUES_AT_A_TIME: usize = 64 << 20;

impl<'j> Engine<'j> {
    /// Hoists and uploads the rows of `job`, and compiles its kernels.
    ///
    /// # Errors
    /// `Device` and `Resource` of the device; `Request` for more rows than kernels number.
    pub fn load(job: &'j Job, plan: &Plan, device: Device) -> Result<Self> {
        if job.space.n.max(job.space.m) >= 1 << 31 {
            let e =
                Error::request(format!("{} rows", job.space.n.max(job.space.m))).limit("2147483647 rows on a device");
            return Err(e.remedy("--device cpu, or smaller shares of the rows"));
        }
        let precision = plan.precision;
        let on_device = points::folds(job);
        let narrow = precision == Precision::F32 || on_device;
        let wide = precision == Precision::F64 && !points::sums_single(job);
        check_double(&device.facts, if wide { Precision::F64 } else { Precision::F32 })?;
        let loaded = Loaded::new(job, &device, wide, narrow)?;
        let family = if let Some(dense) = Dense::load(job, plan, &device)? {
            Family::Dense(Box::new(dense))
        } else if let Some(points) = Points::load(job, plan, &device, &loaded)? {
            Family::Points(Box::new(points))
        } else {
            Self::values(job, &device, precision)?
        };
        Ok(Engine { job, device, precision, loaded, family, turn: Mutex::new(()) })
    }
    fn values(job: &Job, device: &Device, precision: Precision) -> Result<Family<'j>> {
        let low = &job.low;
        let source = values::source(job, precision, device.facts.runtime);
        let mut kernels = device.compile(&source, &["zf_values"])?;
        let kernel = kernels.pop().ok_or_else(|| Error::internal("no kernel was compiled"))?;
        Ok(Family::Values(kernel, (0..low.formula.roots.len()).map(|r| low.formula.width(r, low.dim)).sum()))
    }
    /// Whether `job` is folded on the device; otherwise the device computes values and the host folds them.
    pub fn folds_on_device(job: &Job) -> bool {
        points::folds(job) || job.folds.iter().all(|f| matches!(f, Fold::Matrix { .. } | Fold::Condensed { .. }))
    }
    /// The facts of the device.
    pub fn facts(&self) -> &Facts {
        &self.device.facts
    }
    /// Folds the cells of consecutive `tiles`.
    ///
    /// # Errors
    /// Those of the device and of `put`.
    pub fn run(&self, tiles: &[Tile], put: &Put<'_>) -> Result<Part> {
        let _turn = self.turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match (&self.family, self.precision) {
            (Family::Dense(d), Precision::F32) => d.run::<f32>(&self.device, &self.loaded, tiles, put),
            (Family::Dense(d), Precision::F64) => d.run::<f64>(&self.device, &self.loaded, tiles, put),
            (Family::Points(points), _) => points.run(&self.device, &self.loaded, tiles),
            (Family::Values(kernel, parts), Precision::F32) => self.by_values::<f32>(kernel, *parts, tiles, put),
            (Family::Values(kernel, parts), Precision::F64) => self.by_values::<f64>(kernel, *parts, tiles, put),
        }
    }
    /// Runs the kernels of `tiles` as [`Self::run`] does, but leaves dense results on the device; returns seconds. For
    /// measurements.
    ///
    /// # Errors
    /// Those of the device.
    pub fn time(&self, tiles: &[Tile]) -> Result<f64> {
        self.device.finish()?;
        let start = std::time::Instant::now();
        match &self.family {
            Family::Dense(d) => {
                let mut held = vec![];
                for tile in tiles {
                    held.push(d.launch(&self.device, &self.loaded, tile)?);
                }
                self.device.finish()?;
            }
            _ => {
                self.run(tiles, &|_, _, _| Ok(()))?;
            }
        }
        Ok(start.elapsed().as_secs_f64())
    }
    /// What the device does: `dense`, `points` (with a filter in single precision or without), `values`.
    pub fn family(&self) -> &'static str {
        match &self.family {
            Family::Dense(_) => "dense",
            Family::Points(p) if p.filtered => "points, filtered",
            Family::Points(_) => "points",
            Family::Values(..) => "values",
        }
    }
    /// Family *values*: the device computes, the host folds.
    fn by_values<T: Number>(&self, kernel: &Kernel, parts: usize, tiles: &[Tile], put: &Put<'_>) -> Result<Part> {
        let mut host = Host::new(self.job, tiles);
        for tile in tiles {
            let line = tile.cols.len().max(1) * parts.max(1) * size_of::<T>();
            let step = (VALUES_AT_A_TIME / line / BLOCK).max(1) * BLOCK;
            let mut from = tile.rows.start;
            while from < tile.rows.end {
                let to = ((from / BLOCK) * BLOCK + step).min(tile.rows.end);
                let rectangle = self.rectangle::<T>(kernel, parts, from..to, tile.cols.clone())?;
                host.rectangle(&rectangle, put)?;
                from = to;
            }
            host.end_tile();
        }
        Ok(host.finish())
    }
    fn rectangle<T: Number>(
        &self,
        kernel: &Kernel,
        parts: usize,
        rows: Range<usize>,
        cols: Range<usize>,
    ) -> Result<Rectangle<T>> {
        let mut items = vec![T::default(); parts * rows.len() * cols.len()];
        let out = self.device.allocate(size_of_val(items.as_slice()))?;
        let grid = Grid {
            x: (cols.len() as u32).div_ceil(values::THREADS).max(1),
            y: (rows.len() as u32).clamp(1, 1024),
            threads: values::THREADS,
        };
        let mut args = self.loaded.inputs(self.precision)?;
        args.push(Arg::Memory(&out));
        args.extend([rows.start, rows.len(), cols.start, cols.len()].map(|v| Arg::U32(v as u32)));
        self.device.launch(kernel, grid, &args)?;
        self.device.read(&out, &mut items)?;
        Ok(Rectangle { rows, cols, items })
    }
}

fn check_double(facts: &Facts, precision: Precision) -> Result<()> {
    if facts.double || precision == Precision::F32 {
        return Ok(());
    }
    let e = Error::device(format!("{} ({}) computes in single precision only", facts.id(), facts.name));
    Err(e.at("--device").remedy("--precision f32 for a matrix, or --device cpu"))
}

/// The kernels for `job`, readable and compilable by themselves: names of families and sources. Needs no device.
///
/// # Errors
/// `Request` for settings that make no sense.
pub fn sources(job: &Job, plan: &Plan, runtime: Runtime) -> Result<Vec<(String, String)>> {
    if dense::is_dense(job) {
        return Ok(vec![("dense".into(), dense::source(job, plan, runtime)?)]);
    }
    if points::folds(job) {
        let wide = |table, side| pack(&job.low, table, side, Precision::F64).wide;
        let (x, y) = (wide(&job.x, Side::X), wide(job.other(), Side::Y));
        let ranges = points::data_ranges(job, [&x, &y]);
        let made = points::sources(job, plan, runtime, ranges.as_ref())?;
        let name = |shape: &emit::sweep::Shape| format!("points, anchors {:?}", shape.anchor);
        return Ok(made.into_iter().map(|(shape, source)| (name(&shape), source)).collect());
    }
    Ok(vec![("values".into(), values::source(job, plan.precision, runtime))])
}

/// The numbers of all roots of `job` for all cells, in double precision: by part, then row-major. For tests of generated code.
///
/// # Errors
/// Those of the device.
pub fn values_of(device: &Device, job: &Job) -> Result<Vec<f64>> {
    let source = values::source(job, Precision::F64, device.facts.runtime);
    let kernels = device.compile(&source, &["zf_values"])?;
    let loaded = Loaded::new(job, device, true, false)?;
    let (n, m) = (job.space.n, job.space.m);
    let parts: usize = (0..job.low.formula.roots.len()).map(|r| job.low.formula.width(r, job.low.dim)).sum();
    let mut items = vec![0.0; parts * n * m];
    let memory = device.allocate(items.len() * 8)?;
    let mut args = loaded.inputs(Precision::F64)?;
    args.push(Arg::Memory(&memory));
    args.extend([0, n, 0, m].map(|v| Arg::U32(v as u32)));
    let grid = Grid { x: (m as u32).div_ceil(values::THREADS), y: n as u32, threads: values::THREADS };
    device.launch(&kernels[0], grid, &args)?;
    device.read(&memory, &mut items)?;
    Ok(items)
}
