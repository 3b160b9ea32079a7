//! Runtimes: one small interface over the CUDA driver and OpenCL.

pub mod cache;
pub mod cuda;
mod download;
mod failure;
pub mod nvrtc;
pub mod opencl;
mod staging;
mod upload;

use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use zipfold_core::budget::human_bytes;
use zipfold_core::{Error, Opt, Result};
use zipfold_plan::device::{Facts, Runtime};

/// A device with a context of its own.
pub struct Device {
    /// Its facts.
    pub facts: Facts,
    pub(crate) inner: Inner,
    /// Bytes in use, by this process.
    used: Arc<AtomicU64>,
    /// Launches after which the device counts as lost: a drill.
    launches: Option<AtomicU64>,
    /// Sources that are compiled before one is refused: a drill.
    compiles: Option<AtomicU64>,
}

/// A place in the work of a device: what was started before it.
pub struct Mark(Option<cuda::EventMark>);

pub(crate) enum Inner {
    Cuda(cuda::Context),
    OpenCl(opencl::Session),
}

/// Memory on a device.
pub struct Memory {
    bytes: usize,
    inner: MemoryInner,
    used: Arc<AtomicU64>,
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes as u64, Ordering::Relaxed);
    }
}

enum MemoryInner {
    Cuda(cuda::CudaAllocation),
    OpenCl(opencl::Allocation),
}

/// A compiled kernel.
pub struct Kernel(KernelInner);

impl Kernel {
    /// The same with `bytes` of the shared memory that is asked for at a launch (`ZF_DYNAMIC`).
    ///
    /// # Errors
    /// `Device` when it has less.
    pub(crate) fn with_shared(self, bytes: usize) -> Result<Self> {
        let inner = match self.0 {
            KernelInner::Cuda(function) => KernelInner::Cuda(function.with_shared(bytes)?),
            // The source declares it.
            KernelInner::OpenCl(function) => KernelInner::OpenCl(function),
        };
        Ok(Kernel(inner))
    }
}

