//! Sums that do not depend on the order of their terms: whole numbers of 128 bits.
//!
//! Adding floats in another order changes the last bits; adding integers does not. So each term is
//! written as a multiple of a unit, and the multiples are added. Two cases:
//!
//! * Terms of like size (within 2³²), or terms that are all multiples of the unit: one number per
//!   sum, unit 2⁻⁸⁰ of the largest term. A product of two weights below 1 keeps 48 bits even if it
//!   is 2⁻³² of the largest.
//! * Terms of any size: windows of exponents, one number each, 20 bits apart. A term goes to the
//!   window of its lowest bit and is exact; a sum of up to 2⁵⁴ terms of 53 + 20 bits stays within
//!   127 bits. This is the superaccumulator of Kulisch with lazy carries.
//!
//! ```text
//! plain    term 0.75, unit 2⁸⁰:  sum += 0.75 · 2⁸⁰
//! windows  term 3 · 2⁻¹⁰⁰⁰ :     window ⌊(−1000 − lowest)/20⌋ += 3 << ((−1000 − lowest) mod 20)
//! ```

use super::BLOCK;
use serde::{Deserialize, Serialize};

/// Bits between windows: a term of 53 bits, shifted by up to 19, and 2⁵⁴ terms need 126 bits.
const WINDOW: i32 = 20;
/// Bits below the largest term that a unit keeps.
const FRACTION: i32 = 80;
/// Terms down to 2⁻³² of the largest are kept to 2⁻⁴⁸ of their own size, since 80 − 32 = 48.
const ALIKE: i32 = 32;
/// The exponent of the lowest bit of any f64.
pub const LEAST: i32 = -1074;
/// Bits of an f64 behind its first.
const DIGITS: i32 = 52;

/// Windows for terms of any size.
const ALL_WINDOWS: usize = ((1023 - DIGITS - LEAST) / WINDOW + 1) as usize;

/// How the terms of a sum are kept. It depends on the data, so partial results carry it and must
/// agree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// What a term is multiplied by; 1 with windows.
    unit: f64,
    /// The exponent of the lowest bit of the first window.
    lowest: i32,
    /// Numbers per sum.
    windows: usize,
}

