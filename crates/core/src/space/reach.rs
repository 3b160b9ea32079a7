//! Turns "only rows within this distance count" into coordinates by which rows can be sorted into
//! cells.
//!
//! A [`Reach`] bounds the differences of rows: their length, or single components. [`Windows`]
//! makes up to three coordinates of single rows such that two rows within reach differ by at most a
//! window in each. The grid of cells uses cells one window wide and visits neighbouring cells only.
//!
//! The bound must hold in floating point, for the difference as it is computed, not for the exact
//! one. Windows are therefore widened by far more than any rounding error (`WIDER`,
//! `ROUNDINGS`).
//!
//! In a periodic box a coordinate is the position along an edge in units of the edge, from 0 to 1,
//! and two positions differ modulo 1. In a triclinic box the coordinates are those of the lattice
//! basis; a difference of length r moves coordinate k by at most r·|nₖ|, nₖ being row k of the
//! inverse basis.

use super::periodic_box::{Image, PeriodicBox, dot};
use crate::table::Table;

/// The most coordinates: a cell then has 27 neighbours at most.
pub const MOST: usize = 3;
/// The factor and the amount by which windows are wider than the bound: far beyond the rounding of
/// a sum of squares, and beyond what a square loses when it underflows.
const WIDER: f64 = 1.0 + 1e-9;
const TINY: f64 = 1e-150;
/// A bound on the rounding errors of a position in a box and of a difference of two, in edges.
const ROUNDINGS: f64 = 64.0 * f64::EPSILON;

/// A bound on how far apart the rows of a pair can be that counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// The length of the difference; infinite if it is not bounded.
    pub length: f64,
    /// The magnitude of each component of the difference; infinite if it is not bounded.
    pub components: Vec<f64>,
}

impl Reach {
    /// Returns the bound of differences of `dim` components that are no longer than `length`.
    pub fn ball(length: f64, dim: usize) -> Reach {
        Reach {
            length,
            components: vec![length; dim],
        }
    }
    /// Returns whether anything is bounded.
    pub fn is_some(&self) -> bool {
        self.length.is_finite() || self.components.iter().any(|c| c.is_finite())
    }
}

/// A coordinate of rows.
#[derive(Clone, Debug, PartialEq)]
struct ReachAxis {
    /// The components it is made of, with their coefficients.
    parts: Vec<(usize, f64)>,
    /// Rows within reach differ by no more than this.
    window: f64,
    /// Whether it is a position in a box, modulo 1.
    periodic: bool,
}

/// The coordinates in which rows out of reach are told apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Windows {
    axes: Vec<ReachAxis>,
}

/// The coordinates of a row; unused ones are 0.
pub type Place = [f64; MOST];

impl Windows {
    /// Returns the coordinates for rows of `tables` within `reach`, whose differences are minimum
    /// images in `cell` if there is one. It has none if no coordinate tells rows apart: a window of
    /// half a box covers all of it.
    pub fn new(reach: &Reach, cell: Option<&PeriodicBox>, tables: [&Table; 2]) -> Windows {
        let dim = tables[0].cols();
        // The range of each column, for the number of cells and the rounding of positions.
        let ends: Vec<(f64, f64)> = (0..dim).map(|k| ends(tables, k)).collect();
        let largest = |k: usize| ends[k].0.abs().max(ends[k].1.abs());
        let mut axes = match cell.map(PeriodicBox::image) {
            None => (0..dim).map(|k| open(reach, k)).collect::<Vec<_>>(),
            Some(Image::Orthorhombic(o)) => {
                let edge = |k: usize| o.lengths().get(k).copied();
                (0..dim)
                    .map(|k| {
                        edge(k).map_or_else(
                            || open(reach, k),
                            |l| periodic(reach, &[(k, 1.0 / l)], &largest),
                        )
                    })
                    .collect()
            }
            Some(Image::Triclinic(o)) => {
                let parts = |n: [f64; 3]| [(0, n[0]), (1, n[1]), (2, n[2])];
                inverse(o.vectors)
                    .into_iter()
                    .map(|n| periodic(reach, &parts(n), &largest))
                    .collect()
            }
        };
        // In a box a window of half an edge or more sees all of it and excludes nothing.
        axes.retain(|axis: &ReachAxis| {
            axis.window.is_finite() && (!axis.periodic || axis.window < 0.5)
        });
        // The number of cells along the axis: the more, the fewer rows share one.
        let told = |axis: &ReachAxis| match axis.periodic {
            true => 1.0 / axis.window,
            false => (ends[axis.parts[0].0].1 - ends[axis.parts[0].0].0) / axis.window,
        };
        axes.sort_by(|a, b| told(b).total_cmp(&told(a)));
        axes.truncate(MOST);
        Windows { axes }
    }
    /// Returns the number of coordinates.
    pub fn len(&self) -> usize {
        self.axes.len()
    }
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.axes.is_empty()
    }
    /// Returns the most that rows within reach differ by in coordinate `at`.
    pub fn window(&self, at: usize) -> f64 {
        self.axes[at].window
    }
    /// Returns whether coordinate `at` goes from 0 to 1 and differs modulo 1.
    pub fn is_periodic(&self, at: usize) -> bool {
        self.axes[at].periodic
    }
    /// Returns the coordinates of a row; `None` if a component that they use is not finite, since
    /// nothing is within reach of it.
    #[inline]
    pub fn place(&self, row: &[f64]) -> Option<Place> {
        let mut place = [0.0; MOST];
        for (to, axis) in place.iter_mut().zip(&self.axes) {
            if !axis.parts.iter().all(|(k, _)| row[*k].is_finite()) {
                return None;
            }
            let at = axis
                .parts
                .iter()
                .map(|(k, part)| row[*k] * part)
                .sum::<f64>();
            // A position that overflows is put somewhere; its window, from the same numbers, covers
            // the edge.
            let inside = if at.is_finite() { at - at.floor() } else { 0.0 };
            *to = if axis.periodic {
                inside.clamp(0.0, 1.0)
            } else {
                at
            };
        }
        Some(place)
    }
    /// Returns how far apart two rows are along coordinate `at`, around the box if that is shorter.
    #[inline]
    pub fn apart(&self, at: usize, a: &Place, b: &Place) -> f64 {
        let d = (a[at] - b[at]).abs();
        if self.axes[at].periodic {
            d.min(1.0 - d)
        } else {
            d
        }
    }
}

