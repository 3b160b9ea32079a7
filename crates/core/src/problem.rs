//! A problem as data: what is asked, with inputs by name, never the data themselves.
//!
//! It is what a `.toml` file, the command and Python all turn into. It round-trips through JSON and
//! TOML with all bits of its numbers (`exact.rs`), and unknown keys are refused, so that a typing
//! error is not ignored.
//!
//! ```text
//! schema = 1
//! x = "points.csv"
//! pair = "euclidean"
//! folds = [{ kind = "histogram", axes = [{ bins = 100, range = [0, 2] }] }]
//! ```

use crate::conditions;
use crate::fold::rows::ReduceAxis;
use crate::fold::{BinValueSpec, Closed, JoinKind, QuantileSpec, ReduceOp, TopSpec};
use crate::pair::lex::named_columns;
use crate::pair::named;
use crate::pair::parse::Param;
use crate::param_axis::ParamAxis;
use crate::space::Domain;
use crate::table::Precision;
use crate::text_or::FromText;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the problem's schema that this zipfold reads and writes.
pub const SCHEMA: u32 = 1;

/// What is asked. Unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The rows called x. A text alone is their name.
    #[serde(deserialize_with = "crate::text_or::deserialize")]
    pub x: Input,
    /// The rows called y; without them x is paired with itself.
    #[serde(
        default,
        deserialize_with = "crate::text_or::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub y: Option<Input>,
    /// What one pair is. A text alone is a metric if there is one of that name, or else a formula.
    #[serde(default, deserialize_with = "crate::text_or::deserialize")]
    pub pair: PairSpec,
    /// Which pairs are visited; by default what the folds suggest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<Domain>,
    /// Visit only pairs of rows at most this far apart.
    #[serde(
        default,
        with = "crate::exact",
        skip_serializing_if = "Option::is_none"
    )]
    pub cutoff: Option<f64>,
    /// A periodic box: lengths, or lengths and angles in degrees.
    #[serde(
        default,
        rename = "box",
        with = "crate::exact",
        skip_serializing_if = "Option::is_none"
    )]
    pub periodic_box: Option<Vec<f64>>,
    /// A column of labels, or of numbers: what is kept is kept apart by the groups of the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// A column of labels, or of numbers: the question is asked of the rows of each key alone, and
    /// the answers follow one another in the order of keys. Of two tables, of equal keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    /// Visit only pairs of rows whose keys are equal (`same:COLUMN`, `block:COLUMN`) or differ
    /// (`other:COLUMN`); `same` and `other` are about the groups. `band:ROWS` keeps |i − j| up to a
    /// number of rows, `window:COLUMN:WIDTH` differences of a sorted column up to a width, and
    /// `earlier` the pairs with j < i. Several conditions are joined by ` and `.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Visit these pairs alone: a table of two columns, the row of x and that of y, from 0. A pair
    /// counts as often as it is listed.
    #[serde(
        default,
        deserialize_with = "crate::text_or::option",
        skip_serializing_if = "Option::is_none"
    )]
    pub pairs: Option<Input>,
    /// What is kept.
    pub folds: Vec<FoldSpec>,
    /// A parameter of the formulas with several values: one question about each of them, in
    /// one sweep, and the answers have one more axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub param: Option<ParamAxis>,
    /// What becomes of the results of rows: their `sum`, `mean`, `min`, `max`, `median` or
    /// `quantile:Q`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<String>,
    /// f32 or f64; by default that of the inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// What happens to NaN.
    #[serde(default)]
    pub nan: NanPolicy,
}

/// An input by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// A file, or any name in a library call.
    pub name: String,
    /// Only these columns, in this order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// The hash of the data, as `--json` tells it under `inputs`: other data are refused. It is of
    /// names, shape, type and bits of what is used, with the weight columns of histograms, in 16
    /// hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Columns that name the rows: kept as words, left out of the numbers. Without columns chosen,
    /// those of text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// Columns next to the components of a row, which formulas read by name (`x.charge`) and
    /// distances leave out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<String>,
    /// Whether the first row of a text is its header; found out from its cells when not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
}

/// What formulas name next to whole rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedColumns {
    /// Columns of x and of y, each once; of one input both are the same.
    pub columns: [Vec<String>; 2],
    /// Texts between quotes, each once.
    pub texts: Vec<String>,
}

