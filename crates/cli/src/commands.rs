//! Runs a problem for the command: reading, options, progress, checkpoints, writing.

use crate::args::{PairArgs, RunArgs};
use crate::console::{Seconds, Told};
use crate::flags;
use crate::preview::preview;
use crate::progress::Bar;
use crate::terminal::{print_line, say};
use crate::{console, problem_from_args, quote, report, result_files};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use zipfold::Query;
use zipfold::Target;
use zipfold::devices::{DeviceSelector, Facts};
use zipfold::internals::core::budget::Reservation;
use zipfold::internals::core::shown::shown;
use zipfold::internals::destination::{self, refuse_place};
use zipfold::internals::io::Presence;
use zipfold::internals::partial::{self, Partial};
pub(crate) use zipfold::internals::problem_file::{problem_file, text_of_problem};
use zipfold::internals::shards::merge_each;
use zipfold::internals::written::write_text;
use zipfold::io::read_data;
use zipfold::io::{OutputOptions, ReadOptions, read_table};
use zipfold::shards;
use zipfold::{Answer, Blame, Budget, Data, Error, Options, Outcome, Problem, Result, Table};

/// The memory budget of a run.
pub(crate) fn budget(run: &RunArgs) -> Result<Budget> {
    let bytes = match &run.memory {
        Some(text) => problem_from_args::bytes(text)?,
        None => zipfold::internals::io::memory::usual(),
    };
    Ok(Budget::new(bytes))
}

pub(crate) fn check(run: &RunArgs) -> Result<()> {
    DeviceSelector::parse(&run.device)?;
    if run.json && run.output.as_deref() == Some("-") {
        return Err(
            Error::request("both the result and the report would go to standard output")
                .at_place("--json")
                .remedy("-o FILE"),
        );
    }
    if run.resume && run.output.is_none() {
        return Err(Error::request("nothing to resume without an output")
            .at_place("--resume")
            .remedy("-o FILE as before"));
    }
    if run.threads > 4096 {
        let e = Error::request(format!("{} threads", run.threads))
            .at_place("--threads")
            .limit("4096");
        return Err(e.remedy("as many as the machine has cores, which is the default"));
    }
    if run.checkpoint_every.is_nan() || run.checkpoint_every < 0.0 {
        return Err(Error::request("a time between checkpoints is not negative")
            .at_place("--checkpoint-every"));
    }
    check_pages(run)
}

/// Refuses a picture and a page that could not be written.
fn check_pages(run: &RunArgs) -> Result<()> {
    let shown = [("--plot", &run.plot), ("--report", &run.report)];
    if run.shard.is_some()
        && let Some((flag, _)) = shown.iter().find(|(_, path)| path.is_some())
    {
        let e = Error::request("a shard is a part of an answer, and has nothing to show");
        return Err(e
            .at_place(*flag)
            .remedy(format!("zipfold merge with {flag}")));
    }
    if let Some(path) = &run.plot {
        result_files::refuse_picture(path, run)?;
    }
    match &run.report {
        Some(path) => zipfold::internals::report::check_name(path)
            .and_then(|()| refuse_place(path, run.how_written())),
        None => Ok(()),
    }
}

/// Answers `problem`.
pub(crate) fn run(problem: &Problem, args: &RunArgs, verb: &str, budget: &Budget) -> Result<()> {
    check(args)?;
    if problem.folds.is_empty() {
        return Err(nothing_to_answer());
    }
    let start = Instant::now();
    if let Some(path) = &args.output {
        result_files::refuse_early(path, problem, args)?;
    }
    let mut seconds = Seconds::default();
    let data = read_data(problem, budget)?;
    seconds.read = start.elapsed().as_secs_f64();
    notice(problem, &data, args);
    let stop = interrupts();
    let progress = Bar::new(args.quiet || args.json);
    let show = |p: zipfold::Progress| progress.tell(p);
    let mut options = options(args, budget, &stop, &show)?;
    if !args.json {
        options.warnings = progress.warnings();
    }
    let answer =
        Query::new(problem, &data, &options).run_to(&target(args, problem, args.how_written()));
    let answer = answer.map_err(|e| resume_hint(e, &options))?;
    progress.end();
    seconds.add_run(&answer);
    let writing = Instant::now();
    let outputs = finish(&answer, args, options.shard, args.how_written())?;
    seconds.write = writing.elapsed().as_secs_f64();
    seconds.total = start.elapsed().as_secs_f64();
    options
        .checkpoint
        .iter()
        .for_each(|path| partial::discard(path));
    let told = Told {
        verb,
        inputs: inputs(&answer.problem, &data, args),
        answer: &answer,
        seconds: &seconds,
        peak_bytes: budget.peak(),
        outputs: &[],
    };
    tell(told, outputs, args)
}

