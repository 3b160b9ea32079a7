//! Functions without instructions of their own: called from generated code on buffers of numbers,
//! with the bits of the evaluator in double precision; in single precision exponentials and
//! logarithms are those of the lanes.

use crate::pairs::lanes::Real;
use zipfold_core::number::function::{self, Visit};
use zipfold_core::number::{self, Power};
use zipfold_core::pair::operators;
use zipfold_core::pair::tree::Unary;
use zipfold_vector::simd::Isa;

/// A function of every number. No closure: long ones are compiled apart, without the instruction
/// set of the caller.
macro_rules! each {
    ($out:expr, $a:expr, $v:ident => $f:expr) => {{
        for (out, a) in $out.iter_mut().zip($a) {
            let $v = a.wide();
            *out = T::rounded($f);
        }
    }};
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Call {
    /// A function of one number.
    Unary(Unary),
    /// A power by an exponent of its own for each number.
    Pow,
    /// A power by the first number of the second operand.
    PowConst,
    /// The angle of a point.
    Atan2,
    /// Common ones of whole numbers.
    BitAnd,
}

const LIST: [Call; 23] = [
    Call::Pow,
    Call::PowConst,
    Call::Atan2,
    Call::BitAnd,
    Call::Unary(Unary::Exp),
    Call::Unary(Unary::Log),
    Call::Unary(Unary::Log2),
    Call::Unary(Unary::Log10),
    Call::Unary(Unary::Log1p),
    Call::Unary(Unary::Expm1),
    Call::Unary(Unary::Sin),
    Call::Unary(Unary::Cos),
    Call::Unary(Unary::Tan),
    Call::Unary(Unary::Asin),
    Call::Unary(Unary::Acos),
    Call::Unary(Unary::Atan),
    Call::Unary(Unary::Sinh),
    Call::Unary(Unary::Cosh),
    Call::Unary(Unary::Tanh),
    Call::Unary(Unary::Erf),
    Call::Unary(Unary::Erfc),
    Call::Unary(Unary::Lgamma),
    Call::Unary(Unary::Popcount),
];

impl Call {
    /// The number by which generated code names it.
    pub(super) fn number(self) -> usize {
        LIST.iter().position(|c| *c == self).unwrap_or(0)
    }
    /// Whether it has two operands.
    pub(super) fn is_binary(self) -> bool {
        !matches!(self, Call::Unary(_))
    }
}

/// The signature of what generated code calls: number of the function, how many numbers, results,
/// operands.
pub(super) type Function<T> = unsafe extern "sysv64" fn(usize, usize, *mut T, *const T, *const T);

/// The function compiled for an instruction set.
pub(super) fn function<T: Real>(wide: bool) -> Function<T> {
    if wide { on_avx512::<T> } else { on_avx2::<T> }
}

/// # Safety
/// The machine has AVX-512; the pointers are good for `n` numbers each (the second operand, where
/// the function has one).
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2")]
unsafe extern "sysv64" fn on_avx512<T: Real>(
    call: usize,
    n: usize,
    out: *mut T,
    a: *const T,
    b: *const T,
) {
    // SAFETY: the caller's promise; operands and results do not overlap in a frame.
    unsafe { apply(Isa::Avx512, call, n, out, a, b) }
}

/// # Safety
/// The machine has AVX2; the pointers are good for `n` numbers each (the second operand, where the
/// function has one).
#[target_feature(enable = "avx2")]
unsafe extern "sysv64" fn on_avx2<T: Real>(
    call: usize,
    n: usize,
    out: *mut T,
    a: *const T,
    b: *const T,
) {
    // SAFETY: the caller's promise; operands and results do not overlap in a frame.
    unsafe { apply(Isa::Avx2, call, n, out, a, b) }
}

/// # Safety
/// The pointers are good for `n` numbers each (the second operand, where the function has one).
#[inline(always)]
unsafe fn apply<T: Real>(isa: Isa, call: usize, n: usize, out: *mut T, a: *const T, b: *const T) {
    let Some(call) = LIST.get(call) else { return };
    // SAFETY: the caller's promise.
    let (out, a) = unsafe {
        (
            std::slice::from_raw_parts_mut(out, n),
            std::slice::from_raw_parts(a, n),
        )
    };
    let second = if call.is_binary() { n } else { 0 };
    // SAFETY: the caller's promise; no number is read where there is no second operand.
    let b = unsafe { std::slice::from_raw_parts(if second == 0 { a.as_ptr() } else { b }, second) };
    if let Call::Unary(op) = call
        && T::by_lanes(*op, isa, a, out)
    {
        return;
    }
    match call {
        Call::Unary(op) => unary(*op, out, a),
        Call::Atan2 => function::apply2::<function::Atan2, T>(out, a, b),
        Call::BitAnd => function::apply2::<function::BitAnd, T>(out, a, b),
        Call::Pow => function::apply2::<function::Pow, T>(out, a, b),
        Call::PowConst => power(isa, out, a, b.first().map_or(1.0, |p| p.wide())),
    }
}

#[inline(always)]
fn unary<T: Real>(op: Unary, out: &mut [T], a: &[T]) {
    if operators::function(op, CallLoop(&mut *out, a)).is_none() {
        each!(out, a, v => operators::unary(op, v));
    }
}

#[inline(always)]
fn power<T: Real>(isa: Isa, out: &mut [T], a: &[T], p: f64) {
    match Power::for_exponent(p) {
        Power::Real(p) if T::power_by_lanes(p, isa, a, out) => {}
        Power::Whole(n) => each!(out, a, v => number::powi(v, n)),
        Power::Halves(n) => each!(out, a, v => number::pow_halves(v, n)),
        Power::Real(p) => each!(out, a, v => number::pow_real(v, p)),
        Power::Rare(p) => each!(out, a, v => number::pow(v, p)),
    }
}

/// Results, and the numbers of which a function is taken.
struct CallLoop<'a, T>(&'a mut [T], &'a [T]);

impl<T: Real> Visit for CallLoop<'_, T> {
    type Out = ();
    #[inline(always)]
    fn visit<F: number::Function>(self) {
        function::apply::<F, T>(self.0, self.1);
    }
}
