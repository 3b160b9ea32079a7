//! Vectors of 512 bits of both types under the same names, with exponentials and logarithms by
//! tables in registers, which take half the time of those of [`super::math`] and have twice their
//! error.
//!
//! Both functions take a table of sixteen steps and a short polynomial. Exponentials are good to
//! two units in the last place, logarithms to two units of the larger of the result and 1/16.

#![allow(
    clippy::missing_safety_doc,
    reason = "the only promise is that the processor has AVX-512 F"
)]

use std::arch::x86_64::*;

/// 2^(i/16).
#[allow(clippy::approx_constant)]
const POWERS: [f64; 16] = [
    1.0,
    1.0442737824274138,
    1.0905077326652577,
    1.1387886347566916,
    1.189207115002721,
    1.241857812073484,
    1.2968395546510096,
    1.3542555469368927,
    1.4142135623730951,
    1.4768261459394993,
    1.5422108254079407,
    1.6104903319492543,
    1.681792830507429,
    1.7562521603732995,
    1.8340080864093424,
    1.9152065613971474,
];
/// What a mantissa in [1, 2) is multiplied with to come near 1, by its first four bits.
#[allow(clippy::approx_constant)]
const INVERSES: [f64; 16] = [
    1.0, 0.90625, 0.875, 0.8125, 0.78125, 0.75, 0.71875, 0.6875, 0.65625, 0.625, 0.59375, 0.59375,
    0.5625, 0.53125, 0.53125, 0.5,
];
/// The power of two that goes to the exponent with it.
#[allow(clippy::approx_constant)]
const STEPS: [f64; 16] = [
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0,
];
/// Minus the logarithm of the inverse, less that power of two.
#[allow(clippy::approx_constant)]
const LOGARITHMS: [f64; 16] = [
    0.0,
    0.09844007281325252,
    0.13353139262452263,
    0.2076393647782445,
    0.24686007793152578,
    0.2876820724517809,
    0.33024168687057687,
    -0.3184537311185346,
    -0.27193371548364176,
    -0.22314355131420976,
    -0.17185025692665923,
    -0.17185025692665923,
    -0.11778303565638346,
    -0.06062462181643484,
    -0.06062462181643484,
    0.0,
];

const fn doubles(of: [f64; 16]) -> [f64; 16] {
    of
}
const fn singles(of: [f64; 16]) -> [f32; 16] {
    let mut out = [0.0; 16];
    let mut i = 0;
    while i < 16 {
        out[i] = of[i] as f32;
        i += 1;
    }
    out
}

/// The entries of a table that the last four bits of every lane name.
#[target_feature(enable = "avx512f")]
#[inline]
fn look_f32(table: &[f32; 16], at: __m512i) -> __m512 {
    // SAFETY: the table holds sixteen entries.
    _mm512_permutexvar_ps(at, unsafe { _mm512_loadu_ps(table.as_ptr()) })
}
#[target_feature(enable = "avx512f")]
#[inline]
fn look_f64(table: &[f64; 16], at: __m512i) -> __m512d {
    // SAFETY: the table holds sixteen entries.
    let (low, high) = unsafe {
        (
            _mm512_loadu_pd(table.as_ptr()),
            _mm512_loadu_pd(table.as_ptr().add(8)),
        )
    };
    _mm512_permutex2var_pd(low, at, high)
}

