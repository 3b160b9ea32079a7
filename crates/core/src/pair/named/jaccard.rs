//! Dissimilarity of boolean rows of Jaccard (1901): the components that differ, divided by those
//! that are not false in both, optionally weighted (SciPy since 1.15, which takes any nonzero
//! number as true). Two rows without a true component are at 0, by convention, as in SciPy.
//!
//! With a and b true components and c that differ, the denominator both + c is (a + b + c)/2, so
//! the formula needs the hoisted counts and one inner product.

use super::booleans::{counts, table};
use super::{Named, RowValues, ScaleOption, text};

/// `jaccard`, 1 less Tanimoto's coefficient of rows of 0 and 1.
pub(super) const JACCARD: Named = Named {
    name: "jaccard",
    about: "c / (both + c) of true components, c = those that differ (1 − Tanimoto's coefficient)",
    similarity: false,
    values: (0.0, 1.0),
    aliases: &["jacc", "ja", "j"],
    options: &["w"],
    formula: |f, params, dim| {
        let c = counts(params, dim)?;
        let (ones, differ) = (format!("({} + {})", c.ones[0], c.ones[1]), c.differ);
        // The denominator both + c is half of ones + c, hence the 2 in the numerator.
        let formula = format!("if({ones} == 0, 0, 2 * {differ} / ({ones} + {differ}))");
        text(f, &formula, &c.params, dim)
    },
    prepare: None,
    reference: |x, y, params| {
        let t = table(x, y, params);
        let union = t.tt + t.tf + t.ft;
        if union == 0.0 {
            0.0
        } else {
            (t.tf + t.ft) / union
        }
    },
    symmetric: true,
    domain: RowValues::Boolean,
    scale: ScaleOption::Fixed(1.0),
    range: (0.0, 1.0),
};
