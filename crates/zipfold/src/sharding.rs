//! Shards of a run as values: made anywhere, merged to the bits of one run.

use crate::identity::{Identity, differs};
use crate::options::Options;
use crate::outcome::{Outcome, Output};
use crate::partial::Partial;
use crate::query::{Answer, Query, Ready};
use crate::row_names::RowNames;
use zipfold_core::data::Data;
use zipfold_core::fold::State;
use zipfold_core::{Error, Job, Opt, Problem, Result};
use zipfold_plan::Plan;

/// The mergeable result of the shard `shard` (index from 0, parts) that gave `outcome`.
///
/// # Errors
/// `Internal` when a fold that cannot be shared got here.
pub fn part(problem: &Problem, outcome: &Outcome, shard: (usize, usize)) -> Result<Partial> {
    let states = outcome.outputs.iter().map(|o| match o {
        Output::State(state) => Ok(state.clone()),
        _ => Err(Error::internal("a dense fold reached a shard")),
    });
    let identity = outcome
        .identity
        .ok_or_else(|| Error::internal("a shard that was run as a whole"))?;
    Ok(Partial {
        pairs: outcome.pairs,
        tally: outcome.tally,
        problem: serde_json::to_vec(problem).map_err(|e| Error::internal(e.to_string()))?,
        shard: Some(shard),
        // What is complete belongs to no run: the same shard has the same bytes.
        run: 0,
        ..Partial::start(identity, states.collect::<Result<_>>()?)
    })
}

/// The problem inside the partial result called `name`.
///
/// # Errors
/// `Input` when it holds none.
pub fn problem_of(name: &str, part: &Partial) -> Result<Problem> {
    if part.problem.is_empty() {
        let e = Error::request("this is the checkpoint of a run that has not ended, not a shard")
            .at_place(name);
        return Err(e.remedy(format!(
            "go on with the command that made it and {}",
            Opt::Resume
        )));
    }
    serde_json::from_slice(&part.problem)
        .map_err(|e| Error::input(format!("invalid problem inside: {e}")).at_place(name))
}

/// Merges the named partial results of all shards of `problem` over `data`.
///
/// # Errors
/// `Request` when a shard is missing, there twice, of another problem or of other data; `Input`
/// when one is damaged or the shards do not cover the space; and those of [`Query::ready`].
pub fn merge<'a>(
    problem: &'a Problem,
    data: &'a Data,
    mut parts: Vec<(String, Partial)>,
    options: &'a Options<'a>,
) -> Result<Answer<'a>> {
    parts.sort_by_key(|(_, p)| p.shard);
    check(&parts)?;
    let Ready {
        problem: ranged,
        job,
        plan,
        seconds,
        ..
    } = Query::new(problem, data, options).ready()?;
    let (n, m) = (job.space.n, job.space.m);
    let own = Identity::of_run(&ranged, &job, &plan, None);
    check_answer(&job, &own, &parts)?;
    let size = job.pairs()?;
    let bytes = job
        .folds
        .iter()
        .map(|fold| fold.bytes(n, m))
        .fold(0, u64::saturating_add);
    let _held = options.budget.reserve(bytes, "the merged result")?;
    let merged = merge_states(&job, &plan, own, parts)?;
    let outputs = merged.states.into_iter().map(Output::State).collect();
    let outcome = Outcome {
        plan,
        outputs,
        tally: merged.tally,
        pairs: size,
        before: 0,
        kernel_seconds: 0.0,
        load_seconds: 0.0,
        warnings: options.warnings.all(),
        identity: Some(own),
    };
    Ok(Answer {
        problem: ranged,
        job,
        outcome,
        range: None,
        planning: seconds,
        names: RowNames::from_data(data),
    })
}

/// Everything that the parts hold, with matches in their order.
fn merge_states(
    job: &Job,
    plan: &Plan,
    own: Identity,
    parts: Vec<(String, Partial)>,
) -> Result<Partial> {
    let (n, m) = (job.space.n, job.space.m);
    let mut merged = Partial::start(own, job.folds.iter().map(|f| f.start(n, m)).collect());
    for (_, part) in parts {
        for ((fold, into), from) in job.folds.iter().zip(&mut merged.states).zip(part.states) {
            fold.merge(into, from);
        }
        merged.tally.merge(&part.tally);
    }
    for state in &mut merged.states {
        if let State::Join(join) = state {
            crate::pool::within(plan.threads, || crate::matches::sort(join))?;
        }
    }
    Ok(merged)
}

fn run_otherwise(what: &str, name: &str) -> Error {
    let (set, memory, device) = (Opt::Set, Opt::Memory, Opt::Device);
    differs(what, "what the first shard was run on")
        .at_place(name)
        .remedy(format!(
            "run all shards on the same inputs, with the same {set}, {memory} and {device}"
        ))
}

/// The shards are those of this answer, and cover its space.
fn check_answer(job: &Job, own: &Identity, parts: &[(String, Partial)]) -> Result<()> {
    for (name, part) in parts {
        if let Some(what) = own.answer_difference(&part.identity) {
            let e = differs(what, "what this shard was run on").at_place(name.clone());
            return Err(e.remedy(
                "merge over the inputs that the shards were run on, or run the shards again",
            ));
        }
        part.check(job, name)?;
    }
    let size = job.pairs()?;
    let pairs = parts
        .iter()
        .try_fold(0u64, |sum, (_, part)| sum.checked_add(part.pairs));
    if pairs == Some(size) {
        return Ok(());
    }
    let e = Error::input(format!(
        "the shards do not hold the {size} pairs of the space"
    ));
    Err(e.remedy("run the shards again on the same inputs"))
}

/// All shards of one problem, each once.
fn check(parts: &[(String, Partial)]) -> Result<()> {
    let Some((_, first)) = parts.first() else {
        return Err(Error::request("no partial results to merge"));
    };
    let total = first.shard.map_or(0, |s| s.1);
    for (at, (name, part)) in parts.iter().enumerate() {
        problem_of(name, part)?;
        if let Some(what) = part.identity.shard_difference(&first.identity) {
            return Err(run_otherwise(what, name));
        }
        if part.problem != first.problem || part.shard.map(|s| s.1) != Some(total) {
            let e = Error::request("the partial results belong to different problems")
                .at_place(name.clone());
            return Err(e.remedy("merge the shards of one command"));
        }
        if part.shard.map(|s| s.0) != Some(at) {
            let e = Error::request(format!(
                "shard {} of {total} is missing or there twice",
                at + 1
            ));
            return Err(e.at_place(name.clone()));
        }
    }
    if parts.len() == total {
        Ok(())
    } else {
        Err(Error::request(format!("{} of {total} shards", parts.len())).remedy("give all of them"))
    }
}
