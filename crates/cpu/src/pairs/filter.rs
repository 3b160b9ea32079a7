//! Family *filter*: reductions of long rows in single precision decide about most pairs; the others
//! are computed in double precision, with the bits of the reference, so that the answer is that of
//! double precision.
//!
//! The bound: a reduction of at most s terms that are summed in single precision, each of at most r
//! roundings, errs by at most (s + r) · 2⁻²⁴ times the sum of magnitudes of its terms (Higham,
//! Accuracy and Stability, section 3.1), which for inner products is at most ‖x‖‖y‖. Rows beyond
//! 10¹⁰ in magnitude, or not finite, are not filtered.
//!
//! ```text
//! load:  hoist x and y in f64, pack them in f32; largest magnitudes, norms for inner products
//! for each tile, for each block of 128 × 128 pairs
//!     z = reductions of the block in f32                                   kernels/dense.rs
//!     for each row
//!         limit of z  = limit of the value, carried through the inverse of the formula
//!         wide, narrow = limit ± error, rounded outward, inward
//!         open, sure  = bits of the z within                               kernels/filter.rs
//!     for each row with such bits
//!         exact z in f64 for the strips of columns that need a value
//!         value = the rest of the formula over z
//!         keep the pairs that are sure or whose value meets the limit
//!         the fold absorbs them; k-NN, min: its worst value is the new limit of the row
//! ```
//!
//! Why this shape: single precision has twice the lanes and half the memory traffic, and few pairs
//! are near the limit. The limit goes through the formula once a row, so a decision is one
//! comparison of z and costs no root or division a pair.

use super::reductions;
use super::rows::Rows;
use crate::kernels::dense::{DenseReduction, SLICE, reduce_block};
use crate::kernels::filter::{FilteredBits, STRIP, exact, meets};
use crate::kernels::panels::{PackedA, PackedB};
use rayon::prelude::*;
use std::ops::Range;
use zipfold_core::fold::{BLOCK, Fold, Join, Pairs, Scattered, State, Tally};
use zipfold_core::pair::pattern::Reduction;
use zipfold_core::{Job, Result, Side};
use zipfold_plan::executor::Declined;
use zipfold_plan::executor::{Executor, Folded, Sink, Stop};
use zipfold_plan::filter::{Form, Limit, Question};
use zipfold_plan::{Order, Plan, Tile, tiles};
use zipfold_vector::simd::Isa;

/// Beyond this a sum of powers of three of differences might leave single precision.
const LARGEST: f64 = 1e10;
const TOO_LARGE: Declined = "a number is beyond 1e10, or not finite";
/// Branches of a choice farther apart than this leave too many pairs open.
const WIDE: f64 = 1e-6;
/// Half a unit in the last place of single precision, and of its smallest numbers.
const ROUNDING: f64 = 1.0 / (1u64 << 24) as f64;
const TINY: f64 = 1e-44;

/// A job ready to be filtered.
#[derive(Debug)]
pub(super) struct Filtered<'j> {
    job: &'j Job,
    form: Form,
    op: DenseReduction,
    isa: Isa,
    order: Order,
    packed: PackedSides,
    x: Rows<f64>,
    y: Rows<f64>,
    /// Norms of the rows of x, and the largest of each block of y, for inner products.
    norms: Option<[Vec<f64>; 2]>,
    /// Relative and absolute error of a reduction.
    error: (f64, f64),
}

struct PackedSides(PackedA<f32>, PackedB<f32>);

impl std::fmt::Debug for PackedSides {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Packed({} × {})", self.0.rows(), self.1.rows())
    }
}

/// The form over the numbers that its condition may take of the rows of x.
fn over_rows(form: &Form, x: &Rows<f64>) -> std::result::Result<Form, Declined> {
    let numbers = form
        .choice()
        .into_iter()
        .flat_map(|choice| (0..x.count()).map(move |row| x.attr(choice.numbers[0], row)));
    let form = form.clone().over(numbers);
    if form.gap.is_nan() || form.gap > WIDE {
        return Err("the branches of its condition are too far apart");
    }
    Ok(form)
}

