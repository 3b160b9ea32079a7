//! How a device folds: sweeps of anchors over others, and what decides their precision, the source
//! of their values, and where their counters are.
//!
//! `sweep.rs` has the shape of a sweep as a decision tree; this module applies it to a job, with
//! the user's overrides, and decides precision. If single precision can filter (its error is
//! bounded and small against what it decides), the sweep runs in single precision and only marks
//! candidates, which double precision checks. Otherwise it runs in double precision.

use super::bins::{self, Band, Cells};
use super::facts::{Common, Runtime};
use super::fixed::BinSums;
use super::loads::load_width;
use super::maps::Placing;
use super::matrix::{self, Copying};
use super::pair_tiles::PairTiles;
use super::parts::{agree, parts};
use super::products::{Products, RowFacts};
use super::rounding::{Bound, Bounds, Ranges, is_exact};
use crate::overrides::{
    Bins, Diagonal, Filter as Choice, FoldTiles, Input, JoinOutput, MatrixUnits, Overrides,
};
use crate::sweep as tree;
use crate::swept::Swept;
use zipfold_core::fold::rows::ReduceAxis;
use zipfold_core::fold::{Axis, Fold, Histogram, JoinKind, Reduce, ReduceOp};
use zipfold_core::pair::lower::Lowered;
use zipfold_core::pair::tree::{Id, Node, Side, Unary};
use zipfold_core::{Domain, Error, Job, Opt, Precision, Result};

/// Numbers in the state of a row that a thread keeps in registers. More would be spilled to memory.
pub const MOST_STATE: usize = 20;

/// Returns whether a device folds `job` itself: every fold has a kernel, and its state fits.
pub fn folds(job: &Job) -> bool {
    let mut all = job.folds.iter();
    agree(job) && all.all(|fold| Swept::for_fold(fold).is_some_and(|fold| fits(job, fold)))
}

/// Returns whether kernels keep the state of `fold`.
fn fits(job: &Job, fold: Swept<'_>) -> bool {
    let width = |root: usize| job.low.formula.width(root, job.low.dim);
    let scalar = |roots: &[usize]| roots.iter().all(|root| width(*root) == 1);
    match fold {
        // A vector is added, a number for each component.
        Swept::Reduce(f) => {
            let adds = matches!(f.op, ReduceOp::Sum | ReduceOp::Mean);
            (f.width == 1 || adds) && f.stride() <= MOST_STATE && width(f.root) == f.width
        }
        Swept::Nearest(f) => scalar(&[f.root]),
        Swept::Join(f) => {
            let value: Vec<usize> = f.value.into_iter().collect();
            scalar(&[f.root]) && scalar(&value)
        }
        Swept::Extremes(f) => scalar(&f.roots) && 2 * f.roots.len() <= MOST_STATE,
        Swept::Histogram(h) => {
            let roots: Vec<usize> = h.axes.iter().map(|axis| axis.root).collect();
            scalar(&roots) && h.cells() < 1 << 28 && BinSums::for_histogram(h).is_some()
        }
    }
}

/// How a device folds a job.
///
/// With the formula it is everything that the emitter reads: equal values give the same kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweeps {
    /// The kernel of each side whose rows are anchors: two if a pair counts for both of its rows.
    pub passes: Vec<Shape>,
    /// How single precision decides most pairs, if it does.
    pub filter: Option<Filter>,
    /// Ranges of the rows of x and of y, from which predicates of single precision are made.
    pub ranges: Option<[Ranges; 2]>,
    /// The products that give the values, if matrix units do.
    pub products: Option<Products>,
    /// Matches are counted first and written by a second kernel.
    pub counts_first: bool,
    /// Values near an edge of a bin are decided by single precision too.
    pub fast_bins: bool,
    /// Why the kernels are built so.
    pub reason: &'static str,
}

/// How single precision decides most pairs: a value is off by `absolute + relative·|value|` at
/// most.
///
/// It holds for all rows of the run: it was made from the ranges of both tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filter {
    /// The absolute part of the error.
    pub absolute: f64,
    /// The relative part.
    pub relative: f64,
    /// The least value.
    pub least: f64,
    /// The largest value.
    pub most: f64,
    /// The value is the truth of a predicate, whose operands have bounds of their own.
    pub predicate: bool,
    /// Squared distances that may be on either side of the cut-off, if there is one.
    pub cut: Option<CutoffBand>,
}

