//! Correlation distance: 1 − Pearson's correlation of the components of x with those of y,
//! optionally weighted (SciPy).
//!
//! Rows are centred and brought to length 1, which is hoisted, so that a pair is an inner product:
//! the correlation is the cosine of centred rows. A constant row has no direction and gives NaN. To
//! be recognised it must be centred to exact zeros, although its rounded mean may differ from its
//! components; the formula therefore compares the largest with the smallest component.

use super::{Named, Params, Result, RowValues, ScaleOption, cosine, option, weighted};
use crate::pair::tree::{Formula, Id};

/// Returns the text of row `r` less its mean; zeros if all components are equal.
///
/// The row is scaled first, as for the cosine: its mean must not overflow.
fn centred(r: &str) -> String {
    let r = cosine::scaled(r);
    format!("if(max({r}) == min({r}), 0 * {r}, {r} - mean({r}))")
}

/// Returns the text of row `r` less its weighted mean, times the root of the weights: the inner
/// product of two such rows is the weighted sum of products. Zeros if all components with a weight
/// are equal.
fn centred_weighted(r: &str) -> String {
    let r = cosine::scaled(r);
    // Components of weight 0 are ±∞ here, so they are neither the largest nor the smallest.
    let equal = format!("max(if(w > 0, {r}, -inf)) == min(if(w > 0, {r}, inf))");
    format!("if({equal}, 0 * {r}, sqrt(w) * ({r} - sum(w * {r}) / sum(w)))")
}

/// Appends `shape`, in which `{}` marks the correlation of x and y.
///
/// `correlation`, `pearson` and `spearman` share it, so the values of all three come from one text.
pub(super) fn correlation(
    formula: &mut Formula,
    params: &Params,
    dim: Option<usize>,
    shape: &str,
) -> Result<Id> {
    let plain = cosine::similarity(&centred("x"), &centred("y"), dim);
    let with_w = cosine::similarity(&centred_weighted("x"), &centred_weighted("y"), dim);
    weighted(
        formula,
        params,
        dim,
        &shape.replace("{}", &plain),
        &shape.replace("{}", &with_w),
    )
}

/// Computes the correlation by its definition, for reference evaluations.
pub(super) fn coefficient(x: &[f64], y: &[f64], params: &Params) -> f64 {
    let weight = |k: usize| super::component(params, "w", k, 1.0);
    let total: f64 = (0..x.len()).map(weight).sum();
    let mean = |r: &[f64]| (0..r.len()).map(|k| weight(k) * r[k]).sum::<f64>() / total;
    let (mx, my) = (mean(x), mean(y));
    // Constant rows become exact zeros, whose cosine is 0/0, NaN: the definition has no value
    // there.
    let less = |r: &[f64], m: f64| {
        let counts: Vec<f64> = (0..r.len())
            .filter(|k| weight(*k) > 0.0)
            .map(|k| r[k])
            .collect();
        let constant = counts.windows(2).all(|w| w[0] == w[1]);
        r.iter()
            .map(|v| if constant { 0.0 } else { v - m })
            .collect::<Vec<f64>>()
    };
    cosine::coefficient(&less(x, mx), &less(y, my), params)
}

/// `correlation`; the option `centered = 0` makes it the cosine distance, as in SciPy.
pub(super) const CORRELATION: Named = Named {
    name: "correlation",
    about: "1 − Pearson's correlation of the components",
    similarity: false,
    values: (0.0, 2.0),
    aliases: &["co"],
    options: &["w", "centered"],
    formula: |f, params, dim| match super::number(params, "centered", 1.0)? {
        0.0 => (cosine::COSINE.formula)(f, params, dim),
        _ => correlation(f, params, dim, "1 - {}"),
    },
    prepare: None,
    reference: |x, y, params| match option(params, "centered", 1.0) {
        0.0 => 1.0 - cosine::coefficient(x, y, params),
        _ => 1.0 - coefficient(x, y, params),
    },
    symmetric: true,
    domain: RowValues::Real,
    // 1 − r of nearly equal rows cancels, so the error is measured against 1.
    scale: ScaleOption::Fixed(1.0),
    range: (-10.0, 10.0),
};
