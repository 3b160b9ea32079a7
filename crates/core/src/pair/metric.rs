//! What a named pair consists of. The parser calls named pairs without knowing which there are, and
//! `named` lists them.

use super::tree::{Formula, Id};
use crate::error::Result;
use crate::table::Table;
use std::collections::BTreeMap;

/// A value bound to a name by the option `param`.
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

/// What rows a metric is made for; refused or converted elsewhere, used for test inputs here.
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

/// How the error of a value is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Relative to the value (translation-invariant pairs, computed from differences).
    Relative,
    /// Relative to this magnitude (bounded similarities).
    Fixed(f64),
    /// Relative to the product of the norms of the rows (inner products).
    Norms,
}

/// Changes both tables before pairs are formed (rank, whiten), or completes the options from them
/// (variances).
///
/// It asks `stop` for every row, and ends with an error that says it was interrupted where the
/// answer is yes.
pub type Prepare = fn(
    x: &Table,
    y: Option<&Table>,
    params: &mut Params,
    stop: Stop<'_>,
) -> Result<Option<Prepared>>;

/// Whether work is to end.
pub type Stop<'a> = &'a dyn Fn() -> bool;

/// Tables after [`Prepare`]: double precision, same numbers of rows.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The first table.
    pub x: Table,
    /// The second, if there is one.
    pub y: Option<Table>,
}

/// A named pair.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The name, as in SciPy or scikit-learn.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Whether more alike rows have larger values, so that the nearest are those of the largest.
    pub similarity: bool,
    /// The least and the largest value over rows of its domain, with the options it has by default.
    pub values: (f64, f64),
    /// Other names it is known by.
    pub aliases: &'static [&'static str],
    /// The options it takes.
    pub options: &'static [&'static str],
    /// Appends its formula.
    pub formula: fn(&mut Formula, &Params, Option<usize>) -> Result<Id>,
    /// What is done to whole tables first.
    pub prepare: Option<Prepare>,
    /// An independent evaluation on rows (after `prepare`), straight from the definition.
    pub reference: fn(&[f64], &[f64], &Params) -> f64,
    /// Whether the value is the same with the rows exchanged.
    pub symmetric: bool,
    /// Rows it is made for.
    pub domain: RowValues,
    /// How its error is measured.
    pub scale: Scale,
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
