//! Lists of runs of panels for the kernels: which thread block takes which.
//!
//! ```text
//! panels of all runs ÷ blocks that fill the device = the share of a block
//! each run, in order: to the block whose share is not full; cut where it is
//! ```
//!
//! Consecutive runs are of the same or of neighbouring rows, which the caches then hold. A block
//! empties its counters once, after all of its runs.

use crate::runtime::{Device, Memory};
use zipfold_core::Result;
use zipfold_plan::device::open_pairs::{PANEL, PanelRun};

/// Blocks for each that a multiprocessor holds, and of a multiprocessor at least: shares are equal,
/// the time of their pairs is not.
const TURNS: usize = 4;
const LEAST: usize = 16;
/// Most panels of a block: its counters of 32 bits count up to 2¹² anchors against 2⁷ others of each.
const MOST: usize = 1 << 13;

/// The parts of a list of runs that blocks take.
#[derive(Debug, PartialEq)]
pub(crate) struct Shares {
    /// First anchor, first other, end of the others, by turns.
    runs: Vec<u32>,
    /// Where the runs of each block begin; at last, where those of the last one end.
    starts: Vec<u32>,
}

impl Shares {
    /// Shares out `runs` to about `blocks` blocks; `whole` where one block must take all runs of a
    /// group.
    pub(crate) fn new(runs: &[PanelRun], whole: bool, blocks: usize) -> Shares {
        let panels = |run: &PanelRun| (run.to as usize).div_ceil(PANEL) - run.from as usize / PANEL;
        let all: usize = runs.iter().map(panels).sum();
        let share = all.div_ceil(blocks.max(1)).clamp(1, MOST);
        let mut out = Shares {
            runs: vec![],
            starts: vec![0],
        };
        let mut room = share;
        for of_group in runs.chunk_by(|a, b| a.first == b.first) {
            for run in of_group {
                let mut from = run.from as usize;
                while from < run.to as usize {
                    let most = if whole { MOST } else { room };
                    let to = ((from / PANEL + most) * PANEL).min(run.to as usize);
                    out.runs.extend([run.first, from as u32, to as u32]);
                    room = room.saturating_sub(to.div_ceil(PANEL) - from / PANEL);
                    from = to;
                    if room == 0 && !whole {
                        out.end_share();
                        room = share;
                    }
                }
            }
            if room == 0 {
                out.end_share();
                room = share;
            }
        }
        if room < share {
            out.end_share();
        }
        out
    }
    fn end_share(&mut self) {
        self.starts.push((self.runs.len() / 3) as u32);
    }
    /// Thread blocks that have a share.
    pub(crate) fn blocks(&self) -> usize {
        self.starts.len() - 1
    }
    /// The list in the memory of `device`.
    pub(crate) fn upload(&self, device: &Device) -> Result<RunList> {
        Ok(RunList {
            runs: device.upload(&self.runs)?,
            starts: device.upload(&self.starts)?,
        })
    }
    /// Blocks that fill a device of so many multiprocessors, each of which holds `blocks`.
    pub(crate) fn wanted(units: usize, blocks: usize) -> usize {
        units.max(1) * (blocks * TURNS).max(LEAST)
    }
}

/// A list of runs in the memory of a device.
pub(crate) struct RunList {
    pub(crate) runs: Memory,
    pub(crate) starts: Memory,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(first: u32, from: u32, to: u32) -> PanelRun {
        PanelRun { first, from, to }
    }

    #[test]
    fn every_panel_of_every_run_is_taken_once() {
        let runs = [
            run(0, 0, 900),
            run(384, 128, 256),
            run(768, 640, 641),
            run(768, 768, 5000),
        ];
        for (blocks, whole) in [1, 2, 3, 7, 1000]
            .into_iter()
            .flat_map(|b| [(b, false), (b, true)])
        {
            let shares = Shares::new(&runs, whole, blocks);
            let mut seen = std::collections::BTreeMap::new();
            for one in shares.runs.chunks_exact(3) {
                for panel in one[1] as usize / PANEL..(one[2] as usize).div_ceil(PANEL) {
                    *seen.entry((one[0], panel)).or_insert(0) += 1;
                }
            }
            assert!(seen.values().all(|count| *count == 1));
            assert_eq!(seen.len(), 8 + 1 + 1 + 34, "{blocks} blocks");
            assert!(shares.starts.windows(2).all(|pair| pair[0] < pair[1]));
            assert_eq!(
                *shares.starts.last().unwrap() as usize * 3,
                shares.runs.len()
            );
            assert!(shares.blocks() <= blocks.min(seen.len()));
        }
    }

    #[test]
    fn no_run_is_no_block() {
        assert_eq!(Shares::new(&[], true, 8).blocks(), 0);
    }

    #[test]
    fn a_group_is_the_work_of_one_block_where_it_must_be() {
        let runs: Vec<PanelRun> = (0..60)
            .map(|at| {
                let from = at % 3 * 1024;
                run(at / 3 * 256, from, from + 128 * (1 + at % 5))
            })
            .collect();
        for blocks in [1, 7, 20, 500] {
            let shares = Shares::new(&runs, true, blocks);
            let mut owner = std::collections::BTreeMap::new();
            for block in 0..shares.blocks() {
                for at in shares.starts[block]..shares.starts[block + 1] {
                    let group = shares.runs[at as usize * 3];
                    assert_eq!(*owner.entry(group).or_insert(block), block, "{blocks}");
                }
            }
            assert_eq!((owner.len(), shares.runs.len()), (20, 3 * 60));
            assert!(shares.blocks() <= blocks.min(20));
        }
    }
}
