//! Neighbours, extremes and pairs within a distance, by bounding volume hierarchies.
//!
//! ```text
//! load:  sort the rows along a Hilbert curve; a hierarchy of boxes over x, and over y if they differ
//!        extremes: a sample of pairs sets the first limits
//! run:   for each tile, for 256 sorted rows at a time
//!            stop?
//!            nearest:  descend from each row with its list so far         kernels/bvh/nearest.rs
//!            within:   pairs up to the limit → matches                    kernels/bvh/within.rs
//!            extremes: pairs beyond the ends that all threads share       kernels/bvh/extremes.rs
//!            tally: pairs of the rows, less the pairs that were evaluated
//! ```
//!
//! Why this shape: the kernels know points and a metric, not folds. This file gives them the rows
//! of a tile and keeps their answers as states. Matches ask for memory before they are kept,
//! because their number is not known before; lists of one row go on from tile to tile.

use super::sorted::{Orders, Sorted};
use crate::kernels::bvh::{
    Bvh, Cut, Ends, Extremes, MOST, Measure, Nearest, Sample, SearchLimits, Within,
};
use crate::kernels::top_k::TopK;
use crate::pairs::points::NOT_FINITE;
use crate::pairs::reductions;
use crate::pairs::worst_row::WorstRow;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use zipfold_core::fold::nearest::Neighbour;
use zipfold_core::fold::{
    Bounded, ExtremesState, Fold, Join, JoinState, NearestState, State, Tally,
};
use zipfold_core::{Domain, Error, Job, Result, Side, Space};
use zipfold_plan::executor::Declined;
use zipfold_plan::executor::{Executor, Folded, Sink, Stop};
use zipfold_plan::search::{Search, SearchQuestion};
use zipfold_plan::{Plan, Tile, prune, tiles};
use zipfold_vector::simd::{Element, Isa};

/// Rows that meet all columns first, where the answer is one row.
const FIRST: usize = 64;
/// Rows between two looks whether to stop.
const STEP: usize = 256;

/// A job whose answer hierarchies give.
#[derive(Debug)]
pub struct RangeSearch<'j> {
    job: &'j Job,
    orders: Orders,
    question: SearchQuestion,
    measure: Measure,
    isa: Isa,
    x: Bvh,
    /// Where y is another input, or other coordinates of the same.
    y: Option<Bvh>,
    cut: Cut,
    space: Space,
    /// The extremes that all threads have found.
    ends: Ends,
    /// What is known of the row that is the answer, where it is one row alone.
    worst: Option<WorstRow>,
    /// Pairs that were evaluated to begin with, until a batch has told of them.
    sampled: AtomicU64,
}

/// The distance that a search is about.
fn measure(search: &Search) -> Measure {
    let mut lengths = [1.0; MOST];
    lengths
        .iter_mut()
        .zip(&search.terms)
        .for_each(|(l, t)| *l = t.period.unwrap_or(1.0));
    let periodic = search.terms.iter().any(|t| t.period.is_some());
    Measure {
        norm: search.norm,
        terms: search.terms.len(),
        periods: periodic.then_some(lengths),
    }
}

/// Which columns of a row are pairs of `domain`.
fn cut_of(domain: Domain) -> Cut {
    match domain {
        Domain::Cross | Domain::Square => Cut::All,
        Domain::Triangle => Cut::Above,
        Domain::Diagonal => Cut::From,
        Domain::Ordered => Cut::Others,
    }
}

