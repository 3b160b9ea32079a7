//! Entries of a table brought side by side, vector by vector, and their exponentials on the way.
//!
//! ```text
//! for each vector of the result
//!     for each piece of the table that holds entries of it, at most 8
//!         load the piece; permute its lanes; merge them into the vector
//!     exponentials of the whole vector, if wanted
//!     store
//! ```
//!
//! Why by pieces: entries that differ in a table's fast digits lie within a few vectors of each
//! other, so that a few loads and permutations in registers replace as many scalar loads as there
//! are lanes.

use super::number::Number;
use super::tiles::Row;
use zipfold_vector::simd::{Element, Isa, Kernel, Lanes, first_lanes};

/// Entries of one vector that lie within a vector of the table.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Where the table's vector begins, after the row's offset.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "read by AVX-512")
    )]
    first: usize,
    /// The lanes that come from it.
    mask: u16,
    /// The place of each of these lanes' entries in it.
    lanes: [u8; 16],
}

/// How the entries of a row lie in the table.
#[derive(Clone, Debug)]
pub enum Run {
    /// Side by side.
    Straight,
    /// At these offsets; by vector, its pieces where they are few.
    Offsets(Vec<usize>, Vec<Vec<Piece>>),
}

/// Most pieces of a vector.
pub(super) const PIECES: usize = 8;

impl Run {
    /// The run of entries at `offsets`, for vectors of `lanes`.
    pub fn for_offsets(offsets: &[usize], lanes: usize) -> Self {
        if offsets.iter().enumerate().all(|(at, o)| at == *o) {
            return Run::Straight;
        }
        let vectors: Vec<Vec<Piece>> = offsets.chunks(lanes).map(|o| pieces(o, lanes)).collect();
        let few = vectors.iter().all(|v| v.len() <= PIECES);
        Run::Offsets(offsets.to_vec(), if few { vectors } else { Vec::new() })
    }
    /// Cycles, roughly, that a vector of the run takes.
    pub fn cost(&self) -> f64 {
        match self {
            Run::Straight => 2.0,
            Run::Offsets(_, vectors) => vectors
                .iter()
                .map(|v| v.len() + 2)
                .max()
                .map_or(24.0, |most| most as f64 * 1.5),
        }
    }
}

fn pieces(offsets: &[usize], lanes: usize) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    let mut left: Vec<(usize, usize)> = offsets.iter().copied().enumerate().collect();
    while let Some(first) = left.iter().map(|l| l.1).min() {
        let mut piece = Piece {
            first,
            mask: 0,
            lanes: [0; 16],
        };
        left.retain(|(lane, offset)| {
            let near = offset - first < lanes;
            if near {
                piece.mask |= 1 << lane;
                piece.lanes[*lane] = (offset - first) as u8;
            }
            !near
        });
        out.push(piece);
    }
    out
}

/// What is packed: rows, each at all depths.
#[derive(Clone, Copy, Debug)]
pub struct Packing<'a, T> {
    /// The table.
    pub from: &'a [T],
    /// Rows.
    pub rows: &'a [Row],
    /// Offsets of the depth.
    pub depth: &'a [usize],
    /// Entries of a row.
    pub run: usize,
    /// How they lie.
    pub how: &'a Run,
    /// Taken off before exponentials, if those are wanted.
    pub shift: Option<T>,
}

#[cfg(target_arch = "x86_64")]
impl<T: Number> Packing<'_, T> {
    /// The most pieces of a vector, 0 where they are too many to merge; none for runs that lie side
    /// by side.
    fn most_pieces(&self) -> Option<usize> {
        match self.how {
            Run::Straight => None,
            Run::Offsets(_, vectors) => Some(vectors.iter().map(Vec::len).max().unwrap_or(0)),
        }
    }
    /// Whether all rows lie within the table, and a panel of `room` entries holds them.
    fn fits(&self, room: usize) -> bool {
        let last = |list: &mut dyn Iterator<Item = usize>| list.max().unwrap_or(0);
        let lead = last(&mut self.rows.iter().map(|r| r.lead));
        let reach = match self.how {
            Run::Straight => self.run - 1,
            Run::Offsets(offsets, _) => last(&mut offsets.iter().copied()),
        };
        let row = self.run.div_ceil(T::LANES) * self.depth.len() * T::LANES;
        self.rows.len() * row <= room
            && lead + last(&mut self.depth.iter().copied()) + reach < self.from.len()
    }
}

