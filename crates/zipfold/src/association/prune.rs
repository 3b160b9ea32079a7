//! The data processing inequality (ARACNE, Margolin and others 2006): of three rows that are all
//! joined, the weakest edge may come of the other two.
//!
//! ```text
//! for each edge (i, j)
//!     for each row k that both i and j have edges with
//!         the edge goes where |value(i, j)| < (1 − tolerance) · min(|value(i, k)|, |value(j, k)|)
//! ```
//!
//! All triangles are those of the edges before any is removed, so the order of rows does not matter.

use super::measures::Pair;
use rayon::prelude::*;

/// The edges that stay.
pub(super) fn pruned(pairs: &[Pair], rows: usize, tolerance: f64) -> Vec<bool> {
    let mut around: Vec<Vec<(usize, f64)>> = vec![vec![]; rows];
    for pair in pairs {
        around[pair.i].push((pair.j, pair.value.abs()));
        around[pair.j].push((pair.i, pair.value.abs()));
    }
    around
        .par_iter_mut()
        .for_each(|list| list.sort_unstable_by_key(|(other, _)| *other));
    let stays = |pair: &Pair| {
        let value = pair.value.abs();
        let (mut a, mut b) = (&around[pair.i][..], &around[pair.j][..]);
        while let ([(k, p), ..], [(l, q), ..]) = (a, b) {
            if k == l && value < (1.0 - tolerance) * p.min(*q) {
                return false;
            }
            a = if k <= l { &a[1..] } else { a };
            b = if l <= k { &b[1..] } else { b };
        }
        true
    };
    pairs.par_iter().map(stays).collect()
}
