//! The CUDA driver, loaded dynamically.

use super::download::Download;
use super::failure::failed;
use super::upload::Upload;
use super::{Arg, Grid, Inner, MemoryInner, PIECE, cache, nvrtc};
use cudarc::driver::result::{self, event};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use std::ffi::{CString, c_void};
use std::sync::{Arc, Mutex, PoisonError};
use zipfold_core::budget::human_bytes;
use zipfold_core::{Error, Opt, Result};
use zipfold_plan::device::{Facts, Runtime};

/// The oldest driver that runs what we generate: CUDA 12.0.
const OLDEST: i32 = 12000;

/// Loads and initialises the driver.
fn initialise() -> Result<i32> {
    // SAFETY: only tries to load the library.
    if !unsafe { sys::is_culib_present() } {
        let e = Error::device("no NVIDIA driver (libcuda) on this machine");
        return Err(e.remedy(format!(
            "install the NVIDIA driver, or use {}",
            Opt::Device.to("cpu")
        )));
    }
    result::init().map_err(|e| failed("the NVIDIA driver does not start", e))?;
    let mut version = 0;
    // SAFETY: writes one integer.
    unsafe { sys::cuDriverGetVersion(&mut version) }
        .result()
        .map_err(|e| failed("the driver's version", e))?;
    supported(version)
}

/// `version` (12080 for CUDA 12.8), where drivers of it run what we generate.
///
/// # Errors
/// `Device` for older ones.
pub fn supported(version: i32) -> Result<i32> {
    if version < OLDEST {
        let e = Error::device(format!(
            "the NVIDIA driver is for CUDA {}.{}",
            version / 1000,
            version % 1000 / 10
        ));
        return Err(e.limit("CUDA 12.0 or newer").remedy(format!(
            "a newer NVIDIA driver, or {}",
            Opt::Device.to("cpu")
        )));
    }
    Ok(version)
}

/// The CUDA devices.
///
/// # Errors
/// `Device` when there is no driver, or it is too old.
pub fn list() -> Result<Vec<Facts>> {
    let version = initialise()?;
    let count = result::device::get_count().map_err(|e| failed("counting devices", e))?;
    (0..count).map(|index| facts(index, version)).collect()
}

fn facts(index: i32, version: i32) -> Result<Facts> {
    let device = result::device::get(index).map_err(|e| failed("opening the device", e))?;
    let attribute = |a: Attribute| -> Result<usize> {
        // SAFETY: the device handle comes from the driver.
        let value = unsafe { result::device::get_attribute(device, a) };
        value
            .map(|v| v.max(0) as usize)
            .map_err(|e| failed("a device attribute", e))
    };
    // SAFETY: as above.
    let memory = unsafe { result::device::total_mem(device) }
        .map_err(|e| failed("device memory", e))? as u64;
    Ok(Facts {
        runtime: Runtime::Cuda,
        index: index as usize,
        name: result::device::get_name(device).map_err(|e| failed("the device's name", e))?,
        driver: format!("CUDA {}.{}", version / 1000, version % 1000 / 10),
        units: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        clock: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)? as f64 * 1e3,
        memory,
        largest: memory,
        shared: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
        requestable: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        threads: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        capability: attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? * 10
            + attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        double: true,
        host: false,
    })
}

/// Opens device `index`.
///
/// # Errors
/// `Device` when that fails.
pub(super) fn open(index: usize) -> Result<(Facts, Inner)> {
    let version = initialise()?;
    let facts = facts(index as i32, version)?;
    let device = result::device::get(index as i32).map_err(|e| failed("opening the device", e))?;
    // SAFETY: the device handle comes from the driver; the context is released when the last user
    // is dropped.
    let raw = unsafe { result::primary_ctx::retain(device) }
        .map_err(|e| failed("opening the device", e))?;
    let context = Context(Arc::new(Primary {
        raw,
        device,
        pooled: pooled(device),
        download: Mutex::new(None),
        upload: Mutex::new(None),
    }));
    context.enter()?;
    Ok((facts, Inner::Cuda(context)))
}

/// Bytes from which on results come home by pieces.
const SMALL: usize = 1 << 20;

/// A place in the device's work.
pub struct EventMark {
    raw: sys::CUevent,
    context: Context,
}

// SAFETY: an event is used with its context current only.
unsafe impl Send for EventMark {}

impl Drop for EventMark {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: made once by `mark`.
            let _ = unsafe { event::destroy(self.raw) };
        }
    }
}

struct Primary {
    raw: sys::CUcontext,
    device: sys::CUdevice,
    /// Memory that is freed stays with the process, and comes back without a call to the system.
    pooled: bool,
    /// The way from the device, made when it is first needed.
    download: Mutex<Option<Download>>,
    /// The way to the device next to kernels, likewise.
    upload: Mutex<Option<Upload>>,
}

