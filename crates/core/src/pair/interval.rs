//! Interval arithmetic that encloses reference values (Moore, *Interval Analysis*, 1966; IEEE 1788
//! calls this flavour set-based).
//!
//! An interval holds every value that a node can have for any pair of rows of two boxes. Pruning
//! reads it: if the interval of a distance lies beyond the cut-off, no pair of the two boxes is
//! evaluated.
//!
//! The reference value is f64 with every operation rounded to nearest, and the interval must hold
//! *that* value, not the exact one. Rounding to nearest is monotone: a ≤ b implies fl(a) ≤ fl(b).
//! So for an operation that is monotone in each operand and correctly rounded, the ends of the
//! interval computed in the same arithmetic enclose all rounded results. Nothing is widened there,
//! unlike in interval libraries, which round ends outwards to hold the exact value. Only the
//! elementary functions are widened (`elementary.rs`): they are accurate to a few ulps and not
//! monotone to the last bit.
//!
//! ```text
//! [1, 2] − [0.5, 3]  =  [1 − 3, 2 − 0.5]  =  [−2, 1.5]
//! sqrt([−1, 4])      =  unknown, because a value below zero has no root
//! ```
//!
//! NaN is outside of the order. Where a value may be NaN nothing is known, and [`Span::UNKNOWN`]
//! says so; an interval that is known promises that no value is NaN. Functions are inlined and
//! branch-free where possible, because `interval_bounds.rs` runs them for 16 pairs of boxes at a
//! time.

mod elementary;

use crate::number;
use crate::pair::tree::{Binary, Unary};

pub use elementary::{down, up};

/// All values between two ends; or nothing known, if both ends are NaN. Then the value may be any
/// number or NaN.
///
/// The whole line from −∞ to ∞ bounds nothing and counts as unknown, so that a caller tests one
/// thing.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// No value is below.
    pub lo: f64,
    /// No value is above.
    pub hi: f64,
}

impl Span {
    /// Any value, or NaN.
    pub const UNKNOWN: Span = Span {
        lo: f64::NAN,
        hi: f64::NAN,
    };
    /// A truth value of which nothing is known. It is bounded all the same: a comparison is never
    /// NaN.
    const FALSE_OR_TRUE: Span = Span { lo: 0.0, hi: 1.0 };

    /// Returns the span of the negated values where the `largest` are wanted, so that smaller is
    /// better; else itself.
    #[inline(always)]
    pub fn falling(self, largest: bool) -> Span {
        if largest {
            Span {
                lo: -self.hi,
                hi: -self.lo,
            }
        } else {
            self
        }
    }
    /// Returns the interval from `lo` to `hi`. Ends that are out of order, NaN or both infinite
    /// give [`Span::UNKNOWN`], so that a NaN which an operation produced at an end spreads by
    /// itself.
    #[inline(always)]
    pub fn new(lo: f64, hi: f64) -> Span {
        let known = (lo <= hi) & ((lo > f64::NEG_INFINITY) | (hi < f64::INFINITY));
        Span {
            lo: if known { lo } else { f64::NAN },
            hi: if known { hi } else { f64::NAN },
        }
    }
    /// Returns the interval of one value.
    #[inline(always)]
    pub fn point(v: f64) -> Span {
        Span { lo: v, hi: v }
    }
    /// Returns whether the values are bounded, and none is NaN.
    #[inline(always)]
    pub fn is_known(self) -> bool {
        self.lo <= self.hi
    }
    /// Returns whether `v` is a possible value. Tests hold every reference value to this.
    pub fn holds(self, v: f64) -> bool {
        !self.is_known() || (self.lo <= v && v <= self.hi)
    }
    /// Returns the smallest interval that holds both.
    #[inline(always)]
    pub fn hull(self, o: Span) -> Span {
        let known = self.is_known() & o.is_known();
        let (lo, hi) = (low(self.lo, o.lo), high(self.hi, o.hi));
        if known {
            Span::new(lo, hi)
        } else {
            Span::UNKNOWN
        }
    }
    /// Returns whether the value is certainly true: not zero. A NaN counts as true, as in `if`, but
    /// it never makes this certain, because it makes the interval unknown.
    #[inline(always)]
    pub fn must(self) -> bool {
        (self.lo > 0.0) | (self.hi < 0.0)
    }
    /// Returns whether the value may be true. Only the point 0 is certainly false.
    #[inline(always)]
    pub fn may(self) -> bool {
        !((self.lo == 0.0) & (self.hi == 0.0))
    }
    /// Returns the magnitudes. An interval around zero reaches down to 0; others keep their order
    /// or turn it around.
    #[inline(always)]
    pub fn abs(self) -> Span {
        let inside = (self.lo <= 0.0) & (self.hi >= 0.0);
        let (a, b) = (self.lo.abs(), self.hi.abs());
        Span::new(
            if inside { 0.0 } else { low(a, b) },
            if self.is_known() {
                high(a, b)
            } else {
                f64::NAN
            },
        )
    }
    /// Returns `v·v`. This is tighter than the product of two intervals, which does not know that
    /// both operands are the same: [−1, 2]·[−1, 2] = [−2, 4], and the square is [0, 4].
    #[inline(always)]
    pub fn square(self) -> Span {
        let a = self.abs();
        Span::new(a.lo * a.lo, a.hi * a.hi)
    }
    /// Applies a function that never falls and is correctly rounded to both ends.
    #[inline(always)]
    fn rising(self, f: impl Fn(f64) -> f64) -> Span {
        Span::new(f(self.lo), f(self.hi))
    }
    /// Returns a truth value as an interval of the numbers 0 and 1.
    fn truth(must: bool, may: bool) -> Span {
        Span {
            lo: f64::from(u8::from(must)),
            hi: f64::from(u8::from(may)),
        }
    }
}

