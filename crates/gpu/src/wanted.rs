//! Which device is wanted: `cpu`, `auto`, `cuda[:i]`, `opencl[:i]`.

use crate::runtime::{Device, cuda, opencl};
use zipfold_core::{Error, Opt, Result};
use zipfold_plan::device::{Facts, Runtime};

/// The value of `--device`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The host's processor.
    Cpu,
    /// A GPU where one is there and pays, else the host's processor.
    Auto,
    /// Device `.1` of a runtime.
    Device(Runtime, usize),
}

impl Wanted {
    /// Reads the text of `--device`.
    ///
    /// # Errors
    /// `Request` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        let (name, index) = match text.split_once(':') {
            Some((name, number)) => (name, number.parse::<usize>().ok()),
            None => (text, Some(0)),
        };
        match (name, index) {
            ("cpu", Some(_)) if !text.contains(':') => Ok(Wanted::Cpu),
            ("auto", Some(_)) if !text.contains(':') => Ok(Wanted::Auto),
            ("cuda", Some(i)) => Ok(Wanted::Device(Runtime::Cuda, i)),
            ("opencl", Some(i)) => Ok(Wanted::Device(Runtime::OpenCl, i)),
            _ => {
                let e = Error::request(format!("'{text}' names no device")).at(Opt::Device);
                Err(e.remedy(format!(
                    "auto, cpu, cuda, cuda:1, opencl or opencl:1; {} lists those there are",
                    Opt::Devices
                )))
            }
        }
    }
}

/// The devices of a runtime, or why there are none.
///
/// # Errors
/// `Device` with the reason and the remedy.
pub fn list(runtime: Runtime) -> Result<Vec<Facts>> {
    match runtime {
        Runtime::Cuda => cuda::list(),
        Runtime::OpenCl => opencl::list(),
    }
}

/// Opens device `index` of `runtime`.
///
/// # Errors
/// `Device` when the runtime or the device is missing; the message says what there is.
pub fn open(runtime: Runtime, index: usize) -> Result<Device> {
    let have = list(runtime)?;
    if index >= have.len() {
        let names: Vec<String> = have.iter().map(|f| format!("{} ({})", f.id(), f.name)).collect();
        let e = Error::device(format!("there is no device {}:{index}", runtime.name())).at(Opt::Device);
        let e = e.limit(format!("{} device(s)", have.len()));
        return Err(e.remedy(if names.is_empty() { Opt::Device.to("cpu") } else { names.join(", ") }));
    }
    Device::open(runtime, index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_devices_or_are_refused() {
        assert_eq!(Wanted::parse("cuda").unwrap(), Wanted::Device(Runtime::Cuda, 0));
        assert_eq!(Wanted::parse("opencl:3").unwrap(), Wanted::Device(Runtime::OpenCl, 3));
        assert_eq!(Wanted::parse("cpu").unwrap(), Wanted::Cpu);
        for odd in ["", "gpu", "cuda:", "cuda:-1", "cuda:x", "cpu:0", "auto:1", "opencl:99999999999999999999"] {
            assert!(Wanted::parse(odd).is_err(), "{odd}");
        }
    }
}
