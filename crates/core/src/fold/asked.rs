//! Folds as problem files ask for them: the registration of names. What each needs and refuses
//! is in its own file.

use super::axes::USUAL_BINS;
use super::histogram::BinValue;
use super::roots::Roots;
use super::rows::ReduceAxis;
use super::{Dense, Fold, Histogram, Join, Nearest, Reduce};
use crate::error::{Error, Result};
use crate::opt::Opt;
use crate::problem::{AxisSpec, FoldSpec};

/// What a fold reads besides the value of the pair, and how much it says.
///
/// Describing a problem needs it before any fold exists: formulas name the attributes that must be
/// read, and sizes are refused early.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wants<'a> {
    /// Its formulas.
    pub formulas: Vec<&'a str>,
    /// Whether weights, where there are any, are those of the rows of x, and of y: of the rows that
    /// are folded away.
    pub weights: [bool; 2],
    /// Numbers and words that it is made of, formulas apart: bins and edges, quantiles.
    pub parts: usize,
}

impl FoldSpec {
    /// Returns what the fold reads besides the value of the pair.
    ///
    /// The match has no catch-all arm, so a new fold must say what it reads.
    pub fn wants(&self) -> Wants<'_> {
        let plain = Wants {
            parts: 1,
            ..Wants::default()
        };
        match self {
            FoldSpec::Matrix {}
            | FoldSpec::Condensed {}
            | FoldSpec::Nearest { .. }
            | FoldSpec::Top(_) => plain,
            FoldSpec::Quantile(spec) => Wants {
                parts: spec.q.len(),
                ..plain
            },
            // Weights belong to the rows that are folded away; of a histogram a pair has both.
            FoldSpec::Reduce { axis, .. } => Wants {
                weights: [*axis == ReduceAxis::Column, *axis != ReduceAxis::Column],
                ..plain
            },
            FoldSpec::Histogram {
                axes,
                weight,
                values,
                ..
            } => {
                let size = |axis: &AxisSpec| {
                    axis.bins
                        .unwrap_or(USUAL_BINS)
                        .saturating_add(axis.edges.as_ref().map_or(0, Vec::len))
                };
                let axis_formulas = axes.iter().filter_map(|a| a.value.as_deref());
                let of_values = values.values().map(|value| value.formula.as_str());
                Wants {
                    formulas: axis_formulas
                        .chain(weight.as_deref())
                        .chain(of_values)
                        .collect(),
                    weights: [true, true],
                    parts: axes.iter().map(size).fold(0, usize::saturating_add),
                }
            }
            FoldSpec::Join {
                predicate, value, ..
            } => Wants {
                formulas: std::iter::once(&predicate[..])
                    .chain(value.as_deref())
                    .collect(),
                ..Wants::default()
            },
        }
    }
    /// Returns how many numbers the answer has for `n` × `m` rows, of one weight each; of joins the
    /// most. In f64, since n·m may be beyond u64 and the number only steers advice and refusals.
    pub fn numbers(&self, n: usize, m: usize) -> f64 {
        let (n, m) = (n as f64, m as f64);
        match self {
            FoldSpec::Matrix {} | FoldSpec::Condensed {} | FoldSpec::Join { .. } => n * m,
            FoldSpec::Reduce { .. } => n.max(m),
            FoldSpec::Nearest { k, .. } => n * *k as f64,
            FoldSpec::Top(spec) => (spec.k as f64).min(n * m),
            FoldSpec::Quantile(spec) => n * spec.q.len() as f64,
            FoldSpec::Histogram { axes, .. } => {
                let bins = |axis: &AxisSpec| match &axis.edges {
                    Some(edges) => edges.len(),
                    None => axis.bins.unwrap_or(USUAL_BINS),
                };
                axes.iter().map(|axis| bins(axis) as f64).product()
            }
        }
    }
    /// The fold that this asks for, without its weights.
    ///
    /// Roots are added in the order of folds, so the same problem always has the same numbers of
    /// roots. Identities of partial results depend on that.
    ///
    /// # Errors
    /// `Request` for folds that do not fit the pair, and for formulas that mean nothing.
    pub(crate) fn resolve(&self, roots: &mut Roots<'_>) -> Result<Fold> {
        Ok(match self {
            FoldSpec::Matrix {} => Fold::Dense(Dense::asked(false, roots)?),
            FoldSpec::Condensed {} => Fold::Dense(Dense::asked(true, roots)?),
            FoldSpec::Reduce { op, axis, .. } => Fold::Reduce(Reduce::asked(*op, *axis, roots)?),
            FoldSpec::Nearest { k, largest } => Fold::Nearest(Nearest::asked(*k, *largest, roots)?),
            FoldSpec::Top(spec) => Fold::Top(spec.fold(roots)?),
            FoldSpec::Quantile(spec) => Fold::Quantile(spec.fold(roots)?),
            FoldSpec::Histogram {
                axes,
                closed,
                mean,
                weight,
                weights,
                values,
            } => {
                if weights.is_some() && weight.is_some() {
                    return Err(Error::request(
                        "expected one pair weight, got a column and a formula",
                    )
                    .at_place(Opt::Weights)
                    .remedy("multiply them in the formula"));
                }
                let fold = Histogram::asked(axes, *closed, *mean, roots)?;
                let weight = weight.as_ref().map(|text| roots.number(text)).transpose()?;
                let values = BinValue::asked(values, roots)?;
                Fold::Histogram(fold.with_formulas(values, weight))
            }
            FoldSpec::Join {
                predicate,
                value,
                kind,
            } => Fold::Join(Join::asked(predicate, value.as_deref(), *kind, roots)?),
        })
    }
}
