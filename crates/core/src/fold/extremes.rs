//! The least and the largest value of some roots over all pairs: the range of a histogram that was
//! given none. It runs as a pass before the histogram. NaN are left out, since a range has no use
//! for them; the histogram reports them.
//!
//! The pass costs a sweep of all values, unless bounds leave most of them out: once two far values
//! are known, boxes whose spans lie between them settle as nothing.

use super::{
    Accumulate, Bounded, Column, Columns, Known, Layout, Lent, Line, Role, Scattered, Traits,
    Value, ValuedPair, Whole,
};
use crate::hash::Hash;
use crate::pair::interval::Span;
use crate::space::Domain;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A fold that finds extremes.
///
/// Several axes without a range share one pass. A root that is the square of a distance has the
/// extremes of squares; the caller takes roots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extremes {
    /// Which roots.
    pub roots: Vec<usize>,
}

impl Accumulate for Extremes {
    type State = ExtremesState;

    fn traits(&self) -> Traits {
        Traits {
            // Least and largest are the same in any order of pairs.
            bounded: true,
            operations: 2.0 * self.roots.len() as f64,
            // A minimum and a maximum for each value; both are vector instructions.
            cycles: self.roots.len() as f64,
            ..Traits::default()
        }
    }
    /// The domain of a histogram, whose range this finds.
    fn domain(&self, symmetric: bool) -> Domain {
        if symmetric {
            Domain::Triangle
        } else {
            Domain::Ordered
        }
    }
    /// All of them: if NaN are skipped, one in any root leaves the pair out, as the histogram does.
    fn any_root(&self, test: &mut dyn FnMut(usize) -> bool) -> bool {
        self.roots.iter().any(|root| test(*root))
    }
    /// Two numbers for each root, for any number of rows; parts are as large.
    fn start(&self, _: usize, _: usize) -> ExtremesState {
        ExtremesState::new(self)
    }
    fn part(&self, _: &Range<usize>) -> ExtremesState {
        ExtremesState::new(self)
    }
    /// Two numbers of eight bytes for each root.
    fn bytes(&self, _: usize, _: usize) -> u64 {
        self.roots.len() as u64 * 16
    }
    /// Any two numbers are possible ends; only how many there are can be wrong.
    fn takes(&self, state: &ExtremesState, _: usize, _: usize) -> bool {
        state.ends.len() == self.roots.len()
    }
    #[inline(always)]
    fn absorb<T: Value>(&self, state: &mut ExtremesState, line: &Line<'_, T>, lent: Lent<'_>) {
        // Several open axes share one pass: each root has its own ends.
        for (at, root) in self.roots.iter().enumerate() {
            state.absorb(at, line.widened(*root, lent.wide));
        }
    }
    fn absorb_pair(&self, state: &mut ExtremesState, pair: &ValuedPair<'_>) {
        for (at, root) in self.roots.iter().enumerate() {
            state.absorb(at, &[pair.scalar(*root)]);
        }
    }
    fn merge(&self, into: &mut ExtremesState, from: ExtremesState) {
        into.merge(&from);
    }
    fn identify(&self, hash: &mut Hash) {
        hash.text(&format!("{self:?}"));
    }
    /// A line for each root, in the order of [`Self::roots`].
    fn columns<'a>(&'a self, state: &'a ExtremesState, _: usize, _: usize) -> Columns<'a> {
        let end = |at: usize| state.ends.iter().map(|ends| ends[at]).collect::<Vec<f64>>();
        let columns = [("least", end(0)), ("largest", end(1))]
            .map(|(name, end)| Column::new(name, Role::Value, end));
        Columns::new(Layout::Table, vec![self.roots.len()], columns.into())
    }
    fn describe(&self) -> String {
        "the least and the largest value".into()
    }
}

/// [`Bounded::best`] has none, since the fold looks for both ends at once; `settles` compares spans
/// with both.
impl Bounded for Extremes {
    #[inline]
    fn settles(
        &self,
        span: impl Fn(usize) -> Span,
        known: bool,
        found: &impl Known,
    ) -> Option<Whole> {
        // What lies between the extremes found so far changes nothing.
        // Before any value the ends are ∞ and −∞, between which no span lies.
        let enclosed = |(at, root): (usize, &usize)| {
            let ([least, largest], span) = (found.ends(at), span(*root));
            span.lo >= least && span.hi <= largest
        };
        (known && self.roots.iter().enumerate().all(enclosed)).then_some(Whole::Nothing)
    }
    fn absorb_scattered(&self, state: &mut ExtremesState, line: &Scattered<'_>) {
        for (at, root) in self.roots.iter().enumerate() {
            state.absorb(at, line.scalars(*root));
        }
    }
}

/// The least and the largest value by root, among the ones that are numbers; ∞ and −∞ without any.
///
/// Infinite values count as numbers here; whoever makes a range from them refuses them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExtremesState {
    ends: Vec<[f64; 2]>,
}

impl ExtremesState {
    /// No value yet.
    pub fn new(fold: &Extremes) -> Self {
        ExtremesState {
            ends: vec![[f64::INFINITY, f64::NEG_INFINITY]; fold.roots.len()],
        }
    }
    /// Returns the state with these extremes. `None` is for roots without a number; kernels of
    /// their own report it so.
    pub fn from_ends(ends: Vec<Option<[f64; 2]>>) -> Self {
        ExtremesState {
            ends: ends
                .into_iter()
                .map(|e| e.unwrap_or([f64::INFINITY, f64::NEG_INFINITY]))
                .collect(),
        }
    }
    /// Takes values of root number `at` of the fold. Comparisons with NaN are false, so NaN changes
    /// nothing.
    #[inline]
    pub fn absorb(&mut self, at: usize, values: &[f64]) {
        let [least, largest] = &mut self.ends[at];
        // Comparisons with NaN are false.
        // Two selections without a branch, which become vector instructions.
        let (lo, hi) = values.iter().fold((*least, *largest), |(lo, hi), v| {
            (if *v < lo { *v } else { lo }, if *v > hi { *v } else { hi })
        });
        (*least, *largest) = (lo, hi);
    }
    /// Adds another state.
    pub fn merge(&mut self, other: &ExtremesState) {
        // No end is NaN, so `min` and `max` are those of numbers.
        for ([least, largest], [lo, hi]) in self.ends.iter_mut().zip(&other.ends) {
            (*least, *largest) = (least.min(*lo), largest.max(*hi));
        }
    }
    /// Returns the least and the largest value by root.
    pub fn ends(&self) -> &[[f64; 2]] {
        &self.ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_without_values_changes_nothing() {
        let fold = Extremes { roots: vec![0, 2] };
        let mut state = ExtremesState::new(&fold);
        state.merge(&ExtremesState::new(&fold));
        assert_eq!(state.ends(), [[f64::INFINITY, f64::NEG_INFINITY]; 2]);
        state.absorb(1, &[f64::NAN, -2.0, 7.0, 3.0]);
        state.merge(&ExtremesState::from_ends(vec![Some([1.0, 1.0]), None]));
        assert_eq!(state.ends(), [[1.0, 1.0], [-2.0, 7.0]]);
    }
}
