//! The pairs engine on the CPU: kernels, generated code, and the executors that run plans of pairs.

pub mod jit;
pub mod kernels;
pub mod machine;
pub mod pairs;

pub use machine::detect;
pub use zipfold_vector::memory::give_freed_back;
