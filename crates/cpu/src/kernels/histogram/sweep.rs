//! The loops over pairs: anchors in registers, vectors of the other side streaming by.
//!
//! ```text
//! for each strip of rows, for each group of A anchors in it       A = 4 with 32 registers, 2 with 16, 1 at the end
//!     for each span of columns (moved by whole edges of the box if its image is known)
//!         for each piece of the span
//!             visitor.visit(anchors, piece):
//!                 for each vector of columns
//!                     load its coordinates once for all anchors
//!                     for each anchor: d = x − y (nearest image), r² = Σ d²
//!                     Counting: place r² in bins, bump the counters of the round before, settle what is undecided
//!                     Queueing: append r² < far to a queue; when it is nearly full, count the queue
//! ```
//!
//! Counting is for sweeps in which most pairs are in a bin. Queueing is for those in which most are
//! beyond the last edge: their r² is compared once, and the expensive part runs over full vectors
//! of pairs that count. The loops are generic over dimensions D, kind of box P and anchors A, so
//! that all coordinates stay in registers; a visitor and not a closure, because what is not inlined
//! loses the instruction set of its caller.

use super::binner::Binner;
use super::counts::Histogram;
use super::lattice;
use super::points::{Near, Space};
use super::queued::{From, QUEUE, QueuedPairs, lanes};
use super::strips::Span;
use super::uniform::all;
use super::work::{Pairs, Work};
use std::marker::PhantomData;
use std::ops::Range;
use zipfold_vector::simd::{Isa, Kernel, Lanes, each_of, first_lanes};

/// Columns that are swept at once: bounds what one group of anchors can add to a private counter.
const CHUNK: usize = 1 << 26;

/// One sweep over `work`.
pub(super) struct Sweep<'a, T, V> {
    pub work: &'a Work<'a>,
    pub visitor: V,
    pub near: PhantomData<T>,
}

/// What is done with the pairs that a sweep comes by. The loops stand once for each way to go on
/// from there, not for each bin that a pair may end in.
pub(super) trait Visitor<T: Near> {
    /// Columns between two looks at what has gathered.
    const COLUMNS: usize;
    /// What a group of anchors keeps from piece to piece.
    type Kept<const A: usize>;
    /// Begins a group.
    fn begin<const A: usize>(&mut self) -> Self::Kept<A>;
    /// Takes the pairs of `A` anchors with some columns.
    fn visit<S: Lanes<T>, const D: usize, const P: u8, const A: usize>(
        &mut self,
        s: S,
        work: &Work<'_>,
        anchors: &[[S::V; D]; A],
        piece: &Piece,
        kept: &mut Self::Kept<A>,
    );
    /// Ends a group.
    fn end<S: Lanes<T>, const A: usize>(&mut self, kept: &Self::Kept<A>);
}

/// Queues pairs that may be below the last edge: where most are not. What counts them then is in
/// a shell of its own.
pub(super) struct Queueing<'a, T> {
    /// From this r² on a pair is not counted.
    far: T,
    queue: &'a mut Queue<T>,
    /// Pairs seen.
    visited: u64,
    /// Counts what is queued.
    drain: &'a mut dyn FnMut(&mut Queue<T>),
}

/// Counts pairs as they come; the counters of a slot are 2^SHIFT copies.
pub(super) struct Counting<'a, 'e, B, const SHIFT: i32> {
    pub binner: &'a B,
    pub histogram: &'a mut Histogram<'e>,
}

/// Pairs that wait to be counted: their r², and whence they come.
pub(super) struct Queue<T> {
    r2: [T; QUEUE + 16],
    len: usize,
    from: [From; QUEUE + 1],
    vectors: usize,
    /// Pairs ever queued.
    all: u64,
}
/// Columns that are looked at between two looks at the length, and what four anchors may add to it.
const SHORT: usize = 128;
const ROOM: usize = 4 * (SHORT + 16);

