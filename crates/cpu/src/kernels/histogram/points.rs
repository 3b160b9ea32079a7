//! Points as columns: the exact coordinates, and near ones in `f32` with a bound of their error.
//!
//! ```text
//! frame:   open → an origin in the middle of the points; box → the image around 0; triclinic → a brick of the lattice
//! near     = exact coordinate placed in the frame, rounded to f32 (and kept in f64 if the sweep needs it)
//! rounding = max |f32 − placed|                                         measured, not assumed
//! placed() fills places in the order of a column grid, in parallel, prefetching the row 16 places ahead;
//!          places without a point are far away, so that they are never counted
//! ```
//!
//! Differences of near coordinates are small numbers even if the coordinates are large, so an f32
//! keeps enough digits to decide most bins. The bound on the error of a difference is computed from
//! the data, which is why it is tight: data that are f32 already have none.

use super::lattice::Lattice;
use rayon::prelude::*;
use std::sync::Arc;
use zipfold_core::number::round_even;
use zipfold_core::space::periodic_box::Triclinic;
use zipfold_vector::memory::Block;
use zipfold_vector::prefetch::nearest;
use zipfold_vector::simd::Element;

/// A place without a point: NaN, and far from all points in the near coordinates.
pub(super) const GAP: u32 = u32::MAX;
/// Places that a thread fills at a time.
const CHUNK: usize = 4096;
/// Padding behind each near column, so that whole vectors may be read from any point on.
const PAD: usize = 16;
/// Places from a row that is requested to the one in work.
const SOON: usize = 16;

/// What the coordinates of several point sets share: the number of dimensions, a common origin or a
/// periodic box.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    dimensions: usize,
    space: Space,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Space {
    /// Open, with an origin.
    Open([f64; 4]),
    /// A box with right angles of these edges.
    Orthorhombic([f64; 4]),
    /// Any other box of three dimensions.
    Triclinic(Arc<Lattice>),
}

impl Frame {
    /// An open space with the origin at the middle of the first set: pairs far from zero lose
    /// nothing.
    ///
    /// # Panics
    /// If there are no columns or more than four.
    pub fn open<T: Element>(columns: &[&[T]]) -> Frame {
        Self::around(columns.len(), |k| columns[k].iter().map(|x| x.to_f64()))
    }

    /// As [`Self::open`], of row-major coordinates.
    ///
    /// # Panics
    /// If there are no dimensions or more than four.
    pub fn open_rows(rows: &[f64], dimensions: usize) -> Frame {
        Self::around(dimensions, |k| {
            rows.iter().skip(k).step_by(dimensions).copied()
        })
    }

    fn around<I: Iterator<Item = f64>>(dimensions: usize, column: impl Fn(usize) -> I) -> Frame {
        assert!(
            (1..=4).contains(&dimensions),
            "points of one to four dimensions"
        );
        let mut origin = [0.0; 4];
        for (k, origin) in origin.iter_mut().enumerate().take(dimensions) {
            let (single, lo, hi) = column(k).fold(
                (true, f64::INFINITY, f64::NEG_INFINITY),
                |(single, lo, hi), x| (single & (x == f64::from(x as f32)), lo.min(x), hi.max(x)),
            );
            let middle = lo / 2.0 + hi / 2.0;
            // Values that f32 holds exactly are best left alone: differences of them err by one
            // rounding only.
            *origin = if single || !middle.is_finite() {
                0.0
            } else {
                middle
            };
        }
        Frame {
            dimensions,
            space: Space::Open(origin),
        }
    }

    /// A periodic orthorhombic box; distances are between nearest images, d − L · round(d / L),
    /// ties to even.
    ///
    /// # Panics
    /// If there are no lengths or more than four, or one is not positive and finite.
    pub fn periodic(lengths: &[f64]) -> Frame {
        assert!(
            (1..=4).contains(&lengths.len()),
            "boxes of one to four dimensions"
        );
        assert!(
            lengths.iter().all(|&l| l.is_finite() && l > 0.0),
            "lengths of the box must be positive"
        );
        let mut periods = [0.0; 4];
        periods[..lengths.len()].copy_from_slice(lengths);
        Frame {
            dimensions: lengths.len(),
            space: Space::Orthorhombic(periods),
        }
    }

    /// A triclinic periodic box of three dimensions; distances are those of [`Triclinic::nearest`].
    pub fn triclinic(cell: &Triclinic) -> Frame {
        Frame {
            dimensions: 3,
            space: Space::Triclinic(Arc::new(Lattice::new(cell))),
        }
    }

