//! Runs tiles on a device: loads the kernels of the planned work and hands tiles to them.
//!
//! ```text
//! load:  rows → device, or a window of them; kernels of the planned family
//! run:   wait for the device's turn
//!        attempt the batch: matrix (dense.rs), fold (points.rs), or
//!            values: for each tile, for a few blocks of rows
//!                        compute all roots of the rectangle, copy them
//!                        fold them on the host                                     host_fold.rs
//!        no memory on the device: cut the larger tiles in two and attempt the whole batch again
//! ```
//!
//! Why this shape: a batch counts only when it is whole, so it can begin again after a refusal of
//! memory. Tiles are cut at multiples of a block, or of a span where sums by row have one, so the
//! bits stay. Values are the path of every question without a kernel of its own.

use crate::dense::{self, Dense};
use crate::emit::values;
use crate::groups::Groups;
use crate::host_fold::Host;
use crate::open::OpenSweep;
use crate::pack::{Layout, ProductRows};
use crate::points::{self, Points};
use crate::rectangle::{Number, Rectangle};
use crate::rows::{JobRows, Kinds, Loaded, Rows};
use crate::runtime::{Arg, Device, Grid, Kernel};
use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use zipfold_core::fold::BLOCK;
use zipfold_core::{Blame, Error, Job, Opt, Precision, Result};
use zipfold_plan::device::matrix::{self, Matrix};
use zipfold_plan::device::open_pairs::LazyPairs;
use zipfold_plan::device::{self, Blocks, DeviceWork, Facts, OnDevice, Runtime};
use zipfold_plan::executor::{Executor, Folded, Nowhere, Sink, Stop};
use zipfold_plan::overrides::MatrixUnits;
use zipfold_plan::overrides::Residency;
use zipfold_plan::{Plan, Tile};

/// A job loaded on a device.
pub struct Engine<'j> {
    /// The question that is swept: about all pairs, where groups are asked for.
    job: Cow<'j, Job>,
    device: Device,
    precision: Precision,
    rows: Rows<'j>,
    family: Family<'j>,
    /// The rows in an order of their own, and those of a group, where bounds leave out pairs.
    sorted: Option<(Arc<LazyPairs<'j>>, usize)>,
    /// What is asked, where that is about groups.
    groups: Option<Groups<'j>>,
    /// One user at a time: kernels share memory for their results.
    turn: Mutex<()>,
}

enum Family<'j> {
    /// The device computes a matrix by register-blocked tiles.
    Dense(Box<Dense<'j>>),
    /// The device folds, one fold after another.
    Points(Vec<Points<'j>>),
    /// The device computes so many numbers a pair, the host folds.
    Values(Kernel, usize),
}

impl<'j> Family<'j> {
    /// Compiles the kernels of `work`.
    fn compile(
        job: &Cow<'j, Job>,
        work: &DeviceWork,
        (precision, rows): (Precision, Residency),
        device: &Device,
    ) -> Result<Self> {
        Ok(match work {
            DeviceWork::Matrix(work) => {
                let Cow::Borrowed(job) = job else {
                    return Err(Error::internal("a matrix by groups"));
                };
                Family::Dense(Box::new(Dense::load(job, work, precision, rows, device)?))
            }
            DeviceWork::Sweeps(folds) => {
                let parts = by_fold(job).into_iter().zip(folds);
                let load = |(part, sweeps)| Points::load(part, sweeps, rows, device);
                Family::Points(parts.map(load).collect::<Result<_>>()?)
            }
            DeviceWork::Values => Self::values(job, precision, rows, device)?,
        })
    }
    fn values(job: &Job, precision: Precision, rows: Residency, device: &Device) -> Result<Self> {
        let low = &job.low;
        let source = values::source(job, precision, device.facts.runtime, rows);
        let mut kernels = device.compile(&source, &["zf_values"])?;
        let kernel = kernels
            .pop()
            .ok_or_else(|| Error::internal("no kernel was compiled"))?;
        Ok(Family::Values(
            kernel,
            (0..low.formula.roots.len())
                .map(|r| low.formula.width(r, low.dim))
                .sum(),
        ))
    }
}

/// Jobs of one fold each, of which `job` consists.
fn by_fold<'j>(job: &Cow<'j, Job>) -> Vec<Cow<'j, Job>> {
    match job {
        Cow::Borrowed(job) => device::parts(job),
        Cow::Owned(job) => {
            let own = |part: Cow<'_, Job>| Cow::Owned(part.into_owned());
            device::parts(job).into_iter().map(own).collect()
        }
    }
}

