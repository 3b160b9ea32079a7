//! Barren variables: those that stand in one table only, whose sum over them is constant.

use super::reduced::{Reduced, Table};
use super::scalar::Scalar;

/// Sums out, one after another, variables that stand in one table and leave a constant; kept ones stay.
/// The leaves of a Bayesian network without evidence below them go this way, whatever their tables hold.
pub fn drop_barren(out: &mut Reduced, kept: &[bool]) {
    let mut tables_of: Vec<Vec<usize>> = vec![Vec::new(); out.cards.len()];
    for (at, table) in out.tables.iter().enumerate() {
        table.scope.iter().for_each(|v| tables_of[*v].push(at));
    }
    let mut gone = vec![false; out.cards.len()];
    let mut work: Vec<usize> = (0..out.cards.len()).collect();
    while let Some(v) = work.pop() {
        let [at] = tables_of[v][..] else { continue };
        if kept[v] || gone[v] {
            continue;
        }
        let Some(constant) = constant_sum(&out.tables[at], v, &out.cards) else { continue };
        let table = std::mem::replace(&mut out.tables[at], Table { scope: Vec::new(), values: Vec::new() });
        out.scale = out.scale.times(Scalar::of(constant));
        gone[v] = true;
        for u in table.scope.iter().filter(|u| **u != v) {
            tables_of[*u].retain(|t| *t != at);
            if tables_of[*u].is_empty() && !kept[*u] {
                gone[*u] = true;
                out.scale = out.scale.times(Scalar::of(out.cards[*u] as f64));
            }
            work.push(*u);
        }
    }
    out.tables.retain(|t| !t.scope.is_empty());
    renumber(out, &gone);
}

/// The sum over `v` when it is the same (to four units in the last place) for all other variables' values.
fn constant_sum(table: &Table, v: usize, cards: &[usize]) -> Option<f64> {
    let at = table.scope.iter().position(|u| *u == v)?;
    let inner: usize = table.scope[at + 1..].iter().map(|u| cards[*u]).product();
    let mut first = None;
    for block in table.values.chunks(inner * cards[v]) {
        for i in 0..inner {
            let sum: f64 = block.iter().skip(i).step_by(inner).sum();
            let want = *first.get_or_insert(sum);
            if (sum - want).abs() > 4.0 * f64::EPSILON * want {
                return None;
            }
        }
    }
    first.filter(|c| *c > 0.0)
}

fn renumber(out: &mut Reduced, gone: &[bool]) {
    let mut next = 0;
    let mut number = || {
        next += 1;
        next - 1
    };
    let new: Vec<Option<usize>> = gone.iter().map(|g| (!g).then(&mut number)).collect();
    let stays = |v: &usize| !gone[*v];
    out.cards = (0..gone.len()).filter(stays).map(|v| out.cards[v]).collect();
    out.origin = (0..gone.len()).filter(stays).map(|v| out.origin[v]).collect();
    out.states = (0..gone.len()).filter(stays).map(|v| std::mem::take(&mut out.states[v])).collect();
    out.number.iter_mut().for_each(|n| *n = n.and_then(|v| new[v]));
    out.tables.iter_mut().flat_map(|t| &mut t.scope).for_each(|v| *v = new[*v].unwrap_or(0));
}
