//! `--report`: one self-contained HTML page about a run: what was asked, the plan, the counts, the
//! seconds, the picture.

use crate::console::Told;
use crate::quote;
use zipfold::Result;
use zipfold::internals::core::budget::human_bytes;
use zipfold::internals::core::figures::{duration, grouped};
use zipfold::internals::report::Page;
use zipfold::io::OutputOptions;

/// What became of the pairs, and the seconds of each phase.
fn facts(told: &Told<'_>) -> Vec<(String, String)> {
    let (outcome, seconds) = (&told.answer.outcome, told.seconds);
    let tally = &outcome.tally;
    [
        ("pairs", grouped(outcome.pairs)),
        ("counted", grouped(tally.counted)),
        ("beyond the cut-off", grouped(tally.beyond_cutoff)),
        ("left out as NaN", grouped(tally.nan)),
        ("read", duration(seconds.read)),
        ("plan", duration(seconds.plan)),
        ("compute", duration(seconds.kernel)),
        ("write", duration(seconds.write)),
        ("in all", duration(seconds.total)),
        ("memory, at most", human_bytes(told.peak_bytes)),
    ]
    .map(|(name, value)| (name.to_string(), value))
    .into()
}

/// The page about a run.
fn page(told: &Told<'_>) -> Result<Page> {
    let plan =
        zipfold::internals::plan::explain::verbose(&told.answer.job, &told.answer.outcome.plan);
    let title = format!("zipfold {}", told.verb);
    Ok(Page {
        facts: facts(told),
        texts: vec![
            ("Plan".into(), plan.told(crate::flags::words)),
            ("Written".into(), told.outputs.join("\n")),
        ],
        ..Page::of_answer(title, quote::command(), told.answer)?
    })
}

/// Writes the page about a run to `path`.
///
/// # Errors
/// Those of the output.
pub(crate) fn write(path: &str, told: &Told<'_>, options: OutputOptions) -> Result<()> {
    page(told)?.write(path, options)
}
