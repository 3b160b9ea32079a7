//! What a named metric consists of.
//!
//! The parser calls metrics by name (`euclidean(x, y) < 1`), and metrics are written as text that
//! the parser reads. This module is what both know, so that neither imports the other: a metric as
//! data, with functions for its formula and its reference. `named` lists the metrics there are.

use super::tree::{Formula, Id};
use crate::error::Result;
use crate::table::Table;
use std::collections::BTreeMap;

/// A value that a request binds to a name.
///
/// A problem file writes it as a number, a list or a text; the variants are tried in this order.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum Param {
    /// A number.
    Number(#[serde(with = "crate::exact")] f64),
    /// A vector as long as a row has components.
    Vector(#[serde(with = "crate::exact")] Vec<f64>),
    /// A word: the choice of an option, such as a unit.
    Word(String),
}

/// Options of a metric: `p`, `w`, `V`, `VI`, `gamma`, …
pub type Params = BTreeMap<String, Param>;

/// The rows that a metric is defined for. Tests draw rows from it. Runs do not check it: a metric
/// of booleans reads any number but 0 as true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowValues {
    /// Any finite numbers.
    Real,
    /// Numbers ≥ 0.
    NonNegative,
    /// Zero or not zero.
    Boolean,
    /// Latitude and longitude in radians, two components.
    LatLon,
    /// Any finite numbers, NaN where one is missing.
    Missing,
}

/// The magnitude to which the error of a value is compared in tests of single precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScaleOption {
    /// Relative to the value (translation-invariant pairs, computed from differences).
    Relative,
    /// Relative to this magnitude (bounded similarities).
    Fixed(f64),
    /// Relative to the product of the norms of the rows (inner products).
    Norms,
}

/// Changes both tables before pairs are formed (ranks, whitening), or completes the options from
/// them (variances).
///
/// It asks `stop` for every row, and returns an error of kind `Interrupted` once the answer is yes.
/// It returns `None` if the tables stay as they are.
pub type Prepare = fn(
    x: &Table,
    y: Option<&Table>,
    params: &mut Params,
    stop: Stop<'_>,
) -> Result<Option<PreparedTables>>;

/// Returns whether work is to end. The caller connects it to Ctrl-C.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// Tables after [`Prepare`], in double precision, with the numbers of rows that they had.
#[derive(Clone, Debug)]
pub struct PreparedTables {
    /// The first table.
    pub x: Table,
    /// The second, if there is one.
    pub y: Option<Table>,
}

/// A named metric.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The name, as in SciPy or scikit-learn.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Whether more alike rows have larger values. The nearest neighbours of a similarity are those
    /// with the largest values.
    pub similarity: bool,
    /// The least and the largest value over rows of the domain, with default options, as lists of
    /// metrics show it.
    pub values: (f64, f64),
    /// Other names: those of SciPy, scikit-learn and common abbreviations.
    pub aliases: &'static [&'static str],
    /// The options it takes.
    pub options: &'static [&'static str],
    /// Appends the formula to a formula, given the options and the number of components if it is
    /// known.
    pub formula: fn(&mut Formula, &Params, Option<usize>) -> Result<Id>,
    /// What is done to whole tables first.
    pub prepare: Option<Prepare>,
    /// An independent evaluation on rows (after `prepare`), straight from the definition.
    pub reference: fn(&[f64], &[f64], &Params) -> f64,
    /// Whether the value is the same with the rows exchanged. Tests hold the derived symmetry to
    /// it; runs use the derived one.
    pub symmetric: bool,
    /// Rows it is made for.
    pub domain: RowValues,
    /// How its error is measured.
    pub scale: ScaleOption,
    /// Range of components for tests.
    pub range: (f64, f64),
}

impl Named {
    /// Whether `name` is its name or an alias, in any case.
    pub fn is_called(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        self.name == lower || self.aliases.contains(&lower.as_str())
    }
}
