//! zipfold

pub mod infer;
