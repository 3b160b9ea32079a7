//! Plans of questions about groups or within keys: the plan of the largest part serves all parts.
//!
//! A tile of such a question is a strip of rows of one part with all of its columns. So a part is
//! loaded once for each strip, and what a part says of a row is complete in one tile. Few parts are cut
//! into several strips, so that all threads have work; many parts have one strip each. The number
//! of strips depends on the number of parts alone, never on the machine.
//!
//! ```text
//! 3 parts     16 strips each: 48 tiles          each strip is cut again as the plan of a part says
//! 210 parts    1 strip  each: 210 tiles
//! ```

use crate::bytes::working_bytes;
use crate::cost::Term;
use crate::executor::{Folded, Sink};
use crate::order::Order;
use crate::plan::Plan;
use crate::prune::walked;
use crate::tiles::{Tile, Tiling};
use std::ops::Range;
use zipfold_core::fold::{BLOCK, Tally};
use zipfold_core::parts::KeyParts;
use zipfold_core::{Job, Result, Side};

/// Tiles that a question should have at least, and strips that a part may have at most.
const TILES: usize = 64;
const STRIPS: usize = 16;
/// Batches for each thread, so that no thread waits long at the end.
const BATCHES: usize = 32;
/// Seconds that a part takes on its own: its rows, its executor, its state.
const OF_PART: f64 = 1.2e-5;

/// Plans `job`, whose `parts` are computed one by one; `choose` plans one of them.
///
/// # Errors
/// Those of `choose`.
pub(crate) fn plan(
    job: &Job,
    parts: &KeyParts,
    choose: impl Fn(&Job) -> Result<Plan>,
) -> Result<Plan> {
    let sample = sample(job, parts)?;
    let mut inner = choose(&sample)?;
    let (rows, cols) = largest(parts);
    // Tiles with all columns of the sample have all columns of every part.
    if inner.tiling.cols >= sample.space.m {
        inner.tiling = Tiling::new(inner.tiling.rows, inner.tiling.cols.max(cols));
    }
    let tiling = Tiling::new(rows.div_ceil(strips(parts)), cols);
    let (tiles, pairs) = (tiles(parts, tiling).len(), job.pairs()?);
    let threads = inner.threads;
    let terms = terms(
        &inner,
        parts,
        pairs as f64 / sample.space.size()?.max(1) as f64,
    );
    let states: u64 = job
        .folds
        .iter()
        .map(|fold| fold.bytes(job.space.n, job.space.m))
        .fold(0, u64::saturating_add);
    let mut reasons = inner.reasons.clone();
    reasons.push(
        format!(
            "{} parts: rows of one group and key against rows of another, each as a question of its own",
            parts.list.len()
        )
        .into(),
    );
    Ok(Plan {
        tiling,
        // Parts end with a part of a tile; no order of blocks reaches over it.
        order: Order::default(),
        tiles_per_batch: (tiles / (threads * BATCHES)).max(1),
        pairs,
        tiles,
        peak_bytes: states
            .saturating_add(working(job, (parts, &sample), &inner)?)
            .saturating_add(parts.listed_bytes()),
        seconds: terms.iter().map(|term| term.seconds).sum(),
        bound: terms.first().map_or_else(String::new, |t| t.what.clone()),
        terms,
        reasons,
        part: Some(Box::new(inner.clone())),
        ..inner
    })
}

/// The strips that each part is cut into.
fn strips(parts: &KeyParts) -> usize {
    (TILES / parts.list.len().max(1)).clamp(1, STRIPS)
}

/// What the time is made of: parts cost what the sample costs for as many pairs, `share` times its
/// own, and a little each.
fn terms(inner: &Plan, parts: &KeyParts, share: f64) -> Vec<Term> {
    let scaled = |term: &Term| Term {
        seconds: term.seconds * share,
        what: term.what.clone(),
    };
    let mut terms: Vec<Term> = inner.terms.iter().map(scaled).collect();
    terms.push(Term {
        what: "parts".into(),
        seconds: OF_PART * parts.list.len() as f64 / inner.threads as f64,
    });
    terms.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    terms
}

/// The part that is planned for all: the one with the most pairs.
fn sample(job: &Job, parts: &KeyParts) -> Result<Job> {
    let [largest, _] = parts.largest();
    largest.map_or_else(|| job.empty_part(), |at| job.part(parts, at))
}

/// The most rows of x, and of y, that a part has.
pub(crate) fn largest(parts: &KeyParts) -> (usize, usize) {
    let spaces = || parts.list.iter().map(|part| part.space(None));
    (
        spaces().map(|s| s.n).max().unwrap_or(0),
        spaces().map(|s| s.m).max().unwrap_or(0),
    )
}

