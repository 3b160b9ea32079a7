//! Folds: what is kept of the values. A state absorbs lines of values, merges, and finishes.
//!
//! A fold is one file here: what it is asked for, its state, and [`Accumulate`], which says all
//! that engines, plans and outputs ask of it. The list [`folds!`] registers it.
//!
//! Laws (tested): merging in the canonical order of blocks gives the same bits for every tiling;
//! `absorb` after `merge` equals `merge` after `absorb` for counts.

mod asked;
pub(crate) mod axes;
pub mod columns;
pub mod dense;
pub mod extremes;
mod finder;
pub mod histogram;
mod line;
pub mod nearest;
mod quantile;
mod reduce;
pub mod roots;
pub mod rows;
pub mod runs;
pub mod scale;
pub mod select;
pub mod sparse;
pub mod top;

use crate::hash::Hash;
use crate::space::Domain;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::ops::Range;

pub use columns::{Column, Columns, Layout, Numbers, Role};
pub use dense::{Dense, Written};
pub use extremes::{Extremes, ExtremesState};
pub use finder::table_bytes;
pub use histogram::{Axis, Closed, Histogram, HistogramState};
pub use line::{Lent, Line};
pub use nearest::{Nearest, NearestState};
pub use quantile::{Quantile, QuantileSpec, QuantileState};
pub use rows::{RowFold, RowOp, RowPiece, RowState};
pub use runs::{Run, Value};
pub use scale::Scale;
pub use select::{Select, SelectKind, SelectState};
pub use sparse::{Others, SparseRow};
pub use top::{Top, TopSpec, TopState};

/// Side of the square blocks in which values are summed (eight of them side by side where sums by
/// row are taken in single precision); sums of blocks are added in ascending order, whatever the
/// tiles.
pub const BLOCK: usize = 128;

/// What plans and engines need to know of a fold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traits {
    /// Every value has a place of its own in the result; there is nothing to merge.
    pub dense: bool,
    /// The answer is rounded anyway, so that values may be computed in the precision of the job,
    /// and the instruction set or the device decides its last bits. Other answers are exact:
    /// counts, pairs, neighbours, extremes.
    pub rounds: bool,
    /// Bounds can tell that no pair of two boxes of rows changes the answer, which has the same
    /// bits in any order of pairs: such pairs are left out, and rows are sorted.
    pub bounded: bool,
    /// Something is kept for each row of x, so that a pair of a half space counts for both of its
    /// rows.
    pub by_row: bool,
    /// A row is finished once all of its values are there: tiles are as wide as the rows of y are
    /// many.
    pub whole_rows: bool,
    /// The state has the same size whatever the part of the space: the fewer parts, the better.
    pub fixed_size: bool,
    /// Each result is of one row of x or of y: all cells of one input give what half of them gives.
    pub by_side: bool,
    /// Operations of a value, as `explain` counts them.
    pub operations: f64,
    /// Cycles of a core that a value takes, where backends have no kernel of their own for the
    /// fold.
    pub cycles: f64,
}

/// A fold: what is kept of the values of pairs.
pub trait Accumulate: Debug {
    /// What is kept so far of some of the pairs.
    type State: Clone + Debug + Serialize;

    /// What plans and engines need to know.
    fn traits(&self) -> Traits;
    /// The cells of one input that the fold visits where nobody says which; `symmetric`: half of
    /// them stand for all.
    fn domain(&self, symmetric: bool) -> Domain;
    /// Whether `test` holds for one of the roots whose values the fold takes.
    fn any_root(&self, test: &mut dyn FnMut(usize) -> bool) -> bool;
    /// The state before any value, for `n` × `m` rows.
    fn start(&self, n: usize, m: usize) -> Self::State;
    /// The state of a unit of work before any value: only rows in `rows` are credited.
    fn part(&self, rows: &Range<usize>) -> Self::State;
    /// Bytes of the state for `n` × `m` rows; where its size depends on the values, of the state
    /// before any.
    fn bytes(&self, n: usize, m: usize) -> u64;
    /// Whether `state` is one that this fold over `n` × `m` rows can have: what comes from a file
    /// is asked before it is merged.
    fn takes(&self, state: &Self::State, n: usize, m: usize) -> bool;
    /// Takes a line of values, none of which is left out.
    fn absorb<T: Value>(&self, state: &mut Self::State, line: &Line<'_, T>, lent: Lent<'_>);
    /// Finishes these rows of x, all of whose values were taken.
    fn settle(&self, _state: &mut Self::State, _rows: &Range<usize>) {}
    /// Adds the state of a later part of the space.
    fn merge(&self, into: &mut Self::State, from: Self::State);
    /// Adds a state of sorted rows, row r of which is row `order[r]` here. For folds that bounds
    /// serve.
    fn merge_sorted(&self, into: &mut Self::State, from: Self::State, _order: &[u32]) {
        self.merge(into, from);
    }
    /// Mixes in what decides the answer, but for weights.
    fn identify(&self, hash: &mut Hash);
    /// Mixes in the weights.
    fn identify_weights(&self, _hash: &mut Hash) {}
    /// Whether a pair that has a NaN is left out all the same, for its other values.
    fn leaves_out(&self, _value: &dyn Fn(usize) -> f64) -> bool {
        false
    }
    /// The answer for `n` × `m` rows, of all of whose pairs `state` is.
    fn columns<'a>(&'a self, state: &'a Self::State, n: usize, m: usize) -> Columns<'a>;
    /// What is kept, in words.
    fn describe(&self) -> String;
}

