//! A contraction forest under construction: tables joined one after another, and the eliminations
//! that can only help.
//!
//! ```text
//! eliminate_easy:  queue = all variables that may be summed
//!     for each variable of the queue
//!         union = the tables that hold it
//!         the result of their join is no larger than the widest of them:
//!             join them (join_wide), queue the variables of the result again
//!     multiply each table into one of few entries that holds all its variables
//! join_wide:  sum each table's own variables
//!     while there are more tables than one join takes: join the two smallest
//!     while two of them joined first save work: join these
//!     join the rest at once
//! components:  active tables that share variables                           each is searched alone
//! ```
//!
//! Why this shape: an elimination whose table is no larger than one that it replaces cannot raise
//! the width, so no search has to find it. Chains, trees and series go here; the search sees the
//! hard core alone. Tables by variable (`of_var`) are kept current, so a join looks only at its own
//! tables.

/// What makes a node.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Source {
    /// An input table, by number.
    Input(usize),
    /// The product of these nodes, with variables summed.
    Join(Vec<usize>),
}

/// One table of the plan.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Node {
    /// Where it comes from.
    pub source: Source,
    /// Variables it keeps.
    pub scope: Vec<usize>,
    /// Variables summed while making it.
    pub summed: Vec<usize>,
}

impl Node {
    /// Whether it is made from other nodes.
    pub fn is_join(&self) -> bool {
        matches!(self.source, Source::Join(_))
    }
}

/// Nodes, of which the active ones are still to be joined.
#[derive(Clone, Debug)]
pub struct Forest {
    /// Domain sizes.
    pub cards: Vec<usize>,
    /// Variables that are never summed.
    pub kept: Vec<bool>,
    /// All nodes, inputs before what uses them.
    pub nodes: Vec<Node>,
    /// Whether a node awaits joining.
    pub active: Vec<bool>,
    /// Active nodes by variable.
    of_var: Vec<Vec<usize>>,
}

/// Most inputs of one join.
pub const WIDEST_JOIN: usize = 6;
/// Tables up to this many entries are multiplied into wider ones at once.
const SMALL: f64 = 4096.0;
/// Cost of an entry that is written and read again, in visits of a configuration by the n-ary
/// kernel.
const WRITTEN: f64 = 8.0;