impl<'j> Filtered<'j> {
    /// Hoists and packs the rows of `job`.
    pub(super) fn load(
        job: &'j Job,
        plan: &Plan,
        form: &Form,
    ) -> std::result::Result<Self, Declined> {
        let low = &job.low;
        let [sx, sy] = form.reduction.row_vectors;
        let x = Rows::<f64>::by_row(low, &job.x, Side::X, true);
        let form = over_rows(form, &x)?;
        let y = Rows::<f64>::by_strip(low, job.other(), STRIP, None);
        let strips = job.other().rows().div_ceil(STRIP);
        let most_x = largest_of(|row| x.stream(sx, row), x.count()).ok_or(TOO_LARGE)?;
        let most_y = largest_of(|strip| y.strip(sy, strip), strips).ok_or(TOO_LARGE)?;
        let terms = low.dim.min(SLICE) as f64;
        // Underflow of products, and of hoisted values that were rounded.
        let tiny = TINY * low.dim as f64 * (2.0 + most_x + most_y);
        let packed_y = PackedB::of_strips(
            |strip| y.strip(sy, strip),
            job.other().rows(),
            low.dim,
            STRIP,
        );
        let packed = PackedSides(x.packed(sx, PackedA::pack), packed_y);
        let norms = (form.reduction.form == Reduction::Dot).then(|| {
            let of_x = |row| x.stream(sx, row);
            norms(of_x, x.count(), |s| y.strip(sy, s), strips)
        });
        let error = ((terms + 10.0) * ROUNDING * 1.001, tiny);
        let op = reductions::reduce(form.reduction.form);
        Ok(Filtered {
            job,
            form,
            op,
            isa: reductions::isa(plan.isa),
            order: plan.order,
            packed,
            x,
            y,
            norms,
            error,
        })
    }
}

impl Executor for Filtered<'_> {
    fn run(&self, tiles: &[Tile], sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        let mut batch = FilterBatch::new(self, tiles::rows(tiles));
        for tile in tiles {
            for (_, Tile { rows, cols }) in tile.blocks(self.order) {
                stop.check()?;
                batch.block(&rows, &cols);
                batch.hold(sink)?;
            }
        }
        Ok(Folded {
            states: vec![batch.state],
            tally: batch.tally,
        })
    }
}

/// The largest magnitude in a row; none where one is too large, or NaN.
fn largest(row: &[f64]) -> Option<f64> {
    row.iter().try_fold(0.0, |most: f64, v| {
        (v.abs() <= LARGEST).then(|| most.max(v.abs()))
    })
}

/// The largest magnitude in some rows; none where one is too large, or NaN.
fn largest_of<'r>(row: impl Fn(usize) -> &'r [f64] + Sync, count: usize) -> Option<f64> {
    (0..count)
        .into_par_iter()
        .map(|at| largest(row(at)))
        .try_reduce(|| 0.0, |a, b| Some(a.max(b)))
}

/// The norms of the rows of x, and the largest of each block of the strips of y.
fn norms<'r>(
    row: impl Fn(usize) -> &'r [f64] + Sync,
    rows: usize,
    strip: impl Fn(usize) -> &'r [f64] + Sync,
    strips: usize,
) -> [Vec<f64>; 2] {
    let of_x = (0..rows).into_par_iter().map(|at| norm(row(at))).collect();
    let of_strips: Vec<f64> = (0..strips)
        .into_par_iter()
        .map(|at| longest(strip(at)))
        .collect();
    let blocks = of_strips.chunks(BLOCK / STRIP);
    let of_blocks = blocks.map(|block| block.iter().fold(0.0, |a, b| f64::max(a, *b)));
    [of_x, of_blocks.collect()]
}

fn norm(row: &[f64]) -> f64 {
    row.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The largest norm of the rows of a strip.
fn longest(strip: &[f64]) -> f64 {
    let mut squares = [0.0; STRIP];
    for lanes in strip.as_chunks::<STRIP>().0 {
        squares
            .iter_mut()
            .zip(lanes)
            .for_each(|(sum, v)| *sum += v * v);
    }
    squares.into_iter().fold(0.0, f64::max).sqrt()
}

/// The values of the pairs of one row that are kept, on their way into the fold. Number 0 is the
/// value that decides, number 1 is true.
struct Kept<'j> {
    fold: &'j Fold,
    /// The number of each root: of a predicate the true one.
    firsts: Vec<usize>,
    values: [[f64; BLOCK]; 2],
    others: Vec<u32>,
}

