//! Folds: what is kept of the values of all pairs. A state absorbs lines of values, merges with
//! other states, and finishes as columns.
//!
//! A fold is one file here: its specification in a problem file, its state, and [`Accumulate`],
//! which answers everything that engines, plans and outputs need to know. The list `folds!`
//! registers it and makes the enums [`Fold`] and [`State`]; no other code has to know every fold.
//!
//! ```text
//! fold.part(rows)  →  state of a batch        fold.absorb(state, line, …)   one line at a time
//! fold.settle(…)   →  rows that are complete          fold.merge(into, from)        in the order of tiles
//! fold.columns(…)  →  the answer
//! ```
//!
//! Laws, which tests hold: merging in the canonical order of blocks gives the same bits for every
//! tiling; counts are the same for any order of `absorb` and `merge`. A fold decides nothing about
//! precision or kernels; its [`Traits`] tell the planner what is allowed.

mod asked;
pub(crate) mod axes;
pub mod block_order;
mod bounded;
pub mod columns;
pub mod dense;
pub mod extremes;
mod finder;
pub mod grouped;
pub mod histogram;
pub mod join;
mod line;
mod listed;
pub mod nearest;
mod quantile;
mod reduce;
pub mod roots;
pub mod row_states;
pub mod rows;
pub mod runs;
pub mod scale;
pub mod sparse;
pub mod top;
mod weights;

use crate::error::Result;
use crate::hash::Hash;
use crate::pair::interval::Span;
use crate::space::Domain;
use crate::table::Table;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::ops::Range;

pub use asked::Wants;
pub use block_order::{Ladder, SumNode};
pub use bounded::{Best, Bounded, Known, Pairs, Scattered, Whole, worse};
pub use columns::{Column, Columns, Layout, Numbers, Role};
pub use dense::{Dense, Written};
pub use extremes::{Extremes, ExtremesState};
pub use finder::table_bytes;
pub use grouped::{Grouped, GroupedState};
pub use histogram::{
    Axis, BinStatistic, BinValueSpec, Closed, Histogram, HistogramState, LONG_RUN, SummedTerms,
};
pub use join::{Join, JoinKind, JoinState};
pub use line::{Lent, Line, ValuedPair};
pub use listed::{Listed, ListedPlaces, ListedState};
pub use nearest::{Nearest, NearestState};
pub(crate) use quantile::quantile_among;
pub use quantile::{Quantile, QuantileSpec, QuantileState};
pub use row_states::{Leaf, ReduceState};
pub use rows::{Reduce, ReduceAxis, ReduceOp, RowPiece};
pub use runs::{Run, Value};
pub use scale::Scale;
pub use sparse::{OtherRows, SparseRow};
pub use top::{Top, TopSpec, TopState};

/// Side of the square blocks in which float sums are taken: the values of a block are added first,
/// then the blocks, in the order of [`block_order`]. Tiles are whole blocks, so a sum has the same bits for every
/// tiling. Sums by row in single precision use eight blocks side by side (`SPAN` of the planner).
///
/// 128 is a compromise: a block of two inputs of a few components stays in the first cache, and a
/// sum of 128 values has lost few bits.
pub const BLOCK: usize = 128;

/// What the planner and engines need to know of a fold. Each flag is a promise of the fold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traits {
    /// Every value has a place of its own in the result, so nothing is merged.
    pub dense: bool,
    /// The answer is rounded anyway: values may be computed in the precision of the job, and the
    /// instruction set or the device decides the last bits. Without it the answer is exact (counts,
    /// pairs, neighbours, extremes), and values are those of the reference.
    pub rounds: bool,
    /// Bounds can prove that no pair of two boxes of rows changes the answer, and the answer has
    /// the same bits in any order of pairs. Such pairs are left out, and rows are sorted.
    pub bounded: bool,
    /// Something is kept for each row of x. A pair of a triangular domain then counts for both of
    /// its rows.
    pub by_row: bool,
    /// A row can be finished only when all its values are there: tiles are as wide as the rows of y
    /// are many.
    pub whole_rows: bool,
    /// The state has the same size for any part of the domain, so fewer and larger batches are
    /// better.
    pub fixed_size: bool,
    /// Each result belongs to one row of x or of y. Then all pairs of one input give the answer
    /// that half of them gives, and the engine may choose.
    pub by_side: bool,
    /// Operations per value, which `explain` adds to those of the formula.
    pub operations: f64,
    /// Cycles of a core per value, for the cost model; read only for folds that no kernel fuses.
    pub cycles: f64,
}

