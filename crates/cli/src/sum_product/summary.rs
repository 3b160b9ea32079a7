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
            let rows = rows_of(all, "buckets", name)
                .into_iter()
                .filter(|row| is(row, "entries", entries))
                .collect::<Vec<_>>();
            for who in ["one_core", "all_cores", "joins", "paged"] {
                let rate = |row: &&Row| Some(number(row, "operations")? / number(row, who)?);
                let rates: Vec<f64> = rows.iter().filter_map(rate).collect();
                line(
                    printer,
                    &format!("{who} {name} {entries}, operations/s"),
                    &rates,
                    &figures::si,
                )?;
            }
            for who in ["all_cores_share", "joins_share", "paged_share"] {
                let large = rows
                    .iter()
                    .filter(|r| number(r, "operations") >= Some(LARGE));
                let shares: Vec<f64> = large.filter_map(|r| number(r, who)).collect();
                let what = format!("{who} {name} {entries}, of 1e8 operations and more");
                line(printer, &what, &shares, &two)?;
            }
        }
        paged(printer, all, name)?;
    }
    let row: Row = vec![("seconds", Cell::Seconds(seconds))];
    if printer.json {
        return printer.row("end", &row);
    }
    printer.say(&format!("{:<44} {}", "the run", figures::duration(seconds)))
}

/// The lines of the paged kernel.
fn paged(printer: Printer, all: &[(&'static str, Row)], name: &str) -> Result<()> {
    let hardware = rows_of(all, "hardware", name);
    let gains: Vec<f64> = hardware.iter().filter_map(|r| number(r, "gain")).collect();
    line(
        printer,
        &format!("its cache off / on, {name}"),
        &gains,
        &two,
    )?;
    let knapsack = |row: &&Row| Some(number(row, "exact")? / number(row, "greedy")?);
    let knapsacks: Vec<f64> = hardware.iter().filter_map(knapsack).collect();
    line(
        printer,
        &format!("exact / greedy knapsack, {name}"),
        &knapsacks,
        &two,
    )?;
    let ratios: Vec<f64> = hardware.iter().filter_map(|r| number(r, "ratio")).collect();
    line(printer, &format!("model / measured, {name}"), &ratios, &two)?;
    if !ratios.is_empty() {
        let near = ratios.iter().filter(|r| (0.8..=1.25).contains(*r)).count();
        let text = format!("model within 25 %, {name}");
        printer.say(&format!("{text:<44} {near} of {}", ratios.len()))?;
    }
    let unrolled = rows_of(all, "unrolling", name);
    for way in ["2", "4", "8", "whole"] {
        let pairs = unrolled.iter().enumerate().filter_map(|(at, row)| {
            let plain = unrolled[..=at]
                .iter()
                .rev()
                .find(|r| is(r, "unroll", "off"))?;
            let own = is(row, "unroll", way)
                .then(|| number(row, "measured"))
                .flatten()?;
            Some(number(plain, "measured")? / own)
        });
        let gains: Vec<f64> = pairs.collect();
        line(
            printer,
            &format!("unrolled {way}, faster by, {name}"),
            &gains,
            &two,
        )?;
    }
    let overheads = rows_of(all, "overheads", name);
    for part in ["planning", "compiling", "upload", "download"] {
        let share = |row: &&Row| Some(number(row, part)? / number(row, "kernel")?);
        let shares: Vec<f64> = overheads.iter().filter_map(share).collect();
        line(printer, &format!("{part} / kernel, {name}"), &shares, &two)?;
    }
    Ok(())
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
    let mean = numbers.iter().map(|n| n.ln()).sum::<f64>() / numbers.len() as f64;
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(0.0, f64::max);
    let row: Row = vec![
        ("what", Cell::Text(what.into())),
        ("least", Cell::Number(least)),
        ("mean", Cell::Number(mean.exp())),
        ("most", Cell::Number(most)),
        ("of", Cell::Number(numbers.len() as f64)),
    ];
    if printer.json {
        return printer.row("summary", &row);
    }
    let [least, mean, most] = [least, mean.exp(), most].map(show);
    printer.say(&format!(
        "{what:<44} {least:>10} {mean:>10} {most:>10} {:>9}",
        numbers.len()
    ))
}
