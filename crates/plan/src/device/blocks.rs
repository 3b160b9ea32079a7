//! Which of several devices takes which tiles, where each holds the rows of its own tiles alone:
//! the distributions *block* and *overlap* of Steuwer et al. (2013). Where every device holds all
//! rows (*copy*), each takes the next tile when it is done with one, and nothing is decided here.
//!
//! Rows of a block are copied once and stay, so a device whose memory holds a part of all rows
//! needs no copies in the middle of a run. The price is that a fast device cannot help a slow one,
//! unless blocks overlap.

use super::OnDevice;
use crate::overrides::Residency;
use crate::plan::Plan;
use crate::tiles::{Tile, Tiling};
use std::ops::Range;
use zipfold_core::Job;

/// Consecutive tiles for each device, balanced by their pairs.
///
/// Made from the plan alone: every device, and a run that is continued, finds the same blocks.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// Where the first tile of each device begins: its first row, its first column.
    starts: Vec<(usize, usize)>,
    /// The rows of x and of y that the tiles of each device need.
    windows: Vec<[Range<usize>; 2]>,
    /// Whether a device also holds the rows of the next one, and takes what is left of its tiles.
    overlap: bool,
}

impl Blocks {
    /// Returns the blocks of `plan`; none if devices share tiles out as they go.
    pub fn new(job: &Job, plan: &Plan) -> Option<Self> {
        let OnDevice { devices, rows, .. } = plan.device.as_ref()?;
        let overlap = match rows {
            Residency::Held | Residency::Streamed => return None,
            Residency::Block => false,
            Residency::Overlap => true,
        };
        let tiles = plan.tiling.tiles(&job.space);
        let share = |at: usize| {
            let count = |t: &Tile| job.space.count(&t.rows, &t.cols);
            Tiling::shard(tiles.clone(), count, at, *devices)
        };
        let shares: Vec<Vec<Tile>> = (0..*devices).map(share).collect();
        let end = (job.space.n, job.space.m);
        let start = |share: &Vec<Tile>| share.first().map_or(end, begin);
        Some(Blocks {
            starts: shares.iter().map(start).collect(),
            windows: shares.iter().map(|share| window(share)).collect(),
            overlap,
        })
    }
    /// Returns the device whose `tile` it is. Tiles are in row-major order, so the starts of blocks
    /// are, too, and a binary search finds it.
    pub fn owner(&self, tile: &Tile) -> usize {
        // A device without tiles begins where the next one does, or at the end.
        let after = self.starts.partition_point(|start| *start <= begin(tile));
        after.saturating_sub(1)
    }
    /// Returns the device that holds all rows of the tiles of device `at`, too: the one before,
    /// around the circle.
    pub fn neighbour(&self, at: usize) -> Option<usize> {
        let count = self.windows.len();
        (self.overlap && count > 1).then(|| (at + count - 1) % count)
    }
    /// Returns the rows of x and of y that device `at` holds.
    pub fn window(&self, at: usize) -> [Range<usize>; 2] {
        let own = &self.windows[at];
        let next = &self.windows[(at + 1) % self.windows.len()];
        if self.overlap {
            [0, 1].map(|side| union(&own[side], &next[side]))
        } else {
            own.clone()
        }
    }
}

/// Returns the place of a tile in the order of tiles.
fn begin(tile: &Tile) -> (usize, usize) {
    (tile.rows.start, tile.cols.start)
}

/// Returns the rows and columns of all `tiles`. One range for each side, although rows between two
/// tiles may not be needed.
fn window(tiles: &[Tile]) -> [Range<usize>; 2] {
    let grow = |so_far: [Range<usize>; 2], tile: &Tile| {
        let [rows, cols] = so_far;
        [union(&rows, &tile.rows), union(&cols, &tile.cols)]
    };
    tiles.iter().fold([0..0, 0..0], grow)
}

/// Returns the least range that holds both.
fn union(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b.clone(),
        (_, true) => a.clone(),
        _ => a.start.min(b.start)..a.end.max(b.end),
    }
}
