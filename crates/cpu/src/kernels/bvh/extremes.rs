//! The least and the largest value of all pairs: a limit that all threads share, and down the boxes
//! only where a pair may be beyond it. Values are not below zero, so that their bits are in their
//! order.
//!
//! ```text
//! sample: values of neighbours along the curve, of 8 rows with all columns, and of the farthest of the farthest
//! for each group of 16 rows
//!     leaves = leaves of y whose box and the group's box may hold a value beyond the limit
//!     for each row, for each vector of these leaves that may still be beyond the limit
//!         best = min or max with the values of the leaf's points
//!     limit = best, by an atomic min or max on its bits
//! ```
//!
//! The sample sets limits so near to the extremes that most groups find no leaf at all. An atomic
//! on the bits of an f64 is a plain integer instruction, because the order of non-negative numbers
//! is that of their bits.

use super::measure::{Extent, by_form, least, most, slacks, values};
use super::within::FoundLeaves;
use super::{Bvh, Cut, FAN, LEAF, Measure, live, meets};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use zipfold_vector::simd::{Kernel, Lanes, array_of, first_lanes};

/// Rows that look for leaves together.
const GROUP: usize = 16;
/// From a point to the farthest, and from that on: so often.
const STEPS: usize = 4;
/// Rows whose pairs with all columns are looked at first.
const SAMPLED: usize = 8;

/// The extremes found so far.
#[derive(Debug)]
pub struct Ends {
    /// Bits of the least value.
    least: AtomicU64,
    /// One more than the bits of the largest; 0 for none.
    largest: AtomicU64,
}

impl Default for Ends {
    fn default() -> Self {
        Ends {
            least: AtomicU64::new(u64::MAX),
            largest: AtomicU64::new(0),
        }
    }
}

impl Ends {
    /// The least and the largest value, if there is one.
    pub fn get(&self) -> Option<[f64; 2]> {
        let (least, largest) = (
            self.least.load(Ordering::Relaxed),
            self.largest.load(Ordering::Relaxed),
        );
        (largest > 0 && least < u64::MAX)
            .then(|| [f64::from_bits(least), f64::from_bits(largest - 1)])
    }
    /// What a value must be beyond.
    fn limit(&self, largest: bool) -> f64 {
        match (
            largest,
            self.least.load(Ordering::Relaxed),
            self.largest.load(Ordering::Relaxed),
        ) {
            (true, _, 0) => -1.0,
            (true, _, bits) => f64::from_bits(bits - 1),
            (false, u64::MAX, _) => f64::INFINITY,
            (false, bits, _) => f64::from_bits(bits),
        }
    }
    /// Takes the value of a pair.
    fn take(&self, value: f64) {
        self.least.fetch_min(value.to_bits(), Ordering::Relaxed);
        self.largest
            .fetch_max(value.to_bits() + 1, Ordering::Relaxed);
    }
}

/// A search for one of the extremes.
pub struct Extremes<'a> {
    /// Sorted rows.
    pub x: &'a Bvh,
    /// Sorted columns.
    pub y: &'a Bvh,
    /// The value of a pair.
    pub measure: &'a Measure,
    /// Rows to look at.
    pub rows: Range<usize>,
    /// Columns to look at.
    pub cols: Range<usize>,
    /// Which of them.
    pub cut: Cut,
    /// Whether the largest value is sought.
    pub largest: bool,
    /// The extremes so far.
    pub ends: &'a Ends,
}

impl Kernel<f64> for Extremes<'_> {
    /// Pairs evaluated.
    type Output = u64;
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, s: S) -> u64 {
        match self.largest {
            true => by_form!(self.measure, self.look_for_largest::<S>(s)),
            false => by_form!(self.measure, self.look_for_least::<S>(s)),
        }
    }
}