/// Squared distances of single precision between which a pair may be within the cut-off or beyond
/// it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutoffBand {
    /// The root of the squared distance.
    pub root: usize,
    /// The square of the cut-off.
    pub limit: f64,
    /// Up to here a pair is within the cut-off.
    pub within: f64,
    /// From here on a pair is beyond it.
    pub beyond: f64,
}

impl CutoffBand {
    /// Returns the limits for squared distances with this bound; none without a cut-off.
    fn new(job: &Job, bound: impl Fn(usize) -> Option<Bound>) -> Option<Option<Self>> {
        let (Some(root), Some(limit)) = (job.cutoff_root, job.space.cutoff_squared()) else {
            return Some(None);
        };
        let b = bound(root)?;
        let gap = 1.01 * (b.abs + b.rel * limit) + f64::from(f32::MIN_POSITIVE);
        // Numbers of single precision, no nearer to the limit than the error.
        let within = f64::from(((limit - gap) as f32).next_down());
        let beyond = f64::from(((limit + gap) as f32).next_up());
        Some(Some(CutoffBand {
            root,
            limit,
            within,
            beyond,
        }))
    }
}

impl Filter {
    /// A condition has no error of its own: its comparisons have bands each.
    const PREDICATE: Filter = Filter {
        absolute: 0.0,
        relative: 0.0,
        least: f64::NEG_INFINITY,
        most: f64::INFINITY,
        predicate: true,
        cut: None,
    };
    /// The bound of the value.
    fn bound(&self) -> Bound {
        Bound {
            lo: self.least,
            hi: self.most,
            abs: self.absolute,
            rel: self.relative,
        }
    }
}

impl Sweeps {
    /// Returns the sweeps of every fold of `job`, with the facts of its `rows`; without facts,
    /// those for rows that a filter serves. `None` if the host folds.
    ///
    /// # Errors
    /// `Request` for choices that do not go together.
    pub fn choose_all(
        job: &Job,
        common: Common,
        overrides: &Overrides,
        rows: Option<&RowFacts>,
    ) -> Result<Option<Vec<Sweeps>>> {
        if !folds(job) {
            return Ok(None);
        }
        let one = |part: &Job| Self::choose(part, common, overrides, rows);
        parts(job).iter().map(|part| one(part)).collect()
    }
    /// Returns the sweeps that fold `job`, a job of one fold.
    ///
    /// # Errors
    /// `Request` for choices that do not go together.
    fn choose(
        job: &Job,
        common: Common,
        overrides: &Overrides,
        rows: Option<&RowFacts>,
    ) -> Result<Option<Sweeps>> {
        let first = job.folds.first().and_then(Swept::for_fold);
        let Some(fold) = first.filter(|_| folds(job)) else {
            return Ok(None);
        };
        let ranges = rows.map(|rows| &rows.ranges);
        let (products, filter) = filters(job, overrides, rows)?;
        // Sums of f32 inputs round anyway; sums of exponentials do if their exponents are exact
        // enough.
        // Neither needs a filter: no decision depends on the last bits of a sum.
        let single = sums_single(job)
            || ranges.map_or(exponents(job), |ranges| exponents_single(job, ranges));
        let precision = if filter.is_some() || single {
            Precision::F32
        } else {
            Precision::F64
        };
        let widest = tree::width(job, 0).max(tree::width(job, 1));
        // The decision tree gives the shape; overrides replace single numbers of it.
        let leaf = tree::sweep(tree::SweepWork::for_job(job), widest, precision);
        let counts_first = counts_first(job, overrides);
        let input = overrides.points_input.unwrap_or(Input::Panel);
        let sides = sides(job, fold);
        let anchors: Vec<Side> = sides.iter().map(|(anchor, _)| *anchor).collect();
        let sweep = Shape {
            anchor: Side::X,
            anchors: overrides.points_anchors.map_or(leaf.anchors, |v| v.get()),
            blocks: overrides.points_blocks.map_or(leaf.blocks, |v| v.get()),
            unroll: overrides.points_unroll.map_or(leaf.unroll, |v| v.get()),
            input,
            precision,
            filter: filter.is_some(),
            domain: job.space.domain,
            clean: is_clean(job, filter, ranges),
            fast: single,
            near: filter.is_some()
                && ranges.is_some_and(|ranges| own_bounds(job, ranges).is_near()),
            load: 1,
            balanced: false,
            tiled: match products {
                Some(_) => Some(PairTiles::for_products(job, &anchors, common, overrides)?),
                None => None,
            },
            copies: 0,
            listed: false,
        };
        let passes = sides
            .into_iter()
            .map(|side| sweep.of_side(side, job, common, overrides))
            .collect::<Result<Vec<_>>>()?;
        Ok(Some(Sweeps {
            filter,
            ranges: ranges.cloned(),
            products: products.cloned(),
            counts_first,
            fast_bins: overrides.bins == Some(Bins::Fast),
            reason: why(job, &passes, leaf.reason),
            passes,
        }))
    }
    /// Returns the sweeps over runs of panels, which bounds leave open, by blocks of these anchors a
    /// thread: those of a group.
    pub(super) fn listed(mut self, anchors: usize) -> Self {
        for pass in &mut self.passes {
            pass.listed = true;
            pass.anchors = anchors;
            // Runs have few pairs of a block's own rows.
            pass.balanced = false;
        }
        self
    }
    /// Returns whether values come from register-blocked tiles.
    pub fn is_tiled(&self) -> bool {
        self.passes.iter().any(|pass| pass.tiled.is_some())
    }
    /// Returns whether rows r and r + 8 of x are packed in pairs.
    pub fn has_paired_rows(&self) -> bool {
        let paired =
            |pass: &Shape| matches!(pass.tiled, Some(PairTiles::Products { paired: true, .. }));
        self.passes.iter().all(paired)
    }
    /// Returns how matrix units take rows, if they filter pairs.
    pub fn units(&self) -> Option<MatrixUnits> {
        self.passes
            .iter()
            .find_map(|pass| pass.tiled.and_then(PairTiles::units))
    }
    /// Returns the bounds of the values of `job`, where the rows are known.
    pub fn bounds<'j>(&self, job: &'j Job) -> Option<Bounds<'j>> {
        let ranges = self.ranges.as_ref()?;
        Some(bounds(job, ranges, self.products.as_ref()))
    }
    /// Returns how single precision decides the bins of every axis of the histogram `h` of `job`;
    /// none where double precision does.
    pub fn bands(&self, job: &Job, h: &Histogram) -> Option<Vec<Band>> {
        let filter = self.filter?;
        let bounds = self.bounds(job);
        bands(h, self.fast_bins, |root| match &bounds {
            // A plan without the rows assumes any.
            None => Some(filter.bound()),
            Some(bounds) => bounds.get(job.low.formula.roots[root]),
        })
    }
}