impl Forest {
    /// A forest of input tables with these scopes.
    pub fn new(cards: &[usize], kept: Vec<bool>, scopes: impl Iterator<Item = Vec<usize>>) -> Self {
        let mut out = Forest {
            cards: cards.to_vec(),
            kept,
            nodes: Vec::new(),
            active: Vec::new(),
            of_var: vec![Vec::new(); cards.len()],
        };
        for (at, scope) in scopes.enumerate() {
            out.push(Node {
                source: Source::Input(at),
                scope,
                summed: Vec::new(),
            });
        }
        out
    }
    fn push(&mut self, node: Node) -> usize {
        let id = self.nodes.len();
        node.scope.iter().for_each(|v| self.of_var[*v].push(id));
        self.nodes.push(node);
        self.active.push(true);
        id
    }
    /// Entries of a table over `scope`, as f64 because it may be astronomical.
    pub fn size(&self, scope: &[usize]) -> f64 {
        scope.iter().map(|v| self.cards[*v] as f64).product()
    }
    /// The variables of `nodes`, sorted.
    fn union(&self, nodes: &[usize]) -> Vec<usize> {
        let mut out: Vec<usize> = nodes
            .iter()
            .flat_map(|n| self.nodes[*n].scope.iter().copied())
            .collect();
        out.sort_unstable();
        out.dedup();
        out
    }
    /// Splits `union` into what a join of `nodes` keeps and what it sums: variables that stand
    /// nowhere else.
    fn outcome(&self, nodes: &[usize], union: &[usize]) -> (Vec<usize>, Vec<usize>) {
        union
            .iter()
            .partition(|v| self.kept[**v] || self.of_var[**v].iter().any(|n| !nodes.contains(n)))
    }
    /// Joins active nodes into one, summing every variable that stands nowhere else.
    pub fn join(&mut self, nodes: &[usize]) -> usize {
        let union = self.union(nodes);
        let (scope, summed) = self.outcome(nodes, &union);
        for n in nodes {
            self.active[*n] = false;
            for v in std::mem::take(&mut self.nodes[*n].scope) {
                self.of_var[v].retain(|m| m != n);
                self.nodes[*n].scope.push(v);
            }
        }
        self.push(Node {
            source: Source::Join(nodes.to_vec()),
            scope,
            summed,
        })
    }
    /// Eliminates variables as long as the new table is no larger than one it replaces: no order
    /// needs to be sought for those (chains, trees, leaves, series and everything else of treewidth
    /// near the widest input).
    pub fn eliminate_easy(&mut self) {
        let mut queued: Vec<bool> = self.kept.iter().map(|k| !k).collect();
        let mut work: std::collections::VecDeque<usize> =
            (0..self.cards.len()).filter(|v| queued[*v]).collect();
        while let Some(v) = work.pop_front() {
            queued[v] = false;
            let Some(node) = self.try_easy(v) else {
                continue;
            };
            for u in self.nodes[node].scope.clone() {
                if !self.kept[u] && !std::mem::replace(&mut queued[u], true) {
                    work.push_back(u);
                }
            }
        }
        for node in 0..self.nodes.len() {
            if self.active[node] {
                self.merge_small(node);
            }
        }
    }
    fn try_easy(&mut self, v: usize) -> Option<usize> {
        let nodes = self.of_var[v].clone();
        if nodes.is_empty() || nodes.len() > 64 {
            return None;
        }
        let union = self.union(&nodes);
        let (scope, _) = self.outcome(&nodes, &union);
        let widest = nodes
            .iter()
            .map(|n| self.size(&self.nodes[*n].scope))
            .fold(0.0, f64::max);
        (self.size(&scope) <= widest).then(|| self.join_wide(nodes))
    }
    /// Joins any number of nodes: first each table's own variables are summed, then the smallest
    /// tables are joined while there are more than [`WIDEST_JOIN`], then two at a time as long as
    /// that visits fewer configurations than all at once.
    pub fn join_wide(&mut self, mut nodes: Vec<usize>) -> usize {
        if nodes.len() > 1 {
            for n in &mut nodes {
                if self.nodes[*n]
                    .scope
                    .iter()
                    .any(|v| !self.kept[*v] && self.of_var[*v].len() == 1)
                {
                    *n = self.join(&[*n]);
                }
            }
        }
        while nodes.len() > WIDEST_JOIN {
            nodes.sort_by(|a, b| {
                self.size(&self.nodes[*b].scope)
                    .total_cmp(&self.size(&self.nodes[*a].scope))
            });
            let some = nodes.split_off(nodes.len() - 2);
            nodes.push(self.join(&some));
        }
        while let Some((a, b)) = self.worthwhile_pair(&nodes) {
            let joined = self.join(&[nodes[a], nodes[b]]);
            nodes.swap_remove(b);
            nodes[a] = joined;
        }
        self.join(&nodes)
    }
    /// The places of the two of at least three nodes whose join first saves most, if it saves
    /// anything.
    fn worthwhile_pair(&self, nodes: &[usize]) -> Option<(usize, usize)> {
        if nodes.len() < 3 {
            return None;
        }
        let at_once = self.size(&self.union(nodes)) * nodes.len() as f64;
        let mut best = (at_once, None);
        for b in 1..nodes.len() {
            for a in 0..b {
                let pair = [nodes[a], nodes[b]];
                let union = self.union(&pair);
                let (scope, summed) = self.outcome(&pair, &union);
                let rest =
                    at_once / self.size(&summed) * (nodes.len() - 1) as f64 / nodes.len() as f64;
                let cost = 2.0 * self.size(&union) + WRITTEN * self.size(&scope) + rest;
                if cost < best.0 {
                    best = (cost, Some((a, b)));
                }
            }
        }
        best.1
    }
    /// Multiplies a small table into one that holds all its variables.
    fn merge_small(&mut self, node: usize) {
        let scope = &self.nodes[node].scope;
        let Some(rarest) = scope.iter().min_by_key(|v| self.of_var[**v].len()) else {
            return;
        };
        let home = self.of_var[*rarest].iter().copied().find(|n| {
            let other = &self.nodes[*n].scope;
            *n != node && self.size(other) <= SMALL && scope.iter().all(|v| other.contains(v))
        });
        if let Some(home) = home {
            self.join(&[home, node]);
        }
    }
    /// Active nodes grouped so that nodes of different groups share no variable; lone nodes
    /// included.
    pub fn components(&self) -> Vec<Vec<usize>> {
        let mut group = vec![usize::MAX; self.nodes.len()];
        let mut out = Vec::new();
        for start in (0..self.nodes.len()).filter(|n| self.active[*n]) {
            if group[start] != usize::MAX {
                continue;
            }
            let mut members = vec![start];
            group[start] = out.len();
            let mut at = 0;
            while at < members.len() {
                for n in self.nodes[members[at]]
                    .scope
                    .iter()
                    .flat_map(|v| &self.of_var[*v])
                {
                    if group[*n] == usize::MAX {
                        group[*n] = out.len();
                        members.push(*n);
                    }
                }
                at += 1;
            }
            out.push(members);
        }
        out
    }
}
