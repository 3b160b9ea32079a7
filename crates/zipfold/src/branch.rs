//! MAP, marginal MAP and sums by a search with bounds, for networks that are too wide for
//! elimination. It ends with a proof, or with the best assignment found and how far it may be from
//! the best; a sum that is not proven is an error that names its bounds.

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

/// The best assignment found and the best that may be; of a sum, what it is between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// log10 of the assignment, or of what the sum has at least.
    pub lower: f64,
    /// log10 that no assignment, or the sum, exceeds.
    pub upper: f64,
    /// Whether both are equal: no assignment has more, the sum is exact.
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

/// The variables whose values are sought; the others are summed out.
#[derive(Clone, Copy)]
pub(crate) enum Maximised<'a> {
    /// All: MAP.
    All,
    /// These: marginal MAP.
    Some(&'a [Var]),
    /// None: the sum over all assignments.
    None,
}

impl Maximised<'_> {
    /// What is maximised by its number.
    fn vars(&self) -> &[Var] {
        match self {
            Maximised::Some(vars) => vars,
            Maximised::All | Maximised::None => &[],
        }
    }
    /// The answer with original `states`.
    fn answer(&self, log10: f64, states: Vec<usize>) -> Answer {
        match self {
            Maximised::All => Answer::Map(log10, states),
            Maximised::Some(vars) => {
                Answer::Mmap(log10, vars.iter().map(|v| (*v, states[*v])).collect())
            }
            Maximised::None => Answer::Pr(log10),
        }
    }
}

/// Searches for the most probable values of `maximised`. Returns the answer, the gap, and the
/// seconds of simplification and search.
///
/// # Errors
/// `Resource` when no assignment was found or a sum was not proven in that time, and where the
/// memory is too small.
pub(crate) fn bounded(
    network: &Network,
    evidence: &Evidence,
    maximised: Maximised<'_>,
    how: &How<'_>,
) -> Result<(Answer, Option<Gap>, [f64; 2])> {
    let start = Instant::now();
    (how.tell)("simplifying", 0.0);
    let simplifying = how.budget.reserve(
        footprint::of_simplification(network),
        "the simplification of the network",
    )?;
    let need = match maximised {
        Maximised::All => Need::Every,
        Maximised::Some(_) | Maximised::None => Need::Total,
    };
    let reduced = reduce(network, evidence, need, maximised.vars());
    drop(simplifying);
    let held = footprint::of_reduced(network, &reduced);
    let _reduced = how.budget.reserve(held, "the network")?;
    let simplified = start.elapsed().as_secs_f64();
    (how.tell)("search", how.time_limit);
    let found = match reduced.impossible {
        true => None,
        false => Some(searched(network, &reduced, maximised, (how, start))?),
    };
    let seconds = start.elapsed().as_secs_f64();
    let gap = found.as_ref().map(|(gap, _)| *gap);
    let answer = match found.and_then(|(gap, states)| Some((gap, states?))) {
        None => Answer::Impossible,
        Some((gap, states)) => {
            warn(how.warnings, &gap, seconds);
            maximised.answer(gap.lower, states)
        }
    };
    Ok((answer, gap, [simplified, seconds - simplified]))
}

/// The search over the simplified network: its gap, and the original states; none where every
/// assignment has probability zero.
fn searched(
    network: &Network,
    reduced: &Reduced,
    maximised: Maximised<'_>,
    (how, start): (&How<'_>, Instant),
) -> Result<(Gap, Option<Vec<usize>>)> {
    let mut marks = vec![matches!(maximised, Maximised::All); reduced.cards.len()];
    let own = maximised.vars().iter();
    own.filter_map(|v| reduced.number[*v])
        .for_each(|n| marks[n] = true);
    let bytes = how.budget.free() / 2;
    let _search = how.budget.reserve(bytes, "the search")?;
    let limits = Limits {
        bytes,
        visits: VISITS * how.time_limit.clamp(0.1, COUNTED),
        seed: how.seed,
    };
    let limit = how.time_limit;
    let over = move || start.elapsed().as_secs_f64() > limit;
    let found = search(&reduced.cards, &reduced.tables, &marks, limits, &over)?;
    let gap = gap(&found, reduced.scale.log10());
    match maximised {
        Maximised::None if !gap.proven => return Err(not_summed(how, &gap)),
        _ if found.states.is_none() && !gap.proven => return Err(nothing_found(how, gap.upper)),
        _ => {}
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

fn not_summed(how: &How<'_>, gap: &Gap) -> Error {
    let time = figures::duration(how.time_limit);
    let e = Error::resource(format!(
        "the sum was not proven within {time}: its log10 is between {:.6} and {:.6}",
        gap.lower, gap.upper
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
