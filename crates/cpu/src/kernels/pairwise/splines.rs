//! Mutual information of two rows by B-splines (Daub, Steuer, Selbig and Kloska 2004), over the
//! samples that both have.
//!
//! ```text
//! once    a value is in `order` bins, with the weights of a B-spline of that order (sum 1)
//! pair    S(a, b) = Σ over common samples  w(a; x) w(b; y);  S(a), S(b) its rows and columns
//!         I = ln n + (Σ S(a, b) ln S(a, b) − Σ S(a) ln S(a) − Σ S(b) ln S(b)) / n       in nats
//! ```
//!
//! The samples of x are visited by their first bin: the rows of p that they add to are then the
//! same for all of them, and stay in registers. y has a weight for every bin, 0 outside of its own,
//! so a sample adds `order` rows of vectors and no scatter.

use super::presence::{has, vary};
use super::{LANES, Line, Presence, Values, total};
use zipfold_core::number::log;
use zipfold_vector::simd::math::ln_in_place;
use zipfold_vector::simd::{Element, Isa, Kernel, Lanes};

/// Rows as weights of bins.
#[derive(Clone, Debug)]
pub struct SplineRows {
    /// For each sample, its weights in its own bins: `order` of them.
    own: Vec<f64>,
    /// For each sample, the weights in all bins, in lanes.
    all: Vec<[f64; LANES]>,
    /// The samples that are there, by row and first bin.
    visits: Vec<Visit>,
    /// Where the visits of a row begin.
    starts: Vec<usize>,
    presence: Presence,
    values: Vec<f64>,
    shape: Shape,
    samples: usize,
}

/// Bins and the order of splines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    bins: usize,
    order: usize,
}

impl Shape {
    /// Vectors of the weights of a sample.
    #[inline(always)]
    fn parts(self) -> usize {
        self.bins.div_ceil(LANES)
    }
}

/// A sample and its first bin.
#[derive(Clone, Copy, Debug)]
struct Visit {
    first: u32,
    sample: u32,
}

impl SplineRows {
    /// The highest order of splines.
    pub const HIGHEST: usize = 5;

