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
    /// Sorts an inner join by (i, j).
    pub fn sort(&mut self) {
        if self.i.iter().zip(&self.j).is_sorted() {
            return;
        }
        if self.values.is_empty() && sort_by_counting(&mut self.i, &mut self.j) {
            return;
        }
        let bits = self.values.iter().map(|v| v.to_bits()).chain(std::iter::repeat(0));
        let mut all: Vec<_> = self.i.iter().zip(&self.j).zip(bits).map(|((i, j), v)| (*i, *j, v)).collect();
        sort_by_row(&mut all, |of| of.0);
        for (at, (i, j, value)) in all.into_iter().enumerate() {
            (self.i[at], self.j[at]) = (i, j);
            if let Some(kept) = self.values.get_mut(at) {
                *kept = f64::from_bits(value);
            }
        }
    }
}

/// Sorts pairs by counting: into single numbers by column, then back stably by row. False, and nothing done, where keys
/// are too many for it.
fn sort_by_counting(i: &mut [u64], j: &mut [u64]) -> bool {
    let keys = |of: &[u64]| of.iter().max().map_or(0, |last| last + 1);
    let (rows, columns) = (keys(i), keys(j));
    if rows.max(columns) > few(i.len()).min(1 << 32) {
        return false;
    }
    let (mut row, mut column) = (starts(rows, i.iter().copied()), starts(columns, j.iter().copied()));
    let mut by_column = vec![0u64; i.len()];
    for (i, j) in i.iter().zip(&*j) {
        by_column[next(&mut column, *j)] = i << 32 | j;
    }
    for p in by_column {
        let at = next(&mut row, p >> 32);
        (i[at], j[at]) = (p >> 32, p & u64::from(u32::MAX));
    }
    true
}

/// Where the items of each of `count` keys start in sorted order.
fn starts(count: u64, keys: impl Iterator<Item = u64>) -> Vec<usize> {
    let mut starts = vec![0; count as usize + 1];
    keys.for_each(|k| starts[k as usize + 1] += 1);
    for k in 1..starts.len() {
        starts[k] += starts[k - 1];
    }
    starts
}

/// Keys so few that counting `items` of them costs less than comparing.
fn few(items: usize) -> u64 {
    items as u64 * 8
}

/// The place of the next item of `key`.
fn next(starts: &mut [usize], key: u64) -> usize {
    let place = &mut starts[key as usize];
    *place += 1;
    *place - 1
}

/// Sorts by row first, by counting where there are not many more rows than items, then each row.
fn sort_by_row<T: Copy + Ord + Default>(items: &mut Vec<T>, row: impl Fn(&T) -> u64) {
    let rows = items.iter().map(|i| row(i) + 1).max().unwrap_or(0);
    if rows > few(items.len()) {
        items.sort_unstable();
        return;
    }
    let mut starts = starts(rows, items.iter().map(&row));
    let mut out = vec![T::default(); items.len()];
    for item in items.iter() {
        out[next(&mut starts, row(item))] = *item;
    }
    out.chunk_by_mut(|a, b| row(a) == row(b)).for_each(|same| same.sort_unstable());
    *items = out;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_sorted_by_row_then_column() {
        let scrambled = |n: u64, rows: u64, columns: u64| -> Vec<(u64, u64)> {
            (0..n).map(|i| (i.wrapping_mul(0x9E37_79B9) % rows, i.wrapping_mul(0x85EB_CA6B) % columns)).collect()
        };
        // Dense keys; too sparse columns; too sparse rows; beyond 32 bits; none.
        let cases = [(1000, 50, 70), (1000, 50, 1 << 31), (1000, 1 << 31, 50), (1000, 1 << 40, 1 << 40), (0, 1, 1)];
        for (n, rows, columns) in cases {
            let mut expected = scrambled(n, rows, columns);
            let (i, j): (Vec<u64>, Vec<u64>) = expected.iter().copied().unzip();
            // The value of a match goes with it.
            let values: Vec<f64> = expected.iter().map(|(i, j)| *i as f64 * 3.0 + *j as f64).collect();
            expected.sort_unstable();
            for values in [vec![], values] {
                let mut state = SelectState { i: i.clone(), j: j.clone(), values, ..SelectState::default() };
                state.sort();
                let sorted: Vec<(u64, u64)> = state.i.iter().copied().zip(state.j).collect();
                assert_eq!(sorted, expected, "{n} matches of {rows} rows and {columns} columns");
                let kept = sorted.iter().zip(state.values).all(|((i, j), v)| v == *i as f64 * 3.0 + *j as f64);
                assert!(kept, "values of {n} matches of {rows} rows and {columns} columns");
            }
        }
    }
}
