//! Two tables multiplied and summed where they lie, for the short depths of the paper's buckets.
//!
//! The first table is read by vectors along its own fastest variables, which also run fastest in
//! the result: where they lie side by side it is not copied at all. The second one is small or used
//! often, and is packed for the register tiles.
//!
//! ```text
//! plan (once)
//!     for each order of the two tables and each cut into vectors, rows and columns
//!         predict the cost; keep the cheapest
//!     list the offsets of all rows, columns and depths
//!
//! run (InPlaceContraction::run)
//!     exponentials of the tables, where they hold logarithms
//!     pack the second table
//!     for each strip of rows                                        in parallel
//!         for each register tile (super::tiles): sum along the depth, take logarithms, store
//! ```
//!
//! Why this shape: with a depth of ten to a hundred, packing both sides costs as much as the
//! product. So one side is used in place, and everything that depends on the shape alone is done
//! once in the plan.

use super::permute::{Packing, Run};
use super::real::Real;
use super::shape::{self, Shape, offsets};
use super::tiles::{Job, ROWS, Row};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use zipfold_vector::memory::Block;
use zipfold_vector::prefetch;

/// Cycles of a vector of exponentials or logarithms.
const LOGS: f64 = 16.0;
/// Entries of a row, at least, of a table that is read as it lies for a result whose order is
/// given: long pieces of memory.
const LONG: usize = 512;
/// Depth, at most, of a table that is not packed because it fits a contraction whose result's order
/// is given.
const SHALLOW: usize = 64;
/// Entries of a row, at most.
const LONGEST: usize = 4096;
/// Entries of the packed second table, at most.
pub const PACKED: usize = 1 << 23;
/// Rows, at most.
const MOST_ROWS: usize = 1 << 23;
/// Columns of a register tile.
const WIDE: [usize; 5] = [6, 4, 3, 2, 1];
/// Entries of packed rows that one task holds: they stay in the second cache.
const HELD: usize = 12 << 10;
/// Cycles that are over before another thread has woken up.
const ALONE: f64 = 150_000.0;
/// Bytes of a first table that does not stay in the second cache.
const FAR: usize = 1 << 20;
/// Bytes of a result from which its lines go past the caches.
const LARGE: usize = 32 << 20;

/// A table as it lies in memory: its variables, slowest first.
pub type Scope = Vec<usize>;

/// One variable in both tables.
#[derive(Clone, Copy)]
struct VariableOfBoth {
    var: usize,
    card: usize,
    strides: [usize; 2],
    /// In the result, where its order is given.
    out: usize,
}

/// What two tables hold and what becomes of them, by which their cost is predicted.
#[derive(Clone, Copy, Debug)]
pub struct Domain {
    /// Lanes of a vector.
    pub lanes: usize,
    /// Which tables hold logarithms.
    pub logs: [bool; 2],
    /// Whether the result does.
    pub out: bool,
}

/// A way to go through two tables, not yet written down.
pub struct LoopOrder {
    /// Which table is read by vectors.
    first: usize,
    /// Variables of that table in the result, slowest first; the last few make a row.
    kept: Vec<VariableOfBoth>,
    cut: usize,
    columns: Vec<VariableOfBoth>,
    depth: Vec<VariableOfBoth>,
    wide: usize,
    /// Whether exponentials of the first table are taken before its entries are picked.
    ahead: bool,
    /// Predicted cycles of one thread.
    pub cost: f64,
}

/// A plan for one pair of tables.
#[derive(Debug)]
pub struct InPlaceContraction {
    first: usize,
    /// Entries of both tables, the one read by vectors first.
    lens: [usize; 2],
    /// The result's variables, slowest first.
    pub scope: Scope,
    /// Entries of the result.
    pub len: usize,
    rows: Vec<Row>,
    depth: Vec<usize>,
    packed_depth: Vec<usize>,
    run: usize,
    how: Run,
    /// The place of every entry of the packed second table.
    list: Vec<u32>,
    vectors: bool,
    columns: Vec<usize>,
    wide: usize,
    ahead: bool,
    /// Predicted cycles of one thread.
    pub cost: f64,
}

