//! Family *points*: folds on the device. Anchors are rows of x, of y, or of both in turn for half spaces, where a cell is
//! credited to its row and to its column.

use crate::bound::{Bounds, Ranges};
use crate::emit::folds::{self, Band};
use crate::emit::nearest;
use crate::emit::pair::RootText;
use crate::emit::select::{self, Output, Truth};
use crate::emit::strip::{self, Known};
use crate::emit::sweep::{self, FoldText, Shape, THREADS};
use crate::emit::{dense, header, loads, pair};
use crate::rows::{self, Loaded, Rows};
use crate::runtime::{Arg, Device, Grid, Kernel, Memory};
use rayon::prelude::*;
use std::ops::Range;
use zipfold_core::fold::rows::{Along, RowState};
use zipfold_core::fold::{
    Fold, Histogram, HistogramState, NearestState, RowFold, RowOp, RowPiece, SelectKind, SelectState, State, Tally,
};
use zipfold_core::pair::tree::{Id, Node, Side, Unary};
use zipfold_core::{Cells, Error, Job, Precision, Result};
use zipfold_plan::device::Runtime;
use zipfold_plan::executor::Folded;
use zipfold_plan::overrides::{self, Bins, Diagonal, FoldTiles, Input, SelectOutput};
use zipfold_plan::sweep as tree;
use zipfold_plan::tiles::credited;
use zipfold_plan::{Plan, Tile};

/// Slots of a page of matches.
pub(crate) const PAGE: usize = 8192;
/// Bytes of shared memory that a block of any device has without asking for more.
const SHARED_MEMORY: usize = 48 << 10;
pub(crate) const NONE: u32 = u32::MAX;

/// A compiled sweep of one side.
pub(crate) struct Pass {
    pub(crate) kernel: Kernel,
    /// Puts matches where they belong, after a count by `kernel`.
    pub(crate) place: Option<Kernel>,
    pub(crate) shape: Shape,
}

/// A fold on the device.
pub struct Points<'j> {
    job: &'j Job,
    passes: Vec<Pass>,
    /// Weights, or compared edges.
    extra: Memory,
    /// Whether values in single precision are candidates only.
    pub filtered: bool,
}

/// Whether the device folds `job` itself.
pub fn folds(job: &Job) -> bool {
    zipfold_plan::device::folds(job)
}

/// How single precision serves the fold: its bound, or none.
struct Filter {
    abs: f64,
    rel: f64,
    /// The least value.
    least: f64,
    /// The largest value.
    most: f64,
    truth: Option<Truth>,
}

