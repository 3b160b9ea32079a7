//! The fold of a question about groups: what another fold keeps, for each part of the question.
//!
//! The state has one state of the inner fold for each *slot*. Histograms have a slot for each pair
//! of groups, which several parts may share. All other folds have a slot for each part, because a
//! row of x may be in several parts. A slot that no pair has reached has no state, so the state
//! grows with the parts that were visited.
//!
//! ```text
//! histogram    slot (a, b)    lines: group of x, group of y, then those of the histogram
//! by row       slot of part   row i of the answer, place g: what the part of (i, g) says of i
//! join, top    slot of part   its matches, with the rows of the question
//! ```
//!
//! Of many different keys (`parts/apart.rs`) a row of x and a group of y have several parts, whose
//! states by row are merged at the end, in the order of the parts.
//!
//! Of batches each group has one part and an answer of its own: a histogram for each, one result in all
//! for each, the best pairs of each, matrices one after another.
//!
//! A question that lists its pairs has parts, too: results along columns by row of y, one result in
//! all from the rows of all parts, and the value of each pair at its place in the list.
//!
//! Engines never see this fold. They compute parts, each with the inner fold.

use super::top::Candidate;
use super::{
    Accumulate, Bounded, Column, Columns, Fold, HistogramState, JoinKind, JoinState, Kept, Layout,
    Lent, Line, ListedState, Numbers, ReduceAxis, Role, State, Top, TopState, Traits, Value,
    ValuedPair,
};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::opt::Opt;
use crate::pair::Side;
use crate::parts::{Keep, KeyParts, PairList, pair_of};
use crate::space::{Domain, Space};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::Arc;

mod batches;

/// A fold whose answer is kept apart by groups, or is of pairs that a condition on keys keeps.
#[derive(Clone, Debug)]
pub struct Grouped {
    /// What is kept of each part.
    pub inner: Box<Fold>,
    /// The parts.
    pub parts: Arc<KeyParts>,
    /// Rows of x and of y.
    rows: [usize; 2],
}

/// States of the inner fold by slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GroupedState {
    slots: BTreeMap<u32, State>,
}

impl GroupedState {
    /// Returns the state of one slot alone.
    pub fn of_slot(slot: u32, state: State) -> Self {
        GroupedState {
            slots: BTreeMap::from([(slot, state)]),
        }
    }
    /// Returns the states of some slots.
    pub fn of_slots(slots: impl IntoIterator<Item = (u32, State)>) -> Self {
        GroupedState {
            slots: slots.into_iter().collect(),
        }
    }
    /// Returns the matches of an inner join as the only ones, with the rows of the question.
    pub fn of_matches(matches: JoinState) -> Self {
        GroupedState::of_slot(QUESTION, State::Join(matches))
    }
    /// Takes the state of the only slot.
    pub fn into_single(self) -> Option<State> {
        self.slots.into_values().next()
    }
    /// Returns the states that there are.
    pub fn states(&self) -> impl Iterator<Item = &State> {
        self.slots.values()
    }
    /// Returns the pairs in all histograms; none if there is a state of another fold, or no state:
    /// matches that were written leave none.
    pub fn counted(&self) -> Option<u64> {
        let totals = self
            .states()
            .map(|s| Some(HistogramState::within(s)?.total()));
        let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        totals.reduce(sum).flatten()
    }
}

/// The slot of matches that have the rows of the question. No part has this number, and no file.
const QUESTION: u32 = u32::MAX;

/// How the answer of a fold lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    /// One state for each pair of groups.
    Shared,
    /// Results by row of x.
    ByRow,
    /// Results by row of y.
    ByColumn,
    /// One result of the rows of all parts.
    InAll,
    /// Pairs, or rows, that were found.
    Found,
    /// The values of listed pairs.
    Values,
    /// There is none.
    Refused,
}

