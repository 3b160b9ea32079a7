//! The CPU backend of zipfold: the one place on the CPU where `unsafe` is allowed.

pub mod product;
