//! The zipfold command: arguments to a problem, a problem to a result, a result to files and pictures.
#![forbid(unsafe_code)]

mod answer;
mod args;
mod ask;
mod bench;
mod infer;
mod infer_explain;
mod infer_tables;
mod plot;
mod report;
mod show;
mod skeleton;
mod target;
mod work;

use args::{Cli, Explained, Question, RunArgs, Verb};
use clap::{CommandFactory, Parser};
use zipfold::{Blame, Error, Problem, Result};

fn main() {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            let _ = e.print();
            std::process::exit(if e.use_stderr() { 2 } else { 0 });
        }
    };
    let answer = std::panic::catch_unwind(|| dispatch(&cli.verb));
    let answer = answer.unwrap_or_else(|_| Err(Error::internal("a panic; the lines above say where")));
    if let Err(error) = answer {
        eprintln!("error: {error}");
        let interrupted = (error.blame() == Blame::Interrupted).then(work::interrupted_status).flatten();
        std::process::exit(interrupted.unwrap_or(error.exit_code()));
    }
}

fn dispatch(verb: &Verb) -> Result<()> {
    match verb {
        Verb::Ask(Question::Dist(a)) if a.pair_source.is_some() => skeleton::dist(a),
        Verb::Ask(question) => {
            let (problem, run, name) = asked(question)?;
            work::run(&problem, run, name)
        }
        Verb::Infer(a) => infer::run(a.clone()),
        Verb::Merge(a) => work::merge(&a.partials, &a.run),
        Verb::Explain { what: Explained::Infer(a) } => infer::run_explain(a.clone()),
        Verb::Explain { what: Explained::Ask(what) } => {
            let (problem, run, _) = asked(what)?;
            work::explain(&problem, run)
        }
        Verb::Emit { target, what } => {
            let (problem, run, _) = asked(what)?;
            work::emit(&problem, run, target)
        }
        Verb::Bench(a) => bench::bench(a),
        Verb::Devices { json } => show::devices(*json),
        Verb::Completions { shell } => {
            clap_complete::generate(*shell, &mut Cli::command(), "zipfold", &mut std::io::stdout());
            Ok(())
        }
    }
}

fn asked(question: &Question) -> Result<(Problem, &RunArgs, &'static str)> {
    Ok(match question {
        Question::Dist(a) => (ask::dist(a)?, &a.run, "dist"),
        Question::Knn(a) => (ask::knn(a)?, &a.run, "knn"),
        Question::Hist(a) => (ask::hist(a)?, &a.run, "hist"),
        Question::Reduce(a) => (ask::reduce(a)?, &a.run, "reduce"),
        Question::Join(a) => (ask::join(a)?, &a.run, "join"),
        Question::Run(a) => (work::problem_file(&a.problem)?, &a.run, "run"),
    })
}
