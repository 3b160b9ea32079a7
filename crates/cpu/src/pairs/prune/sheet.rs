//! The states of the folds while one thread works on a run of sorted rows; indices are those of the
//! rows as given.

use super::limits::Limits;
use crate::kernels::compress::{Pages, Predicate, append_matching};
use crate::kernels::histogram::Counts;
use crate::kernels::top_k::TopK;
use crate::pairs::points::Distances;
use crate::pairs::vm::Scratch;
use std::ops::Range;
use zipfold_core::Job;
use zipfold_core::fold::rows::Along;
use zipfold_core::fold::{
    ExtremesState, Fold, Histogram, HistogramState, Nearest, NearestState, RowPiece, RowState,
    Select, SelectKind, SelectState, State, TopState,
};
use zipfold_vector::simd::Isa;

use super::verdict::{Whole, wants_largest};

/// What a fold keeps.
enum Part {
    Histogram(HistogramState),
    Select(SelectState, Pages),
    Nearest(Vec<TopK<f64>>),
    Rows(RowPiece),
    Extremes(ExtremesState),
    Top(TopState),
    None,
}

/// A run of evaluated pairs: row `row` against the sorted columns `cols`, whose values by root
/// start at lane `lane`.
pub(super) struct Run<'v> {
    /// Sorted row.
    pub row: usize,
    /// Sorted columns.
    pub cols: Range<usize>,
    /// Values of the row.
    pub values: &'v Scratch<f64>,
    /// Lane of the first column.
    pub lane: usize,
}

impl Run<'_> {
    fn values(&self, root: usize) -> &[f64] {
        &self.values.root(root)[0][self.lane..self.lane + self.cols.len()]
    }
}

/// The states of one unit.
pub(super) struct Sheet<'e> {
    job: &'e Job,
    isa: Isa,
    rows: Range<usize>,
    order: [&'e [u32]; 2],
    /// A pair stands for both ways round and is kept with its lower index first.
    half: bool,
    parts: Vec<Part>,
    negated: Vec<f64>,
    limits: &'e Limits,
}

