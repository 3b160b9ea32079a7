//! Products of matrices whose entries are vectors.
//!
//! A *vector* is a run of neighbours of the result, whatever variables they differ in. So any
//! interleaving of rows, columns and batch is stored by whole vectors; packing lays out both inputs
//! to match.
//!
//! ```text
//! for each task: a batch entry, a strip of vectors and a strip of columns    in parallel
//!     for each block of the depth, at most 64
//!         a = the first table's entries for the vectors, picked (super::pick)
//!         for each 64 columns
//!             b = the second table's entries for these columns, packed
//!             for each register tile of vectors × columns
//!                 sums[v][c] ⊕= a[k][v] · b[k][c]         for k in the block, lane by lane
//!                 result ⊕= sums
//! ```
//!
//! Why this shape: [`super::matrix`] wants rows to run fastest in the result. Where a row and a
//! column variable alternate in its fastest digits, storing its tiles would scatter single entries;
//! here the entries that lie side by side are computed side by side.

use super::pack::Panels;
use super::pick::{Pick, Steps, VisitedPlaces};
use super::real::Real;
use super::shape::{Digit, Shape, offsets};
use super::spread::spread;
use super::target::{Put, Target};
use zipfold_vector::memory::Block;

/// Depth of a packed block.
const DEPTH: usize = 64;
/// Rows of a packed block.
const ROWS: usize = 64;
/// Columns of a packed block.
const COLUMNS: usize = 64;
/// Columns of a task where the depth has several blocks: the result is read and written again for
/// each.
const STRIP: usize = 64;
/// Vectors that are packed side by side, at most: what lies beside an entry in memory is read with
/// it.
const BESIDE: usize = 8;
/// Vectors that the packed blocks of a task hold, at most.
const HELD: usize = 16 << 10;
/// Entries of the runs of the result that are considered.
const LONGEST: usize = 256;
/// Rows and columns of the register tiles.
const TILES: [(usize, usize); 5] = [(4, 4), (2, 8), (8, 2), (1, 16), (16, 1)];
/// Multiply-adds of a vector that packing one takes, and storing one.
const PACKED: f64 = 16.0;
const STORED: f64 = 8.0;
/// Configurations below which a kernel that needs less preparation is no slower.
const FEWEST: f64 = 16384.0;

/// How the digits fall to vectors and matrices.
struct DigitSplit {
    /// The digits of the vectors' run, which lie in the result one after another.
    run: Vec<Digit>,
    /// The others.
    rest: Vec<Digit>,
    tile: (usize, usize),
    cost: f64,
}

/// A contraction of two tables as products of matrices of vectors.
#[derive(Debug)]
pub struct Vectors {
    /// Offsets of rows in the first input and the result.
    rows: [Vec<usize>; 2],
    /// Offsets of columns in the second input and the result.
    columns: [Vec<usize>; 2],
    /// Offsets of the depth in both inputs.
    depth: [Vec<usize>; 2],
    /// Offsets of the batch in both inputs and the result.
    batch: Vec<[usize; 3]>,
    /// Where the entries of each vector of a run lie in both inputs.
    picks: [Vec<Pick>; 2],
    /// Entries of a run.
    run: usize,
    tile: (usize, usize),
    /// Predicted time over that of the arithmetic.
    pub cost: f64,
}

fn kind(d: &Digit) -> (bool, bool, bool) {
    (d.strides[0] > 0, d.strides[1] > 0, d.summed)
}

const BOTH: (bool, bool, bool) = (true, true, false);
const FIRST: (bool, bool, bool) = (true, false, false);
const SECOND: (bool, bool, bool) = (false, true, false);
const SUMMED: (bool, bool, bool) = (true, true, true);

fn size<'a>(digits: impl IntoIterator<Item = &'a Digit>, of: (bool, bool, bool)) -> usize {
    digits
        .into_iter()
        .filter(|d| kind(d) == of)
        .map(|d| d.card)
        .product()
}

/// Multiply-adds of vectors that the products take for each that they need, with the best register
/// tile.
fn cost(run: usize, [rows, columns, depth]: [usize; 3], lanes: usize) -> ((usize, usize), f64) {
    let of = |(r, c): (usize, usize)| {
        let tiles = (rows.div_ceil(r) * columns.div_ceil(c) * (r * c).max(r + c)) as f64;
        let moved =
            PACKED * (rows + columns) as f64 + STORED * (rows * columns) as f64 / depth as f64;
        let needed = (run * rows * columns) as f64 / lanes as f64;
        // Longer runs are read better.
        let short = 1.0 + lanes as f64 / (8 * run) as f64;
        (
            (r, c),
            run.div_ceil(lanes) as f64 * (tiles + moved) / needed * short,
        )
    };
    TILES
        .map(of)
        .into_iter()
        .fold(((4, 4), f64::INFINITY), |best, one| {
            if one.1 < best.1 { one } else { best }
        })
}

