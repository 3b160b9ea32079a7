//! Turns a plan for the CPU into one for devices, and predicts its time.
//!
//! Its kernels are chosen from the question, the override keys, and the ranges of the rows, which
//! decide whether single precision can filter ([`rounding`]). They sweep all pairs, or the ones
//! that bounds leave open where that is predicted to pay ([`open_pairs`]). Several devices of one runtime share out the tiles and run the same kernels, so
//! their number changes no bit (invariant DEVICES-SAME).
//!
//! * [`matrix`]: one matrix, by matrix units, register-blocked tiles, or a thread per pair;
//! * [`sweeps`]: folds, by sweeps of anchors over others, or from register-blocked tiles;
//! * otherwise the device computes values and the host folds them.
//!
//! This module opens no device. [`Facts`] describe one that the crate `gpu` found, or one that is
//! only imagined.

pub mod bins;
mod blocks;
mod bound;
mod facts;
pub mod fixed;
pub mod groups;
pub mod images;
mod loads;
pub mod maps;
pub mod matrix;
pub mod open_pairs;
pub mod pair_tiles;
mod parts;
pub mod products;
pub mod rounding;
pub mod sweeps;
mod work;

pub use blocks::Blocks;
pub use facts::{Common, Facts, Runtime, ids};
pub use parts::parts;
pub use sweeps::{MOST_STATE, folds};
pub use work::{DeviceWork, OnDevice, Pruned};

use matrix::Matrix;
use products::RowFacts;
use sweeps::Sweeps;

pub use crate::kernels::kernel_seconds;
use crate::low_precision::{self, ProductType};
use crate::overrides::{DeviceFamily, FoldTiles, Overrides, Residency};
use crate::plan::Plan;
use crate::prune::Prune;
use crate::strategy::Strategy;
use crate::sweep::width;
use crate::tiles::{Tile, Tiling};
use zipfold_core::fold::{BLOCK, Fold};
use zipfold_core::pair::tree::{Binary, Node, Unary};
use zipfold_core::{Error, Job, Message, Result, figures};

/// Returns the plan for one device.
///
/// # Errors
/// Those of [`plan_for_all`].
pub fn plan_for(
    job: &Job,
    host: Plan,
    facts: &Facts,
    overrides: &Overrides,
    rows: Option<&RowFacts>,
) -> Result<Plan> {
    plan_for_all(job, host, std::slice::from_ref(facts), overrides, rows)
}

