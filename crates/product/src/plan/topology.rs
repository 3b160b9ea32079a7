//! Binary contraction trees over the tables of one component.

use super::cost::Weights;
use super::local::{Local, each, has};

/// A binary tree. Nodes below `leaves` are tables; the others have two children each.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Number of tables.
    pub leaves: usize,
    /// Children, by node (unused for tables).
    pub children: Vec<[u32; 2]>,
    /// Parents, by node; the root is its own.
    pub parent: Vec<u32>,
    /// The root.
    pub root: usize,
}

impl Topology {
    /// The tree of bucket elimination along `order`; tables of one bucket are joined smallest
    /// first.
    pub fn from_order(local: &Local, order: &[usize]) -> Self {
        let words = local.words;
        let mut build = Builder {
            children: vec![[0; 2]; local.tables()],
            bits: local.scopes.clone(),
            holders: vec![Vec::new(); words * 64],
            count: vec![0; words * 64],
            alive: vec![true; local.tables()],
            local,
        };
        (0..local.tables()).for_each(|t| build.register(t));
        for v in order {
            let bucket: Vec<usize> = std::mem::take(&mut build.holders[*v])
                .into_iter()
                .filter(|t| build.alive[*t])
                .collect();
            build.join_all(bucket);
        }
        let rest: Vec<usize> = (0..build.alive.len()).filter(|t| build.alive[*t]).collect();
        build.join_all(rest);
        Self::from_children(local.tables(), build.children)
    }
    fn from_children(leaves: usize, children: Vec<[u32; 2]>) -> Self {
        let root = children.len() - 1;
        let mut parent = vec![root as u32; children.len()];
        for (at, pair) in children.iter().enumerate().skip(leaves) {
            pair.iter().for_each(|c| parent[*c as usize] = at as u32);
        }
        Topology {
            leaves,
            children,
            parent,
            root,
        }
    }
    /// Joins in an order in which children come before parents.
    pub fn post_order(&self) -> Vec<usize> {
        let mut out = Vec::with_capacity(self.children.len() - self.leaves);
        let mut stack = vec![self.root];
        while let Some(at) = stack.pop() {
            if at >= self.leaves {
                out.push(at);
                stack.extend(self.children[at].iter().map(|c| *c as usize));
            }
        }
        out.reverse();
        out
    }
    /// The scope of every node: what stands below it and also outside it, or is kept.
    pub fn scopes(&self, local: &Local) -> Vec<u64> {
        let w = local.words;
        let order = self.post_order();
        let mut below = vec![0u64; self.children.len() * w];
        below[..self.leaves * w].copy_from_slice(&local.scopes);
        for at in &order {
            let [a, b] = self.children[*at].map(|c| c as usize);
            (0..w).for_each(|i| below[at * w + i] = below[a * w + i] | below[b * w + i]);
        }
        let mut above = vec![0u64; self.children.len() * w];
        above[self.root * w..][..w].copy_from_slice(&local.kept);
        for at in order.iter().rev() {
            let [a, b] = self.children[*at].map(|c| c as usize);
            for i in 0..w {
                above[a * w + i] = above[at * w + i] | below[b * w + i];
                above[b * w + i] = above[at * w + i] | below[a * w + i];
            }
        }
        below.iter_mut().zip(&above).for_each(|(b, a)| *b &= a);
        below
    }
    /// The cost of the whole tree by `weights`.
    pub fn cost(&self, local: &Local, weights: &Weights) -> f64 {
        self.joins(local)
            .into_iter()
            .map(|(union, out)| weights.join(union, out))
            .sum()
    }
    /// log2 of the configurations that the widest join visits.
    pub fn widest(&self, local: &Local) -> f64 {
        self.joins(local)
            .into_iter()
            .fold(0.0, |widest, (union, _)| widest.max(union))
    }
    /// log2 of the configurations that every join visits, and of the entries that it leaves.
    fn joins(&self, local: &Local) -> Vec<(f64, f64)> {
        let scopes = self.scopes(local);
        let w = local.words;
        let join = |at: usize| {
            let [a, b] = self.children[at].map(|c| c as usize);
            let union: Vec<u64> = (0..w)
                .map(|i| scopes[a * w + i] | scopes[b * w + i])
                .collect();
            (local.log2(&union), local.log2(&scopes[at * w..][..w]))
        };
        (self.leaves..self.children.len()).map(join).collect()
    }
}

struct Builder<'a> {
    local: &'a Local,
    children: Vec<[u32; 2]>,
    bits: Vec<u64>,
    /// Tables that held each variable when they were made; dead ones are skipped on use.
    holders: Vec<Vec<usize>>,
    /// Live tables that hold each variable.
    count: Vec<u32>,
    alive: Vec<bool>,
}

/// A table in a bucket; the smallest is joined first, ties by number.
#[derive(PartialEq)]
struct Sized(f64, usize);

impl Eq for Sized {}
impl PartialOrd for Sized {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Sized {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

impl Builder<'_> {
    fn bits_of(&self, t: usize) -> &[u64] {
        &self.bits[t * self.local.words..][..self.local.words]
    }
    fn sized(&self, t: usize) -> Sized {
        Sized(self.local.log2(self.bits_of(t)), t)
    }
    fn register(&mut self, t: usize) {
        let bits = self.bits_of(t).to_vec();
        each(&bits, |v| {
            self.holders[v].push(t);
            self.count[v] += 1;
        });
    }
    /// Joins the tables of a bucket two by two.
    fn join_all(&mut self, bucket: Vec<usize>) {
        let mut heap: std::collections::BinaryHeap<Sized> =
            bucket.into_iter().map(|t| self.sized(t)).collect();
        while let (Some(a), Some(b)) = (heap.pop(), heap.pop()) {
            let joined = self.join(a.1, b.1);
            heap.push(self.sized(joined));
            if heap.len() == 1 {
                return;
            }
        }
    }
    fn join(&mut self, a: usize, b: usize) -> usize {
        let id = self.children.len();
        let mut bits: Vec<u64> = self
            .bits_of(a)
            .iter()
            .zip(self.bits_of(b))
            .map(|(x, y)| x | y)
            .collect();
        self.alive[a] = false;
        self.alive[b] = false;
        let (first, second) = (self.bits_of(a).to_vec(), self.bits_of(b).to_vec());
        each(&bits.clone(), |v| {
            self.count[v] -= u32::from(has(&first, v)) + u32::from(has(&second, v));
            if self.count[v] == 0 && !has(&self.local.kept, v) {
                bits[v / 64] &= !(1 << (v % 64));
            } else {
                self.count[v] += 1;
                self.holders[v].push(id);
            }
        });
        self.children.push([a as u32, b as u32]);
        self.bits.extend(bits);
        self.alive.push(true);
        id
    }
}
