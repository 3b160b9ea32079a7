//! What the jit computes with between a program and machine code: instructions over virtual
//! registers of one tile.

use super::steps::Target;
use super::{Results, SUM, line};
use zipfold_core::fold::BLOCK;

/// A virtual register. It may be assigned more than once (accumulators are).
pub(super) type V = u32;
/// No register.
pub(super) const NONE: V = V::MAX;

/// What a virtual register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A vector of numbers.
    Vector,
    /// One truth value a lane.
    Mask,
}

/// What an address is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Base {
    /// The first row of x of the tile; `by_k` adds the component.
    X,
    /// Single numbers of that row.
    XAttr,
    /// The strip of y, at the current component.
    Y,
    /// Single numbers of the lanes of y.
    YAttr,
    /// Constant vectors; `by_k` adds the component.
    Vectors,
    /// Differences in a box of the first row, at the current component.
    Deltas,
    /// Values of recognised reductions.
    Reductions,
    /// Results of the first row; in the loop of the tail, at the current component.
    Out,
    /// Constants.
    Pool,
    /// Memory of the call itself.
    Frame,
}

/// An operand in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Mem {
    /// Relative to what.
    pub base: Base,
    /// Bytes from there.
    pub disp: i64,
    /// One number for all lanes.
    pub broadcast: bool,
    /// Whether the offset of the current component is added.
    pub by_k: bool,
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Arg {
    /// None.
    No,
    /// A register.
    V(V),
    /// Memory.
    M(Mem),
}

/// Comparisons; all but `Ne` and `Unordered` are false on NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compare {
    /// a < b
    Lt,
    /// a ≤ b
    Le,
    /// a = b
    Eq,
    /// a ≠ b
    Ne,
    /// Either is NaN.
    Unordered,
}

/// What an instruction does. Operands are registers, the last may be memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Op {
    /// dst = a
    Load,
    /// b = a, to memory
    Store,
    /// dst = a + b
    Add,
    /// dst = a − b
    Sub,
    /// dst = a · b
    Mul,
    /// dst = a / b
    Div,
    /// dst = a < b ? a : b
    Min,
    /// dst = a > b ? a : b
    Max,
    /// Bits of both.
    And,
    /// Bits of either.
    Or,
    /// Bits of one.
    Xor,
    /// The smaller (immediate 4) or larger (5) by IEEE 754, zeros ordered by sign; AVX-512.
    Range(u8),
    /// dst = √a
    Sqrt,
    /// dst = about 1/√a, within 2⁻¹⁴ of it; AVX-512.
    ReciprocalRoot,
    /// Rounds to integers: 0 to even, 1 down, 2 up.
    Round(u8),
    /// dst = a · 2^⌊b⌋; AVX-512.
    Scale,
    /// dst = a − ⌊a⌋, 0 of infinities; AVX-512.
    Fraction,
    /// dst = mask of a ? b
    Compare(Compare),
    /// dst = a (mask) ? c : b
    Blend,
    /// dst = a (mask) ? b : 0
    Keep,
    /// dst += c where mask a, being b + c
    AddIf,
    /// dst += a · b, one rounding
    Fma,
    /// Both masks.
    MaskAnd,
    /// Either mask.
    MaskOr,
    /// One of the masks.
    MaskXor,
    /// The other lanes; b all ones on AVX2.
    MaskNot,
    /// Memory b (two vectors of f64) += a (f32) widened; dst is room.
    WidenAdd,
    /// dst = memory b (two vectors of f64) narrowed to f32; a is room.
    Narrow,
    /// Sets the pointers to component `.0`.
    Start(usize),
    /// Begin of a loop over components up to `.0`, or to the end of the slice.
    Loop(Option<usize>),
    /// End of it.
    End(Option<usize>),
    /// Begin of a loop over slices of `.0` components of `.1`.
    Slices(usize, usize),
    /// End of it.
    EndSlices(usize),
    /// Begin of the loop over strips of lanes.
    Strips,
    /// End of it: pointers move on to the next strips.
    EndStrips,
    /// Calls function `.0` on `.1` numbers: results at byte `.2` of the frame, operands at `.3` and
    /// `.4`.
    Call(usize, usize, i64, i64, i64),
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inst {
    /// What.
    pub op: Op,
    /// Result, or [`NONE`].
    pub dst: V,
    /// Operands.
    pub src: [Arg; 3],
}

