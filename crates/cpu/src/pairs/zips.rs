//! Family *dense*: the recognised reductions of a whole block of cells at once, by register-blocked kernels on packed
//! rows; the rest of the formula then runs over their values.

use super::lanes::Real;
use super::program::{Acc, Program};
use super::rows::Rows;
use crate::jit::Aligned;
use crate::kernels::dense::{ZipReduce, zip_reduce_block, zip_reduce_exact};
use crate::kernels::panels::{PackedA, PackedB};
use crate::simd::Isa;
use std::ops::Range;
use zipfold_core::fold::BLOCK;
use zipfold_core::pair::lower::{Lowered, ZipForm};

/// Components from which packing and blocking pay.
pub const WORTH: usize = 16;

/// Element types with dense kernels.
pub trait Dense: Real + crate::simd::Element {
    /// Σ zip over a block of cells: f32 with contraction in slices, f64 to the bits of the reference.
    fn zip_block(
        isa: Isa,
        form: ZipReduce,
        operands: (&PackedA<Self>, &PackedB<Self>),
        rows: Range<usize>,
        cols: Range<usize>,
        out: &mut [Self],
    );
}

impl Dense for f32 {
    fn zip_block(
        isa: Isa,
        form: ZipReduce,
        (x, y): (&PackedA<f32>, &PackedB<f32>),
        rows: Range<usize>,
        cols: Range<usize>,
        out: &mut [f32],
    ) {
        zip_reduce_block(isa, form, x, y, rows, cols, out, BLOCK);
    }
}
impl Dense for f64 {
    fn zip_block(
        isa: Isa,
        form: ZipReduce,
        (x, y): (&PackedA<f64>, &PackedB<f64>),
        rows: Range<usize>,
        cols: Range<usize>,
        out: &mut [f64],
    ) {
        zip_reduce_exact(isa, form, x, y, rows, cols, out, BLOCK);
    }
}

/// The recognised reductions of a program, with their rows packed.
pub struct Zips<T> {
    forms: Vec<(ZipReduce, usize, usize)>,
    x: Vec<PackedA<T>>,
    y: Vec<PackedB<T>>,
}

impl<T: Dense> Zips<T> {
    /// Packs what `program` reduces; none where rows are too short to pay, or where NaN must reach a maximum.
    pub fn pack(low: &Lowered, program: &Program, x: &Rows<T>, y: &Rows<T>, clean: bool) -> Option<Self> {
        let accs: Vec<(ZipReduce, usize, usize)> =
            program.stages.iter().flat_map(|s| &s.accs).filter_map(form).collect();
        let chebyshev = accs.iter().any(|a| a.0 == ZipReduce::Chebyshev);
        if accs.is_empty() || low.dim < WORTH || (chebyshev && !clean) {
            return None;
        }
        let x = (0..low.streams[0].len()).map(|s| x.packed(s, |d, n, dim, stride| PackedA::pack(d, n, dim, stride)));
        let y = (0..low.streams[1].len()).map(|s| y.packed(s, |d, n, dim, stride| PackedB::pack(d, n, dim, stride)));
        Some(Zips { forms: accs, x: x.collect(), y: y.collect() })
    }
    /// Buffers for [`Self::fill`]: one block of cells a reduction.
    pub fn buffers(&self) -> Aligned<T> {
        Aligned::zeros(self.forms.len() * BLOCK * BLOCK)
    }
    /// Computes all reductions of the cells `rows` × `cols`: row i, lane j at `(i − rows.start)·BLOCK + j − cols.start` of a
    /// block each.
    pub fn fill(&self, isa: Isa, rows: &Range<usize>, cols: &Range<usize>, out: &mut [T]) {
        for ((form, sx, sy), out) in self.forms.iter().zip(out.chunks_mut(BLOCK * BLOCK)) {
            T::zip_block(isa, *form, (&self.x[*sx], &self.y[*sy]), rows.clone(), cols.clone(), out);
        }
    }
}

impl<T> std::fmt::Debug for Zips<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Zips({:?})", self.forms)
    }
}

fn form(acc: &Acc) -> Option<(ZipReduce, usize, usize)> {
    let Acc::Zip(form, x, y, _) = acc else { return None };
    let form = match form {
        ZipForm::L1 => ZipReduce::L1,
        ZipForm::SqDiff => ZipReduce::SqDiff,
        ZipForm::Dot => ZipReduce::Dot,
        ZipForm::Chebyshev => ZipReduce::Chebyshev,
        ZipForm::Lp3 => ZipReduce::Lp3,
    };
    Some((form, *x, *y))
}

/// The instruction set of the kernels for a planned one.
pub fn isa(planned: zipfold_plan::Isa) -> Isa {
    match planned {
        zipfold_plan::Isa::Scalar => Isa::Scalar,
        zipfold_plan::Isa::Avx2 => Isa::Avx2,
        zipfold_plan::Isa::Avx512 => Isa::Avx512,
    }
}