impl Extremes<'_> {
    #[inline(always)]
    fn look_for_least<S: Lanes<f64>, const D: usize, const F: u8>(&self, s: S) -> u64 {
        self.look::<S, D, F, false>(s)
    }
    #[inline(always)]
    fn look_for_largest<S: Lanes<f64>, const D: usize, const F: u8>(&self, s: S) -> u64 {
        self.look::<S, D, F, true>(s)
    }
    #[inline(always)]
    fn look<S: Lanes<f64>, const D: usize, const F: u8, const L: bool>(&self, s: S) -> u64 {
        let lengths = self.measure.lengths::<S, D>(s);
        let slack = slacks::<S, D>(s, self.measure, self.x);
        let mut found = FoundLeaves::default();
        let mut seen = 0;
        let mut start = self.rows.start;
        while start < self.rows.end {
            let end = self.rows.end.min((start / GROUP + 1) * GROUP);
            self.collect::<S, D, F, L>(s, start..end, &lengths, &slack, &mut found);
            for row in (start..end).filter(|_| !found.leaves.is_empty()) {
                seen += self.row::<S, D, F, L>(s, row, (&lengths, &slack), &found);
            }
            start = end;
        }
        seen
    }
    /// The boxes from `at` on of a level of which a pair may be beyond `limit`.
    ///
    /// # Safety
    /// As for [`least`].
    #[inline(always)]
    unsafe fn open<S: Lanes<f64>, const D: usize, const F: u8, const L: bool>(
        s: S,
        level: &super::BoxLevel,
        mine: &Extent<S::V, D>,
        (lengths, slack): (&[S::V; D], &[S::V; D]),
        at: usize,
        limit: S::V,
    ) -> u32 {
        // SAFETY: the caller promises the places.
        unsafe {
            match L {
                true => !s.bits(s.le(most::<S, D, F>(s, level, mine, (lengths, slack), at), limit)),
                false => !s.bits(s.le(limit, least::<S, D, F>(s, level, mine, lengths, at))),
            }
        }
    }
    /// The leaves that may hold a value beyond the limit with a group of rows.
    #[inline(always)]
    fn collect<S: Lanes<f64>, const D: usize, const F: u8, const L: bool>(
        &self,
        s: S,
        rows: Range<usize>,
        lengths: &[S::V; D],
        slack: &[S::V; D],
        found: &mut FoundLeaves,
    ) {
        let mine = super::within::extent::<S, D>(s, self.x, self.measure, &rows);
        let limit = s.splat(self.ends.limit(L));
        found.leaves.clear();
        let mut open = vec![(self.y.levels.len() - 1, 0usize)];
        while let Some((level, first)) = open.pop() {
            let boxes = &self.y.levels[level];
            let mut bits = 0;
            for at in (0..FAN).step_by(S::N) {
                // SAFETY: a level has FAN places of padding, and N divides FAN.
                let some = unsafe {
                    Self::open::<S, D, F, L>(s, boxes, &mine, (lengths, slack), first + at, limit)
                };
                bits |= (some & first_lanes(S::N)) << at;
            }
            bits &= first_lanes(boxes.count - first);
            while bits != 0 {
                let at = first + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                match level {
                    0 if meets(self.cut, &self.cols, &rows, at) => found.leaves.push(at as u32),
                    0 => {}
                    _ => open.push((level - 1, at * FAN)),
                }
            }
        }
        found.gather(&self.y.levels[0], D);
    }
    #[inline(always)]
    fn row<S: Lanes<f64>, const D: usize, const F: u8, const L: bool>(
        &self,
        s: S,
        row: usize,
        (lengths, slack): (&[S::V; D], &[S::V; D]),
        found: &FoundLeaves,
    ) -> u64 {
        let x: [S::V; D] = array_of(|k| s.splat(self.x.column(k)[row]));
        let mine = Extent::point::<F>(x, slack);
        let none = s.splat(if L { -1.0 } else { f64::INFINITY });
        let mut limit = s.splat(self.ends.limit(L));
        let (mut best, mut seen) = (none, 0);
        for batch in (0..found.leaves.len()).step_by(S::N) {
            // SAFETY: the boxes side by side have FAN ≥ N places of padding.
            let bits = unsafe {
                Self::open::<S, D, F, L>(s, &found.boxes, &mine, (lengths, slack), batch, limit)
            };
            let mut bits = bits & first_lanes(S::N) & first_lanes(found.leaves.len() - batch);
            while bits != 0 {
                let first = found.leaves[batch + bits.trailing_zeros() as usize] as usize * LEAF;
                bits &= bits - 1;
                let lanes = live(self.cut, row, &self.cols, first);
                seen += u64::from(lanes.count_ones());
                for at in (0..LEAF).step_by(S::N) {
                    // SAFETY: columns are padded to whole leaves.
                    let value = unsafe { values::<S, D, F>(s, self.y, &x, lengths, first + at) };
                    let value = s.blend(s.mask(lanes >> at & first_lanes(S::N)), value, none);
                    best = if L {
                        s.max(best, value)
                    } else {
                        s.min(best, value)
                    };
                }
                limit = if L {
                    s.max(limit, best)
                } else {
                    s.min(limit, best)
                };
            }
        }
        let mut kept = [0.0; 16];
        // SAFETY: the array holds N ≤ 16 lanes.
        unsafe { s.store(best, kept.as_mut_ptr()) };
        for value in &kept[..S::N] {
            if (0.0..=f64::INFINITY).contains(value) && seen > 0 && (L || *value < f64::INFINITY) {
                self.ends.take(*value);
            }
        }
        seen
    }
}

/// Values of some pairs, so that a search begins with limits near the extremes: of rows that follow
/// one another, of a few rows with all columns, and of the farthest of the farthest.
pub struct Sample<'a>(pub Extremes<'a>);

impl Kernel<f64> for Sample<'_> {
    /// Pairs evaluated.
    type Output = u64;
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, s: S) -> u64 {
        by_form!(self.0.measure, self.look::<S>(s))
    }
}

