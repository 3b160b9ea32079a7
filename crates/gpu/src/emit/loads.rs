//! Vector loads: how many numbers one load takes.

use super::type_name;
use zipfold_core::{Error, Precision, Result};
use zipfold_plan::Plan;

/// Names of the parts of a vector.
const PARTS: [&str; 4] = [".x", ".y", ".z", ".w"];

/// Numbers of 16 bytes, the longest load.
pub fn longest(precision: Precision) -> usize {
    16 / precision.bytes()
}

/// Numbers of a load: the longest, or what the choice `load.vector` of `plan` asks for.
///
/// # Errors
/// `Request` for loads of more than 16 bytes.
pub fn chosen(plan: &Plan, precision: Precision) -> Result<usize> {
    let most = longest(precision);
    let numbers = plan.choices.load_vector.map_or(most, |numbers| numbers.get());
    if numbers <= most {
        return Ok(numbers);
    }
    let e = Error::request(format!("no loads of {numbers} numbers of double precision")).at("--set load.vector");
    Err(e.limit("16 bytes").remedy("1 or 2"))
}

/// The type of so many numbers.
pub fn vector(precision: Precision, numbers: usize) -> &'static str {
    match (precision, numbers) {
        (Precision::F32, 4) => "zf_f4",
        (Precision::F32, 2) => "zf_f2",
        (Precision::F64, 2) => "zf_d2",
        _ => type_name(precision),
    }
}

/// What follows a vector of so many numbers to name each of them.
pub fn parts(numbers: usize) -> &'static [&'static str] {
    if numbers == 1 { &[""] } else { &PARTS[..numbers] }
}
