//! OpenCL, loaded dynamically.

use super::{Arg, Grid, Inner, MemoryInner};
use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_CPU, Device as Raw};
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use opencl3::platform::get_platforms;
use opencl3::program::Program;
use opencl3::types::{CL_BLOCKING, cl_device_id};
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex};
use zipfold_core::budget::human_bytes;
use zipfold_core::{Error, Opt, Result};
use zipfold_plan::device::{Facts, Runtime};

/// Options that keep the meaning of arithmetic; contraction is switched off in the source. Warnings
/// are off: they are about code that nobody wrote by hand, and some compilers print them on the
/// terminal.
const OPTIONS: &str = "-w -cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt";
const OUT_OF_MEMORY: [i32; 3] = [-4, -5, -6];

fn failed(what: &str, e: opencl3::error_codes::ClError) -> Error {
    if OUT_OF_MEMORY.contains(&e.0) {
        return Error::resource(format!("{what}: the device is out of memory"))
            .remedy(Opt::Device.to("cpu"));
    }
    Error::device(format!("{what}: OpenCL says {e}")).remedy(Opt::Device.to("cpu"))
}

fn devices() -> Result<Vec<Raw>> {
    let none = |what: &str| {
        Error::device(what.to_string()).remedy(format!(
            "install the OpenCL driver of the device, or use {}",
            Opt::Device.to("cpu")
        ))
    };
    let platforms = get_platforms().map_err(|e| {
        none(&format!(
            "no OpenCL loader or platform on this machine ({e})"
        ))
    })?;
    let ids = platforms
        .iter()
        .flat_map(|p| p.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default());
    Ok(ids.map(Raw::new).collect())
}

/// The OpenCL devices, in the order of platforms.
///
/// # Errors
/// `Device` when there is no loader or no platform.
pub fn list() -> Result<Vec<Facts>> {
    devices()?
        .iter()
        .enumerate()
        .map(|(index, device)| facts(index, device))
        .collect()
}

fn facts(index: usize, device: &Raw) -> Result<Facts> {
    let text = |r: std::result::Result<String, _>| {
        r.map(|t: String| t.trim().to_string()).unwrap_or_default()
    };
    let odd = |e| failed("a fact of the device", e);
    Ok(Facts {
        runtime: Runtime::OpenCl,
        index,
        name: text(device.name()),
        driver: text(device.version()),
        units: device.max_compute_units().map_err(odd)? as usize,
        clock: f64::from(device.max_clock_frequency().unwrap_or(0)) * 1e6,
        memory: device.global_mem_size().map_err(odd)?,
        largest: device.max_mem_alloc_size().map_err(odd)?,
        shared: device.local_mem_size().map_err(odd)? as usize,
        requestable: device.local_mem_size().map_err(odd)? as usize,
        threads: device.max_work_group_size().map_err(odd)?,
        capability: 0,
        double: device.double_fp_config().is_ok_and(|c| c != 0),
        host: device.dev_type().is_ok_and(|t| t & CL_DEVICE_TYPE_CPU != 0),
    })
}

/// Opens device `index`.
///
/// # Errors
/// `Device` when that fails.
pub(super) fn open(index: usize) -> Result<(Facts, Inner)> {
    let Some(raw) = devices()?.into_iter().nth(index) else {
        return Err(Error::device(format!("there is no device opencl:{index}")));
    };
    let facts = facts(index, &raw)?;
    let opened = Opened::keep(&raw)?;
    // SAFETY: the device belongs to the context.
    #[allow(deprecated, reason = "the replacement needs OpenCL 2.0")]
    let queue = unsafe { CommandQueue::create(&opened.context, raw.id(), 0) };
    let queue = queue.map_err(|e| opened.failed("opening the device", e))?;
    let host = facts.host;
    Ok((
        facts,
        Inner::OpenCl(Session {
            queue,
            opened,
            host,
        }),
    ))
}

/// A context, and the programs that were built in it, by source, in the order of their use.
struct Opened {
    context: Context,
    device: cl_device_id,
    /// The process that opened it: one that was forked from it has no driver for it.
    process: u32,
    programs: Mutex<Vec<(String, Arc<Program>)>>,
}

/// Programs that a context keeps.
const MOST_PROGRAMS: usize = 64;

// SAFETY: OpenCL objects may be used from any thread (all calls but clSetKernelArg are
// thread-safe).
unsafe impl Send for Opened {}
// SAFETY: as above.
unsafe impl Sync for Opened {}