impl<'j> Points<'j> {
    /// Compiles the sweeps of `job`; none where the fold is the host's.
    ///
    /// # Errors
    /// Those of the device.
    pub fn load(job: &'j Job, plan: &Plan, device: &Device, ranges: Option<&[Ranges; 2]>) -> Result<Option<Self>> {
        if !folds(job) {
            return Ok(None);
        }
        let mut passes = vec![];
        for (shape, source) in sources(job, plan, device.facts.runtime, ranges)? {
            let names = if counts_first(job, plan) { &["zf_sweep", "zf_put"][..] } else { &["zf_sweep"] };
            let mut kernels = device.compile(&source, names)?.into_iter();
            let kernel = kernels.next().ok_or_else(|| Error::internal("no kernel was compiled"))?;
            passes.push(Pass { kernel, place: kernels.next(), shape });
        }
        let extra: Vec<f64> = match &job.folds[0] {
            Fold::Rows(f) => f.weights.clone().unwrap_or_default(),
            Fold::Histogram(h) => h.axes.iter().flat_map(|a| a.compared.iter().copied()).collect(),
            _ => vec![],
        };
        let filtered = passes.iter().any(|p| p.shape.filter);
        Ok(Some(Points { job, passes, extra: device.upload(&extra)?, filtered }))
    }
    /// Folds the cells of consecutive `tiles`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn run(&self, device: &Device, rows: &Rows<'_>, tiles: &[Tile]) -> Result<Folded> {
        let mut state = self.job.folds[0].part(&credited(&self.job.space, tiles));
        let mut tally = Tally::default();
        rows.each(device, tiles, &mut |tile, loaded| {
            // The side of columns first: their pieces precede those of rows.
            for (at, pass) in self.passes.iter().enumerate().rev() {
                let mut seen = self.sweep(device, loaded, pass, tile, &mut state)?;
                if at == 0 {
                    seen.counted = self.job.space.count(&tile.rows, &tile.cols) - seen.far - seen.nan;
                    tally.merge(&seen);
                }
            }
            Ok(())
        })?;
        Ok(Folded { states: vec![state], tally })
    }
    fn sweep(&self, device: &Device, loaded: &Loaded, pass: &Pass, tile: &Tile, state: &mut State) -> Result<Tally> {
        let job = self.job;
        let (anchors, others) = match pass.shape.anchor {
            Side::X => (&tile.rows, &tile.cols),
            Side::Y => (&tile.cols, &tile.rows),
        };
        if anchors.is_empty() || others.is_empty() {
            return Ok(Tally::default());
        }
        let rows = pass.shape.anchors * THREADS as usize;
        let groups = anchors.len().div_ceil(rows);
        let span = tree::span(job)
            .unwrap_or_else(|| span(&job.folds[0], pass.shape.tiled, device.facts.units, groups, others.len()));
        let spans = others.len().div_ceil(span);
        let grid = Grid { x: groups as u32, y: spans as u32, threads: THREADS };
        let launch = Launch { device, loaded, pass, anchors, others, span, grid, extra: &self.extra };
        match (&job.folds[0], state) {
            (Fold::Rows(f), State::Rows(s)) => launch.rows(f, s),
            (Fold::Nearest(f), State::Nearest(s)) => launch.nearest(f, s),
            (Fold::Histogram(f), State::Histogram(s)) => launch.histogram(f, s),
            (Fold::Select(f), State::Select(s)) if f.kind == SelectKind::Inner => launch.pairs(f, s),
            (Fold::Select(f), State::Select(s)) => launch.matched(f, s),
            _ => Err(Error::internal("a fold with the state of another")),
        }
    }
}

/// The sources of the sweeps of `job`, for rows of these ranges.
///
/// # Errors
/// `Request` for settings that make no sense.
pub fn sources(job: &Job, plan: &Plan, runtime: Runtime, ranges: Option<&[Ranges; 2]>) -> Result<Vec<(Shape, String)>> {
    let choices = &plan.choices;
    let off = choices.filter == Some(overrides::Filter::Off);
    let filter = if off { None } else { ranges.and_then(|r| filter(job, r)) };
    let single = sums_single(job) || ranges.is_some_and(|r| exponents_single(job, r));
    let precision = if filter.is_some() || single { Precision::F32 } else { Precision::F64 };
    let mut out = vec![];
    for (anchor, cells) in sides(job) {
        let widest = tree::width(job, 0).max(tree::width(job, 1));
        let default = tree::sweep(tree::Work::of(job), widest, precision);
        let anchors = choices.points_anchors.map_or(default.anchors, |v| v.get());
        let blocks = choices.points_blocks.map_or(default.blocks, |v| v.get());
        let unroll = choices.points_unroll.map_or(default.unroll, |v| v.get());
        let input = choices.points_input.unwrap_or(Input::Panel);
        shuffles(input, runtime)?;
        room(job, anchor, input, (anchors, precision))?;
        let clean = filter.is_some() || ranges.is_some_and(|r| is_clean(job, r));
        let shape = Shape {
            anchor,
            anchors,
            blocks,
            unroll,
            input,
            precision,
            filter: filter.is_some(),
            cells,
            clean,
            fast: single,
            load: loads::chosen(plan, precision)?,
            balanced: is_balanced(job, plan)?,
            tiled: false,
        };
        let shape = match is_tiled(job, plan, &shape)? {
            true => Shape {
                anchors: 1,
                tiled: true,
                unroll: choices.points_unroll.map_or(strip::unroll(&job.folds[0]), |v| v.get()),
                ..shape
            },
            false => shape,
        };
        out.push((shape, source(job, plan, runtime, &shape, filter.as_ref())?));
    }
    Ok(out)
}