/// How the kernel of one side is built.
///
/// Each field is a number of the emitted kernel; overrides replace some of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// The side whose rows are anchors.
    pub anchor: Side,
    /// Anchors a thread.
    pub anchors: usize,
    /// Blocks that should fit a multiprocessor.
    pub blocks: usize,
    /// Steps of whole panels in a row without a jump.
    pub unroll: usize,
    /// How rows that are short reach the arithmetic; long ones always come from device memory.
    pub input: Input,
    /// Type of the sweep.
    pub precision: Precision,
    /// Whether values are candidates only, decided by `zf_exact` in double precision; then NaN and
    /// cut-offs are not looked for.
    pub filter: bool,
    /// Pairs that are visited.
    pub domain: Domain,
    /// Whether every pair counts: no cut-off, and no value can be NaN. The loop then has no test.
    pub clean: bool,
    /// Exponentials by the special function unit.
    pub fast: bool,
    /// Where a filter looks at minimum images, none is more than one box away.
    pub near: bool,
    /// Numbers of a load.
    pub load: usize,
    /// Pairs of a block's own rows are shared evenly by its threads.
    pub balanced: bool,
    /// The tiles that compute pairs, if they do.
    pub tiled: Option<PairTiles>,
    /// Private copies of the counters of a block; none where they are in device memory, or there
    /// are none.
    pub copies: usize,
    /// A block takes its part of a list of runs of panels, which bounds leave open.
    pub listed: bool,
}

