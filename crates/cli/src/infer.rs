//! `zipfold infer` and `zipfold explain infer`.

use crate::args::InferArgs;
use crate::infer_tables::{self as tables, Form, impossible};
use crate::progress::Phases;
use crate::terminal::{say, say_written};
use crate::{infer_explain, infer_report, lists, problem_from_args, result_files, terminal};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use zipfold::Warnings;
use zipfold::devices::DeviceSelector;
use zipfold::internals::core::budget::human_bytes;
use zipfold::internals::core::figures;
use zipfold::internals::destination::{dotted, refuse_place};
use zipfold::internals::infer::{Inferred, Listener, Settings, count_first, explain, infer};
use zipfold::internals::io::{OutputOptions, evidence, network};
use zipfold::internals::picture;
use zipfold::internals::product::plan::Grouping;
use zipfold::internals::slices::{Checkpoint, SharedInference, SliceStore};
use zipfold::internals::written::write_text;
use zipfold::network::{Answer, Evidence, Network, Task};
use zipfold::{Budget, Error, Precision, Result};

/// Everything that is read and checked before work.
struct Prepared {
    network: Network,
    evidence: Evidence,
    task: Task,
    /// Variables of an answer that is for some of them.
    only: Vec<usize>,
    settings: Settings,
    form: Form,
    /// Whether the answer was written as it was found.
    drawn: bool,
}

/// The question of the arguments, for workers.
///
/// # Errors
/// Those of reading.
pub(crate) fn asked(args: &InferArgs) -> Result<SharedInference> {
    check(args)?;
    let ready = prepare(args)?;
    Ok(SharedInference::new(
        (ready.network, ready.evidence),
        (ready.task, ready.only),
        ready.settings,
    ))
}

/// Runs the command.
///
/// # Errors
/// Whatever reading, planning, executing or writing refuses.
pub(crate) fn run(args: InferArgs) -> Result<()> {
    let start = Instant::now();
    check(&args)?;
    let mut ready = prepare(&args)?;
    refuse_early(&args, ready.form, (&ready.task, &ready.only))?;
    let read = start.elapsed().as_secs_f64();
    let phases = Phases::new(args.run.quiet || args.run.json);
    ready.settings.listener = phases.listener().map(Listener::new);
    if !args.run.json {
        ready.settings.warnings = phases.warnings();
    }
    ready.drawn = row_vectors(&args, &ready);
    let done = match ready.task {
        Task::Samples(many) if ready.drawn => crate::infer_samples::run(
            &args,
            ready.form,
            &ready.network,
            &ready.evidence,
            many,
            &ready.settings,
        )?,
        _ => infer(
            &ready.network,
            &ready.evidence,
            &ready.task,
            &ready.settings,
        )?,
    };
    drop(phases);
    finish(&args, &ready, &done, (read, start))
}

/// The answer of a store's parts, by `answer`.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_merged(
    args: &InferArgs,
    mut asked: SharedInference,
    answer: impl FnOnce(&SharedInference) -> Result<Inferred>,
) -> Result<()> {
    let start = Instant::now();
    check(args)?;
    let phases = Phases::new(args.run.quiet || args.run.json);
    asked.settings.listener = phases.listener().map(Listener::new);
    if !args.run.json {
        asked.settings.warnings = phases.warnings();
    }
    if let Some(memory) = &args.run.memory {
        asked.settings.memory = problem_from_args::bytes(memory)?;
    }
    let form = form(args)?;
    refuse_early(args, form, (&asked.task, &asked.only))?;
    let done = answer(&asked)?;
    drop(phases);
    let ready = Prepared {
        form,
        network: asked.network,
        evidence: asked.evidence,
        task: asked.task,
        only: asked.only,
        settings: asked.settings,
        drawn: false,
    };
    finish(args, &ready, &done, (0.0, start))
}

/// Writes the answer, and says what was done since `start`, `read` seconds of which were reading.
fn finish(
    args: &InferArgs,
    ready: &Prepared,
    done: &Inferred,
    (read, start): (f64, Instant),
) -> Result<()> {
    if done.answer == Answer::Impossible && ready.task != Task::Pr {
        return Err(impossible());
    }
    let outputs = write(args, ready, done)?;
    ready
        .settings
        .checkpoint
        .iter()
        .for_each(|checkpoint| zipfold::internals::partial::discard(&checkpoint.path));
    let total = start.elapsed().as_secs_f64();
    report(args, &ready.network, done, (read, total), &outputs)
}

