//! AVX2, FMA and BMI2.
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "the macro `op!` states the reason once"
)]

use super::{Element, Kernel, Lanes, Widen};
use core::arch::x86_64::*;

/// Proof that the processor has AVX2, FMA and BMI2.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(());

/// Runs a kernel with the features enabled.
///
/// # Safety
/// The processor has AVX2, FMA and BMI2.
#[target_feature(enable = "avx2,fma,bmi1,bmi2,popcnt,lzcnt")]
pub(super) unsafe fn shell<T: Element, K: Kernel<T>>(kernel: K) -> K::Output
where
    Avx2: Lanes<T>,
{
    kernel.run(Avx2(()))
}

// SAFETY (of every use): a value of `Avx2` exists, so `shell` ran, so the processor has the
// features.
macro_rules! op {
    ($e:expr) => {
        unsafe { $e }
    };
}

/// For `permutevar8x32`: the indices of the set bits of `bits` < 256, in order, and zeros behind.
///
/// # Safety
/// The processor has AVX2 and BMI2.
#[inline(always)]
unsafe fn front(bits: u32) -> __m256i {
    op!({
        let bytes = _pdep_u64(u64::from(bits), 0x0101_0101_0101_0101).wrapping_mul(0xff);
        let order = _pext_u64(0x0706_0504_0302_0100, bytes);
        _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(order as i64))
    })
}

impl Lanes<f32> for Avx2 {
    type V = __m256;
    type M = __m256;
    const N: usize = 8;
    const REGISTERS: usize = 16;
    const MASKED: bool = true;

