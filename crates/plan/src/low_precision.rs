//! The numbers that matrix units of devices multiply.
//!
//! Matrix units multiply 16-bit numbers and add in single precision. That is exact only if every
//! number of the rows is one of 16 bits (small integers, bits, data stored as f16), so it is chosen
//! by itself in that case only; otherwise the user must ask for it by `dense.input`. Units for double
//! precision round each product with its sum, so they have other last bits than the host and are
//! for those who ask, too.
//!
//! ```text
//! f16, bf16    each number is off by 2⁻¹¹, 2⁻⁸ of itself at most; products are exact
//! tf32         each number is off by 2⁻¹¹ of itself at most; products are exact
//! tf32x3       a product x·y is off by 2⁻²⁰·|x·y| at most
//! f64          as an ordinary sum in double precision
//! ```
//!
//! All but f64 add in single precision, and round sums towards zero.

use crate::overrides::{DenseInput, Overrides};
use half::{bf16, f16};
use zipfold_core::fold::Fold;
use zipfold_core::pair::tree::{Node, Side};
use zipfold_core::{Error, Job, Opt, Precision, Result, Table};

/// A type of 16 bits.
///
/// Products of two such numbers are exact in f32: 11 + 11 bits are fewer than 24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowPrecision {
    /// IEEE binary16: 11 bits of precision, up to 65504.
    F16,
    /// The upper half of a single: 8 bits of precision.
    Bf16,
}

impl LowPrecision {
    /// The name that `--set dense.input` takes.
    pub fn name(self) -> &'static str {
        match self {
            LowPrecision::F16 => "f16",
            LowPrecision::Bf16 => "bf16",
        }
    }
    /// Returns the nearest number of 16 bits, ties to even, as its bits.
    pub fn round(self, value: f32) -> u16 {
        match self {
            LowPrecision::F16 => f16::from_f32(value).to_bits(),
            LowPrecision::Bf16 => bf16::from_f32(value).to_bits(),
        }
    }
    /// The value of `bits`.
    pub fn value(self, bits: u16) -> f32 {
        match self {
            LowPrecision::F16 => f16::from_bits(bits).to_f32(),
            LowPrecision::Bf16 => bf16::from_bits(bits).to_f32(),
        }
    }
    /// Returns whether `value` is one of these numbers.
    pub fn holds(self, value: f32) -> bool {
        self.value(self.round(value)) == value
    }
}

/// The type of the numbers that matrix units multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProductType {
    /// 16 bits.
    Half(LowPrecision),
    /// 19 bits, in words of 32: 11 bits of precision, the exponents of single precision.
    Tf32,
    /// Single precision, of which units multiply the upper 11 bits and the rest one by one.
    Tf32x3,
    /// Double precision.
    F64,
}

impl ProductType {
    /// The name that `--set dense.input` takes.
    pub fn name(self) -> &'static str {
        match self {
            ProductType::Half(half) => half.name(),
            ProductType::Tf32 => "tf32",
            ProductType::Tf32x3 => "tf32x3",
            ProductType::F64 => "f64",
        }
    }
    /// Returns the bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            ProductType::Half(_) => 2,
            ProductType::Tf32 | ProductType::Tf32x3 => 4,
            ProductType::F64 => 8,
        }
    }
    /// Returns the type of sums and values.
    pub fn precision(self) -> Precision {
        match self {
            ProductType::Half(_) | ProductType::Tf32 | ProductType::Tf32x3 => Precision::F32,
            ProductType::F64 => Precision::F64,
        }
    }
    /// Returns whether `value` is multiplied as a finite number if it is one.
    fn holds(self, value: f64) -> bool {
        match self {
            ProductType::Half(half) => {
                let value = value as f32;
                !value.is_finite() || half.value(half.round(value)).is_finite()
            }
            // Rounded to 11 bits it must not become infinite.
            ProductType::Tf32 => !(f64::from(TF32_MOST)..f64::INFINITY).contains(&value.abs()),
            // The rest of an infinite number is none.
            ProductType::Tf32x3 => value.abs() < f64::from(TF32_MOST),
            ProductType::F64 => true,
        }
    }
}