/// Turns a plan for the host into one for `devices` of one runtime: large tiles, so that launches
/// are few, and enough of them that no device waits for another at the end.
///
/// Facts of the rows decide the precision of folds. Without them (nobody has read the rows yet)
/// the plan assumes rows that a filter serves.
///
/// # Errors
/// `Request` for choices that make no sense, `Internal` without a device.
pub fn plan_for_all(
    job: &Job,
    host: Plan,
    devices: &[Facts],
    overrides: &Overrides,
    facts_of_rows: Option<&RowFacts>,
) -> Result<Plan> {
    if let Some(parts) = &job.parts {
        return groups::plan(job, parts, host, (devices, facts_of_rows), overrides);
    }
    // A tile that fits the smallest memory fits all.
    let smallest = devices.iter().min_by_key(|facts| facts.memory);
    let facts = smallest.ok_or_else(|| Error::internal("a plan for no device"))?;
    let common = Common::new(facts.runtime, devices);
    let mut plan = host;
    // The plan of the host is the start: tiles, folds and reasons that no device changes stay.
    plan.backend = facts::ids(devices);
    let rows = residency(job, facts, overrides);
    plan.reasons.extend(where_rows_are(rows).map(Message::from));
    // Before the matrix is chosen, which depends on it.
    let input = low_precision::input(job, overrides)?;
    plan.reasons
        .extend(input.map(|input| why_products(input, overrides)));
    let matrix = Matrix::choose(job, plan.precision, common, input, overrides)?;
    // One matrix, else folds, else values for the host.
    let work = match matrix {
        Some(matrix) => DeviceWork::Matrix(matrix),
        None if overrides.device_family == Some(DeviceFamily::Values) => DeviceWork::Values,
        None => Sweeps::choose_all(job, common, overrides, facts_of_rows)?
            .map_or(DeviceWork::Values, DeviceWork::Sweeps),
    };
    let pruned = match rows {
        Residency::Held => {
            // Whether it pays must not depend on the machine: a run that goes on on another one has
            // the same tiles.
            let like = Facts::described(facts.runtime);
            let kernels = |pairs: u64| kernel_seconds(job, &like, pairs, &work);
            Pruned::choose(job, &work, overrides, kernels, &mut plan.reasons)
        }
        // Panels of all rows are swept at any time.
        Residency::Streamed | Residency::Block | Residency::Overlap => None,
    };
    let work = prune_as(job, &mut plan, pruned, work);
    plan.tiling = device_tiling(job, &plan, (facts, devices.len(), pruned), overrides);
    plan.tiles = plan.tiling.tiles(&job.space).len();
    // One tile comes home while the next is computed, and its rows are copied next to the work on
    // the one before.
    if let Residency::Block | Residency::Overlap = rows {
        // A batch of several tiles could be in two blocks.
        plan.tiles_per_batch = 1;
    } else if overrides.batch.is_none() {
        plan.tiles_per_batch = tiles_of_a_batch(plan.tiles, devices.len());
    }
    let together = shared_seconds(job, devices, (&work, pruned), &mut plan);
    plan.reasons
        .extend(reasons(job, &plan, &work).into_iter().map(Message::from));
    predict(job, together, &mut plan);
    plan.device = Some(OnDevice {
        devices: devices.len(),
        rows,
        pruned,
        work,
    });
    Ok(plan)
}

/// Returns the tiles of `plan` on devices, the smallest of which has these facts.
fn device_tiling(
    job: &Job,
    plan: &Plan,
    (facts, devices, pruned): (&Facts, usize, Option<Pruned>),
    overrides: &Overrides,
) -> Tiling {
    let mut out = plan.tiling;
    // Tiles of the host are far too small for a device.
    if overrides.tile_rows.is_none() && overrides.tile_cols.is_none() {
        out = tiling(job, facts, devices, overrides);
    }
    // The boxes of a row are walked from the top of one tree, and its best are kept in one list.
    if pruned.is_some() && overrides.tile_cols.is_none() && overrides.device_tile.is_none() {
        let strip = match devices {
            1 => usize::MAX,
            _ => job
                .space
                .n
                .div_ceil(devices * BATCHES_EACH)
                .max(LEAST_STRIP),
        };
        out = Tiling::new(out.rows.min(strip), job.space.m.max(1)).in_spans(job);
    }
    // Sums are grouped by spans of the problem; a tile must not cut one.
    if let Some(span) = crate::sweep::span(job) {
        let whole = |side: usize| side.next_multiple_of(span);
        out = Tiling {
            rows: whole(out.rows),
            cols: whole(out.cols),
        };
    }
    out
}

/// Sets how `plan` prunes, and returns the work for that.
///
/// The host, should it take over, must walk the same rows in the same order: strategies that sort
/// them otherwise, or not as the device does, go. No device leaves rows early.
fn prune_as(job: &Job, plan: &mut Plan, pruned: Option<Pruned>, work: DeviceWork) -> DeviceWork {
    plan.leaves_rows = false;
    let Some(pruned) = pruned else {
        plan.prune = Prune::default();
        let walks_alike = |s: &Strategy| !s.is_pruned() && *s != Strategy::Farthest;
        plan.strategies.retain(walks_alike);
        return work;
    };
    plan.prune = pruned.by_boxes();
    let code = plan.strategies.iter().any(Strategy::has_code);
    let list = Strategy::list(job, plan.family, false, code, &plan.prune);
    let boxes = |strategy: &Strategy| matches!(strategy, Strategy::Boxes(_));
    plan.strategies = list.into_iter().filter(boxes).collect();
    work.listed(pruned.group)
}

