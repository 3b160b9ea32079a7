//! What others do with the pairs of a queue, whose bins are known.

use zipfold_vector::simd::{Kernel, Lanes, first_lanes};

/// Takes pairs by their places, with their slots: 0 is under, then come the bins, over, and NaN.
pub trait TakesPairs: std::fmt::Debug {
    /// Takes some pairs, at most [`MOST_QUEUED`], with their slots times 2^`shift`. A slot that it
    /// changes to that of NaN is counted there.
    fn take(&mut self, pairs: &QueuedPairs<'_>, slots: &mut [i32], shift: i32);
}

/// Pairs that a queue holds at most.
pub const MOST_QUEUED: usize = QUEUE;
pub(super) const QUEUE: usize = 1024;

/// A vector of which lanes were queued: its row and first column, and where they begin in the
/// queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct From {
    pub i: u32,
    pub j: u32,
    pub bits: u32,
    pub start: u32,
}

/// The positions of the set bits.
#[inline(always)]
pub(super) fn lanes(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}

/// Pairs in the order in which they were queued.
#[derive(Debug)]
pub struct QueuedPairs<'a> {
    pub(super) from: &'a [From],
    pub(super) lanes: usize,
}

impl<'a> QueuedPairs<'a> {
    /// One pair, kept in `from`.
    pub(super) fn of_one(from: &'a mut From, i: usize, j: usize) -> Self {
        *from = From {
            i: i as u32,
            j: j as u32,
            bits: 1,
            start: 0,
        };
        let from = std::slice::from_ref(from);
        QueuedPairs { from, lanes: 1 }
    }
    /// Row, first column and lanes of each vector.
    pub fn vectors(&self) -> impl Iterator<Item = (usize, usize, u32)> + 'a {
        let of = |from: &From| (from.i as usize, from.j as usize, from.bits);
        self.from.iter().map(of)
    }
    /// The row and the column of pair `at`.
    pub fn pair(&self, at: usize) -> (usize, usize) {
        let vector = self.from.partition_point(|from| from.start as usize <= at) - 1;
        let from = self.from[vector];
        let mut bits = from.bits;
        (0..at - from.start as usize).for_each(|_| bits &= bits.wrapping_sub(1));
        (
            from.i as usize,
            from.j as usize + bits.trailing_zeros() as usize,
        )
    }
    /// Numbers of the rows, one for each pair.
    pub fn of_rows<'s>(&'s self, numbers: &'s [f64], to: &'s mut [f64]) -> GatherNumbers<'s> {
        self.gather(numbers, true, to)
    }
    /// Numbers of the columns, one for each pair; [`super::BEHIND`] lie behind that of the last place.
    pub fn of_columns<'s>(&'s self, numbers: &'s [f64], to: &'s mut [f64]) -> GatherNumbers<'s> {
        self.gather(numbers, false, to)
    }
    fn gather<'s>(
        &'s self,
        numbers: &'s [f64],
        rows: bool,
        to: &'s mut [f64],
    ) -> GatherNumbers<'s> {
        GatherNumbers {
            from: self.from,
            lanes: self.lanes,
            numbers,
            rows,
            to,
        }
    }
}

/// Puts a number of each pair side by side.
#[derive(Debug)]
pub struct GatherNumbers<'a> {
    from: &'a [From],
    lanes: usize,
    numbers: &'a [f64],
    rows: bool,
    to: &'a mut [f64],
}

impl Kernel<f64> for GatherNumbers<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, s: S) {
        let mut end = 0;
        for From { i, j, bits, .. } in self.from {
            let all = s.splat(self.numbers[if self.rows { *i } else { *j } as usize]);
            for part in (0..self.lanes).step_by(S::N) {
                let bits = bits >> part & first_lanes(S::N);
                // SAFETY: 16 numbers lie behind that of the last column, and room for as many behind
                // a full queue.
                unsafe {
                    let to = self.to.as_mut_ptr().add(end);
                    if self.rows {
                        s.store(all, to);
                    } else {
                        let v = s.load(self.numbers.as_ptr().add(*j as usize + part));
                        s.store_compressed(v, bits, to);
                    }
                }
                end += bits.count_ones() as usize;
            }
        }
    }
}
