//! Marginals by groups of variables: each group takes only the tables that matter for its
//! variables.
//!
//! A variable that nothing observed or asked depends on is barren for the other variables. One
//! sweep for all variables keeps every table; a group without its barren variables may be far
//! narrower. The sweep of a group answers for every variable of its tables, so that groups begin
//! from the variables that no other group holds.
//!
//! ```text
//! divide:
//!     seeds:    the parts that Z needs, one for each component
//!               then, barren variables first, for each variable that no part holds yet:
//!                   the tables that matter for it and are connected with it; the part answers for
//!                   all of their variables
//!     plan each seed, with a short search; give up when the patience is used up
//!     narrow:  each variable goes to the cheapest group that holds it; groups without variables go
//!     refine:  a group that takes long: its first variable by a forward pass alone, new groups for
//!               the others, if that takes less; again with the parts
//!     merge:    the two groups that share most tables, while the union takes no longer than both
//!     search each group with the time that the user allows
//!     keep the groups if together they are predicted to take less than all variables at once
//! ```
//!
//! Why this shape: the best groups are a set cover over an exponential number of parts, so they are
//! grown greedily and repaired. A predicted second decides each step, and planning is paid from the
//! same purse (`left`): groups of a small network would cost more to find than they save. Planning
//! is counted, not timed, so that a plan depends on no clock.

use super::absorb::absorb;
use super::barren::{Relevance, Relevant};
use super::cost::Prediction;
use super::joins::{Options, Pass, Plan};
use super::planner::plan;
use super::reduce::cover_free;
use super::reduced::{Reduced, Table};
use super::scalar::Scalar;
use zipfold_core::Result;

/// How marginals are planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Grouping {
    /// By predicted time.
    #[default]
    Auto,
    /// All variables at once.
    Joint,
    /// By groups, whatever is predicted.
    Split,
}

/// Variables that are asked together.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Group {
    /// The tables that it takes, by their number in the network.
    pub tables: Vec<usize>,
    /// The variables that it answers for; every variable of the network is in exactly one group.
    pub asked: Vec<usize>,
    /// Where its sum is a factor of Z: what the tables that Z does not need multiply it by.
    pub extra: Option<Scalar>,
    /// A backward sweep; or forward alone, which leaves the table of the one variable that is
    /// asked.
    pub pass: Pass,
    /// Its plan, over the variables of [`Group::part`].
    pub plan: Plan,
}

impl Group {
    /// Its part of `network`, which [`super::reduce()`] left whole.
    pub fn part(&self, network: &Reduced) -> Reduced {
        part(network, &self.tables, &self.asked)
    }
}

/// What all marginals at once would take.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum Joint {
    /// This, by its plan.
    Predicted(Prediction),
    /// More than is allowed.
    Refused(String),
}

/// A plan by groups.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Split {
    /// The groups, in the order of execution.
    pub groups: Vec<Group>,
    /// The factor of Z that no group has.
    pub scale: Scalar,
    /// What was the other choice.
    pub joint: Joint,
}

impl Split {
    /// What all groups take, one after another.
    pub fn prediction(&self) -> Prediction {
        let mut out = Prediction::default();
        for p in self.groups.iter().map(|g| &g.plan.prediction) {
            out.flops += p.flops;
            out.bytes += p.bytes;
            out.seconds += p.seconds;
            out.peak_bytes = out.peak_bytes.max(p.peak_bytes);
            out.largest = out.largest.max(p.largest);
            out.width = out.width.max(p.width);
        }
        out
    }
    /// Z, from the sums of the groups.
    pub fn total(&self, sums: &[Scalar]) -> Scalar {
        let factors = self
            .groups
            .iter()
            .zip(sums)
            .filter_map(|(g, sum)| Some(sum.over(g.extra?)));
        factors.fold(self.scale, Scalar::times)
    }
}