/// Returns whether `devices` may multiply rounded rows as a filter: matrix units take f16 from
/// compute capability 8.0 on; others only where `overrides` ask for it.
pub fn multiplies(devices: &[Facts], overrides: &Overrides) -> bool {
    overrides
        .fold_tiles
        .map_or(devices.iter().all(has_units), |asked| {
            asked == FoldTiles::Matrix
        })
}

/// Returns whether a device has matrix units for 16-bit numbers.
fn has_units(facts: &Facts) -> bool {
    facts.runtime == Runtime::Cuda && facts.capability >= 80
}

/// Returns why rows are multiplied by matrix units.
fn why_products(input: ProductType, overrides: &Overrides) -> Message {
    let how = match (overrides.dense_input, input) {
        (_, ProductType::F64) => "requested: products are rounded with their sums",
        (Some(_), ProductType::Tf32x3) => "requested: products are rounded to 20 bits",
        (Some(_), ProductType::Half(_) | ProductType::Tf32) => "requested: numbers are rounded",
        (None, _) => "every number is one",
    };
    format!("rows are multiplied as {}: {how}", input.name()).into()
}

/// Returns where the rows are, unless every device has all.
fn where_rows_are(rows: Residency) -> Option<&'static str> {
    match rows {
        Residency::Held => None,
        Residency::Streamed => Some("the rows of one tile at a time are on the device"),
        Residency::Block => Some("each device has the rows of its own block of tiles"),
        Residency::Overlap => {
            Some("each device has the rows of its own block of tiles and of the next one")
        }
    }
}

/// Returns the tiles of a batch: while one tile is computed, the one before is copied back
/// and the rows of the next are copied in. Several devices get eight batches each.
fn tiles_of_a_batch(tiles: usize, devices: usize) -> usize {
    // Several devices need batches to share; one device may take as many as it likes.
    let most = if devices > 1 {
        tiles / (devices * BATCHES_EACH)
    } else {
        tiles
    };
    most.clamp(1, TOGETHER)
}

/// Predicts the seconds of the kernels of all `devices` for a number of pairs. Each takes the next batch
/// when it is done with one, so their rates add, as if all ended together; units are small enough
/// for that to be nearly true.
fn all_seconds(job: &Job, devices: &[Facts], pairs: u64, work: &DeviceWork) -> f64 {
    let one = |facts: &Facts| 1.0 / kernel_seconds(job, facts, pairs, work);
    1.0 / devices.iter().map(one).sum::<f64>()
}

/// Predicts the seconds of all `devices`, with what the host does for them. Pushes the rate of each
/// to the reasons.
fn shared_seconds(
    job: &Job,
    devices: &[Facts],
    (work, pruned): (&DeviceWork, Option<Pruned>),
    plan: &mut Plan,
) -> f64 {
    let swept = pruned.map_or(plan.pairs, |p| (plan.pairs as f64 * p.swept) as u64);
    for facts in devices {
        let seconds = kernel_seconds(job, facts, swept, work);
        let rate = figures::si(swept as f64 / seconds);
        plan.reasons.push(
            format!(
                "{}: {}, {} units, {rate} pairs/s predicted",
                facts.id(),
                facts.name,
                facts.units
            )
            .into(),
        );
    }
    let host = pruned.map_or(0.0, |pruned| pruned.host_seconds(job, plan.threads));
    all_seconds(job, devices, swept, work) + host
}

/// Sets the tiling of a plan for devices to that of an earlier run, which another number of devices
/// continues from a checkpoint. A tiling that `job` cannot have is ignored.
pub fn cut_as(job: &Job, plan: &mut Plan, tiling: Tiling) {
    let span = crate::sweep::span(job).unwrap_or(BLOCK);
    // Sums need whole spans, and spans must be those of the job.
    let whole = [tiling.rows, tiling.cols]
        .iter()
        .all(|side| *side > 0 && side.is_multiple_of(span));
    if plan.device.is_none() || !whole || tiling.in_spans(job) != tiling {
        return;
    }
    plan.tiling = tiling;
    plan.tiles = crate::parts::tiles_of_run(job, plan).len();
    plan.tiles_per_batch = plan.tiles_per_batch.clamp(1, plan.tiles.max(1));
}

