//! Family *points*: folds on the device. Anchors are rows of x, of y, or of both in turn for half
//! spaces, where a pair is credited to its row and to its column.
//!
//! ```text
//! load:  for each side that is credited: text of the fold in a sweep (emit/sweep.rs) or in a strip
//!        of tiles (emit/strip.rs) → compile
//! run:   for each tile, the side of columns first
//!            grid = groups of anchors × spans of others
//!            launch; copy the states of the fold back
//!            rows: pieces by span, which are leaves of the tree of sums      neighbours: lists, merged
//!            histograms: counts that all blocks added to         joins: pages of matches, gathered
//!            tally: counted = pairs of the tile less those left out
//! ```
//!
//! Why this shape: a thread keeps the state of its anchors in registers and passes over the others,
//! so values never reach memory. Spans give a device enough thread blocks when there are few
//! anchors. Where the order matters (sums by row), a span is that of the domain, else it is what
//! fills the device.

use crate::emit::folds;
use crate::emit::header;
use crate::emit::join::{self, Output, Truth};
use crate::emit::nearest;
use crate::emit::panels;
use crate::emit::strip::{self, Known};
use crate::emit::sweep::{self, FoldText, THREADS};
use crate::pack::Layout;
pub(crate) use crate::row_pieces::NONE;
use crate::row_pieces::{AT_A_TIME, by_span, put_indices, put_values};
use crate::rows::{JobRows, Loaded, Rows};
use crate::runs::RunList;
use crate::runtime::{Arg, Device, Grid, Kernel, Memory};
use rayon::prelude::*;
use std::borrow::Cow;
use std::ops::Range;
use zipfold_core::fold::{
    BLOCK, Extremes, ExtremesState, Fold, Histogram, HistogramState, JoinKind, JoinState, Kept,
    Leaf, Nearest, NearestState, Reduce, ReduceState, RowPiece, State, SummedTerms, Tally,
};
use zipfold_core::pair::tree::Side;
use zipfold_core::{Domain, Error, Job, Precision, Result};
use zipfold_plan::Tile;
use zipfold_plan::device::Runtime;
use zipfold_plan::device::fixed::{BinSums, Fixed};
use zipfold_plan::device::open_pairs::OpenPairs;
use zipfold_plan::device::pair_tiles::PairTiles;
use zipfold_plan::device::sweeps::{CutoffBand, Shape, Sweeps, filtered, is_extreme, requested};
use zipfold_plan::executor::Folded;
use zipfold_plan::overrides::Residency;
use zipfold_plan::sweep as tree;
use zipfold_plan::swept::Swept;
use zipfold_plan::tiles::credited;

/// Slots of a page of matches.
pub(crate) const PAGE: usize = 8192;

/// A compiled sweep of one side.
pub(crate) struct Pass {
    pub(crate) kernel: Kernel,
    /// Puts matches where they belong, after a count by `kernel`.
    pub(crate) place: Option<Kernel>,
    /// Gathers matches from the pages that `kernel` wrote.
    pub(crate) gather: Option<Kernel>,
    pub(crate) shape: Shape,
}

/// A fold on the device.
pub struct Points<'j> {
    /// A job of one fold.
    pub(crate) job: Cow<'j, Job>,
    pub(crate) passes: Vec<Pass>,
    /// Weights, or compared edges and what terms of sums are multiplied by.
    pub(crate) extra: Memory,
    /// Weights of the rows of x and of y, of a histogram.
    pub(crate) weights: Option<[Memory; 2]>,
    /// How its sums are kept.
    pub(crate) sums: BinSums,
    /// Which rows of x and of y those of the tiles are, for kernels over runs that tell them.
    pub(crate) given: Option<[Memory; 2]>,
    /// Whether values in single precision are candidates only.
    pub filtered: bool,
}