/// Whether the cells of `job` come from register-blocked tiles: rows too wide for registers, and a fold that takes them there.
fn is_tiled(job: &Job, plan: &Plan, shape: &Shape) -> Result<bool> {
    let fits =
        tree::tiles(job) && dense::fits(job) && shape.clean && shape.precision == Precision::F32 && !shape.balanced;
    let fits = fits && (shape.filter || matches!(&job.folds[0], Fold::Rows(f) if f.op == RowOp::Sum));
    let fits = fits && !counts_first(job, plan);
    match plan.choices.fold_tiles {
        None => Ok(fits && tree::is_wide(job)),
        Some(FoldTiles::Sweep) => Ok(false),
        Some(FoldTiles::Dense) if fits => Ok(true),
        Some(FoldTiles::Dense) => {
            let e = Error::request("this fold does not take its cells from dense tiles").at("--set fold.tiles");
            Err(e.remedy("sweep; dense is for sums, counts, extremes, neighbours, histograms and joins without values, of finite single-precision rows of 8 components or more"))
        }
    }
}

/// Whether the pairs of a block's own rows are shared evenly by its threads (the two-body paper's load-balanced diagonal).
fn is_balanced(job: &Job, plan: &Plan) -> Result<bool> {
    match plan.choices.tile_diagonal {
        None | Some(Diagonal::Plain) => Ok(false),
        Some(Diagonal::Balanced) if job.space.is_half() && matches!(job.folds[0], Fold::Histogram(_)) => Ok(true),
        Some(Diagonal::Balanced) => {
            let e = Error::request("no diagonal whose pairs any thread may take").at("--set tile.diagonal");
            Err(e.remedy("plain; balanced is for histograms of half spaces, --cells triangle or diagonal"))
        }
    }
}

/// Refuses anchors in shared memory that do not fit beside a panel of others and counters.
fn room(job: &Job, anchor: Side, input: Input, (anchors, precision): (usize, Precision)) -> Result<()> {
    let rows = [anchors, 1].map(|rows| rows * THREADS as usize * precision.bytes());
    let at = anchor as usize;
    let bytes = tree::width(job, at) * rows[0] + tree::width(job, 1 - at) * rows[1];
    // Counters, or the queues of candidates.
    let taken = if matches!(job.folds[0], Fold::Histogram(_)) { tree::SHARED } else { tree::SHARED / 2 };
    let most = SHARED_MEMORY - taken;
    if input != Input::Both || bytes <= most {
        return Ok(());
    }
    let e = Error::request(format!("{anchors} anchors a thread and a panel of others take {bytes} bytes"));
    let e = e.at("--set points.input").limit(format!("{most} bytes of shared memory"));
    Err(e.remedy("fewer --set points.anchors, or --set points.input=panel"))
}

/// Which sides are anchors, over which cells.
fn sides(job: &Job) -> Vec<(Side, Cells)> {
    let cells = job.space.cells;
    let both = vec![(Side::X, cells), (Side::Y, Cells::Triangle)];
    match &job.folds[0] {
        Fold::Rows(f) if f.credits_both(job.space.is_half()) => both,
        Fold::Nearest(_) if job.space.is_half() => both,
        Fold::Select(f) if f.kind != SelectKind::Inner && job.space.is_half() => both,
        Fold::Rows(f) if f.along == Along::Column => vec![(Side::Y, cells)],
        _ => vec![(Side::X, cells)],
    }
}

/// Sums of single-precision inputs are computed in single precision, in double precision from panel to panel.
pub fn sums_single(job: &Job) -> bool {
    let sums = |f: &Fold| matches!(f, Fold::Rows(f) if matches!(f.op, RowOp::Sum | RowOp::Mean));
    job.precision == Precision::F32 && job.near_root.is_none() && folds(job) && job.folds.iter().all(sums)
}

/// An exponent's error is the relative one of its term: single precision serves where it is proven to be this small.
const EXPONENT: f64 = 2e-6;

