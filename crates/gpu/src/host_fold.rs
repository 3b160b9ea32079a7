//! Folds values that a device computed, on the host, in the canonical order of blocks. Serves every
//! fold.
//!
//! ```text
//! for each rectangle of values inside a tile
//!     for each block of columns, for each block of rows in the rectangle
//!         pieces of the sums of the block
//!         for each row, for each run of visited columns
//!             matrices: put the run; NaN beyond the cut-off
//!             admit: split the run at pairs beyond the cut-off and at NaN that are skipped
//!             for each fold: absorb the run as a line of values
//! end of a tile: push the pieces in canonical order
//! ```
//!
//! Why this shape: it is the loop of the processor's engine over values that are already there, so
//! both have the same bits. Rectangles are as large as the copy allows, and blocks inside them are
//! those of the domain.

use crate::rectangle::{Number, Rectangle};
use std::ops::Range;
use zipfold_core::fold::row_states::{BlockPieces, pieces, push_pieces};
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{BLOCK, Fold, Lent, Line, RowPiece, State, Tally, runs};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Domain, Job, Result};
use zipfold_plan::Tile;
use zipfold_plan::executor::{Folded, Sink};
use zipfold_plan::tiles::credited;

/// Pieces of one block, by fold: credited to its rows, and to its columns.
type Pieces = Vec<Option<[RowPiece; 2]>>;

/// States in the making.
pub struct Host<'j> {
    job: &'j Job,
    states: Vec<State>,
    tally: Tally,
    /// First part of every root in a rectangle, and one past the last.
    parts: Vec<usize>,
    made: Vec<BlockPieces>,
    /// Values in double precision, as folds take them.
    wide: [f64; BLOCK],
}

