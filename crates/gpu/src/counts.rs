//! What a kernel does for one join, counted before it runs: products, reads, lines and sectors of
//! memory, waits. [`crate::model`] makes seconds of it.
//!
//! ```text
//! count(kernel, join):
//!     thread blocks, and how many a multiprocessor has room for
//!     of one thread block, by warps: products, reads, numbers put in shared memory, stores
//!     lines that the reads of a warp touch, sectors that its stores do      cover.rs, by strides
//!     sectors that the block fetches: those it touches, each once if they fit its cache
//!     rounds of reads that wait for the ones before
//!     of all blocks: what a crowd fetches together that runs at a time, so that large tables
//!         count again for each crowd
//! ```

use crate::cover::Cover;
use crate::form::JoinForm;
use crate::paged::Bucket;
use crate::roles::Roles;
use crate::tile::Tile;
use crate::visit::{Divided, Role, Visit};
use crate::visit_text::{Shared, THREADS, resident};
use zipfold_core::Precision;
use zipfold_product::cpu::shape::{Digit, Shape};

/// Threads that run in step.
pub(crate) const WARP: usize = 32;
/// Warps of a thread block with tiles of threads.
const BLOCK: f64 = (THREADS / WARP) as f64;
/// Bytes that a cache gives at once, and those of a line.
const SECTOR: usize = 32;
const LINE: usize = 128;
/// Bytes that thread blocks write until the shared cache writes them to memory, so that blocks
/// after each other share lines.
const NEAR: f64 = 4e6;
/// Bytes of a multiprocessor's own cache, and of its registers.
const OWN: f64 = 220e3;
const REGISTERS: usize = 65_536;

/// What a kernel does for one join.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub form: JoinForm,
    pub precision: Precision,
    /// Thread blocks, and how many a multiprocessor has room for.
    pub blocks: f64,
    pub resident: f64,
    /// Of one thread block, each of a whole warp: multiply-adds and products.
    pub products: f64,
    /// Numbers read from tables.
    pub reads: f64,
    /// Vectors of 16 bytes, or numbers, read from shared memory.
    pub held: f64,
    /// Numbers put there.
    pub filled: f64,
    pub stores: f64,
    /// Numbers divided into digits.
    pub divided: f64,
    /// Lines that all reads touch, warp by warp, and sectors that all stores do.
    pub lines: f64,
    pub stored: f64,
    /// Sectors from the shared cache.
    pub fetched: f64,
    /// Lines of the result that the block touches.
    pub touched: f64,
    /// Rounds of reads: at the start, of numbers for shared memory, of steps.
    pub waits: [f64; 3],
    /// Bytes of all tables, of the result with its parts, and what crowds of blocks fetch.
    pub inputs: f64,
    pub out: f64,
    pub crowds: f64,
    pub parts: f64,
}

/// A join for which things are counted.
struct Join<'s> {
    shape: &'s Shape,
    precision: Precision,
    summed: Vec<&'s Digit>,
    depth: usize,
    /// Entries of each table.
    sizes: Vec<f64>,
}

