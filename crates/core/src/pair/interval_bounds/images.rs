//! Finds the lattice translations that a difference of two boxes may need in a triclinic box.
//!
//! The minimum image of a difference d is d − u for the lattice vector u nearest to d. A box of
//! differences may need several u, and the bounds of a formula are the hull over all of them. This
//! module lists them, as few as a proof allows.
//!
//! Let c be the middle of the differences, h half their diagonal, and c′ the shortest image of c. A
//! difference d = c + e with |e| ≤ h has the image c′ + e itself among its images, so its shortest
//! image c′ + e − u satisfies |c′ + e − u| ≤ |c′ + e|, hence |u| ≤ 2·(|c′| + h). Of these u, a
//! translation whose images are all longer than the longest image by another one is never the
//! nearest, and is dropped.
//!
//! The list of lattice vectors is made once per box, sorted by length, so that a search reads a
//! prefix.

use super::spans::LANES;
use crate::pair::interval::Span;
use crate::space::periodic_box::Triclinic;

type V = [f64; 3];

/// More translations than this mean that the box of differences is about as large as the cell. Its
/// bounds would say nothing and cost 48 evaluations.
const MOST: usize = 48;
/// A lattice with more coefficients to try than this is so skewed that listing it would cost more
/// than pruning gains. Then the list is empty and all bounds are unknown.
const PLACES: f64 = 1e5;

/// Translations by lane, found for one box of x against a box of y in each lane.
#[derive(Clone, Debug)]
pub(super) struct Images {
    periodic_box: Triclinic,
    /// Lattice vectors with their lengths, ascending. All vectors up to `radius` are in it.
    lattice: Vec<(f64, V)>,
    radius: f64,
    /// By round and lane, the components of the image; unknown if nothing could be proved.
    found: Vec<[[Span; 3]; LANES]>,
}

impl Images {
    /// Lists the translations of a box in which no shortest image is longer than `reach`. A radius
    /// of 4·`reach` serves boxes of differences with a half diagonal of up to `reach`.
    pub(super) fn new(periodic_box: &Triclinic, reach: f64) -> Images {
        let radius = 4.0 * reach;
        // The number of coefficients that the enumeration would try.
        let places: f64 = periodic_box
            .duals
            .iter()
            .map(|n| 2.0 * steps(*n, radius) + 1.0)
            .product();
        let radius = if places <= PLACES { radius } else { 0.0 };
        Images {
            periodic_box: periodic_box.clone(),
            lattice: lattice(periodic_box, radius),
            radius,
            found: vec![],
        }
    }
    /// Finds the images of the differences `d(lane, component)` and returns the number of rounds:
    /// the most images that a lane has. Lanes with fewer repeat their first image, which changes no
    /// hull.
    pub(super) fn find(&mut self, d: impl Fn(usize, usize) -> Span) -> usize {
        self.found.clear();
        for lane in 0..LANES {
            let boxed = [d(lane, 0), d(lane, 1), d(lane, 2)];
            let images = self.of_box(boxed);
            for (round, image) in images.iter().enumerate() {
                if self.found.len() <= round {
                    // Lanes with fewer images repeat their first one.
                    let first = self
                        .found
                        .first()
                        .copied()
                        .unwrap_or([[Span::UNKNOWN; 3]; LANES]);
                    self.found.push(first);
                }
                self.found[round][lane] = *image;
            }
            for round in images.len()..self.found.len() {
                self.found[round][lane] = images[0];
            }
        }
        self.found.len()
    }
    /// Returns the bounds of component `c` of image `round` in `lane`. A triclinic box has three
    /// components; others are unknown.
    pub(super) fn component(&self, lane: usize, round: usize, c: usize) -> Span {
        self.found[round][lane]
            .get(c)
            .copied()
            .unwrap_or(Span::UNKNOWN)
    }
    /// Returns the images of one box of differences: at least one, unknown if there are too many.
    fn of_box(&self, d: [Span; 3]) -> Vec<[Span; 3]> {
        let unknown = vec![[Span::UNKNOWN; 3]];
        if d.iter().any(|s| !(s.lo.is_finite() && s.hi.is_finite())) {
            return unknown;
        }
        // The image of the middle, by the same code that the reference uses; all others are near
        // it.
        let middle = d.map(|s| 0.5 * s.lo + 0.5 * s.hi);
        let near = self.periodic_box.nearest(middle);
        let shift: V = std::array::from_fn(|k| near[k] - middle[k]);
        let half = norm(d.map(|s| 0.5 * (s.hi - s.lo)));
        // The sum of the roundings of the image, of the middle and of the shift, many times over:
        // `give` widens every image, so that the reference value of a pair is inside.
        let far = d
            .iter()
            .fold(0.0, |m: f64, s| m.max(s.lo.abs()).max(s.hi.abs()));
        let give = 256.0 * f64::EPSILON * (far + self.radius);
        let most = 2.0 * (norm(near) + half) + give;
        // The lattice is complete up to `radius` only, and rounding must be small against it.
        let listed = most < self.radius && give <= 1e-3 * self.radius;
        if !listed {
            return unknown;
        }
        let around: Vec<[Span; 3]> = self
            .lattice
            .iter()
            .take_while(|(length, _)| *length <= most)
            .map(|(_, u)| std::array::from_fn(|k| moved(d[k], shift[k] - u[k], give)))
            .collect();
        let longest = |b: &[Span; 3]| norm(b.map(|s| s.abs().hi));
        let shortest = |b: &[Span; 3]| norm(b.map(|s| s.abs().lo));
        // Some image is never longer than this, so one that is always longer is never the nearest.
        let limit = around.iter().map(longest).fold(f64::INFINITY, f64::min) + give;
        let kept: Vec<[Span; 3]> = around
            .into_iter()
            .filter(|b| shortest(b) <= limit)
            .collect();
        if kept.is_empty() || kept.len() > MOST {
            unknown
        } else {
            kept
        }
    }
}