fn nothing_to_answer() -> Error {
    Error::request("the problem has no folds, so nothing to answer")
        .remedy("folds = [{ kind = 'matrix' }]")
}

/// Names and hashes of the data, for a report that asks for them.
pub(crate) fn inputs(problem: &Problem, data: &zipfold::Data, args: &RunArgs) -> serde_json::Value {
    let one = |(input, hash): (&zipfold::problem::Input, String)| serde_json::json!({"name": input.name, "hash": hash});
    if args.json {
        data.hashes(problem).into_iter().map(one).collect()
    } else {
        serde_json::Value::Null
    }
}

/// Says which columns are kept as names, where nobody asked for that.
fn notice(problem: &Problem, data: &Data, args: &RunArgs) {
    if args.quiet || args.json || !problem.x.ids.is_empty() {
        return;
    }
    let names = text_columns(data);
    if names.is_empty() {
        return;
    }
    let (what, verb) = if names.len() == 1 {
        ("column", "is")
    } else {
        ("columns", "are")
    };
    say(&format!(
        "note: the {what} {} {verb} text: kept as names of rows, left out of the numbers",
        shown(&names.join(", "))
    ));
}

/// Names of the columns of x and y that are no numbers.
fn text_columns(data: &Data) -> Vec<&str> {
    let tables = [Some(&data.x), data.y.as_ref()];
    let mut names: Vec<&str> = tables
        .into_iter()
        .flatten()
        .filter_map(|table| Some((table.names().unwrap_or_default(), table.labels()?)))
        .flat_map(|(numbers, labels)| {
            labels
                .names()
                .filter(|name| !numbers.iter().any(|n| n == name))
        })
        .collect();
    names.dedup();
    names
}

/// Says what was done, and writes the page about it.
pub(crate) fn tell(told: Told<'_>, mut outputs: Vec<String>, args: &RunArgs) -> Result<()> {
    outputs.extend(args.report.clone());
    let told = Told {
        outputs: &outputs,
        ..told
    };
    if let Some(path) = &args.report {
        report::write(path, &told, args.how_written())?;
    }
    console::report(&told, args)
}

/// Writes, shows and draws the answer, and returns the names of the files.
pub(crate) fn finish(
    answer: &Answer<'_>,
    args: &RunArgs,
    shard: Option<(usize, usize)>,
    output: OutputOptions,
) -> Result<Vec<String>> {
    if let Some(shard) = shard {
        return write_shard(&answer.problem, &answer.outcome, args, shard);
    }
    let mut outputs = vec![];
    if let Some(path) = &args.output {
        outputs.extend(answer.write(path, output)?);
    } else if !args.quiet && !args.json {
        preview(answer)?;
    }
    if let Some(path) = &args.plot {
        let drawn = answer.save(path, output);
        outputs.extend(drawn.map_err(|e| e.at_least("--plot"))?);
    }
    Ok(outputs)
}

fn options<'a>(
    args: &RunArgs,
    budget: &Budget,
    stop: &'a Arc<AtomicBool>,
    tell: &'a (dyn Fn(zipfold::Progress) + Sync),
) -> Result<Options<'a>> {
    let shard = problem_from_args::shard(args)?;
    let checkpoint = args.output.as_ref().filter(|o| *o != "-");
    Ok(Options {
        threads: args.threads,
        budget: budget.clone(),
        overrides: problem_from_args::overrides(&args.set)?,
        shard,
        checkpoint: checkpoint.map(|o| PathBuf::from(format!("{o}.zipfold-resume"))),
        checkpoint_every: Duration::from_secs_f64(args.checkpoint_every.min(1e6)),
        resume: args.resume,
        progress: Some(tell),
        stop: Some(stop),
        device: DeviceSelector::parse(&args.device)?,
        ..Options::default()
    })
}

