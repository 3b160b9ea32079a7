//! What the command says: progress, summary, JSON report, devices.

use crate::args::RunArgs;
use crate::work::Seconds;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use zipfold::core::budget::human_bytes;
use zipfold::core::shown::shown;
use zipfold::device::{Facts, Runtime};
use zipfold::{Error, Job, Outcome, Progress, Result};

/// A progress bar with rate and remaining time on a terminal, nothing elsewhere.
pub struct Bar(Option<ProgressBar>);

impl Bar {
    /// A bar, unless `silent` or standard error is no terminal.
    pub fn new(silent: bool) -> Self {
        if silent || !std::io::stderr().is_terminal() {
            return Bar(None);
        }
        let bar = ProgressBar::new(0);
        let template = "{bar:30} {percent:>3} %  {per_sec} pairs, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Bar(Some(bar))
    }
    /// Shows how far the run is.
    pub fn tell(&self, progress: Progress) {
        if let Some(bar) = &self.0 {
            bar.set_length(progress.total);
            bar.set_position(progress.cells);
        }
    }
    /// Removes the bar.
    pub fn end(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// A line on standard output; a closed pipe is success.
pub fn print_line(text: &str) -> Result<()> {
    print(&format!("{text}\n"))
}

/// A line on standard error, where it can be written.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Text on standard output; a closed pipe is success.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::resource(format!("standard output: {e}"))),
        _ => Ok(()),
    }
}

/// What is told about a run when it has ended.
#[allow(missing_docs)]
pub struct Told<'a> {
    pub verb: &'a str,
    pub range: Option<&'a zipfold::ranges::Found>,
    pub job: &'a Job,
    pub outcome: &'a Outcome,
    pub seconds: &'a Seconds,
    pub peak_bytes: u64,
    pub outputs: &'a [String],
    pub inputs: serde_json::Value,
}

/// JSON on standard output, or a summary on standard error.
pub fn report(told: &Told<'_>, args: &RunArgs) -> Result<()> {
    let Told { verb, range, job, outcome, seconds, peak_bytes, outputs, inputs } = told;
    let tally = &outcome.tally;
    if args.json {
        let phase = |name: &str, seconds: f64, cells: u64, evaluated: u64| serde_json::json!({"name": name, "seconds": seconds, "cells": cells, "evaluated": evaluated});
        let evaluated = outcome.cells - tally.skipped - tally.settled;
        let phases: Vec<_> = range
            .map(|r| phase("range", r.seconds, r.cells, r.evaluated))
            .into_iter()
            .chain([phase("pairs", seconds.kernel, outcome.cells, evaluated)])
            .collect();
        let value = serde_json::json!({
            "schema": 1,
            "command": verb,
            "n": [job.space.n, job.space.m],
            "inputs": inputs,
            "plan": outcome.plan,
            "counts": {"cells": outcome.cells, "evaluated": evaluated, "skipped": tally.skipped, "settled": tally.settled, "counted": tally.counted, "far": tally.far, "nan": tally.nan},
            "phases": phases,
            "seconds": {"read": seconds.read, "range": seconds.range, "plan": seconds.plan, "kernel": seconds.kernel, "write": seconds.write, "total": seconds.total},
            "peak_bytes": peak_bytes,
            "outputs": outputs,
            "warnings": outcome.warnings,
        });
        return print_line(&value.to_string());
    }
    outcome.warnings.iter().for_each(|w| say(&format!("warning: {}", shown(w))));
    if args.quiet {
        return Ok(());
    }
    let rate = match seconds.kernel {
        0.0 => String::new(),
        kernel => format!(" ({:.3e}/s)", outcome.cells as f64 / kernel),
    };
    let skipped = if tally.far + tally.nan > 0 {
        format!(", {} beyond the cut-off, {} NaN", tally.far, tally.nan)
    } else {
        String::new()
    };
    let pruned = if outcome.plan.prune.is_on() {
        format!(", {} skipped and {} settled by bounds", tally.skipped, tally.settled)
    } else {
        String::new()
    };
    let held = human_bytes(*peak_bytes);
    say(&format!("{} pairs{skipped}{pruned} in {:.3} s{rate}, {held} at most", outcome.cells, seconds.total));
    outputs.iter().for_each(|o| say(&format!("wrote {}", shown(o))));
    Ok(())
}

/// `zipfold devices`.
pub fn devices(json: bool) -> Result<()> {
    let machine = zipfold::cpu::detect(0, zipfold::io::memory::available());
    let found = [Runtime::Cuda, Runtime::OpenCl].map(|r| (r, zipfold::device::list(r)));
    if json {
        let mut value = serde_json::to_value(&machine).unwrap_or_default();
        for (runtime, devices) in &found {
            value[runtime.name()] = match devices {
                Ok(devices) => devices.iter().map(facts).collect(),
                Err(e) => serde_json::json!({"unavailable": e.what()}),
            };
        }
        return print_line(&value.to_string());
    }
    let memory = human_bytes(machine.memory);
    print_line(&format!("{:<9} {} threads, {}, {memory} free", "cpu", machine.threads, machine.isa.name()))?;
    for (runtime, devices) in &found {
        match devices {
            Ok(devices) => devices.iter().try_for_each(|f| print_line(&device_line(f)))?,
            Err(e) => print_line(&format!("{:<9} {}", runtime.name(), e.what()))?,
        }
    }
    Ok(())
}

fn device_line(f: &Facts) -> String {
    let kind = if f.host { ", a processor of the host" } else { "" };
    let double = if f.double { "" } else { ", single precision only" };
    format!("{:<9} {}, {}, {} units, {}{kind}{double}", f.id(), f.name, f.driver, f.units, human_bytes(f.memory))
}

fn facts(f: &Facts) -> serde_json::Value {
    serde_json::json!({
        "id": f.id(), "name": f.name, "driver": f.driver, "units": f.units, "memory": f.memory, "shared": f.shared,
        "capability": f.capability, "double": f.double, "host": f.host, "clock": f.clock, "largest": f.largest,
        "threads": f.threads,
    })
}
