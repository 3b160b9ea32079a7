//! Which of several devices takes which tiles, where each holds the rows of its own tiles alone:
//! the distributions *block* and *overlap* of Steuwer et al. (2013). Where every device holds all
//! rows (*copy*), each takes the next tile when it is done with one, and nothing is decided here.

use super::OnDevice;
use crate::overrides::Residency;
use crate::plan::Plan;
use crate::tiles::Tile;
use std::ops::Range;
use zipfold_core::Job;

/// Consecutive tiles for each device, balanced by their pairs.
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
    /// The blocks of `plan`; none where devices share tiles out as they go.
    pub fn new(job: &Job, plan: &Plan) -> Option<Self> {
        let OnDevice { devices, rows, .. } = plan.device.as_ref()?;
        let overlap = match rows {
            Residency::Held | Residency::Streamed => return None,
            Residency::Block => false,
            Residency::Overlap => true,
        };
        let tiles = plan.tiling.tiles(&job.space);
        let share = |at: usize| plan.tiling.share(&job.space, tiles.clone(), at, *devices);
        let shares: Vec<Vec<Tile>> = (0..*devices).map(share).collect();
        let end = (job.space.n, job.space.m);
        let start = |share: &Vec<Tile>| share.first().map_or(end, begin);
        Some(Blocks {
            starts: shares.iter().map(start).collect(),
            windows: shares.iter().map(|share| window(share)).collect(),
            overlap,
        })
    }
    /// The device whose `tile` it is.
    pub fn owner(&self, tile: &Tile) -> usize {
        // A device without tiles begins where the next one does, or at the end.
        let after = self.starts.partition_point(|start| *start <= begin(tile));
        after.saturating_sub(1)
    }
    /// The device that holds all rows of the tiles of device `at`, too.
    pub fn neighbour(&self, at: usize) -> Option<usize> {
        let count = self.windows.len();
        (self.overlap && count > 1).then(|| (at + count - 1) % count)
    }
    /// The rows of x and of y that device `at` holds.
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

fn begin(tile: &Tile) -> (usize, usize) {
    (tile.rows.start, tile.cols.start)
}

/// The rows and columns of all `tiles`.
fn window(tiles: &[Tile]) -> [Range<usize>; 2] {
    let grow = |so_far: [Range<usize>; 2], tile: &Tile| {
        let [rows, cols] = so_far;
        [union(&rows, &tile.rows), union(&cols, &tile.cols)]
    };
    tiles.iter().fold([0..0, 0..0], grow)
}

/// The least range that holds both.
fn union(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b.clone(),
        (_, true) => a.clone(),
        _ => a.start.min(b.start)..a.end.max(b.end),
    }
}