/// Sums of exponentials of single-precision inputs are computed in single precision where exponents are exact enough.
fn exponents_single(job: &Job, ranges: &[Ranges; 2]) -> bool {
    let [Fold::Rows(f)] = job.folds.as_slice() else { return false };
    let exponents = matches!(f.op, RowOp::Logsumexp | RowOp::Softmax);
    if !exponents || job.precision != Precision::F32 || job.near_root.is_some() || job.low.periodic {
        return false;
    }
    let bounds = Bounds::new(&job.low, ranges.clone());
    let error = |b: crate::bound::Bound| b.abs + b.rel * b.lo.abs().max(b.hi.abs());
    bounds.get(job.low.formula.roots[f.root]).is_some_and(|b| error(b) <= EXPONENT)
}

/// Others a block takes where their order does not matter: enough blocks to fill the device, enough panels in each to pay for its end.
fn span(fold: &Fold, tiled: bool, units: usize, groups: usize, others: usize) -> usize {
    let panels = others.div_ceil(128);
    // Neighbours and extremes look for candidates anew in every span: one wave of blocks.
    let wanted = match fold {
        Fold::Nearest(_) if tiled => (units * 3).div_ceil(groups).max(1),
        Fold::Nearest(_) => (units * 6).div_ceil(groups).max(1),
        _ => (units * 16).div_ceil(groups).max(1),
    };
    let least = match fold {
        Fold::Histogram(h) => (h.cells() / 64).clamp(8, 4096),
        Fold::Nearest(_) => 256,
        _ => 8,
    };
    // A block's private counters must not overflow: at most 2^20 others.
    panels.div_ceil(wanted).max(least).min(panels).min(1 << 13) * 128
}

/// What single precision can filter: one root with a bound, finite data, no cut-off.
fn filter(job: &Job, ranges: &[Ranges; 2]) -> Option<Filter> {
    if job.near_root.is_some() || job.low.periodic || !pair::is_exact(&job.low) {
        return None;
    }
    let low = &job.low;
    let bounds = Bounds::new(low, ranges.clone());
    // Every root must be a finite number, since filters do not look for NaN.
    let of = |root: usize| bounds.get(low.formula.roots[root]);
    let roots: Vec<usize> = match &job.folds[0] {
        Fold::Rows(f) if is_extreme(f) => vec![f.root],
        Fold::Rows(f) if f.op == RowOp::Count => return filter_predicate(job, f.root, &bounds),
        Fold::Nearest(f) => vec![f.root],
        Fold::Histogram(h) if h.axes.len() == 1 && folds::uniform(&h.axes[0]).is_some() => vec![h.axes[0].root],
        Fold::Select(f) if f.value.is_none() => return filter_predicate(job, f.root, &bounds),
        _ => return None,
    };
    if !all_finite(job, &bounds, &roots) {
        return None;
    }
    let b = of(roots[0])?;
    let found = Filter { abs: b.abs, rel: b.rel, least: b.lo, most: b.hi, truth: None };
    if let Fold::Histogram(h) = &job.folds[0] {
        return bin_band(&found, h, false).is_some_and(|band| band.pays(h.axes[0].bins())).then_some(found);
    }
    Some(found)
}

/// Every root is a bounded number for every pair: no NaN, and nothing beyond a cut-off.
fn is_clean(job: &Job, ranges: &[Ranges; 2]) -> bool {
    let bounds = Bounds::new(&job.low, ranges.clone());
    // An exponential may be too inexact to be bounded, and is a number all the same.
    let number = |id: Id| match job.low.formula.node(id) {
        Node::Unary(Unary::Exp, a) => bounds.get(*a).is_some_and(|a| a.hi < 80.0),
        _ => bounds.get(id).is_some(),
    };
    job.near_root.is_none() && job.low.formula.roots.iter().all(|r| number(*r))
}

/// The roots that no fold uses may be anything that is derived from the same bounded value (its square root, say).
fn all_finite(job: &Job, bounds: &Bounds<'_>, used: &[usize]) -> bool {
    let roots = &job.low.formula.roots;
    let has = |at: usize| bounds.get(roots[at]).is_some();
    (0..roots.len()).all(|at| used.contains(&at) || has(at))
}