enum KernelInner {
    Cuda(cuda::CudaFunction),
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
    /// `Device` when the compiler is missing or refuses; the latter is a defect of zipfold, or of a
    /// pair source.
    pub fn compile(&self, source: &str, names: &[&str]) -> Result<Vec<Kernel>> {
        let broken;
        let source = match none_left(self.compiles.as_ref()) {
            true => {
                broken = format!("{source}\n#error refused, as fault.compiles asks\n");
                &broken
            }
            false => source,
        };
        match &self.inner {
            Inner::Cuda(c) => {
                let made = c.compile(source, names, &self.facts)?;
                Ok(made
                    .into_iter()
                    .map(|f| Kernel(KernelInner::Cuda(f)))
                    .collect())
            }
            Inner::OpenCl(s) => {
                let made = s.compile(source, names)?;
                Ok(made
                    .into_iter()
                    .map(|f| Kernel(KernelInner::OpenCl(f)))
                    .collect())
            }
        }
    }
    /// Opens device `index` of `runtime`.
    ///
    /// # Errors
    /// `Device` when that fails.
    pub(crate) fn open(runtime: Runtime, index: usize) -> Result<Self> {
        let (facts, inner) = match runtime {
            Runtime::Cuda => cuda::open(index)?,
            Runtime::OpenCl => opencl::open(index)?,
        };
        Ok(Device {
            facts,
            inner,
            used: Arc::default(),
            launches: None,
            compiles: None,
        })
    }
    /// The same device with at most `bytes` of its memory.
    pub fn within(mut self, bytes: u64) -> Self {
        self.facts.memory = self.facts.memory.min(bytes);
        self.facts.largest = self.facts.largest.min(bytes);
        self
    }
    /// The same device, which counts as lost after so many launches: a drill for what happens then.
    pub fn lost_after(mut self, launches: u64) -> Self {
        self.launches = Some(AtomicU64::new(launches));
        self
    }
    /// The same device, whose compiler refuses every source after so many: a drill for what happens
    /// then.
    pub fn refusing_after(mut self, sources: u64) -> Self {
        self.compiles = Some(AtomicU64::new(sources));
        self
    }
    /// Bytes of its memory that this process has not taken.
    pub fn free(&self) -> u64 {
        let used = self.used.load(Ordering::Relaxed);
        self.facts.memory.saturating_sub(used)
    }
    /// Uninitialised memory; at least one byte.
    ///
    /// # Errors
    /// `Resource` when the device has not enough.
    pub fn allocate(&self, bytes: usize) -> Result<Memory> {
        let size = bytes.max(16);
        self.take(bytes as u64)?;
        let memory = self.memory(size);
        if memory.is_err() {
            self.used.fetch_sub(bytes as u64, Ordering::Relaxed);
        }
        Ok(Memory {
            bytes,
            inner: memory?,
            used: self.used.clone(),
        })
    }
    /// Counts `bytes` as used, within the device's memory.
    fn take(&self, bytes: u64) -> Result<()> {
        let most = self.facts.memory;
        let more = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= most);
        match self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
        {
            Ok(_) => Ok(()),
            Err(used) => {
                let left = human_bytes(most.saturating_sub(used));
                let e = Error::resource(format!(
                    "{} on {}: {left} are left",
                    human_bytes(bytes),
                    self.facts.id()
                ));
                Err(e.limit(human_bytes(most)).remedy(Opt::Device.to("cpu")))
            }
        }
    }
    fn memory(&self, size: usize) -> Result<MemoryInner> {
        let inner = match &self.inner {
            Inner::Cuda(c) => MemoryInner::Cuda(c.allocate(size)?),
            Inner::OpenCl(s) => MemoryInner::OpenCl(s.allocate(size)?),
        };
        Ok(inner)
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
        self.write_at(memory, 0, bytes)
    }
    /// Copies `bytes` to `memory`, from byte `offset` of it on.
    fn write_at(&self, memory: &Memory, offset: usize, bytes: &[u8]) -> Result<()> {
        if offset
            .checked_add(bytes.len())
            .is_none_or(|end| end > memory.bytes)
        {
            return Err(Error::internal("a copy beyond the end of device memory"));
        }
        match (&self.inner, &memory.inner) {
            (Inner::Cuda(c), MemoryInner::Cuda(m)) => c.write(m, offset, bytes),
            (Inner::OpenCl(s), MemoryInner::OpenCl(m)) => s.write(m, offset, bytes),
            _ => Err(foreign()),
        }
    }
    /// Has `fill` make `count` items, whole groups of `group` at a time, and copies them to the
    /// start of `memory`, which was allocated before `mark` where kernels run after it; none where
    /// the device has nothing else to do. `fill` takes the number of a piece's first item, and the
    /// piece, whose items may hold anything before.
    ///
    /// On CUDA a piece is made in memory that the device reads by itself, while the piece before is
    /// copied and kernels started after the mark run: rows are never held a second time. Few bytes
    /// for a device without work go there at once.
    ///
    /// # Errors
    /// `Internal` when they do not fit, `Device` when the copy fails.
    pub fn fill<T: Plain + Default>(
        &self,
        memory: &Memory,
        (count, group): (usize, usize),
        mark: Option<&Mark>,
        fill: &mut dyn FnMut(usize, &mut [T]),
    ) -> Result<()> {
        let (size, group) = (size_of::<T>(), group.max(1));
        let bytes = count * size;
        let step = (PIECE / size / group * group).max(group);
        if let (Inner::Cuda(c), MemoryInner::Cuda(m)) = (&self.inner, &memory.inner)
            && step * size <= PIECE
            && bytes <= memory.bytes
            && is_staged(bytes, mark.is_some())
        {
            let now;
            let after = match mark {
                Some(Mark(Some(mark))) => mark,
                Some(Mark(None)) => return Err(foreign()),
                None => {
                    now = c.mark()?;
                    &now
                }
            };
            return c.fill(m, (bytes, step * size), after, &mut |at, piece| {
                fill(at / size, as_items_mut(piece));
            });
        }
        let mut held = vec![T::default(); step.min(count)];
        (0..count).step_by(step).try_for_each(|first| {
            let piece = &mut held[..step.min(count - first)];
            fill(first, piece);
            self.write_at(memory, first * size, as_bytes(piece))
        })
    }
    /// Copies `items` to the start of `memory`, as [`Self::fill`] does.
    ///
    /// # Errors
    /// Those of [`Self::fill`].
    pub fn write_beside<T: Plain + Default>(
        &self,
        memory: &Memory,
        items: &[T],
        mark: Option<&Mark>,
    ) -> Result<()> {
        self.fill(
            memory,
            (items.len(), 1),
            mark,
            &mut |first, piece: &mut [T]| {
                let from = items[first..first + piece.len()].par_chunks(COPY);
                piece
                    .par_chunks_mut(COPY)
                    .zip(from)
                    .for_each(|(to, from)| to.copy_from_slice(from));
            },
        )
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
    /// A mark behind all work so far.
    ///
    /// # Errors
    /// `Device` when that fails.
    pub fn mark(&self) -> Result<Mark> {
        match &self.inner {
            Inner::Cuda(c) => Ok(Mark(Some(c.mark()?))),
            Inner::OpenCl(_) => Ok(Mark(None)),
        }
    }
    /// Waits for the work before `mark`, then hands the first `count` items to `each` in pieces:
    /// first item, items. On CUDA the next piece, and kernels started after the mark, are under way
    /// meanwhile.
    ///
    /// # Errors
    /// `Internal` when the memory holds less, `Device` when the work or the copy failed, and those
    /// of `each`.
    pub fn bring<T: Plain>(
        &self,
        memory: &Memory,
        (count, piece): (usize, usize),
        mark: &Mark,
        each: &mut dyn FnMut(usize, &[T]) -> Result<()>,
    ) -> Result<()> {
        let (bytes, piece) = (count * size_of::<T>(), piece.max(1) * size_of::<T>());
        if bytes > memory.bytes {
            return Err(Error::internal(
                "a copy from beyond the end of device memory",
            ));
        }
        if bytes == 0 {
            return Ok(());
        }
        let mut items: Vec<T> = vec![];
        let mut typed = |at: usize, part: &[u8]| -> Result<()> {
            each(at / size_of::<T>(), as_items(part, &mut items))
        };
        match (&self.inner, &memory.inner, &mark.0) {
            (Inner::Cuda(c), MemoryInner::Cuda(m), Some(mark)) => {
                c.read(m, (bytes, piece), mark, &mut typed)
            }
            (Inner::OpenCl(s), MemoryInner::OpenCl(m), _) => s.read(m, (bytes, piece), &mut typed),
            _ => Err(foreign()),
        }
    }
    /// Waits for all work, then copies from the start of `memory` into `items`.
    ///
    /// # Errors
    /// `Internal` when it holds less, `Device` when the work or the copy failed.
    pub fn read<T: Plain>(&self, memory: &Memory, items: &mut [T]) -> Result<()> {
        let mark = self.mark()?;
        self.bring(
            memory,
            (items.len(), PIECE / size_of::<T>()),
            &mark,
            &mut |from, part: &[T]| {
                let to = items[from..from + part.len()].par_chunks_mut(COPY);
                to.zip(part.par_chunks(COPY))
                    .for_each(|(to, from)| to.copy_from_slice(from));
                Ok(())
            },
        )
    }
    /// Starts `kernel` over `grid`.
    ///
    /// # Errors
    /// `Device` when it cannot start.
    pub fn launch(&self, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]) -> Result<()> {
        if none_left(self.launches.as_ref()) {
            let e = Error::device(format!(
                "{} is lost, as {} asks",
                self.facts.id(),
                Opt::Set.like("fault.launches")
            ));
            return Err(e.remedy(Opt::Device.to("cpu")));
        }
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

/// Takes one of what a drill has left; whether there was none.
fn none_left(drill: Option<&AtomicU64>) -> bool {
    let one_less = |left: u64| left.checked_sub(1);
    drill.is_some_and(|left| {
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
            .is_err()
    })
}

/// A kernel that its compiler refuses: a defect of zipfold or of that compiler, and no reason to
/// end a run that the host can finish.
fn refused(compiler: &str, status: &str, log: &[&str]) -> Error {
    let e = Error::device(format!(
        "{compiler} refused a generated kernel ({status}): {}",
        log.join("; ")
    ));
    e.remedy(format!(
        "{}; please report the formula, since this is a defect",
        Opt::Device.to("cpu")
    ))
}

fn foreign() -> Error {
    Error::internal("memory or a kernel of another device")
}

/// Numbers that are copied to devices byte by byte.
pub trait Plain: Copy + Send + Sync + sealed::Sealed {}
mod sealed {
    /// Keeps the list of types closed.
    pub trait Sealed {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}
impl Plain for u16 {}
impl Plain for u32 {}
impl Plain for u64 {}
impl Plain for f32 {}
impl Plain for f64 {}

/// Most bytes of a piece on its way to or from a device. Threads that share a piece sleep between
/// two pieces, and waking them takes as long as some megabytes: with 8 MiB a matrix came home four
/// times as slowly (one H100, 32 threads).
pub const PIECE: usize = 32 << 20;
/// Bytes from which on copies to a device without work go through memory that it reads by itself:
/// making that takes longer than copying fewer.
const DIRECT: usize = 128 << 20;

/// Whether so many bytes go through memory that the device reads by itself. Next to kernels they
/// always do: any other copy waits for the kernels.
fn is_staged(bytes: usize, next_to_kernels: bool) -> bool {
    bytes > 0 && (next_to_kernels || bytes >= DIRECT)
}
/// Items that one thread copies at a time.
const COPY: usize = 1 << 16;

/// The items of `bytes`, in place where they are aligned, else by way of `held`.
fn as_items<'b, T: Plain>(bytes: &'b [u8], held: &'b mut Vec<T>) -> &'b [T] {
    // SAFETY: any bytes are valid values of the sealed types.
    let (before, items, after) = unsafe { bytes.align_to::<T>() };
    if before.is_empty() && after.is_empty() {
        return items;
    }
    let count = bytes.len() / size_of::<T>();
    // SAFETY: any bytes are valid values of the sealed types, zeros too.
    held.resize(count, unsafe { std::mem::zeroed() });
    as_bytes_mut(held).copy_from_slice(&bytes[..count * size_of::<T>()]);
    held
}

/// The bytes of `items`.
pub(crate) fn as_bytes<T: Plain>(items: &[T]) -> &[u8] {
    // SAFETY: the sealed types have no padding, and any of their bytes is a valid u8.
    unsafe { std::slice::from_raw_parts(items.as_ptr().cast(), size_of_val(items)) }
}

/// The items of a piece, which begins at the start of a page.
fn as_items_mut<T: Plain>(bytes: &mut [u8]) -> &mut [T] {
    // SAFETY: any bytes are valid values of the sealed types. Nothing is before or behind the
    // items: pages begin at a multiple of every size, and a piece holds whole items.
    unsafe { bytes.align_to_mut::<T>() }.1
}

fn as_bytes_mut<T: Plain>(items: &mut [T]) -> &mut [u8] {
    // SAFETY: the sealed types have no padding, and any bytes are a valid value of them.
    unsafe { std::slice::from_raw_parts_mut(items.as_mut_ptr().cast(), size_of_val(items)) }
}

/// What happened on the way that stops no work, since the last [`take_warnings`].
static WARNINGS: Mutex<Vec<String>> = Mutex::new(vec![]);

/// A warning that does not stop the work, kept once until somebody takes it.
pub(crate) fn warn(text: &str) {
    let mut all = WARNINGS
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if !all.iter().any(|t| t == text) {
        all.push(text.into());
    }
}

/// The warnings of all devices since the last call.
pub fn take_warnings() -> Vec<String> {
    std::mem::take(
        &mut WARNINGS
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_next_to_kernels_never_wait_for_them() {
        for bytes in [1, DIRECT - 1, DIRECT] {
            assert!(is_staged(bytes, true));
        }
        assert!(!is_staged(DIRECT - 1, false) && is_staged(DIRECT, false));
        assert!(!is_staged(0, true));
    }
}