impl Problem {
    /// Returns the question about all pairs of `x` with itself: no box, no cut-off, no groups, and
    /// an error where a value is NaN.
    #[doc(hidden)]
    #[must_use]
    pub fn new(x: Input, pair: PairSpec, folds: Vec<FoldSpec>) -> Self {
        Problem {
            schema: SCHEMA,
            x,
            y: None,
            pair,
            domain: None,
            cutoff: None,
            periodic_box: None,
            by: None,
            batch: None,
            within: None,
            pairs: None,
            folds,
            param: None,
            then: None,
            precision: None,
            nan: NanPolicy::default(),
        }
    }
    /// How many questions the values of a parameter make of it: 1 without such a parameter.
    #[doc(hidden)]
    #[must_use]
    pub fn questions(&self) -> usize {
        self.param.as_ref().map_or(1, ParamAxis::len)
    }
    /// Returns the question about value `at` of its parameter alone.
    #[doc(hidden)]
    #[must_use]
    pub fn with_value(&self, at: usize) -> Problem {
        let mut alone = self.clone();
        if let Some(axis) = alone.param.take()
            && let Some(value) = axis.values.get(at)
        {
            alone.pair.params.insert(axis.name, Param::Number(*value));
        }
        alone
    }
    /// Its formulas: that of the pair, and those of the folds.
    #[doc(hidden)]
    pub fn formulas(&self) -> Vec<&str> {
        let of_folds = self.folds.iter().flat_map(|fold| fold.wants().formulas);
        self.pair
            .formula
            .as_deref()
            .into_iter()
            .chain(of_folds)
            .collect()
    }
    /// The columns of its groups and of the conditions on pairs, each once.
    #[doc(hidden)]
    pub fn key_columns(&self) -> Vec<String> {
        let within = self.within.as_deref().map(conditions::columns);
        let named = [&self.by, &self.batch].into_iter().flatten().cloned();
        let mut all: Vec<String> = vec![];
        for name in named.chain(within.into_iter().flatten()) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    }
    /// The columns that its formulas and keys read by name, and the texts that these are compared with.
    #[doc(hidden)]
    pub fn named_columns(&self) -> NamedColumns {
        let mut out = NamedColumns::default();
        let add = |to: &mut Vec<String>, name: &String| {
            if !to.contains(name) {
                to.push(name.clone())
            }
        };
        for name in self.key_columns() {
            out.columns.iter_mut().for_each(|to| add(to, &name));
        }
        for formula in self.formulas() {
            let (columns, texts) = named_columns(formula);
            texts.iter().for_each(|text| add(&mut out.texts, text));
            for (side, name) in &columns {
                let sides = if self.y.is_some() {
                    *side as usize..*side as usize + 1
                } else {
                    0..2
                };
                sides.for_each(|side| add(&mut out.columns[side], name));
            }
        }
        out
    }
}

impl Input {
    /// All columns of the input called `name`.
    pub fn named(name: impl Into<String>) -> Self {
        Input {
            name: name.into(),
            columns: None,
            hash: None,
            ids: vec![],
            attributes: vec![],
            header: None,
        }
    }
}

impl FromText for Input {
    const EXPECTED: &'static str = "the name of an input, or a table with its 'name'";
    fn from_text(text: &str) -> Self {
        Input::named(text)
    }
}

/// What one pair is: a metric by name, or a formula.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairSpec {
    /// A named metric; euclidean when neither is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// A formula in x and y.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula: Option<String>,
    /// Named values of the formula, or options of the metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, Param>,
}

impl FromText for PairSpec {
    const EXPECTED: &'static str =
        "the name of a metric, a formula, or a table with 'metric' or 'formula'";
    fn from_text(text: &str) -> Self {
        let of = |text: &str| Some(text.to_string());
        match named::find(text) {
            Some(_) => PairSpec {
                metric: of(text),
                ..PairSpec::default()
            },
            None => PairSpec {
                formula: of(text),
                ..PairSpec::default()
            },
        }
    }
}

/// What happens to NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NanPolicy {
    /// NaN in an input, or as a counted value, is an error that names its place.
    #[default]
    Error,
    /// NaN values reach the folds: comparisons with them are false, they bin nowhere and sort last.
    Propagate,
    /// Pairs whose value is NaN are left out and counted as skipped.
    Skip,
}

/// What is kept of the values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum FoldSpec {
    /// The dense matrix.
    Matrix {},
    /// SciPy's condensed order.
    Condensed {},
    /// One result per row, column, or in all.
    Reduce {
        /// The operation.
        op: ReduceOp,
        /// Results by row (default), column, or one. Of half of the pairs (triangle, diagonal) a
        /// row or column has all pairs that it is in, and the one result in all has each pair once.
        #[serde(default = "row")]
        axis: ReduceAxis,
        /// Weights of the rows folded away: as many rows, one or more columns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weights: Option<Input>,
    },
    /// The k nearest of every row of x among the rows of y.
    Nearest {
        /// How many.
        k: usize,
        /// Those of the largest values (true) or of the smallest (false); by default the largest of
        /// a named similarity, the smallest of anything else.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        largest: Option<bool>,
    },
    /// Counts by bin.
    Histogram {
        /// One to three axes.
        axes: Vec<AxisSpec>,
        /// The rule for the last edge.
        #[serde(default = "last")]
        closed: Closed,
        /// A column of both inputs; a pair weighs the product.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weights: Option<String>,
        /// Also the mean value per bin.
        #[serde(default)]
        mean: bool,
        /// A formula: what a pair weighs. Not together with `weights`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weight: Option<String>,
        /// Formulas by name, whose values are summed by bin.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        values: BTreeMap<String, BinValueSpec>,
    },
    /// The k best pairs of all.
    Top(TopSpec),
    /// Quantiles of every row.
    Quantile(QuantileSpec),
    /// The pairs for which a condition is true.
    Join {
        /// A formula that is a truth value.
        #[serde(rename = "where")]
        predicate: String,
        /// A formula whose value is kept with each match.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
        /// Pairs, or rows with or without a match.
        #[serde(default = "inner", rename = "join_kind")]
        kind: JoinKind,
    },
}

/// One axis of a histogram.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxisSpec {
    /// What is binned; by default the pair's value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Number of uniform bins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<usize>,
    /// First and last edge; without them the exact minimum and maximum.
    #[serde(
        default,
        with = "crate::exact",
        skip_serializing_if = "Option::is_none"
    )]
    pub range: Option<[f64; 2]>,
    /// Edges of their own.
    #[serde(
        default,
        with = "crate::exact",
        skip_serializing_if = "Option::is_none"
    )]
    pub edges: Option<Vec<f64>>,
}

fn row() -> ReduceAxis {
    ReduceAxis::Row
}
fn last() -> Closed {
    Closed::Last
}
fn inner() -> JoinKind {
    JoinKind::Inner
}
