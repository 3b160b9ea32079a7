//! The register tiles of [`super::direct`]: four vectors of one table by a few columns of the other, over a short depth.

/// Vectors of a tile.
pub const ROWS: usize = 4;

/// Where a row (some vectors of the result side by side) lies: in the table that is read by vectors, in the packed other one,
/// and in the result.
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
pub struct Job<'a, T> {
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
    /// The second table, packed: for a row (and, if `vectors`, for a vector of it), by tiles, depth and columns.
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
    pub fn step(&self, lanes: usize) -> usize {
        if self.vectors { self.columns.len() * self.depth.len() * lanes } else { 0 }
    }
    /// The largest offsets that the rows reach in the three tables, with whole vectors where they are packed.
    pub fn reach(&self, lanes: usize) -> [usize; 3] {
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
        [lead, other, most(&|r| r.out) + last(self.columns) + self.run]
    }
}

macro_rules! tiles {
    ($name:ident, $avx:ident, $wide:ident, $t:ty) => {
        /// Makes all rows of `job` at `out`, whose entries no other thread touches.
        ///
        /// # Safety
        /// `out` holds as many entries as [`Job::reach`] says, and so do the tables.
        pub unsafe fn $name(job: &Job<'_, $t>, out: *mut $t, past: bool) {
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx512f") {
                // SAFETY: the feature was just detected; the caller's promise.
                unsafe {
                    match (job.wide, job.vectors) {
                        (1, false) => $avx::<1, false>(job, out, past),
                        (2, false) => $avx::<2, false>(job, out, past),
                        (3, false) => $avx::<3, false>(job, out, past),
                        (4, false) => $avx::<4, false>(job, out, past),
                        (_, false) => $avx::<6, false>(job, out, past),
                        (1, true) => $avx::<1, true>(job, out, past),
                        (2, true) => $avx::<2, true>(job, out, past),
                        (3, true) => $avx::<3, true>(job, out, past),
                        (4, true) => $avx::<4, true>(job, out, past),
                        (_, true) => $avx::<6, true>(job, out, past),
                    }
                }
                return;
            }
            // Vectors alone go past the caches.
            let _ = past;
            // SAFETY: the caller's promise.
            unsafe { plain(job, out) }
        }

        /// # Safety
        /// The machine has AVX-512 F; see the caller.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        unsafe fn $avx<const C: usize, const VECTORS: bool>(job: &Job<'_, $t>, out: *mut $t, past: bool) {
            use super::wide::$wide as w;
            let vectors = job.run.div_ceil(w::LANES);
            let step = job.step(w::LANES);
            let deep = job.depth.len();
            let entry = if VECTORS { w::LANES } else { 1 };
            let last = w::mask(job.run - (vectors - 1) * w::LANES);
            let total = job.rows.len() * vectors;
            let mut lead = [job.lead.as_ptr(); ROWS];
            let mut other = [job.other.as_ptr(); ROWS];
            let mut to = [out; ROWS];
            let mut mask = [w::Mask::MAX; ROWS];
            for (tile, columns) in job.columns.chunks_exact(C).enumerate() {
                let (mut row, mut vector) = (0, 0);
                for done in (0..total).step_by(ROWS) {
                    for r in 0..ROWS {
                        if done + r < total {
                            let at = &job.rows[row];
                            let first = if job.packed {
                                (row * vectors + vector) * deep * w::LANES
                            } else {
                                at.lead + vector * w::LANES
                            };
                            // SAFETY: within the tables by the caller's promise.
                            unsafe {
                                lead[r] = job.lead.as_ptr().add(first);
                                other[r] = job.other.as_ptr().add(at.other + vector * step + tile * C * deep * entry);
                                to[r] = out.add(at.out + vector * w::LANES);
                            }
                            vector += 1;
                            mask[r] = w::Mask::MAX;
                            if vector == vectors {
                                mask[r] = last;
                                (vector, row) = (0, row + 1);
                            }
                        } else {
                            // Rows beyond the last are the one before once more.
                            (lead[r], other[r], to[r], mask[r]) = (lead[r - 1], other[r - 1], to[r - 1], mask[r - 1]);
                        }
                    }
                    let mut sums = [[w::splat(0.0); C]; ROWS];
                    let mut at = 0;
                    for d in job.depth {
                        for r in 0..ROWS {
                            // SAFETY: within the tables by the caller's promise.
                            unsafe {
                                let x = w::load_some(mask[r], lead[r].add(*d));
                                for c in 0..C {
                                    let from = other[r].add(at + c * entry);
                                    let y = if VECTORS { w::load(from) } else { w::splat(*from) };
                                    sums[r][c] = w::fma(x, y, sums[r][c]);
                                }
                            }
                        }
                        at += C * entry;
                    }
                    // A copy entry by entry: the sums themselves stay in registers.
                    let mut made = [[w::splat(0.0); C]; ROWS];
                    for r in 0..ROWS {
                        for c in 0..C {
                            made[r][c] = sums[r][c];
                        }
                    }
                    if let Some(shift) = job.logs {
                        for of_row in &mut made {
                            for sum in of_row {
                                *sum = w::add(w::ln(*sum), w::splat(shift));
                            }
                        }
                    }
                    for r in 0..ROWS {
                        for c in 0..C {
                            // SAFETY: within the result by the caller's promise; whole vectors that begin at a line go past
                            // the caches where that is wanted.
                            unsafe {
                                let place = to[r].add(columns[c]);
                                if mask[r] != w::Mask::MAX {
                                    w::store_some(place, mask[r], made[r][c]);
                                } else if past && (place as usize).is_multiple_of(64) {
                                    w::stream(place, made[r][c]);
                                } else {
                                    w::store(place, made[r][c]);
                                }
                            }
                        }
                    }
                }
            }
        }
    };
}
tiles!(tiles_f32, avx_f32, singles, f32);
tiles!(tiles_f64, avx_f64, doubles, f64);

/// The same entry by entry.
///
/// # Safety
/// As [`tiles_f32`].
unsafe fn plain<T: super::real::Real>(job: &Job<'_, T>, out: *mut T) {
    let vectors = job.run.div_ceil(T::LANES);
    let entry = if job.vectors { T::LANES } else { 1 };
    for (at, row) in job.rows.iter().enumerate() {
        for i in 0..job.run {
            let (vector, lane) = (i / T::LANES, i % T::LANES);
            let lead =
                if job.packed { (at * vectors + vector) * job.depth.len() * T::LANES + lane } else { row.lead + i };
            for (c, column) in job.columns.iter().enumerate() {
                let first = row.other
                    + vector * job.step(T::LANES)
                    + (c / job.wide * job.wide * job.depth.len() + c % job.wide) * entry
                    + if job.vectors { lane } else { 0 };
                let term = |(k, d): (usize, &usize)| job.lead[lead + d] * job.other[first + k * job.wide * entry];
                let sum = job.depth.iter().enumerate().map(term).fold(T::default(), |a, b| a + b);
                let sum = job.logs.map_or(sum, |shift| T::of(sum.f64().ln()) + shift);
                // SAFETY: within the result by the caller's promise.
                unsafe { *out.add(row.out + i + column) = sum };
            }
        }
    }
}
