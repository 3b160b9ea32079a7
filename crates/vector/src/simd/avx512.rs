//! AVX-512 F, BW, DQ and VL.
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "the macro `op!` states the reason once"
)]

use super::{Element, Kernel, Lanes, Widen, tables};
use core::arch::asm;
use core::arch::x86_64::*;

/// Proof that the processor has AVX-512 F, BW, DQ and VL.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(());

/// Runs a kernel with the features enabled.
///
/// # Safety
/// The processor has AVX-512 F, BW, DQ and VL, AVX2, FMA and BMI2.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn shell<T: Element, K: Kernel<T>>(kernel: K) -> K::Output
where
    Avx512: Lanes<T>,
{
    kernel.run(Avx512(()))
}

// SAFETY (of every use): a value of `Avx512` exists, so `shell` ran, so the processor has the
// features.
macro_rules! op {
    ($e:expr) => {
        unsafe { $e }
    };
}

/// Differences from a number in memory: the compiler would load one that several read into a
/// register first.
macro_rules! sub_at {
    ($name:ident, $on_mul:ident, $t:ty, $v:ty, $sub:literal, $fused:literal) => {
        /// a − the number at `p`.
        ///
        /// # Safety
        /// `p` is valid for reading.
        #[inline]
        #[target_feature(enable = "avx512f")]
        unsafe fn $name(a: $v, p: *const $t) -> $v {
            let out: $v;
            // SAFETY: the caller's promise; nothing else is read, and nothing written.
            unsafe {
                asm!($sub, out = lateout(zmm_reg) out, a = in(zmm_reg) a, p = in(reg) p,
                    options(pure, readonly, nostack));
            }
            out
        }
        /// a · one − the number at `p`.
        ///
        /// # Safety
        /// `p` is valid for reading.
        #[inline]
        #[target_feature(enable = "avx512f")]
        unsafe fn $on_mul(one: $v, a: $v, p: *const $t) -> $v {
            let mut out = a;
            // SAFETY: the caller's promise; nothing else is read, and nothing written.
            unsafe {
                asm!($fused, out = inout(zmm_reg) out, one = in(zmm_reg) one, p = in(reg) p,
                    options(pure, readonly, nostack));
            }
            out
        }
    };
}
sub_at!(
    sub_ps_at,
    sub_ps_on_mul_at,
    f32,
    __m512,
    "vsubps {out}, {a}, dword ptr [{p}]{{1to16}}",
    "vfmsub213ps {out}, {one}, dword ptr [{p}]{{1to16}}"
);
sub_at!(
    sub_pd_at,
    sub_pd_on_mul_at,
    f64,
    __m512d,
    "vsubpd {out}, {a}, qword ptr [{p}]{{1to8}}",
    "vfmsub213pd {out}, {one}, qword ptr [{p}]{{1to8}}"
);