/// Predicted seconds of all marginals at once below which groups are not tried, and of a group
/// below which it stays as it is.
const WORTH: f64 = 0.05;
/// Seconds that groups of a refused network may take to be chosen.
const PATIENCE: f64 = 15.0;
/// Seconds that groups may take to be chosen, for each that all at once are predicted to take.
const TRIED: f64 = 0.05;
/// Seconds of search for each plan while groups are chosen.
const GLANCE: f64 = 0.5;
/// Seconds of planning for each table of a plan, and of finding what matters for each table of the
/// network; both as counted, so that a plan depends on no clock.
const PLANNED: f64 = 2e-5;
const FOUND: f64 = 1e-7;
/// Share of the tables with which one group takes about as long as all variables at once.
const NEARLY: f64 = 0.9;
/// Times the time limit that a group may be predicted to take while groups are chosen.
const LOOSE: f64 = 1e3;

/// Whether groups are worth planning where all at once come to `joint`.
pub fn worthwhile(joint: &Result<Plan>, grouping: Grouping) -> bool {
    match (grouping, joint) {
        (Grouping::Joint, _) => false,
        (Grouping::Split, _) | (Grouping::Auto, Err(_)) => true,
        (Grouping::Auto, Ok(plan)) => plan.prediction.seconds >= WORTH,
    }
}

/// The groups of `network`, if they are predicted to take less than `joint`; `network` as
/// [`super::reduce()`] leaves it whole.
pub fn divide(
    network: &Reduced,
    joint: &Result<Plan>,
    grouping: Grouping,
    options: &Options,
) -> Option<Split> {
    let most = match (grouping, joint) {
        (Grouping::Auto, Ok(plan)) => plan.prediction.seconds,
        _ => f64::INFINITY,
    };
    let limit = options.time_limit.min(most);
    let mut divider = Divider::new(network, grouping, most, options);
    let seeds = divider.seeds()?;
    let widest = seeds.iter().map(|s| s.tables.len()).max().unwrap_or(0) as f64;
    let whole = network.tables.len() as f64 * if joint.is_ok() { NEARLY } else { 1.0 };
    if grouping == Grouping::Auto && widest >= whole {
        return None;
    }
    let groups: Vec<Group> = seeds
        .into_iter()
        .map(|s| divider.planned(s))
        .collect::<Option<_>>()?;
    let groups = divider.narrowed(groups);
    let groups = divider.refined(groups);
    let groups = divider.merged(groups);
    let order_seconds = options
        .order_seconds
        .map(|s| s / groups.len().max(1) as f64);
    divider.options = Options {
        order_seconds,
        ..*options
    };
    let out = Split {
        groups: groups.into_iter().map(|g| divider.searched(g)).collect(),
        scale: network.scale.times(divider.needed.scale),
        joint: joint.as_ref().map_or_else(
            |e| Joint::Refused(e.what().marked().to_string()),
            |p| Joint::Predicted(p.prediction),
        ),
    };
    (out.prediction().seconds <= limit).then_some(out)
}

/// A group without a plan.
struct Seed {
    tables: Vec<usize>,
    asked: Vec<usize>,
    extra: Option<Scalar>,
    pass: Pass,
}

struct Divider<'a> {
    network: &'a Reduced,
    relevance: Relevance<'a>,
    /// What Z needs.
    needed: Relevant,
    options: Options,
    /// Seconds that planning may still take.
    left: f64,
    /// Predicted seconds of a group below which it stays as it is.
    worth: f64,
}

