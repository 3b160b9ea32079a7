//! Packing of matrix panels: entries at any offsets, depth slowest within a panel.
//!
//! ```text
//! panel[k][lane] = table[row offset of lane + depth offset of k]
//!
//! by rows      (the depth is consecutive in memory, 32 to 256 long)
//!     copy 8 rows to a buffer, then transpose the buffer into the panel
//! by depths    (otherwise)
//!     for as many panels as stay in the nearest cache, for k in the depth
//!         prefetch what a later k needs
//!         rows consecutive: copy
//!         depths consecutive: rectangles of 8 rows × 4 depths, transposed in registers
//!         neither: entry by entry
//! ```
//!
//! Why two ways: a line of memory should be read once and used whole. Which loop does so depends on
//! what is consecutive, the depth or the rows.

use super::number::Number;
use zipfold_vector::memory::Block;
use zipfold_vector::prefetch;
use zipfold_vector::simd::array_of;

/// What is packed: rows (or columns) and the depth, by their offsets from where a product begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedPlaces<'a> {
    /// Of the rows.
    pub rows: &'a [usize],
    /// Of the depth.
    pub depth: &'a [usize],
}

/// The form of packed panels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    /// Rows of a panel.
    pub width: usize,
    /// What the rows of the last panel are padded to a multiple of.
    pub unit: usize,
}

/// Rows that a run is looked for in, and depths of a transposed rectangle.
const HIGH: usize = 8;
const DEEP: usize = 4;
/// Entries of a line.
const LINE: usize = 8;
/// Entries of panels that are filled at one time: they stay in the nearest cache.
const NEAREST: usize = 3 << 10;
/// Lines that are asked for before they are read, where the table has more bytes than the second
/// cache.
const AHEAD: usize = 24;
const FAR: usize = 1 << 20;
/// Depths that scattered rows are read at in one go.
const BUNDLE: usize = 8;
/// Entries of a straight depth from which its rows are copied one by one before they are
/// transposed, and the most of them.
const STRAIGHT: usize = 32;
const LONGEST: usize = 256;

impl Form {
    /// Entries that packed rows take.
    pub(super) fn entries(&self, rows: usize, depth: usize) -> usize {
        (rows / self.width * self.width + (rows % self.width).next_multiple_of(self.unit)) * depth
    }
}

/// Packs rows over the depth of the products that begin at `bases` into panels, a product's after
/// another's, padded with zeros. What lies side by side in the table is read together.
pub(super) fn pack<T: Transpose>(
    from: &[T],
    bases: impl Iterator<Item = usize> + Clone,
    picked: PackedPlaces<'_>,
    form: Form,
    to: &mut [T],
) {
    let PackedPlaces { rows, depth } = picked;
    let apart = form.entries(rows.len(), depth.len());
    let most = |offsets: &[usize]| offsets.iter().copied().max().unwrap_or(0);
    let reach = most(rows) + most(depth) + bases.clone().max().unwrap_or(0);
    assert!(
        reach < from.len() && to.len() >= bases.clone().count() * apart,
        "offset beyond a table"
    );
    let parts: Vec<PanelRows<'_>> = parts(rows, depth.len(), form);
    let products = bases.zip((0..).step_by(apart.max(1)));
    // SAFETY: the assertion holds every row and depth of every product within the table, and all
    // panels within `to`.
    unsafe {
        if depth.len() >= STRAIGHT
            && depth.len() <= LONGEST
            && depth[depth.len() - 1] == depth[0] + depth.len() - 1
        {
            by_rows(from, &parts, depth, products, to.as_mut_ptr());
        } else {
            by_depths(from, &parts, depth, products, to.as_mut_ptr());
        }
    }
}

