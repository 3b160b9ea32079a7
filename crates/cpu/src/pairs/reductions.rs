//! Family *dense*: the recognised reductions of a whole block of pairs at once, by register-blocked
//! kernels on packed rows; the rest of the formula then runs over their values.
//!
//! ```text
//! load:  for each recognised reduction of the program
//!            both vectors hold nothing but 0 and 1: rows of bits           a reduction counts bits
//!            else: x packed in groups of rows, y in panels of columns
//!        one computed vector a side, read by nothing else: packed while it is hoisted, not kept
//! fill(rows, columns):
//!        for each reduction: the values of 128 × 128 pairs → buffer      kernels/dense.rs, bits.rs
//! eval (vm.rs) takes the values of a row from the buffer in place of its loop over components
//! ```
//!
//! Why this shape: long rows are read once for a tile of registers and not once a pair, which a
//! loop over one row cannot do. A buffer of one block stays in the second cache between the kernel
//! and the rest of the formula. From fewer than [`WORTH`] components packing costs more than it
//! saves.

use super::lanes::Real;
use super::program::{Acc, Program};
use super::rows::Rows;
use crate::kernels::bits::{BitRows, Count, count_block};
use crate::kernels::dense::{DenseReduction, reduce_block, reduce_block_exact};
use crate::kernels::panels::{A_ROWS, Packed, PackedA, PackedB, Strips, pack_strips};
use std::ops::Range;
use zipfold_core::fold::BLOCK;
use zipfold_core::pair::lower::{GROUP, Hoister, Lowered};
use zipfold_core::pair::pattern::Reduction;
use zipfold_core::{Job, Side as Of, Table};
use zipfold_plan::executor::ValueType;
use zipfold_vector::memory::Block;
use zipfold_vector::simd::Isa;

/// Components from which packing and blocking pay.
pub use zipfold_plan::filter::LONG as WORTH;

/// Element types with dense kernels.
pub trait Dense: Real + zipfold_vector::simd::Element {
    /// Σ zip over a block of pairs: f32 with contraction in slices, f64 to the bits of the
    /// reference.
    fn reduce_packed(
        isa: Isa,
        form: DenseReduction,
        operands: (&PackedA<Self>, &PackedB<Self>),
        rows: Range<usize>,
        cols: Range<usize>,
        out: &mut [Self],
    );
}

/// Element types of dense results.
pub trait Element: Dense + ValueType {}
impl<T: Dense + ValueType> Element for T {}

impl Dense for f32 {
    fn reduce_packed(
        isa: Isa,
        form: DenseReduction,
        (x, y): (&PackedA<f32>, &PackedB<f32>),
        rows: Range<usize>,
        cols: Range<usize>,
        out: &mut [f32],
    ) {
        reduce_block(isa, form, x, y, [rows, cols], (out, BLOCK));
    }
}
impl Dense for f64 {
    fn reduce_packed(
        isa: Isa,
        form: DenseReduction,
        (x, y): (&PackedA<f64>, &PackedB<f64>),
        rows: Range<usize>,
        cols: Range<usize>,
        out: &mut [f64],
    ) {
        reduce_block_exact(isa, form, x, y, [rows, cols], (out, BLOCK));
    }
}

/// How a recognised reduction is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    /// On packed rows.
    Packed(DenseReduction),
    /// By counting bits, where both rows hold nothing but 0 and 1.
    Bits(Count),
}

/// A side of the operands: the vectors of its rows, packed for those who ask for them so.
struct Side<P> {
    packed: Vec<Option<P>>,
    bits: Vec<Option<BitRows>>,
}

impl<P> Side<P> {
    /// A side of one vector, packed.
    fn of_one(packed: Option<P>) -> Self {
        Side {
            packed: vec![packed],
            bits: vec![None],
        }
    }
}

/// The only vector that is hoisted from rows of a table, and their numbers.
struct Computed<'l> {
    hoister: Hoister<'l>,
    table: &'l Table,
}

impl<'l> Computed<'l> {
    /// Whether its first rows hold nothing but truth values.
    fn may_be_truths(mut self) -> bool {
        let first = self.strip(0).as_flattened();
        first.iter().all(|v| *v == 0.0 || *v == 1.0)
    }
    fn new(low: &'l Lowered, side: Of, table: &'l Table) -> Self {
        Computed {
            hoister: low.hoister(side),
            table,
        }
    }
}

