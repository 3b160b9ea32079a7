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
use crate::fold::row_states::{pieces, push_pieces};
use crate::fold::rows::{Reduce, ReduceAxis};
use crate::fold::runs::{self, by_number};
use crate::fold::{BLOCK, Fold, RowPiece, State, Tally, ValuedPair};
use crate::parts::KeyParts;
use crate::problem::NanPolicy;
use std::ops::Range;

/// What the oracle found.
///
/// Engines have the same states after all units are merged, so tests compare them field by field.
#[derive(Clone, Debug)]
pub struct OracleAnswer {
    /// The state of each fold; a matrix has [`crate::fold::Written`].
    pub states: Vec<State>,
    /// The values of each matrix; empty for other folds.
    pub values: Vec<Vec<f64>>,
    /// What happened to the pairs.
    pub tally: Tally,
}

pub use crate::pair_values::PairValues;

impl<'j> PairValues<'j> {
    /// Returns an evaluator of the pairs of `job`.
    pub fn new(job: &'j Job) -> Self {
        let tables = [&job.x, job.other()];
        PairValues::of_tables(tables, &job.low, job.periodic_box.as_ref())
    }
}

/// Computes `job` pair by pair.
///
/// O(n·m) evaluations in one thread: problems of tests have a few hundred rows.
///
/// # Errors
/// `Request` when the space is too large to count.
pub fn run(job: &Job) -> Result<OracleAnswer> {
    if let Some(parts) = &job.parts {
        return by_parts(job, parts);
    }
    let (n, m) = (job.space.n, job.space.m);
    let mut oracle = Evaluation::new(job);
    // Blocks in canonical order, so that even float sums have the bits that backends must give.
    for ib in 0..n.div_ceil(BLOCK) {
        for jb in 0..m.div_ceil(BLOCK) {
            let rows = ib * BLOCK..((ib + 1) * BLOCK).min(n);
            let cols = jb * BLOCK..((jb + 1) * BLOCK).min(m);
            oracle.block([ib, jb], rows, &cols);
        }
    }
    let folds = job.folds.iter().zip(&mut oracle.answer.states);
    folds.for_each(|(fold, state)| fold.close(state, None));
    Ok(oracle.answer)
}

/// Computes a question about groups: each part is a question of its own.
fn by_parts(job: &Job, parts: &KeyParts) -> Result<OracleAnswer> {
    let (n, m) = (job.space.n, job.space.m);
    let mut all = OracleAnswer {
        states: job.folds.iter().map(|f| f.start(n, m)).collect(),
        values: vec![vec![]; job.folds.len()],
        tally: Tally::default(),
    };
    for at in 0..parts.list.len() {
        let answer = run(&job.part(parts, at)?)?;
        let (states, tally) = job.of_part(parts, at, answer.states, answer.tally);
        for ((fold, into), from) in job.folds.iter().zip(&mut all.states).zip(states) {
            fold.merge(into, from);
        }
        all.tally.merge(&tally);
    }
    Ok(all)
}

/// A computation half done.
struct Evaluation<'j> {
    job: &'j Job,
    /// Whether (i, j) also means (j, i).
    half: bool,
    pair: PairValues<'j>,
    /// The numbers of each root of the pair at hand.
    roots: Vec<Vec<f64>>,
    answer: OracleAnswer,
}

/// What a fold by rows collects of a block, credited to its rows and to its columns; none of other
/// folds. They are merged when the block ends, which is what fixes the grouping of sums.
type Pieces = Vec<Option<[RowPiece; 2]>>;

