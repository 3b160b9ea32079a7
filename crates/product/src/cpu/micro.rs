//! The register tiles of the matrix kernels, over packed panels.
//!
//! Panels are packed in logical vectors of [`Number::LANES`] entries, whatever the machine. A
//! register tile keeps its sums in registers along the whole depth:
//!
//! ```text
//! for each block of R vectors and C columns of the tile, as large as the registers allow
//!     sums = 0
//!     for k in 0..depth
//!         sums[r][c] ⊕= a[k][r] · b[k][c]        for all r, c
//!     tile = sums
//! ```
//!
//! Every entry takes its terms one after another along the depth, so that its bits do not depend on
//! the shape of a block. A machine with 32 registers of 512 bits takes a tile in one block. Others
//! take it in several, which read the panels again from the nearest cache.

use super::number::Number;
use zipfold_vector::simd::{Isa, Kernel, Lanes, change_each};

/// Vectors of rows in a full tile of the matrix kernel.
pub(super) const ROWS: usize = 3;
/// Columns of such a tile.
pub(super) const COLUMNS: usize = 8;

/// `tile[c · rows·lanes + r] = ⊕_k a[k · rows·lanes + r] · b[k · 8 + c]`, with ⊕ the sum or (for
/// non-negative numbers) the maximum. Slices hold at least `depth` rows; shorter ones leave the
/// tile zero.
pub(super) fn tile<T: Number>(
    rows: usize,
    depth: usize,
    a: &[T],
    b: &[T],
    max: bool,
    tile: &mut [T],
) {
    let width = rows * T::LANES;
    let short =
        a.len() < depth * width || b.len() < depth * COLUMNS || tile.len() < width * COLUMNS;
    if !(1..=ROWS).contains(&rows) || short {
        tile.fill(T::ZERO);
        return;
    }
    let tile = Outer {
        width,
        depth,
        a: a.as_ptr(),
        b: b.as_ptr(),
        tile: tile.as_mut_ptr(),
    };
    tile.on(Isa::detect(), rows, max);
}

/// A tile of the matrix kernel: vectors by numbers. The pointers hold whole panels and a whole
/// tile.
#[derive(Clone, Copy)]
struct Outer<T> {
    width: usize,
    depth: usize,
    a: *const T,
    b: *const T,
    tile: *mut T,
}

/// An [`Outer`] tile of `ROWS` logical vectors. Each form is a kernel of its own: in one function
/// their sums would not stay in registers.
struct OuterOf<T, const ROWS: usize, const MAX: bool>(Outer<T>);

impl<T: Number, const ROWS: usize, const MAX: bool> Kernel<T> for OuterOf<T, ROWS, MAX> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<T>>(self, s: S) {
        if const { S::N == T::LANES } {
            self.0.blocks::<S, ROWS, COLUMNS, MAX>(s);
        } else if const { S::REGISTERS >= 32 } {
            self.0.blocks::<S, 4, 4, MAX>(s);
        } else if const { ROWS == 1 } {
            // Two vectors of the machine to a logical one: eight sums, or twelve, of sixteen
            // registers.
            self.0.blocks::<S, 2, 4, MAX>(s);
        } else if const { ROWS == 2 } {
            self.0.blocks::<S, 4, 2, MAX>(s);
        } else {
            self.0.blocks::<S, 6, 2, MAX>(s);
        }
    }
}

impl<T: Number> Outer<T> {
    fn on(self, isa: Isa, rows: usize, max: bool) {
        match (rows, max) {
            (1, false) => T::dispatch(isa, OuterOf::<T, 1, false>(self)),
            (2, false) => T::dispatch(isa, OuterOf::<T, 2, false>(self)),
            (_, false) => T::dispatch(isa, OuterOf::<T, 3, false>(self)),
            (1, true) => T::dispatch(isa, OuterOf::<T, 1, true>(self)),
            (2, true) => T::dispatch(isa, OuterOf::<T, 2, true>(self)),
            (_, true) => T::dispatch(isa, OuterOf::<T, 3, true>(self)),
        }
    }
    #[inline(always)]
    fn blocks<S: Lanes<T>, const R: usize, const C: usize, const MAX: bool>(&self, s: S) {
        if const { S::N == T::LANES } {
            // SAFETY: whoever makes the tile promises whole panels; the block is the tile.
            return unsafe { self.block::<S, R, C, MAX>(s, 0, 0) };
        }
        for column in (0..COLUMNS).step_by(C) {
            for row in (0..self.width).step_by(R * S::N) {
                // SAFETY: whoever makes the tile promises whole panels; blocks divide it.
                unsafe { self.block::<S, R, C, MAX>(s, row, column) };
            }
        }
    }
    /// # Safety
    /// The block lies within the tile.
    #[inline(always)]
    unsafe fn block<S: Lanes<T>, const R: usize, const C: usize, const MAX: bool>(
        &self,
        s: S,
        row: usize,
        column: usize,
    ) {
        let width = self.width;
        let mut sums = [[s.splat(T::ZERO); R]; C];
        // SAFETY: `a` holds depth · width entries, `b` depth · COLUMNS and the tile width ·
        // COLUMNS, of which the block takes its own; the steps end one past the end.
        unsafe {
            let (mut a, mut b) = (self.a.add(row), self.b.add(column));
            for _ in 0..self.depth {
                let mut rows = [s.splat(T::ZERO); R];
                for (r, row) in rows.iter_mut().enumerate() {
                    *row = s.load(a.add(r * S::N));
                }
                for (c, sums) in sums.iter_mut().enumerate() {
                    let y = s.splat(*b.add(c));
                    change_each(sums, rows, |sum, x| {
                        *sum = taken::<T, S, MAX>(s, *sum, x, y);
                    });
                }
                (a, b) = (a.wrapping_add(width), b.wrapping_add(COLUMNS));
            }
            for (c, sums) in sums.iter().enumerate() {
                for (r, sum) in sums.iter().enumerate() {
                    s.store(*sum, self.tile.add((column + c) * width + row + r * S::N));
                }
            }
        }
    }
}

