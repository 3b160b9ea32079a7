//! Loops over the lanes of a block, written so that the compiler vectorises them for the
//! instruction set of the caller. They never contract, so f64 lanes have the bits of the reference
//! value.
//!
//! ```text
//! unary, binary, select:
//!     match the operation                                               once for 128 lanes
//!         for l in lanes: out[l] = f(a[l], b[l])                        f is inlined
//! reduce_vectors:
//!     for each strip of 32 lanes
//!         for each slice of components                                  f32: 128, f64: all of them
//!             acc[32] = 0                                               in registers
//!             for k in the slice: acc[l] = step(acc[l], x[k], y[k][l])
//!             total[l] += acc[l]                                       in f64, if there are slices
//! ```
//!
//! Why this shape: the operation is chosen outside the loop, so choosing costs one branch for 128
//! values. An operand that all lanes share stays one number ([`Operand::Splat`]) and is not read
//! from memory. The loops are plain Rust; functions with a target feature in `vm.rs` inline them,
//! so one source serves every instruction set. A strip of 32 lanes is what the registers hold of
//! one accumulator.

use zipfold_core::fold::BLOCK;
use zipfold_core::fold::runs::Value;
use zipfold_core::number;
use zipfold_core::number::function::{self, Function, Function2, Visit};
use zipfold_core::pair::operators;
use zipfold_core::pair::pattern::Reduction;
use zipfold_core::pair::tree::{Binary, ComponentReduce, Unary};
use zipfold_core::{Buffer, Elements};
use zipfold_vector::math;
use zipfold_vector::simd::Isa;

/// Lanes of a register: one block of columns.
pub type Lanes<T> = [T; BLOCK];

/// The component type of an evaluator.
pub trait Real:
    function::Number
    + zipfold_vector::memory::Plain
    + Send
    + Sync
    + Default
    + PartialOrd
    + Value
    + std::fmt::Debug
    + 'static
{
    /// The number of these bits (the lower ones).
    fn of_bits(bits: u64) -> Self;
    /// Sum.
    fn add(self, o: Self) -> Self;
    /// Difference.
    fn sub(self, o: Self) -> Self;
    /// Product.
    fn mul(self, o: Self) -> Self;
    /// Quotient.
    fn div(self, o: Self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// The elements of a table, where they are of this type.
    fn lent(elements: &Elements) -> Option<&Buffer<Self>>;
    /// Exponentials or logarithms of numbers with the lanes of `isa`, within a unit in the last
    /// place. False, and nothing done, for other functions and in double precision, which has the
    /// bits of the scalar functions.
    fn by_lanes(op: Unary, isa: Isa, of: &[Self], out: &mut [Self]) -> bool;
    /// Powers by an exponent that is not a small one, of numbers of any sign, with the lanes of
    /// `isa`. False, and nothing done, in double precision.
    fn power_by_lanes(p: f64, isa: Isa, of: &[Self], out: &mut [Self]) -> bool;
    /// Components summed before the sum is widened; 0 for never.
    const SLICE: usize;
}

fn single_by_lanes(op: Unary, isa: Isa, of: &[f32], out: &mut [f32]) -> bool {
    let run = match op {
        Unary::Exp => math::exp_in_place,
        Unary::Log => math::ln_in_place,
        _ => return false,
    };
    out.copy_from_slice(of);
    run(isa, out);
    true
}

/// Numbers whose powers are taken together.
const POWERS: usize = 32;

/// In double precision, so that the rounding of the logarithm does not show; cube roots have a
/// kernel of their own.
fn single_power(p: f64, isa: Isa, of: &[f32], out: &mut [f32]) -> bool {
    // Exponents come in single precision, too.
    if p as f32 == 1.0 / 3.0 {
        out.copy_from_slice(of);
        math::third_power_in_place(isa, out);
        return true;
    }
    for (of, out) in of.chunks(POWERS).zip(out.chunks_mut(POWERS)) {
        let mut wide = [1.0f64; POWERS];
        wide.iter_mut()
            .zip(of)
            .for_each(|(w, v)| *w = f64::from(*v));
        math::ln_in_place(isa, &mut wide);
        wide.iter_mut().for_each(|w| *w *= p);
        math::exp_in_place(isa, &mut wide);
        out.iter_mut().zip(wide).for_each(|(o, w)| *o = w as f32);
    }
    true
}

macro_rules! real {
    ($t:ty, $bits:ty, $slice:expr, $kind:ident, $by_lanes:expr, $power:expr) => {
        impl Real for $t {
            fn of_bits(bits: u64) -> Self {
                <$t>::from_bits(bits as $bits)
            }
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                self + o
            }
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                self - o
            }
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                self * o
            }
            #[inline(always)]
            fn div(self, o: Self) -> Self {
                self / o
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$t>::abs(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$t>::sqrt(self)
            }
            fn lent(elements: &Elements) -> Option<&Buffer<$t>> {
                if let Elements::$kind(items) = elements {
                    Some(items)
                } else {
                    None
                }
            }
            fn by_lanes(op: Unary, isa: Isa, of: &[$t], out: &mut [$t]) -> bool {
                $by_lanes(op, isa, of, out)
            }
            fn power_by_lanes(p: f64, isa: Isa, of: &[$t], out: &mut [$t]) -> bool {
                $power(p, isa, of, out)
            }
            const SLICE: usize = $slice;
        }
    };
}
real!(f64, u64, 0, F64, |_, _, _, _| false, |_, _, _, _| false);
real!(f32, u32, 128, F32, single_by_lanes, single_power);