/// Buffers of calls, grown as needed and used again.
#[derive(Debug, Default)]
pub struct Buffers<T: Real> {
    exponentials: Block<T>,
    ahead: Block<T>,
    other: Block<T>,
    rows: Vec<Block<T>>,
}

/// Logarithms in and out of a call.
#[derive(Clone, Copy, Debug)]
pub struct Logs<T> {
    /// What is taken off each table before its exponentials; a table without is one of values.
    pub shifts: [Option<T>; 2],
    /// What is added to the logarithms of the result; without, the result is one of values.
    pub out: Option<T>,
}

impl<T> Logs<T> {
    /// Values in and out.
    pub const NONE: Self = Logs {
        shifts: [None, None],
        out: None,
    };
}

fn size(digits: &[VariableOfBoth]) -> usize {
    digits.iter().map(|d| d.card).product()
}

fn strides(scope: &[usize], cards: &[usize]) -> Vec<(usize, usize)> {
    let mut stride = 1;
    let mut out: Vec<(usize, usize)> = Vec::with_capacity(scope.len());
    for v in scope.iter().rev() {
        out.push((*v, stride));
        stride *= cards[*v];
    }
    out.reverse();
    out
}

fn places(digits: &[VariableOfBoth], table: usize) -> Vec<usize> {
    offsets(
        &digits
            .iter()
            .map(|d| (d.card, d.strides[table]))
            .collect::<Vec<_>>(),
    )
}

/// Offsets in the result.
fn outs(digits: &[VariableOfBoth]) -> Vec<usize> {
    offsets(&digits.iter().map(|d| (d.card, d.out)).collect::<Vec<_>>())
}

/// A digit in two, the fast one as long as a row may be.
fn divide(digit: VariableOfBoth) -> Vec<VariableOfBoth> {
    let part = (1..=digit.card.min(LONGEST))
        .rev()
        .find(|p| digit.card.is_multiple_of(*p))
        .unwrap_or(1);
    let slow = VariableOfBoth {
        card: digit.card / part,
        strides: digit.strides.map(|s| s * part),
        out: digit.out * part,
        ..digit
    };
    [
        slow,
        VariableOfBoth {
            card: part,
            ..digit
        },
    ]
    .into_iter()
    .filter(|d| d.card > 1)
    .collect()
}

/// The variables of two tables by what becomes of them, where table `first` is read by vectors.
struct LoopVariables {
    first: usize,
    /// Those of the first table in the result, slowest first.
    kept: Vec<VariableOfBoth>,
    /// Those of the second table alone in the result.
    columns: Vec<VariableOfBoth>,
    /// Those that are summed.
    depth: Vec<VariableOfBoth>,
}

