//! What bounds make of a histogram: one cell for a box of pairs, or nothing.
//!
//! Places rise with values, because edges ascend. If both ends of a span have the same place, every
//! value in between has it, too, and the pairs are counted by one addition. Nothing is rounded
//! here: `Axis::place` compares, and the ends of a span enclose the reference values.

use super::{Axis, Histogram, HistogramState, LONG_RUN};
use crate::fold::{BLOCK, Bounded, Known, Scattered, Whole};
use crate::pair::interval::Span;

impl Bounded for Histogram {
    #[inline]
    fn settles(&self, span: impl Fn(usize) -> Span, known: bool, _: &impl Known) -> Option<Whole> {
        // One axis that leaves all pairs out says enough, regardless of the values of others.
        if self.is_outside(&span) {
            return Some(Whole::Cell(self.cells() - 1, false));
        }
        match self.sums_formulas() && self.axes.len() == 1 {
            // Formulas matter in bins alone, so the axis decides.
            true => self.one_cell(span),
            false => known.then(|| self.one_cell(span))?,
        }
    }
    /// One pair at a time: a sparse box leaves too few values in a row for a run to pay, unless each
    /// pair takes sums of formulas, too. Inlined, so that vectors of the caller serve those.
    #[inline(always)]
    fn absorb_scattered(&self, state: &mut HistogramState, line: &Scattered<'_>) {
        let others = line.pairs.others;
        if self.sums_formulas() && (LONG_RUN..=BLOCK).contains(&others.len()) {
            let column = |at: usize| others[at] as usize;
            let fill = |root: usize, to: &mut [f64]| to.copy_from_slice(line.scalars(root));
            return state.absorb_some(self, line.pairs.row, (column, others.len()), fill);
        }
        for (at, j) in line.pairs.others.iter().enumerate() {
            state.absorb(self, line.pairs.row, *j as usize, |root| {
                line.values[line.firsts[root] * line.stride + at]
            });
        }
    }
    fn settle_count(&self, state: &mut HistogramState, whole: Whole, pairs: u64) {
        if let Whole::Cell(cell, _) = whole {
            state.counts[cell] += pairs;
        }
    }
}

impl Histogram {
    /// Whether one of several axes leaves all pairs out.
    ///
    /// With one axis, under and over are cells of their own, and [`Self::one_cell`] tells them
    /// apart.
    fn is_outside(&self, span: impl Fn(usize) -> Span) -> bool {
        let outside = |axis: &Axis| {
            let s = span(axis.root);
            let [a, b] = [s.lo, s.hi].map(|v| axis.place(v));
            // Only this axis must be known: the pair is outside even if another axis is NaN.
            s.is_known() && a == b && (a == 0 || a > axis.bins())
        };
        self.axes.len() > 1 && self.axes.iter().any(outside)
    }
    /// One cell for all values, unless weights or means inside the grid need them one by one.
    fn one_cell(&self, span: impl Fn(usize) -> Span) -> Option<Whole> {
        let mut cell = 0;
        let mut inside = true;
        for axis in &self.axes {
            let s = span(axis.root);
            let place = axis.place(s.lo);
            if !s.is_known() {
                return None;
            }
            if place != axis.place(s.hi) {
                return None;
            }
            cell = cell * (axis.bins() + 2) + place;
            inside &= place >= 1 && place <= axis.bins();
        }
        (!inside || !self.is_summed()).then_some(Whole::Cell(cell, inside))
    }
}
