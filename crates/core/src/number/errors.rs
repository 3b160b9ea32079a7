//! The error function and its complement, after FreeBSD's msun `s_erf.c` (Ng 1993).
//!
//! msun has a rational approximation for each of four ranges of |x| and branches between them. Here
//! all numbers evaluate one quotient of polynomials, and each picks the coefficients of its range:
//! a loop over numbers of all ranges then vectorises. Short polynomials are padded with zeros,
//! which changes no bit.
//!
//! ```text
//! |x| in [0, 0.84375)     erf x = x + x·R(x²)
//!        [0.84375, 1.25)  erf |x| = c + R(|x| − 1), c = erf 1 rounded to single precision
//!        [1.25, 28)       erfc |x| = e^(−x² − 0.5625 + R(1/x²)) / |x|, in two ranges split at 1/0.35
//! ```

use super::{exp, exp_tail};

/// erf 1 in single precision, to which the second range adds.
const ERX: f64 = 8.450_629_115_104_675e-1;

/// Numerators by power, lowest first, and range: up to 0.84375 in x², to 1.25 in |x| − 1, to 1 /
/// 0.35 and from there in 1 / x².
///
/// Four numbers side by side, so that a choice of a range reads one row of the table for all four.
const ABOVE: [[f64; 4]; 8] = [
    [
        1.283_791_670_955_125_6e-1,
        -2.362_118_560_752_659_4e-3,
        -9.864_944_034_847_148e-3,
        -9.864_942_924_700_1e-3,
    ],
    [
        -3.250_421_072_470_015e-1,
        4.148_561_186_837_483_3e-1,
        -6.938_585_727_071_818e-1,
        -7.992_832_376_805_23e-1,
    ],
    [
        -2.848_174_957_559_851e-2,
        -3.722_078_760_357_013e-1,
        -1.055_862_622_532_329_1e1,
        -1.775_795_491_775_475_2e1,
    ],
    [
        -5.770_270_296_489_442e-3,
        3.183_466_199_011_617_5e-1,
        -6.237_533_245_032_600_6e1,
        -1.606_363_848_558_219_2e2,
    ],
    [
        -2.376_301_665_665_016_3e-5,
        -1.108_946_942_823_966_8e-1,
        -1.623_966_694_625_734_7e2,
        -6.375_664_433_683_896e2,
    ],
    [
        0.0,
        3.547_830_432_561_823_6e-2,
        -1.846_050_929_067_110_4e2,
        -1.025_095_131_611_077_2e3,
    ],
    [
        0.0,
        -2.166_375_594_868_791e-3,
        -8.128_743_550_630_66e1,
        -4.835_191_916_086_514e2,
    ],
    [0.0, 0.0, -9.814_329_344_169_145, 0.0],
];
/// Denominators by power and range, less their leading 1, from the first power on.
const BELOW: [[f64; 4]; 8] = [
    [
        3.979_172_239_591_553_5e-1,
        1.064_208_804_008_442_3e-1,
        1.965_127_166_743_925_7e1,
        3.033_806_074_348_246e1,
    ],
    [
        6.502_224_998_876_73e-2,
        5.403_979_177_021_71e-1,
        1.376_577_541_435_190_4e2,
        3.257_925_129_965_739e2,
    ],
    [
        5.081_306_281_875_766e-3,
        7.182_865_441_419_627e-2,
        4.345_658_774_752_292_3e2,
        1.536_729_586_084_437e3,
    ],
    [
        1.324_947_380_043_216_4e-4,
        1.261_712_198_087_616_4e-1,
        6.453_872_717_332_679e2,
        3.199_858_219_508_595_5e3,
    ],
    [
        -3.960_228_278_775_368e-6,
        1.363_708_391_202_905e-2,
        4.290_081_400_275_678_3e2,
        2.553_050_406_433_164_4e3,
    ],
    [
        0.0,
        1.198_449_984_679_910_7e-2,
        1.086_350_055_417_794_4e2,
        4.745_285_412_069_553_7e2,
    ],
    [0.0, 0.0, 6.570_249_770_319_282, -2.244_095_244_658_582e1],
    [0.0, 0.0, -6.042_441_521_485_81e-2, 0.0],
];

