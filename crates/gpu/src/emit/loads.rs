//! Vector loads: how many numbers one load takes.

use super::type_name;
use zipfold_core::Precision;

/// Names of the parts of a vector.
const PARTS: [&str; 4] = [".x", ".y", ".z", ".w"];

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
    if numbers == 1 {
        &[""]
    } else {
        &PARTS[..numbers]
    }
}