/// Sides of the tiles of a dense result that the host walks in place of a device, whose own are as
/// large as its memory. A thread of the host holds a tile, and 1024² values are 8 MiB.
const HOST_SIDE: usize = 1024;

/// Returns whether some fold is a matrix.
fn is_dense(job: &Job) -> bool {
    job.folds.iter().any(Fold::is_dense)
}

/// Returns whether all folds are matrices.
fn is_only_dense(job: &Job) -> bool {
    job.folds.iter().all(Fold::is_dense)
}

/// Returns the sides of the tiles that threads of the host hold under `plan`, also in place of its
/// device.
pub fn host_tiling(job: &Job, plan: &Plan) -> Tiling {
    if plan.backend == "cpu" {
        return plan.tiling;
    }
    let most = if is_only_dense(job) {
        HOST_SIDE
    } else {
        usize::MAX
    };
    let side = |tile: usize, rows: usize| tile.min(rows).clamp(1, most);
    Tiling::new(
        side(plan.tiling.rows, job.space.n),
        side(plan.tiling.cols, job.space.m),
    )
}

/// Returns smaller tiles that the host walks in place of those of a device. Only dense results have
/// nothing to merge; other jobs get `None`, since their sums are merged tile by tile.
pub fn host_tiles(job: &Job, tiles: &[Tile]) -> Option<Vec<Tile>> {
    if !is_only_dense(job) {
        return None;
    }
    let cut = |r: &std::ops::Range<usize>| {
        let (start, end) = (r.start, r.end);
        (start..end)
            .step_by(HOST_SIDE)
            .map(move |from| from..(from + HOST_SIDE).min(end))
    };
    let parts = tiles.iter().flat_map(|t| {
        cut(&t.rows).flat_map(|rows| {
            cut(&t.cols).map(move |cols| Tile {
                rows: rows.clone(),
                cols,
            })
        })
    });
    // Parts below the diagonal hold no pair.
    let some = |t: &Tile| !job.space.is_triangular() || t.cols.end > t.rows.start;
    Some(parts.filter(some).collect())
}

/// The most tiles of a batch.
const TOGETHER: usize = 8;
/// Batches for each of several devices: at the end of a run a device waits for about half a batch.
const BATCHES_EACH: usize = 8;
/// The least side of a tile that is made smaller for several devices: launches and copies of
/// smaller ones take as long as their pairs.
const LEAST_SIDE: usize = 1 << 12;
/// The least rows of such a tile of all columns.
const LEAST_STRIP: usize = 1 << 10;

/// Returns the bytes of a packed row of both sides, in both precisions.
///
/// 8 + 4 bytes a number: a filter reads single precision, and its candidates double precision.
fn row_bytes(job: &Job) -> u64 {
    12 * (width(job, 0) + width(job, 1)) as u64
}

/// Returns where the rows are kept: in the memory of the device, unless they take more than half of
/// it.
///
/// The other half is for results, queues and what other programs hold.
fn residency(job: &Job, facts: &Facts, overrides: &Overrides) -> Residency {
    let bytes = row_bytes(job).saturating_mul(job.space.n.max(job.space.m) as u64);
    let fits = bytes <= facts.memory / 2;
    overrides.device_rows.unwrap_or(if fits {
        Residency::Held
    } else {
        Residency::Streamed
    })
}

