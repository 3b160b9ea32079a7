//! How a device computes one matrix: by matrix units, by register-blocked tiles, or with one thread
//! per pair.
//!
//! A register-blocked kernel is that of a matrix product (Volkov and Demmel 2008): a block of
//! threads computes a tile of 128 × 128 pairs. It copies a *slice* of some components of the tile's
//! rows into shared memory, each thread updates 8 × 8 or 8 × 16 pairs from it in registers, and the
//! next slice is copied meanwhile. Each number that is loaded serves 128 pairs.

use super::facts::{Common, Runtime};
use super::loads::load_width;
use super::maps::Placing;
use super::products;
use crate::low_precision::ProductType;
use crate::overrides::{DeviceFamily, MatrixUnits, Overrides};
use zipfold_core::fold::Fold;
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::tree::{ComponentReduce, Id, Node};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Error, Job, Opt, Precision, Result};

/// How matrix units compute one matrix.
///
/// Slices of four groups of components are copied to shared memory, some of them at a time: warps
/// wait for each other once for all of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductShape {
    /// The numbers that are multiplied.
    pub input: ProductType,
    /// How matrix units take them.
    pub units: MatrixUnits,
    /// Slices that are copied at a time.
    pub depth: usize,
    /// How many of these copies shared memory holds.
    pub stages: usize,
    /// Rows of tiles whose blocks go together: these read the same rows of y while they are in the
    /// cache, and the rows of x stay there.
    pub band: usize,
}

/// Bytes of the rows of both sides of a tile in a slice.
const PRODUCT_SLICE: usize = 2 * TILE * 4 * 16;
/// Bytes of shared memory that a block of matrix units may request.
const REQUESTED: usize = 227 << 10;

impl ProductShape {
    /// Returns the shape for numbers of this type.
    ///
    /// # Errors
    /// `Request` for more copies than shared memory holds, and for units that do not take such numbers.
    fn new(input: ProductType, common: Common, overrides: &Overrides) -> Result<Self> {
        // OpenCL promises no more than 48 KiB, one slice three times. A slice of double precision has
        // a quarter of the components of one of 16 bits, and warps would wait too often.
        let depth = match (common.runtime, input.precision()) {
            (Runtime::OpenCl, _) => 1,
            (Runtime::Cuda, Precision::F32) => 2,
            (Runtime::Cuda, Precision::F64) => 4,
        };
        let shape = ProductShape {
            input,
            units: products::units(input, common, overrides)?,
            depth: overrides.dense_slice.map_or(depth, |v| v.get()),
            stages: overrides.dense_stages.map_or(3, |v| v.get()).max(2),
            band: overrides.dense_band.map_or(32, |v| v.get()),
        };
        if shape.bytes() > REQUESTED {
            let e = Error::request(format!("{} slices of rows", shape.depth * shape.stages));
            return Err(e
                .at_place(Opt::Set.like("dense.slice"))
                .limit("227 KiB of shared memory, 16 KiB a slice")
                .remedy(format!("fewer, or fewer {}", Opt::Set.like("dense.stages"))));
        }
        Ok(shape)
    }
    /// Returns the bytes of shared memory.
    pub fn bytes(&self) -> usize {
        self.stages * self.depth * PRODUCT_SLICE
    }
}

/// How one matrix is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matrix {
    /// The kernel.
    pub kernel: MatrixKernel,
    /// How tiles on the diagonal of a half space are placed; those of other tiles are all of a
    /// rectangle.
    pub triangle: Option<Placing>,
}

/// The kernel of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MatrixKernel {
    /// Rows multiplied by matrix units.
    Products(ProductShape),
    /// Slices of components are reused by register-blocked tiles.
    Blocks(MatrixShape),
    /// A thread computes whole pairs.
    Pairs,
}

