//! From arguments to a problem.

use crate::args::{Dist, Hist, Join, Knn, PairArgs, Reduce, RunArgs, ThenArgs, Top};
use std::collections::BTreeMap;
use zipfold::Overrides;
use zipfold::Problem;
use zipfold::internals::core::budget::parse_bytes;
use zipfold::internals::core::conditions::{self, Condition};
use zipfold::internals::core::fold::{BinStatistic, BinValueSpec};
use zipfold::internals::core::param_axis::ParamAxis;
use zipfold::io::{ReadOptions, read_table};
use zipfold::problem::Param;
use zipfold::problem::ReduceAxis;
use zipfold::problem::{AxisSpec, FoldSpec, Input, NanPolicy, PairSpec};
use zipfold::problem::{Closed, JoinKind, QuantileSpec, ReduceOp, TopSpec};
use zipfold::{Budget, Error, Result};
use zipfold::{Precision, problem::Domain};

/// Copies of a list of numbers that a run holds: the problem's, the formula's or the axis's own,
/// squares, and the text that a checkpoint's key is made of.
const COPIES: u64 = 6;

/// A file as a list of numbers, row-major. They stay in the budget as long as the run.
fn numbers(path: &str, budget: &Budget) -> Result<Vec<f64>> {
    let table = read_table(path, &ReadOptions::default(), budget)?;
    budget.spend(
        table.elements().len() as u64 * 8 * COPIES,
        &format!("the numbers of {path}"),
    )?;
    Ok(table.elements().every(1))
}

/// A value of a formula or an option of a metric, as it is written.
pub(crate) fn param(text: &str, budget: &Budget) -> Result<(String, Param)> {
    let wrong = |what: String| {
        Error::request(what)
            .at_place("--param")
            .remedy("NAME=NUMBER, NAME=1,2,3 or NAME=@FILE")
    };
    let Some((name, value)) = text.split_once('=') else {
        return Err(wrong(format!("'{text}' gives no value")));
    };
    let param = if let Some(path) = value.strip_prefix('@') {
        Param::Vector(numbers(path, budget)?)
    } else {
        literal(value).map_err(wrong)?
    };
    Ok((name.trim().to_string(), param))
}

/// A parameter that is written out: numbers with commas between, a number, or a word; or what the
/// text is not.
fn literal(value: &str) -> std::result::Result<Param, String> {
    if value.contains(',') {
        let parts: std::result::Result<Vec<f64>, _> =
            value.split(',').map(|v| v.trim().parse()).collect();
        return parts
            .map(Param::Vector)
            .map_err(|_| format!("'{value}' is no list of numbers"));
    }
    let word = value.trim();
    if let Ok(number) = word.parse() {
        return Ok(Param::Number(number));
    }
    if !word.is_empty() && word.chars().all(char::is_alphabetic) {
        return Ok(Param::Word(word.to_string()));
    }
    Err(format!("'{value}' is no number"))
}

fn two_axes(first: &ParamAxis, second: &ParamAxis) -> Error {
    let what = format!(
        "expected one parameter with several values, got '{}' and '{}'",
        first.name, second.name
    );
    let e = Error::request(what).at_place("--param");
    e.remedy("a run for each value of one of them")
}

/// Values of formulas and options of metrics, and the parameter that has several values.
pub(crate) fn params(
    args: &PairArgs,
    budget: &Budget,
) -> Result<(BTreeMap<String, Param>, Option<ParamAxis>)> {
    let (mut params, mut several): (BTreeMap<_, _>, Option<ParamAxis>) = Default::default();
    for text in &args.params {
        let axis = text.split_once('=');
        let axis = axis.map(|(name, values)| ParamAxis::read(name, values));
        match (axis.transpose()?.flatten(), &several) {
            (Some(axis), None) => several = Some(axis),
            (Some(axis), Some(first)) => return Err(two_axes(first, &axis)),
            (None, _) => {
                let (name, value) = param(text, budget)?;
                params.insert(name, value);
            }
        }
    }
    let unit = args.unit.clone().map(Param::Word);
    params.extend(unit.map(|unit| ("unit".to_string(), unit)));
    Ok((params, several))
}

