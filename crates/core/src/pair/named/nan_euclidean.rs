//! Euclidean distance of rows with missing components (NaN): √(d / present · Σ (xₖ − yₖ)²) over the
//! components present in both rows (scikit-learn). The factor makes up for the missing part, so
//! that rows with gaps are not nearer than whole ones. The value is NaN if no component is present
//! in both.

use super::{Named, RowValues, ScaleOption, text};

/// `nan_euclidean`. Its domain is rows with missing values, so NaN in the input is not a reason to
/// refuse the question; a pair without a common component is NaN and follows the policy.
pub(super) const NAN_EUCLIDEAN: Named = Named {
    name: "nan_euclidean",
    about: "√(d / present · Σ (xₖ − yₖ)²) over the components present in both rows",
    similarity: false,
    values: (0.0, f64::INFINITY),
    aliases: &["nan_euclidean_distances"],
    options: &[],
    formula: |f, params, dim| {
        // A difference is NaN if either row lacks the component: one test for both.
        let sum = "sum(if(isnan(x - y), 0, (x - y)^2))";
        text(
            f,
            // Without a common component this is 0/0, NaN.
            &format!("sqrt({sum} * dim / count(not isnan(x - y)))"),
            params,
            dim,
        )
    },
    prepare: None,
    reference: |x, y, _| {
        let both: Vec<f64> = x
            .iter()
            .zip(y)
            .map(|(a, b)| a - b)
            .filter(|gap| !gap.is_nan())
            .collect();
        let squares: f64 = both.iter().map(|gap| gap.powi(2)).sum();
        (squares * x.len() as f64 / both.len() as f64).sqrt()
    },
    symmetric: true,
    domain: RowValues::Missing,
    scale: ScaleOption::Relative,
    range: (-10.0, 10.0),
};
