//! The k smallest (or largest) values of all pairs, each with its pair: values ascending
//! (descending), ties by row of x, then of y, NaN last.
//!
//! A heap of k would move log k elements for every accepted value. Here a state is an unsorted list
//! of at most 2k candidates with a bound, the worst of the best k known. A value beyond the bound
//! is dropped by one comparison. When the list is full, a selection in linear time throws out the
//! worse half and lowers the bound: O(1) per accepted value.
//!
//! The bound may be too large, never too small, so what is dropped is never among the best.

use super::roots::Roots;
use super::{
    Accumulate, BLOCK, Best, Bounded, Column, Columns, Layout, Lent, Line, Role, Scattered, Traits,
    Value, ValuedPair,
};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::pair::Side;
use crate::space::Domain;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::ops::Range;

/// The most pairs that a request may keep. Each candidate takes 24 bytes, and a state may hold
/// twice as many: 5 GB.
const MOST: usize = 100_000_000;

/// The fold in a problem file.
///
/// In a problem file: `{ kind = "top", k = 10 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopSpec {
    /// How many pairs.
    pub k: usize,
    /// Those of the largest values (true) or of the smallest (false); by default the largest of a
    /// named similarity, the smallest of anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<bool>,
}

impl TopSpec {
    /// Returns the fold of the pair's value.
    ///
    /// # Errors
    /// `Request` for no pairs, for too many, and for a pair that is a vector.
    pub(super) fn fold(&self, roots: &mut Roots<'_>) -> Result<Top> {
        roots.scalar("the best pairs")?;
        if !(1..=MOST).contains(&self.k) {
            let e = Error::request(format!("expected 1 to {MOST} pairs, got k = {}", self.k))
                .at_place("k");
            return Err(e.remedy("a smaller k, or a join: all pairs within a distance"));
        }
        let (root, squared) = roots.ordered(roots.value());
        Ok(Top {
            root,
            k: self.k,
            largest: self.largest.unwrap_or(roots.similarity()),
            squared,
        })
    }
}

/// A fold to the best pairs of all.
///
/// A pair (i, j) of one input counts once if the formula is symmetric, and both ways round if not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Top {
    /// Which root orders the pairs.
    pub root: usize,
    /// How many are kept.
    pub k: usize,
    /// The largest values rather than the smallest.
    pub largest: bool,
    /// The values are squares: report their roots. The order of squares is that of their roots.
    pub squared: bool,
}

/// A value (negated if the largest are wanted) and its pair. Negation turns "largest" into
/// "smallest", so one order serves both.
pub(super) type Candidate = (f64, u64, u64);

/// The best pairs so far, and others that are not thrown out yet.
///
/// Candidates have no order until the answer is made.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TopState {
    candidates: Vec<Candidate>,
    /// The value that candidates must not exceed; none before k are known. NaN if fewer than k
    /// values are numbers; then every number is taken.
    bound: Option<f64>,
}

/// Orders candidates by value, NaN last, then by pair.
///
/// A total order, so the best k are the same in any order of pairs and for any number of threads.
fn order(a: &Candidate, b: &Candidate) -> Ordering {
    let by_value =
        a.0.partial_cmp(&b.0)
            .unwrap_or_else(|| a.0.is_nan().cmp(&b.0.is_nan()));
    by_value.then((a.1, a.2).cmp(&(b.1, b.2)))
}

impl Top {
    /// Returns the most candidates that a state holds before the worse half is thrown out. At least
    /// twice a block, so that a small k does not select after every line.
    fn most(&self) -> usize {
        2 * self.k.max(BLOCK)
    }
}

