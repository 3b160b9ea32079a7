//! The CPU backend of zipfold: the one place on the CPU where `unsafe` is allowed.

pub mod jit;
pub mod kernels;
pub mod machine;
pub mod memory;
pub mod pairs;
mod prefetch;
pub mod simd;

pub use machine::detect;
pub mod product;
