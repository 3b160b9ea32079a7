//! Contraction of two tables as a batch of matrix products, packed straight from any layout,
//! without transposed copies.
//!
//! Every variable belongs to one of four groups: *batch* (in both tables and the result), *rows*
//! (in the first and the result), *columns* (in the second and the result), *depth* (in both,
//! summed).
//!
//! ```text
//! for each task: a batch entry (or a group of them), a strip of rows and a strip of columns   in parallel
//!     for each block of the depth, at most 256
//!         pack the second table's columns into panels
//!         for each block of rows
//!             pack the first table's rows into panels
//!             for each register tile: multiply panels (super::micro)
//!                 the first block of the depth stores, later ones add
//! ```
//!
//! Why this shape: packing reads each entry once per block, at any stride, and the multiplication
//! then reads only consecutive memory that stays in the cache; a transposed copy would write and
//! read both tables once more.
//!
//! Products of the batch whose entries share lines of memory are taken together, so that every line
//! is read and written once. A deep product with a small result is split along its depth, in parts
//! that depend on its size alone and are merged in order: the same bits for any number of threads.

use super::micro::{COLUMNS, ROWS};
use super::pack::{Form, Offsets, PackedPlaces, Panels, pack};
use super::places::DigitPlaces;
use super::real::Real;
use super::shape::{Digit, Shape};
use super::spread::spread;
use super::target::{Put, Target};
use rayon::prelude::*;
use std::ops::Range;
use zipfold_vector::memory::Block;

/// Packed columns.
const WIDE: Form = Form {
    width: COLUMNS,
    unit: COLUMNS,
};
/// Depth of a packed block of one product, and of several together.
const DEPTH: usize = 256;
const SHORT_DEPTH: usize = 128;
/// Most products that are taken together because they share lines, and entries of more that lie
/// near each other.
const TOGETHER: usize = 16;
const HELD: usize = 96 << 10;
/// Entries within which products lie near each other.
const NEAR: usize = 512;
/// Entries of a packed block of rows: it stays in the second cache.
const BLOCK: usize = 240 * DEPTH;
/// Columns of a packed block of one product.
const BLOCK_COLUMNS: usize = 1024;
/// Entries of a line of the result, at least.
const LINE: usize = 8;
/// Multiply-adds that one task should hold.
const TASK: usize = 1 << 22;
/// Depth of the least part of a deep product, most parts, and entries that the parts' results may
/// take together.
const PART: usize = 512;
const PARTS: usize = 64;
const PART_ENTRIES: usize = 1 << 20;

/// Predicted time of products of matrices over that of their arithmetic: what packing both inputs
/// and storing the result adds. Entries that lie side by side go by vectors, others one by one.
pub fn cost(shape: &Shape) -> f64 {
    let stride = |d: &Digit, table: usize| if table < 2 { d.strides[table] } else { d.out };
    let entry = |table: usize| {
        let fastest = shape.digits.iter().rfind(|d| stride(d, table) > 0);
        if fastest.is_some_and(|d| d.card >= LINE && role(d) != Role::Batch) {
            4.0
        } else {
            20.0
        }
    };
    let [m, n, k] =
        [Role::First, Role::Second, Role::Depth].map(|role| size_of_role(shape, role) as f64);
    let padded = |x: f64| (x / LINE as f64).ceil() * LINE as f64 / x;
    padded(m) * padded(n) + entry(0) / n + entry(1) / m + entry(2) / k.min(SHORT_DEPTH as f64)
}

/// A contraction seen as products of matrices: offsets of rows, columns, depth and batch in every
/// table.
#[derive(Debug)]
pub struct GemmMapping {
    swap: bool,
    rows: Side,
    columns: Side,
    depth: [DigitPlaces; 2],
    /// Groups of products, by their offsets in the inputs and the result.
    batch: [DigitPlaces; 3],
    /// Products of a group, which share lines of memory.
    group: Vec<[usize; 3]>,
}

#[derive(Debug)]
struct Side {
    input: DigitPlaces,
    out: DigitPlaces,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Batch,
    First,
    Second,
    Depth,
    Other,
}

fn role(d: &Digit) -> Role {
    match (d.strides[0] > 0, d.strides[1] > 0, d.summed) {
        (true, true, false) => Role::Batch,
        (true, false, false) => Role::First,
        (false, true, false) => Role::Second,
        (true, true, true) => Role::Depth,
        _ => Role::Other,
    }
}

/// The number of combinations of the digits that have a role.
fn size_of_role(shape: &Shape, wanted: Role) -> usize {
    let own = shape.digits.iter().filter(|d| role(d) == wanted);
    own.map(|d| d.card).product()
}

