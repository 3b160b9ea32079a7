//! Canberra distance (Lance and Williams 1967): Σ |xₖ − yₖ| / (|xₖ| + |yₖ|), optionally weighted
//! (SciPy). Each component counts at most 1; one that is 0 in both rows counts 0.

use super::{Named, RowValues, ScaleOption, weighted, weighted_sum};

/// `canberra`.
///
/// The condition is per component, so the formula is a select inside the sum, with a division per
/// component: the most expensive of the plain distances. Components near 0 in both rows weigh as
/// much as large ones, which is what the distance is for.
pub(super) const CANBERRA: Named = Named {
    name: "canberra",
    about: "Σ |xₖ − yₖ| / (|xₖ| + |yₖ|)",
    similarity: false,
    values: (0.0, f64::INFINITY),
    aliases: &[],
    options: &["w"],
    formula: |f, params, dim| {
        // The condition first: 0/0 would be NaN, and one such component would make the whole sum
        // NaN.
        let term = "if(abs(x) + abs(y) == 0, 0, abs(x - y) / (abs(x) + abs(y)))";
        weighted(
            f,
            params,
            dim,
            &format!("sum({term})"),
            &format!("sum(w * {term})"),
        )
    },
    prepare: None,
    reference: |x, y, params| {
        let term = |a: f64, b: f64| {
            if a == 0.0 && b == 0.0 {
                0.0
            } else {
                (a - b).abs() / (a.abs() + b.abs())
            }
        };
        weighted_sum(x, y, params, term)
    },
    symmetric: true,
    domain: RowValues::Real,
    scale: ScaleOption::Relative,
    // Both signs: a component of opposite signs counts exactly 1.
    range: (-10.0, 10.0),
};
