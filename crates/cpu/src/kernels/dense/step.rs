//! One application of zip and reduce to a vector of cells.

use crate::simd::{Element, Lanes};

/// acc ⊕ zip(x, y) for a number x at `x` and lanes y. Differences may have either sign. `one` is a vector of ones that the
/// compiler cannot see through, for `Lanes::sub_on_mul`.
pub(crate) trait Step: Copy + Send + Sync {
    /// Slices combine by maximum, not by sum.
    const MAX: bool = false;
    /// The step; `EXACT` forbids contraction.
    ///
    /// # Safety
    /// `x` is valid for reading.
    unsafe fn step<T: Element, S: Lanes<T>, const EXACT: bool>(
        s: S,
        one: S::V,
        acc: S::V,
        x: *const T,
        y: S::V,
    ) -> S::V;
}

#[derive(Clone, Copy)]
pub(crate) struct L1;
#[derive(Clone, Copy)]
pub(crate) struct SqDiff;
#[derive(Clone, Copy)]
pub(crate) struct Dot;
#[derive(Clone, Copy)]
pub(crate) struct Chebyshev;
#[derive(Clone, Copy)]
pub(crate) struct Lp3;
#[derive(Clone, Copy)]
pub(crate) struct Differ;

impl Step for L1 {
    #[inline(always)]
    unsafe fn step<T: Element, S: Lanes<T>, const EXACT: bool>(
        s: S,
        one: S::V,
        acc: S::V,
        x: *const T,
        y: S::V,
    ) -> S::V {
        // SAFETY: the caller's promise.
        let t = unsafe { s.sub_on_mul_at(one, y, x) };
        s.add(acc, s.abs(t))
    }
}

impl Step for SqDiff {
    #[inline(always)]
    unsafe fn step<T: Element, S: Lanes<T>, const EXACT: bool>(
        s: S,
        _one: S::V,
        acc: S::V,
        x: *const T,
        y: S::V,
    ) -> S::V {
        // SAFETY: the caller's promise.
        let t = unsafe { s.sub_at(y, x) };
        if EXACT { s.add(acc, s.mul(t, t)) } else { s.mul_add(t, t, acc) }
    }
}

impl Step for Dot {
    #[inline(always)]
    unsafe fn step<T: Element, S: Lanes<T>, const EXACT: bool>(
        s: S,
        _one: S::V,
        acc: S::V,
        x: *const T,
        y: S::V,
    ) -> S::V {
        // SAFETY: the caller's promise.
        let x = s.splat(unsafe { *x });
        if EXACT { s.add(acc, s.mul(x, y)) } else { s.mul_add(x, y, acc) }
    }
}

impl Step for Chebyshev {
    const MAX: bool = true;
    #[inline(always)]
    unsafe fn step<T: Element, S: Lanes<T>, const EXACT: bool>(
        s: S,
        one: S::V,
        acc: S::V,
        x: *const T,
        y: S::V,
    ) -> S::V {
        // SAFETY: the caller's promise.
        s.max_abs(acc, unsafe { s.sub_on_mul_at(one, y, x) })
    }
}

impl Step for Lp3 {
    #[inline(always)]
    unsafe fn step<T: Element, S: Lanes<T>, const EXACT: bool>(
        s: S,
        _one: S::V,
        acc: S::V,
        x: *const T,
        y: S::V,
    ) -> S::V {
        // SAFETY: the caller's promise.
        let t = s.abs(unsafe { s.sub_at(y, x) });
        let square = s.mul(t, t);
        if EXACT { s.add(acc, s.mul(square, t)) } else { s.mul_add(square, t, acc) }
    }
}

impl Step for Differ {
    #[inline(always)]
    unsafe fn step<T: Element, S: Lanes<T>, const EXACT: bool>(
        s: S,
        one: S::V,
        acc: S::V,
        x: *const T,
        y: S::V,
    ) -> S::V {
        // SAFETY: the caller's promise.
        let x = s.splat(unsafe { *x });
        s.blend(s.eq(x, y), acc, s.add(acc, one))
    }
}
