//! Joins: the pairs for which a predicate is true, none left out.
//!
//! An inner join keeps matches as lists of i and j, in the order of tiles. Their number is not
//! known before the run, so memory is reserved as it grows, and the run ends with an error rather
//! than a truncated answer. Semi and anti joins keep one truth value for each row of x.

use super::roots::Roots;
use super::{
    Accumulate, Bounded, Column, Columns, Known, Layout, Lent, Line, Pairs, Role, Scattered,
    Traits, Value, ValuedPair, Whole,
};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::pair::Side;
use crate::pair::interval::Span;
use crate::parts::pair_of;
use crate::space::Domain;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What is kept of the matches.
///
/// Semi and anti joins answer from n bytes of state, where an inner join may find n·m matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JoinKind {
    /// Every matching (i, j).
    Inner,
    /// Every i with a match.
    Semi,
    /// Every i without one.
    Anti,
}

/// A join.
///
/// A pair matches if its predicate is true. False, unknown (a null) and NaN do not match, as in
/// SQL.
#[derive(Clone, Debug)]
pub struct Join {
    /// The root that is the predicate.
    pub root: usize,
    /// A root whose value is kept with each match. Only an inner join has matches to keep it with.
    pub value: Option<usize>,
    /// What is kept.
    pub kind: JoinKind,
}

impl Join {
    /// Returns whether matches are kept, and not which rows have one.
    pub fn is_inner(&self) -> bool {
        self.kind == JoinKind::Inner
    }
}

impl Join {
    /// Returns the join as a problem file requests it. The predicate is rewritten to be true only
    /// where it is surely true (`pair/truth.rs`).
    ///
    /// # Errors
    /// `Request` for a condition or a value that means nothing, and for a value that no match keeps.
    pub(super) fn asked(
        predicate: &str,
        value: Option<&str>,
        kind: JoinKind,
        roots: &mut Roots<'_>,
    ) -> Result<Join> {
        if let Some(text) = value.filter(|_| kind != JoinKind::Inner) {
            let what = format!("expected no value for rows with or without a match, got '{text}'");
            let e = Error::request(what).at_place("value");
            return Err(e.remedy("leave it out, or ask for the matches"));
        }
        let root = roots.condition(predicate)?;
        let value = value.map(|text| roots.number(text)).transpose()?;
        Ok(Join { root, value, kind })
    }
}

impl Accumulate for Join {
    type State = JoinState;

