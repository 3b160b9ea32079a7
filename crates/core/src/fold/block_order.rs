//! The order in which sums of blocks are added: a tree over aligned runs of blocks.
//!
//! ```text
//! block   0   1   2   3   4   5   6
//!         └─┬─┘   └─┬─┘   └─┬─┘   │     T(0, i) = block i
//!           └───┬───┘       └──┬──┘     T(l, i) = T(l − 1, 2i) + T(l − 1, 2i + 1)
//!               └──────┬───────┘        a node one of whose halves has no values is the other half
//! ```
//!
//! Addition rounds. The place of every addition is fixed here, and not the time, so parts of a sum
//! may meet in any order. A run of blocks is at most two nodes of each level, and nodes that are
//! the halves of one are joined as soon as both are there.
//!
//! An engine may begin with nodes of a higher level, whose blocks it adds in an order of its own.

use serde::{Deserialize, Serialize};

/// A node: 2^level blocks, the first of which is a multiple of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SumNode {
    first: usize,
    level: u8,
}

impl SumNode {
    /// All blocks, of any number of columns.
    pub const WHOLE: SumNode = SumNode {
        first: 0,
        level: usize::BITS as u8 - 1,
    };
    /// Returns the node of `blocks` blocks, a power of two, that has block `block`.
    ///
    /// ```
    /// use zipfold_core::fold::SumNode;
    ///
    /// assert_eq!(SumNode::with_block(13, 4), SumNode::with_block(12, 4));
    /// assert_ne!(SumNode::with_block(13, 4), SumNode::with_block(13, 2));
    /// ```
    pub fn with_block(block: usize, blocks: usize) -> SumNode {
        debug_assert!(blocks.is_power_of_two());
        SumNode {
            first: block & !(blocks - 1),
            level: blocks.trailing_zeros() as u8,
        }
    }
    /// Returns whether this is a node of a sum over `blocks` blocks: what a file says may be anything.
    pub(super) fn fits(self, blocks: usize) -> bool {
        self == SumNode::WHOLE
            || self.first < blocks
                && self.level < SumNode::WHOLE.level
                && self.first.trailing_zeros() >= u32::from(self.level)
    }
    /// Returns the node whose halves are this one and another.
    pub(super) fn parent(self) -> SumNode {
        let level = self.level + 1;
        SumNode {
            first: self.first >> level << level,
            level,
        }
    }
    /// Returns the other half of the parent; none of the whole.
    pub(super) fn sibling(self) -> Option<SumNode> {
        (self != SumNode::WHOLE).then_some(SumNode {
            first: self.first ^ 1 << self.level,
            level: self.level,
        })
    }
    /// Returns whether the other half of the parent is `right`, and comes after this one.
    fn is_left_of(self, right: SumNode) -> bool {
        self.first < right.first && self.sibling() == Some(right)
    }
    /// Returns the least level at which a node has both.
    fn meets(self, other: SumNode) -> u8 {
        let apart = usize::BITS - (self.first ^ other.first).leading_zeros();
        (apart as u8).max(self.level).max(other.level)
    }
    /// Returns the least node that has both.
    fn with(self, other: SumNode) -> SumNode {
        let level = self.meets(other).min(SumNode::WHOLE.level);
        SumNode {
            first: self.first >> level << level,
            level,
        }
    }
}

/// Sums of ascending nodes, joined as far as they are there: a counter whose digits are sums.
///
/// ```
/// use zipfold_core::fold::{Ladder, SumNode};
///
/// let mut ladder = Ladder::default();
/// for block in 3..8 {
///     ladder.push(SumNode::with_block(block, 1), 1, |left, right| *left += right);
/// }
/// let sums: Vec<i32> = ladder.take_rungs().map(|(_, sum)| sum).collect();
/// assert_eq!(sums, [1, 4]);
/// ```
#[derive(Clone, Debug)]
pub struct Ladder<S> {
    rungs: Vec<(SumNode, S)>,
}

impl<S> Default for Ladder<S> {
    fn default() -> Self {
        Ladder { rungs: vec![] }
    }
}

