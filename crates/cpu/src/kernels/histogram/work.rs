//! The pairs that a histogram counts.

use super::edges::Edges;
use super::points::Points;
use super::strips::Strip;
use std::ops::Range;

/// Which pairs of rows × cols are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// All of them.
    All,
    /// Those with i < j.
    Above,
}

/// The pairs to count.
#[derive(Clone, Debug)]
pub struct Work<'a> {
    /// Points of x.
    pub x: &'a Points,
    /// Points of y.
    pub y: &'a Points,
    /// Rows and the columns they meet.
    pub strips: &'a [Strip],
    /// Which of their pairs.
    pub pairs: Pairs,
    /// What follows a span, up to a vector, may be counted with it: it is beyond the last edge.
    /// Pairs beyond are not all counted then.
    pub padded: bool,
}

impl Work<'_> {
    pub(super) fn columns_of(&self, i: usize, cols: &Range<usize>) -> Range<usize> {
        match self.pairs {
            Pairs::All => cols.clone(),
            Pairs::Above => cols.start.max(i + 1)..cols.end,
        }
    }

    /// The share of pairs below the last edge, by a sample.
    pub(super) fn share_in_range(&self, edges: &Edges) -> f64 {
        const SAMPLE: usize = 256;
        let last = edges.squares()[edges.bins()];
        let at = |n: usize, r: &Range<usize>, step: usize| {
            r.start + (n * step + step / 2) % r.len().max(1)
        };
        let inside = (0..SAMPLE).filter(|n| {
            let strip = &self.strips[at(*n, &(0..self.strips.len()), 31_337)];
            let Some(span) = strip.spans.get(at(*n, &(0..strip.spans.len()), 15_485_863)) else {
                return false;
            };
            let some = !strip.rows.is_empty() && !span.cols.is_empty();
            let pair = || {
                self.x.squared_distance(
                    at(*n, &strip.rows, 7919),
                    self.y,
                    at(*n, &span.cols, 104_729),
                )
            };
            some && pair() < last
        });
        if self.strips.is_empty() {
            0.0
        } else {
            inside.count() as f64 / SAMPLE as f64
        }
    }
}
