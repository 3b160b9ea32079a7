//! Neighbours and pairs within a distance, by clouds.

use super::form::{Form, Question};
use super::tree::Hoisted;
use crate::kernels::cloud::{Cloud, Cut, Ends, Extremes, Nearest, Sample, Within};
use crate::kernels::top_k::TopK;
use crate::pairs::engine::{Sink, UnitState};
use crate::simd::{Element, Isa};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use zipfold_core::fold::nearest::Neighbour;
use zipfold_core::fold::{ExtremesState, Fold, NearestState, Select, SelectState, State, Tally};
use zipfold_core::{Blame, Cells, Error, Job, Result, Space};
use zipfold_plan::Tile;

/// Rows between two looks whether to stop.
const STEP: usize = 256;

/// A job whose answer clouds give.
#[derive(Debug)]
pub struct Nearby<'j> {
    job: &'j Job,
    form: Form,
    isa: Isa,
    x: Cloud,
    /// Where y is another input, or other coordinates of the same.
    y: Option<Cloud>,
    cut: Cut,
    space: Space,
    /// The extremes that all threads have found.
    ends: Ends,
    /// Pairs that were evaluated to begin with, until a unit has told of them.
    sampled: AtomicU64,
}

impl<'j> Nearby<'j> {
    /// Clouds of the hoisted rows in their orders; none where `job` is not of the form, or not of finite coordinates.
    pub fn load(job: &'j Job, space: Space, isa: Isa, sides: [(&Hoisted, &[u32]); 2]) -> Option<Self> {
        let form = Form::of(job)?;
        let cloud = |side: usize| {
            let (rows, order) = sides[side];
            let at = |name: u32, k: usize| rows.values[name as usize * rows.width + form.coordinates[k][side]];
            Cloud::new(&form.measure, order, at)
        };
        let same = job.y.is_none() && form.coordinates.iter().all(|[x, y]| x == y);
        let (x, y) = match same {
            true => (cloud(0)?, None),
            false => {
                let (x, y) = rayon::join(|| cloud(0), || cloud(1));
                (x?, Some(y?))
            }
        };
        let cut = match space.cells {
            Cells::Cross | Cells::Square => Cut::All,
            Cells::Triangle => Cut::Above,
            Cells::Diagonal => Cut::From,
            Cells::Ordered => Cut::Others,
        };
        let nearby = Nearby { job, form, isa, x, y, cut, space, ends: Ends::default(), sampled: AtomicU64::new(0) };
        if nearby.form.question == Question::Extremes {
            let sample = Sample(nearby.extreme(false, 0..0, 0..0));
            nearby.sampled.store(f64::dispatch(isa, sample), Ordering::Relaxed);
        }
        Some(nearby)
    }
    fn extreme(&self, largest: bool, rows: Range<usize>, cols: Range<usize>) -> Extremes<'_> {
        Extremes {
            x: &self.x,
            y: self.other(),
            measure: &self.form.measure,
            rows,
            cols,
            cut: self.cut,
            largest,
            ends: &self.ends,
        }
    }
    fn other(&self) -> &Cloud {
        self.y.as_ref().unwrap_or(&self.x)
    }
    /// Folds the cells of consecutive `tiles` of sorted rows; `order` says which rows of x and of y they are.
    ///
    /// # Errors
    /// Those of the sink, which is asked for room before matches are kept; `Interrupted` when told to stop.
    pub fn run(
        &self,
        tiles: &[Tile],
        order: [&[u32]; 2],
        sink: &dyn Sink,
        stop: Option<&AtomicBool>,
    ) -> Result<UnitState> {
        let rows =
            tiles.iter().map(|t| t.rows.start).min().unwrap_or(0)..tiles.iter().map(|t| t.rows.end).max().unwrap_or(0);
        let mut tally = Tally::default();
        let mut part = match &self.job.folds[0] {
            Fold::Select(fold) => Part::Matches(Matches::new(fold, sink, self.job.space.is_half(), order)),
            Fold::Extremes(_) => Part::Ends,
            _ => Part::Lists(rows.start, vec![vec![]; rows.len()]),
        };
        for tile in tiles {
            for start in tile.rows.clone().step_by(STEP) {
                if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                    return Err(Error::new(Blame::Interrupted, "interrupted"));
                }
                let rows = start..(start + STEP).min(tile.rows.end);
                let seen = self.step(&mut part, rows.clone(), tile.cols.clone())?;
                let cells = self.job.space.count(&rows, &tile.cols);
                tally.counted += cells;
                // One that looks for two extremes may look twice.
                tally.skipped += cells.saturating_sub(seen);
            }
        }
        let state = match part {
            Part::Matches(m) => State::Select(m.state),
            Part::Lists(start, lists) => State::Nearest(NearestState::of_rows(start, lists)),
            Part::Ends => State::Extremes(ExtremesState::of(vec![self.ends.get()])),
        };
        Ok(UnitState { states: vec![state], tally })
    }
    /// Cells of some rows that were evaluated, each once.
    fn step(&self, part: &mut Part<'_>, rows: Range<usize>, cols: Range<usize>) -> Result<u64> {
        match (part, self.form.question) {
            (Part::Ends, Question::Extremes) => {
                let look = |largest| f64::dispatch(self.isa, self.extreme(largest, rows.clone(), cols.clone()));
                Ok(look(false) + look(true) + self.sampled.swap(0, Ordering::Relaxed))
            }
            (Part::Lists(first, lists), Question::Nearest(k)) => Ok(self.nearest(*first, lists, k, rows, cols)),
            (Part::Matches(matches), Question::Within(limit)) => {
                let take = |row: usize, found: &[u32]| matches.keep(row, found);
                let (x, y, measure, cut) = (&self.x, self.other(), &self.form.measure, self.cut);
                f64::dispatch(self.isa, Within { x, y, measure, rows, cols, cut, limit, take })
            }
            _ => Err(Error::internal("a question and its state do not fit")),
        }
    }
    fn nearest(
        &self,
        first: usize,
        lists: &mut [Vec<Neighbour>],
        k: usize,
        rows: Range<usize>,
        cols: Range<usize>,
    ) -> u64 {
        let lists = std::cell::RefCell::new(lists);
        // Lists of other columns of a row are gone on with.
        let begin = |row: usize, top: &mut TopK<f64>| {
            for (value, name) in &lists.borrow()[row - first] {
                top.push((*value, *name as u32));
            }
        };
        let take = |row: usize, top: &mut TopK<f64>| {
            lists.borrow_mut()[row - first] = top.finish().iter().map(|(v, j)| (*v, u64::from(*j))).collect();
        };
        let (x, y, measure, cut) = (&self.x, self.other(), &self.form.measure, self.cut);
        let [all, behind] = f64::dispatch(self.isa, Nearest { x, y, measure, rows, cols, cut, k, begin, take });
        // A half space is walked from both rows of a cell; its cells are those behind the row.
        let doubled = self.space.cells != self.job.space.cells;
        if doubled { behind } else { all }
    }
}

