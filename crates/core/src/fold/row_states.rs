//! States of folds by rows: results of rows, and sums of runs of blocks that wait for others.
//!
//! ```text
//! tile:   leaves (a block, or a span of blocks) of each row   → joined to nodes, a few for each row
//! batch:  nodes of its tiles                                   → joined where two are halves of one
//! run, share or merge: the nodes of batches or of other shares → as above, in any order
//! end of a row: its nodes are joined, with nothing where none is; the result is the state of the row
//! ```
//!
//! Only operations that round wait. The others change the states of rows at once.

use super::block_order::{Ladder, SumNode};
use super::rows::{OneRow, Reduce, ReduceAxis, RowPiece};
use super::{BLOCK, Fold, State};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

/// What a block of pairs gave a fold: (number of the fold, block of rows, block of columns, pieces
/// of its rows and of its columns).
pub type BlockPieces = (usize, usize, usize, [RowPiece; 2]);

/// Returns empty pieces for the rows and the columns of a block, for every fold by rows. A side
/// that the fold does not credit gets a piece of no rows.
pub fn pieces(
    folds: &[Fold],
    rows: &Range<usize>,
    cols: &Range<usize>,
    half: bool,
) -> Vec<Option<[RowPiece; 2]>> {
    let both = |f: &Fold| {
        let Fold::Reduce(f) = f else { return None };
        let both = f.credits_both(half);
        let by_col = both || f.axis == ReduceAxis::Column;
        let by_row = both || f.axis != ReduceAxis::Column;
        let of = |side: &Range<usize>, wanted| {
            RowPiece::new(f, side.start, if wanted { side.len() } else { 0 })
        };
        Some([of(rows, by_row), of(cols, by_col)])
    };
    folds.iter().map(both).collect()
}

/// What some rows are credited with against one block of the others, or against several that an
/// engine has added.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The first block of the others.
    pub block: usize,
    /// Whether the rows are the first of their pairs. In half of the pairs, a row is the second of
    /// some.
    pub by_row: bool,
    /// The sums.
    pub piece: RowPiece,
}

/// Adds the pieces of a tile's blocks to the states, in canonical order.
///
/// Threads compute blocks in any order. A row in a triangular domain is credited from both sides:
/// as a column by the blocks above its diagonal block, and as a row by the others. The diagonal
/// block credits it from both sides. Of a block or span, the columns' piece comes first.
///
/// A leaf of the tree is `span` blocks, which are added one after another: an engine may add their
/// values in registers. All blocks of a leaf are in one tile.
pub fn push_pieces(folds: &[Fold], states: &mut [State], made: Vec<BlockPieces>, span: usize) {
    let mut leaves: Vec<Vec<Leaf>> = vec![vec![]; folds.len()];
    for (fold, ib, jb, [row, col]) in made {
        let sides = [(ib, false, col), (jb, true, row)];
        let leaf = |(block, by_row, piece)| Leaf {
            block,
            by_row,
            piece,
        };
        leaves[fold].extend(sides.map(leaf));
    }
    for ((fold, state), leaves) in folds.iter().zip(states).zip(leaves) {
        if let (Fold::Reduce(fold), State::Reduce(state)) = (fold, state) {
            state.push_leaves(fold, leaves, span);
        }
    }
}

/// States of all rows, or of those of a share, and sums that are not among them yet; or, for a part
/// of the domain, these alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReduceState {
    /// The first row that has a state.
    start: usize,
    acc: Vec<f64>,
    counts: Vec<u64>,
    /// Sums of nodes, by first row and node. Of exact operations any sums, which have not met the
    /// states of their rows.
    pieces: BTreeMap<(usize, SumNode), RowPiece>,
}

