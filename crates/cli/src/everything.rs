//! `zipfold bench --everything`: small questions that cover every pair of levels of two factors,
//! each timed against its own prediction and against the questions beside it.

mod clock;
mod cover;
mod levels;
mod question;
#[cfg(test)]
mod tests;

use crate::args::BenchArgs;
use crate::problem_from_args;
use crate::terminal::print_line;
use clock::Watch;
use cover::cover;
use levels::{BOX, Case, FOLD, Levels, PRECISION, RANGE, SIDES, WEIGHTS};
use question::{Asked, Ends, asked, of_two};
use std::collections::BTreeMap;
use zipfold::Output;
use zipfold::Query;
use zipfold::internals::core::figures;
use zipfold::internals::plan::cost::Term;
use zipfold::internals::plan::overrides::{Family, Overrides, Pruning};
use zipfold::{Blame, Options, Result};

/// Predicted seconds of a question, above which it has fewer rows, and the fewest it has.
const LONG: f64 = 0.012;
const FEWEST: usize = 150;
/// Seconds of a first turn after which there is no other.
const SLOW: f64 = 0.15;
/// Seconds within which two times are the same.
const NOISE: f64 = 2e-4;
/// What is so many times slower, or predicted so wrongly, is listed.
const OFF: f64 = 3.0;

/// Measured and predicted seconds, what these are made of, the family, and whether bounds left
/// pairs out.
struct Timed {
    actual: f64,
    predicted: f64,
    terms: Vec<Term>,
    family: Family,
    pruned: bool,
}

/// The prediction as `explain` has it, with the search for a range.
fn predicted(asked: &Asked, options: &Options<'_>) -> Result<(f64, Vec<Term>)> {
    let explained = Query::new(&asked.problem, &asked.data, options).explain_on_host()?;
    let of_ranges = explained.ranges.into_iter().flat_map(|plan| plan.terms);
    let of_ranges = of_ranges.map(|term| Term {
        what: format!("range: {}", term.what),
        ..term
    });
    let terms: Vec<Term> = explained.plan.terms.into_iter().chain(of_ranges).collect();
    Ok((terms.iter().map(|term| term.seconds).sum(), terms))
}

fn timed(asked: &Asked, turns: usize, threads: usize) -> Result<Timed> {
    let options = Options {
        threads,
        overrides: asked.overrides.clone(),
        ..Options::default()
    };
    let (predicted, terms) = predicted(asked, &options)?;
    let mut best: Option<Timed> = None;
    for turn in 0..=turns.max(1) {
        let watch = Watch::start(threads);
        let outcome = Query::new(&asked.problem, &asked.data, &options)
            .run()?
            .outcome;
        let actual = watch.seconds();
        // The first turn starts threads and makes code.
        if turn <= 1 || best.as_ref().is_some_and(|b| actual < b.actual) {
            let (family, pruned) = (outcome.plan.family, outcome.plan.prune.is_on());
            best = Some(Timed {
                actual,
                predicted,
                terms: terms.clone(),
                family,
                pruned,
            });
        }
        if actual > SLOW {
            break;
        }
    }
    best.ok_or_else(|| zipfold::Error::internal("no turn"))
}

/// The values that `case` is about, of a few of its rows.
fn ends(levels: &Levels, case: &Case) -> Result<Ends> {
    if levels.is_vector(case) {
        return Ok(Ends::of_finite(std::iter::empty()));
    }
    let plain = [
        (FOLD, "matrix"),
        (WEIGHTS, "none"),
        (RANGE, "whole"),
        (SIDES, "cross"),
    ];
    let case = plain.into_iter().fold(*case, |case, (factor, word)| {
        levels.with(&case, factor, word).unwrap_or(case)
    });
    let asked = asked(levels, &case, 60, None)?;
    let options = Options {
        threads: 1,
        ..Options::default()
    };
    let outcome = Query::new(&asked.problem, &asked.data, &options)
        .run()?
        .outcome;
    Ok(match outcome.outputs.first() {
        Some(Output::F64(values)) => Ends::of_finite(values.iter().copied()),
        Some(Output::F32(values)) => Ends::of_finite(values.iter().copied().map(f64::from)),
        _ => Ends::of_finite(std::iter::empty()),
    })
}

/// A question beside another one.
struct Beside {
    what: &'static str,
    case: Case,
    overrides: Overrides,
    two: bool,
    /// How many times its time the other may take for doing more: twice the bytes, ten times the
    /// neighbours.
    more: f64,
}