/// What erf and erfc are both made of.
///
/// Both functions need both numbers, so loops over either vectorise alike.
struct Parts {
    /// The quotient of the polynomials.
    quotient: f64,
    /// erfc |x| beyond the second range.
    tail: f64,
}

/// Evaluates the quotient and the tail for a = |x|.
///
/// In the tail e^(−x²) would lose digits, since the error of x² is multiplied by x². z is x without
/// its last 32 bits, so z² is exact, and −x² = −z² + (z − x)(z + x) puts the rest into a second
/// exponential.
#[inline(always)]
fn parts(a: f64) -> Parts {
    // Beyond, erfc is zero. NaN passes.
    let a = if a > 28.0 { 28.0 } else { a };
    let (second, third, fourth) = (a >= 0.84375, a >= 1.25, a >= LAST);
    // Two levels of blends pick one of four coefficients.
    let choose = |c: [f64; 4]| {
        let low = if second { c[1] } else { c[0] };
        let high = if fourth { c[3] } else { c[2] };
        if third { high } else { low }
    };
    let inverse = 1.0 / (a * a);
    // The variable of the polynomials in each range.
    let v = choose([a * a, a - 1.0, inverse, inverse]);
    let (mut p, mut q) = (choose(ABOVE[7]), choose(BELOW[7]));
    // Written out: of a loop the compiler makes one that reads a table, which no vectors do.
    macro_rules! steps {
        ($($k:literal)*) => {$(
            p = choose(ABOVE[$k]) + v * p;
            q = choose(BELOW[$k]) + v * q;
        )*};
    }
    steps!(6 5 4 3 2 1 0);
    // One division for each number, of whichever range.
    let quotient = p / (1.0 + v * q);
    // The square of what is left of a without its last bits is exact.
    let z = f64::from_bits(a.to_bits() & 0xffff_ffff_0000_0000);
    let rest = 1.0 + exp_tail((z - a) * (z + a) + quotient);
    Parts {
        quotient,
        // −0.5625 is split off in msun's fit; it keeps R(1/x²) small.
        tail: exp(-z * z - 0.5625) * rest / a,
    }
}

/// The border of the last two ranges, about 1 / 0.35, as msun compares it. msun looks at the high
/// word only, so the border has a low word of zeros.
const LAST: f64 = f64::from_bits(0x4006_db6d_0000_0000);

/// Computes erf x within 2 ulp.
#[inline(always)]
pub fn erf(x: f64) -> f64 {
    let a = x.abs();
    let Parts { quotient, tail } = parts(a);
    // From the last range to the first: each line overrides the one before for smaller |x|.
    let y = if a < 1.25 { ERX + quotient } else { 1.0 - tail };
    let y = if a < 0.84375 { a + a * quotient } else { y };
    // Odd to the bit.
    y.copysign(x)
}

/// Computes erfc x within 2 ulp, 3 in its tail. Around ½ it is written as ½ − (…), since 1 − erf x
/// would cancel.
#[inline(always)]
pub fn erfc(x: f64) -> f64 {
    let a = x.abs();
    let Parts { quotient, tail } = parts(a);
    // The clamp of `parts` stopped the tail there; below 2⁻¹⁰⁷⁴ it is 0.
    let tail = if a >= 28.0 { 0.0 } else { tail };
    let tail = if a < 1.25 { 1.0 - ERX - quotient } else { tail };
    // erfc(−a) = 2 − erfc a loses nothing: the tail is at most 1.
    let y = if x < 0.0 { 2.0 - tail } else { tail };
    let near = if x < 0.25 {
        1.0 - (x + x * quotient)
    } else {
        0.5 - (x - 0.5 + x * quotient)
    };
    if a < 0.84375 { near } else { y }
}
