//! Folds by rows behind the trait [`Accumulate`]: the connection of `rows.rs` (states) and
//! `runs.rs` (loops) with engines, plans and outputs.
//!
//! The state of a unit of work is a list of pieces, one for each block, which
//! [`super::rows::push_pieces`] puts in order. So this file's `absorb` fills the pieces that the
//! engine lends, and not the state.

use super::roots::Roots;
use super::rows::{Along, RowFold, RowOp, RowState};
use super::runs::Run;
use super::{Accumulate, Column, Columns, Layout, Lent, Line, Numbers, Role, Traits, Value};
use crate::error::Result;
use crate::hash::Hash;
use crate::pair::Side;
use crate::space::Domain;
use std::ops::Range;

impl RowFold {
    /// Returns the fold of the pair's value as a problem file requests it. Sums and means take
    /// vectors; other operations would have to say what the order of vectors is.
    ///
    /// # Errors
    /// `Request` for an operation that takes single numbers, of a vector.
    pub(super) fn asked(op: RowOp, along: Along, roots: &Roots<'_>) -> Result<RowFold> {
        if !matches!(op, RowOp::Sum | RowOp::Mean) {
            roots.scalar("this operation")?;
        }
        let width = roots.width();
        Ok(RowFold {
            root: 0,
            width,
            op,
            along,
            weights: None,
            weight_width: 1,
            once: false,
        })
    }
}

impl Accumulate for RowFold {
    type State = RowState;

    fn traits(&self) -> Traits {
        // Minima and counts have the same bits in any order of pairs, so bounds may leave pairs
        // out; sums do not.
        let exact = !self.op.adds();
        Traits {
            rounds: !exact,
            // Along columns the state is by row of y, which pruned runs do not sort by.
            bounded: exact && self.along != Along::Column && self.width == 1,
            by_row: !self.once,
            by_side: self.along != Along::All,
            operations: 4.0,
            ..Traits::default()
        }
    }
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
    fn start(&self, n: usize, m: usize) -> RowState {
        RowState::new(self, self.rows(n, m))
    }
    /// Returns an empty list of pieces.
    fn part(&self, _: &Range<usize>) -> RowState {
        RowState::part()
    }
    fn bytes(&self, n: usize, m: usize) -> u64 {
        // The numbers of every row's state and its count, 8 bytes each.
        self.rows(n, m) as u64 * (self.stride() as u64 + 1) * 8
    }
    fn takes(&self, state: &RowState, n: usize, m: usize) -> bool {
        state.fits(self, n, m)
    }
    /// Credits the line to the pieces of its block. Without pieces a kernel has added the values
    /// already.
    #[inline(always)]
    fn absorb<T: Value>(&self, _: &mut RowState, line: &Line<'_, T>, lent: Lent<'_>) {
        let Some(pieces) = lent.pieces else { return };
        // The engine has looked up the weights of these columns once for the whole block.
        let (weights, apart) = lent.weights;
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
    fn merge(&self, into: &mut RowState, from: RowState) {
        into.merge(self, &from);
    }
    fn merge_sorted(&self, into: &mut RowState, from: RowState, order: &[u32]) {
        into.merge_sorted(self, &from, order);
    }
    fn identify(&self, hash: &mut Hash) {
        // Every field is named, so that a new one cannot be forgotten here.
        let RowFold {
            root,
            width,
            op,
            along,
            weight_width,
            once,
            ..
        } = self;
        hash.text(&format!(
            "{root} {width} {op:?} {along:?} {weight_width} {once}"
        ));
    }
    fn identify_weights(&self, hash: &mut Hash) {
        self.weights.iter().for_each(|w| hash.doubles(w));
    }
    fn columns<'a>(&'a self, state: &'a RowState, _: usize, _: usize) -> Columns<'a> {
        let (values, width) = (state.finish(self), self.out_width().max(1));
        let rows = values.len() / width;
        let shape = if width == 1 {
            vec![rows]
        } else {
            vec![rows, width]
        };
        // Indices and counts are whole numbers, and −1 means "none".
        let whole = matches!(self.op, RowOp::Argmin | RowOp::Argmax | RowOp::Count);
        // The index found along a row is a row of y, and the other way round.
        let role = match (self.op, self.along) {
            (RowOp::Argmin | RowOp::Argmax, Along::Row) => Role::Row(Side::Y),
            (RowOp::Argmin | RowOp::Argmax, Along::Column) => Role::Row(Side::X),
            (RowOp::Count, _) => Role::Count,
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
        let lines = match self.along {
            Along::Row => Some(Side::X),
            Along::Column => Some(Side::Y),
            Along::All => None,
        };
        Columns::new(
            Layout::Array(lines),
            shape,
            vec![Column::new("values", role, numbers).called("value")],
        )
    }
    fn describe(&self) -> String {
        format!("{:?} by {:?}", self.op, self.along).to_lowercase()
    }
}
