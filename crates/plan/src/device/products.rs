//! Rows as 16-bit numbers whose products filter pairs: matrix units multiply sixteen times as fast
//! as vector units.
//!
//! An inner product, or a sum of squared differences, is found from rounded rows. Its error is
//! bounded by what the rounding changed, which is measured row by row and not assumed. A decision
//! further from its limit than the bound is safe; the few others are computed again in double
//! precision, so that the answer is that of double precision (invariant DEVICE-DECISIONS).
//!
//! ```text
//! u = (x − c)·s, v = (y − c)·s      c: near the mean, of few digits; only for differences. s: a power of two
//! û = u + δ, v̂ = v + ε              rounded to f16
//! |û·v̂ − u·v| ≤ |u||ε| + |δ||v| + |δ||ε|                    (Cauchy and Schwarz)
//! Σ(x − y)² = (|u|² + |v|² − 2 u·v) / s²                    norms from the rows before they are rounded
//! ```
//!
//! Matrix units add products of 16 bits in single precision, but cut digits off where a vector unit
//! rounds: the bound allows for four times the error of rounding.

use super::facts::{Common, Runtime};
use super::rounding::{Bounds, Ranges};
use crate::low_precision::{LowPrecision, ProductType};
use crate::overrides::{MatrixUnits, Overrides};
use crate::swept::Swept;
use zipfold_core::fold::{BLOCK, ReduceOp};
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::pattern::Reduction;
use zipfold_core::pair::tree::{Binary, Id, Node, Side};
use zipfold_core::pair::{Evaluator, Rows};
use zipfold_core::{Error, Job, Opt, Result};

/// Components from which products serve: matrix units take 16 at a time.
pub const LEAST: usize = 16;
/// Components that are multiplied together: rows are filled up with zeros.
pub const SLICE: usize = 32;
/// Components up to which all rows of a tile stay in shared memory: two blocks of a multiprocessor
/// have room for them. Longer ones come slice by slice, as columns do.
pub const STAYING: usize = 256;
/// Components up to which the sums of matrix units have a useful bound.
pub const MOST: usize = 8192;
/// Error of one addition of matrix units, in parts of the sum of magnitudes.
const ADDED: f64 = 2.4e-7;
/// Roundings of a norm and of its sum with the product, in parts of the norms.
const NORMS: f64 = 5e-7;
/// Exponent of the largest rounded number: far from the end of f16, and numbers 10⁻⁸ times as large
/// still have a digit.
const TOP: f64 = 13.0;
/// The least and the largest product of scales that single precision undoes.
const UNSCALED: [f64; 2] = [1e-30, 1e30];
/// Rows of a side that the mean is taken from.
const MEAN_OF: usize = 256;
/// Rows of x and of y of the sample that tells whether products decide most pairs.
const SAMPLE: [usize; 2] = [32, 512];
/// Candidates of a row in the sample, for one that is the best of it.
const CANDIDATES: f64 = 4.0;
/// Share of pairs that a predicate may leave to double precision: one of them takes as long as a
/// hundred products.
const OPEN: f64 = 0.01;

/// Returns how the matrix units of all devices take rows of numbers of type `input`. Those of four
/// warps are faster; they take 16-bit numbers and `tf32`.
///
/// # Errors
/// `Request` for units that the devices do not have, or that do not take such numbers.
pub fn units(input: ProductType, common: Common, overrides: &Overrides) -> Result<MatrixUnits> {
    let takes = match input {
        ProductType::Half(_) | ProductType::Tf32 => true,
        // Numbers are split, or doubled, in registers.
        ProductType::Tf32x3 | ProductType::F64 => false,
    };
    let there = common.warpgroups || common.runtime == Runtime::OpenCl;
    match overrides.matrix_units {
        Some(MatrixUnits::Warpgroups) if !takes || !there => {
            let what = if takes {
                "a device of compute capability 9.0"
            } else {
                "numbers of 16 bits or tf32"
            };
            Err(Error::request(format!("warpgroups without {what}"))
                .at_place(Opt::Set.like("matrix.units"))
                .remedy(Opt::Set.to("matrix.units=warp")))
        }
        Some(asked) => Ok(asked),
        None if takes && common.warpgroups => Ok(MatrixUnits::Warpgroups),
        None => Ok(MatrixUnits::Warps),
    }
}