/// The questions beside `case`.
fn beside(levels: &Levels, case: &Case, plain: &Timed) -> Vec<Beside> {
    let at = |what, case| Beside {
        what,
        case,
        overrides: Overrides::default(),
        two: false,
        more: 1.0,
    };
    let mut all = vec![];
    let fold = levels.text(case, FOLD);
    let mut other = |what, case: Option<Case>, more| {
        all.extend(case.map(|case| Beside {
            more,
            ..at(what, case)
        }))
    };
    if levels.text(case, WEIGHTS) != "none" {
        // Several columns of weights are several sums.
        let more = if levels.text(case, WEIGHTS) == "several" {
            5.0
        } else {
            1.0
        };
        other("without weights", levels.with(case, WEIGHTS, "none"), more);
    }
    if levels.text(case, BOX) != "none" {
        other("without a box", levels.with(case, BOX, "none"), 1.0);
    }
    if fold.starts_with("histogram") && levels.text(case, RANGE) == "none" {
        other("with its range", levels.with(case, RANGE, "whole"), 1.0);
    }
    if let Some((plainer, more)) = plainer(fold) {
        other(
            "as the plainer fold",
            levels.with(case, FOLD, plainer),
            more,
        );
    }
    match levels.text(case, PRECISION) {
        "f32" => other(
            "in double precision",
            levels.with(case, PRECISION, "f64"),
            1.0,
        ),
        _ => other(
            "in single precision",
            levels.with(case, PRECISION, "f32"),
            2.0,
        ),
    }
    other("in the other spelling", levels.respelled(case), 1.0);
    if levels.text(case, SIDES) != "cross" && fold != "condensed" {
        all.push(Beside {
            two: true,
            ..at("of two tables", *case)
        });
    }
    let mut set = |what, overrides| {
        all.push(Beside {
            overrides,
            ..at(what, *case)
        })
    };
    let pruned = |prune| Overrides {
        prune: Some(prune),
        ..Overrides::default()
    };
    if plain.pruned {
        set("without bounds", pruned(Pruning::Off));
    } else {
        set("with bounds", pruned(Pruning::On));
        for family in [Family::Jit, Family::Dense]
            .into_iter()
            .filter(|f| *f != plain.family)
        {
            if matches!(plain.family, Family::Jit | Family::Dense | Family::Vm) {
                set(
                    "by another family",
                    Overrides {
                        family: Some(family),
                        ..Overrides::default()
                    },
                );
            }
        }
    }
    all
}

/// The fold that does the same or less, and how many times as long a question may take for giving
/// more.
fn plainer(fold: &str) -> Option<(&'static str, f64)> {
    Some(match fold {
        "mean" | "sum-columns" | "sum-all" => ("sum", 1.0),
        "softmax" => ("logsumexp", 1.0),
        "argmin" | "min-all" => ("min", 1.0),
        "join-values" => ("join", 1.5),
        "semi" => ("join", 1.0),
        "histogram-uneven" | "histogram-10" | "histogram-100000" => ("histogram-1000", 1.0),
        "histogram-two-axes" | "histogram-means" => ("histogram-1000", 2.0),
        "nearest-1000" => ("nearest-100", 10.0),
        "nearest-100" => ("nearest-10", 10.0),
        "nearest-10" => ("nearest-1", 10.0),
        "farthest-10" => ("nearest-10", 1.0),
        _ => return None,
    })
}

/// Something that is more than [`OFF`] times off.
struct Line {
    times: f64,
    what: String,
    question: String,
    actual: f64,
    other: f64,
}

/// What was found.
#[derive(Default)]
struct Found {
    lines: Vec<Line>,
    questions: usize,
    runs: usize,
    /// Questions that were refused as they ran, and why.
    refused: Vec<(String, String)>,
    /// Every question in numbers, where they were asked for.
    all: Vec<serde_json::Value>,
    /// Sums of logarithms of predicted over actual seconds, and of their magnitudes, of questions
    /// longer than noise.
    logs: (f64, f64, usize),
}

/// Runs everything, and prints what is off, the worst first.
///
/// # Errors
/// Those of the output.
pub(crate) fn everything(args: &BenchArgs) -> Result<()> {
    let levels = Levels::built_in()?;
    let overrides = problem_from_args::overrides(&args.set)?;
    let threads = if args.threads == 0 { 1 } else { args.threads };
    let wanted = |case: &Case| {
        args.names
            .iter()
            .all(|name| levels.name(case).contains(name.as_str()))
    };
    let (cases, without) = cover(&levels);
    let cases: Vec<Case> = cases.into_iter().filter(wanted).collect();
    let mut found = Found::default();
    let watch = Watch::start(threads);
    for case in &cases {
        if let Err(e) = measure_case(
            &levels,
            case,
            (args.turns.min(3), threads, !args.predictions),
            &overrides,
            &mut found,
        ) {
            found
                .refused
                .push((levels.name(case), e.told(crate::flags::words)));
        }
    }
    found.lines.sort_by(|a, b| b.times.total_cmp(&a.times));
    match args.json {
        true => {
            let refused = found
                .refused
                .iter()
                .map(|(question, why)| serde_json::json!({"question": question, "refused": why}));
            found
                .all
                .iter()
                .cloned()
                .chain(refused)
                .try_for_each(|question| print_line(&question.to_string()))
        }
        false => report(&found, without, watch.seconds(), threads),
    }
}

