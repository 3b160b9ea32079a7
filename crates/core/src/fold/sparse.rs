//! Rows of which few columns count: the others lie beyond a cut-off and reach no fold, or their
//! values are zeros.
//!
//! A grid of cells finds the pairs within a cut-off and leaves out the rest. The fold must then
//! have the bits of a run that visits all pairs. It does, because values are folded as that run
//! would: within blocks of [`BLOCK`] columns, in runs of consecutive columns, blocks in the order of
//! their tree. Pairs beyond the cut-off add nothing there either; and zeros change no sum, because a sum
//! that begins with +0 is never −0.

use super::rows::ReduceAxis;
use super::runs::{self, Run};
use super::{BLOCK, Ladder, Reduce, RowPiece, SumNode};

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
    /// Sums of blocks that are not joined yet, and pieces to be used again.
    ladder: Ladder<RowPiece>,
    spare: Vec<RowPiece>,
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
        SparseRow {
            fold,
            half,
            whole: RowPiece::new(fold, 0, 1),
            ladder: Ladder::default(),
            spare: vec![],
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
        let mut at = 0;
        // One block of columns at a time, on one side of the row.
        while at < columns.len() {
            let (block, before) = (
                columns[at] as usize / BLOCK,
                self.is_before(row, columns[at]),
            );
            let mine = |c: &u32| *c as usize / BLOCK == block && self.is_before(row, *c) == before;
            let end = at + columns[at..].iter().take_while(|c| mine(c)).count();
            let mut piece = self.fresh(row);
            let columns = &columns[at..end];
            if before {
                for (k, column) in columns.iter().enumerate() {
                    self.value
                        .iter_mut()
                        .enumerate()
                        .for_each(|(p, v)| *v = values(p)[at + k]);
                    piece.absorb(self.fold, row, *column as usize, &self.value);
                }
            } else {
                self.runs(&mut piece, columns, others, |p| &values(p)[at..end]);
            }
            // Both sides of the block of the diagonal are one leaf, as `push_pieces` has them.
            let join = joins(self.fold, &mut self.spare);
            self.ladder
                .push_next(SumNode::with_block(block, 1), piece, join);
            at = end;
        }
        let all = self.ladder.take_all(joins(self.fold, &mut self.spare));
        let all = all.unwrap_or_else(|| self.fresh(row));
        self.spare.push(std::mem::replace(&mut self.whole, all));
        if let OtherRows::Zeros(_, count) = others {
            self.whole.recount(self.fold, columns.len() as u64 + count);
        }
        &self.whole
    }
    /// A piece of `row` without values.
    fn fresh(&mut self, row: usize) -> RowPiece {
        let spare = self.spare.pop();
        let mut piece = spare.unwrap_or_else(|| self.whole.clone());
        piece.restart(self.fold, row);
        piece
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
        piece: &mut RowPiece,
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
        let (fold, row) = (self.fold, piece.start);
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
            run.along(fold, piece);
            at = end;
        }
    }
}

/// Adds a piece to the one before, and keeps it to be used again.
fn joins<'s>(
    fold: &'s Reduce,
    spare: &'s mut Vec<RowPiece>,
) -> impl FnMut(&mut RowPiece, RowPiece) + 's {
    move |into, piece| {
        into.join(fold, &piece);
        spare.push(piece);
    }
}
