//! The row whose nearest row is the farthest, of long rows: rows meet some columns at a time, and a
//! row is left once another one is known to be farther.
//!
//! ```text
//! load:  no value is NaN, by the bounds of all rows together
//!        columns in pieces, each spread over all of them, each twice as long as the one before
//!        a few rows meet all pieces                                   → the worst of their best values
//! for each tile, for each piece of columns
//!     the rows that are left meet the piece, by the next strategy of the plan
//!     rows whose best value is below the worst that is known are done
//! rows that have met all pieces                                       → the worst that is known
//! ```
//!
//! Why this shape: most rows are done after the first piece, of 128 columns. The strategies that
//! compute many pairs at a time compute these too, and what they need of a piece is made once for many rows. A piece
//! has its columns in ascending order, so of equal values the lowest column has it, as in a sweep.

use super::parts::Load;
use super::prune::Hull;
use super::worst_row::WorstRow;
use zipfold_core::fold::nearest::{Neighbour, order};
use zipfold_core::fold::{BLOCK, NearestState, State, Tally};
use zipfold_core::pair::interval_bounds::{Bounds, hoisted_into};
use zipfold_core::{Domain, Error, Job, Result, Side, Table};
use zipfold_plan::executor::{Declined, Executor, Folded, Nowhere, Sink, Stop};
use zipfold_plan::{Plan, Strategy, Tile, parts, tiles, worst_row};

/// Rows that meet all columns first.
const FIRST: usize = 32;

/// A job whose rows are left early.
#[derive(Debug)]
pub(super) struct Farthest<'j> {
    job: &'j Job,
    /// What computes the pairs of some rows and some columns.
    plan: Plan,
    load: Load,
    pieces: Vec<Vec<u32>>,
    worst: WorstRow,
}

/// What rows have met.
struct MetRows {
    best: Vec<Option<Neighbour>>,
    /// Pairs that were computed.
    pairs: u64,
}

impl MetRows {
    /// Takes the best of `columns` columns for each of the rows that were left.
    fn take(&mut self, left: &[usize], found: Vec<Neighbour>, columns: usize) {
        self.pairs += (left.len() * columns) as u64;
        for (at, found) in left.iter().zip(found) {
            let better = |best: &Neighbour| order(&found, best).is_lt();
            if self.best[*at].as_ref().is_none_or(better) {
                self.best[*at] = Some(found);
            }
        }
    }
}

impl<'j> Farthest<'j> {
    /// Divides the columns of `job`; `load` loads some rows and columns of it.
    pub(super) fn load(
        job: &'j Job,
        plan: &Plan,
        load: Load,
    ) -> std::result::Result<Self, Declined> {
        let worst = WorstRow::of_fold(job, plan, 0).ok_or("every row has its answer")?;
        if !worst_row::in_pieces(job) {
            return Err("its rows do not meet columns in pieces");
        }
        if !all_known(job) {
            return Err("a value may be NaN");
        }
        let mut plan = plan.clone();
        plan.leaves_rows = false;
        (plan.strategies).retain(|strategy| *strategy != Strategy::Farthest);
        let farthest = Farthest {
            job,
            plan,
            load,
            pieces: pieces(job.space.m),
            worst,
        };
        let first = spread(job.space.n, FIRST.min(job.space.n));
        let met = farthest.meet(&first, false, &Nowhere, Stop::default());
        met.map_err(|_| "the first rows cannot be computed")?;
        Ok(farthest)
    }
    /// Meets the pieces, each with the rows that are left; all rows unless `leaves`.
    fn meet(&self, rows: &[u32], leaves: bool, sink: &dyn Sink, stop: Stop<'_>) -> Result<MetRows> {
        let mut met = MetRows {
            best: vec![None; rows.len()],
            pairs: 0,
        };
        let mut left: Vec<usize> = (0..rows.len()).collect();
        for piece in &self.pieces {
            stop.check()?;
            let mine: Vec<u32> = left.iter().map(|at| rows[*at]).collect();
            let found = self.nearest(&mine, piece, sink, stop)?;
            met.take(&left, found, piece.len());
            let limit = if leaves {
                self.worst.limit()
            } else {
                f64::NEG_INFINITY
            };
            left.retain(|at| met.best[*at].is_none_or(|(best, _)| best >= limit));
            if left.is_empty() {
                return Ok(met);
            }
        }
        let best = left.iter().filter_map(|at| met.best[*at]);
        best.for_each(|(best, _)| self.worst.learn(best));
        Ok(met)
    }
    /// The best of `cols` for each of `rows`.
    fn nearest(
        &self,
        rows: &[u32],
        cols: &[u32],
        sink: &dyn Sink,
        stop: Stop<'_>,
    ) -> Result<Vec<Neighbour>> {
        let part = self.job.of_rows([rows, cols], Domain::Cross)?;
        let (executor, _) = (self.load)(&part, &self.plan)?;
        let tiles = parts::tiles_within(&part, &self.plan, &(0..rows.len()));
        let mut states = vec![];
        for tile in &tiles {
            let folded = executor.run(std::slice::from_ref(tile), sink, stop)?;
            states.extend(folded.states);
        }
        let fold = &part.folds[0];
        let mut all = fold.start(rows.len(), cols.len());
        states
            .into_iter()
            .for_each(|state| fold.merge(&mut all, state));
        let State::Nearest(all) = all else {
            return Err(Error::internal("nearest rows of another fold"));
        };
        let named = |list: Vec<Neighbour>| match list.first() {
            Some((value, at)) => Ok((*value, u64::from(cols[*at as usize]))),
            None => Err(Error::internal("a row without a nearest row")),
        };
        all.into_rows().into_iter().map(named).collect()
    }
}

