//! Uniform bins: a bin is the integer part of a scaled distance.

use super::binner::Binner;
use super::edges::Uniform;
use super::points::{Near, Points};
use zipfold_vector::simd::{Lanes, each_of};

/// t = r · scale + offset, so that slot i (see [`super::Edges::slot`]) is i ≤ t < i + 1 up to an
/// error of half `band`, by which t is too large: it is decided unless its fraction is below
/// `band`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale<T> {
    scale: T,
    offset: T,
    band: T,
    /// Clamps slot 0 and the last one.
    low: T,
    high: T,
    /// From this r² on t lies beyond the end of the last bin, and its error.
    far: T,
}

impl<T: Near> Scale<T> {
    /// None if the arithmetic of `T` leaves too much undecided.
    pub(super) fn new(u: Uniform, x: &Points, y: &Points) -> Option<Scale<T>> {
        let bins = u.bins as f64;
        let scale = bins / (u.hi - u.lo);
        let far = u.lo.abs().max(u.hi.abs());
        // Differences, squares, sums and the root of r² err by 3.5 roundings of r; scale, offset
        // and t by the rest. The edges themselves and the reference err by roundings of f64. What
        // underflows is below 10⁻²² for f32.
        let coordinates = x.difference_error::<T>(y) * (x.frame().dimensions() as f64).sqrt();
        let tiny = if size_of::<T>() == 4 { 1e-22 } else { 1e-160 };
        let distance = coordinates + tiny + (5.0 * T::UNIT + 8.0 * f64::EPSILON) * far;
        let error = distance * scale + 3.0 * T::UNIT * (u.lo.abs() * scale + bins + 2.0);
        let usable = error < if size_of::<T>() == 4 { 0.02 } else { 0.2 } && u.bins < 1 << 24;
        let in_range = scale > 1e-30 && scale < 1e30;
        let end = (u.hi.max(0.0) + 3.0 * error / scale) * (1.0 + 32.0 * T::UNIT);
        (usable && in_range).then(|| Scale {
            scale: T::from_f64(scale),
            offset: T::from_f64(1.0 - u.lo * scale + error),
            band: T::from_f64(2.0 * error * (1.0 + 4.0 * T::UNIT)),
            low: T::from_f64(0.5),
            high: T::from_f64(bins + 1.5),
            far: T::from_f64(end * end * (1.0 + 4.0 * T::UNIT)),
        })
    }
}

impl<T: Near> Binner<T> for Scale<T> {
    type Constants<S: Lanes<T>> = [S::V; 5];

    #[inline(always)]
    fn constants<S: Lanes<T>>(&self, s: S) -> [S::V; 5] {
        each_of(
            [self.scale, self.offset, self.band, self.low, self.high],
            |x| s.splat(x),
        )
    }

    #[inline(always)]
    unsafe fn place<S: Lanes<T>, const SHIFT: i32>(
        &self,
        s: S,
        [scale, offset, band, low, high]: [S::V; 5],
        r2: S::V,
        index: *mut i32,
    ) -> u32 {
        let t = s.mul_add(s.sqrt(r2), scale, offset);
        let decided = s.bits(s.le(band, s.fract(t)));
        // A NaN is undecided, and becomes `high` here.
        let clamped = s.max(s.min(t, high), low);
        // SAFETY: the caller promises N values; the lanes lie between 0 and 2²⁴ + 2.
        unsafe { s.store_i32::<SHIFT>(clamped, index) };
        decided ^ all::<T, S>()
    }

    #[inline(always)]
    fn far(&self) -> T {
        self.far
    }
}

/// The bits of all lanes.
#[inline(always)]
pub(super) fn all<T: Near, S: Lanes<T>>() -> u32 {
    zipfold_vector::simd::first_lanes(S::N)
}
