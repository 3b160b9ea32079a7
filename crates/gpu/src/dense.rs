//! Family *dense* on the host's side: launches tiles of a matrix, and copies each back row by row.
//!
//! ```text
//! load:  text of the kernels of the planned form (blocks, products, whole pairs) → compile
//! run:   for each tile
//!            room on the device for it, and for its transpose next to the diagonal of a half space
//!            launch: tiles on the diagonal by the triangle's grids and map, others by rectangles
//!            copy back the tile before, in groups of rows; put the rows into the sink
//!        copy back the last tile
//! ```
//!
//! Why this shape: copies take as long as kernels, so a tile is copied while the next one is
//! computed; two tiles are on the device at a time. A tile of a half space is computed once and
//! stored twice, transposed on the device, where a transpose costs less than on the host.

use crate::emit::dense as text;
use crate::emit::header;
use crate::emit::maps::{Map, Placing, Root};
use crate::emit::matrix as products;
use crate::emit::panels;
use crate::emit::whole_pairs;
use crate::rectangle::Number;
use crate::rows::{Loaded, Rows};
use crate::runtime::{Arg, Device, Grid, Kernel, Mark, Memory, PIECE};
use crate::twin::maps;
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};
use zipfold_core::fold::{Fold, State, Tally, Written};
use zipfold_core::{Domain, Error, Job, Precision, Result};
use zipfold_plan::Tile;
use zipfold_plan::device::Runtime;
use zipfold_plan::device::matrix::{self, Matrix, MatrixShape};
use zipfold_plan::executor::{Folded, Sink};
use zipfold_plan::overrides::Residency;

/// A matrix on the device.
pub struct Dense<'j> {
    job: &'j Job,
    precision: Precision,
    /// Rows are multiplied by matrix units.
    multiplied: bool,
    /// For whole rectangles (half spaces: values go to their transposed place too).
    cross: MatrixPass,
    /// For tiles on the diagonal of a half space.
    triangle: Option<MatrixPass>,
}

/// A kernel, and how its grid covers a tile.
struct MatrixPass {
    kernel: Kernel,
    placing: Placing,
    /// Rows and columns of pairs of what a place of the map stands for.
    side: usize,
    threads: u32,
    /// Rows of tiles by λ, and for how many rows of tiles.
    table: Mutex<Option<(u32, Memory)>>,
}

fn is_mirrored(job: &Job) -> bool {
    job.folds[0]
        .dense()
        .is_some_and(|f| f.is_mirrored(&job.space))
}

/// The source of the kernels `zf_cross` and, for half spaces, `zf_half`.
///
/// # Errors
/// `Internal` for a job that is no matrix.
pub fn source(
    job: &Job,
    work: &Matrix,
    precision: Precision,
    runtime: Runtime,
    rows: Residency,
) -> Result<String> {
    let [Fold::Dense(fold)] = job.folds.as_slice() else {
        return Err(Error::internal("a fold of rows in family dense"));
    };
    let root = fold.root;
    let named = [
        Some(("zf_cross", Placing::CROSS)),
        work.triangle.map(|placing| ("zf_half", placing)),
    ];
    let mut source = header(runtime) + &panels::panels(job, rows);
    if let matrix::MatrixKernel::Products(shape) = work.kernel {
        source += &products::functions(shape.input, shape.units);
    }
    for (name, map) in named.into_iter().flatten() {
        source += &match work.kernel {
            matrix::MatrixKernel::Products(shape) => {
                products::kernel(name, job, root, &shape, map, is_mirrored(job))
            }
            matrix::MatrixKernel::Blocks(shape) => {
                text::kernel(name, job, root, &MatrixShape { map, ..shape })
            }
            matrix::MatrixKernel::Pairs => {
                whole_pairs::kernel(name, job, root, precision, map, is_mirrored(job))
            }
        };
    }
    Ok(source)
}

