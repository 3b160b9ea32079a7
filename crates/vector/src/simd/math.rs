//! Exponential, logarithm and (in single precision) cube root of vectors, within one unit in the
//! last place.
//!
//! Both reduce the argument by powers of two and use the polynomials of Cephes (`exp` of `f32`),
//! Taylor (`exp` of `f64`) and fdlibm (logarithms). They take and return infinities, NaN, zeros and
//! denormals as the scalar functions do.

use super::{Element, Isa, Kernel, Lanes};

/// Element types with transcendental functions.
pub trait Transcendental: Element {
    /// eˣ of every lane.
    fn exp<S: Lanes<Self>>(s: S, x: S::V) -> S::V;
    /// The natural logarithm of every lane.
    fn ln<S: Lanes<Self>>(s: S, x: S::V) -> S::V;
}

/// Replaces every value by its exponential.
pub fn exp_in_place<T: Transcendental>(isa: Isa, values: &mut [T]) {
    T::dispatch(isa, Map(values, Exp));
}

/// Replaces every value by its natural logarithm.
pub fn ln_in_place<T: Transcendental>(isa: Isa, values: &mut [T]) {
    T::dispatch(isa, Map(values, Ln));
}

/// Replaces every value by its power by a third: that of what is below 0 is not a number.
pub fn third_power_in_place(isa: Isa, values: &mut [f32]) {
    f32::dispatch(isa, Map(values, ThirdPower));
}

/// A function of every lane.
trait Function<T: Element> {
    fn compute<S: Lanes<T>>(s: S, x: S::V) -> S::V;
}

struct Exp;
impl<T: Transcendental> Function<T> for Exp {
    #[inline(always)]
    fn compute<S: Lanes<T>>(s: S, x: S::V) -> S::V {
        T::exp(s, x)
    }
}

struct Ln;
impl<T: Transcendental> Function<T> for Ln {
    #[inline(always)]
    fn compute<S: Lanes<T>>(s: S, x: S::V) -> S::V {
        T::ln(s, x)
    }
}

struct ThirdPower;
impl Function<f32> for ThirdPower {
    #[inline(always)]
    fn compute<S: Lanes<f32>>(s: S, x: S::V) -> S::V {
        third_power(s, x)
    }
}

/// Replaces values by what a function makes of them.
struct Map<'a, T, F>(&'a mut [T], F);

impl<T: Element, F: Function<T>> Kernel<T> for Map<'_, T, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<T>>(self, s: S) {
        let mut chunks = self.0.chunks_exact_mut(S::N);
        for chunk in &mut chunks {
            // SAFETY: the chunk holds N values.
            unsafe { s.store(F::compute(s, s.load(chunk.as_ptr())), chunk.as_mut_ptr()) };
        }
        let rest = chunks.into_remainder();
        let mut last = [T::ONE; 16];
        last[..rest.len()].copy_from_slice(rest);
        // SAFETY: the array holds 16 ≥ N values.
        unsafe { s.store(F::compute(s, s.load(last.as_ptr())), last.as_mut_ptr()) };
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

