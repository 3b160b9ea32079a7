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
    /// Adds the matches of another state.
    fn take(&mut self, pairs: Vec<(u64, u64)>, values: Vec<f64>) {
        if self.pairs.is_empty() {
            (self.pairs, self.values) = (pairs, values);
        } else {
            self.pairs.extend(pairs);
            self.values.extend(values);
        }
    }
    /// Adds another state.
    pub fn merge(&mut self, other: SelectState) {
        self.take(other.pairs, other.values);
        for (at, yes) in other.matched.iter().enumerate() {
            self.matched[other.start - self.start + at] |= yes;
        }
    }
    /// Adds another state, whose row r is row `order[r]` here.
    pub fn merge_sorted(&mut self, other: SelectState, order: &[u32]) {
        self.take(other.pairs, other.values);
        for (at, yes) in other.matched.iter().enumerate() {
            self.matched[order[other.start + at] as usize - self.start] |= yes;
        }
    }
    /// Bytes held, and as many again for sorting the matches and writing them as columns.
    pub fn bytes(&self) -> u64 {
        2 * (self.pairs.capacity() * 16 + self.values.capacity() * 8) as u64 + self.matched.len() as u64
    }
    /// Sorts an inner join by (i, j).
    pub fn sort(&mut self) {
        if self.pairs.is_sorted() {
            return;
        }
        if self.values.is_empty() {
            sort_pairs(&mut self.pairs);
            return;
        }
        let mut both: Vec<_> = self.pairs.drain(..).zip(self.values.drain(..).map(f64::to_bits)).collect();
        sort_by_row(&mut both, |(pair, _)| pair.0);
        (self.pairs, self.values) = both.into_iter().map(|(p, v)| (p, f64::from_bits(v))).unzip();
    }
}

/// Sorts pairs by counting: into single numbers by column, then back stably by row.
fn sort_pairs(pairs: &mut Vec<(u64, u64)>) {
    let (rows, columns) = pairs.iter().fold((0, 0), |(r, c), p| (r.max(p.0 + 1), c.max(p.1 + 1)));
    if rows.max(columns) > few(pairs.len()).min(1 << 32) {
        sort_by_row(pairs, |p| p.0);
        return;
    }
    let (mut row, mut column) = (vec![0; rows as usize + 1], vec![0; columns as usize + 1]);
    for (i, j) in pairs.iter() {
        row[*i as usize + 1] += 1;
        column[*j as usize + 1] += 1;
    }
    sum_up(&mut row);
    sum_up(&mut column);
    let mut by_column = vec![0u64; pairs.len()];
    for (i, j) in pairs.iter() {
        by_column[next(&mut column, *j)] = i << 32 | j;
    }
    for p in by_column {
        pairs[next(&mut row, p >> 32)] = (p >> 32, p & u64::from(u32::MAX));
    }
}

/// Keys so few that counting `items` of them costs less than comparing.
fn few(items: usize) -> u64 {
    items as u64 * 8
}

/// Turns the counts of the keys, each one place on, into where the items of each start in sorted order.
fn sum_up(counts: &mut [usize]) {
    for k in 1..counts.len() {
        counts[k] += counts[k - 1];
    }
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
    let mut starts = vec![0; rows as usize + 1];
    items.iter().for_each(|i| starts[row(i) as usize + 1] += 1);
    sum_up(&mut starts);
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
    fn pairs_are_sorted_by_row_then_column() {
        let scrambled = |n: u64, rows: u64, columns: u64| -> Vec<(u64, u64)> {
            (0..n).map(|i| (i.wrapping_mul(0x9E37_79B9) % rows, i.wrapping_mul(0x85EB_CA6B) % columns)).collect()
        };
        // Dense keys; too sparse columns; too sparse rows; beyond 32 bits; none.
        let cases = [(1000, 50, 70), (1000, 50, 1 << 31), (1000, 1 << 31, 50), (1000, 1 << 40, 1 << 40), (0, 1, 1)];
        for (n, rows, columns) in cases {
            let mut pairs = scrambled(n, rows, columns);
            let mut expected = pairs.clone();
            expected.sort_unstable();
            sort_pairs(&mut pairs);
            assert_eq!(pairs, expected, "{n} pairs of {rows} rows and {columns} columns");
        }
    }
}
