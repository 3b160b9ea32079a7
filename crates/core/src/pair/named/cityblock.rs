//! Manhattan distance: Σ |xₖ − yₖ|, optionally weighted.
//!
//! With weights the formula is Σ w·|x − y|, which has no kernel of its own; without them the kernel
//! for L1 applies. Bounds are exact: the sum of magnitudes rises with each of them.

use super::{Named, RowValues, ScaleOption, weighted, weighted_sum};

/// `cityblock`, also `manhattan`, `l1`.
pub(super) const CITYBLOCK: Named = Named {
    name: "cityblock",
    about: "Σ |xₖ − yₖ|",
    similarity: false,
    values: (0.0, f64::INFINITY),
    aliases: &["manhattan", "l1", "cblock", "cb", "c"],
    options: &["w"],
    formula: |f, params, dim| weighted(f, params, dim, "sum(abs(x - y))", "sum(w * abs(x - y))"),
    prepare: None,
    reference: |x, y, params| weighted_sum(x, y, params, |a, b| (a - b).abs()),
    symmetric: true,
    domain: RowValues::Real,
    scale: ScaleOption::Relative,
    range: (-10.0, 10.0),
};