fn filter_predicate(job: &Job, root: usize, bounds: &Bounds<'_>) -> Option<Filter> {
    let low = &job.low;
    let text = pair::pair_text(low, job.cell.as_ref(), Precision::F32);
    let name = |id| pair::operand_text(low, id, Precision::F32);
    let predicate = low.formula.roots[root];
    let truth = Truth { maybe: bounds.maybe(predicate, &name)?, sure: bounds.sure(predicate, &name) };
    let others = (0..low.formula.roots.len()).filter(|at| *at != root);
    let fine = others.into_iter().all(|at| bounds.get(low.formula.roots[at]).is_some());
    let single = text.roots.iter().all(|r| matches!(r, RootText::Numbers(n) if n.len() == 1));
    // A NaN inside the predicate would be an error or a skip: all operands must be bounded.
    let bounded = bounds.covers(predicate);
    (fine && single && bounded).then_some(Filter {
        abs: 0.0,
        rel: 0.0,
        least: f64::NEG_INFINITY,
        most: f64::INFINITY,
        truth: Some(truth),
    })
}

/// Whether a row keeps one of its values.
fn is_extreme(f: &RowFold) -> bool {
    matches!(f.op, RowOp::Min | RowOp::Max | RowOp::Argmin | RowOp::Argmax)
}

fn source(job: &Job, plan: &Plan, runtime: Runtime, shape: &Shape, filter: Option<&Filter>) -> Result<String> {
    let (band, truth) = (filter.map(|f| (f.abs, f.rel)), filter.and_then(|f| f.truth.as_ref()));
    let root;
    if shape.tiled {
        return tiled_source(job, plan, runtime, shape, filter);
    }
    let text: FoldText = match &job.folds[0] {
        Fold::Rows(f) if filter.is_some() && is_extreme(f) => {
            root = f.root;
            nearest::nearest(job, &nearest::of_rows(f), shape, band)
        }
        Fold::Rows(f) => {
            root = f.root;
            folds::rows(job, f, shape, truth)
        }
        Fold::Nearest(f) => {
            root = f.root;
            nearest::nearest(job, f, shape, band)
        }
        Fold::Histogram(h) => {
            root = h.axes[0].root;
            let copies = copies(h.cells(), plan, runtime, sweep::shared_rows(&job.low, shape));
            let fast = plan.choices.bins == Some(Bins::Fast);
            let band = filter.and_then(|f| bin_band(f, h, fast));
            folds::histogram(job, h, shape, copies, band)
        }
        Fold::Select(f) => {
            root = f.root;
            let output = if counts_first(job, plan) { Output::Count } else { Output::Pages(PAGE) };
            select::select(job, f, shape, output, truth.map(|t| t.maybe.as_str()))
        }
        _ => return Err(Error::internal("a dense fold in family points")),
    };
    let text = folds::with_tally(text, shape);
    let before = functions(job, shape, root);
    let mut kernels = sweep::kernel("zf_sweep", job, shape, &text);
    if let (Fold::Select(f), true) = (&job.folds[0], counts_first(job, plan)) {
        let text = select::select(job, f, shape, Output::Place, truth.map(|t| t.maybe.as_str()));
        kernels += &sweep::kernel("zf_put", job, shape, &folds::with_tally(text, shape));
    }
    Ok(header(runtime) + &rows::panels(job, rows::is_streamed(plan)) + &before + &kernels)
}

/// Functions that kernels call: the value in double precision where single precision filters, lists of neighbours.
fn functions(job: &Job, shape: &Shape, root: usize) -> String {
    let exact = if shape.filter { sweep::exact(job, job.cell.as_ref(), root) } else { String::new() };
    exact
        + &match &job.folds[0] {
            Fold::Rows(f) if shape.filter && is_extreme(f) => nearest::functions(&nearest::of_rows(f), shape),
            Fold::Nearest(f) => nearest::functions(f, shape),
            _ => String::new(),
        }
}

