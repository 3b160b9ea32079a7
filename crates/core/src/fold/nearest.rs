//! The k nearest (or farthest) rows of every row: values ascending (descending), ties by index, NaN
//! last.
//!
//! Each row has a sorted list of at most k candidates. Most values are worse than the worst of a
//! full list, so a run of values is compared with it eight at a time before anything else happens.
//! Order and ties are a total order of (value, index), so the answer does not depend on the order
//! of pairs, and bounds may leave pairs out.
//!
//! Values are kept negated if the largest are wanted, and squared if the distance is a root: both
//! change no order, and are undone when the answer is written.

use super::bounded::worse;
use super::roots::Roots;
use super::{
    Accumulate, Best, Bounded, Column, Columns, Layout, Lent, Line, Numbers, Role, Scattered,
    Traits, Value, ValuedPair,
};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::opt::Opt;
use crate::pair::Side;
use crate::space::Domain;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::ops::Range;

/// A fold to the k nearest.
///
/// A row is not its own neighbour: the domain leaves out the diagonal of one input.
#[derive(Clone, Debug)]
pub struct Nearest {
    /// Which root orders the neighbours.
    pub root: usize,
    /// How many per row.
    pub k: usize,
    /// The largest values rather than the smallest.
    pub largest: bool,
    /// Whether the root is the square of the value: the answer takes roots. One root per neighbour
    /// replaces one per pair.
    pub squared: bool,
}

/// The most neighbours of a row. A larger k is a mistake: no table has that many rows, and `bytes`
/// would saturate.
const MOST: usize = 1 << 32;

impl Nearest {
    /// Returns the fold of the pair's value as a problem file requests it.
    ///
    /// # Errors
    /// `Request` for no neighbours or too many, and for a pair that is a vector.
    pub(super) fn asked(k: usize, largest: Option<bool>, roots: &mut Roots<'_>) -> Result<Nearest> {
        roots.scalar("nearest")?;
        if k == 0 || k > MOST {
            let e = Error::request(format!("k = {k} neighbours")).at_place(Opt::K);
            return Err(e.limit(format!("k is at least 1 and at most {MOST}")));
        }
        let (root, squared) = roots.ordered(roots.value());
        Ok(Nearest {
            root,
            k,
            largest: largest.unwrap_or(roots.similarity()),
            squared,
        })
    }
}

impl Accumulate for Nearest {
    type State = NearestState;