impl<'j> Points<'j> {
    /// Compiles the kernels of `sweeps`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn load(
        part: Cow<'j, Job>,
        sweeps: &Sweeps,
        rows: Residency,
        device: &Device,
    ) -> Result<Self> {
        let job = part.as_ref();
        let names = if sweeps.counts_first {
            &["zf_sweep", "zf_put"][..]
        } else if is_paged(job, sweeps) {
            &["zf_sweep", "zf_gather"][..]
        } else {
            &["zf_sweep"][..]
        };
        let mut passes = vec![];
        for shape in &sweeps.passes {
            let source = source(job, sweeps, shape, device.facts.runtime, rows)?;
            let mut kernels = device.compile(&source, names)?.into_iter().peekable();
            let kernel = kernels
                .next()
                .ok_or_else(|| Error::internal("no kernel was compiled"))?;
            let kernel = match strip::dynamic(job, shape).or(counters(job, shape)) {
                Some(bytes) => kernel.with_shared(bytes)?,
                None => kernel,
            };
            passes.push(Pass {
                kernel,
                place: kernels.next_if(|_| sweeps.counts_first),
                gather: kernels.next(),
                shape: *shape,
            });
        }
        let numbers = Numbers::new(&job.folds[0], &passes);
        let extra = match numbers.single {
            true => {
                let items: Vec<f32> = numbers.extra.iter().map(|v| *v as f32).collect();
                device.upload(&items)?
            }
            false => device.upload(&numbers.extra)?,
        };
        let sums = numbers.sums;
        Ok(Points {
            sums,
            job: part,
            passes,
            extra,
            weights: None,
            given: None,
            filtered: sweeps.filter.is_some(),
        })
    }
    /// Uploads what kernels read by row: weights, and which rows those of the tiles are.
    ///
    /// # Errors
    /// Those of the device.
    pub fn arrange(&mut self, rows: &JobRows<'_>, device: &Device) -> Result<()> {
        let fold = &self.job.folds[0];
        let arranged = |weights: &[f64], side: Side| match rows.order(side) {
            None => device.upload(weights),
            Some(order) => {
                let weights = order.iter().map(|row| weights[*row as usize]);
                device.upload(&weights.collect::<Vec<_>>())
            }
        };
        let upload = |[x, y]: &[Vec<f64>; 2]| Ok([arranged(x, Side::X)?, arranged(y, Side::Y)?]);
        let weights = Numbers::new(fold, &self.passes).weights;
        self.weights = weights.map(upload).transpose()?;
        let nearest = matches!(fold, Fold::Nearest(_));
        let tells = |pass: &Pass| pass.shape.listed && (nearest || sweep::tells_nan(&pass.shape));
        if let (Some(x), Some(y)) = (rows.order(Side::X), rows.order(Side::Y))
            && self.passes.iter().any(tells)
        {
            self.given = Some([device.upload(x)?, device.upload(y)?]);
        }
        Ok(())
    }
    /// Folds the pairs of consecutive `tiles`.
    ///
    /// # Errors
    /// Those of the device.
    pub fn run(&self, device: &Device, rows: &Rows<'_>, tiles: &[Tile]) -> Result<Folded> {
        let mut state = self.job.folds[0].part(&credited(&self.job.space, tiles));
        let mut tally = Tally::default();
        rows.each(device, tiles, &mut |tile, loaded| {
            let mut leaves = vec![];
            for (at, pass) in self.passes.iter().enumerate().rev() {
                let found = (&mut state, &mut leaves);
                let mut seen = self.sweep(device, loaded, (pass, tile), found)?;
                if at == 0 {
                    let (pairs, left_out) = (
                        self.job.space.count(&tile.rows, &tile.cols),
                        seen.beyond_cutoff + seen.nan,
                    );
                    let broken = || {
                        format!("{left_out} pairs beyond the cut-off or NaN in a tile of {pairs}")
                    };
                    seen.counted = pairs
                        .checked_sub(left_out)
                        .ok_or_else(|| Error::internal(broken()))?;
                    tally.merge(&seen);
                }
            }
            self.add(leaves, &mut state);
            Ok(())
        })?;
        Ok(Folded {
            states: vec![state],
            tally,
        })
    }
    fn sweep(
        &self,
        device: &Device,
        loaded: &Loaded,
        (pass, tile): (&Pass, &Tile),
        found: Found<'_>,
    ) -> Result<Tally> {
        let job = self.job.as_ref();
        let (anchors, others) = match pass.shape.anchor {
            Side::X => (&tile.rows, &tile.cols),
            Side::Y => (&tile.cols, &tile.rows),
        };
        if anchors.is_empty() || others.is_empty() {
            return Ok(Tally::default());
        }
        let rows = pass.shape.anchors * THREADS as usize;
        let groups = anchors.len().div_ceil(rows);
        let span = tree::span(job).unwrap_or_else(|| {
            span(
                &job.folds[0],
                pass.shape.tiled.is_some(),
                device.facts.units,
                groups,
                others.len(),
            )
        });
        let spans = others.len().div_ceil(span);
        let grid = Grid {
            x: groups as u32,
            y: spans as u32,
            threads: THREADS,
        };
        self.fold(
            &Launch {
                device,
                loaded,
                pass,
                anchors,
                others,
                span,
                grid,
                extra: &self.extra,
                weights: self.weights.as_ref(),
                sums: &self.sums,
                listed: None,
                given: None,
            },
            found,
        )
    }
    /// Adds the leaves that all passes over a tile have given. They are spans of others.
    fn add(&self, leaves: Vec<Leaf>, state: &mut State) {
        if let (Fold::Reduce(fold), Some(state), Some(span)) = (
            &self.job.folds[0],
            ReduceState::within_mut(state),
            tree::span(&self.job),
        ) {
            state.push_leaves(fold, leaves, span / BLOCK);
        }
    }
    /// Launches the kernel of the fold, and adds what it finds to the state, or keeps it as leaves.
    pub(crate) fn fold(&self, launch: &Launch<'_>, (state, leaves): Found<'_>) -> Result<Tally> {
        let done = match &self.job.folds[0] {
            Fold::Reduce(f) => ReduceState::within_mut(state).map(|s| launch.rows(f, s, leaves)),
            Fold::Nearest(f) => NearestState::within_mut(state).map(|s| launch.nearest(f, s)),
            Fold::Histogram(f) => HistogramState::within_mut(state).map(|s| launch.histogram(f, s)),
            Fold::Join(f) if f.is_inner() => {
                JoinState::within_mut(state).map(|s| launch.pairs(f, s))
            }
            Fold::Join(f) => JoinState::within_mut(state).map(|s| launch.matched(f, s)),
            Fold::Extremes(f) => ExtremesState::within_mut(state).map(|s| launch.ends(f, s)),
            Fold::Dense(_)
            | Fold::Top(_)
            | Fold::Quantile(_)
            | Fold::Listed(_)
            | Fold::Grouped(_) => None,
        };
        done.unwrap_or_else(|| Err(Error::internal("a fold with the state of another")))
    }
}