    fn traits(&self) -> Traits {
        Traits {
            // Which pairs match does not depend on order; the list is sorted when the run ends.
            bounded: true,
            // A row with a match must hear of pairs that half of a domain shows from the other
            // side.
            by_row: !self.is_inner(),
            operations: 3.0,
            ..Traits::default()
        }
    }
    fn domain(&self, symmetric: bool) -> Domain {
        // A symmetric condition gives each pair once; rows with a match need both directions.
        if self.is_inner() && symmetric {
            Domain::Triangle
        } else {
            Domain::Ordered
        }
    }
    /// A NaN in the value that is kept counts as one of the pair, too.
    fn any_root(&self, test: &mut dyn FnMut(usize) -> bool) -> bool {
        test(self.root) || self.value.is_some_and(test)
    }
    fn start(&self, n: usize, _: usize) -> JoinState {
        JoinState::part(self, 0, n)
    }
    fn part(&self, rows: &Range<usize>) -> JoinState {
        JoinState::part(self, rows.start, rows.len())
    }
    fn span(&self, state: &JoinState) -> Range<usize> {
        state.start..state.start + state.matched.len()
    }
    /// Matches are reserved as they are found: no bound below n·m is known before the run.
    fn bytes(&self, n: usize, _: usize) -> u64 {
        if self.is_inner() { 0 } else { n as u64 }
    }
    fn takes(&self, state: &JoinState, n: usize, m: usize) -> bool {
        state.fits(self, n, m)
    }
    #[inline(always)]
    fn absorb<T: Value>(&self, state: &mut JoinState, line: &Line<'_, T>, _: Lent<'_>) {
        // Values are read one by one: matches are rare, and most lines have none.
        let number = |root: usize, l: usize| -> f64 { line.scalars(root)[l].into() };
        for l in 0..line.len {
            if number(self.root, l) != 0.0 {
                let j = line.first + l;
                state.absorb(self, line.row, j, self.value.map(|value| number(value, l)));
                // A match of half of the pairs is a match of both rows. Lists keep the pair once.
                if line.half && !self.is_inner() {
                    state.absorb(self, j, line.row, None);
                }
            }
        }
    }
    fn absorb_pair(&self, state: &mut JoinState, pair: &ValuedPair<'_>) {
        if pair.scalar(self.root) == 0.0 {
            return;
        }
        let value = self.value.map(|root| pair.scalar(root));
        state.absorb(self, pair.i, pair.j, value);
        if pair.both && !self.is_inner() {
            state.absorb(self, pair.j, pair.i, None);
        }
    }
    fn merge(&self, into: &mut JoinState, from: JoinState) {
        into.merge(from);
    }
    fn merge_sorted(&self, into: &mut JoinState, from: JoinState, order: &[u32]) {
        into.merge_sorted(from, order);
    }
    fn identify(&self, hash: &mut Hash) {
        hash.text(&format!("{self:?}"));
    }
    fn columns<'a>(&'a self, state: &'a JoinState, _: usize, _: usize) -> Columns<'a> {
        // Semi lists the rows with a match, anti the others, from the same truth values.
        let wanted = self.kind == JoinKind::Semi;
        let table =
            |columns: Vec<Column<'a>>, lines| Columns::new(Layout::Table, vec![lines], columns);
        if !self.is_inner() {
            let rows = state
                .matched
                .iter()
                .enumerate()
                .filter(|(_, matched)| **matched == wanted);
            let rows: Vec<u64> = rows.map(|(row, _)| row as u64).collect();
            let lines = rows.len();
            return table(vec![Column::new("i", Role::Row(Side::X), rows)], lines);
        }
        // Borrowed: a list of matches may fill most of the memory, so it is not copied for its
        // writer.
        let mut columns = vec![
            Column::new("i", Role::Row(Side::X), &state.i[..]),
            Column::new("j", Role::Row(Side::Y), &state.j[..]),
        ];
        if self.value.is_some() {
            columns.push(Column::new("value", Role::Value, &state.values[..]));
        }
        table(columns, state.i.len())
    }
    fn describe(&self) -> String {
        match self.kind {
            JoinKind::Inner => "the pairs where the condition holds",
            JoinKind::Semi => "the rows of x with a pair where the condition holds",
            JoinKind::Anti => "the rows of x without a pair where the condition holds",
        }
        .into()
    }
}

impl Bounded for Join {
    #[inline]
    fn settles(&self, span: impl Fn(usize) -> Span, known: bool, _: &impl Known) -> Option<Whole> {
        let span = span(self.root);
        // An unknown span may hide a NaN, which is an error or is skipped, and never a match.
        if !known {
            return None;
        }
        if !span.may() {
            return Some(Whole::Nothing);
        }
        // All pairs match. If their values are kept, they must be computed anyway.
        (span.must() && self.value.is_none()).then_some(Whole::All)
    }
    fn absorb_scattered(&self, state: &mut JoinState, line: &Scattered<'_>) {
        let values = self.value.map(|root| line.scalars(root));
        for (at, holds) in line.scalars(self.root).iter().enumerate() {
            if *holds != 0.0 {
                self.keep(state, &line.pairs, at, values.map(|values| values[at]));
            }
        }
    }
    fn owes_pairs(&self, whole: Whole) -> bool {
        whole == Whole::All
    }
    fn settle_pairs(&self, state: &mut JoinState, whole: Whole, pairs: &Pairs<'_>) {
        if whole == Whole::All {
            // One match suffices for a row of a semi or an anti join.
            let enough = if self.is_inner() { usize::MAX } else { 1 };
            (0..pairs.others.len().min(enough)).for_each(|at| self.keep(state, pairs, at, None));
        }
    }
    fn grown(&self, state: &JoinState) -> u64 {
        if self.is_inner() { state.bytes() } else { 0 }
    }
    /// Known before values are: a box that settles as a whole reserves its matches before it
    /// appends them.
    fn growth(&self, more: u64) -> u64 {
        // Two rows of eight bytes, and as many again for sorting.
        if self.is_inner() {
            more.saturating_mul(32)
        } else {
            0
        }
    }
}