/// The places of the digits that have a role, by one of their strides.
fn places_of_role(digits: &[Digit], wanted: Role, stride: impl Fn(&Digit) -> usize) -> DigitPlaces {
    let own = digits.iter().filter(|d| role(d) == wanted);
    DigitPlaces::new(&own.map(|d| (d.card, stride(d))).collect::<Vec<_>>())
}

impl Side {
    /// The rows or columns that the digits of a role make.
    fn of_role(shape: &Shape, role: Role, input: usize) -> Self {
        Side {
            input: places_of_role(&shape.digits, role, |d| d.strides[input]),
            out: places_of_role(&shape.digits, role, |d| d.out),
        }
    }
    /// Lists the offsets of some of the rows or columns.
    fn list(&self, some: Range<usize>, offsets: &mut Offsets) {
        self.input.list(some.clone(), &mut offsets[0]);
        self.out.list(some, &mut offsets[2]);
    }
}

/// A block of products of one group.
struct Part {
    group: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    depth: Range<usize>,
}

impl GemmMapping {
    /// `shape` as matrix products, where that is both possible and worth it.
    pub fn recognise(shape: &Shape) -> Option<Self> {
        if shape.inputs != 2 || shape.digits.iter().any(|d| role(d) == Role::Other) {
            return None;
        }
        let [m, n, k] =
            [Role::First, Role::Second, Role::Depth].map(|role| size_of_role(shape, role));
        if m.min(n) < 4 || m.max(n) < 8 || k < 4 || m * n < 64 {
            return None;
        }
        let fastest = shape.digits.iter().rev().find(|d| !d.summed)?;
        let swap = match role(fastest) {
            Role::Second => true,
            Role::First => false,
            _ => n > m,
        };
        let [row, column] = if swap {
            [Role::Second, Role::First]
        } else {
            [Role::First, Role::Second]
        };
        let inputs = [usize::from(swap), usize::from(!swap)];
        let (far, near) = together(shape);
        Some(GemmMapping {
            swap,
            rows: Side::of_role(shape, row, inputs[0]),
            columns: Side::of_role(shape, column, inputs[1]),
            depth: inputs
                .map(|input| places_of_role(&shape.digits, Role::Depth, |d| d.strides[input])),
            batch: places_of_products(&far, inputs),
            group: {
                let near = places_of_products(&near, inputs);
                (0..near[0].len())
                    .map(|i| near.each_ref().map(|places| places.offset(i)))
                    .collect()
            },
        })
    }
    /// Writes all products to `out`: sums, or maxima of non-negative numbers.
    pub fn run<T: Real>(&self, inputs: [&[T]; 2], max: bool, out: &mut [T]) {
        let inputs = if self.swap {
            [inputs[1], inputs[0]]
        } else {
            inputs
        };
        let (m, n, depth) = (
            self.rows.input.len(),
            self.columns.input.len(),
            self.depth[0].len(),
        );
        let work = m * n * depth * self.group.len();
        let pieces = (depth / PART)
            .min(PARTS)
            .min(PART_ENTRIES / out.len().max(1));
        if self.batch[0].len() < 2 && m * n * self.group.len() < BLOCK && pieces > 1 {
            return self.deep(inputs, max, pieces, out);
        }
        let wide = self.wide();
        let least = if work > TASK / 2 { 4 } else { 1 };
        let strip = if self.batch[0].len() < least {
            self.strip_of_task()
        } else {
            m
        };
        let strips: Vec<(usize, usize)> = (0..n)
            .step_by(wide)
            .flat_map(|c| (0..m).step_by(strip).map(move |r| (c, r)))
            .collect();
        let several = if strips.len() > 1 {
            1
        } else {
            (TASK / work).max(1)
        };
        let target = Target::new(out);
        let parts = self.batch[0].len() * strips.len();
        let task = |panels: &mut Panels<T>, task: usize| {
            for at in task * several..((task + 1) * several).min(parts) {
                let (c, r) = strips[at % strips.len()];
                let part = Part {
                    group: at / strips.len(),
                    rows: r..(r + strip).min(m),
                    columns: c..(c + wide).min(n),
                    depth: 0..depth,
                };
                self.part(inputs, &part, max, panels, &target);
            }
            target.settle();
        };
        let count = parts.div_ceil(several);
        spread(count, work * self.batch[0].len(), Panels::default, task);
    }
    /// Rows of a task where the batch alone has too few tasks for all threads.
    fn strip_of_task(&self) -> usize {
        let (m, n) = (self.rows.input.len(), self.columns.input.len());
        (TASK / (self.depth[0].len() * self.group.len() * n.min(BLOCK_COLUMNS)))
            .next_multiple_of(240)
            .min(m.div_ceil(2).next_multiple_of(ROWS * LINE))
            .max(ROWS * LINE)
    }
    /// Splits the depth; partial results are merged in order.
    fn deep<T: Real>(&self, inputs: [&[T]; 2], max: bool, parts: usize, out: &mut [T]) {
        let depth = self.depth[0].len();
        let one = |p: usize| {
            let mut to = Block::default();
            to.at_least(out.len());
            let target = Target::new(&mut to);
            let part = Part {
                group: 0,
                rows: 0..self.rows.input.len(),
                columns: 0..self.columns.input.len(),
                depth: p * depth / parts..(p + 1) * depth / parts,
            };
            self.part(inputs, &part, max, &mut Panels::default(), &target);
            target.settle();
            to
        };
        let sums: Vec<Block<T>> = (0..parts).into_par_iter().map(one).collect();
        for (p, part) in sums.iter().enumerate() {
            let how = if p == 0 { Put::Over } else { Put::more(max) };
            Target::new(out).run(0, &part[..out.len()], how);
        }
    }
    /// Columns of a packed block.
    fn wide(&self) -> usize {
        let deepest = self.depth[0].len().min(self.most());
        (BLOCK_COLUMNS * DEPTH / deepest / self.group.len() / COLUMNS).max(1) * COLUMNS
    }
    /// Depth of a packed block, at most.
    fn most(&self) -> usize {
        if self.group.len() == 1 {
            DEPTH
        } else {
            SHORT_DEPTH
        }
    }
    /// Some rows and columns of the products of a group, over part of the depth.
    fn part<T: Real>(
        &self,
        [a, b]: [&[T]; 2],
        part: &Part,
        max: bool,
        panels: &mut Panels<T>,
        out: &Target<T>,
    ) {
        let base = self
            .batch
            .each_ref()
            .map(|places| places.offset(part.group));
        let most = self.most();
        let high = rows_form::<T>();
        let deepest = part.depth.len().min(most);
        let block_rows = (BLOCK / deepest / self.group.len() / high.width).max(1) * high.width;
        let mut offsets = std::mem::take(&mut panels.offsets);
        let [of_rows, of_columns] = &mut offsets;
        self.columns.list(part.columns.clone(), of_columns);
        for k in part.depth.clone().step_by(most) {
            let ks = k..(k + most).min(part.depth.end);
            self.depth[0].list(ks.clone(), &mut of_rows[1]);
            self.depth[1].list(ks.clone(), &mut of_columns[1]);
            let products = self.group.iter().map(|product| base[1] + product[1]);
            pack_products(b, products, of_columns, WIDE, &mut panels.b);
            for r in part.rows.clone().step_by(block_rows) {
                let rs = r..(r + block_rows).min(part.rows.end);
                self.rows.list(rs, of_rows);
                let products = self.group.iter().map(|product| base[0] + product[0]);
                pack_products(a, products, of_rows, high, &mut panels.a);
                let tiles = Tiles {
                    base: base[2],
                    rows: &of_rows[2],
                    columns: &of_columns[2],
                    depth: ks.len(),
                    put: part.put(&ks, max),
                    max,
                };
                self.block(&tiles, panels, out);
            }
        }
        panels.offsets = offsets;
    }
    /// All register tiles of one packed block.
    fn block<T: Real>(&self, tiles: &Tiles<'_>, panels: &Panels<T>, out: &Target<T>) {
        let Tiles {
            depth, put, max, ..
        } = *tiles;
        let high = rows_form::<T>();
        let height = high.width;
        let apart = [
            high.entries(tiles.rows.len(), depth),
            WIDE.entries(tiles.columns.len(), depth),
        ];
        let mut tile = Tile([T::default(); ROWS * 16 * COLUMNS]);
        let Tiles { rows, columns, .. } = *tiles;
        // Rows between two lines of the result.
        let line = rows
            .get(1)
            .map_or(1, |next| (LINE / (next - rows[0]).max(1)).max(1));
        let past = put == Put::Last && out.past() && rows.chunks(LINE).all(straight);
        for (j, columns) in columns.chunks(COLUMNS).enumerate() {
            for (i, rows) in rows.chunks(height).enumerate() {
                let vectors = rows.len().div_ceil(T::LANES);
                let width = vectors * T::LANES;
                for (g, product) in self.group.iter().enumerate() {
                    let base = tiles.base + product[2];
                    if g == 0 && !past {
                        columns.iter().for_each(|c| {
                            rows.iter()
                                .step_by(line)
                                .for_each(|r| out.ask(base + c + r))
                        });
                    }
                    let a = &panels.a[g * apart[0] + i * height * depth..][..width * depth];
                    let b = &panels.b[g * apart[1] + j * COLUMNS * depth..][..COLUMNS * depth];
                    super::micro::tile(vectors, depth, a, b, max, &mut tile.0);
                    store(out, base, [rows, columns], &tile.0, width, put);
                }
            }
        }
    }
}