impl<'s> Join<'s> {
    fn new(shape: &'s Shape, precision: Precision) -> Self {
        let summed: Vec<&Digit> = shape.digits.iter().filter(|d| d.summed).collect();
        let size = |f: usize| {
            let own = shape.digits.iter().filter(|d| d.strides[f] > 0);
            own.map(|d| d.card as f64).product()
        };
        Join {
            depth: summed.iter().map(|d| d.card).product(),
            sizes: (0..shape.inputs).map(size).collect(),
            shape,
            precision,
            summed,
        }
    }
    /// Entries of a piece of `bytes`.
    fn entries_in(&self, bytes: usize) -> usize {
        bytes / self.precision.bytes()
    }
    fn tables(&self) -> std::ops::Range<usize> {
        0..self.shape.inputs
    }
    /// Pieces of table `f` that are touched.
    fn pieces(&self, cover: &Cover<'s>, bytes: usize, f: usize) -> f64 {
        cover.pieces(self.entries_in(bytes), &|d| d.strides[f])
    }
    /// Pieces of the result that are touched.
    fn pieces_of_out(&self, cover: &Cover<'s>, bytes: usize) -> f64 {
        cover.pieces(self.entries_in(bytes), &|d| d.out)
    }
    /// Bytes that all crowds of thread blocks fetch that run at a time, each with `cover` of the
    /// result.
    fn crowds(&self, cover: Cover<'s>, crowds: f64) -> f64 {
        let cover = cover.and(Cover::of_all(&self.summed));
        let fetched = |f: usize| {
            let sectors = crowds * self.pieces(&cover, SECTOR, f);
            (sectors * SECTOR as f64).max(self.sizes[f] * self.precision.bytes() as f64)
        };
        self.tables().map(fetched).sum()
    }
    /// Counts what stores touch that cover `warp` and `block` of the result; returns the bytes that a
    /// block writes.
    fn written(&self, counts: &mut Counts, warp: &Cover<'s>, block: &Cover<'s>) -> f64 {
        counts.stored = counts.stores * self.pieces_of_out(warp, SECTOR);
        counts.touched = self.pieces_of_out(block, LINE);
        self.pieces_of_out(block, SECTOR) * SECTOR as f64
    }
    /// Counts with the sizes of the tables, nothing done.
    fn nothing(&self, form: JoinForm, blocks: f64, parts: usize) -> Counts {
        let bytes = self.precision.bytes() as f64;
        let written = if parts > 1 {
            2.0 * parts as f64 + 1.0
        } else {
            1.0
        };
        let inputs = self.sizes.iter().sum::<f64>() * bytes;
        Counts {
            form,
            precision: self.precision,
            blocks,
            resident: 1.0,
            products: 0.0,
            reads: 0.0,
            held: 0.0,
            filled: 0.0,
            stores: 0.0,
            divided: 0.0,
            lines: 0.0,
            stored: 0.0,
            fetched: 0.0,
            touched: 0.0,
            waits: [0.0; 3],
            inputs,
            out: self.shape.out_len as f64 * bytes * written,
            crowds: inputs,
            parts: parts as f64,
        }
    }
}

/// Of sectors that a block touches, those it fetches: each once if they fit the block's part of the
/// cache, else up to some times, but not more often than its warps read.
fn fetched(touched: f64, read: f64, room: f64) -> f64 {
    const AGAIN: f64 = 8.0;
    if touched * SECTOR as f64 <= room {
        touched
    } else {
        touched.max(read.min(AGAIN * touched))
    }
}

/// Thread blocks that run at a time, or so few after each other that they write the same lines.
fn crowd(blocks: f64, running: f64, bytes: f64) -> f64 {
    running
        .max(NEAR / bytes.max(1.0))
        .clamp(1.0, blocks.max(1.0))
}

impl Counts {
    /// Those of a kernel with tiles of a thread, the folded index in `parts`.
    pub(crate) fn of_visit(
        visit: Visit,
        shape: &Shape,
        precision: Precision,
        (parts, units): (usize, usize),
    ) -> Self {
        let join = Join::new(shape, precision);
        let divided = visit.divide(shape);
        if visit.staged {
            Lanes::new(visit, &join, &divided).staged((parts, units))
        } else {
            Lanes::new(visit, &join, &divided).alone((parts, units))
        }
    }
}

/// Threads with tiles of their own, side by side along columns, rows or the other digits.
struct Lanes<'a, 's> {
    visit: Visit,
    join: &'a Join<'s>,
    divided: &'a Divided<'s>,
    /// Tiles along rows, along columns, configurations of the other digits.
    tiles: [usize; 3],
    /// Tables by role.
    counts: [f64; 4],
}