impl Matrix {
    /// Returns how the matrix of `job` is computed, whose rows matrix units take as `input` if at all.
    /// Returns `None` if the job is something else, or if `overrides` leave the folding to the
    /// host.
    ///
    /// # Errors
    /// `Request` for choices that do not go together.
    pub fn choose(
        job: &Job,
        precision: Precision,
        common: Common,
        input: Option<ProductType>,
        overrides: &Overrides,
    ) -> Result<Option<Matrix>> {
        if !is_matrix(job) || overrides.device_family == Some(DeviceFamily::Values) {
            return Ok(None);
        }
        let triangle = if job.space.is_triangular() {
            Some(Placing::triangle(overrides)?)
        } else {
            None
        };
        // The fastest that the data and the formula allow comes first.
        let kernel = match input {
            Some(input) => MatrixKernel::Products(ProductShape::new(input, common, overrides)?),
            None if fits(job) && overrides.device_family != Some(DeviceFamily::Pairs) => {
                MatrixKernel::Blocks(shape(job, precision, common.runtime, overrides)?)
            }
            None => MatrixKernel::Pairs,
        };
        if kernel != MatrixKernel::Pairs && triangle.is_some_and(|placing| placing.by_thread) {
            let e =
                Error::request("a thread has many pairs here").at_place(Opt::Set.like("tile.by"));
            return Err(e.remedy(format!(
                "{}, or {}",
                Opt::Set.to("tile.by=block"),
                Opt::Set.to("device.family=pairs")
            )));
        }
        Ok(Some(Matrix { kernel, triangle }))
    }
}

/// Rows and columns of the tile of a block whose threads compute whole pairs.
pub const PAIRS: usize = 32;

impl MatrixKernel {
    /// Returns the rows and columns of the tile of a block of threads.
    pub fn side(&self) -> usize {
        match self {
            MatrixKernel::Products(_) | MatrixKernel::Blocks(_) => TILE,
            MatrixKernel::Pairs => PAIRS,
        }
    }
}

/// Returns whether `job` is one matrix of numbers.
fn is_matrix(job: &Job) -> bool {
    let [Fold::Dense(f)] = job.folds.as_slice() else {
        return false;
    };
    job.low.formula.width(f.root, job.low.dim) == 1
        && job.cutoff_root.is_none()
        && job.nan != NanPolicy::Skip
}

/// Rows and columns of a tile of pairs. A panel of packed rows, so that a slice of a tile is one
/// piece of memory.
pub const TILE: usize = 128;
/// Components after which sums in single precision move to a second accumulator. The error of a sum
/// grows with its number of terms; this bounds it by 1024 of them.
pub const CARRY: usize = 1024;

/// How a register-blocked kernel is built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixShape {
    /// Type of values.
    pub precision: Precision,
    /// Components of a slice.
    pub slice: usize,
    /// How slices come into shared memory.
    pub copy: Copying,
    /// Columns of pairs of a thread: 8 or 16.
    pub across: usize,
    /// Blocks that should fit a multiprocessor.
    pub blocks: usize,
    /// How blocks of the grid become tiles.
    pub map: Placing,
    /// Values also go to their transposed place.
    pub mirror: bool,
    /// Numbers of a load.
    pub load: usize,
    /// Components of a slice in a row without a jump.
    pub unroll: usize,
}

/// How slices come into shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copying {
    /// Through registers, one slice ahead.
    Ahead,
    /// By asynchronous copies that pass the registers by, into this many slices in turn.
    Pipe(usize),
}

impl Copying {
    /// Returns the slices that shared memory holds.
    pub fn stages(self) -> usize {
        match self {
            Copying::Ahead => 2,
            Copying::Pipe(stages) => stages,
        }
    }
}

impl MatrixShape {
    /// Returns the threads of a block: each computes 8 rows by `across` columns.
    pub fn threads(&self) -> u32 {
        (TILE / 8 * TILE / self.across) as u32
    }
}

/// Returns whether sums of `low` move to a second accumulator from time to time.
pub fn carries(low: &Lowered, precision: Precision) -> bool {
    let is_sum = |id: &Id| matches!(low.formula.node(*id), Node::Reduce(ComponentReduce::Sum, _));
    precision == Precision::F32 && low.dim > CARRY && low.stages[0].reduces.iter().all(is_sum)
}

