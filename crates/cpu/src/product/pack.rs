//! Packing of matrix panels: entries at any offsets, depth slowest within a panel.

use super::block::Block;
use super::real::Real;

/// What is packed: rows (or columns) and the depth, by their offsets from the start of the table.
#[derive(Clone, Copy, Debug)]
pub struct Picked<'a> {
    /// Of the rows.
    pub rows: &'a [usize],
    /// Of the depth.
    pub depth: &'a [usize],
}

/// Rows that a run is looked for in, and depths of a transposed square.
const SQUARE: usize = 8;

/// Entries that `rows` rows over `depth` take in panels of `width` rows, the last one padded to `unit`.
pub fn packed(rows: usize, depth: usize, width: usize, unit: usize) -> usize {
    (rows / width * width + (rows % width).next_multiple_of(unit)) * depth
}

/// Packs rows over the depth of the table at `base` into panels of `width` rows. The last panel is as wide as units need, padded with zeros.
pub fn pack<T: Real>(from: &[T], base: usize, picked: Picked<'_>, width: usize, unit: usize, to: &mut [T]) {
    let Picked { rows, depth } = picked;
    let reach = rows.iter().max().unwrap_or(&0) + depth.iter().max().unwrap_or(&0) + base;
    assert!(reach < from.len() && to.len() >= packed(rows.len(), depth.len(), width, unit), "offset beyond a table");
    let mut rest = to;
    for rows in rows.chunks(width) {
        let padded = rows.len().next_multiple_of(unit);
        let (panel, others) = rest.split_at_mut(padded * depth.len());
        rest = others;
        for (at, rows) in rows.chunks(SQUARE).enumerate() {
            let part = Part { rows, depth, padded, at: at * SQUARE };
            // SAFETY: the assertion holds every row and depth within the table, and the panel all places of its rows.
            unsafe { part.pack(from.as_ptr().add(base), panel.as_mut_ptr()) }
        }
        let pad = rows.len()..padded;
        if !pad.is_empty() {
            panel.chunks_exact_mut(padded).for_each(|one| one[pad.clone()].fill(T::default()));
        }
    }
}

/// Up to [`SQUARE`] rows of a panel.
struct Part<'a> {
    rows: &'a [usize],
    depth: &'a [usize],
    /// Rows of the panel.
    padded: usize,
    /// The first row's place in the panel.
    at: usize,
}

impl Part<'_> {
    /// # Safety
    /// `from` holds every row at every depth, and `to` the whole panel.
    unsafe fn pack<T: Real>(&self, from: *const T, to: *mut T) {
        let (rows, depth) = (self.rows, self.depth);
        let side_by_side = rows[rows.len() - 1] == rows[0] + rows.len() - 1;
        // SAFETY: the caller's promise.
        unsafe {
            if rows.len() == SQUARE && side_by_side {
                self.straight(from.add(rows[0]), to)
            } else if let (Ok(rows), true) = (<&[usize; SQUARE]>::try_from(rows), squares(depth)) {
                self.transposed(rows, from, to)
            } else if let Ok(rows) = <&[usize; SQUARE]>::try_from(rows) {
                self.scattered(rows, from, to)
            } else {
                for (k, d) in depth.iter().enumerate() {
                    for (r, row) in rows.iter().enumerate() {
                        *to.add(k * self.padded + self.at + r) = *from.add(row + d);
                    }
                }
            }
        }
    }
    /// Rows side by side.
    ///
    /// # Safety
    /// As [`Part::pack`].
    unsafe fn straight<T: Real>(&self, from: *const T, to: *mut T) {
        for (k, d) in self.depth.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(from.add(*d), to.add(k * self.padded + self.at), SQUARE) };
        }
    }
    /// Depths side by side: squares are read by rows and written by depths.
    ///
    /// # Safety
    /// As [`Part::pack`].
    unsafe fn transposed<T: Real>(&self, rows: &[usize; SQUARE], from: *const T, to: *mut T) {
        for (square, depth) in self.depth.chunks_exact(SQUARE).enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                let to = to.add(square * SQUARE * self.padded + self.at);
                T::square(rows.map(|row| from.add(row + depth[0])), to, self.padded);
            }
        }
    }
    /// Rows anywhere.
    ///
    /// # Safety
    /// As [`Part::pack`].
    unsafe fn scattered<T: Real>(&self, rows: &[usize; SQUARE], from: *const T, to: *mut T) {
        for (k, d) in self.depth.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                let (from, to) = (from.add(*d), to.add(k * self.padded + self.at));
                for (r, row) in rows.iter().enumerate() {
                    *to.add(r) = *from.add(*row);
                }
            }
        }
    }
}