/// Returns the smaller of two numbers that are not NaN. `f64::min` has to handle NaN, which costs
/// an instruction for nothing.
#[inline(always)]
fn low(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The larger of two numbers that are not NaN.
#[inline(always)]
fn high(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Returns the interval of a function of one operand.
#[inline(always)]
pub fn unary(op: Unary, a: Span) -> Span {
    match op {
        Unary::Neg => Span::new(-a.hi, -a.lo),
        Unary::Not => Span::truth(!a.may(), !a.must()),
        Unary::Abs => a.abs(),
        Unary::Sqrt => a.rising(f64::sqrt),
        Unary::Floor => a.rising(f64::floor),
        Unary::Ceil => a.rising(f64::ceil),
        Unary::Round => a.rising(libm::rint),
        Unary::Sign => a.rising(number::sign),
        Unary::IsNan => {
            if a.is_known() {
                Span::point(0.0)
            } else {
                Span::FALSE_OR_TRUE
            }
        }
        other => elementary::unary(other, a),
    }
}

/// Returns the interval of a function of two operands. The operands are taken to be independent, so
/// the interval may be wider than needed if both contain the same row.
#[inline(always)]
pub fn binary(op: Binary, a: Span, b: Span) -> Span {
    match op {
        Binary::Add => Span::new(a.lo + b.lo, a.hi + b.hi),
        Binary::Sub => Span::new(a.lo - b.hi, a.hi - b.lo),
        Binary::Mul => mul(a, b),
        Binary::Div => div(a, b),
        Binary::Pow => elementary::pow(a, b),
        Binary::Atan2 => elementary::atan2(a, b),
        // NaN between whole numbers; a single number says whether it is one.
        Binary::BitAnd if a.lo == a.hi && b.lo == b.hi => {
            let value = number::bitand(a.lo, b.lo);
            if value.is_nan() {
                Span::UNKNOWN
            } else {
                Span::point(value)
            }
        }
        Binary::BitAnd => Span::UNKNOWN,
        Binary::Min => both(
            a,
            b,
            Span::new(number::min(a.lo, b.lo), number::min(a.hi, b.hi)),
        ),
        Binary::Max => both(
            a,
            b,
            Span::new(number::max(a.lo, b.lo), number::max(a.hi, b.hi)),
        ),
        Binary::And => Span::truth(a.must() & b.must(), a.may() & b.may()),
        Binary::Or => Span::truth(a.must() | b.must(), a.may() | b.may()),
        // Known only if both operands are certain; then it is whether they differ.
        Binary::Xor => {
            let (sure_a, sure_b) = (a.must() | !a.may(), b.must() | !b.may());
            let differ = a.must() != b.must();
            let sure = sure_a & sure_b;
            Span::truth(sure & differ, !sure | differ)
        }
        // a < b for certain if a's largest is below b's least; impossible if a's least is not below
        // b's largest.
        Binary::Lt => decided(a.hi < b.lo, a.lo >= b.hi),
        Binary::Le => decided(a.hi <= b.lo, a.lo > b.hi),
        Binary::Eq => equal(a, b),
        // 1 − [lo, hi] is [1 − hi, 1 − lo].
        Binary::Ne => {
            let e = equal(a, b);
            Span {
                lo: 1.0 - e.hi,
                hi: 1.0 - e.lo,
            }
        }
    }
}

/// Returns the interval of `if(c, a, b)`: one branch if the condition is certain, else both.
#[inline(always)]
pub fn select(c: Span, a: Span, b: Span) -> Span {
    match (c.must(), c.may()) {
        (true, _) => a,
        (_, false) => b,
        _ => a.hull(b),
    }
}

/// Returns `out` if both operands are known: a minimum with an unknown number is unknown.
#[inline(always)]
fn both(a: Span, b: Span, out: Span) -> Span {
    if a.is_known() & b.is_known() {
        out
    } else {
        Span::UNKNOWN
    }
}

/// Returns a truth value that is certain, impossible or neither. Comparisons with a NaN end are
/// false, so an unknown operand gives neither.
#[inline(always)]
fn decided(certain: bool, impossible: bool) -> Span {
    Span::truth(certain, !impossible)
}

/// Equal for certain needs two points; unequal for certain needs intervals that do not meet.
#[inline(always)]
fn equal(a: Span, b: Span) -> Span {
    let one = (a.lo == a.hi) & (b.lo == b.hi) & (a.lo == b.lo);
    let apart = (a.hi < b.lo) | (b.hi < a.lo);
    decided(one, apart)
}

/// Returns the hull of the values at the four corners of a rectangle; unknown if one is NaN, as 0·∞
/// is. A function that is monotone in each operand has its extremes at corners.
#[inline(always)]
fn corners(p: [f64; 4]) -> Span {
    let clean = !(p[0].is_nan() | p[1].is_nan() | p[2].is_nan() | p[3].is_nan());
    let (lo, hi) = (
        low(low(p[0], p[1]), low(p[2], p[3])),
        high(high(p[0], p[1]), high(p[2], p[3])),
    );
    if clean {
        Span::new(lo, hi)
    } else {
        Span::UNKNOWN
    }
}

#[inline(always)]
fn mul(a: Span, b: Span) -> Span {
    corners([a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi])
}

/// Divides; unknown if the divisor may be zero, since 1/x is not monotone across zero.
#[inline(always)]
fn div(a: Span, b: Span) -> Span {
    let clear = (b.lo > 0.0) | (b.hi < 0.0);
    let out = corners([a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi]);
    if clear { out } else { Span::UNKNOWN }
}
