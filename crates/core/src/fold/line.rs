//! Values on their way into folds: those of one row of x against consecutive rows of y.

use super::BLOCK;
use super::rows::RowPiece;
use super::runs::Value;

/// The values of row `row` against at most a [`BLOCK`] of rows from `first` on. Engines evaluate
/// one line at a time; all folds of a job take the same line, each the roots that it needs.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a, T> {
    /// The row of x.
    pub row: usize,
    /// The first of the rows of y.
    pub first: usize,
    /// How many rows of y there are.
    pub len: usize,
    /// Whether a pair (i, j) also represents (j, i), as in a triangular domain.
    pub half: bool,
    /// The values, number after number: number p of all pairs begins at `p * stride`.
    pub values: &'a [T],
    /// See `values`.
    pub stride: usize,
    /// The number at which each root begins; a root may have several numbers.
    pub firsts: &'a [usize],
}

impl<'a, T: Value> Line<'a, T> {
    /// Returns the numbers of a root, from the first value of its first number on.
    #[inline(always)]
    pub fn root(&self, root: usize) -> &'a [T] {
        &self.values[self.firsts[root] * self.stride..]
    }
    /// Returns the values of a root that is one number per pair.
    #[inline(always)]
    pub fn scalars(&self, root: usize) -> &'a [T] {
        &self.root(root)[..self.len]
    }
    /// Returns the values of a root in double precision, in the buffer `wide`. The caller may
    /// change them.
    #[inline(always)]
    pub fn widened<'w>(&self, root: usize, wide: &'w mut [f64; BLOCK]) -> &'w mut [f64] {
        let wide = &mut wide[..self.len];
        wide.iter_mut()
            .zip(self.scalars(root))
            .for_each(|(w, v)| *w = (*v).into());
        wide
    }
}

/// What an engine lends to the folds that take a line.
#[derive(Debug)]
pub struct Lent<'a> {
    /// Pieces of the block of pairs that the line is part of, of a fold by rows: credited to its
    /// rows, and to its columns.
    pub pieces: Option<&'a mut [RowPiece; 2]>,
    /// The weights of the rows of y, of a fold by rows: number after number, and how far apart
    /// these begin.
    pub weights: (&'a [f64], usize),
    /// Room for values in double precision.
    pub wide: &'a mut [f64; BLOCK],
}

/// The values of one pair, as the oracle goes.
#[derive(Clone, Copy, Debug)]
pub struct ValuedPair<'a> {
    /// The row of x.
    pub i: usize,
    /// The row of y.
    pub j: usize,
    /// Whether the pair counts for (j, i), too.
    pub both: bool,
    /// The numbers of each root.
    pub roots: &'a [Vec<f64>],
}

impl ValuedPair<'_> {
    /// The value of a root whose values are one number each.
    pub fn scalar(&self, root: usize) -> f64 {
        self.roots[root][0]
    }
}
