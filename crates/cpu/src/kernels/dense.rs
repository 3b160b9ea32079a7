//! Register-blocked zip-reduce over packed panels: `Σₖ zip(xᵢ[k], yⱼ[k])` for all pairs of a block.
//!
//! ```text
//! for each panel of columns, for each 8 rows (or fewer registers' worth)
//!     for each slice of components
//!         tile sums = 0                                                in registers
//!         for k in the slice
//!             y = component k of the panel's columns                   one or two vectors
//!             for each row: sums[row] += zip(x[row][k], y)             x[row][k] in all lanes
//!         result += sums                                               in f64
//! ```
//!
//! Each loaded vector of y serves all rows of the tile, and each number of x all lanes, so
//! arithmetic is the limit and not memory. Components are summed in slices of [`SLICE`] in
//! registers, and slices in `f64`: the relative error of an `f32` sum of non-negative terms stays
//! below 10⁻⁵ for any number of components. The exact form ([`reduce_block_exact`]) adds in
//! ascending order in `f64` without contraction, so that its bits are those of the plain loop.

use super::panels::{A_ROWS, PackedA, PackedB};
use std::ops::Range;
use zipfold_vector::simd::{Element, Isa, Kernel, Lanes};

pub(super) mod step;
mod tile;

use step::ReduceStep;
use tile::{Sink, tile};

/// Components that are summed in registers before they join the wider sum: their panel slice stays
/// in the L1 cache, and 256 terms keep the worst error of `f32` below 128 roundings.
pub const SLICE: usize = 256;
/// Slices that a tile takes before the next tile, its wide sums in the nearest cache.
const VISIT: usize = 2;
/// Panels of the left and of the right operand in a cache block: the slices of a visit fit in 1 MiB
/// of L2.
const BLOCK_A: usize = 16;
const BLOCK_B: usize = 4;
/// The most columns of a panel of the right operand.
const MAX_PANEL: usize = 64;

/// What is summed over the components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DenseReduction {
    /// Σ |x − y|.
    L1,
    /// Σ (x − y)².
    SqDiff,
    /// Σ x·y.
    Dot,
    /// max |x − y|; NaN differences are passed over.
    Chebyshev,
    /// Σ |x − y|³.
    Lp3,
    /// Σ [x ≠ y].
    Differ,
}

/// `$body` with `$op` as the [`ReduceStep`] of a form.
macro_rules! by_form {
    ($form:expr, $op:ident => $body:expr) => {
        by_form!(@each $form, $op, $body, [L1 SqDiff Dot Chebyshev Lp3 Differ])
    };
    (@each $form:expr, $op:ident, $body:expr, [$($name:ident)*]) => {
        match $form {
            $($crate::kernels::dense::DenseReduction::$name => {
                use $crate::kernels::dense::step::$name as $op;
                $body
            })*
        }
    };
}
pub(super) use by_form;

impl DenseReduction {
    /// All of them.
    pub const ALL: [DenseReduction; 6] = [
        DenseReduction::L1,
        DenseReduction::SqDiff,
        DenseReduction::Dot,
        DenseReduction::Chebyshev,
        DenseReduction::Lp3,
        DenseReduction::Differ,
    ];
}

/// The pairs `rows` × `cols` and where their values go: pair (i, j) at `(i − rows.start) · ld + (j
/// − cols.start)`.
struct Block<'a, T> {
    x: &'a PackedA<T>,
    y: &'a PackedB<T>,
    rows: Range<usize>,
    cols: Range<usize>,
    out: &'a mut [T],
    ld: usize,
}