/// Writes the page about the run, and says what was done in `read` seconds of reading and `total`
/// in all.
fn report(
    args: &InferArgs,
    network: &Network,
    done: &Inferred,
    (read, total): (f64, f64),
    outputs: &[String],
) -> Result<()> {
    if let Some(path) = &args.run.report {
        infer_report::write(path, network, args, done, total, options(args))?;
    }
    if args.run.json {
        return terminal::print_line(&summary(args, network, done, (read, total), outputs));
    }
    if !args.run.quiet {
        tell(args, network, done, total);
        let written = outputs.iter().chain(&args.run.report);
        written.for_each(|o| say_written(o));
    }
    Ok(())
}

/// Whether the answer is written as it is found: samples are, but for tables, which are cut, and
/// reports alone.
fn row_vectors(args: &InferArgs, ready: &Prepared) -> bool {
    let report_alone = args.run.json && args.run.output.is_none();
    matches!(ready.task, Task::Samples(_))
        && ready.form != Form::Table
        && !report_alone
        && args.run.report.is_none()
}

fn options(args: &InferArgs) -> OutputOptions {
    OutputOptions {
        force: args.run.force,
        durable: args.run.durable,
    }
}

/// Prints what [`run`] would do.
///
/// # Errors
/// As [`run`], without executing.
pub(crate) fn run_explain(args: InferArgs) -> Result<()> {
    check(&args)?;
    let ready = prepare(&args)?;
    let start = Instant::now();
    let (reduced, plan, device) = explain(
        &ready.network,
        &ready.evidence,
        &ready.task,
        &ready.settings,
    )?;
    let seconds = start.elapsed().as_secs_f64();
    let host = plan.prediction().map(|p| p.seconds);
    let predicted = device.as_ref().map(|d| d.seconds).or(host);
    let first = predicted.and_then(|s| {
        count_first(
            (&ready.network, &ready.evidence),
            &ready.task,
            &ready.settings,
            s,
        )
    });
    let seconds = (seconds, first);
    if args.run.json {
        let told = infer_explain::json(&ready.network, &reduced, &plan, device.as_ref(), seconds);
        terminal::print_line(&told.to_string())?;
    } else {
        terminal::print(&infer_explain::text(
            &ready.network,
            &reduced,
            &plan,
            device.as_ref(),
            seconds,
        ))?;
    }
    if let (Some(path), Some(_)) = (&args.run.plot, plan.prediction()) {
        picture::write_picture(
            path,
            &picture::profile_svg(&infer_explain::visited(&plan))?,
            options(&args),
        )?;
    }
    Ok(())
}

/// Threads for each core that are started at most: more only wait, and look through each other's
/// work for some.
const MOST_WAITING: usize = 16;

/// Options of other verbs that mean nothing here are refused, with the reason.
fn check(args: &InferArgs) -> Result<()> {
    let run = &args.run;
    let refuse =
        |at: &str, what: &str, remedy: &str| Err(Error::request(what).at_place(at).remedy(remedy));
    DeviceSelector::parse(&run.device)?;
    if run.shard.is_some() {
        return refuse(
            "--shard",
            "an inference is not cut into shards",
            "leave out --shard; --memory cuts it into slices",
        );
    }
    if run.json && (run.output.as_deref() == Some("-")) {
        return refuse(
            "--json",
            "both the answer and the report would go to standard output",
            "-o FILE",
        );
    }
    if run.resume && run.output.as_deref().is_none_or(|o| o == "-") {
        return refuse(
            "--resume",
            "nothing to resume without an output",
            "-o FILE as before",
        );
    }
    if run.threads > 4096 {
        let e = Error::request(format!("{} threads", run.threads))
            .at_place("--threads")
            .limit("4096");
        return Err(e.remedy("as many as the machine has cores, which is the default"));
    }
    if args.model.as_os_str() == "-" && args.evidence.as_ref().is_some_and(|e| e.as_os_str() == "-")
    {
        return refuse(
            "--evidence",
            "standard input is the network already",
            "a file for one of the two",
        );
    }
    Ok(())
}

/// Outputs that could not be written are refused before work.
fn refuse_early(args: &InferArgs, form: Form, (task, only): (&Task, &[usize])) -> Result<()> {
    if let Some(path) = args.run.output.as_deref().filter(|o| *o != "-") {
        refuse_place(path, args.run.how_written())?;
    }
    if let Some(path) = &args.run.plot {
        if !matches!(task, Task::Mar) {
            let what = format!("the answer of the task {} has no picture", args.task);
            return Err(Error::request(what)
                .at_place("--plot")
                .remedy("--task mar has one; `explain infer --plot` draws the cost"));
        }
        result_files::refuse_picture(path, &args.run)?;
    }
    if let Some(path) = &args.run.report {
        zipfold::internals::report::check_name(path)?;
        refuse_place(path, args.run.how_written())?;
    }
    if form == Form::Uai && matches!(task, Task::Mar) && !only.is_empty() {
        let e =
            Error::request("the UAI format has the marginals of all variables").at_place("--keep");
        return Err(e.remedy("--format csv, json or table, or leave out --keep"));
    }
    Ok(())
}

