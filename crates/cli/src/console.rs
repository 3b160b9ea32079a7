//! What the command says: summary, JSON report, devices.

use crate::args::RunArgs;
use crate::flags;
use crate::terminal::{print_line, say, say_written};
use zipfold::devices::{Facts, Runtime};
use zipfold::internals::core::budget::human_bytes;
use zipfold::internals::core::figures;
use zipfold::internals::query::plan_json;
use zipfold::{Answer, Outcome, Result};

/// Seconds of every phase.
#[derive(Default)]
#[allow(missing_docs)]
pub(crate) struct Seconds {
    pub read: f64,
    pub range: f64,
    pub plan: f64,
    pub kernel: f64,
    pub load: f64,
    pub write: f64,
    pub total: f64,
}

impl Seconds {
    /// Adds the seconds of the phases that an answer counts itself.
    pub(crate) fn add_run(&mut self, answer: &Answer<'_>) {
        self.range = answer.range.as_ref().map_or(0.0, |found| found.seconds);
        self.plan = answer.planning;
        self.kernel = answer.outcome.kernel_seconds;
        self.load = answer.outcome.load_seconds;
    }
}

/// What is told about a run when it has ended.
#[allow(missing_docs)]
pub(crate) struct Told<'a> {
    pub verb: &'a str,
    pub(crate) answer: &'a Answer<'a>,
    pub seconds: &'a Seconds,
    pub peak_bytes: u64,
    pub outputs: &'a [String],
    pub inputs: serde_json::Value,
}

/// JSON on standard output, or a summary on standard error.
pub(crate) fn report(told: &Told<'_>, args: &RunArgs) -> Result<()> {
    if args.json {
        return print_line(&report_json(told)?.to_string());
    }
    if args.quiet {
        return Ok(());
    }
    say(&summary(told));
    told.outputs.iter().for_each(|o| say_written(o));
    Ok(())
}

/// The report in numbers.
fn report_json(told: &Told<'_>) -> Result<serde_json::Value> {
    let Told {
        verb,
        answer,
        seconds,
        peak_bytes,
        outputs,
        inputs,
    } = told;
    let (job, outcome, range) = (&answer.job, &answer.outcome, answer.range.as_ref());
    let tally = &outcome.tally;
    let phase = |name: &str, seconds: f64, pairs: u64, evaluated: u64| serde_json::json!({"name": name, "seconds": seconds, "pairs": pairs, "evaluated": evaluated});
    let evaluated = outcome.pairs - tally.skipped - tally.settled;
    let phases: Vec<_> = range
        .map(|r| phase("range", r.seconds, r.pairs, r.evaluated))
        .into_iter()
        .chain([phase("pairs", seconds.kernel, outcome.pairs, evaluated)])
        .collect();
    Ok(serde_json::json!({
        "schema": 1,
        "command": verb,
        "n": [job.space.n, job.space.m],
        "inputs": inputs,
        "plan": plan_json(&outcome.plan, flags::words)?,
        "counts": {"pairs": outcome.pairs, "evaluated": evaluated, "skipped": tally.skipped, "settled": tally.settled, "counted": tally.counted, "far": tally.beyond_cutoff, "nan": tally.nan},
        "phases": phases,
        "seconds": {"read": seconds.read, "range": seconds.range, "plan": seconds.plan, "kernel": seconds.kernel, "load": seconds.load, "write": seconds.write, "total": seconds.total},
        "peak_bytes": peak_bytes,
        "outputs": outputs,
        "warnings": flags::told_all(&outcome.warnings),
    }))
}