impl Lines {
    fn of_fold(fold: &Fold, parts: &KeyParts) -> Lines {
        let by = parts.by.is_some() && !parts.batches;
        let split = parts.listed.is_some() || parts.batches;
        match fold {
            Fold::Histogram(_) | Fold::Extremes(_) => Lines::Shared,
            Fold::Reduce(f) => match f.axis {
                ReduceAxis::Row => Lines::ByRow,
                ReduceAxis::Column if split => Lines::ByColumn,
                ReduceAxis::All if split && !by => Lines::InAll,
                ReduceAxis::Column | ReduceAxis::All => Lines::Refused,
            },
            Fold::Nearest(_) | Fold::Quantile(_) => Lines::ByRow,
            Fold::Join(_) | Fold::Top(_) => Lines::Found,
            Fold::Listed(_) if by => Lines::Refused,
            Fold::Listed(_) => Lines::Values,
            Fold::Dense(_) | Fold::Grouped(_) => Lines::Refused,
        }
    }
}

impl Grouped {
    /// Returns the fold that keeps `inner` for each of `parts`.
    ///
    /// # Errors
    /// `Request` for folds that have no meaning by groups or within keys.
    pub(crate) fn new(inner: Fold, parts: Arc<KeyParts>, space: &Space) -> Result<Grouped> {
        let by = parts.by.is_some() && !parts.batches;
        let option = match (by, parts.batches) {
            (true, _) => Opt::By,
            (false, true) => Opt::Batch,
            (false, false) => Opt::Within,
        };
        let refused = |what: &str, remedy: &str| {
            let e = Error::request(format!("{what}, got {}", inner.describe()));
            Err(e.at_place(option).remedy(remedy))
        };
        let other = parts.within.as_ref().is_some_and(|w| w.keep == Keep::Other);
        let ordered = Opt::Domain.to("ordered");
        match Lines::of_fold(&inner, &parts) {
            Lines::Refused if inner.is_dense() => refused(
                "expected a fold that may leave pairs out",
                "a join with the formula as its value lists the pairs that stay",
            ),
            Lines::Refused if matches!(inner, Fold::Listed(_)) => refused(
                "expected a histogram or results by row",
                "one run without groups for the values",
            ),
            Lines::Refused => refused(
                "expected one result for each row of x",
                "results by row, or a histogram with one bin",
            ),
            Lines::Found if by => refused(
                "expected a histogram or results by row",
                "compare the labels in the condition: 'x.kind == y.kind'",
            ),
            Lines::ByRow | Lines::ByColumn if space.is_triangular() => refused(
                "expected pairs in both orders, since each row has results of its own",
                &ordered,
            ),
            Lines::Found if space.is_triangular() && other && !is_inner(&inner) => refused(
                "expected pairs in both orders, since each row is first of some",
                &ordered,
            ),
            Lines::Shared
            | Lines::ByRow
            | Lines::ByColumn
            | Lines::InAll
            | Lines::Values
            | Lines::Found => Ok(Grouped::over(inner, parts, space)),
        }
    }
    /// Returns the fold that keeps `inner`, which is known to have an answer, for each of `parts`.
    pub(crate) fn over(inner: Fold, parts: Arc<KeyParts>, space: &Space) -> Grouped {
        Grouped {
            inner: Box::new(inner),
            parts,
            rows: [space.n, space.m],
        }
    }
    /// Returns whether several parts may share a state.
    fn is_shared(&self) -> bool {
        self.lines() == Lines::Shared
    }
    fn lines(&self) -> Lines {
        Lines::of_fold(&self.inner, &self.parts)
    }
    /// Returns the slot of part `at`.
    pub fn slot(&self, at: usize) -> u32 {
        match self.is_shared() {
            true => self.cell(self.parts.list[at].groups),
            false => at as u32,
        }
    }
    /// Adds the state of another part of the same batch.
    pub(super) fn join(&self, into: &mut GroupedState, from: GroupedState) {
        for (slot, state) in from.slots {
            match into.slots.entry(slot) {
                Entry::Vacant(entry) => {
                    entry.insert(state);
                }
                Entry::Occupied(mut entry) => self.inner.merge(entry.get_mut(), state),
            }
        }
    }
    /// Returns the slot of a pair of groups; where pairs have no order, of the lower group first.
    pub fn cell(&self, [a, b]: [u32; 2]) -> u32 {
        if self.parts.batches {
            return a;
        }
        a * self.parts.groups() as u32 + b
    }
    /// The rows of x and y of a slot.
    fn size(&self, slot: u32) -> [usize; 2] {
        match self.parts.list.get(slot as usize) {
            Some(part) if !self.is_shared() => {
                let space = part.space(None);
                [space.n, space.m]
            }
            // A pair may be listed any number of times.
            _ => match &self.parts.listed {
                Some(listed) => [1, listed.pairs.len()],
                None => self.rows,
            },
        }
    }
    /// Returns the number of slots.
    fn slots(&self) -> usize {
        match self.is_shared() {
            true if self.parts.batches => self.parts.groups(),
            true => self.parts.groups().saturating_mul(self.parts.groups()),
            false => self.parts.list.len(),
        }
    }
    /// The pairs of groups that a histogram lists, in ascending order.
    fn pairs(&self) -> Vec<[u32; 2]> {
        let groups = self.parts.groups() as u32;
        if self.parts.batches {
            return (0..groups).map(|group| [group; 2]).collect();
        }
        let from = |a: u32| if self.parts.half { a } else { 0 };
        (0..groups)
            .flat_map(|a| (from(a)..groups).map(move |b| [a, b]))
            .collect()
    }
}

