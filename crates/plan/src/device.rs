//! Facts of a device, and the plan for it.

use crate::choose::{Plan, Settings};
use crate::prune::Prune;
use crate::tiles::Tiling;
use zipfold_core::fold::Fold;
use zipfold_core::{Error, Job, Precision, Result};

/// Plan choices for devices: `--set key=value`.
pub const KEYS: [&str; 10] = [
    "device.tile",
    "points.anchors",
    "points.blocks",
    "points.unroll",
    "hist.copies",
    "bins",
    "filter",
    "tile.map",
    "dense.slice",
    "dense.blocks",
];

/// The runtime that drives a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Runtime {
    /// The CUDA driver, kernels by NVRTC.
    Cuda,
    /// An OpenCL platform.
    OpenCl,
}

impl Runtime {
    /// The name that `--device` takes.
    pub fn name(self) -> &'static str {
        match self {
            Runtime::Cuda => "cuda",
            Runtime::OpenCl => "opencl",
        }
    }
}

/// Facts of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Its runtime.
    pub runtime: Runtime,
    /// Its number within the runtime.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// The version of its driver or platform.
    pub driver: String,
    /// Streaming multiprocessors, or compute units.
    pub units: usize,
    /// Cycles a second of a unit.
    pub clock: f64,
    /// Bytes of device memory.
    pub memory: u64,
    /// Bytes of the largest single allocation.
    pub largest: u64,
    /// Bytes of shared (local) memory that one thread block may use without asking for more.
    pub shared: usize,
    /// Most threads of a thread block.
    pub threads: usize,
    /// Compute capability (90 for 9.0), 0 outside CUDA.
    pub capability: usize,
    /// Whether it computes in double precision.
    pub double: bool,
    /// Whether it is a processor of the host that poses as a device.
    pub host: bool,
}

impl Facts {
    /// `cuda:0`.
    pub fn id(&self) -> String {
        format!("{}:{}", self.runtime.name(), self.index)
    }
}

/// Turns a plan for the host into one for the device `facts`: large tiles, so that launches are few.
///
/// # Errors
/// `Request` for settings that make no sense.
pub fn plan_for(job: &Job, host: Plan, facts: &Facts, settings: &Settings) -> Result<Plan> {
    let mut plan = host;
    plan.backend = facts.id();
    // Devices sweep all pairs; the host, should it take over, must walk the same cells.
    plan.prune = Prune::default();
    if !settings.contains_key("tile.rows") && !settings.contains_key("tile.cols") {
        plan.tiling = tiling(job, facts, settings)?;
    }
    plan.tiles = plan.tiling.tiles(&job.space).len();
    plan.tiles_per_unit = 1;
    plan.reasons.push(format!("{}: {}, {} units", facts.id(), facts.name, facts.units));
    predict(job, facts, &mut plan);
    Ok(plan)
}

/// Lanes of a unit: single-precision operations that it starts a cycle; half as many in double precision.
const LANES: f64 = 128.0;
/// Bytes a second from a device into ordinary memory of the host.
const HOME: f64 = 8e9;

/// Predicts the seconds of kernels and of bringing dense results home.
fn predict(job: &Job, facts: &Facts, plan: &mut Plan) {
    let fold = |f: &Fold| match f {
        Fold::Matrix { .. } | Fold::Condensed { .. } => 1.0,
        Fold::Rows(_) | Fold::Select(_) => 2.0,
        Fold::Nearest(_) => 3.0,
        Fold::Histogram(h) => 9.0 * h.axes.len() as f64,
    };
    let (per_component, per_pair) = job.low.operations();
    plan.operations = (per_component * job.low.dim + per_pair) as f64 + job.folds.iter().map(fold).sum::<f64>();
    // Folds in family points look at single precision first, where the inputs are of it.
    let single = job.precision == Precision::F32;
    let lanes = if single { LANES } else { LANES / 2.0 };
    let compute = plan.cells as f64 * plan.operations / (facts.units as f64 * lanes * facts.clock.max(1e6));
    let dense = |f: &Fold| crate::choose::dense_bytes(f, job.space.n, job.space.m, plan.precision);
    let home = job.folds.iter().map(dense).sum::<u64>() as f64 / HOME;
    plan.seconds = compute + home;
    plan.bound = if home > compute { "bringing the result home" } else { "arithmetic of the device" }.into();
}

/// Square tiles; dense results leave the device tile by tile, so theirs are smaller.
fn tiling(job: &Job, facts: &Facts, settings: &Settings) -> Result<Tiling> {
    let dense = job.folds.iter().any(|f| matches!(f, Fold::Matrix { .. } | Fold::Condensed { .. }));
    let side = match settings.get("device.tile") {
        None if facts.host => 1 << 12,
        None if dense => 1 << 14,
        None => 1 << 20,
        Some(text) => match text.parse::<usize>().ok().filter(|v| (1..=1 << 20).contains(v)) {
            Some(v) => v,
            None => {
                let e = Error::request(format!("'{text}' is no size")).at("--set device.tile");
                return Err(e.limit("1 to 1048576"));
            }
        },
    };
    Ok(Tiling::new(side, side))
}
