//! `zipfold bench`: the workloads of `bench/definitions/pairs.toml` on this machine, with what the
//! planner predicts of them.

use crate::args::BenchArgs;
use crate::problem_from_args;
use crate::terminal::print_line;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use zipfold::Target;
use zipfold::internals::Job;
use zipfold::internals::core::figures;
use zipfold::internals::core::fold::{Closed, Fold, JoinKind, ReduceOp};
use zipfold::internals::core::random::SplitMix;
use zipfold::internals::cpu::pairs::{Shared, SharedMatrix};
use zipfold::internals::plan::cost::FRESH;
use zipfold::internals::plan::{Overrides, Plan, Sink, Values};
use zipfold::internals::query::{Query, Ready};
use zipfold::internals::run::LentSink;
use zipfold::problem::ReduceAxis;
use zipfold::problem::{AxisSpec, FoldSpec};
use zipfold::{Data, Error, Options, Outcome, Result, Table};
use zipfold::{Pairs, pairs};
use zipfold::{Precision, problem::Domain};

/// The definitions, as `bench/run.py` reads them.
const WORKLOADS: &str = include_str!("../../../bench/definitions/pairs.toml");

/// Seconds of a workload after which no turn is begun.
const BUDGET: f64 = 10.0;

#[derive(Deserialize)]
struct Definitions {
    workload: Vec<Workload>,
}

/// What is asked, of which inputs, and how work is counted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Workload {
    name: String,
    task: String,
    x: Rows,
    y: Option<Rows>,
    /// A number for each row.
    masses: Option<Rows>,
    work: String,
    rate: Option<f64>,
    seconds: Option<f64>,
    metric: Option<String>,
    #[serde(default)]
    params: BTreeMap<String, f64>,
    range: Option<[f64; 2]>,
    edges: Option<Edges>,
    bins: Option<usize>,
    #[serde(rename = "box")]
    periodic_box: Option<Vec<f64>>,
    k: Option<usize>,
    h: Option<f64>,
    above: Option<f64>,
    below: Option<f64>,
    /// Added to squared distances.
    softening: Option<f64>,
    #[serde(default)]
    plan: BTreeMap<String, String>,
}

/// Random rows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    rows: usize,
    cols: usize,
    kind: String,
    #[serde(default = "unscaled")]
    scale: f64,
    seed: u64,
    #[serde(rename = "type")]
    element: String,
}

/// Edges in a geometric sequence.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edges {
    from: f64,
    to: f64,
    bins: usize,
}

fn unscaled() -> f64 {
    1.0
}

/// How a workload is told of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// An object a line.
    Json,
    /// Columns, for a terminal.
    People,
    /// A row of a table with the goals, for records.
    Record,
}

/// Runs the workloads asked for, a line of a table each.
///
/// # Errors
/// `Request` for a workload that does not exist; those of the runs.
pub(crate) fn bench(args: &BenchArgs) -> Result<()> {
    if args.everything {
        return crate::everything::everything(args);
    }
    if args.names.first().is_some_and(|n| n == "sum-product") {
        return crate::sum_product::run(args);
    }
    let definitions: Definitions = toml::from_str(WORKLOADS)
        .map_err(|e| Error::internal(format!("the definitions built in: {e}")))?;
    let all = &definitions.workload;
    refuse_unknown(&args.names, all)?;
    let style = match (args.json, crate::terminal::is_read()) {
        (true, _) => Style::Json,
        (false, true) => Style::People,
        (false, false) => Style::Record,
    };
    style.print_head()?;
    for workload in all
        .iter()
        .filter(|w| args.names.is_empty() || args.names.contains(&w.name))
    {
        print_line(&line(workload, args, style)?)?;
    }
    Ok(())
}

/// Refuses a name that no workload has.
fn refuse_unknown(names: &[String], all: &[Workload]) -> Result<()> {
    let unknown = |name: &&String| all.iter().all(|w| w.name != **name);
    let Some(odd) = names.iter().find(unknown) else {
        return Ok(());
    };
    let names = all.iter().map(|w| w.name.as_str());
    let names: Vec<&str> = names.chain(["sum-product"]).collect();
    let e = Error::request(format!("no workload '{odd}'")).at_place("bench");
    Err(e.remedy(format!("one of {}", names.join(", "))))
}

