//! Inverse sine, cosine and tangent, after FreeBSD's msun (Ng 1993), with its bits.
//!
//! msun branches between ranges of the argument. Here every number goes through one rational
//! function, and its range picks the reduction by blends, so that loops vectorise.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// π/2 less its nearest f64, and the same of π: sums with these constants are good to 100 bits.
const HALF_PI_LO: f64 = 6.123_233_995_736_766e-17;
const PI_LO: f64 = 1.224_646_799_147_353_2e-16;

/// Computes arctan a for a ≥ 0. The argument is reduced by
/// arctan a = arctan c + arctan((a − c)/(1 + a c)) with c = 0, ½, 1, 3/2 or ∞, whichever is near,
/// and arctan c is added in two parts. The reduced argument is at most 7/16, where a polynomial of
/// degree 11 in its square suffices.
#[inline(always)]
fn arc(a: f64) -> f64 {
    // Each choice overrules the one before.
    let (n, d, hi, lo) = (a, 1.0, 0.0, 0.0);
    // A blend, not a branch: all four numbers of a row are chosen together.
    let other = |c: bool, x: [f64; 4], y: [f64; 4]| if c { x } else { y };
    let chosen = [n, d, hi, lo];
    let at_half = [
        2.0 * a - 1.0,
        2.0 + a,
        4.636_476_090_008_061e-1,
        2.269_877_745_296_168_7e-17,
    ];
    // The borders 7/16, 11/16, 19/16 and 39/16 are msun's; other borders would change bits.
    let chosen = other(a >= 0.4375, at_half, chosen);
    let chosen = other(
        a >= 0.6875,
        [a - 1.0, a + 1.0, FRAC_PI_4, 3.061_616_997_868_383e-17],
        chosen,
    );
    let at_three_halves = [
        a - 1.5,
        1.0 + 1.5 * a,
        9.827_937_232_473_29e-1,
        1.390_331_103_123_099_8e-17,
    ];
    let chosen = other(a >= 1.1875, at_three_halves, chosen);
    let [n, d, hi, lo] = other(a >= 2.4375, [-1.0, a, FRAC_PI_2, HALF_PI_LO], chosen);
    // The reduced argument, |t| ≤ 7/16; then the series in t², even and odd powers apart.
    let t = n / d;
    let z = t * t;
    let w = z * z;
    let even = 1.628_582_011_536_578_2e-2;
    let even = 4.976_877_994_615_932_4e-2 + w * even;
    let even = 6.661_073_137_387_531e-2 + w * even;
    let even = 9.090_887_133_436_507e-2 + w * even;
    let even = 1.428_571_427_250_346_6e-1 + w * even;
    let even = 3.333_333_333_333_293e-1 + w * even;
    let odd = -3.653_157_274_421_691_6e-2;
    let odd = -5.833_570_133_790_573_5e-2 + w * odd;
    let odd = -7.691_876_205_044_83e-2 + w * odd;
    let odd = -1.111_111_040_546_235_6e-1 + w * odd;
    let odd = -1.999_999_999_987_648_3e-1 + w * odd;
    // From the smallest term to the largest, so that each rounding is below the last.
    hi - ((t * (z * even + w * odd) - lo) - t)
}

/// Computes arctan x within 1 ulp: msun's `s_atan.c`.
///
/// Odd to the bit, since the sign is put back at the end: −0 stays −0.
#[inline(always)]
pub fn atan(x: f64) -> f64 {
    arc(x.abs()).copysign(x)
}

