//! The zipfold command: arguments to a problem, a problem to a result, a result to files and pictures.
#![forbid(unsafe_code)]

mod args;
mod ask;
mod answer;
mod plot;
mod show;
mod work;

use args::{Cli, Verb};
use clap::{CommandFactory, Parser};
use zipfold::{Error, Result};

fn main() {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            let _ = e.print();
            std::process::exit(if e.use_stderr() { 2 } else { 0 });
        }
    };
    if let Err(error) = dispatch(&cli.verb) {
        eprintln!("error: {error}");
        std::process::exit(error.exit_code());
    }
}

fn dispatch(verb: &Verb) -> Result<()> {
    match verb {
        Verb::Dist(a) => work::run(&ask::dist(a)?, &a.run, "dist"),
        Verb::Knn(a) => work::run(&ask::knn(a)?, &a.run, "knn"),
        Verb::Hist(a) => work::run(&ask::hist(a)?, &a.run, "hist"),
        Verb::Reduce(a) => work::run(&ask::reduce(a)?, &a.run, "reduce"),
        Verb::Join(a) => work::run(&ask::join(a)?, &a.run, "join"),
        Verb::Run(a) => work::run(&work::problem_file(&a.problem)?, &a.run, "run"),
        Verb::Merge(a) => work::merge(&a.partials, &a.run),
        Verb::Explain { what } => explain(what),
        Verb::Devices { json } => show::devices(*json),
        Verb::Completions { shell } => {
            clap_complete::generate(*shell, &mut Cli::command(), "zipfold", &mut std::io::stdout());
            Ok(())
        }
    }
}

fn explain(verb: &Verb) -> Result<()> {
    let (problem, run) = match verb {
        Verb::Dist(a) => (ask::dist(a)?, &a.run),
        Verb::Knn(a) => (ask::knn(a)?, &a.run),
        Verb::Hist(a) => (ask::hist(a)?, &a.run),
        Verb::Reduce(a) => (ask::reduce(a)?, &a.run),
        Verb::Join(a) => (ask::join(a)?, &a.run),
        Verb::Run(a) => (work::problem_file(&a.problem)?, &a.run),
        _ => return Err(Error::request("there is nothing to plan for this verb").remedy("zipfold explain dist X")),
    };
    work::explain(&problem, run)
}
