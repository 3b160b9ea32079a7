//! Estimates the share of pairs that bounds would leave to evaluate, by bounding a sample of boxes.
//!
//! The real boxes exist only after sorting all rows, which is what the estimate should help to
//! avoid. So up to 1024 rows are picked, sorted along the curve, and grouped to boxes. A box around
//! rows of a sample is larger than one around as many consecutive rows of all; it is shrunk to the
//! size that a real box would have, from the spacing of the sample. Then a few dozen boxes of x are
//! bounded against all of y, with the same interval arithmetic and the same rules as a real run.
//!
//! The estimate decides speed only, so it may be wrong; it must be cheap (some thousand bounds) and
//! reproducible (no random numbers).

use super::kernel::Kernel;
use crate::search::{Search, SearchQuestion};
use zipfold_core::fold::{Best, Extremes, Fold, Known};
use zipfold_core::pair::interval::Span;
use zipfold_core::pair::interval_bounds::{Bounds, LANES, hoisted_into};
use zipfold_core::pair::pattern::Norm;
use zipfold_core::space::curve::{Coordinates, order_of};
use zipfold_core::{Job, Side, Table};

/// Rows of a sample. The time to sort and bound them is part of [`super::WORTH_CYCLES`].
const SAMPLE: usize = 1024;
/// Boxes of x that are bounded against all of y, and rows of x whose best values are looked for.
const BOXES: usize = 48;
const QUERIES: usize = 24;
/// The fewest rows of a sample that make a box.
const FEWEST: usize = 4;
/// Values of a sample from which the best of all rows are extrapolated.
const TAIL: usize = 16;

/// The least values of all pairs of two samples from which rarer ones are extrapolated: their power is
/// known to 2 %. And the values that tell a number by themselves.
const TAIL_OF_PAIRS: usize = 4096;
const ENOUGH: usize = 64;

/// Boxes of one side: hoisted value c of box b lies between `lo[c·stride + b]` and `hi[c·stride +
/// b]`.
///
/// Number by number, as real boxes are stored, so that the same bounds read them. `stride` has
/// [`LANES`] more places than boxes: the last group of lanes reads beyond the last box.
struct Boxes {
    stride: usize,
    count: usize,
    lo: Vec<f64>,
    hi: Vec<f64>,
}

/// Returns the rows in a box of x and of y of the kernel that will answer. A search bounds single
/// rows of x.
fn sizes(kernel: Kernel) -> [usize; 2] {
    match kernel {
        Kernel::Points => [16, 32],
        Kernel::Nearest | Kernel::Within | Kernel::Ends => [1, 32],
        Kernel::General => [1, 128],
    }
}

/// Returns the share of pairs that a pruned run of `job` would evaluate; `None` if its formula has
/// no bounds.
pub(super) fn evaluated(job: &Job, kernel: Kernel) -> Option<f64> {
    let mut bounds = Bounds::new(&job.low, job.periodic_box.as_ref())?;
    let [of_x, of_y] = sizes(kernel);
    // All boxes of y, a few of x: the product decides the cost.
    let y = boxes(job, job.other(), Side::Y, of_y);
    if job.space.n == 0 || y.count == 0 {
        return None;
    }
    // For the best of a row it matters how good the best are; other folds are settled by the boxes
    // alone.
    let best: Option<Vec<Best>> = job.folds.iter().map(Fold::best).collect();
    if let (Some(best), None) = (best.filter(|best| !best.is_empty()), job.cutoff_root) {
        return Some(share_of_best(&best, job, &mut bounds, &y, of_y));
    }
    if let ([Fold::Extremes(f)], None) = (job.folds.as_slice(), job.cutoff_root) {
        return Some(ends_share(job, f, &mut bounds, &y));
    }
    let x = boxes(job, &job.x, Side::X, of_x);
    share_of_boxes(job, &mut bounds, &x, &y)
}

