//! The question of a case: rows, formula, fold.

use super::levels::{BOX, Case, FOLD, Levels, PRECISION, RANGE, SIDES, VALUE, WEIGHTS};
use zipfold::Overrides;
use zipfold::internals::core::pair::named::RowValues;
use zipfold::internals::core::random::SplitMix;
use zipfold::internals::describe;
use zipfold::problem::Domain;
use zipfold::problem::ReduceAxis;
use zipfold::problem::{AxisSpec, FoldSpec, Input, NanPolicy};
use zipfold::problem::{Closed, JoinKind, ReduceOp};
use zipfold::{Data, Error, Problem, Result, Table};
use zipfold::{Pairs, pairs};

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
    let x = table(levels, case, rows, 1)?;
    let y = if levels.text(case, SIDES) == "cross" {
        Some(table(levels, case, rows, 2)?)
    } else {
        None
    };
    let given = (levels.text(case, WEIGHTS) != "none").then(|| Input::named("w"));
    let fold = FoldParts::of_case(levels, case, ends, given).spec(levels.text(case, FOLD))?;
    let question = values(levels, case, &x, y.as_ref());
    let mut problem = question.fold(fold).problem().clone();
    problem.nan = NanPolicy::Propagate;
    if !levels.text(case, FOLD).starts_with("histogram") && levels.text(case, RANGE) == "short" {
        problem.cutoff = Some(0.2 * (levels.dim(case) as f64).sqrt());
    }
    Ok(Asked {
        problem,
        data: Data {
            pairs: None,
            x,
            y,
            weights: vec![weights(levels.text(case, WEIGHTS), rows)?],
        },
        overrides: Overrides::default(),
    })
}

/// The values of the pairs that a question is about.
fn values(levels: &Levels, case: &Case, x: &Table, y: Option<&Table>) -> Pairs {
    let mut question = pairs(x);
    if let Some(y) = y {
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
    match levels.text(case, BOX) {
        "none" => question,
        "right" => question.periodic(&vec![1.0; levels.dim(case)]),
        _ => question.periodic(&[1.0, 1.0, 1.0, 80.0, 85.0, 75.0]),
    }
}

/// Weights of the rows of both sides: a column, or `several`.
fn weights(word: &str, rows: usize) -> Result<Option<[Table; 2]>> {
    if word == "none" {
        return Ok(None);
    }
    let wide = if word == "several" { 5 } else { 1 };
    let mut numbers = SplitMix::new(3);
    let items = (0..rows * wide).map(|_| numbers.unit()).collect();
    let table = Table::f64(rows, wide, items)?;
    Ok(Some([table.clone(), table]))
}

/// The same question of two tables that are alike.
pub(super) fn of_two(mut asked: Asked) -> Asked {
    asked.data.y = Some(asked.data.x.clone());
    asked.problem.y = Some(Input::named("y"));
    asked.problem.domain = None;
    asked
}

/// What the folds of a case are made of.
struct FoldParts {
    /// The value of a pair.
    value: String,
    ends: Ends,
    /// Of a histogram.
    range: Option<[f64; 2]>,
    weights: Option<Input>,
}

impl FoldParts {
    fn of_case(levels: &Levels, case: &Case, ends: Option<Ends>, weights: Option<Input>) -> Self {
        let ends = ends.unwrap_or(Ends {
            all: [0.0, 1.0],
            tenth: 0.1,
        });
        FoldParts {
            value: match levels.metric(case) {
                Some(metric) => format!("{}(x, y)", metric.name),
                None => levels.text(case, VALUE).to_string(),
            },
            ends,
            range: match levels.text(case, RANGE) {
                "whole" => Some(ends.all),
                "short" => Some([ends.all[0], ends.tenth]),
                _ => None,
            },
            weights,
        }
    }
    /// The fold that `word` names.
    fn spec(&self, word: &str) -> Result<FoldSpec> {
        if let Some((op, axis)) = reduction(word) {
            return Ok(FoldSpec::Reduce {
                op,
                axis,
                weights: self.weights.clone(),
            });
        }
        let uniform = |bins| vec![self.uniform(bins)];
        Ok(match word {
            "matrix" => FoldSpec::Matrix {},
            "condensed" => FoldSpec::Condensed {},
            "farthest-10" => nearest(10, true),
            "histogram-uneven" => self.histogram(vec![self.uneven()], false),
            "histogram-means" => self.histogram(uniform(100), true),
            "histogram-two-axes" => self.histogram(vec![self.uniform(100), second_axis()], false),
            "join" => self.join(None, JoinKind::Inner),
            "join-values" => self.join(Some(self.value.clone()), JoinKind::Inner),
            "semi" => self.join(None, JoinKind::Semi),
            other => match other.split_once('-') {
                Some(("nearest", k)) => nearest(k.parse().unwrap_or(1), false),
                Some(("histogram", bins)) => {
                    self.histogram(uniform(bins.parse().unwrap_or(1)), false)
                }
                _ => {
                    return Err(Error::internal(format!(
                        "no fold '{other}' among the definitions"
                    )));
                }
            },
        })
    }
    /// Matches are the pairs below the tenth of the values.
    fn join(&self, value: Option<String>, kind: JoinKind) -> FoldSpec {
        FoldSpec::Join {
            predicate: format!("{} < {:e}", self.value, self.ends.tenth),
            value,
            kind,
        }
    }
    fn histogram(&self, axes: Vec<AxisSpec>, mean: bool) -> FoldSpec {
        FoldSpec::Histogram {
            axes,
            closed: Closed::Last,
            weights: self.weights.as_ref().map(|w| w.name.clone()),
            mean,
            weight: None,
            values: Default::default(),
        }
    }
    fn uniform(&self, bins: usize) -> AxisSpec {
        AxisSpec {
            bins: Some(bins),
            range: self.range,
            ..AxisSpec::default()
        }
    }
    /// An axis of a hundred bins that grow wider.
    fn uneven(&self) -> AxisSpec {
        let [lo, hi] = self.range.unwrap_or(self.ends.all);
        let edges = (0..=100)
            .map(|k| lo + (hi - lo) * (f64::from(k) / 100.0).powi(2))
            .collect();
        AxisSpec {
            edges: Some(edges),
            ..AxisSpec::default()
        }
    }
}

/// The reduction that `word` names, if it names one.
fn reduction(word: &str) -> Option<(ReduceOp, ReduceAxis)> {
    let by_row = |op| Some((op, ReduceAxis::Row));
    match word {
        "sum" => by_row(ReduceOp::Sum),
        "mean" => by_row(ReduceOp::Mean),
        "sum-columns" => Some((ReduceOp::Sum, ReduceAxis::Column)),
        "sum-all" => Some((ReduceOp::Sum, ReduceAxis::All)),
        "logsumexp" => by_row(ReduceOp::Logsumexp),
        "softmax" => by_row(ReduceOp::Softmax),
        "min" => by_row(ReduceOp::Min),
        "max" => by_row(ReduceOp::Max),
        "argmin" => by_row(ReduceOp::Argmin),
        "count" => by_row(ReduceOp::Count),
        "min-all" => Some((ReduceOp::Min, ReduceAxis::All)),
        _ => None,
    }
}

fn nearest(k: usize, largest: bool) -> FoldSpec {
    FoldSpec::Nearest {
        k,
        largest: Some(largest),
    }
}

/// The second axis of a histogram of two.
fn second_axis() -> AxisSpec {
    AxisSpec {
        value: Some("abs(x[0] - y[0])".into()),
        bins: Some(20),
        range: Some([0.0, 1.0]),
        edges: None,
    }
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
