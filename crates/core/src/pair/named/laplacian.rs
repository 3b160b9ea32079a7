//! Laplacian kernel: exp(−γ Σ |xₖ − yₖ|), γ = 1/d unless given (scikit-learn).
//!
//! The L1 sum has a kernel of its own, and the exponential comes after it, once per pair. The
//! kernel of a row with itself is exactly 1, since the sum is exactly 0.

use super::{Named, RowValues, ScaleOption, option, text};

/// `laplacian`. The formula divides 1 by `dim`, which is a constant of the run and folds away.
pub(super) const LAPLACIAN: Named = Named {
    name: "laplacian",
    about: "exp(−γ Σ |xₖ − yₖ|), γ = 1/d unless given",
    similarity: true,
    values: (0.0, 1.0),
    aliases: &["laplacian_kernel"],
    options: &["gamma"],
    formula: |f, params, dim| {
        let gamma = if params.contains_key("gamma") {
            "gamma"
        } else {
            "(1 / dim)"
        };
        text(f, &format!("exp(-{gamma} * sum(abs(x - y)))"), params, dim)
    },
    prepare: None,
    reference: |x, y, params| {
        // 1/d is taken from the row itself, as the formula takes it from `dim`.
        let gaps: f64 = x.iter().zip(y).map(|(a, b)| (a - b).abs()).sum();
        (-option(params, "gamma", 1.0 / x.len() as f64) * gaps).exp()
    },
    symmetric: true,
    domain: RowValues::Real,
    scale: ScaleOption::Fixed(1.0),
    // Small, because the exponential of a large sum is 0 in every precision.
    range: (-2.0, 2.0),
};