    fn traits(&self) -> Traits {
        Traits {
            // (value, index) is a total order, so k candidates are the same in any order of pairs.
            bounded: true,
            by_row: true,
            operations: 4.0,
            ..Traits::default()
        }
    }
    /// Both orders of a pair, although the value is the same: a full list rejects eight values at a
    /// time along a row, but a column offers one value to each of many lists.
    fn domain(&self, _: bool) -> Domain {
        Domain::Ordered
    }
    fn any_root(&self, test: &mut dyn FnMut(usize) -> bool) -> bool {
        test(self.root)
    }
    fn start(&self, n: usize, _: usize) -> NearestState {
        NearestState::part(0, n)
    }
    fn part(&self, rows: &Range<usize>) -> NearestState {
        NearestState::part(rows.start, rows.len())
    }
    /// Full lists. Rows with fewer candidates hold less, but how many is not known before.
    fn span(&self, state: &NearestState) -> Range<usize> {
        state.start..state.start + state.rows.len()
    }
    fn bytes(&self, n: usize, _: usize) -> u64 {
        (n as u64)
            .saturating_mul(self.k as u64)
            .saturating_mul(size_of::<Neighbour>() as u64)
    }
    fn takes(&self, state: &NearestState, n: usize, m: usize) -> bool {
        state.fits(self, n, m)
    }
    #[inline(always)]
    fn absorb<T: Value>(&self, state: &mut NearestState, line: &Line<'_, T>, lent: Lent<'_>) {
        let values = line.widened(self.root, lent.wide);
        state.absorb(self, line.row, line.first, values);
        // A pair of a triangular domain is offered to both rows, but a row is not its own neighbour
        // twice.
        if line.half {
            let others = values
                .iter()
                .zip(line.first..)
                .filter(|(_, j)| *j != line.row);
            others.for_each(|(v, j)| state.absorb(self, j, line.row, &[*v]));
        }
    }
    /// `absorb` takes a run of values: here of one.
    fn absorb_pair(&self, state: &mut NearestState, pair: &ValuedPair<'_>) {
        let values = &pair.roots[self.root];
        state.absorb(self, pair.i, pair.j, values);
        if pair.both {
            state.absorb(self, pair.j, pair.i, values);
        }
    }
    fn merge(&self, into: &mut NearestState, from: NearestState) {
        into.merge(self, &from);
    }
    fn merge_sorted(&self, into: &mut NearestState, from: NearestState, order: &[u32]) {
        into.merge_sorted(self, from, order);
    }
    fn with_columns(&self, state: NearestState, cols: &[u32]) -> NearestState {
        let first = state.start;
        state.of_some_rows(first, cols)
    }
    fn identify(&self, hash: &mut Hash) {
        hash.text(&format!("{self:?}"));
    }
    fn columns<'a>(&'a self, state: &'a NearestState, n: usize, _: usize) -> Columns<'a> {
        // Line l is rank l % k of row l / k.
        // A k of 0 has no lines; the divisions below must not fail for it.
        let k = self.k.max(1);
        let place = move |lines: &Range<usize>, of: fn(usize, usize) -> usize| -> Numbers<'a> {
            lines
                .clone()
                .map(|line| of(line, k) as u64)
                .collect::<Vec<u64>>()
                .into()
        };
        // Whole rows at a time, which is how lists are written.
        let rows = move |lines: &Range<usize>| lines.start / k..lines.end.div_ceil(k);
        Columns::new(
            Layout::Lists,
            // Columns are made when read: a list of a million rows is not held twice.
            vec![n, self.k],
            vec![
                Column::made("i", Role::Row(Side::X), move |lines| {
                    place(lines, |line, k| line / k)
                })
                .as_index(),
                Column::made("rank", Role::Rank, move |lines| {
                    place(lines, |line, k| line % k)
                })
                .as_index(),
                Column::made("indices", Role::Row(Side::Y), move |lines| {
                    state.indices_of(self, &rows(lines))[lines.start % k..][..lines.len()]
                        .to_vec()
                        .into()
                })
                .called("j"),
                Column::made("values", Role::Value, move |lines| {
                    state.values_of(self, &rows(lines))[lines.start % k..][..lines.len()]
                        .to_vec()
                        .into()
                })
                .called("value"),
            ],
        )
    }
    fn describe(&self) -> String {
        format!(
            "the {} {} of every row",
            self.k,
            if self.largest { "largest" } else { "nearest" }
        )
    }
}

impl Bounded for Nearest {
    fn best(&self) -> Option<Best> {
        Some(Best {
            root: self.root,
            largest: self.largest,
            k: self.k,
            by_row: true,
        })
    }
    fn absorb_scattered(&self, state: &mut NearestState, line: &Scattered<'_>) {
        let values = line.scalars(self.root);
        state.offer(self, line.pairs.place, values, |at| {
            u64::from(line.pairs.others[at])
        });
    }
    /// A box of rows is beaten by what beats every one of them, hence the worst of their worst. A
    /// list that is not full has no worst: NaN, which stays.
    fn worst(&self, state: &NearestState, rows: &Range<usize>) -> f64 {
        let worst = |row: usize| state.key_of_worst(self, row).unwrap_or(f64::NAN);
        rows.clone().map(worst).fold(f64::NEG_INFINITY, worse)
    }
}

/// A candidate: its value (negated if the largest are wanted) and its index.
pub type Neighbour = (f64, u64);

/// Candidates of consecutive rows from `start` on: at most k each, sorted.
///
/// A vector per row, not one array of rows × k: most rows of a part hold fewer than k candidates,
/// and lists are moved whole when parts are merged.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NearestState {
    start: usize,
    rows: Vec<Vec<Neighbour>>,
}

/// Orders candidates by value, NaN last, then by index.
///
/// [`f64::total_cmp`] would not do: it orders −0 before 0, and NaN of negative sign before every
/// number.
pub fn order(a: &Neighbour, b: &Neighbour) -> Ordering {
    // partial_cmp is none if either is NaN; then the one that is NaN comes last.
    let by_value =
        a.0.partial_cmp(&b.0)
            .unwrap_or_else(|| a.0.is_nan().cmp(&b.0.is_nan()));
    by_value.then(a.1.cmp(&b.1))
}

