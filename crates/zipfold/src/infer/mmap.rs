//! Marginal MAP by elimination: sums component by component, then a MAP of what is left.

use super::parts::{as_factors, compact, groups};
use super::run::InferenceRun;
use super::settings::{Inferred, Settings};
use std::path::{Path, PathBuf};
use zipfold_core::factor::{Answer, Evidence, Kind, Network, Task, Var};
use zipfold_core::{Budget, Result};
use zipfold_product::plan::Scalar;

/// The checkpoint of one stage of MMAP.
fn staged(path: &Path, stage: usize) -> PathBuf {
    crate::partial::aside(path, stage)
}

/// The factors `group` of `network` as a network of their own, and which of its variables are
/// `asked` for.
fn component(network: &Network, group: &[usize], asked: &[bool]) -> Result<(Network, Vec<Var>)> {
    let factors = group.iter().map(|f| network.factors()[*f].clone());
    let part = Network::new(Kind::Markov, network.cards().to_vec(), factors.collect())?;
    let mut keep: Vec<Var> = part
        .factors()
        .iter()
        .flat_map(|f| f.scope().iter().copied())
        .filter(|v| asked[*v])
        .collect();
    keep.sort_unstable();
    keep.dedup();
    Ok((part, keep))
}

/// The settings of one stage, whose checkpoint and store have names of their own.
fn settings_of_stage(settings: &Settings, stage: usize) -> Settings {
    let mut own = settings.clone();
    own.checkpoint
        .iter_mut()
        .for_each(|c| c.path = staged(&c.path, stage));
    own.store.iter_mut().for_each(|s| *s = s.of_stage(stage));
    own
}

/// The evidence of the variables that are `asked` for, and a state for each of the others, which
/// `rest` has summed out.
fn fix_others(rest: &Network, evidence: &Evidence, asked: &[bool]) -> Result<Evidence> {
    let fixed = (0..rest.cards().len()).filter_map(|v| {
        if asked[v] {
            evidence.get(v).map(|x| (v, x))
        } else {
            Some((v, 0))
        }
    });
    Evidence::new(fixed, rest.cards())
}

/// Adds the seconds of another stage.
fn add(seconds: &mut [f64; 3], more: [f64; 3]) {
    seconds.iter_mut().zip(more).for_each(|(s, m)| *s += m);
}

/// log10 of the states of the variables that no factor has and that are summed out.
fn log10_of_unused(network: &Network, evidence: &Evidence, asked: &[bool]) -> f64 {
    let free = (0..network.cards().len()).filter(|v| !asked[*v] && evidence.get(*v).is_none());
    let used: std::collections::HashSet<Var> = network
        .factors()
        .iter()
        .flat_map(|f| f.scope().iter().copied())
        .collect();
    free.filter(|v| !used.contains(v))
        .map(|v| (network.cards()[v] as f64).log10())
        .sum::<f64>()
}

/// MMAP in two stages: the other variables are summed out, component by component, and a MAP of
/// what is left follows.
pub(super) fn marginal_map(
    network: &Network,
    evidence: &Evidence,
    vars: &[Var],
    settings: &Settings,
    budget: &Budget,
) -> Result<Inferred> {
    // Each stage copies its part of the network, and the last one has the sums of all.
    let _parts = budget.reserve(
        network.bytes().saturating_mul(2),
        "the parts of the network",
    )?;
    let mut asked = vec![false; network.cards().len()];
    vars.iter().for_each(|v| asked[*v] = true);
    let mut factors = Vec::new();
    let mut scale = Scalar::ONE;
    let mut held = budget.tab("the sums of the parts");
    let mut seconds = [0.0; 3];
    let stages = groups(network, &asked);
    let last = stages.len();
    for (stage, group) in stages.into_iter().enumerate() {
        let settings = &settings_of_stage(settings, stage);
        let (part, keep) = component(network, &group, &asked)?;
        let (part, own) = compact(&part, evidence, &keep)?;
        let numbered: Vec<Var> = (0..keep.len()).collect();
        let task = Task::Sum(numbered.clone());
        let (sums, done) = InferenceRun::new(&part, &own, &task, (settings, budget), None)?
            .give_sums(&numbered)?;
        add(&mut seconds, done.seconds);
        let Some(sums) = sums else {
            return Ok(done);
        };
        let (own, middle) = as_factors(&keep, &sums.entries, network.cards(), &mut held)?;
        factors.extend(own);
        scale = scale.times(middle).times(sums.scale);
    }
    let scale = scale.log10() + log10_of_unused(network, evidence, &asked);
    let rest = Network::new(Kind::Markov, network.cards().to_vec(), factors)?;
    let (fixed, settings) = (
        fix_others(&rest, evidence, &asked)?,
        settings_of_stage(settings, last),
    );
    let mut done = InferenceRun::new(&rest, &fixed, &Task::Map, (&settings, budget), None)?
        .answer(&Task::Map)?;
    add(&mut done.seconds, seconds);
    if let Answer::Map(log10, states) = &done.answer {
        done.answer = Answer::Mmap(
            log10 + scale,
            vars.iter().map(|v| (*v, states[*v])).collect(),
        );
    }
    Ok(done)
}
