//! Intervals of the elementary functions. They are faithful to a few ulps but not monotone to the
//! last bit, so their ends are widened by more than any error they have.

use super::Span;
use crate::number;
use crate::pair::tree::Unary;
use std::f64::consts::{FRAC_PI_2, PI};

/// Relative widening: 64 ulps, where the functions err by 3 at most, and powers by 20, by 60 at the
/// ends of the range.
const WIDER: f64 = 64.0 * f64::EPSILON;
/// Arguments beyond lose their place in the period.
const LARGEST_ANGLE: f64 = 1e8;

/// A number surely below any that should be `v`. An end that should overflow stays finite, as a
/// value may.
#[inline]
pub fn down(v: f64) -> f64 {
    let lower = v - (v.abs() * WIDER + f64::MIN_POSITIVE);
    // ∞ − ∞ is NaN: the value may be the largest finite number.
    if v == f64::INFINITY {
        f64::MAX * (1.0 - WIDER)
    } else {
        lower
    }
}

/// A number surely above any that should be `v`.
#[inline]
pub fn up(v: f64) -> f64 {
    -down(-v)
}

/// A function that never falls but for its error.
fn rising(a: Span, f: impl Fn(f64) -> f64) -> Span {
    let (lo, hi) = (f(a.lo), f(a.hi));
    Span::new(
        if lo == f64::NEG_INFINITY {
            lo
        } else {
            down(lo)
        },
        if hi == f64::INFINITY { hi } else { up(hi) },
    )
}

/// A function that never rises but for its error.
fn falling(a: Span, f: impl Fn(f64) -> f64) -> Span {
    rising(Span { lo: a.hi, hi: a.lo }, f)
}

/// `span` without what lies outside `lo..=hi`, where no value can.
fn within(span: Span, lo: f64, hi: f64) -> Span {
    Span::new(number::max(span.lo, lo), number::min(span.hi, hi))
}

/// Functions of one operand that are not correctly rounded.
pub(super) fn unary(op: Unary, a: Span) -> Span {
    if !a.is_known() {
        return Span::UNKNOWN;
    }
    match op {
        Unary::Exp => within(rising(a, number::exp), 0.0, f64::INFINITY),
        Unary::Log => rising(a, number::log),
        Unary::Log2 => rising(a, number::log2),
        Unary::Log10 => rising(a, number::log10),
        Unary::Log1p => rising(a, number::log1p),
        Unary::Expm1 => within(rising(a, number::expm1), -1.0, f64::INFINITY),
        Unary::Sin => wave(a, FRAC_PI_2, number::sin),
        Unary::Cos => wave(a, 0.0, number::cos),
        Unary::Tan => tan(a),
        Unary::Asin => rising(a, number::asin),
        Unary::Acos => falling(a, number::acos),
        Unary::Atan => rising(a, number::atan),
        Unary::Sinh => rising(a, number::sinh),
        Unary::Cosh => rising(a.abs(), number::cosh),
        Unary::Tanh => within(rising(a, number::tanh), -1.0, 1.0),
        Unary::Erf => within(rising(a, number::erf), -1.0, 1.0),
        Unary::Erfc => within(falling(a, number::erfc), 0.0, 2.0),
        _ => Span::UNKNOWN,
    }
}

/// A sine wave with a crest at `crest`.
fn wave(a: Span, crest: f64, f: impl Fn(f64) -> f64) -> Span {
    if !(a.lo.is_finite() && a.hi.is_finite()) {
        return Span::UNKNOWN;
    }
    if a.lo.abs() > LARGEST_ANGLE || a.hi.abs() > LARGEST_ANGLE {
        return Span::new(-1.0, 1.0);
    }
    let ends = [f(a.lo), f(a.hi)];
    let top = if reaches(a, crest) {
        1.0
    } else {
        up(number::max(ends[0], ends[1]))
    };
    let bottom = if reaches(a, crest + PI) {
        -1.0
    } else {
        down(number::min(ends[0], ends[1]))
    };
    within(Span::new(bottom, top), -1.0, 1.0)
}

/// Whether `place` or a point a whole number of turns from it lies in `a`, give or take.
fn reaches(a: Span, place: f64) -> bool {
    let turn = |v: f64, give: f64| (v - place + give) / (2.0 * PI);
    turn(a.hi, 1e-6).floor() >= turn(a.lo, -1e-6).ceil()
}

fn tan(a: Span) -> Span {
    let branch = |v: f64, give: f64| ((v + give) / PI + 0.5).floor();
    let one = a.lo.abs() < LARGEST_ANGLE
        && a.hi.abs() < LARGEST_ANGLE
        && branch(a.lo, -1e-6) == branch(a.hi, 1e-6);
    if one {
        rising(a, number::tan)
    } else {
        Span::UNKNOWN
    }
}

/// Any angle, unless an operand may be NaN.
pub(super) fn atan2(a: Span, b: Span) -> Span {
    if a.is_known() && b.is_known() {
        Span::new(down(-PI), up(PI))
    } else {
        Span::UNKNOWN
    }
}

/// `a^b`, tight for constant exponents and for positive bases.
pub(super) fn pow(a: Span, b: Span) -> Span {
    if b.lo == 0.0 && b.hi == 0.0 {
        return Span::point(1.0);
    }
    if !(a.is_known() && b.is_known()) {
        return Span::UNKNOWN;
    }
    if b.lo == b.hi {
        return power(a, b.lo);
    }
    if a.lo <= 0.0 {
        return Span::UNKNOWN;
    }
    let ends =
        [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)].map(|(a, b)| number::pow(a, b));
    let hull = super::corners(ends);
    Span::new(
        if hull.lo == 0.0 {
            0.0
        } else {
            number::max(down(hull.lo), 0.0)
        },
        rising(hull, |v| v).hi,
    )
}

/// `a^p` for one exponent, by the cases of [`number::pow`].
fn power(a: Span, p: f64) -> Span {
    if p == p.trunc() && p.abs() <= 64.0 {
        // Products of numbers that are not negative rise with them, rounded too; signs and
        // reciprocals keep that.
        let n = p.abs() as i32;
        let base = if n % 2 == 0 { a.abs() } else { a };
        let whole = Span::new(number::powi(base.lo, n), number::powi(base.hi, n));
        return if p < 0.0 {
            super::div(Span::point(1.0), whole)
        } else {
            whole
        };
    }
    if p == 0.5 {
        return a.rising(f64::sqrt);
    }
    if a.lo < 0.0 || !p.is_finite() {
        return Span::UNKNOWN;
    }
    let f = |v: f64| libm::pow(v, p);
    within(
        if p > 0.0 { rising(a, f) } else { falling(a, f) },
        0.0,
        f64::INFINITY,
    )
}
