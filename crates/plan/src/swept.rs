//! The folds that devices have kernels for.

use zipfold_core::fold::{Extremes, Fold, Histogram, Join, Nearest, Reduce};

/// The folds that devices have kernels for. For any other fold a device computes values, and the
/// host folds them.
///
/// A type of its own, so that matches over it need no catch-all arm: a new fold of the host does
/// not reach kernel code unseen.
#[derive(Clone, Copy, Debug)]
pub enum Swept<'f> {
    /// A result a row.
    Reduce(&'f Reduce),
    /// The nearest of every row.
    Nearest(&'f Nearest),
    /// Counts by bin.
    Histogram(&'f Histogram),
    /// The pairs where a predicate holds.
    Join(&'f Join),
    /// The least and the largest value.
    Extremes(&'f Extremes),
}

impl<'f> Swept<'f> {
    /// Returns `fold` if devices have kernels for its kind.
    pub fn for_fold(fold: &'f Fold) -> Option<Self> {
        if let Fold::Reduce(f) = fold {
            Some(Swept::Reduce(f))
        } else if let Fold::Nearest(f) = fold {
            Some(Swept::Nearest(f))
        } else if let Fold::Histogram(f) = fold {
            Some(Swept::Histogram(f))
        } else if let Fold::Join(f) = fold {
            Some(Swept::Join(f))
        } else if let Fold::Extremes(f) = fold {
            Some(Swept::Extremes(f))
        } else {
            None
        }
    }
    /// Returns the root that kernels compute first.
    pub fn root(self) -> usize {
        match self {
            Swept::Reduce(f) => f.root,
            Swept::Nearest(f) => f.root,
            Swept::Histogram(h) => h.axes[0].root,
            Swept::Join(f) => f.root,
            Swept::Extremes(f) => f.roots[0],
        }
    }
}
