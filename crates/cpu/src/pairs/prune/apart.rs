//! Parts of a question whose pairs the hulls of their rows settle: groups of rows too far apart for
//! a histogram or a cut-off. None of their pairs is evaluated, and their rows are not copied.

use super::decision::{PruneDecision, Pruner};
use super::hull::Hull;
use super::limits::Limits;
use super::tree::Hoisted;
use std::ops::Range;
use zipfold_core::fold::{Fold, Grouped, State, Tally};
use zipfold_core::keys::RowKeys;
use zipfold_core::pair::interval_bounds::Bounds;
use zipfold_core::parts::KeyParts;
use zipfold_core::{Job, Side, Table};
use zipfold_plan::executor::Folded;

/// The hulls of the groups of both sides.
#[derive(Debug)]
pub struct Hulls {
    sides: [Vec<Hull>; 2],
    /// What is kept of each part.
    folds: Vec<Fold>,
}

impl Hulls {
    /// Hulls of the groups of a question; none where its folds need every pair, a condition on keys
    /// divides the groups, or its formula has no bounds.
    pub fn new(job: &Job, parts: &KeyParts) -> Option<Hulls> {
        let by = parts.by.as_ref().filter(|_| parts.within.is_none())?;
        let countable = |fold: &Fold| {
            let inner = fold.grouped().map(|grouped: &Grouped| &grouped.inner);
            // Extremes ask for what was found so far, which no hull knows.
            let asks = |inner: &Fold| matches!(inner, Fold::Extremes(_)) || inner.best().is_some();
            inner.is_some_and(|inner| inner.traits().bounded && !asks(inner))
        };
        let inner = |fold: &Fold| fold.grouped().map(|grouped| (*grouped.inner).clone());
        Bounds::new(&job.low, job.periodic_box.as_ref())?;
        let of = |side: Side, table: &Table| hulls(job, (side, table), by);
        job.folds.iter().all(countable).then(|| Hulls {
            sides: [of(Side::X, &job.x), of(Side::Y, job.other())],
            folds: job.folds.iter().filter_map(inner).collect(),
        })
    }
    /// Returns what the rows `strips` of part `at` give with all columns, as a question of its own, if the hulls of its groups
    /// say that none of its pairs changes the answer but by its number.
    pub fn settle(
        &self,
        job: &Job,
        parts: &KeyParts,
        at: usize,
        strips: &[Range<usize>],
    ) -> Option<Folded> {
        let part = &parts.list[at];
        let mut bounds = Bounds::new(&job.low, job.periodic_box.as_ref())?;
        for side in [Side::X, Side::Y] {
            let hull = &self.sides[side as usize][part.groups[side as usize] as usize];
            hull.bound(&mut bounds, side);
        }
        bounds.run();
        let limits = Limits::new(&[]);
        let folds = &self.folds;
        let mut pruner = Pruner::of_folds(job, folds, &limits);
        pruner.look(&bounds);
        let decision = pruner.decide(&bounds, 0, |_| f64::NAN);
        let space = part.space(job.space.cutoff);
        let all = 0..space.m;
        let pairs: u64 = strips.iter().map(|rows| space.count(rows, &all)).sum();
        let mut tally = Tally {
            skipped: pairs,
            ..Tally::default()
        };
        let mut states: Vec<State> = folds.iter().map(|f| f.start(space.n, space.m)).collect();
        match decision {
            PruneDecision::Far => tally.beyond_cutoff = pairs,
            PruneDecision::Settled if !pruner.matters() => {
                // Results by row hear of the pairs of each row.
                let mut by_row = folds.iter().zip(&pruner.wholes);
                if by_row.any(|(fold, whole)| fold.owes_pairs(*whole)) {
                    return None;
                }
                tally.counted = pairs;
                let settled = folds.iter().zip(&mut states).zip(&pruner.wholes);
                settled.for_each(|((fold, state), whole)| fold.settle_count(state, *whole, pairs));
            }
            PruneDecision::Settled | PruneDecision::Evaluate => return None,
        }
        Some(Folded { states, tally })
    }
}

/// By group, the hull of its rows.
fn hulls(job: &Job, (side, table): (Side, &Table), by: &RowKeys) -> Vec<Hull> {
    let rows = Hoisted::new(&job.low, table, side);
    let mut all = vec![Hull::empty(rows.width); by.len()];
    let codes = by.codes[side as usize].iter();
    for (row, code) in rows.values.chunks_exact(rows.width.max(1)).zip(codes) {
        // A row without a group is in no part.
        if let Some(hull) = all.get_mut(*code as usize) {
            hull.add(row);
        }
    }
    all
}
