//! Bounding-volume hierarchies: sorted points of one to four coordinates under a small hierarchy of
//! boxes, for neighbours and pairs within a distance.
//!
//! Every value is the reference value: f64, terms in ascending order, nothing contracted. A box is
//! pruned by evaluating the measure on the gaps between it and a point. Rounding is monotone, so
//! the value of the gaps, rounded as that of a pair is, is at most that of any pair in the box. No
//! error bound is needed but for the limit that a row takes over from the row before.
//!
//! ```text
//! points sorted along a curve; every LEAF of them has a box; every FAN boxes have a box, up to one batch at the top
//! search:  open the top batch; for each box whose least value is within the limit
//!              descend to its FAN children, or evaluate the pairs of its leaf
//! ```
//!
//! Wide nodes of FAN boxes, not binary ones: their least values are a few vector operations, and a
//! level is an array without pointers.

mod extremes;
mod measure;
mod nearest;
mod within;

pub use extremes::{Ends, Extremes, Sample};
pub use nearest::{Nearest, SearchLimits};
pub use within::Within;

use std::ops::Range;
pub use zipfold_core::pair::pattern::Norm;
pub use zipfold_plan::search::MOST;

/// Points in a leaf.
pub const LEAF: usize = 32;
/// Boxes in a box of the next level.
pub const FAN: usize = 16;
/// Coordinates beyond this might overflow in a difference of images.
const LARGE: f64 = 1e150;

/// How the value of a pair is made of its coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// From differences to a value.
    pub norm: Norm,
    /// Coordinates.
    pub terms: usize,
    /// Edges of a periodic box along the coordinates: d − L · round(d / L), ties to even. For
    /// [`Norm::Squares`] only.
    pub periods: Option<[f64; MOST]>,
}

/// Which pairs of sorted rows and columns are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// All.
    All,
    /// Columns behind the row.
    Above,
    /// Columns from the row on.
    From,
    /// All but the row itself.
    Others,
}

/// Boxes of one level by coordinate: of least and largest values, or in a periodic box of middles
/// and half sides.
#[derive(Clone, Debug, Default)]
struct BoxLevel {
    count: usize,
    stride: usize,
    first: Vec<f64>,
    second: Vec<f64>,
}

/// Sorted points and their boxes.
#[derive(Clone, Debug)]
pub struct Bvh {
    len: usize,
    stride: usize,
    /// Coordinates, one column after another, padded to whole leaves and a vector more.
    columns: Vec<f64>,
    /// The number of each point.
    names: Vec<u32>,
    /// No coordinate is larger in magnitude.
    most: f64,
    levels: Vec<BoxLevel>,
}

impl Bvh {
    /// Points in the order of `names`, whose coordinate `k` is `at(name, k)`; none if a coordinate
    /// is not finite, or is too large for the box.
    pub fn new(
        measure: &Measure,
        names: &[u32],
        at: impl Fn(u32, usize) -> f64 + Sync,
    ) -> Option<Bvh> {
        let stride = names.len().next_multiple_of(LEAF) + LEAF;
        let mut columns = vec![0.0; stride * measure.terms];
        for (k, column) in columns.chunks_exact_mut(stride).enumerate() {
            column
                .iter_mut()
                .zip(names)
                .for_each(|(to, name)| *to = at(*name, k));
        }
        let most = columns.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        let finite = columns.iter().fold(true, |all, v| all & v.is_finite());
        let wide = |lengths: [f64; MOST]| lengths[..measure.terms].iter().all(|l| *l > 1.0 / LARGE);
        if !(finite
            && measure
                .periods
                .is_none_or(|lengths| most < LARGE && wide(lengths)))
        {
            return None;
        }
        let mut bvh = Bvh {
            len: names.len(),
            stride,
            columns,
            names: names.to_vec(),
            most,
            levels: vec![],
        };
        bvh.levels = bvh.boxes(measure);
        Some(bvh)
    }
    /// Points.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Bytes that a bounding volume hierarchy of `points` points holds.
    pub fn bytes(points: usize, terms: usize) -> usize {
        // Columns, names, and the boxes of all levels.
        points * (terms * 8 + 4) + points.div_ceil(LEAF) * terms * 20 + 4096
    }
    fn column(&self, k: usize) -> &[f64] {
        &self.columns[k * self.stride..][..self.stride]
    }
    /// The hierarchy, from the leaves up to one batch of boxes.
    fn boxes(&self, measure: &Measure) -> Vec<BoxLevel> {
        let mut levels = vec![];
        let mut spans: Vec<Vec<(f64, f64)>> = (0..measure.terms)
            .map(|k| {
                self.column(k)[..self.len]
                    .chunks(LEAF)
                    .map(hull_of_values)
                    .collect()
            })
            .collect();
        loop {
            levels.push(BoxLevel::new(measure, &spans, self.most));
            if spans[0].len() <= FAN {
                return levels;
            }
            spans = spans
                .iter()
                .map(|s| s.chunks(FAN).map(hull_of_spans).collect())
                .collect();
        }
    }
}

