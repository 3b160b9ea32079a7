//! Barren variables: those that stand in one table only, whose sum over them is constant.

use super::reduced::{Reduced, Table};
use super::scalar::Scalar;
use std::cell::OnceCell;

/// Which tables matter for which variables: the one place that decides what is barren.
///
/// A table is a conditional distribution if its sum over one of its variables is constant, whatever
/// the network is called.
#[derive(Debug)]
pub struct Relevance<'a> {
    network: &'a Reduced,
    tables_of: Vec<Vec<usize>>,
    /// By table and place in its scope: the sum over that variable, where it is constant.
    constants: Vec<Vec<OnceCell<Option<f64>>>>,
}

/// What is left when barren variables are summed out.
#[derive(Debug)]
pub struct Relevant {
    /// By table: whether it is left.
    pub tables: Vec<bool>,
    /// By variable: whether it is left.
    pub variables: Vec<bool>,
    /// The variables that took a table with them, in their order.
    pub order: Vec<usize>,
    /// The product of what was summed out.
    pub scale: Scalar,
}

impl<'a> Relevance<'a> {
    /// The tables of `network`.
    pub fn new(network: &'a Reduced) -> Self {
        let constants = network
            .tables
            .iter()
            .map(|t| vec![OnceCell::new(); t.scope.len()])
            .collect();
        let mut tables_of: Vec<Vec<usize>> = vec![Vec::new(); network.cards.len()];
        for (at, table) in network.tables.iter().enumerate() {
            table.scope.iter().for_each(|v| tables_of[*v].push(at));
        }
        Relevance {
            network,
            tables_of,
            constants,
        }
    }
    /// Sums out, one after another, variables that stand in one table of `among` and leave a
    /// constant; kept ones stay. The leaves of a Bayesian network without evidence below them go
    /// this way, whatever their tables hold.
    pub fn relevant(&self, among: &[bool], kept: &[bool]) -> Relevant {
        let Reduced { cards, tables, .. } = self.network;
        let mut out = Relevant {
            tables: among.to_vec(),
            variables: vec![true; cards.len()],
            order: Vec::new(),
            scale: Scalar::ONE,
        };
        let holders = |all: &Vec<usize>| all.iter().filter(|t| among[**t]).count();
        let mut many: Vec<usize> = self.tables_of.iter().map(holders).collect();
        let mut work: Vec<usize> = (0..cards.len()).collect();
        while let Some(v) = work.pop() {
            if many[v] != 1 || kept[v] || !out.variables[v] {
                continue;
            }
            let Some(at) = self.tables_of[v].iter().copied().find(|t| out.tables[*t]) else {
                continue;
            };
            let Some(constant) = self.constant(at, v) else {
                continue;
            };
            out.tables[at] = false;
            out.variables[v] = false;
            out.order.push(v);
            out.scale = out.scale.times(Scalar::from_f64(constant));
            for u in tables[at].scope.iter().filter(|u| **u != v) {
                many[*u] -= 1;
                if many[*u] == 0 && !kept[*u] {
                    out.variables[*u] = false;
                    out.scale = out.scale.times(Scalar::from_f64(cards[*u] as f64));
                }
                work.push(*u);
            }
        }
        out
    }
    /// The sum of table `at` over `v`, if it is constant.
    fn constant(&self, at: usize, v: usize) -> Option<f64> {
        let table = &self.network.tables[at];
        let place = table.scope.iter().position(|u| *u == v)?;
        *self.constants[at][place].get_or_init(|| constant_sum(table, place, &self.network.cards))
    }
    /// The tables of `among` that hang together with table `at`, in their order.
    pub fn connected(&self, among: &[bool], at: usize) -> Vec<usize> {
        let Reduced { cards, tables, .. } = self.network;
        let (mut seen, mut met) = (vec![false; tables.len()], vec![false; cards.len()]);
        seen[at] = true;
        let mut out = vec![at];
        let mut next = 0;
        while let Some(at) = out.get(next).copied() {
            next += 1;
            // The tables of a variable are looked at once.
            for v in &tables[at].scope {
                if std::mem::replace(&mut met[*v], true) {
                    continue;
                }
                for t in self.tables_of[*v].iter().filter(|t| among[**t]) {
                    if !std::mem::replace(&mut seen[*t], true) {
                        out.push(*t);
                    }
                }
            }
        }
        out.sort_unstable();
        out
    }
    /// A table of `among` that holds `v`.
    pub fn table_of(&self, among: &[bool], v: usize) -> Option<usize> {
        self.tables_of[v].iter().copied().find(|t| among[*t])
    }
}

/// Sums out the barren variables of `out` but for those `kept`.
pub fn drop_barren(out: &mut Reduced, kept: &[bool]) {
    let left = Relevance::new(out).relevant(&vec![true; out.tables.len()], kept);
    out.scale = out.scale.times(left.scale);
    let mut stays = left.tables.iter();
    out.tables.retain(|_| stays.next().is_none_or(|s| *s));
    renumber(out, &left.variables);
}

/// The sum over the variable at `place` when it is the same (to four units in the last place) for
/// all other variables' values, and no f64 is too small for it.
fn constant_sum(table: &Table, place: usize, cards: &[usize]) -> Option<f64> {
    let inner: usize = table.scope[place + 1..].iter().map(|u| cards[*u]).product();
    let mut first = None;
    for block in table.values.chunks(inner * cards[table.scope[place]]) {
        for i in 0..inner {
            let sum: f64 = block.iter().skip(i).step_by(inner).sum();
            let want = *first.get_or_insert(sum);
            if (sum - want).abs() > 4.0 * f64::EPSILON * want {
                return None;
            }
        }
    }
    first.filter(|c| *c > 0.0 && c.is_finite())
}

/// Takes the variables out of `out` that do not stay.
pub(super) fn renumber(out: &mut Reduced, stays: &[bool]) {
    let mut next = 0;
    let mut number = || {
        next += 1;
        next - 1
    };
    let new: Vec<Option<usize>> = stays.iter().map(|s| s.then(&mut number)).collect();
    let left = |v: &usize| stays[*v];
    out.cards = (0..stays.len())
        .filter(left)
        .map(|v| out.cards[v])
        .collect();
    out.origin = (0..stays.len())
        .filter(left)
        .map(|v| out.origin[v])
        .collect();
    out.number
        .iter_mut()
        .for_each(|n| *n = n.and_then(|v| new[v]));
    out.tables
        .iter_mut()
        .flat_map(|t| &mut t.scope)
        .for_each(|v| *v = new[*v].unwrap_or(0));
}
