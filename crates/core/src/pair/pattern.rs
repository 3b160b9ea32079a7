//! The patterns of formulas that planner and backends treat specially: a norm of differences, a
//! reduction with a chain of operations, and a threshold on a value.
//!
//! `recognise` finds them once, when a formula is lowered, so that all backends agree on what a
//! question is. `plan` decides from the pattern which strategy fits. A pattern says what the
//! formula *is*; it proves no bound and picks no kernel.
//!
//! ```text
//! sqrt((x.a - y.a)^2 + (x.b - y.b)^2) < 3
//!   threshold: norm of the value under the root ≤ 9    the limit on the square, exact to the bit
//!   norm:      Squares, terms [a, b]                   in the order in which they are added
//! 1 - sum(x * y)
//!   chain:     Dot, steps [From(1)]                    in the order in which they are applied
//! ```

use super::tree::{Binary, Id};
use crate::number;

/// The most differences of a norm that is recognised. Searches among points have kernels that are
/// written out for each number.
pub const MOST: usize = 4;

/// What is recognised of a root. A formula of no pattern has none of these.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pattern {
    /// The norm of differences that it is.
    pub norm: Option<Differences>,
    /// The reduction and the steps from it to the root.
    pub chain: Option<Chain>,
    /// The comparison with a limit that it is.
    pub threshold: Option<Threshold>,
}

/// How the differences of coordinates make a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// Σ d².
    Squares,
    /// Σ |d|.
    Magnitudes,
    /// max |d|.
    Largest,
}

/// A norm of up to [`MOST`] differences.
#[derive(Clone, Debug, PartialEq)]
pub struct Differences {
    /// How they make the value.
    pub norm: Norm,
    /// The differences, in the order in which they are added.
    pub terms: Vec<Difference>,
    /// Whether one reduction over all components of a vector makes the norm.
    pub whole: bool,
}

/// One difference: a hoisted number of x less one of y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The places of the two numbers in the order of
    /// [`super::interval_bounds::Bounds::coordinates`].
    pub coordinates: [usize; 2],
    /// Component of the box, where the difference is that of the nearest image.
    pub image: Option<usize>,
}

/// A reduction over the components of two hoisted vectors a and b that kernels compute with
/// specialised code. All other reductions run through generated code or the evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Σ |a − b|: Manhattan distances.
    L1,
    /// Σ (a − b)²: Euclidean distances and Gaussian kernels.
    SqDiff,
    /// Σ a·b: cosines, correlations, counts of common truths.
    Dot,
    /// max |a − b|.
    Chebyshev,
    /// Σ |a − b|³: Minkowski distances with p = 3.
    Lp3,
    /// Σ [a ≠ b]: Hamming distances.
    Differ,
}

/// A reduction of one hoisted vector of x and one of y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorReduction {
    /// What is reduced.
    pub form: Reduction,
    /// The nodes of the vectors of x and of y.
    pub sides: [Id; 2],
    /// The numbers of these vectors among the ones that are hoisted.
    pub row_vectors: [usize; 2],
}

/// A reduction and the steps from it to a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The reduction.
    pub reduction: VectorReduction,
    /// The steps, the first one applied to the reduction.
    pub steps: Vec<Step>,
}

/// An operation on the way from a reduction to a value. Each is monotone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// √v.
    Sqrt,
    /// −v.
    Neg,
    /// v + c.
    Add(f64),
    /// v − c.
    Sub(f64),
    /// c − v.
    From(f64),
    /// v · c.
    Mul(f64),
    /// v / c.
    Div(f64),
    /// min(v, c).
    Min(f64),
    /// max(v, c).
    Max(f64),
    /// Another value for rows that are equal.
    Choice(Choice),
}

/// `if(z == a and z == b, same, v)` of the reduction z, where a is a number of the row of x and b
/// one of the row of y: their inner products with themselves. This is how the cosine gives exactly
/// 1 for equal rows. `same` depends on z alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// a and b: hoisted numbers of x and of y.
    pub numbers: [usize; 2],
    /// `same` where z is 0, and elsewhere.
    pub same: [f64; 2],
}

impl Choice {
    /// Returns `same` for the reduction `z`.
    pub fn same(&self, z: f64) -> f64 {
        self.same[usize::from(z != 0.0)]
    }
}

impl Step {
    /// Returns the step from v to `v op c`.
    pub fn by(op: Binary, c: f64) -> Option<Step> {
        match op {
            Binary::Add => Some(Step::Add(c)),
            Binary::Sub => Some(Step::Sub(c)),
            Binary::Mul if c != 0.0 => Some(Step::Mul(c)),
            Binary::Div if c != 0.0 => Some(Step::Div(c)),
            Binary::Min => Some(Step::Min(c)),
            Binary::Max => Some(Step::Max(c)),
            _ => None,
        }
    }
    /// Returns the step from v to `c op v`.
    pub fn of_constant(op: Binary, c: f64) -> Option<Step> {
        match op {
            Binary::Sub => Some(Step::From(c)),
            Binary::Add | Binary::Mul | Binary::Min | Binary::Max => Step::by(op, c),
            _ => None,
        }
    }
    /// Returns the constant of the step, if it has one.
    pub fn constant(self) -> Option<f64> {
        match self {
            Step::Sqrt | Step::Neg | Step::Choice(_) => None,
            Step::Add(c)
            | Step::Sub(c)
            | Step::From(c)
            | Step::Mul(c)
            | Step::Div(c)
            | Step::Min(c)
            | Step::Max(c) => Some(c),
        }
    }
    /// Returns what the step makes of `v` on the way from the reduction `z`, with the roundings of
    /// the reference. `numbers` are those of a choice.
    pub fn apply(&self, v: f64, z: f64, numbers: [f64; 2]) -> f64 {
        match self {
            Step::Sqrt => v.sqrt(),
            Step::Neg => -v,
            Step::Add(c) => v + c,
            Step::Sub(c) => v - c,
            Step::From(c) => c - v,
            Step::Mul(c) => v * c,
            Step::Div(c) => v / c,
            Step::Min(c) => number::min(v, *c),
            Step::Max(c) => number::max(v, *c),
            Step::Choice(choice) if numbers == [z; 2] => choice.same(z),
            Step::Choice(_) => v,
        }
    }
}

/// The comparison of a value with a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The value that is compared.
    pub value: Id,
    /// Whether values below the limit meet it, else those above.
    pub below: bool,
    /// The limit.
    pub limit: f64,
    /// Whether the limit itself meets it.
    pub or_equal: bool,
    /// The norm that the value is, or is the root of, and the largest norm that meets the limit.
    pub norm: Option<(Differences, f64)>,
    /// The reduction and the steps from it to the value.
    pub chain: Option<Chain>,
}