/// Inserts the values that belong into `list`; `name` calls the column of each. Takes and returns
/// the worst value kept. It is kept out of line: it runs rarely, and the loop around it should stay
/// small.
#[inline(never)]
fn offer(
    list: &mut Vec<Neighbour>,
    fold: &Nearest,
    values: &[f64],
    mut worst: f64,
    name: impl Fn(usize) -> u64,
) -> f64 {
    for (at, value) in values.iter().enumerate() {
        let v = if fold.largest { -*value } else { *value };
        // Strictly worse. An equal value may still win by its index, and NaN compares false.
        // `worst` moves while values are taken, so each is compared again after the loop over
        // eights.
        if v > worst || fold.k == 0 {
            continue;
        }
        let candidate = (v, name(at));
        // Binary search by the total order; a place beyond k means that it does not belong.
        let place = list.partition_point(|have| order(have, &candidate) == Ordering::Less);
        if place < fold.k {
            list.insert(place, candidate);
            list.truncate(fold.k);
        }
        if list.len() >= fold.k {
            worst = list[fold.k - 1].0;
        }
    }
    worst
}

impl NearestState {
    /// Returns a state without candidates for `rows` rows from `start` on.
    pub fn part(start: usize, rows: usize) -> Self {
        NearestState {
            start,
            rows: vec![vec![]; rows],
        }
    }
    /// Returns the state with these lists, each at most k long and sorted. Kernels that search a
    /// tree make whole lists themselves.
    pub fn of_rows(start: usize, rows: Vec<Vec<Neighbour>>) -> Self {
        NearestState { start, rows }
    }
    /// Returns the lists, from the first row on.
    pub fn into_rows(self) -> Vec<Vec<Neighbour>> {
        self.rows
    }
    /// Returns the lists as the ones of rows from `start` on, whose row j of y is `cols[j]`. These
    /// ascend, so ties keep their order.
    pub(crate) fn of_some_rows(mut self, start: usize, cols: &[u32]) -> Self {
        for (_, j) in self.rows.iter_mut().flatten() {
            *j = u64::from(cols[*j as usize]);
        }
        NearestState {
            start,
            rows: self.rows,
        }
    }
    /// Returns whether `fold` over `n` × `m` rows can have this state.
    ///
    /// Lists of a file are trusted by no later step: merging relies on their order, and outputs
    /// index rows of y.
    pub(super) fn fits(&self, fold: &Nearest, n: usize, m: usize) -> bool {
        // Strictly ascending: a neighbour may not be listed twice.
        let sorted = |list: &Vec<Neighbour>| {
            list.windows(2)
                .all(|w| order(&w[0], &w[1]) == Ordering::Less)
        };
        let row = |list: &Vec<Neighbour>| {
            list.len() <= fold.k && list.iter().all(|(_, index)| *index < m as u64) && sorted(list)
        };
        let end = self.start.checked_add(self.rows.len());
        end.is_some_and(|end| end <= n) && self.rows.iter().all(row)
    }
    /// Offers a run of values of row `row` for columns from `first` on. The comparison `beyond` is
    /// false for NaN on either side, so a list that is not full and a value that is NaN are both
    /// looked at.
    #[inline(always)]
    pub fn absorb(&mut self, fold: &Nearest, row: usize, first: usize, values: &[f64]) {
        self.offer(fold, row, values, |at| (first + at) as u64);
    }
    /// Offers values of row `row` for columns as `name` calls them, as [`Self::absorb`] does.
    #[inline(always)]
    fn offer(&mut self, fold: &Nearest, row: usize, values: &[f64], name: impl Fn(usize) -> u64) {
        let list = &mut self.rows[row - self.start];
        // NaN, which nothing is worse than, while there are fewer than k.
        let mut worst = if fold.k > 0 && list.len() >= fold.k {
            list[fold.k - 1].0
        } else {
            f64::NAN
        };
        // Lists hold negated values if the largest are wanted, so that "worse" is "greater" in both
        // cases.
        let key = |value: f64| if fold.largest { -value } else { value };
        // One branch for eight values: most eights have no candidate.
        let (eights, rest) = values.as_chunks::<8>();
        for (at, eight) in eights.iter().enumerate() {
            let mut open = false;
            for value in eight {
                let beyond = key(*value) > worst;
                open |= !beyond;
            }
            if open {
                worst = offer(list, fold, eight, worst, |l| name(8 * at + l));
            }
        }
        if !rest.is_empty() {
            offer(list, fold, rest, worst, |l| name(8 * eights.len() + l));
        }
    }
    /// Returns the worst value kept of row `row` (negated if the largest are wanted) if its list is
    /// full: bounds beyond it are pruned.
    ///
    /// A NaN as the worst prunes nothing, because comparisons with it are false. That is right: any
    /// number replaces it.
    fn key_of_worst(&self, fold: &Nearest, row: usize) -> Option<f64> {
        let (key, _) = self.rows[row - self.start].get(fold.k.checked_sub(1)?)?;
        Some(*key)
    }
    /// Adds the candidates of another part.
    ///
    /// The order of parts does not matter, since candidates are totally ordered.
    pub fn merge(&mut self, fold: &Nearest, part: &NearestState) {
        for (at, theirs) in part.rows.iter().enumerate() {
            self.merge_row(fold, part.start + at, theirs);
        }
    }
    /// Adds the candidates of another part. Lists of rows without candidates are moved, not copied.
    pub fn take(&mut self, fold: &Nearest, part: NearestState) {
        for (at, theirs) in part.rows.into_iter().enumerate() {
            let row = part.start + at;
            if self.rows[row - self.start].is_empty() {
                self.rows[row - self.start] = theirs;
            } else {
                self.merge_row(fold, row, &theirs);
            }
        }
    }
    /// Adds the candidates of a pruned part, whose row r is row `order[r]` here.
    ///
    /// Columns in its lists are rows of y as given already; only its rows of x were sorted.
    pub fn merge_sorted(&mut self, fold: &Nearest, part: NearestState, order: &[u32]) {
        for (at, theirs) in part.rows.into_iter().enumerate() {
            let row = order[part.start + at] as usize;
            match self.rows[row - self.start].is_empty() {
                true => self.rows[row - self.start] = theirs,
                false => self.merge_row(fold, row, &theirs),
            }
        }
    }
    /// Merges two lists by sorting them together, and keeps the best k.
    ///
    /// A merge of two sorted lists would take k steps instead of k log k. Merges are rare next to
    /// offers, and the sort needs no second buffer.
    fn merge_row(&mut self, fold: &Nearest, row: usize, theirs: &[Neighbour]) {
        // A share drops what its tiles credit to rows of others.
        let at = row.checked_sub(self.start);
        let Some(mine) = at.and_then(|at| self.rows.get_mut(at)) else {
            return;
        };
        // The first list of a row is sorted and short enough already.
        let first = mine.is_empty();
        mine.extend_from_slice(theirs);
        if !first {
            mine.sort_unstable_by(order);
            mine.truncate(fold.k);
        }
    }
    /// Returns indices (−1 if a row has fewer than k) and values (NaN there), rows × k each.
    ///
    /// Callers that write files take [`Self::indices_of`] and [`Self::values_of`] for some rows at
    /// a time instead.
    pub fn finish(&self, fold: &Nearest) -> (Vec<i64>, Vec<f64>) {
        let all = self.start..self.start + self.rows.len();
        (self.indices_of(fold, &all), self.values_of(fold, &all))
    }
    /// Returns the indices of `rows`, as [`NearestState::finish`] does.
    pub fn indices_of(&self, fold: &Nearest, rows: &Range<usize>) -> Vec<i64> {
        self.per_candidate(fold, rows, -1, |(_, index)| *index as i64)
    }
    /// Returns the values of `rows`, as [`NearestState::finish`] does.
    pub fn values_of(&self, fold: &Nearest, rows: &Range<usize>) -> Vec<f64> {
        let value = |v: f64| if fold.squared { v.sqrt() } else { v };
        self.per_candidate(fold, rows, f64::NAN, |(v, _)| {
            value(if fold.largest { -*v } else { *v })
        })
    }
    /// Returns something of every candidate of `rows`, padded to k with `none`.
    fn per_candidate<T: Copy>(
        &self,
        fold: &Nearest,
        rows: &Range<usize>,
        none: T,
        one: impl Fn(&Neighbour) -> T,
    ) -> Vec<T> {
        let mut out = Vec::with_capacity(rows.len() * fold.k);
        for list in &self.rows[rows.start - self.start..rows.end - self.start] {
            out.extend(list.iter().take(fold.k).map(&one));
            out.extend(std::iter::repeat_n(none, fold.k.saturating_sub(list.len())));
        }
        out
    }
}
