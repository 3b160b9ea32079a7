//! What inference holds next to the tables of its contraction: the network, its simplification, the
//! plan, the answer. Estimates from the sizes of the structures, rounded up; a test holds chains of
//! 2·10⁵ variables to them (`crates/cli/tests/hostile.rs`).

use zipfold_core::factor::Network;
use zipfold_product::plan::{Group, Pass, Reduced, Split};

/// Bytes of a variable, of a table, and of a variable in a scope, while the network is simplified.
const SIMPLIFIED: [u64; 3] = [160, 200, 32];
/// The same for a simplified network.
const REDUCED: [u64; 3] = [120, 120, 8];
/// The same for a forest, its plan and the search.
const PLANNED: [u64; 3] = [260, 560, 64];
/// Bytes of a table of the plan while it is executed: its place and what describes it, and its
/// gradient.
const HELD: u64 = 260;
const GRADIENT: u64 = 420;

/// Bytes of the simplification of `network` while it is made, the simplified tables included.
pub(crate) fn of_simplification(network: &Network) -> u64 {
    let scopes: usize = network.factors().iter().map(|f| f.scope().len()).sum();
    let values: usize = network.factors().iter().map(|f| f.values().len()).sum();
    let states: usize = network.cards().iter().sum();
    sum(
        SIMPLIFIED,
        network.cards().len(),
        network.factors().len(),
        scopes,
    ) + 8 * values as u64
        + 6 * states as u64
}

/// Bytes of a simplified network.
pub(crate) fn of_reduced(network: &Network, reduced: &Reduced) -> u64 {
    let values: usize = reduced.tables.iter().map(|t| t.values.len()).sum();
    let states: usize = reduced.states.iter().map(Vec::len).sum();
    let numbers = 48 * network.cards().len();
    sum(
        REDUCED,
        reduced.cards.len(),
        reduced.tables.len(),
        scopes(reduced),
    ) + (8 * values + 4 * states + numbers) as u64
}

/// Bytes of the plan for a simplified network, and of what its execution holds for each of its
/// tables.
pub(crate) fn of_plan(reduced: &Reduced, pass: Pass) -> u64 {
    // A join for each variable at most.
    let nodes = (reduced.tables.len() + reduced.cards.len()) as u64;
    let each = match pass {
        Pass::Forward | Pass::Trace => HELD,
        Pass::Sweep => HELD + GRADIENT,
    };
    sum(
        PLANNED,
        reduced.cards.len(),
        reduced.tables.len(),
        scopes(reduced),
    ) + nodes * each
}

/// Bytes of the plans of groups.
pub(crate) fn of_groups(split: &Split) -> u64 {
    let of = |g: &Group| {
        let scopes: usize = g
            .plan
            .nodes
            .iter()
            .map(|n| n.scope.len() + n.summed.len())
            .sum();
        sum(PLANNED, g.plan.cards.len(), g.plan.nodes.len(), scopes)
    };
    split.groups.iter().map(of).sum()
}

/// Bytes of the tables of a group, and of what its execution holds for each table of its plan.
pub(crate) fn of_part(group: &Group, network: &Reduced) -> u64 {
    let own = || group.tables.iter().map(|t| &network.tables[*t]);
    let values: usize = own().map(|t| t.values.len()).sum();
    let scopes: usize = own().map(|t| t.scope.len()).sum();
    sum(REDUCED, group.plan.cards.len(), group.tables.len(), scopes)
        + 8 * (values + network.cards.len()) as u64
        + group.plan.nodes.len() as u64 * (HELD + GRADIENT)
}

/// Bytes of a number for every state of every variable, in lists by variable: `each` for a number.
pub(crate) fn of_states(cards: &[usize], each: u64) -> u64 {
    cards.iter().map(|c| 48 + *c as u64 * each).sum()
}

fn scopes(reduced: &Reduced) -> usize {
    reduced.tables.iter().map(|t| t.scope.len()).sum()
}

fn sum(each: [u64; 3], variables: usize, tables: usize, scopes: usize) -> u64 {
    each[0] * variables as u64 + each[1] * tables as u64 + each[2] * scopes as u64
}