impl<'a> Divider<'a> {
    /// What divides `network`, where all variables at once are predicted to take `most` seconds.
    fn new(network: &'a Reduced, grouping: Grouping, most: f64, options: &Options) -> Self {
        let (left, worth) = match grouping {
            Grouping::Split => (f64::INFINITY, 0.0),
            Grouping::Auto | Grouping::Joint => ((TRIED * most).min(PATIENCE), WORTH),
        };
        let glance = Options {
            order_seconds: None,
            patience: GLANCE,
            time_limit: LOOSE * options.time_limit,
            ..*options
        };
        let relevance = Relevance::new(network);
        let needed = relevance.relevant(
            &vec![true; network.tables.len()],
            &vec![false; network.cards.len()],
        );
        Divider {
            network,
            relevance,
            needed,
            options: glance,
            left,
            worth,
        }
    }
    /// Takes `seconds` of the patience; nothing when it is used up.
    fn spend(&mut self, seconds: f64) -> Option<()> {
        self.left -= seconds;
        (self.left >= 0.0).then_some(())
    }
    fn mask(&self, tables: &[usize]) -> Vec<bool> {
        let mut out = vec![false; self.network.tables.len()];
        tables.iter().for_each(|t| out[*t] = true);
        out
    }
    fn variables(&self, tables: &[usize]) -> Vec<usize> {
        let mut out: Vec<usize> = tables
            .iter()
            .flat_map(|t| self.network.tables[*t].scope.iter().copied())
            .collect();
        out.sort_unstable();
        out.dedup();
        out
    }
    /// The parts that Z needs, one for each component; then one for each variable that none so far
    /// holds, barren ones first.
    fn seeds(&mut self) -> Option<Vec<Seed>> {
        let (cards, tables) = (self.network.cards.len(), self.network.tables.len());
        self.spend(FOUND * (cards + tables) as f64)?;
        let mut open = vec![true; cards];
        let mut out = self.components()?;
        out.extend(self.free_variables());
        for v in out.iter().flat_map(|seed| &seed.asked) {
            open[*v] = false;
        }
        out.extend(self.cover(open)?);
        Some(out)
    }
    /// The parts that Z needs, one for each component.
    fn components(&mut self) -> Option<Vec<Seed>> {
        let mut seen = vec![false; self.network.tables.len()];
        let mut out = Vec::new();
        for at in 0..seen.len() {
            if seen[at] || !self.needed.tables[at] {
                continue;
            }
            self.spend(FOUND * self.network.cards.len() as f64)?;
            let part = self.relevance.connected(&self.needed.tables, at);
            part.iter().for_each(|t| seen[*t] = true);
            out.push(Seed {
                asked: self.variables(&part),
                tables: part,
                extra: Some(Scalar::ONE),
                pass: Pass::Sweep,
            });
        }
        Some(out)
    }
    /// The variables that Z needs and no table holds, if there are any.
    fn free_variables(&self) -> Option<Seed> {
        let all = vec![true; self.network.tables.len()];
        let free =
            |v: &usize| self.needed.variables[*v] && self.relevance.table_of(&all, *v).is_none();
        let asked: Vec<usize> = (0..self.network.cards.len()).filter(free).collect();
        (!asked.is_empty()).then(|| Seed {
            tables: Vec::new(),
            asked,
            extra: Some(Scalar::ONE),
            pass: Pass::Sweep,
        })
    }
    /// Seeds that hold every `open` variable once: each the tables that matter for one variable,
    /// those first that are barren first.
    fn cover(&mut self, mut open: Vec<bool>) -> Option<Vec<Seed>> {
        let (cards, tables) = (self.network.cards.len(), self.network.tables.len());
        let all = vec![true; tables];
        let mut kept = vec![false; cards];
        let mut out = Vec::new();
        for v in self.needed.order.clone().into_iter().chain(0..cards) {
            if !open[v] {
                continue;
            }
            self.spend(FOUND * (cards + tables) as f64)?;
            kept[v] = true;
            let left = self.relevance.relevant(&all, &kept).tables;
            kept[v] = false;
            let part = self
                .relevance
                .table_of(&left, v)
                .map_or_else(Vec::new, |t| self.relevance.connected(&left, t));
            open[v] = false;
            let mut asked = vec![v];
            asked.extend(
                self.variables(&part)
                    .into_iter()
                    .filter(|u| std::mem::take(&mut open[*u])),
            );
            out.push(Seed {
                tables: part,
                asked,
                extra: None,
                pass: Pass::Sweep,
            });
        }
        Some(out)
    }
    /// `seed` with its plan, unless that is refused or the patience is used up.
    fn planned(&mut self, seed: Seed) -> Option<Group> {
        self.spend(PLANNED * seed.tables.len() as f64)?;
        let part = part(self.network, &seed.tables, &seed.asked);
        let asked = places(&part, &seed.asked);
        match plan(
            &part,
            &asked,
            &Options {
                pass: seed.pass,
                ..self.options
            },
        ) {
            Ok(plan) => {
                self.spend(plan.searched)?;
                Some(Group {
                    tables: seed.tables,
                    asked: seed.asked,
                    extra: seed.extra,
                    pass: seed.pass,
                    plan,
                })
            }
            Err(_) => {
                self.spend(self.options.patience)?;
                None
            }
        }
    }
    /// `group` with the plan of a search of its own, if that is better.
    fn searched(&mut self, group: Group) -> Group {
        if group.plan.prediction.seconds < self.worth && self.options.order_seconds.is_none() {
            return group;
        }
        let part = group.part(self.network);
        match plan(
            &part,
            &places(&part, &group.asked),
            &Options {
                pass: group.pass,
                ..self.options
            },
        ) {
            Ok(plan) if plan.prediction.seconds < group.plan.prediction.seconds => {
                Group { plan, ..group }
            }
            _ => group,
        }
    }
    /// Takes the first variable out of groups that take long, where it alone and new groups of the
    /// others take less.
    fn refined(&mut self, mut open: Vec<Group>) -> Vec<Group> {
        let mut out = Vec::new();
        while let Some(group) = open.pop() {
            match (group.plan.prediction.seconds >= self.worth)
                .then(|| self.apart(&group))
                .flatten()
            {
                Some(parts) => open.extend(parts),
                None => out.push(group),
            }
        }
        out
    }
    /// The first variable of `group` by a forward pass, and groups of the others, if they take
    /// less.
    fn apart(&mut self, group: &Group) -> Option<Vec<Group>> {
        if group.pass != Pass::Sweep || group.tables.is_empty() {
            return None;
        }
        let (first, rest) = group.asked.split_at(group.asked.len().min(1));
        let mut open = vec![false; self.network.cards.len()];
        let tables = match (group.extra, first) {
            (None, [v]) => {
                open[*v] = true;
                self.cover(open.clone())?.pop()?.tables
            }
            _ => group.tables.clone(),
        };
        let alone = Seed {
            tables,
            asked: first.to_vec(),
            extra: group.extra,
            pass: Pass::Forward,
        };
        let mut out = vec![self.planned(alone)?];
        open.fill(false);
        rest.iter().for_each(|v| open[*v] = true);
        for seed in self.cover(open)? {
            out.push(self.planned(seed)?);
        }
        let seconds: f64 = out.iter().map(|g| g.plan.prediction.seconds).sum();
        (seconds < group.plan.prediction.seconds).then_some(out)
    }
    /// Every variable in the cheapest group that holds it alone; groups that nothing needs any more
    /// go.
    fn narrowed(&self, mut groups: Vec<Group>) -> Vec<Group> {
        let mut home = vec![usize::MAX; self.network.cards.len()];
        let seconds: Vec<f64> = groups.iter().map(|g| g.plan.prediction.seconds).collect();
        for (at, group) in groups.iter().enumerate() {
            for v in &group.asked {
                if home[*v] == usize::MAX || seconds[at] < seconds[home[*v]] {
                    home[*v] = at;
                }
            }
        }
        for (at, group) in groups.iter_mut().enumerate() {
            group.asked.retain(|v| home[*v] == at);
            let part = group.part(self.network);
            group.plan.ask(&places(&part, &group.asked), &self.options);
        }
        groups.retain(|g| !g.asked.is_empty() || g.extra.is_some());
        groups
    }
    /// Merges groups that share tables as long as the union is predicted to take no longer and to
    /// pay for its planning.
    fn merged(&mut self, mut groups: Vec<Group>) -> Vec<Group> {
        let mut tried = std::collections::HashSet::new();
        let mut at = 0;
        while at < groups.len() {
            let Some(other) = self.nearest(&groups, at) else {
                at += 1;
                continue;
            };
            let key = (
                groups[at].asked.first().copied(),
                groups[other].asked.first().copied(),
            );
            let parts = groups[at].plan.prediction.seconds + groups[other].plan.prediction.seconds;
            let gain = groups[at]
                .plan
                .prediction
                .seconds
                .min(groups[other].plan.prediction.seconds);
            let tables = groups[at].tables.len() + groups[other].tables.len();
            if gain < 2.0 * PLANNED * tables as f64 || !tried.insert(key) || self.left < 0.0 {
                at += 1;
                continue;
            }
            match self.union(&groups[at], &groups[other], parts) {
                Some(union) => {
                    groups.remove(at.max(other));
                    groups[at.min(other)] = union;
                    at = 0;
                }
                None => at += 1,
            }
        }
        groups
    }
    /// The group that shares most tables with group `at`; variables that were taken apart stay so.
    fn nearest(&self, groups: &[Group], at: usize) -> Option<usize> {
        let together = |g: &Group| g.pass == Pass::Sweep;
        if !together(&groups[at]) {
            return None;
        }
        let own = self.mask(&groups[at].tables);
        let shared = |g: &Group| g.tables.iter().filter(|t| own[**t]).count();
        let others = (0..groups.len())
            .filter(|o| *o != at && together(&groups[*o]))
            .map(|o| (shared(&groups[o]), o));
        others
            .max_by_key(|(many, o)| (*many, usize::MAX - o))
            .filter(|(many, _)| *many > 0)
            .map(|(_, o)| o)
    }
    /// Both groups as one, if it takes no longer than `parts` seconds.
    fn union(&mut self, a: &Group, b: &Group, parts: f64) -> Option<Group> {
        let asked = sorted_union(&a.asked, &b.asked);
        let mut kept = vec![false; self.network.cards.len()];
        asked.iter().for_each(|v| kept[*v] = true);
        let extra = a.extra.is_some() || b.extra.is_some();
        let mut tables = sorted_union(&a.tables, &b.tables);
        // What a variable of one group keeps of the other's: their sums would not be constant side
        // by side.
        let left = self
            .relevance
            .relevant(&vec![true; self.network.tables.len()], &kept)
            .tables;
        for v in &asked {
            if let Some(at) = self.relevance.table_of(&left, *v) {
                tables = sorted_union(&tables, &self.relevance.connected(&left, at));
            }
        }
        let none = vec![false; self.network.cards.len()];
        let extra = extra.then(|| self.relevance.relevant(&self.mask(&tables), &none).scale);
        let usual = std::mem::replace(&mut self.options.time_limit, parts);
        let union = self.planned(Seed {
            tables,
            asked,
            extra,
            pass: Pass::Sweep,
        });
        self.options.time_limit = usual;
        union.filter(|u| u.plan.prediction.seconds <= parts)
    }
}