impl Sample<'_> {
    #[inline(always)]
    fn look<S: Lanes<f64>, const D: usize, const F: u8>(&self, s: S) -> u64 {
        let (x, y) = (self.0.x, self.0.y);
        // Rows and columns of one input are in one order.
        let own = matches!(self.0.cut, Cut::All | Cut::From);
        if x.is_empty() || y.is_empty() || (!own && x.len < 2) {
            return 0;
        }
        let mut seen = 0;
        if std::ptr::eq(x, y) && x.len > 1 {
            seen += self.neighbours::<S, D, F>(s, x);
        }
        // Rows spread over the table, then from the first row to the farthest of the farthest: one
        // loop, so that it is there once.
        let sampled = SAMPLED.min(x.len);
        let (mut from, mut to, mut at) = (x, y, 0);
        for step in 0..sampled + STEPS {
            if step <= sampled {
                at = if step < sampled {
                    step * x.len / sampled
                } else {
                    0
                };
            }
            let farthest =
                self.row::<S, D, F>(s, (from, at), to, if own { None } else { Some(at) });
            seen += to.len as u64;
            if step >= sampled {
                (from, to, at) = (to, from, farthest);
            }
        }
        seen
    }
    /// Every row with the one behind it.
    #[inline(always)]
    fn neighbours<S: Lanes<f64>, const D: usize, const F: u8>(&self, s: S, x: &Bvh) -> u64 {
        let lengths = self.0.measure.lengths::<S, D>(s);
        let mut ends = [s.splat(f64::INFINITY), s.splat(-1.0)];
        for first in (0..x.len - 1).step_by(S::N) {
            // SAFETY: columns have LEAF > N places of padding.
            let value = unsafe {
                let point = array_of(|k| s.load(x.column(k).as_ptr().add(first)));
                values::<S, D, F>(s, x, &point, &lengths, first + 1)
            };
            ends = narrow(s, ends, value, x.len - 1 - first);
        }
        self.keep(s, ends);
        x.len as u64 - 1
    }
    /// A row with all columns but one; the column of the largest value.
    #[inline(always)]
    fn row<S: Lanes<f64>, const D: usize, const F: u8>(
        &self,
        s: S,
        (x, row): (&Bvh, usize),
        y: &Bvh,
        but: Option<usize>,
    ) -> usize {
        let lengths = self.0.measure.lengths::<S, D>(s);
        let point: [S::V; D] = array_of(|k| s.splat(x.column(k)[row]));
        let (mut largest, mut place) = (-1.0, row.min(y.len - 1));
        for start in (0..y.len).step_by(LEAF) {
            let mut ends = [s.splat(f64::INFINITY), s.splat(-1.0)];
            for first in (start..(start + LEAF).min(y.len)).step_by(S::N) {
                // SAFETY: columns have LEAF ≥ N places of padding.
                let value = unsafe { values::<S, D, F>(s, y, &point, &lengths, first) };
                if but.is_some_and(|but| (first..first + S::N).contains(&but)) {
                    continue;
                }
                ends = narrow(s, ends, value, y.len - first);
            }
            let most = self.keep(s, ends);
            if most > largest {
                (largest, place) = (most, start);
            }
        }
        // The first of its leaf of that value, or one near it: any is a step farther.
        let far = place..(place + LEAF).min(y.len);
        far.clone()
            .find(|at| {
                let mut lanes = [0.0; 16];
                // SAFETY: columns have LEAF ≥ N places of padding, and the array holds N ≤ 16
                // lanes.
                unsafe {
                    s.store(
                        values::<S, D, F>(s, y, &point, &lengths, *at),
                        lanes.as_mut_ptr(),
                    )
                };
                lanes[0] == largest
            })
            .unwrap_or(far.start)
    }
    /// Takes the ends of all lanes; the larger.
    #[inline(always)]
    fn keep<S: Lanes<f64>>(&self, s: S, [least, largest]: [S::V; 2]) -> f64 {
        let (mut low, mut high) = ([f64::INFINITY; 16], [-1.0; 16]);
        // SAFETY: the arrays hold N ≤ 16 lanes.
        unsafe {
            s.store(least, low.as_mut_ptr());
            s.store(largest, high.as_mut_ptr());
        }
        let (low, high) = (
            low.iter().fold(f64::INFINITY, |a, b| a.min(*b)),
            high.iter().fold(-1.0f64, |a, b| a.max(*b)),
        );
        if high >= 0.0 {
            self.0.ends.take(low);
            self.0.ends.take(high);
        }
        high
    }
}

/// The ends with the first `live` lanes of `value`.
#[inline(always)]
fn narrow<S: Lanes<f64>>(s: S, [least, largest]: [S::V; 2], value: S::V, live: usize) -> [S::V; 2] {
    let live = s.mask(first_lanes(live) & first_lanes(S::N));
    let (low, high) = (
        s.blend(live, value, s.splat(f64::INFINITY)),
        s.blend(live, value, s.splat(-1.0)),
    );
    [s.min(least, low), s.max(largest, high)]
}