/// Computes the angle of the point (x, y) within 1 ulp: msun's `e_atan2.c`.
#[inline(always)]
pub fn atan2(y: f64, x: f64) -> f64 {
    let (a, b) = (y.abs(), x.abs());
    // ∞/∞ is 1 here, the direction of the diagonal; 0/b is 0 even if b is 0.
    let quotient = if a == b { 1.0 } else { a / b };
    let quotient = if a == 0.0 { 0.0 } else { quotient };
    let z = arc(quotient);
    // `&` and not `&&` throughout: a branch would keep loops from becoming vector code.
    let left = if (a == f64::INFINITY) & (b == f64::INFINITY) {
        0.75 * PI
    } else {
        PI - (z - PI_LO)
    };
    // Left of the axis the angle is π less that of the mirrored point; −0 counts as left, as in C.
    // From a quotient of 2⁶⁴ on the angle is π/2 on either side, and x does not show.
    let is_left = x.is_sign_negative() & (quotient < 18_446_744_073_709_551_616.0);
    let y_angle = (if is_left { left } else { z }).copysign(y);
    // Only a sum with a NaN is one.
    if x.is_nan() | y.is_nan() {
        x + y
    } else {
        y_angle
    }
}

/// Evaluates (arcsin v − v) / v as a rational function of z = v², for v ≤ ½.
///
/// Arcsine and arccosine share it. msun's coefficients, to degree 5 and 4, by Horner's scheme.
#[inline(always)]
fn ratio(z: f64) -> f64 {
    let p = 3.479_331_075_960_212e-5;
    let p = 7.915_349_942_898_145e-4 + z * p;
    let p = -4.005_553_450_067_941e-2 + z * p;
    let p = 2.012_125_321_348_629_3e-1 + z * p;
    let p = -3.255_658_186_224_009e-1 + z * p;
    let p = 1.666_666_666_666_666_6e-1 + z * p;
    let q = 7.703_815_055_590_194e-2;
    let q = -6.882_839_716_054_533e-1 + z * q;
    let q = 2.020_945_760_233_505_7 + z * q;
    let q = -2.403_394_911_734_414 + z * q;
    z * p / (1.0 + z * q)
}

/// Returns √z, and √z in two parts of which the first has 21 bits, so that its square is exact.
#[inline(always)]
fn root(z: f64) -> (f64, f64, f64) {
    let s = z.sqrt();
    let high = f64::from_bits(s.to_bits() & 0xffff_ffff_0000_0000);
    // (z − h²)/(√z + h) is √z − h without its cancellation.
    let low = (z - high * high) / (s + high);
    // 0/0 for z = 0: arcsin 1.
    (s, high, if z == 0.0 { 0.0 } else { low })
}

/// Computes arcsin x within 1 ulp: msun's `e_asin.c`. Above ½ it is π/2 − 2 arcsin √((1 − x)/2),
/// which avoids the vertical tangent at 1.
#[inline(always)]
pub fn asin(x: f64) -> f64 {
    let a = x.abs();
    let small = a < 0.5;
    // Near 1 by the half angle: arcsin x = π/2 − 2 arcsin √((1 − x)/2).
    let z = if small { a * a } else { (1.0 - a) * 0.5 };
    let r = ratio(z);
    let (s, high, low) = root(z);
    // Above 0.975 the terms are so small that the parts of the root are not needed.
    let end = FRAC_PI_2 - (2.0 * (s + s * r) - HALF_PI_LO);
    let middle = FRAC_PI_4 - (2.0 * s * r - (HALF_PI_LO - 2.0 * low) - (FRAC_PI_4 - 2.0 * high));
    // The high half of the limit's bits is compared by msun.
    let y = if a >= f64::from_bits(0x3fef_3333_0000_0000) {
        end
    } else {
        middle
    };
    // Below ½ the series itself; beyond 1 the root is NaN, as it should be.
    (if small { a + a * r } else { y }).copysign(x)
}

/// Computes arccos x within 1 ulp: msun's `e_acos.c`, with the same reductions.
#[inline(always)]
pub fn acos(x: f64) -> f64 {
    let a = x.abs();
    let small = a < 0.5;
    let z = if small { x * x } else { (1.0 - a) * 0.5 };
    let r = ratio(z);
    let (s, high, low) = root(z);
    // Left of −½ the result is π less that of the mirrored number.
    let left = 2.0 * (FRAC_PI_2 - (s + (r * s - HALF_PI_LO)));
    let right = 2.0 * (high + (r * s + low));
    let y = if x < 0.0 { left } else { right };
    if small {
        FRAC_PI_2 - (x - (HALF_PI_LO - x * r))
    } else {
        y
    }
}
