//! Intervals of the elementary functions.
//!
//! `number` computes these functions to a few ulps, and not monotonically to the last bit: for a <
//! b the computed exp(a) may exceed the computed exp(b) by an ulp. The ends of an interval are
//! therefore widened by more than the largest error of any of them. The widening is relative and
//! generous ([`WIDER`]): an interval that is 10⁻¹⁴ wider prunes as well.

use super::Span;
use crate::number;
use crate::pair::tree::Unary;
use std::f64::consts::{FRAC_PI_2, PI};

/// Relative widening of an end: 64 ulps. The functions err by at most 3 ulps; powers by at most 20,
/// and by at most 60 at the ends of the range.
const WIDER: f64 = 64.0 * f64::EPSILON;
/// Beyond this angle the reduction below ([`reaches`]) is not trusted to 10⁻⁶ of a radian, and a
/// wave is bounded by −1 and 1.
const LARGEST_ANGLE: f64 = 1e8;

/// Returns a number that is surely below any computed value of something that should be `v`.
///
/// An end that overflows becomes the largest finite number less the widening, since the value of a
/// pair may have stayed finite. `MIN_POSITIVE` covers subnormal results, whose relative error is
/// not small.
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

/// Returns a number that is surely above any computed value of something that should be `v`.
#[inline]
pub fn up(v: f64) -> f64 {
    -down(-v)
}

/// Applies a function that would never fall without its rounding errors. Infinite ends stay: the
/// functions return an infinity only if the value is one.
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

/// Applies a function that would never rise without its rounding errors: the ends change places.
fn falling(a: Span, f: impl Fn(f64) -> f64) -> Span {
    rising(Span { lo: a.hi, hi: a.lo }, f)
}

/// Cuts `span` to `lo..=hi`. The widening may leave the range of the function; the computed value
/// never does, and a bound of exactly 0 lets a square root above it stay known.
///
/// `number::max` keeps NaN, so an unknown span stays unknown.
fn within(span: Span, lo: f64, hi: f64) -> Span {
    Span::new(number::max(span.lo, lo), number::min(span.hi, hi))
}

/// Returns the interval of a function that is not correctly rounded. Functions without a rule here
/// (`lgamma`, `popcount`) give [`Span::UNKNOWN`], which is always right.
pub(super) fn unary(op: Unary, a: Span) -> Span {
    if !a.is_known() {
        return Span::UNKNOWN;
    }
    match op {
        Unary::Exp => within(rising(a, number::exp), 0.0, f64::INFINITY),
        // Of a negative end the logarithm is NaN, and the span becomes unknown by itself.
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
        // Even functions of the magnitude, which rise from 0 on.
        Unary::Cosh => rising(a.abs(), number::cosh),
        Unary::Tanh => within(rising(a, number::tanh), -1.0, 1.0),
        Unary::Erf => within(rising(a, number::erf), -1.0, 1.0),
        Unary::Erfc => within(falling(a, number::erfc), 0.0, 2.0),
        _ => Span::UNKNOWN,
    }
}

/// Bounds a sine wave with a crest at `crest` (π/2 for the sine, 0 for the cosine). Between two
/// crests and troughs the wave is monotone, so the ends decide unless a crest or a trough lies
/// inside.
fn wave(a: Span, crest: f64, f: impl Fn(f64) -> f64) -> Span {
    if !(a.lo.is_finite() && a.hi.is_finite()) {
        return Span::UNKNOWN;
    }
    if a.lo.abs() > LARGEST_ANGLE || a.hi.abs() > LARGEST_ANGLE {
        return Span::new(-1.0, 1.0);
    }
    // Without a crest or trough inside, the extremes are at the ends.
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

/// Returns whether `place + 2πk` for a whole k may lie in `a`. Both ends are moved out by 10⁻⁶: a
/// crest that is counted although it lies just outside widens the interval by 10⁻¹² at most, and a
/// crest that is missed would be wrong.
fn reaches(a: Span, place: f64) -> bool {
    let turn = |v: f64, give: f64| (v - place + give) / (2.0 * PI);
    turn(a.hi, 1e-6).floor() >= turn(a.lo, -1e-6).ceil()
}

/// Bounds the tangent: monotone between two poles, unknown if the interval may touch one.
fn tan(a: Span) -> Span {
    let branch = |v: f64, give: f64| ((v + give) / PI + 0.5).floor();
    // Both ends in one branch, counted from −π/2, with a margin on both sides.
    let one = a.lo.abs() < LARGEST_ANGLE
        && a.hi.abs() < LARGEST_ANGLE
        && branch(a.lo, -1e-6) == branch(a.hi, 1e-6);
    if one {
        rising(a, number::tan)
    } else {
        Span::UNKNOWN
    }
}

/// Bounds an angle by the whole circle. A tighter rule would have to treat the cut along the
/// negative axis.
pub(super) fn atan2(a: Span, b: Span) -> Span {
    if a.is_known() && b.is_known() {
        Span::new(down(-PI), up(PI))
    } else {
        Span::UNKNOWN
    }
}

/// Bounds `a^b`: tight for constant exponents and for positive bases, unknown otherwise. `a^0` is 1
/// for every a, NaN included, as in [`number::pow`].
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
    // a^b is monotone in a and in b for positive a, so the corners have the extremes.
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

/// Bounds `a^p` for one exponent, by the cases of [`number::pow`]: whole exponents up to 64 are
/// products and monotone to the bit, 0.5 is a square root, and others are `libm::pow` with its
/// error.
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
    // The error of the other ways of `number::pow` is within the widening, too.
    let f = |v: f64| libm::pow(v, p);
    within(
        if p > 0.0 { rising(a, f) } else { falling(a, f) },
        0.0,
        f64::INFINITY,
    )
}
