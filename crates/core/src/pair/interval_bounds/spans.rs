//! Intervals of several pairs of boxes side by side: an array of lower ends and one of upper ends,
//! so that one interval operation over all lanes is a few vector instructions.

use crate::pair::interval::Span;

/// Pairs of boxes that are bounded at a time: two AVX-512 registers of f64, four of AVX2.
pub const LANES: usize = 16;

/// An interval for each lane.
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    /// Least values.
    pub lo: [f64; LANES],
    /// Largest values.
    pub hi: [f64; LANES],
}

impl Spans {
    /// The same interval in every lane.
    pub fn splat(s: Span) -> Spans {
        Spans {
            lo: [s.lo; LANES],
            hi: [s.hi; LANES],
        }
    }
    /// The interval of a lane.
    #[inline(always)]
    pub fn lane(&self, lane: usize) -> Span {
        Span {
            lo: self.lo[lane],
            hi: self.hi[lane],
        }
    }
    #[inline(always)]
    pub(super) fn set(&mut self, lane: usize, s: Span) {
        self.lo[lane] = s.lo;
        self.hi[lane] = s.hi;
    }
}
