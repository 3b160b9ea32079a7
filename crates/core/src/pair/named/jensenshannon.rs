//! Distance of two distributions of Jensen and Shannon (Lin 1991): √(½ Σ pₖ ln(pₖ/mₖ) + ½ Σ qₖ
//! ln(qₖ/mₖ)), p = x / Σx, q = y / Σy, m = (p + q)/2, optionally with logarithms to `base` (SciPy).
//! As in SciPy's `cdist`, a zero row or a negative component is at ∞.
//!
//! pₖ/mₖ is taken as 1 + (pₖ − qₖ)/(pₖ + qₖ), which keeps the digits of close distributions. The
//! sum is then clamped at 0: its terms have both signs, and rounding could leave a negative number
//! under the root.

use super::{Named, RowValues, ScaleOption, option, text};
use crate::error::Error;
use crate::opt::Opt;

/// Returns the text of the sum of row `r`, 0 if a component is negative.
///
/// A negative component then takes the same way as a zero row.
fn total(r: &str) -> String {
    format!("if(any({r} < 0), 0, sum({r}))")
}

/// Returns the text of the distance; the infinite case is decided by hoisted sums.
fn formula(base: Option<&str>) -> String {
    let (sx, sy) = (total("x"), total("y"));
    let (p, q) = (format!("(x / {sx})"), format!("(y / {sy})"));
    // 0 · ln 0 is NaN and its limit is 0, hence the condition.
    let term =
        |p: &str, q: &str| format!("if({p} == 0, 0, {p} * log1p(({p} - {q}) / ({p} + {q})))");
    let sum = format!("sum({} + {})", term(&p, &q), term(&q, &p));
    // The half of the definition and the base are one divisor, which depends on no row.
    let twice = base.map_or("2".into(), |base| format!("(2 * log({base}))"));
    format!("sqrt(if(min({sx}, {sy}) == 0, inf, max({sum}, 0) / {twice}))")
}

/// Computes twice the divergence by its definition, for reference evaluations.
fn reference(x: &[f64], y: &[f64]) -> f64 {
    let (sx, sy) = (x.iter().sum::<f64>(), y.iter().sum::<f64>());
    if sx == 0.0 || sy == 0.0 || x.iter().chain(y).any(|v| *v < 0.0) {
        return f64::INFINITY;
    }
    let term = |p: f64, m: f64| if p > 0.0 { p * (p / m).ln() } else { 0.0 };
    let pair = |(a, b): (&f64, &f64)| {
        let (p, q) = (a / sx, b / sy);
        term(p, (p + q) / 2.0) + term(q, (p + q) / 2.0)
    };
    x.iter().zip(y).map(pair).sum::<f64>().max(0.0)
}

/// `jensenshannon`. It is the root of the divergence, which makes it a metric (Endres and
/// Schindelin 2003). The default base is e; with base 2 values are in [0, 1].
pub(super) const JENSENSHANNON: Named = Named {
    name: "jensenshannon",
    about: "√(½ Σ pₖ ln(pₖ/mₖ) + ½ Σ qₖ ln(qₖ/mₖ)), p = x / Σx, q = y / Σy, m = (p + q) / 2",
    similarity: false,
    values: (0.0, f64::INFINITY),
    aliases: &["js"],
    options: &["base"],
    formula: |f, params, dim| match params.contains_key("base") {
        // ln 1 is 0, and a smaller base turns the sign of the root.
        true if super::number(params, "base", 2.0)? <= 1.0 => {
            Err(Error::request("the base of a logarithm")
                .at_place(Opt::Param)
                .limit("more than 1"))
        }
        true => text(f, &formula(Some("base")), params, dim),
        false => text(f, &formula(None), params, dim),
    },
    prepare: None,
    reference: |x, y, params| {
        (reference(x, y) / option(params, "base", std::f64::consts::E).ln() / 2.0).sqrt()
    },
    symmetric: true,
    domain: RowValues::NonNegative,
    scale: ScaleOption::Fixed(1.0),
    range: (0.0, 10.0),
};
