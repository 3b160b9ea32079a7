//! Runs tiles: evaluates blocks of pairs and hands runs of values to the folds.
//!
//! ```text
//! for each tile
//!     a plain matrix whose code makes lines (`lines`):
//!         for a few rows, for each line of several blocks of columns
//!             line = code(rows, columns); put its visited runs                  next tile
//!     for each block of 128 × 128 pairs, in the order of the plan
//!         sums without values (`sum`), once for all whole blocks of the tile in a span:
//!             totals by row, number and lane = code; credit them           a bit for each row done
//!         all rows done: next block
//!         fill: the recognised reductions of the whole block                    reductions.rs
//!         for each row that is left, for each run of visited columns
//!             values of all roots = evaluator(row, block)                       vm.rs
//!             matrices: put the run, keep its transpose if the matrix is symmetric
//!             admit: split the run at pairs beyond the cut-off and at NaN that are skipped
//!             for each fold: absorb the line of values
//!         put the transposed block of symmetric matrices
//!     push the pieces of sums in canonical order
//! ```
//!
//! Why this shape: the formula runs once for a block, and all folds read the values from the
//! nearest cache. A block has 128 columns, so its columns are the bits of one `u128`: pairs that
//! are left out are bits, not branches. Sums need no values, and leave registers as totals only.
//! They are pieces with the number of their block, so that the order of blocks, which the plan
//! chooses, changes no bit.

use super::code::{code_for, compiled};
use super::gather::{Gather, SpareBuffers};
use super::lanes::{Lanes, Real};
use super::program::{Program, compile};
use super::reductions::{self, Element, PackedReductions};
use super::rows::Rows;
use super::sums;
use super::vm::{Scratch, Vm};
use crate::jit::{self, Code, Results};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use zipfold_core::fold::row_states::{BlockPieces, pieces, push_pieces};
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::runs::by_number;
use zipfold_core::fold::{BLOCK, Fold, Lent, Line, Reduce, RowPiece, State, Tally};
use zipfold_core::problem::NanPolicy;
use zipfold_core::{Domain, Job, Result, Side};
use zipfold_plan::executor::{Declined, Executor, Folded, Sink, Stop};
use zipfold_plan::tiles::credited;
use zipfold_plan::{Order, Plan, Tile};
use zipfold_vector::simd::Isa;
use zipfold_vector::simd::Kernel;

/// All pairs of a job, block by block: rows hoisted, program compiled.
#[derive(Debug)]
pub struct Engine<'j, T> {
    job: &'j Job,
    vm: Vm<'j, T>,
    reductions: Option<PackedReductions<T>>,
    traversal: Order,
    kept: SpareBuffers<T>,
}

impl<'j, T: Element> Engine<'j, T> {
    /// Hoists the rows of `job`; packs the ones that are reduced where they are to be `packed`, and
    /// has `code` made for the formula.
    pub fn load(
        job: &'j Job,
        plan: &Plan,
        packed: bool,
        code: bool,
    ) -> std::result::Result<Self, Declined> {
        let low = &job.low;
        let program = compile(low);
        // The rows of y one after another, too, where kernels want them packed: those of x, if
        // nothing tells the sides apart.
        let own = packed && job.y.is_none() && low.is_mirrored();
        let (reductions, x, made) = packed_rows(job, &program, packed, own);
        if packed && reductions.is_none() {
            return Err("no reduction of these rows has a kernel of packed rows");
        }
        let other = made.as_ref().unwrap_or(&x);
        let codes = Codes::new(job, plan, &program, packed, code)?;
        let weights = codes.weights.as_ref().map(|weights| weights.0.as_slice());
        let lanes = if codes.values.is_some() {
            jit::lanes::<T>(plan.isa)
        } else {
            BLOCK
        };
        let vectors = !packed || program.reads_vectors();
        let y = match vectors {
            true => Rows::by_strip(low, job.other(), lanes, weights),
            false => Rows::numbers(other, job.other().rows(), weights),
        };
        let vm = Vm {
            low,
            program,
            x,
            y,
            periodic_box: job.periodic_box.as_ref(),
            isa: plan.isa,
            unit: codes.weights.map_or(1.0, |weights| weights.1),
            code: codes.values,
            lines: codes.lines,
            sums: codes.sums,
        };
        Ok(Engine {
            job,
            vm,
            reductions,
            traversal: plan.order,
            kept: SpareBuffers::default(),
        })
    }
}