/// Writes `Σₖ op(xᵢ[k], yⱼ[k])` for i in `rows`, j in `cols` to `out`, row-major with `ld` values
/// from row to row.
///
/// # Panics
/// If the ranges end outside the operands, the operands differ in components, or `out` or `ld` is
/// too small.
pub fn reduce_block<T: Element>(
    isa: Isa,
    op: DenseReduction,
    x: &PackedA<T>,
    y: &PackedB<T>,
    [rows, cols]: [Range<usize>; 2],
    (out, ld): (&mut [T], usize),
) {
    Block {
        x,
        y,
        rows,
        cols,
        out,
        ld,
    }
    .check()
    .dispatch::<false>(isa, op);
}

/// As [`reduce_block`], with every sum added in ascending order of components in `f64`,
/// multiplications and additions rounded separately: for [`DenseReduction::SqDiff`] the bits of
/// `for k { s += (x[k] - y[k]) * (x[k] - y[k]) }`. The term of [`DenseReduction::Lp3`] is
/// (|t|·|t|)·|t|.
pub fn reduce_block_exact(
    isa: Isa,
    op: DenseReduction,
    x: &PackedA<f64>,
    y: &PackedB<f64>,
    [rows, cols]: [Range<usize>; 2],
    (out, ld): (&mut [f64], usize),
) {
    Block {
        x,
        y,
        rows,
        cols,
        out,
        ld,
    }
    .check()
    .dispatch::<true>(isa, op);
}

impl<T: Element> Block<'_, T> {
    fn check(self) -> Self {
        assert_eq!(
            self.x.components(),
            self.y.components(),
            "operands of different components"
        );
        assert!(
            self.rows.end <= self.x.rows() && self.cols.end <= self.y.rows(),
            "pairs outside the operands"
        );
        if !self.rows.is_empty() && !self.cols.is_empty() {
            assert!(self.cols.len() <= self.ld, "rows of the output overlap");
            let need = (self.rows.len() - 1)
                .checked_mul(self.ld)
                .and_then(|n| n.checked_add(self.cols.len()));
            assert!(
                need.is_some_and(|n| n <= self.out.len()),
                "the output is too small"
            );
        }
        self
    }

    fn dispatch<const EXACT: bool>(self, isa: Isa, op: DenseReduction) {
        if self.rows.is_empty() || self.cols.is_empty() {
            return;
        }
        by_form!(op, Op => T::dispatch(isa, Nest::<T, _, EXACT>(self, Op)));
    }
}

/// The loops around the register tile.
struct Nest<'a, T, O, const EXACT: bool>(Block<'a, T>, O);

impl<T: Element, O: ReduceStep, const EXACT: bool> Kernel<T> for Nest<'_, T, O, EXACT> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<T>>(mut self, s: S) {
        let slices = self.0.x.components().div_ceil(SLICE).max(1);
        let a = self.0.rows.start / A_ROWS..self.0.rows.end.div_ceil(A_ROWS);
        let b = self.0.cols.start / T::PANEL..self.0.cols.end.div_ceil(T::PANEL);
        let wide = if slices > VISIT {
            BLOCK_A.min(a.len()) * BLOCK_B.min(b.len()) * A_ROWS * T::PANEL
        } else {
            0
        };
        let mut wide = vec![0.0f64; wide];
        for b0 in b.clone().step_by(BLOCK_B) {
            let bs = b0..b.end.min(b0 + BLOCK_B);
            for a0 in a.clone().step_by(BLOCK_A) {
                let block = (a0..a.end.min(a0 + BLOCK_A), bs.clone());
                if slices == 1 {
                    self.narrow_block(s, block);
                } else {
                    self.wide_block(s, block, slices, &mut wide);
                }
            }
        }
    }
}

