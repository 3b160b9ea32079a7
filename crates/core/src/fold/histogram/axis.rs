//! One axis of a histogram: where a value belongs among its edges.

use super::Closed;
use crate::fold::finder::{Finder, LAST_DIGITS, TWO_52};
use crate::number::least_square;

/// One axis. Edges ascend; a value belongs to the last bin whose lower edge is not above it.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Which root is binned.
    pub root: usize,
    /// The edges as requested, in units of the value.
    pub edges: Vec<f64>,
    /// The edges that roots are compared with, such that each root falls where its value falls
    /// among `edges`.
    ///
    /// If the root is the square s of the value, it is the smallest s with √s ≥ edge, and for a
    /// closed last edge the smallest s with √s > edge. Some are equal if no square has a root
    /// between two edges, which happens beyond 10¹⁵⁴ and below 10⁻¹⁶².
    pub compared: Vec<f64>,
    /// Whether roots equal to the last compared edge are in the last bin. A closed edge of squares
    /// was moved instead, so it is false there.
    pub closed: bool,
    /// Whether the root is the square of what is binned.
    pub squared: bool,
    /// (first edge, bins per unit, squared), for a first guess by a multiplication if edges are
    /// uniform.
    guess: Option<(f64, f64, bool)>,
    /// Whether the guess is at most one bin off, so that two comparisons correct it. False if two
    /// compared edges are equal.
    rising: bool,
    /// What finds bins if there is no such guess.
    finder: Option<Finder>,
}

impl Axis {
    /// Returns an axis over `edges`, ascending, at least two; `squared` if the root is the square
    /// of what is binned.
    pub fn new(root: usize, edges: Vec<f64>, squared: bool, closed: Closed) -> Self {
        let mut compared = edges.clone();
        let n = edges.len() - 1;
        let mut closed = closed == Closed::Last;
        if squared {
            // The lower border of a bin: the first square whose root reaches the edge.
            compared.iter_mut().for_each(|e| *e = least_square(*e));
            // The squares of a closed last edge are below one that is none of them, if there is
            // one.
            if closed && edges[n] < f64::INFINITY {
                compared[n] = least_square(edges[n].next_up());
                closed = false;
            }
        }
        let (lo, hi) = (edges[0], edges[n]);
        let step = (hi - lo) / n as f64;
        // Evenly spaced to a millionth of a bin suffices for a guess; comparisons decide.
        let uniform = edges
            .iter()
            .enumerate()
            .all(|(i, e)| (e - (lo + i as f64 * step)).abs() <= step * 1e-6);
        // The reciprocal must exist, too: a step below 10⁻³⁰⁸ has none.
        let guess = (uniform && step > 0.0 && step.is_finite() && (1.0 / step).is_finite())
            .then_some((lo, 1.0 / step, squared));
        // A guess is off by one bin at most where no bins are empty for rounding.
        let rising = compared.windows(2).all(|w| w[0] < w[1]) && !(squared && edges[0] < 0.0);
        let finder = (guess.is_none() || !rising).then(|| Finder::new(&compared));
        Axis {
            root,
            edges,
            compared,
            closed,
            squared,
            guess,
            rising,
            finder,
        }
    }
    /// Returns an axis of `bins` bins of equal width between finite ends.
    pub fn uniform(
        root: usize,
        [lo, hi]: [f64; 2],
        bins: usize,
        squared: bool,
        closed: Closed,
    ) -> Self {
        Self::new(root, uniform_edges([lo, hi], bins), squared, closed)
    }
    /// Returns the first and the last edge if all edges are evenly spaced between them up to a few
    /// roundings: then two numbers describe the axis.
    ///
    /// Kernels that count distances of points guess bins from them, without a table.
    pub fn ends(&self) -> Option<[f64; 2]> {
        let bins = self.bins();
        let (lo, hi) = (self.edges[0], self.edges[bins]);
        let step = (hi - lo) / bins as f64;
        let close = 4.0 * f64::EPSILON * lo.abs().max(hi.abs());
        let even = self
            .edges
            .iter()
            .enumerate()
            .all(|(i, e)| (e - (lo + i as f64 * step)).abs() <= close);
        (even && step > 0.0 && step.is_finite()).then_some([lo, hi])
    }
    /// Returns whether bins are found by a multiplication, not by a search.
    pub fn is_even(&self) -> bool {
        self.guess.is_some() && self.rising
    }
    /// Number of bins.
    pub fn bins(&self) -> usize {
        self.edges.len() - 1
    }
    /// Places a run of values as [`Axis::place`] does one by one, without branches that depend on a
    /// value: such branches are mispredicted about every other time.
    ///
    /// First a guess for all values, then one correction: the guess is right or next to the right
    /// bin, so the two edges around it decide. Places of NaN and of a closed last edge are patched
    /// at the end.
    #[inline(always)]
    pub fn places(&self, values: &[f64], places: &mut [u64]) {
        let edges = &self.compared[..];
        let bins = edges.len() - 1;
        match self.guess {
            Some((lo, rate, squared)) if self.rising => {
                // The guess: the distance from the first edge in bins, cut to the grid. NaN fails
                // both comparisons and becomes 0.
                let top = (bins - 1) as f64;
                for (place, value) in places.iter_mut().zip(values) {
                    // The root of a negative number is NaN; such a square is under, which 0 says,
                    // too.
                    let v = if squared {
                        (if *value > 0.0 { *value } else { 0.0 }).sqrt()
                    } else {
                        *value
                    };
                    let at = (v - lo) * rate;
                    let at = if at < top { at } else { top };
                    let at = if at > 0.0 { at } else { 0.0 };
                    // 2⁵² plus a whole number below it has that number as its low bits: this
                    // converts without an instruction that AVX2 lacks.
                    *place = (at.floor() + TWO_52).to_bits() & LAST_DIGITS;
                }
            }
            _ => self
                .finder
                .iter()
                .for_each(|finder| finder.bins(edges, values, places)),
        }
        for (place, value) in places.iter_mut().zip(values) {
            // The guess is right, or next to the right one.
            let at = *place as usize;
            // The guess is right or next to the right bin. Two comparisons move it by one, and
            // place 0 is under: found = guess + 1, one more from the upper edge on, one less below
            // the lower one.
            let [from, to] = [edges[at], edges[at + 1]];
            let found = at + 1 + usize::from(*value >= to) - usize::from(*value < from);
            *place = if value.is_nan() { bins + 1 } else { found } as u64;
        }
        if self.closed {
            let last = edges[bins];
            places
                .iter_mut()
                .zip(values)
                .for_each(|(p, v)| *p = if *v == last { bins as u64 } else { *p });
        }
    }
    /// Returns 0 for a value below all edges, 1 + bin, or bins + 1 for a value above; NaN is above.
    /// This is the reference of `places`, which takes many values.
    #[inline]
    pub fn place(&self, value: f64) -> usize {
        let edges = &self.compared;
        let bins = edges.len() - 1;
        if value < edges[0] {
            return 0;
        }
        if value >= edges[bins] || value.is_nan() {
            return if self.closed && value == edges[bins] {
                bins
            } else {
                bins + 1
            };
        }
        // A guess may be a bin off, a search is exact; the loops below correct either by
        // comparison.
        let mut bin = match self.guess {
            Some((lo, rate, squared)) => {
                let v = if squared { value.sqrt() } else { value };
                (((v - lo) * rate) as usize).min(bins - 1)
            }
            None => edges.partition_point(|e| *e <= value) - 1,
        };
        while edges[bin] > value {
            bin -= 1;
        }
        while edges[bin + 1] <= value {
            bin += 1;
        }
        bin + 1
    }
}

