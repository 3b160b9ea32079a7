//! Dissimilarity of boolean rows of Yule (1912): 2·(only x)(only y) / (both·neither + (only x)(only
//! y)), optionally weighted (SciPy). It is 0 if one of the rows contains the other, also where the
//! quotient would be 0/0.

use super::booleans::{counts, table};
use super::{Named, RowValues, ScaleOption, text};

/// `yule`. The variable `half` is (only x)·(only y); it is 0 exactly if one row contains the other.
pub(super) const YULE: Named = Named {
    name: "yule",
    about: "2r / (both·neither + r) of true components, r = (only x)·(only y)",
    similarity: false,
    values: (0.0, 2.0),
    aliases: &[],
    options: &["w"],
    formula: |f, params, dim| {
        let c = counts(params, dim)?;
        // Written out twice in the text; equal parts of a formula are one node and computed once.
        let half = format!("({} * {})", c.only[0], c.only[1]);
        // The condition first: both·neither may be 0, too, and 0/0 is NaN.
        let formula = format!(
            "if({half} == 0, 0, 2 * {half} / ({} * {} + {half}))",
            c.both, c.neither
        );
        text(f, &formula, &c.params, dim)
    },
    prepare: None,
    reference: |x, y, params| {
        let t = table(x, y, params);
        let half = t.tf * t.ft;
        if half == 0.0 {
            0.0
        } else {
            2.0 * half / (t.tt * t.ff + half)
        }
    },
    symmetric: true,
    domain: RowValues::Boolean,
    scale: ScaleOption::Fixed(1.0),
    range: (0.0, 1.0),
};