/// x = m · 2^(3k + r) with m in [√½, √2) and r of −1, 0, 1: the root of m by a polynomial (relative
/// error 1.3 · 10⁻⁶) and one step of Newton's, whose slope another polynomial gives (5 · 10⁻³), the
/// residual without rounding; times the root of 2^r in two parts.
#[inline(always)]
fn third_power<S: Lanes<f32>>(s: S, x: S::V) -> S::V {
    const ROOT: [f32; 6] = [
        0.026_954_921,
        -0.179_556_85,
        0.510_965_8,
        -0.836_069_76,
        1.056_015_1,
        0.421_689_78,
    ];
    const SLOPE: [f32; 3] = [-0.172_136_62, 0.580_073_24, -0.741_969_76];
    // The roots of 2 and of ½, and what single precision leaves of them.
    const TWO: (f32, f32) = (1.259_921_1, -2.401_870_2e-8);
    const HALF: (f32, f32) = (0.793_700_5, 9.760_193e-9);
    let zero = s.splat(0.0);
    let denormal = s.lt(x, s.splat(f32::MIN_POSITIVE));
    let (m, e) = s.split(s.blend(denormal, s.mul(x, s.splat(16_777_216.0)), x));
    let e = s.sub(e, s.blend(denormal, s.splat(24.0), zero));
    let k = s.round(s.mul(e, s.splat(1.0 / 3.0)));
    let r = s.fma(k, s.splat(-3.0), e);
    let (y, slope) = (horner(s, &ROOT, m), horner(s, &SLOPE, m));
    let square = s.mul(y, y);
    let lost = s.fma(y, y, s.sub(zero, square));
    let residual = s.fma(lost, y, s.fma(square, y, s.sub(zero, m)));
    let step = s.mul(residual, slope);
    let (up, down) = (s.lt(zero, r), s.lt(r, zero));
    let of = |none: f32, two: f32, half: f32| {
        let below = s.blend(down, s.splat(half), s.splat(none));
        s.blend(up, s.splat(two), below)
    };
    let (root, rest) = (of(1.0, TWO.0, HALF.0), of(0.0, TWO.1, HALF.1));
    let y = s.scale2(s.fma(root, y, s.fma(rest, y, s.mul(root, step))), k);
    at_ends(s, x, y)
}

/// `y`, but the root of `x` where that is 0, infinite, below 0 or NaN.
#[inline(always)]
fn at_ends<S: Lanes<f32>>(s: S, x: S::V, y: S::V) -> S::V {
    let (zero, infinity) = (s.splat(0.0), s.splat(f32::INFINITY));
    let y = s.blend(s.lt(x, infinity), y, s.add(x, infinity));
    let y = s.blend(s.eq(x, zero), zero, y);
    s.blend(s.lt(x, zero), s.sub(infinity, infinity), y)
}

/// The polynomial of `coefficients`, the highest power first.
#[inline(always)]
fn horner<S: Lanes<f32>, const N: usize>(s: S, coefficients: &[f32; N], x: S::V) -> S::V {
    let mut sum = s.splat(coefficients[0]);
    for &coefficient in &coefficients[1..] {
        sum = s.fma(sum, x, s.splat(coefficient));
    }
    sum
}

/// What the functions need to know of a type.
pub struct Constants<T, const E: usize> {
    /// Arguments of `exp` beyond these give 0 and infinity.
    pub exp_range: (T, T),
    /// log₂ e.
    pub log2_e: T,
    /// ln 2 in two parts, of which multiples of the first by exponents are exact.
    pub ln2: (T, T),
    /// (eʳ - 1 - r) / r², highest power first.
    pub exp: [T; E],
}

/// Those of single precision, which generated code has too.
pub const SINGLE: Constants<f32, 6> = Constants {
    exp_range: (-104.0, 89.0),
    log2_e: core::f32::consts::LOG2_E,
    ln2: (0.693_359_4, -2.121_944_4e-4),
    exp: [
        1.987_569_1e-4,
        1.398_199_9e-3,
        8.333_452e-3,
        4.166_579_6e-2,
        0.166_666_65,
        0.5,
    ],
};

#[inline(always)]
fn exp<T: Element, S: Lanes<T>, const E: usize>(s: S, c: &Constants<T, E>, x: S::V) -> S::V {
    // A NaN is the second argument, which `min` and `max` then return.
    let x = s.max(s.splat(c.exp_range.0), s.min(s.splat(c.exp_range.1), x));
    let n = s.round(s.mul(x, s.splat(c.log2_e)));
    let minus_n = s.sub(s.splat(T::ZERO), n);
    let r = s.fma(
        minus_n,
        s.splat(c.ln2.1),
        s.fma(minus_n, s.splat(c.ln2.0), x),
    );
    let mut p = s.splat(c.exp[0]);
    for &coefficient in &c.exp[1..] {
        p = s.fma(p, r, s.splat(coefficient));
    }
    let e = s.add(s.fma(p, s.mul(r, r), r), s.splat(T::ONE));
    s.scale2(e, n)
}

