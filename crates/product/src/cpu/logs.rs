//! Exponentials and sums in the log domain.

/// `a · b + c`, in one rounding where the machine has an instruction for it.
#[inline(always)]
fn fused<const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// e^x for x ≤ 709, to two units in the last place; 0 below the normal range. Branch-free, so that loops over it vectorise.
#[inline(always)]
pub fn exp<const FMA: bool>(x: f64) -> f64 {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const TAYLOR: [f64; 14] = [
        1.0,
        1.0,
        1.0 / 2.0,
        1.0 / 6.0,
        1.0 / 24.0,
        1.0 / 120.0,
        1.0 / 720.0,
        1.0 / 5040.0,
        1.0 / 40320.0,
        1.0 / 362_880.0,
        1.0 / 3_628_800.0,
        1.0 / 39_916_800.0,
        1.0 / 479_001_600.0,
        1.0 / 6_227_020_800.0,
    ];
    let clamped = if x > -708.0 { x } else { -708.0 };
    let shifted = fused::<FMA>(clamped, std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fused::<FMA>(-n, LN2_LOW, fused::<FMA>(-n, LN2_HIGH, clamped));
    let mut p = TAYLOR[13];
    let mut at = 13;
    while at > 0 {
        at -= 1;
        p = fused::<FMA>(p, r, TAYLOR[at]);
    }
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0f64.to_bits()));
    if x > -708.0 { p * scale } else { 0.0 }
}

/// ln x for normal numbers x > 0, to two units in the last place, and -∞ for zero. Branch-free like [`exp`].
#[inline(always)]
pub fn ln<const FMA: bool>(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // x = 2ⁿ m with m in [1/√2, √2): the offset makes the exponent field step at √2 instead of 2.
    let offset = x.to_bits().wrapping_sub(0x3fe6_a09e_667f_3bcd);
    let m = f64::from_bits((offset & 0x000f_ffff_ffff_ffff).wrapping_add(0x3fe6_a09e_667f_3bcd));
    // Added to the bits of 1.5 · 2⁵², a small whole number is added to the value.
    let n =
        f64::from_bits(((offset as i64 >> 52) as u64).wrapping_add(0x4338_0000_0000_0000)) - 6_755_399_441_055_744.0;
    // ln m = 2 artanh s = 2s + 2s³/3 + …, and 2s = f - s·f with f = m - 1 exact.
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let mut p = 2.0 / 23.0;
    let mut odd = 21.0;
    while odd > 1.0 {
        p = fused::<FMA>(p, z, 2.0 / odd);
        odd -= 2.0;
    }
    let tail = s * (z * p);
    let out = n * LN2_HIGH + (f - (s * f - (tail + n * LN2_LOW)));
    if x > 0.0 { out } else { f64::NEG_INFINITY }
}

/// ln(eᵃ + eᵇ).
pub fn add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn exponentials_are_good_to_the_last_places() {
        for i in 0..100_000 {
            let x = -f64::from(i) * 0.007;
            for got in [super::exp::<false>(x), super::exp::<true>(x)] {
                let want = x.exp();
                assert!((got - want).abs() <= 3.0 * f64::EPSILON * want, "{x}: {got} {want}");
            }
        }
        for i in 0..100_000 {
            let x = f64::from(i - 50_000) * 0.014;
            for got in [super::exp::<false>(x), super::exp::<true>(x)] {
                let want = x.exp();
                assert!((got - want).abs() <= 3.0 * f64::EPSILON * want, "{x}: {got} {want}");
            }
        }
        assert_eq!(super::exp::<false>(f64::NEG_INFINITY), 0.0);
        assert_eq!(super::exp::<false>(0.0), 1.0);
    }

    #[test]
    fn logarithms_are_good_to_the_last_places() {
        for i in 0..200_000 {
            let x = (f64::from(i - 100_000) * 0.007).exp();
            for got in [super::ln::<false>(x), super::ln::<true>(x)] {
                let want = x.ln();
                assert!((got - want).abs() <= 2.0 * f64::EPSILON * want.abs().max(1e-3), "{x}: {got} {want}");
            }
        }
        assert_eq!(super::ln::<false>(1.0), 0.0);
        assert_eq!(super::ln::<false>(0.0), f64::NEG_INFINITY);
    }
}
