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

impl LoopOrder {
    /// The cheapest way through tables over `scopes`, for tables that hold what `domain` says;
    /// variables that are not `kept` are summed.
    pub fn cheapest(
        cards: &[usize],
        scopes: [&[usize]; 2],
        kept: &dyn Fn(usize) -> bool,
        domain: Domain,
    ) -> Option<Self> {
        let mut best: Option<LoopOrder> = None;
        for first in 0..2 {
            let own = strides(scopes[first], cards);
            let other = strides(scopes[1 - first], cards);
            let of = |list: &[(usize, usize)], v: usize| {
                list.iter().find(|s| s.0 == v).map_or(0, |s| s.1)
            };
            let digit = |v: usize| VariableOfBoth {
                var: v,
                card: cards[v],
                strides: [of(&own, v), of(&other, v)],
                out: 0,
            };
            let wide = |list: &[(usize, usize)]| -> Vec<VariableOfBoth> {
                list.iter()
                    .map(|s| digit(s.0))
                    .filter(|d| d.card > 1)
                    .collect()
            };
            let (own, other) = (wide(&own), wide(&other));
            let beside: Vec<VariableOfBoth> = other
                .iter()
                .copied()
                .filter(|d| d.strides[0] == 0)
                .collect();
            let columns: Vec<VariableOfBoth> =
                beside.iter().copied().filter(|d| kept(d.var)).collect();
            let depth: Vec<VariableOfBoth> = own
                .iter()
                .chain(&beside)
                .copied()
                .filter(|d| !kept(d.var))
                .collect();
            let natural: Vec<VariableOfBoth> =
                own.iter().copied().filter(|d| kept(d.var)).collect();
            let (alone, shared): (Vec<VariableOfBoth>, Vec<VariableOfBoth>) =
                natural.iter().partition(|d| d.strides[1] == 0);
            let orders = [
                natural,
                [&shared[..], &alone[..]].concat(),
                [&alone[..], &shared[..]].concat(),
            ];
            for order in orders {
                for cut in 0..=order.len() {
                    let run = size(&order[cut..]);
                    if run > LONGEST {
                        continue;
                    }
                    let mut way = LoopOrder {
                        first,
                        kept: order.clone(),
                        cut,
                        columns: columns.clone(),
                        depth: depth.clone(),
                        wide: 1,
                        ahead: false,
                        cost: 0.0,
                    };
                    way.lay_out();
                    way.predict(domain);
                    if best.as_ref().is_none_or(|b| way.cost < b.cost) {
                        best = Some(way);
                    }
                }
            }
        }
        best
    }
    /// The cheapest way to a result whose order is given, where the first table is read as it lies:
    /// nothing but the second one is copied. The predicted cycles are those of values.
    pub fn within(shape: &Shape, lanes: usize) -> Option<Self> {
        let mut best: Option<LoopOrder> = None;
        let deep: usize = shape
            .digits
            .iter()
            .filter(|d| d.summed)
            .map(|d| d.card)
            .product();
        let all = |d: &shape::Digit| d.strides[0] > 0 || d.strides[1] > 0;
        if shape.inputs != 2 || deep > SHALLOW || !shape.digits.iter().all(all) {
            return None;
        }
        for first in 0..2 {
            let digit = |d: &shape::Digit| VariableOfBoth {
                var: 0,
                card: d.card,
                strides: [d.strides[first], d.strides[1 - first]],
                out: d.out,
            };
            let of = |summed: bool| {
                shape
                    .digits
                    .iter()
                    .filter(move |d| d.summed == summed)
                    .map(digit)
            };
            let mut kept: Vec<VariableOfBoth> = of(false).filter(|d| d.strides[0] > 0).collect();
            let columns: Vec<VariableOfBoth> = of(false).filter(|d| d.strides[0] == 0).collect();
            kept.sort_by_key(|d| std::cmp::Reverse(d.out));
            if let Some(last) = kept.pop() {
                kept.extend(divide(last));
            }
            for cut in (0..kept.len()).rev() {
                let run = &kept[cut..];
                let mut next = 1;
                let straight = run.iter().rev().all(|d| {
                    let beside = d.out == next && d.strides[0] == next;
                    next *= d.card;
                    beside
                });
                if !straight || size(run) > LONGEST {
                    break;
                }
                let depth = of(true).collect();
                let mut way = LoopOrder {
                    first,
                    kept: kept.clone(),
                    cut,
                    columns: columns.clone(),
                    depth,
                    wide: 1,
                    ahead: false,
                    cost: 0.0,
                };
                way.predict(Domain {
                    lanes,
                    logs: [false; 2],
                    out: false,
                });
                if size(run) >= LONG
                    && !way.vectors()
                    && best.as_ref().is_none_or(|b| way.cost < b.cost)
                {
                    best = Some(way);
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
    /// Entries of the packed second table.
    fn packed(&self, lanes: usize) -> f64 {
        let (outer, run) = self.kept.split_at(self.cut);
        let shared: f64 = outer
            .iter()
            .filter(|d| d.strides[1] > 0)
            .map(|d| d.card as f64)
            .product();
        let entry = if self.vectors() {
            size(run).next_multiple_of(lanes)
        } else {
            1
        };
        let columns = size(&self.columns).next_multiple_of(self.wide);
        shared * (entry * columns * size(&self.depth)) as f64
    }
    /// Chooses the columns of a tile and counts cycles.
    fn predict(&mut self, domain: Domain) {
        let lanes = domain.lanes;
        let (outer, run) = self.kept.split_at(self.cut);
        let vectors = size(run).div_ceil(lanes);
        let rows = size(outer) * vectors;
        let (columns, depth) = (size(&self.columns), size(&self.depth) as f64);
        let tile = |wide: usize| {
            let tiles = rows.div_ceil(ROWS) as f64 * columns.div_ceil(wide) as f64;
            let step = if self.vectors() {
                (ROWS * wide) as f64 * 1.5
            } else {
                (ROWS * wide) as f64
            } + 4.0;
            tiles * (depth * step + (ROWS * wide) as f64 * 1.5 + 16.0)
        };
        let best = WIDE
            .into_iter()
            .map(|w| (w, tile(w)))
            .fold((1, f64::INFINITY), |b, o| if o.1 < b.1 { o } else { b });
        let how = Run::for_offsets(&places(run, 0), lanes);
        let picked = rows as f64 * depth;
        let whole = |digits: &[VariableOfBoth]| size(digits) as f64 * depth / lanes as f64;
        let copies = if matches!(how, Run::Straight) {
            0.0
        } else {
            picked * how.cost()
        };
        // Exponentials of what is picked, in vectors that are not all full, or of the whole table
        // ahead.
        let lead = [
            picked * (how.cost() + LOGS),
            whole(&self.kept) * (LOGS + 4.0) + copies,
        ];
        let logs = [self.first, 1 - self.first].map(|at| domain.logs[at]);
        self.ahead = lead[1] < lead[0];
        self.wide = best.0;
        self.cost = best.1 + size(outer) as f64 * 2.0 + self.packed(lanes) * 1.2;
        self.cost += if logs[0] {
            lead[0].min(lead[1])
        } else {
            copies
        };
        let shared: f64 = self
            .kept
            .iter()
            .filter(|d| d.strides[1] > 0)
            .map(|d| d.card as f64)
            .product();
        self.cost += if logs[1] {
            shared * whole(&self.columns) * LOGS
        } else {
            0.0
        };
        self.cost += if domain.out {
            (rows * columns) as f64 * LOGS
        } else {
            0.0
        };
        if self.packed(lanes) > PACKED as f64 || size(outer) > MOST_ROWS {
            self.cost = f64::INFINITY;
        }
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
        let (outer, run) = self.kept.split_at(self.cut);
        let vectors = self.vectors();
        let depth = places(&self.depth, 0);
        let mut columns = outs(&self.columns);
        let mut of_columns = places(&self.columns, 1);
        let padded = columns.len().next_multiple_of(self.wide);
        // Columns beyond the last are the last once more.
        columns.resize(padded, columns[columns.len() - 1]);
        of_columns.resize(padded, of_columns[of_columns.len() - 1]);
        let shared: Vec<VariableOfBoth> =
            outer.iter().copied().filter(|d| d.strides[1] > 0).collect();
        let lanes_of: Vec<usize> = if vectors {
            let mut of_run = places(run, 1);
            of_run.resize(of_run.len().next_multiple_of(lanes), 0);
            of_run
        } else {
            vec![0]
        };
        let block = lanes_of.len() * padded * depth.len();
        let of_depth = places(&self.depth, 1);
        let mut list = Vec::with_capacity(block * size(&shared));
        for base in places(&shared, 1) {
            for of_vector in lanes_of.chunks(if vectors { lanes } else { 1 }) {
                for of_tile in of_columns.chunks(self.wide) {
                    for d in &of_depth {
                        for c in of_tile {
                            list.extend(of_vector.iter().map(|l| (base + l + d + c) as u32));
                        }
                    }
                }
            }
        }
        // Where a row's block of the packed table begins: its shared variables as a number.
        let mut number = 1;
        let mut blocks: Vec<(usize, usize)> = Vec::with_capacity(outer.len());
        for d in outer.iter().rev() {
            blocks.push((d.card, if d.strides[1] > 0 { number * block } else { 0 }));
            number *= if d.strides[1] > 0 { d.card } else { 1 };
        }
        blocks.reverse();
        let (lead, other) = (places(outer, 0), offsets(&blocks));
        let run_len = size(run);
        let rows = lead.iter().zip(&other).zip(outs(outer));
        let rows = rows
            .map(|((lead, other), out)| Row {
                lead: *lead,
                other: *other,
                out,
            })
            .collect();
        let lens = if self.first == 0 {
            lens
        } else {
            [lens[1], lens[0]]
        };
        InPlaceContraction {
            first: self.first,
            lens,
            scope: self.scope(),
            len: size(&self.kept) * size(&self.columns),
            rows,
            packed_depth: (0..depth.len()).map(|k| k * lanes).collect(),
            depth,
            run: run_len,
            how: Run::for_offsets(&places(run, 0), lanes),
            list,
            vectors,
            columns,
            wide: self.wide,
            ahead: self.ahead,
            cost: self.cost,
        }
    }
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
        let lanes = T::LANES;
        let packed = shift.is_some() || !matches!(self.how, Run::Straight);
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
        let reach = whole.reach(lanes);
        assert!(
            reach[0] <= lead.len() && reach[1] <= packed_other.len() && reach[2] <= out.len(),
            "offset beyond a table"
        );
        let per_row = self.run.div_ceil(lanes) * lanes * self.depth.len();
        let part = (HELD / per_row)
            .min(self.rows.len() / threads / 4)
            .max(ROWS)
            .next_multiple_of(ROWS);
        let past = size_of_val(out) >= LARGE;
        let target = Shared(out.as_mut_ptr());
        let far = size_of_val(lead) > FAR;
        let task = |rows: &[Row], buffer: &mut Block<T>| {
            if far {
                ask(lead, rows, &self.depth, self.run);
            }
            let mut job = Job { rows, ..whole };
            if packed {
                buffer.at_least(rows.len() * per_row);
                let packing = Packing {
                    from: lead,
                    rows,
                    depth: &self.depth,
                    run: self.run,
                    how: &self.how,
                    shift,
                };
                T::pack(&packing, buffer);
                job = Job {
                    lead: buffer,
                    packed: true,
                    depth: &self.packed_depth,
                    ..job
                };
            }
            // SAFETY: the assertion above holds all rows within the tables and the result, the
            // panel has room for its rows, and rows write different entries.
            unsafe { super::tiles::tiles(&job, target.start(), past) };
        };
        panels.resize_with(threads.max(panels.len()), Block::default);
        if threads == 1 {
            return self
                .rows
                .chunks(part)
                .for_each(|rows| task(rows, &mut panels[0]));
        }
        let next = AtomicUsize::new(0);
        panels[..threads]
            .par_iter_mut()
            .with_max_len(1)
            .for_each(|buffer| {
                loop {
                    let first = next.fetch_add(part, Ordering::Relaxed);
                    let Some(rows) = self.rows.get(first..(first + part).min(self.rows.len()))
                    else {
                        break;
                    };
                    if rows.is_empty() {
                        break;
                    }
                    task(rows, buffer);
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