/// Returns the share of pairs that bounds would leave open between boxes of `of_x` rows of x and
/// `of_y` rows of y; `None` if the formula has no bounds.
///
/// A sample of many rows has far fewer boxes than the rows. Against itself a box of one table is
/// always open, which says little of the many real boxes in its place, so it does not count.
pub(crate) fn open_share(job: &Job, [of_x, of_y]: [usize; 2]) -> Option<f64> {
    let mut bounds = Bounds::new(&job.low, job.periodic_box.as_ref())?;
    let y = boxes(job, job.other(), Side::Y, of_y);
    let x = boxes(job, &job.x, Side::X, of_x);
    if x.count == 0 || y.count == 0 {
        return None;
    }
    let best = match job.folds.as_slice() {
        [fold] => fold.best(),
        _ => None,
    };
    let others = points(job, job.other(), Side::Y);
    let same = job.y.is_none() && x.count == y.count && of_x < job.space.n;
    let (mut open, mut all) = (0.0, 0.0);
    for b in (0..x.count).step_by(x.count.div_ceil(BOXES)) {
        let left = match best {
            Some(best) => best_left(best, job, &mut bounds, [&x, &y, &others], b),
            None => {
                bounds.set_one(Side::X, &x.lo[b..], &x.hi[b..], x.stride);
                let found = against(&mut bounds, &y, |bounds, lane| roots(job, bounds, lane));
                found.iter().map(|spans| is_open(job, spans)).collect()
            }
        };
        let counts = |(at, _): &(usize, &bool)| !(same && *at == b);
        open += left
            .iter()
            .enumerate()
            .filter(counts)
            .filter(|(_, open)| **open)
            .count() as f64;
        all += left.iter().enumerate().filter(counts).count() as f64;
    }
    // A group meets its own panels, and those next to them.
    let own = (of_x + 2 * of_y) as f64 / job.space.m.max(1) as f64;
    Some(
        if all > 0.0 {
            (open / all).max(own)
        } else {
            1.0
        }
        .min(1.0),
    )
}

/// Returns the best value that the bounds of a lane allow, negated if the largest are wanted.
fn best_bound(wanted: Best, bounds: &Bounds<'_>, lane: usize) -> f64 {
    let root = bounds.root(wanted.root).lane(lane);
    root.falling(wanted.largest).lo
}

/// How much further the worst neighbour of a group is than that of the row in its middle: an
/// estimate.
const WORST_OF_GROUP: f64 = 1.7;

/// Returns which boxes of y may hold a value better than the worst that some row of box `at` of x
/// will keep.
fn best_left(
    wanted: Best,
    job: &Job,
    bounds: &mut Bounds<'_>,
    [x, y, others]: [&Boxes; 3],
    at: usize,
) -> Vec<bool> {
    let best = |bounds: &Bounds<'_>, lane: usize| best_bound(wanted, bounds, lane);
    let column = |side: &[f64]| side[at..].iter().step_by(x.stride).copied().collect();
    let (lo, hi): (Vec<f64>, Vec<f64>) = (column(&x.lo), column(&x.hi));
    let middle: Vec<f64> = lo.iter().zip(&hi).map(|(l, h)| 0.5 * l + 0.5 * h).collect();
    bounds.set_one(Side::X, &middle, &middle, 1);
    let worst = foretold(against(bounds, others, best), wanted.k, job.space.m);
    let worst = worst + (WORST_OF_GROUP - 1.0) * worst.abs();
    bounds.set_one(Side::X, &x.lo[at..], &x.hi[at..], x.stride);
    let least = against(bounds, y, best);
    least.iter().map(|v| v.is_nan() || *v <= worst).collect()
}

/// Returns the share of pairs that the boxes of x leave open against all of y.
fn share_of_boxes(job: &Job, bounds: &mut Bounds<'_>, x: &Boxes, y: &Boxes) -> Option<f64> {
    // Boxes evenly spaced along the curve stand in for all.
    let step = x.count.div_ceil(BOXES).max(1);
    let (mut open, mut all) = (0.0, 0.0);
    for b in (0..x.count).step_by(step) {
        bounds.set_one(Side::X, &x.lo[b..], &x.hi[b..], x.stride);
        let found = against(bounds, y, |bounds, lane| roots(job, bounds, lane));
        // Boxes count alike, since all hold about as many rows.
        open += found.iter().filter(|spans| is_open(job, spans)).count() as f64;
        all += found.len() as f64;
    }
    (all > 0.0).then(|| open / all)
}

/// Bounds the current box of x against every box of y and collects what `find` reads.
fn against<'l, V>(
    bounds: &mut Bounds<'l>,
    y: &Boxes,
    find: impl Fn(&Bounds<'l>, usize) -> V,
) -> Vec<V> {
    let mut found = Vec::with_capacity(y.count);
    for first in (0..y.count).step_by(LANES) {
        bounds.set_lanes(Side::Y, &y.lo[first..], &y.hi[first..], y.stride);
        bounds.run();
        // Lanes beyond the last box hold NaN and are not read.
        found.extend((0..LANES.min(y.count - first)).map(|l| find(bounds, l)));
    }
    found
}

