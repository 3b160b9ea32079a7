//! Questions in shares: `plan`, `work`, `status`, and `merge` of a store.

use crate::args::{Merge, PlanShares, StatusOf, WorkShares, WorkerArgs};
use crate::commands;
use crate::console::{Seconds, Told};
use crate::flags;
use crate::lease::{life, seconds};
use crate::progress::Bar;
use crate::terminal::{print_line, say};
use crate::{infer_shares, problem_from_args, result_files, slurm};
use std::path::Path;
use std::time::Instant;
use zipfold::devices::DeviceSelector;
use zipfold::internals::core::budget::human_bytes;
use zipfold::internals::core::error::quoted;
use zipfold::internals::core::figures::{self, duration};
use zipfold::internals::io::Presence;
use zipfold::internals::shards::ranges_of;
use zipfold::internals::slices::{self, SharedInference};
use zipfold::internals::store::{
    Failure, Habits, Manifest, Running, ShareCount, Status, Store, Worked,
};
use zipfold::io::OutputOptions;
use zipfold::{Budget, Error, Options, Result};

/// The store that `merge` is given, if it is given one folder.
pub(crate) fn store_of(given: &[String]) -> Option<&str> {
    let [one] = given else { return None };
    (Presence::behind(Path::new(one)) == Presence::Folder).then_some(one)
}

/// Refuses to merge some shards of a list: what is missing of it is not known.
pub(crate) fn refuse_incomplete(a: &Merge) -> Result<()> {
    if !a.incomplete {
        return Ok(());
    }
    Err(
        Error::request("expected the folder of a store, got a list of partial results")
            .at_place("--incomplete")
            .remedy("all shards, or a question that was planned as a store"),
    )
}

fn budget(how: &WorkerArgs) -> Result<Budget> {
    Ok(Budget::new(match &how.memory {
        Some(text) => problem_from_args::bytes(text)?,
        None => zipfold::internals::io::memory::usual(),
    }))
}

/// How a worker runs; on `otherwise` where no device is named.
fn options(
    how: &WorkerArgs,
    budget: &Budget,
    otherwise: DeviceSelector,
) -> Result<Options<'static>> {
    if how.threads > 4096 {
        let e = Error::request(format!("{} threads", how.threads)).at_place("--threads");
        return Err(e.limit("4096"));
    }
    Ok(Options {
        threads: how.threads,
        budget: budget.clone(),
        overrides: problem_from_args::overrides(&how.set)?,
        device: match &how.device {
            Some(named) => DeviceSelector::parse(named)?,
            None => otherwise,
        },
        ..Options::default()
    })
}

/// `zipfold plan`.
pub(crate) fn plan(a: &PlanShares) -> Result<()> {
    if a.price
        .is_some_and(|price| !price.is_finite() || price < 0.0)
    {
        return Err(Error::request("a price is a number from 0 on").at_place("--price"));
    }
    let budget = budget(&a.how)?;
    let problem = commands::problem_file(&a.problem, &budget)?;
    // Any machine has a processor, so shares are for devices only where they are named.
    let options = options(&a.how, &budget, DeviceSelector::Cpu)?;
    let root = Path::new(&a.store);
    let planning = ShareCount { shares: a.shares };
    let (_, manifest) = Store::plan(root, &problem, planning, &options)?;
    let script = match a.slurm {
        true => {
            let memory = a.how.memory.as_deref().map(problem_from_args::bytes);
            let work = slurm::Shares::from(&manifest);
            let how = OutputOptions::default();
            Some(slurm::write(&work, root, memory.transpose()?, how)?)
        }
        false => None,
    };
    for warning in options.warnings.all() {
        crate::terminal::warning(&warning);
    }
    if a.how.json {
        let mut report = plan_json(&manifest, a, script.as_deref());
        report["warnings"] = flags::told_all(&options.warnings.all()).into();
        return print_line(&report.to_string());
    }
    planned(&manifest, a).iter().for_each(|line| say(line));
    script
        .iter()
        .for_each(|script| say(&format!("wrote {script}: sbatch {}", quoted(script))));
    Ok(())
}

/// Hours of work of one worker that is like the machine that planned.
fn hours(manifest: &Manifest) -> f64 {
    manifest.predicted.seconds / 3600.0
}

fn plan_json(manifest: &Manifest, a: &PlanShares, script: Option<&str>) -> serde_json::Value {
    serde_json::json!({
        "schema": 1,
        "command": "plan",
        "store": a.store,
        "shares": manifest.shares,
        "shape": manifest.shape,
        "squares": manifest.squares,
        "key": manifest.key,
        "predicted": manifest.predicted,
        "cost": a.price.map(|price| price * hours(manifest)),
        "script": script,
    })
}

