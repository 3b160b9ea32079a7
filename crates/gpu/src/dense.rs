//! Family *dense* on the host's side: launches tiles, brings matrices home row by row.

use crate::emit::cells;
use crate::emit::dense::{self as text, Copying, Shape};
use crate::emit::maps::{Map, Placing, Root};
use crate::emit::matrix;
use crate::emit::{header, loads};
use crate::engine::Number;
use crate::rows::{self, Loaded, Rows};
use crate::runtime::{Arg, Device, Grid, Kernel, Mark, Memory, PIECE};
use crate::twin::maps;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};
use zipfold_core::fold::{Fold, State, Tally, Written};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Cells, Error, Job, Precision, Result};
use zipfold_plan::device::Runtime;
use zipfold_plan::executor::{Folded, Sink};
use zipfold_plan::half::Half;
use zipfold_plan::overrides::{DenseInput, DeviceFamily};
use zipfold_plan::{Plan, Tile};

/// A matrix on the device.
pub struct Dense<'j> {
    job: &'j Job,
    precision: Precision,
    /// Rows are multiplied as 16-bit numbers.
    half: Option<Half>,
    /// For whole rectangles (half spaces: values go to their transposed place too).
    cross: Pass,
    /// For tiles on the diagonal of a half space.
    triangle: Option<Pass>,
}

/// A kernel, and how its grid covers a tile.
struct Pass {
    kernel: Kernel,
    placing: Placing,
    /// Rows and columns of cells of what a place of the map stands for.
    side: usize,
    threads: u32,
    /// Rows of tiles by λ, and for how many rows of tiles.
    table: Mutex<Option<(u32, Memory)>>,
}

/// Whether `job` is one matrix of numbers.
pub fn is_dense(job: &Job) -> bool {
    let number = match job.folds.as_slice() {
        [Fold::Dense(f)] => job.low.formula.width(f.root, job.low.dim) == 1,
        _ => false,
    };
    number && job.near_root.is_none() && job.nan != NanPolicy::Skip
}

/// Whether slices of components are reused; otherwise a thread computes whole cells.
fn is_blocked(job: &Job, plan: &Plan) -> bool {
    text::fits(job) && plan.choices.device_family != Some(DeviceFamily::Cells)
}

/// The 16-bit numbers as which `plan` has rows multiplied.
pub fn half(plan: &Plan) -> Option<Half> {
    match plan.choices.dense_input? {
        DenseInput::F32 => None,
        DenseInput::F16 => Some(Half::F16),
        DenseInput::Bf16 => Some(Half::Bf16),
    }
}

fn is_mirrored(job: &Job) -> bool {
    job.folds[0].dense().is_some_and(|f| f.is_mirrored(&job.space))
}

/// `placing`, where blocks find tiles.
fn by_block(placing: Placing) -> Result<Placing> {
    if placing.by_thread {
        let e = Error::request("a thread has many cells here").at("--set tile.by");
        return Err(e.remedy("--set tile.by=block, or --set device.family=cells"));
    }
    Ok(placing)
}

/// The shape of the kernel of whole rectangles.
///
/// # Errors
/// `Request` for settings that make no sense.
pub fn shape(job: &Job, plan: &Plan, runtime: Runtime) -> Result<Shape> {
    let (low, precision, choices) = (&job.low, plan.precision, &plan.choices);
    let mirror = is_mirrored(job);
    let single = precision == Precision::F32;
    let piped = single && runtime == Runtime::Cuda;
    // OpenCL has no copies that run on their own; double precision waits for its arithmetic, not for its slices.
    let stages = choices.dense_stages.map_or(if piped { 3 } else { 0 }, |v| v.get());
    let copy = if stages < 2 { Copying::Ahead } else { Copying::Pipe(stages) };
    let across = choices.dense_across.map_or(8, |v| v.get());
    let (slice, blocks) = match copy {
        Copying::Ahead => (text::default_slice(low, precision), if single && !mirror { 2 } else { 1 }),
        // Second accumulators take the registers of a second block.
        Copying::Pipe(_) => {
            (text::pipe_slice(low, precision, stages), if text::carries(low, precision) { 1 } else { 2 })
        }
    };
    let slice = choices.dense_slice.map_or(slice, |v| v.get());
    let blocks = choices.dense_blocks.map_or(blocks, |v| v.get());
    let load = loads::chosen(plan, precision)?;
    let unroll = choices.dense_unroll.map_or(slice, |v| v.get());
    let shape = Shape { precision, slice, copy, across, blocks, map: Placing::CROSS, mirror, load, unroll };
    if !slice.is_power_of_two() || slice < 2 || text::shared_bytes(low, &shape) > 48 << 10 {
        let e = Error::request(format!("{slice} components a slice")).at("--set dense.slice");
        return Err(e.limit("48 KiB of shared memory").remedy("a smaller power of two, or fewer --set dense.stages"));
    }
    Ok(shape)
}

