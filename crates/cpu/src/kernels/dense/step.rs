//! One application of zip and reduce to a vector of cells.

use crate::simd::{Element, Lanes};

/// acc ⊕ zip(x, y). `one` is a vector of ones that the compiler cannot see through, for `Lanes::sub_on_mul`.
pub(crate) trait Step: Copy + Send + Sync {
    /// Slices combine by maximum, not by sum.
    const MAX: bool = false;
    /// The step; `EXACT` forbids contraction.
    fn step<T: Element, S: Lanes<T>, const EXACT: bool>(s: S, one: S::V, acc: S::V, x: S::V, y: S::V) -> S::V;
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
    fn step<T: Element, S: Lanes<T>, const EXACT: bool>(s: S, one: S::V, acc: S::V, x: S::V, y: S::V) -> S::V {
        s.add(acc, s.abs(s.sub_on_mul(one, x, y)))
    }
}

impl Step for SqDiff {
    #[inline(always)]
    fn step<T: Element, S: Lanes<T>, const EXACT: bool>(s: S, _one: S::V, acc: S::V, x: S::V, y: S::V) -> S::V {
        let t = s.sub(x, y);
        if EXACT { s.add(acc, s.mul(t, t)) } else { s.mul_add(t, t, acc) }
    }
}

impl Step for Dot {
    #[inline(always)]
    fn step<T: Element, S: Lanes<T>, const EXACT: bool>(s: S, _one: S::V, acc: S::V, x: S::V, y: S::V) -> S::V {
        if EXACT { s.add(acc, s.mul(x, y)) } else { s.mul_add(x, y, acc) }
    }
}

impl Step for Chebyshev {
    const MAX: bool = true;
    #[inline(always)]
    fn step<T: Element, S: Lanes<T>, const EXACT: bool>(s: S, one: S::V, acc: S::V, x: S::V, y: S::V) -> S::V {
        s.max_abs(acc, s.sub_on_mul(one, x, y))
    }
}

impl Step for Lp3 {
    #[inline(always)]
    fn step<T: Element, S: Lanes<T>, const EXACT: bool>(s: S, _one: S::V, acc: S::V, x: S::V, y: S::V) -> S::V {
        let t = s.abs(s.sub(x, y));
        let square = s.mul(t, t);
        if EXACT { s.add(acc, s.mul(square, t)) } else { s.mul_add(square, t, acc) }
    }
}

impl Step for Differ {
    #[inline(always)]
    fn step<T: Element, S: Lanes<T>, const EXACT: bool>(s: S, one: S::V, acc: S::V, x: S::V, y: S::V) -> S::V {
        s.blend(s.eq(x, y), acc, s.add(acc, one))
    }
}