/// Returns why the kernels are built as they are, for `explain`: the leaf of the decision tree, or
/// the blocks of a triangle map that do nothing.
fn reasons(job: &Job, plan: &Plan, work: &DeviceWork) -> Vec<String> {
    let loads = |numbers: usize| format!("loads of {numbers} numbers");
    match work {
        DeviceWork::Values => vec![],
        DeviceWork::Sweeps(folds) => {
            let mut out = vec![];
            for (sweeps, fold) in folds.iter().zip(&job.folds) {
                out.push(sweeps.reason.to_string());
                let copies = sweeps.passes.first().map_or(0, |pass| pass.copies);
                out.extend(fixed::described(fold, copies));
                out.extend(sweeps.passes.first().map(|pass| loads(pass.load)));
                if sweeps.passes.iter().any(|pass| pass.balanced) {
                    let shared = "the pairs of a block's own rows are shared evenly by its threads";
                    out.push(shared.into());
                }
            }
            if folds.len() > 1 {
                out.push(format!("{} folds, a sweep each", folds.len()));
            }
            out
        }
        DeviceWork::Matrix(matrix) => {
            let load = if let matrix::MatrixKernel::Blocks(shape) = matrix.kernel {
                Some(loads(shape.load))
            } else {
                None
            };
            let map = matrix
                .triangle
                .map(|placing| triangle_map(job, plan, matrix, placing));
            map.into_iter().chain(load).collect()
        }
    }
}

/// Returns how many blocks of a triangle map do nothing.
fn triangle_map(job: &Job, plan: &Plan, matrix: &Matrix, placing: maps::Placing) -> String {
    let rows = job.space.n.min(plan.tiling.rows);
    let side = if placing.by_thread {
        1
    } else {
        matrix.kernel.side()
    };
    let across = rows.div_ceil(side) as u64;
    let useful = across * (across + 1) / 2;
    let grids = placing.grids(across as u32);
    let started: u64 = grids
        .iter()
        .map(|(x, y, _)| u64::from(*x) * u64::from(*y))
        .sum();
    // A block has many threads, each of which would be a block otherwise.
    let useful = if placing.by_thread {
        useful.div_ceil(u64::from(maps::SIDE * maps::SIDE))
    } else {
        useful
    };
    let idle = started.saturating_sub(useful);
    format!(
        "triangle map {}: {idle} of {started} blocks of a diagonal tile do nothing",
        placing.map.name()
    )
}

/// Bytes per second from a device into ordinary memory of the host.
const HOME: f64 = 8e9;

/// Bytes per second from the host into a device: an estimate.
const UP: f64 = 8e9;
/// Seconds of opening a device and of leaving it: whole calls on one NVIDIA H200 took between 0.32
/// and 0.41 s more.
pub const OPENING: f64 = 0.35;
/// Seconds of opening one more device: an estimate, a context and its release without the start of
/// the driver.
pub const ONE_MORE: f64 = 0.15;
/// Bytes of the host that a driver may take: an estimate. PoCL with its compiler takes 60 MiB, a
/// context of CUDA some hundreds.
pub const DRIVER: u64 = 512 << 20;
/// Seconds of compiling kernels that are not cached, and of every power or logarithm in them:
/// estimates.
const COMPILED: [f64; 2] = [0.3, 1.5];
/// Pairs per second whose values come back to be folded by one thread of the host: an estimate.
const BY_HOST: f64 = 40e6;
/// Predicts the seconds of a run by `plan`, one for devices, with everything that a process does
/// once for it: opening, compiling, copying rows.
pub fn whole_seconds(job: &Job, plan: &Plan) -> f64 {
    let formula = &job.low.formula;
    // Powers and logarithms are long functions that the compiler inlines into each kernel.
    let dear = |node: &Node| match node {
        Node::Unary(op, _) => matches!(op, Unary::Log | Unary::Log2 | Unary::Log10 | Unary::Log1p),
        Node::Binary(Binary::Pow, _, p) => formula
            .constant(*p)
            // Whole and half powers are products and a root, not long functions.
            .is_none_or(|p| (2.0 * p).fract() != 0.0),
        _ => false,
    };
    let live = formula.live();
    let dear = formula
        .nodes()
        .iter()
        .zip(&live)
        .filter(|(node, live)| **live && dear(node))
        .count();
    let rows = job.space.n + if job.y.is_some() { job.space.m } else { 0 };
    let up = (rows as u64 * row_bytes(job)) as f64 / UP;
    let more = plan.device.as_ref().map_or(0, |on| on.devices - 1) as f64;
    plan.seconds + OPENING + COMPILED[0] + COMPILED[1] * dear as f64 + up + more * (ONE_MORE + up)
}

