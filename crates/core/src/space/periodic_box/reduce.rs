//! Minkowski reduction of a lattice basis in three dimensions by the greedy algorithm of Nguyen &
//! Stehlé (2009): shorten each vector as far as the shorter ones allow, sort, repeat. In two
//! dimensions it is Lagrange's (Gauss's) algorithm.
//!
//! The integer coefficients are the state; vectors are computed from them afresh, as if in twice
//! the precision, so that the reduced basis spans the lattice given and not a neighbour of it,
//! however many steps a skewed basis takes.

use super::image::{V, dot, minus, step};

/// Far more rounds than any basis needs that is not flat: their number grows with the logarithm of
/// its skewness.
const ROUNDS: usize = 1000;

/// A lattice vector: integer coefficients over the given basis, its components, its squared length.
///
/// The coefficients are whole numbers in f64, exact up to 2⁵³.
#[derive(Clone, Copy)]
struct Member {
    coefficients: V,
    vector: V,
    norm: f64,
}

/// A Minkowski-reduced basis of the lattice of `given`, ascending in length; none if rounding keeps
/// it from settling.
pub(super) fn minkowski(given: &[V; 3]) -> Option<[V; 3]> {
    let mut basis = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        .map(|coefficients| Member::new(given, coefficients));
    for _ in 0..ROUNDS {
        basis.sort_by(|a, b| a.norm.total_cmp(&b.norm));
        let better = shorten_second(given, &basis).map(|m| (1, m));
        match better.or_else(|| shorten_third(given, &basis).map(|m| (2, m))) {
            Some((at, member)) => basis[at] = member,
            None => return Some(basis.map(|m| m.vector)),
        }
    }
    None
}

/// Returns the second vector less the multiple of the first that leaves least, if that is shorter.
fn shorten_second(given: &[V; 3], basis: &[Member; 3]) -> Option<Member> {
    let k = nearest_multiple(basis[1].vector, basis[0].vector);
    basis[1].less(given, k, &basis[0]).shorter_than(&basis[1])
}

/// The third vector less the lattice vector of the first two nearest to it, if that is shorter. The
/// first two are reduced, so that two lines of their lattice suffice (see [`super::Triclinic`]).
fn shorten_third(given: &[V; 3], basis: &[Member; 3]) -> Option<Member> {
    let [first, second, third] = basis;
    let along = dot(second.vector, first.vector) / first.norm;
    let up = minus(second.vector, along, first.vector);
    let f = dot(third.vector, up) / dot(second.vector, up);
    let line = |k: f64| {
        let m = third.less(given, k, second);
        m.less(given, nearest_multiple(m.vector, first.vector), first)
    };
    // The line nearest to the vector and the next one on its other side hold the nearest lattice
    // vector between them.
    let near = line(f.round_ties_even());
    let next = line(f.round_ties_even() + step(f - f.round_ties_even()));
    let best = if next.norm < near.norm { next } else { near };
    best.shorter_than(third)
}

/// Returns the k for which d − k·v is shortest.
fn nearest_multiple(d: V, v: V) -> f64 {
    (dot(d, v) / dot(v, v)).round_ties_even()
}

impl Member {
    fn new(given: &[V; 3], coefficients: V) -> Self {
        let vector =
            [0, 1, 2].map(|k| precise_dot(coefficients, [given[0][k], given[1][k], given[2][k]]));
        Member {
            coefficients,
            vector,
            norm: dot(vector, vector),
        }
    }
    /// Returns this less k times `other`, computed from the coefficients.
    fn less(&self, given: &[V; 3], k: f64, other: &Member) -> Self {
        Self::new(given, minus(self.coefficients, k, other.coefficients))
    }
    /// Returns this if it is shorter. Strictly shorter, so that the loop ends.
    fn shorter_than(self, other: &Member) -> Option<Self> {
        (self.norm < other.norm).then_some(self)
    }
}

/// Computes a·b as if in twice the precision, then rounded (Dot2 of Ogita, Rump and Oishi 2005):
/// the error of each product comes from a fused multiply-add, the error of each sum from Knuth's
/// two-sum.
fn precise_dot(a: V, b: V) -> f64 {
    let (mut high, mut low) = (0.0, 0.0);
    for k in 0..3 {
        let p = a[k] * b[k];
        let s = high + p;
        let back = s - high;
        low += libm::fma(a[k], b[k], -p) + ((high - (s - back)) + (p - back));
        high = s;
    }
    high + low
}
