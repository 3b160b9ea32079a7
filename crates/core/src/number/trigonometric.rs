//! Sine, cosine and tangent.
//!
//! x is reduced to a quarter turn by straight-line code in three parts of π/2 (Cody and Waite
//! 1980), up to [`LARGEST`]; larger angles come from `libm`, which has the reduction of Payne and
//! Hanek (1983). Then the polynomials of msun's kernels apply to the rest, which is held in two
//! parts because x may be close to a zero of the sine.

use super::Function;

/// The largest argument that three parts of π/2 reduce: about 2¹⁶ quarter turns. Formulas of angles
/// rarely leave a few turns, so the other way is rare.
const LARGEST: f64 = 1e5;
/// π/2 in three parts. The first two have at most 37 bits: products with numbers of quarter turns
/// of up to 2¹⁶ are exact.
const QUARTER: [f64; 3] = [
    1.570_796_326_792_333_3,
    2.563_344_151_583_955_8e-12,
    1.056_299_906_698_742_8e-23,
];

/// Returns (h, l, n) with x = n π/2 + h + l. The low bits of n, the quarter, are read from the bits
/// of the shifted number; its high bits are of no use.
///
/// Rounded to the nearest quarter, so |h| is at most π/4 and a little.
#[inline(always)]
fn reduced(x: f64) -> (f64, f64, u64) {
    const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52: adding it rounds to an integer, in the last bits
    let shifted = x * std::f64::consts::FRAC_2_PI + SHIFT;
    let n = shifted - SHIFT;
    // Both products and the first difference are exact.
    let first = x - n * QUARTER[0];
    let second = n * QUARTER[1];
    // r, and below what its rounding and the third part of π/2 leave.
    let r = first - second;
    let lost = ((first - r) - second) - n * QUARTER[2];
    let h = r + lost;
    (h, (r - h) + lost, shifted.to_bits())
}

/// Computes sin(h + l) for |h| ≤ π/4 by the polynomial of msun's `k_sin.c`; l enters to first
/// order.
#[inline(always)]
fn sine(h: f64, l: f64) -> f64 {
    let z = h * h;
    let w = z * z;
    let r = 8.333_333_333_322_49e-3
        + z * (-1.984_126_982_985_795e-4 + z * 2.755_731_370_707_006_8e-6)
        + z * w * (-2.505_076_025_340_686_3e-8 + z * 1.589_690_995_211_55e-10);
    let v = z * h;
    // h last and whole: every other term is a correction of it.
    h - ((z * (0.5 * l - v * r) - l) - v * -1.666_666_666_666_663_2e-1)
}

/// Computes cos(h + l) for |h| ≤ π/4 by the polynomial of msun's `k_cos.c`. 1 − h²/2 is taken first
/// and its rounding error is put back.
#[inline(always)]
fn cosine(h: f64, l: f64) -> f64 {
    let z = h * h;
    let w = z * z;
    let r = z
        * (4.166_666_666_666_66e-2
            + z * (-1.388_888_888_887_411e-3 + z * 2.480_158_728_947_673e-5))
        + w * w
            * (-2.755_731_435_139_066_3e-7
                + z * (2.087_572_321_298_175e-9 + z * -1.135_964_755_778_819_5e-11));
    let half = 0.5 * z;
    let w = 1.0 - half;
    w + (((1.0 - w) - half) + (z * r - h * l))
}

/// Computes the sine of the angle `turn` quarter turns after x: 1 gives the cosine. Bit 0 of the
/// quarter picks sine or cosine, bit 1 the sign: `(n & 2) << 62` moves it to the sign bit.
#[inline(always)]
fn wave(x: f64, turn: u64) -> f64 {
    let (h, l, n) = reduced(x);
    let n = n.wrapping_add(turn);
    // Both are computed, and a blend picks: cheaper in vectors than a branch for each number.
    let (s, c) = (sine(h, l), cosine(h, l));
    let y = if n & 1 == 0 { s } else { c };
    f64::from_bits(y.to_bits() ^ ((n & 2) << 62))
}

/// Returns whether the straight-line code cannot reduce x. Infinities are not far: it turns them
/// into NaN, as it should.
#[inline(always)]
fn is_far(x: f64) -> bool {
    // Of what is not a number the straight-line code makes none.
    (x.abs() > LARGEST) & (x.abs() < f64::INFINITY)
}

/// The sine, within 1 ulp.
#[derive(Debug)]
pub struct Sin;

impl Function for Sin {
    #[inline(always)]
    fn near(x: f64) -> f64 {
        // Below 10⁻⁹ sin x is x in all bits; −0 and subnormal numbers pass unchanged.
        let y = wave(x, 0);
        if x.abs() < 1e-9 { x } else { y }
    }
    #[inline(always)]
    fn is_rare(x: f64) -> bool {
        is_far(x)
    }
    #[inline(always)]
    fn rare(x: f64) -> f64 {
        // libm's bits are the reference for far angles, on every machine.
        libm::sin(x)
    }
}

/// The cosine, within 1 ulp.
#[derive(Debug)]
pub struct Cos;

impl Function for Cos {
    #[inline(always)]
    fn near(x: f64) -> f64 {
        wave(x, 1)
    }
    #[inline(always)]
    fn is_rare(x: f64) -> bool {
        is_far(x)
    }
    #[inline(always)]
    fn rare(x: f64) -> f64 {
        libm::cos(x)
    }
}

/// The tangent, sine by cosine, within 3 ulp.
#[derive(Debug)]
pub struct Tan;

impl Function for Tan {
    #[inline(always)]
    fn near(x: f64) -> f64 {
        let (h, l, n) = reduced(x);
        let (s, c) = (sine(h, l), cosine(h, l));
        let odd = n & 1 != 0;
        // A quarter turn later the tangent is −cot.
        let y = (if odd { c } else { s }) / (if odd { -s } else { c });
        if x.abs() < 1e-9 { x } else { y }
    }
    #[inline(always)]
    fn is_rare(x: f64) -> bool {
        is_far(x)
    }
    #[inline(always)]
    fn rare(x: f64) -> f64 {
        libm::tan(x)
    }
}

/// Computes sin x within 1 ulp.
pub fn sin(x: f64) -> f64 {
    Sin::value(x)
}

/// Computes cos x within 1 ulp.
pub fn cos(x: f64) -> f64 {
    Cos::value(x)
}

/// Computes tan x within 3 ulp.
pub fn tan(x: f64) -> f64 {
    Tan::value(x)
}
