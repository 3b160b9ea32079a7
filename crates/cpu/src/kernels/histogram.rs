//! Histograms of distances between points of one to four dimensions, exact at the speed of `f32`.
//!
//! A pair's bin is decided by its reference r² in `f64` ([`Points::squared_distance`]). The fast
//! path computes in `f32` with a proved bound of its error, counts what is clear of every edge, and
//! re-evaluates the rest. Counts are kept in private `u32` copies of the bins, one per lane (modulo
//! [`COPIES`]), and flushed before they can overflow.
//!
//! ```text
//! for each group of anchors (rows of x, in registers)
//!     for each vector of columns
//!         r² of all anchors, in f32                               (sweep.rs)
//!         bins and the lanes that are too near an edge            (binner.rs, uniform.rs, table.rs)
//!         increment the counter of each lane in its own copy      (copies.rs)
//!         for each lane near an edge: take its count back, and count it by its reference r²
//! ```
//!
//! Copies by lane, because two lanes of a vector often fall into the same bin, and an increment
//! would wait for the one before it. The counters of copies are added when the sweep ends.

mod binner;
mod column_grid;
mod copies;
mod counts;
mod edges;
mod groups;
mod lattice;
mod points;
mod queued;
mod strips;
mod sums;
mod sweep;
mod table;
mod terms;
mod uniform;
mod work;

pub use column_grid::{ColumnGrid, Columns, GriddedPoints, Meeting};
pub use copies::COPIES;
pub use counts::{Counts, Histogram};
pub use edges::Edges;
pub use groups::Groups;
pub use points::{Frame, Points};
pub use queued::{GatherNumbers, MOST_QUEUED, QueuedPairs, TakesPairs};
pub use strips::{Binning, Span, Strip};
pub use sums::{BEHIND, Terms};
#[doc(hidden)]
pub use sums::{MID, MOST, Parts, Sums, apart};
pub use work::{Pairs, Work};

use binner::Binner;
use points::Near;
use std::marker::PhantomData;
use std::ops::Range;
use strips::Form;
use sweep::{Counting, Drain, Queue, Queueing, Sweep};
use zipfold_vector::simd::Isa;

/// The share of pairs below the last edge up to which the others are dropped before they are
/// counted.
const SPARSE: f64 = 0.5;
/// Fewer pairs are not worth any preparation.
const SMALL: usize = 256;

impl Histogram<'_> {
    /// Counts the pairs (i, j) of `rows` of x and `cols` of y.
    ///
    /// # Panics
    /// If the ranges end outside the points, or the frames have different dimensions.
    pub fn add(
        &mut self,
        isa: Isa,
        x: &Points,
        rows: Range<usize>,
        y: &Points,
        cols: Range<usize>,
        pairs: Pairs,
    ) {
        assert!(
            rows.end <= x.len() && cols.end <= y.len(),
            "pairs outside the points"
        );
        assert_eq!(x.frame(), y.frame(), "points in different frames");
        if self.fast && rows.len().saturating_mul(cols.len()) >= SMALL {
            let binning = Binning::new(self.edges, x, y);
            let strips = &[Strip {
                rows,
                spans: vec![Span::from_range(cols)],
            }];
            return self.add_strips(
                isa,
                &binning,
                &Work {
                    x,
                    y,
                    strips,
                    pairs,
                    padded: false,
                },
            );
        }
        self.add_exactly(&Work {
            x,
            y,
            strips: &[Strip {
                rows,
                spans: vec![Span::from_range(cols)],
            }],
            pairs,
            padded: false,
        });
    }

    /// Counts the pairs of `work`; `binning` is of the same edges and points.
    ///
    /// # Panics
    /// If the ranges end outside the points, the frames have different dimensions, or points have
    /// no weights.
    pub fn add_strips(&mut self, isa: Isa, binning: &Binning, work: &Work<'_>) {
        // Queues name pairs by 32 bits.
        if work.x.len().max(work.y.len()) > u32::MAX as usize {
            return self.add_exactly(work);
        }
        let inside = |s: &Strip| {
            s.rows.end <= work.x.len() && s.spans.iter().all(|c| c.cols.end <= work.y.len())
        };
        assert!(work.strips.iter().all(inside), "pairs outside the points");
        assert_eq!(work.x.frame(), work.y.frame(), "points in different frames");
        let weights = self.sums.as_ref().and_then(|sums| sums.terms.weights);
        let weighed = |[x, y]: [&[f64]; 2]| {
            x.len() >= work.x.len() + BEHIND && y.len() >= work.y.len() + BEHIND
        };
        assert!(weights.is_none_or(weighed), "points without weights");
        let cover = |groups: &Groups| groups.cover(work.x.len(), work.y.len());
        assert!(self.groups.is_none_or(cover), "points without groups");
        match &binning.0 {
            Form::SingleScale(b) => self.sweep::<f32, _>(isa, work, b),
            Form::DoubleScale(b) => self.sweep::<f64, _>(isa, work, b),
            Form::SingleTable(b) => self.sweep::<f32, _>(isa, work, b),
            Form::DoubleTable(b) => self.sweep::<f64, _>(isa, work, b),
            Form::Exact => self.add_exactly(work),
        }
    }

    fn sweep<T: Near, B: Binner<T>>(&mut self, isa: Isa, work: &Work<'_>, binner: &B) {
        match self.copies {
            COPIES => self.sweep_copies::<T, B, 3>(isa, work, binner),
            _ => self.sweep_copies::<T, B, 0>(isa, work, binner),
        }
    }

    fn sweep_copies<T: Near, B: Binner<T>, const SHIFT: i32>(
        &mut self,
        isa: Isa,
        work: &Work<'_>,
        binner: &B,
    ) {
        // Terms are of pairs that are known by name, as in a queue.
        let named = self.sums.is_some() || self.taker.is_some();
        if named || self.share_in_range(work) < SPARSE {
            let mut drain = |queue: &mut Queue<T>| {
                T::dispatch(
                    isa,
                    Drain::<T, B, SHIFT> {
                        binner,
                        work,
                        histogram: self,
                        queue,
                        isa,
                    },
                );
            };
            let mut queue = Queue::new();
            let visitor = Queueing::new(binner.far(), &mut queue, &mut drain);
            let beyond = T::dispatch(
                isa,
                Sweep {
                    work,
                    visitor,
                    near: PhantomData,
                },
            )
            .finish();
            let over = self.edges.bins() + 1;
            self.slots[over] = self.slots[over].wrapping_add(beyond);
        } else {
            let visitor = Counting::<B, SHIFT> {
                binner,
                histogram: self,
            };
            T::dispatch(
                isa,
                Sweep {
                    work,
                    visitor,
                    near: PhantomData,
                },
            );
        }
    }

    /// The share of pairs below the last edge: of padded strips, which are alike, that of the
    /// first.
    fn share_in_range(&mut self, work: &Work<'_>) -> f64 {
        let known = self.share.filter(|_| work.padded);
        let share = known.unwrap_or_else(|| work.share_in_range(self.edges));
        self.share = Some(share);
        share
    }

    fn add_exactly(&mut self, work: &Work<'_>) {
        for strip in work.strips {
            for i in strip.rows.clone() {
                for span in &strip.spans {
                    for j in work.columns_of(i, &span.cols) {
                        self.count_exactly(work, i, j);
                    }
                }
            }
        }
    }
}