    /// Rows of `samples` values each, NaN where missing, in `bins` bins by splines of `order`; bins
    /// span the values of a row.
    ///
    /// # Panics
    /// If `order` is 0 or above [`SplineRows::HIGHEST`] or `bins`.
    pub fn new(values: &[f64], samples: usize, bins: usize, order: usize) -> Self {
        assert!((1..=Self::HIGHEST.min(bins)).contains(&order));
        let shape = Shape { bins, order };
        let mut rows = SplineRows {
            own: vec![],
            all: vec![],
            visits: vec![],
            starts: vec![0],
            presence: Presence::new(values, samples),
            values: values.to_vec(),
            shape,
            samples,
        };
        for row in values.chunks(samples.max(1)) {
            rows.push(row);
        }
        rows
    }
    fn push(&mut self, row: &[f64]) {
        let Shape { bins, order } = self.shape;
        let present = || row.iter().copied().filter(|v| !v.is_nan());
        let least = present().fold(f64::INFINITY, f64::min);
        // Halves: the difference of the largest numbers is beyond them.
        let span = 0.5 * present().fold(f64::NEG_INFINITY, f64::max) - 0.5 * least;
        let last = (bins + 1 - order) as f64;
        let begin = self.visits.len();
        for (sample, v) in row.iter().enumerate() {
            let place = ((0.5 * v - 0.5 * least) / span * last).clamp(0.0, last);
            let first = (place as usize).min(bins - order);
            let there = !v.is_nan() && span > 0.0;
            let weights = match there {
                true => weights(place, first, self.shape),
                false => [0.0; SplineRows::HIGHEST],
            };
            self.own.extend(&weights[..order]);
            let at = self.all.len();
            self.all.resize(at + self.shape.parts(), [0.0; LANES]);
            for (k, w) in weights[..order].iter().enumerate() {
                self.all[at + (first + k) / LANES][(first + k) % LANES] = *w;
            }
            if there {
                self.visits.push(Visit {
                    first: first as u32,
                    sample: sample as u32,
                });
            }
        }
        self.visits[begin..].sort_by_key(|visit| visit.first);
        self.starts.push(self.visits.len());
    }
    /// Bytes that rows of this size take.
    pub fn bytes(rows: usize, samples: usize, bins: usize, order: usize) -> u64 {
        // Weights, a visit, the value.
        let weights = bins.next_multiple_of(LANES) + order + 2;
        (rows as u64) * (samples as u64) * 8 * weights as u64
    }
    /// Mutual information of a line of pairs, in nats. A pair has a value where both rows vary over
    /// the common samples.
    pub fn inform(&self, isa: Isa, line: Line, other: &SplineRows, out: Values<'_>) {
        let (first, row) = (line.others.start, line.row);
        let Shape { bins, .. } = self.shape;
        let mut sums = JointSums {
            joint: vec![[0.0; LANES]; bins * self.shape.parts()],
            columns: vec![[0.0; LANES]; self.shape.parts()],
            flat: vec![0.0; bins * bins + 2 * bins],
            common: Vec::with_capacity(self.samples),
        };
        let mut logs = vec![0.0; sums.flat.len()];
        for at in line.others {
            let place = at - first;
            let count = self.presence.common(row, &other.presence, at);
            out.counts[place] = count;
            out.values[place] = f64::NAN;
            if self.varies(row, other, at) && other.varies(at, self, row) {
                self.joint(isa, [row, at], other, &mut sums);
                out.values[place] = information(isa, &sums.flat, bins, count, &mut logs);
            }
        }
    }
    /// Whether `row` varies over the samples that row `at` of `other` has too.
    fn varies(&self, row: usize, other: &SplineRows, at: usize) -> bool {
        let values = &self.values[row * self.samples..][..self.samples];
        vary(values, self.presence.row(row), other.presence.row(at))
    }
    /// Sums of products of weights.
    fn joint(&self, isa: Isa, pair: [usize; 2], other: &SplineRows, out: &mut JointSums) {
        macro_rules! order {
            ($($order:literal),+) => {
                match self.shape.order {
                    $($order => f64::dispatch(isa, Joint::<$order> { x: self, y: other, pair, out }),)+
                    _ => {}
                }
            };
        }
        order!(1, 2, 3, 4, 5);
    }
}

/// Sums of products of weights, over the common samples of a pair.
struct JointSums {
    /// Rows of bins of x, in lanes of bins of y.
    joint: Vec<[f64; LANES]>,
    columns: Vec<[f64; LANES]>,
    /// The same without gaps: by bin of x and y, by bin of x, by bin of y.
    flat: Vec<f64>,
    /// The visits of common samples.
    common: Vec<Visit>,
}

/// The weights of a place in its bins, by the recursion of Cox and de Boor over knots that repeat
/// at both ends.
fn weights(place: f64, first: usize, shape: Shape) -> [f64; SplineRows::HIGHEST] {
    let Shape { bins, order } = shape;
    let knot = |at: usize| (at as f64 - (order as f64 - 1.0)).clamp(0.0, (bins + 1 - order) as f64);
    // `at`: the knot at or before the place.
    let at = first + order - 1;
    let mut out = [0.0; SplineRows::HIGHEST];
    out[0] = 1.0;
    for degree in 1..order {
        let mut carried = 0.0;
        for (k, out) in out.iter_mut().enumerate().take(degree) {
            let (high, low) = (knot(at + 1 + k), knot(at + 1 + k - degree));
            let part = *out / (high - low);
            *out = carried + (high - place) * part;
            carried = (place - low) * part;
        }
        out[degree] = carried;
    }
    out
}

struct Joint<'a, const ORDER: usize> {
    x: &'a SplineRows,
    y: &'a SplineRows,
    pair: [usize; 2],
    out: &'a mut JointSums,
}