    #[inline(always)]
    fn splat(self, x: f32) -> __m256 {
        op!(_mm256_set1_ps(x))
    }
    #[inline(always)]
    unsafe fn load(self, p: *const f32) -> __m256 {
        op!(_mm256_loadu_ps(p))
    }
    #[inline(always)]
    unsafe fn store(self, v: __m256, p: *mut f32) {
        op!(_mm256_storeu_ps(p, v))
    }
    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        op!(_mm256_add_ps(a, b))
    }
    #[inline(always)]
    fn sub(self, a: __m256, b: __m256) -> __m256 {
        op!(_mm256_sub_ps(a, b))
    }
    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        op!(_mm256_mul_ps(a, b))
    }
    #[inline(always)]
    fn div(self, a: __m256, b: __m256) -> __m256 {
        op!(_mm256_div_ps(a, b))
    }
    #[inline(always)]
    fn min(self, a: __m256, b: __m256) -> __m256 {
        op!(_mm256_min_ps(a, b))
    }
    #[inline(always)]
    fn max(self, a: __m256, b: __m256) -> __m256 {
        op!(_mm256_max_ps(a, b))
    }
    #[inline(always)]
    fn mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        op!(_mm256_fmadd_ps(a, b, c))
    }
    #[inline(always)]
    fn fma(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        op!(_mm256_fmadd_ps(a, b, c))
    }
    #[inline(always)]
    fn sub_on_mul(self, one: __m256, a: __m256, b: __m256) -> __m256 {
        op!(_mm256_fmsub_ps(a, one, b))
    }
    #[inline(always)]
    fn abs(self, a: __m256) -> __m256 {
        op!(_mm256_andnot_ps(_mm256_set1_ps(-0.0), a))
    }
    #[inline(always)]
    fn toward(self, a: __m256, b: __m256) -> __m256 {
        op!(_mm256_xor_ps(a, _mm256_and_ps(b, _mm256_set1_ps(-0.0))))
    }
    #[inline(always)]
    fn max_abs(self, acc: __m256, a: __m256) -> __m256 {
        op!(_mm256_max_ps(
            _mm256_andnot_ps(_mm256_set1_ps(-0.0), a),
            acc
        ))
    }
    #[inline(always)]
    fn sqrt(self, a: __m256) -> __m256 {
        op!(_mm256_sqrt_ps(a))
    }
    #[inline(always)]
    fn round(self, a: __m256) -> __m256 {
        op!(_mm256_round_ps::<0x08>(a))
    }
    #[inline(always)]
    fn fract(self, a: __m256) -> __m256 {
        op!(_mm256_sub_ps(a, _mm256_floor_ps(a)))
    }
    #[inline(always)]
    fn lt(self, a: __m256, b: __m256) -> __m256 {
        op!(_mm256_cmp_ps::<_CMP_LT_OQ>(a, b))
    }
    #[inline(always)]
    fn le(self, a: __m256, b: __m256) -> __m256 {
        op!(_mm256_cmp_ps::<_CMP_LE_OQ>(a, b))
    }
    #[inline(always)]
    fn eq(self, a: __m256, b: __m256) -> __m256 {
        op!(_mm256_cmp_ps::<_CMP_EQ_OQ>(a, b))
    }
    #[inline(always)]
    fn and(self, a: __m256, b: __m256) -> __m256 {
        op!(_mm256_and_ps(a, b))
    }
    #[inline(always)]
    fn or(self, a: __m256, b: __m256) -> __m256 {
        op!(_mm256_or_ps(a, b))
    }
    #[inline(always)]
    fn blend(self, m: __m256, a: __m256, b: __m256) -> __m256 {
        op!(_mm256_blendv_ps(b, a, m))
    }
    #[inline(always)]
    fn bits(self, m: __m256) -> u32 {
        op!(_mm256_movemask_ps(m) as u32)
    }
    #[inline(always)]
    fn mask(self, bits: u32) -> __m256 {
        op!({
            let bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
            let set = _mm256_and_si256(_mm256_set1_epi32(bits as i32), bit);
            _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, bit))
        })
    }
    #[inline(always)]
    unsafe fn store_i32<const SHIFT: i32>(self, v: __m256, p: *mut i32) {
        op!(_mm256_storeu_si256(
            p.cast(),
            _mm256_slli_epi32::<SHIFT>(_mm256_cvttps_epi32(v))
        ))
    }
    #[inline(always)]
    unsafe fn store_compressed(self, v: __m256, bits: u32, p: *mut f32) {
        op!(_mm256_storeu_ps(
            p,
            _mm256_permutevar8x32_ps(v, front(bits))
        ))
    }
    #[inline(always)]
    unsafe fn store_indices(self, bits: u32, base: u32, p: *mut u32) {
        op!({
            let index = _mm256_add_epi32(front(bits & 0xff), _mm256_set1_epi32(base as i32));
            _mm256_storeu_si256(p.cast(), index)
        })
    }
    #[inline(always)]
    unsafe fn load_some(self, m: __m256, p: *const f32) -> __m256 {
        op!(_mm256_maskload_ps(p, _mm256_castps_si256(m)))
    }
    #[inline(always)]
    unsafe fn store_some(self, m: __m256, v: __m256, p: *mut f32) {
        op!(_mm256_maskstore_ps(p, _mm256_castps_si256(m), v))
    }
    #[inline(always)]
    unsafe fn stream(self, v: __m256, p: *mut f32) {
        op!(_mm256_stream_ps(p, v))
    }
    #[inline(always)]
    unsafe fn add_to_f64(self, v: __m256, p: *mut f64) {
        let [low, high] = self.widen(v);
        op!({
            _mm256_storeu_pd(p, _mm256_add_pd(_mm256_loadu_pd(p), low));
            _mm256_storeu_pd(p.add(4), _mm256_add_pd(_mm256_loadu_pd(p.add(4)), high));
        })
    }
    #[inline(always)]
    fn scale2(self, a: __m256, n: __m256) -> __m256 {
        op!({
            let n = _mm256_cvtps_epi32(_mm256_max_ps(
                _mm256_set1_ps(-250.0),
                _mm256_min_ps(n, _mm256_set1_ps(250.0)),
            ));
            let half = _mm256_srai_epi32::<1>(n);
            let power = |e| {
                _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(
                    e,
                    _mm256_set1_epi32(127),
                )))
            };
            _mm256_mul_ps(
                _mm256_mul_ps(a, power(half)),
                power(_mm256_sub_epi32(n, half)),
            )
        })
    }
    #[inline(always)]
    fn split(self, a: __m256) -> (__m256, __m256) {
        op!({
            let bits = _mm256_castps_si256(a);
            let over = _mm256_sub_epi32(
                bits,
                _mm256_set1_epi32(core::f32::consts::FRAC_1_SQRT_2.to_bits() as i32),
            );
            let e = _mm256_srai_epi32::<23>(over);
            (
                _mm256_castsi256_ps(_mm256_sub_epi32(bits, _mm256_slli_epi32::<23>(e))),
                _mm256_cvtepi32_ps(e),
            )
        })
    }
}

