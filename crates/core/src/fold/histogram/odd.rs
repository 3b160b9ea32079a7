//! Sums of 128-bit numbers next to terms that no whole number can be: infinities and NaN.

use crate::fold::scale::Scale;
use std::collections::BTreeMap;

/// What a sum holds that is not finite, a bit each: whole numbers have no infinities. Which ones
/// were met decides what adding them as floats would give.
pub(super) const NAN: u8 = 1;
pub(super) const INF: u8 = 2;
pub(super) const NEGATIVE_INF: u8 = 4;

/// Adds a term to the sum of a cell, or notes that it is not finite.
#[inline]
pub(super) fn add(
    sums: &mut [i128],
    odd: &mut BTreeMap<u64, u8>,
    scale: Scale,
    cell: usize,
    term: f64,
) {
    if term.is_finite() {
        let windows = scale.windows();
        return scale.add(&mut sums[cell * windows..(cell + 1) * windows], term);
    }
    let what = if term.is_nan() {
        NAN
    } else {
        [INF, NEGATIVE_INF][usize::from(term < 0.0)]
    };
    note(odd, cell as u64, what);
}

/// Notes terms that are not finite of a cell.
pub(super) fn note(odd: &mut BTreeMap<u64, u8>, cell: u64, what: u8) {
    *odd.entry(cell).or_default() |= what;
}
