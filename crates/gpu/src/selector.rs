//! Which devices are wanted: `cpu`, `auto`, `cuda`, `cuda:1`, `cuda:0,1`, and the same of `opencl`.

use crate::runtime::{Device, cuda, opencl};
use zipfold_core::{Error, Opt, Result};
use zipfold_plan::device::{Facts, Runtime};

/// Where a question is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceSelector {
    /// The host's processor.
    Cpu,
    /// A GPU where one is there and pays, else the host's processor.
    Auto,
    /// Devices of a runtime.
    Devices(Runtime, Which),
}

/// Which devices of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All GPUs; where there are none, all processors that pose as devices.
    All,
    /// Those of these numbers, a bit each.
    Numbers(u64),
}

impl Which {
    /// The device of this number alone; none for a number above 63.
    #[doc(hidden)]
    pub fn only(number: usize) -> Self {
        Which::Numbers(if number > MOST { 0 } else { 1 << number })
    }
}

/// The largest number of a device.
const MOST: usize = u64::BITS as usize - 1;

impl DeviceSelector {
    /// Reads the text of the option that names devices.
    ///
    /// # Errors
    /// `Request` for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        let (name, numbers) = match text.split_once(':') {
            Some((name, numbers)) => (name, Some(numbers)),
            None => (text, None),
        };
        let which = numbers.map_or(Some(Which::All), listed);
        match (name, numbers, which) {
            ("cpu", None, _) => Ok(DeviceSelector::Cpu),
            ("auto", None, _) => Ok(DeviceSelector::Auto),
            ("cuda", _, Some(which)) => Ok(DeviceSelector::Devices(Runtime::Cuda, which)),
            ("opencl", _, Some(which)) => Ok(DeviceSelector::Devices(Runtime::OpenCl, which)),
            _ => Err(unknown(text)),
        }
    }
}

/// What [`DeviceSelector::parse`] reads.
impl std::fmt::Display for DeviceSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (runtime, which) = match self {
            DeviceSelector::Cpu => return f.write_str("cpu"),
            DeviceSelector::Auto => return f.write_str("auto"),
            DeviceSelector::Devices(runtime, which) => (runtime, which),
        };
        f.write_str(runtime.name())?;
        if let Which::Numbers(bits) = which {
            let numbers = (0..u64::BITS).filter(|number| bits >> number & 1 == 1);
            for (at, number) in numbers.enumerate() {
                write!(f, "{}{number}", if at == 0 { ':' } else { ',' })?;
            }
        }
        Ok(())
    }
}

fn unknown(text: &str) -> Error {
    let expected =
        "expected auto, cpu, cuda or opencl, with numbers of devices as in cuda:1 and cuda:0,1";
    let e = Error::request(format!("{expected}, got '{text}'")).at_place(Opt::Device);
    e.remedy(format!("{} lists the devices there are", Opt::Devices))
}

/// The devices of a list of different numbers.
fn listed(numbers: &str) -> Option<Which> {
    let mut bits = 0u64;
    for number in numbers.split(',') {
        let digits = number.bytes().all(|b| b.is_ascii_digit());
        let number = number
            .parse::<usize>()
            .ok()
            .filter(|number| digits && *number <= MOST)?;
        if bits & 1 << number != 0 {
            return None;
        }
        bits |= 1 << number;
    }
    Some(Which::Numbers(bits))
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

fn missing(runtime: Runtime, number: usize, have: &[Facts]) -> Error {
    let names: Vec<String> = have
        .iter()
        .map(|f| format!("{} ({})", f.id(), f.name))
        .collect();
    let e = Error::device(format!("there is no device {}:{number}", runtime.name()))
        .at_place(Opt::Device);
    let e = e.limit(format!("{} device(s)", have.len()));
    e.remedy(if names.is_empty() {
        Opt::Device.to("cpu")
    } else {
        names.join(", ")
    })
}

/// The facts of the devices `which` of `runtime`, in the order of their numbers.
///
/// # Errors
/// `Device` when the runtime or one of the devices is missing; the message says what there is.
pub fn find(runtime: Runtime, which: Which) -> Result<Vec<Facts>> {
    let have = list(runtime)?;
    let gpus = have.iter().any(|facts| !facts.host);
    let found: Vec<Facts> = match which {
        Which::All => have
            .iter()
            .filter(|facts| facts.host != gpus)
            .cloned()
            .collect(),
        Which::Numbers(bits) => {
            if let Some(number) = (have.len()..=MOST).find(|number| bits >> number & 1 == 1) {
                return Err(missing(runtime, number, &have));
            }
            have.iter()
                .filter(|facts| bits >> facts.index & 1 == 1)
                .cloned()
                .collect()
        }
    };
    if found.is_empty() {
        Err(missing(runtime, 0, &have))
    } else {
        Ok(found)
    }
}

/// Opens the devices `which` of `runtime`.
///
/// # Errors
/// As [`find`], and `Device` or `Resource` where a device cannot be opened.
pub fn open_all(runtime: Runtime, which: Which) -> Result<Vec<Device>> {
    find(runtime, which)?
        .iter()
        .map(|facts| Device::open(runtime, facts.index))
        .collect()
}

/// Opens device `index` of `runtime`.
///
/// # Errors
/// As [`open_all`].
pub fn open(runtime: Runtime, index: usize) -> Result<Device> {
    let have = list(runtime)?;
    if index >= have.len() {
        return Err(missing(runtime, index, &have));
    }
    Device::open(runtime, index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_devices_or_are_refused() {
        let numbers = |runtime, bits| DeviceSelector::Devices(runtime, Which::Numbers(bits));
        assert_eq!(
            DeviceSelector::parse("cuda").unwrap(),
            DeviceSelector::Devices(Runtime::Cuda, Which::All)
        );
        assert_eq!(
            DeviceSelector::parse("opencl:3").unwrap(),
            numbers(Runtime::OpenCl, 8)
        );
        assert_eq!(
            DeviceSelector::parse("cuda:0,1").unwrap(),
            numbers(Runtime::Cuda, 3)
        );
        assert_eq!(
            DeviceSelector::parse("cuda:2,0").unwrap(),
            numbers(Runtime::Cuda, 5)
        );
        assert_eq!(DeviceSelector::parse("cpu").unwrap(), DeviceSelector::Cpu);
        let odd = [
            "",
            "gpu",
            "cuda:",
            "cuda:-1",
            "cuda:x",
            "cpu:0",
            "auto:1",
            "opencl:99999999999999999999",
        ];
        for odd in odd.into_iter().chain([
            "cuda:0,",
            "cuda:,1",
            "cuda:1,1",
            "cuda:64",
            "cuda:+1",
            "cuda:0,cuda:1",
        ]) {
            let e = DeviceSelector::parse(odd).unwrap_err().to_string();
            assert!(
                e.contains("expected") && e.contains(&format!("got '{odd}'")),
                "{e}"
            );
        }
    }
}
