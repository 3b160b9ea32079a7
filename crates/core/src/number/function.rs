//! How an elementary function is given to loops.
//!
//! A function has two ways: straight-line code for nearly all numbers, which vectorises, and a call
//! for the rare rest (a sine of 10⁶, say). A loop runs the first way for all its numbers and
//! remembers whether one was rare; only then it goes over them again. The result for a number
//! depends on that number alone, so scalar code, vectors and the reference agree.
//!
//! Functions are types, not function pointers or closures: a generic loop is compiled for each of
//! them with the instruction set of its caller, while a long closure is compiled apart, without it.

/// A function of one number. A loop takes [`Self::near`] of all its numbers, and [`Self::rare`] of
/// those for which [`Self::is_rare`] is true.
pub trait Function {
    /// Computes the value by straight-line code. The result has no meaning if [`Self::is_rare`].
    fn near(x: f64) -> f64;
    /// Returns whether the value comes from [`Self::rare`]. It must be cheap: it runs for every
    /// number.
    #[inline(always)]
    fn is_rare(_: f64) -> bool {
        false
    }
    /// Computes the value if [`Self::is_rare`].
    #[inline(always)]
    fn rare(x: f64) -> f64 {
        Self::near(x)
    }
    /// Computes the value, by either way: the reference of a single number.
    #[inline(always)]
    fn value(x: f64) -> f64 {
        if Self::is_rare(x) {
            Self::rare(x)
        } else {
            Self::near(x)
        }
    }
}

/// A function of two numbers, as [`Function`].
pub trait Function2 {
    /// Computes the value by straight-line code. The result has no meaning if [`Self::is_rare`].
    fn near(a: f64, b: f64) -> f64;
    /// Returns whether the value comes from [`Self::rare`].
    #[inline(always)]
    fn is_rare(_: f64, _: f64) -> bool {
        false
    }
    /// Computes the value if [`Self::is_rare`].
    #[inline(always)]
    fn rare(a: f64, b: f64) -> f64 {
        Self::near(a, b)
    }
    /// Computes the value, by either way.
    #[inline(always)]
    fn value(a: f64, b: f64) -> f64 {
        if Self::is_rare(a, b) {
            Self::rare(a, b)
        } else {
            Self::near(a, b)
        }
    }
}

/// Work on a function that is known at run time by its operator.
/// [`crate::pair::operators::function`] turns the operator into a type and calls [`Self::visit`]
/// with it, so the match happens once per loop and not once per number.
pub trait Visit {
    /// The result of the work.
    type Out;
    /// Does the work for `F`.
    fn visit<F: Function>(self) -> Self::Out;
}

/// A number of a loop, in the precision in which it is held. Functions compute in f64 and round
/// once.
pub trait Number: Copy {
    /// Rounds to this precision.
    fn rounded(v: f64) -> Self;
    /// Widens to f64, which is exact.
    fn wide(self) -> f64;
}

impl Number for f64 {
    #[inline(always)]
    fn rounded(v: f64) -> f64 {
        v
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

impl Number for f32 {
    #[inline(always)]
    fn rounded(v: f64) -> f32 {
        v as f32
    }
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

/// Computes `F` of all numbers in `a`. Without rare numbers it is one loop that vectorises.
#[inline(always)]
pub fn apply<F: Function, T: Number>(out: &mut [T], a: &[T]) {
    // An integer that is or-ed: a flag by branch would end the vector loop.
    let mut rare = 0u64;
    for (out, a) in out.iter_mut().zip(a) {
        let v = a.wide();
        rare |= u64::from(F::is_rare(v));
        *out = T::rounded(F::near(v));
    }
    if rare != 0 {
        for (out, a) in out.iter_mut().zip(a) {
            if F::is_rare(a.wide()) {
                *out = T::rounded(F::rare(a.wide()));
            }
        }
    }
}

/// Computes `F` of all pairs of numbers in `a` and `b`. If all are rare, as for one whole exponent
/// throughout, the straight-line loop is left out.
#[inline(always)]
pub fn apply2<F: Function2, T: Number>(out: &mut [T], a: &[T], b: &[T]) {
    let mut rare = 0usize;
    for (a, b) in a.iter().zip(b) {
        rare += usize::from(F::is_rare(a.wide(), b.wide()));
    }
    if rare < out.len() {
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            *out = T::rounded(F::near(a.wide(), b.wide()));
        }
    }
    if rare > 0 {
        for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
            if F::is_rare(a.wide(), b.wide()) {
                *out = T::rounded(F::rare(a.wide(), b.wide()));
            }
        }
    }
}

/// Visits a function to get its value at a number.
#[derive(Debug)]
pub struct At(pub f64);

impl Visit for At {
    type Out = f64;
    #[inline(always)]
    fn visit<F: Function>(self) -> f64 {
        F::value(self.0)
    }
}

/// Functions that straight-line code gives for every number.
macro_rules! everywhere {
    ($($(#[$doc:meta])* $name:ident = $near:path;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;
        impl Function for $name {
            #[inline(always)]
            fn near(x: f64) -> f64 {
                $near(x)
            }
        }
    )*};
}
everywhere! {
    /// [`super::exp`].
    Exp = super::exp;
    /// [`super::log`].
    Log = super::log;
    /// [`super::log2`].
    Log2 = super::log2;
    /// [`super::log10`].
    Log10 = super::log10;
    /// [`super::log1p`].
    Log1p = super::log1p;
    /// [`super::expm1`].
    Expm1 = super::expm1;
    /// [`super::sinh`].
    Sinh = super::sinh;
    /// [`super::cosh`].
    Cosh = super::cosh;
    /// [`super::tanh`].
    Tanh = super::tanh;
    /// [`super::asin`].
    Asin = super::asin;
    /// [`super::acos`].
    Acos = super::acos;
    /// [`super::atan`].
    Atan = super::atan;
    /// [`super::erf`].
    Erf = super::erf;
    /// [`super::erfc`].
    Erfc = super::erfc;
    /// [`super::popcount`].
    Popcount = super::popcount;
}

/// The angle of a point, [`super::atan2`].
#[derive(Debug)]
pub struct Atan2;

impl Function2 for Atan2 {
    #[inline(always)]
    fn near(a: f64, b: f64) -> f64 {
        super::atan2(a, b)
    }
}

/// Common ones, [`super::bitand`].
#[derive(Debug)]
pub struct BitAnd;

impl Function2 for BitAnd {
    #[inline(always)]
    fn near(a: f64, b: f64) -> f64 {
        super::bitand(a, b)
    }
}

/// Powers, [`super::pow`]: by straight-line code if the exponent needs a logarithm, else the rare
/// way, which multiplies.
#[derive(Debug)]
pub struct Pow;

impl Function2 for Pow {
    #[inline(always)]
    fn near(a: f64, b: f64) -> f64 {
        super::pow_real(a, b)
    }
    #[inline(always)]
    fn is_rare(_: f64, b: f64) -> bool {
        !super::power::is_real(b)
    }
    #[inline(always)]
    fn rare(a: f64, b: f64) -> f64 {
        super::pow(a, b)
    }
}