/// The part of `network` with these tables and at least the variables `asked`, numbered by their
/// order in the network.
fn part(network: &Reduced, tables: &[usize], asked: &[usize]) -> Reduced {
    let mut number = vec![None; network.cards.len()];
    let held = tables
        .iter()
        .flat_map(|t| &network.tables[*t].scope)
        .chain(asked);
    held.for_each(|v| number[*v] = Some(0));
    let origin: Vec<usize> = (0..number.len()).filter(|v| number[*v].is_some()).collect();
    origin
        .iter()
        .enumerate()
        .for_each(|(at, v)| number[*v] = Some(at));
    let scope = |t: &Table| t.scope.iter().filter_map(|v| number[*v]).collect();
    let own = tables.iter().map(|t| &network.tables[*t]);
    let mut out = Reduced {
        cards: origin.iter().map(|v| network.cards[*v]).collect(),
        states: Vec::new(),
        settled: Vec::new(),
        tables: own
            .map(|t| Table {
                scope: scope(t),
                values: t.values.clone(),
            })
            .collect(),
        scale: Scalar::ONE,
        impossible: false,
        origin,
        number,
    };
    cover_free(&mut out);
    absorb(&mut out);
    out
}

/// The members of both lists, each once.
fn sorted_union(a: &[usize], b: &[usize]) -> Vec<usize> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    all.dedup();
    all
}

/// The numbers in `part` of variables of the network.
fn places(part: &Reduced, of: &[usize]) -> Vec<usize> {
    of.iter().filter_map(|v| part.number[*v]).collect()
}