impl<S> Ladder<S> {
    /// Adds the sum of a node behind all others. `join` adds a right half to its left one.
    #[inline]
    pub fn push(&mut self, mut node: SumNode, mut sum: S, mut join: impl FnMut(&mut S, S)) {
        while let Some((_, mut left)) = self.rungs.pop_if(|(left, _)| left.is_left_of(node)) {
            join(&mut left, sum);
            (node, sum) = (node.parent(), left);
        }
        self.rungs.push((node, sum));
    }
    /// Adds to the sum of the last node, or that of a node behind all others, where no other nodes
    /// than those pushed have values. What ends before the node is joined.
    #[inline]
    pub fn push_next(&mut self, node: SumNode, sum: S, mut join: impl FnMut(&mut S, S)) {
        match self.rungs.last_mut() {
            Some((last, there)) if *last == node => join(there, sum),
            _ => {
                self.join_before(Some(node), &mut join);
                self.rungs.push((node, sum));
            }
        }
    }
    /// Returns the sum of all, where no other nodes than those pushed have values; none of nothing.
    #[inline]
    pub fn take_all(&mut self, mut join: impl FnMut(&mut S, S)) -> Option<S> {
        self.join_before(None, &mut join);
        self.rungs.pop().map(|(_, sum)| sum)
    }
    /// Returns the sums that wait for their other halves, in ascending order.
    pub fn take_rungs(&mut self) -> impl Iterator<Item = (SumNode, S)> {
        self.rungs.drain(..)
    }
    /// Joins the last two as long as they meet in a node that `next` is not part of.
    fn join_before(&mut self, next: Option<SumNode>, join: &mut impl FnMut(&mut S, S)) {
        while let [.., (left, _), (right, _)] = self.rungs.as_slice()
            && next.is_none_or(|next| left.meets(*right) < right.meets(next))
        {
            let both = left.with(*right);
            if let (Some((_, right)), Some(last)) = (self.rungs.pop(), self.rungs.last_mut()) {
                join(&mut last.1, right);
                last.0 = both;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    /// The tree as it is defined.
    fn defined(blocks: &[Option<f64>], level: u32, index: usize) -> Option<f64> {
        if level == 0 {
            return blocks.get(index).copied().flatten();
        }
        let half = |side: usize| defined(blocks, level - 1, 2 * index + side);
        match (half(0), half(1)) {
            (Some(left), Some(right)) => Some(left + right),
            (left, right) => left.or(right),
        }
    }

    fn block(at: usize) -> SumNode {
        SumNode::with_block(at, 1)
    }

    #[test]
    fn ladders_have_the_bits_of_the_tree_with_any_blocks_left_out() {
        let mut random = Random::new(5);
        for count in (0..70).chain([127, 128, 129, 1000]) {
            for gaps in [0, 2, 9] {
                let blocks: Vec<Option<f64>> = (0..count)
                    .map(|_| (gaps == 0 || random.below(gaps) > 0).then(|| random.unit() - 0.4))
                    .collect();
                let mut ladder = Ladder::default();
                for (at, sum) in blocks.iter().enumerate() {
                    if let Some(sum) = sum {
                        ladder.push_next(block(at), *sum, |a, b| *a += b);
                    }
                }
                let got = ladder.take_all(|a, b| *a += b);
                assert_eq!(got, defined(&blocks, 10, 0), "{count} {gaps}");
            }
        }
    }

    #[test]
    fn runs_of_blocks_are_few_nodes_and_join_where_they_meet() {
        let mut random = Random::new(6);
        for _ in 0..300 {
            let (first, count) = (random.below(2000), 1 + random.below(8000));
            let mut ladder = Ladder::default();
            (first..first + count).for_each(|at| ladder.push(block(at), 1, |a, b| *a += b));
            let rungs: Vec<(SumNode, usize)> = ladder.take_rungs().collect();
            assert!(rungs.len() <= 26, "{first} {count}");
            assert!(rungs.iter().all(|(node, sum)| *sum == 1 << node.level));
            assert!(rungs.iter().all(|(node, _)| node.fits(first + count)));
            assert_eq!(rungs.iter().map(|(_, sum)| sum).sum::<usize>(), count);
        }
    }

    #[test]
    fn nodes_of_files_are_checked() {
        let node = |first, level| SumNode { first, level };
        assert!(node(4, 2).fits(5) && SumNode::WHOLE.fits(0));
        for odd in [
            node(4, 3),
            node(5, 0),
            node(0, 63),
            node(usize::MAX, 0),
            node(0, 200),
        ] {
            assert!(odd == SumNode::WHOLE || !odd.fits(5), "{odd:?}");
        }
        assert_eq!(SumNode::WHOLE.sibling(), None);
    }
}