impl DigitSplit {
    /// How the vectors of a run are picked from an input, where they can be.
    fn picks(&self, input: usize, lanes: usize) -> Option<Vec<Pick>> {
        let run = self.run.iter().map(|d| (d.card, d.strides[input]));
        offsets(&run.collect::<Vec<_>>())
            .chunks(lanes)
            .map(|part| Pick::for_offsets(part, lanes))
            .collect()
    }
    /// The cheapest run of neighbours of the result.
    fn cheapest(shape: &Shape, lanes: usize) -> Option<Self> {
        let odd = |d: &Digit| ![BOTH, FIRST, SECOND, SUMMED].contains(&kind(d));
        if shape.inputs != 2 || shape.digits.iter().any(odd) {
            return None;
        }
        let mut best: Option<DigitSplit> = None;
        let (mut run, mut rest) = (Vec::new(), shape.digits.clone());
        let mut len = 1;
        while let Some(at) = rest.iter().rposition(|d| !d.summed) {
            let digit = rest.remove(at);
            for part in
                (2..=digit.card).filter(|p| digit.card.is_multiple_of(*p) && len * p <= LONGEST)
            {
                let (slow, fast) = divide(digit, part);
                let more = (slow.card > 1).then_some(slow);
                let sides = [FIRST, SECOND, SUMMED].map(|k| size(rest.iter().chain(&more), k));
                let (tile, cost) = cost(len * part, sides, lanes);
                if best.as_ref().is_none_or(|b| cost < b.cost) {
                    let (mut run, mut rest) = (run.clone(), rest.clone());
                    run.push(fast);
                    more.iter().for_each(|d| rest.insert(at, *d));
                    best = Some(DigitSplit {
                        run,
                        rest,
                        tile,
                        cost,
                    });
                }
            }
            len *= digit.card;
            if len > LONGEST {
                break;
            }
            run.push(digit);
        }
        best.map(|mut best| {
            best.run.reverse();
            best
        })
    }
}

/// A digit as a slow and a fast one of `part` values.
fn divide(digit: Digit, part: usize) -> (Digit, Digit) {
    let mut slow = Digit {
        card: digit.card / part,
        out: digit.out * part,
        ..digit
    };
    slow.strides.iter_mut().for_each(|s| *s *= part);
    (
        slow,
        Digit {
            card: part,
            ..digit
        },
    )
}