impl Lanes<f32> for Avx512 {
    type V = __m512;
    type M = __mmask16;
    const N: usize = 16;
    const REGISTERS: usize = 32;
    const MASKED: bool = true;

    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        op!(_mm512_set1_ps(x))
    }
    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> __m512 {
        op!(_mm512_loadu_ps(p))
    }
    #[inline(always)]
    unsafe fn store(self, v: __m512, p: *mut f32) {
        op!(_mm512_storeu_ps(p, v))
    }
    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        op!(_mm512_add_ps(a, b))
    }
    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        op!(_mm512_sub_ps(a, b))
    }
    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        op!(_mm512_mul_ps(a, b))
    }
    #[inline(always)]
    fn div(self, a: __m512, b: __m512) -> __m512 {
        op!(_mm512_div_ps(a, b))
    }
    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        op!(_mm512_min_ps(a, b))
    }
    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        op!(_mm512_max_ps(a, b))
    }
    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        op!(_mm512_fmadd_ps(a, b, c))
    }
    #[inline(always)]
    fn fma(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        op!(_mm512_fmadd_ps(a, b, c))
    }
    #[inline(always)]
    fn sub_on_mul(self, one: __m512, a: __m512, b: __m512) -> __m512 {
        op!(_mm512_fmsub_ps(a, one, b))
    }
    #[inline(always)]
    unsafe fn sub_at(self, a: __m512, p: *const f32) -> __m512 {
        op!(sub_ps_at(a, p))
    }
    #[inline(always)]
    unsafe fn sub_on_mul_at(self, one: __m512, a: __m512, p: *const f32) -> __m512 {
        op!(sub_ps_on_mul_at(one, a, p))
    }
    #[inline(always)]
    fn abs(self, a: __m512) -> __m512 {
        op!(_mm512_abs_ps(a))
    }
    #[inline(always)]
    fn toward(self, a: __m512, b: __m512) -> __m512 {
        op!(_mm512_xor_ps(a, _mm512_and_ps(b, _mm512_set1_ps(-0.0))))
    }
    #[inline(always)]
    fn max_abs(self, acc: __m512, a: __m512) -> __m512 {
        op!(_mm512_range_ps::<0x0b>(acc, a))
    }
    #[inline(always)]
    fn sqrt(self, a: __m512) -> __m512 {
        op!(_mm512_sqrt_ps(a))
    }
    #[inline(always)]
    fn round(self, a: __m512) -> __m512 {
        op!(_mm512_roundscale_ps::<0x08>(a))
    }
    #[inline(always)]
    fn fract(self, a: __m512) -> __m512 {
        op!(_mm512_reduce_ps::<0x09>(a))
    }
    #[inline(always)]
    fn lt(self, a: __m512, b: __m512) -> __mmask16 {
        op!(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b))
    }
    #[inline(always)]
    fn le(self, a: __m512, b: __m512) -> __mmask16 {
        op!(_mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b))
    }
    #[inline(always)]
    fn eq(self, a: __m512, b: __m512) -> __mmask16 {
        op!(_mm512_cmp_ps_mask::<_CMP_EQ_OQ>(a, b))
    }
    #[inline(always)]
    fn and(self, a: __mmask16, b: __mmask16) -> __mmask16 {
        a & b
    }
    #[inline(always)]
    fn or(self, a: __mmask16, b: __mmask16) -> __mmask16 {
        a | b
    }
    #[inline(always)]
    fn blend(self, m: __mmask16, a: __m512, b: __m512) -> __m512 {
        op!(_mm512_mask_blend_ps(m, b, a))
    }
    #[inline(always)]
    fn bits(self, m: __mmask16) -> u32 {
        u32::from(m)
    }
    #[inline(always)]
    fn mask(self, bits: u32) -> __mmask16 {
        bits as __mmask16
    }
    #[inline(always)]
    unsafe fn store_i32<const SHIFT: i32>(self, v: __m512, p: *mut i32) {
        op!(_mm512_storeu_si512(
            p.cast(),
            _mm512_sll_epi32(_mm512_cvttps_epi32(v), _mm_cvtsi32_si128(SHIFT))
        ))
    }
    #[inline(always)]
    unsafe fn store_keys(self, v: __m512, shift: u32, base: i32, max: i32, p: *mut i32) {
        op!({
            let key = _mm512_srl_epi32(_mm512_castps_si512(v), _mm_cvtsi32_si128(shift as i32));
            let key = _mm512_sub_epi32(key, _mm512_set1_epi32(base));
            let key = _mm512_max_epi32(
                _mm512_setzero_si512(),
                _mm512_min_epi32(key, _mm512_set1_epi32(max)),
            );
            _mm512_storeu_si512(p.cast(), key)
        })
    }
    #[inline(always)]
    unsafe fn store_compressed(self, v: __m512, bits: u32, p: *mut f32) {
        op!(_mm512_storeu_ps(
            p,
            _mm512_maskz_compress_ps(bits as __mmask16, v)
        ))
    }
    #[inline(always)]
    unsafe fn store_indices(self, bits: u32, base: u32, p: *mut u32) {
        op!({
            let lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            let index = _mm512_add_epi32(lane, _mm512_set1_epi32(base as i32));
            _mm512_storeu_si512(
                p.cast(),
                _mm512_maskz_compress_epi32(bits as __mmask16, index),
            )
        })
    }
    #[inline(always)]
    unsafe fn load_some(self, m: __mmask16, p: *const f32) -> __m512 {
        op!(_mm512_maskz_loadu_ps(m, p))
    }
    #[inline(always)]
    unsafe fn store_some(self, m: __mmask16, v: __m512, p: *mut f32) {
        op!(_mm512_mask_storeu_ps(p, m, v))
    }
    #[inline(always)]
    unsafe fn stream(self, v: __m512, p: *mut f32) {
        op!(_mm512_stream_ps(p, v))
    }
    #[inline(always)]
    fn fast_exp(self, x: __m512) -> __m512 {
        op!(tables::singles::exp(x))
    }
    #[inline(always)]
    fn fast_ln(self, x: __m512) -> __m512 {
        op!(tables::singles::ln(x))
    }
    #[inline(always)]
    unsafe fn add_to_f64(self, v: __m512, p: *mut f64) {
        let [low, high] = self.widen(v);
        op!({
            _mm512_storeu_pd(p, _mm512_add_pd(_mm512_loadu_pd(p), low));
            _mm512_storeu_pd(p.add(8), _mm512_add_pd(_mm512_loadu_pd(p.add(8)), high));
        })
    }
    #[inline(always)]
    fn scale2(self, a: __m512, n: __m512) -> __m512 {
        op!(_mm512_scalef_ps(a, n))
    }
    #[inline(always)]
    fn split(self, a: __m512) -> (__m512, __m512) {
        op!({
            let bits = _mm512_castps_si512(a);
            let over = _mm512_sub_epi32(
                bits,
                _mm512_set1_epi32(core::f32::consts::FRAC_1_SQRT_2.to_bits() as i32),
            );
            let e = _mm512_srai_epi32::<23>(over);
            (
                _mm512_castsi512_ps(_mm512_sub_epi32(bits, _mm512_slli_epi32::<23>(e))),
                _mm512_cvtepi32_ps(e),
            )
        })
    }
}

