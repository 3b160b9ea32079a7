//! The register tile: a whole panel pair, in as many sub-tiles as the registers demand.
//!
//! ```text
//! for each C vectors of columns, for each R rows of the panels              R · C accumulators
//!     acc[R][C] = 0, or the wide sums so far (exact form)
//!     for k in components
//!         y[C] = vectors of component k                                     aligned loads
//!         for each row: x = component k in all lanes; acc[row][C] = step(acc, x, y)
//!     write acc to rows of the result, or add it to the wide sums
//! ```
//!
//! Why this shape: R · C accumulators, C vectors of y and one of x fill 16 or 32 registers, and
//! each loaded number serves R or C pairs. The shape is a constant, so the compiler keeps all of it
//! in registers.

use super::step::ReduceStep;
use crate::kernels::panels::A_ROWS;
use core::hint::black_box;
use zipfold_vector::simd::{Element, Lanes, array_of, change_each};

/// Where the sums of a tile go.
#[derive(Clone, Copy)]
pub(super) enum Sink<T> {
    /// Written to rows of `ld` values.
    Write { out: *mut T, ld: usize },
    /// Combined with the wide sums of the tile; the exact form takes its sums up from there, unless
    /// this is the first.
    Add { sums: *mut f64, first: bool },
}

/// Computes `d` components of a panel pair.
///
/// # Safety
/// `a` and `b` are valid for reading `d` components of their panels; the sink is valid for a tile
/// of `A_ROWS` × `T::PANEL` pairs.
#[inline(always)]
pub(super) unsafe fn tile<T: Element, S: Lanes<T>, O: ReduceStep, const EXACT: bool>(
    s: S,
    a: *const T,
    b: *const T,
    d: usize,
    sink: Sink<T>,
) {
    // Sub-tiles partition the panel pair, whose validity the caller promises.
    if S::REGISTERS >= 32 {
        // SAFETY: as above.
        unsafe { sub_tiles::<T, S, O, EXACT, 4, 4>(s, a, b, d, sink) }
    } else if S::REGISTERS >= 16 {
        // SAFETY: as above.
        unsafe { sub_tiles::<T, S, O, EXACT, 4, 2>(s, a, b, d, sink) }
    } else {
        // SAFETY: as above.
        unsafe { sub_tiles::<T, S, O, EXACT, 4, 1>(s, a, b, d, sink) }
    }
}

/// Runs the register tiles of one panel pair.
///
/// # Safety
/// `a` and `b` hold a whole slice of a packed panel each, `d` components long.
#[inline(always)]
unsafe fn sub_tiles<
    T: Element,
    S: Lanes<T>,
    O: ReduceStep,
    const EXACT: bool,
    const R: usize,
    const C: usize,
>(
    s: S,
    a: *const T,
    b: *const T,
    d: usize,
    sink: Sink<T>,
) {
    for j in (0..T::PANEL).step_by(C * S::N) {
        for i in (0..A_ROWS).step_by(R) {
            // SAFETY: R divides A_ROWS and C · N divides PANEL, so the sub-tile lies within the
            // panels and the sink.
            unsafe {
                let sink = match sink {
                    Sink::Write { out, ld } => Sink::Write {
                        out: out.add(i * ld + j),
                        ld,
                    },
                    Sink::Add { sums, first } => Sink::Add {
                        sums: sums.add(i * T::PANEL + j),
                        first,
                    },
                };
                sub_tile::<T, S, O, EXACT, R, C>(s, a.add(i), b.add(j), d, sink);
            }
        }
    }
}

/// Runs one register tile.
///
/// # Safety
/// `a` and `b` are valid for `d` components of their panels; the sink is valid for `R` rows of `C`
/// vectors.
#[inline(always)]
unsafe fn sub_tile<
    T: Element,
    S: Lanes<T>,
    O: ReduceStep,
    const EXACT: bool,
    const R: usize,
    const C: usize,
