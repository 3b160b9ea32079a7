//! The operations of formulas as instructions, with the bits of the evaluator in double precision.

use super::ir::{Arg, Compare, Op, V};
use super::step::multiplied;
use super::tile::{Tile, Val};
use crate::pairs::program::{self, LaneInst, Src};
use zipfold_core::number::Power;
use zipfold_core::pair::tree::{Binary, Unary};
use zipfold_vector::math::SINGLE;

impl Tile<'_> {
    /// The value of an instruction for the current instance.
    pub(super) fn compute(&mut self, inst: &LaneInst) -> Val {
        let a = self.operand(&inst.src[0]);
        match inst.op {
            program::LaneOp::Unary(op) => self.unary(op, a),
            program::LaneOp::Binary(Binary::Pow) => match inst.src[1] {
                Src::Const(p) => self.power(a, p),
                _ => Val::Nothing,
            },
            program::LaneOp::Binary(Binary::Div) => {
                match reciprocal_of(&inst.src[1], self.geo.size == 4) {
                    Some(factor) => {
                        let factor = self.constant_of(factor);
                        Val::V(self.two(Op::Mul, factor, a))
                    }
                    None => {
                        let b = self.operand(&inst.src[1]);
                        self.binary(Binary::Div, a, b)
                    }
                }
            }
            program::LaneOp::Binary(op) => {
                let b = self.operand(&inst.src[1]);
                self.binary(op, a, b)
            }
            program::LaneOp::Select => {
                let (yes, no) = (self.operand(&inst.src[1]), self.operand(&inst.src[2]));
                let m = self.truth(a);
                let no = self.number(no);
                let yes = self.arg(yes);
                Val::V(self.three(Op::Blend, Arg::V(m), Arg::V(no), yes))
            }
        }
    }
    /// The result of an operation in a new register.
    pub(super) fn three(&mut self, op: Op, a: Arg, b: Arg, c: Arg) -> V {
        let dst = self.vector();
        self.list.push(op, dst, [a, b, c]);
        dst
    }
    fn two(&mut self, op: Op, a: Val, b: Val) -> V {
        let a = self.number(a);
        let b = self.arg(b);
        self.three(op, Arg::V(a), b, Arg::No)
    }
    fn one_operand(&mut self, op: Op, a: Val) -> V {
        let a = self.arg(a);
        self.three(op, a, Arg::No, Arg::No)
    }
    /// Of two operands in any order, the one in memory last.
    fn ordered(a: Val, b: Val) -> (Val, Val) {
        if matches!(a, Val::M(_, true)) {
            (b, a)
        } else {
            (a, b)
        }
    }
    fn compare(&mut self, how: Compare, a: Val, b: Val) -> V {
        let a = self.number(a);
        let b = self.arg(b);
        let dst = self.mask_register();
        self.list
            .push(Op::Compare(how), dst, [Arg::V(a), b, Arg::No]);
        dst
    }
    fn truth_op(&mut self, op: Op, a: V, b: V) -> V {
        let dst = self.mask_register();
        self.list.push(op, dst, [Arg::V(a), Arg::V(b), Arg::No]);
        dst
    }
    fn constant_of(&mut self, v: f64) -> Val {
        Val::V(self.number_constant(v))
    }
    /// A value as a truth value: not 0.
    pub(super) fn truth(&mut self, val: Val) -> V {
        match val {
            Val::Mask(m) => m,
            other => {
                let zero = self.constant_of(0.0);
                let v = Val::V(self.number(other));
                self.compare(Compare::Ne, v, zero)
            }
        }
    }
    fn sign_bit(&self) -> u64 {
        if self.geo.size == 4 { 1 << 31 } else { 1 << 63 }
    }
    fn unary(&mut self, op: Unary, a: Val) -> Val {
        match op {
            Unary::Neg => {
                let sign = Val::V(self.constant(self.sign_bit()));
                Val::V(self.two(Op::Xor, sign, a))
            }
            Unary::Abs => {
                let rest = Val::V(self.constant(self.sign_bit() - 1));
                Val::V(self.two(Op::And, rest, a))
            }
            Unary::Sqrt => Val::V(self.one_operand(Op::Sqrt, a)),
            Unary::Round => Val::V(self.one_operand(Op::Round(0), a)),
            Unary::Floor => Val::V(self.one_operand(Op::Round(1), a)),
            Unary::Ceil => Val::V(self.one_operand(Op::Round(2), a)),
            Unary::Sign => Val::V(self.sign(a)),
            Unary::IsNan => {
                let v = Val::V(self.number(a));
                Val::Mask(self.compare(Compare::Unordered, v, v))
            }
            Unary::Not => self.not(a),
            Unary::Exp => Val::V(self.exponential(a)),
            // Others are called.
            _ => Val::Nothing,
        }
    }
    /// -1, 1, or the value itself where it is zero or NaN.
    fn sign(&mut self, a: Val) -> V {
        let (zero, one, less) = (
            self.constant_of(0.0),
            self.constant_of(1.0),
            self.constant_of(-1.0),
        );
        let v = Val::V(self.number(a));
        let above = self.compare(Compare::Lt, zero, v);
        let below = self.compare(Compare::Lt, v, zero);
        let high = self.blend(above, v, one);
        self.blend(below, Val::V(high), less)
    }
    /// a·b + c with one rounding.
    fn fused(&mut self, a: V, b: V, c: V) -> V {
        let to = self.vector();
        self.list.push(Op::Load, to, [Arg::V(c), Arg::No, Arg::No]);
        self.list.push(Op::Fma, to, [Arg::V(a), Arg::V(b), Arg::No]);
        to
    }
    /// A polynomial of `x`, highest power first, with one rounding a power.
    fn polynomial(&mut self, x: V, coefficients: impl Iterator<Item = f32>) -> V {
        let mut constants = coefficients.map(f64::from);
        let first = constants.next().unwrap_or_default();
        let first = self.number_constant(first);
        constants.fold(first, |sum, coefficient| {
            let coefficient = self.number_constant(coefficient);
            self.fused(sum, x, coefficient)
        })
    }
    /// eᵃ in single precision with AVX-512, as `kernels/math.rs` computes it, within a unit in the
    /// last place: the argument less a multiple of ln 2 in two parts, and a polynomial of what is
    /// left.
    fn exponential(&mut self, a: Val) -> V {
        let a = self.number(a);
        // A NaN is the second operand, which both return.
        let (least, most) = (
            self.constant_of(SINGLE.exp_range.0.into()),
            self.constant_of(SINGLE.exp_range.1.into()),
        );
        let a = self.two(Op::Min, most, Val::V(a));
        let a = self.two(Op::Max, least, Val::V(a));
        let log2_e = self.constant_of(SINGLE.log2_e.into());
        let n = self.two(Op::Mul, log2_e, Val::V(a));
        let n = self.one_operand(Op::Round(0), Val::V(n));
        let rest = [-SINGLE.ln2.0, -SINGLE.ln2.1]
            .into_iter()
            .fold(a, |rest, part| {
                let part = self.number_constant(part.into());
                self.fused(n, part, rest)
            });
        let power = self.polynomial(rest, SINGLE.exp.into_iter().chain([1.0, 1.0]));
        self.three(Op::Scale, Arg::V(power), Arg::V(n), Arg::No)
    }
    /// 2^(a·factor) in single precision with AVX-512: the power of the whole part, and a polynomial
    /// of the fraction (minimax, 1.1 units in the last place). The product is rounded, as that of a
    /// formula is. Of a term of a sum the nearest whole part is taken, which leaves less and spares
    /// a power (1.6·10⁻⁷ of the value).
    pub(super) fn power_of_two(&mut self, a: Val, factor: f64) -> V {
        let factor = self.constant_of(factor);
        let t = self.two(Op::Mul, factor, a);
        if self.geo.adds_single() {
            let whole = self.one_operand(Op::Round(0), Val::V(t));
            let rest = self.two(Op::Sub, Val::V(t), Val::V(whole));
            #[allow(
                clippy::approx_constant,
                reason = "a coefficient of a minimax polynomial, not ln 2"
            )]
            let powers = [
                1.326_467_8e-3,
                9.671_504e-3,
                5.550_725_4e-2,
                0.240_222_45,
                0.693_147,
                1.0,
            ];
            let power = self.polynomial(rest, powers.into_iter());
            return self.three(Op::Scale, Arg::V(power), Arg::V(whole), Arg::No);
        }
        let rest = self.one_operand(Op::Fraction, Val::V(t));
        let powers = [
            2.161_291e-4,
            1.246_784_8e-3,
            9.675_452e-3,
            5.548_528_2e-2,
            0.240_229_31,
            0.693_147_06,
            1.0,
        ];
        let power = self.polynomial(rest, powers.into_iter());
        self.three(Op::Scale, Arg::V(power), Arg::V(t), Arg::No)
    }
    fn blend(&mut self, m: V, no: Val, yes: Val) -> V {
        let no = self.number(no);
        let yes = self.arg(yes);
        self.three(Op::Blend, Arg::V(m), Arg::V(no), yes)
    }
    fn not(&mut self, a: Val) -> Val {
        match a {
            Val::Mask(m) => {
                let ones = if self.geo.wide {
                    m
                } else {
                    self.constant(u64::MAX >> (64 - 8 * self.geo.size))
                };
                Val::Mask(self.truth_op(Op::MaskNot, m, ones))
            }
            other => {
                let zero = self.constant_of(0.0);
                let v = Val::V(self.number(other));
                Val::Mask(self.compare(Compare::Eq, v, zero))
            }
        }
    }
    /// A function of two operands.
    pub(super) fn binary(&mut self, op: Binary, a: Val, b: Val) -> Val {
        let (low, high) = Self::ordered(a, b);
        match op {
            Binary::Add => Val::V(self.two(Op::Add, low, high)),
            Binary::Sub => Val::V(self.two(Op::Sub, a, b)),
            Binary::Mul => Val::V(self.two(Op::Mul, low, high)),
            Binary::Div => Val::V(self.two(Op::Div, a, b)),
            Binary::Min => Val::V(self.extreme(false, a, b)),
            Binary::Max => Val::V(self.extreme(true, a, b)),
            Binary::And => self.logic(Op::MaskAnd, a, b),
            Binary::Or => self.logic(Op::MaskOr, a, b),
            Binary::Xor => self.logic(Op::MaskXor, a, b),
            Binary::Lt => self.comparison(Compare::Lt, a, b),
            Binary::Le => self.comparison(Compare::Le, a, b),
            Binary::Eq => self.comparison(Compare::Eq, a, b),
            Binary::Ne => self.comparison(Compare::Ne, a, b),
            // Others are called.
            Binary::Pow | Binary::Atan2 | Binary::BitAnd => Val::Nothing,
        }
    }
    /// A function of two truth values.
    fn logic(&mut self, op: Op, a: Val, b: Val) -> Val {
        let (a, b) = (self.truth(a), self.truth(b));
        Val::Mask(self.truth_op(op, a, b))
    }
    /// A comparison as a truth value.
    fn comparison(&mut self, how: Compare, a: Val, b: Val) -> Val {
        Val::Mask(self.compare(how, a, b))
    }
    /// The smaller or larger, zeros ordered by sign, NaN if either is.
    fn extreme(&mut self, max: bool, a: Val, b: Val) -> V {
        let (a, b) = (Val::V(self.number(a)), Val::V(self.number(b)));
        if self.geo.wide {
            let out = self.two(Op::Range(if max { 5 } else { 4 }), a, b);
            let odd = self.compare(Compare::Unordered, a, b);
            let (a, b) = (self.arg(a), self.arg(b));
            self.list.push(Op::AddIf, out, [Arg::V(odd), a, b]);
            return out;
        }
        // Equal numbers differ in the sign of zero at most, so both orders together have the right
        // one.
        let (op, join) = if max {
            (Op::Max, Op::And)
        } else {
            (Op::Min, Op::Or)
        };
        let (there, back) = (self.two(op, a, b), self.two(op, b, a));
        let out = self.two(join, Val::V(there), Val::V(back));
        let odd = self.compare(Compare::Unordered, a, b);
        self.two(Op::Or, Val::V(out), Val::V(odd))
    }
    /// a^p for an exponent that multiplications serve, in the order of `core/number`.
    fn power(&mut self, a: Val, p: f64) -> Val {
        let x = self.number(a);
        match multiplied(p, self.geo.size == 4) {
            Some(Power::Whole(n)) => Val::V(self.whole(x, n)),
            // A sum that is not finite is taken value by value, by the code below, where NaN
            // reaches it.
            Some(Power::Halves(n)) if n < 0 && self.geo.adds_single() && !self.decides() => {
                Val::V(self.reciprocal_root(x, -n, None))
            }
            Some(Power::Halves(n)) => {
                let root = self.one_operand(Op::Sqrt, Val::V(x));
                let power = match n.abs() {
                    1 => root,
                    n => {
                        let whole = self.whole(x, n / 2);
                        self.two(Op::Mul, Val::V(root), Val::V(whole))
                    }
                };
                let zero = self.constant_of(0.0);
                let power = self.two(Op::Add, Val::V(power), zero);
                Val::V(if n < 0 { self.reciprocal(power) } else { power })
            }
            _ => Val::Nothing,
        }
    }
    /// x^(−n/2), n odd, in single precision with AVX-512: r ≈ 1/√x to 14 bits, and rⁿ·(1 + n/2·(1 −
    /// x·r²)), times a `factor` where there is one, within a few units in the last place. What is
    /// 0, infinite or leaves the range may come out as NaN.
    pub(super) fn reciprocal_root(&mut self, x: V, n: i32, factor: Option<&Src>) -> V {
        let r = self.one_operand(Op::ReciprocalRoot, Val::V(x));
        let square = self.two(Op::Mul, Val::V(r), Val::V(r));
        let minus = self.number_constant(-1.0);
        let rest = self.fused(x, square, minus);
        let slope = f64::from(n) * -0.5;
        let (one, slope) = match factor {
            None => (self.number_constant(1.0), self.number_constant(slope)),
            Some(factor) => {
                let factor = self.operand(factor);
                let v = self.number(factor);
                (v, self.times(factor, v, slope))
            }
        };
        let correction = self.fused(rest, slope, one);
        let power = match n / 2 {
            0 => r,
            half => {
                let even = self.whole(square, half);
                self.two(Op::Mul, Val::V(even), Val::V(r))
            }
        };
        self.two(Op::Mul, Val::V(power), Val::V(correction))
    }
    fn reciprocal(&mut self, v: V) -> V {
        let one = self.constant_of(1.0);
        self.two(Op::Div, one, Val::V(v))
    }
    fn whole(&mut self, x: V, n: i32) -> V {
        let (mut result, mut square, mut left) = (None, x, n.unsigned_abs());
        while left > 0 {
            if left & 1 == 1 {
                result = Some(match result {
                    Some(r) => self.two(Op::Mul, Val::V(r), Val::V(square)),
                    None => square,
                });
            }
            left >>= 1;
            if left > 0 {
                square = self.two(Op::Mul, Val::V(square), Val::V(square));
            }
        }
        let result = match result {
            Some(v) => v,
            None => self.number_constant(1.0),
        };
        if n < 0 {
            self.reciprocal(result)
        } else {
            result
        }
    }
}

/// 1/v of a power of two: multiplying by it rounds as dividing by v does. In single precision of
/// any v far from the ends: one more rounding of half a unit.
fn reciprocal_of(src: &Src, single: bool) -> Option<f64> {
    let Src::Const(v) = src else { return None };
    // Far from the ends of both precisions.
    let exponent = ((v.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let power = v.to_bits() & ((1 << 52) - 1) == 0;
    ((power || single) && (-100..=100).contains(&exponent)).then(|| 1.0 / v)
}
