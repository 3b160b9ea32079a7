//! Inner loops of the bucket kernel, compiled for AVX-512 and AVX2 beside the plain form.

use super::real::Real;

/// A run of one table along the block.
pub type Term<'a, T> = &'a [T];

/// What happens to each product (or, in the log steps, sum).
#[derive(Clone, Copy, Debug)]
pub enum Step<'a, T> {
    /// It is added.
    Add,
    /// The larger stays.
    Max,
    /// The larger sum of logarithms stays.
    LogMax,
    /// The exponential of the sum, less this peak, is added.
    LogAdd(&'a [T]),
}

/// `to ⊕= constant ⊗ terms`, entry by entry (`first`: `to =`). `scratch` holds products of more than three runs.
pub fn accumulate<T: Real>(
    to: &mut [T],
    first: bool,
    constant: T,
    terms: &[Term<'_, T>],
    step: Step<'_, T>,
    scratch: &mut Vec<T>,
) {
    #[cfg(target_arch = "x86_64")]
    {
        if to.len() >= 8
            && std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512dq")
        {
            // SAFETY: the features were just detected.
            return unsafe { avx512(to, first, constant, terms, step, scratch) };
        }
        if to.len() >= 8 && std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: the features were just detected.
            return unsafe { avx2(to, first, constant, terms, step, scratch) };
        }
    }
    plain(to, first, constant, terms, step, scratch);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,fma")]
fn avx512<T: Real>(
    to: &mut [T],
    first: bool,
    constant: T,
    terms: &[Term<'_, T>],
    step: Step<'_, T>,
    scratch: &mut Vec<T>,
) {
    plain(to, first, constant, terms, step, scratch);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<T: Real>(
    to: &mut [T],
    first: bool,
    constant: T,
    terms: &[Term<'_, T>],
    step: Step<'_, T>,
    scratch: &mut Vec<T>,
) {
    plain(to, first, constant, terms, step, scratch);
}

#[inline(always)]
fn plain<T: Real>(
    to: &mut [T],
    first: bool,
    constant: T,
    terms: &[Term<'_, T>],
    step: Step<'_, T>,
    scratch: &mut Vec<T>,
) {
    match step {
        Step::Add => linear(to, first, constant, terms, false, scratch),
        Step::Max => linear(to, first, constant, terms, true, scratch),
        Step::LogMax => {
            total(constant, terms, scratch, to.len());
            put(to, first, true, scratch.iter().copied());
        }
        Step::LogAdd(peaks) => {
            total(constant, terms, scratch, to.len());
            put(to, first, false, scratch.iter().zip(peaks).map(|(s, p)| T::of(super::logs::exp(s.f64() - p.f64()))));
        }
    }
}

/// Sums of logarithms.
#[inline(always)]
fn total<T: Real>(constant: T, terms: &[Term<'_, T>], scratch: &mut Vec<T>, len: usize) {
    scratch.clear();
    match terms {
        [] => scratch.resize(len, constant),
        [a, rest @ ..] => {
            scratch.extend(a.iter().map(|a| constant + *a));
            for more in rest {
                scratch.iter_mut().zip(*more).for_each(|(s, m)| *s += *m);
            }
        }
    }
}

#[inline(always)]
fn linear<T: Real>(to: &mut [T], first: bool, constant: T, terms: &[Term<'_, T>], max: bool, scratch: &mut Vec<T>) {
    match terms {
        [] => put(to, first, max, std::iter::repeat(constant)),
        [a] => put(to, first, max, a.iter().map(|a| constant * *a)),
        [a, b] => put(to, first, max, a.iter().zip(*b).map(|(a, b)| constant * *a * *b)),
        [a, b, c] => put(to, first, max, a.iter().zip(*b).zip(*c).map(|((a, b), c)| constant * *a * *b * *c)),
        [a, b, rest @ ..] => {
            scratch.clear();
            scratch.extend(a.iter().zip(*b).map(|(a, b)| constant * *a * *b));
            for more in rest {
                scratch.iter_mut().zip(*more).for_each(|(s, m)| *s = *s * *m);
            }
            put(to, first, max, scratch.iter().copied());
        }
    }
}

#[inline(always)]
fn put<T: Real>(to: &mut [T], first: bool, max: bool, values: impl Iterator<Item = T>) {
    match (first, max) {
        (true, _) => to.iter_mut().zip(values).for_each(|(t, v)| *t = v),
        (false, false) => to.iter_mut().zip(values).for_each(|(t, v)| *t += v),
        (false, true) => to.iter_mut().zip(values).for_each(|(t, v)| *t = t.larger(v)),
    }
}