/// Counters that a group of anchors has yet to bump: one round late, for loads of parts of a vector
/// that was just stored would wait for it.
pub(super) struct Late<const A: usize> {
    index: [[[i32; 16]; A]; 2],
    round: usize,
}

/// How a pair's images are found: not at all, by each component, by layers.
const OPEN: u8 = 0;
const RIGHT: u8 = 1;
const TRICLINIC: u8 = 2;

/// Rows from `i` on, and columns that they meet.
pub(super) struct Piece {
    i: usize,
    cols: Range<usize>,
}

impl<T: Near, V: Visitor<T>> Kernel<T> for Sweep<'_, T, V> {
    type Output = V;
    #[inline(always)]
    fn run<S: Lanes<T>>(mut self, s: S) -> V {
        match (
            self.work.x.frame().dimensions(),
            self.work.x.frame().space(),
        ) {
            (1, Space::Open(_)) => self.rows::<S, 1, OPEN>(s),
            (2, Space::Open(_)) => self.rows::<S, 2, OPEN>(s),
            (3, Space::Open(_)) => self.rows::<S, 3, OPEN>(s),
            (_, Space::Open(_)) => self.rows::<S, 4, OPEN>(s),
            (1, Space::Orthorhombic(_)) => self.rows::<S, 1, RIGHT>(s),
            (2, Space::Orthorhombic(_)) => self.rows::<S, 2, RIGHT>(s),
            (3, Space::Orthorhombic(_)) => self.rows::<S, 3, RIGHT>(s),
            (_, Space::Orthorhombic(_)) => self.rows::<S, 4, RIGHT>(s),
            (_, Space::Triclinic(_)) => self.rows::<S, 3, TRICLINIC>(s),
        }
        self.visitor
    }
}

impl<T: Near, V: Visitor<T>> Sweep<'_, T, V> {
    #[inline(always)]
    fn rows<S: Lanes<T>, const D: usize, const P: u8>(&mut self, s: S) {
        for strip in self.work.strips {
            let mut i = strip.rows.start;
            // Four anchors and three coordinates, a vector and constants fit in 32 registers; half
            // of it in 16.
            let step = S::REGISTERS / 8;
            while i < strip.rows.end {
                let anchors = if i + step <= strip.rows.end { step } else { 1 };
                // Constants, so that a loop is in the program only for the instruction sets
                // that run it.
                if anchors == 1 {
                    self.group::<S, D, P, 1>(s, i, &strip.spans);
                } else if const { S::REGISTERS >= 32 } {
                    self.group::<S, D, P, 4>(s, i, &strip.spans);
                } else {
                    self.group::<S, D, P, 2>(s, i, &strip.spans);
                }
                i += anchors;
            }
        }
    }

    /// Takes the pairs of `A` anchors with the columns.
    #[inline(always)]
    fn group<S: Lanes<T>, const D: usize, const P: u8, const A: usize>(
        &mut self,
        s: S,
        i: usize,
        spans: &[Span],
    ) {
        // Loops, not closures: what is not inlined into the shell has not its instruction set.
        let mut here = [[s.splat(T::ZERO); D]; A];
        for (a, anchor) in here.iter_mut().enumerate() {
            for (k, x) in anchor.iter_mut().enumerate() {
                *x = s.splat(T::column(self.work.x, k)[i + a]);
            }
        }
        let lengths = lengths(self.work);
        let mut kept = self.visitor.begin::<A>();
        let least = if self.work.pairs == Pairs::Above {
            i + 1
        } else {
            0
        };
        for span in spans {
            let straight = P == RIGHT && span.image.is_some();
            let image = span.image.unwrap_or_default();
            let mut anchors = here;
            for (k, edges) in image.iter().enumerate() {
                if k < D && straight && *edges != 0 {
                    let moved = s.splat(T::from_f64(lengths[k] * f64::from(*edges)));
                    for anchor in &mut anchors {
                        anchor[k] = s.add(anchor[k], moved);
                    }
                }
            }
            let mut first = span.cols.start.max(least);
            while first < span.cols.end {
                let piece = Piece {
                    i,
                    cols: first..span.cols.end.min(first + V::COLUMNS),
                };
                first = piece.cols.end;
                match straight {
                    true => self
                        .visitor
                        .visit::<S, D, OPEN, A>(s, self.work, &anchors, &piece, &mut kept),
                    false => self
                        .visitor
                        .visit::<S, D, P, A>(s, self.work, &anchors, &piece, &mut kept),
                }
            }
        }
        self.visitor.end::<S, A>(&kept);
    }
}

