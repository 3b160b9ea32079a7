//! The folds that devices have kernels for.

use zipfold_core::fold::{Fold, Histogram, Nearest, RowFold, Select};

/// The folds that devices have kernels for. For any other fold a device computes values, and the
/// host folds them.
#[derive(Clone, Copy, Debug)]
pub enum Swept<'f> {
    /// A result a row.
    Rows(&'f RowFold),
    /// The nearest of every row.
    Nearest(&'f Nearest),
    /// Counts by bin.
    Histogram(&'f Histogram),
    /// The pairs where a predicate holds.
    Select(&'f Select),
}

impl<'f> Swept<'f> {
    /// Returns `fold` if devices have kernels for its kind.
    pub fn of(fold: &'f Fold) -> Option<Self> {
        if let Fold::Rows(f) = fold {
            Some(Swept::Rows(f))
        } else if let Fold::Nearest(f) = fold {
            Some(Swept::Nearest(f))
        } else if let Fold::Histogram(f) = fold {
            Some(Swept::Histogram(f))
        } else if let Fold::Select(f) = fold {
            Some(Swept::Select(f))
        } else {
            None
        }
    }
    /// Returns the root that kernels compute first.
    pub fn root(self) -> usize {
        match self {
            Swept::Rows(f) => f.root,
            Swept::Nearest(f) => f.root,
            Swept::Histogram(h) => h.axes[0].root,
            Swept::Select(f) => f.root,
        }
    }
}