/// `sum ⊕ x · y`.
#[inline(always)]
fn taken<T: Number, S: Lanes<T>, const MAX: bool>(s: S, sum: S::V, x: S::V, y: S::V) -> S::V {
    if MAX {
        s.max(sum, s.mul(x, y))
    } else {
        s.mul_add(x, y, sum)
    }
}

/// `tile[r][c][lane] = ⊕_k a[k][r][lane] · b[k][c][lane]` for `sides.0` rows and `sides.1` columns.
/// Slices that are too short leave the tile zero.
pub(super) fn vector_tile<T: Number>(
    sides: (usize, usize),
    depth: usize,
    a: &[T],
    b: &[T],
    max: bool,
    tile: &mut [T],
) {
    let (rows, columns) = (sides.0 * T::LANES, sides.1 * T::LANES);
    if a.len() < depth * rows || b.len() < depth * columns || tile.len() < sides.0 * columns {
        tile.fill(T::ZERO);
        return;
    }
    let tile = Inner {
        sides,
        depth,
        a: a.as_ptr(),
        b: b.as_ptr(),
        tile: tile.as_mut_ptr(),
    };
    if max {
        tile.on::<true>(Isa::detect())
    } else {
        tile.on::<false>(Isa::detect())
    }
}

/// A tile of [`super::vectors`]: vectors by vectors, lane by lane. The pointers hold whole panels
/// and a whole tile.
#[derive(Clone, Copy)]
struct Inner<T> {
    sides: (usize, usize),
    depth: usize,
    a: *const T,
    b: *const T,
    tile: *mut T,
}

/// An [`Inner`] tile in blocks of `R` by `C` vectors, or half of one where the registers are few.
struct InnerOf<T, const R: usize, const C: usize, const MAX: bool>(Inner<T>);

impl<T: Number, const R: usize, const C: usize, const MAX: bool> Kernel<T>
    for InnerOf<T, R, C, MAX>
{
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<T>>(self, s: S) {
        if const { S::REGISTERS >= 32 || R * C < 16 } {
            self.0.blocks::<S, R, C, MAX>(s);
        } else if const { R == 4 || R == 2 } {
            self.0.blocks::<S, 2, 4, MAX>(s);
        } else if const { R == 8 } {
            self.0.blocks::<S, 4, 2, MAX>(s);
        } else if const { R == 1 } {
            self.0.blocks::<S, 1, 8, MAX>(s);
        } else {
            self.0.blocks::<S, 8, 1, MAX>(s);
        }
    }
}

