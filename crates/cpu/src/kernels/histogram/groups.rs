//! Counters of pairs of groups: those of a histogram once for each pair of groups, one after another.
//!
//! A pair's counter is the sum of three numbers: of its bin, of the group of its row, and of the group
//! of its column. So the loop over pairs stays the one without groups, and adds two numbers that it
//! loads with the coordinates.
//!
//! ```text
//! counter = slot of the bin + of_x[row] + of_y[column]      of_x = group · groups · slots, of_y = group · slots
//! ```

use super::edges::Edges;
use super::queued::{From, QUEUE, QueuedPairs};
use super::sums::BEHIND;
use zipfold_vector::simd::{Element, Isa, Kernel, Lanes, first_lanes};

/// The groups of the points of x and of y.
#[derive(Clone, Debug)]
pub struct Groups {
    count: usize,
    /// By place, what its group adds to a counter; [`BEHIND`] places more.
    of_x: Vec<i32>,
    of_y: Vec<i32>,
    /// The bits of a slot. Those above mark undecided cells of tables.
    mask: i32,
}

/// Slots of a histogram: bins, under, over, and NaN.
pub(super) fn slots(edges: &Edges) -> usize {
    edges.bins() + 3
}

impl Groups {
    /// Takes the group of each place of x and of y, below `count`.
    ///
    /// # Panics
    /// If there are more counters than 2³¹.
    pub fn new(edges: &Edges, count: usize, [x, y]: [&[u32]; 2]) -> Groups {
        let slots = slots(edges);
        assert!(
            (count * count).saturating_mul(slots) < 1 << 31,
            "counters of too many groups"
        );
        let shifts = |codes: &[u32], wide: usize| {
            let behind = std::iter::repeat_n(0, BEHIND);
            let of = |code: &u32| *code as i32 * wide as i32;
            codes.iter().map(of).chain(behind).collect()
        };
        Groups {
            count,
            of_x: shifts(x, count * slots),
            of_y: shifts(y, slots),
            mask: slots.next_power_of_two() as i32 - 1,
        }
    }
    /// Pairs of groups.
    pub(super) fn pairs(&self) -> usize {
        self.count * self.count
    }
    /// Whether there are groups for this many places of x and of y.
    pub(super) fn cover(&self, x: usize, y: usize) -> bool {
        self.of_x.len() >= x + BEHIND && self.of_y.len() >= y + BEHIND
    }
    /// What the groups of a pair add to its counter.
    #[inline(always)]
    pub(super) fn shift(&self, i: usize, j: usize) -> usize {
        (self.of_x[i] + self.of_y[j]) as usize
    }
    /// Moves the slots of row i and a vector of columns from j on to the counters of their groups.
    ///
    /// # Safety
    /// Row i and column j are places.
    #[inline(always)]
    pub(super) unsafe fn move_row<T: Element, S: Lanes<T>>(
        &self,
        pair: (usize, usize),
        slots: &mut [i32; 16],
    ) {
        // A number of lanes that the compiler knows, so that its loops are vectors.
        // SAFETY: the caller's promise.
        unsafe {
            match S::N {
                16 => self.move_vector::<16>(pair, slots),
                8 => self.move_vector::<8>(pair, slots),
                4 => self.move_vector::<4>(pair, slots),
                2 => self.move_vector::<2>(pair, slots),
                _ => self.move_vector::<1>(pair, slots),
            }
        }
    }
    /// Moves the first `N` slots, of row i and columns from j on. All are read before the first is
    /// stored: the compiler then moves one vector, and does not take the same lane of many rows.
    ///
    /// # Safety
    /// As for [`Self::move_row`]; N ≤ 16.
    #[inline(always)]
    unsafe fn move_vector<const N: usize>(&self, (i, j): (usize, usize), slots: &mut [i32; 16]) {
        // SAFETY: 16 ≥ N numbers lie behind those of the last place, and in `slots`.
        unsafe {
            let x = *self.of_x.get_unchecked(i);
            let y = self.of_y.as_ptr().add(j).cast::<[i32; N]>();
            let y = y.read_unaligned();
            let to = slots.as_mut_ptr().cast::<[i32; N]>();
            let mut moved = to.read();
            for (slot, y) in moved.iter_mut().zip(&y) {
                *slot = (*slot & self.mask) + (x + y);
            }
            to.write(moved);
        }
    }
    /// Moves the slots of queued pairs to the counters of their groups.
    #[inline(always)]
    pub(super) fn move_queued(&self, isa: Isa, pairs: &QueuedPairs<'_>, slots: &mut [i32]) {
        let mut to = [0; QUEUE + 16];
        let shifts = Shifts {
            groups: self,
            from: pairs.from,
            lanes: pairs.lanes,
            to: &mut to,
        };
        f32::dispatch(isa, shifts);
        for (slot, shift) in slots.iter_mut().zip(&to) {
            *slot += shift;
        }
    }
}

/// What the groups of queued pairs add to their counters.
struct Shifts<'a> {
    groups: &'a Groups,
    /// Row, first column and lanes of each vector that was queued.
    from: &'a [From],
    /// Lanes of such a vector.
    lanes: usize,
    /// Room for a queue, and a vector behind it.
    to: &'a mut [i32],
}

impl Kernel<f32> for Shifts<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<f32>>(self, s: S) {
        let mut end = 0;
        for from in self.from {
            let (i, j) = (from.i as usize, from.j as usize);
            let x = self.groups.of_x[i];
            for part in (0..self.lanes).step_by(S::N) {
                let bits = from.bits >> part & first_lanes(S::N);
                let mut both = [0i32; 16];
                // SAFETY: 16 numbers lie behind those of the last place, and of a full queue. Vectors
                // of f32 only move the bits.
                unsafe {
                    let y = self.groups.of_y.as_ptr().add(j + part);
                    for (lane, both) in both.iter_mut().enumerate().take(S::N) {
                        *both = x + *y.add(lane);
                    }
                    let moved = s.load(both.as_ptr().cast());
                    s.store_compressed(moved, bits, self.to.as_mut_ptr().add(end).cast());
                }
                end += bits.count_ones() as usize;
            }
        }
    }
}
