//! e^x − 1 and the hyperbolic functions that are made of it.
//!
//! All need e^x − 1 with more than 53 bits where terms cancel, so [`quarter_expm1`] returns it in
//! two parts. Dividing by four keeps it finite where sinh x is finite and e^x is not.

use super::power::lead;
use super::{LN2_HI, LN2_LO, exp_scaled};

/// Computes e^r − 1 − r for |r| ≤ 0.35 by the Taylor series, as in `exp`. Terms are grouped by
/// pairs and pairs of pairs (Estrin 1960), which wait for each other less than Horner's chain. What
/// is added to ½ is small, so the sum is rounded once in effect.
///
/// Up to the thirteenth power: at |r| = 0.35 the next term is below 10⁻¹⁶ of the whole.
#[inline(always)]
fn exp_rest(r: f64) -> f64 {
    let square = r * r;
    let first = r * (1.0 / 6.0) + square * (1.0 / 24.0 + r * (1.0 / 120.0));
    let second =
        (1.0 / 720.0 + r * (1.0 / 5_040.0)) + square * (1.0 / 40_320.0 + r * (1.0 / 362_880.0));
    let third = (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0))
        + square * (1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0));
    let fourth = square * square;
    square * (0.5 + (first + fourth * (second + fourth * third)))
}

/// Returns (e^x − 1)/4 and what its rounding left; without meaning near the subnormal numbers.
///
/// With x = k ln 2 + r it is (2^k − 1 + 2^k r) / 4, summed in two parts, and 2^k / 4 times the rest
/// of e^r.
#[inline(always)]
fn quarter_expm1(x: f64) -> (f64, f64) {
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52, as in `exp`
    // NaN passes.
    // Below −64 e^x − 1 is −1, above 710.8 sinh x overflows; between them k fits the exponent
    // below.
    let x = if x < -64.0 { -64.0 } else { x };
    let x = if x > 710.8 { 710.8 } else { x };
    let shifted = x * std::f64::consts::LOG2_E + SHIFT;
    let k = shifted - SHIFT;
    let (first, second) = (x - k * LN2_HI, k * LN2_LO);
    let r = first - second;
    // What the rounding of r lost.
    let c = (first - r) - second;
    let unit = f64::from_bits(
        shifted
            .to_bits()
            .wrapping_sub(SHIFT.to_bits())
            .wrapping_add(1021)
            << 52,
    );
    // unit is 2^k / 4: 1021 is the exponent's bias less two.
    let (base, step) = (unit - 0.25, unit * r);
    let s = base + step;
    let rest = ((base - s) + step) + unit * (exp_rest(r) + c);
    let y = s + rest;
    (y, rest - (y - s))
}

/// Computes e^x − 1 within 2 ulp. Below 10⁻¹⁷ it is x itself.
#[inline(always)]
pub fn expm1(x: f64) -> f64 {
    let y = 4.0 * quarter_expm1(x).0;
    if x.abs() < 1e-17 || x.is_nan() { x } else { y }
}

/// Returns (n + m) / (d + e) in two parts, the first of 26 bits, for m and e that are tiny against
/// n and d. A product of two parts of 26 bits is exact, so the remainder loses nothing that
/// matters.
#[inline(always)]
fn quotient(n: f64, m: f64, d: f64, e: f64) -> (f64, f64) {
    let inverse = 1.0 / d;
    let (high, divisor) = (lead(n * inverse), lead(d));
    let left = (n - high * divisor) - high * ((d - divisor) + e);
    (high, (left + m) * inverse)
}

/// Computes sinh x within 2 ulp: with h = (e^|x| − 1) / 2 it is h + h / (2h + 1), as in msun's
/// `e_sinh.c`. This form does not cancel near zero, where (e^x − e^−x)/2 does.
#[inline(always)]
pub fn sinh(x: f64) -> f64 {
    let (quarter, rest) = quarter_expm1(x.abs());
    let (half, rest) = (2.0 * quarter, 2.0 * rest);
    let d = 2.0 * half + 1.0;
    // The rounding error of 2h + 1, from its larger term.
    let lost = if half > 0.5 {
        (2.0 * half - d) + 1.0
    } else {
        (1.0 - d) + 2.0 * half
    };
    let (high, low) = quotient(half, rest, d, lost + 2.0 * rest);
    let sum = half + high;
    let y = sum + (((half - sum) + high) + (low + rest));
    // From e^40 on the quotient does not show, and in the end it is none.
    let y = if half > 1e17 { half } else { y };
    (if x.abs() < 1e-9 { x.abs() } else { y }).copysign(x)
}

/// Computes cosh x within 2 ulp: h + 1 / 4h with h = e^|x| / 2.
///
/// Both terms are positive, so nothing cancels and one part of e^|x| suffices.
#[inline(always)]
pub fn cosh(x: f64) -> f64 {
    let half = exp_scaled(x.abs(), 0.5);
    half + 0.25 / half
}

/// Computes tanh x within 1 ulp: with t = e^2|x| − 1 it is t / (t + 2), after msun's `s_tanh.c`.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    let (quarter, rest) = quarter_expm1(2.0 * x.abs());
    let (t, rest) = (4.0 * quarter, 4.0 * rest);
    let d = t + 2.0;
    let (high, low) = quotient(
        t,
        rest,
        d,
        (if t > 2.0 {
            (t - d) + 2.0
        } else {
            (2.0 - d) + t
        }) + rest,
    );
    // From e^40 on the quotient is 1, and in the end ∞ / ∞.
    let y = if t > 1e17 { 1.0 } else { high + low };
    (if x.abs() < 1e-9 { x.abs() } else { y }).copysign(x)
}