/// Returns the share of boxes of y that may hold a value better than the worst that a row of x will
/// keep, for one of the folds that want the best.
///
/// For a few rows: their values to the sampled rows give the k-th best of all rows by
/// extrapolation; then boxes whose lower bound exceeds it would be pruned.
fn share_of_best(
    wanted: &[Best],
    job: &Job,
    bounds: &mut Bounds<'_>,
    y: &Boxes,
    rows: usize,
) -> f64 {
    let (x, others) = (
        points(job, &job.x, Side::X),
        points(job, job.other(), Side::Y),
    );
    // The best of all pairs: as if every row had its share of them.
    let k = |wanted: &Best| match wanted.by_row {
        true => wanted.k,
        false => (2 * wanted.k).div_ceil(job.space.n.max(1)),
    };
    let best = |bounds: &Bounds<'_>, lane: usize| -> Vec<f64> {
        let of = |wanted: &Best| best_bound(*wanted, bounds, lane);
        wanted.iter().map(of).collect()
    };
    let (mut open, mut all) = (0usize, 0usize);
    for at in (0..x.count).step_by(x.count.div_ceil(QUERIES)) {
        bounds.set_one(Side::X, &x.lo[at..], &x.hi[at..], x.stride);
        // The values of this row to all sampled rows, as bounds of points.
        let mut values = against(bounds, &others, best);
        if job.y.is_none() {
            // The row itself.
            values.swap_remove(at);
        }
        let worst = |(fold, wanted): (usize, &Best)| {
            let values = values.iter().map(|values| values[fold]);
            foretold(values.collect(), k(wanted), job.space.m)
        };
        let worst: Vec<f64> = wanted.iter().enumerate().map(worst).collect();
        // The best that any pair with each box could have. A box without a bound is always evaluated.
        let least = against(bounds, y, best);
        let may = |least: &&Vec<f64>| {
            let mut folds = least.iter().zip(&worst);
            folds.any(|(least, worst)| least.is_nan() || least <= worst)
        };
        open += least.iter().filter(may).count();
        all += least.len();
    }
    // The boxes that hold the neighbours are evaluated in any case.
    let k = wanted.iter().map(k).max().unwrap_or(0);
    let least = (k.div_ceil(rows) * rows) as f64 / job.space.m.max(1) as f64;
    (open as f64 / all.max(1) as f64).max(least).min(1.0)
}

/// Returns the share of boxes of y that may hold a value beyond the extremes of the sampled pairs.
///
/// The real run begins without extremes and finds them early, so most boxes meet ends like these.
fn ends_share(job: &Job, fold: &Extremes, bounds: &mut Bounds<'_>, y: &Boxes) -> f64 {
    let ends = ends_of_sample(job, &fold.roots, bounds);
    let x = points(job, &job.x, Side::X);
    let beyond = |spans: &&Vec<Span>| {
        let mut roots = ends
            .iter()
            .zip(&fold.roots)
            .map(|(ends, root)| (ends, spans[*root]));
        roots.any(|([least, largest], s)| !s.is_known() || s.lo < *least || s.hi > *largest)
    };
    let (mut open, mut all) = (0, 0);
    for at in (0..x.count).step_by(x.count.div_ceil(QUERIES)) {
        bounds.set_one(Side::X, &x.lo[at..], &x.hi[at..], x.stride);
        let found = against(bounds, y, |bounds, lane| roots(job, bounds, lane));
        open += found.iter().filter(beyond).count();
        all += found.len();
    }
    open as f64 / all.max(1) as f64
}

/// Returns the least and the largest value of some roots over pairs of a sample; NaN if there are
/// none. `explain` uses it as the range of a histogram without one, since it must not run the pass
/// that finds the real one.
pub fn sampled_ends(job: &Job, roots: &[usize]) -> Vec<[f64; 2]> {
    match Bounds::new(&job.low, job.periodic_box.as_ref()) {
        Some(mut bounds) if job.space.n > 0 && job.space.m > 0 => {
            ends_of_sample(job, roots, &mut bounds)
        }
        _ => vec![[f64::NAN; 2]; roots.len()],
    }
}