/// What the products of rows give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProductForm {
    /// Σ x·y.
    Dot,
    /// Σ (x − y)², from norms and products.
    Squares,
}

/// How the rows of both sides become numbers of 16 bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounding {
    /// The reduction that the products give.
    pub reduce: Id,
    /// What it is.
    pub form: ProductForm,
    /// Powers of two by which the rows of x and of y are multiplied.
    pub scale: [f64; 2],
    /// What is taken from each component before that.
    center: Vec<f64>,
}

impl Rounding {
    /// The type of the rounded numbers: 11 bits of precision.
    pub const TYPE: LowPrecision = LowPrecision::F16;

    /// Returns how the rows of `job` are rounded, if products of its rows can give its values.
    pub fn for_job(job: &Job, ranges: &[Ranges; 2]) -> Option<Self> {
        let low = &job.low;
        let (reduce, form) = product(low)?;
        // Parts of several folds have formulas of their own.
        if job.space.n == 0 || job.space.m == 0 || job.folds.len() != 1 || decided(job).is_none() {
            return None;
        }
        let ends = [ranges[0].first()?.as_ref()?, ranges[1].first()?.as_ref()?];
        let center = match form {
            ProductForm::Dot => vec![0.0; low.dim],
            ProductForm::Squares => center(job, ends.map(|b| b.lo.abs().max(b.hi.abs()))),
        };
        let reach = |side: usize| {
            let one = |c: &f64| (ends[side].hi - c).max(c - ends[side].lo);
            center.iter().map(one).fold(0.0, f64::max)
        };
        let reach = match form {
            ProductForm::Dot => [reach(0), reach(1)],
            ProductForm::Squares => [reach(0).max(reach(1)); 2],
        };
        let scale = reach.map(|reach| {
            if reach > 0.0 {
                (TOP - reach.log2().ceil()).exp2()
            } else {
                1.0
            }
        });
        let undone = 1.0 / (scale[0] * scale[1]);
        let fits = (UNSCALED[0]..=UNSCALED[1]).contains(&undone);
        fits.then_some(Rounding {
            reduce,
            form,
            scale,
            center,
        })
    }
    /// Returns component `k` of a row of `side`, moved and scaled.
    pub fn scaled(&self, side: Side, k: usize, value: f64) -> f64 {
        (value - self.center[k]) * self.scale[side as usize]
    }
    /// Returns what rounding changes in packed rows of `side`: panels of 128 rows, number after
    /// number.
    pub fn measure(&self, packed: &[f64], low: &Lowered, side: Side) -> Rounded {
        let scalars = low.row_scalars[side as usize].len();
        let panels = packed.chunks(BLOCK * (low.dim + scalars).max(1));
        let of_panel = |panel: &[f64]| {
            let mut squares = [[0.0; 2]; BLOCK];
            for (k, line) in panel.chunks(BLOCK).take(low.dim).enumerate() {
                for (sums, value) in squares.iter_mut().zip(line) {
                    let u = self.scaled(side, k, *value);
                    let rounded = f64::from(Self::TYPE.value(Self::TYPE.round(u as f32)));
                    sums[0] += u * u;
                    sums[1] += (rounded - u) * (rounded - u);
                }
            }
            let most = |at: usize| squares.iter().map(|s| s[at]).fold(0.0, f64::max).sqrt();
            Rounded {
                norm: most(0) / self.scale[side as usize],
                error: most(1) / self.scale[side as usize],
            }
        };
        panels
            .map(of_panel)
            .fold(Rounded::default(), Rounded::joined)
    }
}

/// Returns the one reduction of `low` that products of its rows give.
fn product(low: &Lowered) -> Option<(Id, ProductForm)> {
    let [stage] = low.stages.as_slice() else {
        return None;
    };
    let ([reduce], true) = (stage.reduces.as_slice(), stage.scalars.is_empty()) else {
        return None;
    };
    let plain = low.vector_tail.is_empty() && low.row_vectors.iter().all(|v| v.len() == 1);
    let found = low.reduction(*reduce).filter(|_| plain && !low.periodic)?;
    let form = match found.form {
        Reduction::Dot => ProductForm::Dot,
        Reduction::SqDiff => ProductForm::Squares,
        Reduction::L1 | Reduction::Chebyshev | Reduction::Differ | Reduction::Lp3 => return None,
    };
    (LEAST..=MOST).contains(&low.dim).then_some((*reduce, form))
}