impl Shape {
    /// The kernel whose anchors are the rows of one side, over the pairs that it visits.
    ///
    /// # Errors
    /// `Request` for choices that do not go together.
    fn of_side(
        self,
        (anchor, domain): (Side, Domain),
        job: &Job,
        common: Common,
        overrides: &Overrides,
    ) -> Result<Shape> {
        let runtime = common.runtime;
        shuffles(self.input, runtime)?;
        room(job, anchor, self.input, (self.anchors, self.precision))?;
        let shape = Shape {
            anchor,
            domain,
            load: load_width(self.precision, overrides)?,
            balanced: is_balanced(job, overrides)?,
            ..self
        };
        let shape = match shape.tiled {
            Some(_) => Shape {
                anchors: 1,
                ..shape
            },
            None if is_tiled(job, overrides, &shape)? => tiled(job, runtime, overrides, shape),
            None => shape,
        };
        // Counters and sums get what shared memory others leave.
        let copies = if let Fold::Histogram(h) = &job.folds[0] {
            private_words(h).map_or(0, |words| {
                let most = match shape.tiled {
                    None => common.requestable,
                    Some(_) => SHARED_MEMORY,
                };
                let others = next_to_counters(&job.low, h, &shape);
                let room = |bytes: usize| bytes.saturating_sub(others);
                copies(words, runtime, overrides, [SHARED_MEMORY, most].map(room))
            })
        } else {
            0
        };
        Ok(Shape { copies, ..shape }.scattered(job, overrides))
    }
}

impl Shape {
    /// Whether counters are in device memory.
    fn is_scattered(&self, job: &Job) -> bool {
        self.copies == 0 && self.tiled.is_none() && matches!(job.folds[0], Fold::Histogram(_))
    }
    /// The shape for counters in device memory, if they are there.
    fn scattered(self, job: &Job, overrides: &Overrides) -> Shape {
        if !self.is_scattered(job) {
            return self;
        }
        let leaf = scattered(job, &self);
        Shape {
            anchors: overrides.points_anchors.map_or(leaf.anchors, |v| v.get()),
            blocks: overrides.points_blocks.map_or(leaf.blocks, |v| v.get()),
            unroll: overrides.points_unroll.map_or(leaf.unroll, |v| v.get()),
            ..self
        }
    }
}

