//! How a bin is decided in single precision: by the position of the value among the edges, unless
//! an edge is nearer than the error.
//!
//! ```text
//! even edges             position = (value − first edge) · bins per unit
//! logarithmic edges      position = (log₂ value − log₂ first edge) · bins per octave
//! ```
//!
//! The bin is the whole number below the position, so no edge is read. A position errs by
//!
//! * a part relative to the position: roundings, and the relative error of the value;
//! * a constant part: the absolute error of the value, and roundings relative to the first edge;
//! * for the root of a square s, e · rate² / position, where e is the absolute error of s.
//!
//! The last part is large near zero alone, where pairs are left to double precision.

use super::bound::{Bound, U};
use zipfold_core::fold::Axis;

/// The error of a binary logarithm of single precision: relative, or absolute where it is below 1.
/// The unit for special functions errs by 2⁻²² (CUDA C++ Programming Guide, `lg2.approx`), OpenCL
/// allows 3 units in the last place.
const LOG2: f64 = 4.8e-7;
/// From here on single precision cannot hold the number of a bin with digits to spare.
const MOST_BINS: usize = 1 << 20;
/// The least number whose logarithm is taken, well above the subnormal ones.
const LEAST: f64 = 1e-36;
/// The part of a bin that the absolute error of a value may take from where its logarithm is
/// trusted.
const TRUSTED: f64 = 0.01;
/// The most of all pairs that may be left to double precision.
const LEFT: f64 = 0.2;

/// How the edges of an axis are spaced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// Bins of equal width.
    Even {
        /// The first edge.
        lo: f64,
        /// Bins a unit.
        rate: f64,
    },
    /// Bins of equal ratio.
    Logarithmic {
        /// The binary logarithm of the first edge.
        lo: f64,
        /// Bins an octave: from a value to its double.
        rate: f64,
    },
}

impl Scale {
    /// Returns how the edges of `axis` are spaced, if a number says where each of them is.
    ///
    /// Stricter than the guess of the host (10⁻⁹ of a bin and not 10⁻⁶): in single precision the
    /// guess is also the decision, except near edges.
    pub fn of_axis(axis: &Axis) -> Option<Self> {
        let even = evenly(axis.edges.iter().copied());
        even.map(|(lo, rate)| Scale::Even { lo, rate }).or_else(|| {
            let positive = axis.edges[0] > 0.0;
            let found = evenly(axis.edges.iter().map(|e| e.log2()));
            let (lo, rate) = found.filter(|_| positive)?;
            Some(Scale::Logarithmic { lo, rate })
        })
    }
    /// Returns the position of the first edge, counted from zero or from the logarithm of one.
    pub fn first(self) -> f64 {
        match self {
            Scale::Even { lo, rate } | Scale::Logarithmic { lo, rate } => lo * rate,
        }
    }
    /// Returns the first edge and bins per unit where bins have equal width.
    pub fn even(axis: &Axis) -> Option<(f64, f64)> {
        match Self::of_axis(axis)? {
            Scale::Even { lo, rate } => Some((lo, rate)),
            Scale::Logarithmic { .. } => None,
        }
    }
}

/// Returns the first of `edges` and how many there are a unit, if they are evenly spaced.
fn evenly(edges: impl ExactSizeIterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    let n = edges.len() - 1;
    let (lo, hi) = (edges.clone().next()?, edges.clone().last()?);
    let step = (hi - lo) / n as f64;
    let even = edges
        .enumerate()
        .all(|(i, e)| (e - (lo + i as f64 * step)).abs() <= step * 1e-9);
    (even && step.is_finite() && (1.0 / step).is_finite()).then_some((lo, 1.0 / step))
}

/// How a bin is decided in single precision: positions closer to an edge than their error go to
/// double precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// How edges are spaced.
    pub scale: Scale,
    /// Bins of the axis.
    pub bins: usize,
    /// The value is the square of what is binned.
    pub squared: bool,
    /// The part of a position's error that grows with the position.
    pub slope: f64,
    /// The constant part, in bins.
    pub constant: f64,
    /// Pairs at a position below this one are left to double precision; none where it is zero.
    pub sure: f64,
    /// What the distance from an edge, in bins, times the root must exceed; zero where roots have
    /// no error but one relative to them.
    pub root: f64,
    /// Values near an edge are decided by single precision too.
    pub fast: bool,
    /// No value is below this.
    pub least: f64,
    /// No value is beyond this.
    pub most: f64,
}

