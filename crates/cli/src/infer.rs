//! `zipfold infer` and `zipfold explain infer`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use zipfold::core::factor::{Answer, Evidence, Network, Task};
use zipfold::core::shown::shown;
use zipfold::core::{Blame, Budget, Error, Precision, Result};
use zipfold::infer::{Inferred, Settings, explain, infer};
use zipfold::io::{evidence, network, uai_result};
use zipfold::slices::Checkpoint;

/// Exact inference on a discrete graphical model.
#[derive(clap::Args, Clone, Debug)]
pub struct InferArgs {
    /// The network: .uai, .erg, .bif, .xmlbif or .net, plain or .gz or .xz
    pub model: PathBuf,
    /// Evidence in the UAI format, or `name = state` lines
    #[arg(long)]
    pub evidence: Option<PathBuf>,
    /// One more observation: NAME=STATE (may be repeated)
    #[arg(long, value_name = "NAME=STATE")]
    pub observe: Vec<String>,
    /// pr, mar, map, mmap, sum or samples
    #[arg(long, default_value = "mar")]
    pub task: String,
    /// Variables of mmap and sum, by name or number
    #[arg(long, value_delimiter = ',')]
    pub keep: Vec<String>,
    /// Number of samples
    #[arg(long, default_value_t = 1)]
    pub samples: usize,
    /// Seconds for the order search [default: tied to the predicted execution]
    #[arg(long)]
    pub order_time: Option<f64>,
    /// Predicted seconds beyond which the network is refused
    #[arg(long, default_value_t = 120.0)]
    pub time_limit: f64,
    /// Bytes that may be held: 2GiB, 500MiB, … [default: 80 % of what is free]
    #[arg(long)]
    pub memory: Option<String>,
    /// f64 or f32
    #[arg(long, default_value = "f64")]
    pub precision: String,
    /// Seed of the order search and of samples
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Threads [default: all]
    #[arg(long)]
    pub threads: Option<usize>,
    /// Where the answer goes: .json and .csv with names, else the UAI competition's format; - is stdout
    #[arg(short, long, default_value = "-")]
    pub output: PathBuf,
    /// Go on after an interruption, where memory made slices
    #[arg(long)]
    pub resume: bool,
    /// Seconds between checkpoints of slices
    #[arg(long, default_value_t = 10.0, value_name = "SECONDS", allow_negative_numbers = true)]
    pub checkpoint_every: f64,
    /// Replace an existing output
    #[arg(long)]
    pub force: bool,
    /// Print a machine-readable summary to stdout
    #[arg(long)]
    pub json: bool,
    /// Draw the cost of the contraction tree, or (with the answer of mar) the marginals, as SVG
    #[arg(long)]
    pub plot: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// Whatever reading, planning, executing or writing refuses.
pub fn run(args: InferArgs) -> Result<()> {
    let start = Instant::now();
    let (network, evidence, task, settings) = prepare(&args)?;
    let read = start.elapsed().as_secs_f64();
    if args.json && args.output.as_os_str() == "-" {
        return Err(Error::request("--json and the answer both want stdout").at("--json").remedy("-o FILE"));
    }
    if args.output.exists() && args.output.is_file() && !args.force {
        let e = Error::request("exists already").at(args.output.to_string_lossy());
        return Err(e.remedy("--force, or another name"));
    }
    let drawn = matches!(task, Task::Samples(_));
    let done = match task {
        Task::Samples(many) => crate::infer_samples::run(&args, &network, &evidence, many, &settings)?,
        _ => infer(&network, &evidence, &task, &settings)?,
    };
    if done.answer == Answer::Impossible && task != Task::Pr {
        return Err(impossible());
    }
    done.warnings.iter().for_each(|w| crate::show::say(&format!("warning: {}", shown(w))));
    if let (Some(path), Answer::Mar(_, rows)) = (&args.plot, &done.answer) {
        uai_result::write(path, &crate::infer_explain::marginals_svg(&network, rows), args.force)?;
    }
    if !drawn {
        write_out(&args, &render(&args, &network, &done.answer))?;
    }
    settings.checkpoint.iter().for_each(|checkpoint| zipfold::partial::discard(&checkpoint.path));
    if args.json {
        crate::show::print_line(&summary(&args, &network, &done, read, start.elapsed().as_secs_f64()))?;
    }
    Ok(())
}

/// Prints what [`run`] would do.
///
/// # Errors
/// As [`run`], without executing.
pub fn run_explain(args: InferArgs) -> Result<()> {
    let (network, evidence, task, settings) = prepare(&args)?;
    let start = Instant::now();
    let (reduced, plan) = explain(&network, &evidence, &task, &settings)?;
    crate::show::print(&crate::infer_explain::text(&network, &reduced, plan.as_ref(), start.elapsed().as_secs_f64()))?;
    if let (Some(path), Some(plan)) = (&args.plot, &plan) {
        uai_result::write(path, &crate::infer_explain::profile_svg(plan), args.force)?;
    }
    Ok(())
}

/// What is said of evidence that cannot happen: there is nothing to ask after it, and its probability is an answer of its
/// own (`--task pr`).
pub fn impossible() -> Error {
    Error::new(Blame::Impossible, "the evidence has probability zero, so there is nothing to ask after it")
        .at("--evidence, --observe")
        .remedy("take back an observation; --task pr gives the probability of what was observed")
}

/// Most threads, as for pairs.
const MOST_THREADS: usize = 4096;
/// Threads for each core that are started at most: more only wait, and look through each other's work for some.
const MOST_WAITING: usize = 16;

fn prepare(args: &InferArgs) -> Result<(Network, Evidence, Task, Settings)> {
    if let Some(threads) = args.threads {
        if threads > MOST_THREADS {
            let e = Error::request(format!("{threads} threads")).at("--threads").limit(MOST_THREADS.to_string());
            return Err(e.remedy("as many as the machine has cores, which is the default"));
        }
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.min(MOST_WAITING * std::thread::available_parallelism().map_or(1, usize::from)))
            .build_global()
            .map_err(|e| Error::request(e.to_string()).at("--threads"))?;
    }
    let settings = settings(args)?;
    let budget = Budget::new(settings.memory);
    let model = network::read_network(&args.model, &budget)?;
    let mut seen = match &args.evidence {
        Some(path) => network::read_evidence(path, &model, &budget)?,
        None => Evidence::none(),
    };
    for one in &args.observe {
        let (name, state) =
            one.split_once('=').ok_or_else(|| Error::request(format!("'{one}' is not NAME=STATE")).at("--observe"))?;
        evidence::observe(&mut seen, &model, name.trim(), state.trim()).map_err(|e| e.at_least("--observe"))?;
    }
    let task = task(args, &model)?;
    Ok((model, seen, task, settings))
}