/// Packs rows whose depth is one run: they are copied to a buffer one after another, so that memory
/// is read in long pieces, and transposed there.
///
/// # Safety
/// `from` holds every row of every product (its base and place) at every depth, and `to` all its
/// panels.
unsafe fn by_rows<T: Transpose>(
    from: &[T],
    parts: &[PanelRows<'_>],
    depth: &[usize],
    products: impl Iterator<Item = (usize, usize)>,
    to: *mut T,
) {
    // Rows in the buffer begin at different lines of the cache.
    const APART: usize = LONGEST + 2 * LINE;
    let mut near = Lines([T::default(); HIGH * APART]);
    let near_depth: [usize; LONGEST] = array_of(|k| k);
    for (base, place) in products {
        for part in parts {
            for (r, row) in part.rows.iter().enumerate() {
                let first = base + row + depth[0];
                ask(from, first + depth.len(), depth.len());
                let from = &from[first..][..depth.len()];
                near.0[r * APART..][..depth.len()].copy_from_slice(from);
            }
            let rows: [usize; HIGH] = array_of(|r| r * APART);
            let part = PanelRows {
                rows: &rows[..part.rows.len()],
                straight: false,
                ..*part
            };
            for k in (0..depth.len()).step_by(DEEP) {
                let step = &near_depth[k..(k + DEEP).min(depth.len())];
                // SAFETY: the buffer holds eight rows of the longest depth; the caller's promise.
                unsafe { part.pack(near.0.as_ptr(), step, to.add(place + part.place(k))) };
            }
        }
    }
}

/// Asks for the lines of a run, which the next packing of the same rows begins with.
fn ask<T>(from: &[T], first: usize, len: usize) {
    for at in (first..first + len).step_by(LINE) {
        prefetch::second(from.as_ptr().wrapping_add(at));
    }
}

/// A buffer by whole lines.
#[repr(align(64))]
struct Lines<T>([T; HIGH * (LONGEST + 2 * LINE)]);

/// Packs a few panels at a time, depth by depth, and asks for what comes next.
///
/// # Safety
/// As [`by_rows`].
unsafe fn by_depths<T: Transpose>(
    from: &[T],
    parts: &[PanelRows<'_>],
    depth: &[usize],
    products: impl Iterator<Item = (usize, usize)> + Clone,
    to: *mut T,
) {
    let steps = steps(
        depth,
        if parts.iter().all(|part| part.straight) {
            1
        } else {
            BUNDLE
        },
    );
    let many = products.clone().count();
    let group = (NEAREST / (depth.len() * many * HIGH).max(1)).max(3);
    let far = size_of_val(from) > FAR;
    for parts in parts.chunks(group) {
        let lines: usize = parts
            .iter()
            .map(|part| part.lines.count_ones() as usize)
            .sum();
        for (first, len) in &steps {
            let ahead = first + (AHEAD / lines.max(1)).max(*len);
            let next = depth
                .get(ahead..(ahead + len).min(depth.len()))
                .filter(|_| far)
                .unwrap_or(&[]);
            for (base, place) in products.clone() {
                for part in parts {
                    part.ask(from, base, next, *len == DEEP);
                    // SAFETY: the caller's promise.
                    unsafe {
                        part.pack(
                            from.as_ptr().add(base),
                            &depth[*first..first + len],
                            to.add(place + part.place(*first)),
                        );
                    }
                }
            }
        }
    }
}

/// The depth in steps, by the first and their number: rectangles, and up to `bundle` others.
fn steps(depth: &[usize], bundle: usize) -> Vec<(usize, usize)> {
    let run = |at: usize| {
        depth
            .get(at + DEEP - 1)
            .is_some_and(|last| *last == depth[at] + DEEP - 1)
    };
    let mut out = Vec::with_capacity(depth.len());
    let mut at = 0;
    while at < depth.len() {
        let singles = (at..depth.len().min(at + bundle))
            .take_while(|k| !run(*k))
            .count();
        let len = if singles == 0 { DEEP } else { singles };
        out.push((at, len));
        at += len;
    }
    out
}

/// Up to [`HIGH`] rows of a panel.
struct PanelRows<'a> {
    rows: &'a [usize],
    straight: bool,
    /// The rows that begin a line at one depth, by bit.
    lines: u8,
    /// Rows of the panel, and those that this part fills: more than it has at the end of the last
    /// panel.
    padded: usize,
    filled: usize,
    /// The first row's place.
    first: usize,
}

fn parts(rows: &[usize], depth: usize, form: Form) -> Vec<PanelRows<'_>> {
    let mut out = Vec::with_capacity(rows.len().div_ceil(HIGH));
    let mut panel = 0;
    for of_panel in rows.chunks(form.width) {
        let padded = of_panel.len().next_multiple_of(form.unit);
        for (at, rows) in of_panel.chunks(HIGH).enumerate() {
            let straight = rows.len() == HIGH && rows[HIGH - 1] == rows[0] + HIGH - 1;
            let last = (at + 1) * HIGH >= of_panel.len();
            let filled = if last { padded - at * HIGH } else { HIGH };
            let begins = |r: &usize| {
                *r == 0 || rows[*r] >= rows[r - 1] + LINE || (*r).is_multiple_of(4) && !straight
            };
            let lines = (0..rows.len())
                .filter(begins)
                .fold(0, |bits, r| bits | 1 << r);
            out.push(PanelRows {
                rows,
                straight,
                lines,
                padded,
                filled,
                first: panel + at * HIGH,
            });
        }
        panel += padded * depth;
    }
    out
}