impl TopState {
    /// Keeps a pair without comparing its value: the oracle keeps all. [`Top`]'s columns pick the
    /// best at the end.
    pub fn push(&mut self, fold: &Top, value: f64, i: usize, j: usize) {
        self.candidates.push((
            if fold.largest { -value } else { value },
            i as u64,
            j as u64,
        ));
    }
    /// Offers the value of pair (i, j) and returns whether the bound may have moved. A NaN is
    /// dropped once k numbers are known.
    pub fn offer(&mut self, fold: &Top, value: f64, i: usize, j: usize) -> bool {
        let key = if fold.largest { -value } else { value };
        if self
            .bound
            .is_some_and(|bound| key > bound || (key.is_nan() && !bound.is_nan()))
        {
            return false;
        }
        self.candidates.push((key, i as u64, j as u64));
        self.shrink(fold, fold.most())
    }
    /// Returns the value (negated if the largest are wanted) that candidates must not exceed, if k
    /// are known.
    pub fn bound(&self) -> Option<f64> {
        self.bound
    }
    /// Throws out all but the best k if there are more than `most`, and returns whether it did.
    ///
    /// A selection of k among 2k or more takes linear time, and at least k candidates arrived since
    /// the last one.
    fn shrink(&mut self, fold: &Top, most: usize) -> bool {
        if self.candidates.len() <= most {
            return false;
        }
        let (_, worst, _) = self.candidates.select_nth_unstable_by(fold.k - 1, order);
        self.bound = Some(worst.0);
        self.candidates.truncate(fold.k);
        true
    }
    /// Returns the candidates as those of the rows `rows` of x and `cols` of y. Both ascend, so ties keep
    /// their order.
    pub(crate) fn of_some_rows(mut self, [rows, cols]: [&[u32]; 2]) -> Self {
        for (_, i, j) in &mut self.candidates {
            (*i, *j) = (u64::from(rows[*i as usize]), u64::from(cols[*j as usize]));
        }
        self
    }
    /// Returns the best k in order.
    pub(super) fn best(&self, fold: &Top) -> Vec<Candidate> {
        let mut best = self.candidates.clone();
        best.sort_unstable_by(order);
        best.truncate(fold.k);
        best
    }
}

impl Top {
    /// Returns the best of `candidates` as columns.
    pub(super) fn listed<'a>(&self, mut candidates: Vec<Candidate>) -> Columns<'a> {
        candidates.sort_unstable_by(order);
        candidates.truncate(self.k);
        let best = candidates;
        // Fewer than k lines if there are fewer pairs: nothing is padded, as each line names its
        // pair.
        let value = |v: f64| {
            let v = if self.largest { -v } else { v };
            if self.squared { v.sqrt() } else { v }
        };
        let columns = vec![
            Column::new(
                "i",
                Role::Row(Side::X),
                best.iter().map(|(_, i, _)| *i).collect::<Vec<u64>>(),
            ),
            Column::new(
                "j",
                Role::Row(Side::Y),
                best.iter().map(|(_, _, j)| *j).collect::<Vec<u64>>(),
            ),
            Column::new(
                "value",
                Role::Value,
                best.iter().map(|(v, _, _)| value(*v)).collect::<Vec<f64>>(),
            ),
        ];
        Columns::new(Layout::Table, vec![best.len()], columns)
    }
}

impl Accumulate for Top {
    type State = TopState;

    fn traits(&self) -> Traits {
        Traits {
            bounded: true,
            // The state is as large for a tile as for all pairs, so few large units merge least.
            fixed_size: true,
            operations: 2.0,
            cycles: 1.0,
            ..Traits::default()
        }
    }
    fn domain(&self, symmetric: bool) -> Domain {
        if symmetric {
            Domain::Triangle
        } else {
            Domain::Ordered
        }
    }
    fn any_root(&self, test: &mut dyn FnMut(usize) -> bool) -> bool {
        test(self.root)
    }
    fn start(&self, _: usize, _: usize) -> TopState {
        TopState::default()
    }
    fn part(&self, _: &Range<usize>) -> TopState {
        TopState::default()
    }
    fn bytes(&self, n: usize, m: usize) -> u64 {
        let pairs = (n as u64).saturating_mul(m as u64);
        // Two states, each before its worse half is thrown out: the one that is merged and the one
        // that it merges into. No more candidates than pairs.
        pairs
            .min(2 * self.most() as u64)
            .saturating_mul(size_of::<Candidate>() as u64)
    }
    fn takes(&self, state: &TopState, n: usize, m: usize) -> bool {
        let most = (self.most() as u64).min((n as u64).saturating_mul(m as u64));
        let pair = |(_, i, j): &Candidate| *i < n as u64 && *j < m as u64;
        // A bound without k candidates would drop pairs that belong to the answer.
        let enough = state.bound.is_none() || state.candidates.len() >= self.k;
        enough && state.candidates.len() as u64 <= most && state.candidates.iter().all(pair)
    }
    #[inline(always)]
    fn absorb<T: Value>(&self, state: &mut TopState, line: &Line<'_, T>, lent: Lent<'_>) {
        let values = line.widened(self.root, lent.wide);
        // Negated once per line, so that the loop below compares in one direction.
        if self.largest {
            values.iter_mut().for_each(|v| *v = -*v);
        }
        let bound = state.bound.unwrap_or(f64::NAN);
        // Beyond the bound nothing matters; NaN compares with nothing, so that it is looked at, and
        // so is all before there is a bound.
        let mut beyond = [false; BLOCK];
        let mut open = false;
        for (beyond, v) in beyond.iter_mut().zip(&*values) {
            *beyond = *v > bound;
            open |= !*beyond;
        }
        if !open {
            return;
        }
        for (l, (v, beyond)) in values.iter().zip(beyond).enumerate() {
            // A NaN comes after every number: once k numbers are known it cannot be among the best.
            let late = v.is_nan() && !bound.is_nan();
            if !beyond && !late {
                state
                    .candidates
                    .push((*v, line.row as u64, (line.first + l) as u64));
            }
        }
        // Once per line: within a line the old bound holds, since it is only ever too large.
        state.shrink(self, self.most());
    }
    /// Keeps every pair; they are sorted in the end.
    fn absorb_pair(&self, state: &mut TopState, pair: &ValuedPair<'_>) {
        state.push(self, pair.scalar(self.root), pair.i, pair.j);
    }
    fn merge(&self, into: &mut TopState, from: TopState) {
        into.candidates.extend(from.candidates);
        // Both bounds hold for the union: each says that k values at most as large exist.
        into.bound = match (into.bound, from.bound) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        into.shrink(self, self.most());
    }
    fn identify(&self, hash: &mut Hash) {
        hash.text(&format!("{self:?}"));
    }
    fn columns<'a>(&'a self, state: &'a TopState, _: usize, _: usize) -> Columns<'a> {
        self.listed(state.best(self))
    }
    fn describe(&self) -> String {
        format!(
            "the {} pairs of the {} values",
            self.k,
            if self.largest { "largest" } else { "smallest" }
        )
    }
}

