//! The choice of a plan: tile sides from caches and folds, precision, predicted time.

use crate::bytes::working_bytes;
use crate::cost::{self, Term, Work};
use crate::machine::{Isa, Machine};
use crate::overrides::Overrides;
use crate::plan::Plan;
use crate::prune::{self, Prune};
use crate::screen::{Form, Question};
use crate::strategy::Strategy;
use crate::tiles::Tiling;
use zipfold_core::budget::{human_bytes, human_bytes_up};
use zipfold_core::fold::{BLOCK, Fold};
use zipfold_core::{Error, Job, Message, Opt, Precision, Result};

/// Rows of tiles that keep threads busy to the end, where there are so many.
const PARTS: usize = 16;

/// Plans `job` for `machine`.
///
/// # Errors
/// `Request` for settings that do not exist or do not apply.
pub fn choose(job: &Job, machine: &Machine, overrides: &Overrides) -> Result<Plan> {
    let isa = isa(machine, overrides)?;
    let precision = precision(job);
    let cells = job.space.size()?;
    let mut of_family = vec![];
    let family = crate::family::choose(job, machine, isa, precision, overrides, &mut of_family)?;
    let work = |machine, prune, units| Work {
        job,
        machine,
        isa,
        family,
        precision,
        prune,
        cells,
        units,
    };
    let code = crate::family::hindrance(job, machine, isa, precision).is_none();
    let mut reasons: Vec<Message> = vec![];
    let cycles = cost::cycles_of_pairs(&work(machine, Prune::default(), 1));
    let mut prune = prune::choose(job, overrides, cycles, &mut reasons)?;
    let inputs = [Some(&job.x), job.y.as_ref()].into_iter().flatten();
    let inputs: u64 = inputs
        .map(|t| (t.rows() * t.cols() * t.precision().bytes()) as u64)
        .sum();
    let room = |machine: &Machine, prune| {
        let states: u64 = job
            .folds
            .iter()
            .map(|f| f.bytes(job.space.n, job.space.m))
            .sum();
        let tiling = tiling(job, machine, overrides, prune, &mut vec![])?;
        Ok(inputs.saturating_add(states).saturating_add(working_bytes(
            job,
            machine.threads,
            tiling,
            prune,
        )))
    };
    let mut warnings = vec![];
    let mut at_work = machine.clone();
    if prune.is_on() && overrides.prune.is_none() {
        let seconds = |machine: &Machine, prune| {
            seconds(&cost::terms(&Work {
                job,
                machine,
                isa,
                family,
                precision,
                prune,
                cells,
                units: 1,
            }))
        };
        let short = short_of_memory(machine, prune, room, seconds)?;
        if let Some(Short {
            threads,
            bounds,
            warning,
        }) = short
        {
            at_work.threads = threads;
            prune = if bounds { prune } else { Prune::default() };
            reasons.push(warning.clone());
            warnings.push(warning);
        }
    }
    let machine = &at_work;
    let tiling = tiling(job, machine, overrides, prune, &mut reasons)?;
    // Bounds have kernels of their own: what speaks for a family says nothing then.
    if !prune.is_on() {
        reasons.extend(of_family);
    }
    let tiles = tiling.tiles(&prune::walked(job, prune)).len();
    let tiles_per_unit = unit(job, tiles, machine.threads, overrides)?;
    let (per_component, per_pair) = job.low.operations();
    let operations = (per_component * job.low.dim + per_pair) as f64 + fold_operations(job);
    let terms = cost::terms(&work(machine, prune, tiles.div_ceil(tiles_per_unit)));
    let (n, m) = (job.space.n, job.space.m);
    Ok(Plan {
        backend: "cpu".into(),
        strategies: Strategy::list(job, family, overrides.family.is_some(), code, &prune),
        family,
        isa,
        threads: machine.threads,
        tiling,
        order: overrides.order.unwrap_or_default(),
        tiles_per_unit,
        precision,
        cells,
        tiles,
        operations,
        peak_bytes: job.folds.iter().map(|f| f.bytes(n, m)).sum::<u64>()
            + working_bytes(job, machine.threads, tiling, prune),
        seconds: seconds(&terms),
        bound: terms.first().map_or_else(String::new, |t| t.what.clone()),
        terms,
        prune,
        reasons,
        device: None,
        warnings,
    })
}

fn seconds(terms: &[Term]) -> f64 {
    terms.iter().map(|t| t.seconds).sum()
}

/// What is given up where the memory has no room for bounds by all threads.
struct Short {
    threads: usize,
    bounds: bool,
    warning: Message,
}

/// Bounds by fewer threads, where these have the room and take less time than all threads over all
/// pairs; else all pairs. `room` is the bytes of a plan, `seconds` its time.
fn short_of_memory(
    machine: &Machine,
    prune: Prune,
    room: impl Fn(&Machine, Prune) -> Result<u64>,
    seconds: impl Fn(&Machine, Prune) -> f64,
) -> Result<Option<Short>> {
    let (wanted, most) = (room(machine, prune)?, machine.memory / 16 * 15);
    if wanted <= most {
        return Ok(None);
    }
    let mut fewer = machine.clone();
    while fewer.threads > 1 && room(&fewer, prune)? > most {
        fewer.threads -= 1;
    }
    let bounds =
        room(&fewer, prune)? <= most && seconds(&fewer, prune) < seconds(machine, Prune::default());
    let threads = if bounds {
        fewer.threads
    } else {
        machine.threads
    };
    let slower = match bounds {
        true => format!(
            "threads at work: {threads} of {}, for want of memory",
            machine.threads
        ),
        false => "all pairs are evaluated, for want of memory".into(),
    };
    let limit = human_bytes(machine.memory);
    let rest = format!(
        "the sorted rows that bounds need make it {} in all (limit {limit})",
        human_bytes(wanted)
    );
    let enough = human_bytes_up((wanted / 15 + 1) * 16);
    Ok(Some(Short {
        threads,
        bounds,
        warning: format!("{slower}: {rest}; {} is enough", Opt::Memory.to(enough)).into(),
    }))
}