/// Whether a fold lists pairs, each once.
fn is_inner(fold: &Fold) -> bool {
    matches!(fold, Fold::Join(f) if f.kind == JoinKind::Inner)
}

impl Accumulate for Grouped {
    type State = GroupedState;

    fn traits(&self) -> Traits {
        Traits {
            bounded: false,
            fixed_size: false,
            whole_rows: false,
            ..self.inner.traits()
        }
    }
    fn domain(&self, symmetric: bool) -> Domain {
        self.inner.domain(symmetric)
    }
    fn any_root(&self, test: &mut dyn FnMut(usize) -> bool) -> bool {
        self.inner.any_root(test)
    }
    fn leaves_out(&self, value: &dyn Fn(usize) -> f64) -> bool {
        self.inner.leaves_out(value)
    }
    fn start(&self, _: usize, _: usize) -> GroupedState {
        GroupedState::default()
    }
    fn part(&self, _: &Range<usize>) -> GroupedState {
        GroupedState::default()
    }
    fn bytes(&self, _: usize, _: usize) -> u64 {
        // What is merged, and as much in batches on their way.
        let of = |slot: usize| {
            let [n, m] = self.size(slot as u32);
            self.inner.bytes(n, m).saturating_add(SLOT)
        };
        let all = match self.is_shared() {
            true if self.parts.half && !self.parts.batches => {
                of(0).saturating_mul(self.slots().div_ceil(2) as u64)
            }
            true => of(0).saturating_mul(self.slots() as u64),
            false => (0..self.slots()).map(of).fold(0, u64::saturating_add),
        };
        all.saturating_mul(2)
    }
    fn waiting(&self, _: usize, _: usize, half: bool) -> u64 {
        let of = |slot: usize| {
            let [n, m] = self.size(slot as u32);
            self.inner.waiting(n, m, half)
        };
        match self.is_shared() {
            // Histograms.
            true => 0,
            false => (0..self.slots()).map(of).fold(0, u64::saturating_add),
        }
    }
    fn takes(&self, state: &GroupedState, _: usize, _: usize) -> bool {
        state.slots.iter().all(|(slot, state)| {
            let [n, m] = self.size(*slot);
            (*slot as usize) < self.slots() && self.inner.takes(state, n, m)
        })
    }
    /// Engines compute parts by the inner fold.
    fn absorb<T: Value>(&self, _: &mut GroupedState, _: &Line<'_, T>, _: Lent<'_>) {
        debug_assert!(false, "a fold by groups in an engine");
    }
    fn absorb_pair(&self, _: &mut GroupedState, _: &ValuedPair<'_>) {
        debug_assert!(false, "a fold by groups in an engine");
    }
    fn merge(&self, into: &mut GroupedState, from: GroupedState) {
        for (slot, state) in from.slots {
            let [n, m] = self.size(slot);
            let mine = into.slots.entry(slot);
            let mine = mine.or_insert_with(|| self.inner.start(n, m));
            self.inner.merge(mine, state);
            // A batch has some rows of a part against all others of the part.
            self.inner.close(mine, Some(usize::MAX));
        }
    }
    fn close(&self, state: &mut GroupedState, rows: Option<usize>) {
        // Rows of parts are not those of the question.
        if rows.is_none() {
            let slots = state.slots.values_mut();
            slots.for_each(|state| self.inner.close(state, None));
        }
    }
    fn identify(&self, hash: &mut Hash) {
        let keys = self
            .parts
            .by
            .iter()
            .chain(self.parts.within.iter().map(|w| &w.keys));
        for keys in keys {
            hash.text(&keys.column);
            keys.names.iter().for_each(|name| hash.text(name));
        }
        hash.text(&format!(
            "{:?} {}",
            self.parts.within.as_ref().map(|w| w.keep),
            self.parts.half
        ));
        hash.text(&self.parts.window.words());
        if self.parts.listed.is_some() {
            hash.text("listed");
        }
        if self.parts.batches {
            hash.text("batches");
        }
        if self.parts.several {
            hash.text("several parts of a row");
        }
        self.inner.identify(hash);
    }
    fn identify_weights(&self, hash: &mut Hash) {
        self.inner.identify_weights(hash);
    }
    fn columns<'a>(&'a self, state: &'a GroupedState, _: usize, _: usize) -> Columns<'a> {
        match self.lines() {
            Lines::Shared => self.tables(state),
            Lines::ByRow => self.by_row(state, Side::X),
            Lines::ByColumn => self.by_row(state, Side::Y),
            Lines::InAll => self.in_all(state),
            Lines::Values => self.values(state),
            Lines::Found | Lines::Refused => self.found(state),
        }
    }
    fn describe(&self) -> String {
        let mut words = self.inner.describe();
        words += &self.apart_words();
        if !self.parts.window.is_open() {
            words += &format!(", of rows with {}", self.parts.window.words());
        }
        if let Some(listed) = &self.parts.listed {
            words += &format!(", of {} listed pairs", listed.pairs.len());
        }
        words
    }
}

