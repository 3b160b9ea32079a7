//! Answers any problem the slow, obvious way, in f64: what every backend is held to, bit for bit.
//!
//! The oracle visits pairs block by block in canonical order, evaluates each with the reference
//! evaluator, and gives the values to the same folds that engines use. It shares `absorb` and the
//! order of blocks with them, because that order *is* the definition of a float sum. The tests hold
//! the oracle itself to a specification that shares neither: a double loop over pairs
//! (`testkit/src/specification.rs`).
//!
//! It has no tiles, threads, precision or pruning. It is also not a fallback: engines that cannot
//! run a formula use the evaluator, not this.

use crate::describe::Job;
use crate::error::Result;
use crate::fold::rows::{Along, RowFold, RowState, pieces};
use crate::fold::runs::{self, by_number};
use crate::fold::{BLOCK, Fold, RowPiece, State, Tally, ValuedPair};
use crate::pair::{Evaluator, Rows};
use crate::problem::NanPolicy;

/// What the oracle found.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The state of each fold; a matrix has [`crate::fold::Written`].
    pub states: Vec<State>,
    /// The values of each matrix; empty for other folds.
    pub values: Vec<Vec<f64>>,
    /// What happened to the cells.
    pub tally: Tally,
}

/// Evaluates single pairs, with buffers that are reused.
pub struct PairValues<'j> {
    job: &'j Job,
    eval: Evaluator<'j>,
    x: Vec<f64>,
    y: Vec<f64>,
    delta: Vec<f64>,
}

impl<'j> PairValues<'j> {
    /// Returns an evaluator of the pairs of `job`.
    pub fn new(job: &'j Job) -> Self {
        let widths = (job.x.width(), job.other().width());
        let eval = Evaluator::new(&job.low.formula, job.low.dim);
        PairValues {
            job,
            eval,
            x: vec![0.0; widths.0],
            y: vec![0.0; widths.1],
            delta: vec![],
        }
    }
    /// Evaluates pair (i, j); `out[root]` receives the numbers of each root. Attributes are
    /// subtracted too, which nothing reads; only components are wrapped by the box.
    pub fn get(&mut self, i: usize, j: usize, out: &mut Vec<Vec<f64>>) {
        self.job.x.row_into(i, &mut self.x);
        self.job.other().row_into(j, &mut self.y);
        self.delta.clear();
        self.delta
            .extend(self.x.iter().zip(&self.y).map(|(a, b)| a - b));
        if let Some(cell) = &self.job.cell {
            cell.minimum_image(&mut self.delta[..self.job.x.cols()]);
        }
        self.eval.run(Rows {
            x: &self.x,
            y: &self.y,
            delta: &self.delta,
        });
        out.resize(self.job.low.formula.roots.len(), vec![]);
        for (at, values) in out.iter_mut().enumerate() {
            values.clear();
            self.eval.push_root(at, values);
        }
    }
}

/// Computes `job` pair by pair.
///
/// # Errors
/// `Request` when the space is too large to count.
pub fn run(job: &Job) -> Result<Answer> {
    let (n, m) = (job.space.n, job.space.m);
    let mut states: Vec<State> = job.folds.iter().map(|f| f.start(n, m)).collect();
    let mut values: Vec<Vec<f64>> = job
        .folds
        .iter()
        .map(|f| vec![f64::NAN; dense_len(f, n, m)])
        .collect();
    let mut tally = Tally::default();
    let mut pair = PairValues::new(job);
    let mut roots = vec![];
    // Blocks in canonical order, so that even float sums have the bits that backends must give.
    for ib in 0..n.div_ceil(BLOCK) {
        for jb in 0..m.div_ceil(BLOCK) {
            let rows = ib * BLOCK..((ib + 1) * BLOCK).min(n);
            let cols = jb * BLOCK..((jb + 1) * BLOCK).min(m);
            // Folds by row collect a block in pieces of their own, as every engine does.
            let mut pieces = pieces(&job.folds, &rows, &cols, job.space.is_triangular());
            for i in rows.clone() {
                // Folds by rows take runs of consecutive columns, as engines give them: the order
                // of additions in a run is part of the definition.
                let mut runs: Vec<Run> = vec![(cols.start, vec![]); job.folds.len()];
                for j in job.space.columns(i, &cols).into_iter().flatten() {
                    pair.get(i, j, &mut roots);
                    // Once per pair, for all folds: they share the tally.
                    let fate = admit(job, &roots, i, j, &mut tally);
                    for (at, fold) in job.folds.iter().enumerate() {
                        // A matrix shows NaN where it is; other folds do not get to see it if it is
                        // skipped.
                        if fate == Fate::Far || (fate == Fate::Nan && !fold.is_dense()) {
                            continue;
                        }
                        if let (Fold::Rows(f), Some(pieces)) = (fold, pieces[at].as_mut()) {
                            lengthen(
                                &mut runs[at],
                                (f, job.space.is_triangular()),
                                pieces,
                                (i, j),
                                &roots[f.root],
                            );
                            continue;
                        }
                        // (i, j) also means (j, i), and a row paired with itself is one pair.
                        let both = job.space.is_triangular() && i != j;
                        let roots = &roots[..];
                        let pair = ValuedPair { i, j, both, roots };
                        credit(job, fold, &mut states[at], &mut values[at], &pair);
                    }
                }
                for (at, piece) in pieces.iter_mut().enumerate() {
                    if let (Fold::Rows(f), Some(pieces)) = (&job.folds[at], piece) {
                        flush(&mut runs[at], (f, job.space.is_triangular()), pieces, i);
                    }
                }
            }
            for (at, piece) in pieces.into_iter().enumerate() {
                if let (Fold::Rows(f), State::Rows(state), Some([by_row, by_col])) =
                    (&job.folds[at], &mut states[at], piece)
                {
                    let mut part = RowState::part();
                    // Column side first, as `push_pieces` does for engines.
                    part.push(by_col);
                    part.push(by_row);
                    state.merge(f, &part);
                }
            }
        }
    }
    Ok(Answer {
        states,
        values,
        tally,
    })
}

