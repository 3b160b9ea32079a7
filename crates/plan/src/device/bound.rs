//! A bound of single precision: the range of a value, and how far its single-precision twin may be
//! from it. [`super::rounding`] has the analysis of formulas.

/// Unit roundoff of single precision, 2⁻²⁴.
pub(super) const U: f64 = 5.960_464_477_539_063e-8;
/// More than underflow, or flushing subnormal numbers to zero, can take away: the smallest normal
/// f32 is 1.2 · 10⁻³⁸.
///
/// OpenCL lets a device flush subnormal numbers, so the model fl(v) = v(1 + δ) fails for them.
/// Every rounding gets this absolute part in addition, which is far below any difference that data
/// have.
pub(super) const TINY: f64 = 2e-38;
/// Values beyond this have no bound: a sum of two could overflow (the largest f32 is 3.4 · 10³⁸).
const LARGE: f64 = 1e37;

/// The range of a value, and how far its single-precision twin is from it at most: `abs +
/// rel·|value|`.
///
/// Two parts are needed. A sum of squares has a small relative error at any size; a difference of
/// near numbers has only an absolute one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Least value.
    pub lo: f64,
    /// Largest value.
    pub hi: f64,
    /// Absolute part of the error.
    pub abs: f64,
    /// Relative part of the error.
    pub rel: f64,
}

