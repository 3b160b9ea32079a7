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
const STEP: usize = 4096;

/// The groups of the sorted rows of a side.
#[derive(Clone, Debug)]
pub(super) struct SortedGroups {
    groups: usize,
    codes: Vec<u32>,
    /// Rows of each group before every [`STEP`]-th row.
    before: Vec<u32>,
}

impl SortedGroups {
    /// Takes the group of every sorted row, below `groups`.
    pub(super) fn new(groups: usize, codes: Vec<u32>) -> Self {
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
    pub(super) fn pairs(&self) -> usize {
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
pub(super) fn add_pairs(
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

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::Space;

    #[test]
    fn pairs_of_groups_are_those_of_a_double_loop() {
        let (n, groups) = (3 * STEP + 77, 3);
        let codes: Vec<u32> = (0..n as u32).map(|i| i * i % 7 % 3).collect();
        let sorted = SortedGroups::new(groups, codes.clone());
        let ranges = [0..0, 0..n, 5..STEP, STEP - 3..STEP + 200, n - 100..n];
        for domain in [Domain::Triangle, Domain::Square] {
            for rows in &ranges {
                for cols in &ranges {
                    let tile = Tile {
                        rows: rows.clone(),
                        cols: cols.clone(),
                    };
                    let mut pairs = vec![0; groups * groups];
                    add_pairs([&sorted; 2], domain, &tile, &mut pairs);
                    let space = Space {
                        domain,
                        n,
                        m: n,
                        cutoff: None,
                        band: None,
                    };
                    let all: u64 = pairs.iter().sum();
                    assert_eq!(all, space.count(rows, cols), "{domain:?} {rows:?} {cols:?}");
                    if rows.len() * cols.len() > 1 << 20 {
                        continue;
                    }
                    let mut wanted = vec![0u64; groups * groups];
                    for i in rows.clone() {
                        for j in cols
                            .clone()
                            .filter(|j| domain != Domain::Triangle || *j > i)
                        {
                            let [a, b] = [i, j].map(|row| codes[row] as usize);
                            let is_half = domain == Domain::Triangle;
                            wanted[if is_half {
                                a.min(b) * groups + a.max(b)
                            } else {
                                a * groups + b
                            }] += 1;
                        }
                    }
                    let mut folded = vec![0; groups * groups];
                    for (at, count) in pairs.iter().enumerate() {
                        let [a, b] = [at / groups, at % groups];
                        let is_half = domain == Domain::Triangle;
                        folded[if is_half {
                            a.min(b) * groups + a.max(b)
                        } else {
                            at
                        }] += count;
                    }
                    assert_eq!(folded, wanted, "{domain:?} {rows:?} {cols:?}");
                }
            }
        }
    }
}
