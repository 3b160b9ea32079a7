//! The rows of a dense result that a share gives: where its runs lie in memory of their own, and
//! where they go when shares are merged.

use serde::{Deserialize, Serialize};
use std::ops::Range;
use zipfold_core::fold::Fold;
use zipfold_core::{Error, Job, Result};
use zipfold_plan::Values;
use zipfold_plan::executor::ValueType;
use zipfold_plan::shares::{Cut, Share};

/// A rectangle of a matrix, or some rows of the condensed order.
///
/// ```text
/// band of half of the pairs     rows a..b, columns a..n; what lies left of a is mirrored when merged
/// other bands, crosses          rows a..b, all columns
/// condensed                     the pairs (i, j), i < j, of rows a..b, which are consecutive
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Its rows.
    pub rows: Range<usize>,
    /// Its columns.
    pub cols: Range<usize>,
    /// Columns of the whole result.
    pub width: usize,
    /// Whether rows are those of the condensed order.
    pub condensed: bool,
    /// Whether values left of `cols` are those above the diagonal.
    pub mirrored: bool,
}

/// What a share gives of a dense result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Block {
    /// Nothing: the fold is not dense.
    None,
    /// Single precision.
    F32(Frame, Vec<f32>),
    /// Double precision.
    F64(Frame, Vec<f64>),
}

/// The place of row `row` in the condensed order of n rows.
fn condensed(row: usize, n: usize) -> usize {
    row * (2 * n - row).saturating_sub(1) / 2
}

impl Frame {
    /// The frame of `fold` in a share; none of folds that keep no values.
    pub(crate) fn of_share(job: &Job, fold: &Fold, share: &Share) -> Option<Frame> {
        let dense = fold.dense()?;
        let (rows, m) = (share.rows.clone(), job.space.m);
        let mirrored = job.space.is_triangular() && share.shape == Cut::Bands;
        Some(Frame {
            cols: if mirrored { rows.start.min(m)..m } else { 0..m },
            rows,
            width: m,
            condensed: dense.condensed,
            mirrored: mirrored && !dense.condensed,
        })
    }
    /// Elements of the frame.
    pub(crate) fn elements(&self) -> usize {
        match self.condensed {
            true => self.end() - self.begin(),
            false => self.rows.len().saturating_mul(self.cols.len()),
        }
    }
    fn begin(&self) -> usize {
        condensed(self.rows.start, self.width)
    }
    fn end(&self) -> usize {
        condensed(self.rows.end.min(self.width), self.width)
    }
    /// Where a run that begins at element `first` of the whole result begins here; none if it is
    /// no part of the frame.
    pub(crate) fn place(&self, first: usize) -> Option<usize> {
        if self.condensed {
            return (self.begin()..self.end())
                .contains(&first)
                .then(|| first - self.begin());
        }
        let (row, col) = (first / self.width.max(1), first % self.width.max(1));
        let inside = self.rows.contains(&row) && self.cols.contains(&col);
        inside.then(|| (row - self.rows.start) * self.cols.len() + col - self.cols.start)
    }
    /// Whether a frame from a file is one of a fold over these rows, and has this many elements.
    fn fits(&self, job: &Job, fold: &Fold, elements: usize) -> bool {
        let (n, m) = (job.space.n, job.space.m);
        let ordered = self.rows.start <= self.rows.end && self.cols.start <= self.cols.end;
        let square = !self.mirrored || (n == m && self.cols == (self.rows.start..n));
        ordered
            && square
            && self.rows.end <= n
            && self.cols.end <= m
            && self.width == m
            && fold.dense().is_some_and(|f| f.condensed == self.condensed)
            && self.elements() == elements
    }
    /// Hands each run of the whole result that `values` give to `put`.
    fn runs<T: ValueType + Default>(
        &self,
        values: &[T],
        put: &dyn Fn(usize, Values<'_>) -> Result<()>,
    ) -> Result<()> {
        if self.condensed {
            return put(self.begin(), T::values(values));
        }
        let wide = self.cols.len();
        if wide == 0 {
            return Ok(());
        }
        for (row, run) in self.rows.clone().zip(values.chunks_exact(wide)) {
            put(row * self.width + self.cols.start, T::values(run))?;
        }
        if !self.mirrored {
            return Ok(());
        }
        let mut column = vec![T::default(); self.rows.len()];
        for col in self.rows.end..self.cols.end {
            let at = col - self.cols.start;
            for (to, run) in column.iter_mut().zip(values.chunks_exact(wide)) {
                *to = run[at];
            }
            put(col * self.width + self.rows.start, T::values(&column))?;
        }
        Ok(())
    }
}

impl Block {
    /// The frame, if the fold is dense.
    pub(crate) fn frame(&self) -> Option<&Frame> {
        match self {
            Block::None => None,
            Block::F32(frame, _) | Block::F64(frame, _) => Some(frame),
        }
    }
    /// Whether a block from a file is one that `fold` of `job` can have.
    pub(crate) fn fits(&self, job: &Job, fold: &Fold) -> bool {
        match self {
            Block::None => !fold.is_dense(),
            Block::F32(frame, values) => frame.fits(job, fold, values.len()),
            Block::F64(frame, values) => frame.fits(job, fold, values.len()),
        }
    }
    /// Hands each run of the whole result to `put`.
    ///
    /// # Errors
    /// Those of `put`; `Internal` where the fold is not dense.
    pub(crate) fn place(&self, put: &dyn Fn(usize, Values<'_>) -> Result<()>) -> Result<()> {
        match self {
            Block::None => Err(Error::internal("values of a fold that keeps none")),
            Block::F32(frame, values) => frame.runs(values, put),
            Block::F64(frame, values) => frame.runs(values, put),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_condensed_order_follow_one_another() {
        for n in [0, 1, 2, 9] {
            let mut at = 0;
            for i in 0..n {
                assert_eq!(condensed(i, n), at);
                at += n - i - 1;
            }
            assert_eq!(condensed(n, n), at, "{n} rows");
        }
    }

    #[test]
    fn a_band_of_half_of_the_pairs_fills_its_rows_and_their_mirror() {
        let frame = Frame {
            rows: 2..4,
            cols: 2..6,
            width: 6,
            condensed: false,
            mirrored: true,
        };
        assert_eq!((frame.elements(), frame.place(2 * 6 + 2)), (8, Some(0)));
        assert_eq!(
            (frame.place(3 * 6 + 5), frame.place(4 * 6 + 2)),
            (Some(7), None)
        );
        let values: Vec<f64> = (0..8).map(f64::from).collect();
        let seen = std::cell::RefCell::new(vec![None; 36]);
        let put = |first: usize, run: Values<'_>| {
            for (at, v) in (first..).zip(f64::run(run).unwrap()) {
                assert!(seen.borrow_mut()[at].replace(*v).is_none());
            }
            Ok(())
        };
        frame.runs(&values, &put).unwrap();
        let seen = seen.into_inner();
        for (row, col) in [(2, 2), (2, 5), (3, 4), (4, 2), (5, 3)] {
            let (i, j) = if col >= 2 && row < 4 {
                (row, col)
            } else {
                (col, row)
            };
            let wanted = ((i - 2) * 4 + j - 2) as f64;
            assert_eq!(seen[row * 6 + col], Some(wanted), "{row} {col}");
        }
        assert_eq!(seen.iter().flatten().count(), 8 + 4);
    }
}
