//! Standardised Euclidean distance: √Σ (xₖ − yₖ)² / Vₖ (SciPy). V are the variances of the columns
//! over all rows, divided by n − 1, unless given; `prepare` computes them, since a formula sees two
//! rows only. The formula multiplies by 1/V, which depends on no row and is computed once.

use super::{Named, RowValues, ScaleOption, component, text, vector};
use crate::error::Error;
use crate::opt::Opt;
use crate::pair::prepare::variances;

/// `seuclidean`. A column of equal components has the variance 0 and gives 0 · ∞, NaN, as in SciPy.
pub(super) const SEUCLIDEAN: Named = Named {
    name: "seuclidean",
    about: "√Σ (xₖ − yₖ)² / Vₖ, V the variances of the columns of all rows unless given",
    similarity: false,
    values: (0.0, f64::INFINITY),
    aliases: &["se", "s"],
    options: &["V"],
    formula: |f, params, dim| match vector(params, "V", dim)? {
        // The reciprocal is a vector of constants: a product for each component and pair instead of
        // a division.
        Some(_) => text(f, "sqrt(sum(1 / V * (x - y)^2))", params, dim),
        // Only where a formula is written without tables: `prepare` has completed the option
        // otherwise.
        None => Err(Error::request("'seuclidean' without variances")
            .at_place(Opt::Metric)
            .remedy(Opt::Param.like("V=@V.npy"))),
    },
    prepare: Some(variances),
    reference: |x, y, params| {
        let square = |k: usize| (x[k] - y[k]).powi(2) / component(params, "V", k, f64::NAN);
        (0..x.len()).map(square).sum::<f64>().sqrt()
    },
    symmetric: true,
    domain: RowValues::Real,
    scale: ScaleOption::Relative,
    range: (-10.0, 10.0),
};