impl<'j> Kept<'j> {
    fn new(job: &'j Job) -> Self {
        let fold = &job.folds[0];
        let mut firsts = vec![0; job.low.formula.roots.len()];
        if let Fold::Join(f) = fold {
            firsts[f.root] = 1;
        }
        Kept {
            fold,
            firsts,
            values: [[0.0; BLOCK], [1.0; BLOCK]],
            others: Vec::with_capacity(BLOCK),
        }
    }
    /// Takes the value of a pair with row `j`.
    fn push(&mut self, j: usize, value: f64) {
        self.values[0][self.others.len()] = value;
        self.others.push(j as u32);
    }
    /// Hands the values of row `i` to the fold.
    fn flush(&mut self, state: &mut State, i: usize) {
        let line = Scattered {
            pairs: Pairs {
                place: i,
                row: i,
                others: &self.others,
                half: false,
            },
            values: self.values.as_flattened(),
            stride: BLOCK,
            firsts: &self.firsts,
        };
        self.fold.absorb_scattered(state, &line);
        self.others.clear();
    }
}

/// One batch in progress.
struct FilterBatch<'s, 'j> {
    of: &'s Filtered<'j>,
    state: State,
    kept: Kept<'j>,
    /// First row; limits of the reductions of every row, none while all values matter.
    start: usize,
    limits: Vec<Option<Limit>>,
    cells: Vec<f32>,
    found: [FilteredBits; BLOCK],
    exact: [f64; BLOCK],
    tally: Tally,
    held: u64,
}

impl<'s, 'j> FilterBatch<'s, 'j> {
    fn new(of: &'s Filtered<'j>, rows: Range<usize>) -> Self {
        let mut batch = FilterBatch {
            of,
            start: rows.start,
            limits: vec![None; rows.len()],
            state: of.job.folds[0].sorted_part(&rows),
            kept: Kept::new(of.job),
            cells: vec![0.0; BLOCK * BLOCK],
            found: [FilteredBits::default(); BLOCK],
            exact: [0.0; BLOCK],
            tally: Tally::default(),
            held: 0,
        };
        rows.for_each(|i| batch.tighten(i));
        batch
    }
    /// The limit of row `i` as the values kept so far set it.
    fn tighten(&mut self, i: usize) {
        let below = self.of.wants_below();
        let bound = match self.of.form.question {
            Question::Match { limit, .. } => Some(limit),
            Question::Best(_) => {
                let worst = self.kept.fold.worst(&self.state, &(i..i + 1));
                // None while every value matters.
                let sign = if below { 1.0 } else { -1.0 };
                Some(sign * worst).filter(|bound| bound.is_finite())
            }
        };
        self.limits[i - self.start] = bound.map(|bound| self.of.form.limit(bound, below));
    }
    fn block(&mut self, rows: &Range<usize>, cols: &Range<usize>) {
        let of = self.of;
        let space = &of.job.space;
        if space.is_empty(rows, cols) {
            return;
        }
        let PackedSides(x, y) = &of.packed;
        reduce_block(
            of.isa,
            of.op,
            x,
            y,
            [rows.clone(), cols.clone()],
            (&mut self.cells, BLOCK),
        );
        self.decide(rows, cols);
        self.tally.counted += space.count(rows, cols);
        // Rows count what they leave out; a join need not look at rows without a match.
        let all = matches!(self.kept.fold, Fold::Reduce(_));
        for (at, i) in rows.clone().enumerate() {
            let FilteredBits { open, sure } = self.found[at];
            if !all && open | sure == 0 {
                continue;
            }
            for run in space.columns(i, cols) {
                if !run.is_empty() {
                    let mask = (u128::MAX >> (BLOCK - run.len())) << (run.start - cols.start);
                    self.row(i, cols.start, run.len() as u64, open & mask, sure & mask);
                }
            }
        }
    }
    /// What single precision says of a block: the pairs that it leaves open, and the ones that
    /// surely match.
    fn decide(&mut self, rows: &Range<usize>, cols: &Range<usize>) {
        let of = self.of;
        let below = of.form.limit(0.0, of.wants_below()).below;
        let all = if below {
            f32::INFINITY
        } else {
            f32::NEG_INFINITY
        };
        let mut limits = [[all, -all]; BLOCK];
        for (at, i) in rows.clone().enumerate() {
            if let Some(Limit {
                between: (lo, hi), ..
            }) = self.limits[i - self.start]
            {
                let slack = |z: f64| of.error(i, cols.start / BLOCK, z);
                // Outward for what may match, inward for what must.
                let (low, high) = (down(lo - slack(lo)), up(hi + slack(hi)));
                limits[at] = if below { [high, low] } else { [low, high] };
                // Nothing is sure to be among the best.
                if let Question::Best(_) = of.form.question {
                    limits[at][1] = -all;
                }
            }
        }
        meets(
            of.isa,
            (&self.cells, BLOCK, cols.len()),
            &limits[..rows.len()],
            below,
            &mut self.found,
        );
    }
    /// Decides about `pairs` pairs of row `i`: those of the bits are looked at. Bit l is column
    /// first + l, the first of a block.
    #[inline(always)]
    fn row(&mut self, i: usize, first: usize, pairs: u64, open: u128, sure: u128) {
        let looked = u64::from((open | sure).count_ones());
        if looked < pairs {
            self.kept.fold.skip(&mut self.state, i, pairs - looked);
        }
        if looked > 0 {
            self.look(i, first, open, sure);
        }
    }
    /// Takes the pairs that surely match, and those left open as their exact values say.
    fn look(&mut self, i: usize, first: usize, open: u128, sure: u128) {
        let of = self.of;
        let with_values = !matches!(self.kept.fold, Fold::Join(Join { value: None, .. }));
        let needed = if with_values { open | sure } else { open };
        if needed != 0 {
            self.compute_exact(i, first, needed);
        }
        let mut left = open | sure;
        while left != 0 {
            let l = left.trailing_zeros() as usize;
            left &= left - 1;
            let value = if needed >> l & 1 == 1 {
                of.value(i, first, l, self.exact[l])
            } else {
                0.0
            };
            if sure >> l & 1 == 1 || matched(of.form.question, value) {
                self.kept.push(first + l, value);
            } else {
                self.kept.fold.skip(&mut self.state, i, 1);
            }
        }
        self.kept.flush(&mut self.state, i);
        if let Question::Best(_) = of.form.question {
            self.tighten(i);
        }
    }
    /// Computes the reductions of row `i` with the `needed` lanes of the block that begins at
    /// column `first`, whole strips of them.
    fn compute_exact(&mut self, i: usize, first: usize, needed: u128) {
        let of = self.of;
        let strips = (0..BLOCK / STRIP)
            .filter(|t| needed >> (t * STRIP) & 0xff != 0)
            .fold(0u16, |w, t| w | 1 << t);
        let (low, [sx, sy]) = (&of.job.low, of.form.reduction.row_vectors);
        let y = &of.y.block(first / BLOCK)[sy * low.dim * STRIP..];
        exact(
            of.isa,
            of.op,
            of.x.stream(sx, i),
            (y, low.row_vectors[1].len() * low.dim * STRIP),
            strips,
            &mut self.exact,
        );
    }
    /// Asks for what the matches found so far take.
    fn hold(&mut self, sink: &dyn Sink) -> Result<()> {
        let bytes = self.kept.fold.grown(&self.state);
        let states = std::slice::from_mut(&mut self.state);
        match bytes > self.held {
            true => sink.grown(states, [bytes, 0], &mut self.held),
            false => Ok(()),
        }
    }
}