impl<'j> Dense<'j> {
    /// Compiles the kernels of `work`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn load(
        job: &'j Job,
        work: &Matrix,
        precision: Precision,
        rows: Residency,
        device: &Device,
    ) -> Result<Self> {
        let source = source(job, work, precision, device.facts.runtime, rows)?;
        let (shared, threads) = match work.kernel {
            matrix::MatrixKernel::Products(shape) => {
                (Some(shape.bytes()), products::threads(shape.input))
            }
            matrix::MatrixKernel::Blocks(shape) => (None, shape.threads()),
            matrix::MatrixKernel::Pairs => (None, whole_pairs::THREADS),
        };
        let side = work.kernel.side();
        let names = if work.triangle.is_some() {
            &["zf_cross", "zf_half"][..]
        } else {
            &["zf_cross"]
        };
        let kernels = device.compile(&source, names)?.into_iter();
        let kernels = kernels.map(|kernel| match shared {
            Some(bytes) => kernel.with_shared(bytes),
            None => Ok(kernel),
        });
        let mut kernels = kernels.collect::<Result<Vec<_>>>()?.into_iter();
        let mut pass = |placing: Placing| {
            let side = if placing.by_thread { 1 } else { side };
            kernels.next().map(|kernel| MatrixPass {
                kernel,
                placing,
                side,
                threads,
                table: Mutex::new(None),
            })
        };
        let cross =
            pass(Placing::CROSS).ok_or_else(|| Error::internal("no kernel was compiled"))?;
        let triangle = work.triangle.and_then(pass);
        Ok(Dense {
            job,
            precision,
            multiplied: shared.is_some(),
            cross,
            triangle,
        })
    }
    /// Writes the pairs of `tiles` to their places. A tile comes home while the next one is
    /// computed.
    ///
    /// # Errors
    /// Those of the device and of the sink.
    pub fn run<T: Number>(
        &self,
        device: &Device,
        rows: &Rows<'_>,
        tiles: &[Tile],
        sink: &dyn Sink,
    ) -> Result<Folded> {
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
        Ok(Folded {
            states: vec![State::Dense(Written)],
            tally,
        })
    }
    /// Brings a tile home by groups of rows.
    fn bring<T: Number>(
        &self,
        device: &Device,
        (tile, room, mark): Made<'_>,
        sink: &dyn Sink,
    ) -> Result<()> {
        let turned = Tile {
            rows: tile.cols.clone(),
            cols: tile.rows.clone(),
        };
        let condensed = self.job.folds[0].dense().is_some_and(|f| f.condensed);
        let mirror = room.1.iter().filter(|_| !condensed).map(|m| (&turned, m));
        for (tile, memory) in [(tile, &room.0)].into_iter().chain(mirror) {
            let (r, c) = (tile.rows.len(), tile.cols.len());
            let group = (PIECE / size_of::<T>() / c.max(1)).max(1);
            device.bring(
                memory,
                (r * c, group * c),
                &mark,
                &mut |from, items: &[T]| {
                    self.put_rows(tile, tile.rows.start + from / c, items, sink)
                },
            )?;
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
        Ok((
            device.allocate(bytes)?,
            if turned {
                Some(device.allocate(bytes)?)
            } else {
                None
            },
        ))
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
                    let grid = Grid {
                        x,
                        y,
                        threads: pass.threads,
                    };
                    self.start(
                        (device, loaded),
                        pass,
                        tile,
                        [out, out],
                        grid,
                        (across, launch),
                    )?;
                }
                Ok(())
            }
            _ => {
                let pass = &self.cross;
                let (down, across) = (r.div_ceil(pass.side) as u32, c.div_ceil(pass.side) as u32);
                let grid = Grid {
                    x: across,
                    y: down,
                    threads: pass.threads,
                };
                let second = mirror.as_ref().unwrap_or(out);
                self.start(
                    (device, loaded),
                    pass,
                    tile,
                    [out, second],
                    grid,
                    (across, 0),
                )
            }
        }
    }
    fn start(
        &self,
        (device, loaded): (&Device, &Loaded),
        pass: &MatrixPass,
        tile: &Tile,
        out: [&Memory; 2],
        grid: Grid,
        (across, launch): (u32, u32),
    ) -> Result<()> {
        let mut args = if self.multiplied {
            loaded.products()?
        } else {
            loaded.inputs(self.precision)?
        };
        args.extend(out.map(Arg::Memory));
        let mut table = pass.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.as_ref().is_none_or(|(rows, _)| *rows != across) {
            let made = if pass.placing.map == Map::Ltm(Root::Table) {
                maps::table(across)
            } else {
                vec![]
            };
            *table = Some((across, device.upload(&made)?));
        }
        args.extend(table.as_ref().map(|(_, memory)| Arg::Memory(memory)));
        let sides = [
            tile.rows.start,
            tile.rows.len(),
            tile.cols.start,
            tile.cols.len(),
        ];
        args.extend(sides.map(|v| Arg::U32(v as u32)));
        args.extend([Arg::U32(across), Arg::U32(launch)]);
        device.launch(&pass.kernel, grid, &args)
    }
    /// Puts whole rows of a tile, from row `first` on.
    fn put_rows<T: Number>(
        &self,
        tile: &Tile,
        first: usize,
        items: &[T],
        sink: &dyn Sink,
    ) -> Result<()> {
        let job = self.job;
        let Some(fold) = job.folds[0].dense() else {
            return Err(Error::internal("a matrix without its fold"));
        };
        let cols = &tile.cols;
        let hollow = matches!(job.space.domain, Domain::Triangle | Domain::Ordered);
        items
            .par_chunks(cols.len().max(1))
            .enumerate()
            .try_for_each(|(at, line)| {
                let i = first + at;
                let from = if fold.condensed {
                    (i + 1).clamp(cols.start, cols.end)
                } else {
                    cols.start
                };
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
