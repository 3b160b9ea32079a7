//! Inferences in shares: `infer --plan`, and `work` and `merge` of their stores.

use crate::args::{InferArgs, Merge, WorkShares};
use crate::progress::Phases;
use crate::terminal::{print_line, say};
use crate::{flags, infer, slurm};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use zipfold::internals::core::budget::human_bytes;
use zipfold::internals::core::error::quoted;
use zipfold::internals::core::figures::duration;
use zipfold::internals::core::message::Wording;
use zipfold::internals::destination::refuse_place;
use zipfold::internals::infer::Listener;
use zipfold::internals::io::Presence;
use zipfold::internals::pool;
use zipfold::internals::slices::{self, SharedInference, SlicePlan};
use zipfold::internals::store::{Habits, Status, Worked};
use zipfold::{Budget, Error, Result};

/// `infer`, which only plans with `--plan`.
pub(crate) fn run(args: &InferArgs) -> Result<()> {
    match args.plan {
        true => plan(args),
        false => infer::run(args.clone()),
    }
}

fn plan(args: &InferArgs) -> Result<()> {
    refuse_answers(args)?;
    let root = args.store.as_deref().unwrap_or(Path::new(""));
    // Not after the work of planning.
    if args.slurm && Presence::behind(root) == Presence::Folder {
        refuse_place(&slurm::place(root), args.run.how_written())?;
    }
    let phases = Phases::new(args.run.quiet || args.run.json);
    let mut asked = infer::asked(args)?;
    asked.settings.listener = phases.listener().map(Listener::new);
    if !args.run.json {
        asked.settings.warnings = phases.warnings();
    }
    if args.run.memory.is_none() {
        let most = human_bytes(asked.settings.memory);
        let text = format!(
            "each worker holds up to {most}, which this machine has free: --memory says less"
        );
        asked.settings.warnings.add(text);
    }
    let plan = asked.plan(root, args.shares)?;
    drop(phases);
    let (shares, store) = (plan.shares(), root.to_string_lossy());
    let share_seconds = plan.seconds() / shares as f64;
    let threads = match args.run.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let script = match args.slurm {
        true => Some(write_script(&asked, &plan, threads, args)?),
        false => None,
    };
    if args.run.json {
        let told = serde_json::json!({
            "schema": 1,
            "command": "infer",
            "store": store,
            "shares": shares,
            "slices": plan.slices(),
            "predicted": {"seconds": plan.seconds(), "share_seconds": share_seconds},
            "script": script,
            "warnings": flags::told_all(&asked.settings.warnings.all()),
        });
        return print_line(&told.to_string());
    }
    if !args.run.quiet {
        say(&format!(
            "store {store}: {shares} shares of {} slices",
            plan.slices()
        ));
        say(&format!(
            "predicted: {} of work, {} for a share, on {threads} threads",
            duration(plan.seconds()),
            duration(share_seconds)
        ));
        say(&format!("work on it: zipfold work {}", quoted(&store)));
        let written = |script: &String| say(&format!("wrote {script}: sbatch {}", quoted(script)));
        script.iter().for_each(written);
    }
    Ok(())
}

/// Writes the script for Slurm into the store, and returns its name.
fn write_script(
    asked: &SharedInference,
    plan: &SlicePlan,
    threads: usize,
    args: &InferArgs,
) -> Result<String> {
    let work = slurm::Shares {
        number: plan.shares(),
        shape: "slices",
        seconds: plan.seconds() / plan.shares() as f64,
        threads,
        device: &asked.settings.device.to_string(),
        held: Some(asked.settings.memory),
    };
    let root = args.store.as_deref().unwrap_or(Path::new(""));
    slurm::write(&work, root, None, args.run.how_written())
}

/// Refuses to plan where an answer is to be written.
fn refuse_answers(args: &InferArgs) -> Result<()> {
    let run = &args.run;
    let given = [
        ("-o", run.output.is_some()),
        ("--plot", run.plot.is_some()),
        ("--report", run.report.is_some()),
        ("--resume", run.resume),
        ("--format", args.format.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Error::request(
            "expected a plan alone, got a place for its answer",
        )
        .at_place(*option)
        .remedy("`zipfold merge DIR -o FILE` when the shares are done")),
    }
}

/// `work` of a store of an inference.
pub(crate) fn work(
    asked: &mut SharedInference,
    a: &WorkShares,
    (habits, every): (&Habits, Duration),
    stop: Arc<AtomicBool>,
) -> Result<Worked> {
    let given = [
        ("--memory", a.how.memory.is_some()),
        ("--device", a.how.device.is_some()),
        ("--set", !a.how.set.is_empty()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        let e = Error::request("the slices of an inference are cut by its plan, which has it");
        return Err(e
            .at_place(*option)
            .remedy("`zipfold infer` with --plan and this option"));
    }
    let root = Path::new(&a.store);
    if !a.how.json {
        asked.settings.warnings = Phases::new(true).warnings();
    }
    let told = (flags::words as Wording, Some(stop));
    pool::within(a.how.threads, || {
        asked.work(root, a.share, (habits, every), told)
    })?
}

/// How far a store of an inference is.
pub(crate) fn status(root: &Path, life: Duration, budget: &Budget) -> Result<Status> {
    let status = slices::status(root, life, budget)?;
    status.ok_or_else(|| Error::input("the plan of the store is gone"))
}

/// `merge` of a store of an inference.
pub(crate) fn merge(asked: SharedInference, root: &str, a: &Merge) -> Result<()> {
    if a.incomplete {
        let what = "an inference has no answer without some of its shares";
        let e = Error::request(what).at_place("--incomplete");
        return Err(e.remedy("leave out --incomplete, and have workers do these shares"));
    }
    if !a.run.set.is_empty() {
        let e = Error::request("the plan of the store has it").at_place("--set");
        return Err(e.remedy("leave it out, or `zipfold infer` with --plan and this option"));
    }
    let args = InferArgs::of_store(root, slices::name_of(&asked.task), &a.run);
    infer::run_merged(&args, asked, |asked| {
        pool::within(a.run.threads, || asked.merge(Path::new(root)))?
    })
}
