//! Folds by rows behind the trait [`Accumulate`]: the connection of `rows.rs` (operations),
//! `row_states.rs` (states) and `runs.rs` (loops) with engines, plans and outputs.
//!
//! A block has pieces of its own, which [`super::row_states::push_pieces`] adds to the state in order.
//! So this file's `absorb` fills the pieces that the engine lends, and not the state.

use super::bounded::worse;
use super::roots::Roots;
use super::row_states::ReduceState;
use super::rows::{Reduce, ReduceAxis, ReduceOp, RowPiece};
use super::runs::Run;
use super::{
    Accumulate, BLOCK, Best, Bounded, Column, Columns, Known, Layout, Lent, Line, Numbers, Pairs,
    Role, Scattered, Traits, Value, ValuedPair, Whole, weights,
};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::opt::Opt;
use crate::pair::Side;
use crate::pair::interval::Span;
use crate::space::Domain;
use crate::table::Table;
use std::ops::Range;

impl Reduce {
    /// Returns the fold of the pair's value as a problem file requests it. Sums and means take
    /// vectors; other operations would have to say what the order of vectors is.
    ///
    /// # Errors
    /// `Request` for an operation that takes single numbers, of a vector.
    pub(super) fn asked(op: ReduceOp, axis: ReduceAxis, roots: &Roots<'_>) -> Result<Reduce> {
        if !matches!(op, ReduceOp::Sum | ReduceOp::Mean) {
            roots.scalar("this operation")?;
        }
        let width = roots.width();
        Ok(Reduce {
            root: roots.value(),
            width,
            op,
            axis,
            weights: None,
            weight_width: 1,
            once: false,
            truths: roots.is_truth(roots.value()),
        })
    }
    /// Returns the answer as columns, which borrow nothing.
    pub(super) fn columns_of<'a>(&self, state: &ReduceState) -> Columns<'a> {
        let (values, width) = (state.finish(self), self.out_width().max(1));
        let rows = values.len() / width;
        let shape = if width == 1 {
            vec![rows]
        } else {
            vec![rows, width]
        };
        // Indices and counts are whole numbers, and −1 means "none".
        let whole = matches!(
            self.op,
            ReduceOp::Argmin | ReduceOp::Argmax | ReduceOp::Count
        );
        // The index found along a row is a row of y, and the other way round.
        let role = match (self.op, self.axis) {
            (ReduceOp::Argmin | ReduceOp::Argmax, ReduceAxis::Row) => Role::Row(Side::Y),
            (ReduceOp::Argmin | ReduceOp::Argmax, ReduceAxis::Column) => Role::Row(Side::X),
            (ReduceOp::Count, _) => Role::Count,
            _ => Role::Value,
        };
        let numbers: Numbers<'a> = match whole {
            true => values
                .iter()
                .map(|v| *v as i64)
                .collect::<Vec<i64>>()
                .into(),
            false => values.into(),
        };
        // Which rows the lines of the answer belong to.
        let lines = match self.axis {
            ReduceAxis::Row => Some(Side::X),
            ReduceAxis::Column => Some(Side::Y),
            ReduceAxis::All => None,
        };
        Columns::new(
            Layout::Array(lines),
            shape,
            vec![Column::new("values", role, numbers).called("value")],
        )
    }
}

/// Cycles more that a value takes on its way to both of its rows than to one: into sums, into
/// exponentials.
///
/// Half of the pairs save half of the values, and pay these cycles for each. A cheap formula is
/// therefore faster over all pairs.
const BOTH: [f64; 2] = [1.8, 5.0];

impl Accumulate for Reduce {
    type State = ReduceState;

