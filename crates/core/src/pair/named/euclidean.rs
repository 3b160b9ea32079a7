//! Euclidean distance and its square: √Σ (xₖ − yₖ)², optionally weighted.
//!
//! It is always computed by differences. The expansion |x|² + |y|² − 2 x·y, which makes a matrix
//! product of it, cancels for near rows: equal rows can then be at a distance of √ε, some 10⁻⁸ of
//! their length.

use super::{Named, Params, RowValues, ScaleOption, weighted, weighted_sum};

/// Computes the weighted sum of squared differences, for reference evaluations.
fn squares(x: &[f64], y: &[f64], params: &Params) -> f64 {
    weighted_sum(x, y, params, |a, b| (a - b).powi(2))
}

/// `euclidean`, also `l2`. Folds that only need the order of values drop the root and work on
/// squares ([`Formula::square_under`](crate::pair::tree::Formula::square_under)).
pub(super) const EUCLIDEAN: Named = Named {
    name: "euclidean",
    about: "√Σ (xₖ − yₖ)²",
    similarity: false,
    values: (0.0, f64::INFINITY),
    aliases: &["l2", "euclid", "eu", "e"],
    options: &["w"],
    formula: |f, params, dim| {
        weighted(
            f,
            params,
            dim,
            // The text that users write, too, so both are one formula.
            "sqrt(sum((x - y)^2))",
            "sqrt(sum(w * (x - y)^2))",
        )
    },
    prepare: None,
    reference: |x, y, params| squares(x, y, params).sqrt(),
    symmetric: true,
    domain: RowValues::Real,
    scale: ScaleOption::Relative,
    range: (-10.0, 10.0),
};

/// `sqeuclidean`: the same without the root. It has the same neighbours and costs no root in a
/// matrix.
pub(super) const SQEUCLIDEAN: Named = Named {
    name: "sqeuclidean",
    about: "Σ (xₖ − yₖ)²",
    similarity: false,
    values: (0.0, f64::INFINITY),
    aliases: &["sqe", "sqeuclid"],
    formula: |f, params, dim| weighted(f, params, dim, "sum((x - y)^2)", "sum(w * (x - y)^2)"),
    reference: squares,
    ..EUCLIDEAN
};
