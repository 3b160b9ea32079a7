//! Contraction of two tables as a batch of matrix products, packed straight from any layout (no transposed copies).

use super::micro::{COLUMNS, ROWS};
use super::real::Real;
use super::shape::{Digit, Shape, offsets};
use super::spread::spread;
use super::target::Target;

/// Depth of a packed block.
const DEPTH: usize = 256;
/// Rows of a packed block.
const BLOCK_ROWS: usize = 240;
/// Columns of a packed block.
const BLOCK_COLUMNS: usize = 1024;
/// Rows between two lines of the result that are asked for ahead.
const LINE: usize = 8;
/// Multiply-adds that one task should hold.
const TASK: usize = 1 << 22;

/// Entries within which a change of the batch makes every pass read or write only part of what memory brings.
const NEAR: usize = 64;

/// Predicted time of products of matrices over that of their arithmetic: what packing both inputs and storing the result adds.
/// Entries that lie side by side go by vectors, others one by one, and those between entries of other products from afar.
pub fn cost(shape: &Shape) -> f64 {
    let stride = |d: &Digit, table: usize| if table < 2 { d.strides[table] } else { d.out };
    let entry = |table: usize| {
        let own = shape.digits.iter().filter(|d| stride(d, table) > 0);
        let fastest = own.clone().next_back();
        match own.clone().any(|d| role(d) == Role::Batch && stride(d, table) < NEAR) {
            true => 48.0,
            false if fastest.is_some_and(|d| d.card >= 8 && role(d) != Role::Depth) => 4.0,
            false => 12.0,
        }
    };
    let size = |r: Role| shape.digits.iter().filter(|d| role(d) == r).map(|d| d.card as f64).product::<f64>();
    1.0 + entry(0) / size(Role::Second) + entry(1) / size(Role::First) + entry(2) / size(Role::Depth)
}

/// A contraction seen as products of matrices: offsets of rows, columns, depth and batch in every table.
#[derive(Debug)]
pub struct Matrices {
    swap: bool,
    rows: Side,
    columns: Side,
    depth: (Vec<usize>, Vec<usize>),
    batch: Vec<[usize; 3]>,
}

