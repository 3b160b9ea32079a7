//! The device that kernels are written for: a runtime, an architecture, or facts in a file.

use zipfold::devices::{Facts, Runtime};
use zipfold::{Budget, Error, Result};

/// Reads `cuda`, `opencl`, `sm_90`, or the name of a JSON file with an entry of `zipfold devices
/// --json`.
///
/// # Errors
/// `Request` for other texts, unknown facts and facts that make no sense; `Input` when the file
/// cannot be read.
pub(crate) fn facts(text: &str, budget: &Budget) -> Result<Facts> {
    match text {
        "cuda" => Ok(Facts::described(Runtime::Cuda)),
        "opencl" => Ok(Facts::described(Runtime::OpenCl)),
        _ if text.ends_with(".json") => of_file(text, budget),
        _ => of_architecture(text).ok_or_else(|| {
            let e = Error::request(format!("'{text}' describes no device")).at_place("--target");
            e.remedy(
                "cuda, opencl, sm_80, sm_90, sm_100, or FILE.json with an entry of `zipfold devices --json`",
            )
        }),
    }
}

/// A CUDA device of an architecture such as `sm_90`.
fn of_architecture(text: &str) -> Option<Facts> {
    let capability = text.strip_prefix("sm_")?.parse::<usize>().ok()?;
    (50..=999).contains(&capability).then(|| Facts {
        capability,
        name: format!("a device of architecture sm_{capability}"),
        ..Facts::described(Runtime::Cuda)
    })
}

/// The longest description of a device.
const LONGEST: u64 = 1 << 20;

fn of_file(path: &str, budget: &Budget) -> Result<Facts> {
    let text =
        zipfold::internals::io::guard::Source::open(path, budget)?.whole_text(LONGEST, budget)?;
    let odd = |what: String| Error::request(what).at_place(path);
    let value: serde_json::Value =
        serde_json::from_str(text.as_str()).map_err(|e| odd(format!("no JSON: {e}")))?;
    let Some(entries) = value.as_object() else {
        return Err(odd("no object of facts".into()).remedy("an entry of `zipfold devices --json`"));
    };
    let runtime = runtime(entries).map_err(|e| e.at_place(path))?;
    let mut facts = Facts::described(runtime);
    for (key, value) in entries {
        put(&mut facts, key, value).ok_or_else(|| {
            let known = "id, name, driver, units, clock, memory, largest, shared, threads, capability, double, host";
            odd(format!("\"{key}\": {value} is no fact of a device")).remedy(known)
        })?;
    }
    Ok(facts)
}

/// The runtime of a device, by its identifier.
fn runtime(entries: &serde_json::Map<String, serde_json::Value>) -> Result<Runtime> {
    let id = entries.get("id").and_then(|id| id.as_str());
    match id.map(|id| id.split(':').next().unwrap_or(id)) {
        None | Some("cuda") => Ok(Runtime::Cuda),
        Some("opencl") => Ok(Runtime::OpenCl),
        Some(other) => Err(Error::request(format!("no runtime '{other}'"))
            .remedy("\"id\": \"cuda:0\" or \"opencl:0\"")),
    }
}

/// Sets one fact; none where it is unknown or makes no sense.
fn put(facts: &mut Facts, key: &str, value: &serde_json::Value) -> Option<()> {
    let count = || value.as_u64().filter(|v| *v > 0);
    match key {
        "id" => {}
        "name" => facts.name = value.as_str()?.lines().next()?.into(),
        "driver" => facts.driver = value.as_str()?.into(),
        "units" => facts.units = count()? as usize,
        "clock" => facts.clock = value.as_f64().filter(|v| *v > 0.0)?,
        "memory" => {
            facts.memory = count()?;
            facts.largest = facts.largest.min(facts.memory);
        }
        "largest" => facts.largest = count()?,
        "shared" => facts.shared = count()? as usize,
        "threads" => facts.threads = count()? as usize,
        "capability" => facts.capability = value.as_u64()? as usize,
        "double" => facts.double = value.as_bool()?,
        "host" => facts.host = value.as_bool()?,
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_devices_or_are_refused() {
        assert_eq!(
            facts("opencl", &Budget::new(1 << 20)).unwrap().runtime,
            Runtime::OpenCl
        );
        assert_eq!(
            facts("sm_80", &Budget::new(1 << 20)).unwrap().capability,
            80
        );
        for odd in ["", "sm_", "sm_9x", "metal", "sm_99999999999999999999"] {
            assert!(
                facts(odd, &Budget::new(1 << 20))
                    .unwrap_err()
                    .to_string()
                    .contains("--target"),
                "{odd}"
            );
        }
    }

    #[test]
    fn a_file_describes_a_device_fact_by_fact() {
        let path = std::env::temp_dir().join(format!("zipfold-target-{}.json", std::process::id()));
        let name = path.to_str().unwrap();
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            facts(name, &Budget::new(1 << 20))
        };
        let made =
            read(r#"{"id": "opencl:1", "name": "small", "units": 8, "memory": 1000000, "double": false}"#).unwrap();
        assert_eq!(
            (made.runtime, made.units, made.memory, made.largest),
            (Runtime::OpenCl, 8, 1_000_000, 1_000_000)
        );
        assert!(!made.double && made.name == "small");
        for odd in [
            r#"{"units": 0}"#,
            r#"{"unit": 8}"#,
            r#"{"units": "8"}"#,
            "[]",
            "{",
            r#"{"id": "metal:0"}"#,
        ] {
            let e = read(odd).unwrap_err().to_string();
            assert!(e.contains(name), "{odd}: {e}");
        }
        std::fs::remove_file(path).unwrap();
    }
}