/// The columns of y. A loop, for a closure would stand in the program once for each of its callers.
#[inline(always)]
fn columns<'a, T: Near, const D: usize>(work: &Work<'a>) -> [&'a [T]; D] {
    let mut columns: [&[T]; D] = [&[]; D];
    for (k, column) in columns.iter_mut().enumerate() {
        *column = T::column(work.y, k);
    }
    columns
}

/// The points of y from `j` on.
///
/// # Safety
/// N values from `j` on are in each column.
#[inline(always)]
unsafe fn points<T: Near, S: Lanes<T>, const D: usize>(
    s: S,
    columns: [&[T]; D],
    j: usize,
) -> [S::V; D] {
    // SAFETY: the caller's promise.
    each_of(columns, |column| unsafe { s.load(column.as_ptr().add(j)) })
}

/// The lanes of columns from `j` on that each anchor meets.
#[inline(always)]
fn lives<T: Near, S: Lanes<T>, const A: usize>(
    work: &Work<'_>,
    piece: &Piece,
    j: usize,
) -> [u32; A] {
    let end = if work.padded { 16 } else { piece.cols.end - j };
    let mut lives = [first_lanes(end) & all::<T, S>(); A];
    // Of an anchor of a triangle, the columns behind it.
    if work.pairs == Pairs::Above && j < piece.i + A {
        for (a, live) in lives.iter_mut().enumerate() {
            *live &= !first_lanes((piece.i + a + 1).saturating_sub(j));
        }
    }
    lives
}

/// The edges of a box with right angles, or the constants of a triclinic one.
#[inline(always)]
fn lengths(work: &Work<'_>) -> [f64; 7] {
    match work.x.frame().space() {
        Space::Open(_) => [0.0; 7],
        Space::Orthorhombic(l) => [l[0], l[1], l[2], l[3], 0.0, 0.0, 0.0],
        Space::Triclinic(lattice) => lattice.constants(),
    }
}

/// [`lengths`], in all lanes.
#[inline(always)]
fn walls<T: Near, S: Lanes<T>, const P: u8>(s: S, work: &Work<'_>) -> [S::V; 7] {
    let mut all = [s.splat(T::ZERO); 7];
    if P != OPEN {
        for (all, length) in all.iter_mut().zip(lengths(work)) {
            *all = s.splat(T::from_f64(length));
        }
    }
    all
}

impl<'a, T: Near> Queueing<'a, T> {
    /// Queues pairs nearer than `far`; `drain` empties the queue.
    pub(super) fn new(
        far: T,
        queue: &'a mut Queue<T>,
        drain: &'a mut dyn FnMut(&mut Queue<T>),
    ) -> Self {
        Queueing {
            far,
            queue,
            visited: 0,
            drain,
        }
    }

    /// Counts what is left; the pairs that were seen and not counted.
    pub(super) fn finish(self) -> u64 {
        (self.drain)(self.queue);
        self.visited - self.queue.all
    }
}

