//! Rogers and Tanimoto's dissimilarity of boolean rows: 2c / (both + neither + 2c), c = components
//! that differ, optionally weighted (SciPy).

use super::booleans::{counts, table};
use super::{Named, RowValues, ScaleOption, text};

/// `rogerstanimoto`. The denominator both + neither + 2c is all + c, so the formula needs the
/// number of components and c only.
pub(super) const ROGERSTANIMOTO: Named = Named {
    name: "rogerstanimoto",
    about: "2c / (both + neither + 2c) of true components, c = those that differ",
    similarity: false,
    values: (0.0, 1.0),
    aliases: &[],
    options: &["w"],
    formula: |f, params, dim| {
        let c = counts(params, dim)?;
        // Never 0/0 without weights: the number of components is in the denominator.
        let formula = format!("2 * {0} / ({1} + {0})", c.differ, c.all);
        text(f, &formula, &c.params, dim)
    },
    prepare: None,
    reference: |x, y, params| {
        let t = table(x, y, params);
        2.0 * (t.tf + t.ft) / (t.tt + t.ff + 2.0 * (t.tf + t.ft))
    },
    symmetric: true,
    domain: RowValues::Boolean,
    scale: ScaleOption::Fixed(1.0),
    range: (0.0, 1.0),
};