/// Returns the least and the largest finite number of column `k`.
fn ends(tables: [&Table; 2], k: usize) -> (f64, f64) {
    let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
    for table in tables {
        for row in 0..table.rows() {
            let v = table.get(row, k);
            if v.is_finite() {
                ends = (ends.0.min(v), ends.1.max(v));
            }
        }
    }
    if ends.0 <= ends.1 { ends } else { (0.0, 0.0) }
}

/// Returns component `k` as a coordinate, without a box.
fn open(reach: &Reach, k: usize) -> ReachAxis {
    let window = reach.length.min(reach.components[k]) * WIDER + TINY;
    ReachAxis {
        parts: vec![(k, 1.0)],
        window,
        periodic: false,
    }
}

/// Returns a position in a box as a coordinate. The bound is the smaller of two: by the length of
/// the difference (Cauchy and Schwarz), and by its components. Rows far outside the box lose digits
/// when they are folded into it, so the largest coordinates enter the rounding error.
fn periodic(reach: &Reach, parts: &[(usize, f64)], largest: &dyn Fn(usize) -> f64) -> ReachAxis {
    let norm = parts
        .iter()
        .map(|(_, part)| part * part)
        .sum::<f64>()
        .sqrt();
    let by_components = parts
        .iter()
        .filter(|p| p.1 != 0.0)
        .map(|(k, part)| reach.components[*k] * part.abs());
    let bound = (reach.length * norm).min(by_components.sum());
    // Rounding of places far outside, and of their differences, which are as long.
    let most = parts.iter().map(|(k, _)| largest(*k)).sum::<f64>();
    let window = (bound + TINY * norm) * WIDER + ROUNDINGS * (1.0 + 2.0 * most * norm);
    ReachAxis {
        parts: parts.to_vec(),
        window,
        periodic: true,
    }
}

/// Returns the rows n of the inverse of a basis: nₖ · bₗ is 1 for k = l, else 0. By Cramer's rule,
/// with cross products.
fn inverse(b: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    };
    let normals = [cross(b[1], b[2]), cross(b[2], b[0]), cross(b[0], b[1])];
    let volume = dot(b[0], normals[0]);
    normals.map(|n| n.map(|v| v / volume))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of random and of strange rows within reach, in every kind of box, are within all
    /// windows.
    #[test]
    fn rows_within_reach_are_within_windows() {
        let mut state = 7u64;
        let mut unit = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let cells = [
            None,
            Some(PeriodicBox::orthorhombic(&[3.0, 2.5, 7.0]).unwrap()),
            Some(PeriodicBox::triclinic([3.0, 4.0, 5.0], [70.0, 80.0, 100.0]).unwrap()),
            Some(PeriodicBox::triclinic([1.0, 10.0, 10.0], [60.0, 60.0, 60.0]).unwrap()),
        ];
        let mut near = 0;
        for cell in &cells {
            for (scale, shift) in [(10.0, 0.0), (10.0, 1e6), (1e7, 0.0), (3.0, -1.5)] {
                let mut items: Vec<f64> =
                    (0..900).map(|_| (unit() - 0.5) * scale + shift).collect();
                // Walls, corners, duplicates.
                items[..18].copy_from_slice(&[
                    0.0, 0.0, 0.0, 3.0, 2.5, 7.0, 1.5, 1.25, 3.5, -1.5, -1.25, -3.5, 0.0, 0.0, 0.0,
                    3.0, 0.0, 0.0,
                ]);
                let table = Table::f64(300, 3, items.clone()).unwrap();
                for length in [0.3, 1.0, 2.0, 40.0, 1e-200] {
                    let windows =
                        Windows::new(&Reach::ball(length, 3), cell.as_ref(), [&table, &table]);
                    let row = |i: usize| [items[3 * i], items[3 * i + 1], items[3 * i + 2]];
                    for (i, j) in (0..300).flat_map(|i| (0..300).map(move |j| (i, j))) {
                        let mut d = [0, 1, 2].map(|k| row(i)[k] - row(j)[k]);
                        if let Some(cell) = cell {
                            cell.minimum_image(&mut d);
                        }
                        if d.iter().map(|d| d * d).sum::<f64>() > length * length {
                            continue;
                        }
                        near += 1;
                        let places = (
                            windows.place(&row(i)).unwrap(),
                            windows.place(&row(j)).unwrap(),
                        );
                        for at in 0..windows.len() {
                            assert!(
                                windows.apart(at, &places.0, &places.1) <= windows.window(at),
                                "{i} {j} {cell:?}"
                            );
                        }
                    }
                }
            }
        }
        assert!(near > 10_000, "{near}");
        let strange = Windows {
            axes: vec![open(&Reach::ball(1.0, 1), 0)],
        };
        assert!(
            [f64::NAN, f64::INFINITY]
                .iter()
                .all(|v| strange.place(&[*v]).is_none())
        );
    }
}
