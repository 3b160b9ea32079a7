//! Dissimilarity of Bray and Curtis (1957): Σ |xₖ − yₖ| / Σ |xₖ + yₖ|, optionally weighted (SciPy).
//! For rows of counts it is the share of what the two do not have in common. Two zero rows give
//! 0/0, NaN.

use super::{Named, RowValues, ScaleOption, weighted, weighted_sum};

/// `braycurtis`.
///
/// The domain is non-negative rows, as counts of species: with mixed signs the denominator may
/// vanish for rows that are not zero, and the value has no upper limit. Each sum is one loop over
/// components with a kernel for the first (L1); the second is a sum of |x + y|, which runs as
/// generated code.
pub(super) const BRAYCURTIS: Named = Named {
    name: "braycurtis",
    about: "Σ |xₖ − yₖ| / Σ |xₖ + yₖ|",
    similarity: false,
    values: (0.0, f64::INFINITY),
    aliases: &[],
    options: &["w"],
    formula: |f, params, dim| {
        let (plain, with_w) = (
            "sum(abs(x - y)) / sum(abs(x + y))",
            "sum(w * abs(x - y)) / sum(w * abs(x + y))",
        );
        weighted(f, params, dim, plain, with_w)
    },
    prepare: None,
    reference: |x, y, params| {
        let far = weighted_sum(x, y, params, |a, b| (a - b).abs());
        far / weighted_sum(x, y, params, |a, b| (a + b).abs())
    },
    symmetric: true,
    domain: RowValues::NonNegative,
    scale: ScaleOption::Relative,
    range: (0.0, 10.0),
};