impl<T: Near> Visitor<T> for Queueing<'_, T> {
    const COLUMNS: usize = SHORT;
    type Kept<const A: usize> = ();

    #[inline(always)]
    fn begin<const A: usize>(&mut self) {}

    #[inline(always)]
    fn visit<S: Lanes<T>, const D: usize, const P: u8, const A: usize>(
        &mut self,
        s: S,
        work: &Work<'_>,
        anchors: &[[S::V; D]; A],
        piece: &Piece,
        (): &mut (),
    ) {
        let columns = columns::<T, D>(work);
        let lengths = walls::<T, S, P>(s, work);
        let far = s.splat(self.far);
        let mut visited = 0;
        // Ends in registers: as numbers of the queue they went through memory from vector to
        // vector.
        let mut ends = self.queue.ends();
        for j in piece.cols.clone().step_by(S::N) {
            // SAFETY: j < len, and columns hold 16 ≥ N values behind the last point.
            let y = unsafe { points::<T, S, D>(s, columns, j) };
            let lives = lives::<T, S, A>(work, piece, j);
            for a in 0..A {
                let r2 = squared::<T, S, D, P>(s, &anchors[a], &y, &lengths);
                let near = lives[a] & !s.bits(s.le(far, r2));
                // SAFETY: the queue has room for what four anchors add, as seen to below.
                unsafe { ends.push(s, r2, (piece.i + a, j), near) };
                visited += u64::from(lives[a].count_ones());
            }
        }
        self.queue.go_on(&ends);
        self.visited += visited;
        if self.queue.len > QUEUE - ROOM {
            (self.drain)(self.queue);
        }
    }

    #[inline(always)]
    fn end<S: Lanes<T>, const A: usize>(&mut self, (): &()) {}
}

impl<T: Near, B: Binner<T>, const SHIFT: i32> Visitor<T> for Counting<'_, '_, B, SHIFT> {
    const COLUMNS: usize = CHUNK;
    type Kept<const A: usize> = Late<A>;

    #[inline(always)]
    fn begin<const A: usize>(&mut self) -> Late<A> {
        Late {
            index: [[[0i32; 16]; A]; 2],
            round: 0,
        }
    }

    #[inline(always)]
    fn visit<S: Lanes<T>, const D: usize, const P: u8, const A: usize>(
        &mut self,
        s: S,
        work: &Work<'_>,
        anchors: &[[S::V; D]; A],
        piece: &Piece,
        late: &mut Late<A>,
    ) {
        self.histogram
            .reserve((piece.cols.len() as u64 + 32) * A as u64);
        let columns = columns::<T, D>(work);
        let lengths = walls::<T, S, P>(s, work);
        let constants = self.binner.constants(s);
        let counters = self.histogram.private.as_mut_ptr();
        // Groups have one copy of each counter.
        let groups = self.histogram.groups.filter(|_| SHIFT == 0);
        // In a register: counters might be its place, and it would be read anew for each vector.
        let mut round = late.round;
        for j in piece.cols.clone().step_by(S::N) {
            // SAFETY: j < len, and columns hold 16 ≥ N values behind the last point.
            let y = unsafe { points::<T, S, D>(s, columns, j) };
            let [even, odd] = &mut late.index;
            let (now, before) = if round.is_multiple_of(2) {
                (even, odd)
            } else {
                (odd, even)
            };
            // `open` has them all: a vector of what was stored just now would wait for it.
            let (mut undecided, mut open) = ([0u32; A], 0);
            for a in 0..A {
                let r2 = squared::<T, S, D, P>(s, &anchors[a], &y, &lengths);
                // SAFETY: `now[a]` holds N values.
                undecided[a] = unsafe {
                    self.binner
                        .place::<S, SHIFT>(s, constants, r2, now[a].as_mut_ptr())
                };
                open |= undecided[a];
                // With the loop: in one of its own, lanes are moved by gathering, and take twice as long.
                if let Some(groups) = groups {
                    // SAFETY: rows of a piece and its columns are places.
                    unsafe { groups.move_row::<T, S>((piece.i + a, j), &mut now[a]) };
                }
                if round > 0 {
                    // SAFETY: `place` stored indices of private counters in the round before.
                    unsafe { bump::<SHIFT>(counters, &before[a], S::N) };
                }
            }
            round += 1;
            let lives = lives::<T, S, A>(work, piece, j);
            let whole = all::<T, S>();
            let dead = lives.iter().fold(0, |dead, live| dead | (live ^ whole));
            if open | dead != 0 {
                let bits = [undecided, lives];
                settle_rows::<SHIFT, A>(self.histogram, work, (piece.i, j), bits, whole, now);
            }
        }
        late.round = round;
    }

