//! The loops over pairs: anchors in registers, vectors of the other side streaming by.

use super::points::Near;
use super::uniform::all;
use super::{CHUNK, Histogram, Pairs, Work};
use crate::simd::{Kernel, Lanes, first_lanes};
use std::marker::PhantomData;
use std::ops::Range;

/// What turns vectors of r² into counters.
pub(super) trait Binner<T: Near> {
    /// Whether sparse sweeps use `inside` and the queue; otherwise they use `beyond`.
    const QUEUES: bool;
    /// Constants in registers.
    type Constants<S: Lanes<T>>: Copy;
    /// Loads the constants.
    fn constants<S: Lanes<T>>(&self, s: S) -> Self::Constants<S>;
    /// Stores the counter of every lane (its slot times 2^SHIFT) and returns the bits of the undecided lanes. Every index
    /// lies within the private counters, whatever r² is.
    ///
    /// # Safety
    /// `index` is valid for `N` values.
    unsafe fn place<S: Lanes<T>, const SHIFT: i32>(
        &self,
        s: S,
        constants: Self::Constants<S>,
        r2: S::V,
        index: *mut i32,
    ) -> u32;
    /// The bits of the lanes that are certainly not below the last edge.
    fn beyond<S: Lanes<T>>(&self, s: S, constants: Self::Constants<S>, r2: S::V) -> u32;
    /// Slots with fractions, the bits of the lanes that are decided and below the last edge, and of those that are
    /// certainly not below it.
    fn inside<S: Lanes<T>>(&self, s: S, constants: Self::Constants<S>, r2: S::V) -> (S::V, u32, u32);
}

/// One sweep over `work`; the counters of a slot are 2^SHIFT copies.
pub(super) struct Sweep<'a, 'e, T, B, const SHIFT: i32> {
    pub work: Work<'a>,
    pub binner: &'a B,
    /// Drop lanes beyond the last edge before they are counted.
    pub sparse: bool,
    pub histogram: &'a mut Histogram<'e>,
    pub near: PhantomData<T>,
}

/// Decided slots that wait to be counted.
struct Queue<T> {
    slots: [T; QUEUE + 16],
    len: usize,
}
const QUEUE: usize = 256;

impl<T: Near, B: Binner<T>, const SHIFT: i32> Kernel<T> for Sweep<'_, '_, T, B, SHIFT> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<T>>(mut self, s: S) {
        let periodic = self.work.x.frame().periods().is_some();
        match (self.work.x.frame().dimensions(), periodic) {
            (1, false) => self.rows::<S, 1, false>(s),
            (2, false) => self.rows::<S, 2, false>(s),
            (3, false) => self.rows::<S, 3, false>(s),
            (4, false) => self.rows::<S, 4, false>(s),
            (1, true) => self.rows::<S, 1, true>(s),
            (2, true) => self.rows::<S, 2, true>(s),
            (3, true) => self.rows::<S, 3, true>(s),
            _ => self.rows::<S, 4, true>(s),
        }
    }
}

impl<T: Near, B: Binner<T>, const SHIFT: i32> Sweep<'_, '_, T, B, SHIFT> {
    #[inline(always)]
    fn rows<S: Lanes<T>, const D: usize, const P: bool>(&mut self, s: S) {
        let mut queue = Queue { slots: [T::ZERO; QUEUE + 16], len: 0 };
        let strips = self.work.strips;
        for strip in strips {
            let mut i = strip.rows.start;
            // Four anchors and three coordinates, a vector and constants fit in 32 registers; half of it in 16.
            let step = if S::REGISTERS >= 32 { 4 } else { 2 };
            while i < strip.rows.end {
                let anchors = if i + step <= strip.rows.end { step } else { 1 };
                for span in &strip.spans {
                    let start = match self.work.pairs {
                        Pairs::All => span.start,
                        Pairs::Above => self.corner(i, anchors, span),
                    };
                    for first in (start..span.end).step_by(CHUNK) {
                        let cols = first..span.end.min(first + CHUNK);
                        self.histogram.reserve((cols.len() as u64 + 16) * anchors as u64);
                        match anchors {
                            4 => self.group::<S, D, P, 4>(s, i, cols, &mut queue),
                            2 => self.group::<S, D, P, 2>(s, i, cols, &mut queue),
                            _ => self.group::<S, D, P, 1>(s, i, cols, &mut queue),
                        }
                    }
                }
                i += anchors;
            }
        }
        self.drain(s, &mut queue, true);
    }