/// The folds there are. Each line registers one: its name, what it is asked for, its state.
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
            /// The cells of one input that the fold visits where nobody says which.
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
            /// The state of a unit of work before any value: only rows in `rows` are credited.
            pub fn part(&self, rows: &Range<usize>) -> State {
                match self { $(Fold::$name(f) => State::$name(f.part(rows)),)+ }
            }
            /// Bytes of the state for `n` × `m` rows (of a join: before any match).
            pub fn bytes(&self, n: usize, m: usize) -> u64 {
                match self { $(Fold::$name(f) => f.bytes(n, m),)+ }
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
            /// Finishes these rows of x, all of whose values were taken.
            pub fn settle(&self, state: &mut State, rows: &Range<usize>) {
                match (self, state) {
                    $((Fold::$name(f), State::$name(s)) => f.settle(s, rows),)+
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
                self.any_root(&mut |root| is_nan(root)) && !match self { $(Fold::$name(f) => f.leaves_out(&value),)+ }
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
        }
    };
}

folds! {
    /// Every value, at its own place.
    Dense(Dense, Written),
    /// One result per row, column, or in all.
    Rows(RowFold, RowState),
    /// The k nearest of every row.
    Nearest(Nearest, NearestState),
    /// Counts by bin.
    Histogram(Histogram, HistogramState),
    /// The cells where a predicate holds.
    Select(Select, SelectState),
    /// The least and the largest values.
    Extremes(Extremes, ExtremesState),
    /// The k best pairs of all.
    Top(Top, TopState),
    /// Quantiles of every row.
    Quantile(Quantile, QuantileState),
}

impl Fold {
    /// The roots whose values the fold takes.
    pub fn roots(&self) -> Vec<usize> {
        let mut roots = vec![];
        self.any_root(&mut |root| {
            roots.push(root);
            false
        });
        roots
    }
    /// The fold, where it keeps every value.
    pub fn dense(&self) -> Option<&Dense> {
        if let Fold::Dense(f) = self {
            Some(f)
        } else {
            None
        }
    }
    /// Whether every value has a place of its own.
    pub fn is_dense(&self) -> bool {
        self.dense().is_some()
    }
}

/// What happened to the cells of a space: the conservation law is `counted + far + nan = cells`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Cells whose value reached the folds.
    pub counted: u64,
    /// Cells left out by a cut-off.
    pub far: u64,
    /// Cells left out because their value is NaN.
    pub nan: u64,
    /// Cells, counted or far, that bounds left out: no value of theirs could change the answer.
    pub skipped: u64,
    /// Cells, counted, whose part in the answer bounds settled.
    pub settled: u64,
    /// The first cell (i, j) whose value is NaN, if any.
    pub first_nan: Option<(u64, u64)>,
}

impl Tally {
    /// The cells that these add up to; none where they are too many to have been counted.
    #[doc(hidden)]
    pub fn seen(&self) -> Option<u64> {
        self.counted.checked_add(self.far)?.checked_add(self.nan)
    }
    /// Adds another tally.
    #[doc(hidden)]
    pub fn merge(&mut self, other: &Tally) {
        self.counted += other.counted;
        self.far += other.far;
        self.nan += other.nan;
        self.skipped += other.skipped;
        self.settled += other.settled;
        self.first_nan = match (self.first_nan, other.first_nan) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}
