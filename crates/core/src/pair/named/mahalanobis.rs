//! Mahalanobis distance: √((x − y)ᵀ VI (x − y)), VI row by row, or the inverse of the covariance of
//! all rows (SciPy).
//!
//! A quadratic form costs d² operations per pair. `prepare` whitens the rows in double precision
//! once, in d² operations per row, and the distance of a pair becomes Euclidean, with d operations
//! and all kernels of that form. An indefinite VI leaves a sign for each component in the option
//! `signs`; its value may be the root of a negative number, NaN, as in SciPy.

use super::{Named, RowValues, ScaleOption, component, text};
use crate::pair::prepare::whiten;

/// `mahalanobis`. The reference is evaluated on whitened rows, like the formula: what `prepare`
/// does is tested on its own, against SciPy.
pub(super) const MAHALANOBIS: Named = Named {
    name: "mahalanobis",
    about: "√((x − y)ᵀ VI (x − y)), VI the inverse of the covariance of all rows unless given",
    similarity: false,
    values: (0.0, f64::INFINITY),
    aliases: &["mahal", "mah"],
    options: &["VI"],
    formula: |f, params, dim| match params.contains_key("signs") {
        true => text(f, "sqrt(sum(signs * (x - y)^2))", params, dim),
        false => text(f, "sqrt(sum((x - y)^2))", params, dim),
    },
    prepare: Some(whiten),
    reference: |x, y, params| {
        let square = |k: usize| component(params, "signs", k, 1.0) * (x[k] - y[k]).powi(2);
        (0..x.len()).map(square).sum::<f64>().sqrt()
    },
    symmetric: true,
    domain: RowValues::Real,
    scale: ScaleOption::Relative,
    range: (-10.0, 10.0),
};