/// Why the kernels of `passes` are built so; `leaf` is what the decision tree says of sweeps whose
/// state is near.
fn why(job: &Job, passes: &[Shape], leaf: &'static str) -> &'static str {
    let far = passes.iter().find(|pass| pass.is_scattered(job));
    match (passes.iter().find_map(|pass| pass.tiled), far) {
        (Some(tiles), _) => tiles.reason(),
        (None, Some(pass)) => scattered(job, pass).reason,
        (None, None) => leaf,
    }
}

/// The leaf of the decision tree for counters in device memory.
fn scattered(job: &Job, shape: &Shape) -> tree::Sweep {
    let widest = tree::width(job, 0).max(tree::width(job, 1));
    tree::sweep(tree::SweepWork::Scattered, widest, shape.precision)
}

/// Returns the words of shared memory that one copy of the counters and sums of `h` takes; none if
/// its sums have too many words.
pub(crate) fn private_words(h: &Histogram) -> Option<usize> {
    let sums = BinSums::for_histogram(h)?.private()?;
    Some(h.cells().saturating_mul(1 + sums))
}

/// Returns the bytes of counters and sums of `h` that the launch of a kernel requests, where they do
/// not fit next to rows, tables and waiting pairs without a request, or would leave them little.
pub fn requested(low: &Lowered, h: &Histogram, shape: &Shape) -> Option<usize> {
    if shape.tiled.is_some() || shape.copies == 0 {
        return None;
    }
    // One place more per copy.
    let bytes = (private_words(h)? + 1) * shape.copies * 4;
    let is_large = bytes + tables(h, shape) > tree::SHARED + 4
        || bytes + next_to_counters(low, h, shape) > SHARED_MEMORY;
    is_large.then_some(bytes)
}

/// Bytes of shared memory that rows, tables of edges and waiting pairs take next to counters.
fn next_to_counters(low: &Lowered, h: &Histogram, shape: &Shape) -> usize {
    shared_rows(low, shape) + WAITING + tables(h, shape)
}

/// Bytes of the tables in which single precision looks up edges.
fn tables(h: &Histogram, shape: &Shape) -> usize {
    if shape.filter { Cells::bytes(h) } else { 0 }
}

/// Returns whether rows of `width` numbers are kept in registers.
pub fn is_short(width: usize) -> bool {
    width <= tree::HELD
}

/// Returns the bytes of shared memory that rows take in a sweep of this shape.
pub fn shared_rows(low: &Lowered, shape: &Shape) -> usize {
    let width = |side: usize| low.row_vectors[side].len() * low.dim + low.row_scalars[side].len();
    let (at, other) = (shape.anchor as usize, 1 - shape.anchor as usize);
    // Whether a panel of others is copied to shared memory, and whether anchors are, too.
    let others = if matches!(shape.input, Input::Panel | Input::Both) {
        1
    } else {
        0
    };
    let anchors = if shape.input == Input::Both {
        shape.anchors
    } else {
        0
    };
    // Long rows stay in device memory.
    let row = |side: usize| {
        if is_short(width(side)) {
            width(side).max(1)
        } else {
            0
        }
    };
    (row(other) * others + row(at) * anchors) * THREADS * shape.precision.bytes()
}

/// Components of a slice of a tile, and slices that are copied ahead.
const SLICE: usize = 16;
const STAGES: usize = 2;

/// Returns `shape` with register-blocked tiles that compute its values.
fn tiled(job: &Job, runtime: Runtime, overrides: &Overrides, shape: Shape) -> Shape {
    // Loop and fold shall fit the instruction cache together, and the registers. Lists of
    // neighbours leave none of these for a longer loop.
    let along = if matches!(tree::SweepWork::for_job(job), tree::SweepWork::Best(_)) {
        1
    } else {
        4
    };
    let unroll = overrides.points_unroll.map_or(along, |v| v.get());
    // Fold and loop share the registers and the instruction cache, so tiles are smaller than a
    // matrix's.
    let slice = matrix::pipe_slice(&job.low, Precision::F32, STAGES).min(SLICE);
    let copy = if runtime == Runtime::Cuda {
        Copying::Pipe(STAGES)
    } else {
        Copying::Ahead
    };
    let tile = matrix::MatrixShape {
        precision: Precision::F32,
        slice,
        copy,
        across: 16,
        blocks: 2,
        map: Placing::CROSS,
        mirror: false,
        load: shape.load,
        unroll: unroll.min(slice),
    };
    Shape {
        anchors: 1,
        unroll,
        tiled: Some(PairTiles::Registers(tile)),
        ..shape
    }
}

/// Returns whether the values of `job` come from register-blocked tiles: rows too wide for
/// registers, and a fold that takes values from tiles.
fn is_tiled(job: &Job, overrides: &Overrides, shape: &Shape) -> Result<bool> {
    // The fold takes values from tiles, the formula is one loop, and no pair needs a test.
    let fits = tree::tiles(job)
        && matrix::fits(job)
        && shape.clean
        && shape.precision == Precision::F32
        && !shape.balanced;
    let fits =
        fits && (shape.filter || matches!(&job.folds[0], Fold::Reduce(f) if f.op == ReduceOp::Sum));
    let fits = fits && !counts_first(job, overrides);
    // By default only for rows too wide for registers: there a sweep reads every row from memory.
    match overrides.fold_tiles {
        None => Ok(fits && tree::is_wide(job)),
        // Products that serve were taken before.
        Some(FoldTiles::Sweep | FoldTiles::Matrix) => Ok(false),
        Some(FoldTiles::Dense) if fits => Ok(true),
        Some(FoldTiles::Dense) => {
            let e = Error::request("this fold does not take its pairs from dense tiles")
                .at_place(Opt::Set.like("fold.tiles"));
            Err(e.remedy("sweep; dense is for sums, counts, extremes, neighbours, histograms and joins without values, of finite single-precision rows of 8 components or more"))
        }
    }
}

/// Returns whether the pairs of a block's own rows are shared evenly by its threads, the
/// load-balanced diagonal of the two-body paper.
///
/// Only a histogram may share them: its counters belong to no thread.
fn is_balanced(job: &Job, overrides: &Overrides) -> Result<bool> {
    match overrides.tile_diagonal {
        None | Some(Diagonal::Plain) => Ok(false),
        Some(Diagonal::Balanced)
            if job.space.is_triangular() && matches!(job.folds[0], Fold::Histogram(_)) =>
        {
            Ok(true)
        }
        Some(Diagonal::Balanced) => {
            let e = Error::request("no diagonal whose pairs any thread may take")
                .at_place(Opt::Set.like("tile.diagonal"));
            Err(e.remedy(format!(
                "plain; balanced is for histograms of half spaces, {} or {}",
                Opt::Domain.to("triangle"),
                Opt::Domain.to("diagonal")
            )))
        }
    }
}

/// Threads of a block.
pub const THREADS: usize = 128;
/// Bytes of shared memory that a block of any device has without a special request. Asking for more
/// would leave room for fewer blocks.
const SHARED_MEMORY: usize = 48 << 10;

/// Refuses anchors in shared memory that do not fit there together with a panel of others and
/// counters.
fn room(
    job: &Job,
    anchor: Side,
    input: Input,
    (anchors, precision): (usize, Precision),
) -> Result<()> {
    let rows = [anchors, 1].map(|rows| rows * THREADS * precision.bytes());
    let at = anchor as usize;
    let bytes = tree::width(job, at) * rows[0] + tree::width(job, 1 - at) * rows[1];
    // Counters, or the queues of candidates.
    let taken = if matches!(job.folds[0], Fold::Histogram(_)) {
        tree::SHARED + WAITING
    } else {
        tree::SHARED / 2
    };
    let most = SHARED_MEMORY - taken;
    if input != Input::Both || bytes <= most {
        return Ok(());
    }
    let e = Error::request(format!(
        "{anchors} anchors a thread and a panel of others take {bytes} bytes"
    ));
    let e = e
        .at_place(Opt::Set.like("points.input"))
        .limit(format!("{most} bytes of shared memory"));
    Err(e.remedy(format!(
        "fewer {}, or {}",
        Opt::Set.like("points.anchors"),
        Opt::Set.to("points.input=panel")
    )))
}

/// Returns which sides are anchors, over which pairs. A pair of a triangular domain that counts for
/// both of its rows takes two sweeps: x as anchors, then y.
///
/// Two sweeps compute each value twice. Crediting the other row from one sweep would need an atomic
/// for each pair.
fn sides(job: &Job, fold: Swept<'_>) -> Vec<(Side, Domain)> {
    let domain = job.space.domain;
    // x as anchors over the domain as it is, then y as anchors over pairs off the diagonal, which
    // the first sweep has counted.
    let both = vec![(Side::X, domain), (Side::Y, Domain::Triangle)];
    let half = job.space.is_triangular();
    match fold {
        Swept::Reduce(f) if f.credits_both(half) => both,
        Swept::Nearest(_) if half => both,
        Swept::Join(f) if f.kind != JoinKind::Inner && half => both,
        Swept::Reduce(f) if f.axis == ReduceAxis::Column => vec![(Side::Y, domain)],
        Swept::Reduce(_)
        | Swept::Nearest(_)
        | Swept::Join(_)
        | Swept::Histogram(_)
        | Swept::Extremes(_) => vec![(Side::X, domain)],
    }
}

/// Returns whether sums run in single precision: inputs in f32. Panels are added in double
/// precision, so errors do not grow with the number of rows.
pub fn sums_single(job: &Job) -> bool {
    let sums =
        |f: &Fold| matches!(f, Fold::Reduce(f) if matches!(f.op, ReduceOp::Sum | ReduceOp::Mean));
    job.precision == Precision::F32
        && job.cutoff_root.is_none()
        && folds(job)
        && job.folds.iter().all(sums)
}

/// The largest error of an exponent with which single precision serves: it is the relative error of
/// its term. Inputs of f32 have themselves errors of 6 · 10⁻⁸ in a number, and exponents of some
/// tens.
const EXPONENT: f64 = 2e-6;

/// Returns whether `job` sums exponentials of single-precision inputs.
fn exponents(job: &Job) -> bool {
    let [Fold::Reduce(f)] = job.folds.as_slice() else {
        return false;
    };
    let single = job.precision == Precision::F32 && job.cutoff_root.is_none() && !job.low.periodic;
    single && matches!(f.op, ReduceOp::Logsumexp | ReduceOp::Softmax)
}

/// Returns whether these sums run in single precision: exponents are exact enough for the ranges of
/// the rows.
fn exponents_single(job: &Job, ranges: &[Ranges; 2]) -> bool {
    let [Fold::Reduce(f)] = job.folds.as_slice() else {
        return false;
    };
    if !exponents(job) {
        return false;
    }
    let bounds = own_bounds(job, ranges);
    // The largest error over the range: absolute part and relative part at the largest value.
    let error = |b: Bound| b.abs + b.rel * b.lo.abs().max(b.hi.abs());
    bounds
        .get(job.low.formula.roots[f.root])
        .is_some_and(|b| error(b) <= EXPONENT)
}

/// Returns whether single precision may tell which pairs a cut-off leaves to `fold`: where it marks
/// pairs for double precision, and no row counts its pairs.
fn takes_cut(fold: Swept<'_>) -> bool {
    match fold {
        Swept::Histogram(_) | Swept::Nearest(_) => true,
        Swept::Join(f) => f.is_inner(),
        Swept::Reduce(f) => f.op == ReduceOp::Count,
        Swept::Extremes(_) => false,
    }
}

/// Returns the root that single precision may filter, and whether it is a predicate. Double
/// precision on devices must have the bits of the reference.
pub fn filtered(job: &Job) -> Option<(usize, bool)> {
    if !is_exact(&job.low) {
        return None;
    }
    let fold = Swept::for_fold(&job.folds[0])?;
    if job.cutoff_root.is_some() && !takes_cut(fold) {
        return None;
    }
    // Extremes, counts, neighbours, histograms and joins without values decide; others add.
    match fold {
        Swept::Reduce(f) if is_extreme(f) => Some((f.root, false)),
        Swept::Reduce(f) if f.op == ReduceOp::Count => Some((f.root, true)),
        Swept::Nearest(f) => Some((f.root, false)),
        // A mean takes every value in double precision, as formulas do.
        Swept::Histogram(h) if !h.mean && !h.sums_formulas() && bins::decides(h) => {
            Some((h.axes[0].root, false))
        }
        Swept::Join(f) if f.value.is_none() => Some((f.root, true)),
        Swept::Reduce(_) | Swept::Histogram(_) | Swept::Join(_) | Swept::Extremes(_) => None,
    }
}

/// Returns the products that give the values of `job`, if they serve, and how single precision or
/// they filter its pairs. Without facts the plan assumes rows that a filter can serve; the real rows
/// decide before the run.
///
/// # Errors
/// Those of [`products`].
fn filters<'r>(
    job: &Job,
    overrides: &Overrides,
    rows: Option<&'r RowFacts>,
) -> Result<(Option<&'r Products>, Option<Filter>)> {
    let products = match rows {
        Some(rows) => products(job, overrides, rows)?,
        None => None,
    };
    let found = match rows {
        _ if overrides.filter == Some(Choice::Off) => None,
        Some(rows) => filter(job, &bounds(job, &rows.ranges, products)),
        None => filtered(job).map(|_| Filter {
            cut: CutoffBand::new(job, |_| Some(Bound::EXACT)).flatten(),
            ..Filter::PREDICATE
        }),
    };
    Ok((products, found))
}

