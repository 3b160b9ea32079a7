//! zipfold

pub mod contract;
pub mod infer;
