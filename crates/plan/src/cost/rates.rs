//! What the terms of the cost model take: cycles of one core, and bytes a second of the machine.
//!
//! Those of AVX-512 are fitted to `zipfold bench` on an AMD EPYC of family 25, model 17 (Zen 4), 2
//! cores at 3.7 GHz; the records are `bench/records/epyc-2core/2026-11-21-predictions.md` and
//! `2026-11-22-broadcasts.md` (where powers, boxes and the column grid were scaled to the ratios
//! seen, not measured alone); functions but `exp`, `log` and powers by constants, cut-offs, weights
//! and means are estimates there. Those of AVX2 are fitted to `zipfold bench --everything` of a
//! release build on two cores that have no more (`2026-11-23-everything.md`), its functions to
//! `2026-11-23-functions.md`. Those of the scalar set are estimates from them, those of NEON
//! estimates from the instructions of a loop; neither is measured. Another machine is taken to need
//! as many cycles: its clock, its cores and its lanes scale the times.

use crate::machine::Isa;

/// Cycles of one core for one instruction set. "A vector" is as many pairs as a register has lanes.
pub struct Rates {
    /// A component of a vector of pairs in the dense kernels, single precision summed in slices:
    /// Σ|d|, Σd², Σab, max|d|, Σ|d|³, Σ[a ≠ b].
    pub dense_single: [f64; 6],
    /// The same in double precision, rounded as the reference value.
    pub dense_double: [f64; 6],
    /// 64 components of one pair as bit sets, where the formula says that rows are truth values.
    pub bits: f64,
    /// Code made for a formula: a loop over components, once a component; an addition, product,
    /// comparison or choice.
    pub step: f64,
    /// An operation in that code.
    pub operation: f64,
    /// A division or square root of a vector, in single and in double precision.
    pub division: [f64; 2],
    /// An operation of the evaluator that goes step by step, of a vector.
    pub stepwise: f64,
    /// Functions.
    pub functions: Functions,
    /// The nearest image of a difference, in boxes with right angles and in triclinic ones.
    pub image: [f64; 2],
    /// A pair of points counted in a histogram, in open space, in a box with right angles and in an
    /// triclinic one.
    pub counted: [f64; 3],
}

/// Cycles of functions, a lane, in double and in single precision.
#[derive(Debug)]
pub struct Functions {
    /// `exp`.
    pub exp: [f64; 2],
    /// `log`.
    pub log: [f64; 2],
    /// `log1p`, logarithms by other bases, `expm1`, `cosh`, waves and their inverses: in either
    /// precision by lanes of double.
    pub elementary: [f64; 2],
    /// `sinh`, `tanh` and `atan2`.
    pub hyperbolic: [f64; 2],
    /// `erf` and `erfc`.
    pub error: [f64; 2],
    /// `lgamma`, by a call for each number.
    pub other: [f64; 2],
    /// A power that is not a small number.
    pub power: [f64; 2],
    /// A power whose exponent is not a constant.
    pub any_power: f64,
}

/// Without vectors of double precision to speak of.
const BY_CALLS: Functions = Functions {
    exp: [45.0, 10.0],
    log: [20.0, 10.0],
    elementary: [45.0, 45.0],
    hyperbolic: [90.0, 90.0],
    error: [150.0, 150.0],
    other: [108.0, 100.0],
    power: [165.0, 60.0],
    any_power: 180.0,
};

/// AVX-512.
const AVX512: Rates = Rates {
    dense_single: [1.93, 1.2, 1.11, 1.2, 2.2, 1.8],
    dense_double: [2.2, 2.2, 1.5, 1.3, 2.9, 1.9],
    bits: 0.25,
    step: 1.0,
    operation: 0.75,
    division: [4.0, 5.3],
    stepwise: 5.5,
    functions: Functions {
        exp: [9.5, 0.4],
        log: [7.0, 1.6],
        elementary: [12.0, 12.0],
        hyperbolic: [20.0, 20.0],
        error: [50.0, 50.0],
        other: [108.0, 100.0],
        power: [85.0, 20.0],
        any_power: 85.0,
    },
    image: [2.2, 11.5],
    counted: [1.95, 3.6, 4.0],
};

/// AVX2: vectors are half as long, and two start in a cycle where one of AVX-512 does.
const AVX2: Rates = Rates {
    dense_single: [1.3, 0.9, 0.65, 1.0, 1.6, 1.3],
    dense_double: [1.3, 1.7, 1.15, 1.1, 2.3, 1.3],
    bits: 1.0,
    step: 0.7,
    operation: 0.65,
    division: [3.0, 4.0],
    stepwise: 3.0,
    functions: Functions {
        exp: [10.0, 2.0],
        log: [9.0, 4.5],
        elementary: [14.0, 14.0],
        hyperbolic: [20.0, 20.0],
        error: [54.0, 52.0],
        other: [108.0, 100.0],
        power: [44.0, 24.0],
        any_power: 52.0,
    },
    image: [4.2, 23.0],
    counted: [3.3, 6.0, 12.0],
};

/// What every machine of the architecture has: vectors of two double-precision lanes.
const SCALAR: Rates = Rates {
    dense_single: [2.0, 1.6, 1.3, 1.6, 2.4, 2.0],
    dense_double: [2.0, 2.0, 1.3, 1.6, 2.6, 2.0],
    bits: 4.0,
    step: 1.0,
    operation: 0.8,
    division: [4.0, 4.5],
    stepwise: 2.0,
    functions: BY_CALLS,
    image: [18.0, 110.0],
    counted: [12.0, 20.0, 40.0],
};

