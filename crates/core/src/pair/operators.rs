//! The operators of formulas, and what they compute.
//!
//! [`unary`] and [`binary`] are the reference: the oracle and the evaluator call them, generated
//! code is held to their bits. Elementary functions come from [`number`], not from the system's
//! mathematical library, because that one differs between machines. Truth values are the numbers 1
//! and 0, and any number but 0 is true; NaN is true as well, since it does not equal 0.

use crate::number;
use crate::number::function::{self, At, Visit};

/// Functions of one number. Each is defined for every f64: outside of its domain the value is NaN,
/// and NaN gives NaN unless a variant says otherwise.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unary {
    /// −a: flips the sign bit, also of 0 and NaN.
    Neg,
    /// 1 if a is 0, else 0. NaN is true, so its negation is 0.
    Not,
    /// |a|: clears the sign bit.
    Abs,
    /// √a, correctly rounded; NaN below 0, and −0 of −0.
    Sqrt,
    /// e^a.
    Exp,
    /// ln a; −∞ at 0.
    Log,
    /// log₂ a, exact for powers of two.
    Log2,
    /// log₁₀ a.
    Log10,
    /// ln(1 + a), without the rounding of the sum.
    Log1p,
    /// e^a − 1, without the cancellation of the difference.
    Expm1,
    /// The sine; a is in radians here and below.
    Sin,
    /// The cosine.
    Cos,
    /// The tangent.
    Tan,
    /// The arc sine, for −1 ≤ a ≤ 1.
    Asin,
    /// The arc cosine, for −1 ≤ a ≤ 1.
    Acos,
    /// The arc tangent.
    Atan,
    /// The hyperbolic sine.
    Sinh,
    /// The hyperbolic cosine.
    Cosh,
    /// The hyperbolic tangent.
    Tanh,
    /// The error function.
    Erf,
    /// 1 − erf a, accurate for large a.
    Erfc,
    /// ln |Γ(a)|.
    Lgamma,
    /// The ones in binary of a whole number from 0 to 2⁵³ − 1; NaN for other numbers.
    Popcount,
    /// The largest integer that is at most a.
    Floor,
    /// The smallest integer that is at least a.
    Ceil,
    /// The nearest integer, halves to the even one.
    Round,
    /// −1 or 1 with the sign of a; 0 and NaN stay.
    Sign,
    /// 1 if a is NaN, else 0: the only function that turns NaN into a number.
    IsNan,
}

/// Functions of two numbers. `a > b` is stored as `b < a`, so backends have two orderings and not
/// four.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    /// a^b, by the algorithm that `number::Power` picks from b.
    Pow,
    /// The smaller; NaN if either is NaN; −0 is smaller than 0.
    Min,
    /// The larger; NaN if either is NaN.
    Max,
    /// The angle of the point (b, a).
    Atan2,
    /// The ones in binary that both have, of whole numbers from 0 to 2⁵³ − 1; NaN for other numbers.
    BitAnd,
    /// Truth values: any number but 0 is true.
    And,
    Or,
    Xor,
    /// a < b; false with NaN, as the next two.
    Lt,
    Le,
    Eq,
    /// a ≠ b; true with NaN.
    Ne,
}

/// Computes a function of one number. It is inlined so that a caller with a constant `op` gets only
/// the code of that function.
#[inline(always)]
pub fn unary(op: Unary, a: f64) -> f64 {
    match op {
        Unary::Neg => -a,
        Unary::Not => truth(a == 0.0),
        Unary::Abs => a.abs(),
        Unary::Sqrt => a.sqrt(),
        Unary::Lgamma => libm::lgamma(a),
        Unary::Floor => a.floor(),
        Unary::Ceil => a.ceil(),
        Unary::Round => libm::rint(a),
        Unary::Sign => number::sign(a),
        Unary::IsNan => truth(a.is_nan()),
        other => single(other, a),
    }
}

/// Computes an elementary function of a single number. It is kept out of line: the code of 18
/// functions in every caller would fill the instruction cache.
#[inline(never)]
fn single(op: Unary, a: f64) -> f64 {
    function(op, At(a)).unwrap_or(f64::NAN)
}

/// Calls `visit` with the elementary function of `op`, as a type; returns `None` for operators that
/// are none. This table alone says which operators are elementary functions.
#[inline(always)]
pub fn function<V: Visit>(op: Unary, visit: V) -> Option<V::Out> {
    Some(match op {
        Unary::Exp => visit.visit::<function::Exp>(),
        Unary::Log => visit.visit::<function::Log>(),
        Unary::Log2 => visit.visit::<function::Log2>(),
        Unary::Log10 => visit.visit::<function::Log10>(),
        Unary::Log1p => visit.visit::<function::Log1p>(),
        Unary::Expm1 => visit.visit::<function::Expm1>(),
        Unary::Sin => visit.visit::<number::Sin>(),
        Unary::Cos => visit.visit::<number::Cos>(),
        Unary::Tan => visit.visit::<number::Tan>(),
        Unary::Asin => visit.visit::<function::Asin>(),
        Unary::Acos => visit.visit::<function::Acos>(),
        Unary::Atan => visit.visit::<function::Atan>(),
        Unary::Sinh => visit.visit::<function::Sinh>(),
        Unary::Cosh => visit.visit::<function::Cosh>(),
        Unary::Tanh => visit.visit::<function::Tanh>(),
        Unary::Erf => visit.visit::<function::Erf>(),
        Unary::Erfc => visit.visit::<function::Erfc>(),
        Unary::Popcount => visit.visit::<function::Popcount>(),
        _ => return None,
    })
}

/// Computes a function of two numbers. Comparisons with NaN are false, but for `!=`.
#[inline(always)]
pub fn binary(op: Binary, a: f64, b: f64) -> f64 {
    match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Pow => number::pow(a, b),
        Binary::Min => number::min(a, b),
        Binary::Max => number::max(a, b),
        Binary::Atan2 => angle(a, b),
        Binary::BitAnd => number::bitand(a, b),
        Binary::And => truth(a != 0.0 && b != 0.0),
        Binary::Or => truth(a != 0.0 || b != 0.0),
        Binary::Xor => truth((a != 0.0) != (b != 0.0)),
        Binary::Lt => truth(a < b),
        Binary::Le => truth(a <= b),
        Binary::Eq => truth(a == b),
        Binary::Ne => truth(a != b),
    }
}

/// Kept out of line, as [`single`].
#[inline(never)]
fn angle(y: f64, x: f64) -> f64 {
    number::atan2(y, x)
}

/// Returns a truth value as a number.
#[inline(always)]
fn truth(yes: bool) -> f64 {
    if yes { 1.0 } else { 0.0 }
}