/// What a fold has found: its state, and sums of spans that are not in it yet.
pub(crate) type Found<'f> = (&'f mut State, &'f mut Vec<Leaf>);

/// What the kernels of a fold read in addition to rows.
#[derive(Default)]
struct Numbers<'f> {
    /// Weights of a fold by rows, or compared edges and what terms of sums are multiplied by.
    extra: Vec<f64>,
    /// The kernels take these in single precision.
    single: bool,
    /// Weights of the rows of x and of y, of a histogram.
    weights: Option<&'f [Vec<f64>; 2]>,
    /// How its sums are kept.
    sums: BinSums,
}

impl<'f> Numbers<'f> {
    fn new(fold: &'f Fold, passes: &[Pass]) -> Self {
        match fold {
            Fold::Reduce(f) => {
                // Zeros up to a whole panel, so that loads of several never end beyond the last.
                let mut extra = f.weights.clone().unwrap_or_default();
                extra.resize(extra.len().next_multiple_of(THREADS as usize), 0.0);
                Numbers {
                    extra,
                    single: passes
                        .iter()
                        .all(|pass| pass.shape.precision == Precision::F32),
                    ..Numbers::default()
                }
            }
            Fold::Histogram(h) => {
                let sums = BinSums::for_histogram(h).unwrap_or_default();
                let units = [sums.weights, sums.values];
                let units = units.map(|fixed| fixed.map_or(1.0, |fixed| fixed.unit()));
                let edges = h.axes.iter().flat_map(|a| a.compared.iter().copied());
                Numbers {
                    extra: edges.chain(units).collect(),
                    weights: h.weights.as_ref(),
                    sums,
                    ..Numbers::default()
                }
            }
            Fold::Dense(_)
            | Fold::Nearest(_)
            | Fold::Join(_)
            | Fold::Extremes(_)
            | Fold::Top(_)
            | Fold::Quantile(_)
            | Fold::Listed(_)
            | Fold::Grouped(_) => Numbers::default(),
        }
    }
}

