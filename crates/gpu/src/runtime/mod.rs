//! Runtimes: one small interface over the CUDA driver and OpenCL.

pub mod cache;
pub mod cuda;
pub mod nvrtc;
pub mod opencl;

use zipfold_core::{Error, Result};
use zipfold_plan::device::Facts;

/// A device with a context of its own.
pub struct Device {
    /// Its facts.
    pub facts: Facts,
    pub(crate) inner: Inner,
}

pub(crate) enum Inner {
    Cuda(cuda::Context),
    OpenCl(opencl::Session),
}

/// Memory on a device.
pub struct Memory {
    bytes: usize,
    inner: MemoryInner,
}

enum MemoryInner {
    Cuda(cuda::Allocation),
    OpenCl(opencl::Allocation),
}

/// A compiled kernel.
pub struct Kernel(KernelInner);

enum KernelInner {
    Cuda(cuda::Function),
    OpenCl(opencl::Function),
}

/// A kernel's argument.
#[derive(Clone, Copy)]
pub enum Arg<'m> {
    /// A pointer to device memory.
    Memory(&'m Memory),
    /// A 32-bit number.
    U32(u32),
    /// A double.
    F64(f64),
    /// A single.
    F32(f32),
}

/// A grid of thread blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks along x.
    pub x: u32,
    /// Blocks along y.
    pub y: u32,
    /// Threads of a block.
    pub threads: u32,
}

impl Memory {
    /// Bytes of the allocation.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({})", self.facts.id())
    }
}

impl Device {
    /// Compiles `source` and finds its kernels `names`.
    ///
    /// # Errors
    /// `Device` when the compiler is missing or refuses; the latter is a defect of zipfold, or of a pair source.
    pub fn compile(&self, source: &str, names: &[&str]) -> Result<Vec<Kernel>> {
        match &self.inner {
            Inner::Cuda(c) => {
                let made = c.compile(source, names, &self.facts)?;
                Ok(made.into_iter().map(|f| Kernel(KernelInner::Cuda(f))).collect())
            }
            Inner::OpenCl(s) => {
                let made = s.compile(source, names)?;
                Ok(made.into_iter().map(|f| Kernel(KernelInner::OpenCl(f))).collect())
            }
        }
    }
    /// Uninitialised memory; at least one byte.
    ///
    /// # Errors
    /// `Resource` when the device has not enough.
    pub fn allocate(&self, bytes: usize) -> Result<Memory> {
        let size = bytes.max(16);
        let inner = match &self.inner {
            Inner::Cuda(c) => MemoryInner::Cuda(c.allocate(size)?),
            Inner::OpenCl(s) => MemoryInner::OpenCl(s.allocate(size)?),
        };
        Ok(Memory { bytes, inner })
    }
    /// Memory that holds `items`.
    ///
    /// # Errors
    /// As [`Self::allocate`], and `Device` when the copy fails.
    pub fn upload<T: Plain>(&self, items: &[T]) -> Result<Memory> {
        let memory = self.allocate(size_of_val(items))?;
        if !items.is_empty() {
            self.write(&memory, as_bytes(items))?;
        }
        Ok(memory)
    }
    /// Copies `bytes` to the start of `memory`.
    ///
    /// # Errors
    /// `Internal` when they do not fit, `Device` when the copy fails.
    pub fn write(&self, memory: &Memory, bytes: &[u8]) -> Result<()> {
        if bytes.len() > memory.bytes {
            return Err(Error::internal("a copy beyond the end of device memory"));
        }
        match (&self.inner, &memory.inner) {
            (Inner::Cuda(c), MemoryInner::Cuda(m)) => c.write(m, bytes),
            (Inner::OpenCl(s), MemoryInner::OpenCl(m)) => s.write(m, bytes),
            _ => Err(foreign()),
        }
    }
    /// Sets all of `memory` to zero.
    ///
    /// # Errors
    /// `Device` when that fails.
    pub fn clear(&self, memory: &Memory) -> Result<()> {
        match (&self.inner, &memory.inner) {
            (Inner::Cuda(c), MemoryInner::Cuda(m)) => c.clear(m, memory.bytes),
            (Inner::OpenCl(s), MemoryInner::OpenCl(m)) => s.clear(m, memory.bytes),
            _ => Err(foreign()),
        }
    }
    /// Waits for all work, then copies from the start of `memory` into `items`.
    ///
    /// # Errors
    /// `Internal` when it holds less, `Device` when the work or the copy failed.
    pub fn read<T: Plain>(&self, memory: &Memory, items: &mut [T]) -> Result<()> {
        if size_of_val(items) > memory.bytes {
            return Err(Error::internal("a copy from beyond the end of device memory"));
        }
        if items.is_empty() {
            return Ok(());
        }
        let bytes = as_bytes_mut(items);
        match (&self.inner, &memory.inner) {
            (Inner::Cuda(c), MemoryInner::Cuda(m)) => c.read(m, bytes),
            (Inner::OpenCl(s), MemoryInner::OpenCl(m)) => s.read(m, bytes),
            _ => Err(foreign()),
        }
    }
    /// Starts `kernel` over `grid`.
    ///
    /// # Errors
    /// `Device` when it cannot start.
    pub fn launch(&self, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]) -> Result<()> {
        match (&self.inner, &kernel.0) {
            (Inner::Cuda(c), KernelInner::Cuda(f)) => c.launch(f, grid, args),
            (Inner::OpenCl(s), KernelInner::OpenCl(f)) => s.launch(f, grid, args),
            _ => Err(foreign()),
        }
    }
    /// Waits for all work.
    ///
    /// # Errors
    /// `Device` when some of it failed.
    pub fn finish(&self) -> Result<()> {
        match &self.inner {
            Inner::Cuda(c) => c.finish(),
            Inner::OpenCl(s) => s.finish(),
        }
    }
}

fn foreign() -> Error {
    Error::internal("memory or a kernel of another device")
}

/// Numbers that are copied to devices byte by byte.
pub trait Plain: Copy + sealed::Sealed {}
mod sealed {
    /// Keeps the list of types closed.
    pub trait Sealed {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
impl Plain for u32 {}
impl Plain for u64 {}
impl Plain for f32 {}
impl Plain for f64 {}

fn as_bytes<T: Plain>(items: &[T]) -> &[u8] {
    // SAFETY: the sealed types have no padding, and any of their bytes is a valid u8.
    unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), size_of_val(items)) }
}

fn as_bytes_mut<T: Plain>(items: &mut [T]) -> &mut [u8] {
    // SAFETY: the sealed types have no padding, and any bytes are a valid value of them.
    unsafe { std::slice::from_raw_parts_mut(items.as_mut_ptr().cast(), size_of_val(items)) }
}

/// A warning that does not stop the work, said once a process.
pub(crate) fn warn_once(text: &str) {
    static SAID: std::sync::Once = std::sync::Once::new();
    SAID.call_once(|| eprintln!("warning: {text}"));
}
