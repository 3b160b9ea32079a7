//! Folds of the rows in a grid of cells: folds by row over the columns within a cut-off, in the
//! order given, and histograms.
//!
//! ```text
//! a histogram: binned.rs
//! for each group of sorted rows that share a cell
//!     found = the rows of y in the cells around it, ascending                  grid.rs
//!     for some rows of the group, for each chunk of found
//!         gather the rows of x, and the chunk as strips of y
//!         for each block of 128 columns, for each row
//!             values = evaluator(row, block)
//!             list of the row += columns within the cut-off, their values
//!     for each row
//!         NaN: note the first, leave them out if they are skipped
//!         fold the list as a sparse row of the whole domain                    core/fold/sparse.rs
//!         tally: counted, beyond the cut-off, never looked at
//! ```
//!
//! Why this shape: a sum has the bits of a sweep only if its terms come in the order of the columns
//! as given. `found` is ascending, so a list is, and the fold adds its terms block by block with
//! zeros in between. Rows of a cell share `found`, and the gathered strips serve several rows.

use super::binned::Binned;
use super::cutoff::{BLOCKS, CutoffGrid, ROWS};
use crate::pairs::vm::{Scratch, Vm};
use std::ops::Range;
use zipfold_core::fold::{BLOCK, Fold, OtherRows, ReduceState, RowPiece, SparseRow, State, Tally};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Domain, Result};
use zipfold_plan::executor::{Executor, Folded, Sink, Stop};
use zipfold_plan::{Tile, tiles};

impl Executor for CutoffGrid<'_> {
    fn order(&self) -> Option<&[u32]> {
        Some(self.grid.order())
    }
    fn run(&self, tiles: &[Tile], _sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        if let [Fold::Histogram(fold)] = self.job.folds.as_slice() {
            return Binned::run(self, fold, tiles, stop);
        }
        let mut walk = Walk::new(self, tiles::rows(tiles));
        self.groups(tiles, stop, |rows| walk.group(rows))?;
        let states = walk
            .pieces
            .into_iter()
            .map(|piece| State::Reduce(ReduceState::of_piece(piece)));
        Ok(Folded {
            states: states.collect(),
            tally: walk.tally,
        })
    }
}

/// Columns within the cut-off of a row, and their values.
#[derive(Clone, Debug, Default)]
struct List {
    columns: Vec<u32>,
    /// By number of all roots.
    values: Vec<Vec<f64>>,
}

/// One batch on its way.
struct Walk<'e, 'j> {
    engine: &'e CutoffGrid<'j>,
    vm: Vm<'j, f64>,
    scratch: Scratch<f64>,
    /// By fold.
    sparse: Vec<SparseRow<'j>>,
    pieces: Vec<RowPiece>,
    tally: Tally,
    found: Vec<u32>,
    lists: Vec<List>,
    /// Columns that a row leaves out.
    gaps: Vec<u32>,
}