/// `109 M pairs (98.9 % pruned) in 48 ms · 2.30 G pairs/s · peak 6.2 MiB`: time and rate are those
/// of the pairs of this run.
fn summary(told: &Told<'_>) -> String {
    let Told {
        answer,
        seconds,
        peak_bytes,
        ..
    } = told;
    let (outcome, range) = (&answer.outcome, answer.range.as_ref());
    let notes = match notes(outcome) {
        notes if notes.is_empty() => String::new(),
        notes => format!(" ({})", notes.join(", ")),
    };
    let pairs = figures::si(outcome.pairs as f64);
    let mut line = match seconds.kernel {
        0.0 => format!(
            "{pairs} pairs{notes} in {}",
            figures::duration(seconds.total)
        ),
        kernel => {
            let rate = figures::si((outcome.pairs - outcome.before) as f64 / kernel);
            format!(
                "{pairs} pairs{notes} in {} · {rate} pairs/s",
                figures::duration(kernel)
            )
        }
    };
    line += &format!(" · peak {}", human_bytes(*peak_bytes));
    if let Some(found) = range {
        line += &format!(" · range found in {}", figures::duration(found.seconds));
    }
    let beside = seconds.total - seconds.kernel - seconds.range;
    if seconds.kernel > 0.0 && beside > 0.1 && beside > 0.1 * seconds.kernel {
        line += &format!(
            " · {} in all, with reading and writing",
            figures::duration(seconds.total)
        );
    }
    line
}

/// What became of the pairs that were not evaluated, or not in this run.
fn notes(outcome: &Outcome) -> Vec<String> {
    let tally = &outcome.tally;
    let pruned = tally.skipped + tally.settled;
    let mut notes = vec![];
    if outcome.plan.prune.is_on() {
        notes.push(format!(
            "{} pruned",
            figures::percent(pruned, outcome.pairs)
        ));
    }
    let counted = [
        (tally.beyond_cutoff, "beyond the cut-off"),
        (tally.nan, "left out as NaN"),
        (outcome.before, "of them before the interruption"),
    ];
    let counted = counted.into_iter().filter(|(pairs, _)| *pairs > 0);
    notes.extend(counted.map(|(pairs, what)| format!("{} {what}", figures::si(pairs as f64))));
    notes
}

/// `zipfold devices`.
pub(crate) fn devices(json: bool) -> Result<()> {
    let machine = zipfold::internals::cpu::detect(0, zipfold::internals::io::memory::available());
    let found = [Runtime::Cuda, Runtime::OpenCl].map(|r| (r, zipfold::devices::list(r)));
    if json {
        let mut value = serde_json::to_value(&machine).unwrap_or_default();
        for (runtime, devices) in &found {
            value[runtime.name()] = match devices {
                Ok(devices) => devices.iter().map(facts).collect(),
                Err(e) => serde_json::json!({"unavailable": e.what().told(flags::words)}),
            };
        }
        return print_line(&value.to_string());
    }
    print_line(&format!(
        "{:<9} {} threads, {}, {} free",
        "cpu",
        machine.threads,
        machine.isa.name(),
        human_bytes(machine.memory)
    ))?;
    for (runtime, devices) in &found {
        let lines = match devices {
            Ok(devices) => devices.iter().map(device_line).collect(),
            Err(e) => {
                let why = e.what().told(flags::words);
                vec![format!("{:<9} {why}", runtime.name())]
            }
        };
        lines.iter().try_for_each(|line| print_line(line))?;
    }
    Ok(())
}

fn device_line(f: &Facts) -> String {
    let kind = if f.host {
        ", a processor of the host"
    } else {
        ""
    };
    let double = if f.double {
        ""
    } else {
        ", single precision only"
    };
    format!(
        "{:<9} {}, {}, {} units, {}{kind}{double}",
        f.id(),
        f.name,
        f.driver,
        f.units,
        human_bytes(f.memory)
    )
}

fn facts(f: &Facts) -> serde_json::Value {
    serde_json::json!({
        "id": f.id(), "name": f.name, "driver": f.driver, "units": f.units, "memory": f.memory, "shared": f.shared,
        "capability": f.capability, "double": f.double, "host": f.host, "clock": f.clock, "largest": f.largest,
        "threads": f.threads,
    })
}