/// Starts the threads of the process, where their number is given.
fn start_threads(threads: usize) -> Result<()> {
    if threads == 0 {
        return Ok(());
    }
    let most = MOST_WAITING * std::thread::available_parallelism().map_or(1, usize::from);
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.min(most))
        .build_global()
        .map_err(|e| Error::request(e.to_string()).at_place("--threads"))
}

/// The evidence of the file and of the observations named on the command line.
fn observed(args: &InferArgs, model: &Network, budget: &Budget) -> Result<Evidence> {
    let mut seen = match &args.evidence {
        Some(path) => network::read_evidence(path, model, budget)?,
        None => Evidence::none(),
    };
    for one in &args.observe {
        let (name, state) = one.split_once('=').ok_or_else(|| {
            let e = Error::request(format!("'{one}' is not NAME=STATE")).at_place("--observe");
            e.remedy("a variable and its state, as in --observe smoke=yes")
        })?;
        evidence::observe(&mut seen, model, name.trim(), state.trim())
            .map_err(|e| e.at_least("--observe"))?;
    }
    Ok(seen)
}

fn prepare(args: &InferArgs) -> Result<Prepared> {
    start_threads(args.run.threads)?;
    let settings = settings(args)?;
    let form = form(args)?;
    let budget = Budget::new(settings.memory);
    let model = network::read_network(&args.model, &budget)?;
    let evidence = observed(args, &model, &budget)?;
    let (task, only) = task(args, &model)?;
    Ok(Prepared {
        network: model,
        evidence,
        task,
        only,
        settings,
        form,
        drawn: false,
    })
}

/// The form of the answer: as asked, by the extension, a table for a person, the competition's for
/// a program.
fn form(args: &InferArgs) -> Result<Form> {
    if let Some(name) = &args.format {
        return Ok(Form::named(name));
    }
    match args.run.output.as_deref() {
        None | Some("-") if terminal::is_read() => Ok(Form::Table),
        None | Some("-") => Ok(Form::Uai),
        Some(path) => {
            let suffix = std::path::Path::new(path)
                .extension()
                .and_then(|e| e.to_str())
                .unwrap_or("")
                .to_lowercase();
            Form::of_suffix(&suffix).ok_or_else(|| {
                let what = format!("infer writes no '.{suffix}' files");
                let remedy = format!(
                    "a name that ends in one of {}, or --format",
                    dotted(lists::suffixes("infer"))
                );
                Error::request(what)
                    .at_place(path.to_string())
                    .remedy(remedy)
            })
        }
    }
}

/// Seconds that an option gives.
fn positive(x: f64, option: &str) -> Result<f64> {
    if x >= 0.0 {
        return Ok(x);
    }
    Err(Error::request(format!("{x} seconds"))
        .at_place(option.to_string())
        .limit("at least 0"))
}

fn settings(args: &InferArgs) -> Result<Settings> {
    let memory = args.run.memory.as_deref().map_or_else(
        || Ok(zipfold::internals::io::memory::usual()),
        problem_from_args::bytes,
    )?;
    Ok(Settings {
        memory,
        precision: if args.precision == "f32" {
            Precision::F32
        } else {
            Precision::F64
        },
        seed: args.seed,
        order_seconds: args
            .order_time
            .map(|s| positive(s, "--order-time"))
            .transpose()?,
        time_limit: match (args.time_limit, args.plan) {
            (Some(seconds), _) => positive(seconds, "--time-limit")?,
            // The shares of a plan are for many.
            (None, true) => f64::INFINITY,
            (None, false) => 120.0,
        },
        device: DeviceSelector::parse(&args.run.device)?,
        overrides: problem_from_args::overrides(&args.run.set)?,
        checkpoint: checkpoint(
            args,
            positive(args.run.checkpoint_every, "--checkpoint-every")?,
        ),
        store: slice_store(args)?,
        stop: None,
        grouping: Grouping::Auto,
        listener: None,
        warnings: Warnings::default(),
    })
}

/// Where slices are shared out.
fn slice_store(args: &InferArgs) -> Result<Option<SliceStore>> {
    let lease = crate::lease::life(&args.lease)?;
    let store = |path: &PathBuf| SliceStore::new(path.clone(), lease);
    Ok(args.store.as_ref().map(store))
}

/// Beside the output, as for pairs.
fn checkpoint(args: &InferArgs, every: f64) -> Option<Checkpoint> {
    let output = args.run.output.as_deref().filter(|o| *o != "-")?;
    let path = format!("{output}.zipfold-resume").into();
    Some(Checkpoint {
        path,
        every: Duration::from_secs_f64(every.min(1e6)),
        resume: args.run.resume,
    })
}

