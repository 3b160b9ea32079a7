//! Interval arithmetic that encloses reference values (Moore 1966; IEEE 1788 calls it set-based).
//!
//! The reference value is f64 with every operation rounded to nearest. Rounding is monotone, so the
//! ends of an interval computed in the same arithmetic enclose the *rounded* results exactly:
//! nothing is widened but what is not correctly rounded (the elementary functions). Where a NaN is
//! possible nothing is known, and [`Span::UNKNOWN`] says so.

mod elementary;

use crate::number;
use crate::pair::tree::{Binary, Unary};

pub use elementary::{down, up};

/// All values between two ends, or nothing known (both ends NaN): then the value may be anything,
/// NaN included.
///
/// The whole line from −∞ to ∞ bounds nothing, and counts as unknown.
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
    const FALSE_OR_TRUE: Span = Span { lo: 0.0, hi: 1.0 };

    /// From one end to the other; unknown where the ends are out of order, NaN, or bound nothing.
    #[inline(always)]
    pub fn new(lo: f64, hi: f64) -> Span {
        let known = (lo <= hi) & ((lo > f64::NEG_INFINITY) | (hi < f64::INFINITY));
        Span {
            lo: if known { lo } else { f64::NAN },
            hi: if known { hi } else { f64::NAN },
        }
    }
    /// One value.
    #[inline(always)]
    pub fn point(v: f64) -> Span {
        Span { lo: v, hi: v }
    }
    /// Whether values are bounded, and none is NaN.
    #[inline(always)]
    pub fn is_known(self) -> bool {
        self.lo <= self.hi
    }
    /// Whether `v` is allowed.
    pub fn holds(self, v: f64) -> bool {
        !self.is_known() || (self.lo <= v && v <= self.hi)
    }
    /// Every value of both.
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
    /// Whether the value is certainly true (not zero; NaN counts as true).
    #[inline(always)]
    pub fn must(self) -> bool {
        (self.lo > 0.0) | (self.hi < 0.0)
    }
    /// Whether the value may be true.
    #[inline(always)]
    pub fn may(self) -> bool {
        !((self.lo == 0.0) & (self.hi == 0.0))
    }
    /// Values without their signs.
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
    /// `v·v`.
    #[inline(always)]
    pub fn square(self) -> Span {
        let a = self.abs();
        Span::new(a.lo * a.lo, a.hi * a.hi)
    }
    /// A function that never falls and is correctly rounded, applied to both ends.
    #[inline(always)]
    fn rising(self, f: impl Fn(f64) -> f64) -> Span {
        Span::new(f(self.lo), f(self.hi))
    }
    fn truth(must: bool, may: bool) -> Span {
        Span {
            lo: f64::from(u8::from(must)),
            hi: f64::from(u8::from(may)),
        }
    }
}

/// The smaller of two numbers that are not NaN.
#[inline(always)]
fn low(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The larger of two numbers that are not NaN.
#[inline(always)]
fn high(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// A function of one operand.
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

/// A function of two operands.
#[inline(always)]
pub fn binary(op: Binary, a: Span, b: Span) -> Span {
    match op {
        Binary::Add => Span::new(a.lo + b.lo, a.hi + b.hi),
        Binary::Sub => Span::new(a.lo - b.hi, a.hi - b.lo),
        Binary::Mul => mul(a, b),
        Binary::Div => div(a, b),
        Binary::Pow => elementary::pow(a, b),
        Binary::Atan2 => elementary::atan2(a, b),
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
        Binary::Xor => {
            let (sure_a, sure_b) = (a.must() | !a.may(), b.must() | !b.may());
            let differ = a.must() != b.must();
            let sure = sure_a & sure_b;
            Span::truth(sure & differ, !sure | differ)
        }
        Binary::Lt => decided(a.hi < b.lo, a.lo >= b.hi),
        Binary::Le => decided(a.hi <= b.lo, a.lo > b.hi),
        Binary::Eq => equal(a, b),
        Binary::Ne => {
            let e = equal(a, b);
            Span {
                lo: 1.0 - e.hi,
                hi: 1.0 - e.lo,
            }
        }
    }
}

/// `if(c, a, b)`.
#[inline(always)]
pub fn select(c: Span, a: Span, b: Span) -> Span {
    match (c.must(), c.may()) {
        (true, _) => a,
        (_, false) => b,
        _ => a.hull(b),
    }
}

/// `out` where both operands are known.
#[inline(always)]
fn both(a: Span, b: Span, out: Span) -> Span {
    if a.is_known() & b.is_known() {
        out
    } else {
        Span::UNKNOWN
    }
}

/// A truth value that is certain, impossible, or neither (as where an end is NaN).
#[inline(always)]
fn decided(certain: bool, impossible: bool) -> Span {
    Span::truth(certain, !impossible)
}

#[inline(always)]
fn equal(a: Span, b: Span) -> Span {
    let one = (a.lo == a.hi) & (b.lo == b.hi) & (a.lo == b.lo);
    let apart = (a.hi < b.lo) | (b.hi < a.lo);
    decided(one, apart)
}

/// The hull of four numbers; unknown if one is NaN.
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

/// Unknown where the divisor may be zero.
#[inline(always)]
fn div(a: Span, b: Span) -> Span {
    let clear = (b.lo > 0.0) | (b.hi < 0.0);
    let out = corners([a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi]);
    if clear { out } else { Span::UNKNOWN }
}