impl Lanes<f64> for Avx512 {
    type V = __m512d;
    type M = __mmask8;
    const N: usize = 8;
    const REGISTERS: usize = 32;
    const MASKED: bool = true;

    #[inline(always)]
    fn splat(self, x: f64) -> __m512d {
        op!(_mm512_set1_pd(x))
    }
    #[inline(always)]
    unsafe fn load(self, p: *const f64) -> __m512d {
        op!(_mm512_loadu_pd(p))
    }
    #[inline(always)]
    unsafe fn store(self, v: __m512d, p: *mut f64) {
        op!(_mm512_storeu_pd(p, v))
    }
    #[inline(always)]
    fn add(self, a: __m512d, b: __m512d) -> __m512d {
        op!(_mm512_add_pd(a, b))
    }
    #[inline(always)]
    fn sub(self, a: __m512d, b: __m512d) -> __m512d {
        op!(_mm512_sub_pd(a, b))
    }
    #[inline(always)]
    fn mul(self, a: __m512d, b: __m512d) -> __m512d {
        op!(_mm512_mul_pd(a, b))
    }
    #[inline(always)]
    fn div(self, a: __m512d, b: __m512d) -> __m512d {
        op!(_mm512_div_pd(a, b))
    }
    #[inline(always)]
    fn min(self, a: __m512d, b: __m512d) -> __m512d {
        op!(_mm512_min_pd(a, b))
    }
    #[inline(always)]
    fn max(self, a: __m512d, b: __m512d) -> __m512d {
        op!(_mm512_max_pd(a, b))
    }
    #[inline(always)]
    fn mul_add(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        op!(_mm512_fmadd_pd(a, b, c))
    }
    #[inline(always)]
    fn fma(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        op!(_mm512_fmadd_pd(a, b, c))
    }
    #[inline(always)]
    fn sub_on_mul(self, one: __m512d, a: __m512d, b: __m512d) -> __m512d {
        op!(_mm512_fmsub_pd(a, one, b))
    }
    #[inline(always)]
    unsafe fn sub_at(self, a: __m512d, p: *const f64) -> __m512d {
        op!(sub_pd_at(a, p))
    }
    #[inline(always)]
    unsafe fn sub_on_mul_at(self, one: __m512d, a: __m512d, p: *const f64) -> __m512d {
        op!(sub_pd_on_mul_at(one, a, p))
    }
    #[inline(always)]
    fn abs(self, a: __m512d) -> __m512d {
        op!(_mm512_abs_pd(a))
    }
    #[inline(always)]
    fn toward(self, a: __m512d, b: __m512d) -> __m512d {
        op!(_mm512_xor_pd(a, _mm512_and_pd(b, _mm512_set1_pd(-0.0))))
    }
    #[inline(always)]
    fn max_abs(self, acc: __m512d, a: __m512d) -> __m512d {
        op!(_mm512_range_pd::<0x0b>(acc, a))
    }
    #[inline(always)]
    fn sqrt(self, a: __m512d) -> __m512d {
        op!(_mm512_sqrt_pd(a))
    }
    #[inline(always)]
    fn round(self, a: __m512d) -> __m512d {
        op!(_mm512_roundscale_pd::<0x08>(a))
    }
    #[inline(always)]
    fn fract(self, a: __m512d) -> __m512d {
        op!(_mm512_reduce_pd::<0x09>(a))
    }
    #[inline(always)]
    fn lt(self, a: __m512d, b: __m512d) -> __mmask8 {
        op!(_mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b))
    }
    #[inline(always)]
    fn le(self, a: __m512d, b: __m512d) -> __mmask8 {
        op!(_mm512_cmp_pd_mask::<_CMP_LE_OQ>(a, b))
    }
    #[inline(always)]
    fn eq(self, a: __m512d, b: __m512d) -> __mmask8 {
        op!(_mm512_cmp_pd_mask::<_CMP_EQ_OQ>(a, b))
    }
    #[inline(always)]
    fn and(self, a: __mmask8, b: __mmask8) -> __mmask8 {
        a & b
    }
    #[inline(always)]
    fn or(self, a: __mmask8, b: __mmask8) -> __mmask8 {
        a | b
    }
    #[inline(always)]
    fn blend(self, m: __mmask8, a: __m512d, b: __m512d) -> __m512d {
        op!(_mm512_mask_blend_pd(m, b, a))
    }
    #[inline(always)]
    fn bits(self, m: __mmask8) -> u32 {
        u32::from(m)
    }
    #[inline(always)]
    fn mask(self, bits: u32) -> __mmask8 {
        bits as __mmask8
    }
    #[inline(always)]
    unsafe fn store_i32<const SHIFT: i32>(self, v: __m512d, p: *mut i32) {
        op!(_mm256_storeu_si256(
            p.cast(),
            _mm256_slli_epi32::<SHIFT>(_mm512_cvttpd_epi32(v))
        ))
    }
    #[inline(always)]
    unsafe fn store_compressed(self, v: __m512d, bits: u32, p: *mut f64) {
        op!(_mm512_storeu_pd(
            p,
            _mm512_maskz_compress_pd(bits as __mmask8, v)
        ))
    }
    #[inline(always)]
    unsafe fn store_indices(self, bits: u32, base: u32, p: *mut u32) {
        // SAFETY: the caller promises 16 writable values.
        unsafe { Lanes::<f32>::store_indices(self, bits & 0xff, base, p) }
    }
    #[inline(always)]
    unsafe fn load_some(self, m: __mmask8, p: *const f64) -> __m512d {
        op!(_mm512_maskz_loadu_pd(m, p))
    }
    #[inline(always)]
    unsafe fn store_some(self, m: __mmask8, v: __m512d, p: *mut f64) {
        op!(_mm512_mask_storeu_pd(p, m, v))
    }
    #[inline(always)]
    unsafe fn stream(self, v: __m512d, p: *mut f64) {
        op!(_mm512_stream_pd(p, v))
    }
    #[inline(always)]
    fn fast_exp(self, x: __m512d) -> __m512d {
        op!(tables::doubles::exp(x))
    }
    #[inline(always)]
    fn fast_ln(self, x: __m512d) -> __m512d {
        op!(tables::doubles::ln(x))
    }
    #[inline(always)]
    unsafe fn add_to_f64(self, v: __m512d, p: *mut f64) {
        op!(_mm512_storeu_pd(p, _mm512_add_pd(_mm512_loadu_pd(p), v)))
    }
    #[inline(always)]
    fn scale2(self, a: __m512d, n: __m512d) -> __m512d {
        op!(_mm512_scalef_pd(a, n))
    }
    #[inline(always)]
    fn split(self, a: __m512d) -> (__m512d, __m512d) {
        op!({
            let bits = _mm512_castpd_si512(a);
            let over = _mm512_sub_epi64(
                bits,
                _mm512_set1_epi64(core::f64::consts::FRAC_1_SQRT_2.to_bits() as i64),
            );
            let e = _mm512_srai_epi64::<52>(over);
            (
                _mm512_castsi512_pd(_mm512_sub_epi64(bits, _mm512_slli_epi64::<52>(e))),
                _mm512_cvtepi64_pd(e),
            )
        })
    }
}

impl Widen for Avx512 {
    #[inline(always)]
    fn widen(self, v: __m512) -> [__m512d; 2] {
        op!([
            _mm512_cvtps_pd(_mm512_castps512_ps256(v)),
            _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(v))
        ])
    }
}