enum Part<'s> {
    Matches(Matches<'s>),
    /// First sorted row, and the list of each.
    Lists(usize, Vec<Vec<Neighbour>>),
    /// Nothing of its own.
    Ends,
}

/// Matches, for which room is asked before they are kept.
struct Matches<'s> {
    fold: &'s Select,
    state: SelectState,
    sink: &'s dyn Sink,
    order: [&'s [u32]; 2],
    /// A pair stands for both ways round and is kept with its lower index first.
    half: bool,
}

impl<'s> Matches<'s> {
    fn new(fold: &'s Select, sink: &'s dyn Sink, half: bool, order: [&'s [u32]; 2]) -> Self {
        Matches { fold, state: SelectState::part(fold, 0, 0), sink, order, half }
    }
    fn keep(&mut self, row: usize, columns: &[u32]) -> Result<()> {
        let (to_i, to_j) = (&mut self.state.i, &mut self.state.j);
        let wanted = to_i.len() + columns.len();
        if wanted > to_i.capacity().min(to_j.capacity()) {
            let capacity = (to_i.capacity() * 2).max(wanted).max(1024);
            // As much again for sorting, as [`SelectState::bytes`] has it.
            self.sink.hold((capacity - to_i.capacity()) as u64 * 32)?;
            to_i.reserve_exact(capacity - to_i.len());
            to_j.reserve_exact(capacity - to_j.len());
        }
        debug_assert_eq!(self.fold.value, None);
        let i = u64::from(self.order[0][row]);
        let names = columns.iter().map(|j| u64::from(self.order[1][*j as usize]));
        match self.half {
            true => names.for_each(|j| {
                to_i.push(i.min(j));
                to_j.push(i.max(j));
            }),
            false => {
                to_i.resize(wanted, i);
                to_j.extend(names);
            }
        }
        Ok(())
    }
}
