//! The search: depth first through the forest of variables, subtrees one by one (AND/OR branch and
//! bound, Marinescu & Dechter 2009), with what was found for a context kept as long as memory
//! lasts.
//!
//! ```text
//! all(subtrees, own, least):                       independent: their values add up
//!     bound = own + bounds of the subtrees
//!     for each subtree
//!         bound ≤ least: nothing here is better, return
//!         its bound is exact: take it
//!         else: max or sum of it; it has to beat `least` less the bounds of the others
//!         bound −= what its bound was too large
//! max(v, least):
//!     the context of v is known, exactly or not above least: return it
//!     for each state of v, the greatest bound first
//!         bound ≤ max(least, best): stop
//!         found = all(children, own tables of v, …); keep the best and its states
//!     keep the result for the context
//! sum(v):  the same with all states and their logarithmic sum
//! ```
//!
//! Why this shape: subtrees of one variable share no table below it, so a search of each alone
//! replaces the product of their sizes by a sum. A context is the variables above that the
//! subtree's tables hold; the same context has the same answer. All contexts are dropped at once
//! when they fill the memory, so keeping them needs no record of their use.

use super::buckets::{Buckets, Function, log_sum};
use super::tree::Tree;
use std::collections::HashMap;

/// What is searched.
#[derive(Debug)]
pub(crate) struct Problem<'a> {
    /// Values of each variable.
    pub cards: &'a [usize],
    /// Logarithms of all tables.
    pub tables: &'a [Function],
    /// By variable: whether it is maximised, or summed.
    pub maximised: &'a [bool],
    /// The order.
    pub tree: &'a Tree,
    /// The bounds.
    pub buckets: &'a Buckets,
}

/// What a subtree has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bracket {
    /// The greatest value that was found; −∞ for none.
    pub value: f64,
    /// A bound from above.
    pub bound: f64,
}

impl Bracket {
    const fn exactly(value: f64) -> Self {
        Bracket {
            value,
            bound: value,
        }
    }
}

/// What is known of a context.
struct Context {
    found: Bracket,
    states: Box<[u32]>,
}

/// A search in progress.
pub(crate) struct Descent<'a> {
    problem: &'a Problem<'a>,
    /// Whether time is over; asked from time to time.
    over: &'a dyn Fn() -> bool,
    stopped: bool,
    /// Subtrees that were entered.
    pub nodes: u64,
    /// By variable, along the path.
    states: Vec<u32>,
    /// By place in preorder: the best assignment of the subtrees that were left last.
    best: Vec<u32>,
    kept: Vec<HashMap<u64, Context>>,
    /// Bytes that contexts take, and may take.
    room: (usize, usize),
}

/// The value of a variable whose subtree the bounds answer.
const BY_BOUND: u32 = u32::MAX;
/// Entered subtrees between two looks at the time.
const LOOK: u64 = 256;

