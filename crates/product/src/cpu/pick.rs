//! Vectors of entries that lie near each other in a table, for the packed blocks of
//! [`super::vectors`].
//!
//! ```text
//! pick (once)      first place of the vector's entries, and each lane's place after it
//! for each place, for each pick
//!     prefetch for a place up to 16 further on
//!     load one vector of memory from the first place, lanes after the last entry masked off
//!     permute its lanes by the pick; store
//! ```
//!
//! Where the entries of a vector reach further than one vector of memory, or the machine lacks
//! AVX-512, all are copied one by one instead.

use super::number::Number;
#[cfg(target_arch = "x86_64")]
use zipfold_vector::{prefetch, simd::Isa};

/// Most lanes of a vector.
pub(super) const MOST: usize = 16;
/// Places between the request for a line of memory and its use, at most, and vectors. Places are
/// often powers of two apart: more lines than this would push each other out of the nearest cache.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 16;
#[cfg(target_arch = "x86_64")]
const VECTORS: usize = 32;

/// Where the entries of a vector lie in a table.
#[derive(Debug)]
pub struct Pick {
    /// The first place.
    first: usize,
    /// Places after the first that hold an entry or lie before one: the reach.
    last: usize,
    /// The entries' places after the first; lanes that the vector has not repeat the first.
    lanes: [u32; MOST],
    /// The places to read where all lie within one vector; 0 where they do not.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        allow(dead_code, reason = "read by AVX-512")
    )]
    mask: u16,
}

/// Where vectors go: those of a place at `place / group · far + place % group · near`, `apart` from
/// each other.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// Places of a group: a power of two.
    pub group: usize,
    /// Entries between groups.
    pub far: usize,
    /// Entries between places of a group.
    pub near: usize,
    /// Entries between the vectors of a place.
    pub apart: usize,
}

impl Steps {
    #[inline(always)]
    fn offset(&self, place: usize) -> usize {
        (place >> self.group.trailing_zeros()) * self.far + (place & (self.group - 1)) * self.near
    }
}

impl Pick {
    /// The pick for entries at `offsets`, at most `width` of them; `None` where they lie too far
    /// apart.
    pub fn for_offsets(offsets: &[usize], width: usize) -> Option<Self> {
        let first = offsets.iter().copied().min()?;
        let last = offsets.iter().copied().max()? - first;
        let mut lanes = [0u32; MOST];
        for (lane, offset) in lanes.iter_mut().zip(offsets) {
            *lane = u32::try_from(offset - first).ok()?;
        }
        let mask = if last < width {
            ((1u32 << (last + 1)) - 1) as u16
        } else {
            0
        };
        Some(Pick {
            first,
            last,
            lanes,
            mask,
        })
    }
}

/// Places of a table, each this far from one of the bases: those visited now, and those visited
/// next.
#[derive(Clone, Copy, Debug)]
pub struct VisitedPlaces<'a> {
    /// From the bases.
    pub offsets: &'a [usize],
    /// The base.
    pub base: usize,
    /// The base of the visit that follows.
    pub next: usize,
}

impl VisitedPlaces<'_> {
    /// The place that is visited `many` visits after the `i`th.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn ahead(&self, i: usize, many: usize) -> usize {
        match self.offsets.get(i + many) {
            Some(offset) => self.base + offset,
            None => {
                self.next
                    + self.offsets[(i + many - self.offsets.len()).min(self.offsets.len() - 1)]
            }
        }
    }
}

/// Asks for the line of `from[at]` ahead of its use.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ask<T>(from: &[T], at: usize) {
    prefetch::nearest(from.as_ptr().wrapping_add(at));
}

/// Entries by entries.
fn plain<T: Number>(
    from: &[T],
    places: VisitedPlaces<'_>,
    picks: &[Pick],
    steps: Steps,
    to: &mut [T],
) {
    for (i, offset) in places.offsets.iter().enumerate() {
        for (v, pick) in picks.iter().enumerate() {
            let from = &from[places.base + offset + pick.first..][..=pick.last];
            let to = &mut to[steps.offset(i) + v * steps.apart..][..T::LANES];
            for (t, lane) in to.iter_mut().zip(&pick.lanes) {
                // SAFETY: no lane is above `last`, which is within `from`.
                *t = unsafe { *from.get_unchecked(*lane as usize) };
            }
        }
    }
}

