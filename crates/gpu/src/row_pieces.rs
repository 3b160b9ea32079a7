//! The best of every row on the way from a device into the states of a minimum or a maximum.
//!
//! Results come home in pieces that do not end where spans do. They are put where they stay, by
//! threads, while the next ones are on their way.

use rayon::prelude::*;
use zipfold_core::fold::RowPiece;

/// The index of no row.
pub(crate) const NONE: u32 = u32::MAX;
/// Results that come home at a time.
pub(crate) const AT_A_TIME: usize = 1 << 19;
/// Those of them that a thread takes.
const COPIED: usize = 1 << 14;

/// Results from `from` on, of `n` rows by span, as parts of spans: the span, the place of the first
/// row, results.
pub(crate) fn by_span<T>(
    from: usize,
    results: &[T],
    n: usize,
) -> impl Iterator<Item = (usize, usize, &[T])> {
    let mut rest = (from, results);
    std::iter::from_fn(move || {
        let (from, results) = rest;
        if results.is_empty() {
            return None;
        }
        let (span, at) = (from / n, from % n);
        let (part, others) = results.split_at(results.len().min(n - at));
        rest = (from + part.len(), others);
        Some((span, at, part))
    })
}

/// Puts the values of the rows from place `at` on, which are negated where the largest are kept.
pub(crate) fn put_values(piece: &mut RowPiece, at: usize, values: &[f64], largest: bool) {
    let kept = piece.acc[2 * at..].par_chunks_mut(2 * COPIED);
    let parts = kept.zip(values.par_chunks(COPIED));
    parts.for_each(|(kept, values)| {
        for (kept, value) in kept.as_chunks_mut::<2>().0.iter_mut().zip(values) {
            kept[0] = if largest { -value } else { *value };
        }
    });
}

/// Puts the indices of the rows from place `at` on, and `pairs` of the place of each. A row without
/// an index has the `worst` value.
pub(crate) fn put_indices(
    piece: &mut RowPiece,
    at: usize,
    indices: &[u32],
    (worst, pairs): (f64, &(dyn Fn(usize) -> u64 + Sync)),
) {
    let kept = piece.acc[2 * at..].par_chunks_mut(2 * COPIED);
    let kept = kept.zip(piece.counts[at..].par_chunks_mut(COPIED));
    let parts = kept.zip(indices.par_chunks(COPIED)).enumerate();
    parts.for_each(|(part, ((kept, counts), indices))| {
        let kept = kept.as_chunks_mut::<2>().0.iter_mut().zip(counts);
        for (lane, ((kept, count), index)) in kept.zip(indices).enumerate() {
            *count = pairs(at + part * COPIED + lane);
            match *index {
                NONE => *kept = [worst, f64::INFINITY],
                index => kept[1] = f64::from(index),
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_put_by_span_from_any_place() {
        let n = 5;
        let values: Vec<f64> = (0..15).map(f64::from).collect();
        let indices: Vec<u32> = (0..15)
            .map(|at| if at == 7 { NONE } else { at + 100 })
            .collect();
        let piece = || RowPiece {
            start: 0,
            acc: vec![0.0; 2 * n],
            counts: vec![0; n],
        };
        let mut pieces = [piece(), piece(), piece()];
        for (from, to) in [(0, 4), (4, 11), (11, 15)] {
            for (span, at, part) in by_span(from, &values[from..to], n) {
                put_values(&mut pieces[span], at, part, true);
            }
            for (span, at, part) in by_span(from, &indices[from..to], n) {
                let pairs = |lane| (10 * span + lane) as u64;
                put_indices(&mut pieces[span], at, part, (f64::NEG_INFINITY, &pairs));
            }
        }
        for (span, piece) in pieces.iter().enumerate() {
            for lane in 0..n {
                let at = span * n + lane;
                let wanted = match at {
                    7 => [f64::NEG_INFINITY, f64::INFINITY],
                    _ => [-values[at], 100.0 + at as f64],
                };
                assert_eq!(piece.acc[2 * lane..2 * lane + 2], wanted, "{span} {lane}");
                assert_eq!(piece.counts[lane], (10 * span + lane) as u64);
            }
        }
    }
}
