//! NEON.
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "the macro `op!` states the reason once"
)]

use super::arrays::FRONT;
use super::{Element, Kernel, Lanes, Widen};
use core::arch::aarch64::*;

/// Proof that the processor has NEON.
#[derive(Clone, Copy, Debug)]
pub struct Neon(());

/// Runs a kernel with the feature enabled.
///
/// # Safety
/// The processor has NEON, as every one of the architecture has under the systems that Rust's
/// standard library knows.
#[target_feature(enable = "neon")]
pub(super) unsafe fn shell<T: Element, K: Kernel<T>>(kernel: K) -> K::Output
where
    Neon: Lanes<T>,
{
    kernel.run(Neon(()))
}

// SAFETY (of every use): a value of `Neon` exists, so `shell` ran, so the processor has NEON.
macro_rules! op {
    ($e:expr) => {
        unsafe { $e }
    };
}

/// The row of [`FRONT`] of the lowest four bits.
///
/// # Safety
/// The processor has NEON.
#[inline(always)]
unsafe fn front(bits: u32) -> uint32x4_t {
    op!(vld1q_u32(FRONT[(bits & 0xf) as usize].as_ptr()))
}

/// 1, 2, 4, 8.
///
/// # Safety
/// The processor has NEON.
#[inline(always)]
unsafe fn powers() -> uint32x4_t {
    op!({
        const POWERS: [u32; 4] = [1, 2, 4, 8];
        vld1q_u32(POWERS.as_ptr())
    })
}

/// 1, 2.
///
/// # Safety
/// The processor has NEON.
#[inline(always)]
unsafe fn two_powers() -> uint64x2_t {
    op!(vcombine_u64(vdup_n_u64(1), vdup_n_u64(2)))
}

impl Lanes<f32> for Neon {
    type V = float32x4_t;
    type M = uint32x4_t;
    const N: usize = 4;
    const REGISTERS: usize = 32;