macro_rules! pick {
    ($name:ident, $avx:ident, $t:ty, $lanes:expr, $mask:ty, $indices:expr, $load:ident, $permute:ident, $store:ident) => {
        /// Copies the vectors that `picks` name at each of `places` to `to`.
        fn $name(
            from: &[$t],
            places: VisitedPlaces<'_>,
            picks: &[Pick],
            steps: Steps,
            to: &mut [$t],
        ) {
            #[cfg(target_arch = "x86_64")]
            if picks.iter().all(|p| p.mask > 0) && Isa::detect() == Isa::Avx512 {
                // SAFETY: the feature was just detected.
                return unsafe { $avx(from, places, picks, steps, to) };
            }
            plain(from, places, picks, steps, to);
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        fn $avx(
            from: &[$t],
            places: VisitedPlaces<'_>,
            picks: &[Pick],
            steps: Steps,
            to: &mut [$t],
        ) {
            use std::arch::x86_64::*;
            let reach = picks.iter().map(|p| p.first + p.last).max().unwrap_or(0);
            let ahead = (VECTORS / picks.len().max(1)).clamp(2, AHEAD);
            let wide = picks.len().saturating_sub(1) * steps.apart + $lanes;
            for (i, offset) in places.offsets.iter().enumerate() {
                let (place, next) = (places.base + offset, places.ahead(i, ahead));
                let at = steps.offset(i);
                assert!(
                    place + reach < from.len() && at + wide <= to.len(),
                    "offset beyond a table"
                );
                for (v, pick) in picks.iter().enumerate() {
                    ask(from, next + pick.first);
                    // SAFETY: the mask reaches `last`, within `from` by the assertion; so is the
                    // vector within `to`.
                    unsafe {
                        let near = $load(pick.mask as $mask, from.as_ptr().add(place + pick.first));
                        let indices = $indices(pick.lanes.as_ptr());
                        $store(
                            to.as_mut_ptr().add(at + v * steps.apart),
                            $permute(indices, near),
                        );
                    }
                }
            }
        }
    };
}

/// The first eight lanes as 64-bit indices.
///
/// # Safety
/// The machine has AVX-512 F, and eight lanes are there.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn eight(lanes: *const u32) -> std::arch::x86_64::__m512i {
    use std::arch::x86_64::*;
    // SAFETY: the caller's promise.
    _mm512_cvtepu32_epi64(unsafe { _mm256_loadu_si256(lanes.cast()) })
}

/// Sixteen lanes as 32-bit indices.
///
/// # Safety
/// The machine has AVX-512 F, and sixteen lanes are there.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn sixteen(lanes: *const u32) -> std::arch::x86_64::__m512i {
    // SAFETY: the caller's promise.
    unsafe { std::arch::x86_64::_mm512_loadu_si512(lanes.cast()) }
}

pick!(
    pick_f64,
    avx_f64,
    f64,
    8,
    u8,
    eight,
    _mm512_maskz_loadu_pd,
    _mm512_permutexvar_pd,
    _mm512_storeu_pd
);
pick!(
    pick_f32,
    avx_f32,
    f32,
    16,
    u16,
    sixteen,
    _mm512_maskz_loadu_ps,
    _mm512_permutexvar_ps,
    _mm512_storeu_ps
);

/// Numbers whose vectors are picked.
pub trait Pickable: Number {
    /// Copies the vectors that `picks` name at each of `places` to `to`.
    fn pick(
        from: &[Self],
        places: VisitedPlaces<'_>,
        picks: &[Pick],
        steps: Steps,
        to: &mut [Self],
    );
}
impl Pickable for f32 {
    fn pick(from: &[f32], places: VisitedPlaces<'_>, picks: &[Pick], steps: Steps, to: &mut [f32]) {
        pick_f32(from, places, picks, steps, to);
    }
}
impl Pickable for f64 {
    fn pick(from: &[f64], places: VisitedPlaces<'_>, picks: &[Pick], steps: Steps, to: &mut [f64]) {
        pick_f64(from, places, picks, steps, to);
    }
}
