//! The register tiles of [`super::direct`]: four vectors of one table by a few columns of the
//! other, over a short depth.
//!
//! ```text
//! for each tile of C columns, for each four logical vectors of the rows
//!     for each vector of the machine in a logical one, for each K of the columns
//!         sums = 0
//!         for k in the depth
//!             sums[r][c] += lead[r][k] · other[r][k][c]      for all r, c
//!         sums = ln sums + shift, if logarithms are wanted
//!         result = sums
//! ```
//!
//! K is C if the registers hold as many sums. Columns lie packed by C, so that the layout is the
//! same on all machines.

use super::number::Number;
use zipfold_vector::simd::{Isa, Kernel, Lanes, first_lanes};

/// Vectors of a tile.
pub(super) const ROWS: usize = 4;

/// Where a row (some vectors of the result side by side) lies: in the table that is read by
/// vectors, in the packed other one, and in the result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    /// Of the first table.
    pub lead: usize,
    /// Of the packed second one.
    pub other: usize,
    /// Of the result.
    pub out: usize,
}

/// What the rows of a part of the result are made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job<'a, T> {
    /// The table that is read by vectors: as it lies, or packed, row by row.
    pub lead: &'a [T],
    /// Rows; where the first table is packed, their first offsets do not count.
    pub rows: &'a [Row],
    /// Whether the first table is packed: a row's vectors one after another, each at all depths.
    pub packed: bool,
    /// Offsets of the depth in the first table.
    pub depth: &'a [usize],
    /// Entries of a row.
    pub run: usize,
    /// The second table, packed: for a row (and, if `vectors`, for a vector of it), by tiles, depth
    /// and columns.
    pub other: &'a [T],
    /// Offsets of the columns in the result, padded to whole tiles.
    pub columns: &'a [usize],
    /// Columns of a tile.
    pub wide: usize,
    /// Whether entries of the second table are vectors.
    pub vectors: bool,
    /// Added to the logarithms of the result, if those are wanted.
    pub logs: Option<T>,
}

impl<T> Job<'_, T> {
    /// Entries of the packed second table that belong to a vector of `lanes`.
    pub(super) fn step(&self, lanes: usize) -> usize {
        if self.vectors {
            self.columns.len() * self.depth.len() * lanes
        } else {
            0
        }
    }
    /// The largest offsets that the rows reach in the three tables, with whole vectors where they
    /// are packed.
    pub(super) fn reach(&self, lanes: usize) -> [usize; 3] {
        let most = |of: &dyn Fn(&Row) -> usize| self.rows.iter().map(of).max().unwrap_or(0);
        let last = |list: &[usize]| list.iter().copied().max().unwrap_or(0);
        let vectors = self.run.div_ceil(lanes);
        let lead = match self.packed {
            true => self.rows.len() * vectors * self.depth.len() * lanes,
            false => most(&|r| r.lead) + last(self.depth) + self.run,
        };
        let entry = if self.vectors { lanes } else { 1 };
        let other = most(&|r| r.other)
            + vectors.saturating_sub(1) * self.step(lanes)
            + self.columns.len() * self.depth.len() * entry;
        [
            lead,
            other,
            most(&|r| r.out) + last(self.columns) + self.run,
        ]
    }
}

/// Makes all rows of `job` at `out`, whose entries no other thread touches; `past`: whole lines go
/// past the caches.
///
/// # Safety
/// `out` holds as many entries as [`Job::reach`] says, and so do the tables.
pub(super) unsafe fn tiles<T: Number>(job: &Job<'_, T>, out: *mut T, past: bool) {
    // SAFETY: the caller's promise.
    unsafe { tiles_on(Isa::detect(), job, out, past) }
}

/// Each form is a kernel of its own: in one function their sums would not stay in registers.
///
/// # Safety
/// As [`tiles`].
unsafe fn tiles_on<T: Number>(isa: Isa, job: &Job<'_, T>, out: *mut T, past: bool) {
    match (job.wide, job.vectors) {
        (1, false) => T::dispatch(isa, JobTiles::<T, 1, false> { job, out, past }),
        (2, false) => T::dispatch(isa, JobTiles::<T, 2, false> { job, out, past }),
        (3, false) => T::dispatch(isa, JobTiles::<T, 3, false> { job, out, past }),
        (4, false) => T::dispatch(isa, JobTiles::<T, 4, false> { job, out, past }),
        (_, false) => T::dispatch(isa, JobTiles::<T, 6, false> { job, out, past }),
        (1, true) => T::dispatch(isa, JobTiles::<T, 1, true> { job, out, past }),
        (2, true) => T::dispatch(isa, JobTiles::<T, 2, true> { job, out, past }),
        (3, true) => T::dispatch(isa, JobTiles::<T, 3, true> { job, out, past }),
        (4, true) => T::dispatch(isa, JobTiles::<T, 4, true> { job, out, past }),
        (_, true) => T::dispatch(isa, JobTiles::<T, 6, true> { job, out, past }),
    }
}