impl Executor for Farthest<'_> {
    fn run(&self, tiles: &[Tile], sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        let all = tiles::whole_rows(tiles, self.job.space.m)?;
        let rows: Vec<u32> = all.clone().map(|row| row as u32).collect();
        let met = self.meet(&rows, true, sink, stop)?;
        let pairs = self.job.space.count(&all, &(0..self.job.space.m));
        let tally = Tally {
            counted: pairs,
            skipped: pairs.saturating_sub(met.pairs),
            ..Tally::default()
        };
        let lists = met.best.into_iter().map(|best| best.into_iter().collect());
        let state = NearestState::of_rows(all.start, lists.collect());
        Ok(Folded {
            states: vec![State::Nearest(state)],
            tally,
        })
    }
}

/// `count` of `n` rows, spread by multiples of the golden ratio, in no relation to their order.
fn spread(n: usize, count: usize) -> Vec<u32> {
    let mut rows = shuffled(n);
    rows.truncate(count);
    rows.sort_unstable();
    rows
}

/// All of `n` rows in an order that is always the same, and in no relation to the one given: by the
/// bits of multiples of a number that is odd.
fn shuffled(n: usize) -> Vec<u32> {
    let place = |row: &u32| {
        let mixed = u64::from(*row).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32
    };
    let mut rows: Vec<u32> = (0..n as u32).collect();
    rows.sort_by_cached_key(place);
    rows
}

/// The columns in pieces.
fn pieces(m: usize) -> Vec<Vec<u32>> {
    let all = shuffled(m);
    let (mut start, mut pieces) = (0, vec![]);
    while start < m {
        let end = m.min(start + start.max(BLOCK));
        let mut piece = all[start..end].to_vec();
        piece.sort_unstable();
        pieces.push(piece);
        start = end;
    }
    pieces
}

/// The hull of the rows of a table.
fn hull(job: &Job, table: &Table, side: Side) -> Hull {
    let mut hull = Hull::empty(Bounds::coordinates(&job.low, side));
    let (mut hoister, mut row) = (job.low.hoister(side), vec![]);
    for at in 0..table.rows() {
        hoister.load(table, at);
        hoisted_into(&hoister, &job.low, side, &mut row);
        hull.add(&row);
    }
    hull
}

/// Whether bounds say that no pair has a value that is NaN: such a pair is an error or left out, and
/// must be met.
fn all_known(job: &Job) -> bool {
    let Some(mut bounds) = Bounds::new(&job.low, job.periodic_box.as_ref()) else {
        return false;
    };
    for (side, table) in [(Side::X, &job.x), (Side::Y, job.other())] {
        hull(job, table, side).bound(&mut bounds, side);
    }
    bounds.run();
    (0..job.low.formula.roots.len()).all(|root| bounds.root(root).lane(0).is_known())
}