impl LoopVariables {
    /// Sorts the variables of tables over `scopes`; those that are not `kept` are summed.
    fn of_scopes(
        cards: &[usize],
        scopes: [&[usize]; 2],
        first: usize,
        kept: &dyn Fn(usize) -> bool,
    ) -> Self {
        let tables = [first, 1 - first].map(|table| strides(scopes[table], cards));
        let stride = |table: usize, v: usize| {
            let found = tables[table].iter().find(|s| s.0 == v);
            found.map_or(0, |s| s.1)
        };
        let wide = |table: usize| {
            tables[table]
                .iter()
                .map(|&(v, _)| VariableOfBoth {
                    var: v,
                    card: cards[v],
                    strides: [stride(0, v), stride(1, v)],
                    out: 0,
                })
                .filter(|d| d.card > 1)
        };
        let beside = || wide(1).filter(|d| d.strides[0] == 0);
        LoopVariables {
            first,
            kept: wide(0).filter(|d| kept(d.var)).collect(),
            columns: beside().filter(|d| kept(d.var)).collect(),
            depth: wide(0).chain(beside()).filter(|d| !kept(d.var)).collect(),
        }
    }
    /// Sorts the digits of a shape of two tables whose result has a given order. The fastest kept
    /// digit is cut, so that a part of it can make a row.
    fn of_shape(shape: &Shape, first: usize) -> Self {
        let digit = |d: &shape::Digit| VariableOfBoth {
            var: 0,
            card: d.card,
            strides: [d.strides[first], d.strides[1 - first]],
            out: d.out,
        };
        let digits = |summed: bool| {
            let own = shape.digits.iter().filter(move |d| d.summed == summed);
            own.map(digit)
        };
        let mut kept: Vec<_> = digits(false).filter(|d| d.strides[0] > 0).collect();
        kept.sort_by_key(|d| std::cmp::Reverse(d.out));
        if let Some(last) = kept.pop() {
            kept.extend(divide(last));
        }
        LoopVariables {
            first,
            kept,
            columns: digits(false).filter(|d| d.strides[0] == 0).collect(),
            depth: digits(true).collect(),
        }
    }
    /// The orders of the kept variables that are tried: as they lie, and with those that the second
    /// table shares before or after the others.
    fn orders(&self) -> [Vec<VariableOfBoth>; 3] {
        let (alone, shared): (Vec<VariableOfBoth>, Vec<VariableOfBoth>) =
            self.kept.iter().partition(|d| d.strides[1] == 0);
        [
            self.kept.clone(),
            [&shared[..], &alone[..]].concat(),
            [&alone[..], &shared[..]].concat(),
        ]
    }
    /// The way whose rows are the variables of `kept` from `cut` on, not yet predicted.
    fn with_rows(&self, kept: &[VariableOfBoth], cut: usize) -> LoopOrder {
        LoopOrder {
            first: self.first,
            kept: kept.to_vec(),
            cut,
            columns: self.columns.clone(),
            depth: self.depth.clone(),
            wide: 1,
            ahead: false,
            cost: 0.0,
        }
    }
}

/// Whether the rows made of these variables lie side by side in the first table and in the result.
fn lies_straight(run: &[VariableOfBoth]) -> bool {
    let mut next = 1;
    run.iter().rev().all(|d| {
        let beside = d.out == next && d.strides[0] == next;
        next *= d.card;
        beside
    })
}

/// Replaces `best` by `way` if that is cheaper.
fn keep_cheaper(best: &mut Option<LoopOrder>, way: LoopOrder) {
    if best.as_ref().is_none_or(|b| way.cost < b.cost) {
        *best = Some(way);
    }
}

