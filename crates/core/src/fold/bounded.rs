//! What runs that leave pairs out ask of a fold. Such a run sorts the rows of x and meets those of
//! y in any order; its bounds settle whole boxes of pairs.
//!
//! A fold with [`Traits::bounded`](super::Traits::bounded) implements [`Bounded`] in its file. The
//! answers of the others do not come from such runs, and what is here serves them.

use super::Accumulate;
use crate::pair::interval::Span;
use std::ops::Range;

/// What a fold makes of a whole box of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    /// Nothing: no pair can change the answer.
    Nothing,
    /// All pairs fall in this cell of the histogram, inside (true) or outside of its grid.
    Cell(usize, bool),
    /// The predicate holds for every pair; every value counts.
    All,
}

/// The values that a fold looks for, where these are the best ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// Which root orders them.
    pub root: usize,
    /// The largest values rather than the smallest.
    pub largest: bool,
    /// How many.
    pub k: usize,
    /// Of each row, or of all pairs.
    pub by_row: bool,
}

/// Pairs of one row of x with rows of y in any order.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a> {
    /// The row of x, by its place among the sorted ones.
    pub place: usize,
    /// The row of x as given.
    pub row: usize,
    /// The rows of y as given.
    pub others: &'a [u32],
    /// Whether a pair counts for both ways round, and is kept with its lower row first.
    pub half: bool,
}

impl Pairs<'_> {
    /// Returns the rows of pair number `at` as they are kept.
    #[inline(always)]
    pub fn pair(&self, at: usize) -> (usize, usize) {
        let (i, j) = (self.row, self.others[at] as usize);
        if self.half && i > j { (j, i) } else { (i, j) }
    }
}

/// The values of some pairs, in the place of a line where columns do not follow one another.
#[derive(Clone, Copy, Debug)]
pub struct Scattered<'a> {
    /// The pairs.
    pub pairs: Pairs<'a>,
    /// Number after number of the values, each from `stride` on after the one before.
    pub values: &'a [f64],
    /// See `values`.
    pub stride: usize,
    /// The first number of each root.
    pub firsts: &'a [usize],
}

impl<'a> Scattered<'a> {
    /// Returns the values of a root, one number each.
    #[inline(always)]
    pub fn scalars(&self, root: usize) -> &'a [f64] {
        &self.values[self.firsts[root] * self.stride..][..self.pairs.others.len()]
    }
}

/// Returns the larger of two numbers; NaN stays.
pub fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b <= a { a } else { b }
}

/// What has been found so far.
pub trait Known {
    /// Returns what a value (negated where the largest are wanted) must not exceed to matter; NaN
    /// while every value matters.
    fn worst(&self) -> f64;
    /// Returns the least and the largest value of root number `at` of the fold.
    fn ends(&self, at: usize) -> [f64; 2];
}

/// A fold whose answer has the same bits in any order of pairs, for which bounds may settle pairs.
pub trait Bounded: Accumulate {
    /// Returns the state of a batch before any value, where rows are sorted.
    fn sorted_part(&self, rows: &Range<usize>) -> Self::State {
        self.part(rows)
    }
    /// Returns the best values that the fold looks for, if it looks for such.
    fn best(&self) -> Option<Best> {
        None
    }
    /// Returns what becomes of pairs whose values lie in the spans by root; none where their values
    /// are needed. `known` says whether all spans are known.
    #[inline]
    fn settles(
        &self,
        span: impl Fn(usize) -> Span,
        known: bool,
        found: &impl Known,
    ) -> Option<Whole> {
        self.beaten(span, known, found)
    }
    /// Returns that pairs settle as nothing where what is kept is better than any of their values,
    /// if the fold looks for the best.
    #[inline]
    fn beaten(
        &self,
        span: impl Fn(usize) -> Span,
        known: bool,
        found: &impl Known,
    ) -> Option<Whole> {
        let best = self.best()?;
        let beaten = || span(best.root).falling(best.largest).lo > found.worst();
        (known && beaten()).then_some(Whole::Nothing)
    }
    /// Takes the values of some pairs.
    fn absorb_scattered(&self, _state: &mut Self::State, _line: &Scattered<'_>) {
        debug_assert!(false, "bounds do not serve this fold");
    }
    /// Returns what a value must not exceed to matter to any of the sorted `rows`; see
    /// [`Known::worst`].
    fn worst(&self, _state: &Self::State, _rows: &Range<usize>) -> f64 {
        f64::NAN
    }
    /// Takes this many pairs that are settled as `whole`, regardless of their rows.
    fn settle_count(&self, _state: &mut Self::State, _whole: Whole, _cells: u64) {}
    /// Whether [`Self::settle_pairs`] must hear of pairs that are settled as `whole`.
    fn owes_pairs(&self, _whole: Whole) -> bool {
        false
    }
    /// Takes pairs of one row that are settled as `whole`.
    fn settle_pairs(&self, _state: &mut Self::State, _whole: Whole, _pairs: &Pairs<'_>) {}
    /// Counts pairs of the row at a sorted place whose values cannot change the answer.
    fn skip(&self, _state: &mut Self::State, _place: usize, _pairs: u64) {}
    /// Returns the bytes of what the values have added to the state.
    fn grown(&self, _state: &Self::State) -> u64 {
        0
    }
    /// Returns the bytes that `more` matches would add to the state.
    fn growth(&self, _more: u64) -> u64 {
        0
    }
}
