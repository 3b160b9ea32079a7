//! MAP and marginal MAP of networks that are too wide for elimination: a search that ends with a
//! proof, or with the best assignment found and how far it may be from the best.

use crate::footprint;
use crate::warnings::Warnings;
use std::time::Instant;
use zipfold_core::factor::{Answer, Evidence, Network, Var};
use zipfold_core::{Budget, Error, Opt, Result, figures};
use zipfold_product::branch::{Limits, Outcome, search};
use zipfold_product::plan::{Need, Reduced, reduce};

/// A search instead of an elimination.
#[derive(Clone, Debug)]
pub struct Searched {
    /// Why elimination does not answer; none where a plan choice made the search.
    pub refused: Option<Error>,
    /// What the search ended with; none before it ran.
    pub gap: Option<Gap>,
}

/// The best assignment found and the best that may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// log10 of the assignment.
    pub lower: f64,
    /// log10 that no assignment exceeds.
    pub upper: f64,
    /// Whether both are equal: no assignment has more.
    pub proven: bool,
    /// Subtrees that were entered.
    pub nodes: u64,
}

/// Entries that are visited for bounds, for each second of the time limit, and most seconds that
/// count.
const VISITS: f64 = 1e7;
const COUNTED: f64 = 60.0;

/// How a search is made.
pub(crate) struct How<'a> {
    /// Seconds that it takes at most.
    pub time_limit: f64,
    /// Of the order and the ascents.
    pub seed: u64,
    /// What it may hold.
    pub budget: &'a Budget,
    /// Takes that an assignment is not proven.
    pub warnings: &'a Warnings,
    /// Told of each phase and its seconds.
    pub tell: &'a dyn Fn(&str, f64),
}

/// Searches for the most probable values of `asked`, the others summed out; of all variables where
/// it is `None`. Returns the answer, the gap, and the seconds of simplification and search.
///
/// # Errors
/// `Resource` when no assignment was found in that time, and where the memory is too small.
pub(crate) fn most_probable(
    network: &Network,
    evidence: &Evidence,
    asked: Option<&[Var]>,
    how: &How<'_>,
) -> Result<(Answer, Option<Gap>, [f64; 2])> {
    let start = Instant::now();
    (how.tell)("simplifying", 0.0);
    let simplifying = how.budget.reserve(
        footprint::of_simplification(network),
        "the simplification of the network",
    )?;
    let reduced = match asked {
        None => reduce(network, evidence, Need::Every, &[]),
        Some(asked) => reduce(network, evidence, Need::Total, asked),
    };
    drop(simplifying);
    let held = footprint::of_reduced(network, &reduced);
    let _reduced = how.budget.reserve(held, "the network")?;
    let simplified = start.elapsed().as_secs_f64();
    (how.tell)("search", how.time_limit);
    let found = match reduced.impossible {
        true => None,
        false => Some(searched(network, &reduced, asked, (how, start))?),
    };
    let seconds = start.elapsed().as_secs_f64();
    let gap = found.as_ref().map(|(gap, _)| *gap);
    let answer = match found.and_then(|(gap, states)| Some((gap, states?))) {
        None => Answer::Impossible,
        Some((gap, states)) => {
            warn(how.warnings, &gap, seconds);
            answer(asked, gap.lower, states)
        }
    };
    Ok((answer, gap, [simplified, seconds - simplified]))
}

fn answer(asked: Option<&[Var]>, log10: f64, states: Vec<usize>) -> Answer {
    match asked {
        None => Answer::Map(log10, states),
        Some(asked) => Answer::Mmap(log10, asked.iter().map(|v| (*v, states[*v])).collect()),
    }
}

/// The search over the simplified network: its gap, and the original states; none where every
/// assignment has probability zero.
fn searched(
    network: &Network,
    reduced: &Reduced,
    asked: Option<&[Var]>,
    (how, start): (&How<'_>, Instant),
) -> Result<(Gap, Option<Vec<usize>>)> {
    let mut maximised = vec![asked.is_none(); reduced.cards.len()];
    let own = asked.unwrap_or(&[]).iter();
    own.filter_map(|v| reduced.number[*v])
        .for_each(|n| maximised[n] = true);
    let bytes = how.budget.free() / 2;
    let _search = how.budget.reserve(bytes, "the search")?;
    let limits = Limits {
        bytes,
        visits: VISITS * how.time_limit.clamp(0.1, COUNTED),
        seed: how.seed,
    };
    let limit = how.time_limit;
    let over = move || start.elapsed().as_secs_f64() > limit;
    let found = search(&reduced.cards, &reduced.tables, &maximised, limits, &over)?;
    let gap = gap(&found, reduced.scale.log10());
    if found.states.is_none() && !gap.proven {
        return Err(nothing_found(how, gap.upper));
    }
    let states = found
        .states
        .map(|states| reduced.assignment(network.cards().len(), &states));
    Ok((gap, states))
}

/// The gap of a search, with log10 of what its tables leave out.
fn gap(found: &Outcome, scale: f64) -> Gap {
    let log10 = |ln: f64| ln * std::f64::consts::LOG10_E + scale;
    let proven = found.is_proven();
    Gap {
        lower: log10(found.value),
        upper: log10(if proven { found.value } else { found.bound }),
        proven,
        nodes: found.nodes,
    }
}

fn nothing_found(how: &How<'_>, upper: f64) -> Error {
    let time = figures::duration(how.time_limit);
    let e = Error::resource(format!(
        "no assignment of probability above zero was found within {time}; none has a log10 above {upper}"
    ));
    e.remedy(format!("a longer {}", Opt::TimeLimit))
}

/// Says that the assignment may not be the best.
fn warn(warnings: &Warnings, gap: &Gap, seconds: f64) {
    if gap.proven {
        return;
    }
    warnings.add(format!(
        "the assignment is the best found in {}, not proven to be the best: its log10 is {:.6}, no assignment has more than {:.6}; a longer {} may close the gap",
        figures::duration(seconds),
        gap.lower,
        gap.upper,
        Opt::TimeLimit
    ));
}