impl<T: Element> Engine<'_, T> {
    /// Blocks of columns that are added one after another: as many as compiled code adds at once.
    fn leaf(&self) -> usize {
        match self.vm.sums {
            Some(_) => sums::span::<T>(),
            None => 1,
        }
    }
}

/// What the kernels of packed rows reduce, where they are to be `packed`; the rows of x; and those
/// of y one after another, unless they are its `own`.
fn packed_rows<T: Element>(
    job: &Job,
    program: &Program,
    packed: bool,
    own: bool,
) -> (Option<PackedReductions<T>>, Rows<T>, Option<Rows<T>>) {
    let low = &job.low;
    if packed
        && let Some((reductions, x, made)) = PackedReductions::computed(low, program, job, own)
    {
        return (Some(reductions), x, made);
    }
    let x = Rows::by_row(low, &job.x, Side::X, true);
    let made = (packed && !own).then(|| Rows::by_row(low, job.other(), Side::Y, true));
    let other = made.as_ref().unwrap_or(&x);
    // Of finite rows no difference is NaN.
    let clean = || x.is_finite() && other.is_finite();
    let reductions = packed.then(|| PackedReductions::pack(low, program, &x, other, clean));
    (reductions.flatten(), x, made)
}

impl<T: Element> Executor for Engine<'_, T> {
    fn run(&self, tiles: &[Tile], sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        let mut batch = Batch::new(self, tiles, stop);
        let longest = tiles
            .iter()
            .map(|t| t.rows.len().max(t.cols.len()))
            .max()
            .unwrap_or(0);
        let gather = sink
            .gathers()
            .then(|| Gather::<T>::new(sink, longest, &self.kept));
        for tile in tiles {
            match &gather {
                Some(gather) => batch.tile(tile, gather).and_then(|()| gather.flush())?,
                None => batch.tile(tile, sink)?,
            }
            if tile.cols == (0..self.job.space.m) {
                let folds = self.job.folds.iter().zip(&mut batch.states);
                folds.for_each(|(fold, state)| fold.settle(state, &tile.rows));
            }
        }
        if let Some(gather) = gather {
            gather.end(&self.kept);
        }
        super::store::settle();
        Ok(Folded {
            states: batch.states,
            tally: batch.tally,
        })
    }
}

/// The machine code made for a formula, none where it runs step by step.
struct Codes<T> {
    /// Of values.
    values: Option<Arc<Code<T>>>,
    /// Of lines of a plain matrix.
    lines: Option<Arc<Code<T>>>,
    /// Of sums by row.
    sums: Option<Arc<Code<T>>>,
    /// The weights that sums multiply values by, in whole numbers of a unit.
    weights: Option<(Vec<f64>, f64)>,
}

impl<T: Element> Codes<T> {
    fn new(
        job: &Job,
        plan: &Plan,
        program: &Arc<Program>,
        packed: bool,
        code: bool,
    ) -> std::result::Result<Self, Declined> {
        if !code {
            return Ok(Codes {
                values: None,
                lines: None,
                sums: None,
                weights: None,
            });
        }
        let low = &job.low;
        let values =
            compiled(plan, low, program, packed).ok_or("no code can be made for the formula")?;
        let adds = !job.holes && sums::serve::<T>(job);
        let weights = adds.then(|| sums::weights::<T>(job).map(sums::scaled::<T>));
        let weights = weights.flatten();
        let added = if weights.is_some() {
            Results::WeightedSums
        } else {
            Results::Sums
        };
        let make = |wanted: bool, results| {
            wanted.then(|| code_for(plan, low, program, packed, results))?
        };
        Ok(Codes {
            values: Some(values),
            lines: make(!packed && is_plain(job), Results::Lines),
            sums: make(adds, added),
            weights,
        })
    }
}

/// Whether a matrix takes every value as it comes, of a pair of points in open space, and nothing
/// else is requested.
fn is_plain(job: &Job) -> bool {
    let [Fold::Dense(fold)] = job.folds.as_slice() else {
        return false;
    };
    job.cutoff_root.is_none()
        && job.nan != NanPolicy::Skip
        && job.periodic_box.is_none()
        && !fold.is_mirrored(&job.space)
}

/// From one line of a transposed block to the next: lines a power of two apart would share few
/// places of the nearest cache.
const MIRROR: usize = BLOCK + 16;

