//! Hoisted rows: x row-major, y in blocks of [`BLOCK`] columns: strips of lanes, component-major.
//!
//! ```text
//! by_row    [row][vector][component]                      and [row][number]
//! by_strip  [block][strip][vector][component][lane]       and [block][number][lane]
//!           lanes past the last row repeat it; behind the numbers of a row its weight, if wanted
//!
//! for each block of 128 rows                              in parallel
//!     for each row: hoister.load(row); round its vectors and numbers; store them in the layout
//! ```
//!
//! Why this shape: a pair kernel takes one number of x for all lanes and a vector of y. In strips,
//! the vector of component k follows that of component k − 1, so a kernel reads y as one stream. A
//! strip is as wide as the kernel (the code's lanes, or a whole block for the evaluator). Rows that
//! the formula takes as they are in the table are lent from there and not copied.

use super::lanes::{Lanes, Real};
use rayon::prelude::*;
use std::ops::Range;
use zipfold_core::fold::BLOCK;
use zipfold_core::pair::lower::{Hoister, Lowered};
use zipfold_core::{Buffer, Side, Table};
use zipfold_vector::memory::Block;

/// Rows as hoisted, or the very elements of the table where hoisting would copy them.
#[derive(Debug)]
enum Held<T> {
    Own(Block<T>),
    Lent(Buffer<T>),
}

impl<T> std::ops::Deref for Held<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        match self {
            Held::Own(items) => items,
            Held::Lent(items) => items,
        }
    }
}

/// Hoisted values of all rows of one side, in one of two layouts.
#[derive(Debug)]
pub struct Rows<T> {
    dim: usize,
    row_vectors: usize,
    row_scalars: usize,
    rows: Held<T>,
    row_attrs: Vec<T>,
    /// Lanes of a strip: [`BLOCK`] for whole panels.
    lanes: usize,
    /// By block, strip, vector, component, lane.
    strips: Block<T>,
    /// By block, number, lane.
    lane_attrs: Block<T>,
}

/// Hoists the rows of a block of `table` from `first` on, one after another: of each `made` vectors
/// of `dim` components, and `narrow` numbers.
fn hoist_block<T: Real>(
    mut hoister: Hoister<'_>,
    (table, first): (&Table, usize),
    (dim, made, narrow): (usize, usize, usize),
    rows: &mut [T],
    row_scalars: &mut [T],
) {
    let count = (table.rows() - first).min(BLOCK);
    for at in 0..count {
        hoister.load(table, first + at);
        for s in 0..made {
            let to = &mut rows[(at * made + s) * dim..][..dim];
            to.iter_mut()
                .zip(hoister.stream(s))
                .for_each(|(o, v)| *o = T::rounded(*v));
        }
        (0..narrow).for_each(|a| row_scalars[at * narrow + a] = T::rounded(hoister.attr(a)));
    }
}

/// How a block of rows of y lies in strips.
struct StripShape {
    lanes: usize,
    row_vectors: usize,
    /// Vectors of a row that have components.
    vectors: usize,
    dim: usize,
    /// Numbers of a row, its weight apart.
    hoisted: usize,
}

impl StripShape {
    /// Hoists the rows of a block of `table`; lanes past the last row repeat it.
    fn hoist<T: Real>(
        &self,
        mut hoister: Hoister<'_>,
        (table, block): (&Table, usize),
        weights: Option<&[f64]>,
        strips: &mut [T],
        numbers: &mut [T],
    ) {
        let (dim, lanes, hoisted) = (self.dim, self.lanes, self.hoisted);
        for lane in 0..BLOCK {
            if block * BLOCK + lane < table.rows() {
                hoister.load(table, block * BLOCK + lane);
            }
            for s in 0..self.vectors {
                let first = (lane / lanes * self.row_vectors + s) * dim * lanes + lane % lanes;
                let to = &mut strips[first..];
                hoister
                    .stream(s)
                    .iter()
                    .enumerate()
                    .for_each(|(k, v)| to[k * lanes] = T::rounded(*v));
            }
            (0..hoisted).for_each(|a| numbers[a * BLOCK + lane] = T::rounded(hoister.attr(a)));
            if let Some(weights) = weights {
                let row = (block * BLOCK + lane).min(table.rows() - 1);
                numbers[hoisted * BLOCK + lane] = T::rounded(weights[row]);
            }
        }
    }
}

