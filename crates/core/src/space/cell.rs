//! Periodic boxes.

use crate::error::{Error, Result};

/// An orthorhombic box.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    lengths: Vec<f64>,
}

impl Cell {
    /// A box from its lengths.
    ///
    /// # Errors
    /// `Request` for lengths that are not positive and finite.
    pub fn from_numbers(numbers: &[f64]) -> Result<Self> {
        if numbers.is_empty() || numbers.len() > 3 || numbers.iter().any(|l| !(*l > 0.0 && l.is_finite())) {
            return Err(Error::request("a box is one to three positive lengths").at("--box"));
        }
        Ok(Cell { lengths: numbers.to_vec() })
    }
    /// Periodic dimensions.
    pub fn dim(&self) -> usize {
        self.lengths.len()
    }
    /// The shortest image of `delta`.
    pub fn minimum_image(&self, delta: &mut [f64]) {
        delta.iter_mut().zip(&self.lengths).for_each(|(d, l)| *d -= l * libm::rint(*d / l));
    }
    /// [`Self::minimum_image`] of every lane, the same bits.
    #[inline(always)]
    pub fn minimum_image_lanes<const N: usize>(&self, deltas: &mut [[f64; N]; 3]) {
        for (lanes, l) in deltas.iter_mut().zip(&self.lengths) {
            lanes.iter_mut().for_each(|d| *d -= l * libm::rint(*d / l));
        }
    }
}