/// The bytes of shared memory that counters of a histogram request.
fn counters(job: &Job, shape: &Shape) -> Option<usize> {
    let [Fold::Histogram(h)] = job.folds.as_slice() else {
        return None;
    };
    requested(&job.low, h, shape)
}

/// Others a block takes where their order does not matter: enough blocks to fill the device, enough
/// panels in each to pay for its end.
fn span(fold: &Fold, tiled: bool, units: usize, groups: usize, others: usize) -> usize {
    let panels = others.div_ceil(128);
    // Neighbours and extremes look for candidates anew in every span: one wave of blocks.
    let wanted = match fold {
        Fold::Nearest(_) if tiled => (units * 3).div_ceil(groups).max(1),
        Fold::Nearest(_) => (units * 6).div_ceil(groups).max(1),
        Fold::Dense(_)
        | Fold::Reduce(_)
        | Fold::Histogram(_)
        | Fold::Join(_)
        | Fold::Extremes(_)
        | Fold::Top(_)
        | Fold::Quantile(_)
        | Fold::Listed(_)
        | Fold::Grouped(_) => (units * 16).div_ceil(groups).max(1),
    };
    let least = match fold {
        Fold::Histogram(h) => (h.cells() / 64).clamp(8, 4096),
        Fold::Nearest(_) => 256,
        Fold::Dense(_)
        | Fold::Reduce(_)
        | Fold::Join(_)
        | Fold::Extremes(_)
        | Fold::Top(_)
        | Fold::Quantile(_)
        | Fold::Listed(_)
        | Fold::Grouped(_) => 8,
    };
    // A block's private counters must not overflow: at most 2^20 others.
    panels.div_ceil(wanted).max(least).min(panels).min(1 << 13) * 128
}

/// Lists of the best of every anchor and span in the memory of a device, and the tally.
struct KeptLists {
    values: Memory,
    indices: Memory,
    tally: Memory,
}

/// The predicate in single precision, where it filters one.
fn truth(job: &Job, sweeps: &Sweeps) -> Option<Truth> {
    sweeps.filter.filter(|f| f.predicate)?;
    let (root, _) = filtered(job)?;
    let bounds = sweeps.bounds(job)?;
    Truth::recognise(&job.low, &bounds, job.low.formula.roots[root])
}

/// Whether matches leave kernels by pages, from which they are gathered.
fn is_paged(job: &Job, sweeps: &Sweeps) -> bool {
    match Swept::for_fold(&job.folds[0]) {
        Some(Swept::Join(f)) if f.kind == JoinKind::Inner => !sweeps.counts_first,
        Some(
            Swept::Reduce(_)
            | Swept::Nearest(_)
            | Swept::Histogram(_)
            | Swept::Join(_)
            | Swept::Extremes(_),
        )
        | None => false,
    }
}