fn settings(args: &InferArgs) -> Result<Settings> {
    let precision = match args.precision.as_str() {
        "f64" => Precision::F64,
        "f32" => Precision::F32,
        other => {
            return Err(Error::request(format!("'{other}' is no precision")).at("--precision").remedy("f64 or f32"));
        }
    };
    let positive = |x: f64, option: &str| {
        if x >= 0.0 {
            Ok(x)
        } else {
            Err(Error::request(format!("{x} seconds")).at(option.to_string()).limit("at least 0"))
        }
    };
    Ok(Settings {
        memory: args.memory.as_deref().map_or_else(|| Ok(zipfold::io::memory::usual()), crate::ask::bytes)?,
        precision,
        seed: args.seed,
        order_seconds: args.order_time.map(|s| positive(s, "--order-time")).transpose()?,
        time_limit: positive(args.time_limit, "--time-limit")?,
        checkpoint: checkpoint(args, positive(args.checkpoint_every, "--checkpoint-every")?)?,
    })
}

/// Beside the output, as for pairs.
fn checkpoint(args: &InferArgs, every: f64) -> Result<Option<Checkpoint>> {
    if args.output.as_os_str() == "-" {
        let resumed = Error::request("nothing to resume without an output").at("--resume").remedy("-o FILE as before");
        return if args.resume { Err(resumed) } else { Ok(None) };
    }
    let mut path = args.output.clone().into_os_string();
    path.push(".zipfold-resume");
    Ok(Some(Checkpoint { path: path.into(), every: Duration::from_secs_f64(every.min(1e6)), resume: args.resume }))
}

