//! What is asked of two tables: keys, a condition, nearest rows, the columns of the output.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use zipfold_core::pair::Param;
use zipfold_core::pair::named::find;
use zipfold_core::problem::PairSpec;
use zipfold_core::{Error, Message, Opt, Result};

/// A join of two tables by the names of their columns, as a question. Its TOML has the same keys.
///
/// ```
/// use zipfold::Options;
/// use zipfold::internals::tables::TableJoin;
/// let path = std::env::temp_dir().join(format!("zipfold-{}-visits.csv", std::process::id()));
/// std::fs::write(&path, "who,day\nann,1\nbob,1\nann,2\n").expect("a folder for the example");
/// let join = TableJoin {
///     on: vec!["who".into()],
///     predicate: Some("y.day > x.day".into()),
///     select: vec!["x.who".into(), "x.day".into(), "y.day as next".into()],
///     ..TableJoin::of_one(path.to_string_lossy())
/// };
/// println!("{}", join.explain(&Options::default())?);
/// let answer = join.run(&Options::default())?;
/// assert_eq!((answer.rows, answer.names()), (1, vec!["who", "day", "next"]));
/// # std::fs::remove_file(&path).expect("the example's file");
/// # Ok::<(), zipfold::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableJoin {
    /// The rows called x.
    pub x: String,
    /// The rows called y; without them x is joined with itself.
    #[serde(default)]
    pub y: Option<String>,
    /// Columns whose values are equal: `NAME` in both tables, `A=B` of x and of y. A row without a
    /// key matches nothing.
    #[serde(default)]
    pub on: Vec<String>,
    /// A condition on the rows of a pair.
    #[serde(default, rename = "where")]
    pub predicate: Option<String>,
    /// What becomes of the matches.
    #[serde(default, rename = "join_kind")]
    pub kind: TableKind,
    /// Only this many matches of each row of x: those of the smallest value (of the largest, of a
    /// similarity).
    #[serde(default)]
    pub nearest: Option<usize>,
    /// What orders the nearest rows: a metric of the coordinates (by default `euclidean`).
    #[serde(default)]
    pub metric: Option<String>,
    /// What orders the nearest rows: a formula. Of other joins, a value of the output.
    #[serde(default)]
    pub value: Option<String>,
    /// Values of formulas, and options of the metric.
    #[serde(default)]
    pub params: BTreeMap<String, Param>,
    /// What happens to rows with the same value as the last of the nearest.
    #[serde(default)]
    pub ties: Ties,
    /// The largest value of a nearest row (the smallest, of a similarity).
    #[serde(default)]
    pub within_distance: Option<f64>,
    /// The columns of the output, in this order: `x.name`, `y.name`, `x.*`, `y.*`, `*`, `value`, or
    /// a formula; each may end with `as NAME`. By default `*`, and the value where there is one.
    #[serde(default)]
    pub select: Vec<String>,
    /// The columns that are coordinates in both tables, for metrics and whole rows in formulas. By
    /// default all columns of numbers that are no keys.
    #[serde(default)]
    pub columns: Option<Vec<String>>,
    /// Columns of files whose cells are words, numbers as they are written: keys as `0071`.
    #[serde(default)]
    pub ids: Vec<String>,
    /// Of one table, both orders of a pair also where the condition is symmetric.
    #[serde(default)]
    pub ordered: bool,
    /// Whether the first row of a text is its header; found out from its cells when not said.
    #[serde(default)]
    pub header: Option<bool>,
}

/// What becomes of the matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableKind {
    /// A row for each match.
    #[default]
    Inner,
    /// A row for each match, and one with nulls for each row of x without any.
    Left,
    /// The first match of each row of x, in the order of y.
    Any,
    /// Each row of x with a match, once.
    Semi,
    /// Each row of x without a match.
    Anti,
}

impl TableKind {
    /// Whether rows of y are part of the answer.
    pub(crate) fn has_pairs(self) -> bool {
        !matches!(self, TableKind::Semi | TableKind::Anti)
    }
}

/// What happens to rows with the same value as the last of the nearest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ties {
    /// The first rows of y are taken, no more than asked.
    #[default]
    First,
    /// All of them are taken.
    All,
}