impl<'e> Sheet<'e> {
    /// Empty states for the sorted `rows`; `order` says which rows of x and of y they are.
    pub(super) fn new(
        job: &'e Job,
        isa: Isa,
        rows: Range<usize>,
        order: [&'e [u32]; 2],
        half: bool,
        limits: &'e Limits,
    ) -> Self {
        let part = |f: &Fold| {
            if let Fold::Histogram(f) = f {
                Part::Histogram(HistogramState::new(f))
            } else if let Fold::Select(f) = f {
                Part::Select(
                    SelectState::part(f, rows.start, rows.len()),
                    Pages::default(),
                )
            } else if let Fold::Nearest(f) = f {
                Part::Nearest((0..rows.len()).map(|_| TopK::new(f.k)).collect())
            } else if let Fold::Rows(f) = f {
                Part::Rows(RowPiece::new(f, rows.start, rows.len()))
            } else if let Fold::Extremes(f) = f {
                Part::Extremes(ExtremesState::new(f))
            } else if let Fold::Top(_) = f {
                Part::Top(TopState::default())
            } else {
                // What bounds do not serve, no plan has pruned (`Traits::bounded`).
                Part::None
            }
        };
        let parts = job.folds.iter().map(part).collect();
        Sheet {
            job,
            isa,
            rows,
            order,
            half,
            parts,
            negated: vec![],
            limits,
        }
    }
    /// What a value of fold `at` must not exceed to matter to any of `rows`; NaN while everything
    /// matters.
    pub(super) fn worst(&self, at: usize, rows: &Range<usize>) -> f64 {
        let local = rows.start - self.rows.start..rows.end - self.rows.start;
        match (&self.parts[at], &self.job.folds[at]) {
            (Part::Nearest(tops), _) => top_worst(&tops[local]),
            (Part::Top(_), _) => self.limits.worst(at),
            (Part::Rows(piece), Fold::Rows(f)) if f.stride() == 2 => {
                let sign = if wants_largest(f) { -1.0 } else { 1.0 };
                // One result in all: what is beaten by any row is beaten.
                if f.along == Along::All {
                    let best = piece
                        .acc
                        .chunks_exact(2)
                        .zip(&piece.counts)
                        .filter(|(_, c)| **c > 0);
                    return best.map(|(a, _)| sign * a[0]).fold(f64::INFINITY, f64::min);
                }
                let mine = local.map(|r| {
                    if piece.counts[r] > 0 {
                        sign * piece.acc[r * 2]
                    } else {
                        f64::NAN
                    }
                });
                mine.fold(f64::NEG_INFINITY, worse)
            }
            _ => f64::NAN,
        }
    }
    /// Takes a run of values.
    pub(super) fn absorb(&mut self, run: &Run<'_>) {
        for at in 0..self.parts.len() {
            let fold = &self.job.folds[at];
            match (fold, &mut self.parts[at]) {
                (Fold::Histogram(f), Part::Histogram(s)) => bins(f, s, run, self.order),
                (Fold::Nearest(f), Part::Nearest(tops)) => {
                    let top = &mut tops[run.row - self.rows.start];
                    nearest(f, top, run, self.order[1], self.isa, &mut self.negated);
                }
                (Fold::Rows(f), Part::Rows(piece)) => {
                    for (v, j) in run.values(f.root).iter().zip(run.cols.clone()) {
                        piece.absorb(f, run.row, self.order[1][j] as usize, &[*v]);
                    }
                }
                (Fold::Extremes(f), Part::Extremes(s)) => {
                    f.roots
                        .iter()
                        .enumerate()
                        .for_each(|(at, root)| s.absorb(at, run.values(*root)));
                    self.limits.widen(s);
                }
                (Fold::Top(f), Part::Top(s)) => {
                    let i = self.order[0][run.row] as usize;
                    for (v, j) in run
                        .values(f.root)
                        .iter()
                        .zip(&self.order[1][run.cols.clone()])
                    {
                        let j = *j as usize;
                        let (i, j) = if self.half {
                            (i.min(j), i.max(j))
                        } else {
                            (i, j)
                        };
                        if s.offer(f, *v, i, j) {
                            self.limits.tighten(at, s.bound());
                        }
                    }
                }
                (Fold::Select(f), Part::Select(s, pages)) => {
                    matches(f, s, pages, run, self.order, self.half, self.isa);
                }
                _ => {}
            }
        }
    }
    /// Bytes of matches found, with those of `more` to come.
    pub(super) fn bytes(&self, more: u64) -> u64 {
        let one = |(part, fold): (&Part, &Fold)| match (part, fold) {
            (Part::Select(s, _), Fold::Select(f)) if f.kind == SelectKind::Inner => {
                s.bytes() + more.saturating_mul(32)
            }
            _ => 0,
        };
        self.parts.iter().zip(&self.job.folds).map(one).sum()
    }
    /// Adds what the points family counted; the pairs that it counted.
    pub(super) fn put_counts(&mut self, counts: &Counts) -> u64 {
        match self.parts.as_mut_slice() {
            [Part::Histogram(state)] => Distances::put(counts, state),
            _ => 0,
        }
    }
    /// Settles `cells` pairs as judged, for folds that keep nothing by row.
    pub(super) fn settle_cells(&mut self, wholes: &[Whole], cells: u64) {
        for (part, whole) in self.parts.iter_mut().zip(wholes) {
            if let (Part::Histogram(s), Whole::PeriodicBox(cell, _)) = (part, whole) {
                s.counts[*cell] += cells;
            }
        }
    }
    /// Whether settled pairs matter by row, so that [`Self::settle_row`] is owed.
    pub(super) fn has_rows(&self, wholes: &[Whole]) -> bool {
        let by_row = |(part, whole): (&Part, &Whole)| match part {
            Part::Rows(_) => true,
            Part::Select(..) => *whole == Whole::All,
            _ => false,
        };
        self.parts.iter().zip(wholes).any(by_row)
    }
    /// Settles the pairs of sorted `row` with the columns `cols`, as judged, for folds that keep
    /// something by row.
    pub(super) fn settle_row(&mut self, wholes: &[Whole], row: usize, cols: &Range<usize>) {
        for (at, whole) in wholes.iter().enumerate() {
            match (&mut self.parts[at], &self.job.folds[at], whole) {
                (Part::Rows(piece), Fold::Rows(f), whole) => {
                    let counted = f.stride() > 0 || *whole == Whole::All;
                    piece.counts[row - self.rows.start] +=
                        if counted { cols.len() as u64 } else { 0 };
                }
                (Part::Select(s, _), Fold::Select(f), Whole::All) => {
                    let enough = if f.kind == SelectKind::Inner {
                        cols.len()
                    } else {
                        1
                    };
                    for j in cols.clone().take(enough) {
                        keep(f, s, row, j, None, self.order, self.half);
                    }
                }
                _ => {}
            }
        }
    }
    /// The states.
    pub(super) fn finish(self) -> Vec<State> {
        let start = self.rows.start;
        let finish = |(part, fold): (Part, &Fold)| match part {
            Part::Histogram(s) => State::Histogram(s),
            Part::Select(s, _) => State::Select(s),
            Part::Nearest(tops) => {
                let lists = tops.into_iter().map(|mut t| {
                    t.finish()
                        .iter()
                        .map(|(v, j)| (*v, u64::from(*j)))
                        .collect()
                });
                State::Nearest(NearestState::of_rows(start, lists.collect()))
            }
            Part::Rows(piece) => State::Rows(RowState::of_piece(piece)),
            Part::Extremes(s) => State::Extremes(s),
            Part::Top(s) => State::Top(s),
            Part::None => fold.part(&self.rows),
        };
        self.parts
            .into_iter()
            .zip(&self.job.folds)
            .map(finish)
            .collect()
    }
}

/// The larger of two numbers; NaN stays.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b <= a { a } else { b }
}