#[derive(Debug)]
struct Side {
    input: Vec<usize>,
    out: Vec<usize>,
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

impl Matrices {
    /// `shape` as matrix products, where that is both possible and worth it.
    pub fn of(shape: &Shape) -> Option<Self> {
        let size = |r: Role| shape.digits.iter().filter(|d| role(d) == r).map(|d| d.card).product::<usize>();
        if shape.inputs != 2 || shape.digits.iter().any(|d| role(d) == Role::Other) {
            return None;
        }
        let (m, n, k) = (size(Role::First), size(Role::Second), size(Role::Depth));
        if m.min(n) < 4 || m.max(n) < 8 || k < 4 || m * n < 64 {
            return None;
        }
        let fastest = shape.digits.iter().rev().find(|d| !d.summed)?;
        let swap = match role(fastest) {
            Role::Second => true,
            Role::First => false,
            _ => n > m,
        };
        let list = |r: Role, stride: &dyn Fn(&Digit) -> usize| {
            let digits: Vec<(usize, usize)> =
                shape.digits.iter().filter(|d| role(d) == r).map(|d| (d.card, stride(d))).collect();
            offsets(&digits)
        };
        let side = |r: Role, input: usize| Side { input: list(r, &|d| d.strides[input]), out: list(r, &|d| d.out) };
        let (first, second) = (side(Role::First, 0), side(Role::Second, 1));
        let depth = (
            list(Role::Depth, &|d| d.strides[usize::from(swap)]),
            list(Role::Depth, &|d| d.strides[usize::from(!swap)]),
        );
        let (a, b) = (
            list(Role::Batch, &|d| d.strides[usize::from(swap)]),
            list(Role::Batch, &|d| d.strides[usize::from(!swap)]),
        );
        let c = list(Role::Batch, &|d| d.out);
        let batch = (0..c.len()).map(|i| [a[i], b[i], c[i]]).collect();
        let (rows, columns) = if swap { (second, first) } else { (first, second) };
        Some(Matrices { swap, rows, columns, depth, batch })
    }
    /// Writes all products to `out`: sums, or maxima of non-negative numbers.
    pub fn run<T: Real>(&self, inputs: [&[T]; 2], max: bool, out: &mut [T]) {
        let [a, b] = if self.swap { [inputs[1], inputs[0]] } else { inputs };
        let target = Target::new(out);
        let (m, n, k) = (self.rows.input.len(), self.columns.input.len(), self.depth.0.len());
        let per_product = m * n * k;
        if per_product * 2 > TASK {
            let strip = (TASK / (k * n.min(BLOCK_COLUMNS)))
                .next_multiple_of(BLOCK_ROWS)
                .min(m.div_ceil(2).next_multiple_of(24))
                .max(24);
            let tasks: Vec<(usize, usize, usize)> = (0..self.batch.len())
                .flat_map(|g| {
                    (0..n).step_by(BLOCK_COLUMNS).flat_map(move |c| (0..m).step_by(strip).map(move |r| (g, c, r)))
                })
                .collect();
            spread(tasks.len(), per_product, Buffers::default, |buffers, task| {
                let (g, c, r) = tasks[task];
                self.product(a, b, g, r..(r + strip).min(m), c..(c + BLOCK_COLUMNS).min(n), max, buffers, &target);
            });
            return;
        }
        let group = (TASK / per_product).max(1);
        let work = per_product * self.batch.len();
        spread(self.batch.len().div_ceil(group), work, Buffers::default, |buffers, task| {
            for g in task * group..((task + 1) * group).min(self.batch.len()) {
                for c in (0..n).step_by(BLOCK_COLUMNS) {
                    self.product(a, b, g, 0..m, c..(c + BLOCK_COLUMNS).min(n), max, buffers, &target);
                }
            }
        });
    }
    /// One block of rows and columns of product `g`, over the whole depth.
    #[expect(clippy::too_many_arguments, reason = "the coordinates of a block")]
    fn product<T: Real>(
        &self,
        a: &[T],
        b: &[T],
        g: usize,
        rows: std::ops::Range<usize>,
        columns: std::ops::Range<usize>,
        max: bool,
        buffers: &mut Buffers<T>,
        out: &Target<T>,
    ) {
        let [base_a, base_b, base_c] = self.batch[g];
        let depth = self.depth.0.len();
        for k in (0..depth).step_by(DEPTH) {
            let ks = k..(k + DEPTH).min(depth);
            pack(
                &b[base_b..],
                &self.columns.input[columns.clone()],
                &self.depth.1[ks.clone()],
                COLUMNS,
                &mut buffers.b,
            );
            for r in (rows.start..rows.end).step_by(BLOCK_ROWS) {
                let rs = r..(r + BLOCK_ROWS).min(rows.end);
                pack(
                    &a[base_a..],
                    &self.rows.input[rs.clone()],
                    &self.depth.0[ks.clone()],
                    ROWS * T::LANES,
                    &mut buffers.a,
                );
                self.block(rs, columns.clone(), ks.len(), k > 0, base_c, max, buffers, out);
            }
        }
    }
    /// All register tiles of one packed block.
    #[expect(clippy::too_many_arguments, reason = "the coordinates of a block")]
    fn block<T: Real>(
        &self,
        rows: std::ops::Range<usize>,
        columns: std::ops::Range<usize>,
        depth: usize,
        more: bool,
        base: usize,
        max: bool,
        buffers: &mut Buffers<T>,
        out: &Target<T>,
    ) {
        let height = ROWS * T::LANES;
        let mut tile = [T::default(); 3 * 16 * COLUMNS];
        for (j, c) in columns.clone().step_by(COLUMNS).enumerate() {
            let packed_b = &buffers.b[j * COLUMNS * depth..][..COLUMNS * depth];
            let cols = &self.columns.out[c..(c + COLUMNS).min(columns.end)];
            let mut at = 0;
            for r in rows.clone().step_by(height) {
                let these = &self.rows.out[r..(r + height).min(rows.end)];
                let vectors = these.len().div_ceil(T::LANES);
                let width = vectors * T::LANES;
                cols.iter().for_each(|c| these.iter().step_by(LINE).for_each(|r| out.ask(base + c + r)));
                T::tile(vectors, depth, &buffers.a[at..at + width * depth], packed_b, max, &mut tile);
                at += width * depth;
                store(out, base, [these, cols], &tile, width, (more, max));
            }
        }
    }
}

#[derive(Default)]
struct Buffers<T> {
    a: Vec<T>,
    b: Vec<T>,
}

/// Packs rows at `offsets` over `depth` into panels of `width` rows, depth slowest within a panel. The last panel is as wide
/// as whole vectors need (columns: always `width`), padded with zeros.
fn pack<T: Real>(from: &[T], offsets: &[usize], depth: &[usize], width: usize, to: &mut Vec<T>) {
    let unit = if width == COLUMNS { COLUMNS } else { T::LANES };
    let len = (offsets.len() / width * width + (offsets.len() % width).next_multiple_of(unit)) * depth.len();
    if to.len() < len {
        to.resize(len, T::default());
    }
    let mut rest = &mut to[..len];
    for rows in offsets.chunks(width) {
        let padded = rows.len().next_multiple_of(unit);
        let (panel, others) = rest.split_at_mut(padded * depth.len());
        rest = others;
        let straight = rows[rows.len() - 1] == rows[0] + rows.len() - 1;
        pack_panel(from, rows, depth, straight, panel);
    }
}

/// One panel, depth by depth; `straight` rows lie side by side.
fn pack_panel<T: Real>(from: &[T], rows: &[usize], depth: &[usize], straight: bool, panel: &mut [T]) {
    let last = rows.iter().copied().max().unwrap_or(0);
    for (k, to) in depth.iter().zip(panel.chunks_exact_mut(panel.len() / depth.len())) {
        let from = &from[*k..][..=last];
        let (to, pad) = to.split_at_mut(rows.len());
        if straight {
            to.copy_from_slice(&from[rows[0]..]);
        } else {
            // SAFETY: no row is above `last`, which is within `from`.
            to.iter_mut().zip(rows).for_each(|(t, o)| *t = unsafe { *from.get_unchecked(*o) });
        }
        pad.fill(T::default());
    }
}

/// Stores a tile of `width` rows a column.
fn store<T: Real>(
    out: &Target<T>,
    base: usize,
    [rows, cols]: [&[usize]; 2],
    tile: &[T],
    width: usize,
    (more, max): (bool, bool),
) {
    let straight = rows[rows.len() - 1] == rows[0] + rows.len() - 1;
    for (col, from) in cols.iter().zip(tile.chunks(width)) {
        if straight {
            out.run(base + col + rows[0], &from[..rows.len()], more, max);
        } else {
            out.scatter(base + col, rows, from, more, max);
        }
    }
}