impl LoopOrder {
    /// The cheapest way through tables over `scopes`, for tables that hold what `domain` says;
    /// variables that are not `kept` are summed.
    pub fn cheapest(
        cards: &[usize],
        scopes: [&[usize]; 2],
        kept: &dyn Fn(usize) -> bool,
        domain: Domain,
    ) -> Option<Self> {
        let mut best = None;
        for first in 0..2 {
            let variables = LoopVariables::of_scopes(cards, scopes, first, kept);
            for order in variables.orders() {
                let short = |cut: &usize| size(&order[*cut..]) <= LONGEST;
                for cut in (0..=order.len()).filter(short) {
                    let mut way = variables.with_rows(&order, cut);
                    way.lay_out();
                    way.predict(domain);
                    keep_cheaper(&mut best, way);
                }
            }
        }
        best
    }
    /// The cheapest way to a result whose order is given, where the first table is read as it lies:
    /// nothing but the second one is copied. The predicted cycles are those of values.
    pub fn within(shape: &Shape, lanes: usize) -> Option<Self> {
        let summed = shape.digits.iter().filter(|d| d.summed);
        let deep: usize = summed.map(|d| d.card).product();
        let all = |d: &shape::Digit| d.strides[0] > 0 || d.strides[1] > 0;
        if shape.inputs != 2 || deep > SHALLOW || !shape.digits.iter().all(all) {
            return None;
        }
        let values = Domain {
            lanes,
            logs: [false; 2],
            out: false,
        };
        let mut best = None;
        for first in 0..2 {
            let variables = LoopVariables::of_shape(shape, first);
            let kept = &variables.kept;
            for cut in (0..kept.len()).rev() {
                let run = &kept[cut..];
                if !lies_straight(run) || size(run) > LONGEST {
                    break;
                }
                let mut way = variables.with_rows(kept, cut);
                way.predict(values);
                if size(run) >= LONG && !way.vectors() {
                    keep_cheaper(&mut best, way);
                }
            }
        }
        best.filter(|b| b.cost.is_finite())
    }
    /// Gives the result's variables their strides: columns slowest.
    fn lay_out(&mut self) {
        let mut stride = 1;
        for d in self.columns.iter_mut().chain(&mut self.kept).rev() {
            d.out = stride;
            stride *= d.card;
        }
    }
    fn vectors(&self) -> bool {
        self.kept[self.cut..].iter().any(|d| d.strides[1] > 0)
    }
    /// How often the second table is packed: once for each number of the variables that it shares.
    fn shared(digits: &[VariableOfBoth]) -> f64 {
        let shared = digits.iter().filter(|d| d.strides[1] > 0);
        shared.map(|d| d.card as f64).product()
    }
    /// Entries of the packed second table.
    fn packed(&self, lanes: usize) -> f64 {
        let (outer, run) = self.kept.split_at(self.cut);
        let entry = if self.vectors() {
            size(run).next_multiple_of(lanes)
        } else {
            1
        };
        let columns = size(&self.columns).next_multiple_of(self.wide);
        Self::shared(outer) * (entry * columns * size(&self.depth)) as f64
    }
    /// Rows of vectors, each of which register tiles take at once.
    fn vector_rows(&self, lanes: usize) -> usize {
        let (outer, run) = self.kept.split_at(self.cut);
        size(outer) * size(run).div_ceil(lanes)
    }
    /// Chooses the columns of a tile and counts cycles.
    fn predict(&mut self, domain: Domain) {
        let lanes = domain.lanes;
        let outer = size(&self.kept[..self.cut]);
        let (wide, tiles) = self.cheapest_tile(lanes);
        let (pick, ahead) = self.pick_cycles(domain);
        self.ahead = ahead;
        self.wide = wide;
        self.cost = tiles + outer as f64 * 2.0 + self.packed(lanes) * 1.2;
        self.cost += pick;
        self.cost += if domain.logs[1 - self.first] {
            let columns = size(&self.columns) as f64 * size(&self.depth) as f64 / lanes as f64;
            Self::shared(&self.kept) * columns * LOGS
        } else {
            0.0
        };
        self.cost += if domain.out {
            (self.vector_rows(lanes) * size(&self.columns)) as f64 * LOGS
        } else {
            0.0
        };
        if self.packed(lanes) > PACKED as f64 || outer > MOST_ROWS {
            self.cost = f64::INFINITY;
        }
    }
    /// The columns of the cheapest register tile, and the cycles of all tiles.
    fn cheapest_tile(&self, lanes: usize) -> (usize, f64) {
        let rows = self.vector_rows(lanes);
        let (columns, depth) = (size(&self.columns), size(&self.depth) as f64);
        let cycles = |wide: usize| {
            let tiles = rows.div_ceil(ROWS) as f64 * columns.div_ceil(wide) as f64;
            let step = if self.vectors() {
                (ROWS * wide) as f64 * 1.5
            } else {
                (ROWS * wide) as f64
            } + 4.0;
            tiles * (depth * step + (ROWS * wide) as f64 * 1.5 + 16.0)
        };
        WIDE.into_iter()
            .map(|w| (w, cycles(w)))
            .fold((1, f64::INFINITY), |b, o| if o.1 < b.1 { o } else { b })
    }
    /// Cycles of picking the first table's entries and of their exponentials, and whether these are
    /// cheaper of the whole table ahead than of what is picked, in vectors that are not all full.
    fn pick_cycles(&self, domain: Domain) -> (f64, bool) {
        let (lanes, depth) = (domain.lanes, size(&self.depth) as f64);
        let how = Run::for_offsets(&places(&self.kept[self.cut..], 0), lanes);
        let picked = self.vector_rows(lanes) as f64 * depth;
        let copies = if matches!(how, Run::Straight) {
            0.0
        } else {
            picked * how.cost()
        };
        let late = picked * (how.cost() + LOGS);
        let whole = size(&self.kept) as f64 * depth / lanes as f64;
        let early = whole * (LOGS + 4.0) + copies;
        let cycles = if domain.logs[self.first] {
            late.min(early)
        } else {
            copies
        };
        (cycles, early < late)
    }
    /// Variables of the result, slowest first.
    pub fn scope(&self) -> Scope {
        self.columns
            .iter()
            .chain(&self.kept)
            .map(|d| d.var)
            .collect()
    }
    /// The offsets of everything.
    pub fn plan(&self, lens: [usize; 2], lanes: usize) -> InPlaceContraction {
        let run = &self.kept[self.cut..];
        let depth = places(&self.depth, 0);
        let mut columns = outs(&self.columns);
        pad_with_last(&mut columns, self.wide);
        let lens = if self.first == 0 {
            lens
        } else {
            [lens[1], lens[0]]
        };
        let block = self.lanes_of_second(lanes).len() * columns.len() * depth.len();
        InPlaceContraction {
            first: self.first,
            lens,
            scope: self.scope(),
            len: size(&self.kept) * size(&self.columns),
            rows: self.rows(block),
            packed_depth: (0..depth.len()).map(|k| k * lanes).collect(),
            depth,
            run: size(run),
            how: Run::for_offsets(&places(run, 0), lanes),
            list: self.places_of_second(lanes),
            vectors: self.vectors(),
            columns,
            wide: self.wide,
            ahead: self.ahead,
            cost: self.cost,
        }
    }
    /// Offsets in the second table of the entries of a row, in whole vectors; one for all where it
    /// does not have the row's variables.
    fn lanes_of_second(&self, lanes: usize) -> Vec<usize> {
        if !self.vectors() {
            return vec![0];
        }
        let mut of_run = places(&self.kept[self.cut..], 1);
        of_run.resize(of_run.len().next_multiple_of(lanes), 0);
        of_run
    }
    /// The place of every entry of the packed second table: a block for each number of the
    /// variables that rows share with it.
    fn places_of_second(&self, lanes: usize) -> Vec<u32> {
        let outer = &self.kept[..self.cut];
        let shared: Vec<VariableOfBoth> =
            outer.iter().copied().filter(|d| d.strides[1] > 0).collect();
        let mut of_columns = places(&self.columns, 1);
        pad_with_last(&mut of_columns, self.wide);
        let of_depth = places(&self.depth, 1);
        let lanes_of = self.lanes_of_second(lanes);
        let vector = if self.vectors() { lanes } else { 1 };
        let block = lanes_of.len() * of_columns.len() * of_depth.len();
        let mut list = Vec::with_capacity(block * size(&shared));
        for base in places(&shared, 1) {
            for of_vector in lanes_of.chunks(vector) {
                for of_tile in of_columns.chunks(self.wide) {
                    for d in &of_depth {
                        for c in of_tile {
                            list.extend(of_vector.iter().map(|l| (base + l + d + c) as u32));
                        }
                    }
                }
            }
        }
        list
    }
    /// All rows, where a block of the packed second table has `block` entries. A row's block is the
    /// number that its shared variables make.
    fn rows(&self, block: usize) -> Vec<Row> {
        let outer = &self.kept[..self.cut];
        let mut number = 1;
        let mut blocks: Vec<(usize, usize)> = Vec::with_capacity(outer.len());
        for d in outer.iter().rev() {
            blocks.push((d.card, if d.strides[1] > 0 { number * block } else { 0 }));
            number *= if d.strides[1] > 0 { d.card } else { 1 };
        }
        blocks.reverse();
        let (lead, other) = (places(outer, 0), offsets(&blocks));
        let rows = lead.iter().zip(&other).zip(outs(outer));
        rows.map(|((lead, other), out)| Row {
            lead: *lead,
            other: *other,
            out,
        })
        .collect()
    }
}

