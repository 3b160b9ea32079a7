//! Polynomial kernel: (γ Σ xₖyₖ + c₀)^g, γ = 1/d, c₀ = 1, degree g = 3 unless given (scikit-learn).
//!
//! A whole degree up to 64 is computed by multiplication, so negative bases are allowed; another
//! degree of a negative base is NaN.

use super::{Named, RowValues, ScaleOption, option, text};

/// `polynomial`. Options that are not given are written into the text as numbers, so that they
/// fold.
pub(super) const POLYNOMIAL: Named = Named {
    name: "polynomial",
    about: "(γ Σ xₖyₖ + c₀)^g, γ = 1/d, c₀ = 1, g = 3 unless given",
    similarity: true,
    values: (f64::NEG_INFINITY, f64::INFINITY),
    aliases: &["poly", "polynomial_kernel"],
    options: &["gamma", "coef0", "degree"],
    formula: |f, params, dim| {
        // Names of given options stay names in the text: the parser binds them to their numbers.
        let gamma = if params.contains_key("gamma") {
            "gamma"
        } else {
            "(1 / dim)"
        };
        let coef0 = if params.contains_key("coef0") {
            "coef0"
        } else {
            "1"
        };
        let degree = if params.contains_key("degree") {
            "degree"
        } else {
            "3"
        };
        text(
            f,
            // One inner product and three operations per pair, so matrices run as matrix products.
            &format!("({gamma} * sum(x * y) + {coef0})^{degree}"),
            params,
            dim,
        )
    },
    prepare: None,
    reference: |x, y, params| {
        let dot: f64 = x.iter().zip(y).map(|(a, b)| a * b).sum();
        let inner =
            option(params, "gamma", 1.0 / x.len() as f64) * dot + option(params, "coef0", 1.0);
        inner.powf(option(params, "degree", 3.0))
    },
    symmetric: true,
    domain: RowValues::Real,
    // (γ·Σ + 1)³ is at most 2³ for rows in [−1, 1], where γ·Σ is at most 1.
    scale: ScaleOption::Fixed(8.0),
    range: (-1.0, 1.0),
};
