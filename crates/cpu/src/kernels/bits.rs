//! Rows of truth values as bit sets: how many components two rows have both, or have only one of,
//! by counting bits.
//!
//! ```text
//! word w of row r  at  (r / 16 · words + w) · 16 + r mod 16          panels of 16 rows
//! for each panel of 16 columns, for each 4 rows
//!     sums[4][16] = 0
//!     for w in words
//!         lanes = word w of the 16 columns
//!         for each row: sums[row] += popcount(word w of the row  &  or ^  lanes)
//!     write the sums as numbers
//! ```
//!
//! 64 components are one word, so a row of a thousand bits is 16 words and a pair costs 16
//! operations. The 4 × 16 sums stay in registers. A count is an integer, so it is the sum that the
//! formula asks for in bits, in any order of terms.

use std::ops::Range;
use zipfold_vector::simd::{Element, Isa};

/// Columns that are counted side by side.
const PANEL: usize = 16;
/// Rows of a register tile.
const ROWS: usize = 4;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Components that both rows have.
    Both,
    /// Components that one of them has.
    Either,
}

/// Rows of bits in panels of `PANEL` rows: word w of row r lies at `(r / PANEL · words + w) · PANEL
/// + r % PANEL`.
#[derive(Clone, Debug)]
pub struct BitRows {
    words: Vec<u64>,
    rows: usize,
    per_row: usize,
}

impl BitRows {
    /// The bits of `rows` rows of `components` values that start every `stride` values of `data`;
    /// none if a value is neither 0 nor 1.
    pub fn pack<T: Element>(
        data: &[T],
        rows: usize,
        components: usize,
        stride: usize,
    ) -> Option<BitRows> {
        let per_row = components.div_ceil(64);
        let mut words = vec![0u64; rows.next_multiple_of(PANEL) * per_row];
        for r in 0..rows {
            let row = &data[r * stride..][..components];
            for (w, values) in row.chunks(64).enumerate() {
                let mut bits = 0;
                let mut odd = false;
                for (at, v) in values.iter().enumerate() {
                    bits |= u64::from(*v == T::ONE) << at;
                    odd |= *v != T::ONE && *v != T::ZERO;
                }
                if odd {
                    return None;
                }
                words[(r / PANEL * per_row + w) * PANEL + r % PANEL] = bits;
            }
        }
        Some(BitRows {
            words,
            rows,
            per_row,
        })
    }
    /// Word `w` of the rows of a panel.
    #[inline(always)]
    fn panel(&self, panel: usize, w: usize) -> &[u64; PANEL] {
        &self.words.as_chunks().0[panel * self.per_row + w]
    }
    /// Word `w` of row `row`.
    #[inline(always)]
    fn word(&self, row: usize, w: usize) -> u64 {
        self.panel(row / PANEL, w)[row % PANEL]
    }
}

/// A block of pairs.
struct BitBlock<'a, T> {
    x: &'a BitRows,
    y: &'a BitRows,
    rows: Range<usize>,
    cols: Range<usize>,
    out: &'a mut [T],
    ld: usize,
}

/// Writes the counts of the pairs `rows` × `cols` to `out`, row-major with `ld` values from row to
/// row.
///
/// # Panics
/// If the ranges end outside the operands, or `out` or `ld` is too small.
pub fn count_block<T: Element>(
    isa: Isa,
    count: Count,
    x: &BitRows,
    y: &BitRows,
    [rows, cols]: [Range<usize>; 2],
    (out, ld): (&mut [T], usize),
) {
    assert!(
        rows.end <= x.rows && cols.end <= y.rows && cols.len() <= ld,
        "pairs outside the operands"
    );
    assert_eq!(x.per_row, y.per_row, "operands of different components");
    let block = BitBlock {
        x,
        y,
        rows,
        cols,
        out,
        ld,
    };
    match count {
        Count::Both => shell(isa, block, |a, b| a & b),
        Count::Either => shell(isa, block, |a, b| a ^ b),
    }
}

/// Runs a block with what `isa` has for counting bits.
fn shell<T: Element>(isa: Isa, block: BitBlock<'_, T>, op: impl Fn(u64, u64) -> u64 + Copy) {
    #[cfg(target_arch = "x86_64")]
    {
        let best = isa.clamp_to_hardware();
        if best == Isa::Avx512 && is_x86_feature_detected!("avx512vpopcntdq") {
            // SAFETY: this processor has the features.
            return unsafe { wide(block, op) };
        }
        if best >= Isa::Avx2 && is_x86_feature_detected!("popcnt") {
            // SAFETY: as above.
            return unsafe { narrow(block, op) };
        }
    }
    let _ = isa;
    cells(block, op);
}