macro_rules! permute {
    ($pack:ident, [$straight:ident, $merged:ident, $merge:ident, $gathered:ident], $wide:ident, $t:ty) => {
        /// Packs the rows into `to`: vector by vector of a row, each at all depths.
        fn $pack(job: &Packing<'_, $t>, to: &mut [$t]) {
            #[cfg(target_arch = "x86_64")]
            if Isa::detect() == Isa::Avx512 {
                assert!(job.fits(to.len()), "offset beyond a table");
                // SAFETY: the feature was just detected, and the assertion holds all rows within
                // the table and the panel.
                return unsafe {
                    match (job.most_pieces(), job.shift.is_some()) {
                        (None, false) => $straight::<false>(job, to),
                        (None, true) => $straight::<true>(job, to),
                        (Some(0), _) => $gathered(job, to),
                        (Some(1), false) => $merged::<1, false>(job, to),
                        (Some(2), false) => $merged::<2, false>(job, to),
                        (Some(3), false) => $merged::<3, false>(job, to),
                        (Some(4), false) => $merged::<4, false>(job, to),
                        (Some(5 | 6), false) => $merged::<6, false>(job, to),
                        (Some(_), false) => $merged::<8, false>(job, to),
                        (Some(1), true) => $merged::<1, true>(job, to),
                        (Some(2), true) => $merged::<2, true>(job, to),
                        (Some(3), true) => $merged::<3, true>(job, to),
                        (Some(4), true) => $merged::<4, true>(job, to),
                        (Some(5 | 6), true) => $merged::<6, true>(job, to),
                        (Some(_), true) => $merged::<8, true>(job, to),
                    }
                };
            }
            <$t>::dispatch(Isa::detect(), Rows { job, to });
        }

        /// Rows that lie side by side are read as they lie.
        ///
        /// # Safety
        /// The machine has AVX-512 F; all rows lie within the table and the panel.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        unsafe fn $straight<const EXP: bool>(job: &Packing<'_, $t>, to: &mut [$t]) {
            use zipfold_vector::simd::tables::$wide as w;
            let vectors = job.run.div_ceil(w::LANES);
            let deep = job.depth.len();
            let shift = w::splat(job.shift.unwrap_or(0.0));
            for (at, row) in job.rows.iter().enumerate() {
                for (k, d) in job.depth.iter().enumerate() {
                    for vector in 0..vectors {
                        let some = w::mask(job.run - vector * w::LANES);
                        let place = ((at * vectors + vector) * deep + k) * w::LANES;
                        // SAFETY: within the table and the panel by the caller's promise.
                        unsafe {
                            let from = job.from.as_ptr().add(row.lead + d + vector * w::LANES);
                            let mut x = w::load_some(some, from);
                            if EXP {
                                x = w::exp(w::sub(x, shift));
                            }
                            w::store(to.as_mut_ptr().add(place), x);
                        }
                    }
                }
            }
        }

        /// Vectors merged of `K` pieces at most.
        ///
        /// # Safety
        /// The machine has AVX-512 F; all rows lie within the table and the panel.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        unsafe fn $merged<const K: usize, const EXP: bool>(job: &Packing<'_, $t>, to: &mut [$t]) {
            use zipfold_vector::simd::tables::$wide as w;
            let vectors = job.run.div_ceil(w::LANES);
            let deep = job.depth.len();
            let shift = w::splat(job.shift.unwrap_or(0.0));
            for vector in 0..vectors {
                let mut firsts = [0; K];
                let mut masks = [0; K];
                let mut indices = [w::indices(&[0; 16]); K];
                if let Run::Offsets(_, pieces) = job.how {
                    for (k, piece) in pieces[vector].iter().enumerate().take(K) {
                        (firsts[k], masks[k]) = (piece.first, piece.mask as w::Mask);
                        indices[k] = w::indices(&piece.lanes);
                    }
                }
                let reach = firsts.iter().copied().max().unwrap_or(0) + w::LANES;
                for (at, row) in job.rows.iter().enumerate() {
                    let mut place = (at * vectors + vector) * deep * w::LANES;
                    for d in job.depth {
                        let base = row.lead + d;
                        // SAFETY: within the table by the caller's promise, and where the last
                        // vector would reach beyond it, its entries one by one.
                        unsafe {
                            let from = job.from.as_ptr().add(base);
                            let mut x = if base + reach <= job.from.len() {
                                $merge(from, &firsts, &masks, &indices)
                            } else {
                                w::load(one_by_one(job, from, vector).as_ptr())
                            };
                            if EXP {
                                x = w::exp(w::sub(x, shift));
                            }
                            w::store(to.as_mut_ptr().add(place), x);
                        }
                        place += w::LANES;
                    }
                }
            }
        }

        /// The vector of the pieces that begin at `firsts` after `from`.
        ///
        /// # Safety
        /// The machine has AVX-512 F; a vector from each of the beginnings lies within the table.
        #[cfg(target_arch = "x86_64")]
        #[inline]
        #[target_feature(enable = "avx512f")]
        unsafe fn $merge<const K: usize>(
            from: *const $t,
            firsts: &[usize; K],
            masks: &[zipfold_vector::simd::tables::$wide::Mask; K],
            indices: &[std::arch::x86_64::__m512i; K],
        ) -> zipfold_vector::simd::tables::$wide::Vector {
            use zipfold_vector::simd::tables::$wide as w;
            let mut x = w::splat(0.0);
            for k in 0..K {
                // SAFETY: the caller's promise.
                let piece = unsafe { w::load(from.add(firsts[k])) };
                x = w::permute(x, masks[k], indices[k], piece);
            }
            x
        }

        /// Vectors of entries far apart.
        ///
        /// # Safety
        /// As above.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        unsafe fn $gathered(job: &Packing<'_, $t>, to: &mut [$t]) {
            use zipfold_vector::simd::tables::$wide as w;
            let vectors = job.run.div_ceil(w::LANES);
            for (at, row) in job.rows.iter().enumerate() {
                for vector in 0..vectors {
                    let mut place = (at * vectors + vector) * job.depth.len() * w::LANES;
                    for d in job.depth {
                        // SAFETY: within the table and the panel by the caller's promise.
                        unsafe {
                            let near = one_by_one(job, job.from.as_ptr().add(row.lead + d), vector);
                            let mut x = w::load(near.as_ptr());
                            if let Some(shift) = job.shift {
                                x = w::exp(w::sub(x, w::splat(shift)));
                            }
                            w::store(to.as_mut_ptr().add(place), x);
                        }
                        place += w::LANES;
                    }
                }
            }
        }
    };
}
permute!(
    pack_f32,
    [straight_f32, merged_f32, merge_f32, gathered_f32],
    singles,
    f32
);
permute!(
    pack_f64,
    [straight_f64, merged_f64, merge_f64, gathered_f64],
    doubles,
    f64
);