/// Whether an exact value is wanted.
fn matched(question: Question, value: f64) -> bool {
    match question {
        Question::Best(_) => true,
        Question::Match {
            below,
            limit,
            or_equal,
        } => (if below { value < limit } else { value > limit }) || (or_equal && value == limit),
    }
}

impl Filtered<'_> {
    /// Whether values below a bound are wanted, else above.
    fn wants_below(&self) -> bool {
        match self.form.question {
            Question::Best(smallest) => smallest,
            Question::Match { below, .. } => below,
        }
    }
    /// The value of the reduction `z` of row `i` and lane `l` of the block of columns from `first`.
    fn value(&self, i: usize, first: usize, l: usize, z: f64) -> f64 {
        let numbers = self.form.choice().map_or([0.0; 2], |choice| {
            let [a, b] = choice.numbers;
            [self.x.attr(a, i), self.y.attr_panel(b, first / BLOCK)[l]]
        });
        self.form.value(z, numbers)
    }
    /// What a reduction near `z` of row `i` and a block of columns may err by.
    fn error(&self, i: usize, block: usize, z: f64) -> f64 {
        let (relative, tiny) = self.error;
        // A limit that nothing or everything meets.
        if z.is_infinite() {
            return 0.0;
        }
        self.norms
            .as_ref()
            .map_or(z.abs(), |[x, y]| x[i] * y[block])
            * relative
            + tiny
    }
}

/// A number of single precision that is no smaller; −∞ for what is below all finite ones.
fn up(v: f64) -> f32 {
    // Without a branch: the conversion is to nearest.
    (v + v.abs().min(f64::MAX) * (2.0 * ROUNDING) + TINY) as f32
}

/// A number of single precision that is no larger; ∞ for what is above all finite ones.
fn down(v: f64) -> f32 {
    -up(-v)
}
