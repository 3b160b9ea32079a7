//! Minimum images in single precision: how far their magnitudes and squared lengths can be from
//! those of the reference.
//!
//! In a box with right angles each component is an image of its own:
//!
//! ```text
//! d = x − y                    single precision
//! q = rint(d / L)              by one fused multiplication and an addition that rounds
//! r = d − q · L                one rounding
//! or, where no difference is longer than L:
//! r = min(|d|, L − |d|)        one rounding
//! ```
//!
//! Near half a box length `q` may be the other of two whole numbers. Then `r` has the other sign,
//! and its magnitude is as far from L/2 as the quotient was from a half. So a magnitude has an
//! error, a sign has none, and only formulas that forget the sign are filtered
//! ([`Bounds`](super::rounding::Bounds)).
//!
//! In an oblique box the shortest of several images counts, and only its squared length is
//! bounded:
//!
//! ```text
//! r = d less multiples of the basis, the last vector first       Babai's nearest plane
//! |r|² + min over v of (|v|² − 2 |r · v|), or |r|²               v: vectors that can be nearer
//! ```
//!
//! `r` lies in the box of the orthogonalised basis (Gram–Schmidt). A lattice vector is nearer to a
//! place of that box than the origin only where 2 |r · v| > |v|², so the vectors for which a place
//! with that property exists are all that need a look ([`shifts`]). The box is taken a little
//! larger than it is: a multiple that single precision rounds to the other side does no harm.
//!
//! Source: L. Babai, *On Lovász' lattice reduction and the nearest lattice point problem*,
//! Combinatorica 6 (1986) 1; Agrell, Eriksson, Vardy & Zeger, *Closest point search in lattices*,
//! IEEE Trans. Inf. Theory 48 (2002) 2201.

use super::bound::{Bound, TINY, U};
use zipfold_core::space::periodic_box::{Triclinic, dot};

/// Boxes that a difference may be long. Whole numbers far beyond it would lose digits.
const MOST_BOXES: f64 = 1024.0;
/// How much larger than the box of the orthogonalised basis the box is that differences are taken
/// to lie in.
const LARGER: f64 = 1.001;
/// Multiples of each basis vector among which nearer ones are looked for. A Minkowski-reduced basis
/// has them at ±1; the next ones are looked at to be sure.
const MULTIPLES: i32 = 2;

/// Returns whether differences are no longer than a box of these lengths, so that the magnitude of
/// an image is that of the difference, or what it lacks of the length.
pub fn is_near(difference: Bound, lengths: &[f64]) -> bool {
    let far = difference.top() + difference.abs + difference.rel * difference.top();
    lengths.iter().all(|length| far <= *length)
}

/// Bounds the magnitude of the image of one component in a box of this length, where differences
/// are [near](is_near) or not; none where the difference is too many boxes long.
///
/// The range has both signs, and so has the error: it is one of the magnitude.
pub fn component(difference: Bound, length: f64, near: bool) -> Option<Bound> {
    let far = difference.top();
    let error = difference.abs + difference.rel * far;
    if far <= 0.5 * length - 2.0 * error - 4.0 * U * length {
        // Nothing is wrapped: the quotient rounds to zero, and the length lacks more.
        return Some(difference);
    }
    // The length in single precision, and the rounding of what is left of it.
    let held = (f64::from(length as f32) - length).abs();
    let abs = match near {
        true => error + held + U * length,
        false => error + far_error(difference, length, held)?,
    };
    let abs = 1.01 * abs + TINY;
    let half = 0.5 * length + abs;
    Some(Bound {
        lo: -half.min(far),
        hi: half.min(far),
        abs,
        rel: 0.0,
    })
}

/// Bounds the error of an image that is some boxes away, next to that of the difference.
fn far_error(difference: Bound, length: f64, held: f64) -> Option<f64> {
    let far = difference.top();
    let error = difference.abs + difference.rel * far;
    // A difference that is off may be one box more.
    let boxes = ((far + error) / length + 0.5 + 1e-5).floor();
    if boxes > MOST_BOXES {
        return None;
    }
    // The farthest difference that is as near to one whole number of boxes as to the next. There
    // the quotient has the error of the difference, and that of 1 / L: it is rounded once, to the
    // whole number.
    let tie = (boxes - 0.5).max(0.5) * length;
    let inverse = (f64::from((1.0 / length) as f32) * length - 1.0).abs() + 0.01 * U;
    let quotient = difference.abs + difference.rel * tie + inverse * tie;
    Some(boxes * held + 0.5 * U * length + 2.0 * quotient)
}

