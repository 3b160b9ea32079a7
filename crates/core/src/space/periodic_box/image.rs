//! The minimum image as straight-line code, whose loops over many differences vectorise and keep
//! the bits.
//!
//! No operation here is contracted, and every sum runs in ascending order of components: these
//! operations, in this order, *are* the definition. All of them are odd functions of the difference
//! (halves round to even), so negating the difference negates every intermediate number exactly and
//! takes every decision alike.

use crate::number::round_even;

/// A vector or point.
pub(super) type V = [f64; 3];

/// Computes a·b, components in ascending order.
#[inline(always)]
pub fn dot(a: V, b: V) -> f64 {
    (a[0] * b[0] + a[1] * b[1]) + a[2] * b[2]
}

/// Computes a × b.
pub(super) fn cross(a: V, b: V) -> V {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// Computes d − k·v, one rounding for the product and one for the difference.
#[inline(always)]
pub fn minus(d: V, k: f64, v: V) -> V {
    [d[0] - k * v[0], d[1] - k * v[1], d[2] - k * v[2]]
}

/// Returns the next multiple to try after the nearest one: ±1 towards the remainder `t`, or 0
/// without a remainder.
#[inline(always)]
pub(super) fn step(t: f64) -> f64 {
    let up = if t > 0.0 { 1.0 } else { 0.0 };
    if t < 0.0 { -1.0 } else { up }
}

/// The constants of a cell's minimum image.
#[derive(Clone, Debug, PartialEq)]
pub enum Image {
    /// Right angles, edges along the axes.
    Orthorhombic(Orthorhombic),
    /// Any other box of three dimensions.
    Triclinic(Triclinic),
}

impl Image {
    /// Of a box of three dimensions with this Minkowski-reduced basis. It counts as orthorhombic if
    /// its reduced basis lies along the axes, however it was described.
    pub(super) fn new(reduced: [V; 3]) -> Self {
        let mut lengths = [0.0; 3];
        for v in reduced {
            for k in 0..3 {
                if v[k] != 0.0 && v[(k + 1) % 3] == 0.0 && v[(k + 2) % 3] == 0.0 {
                    lengths[k] = v[k].abs();
                }
            }
        }
        if lengths.contains(&0.0) {
            Image::Triclinic(Triclinic::new(reduced))
        } else {
            Self::orthorhombic(&lengths)
        }
    }
    pub(super) fn orthorhombic(given: &[f64]) -> Self {
        let mut lengths = [0.0; 3];
        lengths.iter_mut().zip(given).for_each(|(l, g)| *l = *g);
        Image::Orthorhombic(Orthorhombic {
            lengths,
            dims: given.len().min(3),
        })
    }
}

/// The minimum image in a box with right angles: every component by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Orthorhombic {
    lengths: V,
    dims: usize,
}

impl Orthorhombic {
    /// Edge lengths along x, y, z; as many as the box has dimensions.
    #[inline(always)]
    pub fn lengths(&self) -> &[f64] {
        &self.lengths[..self.dims]
    }
    /// `d − l·rint(d / l)`, halves to even.
    #[inline(always)]
    pub fn nearest(d: f64, l: f64) -> f64 {
        d - l * round_even(d / l)
    }
    /// [`Self::nearest`] in the same bits, without the division, for |d| ≤ l.
    ///
    /// The quotient rounds above ½ exactly when d > l/2: the next number above l/2 exceeds it by
    /// more than 2⁻⁵⁴·l, which is half the distance from ½ to the number above it. Multiples −1, 0
    /// and 1 of l are exact.
    #[inline(always)]
    pub fn nearest_within(d: f64, l: f64) -> f64 {
        let half = 0.5 * l;
        let down = if d > half { -l } else { 0.0 };
        d + if d < -half { l } else { down }
    }
}

