//! Refusals of a parameter with several values: values that are none, a name that has another
//! meaning, formulas that do not read it, folds whose answers have no axis.

use crate::error::{Error, Result};
use crate::opt::Opt;
use crate::pair::functions::is_name_of_language;
use crate::pair::lex::reads_name;
use crate::pair::named;
use crate::param_axis::few;
use crate::problem::{FoldSpec, Problem};

impl Problem {
    /// Refuses values of a parameter that has no meaning, or a name that has another one.
    ///
    /// # Errors
    /// `Request`.
    pub(crate) fn check_param(&self, columns: [Option<&[String]>; 2]) -> Result<()> {
        let Some(axis) = &self.param else {
            return Ok(());
        };
        let name = axis.name.as_str();
        let refused = |what: String, remedy: String| {
            Err(Error::request(what).at_place(Opt::Param).remedy(remedy))
        };
        let example = Opt::Param.like("h=0.1:1:10");
        if axis.is_empty() {
            return refused(format!("expected values of '{name}', got none"), example);
        }
        few(axis.len())?;
        if let Some(at) = axis.values.iter().position(|value| value.is_nan()) {
            return refused(
                format!("expected numbers for '{name}', got NaN as value {at}"),
                "leave it out".into(),
            );
        }
        if let Some(what) = taken(name, self, columns) {
            return refused(
                format!("expected a name of its own, got '{name}', {what}"),
                format!("another name: {example}"),
            );
        }
        let in_formulas = self.formulas().iter().any(|text| reads_name(text, name));
        if !in_formulas && !self.is_option(name) {
            return refused(
                format!("expected '{name}' in a formula, got formulas without it"),
                "leave it out".into(),
            );
        }
        match self.folds.iter().find(|fold| !has_axis(fold)) {
            None => Ok(()),
            Some(odd) => refused(
                format!(
                    "expected a fold with an axis for '{name}', got {}",
                    kind(odd)
                ),
                format!(
                    "one run for each value: {}",
                    Opt::Param.like(format!("{name}=VALUE"))
                ),
            ),
        }
    }
    /// Whether `name` is an option of the metric.
    fn is_option(&self, name: &str) -> bool {
        let metric = self.pair.metric.as_deref();
        let named = metric.and_then(named::find);
        named.is_some_and(|named| named.options.contains(&name))
    }
}

/// What `name` is already, in words.
fn taken(name: &str, problem: &Problem, columns: [Option<&[String]>; 2]) -> Option<&'static str> {
    let letters = |c: char| c.is_alphanumeric() || c == '_';
    let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if !begins || !name.chars().all(letters) {
        return Some("which is no name");
    }
    if is_name_of_language(name) {
        return Some("which formulas have already");
    }
    if problem.pair.params.contains_key(name) {
        return Some("which has a value already");
    }
    let is_column = columns
        .into_iter()
        .flatten()
        .flatten()
        .any(|column| column == name);
    is_column.then_some("which is a column")
}

/// Whether the answer of a fold can have an axis of values.
fn has_axis(fold: &FoldSpec) -> bool {
    match fold {
        FoldSpec::Reduce { .. }
        | FoldSpec::Nearest { .. }
        | FoldSpec::Histogram { .. }
        | FoldSpec::Quantile(_) => true,
        FoldSpec::Matrix {} | FoldSpec::Condensed {} | FoldSpec::Join { .. } | FoldSpec::Top(_) => {
            false
        }
    }
}

/// What a fold without an axis of values is called.
fn kind(fold: &FoldSpec) -> &'static str {
    match fold {
        FoldSpec::Matrix {} => "a matrix",
        FoldSpec::Condensed {} => "a condensed matrix",
        FoldSpec::Join { .. } => "a join",
        FoldSpec::Top(_) => "the best pairs",
        FoldSpec::Reduce { .. }
        | FoldSpec::Nearest { .. }
        | FoldSpec::Histogram { .. }
        | FoldSpec::Quantile(_) => "another fold",
    }
}