/// Finds the extremes over sampled rows. A row is a box of size zero, whose bounds are its value.
fn ends_of_sample(job: &Job, wanted: &[usize], bounds: &mut Bounds<'_>) -> Vec<[f64; 2]> {
    let (x, others) = (
        points(job, &job.x, Side::X),
        points(job, job.other(), Side::Y),
    );
    let mut ends = vec![[f64::INFINITY, f64::NEG_INFINITY]; wanted.len()];
    for at in (0..x.count).step_by(x.count.div_ceil(QUERIES)) {
        bounds.set_one(Side::X, &x.lo[at..], &x.hi[at..], x.stride);
        let found = against(bounds, &others, |bounds, lane| roots(job, bounds, lane));
        // A row does not pair with itself, and its distance of 0 would be the least.
        let own = |other: usize| job.y.is_none() && other == at;
        for spans in found
            .iter()
            .enumerate()
            .filter(|(other, _)| !own(*other))
            .map(|(_, spans)| spans)
        {
            for ([least, largest], root) in ends.iter_mut().zip(wanted) {
                (*least, *largest) = (least.min(spans[*root].lo), largest.max(spans[*root].hi));
            }
        }
    }
    ends
}

/// Returns the k-th best of `all` values of which `values` are a sample.
///
/// If the sample is dense enough, it is a value of the sample. Otherwise the k-th best of all is
/// better than any sampled one: the best values of a sample fall as a power of their rank (Hill
/// 1975), for distances in d dimensions with the exponent 1/d, and the same power extrapolates to
/// rank k·(sample/all).
fn foretold(mut values: Vec<f64>, k: usize, all: usize) -> f64 {
    values
        .iter_mut()
        .filter(|v| v.is_nan())
        .for_each(|v| *v = f64::INFINITY);
    values.sort_by(f64::total_cmp);
    // The rank in the sample that corresponds to rank k of all: often far below 1.
    let rank = k as f64 * values.len() as f64 / all.max(1) as f64;
    let tail = TAIL.min(values.len().saturating_sub(1));
    let first = values.first().copied().unwrap_or(f64::INFINITY);
    // The power law needs positive values and a tail of some length.
    if rank >= 1.0 || tail < 2 || first <= 0.0 || !values[tail].is_finite() {
        return values
            .get((rank.ceil() as usize).max(1) - 1)
            .copied()
            .unwrap_or(f64::INFINITY);
    }
    // The best values of a sample fall as a power of their rank; so do those of all rows.
    values[tail] * (rank / (tail + 1) as f64).powf(power_of(&values, tail))
}

/// Returns how many pairs of `job` lie within the limit of its search; `None` where it does not search
/// within a limit.
///
/// A sample of x is held against one of y. Where fewer of these pairs lie within the limit than
/// tell a number, the power by which the least values of all pairs fall with their rank reaches on to the
/// limit: the correlation dimension (Grassberger & Procaccia 1983).
pub(crate) fn pairs_within(job: &Job) -> Option<f64> {
    let search = Search::for_job(job)?;
    let SearchQuestion::Within(limit) = search.question else {
        return None;
    };
    let (x, y) = (
        points(job, &job.x, Side::X),
        points(job, job.other(), Side::Y),
    );
    let mut told = LeastValues {
        limit,
        seen: 0,
        within: 0,
        least: vec![],
        bound: f64::INFINITY,
    };
    let mut line = vec![0.0; y.count];
    for at in 0..x.count {
        norms(&search, (&x, at), &y, &mut line);
        if job.y.is_none() {
            // The row itself.
            line[at] = f64::NAN;
        }
        told.take(&line);
    }
    Some(told.share() * job.space.size().ok()? as f64)
}

/// Fills `line` with the norms of the differences of row `at` of x and all rows of y.
fn norms(search: &Search, (x, at): (&Boxes, usize), y: &Boxes, line: &mut [f64]) {
    line.fill(0.0);
    for term in &search.terms {
        let [of_x, of_y] = term.coordinates;
        let own = x.lo[of_x * x.stride + at];
        let others = &y.lo[of_y * y.stride..][..line.len()];
        let difference = |other: &f64| {
            let d = own - other;
            let image = term.period.map_or(0.0, |edge| edge * (d / edge).round());
            (d - image).abs()
        };
        for (sum, d) in line.iter_mut().zip(others.iter().map(difference)) {
            *sum = match search.norm {
                Norm::Squares => *sum + d * d,
                Norm::Magnitudes => *sum + d,
                Norm::Largest if *sum > d || sum.is_nan() => *sum,
                Norm::Largest => d,
            };
        }
    }
}