/// A fold. Implementations are pure: a state changes only through the calls below, and no call
/// reads a clock, a thread or a file.
pub trait Accumulate: Debug {
    /// What is kept of some of the pairs. It is serialised into partial results and checkpoints.
    type State: Clone + Debug + Serialize;

    /// Returns what planner and engines need to know.
    fn traits(&self) -> Traits;
    /// Returns the pairs of one input that the fold visits if the problem does not say; `symmetric`
    /// says that half of them represent all.
    fn domain(&self, symmetric: bool) -> Domain;
    /// Returns whether `test` is true for one of the roots whose values the fold takes.
    fn any_root(&self, test: &mut dyn FnMut(usize) -> bool) -> bool;
    /// Returns the state before any value, for `n` × `m` rows: the neutral element of
    /// [`Self::merge`].
    fn start(&self, n: usize, m: usize) -> Self::State;
    /// Returns the state of a batch before any value. Only rows in `rows` are credited, so
    /// states by row are as long as that and remember where they begin.
    fn part(&self, rows: &Range<usize>) -> Self::State;
    /// Returns the state of a share before any value: that of the results of `rows` alone, to which
    /// states of batches are added. What a batch credits to other rows is left out.
    fn band(&self, rows: &Range<usize>) -> Self::State {
        self.part(rows)
    }
    /// Returns the rows whose results `state` has; none where results do not belong to rows, or are
    /// pieces that are not added yet.
    fn span(&self, _state: &Self::State) -> Range<usize> {
        0..0
    }
    /// Returns the bytes of the state for `n` × `m` rows, which are reserved before the run. If the
    /// size depends on the values (a join), it is the size before any, and the run reserves more as
    /// it goes.
    fn bytes(&self, n: usize, m: usize) -> u64;
    /// Returns the bytes of what waits during a run over `n` × `m` rows, or `half` of the pairs,
    /// before it is part of the state: sums of some columns of rows that have others to come.
    fn waiting(&self, _n: usize, _m: usize, _half: bool) -> u64 {
        0
    }
    /// Returns whether this fold over `n` × `m` rows can have `state`. A state from a file is
    /// checked before it is merged, so a damaged file cannot make an index run out of bounds.
    fn takes(&self, state: &Self::State, n: usize, m: usize) -> bool;
    /// Takes a line of values. Pairs beyond a cut-off and NaN that are skipped were removed by the
    /// engine.
    fn absorb<T: Value>(&self, state: &mut Self::State, line: &Line<'_, T>, lent: Lent<'_>);
    /// Takes the values of one pair: the way of the oracle. Sums by row depend on runs of values,
    /// so the oracle gives them whole runs; dense values have their places elsewhere.
    fn absorb_pair(&self, state: &mut Self::State, pair: &ValuedPair<'_>);
    /// Finishes these rows of x, all of whose values were taken. Only folds of
    /// [`Traits::whole_rows`] need it.
    fn settle(&self, _state: &mut Self::State, _rows: &Range<usize>) {}
    /// Takes note that no later state has values of a row before `rows`, if there are more states to
    /// come; without a number, of any row.
    fn close(&self, _state: &mut Self::State, _rows: Option<usize>) {}
    /// Adds the state of a later part of the domain. Called in the order of tiles.
    fn merge(&self, into: &mut Self::State, from: Self::State);
    /// Adds a state of a pruned run, whose rows were sorted: its row r is row `order[r]` here.
    /// Called in any order, hence only for folds that are [`Traits::bounded`].
    fn merge_sorted(&self, into: &mut Self::State, from: Self::State, _order: &[u32]) {
        self.merge(into, from);
    }
    /// Returns a state whose row j of y is `cols[j]` in the question. These ascend, so ties keep
    /// their order.
    fn with_columns(&self, state: Self::State, _cols: &[u32]) -> Self::State {
        state
    }
    /// Mixes in everything that decides the answer, except the weights. Partial results of
    /// different folds then have different identities and do not merge.
    fn identify(&self, hash: &mut Hash);
    /// Mixes in the weights, which are data.
    fn identify_weights(&self, _hash: &mut Hash) {}
    /// Returns whether a pair with a NaN is left out for its other values. Then the NaN is no
    /// error.
    fn leaves_out(&self, _value: &dyn Fn(usize) -> f64) -> bool {
        false
    }
    /// Returns the answer from the state of all pairs of `n` × `m` rows.
    fn columns<'a>(&'a self, state: &'a Self::State, n: usize, m: usize) -> Columns<'a>;
    /// Returns what is kept, in words for `explain`.
    fn describe(&self) -> String;
    /// Returns the fold for half of the pairs (i < j or i ≤ j), if the user chose these: a result
    /// of all pairs then has each pair once. `weighted` says that weights come with the data.
    ///
    /// # Errors
    /// `Request` where weights have no meaning for half of the pairs.
    fn of_half(self, _weighted: bool) -> Result<Self>
    where
        Self: Sized,
    {
        Ok(self)
    }
    /// Returns the fold with the weights of the rows of x and of y, of which there are `rows`.
    /// Folds that know no weights leave them.
    ///
    /// # Errors
    /// `Request` where the operation takes none, `Input` where they do not fit the rows.
    fn weigh(self, _weights: &[Table; 2], _rows: [usize; 2]) -> Result<Self>
    where
        Self: Sized,
    {
        Ok(self)
    }
    /// Returns the fold of these rows of x and of y alone. Only weights belong to rows.
    fn of_rows(&self, _rows: [&[u32]; 2]) -> Self
    where
        Self: Clone,
    {
        self.clone()
    }
    /// Returns whether half of the pairs, each credited to both of its rows, is the faster way if a
    /// value takes `cycles`. Only folds by rows have a choice.
    fn halving_pays(&self, _cycles: f64) -> bool {
        true
    }
}

/// A state of one fold among all [`State`]s.
pub trait Kept: Sized {
    /// Returns the state, if it is one of this fold.
    fn within(state: &State) -> Option<&Self>;
    /// As [`Kept::within`], to be changed.
    fn within_mut(state: &mut State) -> Option<&mut Self>;
}

/// The folds there are. Each line registers one: its name, its specification, its state.
macro_rules! folds {
    ($($(#[$doc:meta])* $name:ident($fold:ty, $state:ty),)+) => {
        /// A fold with everything it needs but the values.
        #[derive(Clone, Debug)]
        pub enum Fold {
            $($(#[$doc])* $name($fold),)+
        }
        /// What a fold keeps, mergeable.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        pub enum State {
            $(#[doc = concat!("Of [`Fold::", stringify!($name), "`].")] $name($state),)+
        }
        /// What a fold says of itself; see [`Accumulate`].
        impl Fold {
            /// What plans and engines need to know.
            pub fn traits(&self) -> Traits {
                match self { $(Fold::$name(f) => f.traits(),)+ }
            }
            /// The pairs of one input that the fold visits where nobody says which.
            pub fn domain(&self, symmetric: bool) -> Domain {
                match self { $(Fold::$name(f) => f.domain(symmetric),)+ }
            }
            /// Whether `test` holds for one of the roots whose values the fold takes.
            pub fn any_root(&self, test: &mut dyn FnMut(usize) -> bool) -> bool {
                match self { $(Fold::$name(f) => f.any_root(test),)+ }
            }
            /// The state before any value, for `n` × `m` rows.
            pub fn start(&self, n: usize, m: usize) -> State {
                match self { $(Fold::$name(f) => State::$name(f.start(n, m)),)+ }
            }
            /// The state of a batch before any value: only rows in `rows` are credited.
            pub fn part(&self, rows: &Range<usize>) -> State {
                match self { $(Fold::$name(f) => State::$name(f.part(rows)),)+ }
            }
            /// The state of a share before any value: that of the results of `rows` alone.
            pub fn band(&self, rows: &Range<usize>) -> State {
                match self { $(Fold::$name(f) => State::$name(f.band(rows)),)+ }
            }
            /// The rows whose results `state` has, where results belong to rows.
            pub fn span(&self, state: &State) -> Range<usize> {
                match (self, state) {
                    $((Fold::$name(f), State::$name(s)) => f.span(s),)+
                    _ => 0..0,
                }
            }
            /// Bytes of the state for `n` × `m` rows (of a join: before any match).
            pub fn bytes(&self, n: usize, m: usize) -> u64 {
                match self { $(Fold::$name(f) => f.bytes(n, m),)+ }
            }
            /// Bytes of what waits during a run before it is part of the state.
            pub fn waiting(&self, n: usize, m: usize, half: bool) -> u64 {
                match self { $(Fold::$name(f) => f.waiting(n, m, half),)+ }
            }
            /// Whether `state` is one that this fold over `n` × `m` rows can have.
            pub fn takes(&self, state: &State, n: usize, m: usize) -> bool {
                match (self, state) {
                    $((Fold::$name(f), State::$name(s)) => f.takes(s, n, m),)+
                    _ => false,
                }
            }
            /// Takes a line of values, none of which is left out.
            #[inline(always)]
            pub fn absorb<T: Value>(&self, state: &mut State, line: &Line<'_, T>, lent: Lent<'_>) {
                match (self, state) {
                    $((Fold::$name(f), State::$name(s)) => f.absorb(s, line, lent),)+
                    _ => debug_assert!(false, "the state of another fold"),
                }
            }
            /// Takes the values of one pair, as the oracle goes.
            pub fn absorb_pair(&self, state: &mut State, pair: &ValuedPair<'_>) {
                match (self, state) {
                    $((Fold::$name(f), State::$name(s)) => f.absorb_pair(s, pair),)+
                    _ => debug_assert!(false, "the state of another fold"),
                }
            }
            /// Finishes these rows of x, all of whose values were taken.
            pub fn settle(&self, state: &mut State, rows: &Range<usize>) {
                match (self, state) {
                    $((Fold::$name(f), State::$name(s)) => f.settle(s, rows),)+
                    _ => debug_assert!(false, "the state of another fold"),
                }
            }
            /// Takes note that no later state has values of a row before `rows`; without a number,
            /// of any row.
            pub fn close(&self, state: &mut State, rows: Option<usize>) {
                match (self, state) {
                    $((Fold::$name(f), State::$name(s)) => f.close(s, rows),)+
                    _ => debug_assert!(false, "the state of another fold"),
                }
            }
            /// Adds the state of a later part of the space.
            pub fn merge(&self, into: &mut State, from: State) {
                match (self, into, from) {
                    $((Fold::$name(f), State::$name(a), State::$name(b)) => f.merge(a, b),)+
                    _ => debug_assert!(false, "states of different folds"),
                }
            }
            /// Adds a state of sorted rows, row r of which is row `order[r]` here. For folds that
            /// bounds serve.
            pub fn merge_sorted(&self, into: &mut State, from: State, order: &[u32]) {
                match (self, into, from) {
                    $((Fold::$name(f), State::$name(a), State::$name(b)) => f.merge_sorted(a, b, order),)+
                    _ => debug_assert!(false, "states of different folds"),
                }
            }
            /// Returns a state whose row j of y is `cols[j]` in the question.
            pub(crate) fn with_columns(&self, state: State, cols: &[u32]) -> State {
                match (self, state) {
                    $((Fold::$name(f), State::$name(s)) => State::$name(f.with_columns(s, cols)),)+
                    (_, state) => {
                        debug_assert!(false, "the state of another fold");
                        state
                    }
                }
            }
            /// Mixes in what decides the answer, but for weights.
            pub fn identify(&self, hash: &mut Hash) {
                hash.text(match self { $(Fold::$name(_) => stringify!($name),)+ });
                match self { $(Fold::$name(f) => f.identify(hash),)+ }
            }
            /// Mixes in the weights.
            pub fn identify_weights(&self, hash: &mut Hash) {
                match self { $(Fold::$name(f) => f.identify_weights(hash),)+ }
                hash.word(1);
            }
            /// Whether a NaN among the values of a pair reaches the fold: one of several axes that
            /// leaves the pair out hides it.
            pub fn meets_nan(&self, is_nan: impl Fn(usize) -> bool, value: impl Fn(usize) -> f64) -> bool {
                self.any_root(&mut |root| is_nan(root)) && !self.leaves_out(&value)
            }
            /// Whether a pair with a NaN is left out for its other values.
            pub(crate) fn leaves_out(&self, value: &dyn Fn(usize) -> f64) -> bool {
                match self { $(Fold::$name(f) => f.leaves_out(value),)+ }
            }
            /// The answer for `n` × `m` rows; none of a state of another fold.
            pub fn columns<'a>(&'a self, state: &'a State, n: usize, m: usize) -> Option<Columns<'a>> {
                match (self, state) {
                    $((Fold::$name(f), State::$name(s)) => Some(f.columns(s, n, m)),)+
                    _ => None,
                }
            }
            /// What is kept, in words.
            pub fn describe(&self) -> String {
                match self { $(Fold::$name(f) => f.describe(),)+ }
            }
            /// The fold of the pairs i < j or i <= j, where a problem names these.
            pub(crate) fn of_half(self, weighted: bool) -> Result<Self> {
                Ok(match self { $(Fold::$name(f) => Fold::$name(f.of_half(weighted)?),)+ })
            }
            /// The fold with the weights that come with the data.
            pub(crate) fn weigh(self, weights: &[Table; 2], rows: [usize; 2]) -> Result<Self> {
                Ok(match self { $(Fold::$name(f) => Fold::$name(f.weigh(weights, rows)?),)+ })
            }
            /// The fold of these rows of x and of y alone.
            pub fn of_rows(&self, rows: [&[u32]; 2]) -> Fold {
                match self { $(Fold::$name(f) => Fold::$name(f.of_rows(rows)),)+ }
            }
            /// Whether half of the pairs are the faster way where a value takes `cycles`.
            pub fn halving_pays(&self, cycles: f64) -> bool {
                match self { $(Fold::$name(f) => f.halving_pays(cycles),)+ }
            }
        }
        /// What runs that leave pairs out ask of a fold; see [`Bounded`].
        impl Fold {
            /// Returns the state of a batch before any value, where rows are sorted.
            pub fn sorted_part(&self, rows: &Range<usize>) -> State {
                match self { $(Fold::$name(f) => State::$name(f.sorted_part(rows)),)+ }
            }
            /// Returns the best values that the fold looks for, if it looks for such.
            pub fn best(&self) -> Option<Best> {
                match self { $(Fold::$name(f) => f.best(),)+ }
            }
            /// Returns what becomes of pairs whose values lie in the spans by root; none where
            /// their values are needed. `known` says whether all spans are known.
            #[inline]
            pub fn settles(
                &self,
                span: impl Fn(usize) -> Span,
                known: bool,
                found: &impl Known,
            ) -> Option<Whole> {
                match self { $(Fold::$name(f) => f.settles(span, known, found),)+ }
            }
            /// Takes the values of some pairs.
            #[inline]
            pub fn absorb_scattered(&self, state: &mut State, line: &Scattered<'_>) {
                match (self, state) {
                    $((Fold::$name(f), State::$name(s)) => f.absorb_scattered(s, line),)+
                    _ => debug_assert!(false, "the state of another fold"),
                }
            }
            /// Returns what a value must not exceed to matter to any of the sorted `rows`.
            #[inline]
            pub fn worst(&self, state: &State, rows: &Range<usize>) -> f64 {
                match (self, state) {
                    $((Fold::$name(f), State::$name(s)) => f.worst(s, rows),)+
                    _ => f64::NAN,
                }
            }
            /// Takes this many pairs that are settled as `whole`, regardless of their rows.
            pub fn settle_count(&self, state: &mut State, whole: Whole, pairs: u64) {
                match (self, state) {
                    $((Fold::$name(f), State::$name(s)) => f.settle_count(s, whole, pairs),)+
                    _ => debug_assert!(false, "the state of another fold"),
                }
            }
            /// Whether [`Self::settle_pairs`] must hear of pairs that are settled as `whole`.
            pub fn owes_pairs(&self, whole: Whole) -> bool {
                match self { $(Fold::$name(f) => f.owes_pairs(whole),)+ }
            }
            /// Takes pairs of one row that are settled as `whole`.
            pub fn settle_pairs(&self, state: &mut State, whole: Whole, pairs: &Pairs<'_>) {
                match (self, state) {
                    $((Fold::$name(f), State::$name(s)) => f.settle_pairs(s, whole, pairs),)+
                    _ => debug_assert!(false, "the state of another fold"),
                }
            }
            /// Counts pairs of the row at a sorted place whose values cannot change the answer.
            #[inline]
            pub fn skip(&self, state: &mut State, place: usize, pairs: u64) {
                match (self, state) {
                    $((Fold::$name(f), State::$name(s)) => f.skip(s, place, pairs),)+
                    _ => debug_assert!(false, "the state of another fold"),
                }
            }
            /// Returns the bytes of what the values have added to the state.
            pub fn grown(&self, state: &State) -> u64 {
                match (self, state) {
                    $((Fold::$name(f), State::$name(s)) => f.grown(s),)+
                    _ => 0,
                }
            }
            /// Returns the bytes that `more` matches would add to the state.
            pub fn growth(&self, more: u64) -> u64 {
                match self { $(Fold::$name(f) => f.growth(more),)+ }
            }
        }
        $(impl Kept for $state {
            fn within(state: &State) -> Option<&Self> {
                if let State::$name(s) = state { Some(s) } else { None }
            }
            fn within_mut(state: &mut State) -> Option<&mut Self> {
                if let State::$name(s) = state { Some(s) } else { None }
            }
        })+
    };
}

folds! {
    /// Every value, at its own place.
    Dense(Dense, Written),
    /// One result per row, column, or in all.
    Reduce(Reduce, ReduceState),
    /// The k nearest of every row.
    Nearest(Nearest, NearestState),
    /// Counts by bin.
    Histogram(Histogram, HistogramState),
    /// The pairs where a predicate holds.
    Join(Join, JoinState),
    /// The least and the largest values.
    Extremes(Extremes, ExtremesState),
    /// The k best pairs of all.
    Top(Top, TopState),
    /// Quantiles of every row.
    Quantile(Quantile, QuantileState),
    /// The value of every listed pair.
    Listed(Listed, ListedState),
    /// Another fold, by groups or within keys.
    Grouped(Grouped, GroupedState),
}

impl State {
    /// Returns the pairs that a histogram has counted; none of another state.
    pub fn pairs_counted(&self) -> Option<u64> {
        if let State::Grouped(grouped) = self {
            return grouped.counted();
        }
        HistogramState::within(self).map(HistogramState::total)
    }
}

impl Fold {
    /// Returns the roots whose values the fold takes.
    pub fn roots(&self) -> Vec<usize> {
        let mut roots = vec![];
        self.any_root(&mut |root| {
            roots.push(root);
            false
        });
        roots
    }
    /// Returns the fold if it keeps every value.
    pub fn dense(&self) -> Option<&Dense> {
        if let Fold::Dense(f) = self {
            Some(f)
        } else {
            None
        }
    }
    /// Returns the fold if it is by groups or within keys.
    pub fn grouped(&self) -> Option<&Grouped> {
        if let Fold::Grouped(f) = self {
            Some(f)
        } else {
            None
        }
    }
    /// Returns the inner join that the fold is, of all pairs or of those of its parts.
    pub fn inner_join(&self) -> Option<&Join> {
        let inner = self.grouped().map_or(self, |grouped| &grouped.inner);
        match inner {
            Fold::Join(join) if join.is_inner() => Some(join),
            Fold::Join(_)
            | Fold::Dense(_)
            | Fold::Reduce(_)
            | Fold::Nearest(_)
            | Fold::Top(_)
            | Fold::Quantile(_)
            | Fold::Histogram(_)
            | Fold::Extremes(_)
            | Fold::Listed(_)
            | Fold::Grouped(_) => None,
        }
    }
    /// Adds the state of another part of a batch: a new slot keeps its state as it is, so that
    /// sums of blocks are merged once, in the order of tiles.
    pub fn join_slots(&self, into: &mut State, from: State) {
        if let (Fold::Grouped(f), State::Grouped(into), State::Grouped(from)) = (self, into, from) {
            f.join(into, from);
        }
    }
    /// Returns whether a NaN is shown in the answer, at the place of its pair.
    pub fn shows_nan(&self) -> bool {
        let fold = self.grouped().map_or(self, |grouped| &grouped.inner);
        matches!(fold, Fold::Dense(_) | Fold::Listed(_))
    }
    /// Returns whether values have places for i < j alone.
    pub(crate) fn is_condensed(&self) -> bool {
        if let Fold::Listed(listed) = self {
            return listed.places == ListedPlaces::Condensed;
        }
        self.dense().is_some_and(|dense| dense.condensed)
    }
    /// Returns whether every value has a place of its own.
    pub fn is_dense(&self) -> bool {
        self.dense().is_some()
    }
}

/// Counts what happened to the pairs of a domain. The run checks the law of conservation at its
/// end: `counted + beyond_cutoff + nan` is the number of pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Pairs whose value reached the folds.
    pub counted: u64,
    /// Pairs left out by a cut-off.
    pub beyond_cutoff: u64,
    /// Pairs left out because their value is NaN.
    pub nan: u64,
    /// Pairs, counted or beyond the cut-off, that bounds left out: their values cannot change the
    /// answer.
    pub skipped: u64,
    /// Pairs, counted, that bounds took whole without their values.
    pub settled: u64,
    /// The first pair (i, j) whose value is NaN, if any.
    pub first_nan: Option<(u64, u64)>,
}

impl Tally {
    /// Returns the number of pairs that the counts add up to; `None` if they overflow, which a
    /// damaged file can cause.
    #[doc(hidden)]
    pub fn seen(&self) -> Option<u64> {
        self.counted
            .checked_add(self.beyond_cutoff)?
            .checked_add(self.nan)
    }
    /// Notes a pair (i, j) whose value is NaN, of which the smallest is kept.
    #[doc(hidden)]
    pub fn note_nan(&mut self, pair: (u64, u64)) {
        self.first_nan = Some(self.first_nan.map_or(pair, |first| first.min(pair)));
    }
    /// Adds another tally. The first NaN is the one with the smallest (i, j), so it does not depend
    /// on threads.
    #[doc(hidden)]
    pub fn merge(&mut self, other: &Tally) {
        self.counted += other.counted;
        self.beyond_cutoff += other.beyond_cutoff;
        self.nan += other.nan;
        self.skipped += other.skipped;
        self.settled += other.settled;
        self.first_nan = match (self.first_nan, other.first_nan) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}