/// The task, and the variables that the answer is for where it has them all.
fn task(args: &InferArgs, network: &Network) -> Result<(Task, Vec<usize>)> {
    let name = args.task.to_ascii_lowercase();
    let keep = kept(args, network, &name)?;
    Ok(match name.as_str() {
        "pr" => (Task::Pr, vec![]),
        "mar" => (Task::Mar, keep),
        "mmap" if keep.is_empty() => {
            let e = Error::request("mmap asks for no variable").at_place("--keep");
            return Err(e.remedy("--keep A,B or the task map"));
        }
        "mmap" => (Task::Mmap(keep), vec![]),
        "sum" => (Task::Sum(keep), vec![]),
        "samples" => (Task::Samples(args.samples), vec![]),
        _ => (Task::Map, vec![]),
    })
}

/// The variables that `--keep` names, for a task that is about some.
fn kept(args: &InferArgs, network: &Network, task: &str) -> Result<Vec<usize>> {
    let found = args.keep.iter().map(|k| network.find(k));
    let keep = found
        .collect::<Result<Vec<_>>>()
        .map_err(|e| e.at_least("--keep"))?;
    if !keep.is_empty() && matches!(task, "pr" | "map" | "mpe" | "samples") {
        let e =
            Error::request(format!("the task {task} is about all variables")).at_place("--keep");
        return Err(e.remedy("leave out --keep, or --task mmap, sum or mar"));
    }
    Ok(keep)
}

fn write(args: &InferArgs, ready: &Prepared, done: &Inferred) -> Result<Vec<String>> {
    let mut outputs = vec![];
    if let (Some(path), Answer::Mar(_, rows)) = (&args.run.plot, &done.answer) {
        picture::write_picture(
            path,
            &picture::marginals_svg(&ready.network, rows)?,
            options(args),
        )?;
        outputs.push(path.clone());
    }
    if ready.drawn {
        // They are written as they are drawn.
        outputs.extend(args.run.output.clone());
        return Ok(outputs);
    }
    let text = tables::text(ready.form, &ready.network, &done.answer, &ready.only);
    match args.run.output.as_deref() {
        // The report has standard output to itself.
        None if args.run.json => {}
        None => terminal::print(&text)?,
        Some("-") => {
            terminal::print(&text)?;
            outputs.push("-".into());
        }
        Some(path) => {
            write_text(path, &text, options(args))?;
            outputs.insert(0, path.to_string());
        }
    }
    Ok(outputs)
}

/// `mar of 8 variables in 1.2 ms (order search 0.8 ms) · peak 6.2 MiB`.
fn tell(args: &InferArgs, network: &Network, done: &Inferred, total: f64) {
    let [simplify, order, kernel] = done.seconds;
    let variables = figures::grouped(network.cards().len() as u64);
    say(&format!(
        "{} of {variables} variables in {} (order search {}, contraction {}) · peak {}",
        args.task.to_lowercase(),
        figures::duration(total),
        figures::duration(simplify + order),
        figures::duration(kernel),
        human_bytes(done.peak_bytes)
    ));
    if let Some(device) = &done.device {
        say(&infer_explain::device_text(device));
    }
    if let Some(gap) = done.plan.searched().and_then(|s| s.gap) {
        say(&infer_explain::gap_text(&gap));
    }
    if let Some(counting) = done.plan.counted() {
        let text = infer_explain::count_text(counting);
        text.lines().for_each(say);
    }
}

/// log10 of the scale of an answer; none of evidence that cannot happen.
fn log10(answer: &Answer) -> Option<f64> {
    match answer {
        Answer::Impossible => None,
        Answer::Pr(z)
        | Answer::Mar(z, _)
        | Answer::Map(z, _)
        | Answer::Mmap(z, _)
        | Answer::Sum(_, _, z)
        | Answer::Samples(z, _) => Some(*z),
    }
}

fn summary(
    args: &InferArgs,
    network: &Network,
    done: &Inferred,
    (read, total): (f64, f64),
    outputs: &[String],
) -> String {
    let log10 = log10(&done.answer);
    let plan = infer_explain::plan_json(&done.plan);
    serde_json::json!({"schema": 1, "command": "infer", "n": network.cards().len(), "task": args.task, "impossible": log10.is_none(),
        "log10": log10, "plan": plan, "search": done.plan.searched().map(infer_explain::search_json), "count": done.plan.counted().map(infer_explain::count_json), "device": done.device.as_ref().map(infer_explain::device_json),
        "seconds": {"read": read, "simplify": done.seconds[0], "plan": done.seconds[1], "kernel": done.seconds[2], "total": total},
        "peak_bytes": done.peak_bytes, "outputs": outputs, "warnings": crate::flags::told_all(&done.warnings)})
    .to_string()
}