/// One batch in progress.
struct Batch<'e, 'j, T> {
    engine: &'e Engine<'j, T>,
    stop: Stop<'e>,
    scratch: Scratch<T>,
    states: Vec<State>,
    tally: Tally,
    pieces: Vec<Option<[RowPiece; 2]>>,
    made: Vec<BlockPieces>,
    /// Of folds by rows the weights of the block's columns, number after number, where there are
    /// several.
    weights: Vec<Vec<f64>>,
    /// Columns of the tile.
    columns: Range<usize>,
    /// Of the first row of a block and a span of blocks of columns: which rows are summed, a bit
    /// each.
    summed: HashMap<(usize, usize), u128>,
    mirror: Vec<Vec<T>>,
    totals: Vec<f64>,
    held: u64,
    /// Values in double precision, as folds take them.
    wide: Lanes<f64>,
}

impl<'e, 'j, T: Element> Batch<'e, 'j, T> {
    fn new(engine: &'e Engine<'j, T>, tiles: &[Tile], stop: Stop<'e>) -> Self {
        let job = engine.job;
        let credited = credited(&job.space, tiles);
        let mut scratch = engine.vm.scratch();
        if let Some(reductions) = &engine.reductions {
            scratch.reductions = reductions.buffers();
        }
        let mirrored = |fold: &Fold| fold.dense().is_some_and(|f| f.is_mirrored(&job.space));
        Batch {
            engine,
            stop,
            scratch,
            states: job.folds.iter().map(|fold| fold.part(&credited)).collect(),
            tally: Tally::default(),
            pieces: vec![],
            made: vec![],
            weights: vec![vec![]; job.folds.len()],
            columns: 0..0,
            summed: HashMap::new(),
            totals: vec![],
            held: 0,
            wide: [0.0; BLOCK],
            mirror: job
                .folds
                .iter()
                .map(|f| {
                    if mirrored(f) {
                        vec![T::default(); BLOCK * MIRROR]
                    } else {
                        vec![]
                    }
                })
                .collect(),
        }
    }
    fn tile(&mut self, tile: &Tile, sink: &dyn Sink) -> Result<()> {
        if let Some(code) = &self.engine.vm.lines {
            return self.lines(code, tile, sink);
        }
        // Pieces are put in canonical order after, regardless of the order of blocks.
        self.columns = tile.cols.clone();
        self.summed.clear();
        for ((ib, jb), Tile { rows, cols }) in tile.blocks(self.engine.traversal) {
            self.block(jb, &rows, &cols, sink)?;
            let pieces = std::mem::take(&mut self.pieces);
            self.made.extend(
                pieces
                    .into_iter()
                    .enumerate()
                    .filter_map(|(f, p)| p.map(|p| (f, ib, jb, p))),
            );
        }
        let (folds, made) = (&self.engine.job.folds, std::mem::take(&mut self.made));
        push_pieces(folds, &mut self.states, made, self.engine.leaf());
        Ok(())
    }
    /// A tile of a plain matrix, by lines of several blocks of columns of a few rows.
    fn lines(&mut self, code: &Code<T>, tile: &Tile, sink: &dyn Sink) -> Result<()> {
        let job = self.engine.job;
        let (long, rows) = (jit::line(size_of::<T>()), code.rows());
        for first in tile.rows.clone().step_by(rows) {
            let rows = first..tile.rows.end.min(first + rows);
            self.stop.check()?;
            for start in (tile.cols.start / BLOCK * BLOCK..tile.cols.end).step_by(long) {
                let cols = start.max(tile.cols.start)..tile.cols.end.min(start + long);
                if job.space.is_empty(&rows, &cols) {
                    continue;
                }
                self.engine
                    .vm
                    .line(&mut self.scratch, &rows, start / BLOCK, cols.end - start);
                for i in rows.clone() {
                    self.unvisited(i, &cols, sink)?;
                    for run in job
                        .space
                        .columns(i, &cols)
                        .into_iter()
                        .filter(|run| !run.is_empty())
                    {
                        let values =
                            &self.scratch.line(i - rows.start)[run.start - start..run.end - start];
                        if let Some(fold) = job.folds[0].dense() {
                            sink.put(0, fold.place(&job.space, i, run.start), T::values(values))?;
                        }
                        self.tally.counted += run.len() as u64;
                    }
                }
            }
        }
        Ok(())
    }
    fn block(
        &mut self,
        jb: usize,
        rows: &Range<usize>,
        cols: &Range<usize>,
        sink: &dyn Sink,
    ) -> Result<()> {
        let job = self.engine.job;
        if job.space.is_empty(rows, cols) {
            return Ok(());
        }
        let summed = if !job.space.is_whole(rows, cols) {
            0
        } else {
            self.sum(jb, rows, cols)?
        };
        if summed.count_ones() as usize == rows.len() {
            return Ok(());
        }
        self.pieces = pieces(&job.folds, rows, cols, job.space.is_triangular());
        for (fold, weights) in job.folds.iter().zip(&mut self.weights) {
            if let Fold::Reduce(f) = fold
                && f.weight_width > 1
                && (job.space.is_triangular() || f.axis != ReduceAxis::Column)
            {
                by_number(f, cols, weights);
            }
        }
        self.fill(rows, cols);
        for i in rows.clone().filter(|i| summed >> (i - rows.start) & 1 == 0) {
            self.stop.check()?;
            self.unvisited(i, cols, sink)?;
            // In half of a space, and in a band, the columns of later rows begin later, never
            // earlier; those of rows that are evaluated together end with the last of them.
            let together = i..rows.end.min(i + self.engine.vm.together(&self.scratch));
            let met = job.space.met(&together);
            let from = met.start.clamp(cols.start, cols.end);
            let end = met.end.clamp(from, cols.end);
            let lanes = from - jb * BLOCK..end - jb * BLOCK;
            for run in job.space.columns(i, cols) {
                if !run.is_empty() {
                    self.engine
                        .vm
                        .eval(&mut self.scratch, i, rows.end, jb, &lanes);
                    self.dense(i, jb, &run, sink)?;
                    self.admit(i, jb, &run);
                }
            }
        }
        self.hold_grown(sink)?;
        self.put_mirror(jb, rows, cols, sink)
    }
    /// Asks for the memory by which the states have grown.
    fn hold_grown(&mut self, sink: &dyn Sink) -> Result<()> {
        let folds = self.engine.job.folds.iter().zip(&self.states);
        let bytes = folds.map(|(fold, state)| fold.grown(state)).sum::<u64>();
        match bytes > self.held {
            true => sink.grown(&mut self.states, [bytes, 0], &mut self.held),
            false => Ok(()),
        }
    }
    /// Sums without values in between: of all whole blocks of the tile in the span of block `jb`,
    /// when the first of them is met. Which rows are done, a bit each.
    fn sum(&mut self, jb: usize, rows: &Range<usize>, cols: &Range<usize>) -> Result<u128> {
        let engine = self.engine;
        if engine.vm.sums.is_none() || cols.len() < BLOCK {
            return Ok(0);
        }
        let span = jb / sums::span::<T>();
        if let Some(done) = self.summed.get(&(rows.start, span)) {
            return Ok(*done);
        }
        let (first, end) = (span * sums::span::<T>(), (span + 1) * sums::span::<T>());
        let blocks = first.max(self.columns.start / BLOCK)..end.min(self.columns.end / BLOCK);
        let parts = self.whole(rows, &blocks);
        let count = parts[0].len() + parts[1].len();
        // The first block may be cut, and its pairs are a piece of their own then.
        let first = parts.iter().find(|part| !part.is_empty());
        let first = first.map_or(blocks.start, |part| part.start);
        self.add_up(rows, parts)?;
        let mut pieces = pieces(&engine.job.folds, rows, &(0..0), false);
        let done = self.credit_rows(&mut pieces, rows, count);
        let made = pieces.into_iter().enumerate();
        self.made
            .extend(made.filter_map(|(f, p)| p.map(|p| (f, rows.start / BLOCK, first, p))));
        self.summed.insert((rows.start, span), done);
        Ok(done)
    }
    /// The blocks of which `rows` meet every column: those before the block of a diagonal that is
    /// not visited, and those behind it.
    fn whole(&self, rows: &Range<usize>, blocks: &Range<usize>) -> [Range<usize>; 2] {
        let space = &self.engine.job.space;
        let inside = space.inside(rows);
        let end = blocks.end.min(inside.end / BLOCK);
        let start = blocks.start.max(inside.start.div_ceil(BLOCK)).min(end);
        let columns = |block: usize| block * BLOCK..(block + 1) * BLOCK;
        let hole = (start..end).find(|block| !space.is_whole(rows, &columns(*block)));
        let hole = hole.unwrap_or(end);
        [start..hole, (hole + 1).min(end)..end]
    }
    /// Credits all rows together, or else the ones that can be; a bit for each that is done.
    fn credit_rows(
        &mut self,
        pieces: &mut [Option<[RowPiece; 2]>],
        rows: &Range<usize>,
        count: usize,
    ) -> u128 {
        if self.credit(pieces, rows.start, 0..rows.len(), count) {
            return u128::MAX >> (BLOCK - rows.len());
        }
        let mut done = 0;
        for at in 0..rows.len() {
            let credited = self.credit(pieces, rows.start, at..at + 1, count);
            done |= u128::from(credited) << at;
        }
        done
    }
    /// Finds the totals of `rows` over the blocks of some parts.
    #[inline(always)]
    fn add_up(&mut self, rows: &Range<usize>, parts: [Range<usize>; 2]) -> Result<()> {
        let engine = self.engine;
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let together = if engine.reductions.is_some() {
                1
            } else {
                part.len()
            };
            for block in part.step_by(together) {
                self.stop.check()?;
                self.fill(rows, &(block * BLOCK..(block + 1) * BLOCK));
                engine
                    .vm
                    .sum(&mut self.scratch, rows, &(block..block + together));
            }
        }
        let len = rows.len() * self.scratch.numbers() * sums::lanes::<T>();
        let isa = reductions::isa(engine.vm.isa);
        sums::totals(isa, &mut self.scratch.sums()[..len], &mut self.totals);
        let unit = engine.vm.unit;
        self.totals.iter_mut().for_each(|total| *total *= unit);
        Ok(())
    }
    /// Credits the totals of rows `at` from row `start` against this many blocks; whether it could
    /// be done.
    fn credit(
        &mut self,
        pieces: &mut [Option<[RowPiece; 2]>],
        start: usize,
        at: Range<usize>,
        blocks: usize,
    ) -> bool {
        let (firsts, numbers) = (self.scratch.firsts(), self.scratch.numbers());
        let totals = &self.totals[at.start * numbers..at.end * numbers];
        let done = sums::credit(
            self.engine.job,
            pieces,
            firsts,
            start + at.start,
            totals,
            blocks * BLOCK,
        );
        self.tally.counted += if done {
            (blocks * BLOCK * at.len()) as u64
        } else {
            0
        };
        done
    }
    /// Computes the recognised reductions of a block of pairs.
    fn fill(&mut self, rows: &Range<usize>, cols: &Range<usize>) {
        if let Some(reductions) = &self.engine.reductions {
            self.scratch.forget(rows.start);
            reductions.fill(
                reductions::isa(self.engine.vm.isa),
                rows,
                cols,
                &mut self.scratch.reductions,
            );
        }
    }
    /// A pair of the diagonal that is not visited is NaN in a matrix.
    fn unvisited(&self, i: usize, cols: &Range<usize>, sink: &dyn Sink) -> Result<()> {
        let job = self.engine.job;
        if !matches!(job.space.domain, Domain::Triangle | Domain::Ordered) || !cols.contains(&i) {
            return Ok(());
        }
        let dense = job
            .folds
            .iter()
            .enumerate()
            .filter_map(|(at, fold)| Some((at, fold.dense()?)));
        let mut matrices = dense.filter(|(_, f)| !f.condensed);
        matrices.try_for_each(|(at, f)| {
            sink.put(
                at,
                f.place(&job.space, i, i),
                T::values(&[T::rounded(f64::NAN)]),
            )
        })
    }
    /// The lanes beyond the cut-off become NaN.
    fn without_far(&self, lanes: &[T], from: usize) -> Option<Lanes<T>> {
        let job = self.engine.job;
        let (root, limit) = job.cutoff_root.zip(job.space.cutoff_squared())?;
        let mut held = [T::rounded(f64::NAN); BLOCK];
        let near = &self.scratch.root(root)[0][from..from + lanes.len()];
        for ((h, v), r) in held.iter_mut().zip(lanes).zip(near) {
            *h = if r.wide() <= limit {
                *v
            } else {
                T::rounded(f64::NAN)
            };
        }
        Some(held)
    }
    /// Matrices take every value of a run, but NaN for those beyond the cut-off.
    fn dense(&mut self, i: usize, jb: usize, run: &Range<usize>, sink: &dyn Sink) -> Result<()> {
        let (job, first) = (self.engine.job, jb * BLOCK);
        for (at, fold) in job.folds.iter().enumerate() {
            let Some(fold) = fold.dense() else { continue };
            let lanes = &self.scratch.root(fold.root)[0][run.start - first..run.end - first];
            let held = self.without_far(lanes, run.start - first);
            let lanes = held.as_ref().map_or(lanes, |held| &held[..run.len()]);
            sink.put(at, fold.place(&job.space, i, run.start), T::values(lanes))?;
            if !self.mirror[at].is_empty() {
                for (l, v) in lanes.iter().enumerate() {
                    self.mirror[at][(run.start - first + l) * MIRROR + i % BLOCK] = *v;
                }
            }
        }
        Ok(())
    }
    /// The transposed block of a symmetric matrix.
    fn put_mirror(
        &self,
        jb: usize,
        rows: &Range<usize>,
        cols: &Range<usize>,
        sink: &dyn Sink,
    ) -> Result<()> {
        let m = self.engine.job.space.m;
        for (at, mirror) in self
            .mirror
            .iter()
            .enumerate()
            .filter(|(_, b)| !b.is_empty())
        {
            for j in cols.clone() {
                let end = rows.end.min(j);
                if end > rows.start {
                    let line = &mirror[(j - jb * BLOCK) * MIRROR..][rows.start % BLOCK..]
                        [..end - rows.start];
                    sink.put(at, j * m + rows.start, T::values(line))?;
                }
            }
        }
        Ok(())
    }
    /// The lanes beyond the cut-off, a bit each; none without a cut-off.
    #[inline(always)]
    fn beyond_cutoff(&self, isa: Isa, lanes: &Range<usize>) -> u128 {
        let space = &self.engine.job.space;
        let limit = self.engine.job.cutoff_root.zip(space.cutoff_squared());
        limit.map_or(0, |(root, limit)| {
            T::dispatch(
                isa,
                Beyond {
                    values: &self.scratch.root(root)[0],
                    lanes: lanes.clone(),
                    limit,
                },
            )
        })
    }
    /// Splits a run at pairs that are left out, and hands what remains to the folds.
    fn admit(&mut self, i: usize, jb: usize, run: &Range<usize>) {
        let job = self.engine.job;
        if job.cutoff_root.is_none()
            && job.nan != NanPolicy::Skip
            && job.folds.iter().all(Fold::is_dense)
        {
            self.tally.counted += run.len() as u64;
            return;
        }
        let first = jb * BLOCK;
        let lanes = run.start - first..run.end - first;
        let isa = reductions::isa(self.engine.vm.isa);
        let clean = !T::dispatch(
            isa,
            AnyNan {
                values: self.scratch.all(),
                lanes: lanes.clone(),
            },
        );
        if clean && job.cutoff_root.is_none() {
            self.tally.counted += run.len() as u64;
            self.absorb(i, jb, run.clone());
            return;
        }
        let all = u128::MAX >> (BLOCK - lanes.len()) << lanes.start;
        let far = self.beyond_cutoff(isa, &lanes);
        let mut inside = all & !far;
        self.tally.beyond_cutoff += u64::from(far.count_ones());
        if !clean {
            inside = self.without_nan(i, first, lanes.start, inside);
        }
        self.tally.counted += u64::from(inside.count_ones());
        while inside != 0 {
            let from = inside.trailing_zeros();
            let len = (inside >> from).trailing_ones();
            self.absorb(i, jb, first + from as usize..first + (from + len) as usize);
            inside &= !(u128::MAX >> (BLOCK as u32 - len) << from);
        }
    }
    /// Notes the NaN of row `i` among the lanes `inside` of a block from column `first` on, from
    /// lane `start`; the lanes that remain.
    fn without_nan(&mut self, i: usize, first: usize, start: usize, mut inside: u128) -> u128 {
        let (job, s) = (self.engine.job, &self.scratch);
        let skip = job.nan == NanPolicy::Skip;
        // Of a NaN that is not a hole only the first counts.
        let pair = (i as u64, (first + start) as u64);
        if !skip && self.tally.first_nan.is_some_and(|found| found <= pair) {
            return inside;
        }
        let nan_at = |l: &usize| {
            let is_nan = |root: usize| s.root(root).iter().any(|v| v[*l].wide().is_nan());
            job.meets_nan(is_nan, |root| s.root(root)[0][*l].wide())
        };
        for l in ones(inside).filter(nan_at) {
            let pair = (i as u64, (first + l) as u64);
            self.tally.note_nan(pair);
            if skip {
                self.tally.nan += 1;
                inside &= !(1 << l);
            }
        }
        inside
    }
    fn absorb(&mut self, i: usize, jb: usize, run: Range<usize>) {
        let job = self.engine.job;
        let lane = run.start - jb * BLOCK;
        let values = &self.scratch.all().as_flattened()[lane..];
        let firsts = self.scratch.firsts();
        let half = job.space.is_triangular();
        let line = Line {
            row: i,
            first: run.start,
            len: run.len(),
            half,
            values,
            stride: BLOCK,
            firsts,
        };
        for (at, (fold, state)) in job.folds.iter().zip(&mut self.states).enumerate() {
            let pieces = self.pieces[at].as_mut();
            let weights = if let (Fold::Reduce(f), Some(_)) = (fold, &pieces) {
                weights_of(f, &self.weights[at], &run, lane)
            } else {
                (&[][..], 0)
            };
            let lent = Lent {
                pieces,
                weights,
                wide: &mut self.wide,
            };
            T::dispatch(
                reductions::isa(self.engine.vm.isa),
                Absorb {
                    fold,
                    state,
                    line,
                    lent,
                },
            );
        }
    }
}

