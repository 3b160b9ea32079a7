//! Histograms of rows on a line: one axis is the difference of a number of each row, the others are
//! numbers of one row alone.
//!
//! ```text
//! axes   x.unit, y.unit, y.time - x.time     rows sorted by time: those within the last edge of a row
//!                                            are a window of them, which moves with the row
//! ```
//!
//! So no pair is looked at that has no bin, and a pair takes one subtraction and the search of its bin.

use zipfold_core::fold::{Axis, Fold, Histogram};
use zipfold_core::pair::source::Source;
use zipfold_core::pair::tree::{Binary, Id, Node, Unary};
use zipfold_core::{Job, Side};

/// What the value of the axis of both rows is, of their numbers x and y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// y − x.
    Ahead,
    /// x − y.
    Behind,
    /// |x − y|, in either order.
    Either,
}

/// An axis of a histogram that is a number of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnAxis {
    /// Which axis.
    pub axis: usize,
    /// Whose number.
    pub side: Side,
    /// Its place among the hoisted numbers of the row.
    pub place: usize,
}

/// A histogram whose rows lie on a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnLine {
    /// The axis of both rows.
    pub axis: usize,
    /// What its value is.
    pub gap: Gap,
    /// The places of its numbers among the hoisted numbers of a row of x and of y.
    pub places: [usize; 2],
    /// The other axes.
    pub others: Vec<OwnAxis>,
}

/// Returns how the rows of `job` lie on a line, if they do and its answer is counts of pairs in the
/// bins of several axes.
///
/// With one axis, pairs below the first edge are counted apart, and all of them would be visited.
pub fn on_line(job: &Job) -> Option<OnLine> {
    let [Fold::Histogram(fold)] = job.folds.as_slice() else {
        return None;
    };
    let plain = job.cutoff_root.is_none()
        && !job.holes
        && job.periodic_box.is_none()
        && job.space.band.is_none();
    // Of half of the pairs, the order of the rows as given says which one is first.
    let whole = !job.space.is_triangular();
    let counts = fold.weights.is_none() && !fold.mean && !fold.sums_formulas();
    if !(plain && whole && counts) || fold.axes.len() < 2 {
        return None;
    }
    let (mut both, mut others) = (None, vec![]);
    for (at, axis) in fold.axes.iter().enumerate() {
        match own(job, at, axis) {
            Some(own) => others.push(own),
            None if both.is_some() => return None,
            None => both = Some((at, gap(job, fold, at)?)),
        }
    }
    let (axis, (gap, places)) = both?;
    Some(OnLine {
        axis,
        gap,
        places,
        others,
    })
}

/// The place of a hoisted number of one row.
fn hoisted(job: &Job, id: Id) -> Option<(Side, usize)> {
    let Source::Attr(side, at) = job.low.source(id) else {
        return None;
    };
    let vectors = job.low.row_vectors[side as usize].len() * job.low.dim;
    Some((side, vectors + at))
}

fn own(job: &Job, at: usize, axis: &Axis) -> Option<OwnAxis> {
    let (side, place) = hoisted(job, job.low.formula.roots[axis.root])?;
    Some(OwnAxis {
        axis: at,
        side,
        place,
    })
}

/// What axis `at` is of the numbers of both rows, and the places of these.
fn gap(job: &Job, fold: &Histogram, at: usize) -> Option<(Gap, [usize; 2])> {
    let axis = &fold.axes[at];
    let formula = &job.low.formula;
    let root = formula.roots[axis.root];
    let (difference, either) = if let Node::Unary(Unary::Abs, a) = formula.node(root) {
        (*a, true)
    } else {
        (root, false)
    };
    let Node::Binary(Binary::Sub, a, b) = formula.node(difference) else {
        return None;
    };
    // Edges of squares are compared with squares.
    if axis.squared {
        return None;
    }
    let (gap, places) = match (hoisted(job, *a)?, hoisted(job, *b)?) {
        ((Side::Y, y), (Side::X, x)) => (Gap::Ahead, [x, y]),
        ((Side::X, x), (Side::Y, y)) => (Gap::Behind, [x, y]),
        _ => return None,
    };
    Some((if either { Gap::Either } else { gap }, places))
}