/// Shifts an interval and widens it by `give` on both sides.
fn moved(s: Span, by: f64, give: f64) -> Span {
    Span::new(s.lo + by - give, s.hi + by + give)
}

fn norm(v: V) -> f64 {
    (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt()
}

/// Lists the lattice vectors u = k₁b₁ + k₂b₂ + k₃b₃ with |u| ≤ `radius`, ascending in length.
///
/// With the Gram–Schmidt duals nᵢ, k₃ = u·n₃, k₂ = (u − k₃b₃)·n₂ and k₁ = (u − k₃b₃ − k₂b₂)·n₁.
/// Each coefficient therefore lies within `radius`·|nᵢ| of a centre that the later ones fix, which
/// is the enumeration of Fincke and Pohst (1985) in three dimensions.
fn lattice(periodic_box: &Triclinic, radius: f64) -> Vec<(f64, V)> {
    let [b1, b2, b3] = periodic_box.vectors;
    let [n1, n2, n3] = periodic_box.duals;
    let mut out = vec![];
    for c in around(0.0, steps(n3, radius)) {
        let third = b3.map(|v| c * v);
        for b in around(-dot(third, n2), steps(n2, radius)) {
            let second: V = std::array::from_fn(|k| third[k] + b * b2[k]);
            for a in around(-dot(second, n1), steps(n1, radius)) {
                let u: V = std::array::from_fn(|k| second[k] + a * b1[k]);
                if norm(u) <= radius {
                    out.push((norm(u), u));
                }
            }
        }
    }
    out.sort_by(|a, b| a.0.total_cmp(&b.0));
    out
}

/// Returns how far a coefficient with dual `n` can be from its centre, rounded up, and one more for
/// the rounding of the centre.
fn steps(n: V, radius: f64) -> f64 {
    (norm(n) * radius).ceil() + 1.0
}

/// Lists the whole numbers up to `steps` away from `middle`.
fn around(middle: f64, steps: f64) -> impl Iterator<Item = f64> {
    let first = middle.round() - steps;
    (0..=(2.0 * steps) as usize).map(move |k| first + k as f64)
}

fn dot(a: V, b: V) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
