//! Sokal and Sneath's dissimilarity of boolean rows: 2c / (both + 2c), c = components that differ,
//! optionally weighted (SciPy). Two rows without a true component give NaN, as SciPy's `cdist`.

use super::booleans::{counts, table};
use super::{Named, RowValues, ScaleOption, text};

/// `sokalsneath`. With a and b true components, both = (a + b − c)/2, so 2c/(both + 2c) is 4c/(a +
/// b + 3c): one inner product and hoisted counts.
pub(super) const SOKALSNEATH: Named = Named {
    name: "sokalsneath",
    about: "2c / (both + 2c) of true components, c = those that differ",
    similarity: false,
    values: (0.0, 1.0),
    aliases: &[],
    options: &["w"],
    formula: |f, params, dim| {
        let c = counts(params, dim)?;
        // In counts of true components, which are hoisted.
        let formula = format!(
            "4 * {0} / ({1} + {2} + 3 * {0})",
            c.differ, c.ones[0], c.ones[1]
        );
        text(f, &formula, &c.params, dim)
    },
    prepare: None,
    reference: |x, y, params| {
        let t = table(x, y, params);
        2.0 * (t.tf + t.ft) / (t.tt + 2.0 * (t.tf + t.ft))
    },
    symmetric: true,
    domain: RowValues::Boolean,
    scale: ScaleOption::Fixed(1.0),
    range: (0.0, 1.0),
};
