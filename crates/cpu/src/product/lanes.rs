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

/// A loop that is compiled for every instruction set.
trait Loop {
    /// Runs it; implementations are `#[inline(always)]`, so that they take the features of the caller.
    fn run(self);
}

/// Runs `work` over `len` entries with the widest vectors that the machine has.
fn widest(len: usize, work: impl Loop) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if len >= 8 && has!("avx512f") && has!("avx512dq") && has!("fma") {
            // SAFETY: the features were just detected.
            return unsafe { avx512(work) };
        }
        if len >= 8 && has!("avx2") && has!("fma") {
            // SAFETY: the features were just detected.
            return unsafe { avx2(work) };
        }
    }
    work.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,fma")]
fn avx512(work: impl Loop) {
    work.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(work: impl Loop) {
    work.run();
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
    struct Accumulate<'a, 't, T>(&'a mut [T], bool, T, &'a [Term<'t, T>], Step<'a, T>, &'a mut Vec<T>);
    impl<T: Real> Loop for Accumulate<'_, '_, T> {
        #[inline(always)]
        fn run(self) {
            plain(self.0, self.1, self.2, self.3, self.4, self.5);
        }
    }
    widest(to.len(), Accumulate(to, first, constant, terms, step, scratch));
}

/// `to = e^(from - shift)`.
pub fn exponentials<T: Real>(from: &[f64], shift: f64, to: &mut [T]) {
    struct Exponentials<'a, T>(&'a [f64], f64, &'a mut [T]);
    impl<T: Real> Loop for Exponentials<'_, T> {
        #[inline(always)]
        fn run(self) {
            self.2.iter_mut().zip(self.0).for_each(|(t, f)| *t = T::of(super::logs::exp(*f - self.1)));
        }
    }
    widest(to.len(), Exponentials(from, shift, to));
}

/// `to = ln(from) + shift`.
pub fn logarithms<T: Real>(from: &[T], shift: f64, to: &mut [f64]) {
    struct Logarithms<'a, T>(&'a [T], f64, &'a mut [f64]);
    impl<T: Real> Loop for Logarithms<'_, T> {
        #[inline(always)]
        fn run(self) {
            self.2.iter_mut().zip(self.0).for_each(|(t, f)| *t = super::logs::ln(f.f64()) + self.1);
        }
    }
    widest(to.len(), Logarithms(from, shift, to));
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