/// Repeats the last offset until tiles of `wide` columns are whole.
fn pad_with_last(offsets: &mut Vec<usize>, wide: usize) {
    offsets.resize(
        offsets.len().next_multiple_of(wide),
        offsets[offsets.len() - 1],
    );
}

impl InPlaceContraction {
    /// Writes the result to `out`. `logs` says which tables hold logarithms, in the order of the
    /// tables.
    ///
    /// # Panics
    /// Where a table or `out` has not as many entries as the plan was made for.
    pub fn run<T: Real>(
        &self,
        tables: [&[T]; 2],
        logs: Logs<T>,
        buffers: &mut Buffers<T>,
        out: &mut [T],
    ) {
        let order = [self.first, 1 - self.first];
        let [lead, other] = order.map(|at| tables[at]);
        let [mut shift, other_shift] = order.map(|at| logs.shifts[at]);
        assert!(
            lead.len() == self.lens[0] && other.len() == self.lens[1] && out.len() == self.len,
            "tables of other sizes"
        );
        let threads = if self.cost < ALONE {
            1
        } else {
            rayon::current_num_threads()
        };
        let Buffers {
            exponentials,
            ahead,
            other: packed_other,
            rows: panels,
        } = buffers;
        let other = match other_shift {
            Some(shift) => exponentials_of(other, shift, threads, exponentials),
            None => other,
        };
        pack_other(&self.list, other, threads, packed_other);
        let lead = match shift {
            Some(taken) if self.ahead => {
                shift = None;
                exponentials_of(lead, taken, threads, ahead)
            }
            _ => lead,
        };
        let whole = Job {
            lead,
            rows: &self.rows,
            packed: false,
            depth: &self.depth,
            run: self.run,
            other: packed_other,
            columns: &self.columns,
            wide: self.wide,
            vectors: self.vectors,
            logs: logs.out,
        };
        let reach = whole.reach(T::LANES);
        assert!(
            reach[0] <= lead.len() && reach[1] <= packed_other.len() && reach[2] <= out.len(),
            "offset beyond a table"
        );
        let past = size_of_val(out) >= LARGE;
        let target = Shared(out.as_mut_ptr());
        let task = |rows: &[Row], panel: &mut Block<T>| {
            let job = self.job_of_rows(&whole, rows, shift, panel);
            // SAFETY: the assertion above holds all rows within the tables and the result, the
            // panel has room for its rows, and rows write different entries.
            unsafe { super::tiles::tiles(&job, target.start(), past) };
        };
        panels.resize_with(threads.max(panels.len()), Block::default);
        self.spread_rows(&mut panels[..threads], task);
    }
    /// Entries of a packed row.
    fn packed_row(&self, lanes: usize) -> usize {
        self.run.div_ceil(lanes) * lanes * self.depth.len()
    }
    /// The job of a few rows of `whole`. Rows that do not lie side by side, or whose exponentials
    /// are still to be taken, are packed into `panel`.
    fn job_of_rows<'a, T: Real>(
        &'a self,
        whole: &Job<'a, T>,
        rows: &'a [Row],
        shift: Option<T>,
        panel: &'a mut Block<T>,
    ) -> Job<'a, T> {
        let lead = whole.lead;
        if size_of_val(lead) > FAR {
            ask(lead, rows, &self.depth, self.run);
        }
        if shift.is_none() && matches!(self.how, Run::Straight) {
            return Job { rows, ..*whole };
        }
        panel.at_least(rows.len() * self.packed_row(T::LANES));
        let packing = Packing {
            from: lead,
            rows,
            depth: &self.depth,
            run: self.run,
            how: &self.how,
            shift,
        };
        T::pack(&packing, panel);
        Job {
            lead: panel,
            rows,
            packed: true,
            depth: &self.packed_depth,
            ..*whole
        }
    }
    /// Gives strips of rows to `task`, on as many threads as there are `panels`, each with its own.
    fn spread_rows<T: Real>(
        &self,
        panels: &mut [Block<T>],
        task: impl Fn(&[Row], &mut Block<T>) + Sync,
    ) {
        let threads = panels.len();
        let strip = (HELD / self.packed_row(T::LANES))
            .min(self.rows.len() / threads / 4)
            .max(ROWS)
            .next_multiple_of(ROWS);
        if let [panel] = panels {
            return self.rows.chunks(strip).for_each(|rows| task(rows, panel));
        }
        let next = AtomicUsize::new(0);
        panels.par_iter_mut().with_max_len(1).for_each(|panel| {
            loop {
                let first = next.fetch_add(strip, Ordering::Relaxed);
                let Some(rows) = self.rows.get(first..(first + strip).min(self.rows.len())) else {
                    break;
                };
                if rows.is_empty() {
                    break;
                }
                task(rows, panel);
            }
            settle();
        });
    }
}

