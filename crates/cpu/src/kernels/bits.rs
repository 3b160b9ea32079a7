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
use zipfold_vector::simd::{Element, Isa, array_of, change_each};

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
            let at: [usize; ROWS] = array_of(|r| start + r.min(held - 1));
            let mut sums = [[0u64; PANEL]; ROWS];
            for w in 0..x.per_row {
                let lanes = y.panel(panel, w);
                change_each(&mut sums, at, |sums, row| {
                    let word = x.word(row, w);
                    change_each(sums, *lanes, |sum, lane| {
                        *sum += u64::from(op(word, lane).count_ones());
                    });
                });
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
