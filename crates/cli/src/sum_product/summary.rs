//! The table that ends a run: one line for each question of the paper.

use super::rows::{Cell, Printer, Row, is, number};
use zipfold::internals::core::{Result, figures};

/// Buckets from so many operations count in the shares of the roofline.
const LARGE: f64 = 1e8;

/// Prints the table of all rows, and the seconds of the run.
///
/// # Errors
/// `Resource` when standard output takes nothing.
pub(crate) fn print(printer: Printer, all: &[(&'static str, Row)], seconds: f64) -> Result<()> {
    printer.say("")?;
    printer.say(&format!(
        "{:<44} {:>10} {:>10} {:>10} {:>9}",
        "summary", "least", "mean", "most", "of"
    ))?;
    for name in ["f32", "f64"] {
        for entries in ["values", "logs"] {
            buckets(printer, all, name, entries)?;
        }
        paged(printer, all, name)?;
        unrolled(printer, all, name)?;
        overheads(printer, all, name)?;
    }
    let row: Row = vec![("seconds", Cell::Seconds(seconds))];
    if printer.json {
        return printer.row("end", &row);
    }
    printer.say(&format!("{:<44} {}", "the run", figures::duration(seconds)))
}

/// The rates of random buckets, and their shares of the roofline.
fn buckets(printer: Printer, all: &[(&'static str, Row)], name: &str, entries: &str) -> Result<()> {
    let mut rows = rows_of(all, "buckets", name);
    rows.retain(|row| is(row, "entries", entries));
    for who in ["one_core", "all_cores", "joins", "joins_repeated", "paged"] {
        let rates = ratios(&rows, "operations", who);
        let what = format!("{who} {name} {entries}, operations/s");
        line(printer, &what, &rates, &figures::si)?;
    }
    for who in [
        "all_cores_share",
        "joins_share",
        "joins_repeated_share",
        "paged_share",
    ] {
        let large = rows
            .iter()
            .filter(|r| number(r, "operations") >= Some(LARGE));
        let shares: Vec<f64> = large.filter_map(|r| number(r, who)).collect();
        let what = format!("{who} {name} {entries}, of 1e8 operations and more");
        line(printer, &what, &shares, &two)?;
    }
    Ok(())
}

/// The lines of the paged kernel: its cache, its knapsack and its model.
fn paged(printer: Printer, all: &[(&'static str, Row)], name: &str) -> Result<()> {
    let hardware = rows_of(all, "hardware", name);
    let numbers = |what: &str| -> Vec<f64> {
        let found = hardware.iter().filter_map(|r| number(r, what));
        found.collect()
    };
    let what = format!("its cache off / on, {name}");
    line(printer, &what, &numbers("gain"), &two)?;
    let what = format!("exact / greedy knapsack, {name}");
    line(printer, &what, &ratios(&hardware, "exact", "greedy"), &two)?;
    let ratios = numbers("ratio");
    line(printer, &format!("model / measured, {name}"), &ratios, &two)?;
    if !ratios.is_empty() {
        let near = ratios.iter().filter(|r| (0.8..=1.25).contains(*r)).count();
        let text = format!("model within 25 %, {name}");
        printer.say(&format!("{text:<44} {near} of {}", ratios.len()))?;
    }
    Ok(())
}

/// How much faster each way of unrolling is than the kernel before it without.
fn unrolled(printer: Printer, all: &[(&'static str, Row)], name: &str) -> Result<()> {
    let rows = rows_of(all, "unrolling", name);
    for way in ["2", "4", "8", "whole"] {
        let gain = |(at, row): (usize, &&Row)| {
            let mut before = rows[..=at].iter().rev();
            let plain = before.find(|r| is(r, "unroll", "off"))?;
            let own = is(row, "unroll", way).then(|| number(row, "measured"))?;
            Some(number(plain, "measured")? / own?)
        };
        let gains: Vec<f64> = rows.iter().enumerate().filter_map(gain).collect();
        let what = format!("unrolled {way}, faster by, {name}");
        line(printer, &what, &gains, &two)?;
    }
    Ok(())
}

/// What comes with a kernel, as shares of its seconds.
fn overheads(printer: Printer, all: &[(&'static str, Row)], name: &str) -> Result<()> {
    let rows = rows_of(all, "overheads", name);
    for part in ["planning", "compiling", "upload", "download"] {
        let shares = ratios(&rows, part, "kernel");
        line(printer, &format!("{part} / kernel, {name}"), &shares, &two)?;
    }
    Ok(())
}

/// One number of each row over another one, of the rows that have both.
fn ratios(rows: &[&Row], over: &str, under: &str) -> Vec<f64> {
    let ratio = |row: &&Row| Some(number(row, over)? / number(row, under)?);
    rows.iter().filter_map(ratio).collect()
}

fn rows_of<'r>(all: &'r [(&'static str, Row)], section: &str, name: &str) -> Vec<&'r Row> {
    let own = all
        .iter()
        .filter(|(s, row)| *s == section && is(row, "type", name));
    own.map(|(_, row)| row).collect()
}

fn two(number: f64) -> String {
    format!("{number:.2}")
}

/// Least, geometric mean and greatest of `numbers`; nothing where there are none.
fn line(printer: Printer, what: &str, numbers: &[f64], show: &dyn Fn(f64) -> String) -> Result<()> {
    if numbers.is_empty() {
        return Ok(());
    }
    let mean = (numbers.iter().map(|n| n.ln()).sum::<f64>() / numbers.len() as f64).exp();
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(0.0, f64::max);
    if !printer.json {
        let [least, mean, most] = [least, mean, most].map(show);
        return printer.say(&format!(
            "{what:<44} {least:>10} {mean:>10} {most:>10} {:>9}",
            numbers.len()
        ));
    }
    let row: Row = vec![
        ("what", Cell::Text(what.into())),
        ("least", Cell::Number(least)),
        ("mean", Cell::Number(mean)),
        ("most", Cell::Number(most)),
        ("of", Cell::Number(numbers.len() as f64)),
    ];
    printer.row("summary", &row)
}