/// Bytes of what all threads hold while one computes the largest part, `sample`, and each other one as
/// large as the next.
///
/// # Errors
/// `Internal` if the rows of a part make no table.
fn working(job: &Job, (parts, sample): (&KeyParts, &Job), plan: &Plan) -> Result<u64> {
    let of_part = |part: &Job| {
        let (n, m) = (part.space.n as u64, part.space.m as u64);
        let rows = n * part.x.width() as u64 * 8 + m * part.other().width() as u64 * 8;
        working_bytes(part, 1, plan.tiling, plan.prune).saturating_add(rows)
    };
    let all = of_part(sample);
    // Strips of the largest part are computed by several threads, each with the rows of it all.
    let others = match parts.largest() {
        [_, Some(next)] if strips(parts) == 1 => of_part(&job.part(parts, next)?),
        _ => all,
    };
    let threads = plan.threads.saturating_sub(1) as u64;
    Ok(all.saturating_add(others.saturating_mul(threads)))
}

/// Bytes that a run of `job` takes next to inputs and results.
///
/// # Errors
/// `Internal` if the rows of a part make no table.
pub fn working_of(job: &Job, plan: &Plan, tiling: Tiling) -> Result<u64> {
    match (&job.parts, &plan.part) {
        (Some(parts), Some(inner)) => working(job, (parts, &sample(job, parts)?), inner),
        _ => Ok(working_bytes(job, plan.threads, tiling, plan.prune)),
    }
}

/// Lists the tiles of all parts in merge order. Rows count on from part to part, columns from 0.
pub fn tiles(parts: &KeyParts, tiling: Tiling) -> Vec<Tile> {
    let of_part = |at: usize| {
        let (start, space) = (parts.start(at), parts.list[at].space(None));
        let strips = (0..space.n).step_by(tiling.rows);
        strips.map(move |r| Tile {
            rows: start + r..start + (r + tiling.rows).min(space.n),
            cols: 0..space.m,
        })
    };
    (0..parts.list.len()).flat_map(of_part).collect()
}

/// Counts the pairs of a tile of the run of `job`. Tiles of parts count on from part to part; those of
/// groups in one column grid have rows without a group behind all others.
pub fn count(job: &Job, plan: &Plan, tile: &Tile) -> u64 {
    match (&job.parts, &plan.part) {
        (Some(parts), None) => {
            let within = |range: &Range<usize>, side| {
                let end = parts.members(side).len();
                range.start.min(end)..range.end.min(end)
            };
            let rows = within(&tile.rows, Side::X);
            job.space.count(&rows, &within(&tile.cols, Side::Y))
        }
        _ => job.count(&tile.rows, &tile.cols),
    }
}

/// Lists the tiles of the run of `job`.
pub fn tiles_of_run(job: &Job, plan: &Plan) -> Vec<Tile> {
    match (&job.parts, &plan.part) {
        (Some(parts), Some(_)) => tiles(parts, plan.tiling),
        _ => plan.tiling.tiles(&walked(job, plan.prune)),
    }
}

/// Folds `tiles` of the run of `job` part by part: `fold` gets a part and strips of its rows, and
/// returns what it finds, as a question of its own would. `sink` may take the matches so far.
///
/// # Errors
/// Those of `fold` and of `sink`.
pub fn fold_parts(
    job: &Job,
    parts: &KeyParts,
    (tiles, sink): (&[Tile], &dyn Sink),
    mut fold: impl FnMut(usize, &[Range<usize>]) -> Result<Folded>,
) -> Result<Folded> {
    let (n, m) = (job.space.n, job.space.m);
    let mut all = Folded {
        states: job.folds.iter().map(|fold| fold.start(n, m)).collect(),
        tally: Tally::default(),
    };
    // Bytes of matches, for which the parts have asked.
    let mut held = 0;
    for tiles in tiles.chunk_by(|a, b| parts.part_of(a.rows.start) == parts.part_of(b.rows.start)) {
        let at = parts.part_of(tiles[0].rows.start);
        let start = parts.start(at);
        let strip = |tile: &Tile| tile.rows.start - start..tile.rows.end - start;
        let strips: Vec<Range<usize>> = tiles.iter().map(strip).collect();
        let more = add(job, (parts, at), fold(at, &strips)?, &mut all);
        if more > 0 {
            held += more;
            sink.grown(&mut all.states, [held, 0], &mut held)?;
        }
    }
    Ok(all)
}

/// Adds what part `at` gives, as a question of its own, to `all`; bytes of its matches.
fn add(job: &Job, (parts, at): (&KeyParts, usize), found: Folded, all: &mut Folded) -> u64 {
    let (states, tally) = job.of_part(parts, at, found.states, found.tally);
    let folds = job.folds.iter().zip(&states);
    let bytes = folds.map(|(fold, state)| fold.grown(state)).sum();
    let each = job.folds.iter().zip(&mut all.states).zip(states);
    each.for_each(|((fold, into), from)| fold.join_slots(into, from));
    all.tally.merge(&tally);
    bytes
}

/// Lists the tiles of the part `job` in the strips that `rows` are, as its own plan cuts them.
pub fn tiles_within(job: &Job, plan: &Plan, rows: &Range<usize>) -> Vec<Tile> {
    debug_assert!(rows.start.is_multiple_of(BLOCK), "a strip within a block");
    let space = walked(job, plan.prune);
    plan.tiling.tiles_of(&space, rows)
}
