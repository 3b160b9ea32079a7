//! Plans of questions about groups on devices: one table, sorted by group, and a launch for each
//! pair of groups.
//!
//! The rows of a group are a range of the sorted rows, so the pairs of two groups are a rectangle of
//! the question about all pairs. Rows are packed and kernels are compiled once, for that question.
//! The rows of a part begin at a multiple of a panel, as those of every tile do.
//!
//! ```text
//! 8 kinds, i < j    36 rectangles of one sweep each, with counters of their own
//! 10⁵ keys          a rectangle has few pairs, and a launch takes longer than they do: the host
//! ```

use super::products::RowFacts;
use super::{BATCHES_EACH, Facts, plan_for_all, tiles_of_a_batch};
use crate::overrides::{Overrides, Pruning, Residency};
use crate::parts;
use crate::plan::Plan;
use crate::tiles::Tiling;
use std::borrow::Cow;
use zipfold_core::fold::{BLOCK, Fold};
use zipfold_core::parts::KeyParts;
use zipfold_core::{Error, Job, Opt, Result};

/// Pairs that a part has in the mean, from which on a launch for each pays.
const PAIRS_OF_PART: u64 = 1 << 17;
/// Seconds of a launch and of the counters that come home after it.
const OF_PART: f64 = 1e-4;
/// Strips that a part is cut into at most, for several devices.
const STRIPS: usize = 16;

/// Returns why devices leave the groups of `job` to the host, if they do.
pub fn hindrance(job: &Job, overrides: &Overrides) -> Option<&'static str> {
    let parts = job.parts.as_ref()?;
    let inner = |fold: &Fold| {
        fold.grouped()
            .is_some_and(|grouped| is_shared(&grouped.inner))
    };
    if !job.folds.iter().all(inner) {
        return Some(
            "results by row, for groups and keys, are of parts of some rows each, which the host computes",
        );
    }
    if parts.spread(BLOCK, job.space.is_self()).is_none() {
        return Some("pairs of different keys, lists and windows are parts that the host visits");
    }
    if overrides.prune == Some(Pruning::On) {
        return Some("bounds are requested, by which a device leaves out no pairs of groups");
    }
    let most = PAIRS_OF_PART.saturating_mul(parts.list.len() as u64);
    (job.pairs().unwrap_or(u64::MAX) < most)
        .then_some("its groups and keys have few pairs each, and a device takes a launch for each")
}

/// Whether groups share the states of `fold`, whose counters know no rows.
fn is_shared(fold: &Fold) -> bool {
    match fold {
        Fold::Histogram(_) | Fold::Extremes(_) => true,
        Fold::Dense(_)
        | Fold::Reduce(_)
        | Fold::Nearest(_)
        | Fold::Join(_)
        | Fold::Top(_)
        | Fold::Quantile(_)
        | Fold::Listed(_)
        | Fold::Grouped(_) => false,
    }
}

/// Returns the question whose kernels serve `job`: the one about all pairs where it has parts.
pub fn swept_whole(job: &Job) -> Cow<'_, Job> {
    match job.parts {
        Some(_) => Cow::Owned(job.of_all_pairs()),
        None => Cow::Borrowed(job),
    }
}

/// Returns the plan of `job`, whose `parts` some `devices` sweep one by one.
///
/// # Errors
/// Those of [`plan_for_all`]; `Request` for rows that lie by blocks of tiles.
pub(super) fn plan(
    job: &Job,
    parts: &KeyParts,
    host: Plan,
    (devices, facts_of_rows): (&[Facts], Option<&RowFacts>),
    overrides: &Overrides,
) -> Result<Plan> {
    refuse_blocks(overrides)?;
    let mut host = host;
    let by_parts = match host.by_parts.take() {
        Some(by_parts) => *by_parts,
        None => host,
    };
    let whole = job.of_all_pairs();
    let all_pairs = Overrides {
        prune: Some(Pruning::Off),
        ..overrides.clone()
    };
    let alone = Plan {
        part: None,
        ..by_parts.clone()
    };
    let swept = plan_for_all(&whole, alone, devices, &all_pairs, facts_of_rows)?;
    let tiling = tiling(parts, devices.len());
    let tiles = parts::tiles(parts, tiling).len();
    Ok(Plan {
        tiling,
        tiles,
        tiles_per_batch: match overrides.batch {
            Some(_) => swept.tiles_per_batch,
            None => tiles_of_a_batch(tiles, devices.len()),
        },
        seconds: swept.seconds + OF_PART * tiles as f64 / devices.len() as f64,
        strategies: by_parts.strategies,
        part: by_parts.part,
        ..swept
    })
}

/// Refuses rows that lie by blocks of tiles.
fn refuse_blocks(overrides: &Overrides) -> Result<()> {
    if let Some(Residency::Block | Residency::Overlap) = overrides.device_rows {
        let e = Error::request("expected rows on every device, or tile by tile, for groups");
        return Err(e.at_place(Opt::By).remedy("leave device.rows away"));
    }
    Ok(())
}

/// Returns tiles that are whole parts, or strips of them where several devices share out few.
fn tiling(parts: &KeyParts, devices: usize) -> Tiling {
    let batches = match devices {
        1 => 1,
        several => several * BATCHES_EACH,
    };
    let strips = batches.div_ceil(parts.list.len().max(1)).clamp(1, STRIPS);
    let (rows, cols) = parts::largest(parts);
    Tiling::new(rows.div_ceil(strips), cols)
}
