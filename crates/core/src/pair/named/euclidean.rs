//! Euclidean distance and its square: √Σ (xₖ − yₖ)², optionally weighted, always by differences.

use super::{Domain, Named, Params, Scale, text, vector};

fn squares(x: &[f64], y: &[f64], params: &Params) -> f64 {
    let w = vector(params, "w", Some(x.len())).ok().flatten();
    (0..x.len()).map(|k| w.as_ref().map_or(1.0, |w| w[k]) * (x[k] - y[k]).powi(2)).sum()
}

/// `euclidean`, also `l2`.
pub const EUCLIDEAN: Named = Named {
    name: "euclidean",
    aliases: &["l2", "euclid", "eu", "e"],
    options: &["w"],
    formula: |f, params, dim| match vector(params, "w", dim)? {
        Some(_) => text(f, "sqrt(sum(w * (x - y)^2))", params, dim),
        None => text(f, "sqrt(sum((x - y)^2))", params, dim),
    },
    prepare: None,
    reference: |x, y, params| squares(x, y, params).sqrt(),
    flops: 3,
    symmetric: true,
    domain: Domain::Real,
    scale: Scale::Relative,
    range: (-10.0, 10.0),
};

/// `sqeuclidean`.
pub const SQEUCLIDEAN: Named = Named {
    name: "sqeuclidean",
    aliases: &["sqe", "sqeuclid"],
    formula: |f, params, dim| match vector(params, "w", dim)? {
        Some(_) => text(f, "sum(w * (x - y)^2)", params, dim),
        None => text(f, "sum((x - y)^2)", params, dim),
    },
    reference: squares,
    ..EUCLIDEAN
};