/// Bytes of values that one launch leaves in device memory for the host to fold.
const VALUES_AT_A_TIME: usize = 64 << 20;

impl<'j> Engine<'j> {
    /// Hoists and uploads the rows of `job`, or of block `at` of several devices, and compiles its
    /// kernels. `sorted` has the rows where the plan leaves out pairs by bounds.
    ///
    /// # Errors
    /// `Device` and `Resource` of the device; `Request` for more rows than kernels number.
    pub fn load(
        job: &'j Job,
        plan: &Plan,
        (device, at): (Device, usize),
        sorted: Option<Arc<LazyPairs<'j>>>,
    ) -> Result<Self> {
        if job.space.n.max(job.space.m) >= 1 << 31 {
            let e = Error::request(format!("{} rows", job.space.n.max(job.space.m)))
                .limit("2147483647 rows on a device");
            return Err(e.remedy(format!(
                "{}, or smaller shares of the rows",
                Opt::Device.to("cpu")
            )));
        }
        let Some(OnDevice {
            rows, work, pruned, ..
        }) = &plan.device
        else {
            return Err(Error::internal("a plan for the host on a device"));
        };
        if pruned.is_some() != sorted.is_some() {
            return Err(Error::internal(
                "sorted rows and a plan without pruning, or neither",
            ));
        }
        let (groups, job) = Groups::new(job)?;
        let folds = matches!(work, DeviceWork::Sweeps(_));
        // Filters decide in single precision what they can, in double precision the rest.
        let precision = if folds {
            Precision::F64
        } else {
            plan.precision
        };
        check_double(&device.facts, precision)?;
        let kinds = kinds(work, precision);
        let block = Blocks::new(&job, plan).map(|blocks| blocks.window(at));
        let of = JobRows::new(job.clone(), sorted.clone());
        // Kernels are compiled by one thread while the others sort and pack the rows.
        let (held, family) = rayon::join(
            || Rows::load(of.clone(), (*rows, block), &device, kinds),
            || Family::compile(&job, work, (precision, *rows), &device),
        );
        let (held, mut family) = (held?, family?);
        if let Family::Points(folds) = &mut family {
            folds
                .iter_mut()
                .try_for_each(|points| points.arrange(&of, &device))?;
        }
        Ok(Engine {
            job,
            device,
            precision,
            rows: held,
            family,
            sorted: sorted.zip(pruned.map(|pruned| pruned.group)),
            groups,
            turn: Mutex::new(()),
        })
    }
    /// The facts of the device.
    pub fn facts(&self) -> &Facts {
        &self.device.facts
    }
    fn attempt(&self, tiles: &[Tile], sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        match (&self.family, self.precision) {
            (Family::Dense(d), Precision::F32) => {
                d.run::<f32>(&self.device, &self.rows, tiles, sink)
            }
            (Family::Dense(d), Precision::F64) => {
                d.run::<f64>(&self.device, &self.rows, tiles, sink)
            }
            (Family::Points(folds), _) => match (&self.sorted, &self.groups) {
                (None, None) => self.by_folds(folds, tiles),
                (None, Some(groups)) => groups.run(tiles, |tiles| {
                    stop.check()?;
                    self.by_folds(folds, tiles)
                }),
                (Some((sorted, group)), _) => {
                    let open = OpenSweep {
                        device: &self.device,
                        rows: &self.rows,
                        sorted: &****sorted,
                        group: *group,
                        stop,
                    };
                    open.run(folds, tiles)
                }
            },
            // Groups have states that values in the order of tiles would not fill.
            (Family::Values(..), _) if self.groups.is_some() => Err(Error::internal(
                "expected kernels that fold the pairs of groups, got kernels of values",
            )),
            (Family::Values(kernel, parts), Precision::F32) => {
                self.by_values::<f32>(kernel, *parts, tiles, sink)
            }
            (Family::Values(kernel, parts), Precision::F64) => {
                self.by_values::<f64>(kernel, *parts, tiles, sink)
            }
        }
    }
    /// Seconds of the kernels of `tiles`, `launches` times in a row, a launch. Dense results stay
    /// on the device, in memory that is there before. For measurements.
    ///
    /// # Errors
    /// Those of the device.
    pub fn time(&self, tiles: &[Tile], launches: usize) -> Result<f64> {
        let rooms = match &self.family {
            Family::Dense(d) => tiles
                .iter()
                .map(|t| d.room(&self.device, t))
                .collect::<Result<Vec<_>>>()?,
            _ => vec![],
        };
        self.device.finish()?;
        let start = std::time::Instant::now();
        for _ in 0..launches {
            match &self.family {
                Family::Dense(d) => {
                    let mut each = tiles.iter().zip(&rooms);
                    each.try_for_each(|(tile, room)| {
                        d.launch(
                            &self.device,
                            self.rows.window(&self.device, tile)?.get(),
                            tile,
                            room,
                        )
                    })?;
                }
                _ => {
                    self.run(tiles, &Nowhere, Stop::default())?;
                }
            }
        }
        self.device.finish()?;
        Ok(start.elapsed().as_secs_f64() / launches.max(1) as f64)
    }
    /// What the device does: `dense`, `points` (with a filter in single precision or without),
    /// `values`.
    pub fn family(&self) -> &'static str {
        match &self.family {
            Family::Dense(_) => "dense",
            Family::Points(folds) if folds.iter().all(|p| p.filtered) => "points, filtered",
            Family::Points(_) => "points",
            Family::Values(..) => "values",
        }
    }
    /// Family *points*: all pairs for every fold in turn.
    fn by_folds(&self, folds: &[Points<'_>], tiles: &[Tile]) -> Result<Folded> {
        let mut out: Option<Folded> = None;
        for points in folds {
            let one = points.run(&self.device, &self.rows, tiles)?;
            out = Some(match out {
                None => one,
                Some(mut all) => {
                    all.states.extend(one.states);
                    // Each fold left out the same pairs, and may have met a NaN of its own.
                    let first = [all.tally.first_nan, one.tally.first_nan];
                    all.tally.first_nan = first.into_iter().flatten().min();
                    all
                }
            });
        }
        out.ok_or_else(|| Error::internal("a job without folds"))
    }
    /// Family *values*: the device computes, the host folds.
    fn by_values<T: Number>(
        &self,
        kernel: &Kernel,
        parts: usize,
        tiles: &[Tile],
        sink: &dyn Sink,
    ) -> Result<Folded> {
        let mut host = Host::new(&self.job, tiles);
        self.rows.each(&self.device, tiles, &mut |tile, loaded| {
            let line = tile.cols.len().max(1) * parts.max(1) * size_of::<T>();
            let step = (VALUES_AT_A_TIME / line / BLOCK).max(1) * BLOCK;
            let mut from = tile.rows.start;
            while from < tile.rows.end {
                let to = ((from / BLOCK) * BLOCK + step).min(tile.rows.end);
                let rectangle =
                    self.rectangle::<T>((kernel, loaded), parts, from..to, tile.cols.clone())?;
                host.rectangle(&rectangle, sink)?;
                from = to;
            }
            host.end_tile();
            Ok(())
        })?;
        Ok(host.finish())
    }
    fn rectangle<T: Number>(
        &self,
        (kernel, loaded): (&Kernel, &Loaded),
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
        let mut args = loaded.inputs(self.precision)?;
        args.push(Arg::Memory(&out));
        args.extend([rows.start, rows.len(), cols.start, cols.len()].map(|v| Arg::U32(v as u32)));
        self.device.launch(kernel, grid, &args)?;
        self.device.read(&out, &mut items)?;
        Ok(Rectangle { rows, cols, items })
    }
}