/// The source where cells come from register-blocked tiles.
fn tiled_source(job: &Job, plan: &Plan, runtime: Runtime, shape: &Shape, filter: Option<&Filter>) -> Result<String> {
    let fast = plan.choices.bins == Some(Bins::Fast);
    let (root, band) = match &job.folds[0] {
        Fold::Rows(f) => (f.root, None),
        Fold::Nearest(f) => (f.root, None),
        Fold::Select(f) => (f.root, None),
        Fold::Histogram(h) => (h.axes[0].root, filter.and_then(|f| bin_band(f, h, fast))),
        _ => return Err(Error::internal("a fold without an epilogue")),
    };
    let known = Known { bound: filter.map(|f| (f.abs, f.rel)), band, truth: filter.and_then(|f| f.truth.as_ref()) };
    let kernel = strip::kernel("zf_sweep", job, shape, runtime, (known, PAGE));
    Ok(header(runtime) + &rows::panels(job, rows::is_streamed(plan)) + &functions(job, shape, root) + &kernel)
}

/// Whether a join counts its matches first, for comparison with the buffer of pages.
fn counts_first(job: &Job, plan: &Plan) -> bool {
    let inner = matches!(&job.folds[0], Fold::Select(f) if f.kind == SelectKind::Inner);
    inner && plan.choices.select_output == Some(SelectOutput::Count)
}

/// Refuses shuffles where the runtime has none.
fn shuffles(input: Input, runtime: Runtime) -> Result<()> {
    if input != Input::Shuffle || runtime == Runtime::Cuda {
        return Ok(());
    }
    let e = Error::request("this device has no shuffles between threads").at("--set points.input");
    Err(e.remedy("panel, cache or both"))
}

fn bin_band(f: &Filter, h: &zipfold_core::fold::Histogram, fast: bool) -> Option<Band> {
    let (lo, rate) = folds::uniform(&h.axes[0])?;
    Some(Band {
        lo,
        rate,
        squared: h.axes[0].squared,
        absolute: f.abs,
        relative: f.rel,
        fast,
        least: f.least,
        most: f.most,
    })
}

/// Private copies of the counters of a block beside `taken` bytes of shared memory; none where they are in device memory.
fn copies(cells: usize, plan: &Plan, runtime: Runtime, taken: usize) -> usize {
    let default = match tree::counters(cells, runtime == Runtime::Cuda) {
        tree::Counters::Private(copies) => copies,
        tree::Counters::Global => 0,
    };
    let asked = plan.choices.hist_copies.map_or(default, |copies| copies.get());
    // As many as fit, where fewer were asked for than that.
    let room = tree::SHARED.min(SHARED_MEMORY.saturating_sub(taken));
    asked.min(room / 4 / (cells + 1))
}

/// One launch of a pass over a tile.
pub(crate) struct Launch<'l> {
    pub(crate) device: &'l Device,
    loaded: &'l Loaded,
    pub(crate) pass: &'l Pass,
    pub(crate) anchors: &'l Range<usize>,
    others: &'l Range<usize>,
    span: usize,
    pub(crate) grid: Grid,
    extra: &'l Memory,
}