/// The logarithm's polynomial in z = s²: even and odd powers of z apart, highest first.
struct LnConstants<T, const A: usize, const B: usize> {
    ln2: (T, T),
    odd: [T; A],
    even: [T; B],
    /// The smallest normal number, the power of two that lifts denormals, and its exponent.
    smallest: T,
    lift: T,
    lifted: T,
}

#[inline(always)]
fn ln<T: Element, S: Lanes<T>, const A: usize, const B: usize>(
    s: S,
    c: &LnConstants<T, A, B>,
    x: S::V,
) -> S::V {
    let (zero, one, infinity) = (s.splat(T::ZERO), s.splat(T::ONE), s.splat(T::INFINITY));
    let denormal = s.lt(x, s.splat(c.smallest));
    let (m, e) = s.split(s.blend(denormal, s.mul(x, s.splat(c.lift)), x));
    let e = s.sub(e, s.blend(denormal, s.splat(c.lifted), zero));
    let f = s.sub(m, one);
    let q = s.div(f, s.add(f, s.splat(T::from_f64(2.0))));
    let z = s.mul(q, q);
    let w = s.mul(z, z);
    let horner = |coefficients: &[T]| {
        coefficients.iter().fold(zero, |sum, &coefficient| {
            s.mul_add(sum, w, s.splat(coefficient))
        })
    };
    let rest = s.add(s.mul(z, horner(&c.odd)), s.mul(w, horner(&c.even)));
    let half = s.mul(s.splat(T::from_f64(0.5)), s.mul(f, f));
    let low = s.add(s.mul(q, s.add(half, rest)), s.mul(e, s.splat(c.ln2.1)));
    let y = s.add(s.add(s.sub(low, half), f), s.mul(e, s.splat(c.ln2.0)));
    let y = s.blend(s.lt(x, infinity), y, s.add(x, infinity));
    let y = s.blend(s.eq(x, zero), s.sub(zero, infinity), y);
    s.blend(s.lt(x, zero), s.sub(infinity, infinity), y)
}

impl Transcendental for f32 {
    #[inline(always)]
    fn exp<S: Lanes<f32>>(s: S, x: S::V) -> S::V {
        exp(s, &SINGLE, x)
    }
    #[inline(always)]
    fn ln<S: Lanes<f32>>(s: S, x: S::V) -> S::V {
        let c = LnConstants {
            ln2: (f32::from_bits(0x3f31_7180), f32::from_bits(0x3717_f7d1)),
            odd: [0.284_987_87, 0.666_666_6],
            even: [0.242_790_79, 0.400_009_72],
            smallest: f32::MIN_POSITIVE,
            lift: 33_554_432.0,
            lifted: 25.0,
        };
        ln(s, &c, x)
    }
}