impl<'j> Evaluation<'j> {
    fn new(job: &'j Job) -> Self {
        let (n, m) = (job.space.n, job.space.m);
        let matrix = |f: &Fold| vec![f64::NAN; dense_len(f, n, m)];
        Evaluation {
            job,
            half: job.space.is_triangular(),
            pair: PairValues::new(job),
            roots: vec![],
            answer: OracleAnswer {
                states: job.folds.iter().map(|f| f.start(n, m)).collect(),
                values: job.folds.iter().map(matrix).collect(),
                tally: Tally::default(),
            },
        }
    }
    /// Visits one block. Folds by row collect it in pieces of their own, as every engine does.
    fn block(&mut self, [ib, jb]: [usize; 2], rows: Range<usize>, cols: &Range<usize>) {
        let mut pieces = pieces(&self.job.folds, &rows, cols, self.half);
        for i in rows {
            self.row(i, cols, &mut pieces);
        }
        let made = pieces.into_iter().enumerate();
        let made = made.filter_map(|(at, pieces)| Some((at, ib, jb, pieces?)));
        push_pieces(&self.job.folds, &mut self.answer.states, made.collect(), 1);
    }
    /// Visits the pairs of row `i` in a block. Folds by rows take runs of consecutive columns, as
    /// engines give them: the order of additions in a run is part of the definition.
    fn row(&mut self, i: usize, cols: &Range<usize>, pieces: &mut Pieces) {
        let job = self.job;
        let mut runs: Vec<ColumnRun> = vec![(cols.start, vec![]); job.folds.len()];
        // The space says which columns: from i + 1 on in a triangle, all but i where the order
        // counts.
        for j in job.space.columns(i, cols).into_iter().flatten() {
            self.pair.get(i, j, &mut self.roots);
            // Once per pair, for all folds: they share the tally.
            let fate = admit(job, &self.roots, i, j, &mut self.answer.tally);
            if fate != Fate::Far {
                self.fold((i, j), fate == Fate::Nan, &mut runs, pieces);
            }
        }
        // A run ends with its block, even if the next block goes on with the next column.
        for ((fold, run), pieces) in job.folds.iter().zip(&mut runs).zip(pieces) {
            if let (Fold::Reduce(f), Some(pieces)) = (fold, pieces) {
                flush(run, (f, self.half), pieces, i);
            }
        }
    }
    /// Gives the values of pair (i, j) to every fold that sees them.
    fn fold(
        &mut self,
        (i, j): (usize, usize),
        is_nan: bool,
        runs: &mut [ColumnRun],
        pieces: &mut Pieces,
    ) {
        for (at, fold) in self.job.folds.iter().enumerate() {
            // A matrix shows NaN where it is; other folds do not get to see it if it is skipped.
            if is_nan && !fold.is_dense() {
                continue;
            }
            if let (Fold::Reduce(f), Some(pieces)) = (fold, pieces[at].as_mut()) {
                let value = &self.roots[f.root];
                lengthen(&mut runs[at], (f, self.half), pieces, (i, j), value);
                continue;
            }
            let pair = ValuedPair {
                i,
                j,
                // (i, j) also means (j, i), and a row paired with itself is one pair.
                both: self.half && i != j,
                roots: &self.roots,
            };
            let OracleAnswer { states, values, .. } = &mut self.answer;
            credit(self.job, fold, &mut states[at], &mut values[at], &pair);
        }
    }
}

/// The first column of a run, and its values: as many numbers each as the fold is wide.
type ColumnRun = (usize, Vec<f64>);

/// Adds a value to the run of row `i`. The run ends where a column is left out. Engines cut runs at
/// the same places, because a value that is left out takes no part in a sum.
fn lengthen(
    run: &mut ColumnRun,
    fold: (&Reduce, bool),
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
fn flush(
    run: &mut ColumnRun,
    (fold, half): (&Reduce, bool),
    pieces: &mut [RowPiece; 2],
    row: usize,
) {
    let (first, len) = (run.0, run.1.len() / fold.width.max(1));
    if len > 0 {
        // From pair by pair to number by number.
        let part = |part| run.1.iter().copied().skip(part).step_by(fold.width);
        let values: Vec<f64> = (0..fold.width).flat_map(part).collect();
        let mut weights = vec![];
        if half || fold.axis != ReduceAxis::Column {
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
///
/// The three cases are the three counts of [`Tally`], which add up to the pairs visited.
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
        .cutoff_root
        .zip(job.space.cutoff_squared())
        .is_some_and(|(root, limit)| !roots[root][0].le(&limit));
    if far {
        tally.beyond_cutoff += 1;
        return Fate::Far;
    }
    let is_nan = |root: usize| roots[root].iter().any(|v| v.is_nan());
    let nan = job.meets_nan(is_nan, |root| roots[root][0]);
    if nan {
        // The smallest pair, as `Tally::merge` picks it for threads.
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
    // In f64, also for jobs of single precision: the comparison rounds.
    dense[f.place(&job.space, i, j)] = pair.scalar(f.root);
    if pair.both && f.is_mirrored(&job.space) {
        dense[f.place(&job.space, j, i)] = pair.scalar(f.root);
    }
}