/// Returns the bounds of the values of `job` over rows of these ranges, from `products` if there are
/// some.
fn bounds<'j>(job: &'j Job, ranges: &[Ranges; 2], products: Option<&Products>) -> Bounds<'j> {
    match products {
        Some(products) => products.bounds(&job.low, ranges),
        None => own_bounds(job, ranges),
    }
}

/// Returns the bounds of the values of `job` over rows of these ranges, pair by pair.
fn own_bounds<'j>(job: &'j Job, ranges: &[Ranges; 2]) -> Bounds<'j> {
    Bounds::new(&job.low, ranges.clone(), job.periodic_box.as_ref())
}

/// Returns the products of rounded rows that filter the pairs of `job`: where its fold decides, and
/// they leave few pairs open, or where `overrides` ask for them.
///
/// # Errors
/// `Request` where they were requested and cannot serve.
fn products<'r>(
    job: &Job,
    overrides: &Overrides,
    rows: &'r RowFacts,
) -> Result<Option<&'r Products>> {
    let asked = overrides.fold_tiles == Some(FoldTiles::Matrix);
    let fits = tree::tiles(job)
        && !counts_first(job, overrides)
        && overrides.filter != Some(Choice::Off)
        && job.cutoff_root.is_none()
        && !is_balanced(job, overrides)?;
    let found = rows.products.as_ref().filter(|_| fits);
    let found = found.filter(|products| {
        let bounds = products.bounds(&job.low, &rows.ranges);
        filter(job, &bounds).is_some() && (asked || products.decide(job, &bounds))
    });
    if asked && found.is_none() {
        let e = Error::request("products of rounded rows do not give the values of this fold")
            .at_place(Opt::Set.like("fold.tiles"));
        return Err(e.remedy("dense or sweep; matrix is for neighbours, extremes, counts and joins without values by inner products or squared differences of 16 and more components"));
    }
    Ok(found)
}

