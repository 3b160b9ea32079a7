//! Gaussian kernel (radial basis function): exp(−γ Σ (xₖ − yₖ)²), γ = 1/d unless given
//! (scikit-learn).
//!
//! The exponent is always a sum of squares of differences, never |x|² + |y|² − 2x·y, so that the
//! kernel of a row with itself is exactly 1.

use super::{Named, RowValues, ScaleOption, option, text};

/// `rbf`, which SciPy's and scikit-learn's users also know as the Gaussian kernel. γ is 1/(2σ²) of
/// a normal density.
pub(super) const RBF: Named = Named {
    name: "rbf",
    about: "exp(−γ Σ (xₖ − yₖ)²), γ = 1/d unless given",
    similarity: true,
    values: (0.0, 1.0),
    aliases: &["rbf_kernel", "gaussian"],
    options: &["gamma"],
    formula: |f, params, dim| {
        let gamma = if params.contains_key("gamma") {
            "gamma"
        } else {
            "(1 / dim)"
        };
        text(f, &format!("exp(-{gamma} * sum((x - y)^2))"), params, dim)
    },
    prepare: None,
    reference: |x, y, params| {
        let squares: f64 = x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum();
        (-option(params, "gamma", 1.0 / x.len() as f64) * squares).exp()
    },
    symmetric: true,
    domain: RowValues::Real,
    scale: ScaleOption::Fixed(1.0),
    range: (-2.0, 2.0),
};