impl Scale {
    /// Returns the scale with one unit, for terms of up to `largest`.
    pub fn below(largest: f64) -> Self {
        let exponent = if largest > 0.0 && largest.is_finite() {
            libm::ceil(libm::log2(largest))
        } else {
            0.0
        };
        Scale {
            unit: libm::exp2(f64::from(FRACTION) - exponent),
            lowest: 0,
            windows: 1,
        }
    }
    /// Returns the scale for terms from `smallest` to `largest`, neither 0, all multiples of
    /// 2^`lowest`. Sums are exact, or each term is kept to 2⁻⁴⁸ of its size.
    pub fn between(smallest: f64, largest: f64, lowest: i32) -> Self {
        let plain = Scale::below(largest);
        let usable = largest.is_finite() && plain.unit.is_finite() && plain.unit > 0.0;
        // One unit keeps 48 bits of the smallest term.
        let alike = smallest >= largest * libm::exp2(f64::from(-ALIKE));
        // All terms are multiples of the unit: sums are exact.
        let whole = usable && lowest >= -exponent(plain.unit);
        if usable && (alike || whole) {
            return plain;
        }
        let lowest = (exponent(smallest) - DIGITS).max(LEAST).max(lowest);
        let most = if largest.is_finite() {
            exponent(largest)
        } else {
            1023
        };
        Scale {
            unit: 1.0,
            lowest,
            windows: ((most - DIGITS - lowest).max(0) / WINDOW + 1) as usize,
        }
    }
    /// Returns the scale for terms of any size: sums are exact.
    pub fn everything() -> Self {
        Scale {
            unit: 1.0,
            lowest: LEAST,
            windows: ALL_WINDOWS,
        }
    }
    /// Returns the numbers per sum.
    pub fn windows(&self) -> usize {
        self.windows
    }
    /// Returns whether sums are multiples of one unit.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.windows == 1 && self.lowest == 0
    }
    /// Returns what a term is multiplied by, if one number keeps a sum. Kernels read it.
    pub fn unit(&self) -> f64 {
        self.unit
    }
    /// Returns the exponent of what a sum counts: its first number has units of 2 to this.
    pub fn first_exponent(&self) -> i32 {
        if self.is_plain() {
            -exponent(self.unit)
        } else {
            self.lowest
        }
    }
    /// Returns the sum that `words` hold, a whole number of two's complement, lowest word first, in
    /// units of 2^`exponent`, which is at least [`Self::first_exponent`]. Devices add this way.
    ///
    /// Which window holds which digit does not matter: only the total is rounded.
    pub fn of_words(&self, words: &[u32], exponent: i32) -> Vec<i128> {
        let mut sum = vec![0i128; self.windows];
        let up = (exponent - self.first_exponent()).max(0) as usize;
        let last = self.windows - 1;
        for (at, word) in words.iter().enumerate() {
            // The last word has the sign.
            let word = if at + 1 == words.len() {
                i128::from(*word as i32)
            } else {
                i128::from(*word)
            };
            let place = 32 * at + up;
            let window = (place / WINDOW as usize).min(last);
            // Words of a negative sum cancel beyond 128 bits.
            let shift = place - window * WINDOW as usize;
            let digits = if shift < 128 { word << shift } else { 0 };
            sum[window] = sum[window].wrapping_add(digits);
        }
        sum
    }
    /// Adds a finite `term` to a sum.
    #[inline]
    pub fn add(&self, sum: &mut [i128], term: f64) {
        if self.is_plain() {
            sum[0] += (term * self.unit) as i128;
        } else {
            self.add_to_window(sum, term);
        }
    }
    /// Adds a term to its window. Bits below the first window are cut off; a term beyond the last
    /// is left out, which only a damaged state can cause.
    #[inline]
    pub fn add_to_window(&self, sum: &mut [i128], term: f64) {
        let (bits, exponent) = parts(term);
        // How far the term's lowest bit is above the first window's.
        let above = exponent - self.lowest;
        let (window, digits) = if above >= 0 {
            (
                (above / WINDOW) as usize,
                i128::from(bits) << (above % WINDOW),
            )
        } else {
            (0, i128::from(bits) >> (-above).min(63))
        };
        if let Some(sum) = sum.get_mut(window) {
            *sum += if term < 0.0 { -digits } else { digits };
        }
    }
    /// Returns the value of a sum, rounded once.
    ///
    /// With windows the carries are resolved first. The first five digits hold at least 81 bits;
    /// whether any bit follows them decides a tie, so it is or-ed into the lowest bit ("sticky
    /// bit") before the conversion rounds to nearest.
    pub fn value(&self, sum: &[i128]) -> f64 {
        if self.is_plain() {
            return sum[0] as f64 / self.unit;
        }
        let (negative, digits) = digits(sum);
        // The first digits and whether others follow decide how the value is rounded.
        let Some(first) = digits.iter().rposition(|d| *d != 0) else {
            return 0.0;
        };
        let taken = first.min(4);
        let mut top = digits[first - taken..=first]
            .iter()
            .rev()
            .fold(0u128, |all, d| all << WINDOW | u128::from(*d));
        top |= u128::from(digits[..first - taken].iter().any(|d| *d != 0));
        let size = libm::ldexp(top as f64, self.lowest + (first - taken) as i32 * WINDOW);
        if negative { -size } else { size }
    }
}

