//! zipfold
#![forbid(unsafe_code)]