fn isa(machine: &Machine, overrides: &Overrides) -> Result<Isa> {
    let Some(isa) = overrides.isa else {
        return Ok(machine.isa);
    };
    let have = machine.isa.up_to();
    if have.contains(&isa) {
        return Ok(isa);
    }
    let have: Vec<&str> = have.iter().map(|i| i.name()).collect();
    let e = Error::request(format!(
        "this machine has no instruction set '{}'",
        isa.name()
    ));
    Err(e.at(Opt::Set.like("isa")).remedy(have.join(", ")))
}

/// Matrices and sums are computed in the precision asked for; counts, joins, neighbours and
/// extremes always in f64, exactly. Sums are kept in f64 in any case.
fn precision(job: &Job) -> Precision {
    let rounded = job.folds.iter().all(|fold| fold.traits().rounds);
    // A cut-off decides in f64, like every predicate.
    if rounded && job.near_root.is_none() {
        job.precision
    } else {
        Precision::F64
    }
}

fn tiling(
    job: &Job,
    machine: &Machine,
    overrides: &Overrides,
    prune: Prune,
    reasons: &mut Vec<Message>,
) -> Result<Tiling> {
    let screened = Form::of(job).is_some_and(|form| matches!(form.question, Question::Best(_)));
    let nearest = screened || job.folds.iter().any(|f| matches!(f, Fold::Nearest(_)));
    // A block of columns (one panel) stays in the second-level cache while the rows of the tile
    // pass over it.
    let panel = BLOCK * job.low.dim.max(1) * 8;
    let wide = if nearest { 64 * BLOCK } else { 8 * BLOCK };
    let rows = if nearest { 2 * BLOCK } else { 8 * BLOCK };
    // Sides depend on the problem alone, so that shares made on different machines fit together.
    let rows = rows.min(job.space.n.div_ceil(PARTS).max(1));
    reasons.push(
        format!(
            "a panel of {BLOCK} columns holds {panel} bytes; second-level cache {} bytes",
            machine.l2
        )
        .into(),
    );
    if nearest {
        reasons.push("wide tiles, so that the k-th neighbour so far is seldom beaten".into());
    }
    let dense = job.folds.iter().all(Fold::is_dense);
    let mirrored = job
        .folds
        .iter()
        .filter_map(Fold::dense)
        .any(|f| f.is_mirrored(&job.space));
    let (rows, wide) = match (dense, mirrored) {
        // Whole rows follow each other in a file.
        (true, false) => {
            let wide = job.space.m.next_multiple_of(BLOCK).clamp(BLOCK, 32 * BLOCK);
            (rows.min(32 * BLOCK * BLOCK / wide), wide)
        }
        // Squares, so that the transposed lines are as long.
        (true, true) => {
            let side = (job.space.n / 8).clamp(BLOCK, 8 * BLOCK);
            (side, side)
        }
        _ => (rows, wide),
    };
    let (rows, wide) = match prune.is_on() {
        // All columns, so that the tree is walked from its top; enough tiles for every thread to
        // find work at the end.
        true => (
            (job.space.n / (8 * PARTS)).clamp(2 * BLOCK, 32 * BLOCK),
            job.space.m,
        ),
        false => (rows, wide),
    };
    // The best that are screened: the longer a row goes on, the fewer of its values need a second
    // look.
    let wide = match screened {
        true => wide.max(
            job.space
                .m
                .min(job.space.m * job.space.n.div_ceil(rows) / (4 * PARTS)),
        ),
        false => wide,
    };
    // Whole rows are finished one block of them at a time.
    let whole = job.folds.iter().any(|fold| fold.traits().whole_rows);
    let (rows, wide) = if whole {
        (BLOCK, job.space.m)
    } else {
        (rows, wide)
    };
    let by_hand = (
        overrides.tile_rows.map(|v| v.get()),
        overrides.tile_cols.map(|v| v.get()),
    );
    // Folds that take values in the order of columns want all of them in one tile.
    let by_hand = if prune.is_on() && prune.grid.is_some() {
        (by_hand.0, None)
    } else {
        by_hand
    };
    Ok(Tiling::new(by_hand.0.unwrap_or(rows), by_hand.1.unwrap_or(wide)).in_spans(job))
}

fn unit(job: &Job, tiles: usize, threads: usize, overrides: &Overrides) -> Result<usize> {
    if let Some(by_hand) = overrides.unit {
        return Ok(by_hand.get());
    }
    let state: u64 = job
        .folds
        .iter()
        .filter(|f| f.traits().fixed_size)
        .map(|f| f.bytes(job.space.n, job.space.m))
        .sum();
    let (counters, cells) = (state / 8, job.space.size()?);
    // Merging a partial must stay small beside making it: at least 16 cells of work per counter.
    let of_tile = (cells / tiles.max(1) as u64).clamp(1, (BLOCK * BLOCK * 64) as u64);
    let by_state = usize::try_from((counters * 16).div_ceil(of_tile)).unwrap_or(usize::MAX);
    // Threads are kept even by parts, but where parts of threads have more counters than cells.
    let parts = if counters.saturating_mul(16 * threads as u64) > cells {
        threads
    } else {
        threads * 8
    };
    Ok(by_state.clamp(1, (tiles / parts).max(1)))
}

fn fold_operations(job: &Job) -> f64 {
    job.folds.iter().map(|fold| fold.traits().operations).sum()
}