/// All tiles of a job, of `C` columns each. The tables and `out` hold as many entries as
/// [`Job::reach`] says.
struct JobTiles<'a, T, const C: usize, const VECTORS: bool> {
    job: &'a Job<'a, T>,
    out: *mut T,
    past: bool,
}

impl<T: Number, const C: usize, const VECTORS: bool> Kernel<T> for JobTiles<'_, T, C, VECTORS> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<T>>(self, s: S) {
        // Half of the columns where the registers are few.
        if const { S::REGISTERS >= 32 || C < 4 } {
            self.all::<S, C>(s);
        } else if const { C == 4 } {
            self.all::<S, 2>(s);
        } else {
            self.all::<S, 3>(s);
        }
    }
}

/// Four logical vectors of the result.
struct FourVectors<T> {
    lead: [*const T; ROWS],
    other: [*const T; ROWS],
    to: [*mut T; ROWS],
    /// Entries of each that the result has.
    live: [usize; ROWS],
}

impl<T: Number, const C: usize, const VECTORS: bool> JobTiles<'_, T, C, VECTORS> {
    /// Tiles of `C` columns, `K` at a time.
    #[inline(always)]
    fn all<S: Lanes<T>, const K: usize>(&self, s: S) {
        let job = self.job;
        let vectors = job.run.div_ceil(T::LANES);
        let total = job.rows.len() * vectors;
        for (tile, columns) in job.columns.chunks_exact(C).enumerate() {
            let mut next = (0, 0);
            for done in (0..total).step_by(ROWS) {
                let group = self.group(tile, total - done, &mut next);
                for lane in (0..T::LANES).step_by(S::N) {
                    for first in (0..C).step_by(K) {
                        // SAFETY: whoever makes the job promises its tables and the result.
                        unsafe {
                            self.part::<S, K>(s, &group, lane, (first, &columns[first..first + K]))
                        };
                    }
                }
            }
        }
    }
    /// The four vectors from the row and the vector of it that come `next`, of `left`.
    #[inline(always)]
    fn group(&self, tile: usize, left: usize, next: &mut (usize, usize)) -> FourVectors<T> {
        let job = self.job;
        let (vectors, deep) = (job.run.div_ceil(T::LANES), job.depth.len());
        let (step, entry) = (job.step(T::LANES), if VECTORS { T::LANES } else { 1 });
        let last = job.run - (vectors - 1) * T::LANES;
        let (lead, other) = ([job.lead.as_ptr(); ROWS], [job.other.as_ptr(); ROWS]);
        let mut group = FourVectors {
            lead,
            other,
            to: [self.out; ROWS],
            live: [T::LANES; ROWS],
        };
        for r in 0..ROWS {
            if r >= left {
                // Rows beyond the last are the one before once more.
                group.lead[r] = group.lead[r - 1];
                group.other[r] = group.other[r - 1];
                (group.to[r], group.live[r]) = (group.to[r - 1], group.live[r - 1]);
                continue;
            }
            let (row, vector) = *next;
            let at = &job.rows[row];
            let packed = (row * vectors + vector) * deep * T::LANES;
            let first = if job.packed {
                packed
            } else {
                at.lead + vector * T::LANES
            };
            group.lead[r] = job.lead.as_ptr().wrapping_add(first);
            group.other[r] = job
                .other
                .as_ptr()
                .wrapping_add(at.other + vector * step + tile * C * deep * entry);
            group.to[r] = self.out.wrapping_add(at.out + vector * T::LANES);
            let ends = vector + 1 == vectors;
            group.live[r] = if ends { last } else { T::LANES };
            *next = if ends {
                (row + 1, 0)
            } else {
                (row, vector + 1)
            };
        }
        group
    }
    #[allow(
        clippy::needless_range_loop,
        reason = "sums in arrays that iterators borrow leave their registers"
    )]
    /// Lanes from `lane` on of a group, for `K` of its columns from `first` on.
    ///
    /// # Safety
    /// The tables and the result hold as many entries as [`Job::reach`] says.
    #[inline(always)]
    unsafe fn part<S: Lanes<T>, const K: usize>(
        &self,
        s: S,
        group: &FourVectors<T>,
        lane: usize,
        (first, columns): (usize, &[usize]),
    ) {
        let entry = if VECTORS { T::LANES } else { 1 };
        let mut mask = [s.mask(0); ROWS];
        let mut whole = [true; ROWS];
        for r in 0..ROWS {
            let live = group.live[r].saturating_sub(lane);
            (mask[r], whole[r]) = (s.mask(first_lanes(live)), live >= S::N);
        }
        let mut sums = [[s.splat(T::ZERO); K]; ROWS];
        let mut at = first * entry + if VECTORS { lane } else { 0 };
        for d in self.job.depth {
            for r in 0..ROWS {
                // SAFETY: within the tables by the caller's promise.
                unsafe {
                    let from = group.lead[r].add(*d + lane);
                    let x = if !S::MASKED && whole[r] {
                        s.load(from)
                    } else {
                        s.load_some(mask[r], from)
                    };
                    for c in 0..K {
                        let from = group.other[r].add(at + c * entry);
                        let y = if VECTORS {
                            s.load(from)
                        } else {
                            s.splat(*from)
                        };
                        sums[r][c] = s.mul_add(x, y, sums[r][c]);
                    }
                }
            }
            at += C * entry;
        }
        // A copy entry by entry: the sums themselves stay in registers.
        let mut made = [[s.splat(T::ZERO); K]; ROWS];
        for r in 0..ROWS {
            for c in 0..K {
                made[r][c] = sums[r][c];
            }
        }
        if let Some(shift) = self.job.logs {
            for made in &mut made {
                for sum in made {
                    *sum = s.add(s.fast_ln(*sum), s.splat(shift));
                }
            }
        }
        for r in 0..ROWS {
            for c in 0..K {
                // SAFETY: within the result by the caller's promise; whole vectors that begin at a
                // line go past the caches where that is wanted, and so do the vectors after them.
                unsafe {
                    let place = group.to[r].wrapping_add(columns[c] + lane);
                    if !whole[r] {
                        s.store_some(mask[r], made[r][c], place);
                    } else if self.past && (place as usize).is_multiple_of(size_of::<S::V>()) {
                        s.stream(made[r][c], place);
                    } else {
                        s.store(made[r][c], place);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table<T: Number>(len: usize, seed: usize) -> Vec<T> {
        (0..len)
            .map(|i| T::from_f64(((i * 7919 + seed) % 89) as f64 / 64.0))
            .collect()
    }

    /// A job of `rows` rows of `run` entries, `deep` deep, against loops over entries whose sums
    /// are exact.
    fn check<T: Number>(
        isa: Isa,
        rows: usize,
        run: usize,
        deep: usize,
        [wide, tiles]: [usize; 2],
        vectors: bool,
    ) {
        let (columns, per_row) = (wide * tiles, run.div_ceil(T::LANES));
        let depth: Vec<usize> = (0..deep).map(|k| k * 700).collect();
        let places: Vec<usize> = (0..columns).map(|c| c * rows * 400).collect();
        let entry = if vectors { T::LANES } else { 1 };
        let apart = if vectors {
            per_row * columns * deep * entry
        } else {
            columns * deep
        };
        let of_rows: Vec<Row> = (0..rows)
            .map(|r| Row {
                lead: r * 50,
                other: r % 2 * apart,
                out: r * 400,
            })
            .collect();
        let (lead, other) = (
            table::<T>(700 * deep + 50 * rows + run, 1),
            table::<T>(2 * apart, 3),
        );
        let job = Job {
            lead: &lead,
            rows: &of_rows,
            packed: false,
            depth: &depth,
            run,
            other: &other,
            columns: &places,
            wide,
            vectors,
            logs: None,
        };
        let mut out = vec![T::from_f64(-1.0); columns * rows * 400 + run];
        assert!(job.reach(T::LANES)[2] <= out.len());
        // SAFETY: the assertion, and tables that are made as long.
        unsafe { tiles_on(isa, &job, out.as_mut_ptr(), wide == 3) };
        let mut want = vec![T::from_f64(-1.0); out.len()];
        for (row, c, i) in
            (0..rows * columns * run).map(|n| (n / (columns * run), n / run % columns, n % run))
        {
            let row = &of_rows[row];
            let first = row.other
                + i / T::LANES * job.step(T::LANES)
                + (c / wide * wide * deep + c % wide) * entry
                + if vectors { i % T::LANES } else { 0 };
            let term = |k: usize| {
                lead[row.lead + depth[k] + i].to_f64() * other[first + k * wide * entry].to_f64()
            };
            want[row.out + places[c] + i] = T::from_f64((0..deep).map(term).sum());
        }
        assert!(
            out == want,
            "{isa} {rows} {run} {deep} {wide} {tiles} {vectors}"
        );
    }

    #[test]
    fn tiles_are_those_of_loops_over_entries() {
        for isa in Isa::available() {
            for (wide, vectors) in [1, 2, 3, 4, 6]
                .into_iter()
                .flat_map(|wide| [(wide, false), (wide, true)])
            {
                for (rows, run, deep) in [
                    (1, 1, 1),
                    (1, 16, 3),
                    (3, 17, 2),
                    (5, 8, 4),
                    (4, 47, 1),
                    (7, 3, 5),
                ] {
                    check::<f64>(isa, rows, run, deep, [wide, 2], vectors);
                    check::<f32>(isa, rows, run, deep, [wide, 1], vectors);
                }
            }
        }
    }
}