impl PanelRows<'_> {
    /// Where depth `k` of the part goes.
    fn place(&self, k: usize) -> usize {
        self.first + k * self.padded
    }
    /// Asks for the lines of the rows at some depths; those of a `run` share lines.
    #[inline(always)]
    fn ask<T>(&self, from: &[T], base: usize, depth: &[usize], run: bool) {
        for d in if run {
            &depth[..depth.len().min(1)]
        } else {
            depth
        } {
            let mut left = self.lines;
            while left > 0 {
                let row = self.rows[left.trailing_zeros() as usize];
                left &= left - 1;
                prefetch::nearest(from.as_ptr().wrapping_add(base + row + d));
            }
        }
    }
    /// # Safety
    /// `from` holds every row at every depth, and `to` the part's places at these depths. Several
    /// depths lie side by side.
    #[inline(always)]
    unsafe fn pack<T: Transpose>(&self, from: *const T, depth: &[usize], to: *mut T) {
        // SAFETY: the caller's promise.
        unsafe {
            match <&[usize; HIGH]>::try_from(self.rows) {
                Ok(rows) if self.straight => {
                    for (k, d) in depth.iter().enumerate() {
                        std::ptr::copy_nonoverlapping(
                            from.add(rows[0] + d),
                            to.add(k * self.padded),
                            HIGH,
                        );
                    }
                }
                Ok(rows) if depth.len() == DEEP && depth[DEEP - 1] == depth[0] + DEEP - 1 => {
                    T::square(rows.map(|row| from.add(row + depth[0])), to, self.padded)
                }
                Ok(rows) => {
                    let rows = *rows;
                    for (k, d) in depth.iter().enumerate() {
                        let (from, to) = (from.add(*d), to.add(k * self.padded));
                        for (r, row) in rows.into_iter().enumerate() {
                            *to.add(r) = *from.add(row);
                        }
                    }
                }
                Err(_) => {
                    for (k, d) in depth.iter().enumerate() {
                        for (r, row) in self.rows.iter().enumerate() {
                            *to.add(k * self.padded + r) = *from.add(row + d);
                        }
                    }
                }
            }
            for k in 0..depth.len() {
                for r in self.rows.len()..self.filled {
                    *to.add(k * self.padded + r) = T::default();
                }
            }
        }
    }
}

/// Numbers of which small squares are transposed in registers.
pub trait Transpose: Number {
    /// `to[k · apart + r] = from[r][k]` for eight rows and four depths.
    ///
    /// # Safety
    /// Four entries lie at each of `from`, and the places are within `to`.
    unsafe fn square(from: [*const Self; HIGH], to: *mut Self, apart: usize);
}
impl Transpose for f64 {
    #[inline(always)]
    unsafe fn square(from: [*const f64; HIGH], to: *mut f64, apart: usize) {
        // SAFETY: the caller's promise.
        unsafe { square_f64(from, to, apart) }
    }
}
impl Transpose for f32 {
    #[inline(always)]
    unsafe fn square(from: [*const f32; HIGH], to: *mut f32, apart: usize) {
        // SAFETY: the caller's promise.
        unsafe { square(from, to, apart) }
    }
}