/// The source of the kernels `zf_cross` and, for half spaces, `zf_half`.
///
/// # Errors
/// `Request` for settings that make no sense.
pub fn source(job: &Job, plan: &Plan, runtime: Runtime) -> Result<String> {
    let root = match job.folds.as_slice() {
        [Fold::Dense(f)] => f.root,
        _ => return Err(Error::internal("a fold of rows in family dense")),
    };
    let triangle = if job.space.is_half() { Some(Placing::of(plan)?) } else { None };
    let named = [Some(("zf_cross", Placing::CROSS)), triangle.map(|placing| ("zf_half", placing))];
    let mut source = header(runtime) + &rows::panels(job, rows::is_streamed(plan));
    if let Some(half) = half(plan) {
        source += matrix::functions();
        for (name, placing) in named.into_iter().flatten() {
            source += &matrix::kernel(name, job, root, half, by_block(placing)?, is_mirrored(job));
        }
    } else if is_blocked(job, plan) {
        let whole = shape(job, plan, runtime)?;
        for (name, map) in named.into_iter().flatten() {
            source += &text::kernel(name, job, root, &Shape { map: by_block(map)?, ..whole });
        }
    } else {
        for (name, placing) in named.into_iter().flatten() {
            source += &cells::kernel(name, job, root, plan.precision, placing, is_mirrored(job));
        }
    }
    Ok(source)
}

