//! Arrays in portable Rust; the compiler makes of them what the baseline of the target allows.

use super::arrays::{array_of, each_of};
use super::{Element, Kernel, Lanes, Widen};

/// The portable instruction set.
#[derive(Clone, Copy, Debug)]
pub struct Scalar;

/// Runs a kernel in a function of its own, whose stack the ways to other instruction sets do not
/// pay for.
#[inline(never)]
pub(super) fn shell<T: Element, K: Kernel<T>>(kernel: K) -> K::Output
where
    Scalar: Lanes<T>,
{
    kernel.run(Scalar)
}

macro_rules! scalar {
    ($t:ty, $n:literal, $bits:ty, $mant:literal) => {
        impl Lanes<$t> for Scalar {
            type V = [$t; $n];
            type M = [bool; $n];
            const N: usize = $n;
            const REGISTERS: usize = 16;
            const FUSED: bool = false;

            #[inline(always)]
            fn splat(self, x: $t) -> Self::V {
                [x; $n]
            }
            #[inline(always)]
            unsafe fn load(self, p: *const $t) -> Self::V {
                // SAFETY: the caller promises `N` readable values.
                unsafe { p.cast::<[$t; $n]>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(self, v: Self::V, p: *mut $t) {
                // SAFETY: the caller promises `N` writable values.
                unsafe { p.cast::<[$t; $n]>().write_unaligned(v) }
            }
            #[inline(always)]
            fn add(self, a: Self::V, b: Self::V) -> Self::V {
                array_of(|i| a[i] + b[i])
            }
            #[inline(always)]
            fn sub(self, a: Self::V, b: Self::V) -> Self::V {
                array_of(|i| a[i] - b[i])
            }
            #[inline(always)]
            fn mul(self, a: Self::V, b: Self::V) -> Self::V {
                array_of(|i| a[i] * b[i])
            }
            #[inline(always)]
            fn div(self, a: Self::V, b: Self::V) -> Self::V {
                array_of(|i| a[i] / b[i])
            }
            #[inline(always)]
            fn min(self, a: Self::V, b: Self::V) -> Self::V {
                array_of(|i| if a[i] < b[i] { a[i] } else { b[i] })
            }
            #[inline(always)]
            fn max(self, a: Self::V, b: Self::V) -> Self::V {
                array_of(|i| if a[i] > b[i] { a[i] } else { b[i] })
            }
            #[inline(always)]
            fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
                array_of(|i| a[i] * b[i] + c[i])
            }
            #[inline(always)]
            fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
                array_of(|i| a[i].mul_add(b[i], c[i]))
            }
            #[inline(always)]
            fn sub_on_mul(self, _one: Self::V, a: Self::V, b: Self::V) -> Self::V {
                Lanes::<$t>::sub(self, a, b)
            }
            #[inline(always)]
            fn abs(self, a: Self::V) -> Self::V {
                each_of(a, <$t>::abs)
            }
            #[inline(always)]
            fn toward(self, a: Self::V, b: Self::V) -> Self::V {
                array_of(|i| if b[i].is_sign_negative() { -a[i] } else { a[i] })
            }
            #[inline(always)]
            fn max_abs(self, acc: Self::V, a: Self::V) -> Self::V {
                Lanes::<$t>::max(self, Lanes::<$t>::abs(self, a), acc)
            }
            #[inline(always)]
            fn sqrt(self, a: Self::V) -> Self::V {
                each_of(a, <$t>::sqrt)
            }
            #[inline(always)]
            fn round(self, a: Self::V) -> Self::V {
                each_of(a, <$t>::round_ties_even)
            }
            #[inline(always)]
            fn fract(self, a: Self::V) -> Self::V {
                each_of(a, |x| x - x.floor())
            }
            #[inline(always)]
            fn lt(self, a: Self::V, b: Self::V) -> Self::M {
                array_of(|i| a[i] < b[i])
            }
            #[inline(always)]
            fn le(self, a: Self::V, b: Self::V) -> Self::M {
                array_of(|i| a[i] <= b[i])
            }
            #[inline(always)]
            fn eq(self, a: Self::V, b: Self::V) -> Self::M {
                array_of(|i| a[i] == b[i])
            }
            #[inline(always)]
            fn and(self, a: Self::M, b: Self::M) -> Self::M {
                array_of(|i| a[i] & b[i])
            }
            #[inline(always)]
            fn or(self, a: Self::M, b: Self::M) -> Self::M {
                array_of(|i| a[i] | b[i])
            }
            #[inline(always)]
            fn blend(self, m: Self::M, a: Self::V, b: Self::V) -> Self::V {
                array_of(|i| if m[i] { a[i] } else { b[i] })
            }
            #[inline(always)]
            fn bits(self, m: Self::M) -> u32 {
                (0..$n).map(|i| u32::from(m[i]) << i).sum()
            }
            #[inline(always)]
            fn mask(self, bits: u32) -> Self::M {
                array_of(|i| bits >> i & 1 == 1)
            }
            #[inline(always)]
            unsafe fn store_i32<const SHIFT: i32>(self, v: Self::V, p: *mut i32) {
                // SAFETY: the caller promises `N` writable values.
                unsafe {
                    p.cast::<[i32; $n]>()
                        .write_unaligned(each_of(v, |x| (x as i32) << SHIFT))
                }
            }
            #[inline(always)]
            unsafe fn store_compressed(self, v: Self::V, bits: u32, p: *mut $t) {
                let mut at = 0;
                for (i, x) in v.into_iter().enumerate() {
                    // SAFETY: `at` ≤ i < N, and the caller promises `N` writable values.
                    unsafe { p.add(at).write(x) };
                    at += (bits >> i & 1) as usize;
                }
            }
            #[inline(always)]
            unsafe fn store_indices(self, bits: u32, base: u32, p: *mut u32) {
                let mut at = 0;
                for i in 0..$n {
                    // SAFETY: `at` ≤ i < 16, and the caller promises 16 writable values.
                    unsafe { p.add(at).write(base.wrapping_add(i)) };
                    at += (bits >> i & 1) as usize;
                }
            }
            #[inline(always)]
            unsafe fn add_to_f64(self, v: Self::V, p: *mut f64) {
                for (i, x) in v.into_iter().enumerate() {
                    // SAFETY: i < N, and the caller promises `N` values.
                    unsafe { *p.add(i) += f64::from(x) };
                }
            }
            #[inline(always)]
            fn scale2(self, a: Self::V, n: Self::V) -> Self::V {
                array_of(|i| libm_scale(f64::from(a[i]), n[i] as i32) as $t)
            }
            #[inline(always)]
            fn split(self, a: Self::V) -> (Self::V, Self::V) {
                let e: Self::V = array_of(|i| {
                    let over = a[i]
                        .to_bits()
                        .wrapping_sub((core::f64::consts::FRAC_1_SQRT_2 as $t).to_bits());
                    ((over as $bits) >> $mant) as $t
                });
                let m = array_of(|i| {
                    <$t>::from_bits(a[i].to_bits().wrapping_sub(((e[i] as $bits) << $mant) as _))
                });
                (m, e)
            }
        }
    };
}
scalar!(f32, 4, i32, 23);
scalar!(f64, 2, i64, 52);

/// a · 2ⁿ in two steps, of which only the second may round. For `f32` results the first is exact in
/// any case.
#[inline(always)]
fn libm_scale(a: f64, n: i32) -> f64 {
    let power = |e: i32| f64::from_bits(((1023 + e) as u64) << 52);
    if (-1000..=1000).contains(&n) {
        a * power(n)
    } else {
        let first = n.clamp(-900, 900);
        a * power(first) * power((n - first).clamp(-1000, 1000))
    }
}

impl Widen for Scalar {
    #[inline(always)]
    fn widen(self, v: [f32; 4]) -> [[f64; 2]; 2] {
        [
            array_of(|i| f64::from(v[i])),
            array_of(|i| f64::from(v[i + 2])),
        ]
    }
}
