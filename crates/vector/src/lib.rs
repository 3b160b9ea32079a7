//! What both CPU engines of zipfold stand on: vectors of any instruction set, aligned memory,
//! elementary functions.
//!
//! [`simd`] is the one vector layer: a kernel is written once and compiled for AVX-512, AVX2, NEON
//! and plain code. [`simd::math`] has exponentials and logarithms over those vectors. [`memory`]
//! has blocks that are aligned, zeroed and made of large pages. Nothing here knows pairs, folds,
//! tables of variables or plans.

pub mod memory;
pub mod prefetch;
pub mod simd;

pub use simd::math;
