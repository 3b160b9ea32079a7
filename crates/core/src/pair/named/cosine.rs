//! The cosine of the angle between two rows, as a distance (1 − cosine, SciPy, optionally weighted)
//! and as a similarity (scikit-learn).
//!
//! Rows are brought to length 1, which is hoisted: it happens once per row, and a pair costs an
//! inner product. That is the form of a matrix product, which kernels compute fastest. The price is
//! rounding: the norms are applied before the product and not after it. The formula makes up for it
//! in two ways. Values are clamped to [−1, 1], and equal rows give exactly 1.

use super::{Named, Params, RowValues, ScaleOption, text, weighted, weighted_sum};

/// Returns the text of the cosine of rows `a` of x and `b` of y, within [−1, 1]; NaN for a zero row
/// and for rows without components.
///
/// Equal rows give 1 in bits: their inner product has the bits of that of each with itself, which
/// [`inner`] tests. By the inequality of Cauchy and Schwarz only parallel rows come so near to it.
pub(super) fn similarity(a: &str, b: &str, dim: Option<usize>) -> String {
    if dim == Some(0) {
        return format!("sum({a} * {b}) / (norm({a}) * norm({b}))");
    }
    let (a, b) = (scaled(a), scaled(b));
    let (u, v) = (format!("({a} / norm({a}))"), format!("({b} / norm({b}))"));
    inner(&u, &v, "1")
}

/// Returns the text of row `r`, times a power of two if squares of its components would overflow or
/// underflow. A power of two is exact, and the cosine does not depend on the length.
pub(super) fn scaled(r: &str) -> String {
    let size = format!("max(abs({r}))");
    format!("({r} * if({size} > 2^500, 2^-600, if({size} < 2^-500, 2^600, 1)))")
}

/// Returns the text of the inner product of rows `u` of x and `v` of y of length 1, within [−1, 1];
/// `same` for equal rows.
///
/// The planner recognises this choice as one step of a chain (`pair/pattern.rs`), so it costs no
/// kernel its speed.
fn inner(u: &str, v: &str, same: &str) -> String {
    let dot = format!("sum({u} * {v})");
    format!(
        "if({dot} == sum({u} * {u}) and {dot} == sum({v} * {v}), {same}, max(min({dot}, 1), -1))"
    )
}

/// Computes the cosine by its definition, for reference evaluations.
pub(super) fn coefficient(x: &[f64], y: &[f64], params: &Params) -> f64 {
    let dot = |a: &[f64], b: &[f64]| weighted_sum(a, b, params, |u, v| u * v);
    (dot(x, y) / (dot(x, x).sqrt() * dot(y, y).sqrt())).clamp(-1.0, 1.0)
}

/// `cosine`: 1 − Σ xₖyₖ / (|x| |y|). A zero row gives NaN, as in SciPy. The error is measured
/// against 1, not against the value: 1 − cos of near rows cancels, and has an absolute error of a
/// few ulps of 1.
pub(super) const COSINE: Named = Named {
    name: "cosine",
    about: "1 − cosine of the angle between the rows",
    similarity: false,
    values: (0.0, 2.0),
    aliases: &["cos"],
    options: &["w"],
    formula: |f, params, dim| {
        let with_w = format!("1 - {}", similarity("(sqrt(w) * x)", "(sqrt(w) * y)", dim));
        weighted(
            f,
            params,
            dim,
            &format!("1 - {}", similarity("x", "y", dim)),
            &with_w,
        )
    },
    prepare: None,
    reference: |x, y, params| 1.0 - coefficient(x, y, params),
    symmetric: true,
    domain: RowValues::Real,
    scale: ScaleOption::Fixed(1.0),
    range: (-10.0, 10.0),
};

/// `cosine_similarity`: Σ xₖyₖ / (|x| |y|), 0 if a row is zero, as in scikit-learn. A zero row is
/// divided by 1 instead of its norm and stays zero, so no NaN arises.
pub(super) const COSINE_SIMILARITY: Named = Named {
    name: "cosine_similarity",
    about: "cosine of the angle between the rows",
    similarity: true,
    values: (-1.0, 1.0),
    aliases: &["cosine_kernel"],
    options: &[],
    formula: |f, params, dim| {
        let unit = |r: &str| format!("{0} / if(norm({0}) == 0, 1, norm({0}))", scaled(r));
        let (u, v) = (format!("({})", unit("x")), format!("({})", unit("y")));
        text(
            f,
            &inner(&u, &v, &format!("if(sum({u} * {v}) == 0, 0, 1)")),
            params,
            dim,
        )
    },
    reference: |x, y, params| {
        let zero = |r: &[f64]| r.iter().all(|v| *v == 0.0);
        if zero(x) || zero(y) {
            0.0
        } else {
            coefficient(x, y, params)
        }
    },
    ..COSINE
};
