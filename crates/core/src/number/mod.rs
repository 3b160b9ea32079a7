//! The elementary functions behind every reference value: the same bits on every machine.
//!
//! The mathematical library of a system differs between systems and versions by an ulp or two, and
//! so would counts in bins and neighbours. These functions are therefore written out. They are
//! straight-line code (choices are blends, not branches), so that a loop over them vectorises and
//! still gives the bits of the scalar call; no operation is ever contracted to a fused
//! multiply-add. Kernels for vectors (`zipfold-vector`) repeat the same operations in the same
//! order.
//!
//! Each function states its largest error in ulps, to which tests hold it. The algorithms are those
//! of FreeBSD's msun (Ng and others, 1984–2004) where it has one of that form, with its
//! coefficients; else textbook reductions. What is rare (huge angles, whole powers beyond 64), and
//! the logarithm of the gamma function, comes from the pinned crate `libm`.

mod arcs;
mod compensated;
mod errors;
pub mod function;
mod hyperbolic;
mod logarithms;
mod power;
mod squares;
#[cfg(test)]
mod tests;
mod trigonometric;
pub use arcs::{acos, asin, atan, atan2};
pub(crate) use compensated::{CompensatedSum, compensated};
pub use errors::{erf, erfc};
pub use function::{Function, Function2};
pub use hyperbolic::{cosh, expm1, sinh, tanh};
pub use logarithms::{log2, log10};
pub use power::{Power, pow, pow_halves, pow_real, powi};
pub use squares::{largest_square, least_square};
pub use trigonometric::{Cos, Sin, Tan, cos, sin, tan};

/// ln 2 in two parts. The first has 20 zero bits at its end, so that its product with an exponent
/// of up to 20 bits is exact (Cody and Waite, *Software Manual for the Elementary Functions*,
/// 1980).
const LN2_HI: f64 = 6.931_471_803_691_238e-1;
const LN2_LO: f64 = 1.908_214_929_270_587_7e-10;

/// Splits a positive, finite x into (m, k) with x = m · 2^k and m in [√½, √2), so that the
/// logarithm of m lies around 0 on both sides. Subnormal numbers are scaled by 2⁵⁴ first.
///
/// The constant added to the bits moves the border between two exponents from 1 to √2: mantissas
/// above √2 carry into the exponent.
#[inline(always)]
fn split(x: f64) -> (f64, f64) {
    let tiny = x < f64::MIN_POSITIVE;
    let scaled = if tiny {
        x * 18_014_398_509_481_984.0
    } else {
        x
    };
    // Add the distance from √½ to 1 before reading the exponent.
    let shifted = scaled
        .to_bits()
        .wrapping_add(0x3ff0_0000_0000_0000 - 0x3fe6_a09e_0000_0000);
    let mantissa =
        f64::from_bits((shifted & 0x000f_ffff_ffff_ffff).wrapping_add(0x3fe6_a09e_0000_0000));
    let exponent = ((shifted >> 52) as i64) - 1023;
    (mantissa, exponent as f64 - if tiny { 54.0 } else { 0.0 })
}

/// Rounds to the nearest integer, halves to even: as `round_ties_even`, which is a call where the
/// processor is not known to have the instruction.
#[inline(always)]
pub fn round_even(x: f64) -> f64 {
    // Adding 1.5 · 2^52 rounds to an integer; from 2^51 on that might not, and numbers from 2^52 on
    // are integers.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    if x.abs() < 2_251_799_813_685_248.0 {
        ((x + SHIFT) - SHIFT).copysign(x)
    } else {
        x.round_ties_even()
    }
}

/// Computes e^x within 1 ulp: x = k ln 2 + r with |r| ≤ ln 2 / 2 (Cody and Waite), then a Taylor
/// polynomial of degree 13 in r, whose remainder r¹⁴/14! is below 2⁻⁵⁷ of the result.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    exp_scaled(x, 1.0)
}

/// Computes `scale` · e^x for a scale of 1 or ½. With ½ the result stays in range where e^x
/// overflows but cosh x does not.
#[inline(always)]
fn exp_scaled(x: f64, scale: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52: adding it rounds to an integer
    let clamped = x.clamp(-746.0, 711.0);
    let shifted = clamped * std::f64::consts::LOG2_E + SHIFT;
    let k = shifted - SHIFT;
    let r = (clamped - k * LN2_HI) - k * LN2_LO;
    let p = exp_tail(r);
    // 2^k in two factors, so that the ends of the range (subnormal results, 2^1024) come out right.
    // The half of k is rounded as k is, since AVX2 shifts no signed numbers of 64 bits; of a NaN
    // all is wrong, and passed over.
    let halved = k * 0.5 + SHIFT;
    let power = |k: u64| f64::from_bits(k.wrapping_add(1023) << 52);
    let a = power(halved.to_bits().wrapping_sub(SHIFT.to_bits()));
    let b = power(shifted.to_bits().wrapping_sub(halved.to_bits()));
    let y = (1.0 + p) * (a * scale) * b;
    if x.is_nan() { x } else { y }
}

