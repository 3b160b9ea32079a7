//! Powers x^p.
//!
//! Which algorithm computes a power depends on the exponent alone. A formula has one exponent for
//! all pairs, so a loop over bases takes one way throughout and has no branch. Whole and half
//! exponents are products and a root: they are exact in their sign, fast, and monotone, which
//! interval bounds need. Real exponents are e^(p ln x) with the logarithm in two parts.

use super::{LN2_HI, LN2_LO, exp, split};

/// The algorithm for an exponent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Power {
    /// x^n by multiplication, |n| ≤ 64. Up to 11 roundings.
    Whole(i32),
    /// x^(n/2) for odd n, |n/2| ≤ 16: one square root, then multiplication.
    Halves(i32),
    /// x^p by logarithm and exponential.
    Real(f64),
    /// By `libm`: infinite and NaN exponents, and whole ones that are too large to multiply.
    Rare(f64),
}

impl Power {
    /// Returns the algorithm for x^p.
    #[inline(always)]
    pub fn for_exponent(p: f64) -> Self {
        let whole = p == p.trunc();
        if whole && p.abs() <= 64.0 {
            Power::Whole(p as i32)
        } else if 2.0 * p == (2.0 * p).trunc() && p.abs() <= 16.0 {
            Power::Halves((2.0 * p) as i32)
        } else if whole || !p.is_finite() {
            Power::Rare(p)
        } else {
            Power::Real(p)
        }
    }
}

/// Returns whether [`Power::for_exponent`] is [`Power::Real`], by straight-line code for loops over
/// exponents.
#[inline(always)]
pub(super) fn is_real(p: f64) -> bool {
    // Numbers from 2^52 on are whole, and below them adding it rounds to one.
    const SHIFT: f64 = 4_503_599_627_370_496.0;
    let is_whole = |v: f64| (v >= SHIFT) | ((v + SHIFT) - SHIFT == v);
    let a = p.abs();
    // As it is of exponents without end, it must not be of the ones that are none.
    !(is_whole(a) | p.is_nan() | (is_whole(2.0 * a) & (a <= 16.0)))
}

/// Computes x^p.
#[inline]
pub fn pow(x: f64, p: f64) -> f64 {
    match Power::for_exponent(p) {
        Power::Whole(n) => powi(x, n),
        Power::Halves(n) => pow_halves(x, n),
        Power::Real(p) => pow_real(x, p),
        Power::Rare(p) => libm::pow(x, p),
    }
}

/// Computes x^(n/2) for odd n: √x times a whole power of x; NaN for x < 0, and the reciprocal for n
/// < 0.
#[inline(always)]
pub fn pow_halves(x: f64, n: i32) -> f64 {
    let root = x.sqrt();
    let power = if n.abs() == 1 {
        root
    } else {
        root * powi(x, n.abs() / 2)
    };
    // Not √−0 = −0: as in C, a power of −0 by a fraction is 0 or ∞.
    let power = power + 0.0;
    if n < 0 { 1.0 / power } else { power }
}

/// Computes x^n by repeated squaring, the lowest bit of n first; a negative n gives the reciprocal
/// of the positive power. x^13 = x · x⁴ · x⁸ (13 is 1101 in binary). The order of products is part
/// of the definition: kernels repeat it.
#[inline]
pub fn powi(x: f64, n: i32) -> f64 {
    let mut result = 1.0;
    let mut square = x;
    let mut left = n.unsigned_abs();
    let mut started = false;
    while left > 0 {
        if left & 1 == 1 {
            result = if started { result * square } else { square };
            started = true;
        }
        left >>= 1;
        if left > 0 {
            square *= square;
        }
    }
    if n < 0 { 1.0 / result } else { result }
}

/// Returns the leading 26 bits of a number. A product of two such numbers has 52 bits and is exact
/// (Dekker 1971), which replaces a fused multiply-add.
#[inline(always)]
pub(super) fn lead(v: f64) -> f64 {
    f64::from_bits(v.to_bits() & 0xffff_ffff_f800_0000)
}

