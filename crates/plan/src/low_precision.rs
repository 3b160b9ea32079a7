//! Rows as numbers of 16 bits, for matrix units of devices.
//!
//! Matrix units multiply 16-bit numbers and add in single precision. That is exact only if every
//! number of the rows is one of 16 bits (small integers, bits, data stored as f16), so it is chosen
//! by itself in that case only; otherwise the user must ask for it by `dense.input`.

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

/// Components up to which a sum of products stays in one accumulator: it rounds once for every 16
/// of them. So a sum has at most 512 roundings.
const LONGEST: usize = 8192;

/// Returns the refusal of 16-bit numbers for a job that is not a matrix of inner products.
fn no_products() -> Error {
    let (product, cosine, single) = (
        Opt::Pair.to("sum(x*y)"),
        Opt::Metric.to("cosine"),
        Opt::Precision.to("f32"),
    );
    Error::request("rows of 16-bit numbers serve matrices of inner products in single precision")
        .at_place(Opt::Set.like("dense.input"))
        .remedy(format!(
            "{product} or {cosine} with {single}, 8 components or more"
        ))
}

/// Returns how rows of `job` are multiplied on a device: as 16-bit numbers if every number is one,
/// or if the user asks for it; `None` for single precision.
///
/// # Errors
/// `Request` for formulas that are no inner products, and for numbers beyond f16.
pub fn input(job: &Job, overrides: &Overrides) -> Result<Option<LowPrecision>> {
    let asked = match overrides.dense_input {
        None => None,
        Some(DenseInput::F32) => return Ok(None),
        Some(DenseInput::F16) => Some(LowPrecision::F16),
        Some(DenseInput::Bf16) => Some(LowPrecision::Bf16),
    };
    let fits = is_product_matrix(job)
        && job.precision == Precision::F32
        && overrides.device_family.is_none();
    let Some(half) = asked else {
        let fits = fits && job.low.dim <= LONGEST && is_raw(job);
        return Ok(if fits {
            [LowPrecision::F16, LowPrecision::Bf16]
                .into_iter()
                .find(|h| all(job, |v| h.holds(v)))
        } else {
            None
        });
    };
    if !fits {
        return Err(no_products());
    }
    if !all(job, |v| {
        !v.is_finite() || half.value(half.round(v)).is_finite()
    }) {
        let e = Error::request(format!("a number does not fit {}", half.name()))
            .at_place(Opt::Set.like("dense.input"));
        return Err(e.limit("65504").remedy("bf16 or f32"));
    }
    Ok(Some(half))
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
fn all(job: &Job, test: impl Fn(f32) -> bool) -> bool {
    let numbers = |t: &Table| (0..t.elements().len()).all(|at| test(t.elements().get(at) as f32));
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