/// The devices that this process has opened. A question that follows another builds none of the
/// programs that both have; drivers keep binaries on disk, but to find one may take a compiler's front
/// end, as by PoCL.
static OPENED: Mutex<Vec<Arc<Opened>>> = Mutex::new(vec![]);

impl Opened {
    /// The context of a device: that of an earlier question, or a new one.
    fn keep(raw: &Raw) -> Result<Arc<Opened>> {
        let process = std::process::id();
        let find = |all: &[Arc<Opened>]| {
            let same = |o: &&Arc<Opened>| o.device == raw.id() && o.process == process;
            all.iter().find(same).cloned()
        };
        if let Some(found) = find(&locked(&OPENED)) {
            return Ok(found);
        }
        // Not under the lock, which a process that is forked meanwhile would find held.
        let context = Context::from_device(raw).map_err(|e| failed("opening the device", e))?;
        let made = Arc::new(Opened {
            context,
            device: raw.id(),
            process,
            programs: Mutex::new(vec![]),
        });
        let mut all = locked(&OPENED);
        if let Some(found) = find(&all) {
            return Ok(found);
        }
        // What the process that this one was forked from has opened cannot be released here.
        let (own, others): (Vec<_>, Vec<_>) = std::mem::take(&mut *all)
            .into_iter()
            .partition(|o| o.process == process);
        *all = own;
        std::mem::forget(others);
        all.push(made.clone());
        Ok(made)
    }
    /// The error of a call. The next question opens the device anew: a context in which a call has
    /// failed may answer nothing more, and drivers tell that by the words for too little memory, too.
    fn failed(self: &Arc<Self>, what: &str, e: opencl3::error_codes::ClError) -> Error {
        locked(&OPENED).retain(|opened| !Arc::ptr_eq(opened, self));
        failed(what, e)
    }
    fn program(self: &Arc<Self>, source: &str, options: &str) -> Result<Arc<Program>> {
        let find = |programs: &mut Vec<(String, Arc<Program>)>| {
            let at = programs.iter().position(|(text, _)| text == source)?;
            let found = programs.remove(at);
            programs.push(found);
            programs.last().map(|(_, program)| program.clone())
        };
        if let Some(found) = find(&mut locked(&self.programs)) {
            return Ok(found);
        }
        // Others may build meanwhile.
        let mut program = Program::create_from_source(&self.context, source)
            .map_err(|e| self.failed("taking a kernel's source", e))?;
        if let Err(e) = program.build(&[self.device], options) {
            let log = program.get_build_log(self.device).unwrap_or_default();
            let first: Vec<&str> = log
                .lines()
                .filter(|l| l.contains("error"))
                .take(4)
                .collect();
            return Err(super::refused("OpenCL", &e.to_string(), &first));
        }
        let mut programs = locked(&self.programs);
        if let Some(found) = find(&mut programs) {
            return Ok(found);
        }
        if programs.len() == MOST_PROGRAMS {
            programs.remove(0);
        }
        programs.push((source.to_string(), Arc::new(program)));
        Ok(programs[programs.len() - 1].1.clone())
    }
}

/// A device and an in-order queue. The queue goes first.
pub struct Session {
    queue: CommandQueue,
    opened: Arc<Opened>,
    /// A processor of the host.
    host: bool,
}

// SAFETY: as above.
unsafe impl Send for Session {}
// SAFETY: as above.
unsafe impl Sync for Session {}

/// Device memory. The lock lets it be written through a shared reference.
pub struct Allocation(Mutex<Buffer<u8>>);

/// A kernel; its arguments belong to one user at a time.
pub struct Function(Mutex<Kernel>);

