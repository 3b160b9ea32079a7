//! Family *screen*: reductions of long rows in single precision decide about most pairs; the others are computed in double
//! precision, with the bits of the reference, so that the answer is that of double precision.
//!
//! The bound: a reduction of at most s terms that are summed in single precision, each of at most r roundings, errs by at
//! most (s + r) · 2⁻²⁴ times the sum of magnitudes of its terms (Higham, Accuracy and Stability, section 3.1), which for
//! inner products is at most ‖x‖‖y‖. Rows beyond 10¹⁰ in magnitude, or not finite, are not screened.

use super::engine::{Sink, UnitState};
use super::rows::Rows;
use super::zips;
use crate::kernels::dense::{SLICE, ZipReduce, zip_reduce_block};
use crate::kernels::panels::{PackedA, PackedB};
use crate::kernels::screen::{STRIP, exact, meets};
use crate::simd::Isa;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use zipfold_core::fold::rows::RowState;
use zipfold_core::fold::{BLOCK, Fold, NearestState, RowPiece, Select, SelectState, State, Tally};
use zipfold_core::pair::lower::ZipForm;
use zipfold_core::{Blame, Error, Job, Result, Side};
use zipfold_plan::screen::{Form, Limit, Question};
use zipfold_plan::{Plan, Tile};

/// Beyond this a sum of powers of three of differences might leave single precision.
const LARGEST: f64 = 1e10;
/// Half a unit in the last place of single precision, and of its smallest numbers.
const ROUNDING: f64 = 1.0 / (1u64 << 24) as f64;
const TINY: f64 = 1e-44;

/// A job ready to be screened.
#[derive(Debug)]
pub struct Screened<'j> {
    job: &'j Job,
    form: Form,
    op: ZipReduce,
    isa: Isa,
    packed: Packed,
    x: Rows<f64>,
    y: Rows<f64>,
    /// Norms of the rows of x, and the largest of each block of y, for inner products.
    norms: Option<[Vec<f64>; 2]>,
    /// Relative and absolute error of a reduction.
    error: (f64, f64),
}

struct Packed(PackedA<f32>, PackedB<f32>);

impl std::fmt::Debug for Packed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Packed({} × {})", self.0.rows(), self.1.rows())
    }
}

impl<'j> Screened<'j> {
    /// Hoists and packs the rows of `job`; none where it has no form for it, or a value is too large.
    pub fn load(job: &'j Job, plan: &Plan) -> Option<Self> {
        let form = Form::of(job)?;
        let low = &job.low;
        let (_, sx, sy) = form.zip;
        let x = Rows::<f64>::by_row(low, &job.x, Side::X);
        let other = Rows::<f64>::by_row(low, job.other(), Side::Y);
        let largest = [(&x, sx), (&other, sy)].map(|(rows, s)| {
            (0..rows.count()).into_par_iter().map(|row| largest(rows.stream(s, row))).try_reduce(|| 0.0, |a, b| Some(a.max(b)))
        });
        let [Some(most_x), Some(most_y)] = largest else { return None };
        let terms = low.dim.min(SLICE) as f64;
        // Underflow of products, and of hoisted values that were rounded.
        let tiny = TINY * low.dim as f64 * (2.0 + most_x + most_y);
        let pack_x = |d: &[f64], n, dim, stride| PackedA::pack(d, n, dim, stride);
        let pack_y = |d: &[f64], n, dim, stride| PackedB::pack(d, n, dim, stride);
        let packed = Packed(x.packed(sx, pack_x), other.packed(sy, pack_y));
        let norms = (form.zip.0 == ZipForm::Dot).then(|| {
            let of = |rows: &Rows<f64>, s| -> Vec<f64> {
                (0..rows.count()).into_par_iter().map(|row| norm(rows.stream(s, row))).collect()
            };
            let of_blocks = of(&other, sy).chunks(BLOCK).map(|b| b.iter().fold(0.0, |a, b| f64::max(a, *b))).collect();
            [of(&x, sx), of_blocks]
        });
        drop(other);
        let y = Rows::<f64>::by_strip(low, job.other(), STRIP);
        let error = ((terms + 10.0) * ROUNDING * 1.001, tiny);
        let op = zips::reduce(form.zip.0);
        Some(Screened { job, form, op, isa: zips::isa(plan.isa), packed, x, y, norms, error })
    }
    /// Folds the cells of `tiles`.
    ///
    /// # Errors
    /// Those of the sink; `Interrupted` when told to stop.
    pub fn run(&self, tiles: &[Tile], sink: &dyn Sink, stop: Option<&AtomicBool>) -> Result<UnitState> {
        let start = tiles.iter().map(|t| t.rows.start).min().unwrap_or(0);
        let end = tiles.iter().map(|t| t.rows.end).max().unwrap_or(0);
        let mut unit = Unit {
            of: self,
            best: Best::new(&self.job.folds[0], start..end),
            cells: vec![0.0; BLOCK * BLOCK],
            exact: [0.0; BLOCK],
            tally: Tally::default(),
            held: 0,
        };
        for tile in tiles {
            for rows in blocks(&tile.rows) {
                for cols in blocks(&tile.cols) {
                    if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                        return Err(Error::new(Blame::Interrupted, "interrupted"));
                    }
                    unit.block(&rows, &cols);
                    unit.hold(sink)?;
                }
            }
        }
        Ok(UnitState { states: vec![unit.best.into_state()], tally: unit.tally })
    }
}

