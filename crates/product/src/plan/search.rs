//! The order portfolio: greedy orders first, then annealing from the best, for as long as it pays.
//!
//! Effort is counted in moves and never by a clock, so a plan depends on the problem, the options
//! and the seed alone.

use super::anneal::{Schedule, anneal};
use super::bound;
use super::cost::Weights;
use super::greedy::{Rule, order};
use super::local::{DENSE_BITS, Local};
use super::sparse;
use super::topology::Topology;
use rayon::prelude::*;
use zipfold_core::Random;

/// Effort and seed of the search.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Seed of all random choices.
    pub seed: u64,
    /// Seconds of search allowed; `None` ties them to the predicted seconds of execution.
    pub seconds: Option<f64>,
    /// Seconds beyond which the tied ones do not go.
    pub patience: f64,
    /// Seconds of execution for one unit of tree cost.
    pub unit: f64,
    /// Seconds of execution beyond which the problem is refused.
    pub limit: f64,
    /// Bytes that trees may take while they are changed. With too few for all at a time they are
    /// changed one after another, which changes no plan; with too few for one, the greedy tree
    /// stays.
    pub room: u64,
}

/// What a search came to.
#[derive(Debug)]
pub enum Found {
    /// The best tree, its cost, and the seconds that the search took by its own count of moves.
    Tree(Topology, f64, f64),
    /// No tree can be executed within the limit: log2 of the configurations that some join of every
    /// tree visits.
    Hopeless(f64),
}

/// Annealing moves a second on one core (`explain` compares with what a run took).
const MOVES: f64 = 6e6;
/// Seconds that scoring takes for one word of a neighbour's row.
const WORD: f64 = 1e-9;
/// Seconds that building and grading a tree takes for one join.
const JOIN: f64 = 1e-6;
/// Chains of one round, whatever the number of threads.
const CHAINS: usize = 4;
/// Rounds, each longer than the last, without a gain of two per cent that end the search; where its
/// seconds were asked for, the next round then begins from another greedy order.
const STALE: usize = 5;
/// Seconds of search, for each of the predicted execution, that end even a search whose seconds
/// were asked for: nothing that it could still find would pay for it.
const ENOUGH: f64 = 1000.0;
/// Seconds of search where the greedy tree is beyond the limit and no tree has a narrower widest
/// join.
const SETTLED: f64 = 0.1;
/// Predicted seconds beyond which a network is hopeless and only a short search is spent on it.
const HOPELESS: f64 = 1e12;

/// The best tree found for one component. Where the greedy ones are beyond the limit, a lower bound
/// decides first whether annealing could change that.
pub fn search(local: &Local, weights: &Weights, effort: Effort) -> Found {
    let seconds = |cost: f64| cost * effort.unit;
    let first = Greedy::first(local, weights, effort.seed);
    let mut least = f64::NEG_INFINITY;
    if seconds(first.cost) > effort.limit {
        least = bound::visits_log2(local);
        if seconds(least.exp2()) > effort.limit {
            return Found::Hopeless(least);
        }
    }
    let (mut best, mut cost) = first.best(local, weights, effort);
    let mut most = f64::INFINITY;
    if seconds(cost) > effort.limit && best.widest(local) < least + 1.0 {
        most = SETTLED;
    }
    let joins = best.children.len() - best.leaves;
    // What annealing goes on from: the best tree, or another beginning.
    let (mut from, mut from_cost) = (best.clone(), cost);
    let mut spent = 0.0;
    let mut round = 0u64;
    let mut slice = 0.01f64;
    let mut stale = 0;
    loop {
        let allowed = effort
            .seconds
            .unwrap_or_else(|| worth(seconds(cost)).min(most).min(effort.patience));
        let enough = match effort.seconds {
            Some(_) => spent >= 0.99 * allowed || spent > ENOUGH * seconds(cost),
            None => spent + 0.5 * slice > allowed || stale >= STALE,
        };
        if joins < 2 || enough || effort.room < local.chain_bytes() {
            return Found::Tree(best, cost, spent);
        }
        if stale >= STALE {
            (from, from_cost) = another(local, weights, effort.seed.wrapping_add(round));
            (slice, stale) = (0.01f64.max(allowed / 200.0), 0);
        }
        let chain = slice.min(allowed - spent);
        let sweeps = ((chain * 2.0 * MOVES / CHAINS as f64 / joins as f64) as usize).max(2);
        let before = from_cost;
        for (tree, total) in anneal_chains(local, weights, effort, (&from, round, sweeps)) {
            if total < from_cost {
                (from, from_cost) = (tree, total);
            }
        }
        if from_cost < cost {
            (best, cost) = (from.clone(), from_cost);
        }
        stale = if from_cost < 0.98 * before {
            0
        } else {
            stale + 1
        };
        spent += chain;
        slice *= 1.6;
        round += 1;
    }
}