fn report(found: &Found, without: usize, seconds: f64, threads: usize) -> Result<()> {
    let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
    found
        .lines
        .iter()
        .for_each(|line| *totals.entry(&line.what).or_default() += 1);
    let (sum, off, count) = found.logs;
    let mean = |sum: f64| (sum / count.max(1) as f64).exp();
    print_line(&format!(
        "{} questions and {} beside them, in {} of {}; {} refused as they ran; {without} pairs of levels have no question.",
        found.questions,
        found.runs - found.questions,
        figures::duration(seconds),
        if threads == 1 {
            "processor"
        } else {
            "the clock"
        },
        found.refused.len()
    ))?;
    print_line(&format!(
        "Predicted over measured, {count} questions of more than {}: {:.2} in the mean, {:.2} times off.",
        figures::duration(NOISE),
        mean(sum),
        mean(off)
    ))?;
    print_line(&format!(
        "More than {OFF} times off: {}.\n",
        found.lines.len()
    ))?;
    totals
        .iter()
        .try_for_each(|(what, count)| print_line(&format!("* {count} {what}")))?;
    found
        .refused
        .iter()
        .try_for_each(|(question, why)| print_line(&format!("* refused: {question}: {why}")))?;
    print_line(
        "\n| times | | question | seconds | seconds predicted, or of the question beside it |\n|---|---|---|---|---|",
    )?;
    found.lines.iter().try_for_each(|line| {
        let Line {
            times,
            what,
            question,
            actual,
            other,
        } = line;
        print_line(&format!(
            "| {times:.1} | {what} | {question} | {actual:.5} | {other:.5} |"
        ))
    })
}

/// How many times `a` is `b`, where they differ by more than noise.
fn apart(a: f64, b: f64) -> f64 {
    if (a - b).abs() < NOISE { 1.0 } else { a / b }
}

fn measure_case(
    levels: &Levels,
    case: &Case,
    (turns, threads, compare): (usize, usize, bool),
    overrides: &Overrides,
    found: &mut Found,
) -> Result<()> {
    let ends = ends(levels, case)?;
    let mut rows = levels.rows(case);
    let question = |case: &Case, rows, more: &Overrides| -> Result<Asked> {
        let mut question = asked(levels, case, rows, Some(ends))?;
        question.overrides = overrides.clone().and(more);
        Ok(question)
    };
    let none = Overrides::default();
    let plain = loop {
        let question = question(case, rows, &none)?;
        let options = Options {
            threads,
            overrides: question.overrides.clone(),
            ..Options::default()
        };
        if rows / 2 >= FEWEST && predicted(&question, &options)?.0 > LONG {
            rows /= 2;
            continue;
        }
        break timed(&question, turns, threads)?;
    };
    found.questions += 1;
    found.runs += 1;
    let name = format!(
        "{} ({rows} rows, {}{})",
        levels.name(case),
        plain.family.name(),
        if plain.pruned { ", pruned" } else { "" }
    );
    let off = apart(plain.predicted, plain.actual);
    if plain.actual > NOISE {
        let log = (plain.predicted / plain.actual).ln();
        found.logs = (
            found.logs.0 + log,
            found.logs.1 + log.abs(),
            found.logs.2 + 1,
        );
    }
    let mut add = |times, what: String, other| {
        if times > OFF {
            found.lines.push(Line {
                times,
                what,
                question: name.clone(),
                actual: plain.actual,
                other,
            });
        }
    };
    add(off, "predicted too much".into(), plain.predicted);
    add(1.0 / off, "predicted too little".into(), plain.predicted);
    let mut others = BTreeMap::new();
    for beside in beside(levels, case, &plain) {
        if !compare || !levels.allow(&beside.case) {
            continue;
        }
        let asked = question(&beside.case, rows, &beside.overrides);
        let other = asked.and_then(|asked| {
            timed(
                &if beside.two { of_two(asked) } else { asked },
                turns,
                threads,
            )
        });
        let other = match other {
            Ok(other) => other,
            // What a question cannot be asked with is refused: there is no such question.
            Err(e) if matches!(e.blame(), Blame::Request | Blame::Input) => continue,
            Err(e) => {
                found.refused.push((
                    format!("{}, {}", levels.name(&beside.case), beside.what),
                    e.told(crate::flags::words),
                ));
                continue;
            }
        };
        others.insert(beside.what, other.actual);
        add(
            apart(plain.actual, other.actual) / beside.more,
            format!("slower than {}", beside.what),
            other.actual,
        );
    }
    found.runs += others.len();
    found.all.push(
        serde_json::json!({"question": levels.name(case), "rows": rows, "family": plain.family, "pruned": plain.pruned,
        "seconds": plain.actual, "predicted": plain.predicted, "terms": plain.terms, "beside": others}),
    );
    Ok(())
}