impl<'j> Host<'j> {
    /// No value yet, for consecutive `tiles`.
    pub fn new(job: &'j Job, tiles: &[Tile]) -> Self {
        let credited = credited(&job.space, tiles);
        let mut parts = vec![0];
        for root in 0..job.low.formula.roots.len() {
            parts.push(parts[root] + job.low.formula.width(root, job.low.dim));
        }
        Host {
            job,
            states: job.folds.iter().map(|fold| fold.part(&credited)).collect(),
            tally: Tally::default(),
            parts,
            made: vec![],
            wide: [0.0; BLOCK],
        }
    }
    /// The states.
    pub fn finish(self) -> Folded {
        Folded {
            states: self.states,
            tally: self.tally,
        }
    }
    /// Folds the pairs of a rectangle inside a tile; its sides begin at blocks.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn rectangle<T: Number>(&mut self, r: &Rectangle<T>, sink: &dyn Sink) -> Result<()> {
        for jb in r.cols.start / BLOCK..r.cols.end.div_ceil(BLOCK) {
            for ib in r.rows.start / BLOCK..r.rows.end.div_ceil(BLOCK) {
                let clip = |b: usize, side: &Range<usize>| {
                    (b * BLOCK).max(side.start)..((b + 1) * BLOCK).min(side.end)
                };
                let (rows, cols) = (clip(ib, &r.rows), clip(jb, &r.cols));
                if self.job.space.is_triangular() && cols.end <= rows.start {
                    continue;
                }
                let pieces = self.block(r, &rows, &cols, sink)?;
                self.made.extend(
                    pieces
                        .into_iter()
                        .enumerate()
                        .filter_map(|(f, p)| p.map(|p| (f, ib, jb, p))),
                );
            }
        }
        Ok(())
    }
    /// Ends a tile: its pieces go into the states.
    pub fn end_tile(&mut self) {
        push_pieces(
            &self.job.folds,
            &mut self.states,
            std::mem::take(&mut self.made),
            1,
        );
    }
    fn block<T: Number>(
        &mut self,
        r: &Rectangle<T>,
        rows: &Range<usize>,
        cols: &Range<usize>,
        sink: &dyn Sink,
    ) -> Result<Pieces> {
        let job = self.job;
        let mut pieces = pieces(&job.folds, rows, cols, job.space.is_triangular());
        for i in rows.clone() {
            self.unvisited::<T>(i, cols, sink)?;
            for run in job.space.columns(i, cols) {
                if !run.is_empty() {
                    self.dense(r, i, &run, sink)?;
                    self.admit(r, i, &run, &mut pieces);
                }
            }
        }
        Ok(pieces)
    }
    /// A pair of the diagonal that is not visited is NaN in a matrix.
    fn unvisited<T: Number>(&self, i: usize, cols: &Range<usize>, sink: &dyn Sink) -> Result<()> {
        let job = self.job;
        if !matches!(job.space.domain, Domain::Triangle | Domain::Ordered) || !cols.contains(&i) {
            return Ok(());
        }
        let dense = job
            .folds
            .iter()
            .enumerate()
            .filter_map(|(at, fold)| Some((at, fold.dense()?)));
        let mut matrices = dense.filter(|(_, f)| !f.condensed);
        matrices
            .try_for_each(|(at, f)| sink.put(at, f.place(&job.space, i, i), T::values(&[T::NAN])))
    }
    fn is_far<T: Number>(&self, r: &Rectangle<T>, i: usize, j: usize) -> bool {
        let cutoff = self.job.cutoff_root.zip(self.job.space.cutoff_squared());
        cutoff.is_some_and(|(root, limit)| !r.number(self.parts[root], i, j).le(&limit))
    }
    /// Matrices take every value of a run, but NaN for those beyond the cut-off.
    fn dense<T: Number>(
        &self,
        r: &Rectangle<T>,
        i: usize,
        run: &Range<usize>,
        sink: &dyn Sink,
    ) -> Result<()> {
        let job = self.job;
        for (at, fold) in job.folds.iter().enumerate() {
            let Some(f) = fold.dense() else { continue };
            let mut line = r.run(self.parts[f.root], i, run).to_vec();
            if job.cutoff_root.is_some() {
                line.iter_mut()
                    .zip(run.clone())
                    .filter(|(_, j)| self.is_far(r, i, *j))
                    .for_each(|(v, _)| *v = T::NAN);
            }
            sink.put(at, f.place(&job.space, i, run.start), T::values(&line))?;
            if f.is_mirrored(&job.space) {
                for (v, j) in line.iter().zip(run.clone()).filter(|(_, j)| *j != i) {
                    sink.put(
                        at,
                        f.place(&job.space, j, i),
                        T::values(std::slice::from_ref(v)),
                    )?;
                }
            }
        }
        Ok(())
    }
    /// Splits a run at pairs that are left out, and hands what remains to the folds.
    fn admit<T: Number>(
        &mut self,
        r: &Rectangle<T>,
        i: usize,
        run: &Range<usize>,
        pieces: &mut Pieces,
    ) {
        let job = self.job;
        let mut open: Option<usize> = None;
        for j in run.clone() {
            let far = self.is_far(r, i, j);
            let is_nan = |root: usize| {
                (self.parts[root]..self.parts[root + 1]).any(|part| r.number(part, i, j).is_nan())
            };
            let value = |root: usize| r.number(self.parts[root], i, j);
            let nan = !far && job.meets_nan(is_nan, value);
            if nan {
                let pair = (i as u64, j as u64);
                self.tally.first_nan = Some(self.tally.first_nan.map_or(pair, |f| f.min(pair)));
            }
            let skipped = nan && job.nan == NanPolicy::Skip;
            let out = far || skipped;
            self.tally.beyond_cutoff += u64::from(far);
            self.tally.nan += u64::from(skipped);
            self.tally.counted += u64::from(!out);
            match (out, open) {
                (false, None) => open = Some(j),
                (true, Some(from)) => {
                    self.absorb(r, i, &(from..j), pieces);
                    open = None;
                }
                _ => {}
            }
        }
        if let Some(from) = open {
            self.absorb(r, i, &(from..run.end), pieces);
        }
    }
    fn absorb<T: Number>(
        &mut self,
        r: &Rectangle<T>,
        i: usize,
        run: &Range<usize>,
        pieces: &mut Pieces,
    ) {
        let job = self.job;
        let half = job.space.is_triangular();
        let (values, stride) = r.numbers(i, run.start);
        let line = Line {
            row: i,
            first: run.start,
            len: run.len(),
            half,
            values,
            stride,
            firsts: &self.parts,
        };
        for ((fold, state), pieces) in job.folds.iter().zip(&mut self.states).zip(pieces) {
            let mut weights = vec![];
            // Only results by row weigh values.
            let weights = if let Fold::Reduce(f) = fold
                && (half || f.axis != ReduceAxis::Column)
            {
                runs::weights(f, run, &mut weights)
            } else {
                (&[][..], BLOCK)
            };
            fold.absorb(
                state,
                &line,
                Lent {
                    pieces: pieces.as_mut(),
                    weights,
                    wide: &mut self.wide,
                },
            );
        }
    }
}
