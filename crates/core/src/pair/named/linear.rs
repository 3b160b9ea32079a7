//! Linear kernel: the inner product Σ xₖyₖ (scikit-learn). Its error is measured against the
//! product of the norms, since terms of both signs may cancel to a value of any size.

use super::{Named, RowValues, ScaleOption, text};

/// `linear`. Matrices of it are matrix products, which run at the speed of one.
///
/// It is a similarity, so neighbours are the rows with the largest products.
pub(super) const LINEAR: Named = Named {
    name: "linear",
    about: "Σ xₖyₖ, the inner product",
    similarity: true,
    values: (f64::NEG_INFINITY, f64::INFINITY),
    aliases: &["linear_kernel", "dot_product", "inner_product"],
    options: &[],
    formula: |f, params, dim| text(f, "sum(x * y)", params, dim),
    prepare: None,
    reference: |x, y, _| x.iter().zip(y).map(|(a, b)| a * b).sum(),
    symmetric: true,
    domain: RowValues::Real,
    scale: ScaleOption::Norms,
    range: (-10.0, 10.0),
};
