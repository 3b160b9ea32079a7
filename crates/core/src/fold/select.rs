//! Joins: the cells where a predicate holds, with nothing truncated.

use serde::{Deserialize, Serialize};

/// What is kept of the matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SelectKind {
    /// Every matching (i, j).
    Inner,
    /// Every i with a match.
    Semi,
    /// Every i without one.
    Anti,
}

/// A join.
#[derive(Clone, Debug)]
pub struct Select {
    /// The root that is the predicate.
    pub root: usize,
    /// A root whose value is kept with each match.
    pub value: Option<usize>,
    /// What is kept.
    pub kind: SelectKind,
}

/// Matches found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SelectState {
    /// Rows of x of the matches, for an inner join.
    pub i: Vec<u64>,
    /// Rows of y of the matches.
    pub j: Vec<u64>,
    /// Their values, where asked for.
    pub values: Vec<f64>,
    /// Whether row i has a match, for semi and anti joins.
    pub matched: Vec<bool>,
    start: usize,
}

impl SelectState {
    /// No matches, for `n` rows.
    pub fn new(fold: &Select, n: usize) -> Self {
        Self::part(fold, 0, n)
    }
    /// No matches, for `rows` rows from `start`.
    pub fn part(fold: &Select, start: usize, rows: usize) -> Self {
        let matched = if fold.kind == SelectKind::Inner { vec![] } else { vec![false; rows] };
        SelectState { matched, start, ..SelectState::default() }
    }
    /// Whether `fold` over `n` × `m` rows can have this state: matches of rows there are, each with what is kept of it.
    pub(super) fn fits(&self, fold: &Select, n: usize, m: usize) -> bool {
        let (pairs, inner) = (self.i.len(), fold.kind == SelectKind::Inner);
        let below = |rows: &[u64], end: usize| rows.iter().all(|row| *row < end as u64);
        self.start == 0
            && self.matched.len() == if inner { 0 } else { n }
            && (inner || pairs == 0)
            && self.j.len() == pairs
            && self.values.len() == if fold.value.is_some() { pairs } else { 0 }
            && below(&self.i, n)
            && below(&self.j, m)
    }
    /// Keeps a match.
    pub fn absorb(&mut self, fold: &Select, i: usize, j: usize, value: Option<f64>) {
        if fold.kind == SelectKind::Inner {
            self.i.push(i as u64);
            self.j.push(j as u64);
            self.values.extend(value);
        } else {
            self.matched[i - self.start] = true;
        }
    }
    /// Adds the matches of another state.
    fn take(&mut self, i: Vec<u64>, j: Vec<u64>, values: Vec<f64>) {
        if self.i.is_empty() {
            (self.i, self.j, self.values) = (i, j, values);
        } else {
            self.i.extend(i);
            self.j.extend(j);
            self.values.extend(values);
        }
    }
    /// Adds another state.
    pub fn merge(&mut self, other: SelectState) {
        self.take(other.i, other.j, other.values);
        for (at, yes) in other.matched.iter().enumerate() {
            self.matched[other.start - self.start + at] |= yes;
        }
    }
    /// Adds another state, whose row r is row `order[r]` here.
    pub fn merge_sorted(&mut self, other: SelectState, order: &[u32]) {
        self.take(other.i, other.j, other.values);
        for (at, yes) in other.matched.iter().enumerate() {
            self.matched[order[other.start + at] as usize - self.start] |= yes;
        }
    }
    /// Bytes held, and as many again for sorting the matches.
    pub fn bytes(&self) -> u64 {
        (2 * 8 * (self.i.capacity() + self.j.capacity() + self.values.capacity())) as u64 + self.matched.len() as u64
    }
}
