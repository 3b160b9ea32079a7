//! Copies of counters: how many a histogram has of each.

use super::edges::Edges;

/// Private copies of the bins: neighbouring increments never meet in one counter.
pub const COPIES: usize = 8;
/// Counters that may be copied: beyond, the copies would leave the L1 cache.
const COPIED: usize = 1024;

/// Private copies of the counters of a histogram.
pub(super) fn copies(edges: &Edges) -> usize {
    if edges.bins() + 3 <= COPIED {
        COPIES
    } else {
        1
    }
}
