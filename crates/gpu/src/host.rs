//! Folds values that a device computed, on the host, in the canonical order of blocks. Serves every fold.

use crate::engine::{Number, Part, Put, Rectangle};
use std::ops::Range;
use zipfold_core::fold::rows::{Along, Made, RowState, pieces, push_pieces};
use zipfold_core::fold::runs::{Run, by_number};
use zipfold_core::fold::{BLOCK, Fold, NearestState, RowFold, RowPiece, SelectKind, SelectState, State, Tally};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Cells, Job, Result};
use zipfold_plan::Tile;

/// Pieces of one block, by fold: credited to its rows, and to its columns.
type Pieces = Vec<Option<[RowPiece; 2]>>;

/// States in the making.
pub struct Host<'j> {
    job: &'j Job,
    states: Vec<State>,
    tally: Tally,
    /// First part of every root in a rectangle, and one past the last.
    parts: Vec<usize>,
    made: Vec<Made>,
}

impl<'j> Host<'j> {
    /// No value yet, for consecutive `tiles`.
    pub fn new(job: &'j Job, tiles: &[Tile]) -> Self {
        let start = tiles.iter().map(|t| t.rows.start).min().unwrap_or(0);
        let end = tiles.iter().map(|t| t.rows.end).max().unwrap_or(0);
        let cols = tiles.iter().map(|t| t.cols.end).max().unwrap_or(0);
        let high = if job.space.is_half() { end.max(cols) } else { end };
        let state = |f: &Fold| match f {
            Fold::Rows(_) => State::Rows(RowState::part()),
            Fold::Nearest(_) => State::Nearest(NearestState::part(start, high - start)),
            Fold::Select(f) => State::Select(SelectState::part(f, start, high - start)),
            other => other.identity(0, 0),
        };
        let mut parts = vec![0];
        for root in 0..job.low.formula.roots.len() {
            parts.push(parts[root] + job.low.formula.width(root, job.low.dim));
        }
        Host { job, states: job.folds.iter().map(state).collect(), tally: Tally::default(), parts, made: vec![] }
    }
    /// The states.
    pub fn finish(self) -> Part {
        Part { states: self.states, tally: self.tally }
    }
    /// Folds the cells of a rectangle inside a tile; its sides begin at blocks.
    ///
    /// # Errors
    /// Those of `put`.
    pub fn rectangle<T: Number>(&mut self, r: &Rectangle<T>, put: &Put<'_>) -> Result<()> {
        for jb in r.cols.start / BLOCK..r.cols.end.div_ceil(BLOCK) {
            for ib in r.rows.start / BLOCK..r.rows.end.div_ceil(BLOCK) {
                let clip = |b: usize, side: &Range<usize>| (b * BLOCK).max(side.start)..((b + 1) * BLOCK).min(side.end);
                let (rows, cols) = (clip(ib, &r.rows), clip(jb, &r.cols));
                if self.job.space.is_half() && cols.end <= rows.start {
                    continue;
                }
                let pieces = self.block(r, &rows, &cols, put)?;
                self.made.extend(pieces.into_iter().enumerate().filter_map(|(f, p)| p.map(|p| (f, ib, jb, p))));
            }
        }
        Ok(())
    }
    /// Ends a tile: its pieces go into the states.
    pub fn end_tile(&mut self) {
        push_pieces(&mut self.states, std::mem::take(&mut self.made));
    }
    fn block<T: Number>(
        &mut self,
        r: &Rectangle<T>,
        rows: &Range<usize>,
        cols: &Range<usize>,
        put: &Put<'_>,
    ) -> Result<Pieces> {
        let job = self.job;
        let mut pieces = pieces(&job.folds, rows, cols, job.space.is_half());
        for i in rows.clone() {
            self.unvisited::<T>(i, cols, put)?;
            for run in job.space.columns(i, cols) {
                if !run.is_empty() {
                    self.dense(r, i, &run, put)?;
                    self.admit(r, i, &run, &mut pieces);
                }
            }
        }
        Ok(pieces)
    }
    /// A cell of the diagonal that is not visited is NaN in a matrix.
    fn unvisited<T: Number>(&self, i: usize, cols: &Range<usize>, put: &Put<'_>) -> Result<()> {
        let job = self.job;
        if !matches!(job.space.cells, Cells::Triangle | Cells::Ordered) || !cols.contains(&i) {
            return Ok(());
        }
        let mut matrices = job.folds.iter().enumerate().filter(|(_, f)| matches!(f, Fold::Matrix { .. }));
        matrices.try_for_each(|(at, _)| put(at, i * job.space.m + i, T::values(&[T::NAN])))
    }
    fn is_far<T: Number>(&self, r: &Rectangle<T>, i: usize, j: usize) -> bool {
        let near = self.job.near_root.zip(self.job.space.near_square());
        near.is_some_and(|(root, limit)| !r.at(self.parts[root], i, j).le(&limit))
    }
    /// Matrices take every value of a run, but NaN for those beyond the cut-off.
    fn dense<T: Number>(&self, r: &Rectangle<T>, i: usize, run: &Range<usize>, put: &Put<'_>) -> Result<()> {
        let (job, n) = (self.job, self.job.space.n);
        for (at, fold) in job.folds.iter().enumerate() {
            let (root, offset) = match fold {
                Fold::Matrix { root } => (*root, i * job.space.m + run.start),
                Fold::Condensed { root } => (*root, n * i - i * (i + 1) / 2 + run.start - i - 1),
                _ => continue,
            };
            let mut line = r.run(self.parts[root], i, run).to_vec();
            if job.near_root.is_some() {
                line.iter_mut().zip(run.clone()).filter(|(_, j)| self.is_far(r, i, *j)).for_each(|(v, _)| *v = T::NAN);
            }
            put(at, offset, T::values(&line))?;
            if matches!(fold, Fold::Matrix { .. }) && job.space.is_half() {
                for (v, j) in line.iter().zip(run.clone()).filter(|(_, j)| *j != i) {
                    put(at, j * job.space.m + i, T::values(std::slice::from_ref(v)))?;
                }
            }
        }
        Ok(())
    }
    /// Splits a run at cells that are left out, and hands what remains to the folds.
    fn admit<T: Number>(&mut self, r: &Rectangle<T>, i: usize, run: &Range<usize>, pieces: &mut Pieces) {
        let job = self.job;
        let mut open: Option<usize> = None;
        for j in run.clone() {
            let far = self.is_far(r, i, j);
            let is_nan = |root: usize| (self.parts[root]..self.parts[root + 1]).any(|part| r.at(part, i, j).is_nan());
            let value = |root: usize| r.at(self.parts[root], i, j);
            let nan = !far && job.meets_nan(is_nan, value);
            if nan {
                let cell = (i as u64, j as u64);
                self.tally.first_nan = Some(self.tally.first_nan.map_or(cell, |f| f.min(cell)));
            }
            let skipped = nan && job.nan == NanPolicy::Skip;
            let out = far || skipped;
            self.tally.far += u64::from(far);
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
    fn absorb<T: Number>(&mut self, r: &Rectangle<T>, i: usize, run: &Range<usize>, pieces: &mut Pieces) {
        let (job, parts) = (self.job, &self.parts);
        let half = job.space.is_half();
        for (at, fold) in job.folds.iter().enumerate() {
            match (fold, &mut self.states[at], &mut pieces[at]) {
                (Fold::Rows(f), _, Some(pieces)) => credit_rows(job, f, pieces, r, parts[f.root], i, run),
                (Fold::Nearest(f), State::Nearest(s), _) => {
                    for j in run.clone() {
                        let v = r.at(parts[f.root], i, j);
                        s.absorb(f, i, j, &[v]);
                        if half && i != j {
                            s.absorb(f, j, i, &[v]);
                        }
                    }
                }
                (Fold::Histogram(f), State::Histogram(s), _) => {
                    run.clone().for_each(|j| s.absorb(f, i, j, |root| r.at(parts[root], i, j)));
                }
                (Fold::Extremes(f), State::Extremes(s), _) => {
                    for (at, root) in f.roots.iter().enumerate() {
                        run.clone().for_each(|j| s.absorb(at, &[r.at(parts[*root], i, j)]));
                    }
                }
                (Fold::Select(f), State::Select(s), _) => {
                    for j in run.clone().filter(|j| r.at(parts[f.root], i, *j) != 0.0) {
                        s.absorb(f, i, j, f.value.map(|v| r.at(parts[v], i, j)));
                        if half && f.kind != SelectKind::Inner {
                            s.absorb(f, j, i, None);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

/// Credits a run of values to the row (and, in half spaces or along columns, to the columns).
fn credit_rows<T: Number>(
    job: &Job,
    f: &RowFold,
    pieces: &mut [RowPiece; 2],
    r: &Rectangle<T>,
    part: usize,
    i: usize,
    run: &Range<usize>,
) {
    let half = job.space.is_half();
    let values: Vec<f64> = (0..f.width).flat_map(|p| run.clone().map(move |j| r.at(part + p, i, j))).collect();
    let mut weights = vec![];
    if half || f.along != Along::Column {
        by_number(f, run, &mut weights);
    }
    let run = Run {
        row: i,
        first: run.start,
        len: run.len(),
        values: &values,
        stride: run.len(),
        weights: &weights,
        apart: BLOCK,
    };
    run.credit(f, half, pieces);
}
