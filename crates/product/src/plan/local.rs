//! One connected part of a network, with variables as bits: what the order search works on.

use super::forest::Forest;
use std::collections::HashMap;

/// Above this many bits the interaction graph is kept sparse.
pub const DENSE_BITS: usize = 1 << 14;

/// Bit sets over the variables of one component. Each word holds variables of one domain size, so
/// that the logarithm of a table's size is a weighted population count.
#[derive(Clone, Debug)]
pub struct Local {
    /// Words of a bit set.
    pub words: usize,
    /// log2 of the domain size of the variables in each word.
    pub weight: Vec<f64>,
    /// Scopes of the tables, `words` words each.
    pub scopes: Vec<u64>,
    /// Variables that stay.
    pub kept: Vec<u64>,
    /// The node of the forest behind each table.
    pub nodes: Vec<usize>,
    /// Bits of all variables.
    pub variables: Vec<usize>,
}

/// The bit of each variable, and the log2 of the domain size of the variables of each word. `vars`
/// have ascending domain sizes, each of which begins a word of its own.
fn bits(vars: &[usize], cards: &[usize]) -> (HashMap<usize, usize>, Vec<f64>) {
    let mut bit = HashMap::new();
    let (mut weight, mut next, mut last) = (Vec::new(), 0usize, 0usize);
    for v in vars {
        if cards[*v] != last {
            next = next.next_multiple_of(64);
            last = cards[*v];
        }
        if next / 64 == weight.len() {
            weight.push((last as f64).log2());
        }
        bit.insert(*v, next);
        next += 1;
    }
    (bit, weight)
}

impl Local {
    /// The component of `forest` made of `nodes`.
    pub fn new(forest: &Forest, nodes: &[usize]) -> Self {
        let mut vars: Vec<usize> = nodes
            .iter()
            .flat_map(|n| forest.nodes[*n].scope.iter().copied())
            .collect();
        vars.sort_unstable_by_key(|v| (forest.cards[*v], *v));
        vars.dedup();
        let (bit, weight) = bits(&vars, &forest.cards);
        let words = weight.len();
        let mut out = Local {
            words,
            weight,
            scopes: vec![0; words * nodes.len()],
            kept: vec![0; words],
            nodes: nodes.to_vec(),
            variables: Vec::new(),
        };
        for (at, n) in nodes.iter().enumerate() {
            for v in &forest.nodes[*n].scope {
                set(&mut out.scopes[at * words..][..words], bit[v]);
            }
        }
        vars.iter()
            .filter(|v| forest.kept[**v])
            .for_each(|v| set(&mut out.kept, bit[v]));
        out.variables = vars.iter().map(|v| bit[v]).collect();
        out
    }
    /// Bytes that the component made of `nodes` takes as bits: its scopes, and those of one tree
    /// while it is built. A search takes [`Local::chain_bytes`] more for each tree that it changes.
    pub fn bytes(forest: &Forest, nodes: &[usize]) -> u64 {
        let mut vars: Vec<usize> = nodes
            .iter()
            .flat_map(|n| forest.nodes[*n].scope.iter().copied())
            .collect();
        vars.sort_unstable();
        vars.dedup();
        let mut cards: Vec<usize> = vars.iter().map(|v| forest.cards[*v]).collect();
        cards.sort_unstable();
        cards.dedup();
        // Each domain size begins a word of its own.
        let words = (vars.len() / 64 + cards.len() + 1) as u64;
        let pairs = if words * 64 > DENSE_BITS as u64 {
            0
        } else {
            words * words * 64 * 8
        };
        3 * 8 * words * nodes.len() as u64 + pairs + 64 * vars.len() as u64
    }
    /// Bytes of the bits of one tree over the tables.
    pub fn chain_bytes(&self) -> u64 {
        2 * 8 * (self.words * self.tables()) as u64
    }
    /// Number of tables.
    pub fn tables(&self) -> usize {
        self.nodes.len()
    }
    /// The scope of table `at`.
    pub fn scope(&self, at: usize) -> &[u64] {
        &self.scopes[at * self.words..][..self.words]
    }
    /// log2 of the number of configurations of `bits`.
    pub fn log2(&self, bits: &[u64]) -> f64 {
        bits.iter()
            .zip(&self.weight)
            .map(|(b, w)| f64::from(b.count_ones()) * w)
            .sum()
    }
}

/// Sets bit `at`.
pub fn set(bits: &mut [u64], at: usize) {
    bits[at / 64] |= 1 << (at % 64);
}

/// Whether bit `at` is set.
pub fn has(bits: &[u64], at: usize) -> bool {
    bits[at / 64] >> (at % 64) & 1 == 1
}

/// Calls `see` with every set bit.
pub fn each(bits: &[u64], mut see: impl FnMut(usize)) {
    for (word, b) in bits.iter().enumerate() {
        let mut left = *b;
        while left != 0 {
            see(word * 64 + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}