impl ReduceState {
    /// Returns the state of `rows` rows without values.
    pub fn new(fold: &Reduce, rows: usize) -> Self {
        ReduceState::band(fold, &(0..rows))
    }
    /// Returns the states of these rows without values. Those of a share drop what other rows are
    /// credited with.
    pub fn band(fold: &Reduce, rows: &Range<usize>) -> Self {
        let piece = RowPiece::new(fold, rows.start, rows.len());
        ReduceState {
            start: rows.start,
            acc: piece.acc,
            counts: piece.counts,
            pieces: BTreeMap::new(),
        }
    }
    /// Returns the state of a part of the domain: sums without rows.
    pub fn part() -> Self {
        ReduceState {
            start: 0,
            acc: vec![],
            counts: vec![],
            pieces: BTreeMap::new(),
        }
    }
    /// Returns the state that is one piece of any number of rows, each of which has all its values
    /// or belongs to a fold whose answer does not depend on their order.
    pub fn of_piece(piece: RowPiece) -> Self {
        ReduceState {
            pieces: BTreeMap::from([((piece.start, SumNode::WHOLE), piece)]),
            ..ReduceState::part()
        }
    }
    /// Returns whether this is of a part of the domain, which cannot know what rows still miss.
    fn is_part(&self) -> bool {
        self.counts.is_empty()
    }
    /// Appends the rows of `part`, whose columns are `cols` in the question.
    pub(super) fn append(&mut self, fold: &Reduce, part: &ReduceState, cols: &[u32]) {
        let part = part.joined(fold);
        let first = self.acc.len();
        self.acc.extend_from_slice(&part.acc);
        self.counts.extend_from_slice(&part.counts);
        fold.rename(&mut self.acc[first..], cols);
    }
    /// Returns the states as those of the rows from `start` on, whose row j of y is `cols[j]`. These
    /// ascend, so ties keep their order.
    pub(crate) fn of_some_rows(self, fold: &Reduce, start: usize, cols: &[u32]) -> Self {
        let mut all = self.joined(fold).into_owned();
        fold.rename(&mut all.acc, cols);
        ReduceState { start, ..all }
    }
    /// Returns the rows that have states.
    pub(super) fn span(&self) -> Range<usize> {
        self.start..self.start + self.counts.len()
    }
    /// Returns whether `fold` over `n` × `m` rows can have this state: no row, count, node or index
    /// beyond them.
    pub(super) fn fits(&self, fold: &Reduce, n: usize, m: usize) -> bool {
        let (rows, stride) = (fold.rows(n, m), fold.stride());
        let others = if fold.axis == ReduceAxis::Column {
            n
        } else {
            m
        };
        let most = others.max(n);
        // Pieces of both sides of a block may be longer than the state, where they hold no value.
        let piece = |((start, node), piece): (&(usize, SumNode), &RowPiece)| {
            let counts = &piece.counts;
            let beyond = counts
                .iter()
                .rposition(|count| *count > 0)
                .map_or(0, |last| last + 1);
            piece.start == *start
                && node.fits(most.div_ceil(BLOCK))
                && *start <= rows
                && beyond <= rows - start
                && counts.len().checked_mul(stride) == Some(piece.acc.len())
                && counts.iter().all(|count| *count <= most as u64)
        };
        // States of all rows, of those of a share, or sums only.
        let end = self.start.checked_add(self.counts.len());
        end.is_some_and(|end| end <= rows)
            && self.counts.len().checked_mul(stride) == Some(self.acc.len())
            && self.counts.iter().all(|count| *count <= most as u64)
            && self.pieces.iter().all(piece)
            && self.indices(fold, others)
    }
    /// Returns whether the indices that minima and maxima keep are below `others`, or ∞ for none.
    fn indices(&self, fold: &Reduce, others: usize) -> bool {
        if !fold.op.is_extreme() {
            return true;
        }
        let known = |acc: &Vec<f64>| {
            let at = acc.iter().skip(1).step_by(2);
            at.into_iter().all(|at| {
                *at == f64::INFINITY || (at.fract() == 0.0 && *at >= 0.0 && *at < others as f64)
            })
        };
        known(&self.acc) && self.pieces.values().all(|piece| known(&piece.acc))
    }
    /// What is kept of the row at a sorted `place`, in a state of one piece.
    #[inline]
    pub(super) fn sorted_row(&mut self, fold: &Reduce, place: usize) -> Option<OneRow<'_>> {
        let RowPiece { start, acc, counts } = self.pieces.values_mut().next()?;
        let (at, stride) = (place - *start, fold.stride());
        Some(OneRow {
            acc: &mut acc[at * stride..(at + 1) * stride],
            count: &mut counts[at],
        })
    }
    /// The best value of the row at a sorted `place`, in a state of one piece, if it has any.
    /// Without one, every value still matters to the row, and nothing may be pruned for it.
    #[inline]
    pub(super) fn sorted_best(&self, fold: &Reduce, place: usize) -> Option<f64> {
        let RowPiece { start, acc, counts } = self.pieces.values().next()?;
        let at = place - start;
        (fold.op.is_extreme() && counts[at] > 0).then(|| acc[at * 2])
    }
    /// Adds the pieces of a pruned part, whose row r is row `order[r]` here, one row at a time.
    pub fn merge_sorted(&mut self, fold: &Reduce, part: &ReduceState, order: &[u32]) {
        let stride = fold.stride();
        let mut add = |start: usize, acc: &[f64], counts: &[u64]| {
            for (row, count) in counts.iter().enumerate() {
                self.add(
                    fold,
                    order[start + row] as usize,
                    &acc[row * stride..(row + 1) * stride],
                    &[*count],
                );
            }
        };
        for RowPiece { start, acc, counts } in part.pieces.values() {
            add(*start, acc, counts);
        }
        // The states of a share, each of which is placed.
        add(part.start, &part.acc, &part.counts);
    }
    /// Adds leaves of `span` blocks, all of each: the columns' side first, then block after block.
    /// They come in any order.
    pub fn push_leaves(&mut self, fold: &Reduce, mut leaves: Vec<Leaf>, span: usize) {
        // The side of a block that a fold does not credit has a piece of no rows, for every block.
        leaves.retain(|leaf| !leaf.piece.counts.is_empty());
        leaves.sort_by_key(|leaf| (leaf.piece.start, leaf.block / span, leaf.by_row, leaf.block));
        let mut join = |a: &mut RowPiece, b: RowPiece| a.join(fold, &b);
        let (mut ladder, mut leaves) = (Ladder::default(), leaves.into_iter().peekable());
        while let Some(Leaf {
            block, mut piece, ..
        }) = leaves.next()
        {
            let (start, leaf) = (piece.start, SumNode::with_block(block, span));
            let same = |next: &Leaf| {
                next.piece.start == start && SumNode::with_block(next.block, span) == leaf
            };
            while let Some(more) = leaves.next_if(same) {
                piece.join(fold, &more.piece);
            }
            ladder.push(leaf, piece, &mut join);
            if leaves.peek().is_none_or(|next| next.piece.start != start) {
                let nodes = ladder.take_rungs();
                nodes.for_each(|(node, piece)| self.take(fold, node, piece));
            }
        }
    }
    /// Takes a piece of any number of rows, of a fold whose answer does not depend on the order of
    /// values.
    pub fn push_rows(&mut self, fold: &Reduce, piece: RowPiece) {
        self.take(fold, SumNode::WHOLE, piece);
    }
    /// Takes the sums of a node, and joins them with those of the other half of its parent, if they
    /// are there, and so on. What does not round has no nodes; it and rows with all values go into the
    /// states of rows.
    fn take(&mut self, fold: &Reduce, mut node: SumNode, mut piece: RowPiece) {
        if !fold.op.adds() {
            node = SumNode::WHOLE;
        }
        if !self.is_part() && node == SumNode::WHOLE {
            return self.add(fold, piece.start, &piece.acc, &piece.counts);
        }
        let (start, end) = (piece.start, piece.start + piece.counts.len());
        let span = self.span();
        if !self.is_part() && (end <= span.start || start >= span.end) {
            return;
        }
        while let Some(sibling) = node.sibling()
            && let Some(mut there) = self.pieces.remove(&(start, sibling))
        {
            if node < sibling {
                piece.join(fold, &there);
            } else {
                there.join(fold, &piece);
                piece = there;
            }
            node = node.parent();
        }
        match self.pieces.entry((start, node)) {
            Entry::Vacant(entry) => {
                entry.insert(piece);
            }
            Entry::Occupied(mut entry) => entry.get_mut().join(fold, &piece),
        }
    }
    /// Takes the only piece of `part` in place of states without values of the same rows, of a minimum
    /// or a maximum. Returns `part` if it is something else.
    pub(super) fn replaced_by(
        &mut self,
        fold: &Reduce,
        mut part: ReduceState,
    ) -> Option<ReduceState> {
        let mut pieces = part.pieces.values();
        let (Some(piece), None) = (pieces.next(), pieces.next()) else {
            return Some(part);
        };
        let rows = piece.start..piece.start + piece.counts.len();
        let whole = part.is_part() && !rows.is_empty() && rows == self.span();
        let fresh = || self.pieces.is_empty() && self.counts.iter().all(|count| *count == 0);
        if !whole || !fold.op.is_extreme() || !fresh() {
            return Some(part);
        }
        let (_, piece) = part.pieces.pop_first()?;
        (self.acc, self.counts) = (piece.acc, piece.counts);
        None
    }
    /// Adds the sums and states of `part`, in any order of parts.
    pub fn merge(&mut self, fold: &Reduce, part: ReduceState) {
        let pieces = part.pieces.into_iter();
        pieces.for_each(|((_, node), piece)| self.take(fold, node, piece));
        if !part.counts.is_empty() {
            let states = RowPiece {
                start: part.start,
                acc: part.acc,
                counts: part.counts,
            };
            self.take(fold, SumNode::WHOLE, states);
        }
    }
    /// Joins the sums of the rows before `end`: all their pairs are there. A part does nothing, since
    /// others have more of them.
    pub(super) fn close(&mut self, fold: &Reduce, end: usize) {
        if self.is_part() {
            return;
        }
        let first = SumNode::with_block(0, 1);
        let rest = self.pieces.split_off(&(end, first));
        let done = std::mem::replace(&mut self.pieces, rest);
        let mut join = |a: &mut RowPiece, b: RowPiece| a.join(fold, &b);
        let (mut ladder, mut done) = (Ladder::default(), done.into_iter().peekable());
        while let Some(((start, node), piece)) = done.next() {
            ladder.push_next(node, piece, &mut join);
            if done.peek().is_none_or(|((next, _), _)| *next != start)
                && let Some(RowPiece { start, acc, counts }) = ladder.take_all(&mut join)
            {
                self.add(fold, start, &acc, &counts);
            }
        }
    }
    /// This with the sums of all rows joined.
    fn joined(&self, fold: &Reduce) -> Cow<'_, Self> {
        if self.pieces.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut all = self.clone();
        all.close(fold, usize::MAX);
        Cow::Owned(all)
    }
    /// Adds to the states of consecutive rows.
    fn add(&mut self, fold: &Reduce, start: usize, acc: &[f64], counts: &[u64]) {
        let stride = fold.stride();
        // Rows of other shares are left out; rows without a value may lie beyond the last one.
        let Range { start: first, end } = self.span();
        let from = first.saturating_sub(start).min(counts.len());
        let to = end.saturating_sub(start).clamp(from, counts.len());
        let at = (start + from).saturating_sub(first).min(self.counts.len());
        fold.combine_rows(
            (&mut self.acc[at * stride..], &mut self.counts[at..]),
            (&acc[from * stride..to * stride], &counts[from..to]),
        );
    }
    /// Returns the results: `out_width` numbers per row, or once for all rows, added in ascending
    /// order.
    pub fn finish(&self, fold: &Reduce) -> Vec<f64> {
        let (stride, state) = (fold.stride(), self.joined(fold));
        let (acc, counts) = (&state.acc, &state.counts);
        let mut out = Vec::new();
        if fold.axis == ReduceAxis::All {
            let mut total = RowPiece::new(fold, 0, 1).acc;
            for row in 0..counts.len() {
                if counts[row] > 0 {
                    fold.combine(&mut total, &acc[row * stride..(row + 1) * stride]);
                }
            }
            fold.finish(&total, counts.iter().sum(), &mut out);
            return out;
        }
        for row in 0..counts.len() {
            fold.finish(
                &acc[row * stride..(row + 1) * stride],
                counts[row],
                &mut out,
            );
        }
        out
    }
    /// Returns the number of values by row.
    pub fn counts(&self) -> Cow<'_, [u64]> {
        let mut counts = Cow::Borrowed(&self.counts[..]);
        for piece in self.pieces.values() {
            let rows = counts
                .to_mut()
                .iter_mut()
                .skip(piece.start.saturating_sub(self.start));
            rows.zip(&piece.counts).for_each(|(a, b)| *a += *b);
        }
        counts
    }
}
