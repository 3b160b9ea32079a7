//! `infer --report`: one self-contained HTML page about an inference.

use crate::args::InferArgs;
use crate::infer_tables::{self as tables, Form};
use crate::quote;
use zipfold::internals::core::budget::human_bytes;
use zipfold::internals::core::{Result, figures};
use zipfold::internals::picture::marginals_svg;
use zipfold::internals::report::Page;
use zipfold::io::OutputOptions;
use zipfold::network::{Answer, Network};
use zipfold::network::{Inferred, Planned};

/// Writes the page to `path`.
///
/// # Errors
/// Those of the output.
pub(crate) fn write(
    path: &str,
    network: &Network,
    args: &InferArgs,
    done: &Inferred,
    total: f64,
    options: OutputOptions,
) -> Result<()> {
    page(network, args, done, total).write(path, options)
}

fn page(network: &Network, args: &InferArgs, done: &Inferred, total: f64) -> Page {
    let picture = match &done.answer {
        Answer::Mar(_, rows) => marginals_svg(network, rows).ok(),
        _ => None,
    };
    let mut facts = facts(network, args, done);
    facts.extend(times(done, total));
    let warnings = crate::flags::told_all(&done.warnings).into_iter();
    facts.extend(warnings.map(|warning| ("warning".to_string(), warning)));
    let answer = tables::text(Form::Csv, network, &done.answer, &[]);
    Page {
        title: "zipfold infer".into(),
        command: quote::command(),
        facts,
        pictures: picture.into_iter().collect(),
        texts: vec![
            ("Answer".into(), answer),
            ("Plan".into(), plan_text(&done.plan)),
        ],
        ..Page::default()
    }
}

/// What was asked, of which network.
fn facts(network: &Network, args: &InferArgs, done: &Inferred) -> Vec<(String, String)> {
    named([
        ("task", args.task.to_lowercase()),
        ("variables", figures::grouped(network.cards().len() as u64)),
        ("factors", figures::grouped(network.factors().len() as u64)),
        ("memory, at most", human_bytes(done.peak_bytes)),
    ])
}

/// The seconds of each phase.
fn times(done: &Inferred, total: f64) -> Vec<(String, String)> {
    named([
        ("simplification", figures::duration(done.seconds[0])),
        ("order search", figures::duration(done.seconds[1])),
        ("contraction", figures::duration(done.seconds[2])),
        ("in all", figures::duration(total)),
    ])
}

/// Names and values.
fn named<const N: usize>(facts: [(&str, String); N]) -> Vec<(String, String)> {
    facts.map(|(name, value)| (name.to_string(), value)).into()
}

fn plan_text(plan: &Planned) -> String {
    match plan {
        Planned::Settled => "simplification settled everything\n".to_string(),
        Planned::Searched(searched) => crate::infer_explain::search_text(searched),
        Planned::Counted(counting) => crate::infer_explain::count_text(counting),
        plan => {
            serde_json::to_string_pretty(&crate::infer_explain::plan_json(plan)).unwrap_or_default()
        }
    }
}
