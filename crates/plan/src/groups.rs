//! Plans of histograms by group that count the pairs of all groups in one column grid.
//!
//! By parts, the rows of each pair of groups are sorted into a grid of their own: a row is sorted as often
//! as there are groups, and meets few rows each time. In one grid it is sorted once and meets all rows
//! near it, and the groups of a pair choose its counters. Counters grow with the square of the groups,
//! so parts remain the way of many groups, of other folds, and of conditions on keys.
//!
//! ```text
//! 20 groups, 50 bins     400 · 53 counters, 85 KB: in the second cache      one grid
//! 100 regions, 20 bins   10 000 · 23, 0.9 MB; those of near regions          one grid
//! 100 000 keys                                                               parts
//! ```

use crate::bytes::{counters, working_bytes};
use crate::cost::Term;
use crate::overrides::{Overrides, Pruning};
use crate::plan::Plan;
use crate::strategy::Strategy;
use zipfold_core::fold::{BLOCK, Fold};
use zipfold_core::{Job, Result, Side, Table};

/// The most counters of a thread. A batch makes and reads them all.
const MOST_COUNTERS: usize = 1 << 20;
/// Pairs that a batch should have for each counter.
const PAIRS_PER_COUNTER: u64 = 16;
/// What counting takes with groups, in times of it without.
const GROUPED: f64 = 1.3;
/// Seconds that a batch takes for a counter: to make it, to add it, and its part of a state.
const OF_COUNTER: f64 = 1e-8;

/// Returns the plan of `job` in one column grid if it takes less time than `by_parts`, or the user asks
/// to prune; `choose` plans the question without its groups.
///
/// # Errors
/// Those of `choose`.
pub(crate) fn plan(
    job: &Job,
    by_parts: Plan,
    overrides: &Overrides,
    choose: impl Fn(&Job) -> Result<Plan>,
) -> Result<Plan> {
    let together = match job.ungrouped().filter(|plain| can(job, plain)) {
        Some(plain) => together(job, choose(&plain)?, overrides)?,
        None => None,
    };
    let by_hand = overrides.prune == Some(Pruning::On);
    let less = |plan: &Plan| by_hand || plan.seconds < by_parts.seconds;
    Ok(match together.filter(less) {
        Some(plan) => Plan {
            by_parts: Some(Box::new(by_parts)),
            ..plan
        },
        None => by_parts,
    })
}

/// Returns whether one column grid can count the pairs of all groups of `job` for any rows: nobody would
/// stand in for it.
fn can(job: &Job, plain: &Job) -> bool {
    let Some(parts) = &job.parts else {
        return false;
    };
    let counted = matches!(plain.folds.as_slice(), [Fold::Histogram(h)] if !h.sums_formulas());
    let finite = |table: &Table| table.elements().is_finite();
    counted
        && [Side::X, Side::Y]
            .iter()
            .all(|side| !parts.members(*side).is_empty())
        && counters(job, parts.groups()) <= MOST_COUNTERS
        && crate::points::apply(plain)
        && finite(&plain.x)
        && finite(plain.other())
}

/// Returns the plan of `job` by that of the question without its groups, where this uses a column grid.
fn together(job: &Job, plain: Plan, overrides: &Overrides) -> Result<Option<Plan>> {
    let found = plain.prune.column_grid.filter(|_| plain.prune.is_on());
    let (Some(parts), Some(mut column_grid)) = (&job.parts, found) else {
        return Ok(None);
    };
    column_grid.groups = parts.groups() as u32;
    let counters = counters(job, parts.groups());
    let tiles_per_batch = match overrides.batch {
        Some(_) => plain.tiles_per_batch,
        None => batch(&plain, job.pairs()?, counters as u64),
    };
    let terms = terms(&plain, counters * plain.tiles.div_ceil(tiles_per_batch));
    let mut prune = plain.prune;
    prune.column_grid = Some(column_grid);
    let states = job.folds.iter();
    let states = states.map(|fold| fold.bytes(job.space.n, job.space.m));
    let working = working_bytes(job, plain.threads, plain.tiling, prune);
    let mut reasons = plain.reasons.clone();
    reasons.push(
        format!(
            "{} groups in one column grid, each pair of them with counters of its own",
            parts.groups()
        )
        .into(),
    );
    Ok(Some(Plan {
        strategies: vec![Strategy::ColumnGrid {
            parts: column_grid.parts,
        }],
        tiles_per_batch,
        pairs: job.pairs()?,
        peak_bytes: states.fold(working, u64::saturating_add),
        seconds: terms.iter().map(|term| term.seconds).sum(),
        bound: terms.first().map_or_else(String::new, |t| t.what.clone()),
        terms,
        prune,
        reasons,
        part: None,
        ..plain
    }))
}

/// Returns the tiles of a batch, of a run of this many pairs.
fn batch(plain: &Plan, pairs: u64, counters: u64) -> usize {
    let of_tile = (pairs / plain.tiles.max(1) as u64).clamp(1, (BLOCK * BLOCK * 64) as u64);
    let wanted = (counters * PAIRS_PER_COUNTER).div_ceil(of_tile) as usize;
    wanted.clamp(1, (plain.tiles / (4 * plain.threads)).max(1))
}

/// Returns what the time is made of, where batches make this many counters in all.
fn terms(plain: &Plan, counters: usize) -> Vec<Term> {
    let mut terms = plain.terms.clone();
    let counting = terms.iter_mut().filter(|term| term.what == "counting");
    counting.for_each(|term| term.seconds *= GROUPED);
    terms.push(Term {
        what: "counters of groups".into(),
        seconds: OF_COUNTER * counters as f64 / plain.threads as f64,
    });
    terms.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    terms
}
