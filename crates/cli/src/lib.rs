//! The zipfold command: arguments to a problem, a problem to a result, a result to files and
//! pictures.
//!
//! It is a library, so that it is compiled next to the libraries under it; a program waits for all
//! of them.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod commands;
mod console;
mod cooccurrence;
mod cooccurrence_args;
mod correlogram;
mod correlogram_args;
mod crossmatch;
mod crossmatch_args;
mod described;
mod distance_args;
mod everything;
mod flags;
mod grammar;
mod infer;
mod infer_explain;
mod infer_report;
mod infer_samples;
mod infer_shares;
mod infer_tables;
mod join;
mod join_args;
mod joined;
mod lease;
mod lists;
mod network;
mod network_args;
mod paircount;
mod paircount_args;
mod preview;
mod problem_from_args;
mod progress;
mod quote;
mod rdf;
mod report;
mod result_files;
mod ripley;
mod ripley_args;
mod set_distance;
mod set_distance_args;
mod shares;
mod silhouette;
mod silhouette_args;
mod skeleton;
mod slurm;
mod sum_product;
mod target;
mod terminal;
mod values;
mod variogram;
mod variogram_args;

use args::{Cli, Explained, Question, RunArgs, Verb};
use clap::FromArgMatches;
use zipfold::{Blame, Budget, Error, Problem, Result};

/// Reads the arguments of the process, answers them, and ends the process where that fails.
pub fn main() {
    // A file that grows beyond a limit is then an error of the write, which can be told, and not
    // the end.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Default::default());
    let parsed = grammar::grammar()
        .try_get_matches()
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = parsed.unwrap_or_else(|e| end_without_a_verb(&e));
    let answer = std::panic::catch_unwind(|| dispatch(&cli.verb));
    let answer =
        answer.unwrap_or_else(|_| Err(Error::internal("a panic; the lines above say where")));
    if let Err(error) = answer {
        terminal::error(&error);
        let interrupted = (error.blame() == Blame::Interrupted)
            .then(commands::interrupted_status)
            .flatten();
        std::process::exit(interrupted.unwrap_or(error.exit_code()));
    }
}

/// Prints what the grammar answers itself, such as a mistake or the help, and ends the process.
fn end_without_a_verb(e: &clap::Error) -> ! {
    // A list that was asked for as a value is no error.
    let text = e.to_string();
    let told = match text.strip_prefix("error: ").filter(|_| !e.use_stderr()) {
        Some(list) => terminal::print_line(list.trim_end()),
        None => e.print().or_else(|e| match e.kind() {
            std::io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(Error::resource(format!("standard output: {e}"))),
        }),
    };
    // What goes to standard error is told nowhere else.
    let untold = told.err().filter(|_| !e.use_stderr());
    untold.iter().for_each(terminal::error);
    std::process::exit(if e.use_stderr() {
        2
    } else {
        i32::from(untold.is_some())
    });
}

/// Merges the parts of a store, or the files of shards.
fn merge(a: &args::Merge) -> Result<()> {
    if let Some(store) = shares::store_of(&a.partials) {
        return shares::merge(store, a);
    }
    shares::refuse_incomplete(a)?;
    commands::merge(&a.partials, &a.run)
}