/// The largest magnitude in a row; none where one is too large, or NaN.
fn largest(row: &[f64]) -> Option<f64> {
    row.iter().try_fold(0.0, |most: f64, v| (v.abs() <= LARGEST).then(|| most.max(v.abs())))
}

fn norm(row: &[f64]) -> f64 {
    row.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Ranges of whole blocks, cut off at the ends of `range`.
fn blocks(range: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let range = range.clone();
    let clip = move |b: usize| (b * BLOCK).max(range.start)..((b + 1) * BLOCK).min(range.end);
    (range.start / BLOCK..range.end.div_ceil(BLOCK)).map(clip)
}

/// What is kept of the pairs.
enum Best<'j> {
    Nearest(&'j zipfold_core::fold::Nearest, NearestState),
    Row(&'j zipfold_core::fold::RowFold, RowPiece),
    Select(&'j Select, SelectState),
    None,
}

impl<'j> Best<'j> {
    fn new(fold: &'j Fold, rows: Range<usize>) -> Self {
        match fold {
            Fold::Nearest(f) => Best::Nearest(f, NearestState::part(rows.start, rows.len())),
            Fold::Rows(f) => Best::Row(f, RowPiece::new(f, rows.start, rows.len())),
            Fold::Select(f) => Best::Select(f, SelectState::part(f, rows.start, rows.len())),
            _ => Best::None,
        }
    }
    /// What the value of a pair of row `i` must reach to matter; none while every value does.
    fn bound(&self, i: usize, question: Question) -> Option<f64> {
        match (self, question) {
            (_, Question::Match { limit, .. }) => Some(limit),
            (Best::Nearest(f, state), _) => state.worst(f, i),
            (Best::Row(_, piece), _) => Some(piece.acc[2 * (i - piece.start)]).filter(|v| v.is_finite()),
            _ => None,
        }
    }
    /// Takes the value of pair (i, j) that was looked at.
    fn take(&mut self, i: usize, j: usize, value: f64) {
        match self {
            Best::Nearest(f, state) => state.absorb(f, i, j, &[value]),
            Best::Row(f, piece) => piece.absorb(f, i, j, &[value]),
            Best::Select(f, state) => state.absorb(f, i, j, f.value.map(|_| value)),
            Best::None => {}
        }
    }
    /// Counts pairs of row `i` that were left out.
    fn skip(&mut self, i: usize, pairs: u64) {
        if let Best::Row(_, piece) = self {
            piece.counts[i - piece.start] += pairs;
        }
    }
    fn into_state(self) -> State {
        match self {
            Best::Nearest(_, state) => State::Nearest(state),
            Best::Row(_, piece) => State::Rows(RowState::of_piece(piece)),
            Best::Select(_, state) => State::Select(state),
            Best::None => State::Written,
        }
    }
}

/// One unit in progress.
struct Unit<'s, 'j> {
    of: &'s Screened<'j>,
    best: Best<'j>,
    cells: Vec<f32>,
    exact: [f64; BLOCK],
    tally: Tally,
    held: u64,
}

impl Unit<'_, '_> {
    fn block(&mut self, rows: &Range<usize>, cols: &Range<usize>) {
        let of = self.of;
        let space = &of.job.space;
        if space.is_half() && cols.end <= rows.start {
            return;
        }
        let Packed(x, y) = &of.packed;
        zip_reduce_block(of.isa, of.op, x, y, rows.clone(), cols.clone(), &mut self.cells, BLOCK);
        for i in rows.clone() {
            for run in space.columns(i, cols) {
                if !run.is_empty() {
                    self.tally.counted += run.len() as u64;
                    self.run(i, rows.start, cols, &run);
                }
            }
        }
    }
    /// Decides about the pairs of row `i` and columns `run`.
    fn run(&mut self, i: usize, first: usize, cols: &Range<usize>, run: &Range<usize>) {
        let of = self.of;
        let block = cols.start / BLOCK;
        let values = &self.cells[(i - first) * BLOCK..][run.start - cols.start..run.end - cols.start];
        let (open, sure) = match self.best.bound(i, of.form.question) {
            None => (u128::MAX, 0),
            Some(bound) => of.decide(i, block, bound, values),
        };
        let all = u128::MAX >> (BLOCK - run.len());
        let (open, sure) = (open & all, sure & all);
        let looked = (open | sure).count_ones();
        if looked < run.len() as u32 {
            self.best.skip(i, u64::from(run.len() as u32 - looked));
        }
        if open | sure != 0 {
            self.look(i, block, run, open, sure);
        }
    }
    /// Takes the pairs that surely match, and those left open as their exact values say. Bit l is column run.start + l.
    fn look(&mut self, i: usize, block: usize, run: &Range<usize>, open: u128, sure: u128) {
        let of = self.of;
        let with_values = !matches!(&self.best, Best::Select(Select { value: None, .. }, _));
        let needed = if with_values { open | sure } else { open };
        let lane = run.start - block * BLOCK;
        if needed != 0 {
            let shifted = needed << lane;
            let strips = (0..BLOCK / STRIP).filter(|t| shifted >> (t * STRIP) & 0xff != 0).fold(0u16, |w, t| w | 1 << t);
            let (low, (_, sx, sy)) = (&of.job.low, of.form.zip);
            let y = &of.y.block(block)[sy * low.dim * STRIP..];
            exact(of.isa, of.op, of.x.stream(sx, i), y, low.streams[1].len() * low.dim * STRIP, strips, &mut self.exact);
        }
        let mut left = open | sure;
        while left != 0 {
            let l = left.trailing_zeros() as usize;
            left &= left - 1;
            let exact = needed >> l & 1 == 1;
            let value = if exact { of.form.value(self.exact[lane + l]) } else { 0.0 };
            let matches = sure >> l & 1 == 1 || matched(of.form.question, value);
            if matches {
                self.best.take(i, run.start + l, value);
            } else {
                self.best.skip(i, 1);
            }
        }
    }
    /// Asks for what the matches found so far take.
    fn hold(&mut self, sink: &dyn Sink) -> Result<()> {
        let Best::Select(_, state) = &self.best else { return Ok(()) };
        let bytes = state.bytes();
        if bytes > self.held {
            sink.hold(bytes - self.held)?;
            self.held = bytes;
        }
        Ok(())
    }
}

/// Whether an exact value is wanted.
fn matched(question: Question, value: f64) -> bool {
    match question {
        Question::Best(_) => true,
        Question::Match { below, limit, or_equal } => {
            (if below { value < limit } else { value > limit }) || (or_equal && value == limit)
        }
    }
}

impl Screened<'_> {
    /// The values of a run that are left open, and those that surely match.
    fn decide(&self, i: usize, block: usize, bound: f64, values: &[f32]) -> (u128, u128) {
        let below = match self.form.question {
            Question::Best(smallest) => smallest,
            Question::Match { below, .. } => below,
        };
        let Limit { between: (lo, hi), below } = self.form.limit(bound, below);
        let (relative, tiny) = self.error;
        let slack = |z: f64| {
            let scale = self.norms.as_ref().map_or(z.abs(), |[x, y]| x[i] * y[block]);
            scale * relative + tiny
        };
        // Outward for what may match, inward for what must.
        let (may, must) = if below { (hi + slack(hi), lo - slack(lo)) } else { (lo - slack(lo), hi + slack(hi)) };
        let may = if below { up(may) } else { down(may) };
        let may = meets(self.isa, values, may, below);
        if may == 0 || matches!(self.form.question, Question::Best(_)) {
            return (may, 0);
        }
        let must = if below { down(must) } else { up(must) };
        let must = meets(self.isa, values, must, below);
        (may & !must, must)
    }
}

/// A number of single precision that is no smaller.
fn up(v: f64) -> f32 {
    let near = v as f32;
    if f64::from(near) < v { near.next_up() } else { near }
}

/// A number of single precision that is no larger.
fn down(v: f64) -> f32 {
    -up(-v)
}