impl Strips for Computed<'_> {
    fn strip(&mut self, first: usize) -> &[[f64; A_ROWS]] {
        const { assert!(GROUP == A_ROWS) };
        self.hoister.strip(self.table, first, 0).unwrap_or(&[])
    }
    fn number(&self, number: usize) -> &[f64; A_ROWS] {
        self.hoister
            .strip_attr(number)
            .unwrap_or(&[f64::NAN; A_ROWS])
    }
}

/// The recognised reductions of a program, with their rows packed.
pub struct PackedReductions<T> {
    forms: Vec<(How, usize, usize)>,
    x: Side<PackedA<T>>,
    y: Side<PackedB<T>>,
}

/// The reductions of a program, where nothing but they read the one vector that each side computes.
fn computed_forms(low: &Lowered, program: &Program) -> Option<Vec<DenseReduction>> {
    let forms: Option<Vec<DenseReduction>> = program
        .stages
        .iter()
        .flat_map(|s| &s.accs)
        .map(|a| form(a).map(|f| f.0))
        .collect();
    let forms =
        forms.filter(|forms| !forms.is_empty() && !forms.contains(&DenseReduction::Chebyshev))?;
    let raw = low.raw_vector(0).or(low.raw_vector(1)).is_some();
    let one = low.row_vectors.iter().all(|s| s.len() == 1);
    (low.dim >= WORTH && !raw && one && !program.reads_vectors()).then_some(forms)
}

/// The vectors of each side as bits, where they are truth values that a reduction counts.
fn truths<T: Dense>(
    low: &Lowered,
    accs: &[(DenseReduction, usize, usize)],
    x: &Rows<T>,
    y: &Rows<T>,
) -> [Vec<Option<BitRows>>; 2] {
    let counted = |side: usize, s: usize| {
        let of = |a: &(DenseReduction, usize, usize)| if side == 0 { a.1 } else { a.2 };
        accs.iter().any(|a| of(a) == s && count(a.0).is_some())
    };
    let (bits_x, bits_y) = rayon::join(
        || bits(x, low.row_vectors[0].len(), |s| counted(0, s)),
        || bits(y, low.row_vectors[1].len(), |s| counted(1, s)),
    );
    [bits_x, bits_y]
}

impl<T: Dense> PackedReductions<T> {
    /// Packs rows as they are computed, where nothing but the reductions of one computed vector a
    /// side reads them (cosines, correlations); `own` where both sides have the same. With them the
    /// numbers of the rows of x, and those of y if not own. None where rows may hold truth values
    /// alone, which are counted as bits, and where a maximum needs to know whether all are finite.
    pub fn computed(
        low: &Lowered,
        program: &Program,
        job: &Job,
        own: bool,
    ) -> Option<(Self, Rows<T>, Option<Rows<T>>)> {
        let forms = computed_forms(low, program)?;
        let x = || Computed::new(low, Of::X, &job.x);
        let y = || Computed::new(low, Of::Y, job.other());
        if x().may_be_truths() && (own || y().may_be_truths()) {
            return None;
        }
        let numbers = |side: Of, numbers| {
            Rows::of_numbers(low.dim, low.row_scalars[side as usize].len(), numbers)
        };
        let shape =
            |side: Of, table: &Table| (table.rows(), low.dim, low.row_scalars[side as usize].len());
        let Packed {
            a,
            mut b,
            numbers: of_x,
        } = pack_strips(x, shape(Of::X, &job.x), (true, own));
        let mut made = None;
        if !own {
            let other = pack_strips(y, shape(Of::Y, job.other()), (false, true));
            (b, made) = (other.b, Some(numbers(Of::Y, other.numbers)));
        }
        let reductions = PackedReductions {
            forms: forms.into_iter().map(|f| (How::Packed(f), 0, 0)).collect(),
            x: Side::of_one(a),
            y: Side::of_one(b),
        };
        Some((reductions, numbers(Of::X, of_x), made))
    }
    /// Packs what `program` reduces; none where rows are too short to pay, or where NaN must reach
    /// a maximum.
    pub fn pack(
        low: &Lowered,
        program: &Program,
        x: &Rows<T>,
        y: &Rows<T>,
        clean: impl FnOnce() -> bool,
    ) -> Option<Self> {
        let accs = program.stages.iter().flat_map(|s| &s.accs);
        let accs: Vec<(DenseReduction, usize, usize)> = accs.filter_map(form).collect();
        let chebyshev = accs.iter().any(|a| a.0 == DenseReduction::Chebyshev);
        if accs.is_empty() || low.dim < WORTH || (chebyshev && !clean()) {
            return None;
        }
        let [bits_x, bits_y] = truths(low, &accs, x, y);
        let how = |(form, sx, sy): (DenseReduction, usize, usize)| {
            let both = bits_x[sx].is_some() && bits_y[sy].is_some();
            let bits = count(form).filter(|_| both).map(How::Bits);
            (bits.unwrap_or(How::Packed(form)), sx, sy)
        };
        let forms: Vec<(How, usize, usize)> = accs.into_iter().map(how).collect();
        let packs = |of: fn(&(How, usize, usize)) -> usize, s: usize| {
            let mut forms = forms.iter();
            forms.any(|form| matches!(form.0, How::Packed(_)) && of(form) == s)
        };
        let x = Side {
            packed: pack_of(x, bits_x.len(), |s| packs(|f| f.1, s), PackedA::pack),
            bits: bits_x,
        };
        let y = Side {
            packed: pack_of(y, bits_y.len(), |s| packs(|f| f.2, s), PackedB::pack),
            bits: bits_y,
        };
        Some(PackedReductions { forms, x, y })
    }
    /// Buffers for [`Self::fill`]: one block of pairs a reduction.
    pub fn buffers(&self) -> Block<T> {
        Block::zeros(self.forms.len() * BLOCK * BLOCK)
    }
    /// Computes all reductions of the pairs `rows` × `cols`: row i, lane j at `(i −
    /// rows.start)·BLOCK + j − cols.start` of a block each.
    pub fn fill(&self, isa: Isa, rows: &Range<usize>, cols: &Range<usize>, out: &mut [T]) {
        for ((how, sx, sy), out) in self.forms.iter().zip(out.chunks_mut(BLOCK * BLOCK)) {
            let (rows, cols) = (rows.clone(), cols.clone());
            match how {
                How::Bits(count) => {
                    if let (Some(x), Some(y)) = (&self.x.bits[*sx], &self.y.bits[*sy]) {
                        count_block(isa, *count, x, y, [rows, cols], (out, BLOCK));
                    }
                }
                How::Packed(form) => {
                    if let (Some(x), Some(y)) = (&self.x.packed[*sx], &self.y.packed[*sy]) {
                        T::reduce_packed(isa, *form, (x, y), rows, cols, out);
                    }
                }
            }
        }
    }
}

