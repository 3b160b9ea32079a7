//! Reference values of pairs on their way into sums by bin: [`Points::squared_distance`], by vectors.

use super::points::{Points, Space};
use super::sums::Terms;
use crate::simd::{Element, Isa, Kernel, Lanes};

/// Pairs whose values are taken together: their differences stay in the nearest cache.
const SOME: usize = 128;

/// Values of pairs, one after another.
pub(super) struct Values<'a> {
    of: Terms<'a>,
    x: &'a Points,
    y: &'a Points,
    isa: Isa,
    apart: [[f64; SOME]; 4],
    /// Differences not yet made values.
    waiting: usize,
    done: usize,
}

impl<'a> Values<'a> {
    pub(super) fn new(of: Terms<'a>, x: &'a Points, y: &'a Points, isa: Isa) -> Self {
        Values { of, x, y, isa, apart: [[0.0; SOME]; 4], waiting: 0, done: 0 }
    }
    /// The next value, of pair (i, j), goes to `terms`, at [`Self::end`] the latest.
    #[inline(always)]
    pub(super) fn push(&mut self, i: usize, j: usize, terms: &mut [f64]) {
        if matches!(self.x.frame().space(), Space::Oblique(_)) {
            terms[self.done] = self.of.value(self.x.squared_distance(i, self.y, j));
            self.done += 1;
            return;
        }
        for k in 0..self.x.frame().dimensions() {
            self.apart[k][self.waiting] = self.x.exact(i, k) - self.y.exact(j, k);
        }
        self.waiting += 1;
        if self.waiting == SOME {
            self.end(terms);
        }
    }
    /// Makes values of the differences that wait.
    pub(super) fn end(&mut self, terms: &mut [f64]) {
        let mut values = [0.0; SOME];
        f64::dispatch(self.isa, Measured { values: &mut values, of: self });
        terms[self.done..self.done + self.waiting].copy_from_slice(&values[..self.waiting]);
        self.done += self.waiting;
        self.waiting = 0;
    }
}

struct Measured<'v, 'a> {
    values: &'v mut [f64; SOME],
    of: &'v Values<'a>,
}

impl Kernel<f64> for Measured<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, s: S) {
        let Measured { values, of } = self;
        let frame = of.x.frame();
        let unit = s.splat(of.of.value_scale.unit());
        for at in (0..of.waiting).step_by(S::N) {
            let mut sum = s.splat(0.0);
            for k in 0..frame.dimensions() {
                // SAFETY: N divides SOME, so a vector at `at` lies within the array.
                let mut d = unsafe { s.load(of.apart[k].as_ptr().add(at)) };
                if let Space::Orthorhombic(lengths) = frame.space() {
                    let length = s.splat(lengths[k]);
                    d = s.sub(d, s.mul(length, s.round(s.div(d, length))));
                }
                sum = s.add(sum, s.mul(d, d));
            }
            let value = if of.of.squares { sum } else { s.sqrt(sum) };
            // SAFETY: as above.
            unsafe { s.store(s.mul(value, unit), values.as_mut_ptr().add(at)) };
        }
    }
}