/// Returns whether a register-blocked kernel can compute `job`: rows long enough, one loop, at most
/// two vectors a side, no box.
///
/// One loop, because a tile of sums has no place for the results of an earlier loop; two vectors,
/// because each takes a slice of shared memory.
pub fn fits(job: &Job) -> bool {
    let low = &job.low;
    let row_vectors = [low.row_vectors[0].len(), low.row_vectors[1].len()];
    let plain = low.stages.len() == 1
        && low.stages[0].scalars.is_empty()
        && !low.periodic
        && low.vector_tail.is_empty();
    plain
        && low.dim >= 8
        && low.stages[0].reduces.len() <= 1
        && row_vectors.iter().all(|s| (1..=2).contains(s))
}

/// Returns the components of a slice such that two stages of both sides take 32 KiB of shared
/// memory.
pub fn default_slice(low: &Lowered, precision: Precision) -> usize {
    let row_vectors = low.row_vectors[0].len() + low.row_vectors[1].len();
    let slice = 32 / (row_vectors * precision.bytes() / 4).max(1);
    if slice >= 16 {
        16
    } else if slice >= 8 {
        8
    } else {
        4
    }
}

/// Returns the components of a slice such that `stages` of them fit 48 KiB, which every device has.
pub fn pipe_slice(low: &Lowered, precision: Precision, stages: usize) -> usize {
    let row_vectors = low.row_vectors.iter().map(Vec::len).sum::<usize>();
    let one = row_vectors.max(1) * TILE * precision.bytes() * stages;
    let most = ((48 << 10) / one).max(2);
    (1usize << most.ilog2())
        .min(16)
        .min(low.dim.next_power_of_two())
}

/// Returns the bytes of shared memory of a block.
pub fn shared_bytes(low: &Lowered, shape: &MatrixShape) -> usize {
    let row_vectors = low.row_vectors[0].len() + low.row_vectors[1].len();
    shape.copy.stages() * row_vectors * shape.slice * TILE * shape.precision.bytes()
}

/// Returns the shape of the kernel of whole rectangles.
///
/// # Errors
/// `Request` for settings that make no sense.
fn shape(
    job: &Job,
    precision: Precision,
    runtime: Runtime,
    overrides: &Overrides,
) -> Result<MatrixShape> {
    let low = &job.low;
    let mirror = job
        .folds
        .iter()
        .filter_map(Fold::dense)
        .any(|f| f.is_mirrored(&job.space));
    let single = precision == Precision::F32;
    let piped = single && runtime == Runtime::Cuda;
    // OpenCL has no copies that run on their own; double precision waits for its arithmetic, not
    // for its slices.
    let stages = overrides
        .dense_stages
        .map_or(if piped { 3 } else { 0 }, |v| v.get());
    let copy = if stages < 2 {
        Copying::Ahead
    } else {
        Copying::Pipe(stages)
    };
    let across = overrides.dense_across.map_or(8, |v| v.get());
    let (slice, blocks) = match copy {
        Copying::Ahead => (
            default_slice(low, precision),
            if single && !mirror { 2 } else { 1 },
        ),
        // Second accumulators take the registers of a second block.
        Copying::Pipe(_) => (
            pipe_slice(low, precision, stages),
            if carries(low, precision) { 1 } else { 2 },
        ),
    };
    let slice = overrides.dense_slice.map_or(slice, |v| v.get());
    let blocks = overrides.dense_blocks.map_or(blocks, |v| v.get());
    let load = load_width(precision, overrides)?;
    let unroll = overrides.dense_unroll.map_or(slice, |v| v.get());
    let shape = MatrixShape {
        precision,
        slice,
        copy,
        across,
        blocks,
        map: Placing::CROSS,
        mirror,
        load,
        unroll,
    };
    if !slice.is_power_of_two() || slice < 2 || shared_bytes(low, &shape) > 48 << 10 {
        let e = Error::request(format!("{slice} components a slice"))
            .at_place(Opt::Set.like("dense.slice"));
        return Err(e.limit("48 KiB of shared memory").remedy(format!(
            "a smaller power of two, or fewer {}",
            Opt::Set.like("dense.stages")
        )));
    }
    Ok(shape)
}
