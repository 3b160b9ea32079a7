//! Manhattan distance: Σ |xₖ − yₖ|, optionally weighted.

use super::{Domain, Named, Scale, text, vector};

/// `cityblock`, also `manhattan`, `l1`.
pub const CITYBLOCK: Named = Named {
    name: "cityblock",
    aliases: &["manhattan", "l1", "cblock", "cb", "c"],
    options: &["w"],
    formula: |f, params, dim| match vector(params, "w", dim)? {
        Some(_) => text(f, "sum(w * abs(x - y))", params, dim),
        None => text(f, "sum(abs(x - y))", params, dim),
    },
    prepare: None,
    reference: |x, y, params| {
        let w = vector(params, "w", Some(x.len())).ok().flatten();
        (0..x.len()).map(|k| w.as_ref().map_or(1.0, |w| w[k]) * (x[k] - y[k]).abs()).sum()
    },
    flops: 3,
    symmetric: true,
    domain: Domain::Real,
    scale: Scale::Relative,
    range: (-10.0, 10.0),
};
