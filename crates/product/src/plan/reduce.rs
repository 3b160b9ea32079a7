//! Simplification: what evidence, impossible states, single states and subsumed factors make
//! superfluous.
//!
//! States that some factor gives no support (every entry zero) are removed until nothing changes
//! (generalised arc consistency), so the zeros of deterministic tables shrink domains before any
//! order is sought.
//!
//! ```text
//! alive = all states, of observed variables the observed one
//! queue = tables with zeros
//! for each table of the queue
//!     support = for each variable, the states with an entry above zero among alive states
//!     remove states without support; queue the other tables of their variables
//!     nothing left: the evidence is impossible
//! renumber: variables with one state are settled; the others keep their live states
//! restrict each table to them; a table without variables goes to the scale
//! drop barren variables, if only Z is asked (barren.rs)
//! give each variable without a table ones; absorb subsumed tables (absorb.rs)
//! ```
//!
//! Why this shape: tables without zeros cannot take a state away, so they never enter the queue,
//! and a network of positive tables costs one look at each. Domains shrink before the order is
//! sought, because the width in states decides the cost, not the number of variables.

use super::reduced::{Reduced, Table, step};
use super::scalar::Scalar;
use zipfold_core::factor::{Evidence, Network, Var};

/// Which parts of the simplification may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Only sums over everything are asked: variables whose sum is constant go (barren nodes).
    Total,
    /// Something is asked of every variable.
    Every,
    /// Something is asked of variables that are not chosen yet: the tables stay as they are.
    Parts,
}

/// Simplifies `network` given `evidence`.
pub fn reduce(network: &Network, evidence: &Evidence, need: Need, keep: &[Var]) -> Reduced {
    let cards = network.cards();
    let mut alive = Alive::new(cards, evidence);
    let possible = alive.prune(network);
    let mut out = alive.renumber(cards);
    out.impossible = !possible;
    if out.impossible {
        return out;
    }
    for factor in network.factors() {
        match restrict(factor.scope(), factor.values(), cards, &out) {
            table if table.scope.is_empty() => {
                out.scale = out.scale.times(Scalar::from_f64(table.values[0]))
            }
            table => out.tables.push(table),
        }
    }
    if need == Need::Parts {
        return out;
    }
    if need == Need::Total {
        let kept: Vec<bool> = out.origin.iter().map(|v| keep.contains(v)).collect();
        super::barren::drop_barren(&mut out, &kept);
    }
    cover_free(&mut out);
    super::absorb::absorb(&mut out);
    out
}

/// Gives every variable without a table a table of ones.
pub(super) fn cover_free(out: &mut Reduced) {
    let mut seen = vec![false; out.cards.len()];
    out.tables
        .iter()
        .flat_map(|t| &t.scope)
        .for_each(|v| seen[*v] = true);
    for v in (0..out.cards.len()).filter(|v| !seen[*v]) {
        out.tables.push(Table {
            scope: vec![v],
            values: vec![1.0; out.cards[v]],
        });
    }
}

/// Possible states, by variable.
struct Alive {
    start: Vec<usize>,
    alive: Vec<bool>,
    left: Vec<usize>,
}