    #[inline(always)]
    fn end<S: Lanes<T>, const A: usize>(&mut self, late: &Late<A>) {
        if late.round > 0 {
            for index in &late.index[(late.round + 1) % 2] {
                // SAFETY: `place` stored indices of private counters in the last round.
                unsafe { bump::<SHIFT>(self.histogram.private.as_mut_ptr(), index, S::N) };
            }
        }
    }
}

/// Counts the undecided lanes of rows from i on and columns from j on in f64, and takes back the ones
/// that are no pairs; `whole` has all lanes.
#[cold]
#[inline(never)]
fn settle_rows<const SHIFT: i32, const A: usize>(
    histogram: &mut Histogram<'_>,
    work: &Work<'_>,
    (i, j): (usize, usize),
    [undecided, lives]: [[u32; A]; 2],
    whole: u32,
    index: &[[i32; 16]; A],
) {
    for a in 0..A {
        let of = |lane: usize| (i + a, j + lane);
        let (exact, wrong) = (undecided[a] & lives[a], undecided[a] | (lives[a] ^ whole));
        settle::<SHIFT>(histogram, work, of, exact, wrong, &index[a]);
    }
}

/// Counts lanes `exact` in f64, near the slots of `index`, and takes back the counts of lanes
/// `wrong`; `of` says the pair of a lane.
#[cold]
#[inline(never)]
fn settle<const SHIFT: i32>(
    histogram: &mut Histogram<'_>,
    work: &Work<'_>,
    of: impl Fn(usize) -> (usize, usize),
    exact: u32,
    wrong: u32,
    index: &[i32; 16],
) {
    let mask = histogram.mask();
    let grouped = histogram.groups.is_some();
    for lane in lanes(wrong) {
        // The counters in the upper half, of undecided cells of tables, are never read; groups have
        // none.
        if grouped || index[lane] as usize <= mask {
            let slot = &mut histogram.slots[index[lane] as usize >> SHIFT];
            *slot = slot.wrapping_sub(1);
        }
    }
    for lane in lanes(exact) {
        let (i, j) = of(lane);
        let guess = ((index[lane] as usize - histogram.shift(i, j)) & mask) >> SHIFT;
        histogram.count_near(work, i, j, guess);
    }
}

/// Counts the pairs of a queue.
pub(super) struct Drain<'a, 'e, T, B, const SHIFT: i32> {
    pub binner: &'a B,
    pub work: &'a Work<'a>,
    pub histogram: &'a mut Histogram<'e>,
    pub queue: &'a mut Queue<T>,
    pub isa: Isa,
}

