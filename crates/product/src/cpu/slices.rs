//! Whole tables of logarithms: their ends, and their exponentials.
//!
//! ```text
//! ends          (least, greatest) of the entries above a floor, NaN passed over
//! exponentials  out[i] = exp(in[i] − shift)
//! logarithms    out[i] = ln(in[i]) + shift
//! ```
//!
//! These are the only passes that the scaled form ([`super::scaled`]) makes over a table apart from
//! the product, so each is one loop over vectors, with the last one masked, compiled for every
//! instruction set. Conversions between types go by blocks of 512 entries that stay in the nearest
//! cache between two loops.

use super::number::Number;
use rayon::prelude::*;
use zipfold_vector::simd::{Isa, Kernel, Lanes, first_lanes};

/// `to = e^(from - shift)`, entry by entry of both.
pub(super) fn exponentials<T: Number>(from: &[T], shift: T, to: &mut [T]) {
    T::dispatch(Isa::detect(), Exponentials { from, shift, to });
}

struct Exponentials<'a, T> {
    from: &'a [T],
    shift: T,
    to: &'a mut [T],
}

impl<T: Number> Kernel<T> for Exponentials<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<T>>(self, s: S) {
        let shift = s.splat(self.shift);
        for (from, to) in self.from.chunks(S::N).zip(self.to.chunks_mut(S::N)) {
            let some = s.mask(first_lanes(from.len().min(to.len())));
            // SAFETY: no more lanes than both have.
            unsafe {
                let x = s.load_some(some, from.as_ptr());
                s.store_some(some, s.fast_exp(s.sub(x, shift)), to.as_mut_ptr());
            }
        }
    }
}

/// Replaces every entry by its exponential.
pub(super) fn exponentials_in_place<T: Number>(entries: &mut [T]) {
    T::dispatch(Isa::detect(), InPlace::<T, true>(entries));
}

/// Replaces every entry by its natural logarithm.
pub(super) fn logarithms_in_place<T: Number>(entries: &mut [T]) {
    T::dispatch(Isa::detect(), InPlace::<T, false>(entries));
}

struct InPlace<'a, T, const EXP: bool>(&'a mut [T]);

impl<T: Number, const EXP: bool> Kernel<T> for InPlace<'_, T, EXP> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<T>>(self, s: S) {
        for part in self.0.chunks_mut(S::N) {
            let some = s.mask(first_lanes(part.len()));
            // SAFETY: no more lanes than the part has.
            unsafe {
                let x = s.load_some(some, part.as_ptr());
                s.store_some(
                    some,
                    if EXP { s.fast_exp(x) } else { s.fast_ln(x) },
                    part.as_mut_ptr(),
                );
            }
        }
    }
}

/// `to = e^(from - shift)`, computed in double precision.
pub(super) fn exponentials_of_wide<T: Number>(from: &[f64], shift: f64, to: &mut [T]) {
    let mut wide = [0.0; BLOCK];
    for (from, to) in from.chunks(BLOCK).zip(to.chunks_mut(BLOCK)) {
        let wide = &mut wide[..from.len().min(to.len())];
        exponentials(from, shift, wide);
        to.iter_mut()
            .zip(wide)
            .for_each(|(to, x)| *to = T::from_f64(*x));
    }
}

/// `to = ln(from) + shift`, computed in double precision.
pub(super) fn logarithms_of<T: Number>(from: &[T], shift: f64, to: &mut [f64]) {
    for (from, to) in from.chunks(BLOCK).zip(to.chunks_mut(BLOCK)) {
        let many = from.len().min(to.len());
        let to = &mut to[..many];
        to.iter_mut().zip(from).for_each(|(to, x)| *to = x.to_f64());
        logarithms_in_place(to);
        to.iter_mut().for_each(|to| *to += shift);
    }
}

/// Entries that stay in the nearest cache between two loops over them.
const BLOCK: usize = 512;

/// The least and the greatest of `values` above `floor`; (∞, `floor`) if none is. What is not a
/// number is passed over.
pub(super) fn ends_above<T: Number>(values: &[T], floor: T) -> (T, T) {
    T::dispatch(Isa::detect(), FindEnds(values, floor))
}

/// As [`ends_above`], by all threads where the values are many.
pub(super) fn shared_ends<T: Number>(values: &[T], floor: T) -> (f64, f64) {
    let of = |part: &[T]| {
        let (low, high) = ends_above(part, floor);
        (low.to_f64(), high.to_f64())
    };
    if values.len() <= 4 * PART {
        return of(values);
    }
    let merge = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
    values
        .par_chunks(PART)
        .map(of)
        .reduce(|| (f64::INFINITY, floor.to_f64()), merge)
}

/// Values that one thread takes at a time.
const PART: usize = 1 << 15;

struct FindEnds<'a, T>(&'a [T], T);

/// Vectors that are looked at one after another, with ends of their own.
const MANY: usize = 4;