/// Sets the device's memory pool to keep what is freed; false where it has none.
fn pooled(device: sys::CUdevice) -> bool {
    use sys::CUmemPool_attribute as Kept;
    let mut all = u64::MAX;
    // SAFETY: the device handle comes from the driver.
    let Ok(pool) = (unsafe { result::device::get_default_mem_pool(device) }) else {
        return false;
    };
    // SAFETY: the pool is the device's own; the attribute is a 64-bit number.
    unsafe {
        sys::cuMemPoolSetAttribute(
            pool,
            Kept::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
            (&raw mut all).cast(),
        )
    }
    .result()
    .is_ok()
}

// SAFETY: a primary context may be made current on any thread; every call here makes it current
// first.
unsafe impl Send for Primary {}
// SAFETY: as above; the driver itself locks.
unsafe impl Sync for Primary {}

impl Drop for Primary {
    fn drop(&mut self) {
        let download = self
            .download
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let upload = self
            .upload
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // SAFETY: the context is retained until below.
        let set = || unsafe { result::ctx::set_current(self.raw) }.is_ok();
        if (download.is_some() || upload.is_some()) && set() {
            drop((download, upload));
        }
        // SAFETY: retained once in `open`; everything made in it holds an `Arc` of it.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// The primary context of a device.
#[derive(Clone)]
pub struct Context(Arc<Primary>);

/// Device memory.
pub struct CudaAllocation {
    pointer: sys::CUdeviceptr,
    context: Context,
}

impl Drop for CudaAllocation {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: allocated once by `allocate`, in this context and from its pool where there
            // is one; all work that uses it was put into the same stream before.
            let _ = unsafe {
                if self.context.0.pooled {
                    result::free_async(self.pointer, std::ptr::null_mut())
                } else {
                    result::free_sync(self.pointer)
                }
            };
        }
    }
}

/// A function of a loaded module.
pub struct CudaFunction {
    raw: sys::CUfunction,
    /// Bytes of shared memory that a launch asks for.
    shared: u32,
    module: Arc<Module>,
}

// SAFETY: a function handle is used with its context current only, see `launch`.
unsafe impl Send for CudaFunction {}
// SAFETY: as above.
unsafe impl Sync for CudaFunction {}

impl CudaFunction {
    pub(super) fn with_shared(self, bytes: usize) -> Result<Self> {
        self.module.context.enter()?;
        let most = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: a function of a loaded module.
        unsafe { result::function::set_function_attribute(self.raw, most, bytes as i32) }
            .map_err(|e| failed(&format!("asking for {bytes} bytes of shared memory"), e))?;
        Ok(CudaFunction {
            shared: bytes as u32,
            ..self
        })
    }
}

struct Module {
    raw: sys::CUmodule,
    context: Context,
}

// SAFETY: a module handle is used with its context current only.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: loaded once; its functions hold an `Arc` of it.
            let _ = unsafe { result::module::unload(self.raw) };
        }
    }
}

