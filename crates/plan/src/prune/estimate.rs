//! The share of pairs that bounds would leave to evaluate, by bounding a sample of boxes.
//!
//! Boxes of the real size are needed, but not all of them: some rows are picked at random, and each is given a box as
//! large as a group of rows along the curve would have, estimated from the spacing of the sample.

use zipfold_core::fold::{Fold, Histogram, RowOp};
use zipfold_core::pair::bounds::{Bounds, LANES, hoisted_into};
use zipfold_core::pair::interval::Span;
use zipfold_core::space::curve::{Coordinates, order_of};
use zipfold_core::{Job, Side, Table};

/// Rows of a sample.
const SAMPLE: usize = 1024;
/// Boxes of x that are bounded against all of y.
const BOXES: usize = 48;
/// Rows in a box of x and of y, as a pruned run has them.
const ROWS: [usize; 2] = [16, 128];

/// Boxes of one side: hoisted value c of box b lies between `lo[c·stride + b]` and `hi[c·stride + b]`.
struct Boxes {
    stride: usize,
    count: usize,
    lo: Vec<f64>,
    hi: Vec<f64>,
}

/// The share of pairs that a pruned run of `job` would evaluate; none where its bounds cannot be had.
pub fn evaluated(job: &Job) -> Option<f64> {
    let mut bounds = Bounds::new(&job.low, job.cell.as_ref())?;
    let x = boxes(job, &job.x, Side::X);
    let y = boxes(job, job.other(), Side::Y);
    if x.count == 0 || y.count == 0 {
        return None;
    }
    let step = x.count.div_ceil(BOXES);
    let (mut open, mut all) = (0.0, 0.0);
    for b in (0..x.count).step_by(step) {
        bounds.set_one(Side::X, &x.lo[b..], &x.hi[b..], x.stride);
        let mut found = vec![];
        for first in (0..y.count).step_by(LANES) {
            bounds.set_lanes(Side::Y, &y.lo[first..], &y.hi[first..], y.stride);
            bounds.run();
            let lanes = LANES.min(y.count - first);
            found.extend((0..lanes).map(|l| roots(job, &bounds, l)));
        }
        open += unsettled(job, &found);
        all += found.len() as f64;
    }
    Some(open / all)
}

fn roots(job: &Job, bounds: &Bounds<'_>, lane: usize) -> Vec<Span> {
    (0..job.low.formula.roots.len()).map(|r| bounds.root(r).at(lane)).collect()
}

/// How many of the boxes of y that a box of x meets are left open.
fn unsettled(job: &Job, found: &[Vec<Span>]) -> f64 {
    let near = job.near_root.zip(job.space.near.map(|r| r * r));
    let far = |spans: &Vec<Span>| near.is_some_and(|(root, limit)| spans[root].lo > limit);
    let cut = |spans: &Vec<Span>| near.is_some_and(|(root, limit)| spans[root].hi.is_nan() || spans[root].hi > limit);
    let worst: Vec<f64> = job.folds.iter().map(|f| worst(job, f, found)).collect();
    let open = |spans: &&Vec<Span>| {
        let unknown = spans.iter().any(|s| !s.is_known());
        let mut folds = job.folds.iter().zip(&worst);
        !far(spans) && (cut(spans) || unknown || !folds.all(|(fold, worst)| settled(fold, spans, *worst)))
    };
    found.iter().filter(open).count() as f64
}

fn settled(fold: &Fold, spans: &[Span], worst: f64) -> bool {
    match fold {
        Fold::Histogram(f) => one_cell(f, spans),
        Fold::Select(f) => !spans[f.root].may() || (spans[f.root].must() && f.value.is_none()),
        Fold::Nearest(f) => lowest(spans[f.root], f.largest) > worst,
        Fold::Rows(f) if f.op == RowOp::Count => spans[f.root].must() || !spans[f.root].may(),
        Fold::Rows(f) => lowest(spans[f.root], matches!(f.op, RowOp::Max | RowOp::Argmax)) > worst,
        _ => false,
    }
}

fn one_cell(f: &Histogram, spans: &[Span]) -> bool {
    let place = |axis: &zipfold_core::fold::Axis, v: f64| axis.place(v, f.closed);
    let one = f.axes.iter().all(|a| place(a, spans[a.root].lo) == place(a, spans[a.root].hi));
    let outside = f.axes.iter().any(|a| {
        let at = place(a, spans[a.root].lo);
        at == 0 || at > a.bins()
    });
    one && (outside || (f.weights.is_none() && !f.mean))
}