    #[inline(always)]
    fn splat(self, x: f32) -> float32x4_t {
        op!(vdupq_n_f32(x))
    }
    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> float32x4_t {
        op!(vld1q_f32(p))
    }
    #[inline(always)]
    unsafe fn store(self, v: float32x4_t, p: *mut f32) {
        op!(vst1q_f32(p, v))
    }
    #[inline(always)]
    fn add(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        op!(vaddq_f32(a, b))
    }
    #[inline(always)]
    fn sub(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        op!(vsubq_f32(a, b))
    }
    #[inline(always)]
    fn mul(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        op!(vmulq_f32(a, b))
    }
    #[inline(always)]
    fn div(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        op!(vdivq_f32(a, b))
    }
    #[inline(always)]
    fn min(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        op!(vbslq_f32(vcltq_f32(a, b), a, b))
    }
    #[inline(always)]
    fn max(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        op!(vbslq_f32(vcgtq_f32(a, b), a, b))
    }
    #[inline(always)]
    fn mul_add(self, a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t {
        op!(vfmaq_f32(c, a, b))
    }
    #[inline(always)]
    fn fma(self, a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t {
        op!(vfmaq_f32(c, a, b))
    }
    #[inline(always)]
    fn sub_on_mul(self, _one: float32x4_t, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        op!(vsubq_f32(a, b))
    }
    #[inline(always)]
    fn abs(self, a: float32x4_t) -> float32x4_t {
        op!(vabsq_f32(a))
    }
    #[inline(always)]
    fn toward(self, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        op!({
            let sign = vandq_u32(vreinterpretq_u32_f32(b), vdupq_n_u32(0x8000_0000));
            vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(a), sign))
        })
    }
    // Not the instruction for the greater number, which answers a signalling NaN with NaN.
    #[inline(always)]
    fn max_abs(self, acc: float32x4_t, a: float32x4_t) -> float32x4_t {
        op!(vbslq_f32(vcagtq_f32(a, acc), vabsq_f32(a), acc))
    }
    #[inline(always)]
    fn sqrt(self, a: float32x4_t) -> float32x4_t {
        op!(vsqrtq_f32(a))
    }
    #[inline(always)]
    fn round(self, a: float32x4_t) -> float32x4_t {
        op!(vrndnq_f32(a))
    }
    #[inline(always)]
    fn fract(self, a: float32x4_t) -> float32x4_t {
        op!(vsubq_f32(a, vrndmq_f32(a)))
    }
    #[inline(always)]
    fn lt(self, a: float32x4_t, b: float32x4_t) -> uint32x4_t {
        op!(vcltq_f32(a, b))
    }
    #[inline(always)]
    fn le(self, a: float32x4_t, b: float32x4_t) -> uint32x4_t {
        op!(vcleq_f32(a, b))
    }
    #[inline(always)]
    fn eq(self, a: float32x4_t, b: float32x4_t) -> uint32x4_t {
        op!(vceqq_f32(a, b))
    }
    #[inline(always)]
    fn and(self, a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
        op!(vandq_u32(a, b))
    }
    #[inline(always)]
    fn or(self, a: uint32x4_t, b: uint32x4_t) -> uint32x4_t {
        op!(vorrq_u32(a, b))
    }
    #[inline(always)]
    fn blend(self, m: uint32x4_t, a: float32x4_t, b: float32x4_t) -> float32x4_t {
        op!(vbslq_f32(m, a, b))
    }
    #[inline(always)]
    fn bits(self, m: uint32x4_t) -> u32 {
        op!(vaddvq_u32(vandq_u32(m, powers())))
    }
    #[inline(always)]
    fn any(self, m: uint32x4_t) -> bool {
        op!(vmaxvq_u32(m) != 0)
    }
    #[inline(always)]
    fn count(self, m: uint32x4_t) -> u32 {
        op!(vaddvq_u32(m).wrapping_neg())
    }
    #[inline(always)]
    fn mask(self, bits: u32) -> uint32x4_t {
        op!(vtstq_u32(vdupq_n_u32(bits), powers()))
    }
    #[inline(always)]
    unsafe fn store_i32<const SHIFT: i32>(self, v: float32x4_t, p: *mut i32) {
        op!(vst1q_s32(p, vshlq_n_s32::<SHIFT>(vcvtq_s32_f32(v))))
    }
    #[inline(always)]
    unsafe fn store_keys(self, v: float32x4_t, shift: u32, base: i32, max: i32, p: *mut i32) {
        op!({
            let key = vshlq_u32(vreinterpretq_u32_f32(v), vdupq_n_s32(-(shift as i32)));
            let key = vsubq_s32(vreinterpretq_s32_u32(key), vdupq_n_s32(base));
            let key = vmaxq_s32(vdupq_n_s32(0), vminq_s32(key, vdupq_n_s32(max)));
            vst1q_s32(p, key)
        })
    }
    #[inline(always)]
    unsafe fn store_compressed(self, v: float32x4_t, bits: u32, p: *mut f32) {
        op!({
            // The four bytes of each lane to move.
            let bytes = vmlaq_u32(
                vdupq_n_u32(0x0302_0100),
                front(bits),
                vdupq_n_u32(0x0404_0404),
            );
            let moved = vqtbl1q_u8(vreinterpretq_u8_f32(v), vreinterpretq_u8_u32(bytes));
            vst1q_f32(p, vreinterpretq_f32_u8(moved))
        })
    }
    #[inline(always)]
    unsafe fn store_indices(self, bits: u32, base: u32, p: *mut u32) {
        op!(vst1q_u32(p, vaddq_u32(front(bits), vdupq_n_u32(base))))
    }
    #[inline(always)]
    unsafe fn add_to_f64(self, v: float32x4_t, p: *mut f64) {
        op!({
            let [low, high] = self.widen(v);
            vst1q_f64(p, vaddq_f64(vld1q_f64(p), low));
            vst1q_f64(p.add(2), vaddq_f64(vld1q_f64(p.add(2)), high));
        })
    }
    // In double precision the product is exact, and all exponents are within reach.
    #[inline(always)]
    fn scale2(self, a: float32x4_t, n: float32x4_t) -> float32x4_t {
        op!({
            let n = vcvtq_s32_f32(n);
            let n = vaddq_s32(
                vmaxq_s32(vdupq_n_s32(-1000), vminq_s32(n, vdupq_n_s32(1000))),
                vdupq_n_s32(1023),
            );
            let power = |e| vreinterpretq_f64_s64(vshlq_n_s64::<52>(e));
            let [low, high] = self.widen(a);
            let low = vmulq_f64(low, power(vmovl_s32(vget_low_s32(n))));
            let high = vmulq_f64(high, power(vmovl_high_s32(n)));
            vcvt_high_f32_f64(vcvt_f32_f64(low), high)
        })
    }
    #[inline(always)]
    fn split(self, a: float32x4_t) -> (float32x4_t, float32x4_t) {
        op!({
            let bits = vreinterpretq_s32_f32(a);
            let over = vsubq_s32(
                bits,
                vdupq_n_s32(core::f32::consts::FRAC_1_SQRT_2.to_bits() as i32),
            );
            let e = vshrq_n_s32::<23>(over);
            (
                vreinterpretq_f32_s32(vsubq_s32(bits, vshlq_n_s32::<23>(e))),
                vcvtq_f32_s32(e),
            )
        })
    }
}

