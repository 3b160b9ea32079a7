//! Family *dense* on the host's side: launches tiles, brings matrices home row by row.

use crate::emit::dense::{self as text, Copying, Shape, TILE};
use crate::emit::{header, maps::Map};
use crate::engine::{Loaded, Number, Part, Put};
use crate::points::{chosen, counted};
use crate::runtime::{Arg, Device, Grid, Kernel, Memory};
use rayon::prelude::*;
use zipfold_core::fold::{Fold, State, Tally};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Cells, Error, Job, Precision, Result};
use zipfold_plan::device::Runtime;
use zipfold_plan::{Plan, Tile};

/// A matrix on the device.
pub struct Dense<'j> {
    job: &'j Job,
    precision: Precision,
    threads: u32,
    /// For whole rectangles (half spaces: values go to their transposed place too).
    cross: Kernel,
    /// For tiles on the diagonal of a half space.
    half: Option<(Kernel, Map)>,
}

/// Whether `job` is one matrix of a formula that fits.
pub fn is_dense(job: &Job) -> bool {
    let one = matches!(job.folds.as_slice(), [Fold::Matrix { .. } | Fold::Condensed { .. }]);
    one && job.near_root.is_none() && job.nan != NanPolicy::Skip && text::fits(job)
}

fn map(plan: &Plan) -> Result<Map> {
    plan.choices.get("tile.map").map_or(Ok(Map::Rb), |name| Map::parse(name))
}

/// The shape of the kernel of whole rectangles.
///
/// # Errors
/// `Request` for settings that make no sense.
pub fn shape(job: &Job, plan: &Plan, runtime: Runtime) -> Result<Shape> {
    let (low, precision) = (&job.low, plan.precision);
    let mirror = job.space.is_half() && matches!(job.folds[0], Fold::Matrix { .. });
    let single = precision == Precision::F32;
    let piped = single && runtime == Runtime::Cuda;
    // OpenCL has no copies that run on their own; double precision waits for its arithmetic, not for its slices.
    let stages = counted(plan, "dense.stages", if piped { 3 } else { 0 }, 4)?;
    let copy = if stages < 2 { Copying::Ahead } else { Copying::Pipe(stages) };
    let wide = piped && text::is_light(low, precision);
    let across = chosen(plan, "dense.across", if wide { 16 } else { 8 }, 16)?;
    let (slice, blocks) = match copy {
        Copying::Ahead => (text::default_slice(low, precision), if single && !mirror { 2 } else { 1 }),
        Copying::Pipe(_) => (text::pipe_slice(low, precision, stages), if across == 16 { 2 } else { 1 }),
    };
    let slice = chosen(plan, "dense.slice", slice, 32)?;
    let blocks = chosen(plan, "dense.blocks", blocks, 4)?;
    if !matches!(across, 8 | 16) {
        let e = Error::request(format!("{across} columns a thread")).at("--set dense.across");
        return Err(e.remedy("8 or 16"));
    }
    let shape = Shape { precision, slice, copy, across, blocks, map: Map::Cross, mirror };
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
        [Fold::Matrix { root } | Fold::Condensed { root }] => *root,
        _ => return Err(Error::internal("a fold of rows in family dense")),
    };
    let whole = shape(job, plan, runtime)?;
    let mut source = header(runtime) + &text::kernel("zf_cross", job, root, &whole);
    if job.space.is_half() {
        source += &text::kernel("zf_half", job, root, &Shape { map: map(plan)?, ..whole });
    }
    Ok(source)
}