/// Numbers from here on are infinite if rounded to 11 bits.
const TF32_MOST: f32 = f32::from_bits(0x7f7f_f000);

/// Returns the nearest number of 11 bits of precision, as its bits in single precision; of two
/// equally near ones the larger by magnitude.
pub fn tf32(value: f32) -> u32 {
    let bits = value.to_bits();
    match value.is_finite() {
        true => bits.wrapping_add(0x1000) & !0x1fff,
        // A NaN must not become infinite.
        false => bits & !0x1fff | if value.is_nan() { 1 << 22 } else { 0 },
    }
}

/// Components up to which a sum of products stays in one accumulator: it rounds once for every 16
/// of them. So a sum has at most 512 roundings.
const LONGEST: usize = 8192;

/// Returns the refusal of matrix units for a job that is not a matrix of inner products.
fn no_products(asked: ProductType) -> Error {
    let (product, cosine) = (Opt::Pair.to("sum(x*y)"), Opt::Metric.to("cosine"));
    let (precision, word) = match asked.precision() {
        Precision::F32 => (Opt::Precision.to("f32"), "single"),
        Precision::F64 => (Opt::Precision.to("f64"), "double"),
    };
    let e = Error::request(format!(
        "expected a matrix of inner products in {word} precision for {}",
        asked.name()
    ));
    e.at_place(Opt::Set.like("dense.input")).remedy(format!(
        "{product} or {cosine} with {precision}, 8 components or more"
    ))
}

/// Returns the refusal of numbers that the type does not hold.
fn does_not_fit(asked: ProductType) -> Error {
    let e = Error::request(format!("a number does not fit {}", asked.name()))
        .at_place(Opt::Set.like("dense.input"));
    let most = match asked {
        ProductType::Half(LowPrecision::F16) => "65504",
        _ => "finite numbers below 3.4e38",
    };
    e.limit(most).remedy("bf16 or f32")
}

/// Returns the type that `overrides` ask for, if any.
fn requested(overrides: &Overrides) -> Option<Option<ProductType>> {
    Some(match overrides.dense_input? {
        DenseInput::F32 => None,
        DenseInput::F16 => Some(ProductType::Half(LowPrecision::F16)),
        DenseInput::Bf16 => Some(ProductType::Half(LowPrecision::Bf16)),
        DenseInput::Tf32 => Some(ProductType::Tf32),
        DenseInput::Tf32x3 => Some(ProductType::Tf32x3),
        DenseInput::F64 => Some(ProductType::F64),
    })
}

/// Returns as what rows of `job` are multiplied by matrix units: as 16-bit numbers if every number
/// is one, or as the user asks; `None` without matrix units.
///
/// # Errors
/// `Request` for formulas that are no inner products, and for numbers that the type does not hold.
pub fn input(job: &Job, overrides: &Overrides) -> Result<Option<ProductType>> {
    let fits = is_product_matrix(job) && overrides.device_family.is_none();
    let Some(asked) = requested(overrides) else {
        return Ok(match job.precision {
            _ if !fits => None,
            Precision::F32 if job.low.dim <= LONGEST && is_raw(job) => {
                let halves = [LowPrecision::F16, LowPrecision::Bf16];
                let exact = |half: &LowPrecision| all(job, |v| half.holds(v as f32));
                halves.into_iter().find(exact).map(ProductType::Half)
            }
            Precision::F32 | Precision::F64 => None,
        });
    };
    let Some(asked) = asked else {
        return Ok(None);
    };
    if !fits || job.precision != asked.precision() {
        return Err(no_products(asked));
    }
    match all(job, |v| asked.holds(v)) {
        true => Ok(Some(asked)),
        false => Err(does_not_fit(asked)),
    }
}

