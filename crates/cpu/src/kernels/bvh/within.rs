//! The pairs whose value is at most a limit: leaves for a group of rows, then for each row, then
//! their points.

use super::measure::{Extent, by_form, least, slacks, values};
use super::{BoxLevel, Bvh, Cut, FAN, LEAF, Measure, live, meets};
use std::ops::Range;
use zipfold_vector::simd::{Kernel, Lanes, array_of, each_of, first_lanes};

/// Rows that look for leaves together.
const GROUP: usize = 16;
/// Matches handed on at a time.
const ROOM: usize = 1024;

/// A search for all columns within `limit` of some rows. `take` gets a row and columns of it, each
/// once, in any order.
pub struct Within<'a, T> {
    /// Sorted rows.
    pub x: &'a Bvh,
    /// Sorted columns.
    pub y: &'a Bvh,
    /// The value of a pair.
    pub measure: &'a Measure,
    /// Rows to answer.
    pub rows: Range<usize>,
    /// Columns to search.
    pub cols: Range<usize>,
    /// Which of them.
    pub cut: Cut,
    /// The largest value that counts.
    pub limit: f64,
    /// Takes matches.
    pub take: T,
}

/// The leaves that a group of rows may meet: their boxes side by side.
#[derive(Default)]
pub(super) struct FoundLeaves {
    pub(super) boxes: BoxLevel,
    pub(super) leaves: Vec<u32>,
}

impl<E, T: FnMut(usize, &[u32]) -> Result<(), E>> Kernel<f64> for Within<'_, T> {
    /// Pairs evaluated.
    type Output = Result<u64, E>;
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, s: S) -> Result<u64, E> {
        by_form!(self.measure, self.rows_of::<S>(s))
    }
}

impl<E, T: FnMut(usize, &[u32]) -> Result<(), E>> Within<'_, T> {
    #[inline(always)]
    fn rows_of<S: Lanes<f64>, const D: usize, const F: u8>(mut self, s: S) -> Result<u64, E> {
        let lengths = self.measure.lengths::<S, D>(s);
        let slack = slacks::<S, D>(s, self.measure, self.x);
        let mut found = FoundLeaves::default();
        let mut matches = [0u32; ROOM + LEAF + 16];
        let mut seen = 0;
        let mut start = self.rows.start;
        while start < self.rows.end {
            let end = self.rows.end.min((start / GROUP + 1) * GROUP);
            self.collect::<S, D, F>(s, start..end, &lengths, &mut found);
            for row in start..end {
                seen += self.row::<S, D, F>(s, row, (&lengths, &slack), &found, &mut matches)?;
            }
            start = end;
        }
        Ok(seen)
    }
    /// The leaves that hold columns within the limit of a group of rows.
    #[inline(always)]
    fn collect<S: Lanes<f64>, const D: usize, const F: u8>(
        &self,
        s: S,
        rows: Range<usize>,
        lengths: &[S::V; D],
        found: &mut FoundLeaves,
    ) {
        let mine = extent::<S, D>(s, self.x, self.measure, &rows);
        let limit = s.splat(self.limit);
        found.leaves.clear();
        let mut open = vec![(self.y.levels.len() - 1, 0usize)];
        while let Some((level, first)) = open.pop() {
            let boxes = &self.y.levels[level];
            let mut bits = 0;
            for at in (0..FAN).step_by(S::N) {
                // SAFETY: a level has FAN places of padding, and N divides FAN.
                let value = unsafe { least::<S, D, F>(s, boxes, &mine, lengths, first + at) };
                bits |= s.bits(s.le(value, limit)) << at;
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
    fn row<S: Lanes<f64>, const D: usize, const F: u8>(
        &mut self,
        s: S,
        row: usize,
        (lengths, slack): (&[S::V; D], &[S::V; D]),
        found: &FoundLeaves,
        matches: &mut [u32; ROOM + LEAF + 16],
    ) -> Result<u64, E> {
        let x: [S::V; D] = array_of(|k| s.splat(self.x.column(k)[row]));
        let mine = Extent::point::<F>(x, slack);
        let limit = s.splat(self.limit);
        let (mut len, mut seen) = (0, 0);
        for batch in (0..found.leaves.len()).step_by(S::N) {
            // SAFETY: the boxes side by side have FAN ≥ N places of padding.
            let value = unsafe { least::<S, D, F>(s, &found.boxes, &mine, lengths, batch) };
            let mut bits = s.bits(s.le(value, limit)) & first_lanes(found.leaves.len() - batch);
            while bits != 0 {
                let first = found.leaves[batch + bits.trailing_zeros() as usize] as usize * LEAF;
                bits &= bits - 1;
                let lanes = live(self.cut, row, &self.cols, first);
                seen += u64::from(lanes.count_ones());
                for at in (0..LEAF).step_by(S::N) {
                    // SAFETY: columns are padded to whole leaves.
                    let value = unsafe { values::<S, D, F>(s, self.y, &x, lengths, first + at) };
                    let inside = s.bits(s.le(value, limit)) & lanes >> at & first_lanes(S::N);
                    // SAFETY: below ROOM + LEAF, with 16 places behind; N are added at most.
                    unsafe {
                        s.store_indices(inside, (first + at) as u32, matches.as_mut_ptr().add(len))
                    };
                    len += inside.count_ones() as usize;
                }
                if len >= ROOM {
                    (self.take)(row, &matches[..len])?;
                    len = 0;
                }
            }
        }
        if len > 0 {
            (self.take)(row, &matches[..len])?;
        }
        Ok(seen)
    }
}

/// The box of some rows.
#[inline(always)]
pub(super) fn extent<S: Lanes<f64>, const D: usize>(
    s: S,
    x: &Bvh,
    measure: &Measure,
    rows: &Range<usize>,
) -> Extent<S::V, D> {
    let ends: [(f64, f64); D] = array_of(|k| {
        let (lo, hi) = super::hull_of_values(&x.column(k)[rows.clone()]);
        match measure.periods {
            Some(lengths) => super::middle((lo, hi), x.most, lengths[k]),
            None => (lo, hi),
        }
    });
    Extent {
        first: each_of(ends, |e| s.splat(e.0)),
        second: each_of(ends, |e| s.splat(e.1)),
    }
}

impl FoundLeaves {
    /// Puts the boxes of the leaves side by side.
    pub(super) fn gather(&mut self, leaves: &BoxLevel, terms: usize) {
        let count = self.leaves.len();
        let stride = count + FAN;
        self.boxes.count = count;
        self.boxes.stride = stride;
        self.boxes
            .first
            .resize(self.boxes.first.len().max(stride * terms), 0.0);
        self.boxes
            .second
            .resize(self.boxes.second.len().max(stride * terms), 0.0);
        for k in 0..terms {
            for (at, leaf) in self.leaves.iter().enumerate() {
                self.boxes.first[k * stride + at] =
                    leaves.first[k * leaves.stride + *leaf as usize];
                self.boxes.second[k * stride + at] =
                    leaves.second[k * leaves.stride + *leaf as usize];
            }
        }
    }
}