impl<T: Real> Rows<T> {
    /// Rows of one side, one after another; their numbers only where requested.
    pub fn by_row(low: &Lowered, table: &Table, side: Side, numbers: bool) -> Self {
        let (row_vectors, row_scalars) = (
            low.row_vectors[side as usize].len(),
            low.row_scalars[side as usize].len(),
        );
        let narrow = if numbers { row_scalars } else { 0 };
        let mut out = Self::empty(low.dim, row_vectors, narrow);
        let lent = Self::lent_vectors(low, table, side);
        let made = if lent.is_some() { 0 } else { row_vectors };
        let wide = made * low.dim;
        let mut hoisted = Block::zeros(table.rows() * wide);
        out.row_attrs = vec![T::default(); table.rows() * narrow];
        let rows = hoisted.par_chunks_mut((BLOCK * wide).max(1));
        let work = |first: usize, rows: &mut [T], row_scalars: &mut [T]| {
            let hoister = low.hoister(side);
            hoist_block(
                hoister,
                (table, first),
                (low.dim, made, narrow),
                rows,
                row_scalars,
            );
        };
        match (wide, narrow) {
            (0, 0) => {}
            (_, 0) => rows
                .enumerate()
                .for_each(|(b, r)| work(b * BLOCK, r, &mut [])),
            (0, _) => out
                .row_attrs
                .par_chunks_mut(BLOCK * narrow)
                .enumerate()
                .for_each(|(b, a)| work(b * BLOCK, &mut [], a)),
            _ => rows
                .zip(out.row_attrs.par_chunks_mut(BLOCK * narrow))
                .enumerate()
                .for_each(|(b, (r, a))| work(b * BLOCK, r, a)),
        }
        out.rows = lent.map_or(Held::Own(hoisted), |items| Held::Lent(items.clone()));
        out
    }
    /// The elements of `table`, where the only vector of a row is the row as it is given.
    fn lent_vectors<'t>(low: &Lowered, table: &'t Table, side: Side) -> Option<&'t Buffer<T>> {
        let as_given = low.row_vectors[side as usize].len() == 1
            && low.raw_vector(side as usize) == Some(0)
            && table.cols() == low.dim;
        if as_given {
            T::lent(table.elements())
        } else {
            None
        }
    }
    /// Rows without vectors: `row_scalars` numbers each, row after row.
    pub fn of_numbers(dim: usize, row_scalars: usize, numbers: Vec<T>) -> Self {
        Rows {
            row_attrs: numbers,
            ..Self::empty(dim, 0, row_scalars)
        }
    }
    /// Rows of y: strips of `lanes` lanes; lanes past the last row repeat it.
    /// Behind the hoisted numbers of a row comes its weight, where there are `weights`.
    pub fn by_strip(low: &Lowered, table: &Table, lanes: usize, weights: Option<&[f64]>) -> Self {
        let (row_vectors, hoisted) = (low.row_vectors[1].len(), low.row_scalars[1].len());
        let row_scalars = hoisted + usize::from(weights.is_some());
        if row_vectors + row_scalars == 0 {
            return Self::empty(low.dim, 0, 0);
        }
        let blocks = table.rows().div_ceil(BLOCK);
        let mut out = Self::empty(low.dim, row_vectors, row_scalars).with_strips(lanes, blocks);
        // Rows without components have nothing in their vectors.
        let vectors = if low.dim == 0 { 0 } else { row_vectors };
        let wide = BLOCK * row_vectors * low.dim;
        let strips = out.strips.par_chunks_mut(wide.max(1));
        let shape = StripShape {
            lanes,
            row_vectors,
            vectors,
            dim: low.dim,
            hoisted,
        };
        let work = |block: usize, strips: &mut [T], numbers: &mut [T]| {
            shape.hoist(
                low.hoister(Side::Y),
                (table, block),
                weights,
                strips,
                numbers,
            );
        };
        let numbers = out.lane_attrs.par_chunks_mut((BLOCK * row_scalars).max(1));
        match (wide, row_scalars) {
            (0, 0) => {}
            (_, 0) => strips.enumerate().for_each(|(b, s)| work(b, s, &mut [])),
            (0, _) => numbers.enumerate().for_each(|(b, n)| work(b, &mut [], n)),
            _ => strips
                .zip(numbers)
                .enumerate()
                .for_each(|(b, (s, n))| work(b, s, n)),
        }
        out
    }
    /// The numbers of `count` rows that lie one after another, and their weights, for lanes of y;
    /// without vectors.
    pub fn numbers(rows: &Self, count: usize, weights: Option<&[f64]>) -> Self {
        let hoisted = rows.row_scalars;
        let row_scalars = hoisted + usize::from(weights.is_some());
        let mut out = Self::empty(rows.dim, 0, row_scalars);
        if row_scalars == 0 || count == 0 {
            return out;
        }
        out = out.with_strips(BLOCK, count.div_ceil(BLOCK));
        for (block, numbers) in out.lane_attrs.chunks_mut(BLOCK * row_scalars).enumerate() {
            for (a, lanes) in numbers.chunks_mut(BLOCK).enumerate() {
                // Lanes past the last row repeat it.
                let row = |lane: usize| (block * BLOCK + lane).min(count - 1);
                let number = |row| {
                    if a < hoisted {
                        rows.attr(a, row)
                    } else {
                        T::rounded(weights.map_or(1.0, |w| w[row]))
                    }
                };
                lanes
                    .iter_mut()
                    .enumerate()
                    .for_each(|(lane, to)| *to = number(row(lane)));
            }
        }
        out
    }
    fn with_strips(mut self, lanes: usize, blocks: usize) -> Self {
        self.lanes = lanes;
        self.strips = Block::zeros(blocks * BLOCK * self.row_vectors * self.dim);
        self.lane_attrs = Block::zeros(blocks * BLOCK * self.row_scalars);
        self
    }
    /// Hoisted rows in another order, one after another: row r is row `order[r]` of `values`,
    /// `width` numbers each (vectors by component, then single numbers).
    pub fn arranged_by_row(low: &Lowered, side: Side, values: &[f64], order: &[u32]) -> Self {
        let (row_vectors, row_scalars) = (
            low.row_vectors[side as usize].len(),
            low.row_scalars[side as usize].len(),
        );
        let mut out = Self::empty(low.dim, row_vectors, row_scalars);
        let wide = row_vectors * low.dim;
        let mut rows = Block::zeros(order.len() * wide);
        for (at, row) in order.iter().enumerate() {
            let row = &values[*row as usize * (wide + row_scalars)..][..wide + row_scalars];
            rows[at * wide..][..wide]
                .iter_mut()
                .zip(row)
                .for_each(|(o, v)| *o = T::rounded(*v));
            out.row_attrs
                .extend(row[wide..].iter().map(|v| T::rounded(*v)));
        }
        out.rows = Held::Own(rows);
        out
    }
    /// Hoisted rows of y in another order, as strips of `lanes` lanes.
    pub fn arranged_by_strip(low: &Lowered, values: &[f64], order: &[u32], lanes: usize) -> Self {
        let (row_vectors, row_scalars) = (low.row_vectors[1].len(), low.row_scalars[1].len());
        let blocks = order.len().div_ceil(BLOCK);
        let mut out = Self::empty(low.dim, row_vectors, row_scalars).with_strips(lanes, blocks);
        let (wide, dim) = (row_vectors * low.dim, low.dim);
        for at in 0..blocks * BLOCK {
            // Lanes past the last row repeat it.
            let row = &values[order[at.min(order.len() - 1)] as usize * (wide + row_scalars)..]
                [..wide + row_scalars];
            let (block, lane) = (at / BLOCK, at % BLOCK);
            for (s, stream) in row[..wide].chunks(dim.max(1)).enumerate() {
                let first = block * BLOCK * wide
                    + (lane / lanes * row_vectors + s) * dim * lanes
                    + lane % lanes;
                let to = out.strips[first..].iter_mut().step_by(lanes);
                to.zip(stream).for_each(|(o, v)| *o = T::rounded(*v));
            }
            for (a, v) in row[wide..].iter().enumerate() {
                out.lane_attrs[(block * row_scalars + a) * BLOCK + lane] = T::rounded(*v);
            }
        }
        out
    }
    /// Room for `count` rows of x, one after another.
    pub fn room(low: &Lowered, count: usize) -> Self {
        let (row_vectors, row_scalars) = (low.row_vectors[0].len(), low.row_scalars[0].len());
        let mut out = Self::empty(low.dim, row_vectors, row_scalars);
        out.rows = Held::Own(Block::zeros(count * row_vectors * low.dim));
        out.row_attrs = vec![T::default(); count * row_scalars];
        out
    }
    /// Room for `blocks` of rows of y, as strips of `lanes` lanes.
    pub fn room_in_strips(low: &Lowered, lanes: usize, blocks: usize) -> Self {
        Self::empty(low.dim, low.row_vectors[1].len(), low.row_scalars[1].len())
            .with_strips(lanes, blocks)
    }
    /// Takes rows `ids` of hoisted `values`, one after another, in place of what it had.
    pub fn take(&mut self, values: &[f64], ids: &[u32]) {
        let (wide, row_scalars) = (self.row_vectors * self.dim, self.row_scalars);
        let Held::Own(rows) = &mut self.rows else {
            return;
        };
        for (at, id) in ids.iter().enumerate() {
            let row = &values[*id as usize * (wide + row_scalars)..][..wide + row_scalars];
            rows[at * wide..][..wide]
                .iter_mut()
                .zip(row)
                .for_each(|(o, v)| *o = T::rounded(*v));
            self.row_attrs[at * row_scalars..][..row_scalars]
                .iter_mut()
                .zip(&row[wide..])
                .for_each(|(o, v)| *o = T::rounded(*v));
        }
    }
    /// Takes rows `ids` of hoisted `values` as strips, in place of what it had; lanes of the last
    /// strip behind them repeat the last of them.
    pub fn take_in_strips(&mut self, values: &[f64], ids: &[u32]) {
        let (wide, row_scalars, lanes) =
            (self.row_vectors * self.dim, self.row_scalars, self.lanes);
        let end = ids
            .len()
            .next_multiple_of(lanes)
            .min(self.strips.len().max(self.lane_attrs.len()));
        for at in 0..end {
            let Some(id) = ids.get(at).or(ids.last()) else {
                return;
            };
            let row = &values[*id as usize * (wide + row_scalars)..][..wide + row_scalars];
            // By block, strip and component: strips of a block follow one another.
            let first = at / lanes * lanes * wide + at % lanes;
            row[..wide]
                .iter()
                .enumerate()
                .for_each(|(k, v)| self.strips[first + k * lanes] = T::rounded(*v));
            let (block, lane) = (at / BLOCK, at % BLOCK);
            let numbers = row[wide..].iter().enumerate();
            numbers.for_each(|(a, v)| {
                self.lane_attrs[(block * row_scalars + a) * BLOCK + lane] = T::rounded(*v)
            });
        }
    }
    /// Room for a block of rows of y that have this many numbers alone.
    pub fn room_of_numbers(numbers: usize) -> Self {
        Self::empty(0, 0, numbers).with_strips(BLOCK, 1)
    }
    /// Number `number` of the rows of the first block.
    pub fn number_panel(&mut self, number: usize) -> &mut [T] {
        &mut self.lane_attrs[number * BLOCK..][..BLOCK]
    }
    /// No rows.
    pub fn empty(dim: usize, row_vectors: usize, row_scalars: usize) -> Self {
        let (strips, lane_attrs) = (Block::zeros(0), Block::zeros(0));
        Rows {
            dim,
            row_vectors,
            row_scalars,
            rows: Held::Own(Block::default()),
            row_attrs: vec![],
            lanes: BLOCK,
            strips,
            lane_attrs,
        }
    }
    /// Packs hoisted vector `number` of all rows: `pack(data, rows, components, stride)`.
    pub fn packed<P>(&self, number: usize, pack: impl Fn(&[T], usize, usize, usize) -> P) -> P {
        let stride = self.row_vectors * self.dim;
        let data = self.rows.get(number * self.dim..).unwrap_or(&[]);
        pack(data, self.count(), self.dim, stride)
    }
    /// Whether all components of rows that lie one after another are finite.
    pub fn is_finite(&self) -> bool {
        self.rows
            .par_chunks(1 << 16)
            .all(|part| part.iter().fold(true, |all, v| all & v.wide().is_finite()))
    }
    /// Rows, one after another, that have vectors.
    pub fn count(&self) -> usize {
        self.rows.len() / (self.row_vectors * self.dim).max(1)
    }
    /// Hoisted vector `number` of row `row`.
    #[inline(always)]
    pub fn stream(&self, number: usize, row: usize) -> &[T] {
        &self.rows[(row * self.row_vectors + number) * self.dim..][..self.dim]
    }
    /// Hoisted number `number` of row `row`.
    #[inline(always)]
    pub fn attr(&self, number: usize, row: usize) -> T {
        self.row_attrs[row * self.row_scalars + number]
    }
    /// Hoisted vector `number` of the lanes of `block`, by component; of rows in whole panels.
    #[inline(always)]
    pub fn panel(&self, number: usize, block: usize) -> &[Lanes<T>] {
        &self.strips.as_chunks().0[(block * self.row_vectors + number) * self.dim..][..self.dim]
    }
    /// Component `k` of hoisted vector `number` of the lanes of `block`.
    #[inline(always)]
    pub fn component(&self, number: usize, block: usize, k: usize, to: &mut [f64; BLOCK]) {
        let strips = self
            .block(block)
            .chunks((self.row_vectors * self.dim * self.lanes).max(1));
        for (to, strip) in to.chunks_mut(self.lanes).zip(strips) {
            let from = &strip[(number * self.dim + k) * self.lanes..][..self.lanes];
            to.iter_mut().zip(from).for_each(|(t, v)| *t = v.wide());
        }
    }
    /// All strips of `block`.
    pub fn block(&self, block: usize) -> &[T] {
        self.blocks(&(block..block + 1))
    }
    /// All strips of `blocks`.
    pub fn blocks(&self, blocks: &Range<usize>) -> &[T] {
        let wide = BLOCK * self.row_vectors * self.dim;
        &self.strips[blocks.start * wide..blocks.end * wide]
    }
    /// Hoisted vector `number` of the lanes of strip `strip`, by component.
    pub fn strip(&self, number: usize, strip: usize) -> &[T] {
        let wide = self.dim * self.lanes;
        &self.strips[(strip * self.row_vectors + number) * wide..][..wide]
    }
    /// Hoisted numbers of the lanes of `blocks`.
    pub fn attrs_of_blocks(&self, blocks: &Range<usize>) -> &[T] {
        let wide = BLOCK * self.row_scalars;
        &self.lane_attrs[blocks.start * wide..blocks.end * wide]
    }
    /// Whether strips and numbers go on from block to block as they do within one.
    pub fn is_seamless(&self) -> bool {
        self.row_scalars <= 1
    }
    /// Hoisted vectors of `rows`.
    pub fn streams_of(&self, rows: &Range<usize>) -> &[T] {
        let wide = self.row_vectors * self.dim;
        &self.rows[rows.start * wide..rows.end * wide]
    }
    /// Hoisted numbers of `rows`.
    pub fn attrs_of(&self, rows: &Range<usize>) -> &[T] {
        &self.row_attrs[rows.start * self.row_scalars..rows.end * self.row_scalars]
    }
    /// Hoisted number `number` of the lanes of `block`.
    #[inline(always)]
    pub fn attr_panel(&self, number: usize, block: usize) -> &Lanes<T> {
        &self.lane_attrs.as_chunks().0[block * self.row_scalars + number]
    }
}
