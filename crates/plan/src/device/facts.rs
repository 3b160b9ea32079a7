//! Facts of a device, as data: found by a runtime, or assumed for plans without a device.

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
    #[doc(hidden)]
    pub fn name(self) -> &'static str {
        match self {
            Runtime::Cuda => "cuda",
            Runtime::OpenCl => "opencl",
        }
    }
}

/// Facts of a device.
///
/// The planner reads nothing else of a device, so a plan for a machine far away can be made from a
/// few numbers.
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
    /// Cycles a second of a unit. The fastest that the device may reach, not the one at rest.
    pub clock: f64,
    /// Bytes of device memory.
    pub memory: u64,
    /// Bytes of the largest single allocation.
    pub largest: u64,
    /// Bytes of shared (local) memory that one thread block may use without asking for more.
    pub shared: usize,
    /// Bytes of shared memory that one thread block may have where its launch requests them.
    pub requestable: usize,
    /// Most threads of a thread block.
    pub threads: usize,
    /// Compute capability (90 for 9.0), 0 outside CUDA.
    pub capability: usize,
    /// Whether it computes in double precision.
    pub double: bool,
    /// Whether it is a processor of the host behind a device interface, as PoCL's.
    pub host: bool,
}

impl Facts {
    /// Returns default facts, used to plan and emit kernels on machines without a GPU: an NVIDIA
    /// H200, or a GPU of middling size.
    #[doc(hidden)]
    pub fn described(runtime: Runtime) -> Self {
        let gib = |n: u64| n << 30;
        match runtime {
            Runtime::Cuda => Facts {
                runtime,
                index: 0,
                name: "NVIDIA H200, described".into(),
                driver: "CUDA 13.0".into(),
                units: 132,
                clock: 1.98e9,
                memory: gib(140),
                largest: gib(140),
                shared: 48 << 10,
                requestable: 227 << 10,
                threads: 1024,
                capability: 90,
                double: true,
                host: false,
            },
            Runtime::OpenCl => Facts {
                runtime,
                index: 0,
                name: "an OpenCL GPU, described".into(),
                driver: "OpenCL 1.2".into(),
                units: 32,
                clock: 1.5e9,
                memory: gib(8),
                largest: gib(2),
                shared: 48 << 10,
                requestable: 48 << 10,
                threads: 256,
                capability: 0,
                double: true,
                host: false,
            },
        }
    }
    /// Returns whether four warps multiply rows from shared memory: `wgmma` is of compute capability
    /// 9.0 alone.
    pub(crate) fn has_warpgroups(&self) -> bool {
        self.runtime == Runtime::Cuda && self.capability == 90
    }
    /// Returns the device in the form that the option takes: `cuda:0`.
    #[must_use]
    pub fn id(&self) -> String {
        ids(std::slice::from_ref(self))
    }
}

/// What the kernels of a run may use of each of its devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Common {
    /// The runtime of all.
    pub runtime: Runtime,
    /// Bytes of shared memory that a thread block may request on each.
    pub requestable: usize,
    /// Whether four warps multiply rows from shared memory on each.
    pub warpgroups: bool,
}

impl Common {
    /// Returns what `devices` of `runtime` have in common.
    pub fn new(runtime: Runtime, devices: &[Facts]) -> Self {
        let each = devices.iter().map(|facts| facts.requestable);
        Common {
            runtime,
            requestable: each.min().unwrap_or(0),
            warpgroups: devices.iter().all(Facts::has_warpgroups),
        }
    }
}

/// Returns the devices of one runtime in the form that the option takes: `cuda:0`, `cuda:0,1`.
pub fn ids(devices: &[Facts]) -> String {
    let numbers: Vec<String> = devices
        .iter()
        .map(|facts| facts.index.to_string())
        .collect();
    format!(
        "{}:{}",
        devices.first().map_or("", |facts| facts.runtime.name()),
        numbers.join(",")
    )
}
