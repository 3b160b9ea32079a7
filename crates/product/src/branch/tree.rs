//! The order in which a search assigns variables: a forest in which every table lies along one path
//! (a pseudo tree, Freuder & Quinn 1985), from an order of elimination.

use crate::plan::local::{each, has, set};
use zipfold_core::Random;

/// Variables by elimination, and the forest that this order gives.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// Variables as they are eliminated; a search assigns them the other way round.
    pub eliminated: Vec<usize>,
    /// By variable: its place in that order.
    pub place: Vec<usize>,
    /// By variable: those assigned before it that its subtree depends on, nearest first.
    pub context: Vec<Vec<usize>>,
    /// By variable: the next ones to assign, independent of each other.
    pub children: Vec<Vec<usize>>,
    /// Variables without a parent.
    pub roots: Vec<usize>,
    /// By variable: its place in preorder, where subtrees are runs.
    pub preorder: Vec<usize>,
    /// By variable: variables of its subtree, itself included.
    pub size: Vec<usize>,
}

/// Orders that are tried.
const TRIED: usize = 8;

/// Variables that are neighbours, as sets of bits.
struct Neighbours {
    words: usize,
    rows: Vec<u64>,
}

impl Neighbours {
    fn new(variables: usize, scopes: &[Vec<usize>]) -> Self {
        let words = variables.div_ceil(64);
        let mut graph = Neighbours {
            words,
            rows: vec![0; words * variables],
        };
        for scope in scopes {
            for a in scope {
                scope
                    .iter()
                    .filter(|b| *b != a)
                    .for_each(|b| graph.rows[a * words + b / 64] |= 1 << (b % 64));
            }
        }
        graph
    }
    fn row(&self, v: usize) -> &[u64] {
        &self.rows[v * self.words..(v + 1) * self.words]
    }
    /// Whether `a` and `b` are neighbours.
    fn has(&self, a: usize, b: usize) -> bool {
        has(self.row(a), b)
    }
    fn neighbours(&self, v: usize) -> Vec<usize> {
        let mut out = Vec::new();
        each(self.row(v), |u| out.push(u));
        out
    }
    /// Neighbours of `a`, `b` itself aside, that are not neighbours of `b`.
    fn apart(&self, a: usize, b: usize) -> usize {
        let rows = self.row(a).iter().zip(self.row(b));
        let all: usize = rows.map(|(a, b)| (a & !b).count_ones() as usize).sum();
        all - usize::from(self.has(a, b))
    }
    /// Edges that the elimination of `v` adds.
    fn fill(&self, v: usize) -> usize {
        let around = self.neighbours(v);
        around.iter().map(|u| self.apart(v, *u)).sum::<usize>() / 2
    }
    /// Makes `a` and `b` neighbours, and keeps the edges that eliminations add.
    fn connect(&mut self, a: usize, b: usize, fill: &mut [usize]) {
        fill[a] += self.apart(a, b);
        fill[b] += self.apart(b, a);
        for word in 0..self.words {
            let common = self.row(a)[word] & self.row(b)[word];
            each(&[common], |bit| fill[64 * word + bit] -= 1);
        }
        set(&mut self.rows[a * self.words..], b);
        set(&mut self.rows[b * self.words..], a);
    }
    /// Connects the neighbours of `v` and takes it out; they are returned. `fill` has the edges
    /// that the elimination of each variable adds, before and after.
    fn eliminate(&mut self, v: usize, fill: &mut [usize]) -> Vec<usize> {
        let around = self.neighbours(v);
        for u in &around {
            fill[*u] -= self.apart(*u, v);
            self.rows[u * self.words + v / 64] &= !(1 << (v % 64));
        }
        for (at, a) in around.iter().enumerate() {
            for b in &around[at + 1..] {
                if !self.has(*a, *b) {
                    self.connect(*a, *b, fill);
                }
            }
        }
        around
    }
}