impl<const ORDER: usize> Kernel<f64> for Joint<'_, ORDER> {
    type Output = ();
    #[inline(always)]
    fn run<S: Lanes<f64>>(self, _: S) {
        let (x, y, [row, other]) = (self.x, self.y, self.pair);
        let parts = x.shape.parts();
        self.out.joint.fill([0.0; LANES]);
        let JointSums { joint, common, .. } = self.out;
        let there = y.presence.row(other);
        common.clear();
        for visit in &x.visits[x.starts[row]..x.starts[row + 1]] {
            if has(there, visit.sample as usize) {
                common.push(*visit);
            }
        }
        let own = &x.own[row * x.samples * ORDER..][..x.samples * ORDER];
        let all = &y.all[other * y.samples * parts..][..y.samples * parts];
        for group in common.chunk_by(|a, b| a.first == b.first) {
            let rows = &mut joint[group[0].first as usize * parts..];
            let mut part = 0;
            while part + 2 <= parts {
                add_group::<ORDER, 2>(group, own, (all, parts, part), rows);
                part += 2;
            }
            if part < parts {
                add_group::<ORDER, 1>(group, own, (all, parts, part), rows);
            }
        }
        flatten(self.out, x.shape);
    }
}

/// Adds the products of the weights of some samples, all with the same bins of x, to the rows of
/// these bins: `WIDE` vectors of bins of y from `part` of `parts` on.
#[inline(always)]
fn add_group<const ORDER: usize, const WIDE: usize>(
    group: &[Visit],
    own: &[f64],
    (all, parts, part): (&[[f64; LANES]], usize, usize),
    rows: &mut [[f64; LANES]],
) {
    let mut sums = [[[0.0f64; LANES]; WIDE]; ORDER];
    for visit in group {
        let sample = visit.sample as usize;
        let weights = &all[sample * parts + part..][..WIDE];
        let own = &own[sample * ORDER..][..ORDER];
        for (own, sums) in own.iter().zip(&mut sums) {
            for (weights, sums) in weights.iter().zip(sums) {
                for lane in 0..LANES {
                    sums[lane] = own.mul_add(weights[lane], sums[lane]);
                }
            }
        }
    }
    for (k, sums) in sums.iter().enumerate() {
        for (wide, sums) in sums.iter().enumerate() {
            let into = &mut rows[k * parts + part + wide];
            for lane in 0..LANES {
                into[lane] += sums[lane];
            }
        }
    }
}

/// Sums by bin of x and by bin of y, and all sums without gaps.
#[inline(always)]
fn flatten(sums: &mut JointSums, Shape { bins, order: _ }: Shape) {
    let parts = bins.div_ceil(LANES);
    let (joint, margins) = sums.flat.split_at_mut(bins * bins);
    let (rows, columns) = margins.split_at_mut(bins);
    sums.columns.fill([0.0; LANES]);
    for (row, line) in sums.joint.chunks_exact(parts).enumerate() {
        let mut sum = [0.0; LANES];
        for (s, column) in line.iter().zip(&mut sums.columns) {
            for lane in 0..LANES {
                sum[lane] += s[lane];
                column[lane] += s[lane];
            }
        }
        rows[row] = total(&sum);
        joint[row * bins..][..bins].copy_from_slice(&line.as_flattened()[..bins]);
    }
    columns.copy_from_slice(&sums.columns.as_flattened()[..bins]);
}

/// The mutual information of sums S over `count` samples: ln n + (Σ S ln S of pairs of bins − those
/// of the bins of x and of y) / n.
fn information(isa: Isa, flat: &[f64], bins: usize, count: u32, logs: &mut [f64]) -> f64 {
    let positive = logs.iter_mut().zip(flat);
    positive.for_each(|(log, s)| *log = s.max(f64::MIN_POSITIVE));
    ln_in_place(isa, logs);
    let (pairs, margins) = flat.split_at(bins * bins);
    let (log_pairs, log_margins) = logs.split_at(bins * bins);
    let n = f64::from(count);
    let value = log(n) + (products(pairs, log_pairs) - products(margins, log_margins)) / n;
    // Rounding may leave a little less than none.
    value.max(0.0)
}

/// Σ ab, in lanes.
fn products(a: &[f64], b: &[f64]) -> f64 {
    let ((parts, rest), (others, last)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in parts.iter().zip(others) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    for (sum, (a, b)) in sums.iter_mut().zip(rest.iter().zip(last)) {
        *sum += a * b;
    }
    total(&sums)
}