fn planned(manifest: &Manifest, a: &PlanShares) -> Vec<String> {
    let (store, predicted) = (&a.store, &manifest.predicted);
    // Shares of squares read their rows; others all inputs, once for each worker.
    let reader = match manifest.squares {
        Some(_) => "the largest share",
        None => "each worker",
    };
    let mut lines = vec![
        format!(
            "store {store}: {} shares, {}; {} pairs",
            manifest.shares,
            manifest.shape,
            figures::grouped(predicted.pairs)
        ),
        format!(
            "predicted: {} of work, {} for a share, on {} threads; {reader} reads {}, all parts have {}",
            duration(predicted.seconds),
            duration(predicted.share_seconds),
            predicted.threads,
            human_bytes(predicted.input_bytes),
            human_bytes(predicted.part_bytes)
        ),
    ];
    if let Some(squares) = &manifest.squares {
        let percent = 100.0 * squares.settled as f64 / predicted.pairs.max(1) as f64;
        lines.push(format!(
            "squares: {}, of which {} are left; bounds settle {percent:.3} % of the pairs in the plan",
            figures::grouped(squares.all),
            figures::grouped(squares.left)
        ));
    }
    if let Some(price) = a.price {
        let cost = price * hours(manifest);
        lines.push(format!("cost: {cost:.2}, at {price} for a worker's hour"));
    }
    lines.push(format!("work on it: zipfold work {}", quoted(store)));
    lines
}

/// `zipfold work`.
pub(crate) fn work(a: &WorkShares) -> Result<()> {
    let habits = Habits {
        lease: life(&a.lease)?,
        retries: u32::try_from(a.retries.max(1)).unwrap_or(u32::MAX),
        waits: !a.next,
        most: if a.next { 1 } else { usize::MAX },
        ..Habits::default()
    };
    let (budget, stop) = (budget(&a.how)?, commands::interrupts());
    let (root, life) = (Path::new(&a.store), habits.lease);
    let every = seconds(a.checkpoint_every, 0.0, "--checkpoint-every")?;
    let taken = options(&a.how, &budget, DeviceSelector::Auto)?;
    if let Some(mut asked) = SharedInference::read(root, &budget)? {
        let worked = infer_shares::work(&mut asked, a, (&habits, every), stop);
        let busy = || Ok(infer_shares::status(root, life, &budget)?.running);
        return worked_on(worked, busy, a);
    }
    let progress = Bar::new(a.quiet || a.how.json);
    let show = |p: zipfold::Progress| progress.tell(p);
    let mut options = Options {
        checkpoint_every: every,
        stop: Some(&stop),
        progress: Some(&show),
        ..taken
    };
    if !a.how.json {
        options.warnings = progress.warnings();
    }
    let store = Store::open(root);
    let loaded = store.load_to_work(&budget)?;
    let worked = store.work(&loaded, a.share, (&habits, flags::words), &options);
    progress.end();
    worked_on(worked, || Ok(store.status(life, &budget)?.running), a)
}

/// Says what a worker has done, while the `busy` ones are at shares.
fn worked_on(
    worked: Result<Worked>,
    busy: impl FnOnce() -> Result<Vec<Running>>,
    a: &WorkShares,
) -> Result<()> {
    let worked = worked.map_err(|e| goes_on(e, &a.store))?;
    // A worker that wants the next share alone does not wait for shares of others.
    let busy = match worked.done.is_empty() && worked.failed.is_empty() {
        true => busy()?,
        false => vec![],
    };
    report(&worked, &busy, a)
}

/// An interruption says how the share goes on.
fn goes_on(e: Error, store: &str) -> Error {
    match e.blame() {
        zipfold::Blame::Interrupted => e.remedy(format!(
            "`zipfold work {}` goes on inside the share",
            quoted(store)
        )),
        _ => e,
    }
}

fn report(worked: &Worked, busy: &[Running], a: &WorkShares) -> Result<()> {
    let busy: Vec<usize> = busy.iter().map(|one| one.share).collect();
    if a.how.json {
        print_line(&serde_json::json!({"schema": 1, "command": "work", "done": worked.done, "failed": worked.failed, "busy": busy}).to_string())?;
    } else if !a.quiet {
        let done = &worked.done[..];
        if !done.is_empty() || worked.failed.is_empty() {
            say(&told_of(done, &busy));
        }
    }
    refuse_failed(worked, &a.store)
}

/// What a worker has done, or why nothing.
fn told_of(done: &[usize], busy: &[usize]) -> String {
    match (done, busy) {
        ([], []) => "no share was left to do".to_string(),
        ([], busy) => format!("no share is free: others work on {}", ranges(busy)),
        (done, _) => format!("shares done: {}", ranges(done)),
    }
}

