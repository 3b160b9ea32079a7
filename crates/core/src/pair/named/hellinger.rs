//! Hellinger distance (1909) of two distributions: √(½ Σ (√pₖ − √qₖ)²), p = x / Σx, q = y / Σy. The
//! roots depend on one row alone and are hoisted, so a pair costs what the Euclidean distance
//! costs. A zero row is not a distribution and gives NaN.

use super::{Named, RowValues, ScaleOption, text};

/// `hellinger`. Values are in [0, 1]: 0 for equal distributions, 1 for distributions without a
/// common component.
pub(super) const HELLINGER: Named = Named {
    name: "hellinger",
    about: "√(½ Σ (√pₖ − √qₖ)²), p = x / Σx, q = y / Σy",
    similarity: false,
    values: (0.0, 1.0),
    aliases: &[],
    options: &[],
    formula: |f, params, dim| {
        text(
            f,
            // A Euclidean distance of hoisted rows, so it has its kernels and bounds.
            "sqrt(sum((sqrt(x / sum(x)) - sqrt(y / sum(y)))^2) / 2)",
            params,
            dim,
        )
    },
    prepare: None,
    reference: |x, y, _| {
        let (sx, sy) = (x.iter().sum::<f64>(), y.iter().sum::<f64>());
        let squares = x
            .iter()
            .zip(y)
            .map(|(a, b)| ((a / sx).sqrt() - (b / sy).sqrt()).powi(2))
            .sum::<f64>();
        (squares / 2.0).sqrt()
    },
    symmetric: true,
    domain: RowValues::NonNegative,
    // Roots of close shares cancel in the difference, so the error is measured against 1.
    scale: ScaleOption::Fixed(1.0),
    range: (0.0, 10.0),
};
