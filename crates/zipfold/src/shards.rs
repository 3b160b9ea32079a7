//! Shares of a run as values: made anywhere, merged to the bits of one run.

use crate::partial::Partial;
use crate::run::{Options, Outcome, Output, ready, with_ranges};
use zipfold_core::describe::Data;
use zipfold_core::fold::State;
use zipfold_core::{Error, Job, Problem, Result};
use zipfold_plan::{Plan, choose};

/// The mergeable result of the share `shard` (index from 0, parts) that gave `outcome`.
///
/// # Errors
/// `Internal` when a fold that cannot be shared got here.
pub fn part(problem: &Problem, outcome: &Outcome, shard: (usize, usize)) -> Result<Partial> {
    let states = outcome.outputs.iter().map(|o| match o {
        Output::State(state) => Ok(state.clone()),
        _ => Err(Error::internal("a dense fold reached a shard")),
    });
    Ok(Partial {
        key: cut(&outcome.plan),
        tiles_done: 0,
        cells: outcome.cells,
        states: states.collect::<Result<_>>()?,
        tally: outcome.tally,
        problem: serde_json::to_string(problem).map_err(|e| Error::internal(e.to_string()))?,
        shard: Some(shard),
    })
}

/// How a plan cuts the space: shares of other cuts would overlap.
fn cut(plan: &Plan) -> String {
    format!("{:?} {:?} {}", plan.tiling, plan.precision, plan.prune.rows())
}

/// The problem inside the partial result called `name`.
///
/// # Errors
/// `Input` when it holds none.
pub fn problem_of(name: &str, part: &Partial) -> Result<Problem> {
    serde_json::from_str(&part.problem).map_err(|e| Error::input(format!("no problem inside: {e}")).at(name))
}

/// Merges the named partial results of all shares of `problem` over `data`.
///
/// # Errors
/// `Request` when a share is missing, there twice, or of another problem; `Input` when the shares do not cover the space;
/// and those of [`ready`].
pub fn merge(
    problem: &Problem,
    data: &Data,
    mut parts: Vec<(String, Partial)>,
    options: &Options<'_>,
) -> Result<(Job, Outcome)> {
    parts.sort_by_key(|(_, p)| p.shard);
    check(&parts)?;
    let problem = with_ranges(problem, data, options)?;
    let (job, machine) = ready(&problem, data, options)?;
    let plan = choose(&job, &machine, &options.settings)?;
    let (n, m) = (job.space.n, job.space.m);
    let mut merged = Partial::start("", job.folds.iter().map(|f| f.identity(n, m)).collect());
    for (_, part) in parts {
        for ((fold, into), from) in job.folds.iter().zip(&mut merged.states).zip(part.states) {
            fold.merge(into, from);
        }
        merged.tally.merge(&part.tally);
        merged.cells += part.cells;
    }
    let size = job.space.size()?;
    if merged.cells != size {
        let e = Error::input(format!("the shares hold {} cells, the space {size}", merged.cells));
        return Err(e.remedy("run the shares again on the same inputs"));
    }
    for state in &mut merged.states {
        if let State::Select(select) = state {
            crate::pool::within(plan.threads, || crate::matches::sort(select))?;
        }
    }
    let outputs = merged.states.into_iter().map(Output::State).collect();
    let (tally, cells) = (merged.tally, merged.cells);
    Ok((job, Outcome { plan, outputs, tally, cells, before: 0, kernel_seconds: 0.0, warnings: vec![] }))
}

/// All shares of one problem, each once.
fn check(parts: &[(String, Partial)]) -> Result<()> {
    let Some((_, first)) = parts.first() else { return Err(Error::request("no partial results to merge")) };
    let total = first.shard.map_or(0, |s| s.1);
    for (at, (name, part)) in parts.iter().enumerate() {
        if part.problem != first.problem || part.shard.map(|s| s.1) != Some(total) {
            let e = Error::request("the partial results belong to different problems").at(name.clone());
            return Err(e.remedy("merge the shares of one command"));
        }
        if part.key != first.key {
            let e = Error::request("this share was cut otherwise than the first").at(name.clone());
            return Err(e
                .limit(format!("{} against {}", part.key, first.key))
                .remedy("run all with the same --set and --memory"));
        }
        if part.shard.map(|s| s.0) != Some(at) {
            let e = Error::request(format!("share {} of {total} is missing or there twice", at + 1));
            return Err(e.at(name.clone()));
        }
    }
    if parts.len() == total {
        Ok(())
    } else {
        Err(Error::request(format!("{} of {total} shares", parts.len())).remedy("give all of them"))
    }
}
