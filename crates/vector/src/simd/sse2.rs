//! SSE2, which every x86-64 processor has. Results have the bits of [`Scalar`], lane for lane.
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "the macro `op!` states the reason once"
)]

use super::arrays::FRONT;
use super::{Element, Kernel, Lanes, Scalar, Widen};
use core::arch::x86_64::*;

/// The vectors of every x86-64 processor.
#[derive(Clone, Copy, Debug)]
pub struct Sse2;

/// Runs a kernel in a function of its own, whose stack the ways to other instruction sets do not
/// pay for.
#[inline(never)]
pub(super) fn shell<T: Element, K: Kernel<T>>(kernel: K) -> K::Output
where
    Sse2: Lanes<T>,
{
    kernel.run(Sse2)
}

// SAFETY (of every use): SSE2 is part of x86-64. Pointers are what the caller promises.
macro_rules! op {
    ($e:expr) => {
        unsafe { $e }
    };
}

/// `m ? a : b` in every bit.
#[inline(always)]
fn choose(m: __m128i, a: __m128i, b: __m128i) -> __m128i {
    op!(_mm_or_si128(_mm_and_si128(m, a), _mm_andnot_si128(m, b)))
}

/// Each of four integers within 0 ..= `max`.
#[inline(always)]
fn clamp(key: __m128i, max: i32) -> __m128i {
    op!({
        let most = _mm_set1_epi32(max);
        let not_negative = _mm_andnot_si128(_mm_srai_epi32::<31>(key), key);
        choose(_mm_cmpgt_epi32(not_negative, most), most, not_negative)
    })
}

/// The powers of two with the exponents of the two lower integers, from -1022 to 1023.
#[inline(always)]
fn powers(n: __m128i) -> __m128d {
    op!({
        let biased = _mm_add_epi32(n, _mm_set1_epi32(1023));
        let wide = _mm_unpacklo_epi32(biased, _mm_setzero_si128());
        _mm_castsi128_pd(_mm_slli_epi64::<52>(wide))
    })
}

impl Lanes<f32> for Sse2 {
    type V = __m128;
    type M = __m128;
    const N: usize = 4;
    const REGISTERS: usize = 16;
    const FUSED: bool = false;