/// Returns whether `job` is a matrix whose one reduction is an inner product of a vector of x and
/// one of y.
///
/// From 8 components on: matrix units take 16 at a time, and shorter rows would be mostly padding.
fn is_product_matrix(job: &Job) -> bool {
    let low = &job.low;
    let matrix =
        matches!(job.folds.as_slice(), [Fold::Dense(f)] if low.formula.width(f.root, low.dim) == 1);
    let one = || low.stages[0].reduces.len() == 1 && low.stages[0].scalars.is_empty();
    let plain = low.dim >= 8 && low.row_vectors.iter().all(|s| s.len() == 1);
    matrix && plain && low.is_inner_product() && one()
}

/// Returns whether these vectors are the rows themselves: hoisted ones, such as normalised rows,
/// are rarely exact in 16 bits.
fn is_raw(job: &Job) -> bool {
    let row = |side: Side| {
        *job.low.formula.node(job.low.row_vectors[side as usize][0]) == Node::Row(side)
    };
    row(Side::X) && row(Side::Y)
}

/// Returns whether `test` is true for all numbers of both tables.
///
/// It reads all data, and ends at the first number that fails: real measurements fail at once.
fn all(job: &Job, test: impl Fn(f64) -> bool) -> bool {
    let numbers = |t: &Table| (0..t.elements().len()).all(|at| test(t.elements().get(at)));
    numbers(&job.x) && job.y.as_ref().is_none_or(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_16_bits_comes_back() {
        for half in [LowPrecision::F16, LowPrecision::Bf16] {
            for bits in 0..=u16::MAX {
                let value = half.value(bits);
                let again = half.round(value);
                assert!(
                    again == bits || value.is_nan() && half.value(again).is_nan(),
                    "{half:?} {bits:#x}"
                );
            }
        }
    }

    #[test]
    fn numbers_of_19_bits_are_the_nearest() {
        for value in [1.0f32, 1.0 + 2f32.powi(-11), 3.7, -1e-30, 1e30, 0.0, 5e-39] {
            let rounded = f32::from_bits(tf32(value));
            assert_eq!(rounded.to_bits() & 0x1fff, 0, "{value}");
            let error = (f64::from(rounded) - f64::from(value)).abs();
            let step = f64::from(value.abs()) * 2f64.powi(-11) + 2f64.powi(-137);
            assert!(error <= step, "{value} {rounded}");
        }
        assert!(f32::from_bits(tf32(f32::NAN)).is_nan());
        assert!(f32::from_bits(tf32(f32::from_bits(0x7f80_0001))).is_nan());
        assert_eq!(f32::from_bits(tf32(f32::NEG_INFINITY)), f32::NEG_INFINITY);
        assert!(f32::from_bits(tf32(TF32_MOST.next_down())).is_finite());
        assert!(f32::from_bits(tf32(TF32_MOST)).is_infinite());
    }

    /// Between two neighbours the nearer one is taken, and of two equally near the even one.
    #[test]
    fn other_numbers_go_to_the_nearest() {
        for half in [LowPrecision::F16, LowPrecision::Bf16] {
            let last = if half == LowPrecision::F16 {
                0x7bff
            } else {
                0x7f7f
            };
            for bits in 0..last {
                let (a, b) = (half.value(bits), half.value(bits + 1));
                let middle = ((f64::from(a) + f64::from(b)) / 2.0) as f32;
                assert_eq!(half.round(middle), bits + (bits & 1), "{half:?} {bits:#x}");
                assert_eq!(half.round(middle.next_down()), bits);
                assert_eq!(half.round(middle.next_up()), bits + 1);
                assert_eq!(half.round(-middle), 0x8000 | (bits + (bits & 1)));
            }
        }
        assert_eq!(
            [65519.0, 65520.0, 1e9].map(|v| LowPrecision::F16.round(v)),
            [0x7bff, 0x7c00, 0x7c00]
        );
    }
}