/// Returns numbers near the means of the components, of so few digits that whole numbers stay
/// exact.
fn center(job: &Job, reach: [f64; 2]) -> Vec<f64> {
    let mut sums = vec![0.0; job.low.dim];
    let mut rows = 0.0;
    for (side, table) in [(Side::X, &job.x), (Side::Y, job.other())] {
        let mut hoister = job.low.hoister(side);
        for row in (0..table.rows()).step_by(table.rows().div_ceil(MEAN_OF)) {
            hoister.load(table, row);
            sums.iter_mut()
                .zip(hoister.stream(0))
                .for_each(|(sum, v)| *sum += v);
            rows += 1.0;
        }
    }
    let digit = (reach[0].max(reach[1]).max(f64::MIN_POSITIVE).log2().floor() - 9.0).exp2();
    sums.into_iter()
        .map(|sum| (sum / rows / digit).round() * digit)
        .collect()
}

/// What rounding changed in the rows of one side, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rounded {
    /// The length of a row.
    norm: f64,
    /// The length of what rounding added to one.
    error: f64,
}

impl Rounded {
    /// Returns the most of two parts of the rows.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        Rounded {
            norm: self.norm.max(other.norm),
            error: self.error.max(other.error),
        }
    }
}

/// What a plan for devices knows of the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct RowFacts {
    /// Ranges of the rows of x and of y.
    pub ranges: [Ranges; 2],
    /// Products of rounded rows, where a device may multiply them.
    pub products: Option<Products>,
}

/// Products of rows of 16-bit numbers, and how far they are off.
#[derive(Clone, Debug, PartialEq)]
pub struct Products {
    /// How rows are rounded.
    pub rounding: Rounding,
    /// How far the reduction is off at most.
    error: f64,
}

impl Products {
    /// Returns the products of rows of `dim` components, in which `rounded` has changed so much on
    /// each side.
    pub fn new(rounding: Rounding, [x, y]: [Rounded; 2], dim: usize) -> Self {
        let magnitude = (x.norm + x.error) * (y.norm + y.error);
        let product = x.norm * y.error + x.error * y.norm + x.error * y.error;
        let steps = (dim + 32) as f64 * ADDED;
        let squares = x.norm * x.norm + y.norm * y.norm;
        let error = match rounding.form {
            ProductForm::Dot => product + steps * magnitude + NORMS * magnitude,
            // Sums begin with half of a norm.
            ProductForm::Squares => {
                2.0 * (product + steps * (magnitude + 0.5 * squares)) + NORMS * squares
            }
        };
        // The reference value itself is rounded in double precision, which is far less.
        let error = 1.001 * error + f64::from(f32::MIN_POSITIVE);
        Products { rounding, error }
    }
    /// Returns the bounds of `low` over rows of these ranges, the reduction by products.
    pub fn bounds<'l>(&self, low: &'l Lowered, ranges: &[Ranges; 2]) -> Bounds<'l> {
        Bounds::with_error(low, ranges.clone(), (self.rounding.reduce, self.error))
    }
    /// Returns whether products of these bounds decide most pairs of `job`, by a sample of its
    /// pairs.
    pub(super) fn decide(&self, job: &Job, bounds: &Bounds<'_>) -> bool {
        match decided(job) {
            Some(Decided::Best(root, largest)) => decides_best(job, bounds, (root, largest)),
            Some(Decided::Truth(root)) => decides_truth(job, bounds, root),
            None => false,
        }
    }
}

/// What a fold decides.
#[derive(Clone, Copy, Debug)]
enum Decided {
    /// Which values of a row are the best: the root, and whether the largest ones are.
    Best(Id, bool),
    /// Where a predicate holds.
    Truth(Id),
}

