//! The question of a case: rows, formula, fold.

use super::levels::{BOX, Case, FOLD, Levels, PRECISION, RANGE, SIDES, VALUE, WEIGHTS};
use zipfold::Overrides;
use zipfold::internals::core::pair::named::RowValues;
use zipfold::internals::core::random::SplitMix;
use zipfold::internals::describe;
use zipfold::pairs;
use zipfold::problem::Domain;
use zipfold::problem::ReduceAxis;
use zipfold::problem::{AxisSpec, FoldSpec, Input, NanPolicy};
use zipfold::problem::{Closed, JoinKind, ReduceOp};
use zipfold::{Data, Error, Problem, Result, Table};

/// What a case asks.
#[derive(Clone)]
pub(super) struct Asked {
    /// The question.
    pub problem: Problem,
    /// Its rows.
    pub data: Data,
    /// Choices of the plan.
    pub overrides: Overrides,
}

/// Values that a question is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    /// The least and the largest of some.
    pub all: [f64; 2],
    /// What a tenth of them are below.
    pub tenth: f64,
}

impl Ends {
    /// Those of `values` that are finite; of none, something.
    pub(super) fn of_finite(values: impl Iterator<Item = f64>) -> Ends {
        let mut finite: Vec<f64> = values.filter(|v| v.is_finite()).collect();
        finite.sort_by(f64::total_cmp);
        match (finite.first(), finite.last()) {
            (Some(lo), Some(hi)) if lo < hi => {
                let tenth = finite[finite.len() / 10];
                Ends {
                    all: [*lo, *hi],
                    tenth: if tenth > *lo {
                        tenth
                    } else {
                        lo + 0.1 * (hi - lo)
                    },
                }
            }
            _ => Ends {
                all: [0.0, 1.0],
                tenth: 0.1,
            },
        }
    }
}

/// Rows of the domain of the value.
fn table(levels: &Levels, case: &Case, rows: usize, seed: u64) -> Result<Table> {
    let mut numbers = SplitMix::new(seed);
    let cols = levels.dim(case);
    let truths = levels
        .metric(case)
        .is_some_and(|m| m.domain == RowValues::Boolean);
    let mut number = || match truths {
        true => f64::from(u8::from(numbers.remainder(3) == 0)),
        false => 0.01 + 0.98 * numbers.unit(),
    };
    let items = 0..rows * cols;
    match levels.text(case, PRECISION) {
        "f32" => Table::f32(rows, cols, items.map(|_| number() as f32).collect()),
        _ => Table::f64(rows, cols, items.map(|_| number()).collect()),
    }
}

/// The question of `case` with so many rows.
///
/// # Errors
/// Those of tables, `Internal` for definitions that are none.
pub(super) fn asked(
    levels: &Levels,
    case: &Case,
    rows: usize,
    ends: Option<Ends>,
) -> Result<Asked> {
    let (fold, weights, dim) = (
        levels.text(case, FOLD),
        levels.text(case, WEIGHTS),
        levels.dim(case),
    );
    let x = table(levels, case, rows, 1)?;
    let y = if levels.text(case, SIDES) == "cross" {
        Some(table(levels, case, rows, 2)?)
    } else {
        None
    };
    let mut question = pairs(&x);
    if let Some(y) = &y {
        question = question.with(y);
    }
    let value = levels.text(case, VALUE);
    question = if levels.metric(case).is_some() {
        question.metric(value)
    } else {
        question.formula(value)
    };
    if levels.text(case, SIDES) == "no-diagonal" {
        question = question.domain(Domain::Ordered);
    }
    question = match levels.text(case, BOX) {
        "none" => question,
        "right" => question.periodic(&vec![1.0; dim]),
        _ => question.periodic(&[1.0, 1.0, 1.0, 80.0, 85.0, 75.0]),
    };
    let given = (weights != "none").then(|| Input::named("w"));
    let mut problem = question
        .fold(spec(levels, case, ends, given)?)
        .problem()
        .clone();
    problem.nan = NanPolicy::Propagate;
    if !fold.starts_with("histogram") && levels.text(case, RANGE) == "short" {
        problem.cutoff = Some(0.2 * (dim as f64).sqrt());
    }
    let wide = if weights == "several" { 5 } else { 1 };
    let mut numbers = SplitMix::new(3);
    let weights = match weights {
        "none" => None,
        _ => {
            let table = Table::f64(
                rows,
                wide,
                (0..rows * wide).map(|_| numbers.unit()).collect(),
            )?;
            Some([table.clone(), table])
        }
    };
    Ok(Asked {
        problem,
        data: Data {
            x,
            y,
            weights: vec![weights],
        },
        overrides: Overrides::default(),
    })
}