impl<'a> Descent<'a> {
    /// A search that keeps contexts in at most so many bytes.
    pub(crate) fn new(problem: &'a Problem<'a>, bytes: usize, over: &'a dyn Fn() -> bool) -> Self {
        let many = problem.cards.len();
        Descent {
            problem,
            over,
            stopped: false,
            nodes: 0,
            states: vec![0; many],
            best: vec![BY_BOUND; many],
            kept: (0..many).map(|_| HashMap::new()).collect(),
            room: (0, bytes),
        }
    }
    /// The greatest value above `least`, a bound from above for all values, and the assignment.
    pub(crate) fn run(&mut self, least: f64) -> (Bracket, Vec<u32>) {
        let roots = self.problem.tree.roots.clone();
        let (found, _) = self.all(&roots, 0.0, least);
        let assignment = if found.value > f64::NEG_INFINITY {
            self.assignment()
        } else {
            Vec::new()
        };
        (found, assignment)
    }
    /// The value of an assignment of the maximised variables.
    pub(crate) fn value_of(&mut self, states: &[u32]) -> Bracket {
        self.states.copy_from_slice(states);
        let roots = self.problem.tree.roots.clone();
        let parts: Vec<Bracket> = roots.iter().map(|r| self.fixed(*r)).collect();
        Bracket {
            value: parts.iter().map(|f| f.value).sum(),
            bound: parts.iter().map(|f| f.bound).sum(),
        }
    }
    fn fixed(&mut self, v: usize) -> Bracket {
        if !self.problem.maximised[v] {
            return match self.problem.buckets.exact[v] {
                true => Bracket::exactly(self.bound(v)),
                false => self.sum(v),
            };
        }
        let own = &self.problem.buckets.own[v];
        let own: f64 = own
            .iter()
            .map(|t| self.problem.tables[*t].entry(&self.states))
            .sum();
        let mut all = Bracket::exactly(own);
        for c in self.problem.tree.children[v].clone() {
            let found = self.fixed(c);
            all.value += found.value;
            all.bound += found.bound;
        }
        all
    }
    /// States that descend along the greatest bounds; the variables on the way are assigned.
    pub(crate) fn greedy(&mut self) -> Vec<u32> {
        self.best.fill(BY_BOUND);
        self.assignment()
    }
    /// The best assignment by variable, completed by the bounds where they are exact.
    fn assignment(&mut self) -> Vec<u32> {
        let tree = self.problem.tree;
        for v in tree.eliminated.iter().rev() {
            let known = self.best[tree.preorder[*v]];
            self.states[*v] = match known {
                BY_BOUND if self.problem.maximised[*v] => {
                    let line = self.lines(*v).0;
                    let greatest =
                        (0..line.len()).max_by(|a, b| line[*a].total_cmp(&line[*b]).then(b.cmp(a)));
                    greatest.unwrap_or(0) as u32
                }
                BY_BOUND => 0,
                state => state,
            };
        }
        self.states.clone()
    }
    /// The bound of the subtree of `v` along the path.
    fn bound(&self, v: usize) -> f64 {
        let all = self.problem.buckets.bounds[v].iter();
        all.map(|m| self.problem.buckets.messages[*m].entry(&self.states))
            .sum()
    }
    /// For each value of `v`: the bound with it; its own tables; the bounds of its children one
    /// after another.
    fn lines(&self, v: usize) -> (Vec<f64>, Vec<f64>, Vec<Vec<f64>>) {
        let Problem {
            cards,
            tables,
            tree,
            buckets,
            ..
        } = self.problem;
        let mut own = vec![0.0; cards[v]];
        let tables = buckets.own[v].iter().map(|t| &tables[*t]);
        tables.for_each(|t| t.add_line(v, &self.states, &mut own));
        let child = |c: &usize| {
            let mut line = vec![0.0; cards[v]];
            let messages = buckets.bounds[*c].iter().map(|m| &buckets.messages[*m]);
            messages.for_each(|m| m.add_line(v, &self.states, &mut line));
            line
        };
        let below: Vec<Vec<f64>> = tree.children[v].iter().map(child).collect();
        let mut all = own.clone();
        for line in &below {
            all.iter_mut().zip(line).for_each(|(a, l)| *a += l);
        }
        (all, own, below)
    }
    /// Whether time is over.
    fn look(&mut self) -> bool {
        self.nodes += 1;
        if self.nodes.is_multiple_of(LOOK) && !self.stopped {
            self.stopped = (self.over)();
        }
        self.stopped
    }
    /// Values of independent subtrees together, on top of `own`; whether all are exact.
    fn all(&mut self, subtrees: &[usize], own: f64, least: f64) -> (Bracket, bool) {
        let bounds: Vec<f64> = subtrees.iter().map(|c| self.bound(*c)).collect();
        let mut all = Bracket {
            value: own,
            bound: own + bounds.iter().sum::<f64>(),
        };
        let mut exact = true;
        for (c, bound) in subtrees.iter().zip(&bounds) {
            if all.bound <= least {
                return (
                    Bracket {
                        value: f64::NEG_INFINITY,
                        ..all
                    },
                    false,
                );
            }
            let found = match self.problem.buckets.exact[*c] {
                true => {
                    let at = self.problem.tree.preorder[*c];
                    self.best[at..at + self.problem.tree.size[*c]].fill(BY_BOUND);
                    Bracket::exactly(*bound)
                }
                false if self.problem.maximised[*c] => self.max(*c, least - (all.bound - bound)),
                false => self.sum(*c),
            };
            exact &= found.value >= found.bound;
            all.value += found.value;
            all.bound += found.bound.min(*bound) - bound;
        }
        if exact {
            all.bound = all.value;
        }
        (all, exact)
    }
    /// The greatest value of the subtree of `v` above `least`.
    fn max(&mut self, v: usize, least: f64) -> Bracket {
        let key = self.key(v);
        if let Some(found) = self.known(v, key, least) {
            return found;
        }
        self.look();
        let (bounds, own, _) = self.lines(v);
        let mut order: Vec<usize> = (0..bounds.len()).collect();
        order.sort_by(|a, b| bounds[*b].total_cmp(&bounds[*a]));
        let children = self.problem.tree.children[v].clone();
        let at = self.problem.tree.preorder[v];
        let below = at + 1..at + self.problem.tree.size[v];
        let mut best = Bracket::exactly(f64::NEG_INFINITY);
        let mut saved: Vec<u32> = Vec::new();
        for x in order {
            let least = least.max(best.value);
            if bounds[x] <= least || self.stopped {
                best.bound = best.bound.max(bounds[x]);
                break;
            }
            self.states[v] = x as u32;
            let (found, _) = self.all(&children, own[x], least);
            if found.value > best.value {
                best.value = found.value;
                saved.clear();
                saved.push(x as u32);
                saved.extend(&self.best[below.clone()]);
            }
            best.bound = best.bound.max(found.bound);
        }
        best.bound = best.bound.max(best.value);
        if !saved.is_empty() {
            self.best[at..below.end].copy_from_slice(&saved);
        }
        self.keep(v, key, best, saved);
        best
    }
    /// The sum over the subtree of `v`, in which all variables are summed.
    fn sum(&mut self, v: usize) -> Bracket {
        let key = self.key(v);
        if let Some(found) = self.known(v, key, f64::NEG_INFINITY) {
            return found;
        }
        let over = self.look();
        let (bounds, own, _) = self.lines(v);
        let children = self.problem.tree.children[v].clone();
        let (mut values, mut limits) = (vec![f64::NEG_INFINITY; bounds.len()], bounds.clone());
        for x in 0..bounds.len() {
            if bounds[x] == f64::NEG_INFINITY || over || self.stopped {
                continue;
            }
            self.states[v] = x as u32;
            let (found, _) = self.all(&children, own[x], f64::NEG_INFINITY);
            (values[x], limits[x]) = (found.value, found.bound);
        }
        let exact = values.iter().zip(&limits).all(|(v, l)| v >= l);
        let value = log_sum(&values);
        let found = Bracket {
            value,
            bound: if exact { value } else { log_sum(&limits) },
        };
        self.keep(v, key, found, Vec::new());
        found
    }
    /// The number of the context of `v` along the path; none for one that has too many.
    fn key(&self, v: usize) -> Option<u64> {
        let place = |key: u64, u: &usize| {
            let card = self.problem.cards[*u] as u64;
            key.checked_mul(card)?
                .checked_add(u64::from(self.states[*u]))
        };
        self.problem.tree.context[v].iter().try_fold(0, place)
    }
    /// What is known of a context, where that is enough.
    fn known(&mut self, v: usize, key: Option<u64>, least: f64) -> Option<Bracket> {
        let kept = self.kept[v].get(&key?)?;
        if kept.found.value >= kept.found.bound {
            let at = self.problem.tree.preorder[v];
            self.best[at..at + kept.states.len()].copy_from_slice(&kept.states);
            return Some(kept.found);
        }
        (kept.found.bound <= least).then_some(Bracket {
            value: f64::NEG_INFINITY,
            bound: kept.found.bound,
        })
    }
    fn keep(&mut self, v: usize, key: Option<u64>, found: Bracket, states: Vec<u32>) {
        let Some(key) = key.filter(|_| !self.stopped) else {
            return;
        };
        self.room.0 += 4 * states.len() + 64;
        if self.room.0 > self.room.1 {
            self.kept.iter_mut().for_each(HashMap::clear);
            self.room.0 = 0;
        }
        let states = states.into_boxed_slice();
        self.kept[v].insert(key, Context { found, states });
    }
}
