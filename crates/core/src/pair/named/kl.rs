//! Divergence of distribution p = x / Σx from q = y / Σy (Kullback and Leibler 1951): Σ pₖ
//! ln(pₖ/qₖ), optionally to `base` (SciPy's `scipy.stats.entropy(x, y)`). It is not symmetric, and
//! ∞ if q is 0 where p is not. The formula takes ln p − ln q and not ln(p/q): both logarithms
//! depend on one row and are hoisted, so a pair costs no logarithm.

use super::{Named, RowValues, ScaleOption, option, text};

/// `kl`, also `kullback_leibler`, `relative_entropy`. A component where p is 0 adds nothing,
/// because p ln p goes to 0 with p; the formula says so with a condition, since 0 · ln 0 is NaN.
pub(super) const KL: Named = Named {
    name: "kl",
    about: "Σ pₖ ln(pₖ/qₖ), p = x / Σx, q = y / Σy",
    similarity: false,
    values: (0.0, f64::INFINITY),
    aliases: &[
        "kullback_leibler",
        "kullback-leibler",
        "relative_entropy",
        "entropy",
    ],
    options: &["base"],
    formula: |f, params, dim| {
        let (p, q) = ("(x / sum(x))", "(y / sum(y))");
        // p appears as a factor, so a pair costs a product and a difference per component.
        let sum = format!("sum(if({p} == 0, 0, {p} * (log({p}) - log({q}))))");
        // After the sum: one division for each pair, not one for each component.
        let base = if params.contains_key("base") {
            " / log(base)"
        } else {
            ""
        };
        text(f, &format!("{sum}{base}"), params, dim)
    },
    prepare: None,
    reference: |x, y, params| {
        let (sx, sy) = (x.iter().sum::<f64>(), y.iter().sum::<f64>());
        let term = |p: f64, q: f64| if p == 0.0 { 0.0 } else { p * (p / q).ln() };
        let sum: f64 = x.iter().zip(y).map(|(a, b)| term(a / sx, b / sy)).sum();
        sum / option(params, "base", std::f64::consts::E).ln()
    },
    // Half of the pairs would not represent all of them.
    symmetric: false,
    domain: RowValues::NonNegative,
    scale: ScaleOption::Fixed(1.0),
    range: (0.0, 10.0),
};