impl BoxLevel {
    fn new(measure: &Measure, spans: &[Vec<(f64, f64)>], most: f64) -> BoxLevel {
        let count = spans[0].len();
        let stride = count + FAN;
        let mut level = BoxLevel {
            count,
            stride,
            first: vec![0.0; stride * spans.len()],
            second: vec![0.0; stride * spans.len()],
        };
        for (k, spans) in spans.iter().enumerate() {
            for (at, span) in spans.iter().enumerate() {
                let (first, second) = match measure.periods {
                    None => *span,
                    Some(lengths) => middle(*span, most, lengths[k]),
                };
                level.first[k * stride + at] = first;
                level.second[k * stride + at] = second;
            }
        }
        level
    }
}

/// Middle and half side of a span of coordinates up to `most`, so wide that the rounding of images
/// is covered.
fn middle((lo, hi): (f64, f64), most: f64, length: f64) -> (f64, f64) {
    let middle = 0.5 * lo + 0.5 * hi;
    (middle, (hi - middle).max(middle - lo) + slack(most, length))
}

/// More than what an image of a difference of coordinates up to `most` errs by: roundings of the
/// difference, of the quotient times L and of the subtraction, a few units each.
fn slack(most: f64, length: f64) -> f64 {
    64.0 * f64::EPSILON * (most + length)
}

fn hull_of_values(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| {
            (lo.min(*v), hi.max(*v))
        })
}

fn hull_of_spans(spans: &[(f64, f64)]) -> (f64, f64) {
    spans
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), s| {
            (lo.min(s.0), hi.max(s.1))
        })
}

/// The lanes of the leaf that starts at column `first` which a row may meet.
#[inline(always)]
fn live(cut: Cut, row: usize, cols: &Range<usize>, first: usize) -> u32 {
    let start = match cut {
        Cut::Above => cols.start.max(row + 1),
        Cut::From => cols.start.max(row),
        Cut::All | Cut::Others => cols.start,
    };
    // All lanes from place `at` on.
    let from = |at: usize| {
        if at >= first + LEAF {
            0
        } else {
            u32::MAX << at.saturating_sub(first)
        }
    };
    let mut lanes = from(start) & !from(cols.end);
    if cut == Cut::Others && row >= first && row < first + LEAF {
        lanes &= !(1 << (row - first));
    }
    lanes
}

/// Whether a row of a group may look at a column of leaf number `leaf`.
#[inline(always)]
fn meets(cut: Cut, cols: &Range<usize>, rows: &Range<usize>, leaf: usize) -> bool {
    let mine = leaf * LEAF..(leaf + 1) * LEAF;
    let behind = matches!(cut, Cut::Above | Cut::From) && mine.end <= rows.start;
    mine.start < cols.end && mine.end > cols.start && !behind
}
