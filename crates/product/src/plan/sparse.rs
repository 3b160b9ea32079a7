//! Min-degree elimination on sparse graphs too large for bit matrices.

use super::local::{Local, each, has};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// A min-degree order of the variables of `local` that are not kept, ties by variable. Once every
/// remaining variable has more than `dense` neighbours the graph is as good as complete and the
/// rest follows by number.
pub fn order(local: &Local, dense: usize) -> Vec<usize> {
    let mut adjacent = neighbours(local);
    let mut live: BTreeSet<usize> = local
        .variables
        .iter()
        .copied()
        .filter(|v| !has(&local.kept, *v))
        .collect();
    let mut heap: BinaryHeap<Reverse<(usize, usize)>> = live
        .iter()
        .map(|v| Reverse((adjacent[*v].len(), *v)))
        .collect();
    let mut out = Vec::with_capacity(live.len());
    while let Some(Reverse((degree, v))) = heap.pop() {
        if !live.contains(&v) || degree != adjacent[v].len() {
            continue;
        }
        if degree > dense {
            break;
        }
        live.remove(&v);
        out.push(v);
        let near = std::mem::take(&mut adjacent[v]);
        for u in &near {
            adjacent[*u].remove(&v);
            adjacent[*u].extend(near.iter().filter(|w| *w != u));
            heap.push(Reverse((adjacent[*u].len(), *u)));
        }
    }
    out.extend(live);
    out
}

/// The variables that share a table with each variable.
fn neighbours(local: &Local) -> Vec<BTreeSet<usize>> {
    let mut adjacent: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); local.words * 64];
    for at in 0..local.tables() {
        let mut scope = Vec::new();
        each(local.scope(at), |v| scope.push(v));
        for v in &scope {
            adjacent[*v].extend(scope.iter().filter(|u| *u != v));
        }
    }
    adjacent
}