/// Returns the edges of `numpy.linspace`, bit for bit. NumPy multiplies by the step, or divides
/// first if the step underflows; a width beyond the largest number is interpolated, which NumPy
/// does not do.
fn uniform_edges([lo, hi]: [f64; 2], bins: usize) -> Vec<f64> {
    let n = bins as f64;
    let (width, step) = (hi - lo, (hi - lo) / n);
    let edge = |i: usize| match i as f64 {
        _ if i == bins => hi,
        at if width.is_infinite() => lo * (1.0 - at / n) + hi * (at / n),
        // Steps below the smallest number.
        at if step == 0.0 => at / n * width + lo,
        at => at * step + lo,
    };
    (0..=bins).map(edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edges of several kinds, with the ones that are the same for rounding, and values on, next to
    /// and beyond them.
    #[test]
    fn places_of_a_run_are_those_of_its_values() {
        let even = |lo: f64, hi: f64, bins: usize| uniform_edges([lo, hi], bins);
        let all = [
            even(0.0, 1.0, 1),
            even(0.0, 1.0, 10),
            even(-3.0, 7.0, 1000),
            even(1e16, 1e16 + 64.0, 32),
            even(0.0, 1e-170, 7),
            even(0.0, 5e-324, 3),
            vec![0.0, 1e-3, 0.5, 0.5, 2.0, 1e200],
            (0..=100).map(|k| f64::from(k).powi(2)).collect(),
        ];
        for edges in &all {
            for (squared, closed) in [(false, true), (false, false), (true, true), (true, false)] {
                if squared && edges[0] < 0.0 {
                    continue;
                }
                let rule = if closed {
                    Closed::Last
                } else {
                    Closed::HalfOpen
                };
                let axis = Axis::new(0, edges.clone(), squared, rule);
                let mut values = vec![
                    f64::NAN,
                    f64::INFINITY,
                    f64::NEG_INFINITY,
                    0.0,
                    -0.0,
                    -1.0,
                    1e308,
                ];
                for edge in edges.iter().chain(&axis.compared) {
                    values.extend([
                        *edge,
                        edge.next_up(),
                        edge.next_down(),
                        edge * 1.3,
                        edge * 0.7,
                    ]);
                }
                let wanted: Vec<u64> = values.iter().map(|v| axis.place(*v) as u64).collect();
                let mut got = vec![0; values.len()];
                axis.places(&values, &mut got);
                let odd = (0..got.len()).find(|at| got[*at] != wanted[*at]);
                assert!(
                    odd.is_none(),
                    "{edges:?}, squared {squared}: {:?}",
                    odd.map(|at| (values[at], got[at], wanted[at]))
                );
            }
        }
    }
}