impl Transcendental for f64 {
    #[inline(always)]
    fn exp<S: Lanes<f64>>(s: S, x: S::V) -> S::V {
        // 1/13! to 1/2!.
        let factorials: [f64; 12] = [
            6_227_020_800.0,
            479_001_600.0,
            39_916_800.0,
            3_628_800.0,
            362_880.0,
            40_320.0,
            5_040.0,
            720.0,
            120.0,
            24.0,
            6.0,
            2.0,
        ];
        let c = Constants {
            exp_range: (-746.0, 710.0),
            log2_e: core::f64::consts::LOG2_E,
            ln2: (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10),
            exp: factorials.map(|n| 1.0 / n),
        };
        exp(s, &c, x)
    }
    #[inline(always)]
    fn ln<S: Lanes<f64>>(s: S, x: S::V) -> S::V {
        let c = LnConstants {
            ln2: (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10),
            odd: [
                1.479_819_860_511_658_6e-1,
                1.818_357_216_161_805e-1,
                2.857_142_874_366_239e-1,
                6.666_666_666_666_735e-1,
            ],
            even: [
                1.531_383_769_920_937_3e-1,
                2.222_219_843_214_978_4e-1,
                3.999_999_999_940_942e-1,
            ],
            smallest: f64::MIN_POSITIVE,
            lift: 18_014_398_509_481_984.0,
            lifted: 54.0,
        };
        ln(s, &c, x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRANGE: [f64; 14] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e-45,
        1e-40,
        5e-324,
        1e-310,
        1e300,
        -1e300,
        3.4028235e38,
    ];

    /// The largest error in units in the last place of the reference, for all values of `x`.
    fn worst_f32(isa: Isa, x: &[f32], run: fn(Isa, &mut [f32]), reference: fn(f64) -> f64) -> f64 {
        let mut got = x.to_vec();
        run(isa, &mut got);
        let mut worst = 0.0f64;
        for (&x, &y) in x.iter().zip(&got) {
            let want = reference(f64::from(x));
            let rounded = want as f32;
            if rounded.is_finite() {
                let next = f32::from_bits(rounded.abs().to_bits() + 1);
                let ulp = f64::from(next) - f64::from(rounded.abs());
                let error = if ulp.is_finite() {
                    (f64::from(y) - want).abs() / ulp
                } else {
                    0.0
                };
                assert!(error <= 1.0, "{isa} f({x:e}) = {y:e}, not {want:e}");
                worst = worst.max(error);
            } else {
                assert!(
                    y.to_bits() == rounded.to_bits() || y.is_nan() && rounded.is_nan(),
                    "{isa} f({x:e}) = {y:e}"
                );
            }
        }
        worst
    }

    /// f64 against the standard library, whose error is just above half a unit: neighbours at most.
    fn check_f64(isa: Isa, x: &[f64], run: fn(Isa, &mut [f64]), reference: fn(f64) -> f64) {
        let mut got = x.to_vec();
        run(isa, &mut got);
        for (&x, &y) in x.iter().zip(&got) {
            let want = reference(x);
            let near = y.is_sign_negative() == want.is_sign_negative()
                && y.to_bits().abs_diff(want.to_bits()) <= 1;
            assert!(
                near || y == want || y.is_nan() && want.is_nan(),
                "{isa} f({x:e}) = {y:e}, not {want:e}"
            );
        }
    }

    #[test]
    fn single_precision_is_within_one_unit() {
        let all = (0..u32::MAX).step_by(4999).map(f32::from_bits);
        let near_one = (0x3f00_0000u32..0x4000_0000)
            .step_by(101)
            .map(f32::from_bits);
        let range = (-1100..=900).flat_map(|i| [i as f32 * 0.1, i as f32 * 0.1 + 1e-3]);
        let x: Vec<f32> = all
            .chain(near_one)
            .chain(range)
            .chain(STRANGE.map(|x| x as f32))
            .collect();
        for isa in Isa::available() {
            let exp = worst_f32(isa, &x, exp_in_place, f64::exp);
            let ln = worst_f32(isa, &x, ln_in_place, f64::ln);
            let third = worst_f32(isa, &x, third_power_in_place, |x| {
                if x < 0.0 { f64::NAN } else { x.powf(1.0 / 3.0) }
            });
            println!("{isa}: exp {exp:.3} ln {ln:.3} third power {third:.3} units");
        }
    }

    #[test]
    fn double_precision_is_within_one_unit() {
        let all = (0..1u64 << 20).map(|i| f64::from_bits(i << 44 | (i * 7919)));
        let range = (-76_000..72_000).map(|i| f64::from(i) * 0.010_000_1);
        let near_one = (0..100_000).map(|i| 0.5 + f64::from(i) * 1.500_001e-5);
        let x: Vec<f64> = all.chain(range).chain(near_one).chain(STRANGE).collect();
        for isa in Isa::available() {
            check_f64(isa, &x, exp_in_place, f64::exp);
            check_f64(isa, &x, ln_in_place, f64::ln);
        }
    }

    #[test]
    fn rows_of_any_length() {
        for n in [0, 1, 3, 15, 16, 17, 40] {
            for isa in Isa::available() {
                let mut row = vec![0.0f64; n];
                exp_in_place(isa, &mut row);
                assert!(row.iter().all(|&y| y == 1.0));
                ln_in_place(isa, &mut row);
                assert!(row.iter().all(|&y| y == 0.0));
            }
        }
    }
}
