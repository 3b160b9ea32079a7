//! The loops over pairs: anchors in registers, vectors of the other side streaming by.

use super::points::Near;
use super::uniform::all;
use super::{CHUNK, Histogram, Pairs, Span, Work};
use crate::simd::{Kernel, Lanes, first_lanes};
use std::marker::PhantomData;
use std::ops::Range;

/// What turns vectors of r² into counters.
pub(super) trait Binner<T: Near> {
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
    /// From this r² on a pair is certainly not below the last edge.
    fn far(&self) -> T;
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

/// Pairs that wait to be counted: their r², rows and columns.
struct Queue<T> {
    r2: [T; QUEUE + 16],
    i: [u32; QUEUE + 16],
    j: [u32; QUEUE + 16],
    len: usize,
}
const QUEUE: usize = 512;
/// What is enqueued between two looks at the length: a vector for each of four anchors.
const ROOM: usize = 64;

/// Counters that a group of anchors has yet to bump: one round late, for loads of parts of a vector that was just stored would
/// wait for it. And pairs visited, and those of them that were queued.
struct Late<const A: usize> {
    index: [[[i32; 16]; A]; 2],
    round: usize,
    visited: u64,
    queued: u64,
}

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
        let mut queue = Queue { r2: [T::ZERO; QUEUE + 16], i: [0; QUEUE + 16], j: [0; QUEUE + 16], len: 0 };
        let strips = self.work.strips;
        for strip in strips {
            let mut i = strip.rows.start;
            // Four anchors and three coordinates, a vector and constants fit in 32 registers; half of it in 16.
            let step = if S::REGISTERS >= 32 { 4 } else { 2 };
            while i < strip.rows.end {
                let anchors = if i + step <= strip.rows.end { step } else { 1 };
                match anchors {
                    4 => self.group::<S, D, P, 4>(s, i, &strip.spans, &mut queue),
                    2 => self.group::<S, D, P, 2>(s, i, &strip.spans, &mut queue),
                    _ => self.group::<S, D, P, 1>(s, i, &strip.spans, &mut queue),
                }
                i += anchors;
            }
        }
        self.drain(s, &mut queue, true);
    }

    /// Counts the pairs of `A` anchors with the columns.
    #[inline(always)]
    fn group<S: Lanes<T>, const D: usize, const P: bool, const A: usize>(
        &mut self,
        s: S,
        i: usize,
        spans: &[Span],
        queue: &mut Queue<T>,
    ) {
        let anchors: [[S::V; D]; A] =
            std::array::from_fn(|a| std::array::from_fn(|k| s.splat(T::column(self.work.x, k)[i + a])));
        let lengths = self.work.x.frame().periods().unwrap_or_default();
        let mut late = Late { index: [[[0i32; 16]; A]; 2], round: 0, visited: 0, queued: 0 };
        for span in spans {
            match span.image {
                Some(image) if P => {
                    let moved: [S::V; D] =
                        std::array::from_fn(|k| s.splat(T::from_f64(lengths[k] * f64::from(image[k]))));
                    let anchors = anchors.map(|anchor| std::array::from_fn(|k| s.add(anchor[k], moved[k])));
                    self.span::<S, D, false, A>(s, i, &anchors, &span.cols, queue, &mut late);
                }
                _ => self.span::<S, D, P, A>(s, i, &anchors, &span.cols, queue, &mut late),
            }
        }
        if late.round > 0 {
            for index in &late.index[(late.round + 1) % 2] {
                // SAFETY: `place` stored indices of private counters in the last round.
                unsafe { bump::<SHIFT>(self.histogram.private.as_mut_ptr(), index, S::N) };
            }
        }
        let over = self.histogram.edges.bins() + 1;
        self.histogram.slots[over] = self.histogram.slots[over].wrapping_add(late.visited - late.queued);
    }

    /// Counts the pairs of `A` anchors, rows from `i` on, with columns; of nearest images with `P`.
    #[inline(always)]
    fn span<S: Lanes<T>, const D: usize, const P: bool, const A: usize>(
        &mut self,
        s: S,
        i: usize,
        anchors: &[[S::V; D]; A],
        span: &Range<usize>,
        queue: &mut Queue<T>,
        late: &mut Late<A>,
    ) {
        let columns: [&[T]; D] = std::array::from_fn(|k| T::column(self.work.y, k));
        let lengths = self.work.x.frame().periods().unwrap_or_default();
        let lengths: [S::V; D] = std::array::from_fn(|k| s.splat(T::from_f64(lengths[k])));
        let constants = self.binner.constants(s);
        let far = s.splat(self.binner.far());
        let counters = self.histogram.private.as_mut_ptr();
        let least = if self.work.pairs == Pairs::Above { i + 1 } else { 0 };
        let mut first = span.start.max(least);
        while first < span.end {
            let cols = first..span.end.min(first + CHUNK);
            first = cols.end;
            self.histogram.reserve((cols.len() as u64 + 32) * A as u64);
            for j in cols.clone().step_by(S::N) {
                // SAFETY: j < len, and columns hold 16 ≥ N values behind the last point.
                let y: [S::V; D] = std::array::from_fn(|k| unsafe { s.load(columns[k].as_ptr().add(j)) });
                let live = if self.work.padded { all::<T, S>() } else { first_lanes(cols.end - j) & all::<T, S>() };
                // Of an anchor of a triangle, the columns behind it.
                let mut lives = [live; A];
                if j + 1 < least + A && least > 0 {
                    (0..A).for_each(|a| lives[a] &= !first_lanes((i + a + 1).saturating_sub(j)));
                }
                if self.sparse {
                    for (a, anchor) in anchors.iter().enumerate() {
                        let r2 = squared::<T, S, D, P>(s, anchor, &y, &lengths);
                        let near = lives[a] & !s.bits(s.le(far, r2));
                        late.queued += u64::from(near.count_ones());
                        if near != 0 {
                            queue.push(s, r2, (i + a, j), near);
                        }
                    }
                    late.visited += lives.iter().map(|live| u64::from(live.count_ones())).sum::<u64>();
                    if queue.len > QUEUE - ROOM {
                        self.drain(s, queue, false);
                    }
                    continue;
                }
                let [even, odd] = &mut late.index;
                let (now, before) = if late.round % 2 == 0 { (even, odd) } else { (odd, even) };
                let mut undecided = [0u32; A];
                for a in 0..A {
                    let r2 = squared::<T, S, D, P>(s, &anchors[a], &y, &lengths);
                    // SAFETY: `now[a]` holds N values.
                    undecided[a] = unsafe { self.binner.place::<S, SHIFT>(s, constants, r2, now[a].as_mut_ptr()) };
                    if late.round > 0 {
                        // SAFETY: `place` stored indices of private counters in the round before.
                        unsafe { bump::<SHIFT>(counters, &before[a], S::N) };
                    }
                }
                late.round += 1;
                for a in 0..A {
                    let dead = lives[a] ^ all::<T, S>();
                    if undecided[a] | dead != 0 {
                        let of = |lane: usize| (i + a, j + lane);
                        self.settle(of, undecided[a] & lives[a], undecided[a] | dead, &now[a]);
                    }
                }
            }
        }
    }

    /// Counts lanes `exact` in f64, near the slots of `index`, and takes back the counts of lanes `wrong`; `of` says the pair
    /// of a lane.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, of: impl Fn(usize) -> (usize, usize), exact: u32, wrong: u32, index: &[i32; 16]) {
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
            let (i, j) = of(lane);
            self.histogram.count_near(&self.work, i, j, guess);
        }
    }

    /// Counts what is queued in whole vectors; with `last`, the rest too.
    #[inline(always)]
    fn drain<S: Lanes<T>>(&mut self, s: S, queue: &mut Queue<T>, last: bool) {
        let constants = self.binner.constants(s);
        let counters = self.histogram.private.as_mut_ptr();
        let whole = queue.len / S::N * S::N;
        self.histogram.reserve(whole as u64 + 16);
        let mut index = [[0i32; 16]; 2];
        for (round, at) in (0..whole).step_by(S::N).enumerate() {
            // SAFETY: at + N ≤ len; `place` stores N indices of private counters, and did so in the round before.
            let undecided = unsafe {
                let r2 = s.load(queue.r2.as_ptr().add(at));
                let undecided = self.binner.place::<S, SHIFT>(s, constants, r2, index[round % 2].as_mut_ptr());
                if round > 0 {
                    bump::<SHIFT>(counters, &index[(round + 1) % 2], S::N);
                }
                undecided
            };
            if undecided != 0 {
                let (i, j) = (&queue.i[at..], &queue.j[at..]);
                let of = |lane: usize| (i[lane] as usize, j[lane] as usize);
                self.settle(of, undecided, undecided, &index[round % 2]);
            }
        }
        if whole > 0 {
            // SAFETY: `place` stored indices of private counters in the last round.
            unsafe { bump::<SHIFT>(counters, &index[(whole / S::N + 1) % 2], S::N) };
        }
        let rest = whole..queue.len;
        if last {
            for at in rest {
                self.histogram.count_exactly(&self.work, queue.i[at] as usize, queue.j[at] as usize);
            }
            queue.len = 0;
        } else {
            queue.len = rest.len();
            queue.r2.copy_within(rest.clone(), 0);
            queue.i.copy_within(rest.clone(), 0);
            queue.j.copy_within(rest, 0);
        }
    }
}

impl<T: Near> Queue<T> {
    /// Adds the lanes of a vector whose bits are set: pairs of a row with columns from `j` on.
    #[inline(always)]
    fn push<S: Lanes<T>>(&mut self, s: S, r2: S::V, (i, j): (usize, usize), bits: u32) {
        debug_assert!(self.len <= QUEUE);
        // SAFETY: there are never more than QUEUE, and 16 ≥ N places behind.
        unsafe {
            s.store_compressed(r2, bits, self.r2.as_mut_ptr().add(self.len));
            s.store_indices(bits, j as u32, self.j.as_mut_ptr().add(self.len));
            self.i.as_mut_ptr().add(self.len).cast::<[u32; 16]>().write_unaligned([i as u32; 16]);
        }
        self.len += bits.count_ones() as usize;
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
