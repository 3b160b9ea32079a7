//! Matches of a join in the order of their rows, regardless of the order in which they were found.

use rayon::prelude::*;
use zipfold_core::fold::JoinState;
use zipfold_core::slices::split;

/// Sorts an inner join by (i, j), with all threads of the pool that it is called in.
pub fn sort(matches: &mut JoinState) {
    if matches.i.iter().zip(&matches.j).is_sorted() {
        return;
    }
    let keys = |of: &[u64]| {
        let last = |part: &[u64]| part.iter().max().copied();
        let all = if of.len() > FEW {
            of.par_chunks(FEW).map(last).max().flatten()
        } else {
            last(of)
        };
        all.map_or(0, |last| last.saturating_add(1))
    };
    let (rows, columns) = (keys(&matches.i), keys(&matches.j));
    if matches.values.is_empty() && rows.max(columns) <= 1 << 32 {
        sort_as::<u64>(matches, rows, columns);
    } else {
        sort_as::<(u64, u64, u64)>(matches, rows, columns);
    }
}

/// Sorts matches of rows below `rows` and columns below `columns`: into buckets in parts of the
/// whole, then bucket by bucket.
fn sort_as<M: Match>(matches: &mut JoinState, rows: u64, columns: u64) {
    let items = matches.i.len();
    let taken = |at: usize| {
        M::new(
            matches.i[at],
            matches.j[at],
            matches.values.get(at).copied().unwrap_or(0.0),
        )
    };
    if items <= FEW {
        let mut all = (0..items).map(taken).collect();
        M::sort(&mut all);
        return put(&all, &mut matches.i, &mut matches.j, &mut matches.values);
    }
    let buckets = (items / BUCKET).clamp(1, BUCKETS);
    // Pairs are numbered row by row, unless they are too many.
    let wide = if rows.checked_mul(columns).is_some() {
        columns
    } else {
        1
    };
    let shift = 64 - (rows * wide / buckets as u64).leading_zeros();
    let cell = |at: usize| matches.i[at] * wide + if wide > 1 { matches.j[at] } else { 0 };
    let bucket = |at: usize| cell(at).checked_shr(shift).unwrap_or(0);
    let part = items.div_ceil(2 * rayon::current_num_threads()).max(FEW);
    let by_bucket = |first: usize| {
        let range = first..items.min(first + part);
        let starts = starts(buckets as u64, range.clone().map(bucket));
        let (mut next_of, mut out) = (starts.clone(), vec![M::default(); range.len()]);
        range.for_each(|at| out[next(&mut next_of, bucket(at))] = taken(at));
        (starts, out)
    };
    let firsts: Vec<usize> = (0..items).step_by(part).collect();
    let parts: Vec<(Vec<usize>, Vec<M>)> = firsts.into_par_iter().map(by_bucket).collect();
    let length = |b: usize| {
        parts
            .iter()
            .map(|(starts, _)| starts[b + 1] - starts[b])
            .sum::<usize>()
    };
    let lengths: Vec<usize> = (0..buckets).map(length).collect();
    sort_buckets(matches, &parts, &lengths);
}

/// Sorts each bucket, of this many items, from its pieces in `parts`, and writes it to its place.
fn sort_buckets<M: Match>(
    matches: &mut JoinState,
    parts: &[(Vec<usize>, Vec<M>)],
    lengths: &[usize],
) {
    let none = vec![0; lengths.len()];
    let i = split(&mut matches.i, lengths.iter().copied());
    let j = split(&mut matches.j, lengths.iter().copied());
    let of_values = if matches.values.is_empty() {
        &none[..]
    } else {
        lengths
    };
    let values = split(&mut matches.values, of_values.iter().copied());
    i.into_par_iter()
        .zip(j)
        .zip(values)
        .enumerate()
        .with_max_len(8)
        .for_each(|(b, ((i, j), values))| {
            let mut items = Vec::with_capacity(i.len());
            parts.iter().for_each(|(starts, part)| {
                items.extend_from_slice(&part[starts[b]..starts[b + 1]])
            });
            M::sort(&mut items);
            put(&items, i, j, values);
        });
}

/// Sorts matches of rows below 2³² without values, row and column in a word each.
pub(crate) fn sort_words(items: &mut Vec<u64>) {
    <u64 as Match>::sort(items);
}

/// Writes sorted matches, and their values where there are any.
fn put<M: Match>(items: &[M], i: &mut [u64], j: &mut [u64], values: &mut [f64]) {
    for ((i, j), item) in i.iter_mut().zip(j).zip(items) {
        (*i, *j) = item.pair();
    }
    values
        .iter_mut()
        .zip(items)
        .for_each(|(value, item)| *value = item.value());
}

/// Matches that one thread sorts.
const FEW: usize = 1 << 14;
/// Matches that are sorted at once: they fit in the nearest cache.
const BUCKET: usize = 2048;
/// The most buckets, each of which a part writes to.
const BUCKETS: usize = 1024;