impl Part {
    /// How products over the depths `ks` go to the result: the first block of the depth stores,
    /// later ones add.
    fn put(&self, ks: &Range<usize>, max: bool) -> Put {
        match (ks.start > self.depth.start, ks.end == self.depth.end) {
            (true, _) => Put::more(max),
            (false, true) => Put::Last,
            (false, false) => Put::Over,
        }
    }
}

/// Packed rows.
fn rows_form<T: Real>() -> Form {
    Form {
        width: ROWS * T::LANES,
        unit: T::LANES,
    }
}

/// The places of products in the inputs and the result.
fn places_of_products(digits: &[Digit], inputs: [usize; 2]) -> [DigitPlaces; 3] {
    let [a, b] = inputs.map(|input| places_of_role(digits, Role::Batch, |d| d.strides[input]));
    [a, b, places_of_role(digits, Role::Batch, |d| d.out)]
}

/// Packs the same rows or columns of each of the products that begin at `products`.
fn pack_products<T: Real>(
    from: &[T],
    products: impl ExactSizeIterator<Item = usize> + Clone,
    offsets: &Offsets,
    form: Form,
    panel: &mut Block<T>,
) {
    let places = PackedPlaces {
        rows: &offsets[0],
        depth: &offsets[1],
    };
    panel.at_least(products.len() * form.entries(places.rows.len(), places.depth.len()));
    pack(from, products, places, form, panel);
}