/// Returns whether the plan for devices is predicted to be faster than that for the host.
///
/// The host's plan has no such costs beyond its seconds: its threads and pages are part of them.
pub fn is_faster(job: &Job, there: &Plan, here: &Plan) -> bool {
    whole_seconds(job, there) < here.seconds
}

/// Predicts the seconds of a run whose kernels take `compute`: copying dense results back is added,
/// and folding by the host if it has to.
///
/// Compute and copies overlap in part; adding them errs to the side of the host.
fn predict(job: &Job, compute: f64, plan: &mut Plan) {
    let (per_component, per_pair) = job.low.operations();
    plan.operations = (per_component * job.low.dim + per_pair) as f64;
    let dense = |f: &Fold| crate::bytes::dense_bytes(f, job.space.n, job.space.m, plan.precision);
    let home = job.folds.iter().map(dense).sum::<u64>() as f64 / HOME;
    // Values of double precision come home, one thread folds them.
    let by_host = if is_only_dense(job) || folds(job) {
        0.0
    } else {
        plan.pairs as f64 * (8.0 / HOME + 1.0 / BY_HOST)
    };
    let home = home + by_host;
    plan.seconds = compute + home;
    plan.bound = if home > compute {
        "bringing the result home"
    } else {
        "arithmetic of the device"
    }
    .into();
}

/// Returns square tiles, as large as the memory of the device allows. Dense results leave the
/// device tile by tile, so theirs are smaller, and so are tiles that several devices share out. The
/// nearest of a row are looked for in all columns at once: those tiles are strips.
fn tiling(job: &Job, facts: &Facts, devices: usize, overrides: &Overrides) -> Tiling {
    let dense = is_dense(job);
    // Smaller tiles for a processor that acts as a device, and for dense results, which leave the
    // device tile by tile.
    let side = match overrides.device_tile {
        None if facts.host => 1 << 12,
        None if dense => 1 << 14,
        None => 1 << 20,
        Some(side) => side.get(),
    };
    let most = side.min(most_rows(job, facts, dense));
    if devices < 2 || overrides.device_tile.is_some() {
        return Tiling::new(most, most).in_spans(job);
    }
    let (n, m, batches) = (job.space.n, job.space.m, devices * BATCHES_EACH);
    let triangular = job.space.is_triangular();
    // A list of neighbours is best filled in one go over all columns.
    if matches!(job.folds.as_slice(), [Fold::Nearest(_)]) && !triangular {
        return Tiling::new(most.min(n.div_ceil(batches).max(LEAST_STRIP)), most).in_spans(job);
    }
    let pairs = n as u128 * m as u128 / if triangular { 2 } else { 1 };
    // Squares of about a batch's part of all pairs.
    let share = (pairs / batches as u128).isqrt() as usize;
    let side = most.min(share.max(LEAST_SIDE));
    Tiling::new(side, side).in_spans(job)
}