impl<T: Number> Kernel<T> for FindEnds<'_, T> {
    type Output = (T, T);
    #[inline(always)]
    fn run<S: Lanes<T>>(self, s: S) -> (T, T) {
        let FindEnds(values, floor) = self;
        let none = s.splat(floor);
        let (mut low, mut high) = ([s.splat(T::INFINITY); MANY], [none; MANY]);
        for step in values.chunks(MANY * S::N) {
            for (i, part) in step.chunks(S::N).enumerate() {
                let some = s.mask(first_lanes(part.len()));
                // SAFETY: no more lanes than the part has; the others are as if they were not
                // there.
                let x = s.blend(some, unsafe { s.load_some(some, part.as_ptr()) }, none);
                low[i] = s.blend(s.lt(none, x), s.min(x, low[i]), low[i]);
                // Of a pair with one that is not a number, `max` gives the second.
                high[i] = s.max(x, high[i]);
            }
        }
        let mut out = (T::INFINITY, floor);
        let mut lanes = [[T::ZERO; 16]; 2];
        for (low, high) in low.into_iter().zip(high) {
            // SAFETY: the arrays hold 16 ≥ N lanes.
            unsafe {
                s.store(low, lanes[0].as_mut_ptr());
                s.store(high, lanes[1].as_mut_ptr());
            }
            for (low, high) in lanes[0].into_iter().zip(lanes[1]).take(S::N) {
                out = (if low < out.0 { low } else { out.0 }, out.1.larger(high));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_vector::simd::Element;

    /// Exponentials of every instruction set, to two units in the last place.
    fn exponentials_of<T: Number>(logs: &[f64], unit: f64) {
        let logs: Vec<T> = logs.iter().map(|x| T::from_f64(*x)).collect();
        for isa in Isa::available() {
            let mut got = vec![T::ZERO; logs.len()];
            T::dispatch(
                isa,
                Exponentials {
                    from: &logs,
                    shift: T::ZERO,
                    to: &mut got,
                },
            );
            for (x, got) in logs.iter().zip(&got) {
                let (want, got) = (x.to_f64().exp(), got.to_f64());
                assert!(
                    (got - want).abs() <= 2.0 * unit * want,
                    "{isa} {x:?}: {got} {want}"
                );
            }
            let mut got = [T::ONE; 3];
            let far = [T::from_f64(f64::NEG_INFINITY), T::ZERO, T::from_f64(-1e30)];
            T::dispatch(
                isa,
                Exponentials {
                    from: &far,
                    shift: T::ZERO,
                    to: &mut got,
                },
            );
            assert_eq!(got, [T::ZERO, T::ONE, T::ZERO], "{isa}");
        }
    }

    #[test]
    fn exponentials_are_good_to_two_places() {
        let wide: Vec<f64> = (0..200_001)
            .map(|i| f64::from(i - 100_000) * 0.007)
            .collect();
        exponentials_of::<f64>(&wide, f64::EPSILON);
        let single: Vec<f64> = (0..170_001)
            .map(|i| f64::from(i - 85_000) * 0.001)
            .collect();
        exponentials_of::<f32>(&single, f64::from(f32::EPSILON));
    }

    fn logarithms_of<T: Number>(values: &[f64], unit: f64) {
        let values: Vec<T> = values.iter().map(|x| T::from_f64(*x)).collect();
        for isa in Isa::available() {
            let mut got = values.clone();
            T::dispatch(isa, InPlace::<T, false>(&mut got));
            for (x, got) in values.iter().zip(&got) {
                let (want, got) = (x.to_f64().ln(), got.to_f64());
                assert!(
                    (got - want).abs() <= 2.0 * unit * want.abs().max(1.0 / 16.0),
                    "{isa} {x:?}: {got} {want}"
                );
            }
            let mut got = [T::ZERO; 16];
            T::dispatch(isa, InPlace::<T, false>(&mut got));
            assert_eq!(got, [T::from_f64(f64::NEG_INFINITY); 16], "{isa}");
        }
    }

    #[test]
    fn logarithms_are_good_to_two_places() {
        let near = |i: i32| 0.7 + f64::from(i) * 4e-6;
        let wide = |i: i32| {
            if i % 2 == 0 {
                (f64::from(i - 100_000) * 0.007).exp()
            } else {
                near(i)
            }
        };
        let single = |i: i32| (f64::from(i - 100_000) * 0.0008).exp();
        logarithms_of::<f64>(&(0..200_000).map(wide).collect::<Vec<f64>>(), f64::EPSILON);
        logarithms_of::<f32>(
            &(0..200_000).map(single).collect::<Vec<f64>>(),
            f64::from(f32::EPSILON),
        );
    }

    #[test]
    fn ends_are_those_of_finite_logarithms() {
        for len in [0usize, 1, 15, 16, 17, 64, 65, 1000] {
            let logs: Vec<f32> = (0..len)
                .map(|i| {
                    if i % 5 == 1 {
                        f32::NEG_INFINITY
                    } else {
                        (i * 7 % 13) as f32 - 20.0
                    }
                })
                .collect();
            let wide: Vec<f64> = logs.iter().map(|l| f64::from(*l)).collect();
            let finite = || wide.iter().copied().filter(|l| l.is_finite());
            let want = (
                finite().fold(f64::INFINITY, f64::min),
                finite().fold(f64::NEG_INFINITY, f64::max),
            );
            for isa in Isa::available() {
                let (low, high) = f32::dispatch(isa, FindEnds(&logs, f32::NEG_INFINITY));
                assert_eq!((f64::from(low), f64::from(high)), want, "{isa}");
                assert_eq!(
                    f64::dispatch(isa, FindEnds(&wide, f64::NEG_INFINITY)),
                    want,
                    "{isa}"
                );
                let values: Vec<f64> = wide
                    .iter()
                    .map(|l| if l.is_finite() { l + 20.0 } else { f64::NAN })
                    .collect();
                let above = || values.iter().copied().filter(|v| *v > 0.0);
                let want = (
                    above().fold(f64::INFINITY, f64::min),
                    above().fold(0.0, f64::max),
                );
                assert_eq!(f64::dispatch(isa, FindEnds(&values, 0.0)), want, "{isa}");
            }
        }
    }
}
