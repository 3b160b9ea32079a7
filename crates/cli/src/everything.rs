//! `zipfold bench --everything`: small questions that cover every pair of levels of two factors, each timed against its own
//! prediction and against the questions beside it.

use crate::args::BenchArgs;
use crate::{ask, show};
use serde::Deserialize;
use std::collections::HashSet;
use std::time::Instant;
use zipfold::core::fold::rows::Along;
use zipfold::core::fold::{Closed, RowOp, SelectKind};
use zipfold::core::pair::named::{self, Domain};
use zipfold::core::problem::{AxisSpec, FoldSpec, Input, NanPolicy};
use zipfold::core::{Cells, Problem};
use zipfold::library::pairs;
use zipfold::plan::Settings;
use zipfold::run::{Output, Target, ready, run};
use zipfold::{Data, Error, Options, Result, Table, describe};

/// The factors and their levels.
const DEFINITION: &str = include_str!("../../../bench/definitions/everything.toml");

/// Ways tried to complete a pair of levels to a question.
const TRIES: usize = 24;
/// Predicted seconds of a question, above which it has fewer rows.
const LONG: f64 = 0.03;
/// Seconds within which two times are the same.
const NOISE: f64 = 3e-4;
/// What is so many times slower, or predicted so wrongly, is listed.
const OFF: f64 = 3.0;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Definition {
    formula: Vec<Formula>,
    folds: Folds,
    factors: Factors,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Formula {
    text: String,
    #[serde(default)]
    vector: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Folds {
    plain: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Factors {
    precision: Vec<String>,
    dim: Vec<usize>,
    sides: Vec<String>,
    #[serde(rename = "box")]
    cell: Vec<String>,
    weights: Vec<String>,
    range: Vec<String>,
    rows: Vec<usize>,
}

/// A factor by its place in a [`Case`].
const FACTORS: usize = 9;
const VALUE: usize = 0;
const FOLD: usize = 1;
const PRECISION: usize = 2;
const DIM: usize = 3;
const SIDES: usize = 4;
const BOX: usize = 5;
const WEIGHTS: usize = 6;
const RANGE: usize = 7;
const ROWS: usize = 8;

/// A level of every factor.
type Case = [usize; FACTORS];

/// The levels of all factors.
struct Levels {
    definition: Definition,
    /// Named metrics, before the formulas.
    metrics: Vec<&'static named::Named>,
}

impl Levels {
    fn count(&self, factor: usize) -> usize {
        let f = &self.definition.factors;
        match factor {
            VALUE => self.metrics.len() + self.definition.formula.len(),
            FOLD => self.definition.folds.plain.len(),
            PRECISION => f.precision.len(),
            DIM => f.dim.len(),
            SIDES => f.sides.len(),
            BOX => f.cell.len(),
            WEIGHTS => f.weights.len(),
            RANGE => f.range.len(),
            _ => f.rows.len(),
        }
    }
    fn text(&self, case: &Case, factor: usize) -> &str {
        let f = &self.definition.factors;
        match factor {
            VALUE => match self.metrics.get(case[VALUE]) {
                Some(metric) => metric.name,
                None => &self.definition.formula[case[VALUE] - self.metrics.len()].text,
            },
            FOLD => &self.definition.folds.plain[case[FOLD]],
            PRECISION => &f.precision[case[PRECISION]],
            SIDES => &f.sides[case[SIDES]],
            BOX => &f.cell[case[BOX]],
            WEIGHTS => &f.weights[case[WEIGHTS]],
            _ => &f.range[case[RANGE]],
        }
    }
    /// The same case with another level of a factor, by its name.
    fn with(&self, case: &Case, factor: usize, text: &str) -> Option<Case> {
        (0..self.count(factor)).map(|level| with(case, factor, level)).find(|other| self.text(other, factor) == text)
    }
    fn vector(&self, case: &Case) -> bool {
        let at = case[VALUE].checked_sub(self.metrics.len());
        at.is_some_and(|at| self.definition.formula[at].vector)
    }
    /// In words, as options of the command would say it.
    fn name(&self, case: &Case) -> String {
        let mut name = format!("{} of {}", self.text(case, FOLD), self.text(case, VALUE));
        let (dim, rows) = (self.definition.factors.dim[case[DIM]], self.definition.factors.rows[case[ROWS]]);
        name += &format!(", {}, {rows} × {dim}, {}", self.text(case, PRECISION), self.text(case, SIDES));
        for (factor, what) in [(BOX, "box"), (WEIGHTS, "weights")] {
            if self.text(case, factor) != "none" {
                name += &format!(", {what} {}", self.text(case, factor));
            }
        }
        name + &format!(", range {}", self.text(case, RANGE))
    }
}

fn with(case: &Case, factor: usize, level: usize) -> Case {
    let mut other = *case;
    other[factor] = level;
    other
}

/// A stream of numbers that is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        // SplitMix64, Steele, Lea and Flood 2014.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// What a case asks.
struct Asked {
    problem: Problem,
    data: Data,
    settings: Settings,
}

/// Rows of the domain of the value.
fn table(levels: &Levels, case: &Case, rows: usize, seed: u64) -> Result<Table> {
    let mut numbers = Numbers(seed);
    let cols = levels.definition.factors.dim[case[DIM]];
    let truths = levels.metrics.get(case[VALUE]).is_some_and(|m| m.domain == Domain::Boolean);
    let mut number = || match truths {
        true => f64::from(u8::from(numbers.below(3) == 0)),
        false => 0.01 + 0.98 * numbers.uniform(),
    };
    let items = 0..rows * cols;
    match levels.text(case, PRECISION) {
        "f32" => Table::f32(rows, cols, items.map(|_| number() as f32).collect()),
        _ => Table::f64(rows, cols, items.map(|_| number()).collect()),
    }
}

/// The question of `case` with so many rows; none where nobody would ask it.
fn asked(levels: &Levels, case: &Case, rows: usize, range: Option<[f64; 2]>) -> Result<Option<Asked>> {
    let (fold, sides, weights) = (levels.text(case, FOLD), levels.text(case, SIDES), levels.text(case, WEIGHTS));
    let histogram = fold.starts_with("histogram");
    let summed = matches!(fold, "sum" | "mean" | "sum-columns" | "sum-all" | "softmax");
    let fits = match weights {
        "none" => true,
        "one" => summed || fold == "logsumexp" || (histogram && fold != "histogram-two-axes"),
        _ => summed && !levels.vector(case),
    };
    let ranged = histogram || levels.text(case, RANGE) != "none";
    let paired = match fold {
        "condensed" => sides == "self",
        _ => true,
    };
    if !fits
        || !ranged
        || !paired
        || (levels.vector(case) && !matches!(fold, "sum" | "mean" | "sum-columns" | "sum-all"))
    {
        return Ok(None);
    }
    let x = table(levels, case, rows, 1)?;
    let y = if sides == "cross" { Some(table(levels, case, rows, 2)?) } else { None };
    let mut question = pairs(&x);
    if let Some(y) = &y {
        question = question.with(y);
    }
    let value = levels.text(case, VALUE);
    question = if case[VALUE] < levels.metrics.len() { question.metric(value) } else { question.formula(value) };
    if sides == "no-diagonal" {
        question = question.cells(Cells::Ordered);
    }
    let dim = levels.definition.factors.dim[case[DIM]];
    question = match levels.text(case, BOX) {
        "none" => question,
        "right" => question.periodic(&vec![1.0; dim]),
        _ if dim == 3 => question.periodic(&[1.0, 1.0, 1.0, 80.0, 85.0, 75.0]),
        _ => return Ok(None),
    };
    let input = || Input { name: "w".into(), columns: None, hash: None };
    let given = (weights != "none").then(input);
    let spec = spec(levels, case, range, given)?;
    let mut problem = question.fold(spec).problem().clone();
    problem.nan = NanPolicy::Propagate;
    if !histogram && levels.text(case, RANGE) == "short" {
        problem.near = Some(0.2 * (dim as f64).sqrt());
    }
    let wide = if weights == "several" { 5 } else { 1 };
    let mut numbers = Numbers(3);
    let weights = match weights {
        "none" => None,
        _ => {
            let table = Table::f64(rows, wide, (0..rows * wide).map(|_| numbers.uniform()).collect())?;
            Some([table.clone(), table])
        }
    };
    Ok(Some(Asked { problem, data: Data { x, y, weights: vec![weights] }, settings: Settings::new() }))
}

fn spec(levels: &Levels, case: &Case, range: Option<[f64; 2]>, weights: Option<Input>) -> Result<FoldSpec> {
    let value = match levels.metrics.get(case[VALUE]) {
        Some(metric) => format!("{}(x, y)", metric.name),
        None => levels.text(case, VALUE).to_string(),
    };
    let [lo, hi] = range.unwrap_or([0.0, 1.0]);
    let limit = lo + 0.1 * (hi - lo);
    let reduce = |op, along| FoldSpec::Reduce { op, along, weights: weights.clone() };
    let by_row = |op| reduce(op, Along::Row);
    let nearest = |k, largest| FoldSpec::Nearest { k, largest };
    let select = |value, join| FoldSpec::Select { predicate: format!("{value} < {limit:e}"), value: None, join };
    let ends = match levels.text(case, RANGE) {
        "whole" => Some([lo, hi]),
        "short" => Some([lo, limit]),
        _ => None,
    };
    let uniform = |bins| AxisSpec { bins: Some(bins), range: ends, ..AxisSpec::default() };
    let histogram = |axes, mean| {
        let weights = weights.as_ref().map(|w| w.name.clone());
        FoldSpec::Histogram { axes, closed: Closed::Last, weights, mean }
    };
    let uneven = || {
        let [lo, hi] = ends.unwrap_or([lo, hi]);
        let edges = (0..=100).map(|k| lo + (hi - lo) * (f64::from(k) / 100.0).powi(2)).collect();
        AxisSpec { edges: Some(edges), ..AxisSpec::default() }
    };
    let second =
        || AxisSpec { value: Some("abs(x[0] - y[0])".into()), bins: Some(20), range: Some([0.0, 1.0]), edges: None };
    Ok(match levels.text(case, FOLD) {
        "matrix" => FoldSpec::Matrix {},
        "condensed" => FoldSpec::Condensed {},
        "sum" => by_row(RowOp::Sum),
        "mean" => by_row(RowOp::Mean),
        "sum-columns" => reduce(RowOp::Sum, Along::Column),
        "sum-all" => reduce(RowOp::Sum, Along::All),
        "logsumexp" => by_row(RowOp::Logsumexp),
        "softmax" => by_row(RowOp::Softmax),
        "min" => by_row(RowOp::Min),
        "max" => by_row(RowOp::Max),
        "argmin" => by_row(RowOp::Argmin),
        "count" => by_row(RowOp::Count),
        "min-all" => reduce(RowOp::Min, Along::All),
        "farthest-10" => nearest(10, true),
        "histogram-uneven" => histogram(vec![uneven()], false),
        "histogram-means" => histogram(vec![uniform(100)], true),
        "histogram-two-axes" => histogram(vec![uniform(100), second()], false),
        "select" => select(&value, SelectKind::Inner),
        "select-values" => match select(&value, SelectKind::Inner) {
            FoldSpec::Select { predicate, join, .. } => FoldSpec::Select { predicate, value: Some(value), join },
            other => other,
        },
        "semi" => select(&value, SelectKind::Semi),
        other => match other.split_once('-') {
            Some(("nearest", k)) => nearest(k.parse().unwrap_or(1), false),
            Some(("histogram", bins)) => histogram(vec![uniform(bins.parse().unwrap_or(1))], false),
            _ => return Err(Error::internal(format!("no fold '{other}' among the definitions"))),
        },
    })
}

/// Whether the question of `case` means something.
fn is_askable(levels: &Levels, case: &Case) -> bool {
    let Ok(Some(mut asked)) = asked(levels, case, 200, Some([0.1, 0.9])) else { return false };
    for fold in &mut asked.problem.folds {
        if let FoldSpec::Histogram { axes, .. } = fold {
            axes.iter_mut().filter(|a| a.edges.is_none() && a.range.is_none()).for_each(|a| a.range = Some([0.0, 1.0]));
        }
    }
    describe(&asked.problem, asked.data).is_ok()
}

/// Pairs of levels of two factors.
fn levels_of(case: &Case) -> impl Iterator<Item = (usize, usize, usize, usize)> {
    (0..FACTORS).flat_map(move |a| (a + 1..FACTORS).map(move |b| (a, case[a], b, case[b])))
}

/// Cases in which every pair of levels of two factors is, where some question has both.
fn cover(levels: &Levels) -> Vec<Case> {
    let mut numbers = Numbers(20);
    let mut covered = HashSet::new();
    let mut cases: Vec<Case> = vec![];
    for (a, b) in (0..FACTORS).flat_map(|a| (a + 1..FACTORS).map(move |b| (a, b))) {
        for (of_a, of_b) in (0..levels.count(a)).flat_map(|l| (0..levels.count(b)).map(move |m| (l, m))) {
            if covered.contains(&(a, of_a, b, of_b)) {
                continue;
            }
            let mut best: Option<(usize, Case)> = None;
            for _ in 0..TRIES {
                let mut case = [0; FACTORS];
                (0..FACTORS).for_each(|f| case[f] = numbers.below(levels.count(f)));
                (case[a], case[b]) = (of_a, of_b);
                let new = levels_of(&case).filter(|pair| !covered.contains(pair)).count();
                if best.is_none_or(|(most, _)| new > most) && is_askable(levels, &case) {
                    best = Some((new, case));
                }
            }
            if let Some((_, case)) = best {
                covered.extend(levels_of(&case));
                cases.push(case);
            }
        }
    }
    cases
}

/// Seconds of processor that all threads of this process have had; of the clock where the system does not tell.
struct Watch(Instant, Option<f64>);

impl Watch {
    fn start() -> Self {
        Watch(Instant::now(), Self::used())
    }
    fn used() -> Option<f64> {
        let one = |entry: std::io::Result<std::fs::DirEntry>| {
            let text = std::fs::read_to_string(entry.ok()?.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse::<f64>().ok()
        };
        std::fs::read_dir("/proc/self/task").ok()?.map(one).sum::<Option<f64>>().map(|ns| ns * 1e-9)
    }
    fn seconds(&self) -> f64 {
        match (self.1, Self::used()) {
            (Some(start), Some(end)) => end - start,
            _ => self.0.elapsed().as_secs_f64(),
        }
    }
}

/// Measured and predicted seconds, the family, and whether bounds left pairs out.
struct Timed {
    actual: f64,
    predicted: f64,
    family: String,
    pruned: bool,
}

fn timed(asked: &Asked, turns: usize, options: &Options<'_>) -> Result<Timed> {
    let options = Options { threads: options.threads, settings: asked.settings.clone(), ..Options::default() };
    let mut found: Option<Timed> = None;
    for turn in 0..=turns.max(1) {
        let watch = Watch::start();
        let (job, machine) = ready(&asked.problem, &asked.data, &options)?;
        let plan = zipfold::plan::choose(&job, &machine, &options.settings)?;
        let predicted = plan.seconds;
        let outcome = run(&asked.problem, &job, plan, &Target::Memory, &options)?;
        let actual = watch.seconds();
        let now = Timed { actual, predicted, family: outcome.plan.family.clone(), pruned: outcome.plan.prune.is_on() };
        // The first turn starts threads and makes code.
        found = match found {
            Some(best) if turn > 1 && best.actual <= now.actual => Some(best),
            _ => Some(now),
        };
    }
    found.ok_or_else(|| Error::internal("no turn"))
}

/// The least and the largest finite value of the pairs of `case`.
fn range(levels: &Levels, case: &Case, options: &Options<'_>) -> Result<[f64; 2]> {
    let matrix = levels.with(&levels.with(case, FOLD, "matrix").unwrap_or(*case), WEIGHTS, "none").unwrap_or(*case);
    let matrix = levels.with(&matrix, RANGE, "whole").unwrap_or(matrix);
    let Some(asked) = asked(levels, &matrix, 100, None)? else { return Ok([0.0, 1.0]) };
    let options = Options { threads: options.threads, ..Options::default() };
    let (job, machine) = ready(&asked.problem, &asked.data, &options)?;
    let plan = zipfold::plan::choose(&job, &machine, &options.settings)?;
    let outcome = run(&asked.problem, &job, plan, &Target::Memory, &options)?;
    let values: Vec<f64> = match outcome.outputs.into_iter().next() {
        Some(Output::F64(values)) => values,
        Some(Output::F32(values)) => values.into_iter().map(f64::from).collect(),
        _ => vec![],
    };
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let (lo, hi) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    Ok(if lo < hi { [lo, hi] } else { [0.0, 1.0] })
}

/// The questions beside `case`, with what tells them from it.
fn beside(levels: &Levels, case: &Case, plain: &Timed) -> Vec<(&'static str, Case, Settings, bool)> {
    let set = |key: &str, value: &str| Settings::from([(key.to_string(), value.to_string())]);
    let mut all = vec![];
    let mut other = |what, case: Option<Case>| all.extend(case.map(|case| (what, case, Settings::new(), false)));
    if levels.text(case, WEIGHTS) != "none" {
        other("without weights", levels.with(case, WEIGHTS, "none"));
    }
    if levels.text(case, BOX) != "none" {
        other("without a box", levels.with(case, BOX, "none"));
    }
    let fold = levels.text(case, FOLD);
    if fold.starts_with("histogram") && levels.text(case, RANGE) == "none" {
        other("with its range", levels.with(case, RANGE, "whole"));
    }
    let simpler = match fold {
        "mean" | "sum-columns" | "sum-all" => Some("sum"),
        "argmin" | "min-all" => Some("min"),
        "select-values" | "semi" => Some("select"),
        "histogram-uneven" | "histogram-means" | "histogram-two-axes" | "histogram-10" => Some("histogram-1000"),
        _ => None,
    };
    other("as the plainer fold", simpler.and_then(|fold| levels.with(case, FOLD, fold)));
    let precision = if levels.text(case, PRECISION) == "f32" { "f64" } else { "f32" };
    other("in the other precision", levels.with(case, PRECISION, precision));
    if levels.text(case, SIDES) != "cross" && fold != "condensed" {
        all.push(("as two tables", *case, Settings::new(), true));
    }
    if plain.pruned {
        all.push(("without bounds", *case, set("prune", "off"), false));
    }
    for family in ["jit", "dense"].into_iter().filter(|f| *f != plain.family) {
        if !plain.pruned && matches!(plain.family.as_str(), "jit" | "dense" | "vm") {
            all.push(("by another family", *case, set("family", family), false));
        }
    }
    all
}

/// A line of the report: how many times too slow, or too much or too little was predicted.
struct Line {
    times: f64,
    text: String,
}

/// Runs everything, and prints what is off, the worst first.
///
/// # Errors
/// Those of the output.
pub fn everything(args: &BenchArgs) -> Result<()> {
    let definition: Definition =
        toml::from_str(DEFINITION).map_err(|e| Error::internal(format!("the definitions built in: {e}")))?;
    let levels = Levels { definition, metrics: named::all().iter().collect() };
    let threads = if args.threads == 0 { 1 } else { args.threads };
    let options = Options { threads, settings: ask::settings_of(&args.set)?, ..Options::default() };
    let wanted = |case: &Case| args.names.iter().all(|name| levels.name(case).contains(name.as_str()));
    let cases: Vec<Case> = cover(&levels).into_iter().filter(wanted).collect();
    let (mut predicted, mut slower, mut refused) = (vec![], vec![], 0usize);
    let turns = args.turns.min(3);
    for case in &cases {
        if one(&levels, case, turns, &options, (&mut predicted, &mut slower)).is_err() {
            refused += 1;
        }
    }
    let asked = cases.len() - refused;
    show::print_line(&format!(
        "{asked} questions, {refused} refused as they ran; every pair of levels of two factors."
    ))?;
    report("predicted", "seconds predicted, and measured", asked, predicted)?;
    report("slower than the question beside it", "seconds of it, and of the one beside it", asked, slower)
}

fn report(what: &str, columns: &str, asked: usize, mut lines: Vec<Line>) -> Result<()> {
    lines.sort_by(|a, b| b.times.total_cmp(&a.times));
    show::print_line(&format!("\n{} of {asked} are more than {OFF} times off: {what}.\n", lines.len()))?;
    show::print_line(&format!("| times | question | {columns} |\n|---|---|---|"))?;
    lines.iter().try_for_each(|line| show::print_line(&line.text))
}

fn one(
    levels: &Levels,
    case: &Case,
    turns: usize,
    options: &Options<'_>,
    (predicted, slower): (&mut Vec<Line>, &mut Vec<Line>),
) -> Result<()> {
    let range = range(levels, case, options)?;
    let mut rows = levels.definition.factors.rows[case[ROWS]];
    let none = || Error::internal("a case that asks nothing");
    let plain = loop {
        let asked = asked(levels, case, rows, Some(range))?.ok_or_else(none)?;
        let options = Options { threads: options.threads, ..Options::default() };
        let (job, machine) = ready(&asked.problem, &asked.data, &options)?;
        if rows > 150 && zipfold::plan::choose(&job, &machine, &options.settings)?.seconds > LONG {
            rows /= 2;
            continue;
        }
        break timed(&Asked { settings: options.settings.clone(), ..asked }, turns, &options)?;
    };
    let name = levels.name(case);
    let apart = |a: f64, b: f64| if (a - b).abs() < NOISE { 1.0 } else { a / b };
    let off = apart(plain.predicted, plain.actual);
    let times = off.max(1.0 / off);
    if times > OFF {
        let text = format!(
            "| {off:.2} | {name} ({rows} rows, {}) | {:.5}, {:.5} |",
            plain.family, plain.predicted, plain.actual
        );
        predicted.push(Line { times, text });
    }
    for (what, other, settings, copied) in beside(levels, case, &plain) {
        let Ok(Some(mut asked)) = asked(levels, &other, rows, Some(range)) else { continue };
        if copied {
            asked.data.y = Some(asked.data.x.clone());
            asked.problem.y = Some(Input { name: "y".into(), columns: None, hash: None });
            asked.problem.cells = None;
        }
        asked.settings.extend(settings);
        let Ok(beside) = timed(&asked, turns, options) else { continue };
        let times = apart(plain.actual, beside.actual);
        if times > OFF {
            let text = format!(
                "| {times:.1} | {name} ({rows} rows, {}) than {what} | {:.5}, {:.5} |",
                plain.family, plain.actual, beside.actual
            );
            slower.push(Line { times, text });
        }
    }
    Ok(())
}