impl Op {
    /// Whether the old value of the result is an operand too.
    pub(super) fn is_tied(self) -> bool {
        matches!(self, Op::AddIf | Op::Fma | Op::WidenAdd | Op::Narrow)
    }
    /// Whether a loop begins here.
    pub(super) fn begins(self) -> bool {
        matches!(self, Op::Loop(_) | Op::Slices(..) | Op::Strips)
    }
    /// Whether a loop ends here.
    pub(super) fn ends(self) -> bool {
        matches!(self, Op::End(_) | Op::EndSlices(_) | Op::EndStrips)
    }
}

/// Instructions of a tile over virtual registers.
#[derive(Clone, Debug, Default)]
pub(super) struct Listing {
    /// In order.
    pub insts: Vec<Inst>,
    /// Class of every register.
    pub classes: Vec<Class>,
}

impl Listing {
    /// A new register.
    pub(super) fn register(&mut self, class: Class) -> V {
        self.classes.push(class);
        self.classes.len() as V - 1
    }
    /// Appends an instruction.
    pub(super) fn push(&mut self, op: Op, dst: V, src: [Arg; 3]) {
        self.insts.push(Inst { op, dst, src });
    }
}

/// The sizes that addresses of a tile depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    /// Rows of x.
    pub rows: usize,
    /// Vectors of lanes of y.
    pub strips: usize,
    /// AVX-512, else AVX2.
    pub wide: bool,
    /// Bytes of a number.
    pub size: usize,
    /// Components.
    pub dim: usize,
    /// Hoisted vectors of x and of y.
    pub row_vectors: [usize; 2],
    /// Hoisted numbers of a row of x.
    pub row_scalars: usize,
    /// Numbers of a result.
    pub numbers: usize,
    /// What becomes of results.
    pub results: Results,
}

impl Geometry {
    /// Whether results are added up in single precision by AVX-512.
    pub(super) fn adds_single(&self) -> bool {
        self.results.are_added() && self.wide && self.size == 4
    }
    /// What the code is made for; the forms that are given are known from the steps.
    pub(super) fn target(&self) -> Target {
        Target {
            single: self.size == 4,
            wide: self.wide,
            given: false,
            results: self.results,
        }
    }
    /// Bytes of a vector.
    pub(super) fn vector(&self) -> usize {
        if self.wide { 64 } else { 32 }
    }
    /// Lanes of a vector.
    pub(super) fn lanes(&self) -> usize {
        self.vector() / self.size
    }
    /// Bytes from one number of a result to the next.
    pub(super) fn out_step(&self) -> usize {
        match self.results {
            Results::Sums | Results::WeightedSums => SUM,
            Results::Blocks => BLOCK * self.size,
            Results::Lines => line(self.size) * self.size,
        }
    }
    /// Instances of the formula in a tile.
    pub(super) fn instances(&self) -> usize {
        self.rows * self.strips
    }
}

/// What generated code is given: the start of its frame.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Head {
    /// By [`Base`]: first row of x.
    pub x: *const u8,
    /// Its numbers.
    pub x_attr: *const u8,
    /// Strip of y.
    pub y: *const u8,
    /// Numbers of its lanes.
    pub y_attr: *const u8,
    /// Constant vectors.
    pub vectors: *const u8,
    /// Differences.
    pub deltas: *const u8,
    /// Recognised reductions.
    pub reductions: *const u8,
    /// Results.
    pub out: *mut u8,
    /// Constants.
    pub pool: *const u8,
    /// End of the current slice, in bytes of components.
    pub slice: u64,
    /// Strips that are left.
    pub strips: u64,
}

/// Bytes of a frame before its slots.
pub(super) const HEAD: i64 = 128;
const _: () = assert!(size_of::<Head>() <= HEAD as usize);