/// Returns the lattice vectors, one of each pair ±v, that can be nearer to a place in the box of
/// the orthogonalised basis than the origin is.
pub fn shifts(lattice: &Triclinic) -> Vec<[f64; 3]> {
    let halves = halves(lattice);
    let directions = lattice.duals.map(|n| n.map(|c| c / length(n)));
    // The most that r · v can be: a corner of the box.
    let most = |v: &[f64; 3]| -> f64 {
        let each = directions.iter().zip(halves);
        each.map(|(d, half)| dot(*v, *d).abs() * half).sum()
    };
    let mut found = vectors(lattice);
    found.retain(|v| 2.0 * most(v) > dot(*v, *v));
    found
}

/// Returns one of each pair ±v of sums of a few multiples of the basis.
fn vectors(lattice: &Triclinic) -> Vec<[f64; 3]> {
    let each = || -MULTIPLES..=MULTIPLES;
    let all = each().flat_map(|k| each().flat_map(move |l| each().map(move |m| [k, l, m])));
    // The first multiple that is not zero is positive.
    let positive = all.filter(|multiples| *multiples > [0, 0, 0]);
    let sum = |multiples: [i32; 3]| {
        let part = |c: usize| {
            let each = multiples.iter().zip(&lattice.vectors);
            each.map(|(n, b)| f64::from(*n) * b[c]).sum()
        };
        [0, 1, 2].map(part)
    };
    positive.map(sum).collect()
}

fn length(v: [f64; 3]) -> f64 {
    dot(v, v).sqrt()
}

/// Returns half the edges of the box of the orthogonalised basis, a little enlarged.
fn halves(lattice: &Triclinic) -> [f64; 3] {
    lattice.duals.map(|n| 0.5 * LARGER / dot(n, n).sqrt())
}

/// Bounds the squared length of the shortest image in an oblique box, of a difference whose
/// components are all bounded by `difference`; none where it is too many boxes long.
pub fn squared_length(difference: Bound, lattice: &Triclinic) -> Option<Bound> {
    let off = residual_error(difference, lattice)?;
    let halves = halves(lattice);
    let reach = length(halves) + off;
    let longest = shifts(lattice).into_iter().map(length).fold(0.0, f64::max);
    // |r − v|² moves by 2 |r − v| for each unit that r moves. Only vectors that are as near as the
    // origin can be the nearest, so |r − v| is no more than |r|. The terms are rounded: two products
    // of three components, their constants and three sums.
    let moved = 2.0 * reach * off + off * off;
    let rounded = 6.0 * reach * reach + 8.0 * reach * longest + 3.0 * longest * longest;
    let abs = 1.01 * (moved + U * rounded) + TINY;
    Some(Bound {
        lo: 0.0,
        hi: reach * reach + abs,
        abs,
        rel: 0.0,
    })
}