/// Returns what the fold of `job` decides: by values, each for itself. Sums need all values, counters
/// nearly all.
fn decided(job: &Job) -> Option<Decided> {
    let root = |at: usize| job.low.formula.roots[at];
    match job.folds.first().and_then(Swept::for_fold)? {
        Swept::Nearest(f) => Some(Decided::Best(root(f.root), f.largest)),
        Swept::Reduce(f) if f.op.is_extreme() => {
            let largest = matches!(f.op, ReduceOp::Max | ReduceOp::Argmax);
            Some(Decided::Best(root(f.root), largest))
        }
        Swept::Reduce(f) if f.op == ReduceOp::Count => Some(Decided::Truth(root(f.root))),
        Swept::Join(f) if f.value.is_none() => Some(Decided::Truth(root(f.root))),
        Swept::Reduce(_) | Swept::Join(_) | Swept::Histogram(_) | Swept::Extremes(_) => None,
    }
}

/// Evaluates `nodes` for the pairs of a sample: `row` gets the numbers of the nodes of one row of x
/// with rows of y, pair after pair.
fn each_row(job: &Job, nodes: &[Id], row: &mut dyn FnMut(&[f64])) {
    let (x, y) = (&job.x, job.other());
    let mut eval: Evaluator<'_> = Evaluator::of_nodes(&job.low.formula, nodes, job.low.dim);
    let (mut a, mut b) = (vec![0.0; x.width()], vec![0.0; y.width()]);
    let (mut delta, mut found) = (vec![], vec![]);
    for i in (0..x.rows()).step_by(x.rows().div_ceil(SAMPLE[0])) {
        x.row_into(i, &mut a);
        found.clear();
        for j in (0..y.rows()).step_by(y.rows().div_ceil(SAMPLE[1])) {
            if job.y.is_none() && i == j {
                continue;
            }
            y.row_into(j, &mut b);
            delta.clear();
            delta.extend(a.iter().zip(&b).map(|(a, b)| a - b));
            eval.run(Rows {
                x: &a,
                y: &b,
                delta: &delta,
            });
            found.extend(nodes.iter().map(|id| eval.scalar(*id)[0]));
        }
        row(&found);
    }
}

/// Returns whether few rows of y are within the error of the best one of a row of x.
fn decides_best(job: &Job, bounds: &Bounds<'_>, (root, largest): (Id, bool)) -> bool {
    let Some(bound) = bounds.get(root) else {
        return false;
    };
    let (mut rows, mut near) = (0.0, 0.0);
    each_row(job, &[root], &mut |values| {
        let signed = |v: &f64| if largest { -v } else { *v };
        let best = values.iter().map(signed).fold(f64::INFINITY, f64::min);
        let reach = best + 2.0 * (bound.abs + bound.rel * best.abs());
        near += values.iter().map(signed).filter(|v| *v <= reach).count() as f64;
        rows += 1.0;
    });
    near <= CANDIDATES * rows
}

/// Returns whether few pairs are within the error of a comparison of the truth value `root`.
fn decides_truth(job: &Job, bounds: &Bounds<'_>, root: Id) -> bool {
    let mut compared = vec![];
    comparisons(job, root, &mut compared);
    let gaps: Vec<f64> = compared
        .chunks(2)
        .map(|sides| bounds.gap(sides[0], sides[1]).unwrap_or(f64::INFINITY))
        .collect();
    let (mut pairs, mut open) = (0.0, 0.0);
    each_row(job, &compared, &mut |values| {
        for pair in values.chunks(compared.len().max(1)) {
            let mut sides = pair.chunks(2).zip(&gaps);
            pairs += 1.0;
            if sides.any(|(sides, gap)| (sides[0] - sides[1]).abs() <= *gap) {
                open += 1.0;
            }
        }
    });
    !compared.is_empty() && open <= OPEN * pairs
}

/// Appends both sides of all comparisons of the truth value `id` that depend on a pair.
fn comparisons(job: &Job, id: Id, out: &mut Vec<Id>) {
    let node = job.low.formula.node(id);
    if let Node::Binary(Binary::And | Binary::Or, a, b) = node {
        comparisons(job, *a, out);
        comparisons(job, *b, out);
    } else if let Node::Binary(_, a, b) = node {
        out.extend([*a, *b]);
    }
}
