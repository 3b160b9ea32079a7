//! Rows of which few columns count: the others lie beyond a cut-off and reach no fold, or their
//! values are zeros.
//!
//! A grid of cells finds the pairs within a cut-off and leaves out the rest. The fold must then
//! have the bits of a run that visits all pairs. It does, because values are folded as that run
//! would: within blocks of [`BLOCK`] columns, in runs of consecutive columns, blocks in ascending
//! order. Pairs beyond the cut-off add nothing there either; and zeros change no sum, because a sum
//! that begins with +0 is never −0.

use super::rows::ReduceAxis;
use super::runs::{self, Run};
use super::{BLOCK, Reduce, RowPiece};

/// Folds one row at a time, with buffers that are reused.
///
/// Each thread has its own, for the buffers.
#[derive(Clone, Debug)]
pub struct SparseRow<'f> {
    fold: &'f Reduce,
    /// Whether a pair of the domain is credited to both of its rows.
    half: bool,
    /// The state of the row.
    whole: RowPiece,
    /// The state of the current block.
    piece: RowPiece,
    /// One value, for columns that are credited one by one.
    value: Vec<f64>,
    /// The values of a run, with zeros in its gaps.
    run: Vec<f64>,
    weights: Vec<f64>,
}

/// What the columns are that a row does not name.
///
/// A cut-off leaves columns out. A formula that is 0 beyond some distance has zeros there, and
/// these count in a mean.
#[derive(Clone, Copy, Debug)]
pub enum OtherRows<'a> {
    /// They are left out.
    Absent,
    /// They are zeros, except the columns named here, ascending, which are left out; and the number
    /// of zeros.
    Zeros(&'a [u32], u64),
}

impl<'f> SparseRow<'f> {
    /// Returns what folds rows for `fold`, over a `half` domain or a whole one.
    pub fn new(fold: &'f Reduce, half: bool) -> Self {
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
    pub fn row_fold(&self) -> &'f Reduce {
        self.fold
    }
    /// Folds the values of `row` at the ascending `columns`; number p of the values is `values(p)`.
    /// Zeros are allowed for sums and means only.
    ///
    /// A block of the full run has two sides for a row in a triangular domain: columns before the
    /// row were credited to it from their own rows, one value at a time. Such columns are absorbed
    /// one by one, the others in runs.
    pub fn fold<'v>(
        &mut self,
        row: usize,
        columns: &[u32],
        others: OtherRows<'_>,
        values: impl Fn(usize) -> &'v [f64],
    ) -> &RowPiece {
        self.whole.restart(self.fold, row);
        let mut at = 0;
        // One block of columns at a time, on one side of the row.
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
            // Blocks are added in ascending order, as `ReduceState::add` does.
            self.whole.combine(self.fold, &self.piece);
            at = end;
        }
        if let OtherRows::Zeros(_, count) = others {
            self.whole.recount(self.fold, columns.len() as u64 + count);
        }
        &self.whole
    }
    /// Returns whether the pair is credited to `row` as its column: in a triangular domain, pairs
    /// with earlier rows.
    ///
    /// The diagonal pair is credited once: along rows as part of a run, along columns as a single
    /// value, as [`Run::credit`] does.
    fn is_before(&self, row: usize, column: u32) -> bool {
        let column = column as usize;
        self.half && (column < row || (column == row && self.fold.axis == ReduceAxis::Column))
    }
    /// Folds runs of consecutive columns, zeros between them included.
    fn runs<'v>(
        &mut self,
        row: usize,
        columns: &[u32],
        others: OtherRows<'_>,
        values: impl Fn(usize) -> &'v [f64],
    ) {
        // With zeros in between, a run goes on unless a column is left out there.
        let follows = |a: u32, b: u32| match others {
            OtherRows::Absent => b == a + 1,
            OtherRows::Zeros(gaps, _) => {
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
            // Zeros first, values into them: gaps of a run stay 0, as a sweep would compute them.
            // Seven more at the end, see `Run::values`.
            self.run.clear();
            self.run.resize(run.len() * fold.width + 7, 0.0);
            let numbers = self.run.chunks_exact_mut(run.len()).take(fold.width);
            for (part, numbers) in numbers.enumerate() {
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