impl TableJoin {
    /// A join of the tables called `x` and `y`; keys or a condition are still missing.
    pub fn new(x: impl Into<String>, y: impl Into<String>) -> TableJoin {
        TableJoin {
            y: Some(y.into()),
            ..TableJoin::of_one(x)
        }
    }
    /// A join of the table called `x` with itself: no row is joined with itself, and a symmetric
    /// condition gives each pair once, the lower row as x.
    pub fn of_one(x: impl Into<String>) -> TableJoin {
        TableJoin {
            x: x.into(),
            y: None,
            on: vec![],
            predicate: None,
            kind: TableKind::Inner,
            nearest: None,
            metric: None,
            value: None,
            params: BTreeMap::new(),
            ties: Ties::First,
            within_distance: None,
            select: vec![],
            columns: None,
            ids: vec![],
            ordered: false,
            header: None,
        }
    }
    /// The value of a match as a formula, where there is one.
    pub(super) fn value_formula(&self) -> Option<String> {
        match (&self.metric, &self.value) {
            (_, Some(formula)) => Some(formula.clone()),
            (Some(metric), None) => Some(format!("{metric}(x, y)")),
            (None, None) => self.nearest.map(|_| "euclidean(x, y)".to_string()),
        }
    }
    /// What orders nearest rows.
    pub(super) fn pair(&self) -> PairSpec {
        PairSpec {
            metric: self.metric.clone(),
            formula: self.value.clone(),
            params: self.params.clone(),
        }
    }
    /// Refuses what has no meaning together.
    pub(super) fn check(&self) -> Result<()> {
        if self.on.is_empty() && self.predicate.is_none() && self.nearest.is_none() {
            let what = "expected keys, a condition or nearest rows, got none";
            let remedy = format!(
                "{}, {} or {}",
                Opt::On.like("COLUMN"),
                Opt::Where.like("'abs(x.time - y.time) < 0.5'"),
                Opt::Nearest.to(1)
            );
            return refuse(what, Opt::Where, remedy);
        }
        if self.nearest == Some(0) {
            return refuse(
                "expected at least 1 row, got 0",
                Opt::Nearest,
                Opt::Nearest.to(1),
            );
        }
        if self.value.is_some() && !self.kind.has_pairs() && self.nearest.is_none() {
            let what = "expected no value for rows with or without a match, got one";
            return refuse(what, Opt::Value, format!("leave out {}", Opt::Value));
        }
        self.check_metric()?;
        self.check_nearest()
    }
    /// Refuses what is not a metric, and one that a condition or ties could not take.
    fn check_metric(&self) -> Result<()> {
        let Some(metric) = &self.metric else {
            return Ok(());
        };
        if self.value.is_some() {
            let what = "expected a metric or a formula, got both";
            return refuse(what, Opt::Metric, format!("leave out {}", Opt::Metric));
        }
        if find(metric).is_none() {
            let what = format!("expected the name of a metric, got '{metric}'");
            return refuse(what, Opt::Metric, Opt::Metric.to("euclidean"));
        }
        let again = self.predicate.is_some() || self.ties == Ties::All || self.nearest.is_none();
        if again && !self.params.is_empty() {
            let what = "expected nearest rows for a metric with options, got a condition, all ties or keys alone";
            return refuse(what, Opt::Metric, "the metric as a formula".to_string());
        }
        Ok(())
    }
    /// Refuses options of nearest rows without these, and kinds that nearest rows lack.
    fn check_nearest(&self) -> Result<()> {
        let all = self.ties == Ties::All;
        if let Some(limit) = self.within_distance.filter(|limit| limit.is_nan()) {
            let what = format!("expected the largest value of a match, got {limit}");
            return refuse(what, Opt::WithinDistance, Opt::WithinDistance.to(2));
        }
        if self.nearest.is_none() && (all || self.within_distance.is_some()) {
            let place = match all {
                true => Opt::Ties,
                false => Opt::WithinDistance,
            };
            let what = "expected nearest rows for it, got none";
            return refuse(what, place, Opt::Nearest.to(1));
        }
        if self.nearest.is_some() && self.kind == TableKind::Any {
            let what = "expected no nearest rows beside the first match of each row, got both";
            return refuse(what, Opt::Kind, format!("leave out {}", Opt::Kind));
        }
        Ok(())
    }
}

pub(super) fn refuse<T>(what: impl Into<Message>, place: Opt, remedy: String) -> Result<T> {
    Err(Error::request(what).at_place(place).remedy(remedy))
}