>(
    s: S,
    a: *const T,
    b: *const T,
    d: usize,
    sink: Sink<T>,
) {
    let zeros = [[s.splat(T::ZERO); C]; R];
    // SAFETY: the caller promises what each of these asks.
    unsafe {
        match sink {
            Sink::Write { out, ld } => {
                let acc = sum::<T, S, O, EXACT, R, C>(s, a, b, d, zeros);
                write::<T, S, R, C>(s, acc, out, ld);
            }
            Sink::Add { sums, first } => {
                // The exact form has T = f64.
                let exact = sums.cast::<T>();
                let acc = if EXACT && !first {
                    read::<T, S, R, C>(s, exact, T::PANEL)
                } else {
                    zeros
                };
                let acc = sum::<T, S, O, EXACT, R, C>(s, a, b, d, acc);
                if EXACT {
                    write::<T, S, R, C>(s, acc, exact, T::PANEL);
                } else {
                    combine::<T, S, O, R, C>(s, acc, sums);
                }
            }
        }
    }
}

/// The inner loop: `R` × `C` vectors of sums in registers.
///
/// # Safety
/// `a` and `b` are valid for `d` components of their panels.
#[inline(always)]
unsafe fn sum<
    T: Element,
    S: Lanes<T>,
    O: ReduceStep,
    const EXACT: bool,
    const R: usize,
    const C: usize,
>(
    s: S,
    mut a: *const T,
    mut b: *const T,
    d: usize,
    mut acc: [[S::V; C]; R],
) -> [[S::V; C]; R] {
    let one = s.splat(black_box(T::ONE));
    for _ in 0..d {
        // SAFETY: the caller promises that component k < d of both panels is readable; a and b
        // point to it.
        unsafe {
            let y: [S::V; C] = array_of(|c| s.load(b.add(c * S::N)));
            for (r, row) in acc.iter_mut().enumerate() {
                change_each(row, y, |cell, y| {
                    *cell = O::step::<T, S, EXACT>(s, one, *cell, a.add(r), y);
                });
            }
            a = a.add(A_ROWS);
            b = b.add(T::PANEL);
        }
    }
    acc
}

/// # Safety
/// `R` rows of `C` vectors, `ld` apart, are readable from `p`.
#[inline(always)]
unsafe fn read<T: Element, S: Lanes<T>, const R: usize, const C: usize>(
    s: S,
    p: *const T,
    ld: usize,
) -> [[S::V; C]; R] {
    // SAFETY: the caller promises it.
    array_of(|r| array_of(|c| unsafe { s.load(p.add(r * ld + c * S::N)) }))
}

/// # Safety
/// `R` rows of `C` vectors, `ld` apart, are writable from `p`.
#[inline(always)]
unsafe fn write<T: Element, S: Lanes<T>, const R: usize, const C: usize>(
    s: S,
    acc: [[S::V; C]; R],
    p: *mut T,
    ld: usize,
) {
    for (r, row) in acc.into_iter().enumerate() {
        for (c, v) in row.into_iter().enumerate() {
            // SAFETY: the caller promises it.
            unsafe { s.store(v, p.add(r * ld + c * S::N)) };
        }
    }
}

/// Adds the sums to the wide sums, or takes the larger.
///
/// # Safety
/// `R` rows of `C` vectors, a panel apart, are readable and writable from `p`.
#[inline(always)]
unsafe fn combine<T: Element, S: Lanes<T>, O: ReduceStep, const R: usize, const C: usize>(
    s: S,
    acc: [[S::V; C]; R],
    p: *mut f64,
) {
    for (r, row) in acc.into_iter().enumerate() {
        for (c, v) in row.into_iter().enumerate() {
            // SAFETY: the caller promises it.
            unsafe {
                let p = p.add(r * T::PANEL + c * S::N);
                if O::MAX {
                    s.max_to_f64(v, p);
                } else {
                    s.add_to_f64(v, p);
                }
            }
        }
    }
}