impl Launch<'_> {
    fn go(&self, fold: &[Arg<'_>]) -> Result<()> {
        self.start(&self.pass.kernel, fold)
    }
    /// Starts `kernel` with the arguments of its fold.
    pub(crate) fn start(&self, kernel: &Kernel, fold: &[Arg<'_>]) -> Result<()> {
        let shape = &self.pass.shape;
        let mut args = self.loaded.inputs(shape.precision)?;
        if shape.filter {
            args.extend(self.loaded.inputs(Precision::F64)?);
        }
        args.extend_from_slice(fold);
        let bounds = [self.anchors.start, self.anchors.end, self.others.start, self.others.end, self.span];
        args.extend(bounds.map(|v| Arg::U32(v as u32)));
        self.device.launch(kernel, self.grid, &args)
    }
    fn threads(&self) -> usize {
        self.grid.x as usize * self.grid.y as usize * THREADS as usize
    }
    /// Memory for the tally; nothing seen yet.
    pub(crate) fn tally(&self) -> Result<Memory> {
        let slots = if self.pass.shape.clean { 0 } else { self.threads() };
        self.device.upload(&[0, 0, NONE, NONE].repeat(slots))
    }
    pub(crate) fn tallied(&self, memory: &Memory) -> Result<Tally> {
        let mut out = Tally::default();
        if self.pass.shape.clean {
            return Ok(out);
        }
        let mut slots = vec![0u32; self.threads() * 4];
        self.device.read(memory, &mut slots)?;
        for slot in slots.chunks_exact(4) {
            out.far += u64::from(slot[0]);
            out.nan += u64::from(slot[1]);
            if slot[2] != NONE {
                let cell = (u64::from(slot[2]), u64::from(slot[3]));
                out.first_nan = Some(out.first_nan.map_or(cell, |f| f.min(cell)));
            }
        }
        Ok(out)
    }
    /// The arguments of a fold, the tally last where the kernel keeps one.
    pub(crate) fn with<'a>(&self, mut fold: Vec<Arg<'a>>, tally: &'a Memory) -> Vec<Arg<'a>> {
        if !self.pass.shape.clean {
            fold.push(Arg::Memory(tally));
        }
        fold
    }
    fn rows(&self, f: &RowFold, state: &mut RowState) -> Result<Tally> {
        if self.pass.shape.filter && is_extreme(f) {
            return self.extremes(f, state);
        }
        let (n, spans, stride) = (self.anchors.len(), self.grid.y as usize, f.stride().max(1));
        let out = self.device.allocate(n * spans * stride * 8)?;
        let counts = self.device.allocate(n * spans * 4)?;
        let tally = self.tally()?;
        let args = vec![Arg::Memory(self.extra), Arg::Memory(&out), Arg::Memory(&counts)];
        self.go(&self.with(args, &tally))?;
        let (mut acc, mut seen) = (vec![0f64; n * spans * stride], vec![0u32; n * spans]);
        self.device.read(&out, &mut acc)?;
        self.device.read(&counts, &mut seen)?;
        let kept = f.stride();
        let counted = |op| matches!(op, RowOp::Sum | RowOp::Mean | RowOp::Logsumexp | RowOp::Softmax);
        let whole = self.pass.shape.clean && counted(f.op);
        self.push(state, |s, from, to| {
            let (a, b) = (s * n + from, s * n + to);
            let acc = if kept == 0 { vec![] } else { acc[a * stride..b * stride].to_vec() };
            let count = |lane: usize| if whole { self.cells(lane - s * n, s) } else { u64::from(seen[lane]) };
            RowPiece { start: self.anchors.start + from, acc, counts: (a..b).map(count).collect() }
        });
        self.tallied(&tally)
    }
    /// Lists of the k best of every anchor and span: values, indices.
    fn lists(&self, k: usize) -> Result<(Vec<f64>, Vec<u32>, Tally)> {
        let lanes = self.anchors.len() * self.grid.y as usize;
        let values = self.device.allocate(lanes * k * 8)?;
        let indices = self.device.allocate(lanes * k * 4)?;
        let tally = self.tally()?;
        self.go(&self.with(vec![Arg::Memory(&values), Arg::Memory(&indices)], &tally))?;
        let (mut v, mut i) = (vec![0f64; lanes * k], vec![0u32; lanes * k]);
        self.device.read(&values, &mut v)?;
        self.device.read(&indices, &mut i)?;
        Ok((v, i, self.tallied(&tally)?))
    }
    fn extremes(&self, f: &RowFold, state: &mut RowState) -> Result<Tally> {
        let near = nearest::of_rows(f);
        let (values, indices, tally) = self.lists(1)?;
        let n = self.anchors.len();
        let worst = if near.largest { f64::NEG_INFINITY } else { f64::INFINITY };
        self.push(state, |s, from, to| {
            let mut piece = RowPiece { start: self.anchors.start + from, acc: vec![], counts: vec![] };
            for lane in s * n + from..s * n + to {
                let some = indices[lane] != NONE;
                let v = if near.largest { -values[lane] } else { values[lane] };
                piece.acc.extend(if some { [v, f64::from(indices[lane])] } else { [worst, f64::INFINITY] });
                piece.counts.push(self.cells(lane - s * n, s));
            }
            piece
        });
        Ok(tally)
    }
    /// Makes the pieces of 128 anchors by threads, and adds them span by span.
    fn push(&self, state: &mut RowState, piece: impl Fn(usize, usize, usize) -> RowPiece + Sync) {
        let n = self.anchors.len();
        for s in 0..self.grid.y as usize {
            let panels = (0..n.div_ceil(128)).into_par_iter();
            let made: Vec<RowPiece> = panels.map(|p| piece(s, p * 128, (p * 128 + 128).min(n))).collect();
            made.into_iter().for_each(|p| state.push(p));
        }
    }
    /// Cells of anchor number `lane` in span `s`.
    fn cells(&self, lane: usize, s: usize) -> u64 {
        let a = self.anchors.start + lane;
        let from = self.others.start + s * self.span;
        let run = from..(from + self.span).min(self.others.end);
        let clip = |low: usize, high: usize| run.end.min(high).saturating_sub(run.start.max(low)) as u64;
        match (self.pass.shape.cells, self.pass.shape.anchor) {
            (Cells::Triangle, Side::X) => clip(a + 1, usize::MAX),
            (Cells::Diagonal, Side::X) => clip(a, usize::MAX),
            (Cells::Triangle, Side::Y) => clip(0, a),
            (Cells::Diagonal, Side::Y) => clip(0, a + 1),
            (Cells::Ordered, _) => run.len() as u64 - u64::from(run.contains(&a)),
            _ => run.len() as u64,
        }
    }
    fn nearest(&self, f: &zipfold_core::fold::Nearest, state: &mut NearestState) -> Result<Tally> {
        let (values, indices, tally) = self.lists(f.k)?;
        let (n, spans) = (self.anchors.len(), self.grid.y as usize);
        let (values, indices) = (&values, &indices);
        let list = |lane: usize| {
            let places = (0..f.k).map(move |p| p * n * spans + lane);
            let some = places.take_while(|at| indices[*at] != NONE);
            some.map(|at| (values[at], u64::from(indices[at])))
        };
        let best = |row: usize| {
            let mut found: Vec<_> = (0..spans).flat_map(|s| list(s * n + row)).collect();
            if spans > 1 {
                found.sort_unstable_by(zipfold_core::fold::nearest::order);
                found.truncate(f.k);
            }
            found
        };
        let rows: Vec<_> = (0..n).into_par_iter().map(best).collect();
        state.take(f, NearestState::of_rows(self.anchors.start, rows));
        Ok(tally)
    }
    fn histogram(&self, fold: &Histogram, state: &mut HistogramState) -> Result<Tally> {
        let cells = state.counts.len();
        let low = self.device.allocate(cells * 4)?;
        let high = self.device.allocate(cells * 4)?;
        self.device.clear(&low)?;
        self.device.clear(&high)?;
        let tally = self.tally()?;
        let args = vec![Arg::Memory(self.extra), Arg::Memory(&low), Arg::Memory(&high)];
        self.go(&self.with(args, &tally))?;
        let (mut l, mut h) = (vec![0u32; cells], vec![0u32; cells]);
        self.device.read(&low, &mut l)?;
        self.device.read(&high, &mut h)?;
        for (count, (l, h)) in state.counts.iter_mut().zip(l.iter().zip(&h)) {
            *count += u64::from(*l) | u64::from(*h) << 32;
        }
        fold.gather_outside(&mut state.counts);
        self.tallied(&tally)
    }
    fn matched(&self, f: &zipfold_core::fold::Select, state: &mut SelectState) -> Result<Tally> {
        let matched = self.device.upload(&vec![0u32; self.anchors.len()])?;
        let tally = self.tally()?;
        self.go(&self.with(vec![Arg::Memory(&matched)], &tally))?;
        let mut found = vec![0u32; self.anchors.len()];
        self.device.read(&matched, &mut found)?;
        for (lane, _) in found.iter().enumerate().filter(|(_, found)| **found != 0) {
            state.absorb(f, self.anchors.start + lane, 0, None);
        }
        self.tallied(&tally)
    }
}