/// The minimum image in a triclinic box: the nearest of four candidates.
///
/// Let b₁, b₂, b₃ be a Minkowski-reduced basis, h₂ the height of b₂ over the line of b₁, h₃ that of
/// b₃ over the plane of b₁ and b₂, and ρ₁, ρ₂ the largest distance of a place on that line (in that
/// plane) from its lattice. Then ρ₁ ≤ h₂ and ρ₂ ≤ h₃: b₃ is the shortest of its images along the
/// plane, so its part in the plane is no longer than ρ₂ and h₃² ≥ |b₃|² − ρ₂²; and 4ρ₂² ≤ |b₁|² +
/// h₂² ≤ 2|b₃|². Likewise h₂² ≥ |b₂|² − ρ₁² with 4ρ₁² = |b₁|² ≤ |b₂|².
///
/// The lattice is a stack of layers h₃ apart. Seen from a place at height t·h₃ over its nearest
/// layer, 0 ≤ t ≤ ½, that layer has a lattice point within t²h₃² + ρ₂² (squared). The layer on the
/// far side is (1 + t)·h₃ away, and (1 + t)²h₃² ≥ t²h₃² + h₃² is no less; nor is (2 − t)²h₃², that
/// of the layer after the next one. So the nearest layer and the next one towards the place
/// suffice, in each of them (with ρ₁ ≤ h₂) two lines, and on each line rounding is exact: four
/// candidates instead of the 27 neighbours of the usual search.
///
/// See Nguyen & Stehlé, *Low-dimensional lattice basis reduction revisited*, ACM Trans. Algorithms
/// 5 (2009) 46, for the reduction, and Agrell, Eriksson, Vardy & Zeger, *Closest point search in
/// lattices*, IEEE Trans. Inf. Theory 48 (2002) 2201, for the search by layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Triclinic {
    /// The reduced basis b₁, b₂, b₃, ascending in length.
    pub vectors: [V; 3],
    /// n₁, n₂, n₃ with nₖ·bₖ = 1, nₖ perpendicular to the earlier b and in the span of b₁ … bₖ
    /// (Gram–Schmidt).
    pub duals: [V; 3],
}

impl Triclinic {
    fn new(b: [V; 3]) -> Self {
        let n1 = over(b[0], dot(b[0], b[0]));
        let up2 = minus(b[1], dot(b[1], n1), b[0]);
        let up3 = cross(b[0], b[1]);
        Triclinic {
            vectors: b,
            duals: [n1, over(up2, dot(up2, b[1])), over(up3, dot(up3, b[2]))],
        }
    }
    /// The shortest image of `d`, by four candidates in this order: nearest layer and nearest line,
    /// nearest layer and next line, next layer and nearest line, next layer and next line; each the
    /// nearest point on its line.
    ///
    /// A later candidate replaces an earlier one only if its r² = (x·x + y·y) + z·z in f64 is
    /// smaller; nearest layers, lines and points come from `rint` (halves to even) of `d·nₖ`. There
    /// is no next layer (line) where the remainder is zero: by the proof above the nearest one then
    /// holds a shortest image.
    #[inline(always)]
    pub fn nearest(&self, d: V) -> V {
        let (near, next) = self.layers(d, 2);
        closer(self.in_layer(near), self.in_layer(next)).0
    }
    #[inline(always)]
    fn in_layer(&self, d: V) -> (V, f64) {
        let (near, next) = self.layers(d, 1);
        closer(self.on_line(near), self.on_line(next))
    }
    #[inline(always)]
    fn on_line(&self, d: V) -> (V, f64) {
        let r = minus(d, dot(d, self.duals[0]).round_ties_even(), self.vectors[0]);
        (r, dot(r, r))
    }
    /// `d` seen from its nearest layer along basis vector `at`, and from the next one.
    #[inline(always)]
    fn layers(&self, d: V, at: usize) -> (V, V) {
        let f = dot(d, self.duals[at]);
        let k = f.round_ties_even();
        let near = minus(d, k, self.vectors[at]);
        (near, minus(near, step(f - k), self.vectors[at]))
    }
}

/// `N` points by component, with the ends of each component, NaN aside.
#[derive(Debug)]
pub struct Others<const N: usize> {
    components: [[f64; N]; 3],
    ends: [(f64, f64); 3],
}

