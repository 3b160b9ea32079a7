//! Arbitrary bins: a table over the leading bits of r², whose cells say the slot or that it is
//! undecided.

use super::binner::Binner;
use super::edges::Edges;
use super::points::{Near, Points};
use zipfold_vector::simd::Lanes;

/// Cells of a table for few edges. Most pairs lie in the last octaves of r², whose part of 64 KiB
/// stays in the L1 cache next to the counters; fewer cells leave more pairs undecided: with 4096,
/// deciding them was 18 % of the samples of Corrfunc's Mr19.
const CELLS: usize = 1 << 14;

/// A table of counter indices.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    cells: Vec<u32>,
    shift: u32,
    base: i32,
    /// A bit above all counter indices that marks undecided cells; the index below it is that of
    /// the lowest slot.
    undecided: u32,
    /// Start of the last cell, from which on values are beyond the last edge.
    end: T,
}

/// Which cell a value of r² has: its leading bits, from those of the first cell on.
#[derive(Clone, Copy)]
struct RowKeys {
    shift: u32,
    base: i32,
    count: usize,
}

impl RowKeys {
    /// As many bits as give fewer than `most` cells between the edges `first` and `last`.
    fn new<T: Near>(first: f64, last: f64, most: usize) -> Option<RowKeys> {
        let bits = |e: f64, shift: u32| (T::from_f64(e).high_bits() >> shift) as i32;
        let shift = (0..32).find(|&s| ((bits(last, s) - bits(first, s)) as usize) < most - 3)?;
        let base = bits(first, shift) - 1;
        let count = (bits(last, shift) + 3 - base) as usize;
        Some(RowKeys { shift, base, count })
    }
    /// The least and the largest distance whose r² may fall in cell `c`.
    fn reach<T: Near>(self, c: usize, relative: f64, error: f64) -> [f64; 2] {
        let start = |c: usize| self.start::<T>(c).to_f64().sqrt();
        let low = if c == 0 {
            0.0
        } else {
            (start(c) * (1.0 - relative) - error).max(0.0)
        };
        let high = if c + 1 == self.count {
            f64::INFINITY
        } else {
            start(c + 1) * (1.0 + relative) + error
        };
        [low, high]
    }
    /// The first value of cell `c`.
    fn start<T: Near>(self, c: usize) -> T {
        T::from_high_bits(((c as i32 + self.base) as u32) << self.shift)
    }
}

/// The first and the last squared edge that `T` tells apart; none where values of points within
/// `reach` may overflow.
fn told_apart<T>(edges: &Edges, reach: f64) -> Option<(f64, f64)> {
    let overflow = if size_of::<T>() == 4 { 1e18 } else { 1e150 };
    let last = edges.squares()[edges.bins()];
    let mut squares = edges.squares().iter().copied();
    let first = squares.find(|&e| e > last * 1e-12)?;
    let fits = reach < overflow && last > 1e-30 && last < overflow && first > 1e-30;
    fits.then_some((first, last))
}

impl<T: Near> Table<T> {
    /// None if the arithmetic of `T` cannot tell the edges apart, or values may overflow.
    pub(super) fn new(edges: &Edges, copies: usize, x: &Points, y: &Points) -> Option<Table<T>> {
        let (first, last) = told_apart::<T>(edges, x.reach() + y.reach())?;
        let undecided = (edges.bins() + 3).next_power_of_two() * copies;
        let most = if edges.bins() < 64 { CELLS } else { CELLS * 2 };
        let keys = RowKeys::new::<T>(first, last, most)?;
        let error = x.difference_error::<T>(y) * (x.frame().dimensions() as f64).sqrt()
            + if size_of::<T>() == 4 { 1e-22 } else { 1e-160 };
        let relative = 4.0 * T::UNIT + 8.0 * f64::EPSILON;
        let cell = |c: usize| {
            let [low, high] = keys.reach::<T>(c, relative, error);
            let (low, high) = (edges.slot(low * low), edges.slot(high * high));
            (low * copies + if low == high { 0 } else { undecided }) as u32
        };
        let RowKeys { shift, base, count } = keys;
        // The last cell holds all from its start on.
        let end = keys.start::<T>(count - 1);
        let cells: Vec<u32> = (0..count).map(cell).collect();
        let lost = cells.iter().filter(|&&c| c & undecided as u32 != 0).count();
        let telling = size_of::<T>() == 8 || lost <= edges.bins() * 2 + 2 || lost * 16 < count;
        let settled = cells.last() == Some(&(((edges.bins() + 1) * copies) as u32));
        (telling && settled && base >= 0).then_some(Table {
            cells,
            shift,
            base,
            undecided: undecided as u32,
            end,
        })
    }
}

impl<T: Near> Binner<T> for Table<T> {
    type Constants<S: Lanes<T>> = ();

    #[inline(always)]
    fn constants<S: Lanes<T>>(&self, _: S) {}

    #[inline(always)]
    fn far(&self) -> T {
        self.end
    }

    #[inline(always)]
    unsafe fn place<S: Lanes<T>, const SHIFT: i32>(
        &self,
        s: S,
        (): (),
        r2: S::V,
        index: *mut i32,
    ) -> u32 {
        // SAFETY: the caller promises N values; keys are clamped to the cells.
        unsafe {
            s.store_keys(
                r2,
                self.shift,
                self.base,
                self.cells.len() as i32 - 1,
                index,
            );
            let mut seen = 0;
            for lane in 0..S::N {
                let cell = *self.cells.get_unchecked(*index.add(lane) as usize);
                seen |= cell;
                *index.add(lane) = cell as i32;
            }
            if seen & self.undecided == 0 {
                return 0;
            }
            (0..S::N)
                .map(|lane| u32::from(*index.add(lane) as u32 & self.undecided != 0) << lane)
                .sum()
        }
    }
}