/// Numbers of which rows are packed.
pub trait Permute: Number {
    /// Packs the rows into `to`: vector by vector of a row, each at all depths.
    fn pack(job: &Packing<'_, Self>, to: &mut [Self]);
}
impl Permute for f32 {
    fn pack(job: &Packing<'_, f32>, to: &mut [f32]) {
        pack_f32(job, to);
    }
}
impl Permute for f64 {
    fn pack(job: &Packing<'_, f64>, to: &mut [f64]) {
        pack_f64(job, to);
    }
}

/// The entries of one vector of a row.
///
/// # Safety
/// They lie within the table.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn one_by_one<T: Number>(job: &Packing<'_, T>, from: *const T, vector: usize) -> [T; 16] {
    let mut near = [T::default(); 16];
    if let Run::Offsets(offsets, _) = job.how {
        for (n, o) in near
            .iter_mut()
            .zip(&offsets[vector * T::LANES..job.run.min((vector + 1) * T::LANES)])
        {
            // SAFETY: the caller's promise.
            *n = unsafe { *from.add(*o) };
        }
    }
    near
}

/// The same on any machine: what lies side by side by vectors, other entries one by one,
/// exponentials by vectors.
struct Rows<'a, T> {
    job: &'a Packing<'a, T>,
    to: &'a mut [T],
}

impl<T: Number> Kernel<T> for Rows<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<T>>(self, s: S) {
        let Rows { job, to } = self;
        let (vectors, deep) = (job.run.div_ceil(T::LANES), job.depth.len());
        for (at, row) in job.rows.iter().enumerate() {
            for (k, d) in job.depth.iter().enumerate() {
                let from = &job.from[row.lead + d..];
                for vector in 0..vectors {
                    let first = vector * T::LANES;
                    let many = T::LANES.min(job.run - first);
                    let to = &mut to[((at * vectors + vector) * deep + k) * T::LANES..][..T::LANES];
                    match job.how {
                        Run::Straight => to[..many].copy_from_slice(&from[first..first + many]),
                        Run::Offsets(offsets, _) => {
                            to.iter_mut()
                                .zip(&offsets[first..first + many])
                                .for_each(|(t, o)| *t = from[*o]);
                        }
                    }
                    if let Some(shift) = job.shift {
                        exponentials(s, &mut to[..many], s.splat(shift));
                    }
                }
            }
        }
    }
}

/// Replaces entries by their exponentials, less a shift.
#[inline(always)]
fn exponentials<T: Number, S: Lanes<T>>(s: S, entries: &mut [T], shift: S::V) {
    for part in entries.chunks_mut(S::N) {
        let some = s.mask(first_lanes(part.len()));
        // SAFETY: no more lanes than the part has.
        unsafe {
            let x = s.load_some(some, part.as_ptr());
            s.store_some(some, s.fast_exp(s.sub(x, shift)), part.as_mut_ptr());
        }
    }
}
