//! Sigmoid kernel: tanh(γ Σ xₖyₖ + c₀), γ = 1/d and c₀ = 1 unless given (scikit-learn). It is not
//! positive definite for all options; nothing here depends on that.

use super::{Named, RowValues, ScaleOption, option, text};

/// `sigmoid`. An inner product and a function of it, so matrices run as matrix products with a step
/// at their end.
pub(super) const SIGMOID: Named = Named {
    name: "sigmoid",
    about: "tanh(γ Σ xₖyₖ + c₀), γ = 1/d, c₀ = 1 unless given",
    similarity: true,
    values: (-1.0, 1.0),
    aliases: &["sigmoid_kernel"],
    options: &["gamma", "coef0"],
    formula: |f, params, dim| {
        // 1/d keeps the argument of the same size for rows of any length; beyond ±20 tanh is ±1 in
        // f64.
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
        text(
            f,
            &format!("tanh({gamma} * sum(x * y) + {coef0})"),
            params,
            dim,
        )
    },
    prepare: None,
    reference: |x, y, params| {
        let dot: f64 = x.iter().zip(y).map(|(a, b)| a * b).sum();
        (option(params, "gamma", 1.0 / x.len() as f64) * dot + option(params, "coef0", 1.0)).tanh()
    },
    symmetric: true,
    domain: RowValues::Real,
    scale: ScaleOption::Fixed(1.0),
    // Larger rows would test the constant ends of tanh only.
    range: (-1.0, 1.0),
};