/// The same question of two tables that are alike.
pub(super) fn of_two(mut asked: Asked) -> Asked {
    asked.data.y = Some(asked.data.x.clone());
    asked.problem.y = Some(Input::named("y"));
    asked.problem.domain = None;
    asked
}

fn spec(
    levels: &Levels,
    case: &Case,
    ends: Option<Ends>,
    weights: Option<Input>,
) -> Result<FoldSpec> {
    let value = match levels.metric(case) {
        Some(metric) => format!("{}(x, y)", metric.name),
        None => levels.text(case, VALUE).to_string(),
    };
    let ends = ends.unwrap_or(Ends {
        all: [0.0, 1.0],
        tenth: 0.1,
    });
    let limit = ends.tenth;
    let reduce = |op, axis| FoldSpec::Reduce {
        op,
        axis,
        weights: weights.clone(),
    };
    let by_row = |op| reduce(op, ReduceAxis::Row);
    let nearest = |k, largest| FoldSpec::Nearest {
        k,
        largest: Some(largest),
    };
    let join = |value, kept, kind| FoldSpec::Join {
        predicate: format!("{value} < {limit:e}"),
        value: kept,
        kind,
    };
    let range = match levels.text(case, RANGE) {
        "whole" => Some(ends.all),
        "short" => Some([ends.all[0], limit]),
        _ => None,
    };
    let uniform = |bins| AxisSpec {
        bins: Some(bins),
        range,
        ..AxisSpec::default()
    };
    let histogram = |axes, mean| {
        let weights = weights.as_ref().map(|w| w.name.clone());
        FoldSpec::Histogram {
            axes,
            closed: Closed::Last,
            weights,
            mean,
        }
    };
    let uneven = || {
        let [lo, hi] = range.unwrap_or(ends.all);
        let edges = (0..=100)
            .map(|k| lo + (hi - lo) * (f64::from(k) / 100.0).powi(2))
            .collect();
        AxisSpec {
            edges: Some(edges),
            ..AxisSpec::default()
        }
    };
    let second = || AxisSpec {
        value: Some("abs(x[0] - y[0])".into()),
        bins: Some(20),
        range: Some([0.0, 1.0]),
        edges: None,
    };
    Ok(match levels.text(case, FOLD) {
        "matrix" => FoldSpec::Matrix {},
        "condensed" => FoldSpec::Condensed {},
        "sum" => by_row(ReduceOp::Sum),
        "mean" => by_row(ReduceOp::Mean),
        "sum-columns" => reduce(ReduceOp::Sum, ReduceAxis::Column),
        "sum-all" => reduce(ReduceOp::Sum, ReduceAxis::All),
        "logsumexp" => by_row(ReduceOp::Logsumexp),
        "softmax" => by_row(ReduceOp::Softmax),
        "min" => by_row(ReduceOp::Min),
        "max" => by_row(ReduceOp::Max),
        "argmin" => by_row(ReduceOp::Argmin),
        "count" => by_row(ReduceOp::Count),
        "min-all" => reduce(ReduceOp::Min, ReduceAxis::All),
        "farthest-10" => nearest(10, true),
        "histogram-uneven" => histogram(vec![uneven()], false),
        "histogram-means" => histogram(vec![uniform(100)], true),
        "histogram-two-axes" => histogram(vec![uniform(100), second()], false),
        "join" => join(&value, None, JoinKind::Inner),
        "join-values" => join(&value, Some(value.clone()), JoinKind::Inner),
        "semi" => join(&value, None, JoinKind::Semi),
        other => match other.split_once('-') {
            Some(("nearest", k)) => nearest(k.parse().unwrap_or(1), false),
            Some(("histogram", bins)) => histogram(vec![uniform(bins.parse().unwrap_or(1))], false),
            _ => {
                return Err(Error::internal(format!(
                    "no fold '{other}' among the definitions"
                )));
            }
        },
    })
}

/// Whether the question of `case` is one: a formula may ask for more components than rows have, a
/// box for differences.
pub(super) fn is_askable(levels: &Levels, case: &Case) -> bool {
    let Ok(mut asked) = asked(levels, case, 9, None) else {
        return false;
    };
    for fold in &mut asked.problem.folds {
        if let FoldSpec::Histogram { axes, .. } = fold {
            axes.iter_mut()
                .filter(|a| a.edges.is_none() && a.range.is_none())
                .for_each(|a| a.range = Some([0.0, 1.0]));
        }
    }
    describe(&asked.problem, asked.data).is_ok()
}
