//! Groups of sorted rows: how many pairs of each two groups a tile has, with the ones that nobody looks
//! at.
//!
//! ```text
//! rows × columns, one input, i < j        before | both | behind
//! before × all columns                    n_a · n_b                     rows before the first column
//! both × both, each pair once             n_a · n_b, n_a (n_a − 1) / 2
//! both × behind                           n_a · n_b
//! ```

use std::ops::Range;
use zipfold_core::Domain;
use zipfold_plan::Tile;

/// Rows between two counts that are kept.
pub const STEP: usize = 4096;

/// The groups of the sorted rows of a side.
#[derive(Clone, Debug)]
pub struct SortedGroups {
    groups: usize,
    codes: Vec<u32>,
    /// Rows of each group before every [`STEP`]-th row.
    before: Vec<u32>,
}

impl SortedGroups {
    /// Takes the group of every sorted row, below `groups`.
    pub fn new(groups: usize, codes: Vec<u32>) -> Self {
        let mut before = vec![];
        let mut counts = vec![0u32; groups];
        for codes in codes.chunks(STEP) {
            before.extend_from_slice(&counts);
            codes.iter().for_each(|code| counts[*code as usize] += 1);
        }
        SortedGroups {
            groups,
            codes,
            before,
        }
    }
    /// Pairs of groups, of one side.
    pub fn pairs(&self) -> usize {
        self.groups * self.groups
    }
    /// Rows of each group before row `end`.
    fn up_to(&self, end: usize) -> Vec<u64> {
        if end == 0 {
            return vec![0; self.groups];
        }
        let step = (end - 1) / STEP;
        let kept = &self.before[step * self.groups..][..self.groups];
        let mut counts: Vec<u64> = kept.iter().map(|count| u64::from(*count)).collect();
        let rest = &self.codes[step * STEP..end];
        rest.iter().for_each(|code| counts[*code as usize] += 1);
        counts
    }
    /// Rows of each group among `rows`.
    fn among(&self, rows: &Range<usize>) -> Vec<u64> {
        if rows.is_empty() {
            return vec![0; self.groups];
        }
        let (mut counts, before) = (self.up_to(rows.end), self.up_to(rows.start));
        counts
            .iter_mut()
            .zip(before)
            .for_each(|(count, before)| *count -= before);
        counts
    }
}

/// Adds the pairs of a tile of rows that have groups, by group of x and of y.
pub fn add_pairs(
    [x, y]: [&SortedGroups; 2],
    domain: Domain,
    Tile { rows, cols }: &Tile,
    pairs: &mut [u64],
) {
    let groups = x.groups;
    let mut add = |a: &[u64], b: &[u64]| {
        for (pairs, a) in pairs.chunks_exact_mut(groups).zip(a) {
            pairs.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * b);
        }
    };
    if domain != Domain::Triangle {
        return add(&x.among(rows), &y.among(cols));
    }
    let ends = |range: Range<usize>| range.start..range.end.max(range.start);
    let both = ends(rows.start.max(cols.start)..rows.end.min(cols.end));
    let before = ends(rows.start..rows.end.min(cols.start));
    let behind = ends(both.end.max(rows.end).max(cols.start)..cols.end);
    add(&x.among(&before), &x.among(cols));
    let inside = x.among(&both);
    add(&inside, &x.among(&behind));
    for (a, count) in inside.iter().enumerate() {
        pairs[a * groups + a] += count * count.saturating_sub(1) / 2;
        for (b, other) in inside.iter().enumerate().skip(a + 1) {
            pairs[a * groups + b] += count * other;
        }
    }
}
