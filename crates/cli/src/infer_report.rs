//! `infer --report`: one self-contained HTML page about an inference.

use crate::args::InferArgs;
use crate::infer_tables::{self as tables, Form};
use crate::report::{STYLE, plain, table};
use zipfold::internals::core::budget::human_bytes;
use zipfold::internals::core::{Result, figures};
use zipfold::internals::picture::marginals_svg;
use zipfold::internals::written::write_text;
use zipfold::io::OutputOptions;
use zipfold::network::{Answer, Network};
use zipfold::network::{Inferred, Planned};

/// Letters of an answer that a page shows.
const SHOWN: usize = 20_000;

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
    write_text(path, &page(network, args, done, total), options)
}

fn page(network: &Network, args: &InferArgs, done: &Inferred, total: f64) -> String {
    let command: Vec<String> = std::env::args().collect();
    let picture = match &done.answer {
        Answer::Mar(_, rows) => marginals_svg(network, rows).unwrap_or_default(),
        _ => String::new(),
    };
    let (facts, times) = (facts(network, args, done), times(done, total));
    let answer = shortened(tables::text(Form::Csv, network, &done.answer, &[]));
    let warnings: String = crate::flags::told_all(&done.warnings)
        .iter()
        .map(|w| format!("<p>warning: {}</p>", plain(w)))
        .collect();
    let plan = plan_text(&done.plan);
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>zipfold infer</title><style>{STYLE}</style>\
         <h1>zipfold infer</h1><pre>{}</pre>{warnings}{picture}<h2>Network</h2>{facts}<h2>Time</h2>{times}\
         <h2>Answer</h2><pre>{}</pre><h2>Plan</h2><pre>{}</pre></html>\n",
        plain(&command.join(" ")),
        plain(&answer),
        plain(&plan),
    )
}

/// What was asked, of which network.
fn facts(network: &Network, args: &InferArgs, done: &Inferred) -> String {
    table(&[
        ("task", args.task.to_lowercase()),
        ("variables", figures::grouped(network.cards().len() as u64)),
        ("factors", figures::grouped(network.factors().len() as u64)),
        ("memory, at most", human_bytes(done.peak_bytes)),
    ])
}

/// The seconds of each phase.
fn times(done: &Inferred, total: f64) -> String {
    table(&[
        ("simplification", figures::duration(done.seconds[0])),
        ("order search", figures::duration(done.seconds[1])),
        ("contraction", figures::duration(done.seconds[2])),
        ("in all", figures::duration(total)),
    ])
}

/// An answer, cut where it has more letters than a page shows.
fn shortened(mut answer: String) -> String {
    if answer.len() > SHOWN {
        let end = (0..=SHOWN)
            .rev()
            .find(|at| answer.is_char_boundary(*at))
            .unwrap_or(0);
        answer.truncate(end);
        answer += "…\n";
    }
    answer
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
