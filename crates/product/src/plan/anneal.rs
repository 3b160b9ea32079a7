//! Simulated annealing over contraction trees by local rotations (Kalachev, Panteleev & Yung 2021),
//! warm-started.
//!
//! At a node P = (X, c) with X = (a, b) a move exchanges c with a or b. Only X's scope changes, so
//! a move costs a few population counts; it is accepted by the ratio of the two joins' costs after
//! and before.

use super::cost::Weights;
use super::local::Local;
use super::topology::Topology;
use zipfold_core::Random;

/// How long and how hot.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// Sweeps; each visits as many random joins as the tree has.
    pub sweeps: usize,
    /// Temperature of the first sweep, in units of log2 cost.
    pub hot: f64,
    /// Temperature of the last.
    pub cold: f64,
}

struct State<'a> {
    local: &'a Local,
    weights: &'a Weights,
    tree: Topology,
    bits: Vec<u64>,
    /// log2 of the entries of each node.
    size: Vec<f64>,
    /// Cost of each join.
    cost: Vec<f64>,
    total: f64,
}

/// Anneals from `start`; returns the best tree seen and its cost.
pub fn anneal(
    local: &Local,
    weights: &Weights,
    start: &Topology,
    schedule: Schedule,
    random: &mut Random,
) -> (Topology, f64) {
    let mut state = State::new(local, weights, start.clone());
    let mut best = (start.clone(), state.total);
    let joins = start.children.len() - start.leaves;
    if joins < 2 {
        return best;
    }
    for sweep in 0..schedule.sweeps {
        let part = sweep as f64 / schedule.sweeps.max(2) as f64;
        let cooling = 1.0 / (schedule.hot * (schedule.cold / schedule.hot).powf(part));
        for _ in 0..joins {
            state.visit(start.leaves + random.below(joins), cooling, random);
        }
        state.refresh();
        if state.total < best.1 {
            best = (state.tree.clone(), state.total);
        }
    }
    best
}

impl<'a> State<'a> {
    fn new(local: &'a Local, weights: &'a Weights, tree: Topology) -> Self {
        let bits = tree.scopes(local);
        let size = bits
            .chunks(local.words.max(1))
            .map(|b| local.log2(b))
            .collect();
        let mut out = State {
            local,
            weights,
            bits,
            size,
            cost: vec![0.0; tree.children.len()],
            total: 0.0,
            tree,
        };
        for at in out.tree.leaves..out.tree.children.len() {
            let [a, b] = out.tree.children[at].map(|c| c as usize);
            out.cost[at] = weights.join(out.union_log2(a, b), out.size[at]);
        }
        out.refresh();
        out
    }
    fn refresh(&mut self) {
        self.total = self.cost.iter().sum();
    }
    fn union_log2(&self, a: usize, b: usize) -> f64 {
        let w = self.local.words;
        let (x, y) = (&self.bits[a * w..][..w], &self.bits[b * w..][..w]);
        x.iter()
            .zip(y)
            .zip(&self.local.weight)
            .map(|((x, y), l)| f64::from((x | y).count_ones()) * l)
            .sum()
    }
    fn visit(&mut self, p: usize, cooling: f64, random: &mut Random) {
        let coin = random.bits();
        let mut side = (coin & 1) as usize;
        if (self.tree.children[p][side] as usize) < self.tree.leaves {
            side ^= 1;
        }
        let x = self.tree.children[p][side] as usize;
        if x < self.tree.leaves {
            return;
        }
        let c = self.tree.children[p][side ^ 1] as usize;
        let out = (coin >> 1 & 1) as usize;
        let (a, b) = (
            self.tree.children[x][out] as usize,
            self.tree.children[x][out ^ 1] as usize,
        );
        let (inner, middle, outer) = self.measure(p, a, b, c);
        let (new_x, new_p) = (
            self.weights.join(inner, middle),
            self.weights.join(outer, self.size[p]),
        );
        let (before, after) = (self.cost[x] + self.cost[p], new_x + new_p);
        if after > before && random.unit() >= ((before / after).log2() * cooling).exp2() {
            return;
        }
        self.cost[x] = new_x;
        self.cost[p] = new_p;
        self.size[x] = middle;
        self.exchange(p, x, a, b, c);
    }
    /// log2 of: the union of b and c, their join's scope, the union of that scope and a.
    fn measure(&self, p: usize, a: usize, b: usize, c: usize) -> (f64, f64, f64) {
        let w = self.local.words;
        let (mut inner, mut middle, mut outer) = (0.0, 0.0, 0.0);
        let row = |n: usize| &self.bits[n * w..][..w];
        let rows = row(p)
            .iter()
            .zip(row(a))
            .zip(row(b))
            .zip(row(c))
            .zip(&self.local.weight);
        for ((((p, a), b), c), l) in rows {
            let union = b | c;
            let kept = union & (p | a);
            inner += f64::from(union.count_ones()) * l;
            middle += f64::from(kept.count_ones()) * l;
            outer += f64::from((kept | a).count_ones()) * l;
        }
        (inner, middle, outer)
    }
    fn exchange(&mut self, p: usize, x: usize, a: usize, b: usize, c: usize) {
        self.tree.children[x] = [b as u32, c as u32];
        self.tree.children[p] = [x as u32, a as u32];
        self.tree.parent[c] = x as u32;
        self.tree.parent[a] = p as u32;
        let w = self.local.words;
        for i in 0..w {
            self.bits[x * w + i] = (self.bits[b * w + i] | self.bits[c * w + i])
                & (self.bits[p * w + i] | self.bits[a * w + i]);
        }
    }
}
