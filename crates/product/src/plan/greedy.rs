//! Greedy elimination orders: min-degree, min-weight, min-fill and weighted min-fill, with noise
//! for restarts.

use super::local::{Local, each, has, set};
use zipfold_core::Random;

/// What the next variable minimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Neighbours.
    Degree,
    /// Entries of the bucket.
    Weight,
    /// Edges to be added.
    Fill,
    /// Edges to be added, each weighted by the domain sizes at its ends.
    WeightedFill,
}

/// The interaction graph while variables are eliminated.
struct Graph<'a> {
    local: &'a Local,
    words: usize,
    adjacent: Vec<u64>,
    /// Domain size of the variables of each word.
    card: Vec<f64>,
}

impl<'a> Graph<'a> {
    fn new(local: &'a Local) -> Self {
        let words = local.words;
        let mut adjacent = vec![0u64; words * words * 64];
        for at in 0..local.tables() {
            let scope = local.scope(at);
            each(scope, |v| {
                let row = &mut adjacent[v * words..][..words];
                row.iter_mut().zip(scope).for_each(|(r, s)| *r |= s);
            });
        }
        for v in &local.variables {
            adjacent[v * words + v / 64] &= !(1 << (v % 64));
        }
        Graph {
            local,
            words,
            adjacent,
            card: local.weight.iter().map(|w| w.exp2().round()).collect(),
        }
    }
    fn row(&self, v: usize) -> &[u64] {
        &self.adjacent[v * self.words..][..self.words]
    }
    fn degree(&self, v: usize) -> u32 {
        self.row(v).iter().map(|w| w.count_ones()).sum()
    }
    fn score(&self, v: usize, rule: Rule) -> f64 {
        let row = self.row(v);
        match rule {
            Rule::Degree => row.iter().map(|w| f64::from(w.count_ones())).sum(),
            Rule::Weight => self.local.log2(row),
            Rule::Fill | Rule::WeightedFill => self.fill(v, rule == Rule::WeightedFill),
        }
    }
    fn fill(&self, v: usize, weighted: bool) -> f64 {
        let row = self.row(v);
        let mut total = 0.0;
        each(row, |u| {
            let other = self.row(u);
            let mut missing = 0.0;
            for (word, (r, o)) in row.iter().zip(other).enumerate() {
                let many = f64::from((r & !o).count_ones());
                missing += if weighted {
                    many * self.card[word]
                } else {
                    many
                };
            }
            let own = if weighted { self.card[u / 64] } else { 1.0 };
            total += (missing - own) * own;
        });
        total / 2.0
    }
    /// Connects the neighbours of `v` and removes it; `touched` receives every variable whose score
    /// may change.
    fn eliminate(&mut self, v: usize, touched: &mut [u64], wide: bool) {
        let row = self.row(v).to_vec();
        touched.copy_from_slice(&row);
        each(&row, |u| {
            let words = self.words;
            let other = &mut self.adjacent[u * words..][..words];
            if wide {
                touched
                    .iter_mut()
                    .zip(other.iter())
                    .for_each(|(t, o)| *t |= o);
            }
            other.iter_mut().zip(&row).for_each(|(o, r)| *o |= r);
            other[v / 64] &= !(1 << (v % 64));
            other[u / 64] &= !(1 << (u % 64));
        });
        touched[v / 64] &= !(1 << (v % 64));
    }
}

/// The place of the variable with the least score, where `noise` perturbs all of them.
fn least(live: &[usize], score: &[f64], noise: f64, random: &mut Random) -> usize {
    let mut best = (f64::INFINITY, 0);
    for (at, v) in live.iter().enumerate() {
        let s = if noise > 0.0 {
            (score[*v] + 1.0) * (1.0 + noise * random.unit())
        } else {
            score[*v]
        };
        if s < best.0 {
            best = (s, at);
        }
    }
    best.1
}

/// An elimination order of the variables of `local` that are not kept, and about how many words it
/// took to find. `noise` above 0 perturbs the scores.
pub fn order(local: &Local, rule: Rule, noise: f64, random: &mut Random) -> (Vec<usize>, f64) {
    let mut graph = Graph::new(local);
    let mut score = vec![f64::INFINITY; local.words * 64];
    let mut live: Vec<usize> = local
        .variables
        .iter()
        .copied()
        .filter(|v| !has(&local.kept, *v))
        .collect();
    live.iter().for_each(|v| score[*v] = graph.score(*v, rule));
    let mut out = Vec::with_capacity(live.len());
    let mut touched = vec![0u64; local.words];
    let mut done = local.kept.clone();
    let mut effort = 0.0;
    while !live.is_empty() {
        let v = live.swap_remove(least(&live, &score, noise, random));
        let wide = matches!(rule, Rule::Fill | Rule::WeightedFill) && score[v] != 0.0;
        graph.eliminate(v, &mut touched, wide);
        set(&mut done, v);
        out.push(v);
        touched.iter_mut().zip(&done).for_each(|(t, d)| *t &= !d);
        each(&touched, |u| {
            score[u] = graph.score(u, rule);
            effort += f64::from(graph.degree(u) + 4) * local.words as f64;
        });
        effort += live.len() as f64;
    }
    (out, effort)
}
