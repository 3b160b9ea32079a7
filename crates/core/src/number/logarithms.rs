//! Logarithms to bases 2 and 10.
//!
//! Multiplying ln x by 1/ln 2 would round twice, and log₂ 8 might not be 3. The logarithm of the
//! mantissa is held in two parts and multiplied by a constant in two parts; the exponent is added
//! last.

use super::{log_tail, split};

/// 1 / ln 2 in two parts; the first has 32 bits, so that its product with [`parts`]' h is exact.
const PER_LN2: [f64; 2] = [1.442_695_040_721_446_3, 1.675_171_316_488_651_2e-10];
/// 1 / ln 10 in two parts, the first of 32 bits.
const PER_LN10: [f64; 2] = [4.342_944_818_781_689e-1, 2.508_294_671_164_527_5e-11];
/// log₁₀ 2 in two parts, so that products of the first with exponents are exact.
const LOG10_2: [f64; 2] = [3.010_299_956_636_117_7e-1, 3.694_239_077_158_931e-13];

/// Returns (h, l, k) with x = m · 2^k and ln m = h + l. h has 21 bits: the lower half of its word
/// is zero.
#[inline(always)]
fn parts(x: f64) -> (f64, f64, f64) {
    let (mantissa, k) = split(x);
    let f = mantissa - 1.0;
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let high = f64::from_bits((f - half_square).to_bits() & 0xffff_ffff_0000_0000);
    let low = f - high - half_square + s * (half_square + log_tail(s * s));
    (high, low, k)
}

/// Adds two numbers, |a| ≥ |b|, and a small rest, with the rounding error of the first sum (Dekker
/// 1971).
#[inline(always)]
fn sum(a: f64, b: f64, rest: f64) -> f64 {
    let s = a + b;
    (rest + ((a - s) + b)) + s
}

/// Returns `y`, or the value at the ends of the range: −∞ at 0, ∞ at ∞, NaN below 0.
#[inline(always)]
fn ends(x: f64, y: f64) -> f64 {
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    let y = if x == f64::INFINITY { x } else { y };
    if x < 0.0 || x.is_nan() { f64::NAN } else { y }
}

/// log₂ x within 1 ulp, exact for powers of 2: FreeBSD's msun `e_log2.c`, whose bits it has.
#[inline(always)]
pub fn log2(x: f64) -> f64 {
    let (high, low, k) = parts(x);
    let rest = (low + high) * PER_LN2[1] + low * PER_LN2[0];
    ends(x, sum(k, high * PER_LN2[0], rest))
}

/// log₁₀ x within 1 ulp: FreeBSD's msun `e_log10.c`, whose bits it has.
#[inline(always)]
pub fn log10(x: f64) -> f64 {
    let (high, low, k) = parts(x);
    let rest = k * LOG10_2[1] + (low + high) * PER_LN10[1] + low * PER_LN10[0];
    ends(x, sum(k * LOG10_2[0], high * PER_LN10[0], rest))
}