/// An operand over lanes.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a, T> {
    /// One number a lane.
    Lanes(&'a Lanes<T>),
    /// The same number in every lane.
    Splat(T),
}

impl<'a, T: Real> Operand<'a, T> {
    /// All lanes, a splat spread out into `room`.
    #[inline(always)]
    pub fn spread(self, room: &'a mut Lanes<T>) -> &'a Lanes<T> {
        match self {
            Operand::Lanes(v) => v,
            Operand::Splat(v) => {
                room.fill(v);
                room
            }
        }
    }
    /// The number in lane `l`.
    #[inline(always)]
    pub fn lane(&self, l: usize) -> T {
        match self {
            Operand::Lanes(v) => v[l],
            Operand::Splat(v) => *v,
        }
    }
}

#[inline(always)]
fn map1<T: Real>(out: &mut Lanes<T>, a: Operand<'_, T>, f: impl Fn(T) -> T) {
    match a {
        Operand::Lanes(a) => out.iter_mut().zip(a).for_each(|(o, a)| *o = f(*a)),
        Operand::Splat(a) => out.fill(f(a)),
    }
}

#[inline(always)]
fn map2<T: Real>(out: &mut Lanes<T>, a: Operand<'_, T>, b: Operand<'_, T>, f: impl Fn(T, T) -> T) {
    match (a, b) {
        (Operand::Lanes(a), Operand::Lanes(b)) => {
            for l in 0..BLOCK {
                out[l] = f(a[l], b[l]);
            }
        }
        (Operand::Splat(a), Operand::Lanes(b)) => {
            out.iter_mut().zip(b).for_each(|(o, b)| *o = f(a, *b))
        }
        (Operand::Lanes(a), Operand::Splat(b)) => {
            out.iter_mut().zip(a).for_each(|(o, a)| *o = f(*a, b))
        }
        (Operand::Splat(a), Operand::Splat(b)) => out.fill(f(a, b)),
    }
}

/// A function of one operand.
#[inline(always)]
pub fn unary<T: Real>(op: Unary, out: &mut Lanes<T>, a: Operand<'_, T>) {
    match op {
        Unary::Neg => map1(out, a, |v| T::rounded(0.0 - 1.0).mul(v)),
        Unary::Abs => map1(out, a, Real::abs),
        Unary::Sqrt => map1(out, a, Real::sqrt),
        Unary::Not => map1(out, a, |v| {
            T::rounded(operators::unary(Unary::Not, v.wide()))
        }),
        other => {
            if operators::function(other, Each(&mut *out, a)).is_none() {
                map1(out, a, |v| T::rounded(operators::unary(other, v.wide())));
            }
        }
    }
}

/// Results, and the operand of which a function is taken.
struct Each<'a, T>(&'a mut Lanes<T>, Operand<'a, T>);

impl<T: Real> Visit for Each<'_, T> {
    type Out = ();
    #[inline(always)]
    fn visit<F: Function>(self) {
        match self.1 {
            Operand::Lanes(a) => function::apply::<F, T>(self.0, a),
            Operand::Splat(a) => self.0.fill(T::rounded(F::value(a.wide()))),
        }
    }
}

