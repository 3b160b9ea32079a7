//! Simplification: what evidence, impossible states, single states and subsumed factors make
//! superfluous.
//!
//! States that some factor gives no support (every entry zero) are removed until nothing changes
//! (generalised arc consistency), so the zeros of deterministic tables shrink domains before any
//! order is sought. Variables that zeros tie to another one by one, and scopes that a table does not
//! depend on, go too (`copies`).
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
//! repeat: drop variables that a table does not depend on from its scope (copies.rs)
//!         drop barren variables, if only Z is asked (barren.rs)
//!         make copies one variable (copies.rs); without any, end
//!         remove states without support, as above
//! give each variable without a table ones; absorb subsumed tables (absorb.rs)
//! ```
//!
//! Why this shape: tables without zeros cannot take a state away, so they never enter the queue,
//! and a network of positive tables costs one look at each. Domains shrink before the order is
//! sought, because the width in states decides the cost, not the number of variables.

use super::reduced::{Reduced, Table, step};
use super::scalar::Scalar;
use super::support::Alive;
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
    let tables = || network.factors().iter().map(|f| (f.scope(), f.values()));
    let possible = alive.prune(tables(), cards);
    let mut out = alive.renumber(cards);
    out.impossible = !possible;
    if out.impossible {
        return out;
    }
    restrict_all(&mut out, tables(), cards);
    if need == Need::Parts {
        return out;
    }
    let kept =
        |out: &Reduced| -> Vec<bool> { out.origin.iter().map(|v| keep.contains(v)).collect() };
    loop {
        super::copies::drop_constant(&mut out);
        if need == Need::Total {
            let kept = kept(&out);
            super::barren::drop_barren(&mut out, &kept);
        }
        let kept = kept(&out);
        if !super::copies::substitute(&mut out, &kept) {
            break;
        }
        // A table of both variables is now a part of itself, which may support fewer states.
        if !supported(&mut out) {
            out.impossible = true;
            return out;
        }
    }
    cover_free(&mut out);
    super::absorb::absorb(&mut out);
    out
}

/// Adds the parts of `tables` that agree with what is settled and possible in `out`.
fn restrict_all<'t>(
    out: &mut Reduced,
    tables: impl Iterator<Item = (&'t [usize], &'t [f64])>,
    cards: &[usize],
) {
    for (scope, values) in tables {
        match restrict(scope, values, cards, out) {
            table if table.scope.is_empty() => {
                out.scale = out.scale.times(Scalar::from_f64(table.values[0]))
            }
            table => out.tables.push(table),
        }
    }
}

/// Removes the states of `out` that its tables do not support. False when a variable has none left.
fn supported(out: &mut Reduced) -> bool {
    let mut alive = Alive::new(&out.cards, &Evidence::none());
    let tables = || out.tables.iter().map(|t| (&t.scope[..], &t.values[..]));
    if !alive.prune(tables(), &out.cards) {
        return false;
    }
    if alive.is_whole() {
        return true;
    }
    let mut next = alive.renumber(&out.cards);
    restrict_all(&mut next, tables(), &out.cards);
    for v in 0..out.number.len() {
        let Some(n) = out.number[v] else { continue };
        let original = |s: &u32| out.states[v][*s as usize];
        out.settled[v] = next.settled[n].as_ref().map(original);
        out.number[v] = next.number[n];
        out.states[v] = next.states[n].iter().map(original).collect();
    }
    out.origin = next.origin.iter().map(|n| out.origin[*n]).collect();
    out.scale = out.scale.times(next.scale);
    (out.cards, out.tables) = (next.cards, next.tables);
    true
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
            (None, Some(n)) => kept.push((n, *stride, *v)),
            (None, None) => {}
        }
    }
    let total: usize = kept.iter().map(|k| out.cards[k.0]).product();
    let values = if total == values.len() {
        values.to_vec()
    } else {
        picked(&values[base..], &kept, out)
    };
    Table {
        scope: kept.into_iter().map(|k| k.0).collect(),
        values,
    }
}

/// The entries of the states that are left of some variables, given by number, stride and original.
fn picked(values: &[f64], kept: &[(usize, usize, Var)], out: &Reduced) -> Vec<f64> {
    let total: usize = kept.iter().map(|k| out.cards[k.0]).product();
    let mut x = vec![0usize; kept.len()];
    let mut picked = Vec::with_capacity(total);
    for _ in 0..total {
        let at: usize = kept
            .iter()
            .zip(&x)
            .map(|((_, stride, v), s)| out.states[*v][*s] as usize * stride)
            .sum();
        picked.push(values[at]);
        step(&mut x, |at| out.cards[kept[at].0]);
    }
    picked
}
