//! What a formula may name besides functions: parameters, columns, metrics of prepared tables.

use super::metric::Param;
use super::tree::Side;
use std::collections::BTreeMap;

/// What names in a formula mean.
#[derive(Clone, Debug, Default)]
pub struct Scope<'a> {
    /// Named values.
    pub params: BTreeMap<String, Param>,
    /// Column names of x and of y, where the inputs have them.
    pub columns: [Option<&'a [String]>; 2],
    /// Components of a row, where known: indices are checked against it. Of rows of two lengths the
    /// larger.
    pub dim: Option<usize>,
    /// Components of a row of x and of y, where they may differ.
    pub cols: Option<[usize; 2]>,
    /// What was done to the tables.
    pub prepared: Prepared,
}

impl Scope<'_> {
    /// Components of a row of `side`, where known.
    pub(super) fn cols(&self, side: Side) -> Option<usize> {
        self.cols.map(|cols| cols[side as usize]).or(self.dim)
    }
    /// Components of a row, where known and the same for x and y.
    pub(super) fn whole(&self) -> Option<usize> {
        self.cols(Side::X)
            .filter(|cols| self.cols(Side::Y) == Some(*cols))
    }
}

/// Metrics that are made ready for, by what is done to whole tables first.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    /// Their names.
    pub metrics: Vec<&'static str>,
    /// The one of them that has taken the place of the rows: a formula has no others.
    pub rows: Option<&'static str>,
}