fn problem(
    args: &PairArgs,
    domain: Option<Domain>,
    fold: FoldSpec,
    budget: &Budget,
) -> Result<Problem> {
    let input = |name: &str| Input {
        columns: args.columns.clone(),
        ids: args.id.clone().unwrap_or_default(),
        attributes: args.attributes.clone().unwrap_or_default(),
        header: args.header.as_deref().map(|said| said == "yes"),
        ..Input::named(name)
    };
    let periodic_box = args
        .periodic_box
        .as_deref()
        .map(zipfold::internals::core::PeriodicBox::parse)
        .transpose()?;
    let (params, several) = params(args, budget)?;
    Ok(Problem {
        param: several,
        y: args.y.as_deref().map(input),
        domain: match (args.ordered, args.both_rows) {
            (true, _) => Some(Domain::Ordered),
            (false, true) => Some(Domain::Diagonal),
            (false, false) => domain,
        },
        cutoff: args.cutoff,
        periodic_box: periodic_box.map(Vec::from),
        by: args.by.clone(),
        batch: args.batch.clone(),
        within: args.within.clone(),
        pairs: args.pairs.as_deref().map(|name| Input {
            columns: args.pairs_columns.clone(),
            ..Input::named(name)
        }),
        precision: match args.precision.as_deref() {
            Some("f32") => Some(Precision::F32),
            Some(_) => Some(Precision::F64),
            None => None,
        },
        nan: match args.nan.as_str() {
            "skip" => NanPolicy::Skip,
            "propagate" => NanPolicy::Propagate,
            _ => NanPolicy::Error,
        },
        ..Problem::new(
            input(&args.x),
            PairSpec {
                metric: args.metric.clone(),
                formula: args.pair.clone(),
                params,
            },
            vec![fold],
        )
    })
}

/// `dist`.
pub(crate) fn dist(args: &Dist, budget: &Budget) -> Result<Problem> {
    let fold = if args.condensed {
        FoldSpec::Condensed {}
    } else {
        FoldSpec::Matrix {}
    };
    problem(&args.pair, None, fold, budget)
}

/// `knn`.
pub(crate) fn knn(args: &Knn, budget: &Budget) -> Result<Problem> {
    if args.k == 0 {
        return Err(Error::request("no neighbours asked for")
            .at_place("-k")
            .limit("1 or more"));
    }
    let fold = FoldSpec::Nearest {
        k: args.k,
        largest: args.largest.then_some(true),
    };
    then(problem(&args.pair, None, fold, budget)?, &args.then)
}

/// The problem with the second stage of the arguments.
fn then(problem: Problem, args: &ThenArgs) -> Result<Problem> {
    Ok(Problem {
        then: args.then.clone(),
        ..problem
    })
}

/// `top`.
pub(crate) fn top(args: &Top, budget: &Budget) -> Result<Problem> {
    let spec = TopSpec {
        k: args.k,
        largest: args.largest.then_some(true),
    };
    problem(&args.pair, None, FoldSpec::Top(spec), budget)
}

/// The edges of bins in a file.
fn edges(path: &str, budget: &Budget) -> Result<Vec<f64>> {
    let edges = numbers(path, budget)?;
    if edges.len() < 2 || !edges.windows(2).all(|w| w[0] < w[1]) {
        let e = Error::input("bin edges are two or more numbers, each larger than the one before");
        return Err(e
            .at_place(format!("--edges {path}"))
            .remedy("sort them and drop duplicates"));
    }
    Ok(edges)
}