/// Refuses a worker's end with shares that failed.
fn refuse_failed(worked: &Worked, store: &str) -> Result<()> {
    let Some((share, error)) = worked.failed.first() else {
        return Ok(());
    };
    let failed: Vec<usize> = worked.failed.iter().map(|(share, _)| *share).collect();
    // Its remedy is on a line of its own, which `status` shows.
    let error = error.lines().next().unwrap_or_default();
    let what = format!(
        "shares failed: {}; share {share} with: {error}",
        ranges(&failed)
    );
    Err(Error::input(what).at_place(store.to_string()))
}

fn ranges(numbers: &[usize]) -> String {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    ranges_of(&numbers)
}

/// `zipfold status`.
pub(crate) fn status(a: &StatusOf) -> Result<()> {
    let budget = Budget::new(zipfold::internals::io::memory::usual());
    let (life, root) = (life(&a.lease)?, Path::new(&a.store));
    let status = match slices::status(root, life, &budget)? {
        Some(of_slices) => of_slices,
        None => Store::open(root).status(life, &budget)?,
    };
    if a.json {
        let text = serde_json::to_string(&status);
        return print_line(&text.map_err(|e| Error::internal(e.to_string()))?);
    }
    print_line(&status_text(&a.store, &status))
}

fn status_text(store: &str, status: &Status) -> String {
    let mut out = format!(
        "{store}: {} of {} shares are done",
        status.done, status.shares
    );
    let lost = status.running.iter().filter(|r| r.lost).count();
    let no_room = status.failed.iter().filter(|one| one.no_room).count();
    let counts = [
        (status.running.len() - lost, "running"),
        (lost, "lost"),
        (status.failed.len() - no_room, "failed"),
        (no_room, "without room"),
    ];
    for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
        out += &format!(", {count} {what}");
    }
    out.extend(status.running.iter().map(running_line));
    out.extend(status.failed.iter().map(failure_line));
    if !status.missing.is_empty() {
        out += &format!("\n  missing {}", ranges_of(&status.missing));
        out += &format!("\n  about {} of work left", duration(status.seconds_left));
    }
    out
}

fn running_line(one: &Running) -> String {
    let what = if one.lost { "lost" } else { "running" };
    let (worker, quiet) = (&one.worker, one.quiet);
    format!(
        "\n  {what} {}: process {} of {}, last sign {quiet:.0} s ago",
        one.share, worker.process, worker.host
    )
}

fn failure_line(one: &Failure) -> String {
    let Failure {
        share,
        times,
        error,
        ..
    } = one;
    match one.no_room {
        true => format!("\n  no room for {share} on {}: {error}", one.host),
        false => format!("\n  failed {share} ({times} times): {error}"),
    }
}

/// `zipfold merge` of a store.
pub(crate) fn merge(root: &str, a: &Merge) -> Result<()> {
    let args = &a.run;
    commands::check(args)?;
    commands::refuse_unused(args)?;
    let (start, budget) = (Instant::now(), commands::budget(args)?);
    if let Some(asked) = SharedInference::read(Path::new(root), &budget)? {
        return infer_shares::merge(asked, root, a);
    }
    let store = Store::open(Path::new(root));
    let manifest = store.manifest(&budget)?;
    if let Some(path) = &args.output {
        result_files::refuse_early(path, &manifest.problem, args)?;
    }
    let loaded = store.load(&budget)?;
    let problem = &loaded.manifest.problem;
    let mut options = Options {
        threads: args.threads,
        budget: budget.clone(),
        overrides: loaded
            .manifest
            .overrides()?
            .and(&problem_from_args::overrides(&args.set)?),
        ..Options::default()
    };
    if !args.json {
        options.warnings = Bar::new(true).warnings();
    }
    let target = commands::target(args, problem, args.how_written());
    let (answer, missing) = store.merge(&loaded, (&target, a.incomplete), &options)?;
    if !missing.is_empty() {
        let text = format!("the answer lacks the shares {}", ranges_of(&missing));
        crate::terminal::warning(&text.into());
    }
    let files = commands::finish(&answer, args, None, args.how_written())
        .map_err(|e| store.made_again(e))?;
    let seconds = Seconds {
        total: start.elapsed().as_secs_f64(),
        ..Seconds::default()
    };
    let told = Told {
        verb: "merge",
        inputs: commands::inputs(problem, loaded.all_data()?, args),
        answer: &answer,
        seconds: &seconds,
        peak_bytes: budget.peak(),
        outputs: &[],
    };
    commands::tell(told, files, args)
}