impl<'a, 's> Lanes<'a, 's> {
    fn new(visit: Visit, join: &'a Join<'s>, divided: &'a Divided<'s>) -> Self {
        Lanes {
            visit,
            join,
            divided,
            tiles: visit.tiles(divided),
            counts: visit.counts(join.shape.inputs).map(|n| n as f64),
        }
    }
    /// What `threads` side by side cover with their first rows and columns, or with all of
    /// them.
    fn cover(&self, threads: usize, whole: bool) -> Cover<'s> {
        let [row_tiles, column_tiles, others] = self.tiles;
        let rows = (&self.divided.rows, row_tiles, self.visit.tall);
        let columns = (&self.divided.columns, column_tiles, self.visit.wide);
        let others = (&self.divided.others, others, 1);
        let runs = |digits: &[&Digit]| digits.iter().any(|d| d.out == 1);
        let order = match self.visit.staged {
            // Its rows are another thread block's.
            true => vec![columns, others],
            false if runs(&self.divided.others) => vec![others, columns, rows],
            false if runs(&self.divided.rows) => vec![rows, columns, others],
            false => vec![columns, rows, others],
        };
        let mut left = threads;
        let mut cover = Cover::default();
        for (digits, many, each) in order {
            let own = Cover::of_run(digits, left.min(many));
            left = left.div_ceil(many.max(1));
            cover = cover.and(if whole { own.widened(each) } else { own });
        }
        cover
    }
    /// Counts of reads by the warps of a block: `times(f)` numbers of table `f` for a thread, the
    /// sectors that a block touches in it, and the block's part of the cache.
    fn read(
        &self,
        counts: &mut Counts,
        (times, touched): (&dyn Fn(usize) -> f64, &dyn Fn(usize) -> f64),
        room: f64,
    ) {
        let warp = self.cover(WARP, false);
        for f in self.join.tables() {
            let reads = BLOCK * times(f);
            counts.reads += reads;
            counts.lines += reads * self.join.pieces(&warp, LINE, f);
            let sectors = reads * self.join.pieces(&warp, SECTOR, f);
            counts.fetched += match reads > 0.0 {
                true => fetched(touched(f), sectors, room),
                false => touched(f),
            };
        }
        counts.fetched /= counts.parts;
    }
    /// Registers of a thread whose rows are its own, as the compiler is likely to take them.
    fn registers(&self) -> usize {
        let (tall, wide) = (self.visit.tall as f64, self.visit.wide as f64);
        let [once, by_row, by_column, both] = self.counts;
        let words = self.join.precision.bytes() as f64 / 4.0;
        let all = tall * wide * words
            + (tall * by_row + wide * by_column + once) * words * 2.0
            + tall * (by_row + both)
            + wide * (by_column + both)
            + 2.0 * self.join.shape.inputs as f64
            + 24.0;
        (all.min(128.0) / 8.0).ceil() as usize * 8
    }
    fn alone(&self, (parts, units): (usize, usize)) -> Counts {
        let join = self.join;
        let threads: usize = self.tiles.iter().product();
        let blocks = threads.div_ceil(THREADS) as f64;
        let mut counts = join.nothing(JoinForm::Alone, blocks * parts as f64, parts);
        let steps = join.depth.div_ceil(parts) as f64;
        counts.resident = (REGISTERS / THREADS / self.registers()).clamp(2, 8) as f64;
        self.issued_alone(&mut counts, steps);
        self.read_alone(&mut counts, steps);
        let block = self.cover(THREADS, true);
        let own = join.written(&mut counts, &self.cover(WARP, false), &block);
        let running = crowd(blocks, units as f64 * counts.resident, own);
        let crowd = self.cover((THREADS as f64 * running) as usize, true);
        counts.crowds = join.crowds(crowd, blocks / running);
        counts.waits = [1.0, 0.0, steps];
        counts
    }
    /// Counts of reads of a block whose threads have rows of their own.
    fn read_alone(&self, counts: &mut Counts, steps: f64) {
        let (tall, wide) = (self.visit.tall as f64, self.visit.wide as f64);
        let all = self
            .cover(THREADS, true)
            .and(Cover::of_all(&self.join.summed));
        let reads = |f: usize| match self.visit.role(f) {
            Role::Once => steps,
            Role::Rows => steps * tall,
            Role::Columns => steps * wide,
            Role::Both => steps * tall * wide,
        };
        let touched = |f: usize| self.join.pieces(&all, SECTOR, f);
        let room = OWN / counts.resident;
        self.read(counts, (&reads, &touched), room);
    }
    /// Products, stores and divisions of a block whose threads have rows of their own.
    fn issued_alone(&self, counts: &mut Counts, steps: f64) {
        let (tall, wide) = (self.visit.tall as f64, self.visit.wide as f64);
        let [once, by_row, by_column, both] = self.counts;
        // The first factor of a row makes a product only where there is one before.
        let first = if once > 0.0 { 0.0 } else { 1.0 };
        let products = tall * wide * (1.0 + both)
            + tall * (by_row - first).max(0.0)
            + wide * (by_column - 1.0).max(0.0)
            + (once - 1.0).max(0.0);
        counts.products = BLOCK * steps * products;
        counts.stores = BLOCK * tall * wide;
        let others = self.divided.others.len() as f64;
        let tables = self.join.shape.inputs as f64;
        counts.divided = BLOCK * (others * (tables + 2.0) / 4.0 + 3.0);
    }
    fn staged(&self, (parts, units): (usize, usize)) -> Counts {
        let join = self.join;
        let shared = self.visit.shared(join.shape, join.precision, units);
        let blocks = shared.blocks as f64;
        let mut counts = join.nothing(JoinForm::Staged, blocks * parts as f64, parts);
        let tile = (self.visit.tall, self.visit.wide);
        let roles = self.visit.counts(join.shape.inputs);
        counts.resident = resident(roles, tile, join.precision) as f64;
        let range = join.depth.div_ceil(parts);
        self.issued_staged(&mut counts, &shared, range);
        counts.waits = self.waits(&counts, &shared, range);
        let rows = self.visit.tall * shared.turns;
        self.read_staged(&mut counts, (rows, shared.turns * range));
        let of_rows = Cover::of_run(&self.divided.rows, rows);
        let result = self.cover(THREADS, true).and(of_rows);
        let own = join.written(&mut counts, &self.cover(WARP, false), &result);
        let running = crowd(blocks, units as f64 * counts.resident, own);
        // Blocks side by side have rows after each other, then lanes.
        let along = running.min(shared.rows as f64);
        let lanes = (running / shared.rows as f64).max(1.0);
        let crowd = self.cover((THREADS as f64 * lanes) as usize, true);
        let rows = (rows as f64 * along) as usize;
        let crowd = crowd.and(Cover::of_run(&self.divided.rows, rows));
        counts.crowds = join.crowds(crowd, blocks / (along * lanes));
        counts
    }
    /// Counts of reads of a block that shares `rows`, in `steps` of its threads.
    fn read_staged(&self, counts: &mut Counts, (rows, steps): (usize, usize)) {
        let join = self.join;
        let read = self.cover(THREADS, true).and(Cover::of_all(&join.summed));
        let of_rows = Cover::of_run(&self.divided.rows, rows);
        let with_rows = read.clone().and(of_rows);
        let steps = (steps * self.visit.wide) as f64;
        let times = |f: usize| match self.visit.role(f) {
            Role::Columns => steps,
            Role::Both => steps * self.visit.tall as f64,
            Role::Once | Role::Rows => 0.0,
        };
        let touched = |f: usize| match self.visit.role(f) {
            Role::Columns => join.pieces(&read, SECTOR, f),
            Role::Once | Role::Rows | Role::Both => join.pieces(&with_rows, SECTOR, f),
        };
        let room = (OWN - 20e3) / counts.resident - 20e3;
        self.read(counts, (&times, &touched), room);
    }
    /// Products, numbers in shared memory and stores of a block that shares rows.
    fn issued_staged(&self, counts: &mut Counts, shared: &Shared, range: usize) {
        let (tall, wide) = (self.visit.tall as f64, self.visit.wide as f64);
        let [_, _, by_column, both] = self.counts;
        let steps = (shared.turns * range) as f64;
        let products = tall * wide * (1.0 + both) + wide * (by_column - 1.0).max(0.0);
        counts.products = BLOCK * steps * products;
        let [_, column_tiles, others] = self.tiles;
        // Configurations of the other digits that some lanes have.
        let spanned = |lanes: usize| (lanes as f64 / column_tiles as f64 + 1.0).min(others as f64);
        let vectors = tall * self.join.precision.bytes() as f64 / 16.0;
        counts.held = BLOCK * steps * vectors * (spanned(WARP) / 2.0).max(1.0);
        let filled = spanned(THREADS) * steps * tall;
        counts.filled = filled / WARP as f64;
        counts.stores = BLOCK * tall * wide * shared.turns as f64;
    }
    /// Rounds of reads of a block that shares rows.
    fn waits(&self, counts: &Counts, shared: &Shared, range: usize) -> [f64; 3] {
        let pieces = range.div_ceil(shared.piece) as f64;
        let filled = counts.filled * WARP as f64;
        let each = (filled / pieces / (4 * THREADS) as f64).ceil().max(1.0);
        // Four steps read together, as the kernels did that the constants were fitted to; since then the
        // last steps of a piece are read together too, and eight steps of double precision.
        let reads = shared.turns * range.div_ceil(4);
        [1.0, pieces * each, reads as f64]
    }
}

