//! From space × pair × fold to kernel source: fragments of `kernels/` composed with code generated
//! from the formula.

pub mod bin_sums;
pub mod dense;
mod epilogue;
pub mod expression;
pub mod folds;
mod images;
pub mod join;
pub mod loads;
pub mod maps;
mod matches;
pub mod matrix;
pub mod nearest;
mod packing;
pub mod pair;
pub mod panels;
mod product_tile;
pub mod strip;
pub mod sweep;
pub mod values;
mod warpgroup;
pub mod whole_pairs;

use zipfold_core::Precision;
use zipfold_plan::device::Runtime;

/// The dialect's header for a runtime, with the elementary functions.
pub fn header(runtime: Runtime) -> String {
    let dialect = match runtime {
        Runtime::Cuda => include_str!("../kernels/cuda.h"),
        Runtime::OpenCl => include_str!("../kernels/opencl.h"),
    };
    [dialect, include_str!("../kernels/numbers.h")].concat()
}

/// The name of a type in the dialect.
pub fn type_name(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "float",
        Precision::F64 => "double",
    }
}

/// Fills the places `@NAME@` of a fragment.
pub fn fill(fragment: &str, places: &[(&str, String)]) -> String {
    let mut out = fragment.to_string();
    for (name, text) in places {
        out = out.replace(&format!("@{name}@"), text);
    }
    out
}