/// The start of the result, for tasks that write different entries.
struct Shared<T>(*mut T);
// SAFETY: rows write different entries, because a mixed-radix number names each once.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn start(&self) -> *mut T {
        self.0
    }
}

/// Makes what went past the caches seen by all threads.
fn settle() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a fence changes no memory, and every machine of this architecture has it.
    unsafe {
        std::arch::x86_64::_mm_sfence()
    }
}

/// Entries that one thread packs before another one helps.
const SHARED: usize = 1 << 15;

/// Exponentials of a table, in a buffer.
fn exponentials_of<'b, T: Real>(
    from: &[T],
    shift: T,
    threads: usize,
    buffer: &'b mut Block<T>,
) -> &'b [T] {
    buffer.at_least(from.len());
    let to = &mut buffer[..from.len()];
    if threads == 1 || from.len() < SHARED {
        super::slices::exponentials(from, shift, to);
    } else {
        let parts = to
            .par_chunks_mut(SHARED / 4)
            .zip(from.par_chunks(SHARED / 4));
        parts.for_each(|(to, from)| super::slices::exponentials(from, shift, to));
    }
    to
}

/// The second table's entries for the register tiles.
fn pack_other<T: Real>(list: &[u32], from: &[T], threads: usize, buffer: &mut Block<T>) {
    buffer.at_least(list.len());
    let to = &mut buffer[..list.len()];
    let gather = |to: &mut [T], list: &[u32]| {
        to.iter_mut()
            .zip(list)
            .for_each(|(t, at)| *t = from[*at as usize])
    };
    if threads == 1 || to.len() < SHARED {
        gather(to, list);
    } else {
        to.par_chunks_mut(SHARED / 4)
            .zip(list.par_chunks(SHARED / 4))
            .for_each(|(to, list)| gather(to, list));
    }
}

