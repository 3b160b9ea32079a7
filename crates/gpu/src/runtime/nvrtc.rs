//! NVRTC: CUDA C++ source to a binary for one architecture. Needs no GPU and no driver.

use cudarc::nvrtc::{result, sys};
use std::ffi::CString;
use zipfold_core::{Error, Opt, Result};

/// Whether the library can be loaded.
pub fn is_present() -> bool {
    // SAFETY: only tries to load the library.
    unsafe { sys::is_culib_present() }
}

/// Options that keep the meaning of arithmetic: no contraction, correctly rounded division and
/// square root.
pub fn options(capability: usize) -> Vec<String> {
    // What is of compute capability 9.0 alone (`wgmma`) is behind a name of its own.
    let own = if capability == 90 { "a" } else { "" };
    let arch = format!("--gpu-architecture=sm_{capability}{own}");
    let plain = [
        "--fmad=false",
        "--prec-div=true",
        "--prec-sqrt=true",
        "--ftz=false",
        "--std=c++17",
        "--device-as-default-execution-space",
    ];
    [arch].into_iter().chain(plain.map(String::from)).collect()
}

/// A binary (cubin) of `source` for compute capability `capability` (90 for 9.0).
///
/// # Errors
/// `Device` when NVRTC is missing, too old for the architecture, or refuses the source.
pub fn compile(source: &str, capability: usize) -> Result<Vec<u8>> {
    if !is_present() {
        let e = Error::device("the CUDA run-time compiler (libnvrtc) is not there");
        return Err(e.remedy(format!("install the CUDA toolkit or the Python package nvidia-cuda-nvrtc and put its folder on LD_LIBRARY_PATH, or use {} or {}", Opt::Device.to("opencl"), Opt::Device.to("cpu"))));
    }
    with_program(source, |program| {
        build(program, &options(capability), capability)
    })
}

/// What the assembler says of the kernels of `source`: registers, shared memory, spills.
///
/// # Errors
/// As [`compile`].
pub fn report(source: &str, capability: usize) -> Result<String> {
    let mut options = options(capability);
    options.push("--ptxas-options=-v".into());
    with_program(source, |program| {
        build(program, &options, capability).map(|_| log_of(program))
    })
}

fn with_program<R>(source: &str, work: impl FnOnce(sys::nvrtcProgram) -> Result<R>) -> Result<R> {
    let text = CString::new(source).map_err(|_| Error::internal("a zero byte in kernel source"))?;
    let program = result::create_program(&text, Some(c"zipfold.cu")).map_err(|e| failed(&e))?;
    let outcome = work(program);
    // SAFETY: the program was created above and is destroyed once.
    let _ = unsafe { result::destroy_program(program) };
    outcome
}

fn log_of(program: sys::nvrtcProgram) -> String {
    // SAFETY: the program is alive.
    let log = unsafe { result::get_program_log(program) }.unwrap_or_default();
    log.iter()
        .map(|c| char::from(c.to_ne_bytes()[0]))
        .filter(|c| *c != '\0')
        .collect()
}

fn build(program: sys::nvrtcProgram, options: &[String], capability: usize) -> Result<Vec<u8>> {
    // SAFETY: the program is alive.
    if let Err(e) = unsafe { result::compile_program(program, options) } {
        let log = log_of(program);
        if log.contains("gpu-architecture") {
            let e = Error::device(format!(
                "the CUDA run-time compiler does not know architecture sm_{capability}"
            ));
            return Err(e.remedy("a newer NVRTC"));
        }
        let first: Vec<&str> = log
            .lines()
            .filter(|l| l.contains("error"))
            .take(4)
            .collect();
        return Err(super::refused("NVRTC", &format!("{e:?}"), &first));
    }
    let mut size = 0usize;
    // SAFETY: the program is alive and compiled; `size` is written.
    unsafe { sys::nvrtcGetCUBINSize(program, &mut size) }
        .result()
        .map_err(|e| failed(&e))?;
    let mut binary = vec![0u8; size];
    // SAFETY: `binary` has the size that NVRTC named.
    unsafe { sys::nvrtcGetCUBIN(program, binary.as_mut_ptr().cast()) }
        .result()
        .map_err(|e| failed(&e))?;
    Ok(binary)
}

fn failed(e: &result::NvrtcError) -> Error {
    Error::device(format!("NVRTC failed: {e:?}"))
}