fn task(args: &InferArgs, network: &Network) -> Result<Task> {
    let keep =
        args.keep.iter().map(|k| network.find(k)).collect::<Result<Vec<_>>>().map_err(|e| e.at_least("--keep"))?;
    match args.task.to_ascii_lowercase().as_str() {
        "pr" => Ok(Task::Pr),
        "mar" => Ok(Task::Mar),
        "map" | "mpe" => Ok(Task::Map),
        "mmap" if keep.is_empty() => {
            Err(Error::request("mmap asks for no variable").at("--keep").remedy("--keep A,B or the task map"))
        }
        "mmap" => Ok(Task::Mmap(keep)),
        "sum" => Ok(Task::Sum(keep)),
        "samples" => Ok(Task::Samples(args.samples)),
        other => Err(Error::request(format!("'{other}' is no task"))
            .at("--task")
            .remedy("pr, mar, map, mmap, sum or samples")),
    }
}

fn render(args: &InferArgs, network: &Network, answer: &Answer) -> String {
    let suffix = args.output.extension().map(|s| s.to_string_lossy().to_lowercase()).unwrap_or_default();
    match suffix.as_str() {
        "json" => crate::infer_tables::json(network, answer),
        "csv" => crate::infer_tables::csv(network, answer),
        _ => uai(answer),
    }
}

fn uai(answer: &Answer) -> String {
    match answer {
        Answer::Impossible => uai_result::pr(f64::NEG_INFINITY),
        Answer::Pr(z) => uai_result::pr(*z),
        Answer::Mar(_, rows) => uai_result::mar(rows),
        Answer::Map(_, states) => uai_result::map(states),
        Answer::Mmap(_, states) => uai_result::mmap(states),
        Answer::Sum(vars, values, log10) => {
            let mut out = format!("SUM\n{}", vars.len());
            vars.iter().for_each(|v| _ = write!(out, " {v}"));
            let _ = write!(out, "\n{log10}\n{}", values.len());
            values.iter().for_each(|x| _ = write!(out, " {x}"));
            out + "\n"
        }
        Answer::Samples(_, rows) => {
            let mut out = format!("SAMPLES\n{}\n", rows.len());
            for row in rows {
                let words: Vec<String> = row.iter().map(usize::to_string).collect();
                let _ = writeln!(out, "{}", words.join(" "));
            }
            out
        }
    }
}

fn write_out(args: &InferArgs, text: &str) -> Result<()> {
    if args.output.as_os_str() == "-" {
        return crate::show::print(text);
    }
    zipfold::io::uai_result::write(&args.output, text, args.force)
}

fn summary(args: &InferArgs, network: &Network, done: &Inferred, read: f64, total: f64) -> String {
    let log10 = match &done.answer {
        Answer::Impossible => None,
        Answer::Pr(z)
        | Answer::Mar(z, _)
        | Answer::Map(z, _)
        | Answer::Mmap(z, _)
        | Answer::Sum(_, _, z)
        | Answer::Samples(z, _) => Some(*z),
    };
    let plan = done.plan.as_ref().map(|p| {
        serde_json::json!({"width": p.prediction.width, "log2_largest": p.prediction.largest, "flops": p.prediction.flops,
            "bytes": p.prediction.bytes, "seconds": p.prediction.seconds, "slices": p.sliced.len(), "peak_bytes": p.prediction.peak_bytes})
    });
    serde_json::json!({"schema": 1, "command": "infer", "n": network.cards().len(), "task": args.task, "impossible": log10.is_none(),
        "log10": log10, "plan": plan,
        "seconds": {"read": read, "simplify": done.seconds[0], "plan": done.seconds[1], "kernel": done.seconds[2], "total": total},
        "peak_bytes": done.peak_bytes, "outputs": [args.output.display().to_string()], "warnings": done.warnings})
    .to_string()
}
