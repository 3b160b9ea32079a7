//! The minimum image in a triclinic box, for vectors of points that lie in a brick about the
//! origin.
//!
//! Let b₁, b₂, b₃ be the reduced basis of [`Triclinic`]. In the frame of its Gram–Schmidt vectors
//! b₁ = (h₁, 0, 0), b₂ = (s, h₂, 0) and b₃ = (p, q, h₃), and every point has one image in the brick
//! |xₖ| ≤ hₖ/2. The difference of two such points is at most h₃ along the third axis: it lies
//! between the layer through zero and the next one to its side. By the proof at [`Triclinic`] these
//! two layers suffice, and in each of them two lines, and on each line rounding. The unit of length
//! is h₁, so that the multiples of b₁ are whole numbers.

use zipfold_core::space::periodic_box::{Triclinic, dot, minus};
use zipfold_vector::simd::{Element, Lanes};

/// The lattice of a triclinic box in the frame of its Gram–Schmidt vectors.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lattice {
    cell: Triclinic,
    /// Unit vectors of the frame.
    axes: [[f64; 3]; 3],
    /// h₁, h₂, h₃: distances of lattice points on a line, of lines in a layer, of layers.
    heights: [f64; 3],
    /// s, p and q: how far the next line, and the next layer, are shifted.
    shifts: [f64; 3],
    /// Length of the longest basis vector.
    longest: f64,
}

impl Lattice {
    pub(super) fn new(cell: &Triclinic) -> Lattice {
        let heights = cell.duals.map(|n| 1.0 / dot(n, n).sqrt());
        let axis = |k: usize| cell.duals[k].map(|c| c * heights[k]);
        let axes = [axis(0), axis(1), axis(2)];
        let [_, b2, b3] = cell.vectors;
        let shifts = [dot(b2, axes[0]), dot(b3, axes[0]), dot(b3, axes[1])];
        let longest = cell
            .vectors
            .iter()
            .fold(0.0f64, |most, b| most.max(dot(*b, *b).sqrt()));
        Lattice {
            cell: cell.clone(),
            axes,
            heights,
            shifts,
            longest,
        }
    }

    /// Length of the longest basis vector.
    pub(super) fn longest(&self) -> f64 {
        self.longest
    }

    /// The unit of the coordinates in the frame.
    pub(super) fn unit(&self) -> f64 {
        self.heights[0]
    }

    /// The image of a point in the brick, in the frame.
    pub(super) fn place(&self, mut point: [f64; 3]) -> [f64; 3] {
        for k in [2, 1, 0] {
            let layers = dot(point, self.cell.duals[k]).round_ties_even();
            point = minus(point, layers, self.cell.vectors[k]);
        }
        self.axes.map(|axis| dot(point, axis) / self.unit())
    }

    /// The reference: the shortest image of a difference of points as given.
    pub(super) fn nearest(&self, d: [f64; 3]) -> [f64; 3] {
        self.cell.nearest(d)
    }

    /// What [`squared`] takes: −s, −h₂, 1/h₂, p, q and h₃ in units of h₁, and the square of h₁.
    pub(super) fn constants(&self) -> [f64; 7] {
        let ([h1, h2, h3], [s, p, q]) = (self.heights, self.shifts);
        [-s / h1, -h2 / h1, h1 / h2, p / h1, q / h1, h3 / h1, h1 * h1]
    }
}

/// r² of the nearest images of differences of points in the brick.
///
/// Of each coordinate no more than 9 roundings of the longest basis vector are lost: along x, on
/// the far line of the far layer, 1 in the difference, 2 in p, 3.5 in multiples of s, 3.5 in the
/// next line, and none in whole numbers: 10; along y 1 in the difference, 2 in q, 2.5 in multiples
/// of h₂ and 2 in the next line; along z 3; in the unit of r 1: √(10² + 7.5² + 3²) + 1 ≤ 9 √3.
/// Where rounding takes the next line (or layer) to be on the other side, the place is so near to
/// the line through zero that no other line counts.
#[inline(always)]
pub(super) fn squared<T: Element, S: Lanes<T>>(
    s: S,
    [x, y, z]: [S::V; 3],
    constants: &[S::V; 7],
) -> S::V {
    let [minus_s, minus_h2, per_h2, p, q, h3, unit] = *constants;
    let here = s.mul_add(z, z, in_layer::<T, S>(s, x, y, constants));
    let (x, y, beyond) = (
        s.sub(x, s.toward(p, z)),
        s.sub(y, s.toward(q, z)),
        s.sub(s.abs(z), h3),
    );
    let lines = s.round(s.mul(y, per_h2));
    let (x, y) = (s.mul_add(lines, minus_s, x), s.mul_add(lines, minus_h2, y));
    s.mul(
        unit,
        s.min(
            here,
            s.mul_add(beyond, beyond, in_layer::<T, S>(s, x, y, constants)),
        ),
    )
}

/// r² to the nearest lattice point of a layer, from a place no farther from the line through zero
/// than the next one.
#[inline(always)]
fn in_layer<T: Element, S: Lanes<T>>(s: S, x: S::V, y: S::V, constants: &[S::V; 7]) -> S::V {
    let [minus_s, minus_h2, ..] = *constants;
    let on_line = |x: S::V| s.sub(x, s.round(x));
    let (near, next, beyond) = (
        on_line(x),
        on_line(s.add(x, s.toward(minus_s, y))),
        s.add(s.abs(y), minus_h2),
    );
    s.min(
        s.mul_add(near, near, s.mul(y, y)),
        s.mul_add(next, next, s.mul(beyond, beyond)),
    )
}