    /// Counts the pairs of the anchors with columns below all their diagonals; returns the first column behind.
    fn corner(&mut self, i: usize, anchors: usize, span: &Range<usize>) -> usize {
        let end = span.end.min(i + anchors);
        for a in i..i + anchors {
            for j in span.start.max(a + 1)..end {
                self.histogram.count_exactly(&self.work, a, j);
            }
        }
        span.start.max(i + anchors)
    }

    /// Counts all pairs of `A` anchors with the columns.
    #[inline(always)]
    fn group<S: Lanes<T>, const D: usize, const P: bool, const A: usize>(
        &mut self,
        s: S,
        i: usize,
        cols: Range<usize>,
        queue: &mut Queue<T>,
    ) {
        let columns: [&[T]; D] = std::array::from_fn(|k| T::column(self.work.y, k));
        let anchors: [[S::V; D]; A] =
            std::array::from_fn(|a| std::array::from_fn(|k| s.splat(T::column(self.work.x, k)[i + a])));
        let lengths = self.work.x.frame().periods().unwrap_or_default();
        let lengths: [S::V; D] = std::array::from_fn(|k| s.splat(T::from_f64(lengths[k])));
        let constants = self.binner.constants(s);
        // Counters are bumped one round late: loads of parts of a vector that was just stored would wait for it.
        let mut index = [[[0i32; 16]; A]; 2];
        let counters = self.histogram.private.as_mut_ptr();
        let mut round = 0;
        let mut dropped = 0u64;
        for j in cols.clone().step_by(S::N) {
            // SAFETY: j < len, and columns hold 16 ≥ N values behind the last point.
            let y: [S::V; D] = std::array::from_fn(|k| unsafe { s.load(columns[k].as_ptr().add(j)) });
            let live = first_lanes(cols.end - j) & all::<T, S>();
            if self.sparse {
                for (a, anchor) in anchors.iter().enumerate() {
                    let r2 = squared::<T, S, D, P>(s, anchor, &y, &lengths);
                    dropped += self.sparse_vector(s, constants, (i + a, j), r2, live, queue);
                }
                continue;
            }
            let [even, odd] = &mut index;
            let (now, before) = if round % 2 == 0 { (even, odd) } else { (odd, even) };
            let mut undecided = [0u32; A];
            for a in 0..A {
                let r2 = squared::<T, S, D, P>(s, &anchors[a], &y, &lengths);
                // SAFETY: `now[a]` holds N values.
                undecided[a] = unsafe { self.binner.place::<S, SHIFT>(s, constants, r2, now[a].as_mut_ptr()) };
                if round > 0 {
                    // SAFETY: `place` stored indices of private counters in the round before.
                    unsafe { bump::<SHIFT>(counters, &before[a], S::N) };
                }
            }
            round += 1;
            let dead = live ^ all::<T, S>();
            if undecided.iter().fold(dead, |any, &bits| any | bits) != 0 {
                for a in 0..A {
                    self.settle(i + a, j, undecided[a] & live, undecided[a] | dead, &now[a]);
                }
            }
        }
        if round > 0 {
            for index in &index[(round + 1) % 2] {
                // SAFETY: `place` stored indices of private counters in the last round.
                unsafe { bump::<SHIFT>(counters, index, S::N) };
            }
        }
        let over = self.histogram.edges.bins() + 1;
        self.histogram.slots[over] = self.histogram.slots[over].wrapping_add(dropped);
    }

    /// Counts the lanes of a vector below the last edge; returns how many are beyond.
    #[inline(always)]
    fn sparse_vector<S: Lanes<T>>(
        &mut self,
        s: S,
        constants: B::Constants<S>,
        (i, j): (usize, usize),
        r2: S::V,
        live: u32,
        queue: &mut Queue<T>,
    ) -> u64 {
        if B::QUEUES {
            let (slots, decided, beyond) = self.binner.inside(s, constants, r2);
            self.enqueue(s, queue, slots, decided & live);
            let rest = live & !decided & !beyond;
            if rest != 0 {
                self.settle(i, j, rest, 0, &[0; 16]);
            }
            return u64::from((beyond & live).count_ones());
        }
        let beyond = self.binner.beyond(s, constants, r2) & live;
        let near = live & !beyond;
        if near != 0 {
            let mut index = [0; 16];
            // SAFETY: `index` holds N values.
            let undecided = unsafe { self.binner.place::<S, SHIFT>(s, constants, r2, index.as_mut_ptr()) };
            for lane in lanes(near & !undecided) {
                let counter = &mut self.histogram.private[index[lane] as usize];
                *counter = counter.wrapping_add(1);
            }
            if near & undecided != 0 {
                self.settle(i, j, near & undecided, 0, &index);
            }
        }
        u64::from(beyond.count_ones())
    }