/// The first column of a run, and its values: as many numbers each as the fold is wide.
type Run = (usize, Vec<f64>);

/// Adds a value to the run of row `i`. The run ends where a column is left out.
fn lengthen(
    run: &mut Run,
    fold: (&RowFold, bool),
    pieces: &mut [RowPiece; 2],
    (i, j): (usize, usize),
    value: &[f64],
) {
    if run.0 + run.1.len() / fold.0.width.max(1) != j {
        flush(run, fold, pieces, i);
        run.0 = j;
    }
    run.1.extend(value);
}

/// Credits a run and empties it. Values are collected pair by pair and turned number by number
/// here.
fn flush(run: &mut Run, (fold, half): (&RowFold, bool), pieces: &mut [RowPiece; 2], row: usize) {
    let (first, len) = (run.0, run.1.len() / fold.width.max(1));
    if len > 0 {
        // From pair by pair to number by number.
        let part = |part| run.1.iter().copied().skip(part).step_by(fold.width);
        let values: Vec<f64> = (0..fold.width).flat_map(part).collect();
        let mut weights = vec![];
        if half || fold.along != Along::Column {
            by_number(fold, &(first..first + len), &mut weights);
        }
        let run = runs::Run {
            row,
            first,
            len,
            values: &values,
            stride: len,
            weights: &weights,
            apart: BLOCK,
        };
        run.credit(fold, half, pieces);
    }
    run.1.clear();
}

/// Returns the number of values of a matrix; 0 for other folds.
fn dense_len(fold: &Fold, n: usize, m: usize) -> usize {
    fold.dense().map_or(0, |f| f.shape(n, m).iter().product())
}

/// What happens to the values of a pair.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// They reach the folds.
    Counted,
    /// Beyond the cut-off: they reach no fold.
    Far,
    /// One is NaN and skipped: they reach dense results only.
    Nan,
}

/// Counts the pair, and decides whether its values reach the folds. The cut-off decides first: a
/// pair beyond it is not looked at for NaN. A distance that is NaN is not beyond.
fn admit(job: &Job, roots: &[Vec<f64>], i: usize, j: usize, tally: &mut Tally) -> Fate {
    // Not `>`: a squared distance that is NaN is not beyond the cut-off, and is dealt with as NaN.
    let far = job
        .near_root
        .zip(job.space.near_square())
        .is_some_and(|(root, limit)| !roots[root][0].le(&limit));
    if far {
        tally.far += 1;
        return Fate::Far;
    }
    let is_nan = |root: usize| roots[root].iter().any(|v| v.is_nan());
    let nan = job.meets_nan(is_nan, |root| roots[root][0]);
    if nan {
        tally.first_nan = Some(
            tally
                .first_nan
                .map_or((i as u64, j as u64), |f| f.min((i as u64, j as u64))),
        );
    }
    if nan && job.nan == NanPolicy::Skip {
        tally.nan += 1;
        return Fate::Nan;
    }
    tally.counted += 1;
    Fate::Counted
}

/// Gives the values of a pair to a fold that is not by rows: to their places, or to the state.
fn credit(job: &Job, fold: &Fold, state: &mut State, dense: &mut [f64], pair: &ValuedPair<'_>) {
    let Some(f) = fold.dense() else {
        return fold.absorb_pair(state, pair);
    };
    let (i, j) = (pair.i, pair.j);
    dense[f.place(&job.space, i, j)] = pair.scalar(f.root);
    if pair.both && f.is_mirrored(&job.space) {
        dense[f.place(&job.space, j, i)] = pair.scalar(f.root);
    }
}