impl Counts {
    /// Those of a tile of a thread block for a product of matrices.
    pub(crate) fn of_tile(
        tile: Tile,
        roles: &Roles<'_>,
        (shape, precision): (&Shape, Precision),
        (parts, units): (usize, usize),
    ) -> Self {
        let join = Join::new(shape, precision);
        let [rows, columns, _] = roles.sizes();
        let blocks = roles.tiles(tile) as f64;
        let mut counts = join.nothing(JoinForm::Matrix, blocks * parts as f64, parts);
        let range = join.depth.div_ceil(parts);
        tile.issued(&mut counts, roles, range);
        let whole = [tile.rows.min(rows), tile.columns.min(columns)];
        roles.read(&mut counts, &join, (tile, whole, range));
        let across = tile.columns / tile.wide;
        let warp = Cover::of_run(&roles.columns, across.min(WARP).min(whole[1]));
        let down = (WARP / across).min(whole[0]).max(1);
        let warp = warp.and(Cover::of_run(&roles.rows, down));
        let result =
            Cover::of_run(&roles.rows, whole[0]).and(Cover::of_run(&roles.columns, whole[1]));
        let own = join.written(&mut counts, &warp, &result);
        // Tiles at the edges store less.
        counts.stored *= whole[0] as f64 / tile.rows as f64 * whole[1] as f64 / tile.columns as f64;
        let running = crowd(blocks, units as f64 * counts.resident, own);
        let (crowd, crowds) = roles.crowd(tile, running);
        counts.crowds = join.crowds(crowd, blocks / crowds);
        counts
    }
}

