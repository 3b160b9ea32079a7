//! Hamming distance: the share of components that differ, optionally weighted (SciPy). SciPy
//! divides by the number of components (or the sum of weights); the count itself is `count(x !=
//! y)`.

use super::{Named, RowValues, ScaleOption, weighted, weighted_sum};

/// `hamming`, also `matching`. Any numbers are compared for equality, so it serves rows of codes as
/// well as booleans. Rows of truth values are packed to bits by the dense kernels.
pub(super) const HAMMING: Named = Named {
    name: "hamming",
    about: "the share of components that differ",
    similarity: false,
    values: (0.0, 1.0),
    aliases: &["matching", "hamm", "ha", "h"],
    options: &["w"],
    formula: |f, params, dim| {
        weighted(
            f,
            params,
            dim,
            // The count is exact and divided once, so equal shares are equal numbers.
            "count(x != y) / dim",
            "sum(w * (x != y)) / sum(w)",
        )
    },
    prepare: None,
    reference: |x, y, params| {
        let differ = weighted_sum(x, y, params, |a, b| f64::from(u8::from(a != b)));
        differ / weighted_sum(x, y, params, |_, _| 1.0)
    },
    symmetric: true,
    domain: RowValues::Real,
    scale: ScaleOption::Relative,
    range: (0.0, 1.0),
};