impl<const N: usize> Others<N> {
    /// Points of up to three components; `fill` writes component `k`, and those from `dims` on stay
    /// 0.
    #[inline(always)]
    pub fn new(dims: usize, mut fill: impl FnMut(usize, &mut [f64; N])) -> Self {
        let (mut components, mut ends) = ([[0.0; N]; 3], [(0.0, 0.0); 3]);
        for (k, (of, ends)) in components.iter_mut().zip(&mut ends).enumerate().take(dims) {
            fill(k, of);
            let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
            for v in of.iter() {
                least = if *v < least { *v } else { least };
                most = if *v > most { *v } else { most };
            }
            *ends = (least, most);
        }
        Others { components, ends }
    }
}

/// What becomes of one component of the difference of points.
#[derive(Clone, Copy)]
enum Wrap {
    /// Nothing: the box does not repeat in it.
    None,
    /// The nearest image in a box of this length, which no difference exceeds.
    Within(f64),
    /// The nearest image in a box of this length.
    Far(f64),
}

impl Image {
    /// `x − y` for every y of `others`, replaced by the shortest image, by component: the bits of
    /// [`PeriodicBox::minimum_image`](super::PeriodicBox::minimum_image). `to` has as many
    /// components as the points.
    #[inline(always)]
    pub fn differences<T, const N: usize>(
        &self,
        x: V,
        others: &Others<N>,
        narrow: impl Fn(f64) -> T,
        to: &mut [[T; N]],
    ) {
        match (self, &mut *to) {
            (Image::Triclinic(o), [to_x, to_y, to_z, ..]) => {
                let [y0, y1, y2] = &others.components;
                for l in 0..N {
                    let d = o.nearest([x[0] - y0[l], x[1] - y1[l], x[2] - y2[l]]);
                    (to_x[l], to_y[l], to_z[l]) = (narrow(d[0]), narrow(d[1]), narrow(d[2]));
                }
            }
            (Image::Triclinic(_), _) => each(x, [Wrap::None; 3], others, narrow, to),
            (Image::Orthorhombic(o), _) => {
                let mut wraps = [Wrap::None; 3];
                for (k, (wrap, l)) in wraps.iter_mut().zip(o.lengths()).enumerate() {
                    let (least, most) = others.ends[k];
                    // Rounding keeps order, so that the ends speak for all differences.
                    let far = !(x[k] - least <= *l && most - x[k] <= *l);
                    *wrap = if far { Wrap::Far(*l) } else { Wrap::Within(*l) };
                }
                each(x, wraps, others, narrow, to);
            }
        }
    }
}

#[inline(always)]
fn each<T, const N: usize>(
    x: V,
    wraps: [Wrap; 3],
    others: &Others<N>,
    narrow: impl Fn(f64) -> T,
    to: &mut [[T; N]],
) {
    // Loops over indices: a closure of an iterator may be compiled apart, without the instruction
    // set of the caller.
    for (k, to) in to.iter_mut().enumerate().take(3) {
        let (x, y) = (x[k], &others.components[k]);
        match wraps[k] {
            Wrap::None => {
                for l in 0..N {
                    to[l] = narrow(x - y[l]);
                }
            }
            Wrap::Within(length) => {
                for l in 0..N {
                    to[l] = narrow(Orthorhombic::nearest_within(x - y[l], length));
                }
            }
            Wrap::Far(length) => {
                for l in 0..N {
                    to[l] = narrow(Orthorhombic::nearest(x - y[l], length));
                }
            }
        }
    }
}

fn over(v: V, by: f64) -> V {
    v.map(|c| c / by)
}

/// The candidate of smaller r², the first of equals. Written by component, so that it becomes a
/// blend of lanes.
#[inline(always)]
fn closer(a: (V, f64), b: (V, f64)) -> (V, f64) {
    let second = b.1 < a.1;
    let pick = |a: f64, b: f64| if second { b } else { a };
    (
        [
            pick(a.0[0], b.0[0]),
            pick(a.0[1], b.0[1]),
            pick(a.0[2], b.0[2]),
        ],
        pick(a.1, b.1),
    )
}