impl Bounded for Top {
    fn best(&self) -> Option<Best> {
        Some(Best {
            root: self.root,
            largest: self.largest,
            k: self.k,
            // One bound for all rows: pairs of any row lower it for every other.
            by_row: false,
        })
    }
    fn absorb_scattered(&self, state: &mut TopState, line: &Scattered<'_>) {
        for (at, value) in line.scalars(self.root).iter().enumerate() {
            let (i, j) = line.pairs.pair(at);
            state.offer(self, *value, i, j);
        }
    }
    /// NaN before k are known: no span is beyond it.
    fn worst(&self, state: &TopState, _: &Range<usize>) -> f64 {
        state.bound.unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Merged in any order and by any parts, the best are those of a sort of all values.
    #[test]
    fn the_best_are_those_of_a_sort_of_all() {
        let mut state = 7u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // Many ties, some NaN.
            if (state >> 60) == 0 {
                f64::NAN
            } else {
                (state >> 56) as f64
            }
        };
        let (n, m) = (40, 300);
        let values: Vec<f64> = (0..n * m).map(|_| draw()).collect();
        for (k, largest) in [
            (1, false),
            (5, true),
            (700, false),
            (11_990, true),
            (20_000, false),
        ] {
            let fold = Top {
                root: 0,
                k,
                largest,
                squared: false,
            };
            let key = |v: f64| if largest { -v } else { v };
            let mut wanted: Vec<Candidate> = values
                .iter()
                .enumerate()
                .map(|(at, v)| (key(*v), (at / m) as u64, (at % m) as u64))
                .collect();
            wanted.sort_by(order);
            wanted.truncate(k);
            let parts: Vec<TopState> = (0..n)
                .map(|i| {
                    let mut state = TopState::default();
                    for first in (0..m).step_by(BLOCK) {
                        let len = BLOCK.min(m - first);
                        let values = &values[i * m + first..][..len];
                        let line = Line {
                            row: i,
                            first,
                            len,
                            half: false,
                            values,
                            stride: len,
                            firsts: &[0, 1],
                        };
                        let mut wide = [0.0; BLOCK];
                        fold.absorb(
                            &mut state,
                            &line,
                            Lent {
                                pieces: None,
                                weights: (&[], 0),
                                wide: &mut wide,
                            },
                        );
                    }
                    state
                })
                .collect();
            let mut merged = fold.start(n, m);
            parts
                .into_iter()
                .rev()
                .for_each(|part| fold.merge(&mut merged, part));
            assert!(fold.takes(&merged, n, m));
            let bits = |all: Vec<Candidate>| -> Vec<(u64, u64, u64)> {
                all.into_iter()
                    .map(|(v, i, j)| (if v.is_nan() { 0 } else { v.to_bits() }, i, j))
                    .collect()
            };
            assert_eq!(
                bits(merged.best(&fold)),
                bits(wanted),
                "k = {k}, largest: {largest}"
            );
        }
    }
}