impl Bound {
    /// Any number, without an error: for plans that do not know the rows.
    pub(super) const EXACT: Bound = Bound {
        lo: f64::NEG_INFINITY,
        hi: f64::INFINITY,
        abs: 0.0,
        rel: 0.0,
    };
    /// Returns the bound of numbers between `lo` and `hi`, each exact in f32 or rounded once.
    ///
    /// Whole numbers, and measurements with up to seven digits that were read as f32, are exact. It
    /// makes the difference between a relative and an absolute bound of x − y.
    pub fn held(lo: f64, hi: f64, exact: bool) -> Option<Self> {
        let b = if exact {
            Bound {
                lo,
                hi,
                abs: 0.0,
                rel: 0.0,
            }
        } else {
            Bound {
                lo,
                hi,
                abs: TINY,
                rel: U,
            }
        };
        b.sane()
    }
    /// Returns the bound if it is good enough to be useful: finite ranges, and an error well below
    /// the value.
    ///
    /// A relative error of a per cent would leave too many values undecided: the filter would cost
    /// more than it saves.
    pub(super) fn sane(self) -> Option<Self> {
        (self.lo.abs() < LARGE && self.hi.abs() < LARGE && self.abs < LARGE && self.rel < 0.01)
            .then_some(self)
    }
    /// Returns the largest magnitude.
    pub(super) fn top(&self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }
    /// Adds the error of one rounding: fl(v) = v(1 + δ), |δ| ≤ u.
    ///
    /// The computed operand w differs from v by at most abs + rel·|v|, and rounding it adds u·|w| ≤
    /// u·(|v| + abs + rel·|v|). The two parts of that sum are what is added below.
    fn rounded(self) -> Option<Self> {
        Bound {
            abs: self.abs * (1.0 + U) + TINY,
            rel: self.rel + U * (1.0 + self.rel),
            ..self
        }
        .sane()
    }
    /// Bounds a sum or difference.
    ///
    /// Values of one sign keep their relative errors, since |a| + |b| = |a + b|: the error
    /// rel·|a| + rel·|b| is rel·|a + b|. Otherwise a + b may be near zero while the errors are not,
    /// so relative errors become absolute ones, of the largest magnitude that the range allows.
    pub(super) fn add(&self, b: &Bound, sign: f64) -> Option<Self> {
        let (blo, bhi) = if sign > 0.0 {
            (b.lo, b.hi)
        } else {
            (-b.hi, -b.lo)
        };
        // Both operands on the same side of zero: nothing cancels.
        let same = (self.lo >= 0.0 && blo >= 0.0) || (self.hi <= 0.0 && bhi <= 0.0);
        let (abs, rel) = if same {
            (self.abs + b.abs, self.rel.max(b.rel))
        } else {
            (
                self.abs + b.abs + self.rel * self.top() + b.rel * b.top(),
                0.0,
            )
        };
        Bound {
            lo: self.lo + blo,
            hi: self.hi + bhi,
            abs,
            rel,
        }
        .rounded()
    }
    /// Bounds a product: (a + Δa)(b + Δb) − ab = aΔb + bΔa + ΔaΔb.
    pub(super) fn mul(&self, b: &Bound) -> Option<Self> {
        // The range of a product has its ends at products of ends.
        let ends = [
            self.lo * b.lo,
            self.lo * b.hi,
            self.hi * b.lo,
            self.hi * b.hi,
        ];
        let (lo, hi) = ends
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
                (l.min(*v), h.max(*v))
            });
        // aΔb + bΔa + ΔaΔb, with the absolute parts of the errors; the relative parts add below.
        let abs = self.top() * b.abs * (1.0 + self.rel)
            + b.top() * self.abs * (1.0 + b.rel)
            + self.abs * b.abs;
        Bound {
            lo,
            hi,
            abs,
            rel: self.rel + b.rel + self.rel * b.rel,
        }
        .rounded()
    }
    /// Bounds a quotient by a value that is never near zero, as a product with its reciprocal.
    ///
    /// With a relative error e of the divisor, 1/(b(1 − e)) = (1/b)(1 + e/(1 − e)). OpenCL allows
    /// 2.5 ulps for a division, so more than one rounding is charged.
    pub(super) fn over(&self, b: &Bound) -> Option<Self> {
        // The divisor's distance from zero decides how much its error is magnified.
        let least = if b.lo > 0.0 { b.lo } else { -b.hi };
        let error = b.abs / least + b.rel;
        if least <= TINY || error > 0.01 {
            return None;
        }
        // Devices may round a quotient less well than to nearest.
        let turned = Bound {
            lo: 1.0 / b.hi,
            hi: 1.0 / b.lo,
            abs: 0.0,
            rel: error / (1.0 - error) + 4.0 * U,
        };
        self.mul(&turned)
    }
    /// Bounds a square: a product whose range does not go below zero.
    ///
    /// The general product would treat the operands as independent and give [−1, 1] for a value in
    /// [−1, 1]; a sum of such squares would then lose its relative bound, and a root of it any
    /// bound.
    pub(super) fn square(&self) -> Option<Self> {
        let mut s = self.mul(self)?;
        s.lo = if self.lo <= 0.0 && self.hi >= 0.0 {
            0.0
        } else {
            s.lo.max(0.0)
        };
        Some(s)
    }
    /// Bounds |v|: the errors stay, since | |w| − |v| | ≤ |w − v|.
    pub(super) fn magnitude(&self) -> Self {
        let lo = if self.lo <= 0.0 && self.hi >= 0.0 {
            0.0
        } else {
            self.lo.abs().min(self.hi.abs())
        };
        Bound {
            lo,
            hi: self.top(),
            ..*self
        }
    }
    /// Bounds a square root.
    ///
    /// |√(v + Δ) − √v| ≤ √|Δ| for any v ≥ 0, with equality at v = 0. A relative error is halved by
    /// a root; it is kept whole, which is simpler and safe.
    pub(super) fn root(&self) -> Option<Self> {
        if self.lo < 0.0 {
            return None;
        }
        // The worst case is a value near zero, where the root of the error is the error of the
        // root.
        let abs = self.abs.sqrt();
        Bound {
            lo: self.lo.sqrt(),
            hi: self.hi.sqrt(),
            abs,
            rel: self.rel + 2.0 * U,
        }
        .rounded()
    }
    /// Bounds an exponential: the absolute error δ of the argument becomes a relative one, e^(a +
    /// δ) = e^a(1 + δ + δ²/2 + …).
    ///
    /// With δ ≤ 10⁻³ the series beyond the first term is below 0.1 % of it, which the factor 1.01
    /// covers. The function itself errs by roundings of the size of its argument.
    pub(super) fn exponential(&self) -> Option<Self> {
        // e^88 overflows an f32, and an error of more than 10⁻³ makes the series below useless.
        if self.hi > 80.0 || self.abs > 1e-3 {
            return None;
        }
        // e^(a + δ) = e^a(1 + δ + …), and a few roundings of the argument's size in the function
        // itself.
        let delta = self.abs + self.rel * self.top() + 2.0 * U * self.top();
        if delta > 1e-3 {
            return None;
        }
        Bound {
            lo: self.lo.exp(),
            hi: self.hi.exp(),
            abs: TINY,
            rel: 1.01 * delta + 4.0 * U,
        }
        .rounded()
    }
    /// Bounds a minimum or maximum.
    ///
    /// Single precision may pick the other operand, but then the two are nearer to each other than
    /// their errors, so the result is off by no more than the larger error of both.
    pub(super) fn either(&self, b: &Bound, pick: impl Fn(f64, f64) -> f64) -> Self {
        let (lo, hi) = (pick(self.lo, b.lo), pick(self.hi, b.hi));
        Bound {
            lo,
            hi,
            abs: self.abs.max(b.abs),
            rel: self.rel.max(b.rel),
        }
        .shifted(self.top().max(b.top()))
    }
    /// Bounds values of which each has one bound or the other.
    pub(super) fn wider(&self, b: &Bound) -> Self {
        Bound {
            lo: self.lo.min(b.lo),
            hi: self.hi.max(b.hi),
            abs: self.abs.max(b.abs),
            rel: self.rel.max(b.rel),
        }
    }
    /// Turns the relative part into an absolute one, for values of up to `top`.
    pub(super) fn shifted(self, top: f64) -> Self {
        Bound {
            abs: self.abs + self.rel * top,
            rel: 0.0,
            ..self
        }
    }
    /// Bounds a sum of `terms` such values in any order: about n·u of the sum of magnitudes
    /// (Higham's γₙ).
    ///
    /// "In any order" matters: a device adds by lanes and then across them, in an order that
    /// differs between kernels. Terms that are never negative keep a relative bound, since then the
    /// sum of magnitudes is the sum.
    pub(super) fn sum(&self, terms: usize) -> Option<Self> {
        let d = terms as f64;
        // Any order of additions errs by at most (d − 1)·u of the sum of magnitudes, to first
        // order.
        let grow = d * U * 1.01;
        if grow > 0.001 {
            return None;
        }
        let (lo, hi) = (self.lo * d, self.hi * d);
        // Without cancellation the sum of magnitudes is the sum, and the error is relative to it.
        let b = if self.lo >= 0.0 {
            Bound {
                lo,
                hi,
                abs: d * self.abs * (1.0 + grow) + d * TINY,
                rel: self.rel + grow * (1.0 + self.rel),
            }
        } else {
            Bound {
                lo,
                hi,
                abs: d * (self.abs + self.rel * self.top()) + grow * d * self.top() + d * TINY,
                rel: 0.0,
            }
        };
        b.sane()
    }
}
