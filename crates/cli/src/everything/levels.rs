//! The factors of `bench/definitions/everything.toml` and their levels.

use serde::Deserialize;
use zipfold::internals::core::pair::named::{self, Named};
use zipfold::{Error, Result};

/// The factors and their levels.
const DEFINITION: &str = include_str!("../../../../bench/definitions/everything.toml");

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
    /// The metric that has the same values.
    metric: Option<String>,
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
pub(super) const FACTORS: usize = 9;
/// The value of a pair: a metric, or a formula.
pub(super) const VALUE: usize = 0;
/// What is kept of the values.
pub(super) const FOLD: usize = 1;
/// The type of the numbers in rows.
pub(super) const PRECISION: usize = 2;
/// Components of a row.
pub(super) const DIM: usize = 3;
/// One table or two.
pub(super) const SIDES: usize = 4;
/// The periodic box.
pub(super) const BOX: usize = 5;
/// Weights of rows.
pub(super) const WEIGHTS: usize = 6;
/// The range of a histogram; of other folds the cut-off.
pub(super) const RANGE: usize = 7;
/// Rows of a table.
pub(super) const ROWS: usize = 8;

/// A level of every factor.
pub(super) type Case = [usize; FACTORS];

/// The levels of all factors.
pub(super) struct Levels {
    definition: Definition,
    /// Named metrics, before the formulas.
    metrics: Vec<&'static Named>,
}

impl Levels {
    /// Those built in.
    ///
    /// # Errors
    /// `Internal` for definitions that are none.
    pub(super) fn built_in() -> Result<Levels> {
        let definition: Definition = toml::from_str(DEFINITION)
            .map_err(|e| Error::internal(format!("the definitions built in: {e}")))?;
        Ok(Levels {
            definition,
            metrics: named::all().iter().collect(),
        })
    }
    /// Levels of a factor.
    pub(super) fn count(&self, factor: usize) -> usize {
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
    /// The word for the level of a factor that has words.
    pub(super) fn text(&self, case: &Case, factor: usize) -> &str {
        let f = &self.definition.factors;
        match factor {
            VALUE => match self.metric(case) {
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
    /// The metric that is the value, if it is one.
    pub(super) fn metric(&self, case: &Case) -> Option<&'static Named> {
        self.metrics.get(case[VALUE]).copied()
    }
    /// Components of a row.
    pub(super) fn dim(&self, case: &Case) -> usize {
        self.definition.factors.dim[case[DIM]]
    }
    /// Rows of a table.
    pub(super) fn rows(&self, case: &Case) -> usize {
        self.definition.factors.rows[case[ROWS]]
    }
    /// The same case with another level of a factor, by its word.
    pub(super) fn with(&self, case: &Case, factor: usize, text: &str) -> Option<Case> {
        (0..self.count(factor))
            .map(|level| with(case, factor, level))
            .find(|other| self.text(other, factor) == text)
    }
    /// The same case with its value in another spelling: a metric for a formula, or the first
    /// formula that is the metric.
    pub(super) fn respelled(&self, case: &Case) -> Option<Case> {
        match self.metric(case) {
            Some(metric) => {
                let at = self
                    .definition
                    .formula
                    .iter()
                    .position(|f| f.metric.as_deref() == Some(metric.name))?;
                Some(with(case, VALUE, self.metrics.len() + at))
            }
            None => {
                let name = self.definition.formula[case[VALUE] - self.metrics.len()]
                    .metric
                    .as_deref()?;
                Some(with(
                    case,
                    VALUE,
                    self.metrics.iter().position(|m| m.name == name)?,
                ))
            }
        }
    }
    /// Whether the value of a pair has as many numbers as a row.
    pub(super) fn is_vector(&self, case: &Case) -> bool {
        let at = case[VALUE].checked_sub(self.metrics.len());
        at.is_some_and(|at| self.definition.formula[at].vector)
    }
    /// In words.
    pub(super) fn name(&self, case: &Case) -> String {
        let (fold, value) = (self.text(case, FOLD), self.text(case, VALUE));
        let mut name = format!(
            "{fold} of {value}, {} d={}, {}",
            self.text(case, PRECISION),
            self.dim(case),
            self.text(case, SIDES)
        );
        for (factor, what) in [(BOX, "box"), (WEIGHTS, "weights")] {
            if self.text(case, factor) != "none" {
                name += &format!(", {what} {}", self.text(case, factor));
            }
        }
        match (self.text(case, RANGE), fold.starts_with("histogram")) {
            ("none", true) => name + ", no range",
            ("short", true) => name + ", short range",
            ("short", false) => name + ", near",
            _ => name,
        }
    }
    /// Whether such a question is meant, as far as words say.
    pub(super) fn allow(&self, case: &Case) -> bool {
        let (fold, sides, weights) = (
            self.text(case, FOLD),
            self.text(case, SIDES),
            self.text(case, WEIGHTS),
        );
        let histogram = fold.starts_with("histogram");
        let summed = matches!(fold, "sum" | "mean" | "sum-columns" | "sum-all" | "softmax");
        let vector = self.is_vector(case);
        let weighted = match weights {
            "none" => true,
            "one" => summed || fold == "logsumexp" || (histogram && fold != "histogram-two-axes"),
            _ => summed && !vector,
        };
        weighted
            && (histogram || self.text(case, RANGE) != "none")
            && (fold != "condensed" || sides == "self")
            && (!vector || matches!(fold, "sum" | "mean" | "sum-columns" | "sum-all"))
            && (self.text(case, BOX) != "skewed" || self.dim(case) == 3)
    }
}

fn with(case: &Case, factor: usize, level: usize) -> Case {
    let mut other = *case;
    other[factor] = level;
    other
}
