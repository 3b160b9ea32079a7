//! The k nearest of every row: down the boxes, the nearest first, until none can hold a better one.
//!
//! ```text
//! limit = ∞
//! for each row, in sorted order
//!     level = top; batch[level] = least values of its boxes
//!     loop
//!         bound = the worst of a full list, or limit
//!         take the open box of batch[level] with the least value, if that is ≤ bound
//!         none left: level += 1; above the top: done
//!         level = 0: offer the values of the leaf's points that are ≤ bound; done if that is enough
//!         else: level −= 1; batch[level] = least values of its children
//!     limit = worst of this row + distance to the next row            (triangle inequality)
//! ```
//!
//! The limit taken over from the row before is what makes the first descent short: rows that follow
//! each other are near each other, so their k-th neighbours are about as far. Depth first with an
//! array of batches needs no heap; taking the nearest box of a batch first makes the bound small
//! early.

use super::measure::{Extent, LARGEST, MAGNITUDES, PERIODIC, by_form, least, slacks, values};
use super::{Bvh, Cut, FAN, LEAF, Measure, live, slack};
use crate::kernels::top_k::TopK;
use std::ops::Range;
use zipfold_vector::simd::{Kernel, Lanes, array_of, first_lanes};

/// Levels that a hierarchy may have: FAN¹² boxes are more than addresses.
const DEPTH: usize = 12;

/// A search for the neighbours of some rows among some columns. `take` gets a row and its list, and
/// gives the list with which the next search of this row goes on.
pub struct Nearest<'a, B, T> {
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
    /// Neighbours sought.
    pub k: usize,
    /// Fills the list of a row with what is known, and says what of it bounds the search.
    pub begin: B,
    /// Takes the list of a row.
    pub take: T,
}

/// What bounds the search of a row.
#[derive(Clone, Copy)]
pub struct SearchLimits {
    /// The row is left once the worst value of its full list is below this.
    pub enough: f64,
    /// Values above this do not matter to the row.
    pub most: f64,
}

/// A batch of boxes that is being visited: least values, and which wait.
#[derive(Clone, Copy)]
struct BoxBatch {
    least: [f64; FAN],
    open: u32,
    first: usize,
}

/// A row on its search.
struct Probe<'b, V, const D: usize> {
    row: usize,
    x: [V; D],
    /// What a value must not exceed, regardless of what was found.
    limit: f64,
    /// The row is left once the worst of its full list is below this.
    enough: f64,
    /// Edges of the box.
    lengths: &'b [V; D],
}

impl<B: FnMut(usize, &mut TopK<f64>) -> SearchLimits, T: FnMut(usize, &mut TopK<f64>)> Kernel<f64>
    for Nearest<'_, B, T>
{
    /// Pairs evaluated, those whose column is behind the row apart.
    type Output = [u64; 2];
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, s: S) -> [u64; 2] {
        by_form!(self.measure, self.rows_of::<S>(s))
    }
}

