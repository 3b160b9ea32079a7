//! Exponentials and sums in the log domain.

/// e^x for x ≤ 0, to two units in the last place; 0 below the normal range. Branch-free, so that loops over it vectorise.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
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
    let shifted = clamped * std::f64::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (clamped - n * LN2_HIGH) - n * LN2_LOW;
    let mut p = TAYLOR[13];
    let mut at = 13;
    while at > 0 {
        at -= 1;
        p = p * r + TAYLOR[at];
    }
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0f64.to_bits()));
    if x > -708.0 { p * scale } else { 0.0 }
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
            let (got, want) = (super::exp(x), x.exp());
            assert!((got - want).abs() <= 3.0 * f64::EPSILON * want, "{x}: {got} {want}");
        }
        assert_eq!(super::exp(f64::NEG_INFINITY), 0.0);
        assert_eq!(super::exp(0.0), 1.0);
    }
}
