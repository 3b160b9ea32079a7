//! Many small matrix products side by side: where the batch runs fastest in memory, its elements are the vector lanes.

use super::real::Real;
use super::shape::{Digit, Shape, offsets};
use super::spread::spread;

/// Rows and columns of a register tile.
pub const TILE: usize = 4;
/// Depth of a packed block.
const DEPTH: usize = 128;
/// Rows (and columns) of a packed block.
const SIDE: usize = 64;

/// A contraction as products of matrices whose entries are vectors along the batch.
#[derive(Debug)]
pub struct Batched {
    /// Offsets of rows in the first input and the result.
    rows: [Vec<usize>; 2],
    /// Offsets of columns in the second input and the result.
    columns: [Vec<usize>; 2],
    /// Offsets of the depth in both inputs.
    depth: [Vec<usize>; 2],
    /// Offsets of the slow part of the batch in both inputs and the result.
    batch: Vec<[usize; 3]>,
    /// Length of the run of batch elements.
    run: usize,
}

impl Batched {
    /// `shape` in this form, where its fastest digit is a batch that is long enough and the products have some size.
    pub fn of(shape: &Shape, lanes: usize) -> Option<Self> {
        let (fastest, rest) = shape.digits.split_last()?;
        let all = |d: &Digit| d.strides[0] > 0 && d.strides[1] > 0 && !d.summed;
        if shape.inputs != 2 || !all(fastest) || fastest.card * 2 < lanes || fastest.out != 1 {
            return None;
        }
        let kind = |d: &Digit| (d.strides[0] > 0, d.strides[1] > 0, d.summed);
        let of = |k: (bool, bool, bool)| rest.iter().filter(|d| kind(d) == k).collect::<Vec<_>>();
        let (first, second) = (of((true, false, false)), of((false, true, false)));
        let (depth, batch) = (of((true, true, true)), of((true, true, false)));
        if first.len() + second.len() + depth.len() + batch.len() != rest.len() {
            return None;
        }
        let size = |d: &[&Digit]| d.iter().map(|d| d.card).product::<usize>();
        if size(&first) < 3 || size(&second) < 3 || size(&depth) < 3 {
            return None;
        }
        let list = |d: &[&Digit], stride: &dyn Fn(&Digit) -> usize| {
            offsets(&d.iter().map(|d| (d.card, stride(d))).collect::<Vec<_>>())
        };
        let (a, b, c) = (list(&batch, &|d| d.strides[0]), list(&batch, &|d| d.strides[1]), list(&batch, &|d| d.out));
        Some(Batched {
            rows: [list(&first, &|d| d.strides[0]), list(&first, &|d| d.out)],
            columns: [list(&second, &|d| d.strides[1]), list(&second, &|d| d.out)],
            depth: [list(&depth, &|d| d.strides[0]), list(&depth, &|d| d.strides[1])],
            batch: (0..c.len()).map(|i| [a[i], b[i], c[i]]).collect(),
            run: fastest.card,
        })
    }
    /// Writes all products to `out`: sums, or maxima of non-negative numbers.
    pub fn run<T: Real>(&self, [a, b]: [&[T]; 2], max: bool, out: &mut [T]) {
        let target = Target(out.as_mut_ptr(), out.len());
        let parts = self.run.div_ceil(T::LANES);
        let blocks: Vec<(usize, usize)> =
            blocks(self.rows[0].len()).flat_map(|r| blocks(self.columns[0].len()).map(move |c| (r, c))).collect();
        let tasks = self.batch.len() * parts * blocks.len();
        let work = self.rows[0].len() * self.columns[0].len() * self.depth[0].len() * self.batch.len() * self.run;
        spread(tasks, work, Buffers::default, |buffers, task| {
            let (part, rest) = (task % parts, task / parts);
            let (block, g) = (blocks[rest % blocks.len()], rest / blocks.len());
            self.block([a, b], g, part * T::LANES, block, max, buffers, &target);
        });
    }
    #[expect(clippy::too_many_arguments, reason = "the coordinates of a block")]
    fn block<T: Real>(
        &self,
        [a, b]: [&[T]; 2],
        g: usize,
        lane: usize,
        (r, c): (usize, usize),
        max: bool,
        buffers: &mut Buffers<T>,
        out: &Target<T>,
    ) {
        let lanes = T::LANES.min(self.run - lane);
        let [base_a, base_b, base_c] = self.batch[g].map(|base| base + lane);
        let rows = r..(r + SIDE).min(self.rows[0].len());
        let columns = c..(c + SIDE).min(self.columns[0].len());
        let mut tile = [T::default(); TILE * TILE * 16];
        for k in (0..self.depth[0].len()).step_by(DEPTH) {
            let ks = k..(k + DEPTH).min(self.depth[0].len());
            pack(a, base_a, &self.rows[0][rows.clone()], &self.depth[0][ks.clone()], lanes, &mut buffers.a);
            pack(b, base_b, &self.columns[0][columns.clone()], &self.depth[1][ks.clone()], lanes, &mut buffers.b);
            let panel = ks.len() * TILE * T::LANES;
            for (i, these) in self.rows[1][rows.clone()].chunks(TILE).enumerate() {
                for (j, cols) in self.columns[1][columns.clone()].chunks(TILE).enumerate() {
                    T::lane_tile(
                        ks.len(),
                        &buffers.a[i * panel..][..panel],
                        &buffers.b[j * panel..][..panel],
                        max,
                        &mut tile,
                    );
                    out.store(base_c, these, cols, &tile, lanes, k > 0, max);
                }
            }
        }
    }
}

