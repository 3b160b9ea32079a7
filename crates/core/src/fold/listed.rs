//! Keeps every value of the parts of a question: what a matrix is to a question without parts. The
//! values of listed pairs, or the matrices of batches.
//!
//! ```text
//! listed pairs   a column for each pair (`describe/listed.rs`), or a row next to results by column:
//!                the place of a value is that column, or that row
//! batches        a matrix, row after row, or SciPy's condensed order, of each
//! ```
//!
//! A state is runs of values by place. Of half of the pairs it has the half, which the answer mirrors. A pair that is left out (beyond a cut-off, or a NaN that is
//! skipped) has no value, and NaN in the answer.

use super::{
    Accumulate, Bounded, Column, Columns, Dense, Layout, Lent, Line, Role, Traits, Value,
    ValuedPair,
};
use crate::hash::Hash;
use crate::pair::Side;
use crate::space::Domain;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Where the value of a pair of a part lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedPlaces {
    /// At the place of its column: the list is sorted by row of x.
    Columns,
    /// At the place of its row: the list is sorted by row of y.
    Rows,
    /// At that of a matrix.
    Matrix,
    /// At that of SciPy's condensed order.
    Condensed,
}

/// A fold that keeps every value of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Which root.
    pub root: usize,
    /// Where values lie.
    pub places: ListedPlaces,
    /// Rows of x and of y of the part.
    rows: [usize; 2],
}

impl Listed {
    /// Returns the fold of the values of listed pairs.
    pub(crate) fn of_pairs(root: usize) -> Listed {
        let places = ListedPlaces::Columns;
        Listed {
            root,
            places,
            rows: [0; 2],
        }
    }
    /// Returns the fold of listed pairs in parts that have a row of `along` for several of them, and
    /// one of the other side for each.
    pub(crate) fn along(self, along: Side) -> Listed {
        let places = match along {
            Side::X => ListedPlaces::Columns,
            Side::Y => ListedPlaces::Rows,
        };
        Listed { places, ..self }
    }
    /// Returns the fold of the matrices of batches.
    pub(crate) fn of_batches(dense: Dense) -> Listed {
        let places = match dense.condensed {
            true => ListedPlaces::Condensed,
            false => ListedPlaces::Matrix,
        };
        Listed {
            root: dense.root,
            places,
            rows: [0; 2],
        }
    }
    /// Returns the number of places of a part of `n` × `m` rows.
    pub(super) fn count(&self, n: usize, m: usize) -> usize {
        match self.places {
            ListedPlaces::Columns => m,
            ListedPlaces::Rows => n,
            ListedPlaces::Matrix => n * m,
            ListedPlaces::Condensed => n * n.saturating_sub(1) / 2,
        }
    }
    /// Returns the place of the value of pair (i, j).
    #[inline(always)]
    fn place(&self, i: usize, j: usize) -> u64 {
        let [n, m] = self.rows;
        let place = match self.places {
            ListedPlaces::Columns => j,
            ListedPlaces::Rows => i,
            ListedPlaces::Matrix => i * m + j,
            ListedPlaces::Condensed => n * i - i * (i + 1) / 2 + j - i - 1,
        };
        place as u64
    }
    /// Returns the pair of each place of a part of `n` × `m` rows, in order; those of listed pairs
    /// are in the list.
    pub(super) fn pairs(&self, n: usize, m: usize) -> impl Iterator<Item = [usize; 2]> {
        let first = {
            let condensed = self.places == ListedPlaces::Condensed;
            move |i: usize| if condensed { i + 1 } else { 0 }
        };
        (0..n).flat_map(move |i| (first(i)..m).map(move |j| [i, j]))
    }
}

/// Values at consecutive places: the first place of each run, and its values.
///
/// Runs of a part follow one another, so there are few.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ListedState {
    runs: Vec<(u64, Vec<f64>)>,
}