/// The weights of the columns `run`, which begin with lane `lane`, number after number: as given
/// where each is one number, else those of the block.
fn weights_of<'a>(
    f: &'a Reduce,
    block: &'a [f64],
    run: &Range<usize>,
    lane: usize,
) -> (&'a [f64], usize) {
    match &f.weights {
        // Columns have the results then, rows the weights.
        Some(weights) if f.weight_width == 1 => (weights.get(run.start..).unwrap_or(&[]), 0),
        _ => (block.get(lane..).unwrap_or(&[]), BLOCK),
    }
}

/// Hands a line of values to a fold, by vectors.
struct Absorb<'a, 'l, T> {
    fold: &'a Fold,
    state: &'a mut State,
    line: Line<'l, T>,
    lent: Lent<'a>,
}

impl<T: Real + zipfold_vector::simd::Element> Kernel<T> for Absorb<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: zipfold_vector::simd::Lanes<T>>(self, _: S) {
        self.fold.absorb(self.state, &self.line, self.lent);
    }
}

/// The places of the bits that are set.
fn ones(mut bits: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(at)
    })
}

/// Which of the numbers are not within a limit, a bit each.
struct Beyond<'a, T> {
    values: &'a Lanes<T>,
    lanes: Range<usize>,
    limit: f64,
}

