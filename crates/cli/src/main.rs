//! The `zipfold` command.

use clap::Parser;

mod infer;
mod infer_explain;
mod infer_tables;

#[derive(Parser)]
#[command(version, about)]
enum Command {
    /// Exact inference on a discrete graphical model
    Infer(infer::InferArgs),
    /// What a command would do
    #[command(subcommand)]
    Explain(Explained),
}

#[derive(clap::Subcommand)]
enum Explained {
    /// Exact inference
    Infer(infer::InferArgs),
}

fn main() {
    let done = match Command::parse() {
        Command::Infer(args) => infer::run(args),
        Command::Explain(Explained::Infer(args)) => infer::run_explain(args),
    };
    if let Err(e) = done {
        eprintln!("error: {e}");
        std::process::exit(e.exit_code());
    }
}