impl Style {
    /// Prints what stands above the workloads.
    fn print_head(self) -> Result<()> {
        match self {
            Style::Json => Ok(()),
            Style::People => print_line(&format!(
                "{:<18} {:>12} {:>12} {:>20}  pairs evaluated",
                "workload", "predicted", "measured", "rate"
            )),
            Style::Record => {
                print_line(
                    "| workload | predicted, s | actual, s | ratio | predicted terms, s | pairs evaluated, % | G/s | goal | |",
                )?;
                print_line("|---|---|---|---|---|---|---|---|---|")
            }
        }
    }
}

/// Predicts and measures one workload: the least of the turns, of description, plan and run.
fn line(workload: &Workload, args: &BenchArgs, style: Style) -> Result<String> {
    let (problem, data) = asked(workload)?;
    let overrides = Overrides::read(&workload.plan)?.and(&problem_from_args::overrides(&args.set)?);
    let options = Options {
        threads: args.threads,
        overrides,
        ..Options::default()
    };
    let problem = problem.problem();
    let query = Query::new(problem, &data, &options);
    let Ready { job, plan, .. } = query.ready()?;
    let target = if args.fresh {
        Target::Memory
    } else {
        Lender::for_job(&job, &plan)?
    };
    let (actual, outcome) = least_of_turns(&query, &target, args.turns)?;
    let rate = work(workload)? / actual / 1e9;
    let predicted = if args.fresh {
        outcome.plan.seconds
    } else {
        outcome.plan.seconds_into_lent()
    };
    let name = &workload.name;
    let pairs = evaluated(&outcome);
    Ok(match style {
        Style::Json => serde_json::json!({"workload": name, "predicted": predicted, "measured": actual, "rate": rate * 1e9})
            .to_string(),
        Style::People => {
            let rate = format!("{} operations/s", figures::si(rate * 1e9));
            let [predicted, actual] = [predicted, actual].map(figures::duration);
            format!("{name:<18} {predicted:>12} {actual:>12} {rate:>20}  {pairs} %")
        }
        Style::Record => {
            let (goal, met) = goal(workload, actual, rate);
            let (bound, ratio) = (terms(&outcome.plan, args.fresh), predicted / actual);
            format!(
                "| {name} | {predicted:.4} | {actual:.4} | {ratio:.2} | {bound} | {pairs} | {rate:.2} | {goal} | {met} |"
            )
        }
    })
}

/// Runs `query` a few times. Returns the least seconds, and the outcome of the first turn.
fn least_of_turns(query: &Query<'_>, target: &Target, turns: usize) -> Result<(f64, Outcome)> {
    let turn = || -> Result<(f64, Outcome)> {
        let start = Instant::now();
        let mut outcome = query.run_to(target)?.outcome;
        let seconds = start.elapsed().as_secs_f64();
        outcome.outputs.clear();
        Ok((seconds, outcome))
    };
    // The first turn starts threads and touches inputs.
    let (_, outcome) = turn()?;
    let begin = Instant::now();
    let mut actual = turn()?.0;
    for _ in 1..turns {
        if begin.elapsed().as_secs_f64() < BUDGET {
            actual = actual.min(turn()?.0);
        }
    }
    Ok((actual, outcome))
}