fn lowest(s: Span, largest: bool) -> f64 {
    if largest { -s.hi } else { s.lo }
}

/// The value that the boxes with the best bounds promise: enough of them to hold the neighbours that are sought.
fn worst(job: &Job, fold: &Fold, found: &[Vec<Span>]) -> f64 {
    let (root, largest, k) = match fold {
        Fold::Nearest(f) => (f.root, f.largest, f.k),
        Fold::Rows(f) => (f.root, matches!(f.op, RowOp::Max | RowOp::Argmax), 1),
        _ => return f64::NAN,
    };
    // Of `rows` rows in a box the k-th value lies about as far into its bounds as the root of k's share of
    // them: values of rows spread in some dimensions crowd at the far end.
    let rows = ROWS[1].min(job.space.m).max(1) as f64;
    let dims = Bounds::coordinates(&job.low, Side::Y).clamp(1, zipfold_core::space::curve::MOST_COORDINATES);
    let share = (k as f64 / rows).min(1.0).powf(1.0 / dims as f64);
    let promised = |s: Span| s.lo + (s.hi - s.lo) * share;
    let falling = |s: Span| if largest { Span { lo: -s.hi, hi: -s.lo } } else { s };
    let mut highest: Vec<f64> = found.iter().map(|s| promised(falling(s[root]))).collect();
    // A value that is unknown promises nothing.
    highest.iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = f64::INFINITY);
    highest.sort_by(f64::total_cmp);
    let share = k.div_ceil(ROWS[1].min(job.space.m).max(1)) as f64 * found.len() as f64 * ROWS[1] as f64;
    let boxes = (share / job.space.m.max(1) as f64).ceil() as usize;
    highest[boxes.clamp(1, highest.len()) - 1]
}

/// Boxes around sampled rows, as large as those of a pruned run would be.
fn boxes(job: &Job, table: &Table, side: Side) -> Boxes {
    let low = &job.low;
    let n = table.rows();
    let width = Bounds::coordinates(low, side);
    let mut hoister = low.hoister(side);
    let (mut values, mut row) = (vec![], vec![]);
    for at in picked(n) {
        hoister.load(table, at);
        hoisted_into(&hoister, low, side, &mut row);
        values.extend_from_slice(&row);
    }
    let sample = values.len() / width.max(1);
    let streams = low.streams[side as usize].len();
    let mut groups: Vec<Vec<usize>> = (0..streams).map(|s| (s * low.dim..(s + 1) * low.dim).collect()).collect();
    groups.extend((streams * low.dim..width).map(|c| vec![c]));
    let axes = width.clamp(1, zipfold_core::space::curve::MOST_COORDINATES);
    let order = order_of(&Coordinates { values: &values, width, groups });
    // As many rows of the sample as fill a box, at least a few; the box shrinks by the root of what they are too many.
    let wanted = ROWS[side as usize] as f64 * sample as f64 / n.max(1) as f64;
    let rows = (wanted.round() as usize).clamp(4, sample.max(4));
    let shrink = (wanted / rows as f64).min(1.0).powf(1.0 / axes as f64);
    let count = sample / rows.max(1);
    let stride = count + LANES;
    let mut out = Boxes { stride, count, lo: vec![f64::NAN; stride * width], hi: vec![f64::NAN; stride * width] };
    for b in 0..count {
        for c in 0..width {
            let mine = order[b * rows..(b + 1) * rows].iter().map(|r| values[*r as usize * width + c]);
            let ends = mine.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| {
                if v.is_nan() || lo.is_nan() { (f64::NAN, f64::NAN) } else { (lo.min(v), hi.max(v)) }
            });
            let (middle, half) = (0.5 * ends.0 + 0.5 * ends.1, 0.5 * (ends.1 - ends.0) * shrink);
            out.lo[c * stride + b] = middle - half;
            out.hi[c * stride + b] = middle + half;
        }
    }
    out
}

/// Up to [`SAMPLE`] rows of `n`, spread by the golden ratio, so that no order of the rows misleads.
fn picked(n: usize) -> Vec<usize> {
    if n <= SAMPLE {
        return (0..n).collect();
    }
    let place = |k: u64| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let mut rows: Vec<usize> = (0..SAMPLE as u64).map(|k| ((place(k) * n as u64) >> 32) as usize).collect();
    rows.dedup();
    rows
}
