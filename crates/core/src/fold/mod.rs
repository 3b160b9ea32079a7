//! Folds: what is kept of the values (DESIGN 5). A state absorbs runs of values, merges, and finishes.
//!
//! Laws (tested): merging in the canonical order of blocks gives the same bits for every tiling; `absorb` after `merge`
//! equals `merge` after `absorb` for counts.

pub mod extremes;
mod finder;
pub mod histogram;
pub mod nearest;
pub mod rows;
pub mod runs;
pub mod scale;
pub mod select;
pub mod sparse;

use serde::{Deserialize, Serialize};

pub use extremes::{Extremes, ExtremesState};
pub use finder::table_bytes;
pub use histogram::{Axis, Closed, Histogram, HistogramState};
pub use nearest::{Nearest, NearestState};
pub use rows::{RowFold, RowOp, RowPiece, RowState};
pub use runs::Run;
pub use scale::Scale;
pub use select::{Select, SelectKind, SelectState};
pub use sparse::{Others, SparseRow};

/// Side of the square blocks in which values are summed (four of them side by side where sums by row are taken in single
/// precision); sums of blocks are added in ascending order, whatever the tiles.
pub const BLOCK: usize = 128;

/// A fold with everything it needs but the values.
#[derive(Clone, Debug)]
pub enum Fold {
    /// The dense matrix of root `root`; half spaces are mirrored.
    Matrix {
        /// Which root.
        root: usize,
    },
    /// SciPy's condensed order of a triangle.
    Condensed {
        /// Which root.
        root: usize,
    },
    /// One result per row, column, or in all.
    Rows(RowFold),
    /// The k nearest of every row.
    Nearest(Nearest),
    /// Counts by bin.
    Histogram(Histogram),
    /// The cells where a predicate holds.
    Select(Select),
    /// The least and the largest values.
    Extremes(Extremes),
}

/// What a fold keeps, mergeable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum State {
    /// Written straight to its place; nothing to merge.
    Written,
    /// Of [`Fold::Rows`].
    Rows(RowState),
    /// Of [`Fold::Nearest`].
    Nearest(NearestState),
    /// Of [`Fold::Histogram`].
    Histogram(HistogramState),
    /// Of [`Fold::Select`].
    Select(SelectState),
    /// Of [`Fold::Extremes`].
    Extremes(ExtremesState),
}

/// What happened to the cells of a space: the conservation law is `counted + skipped = cells`.
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
    pub fn seen(&self) -> Option<u64> {
        self.counted.checked_add(self.far)?.checked_add(self.nan)
    }
    /// Adds another tally.
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

impl Fold {
    /// The state before any value, for `n` × `m` rows.
    pub fn identity(&self, n: usize, m: usize) -> State {
        match self {
            Fold::Matrix { .. } | Fold::Condensed { .. } => State::Written,
            Fold::Rows(f) => State::Rows(RowState::new(f, f.rows(n, m))),
            Fold::Nearest(f) => State::Nearest(NearestState::new(f, n)),
            Fold::Histogram(f) => State::Histogram(HistogramState::new(f)),
            Fold::Select(f) => State::Select(SelectState::new(f, n)),
            Fold::Extremes(f) => State::Extremes(ExtremesState::new(f)),
        }
    }
    /// The roots whose values the fold takes.
    pub fn roots(&self) -> impl Iterator<Item = usize> + '_ {
        let (few, axes, many): ([Option<usize>; 2], &[Axis], &[usize]) = match self {
            Fold::Matrix { root } | Fold::Condensed { root } => ([Some(*root), None], &[], &[]),
            Fold::Rows(f) => ([Some(f.root), None], &[], &[]),
            Fold::Nearest(f) => ([Some(f.root), None], &[], &[]),
            Fold::Histogram(f) => ([None; 2], &f.axes, &[]),
            Fold::Select(f) => ([Some(f.root), f.value], &[], &[]),
            Fold::Extremes(f) => ([None; 2], &[], &f.roots),
        };
        few.into_iter().flatten().chain(axes.iter().map(|axis| axis.root)).chain(many.iter().copied())
    }
    /// Whether a NaN among the values of a pair reaches the fold: one of several axes that leaves the pair out hides it.
    pub fn meets_nan(&self, is_nan: impl Fn(usize) -> bool, value: impl Fn(usize) -> f64) -> bool {
        let hidden = |value| matches!(self, Fold::Histogram(f) if f.leaves_out(value));
        self.roots().any(is_nan) && !hidden(value)
    }
    /// Bytes of the state for `n` × `m` rows (of `select`: before any match).
    pub fn bytes(&self, n: usize, m: usize) -> u64 {
        match self {
            Fold::Matrix { .. } | Fold::Condensed { .. } => 0,
            Fold::Rows(f) => f.rows(n, m) as u64 * (f.stride() as u64 + 1) * 8,
            Fold::Nearest(f) => (n as u64).saturating_mul(f.k as u64).saturating_mul(16),
            Fold::Histogram(f) => (f.cells() as u64).saturating_mul(8 * f.numbers() as u64),
            Fold::Select(f) => {
                if f.kind == SelectKind::Inner {
                    0
                } else {
                    n as u64
                }
            }
            Fold::Extremes(f) => f.roots.len() as u64 * 16,
        }
    }
    /// Whether `state` is one that this fold over `n` × `m` rows can have: what comes from a file is asked before it is merged.
    pub fn takes(&self, state: &State, n: usize, m: usize) -> bool {
        match (self, state) {
            (Fold::Matrix { .. } | Fold::Condensed { .. }, State::Written) => true,
            (Fold::Rows(f), State::Rows(s)) => s.fits(f, n, m),
            (Fold::Nearest(f), State::Nearest(s)) => s.fits(f, n, m),
            (Fold::Histogram(f), State::Histogram(s)) => s.fits(f, n, m),
            (Fold::Select(f), State::Select(s)) => s.fits(f, n, m),
            (Fold::Extremes(f), State::Extremes(s)) => s.ends().len() == f.roots.len(),
            _ => false,
        }
    }
    /// Adds a state of sorted rows, row r of which is row `order[r]` here. For folds whose answer does not depend on the
    /// order of values.
    pub fn merge_sorted(&self, into: &mut State, from: State, order: &[u32]) {
        match (self, into, from) {
            (Fold::Rows(f), State::Rows(a), State::Rows(b)) => a.merge_sorted(f, &b, order),
            (Fold::Nearest(f), State::Nearest(a), State::Nearest(b)) => a.merge_sorted(f, b, order),
            (Fold::Select(_), State::Select(a), State::Select(b)) => a.merge_sorted(b, order),
            (_, into, from) => self.merge(into, from),
        }
    }
    /// Adds the state of a later part of the space.
    pub fn merge(&self, into: &mut State, from: State) {
        match (self, into, from) {
            (Fold::Rows(f), State::Rows(a), State::Rows(b)) => a.merge(f, &b),
            (Fold::Nearest(f), State::Nearest(a), State::Nearest(b)) => a.merge(f, &b),
            (Fold::Histogram(_), State::Histogram(a), State::Histogram(b)) => a.merge(&b),
            (Fold::Select(_), State::Select(a), State::Select(b)) => a.merge(b),
            (Fold::Extremes(_), State::Extremes(a), State::Extremes(b)) => a.merge(&b),
            _ => {}
        }
    }
}