fn blocks(len: usize) -> impl Iterator<Item = usize> + Clone {
    (0..len).step_by(SIDE)
}

#[derive(Default)]
struct Buffers<T> {
    a: Vec<T>,
    b: Vec<T>,
}

/// Packs `lanes` neighbours at every (row, depth) into panels of [`TILE`] rows, zeros elsewhere.
fn pack<T: Real>(from: &[T], base: usize, rows: &[usize], depth: &[usize], lanes: usize, to: &mut Vec<T>) {
    let panel = depth.len() * TILE * T::LANES;
    to.clear();
    to.resize(rows.len().div_ceil(TILE) * panel, T::default());
    for (i, row) in rows.iter().enumerate() {
        let start = i / TILE * panel + i % TILE * T::LANES;
        for (k, d) in depth.iter().enumerate() {
            let (slot, from) = (&mut to[start + k * TILE * T::LANES..], &from[base + row + d..]);
            if lanes == T::LANES {
                // A constant length copies without a call.
                slot[..T::LANES].copy_from_slice(&from[..T::LANES]);
            } else {
                slot[..lanes].copy_from_slice(&from[..lanes]);
            }
        }
    }
}

/// The result, shared by tasks that write different entries.
struct Target<T>(*mut T, usize);
// SAFETY: tasks write disjoint entries: every (batch, row, column) belongs to one task, and offsets are one-to-one.
unsafe impl<T: Send> Sync for Target<T> {}

impl<T: Real> Target<T> {
    #[expect(clippy::too_many_arguments, reason = "the coordinates of a tile")]
    fn store(&self, base: usize, rows: &[usize], cols: &[usize], tile: &[T], lanes: usize, more: bool, max: bool) {
        for (i, row) in rows.iter().enumerate() {
            for (j, col) in cols.iter().enumerate() {
                let at = base + row + col;
                assert!(at + lanes <= self.1, "offset beyond the result");
                // SAFETY: in bounds by the assertion, and these entries belong to this task alone.
                let to = unsafe { std::slice::from_raw_parts_mut(self.0.add(at), lanes) };
                let from = &tile[(i * TILE + j) * T::LANES..][..lanes];
                match (more, max) {
                    (false, _) => to.copy_from_slice(from),
                    (true, false) => to.iter_mut().zip(from).for_each(|(t, f)| *t += *f),
                    (true, true) => to.iter_mut().zip(from).for_each(|(t, f)| *t = t.larger(*f)),
                }
            }
        }
    }
}
