//! Points as columns: the exact coordinates, and near ones in `f32` with a bound of their error.

use crate::simd::Element;
use rayon::prelude::*;
use zipfold_core::number::round_even;

/// A place without a point: NaN, and far from all points in the near coordinates.
pub(super) const GAP: u32 = u32::MAX;
/// Places that a thread fills at a time.
const CHUNK: usize = 4096;
/// Padding behind each near column, so that whole vectors may be read from any point on.
const PAD: usize = 16;

/// What the coordinates of several point sets share: the number of dimensions, a common origin or a periodic box.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    dimensions: usize,
    origin: [f64; 4],
    periods: Option<[f64; 4]>,
}

impl Frame {
    /// An open space with the origin at the middle of the first set: pairs far from zero lose nothing.
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
        Self::around(dimensions, |k| rows.iter().skip(k).step_by(dimensions).copied())
    }

    fn around<I: Iterator<Item = f64>>(dimensions: usize, column: impl Fn(usize) -> I) -> Frame {
        assert!((1..=4).contains(&dimensions), "points of one to four dimensions");
        let mut origin = [0.0; 4];
        for (k, origin) in origin.iter_mut().enumerate().take(dimensions) {
            let (single, lo, hi) = column(k).fold((true, f64::INFINITY, f64::NEG_INFINITY), |(single, lo, hi), x| {
                (single & (x == f64::from(x as f32)), lo.min(x), hi.max(x))
            });
            let middle = lo / 2.0 + hi / 2.0;
            // Values that f32 holds exactly are best left alone: differences of them err by one rounding only.
            *origin = if single || !middle.is_finite() { 0.0 } else { middle };
        }
        Frame { dimensions, origin, periods: None }
    }

    /// A periodic orthorhombic box; distances are between nearest images, d − L · round(d / L), ties to even.
    ///
    /// # Panics
    /// If there are no lengths or more than four, or one is not positive and finite.
    pub fn periodic(lengths: &[f64]) -> Frame {
        assert!((1..=4).contains(&lengths.len()), "boxes of one to four dimensions");
        assert!(lengths.iter().all(|&l| l.is_finite() && l > 0.0), "lengths of the box must be positive");
        let mut periods = [0.0; 4];
        periods[..lengths.len()].copy_from_slice(lengths);
        Frame { dimensions: lengths.len(), origin: [0.0; 4], periods: Some(periods) }
    }

    /// Dimensions.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub(super) fn periods(&self) -> Option<[f64; 4]> {
        self.periods
    }

    /// The coordinate that the near columns round.
    pub(super) fn place(&self, k: usize, x: f64) -> f64 {
        match self.periods {
            Some(l) => x - l[k] * round_even(x / l[k]),
            None => x - self.origin[k],
        }
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
    single: Vec<f32>,
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
    Places(Vec<f64>),
}

impl Points {
    /// Takes one column per dimension.
    ///
    /// # Panics
    /// If the columns are not as many as the frame's dimensions, or differ in length.
    pub fn new<T: Element>(frame: &Frame, columns: &[&[T]]) -> Points {
        assert_eq!(columns.len(), frame.dimensions, "columns and dimensions");
        let len = columns[0].len();
        assert!(columns.iter().all(|c| c.len() == len), "columns of different lengths");
        let mut points = Points {
            frame: frame.clone(),
            len,
            exact: Exact::Columns(vec![]),
            near: vec![],
            single: vec![],
            rounding: 0.0,
            reach: 0.0,
        };
        let mut exact = vec![];
        for (k, column) in columns.iter().enumerate() {
            for x in column.iter() {
                let x = x.to_f64();
                let near = frame.place(k, x);
                let single = near as f32;
                exact.push(x);
                points.near.push(near);
                points.single.push(single);
                points.reach = if x.is_finite() { points.reach.max(x.abs()) } else { f64::INFINITY };
                points.rounding = points.rounding.max((f64::from(single) - near).abs());
            }
            points.near.extend([0.0; PAD]);
            points.single.extend([0.0; PAD]);
        }
        points.exact = Exact::Columns(exact);
        points
    }

    /// Takes finite row-major coordinates: `places` says the row in each place, or [`GAP`]; gaps lie at `far` along its axis.
    pub(super) fn placed(frame: &Frame, rows: &[f64], places: &[u32], far: (usize, f64)) -> Points {
        let (len, dimensions) = (places.len(), frame.dimensions);
        let mut single = vec![0.0f32; (len + PAD) * dimensions];
        let mut exact = vec![f64::NAN; len * dimensions];
        let mut columns: Vec<_> = single.chunks_exact_mut(len + PAD).map(|c| c[..len].chunks_mut(CHUNK)).collect();
        let mut chunks = vec![];
        for (places, exact) in places.chunks(CHUNK).zip(exact.chunks_mut(CHUNK * dimensions)) {
            let single: Vec<&mut [f32]> = columns.iter_mut().filter_map(Iterator::next).collect();
            chunks.push((places, exact, single));
        }
        let put = |(places, exact, mut to): (&[u32], &mut [f64], Vec<&mut [f32]>)| {
            let (mut rounding, mut reach) = (0.0f64, 0.0f64);
            for (at, (place, exact)) in places.iter().zip(exact.chunks_exact_mut(dimensions)).enumerate() {
                if *place == GAP {
                    to[far.0][at] = far.1 as f32;
                    continue;
                }
                exact.copy_from_slice(&rows[*place as usize * dimensions..][..dimensions]);
                for (k, x) in exact.iter().enumerate() {
                    let near = frame.place(k, *x);
                    let single = near as f32;
                    to[k][at] = single;
                    rounding = rounding.max((f64::from(single) - near).abs());
                    reach = reach.max(x.abs());
                }
            }
            (rounding, reach)
        };
        let larger = |a: (f64, f64), b: (f64, f64)| (a.0.max(b.0), a.1.max(b.1));
        let (rounding, reach) = chunks.into_par_iter().map(put).reduce(|| (0.0, 0.0), larger);
        Points { frame: frame.clone(), len, exact: Exact::Places(exact), near: vec![], single, rounding, reach }
    }

    /// Makes near coordinates in double precision too; gaps lie as in single precision.
    pub fn with_doubles(mut self) -> Points {
        if let (Exact::Places(exact), true) = (&self.exact, self.near.is_empty()) {
            self.near = self.single.iter().map(|v| f64::from(*v)).collect();
            for (k, column) in self.near.chunks_exact_mut(self.len + PAD).enumerate() {
                let exact = exact.iter().skip(k).step_by(self.frame.dimensions);
                for (to, x) in column.iter_mut().zip(exact).filter(|(_, x)| !x.is_nan()) {
                    *to = self.frame.place(k, *x);
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

    /// How far a difference of near coordinates may be from the exact one in one coordinate, apart from the rounding of
    /// the difference itself.
    pub(super) fn difference_error<T: Near>(&self, other: &Points) -> f64 {
        let length = self.frame.periods.map_or(0.0, |l| l.into_iter().fold(0.0, f64::max));
        let doubles = 8.0 * f64::EPSILON * (self.reach + other.reach + length);
        let singles = if size_of::<T>() == 4 { self.rounding + other.rounding } else { 0.0 };
        // The other image is computed from a length that is rounded to T, and a difference or a sum with a coordinate.
        singles + doubles + 3.0 * T::UNIT * length
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
        let mut sum = 0.0;
        for k in 0..self.frame.dimensions {
            let mut d = self.exact(i, k) - other.exact(j, k);
            if let Some(l) = self.frame.periods {
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