impl<T: Number> Inner<T> {
    fn on<const MAX: bool>(self, isa: Isa) {
        match self.sides {
            (4, 4) => T::dispatch(isa, InnerOf::<T, 4, 4, MAX>(self)),
            (2, 8) => T::dispatch(isa, InnerOf::<T, 2, 8, MAX>(self)),
            (8, 2) => T::dispatch(isa, InnerOf::<T, 8, 2, MAX>(self)),
            (1, 16) => T::dispatch(isa, InnerOf::<T, 1, 16, MAX>(self)),
            (16, 1) => T::dispatch(isa, InnerOf::<T, 16, 1, MAX>(self)),
            _ => T::dispatch(isa, InnerOf::<T, 1, 1, MAX>(self)),
        }
    }
    #[inline(always)]
    fn blocks<S: Lanes<T>, const R: usize, const C: usize, const MAX: bool>(&self, s: S) {
        for lane in (0..T::LANES).step_by(S::N) {
            for row in (0..self.sides.0).step_by(R) {
                for column in (0..self.sides.1).step_by(C) {
                    // SAFETY: whoever makes the tile promises whole panels; blocks divide it.
                    unsafe { self.block::<S, R, C, MAX>(s, lane, (row, column)) };
                }
            }
        }
    }
    /// # Safety
    /// The block lies within the tile.
    #[inline(always)]
    unsafe fn block<S: Lanes<T>, const R: usize, const C: usize, const MAX: bool>(
        &self,
        s: S,
        lane: usize,
        (row, column): (usize, usize),
    ) {
        let (rows, columns) = (self.sides.0 * T::LANES, self.sides.1 * T::LANES);
        let mut sums = [[s.splat(T::ZERO); C]; R];
        // SAFETY: `a` holds depth · rows entries, `b` depth · columns and the tile its entries, of
        // which the block takes its own; the steps end one past the end.
        unsafe {
            let (mut a, mut b) = (
                self.a.add(row * T::LANES + lane),
                self.b.add(column * T::LANES + lane),
            );
            for _ in 0..self.depth {
                // The shorter side is held, the longer one passes.
                if R < C {
                    let mut held = [s.splat(T::ZERO); R];
                    for (r, x) in held.iter_mut().enumerate() {
                        *x = s.load(a.add(r * T::LANES));
                    }
                    for c in 0..C {
                        let y = s.load(b.add(c * T::LANES));
                        change_each(&mut sums, held, |sums, x| {
                            sums[c] = taken::<T, S, MAX>(s, sums[c], x, y);
                        });
                    }
                } else {
                    let mut held = [s.splat(T::ZERO); C];
                    for (c, y) in held.iter_mut().enumerate() {
                        *y = s.load(b.add(c * T::LANES));
                    }
                    for (r, sums) in sums.iter_mut().enumerate() {
                        let x = s.load(a.add(r * T::LANES));
                        change_each(sums, held, |sum, y| {
                            *sum = taken::<T, S, MAX>(s, *sum, x, y);
                        });
                    }
                }
                (a, b) = (a.wrapping_add(rows), b.wrapping_add(columns));
            }
            for (r, sums) in sums.iter().enumerate() {
                for (c, sum) in sums.iter().enumerate() {
                    s.store(
                        *sum,
                        self.tile
                            .add(((row + r) * self.sides.1 + column + c) * T::LANES + lane),
                    );
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel<T: Number>(len: usize, seed: usize) -> Vec<T> {
        (0..len)
            .map(|i| T::from_f64(((i * 7919 + seed) % 97) as f64 / 64.0))
            .collect()
    }

    /// Every instruction set, shape, depth and operation, against loops over entries whose sums are
    /// exact.
    fn check<T: Number>() {
        for isa in Isa::available() {
            for (depth, max) in [0, 1, 2, 7, 33]
                .into_iter()
                .flat_map(|depth| [(depth, false), (depth, true)])
            {
                let take = |sum: f64, term: f64| if max { sum.max(term) } else { sum + term };
                for rows in 1..=ROWS {
                    let width = rows * T::LANES;
                    let (a, b) = (panel::<T>(depth * width, 1), panel::<T>(depth * COLUMNS, 5));
                    let mut got = vec![T::ONE; width * COLUMNS];
                    let (from, with, tile) = (a.as_ptr(), b.as_ptr(), got.as_mut_ptr());
                    Outer {
                        width,
                        depth,
                        a: from,
                        b: with,
                        tile,
                    }
                    .on(isa, rows, max);
                    for (at, got) in got.iter().enumerate() {
                        let (c, r) = (at / width, at % width);
                        let term =
                            |k: usize| a[k * width + r].to_f64() * b[k * COLUMNS + c].to_f64();
                        assert_eq!(
                            got.to_f64(),
                            (0..depth).map(term).fold(0.0, take),
                            "{isa} {rows} {depth} {max}"
                        );
                    }
                }
                for sides in [(4, 4), (2, 8), (8, 2), (1, 16), (16, 1), (3, 5)] {
                    let (rows, columns) = (sides.0 * T::LANES, sides.1 * T::LANES);
                    let (a, b) = (panel::<T>(depth * rows, 2), panel::<T>(depth * columns, 3));
                    let mut got = vec![T::ONE; rows * sides.1];
                    let (from, with, tile) = (a.as_ptr(), b.as_ptr(), got.as_mut_ptr());
                    let tile = Inner {
                        sides,
                        depth,
                        a: from,
                        b: with,
                        tile,
                    };
                    if max {
                        tile.on::<true>(isa)
                    } else {
                        tile.on::<false>(isa)
                    }
                    for (at, got) in got.iter().enumerate() {
                        let (r, c, lane) = (at / columns, at % columns / T::LANES, at % T::LANES);
                        let term = |k: usize| {
                            a[k * rows + r * T::LANES + lane].to_f64()
                                * b[k * columns + c * T::LANES + lane].to_f64()
                        };
                        assert_eq!(
                            got.to_f64(),
                            (0..depth).map(term).fold(0.0, take),
                            "{isa} {sides:?} {depth} {max}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn tiles_are_those_of_loops_over_entries() {
        check::<f64>();
        check::<f32>();
    }
}