impl Executor for Engine<'_> {
    fn run(&self, tiles: &[Tile], sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        stop.check()?;
        let _turn = self
            .turn
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut work = tiles.to_vec();
        // Sums by row are cut between spans alone, which keeps their bits.
        let least = zipfold_plan::sweep::span(&self.job).unwrap_or(BLOCK);
        loop {
            match self.attempt(&work, sink, stop) {
                // Out of device memory: nothing of the batch counts yet, so it begins again in
                // smaller tiles.
                Err(e)
                    if e.blame() == Blame::Resource
                        && work.iter().any(|t| t.rows.len().max(t.cols.len()) > least) =>
                {
                    work = work
                        .iter()
                        .flat_map(|tile| halves(tile, least, self.sorted.is_some()))
                        .collect();
                }
                other => return other,
            }
        }
    }
    fn devices(&self) -> usize {
        1
    }
    fn backend(&self) -> String {
        self.device.facts.id()
    }
}

/// A tile in two, its longer side cut at a multiple of `least`; `by_rows` the rows as long as there
/// are some, since pruned rows meet all columns at once.
fn halves(tile: &Tile, least: usize, by_rows: bool) -> Vec<Tile> {
    let (rows, cols) = (&tile.rows, &tile.cols);
    let middle = |side: &Range<usize>| side.start + side.len().div_ceil(least) / 2 * least;
    if rows.len().max(cols.len()) <= least {
        return vec![tile.clone()];
    }
    if rows.len() >= cols.len() || by_rows && rows.len() > least {
        let part = |rows| Tile {
            rows,
            cols: cols.clone(),
        };
        return vec![part(rows.start..middle(rows)), part(middle(rows)..rows.end)];
    }
    let part = |cols| Tile {
        rows: rows.clone(),
        cols,
    };
    vec![part(cols.start..middle(cols)), part(middle(cols)..cols.end)]
}

