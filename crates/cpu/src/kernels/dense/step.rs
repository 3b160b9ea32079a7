//! One application of zip and reduce to a vector of pairs.

use zipfold_vector::simd::{Element, Lanes};

/// acc ⊕ zip(x, y) for a number x at `x` and lanes y. Differences may have either sign. `one` is a
/// vector of ones that the compiler cannot see through, for `Lanes::sub_on_mul`.
pub(crate) trait ReduceStep: Copy + Send + Sync {
    /// Slices combine by maximum, not by sum.
    const MAX: bool;
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

/// A form: its documentation, its name, whether slices combine by maximum, and the step.
macro_rules! form {
    ($doc:literal, $name:ident, $max:literal, |$s:ident, $one:ident, $acc:ident, $x:ident, $y:ident, $exact:ident| $step:expr) => {
        #[doc = $doc]
        #[derive(Clone, Copy)]
        pub(crate) struct $name;
        impl ReduceStep for $name {
            const MAX: bool = $max;
            #[inline(always)]
            unsafe fn step<T: Element, S: Lanes<T>, const EXACT: bool>(
                $s: S,
                $one: S::V,
                $acc: S::V,
                $x: *const T,
                $y: S::V,
            ) -> S::V {
                let $exact = EXACT;
                // SAFETY: the caller's promise.
                unsafe { $step }
            }
        }
    };
}
form!("Σ |x − y|.", L1, false, |s, one, acc, x, y, _exact| s
    .add(acc, s.abs(s.sub_on_mul_at(one, y, x))));
form!(
    "Σ (x − y)².",
    SqDiff,
    false,
    |s, _one, acc, x, y, exact| {
        let t = s.sub_at(y, x);
        if exact {
            s.add(acc, s.mul(t, t))
        } else {
            s.mul_add(t, t, acc)
        }
    }
);
form!("Σ x·y.", Dot, false, |s, _one, acc, x, y, exact| {
    let x = s.splat(*x);
    if exact {
        s.add(acc, s.mul(x, y))
    } else {
        s.mul_add(x, y, acc)
    }
});
form!(
    "max |x − y|.",
    Chebyshev,
    true,
    |s, one, acc, x, y, _exact| s.max_abs(acc, s.sub_on_mul_at(one, y, x))
);
form!(
    "Σ |x − y|³.",
    Lp3,
    false,
    |s, _one, acc, x, y, exact| {
        let t = s.abs(s.sub_at(y, x));
        let square = s.mul(t, t);
        if exact {
            s.add(acc, s.mul(square, t))
        } else {
            s.mul_add(square, t, acc)
        }
    }
);
form!(
    "Σ [x ≠ y].",
    Differ,
    false,
    |s, one, acc, x, y, _exact| s.blend(s.eq(s.splat(*x), y), acc, s.add(acc, one))
);