/// Adds finite terms of at most a block to the sums of their cells, which have all windows
/// ([`Scale::everything`]): the sums of [`Scale::add`], term by term.
///
/// ```text
/// above  = the exponent field less 1, how far the lowest bit is above the least: 0 for 0 and subnormal numbers, too
/// window = above / 20, shift = above mod 20
/// digits = fraction · 2^shift, 72 bits in two words; negative: both words inverted, and 1 added
/// ```
///
/// Digits are found by vectors where the caller's processor has them. They are added one by one,
/// since two terms may share a sum.
#[inline(always)]
pub(super) fn add_run(sums: &mut [i128], cells: &[u64], terms: &[f64]) {
    let (mut places, mut lows, mut highs) = ([0u64; BLOCK], [0u64; BLOCK], [0u64; BLOCK]);
    let to = places.iter_mut().zip(&mut lows).zip(&mut highs);
    for (((place, low), high), (cell, term)) in to.zip(cells.iter().zip(terms)) {
        let bits = term.to_bits();
        let field = bits >> 52 & 0x7ff;
        let first = u64::from(field != 0);
        let fraction = bits & ((1 << 52) - 1) | first << 52;
        let above = field - first;
        // A twentieth: exact for numbers of eleven bits.
        let window = (above * 52_429) >> 20;
        let shift = above - window * WINDOW as u64;
        let sign = bits >> 63;
        let inverted = 0u64.wrapping_sub(sign);
        *low = (fraction << shift ^ inverted).wrapping_add(sign);
        // The low word of a negative number that is not 0 inverts to all ones where it was 0.
        let carry = sign & u64::from(*low == 0);
        *high = (fraction >> (63 - shift) >> 1 ^ inverted).wrapping_add(carry);
        *place = cell * ALL_WINDOWS as u64 + window;
    }
    let digits = lows.iter().zip(&highs);
    for (place, (low, high)) in places.iter().zip(digits).take(terms.len()) {
        let sum = &mut sums[*place as usize];
        *sum = sum.wrapping_add((i128::from(*high) << 64) | i128::from(*low));
    }
}

/// Returns whether a sum is negative, and the digits of its magnitude to the base 2^[`WINDOW`],
/// lowest first. A negative sum leaves a carry of −1 at the end and is spread again with its sign
/// turned.
fn digits(sum: &[i128]) -> (bool, Vec<u32>) {
    let spread = |sign: i128| {
        let mut carry = 0i128;
        let mut out = Vec::with_capacity(sum.len() + 7);
        // Seven more digits take the carries of the last number: 127 bits are less than 7 · 20.
        for at in 0..sum.len() + 7 {
            carry += sum.get(at).map_or(0, |s| sign * s);
            out.push((carry & ((1 << WINDOW) - 1)) as u32);
            carry >>= WINDOW;
        }
        (carry < 0, out)
    };
    match spread(1) {
        (true, _) => (true, spread(-1).1),
        (false, digits) => (false, digits),
    }
}

/// Returns a finite number's magnitude as bits · 2^exponent.
#[inline]
fn parts(v: f64) -> (u64, i32) {
    let bits = v.to_bits();
    let (fraction, field) = (bits & ((1 << 52) - 1), (bits >> 52 & 0x7ff) as i32);
    if field == 0 {
        (fraction, LEAST)
    } else {
        (fraction | 1 << 52, field - 1075)
    }
}

/// Returns the exponent of the first bit of a number that is not 0.
pub fn exponent(v: f64) -> i32 {
    let (bits, exponent) = parts(v);
    exponent + 63 - (bits.max(1).leading_zeros() as i32)
}

