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
            best = Some(Timed {
                actual,
                predicted,
                terms: terms.clone(),
                family: outcome.plan.family,
                pruned: outcome.plan.prune.is_on(),
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

impl Beside {
    /// The question of `case`, planned as it would be, which should take no longer.
    fn of_case(what: &'static str, case: Case) -> Self {
        Beside {
            what,
            case,
            overrides: Overrides::default(),
            two: false,
            more: 1.0,
        }
    }
}

/// The questions beside `case`.
fn beside(levels: &Levels, case: &Case, plain: &Timed) -> Vec<Beside> {
    let mut all = by_levels(levels, case);
    let fold = levels.text(case, FOLD);
    if levels.text(case, SIDES) != "cross" && fold != "condensed" {
        all.push(Beside {
            two: true,
            ..Beside::of_case("of two tables", *case)
        });
    }
    let overrides = by_overrides(plain).into_iter();
    all.extend(overrides.map(|(what, overrides)| Beside {
        overrides,
        ..Beside::of_case(what, *case)
    }));
    all
}

/// The questions with another level of one factor.
fn by_levels(levels: &Levels, case: &Case) -> Vec<Beside> {
    let mut all = vec![];
    let mut add = |what, case: Option<Case>, more| {
        all.extend(case.map(|case| Beside {
            more,
            ..Beside::of_case(what, case)
        }))
    };
    let (fold, weights) = (levels.text(case, FOLD), levels.text(case, WEIGHTS));
    if weights != "none" {
        // Several columns of weights are several sums.
        let more = if weights == "several" { 5.0 } else { 1.0 };
        add("without weights", levels.with(case, WEIGHTS, "none"), more);
    }
    if levels.text(case, BOX) != "none" {
        add("without a box", levels.with(case, BOX, "none"), 1.0);
    }
    if fold.starts_with("histogram") && levels.text(case, RANGE) == "none" {
        add("with its range", levels.with(case, RANGE, "whole"), 1.0);
    }
    if let Some((plainer, more)) = plainer(fold) {
        let case = levels.with(case, FOLD, plainer);
        add("as the plainer fold", case, more);
    }
    let (what, precision, more) = match levels.text(case, PRECISION) {
        "f32" => ("in double precision", "f64", 1.0),
        _ => ("in single precision", "f32", 2.0),
    };
    add(what, levels.with(case, PRECISION, precision), more);
    add("in the other spelling", levels.respelled(case), 1.0);
    all
}

/// The choices that the plan of a question could have made instead.
fn by_overrides(plain: &Timed) -> Vec<(&'static str, Overrides)> {
    let pruned = |prune| Overrides {
        prune: Some(prune),
        ..Overrides::default()
    };
    if plain.pruned {
        return vec![("without bounds", pruned(Pruning::Off))];
    }
    let mut all = vec![("with bounds", pruned(Pruning::On))];
    if matches!(plain.family, Family::Jit | Family::Dense | Family::Vm) {
        let others = [Family::Jit, Family::Dense].into_iter();
        let others = others.filter(|family| *family != plain.family);
        all.extend(others.map(|family| {
            let overrides = Overrides {
                family: Some(family),
                ..Overrides::default()
            };
            ("by another family", overrides)
        }));
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
    let threads = if args.threads == 0 { 1 } else { args.threads };
    let wanted = |case: &Case| {
        let name = levels.name(case);
        args.names.iter().all(|part| name.contains(part.as_str()))
    };
    let mut measuring = Measuring {
        levels: &levels,
        overrides: problem_from_args::overrides(&args.set)?,
        turns: args.turns.min(3),
        threads,
        compare: !args.predictions,
        found: Found::default(),
    };
    let (cases, without) = cover(&levels);
    let watch = Watch::start(threads);
    for case in cases.iter().filter(|case| wanted(case)) {
        if let Err(e) = measuring.measure_case(case) {
            let refusal = (levels.name(case), e.told(crate::flags::words));
            measuring.found.refused.push(refusal);
        }
    }
    let mut found = measuring.found;
    found.lines.sort_by(|a, b| b.times.total_cmp(&a.times));
    if args.json {
        print_json(&found)
    } else {
        report(&found, without, watch.seconds(), threads)
    }
}

/// Prints every question in numbers, an object a line, and those that were refused.
fn print_json(found: &Found) -> Result<()> {
    let refused = found
        .refused
        .iter()
        .map(|(question, why)| serde_json::json!({"question": question, "refused": why}));
    let all = found.all.iter().cloned().chain(refused);
    all.map(|question| question.to_string())
        .try_for_each(|line| print_line(&line))
}

fn report(found: &Found, without: usize, seconds: f64, threads: usize) -> Result<()> {
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
    report_totals(found)?;
    report_lines(&found.lines)
}

/// Prints how often each thing is off, and what was refused.
fn report_totals(found: &Found) -> Result<()> {
    let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
    for line in &found.lines {
        *totals.entry(&line.what).or_default() += 1;
    }
    let off = found.lines.len();
    print_line(&format!("More than {OFF} times off: {off}.\n"))?;
    for (what, count) in totals {
        print_line(&format!("* {count} {what}"))?;
    }
    for (question, why) in &found.refused {
        print_line(&format!("* refused: {question}: {why}"))?;
    }
    Ok(())
}

/// Prints what is off as a table.
fn report_lines(lines: &[Line]) -> Result<()> {
    print_line(
        "\n| times | | question | seconds | seconds predicted, or of the question beside it |\n|---|---|---|---|---|",
    )?;
    lines.iter().try_for_each(|line| {
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

/// The measuring of questions: how it is done, and what was found.
struct Measuring<'a> {
    levels: &'a Levels,
    overrides: Overrides,
    turns: usize,
    threads: usize,
    /// Whether the questions beside each question are measured too.
    compare: bool,
    found: Found,
}

impl Measuring<'_> {
    /// Measures a question against its prediction and the questions beside it.
    fn measure_case(&mut self, case: &Case) -> Result<()> {
        let ends = ends(self.levels, case)?;
        let (rows, plain) = self.measure_plain(case, ends)?;
        self.found.questions += 1;
        self.found.runs += 1;
        let name = format!(
            "{} ({rows} rows, {}{})",
            self.levels.name(case),
            plain.family.name(),
            if plain.pruned { ", pruned" } else { "" }
        );
        self.found.add_prediction(&name, &plain);
        let mut others = BTreeMap::new();
        for beside in beside(self.levels, case, &plain) {
            if !self.compare || !self.levels.allow(&beside.case) {
                continue;
            }
            let Some(other) = self.measure_beside(&beside, rows, ends) else {
                continue;
            };
            others.insert(beside.what, other.actual);
            let times = apart(plain.actual, other.actual) / beside.more;
            let what = format!("slower than {}", beside.what);
            let seconds = (plain.actual, other.actual);
            self.found.add_line(times, what, &name, seconds);
        }
        self.found.runs += others.len();
        self.found.all.push(
            serde_json::json!({"question": self.levels.name(case), "rows": rows, "family": plain.family, "pruned": plain.pruned,
            "seconds": plain.actual, "predicted": plain.predicted, "terms": plain.terms, "beside": others}),
        );
        Ok(())
    }
    fn question(&self, case: &Case, rows: usize, ends: Ends, more: &Overrides) -> Result<Asked> {
        let mut question = asked(self.levels, case, rows, Some(ends))?;
        question.overrides = self.overrides.clone().and(more);
        Ok(question)
    }
    /// Times a question with as many rows as do not take too long, and returns how many.
    fn measure_plain(&self, case: &Case, ends: Ends) -> Result<(usize, Timed)> {
        let mut rows = self.levels.rows(case);
        loop {
            let question = self.question(case, rows, ends, &Overrides::default())?;
            let options = Options {
                threads: self.threads,
                overrides: question.overrides.clone(),
                ..Options::default()
            };
            if rows / 2 >= FEWEST && predicted(&question, &options)?.0 > LONG {
                rows /= 2;
                continue;
            }
            return Ok((rows, timed(&question, self.turns, self.threads)?));
        }
    }
    /// Times a question beside another one, unless there is none or it is refused as it runs.
    fn measure_beside(&mut self, beside: &Beside, rows: usize, ends: Ends) -> Option<Timed> {
        let asked = self.question(&beside.case, rows, ends, &beside.overrides);
        let asked = asked.map(|asked| if beside.two { of_two(asked) } else { asked });
        match asked.and_then(|asked| timed(&asked, self.turns, self.threads)) {
            Ok(other) => Some(other),
            // What a question cannot be asked with is refused: there is no such question.
            Err(e) if matches!(e.blame(), Blame::Request | Blame::Input) => None,
            Err(e) => {
                let question = format!("{}, {}", self.levels.name(&beside.case), beside.what);
                self.found
                    .refused
                    .push((question, e.told(crate::flags::words)));
                None
            }
        }
    }
}

impl Found {
    /// Compares the prediction of a question with what it took.
    fn add_prediction(&mut self, question: &str, plain: &Timed) {
        if plain.actual > NOISE {
            let log = (plain.predicted / plain.actual).ln();
            let (sum, off, count) = self.logs;
            self.logs = (sum + log, off + log.abs(), count + 1);
        }
        let off = apart(plain.predicted, plain.actual);
        let seconds = (plain.actual, plain.predicted);
        self.add_line(off, "predicted too much".into(), question, seconds);
        self.add_line(1.0 / off, "predicted too little".into(), question, seconds);
    }
    /// Adds what is too many times off.
    fn add_line(&mut self, times: f64, what: String, question: &str, (actual, other): (f64, f64)) {
        if times > OFF {
            self.lines.push(Line {
                times,
                what,
                question: question.to_string(),
                actual,
                other,
            });
        }
    }
}
