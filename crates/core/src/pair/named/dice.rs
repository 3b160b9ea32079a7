//! Dissimilarity of boolean rows of Dice (1945): c / (2·both + c), c = components that differ,
//! optionally weighted (SciPy). The denominator is computed as the sum of true components of both
//! rows, which is hoisted. Two rows without a true component give NaN.

use super::booleans::{counts, table};
use super::{Named, RowValues, ScaleOption, text};

/// `dice`. Numbers other than 0 count as true. With integer counts the value is exact up to one
/// division.
pub(super) const DICE: Named = Named {
    name: "dice",
    about: "c / (2·both + c) of true components, c = those that differ",
    similarity: false,
    values: (0.0, 1.0),
    aliases: &[],
    options: &["w"],
    formula: |f, params, dim| {
        let c = counts(params, dim)?;
        // 2·both + c is the number of true components of both rows: no second inner product.
        let formula = format!("{} / ({} + {})", c.differ, c.ones[0], c.ones[1]);
        text(f, &formula, &c.params, dim)
    },
    prepare: None,
    reference: |x, y, params| {
        let t = table(x, y, params);
        (t.tf + t.ft) / (2.0 * t.tt + t.tf + t.ft)
    },
    symmetric: true,
    domain: RowValues::Boolean,
    scale: ScaleOption::Fixed(1.0),
    range: (0.0, 1.0),
};