/// AVX-512 counts the bits of eight words at a time.
///
/// # Safety
/// The processor has the features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
unsafe fn wide<T: Element>(block: BitBlock<'_, T>, op: impl Fn(u64, u64) -> u64 + Copy) {
    cells(block, op);
}

/// AVX2 counts by a table of half bytes.
///
/// # Safety
/// The processor has the features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
unsafe fn narrow<T: Element>(block: BitBlock<'_, T>, op: impl Fn(u64, u64) -> u64 + Copy) {
    cells(block, op);
}

#[inline(always)]
fn cells<T: Element>(block: BitBlock<'_, T>, op: impl Fn(u64, u64) -> u64 + Copy) {
    let BitBlock {
        x,
        y,
        rows,
        cols,
        out,
        ld,
    } = block;
    for panel in cols.start / PANEL..cols.end.div_ceil(PANEL) {
        let first = panel * PANEL;
        let mine = first.max(cols.start)..(first + PANEL).min(cols.end);
        for start in rows.clone().step_by(ROWS) {
            let held = ROWS.min(rows.end - start);
            // Rows past the end repeat the last.
            let at: [usize; ROWS] = std::array::from_fn(|r| start + r.min(held - 1));
            let mut sums = [[0u64; PANEL]; ROWS];
            for w in 0..x.per_row {
                let lanes = y.panel(panel, w);
                for (sums, row) in sums.iter_mut().zip(at) {
                    let word = x.word(row, w);
                    for (sum, lane) in sums.iter_mut().zip(lanes) {
                        *sum += u64::from(op(word, *lane).count_ones());
                    }
                }
            }
            for (r, sums) in sums.iter().enumerate().take(held) {
                let to = &mut out[(start + r - rows.start) * ld + mine.start - cols.start..]
                    [..mine.len()];
                let from = &sums[mine.start - first..];
                to.iter_mut()
                    .zip(from)
                    .for_each(|(to, sum)| *to = T::from_f64(*sum as f64));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_plain_loop() {
        let mut state = 9u64;
        let mut bit = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            f64::from(u8::from(state >> 62 == 0))
        };
        for (n, m, d) in [
            (1, 1, 1),
            (5, 17, 63),
            (9, 40, 64),
            (33, 16, 65),
            (4, 130, 1000),
        ] {
            let x: Vec<f64> = (0..n * d).map(|_| bit()).collect();
            let y: Vec<f64> = (0..m * d).map(|_| bit()).collect();
            let (px, py) = (
                BitRows::pack(&x, n, d, d).unwrap(),
                BitRows::pack(&y, m, d, d).unwrap(),
            );
            for (isa, count) in Isa::available()
                .into_iter()
                .flat_map(|i| [(i, Count::Both), (i, Count::Either)])
            {
                let (rows, cols) = (n / 3..n, m / 4..m);
                let ld = cols.len() + 3;
                let mut out = vec![-1.0f32; rows.len() * ld];
                count_block(
                    isa,
                    count,
                    &px,
                    &py,
                    [rows.clone(), cols.clone()],
                    (&mut out, ld),
                );
                for (i, j) in rows.clone().flat_map(|i| cols.clone().map(move |j| (i, j))) {
                    let pairs = x[i * d..][..d].iter().zip(&y[j * d..][..d]);
                    let counted = |a: f64, b: f64| {
                        if count == Count::Both {
                            a * b
                        } else {
                            (a - b).abs()
                        }
                    };
                    let expected: f64 = pairs.map(|(a, b)| counted(*a, *b)).sum();
                    let got = out[(i - rows.start) * ld + j - cols.start];
                    assert_eq!(
                        f64::from(got),
                        expected,
                        "{isa} {count:?} {n} {m} {d} pair {i} {j}"
                    );
                }
                assert!((0..rows.len()).all(|i| {
                    out[i * ld + cols.len()..(i + 1) * ld]
                        .iter()
                        .all(|v| *v == -1.0)
                }));
            }
        }
    }

    #[test]
    fn only_zeros_and_ones_are_bits() {
        assert!(BitRows::pack(&[0.0, -0.0, 1.0], 1, 3, 3).is_some());
        for odd in [2.0, -1.0, 0.5, f64::NAN, f64::INFINITY] {
            assert!(BitRows::pack(&[0.0, 1.0, odd], 1, 3, 3).is_none(), "{odd}");
        }
    }
}