impl<T: Near, B: Binner<T>, const SHIFT: i32> Kernel<T> for Drain<'_, '_, T, B, SHIFT> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<T>>(self, s: S) {
        if self.histogram.names_pairs() {
            return self.with_terms(s);
        }
        let Drain {
            binner,
            work,
            histogram,
            queue,
            ..
        } = self;
        let constants = binner.constants(s);
        histogram.reserve(queue.len as u64 + 32);
        let counters = histogram.private.as_mut_ptr();
        let mut index = [[0i32; 16]; 2];
        let mut last = 0;
        for (round, at) in (0..queue.len).step_by(S::N).enumerate() {
            last = round % 2;
            // SAFETY: there are 16 ≥ N places behind the queue; `place` stores N indices of private
            // counters, and did so in the round before.
            let undecided = unsafe {
                let r2 = s.load(queue.r2.as_ptr().add(at));
                let undecided =
                    binner.place::<S, SHIFT>(s, constants, r2, index[last].as_mut_ptr());
                if round > 0 {
                    bump::<SHIFT>(counters, &index[1 - last], S::N);
                }
                undecided
            };
            // Behind the end are pairs of an earlier time.
            let live = first_lanes(queue.len - at) & all::<T, S>();
            let wrong = undecided | (live ^ all::<T, S>());
            if wrong != 0 {
                settle::<SHIFT>(
                    histogram,
                    work,
                    |lane| queue.pairs(S::N).pair(at + lane),
                    undecided & live,
                    wrong,
                    &index[last],
                );
            }
        }
        if queue.len > 0 {
            // SAFETY: `place` stored indices of private counters in the last round.
            unsafe { bump::<SHIFT>(counters, &index[last], S::N) };
        }
        (queue.len, queue.vectors) = (0, 0);
    }
}

impl<T: Near, B: Binner<T>, const SHIFT: i32> Drain<'_, '_, T, B, SHIFT> {
    /// Counts the pairs with their terms.
    #[inline(always)]
    fn with_terms<S: Lanes<T>>(self, s: S) {
        let Drain {
            binner,
            work,
            histogram,
            queue,
            isa,
        } = self;
        let constants = binner.constants(s);
        let mut index = [0i32; QUEUE + 16];
        let mask = histogram.mask();
        histogram.reserve(queue.len as u64);
        for at in (0..queue.len).step_by(S::N) {
            // SAFETY: there are 16 ≥ N places behind the queue, and behind the indices.
            let undecided = unsafe {
                binner.place::<S, SHIFT>(
                    s,
                    constants,
                    s.load(queue.r2.as_ptr().add(at)),
                    index.as_mut_ptr().add(at),
                )
            };
            for lane in lanes(undecided & first_lanes(queue.len - at)) {
                let (i, j) = queue.pairs(S::N).pair(at + lane);
                let guess = (index[at + lane] as usize & mask) >> SHIFT;
                index[at + lane] = (histogram.slot_near(work, i, j, guess) << SHIFT) as i32;
            }
        }
        let all = queue.pairs(S::N);
        if let Some(taker) = &mut histogram.taker {
            taker.take(&all, &mut index[..queue.len], SHIFT);
        }
        if let Some(groups) = histogram.groups {
            groups.move_queued(isa, &all, &mut index[..queue.len]);
        }
        let index = &index[..queue.len];
        // One pointer: a counter might be the place of another that is read anew.
        let counters = histogram.private.as_mut_ptr();
        for (lane, slot) in index.iter().enumerate() {
            // SAFETY: indices are of slots, whose counters are private ones.
            unsafe { bump_one::<SHIFT>(counters, *slot as u32, lane) };
        }
        if let Some(sums) = &mut histogram.sums {
            sums.add_queued(isa, work, &all, (index, SHIFT));
        }
        (queue.len, queue.vectors) = (0, 0);
    }
}

/// Where a queue goes on.
struct QueueEnds<T> {
    r2: *mut T,
    len: u32,
    from: *mut From,
}

impl<T: Near> QueueEnds<T> {
    /// Adds the lanes of a vector whose bits are set: pairs of a row with columns from `j` on.
    ///
    /// # Safety
    /// The queue has room for a vector.
    #[inline(always)]
    unsafe fn push<S: Lanes<T>>(&mut self, s: S, r2: S::V, (i, j): (usize, usize), bits: u32) {
        // SAFETY: 16 ≥ N places lie behind the room of a queue; a vector that moves `from` on
        // queues one pair or more.
        unsafe {
            s.store_compressed(r2, bits, self.r2.add(self.len as usize));
            self.from.write(From {
                i: i as u32,
                j: j as u32,
                bits,
                start: self.len,
            });
            self.from = self.from.add(usize::from(bits != 0));
        }
        self.len += bits.count_ones();
    }
}