/// Returns ln x of a positive, finite x as the sum of two numbers, with 58 bits or more in all. A
/// power multiplies the error of the logarithm by p ln x, up to 700, so the 53 bits of `log` would
/// not do.
///
/// x = 2^k m with m in [√½, √2); ln m = 2 artanh(s) with s = (m − 1)/(m + 1) held in two parts, its
/// series summed in f64 from the third power on, where it is less than a hundredth of the whole.
#[inline(always)]
fn log_parts(x: f64) -> (f64, f64) {
    let (m, k) = split(x);
    let f = m - 1.0;
    let d = m + 1.0;
    // What the rounding of d = m + 1 lost.
    let d_rest = m - (d - 1.0);
    let s_hi = lead(f / d);
    let d_hi = lead(d);
    // The remainder of the division f / d, divided by d: the low part of the quotient.
    let s_lo = ((f - s_hi * d_hi) - s_hi * ((d - d_hi) + d_rest)) / d;
    let s = s_hi + s_lo;
    let z = s * s;
    let series = 1.0 / 21.0;
    let series = series * z + 1.0 / 19.0;
    let series = series * z + 1.0 / 17.0;
    let series = series * z + 1.0 / 15.0;
    let series = series * z + 1.0 / 13.0;
    let series = series * z + 1.0 / 11.0;
    let series = series * z + 1.0 / 9.0;
    let series = series * z + 1.0 / 7.0;
    let series = series * z + 1.0 / 5.0;
    let series = series * z + 1.0 / 3.0;
    let low = 2.0 * (s_lo + s * z * series) + k * LN2_LO;
    // The two large terms are added without error (Knuth's two-sum), their rest goes to the low
    // part.
    let (a, b) = (k * LN2_HI, 2.0 * s_hi);
    let sum = a + b;
    let back = sum - a;
    let rest = (a - (sum - back)) + (b - back);
    let low = low + rest;
    let high = sum + low;
    (high, low - (high - sum))
}

/// Computes x^p = e^(p ln x) for an exponent that is not whole, with ln x and its product with p in
/// two parts each; NaN for x < 0. The low part of the product enters as e^(a + b) ≈ e^a (1 + b).
#[inline(always)]
pub fn pow_real(x: f64, p: f64) -> f64 {
    let (l_hi, l_lo) = log_parts(x);
    let product = p * l_hi;
    let (p_hi, l_lead) = (lead(p), lead(l_hi));
    let (p_lo, l_rest) = (p - p_hi, l_hi - l_lead);
    // The exact product p · l_hi less its rounded value, by Dekker's splitting, and the low part of
    // the logarithm.
    let rest = (p_hi * l_lead - product) + p_hi * l_rest + p_lo * l_lead + p_lo * l_rest + p * l_lo;
    let e = exp(product);
    // Beyond the range of e^x the rest may be no number and does not matter.
    let y = if e == 0.0 || e == f64::INFINITY {
        e
    } else {
        e + e * rest
    };
    let end = if p > 0.0 { x.abs() } else { 1.0 / x.abs() };
    let y = if x == f64::INFINITY || x == 0.0 {
        end
    } else {
        y
    };
    if x < 0.0 || x.is_nan() { f64::NAN } else { y }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ulps(a: f64, b: f64) -> u64 {
        if a == b || (a.is_nan() && b.is_nan()) {
            0
        } else {
            (a.to_bits() as i64).abs_diff(b.to_bits() as i64)
        }
    }

    #[test]
    fn powers_stay_near_libm() {
        let mut state = 99u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for _ in 0..300_000 {
            let (x, p) = (libm::exp((next() - 0.5) * 40.0), (next() - 0.5) * 20.0);
            let right = libm::pow(x, p);
            assert!(
                ulps(pow_real(x, p), right) <= 2,
                "{x}^{p} = {} not {right}",
                pow_real(x, p)
            );
            let n = (next() * 32.0) as i32 * 2 - 31;
            let right = libm::pow(x, f64::from(n) / 2.0);
            assert!(
                ulps(pow_halves(x, n), right) <= 12,
                "{x}^({n}/2) = {} not {right}",
                pow_halves(x, n)
            );
        }
        for _ in 0..100_000 {
            let (x, p) = (libm::exp((next() - 0.5) * 1400.0), (next() - 0.5) * 2.1);
            let right = libm::pow(x, p);
            if right > 1e-300 && right.is_finite() {
                assert!(
                    ulps(pow_real(x, p), right) <= 20,
                    "{x}^{p} = {} not {right}",
                    pow_real(x, p)
                );
            }
        }
    }

    #[test]
    fn powers_at_the_ends_are_those_of_c() {
        let inf = f64::INFINITY;
        for x in [
            0.0,
            -0.0,
            1.0,
            inf,
            5e-324,
            f64::MAX,
            f64::NAN,
            1e-310,
            0.7,
            1.4,
        ] {
            for p in [
                0.3,
                -0.3,
                1.5,
                -1.5,
                2.5,
                700.3,
                -700.3,
                63.5,
                1e300,
                -1e300,
                inf,
                -inf,
                f64::NAN,
                65.0,
                0.0,
            ] {
                let (got, right) = (pow(x, p), libm::pow(x, p));
                assert!(ulps(got, right) <= 60, "{x}^{p} = {got} not {right}");
            }
        }
        assert!(pow(-2.0, 0.3).is_nan() && pow(-2.0, 1.5).is_nan());
        assert_eq!(pow(-2.0, 65.0), libm::pow(-2.0, 65.0));
    }
}