/// The two terms that take most of the predicted time, in seconds.
fn terms(plan: &Plan, fresh: bool) -> String {
    let counted = plan
        .terms
        .iter()
        .filter(|t| fresh || t.what != FRESH)
        .take(2);
    counted
        .map(|t| format!("{} {:.4}", t.what, t.seconds))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Memory for a dense result that was written before, as the scripts of the peers have it.
struct Lender {
    single: SharedMatrix<f32>,
    double: SharedMatrix<f64>,
}

impl Lender {
    fn for_job(job: &Job, plan: &Plan) -> Result<Target> {
        let (n, m) = (job.space.n, job.space.m);
        let dense = job.folds.iter().filter_map(Fold::dense);
        let all = dense.map(|f| f.elements(n, m) as usize).sum::<usize>();
        let of = |precision| if plan.precision == precision { all } else { 0 };
        let single = written(of(Precision::F32), 1.0f32)?;
        let double = written(of(Precision::F64), 1.0f64)?;
        Ok(Target::Lent(LentSink(Arc::new(Lender { single, double }))))
    }
}

/// `len` elements whose pages were written.
fn written<T: Shared>(len: usize, value: T) -> Result<SharedMatrix<T>> {
    let run = vec![value; len.min(1 << 16)];
    let matrix = SharedMatrix::zeros(len)
        .ok_or_else(|| Error::resource("the system has no memory for the matrix"))?;
    for at in (0..len).step_by(run.len().max(1)) {
        matrix.put(at, &run[..run.len().min(len - at)]);
    }
    Ok(matrix)
}

impl Sink for Lender {
    fn gathers(&self) -> bool {
        self.single.gathers() || self.double.gathers()
    }
    fn put(&self, _fold: usize, at: usize, values: Values<'_>) -> Result<()> {
        let fits = match values {
            Values::F32(run) => self.single.put(at, run),
            Values::F64(run) => self.double.put(at, run),
        };
        if fits {
            Ok(())
        } else {
            Err(Error::internal("a tile wrote beyond the matrix"))
        }
    }
}

/// Predicted and actual share of the pairs that a pruned run evaluated.
fn evaluated(outcome: &Outcome) -> String {
    let left = |share: f64| format!("{:.3}", 100.0 * share);
    match outcome.plan.prune.is_on() {
        true => {
            let gone = (outcome.tally.skipped + outcome.tally.settled) as f64
                / outcome.pairs.max(1) as f64;
            format!(
                "{}; {}",
                outcome.plan.prune.evaluated.map_or("?".into(), left),
                left(1.0 - gone)
            )
        }
        false => "all".into(),
    }
}

/// What was meant to be reached, and whether it was.
fn goal(workload: &Workload, seconds: f64, rate: f64) -> (String, &'static str) {
    let (text, met) = match (workload.rate, workload.seconds) {
        (Some(goal), _) => (format!("≥ {goal} G/s"), rate >= goal),
        (None, Some(goal)) => (format!("≤ {goal} s"), seconds <= goal),
        (None, None) => return (String::new(), ""),
    };
    (text, if met { "met" } else { "missed" })
}

/// Operations, as the definition counts them.
fn work(workload: &Workload) -> Result<f64> {
    let (n, d) = (workload.x.rows as f64, workload.x.cols as f64);
    let m = workload.y.as_ref().map_or(n, |y| y.rows as f64);
    match workload.work.as_str() {
        "n * m * d" => Ok(n * m * d),
        "n * m" => Ok(n * m),
        "n * (n - 1) / 2" => Ok(n * (n - 1.0) / 2.0),
        "n * (n - 1) / 2 * d" => Ok(n * (n - 1.0) / 2.0 * d),
        other => Err(Error::internal(format!(
            "work of {}: '{other}'",
            workload.name
        ))),
    }
}

/// The refusal of a definition that lacks what its task takes.
fn lacking(workload: &Workload, what: &str) -> Error {
    Error::internal(format!("workload {}: no {what}", workload.name))
}

/// The question of a workload and its rows.
fn asked(workload: &Workload) -> Result<(Pairs, Data)> {
    let x = table(&workload.x)?;
    let y = workload.y.as_ref().map(table).transpose()?;
    let mut question = pairs(&x);
    if let Some(y) = &y {
        question = question.with(y);
    }
    if let Some(periodic_box) = &workload.periodic_box {
        question = question.periodic(periodic_box);
    }
    for (name, value) in &workload.params {
        question = question.param(name, *value);
    }
    let question = task(workload, question)?;
    let masses = workload.masses.as_ref().map(table).transpose()?;
    let data = Data {
        pairs: None,
        x,
        y,
        weights: vec![masses.map(|masses| [masses.clone(), masses])],
    };
    Ok((question, data))
}

/// Gives `question` the value and the fold of the task of a workload.
fn task(workload: &Workload, question: Pairs) -> Result<Pairs> {
    let number = |name, value: Option<f64>| value.ok_or_else(|| lacking(workload, name));
    let metric = || {
        let metric = workload.metric.as_deref();
        metric.ok_or_else(|| lacking(workload, "metric"))
    };
    Ok(match workload.task.as_str() {
        "matrix" => question.metric(metric()?).fold(FoldSpec::Matrix {}),
        "condensed" => question.metric(metric()?).fold(FoldSpec::Condensed {}),
        "histogram" => question.domain(Domain::Triangle).fold(histogram(workload)),
        "neighbours" => {
            let k = workload.k.ok_or_else(|| lacking(workload, "k"))?;
            question.metric("sqeuclidean").fold(FoldSpec::Nearest {
                k,
                largest: Some(false),
            })
        }
        "gauss" => question
            .formula("exp(-sum((x - y)^2) / (2*h^2))")
            .param("h", number("h", workload.h)?)
            .fold(sum_by_row()),
        "accelerations" => question
            .formula("(y - x) * (sum((x - y)^2) + s)^(-1.5)")
            .param("s", number("softening", workload.softening)?)
            .fold(sum_by_row()),
        "angles" => {
            let above = number("above", workload.above)?;
            question
                .domain(Domain::Triangle)
                .fold(join(format!("cosine_similarity(x, y) > {above}")))
        }
        "near" => {
            let below = number("below", workload.below)?;
            question.fold(join(format!("sum(abs(x - y)) < {below}")))
        }
        other => {
            return Err(Error::internal(format!(
                "workload {}: no task '{other}'",
                workload.name
            )));
        }
    })
}

/// The histogram of a workload, with edges or equal bins.
fn histogram(workload: &Workload) -> FoldSpec {
    let axis = AxisSpec {
        bins: if workload.edges.is_some() {
            None
        } else {
            workload.bins
        },
        range: workload.range,
        edges: workload.edges.as_ref().map(sequence),
        value: None,
    };
    FoldSpec::Histogram {
        axes: vec![axis],
        closed: Closed::Last,
        weights: None,
        mean: false,
        weight: None,
        values: Default::default(),
    }
}

fn sum_by_row() -> FoldSpec {
    FoldSpec::Reduce {
        op: ReduceOp::Sum,
        axis: ReduceAxis::Row,
        weights: None,
    }
}

fn join(predicate: String) -> FoldSpec {
    FoldSpec::Join {
        predicate,
        value: None,
        kind: JoinKind::Inner,
    }
}

fn sequence(edges: &Edges) -> Vec<f64> {
    let step = (edges.to / edges.from).ln() / edges.bins as f64;
    let inner = (1..edges.bins).map(|k| edges.from * (step * k as f64).exp());
    [edges.from]
        .into_iter()
        .chain(inner)
        .chain([edges.to])
        .collect()
}

/// Rows of numbers that are random enough to measure with.
fn table(rows: &Rows) -> Result<Table> {
    let mut numbers = SplitMix::new(rows.seed);
    let normal = rows.kind == "normal";
    let mut number = || match normal {
        // Box and Muller 1958.
        true => {
            (-2.0 * (1.0 - numbers.unit()).ln()).sqrt()
                * (std::f64::consts::TAU * numbers.unit()).cos()
        }
        false => numbers.unit(),
    };
    let count = rows.rows * rows.cols;
    match rows.element.as_str() {
        "f32" => Table::f32(
            rows.rows,
            rows.cols,
            (0..count).map(|_| (number() * rows.scale) as f32).collect(),
        ),
        _ => Table::f64(
            rows.rows,
            rows.cols,
            (0..count).map(|_| number() * rows.scale).collect(),
        ),
    }
}