impl ListedState {
    /// Returns the number of runs.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }
    /// Adds values at places from `first` on.
    fn push(&mut self, first: u64, values: impl Iterator<Item = f64>) {
        match self.runs.last_mut() {
            Some((start, run)) if *start + run.len() as u64 == first => run.extend(values),
            _ => self.runs.push((first, values.collect())),
        }
    }
    /// Gives each value of half of a matrix of `n` rows the place of its pair the other way round,
    /// too. `all` is the matrix.
    pub(super) fn mirror(&self, all: &mut [f64], n: usize) {
        for (first, run) in &self.runs {
            for at in *first as usize..*first as usize + run.len() {
                all[at % n * n + at / n] = all[at];
            }
        }
    }
    /// Gives each value to its place in `all`, where place p is `place(p)`.
    pub(super) fn put(&self, all: &mut [f64], place: impl Fn(usize) -> usize) {
        for (first, run) in &self.runs {
            let places = *first as usize..;
            let each = run.iter().zip(places);
            each.for_each(|(value, at)| all[place(at)] = *value);
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
    /// As a dense matrix: a symmetric one is computed by half, and mirrored in the answer.
    fn domain(&self, symmetric: bool) -> Domain {
        match (self.places, symmetric) {
            (ListedPlaces::Condensed, _) => Domain::Triangle,
            (ListedPlaces::Matrix, true) => Domain::Diagonal,
            (ListedPlaces::Columns | ListedPlaces::Rows | ListedPlaces::Matrix, _) => {
                Domain::Square
            }
        }
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
    fn bytes(&self, n: usize, m: usize) -> u64 {
        self.count(n, m) as u64 * 8
    }
    /// Runs lie within the places, and have no more values than there are places.
    fn takes(&self, state: &ListedState, n: usize, m: usize) -> bool {
        let m = self.count(n, m);
        let mut left = m;
        state.runs.iter().all(|(first, run)| {
            let fits = run.len() <= left && *first <= (m - run.len()) as u64;
            left -= run.len().min(left);
            fits
        })
    }
    #[inline(always)]
    fn absorb<T: Value>(&self, state: &mut ListedState, line: &Line<'_, T>, _: Lent<'_>) {
        let values = line.scalars(self.root);
        let wide = values.iter().map(|v| (*v).into());
        state.push(self.place(line.row, line.first), wide);
    }
    fn absorb_pair(&self, state: &mut ListedState, pair: &ValuedPair<'_>) {
        let value = std::iter::once(pair.scalar(self.root));
        state.push(self.place(pair.i, pair.j), value);
    }
    fn merge(&self, into: &mut ListedState, from: ListedState) {
        into.runs.extend(from.runs);
    }
    fn identify(&self, hash: &mut Hash) {
        hash.text(&format!("{} {:?}", self.root, self.places));
    }
    /// A line for each place.
    fn columns<'a>(&'a self, state: &'a ListedState, n: usize, m: usize) -> Columns<'a> {
        let count = self.count(n, m);
        let mut values = vec![f64::NAN; count];
        state.put(&mut values, |place| place);
        let values = Column::new("values", Role::Value, values).called("value");
        Columns::new(Layout::Table, vec![count], vec![values])
    }
    fn of_rows(&self, [rows, cols]: [&[u32]; 2]) -> Self {
        Listed {
            rows: [rows.len(), cols.len()],
            ..*self
        }
    }
    fn describe(&self) -> String {
        match self.places {
            ListedPlaces::Columns | ListedPlaces::Rows => "the value of every listed pair",
            ListedPlaces::Matrix => "the matrix of every batch",
            ListedPlaces::Condensed => "the values of i < j of every batch",
        }
        .into()
    }
}

// Every value is part of the answer, so bounds cannot leave any out.
impl Bounded for Listed {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_come_together_and_stay_within_the_columns() {
        let fold = Listed::of_pairs(0);
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