/// `hist`.
pub(crate) fn hist(args: &Hist, budget: &Budget) -> Result<Problem> {
    let edges = args
        .edges
        .as_deref()
        .map(|path| edges(path, budget))
        .transpose()?;
    let range = args.range.as_ref().map(|r| [r[0], r[1]]);
    let axis = AxisSpec {
        value: None,
        bins: edges.is_none().then_some(args.bins),
        range,
        edges,
    };
    let closed = if args.half_open {
        Closed::HalfOpen
    } else {
        Closed::Last
    };
    let fold = FoldSpec::Histogram {
        axes: vec![axis],
        closed,
        weights: args.weights.clone(),
        mean: args.mean,
        weight: args.weight.clone(),
        values: values(args)?,
    };
    problem(&args.pair, None, fold, budget)
}

/// The formulas of `--value`, of which `--keep` says what is kept.
fn values(args: &Hist) -> Result<BTreeMap<String, BinValueSpec>> {
    let kept = |which: &&BinStatistic| args.keep.iter().any(|word| word == which.name());
    let keep: Vec<BinStatistic> = BinStatistic::ALL.iter().filter(kept).copied().collect();
    let mut values = BTreeMap::new();
    for text in &args.values {
        let Some((name, formula)) = text.split_once('=') else {
            let e = Error::request(format!("expected NAME=EXPR, got '{text}'"));
            return Err(e
                .at_place("--value")
                .remedy("--value 'gamma=(x.z - y.z)^2 / 2'"));
        };
        let spec = BinValueSpec {
            formula: formula.trim().to_string(),
            keep: keep.clone(),
        };
        if values.insert(name.trim().to_string(), spec).is_some() {
            let e = Error::request(format!(
                "expected each name once, got '{}' twice",
                name.trim()
            ));
            return Err(e.at_place("--value").remedy("another name"));
        }
    }
    Ok(values)
}

/// `reduce`.
pub(crate) fn reduce(args: &Reduce, budget: &Budget) -> Result<Problem> {
    if matches!(args.op.as_str(), "median" | "quantile") {
        return quantiles(args, budget);
    }
    if !args.quantiles.is_empty() {
        let e = Error::request(format!(
            "expected --quantiles beside --op quantile, got --op {}",
            args.op
        ))
        .at_place("--quantiles");
        return Err(e.remedy("--op quantile"));
    }
    let op = match args.op.as_str() {
        "sum" => ReduceOp::Sum,
        "mean" => ReduceOp::Mean,
        "min" => ReduceOp::Min,
        "max" => ReduceOp::Max,
        "argmin" => ReduceOp::Argmin,
        "argmax" => ReduceOp::Argmax,
        "count" => ReduceOp::Count,
        "logsumexp" => ReduceOp::Logsumexp,
        _ => ReduceOp::Softmax,
    };
    let axis = match args.axis.as_str() {
        "row" => ReduceAxis::Row,
        "column" => ReduceAxis::Column,
        _ => ReduceAxis::All,
    };
    let weights = args
        .weights
        .as_ref()
        .map(|name| Input::named(name.as_str()));
    // One result in all counts every pair (i, j) of the square; rows may use the symmetric half.
    let domain = match (args.no_diagonal, axis) {
        (true, _) => Some(Domain::Ordered),
        (false, ReduceAxis::All) if args.pair.y.is_none() => Some(Domain::Square),
        _ => None,
    };
    let fold = FoldSpec::Reduce { op, axis, weights };
    then(problem(&args.pair, domain, fold, budget)?, &args.then)
}

/// `reduce --op median` and `reduce --op quantile`.
fn quantiles(args: &Reduce, budget: &Budget) -> Result<Problem> {
    let op = args.op.as_str();
    if args.axis != "row" {
        let e = Error::request(format!("expected --axis row, got --axis {}", args.axis))
            .at_place("--axis");
        return Err(e.remedy(format!("swap the inputs: --op {op} is of the rows of x")));
    }
    if args.weights.is_some() {
        return Err(Error::request(format!("--op {op} takes no weights"))
            .at_place("--weights")
            .remedy("leave --weights out"));
    }
    let q = match (op, args.quantiles.is_empty()) {
        ("median", true) => vec![0.5],
        ("median", false) => {
            let e = Error::request("expected --quantiles beside --op quantile, got --op median")
                .at_place("--quantiles");
            return Err(e.remedy("--op quantile"));
        }
        (_, false) => args.quantiles.clone(),
        (_, true) => {
            let e = Error::request("expected the quantiles, got none").at_place("--quantiles");
            return Err(e.remedy("--quantiles 0.1,0.5,0.9, or --op median"));
        }
    };
    let domain = args.no_diagonal.then_some(Domain::Ordered);
    let fold = FoldSpec::Quantile(QuantileSpec { q });
    then(problem(&args.pair, domain, fold, budget)?, &args.then)
}