/// The source of the kernel of `shape`.
///
/// # Errors
/// `Internal` for folds that devices leave to the host.
pub fn source(
    job: &Job,
    sweeps: &Sweeps,
    shape: &Shape,
    runtime: Runtime,
    rows: Residency,
) -> Result<String> {
    let fold = Swept::for_fold(&job.folds[0])
        .ok_or_else(|| Error::internal("a fold of the host on a device"))?;
    let truth = truth(job, sweeps);
    let known = Known {
        bound: sweeps.filter.map(|f| (f.absolute, f.relative)),
        bands: if let Swept::Histogram(h) = fold {
            sweeps.bands(job, h)
        } else {
            None
        },
        truth: truth.as_ref(),
        rounding: sweeps.products.as_ref().map(|products| &products.rounding),
    };
    let before = header(runtime) + &panels::panels(job, rows) + &functions(job, shape, fold);
    let before = if is_paged(job, sweeps) {
        before + &join::gather(PAGE)
    } else {
        before
    };
    if let Some(tile) = &shape.tiled {
        return Ok(before + &strip::kernel("zf_sweep", job, shape, tile, (known, PAGE)));
    }
    let cut = sweeps.filter.and_then(|filter| filter.cut);
    let of_fold = |output| {
        let text = fold_text(job, fold, shape, (&known, cut), output);
        // Histograms look at the cut-off where they place a pair.
        let own = matches!(fold, Swept::Histogram(_));
        let text = FoldText {
            cut: cut.filter(|_| !own),
            ..text
        };
        folds::with_tally(text, shape)
    };
    let first = match sweeps.counts_first {
        true => Output::Count,
        false => Output::Pages(PAGE),
    };
    let mut kernels = sweep::kernel("zf_sweep", job, shape, &of_fold(first));
    if let (Swept::Join(_), true) = (fold, sweeps.counts_first) {
        kernels += &sweep::kernel("zf_put", job, shape, &of_fold(Output::Place));
    }
    Ok(before + &kernels)
}

/// What `fold` adds to the sweep, by what is `known` of its values; matches of a join leave by
/// `output`.
fn fold_text(
    job: &Job,
    fold: Swept<'_>,
    shape: &Shape,
    (known, cut): (&Known<'_>, Option<CutoffBand>),
    output: Output,
) -> FoldText {
    match fold {
        Swept::Reduce(f) if shape.filter && is_extreme(f) => {
            nearest::nearest(job, &nearest::of_rows(f), shape, known.bound, cut)
        }
        Swept::Reduce(f) => folds::rows(job, f, shape, known.truth),
        Swept::Nearest(f) => nearest::nearest(job, f, shape, known.bound, cut),
        Swept::Histogram(h) => folds::histogram(job, h, shape, known.bands.as_deref(), cut),
        Swept::Extremes(f) => folds::ends(job, f, shape),
        Swept::Join(f) => {
            let maybe = known.truth.map(|t| t.maybe.as_str());
            join::join(job, f, shape, output, maybe)
        }
    }
}

/// Functions that kernels call: the value in double precision where single precision filters, lists
/// of neighbours.
fn functions(job: &Job, shape: &Shape, fold: Swept<'_>) -> String {
    let layout = match shape.tiled {
        Some(PairTiles::Products { .. }) => Layout::Fours,
        Some(PairTiles::Registers(_)) | None => Layout::Columns,
    };
    let cell = job.periodic_box.as_ref();
    let exact = |name: &str, root: usize| sweep::exact(job, cell, (name, root, layout));
    let mut out = String::new();
    if shape.filter {
        out += &exact("zf_exact", fold.root());
        if let Swept::Histogram(h) = fold {
            let others = folds::roots(h)
                .into_iter()
                .filter(|root| *root != fold.root());
            others.for_each(|root| out += &exact(&folds::exact_name(h, root), root));
        }
        if let Some(root) = job.cutoff_root {
            out += &exact(sweep::EXACT_CUT, root);
        }
    }
    out + &match fold {
        Swept::Reduce(f) if shape.filter && is_extreme(f) => {
            nearest::functions(&nearest::of_rows(f), shape)
        }
        Swept::Nearest(f) => nearest::functions(f, shape),
        Swept::Histogram(h) => folds::histogram_functions(h, shape),
        Swept::Reduce(_) | Swept::Join(_) | Swept::Extremes(_) => String::new(),
    }
}

/// One launch of a pass over a tile.
pub(crate) struct Launch<'l> {
    pub(crate) device: &'l Device,
    pub(crate) loaded: &'l Loaded,
    pub(crate) pass: &'l Pass,
    pub(crate) anchors: &'l Range<usize>,
    pub(crate) others: &'l Range<usize>,
    pub(crate) span: usize,
    pub(crate) grid: Grid,
    pub(crate) extra: &'l Memory,
    pub(crate) weights: Option<&'l [Memory; 2]>,
    pub(crate) sums: &'l BinSums,
    /// The runs that blocks take, and which rows those of the tiles are.
    pub(crate) listed: Option<(&'l RunList, &'l dyn OpenPairs)>,
    pub(crate) given: Option<&'l [Memory; 2]>,
}