/// The worst of the k-th values of some lists; NaN while one has fewer than k.
fn top_worst(tops: &[TopK<f64>]) -> f64 {
    tops.iter()
        .map(|t| t.bound().unwrap_or(f64::NAN))
        .fold(f64::NEG_INFINITY, worse)
}

fn bins(f: &Histogram, s: &mut HistogramState, run: &Run<'_>, order: [&[u32]; 2]) {
    let i = order[0][run.row] as usize;
    for (l, j) in run.cols.clone().enumerate() {
        s.absorb(f, i, order[1][j] as usize, |r| {
            run.values.root(r)[0][run.lane + l]
        });
    }
}

fn nearest(
    f: &Nearest,
    top: &mut TopK<f64>,
    run: &Run<'_>,
    order: &[u32],
    isa: Isa,
    negated: &mut Vec<f64>,
) {
    let ids = &order[run.cols.clone()];
    let values = run.values(f.root);
    if f.largest {
        negated.clear();
        negated.extend(values.iter().map(|v| -*v));
        top.offer_named(isa, negated, ids);
    } else {
        top.offer_named(isa, values, ids);
    }
}

fn matches(
    f: &Select,
    s: &mut SelectState,
    pages: &mut Pages,
    run: &Run<'_>,
    order: [&[u32]; 2],
    half: bool,
    isa: Isa,
) {
    pages.clear();
    // Truth values are 0 and 1. A page holds more than a block of columns, so that there is always
    // room.
    let full = append_matching(isa, Predicate::AtLeast, run.values(f.root), 1.0, 0, pages).is_err();
    debug_assert!(!full, "a page is larger than a block");
    for l in pages.slices().flatten() {
        let value = f.value.map(|v| run.values(v)[*l as usize]);
        keep(
            f,
            s,
            run.row,
            run.cols.start + *l as usize,
            value,
            order,
            half,
        );
    }
}

#[inline]
fn keep(
    f: &Select,
    s: &mut SelectState,
    row: usize,
    j: usize,
    value: Option<f64>,
    order: [&[u32]; 2],
    half: bool,
) {
    if f.kind != SelectKind::Inner {
        s.absorb(f, row, j, None);
        return;
    }
    let (i, j) = (order[0][row] as usize, order[1][j] as usize);
    let swap = half && i > j;
    s.absorb(f, if swap { j } else { i }, if swap { i } else { j }, value);
}