    #[inline(always)]
    fn splat(self, x: f32) -> __m128 {
        op!(_mm_set1_ps(x))
    }
    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> __m128 {
        op!(_mm_loadu_ps(p))
    }
    #[inline(always)]
    unsafe fn store(self, v: __m128, p: *mut f32) {
        op!(_mm_storeu_ps(p, v))
    }
    #[inline(always)]
    fn add(self, a: __m128, b: __m128) -> __m128 {
        op!(_mm_add_ps(a, b))
    }
    #[inline(always)]
    fn sub(self, a: __m128, b: __m128) -> __m128 {
        op!(_mm_sub_ps(a, b))
    }
    #[inline(always)]
    fn mul(self, a: __m128, b: __m128) -> __m128 {
        op!(_mm_mul_ps(a, b))
    }
    #[inline(always)]
    fn div(self, a: __m128, b: __m128) -> __m128 {
        op!(_mm_div_ps(a, b))
    }
    #[inline(always)]
    fn min(self, a: __m128, b: __m128) -> __m128 {
        op!(_mm_min_ps(a, b))
    }
    #[inline(always)]
    fn max(self, a: __m128, b: __m128) -> __m128 {
        op!(_mm_max_ps(a, b))
    }
    #[inline(always)]
    fn mul_add(self, a: __m128, b: __m128, c: __m128) -> __m128 {
        op!(_mm_add_ps(_mm_mul_ps(a, b), c))
    }
    // The product of two values is exact in double precision, but not its sum with a third.
    #[inline(always)]
    fn fma(self, a: __m128, b: __m128, c: __m128) -> __m128 {
        let all = Lanes::<f32>::fma(Scalar, lanes(a), lanes(b), lanes(c));
        op!(_mm_loadu_ps(all.as_ptr()))
    }
    #[inline(always)]
    fn sub_on_mul(self, _one: __m128, a: __m128, b: __m128) -> __m128 {
        op!(_mm_sub_ps(a, b))
    }
    #[inline(always)]
    fn abs(self, a: __m128) -> __m128 {
        op!(_mm_andnot_ps(_mm_set1_ps(-0.0), a))
    }
    #[inline(always)]
    fn toward(self, a: __m128, b: __m128) -> __m128 {
        op!(_mm_xor_ps(a, _mm_and_ps(b, _mm_set1_ps(-0.0))))
    }
    #[inline(always)]
    fn max_abs(self, acc: __m128, a: __m128) -> __m128 {
        op!(_mm_max_ps(_mm_andnot_ps(_mm_set1_ps(-0.0), a), acc))
    }
    #[inline(always)]
    fn sqrt(self, a: __m128) -> __m128 {
        op!(_mm_sqrt_ps(a))
    }
    // From 2²³ on, numbers have no fraction: adding it rounds. Those numbers and NaN do not change.
    #[inline(always)]
    fn round(self, a: __m128) -> __m128 {
        op!({
            let (sign, room) = (_mm_set1_ps(-0.0), _mm_set1_ps(8_388_608.0));
            let size = _mm_andnot_ps(sign, a);
            let near = _mm_sub_ps(_mm_add_ps(size, room), room);
            let near = _mm_or_ps(near, _mm_and_ps(sign, a));
            Lanes::<f32>::blend(self, _mm_cmplt_ps(size, room), near, a)
        })
    }
    #[inline(always)]
    fn fract(self, a: __m128) -> __m128 {
        op!({
            let near = Lanes::<f32>::round(self, a);
            let above = _mm_and_ps(_mm_cmpgt_ps(near, a), _mm_set1_ps(1.0));
            _mm_sub_ps(a, _mm_sub_ps(near, above))
        })
    }
    #[inline(always)]
    fn lt(self, a: __m128, b: __m128) -> __m128 {
        op!(_mm_cmplt_ps(a, b))
    }
    #[inline(always)]
    fn le(self, a: __m128, b: __m128) -> __m128 {
        op!(_mm_cmple_ps(a, b))
    }
    #[inline(always)]
    fn eq(self, a: __m128, b: __m128) -> __m128 {
        op!(_mm_cmpeq_ps(a, b))
    }
    #[inline(always)]
    fn and(self, a: __m128, b: __m128) -> __m128 {
        op!(_mm_and_ps(a, b))
    }
    #[inline(always)]
    fn or(self, a: __m128, b: __m128) -> __m128 {
        op!(_mm_or_ps(a, b))
    }
    #[inline(always)]
    fn blend(self, m: __m128, a: __m128, b: __m128) -> __m128 {
        op!(_mm_or_ps(_mm_and_ps(m, a), _mm_andnot_ps(m, b)))
    }
    #[inline(always)]
    fn bits(self, m: __m128) -> u32 {
        op!(_mm_movemask_ps(m) as u32)
    }
    #[inline(always)]
    fn mask(self, bits: u32) -> __m128 {
        op!({
            let bit = _mm_setr_epi32(1, 2, 4, 8);
            let set = _mm_and_si128(_mm_set1_epi32(bits as i32), bit);
            _mm_castsi128_ps(_mm_cmpeq_epi32(set, bit))
        })
    }
    #[inline(always)]
    unsafe fn store_i32<const SHIFT: i32>(self, v: __m128, p: *mut i32) {
        op!({
            let whole = _mm_slli_epi32::<SHIFT>(_mm_cvttps_epi32(v));
            _mm_storeu_si128(p.cast(), whole)
        })
    }
    #[inline(always)]
    unsafe fn store_keys(self, v: __m128, shift: u32, base: i32, max: i32, p: *mut i32) {
        op!({
            let high = _mm_srl_epi32(_mm_castps_si128(v), _mm_cvtsi32_si128(shift as i32));
            let key = clamp(_mm_sub_epi32(high, _mm_set1_epi32(base)), max);
            _mm_storeu_si128(p.cast(), key)
        })
    }
    #[inline(always)]
    unsafe fn store_compressed(self, v: __m128, bits: u32, p: *mut f32) {
        op!(Lanes::<f32>::store_compressed(Scalar, lanes(v), bits, p))
    }
    #[inline(always)]
    unsafe fn store_indices(self, bits: u32, base: u32, p: *mut u32) {
        op!({
            let front = _mm_loadu_si128(FRONT[(bits & 0xf) as usize].as_ptr().cast());
            _mm_storeu_si128(p.cast(), _mm_add_epi32(front, _mm_set1_epi32(base as i32)))
        })
    }
    #[inline(always)]
    unsafe fn stream(self, v: __m128, p: *mut f32) {
        op!(_mm_stream_ps(p, v))
    }
    #[inline(always)]
    unsafe fn add_to_f64(self, v: __m128, p: *mut f64) {
        op!({
            let [low, high] = self.widen(v);
            _mm_storeu_pd(p, _mm_add_pd(_mm_loadu_pd(p), low));
            _mm_storeu_pd(p.add(2), _mm_add_pd(_mm_loadu_pd(p.add(2)), high));
        })
    }
    // In double precision the product is exact, and all exponents are within reach.
    #[inline(always)]
    fn scale2(self, a: __m128, n: __m128) -> __m128 {
        op!({
            let reach = _mm_set1_ps(1000.0);
            let within = _mm_max_ps(_mm_set1_ps(-1000.0), _mm_min_ps(n, reach));
            let n = _mm_cvtps_epi32(within);
            let [low, high] = self.widen(a);
            let low = _mm_mul_pd(low, powers(n));
            let high = _mm_mul_pd(high, powers(_mm_unpackhi_epi64(n, n)));
            _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high))
        })
    }
    #[inline(always)]
    fn split(self, a: __m128) -> (__m128, __m128) {
        op!({
            let bits = _mm_castps_si128(a);
            let origin = core::f32::consts::FRAC_1_SQRT_2.to_bits() as i32;
            let e = _mm_srai_epi32::<23>(_mm_sub_epi32(bits, _mm_set1_epi32(origin)));
            let m = _mm_sub_epi32(bits, _mm_slli_epi32::<23>(e));
            (_mm_castsi128_ps(m), _mm_cvtepi32_ps(e))
        })
    }
}