impl<'j> RangeSearch<'j> {
    /// Sorts the rows of `job`, and boxes their coordinates.
    pub fn load(job: &'j Job, plan: &Plan, search: &Search) -> std::result::Result<Self, Declined> {
        let Sorted { x, y, orders } = Sorted::new(job);
        let (isa, space) = (reductions::isa(plan.isa), prune::walked(job, plan.prune));
        let sides = [(&x, orders.by_side(Side::X)), (&y, orders.by_side(Side::Y))];
        let (measure, terms) = (measure(search), &search.terms);
        let bvh = |side: usize| {
            let (rows, order) = sides[side];
            let at = |name: u32, k: usize| {
                rows.values[name as usize * rows.width + terms[k].coordinates[side]]
            };
            Bvh::new(&measure, order, at).ok_or(NOT_FINITE)
        };
        let same = job.y.is_none() && terms.iter().all(|t| t.coordinates[0] == t.coordinates[1]);
        let (x, y) = if same {
            (bvh(0)?, None)
        } else {
            let (x, y) = rayon::join(|| bvh(0), || bvh(1));
            (x?, Some(y?))
        };
        let range_search = RangeSearch {
            job,
            orders,
            question: search.question,
            measure,
            isa,
            x,
            y,
            cut: cut_of(space.domain),
            space,
            ends: Ends::default(),
            worst: WorstRow::of_fold(job, plan, 0),
            sampled: AtomicU64::new(0),
        };
        if let (SearchQuestion::Nearest(k), Some(_)) = (search.question, &range_search.worst) {
            range_search.meet_first(k);
        }
        if range_search.question == SearchQuestion::Extremes {
            let sample = Sample(range_search.extreme(false, 0..0, 0..0));
            range_search
                .sampled
                .store(f64::dispatch(isa, sample), Ordering::Relaxed);
        }
        Ok(range_search)
    }
    fn extreme(&self, largest: bool, rows: Range<usize>, cols: Range<usize>) -> Extremes<'_> {
        Extremes {
            x: &self.x,
            y: self.other(),
            measure: &self.measure,
            rows,
            cols,
            cut: self.cut,
            largest,
            ends: &self.ends,
        }
    }
    /// Some rows meet all columns, so that others are soon known to be nearer.
    fn meet_first(&self, k: usize) {
        let n = self.space.n;
        for row in (0..n).step_by(n.div_ceil(FIRST).max(1)) {
            let seen = self.nearest(row, &mut [vec![]], k, row..row + 1, 0..self.space.m);
            self.sampled.fetch_add(seen, Ordering::Relaxed);
        }
    }
    fn other(&self) -> &Bvh {
        self.y.as_ref().unwrap_or(&self.x)
    }
    /// Pairs of some rows that were evaluated, each once.
    fn step(
        &self,
        part: &mut SearchPart<'_>,
        rows: Range<usize>,
        cols: Range<usize>,
    ) -> Result<u64> {
        match (part, self.question) {
            (SearchPart::Ends, SearchQuestion::Extremes) => {
                let look = |largest| {
                    f64::dispatch(self.isa, self.extreme(largest, rows.clone(), cols.clone()))
                };
                Ok(look(false) + look(true) + self.sampled.swap(0, Ordering::Relaxed))
            }
            (SearchPart::Lists(first, lists), SearchQuestion::Nearest(k)) => {
                let seen = self.nearest(*first, lists, k, rows, cols);
                Ok(seen + self.sampled.swap(0, Ordering::Relaxed))
            }
            (SearchPart::Matches(matches), SearchQuestion::Within(limit)) => {
                let take = |row: usize, found: &[u32]| matches.keep(row, found);
                let (x, y, measure, cut) = (&self.x, self.other(), &self.measure, self.cut);
                f64::dispatch(
                    self.isa,
                    Within {
                        x,
                        y,
                        measure,
                        rows,
                        cols,
                        cut,
                        limit,
                        take,
                    },
                )
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
        let worst = self.worst.as_ref();
        let known = self.job.limits.first().filter(|known| !known.is_empty());
        let order = self.orders.by_side(Side::X);
        // Lists of other columns of a row are gone on with.
        let begin = |row: usize, top: &mut TopK<f64>| {
            for (value, name) in &lists.borrow()[row - first] {
                top.push((*value, *name as u32));
            }
            SearchLimits {
                enough: worst.map_or(f64::NEG_INFINITY, WorstRow::limit),
                most: known.map_or(f64::INFINITY, |known| known[order[row] as usize]),
            }
        };
        // A row that has not met all columns may find a nearer one.
        let whole = cols == (0..self.space.m);
        let take = |row: usize, top: &mut TopK<f64>| {
            if let (Some(worst), Some(bound), true) = (worst, top.bound(), whole) {
                worst.learn(bound);
            }
            lists.borrow_mut()[row - first] = top
                .finish()
                .iter()
                .map(|(v, j)| (*v, u64::from(*j)))
                .collect();
        };
        let (x, y, measure, cut) = (&self.x, self.other(), &self.measure, self.cut);
        let [all, behind] = f64::dispatch(
            self.isa,
            Nearest {
                x,
                y,
                measure,
                rows,
                cols,
                cut,
                k,
                begin,
                take,
            },
        );
        // A half space is walked from both rows of a pair; its pairs are those behind the row.
        let doubled = self.space.domain != self.job.space.domain;
        if doubled { behind } else { all }
    }
}

impl Executor for RangeSearch<'_> {
    fn run(&self, tiles: &[Tile], sink: &dyn Sink, stop: Stop<'_>) -> Result<Folded> {
        let rows = tiles::rows(tiles);
        let mut tally = Tally::default();
        let mut part = SearchPart::begin(self, rows, sink);
        for tile in tiles {
            for start in tile.rows.clone().step_by(STEP) {
                stop.check()?;
                let rows = start..(start + STEP).min(tile.rows.end);
                let seen = self.step(&mut part, rows.clone(), tile.cols.clone())?;
                let pairs = self.job.space.count(&rows, &tile.cols);
                tally.counted += pairs;
                // One that looks for two extremes may look twice.
                tally.skipped += pairs.saturating_sub(seen);
            }
        }
        Ok(Folded {
            states: vec![part.finish(&self.ends)],
            tally,
        })
    }
    fn order(&self) -> Option<&[u32]> {
        Some(self.orders.by_side(Side::X))
    }
}

