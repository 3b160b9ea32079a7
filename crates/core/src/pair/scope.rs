//! What a formula may name besides functions: parameters, columns, and metrics whose preparation of
//! the tables was done.

use super::metric::Param;
use super::tree::Side;
use std::collections::BTreeMap;

/// Says what names in a formula mean, and how long rows are.
#[derive(Clone, Debug, Default)]
pub struct Scope<'a> {
    /// Named values.
    pub params: BTreeMap<String, Param>,
    /// Column names of x and of y, if the inputs have names.
    pub columns: [Option<&'a [String]>; 2],
    /// The number of components of a row, if it is known; indices are checked against it. If rows
    /// of x and y have different lengths, the larger.
    pub dim: Option<usize>,
    /// The numbers of components of a row of x and of y, if they may differ.
    pub cols: Option<[usize; 2]>,
    /// The root of the formula that is the value of the pair: the first one, unless the values of a
    /// parameter give several.
    pub value: usize,
    /// The metrics for which the tables were changed before parsing.
    pub prepared: PreparedMetrics,
}

impl Scope<'_> {
    /// Returns the number of components of a row of `side`, if it is known.
    pub(super) fn cols(&self, side: Side) -> Option<usize> {
        self.cols.map(|cols| cols[side as usize]).or(self.dim)
    }
    /// Returns the number of components if it is known and the same for x and y: only then do whole
    /// rows combine.
    pub(super) fn whole(&self) -> Option<usize> {
        self.cols(Side::X)
            .filter(|cols| self.cols(Side::Y) == Some(*cols))
    }
}

/// The metrics whose preparation of whole tables (ranks, whitening) was done. Other metrics of this
/// kind are refused inside a formula.
#[derive(Clone, Debug, Default)]
pub struct PreparedMetrics {
    /// Their names.
    pub metrics: Vec<&'static str>,
    /// The metric whose preparation replaced the rows. The formula then has no rows as they were.
    pub rows: Option<&'static str>,
}