/// `join`.
pub(crate) fn join(args: &Join, budget: &Budget) -> Result<Problem> {
    let kind = match args.rows.kind.as_deref() {
        Some("semi") => JoinKind::Semi,
        Some("anti") => JoinKind::Anti,
        _ => JoinKind::Inner,
    };
    if let Some((option, pair)) = args
        .pair
        .metric
        .as_ref()
        .map(|m| ("--metric", format!("{m}(x, y)")))
    {
        let e = Error::request("a join finds pairs by its condition, and has no metric beside it")
            .at_place(option);
        return Err(e.remedy(format!("--where '{pair} < 1'")));
    }
    if args.of_self && args.pair.y.is_some() {
        return Err(
            Error::request("a join of a table with itself has one input, here are two")
                .at_place("--self"),
        );
    }
    if !args.of_self && args.pair.y.is_none() {
        let e = Error::request("a join needs two tables");
        return Err(e.remedy("give the second, or --self for pairs i < j of the first"));
    }
    if args.pair.pair.is_some() {
        let e = Error::request("a join finds pairs by its condition, and has no formula beside it")
            .at_place("--pair");
        return Err(
            e.remedy("--where 'euclidean(x, y) < 2'; --value keeps a value with each match")
        );
    }
    let fold = FoldSpec::Join {
        predicate: args.predicate.clone().unwrap_or_default(),
        value: args.value.clone(),
        kind,
    };
    // Conditions that tell rows apart go with no half of the pairs.
    let within = args.pair.within.as_deref().map(conditions::read);
    let within = within.transpose()?.unwrap_or_default();
    let earlier = within.contains(&Condition::Earlier);
    let listed = args.pair.pairs.is_some();
    let whole = args.pair.ordered || earlier || listed;
    let half = args.of_self && kind == JoinKind::Inner && !whole;
    let domain = half.then_some(Domain::Triangle);
    problem(&args.pair, domain, fold, budget)
}

/// Bytes of `256MiB`, `2GiB`, `1e9`.
pub(crate) fn bytes(text: &str) -> Result<u64> {
    parse_bytes(text).map_err(|e| e.at_place("--memory"))
}

/// The plan choices of `--set key=value`.
pub(crate) fn overrides(texts: &[String]) -> Result<Overrides> {
    let one = |text: &String| match text.split_once('=') {
        Some((key, value)) => Ok((key.to_string(), value.to_string())),
        None => Err(Error::request(format!("expected KEY=VALUE, got '{text}'"))
            .at_place("--set")
            .remedy("KEY=VALUE")),
    };
    Overrides::read(texts.iter().map(one).collect::<Result<Vec<_>>>()?)
}

/// `--shard I/N`, from 1, as (index from 0, parts).
pub(crate) fn shard(run: &RunArgs) -> Result<Option<(usize, usize)>> {
    let Some(text) = &run.shard else {
        return Ok(None);
    };
    let parts = text
        .split_once('/')
        .and_then(|(i, n)| Some((i.parse::<usize>().ok()?, n.parse::<usize>().ok()?)));
    match parts {
        Some((i, n)) if i >= 1 && i <= n && n <= 1_000_000 => Ok(Some((i - 1, n))),
        _ => Err(Error::request(format!("'{text}' is no share"))
            .at_place("--shard")
            .remedy("I/N with I from 1 to N: 1/8")),
    }
}