enum SearchPart<'s> {
    Matches(Matches<'s>),
    /// First sorted row, and the list of each.
    Lists(usize, Vec<Vec<Neighbour>>),
    /// Nothing of its own.
    Ends,
}

impl<'s> SearchPart<'s> {
    /// The state of a batch over sorted `rows`.
    fn begin(search: &'s RangeSearch<'_>, rows: Range<usize>, sink: &'s dyn Sink) -> Self {
        let orders = &search.orders;
        let order = [orders.by_side(Side::X), orders.by_side(Side::Y)];
        let half = search.job.space.is_triangular();
        match (search.question, &search.job.folds[0]) {
            (SearchQuestion::Within(_), Fold::Join(fold)) => {
                SearchPart::Matches(Matches::new(fold, sink, half, order))
            }
            (SearchQuestion::Extremes, _) => SearchPart::Ends,
            (SearchQuestion::Nearest(_) | SearchQuestion::Within(_), _) => {
                SearchPart::Lists(rows.start, vec![vec![]; rows.len()])
            }
        }
    }
    /// The state of the fold; `ends` are what all threads have found.
    fn finish(self, ends: &Ends) -> State {
        match self {
            SearchPart::Matches(m) => State::Join(m.state),
            SearchPart::Lists(start, lists) => State::Nearest(NearestState::of_rows(start, lists)),
            SearchPart::Ends => State::Extremes(ExtremesState::from_ends(vec![ends.get()])),
        }
    }
}

/// Matches, for which room is asked before they are kept.
struct Matches<'s> {
    fold: &'s Join,
    state: JoinState,
    /// Bytes that the sink has given.
    held: u64,
    sink: &'s dyn Sink,
    order: [&'s [u32]; 2],
    /// A pair counts for both ways round and is kept with its lower index first.
    half: bool,
}

impl<'s> Matches<'s> {
    fn new(fold: &'s Join, sink: &'s dyn Sink, half: bool, order: [&'s [u32]; 2]) -> Self {
        Matches {
            fold,
            state: JoinState::part(fold, 0, 0),
            held: 0,
            sink,
            order,
            half,
        }
    }
    /// Makes room for `more` matches.
    fn reserve(&mut self, more: usize) -> Result<()> {
        let capacity = |state: &JoinState| state.i.capacity().min(state.j.capacity());
        if self.state.i.len() + more <= capacity(&self.state) {
            return Ok(());
        }
        let doubled = |state: &JoinState| {
            let wanted = state.i.len() + more;
            (capacity(state) * 2).max(wanted).max(1024) - capacity(state)
        };
        let growth = Bounded::growth(self.fold, doubled(&self.state) as u64);
        let now = self.state.bytes();
        let mut state = State::Join(std::mem::take(&mut self.state));
        let states = std::slice::from_mut(&mut state);
        let asked = self.sink.grown(states, [now, growth], &mut self.held);
        if let State::Join(state) = state {
            self.state = state;
        }
        asked?;
        // The sink may have taken the matches, and what they had room in.
        let capacity = capacity(&self.state) + doubled(&self.state);
        let (to_i, to_j) = (&mut self.state.i, &mut self.state.j);
        to_i.reserve_exact(capacity - to_i.len());
        to_j.reserve_exact(capacity - to_j.len());
        Ok(())
    }
    fn keep(&mut self, row: usize, columns: &[u32]) -> Result<()> {
        self.reserve(columns.len())?;
        let (to_i, to_j) = (&mut self.state.i, &mut self.state.j);
        let wanted = to_i.len() + columns.len();
        debug_assert_eq!(self.fold.value, None);
        let i = u64::from(self.order[0][row]);
        let names = columns
            .iter()
            .map(|j| u64::from(self.order[1][*j as usize]));
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