/// The least values of a sample of pairs, and how many there were in all and up to a limit.
struct LeastValues {
    limit: f64,
    seen: usize,
    within: usize,
    least: Vec<f64>,
    /// Greater ones are not among the least.
    bound: f64,
}

impl LeastValues {
    fn take(&mut self, values: &[f64]) {
        for value in values.iter().filter(|value| !value.is_nan()) {
            self.seen += 1;
            self.within += usize::from(*value <= self.limit);
            if *value < self.bound {
                self.least.push(*value);
            }
        }
        if self.least.len() > 4 * TAIL_OF_PAIRS {
            self.least
                .select_nth_unstable_by(TAIL_OF_PAIRS, f64::total_cmp);
            self.least.truncate(TAIL_OF_PAIRS + 1);
            self.bound = self.least[TAIL_OF_PAIRS];
        }
    }
    /// The share of the values up to the limit: by the power law of [`foretold`] where too few are.
    fn share(mut self) -> f64 {
        let tail = TAIL_OF_PAIRS.min(self.least.len().saturating_sub(1));
        let counted = self.within as f64;
        let of_all = self.seen.max(1) as f64;
        if self.within >= ENOUGH || tail < ENOUGH || self.limit <= 0.0 {
            return counted / of_all;
        }
        self.least.sort_unstable_by(f64::total_cmp);
        let (least, last) = (self.least[0], self.least[tail]);
        let power = power_of(&self.least, tail);
        let known = least > 0.0 && last.is_finite() && power > 0.0;
        let rank = match known {
            true => (tail + 1) as f64 * (self.limit / last).min(1.0).powf(1.0 / power),
            false => counted,
        };
        rank / of_all
    }
}

/// Returns the power by which the least of sorted values grow with their rank (Hill 1975).
fn power_of(values: &[f64], tail: usize) -> f64 {
    let logarithms = values[..tail].iter().map(|v| (values[tail] / v).ln());
    logarithms.sum::<f64>() / tail as f64
}

/// Returns the bounds of all roots in one lane.
fn roots(job: &Job, bounds: &Bounds<'_>, lane: usize) -> Vec<Span> {
    (0..job.low.formula.roots.len())
        .map(|r| bounds.root(r).lane(lane))
        .collect()
}

/// Returns whether a box of y is left open: neither beyond the cut-off, nor settled for every fold.
///
/// It asks the folds the same questions as a real run does, so the two rules cannot differ.
fn is_open(job: &Job, spans: &[Span]) -> bool {
    let cutoff = job.cutoff_root.zip(job.space.cutoff_squared());
    let far = cutoff.is_some_and(|(root, limit)| spans[root].lo > limit);
    // Boxes that the cut-off crosses must be evaluated, since some of their pairs are beyond it.
    let cut = cutoff.is_some_and(|(root, limit)| spans[root].hi.is_nan() || spans[root].hi > limit);
    let known = spans.iter().all(|s| s.is_known());
    // A box is done if every fold knows its contribution without the values.
    let done = |fold: &Fold| fold.settles(|root| spans[root], known, &Nothing).is_some();
    !far && (cut || !job.folds.iter().all(done))
}

/// Nothing is found yet: with other folds next to them, the best of a row are looked for
/// everywhere.
struct Nothing;

impl Known for Nothing {
    fn worst(&self) -> f64 {
        f64::NAN
    }
    fn ends(&self, _: usize) -> [f64; 2] {
        [f64::INFINITY, f64::NEG_INFINITY]
    }
}

/// Returns the hoisted values of sampled rows, one row after another, and how many a row has.
fn sampled(job: &Job, table: &Table, side: Side) -> (Vec<f64>, usize) {
    let mut hoister = job.low.hoister(side);
    let (mut values, mut row) = (vec![], vec![]);
    for at in picked(table.rows()) {
        hoister.load(table, at);
        hoisted_into(&hoister, &job.low, side, &mut row);
        values.extend_from_slice(&row);
    }
    (values, Bounds::coordinates(&job.low, side))
}

