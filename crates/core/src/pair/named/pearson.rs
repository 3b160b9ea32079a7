//! Pearson's correlation of the components of x with those of y, a similarity in [−1, 1]. A
//! constant row gives NaN.
//!
//! It is `correlation` as a similarity: the same text, without "1 −". So `knn` finds the most
//! correlated rows by default.

use super::correlation::{coefficient, correlation};
use super::{Named, RowValues, ScaleOption};

/// `pearson`, also `pearsonr`.
pub(super) const PEARSON: Named = Named {
    name: "pearson",
    about: "Pearson's correlation of the components",
    similarity: true,
    values: (-1.0, 1.0),
    aliases: &["pearsonr", "corrcoef"],
    options: &["w"],
    formula: |f, params, dim| correlation(f, params, dim, "{}"),
    prepare: None,
    reference: coefficient,
    symmetric: true,
    domain: RowValues::Real,
    scale: ScaleOption::Fixed(1.0),
    range: (-10.0, 10.0),
};
