//! Russell and Rao's dissimilarity of boolean rows: (d − both) / d, optionally weighted (SciPy). A
//! row without a true component is at 1 from itself.

use super::booleans::{counts, table};
use super::{Named, RowValues, ScaleOption, text};

/// `russellrao`. The value is the share of components that are not true in both rows; equal rows
/// are at 0 only if every component is true.
pub(super) const RUSSELLRAO: Named = Named {
    name: "russellrao",
    about: "(d − both) / d of true components",
    similarity: false,
    values: (0.0, 1.0),
    aliases: &[],
    options: &["w"],
    formula: |f, params, dim| {
        let c = counts(params, dim)?;
        // One inner product, and exact in integers up to the division.
        let formula = format!("({0} - {1}) / {0}", c.all, c.both);
        text(f, &formula, &c.params, dim)
    },
    prepare: None,
    reference: |x, y, params| {
        let t = table(x, y, params);
        (t.tf + t.ft + t.ff) / (t.tt + t.tf + t.ft + t.ff)
    },
    symmetric: true,
    domain: RowValues::Boolean,
    scale: ScaleOption::Fixed(1.0),
    range: (0.0, 1.0),
};