/// `to[k · apart + r] = from[r][k]` for eight rows and four depths, entry by entry.
///
/// # Safety
/// Four entries lie at each of `from`, and the places are within `to`.
#[inline(always)]
unsafe fn square<T: Copy>(from: [*const T; HIGH], to: *mut T, apart: usize) {
    for k in 0..DEEP {
        for (r, from) in from.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { *to.add(k * apart + r) = *from.add(k) };
        }
    }
}

/// The same for f64 by vectors of two: every processor of this architecture has them.
///
/// # Safety
/// As [`square`].
#[inline(always)]
unsafe fn square_f64(from: [*const f64; HIGH], to: *mut f64, apart: usize) {
    #[cfg(target_arch = "x86_64")]
    for (pair, rows) in from.chunks_exact(2).enumerate() {
        use std::arch::x86_64::{_mm_loadu_pd, _mm_storeu_pd, _mm_unpackhi_pd, _mm_unpacklo_pd};
        for k in [0, 2] {
            // SAFETY: the caller's promise.
            unsafe {
                let (a, b) = (_mm_loadu_pd(rows[0].add(k)), _mm_loadu_pd(rows[1].add(k)));
                _mm_storeu_pd(to.add(k * apart + 2 * pair), _mm_unpacklo_pd(a, b));
                _mm_storeu_pd(to.add((k + 1) * apart + 2 * pair), _mm_unpackhi_pd(a, b));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise.
    unsafe {
        square(from, to, apart)
    }
}

/// Offsets of packed rows (or columns): those of the rows in the table, of the depth in the table,
/// and of the rows in the result.
pub(super) type Offsets = [Vec<usize>; 3];

/// Panels of both sides, and the offsets of what is in them; all grown as needed.
#[derive(Debug, Default)]
pub(super) struct Panels<T: Number> {
    /// Of rows.
    pub a: Block<T>,
    /// Of columns.
    pub b: Block<T>,
    /// Of rows and columns: in their inputs, along the depth and in the result.
    pub offsets: [Offsets; 2],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_hold_every_entry_whatever_the_offsets() {
        let table: Vec<f64> = (0..40_000).map(f64::from).collect();
        let forms: [(Vec<usize>, Vec<usize>); 5] = [
            ((0..30).collect(), (0..24).map(|k| 100 * k).collect()),
            ((0..30).map(|r| 64 * r).collect(), (0..32).collect()),
            (
                (0..31).map(|r| 64 * r).collect(),
                (0..27).map(|k| k / 6 * 9 + k % 6).collect(),
            ),
            (
                (0..29).map(|r| r * r).collect(),
                (0..13).map(|k| 1000 * k).collect(),
            ),
            (vec![5], vec![7, 3]),
        ];
        for (rows, depth) in forms {
            for (width, unit) in [(24, 8), (8, 8), (48, 16)] {
                let form = Form { width, unit };
                let one = form.entries(rows.len(), depth.len());
                let mut to = vec![7.0; 2 * one];
                pack(
                    &table,
                    [11, 600].into_iter(),
                    PackedPlaces {
                        rows: &rows,
                        depth: &depth,
                    },
                    form,
                    &mut to,
                );
                for (product, base) in [11, 600].into_iter().enumerate() {
                    let mut at = product * one;
                    for panel in rows.chunks(width) {
                        for d in &depth {
                            for r in 0..panel.len().next_multiple_of(unit) {
                                assert_eq!(
                                    to[at],
                                    panel.get(r).map_or(0.0, |row| table[base + row + d])
                                );
                                at += 1;
                            }
                        }
                    }
                }
            }
        }
    }
}