impl Vectors {
    /// `shape` in this form, where that is possible at a cost below `most`.
    pub fn recognise(shape: &Shape, lanes: usize, most: f64) -> Option<Self> {
        if shape.visits() < FEWEST {
            return None;
        }
        let split = DigitSplit::cheapest(shape, lanes).filter(|s| s.cost < most)?;
        let list = |k: (bool, bool, bool), stride: &dyn Fn(&Digit) -> usize| {
            let own = split.rest.iter().filter(|d| kind(d) == k);
            offsets(&own.map(|d| (d.card, stride(d))).collect::<Vec<_>>())
        };
        let [first, second] = [0, 1].map(|input| move |d: &Digit| d.strides[input]);
        let out = |d: &Digit| d.out;
        let (a, b, c) = (list(BOTH, &first), list(BOTH, &second), list(BOTH, &out));
        let picks = [split.picks(0, lanes)?, split.picks(1, lanes)?];
        Some(Vectors {
            rows: [list(FIRST, &first), list(FIRST, &out)],
            columns: [list(SECOND, &second), list(SECOND, &out)],
            depth: [list(SUMMED, &first), list(SUMMED, &second)],
            batch: (0..c.len()).map(|i| [a[i], b[i], c[i]]).collect(),
            picks,
            run: split.run.iter().map(|d| d.card).product(),
            tile: split.tile,
            cost: split.cost,
        })
    }
    /// Writes all products to `out`: sums, or maxima of non-negative numbers.
    pub fn run<T: Real>(&self, [a, b]: [&[T]; 2], max: bool, out: &mut [T]) {
        let target = Target::new(out);
        let (rows, columns, depth) = (
            self.rows[0].len(),
            self.columns[0].len(),
            self.depth[0].len(),
        );
        let vectors = self.picks[0].len();
        let packed = (rows.min(ROWS) + columns.min(COLUMNS)) * depth.min(DEPTH);
        let beside = (HELD / packed).clamp(1, BESIDE).min(vectors);
        let strip = if depth > DEPTH {
            STRIP
        } else {
            (1 << 22) / (rows.min(ROWS) * depth * beside * T::LANES)
        };
        let strip = strip.next_multiple_of(COLUMNS).min(columns);
        let parts = [
            vectors.div_ceil(beside),
            rows.div_ceil(ROWS),
            columns.div_ceil(strip),
        ];
        let run_task = |buffers: &mut Panels<T>, task: usize| {
            let (c, task) = (task % parts[2], task / parts[2]);
            let (r, task) = (task % parts[1], task / parts[1]);
            let (v, g) = (task % parts[0], task / parts[0]);
            let block = VectorTask {
                base: self.batch[g],
                vectors: v * beside..((v + 1) * beside).min(vectors),
                rows: r * ROWS..((r + 1) * ROWS).min(rows),
                columns: c * strip..((c + 1) * strip).min(columns),
            };
            self.block([a, b], &block, max, buffers, &target);
            target.settle();
        };
        let work = rows * columns * depth * self.batch.len() * self.run;
        let tasks = self.batch.len() * parts.iter().product::<usize>();
        spread(tasks, work, Panels::default, run_task);
    }
    fn block<T: Real>(
        &self,
        [a, b]: [&[T]; 2],
        block: &VectorTask,
        max: bool,
        buffers: &mut Panels<T>,
        out: &Target<T>,
    ) {
        let [base_a, base_b, _] = block.base;
        let picks = [0, 1].map(|input| &self.picks[input][block.vectors.clone()]);
        for k in (0..self.depth[0].len()).step_by(DEPTH) {
            let [of_a, of_b] =
                [0, 1].map(|i| &self.depth[i][k..(k + DEPTH).min(self.depth[i].len())]);
            let rows = &self.rows[0][block.rows.clone()];
            pack(
                &a[base_a..],
                picks[0],
                rows,
                of_a,
                self.tile.0,
                &mut buffers.a,
            );
            for c in block.columns.clone().step_by(COLUMNS) {
                let columns = c..(c + COLUMNS).min(block.columns.end);
                pack(
                    &b[base_b..],
                    picks[1],
                    &self.columns[0][columns.clone()],
                    of_b,
                    self.tile.1,
                    &mut buffers.b,
                );
                let put = match (k > 0, k + DEPTH >= self.depth[0].len()) {
                    (true, _) => Put::more(max),
                    (false, true) => Put::Last,
                    (false, false) => Put::Over,
                };
                self.tiles(block, columns, of_a.len(), (put, max), buffers, out);
            }
        }
    }
    /// All register tiles of packed blocks.
    fn tiles<T: Real>(
        &self,
        block: &VectorTask,
        columns: std::ops::Range<usize>,
        depth: usize,
        (put, max): (Put, bool),
        buffers: &Panels<T>,
        out: &Target<T>,
    ) {
        let (high, wide) = self.tile;
        let (panel_a, panel_b) = (panel::<T>(depth, high), panel::<T>(depth, wide));
        let (rows, columns) = (&self.rows[1][block.rows.clone()], &self.columns[1][columns]);
        let mut tile = VectorTile([T::default(); 16 * 16]);
        for (at, v) in block.vectors.clone().enumerate() {
            let lanes = T::LANES.min(self.run - v * T::LANES);
            let a = &buffers.a[at * rows.len().div_ceil(high) * panel_a..];
            let b = &buffers.b[at * columns.len().div_ceil(wide) * panel_b..];
            for (i, rows) in rows.chunks(high).enumerate() {
                for (j, columns) in columns.chunks(wide).enumerate() {
                    let (a, b) = (&a[i * panel_a..][..panel_a], &b[j * panel_b..][..panel_b]);
                    let base = block.base[2] + v * T::LANES;
                    if put != Put::Last || !out.past() {
                        rows.iter()
                            .for_each(|r| columns.iter().for_each(|c| out.ask(base + r + c)));
                    }
                    super::micro::vector_tile(self.tile, depth, a, b, max, &mut tile.0);
                    for (row, from) in rows.iter().zip(tile.0.chunks(wide * T::LANES)) {
                        store_row(out, base + row, columns, from, (lanes, put));
                    }
                }
            }
        }
    }
}

/// Stores the vectors of one row of a register tile, `lanes` of each.
#[inline(always)]
fn store_row<T: Real>(
    out: &Target<T>,
    base: usize,
    columns: &[usize],
    from: &[T],
    (lanes, put): (usize, Put),
) {
    for (column, from) in columns.iter().zip(from.chunks(T::LANES)) {
        // Whole vectors have a length that the compiler knows.
        match lanes == T::LANES {
            true => out.run(base + column, &from[..T::LANES], put),
            false => out.run(base + column, &from[..lanes], put),
        }
    }
}

/// What a task computes.
struct VectorTask {
    base: [usize; 3],
    vectors: std::ops::Range<usize>,
    rows: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
}