    /// Dimensions.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub(super) fn space(&self) -> &Space {
        &self.space
    }

    /// The coordinates that the near columns round, of as many as there are dimensions.
    #[inline(always)]
    pub(super) fn place(&self, point: &[f64]) -> [f64; 4] {
        let mut near = [0.0; 4];
        for (k, (near, x)) in near.iter_mut().zip(point).enumerate() {
            *near = match &self.space {
                Space::Open(origin) => x - origin[k],
                Space::Orthorhombic(l) => x - l[k] * round_even(x / l[k]),
                Space::Triclinic(_) => *x,
            };
        }
        if let Space::Triclinic(lattice) = &self.space {
            [near[0], near[1], near[2]] = lattice.place([near[0], near[1], near[2]]);
        }
        near
    }
}

/// A set of points in a [`Frame`].
#[derive(Clone, Debug)]
pub struct Points {
    frame: Frame,
    len: usize,
    exact: Exact,
    /// As `single`, where it is needed.
    near: Vec<f64>,
    single: Block<f32>,
    /// Bound of |single − near| over all coordinates.
    rounding: f64,
    /// Bound of the magnitudes of the exact coordinates.
    reach: f64,
}

/// The coordinates as given.
#[derive(Clone, Debug)]
enum Exact {
    /// One column after another.
    Columns(Vec<f64>),
    /// Row-major by place, NaN in gaps: a pair that is looked at again is in few lines.
    Places(Block<f64>),
}

impl Points {
    /// Takes one column per dimension.
    ///
    /// # Panics
    /// If the columns are not as many as the frame's dimensions, or differ in length.
    pub fn new<T: Element>(frame: &Frame, columns: &[&[T]]) -> Points {
        assert_eq!(columns.len(), frame.dimensions, "columns and dimensions");
        let len = columns[0].len();
        assert!(
            columns.iter().all(|c| c.len() == len),
            "columns of different lengths"
        );
        let mut points = Points {
            frame: frame.clone(),
            len,
            exact: Exact::Columns(vec![]),
            near: vec![],
            single: Block::default(),
            rounding: 0.0,
            reach: 0.0,
        };
        let mut exact = vec![0.0; len * frame.dimensions];
        points.near = vec![0.0; (len + PAD) * frame.dimensions];
        points.single = Block::zeros((len + PAD) * frame.dimensions);
        let mut point = [0.0; 4];
        let point = &mut point[..frame.dimensions];
        for at in 0..len {
            for (k, (x, column)) in point.iter_mut().zip(columns).enumerate() {
                *x = column[at].to_f64();
                exact[k * len + at] = *x;
                points.reach = if x.is_finite() {
                    points.reach.max(x.abs())
                } else {
                    f64::INFINITY
                };
            }
            for (k, near) in frame.place(point).into_iter().enumerate().take(point.len()) {
                let single = near as f32;
                points.near[k * (len + PAD) + at] = near;
                points.single[k * (len + PAD) + at] = single;
                points.rounding = points.rounding.max((f64::from(single) - near).abs());
            }
        }
        points.exact = Exact::Columns(exact);
        points
    }

    /// Takes finite row-major coordinates: `places` says the row in each place, or [`GAP`]; gaps
    /// lie at `far` along its axis.
    pub(super) fn placed(frame: &Frame, rows: &[f64], places: &[u32], far: (usize, f64)) -> Points {
        let (len, dimensions) = (places.len(), frame.dimensions);
        let mut single = Block::<f32>::zeros((len + PAD) * dimensions);
        let mut exact = Block::<f64>::zeros(len * dimensions);
        let mut columns: Vec<_> = single
            .chunks_exact_mut(len + PAD)
            .map(|c| c[..len].chunks_mut(CHUNK))
            .collect();
        let mut chunks = vec![];
        for (places, exact) in places
            .chunks(CHUNK)
            .zip(exact.chunks_mut(CHUNK * dimensions))
        {
            let single: Vec<&mut [f32]> = columns.iter_mut().filter_map(Iterator::next).collect();
            chunks.push((places, exact, single));
        }
        let put = |chunk| put_chunk(frame, rows, chunk, far);
        let larger = |a: (f64, f64), b: (f64, f64)| (a.0.max(b.0), a.1.max(b.1));
        let (rounding, reach) = chunks
            .into_par_iter()
            .map(put)
            .reduce(|| (0.0, 0.0), larger);
        Points {
            frame: frame.clone(),
            len,
            exact: Exact::Places(exact),
            near: vec![],
            single,
            rounding,
            reach,
        }
    }

    /// Makes near coordinates in double precision too; gaps lie as in single precision.
    pub fn with_doubles(mut self) -> Points {
        if let (Exact::Places(exact), true) = (&self.exact, self.near.is_empty()) {
            self.near = self.single.iter().map(|v| f64::from(*v)).collect();
            let stride = self.len + PAD;
            let points = exact.chunks_exact(self.frame.dimensions).enumerate();
            for (at, point) in points.filter(|(_, point)| !point[0].is_nan()) {
                for (k, near) in self
                    .frame
                    .place(point)
                    .into_iter()
                    .enumerate()
                    .take(point.len())
                {
                    self.near[k * stride + at] = near;
                }
            }
        }
        self
    }

