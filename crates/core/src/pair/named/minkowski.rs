//! Minkowski distance: (Σ wₖ |xₖ − yₖ|^p)^(1/p) for any p > 0, also ∞ (SciPy).
//!
//! p = 1, 2 and ∞ become the formulas of `cityblock`, `euclidean` and `chebyshev`: those have no
//! powers, and kernels and bounds of their own. A p below 1 is not a metric in the mathematical
//! sense and is allowed, as in SciPy.

use super::{
    Named, RowValues, ScaleOption, chebyshev, cityblock, euclidean, number, option, weighted,
    weighted_sum, with,
};
use crate::error::Error;
use crate::opt::Opt;
use crate::pair::parse::Param;

/// `minkowski`; p = 2 unless given. Formulas of known p are those of other metrics, so they run as
/// fast and give the same bits; others take two powers per value, one of them per component.
pub(super) const MINKOWSKI: Named = Named {
    name: "minkowski",
    about: "(Σ wₖ |xₖ − yₖ|^p)^(1/p), p = 2 unless given",
    similarity: false,
    values: (0.0, f64::INFINITY),
    aliases: &["mi", "m", "pnorm"],
    options: &["p", "w"],
    formula: |f, params, dim| {
        let p = number(params, "p", 2.0)?;
        if p.is_nan() || p <= 0.0 {
            return Err(Error::request(format!("p = {p}"))
                .at_place(Opt::Param)
                .limit("p is more than 0"));
        }
        // In the order of the exponents below.
        let known = [
            cityblock::CITYBLOCK,
            euclidean::EUCLIDEAN,
            chebyshev::CHEBYSHEV,
        ];
        match [1.0, 2.0, f64::INFINITY].iter().position(|have| *have == p) {
            Some(at) => (known[at].formula)(f, params, dim),
            None => {
                // The default as an option, so that one text serves both cases.
                let params = with(params, "p", Param::Number(p));
                let (plain, with_w) =
                    // 1/p is a constant and folds; whole and half exponents become products and
                    // roots.
                    ("sum(abs(x - y)^p)^(1 / p)", "sum(w * abs(x - y)^p)^(1 / p)");
                weighted(f, &params, dim, plain, with_w)
            }
        }
    },
    prepare: None,
    reference: |x, y, params| {
        let p = option(params, "p", 2.0);
        // The limit of the sum, which the power below would not reach.
        if p == f64::INFINITY {
            return (chebyshev::CHEBYSHEV.reference)(x, y, params);
        }
        weighted_sum(x, y, params, |a, b| (a - b).abs().powf(p)).powf(1.0 / p)
    },
    symmetric: true,
    domain: RowValues::Real,
    scale: ScaleOption::Relative,
    range: (-10.0, 10.0),
};