impl<T> std::fmt::Debug for PackedReductions<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PackedReductions({:?})", self.forms)
    }
}

/// The vectors that are `wanted`, packed by `pack`.
fn pack_of<T: Dense, P>(
    rows: &Rows<T>,
    row_vectors: usize,
    wanted: impl Fn(usize) -> bool,
    pack: impl Fn(&[T], usize, usize, usize) -> P,
) -> Vec<Option<P>> {
    let of = |s| wanted(s).then(|| rows.packed(s, &pack));
    (0..row_vectors).map(of).collect()
}

/// The vectors that are `wanted` as bits, where rows hold truth values alone.
fn bits<T: Dense>(
    rows: &Rows<T>,
    row_vectors: usize,
    wanted: impl Fn(usize) -> bool,
) -> Vec<Option<BitRows>> {
    let pack = |s| wanted(s).then(|| rows.packed(s, BitRows::pack))?;
    (0..row_vectors).map(pack).collect()
}

/// What is counted for a form over truth values.
fn count(form: DenseReduction) -> Option<Count> {
    match form {
        DenseReduction::Dot => Some(Count::Both),
        DenseReduction::Differ | DenseReduction::L1 | DenseReduction::SqDiff => Some(Count::Either),
        DenseReduction::Chebyshev | DenseReduction::Lp3 => None,
    }
}

fn form(acc: &Acc) -> Option<(DenseReduction, usize, usize)> {
    let Acc::Reduction(form, x, y, _) = acc else {
        return None;
    };
    Some((reduce(*form), *x, *y))
}

/// The kernel of a recognised reduction.
pub fn reduce(form: Reduction) -> DenseReduction {
    match form {
        Reduction::L1 => DenseReduction::L1,
        Reduction::SqDiff => DenseReduction::SqDiff,
        Reduction::Dot => DenseReduction::Dot,
        Reduction::Chebyshev => DenseReduction::Chebyshev,
        Reduction::Lp3 => DenseReduction::Lp3,
        Reduction::Differ => DenseReduction::Differ,
    }
}

/// The instruction set of the kernels for a planned one.
pub fn isa(planned: zipfold_plan::Isa) -> Isa {
    match planned {
        zipfold_plan::Isa::Scalar => Isa::Scalar,
        zipfold_plan::Isa::Neon => Isa::Neon,
        zipfold_plan::Isa::Avx2 => Isa::Avx2,
        zipfold_plan::Isa::Avx512 => Isa::Avx512,
    }
}
