//! Folds as problem files ask for them: the registration of names. What each needs and refuses
//! stands in its own file.

use super::roots::Roots;
use super::{Dense, Fold, Histogram, Nearest, RowFold, Select};
use crate::error::Result;
use crate::problem::FoldSpec;

impl FoldSpec {
    /// The fold that this asks for, without its weights.
    ///
    /// # Errors
    /// `Request` for folds that do not fit the pair, and for formulas that mean nothing.
    pub(crate) fn resolve(&self, roots: &mut Roots<'_>) -> Result<Fold> {
        Ok(match self {
            FoldSpec::Matrix {} => Fold::Dense(Dense::asked(false, roots)?),
            FoldSpec::Condensed {} => Fold::Dense(Dense::asked(true, roots)?),
            FoldSpec::Reduce { op, along, .. } => Fold::Rows(RowFold::asked(*op, *along, roots)?),
            FoldSpec::Nearest { k, largest } => Fold::Nearest(Nearest::asked(*k, *largest, roots)?),
            FoldSpec::Top(spec) => Fold::Top(spec.fold(roots)?),
            FoldSpec::Quantile(spec) => Fold::Quantile(spec.fold(roots)?),
            FoldSpec::Histogram {
                axes, closed, mean, ..
            } => Fold::Histogram(Histogram::asked(axes, *closed, *mean, roots)?),
            FoldSpec::Select {
                predicate,
                value,
                join,
            } => Fold::Select(Select::asked(predicate, value.as_deref(), *join, roots)?),
        })
    }
}