impl Lanes<f64> for Neon {
    type V = float64x2_t;
    type M = uint64x2_t;
    const N: usize = 2;
    const REGISTERS: usize = 32;

    #[inline(always)]
    fn splat(self, x: f64) -> float64x2_t {
        op!(vdupq_n_f64(x))
    }
    #[inline(always)]
    unsafe fn load(self, p: *const f64) -> float64x2_t {
        op!(vld1q_f64(p))
    }
    #[inline(always)]
    unsafe fn store(self, v: float64x2_t, p: *mut f64) {
        op!(vst1q_f64(p, v))
    }
    #[inline(always)]
    fn add(self, a: float64x2_t, b: float64x2_t) -> float64x2_t {
        op!(vaddq_f64(a, b))
    }
    #[inline(always)]
    fn sub(self, a: float64x2_t, b: float64x2_t) -> float64x2_t {
        op!(vsubq_f64(a, b))
    }
    #[inline(always)]
    fn mul(self, a: float64x2_t, b: float64x2_t) -> float64x2_t {
        op!(vmulq_f64(a, b))
    }
    #[inline(always)]
    fn div(self, a: float64x2_t, b: float64x2_t) -> float64x2_t {
        op!(vdivq_f64(a, b))
    }
    #[inline(always)]
    fn min(self, a: float64x2_t, b: float64x2_t) -> float64x2_t {
        op!(vbslq_f64(vcltq_f64(a, b), a, b))
    }
    #[inline(always)]
    fn max(self, a: float64x2_t, b: float64x2_t) -> float64x2_t {
        op!(vbslq_f64(vcgtq_f64(a, b), a, b))
    }
    #[inline(always)]
    fn mul_add(self, a: float64x2_t, b: float64x2_t, c: float64x2_t) -> float64x2_t {
        op!(vfmaq_f64(c, a, b))
    }
    #[inline(always)]
    fn fma(self, a: float64x2_t, b: float64x2_t, c: float64x2_t) -> float64x2_t {
        op!(vfmaq_f64(c, a, b))
    }
    #[inline(always)]
    fn sub_on_mul(self, _one: float64x2_t, a: float64x2_t, b: float64x2_t) -> float64x2_t {
        op!(vsubq_f64(a, b))
    }
    #[inline(always)]
    fn abs(self, a: float64x2_t) -> float64x2_t {
        op!(vabsq_f64(a))
    }
    #[inline(always)]
    fn toward(self, a: float64x2_t, b: float64x2_t) -> float64x2_t {
        op!({
            let sign = vandq_u64(vreinterpretq_u64_f64(b), vdupq_n_u64(1 << 63));
            vreinterpretq_f64_u64(veorq_u64(vreinterpretq_u64_f64(a), sign))
        })
    }
    // Not the instruction for the greater number, which answers a signalling NaN with NaN.
    #[inline(always)]
    fn max_abs(self, acc: float64x2_t, a: float64x2_t) -> float64x2_t {
        op!(vbslq_f64(vcagtq_f64(a, acc), vabsq_f64(a), acc))
    }
    #[inline(always)]
    fn sqrt(self, a: float64x2_t) -> float64x2_t {
        op!(vsqrtq_f64(a))
    }
    #[inline(always)]
    fn round(self, a: float64x2_t) -> float64x2_t {
        op!(vrndnq_f64(a))
    }
    #[inline(always)]
    fn fract(self, a: float64x2_t) -> float64x2_t {
        op!(vsubq_f64(a, vrndmq_f64(a)))
    }
    #[inline(always)]
    fn lt(self, a: float64x2_t, b: float64x2_t) -> uint64x2_t {
        op!(vcltq_f64(a, b))
    }
    #[inline(always)]
    fn le(self, a: float64x2_t, b: float64x2_t) -> uint64x2_t {
        op!(vcleq_f64(a, b))
    }
    #[inline(always)]
    fn eq(self, a: float64x2_t, b: float64x2_t) -> uint64x2_t {
        op!(vceqq_f64(a, b))
    }
    #[inline(always)]
    fn and(self, a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
        op!(vandq_u64(a, b))
    }
    #[inline(always)]
    fn or(self, a: uint64x2_t, b: uint64x2_t) -> uint64x2_t {
        op!(vorrq_u64(a, b))
    }
    #[inline(always)]
    fn blend(self, m: uint64x2_t, a: float64x2_t, b: float64x2_t) -> float64x2_t {
        op!(vbslq_f64(m, a, b))
    }
    #[inline(always)]
    fn bits(self, m: uint64x2_t) -> u32 {
        op!(vaddvq_u64(vandq_u64(m, two_powers())) as u32)
    }
    #[inline(always)]
    fn any(self, m: uint64x2_t) -> bool {
        op!(vmaxvq_u32(vreinterpretq_u32_u64(m)) != 0)
    }
    #[inline(always)]
    fn count(self, m: uint64x2_t) -> u32 {
        op!((vaddvq_u64(m) as u32).wrapping_neg())
    }
    #[inline(always)]
    fn mask(self, bits: u32) -> uint64x2_t {
        op!(vtstq_u64(vdupq_n_u64(u64::from(bits)), two_powers()))
    }
    #[inline(always)]
    unsafe fn store_i32<const SHIFT: i32>(self, v: float64x2_t, p: *mut i32) {
        op!(vst1_s32(
            p,
            vshl_n_s32::<SHIFT>(vmovn_s64(vcvtq_s64_f64(v)))
        ))
    }
    #[inline(always)]
    unsafe fn store_keys(self, v: float64x2_t, shift: u32, base: i32, max: i32, p: *mut i32) {
        op!({
            let key = vshl_u32(
                vshrn_n_u64::<32>(vreinterpretq_u64_f64(v)),
                vdup_n_s32(-(shift as i32)),
            );
            let key = vsub_s32(vreinterpret_s32_u32(key), vdup_n_s32(base));
            let key = vmax_s32(vdup_n_s32(0), vmin_s32(key, vdup_n_s32(max)));
            vst1_s32(p, key)
        })
    }
    #[inline(always)]
    unsafe fn store_compressed(self, v: float64x2_t, bits: u32, p: *mut f64) {
        op!({
            let second = vdupq_n_u64(if bits & 3 == 2 { u64::MAX } else { 0 });
            vst1q_f64(p, vbslq_f64(second, vdupq_laneq_f64::<1>(v), v))
        })
    }
    #[inline(always)]
    unsafe fn store_indices(self, bits: u32, base: u32, p: *mut u32) {
        op!(Lanes::<f32>::store_indices(self, bits & 3, base, p))
    }
    #[inline(always)]
    unsafe fn add_to_f64(self, v: float64x2_t, p: *mut f64) {
        op!(vst1q_f64(p, vaddq_f64(vld1q_f64(p), v)))
    }
    // Three products: an exponent of 2098 takes the least number to the greatest. The whole part is
    // the last. One before it is inexact only where the result is 0 or infinite in any case.
    #[inline(always)]
    fn scale2(self, a: float64x2_t, n: float64x2_t) -> float64x2_t {
        op!({
            let reach = vdupq_n_f64(1022.0);
            let within = |n| vmaxnmq_f64(vnegq_f64(reach), vminnmq_f64(n, reach));
            let power = |n| {
                let e = vcvtq_s64_f64(vaddq_f64(n, vdupq_n_f64(1023.0)));
                vreinterpretq_f64_s64(vshlq_n_s64::<52>(e))
            };
            let last = within(n);
            let rest = vsubq_f64(n, last);
            let second = within(rest);
            let first = within(vsubq_f64(rest, second));
            vmulq_f64(
                vmulq_f64(vmulq_f64(a, power(first)), power(second)),
                power(last),
            )
        })
    }
    #[inline(always)]
    fn split(self, a: float64x2_t) -> (float64x2_t, float64x2_t) {
        op!({
            let bits = vreinterpretq_s64_f64(a);
            let over = vsubq_s64(
                bits,
                vdupq_n_s64(core::f64::consts::FRAC_1_SQRT_2.to_bits() as i64),
            );
            let e = vshrq_n_s64::<52>(over);
            (
                vreinterpretq_f64_s64(vsubq_s64(bits, vshlq_n_s64::<52>(e))),
                vcvtq_f64_s64(e),
            )
        })
    }
}

impl Widen for Neon {
    #[inline(always)]
    fn widen(self, v: float32x4_t) -> [float64x2_t; 2] {
        op!([vcvt_f64_f32(vget_low_f32(v)), vcvt_high_f64_f32(v)])
    }
}