impl Alive {
    fn new(cards: &[usize], evidence: &Evidence) -> Self {
        let mut start = Vec::with_capacity(cards.len() + 1);
        start.push(0);
        cards
            .iter()
            .for_each(|c| start.push(start.last().copied().unwrap_or(0) + c));
        let mut out = Alive {
            alive: vec![true; start[cards.len()]],
            start,
            left: cards.to_vec(),
        };
        for (v, x) in evidence.iter() {
            out.of_mut(v).fill(false);
            out.of_mut(v)[x] = true;
            out.left[v] = 1;
        }
        out
    }
    fn alive_values(&self, v: Var) -> &[bool] {
        &self.alive[self.start[v]..self.start[v + 1]]
    }
    fn of_mut(&mut self, v: Var) -> &mut [bool] {
        &mut self.alive[self.start[v]..self.start[v + 1]]
    }
    /// Removes unsupported states until nothing changes. False when a variable has no state left.
    fn prune(&mut self, network: &Network) -> bool {
        let factors = network.factors();
        let zeros: Vec<bool> = factors.iter().map(|f| f.values().contains(&0.0)).collect();
        let mut of_var: Vec<Vec<u32>> = vec![Vec::new(); network.cards().len()];
        for (at, f) in factors.iter().enumerate().filter(|(at, _)| zeros[*at]) {
            f.scope().iter().for_each(|v| of_var[*v].push(at as u32));
        }
        let mut queued = zeros.clone();
        let mut work: Vec<u32> = (0..factors.len() as u32)
            .filter(|at| zeros[*at as usize])
            .rev()
            .collect();
        while let Some(at) = work.pop() {
            queued[at as usize] = false;
            let f = &factors[at as usize];
            let Some(changed) = self.revise(f.scope(), f.values(), network.cards()) else {
                return false;
            };
            for next in changed
                .iter()
                .flat_map(|v| &of_var[*v])
                .filter(|next| **next != at)
            {
                if !std::mem::replace(&mut queued[*next as usize], true) {
                    work.push(*next);
                }
            }
        }
        true
    }
    /// Removes the states that one table does not support; the variables that lost some, or `None`
    /// when nothing is left.
    fn revise(&mut self, scope: &[Var], values: &[f64], cards: &[usize]) -> Option<Vec<Var>> {
        let mut support: Vec<Vec<bool>> = scope.iter().map(|v| vec![false; cards[*v]]).collect();
        let mut any = false;
        let mut x = vec![0usize; scope.len()];
        for value in values {
            if *value > 0.0
                && scope
                    .iter()
                    .zip(&x)
                    .all(|(v, s)| self.alive[self.start[*v] + s])
            {
                any = true;
                support
                    .iter_mut()
                    .zip(&x)
                    .for_each(|(row, s)| row[*s] = true);
            }
            step(&mut x, |at| cards[scope[at]]);
        }
        let mut changed = Vec::new();
        for (v, row) in scope.iter().zip(&support) {
            let lost = self
                .of_mut(*v)
                .iter_mut()
                .zip(row)
                .filter(|(a, s)| **a && !**s)
                .map(|(a, _)| *a = false)
                .count();
            self.left[*v] -= lost;
            if lost > 0 {
                changed.push(*v);
            }
        }
        any.then_some(changed)
    }
    fn renumber(&self, cards: &[usize]) -> Reduced {
        let mut out = Reduced {
            cards: Vec::new(),
            origin: Vec::new(),
            states: Vec::new(),
            settled: vec![None; cards.len()],
            number: vec![None; cards.len()],
            tables: Vec::new(),
            scale: Scalar::ONE,
            impossible: false,
        };
        for v in 0..cards.len() {
            let states = self
                .alive_values(v)
                .iter()
                .enumerate()
                .filter(|(_, a)| **a)
                .map(|(s, _)| s as u32);
            if self.left[v] == 1 {
                out.settled[v] = states.into_iter().next();
            } else {
                out.number[v] = Some(out.cards.len());
                out.cards.push(self.left[v]);
                out.origin.push(v);
                out.states.push(states.collect());
            }
        }
        out
    }
}

/// The part of a table that agrees with what is settled and possible.
fn restrict(scope: &[Var], values: &[f64], cards: &[usize], out: &Reduced) -> Table {
    let mut strides = vec![1usize; scope.len()];
    for at in (1..scope.len()).rev() {
        strides[at - 1] = strides[at] * cards[scope[at]];
    }
    let mut base = 0;
    let mut kept = Vec::new();
    for (v, stride) in scope.iter().zip(&strides) {
        match (out.settled[*v], out.number[*v]) {
            (Some(s), _) => base += s as usize * stride,
            (None, Some(n)) => kept.push((n, *stride)),
            (None, None) => {}
        }
    }
    let total: usize = kept.iter().map(|(n, _)| out.cards[*n]).product();
    let values = if total == values.len() {
        values.to_vec()
    } else {
        picked(&values[base..], &kept, out)
    };
    Table {
        scope: kept.into_iter().map(|(n, _)| n).collect(),
        values,
    }
}

/// The entries of the states that are left of some variables, given by number and stride.
fn picked(values: &[f64], kept: &[(usize, usize)], out: &Reduced) -> Vec<f64> {
    let total: usize = kept.iter().map(|(n, _)| out.cards[*n]).product();
    let mut x = vec![0usize; kept.len()];
    let mut picked = Vec::with_capacity(total);
    for _ in 0..total {
        let at: usize = kept
            .iter()
            .zip(&x)
            .map(|((n, stride), s)| out.states[*n][*s] as usize * stride)
            .sum();
        picked.push(values[at]);
        step(&mut x, |at| out.cards[kept[at].0]);
    }
    picked
}