    /// Points, or places.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The frame they are in.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Bound of the magnitudes of the coordinates; infinite if one is not finite.
    pub(super) fn reach(&self) -> f64 {
        self.reach
    }

    /// How far a difference of near coordinates may be from the exact one in one coordinate, apart
    /// from the rounding of the difference itself.
    pub(super) fn difference_error<T: Near>(&self, other: &Points) -> f64 {
        // Roundings in T of a length: an image is computed from lengths that are rounded to T, and
        // differences or sums.
        let (unit, length, roundings, doubles) = match &self.frame.space {
            Space::Open(_) => (1.0, 0.0, 0.0, 8.0),
            Space::Orthorhombic(l) => (1.0, l.iter().copied().fold(0.0, f64::max), 3.0, 8.0),
            Space::Triclinic(lattice) => (lattice.unit(), lattice.longest(), 9.0, 64.0),
        };
        let singles = if size_of::<T>() == 4 {
            unit * (self.rounding + other.rounding)
        } else {
            0.0
        };
        singles
            + doubles * f64::EPSILON * (self.reach + other.reach + length)
            + roundings * T::UNIT * length
    }

    /// Coordinate `k` as given; NaN in a gap.
    #[inline(always)]
    fn exact(&self, at: usize, k: usize) -> f64 {
        match &self.exact {
            Exact::Columns(columns) => columns[k * self.len + at],
            Exact::Places(rows) => rows[at * self.frame.dimensions + k],
        }
    }

    /// The reference value: f64, ascending components, no contraction.
    #[inline(always)]
    pub fn squared_distance(&self, i: usize, other: &Points, j: usize) -> f64 {
        let difference = |k: usize| self.exact(i, k) - other.exact(j, k);
        if let Space::Triclinic(lattice) = &self.frame.space {
            let [x, y, z] = lattice.nearest([difference(0), difference(1), difference(2)]);
            return x * x + y * y + z * z;
        }
        let mut sum = 0.0;
        for k in 0..self.frame.dimensions {
            let mut d = difference(k);
            if let Space::Orthorhombic(l) = &self.frame.space {
                d -= l[k] * round_even(d / l[k]);
            }
            sum += d * d;
        }
        sum
    }
}

/// Element types of near coordinates.
pub(super) trait Near: Element {
    /// Half the distance from 1 to the next value: the relative error of a rounding.
    const UNIT: f64;
    /// Near coordinate `k`, with at least 16 values behind the last point.
    fn column(points: &Points, k: usize) -> &[Self];
}

impl Near for f32 {
    const UNIT: f64 = f32::EPSILON as f64 / 2.0;
    #[inline(always)]
    fn column(points: &Points, k: usize) -> &[f32] {
        let n = points.len + PAD;
        &points.single[k * n..(k + 1) * n]
    }
}

impl Near for f64 {
    const UNIT: f64 = f64::EPSILON / 2.0;
    #[inline(always)]
    fn column(points: &Points, k: usize) -> &[f64] {
        let n = points.len + PAD;
        &points.near[k * n..(k + 1) * n]
    }
}

/// The places of a chunk, with room for their exact coordinates and for each near one.
type Chunk<'a> = (&'a [u32], &'a mut [f64], Vec<&'a mut [f32]>);

/// Puts the rows of a chunk in their places; the largest rounding and the largest coordinate.
fn put_chunk(
    frame: &Frame,
    rows: &[f64],
    (places, exact, mut to): Chunk<'_>,
    far: (usize, f64),
) -> (f64, f64) {
    let dimensions = frame.dimensions;
    let (mut rounding, mut reach) = (0.0f64, 0.0f64);
    let points = exact.chunks_exact_mut(dimensions);
    for (at, (place, exact)) in places.iter().zip(points).enumerate() {
        if *place == GAP {
            to[far.0][at] = far.1 as f32;
            exact.fill(f64::NAN);
            continue;
        }
        // Rows in another order: each is requested before its turn.
        let soon = places
            .get(at + SOON)
            .map_or(0, |place| *place as usize * dimensions);
        nearest(rows.as_ptr().wrapping_add(soon));
        exact
            .iter_mut()
            .zip(&rows[*place as usize * dimensions..])
            .for_each(|(to, v)| *to = *v);
        for ((k, x), near) in exact.iter().enumerate().zip(frame.place(exact)) {
            let single = near as f32;
            to[k][at] = single;
            rounding = rounding.max((f64::from(single) - near).abs());
            reach = reach.max(x.abs());
        }
    }
    (rounding, reach)
}