impl<T: Element, O: ReduceStep, const EXACT: bool> Nest<'_, T, O, EXACT> {
    /// A cache block whose sums need one slice: tiles go straight to the output.
    #[inline(always)]
    fn narrow_block<S: Lanes<T>>(&mut self, s: S, (a, b): (Range<usize>, Range<usize>)) {
        let d = self.0.x.components();
        for pa in a {
            for pb in b.clone() {
                let (i, j) = (pa * A_ROWS, pb * T::PANEL);
                let (x, y) = (self.0.x.address(pa, 0), self.0.y.address(pb, 0));
                let whole = i >= self.0.rows.start
                    && i + A_ROWS <= self.0.rows.end
                    && j >= self.0.cols.start
                    && j + T::PANEL <= self.0.cols.end;
                if whole {
                    let at = (i - self.0.rows.start) * self.0.ld + j - self.0.cols.start;
                    let out = self.0.out[at..].as_mut_ptr();
                    // SAFETY: the panels hold d components; the tile lies within the block, which
                    // `check` found to fit.
                    unsafe {
                        tile::<T, S, O, EXACT>(s, x, y, d, Sink::Write { out, ld: self.0.ld })
                    };
                } else {
                    let mut cells = [T::ZERO; A_ROWS * MAX_PANEL];
                    let sink = Sink::Write {
                        out: cells.as_mut_ptr(),
                        ld: T::PANEL,
                    };
                    // SAFETY: the panels hold d components; the array holds a tile.
                    unsafe { tile::<T, S, O, EXACT>(s, x, y, d, sink) };
                    self.copy(pa, pb, &cells);
                }
            }
        }
    }

    /// A cache block of several slices, [`VISIT`] of them tile by tile; sums of more wait in `wide`
    /// for the next visit.
    #[inline(always)]
    fn wide_block<S: Lanes<T>>(
        &mut self,
        s: S,
        (a, b): (Range<usize>, Range<usize>),
        slices: usize,
        wide: &mut [f64],
    ) {
        let size = A_ROWS * T::PANEL;
        let d = self.0.x.components();
        let mut near = [0.0f64; A_ROWS * MAX_PANEL];
        let mut cells = [T::ZERO; A_ROWS * MAX_PANEL];
        for visit in (0..slices).step_by(VISIT) {
            let end = slices.min(visit + VISIT);
            for (ta, pa) in a.clone().enumerate() {
                for (tb, pb) in b.clone().enumerate() {
                    let at = (ta * b.len() + tb) * size;
                    let sums = if slices > VISIT {
                        &mut wide[at..at + size]
                    } else {
                        &mut near[..size]
                    };
                    if visit == 0 {
                        sums.fill(0.0);
                    }
                    let start = sums.as_mut_ptr();
                    for slice in visit..end {
                        let k = slice * SLICE;
                        let (x, y) = (self.0.x.address(pa, k), self.0.y.address(pb, k));
                        let sink = Sink::Add {
                            sums: start,
                            first: slice == 0,
                        };
                        // SAFETY: the panels hold this many components from k; `start` begins a
                        // tile.
                        unsafe { tile::<T, S, O, EXACT>(s, x, y, SLICE.min(d - k), sink) };
                    }
                    if end == slices {
                        cells
                            .iter_mut()
                            .zip(&*sums)
                            .for_each(|(cell, sum)| *cell = T::from_f64(*sum));
                        self.copy(pa, pb, &cells);
                    }
                }
            }
        }
    }

    /// Copies the pairs of a tile that lie within the block to the output.
    #[inline(always)]
    fn copy(&mut self, pa: usize, pb: usize, cells: &[T; A_ROWS * MAX_PANEL]) {
        let (i0, j0) = (pa * A_ROWS, pb * T::PANEL);
        let (rows, cols) = (&self.0.rows, &self.0.cols);
        let (j_start, j_end) = (j0.max(cols.start), (j0 + T::PANEL).min(cols.end));
        for i in i0.max(rows.start)..(i0 + A_ROWS).min(rows.end) {
            let row = (i - rows.start) * self.0.ld;
            let out = &mut self.0.out[row + j_start - cols.start..row + j_end - cols.start];
            out.copy_from_slice(&cells[(i - i0) * T::PANEL..][j_start - j0..j_end - j0]);
        }
    }
}
