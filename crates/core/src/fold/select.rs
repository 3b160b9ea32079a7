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
    /// Matches (i, j), for an inner join.
    pub pairs: Vec<(u64, u64)>,
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
        SelectState { pairs: vec![], values: vec![], matched, start }
    }
    /// Keeps a match.
    pub fn absorb(&mut self, fold: &Select, i: usize, j: usize, value: Option<f64>) {
        if fold.kind == SelectKind::Inner {
            self.pairs.push((i as u64, j as u64));
            self.values.extend(value);
        } else {
            self.matched[i - self.start] = true;
        }
    }
    /// Adds another state.
    pub fn merge(&mut self, other: SelectState) {
        self.pairs.extend(other.pairs);
        self.values.extend(other.values);
        for (at, yes) in other.matched.iter().enumerate() {
            self.matched[other.start - self.start + at] |= yes;
        }
    }
    /// Bytes held, and as many again for sorting the matches and writing them as columns.
    pub fn bytes(&self) -> u64 {
        2 * (self.pairs.capacity() * 16 + self.values.capacity() * 8) as u64 + self.matched.len() as u64
    }
    /// Sorts an inner join by (i, j).
    pub fn sort(&mut self) {
        if self.values.is_empty() {
            self.pairs.sort_unstable();
            return;
        }
        let mut both: Vec<_> = self.pairs.drain(..).zip(self.values.drain(..)).collect();
        both.sort_unstable_by_key(|(pair, _)| *pair);
        (self.pairs, self.values) = both.into_iter().unzip();
    }
}