#[inline(always)]
fn pairs<F: Function2, T: Real>(out: &mut Lanes<T>, a: Operand<'_, T>, b: Operand<'_, T>) {
    let mut rooms = [[T::default(); BLOCK]; 2];
    let [first, second] = &mut rooms;
    function::apply2::<F, T>(out, a.spread(first), b.spread(second));
}

/// A function of two operands.
#[inline(always)]
pub fn binary<T: Real>(op: Binary, out: &mut Lanes<T>, a: Operand<'_, T>, b: Operand<'_, T>) {
    match op {
        Binary::Add => map2(out, a, b, Real::add),
        Binary::Sub => map2(out, a, b, Real::sub),
        Binary::Mul => map2(out, a, b, Real::mul),
        Binary::Div => map2(out, a, b, Real::div),
        Binary::Min => operator(Binary::Min, out, a, b),
        Binary::Max => operator(Binary::Max, out, a, b),
        Binary::And => operator(Binary::And, out, a, b),
        Binary::Or => operator(Binary::Or, out, a, b),
        Binary::Lt => operator(Binary::Lt, out, a, b),
        Binary::Le => operator(Binary::Le, out, a, b),
        Binary::Eq => operator(Binary::Eq, out, a, b),
        Binary::Ne => operator(Binary::Ne, out, a, b),
        Binary::Pow => power(out, a, b),
        Binary::Atan2 => pairs::<function::Atan2, T>(out, a, b),
        other => operator(other, out, a, b),
    }
}

/// An operator as the reference computes it. It is inlined where its name is known, so that each
/// has a loop of its own.
#[inline(always)]
fn operator<T: Real>(op: Binary, out: &mut Lanes<T>, a: Operand<'_, T>, b: Operand<'_, T>) {
    map2(out, a, b, |a, b| {
        T::rounded(operators::binary(op, a.wide(), b.wide()))
    });
}

/// Powers; of a constant exponent the way is chosen once for all lanes (the ways of
/// [`number::pow`]).
#[inline(always)]
fn power<T: Real>(out: &mut Lanes<T>, a: Operand<'_, T>, b: Operand<'_, T>) {
    let Operand::Splat(p) = b else {
        return pairs::<function::Pow, T>(out, a, b);
    };
    match number::Power::for_exponent(p.wide()) {
        number::Power::Whole(n) => map1(out, a, |v| T::rounded(number::powi(v.wide(), n))),
        number::Power::Halves(n) => map1(out, a, |v| T::rounded(number::pow_halves(v.wide(), n))),
        number::Power::Real(p) => map1(out, a, |v| T::rounded(number::pow_real(v.wide(), p))),
        number::Power::Rare(p) => map1(out, a, |v| T::rounded(number::pow(v.wide(), p))),
    }
}

/// A choice by lanes.
#[inline(always)]
pub fn select<T: Real>(
    out: &mut Lanes<T>,
    c: Operand<'_, T>,
    a: Operand<'_, T>,
    b: Operand<'_, T>,
) {
    let c = match c {
        Operand::Lanes(c) => c,
        Operand::Splat(c) if c.wide() != 0.0 => return map1(out, a, |v| v),
        Operand::Splat(_) => return map1(out, b, |v| v),
    };
    // Both sides are read before the choice, so that it is a blend.
    match (a, b) {
        (Operand::Lanes(a), Operand::Lanes(b)) => choose(out, c, |l| (a[l], b[l])),
        (Operand::Splat(a), Operand::Lanes(b)) => choose(out, c, |l| (a, b[l])),
        (Operand::Lanes(a), Operand::Splat(b)) => choose(out, c, |l| (a[l], b)),
        (Operand::Splat(a), Operand::Splat(b)) => choose(out, c, |_| (a, b)),
    }
}

#[inline(always)]
fn choose<T: Real>(out: &mut Lanes<T>, c: &Lanes<T>, sides: impl Fn(usize) -> (T, T)) {
    for l in 0..BLOCK {
        let (yes, no) = sides(l);
        out[l] = if c[l].wide() != 0.0 { yes } else { no };
    }
}