impl Lanes<f64> for Avx2 {
    type V = __m256d;
    type M = __m256d;
    const N: usize = 4;
    const REGISTERS: usize = 16;
    const MASKED: bool = true;

    #[inline(always)]
    fn splat(self, x: f64) -> __m256d {
        op!(_mm256_set1_pd(x))
    }
    #[inline(always)]
    unsafe fn load(self, p: *const f64) -> __m256d {
        op!(_mm256_loadu_pd(p))
    }
    #[inline(always)]
    unsafe fn store(self, v: __m256d, p: *mut f64) {
        op!(_mm256_storeu_pd(p, v))
    }
    #[inline(always)]
    fn add(self, a: __m256d, b: __m256d) -> __m256d {
        op!(_mm256_add_pd(a, b))
    }
    #[inline(always)]
    fn sub(self, a: __m256d, b: __m256d) -> __m256d {
        op!(_mm256_sub_pd(a, b))
    }
    #[inline(always)]
    fn mul(self, a: __m256d, b: __m256d) -> __m256d {
        op!(_mm256_mul_pd(a, b))
    }
    #[inline(always)]
    fn div(self, a: __m256d, b: __m256d) -> __m256d {
        op!(_mm256_div_pd(a, b))
    }
    #[inline(always)]
    fn min(self, a: __m256d, b: __m256d) -> __m256d {
        op!(_mm256_min_pd(a, b))
    }
    #[inline(always)]
    fn max(self, a: __m256d, b: __m256d) -> __m256d {
        op!(_mm256_max_pd(a, b))
    }
    #[inline(always)]
    fn mul_add(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        op!(_mm256_fmadd_pd(a, b, c))
    }
    #[inline(always)]
    fn fma(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        op!(_mm256_fmadd_pd(a, b, c))
    }
    #[inline(always)]
    fn sub_on_mul(self, one: __m256d, a: __m256d, b: __m256d) -> __m256d {
        op!(_mm256_fmsub_pd(a, one, b))
    }
    #[inline(always)]
    fn abs(self, a: __m256d) -> __m256d {
        op!(_mm256_andnot_pd(_mm256_set1_pd(-0.0), a))
    }
    #[inline(always)]
    fn toward(self, a: __m256d, b: __m256d) -> __m256d {
        op!(_mm256_xor_pd(a, _mm256_and_pd(b, _mm256_set1_pd(-0.0))))
    }
    #[inline(always)]
    fn max_abs(self, acc: __m256d, a: __m256d) -> __m256d {
        op!(_mm256_max_pd(
            _mm256_andnot_pd(_mm256_set1_pd(-0.0), a),
            acc
        ))
    }
    #[inline(always)]
    fn sqrt(self, a: __m256d) -> __m256d {
        op!(_mm256_sqrt_pd(a))
    }
    #[inline(always)]
    fn round(self, a: __m256d) -> __m256d {
        op!(_mm256_round_pd::<0x08>(a))
    }
    #[inline(always)]
    fn fract(self, a: __m256d) -> __m256d {
        op!(_mm256_sub_pd(a, _mm256_floor_pd(a)))
    }
    #[inline(always)]
    fn lt(self, a: __m256d, b: __m256d) -> __m256d {
        op!(_mm256_cmp_pd::<_CMP_LT_OQ>(a, b))
    }
    #[inline(always)]
    fn le(self, a: __m256d, b: __m256d) -> __m256d {
        op!(_mm256_cmp_pd::<_CMP_LE_OQ>(a, b))
    }
    #[inline(always)]
    fn eq(self, a: __m256d, b: __m256d) -> __m256d {
        op!(_mm256_cmp_pd::<_CMP_EQ_OQ>(a, b))
    }
    #[inline(always)]
    fn and(self, a: __m256d, b: __m256d) -> __m256d {
        op!(_mm256_and_pd(a, b))
    }
    #[inline(always)]
    fn or(self, a: __m256d, b: __m256d) -> __m256d {
        op!(_mm256_or_pd(a, b))
    }
    #[inline(always)]
    fn blend(self, m: __m256d, a: __m256d, b: __m256d) -> __m256d {
        op!(_mm256_blendv_pd(b, a, m))
    }
    #[inline(always)]
    fn bits(self, m: __m256d) -> u32 {
        op!(_mm256_movemask_pd(m) as u32)
    }
    #[inline(always)]
    fn mask(self, bits: u32) -> __m256d {
        op!({
            let bit = _mm256_setr_epi64x(1, 2, 4, 8);
            let set = _mm256_and_si256(_mm256_set1_epi64x(i64::from(bits)), bit);
            _mm256_castsi256_pd(_mm256_cmpeq_epi64(set, bit))
        })
    }
    #[inline(always)]
    unsafe fn store_i32<const SHIFT: i32>(self, v: __m256d, p: *mut i32) {
        op!(_mm_storeu_si128(
            p.cast(),
            _mm_slli_epi32::<SHIFT>(_mm256_cvttpd_epi32(v))
        ))
    }
    #[inline(always)]
    unsafe fn store_compressed(self, v: __m256d, bits: u32, p: *mut f64) {
        op!({
            let halves = front(_pdep_u32(bits & 0xf, 0x55) * 3);
            _mm256_storeu_ps(
                p.cast(),
                _mm256_permutevar8x32_ps(_mm256_castpd_ps(v), halves),
            )
        })
    }
    #[inline(always)]
    unsafe fn store_indices(self, bits: u32, base: u32, p: *mut u32) {
        // SAFETY: the caller promises 16 writable values.
        unsafe { Lanes::<f32>::store_indices(self, bits & 0xf, base, p) }
    }
    #[inline(always)]
    unsafe fn load_some(self, m: __m256d, p: *const f64) -> __m256d {
        op!(_mm256_maskload_pd(p, _mm256_castpd_si256(m)))
    }
    #[inline(always)]
    unsafe fn store_some(self, m: __m256d, v: __m256d, p: *mut f64) {
        op!(_mm256_maskstore_pd(p, _mm256_castpd_si256(m), v))
    }
    #[inline(always)]
    unsafe fn stream(self, v: __m256d, p: *mut f64) {
        op!(_mm256_stream_pd(p, v))
    }
    #[inline(always)]
    unsafe fn add_to_f64(self, v: __m256d, p: *mut f64) {
        op!(_mm256_storeu_pd(p, _mm256_add_pd(_mm256_loadu_pd(p), v)))
    }
    #[inline(always)]
    fn scale2(self, a: __m256d, n: __m256d) -> __m256d {
        op!({
            let limit = _mm256_set1_pd(2040.0);
            let n = _mm256_max_pd(
                _mm256_sub_pd(_mm256_setzero_pd(), limit),
                _mm256_min_pd(n, limit),
            );
            let n = _mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(n));
            let half = _mm256_cvtepi32_epi64(_mm_srai_epi32::<1>(_mm256_castsi256_si128(
                _mm256_permutevar8x32_epi32(n, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6)),
            )));
            let power = |e| {
                _mm256_castsi256_pd(_mm256_slli_epi64::<52>(_mm256_add_epi64(
                    e,
                    _mm256_set1_epi64x(1023),
                )))
            };
            _mm256_mul_pd(
                _mm256_mul_pd(a, power(half)),
                power(_mm256_sub_epi64(n, half)),
            )
        })
    }
    #[inline(always)]
    fn split(self, a: __m256d) -> (__m256d, __m256d) {
        op!({
            // There is no arithmetic shift of 64-bit lanes: the exponent is shifted up by 1024 and,
            // as a number, back.
            let bits = _mm256_castpd_si256(a);
            let origin = (1024u64 << 52).wrapping_sub(core::f64::consts::FRAC_1_SQRT_2.to_bits());
            let e =
                _mm256_srli_epi64::<52>(_mm256_add_epi64(bits, _mm256_set1_epi64x(origin as i64)));
            let magic = _mm256_set1_epi64x(0x4330_0000_0000_0000);
            let exponent = _mm256_sub_pd(
                _mm256_castsi256_pd(_mm256_or_si256(e, magic)),
                _mm256_set1_pd(4503599627370496.0 + 1024.0),
            );
            let shift = _mm256_slli_epi64::<52>(_mm256_sub_epi64(e, _mm256_set1_epi64x(1024)));
            (_mm256_castsi256_pd(_mm256_sub_epi64(bits, shift)), exponent)
        })
    }
}

impl Widen for Avx2 {
    #[inline(always)]
    fn widen(self, v: __m256) -> [__m256d; 2] {
        op!([
            _mm256_cvtps_pd(_mm256_castps256_ps128(v)),
            _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(v))
        ])
    }
}