/// Returns sampled rows as boxes of size zero.
fn points(job: &Job, table: &Table, side: Side) -> Boxes {
    let (values, width) = sampled(job, table, side);
    let count = values.len() / width.max(1);
    let stride = count + LANES;
    let mut lo = vec![f64::NAN; stride * width];
    values
        .iter()
        .enumerate()
        .for_each(|(at, v)| lo[at % width * stride + at / width] = *v);
    Boxes {
        stride,
        count,
        hi: lo.clone(),
        lo,
    }
}

/// Returns the hoisted values that belong together. The components of a vector share a scale;
/// scalars have their own, as in a real run.
fn groups(job: &Job, side: Side, width: usize) -> Vec<Vec<usize>> {
    let low = &job.low;
    let row_vectors = low.row_vectors[side as usize].len();
    let vectors = (0..row_vectors).map(|s| (s * low.dim..(s + 1) * low.dim).collect());
    vectors
        .chain((row_vectors * low.dim..width).map(|c| vec![c]))
        .collect()
}

/// As many rows of a sample of `n` rows as fill a box of `of` rows, at least a few, and by what
/// their box is larger: it shrinks by the root of what they are too many, and grows as the hull of
/// more rows reaches further into their part of the space.
fn sampled_rows(of: usize, sample: usize, n: usize, axes: usize) -> (usize, f64) {
    let wanted = of as f64 * sample as f64 / n.max(1) as f64;
    let rows = (wanted.round() as usize).clamp(FEWEST, sample.max(FEWEST));
    let reach = |rows: f64| (rows - 1.0) / (rows + 1.0);
    let hull = reach(of.min(n.max(2)) as f64) / reach(rows as f64);
    let shrink = (wanted / rows as f64).powf(1.0 / axes as f64) * hull.max(1.0);
    // A sample that is dense enough has boxes of the right size already.
    (rows, if wanted < rows as f64 { shrink } else { 1.0 })
}

/// Returns the least and the largest of some values; NaN if one of them is, since a box with a NaN
/// has no bounds.
fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| {
        if v.is_nan() || lo.is_nan() {
            (f64::NAN, f64::NAN)
        } else {
            (lo.min(v), hi.max(v))
        }
    })
}

/// Returns boxes around sampled rows, as large as those around `of` rows of a real run.
///
/// A box of `rows` sampled rows covers the space of rows·n/sample real ones. Its sides are shrunk
/// by the d-th root of the ratio of rows, d being the number of axes of the curve, and corrected
/// for the hull: k random points in an interval span (k − 1)/(k + 1) of it.
fn boxes(job: &Job, table: &Table, side: Side, of: usize) -> Boxes {
    if of == 1 {
        return points(job, table, side);
    }
    let (values, width) = sampled(job, table, side);
    let sample = values.len() / width.max(1);
    let order = order_of(&Coordinates {
        values: &values,
        width,
        groups: groups(job, side, width),
    });
    let axes = width.clamp(1, zipfold_core::space::curve::MOST_COORDINATES);
    let (rows, shrink) = sampled_rows(of, sample, table.rows(), axes);
    let count = sample / rows.max(1);
    let stride = count + LANES;
    let mut out = Boxes {
        stride,
        count,
        lo: vec![f64::NAN; stride * width],
        hi: vec![f64::NAN; stride * width],
    };
    // Consecutive rows of the sample, their extremes, shrunk around the middle.
    for b in 0..count {
        for c in 0..width {
            let mine = order[b * rows..(b + 1) * rows].iter();
            let (lo, hi) = ends(mine.map(|r| values[*r as usize * width + c]));
            let (middle, half) = (0.5 * lo + 0.5 * hi, 0.5 * (hi - lo) * shrink);
            out.lo[c * stride + b] = middle - half;
            out.hi[c * stride + b] = middle + half;
        }
    }
    out
}

/// Returns up to 1024 of `n` rows, spread by multiples of the golden ratio: evenly, and in no
/// simple relation to an order or a period of the rows.
pub(super) fn picked(n: usize) -> Vec<usize> {
    if n <= SAMPLE {
        return (0..n).collect();
    }
    // Multiples of 2⁶⁴/φ modulo 2⁶⁴ are spread evenly at any length (Knuth's multiplicative
    // hashing); the high bits are scaled to n.
    let place = |k: u64| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let mut rows: Vec<usize> = (0..SAMPLE as u64)
        .map(|k| ((place(k) * n as u64) >> 32) as usize)
        .collect();
    rows.dedup();
    rows
}
