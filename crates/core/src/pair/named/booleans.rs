//! What the dissimilarities of boolean rows share: weighted counts of components that are true, as
//! text and as numbers.
//!
//! Without weights every count comes from Σ [xₖ ≠ 0]·[yₖ ≠ 0] and the hoisted counts of each row.
//! That sum is an inner product of hoisted rows, which matrix kernels compute, and exact in
//! integers. The others follow: with a and b true components and c common ones, only x has a − c,
//! both differ in a + b − 2c, and neither has d − (a + b) + c.
//!
//! With weights the subtraction would round, and equal rows would not be at distance 0. There the
//! differing components are summed on their own.

use super::{Params, Result, component, weights, with};
use crate::pair::parse::Param;

/// The counts of a pair as text of a formula.
pub(super) struct Counts {
    /// Components where x is true, and where y is.
    pub ones: [&'static str; 2],
    /// Components where they differ.
    pub differ: &'static str,
    /// Components where both are true.
    pub both: &'static str,
    /// Components where only x is true, and where only y is.
    pub only: [&'static str; 2],
    /// Components where neither is true.
    pub neither: &'static str,
    /// All components.
    pub all: &'static str,
    /// The options, with weights as a vector.
    pub params: Params,
}

/// Returns the counts for these options.
pub(super) fn counts(params: &Params, dim: Option<usize>) -> Result<Counts> {
    Ok(match weights(params, dim)? {
        None => plain(params.clone()),
        Some(_) if dim.is_none() => weighted(params.clone()),
        Some(w) => weighted(with(params, "w", Param::Vector(w))),
    })
}

/// The counts without weights, by one inner product.
fn plain(params: Params) -> Counts {
    Counts {
        ones: ["count(x != 0)", "count(y != 0)"],
        differ: "(count(x != 0) + count(y != 0) - 2 * sum((x != 0) * (y != 0)))",
        both: "sum((x != 0) * (y != 0))",
        only: [
            "(count(x != 0) - sum((x != 0) * (y != 0)))",
            "(count(y != 0) - sum((x != 0) * (y != 0)))",
        ],
        neither: "(dim - (count(x != 0) + count(y != 0)) + sum((x != 0) * (y != 0)))",
        all: "dim",
        params,
    }
}

/// The counts with weights, each summed on its own.
fn weighted(params: Params) -> Counts {
    Counts {
        ones: ["sum(w * (x != 0))", "sum(w * (y != 0))"],
        differ: "sum(abs(w * (x != 0) - w * (y != 0)))",
        both: "sum(w * ((x != 0) and (y != 0)))",
        only: [
            "sum(w * ((x != 0) and (y == 0)))",
            "sum(w * ((x == 0) and (y != 0)))",
        ],
        neither: "sum(w * ((x == 0) and (y == 0)))",
        all: "sum(w)",
        params,
    }
}

/// Counts of one pair of rows, for reference evaluations.
#[derive(Default)]
pub(super) struct Table2 {
    /// Both true.
    pub tt: f64,
    /// Only x.
    pub tf: f64,
    /// Only y.
    pub ft: f64,
    /// Neither.
    pub ff: f64,
}

/// Counts the components of two rows by what each row has there, for reference evaluations.
pub(super) fn table(x: &[f64], y: &[f64], params: &Params) -> Table2 {
    let mut t = Table2::default();
    for k in 0..x.len() {
        let cell = match (x[k] != 0.0, y[k] != 0.0) {
            (true, true) => &mut t.tt,
            (true, false) => &mut t.tf,
            (false, true) => &mut t.ft,
            (false, false) => &mut t.ff,
        };
        *cell += component(params, "w", k, 1.0);
    }
    t
}
