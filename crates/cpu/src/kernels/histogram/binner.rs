//! What a loop over pairs asks of bins.

use super::points::Near;
use zipfold_vector::simd::Lanes;

/// What turns vectors of r² into counters.
pub(super) trait Binner<T: Near> {
    /// Constants in registers.
    type Constants<S: Lanes<T>>: Copy;
    /// Loads the constants.
    fn constants<S: Lanes<T>>(&self, s: S) -> Self::Constants<S>;
    /// Stores the counter of every lane (its slot times 2^SHIFT) and returns the bits of the
    /// undecided lanes. Every index lies within the private counters, regardless of r².
    ///
    /// # Safety
    /// `index` is valid for `N` values.
    unsafe fn place<S: Lanes<T>, const SHIFT: i32>(
        &self,
        s: S,
        constants: Self::Constants<S>,
        r2: S::V,
        index: *mut i32,
    ) -> u32;
    /// From this r² on a pair is certainly not below the last edge.
    fn far(&self) -> T;
}