/// Whether a device of these facts computes in `precision`.
///
/// # Errors
/// `Device` for one of single precision only.
pub fn check_double(facts: &Facts, precision: Precision) -> Result<()> {
    if facts.double || precision == Precision::F32 {
        return Ok(());
    }
    Err(single_only(facts).remedy(format!(
        "{} for a matrix, or {}",
        Opt::Precision.to("f32"),
        Opt::Device.to("cpu")
    )))
}

/// A device without double precision.
pub(crate) fn single_only(facts: &Facts) -> Error {
    Error::device(format!(
        "{} ({}) computes in single precision only",
        facts.id(),
        facts.name
    ))
    .at_place(Opt::Device)
}

/// The kernels of `plan` for `job`, readable and compilable by themselves: names of families and
/// sources. Needs no device.
///
/// # Errors
/// `Internal` for a plan for the host.
pub fn sources(job: &Job, plan: &Plan, runtime: Runtime) -> Result<Vec<(String, String)>> {
    let Some(OnDevice { rows, work, .. }) = &plan.device else {
        return Err(Error::internal("a plan for the host on a device"));
    };
    let one = |name: &str, source| Ok(vec![(name.to_string(), source)]);
    match work {
        DeviceWork::Matrix(work) => one(
            "dense",
            dense::source(job, work, plan.precision, runtime, *rows)?,
        ),
        DeviceWork::Values => one(
            "values",
            values::source(job, plan.precision, runtime, *rows),
        ),
        DeviceWork::Sweeps(folds) => {
            let parts = device::parts(job);
            let passes = parts.iter().zip(folds).flat_map(|(part, sweeps)| {
                let of_pass = move |shape| (part, sweeps, shape);
                sweeps.passes.iter().map(of_pass)
            });
            let made = passes.map(|(part, sweeps, shape)| {
                let source = points::source(part, sweeps, shape, runtime, *rows)?;
                Ok((format!("points, anchors {:?}", shape.anchor), source))
            });
            made.collect()
        }
    }
}