    fn traits(&self) -> Traits {
        Traits {
            rounds: self.op.adds(),
            // Minima and counts have the same bits in any order of pairs, so bounds may leave pairs
            // out; sums of other values do not. Along columns the state is by row of y, which pruned
            // runs do not sort by.
            bounded: self.is_exact() && self.axis != ReduceAxis::Column && self.width == 1,
            by_row: !self.once,
            by_side: self.axis != ReduceAxis::All,
            operations: 4.0,
            ..Traits::default()
        }
    }
    /// A row is folded with itself, too, as NumPy's reductions over a matrix do.
    fn domain(&self, symmetric: bool) -> Domain {
        if symmetric {
            Domain::Diagonal
        } else {
            Domain::Square
        }
    }
    fn any_root(&self, test: &mut dyn FnMut(usize) -> bool) -> bool {
        test(self.root)
    }
    fn start(&self, n: usize, m: usize) -> ReduceState {
        ReduceState::new(self, self.rows(n, m))
    }
    /// Returns no sums.
    fn part(&self, _: &Range<usize>) -> ReduceState {
        ReduceState::part()
    }
    fn band(&self, rows: &Range<usize>) -> ReduceState {
        ReduceState::band(self, rows)
    }
    fn span(&self, state: &ReduceState) -> Range<usize> {
        state.span()
    }
    fn bytes(&self, n: usize, m: usize) -> u64 {
        // The numbers of every row's state and its count, 8 bytes each.
        self.rows(n, m) as u64 * (self.stride() as u64 + 1) * 8
    }
    /// Where tiles credit rows that later tiles credit again, each row has a counter of sums.
    fn waiting(&self, n: usize, m: usize, half: bool) -> u64 {
        let (others, later) = match self.axis {
            ReduceAxis::Column => (n, true),
            ReduceAxis::Row | ReduceAxis::All => (m, self.credits_both(half)),
        };
        let digits = usize::BITS - others.div_ceil(BLOCK).leading_zeros();
        match self.op.adds() && later {
            true => self.bytes(n, m).saturating_mul(u64::from(digits)),
            false => 0,
        }
    }
    fn takes(&self, state: &ReduceState, n: usize, m: usize) -> bool {
        state.fits(self, n, m)
    }
    /// Credits the line to the pieces of its block. Without pieces a kernel has added the values
    /// already.
    #[inline(always)]
    fn absorb<T: Value>(&self, _: &mut ReduceState, line: &Line<'_, T>, lent: Lent<'_>) {
        let Some(pieces) = lent.pieces else { return };
        // The engine has looked up the weights of these columns once for the whole block.
        let (weights, apart) = lent.weights;
        // A line and a run differ in the weights, which belong to one fold only.
        let Line {
            row,
            first,
            len,
            half,
            stride,
            ..
        } = *line;
        Run {
            row,
            first,
            len,
            values: line.root(self.root),
            stride,
            weights,
            apart,
        }
        .credit(self, half, pieces);
    }
    /// The oracle credits runs of values to pieces, since a sum depends on its runs.
    fn absorb_pair(&self, _: &mut ReduceState, _: &ValuedPair<'_>) {}
    fn merge(&self, into: &mut ReduceState, from: ReduceState) {
        if let Some(from) = into.replaced_by(self, from) {
            into.merge(self, from);
        }
    }
    fn merge_sorted(&self, into: &mut ReduceState, from: ReduceState, order: &[u32]) {
        into.merge_sorted(self, &from, order);
    }
    fn with_columns(&self, state: ReduceState, cols: &[u32]) -> ReduceState {
        let first = state.span().start;
        state.of_some_rows(self, first, cols)
    }
    fn close(&self, state: &mut ReduceState, rows: Option<usize>) {
        // Every row of x adds to every row of y.
        match rows {
            Some(rows) if self.axis != ReduceAxis::Column => state.close(self, rows),
            Some(_) => {}
            None => state.close(self, usize::MAX),
        }
    }
    fn identify(&self, hash: &mut Hash) {
        // Every field is named, so that a new one cannot be forgotten here.
        let Reduce {
            root,
            width,
            op,
            axis,
            weight_width,
            once,
            ..
        } = self;
        // Weights are hashed apart: `identify_weights`.
        hash.text(&format!(
            "{root} {width} {op:?} {axis:?} {weight_width} {once}"
        ));
    }
    /// By their bits: shards with other weights must not be merged.
    fn identify_weights(&self, hash: &mut Hash) {
        self.weights.iter().for_each(|w| hash.doubles(w));
    }
    fn columns<'a>(&'a self, state: &'a ReduceState, _: usize, _: usize) -> Columns<'a> {
        self.columns_of(state)
    }
    /// The names of operation and direction are those of problem files.
    fn describe(&self) -> String {
        format!("{:?} by {:?}", self.op, self.axis).to_lowercase()
    }
    /// One result of all pairs folds each pair once. Without such a choice both (i, j) and (j, i)
    /// count.
    fn of_half(self, weighted: bool) -> Result<Self> {
        // The least and the largest are the same either way.
        if self.axis != ReduceAxis::All || self.op.is_extreme() {
            return Ok(self);
        }
        // A sum of all pairs has no side that is folded away, so it is not defined whose weight a
        // pair has.
        if weighted {
            let e = Error::request(
                "weights belong to one row of a pair, and in half of the pairs no row is the second",
            );
            return Err(e.at_place("weights").remedy(format!(
                "{} visits both orders of every pair",
                Opt::Domain.to("ordered")
            )));
        }
        Ok(Reduce { once: true, ..self })
    }
    /// Weights are those of the rows that are folded away, one number or several for each. Minima
    /// and counts have no use for weights and refuse them.
    fn weigh(self, weights: &[Table; 2], rows: [usize; 2]) -> Result<Self> {
        let side = usize::from(self.axis != ReduceAxis::Column);
        let (table, rows) = (&weights[side], rows[side]);
        let op = self.op;
        if !op.adds() {
            let e = Error::request(format!("{op:?} takes no weights").to_lowercase());
            return Err(e
                .at_place(Opt::Weights)
                .remedy("leave them out, or put them into the formula"));
        }
        weights::check(table, rows)?;
        if op == ReduceOp::Logsumexp && table.cols() > 1 {
            return Err(Error::request("logsumexp takes one weight a row")
                .at_place(Opt::Weights)
                .remedy("pick one column"));
        }
        // Either several values or several weights; both only if they pair up one by one.
        let (width, weight_width) = (self.width, table.cols());
        if width > 1 && weight_width > 1 && width != weight_width {
            return Err(Error::request(format!(
                "values of {width} numbers and weights of {weight_width} do not fit"
            )));
        }
        // Copied as f64, row by row: kernels read weights of any table in one layout.
        let flat = table.elements().every(1);
        Ok(Reduce {
            weights: Some(flat),
            weight_width,
            ..self
        })
    }
    fn of_rows(&self, rows: [&[u32]; 2]) -> Self {
        let rows = rows[usize::from(self.axis != ReduceAxis::Column)];
        let of = |weights: &Vec<f64>| {
            let row = |r: &u32| &weights[*r as usize * self.weight_width..][..self.weight_width];
            rows.iter().flat_map(row).copied().collect()
        };
        Reduce {
            weights: self.weights.as_ref().map(of),
            ..*self
        }
    }
    fn halving_pays(&self, cycles: f64) -> bool {
        match self.op {
            ReduceOp::Sum | ReduceOp::Mean => cycles > BOTH[0] * self.out_width() as f64,
            ReduceOp::Logsumexp | ReduceOp::Softmax => cycles > BOTH[1],
            // Bounds leave most of these out, and walk both halves where they do.
            ReduceOp::Min
            | ReduceOp::Max
            | ReduceOp::Argmin
            | ReduceOp::Argmax
            | ReduceOp::Count => true,
        }
    }
}

impl Bounded for Reduce {
    fn sorted_part(&self, rows: &Range<usize>) -> ReduceState {
        ReduceState::of_piece(RowPiece::new(self, rows.start, rows.len()))
    }
    /// One value per row decides, so the bound is the best itself.
    fn best(&self) -> Option<Best> {
        self.op.is_extreme().then(|| Best {
            root: self.root,
            largest: self.op.wants_largest(),
            k: 1,
            by_row: self.axis != ReduceAxis::All,
        })
    }
    #[inline]
    fn settles(
        &self,
        span: impl Fn(usize) -> Span,
        known: bool,
        found: &impl Known,
    ) -> Option<Whole> {
        if self.counts_pairs() && known {
            let span = span(self.root);
            return match (span.must(), span.may()) {
                (true, _) => Some(Whole::All),
                (false, false) => Some(Whole::Nothing),
                (false, true) => None,
            };
        }
        self.beaten(span, known, found)
    }
    #[inline(always)]
    fn absorb_scattered(&self, state: &mut ReduceState, line: &Scattered<'_>) {
        if let Some(mut row) = state.sorted_row(self, line.pairs.place) {
            row.absorb(self, line.scalars(self.root), line.pairs.others);
        }
    }
    fn worst(&self, state: &ReduceState, rows: &Range<usize>) -> f64 {
        let sign = if self.op.wants_largest() { -1.0 } else { 1.0 };
        let best = |row: usize| state.sorted_best(self, row).map(|best| sign * best);
        // One result in all: what is beaten by any row is beaten.
        if self.axis == ReduceAxis::All {
            return rows.clone().filter_map(best).fold(f64::INFINITY, f64::min);
        }
        // Else a box is beaten only if it is beaten for each of its rows; a row without values lets
        // every value matter, and its NaN stays.
        let mine = rows.clone().map(|row| best(row).unwrap_or(f64::NAN));
        mine.fold(f64::NEG_INFINITY, worse)
    }
    /// Every operation but a count keeps the number of values of a row, also of pairs that bounds
    /// settle.
    fn owes_pairs(&self, whole: Whole) -> bool {
        self.op != ReduceOp::Count || whole == Whole::All
    }
    fn settle_pairs(&self, state: &mut ReduceState, whole: Whole, pairs: &Pairs<'_>) {
        let count = pairs.others.len() as u64;
        match (whole, state.sorted_row(self, pairs.place)) {
            (Whole::All, Some(mut row)) => row.take_truths(self, count, count),
            _ => self.skip(state, pairs.place, count),
        }
    }
    #[inline]
    fn skip(&self, state: &mut ReduceState, place: usize, pairs: u64) {
        match state.sorted_row(self, place) {
            Some(mut row) if self.counts_pairs() => row.take_truths(self, pairs, 0),
            Some(row) => *row.count += pairs,
            None => {}
        }
    }
}