impl<B: FnMut(usize, &mut TopK<f64>) -> SearchLimits, T: FnMut(usize, &mut TopK<f64>)>
    Nearest<'_, B, T>
{
    #[inline(always)]
    fn rows_of<S: Lanes<f64>, const D: usize, const F: u8>(mut self, s: S) -> [u64; 2] {
        let box_of = (
            self.measure.lengths::<S, D>(s),
            slacks::<S, D>(s, self.measure, self.x),
        );
        let mut top = TopK::new(self.k);
        let mut seen = [0; 2];
        // Rows that follow each other lie near each other.
        let same =
            self.cut == Cut::All || (self.cut == Cut::Others && self.cols == (0..self.y.len));
        let mut limit = f64::INFINITY;
        for row in self.rows.clone() {
            top.clear();
            let SearchLimits { enough, most } = (self.begin)(row, &mut top);
            let x: [S::V; D] = array_of(|k| s.splat(self.x.column(k)[row]));
            let probe = Probe {
                row,
                x,
                limit: limit.min(most),
                enough,
                lengths: &box_of.0,
            };
            self.row::<S, D, F>(s, &probe, &box_of.1, &mut top, &mut seen);
            limit = match top.bound() {
                Some(bound) if same && row + 1 < self.rows.end => self.next_limit::<F>(row, bound),
                _ => f64::INFINITY,
            };
            (self.take)(row, &mut top);
        }
        seen
    }
    /// More than the value of the k-th neighbour of the row behind `row`, of which it is `bound`:
    /// not farther than that and the way between the rows. Where rows leave themselves out, one
    /// takes the place of the other.
    fn next_limit<const F: u8>(&self, row: usize, bound: f64) -> f64 {
        let (mut way, mut error) = (0.0f64, 0.0);
        for k in 0..self.measure.terms {
            let column = self.x.column(k);
            let mut d = column[row + 1] - column[row];
            if F == PERIODIC {
                let length = self.measure.periods.map_or(1.0, |lengths| lengths[k]);
                d -= length * (d / length).round_ties_even();
                error += slack(self.x.most.max(self.y.most), length);
            }
            way = match F {
                LARGEST => way.max(d.abs()),
                MAGNITUDES => way + d.abs(),
                _ => way + d * d,
            };
        }
        // Roundings of values and of this, and squares that are too small for numbers.
        let limit = match F {
            LARGEST | MAGNITUDES => bound + way,
            _ => (bound.sqrt() + way.sqrt() + 4.0 * error).powi(2),
        };
        limit * (1.0 + 1e-9) + 1e-300
    }
    #[inline(always)]
    fn row<S: Lanes<f64>, const D: usize, const F: u8>(
        &self,
        s: S,
        probe: &Probe<'_, S::V, D>,
        slack: &[S::V; D],
        top: &mut TopK<f64>,
        seen: &mut [u64; 2],
    ) {
        let (limit, lengths) = (probe.limit, probe.lengths);
        let mine = Extent::point::<F>(probe.x, slack);
        let highest = self.y.levels.len() - 1;
        let mut batches = [BoxBatch {
            least: [0.0; FAN],
            open: 0,
            first: 0,
        }; DEPTH];
        let mut level = highest;
        batches[level] = self.enter::<S, D, F>(s, level, 0, &mine, lengths);
        loop {
            let batch = &mut batches[level];
            let Some(lane) = nearest_open(s, batch, top.bound().unwrap_or(limit).min(limit)) else {
                level += 1;
                if level > highest {
                    return;
                }
                continue;
            };
            let child = batch.first + lane;
            if level == 0 {
                self.leaf::<S, D, F>(s, probe, child, top, seen);
                if top.bound().is_some_and(|bound| bound < probe.enough) {
                    return;
                }
            } else {
                level -= 1;
                batches[level] = self.enter::<S, D, F>(s, level, child * FAN, &mine, lengths);
            }
        }
    }
    /// The boxes of a batch.
    #[inline(always)]
    fn enter<S: Lanes<f64>, const D: usize, const F: u8>(
        &self,
        s: S,
        level: usize,
        first: usize,
        mine: &Extent<S::V, D>,
        lengths: &[S::V; D],
    ) -> BoxBatch {
        let boxes = &self.y.levels[level];
        let mut batch = BoxBatch {
            least: [0.0; FAN],
            open: first_lanes(boxes.count - first),
            first,
        };
        for at in (0..FAN).step_by(S::N) {
            // SAFETY: a level has FAN places of padding, and N divides FAN.
            unsafe {
                let found = least::<S, D, F>(s, boxes, mine, lengths, first + at);
                s.store(found, batch.least.as_mut_ptr().add(at));
            }
        }
        batch
    }
    /// The points of a leaf.
    #[inline(always)]
    fn leaf<S: Lanes<f64>, const D: usize, const F: u8>(
        &self,
        s: S,
        probe: &Probe<'_, S::V, D>,
        leaf: usize,
        top: &mut TopK<f64>,
        seen: &mut [u64; 2],
    ) {
        let Probe {
            row,
            x,
            limit,
            lengths,
            ..
        } = probe;
        let (row, limit) = (*row, *limit);
        let first = leaf * LEAF;
        let lanes = live(self.cut, row, &self.cols, first);
        seen[0] += u64::from(lanes.count_ones());
        seen[1] += u64::from((lanes & live(Cut::Above, row, &self.cols, first)).count_ones());
        for at in (0..LEAF).step_by(S::N) {
            // SAFETY: columns are padded to whole leaves.
            let found = unsafe { values::<S, D, F>(s, self.y, x, lengths, first + at) };
            let bound = top.bound().unwrap_or(limit).min(limit);
            let mut bits = s.bits(s.le(found, s.splat(bound))) & lanes >> at & first_lanes(S::N);
            if bits == 0 {
                continue;
            }
            let mut kept = [0.0; 16];
            // SAFETY: the array holds N ≤ 16 lanes.
            unsafe { s.store(found, kept.as_mut_ptr()) };
            while bits != 0 {
                let lane = bits.trailing_zeros() as usize;
                bits &= bits - 1;
                top.push((kept[lane], self.y.names[first + at + lane]));
            }
        }
    }
}

/// Takes the nearest box of a batch that may hold a value up to `bound`.
#[inline(always)]
fn nearest_open<S: Lanes<f64>>(s: S, batch: &mut BoxBatch, bound: f64) -> Option<usize> {
    let limit = s.splat(bound);
    let mut near = 0;
    for at in (0..FAN).step_by(S::N) {
        // SAFETY: `least` holds FAN values, and N divides FAN.
        near |= s.bits(s.le(unsafe { s.load(batch.least.as_ptr().add(at)) }, limit)) << at;
    }
    batch.open &= near;
    if batch.open == 0 {
        return None;
    }
    // The least of the open ones, without a branch: how many there are cannot be foretold.
    let at = |at: usize| {
        // SAFETY: `least` holds FAN values, and N divides FAN.
        let value = unsafe { s.load(batch.least.as_ptr().add(at)) };
        s.blend(
            s.mask(batch.open >> at & first_lanes(S::N)),
            value,
            s.splat(f64::INFINITY),
        )
    };
    let least = (S::N..FAN)
        .step_by(S::N)
        .fold(at(0), |least, next| s.min(least, at(next)));
    let mut lanes = [f64::INFINITY; 16];
    // SAFETY: the array holds N ≤ 16 lanes.
    unsafe { s.store(least, lanes.as_mut_ptr()) };
    let four: [f64; 4] = array_of(|l| lanes[l].min(lanes[l + 4]));
    let best = s.splat(four[0].min(four[1]).min(four[2].min(four[3])));
    let mut found = 0;
    for at in (0..FAN).step_by(S::N) {
        // SAFETY: as above.
        found |= s.bits(s.le(unsafe { s.load(batch.least.as_ptr().add(at)) }, best)) << at;
    }
    let lane = (found & batch.open).trailing_zeros() as usize;
    batch.open &= !(1 << lane);
    Some(lane)
}