/// Returns what single precision can filter for values of these bounds: a root with a bound, while
/// every other root is a finite number, since filters do not look for NaN.
fn filter(job: &Job, bounds: &Bounds<'_>) -> Option<Filter> {
    let (root, predicate) = filtered(job)?;
    let roots = &job.low.formula.roots;
    // Roots that no fold uses may be anything that is derived from the same bounded value (its
    // square root, say).
    let others = (0..roots.len()).filter(|at| *at != root);
    if !others.into_iter().all(|at| bounds.get(roots[at]).is_some()) {
        return None;
    }
    let cut = CutoffBand::new(job, |root| bounds.get(roots[root]))?;
    // Each comparison inside a predicate has a band of its own, made when the kernel is emitted.
    if predicate {
        // A NaN inside the predicate would be an error or a skip: all operands must be bounded.
        let decides = bounds.decides(roots[root]) && bounds.covers(roots[root]);
        return decides.then_some(Filter {
            cut,
            ..Filter::PREDICATE
        });
    }
    let b = bounds.get(roots[root])?;
    let found = Filter {
        absolute: b.abs,
        relative: b.rel,
        least: b.lo,
        most: b.hi,
        predicate,
        cut,
    };
    let Fold::Histogram(h) = &job.folds[0] else {
        return Some(found);
    };
    // The bands of these rows decide, not the kind of question.
    bands(h, false, |root| bounds.get(roots[root]))?
        .iter()
        .all(Band::pays)
        .then_some(found)
}