pub(crate) fn target(args: &RunArgs, problem: &Problem, output: OutputOptions) -> Target {
    match &args.output {
        // A picture is drawn from values in memory.
        Some(path) if args.plot.is_none() => destination::target(path, problem, output),
        _ => Target::Memory,
    }
}

/// The first SIGINT, SIGTERM or SIGHUP stops the run before its next batch, the second one at once.
pub(crate) fn interrupts() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    for (signal, status) in [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] {
        // A run under nohup outlives its terminal.
        if signal == SIGHUP && !hangs_up() {
            continue;
        }
        // A signal that cannot be caught ends the run as usual.
        let _ = flag::register_conditional_shutdown(signal, status, stop.clone());
        let _ = flag::register(signal, stop.clone());
        let _ = flag::register_usize(
            signal,
            LAST_SIGNAL.get_or_init(Arc::default).clone(),
            status as usize,
        );
    }
    stop
}

/// Whether SIGHUP would end this process, as far as the system says.
fn hangs_up() -> bool {
    let mut text = [0; 4096];
    let source = zipfold::internals::io::guard::Source::open(
        "/proc/self/status",
        &Budget::new(text.len() as u64),
    );
    let got = source
        .ok()
        .and_then(|s| s.read_at(0, &mut text).ok())
        .unwrap_or(0);
    let status = String::from_utf8_lossy(&text[..got]);
    let ignored = status
        .lines()
        .find_map(|l| u64::from_str_radix(l.strip_prefix("SigIgn:")?.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 0)
}

/// Status that belongs to the signal caught last.
static LAST_SIGNAL: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// Exit status of an interrupted run.
pub(crate) fn interrupted_status() -> Option<i32> {
    let last = LAST_SIGNAL.get().map_or(0, |s| s.load(Ordering::Relaxed));
    i32::try_from(last).ok().filter(|s| *s > 0)
}

fn resume_hint(error: Error, options: &Options<'_>) -> Error {
    // A run that starts afresh removes what was there, so this is its own.
    let kept = options
        .checkpoint
        .as_ref()
        .is_some_and(|path| Presence::behind(path) != Presence::Nothing);
    if error.blame() == Blame::Interrupted && kept {
        error.remedy(quote::resuming())
    } else {
        error
    }
}

fn write_shard(
    problem: &Problem,
    outcome: &Outcome,
    args: &RunArgs,
    shard: (usize, usize),
) -> Result<Vec<String>> {
    let Some(path) = &args.output else {
        return Err(
            Error::request("a shard needs a place for its partial result")
                .at_place("--shard")
                .remedy("-o part.zfp"),
        );
    };
    partial::write(
        Path::new(path),
        &shards::part(problem, outcome, shard)?,
        args.force,
    )?;
    Ok(vec![path.clone()])
}

/// Refuses options that a merge has no use for.
pub(crate) fn refuse_unused(args: &RunArgs) -> Result<()> {
    let unused = [
        (
            "--shard",
            args.shard.is_some(),
            "merge all shards in one go",
        ),
        (
            "--resume",
            args.resume,
            "leave it out: a merge starts again",
        ),
        (
            "--device",
            args.device != "auto",
            "leave it out: shards are merged on the host",
        ),
    ];
    match unused.iter().find(|(_, given, _)| *given) {
        Some((name, _, remedy)) => Err(Error::request("a merge has no use for it")
            .at_place(*name)
            .remedy(*remedy)),
        None => Ok(()),
    }
}

/// Partial results by the names of their files, and what they take of the budget.
#[derive(Default)]
struct Shards {
    parts: Vec<(String, Partial)>,
    held: Vec<Reservation>,
}

fn read_shards(paths: &[String], budget: &Budget) -> Result<Shards> {
    let mut shards = Shards::default();
    for path in paths {
        let part = partial::read(Path::new(path), budget)?;
        shards.parts.push((path.clone(), part));
        let bytes = Presence::behind(Path::new(path)).bytes();
        shards.held.push(budget.reserve(bytes, "the shards")?);
    }
    Ok(shards)
}

/// Folds the partial results of all shards of one problem.
pub(crate) fn merge(paths: &[String], args: &RunArgs) -> Result<()> {
    check(args)?;
    refuse_unused(args)?;
    let start = Instant::now();
    let budget = budget(args)?;
    let Shards {
        mut parts,
        held: _held,
    } = read_shards(paths, &budget)?;
    parts.sort_by_key(|(_, part)| part.shard);
    let Some((name, first)) = parts.first() else {
        return Err(Error::request("no partial results to merge"));
    };
    let problem = shards::problem_of(name, first)?;
    if let Some(path) = &args.output {
        result_files::refuse_early(path, &problem, args)?;
    }
    let data = read_data(&problem, &budget)?;
    let mut options = Options {
        threads: args.threads,
        budget: budget.clone(),
        overrides: problem_from_args::overrides(&args.set)?,
        ..Options::default()
    };
    if !args.json {
        options.warnings = Bar::new(true).warnings();
    }
    let target = target(args, &problem, args.how_written());
    let mut parts = parts.into_iter().map(Ok);
    let (answer, _) = merge_each((&problem, &data), &mut parts, (&target, false), &options)?;
    let files = finish(&answer, args, None, args.how_written())?;
    let seconds = Seconds {
        total: start.elapsed().as_secs_f64(),
        ..Seconds::default()
    };
    let told = Told {
        verb: "merge",
        inputs: inputs(&problem, &data, args),
        answer: &answer,
        seconds: &seconds,
        peak_bytes: budget.peak(),
        outputs: &[],
    };
    tell(told, files, args)
}

/// Prints the plan of `problem`.
pub(crate) fn explain(
    problem: &Problem,
    args: &RunArgs,
    verbose: bool,
    budget: &Budget,
) -> Result<()> {
    let data = read_data(problem, budget)?;
    let options = Options {
        threads: args.threads,
        budget: budget.clone(),
        overrides: problem_from_args::overrides(&args.set)?,
        device: DeviceSelector::parse(&args.device)?,
        ..Options::default()
    };
    let target = target(args, problem, args.how_written());
    let explained = Query::new(problem, &data, &options).explain()?;
    let explained = explained.going_to(&target);
    options
        .warnings
        .all()
        .iter()
        .for_each(crate::terminal::warning);
    // JSON has them among the facts of the plan.
    if !explained.on_device && !args.json {
        explained
            .plan
            .warnings
            .iter()
            .for_each(crate::terminal::warning);
    }
    print_line(&if args.json {
        explained.json(flags::words)?.to_string()
    } else {
        explained.text(verbose).told(flags::words)
    })
}

/// Writes the kernels for `problem` on a described device, with the plan for it before them.
pub(crate) fn emit(problem: &Problem, args: &RunArgs, target: &str, budget: &Budget) -> Result<()> {
    let facts = crate::target::facts(target, budget)?;
    let data = read_data(problem, budget)?;
    let options = Options {
        threads: args.threads,
        budget: budget.clone(),
        overrides: problem_from_args::overrides(&args.set)?,
        ..Options::default()
    };
    let text = kernels_text(&Query::new(problem, &data, &options), &facts, &options)?;
    match args.output.as_deref() {
        None | Some("-") => print_line(&text),
        Some(path) => write_text(path, &text, args.how_written()),
    }
}

/// The kernels of a query on the device that `facts` describe, the plan in comments before them.
fn kernels_text(query: &Query<'_>, facts: &Facts, options: &Options<'_>) -> Result<String> {
    let mut explained = query.explain_on_host()?;
    let (plan, text) = zipfold::internals::device::kernels(
        &explained.job,
        explained.plan,
        facts,
        &options.overrides,
    )?;
    explained.plan = plan;
    let told = explained.text(true).told(flags::words);
    let told = told.lines().map(|l| format!("// {l}\n"));
    Ok(told.chain([text]).collect())
}

/// The tables of x and y, within the memory asked for.
pub(crate) fn tables(pair: &PairArgs, run: &RunArgs) -> Result<(Table, Option<Table>)> {
    let budget = budget(run)?;
    let options = ReadOptions::default();
    let read = |path: &str| {
        let table = read_table(path, &options, &budget)?;
        pair.columns.as_deref().map_or_else(
            || Ok(table.clone()),
            |columns| table.select(columns, &budget),
        )
    };
    Ok((read(&pair.x)?, pair.y.as_deref().map(read).transpose()?))
}
