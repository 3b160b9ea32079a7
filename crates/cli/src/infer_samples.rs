//! Samples go to their output one by one: none is held.

use crate::args::InferArgs;
use crate::infer_tables::{Form, impossible, object};
use serde_json::Value;
use std::io::{self, Write};
use zipfold::Result;
use zipfold::internals::io::csv_write::text_cell;
use zipfold::internals::io::{Output, OutputOptions};
use zipfold::network::{Answer, Evidence, Network};
use zipfold::network::{Inferred, Settings, samples};

/// Draws `many` samples and writes them in `form`.
pub(crate) fn run(
    args: &InferArgs,
    form: Form,
    network: &Network,
    seen: &Evidence,
    many: usize,
    settings: &Settings,
) -> Result<Inferred> {
    let place = args.run.output.as_deref().unwrap_or("-");
    let separator = if form == Form::Tsv { b'\t' } else { b',' };
    let mut out = Output::create(
        place,
        OutputOptions {
            force: args.run.force,
            durable: args.run.durable,
        },
    )?;
    let mut first = true;
    let mut line = String::new();
    let done = samples(network, seen, many, settings, &mut |log10, sample| {
        let begin = std::mem::replace(&mut first, false);
        let written = match form {
            Form::Json => json(&mut out, network, log10, &sample, begin),
            Form::Csv | Form::Tsv => csv(&mut out, network, &sample, begin, separator),
            _ => uai(&mut out, &mut line, &sample, begin.then_some(many)),
        };
        written.map_err(|e| out.error(&e))
    })?;
    let Answer::Samples(log10, _) = &done.answer else {
        return Err(impossible());
    };
    if first {
        end_without_samples(&mut out, network, form, *log10)
    } else if form == Form::Json {
        out.write_all(b"]}\n")
    } else {
        Ok(())
    }
    .map_err(|e| out.error(&e))?;
    out.commit().map(|()| done)
}

/// Writes what an output holds of no sample.
fn end_without_samples(
    out: &mut Output,
    network: &Network,
    form: Form,
    log10: f64,
) -> io::Result<()> {
    match form {
        Form::Json => writeln!(out, "{{\"log10\":{},\"samples\":[]}}", Value::from(log10)),
        Form::Csv => csv_head(out, network, b','),
        Form::Tsv => csv_head(out, network, b'\t'),
        Form::Uai => out.write_all(b"SAMPLES\n0\n"),
        Form::Table => Ok(()),
    }
}

fn json(
    out: &mut Output,
    network: &Network,
    log10: f64,
    sample: &[usize],
    begin: bool,
) -> io::Result<()> {
    let head = if begin {
        format!("{{\"log10\":{},\"samples\":[", Value::from(log10))
    } else {
        ",".to_owned()
    };
    let named = sample
        .iter()
        .enumerate()
        .map(|(v, s)| (network.name(v), Value::from(network.state(v, *s))));
    write!(out, "{head}{}", object(named))
}

fn csv_head(out: &mut Output, network: &Network, separator: u8) -> io::Result<()> {
    let names =
        (0..network.cards().len()).map(|v| text_cell(&network.name(v), separator).into_owned());
    writeln!(
        out,
        "{}",
        names
            .collect::<Vec<_>>()
            .join(if separator == b'\t' { "\t" } else { "," })
    )
}

fn csv(
    out: &mut Output,
    network: &Network,
    sample: &[usize],
    begin: bool,
    separator: u8,
) -> io::Result<()> {
    if begin {
        csv_head(out, network, separator)?;
    }
    for (v, s) in sample.iter().enumerate() {
        if v > 0 {
            out.write_all(&[separator])?;
        }
        out.write_all(text_cell(&network.state(v, *s), separator).as_bytes())?;
    }
    out.write_all(b"\n")
}

fn uai(
    out: &mut Output,
    line: &mut String,
    sample: &[usize],
    head: Option<usize>,
) -> io::Result<()> {
    use std::fmt::Write as _;
    line.clear();
    if let Some(many) = head {
        let _ = write!(line, "SAMPLES\n{many}\n");
    }
    for (v, s) in sample.iter().enumerate() {
        let _ = write!(line, "{}{s}", if v > 0 { " " } else { "" });
    }
    line.push('\n');
    out.write_all(line.as_bytes())
}