impl<'j> Dense<'j> {
    /// Compiles the kernels of `job`; none where it does not fit.
    ///
    /// # Errors
    /// Those of the device and of the settings.
    pub fn load(job: &'j Job, plan: &Plan, device: &Device) -> Result<Option<Self>> {
        if !is_dense(job) || plan.choices.get("family").is_some_and(|f| f == "values") {
            return Ok(None);
        }
        let source = source(job, plan, device.facts.runtime)?;
        let threads = shape(job, plan, device.facts.runtime)?.threads();
        let names = if job.space.is_half() { &["zf_cross", "zf_half"][..] } else { &["zf_cross"] };
        let mut kernels = device.compile(&source, names)?.into_iter();
        let Some(cross) = kernels.next() else { return Err(Error::internal("no kernel was compiled")) };
        let map = map(plan)?;
        Ok(Some(Dense { job, precision: plan.precision, threads, cross, half: kernels.next().map(|k| (k, map)) }))
    }
    /// Writes the cells of `tiles` to their places.
    ///
    /// # Errors
    /// Those of the device and of `put`.
    pub fn run<T: Number>(&self, device: &Device, loaded: &Loaded, tiles: &[Tile], put: &Put<'_>) -> Result<Part> {
        let mut tally = Tally::default();
        for tile in tiles {
            let (out, mirror) = self.launch(device, loaded, tile)?;
            let (r, c) = (tile.rows.len(), tile.cols.len());
            let mut items = vec![T::default(); r * c];
            device.read(&out, &mut items)?;
            self.put_rows(tile, &mut items, put)?;
            if let (Some(mirror), Fold::Matrix { .. }) = (&mirror, &self.job.folds[0]) {
                device.read(mirror, &mut items)?;
                let turned = Tile { rows: tile.cols.clone(), cols: tile.rows.clone() };
                self.put_rows(&turned, &mut items, put)?;
            }
            tally.counted += self.job.space.count(&tile.rows, &tile.cols);
        }
        Ok(Part { states: vec![State::Written], tally })
    }
    /// Computes a tile; the results stay on the device: the tile and, beside the diagonal of a half space, its transpose.
    ///
    /// # Errors
    /// Those of the device.
    pub fn launch(&self, device: &Device, loaded: &Loaded, tile: &Tile) -> Result<(Memory, Option<Memory>)> {
        let (r, c) = (tile.rows.len(), tile.cols.len());
        let bytes = r * c * self.precision.bytes();
        let out = device.allocate(bytes)?;
        if r * c == 0 {
            return Ok((out, None));
        }
        let (down, across) = (r.div_ceil(TILE) as u32, c.div_ceil(TILE) as u32);
        let on_diagonal = tile.rows == tile.cols;
        match &self.half {
            Some((kernel, map)) if on_diagonal => {
                for (x, y, launch) in map.grids(across) {
                    self.start(
                        device,
                        loaded,
                        kernel,
                        tile,
                        [&out, &out],
                        Grid { x, y, threads: self.threads },
                        (across, launch),
                    )?;
                }
                Ok((out, None))
            }
            half => {
                let mirror = if half.is_some() { Some(device.allocate(bytes)?) } else { None };
                let grid = Grid { x: across, y: down, threads: self.threads };
                let second = mirror.as_ref().unwrap_or(&out);
                self.start(device, loaded, &self.cross, tile, [&out, second], grid, (across, 0))?;
                Ok((out, mirror))
            }
        }
    }
    #[allow(clippy::too_many_arguments, reason = "the kernel's own parameters")]
    fn start(
        &self,
        device: &Device,
        loaded: &Loaded,
        kernel: &Kernel,
        tile: &Tile,
        out: [&Memory; 2],
        grid: Grid,
        (across, launch): (u32, u32),
    ) -> Result<()> {
        let mut args = loaded.inputs(self.precision)?;
        args.extend(out.map(Arg::Memory));
        let sides = [tile.rows.start, tile.rows.len(), tile.cols.start, tile.cols.len()];
        args.extend(sides.map(|v| Arg::U32(v as u32)));
        args.extend([Arg::U32(across), Arg::U32(launch)]);
        device.launch(kernel, grid, &args)
    }
    fn put_rows<T: Number>(&self, tile: &Tile, items: &mut [T], put: &Put<'_>) -> Result<()> {
        let job = self.job;
        let (n, m, c) = (job.space.n, job.space.m, tile.cols.len());
        if c == 0 {
            return Ok(());
        }
        let lines = items.par_chunks_mut(c).enumerate();
        let hollow = matches!(job.space.cells, Cells::Triangle | Cells::Ordered);
        lines.try_for_each(|(at, line)| {
            let i = tile.rows.start + at;
            match job.folds[0] {
                Fold::Condensed { .. } => {
                    let from = (i + 1).clamp(tile.cols.start, tile.cols.end);
                    let line = &line[from - tile.cols.start..];
                    if line.is_empty() {
                        Ok(())
                    } else {
                        put(0, n * i - i * (i + 1) / 2 + from - i - 1, T::values(line))
                    }
                }
                _ => {
                    if hollow && tile.cols.contains(&i) {
                        line[i - tile.cols.start] = T::NAN;
                    }
                    put(0, i * m + tile.cols.start, T::values(line))
                }
            }
        })
    }
}