/// Folds one more component into an accumulator.
#[inline(always)]
pub fn accumulate<T: Real>(op: ComponentReduce, acc: &mut Lanes<f64>, v: Operand<'_, T>) {
    let mut room = [T::default(); BLOCK];
    let v = v.spread(&mut room);
    match op {
        ComponentReduce::Sum => each(acc, v, |a, v| a + v),
        ComponentReduce::Prod => each(acc, v, |a, v| a * v),
        ComponentReduce::Max => each(acc, v, |a, v| operators::binary(Binary::Max, a, v)),
        ComponentReduce::Min => each(acc, v, |a, v| operators::binary(Binary::Min, a, v)),
        ComponentReduce::Any => each(acc, v, |a, v| {
            operators::binary(ComponentReduce::Any.operator(), a, v)
        }),
        ComponentReduce::All => each(acc, v, |a, v| {
            operators::binary(ComponentReduce::All.operator(), a, v)
        }),
    }
}

#[inline(always)]
fn each<T: Real>(acc: &mut Lanes<f64>, v: &Lanes<T>, f: impl Fn(f64, f64) -> f64) {
    for l in 0..BLOCK {
        acc[l] = f(acc[l], v[l].wide());
    }
}

/// A recognised reduction of row `x` against the panel `y` (component-major, [`BLOCK`] lanes each),
/// in ascending order.
#[inline(always)]
pub fn reduce_vectors<T: Real>(form: Reduction, x: &[T], y: &[Lanes<T>], out: &mut Lanes<T>) {
    match form {
        Reduction::L1 => reduce_with(x, y, out, |acc, a, b| acc.add(a.sub(b).abs())),
        Reduction::SqDiff => reduce_with(x, y, out, |acc, a, b| {
            let d = a.sub(b);
            acc.add(d.mul(d))
        }),
        Reduction::Dot => reduce_with(x, y, out, |acc, a, b| acc.add(a.mul(b))),
        Reduction::Differ => reduce_with(x, y, out, |acc, a, b| {
            acc.add(T::rounded(f64::from(u8::from(a != b))))
        }),
        Reduction::Lp3 => reduce_with(x, y, out, |acc, a, b| {
            let d = a.sub(b).abs();
            acc.add(d.mul(d.mul(d)))
        }),
        Reduction::Chebyshev => {
            reduce_lanes(
                x,
                y,
                out,
                T::rounded(f64::NEG_INFINITY),
                false,
                |acc, a, b| {
                    let d = a.sub(b).abs();
                    if acc > d || acc.wide().is_nan() {
                        acc
                    } else {
                        d
                    }
                },
            );
        }
    }
}

#[inline(always)]
fn reduce_with<T: Real>(x: &[T], y: &[Lanes<T>], out: &mut Lanes<T>, f: impl Fn(T, T, T) -> T) {
    reduce_lanes(x, y, out, T::default(), true, f);
}

/// Lanes whose accumulators stay in registers.
const STRIP: usize = 32;

#[inline(always)]
fn reduce_lanes<T: Real>(
    x: &[T],
    y: &[Lanes<T>],
    out: &mut Lanes<T>,
    start: T,
    sums: bool,
    f: impl Fn(T, T, T) -> T,
) {
    let slice = if sums && T::SLICE > 0 {
        T::SLICE
    } else {
        x.len().max(1)
    };
    for strip in 0..BLOCK / STRIP {
        let first = strip * STRIP;
        let mut total = [0.0f64; STRIP];
        let mut acc = [start; STRIP];
        for (xs, ys) in x.chunks(slice).zip(y.chunks(slice)) {
            acc = [start; STRIP];
            for (a, row) in xs.iter().zip(ys) {
                let row = &row[first..first + STRIP];
                for l in 0..STRIP {
                    acc[l] = f(acc[l], *a, row[l]);
                }
            }
            if slice < x.len() {
                total.iter_mut().zip(&acc).for_each(|(t, a)| *t += a.wide());
            }
        }
        let target = &mut out[first..first + STRIP];
        if slice < x.len() {
            target
                .iter_mut()
                .zip(&total)
                .for_each(|(o, t)| *o = T::rounded(*t));
        } else {
            target.copy_from_slice(&acc);
        }
    }
}