/// Returns the rows of a square tile that fits the device: a quarter of its memory for rows; for
/// dense results an eighth for two tiles on their way, each with its transpose.
fn most_rows(job: &Job, facts: &Facts, dense: bool) -> usize {
    let rows = facts.memory / 4 / row_bytes(job).max(1);
    let cells = if dense {
        (facts.memory / 8 / (4 * job.precision.bytes() as u64)).isqrt()
    } else {
        u64::MAX
    };
    rows.min(cells).max(1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Isa, Machine};
    use zipfold_core::fold::rows::ReduceAxis;
    use zipfold_core::fold::{Closed, ReduceOp, TopSpec};
    use zipfold_core::problem::{AxisSpec, FoldSpec, Input, PairSpec, Problem};
    use zipfold_core::{Data, Precision, Table, describe};

    /// A job of `rows` rows of three components, of which only a few are there, and the plans for
    /// the host and an H200.
    fn plans(formula: &str, fold: FoldSpec, rows: usize) -> (Job, Plan, Plan) {
        plans_of(formula, fold, [rows, 100])
    }

    /// The same with `held` rows there, of which bounds are sampled.
    fn plans_of(formula: &str, fold: FoldSpec, [rows, held]: [usize; 2]) -> (Job, Plan, Plan) {
        let items = (0..3 * held).map(|at| ((at as f64 * 0.618).fract()) as f32);
        let x = Table::f32(held, 3, items.collect()).unwrap();
        let problem = Problem {
            precision: Some(Precision::F32),
            ..Problem::new(
                Input::named("x"),
                PairSpec {
                    formula: Some(formula.into()),
                    ..PairSpec::default()
                },
                vec![fold],
            )
        };
        let mut job = describe(
            &problem,
            Data {
                pairs: None,
                x,
                y: None,
                weights: vec![None],
            },
        )
        .unwrap();
        (job.space.n, job.space.m) = (rows, rows);
        let machine = Machine {
            threads: 16,
            isa: Isa::Avx512,
            executable: true,
            memory: 1 << 37,
            ..Machine::default()
        };
        let overrides = Overrides::read([("prune", "off")]).unwrap();
        let here = crate::choose(&job, &machine, &overrides).unwrap();
        let there = plan_for(
            &job,
            here.clone(),
            &Facts::described(Runtime::Cuda),
            &Overrides::default(),
            None,
        )
        .unwrap();
        (job, here, there)
    }

    fn sum() -> FoldSpec {
        FoldSpec::Reduce {
            op: ReduceOp::Sum,
            axis: ReduceAxis::Row,
            weights: None,
        }
    }

    fn histogram() -> FoldSpec {
        let axes = vec![AxisSpec {
            bins: Some(300),
            range: Some([0.0, 0.005]),
            ..AxisSpec::default()
        }];
        FoldSpec::Histogram {
            axes,
            closed: Closed::Last,
            weights: None,
            mean: false,
            weight: None,
            values: Default::default(),
        }
    }

    #[test]
    fn the_device_is_asked_before_it_is_taken() {
        // Seconds of all pairs on the host: the device has them sooner.
        let (job, here, there) = plans("exp(-sum((x - y)^2))", sum(), 1_000_000);
        assert!(
            is_faster(&job, &there, &here),
            "{} {}",
            whole_seconds(&job, &there),
            here.seconds
        );
        // The start alone takes longer than the host.
        let (job, here, there) = plans("exp(-sum((x - y)^2))", sum(), 20_000);
        assert!(
            !is_faster(&job, &there, &here),
            "{} {}",
            whole_seconds(&job, &there),
            here.seconds
        );
        // Bounds leave both few pairs: the host has no start to pay for, the device more arithmetic.
        let (job, here, there) = plans_of("norm(x - y)", histogram(), [10_000_000, 300_000]);
        let of_host = |seconds: f64| Plan {
            seconds,
            ..here.clone()
        };
        assert!(there.device.as_ref().unwrap().pruned.is_some());
        assert!(
            !is_faster(&job, &there, &of_host(0.5)) && is_faster(&job, &there, &of_host(10.0)),
            "{}",
            whole_seconds(&job, &there)
        );
        // Of a question that bounds never settle a device sweeps all pairs.
        let (job, here, there) = plans("sin(x[0] * y[1])", histogram(), 10_000_000);
        assert!(there.device.as_ref().unwrap().pruned.is_none());
        let pruned = Plan {
            seconds: 4.0,
            ..here
        };
        assert!(
            !is_faster(&job, &there, &pruned),
            "{}",
            whole_seconds(&job, &there)
        );
        // Values that come home one by one are the host's in any case.
        let best = FoldSpec::Top(TopSpec {
            k: 20,
            largest: None,
        });
        let (job, here, there) = plans("norm(x - y)", best, 100_000);
        assert!(
            !folds(&job) && !is_faster(&job, &there, &here),
            "{} {}",
            whole_seconds(&job, &there),
            here.seconds
        );
    }
}