/// A register tile in memory, by whole lines.
#[repr(align(64))]
struct VectorTile<T>([T; 16 * 16]);

/// Entries of a packed panel; a few more than it holds, so that panels do not fall on the same
/// lines of the cache.
fn panel<T: Real>(depth: usize, side: usize) -> usize {
    (depth * side + 4) * T::LANES
}

/// Packs the vectors at every (row, depth) into panels of `side` rows, vector by vector. Rows
/// beyond the last keep what was there before: nothing computed with them is stored. The side that
/// runs faster in memory goes by within the other.
fn pack<T: Real>(
    from: &[T],
    picks: &[Pick],
    rows: &[usize],
    depth: &[usize],
    side: usize,
    to: &mut Block<T>,
) {
    let panel = panel::<T>(depth.len(), side);
    let apart = rows.len().div_ceil(side) * panel;
    to.at_least(picks.len() * apart);
    let inner_rows = rows.len() > 1 && (depth.len() == 1 || rows[1] < depth[1]);
    if inner_rows {
        let steps = Steps {
            group: side,
            far: panel,
            near: T::LANES,
            apart,
        };
        for (k, d) in depth.iter().enumerate() {
            let places = VisitedPlaces {
                offsets: rows,
                base: *d,
                next: depth[(k + 1).min(depth.len() - 1)],
            };
            T::pick(from, places, picks, steps, &mut to[k * side * T::LANES..]);
        }
    } else {
        let steps = Steps {
            group: 1,
            far: side * T::LANES,
            near: 0,
            apart,
        };
        for (r, row) in rows.iter().enumerate() {
            let places = VisitedPlaces {
                offsets: depth,
                base: *row,
                next: rows[(r + 1).min(rows.len() - 1)],
            };
            T::pick(
                from,
                places,
                picks,
                steps,
                &mut to[r / side * panel + r % side * T::LANES..],
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bucket::{self, Mode};
    use super::super::matrix::GemmMapping;
    use super::super::shape::MOST_INPUTS;
    use super::*;
    use zipfold_core::Random;

    /// A contraction whose digits stand in random order.
    fn shape(random: &mut Random) -> (Shape, [usize; 2]) {
        let (mut first, mut second, mut out, mut digits) = (1, 1, 1, Vec::new());
        for _ in 0..9 {
            let (card, kind) = (2 + random.below(4), random.below(4));
            let mut digit = Digit {
                card,
                strides: [0; MOST_INPUTS],
                out: 0,
                summed: kind == 3,
            };
            let [one, two, ..] = &mut digit.strides;
            let places = [
                (one, &mut first, kind != 2),
                (two, &mut second, kind != 1),
                (&mut digit.out, &mut out, kind != 3),
            ];
            for (stride, len, _) in places.into_iter().filter(|(_, _, holds)| *holds) {
                *stride = *len;
                *len *= card;
            }
            digits.insert(0, digit);
        }
        (
            Shape {
                digits,
                inputs: 2,
                out_len: out,
            },
            [first, second],
        )
    }

    fn agree<T: Real>(bound: f64, seed: u64) -> usize {
        let mut random = Random::new(seed);
        let mut vectors = 0;
        for _ in 0..60 {
            let (shape, sizes) = shape(&mut random);
            if shape.visits() > 3e6 {
                continue;
            }
            let [a, b] = sizes.map(|len| {
                (0..len)
                    .map(|_| T::from_f64(random.unit() + 0.1))
                    .collect::<Vec<T>>()
            });
            let of = |run: &dyn Fn(&mut [T])| {
                let mut out = vec![T::from_f64(7.0); shape.out_len];
                run(&mut out);
                out
            };
            for max in [false, true] {
                let mode = if max { Mode::Max } else { Mode::Sum };
                let want = of(&|out| bucket::contract(&shape, &[&a[..], &b[..]], mode, out));
                let mut got = Vec::new();
                if let Some(kernel) = Vectors::recognise(&shape, T::LANES, f64::INFINITY) {
                    vectors += 1;
                    got.push(of(&|out| kernel.run([&a, &b], max, out)));
                }
                if let Some(kernel) = GemmMapping::recognise(&shape) {
                    got.push(of(&|out| kernel.run([&a, &b], max, out)));
                }
                for (w, g) in got.iter().flat_map(|got| want.iter().zip(got)) {
                    assert!(
                        (w.to_f64() - g.to_f64()).abs() <= bound * w.to_f64(),
                        "{max} {:?}",
                        shape.digits
                    );
                }
            }
        }
        vectors
    }

    #[test]
    fn every_kernel_gives_the_same_products() {
        assert!(agree::<f64>(1e-12, 1) > 20);
        assert!(agree::<f32>(1e-4, 2) > 20);
    }
}
