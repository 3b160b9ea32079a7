//! A network from a file: the probability of its evidence on the processor and beside a device.

use super::rows::{Cell, Row};
use std::path::Path;
use std::time::Instant;
use zipfold::internals::core::factor::{Answer, Evidence, Network, Task};
use zipfold::internals::core::{Budget, Error, Precision, Result};
use zipfold::internals::device::DeviceSelector;
use zipfold::internals::infer::{Inferred, Settings, infer};
use zipfold::internals::io::network::read_network;
use zipfold::internals::plan::Overrides;

/// Measures one network.
///
/// # Errors
/// Those of reading and of the inference; `Internal` where processor and device differ.
pub(crate) fn measure(path: &Path, device: DeviceSelector, set: &Overrides) -> Result<Row> {
    let settings = Settings {
        time_limit: 1e9,
        ..Settings::default()
    };
    let network = read_network(path, &Budget::new(settings.memory))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let on_host = Settings {
        device: DeviceSelector::Cpu,
        ..settings.clone()
    };
    let (host, seconds) = timed(&network, &on_host)?;
    let mut row: Row = vec![("network", Cell::Text(name.into_owned()))];
    if let Some(p) = host.plan.prediction() {
        row.push(("operations", Cell::Number(p.flops)));
        row.push(("predicted", Cell::Seconds(p.seconds)));
    }
    row.push(("all_cores", Cell::Seconds(host.seconds[2])));
    row.push(("all_cores_total", Cell::Seconds(seconds)));
    if device == DeviceSelector::Cpu {
        return Ok(row);
    }
    let on_device = Settings {
        device,
        overrides: set.clone(),
        precision: Precision::F64,
        ..settings
    };
    let (there, seconds) = timed(&network, &on_device)?;
    agree(&host.answer, &there.answer).map_err(|e| e.at_place(path.display().to_string()))?;
    if let Some(on) = &there.device {
        row.push(("joins_there", Cell::Number(on.joins as f64)));
        row.push(("predicted_there", Cell::Seconds(on.seconds)));
    }
    row.push(("device", Cell::Seconds(there.seconds[2])));
    row.push(("device_total", Cell::Seconds(seconds)));
    Ok(row)
}

/// The probability of the evidence, and the seconds of everything.
fn timed(network: &Network, settings: &Settings) -> Result<(Inferred, f64)> {
    let start = Instant::now();
    let done = infer(network, &Evidence::none(), &Task::Pr, settings)?;
    Ok((done, start.elapsed().as_secs_f64()))
}

/// Refuses answers that differ.
fn agree(host: &Answer, there: &Answer) -> Result<()> {
    let same = match (host, there) {
        (Answer::Pr(a), Answer::Pr(b)) => (a - b).abs() <= 1e-9 * a.abs().max(1.0),
        (a, b) => a == b,
    };
    if same {
        return Ok(());
    }
    Err(Error::internal(format!(
        "{there:?} on the device, {host:?} on the host"
    )))
}