impl Band {
    /// Returns how single precision decides the bins of `axis`, whose values err as `bound` says;
    /// none where edges are spaced in no known way, or are too close to values near zero.
    pub fn of_axis(axis: &Axis, bound: &Bound, fast: bool) -> Option<Self> {
        let scale = Scale::of_axis(axis)?;
        let bins = axis.bins();
        let errors = Errors::new(axis, bound, scale)?;
        let first = scale.first();
        // A position is computed one half lower by one rounding of a product and a difference, and
        // its rate and first edge are rounded: relative to the position or to the first edge.
        let slope = 1.01 * (errors.slope + 5.0 * U);
        let constant = (errors.constant + (first.abs() + 1.0) * (slope + 4.0 * U)) * 1.01 + 1e-6;
        // Where the root is looked at, the position is not.
        let (slope, constant) = match errors.root > 0.0 {
            true => (0.0, constant + slope * (bins as f64 + 1.0)),
            false => (slope, constant),
        };
        Some(Band {
            scale,
            bins,
            squared: axis.squared,
            slope,
            constant,
            sure: errors.sure,
            root: 1.01 * errors.root,
            fast,
            least: bound.lo,
            most: bound.hi,
        })
    }
    /// Returns whether single precision decides most pairs: few are near an edge, and few are where
    /// positions are not trusted.
    ///
    /// With wider bands too many pairs are computed twice, and a sweep in double precision is
    /// faster.
    pub fn pays(&self) -> bool {
        let bins = self.bins as f64;
        // Of pairs that are spread evenly over the bins, and near both ends of each.
        let near = 2.0 * (self.constant + 0.5 * self.slope * bins);
        // Values are taken to be spread evenly, too, where bins are not.
        let below = match self.scale {
            _ if self.sure == 0.0 => 0.0,
            Scale::Even { .. } => self.sure / bins,
            Scale::Logarithmic { rate, .. } => ((self.sure - bins) / rate).exp2(),
        };
        // Half of a bin is too near to an edge at this position; in the middle of all bins, this
        // part of one.
        let roots = match self.scale {
            Scale::Even { rate, .. } => 6.0 * self.root * rate / bins,
            Scale::Logarithmic { .. } => 0.0,
        };
        self.bins < MOST_BINS && near + below + roots < LEFT
    }
}

/// Parts of the error of a position, in bins, without its own roundings.
#[derive(Default)]
struct Errors {
    slope: f64,
    constant: f64,
    sure: f64,
    /// The error times the root.
    root: f64,
}

impl Errors {
    fn new(axis: &Axis, bound: &Bound, scale: Scale) -> Option<Self> {
        match scale {
            Scale::Even { rate, .. } if axis.squared => Some(roots(bound, rate)),
            Scale::Even { rate, .. } => Some(Errors {
                slope: bound.rel,
                constant: bound.abs * rate,
                ..Errors::default()
            }),
            Scale::Logarithmic { lo, rate } => logarithms(bound, axis, [lo, rate]),
        }
    }
}

/// The error of positions of roots: |√(s + e) − √s| is at most √e anywhere, and e over the sum of
/// both roots, of which the exact one may be zero.
fn roots(bound: &Bound, rate: f64) -> Errors {
    // The root of a device errs by two units in the last place.
    let slope = bound.rel / 2.0 + 2.0 * U;
    let everywhere = bound.abs.sqrt() * rate;
    if everywhere <= 1e-7 {
        return Errors {
            slope,
            constant: everywhere,
            ..Errors::default()
        };
    }
    Errors {
        slope,
        root: bound.abs * rate,
        ..Errors::default()
    }
}

/// The error of positions by logarithms. The absolute error of a value moves it by a part of the
/// value, so small ones are not trusted; none where all are so small.
fn logarithms(bound: &Bound, axis: &Axis, [lo, rate]: [f64; 2]) -> Option<Errors> {
    // Bins an octave of the number whose logarithm is taken, and its least and largest edge.
    let power = if axis.squared { 2 } else { 1 };
    let own_rate = rate / f64::from(power);
    let ends = [axis.edges[0], axis.edges[axis.bins()]].map(|e| e.powi(power));
    let moved = bound.abs * own_rate * std::f64::consts::LOG2_E;
    let trusted = ends[0].max(moved / TRUSTED);
    let part = bound.rel + bound.abs / trusted;
    // Beyond ten per cent a logarithm is no longer as straight as this takes it. Devices may take
    // subnormal numbers as zero.
    if part > 0.1 || trusted >= ends[1] || ends[0] < LEAST {
        return None;
    }
    let size = ends.map(|e| e.log2().abs()).into_iter().fold(1.0, f64::max);
    let straight = part / (1.0 - part) * std::f64::consts::LOG2_E;
    let sure = trusted.log2() * own_rate - lo * rate;
    Some(Errors {
        slope: 0.0,
        constant: own_rate * (straight + LOG2 * (size + 1.0)),
        sure: if trusted > ends[0] { sure } else { 0.0 },
        root: 0.0,
    })
}
