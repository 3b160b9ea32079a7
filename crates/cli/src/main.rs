//! The program of the zipfold command.
#![forbid(unsafe_code)]

fn main() {
    zipfold_cli::main();
}