impl<T: Near> Queue<T> {
    /// An empty one.
    pub(super) fn new() -> Self {
        Queue {
            r2: [T::ZERO; QUEUE + 16],
            len: 0,
            from: [From::default(); QUEUE + 1],
            vectors: 0,
            all: 0,
        }
    }
    /// Where it ends.
    #[inline(always)]
    fn ends(&mut self) -> QueueEnds<T> {
        debug_assert!(self.len <= QUEUE - ROOM && self.vectors <= self.len);
        let from = self.from[self.vectors..].as_mut_ptr();
        QueueEnds {
            r2: self.r2.as_mut_ptr(),
            len: self.len as u32,
            from,
        }
    }
    /// Takes in what was added.
    #[inline(always)]
    fn go_on(&mut self, ends: &QueueEnds<T>) {
        let added = (ends.from as usize - self.from.as_ptr() as usize) / size_of::<From>();
        self.all += u64::from(ends.len) - self.len as u64;
        (self.len, self.vectors) = (ends.len as usize, added);
    }
    /// Its pairs, queued by vectors of this many lanes.
    fn pairs(&self, lanes: usize) -> QueuedPairs<'_> {
        QueuedPairs {
            from: &self.from[..self.vectors],
            lanes,
        }
    }
}

/// r² of the lanes, of the nearest images in boxes. In those with right angles coordinates lie
/// within half an edge of 0, so
/// |d| ≤ L; in triclinic ones they lie in the brick of their [`lattice::Lattice`].
#[inline(always)]
fn squared<T: Near, S: Lanes<T>, const D: usize, const P: u8>(
    s: S,
    x: &[S::V; D],
    y: &[S::V; D],
    lengths: &[S::V; 7],
) -> S::V {
    if P == TRICLINIC {
        return lattice::squared::<T, S>(
            s,
            [s.sub(x[0], y[0]), s.sub(x[1], y[1]), s.sub(x[2], y[2])],
            lengths,
        );
    }
    let mut sum = s.splat(T::ZERO);
    for k in 0..D {
        let mut d = s.sub(x[k], y[k]);
        if P == RIGHT {
            d = s.abs(d);
            d = s.min(d, s.sub(lengths[k], d));
        }
        sum = if k == 0 {
            s.mul(d, d)
        } else {
            s.mul_add(d, d, sum)
        };
    }
    sum
}

/// Increments `n` (two, or a multiple of four) counters, lane after lane into its own copy.
///
/// # Safety
/// The first `n` of `index` are slots times 2^SHIFT, whose 2^SHIFT counters lie within the private
/// counters at `counters`.
#[inline(always)]
unsafe fn bump<const SHIFT: i32>(counters: *mut u32, index: &[i32; 16], n: usize) {
    // SAFETY: the lanes read are below n ≤ 16; the caller promises the counters.
    unsafe {
        if n == 2 {
            bump_one::<SHIFT>(counters, index[0] as u32, 0);
            return bump_one::<SHIFT>(counters, index[1] as u32, 1);
        }
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
    // SAFETY: the caller promises the lanes and the counters.
    unsafe {
        let a = index.as_ptr().add(lane).cast::<u64>().read_unaligned();
        let b = index.as_ptr().add(lane + 2).cast::<u64>().read_unaligned();
        for (at, half) in [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32]
            .into_iter()
            .enumerate()
        {
            bump_one::<SHIFT>(counters, half, lane + at);
        }
    }
}

/// Increments the counter of one lane.
///
/// # Safety
/// As for `bump`.
#[inline(always)]
unsafe fn bump_one<const SHIFT: i32>(counters: *mut u32, slot: u32, lane: usize) {
    // SAFETY: the caller promises the counters.
    unsafe {
        let counter = counters.add(slot as usize + lane % (1 << SHIFT));
        *counter = (*counter).wrapping_add(1);
    }
}