impl Tile {
    /// What a warp covers that reads `lines` along the folded index.
    fn along<'s>(self, join: &Join<'s>, lines: &[&'s Digit], many: usize) -> Cover<'s> {
        let few = (WARP / self.step).min(many).max(1);
        let steps = Cover::of_run(&join.summed, self.step.min(join.depth));
        steps.and(Cover::of_run(lines, few))
    }
    /// Thread blocks that a multiprocessor has room for.
    fn resident(self, precision: Precision) -> f64 {
        let threads = self.threads();
        let shared = 2 * self.step * (self.rows + self.columns + 8) * precision.bytes();
        let rooms = [
            2048 / threads,
            REGISTERS / (self.registers(precision) * threads),
            OWN as usize / shared,
        ];
        rooms.into_iter().min().unwrap_or(1).max(1) as f64
    }
    fn warps(self) -> f64 {
        (self.threads() / WARP) as f64
    }
    /// Numbers of each side that a thread fetches at a time.
    fn fetches(self) -> [f64; 2] {
        [self.rows, self.columns].map(|lines| (lines * self.step / self.threads()) as f64)
    }
    /// Products, numbers in shared memory, stores, divisions and waits of a block, and the blocks
    /// that a multiprocessor has room for.
    fn issued(self, counts: &mut Counts, roles: &Roles<'_>, range: usize) {
        let (threads, warps) = (self.threads(), self.warps());
        let bytes = counts.precision.bytes();
        counts.resident = self.resident(counts.precision);
        let steps = range.next_multiple_of(self.step) as f64;
        let (tall, wide) = (self.tall as f64, self.wide as f64);
        counts.products = warps * steps * tall * wide;
        counts.held = warps * steps * (tall * bytes as f64 / 16.0 + wide);
        let turns = steps / self.step as f64;
        counts.filled = warps * self.fetches().iter().sum::<f64>() * turns;
        counts.stores = warps * tall * wide;
        let digits = |lines: usize, of: &[&Digit]| lines.div_ceil(threads) * of.len().max(1);
        let divided = digits(self.rows, &roles.rows) + digits(self.columns, &roles.columns);
        counts.divided = warps * (divided + roles.batch.len()) as f64;
        let digits = (roles.rows.len() + roles.columns.len()) as f64;
        counts.waits = [1.0 + 0.2 * digits, turns, turns];
    }
}

impl<'s> Roles<'s> {
    /// Counts of reads of both sides, of which a block has `whole` rows and columns.
    fn read(
        &self,
        counts: &mut Counts,
        join: &Join<'s>,
        (tile, whole, range): (Tile, [usize; 2], usize),
    ) {
        let (a, b) = if self.swapped { (1, 0) } else { (0, 1) };
        let turns = range.div_ceil(tile.step) as f64;
        for (side, (f, lines)) in [(a, &self.rows), (b, &self.columns)]
            .into_iter()
            .enumerate()
        {
            let many = whole[side];
            let warp = match self.along[side] {
                true => tile.along(join, lines, many),
                false => Cover::of_run(lines, many.min(WARP)),
            };
            let reads = tile.warps() * tile.fetches()[side] * turns;
            counts.reads += reads;
            counts.lines += reads * join.pieces(&warp, LINE, f);
            let block = Cover::of_run(lines, many).and(Cover::of_run(&join.summed, range));
            counts.fetched += join.pieces(&block, SECTOR, f);
        }
    }
}

impl<'s> Roles<'s> {
    /// What some thread blocks side by side cover of the result, and how many blocks that is.
    fn crowd(&self, tile: Tile, blocks: f64) -> (Cover<'s>, f64) {
        let [rows, columns, _] = self.sizes();
        let down = rows.div_ceil(tile.rows) as f64;
        let across = columns.div_ceil(tile.columns) as f64;
        let of_rows = blocks.min(down);
        let of_columns = (blocks / down).clamp(1.0, across);
        let of_batch = (blocks / (down * across)).max(1.0);
        let lines = |each: usize, many: f64, all: usize| ((each as f64 * many) as usize).min(all);
        let cover = Cover::of_run(&self.rows, lines(tile.rows, of_rows, rows))
            .and(Cover::of_run(
                &self.columns,
                lines(tile.columns, of_columns, columns),
            ))
            .and(Cover::of_run(&self.batch, of_batch as usize));
        (cover, of_rows * of_columns * of_batch)
    }
}

impl Counts {
    /// Those of the paper's kernel.
    pub(crate) fn of_pages(bucket: &Bucket, units: usize) -> Self {
        let join = Join::new(&bucket.shape, bucket.precision);
        let plan = &bucket.plan;
        let blocks = plan.blocks() as f64;
        let mut counts = join.nothing(JoinForm::Paged, blocks, 1);
        let kept: Vec<&Digit> = bucket.shape.kept().collect();
        let inner = &kept[plan.variable.min(kept.len())..];
        bucket.issued(&mut counts, inner.len(), join.depth as f64);
        // All faster values, and some of the divided digit.
        let page = Cover::of_run(inner, plan.page).and(Cover::of_all(&join.summed));
        let warp = Cover::of_run(inner, plan.page.min(WARP));
        let pages = plan.pages_per_block as f64;
        let visits = counts.stores * join.depth as f64;
        for f in join.tables() {
            let touched = join.pieces(&page, SECTOR, f);
            if let Some(len) = plan.segments[f] {
                let fetches = plan.fetches(f) as f64 / blocks;
                counts.filled += fetches * len as f64 / WARP as f64;
                counts.fetched += fetches * touched;
                continue;
            }
            counts.reads += visits;
            counts.lines += visits * join.pieces(&warp, LINE, f);
            let read = visits * join.pieces(&warp, SECTOR, f);
            counts.fetched += fetched(touched * pages, read, OWN / counts.resident);
        }
        counts.stored = counts.stores * join.pieces_of_out(&warp, SECTOR);
        let sectors = plan.page.div_ceil(join.entries_in(SECTOR)) as f64 * pages;
        // Pages lie side by side.
        counts.touched = sectors * SECTOR as f64 / LINE as f64;
        let running = units as f64 * counts.resident;
        let running = crowd(blocks, running, sectors * SECTOR as f64);
        let crowd = Cover::of_run(&kept, (plan.page as f64 * pages * running) as usize);
        counts.crowds = join.crowds(crowd, blocks / running);
        counts
    }
}

impl Bucket {
    /// Thread blocks that a multiprocessor has room for.
    fn resident(&self) -> f64 {
        let threads = self.plan.threads as f64;
        let segments = (self.plan.entries() * self.precision.bytes() + 1024) as f64;
        let rooms = [
            OWN / segments,
            2048.0 / threads,
            REGISTERS as f64 / (threads * 48.0),
        ];
        rooms.into_iter().fold(32.0, f64::min).floor().max(1.0)
    }
    /// Products, numbers in shared memory, stores, divisions and waits of a block whose pages have
    /// `digits`, and the blocks that a multiprocessor has room for.
    fn issued(&self, counts: &mut Counts, digits: usize, depth: f64) {
        let plan = &self.plan;
        counts.resident = self.resident();
        let pages = plan.pages_per_block as f64;
        let warps = plan.threads as f64 / WARP as f64;
        let turns = plan.page.div_ceil(plan.threads) as f64;
        counts.stores = warps * turns * pages;
        let visits = counts.stores * depth;
        let tables = self.shape.inputs as f64;
        counts.products = visits * (1.0 + (tables - 2.0).max(0.0));
        let held = plan.segments.iter().flatten().count() as f64;
        counts.held = visits * held;
        counts.divided = counts.stores * (digits as f64 + tables / 2.0)
            + warps * pages * (plan.variable as f64 + 2.0);
        // Steps whose reads the compiler puts next to each other.
        let together = if held < tables { 8.0 } else { 32.0 };
        let fetches = if held > 0.0 { pages } else { 0.0 };
        counts.waits = [1.0, fetches, pages * turns * (1.0 + depth / together)];
    }
}