impl Lanes<f64> for Sse2 {
    type V = __m128d;
    type M = __m128d;
    const N: usize = 2;
    const REGISTERS: usize = 16;
    const FUSED: bool = false;

    #[inline(always)]
    fn splat(self, x: f64) -> __m128d {
        op!(_mm_set1_pd(x))
    }
    #[inline(always)]
    unsafe fn load(self, p: *const f64) -> __m128d {
        op!(_mm_loadu_pd(p))
    }
    #[inline(always)]
    unsafe fn store(self, v: __m128d, p: *mut f64) {
        op!(_mm_storeu_pd(p, v))
    }
    #[inline(always)]
    fn add(self, a: __m128d, b: __m128d) -> __m128d {
        op!(_mm_add_pd(a, b))
    }
    #[inline(always)]
    fn sub(self, a: __m128d, b: __m128d) -> __m128d {
        op!(_mm_sub_pd(a, b))
    }
    #[inline(always)]
    fn mul(self, a: __m128d, b: __m128d) -> __m128d {
        op!(_mm_mul_pd(a, b))
    }
    #[inline(always)]
    fn div(self, a: __m128d, b: __m128d) -> __m128d {
        op!(_mm_div_pd(a, b))
    }
    #[inline(always)]
    fn min(self, a: __m128d, b: __m128d) -> __m128d {
        op!(_mm_min_pd(a, b))
    }
    #[inline(always)]
    fn max(self, a: __m128d, b: __m128d) -> __m128d {
        op!(_mm_max_pd(a, b))
    }
    #[inline(always)]
    fn mul_add(self, a: __m128d, b: __m128d, c: __m128d) -> __m128d {
        op!(_mm_add_pd(_mm_mul_pd(a, b), c))
    }
    #[inline(always)]
    fn fma(self, a: __m128d, b: __m128d, c: __m128d) -> __m128d {
        let all = Lanes::<f64>::fma(Scalar, two_lanes(a), two_lanes(b), two_lanes(c));
        op!(_mm_loadu_pd(all.as_ptr()))
    }
    #[inline(always)]
    fn sub_on_mul(self, _one: __m128d, a: __m128d, b: __m128d) -> __m128d {
        op!(_mm_sub_pd(a, b))
    }
    #[inline(always)]
    fn abs(self, a: __m128d) -> __m128d {
        op!(_mm_andnot_pd(_mm_set1_pd(-0.0), a))
    }
    #[inline(always)]
    fn toward(self, a: __m128d, b: __m128d) -> __m128d {
        op!(_mm_xor_pd(a, _mm_and_pd(b, _mm_set1_pd(-0.0))))
    }
    #[inline(always)]
    fn max_abs(self, acc: __m128d, a: __m128d) -> __m128d {
        op!(_mm_max_pd(_mm_andnot_pd(_mm_set1_pd(-0.0), a), acc))
    }
    #[inline(always)]
    fn sqrt(self, a: __m128d) -> __m128d {
        op!(_mm_sqrt_pd(a))
    }
    // As of single precision, with 2⁵².
    #[inline(always)]
    fn round(self, a: __m128d) -> __m128d {
        op!({
            let (sign, room) = (_mm_set1_pd(-0.0), _mm_set1_pd(4_503_599_627_370_496.0));
            let size = _mm_andnot_pd(sign, a);
            let near = _mm_sub_pd(_mm_add_pd(size, room), room);
            let near = _mm_or_pd(near, _mm_and_pd(sign, a));
            Lanes::<f64>::blend(self, _mm_cmplt_pd(size, room), near, a)
        })
    }
    #[inline(always)]
    fn fract(self, a: __m128d) -> __m128d {
        op!({
            let near = Lanes::<f64>::round(self, a);
            let above = _mm_and_pd(_mm_cmpgt_pd(near, a), _mm_set1_pd(1.0));
            _mm_sub_pd(a, _mm_sub_pd(near, above))
        })
    }
    #[inline(always)]
    fn lt(self, a: __m128d, b: __m128d) -> __m128d {
        op!(_mm_cmplt_pd(a, b))
    }
    #[inline(always)]
    fn le(self, a: __m128d, b: __m128d) -> __m128d {
        op!(_mm_cmple_pd(a, b))
    }
    #[inline(always)]
    fn eq(self, a: __m128d, b: __m128d) -> __m128d {
        op!(_mm_cmpeq_pd(a, b))
    }
    #[inline(always)]
    fn and(self, a: __m128d, b: __m128d) -> __m128d {
        op!(_mm_and_pd(a, b))
    }
    #[inline(always)]
    fn or(self, a: __m128d, b: __m128d) -> __m128d {
        op!(_mm_or_pd(a, b))
    }
    #[inline(always)]
    fn blend(self, m: __m128d, a: __m128d, b: __m128d) -> __m128d {
        op!(_mm_or_pd(_mm_and_pd(m, a), _mm_andnot_pd(m, b)))
    }
    #[inline(always)]
    fn bits(self, m: __m128d) -> u32 {
        op!(_mm_movemask_pd(m) as u32)
    }
    #[inline(always)]
    fn mask(self, bits: u32) -> __m128d {
        op!({
            let bit = _mm_setr_epi32(1, 1, 2, 2);
            let set = _mm_and_si128(_mm_set1_epi32(bits as i32), bit);
            _mm_castsi128_pd(_mm_cmpeq_epi32(set, bit))
        })
    }
    #[inline(always)]
    unsafe fn store_i32<const SHIFT: i32>(self, v: __m128d, p: *mut i32) {
        op!({
            let whole = _mm_slli_epi32::<SHIFT>(_mm_cvttpd_epi32(v));
            _mm_storel_epi64(p.cast(), whole)
        })
    }
    #[inline(always)]
    unsafe fn store_keys(self, v: __m128d, shift: u32, base: i32, max: i32, p: *mut i32) {
        op!({
            let upper = _mm_shuffle_epi32::<0b11_01_11_01>(_mm_castpd_si128(v));
            let high = _mm_srl_epi32(upper, _mm_cvtsi32_si128(shift as i32));
            let key = clamp(_mm_sub_epi32(high, _mm_set1_epi32(base)), max);
            _mm_storel_epi64(p.cast(), key)
        })
    }
    #[inline(always)]
    unsafe fn store_compressed(self, v: __m128d, bits: u32, p: *mut f64) {
        op!(Lanes::<f64>::store_compressed(
            Scalar,
            two_lanes(v),
            bits,
            p
        ))
    }
    #[inline(always)]
    unsafe fn store_indices(self, bits: u32, base: u32, p: *mut u32) {
        op!(Lanes::<f32>::store_indices(self, bits & 3, base, p))
    }
    #[inline(always)]
    unsafe fn stream(self, v: __m128d, p: *mut f64) {
        op!(_mm_stream_pd(p, v))
    }
    #[inline(always)]
    unsafe fn add_to_f64(self, v: __m128d, p: *mut f64) {
        op!(_mm_storeu_pd(p, _mm_add_pd(_mm_loadu_pd(p), v)))
    }
    // Three products: an exponent of 2098 takes the least number to the greatest. The whole part is
    // the last. One before it is inexact only where the result is 0 or infinite in any case.
    #[inline(always)]
    fn scale2(self, a: __m128d, n: __m128d) -> __m128d {
        op!({
            let reach = _mm_set1_pd(1022.0);
            let within = |n| _mm_max_pd(_mm_set1_pd(-1022.0), _mm_min_pd(n, reach));
            let power = |n| powers(_mm_cvtpd_epi32(n));
            let last = within(n);
            let rest = _mm_sub_pd(n, last);
            let second = within(rest);
            let first = within(_mm_sub_pd(rest, second));
            _mm_mul_pd(
                _mm_mul_pd(_mm_mul_pd(a, power(first)), power(second)),
                power(last),
            )
        })
    }
    // There is no arithmetic shift of 64-bit lanes: the exponent is shifted up by 1024 and, as a
    // number, back.
    #[inline(always)]
    fn split(self, a: __m128d) -> (__m128d, __m128d) {
        op!({
            let bits = _mm_castpd_si128(a);
            let origin = (1024u64 << 52).wrapping_sub(core::f64::consts::FRAC_1_SQRT_2.to_bits());
            let e = _mm_srli_epi64::<52>(_mm_add_epi64(bits, _mm_set1_epi64x(origin as i64)));
            let magic = _mm_set1_epi64x(0x4330_0000_0000_0000);
            let exponent = _mm_sub_pd(
                _mm_castsi128_pd(_mm_or_si128(e, magic)),
                _mm_set1_pd(4_503_599_627_370_496.0 + 1024.0),
            );
            let shift = _mm_slli_epi64::<52>(_mm_sub_epi64(e, _mm_set1_epi64x(1024)));
            (_mm_castsi128_pd(_mm_sub_epi64(bits, shift)), exponent)
        })
    }
}

impl Widen for Sse2 {
    #[inline(always)]
    fn widen(self, v: __m128) -> [__m128d; 2] {
        op!([_mm_cvtps_pd(v), _mm_cvtps_pd(_mm_movehl_ps(v, v))])
    }
}

#[inline(always)]
fn lanes(v: __m128) -> [f32; 4] {
    op!({
        let mut out = [0.0; 4];
        _mm_storeu_ps(out.as_mut_ptr(), v);
        out
    })
}

#[inline(always)]
fn two_lanes(v: __m128d) -> [f64; 2] {
    op!({
        let mut out = [0.0; 2];
        _mm_storeu_pd(out.as_mut_ptr(), v);
        out
    })
}
