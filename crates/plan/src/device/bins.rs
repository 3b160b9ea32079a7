//! How a bin is decided in single precision: by the position of the value among the edges, unless
//! an edge is nearer than the error.
//!
//! ```text
//! even edges             position = (value − first edge) · bins per unit
//! logarithmic edges      position = (log₂ value − log₂ first edge) · bins per octave
//! other edges            position in a grid of cells, of which each has one edge at most:
//!                        bins below the cell, and one more from the edge of the cell on
//!
//!     edges     |   |  |      |              |
//!     cells  └────┴────┴────┴────┴────┴────┴────┘
//! ```
//!
//! The bin of even and logarithmic edges is the whole number below the position, so no edge is read.
//! Cells are even or logarithmic, and as many as keep edges away from their ends: a value that is
//! near an edge is in its cell then. A position errs by
//!
//! * a part relative to the position: roundings, and the relative error of the value;
//! * a constant part: the absolute error of the value, and roundings relative to the first edge;
//! * for the root of a square s, e · rate² / position, where e is the absolute error of s.
//!
//! The last part is large near zero alone, where pairs are left to double precision.

use super::bound::{Bound, U};
use zipfold_core::fold::{Axis, Histogram};

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

/// The most cells of a grid: eight bytes of shared memory each.
const MOST_CELLS: usize = 2048;
/// The most bytes of all tables of a histogram.
const MOST_TABLES: usize = 24 << 10;
/// More cells than are needed are tried up to twice as many and this many.
const MORE_CELLS: usize = 64;
/// The distance of edges from ends of cells, in cells, beyond which no other grid is looked for.
const CLEAR: f64 = 0.05;

/// How positions are counted on an axis.
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

/// Cells of an axis whose edges are spaced in another way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cells {
    /// How many there are: the first edge is in the middle of the first one, the last edge in the
    /// middle of the last one.
    pub count: usize,
    /// How far edges are from the ends of cells, in cells.
    pub clear: f64,
}

impl Cells {
    /// Returns cells for `axis` and how positions among them are counted: even ones, or logarithmic
    /// ones where these are too many. None where both are too many.
    fn of_axis(axis: &Axis) -> Option<(Scale, Cells)> {
        let even = Cells::of_places(&axis.edges);
        let even = even.map(|(lo, rate, cells)| (Scale::Even { lo, rate }, cells));
        even.or_else(|| {
            let positive = axis.edges[0] > 0.0;
            let logs: Vec<f64> = axis.edges.iter().map(|e| e.log2()).collect();
            let (lo, rate, cells) = Cells::of_places(&logs).filter(|_| positive)?;
            Some((Scale::Logarithmic { lo, rate }, cells))
        })
    }
    /// Returns where cells for edges at `places` begin, and how many there are a unit.
    fn of_places(places: &[f64]) -> Option<(f64, f64, Cells)> {
        let (lo, hi) = (*places.first()?, *places.last()?);
        let gaps = places.windows(2).map(|two| two[1] - two[0]);
        let least = (hi - lo) / gaps.fold(f64::INFINITY, f64::min);
        // More than the width of all over the least gap, so that no cell has two edges.
        let few = least < MOST_CELLS as f64 - 2.0;
        if !few || !(hi - lo).is_finite() {
            return None;
        }
        let fewest = least as usize + 2;
        let most = MOST_CELLS.min(2 * fewest + MORE_CELLS);
        let mut best: Option<(f64, f64, Cells)> = None;
        for count in fewest..=most {
            let rate = (count - 1) as f64 / (hi - lo);
            let clear = |place: &f64| {
                let at = (place - lo) * rate + 0.5;
                (at - at.round()).abs()
            };
            let clear = places.iter().map(clear).fold(0.5, f64::min);
            if best.is_none_or(|(_, _, cells)| cells.clear < clear) {
                best = Some((lo - 0.5 / rate, rate, Cells { count, clear }));
            }
            if clear >= CLEAR {
                break;
            }
        }
        best.filter(|(lo, rate, _)| lo.is_finite() && rate.is_finite())
    }
    /// Returns for every cell of `axis`, for what is below the first one and for what is above the
    /// last one, the position of its edge (infinite without one) and the bins below it, under
    /// counted as one. None where edges need no cells.
    pub fn table(axis: &Axis) -> Option<Vec<(f64, usize)>> {
        if Scale::of_axis(axis).is_some() {
            return None;
        }
        let (scale, cells) = Cells::of_axis(axis)?;
        let place = |edge: &f64| match scale {
            Scale::Even { lo, rate } => (edge - lo) * rate,
            Scale::Logarithmic { lo, rate } => (edge.log2() - lo) * rate,
        };
        let places: Vec<f64> = axis.edges.iter().map(place).collect();
        let mut below = 0;
        let entry = |at: usize| {
            // Entry 0 is what is below all cells.
            let first = at as f64 - 1.0;
            let own = places
                .get(below)
                .filter(|p| (first..first + 1.0).contains(*p));
            let out = (own.copied().unwrap_or(f64::INFINITY), below);
            below += usize::from(own.is_some());
            out
        };
        Some((0..cells.count + 2).map(entry).collect())
    }
    /// Returns the bytes of shared memory that the tables of the axes of `h` take.
    pub fn bytes(h: &Histogram) -> usize {
        let one = |axis: &Axis| match Scale::of_axis(axis) {
            Some(_) => 0,
            None => Cells::of_axis(axis).map_or(0, |(_, cells)| 8 * (cells.count + 2)),
        };
        h.axes.iter().map(one).sum()
    }
}