// SAFETY: the lock makes clSetKernelArg and the launch one step.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Session {
    fn failed(&self, what: &str, e: opencl3::error_codes::ClError) -> Error {
        self.opened.failed(what, e)
    }
    pub(super) fn compile(&self, source: &str, names: &[&str]) -> Result<Vec<Function>> {
        let host = if self.host { " -DZF_HOST" } else { "" };
        let program = self.opened.program(source, &format!("{OPTIONS}{host}"))?;
        let find = |name: &&str| {
            let kernel =
                Kernel::create(&program, name).map_err(|e| self.failed("finding a kernel", e))?;
            Ok(Function(Mutex::new(kernel)))
        };
        names.iter().map(find).collect()
    }
    pub(super) fn allocate(&self, bytes: usize) -> Result<Allocation> {
        // SAFETY: no host pointer is given.
        let buffer = unsafe {
            Buffer::<u8>::create(&self.opened.context, CL_MEM_READ_WRITE, bytes, null_mut())
        };
        let buffer = buffer
            .map_err(|e| self.failed(&format!("allocating {}", human_bytes(bytes as u64)), e))?;
        Ok(Allocation(Mutex::new(buffer)))
    }
    pub(super) fn write(&self, to: &Allocation, offset: usize, bytes: &[u8]) -> Result<()> {
        // SAFETY: the caller checked that `bytes` fit behind `offset`; the call blocks until they are
        // copied.
        let done = unsafe {
            self.queue
                .enqueue_write_buffer(&mut locked(&to.0), CL_BLOCKING, offset, bytes, &[])
        };
        done.map(|_| ())
            .map_err(|e| self.failed("copying to the device", e))
    }
    pub(super) fn clear(&self, to: &Allocation, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        // SAFETY: `bytes` is the size of the allocation.
        let done = unsafe {
            self.queue
                .enqueue_fill_buffer(&mut locked(&to.0), &[0u8], 0, bytes, &[])
        };
        done.map(|_| ())
            .map_err(|e| self.failed("clearing device memory", e))
    }
    /// Hands the first `bytes` bytes to `each` in pieces of `piece` bytes, after all work: offset,
    /// piece.
    pub(super) fn read(
        &self,
        from: &Allocation,
        (bytes, piece): (usize, usize),
        each: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut held = vec![0u8; piece.clamp(1, bytes)];
        for at in (0..bytes).step_by(held.len()) {
            let part = held.len().min(bytes - at);
            // SAFETY: the caller checked that the allocation holds as many; the call blocks until
            // they are copied.
            let done = unsafe {
                self.queue.enqueue_read_buffer(
                    &locked(&from.0),
                    CL_BLOCKING,
                    at,
                    &mut held[..part],
                    &[],
                )
            };
            done.map_err(|e| self.failed("copying from the device", e))?;
            each(at, &held[..part])?;
        }
        Ok(())
    }
    pub(super) fn launch(&self, function: &Function, grid: Grid, args: &[Arg<'_>]) -> Result<()> {
        let kernel = locked(&function.0);
        let wanted = kernel
            .num_args()
            .map_err(|e| self.failed("starting a kernel", e))?;
        if wanted as usize != args.len() {
            return Err(Error::internal(format!(
                "{} arguments for a kernel of {wanted}",
                args.len()
            )));
        }
        for (at, arg) in args.iter().enumerate() {
            self.set(&kernel, at as u32, arg)?;
        }
        let threads = grid.threads as usize;
        let (global, local) = ([grid.x as usize * threads, grid.y as usize], [threads, 1]);
        // SAFETY: the arguments match the parameters of the generated kernel in number and type.
        let started = unsafe {
            self.queue.enqueue_nd_range_kernel(
                kernel.get(),
                2,
                null(),
                global.as_ptr(),
                local.as_ptr(),
                &[],
            )
        };
        started
            .map(|_| ())
            .map_err(|e| self.failed("starting a kernel", e))
    }
    pub(super) fn finish(&self) -> Result<()> {
        self.queue
            .finish()
            .map_err(|e| self.failed("running a kernel", e))
    }
    fn set(&self, kernel: &Kernel, at: u32, arg: &Arg<'_>) -> Result<()> {
        let done = match arg {
            Arg::Memory(memory) => match &memory.inner {
                MemoryInner::OpenCl(m) => {
                    let handle = locked(&m.0).get();
                    // SAFETY: the kernel's parameter is a pointer, and the memory outlives the launch's
                    // completion (in-order queue; every buffer is read or finished before it is
                    // dropped).
                    unsafe { kernel.set_arg(at, &handle) }
                }
                MemoryInner::Cuda(_) => return Err(super::foreign()),
            },
            // SAFETY: the kernel's parameter is a 32-bit number.
            Arg::U32(v) => unsafe { kernel.set_arg(at, v) },
            // SAFETY: the kernel's parameter is a double.
            Arg::F64(v) => unsafe { kernel.set_arg(at, v) },
            // SAFETY: the kernel's parameter is a float.
            Arg::F32(v) => unsafe { kernel.set_arg(at, v) },
        };
        done.map_err(|e| self.failed("a kernel's argument", e))
    }
}
