//! Spearman's correlation (1904): Pearson's correlation of ranks within each row, equal components
//! sharing their mean rank (SciPy's `spearmanr`). Ranks are no formula, so `prepare` computes them
//! for whole tables. A constant row gives NaN.

use super::correlation::{coefficient, correlation};
use super::{Named, RowValues, ScaleOption};
use crate::pair::prepare::rank;

/// `spearman`, also `spearmanr`. Range and reference are those of ranks, which start at 1.
pub(super) const SPEARMAN: Named = Named {
    name: "spearman",
    about: "Pearson's correlation of the ranks of the components",
    similarity: true,
    values: (-1.0, 1.0),
    aliases: &["spearmanr"],
    options: &[],
    formula: |f, params, dim| correlation(f, params, dim, "{}"),
    // After ranking, rows are numbers like any others: formula and kernels are those of `pearson`.
    prepare: Some(rank),
    reference: coefficient,
    symmetric: true,
    domain: RowValues::Real,
    scale: ScaleOption::Fixed(1.0),
    range: (1.0, 100.0),
};
