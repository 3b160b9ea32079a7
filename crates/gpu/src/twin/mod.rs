//! The index arithmetic of kernels in safe Rust under the same names, tested without a device.

pub mod maps;