/// Asks for the lines of rows that come next, in the order in which they lie.
fn ask<T>(from: &[T], rows: &[Row], depth: &[usize], run: usize) {
    for row in rows {
        for d in depth {
            for at in (0..run * size_of::<T>()).step_by(64) {
                prefetch::second(
                    from.as_ptr()
                        .wrapping_add(row.lead + d)
                        .cast::<u8>()
                        .wrapping_add(at),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bucket::{self, Mode};
    use super::*;

    #[test]
    fn results_in_a_given_order_agree_with_the_bucket_kernel() {
        // k3 r2 c5 r1100, and its mirror image: rows of 1100 entries lie in the result between
        // columns.
        for first in 0..2 {
            let put = |own: [usize; 2]| {
                let mut strides = [0; shape::MOST_INPUTS];
                (strides[first], strides[1 - first]) = (own[0], own[1]);
                strides
            };
            let digit = |card, own, out, summed| shape::Digit {
                card,
                strides: put(own),
                out,
                summed,
            };
            let digits = vec![
                digit(3, [2200, 5], 0, true),
                digit(2, [1100, 0], 5500, false),
                digit(5, [0, 1], 1100, false),
                digit(1100, [1, 0], 1, false),
            ];
            let shape = Shape {
                digits,
                inputs: 2,
                out_len: 11_000,
            };
            let lens = if first == 0 { [6600, 15] } else { [15, 6600] };
            let [a, b] = lens.map(|n| {
                (0..n)
                    .map(|i| 0.5 + f64::from((i * 7) as u32 % 13))
                    .collect::<Vec<f64>>()
            });
            let (mut want, mut got) = (vec![0.0; 11_000], vec![7.0; 11_000]);
            bucket::contract(&shape, &[&a, &b], Mode::Sum, &mut want);
            let way = LoopOrder::within(&shape, 8).expect("a way");
            way.plan(lens, 8)
                .run([&a, &b], Logs::NONE, &mut Buffers::default(), &mut got);
            assert!(
                want.iter()
                    .zip(&got)
                    .all(|(w, g)| (w - g).abs() <= 1e-12 * w),
                "{first}"
            );
        }
    }
}
