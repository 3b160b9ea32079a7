//! A part of a question about groups, as a question of its own.

use super::Job;
use crate::error::{Error, Result};
use crate::fold::{Fold, GroupedState, JoinState, State, Tally};
use crate::parts::{KeyParts, pair_of};
use crate::space::{Domain, Space, Window};
use std::ops::Range;

/// Pairs of a question, parts or not.
impl Job {
    /// Counts the pairs that are visited.
    ///
    /// # Errors
    /// `Request` beyond 2^64.
    pub fn pairs(&self) -> Result<u64> {
        match &self.parts {
            Some(parts) => parts.size(),
            None => self.space.size(),
        }
    }
    /// Counts the pairs of a tile.
    pub fn count(&self, rows: &Range<usize>, cols: &Range<usize>) -> u64 {
        match &self.parts {
            Some(parts) => parts.count(rows, cols),
            None => self.space.count(rows, cols),
        }
    }
    /// Returns part `at` of `parts` as a question of its own: the same formula, the folds without
    /// their groups, and only its rows.
    ///
    /// # Errors
    /// `Internal` if its rows do not make tables.
    pub fn part(&self, parts: &KeyParts, at: usize) -> Result<Job> {
        let sides = [&parts.rows(at)[..], &parts.cols(at)];
        let space = parts.list[at].space(self.space.cutoff);
        Ok(Job {
            space,
            ..self.of_rows(sides, parts.list[at].domain)?
        })
    }
    /// Returns the question about all pairs, without the groups that keep its answers apart; `None`
    /// where it has no groups, or a condition on keys leaves pairs out.
    pub fn ungrouped(&self) -> Option<Job> {
        let parts = self.parts.as_ref()?;
        match parts.by.is_none() || parts.leaves_out() {
            true => None,
            false => Some(self.of_all_pairs()),
        }
    }
    /// Returns the question about all pairs: without groups, and without conditions on keys.
    #[must_use]
    pub fn of_all_pairs(&self) -> Job {
        let plain = |fold: &Fold| {
            let inner = fold.grouped().map(|grouped| &*grouped.inner);
            inner.unwrap_or(fold).clone()
        };
        Job {
            folds: self.folds.iter().map(plain).collect(),
            x: self.x.clone(),
            y: self.y.clone(),
            parts: None,
            limits: vec![],
            window: Window::default(),
            low: self.low.clone(),
            param: self.param.clone(),
            space: Space {
                band: None,
                ..self.space.clone()
            },
            periodic_box: self.periodic_box.clone(),
            ..*self
        }
    }
    /// Returns a part without rows, for plans of questions that have no part.
    ///
    /// # Errors
    /// As [`Self::part`].
    pub fn empty_part(&self) -> Result<Job> {
        self.of_rows([&[], &[]], Domain::Cross)
    }
    /// Returns the question about the pairs `domain` of these rows of x and of y alone, without
    /// groups.
    ///
    /// # Errors
    /// As [`Self::part`].
    pub fn of_rows(&self, [rows, cols]: [&[u32]; 2], domain: Domain) -> Result<Job> {
        let plain = |fold: &Fold| {
            let inner = fold.grouped().map_or(fold, |grouped| &grouped.inner);
            inner.of_rows([rows, cols])
        };
        let other = domain == Domain::Cross;
        Ok(Job {
            space: Space {
                domain,
                n: rows.len(),
                m: cols.len(),
                cutoff: self.space.cutoff,
                band: None,
            },
            folds: self.folds.iter().map(plain).collect(),
            x: self.x.of_rows(rows)?,
            y: other.then(|| self.other().of_rows(cols)).transpose()?,
            parts: None,
            limits: vec![],
            window: Window::default(),
            low: self.low.clone(),
            param: self.param.clone(),
            periodic_box: self.periodic_box.clone(),
            ..*self
        })
    }
    /// Returns the question whose other pairs gave its rows of x `states`: the `rows` of each by-row state.
    #[must_use]
    pub fn with_limits_of(self, states: &[State], rows: &Range<usize>) -> Job {
        let limits = |(fold, state): (&Fold, &State)| match fold {
            // A list that is not full has no worst.
            Fold::Nearest(_) => rows
                .clone()
                .map(|row| fold.worst(state, &(row..row + 1)))
                .map(|worst| if worst.is_nan() { f64::INFINITY } else { worst })
                .collect(),
            Fold::Histogram(_)
            | Fold::Reduce(_)
            | Fold::Join(_)
            | Fold::Dense(_)
            | Fold::Extremes(_)
            | Fold::Top(_)
            | Fold::Quantile(_)
            | Fold::Listed(_)
            | Fold::Grouped(_) => vec![],
        };
        Job {
            limits: self.folds.iter().zip(states).map(limits).collect(),
            ..self
        }
    }
    /// Returns the question about some rows, with the scales of sums that the whole question has in
    /// `states`.
    #[must_use]
    pub fn with_scales_of(self, states: &[State]) -> Job {
        let scaled = |(fold, state): (Fold, &State)| {
            if let (Fold::Histogram(fold), State::Histogram(state)) = (&fold, state) {
                return Fold::Histogram(fold.clone().with_scales_of(state));
            }
            fold
        };
        Job {
            folds: self.folds.into_iter().zip(states).map(scaled).collect(),
            ..self
        }
    }
    /// Returns states and counts of part `at` as those of the question: in their slots, with its
    /// rows.
    pub fn of_part(
        &self,
        parts: &KeyParts,
        at: usize,
        states: Vec<State>,
        tally: Tally,
    ) -> (Vec<State>, Tally) {
        let slotted = |(fold, state): (&Fold, State)| match fold.grouped() {
            Some(grouped) => State::Grouped(GroupedState::of_slot(grouped.slot(at), state)),
            None => state,
        };
        let states = self.folds.iter().zip(states).map(slotted).collect();
        // Rows are listed only if there is something to name.
        let first_nan = tally
            .first_nan
            .map(|pair| pair_of(parts.half, &parts.rows(at), &parts.cols(at), pair));
        (states, Tally { first_nan, ..tally })
    }
    /// Gives matches of the question about some rows alone the rows of this question.
    pub fn matches_of_some_rows(&self, sides: [&[u32]; 2], state: &mut JoinState) {
        state.rename(self.space.is_triangular(), sides);
    }
    /// Returns states and counts of the question about some rows alone as those of this question:
    /// its row r of x is `rows[r]` here, its row of y `cols[r]`. Lists of rows go to places from
    /// `first` on.
    ///
    /// # Errors
    /// `Internal` for a fold whose answer depends on the order of pairs, or that credits rows of y.
    pub fn of_some_rows(
        &self,
        ([rows, cols], first): ([&[u32]; 2], usize),
        states: Vec<State>,
        tally: Tally,
    ) -> Result<(Vec<State>, Tally)> {
        let half = self.space.is_triangular();
        let named = |(fold, state): (&Fold, State)| match (fold, state) {
            (Fold::Histogram(_) | Fold::Extremes(_), state) => Ok(state),
            (Fold::Join(join), State::Join(mut state)) if join.is_inner() => {
                self.matches_of_some_rows([rows, cols], &mut state);
                Ok(State::Join(state))
            }
            (Fold::Nearest(_), State::Nearest(state)) if !half => {
                Ok(State::Nearest(state.of_some_rows(first, cols)))
            }
            (Fold::Top(_), State::Top(state)) if !half => {
                Ok(State::Top(state.of_some_rows([rows, cols])))
            }
            (Fold::Reduce(fold), State::Reduce(state)) if !half && !fold.op.adds() => {
                Ok(State::Reduce(state.of_some_rows(fold, first, cols)))
            }
            (
                Fold::Join(_)
                | Fold::Nearest(_)
                | Fold::Top(_)
                | Fold::Reduce(_)
                | Fold::Dense(_)
                | Fold::Quantile(_)
                | Fold::Listed(_)
                | Fold::Grouped(_),
                _,
            ) => Err(Error::internal("a fold that no square has")),
        };
        let states = self.folds.iter().zip(states).map(named);
        let states = states.collect::<Result<_>>()?;
        let first_nan = tally.first_nan.map(|pair| pair_of(half, rows, cols, pair));
        Ok((states, Tally { first_nan, ..tally }))
    }
}