/// Bytes of a slot next to its state.
const SLOT: u64 = 64;

impl Bounded for Grouped {
    fn grown(&self, state: &GroupedState) -> u64 {
        state.states().map(|state| self.inner.grown(state)).sum()
    }
}

/// Answers.
impl Grouped {
    /// The groups of the rows of `side` of some lines, or their batches.
    pub(crate) fn group_column<'a>(&self, side: Side, groups: Vec<u64>) -> Column<'a> {
        if self.parts.batches {
            return self.batch(groups);
        }
        let place = side as usize;
        let by = self.parts.by.as_ref().map_or("", |by| by.column.as_str());
        Column::new(["group_x", "group_y"][place], Role::Group(side), groups)
            .called(format!("{}.{by}", ["x", "y"][place]))
            .as_index()
    }
    /// The tables of all pairs of groups, one after another.
    fn tables<'a>(&'a self, state: &'a GroupedState) -> Columns<'a> {
        let [n, m] = self.rows;
        let empty = self.inner.start(n, m);
        let Some(by) = &self.parts.by else {
            // One state, and nothing to tell apart.
            return match state.slots.get(&0) {
                Some(state) => self.of_inner(state),
                None => self.one_after_another(&[&empty]),
            };
        };
        let pairs = self.pairs();
        let of = |pair: &[u32; 2]| state.slots.get(&self.cell(*pair)).unwrap_or(&empty);
        let states: Vec<&State> = pairs.iter().map(of).collect();
        let mut answer = self.one_after_another(&states);
        let lines = answer.lines();
        let group = |side: Side| {
            let place = side as usize;
            let groups = pairs
                .iter()
                .flat_map(|pair| std::iter::repeat_n(u64::from(pair[place]), lines));
            let groups: Vec<u64> = groups.collect();
            self.group_column(side, groups)
        };
        let sides: &[Side] = match self.parts.batches {
            true => &[Side::X],
            false => &[Side::X, Side::Y],
        };
        let named = sides.iter().map(|side| group(*side));
        answer.columns.splice(0..0, named.collect::<Vec<_>>());
        answer.shape.insert(0, pairs.len());
        answer.groups = Some(by.names.clone());
        answer
    }
    /// The columns of some states of histograms, one after another, over the grid of one; what is
    /// beyond their edges is added up.
    fn one_after_another<'a>(&'a self, states: &[&State]) -> Columns<'a> {
        let [n, m] = self.rows;
        let empty = self.inner.start(n, m);
        let Some(one) = self.inner.columns(&empty, n, m) else {
            return Columns::new(Layout::Table, vec![0], vec![]);
        };
        let mut all: Vec<Numbers<'static>> = one
            .columns
            .iter()
            .map(|column| column.part(&(0..0)).into_owned())
            .collect();
        let mut beyond: Vec<(&'static str, u64)> =
            one.beyond.iter().map(|(what, _)| (*what, 0)).collect();
        let answers = states.iter().filter_map(|s| self.inner.columns(s, n, m));
        for answer in answers {
            for (all, column) in all.iter_mut().zip(&answer.columns) {
                all.append(&answer.all(column));
            }
            for (sum, (_, more)) in beyond.iter_mut().zip(&answer.beyond) {
                sum.1 += more;
            }
        }
        let columns = one.columns.iter().zip(all);
        let columns = columns.map(|(column, numbers)| column.with_numbers(numbers));
        let columns: Vec<Column<'a>> = columns.collect();
        Columns {
            edges: self.edges(),
            beyond,
            rule: one.rule,
            ..Columns::new(Layout::Table, one.shape.clone(), columns)
        }
    }
    fn of_inner<'a>(&'a self, state: &'a State) -> Columns<'a> {
        let [n, m] = self.rows;
        let nothing = || Columns::new(Layout::Table, vec![0], vec![]);
        self.inner.columns(state, n, m).unwrap_or_else(nothing)
    }
    fn edges(&self) -> Vec<&[f64]> {
        let Fold::Histogram(h) = &*self.inner else {
            return vec![];
        };
        h.axes.iter().map(|axis| &axis.edges[..]).collect()
    }
    /// Results by row of the side `of`, and by group of the other row.
    fn by_row<'a>(&'a self, state: &'a GroupedState, of: Side) -> Columns<'a> {
        // What a row without pairs has.
        let [n, m] = [[1, 0], [0, 1]][of as usize];
        let alone = self.inner.start(n, m);
        let Some(alone) = self.inner.columns(&alone, n, m) else {
            return Columns::new(Layout::Table, vec![0], vec![]);
        };
        let (lines, groups, n) = (alone.lines(), self.apart(), self.rows[of as usize]);
        let gathered = self.gathered(state, &alone, of);
        let index = |of: fn(usize, [usize; 2]) -> usize| {
            let places = 0..n * groups * lines;
            let of = |line| of(line, [groups, lines]) as u64;
            Numbers::from(places.map(of).collect::<Vec<u64>>())
        };
        let mut columns: Vec<Column<'a>> = vec![];
        for (column, numbers) in alone.columns.iter().zip(gathered) {
            let numbers = match column.role == Role::Row(of) {
                true => index(|line, [groups, lines]| line / (groups * lines)),
                false => numbers,
            };
            columns.push(column.with_numbers(numbers));
        }
        let (mut shape, layout) = (alone.shape.clone(), alone.layout);
        shape[0] = n;
        let by = self.parts.by.as_ref().filter(|_| !self.parts.batches);
        if by.is_some() {
            shape.insert(1, groups);
            if layout == Layout::Lists {
                let places = 0..n * groups * lines;
                let codes = places.map(|line| (line / lines % groups) as u64);
                columns.insert(1, self.group_column(Side::Y, codes.collect()));
            }
        }
        Columns {
            groups: by.map(|by| by.names.clone()),
            ..Columns::new(layout, shape, columns)
        }
    }
    /// By column of `alone`, the answer of one row without pairs: the numbers of all rows and
    /// groups.
    fn gathered(
        &self,
        state: &GroupedState,
        alone: &Columns<'_>,
        of: Side,
    ) -> Vec<Numbers<'static>> {
        let (lines, groups) = (alone.lines(), self.apart());
        let (side, other) = match of {
            Side::X => (0, Side::Y),
            Side::Y => (1, Side::X),
        };
        let mut all: Vec<Numbers<'static>> = alone
            .columns
            .iter()
            .map(|column| alone.all(column).repeated(self.rows[side] * groups))
            .collect();
        if self.parts.several {
            for group in 0..groups {
                let total = self.merged(state, Some(group as u32));
                let [n, m] = self.rows;
                let Some(answer) = self.inner.columns(&total, n, m) else {
                    continue;
                };
                for (all, column) in all.iter_mut().zip(&answer.columns) {
                    let numbers = answer.all(column).into_owned();
                    for row in 0..n {
                        let to = (row * groups + group) * lines;
                        all.put(to, &numbers, row * lines..(row + 1) * lines);
                    }
                }
            }
            return all;
        }
        for (slot, state) in &state.slots {
            let [n, m] = self.size(*slot);
            let Some(answer) = self.inner.columns(state, n, m) else {
                continue;
            };
            let sides = <[_; 2]>::from(self.sides(*slot));
            let (rows, cols) = (&sides[side], &sides[1 - side]);
            let group = match self.parts.batches {
                true => 0,
                false => self.parts.list[*slot as usize].groups[1 - side] as usize,
            };
            for (all, column) in all.iter_mut().zip(&answer.columns) {
                let mut numbers = answer.all(column).into_owned();
                if column.role == Role::Row(other) {
                    numbers.rename(cols);
                }
                for (local, row) in rows.iter().enumerate() {
                    let to = (*row as usize * groups + group) * lines;
                    all.put(to, &numbers, local * lines..(local + 1) * lines);
                }
            }
        }
        all
    }
    /// Merges the states of parts with `group` of y, or of all parts, which are by row of x.
    fn merged(&self, state: &GroupedState, group: Option<u32>) -> State {
        let [n, m] = self.rows;
        let mut all = self.inner.start(n, m);
        for (slot, state) in &state.slots {
            let of_part = self.parts.list[*slot as usize].groups[1];
            if group.is_none_or(|group| group == of_part) {
                let (rows, cols) = self.sides(*slot);
                let named = self.inner.with_columns(state.clone(), &cols);
                self.inner.merge_sorted(&mut all, named, &rows);
            }
        }
        all
    }
    /// What is kept apart or left out by keys, in words.
    fn apart_words(&self) -> String {
        let mut words = String::new();
        let by = self.parts.by.as_ref();
        if let Some(by) = by.filter(|_| self.parts.batches) {
            return format!(" of each {} ({} batches)", by.column, by.len());
        }
        if let Some(by) = &self.parts.by {
            words += &format!(" by {} ({} groups)", by.column, by.len());
        }
        if let Some(within) = &self.parts.within {
            let (keys, which) = (
                &within.keys,
                match within.keep {
                    Keep::Same => "the same",
                    Keep::Other => "another",
                },
            );
            words += &format!(
                ", of rows with {which} {} ({} keys)",
                keys.column,
                keys.len()
            );
        }
        words
    }
    /// The groups whose results by row are told apart.
    fn apart(&self) -> usize {
        match self.parts.batches {
            true => 1,
            false => self.parts.groups(),
        }
    }
    /// The value of each listed pair, or the matrices of batches; NaN where a pair is left out.
    fn values<'a>(&'a self, state: &'a GroupedState) -> Columns<'a> {
        match (&self.parts.listed, &*self.inner) {
            (Some(listed), _) => self.listed_values(listed, state),
            (None, Fold::Listed(fold)) => self.matrices(fold, state),
            (None, _) => Columns::new(Layout::Table, vec![0], vec![]),
        }
    }
    /// The value of each pair of a list.
    fn listed_values<'a>(&'a self, listed: &'a PairList, state: &'a GroupedState) -> Columns<'a> {
        let mut values = vec![f64::NAN; listed.pairs.len()];
        for (slot, state) in &state.slots {
            let places = listed.places(&self.parts.list[*slot as usize]);
            if let Some(state) = ListedState::within(state) {
                state.put(&mut values, |at| places[at] as usize);
            }
        }
        let row = |side: Side| {
            let name = ["i", "j"][side as usize];
            let made = move |lines: &Range<usize>| -> Numbers<'a> {
                let pairs = listed.pairs[lines.clone()].iter();
                let rows = pairs.map(|pair| u64::from(pair[side as usize]));
                rows.collect::<Vec<u64>>().into()
            };
            Column::made(name, Role::Row(side), made).as_index()
        };
        let shape = vec![values.len()];
        let values = Column::new("values", Role::Value, values).called("value");
        Columns::new(
            Layout::Table,
            shape,
            vec![row(Side::X), row(Side::Y), values],
        )
    }
    /// Pairs, or rows, of all parts, with the rows of the question.
    fn found<'a>(&'a self, state: &'a GroupedState) -> Columns<'a> {
        if let Fold::Top(top) = &*self.inner {
            return match self.parts.batches {
                true => self.best_of_batches(top, state),
                false => top.listed(self.best(top, &mut state.slots.iter())),
            };
        }
        match is_inner(&self.inner) {
            true => self.matches(state),
            false => self.matched(state),
        }
    }
    /// The best pairs of every part.
    fn best(&self, top: &Top, slots: &mut dyn Iterator<Item = (&u32, &State)>) -> Vec<Candidate> {
        let mut all = vec![];
        for (slot, state) in slots {
            let (rows, cols) = self.sides(*slot);
            let best = TopState::within(state).map(|state| state.best(top));
            for (value, i, j) in best.into_iter().flatten() {
                let (i, j) = pair_of(self.parts.half, &rows, &cols, (i, j));
                all.push((value, i, j));
            }
        }
        all
    }
    /// Takes the matches of an inner join out of `state`, with the rows of the question.
    pub fn take_matches(&self, state: &mut GroupedState) -> JoinState {
        let mut all = JoinState::default();
        for (slot, of_part) in std::mem::take(&mut state.slots) {
            let State::Join(mut of_part) = of_part else {
                continue;
            };
            if slot != QUESTION {
                let (rows, cols) = self.sides(slot);
                of_part.rename(self.parts.half, [&rows, &cols]);
            }
            all.merge(of_part);
        }
        all
    }
    fn sides(&self, slot: u32) -> (Vec<u32>, Vec<u32>) {
        let at = slot as usize;
        (self.parts.rows(at), self.parts.cols(at))
    }
    /// The matches of an inner join, in the order of their rows.
    fn matches<'a>(&'a self, state: &'a GroupedState) -> Columns<'a> {
        let mut all: Vec<(u64, u64, f64)> = vec![];
        for (slot, state) in &state.slots {
            let Some(state) = JoinState::within(state) else {
                continue;
            };
            let (rows, cols) = match *slot {
                QUESTION => (vec![], vec![]),
                slot => self.sides(slot),
            };
            for (at, pair) in state
                .i
                .iter()
                .copied()
                .zip(state.j.iter().copied())
                .enumerate()
            {
                let (i, j) = match *slot {
                    QUESTION => pair,
                    _ => pair_of(self.parts.half, &rows, &cols, pair),
                };
                all.push((i, j, state.values.get(at).copied().unwrap_or(0.0)));
            }
        }
        all.sort_unstable_by_key(|(i, j, _)| (*i, *j));
        let rows = |row: fn(&(u64, u64, f64)) -> u64| all.iter().map(row).collect::<Vec<u64>>();
        let mut columns = vec![
            Column::new("i", Role::Row(Side::X), rows(|m| m.0)),
            Column::new("j", Role::Row(Side::Y), rows(|m| m.1)),
        ];
        if matches!(&*self.inner, Fold::Join(join) if join.value.is_some()) {
            let values: Vec<f64> = all.iter().map(|m| m.2).collect();
            columns.push(Column::new("value", Role::Value, values));
        }
        Columns::new(Layout::Table, vec![all.len()], columns)
    }
    /// The rows with a match, or without one.
    fn matched<'a>(&'a self, state: &'a GroupedState) -> Columns<'a> {
        let [n, m] = self.rows;
        let all = self.merged(state, None);
        let answer = self.inner.columns(&all, n, m);
        let rows = answer.iter().flat_map(|answer| {
            let all = |column| answer.all(column).into_owned();
            answer.columns.iter().map(all)
        });
        let rows: Vec<Numbers<'static>> = rows.collect();
        let lines = rows.first().map_or(0, |rows| rows.len());
        let named = |rows| Column::new("i", Role::Row(Side::X), rows);
        Columns::new(
            Layout::Table,
            vec![lines],
            rows.into_iter().map(named).collect(),
        )
    }
}