/// Returns the exponent of the last bit that is set, of a number that is not 0. Products of two
/// numbers are multiples of 2 to the sum of theirs.
pub fn lowest_digit(v: f64) -> i32 {
    let (bits, exponent) = parts(v);
    exponent + bits.trailing_zeros().min(63) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_of(terms: &[f64]) -> f64 {
        let sizes = || terms.iter().map(|t| t.abs()).filter(|t| *t > 0.0);
        let (smallest, largest) = (
            sizes().fold(f64::INFINITY, f64::min),
            sizes().fold(0.0, f64::max),
        );
        let scale = Scale::between(smallest, largest, sizes().map(lowest_digit).min().unwrap());
        let mut sum = vec![0; scale.windows()];
        terms.iter().for_each(|t| scale.add(&mut sum, *t));
        scale.value(&sum)
    }

    #[test]
    fn terms_of_all_sizes_are_added_exactly() {
        assert_eq!(sum_of(&[1e300, 1.0, -1e300]), 1.0);
        assert_eq!(sum_of(&[1e300, 1e-300, -1e300]), 1e-300);
        assert_eq!(sum_of(&[5e-324, 5e-324, 1e308, -1e308]), 1e-323);
        assert_eq!(sum_of(&[-1e300, -1.0, 1e300]), -1.0);
        assert_eq!(
            sum_of(&[1.0, 2f64.powi(-53), 2f64.powi(-300)]),
            1.0f64.next_up()
        );
        assert_eq!(
            sum_of(&[1.0, 2f64.powi(-53), 2f64.powi(-300), -2f64.powi(-299)]),
            1.0
        );
        assert_eq!(sum_of(&[1e308, 7e307]), f64::MAX.min(1.7e308));
        assert_eq!(sum_of(&[1.5, -1.5]), 0.0);
        assert_eq!(sum_of(&[3.0, 4.0, 100_000.0]), 100_007.0);
    }

    /// Words of a total in units of 2^`exponent`, as a device keeps them.
    fn words(total: i128, count: usize) -> Vec<u32> {
        (0..count)
            .map(|at| (total >> (32 * at).min(127)) as u32)
            .collect()
    }

    #[test]
    fn words_of_a_device_have_the_value_of_the_sum() {
        let plain = Scale::between(0.25, 1.0, -200);
        let windows = Scale::between(1e-30, 1e10, -200);
        assert!(plain.is_plain() && windows.windows() > 3);
        for scale in [plain, windows] {
            for count in [4, 6, 8] {
                for total in [0, 1, -1, 12_345, -(1 << 70), (1 << 90) - 7] {
                    let first = scale.first_exponent();
                    let mut wanted = vec![0; scale.windows()];
                    wanted[0] = total << 3;
                    let got = scale.of_words(&words(total, count), first + 3);
                    assert_eq!(scale.value(&got), scale.value(&wanted), "{total} {count}");
                }
            }
        }
    }

    /// Terms of all exponents and both signs, with whole and with few digits.
    #[test]
    fn a_run_of_terms_is_added_as_one_by_one() {
        let scale = Scale::everything();
        let mut terms = vec![0.0, -0.0, 5e-324, -5e-324, f64::MAX, f64::MIN];
        for field in 0..2047u64 {
            for fraction in [0, 1, 1 << 51, (1 << 52) - 1, 0x5_1234_5678_9abc] {
                let bits = field << 52 | fraction;
                terms.extend([bits, bits | 1 << 63].map(f64::from_bits));
            }
        }
        let cells: Vec<u64> = (0..terms.len() as u64).map(|at| at * 7 % 3).collect();
        for long in [1, 2, 77, BLOCK] {
            let (mut sums, mut wanted) =
                (vec![0; 3 * scale.windows()], vec![0; 3 * scale.windows()]);
            for (cells, terms) in cells.chunks(long).zip(terms.chunks(long)) {
                add_run(&mut sums, cells, terms);
                for (cell, term) in cells.iter().zip(terms) {
                    let first = *cell as usize * scale.windows();
                    scale.add(&mut wanted[first..first + scale.windows()], *term);
                }
                assert_eq!(sums, wanted, "{terms:?}");
            }
        }
    }

    #[test]
    fn like_terms_keep_one_number() {
        assert_eq!(Scale::between(1e-4, 1.0, -80), Scale::below(1.0));
        assert_eq!(Scale::between(1.0, 1e13, 0), Scale::below(1e13));
        assert!(Scale::between(1.0, 1e26, 0).windows() > 1);
        assert!(Scale::between(1e-6, 1e6, -80).windows() > 1);
    }
}
