//! What bounds leave open for the kernels of devices: runs of panels for every group of rows.
//!
//! ```text
//! for each group of rows of x, by threads
//!     leaves of y that the bounds of the group's hull leave open          hierarchy.rs
//!     consecutive leaves are one run
//! ```
//!
//! Groups are as large as the rows of a thread block, and leaves as large as its panels: smaller
//! boxes would leave fewer pairs, but no block could take them alone.

use super::hierarchy::{BoxWalk, Hierarchy};
use rayon::prelude::*;
use std::ops::Range;
use zipfold_core::fold::Tally;
use zipfold_core::pair::interval_bounds::Bounds;
use zipfold_core::{Job, Result, Side};
use zipfold_plan::device::open_pairs::{Open, OpenPairs, PANEL, PanelRun, Wanted};
use zipfold_plan::executor::{Folded, Sink, Stop};
use zipfold_plan::prune::Prune;
use zipfold_plan::{self as plan};
use zipfold_vector::simd::Isa;

/// Groups that one thread walks at a time: the state of a fold is made for each turn.
const TURN: usize = 64;

/// Panels before and behind a group that a first pass takes at most: a run of them stays one run.
const MOST_NEAR: usize = 1 << 10;

/// The rows of a job for devices that sweep what bounds leave open.
#[derive(Debug)]
pub struct SortedRows<'j> {
    hierarchy: Hierarchy<'j>,
    isa: Isa,
}

impl<'j> SortedRows<'j> {
    /// Sorts and boxes the rows of `job`, whose formula has these `bounds`, for a plan that prunes as
    /// `prune` says on `isa`.
    pub fn new(job: &'j Job, bounds: Bounds<'j>, (prune, isa): (Prune, plan::Isa)) -> Self {
        let (hierarchy, ()) = Hierarchy::new((job, bounds), prune, PANEL, |_| ());
        SortedRows {
            hierarchy,
            isa: crate::pairs::reductions::isa(isa),
        }
    }
    fn walk<'e>(&'e self, rows: &Range<usize>, sink: &'e dyn Sink) -> BoxWalk<'e, 'j> {
        BoxWalk::new(&self.hierarchy, self.isa, rows.clone(), sink)
    }
    /// The runs of the groups of `rows`, and what was settled.
    fn turn(
        &self,
        [rows, cols]: [&Range<usize>; 2],
        group: usize,
        wanted: Wanted<'_>,
        sink: &dyn Sink,
    ) -> Result<Open> {
        // Where a device keeps the best of a row, the host keeps nothing.
        let kept = match wanted {
            Wanted::Open => rows.clone(),
            Wanted::Near | Wanted::Rest(_) => 0..0,
        };
        let mut walk = self.walk(&kept, sink);
        walk.cols = cols.clone();
        let (mut runs, mut pairs) = (Vec::<PanelRun>::new(), 0);
        for (at, first) in rows.clone().step_by(group).enumerate() {
            let mine = first..(first + group).min(rows.end);
            let leaves = match wanted {
                Wanted::Open => walk.leaves(&mine)?,
                Wanted::Near => self.near(&mut walk, &mine).collect(),
                Wanted::Rest(worst) => {
                    let near = self.near(&mut walk, &mine);
                    walk.told = Some(worst[at]);
                    walk.without = near;
                    walk.leaves(&mine)?
                }
            };
            let begun = runs.len();
            for leaf in leaves {
                let panel = walk.columns(0, leaf);
                if walk.is_empty(&mine, &panel) {
                    continue;
                }
                pairs += self.hierarchy.job.space.count(&mine, &panel);
                let (from, to) = (panel.start as u32, panel.end as u32);
                match runs[begun..].last_mut() {
                    Some(last) if last.to == from => last.to = to,
                    _ => runs.push(PanelRun {
                        first: first as u32,
                        from,
                        to,
                    }),
                }
            }
        }
        walk.hold(0)?;
        let settled = walk.finish();
        Ok(Open {
            runs,
            pairs,
            settled,
        })
    }
    /// Leaves of y near a group of rows that hold the best of them several times over.
    fn near(&self, walk: &mut BoxWalk<'_, '_>, rows: &Range<usize>) -> Range<usize> {
        let job = self.hierarchy.job;
        let best = job.folds[0].best();
        let (k, best) = best.map_or((0, (0, false)), |b| (b.k, (b.root, b.largest)));
        let spare = 1 + k.div_ceil(PANEL).min(MOST_NEAR);
        let is_distance = job.low.pattern(best.0).norm.is_some();
        let middle = match (&job.y, best.1) {
            // Near rows follow one another, and they are the same on both sides.
            (None, false) if is_distance => rows.start / PANEL..rows.end.div_ceil(PANEL),
            _ => {
                let leaf = walk.best_leaf(rows, best);
                leaf..leaf + 1
            }
        };
        // Of the tile, and one at least: the first pass begins the lists of a group.
        let tile = walk.cols.start / PANEL..walk.cols.end.div_ceil(PANEL);
        let from = middle.start.saturating_sub(spare);
        let from = from.clamp(tile.start, tile.end.max(tile.start + 1) - 1);
        from..(middle.end + spare).clamp(from + 1, tile.end.max(from + 1))
    }
}

impl OpenPairs for SortedRows<'_> {
    fn order(&self, side: Side) -> &[u32] {
        self.hierarchy.orders.by_side(side)
    }
    fn empty(&self, rows: &Range<usize>) -> Folded {
        let folds = self.hierarchy.job.folds.iter();
        Folded {
            states: folds.map(|fold| fold.sorted_part(rows)).collect(),
            tally: Tally::default(),
        }
    }
    fn merge(&self, into: &mut Folded, from: Folded) {
        let folds = self.hierarchy.job.folds.iter();
        for ((fold, into), from) in folds.zip(&mut into.states).zip(from.states) {
            fold.merge(into, from);
        }
        into.tally.merge(&from.tally);
    }
    fn open(
        &self,
        [rows, cols]: [&Range<usize>; 2],
        group: usize,
        wanted: Wanted<'_>,
        (sink, stop): (&dyn Sink, Stop<'_>),
    ) -> Result<Open> {
        let turns: Vec<usize> = rows.clone().step_by(group * TURN).collect();
        let found = turns.into_par_iter().enumerate().map(|(at, from)| {
            stop.check()?;
            let mine = from..(from + group * TURN).min(rows.end);
            let wanted = match wanted {
                Wanted::Rest(worst) => Wanted::Rest(&worst[at * TURN..]),
                other => other,
            };
            self.turn([&mine, cols], group, wanted, sink)
        });
        let found = found.collect::<Result<Vec<_>>>()?;
        let mut all = Open {
            runs: vec![],
            pairs: 0,
            settled: self.empty(match wanted {
                Wanted::Open => rows,
                Wanted::Near | Wanted::Rest(_) => &(0..0),
            }),
        };
        for one in found {
            all.runs.extend(one.runs);
            all.pairs += one.pairs;
            self.merge(&mut all.settled, one.settled);
        }
        Ok(all)
    }
}