impl<'e, 'j> Walk<'e, 'j> {
    fn new(engine: &'e CutoffGrid<'j>, rows: Range<usize>) -> Self {
        let job = engine.job;
        let vm = engine.vm();
        let scratch = vm.scratch();
        let by_row = || {
            job.folds.iter().filter_map(|f| {
                if let Fold::Reduce(f) = f {
                    Some(f)
                } else {
                    None
                }
            })
        };
        let list = List {
            columns: vec![],
            values: vec![vec![]; scratch.numbers()],
        };
        Walk {
            engine,
            vm,
            scratch,
            sparse: by_row()
                .map(|f| SparseRow::new(f, job.space.is_triangular()))
                .collect(),
            pieces: by_row()
                .map(|f| RowPiece::new(f, rows.start, rows.len()))
                .collect(),
            tally: Tally::default(),
            found: vec![],
            lists: vec![list; ROWS],
            gaps: vec![],
        }
    }
    /// Sorted rows of one cell.
    fn group(&mut self, rows: Range<usize>) {
        let mut found = std::mem::take(&mut self.found);
        self.engine.grid.around(&rows, &mut found);
        let together = (zipfold_plan::prune::NEAR_TOGETHER / found.len().max(1)).clamp(1, ROWS);
        for start in rows.clone().step_by(together) {
            let rows = start..rows.end.min(start + together);
            self.vm.x.take(
                &self.engine.x.values,
                &self.engine.grid.order()[rows.clone()],
            );
            for columns in found.chunks(BLOCKS * BLOCK) {
                self.vm.y.take_in_strips(&self.engine.y.values, columns);
                self.scratch.forget(0);
                for (block, columns) in columns.chunks(BLOCK).enumerate() {
                    for row in 0..rows.len() {
                        self.vm.eval(
                            &mut self.scratch,
                            row,
                            rows.len(),
                            block,
                            &(0..columns.len()),
                        );
                        self.collect(row, self.engine.grid.order()[rows.start + row], columns);
                    }
                }
            }
            for row in rows.clone() {
                self.fold(row, row - rows.start, found.len() as u64);
            }
        }
        self.found = found;
    }
    /// Writes the lanes of a row within the cut-off, or without one those whose values are not all
    /// zero, and returns how many they are.
    fn within(&self, row: u32, columns: &[u32], lanes: &mut [u8; BLOCK + 1]) -> usize {
        let mut count = 0;
        let own = self.engine.space.domain == Domain::Ordered;
        if let Some((root, limit)) = self.engine.limit {
            let squares = &self.scratch.root(root)[0][..columns.len()];
            for (lane, (square, column)) in squares.iter().zip(columns).enumerate() {
                lanes[count] = lane as u8;
                count += usize::from(*square <= limit && !(own && *column == row));
            }
            return count;
        }
        let numbers = self.scratch.all();
        for (lane, column) in columns.iter().enumerate() {
            lanes[count] = lane as u8;
            let some = numbers
                .iter()
                .fold(false, |some, values| some | (values[lane] != 0.0));
            count += usize::from(some && !(own && *column == row));
        }
        count
    }
    /// Keeps the values of a row within the cut-off.
    fn collect(&mut self, at: usize, row: u32, columns: &[u32]) {
        // Every lane is written where the next one within the cut-off goes.
        let mut lanes = [0u8; BLOCK + 1];
        let count = self.within(row, columns, &mut lanes);
        let list = &mut self.lists[at];
        let lanes = &lanes[..count];
        list.columns
            .extend(lanes.iter().map(|lane| columns[usize::from(*lane)]));
        for (to, from) in list.values.iter_mut().zip(self.scratch.all()) {
            to.extend(lanes.iter().map(|lane| from[usize::from(*lane)]));
        }
    }
    /// Folds what sorted `row` keeps in list `at`, of this many columns that were looked at.
    fn fold(&mut self, row: usize, at: usize, looked: u64) {
        let engine = self.engine;
        let list = &mut self.lists[at];
        let all = engine
            .job
            .space
            .count(&(row..row + 1), &(0..engine.job.space.m));
        let before = self.tally.nan;
        self.gaps.clear();
        note_nan(engine, row, list, &mut self.tally, &mut self.gaps);
        let own = engine.grid.order()[row] as usize;
        let firsts = self.scratch.firsts();
        let walked = engine.space.count(&(row..row + 1), &(0..engine.space.m));
        let zeros = walked - list.columns.len() as u64 - self.gaps.len() as u64;
        if engine.space.domain == Domain::Ordered {
            let at = self.gaps.partition_point(|gap| (*gap as usize) < own);
            self.gaps.insert(at, own as u32);
        }
        let others = if engine.limit.is_some() {
            OtherRows::Absent
        } else {
            OtherRows::Zeros(&self.gaps, zeros)
        };
        for (sparse, piece) in self.sparse.iter_mut().zip(&mut self.pieces) {
            let (fold, first) = (sparse.row_fold(), firsts[sparse.row_fold().root]);
            piece.put(
                fold,
                row,
                sparse.fold(own, &list.columns, others, |part| {
                    &list.values[first + part]
                }),
            );
        }
        let nan = self.tally.nan - before;
        let counted = match engine.limit {
            Some(_) => {
                let columns = list.columns.iter();
                columns
                    .filter(|column| engine.counts(row, **column))
                    .count() as u64
            }
            None => all - nan,
        };
        note_counts(engine, &mut self.tally, [all, counted, nan], looked);
        list.columns.clear();
        list.values.iter_mut().for_each(Vec::clear);
    }
}

/// Adds the pairs of a row to the tally: `all`, the `counted` ones and the `nan` ones, after
/// `looked` columns were looked at.
fn note_counts(
    engine: &CutoffGrid<'_>,
    tally: &mut Tally,
    [all, counted, nan]: [u64; 3],
    looked: u64,
) {
    let far = all - counted - nan;
    let looked = if engine.job.space.is_triangular() {
        looked / 2
    } else {
        looked
    };
    tally.counted += counted;
    tally.beyond_cutoff += far;
    let unseen = all - looked.min(all);
    tally.skipped += if engine.limit.is_some() {
        far.min(unseen)
    } else {
        unseen
    };
}

/// Notes values that are NaN, and leaves them out where they are to be skipped.
fn note_nan(
    engine: &CutoffGrid<'_>,
    row: usize,
    list: &mut List,
    tally: &mut Tally,
    gaps: &mut Vec<u32>,
) {
    let any_nan = |v: &Vec<f64>| v.iter().fold(false, |any, v| any | v.is_nan());
    if !list.values.iter().any(any_nan) {
        return;
    }
    let is_nan = |at: usize| list.values.iter().any(|v| v[at].is_nan());
    let nan: Vec<bool> = (0..list.columns.len()).map(is_nan).collect();
    let skip = engine.job.nan == NanPolicy::Skip;
    for (column, _) in list
        .columns
        .iter()
        .zip(&nan)
        .filter(|(column, nan)| **nan && engine.counts(row, **column))
    {
        let (i, j) = (u64::from(engine.grid.order()[row]), u64::from(*column));
        let pair = if engine.job.space.is_triangular() {
            (i.min(j), i.max(j))
        } else {
            (i, j)
        };
        tally.note_nan(pair);
        tally.nan += u64::from(skip);
    }
    if skip {
        list.leave_out(&nan, gaps);
    }
}

impl List {
    /// Takes the columns out that are NaN, and adds them to `gaps`.
    fn leave_out(&mut self, nan: &[bool], gaps: &mut Vec<u32>) {
        let columns = self.columns.iter().zip(nan);
        gaps.extend(columns.filter(|(_, nan)| **nan).map(|(column, _)| *column));
        let mut kept = nan.iter();
        self.columns.retain(|_| kept.next() == Some(&false));
        for values in &mut self.values {
            let mut kept = nan.iter();
            values.retain(|_| kept.next() == Some(&false));
        }
    }
}