/// One text of programs that are compiled apart, as [`sources`] returns them. They define the same
/// names: `ZF_PROGRAM` says which one a compiler reads, the first where nothing says it.
pub fn text_of(sources: &[(String, String)]) -> String {
    let each = || {
        sources
            .iter()
            .map(|(name, source)| format!("// Family {name}.\n{source}"))
    };
    if sources.len() < 2 {
        return each().collect();
    }
    let last = sources.len();
    let mut text = format!(
        "// Programs that are compiled apart: define ZF_PROGRAM as 1 to {last}.\n\
         #ifndef ZF_PROGRAM\n#define ZF_PROGRAM 1\n#endif\n"
    );
    for (at, program) in each().enumerate() {
        let number = at + 1;
        let _ = writeln!(text, "#if ZF_PROGRAM == {number}\n{program}\n#endif");
    }
    text
}

/// The precisions that the kernels of `work` read.
fn kinds(work: &DeviceWork, precision: Precision) -> Kinds {
    let products = match work {
        DeviceWork::Matrix(Matrix {
            kernel: matrix::MatrixKernel::Products(shape),
            ..
        }) => Some(ProductRows::Plain {
            input: shape.input,
            paired: shape.units == MatrixUnits::Warps,
        }),
        DeviceWork::Sweeps(folds) => {
            let mut found = folds.iter().filter_map(|sweeps| {
                let products = sweeps.products.as_ref()?;
                Some(ProductRows::Scaled {
                    rounding: Arc::new(products.rounding.clone()),
                    paired: sweeps.has_paired_rows(),
                })
            });
            found.next()
        }
        DeviceWork::Matrix(_) | DeviceWork::Values => None,
    };
    let folds = matches!(work, DeviceWork::Sweeps(_));
    let layout = if folds && products.is_some() {
        Layout::Fours
    } else {
        Layout::Columns
    };
    Kinds {
        wide: (precision == Precision::F64 && (folds || products.is_none())).then_some(layout),
        narrow: (precision == Precision::F32 || folds) && products.is_none(),
        products,
    }
}

/// The numbers of all roots of `job` for all pairs, in double precision: by part, then row-major.
/// For tests of generated code.
///
/// # Errors
/// Those of the device.
pub fn values_of(device: &Device, job: &Job) -> Result<Vec<f64>> {
    let source = values::source(job, Precision::F64, device.facts.runtime, Residency::Held);
    let kernels = device.compile(&source, &["zf_values"])?;
    let kinds = Kinds {
        wide: Some(Layout::Columns),
        narrow: false,
        products: None,
    };
    let loaded = Loaded::all(&JobRows::new(Cow::Borrowed(job), None), device, &kinds)?;
    let (n, m) = (job.space.n, job.space.m);
    let parts: usize = (0..job.low.formula.roots.len())
        .map(|r| job.low.formula.width(r, job.low.dim))
        .sum();
    let mut items = vec![0.0; parts * n * m];
    let memory = device.allocate(items.len() * 8)?;
    let mut args = loaded.inputs(Precision::F64)?;
    args.push(Arg::Memory(&memory));
    args.extend([0, n, 0, m].map(|v| Arg::U32(v as u32)));
    let grid = Grid {
        x: (m as u32).div_ceil(values::THREADS),
        y: n as u32,
        threads: values::THREADS,
    };
    device.launch(&kernels[0], grid, &args)?;
    device.read(&memory, &mut items)?;
    Ok(items)
}
