//! The zipfold command.
#![forbid(unsafe_code)]
fn main() {}