/// Seconds of search that a run of so many predicted seconds is worth.
fn worth(predicted: f64) -> f64 {
    if predicted > HOPELESS {
        3.0
    } else {
        0.5 * predicted
    }
}

/// What the chains of a round make of the tree that they begin from, each at its own heat: together
/// if the memory holds all of them, else one after another.
fn anneal_chains(
    local: &Local,
    weights: &Weights,
    effort: Effort,
    (from, round, sweeps): (&Topology, u64, usize),
) -> Vec<(Topology, f64)> {
    let chain = |c: usize| {
        let schedule = Schedule {
            sweeps,
            hot: [0.4, 1.0, 2.0, 4.0][c % 4],
            cold: 0.05,
        };
        let seed = effort.seed ^ (round * 64 + c as u64).wrapping_mul(0x9e37_79b9);
        anneal(local, weights, from, schedule, &mut Random::new(seed))
    };
    match effort.room >= CHAINS as u64 * local.chain_bytes() {
        true => (0..CHAINS).into_par_iter().map(chain).collect(),
        false => (0..CHAINS).map(chain).collect(),
    }
}

/// Another greedy tree to begin from, by a rule with noise.
fn another(local: &Local, weights: &Weights, seed: u64) -> (Topology, f64) {
    let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let by = match is_sparse(local) {
        true => sparse::order(local, 512),
        false => order(local, RULES[seed as usize % 4], 0.5, &mut random).0,
    };
    graded(local, weights, &by)
}

/// The first greedy tree, from which others are tried.
struct Greedy {
    tree: Topology,
    cost: f64,
    /// Seconds that it took, by its own count of words.
    took: f64,
    random: Random,
}

/// The rules of greedy orders, in the order in which they are tried.
const RULES: [Rule; 4] = [Rule::Fill, Rule::WeightedFill, Rule::Weight, Rule::Degree];

impl Greedy {
    fn first(local: &Local, weights: &Weights, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (by, words) = match is_sparse(local) {
            true => (sparse::order(local, 512), f64::INFINITY),
            false => order(local, RULES[0], 0.0, &mut random),
        };
        let (tree, cost) = graded(local, weights, &by);
        Greedy {
            tree,
            cost,
            took: words * WORD + local.tables() as f64 * JOIN,
            random,
        }
    }
    /// The best of some greedy trees; restarts with noise as long as the predicted execution is
    /// worth them.
    fn best(mut self, local: &Local, weights: &Weights, effort: Effort) -> (Topology, f64) {
        let one = self.took;
        let mut spent = one;
        for attempt in 1..64 {
            let allowed = effort
                .seconds
                .map_or(0.2 * (self.cost * effort.unit), |s| 0.2 * s)
                .min(1.0)
                .min(effort.patience);
            if spent + one > allowed && (attempt > 1 || one > 1.0) {
                break;
            }
            let noise = if attempt < 4 { 0.0 } else { 0.3 };
            let rule = RULES[attempt % 4];
            let by = order(local, rule, noise, &mut self.random).0;
            let (tree, cost) = graded(local, weights, &by);
            if cost < self.cost {
                (self.tree, self.cost) = (tree, cost);
            }
            spent += one;
        }
        (self.tree, self.cost)
    }
}

/// Whether the graph is too large for bit matrices: one order, without restarts.
fn is_sparse(local: &Local) -> bool {
    local.words * 64 > DENSE_BITS
}

fn graded(local: &Local, weights: &Weights, order: &[usize]) -> (Topology, f64) {
    let tree = Topology::from_order(local, order);
    let cost = tree.cost(local, weights);
    (tree, cost)
}