macro_rules! wide {
    ($module:ident, $t:ty, $v:ty, $m:ty, $lanes:expr, $table:ident, $look:ident, $magic:expr, $ln2:expr, $least:expr, $exp:expr, $ln:expr,
     $load:ident, $some:ident, $store:ident, $store_some:ident, $stream:ident, $set:ident, $fma:ident, $fnma:ident, $mul:ident,
     $add:ident, $sub:ident, $max:ident, $scale:ident, $exponent:ident, $mantissa:ident, $bits:ident, $right:ident, $field:expr, $permute:ident, $index:ident, $over:ident,
     $least_of:ident, $most_of:ident, $above:ident, $min_some:ident) => {
        /// Vectors of this type.
        pub mod $module {
            use std::arch::x86_64::*;
            pub use std::arch::x86_64::{
                $add as add, $fma as fma, $least_of as least, $load as load, $max as max,
                $most_of as most, $over as load_over, $permute as permute, $set as splat,
                $some as load_some, $store as store, $store_some as store_some, $stream as stream,
                $sub as sub,
            };
            /// A vector.
            pub type Vector = $v;
            /// A bit for each lane.
            pub type Mask = $m;
            /// Lanes of a vector.
            pub const LANES: usize = $lanes;
            const POWERS: [$t; 16] = super::$table(super::POWERS);
            const INVERSES: [$t; 16] = super::$table(super::INVERSES);
            const STEPS: [$t; 16] = super::$table(super::STEPS);
            const LOGARITHMS: [$t; 16] = super::$table(super::LOGARITHMS);
            /// ln 2, its first bits and its last.
            const LN2: [$t; 2] = $ln2;
            /// Coefficients, the highest power first.
            const EXP: &[$t] = &$exp;
            const LN: &[$t] = &$ln;
            /// Added, it leaves a whole number in the last bits.
            const MAGIC: $t = $magic;
            /// Logarithms whose exponential is zero.
            const LEAST: $t = $least;

            /// The first `many` lanes.
            pub fn mask(many: usize) -> Mask {
                if many >= LANES {
                    Mask::MAX
                } else {
                    ((1u32 << many) - 1) as Mask
                }
            }
            /// Places of entries as a permutation takes them.
            #[target_feature(enable = "avx512f")]
            #[inline]
            pub fn indices(lanes: &[u8; 16]) -> __m512i {
                let mut wide = [0; LANES];
                wide.iter_mut()
                    .zip(lanes)
                    .for_each(|(w, l)| *w = $index::from(*l));
                // SAFETY: as many integers as a vector has lanes.
                unsafe { _mm512_loadu_si512(wide.as_ptr().cast()) }
            }
            /// The lower of both, where `x` is above `floor`.
            #[target_feature(enable = "avx512f")]
            #[inline]
            pub fn lower(low: $v, x: $v, floor: $v) -> $v {
                $min_some(low, $above::<_CMP_GT_OQ>(x, floor), low, x)
            }
            /// e^x of every lane, 0 for what the type cannot hold, for x below the logarithm of the
            /// largest number.
            #[target_feature(enable = "avx512f")]
            #[inline]
            pub fn exp(x: $v) -> $v {
                // The second operand stays where one is not a number.
                let x = $max($set(LEAST), x);
                let shifted = $fma(
                    x,
                    $set(16.0 * (std::f64::consts::LOG2_E as $t)),
                    $set(MAGIC),
                );
                let n = $sub(shifted, $set(MAGIC));
                let r = $fnma(n, $set(LN2[0] / 16.0), x);
                let r = $fnma(n, $set(LN2[1] / 16.0), r);
                let mut p = $set(EXP[0]);
                for c in &EXP[1..] {
                    p = $fma(p, r, $set(*c));
                }
                let power = super::$look(&POWERS, $bits(shifted));
                $scale($fma($mul(p, r), power, power), $mul(n, $set(1.0 / 16.0)))
            }
            /// ln x of every lane, -∞ for zero.
            #[target_feature(enable = "avx512f")]
            #[inline]
            pub fn ln(x: $v) -> $v {
                let m = $mantissa::<_MM_MANT_NORM_1_2, _MM_MANT_SIGN_ZERO>(x);
                let at = $right::<$field>($bits(m));
                let r = $fma(m, super::$look(&INVERSES, at), $set(-1.0));
                let n = $add($exponent(x), super::$look(&STEPS, at));
                let mut p = $set(LN[0]);
                for c in &LN[1..] {
                    p = $fma(p, r, $set(*c));
                }
                let tail = $fma($mul(r, r), p, $mul(n, $set(LN2[1])));
                $fma(
                    n,
                    $set(LN2[0]),
                    $add($add(super::$look(&LOGARITHMS, at), r), tail),
                )
            }
        }
    };
}

wide!(
    singles,
    f32,
    __m512,
    u16,
    16,
    singles,
    look_f32,
    12_582_912.0,
    [0.692_871_1, 2.760_868e-4],
    -110.0,
    [1.0 / 6.0, 0.5, 1.0],
    [-1.0 / 6.0, 1.0 / 5.0, -1.0 / 4.0, 1.0 / 3.0, -0.5],
    _mm512_loadu_ps,
    _mm512_maskz_loadu_ps,
    _mm512_storeu_ps,
    _mm512_mask_storeu_ps,
    _mm512_stream_ps,
    _mm512_set1_ps,
    _mm512_fmadd_ps,
    _mm512_fnmadd_ps,
    _mm512_mul_ps,
    _mm512_add_ps,
    _mm512_sub_ps,
    _mm512_max_ps,
    _mm512_scalef_ps,
    _mm512_getexp_ps,
    _mm512_getmant_ps,
    _mm512_castps_si512,
    _mm512_srli_epi32,
    19,
    _mm512_mask_permutexvar_ps,
    u32,
    _mm512_mask_loadu_ps,
    _mm512_reduce_min_ps,
    _mm512_reduce_max_ps,
    _mm512_cmp_ps_mask,
    _mm512_mask_min_ps
);
wide!(
    doubles,
    f64,
    __m512d,
    u8,
    8,
    doubles,
    look_f64,
    6_755_399_441_055_744.0,
    [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10],
    -750.0,
    [
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0
    ],
    [
        1.0 / 13.0,
        -1.0 / 12.0,
        1.0 / 11.0,
        -0.1,
        1.0 / 9.0,
        -1.0 / 8.0,
        1.0 / 7.0,
        -1.0 / 6.0,
        1.0 / 5.0,
        -1.0 / 4.0,
        1.0 / 3.0,
        -0.5
    ],
    _mm512_loadu_pd,
    _mm512_maskz_loadu_pd,
    _mm512_storeu_pd,
    _mm512_mask_storeu_pd,
    _mm512_stream_pd,
    _mm512_set1_pd,
    _mm512_fmadd_pd,
    _mm512_fnmadd_pd,
    _mm512_mul_pd,
    _mm512_add_pd,
    _mm512_sub_pd,
    _mm512_max_pd,
    _mm512_scalef_pd,
    _mm512_getexp_pd,
    _mm512_getmant_pd,
    _mm512_castpd_si512,
    _mm512_srli_epi64,
    48,
    _mm512_mask_permutexvar_pd,
    u64,
    _mm512_mask_loadu_pd,
    _mm512_reduce_min_pd,
    _mm512_reduce_max_pd,
    _mm512_cmp_pd_mask,
    _mm512_mask_min_pd
);