impl<'j> Dense<'j> {
    /// Compiles the kernels of `job`; none where it does not fit.
    ///
    /// # Errors
    /// Those of the device and of the settings.
    pub fn load(job: &'j Job, plan: &Plan, device: &Device) -> Result<Option<Self>> {
        if !is_dense(job) || plan.choices.device_family == Some(DeviceFamily::Values) {
            return Ok(None);
        }
        let runtime = device.facts.runtime;
        let source = source(job, plan, runtime)?;
        let half = half(plan);
        let (side, threads) = match is_blocked(job, plan) {
            _ if half.is_some() => (matrix::TILE, matrix::THREADS),
            true => (text::TILE, shape(job, plan, runtime)?.threads()),
            false => (cells::TILE, cells::THREADS),
        };
        let names = if job.space.is_half() { &["zf_cross", "zf_half"][..] } else { &["zf_cross"] };
        let mut kernels = device.compile(&source, names)?.into_iter();
        let mut pass = |placing: Placing| {
            let side = if placing.by_thread { 1 } else { side };
            kernels.next().map(|kernel| Pass { kernel, placing, side, threads, table: Mutex::new(None) })
        };
        let cross = pass(Placing::CROSS).ok_or_else(|| Error::internal("no kernel was compiled"))?;
        let triangle = if job.space.is_half() { pass(Placing::of(plan)?) } else { None };
        Ok(Some(Dense { job, precision: plan.precision, half, cross, triangle }))
    }
    /// Writes the cells of `tiles` to their places. A tile comes home while the next one is computed.
    ///
    /// # Errors
    /// Those of the device and of the sink.
    pub fn run<T: Number>(&self, device: &Device, rows: &Rows<'_>, tiles: &[Tile], sink: &dyn Sink) -> Result<Folded> {
        let mut tally = Tally::default();
        let mut before = None;
        rows.each(device, tiles, &mut |tile, loaded| {
            let room = self.room(device, tile)?;
            self.launch(device, loaded, tile, &room)?;
            let done = (tile, room, device.mark()?);
            if let Some(made) = before.replace(done) {
                self.bring::<T>(device, made, sink)?;
            }
            tally.counted += self.job.space.count(&tile.rows, &tile.cols);
            Ok(())
        })?;
        if let Some(made) = before {
            self.bring::<T>(device, made, sink)?;
        }
        Ok(Folded { states: vec![State::Dense(Written)], tally })
    }
    /// Brings a tile home by groups of rows.
    fn bring<T: Number>(&self, device: &Device, (tile, room, mark): Made<'_>, sink: &dyn Sink) -> Result<()> {
        let turned = Tile { rows: tile.cols.clone(), cols: tile.rows.clone() };
        let condensed = self.job.folds[0].dense().is_some_and(|f| f.condensed);
        let mirror = room.1.iter().filter(|_| !condensed).map(|m| (&turned, m));
        for (tile, memory) in [(tile, &room.0)].into_iter().chain(mirror) {
            let (r, c) = (tile.rows.len(), tile.cols.len());
            let group = (PIECE / size_of::<T>() / c.max(1)).max(1);
            device.bring(memory, (r * c, group * c), &mark, &mut |from, items: &[T]| {
                self.put_rows(tile, tile.rows.start + from / c, items, sink)
            })?;
        }
        Ok(())
    }
    /// Device memory for a tile and, beside the diagonal of a half space, its transpose.
    ///
    /// # Errors
    /// `Resource` when there is not as much.
    pub fn room(&self, device: &Device, tile: &Tile) -> Result<(Memory, Option<Memory>)> {
        let bytes = tile.rows.len() * tile.cols.len() * self.precision.bytes();
        let turned = self.triangle.is_some() && tile.rows != tile.cols;
        Ok((device.allocate(bytes)?, if turned { Some(device.allocate(bytes)?) } else { None }))
    }
    /// Computes a tile into its `room`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn launch(
        &self,
        device: &Device,
        loaded: &Loaded,
        tile: &Tile,
        (out, mirror): &(Memory, Option<Memory>),
    ) -> Result<()> {
        let (r, c) = (tile.rows.len(), tile.cols.len());
        if r * c == 0 {
            return Ok(());
        }
        let on_diagonal = tile.rows == tile.cols;
        match &self.triangle {
            Some(pass) if on_diagonal => {
                let across = c.div_ceil(pass.side) as u32;
                for (x, y, launch) in pass.placing.grids(across) {
                    let grid = Grid { x, y, threads: pass.threads };
                    self.start((device, loaded), pass, tile, [out, out], grid, (across, launch))?;
                }
                Ok(())
            }
            _ => {
                let pass = &self.cross;
                let (down, across) = (r.div_ceil(pass.side) as u32, c.div_ceil(pass.side) as u32);
                let grid = Grid { x: across, y: down, threads: pass.threads };
                let second = mirror.as_ref().unwrap_or(out);
                self.start((device, loaded), pass, tile, [out, second], grid, (across, 0))
            }
        }
    }
    fn start(
        &self,
        (device, loaded): (&Device, &Loaded),
        pass: &Pass,
        tile: &Tile,
        out: [&Memory; 2],
        grid: Grid,
        (across, launch): (u32, u32),
    ) -> Result<()> {
        let mut args = if self.half.is_some() { loaded.halves()? } else { loaded.inputs(self.precision)? };
        args.extend(out.map(Arg::Memory));
        let mut table = pass.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.as_ref().is_none_or(|(rows, _)| *rows != across) {
            let made = if pass.placing.map == Map::Ltm(Root::Table) { maps::table(across) } else { vec![] };
            *table = Some((across, device.upload(&made)?));
        }
        args.extend(table.as_ref().map(|(_, memory)| Arg::Memory(memory)));
        let sides = [tile.rows.start, tile.rows.len(), tile.cols.start, tile.cols.len()];
        args.extend(sides.map(|v| Arg::U32(v as u32)));
        args.extend([Arg::U32(across), Arg::U32(launch)]);
        device.launch(&pass.kernel, grid, &args)
    }
    /// Puts whole rows of a tile, from row `first` on.
    fn put_rows<T: Number>(&self, tile: &Tile, first: usize, items: &[T], sink: &dyn Sink) -> Result<()> {
        let job = self.job;
        let Some(fold) = job.folds[0].dense() else { return Err(Error::internal("a matrix without its fold")) };
        let cols = &tile.cols;
        let hollow = matches!(job.space.cells, Cells::Triangle | Cells::Ordered);
        items.par_chunks(cols.len().max(1)).enumerate().try_for_each(|(at, line)| {
            let i = first + at;
            let from = if fold.condensed { (i + 1).clamp(cols.start, cols.end) } else { cols.start };
            let line = &line[from - cols.start..];
            if !line.is_empty() {
                sink.put(0, fold.place(&job.space, i, from), T::values(line))?;
            }
            if !fold.condensed && hollow && cols.contains(&i) {
                sink.put(0, fold.place(&job.space, i, i), T::values(&[T::NAN]))?;
            }
            Ok(())
        })
    }
}

/// A tile, where its results are, and the mark behind its work.
type Made<'t> = (&'t Tile, (Memory, Option<Memory>), Mark);