/// Returns the bands of the axes of `h`, a histogram of `job`; `bound` has those of roots.
fn bands(h: &Histogram, fast: bool, bound: impl Fn(usize) -> Option<Bound>) -> Option<Vec<Band>> {
    let one = |axis: &Axis| Band::of_axis(axis, &bound(axis.root)?, fast);
    h.axes.iter().map(one).collect()
}

/// Returns whether every pair counts: nothing is beyond a cut-off, and no value is NaN. Without
/// ranges the rows are taken to have none.
///
/// A filter's candidates are looked at again, so its loop need not test for NaN.
fn is_clean(job: &Job, filter: Option<Filter>, ranges: Option<&[Ranges; 2]>) -> bool {
    let Some(ranges) = ranges.filter(|_| job.cutoff_root.is_none() && filter.is_none()) else {
        return job.cutoff_root.is_none();
    };
    let bounds = own_bounds(job, ranges);
    // An exponential may be too inexact to have a bound, and is a number all the same if it does
    // not overflow.
    let number = |id: Id| match job.low.formula.node(id) {
        Node::Unary(Unary::Exp, a) => bounds.get(*a).is_some_and(|a| a.hi < 80.0),
        _ => bounds.is_finite(id),
    };
    job.low.formula.roots.iter().all(|r| number(*r))
}

/// Returns whether a row keeps one of its values.
pub fn is_extreme(f: &Reduce) -> bool {
    matches!(
        f.op,
        ReduceOp::Min | ReduceOp::Max | ReduceOp::Argmin | ReduceOp::Argmax
    )
}

/// Returns whether a join counts its matches first and writes them with a second kernel. It exists
/// to be compared with the buffer of pages, which is the default.
fn counts_first(job: &Job, overrides: &Overrides) -> bool {
    let inner = matches!(&job.folds[0], Fold::Join(f) if f.kind == JoinKind::Inner);
    inner && overrides.join_output == Some(JoinOutput::Count)
}

/// Refuses shuffles between threads if the runtime has none.
fn shuffles(input: Input, runtime: Runtime) -> Result<()> {
    if input != Input::Shuffle || runtime == Runtime::Cuda {
        return Ok(());
    }
    let e = Error::request("this device has no shuffles between threads")
        .at_place(Opt::Set.like("points.input"));
    Err(e.remedy("panel, cache or both"))
}

/// Bytes of shared memory in which the pairs of a histogram wait for double precision.
pub const WAITING: usize = 2304;

/// Returns the private copies of a block's counters where `room` bytes are left for them without a
/// request, and with one; 0 if counters are in device memory.
fn copies(counters: usize, runtime: Runtime, overrides: &Overrides, room: [usize; 2]) -> usize {
    let default = match tree::counters(counters, runtime == Runtime::Cuda) {
        tree::Counters::Private(copies) => copies,
        // One copy is far faster than device memory, also where few blocks fit.
        tree::Counters::Global => 1,
    };
    let asked = overrides.hist_copies.map_or(default, |copies| copies.get());
    // Four bytes a counter, with one place more per copy.
    let fit = |room: usize| room / 4 / (counters + 1);
    // As many as fit, where fewer were requested than that.
    asked.min(fit(tree::SHARED.min(room[0])).max(fit(room[1]).min(1)))
}