/// Returns whether single precision can decide the bins of `h`: every axis has positions, and the
/// tables of its cells leave shared memory for rows.
pub fn decides(h: &Histogram) -> bool {
    let counted = |axis: &Axis| Scale::of_axis(axis).is_some() || Cells::of_axis(axis).is_some();
    h.axes.iter().all(counted) && Cells::bytes(h) <= MOST_TABLES
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
    /// How positions are counted.
    pub scale: Scale,
    /// Bins of the axis.
    pub bins: usize,
    /// The cells among which positions are counted, where these are not bins.
    pub cells: Option<Cells>,
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
        let (scale, cells) = match Scale::of_axis(axis) {
            Some(scale) => (scale, None),
            None => Cells::of_axis(axis).map(|(scale, cells)| (scale, Some(cells)))?,
        };
        let bins = axis.bins();
        let positions = cells.map_or(bins, |cells| cells.count);
        let errors = Errors::new(axis, bound, scale)?;
        let first = scale.first();
        // A position is computed one half lower by one rounding of a product and a difference, and
        // its rate and first edge are rounded: relative to the position or to the first edge. So is
        // the position of the edge of a cell.
        let slope = 1.01 * (errors.slope + 6.0 * U);
        let constant = (errors.constant + (first.abs() + 1.0) * (slope + 4.0 * U)) * 1.01 + 1e-6;
        // Where the root is looked at, the position is not.
        let (slope, constant) = match errors.root > 0.0 {
            true => (0.0, constant + slope * (positions as f64 + 1.0)),
            false => (slope, constant),
        };
        Some(Band {
            scale,
            bins,
            cells,
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
        let bins = self.positions() as f64;
        // Of pairs that are spread evenly over the bins, and near both ends of each; not every cell
        // has an edge.
        let edges = self.bins as f64 / bins;
        let near = 2.0 * edges * (self.constant + 0.5 * self.slope * bins);
        // A value near an edge must be in its cell.
        let apart = self.cells.is_none_or(|cells| {
            let error = self.constant + self.slope * (bins + 1.0);
            error < 0.5 * cells.clear
        });
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
        apart && self.bins < MOST_BINS && near + below + roots < LEFT
    }
    /// Returns how many positions there are from the first edge or cell on: bins, or cells.
    pub fn positions(&self) -> usize {
        self.cells.map_or(self.bins, |cells| cells.count)
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

#[cfg(test)]
mod tests {
    use super::*;
    use zipfold_core::Random;
    use zipfold_core::fold::Closed;

    fn axis(edges: Vec<f64>) -> Axis {
        Axis::new(0, edges, false, Closed::HalfOpen)
    }

    /// A position far from edges is in the bin that the table says, and edges are away from the ends
    /// of cells.
    #[test]
    fn tables_have_the_bin_of_every_position() {
        let mut random = Random::new(4);
        for kind in 0..200 {
            let bins = 2 + kind % 60;
            let mut edges: Vec<f64> = (0..=bins).map(|_| random.unit() * 100.0 - 30.0).collect();
            if kind % 3 == 0 {
                edges.iter_mut().for_each(|e| *e = 2f64.powf(*e / 10.0));
            }
            edges.sort_by(f64::total_cmp);
            let axis = axis(edges.clone());
            let Some((scale, cells)) = Cells::of_axis(&axis) else {
                continue;
            };
            let table = Cells::table(&axis).unwrap();
            assert_eq!(table.len(), cells.count + 2);
            for _ in 0..500 {
                let at = random.unit() * (cells.count as f64 + 2.0) - 1.0;
                let value = match scale {
                    Scale::Even { lo, rate } => lo + at / rate,
                    Scale::Logarithmic { lo, rate } => (lo + at / rate).exp2(),
                };
                let (edge, below) = table[(at + 1.0).floor() as usize];
                if (at - edge).abs() < 1e-9 {
                    continue;
                }
                let got = below + usize::from(at >= edge);
                let wanted = edges.iter().filter(|e| **e <= value).count();
                assert_eq!(got, wanted, "{value} among {edges:?}");
            }
        }
    }

    /// The cells that `bench/records/h100/2026-11-26-filters.md` names.
    #[test]
    fn edges_of_the_record_have_its_cells() {
        let cells = |bins: u32| {
            let edge = |at: u32| 1.7320508 * (f64::from(at) / f64::from(bins)).powf(1.3);
            let found = Cells::of_axis(&axis((0..=bins).map(edge).collect()));
            found.map(|(_, cells)| cells.count)
        };
        assert_eq!([cells(40), cells(300)], [Some(165), Some(1928)]);
    }

    #[test]
    fn edges_that_are_too_close_have_no_cells() {
        let decides = |edges: &[&[f64]]| {
            let axes = edges.iter().map(|e| axis(e.to_vec())).collect();
            decides(&Histogram::new(axes, Closed::HalfOpen, false))
        };
        assert!(!decides(&[&[-1.0, 0.0, 1e-6, 1.0]]));
        assert!(!decides(&[&[0.0, 1e-9, 1.0]]));
        assert!(decides(&[&[1e-9, 2e-9, 1.0]]));
        assert!(decides(&[&[0.0, 0.1, 1.0]]));
        // Two thousand cells for each of two axes are too many.
        let fine: &[f64] = &[0.0, 0.0005, 0.4, 1.0];
        assert!(decides(&[fine]));
        assert!(!decides(&[fine, fine]));
    }
}