impl Context {
    fn enter(&self) -> Result<()> {
        // SAFETY: the context is retained as long as `self` lives.
        unsafe { result::ctx::set_current(self.0.raw) }
            .map_err(|e| failed("entering the device's context", e))
    }
    pub(super) fn compile(
        &self,
        source: &str,
        names: &[&str],
        facts: &Facts,
    ) -> Result<Vec<CudaFunction>> {
        let key = format!(
            "{} {:?}\n{source}",
            facts.driver,
            nvrtc::options(facts.capability)
        );
        let folder = cache::folder();
        let kept = folder.as_ref().and_then(|folder| cache::get(folder, &key));
        let binary = match kept {
            Some(binary) => binary,
            None => {
                let binary = nvrtc::compile(source, facts.capability)?;
                if let Some(Err(why)) = folder.map(|folder| cache::put(&folder, &key, &binary)) {
                    super::warn(&why);
                }
                binary
            }
        };
        self.enter()?;
        // SAFETY: a whole cubin, from NVRTC or from the checked cache.
        let raw = unsafe { result::module::load_data(binary.as_ptr().cast::<c_void>()) };
        let raw = raw.map_err(|e| failed("loading a kernel", e))?;
        let module = Arc::new(Module {
            raw,
            context: self.clone(),
        });
        let function = |name: &&str| {
            let text = CString::new(*name).map_err(|_| Error::internal("a kernel's name"))?;
            // SAFETY: the module is loaded.
            let raw = unsafe { result::module::get_function(module.raw, text) };
            let raw = raw.map_err(|e| failed("finding a kernel", e))?;
            Ok(CudaFunction {
                raw,
                shared: 0,
                module: module.clone(),
            })
        };
        names.iter().map(function).collect()
    }
    pub(super) fn allocate(&self, bytes: usize) -> Result<CudaAllocation> {
        self.enter()?;
        // SAFETY: freed by `CudaAllocation::drop` in the same way.
        let pointer = unsafe {
            if self.0.pooled {
                result::malloc_async(std::ptr::null_mut(), bytes)
            } else {
                result::malloc_sync(bytes)
            }
        };
        let pointer =
            pointer.map_err(|e| failed(&format!("allocating {}", human_bytes(bytes as u64)), e))?;
        Ok(CudaAllocation {
            pointer,
            context: self.clone(),
        })
    }
    pub(super) fn write(&self, to: &CudaAllocation, offset: usize, bytes: &[u8]) -> Result<()> {
        self.enter()?;
        // SAFETY: the caller checked that `bytes` fit behind `offset`.
        unsafe { result::memcpy_htod_sync(to.pointer + offset as u64, bytes) }
            .map_err(|e| failed("copying to the device", e))
    }
    /// Has `fill` make bytes piece by piece and copies them there next to the work after `mark`.
    pub(super) fn fill(
        &self,
        to: &CudaAllocation,
        sizes: (usize, usize),
        mark: &EventMark,
        fill: &mut dyn FnMut(usize, &mut [u8]),
    ) -> Result<()> {
        self.enter()?;
        let mut upload = self.0.upload.lock().unwrap_or_else(PoisonError::into_inner);
        let upload = match &mut *upload {
            Some(upload) => upload,
            none => none.insert(Upload::new()?),
        };
        upload.take(to.pointer, sizes, mark.raw, fill)
    }
    pub(super) fn clear(&self, to: &CudaAllocation, bytes: usize) -> Result<()> {
        self.enter()?;
        // SAFETY: `bytes` is the size of the allocation.
        unsafe { result::memset_d8_sync(to.pointer, 0, bytes) }
            .map_err(|e| failed("clearing device memory", e))
    }
    /// A mark behind all work so far.
    pub(super) fn mark(&self) -> Result<EventMark> {
        self.enter()?;
        let odd = |e| failed("marking a place in the device's work", e);
        let raw = event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(odd)?;
        let mark = EventMark {
            raw,
            context: self.clone(),
        };
        // SAFETY: the event was made in this context; the default stream takes all kernels.
        unsafe { event::record(raw, std::ptr::null_mut()) }.map_err(odd)?;
        Ok(mark)
    }
    /// Hands the first `bytes` bytes to `each` in pieces of `piece` bytes, after `mark`: offset,
    /// piece.
    pub(super) fn read(
        &self,
        from: &CudaAllocation,
        sizes: (usize, usize),
        mark: &EventMark,
        each: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.enter()?;
        let (bytes, piece) = sizes;
        if bytes <= SMALL {
            let mut all = vec![0u8; bytes];
            // SAFETY: the caller checked that the allocation holds as many; the copy follows all
            // work in the default stream.
            unsafe { result::memcpy_dtoh_sync(&mut all, from.pointer) }
                .map_err(|e| failed("copying from the device", e))?;
            return all
                .chunks(piece.max(1))
                .enumerate()
                .try_for_each(|(at, part)| each(at * piece, part));
        }
        let mut download = self
            .0
            .download
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let download = match &mut *download {
            Some(download) => download,
            none => none.insert(Download::new()?),
        };
        download.bring(from.pointer, (bytes, piece.min(PIECE)), mark.raw, each)
    }
    pub(super) fn launch(
        &self,
        function: &CudaFunction,
        grid: Grid,
        args: &[Arg<'_>],
    ) -> Result<()> {
        self.enter()?;
        let mut values: Vec<[u8; 8]> = args.iter().map(bytes_of).collect::<Result<_>>()?;
        let mut pointers: Vec<*mut c_void> =
            values.iter_mut().map(|v| v.as_mut_ptr().cast()).collect();
        let (blocks, threads) = ((grid.x, grid.y, 1), (grid.threads, 1, 1));
        // SAFETY: the arguments match the parameters of the generated kernel in number and size,
        // and outlive the call.
        let started = unsafe {
            result::launch_kernel(
                function.raw,
                blocks,
                threads,
                function.shared,
                std::ptr::null_mut(),
                &mut pointers,
            )
        };
        started.map_err(|e| failed("starting a kernel", e))
    }
    pub(super) fn finish(&self) -> Result<()> {
        self.enter()?;
        result::ctx::synchronize().map_err(|e| failed("running a kernel", e))
    }
}

fn bytes_of(arg: &Arg<'_>) -> Result<[u8; 8]> {
    let mut out = [0u8; 8];
    match arg {
        Arg::Memory(memory) => match &memory.inner {
            MemoryInner::Cuda(m) => out = m.pointer.to_ne_bytes(),
            MemoryInner::OpenCl(_) => return Err(super::foreign()),
        },
        Arg::U32(v) => out[..4].copy_from_slice(&v.to_ne_bytes()),
        Arg::F64(v) => out = v.to_ne_bytes(),
        Arg::F32(v) => out[..4].copy_from_slice(&v.to_ne_bytes()),
    }
    Ok(out)
}
