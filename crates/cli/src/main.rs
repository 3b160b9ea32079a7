//! The zipfold command.
fn main() {}