/// Whether the depth is made of runs of whole squares.
fn squares(depth: &[usize]) -> bool {
    let run = |d: &[usize]| d[SQUARE - 1] == d[0] + SQUARE - 1;
    depth.len().is_multiple_of(SQUARE) && depth.chunks_exact(SQUARE).all(run)
}

/// `to[k · apart + r] = from[r][k]` for eight rows and depths, entry by entry.
///
/// # Safety
/// Eight entries lie at each of `from`, and the places are within `to`.
pub unsafe fn square<T: Copy>(from: [*const T; SQUARE], to: *mut T, apart: usize) {
    for k in 0..SQUARE {
        for (r, from) in from.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { *to.add(k * apart + r) = *from.add(k) };
        }
    }
}

/// The same for f64 by vectors.
///
/// # Safety
/// As [`square`].
pub unsafe fn square_f64(from: [*const f64; SQUARE], to: *mut f64, apart: usize) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the feature was just detected; the caller's promise.
        return unsafe { avx_square_f64(from, to, apart) };
    }
    // SAFETY: the caller's promise.
    unsafe { square(from, to, apart) }
}

/// # Safety
/// As [`square`], with AVX-512 F.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx_square_f64(from: [*const f64; SQUARE], to: *mut f64, apart: usize) {
    use std::arch::x86_64::*;
    // SAFETY: the caller's promise.
    let v = from.map(|p| unsafe { _mm512_loadu_pd(p) });
    // Pairs of rows, then fours, then all eight.
    let pair = |i: usize| [_mm512_unpacklo_pd(v[i], v[i + 1]), _mm512_unpackhi_pd(v[i], v[i + 1])];
    let pairs = [pair(0), pair(2), pair(4), pair(6)];
    let four = |i: usize, odd: usize| {
        let (a, b) = (pairs[i][odd], pairs[i + 1][odd]);
        [_mm512_shuffle_f64x2::<0x88>(a, b), _mm512_shuffle_f64x2::<0xdd>(a, b)]
    };
    for odd in 0..2 {
        let (low, high) = (four(0, odd), four(2, odd));
        // Of depths 0, 4 and 2, 6 (and of the odd ones beside them).
        for half in 0..2 {
            let (a, b) = (low[half], high[half]);
            let depth = 2 * half + odd;
            // SAFETY: the caller's promise.
            unsafe {
                _mm512_storeu_pd(to.add(depth * apart), _mm512_shuffle_f64x2::<0x88>(a, b));
                _mm512_storeu_pd(to.add((depth + 4) * apart), _mm512_shuffle_f64x2::<0xdd>(a, b));
            }
        }
    }
}

/// Panels of both sides, grown as needed.
#[derive(Debug, Default)]
pub struct Panels<T: Real> {
    /// Of rows.
    pub a: Block<T>,
    /// Of columns.
    pub b: Block<T>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_transposed() {
        let from: Vec<f64> = (0..64).map(f64::from).collect();
        let rows: [*const f64; 8] = std::array::from_fn(|r| from[r * 8..].as_ptr());
        let mut to = vec![-1.0; 8 * 11];
        // SAFETY: eight rows of eight entries, and eight places of eleven entries.
        unsafe { square_f64(rows, to.as_mut_ptr(), 11) };
        for k in 0..8 {
            for r in 0..11 {
                assert_eq!(to[k * 11 + r], if r < 8 { (r * 8 + k) as f64 } else { -1.0 }, "{k} {r}");
            }
        }
    }

    #[test]
    fn panels_hold_every_entry_whatever_the_offsets() {
        let table: Vec<f64> = (0..40_000).map(f64::from).collect();
        let forms: [(Vec<usize>, Vec<usize>); 4] = [
            ((0..30).collect(), (0..24).map(|k| 100 * k).collect()),
            ((0..30).map(|r| 64 * r).collect(), (0..32).collect()),
            ((0..29).map(|r| r * r).collect(), (0..13).map(|k| 1000 * k).collect()),
            (vec![5], vec![7, 3]),
        ];
        for (rows, depth) in forms {
            for (width, unit) in [(24, 8), (8, 8)] {
                let mut to = vec![7.0; packed(rows.len(), depth.len(), width, unit)];
                pack(&table, 11, Picked { rows: &rows, depth: &depth }, width, unit, &mut to);
                let mut at = 0;
                for panel in rows.chunks(width) {
                    for d in &depth {
                        for r in 0..panel.len().next_multiple_of(unit) {
                            assert_eq!(to[at], panel.get(r).map_or(0.0, |row| table[11 + row + d]));
                            at += 1;
                        }
                    }
                }
            }
        }
    }
}