/// Bounds how far the residual of Babai's nearest plane may be off, as a length.
fn residual_error(difference: Bound, lattice: &Triclinic) -> Option<f64> {
    let far = difference.top();
    let halves = halves(lattice);
    // Along a basis vector after the other, the last one first: the most of the rest along each of
    // the orthogonalised directions, and how far it may be off.
    let mut along = [far * 3f64.sqrt(); 3];
    let mut off = (difference.abs + difference.rel * far) * 3f64.sqrt();
    for k in (0..3).rev() {
        let (b, n) = (lattice.vectors[k], lattice.duals[k]);
        let multiple = along[k] * length(n) + 1.0;
        // A quotient that is off by this much would leave the enlarged box.
        let quotient = length(n) * (off + 4.0 * U * length(along)) + 2.0 * U * multiple;
        if multiple > MOST_BOXES || quotient > 0.5 * (LARGER - 1.0) {
            return None;
        }
        for (l, direction) in lattice.duals.iter().enumerate().take(k) {
            along[l] += multiple * dot(b, *direction).abs() / length(*direction);
        }
        along[k] = halves[k];
        // The vector in single precision, and a rounding of each component.
        let single = b.map(|c| f64::from(c as f32) - c);
        off += multiple * length(single) + U * (length(along) + off);
    }
    Some(off)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::PeriodicBox;
    use zipfold_core::space::periodic_box::Image;

    /// Numbers in [−1, 1).
    fn draws() -> impl FnMut() -> f64 {
        let mut state = 7u64;
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
    }

    #[test]
    fn magnitudes_of_images_stay_within_their_bound() {
        let mut draw = draws();
        let lengths = [1.0, 10.0, 0.3, 7.123_456_789];
        for (length, times) in lengths
            .into_iter()
            .flat_map(|l| [(l, 2.3), (l, 0.99), (l, 1.0)])
        {
            let far = times * length;
            let given = Bound::held(-far, far, false).unwrap();
            let near = is_near(given, &[length]);
            assert_eq!(near, times < 1.0, "{times}");
            let bound = component(given, length, near).unwrap();
            for _ in 0..20_000 {
                // Some differences next to half a box.
                let d = match draw() {
                    v if v > 0.0 => draw() * far,
                    _ => length * (0.5 + (draw() * 2.0).round()) * (1.0 + draw() * 1e-7),
                };
                let d = d.clamp(-far, far);
                let single = d as f32;
                let turns = single.mul_add((1.0 / length) as f32, 12_582_912.0) - 12_582_912.0;
                let single = match near {
                    true => single.abs().min(length as f32 - single.abs()),
                    false => (-(length as f32)).mul_add(turns, single),
                };
                let wide = d - length * (d / length).round_ties_even();
                let off = (f64::from(single.abs()) - wide.abs()).abs();
                assert!(
                    off <= bound.abs,
                    "{d} in {length}: {off} beyond {}",
                    bound.abs
                );
            }
        }
    }

    #[test]
    fn squared_lengths_in_oblique_boxes_stay_within_their_bound() {
        let mut draw = draws();
        let boxes = [
            ([5.0, 6.0, 7.0], [60.0, 70.0, 80.0]),
            ([10.0, 10.0, 10.0], [70.528_779, 109.471_221, 70.528_779]),
            ([3.0, 9.0, 4.0], [100.0, 95.0, 130.0]),
            ([8.0, 8.0, 8.0], [60.0, 60.0, 90.0]),
        ];
        for (lengths, angles) in boxes {
            let cell = PeriodicBox::triclinic(lengths, angles).unwrap();
            let Image::Triclinic(lattice) = cell.image() else {
                panic!("{lengths:?} is oblique");
            };
            let shifts = shifts(lattice);
            assert!((3..=13).contains(&shifts.len()), "{shifts:?}");
            let far = 12.0;
            let bound = squared_length(Bound::held(-far, far, false).unwrap(), lattice).unwrap();
            for _ in 0..20_000 {
                let d = [0; 3].map(|_| draw() * far);
                let mut wide = d;
                cell.minimum_image(&mut wide);
                let off = (f64::from(nearest(d, lattice, &shifts)) - dot(wide, wide)).abs();
                assert!(off <= bound.abs, "{d:?}: {off} beyond {}", bound.abs);
            }
        }
    }

    /// What kernels compute.
    fn nearest(d: [f64; 3], lattice: &Triclinic, shifts: &[[f64; 3]]) -> f32 {
        let single = |v: [f64; 3]| v.map(|c| c as f32);
        let dot = |a: [f32; 3], b: [f32; 3]| a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]));
        let mut r = single(d);
        for (b, n) in lattice.vectors.iter().zip(&lattice.duals).rev() {
            let turns = (dot(r, single(*n)) + 12_582_912.0) - 12_582_912.0;
            let b = single(*b);
            r = [0, 1, 2].map(|c| (-turns).mul_add(b[c], r[c]));
        }
        let gain = |v: &[f64; 3]| {
            let length = super::dot(*v, *v) as f32;
            (-2.0f32).mul_add(dot(r, single(*v)).abs(), length)
        };
        (dot(r, r) + shifts.iter().map(gain).fold(0.0, f32::min)).max(0.0)
    }
}
