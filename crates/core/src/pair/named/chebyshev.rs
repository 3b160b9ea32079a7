//! Chebyshev distance: max |xₖ − yₖ| over the components of positive weight (SciPy).
//!
//! Weights only say which components take part. The formula replaces the others by 0 in both rows,
//! so that their difference is 0 and never the largest; the rows are then hoisted and the kernel
//! for the maximum applies.

use super::{Named, RowValues, ScaleOption, component, text, weighted};
use crate::number;

/// `chebyshev`, also `linf`, `infinity`.
///
/// Neighbours and joins of rows with few components have trees for it, since it is a norm of
/// differences.
pub(super) const CHEBYSHEV: Named = Named {
    name: "chebyshev",
    about: "max |xₖ − yₖ|",
    similarity: false,
    values: (0.0, f64::INFINITY),
    aliases: &["chebychev", "cheby", "cheb", "ch", "linf", "infinity"],
    options: &["w"],
    formula: |f, params, dim| {
        let (plain, with_w) = (
            "max(abs(x - y))",
            "max(abs(if(w > 0, x, 0) - if(w > 0, y, 0)))",
        );
        match dim {
            // The largest of no differences is 0 here, not −∞.
            Some(0) => text(f, &format!("max({plain}, 0)"), params, dim),
            _ => weighted(f, params, dim, plain, with_w),
        }
    },
    prepare: None,
    // Filtered, where the formula replaces by 0: two ways to say the same.
    reference: |x, y, params| {
        let used = |k: &usize| component(params, "w", *k, 1.0) > 0.0;
        (0..x.len())
            .filter(used)
            .fold(0.0, |far, k| number::max((x[k] - y[k]).abs(), far))
    },
    symmetric: true,
    domain: RowValues::Real,
    scale: ScaleOption::Relative,
    range: (-10.0, 10.0),
};