/// A match as it is sorted.
trait Match: Copy + Default + Send + Sync {
    fn new(i: u64, j: u64, value: f64) -> Self;
    fn pair(&self) -> (u64, u64);
    fn value(&self) -> f64;
    /// Sorts some by row and column.
    fn sort(items: &mut Vec<Self>);
}

/// Of rows and columns below 2³², without a value.
impl Match for u64 {
    fn new(i: u64, j: u64, _: f64) -> u64 {
        i << 32 | j
    }
    fn pair(&self) -> (u64, u64) {
        (self >> 32, self & u64::from(u32::MAX))
    }
    fn value(&self) -> f64 {
        0.0
    }
    /// By digits of column and row from the least on, of the bits that are not all the same.
    fn sort(items: &mut Vec<u64>) {
        let Some(first) = items.first().copied() else {
            return;
        };
        let odd = items.iter().fold(0, |odd, item| odd | (item ^ first));
        let mut spare = vec![0; items.len()];
        for (from, part) in [(0, odd as u32), (32, (odd >> 32) as u32)] {
            let (mut at, end) = (part.trailing_zeros(), 32 - part.leading_zeros());
            while at < end {
                let bits = (end - at).min(DIGIT);
                by_digit(items, &mut spare, from + at, bits);
                std::mem::swap(items, &mut spare);
                at += bits;
            }
        }
    }
}

/// Row, column, the bits of the value.
impl Match for (u64, u64, u64) {
    fn new(i: u64, j: u64, value: f64) -> Self {
        (i, j, value.to_bits())
    }
    fn pair(&self) -> (u64, u64) {
        (self.0, self.1)
    }
    fn value(&self) -> f64 {
        f64::from_bits(self.2)
    }
    fn sort(items: &mut Vec<Self>) {
        items.sort_unstable();
    }
}

/// The most bits of a digit that is counted at once.
const DIGIT: u32 = 9;

/// Copies items to `to` in the order of `bits` bits from bit `at` on; equal ones stay in order.
fn by_digit(items: &[u64], to: &mut [u64], at: u32, bits: u32) {
    let digit = |item: &u64| (item >> at) as usize & ((1 << bits) - 1);
    let mut next = [0usize; 1 << DIGIT];
    items.iter().for_each(|item| next[digit(item)] += 1);
    let mut start = 0;
    next.iter_mut()
        .for_each(|count| start += std::mem::replace(count, start));
    for item in items {
        let place = &mut next[digit(item)];
        to[*place] = *item;
        *place += 1;
    }
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

/// The place of the next item of `key`.
fn next(starts: &mut [usize], key: u64) -> usize {
    let place = &mut starts[key as usize];
    *place += 1;
    *place - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_sorted_by_row_then_column() {
        let scrambled = |n: u64, rows: u64, columns: u64| -> Vec<(u64, u64)> {
            (0..n)
                .map(|i| {
                    (
                        i.wrapping_mul(0x9E37_79B9) % rows,
                        i.wrapping_mul(0x85EB_CA6B) % columns,
                    )
                })
                .collect()
        };
        // Dense keys; too sparse columns; too sparse rows; beyond 32 bits; none.
        let cases = [
            (1000, 50, 70),
            (1000, 50, 1 << 31),
            (1000, 1 << 31, 50),
            (1000, 1 << 40, 1 << 40),
            (1000, 1023, 1),
            (1000, 1024, 1 << 32),
            (1000, 1025, (1 << 32) + 1),
            (100_000, 3000, 70_000),
            (100_000, 2, 1 << 40),
            (100_000, 1 << 40, 1 << 40),
            (0, 1, 1),
        ];
        for (n, rows, columns) in cases {
            let mut expected = scrambled(n, rows, columns);
            let (i, j): (Vec<u64>, Vec<u64>) = expected.iter().copied().unzip();
            // The value of a match goes with it.
            let values: Vec<f64> = expected
                .iter()
                .map(|(i, j)| *i as f64 * 3.0 + *j as f64)
                .collect();
            expected.sort_unstable();
            for values in [vec![], values] {
                let mut state = JoinState::default();
                (state.i, state.j, state.values) = (i.clone(), j.clone(), values);
                sort(&mut state);
                let sorted: Vec<(u64, u64)> = state.i.iter().copied().zip(state.j).collect();
                assert_eq!(
                    sorted, expected,
                    "{n} matches of {rows} rows and {columns} columns"
                );
                let kept = sorted
                    .iter()
                    .zip(state.values)
                    .all(|((i, j), v)| v == *i as f64 * 3.0 + *j as f64);
                assert!(
                    kept,
                    "values of {n} matches of {rows} rows and {columns} columns"
                );
            }
        }
    }
}
