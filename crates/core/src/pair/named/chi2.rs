//! The χ² kernels of histograms: −Σ (xₖ − yₖ)² / (xₖ + yₖ), and the exponential of γ times it
//! (scikit-learn). Components that are 0 in both rows add nothing, instead of 0/0.

use super::{Named, Params, RowValues, ScaleOption, option, text};

/// The term of one component. The square makes the sign of the denominator decide, hence rows from
/// 0 on.
const TERM: &str = "if(x + y == 0, 0, (x - y)^2 / (x + y))";

/// Computes the sum by its definition, for reference evaluations.
///
/// The options are not read: γ belongs to the exponential.
fn additive(x: &[f64], y: &[f64], _: &Params) -> f64 {
    let term = |k: usize| {
        if x[k] + y[k] == 0.0 {
            0.0
        } else {
            (x[k] - y[k]).powi(2) / (x[k] + y[k])
        }
    };
    -(0..x.len()).map(term).sum::<f64>()
}

/// `additive_chi2`: −Σ (xₖ − yₖ)² / (xₖ + yₖ). It is a similarity because it is negative: 0 for
/// equal rows.
pub(super) const ADDITIVE_CHI2: Named = Named {
    name: "additive_chi2",
    about: "−Σ (xₖ − yₖ)² / (xₖ + yₖ)",
    similarity: true,
    values: (f64::NEG_INFINITY, 0.0),
    aliases: &["additive_chi2_kernel"],
    options: &[],
    formula: |f, params, dim| text(f, &format!("-sum({TERM})"), params, dim),
    prepare: None,
    reference: additive,
    symmetric: true,
    domain: RowValues::NonNegative,
    scale: ScaleOption::Relative,
    range: (0.0, 10.0),
};

/// `chi2`: exp(−γ Σ (xₖ − yₖ)² / (xₖ + yₖ)), γ = 1 unless given. Its range for tests is small,
/// since the exponential of a large sum is 0 in every precision.
pub(super) const CHI2: Named = Named {
    name: "chi2",
    about: "exp(−γ Σ (xₖ − yₖ)² / (xₖ + yₖ)), γ = 1 unless given",
    similarity: true,
    values: (0.0, 1.0),
    aliases: &["chi2_kernel"],
    options: &["gamma"],
    formula: |f, params, dim| {
        // A missing option is written as the number, which folds into the formula.
        let gamma = if params.contains_key("gamma") {
            "gamma"
        } else {
            "1"
        };
        text(f, &format!("exp(-{gamma} * sum({TERM}))"), params, dim)
    },
    // `additive` is negative already.
    reference: |x, y, params| (option(params, "gamma", 1.0) * additive(x, y, params)).exp(),
    scale: ScaleOption::Fixed(1.0),
    range: (0.0, 2.0),
    ..ADDITIVE_CHI2
};