impl Tree {
    /// The best of some orders by least fill; variables that are not `last` come before all others.
    pub(crate) fn new(cards: &[usize], scopes: &[Vec<usize>], last: &[bool], seed: u64) -> Self {
        let graph = Neighbours::new(cards.len(), scopes);
        let mut random = Random::new(seed ^ 0x7ee5);
        let mut best: Option<(f64, Vec<usize>, Vec<Vec<usize>>)> = None;
        for _ in 0..TRIED {
            let (order, around) = order(&graph, last, &mut random);
            let cost = cost(cards, &around);
            if best.as_ref().is_none_or(|b| cost < b.0) {
                best = Some((cost, order, around));
            }
        }
        let (_, order, around) = best.unwrap_or_default();
        Self::from_order(order, around)
    }
    /// The forest of an order; `around` are the variables eliminated later that each one then
    /// touches.
    fn from_order(eliminated: Vec<usize>, mut context: Vec<Vec<usize>>) -> Self {
        let many = eliminated.len();
        let mut place = vec![0; many];
        eliminated
            .iter()
            .enumerate()
            .for_each(|(at, v)| place[*v] = at);
        context
            .iter_mut()
            .for_each(|c| c.sort_unstable_by_key(|v| place[*v]));
        let (mut children, mut roots) = (vec![Vec::new(); many], Vec::new());
        for v in eliminated.iter().rev() {
            match context[*v].first() {
                Some(parent) => children[*parent].push(*v),
                None => roots.push(*v),
            }
        }
        let mut size = vec![1; many];
        for v in &eliminated {
            size[*v] += children[*v].iter().map(|c| size[*c]).sum::<usize>();
        }
        let mut preorder = vec![0; many];
        let mut next = 0;
        let mut stack: Vec<usize> = roots.iter().rev().copied().collect();
        while let Some(v) = stack.pop() {
            preorder[v] = next;
            next += 1;
            stack.extend(children[v].iter().rev());
        }
        Tree {
            eliminated,
            place,
            context,
            children,
            roots,
            preorder,
            size,
        }
    }
}

/// An order by least fill, ties by chance, and what each variable touches when it goes.
fn order(graph: &Neighbours, last: &[bool], random: &mut Random) -> (Vec<usize>, Vec<Vec<usize>>) {
    let many = last.len();
    let mut left = Neighbours {
        words: graph.words,
        rows: graph.rows.clone(),
    };
    let mut fill: Vec<usize> = (0..many).map(|v| left.fill(v)).collect();
    let (mut order, mut around) = (Vec::with_capacity(many), vec![Vec::new(); many]);
    let mut there = vec![true; many];
    for _ in 0..many {
        let key = |v: &usize| (last[*v], fill[*v]);
        let open = || (0..many).filter(|v| there[*v]);
        let Some(least) = open().map(|v| key(&v)).min() else {
            break;
        };
        let ties: Vec<usize> = open().filter(|v| key(v) == least).collect();
        let v = ties[random.below(ties.len())];
        there[v] = false;
        around[v] = left.eliminate(v, &mut fill);
        order.push(v);
    }
    (order, around)
}

/// Configurations of all contexts, as a logarithm.
fn cost(cards: &[usize], around: &[Vec<usize>]) -> f64 {
    let logs = |vars: &Vec<usize>| vars.iter().map(|v| (cards[*v] as f64).ln()).sum::<f64>();
    let all: Vec<f64> = around.iter().map(logs).collect();
    let most = all.iter().copied().fold(0.0, f64::max);
    most + all.iter().map(|l| (l - most).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_to_add_are_kept_while_variables_go() {
        let mut random = Random::new(5);
        for case in 0..60 {
            let many = 1 + random.below(150);
            let pairs = random.below(3 * many);
            let scopes: Vec<Vec<usize>> = (0..pairs)
                .map(|_| vec![random.below(many), random.below(many)])
                .collect();
            let mut graph = Neighbours::new(many, &scopes);
            let mut fill: Vec<usize> = (0..many).map(|v| graph.fill(v)).collect();
            let mut left: Vec<usize> = (0..many).collect();
            while !left.is_empty() {
                let v = left.swap_remove(random.below(left.len()));
                graph.eliminate(v, &mut fill);
                for u in &left {
                    assert_eq!(fill[*u], graph.fill(*u), "case {case}, {many} variables");
                }
            }
        }
    }
}
