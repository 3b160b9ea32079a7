//! Questions about groups or within keys: part by part, each by the strategy of its plan.
//!
//! A batch has strips of some parts. A part is made a question of its own, with copies of its rows,
//! when its first strip comes up, and dropped after its last one: so a run holds the rows of one
//! part for each thread.

use super::prune::Hulls;
use std::ops::Range;
use zipfold_core::fold::{Fold, JoinState, State, Tally};
use zipfold_core::parts::KeyParts;
use zipfold_core::{Job, Result};
use zipfold_plan::executor::{Executor, Folded, Sink, Stop, Values};
use zipfold_plan::{Plan, Tile, parts};

/// Loads some rows of a job for the first strategy of a plan that loads.
pub(super) type Load = for<'p> fn(&'p Job, &Plan) -> Result<(Box<dyn Executor + 'p>, Vec<String>)>;

/// A job whose parts are computed one by one.
#[derive(Debug)]
pub(super) struct ByParts<'j> {
    job: &'j Job,
    parts: &'j KeyParts,
    plan: Plan,
    load: Load,
    hulls: Option<Hulls>,
}

impl<'j> ByParts<'j> {
    /// Computes the `parts` of `job`, each by `plan` as `load` loads it.
    pub(super) fn new(job: &'j Job, parts: &'j KeyParts, plan: &Plan, load: Load) -> Self {
        ByParts {
            job,
            parts,
            plan: plan.clone(),
            load,
            hulls: plan.hulls.then(|| Hulls::new(job, parts)).flatten(),
        }
    }
    /// Computes these strips of rows of part `at`.
    fn part(
        &self,
        at: usize,
        strips: &[Range<usize>],
        sink: &dyn Sink,
        stop: Stop<'_>,
    ) -> Result<Folded> {
        let hulls = self.hulls.as_ref();
        if let Some(folded) = hulls.and_then(|h| h.settle(self.job, self.parts, at, strips)) {
            return Ok(folded);
        }
        let part = self.job.part(self.parts, at)?;
        let (executor, _) = (self.load)(&part, &self.plan)?;
        let within = |strip| parts::tiles_within(&part, &self.plan, strip);
        let tiles: Vec<Tile> = strips.iter().flat_map(within).collect();
        let sink = PartSink {
            sink,
            job: self.job,
            slots: (self.parts, at),
        };
        let Folded { states, tally } = executor.run(&tiles, &sink, stop)?;
        let states = match executor.order() {
            None => states,
            Some(order) => in_order(&part, states, order),
        };
        Ok(Folded { states, tally })
    }
}

/// The sink of a run as one part sees it: what takes matches out of states is told whose rows they
/// have.
struct PartSink<'s> {
    sink: &'s dyn Sink,
    job: &'s Job,
    slots: (&'s KeyParts, usize),
}

impl Sink for PartSink<'_> {
    fn put(&self, fold: usize, at: usize, values: Values<'_>) -> Result<()> {
        self.sink.put(fold, at, values)
    }
    fn hold(&self, bytes: u64) -> Result<()> {
        self.sink.hold(bytes)
    }
    fn grown(&self, states: &mut [State], bytes: [u64; 2], held: &mut u64) -> Result<()> {
        let (parts, at) = self.slots;
        let nothing = || State::Join(JoinState::default());
        let own = states
            .iter_mut()
            .map(|state| std::mem::replace(state, nothing()));
        let (mut slotted, _) = self.job.of_part(parts, at, own.collect(), Tally::default());
        let asked = self.sink.grown(&mut slotted, bytes, held);
        for (state, slotted) in states.iter_mut().zip(slotted) {
            *state = match slotted {
                // A slot that is gone had matches, which were taken.
                State::Grouped(slots) => slots.into_single().unwrap_or_else(nothing),
                state => state,
            };
        }
        asked
    }
    fn gathers(&self) -> bool {
        self.sink.gathers()
    }
}

impl Executor for ByParts<'_> {
    fn run(&self, tiles: &[Tile], sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        parts::fold_parts(self.job, self.parts, (tiles, sink), |at, strips| {
            stop.check()?;
            self.part(at, strips, sink, stop)
        })
    }
}

/// The states of `part` with its rows in their order, of states that number them by `order`: nobody
/// else knows it.
fn in_order(part: &Job, states: Vec<State>, order: &[u32]) -> Vec<State> {
    let merged = |(fold, state): (&Fold, State)| {
        let mut all = fold.start(part.space.n, part.space.m);
        fold.merge_sorted(&mut all, state, order);
        all
    };
    part.folds.iter().zip(states).map(merged).collect()
}