/// The tiles of a packed block.
struct Tiles<'a> {
    base: usize,
    rows: &'a [usize],
    columns: &'a [usize],
    depth: usize,
    put: Put,
    max: bool,
}

/// A register tile in memory, by whole lines.
#[repr(align(64))]
struct Tile<T>([T; ROWS * 16 * COLUMNS]);

/// The batch as digits between groups and digits within one: those whose entries share lines in
/// some table.
fn together(shape: &Shape) -> (Vec<Digit>, Vec<Digit>) {
    let (mut far, mut near, mut len) = (Vec::new(), Vec::new(), 1);
    let [m, n, k] = [Role::First, Role::Second, Role::Depth].map(|role| size_of_role(shape, role));
    let small = HELD / (m + n) / k.min(SHORT_DEPTH);
    for d in shape.digits.iter().rev().filter(|d| role(d) == Role::Batch) {
        let least = d.strides[0].min(d.strides[1]).min(d.out);
        let shares_lines = if least < LINE { TOGETHER } else { 1 };
        let most = if least < NEAR {
            small.max(shares_lines)
        } else {
            1
        };
        let part = (1..=most / len)
            .rev()
            .find(|p| d.card.is_multiple_of(*p))
            .unwrap_or(1);
        let mut slow = Digit {
            card: d.card / part,
            out: d.out * part,
            ..*d
        };
        slow.strides.iter_mut().for_each(|s| *s *= part);
        len *= part;
        near.push(Digit { card: part, ..*d });
        far.push(slow);
    }
    far.reverse();
    near.reverse();
    (far, near)
}

/// Whether ascending offsets lie side by side.
fn straight(rows: &[usize]) -> bool {
    rows[rows.len() - 1] == rows[0] + rows.len() - 1
}

/// Stores a tile of `width` rows a column.
fn store<T: Real>(
    out: &Target<T>,
    base: usize,
    [rows, cols]: [&[usize]; 2],
    tile: &[T],
    width: usize,
    put: Put,
) {
    if straight(rows) {
        for (col, from) in cols.iter().zip(tile.chunks(width)) {
            out.run(base + col + rows[0], &from[..rows.len()], put);
        }
        return;
    }
    for (at, rows) in rows.chunks(LINE).enumerate() {
        let run = straight(rows);
        for (col, from) in cols.iter().zip(tile.chunks(width)) {
            let from = &from[at * LINE..][..rows.len()];
            match run {
                true => out.run(base + col + rows[0], from, put),
                false => out.scatter(base + col, rows, from, put),
            }
        }
    }
}