impl Launch<'_> {
    pub(crate) fn go(&self, fold: &[Arg<'_>]) -> Result<()> {
        self.start(&self.pass.kernel, fold)
    }
    /// Starts `kernel` with the arguments of its fold.
    pub(crate) fn start(&self, kernel: &Kernel, fold: &[Arg<'_>]) -> Result<()> {
        let shape = &self.pass.shape;
        let mut args = match shape.tiled {
            Some(PairTiles::Products { .. }) => self.loaded.products()?,
            Some(PairTiles::Registers(_)) | None => self.loaded.inputs(shape.precision)?,
        };
        if shape.filter {
            args.extend(self.loaded.inputs(Precision::F64)?);
        }
        args.extend_from_slice(fold);
        if let Some((list, _)) = self.listed {
            args.extend([Arg::Memory(&list.runs), Arg::Memory(&list.starts)]);
            args.extend(self.given.into_iter().flatten().map(Arg::Memory));
        }
        let bounds = [
            self.anchors.start,
            self.anchors.end,
            self.others.start,
            self.others.end,
            self.span,
        ];
        args.extend(bounds.map(|v| Arg::U32(v as u32)));
        self.device.launch(kernel, self.grid, &args)
    }
    fn threads(&self) -> usize {
        self.grid.x as usize * self.grid.y as usize * THREADS as usize
    }
    /// Memory for the tally; nothing seen yet.
    pub(crate) fn tally(&self) -> Result<Memory> {
        let slots = if self.pass.shape.clean {
            0
        } else {
            self.threads()
        };
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
            out.beyond_cutoff += u64::from(slot[0]);
            out.nan += u64::from(slot[1]);
            if slot[2] != NONE {
                let pair = (u64::from(slot[2]), u64::from(slot[3]));
                out.first_nan = Some(out.first_nan.map_or(pair, |f| f.min(pair)));
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
    fn rows(&self, f: &Reduce, state: &mut ReduceState, leaves: &mut Vec<Leaf>) -> Result<Tally> {
        if self.pass.shape.filter && is_extreme(f) {
            return self.extremes(f, state);
        }
        let (n, spans, stride) = (self.anchors.len(), self.grid.y as usize, f.stride().max(1));
        let out = self.device.allocate(n * spans * stride * 8)?;
        let counts = self.device.allocate(n * spans * 4)?;
        let tally = self.tally()?;
        let args = vec![
            Arg::Memory(self.extra),
            Arg::Memory(&out),
            Arg::Memory(&counts),
        ];
        self.go(&self.with(args, &tally))?;
        let (mut acc, mut seen) = (vec![0f64; n * spans * stride], vec![0u32; n * spans]);
        self.device.read(&out, &mut acc)?;
        self.device.read(&counts, &mut seen)?;
        let kept = f.stride();
        let whole = self.pass.shape.clean && f.op.adds();
        let each = |s: usize, piece: RowPiece| match f.op.adds() {
            true => leaves.push(Leaf {
                block: (self.others.start + s * self.span) / BLOCK,
                by_row: self.pass.shape.anchor == Side::X,
                piece,
            }),
            false => state.push_rows(f, piece),
        };
        self.pieces(each, |s, from, to| {
            let (a, b) = (s * n + from, s * n + to);
            let acc = if kept == 0 {
                vec![]
            } else {
                acc[a * stride..b * stride].to_vec()
            };
            let count = |lane: usize| {
                if whole {
                    self.pairs_of(lane - s * n, s)
                } else {
                    u64::from(seen[lane])
                }
            };
            RowPiece {
                start: self.anchors.start + from,
                acc,
                counts: (a..b).map(count).collect(),
            }
        });
        self.tallied(&tally)
    }
    /// Starts the kernel of the k best of every anchor and span.
    fn kept_lists(&self, k: usize) -> Result<KeptLists> {
        let lanes = self.anchors.len() * self.grid.y as usize;
        let kept = KeptLists {
            values: self.device.allocate(lanes * k * 8)?,
            indices: self.device.allocate(lanes * k * 4)?,
            tally: self.tally()?,
        };
        let args = vec![Arg::Memory(&kept.values), Arg::Memory(&kept.indices)];
        self.go(&self.with(args, &kept.tally))?;
        Ok(kept)
    }
    /// Lists of the k best of every anchor and span: values, indices.
    fn lists(&self, k: usize) -> Result<(Vec<f64>, Vec<u32>, Tally)> {
        let kept = self.kept_lists(k)?;
        let lanes = self.anchors.len() * self.grid.y as usize;
        let (mut v, mut i) = (vec![0f64; lanes * k], vec![0u32; lanes * k]);
        self.device.read(&kept.values, &mut v)?;
        self.device.read(&kept.indices, &mut i)?;
        Ok((v, i, self.tallied(&kept.tally)?))
    }
    fn extremes(&self, f: &Reduce, state: &mut ReduceState) -> Result<Tally> {
        let (near, n, spans) = (
            nearest::of_rows(f),
            self.anchors.len(),
            self.grid.y as usize,
        );
        let kept = self.kept_lists(1)?;
        let worst = if near.largest {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
        // One piece for each span, filled while the next results are on their way.
        let piece = || RowPiece {
            start: self.anchors.start,
            acc: vec![0.0; 2 * n],
            counts: vec![0; n],
        };
        let mut pieces: Vec<RowPiece> = (0..spans).map(|_| piece()).collect();
        let mark = self.device.mark()?;
        let lanes = (n * spans, AT_A_TIME);
        let mut values = |from, values: &[f64]| {
            let parts = by_span(from, values, n);
            parts.for_each(|(span, at, values)| {
                put_values(&mut pieces[span], at, values, near.largest)
            });
            Ok(())
        };
        self.device.bring(&kept.values, lanes, &mark, &mut values)?;
        let mut indices = |from, indices: &[u32]| {
            for (span, at, indices) in by_span(from, indices, n) {
                let pairs = |lane| self.pairs_of(lane, span);
                put_indices(&mut pieces[span], at, indices, (worst, &pairs));
            }
            Ok(())
        };
        self.device
            .bring(&kept.indices, lanes, &mark, &mut indices)?;
        pieces
            .into_iter()
            .for_each(|piece| state.push_rows(f, piece));
        self.tallied(&kept.tally)
    }
    /// Makes the pieces of 128 anchors by threads, and hands them on span by span.
    fn pieces(
        &self,
        mut each: impl FnMut(usize, RowPiece),
        piece: impl Fn(usize, usize, usize) -> RowPiece + Sync,
    ) {
        let n = self.anchors.len();
        for s in 0..self.grid.y as usize {
            let panels = (0..n.div_ceil(128)).into_par_iter();
            let made: Vec<RowPiece> = panels
                .map(|p| piece(s, p * 128, (p * 128 + 128).min(n)))
                .collect();
            made.into_iter().for_each(|p| each(s, p));
        }
    }
    /// Pairs of anchor number `lane` in span `s`.
    fn pairs_of(&self, lane: usize, s: usize) -> u64 {
        let a = self.anchors.start + lane;
        let from = self.others.start + s * self.span;
        let run = from..(from + self.span).min(self.others.end);
        let clip =
            |low: usize, high: usize| run.end.min(high).saturating_sub(run.start.max(low)) as u64;
        match (self.pass.shape.domain, self.pass.shape.anchor) {
            (Domain::Triangle, Side::X) => clip(a + 1, usize::MAX),
            (Domain::Diagonal, Side::X) => clip(a, usize::MAX),
            (Domain::Triangle, Side::Y) => clip(0, a),
            (Domain::Diagonal, Side::Y) => clip(0, a + 1),
            (Domain::Ordered, _) => run.len() as u64 - u64::from(run.contains(&a)),
            _ => run.len() as u64,
        }
    }
    fn nearest(&self, f: &Nearest, state: &mut NearestState) -> Result<Tally> {
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
        let [low, high] = [self.zeros(cells)?, self.zeros(cells)?];
        let tally = self.tally()?;
        let kept = self.sums;
        let room = |(_, fixed): (_, Fixed)| self.zeros(cells * fixed.cell_words());
        let sums: Vec<Memory> = kept.all().map(room).collect::<Result<_>>()?;
        let mut args = vec![
            Arg::Memory(self.extra),
            Arg::Memory(&low),
            Arg::Memory(&high),
        ];
        args.extend(self.weights.into_iter().flatten().map(Arg::Memory));
        args.extend(sums.iter().map(Arg::Memory));
        self.go(&self.with(args, &tally))?;
        let (mut l, mut h) = (vec![0u32; cells], vec![0u32; cells]);
        self.device.read(&low, &mut l)?;
        self.device.read(&high, &mut h)?;
        for (count, (l, h)) in state.counts.iter_mut().zip(l.iter().zip(&h)) {
            *count += u64::from(*l) | u64::from(*h) << 32;
        }
        fold.gather_outside(&mut state.counts);
        for ((terms, fixed), memory) in kept.all().zip(&sums) {
            self.add_sums((terms, fixed), memory, state)?;
        }
        self.tallied(&tally)
    }
    /// Memory for `words` words, all 0.
    fn zeros(&self, words: usize) -> Result<Memory> {
        let memory = self.device.allocate(words * 4)?;
        self.device.clear(&memory)?;
        Ok(memory)
    }
    /// Adds the sums of all cells but the first, which is under all edges and has none.
    fn add_sums(
        &self,
        (terms, fixed): (SummedTerms, Fixed),
        memory: &Memory,
        state: &mut HistogramState,
    ) -> Result<()> {
        let mut words = vec![0u32; state.counts.len() * fixed.cell_words()];
        self.device.read(memory, &mut words)?;
        let cells = words.chunks_exact(fixed.cell_words()).enumerate().skip(1);
        for (cell, words) in cells.filter(|(_, words)| words.iter().any(|word| *word != 0)) {
            let (sum, marks) = words.split_at(fixed.words);
            let seen = marks.iter().zip(SummedTerms::ODD);
            let seen = seen.filter(|(mark, _)| **mark != 0);
            let odd = seen.fold(0, |all, (_, what)| all | what);
            state.add_cell(terms, cell, (sum, fixed.lowest), odd);
        }
        Ok(())
    }
    /// The ends of all threads.
    fn ends(&self, fold: &Extremes, state: &mut ExtremesState) -> Result<Tally> {
        let mut found = vec![0f64; self.threads() * 2 * fold.roots.len()];
        let ends = self.device.allocate(size_of_val(found.as_slice()))?;
        let tally = self.tally()?;
        self.go(&self.with(vec![Arg::Memory(&ends)], &tally))?;
        self.device.read(&ends, &mut found)?;
        for of_thread in found.chunks_exact(2 * fold.roots.len()) {
            for (at, ends) in of_thread.as_chunks::<2>().0.iter().enumerate() {
                // Of a thread without pairs they are ∞ and −∞, which change nothing.
                if ends[0] <= ends[1] {
                    state.absorb(at, ends);
                }
            }
        }
        self.tallied(&tally)
    }
    fn matched(&self, f: &zipfold_core::fold::Join, state: &mut JoinState) -> Result<Tally> {
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
