//! Recognises the jobs that the points kernels answer: one histogram of Euclidean distances between
//! points of one to four coordinates.
//!
//! This is the most common question, and the only one whose kernel goes from coordinates to
//! counters without storing a value. The conditions below are what the kernel assumes; a job that
//! misses one is answered by the general ways.

use std::collections::HashSet;
use zipfold_core::fold::{Fold, Histogram, Scale};
use zipfold_core::pair::pattern::{Difference, Norm};
use zipfold_core::pair::source::Source;
use zipfold_core::pair::{Id, Node};
use zipfold_core::space::periodic_box::Image;
use zipfold_core::{Domain, Job};

/// Returns whether `job` is one histogram of Euclidean distances that the points kernels count,
/// provided that its points are finite. A box has right angles and a length for every coordinate,
/// or is triclinic around three.
pub fn apply(job: &Job) -> bool {
    let [Fold::Histogram(h)] = job.folds.as_slice() else {
        return false;
    };
    !h.sums_formulas() && are_counted(job, h)
}

/// Returns whether a column grid can answer `job`: as [`apply`], and the formulas that it sums by bin
/// read numbers of rows and the distance alone.
pub fn in_columns(job: &Job) -> bool {
    let [Fold::Histogram(h)] = job.folds.as_slice() else {
        return false;
    };
    let one_weight = h.weights.is_none() || h.pair_weight.is_none();
    (!h.sums_formulas() || (one_weight && reads_numbers(job, h))) && are_counted(job, h)
}

/// Returns whether the formulas that `h` sums are made of hoisted numbers of rows, constants, and the
/// binned value. Such a formula can be computed for pairs in any order, number by number.
fn reads_numbers(job: &Job, h: &Histogram) -> bool {
    let low = &job.low;
    let binned = low.formula.roots[h.axes[0].root];
    let roots = h.values.iter().map(|value| value.root).chain(h.pair_weight);
    let mut open: Vec<Id> = roots.map(|root| low.formula.roots[root]).collect();
    let mut seen = HashSet::new();
    while let Some(id) = open.pop() {
        if id == binned || !seen.insert(id) {
            continue;
        }
        if matches!(low.source(id), Source::Attr(..) | Source::Const(_)) {
            continue;
        }
        // Operations on numbers; the difference of two numbers, if no box makes it another one.
        let node = low.formula.node(id);
        let steps = matches!(node, Node::Unary(..) | Node::Binary(..) | Node::Select(..));
        let differs = matches!(node, Node::DeltaAt(_)) && !low.periodic;
        if low.source(id) != Source::Pair || !(steps || differs) {
            return false;
        }
        open.extend(low.formula.operands(id));
    }
    true
}

/// Returns whether the kernels count the pairs of `h`, formulas aside.
fn are_counted(job: &Job, h: &Histogram) -> bool {
    let whole = !job.holes
        && matches!(
            job.space.domain,
            Domain::Cross | Domain::Square | Domain::Triangle
        );
    let plain = h.axes.len() == 1 && job.cutoff_root.is_none() && are_plain(h, job.space.domain);
    let boxed = match job.periodic_box.as_ref().map(|c| c.image()) {
        None => true,
        Some(Image::Orthorhombic(o)) => o.lengths().len() == job.low.dim,
        Some(Image::Triclinic(_)) => job.low.dim == 3,
    };
    // The kernel compares squares, and an edge below 0 has none.
    let distance = (1..=4).contains(&job.low.dim)
        && is_squared_distance(job, h)
        && h.axes[0].compared[0] >= 0.0;
    whole && plain && boxed && distance
}

/// Returns whether the kernel can keep the sums of `h`: terms that are whole numbers of a unit, or
/// windows; weights that are finite, and, if a pair may be met either way round, the same on both
/// sides.
fn are_plain(h: &Histogram, domain: Domain) -> bool {
    let usable =
        |scale: Scale| !scale.is_plain() || (scale.unit().is_finite() && scale.unit() > 0.0);
    let same = |[x, y]: &[Vec<f64>; 2]| domain != Domain::Triangle || x == y;
    let finite = |w: &[Vec<f64>; 2]| w.iter().flatten().all(|w| w.is_finite()) && same(w);
    let ends = !h.mean || h.axes[0].edges.iter().all(|e| e.is_finite());
    usable(h.weight_scale())
        && usable(h.value_scale())
        && ends
        && h.weights.as_ref().is_none_or(finite)
}

/// Returns whether the binned root is Σ (x − y)² of the raw rows, in the order of their components:
/// the kernel adds in that order and must have the bits of the reference.
fn is_squared_distance(job: &Job, h: &Histogram) -> bool {
    let low = &job.low;
    let raw = |side: usize, k: usize| low.raw_vector(side).map(|s| s * low.dim + k);
    let norm = &low.pattern(h.axes[0].root).norm;
    norm.as_ref().is_some_and(|norm| {
        let is_raw = |(k, term): (usize, &Difference)| {
            let [x, y] = term.coordinates;
            [raw(0, k), raw(1, k)] == [Some(x), Some(y)] && term.image.is_some() == low.periodic
        };
        norm.norm == Norm::Squares && norm.whole && norm.terms.iter().enumerate().all(is_raw)
    })
}
