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
    /// Adds another state, whose row r is row `order[r]` here.
    pub fn merge_sorted(&mut self, other: SelectState, order: &[u32]) {
        self.pairs.extend(other.pairs);
        self.values.extend(other.values);
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

/// Sorts pairs, as single numbers where their halves fit: by column, then stably by row, each by counting.
fn sort_pairs(pairs: &mut Vec<(u64, u64)>) {
    if pairs.iter().any(|p| (p.0 | p.1) >> 32 != 0) {
        sort_by_row(pairs, |p| p.0);
        return;
    }
    let column = |p: &u64| p & u64::from(u32::MAX);
    let mut packed: Vec<u64> = pairs.iter().map(|p| p.0 << 32 | p.1).collect();
    match count_into_place(&packed, column).and_then(|sorted| count_into_place(&sorted, |p| p >> 32)) {
        Some(sorted) => packed = sorted,
        None => sort_by_row(&mut packed, |p| p >> 32),
    }
    pairs.iter_mut().zip(packed).for_each(|(pair, p)| *pair = (p >> 32, column(&p)));
}

/// The items by key, equal ones in the order they had; none where there are many more keys than items.
fn count_into_place<T: Copy + Default>(items: &[T], key: impl Fn(&T) -> u64) -> Option<Vec<T>> {
    let keys = items.iter().map(|i| key(i) + 1).max().unwrap_or(0);
    if keys > items.len() as u64 * 8 {
        return None;
    }
    let mut starts = vec![0usize; keys as usize + 1];
    items.iter().for_each(|i| starts[key(i) as usize + 1] += 1);
    for k in 0..keys as usize {
        starts[k + 1] += starts[k];
    }
    let mut out = vec![T::default(); items.len()];
    for item in items {
        let place = &mut starts[key(item) as usize];
        out[*place] = *item;
        *place += 1;
    }
    Some(out)
}

/// Sorts by row first, by counting where there are not many more rows than items, then each row.
fn sort_by_row<T: Copy + Ord + Default>(items: &mut Vec<T>, row: impl Fn(&T) -> u64) {
    let Some(mut out) = count_into_place(items, &row) else {
        items.sort_unstable();
        return;
    };
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
