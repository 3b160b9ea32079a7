//! A small vector layer: kernels are written once over [`Lanes`] and compiled for every instruction
//! set of [`Isa`].
//!
//! A kernel is a value that implements [`Kernel`]; [`Element::dispatch`] runs it inside a function
//! that was compiled with the features of the instruction set. Everything between that shell and
//! the intrinsics is `#[inline(always)]`, because a function that is not inlined would be compiled
//! without those features.

mod arrays;
mod isa;
pub mod math;
#[cfg_attr(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    allow(
        dead_code,
        reason = "other processors run it; here tests compare with it"
    )
)]
mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
#[cfg_attr(
    zipfold_without_avx512,
    allow(dead_code, reason = "nothing is compiled for it")
)]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod sse2;
#[cfg(target_arch = "x86_64")]
pub mod tables;
#[cfg(test)]
mod tests;

pub use arrays::{array_of, change_each, each_of};
pub use isa::Isa;
pub use scalar::Scalar;

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
#[cfg(target_arch = "aarch64")]
pub use neon::Neon;
#[cfg(target_arch = "x86_64")]
pub use sse2::Sse2;

/// A kernel over vectors of `T`. `run` and all that it calls must be `#[inline(always)]`.
pub trait Kernel<T: Element> {
    /// What the kernel returns.
    type Output;
    /// The kernel, for one vector type.
    fn run<S: Lanes<T>>(self, s: S) -> Self::Output;
}

/// An element type that vectors exist for: `f32` or `f64`.
pub trait Element:
    crate::memory::Plain + Default + PartialOrd + Send + Sync + core::fmt::Debug + 'static
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Positive infinity.
    const INFINITY: Self;
    /// Columns of a packed panel: 128 bytes of them.
    const PANEL: usize = 256 / size_of::<Self>();
    /// The value as `f64`, exactly.
    fn to_f64(self) -> f64;
    /// The nearest value of this type.
    fn from_f64(x: f64) -> Self;
    /// The upper 32 bits: sign, exponent and the start of the mantissa.
    fn high_bits(self) -> u32;
    /// The value with these upper bits and zeros behind.
    fn from_high_bits(bits: u32) -> Self;
    /// Runs a kernel on `isa`, or on the best instruction set below it that this processor has.
    fn dispatch<K: Kernel<Self>>(isa: Isa, kernel: K) -> K::Output;
}

macro_rules! element {
    ($t:ty, $bits:ty, $below:literal) => {
        impl Element for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const INFINITY: Self = <$t>::INFINITY;
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            #[allow(
                clippy::unnecessary_cast,
                reason = "the cast rounds in the f32 instance"
            )]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn high_bits(self) -> u32 {
                (self.to_bits() >> $below) as u32
            }
            #[inline(always)]
            fn from_high_bits(bits: u32) -> Self {
                <$t>::from_bits(<$bits>::from(bits) << $below)
            }
            #[inline(always)]
            fn dispatch<K: Kernel<Self>>(isa: Isa, kernel: K) -> K::Output {
                match isa.clamp_to_hardware() {
                    #[cfg(all(target_arch = "x86_64", not(zipfold_without_avx512)))]
                    // SAFETY: `clamp_to_hardware` returned it, so this processor has the features.
                    Isa::Avx512 => unsafe { avx512::shell(kernel) },
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: as above.
                    Isa::Avx2 => unsafe { avx2::shell(kernel) },
                    #[cfg(target_arch = "x86_64")]
                    _ => sse2::shell(kernel),
                    #[cfg(target_arch = "aarch64")]
                    // SAFETY: it is part of the architecture.
                    _ => unsafe { neon::shell(kernel) },
                    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
                    _ => scalar::shell(kernel),
                }
            }
        }
    };
}
element!(f32, u32, 0);
element!(f64, u64, 32);

