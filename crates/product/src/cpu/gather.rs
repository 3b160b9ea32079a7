//! A part of a table with its variables in another order, copied tile by tile so that both sides go
//! by whole cache lines.

use super::number::Number;
use super::shape::offsets;
use super::slices;
use rayon::prelude::*;

/// Part of a table, its variables in another order.
#[derive(Debug)]
pub struct Picked<'a> {
    /// The table.
    pub values: &'a [f64],
    /// Where the part begins.
    pub base: usize,
    /// Domain size and stride in the table of each variable of the part, slowest first.
    pub digits: &'a [(usize, usize)],
}

/// Entries of a run that make it worth a block copy, and the most of an offset list.
const STRAIGHT: usize = 64;
const INNER: usize = 1 << 12;
/// Entries that the runs of a tile have at least, on both sides: a cache line of f32.
const LINE: usize = 16;
/// Entries from which the source does not stay in the nearest cache.
const FAR: usize = 1 << 12;
/// Entries that are gathered before their exponentials are taken.
const NEAR: usize = 64;
/// Entries from which both threads copy.
const SHARED: usize = 1 << 16;

/// How the copy goes: blocks of the fastest digits of the result, a few of them to a tile, tiles
/// one after another.
struct CopyTiles {
    /// Entries of a block.
    block: usize,
    /// Offsets of a block's entries in the source; empty where they lie in the same order.
    inner: Vec<usize>,
    /// Offsets of a tile's blocks in source and result.
    blocks: Vec<(usize, usize)>,
    /// Offsets of the tiles in source and result.
    tiles: Vec<(usize, usize)>,
}

/// Offsets in source and result of all configurations of some digits (domain size, stride, stride
/// in the result).
fn pairs(digits: &[(usize, usize, usize)]) -> Vec<(usize, usize)> {
    let source = offsets(&digits.iter().map(|d| (d.0, d.1)).collect::<Vec<_>>());
    let result = offsets(&digits.iter().map(|d| (d.0, d.2)).collect::<Vec<_>>());
    source.into_iter().zip(result).collect()
}

/// The digits of more than one value with their strides in the result, and its entries.
fn with_result_strides(digits: &[(usize, usize)]) -> (Vec<(usize, usize, usize)>, usize) {
    let mut both: Vec<(usize, usize, usize)> = Vec::with_capacity(digits.len());
    let mut len = 1;
    for (card, stride) in digits.iter().rev().filter(|d| d.0 > 1) {
        both.push((*card, *stride, len));
        len *= card;
    }
    both.reverse();
    (both, len)
}

impl CopyTiles {
    fn new(digits: &[(usize, usize)]) -> Self {
        let (both, len) = with_result_strides(digits);
        // The fastest variables, as far as they lie in the same order; a longer block where that is
        // short.
        let (mut cut, mut block) = (both.len(), 1);
        while cut > 0 && both[cut - 1].1 == block {
            cut -= 1;
            block *= both[cut].0;
        }
        let straight = block >= STRAIGHT;
        let most = if len < FAR { INNER } else { LINE };
        while !straight && cut > 0 && (block < LINE || block * both[cut - 1].0 <= most) {
            cut -= 1;
            block *= both[cut].0;
        }
        let inner = if straight {
            Vec::new()
        } else {
            offsets(&both[cut..].iter().map(|d| (d.0, d.1)).collect::<Vec<_>>())
        };
        let mut slow = both[..cut].to_vec();
        let tile = if straight || len < FAR {
            Vec::new()
        } else {
            near(&mut slow, &both[cut..])
        };
        CopyTiles {
            block,
            inner,
            blocks: pairs(&tile),
            tiles: pairs(&slow),
        }
    }
}

/// Takes the digits out of `slow` that run fastest in the source, until they and those of `fast`
/// make a line there.
fn near(
    slow: &mut Vec<(usize, usize, usize)>,
    fast: &[(usize, usize, usize)],
) -> Vec<(usize, usize, usize)> {
    let mut strides: Vec<usize> = slow.iter().chain(fast).map(|d| d.1).collect();
    strides.sort_unstable();
    let line = strides
        .iter()
        .rposition(|s| *s < LINE)
        .map_or(0, |at| strides[at]);
    let (tile, rest) = slow.iter().partition(|d| d.1 <= line);
    *slow = rest;
    tile
}

/// The result, shared by tiles that write different entries.
struct SharedResult<U>(*mut U, usize);
// SAFETY: every entry belongs to one block of one tile, because a mixed-radix number names it once.
unsafe impl<U: Send> Sync for SharedResult<U> {}

impl<U> SharedResult<U> {
    /// SAFETY: no other reference to these entries lives, and the result outlives `'a`.
    unsafe fn block<'a>(&self, at: usize, len: usize) -> &'a mut [U] {
        assert!(at + len <= self.1, "offset beyond the result");
        // SAFETY: in bounds by the assertion; alone by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(at), len) }
    }
}

impl Picked<'_> {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.digits.iter().map(|(card, _)| card).product()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Writes `of` every entry to `to`.
    pub fn copy<U: Number>(&self, to: &mut [U], of: impl Fn(f64) -> U + Sync) {
        self.blocks(to, |from, inner, to| {
            if inner.is_empty() {
                return to.iter_mut().zip(from).for_each(|(t, f)| *t = of(*f));
            }
            to.iter_mut().zip(inner).for_each(|(t, o)| {
                // SAFETY: no offset of a block is beyond `from`.
                *t = of(unsafe { *from.get_unchecked(*o) });
            });
        });
    }
    /// Writes `e^(entry - shift)` of every entry to `to`.
    pub fn exponentials<U: Number>(&self, shift: f64, to: &mut [U]) {
        self.blocks(to, |from, inner, to| {
            if inner.is_empty() {
                return slices::exponentials_of_wide(&from[..to.len()], shift, to);
            }
            let mut near = [0.0; NEAR];
            for (to, inner) in to.chunks_mut(NEAR).zip(inner.chunks(NEAR)) {
                near.iter_mut().zip(inner).for_each(|(n, o)| {
                    // SAFETY: no offset of a block is beyond `from`.
                    *n = unsafe { *from.get_unchecked(*o) };
                });
                slices::exponentials_of_wide(&near[..to.len()], shift, to);
            }
        });
    }
    /// Calls `put` with every block: the table from where the block begins, offsets of its entries
    /// there (none where they lie in the same order, and else none beyond the slice), and its place
    /// in `to`.
    fn blocks<U: Number>(&self, to: &mut [U], put: impl Fn(&[f64], &[usize], &mut [U]) + Sync) {
        let tiles = CopyTiles::new(self.digits);
        let target = SharedResult(to.as_mut_ptr(), to.len());
        let last = tiles.inner.iter().copied().max().unwrap_or(0);
        let tile = |(source, result): &(usize, usize)| {
            for (s, r) in &tiles.blocks {
                let from = &self.values[self.base + source + s..];
                let from = if tiles.inner.is_empty() {
                    from
                } else {
                    &from[..=last]
                };
                // SAFETY: a block belongs to one tile and is written once, within the life of `to`.
                put(from, &tiles.inner, unsafe {
                    target.block(result + r, tiles.block)
                });
            }
        };
        if to.len() < SHARED {
            tiles.tiles.iter().for_each(tile);
        } else {
            let least = (SHARED / 8 / (tiles.block * tiles.blocks.len())).max(1);
            tiles.tiles.par_iter().with_min_len(least).for_each(tile);
        }
    }
}
