//! `--report`: one self-contained HTML page about a run: what was asked, the plan, the counts, the
//! seconds, the picture.

use crate::console::{Seconds, Told};
use zipfold::internals::core::figures::{duration, grouped};
use zipfold::internals::written::write_text;
use zipfold::io::OutputOptions;
use zipfold::{Error, Outcome, Result};

/// The look of every page.
pub(crate) const STYLE: &str = "body{font:15px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}\
pre{background:#f4f4f6;padding:.8rem;overflow-x:auto}td{padding:.1rem 1rem .1rem 0}svg{max-width:100%;height:auto}";

/// Text as it may stand between tags.
pub(crate) fn plain(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Rows of a name and a value.
pub(crate) fn table(rows: &[(&str, String)]) -> String {
    let row = |(name, value): &(&str, String)| {
        format!("<tr><td>{name}</td><td>{}</td></tr>", plain(value))
    };
    format!(
        "<table>{}</table>",
        rows.iter().map(row).collect::<String>()
    )
}

/// What became of the pairs.
fn counts(outcome: &Outcome) -> String {
    let tally = &outcome.tally;
    table(&[
        ("pairs", grouped(outcome.pairs)),
        ("counted", grouped(tally.counted)),
        ("beyond the cut-off", grouped(tally.beyond_cutoff)),
        ("left out as NaN", grouped(tally.nan)),
    ])
}

/// The seconds of each phase.
fn times(seconds: &Seconds) -> String {
    table(&[
        ("read", duration(seconds.read)),
        ("plan", duration(seconds.plan)),
        ("compute", duration(seconds.kernel)),
        ("write", duration(seconds.write)),
        ("in all", duration(seconds.total)),
    ])
}

fn page(told: &Told<'_>) -> String {
    let (outcome, seconds) = (&told.answer.outcome, told.seconds);
    let (counts, times) = (counts(outcome), times(seconds));
    let command: Vec<String> = std::env::args().collect();
    let plan = zipfold::internals::plan::explain::verbose(&told.answer.job, &outcome.plan);
    // A matrix that went into its file is not held, and not drawn.
    let picture = told.answer.svg().unwrap_or_default();
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>zipfold {verb}</title><style>{STYLE}</style>\
         <h1>zipfold {verb}</h1><pre>{}</pre>{picture}<h2>Pairs</h2>{counts}<h2>Time</h2>{times}<p>{} of memory at most</p>\
         <h2>Plan</h2><pre>{}</pre><h2>Written</h2><pre>{}</pre></html>\n",
        plain(&command.join(" ")),
        zipfold::internals::core::budget::human_bytes(told.peak_bytes),
        plain(&plan.told(crate::flags::words)),
        plain(&told.outputs.join("\n")),
        verb = told.verb,
    )
}

/// Writes the page about a run to `path`.
///
/// # Errors
/// Those of the output.
pub(crate) fn write(path: &str, told: &Told<'_>, options: OutputOptions) -> Result<()> {
    write_text(path, &page(told), options)
}

/// Refuses names that no page can have.
///
/// # Errors
/// `Request` for another suffix.
pub(crate) fn check(path: &str) -> Result<()> {
    if path.ends_with(".html") || path.ends_with(".htm") {
        return Ok(());
    }
    Err(Error::request("reports are HTML")
        .at_place(path.to_string())
        .remedy("a name that ends in .html"))
}