/// NEON, estimated: the arithmetic of a loop on a core that starts two vectors of 128 bits in a
/// cycle. No code is made for formulas, so its rates stand for the evaluator's.
const NEON: Rates = Rates {
    dense_single: [1.2, 1.2, 0.7, 2.0, 2.0, 1.5],
    dense_double: [1.2, 1.7, 1.2, 2.0, 2.2, 1.5],
    bits: 1.5,
    step: 1.0,
    operation: 0.8,
    division: [5.0, 6.0],
    stepwise: 2.0,
    functions: BY_CALLS,
    image: [18.0, 110.0],
    counted: [7.0, 12.0, 24.0],
};

/// The rates of an instruction set.
pub fn for_isa(isa: Isa) -> &'static Rates {
    match isa {
        Isa::Scalar => &SCALAR,
        Isa::Neon => &NEON,
        Isa::Avx2 => &AVX2,
        Isa::Avx512 => &AVX512,
    }
}

/// Cycles of a whole power beyond the fourth in single precision, a lane; an estimate, not measured
/// alone.
pub const WHOLE: f64 = 2.0;
/// Components of a loop that generated code writes out.
pub const WRITTEN_OUT: usize = 4;
/// Cycles of a power of some halves, by a root and a division, or in single precision a reciprocal
/// root, a lane.
pub const HALVES: [f64; 2] = [1.4, 0.4];

/// Cycles of a cell on its way into a fold: into a matrix, a mirrored matrix, lists of neighbours,
/// bins of a general histogram (an axis), matches.
pub const FOLD: [f64; 5] = [0.25, 1.5, 8.0, 7.0, 8.0];
/// Cycles of a pair of half of a space whose value goes into a list of the column, too.
pub const NEAREST_OF_OTHER: f64 = 20.0;
/// Cycles of a search among uneven edges, by a table and a few halvings; of a term of a weight, and
/// of a mean, in a general histogram.
pub const SEARCHED: f64 = 10.0;
/// Cycles of an exact addition of a term of any size to the sum of a bin.
pub const EXACT_TERM: f64 = 14.0;
/// See [`SEARCHED`].
pub const TERMS: [f64; 2] = [35.0, 35.0];
/// Cycles of an edge, and of a number of a bin for every batch: zeroed, and merged.
pub const BINS: [f64; 2] = [60.0, 3.0];
/// Cycles of a pair that is compared with a cut-off in a sweep over all pairs, and of a fold that
/// takes values in short runs for it.
pub const CUT: f64 = 8.0;
/// Cycles of a pair that is credited to its row by vectors: that it is looked at, each number of
/// its sum, each number of that of its column, an exponential of single precision, a comparison
/// with the best.
pub const CREDITED: [f64; 5] = [0.8, 0.4, 0.6, 2.6, 0.6];
/// Neighbours up to which a list costs what any does.
pub const SHORT_LIST: f64 = 32.0;
/// Cycles of a value that a longer list takes; of a neighbour of it that a bounding volume
/// hierarchy finds.
pub const LISTED: [f64; 2] = [100.0, 450.0];
/// Cycles of a pair that generated code adds to the sum of its row.
pub const ADDED: f64 = 0.03;

/// Cycles of a value of single precision that is compared with a bound, with its share of those
/// computed again.
pub const FILTERED: f64 = 2.0;

/// Cycles of an element of a row that is hoisted and laid out.
pub const LAID: f64 = 2.0;
/// Cycles of an operation on an element of a row, where rows are hoisted by a formula of their own.
pub const HOISTED: f64 = 7.0;
/// Cycles of a row that is sorted along the curve, and boxed.
pub const SORTED: f64 = 250.0;
/// Cycles of the way of a group of points down the boxes, and of a leaf that it looks at.
pub const GROUP: [f64; 2] = [50e3, 90.0];
/// Times as many of these in a triclinic box, where gaps of boxes are bounded over all images.
/// Measured on 11 084 and 47 681 atoms (`bench/records/epyc-2core/2026-11-25-rdf.md`).
pub const SKEWED: f64 = 8.0;
/// Cycles of a row's way down the boxes of a bounding volume hierarchy, of a leaf that it meets,
/// and of a pair: the nearest; those within.
pub const NEAREST: [f64; 3] = [2500.0, 300.0, 5.0];
/// See [`NEAREST`].
pub const WITHIN: [f64; 3] = [400.0, 60.0, 6.0];
/// See [`NEAREST`]; of both extremes together. Estimates, not measured alone.
pub const ENDS: [f64; 3] = [250.0, 30.0, 3.0];
/// Cycles of a column grid: a column that a group of rows meets, a vector of distances in it, a row
/// placed, a pair counted.
pub const COLUMN_GRID: [f64; 4] = [250.0, 19.0, 180.0, 2.4];
/// Cycles of a grid of cells: a row placed, a row of y laid out for a cell of x, a pair looked at,
/// a value folded. Estimates, not measured alone.
pub const GRID: [f64; 4] = [400.0, 60.0, 3.0, 25.0];
/// The share of the pairs that rows meet before they are left: an estimate.
pub const MET_BY_ROWS: f64 = 0.1;
/// Cycles of rows sorted along a line: a row, a pair that has a bin.
pub const LINE: [f64; 2] = [400.0, 8.0];
/// Cycles of bounds of a pair of boxes, for each operation of a formula.
pub const BOUND: f64 = 1.5;
/// Cycles of the description of a job, of waking threads and of planning; of sampling rows for the
/// estimate of what bounds leave, a number of a sampled row.
pub const START: f64 = 150e3;
/// See [`START`].
pub const SAMPLED: f64 = 3e6;

/// Cycles of a counted pair whose weight, and whose distance, is added to a sum next to it.
pub const SUMMED: [f64; 2] = [8.0, 70.0];
