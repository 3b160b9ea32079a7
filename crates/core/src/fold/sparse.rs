//! A row of which few columns count: the others lie beyond a cut-off and reach no fold, or their
//! values are zeros.
//!
//! Values are folded as in a run that visits every column: within blocks of [`BLOCK`] columns, runs
//! of columns that follow one another, blocks in ascending order. What is left out adds nothing
//! there, and zeros change no sum (one that begins with 0 is never −0), so the bits are the same.

use super::rows::Along;
use super::runs::{self, Run};
use super::{BLOCK, RowFold, RowPiece};

/// Folds one row at a time.
#[derive(Clone, Debug)]
pub struct SparseRow<'f> {
    fold: &'f RowFold,
    /// A cell of the space is credited to both its rows.
    half: bool,
    whole: RowPiece,
    piece: RowPiece,
    value: Vec<f64>,
    run: Vec<f64>,
    weights: Vec<f64>,
}

/// What the columns are that a row does not name.
#[derive(Clone, Copy, Debug)]
pub enum Others<'a> {
    /// Left out.
    Absent,
    /// Zeros, but for those named here, ascending, which are left out; so many of them.
    Zeros(&'a [u32], u64),
}

impl<'f> SparseRow<'f> {
    /// For `fold`, over a `half` space or a whole one.
    pub fn new(fold: &'f RowFold, half: bool) -> Self {
        let piece = RowPiece::new(fold, 0, 1);
        SparseRow {
            fold,
            half,
            whole: piece.clone(),
            piece,
            value: vec![0.0; fold.width],
            run: vec![],
            weights: vec![],
        }
    }
    /// The fold.
    pub fn row_fold(&self) -> &'f RowFold {
        self.fold
    }
    /// Folds the values of `row` at the ascending `columns`, number by number of a value: those of
    /// number p are `values(p)`. Zeros are for sums and means alone.
    pub fn fold<'v>(
        &mut self,
        row: usize,
        columns: &[u32],
        others: Others<'_>,
        values: impl Fn(usize) -> &'v [f64],
    ) -> &RowPiece {
        self.whole.restart(self.fold, row);
        let mut at = 0;
        while at < columns.len() {
            let (block, before) = (
                columns[at] as usize / BLOCK,
                self.is_before(row, columns[at]),
            );
            let mine = |c: &u32| *c as usize / BLOCK == block && self.is_before(row, *c) == before;
            let end = at + columns[at..].iter().take_while(|c| mine(c)).count();
            self.piece.restart(self.fold, row);
            let columns = &columns[at..end];
            if before {
                for (k, column) in columns.iter().enumerate() {
                    self.value
                        .iter_mut()
                        .enumerate()
                        .for_each(|(p, v)| *v = values(p)[at + k]);
                    self.piece
                        .absorb(self.fold, row, *column as usize, &self.value);
                }
            } else {
                self.runs(row, columns, others, |p| &values(p)[at..end]);
            }
            self.whole.combine(self.fold, &self.piece);
            at = end;
        }
        if let Others::Zeros(_, count) = others {
            self.whole.recount(self.fold, columns.len() as u64 + count);
        }
        &self.whole
    }
    /// Whether a column is credited as the row of its cell: those of a half space come first.
    fn is_before(&self, row: usize, column: u32) -> bool {
        let column = column as usize;
        self.half && (column < row || (column == row && self.fold.along == Along::Column))
    }
    /// Runs of columns that follow one another, zeros between them included.
    fn runs<'v>(
        &mut self,
        row: usize,
        columns: &[u32],
        others: Others<'_>,
        values: impl Fn(usize) -> &'v [f64],
    ) {
        let follows = |a: u32, b: u32| match others {
            Others::Absent => b == a + 1,
            Others::Zeros(gaps, _) => {
                gaps.partition_point(|g| *g < a) == gaps.partition_point(|g| *g < b)
            }
        };
        let fold = self.fold;
        let mut at = 0;
        while at < columns.len() {
            let end = at
                + 1
                + columns[at..]
                    .windows(2)
                    .take_while(|w| follows(w[0], w[1]))
                    .count();
            let first = columns[at];
            let run = first as usize..columns[end - 1] as usize + 1;
            self.run.clear();
            self.run.resize(run.len() * fold.width, 0.0);
            for (part, numbers) in self.run.chunks_exact_mut(run.len()).enumerate() {
                let kept = columns[at..end].iter().zip(&values(part)[at..end]);
                kept.for_each(|(c, v)| numbers[(c - first) as usize] = *v);
            }
            let (weights, apart) = runs::weights(fold, &run, &mut self.weights);
            let run = Run {
                row,
                first: run.start,
                len: run.len(),
                values: &self.run,
                stride: run.len(),
                weights,
                apart,
            };
            run.along(fold, &mut self.piece);
            at = end;
        }
    }
}
