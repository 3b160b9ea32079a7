//! Keeps the value of every listed pair: what a matrix is to all pairs.
//!
//! A part of a list has a column for each of its pairs (`describe/listed.rs`), so the column is the
//! place of a value, and a state is runs of values by column. A pair that is left out (beyond a
//! cut-off, or a NaN that is skipped) has no value, and NaN in the answer.

use super::{
    Accumulate, Bounded, Column, Columns, Layout, Lent, Line, Role, Traits, Value, ValuedPair,
};
use crate::hash::Hash;
use crate::space::Domain;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A fold that keeps the value of every listed pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Which root.
    pub root: usize,
}

/// Values of consecutive columns: the first column of each run, and its values.
///
/// Runs of a part follow one another, so there are few.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ListedState {
    runs: Vec<(u64, Vec<f64>)>,
}

impl ListedState {
    /// Adds values of columns from `first` on.
    fn push(&mut self, first: u64, values: impl Iterator<Item = f64>) {
        match self.runs.last_mut() {
            Some((start, run)) if *start + run.len() as u64 == first => run.extend(values),
            _ => self.runs.push((first, values.collect())),
        }
    }
    /// Gives each value to its place in `all`; column c has the place `places[c]`.
    pub(super) fn put(&self, all: &mut [f64], places: &[u32]) {
        for (first, run) in &self.runs {
            let places = &places[*first as usize..];
            let each = run.iter().zip(places);
            each.for_each(|(value, place)| all[*place as usize] = *value);
        }
    }
}

impl Accumulate for Listed {
    type State = ListedState;

    fn traits(&self) -> Traits {
        Traits {
            operations: 1.0,
            cycles: 1.0,
            ..Traits::default()
        }
    }
    /// The pairs are listed, in both orders or not.
    fn domain(&self, _: bool) -> Domain {
        Domain::Square
    }
    fn any_root(&self, test: &mut dyn FnMut(usize) -> bool) -> bool {
        test(self.root)
    }
    fn start(&self, _: usize, _: usize) -> ListedState {
        ListedState::default()
    }
    fn part(&self, _: &Range<usize>) -> ListedState {
        ListedState::default()
    }
    fn bytes(&self, _: usize, m: usize) -> u64 {
        m as u64 * 8
    }
    /// Runs lie within the columns, and have no more values than there are columns.
    fn takes(&self, state: &ListedState, _: usize, m: usize) -> bool {
        let mut left = m;
        state.runs.iter().all(|(first, run)| {
            let fits = run.len() <= left && *first <= (m - run.len()) as u64;
            left -= run.len().min(left);
            fits
        })
    }
    #[inline(always)]
    fn absorb<T: Value>(&self, state: &mut ListedState, line: &Line<'_, T>, _: Lent<'_>) {
        let values = line.scalars(self.root).iter().map(|v| (*v).into());
        state.push(line.first as u64, values);
    }
    fn absorb_pair(&self, state: &mut ListedState, pair: &ValuedPair<'_>) {
        state.push(pair.j as u64, std::iter::once(pair.scalar(self.root)));
    }
    fn merge(&self, into: &mut ListedState, from: ListedState) {
        into.runs.extend(from.runs);
    }
    fn identify(&self, hash: &mut Hash) {
        hash.text(&format!("{self:?}"));
    }
    /// A line for each column.
    fn columns<'a>(&'a self, state: &'a ListedState, _: usize, m: usize) -> Columns<'a> {
        let mut values = vec![f64::NAN; m];
        let places: Vec<u32> = (0..m as u32).collect();
        state.put(&mut values, &places);
        let values = Column::new("values", Role::Value, values).called("value");
        Columns::new(Layout::Table, vec![m], vec![values])
    }
    fn describe(&self) -> String {
        "the value of every listed pair".into()
    }
}

// Every value is part of the answer, so bounds cannot leave any out.
impl Bounded for Listed {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_come_together_and_stay_within_the_columns() {
        let fold = Listed { root: 0 };
        let mut state = fold.part(&(0..9));
        for (first, values) in [(4, vec![4.0, 5.0]), (6, vec![6.0]), (0, vec![0.0])] {
            state.push(first, values.into_iter());
        }
        assert_eq!(state.runs.len(), 2);
        assert!(fold.takes(&state, 1, 7) && !fold.takes(&state, 1, 6));
        let mut all = fold.start(1, 8);
        fold.merge(&mut all, state);
        let answer = fold.columns(&all, 1, 8);
        let bits = |at: usize| answer.all(&answer.columns[0]).get(at).to_bits();
        let wanted = [0.0, f64::NAN, f64::NAN, f64::NAN, 4.0, 5.0, 6.0, f64::NAN];
        assert!((0..8).all(|at| bits(at) == wanted[at].to_bits()));
    }
}
