//! The hull of some rows.

use zipfold_core::Side;
use zipfold_core::pair::interval_bounds::Bounds;

/// The least and the largest of each hoisted number of some rows; NaN where a row has a NaN.
#[derive(Clone, Debug)]
pub(in crate::pairs) struct Hull {
    lo: Vec<f64>,
    hi: Vec<f64>,
}

impl Hull {
    /// Of no rows, of `width` numbers.
    pub(in crate::pairs) fn empty(width: usize) -> Hull {
        Hull {
            lo: vec![f64::INFINITY; width],
            hi: vec![f64::NEG_INFINITY; width],
        }
    }
    /// Takes a row.
    pub(in crate::pairs) fn add(&mut self, row: &[f64]) {
        for ((lo, hi), v) in self.lo.iter_mut().zip(&mut self.hi).zip(row) {
            if v.is_nan() || lo.is_nan() {
                (*lo, *hi) = (f64::NAN, f64::NAN);
            } else {
                (*lo, *hi) = (lo.min(*v), hi.max(*v));
            }
        }
    }
    /// Sets the rows of `side` to lie within the hull.
    pub(in crate::pairs) fn bound(&self, bounds: &mut Bounds<'_>, side: Side) {
        bounds.set_one(side, &self.lo, &self.hi, 1);
    }
}