impl<T: Real + zipfold_vector::simd::Element> Kernel<T> for Beyond<'_, T> {
    type Output = u128;
    #[inline(always)]
    fn run<S: zipfold_vector::simd::Lanes<T>>(self, _: S) -> u128 {
        let mut beyond = [0u8; BLOCK];
        let lanes = self.lanes;
        for (b, v) in beyond[lanes.clone()].iter_mut().zip(&self.values[lanes]) {
            *b = u8::from(!v.wide().le(&self.limit));
        }
        let (words, _) = beyond.as_chunks::<8>();
        words.iter().rev().fold(0, |bits, word| {
            // The lowest digit of each byte, one next to the other.
            let eight = u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
            bits << 8 | u128::from(eight)
        })
    }
}

/// Whether some of the numbers is NaN.
struct AnyNan<'a, T> {
    values: &'a [Lanes<T>],
    lanes: Range<usize>,
}

impl<T: Real + zipfold_vector::simd::Element> Kernel<T> for AnyNan<'_, T> {
    type Output = bool;
    #[inline(always)]
    fn run<S: zipfold_vector::simd::Lanes<T>>(self, _: S) -> bool {
        self.values.iter().any(|v| any_nan(v, &self.lanes))
    }
}

#[inline(always)]
#[expect(
    clippy::eq_op,
    reason = "a NaN is not even equal to itself, and this is one comparison of vectors"
)]
fn any_nan<T: PartialOrd>(lanes: &Lanes<T>, range: &Range<usize>) -> bool {
    lanes[range.clone()]
        .iter()
        .fold(false, |any, v| any | (v != v))
}
