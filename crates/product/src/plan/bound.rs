//! A lower bound on what every contraction tree must visit: the network's own width, whatever the
//! order.

use super::local::{Local, each, has};

/// Above this many words the adjacency of a component is not worth a bound.
const MOST_WORDS: usize = 1 << 22;

/// log2 of configurations that some join (or some input table) of every contraction tree has.
///
/// Minor-min-width with weights: the joins of a tree are the bags of a tree decomposition, so one
/// of them holds a vertex of every minor of the interaction graph together with that vertex's
/// neighbours. A vertex stands for what was contracted into it and weighs as little as the smallest
/// domain there. Vertices are taken by least weight and contracted into the neighbour with which
/// they share fewest others.
pub(super) fn visits_log2(local: &Local) -> f64 {
    if local.words * local.variables.len() > MOST_WORDS {
        return 0.0;
    }
    let mut minor = Minor::new(local);
    let mut bound = 0.0f64;
    while let Some((v, weight)) = minor.lightest() {
        bound = bound.max(weight);
        minor.contract(v);
    }
    bound
}

struct Minor {
    words: usize,
    /// Neighbours, by bit of a variable.
    near: Vec<u64>,
    /// log2 of the domain size, by bit.
    weight: Vec<f64>,
    /// Weight of a vertex and its neighbours, by bit.
    bag: Vec<f64>,
    alive: Vec<usize>,
}

impl Minor {
    fn new(local: &Local) -> Self {
        let words = local.words;
        let mut near = vec![0u64; words * words * 64];
        for at in 0..local.tables() {
            let scope = local.scope(at);
            each(scope, |v| {
                near[v * words..][..words]
                    .iter_mut()
                    .zip(scope)
                    .for_each(|(r, s)| *r |= s)
            });
        }
        for v in &local.variables {
            near[v * words + v / 64] &= !(1 << (v % 64));
        }
        let weight: Vec<f64> = (0..words * 64).map(|v| local.weight[v / 64]).collect();
        let mut out = Minor {
            words,
            near,
            bag: weight.clone(),
            weight,
            alive: local.variables.clone(),
        };
        for v in &local.variables {
            out.weigh(*v);
        }
        out
    }
    fn row(&self, v: usize) -> &[u64] {
        &self.near[v * self.words..][..self.words]
    }
    fn weigh(&mut self, v: usize) {
        let mut sum = self.weight[v];
        each(self.row(v), |u| sum += self.weight[u]);
        self.bag[v] = sum;
    }
    fn lightest(&self) -> Option<(usize, f64)> {
        let least = self
            .alive
            .iter()
            .min_by(|a, b| self.bag[**a].total_cmp(&self.bag[**b]))?;
        Some((*least, self.bag[*least]))
    }
    /// The vertex of `row` that has the fewest neighbours in it.
    fn neighbour_sharing_least(&self, row: &[u64]) -> Option<usize> {
        let shared = |u: usize| {
            row.iter()
                .zip(self.row(u))
                .map(|(a, b)| (a & b).count_ones())
                .sum::<u32>()
        };
        let mut least: Option<(u32, usize)> = None;
        each(row, |u| {
            let next = (shared(u), u);
            least = Some(least.map_or(next, |best| best.min(next)));
        });
        least.map(|(_, u)| u)
    }
    /// Contracts `v` into one of its neighbours; a lone vertex goes.
    fn contract(&mut self, v: usize) {
        self.alive.retain(|u| *u != v);
        let row = self.row(v).to_vec();
        let Some(into) = self.neighbour_sharing_least(&row) else {
            return;
        };
        each(&row, |u| {
            self.near[u * self.words + v / 64] &= !(1 << (v % 64));
            if u != into && !has(self.row(into), u) {
                self.near[u * self.words + into / 64] |= 1 << (into % 64);
                self.near[into * self.words + u / 64] |= 1 << (u % 64);
            }
        });
        self.weight[into] = self.weight[into].min(self.weight[v]);
        let mut changed = row;
        changed
            .iter_mut()
            .zip(self.row(into))
            .for_each(|(c, r)| *c |= r);
        changed[into / 64] |= 1 << (into % 64);
        changed[v / 64] &= !(1 << (v % 64));
        each(&changed, |u| self.weigh(u));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::forest::Forest;

    fn bound(cards: &[usize], scopes: Vec<Vec<usize>>) -> f64 {
        let nodes: Vec<usize> = (0..scopes.len()).collect();
        visits_log2(&Local::new(
            &Forest::new(cards, vec![false; cards.len()], scopes.into_iter()),
            &nodes,
        ))
    }

    #[test]
    fn cliques_grids_and_chains_have_their_width() {
        let clique = (0..40)
            .flat_map(|a| (0..a).map(move |b| vec![a, b]))
            .collect();
        assert_eq!(bound(&[2; 40], clique), 40.0);
        let chain = (1..50).map(|v| vec![v - 1, v]).collect();
        assert_eq!(bound(&[4; 50], chain), 4.0);
        let grid = (0..64)
            .flat_map(|v| [(v % 8 < 7, v + 1), (v < 56, v + 8)].map(|(ok, u)| (ok, vec![v, u])));
        let grid = bound(
            &[2; 64],
            grid.filter(|(ok, _)| *ok).map(|(_, s)| s).collect(),
        );
        assert!((4.0..=9.0).contains(&grid), "{grid}");
    }
    #[test]
    fn a_contracted_vertex_weighs_its_smallest_domain() {
        // A cycle of large domains with one small one: every tree has a join of two large ones and
        // the small one at least.
        let cycle = (0..5).map(|v| vec![v, (v + 1) % 5]).collect();
        assert!((bound(&[8, 8, 2, 8, 8], cycle) - 7.0).abs() < 1e-12);
    }
}