fn dispatch(verb: &Verb) -> Result<()> {
    match verb {
        Verb::Ask(Question::Dist(a)) if a.pair_source.is_some() => skeleton::dist(a),
        Verb::Ask(Question::Join(a)) if join::is_by_name(a) => join::run(a),
        Verb::Ask(question) => {
            let (problem, run, name, budget) = asked(question)?;
            commands::run(&problem, run, name, &budget)
        }
        Verb::Infer(a) => infer_shares::run(a),
        Verb::Rdf(a) => rdf::run(a),
        Verb::Paircount(a) => paircount::run(a),
        Verb::Crossmatch(a) => crossmatch::run(a),
        Verb::Hausdorff(a) => set_distance::hausdorff(a),
        Verb::Chamfer(a) => set_distance::chamfer(a),
        Verb::Silhouette(a) => silhouette::run(a),
        Verb::Variogram(a) => variogram::run(a),
        Verb::Ripley(a) => ripley::run(a),
        Verb::Cooccurrence(a) => cooccurrence::run(a),
        Verb::Correlogram(a) => correlogram::run(a),
        Verb::Network(a) => network::run(a),
        Verb::Merge(a) => merge(a),
        Verb::Plan(a) => shares::plan(a),
        Verb::Work(a) => shares::work(a),
        Verb::Status(a) => shares::status(a),
        Verb::Explain { what, verbose } => explain(what, *verbose),
        Verb::Emit { target, what } => {
            let (problem, run, _, budget) = asked(what)?;
            commands::emit(&problem, run, target, &budget)
        }
        Verb::Bench(a) => bench::bench(a),
        Verb::Metrics(asked) => lists::metrics(asked),
        Verb::Functions(asked) => lists::functions(asked),
        Verb::Settings(asked) => lists::settings(asked),
        Verb::Formats { json } => lists::formats(*json),
        Verb::Devices { json } => console::devices(*json),
        Verb::Completions { shell } => completions(*shell),
        Verb::Man { folder } => manual(folder),
    }
}

/// Prints the completions for a shell.
fn completions(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut grammar::grammar(), "zipfold", &mut script);
    terminal::print(&String::from_utf8_lossy(&script))
}

/// Says how a question would be answered.
fn explain(what: &Explained, verbose: bool) -> Result<()> {
    match what {
        Explained::Infer(a) => infer::run_explain(a.clone()),
        Explained::Rdf(a) => rdf::explain(a),
        Explained::Paircount(a) => paircount::explain(a),
        Explained::Crossmatch(a) => crossmatch::explain(a),
        Explained::Hausdorff(a) => set_distance::explain(a.into()),
        Explained::Chamfer(a) => set_distance::explain(a.into()),
        Explained::Silhouette(a) => silhouette::explain(a),
        Explained::Variogram(a) => variogram::explain(a),
        Explained::Ripley(a) => ripley::explain(a),
        Explained::Cooccurrence(a) => cooccurrence::explain(a),
        Explained::Correlogram(a) => correlogram::explain(a),
        Explained::Network(a) => network::explain(a),
        Explained::Ask(Question::Join(a)) if join::is_by_name(a) => join::explain(a),
        Explained::Ask(what) => {
            let (problem, run, _, budget) = asked(what)?;
            commands::explain(&problem, run, verbose, &budget)
        }
    }
}

/// Writes the pages of the manual into `folder`.
fn manual(folder: &std::path::Path) -> Result<()> {
    clap_mangen::generate_to(grammar::grammar(), folder).map_err(|e| {
        let e = Error::resource(format!("the pages cannot be written: {e}"))
            .at_place(folder.display().to_string());
        e.remedy("the name of a folder that is there")
    })
}

/// The problem, how it is run, the verb, and the memory that holds everything from here on.
fn asked(question: &Question) -> Result<(Problem, &RunArgs, &'static str, Budget)> {
    let (run, name) = match question {
        Question::Dist(a) => (&a.run, "dist"),
        Question::Knn(a) => (&a.run, "knn"),
        Question::Top(a) => (&a.run, "top"),
        Question::Hist(a) => (&a.run, "hist"),
        Question::Reduce(a) => (&a.run, "reduce"),
        Question::Join(a) => (&a.run, "join"),
        Question::Run(a) => (&a.run, "run"),
    };
    let budget = commands::budget(run)?;
    let problem = match question {
        Question::Dist(a) => problem_from_args::dist(a, &budget),
        Question::Knn(a) => problem_from_args::knn(a, &budget),
        Question::Top(a) => problem_from_args::top(a, &budget),
        Question::Hist(a) => problem_from_args::hist(a, &budget),
        Question::Reduce(a) => problem_from_args::reduce(a, &budget),
        Question::Join(a) if join::is_by_name(a) => Err(join::without_kernels()),
        Question::Join(a) => problem_from_args::join(a, &budget),
        Question::Run(a) => commands::problem_file(&a.problem, &budget),
    }?;
    Ok((problem, run, name, budget))
}