/// Vectors of `T` for one instruction set. A value of an implementing type proves that the
/// processor has it.
///
/// `min` and `max` return their second argument when one of the two is NaN, on every instruction
/// set.
pub trait Lanes<T: Element>: Copy + Send + Sync + 'static {
    /// A vector.
    type V: Copy;
    /// One truth value per lane.
    type M: Copy;
    /// Lanes of a vector; at most 16.
    const N: usize;
    /// Vector registers that a kernel may plan for.
    const REGISTERS: usize;
    /// Whether one instruction loads or stores some of the lanes.
    const MASKED: bool = false;
    /// Whether `mul_add` rounds once.
    const FUSED: bool = true;

    /// All lanes `x`.
    fn splat(self, x: T) -> Self::V;
    /// Loads `N` values.
    ///
    /// # Safety
    /// `p` is valid for reading `N` values; no alignment is needed.
    unsafe fn load(self, p: *const T) -> Self::V;
    /// Stores `N` values.
    ///
    /// # Safety
    /// `p` is valid for writing `N` values; no alignment is needed.
    unsafe fn store(self, v: Self::V, p: *mut T);
    /// a + b.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// a - b.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// a · b.
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// a / b.
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// a < b ? a : b.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
    /// a > b ? a : b.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// a · b + c, fused where that is fast.
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// a · b + c with one rounding, regardless of its cost.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// a - b for a vector `one` of ones that the compiler cannot see through: on the multiply-add
    /// pipes where these are not the adding pipes. The bits are those of `sub`.
    fn sub_on_mul(self, one: Self::V, a: Self::V, b: Self::V) -> Self::V;
    /// a - b for the number `b` at `p` in every lane. An instruction that takes it from memory
    /// spares one that spreads it, which on Zen 4 costs two thirds of an addition.
    ///
    /// # Safety
    /// `p` is valid for reading.
    #[inline(always)]
    unsafe fn sub_at(self, a: Self::V, p: *const T) -> Self::V {
        // SAFETY: the caller's promise.
        self.sub(a, self.splat(unsafe { *p }))
    }
    /// As [`Self::sub_at`], on the pipes of [`Self::sub_on_mul`].
    ///
    /// # Safety
    /// `p` is valid for reading.
    #[inline(always)]
    unsafe fn sub_on_mul_at(self, one: Self::V, a: Self::V, p: *const T) -> Self::V {
        // SAFETY: the caller's promise.
        self.sub_on_mul(one, a, self.splat(unsafe { *p }))
    }
    /// |a|.
    fn abs(self, a: Self::V) -> Self::V;
    /// a where b has no sign, −a where it has one (b may be −0).
    fn toward(self, a: Self::V, b: Self::V) -> Self::V;
    /// max(acc, |a|) for acc ≥ 0; a NaN in `a` is passed over.
    fn max_abs(self, acc: Self::V, a: Self::V) -> Self::V;
    /// Square root, correctly rounded.
    fn sqrt(self, a: Self::V) -> Self::V;
    /// To the nearest integer, ties to even.
    fn round(self, a: Self::V) -> Self::V;
    /// a - floor(a); NaN or 0 for infinities.
    fn fract(self, a: Self::V) -> Self::V;
    /// a < b, false on NaN.
    fn lt(self, a: Self::V, b: Self::V) -> Self::M;
    /// a ≤ b, false on NaN.
    fn le(self, a: Self::V, b: Self::V) -> Self::M;
    /// a = b, false on NaN.
    fn eq(self, a: Self::V, b: Self::V) -> Self::M;
    /// Both.
    fn and(self, a: Self::M, b: Self::M) -> Self::M;
    /// Either.
    fn or(self, a: Self::M, b: Self::M) -> Self::M;
    /// `m ? a : b` in every lane.
    fn blend(self, m: Self::M, a: Self::V, b: Self::V) -> Self::V;
    /// Bit i is lane i.
    fn bits(self, m: Self::M) -> u32;
    /// The mask whose lane i is bit i.
    fn mask(self, bits: u32) -> Self::M;
    /// Stores the lanes as integers, rounded towards zero, times 2^SHIFT; they fit in an `i32`.
    ///
    /// # Safety
    /// `p` is valid for writing `N` values.
    unsafe fn store_i32<const SHIFT: i32>(self, v: Self::V, p: *mut i32);
    /// Stores `(upper 32 bits >> shift) - base` of every lane, clamped to 0 ..= `max`; for lanes
    /// that are not negative.
    ///
    /// # Safety
    /// `p` is valid for writing `N` values.
    #[inline(always)]
    unsafe fn store_keys(self, v: Self::V, shift: u32, base: i32, max: i32, p: *mut i32) {
        let mut lanes = [T::ZERO; 16];
        // SAFETY: the array holds N ≤ 16 lanes, and the caller promises `N` values at `p`.
        unsafe {
            self.store(v, lanes.as_mut_ptr());
            for (i, x) in lanes.iter().take(Self::N).enumerate() {
                p.add(i)
                    .write(((x.high_bits() >> shift) as i32 - base).clamp(0, max));
            }
        }
    }
    /// Moves the lanes whose bit is set to the front, in order, and stores `N` lanes; those behind
    /// are unspecified.
    ///
    /// # Safety
    /// `p` is valid for writing `N` values.
    unsafe fn store_compressed(self, v: Self::V, bits: u32, p: *mut T);
    /// Stores `base + i` for every set bit i < N, in order, and perhaps unspecified values behind.
    ///
    /// # Safety
    /// `p` is valid for writing 16 values.
    unsafe fn store_indices(self, bits: u32, base: u32, p: *mut u32);
    /// Loads the lanes of `m`, and zeros for the others.
    ///
    /// # Safety
    /// `p` is valid for reading the lanes of `m`.
    #[inline(always)]
    unsafe fn load_some(self, m: Self::M, p: *const T) -> Self::V {
        let mut lanes = [T::ZERO; 16];
        let bits = self.bits(m);
        // SAFETY: the caller promises the lanes of `m`; the array holds N ≤ 16 lanes.
        unsafe {
            for (i, lane) in lanes.iter_mut().enumerate().take(Self::N) {
                if bits >> i & 1 == 1 {
                    *lane = p.add(i).read();
                }
            }
            self.load(lanes.as_ptr())
        }
    }
    /// Stores the lanes of `m`.
    ///
    /// # Safety
    /// `p` is valid for writing the lanes of `m`.
    #[inline(always)]
    unsafe fn store_some(self, m: Self::M, v: Self::V, p: *mut T) {
        let mut lanes = [T::ZERO; 16];
        let bits = self.bits(m);
        // SAFETY: the array holds N ≤ 16 lanes; the caller promises the lanes of `m`.
        unsafe {
            self.store(v, lanes.as_mut_ptr());
            for (i, lane) in lanes.iter().enumerate().take(Self::N) {
                if bits >> i & 1 == 1 {
                    p.add(i).write(*lane);
                }
            }
        }
    }
    /// Stores `N` values past the caches, where the processor can.
    ///
    /// # Safety
    /// `p` is valid for writing `N` values, and aligned to a vector.
    #[inline(always)]
    unsafe fn stream(self, v: Self::V, p: *mut T) {
        // SAFETY: the caller's promise.
        unsafe { self.store(v, p) }
    }
    /// eˣ within two units in the last place, 0 for what the type cannot hold; for x below the
    /// logarithm of the largest number.
    #[inline(always)]
    fn fast_exp(self, x: Self::V) -> Self::V
    where
        T: math::Transcendental,
    {
        T::exp(self, x)
    }
    /// ln x within two units in the last place of the larger of the result and 1/16, −∞ for zero.
    #[inline(always)]
    fn fast_ln(self, x: Self::V) -> Self::V
    where
        T: math::Transcendental,
    {
        T::ln(self, x)
    }
    /// Adds the lanes, widened, to `p`.
    ///
    /// # Safety
    /// `p` is valid for reading and writing `N` values.
    unsafe fn add_to_f64(self, v: Self::V, p: *mut f64);
    /// Raises `p` to the lanes, widened, where these are larger.
    ///
    /// # Safety
    /// `p` is valid for reading and writing `N` values.
    #[inline(always)]
    unsafe fn max_to_f64(self, v: Self::V, p: *mut f64) {
        let mut lanes = [T::ZERO; 16];
        // SAFETY: the array holds N ≤ 16 lanes, and the caller promises `N` values at `p`.
        unsafe {
            self.store(v, lanes.as_mut_ptr());
            for (i, x) in lanes.iter().take(Self::N).enumerate() {
                *p.add(i) = p.add(i).read().max(x.to_f64());
            }
        }
    }
    /// a · 2ⁿ with one rounding, for integral `n` of magnitude up to 2¹².
    fn scale2(self, a: Self::V, n: Self::V) -> Self::V;
    /// m and e with a = m · 2ᵉ and 1/√2 ≤ m < √2, for finite normal a > 0.
    fn split(self, a: Self::V) -> (Self::V, Self::V);
    /// Whether any lane is set.
    #[inline(always)]
    fn any(self, m: Self::M) -> bool {
        self.bits(m) != 0
    }
    /// Lanes that are set.
    #[inline(always)]
    fn count(self, m: Self::M) -> u32 {
        self.bits(m).count_ones()
    }
}

/// Conversion of vectors of `f32` to vectors of `f64`.
pub trait Widen: Lanes<f32> + Lanes<f64> {
    /// The low and the high half of the lanes, widened.
    fn widen(self, v: <Self as Lanes<f32>>::V) -> [<Self as Lanes<f64>>::V; 2];
}

/// The bits of the first `n` lanes (all from 16 on).
#[inline(always)]
pub fn first_lanes(n: usize) -> u32 {
    if n >= 16 { 0xffff } else { (1 << n) - 1 }
}