/// Computes e^r − 1 on |r| ≤ 0.35 by its Taylor series, Horner's scheme, coefficients 1/n!.
#[inline(always)]
fn exp_tail(r: f64) -> f64 {
    let q = 1.0 / 6_227_020_800.0;
    let q = q * r + 1.0 / 479_001_600.0;
    let q = q * r + 1.0 / 39_916_800.0;
    let q = q * r + 1.0 / 3_628_800.0;
    let q = q * r + 1.0 / 362_880.0;
    let q = q * r + 1.0 / 40_320.0;
    let q = q * r + 1.0 / 5_040.0;
    let q = q * r + 1.0 / 720.0;
    let q = q * r + 1.0 / 120.0;
    let q = q * r + 1.0 / 24.0;
    let q = q * r + 1.0 / 6.0;
    let q = q * r + 0.5;
    r + r * r * q
}

/// Computes ln x within 1 ulp, after msun's `e_log.c`: x = 2^k m, and ln m = 2 artanh s of
/// s = f/(2 + f), f = m − 1. The series of artanh has odd powers only; f − f²/2 is split off,
/// because it is known exactly.
#[inline(always)]
pub fn log(x: f64) -> f64 {
    let (mantissa, k) = split(x);
    let f = mantissa - 1.0;
    // ln((1 + s)/(1 − s)) = 2 artanh s.
    let s = f / (2.0 + f);
    let z = s * s;
    let half_square = 0.5 * f * f;
    let y = s * (half_square + log_tail(z)) + k * LN2_LO - half_square + f + k * LN2_HI;
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    let y = if x == f64::INFINITY { x } else { y };
    if x < 0.0 || x.is_nan() { f64::NAN } else { y }
}

/// Evaluates msun's minimax polynomial of the logarithm in z = s², even and odd powers apart, which
/// can run at the same time.
#[inline(always)]
fn log_tail(z: f64) -> f64 {
    let w = z * z;
    let even = w
        * (3.999_999_999_940_942e-1
            + w * (2.222_219_843_214_978_4e-1 + w * 1.531_383_769_920_937_3e-1));
    let odd = z
        * (6.666_666_666_666_735e-1
            + w * (2.857_142_874_366_239e-1
                + w * (1.818_357_216_161_805e-1 + w * 1.479_819_860_511_658_6e-1)));
    even + odd
}

/// Computes ln(1 + x) within 2 ulp: ln of u = 1 + x as rounded, less the relative amount that
/// rounding added to u.
#[inline(always)]
pub fn log1p(x: f64) -> f64 {
    let u = 1.0 + x;
    let added = (u - 1.0) - x;
    let y = log(u) - added / u;
    // At the ends of the range u says it all.
    if u == 0.0 || u == f64::INFINITY {
        log(u)
    } else {
        y
    }
}

/// Returns the larger of two numbers; 0 is larger than −0, so that the order of the operands makes
/// no difference; NaN if either is NaN. `f64::max` does neither. The bits of equal numbers are
/// combined by `and`: they differ in the sign of zero at most.
#[inline(always)]
pub fn max(a: f64, b: f64) -> f64 {
    // Equal numbers differ in the sign of zero at most.
    let tie = f64::from_bits(a.to_bits() & b.to_bits());
    let other = if a > b || a.is_nan() { a } else { b };
    if a == b { tie } else { other }
}

/// Returns the smaller of two numbers; −0 is smaller than 0; NaN if either is NaN.
#[inline(always)]
pub fn min(a: f64, b: f64) -> f64 {
    let tie = f64::from_bits(a.to_bits() | b.to_bits());
    let other = if a < b || a.is_nan() { a } else { b };
    if a == b { tie } else { other }
}

/// Counts the ones among the bits of a whole number from 0 to 2⁵³ − 1; NaN for any other number.
/// Beyond 2⁵³ an f64 does not hold all whole numbers, so the bits would not be the ones that the
/// user wrote.
#[inline(always)]
pub fn popcount(x: f64) -> f64 {
    // A cast saturates and drops fractions; comparing back tells whether it lost something.
    let whole = x as u64;
    if whole as f64 == x && x < 9_007_199_254_740_992.0 {
        f64::from(whole.count_ones())
    } else {
        f64::NAN
    }
}

/// Returns the whole number that has the ones that both have; NaN unless both are whole numbers from
/// 0 to 2⁵³ − 1.
#[inline(always)]
pub fn bitand(a: f64, b: f64) -> f64 {
    let (whole_a, whole_b) = (a as u64, b as u64);
    let is_whole = |whole: u64, x: f64| whole as f64 == x && x < 9_007_199_254_740_992.0;
    if is_whole(whole_a, a) && is_whole(whole_b, b) {
        (whole_a & whole_b) as f64
    } else {
        f64::NAN
    }
}

/// Returns −1, 0 or 1 with the sign of x; NaN for NaN.
#[inline(always)]
pub fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        x
    }
}
