//! Sigmoid kernel: tanh(γ Σ xₖyₖ + c₀), γ = 1/d and c₀ = 1 unless given (scikit-learn). It is not
//! positive definite for all options; nothing here depends on that.

use super::{Named, RowValues, ScaleOption, option, text};

/// `sigmoid`.
pub(super) const SIGMOID: Named = Named {
    name: "sigmoid",
    about: "tanh(γ Σ xₖyₖ + c₀), γ = 1/d, c₀ = 1 unless given",
    similarity: true,
    values: (-1.0, 1.0),
    aliases: &["sigmoid_kernel"],
    options: &["gamma", "coef0"],
    formula: |f, params, dim| {
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
    range: (-1.0, 1.0),
};
