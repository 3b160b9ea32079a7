//! What is known of the mantissas of tables, and of their product before it is made.

use super::products::Fold;
use super::real::Real;
use super::shape::Shape;

/// Bounds of the nonzero mantissas of a table: they lie in [2^low, 2^high], and the entries are
/// 2^exponent times that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    /// The common power of two.
    pub exponent: i64,
    /// The lower bound.
    pub low: i32,
    /// The upper bound.
    pub high: i32,
}

impl Ends {
    /// So far from the middle of the type's range that the table should be looked at, and moved
    /// there.
    pub(super) fn are_far<T: Real>(self) -> bool {
        self.low < -T::LIMIT / 8 || self.high > T::LIMIT / 8
    }
}

/// What is known of the product of tables before it is made.
pub(super) struct Bounds {
    /// Its common power of two.
    pub exponent: i64,
    /// Bounds of its mantissas, where neither they nor partial products leave the type's range.
    pub linear: Option<Ends>,
}

impl Bounds {
    /// The bounds of the product of tables with the bounds `inputs`, folded as `shape` says.
    pub(super) fn of_product<T: Real>(
        shape: &Shape,
        inputs: impl Iterator<Item = Ends>,
        fold: Fold,
    ) -> Self {
        let inputs: Vec<Ends> = inputs.collect();
        let exponent = inputs.iter().map(|t| t.exponent).sum();
        let high = inputs.iter().map(|t| t.high).sum::<i32>()
            + if fold == Fold::Sum {
                shape.summed_log2()
            } else {
                0
            };
        // Partial products of three and more tables stay within the sums of the one-sided bounds.
        let least: i32 = inputs.iter().map(|t| t.low.min(0)).sum();
        let most: i32 = inputs.iter().map(|t| t.high.max(0)).sum::<i32>().max(high);
        let low = inputs.iter().map(|t| t.low).sum();
        let fits = least > -T::LIMIT && most < T::LIMIT;
        Bounds {
            exponent,
            linear: fits.then_some(Ends {
                exponent,
                low,
                high,
            }),
        }
    }
}
