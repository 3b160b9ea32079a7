//! Edges as they are collected, and the best of each row.

use super::measures::{Pair, Strip};
use rayon::prelude::*;
use zipfold_core::budget::Tab;
use zipfold_core::{Budget, Result};

/// Bytes of an edge while it is collected, and of its columns.
const BYTES: u64 = size_of::<Pair>() as u64 + 56;

/// Edges in the order of their rows.
pub(super) struct Collected {
    pub(super) pairs: Vec<Pair>,
    tab: Tab,
}

impl Collected {
    pub(super) fn new(budget: &Budget) -> Self {
        Collected {
            pairs: vec![],
            tab: budget.tab("the edges; fewer of them with a threshold"),
        }
    }
    /// Takes the pairs of a strip that `keep` keeps.
    pub(super) fn add(&mut self, strip: &Strip, keep: impl Fn(&Pair) -> bool + Sync) -> Result<()> {
        let rows: Vec<Vec<Pair>> = strip
            .rows
            .clone()
            .into_par_iter()
            .map(|row| strip.row(row).filter(&keep).collect())
            .collect();
        for row in rows {
            self.tab.add(row.len() as u64 * BYTES)?;
            self.pairs.extend(row);
        }
        Ok(())
    }
}

/// p-values of pairs that are no edges, which ranks are counted from.
pub(super) struct Ranked {
    pub(super) p: Vec<f64>,
    tab: Tab,
}

impl Ranked {
    pub(super) fn new(budget: &Budget) -> Self {
        Ranked {
            p: vec![],
            tab: budget.tab("p-values of pairs below the threshold"),
        }
    }
    /// Takes `p` of the pairs of a strip that have one.
    pub(super) fn add(
        &mut self,
        strip: &Strip,
        p: impl Fn(&Pair) -> Option<f64> + Sync,
    ) -> Result<()> {
        let rows: Vec<Vec<f64>> = strip
            .rows
            .clone()
            .into_par_iter()
            .map(|row| strip.row(row).filter_map(|pair| p(&pair)).collect())
            .collect();
        for row in rows {
            self.tab.add(row.len() as u64 * 16)?;
            self.p.extend(row);
        }
        Ok(())
    }
}

/// The best pairs of each row: the largest values without their signs, equal ones by their rows.
pub(super) struct Best {
    most: usize,
    rows: Vec<Vec<Pair>>,
}

/// Whether `a` comes before `b`.
fn before(a: &Pair, b: &Pair) -> std::cmp::Ordering {
    b.value
        .abs()
        .total_cmp(&a.value.abs())
        .then((a.i, a.j).cmp(&(b.i, b.j)))
}

impl Best {
    pub(super) fn new(rows: usize, most: usize) -> Self {
        Best {
            most: most.min(rows),
            rows: vec![vec![]; rows],
        }
    }
    /// Bytes that they may take.
    pub(super) fn bytes(rows: usize, most: usize) -> u64 {
        2 * (rows as u64) * (most.min(rows) as u64) * BYTES
    }
    /// Takes the pairs of a strip that `keep` keeps.
    pub(super) fn add(&mut self, strip: &Strip, keep: impl Fn(&Pair) -> bool + Sync) {
        let (first, most) = (strip.rows.start, self.most);
        let rows = self.rows.par_iter_mut().enumerate().skip(first);
        rows.for_each(|(g, best)| {
            for pair in strip.around(g).filter(&keep) {
                offer(best, pair, most);
            }
        });
    }
    /// Takes pairs one by one.
    pub(super) fn add_all(&mut self, pairs: &[Pair]) {
        for pair in pairs {
            for g in [pair.i, pair.j] {
                offer(&mut self.rows[g], *pair, self.most);
            }
        }
    }
    /// All of them, each once, in the order of their rows.
    pub(super) fn pairs(self) -> Vec<Pair> {
        let mut all: Vec<Pair> = self.rows.into_iter().flatten().collect();
        all.par_sort_unstable_by_key(|pair| (pair.i, pair.j));
        all.dedup_by_key(|pair| (pair.i, pair.j));
        all
    }
}

/// Puts a pair in its place among the best, which stay in order.
fn offer(best: &mut Vec<Pair>, pair: Pair, most: usize) {
    if best.len() == most {
        match best.last() {
            Some(last) if before(&pair, last).is_lt() => best.pop(),
            _ => return,
        };
    }
    let at = best.partition_point(|other| before(other, &pair).is_lt());
    best.insert(at, pair);
}
