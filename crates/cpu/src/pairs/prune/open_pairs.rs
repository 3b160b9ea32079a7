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

use super::hierarchy::{GROUP, Hierarchy, Walk};
use rayon::prelude::*;
use std::ops::Range;
use zipfold_core::fold::Tally;
use zipfold_core::{Job, Result, Side};
use zipfold_plan::Plan;
use zipfold_plan::device::open_pairs::{Open, OpenPairs, PANEL, PanelRun};
use zipfold_plan::executor::{Folded, Sink, Stop};
use zipfold_vector::simd::Isa;

/// Groups that one thread walks at a time: the state of a fold is made for each turn.
const TURN: usize = 64;

/// The rows of a job for devices that sweep what bounds leave open.
#[derive(Debug)]
pub struct SortedRows<'j> {
    hierarchy: Hierarchy<'j>,
    isa: Isa,
}

impl<'j> SortedRows<'j> {
    /// Sorts and boxes the rows of `job`; none where its formula has no bounds.
    pub fn new(job: &'j Job, plan: &Plan) -> Option<Self> {
        let (hierarchy, ()) = Hierarchy::new(job, plan, PANEL, |_| ())?;
        Some(SortedRows {
            hierarchy,
            isa: crate::pairs::reductions::isa(plan.isa),
        })
    }
    fn walk<'e>(&'e self, rows: &Range<usize>, sink: &'e dyn Sink) -> Walk<'e, 'j> {
        Walk::new(&self.hierarchy, self.isa, rows.clone(), sink)
    }
    /// The runs of the groups of `rows`, and what was settled.
    fn turn(
        &self,
        rows: Range<usize>,
        cols: &Range<usize>,
        group: usize,
        sink: &dyn Sink,
    ) -> Result<Open> {
        let mut walk = self.walk(&rows, sink);
        walk.cols = cols.clone();
        let (mut runs, mut pairs) = (Vec::<PanelRun>::new(), 0);
        for first in rows.clone().step_by(group) {
            let mine = first..(first + group).min(rows.end);
            let begun = runs.len();
            for leaf in walk.leaves(&mine)? {
                let panel = walk.columns(0, leaf);
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
        rows: Range<usize>,
        cols: &Range<usize>,
        group: usize,
        sink: &dyn Sink,
        stop: Stop<'_>,
    ) -> Result<Open> {
        // Bounds of a group are those of whole small boxes.
        let group = group.next_multiple_of(GROUP);
        let turns: Vec<usize> = rows.clone().step_by(group * TURN).collect();
        let found = turns.into_par_iter().map(|from| {
            stop.check()?;
            let to = (from + group * TURN).min(rows.end);
            self.turn(from..to, cols, group, sink)
        });
        let found = found.collect::<Result<Vec<_>>>()?;
        let mut all = Open {
            runs: vec![],
            pairs: 0,
            settled: self.empty(&rows),
        };
        for one in found {
            all.runs.extend(one.runs);
            all.pairs += one.pairs;
            self.merge(&mut all.settled, one.settled);
        }
        Ok(all)
    }
}