impl Join {
    /// Keeps pair number `at` of some pairs, with its value where that is kept.
    #[inline]
    pub fn keep(&self, state: &mut JoinState, pairs: &Pairs<'_>, at: usize, value: Option<f64>) {
        if self.is_inner() {
            // Lists hold rows as given; truth values are by sorted place until the merge puts them
            // back.
            let (i, j) = pairs.pair(at);
            state.absorb(self, i, j, value);
        } else {
            state.absorb(self, pairs.place, pairs.others[at] as usize, None);
        }
    }
}

/// The matches found.
///
/// `i`, `j` and `values` are apart, not one list of records: outputs take whole columns, and a join
/// without values pays nothing for them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JoinState {
    /// Rows of x of the matches, for an inner join.
    pub i: Vec<u64>,
    /// Rows of y of the matches.
    pub j: Vec<u64>,
    /// Their values, where requested.
    pub values: Vec<f64>,
    /// Whether row i has a match, for semi and anti joins.
    pub matched: Vec<bool>,
    start: usize,
}

impl JoinState {
    /// Returns a state without matches for `rows` rows from `start` on.
    pub fn part(fold: &Join, start: usize, rows: usize) -> Self {
        let matched = if fold.kind == JoinKind::Inner {
            vec![]
        } else {
            vec![false; rows]
        };
        JoinState {
            matched,
            start,
            ..JoinState::default()
        }
    }
    /// Returns whether `fold` over `n` × `m` rows can have this state.
    pub(super) fn fits(&self, fold: &Join, n: usize, m: usize) -> bool {
        let (pairs, inner) = (self.i.len(), fold.kind == JoinKind::Inner);
        let below = |rows: &[u64], end: usize| rows.iter().all(|row| *row < end as u64);
        // A state from a file is that of all rows, or of those of a share.
        let end = self.start.checked_add(self.matched.len());
        end.is_some_and(|end| end <= n)
            && (!inner || self.matched.is_empty())
            && (inner || pairs == 0)
            && self.j.len() == pairs
            && self.values.len() == if fold.value.is_some() { pairs } else { 0 }
            && below(&self.i, n)
            && below(&self.j, m)
    }
    /// Keeps a match.
    pub fn absorb(&mut self, fold: &Join, i: usize, j: usize, value: Option<f64>) {
        if fold.kind == JoinKind::Inner {
            self.i.push(i as u64);
            self.j.push(j as u64);
            self.values.extend(value);
        } else {
            self.matched[i - self.start] = true;
        }
    }
    /// Appends matches. The first list is moved, not copied. A join of one tile then holds its
    /// matches once.
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
    pub fn merge(&mut self, other: JoinState) {
        self.take(other.i, other.j, other.values);
        // A row has a match if some part of its pairs has one.
        // A share drops what its tiles credit to rows of others.
        for (row, yes) in (other.start..).zip(&other.matched) {
            let at = row.checked_sub(self.start);
            if let Some(mine) = at.and_then(|at| self.matched.get_mut(at)) {
                *mine |= yes;
            }
        }
    }
    /// Gives the matches of some rows alone the rows of the question.
    pub fn rename(&mut self, half: bool, [rows, cols]: [&[u32]; 2]) {
        for (i, j) in self.i.iter_mut().zip(&mut self.j) {
            (*i, *j) = pair_of(half, rows, cols, (*i, *j));
        }
    }
    /// Adds the state of a pruned part, whose row r is row `order[r]` here. Its matches have the
    /// row numbers of the problem already.
    pub fn merge_sorted(&mut self, other: JoinState, order: &[u32]) {
        self.take(other.i, other.j, other.values);
        for (at, yes) in other.matched.iter().enumerate() {
            self.matched[order[other.start + at] as usize - self.start] |= yes;
        }
    }
    /// Returns the bytes held, and as many again, because sorting the matches at the end copies
    /// them.
    ///
    /// Capacities count, not lengths: a vector that grows holds up to twice its elements.
    pub fn bytes(&self) -> u64 {
        (2 * 8 * (self.i.capacity() + self.j.capacity() + self.values.capacity())) as u64
            + self.matched.len() as u64
    }
}