    /// Counts lanes `exact` in f64, near the slots of `index`, and takes back the counts of lanes `wrong`.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, i: usize, j: usize, exact: u32, wrong: u32, index: &[i32; 16]) {
        let mask = self.histogram.private.len() / 2 - 1;
        for lane in lanes(wrong) {
            // The counters in the upper half, of undecided cells of tables, are never read.
            if index[lane] as usize <= mask {
                let slot = &mut self.histogram.slots[index[lane] as usize >> SHIFT];
                *slot = slot.wrapping_sub(1);
            }
        }
        for lane in lanes(exact) {
            let guess = (index[lane] as usize & mask) >> SHIFT;
            self.histogram.count_near(&self.work, i, j + lane, guess);
        }
    }

    #[inline(always)]
    fn enqueue<S: Lanes<T>>(&mut self, s: S, queue: &mut Queue<T>, slots: S::V, bits: u32) {
        debug_assert!(queue.len <= QUEUE);
        // SAFETY: the queue is never longer than QUEUE here, and has 16 ≥ N places behind.
        unsafe { s.store_compressed(slots, bits, queue.slots.as_mut_ptr().add(queue.len)) };
        queue.len += bits.count_ones() as usize;
        if queue.len > QUEUE - 16 {
            self.drain(s, queue, false);
        }
    }

    /// Counts what is queued in whole vectors; with `all`, the rest too.
    #[inline(always)]
    fn drain<S: Lanes<T>>(&mut self, s: S, queue: &mut Queue<T>, all: bool) {
        let counters = self.histogram.private.as_mut_ptr();
        let whole = queue.len / S::N * S::N;
        let mut index = [0i32; 16];
        for at in (0..whole).step_by(S::N) {
            // SAFETY: at + N ≤ len; queued slots are decided and inside, so that their counters exist.
            unsafe {
                s.store_i32::<SHIFT>(s.load(queue.slots.as_ptr().add(at)), index.as_mut_ptr());
                bump::<SHIFT>(counters, &index, S::N);
            }
        }
        let rest = queue.len - whole;
        if all {
            for slot in &queue.slots[whole..queue.len] {
                let count = &mut self.histogram.slots[slot.to_f64() as usize];
                *count = count.wrapping_add(1);
            }
            queue.len = 0;
        } else {
            // SAFETY: both places hold N values within the queue and its padding.
            unsafe { s.store(s.load(queue.slots.as_ptr().add(whole)), queue.slots.as_mut_ptr()) };
            queue.len = rest;
        }
    }
}

/// r² of the lanes, of the nearest images with `P`: coordinates lie within half a period of 0, so |d| ≤ L.
#[inline(always)]
fn squared<T: Near, S: Lanes<T>, const D: usize, const P: bool>(
    s: S,
    x: &[S::V; D],
    y: &[S::V; D],
    lengths: &[S::V; D],
) -> S::V {
    let mut sum = s.splat(T::ZERO);
    for k in 0..D {
        let mut d = s.sub(x[k], y[k]);
        if P {
            d = s.abs(d);
            d = s.min(d, s.sub(lengths[k], d));
        }
        sum = if k == 0 { s.mul(d, d) } else { s.mul_add(d, d, sum) };
    }
    sum
}

/// Increments `n` (a multiple of four) counters, lane after lane into its own copy.
///
/// # Safety
/// The first `n` of `index` are slots times 2^SHIFT, whose 2^SHIFT counters lie within the private counters at `counters`.
#[inline(always)]
unsafe fn bump<const SHIFT: i32>(counters: *mut u32, index: &[i32; 16], n: usize) {
    // SAFETY: the lanes read are below n ≤ 16; the caller promises the counters.
    unsafe {
        four::<SHIFT>(counters, index, 0);
        if n > 4 {
            four::<SHIFT>(counters, index, 4);
        }
        if n > 8 {
            four::<SHIFT>(counters, index, 8);
            four::<SHIFT>(counters, index, 12);
        }
    }
}

/// `bump` for lanes `lane` to `lane + 3`, which are read two at a time.
///
/// # Safety
/// As for `bump`.
#[inline(always)]
unsafe fn four<const SHIFT: i32>(counters: *mut u32, index: &[i32; 16], lane: usize) {
    let copies = 1usize << SHIFT;
    // SAFETY: the caller promises the lanes and the counters.
    unsafe {
        let a = index.as_ptr().add(lane).cast::<u64>().read_unaligned();
        let b = index.as_ptr().add(lane + 2).cast::<u64>().read_unaligned();
        for (at, half) in [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32].into_iter().enumerate() {
            let counter = counters.add(half as usize + (lane + at) % copies);
            *counter = (*counter).wrapping_add(1);
        }
    }
}

/// The positions of the set bits.
#[inline(always)]
fn lanes(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}
