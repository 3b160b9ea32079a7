//! Family *points* over what bounds leave open.
//!
//! ```text
//! for some groups of rows at a time
//!     the host walks their boxes                                     OpenPairs::open
//!     the device sweeps the panels that are left, fold by fold       Points::sweep_runs
//! the nearest of every row:
//!     the device sweeps a few panels near each group, and tells the worst neighbour of each row
//!     the host walks the boxes of the others, with the worst of a group as the limit
//!     the device sweeps what is left into the same lists
//! ```
//!
//! A sweep of the near panels costs some hundred pairs a row, and leaves limits that are near the
//! final ones: the walk with them opens little that does not hold a neighbour of some row.

use crate::emit::sweep::THREADS;
use crate::points::{Launch, NONE, Pass, Points};
use crate::rows::{Loaded, Rows};
use crate::runs::{RunList, Shares};
use crate::runtime::{Arg, Device, Grid, Memory};
use rayon::prelude::*;
use std::ops::Range;
use zipfold_core::fold::{Fold, Kept, Nearest, NearestState, State, Tally};
use zipfold_core::{Error, Result};
use zipfold_plan::Tile;
use zipfold_plan::device::open_pairs::{Open, OpenPairs, PanelRun, Wanted};
use zipfold_plan::executor::{Folded, Nowhere, Sink, Stop};

/// Groups of rows whose boxes are walked before their panels are swept: a list of some megabytes.
const GROUPS_AT_A_TIME: usize = 1 << 11;

/// The sweep of a job whose pairs bounds leave out.
pub(crate) struct OpenSweep<'e, 'j> {
    pub(crate) device: &'e Device,
    pub(crate) rows: &'e Rows<'j>,
    pub(crate) sorted: &'e (dyn OpenPairs + 'j),
    /// Rows of a group.
    pub(crate) group: usize,
    /// Whether to stop.
    pub(crate) stop: Stop<'e>,
}

/// Lists of the nearest of consecutive sorted rows, in the memory of a device.
pub(crate) struct Lists {
    pub(crate) values: Memory,
    pub(crate) indices: Memory,
    /// The worst of each row after the first pass.
    pub(crate) worst: Memory,
}

/// Memory of the host for lists on their way home: pages that are there already are written at the
/// speed of the bus.
#[derive(Default)]
struct Home {
    values: Vec<f64>,
    indices: Vec<u32>,
}

impl Home {
    fn values(&mut self, count: usize) -> &mut [f64] {
        self.values.resize(count.max(self.values.len()), 0.0);
        &mut self.values[..count]
    }
    fn indices(&mut self, count: usize) -> &mut [u32] {
        self.indices.resize(count.max(self.indices.len()), 0);
        &mut self.indices[..count]
    }
}

impl OpenSweep<'_, '_> {
    /// Folds the pairs of `tiles`.
    ///
    /// # Errors
    /// Those of the device; `Interrupted` when told to stop.
    pub(crate) fn run(&self, folds: &[Points<'_>], tiles: &[Tile]) -> Result<Folded> {
        let mut all = self.sorted.empty(&zipfold_plan::tiles::rows(tiles));
        let mut home = Home::default();
        self.rows.each(self.device, tiles, &mut |tile, loaded| {
            for from in tile.rows.clone().step_by(self.step()) {
                let rows = from..(from + self.step()).min(tile.rows.end);
                let part = Tile {
                    rows,
                    cols: tile.cols.clone(),
                };
                match folds {
                    [points] if points.keeps_nearest().is_some() => {
                        self.nearest(points, loaded, &part, (&mut all, &mut home))?;
                    }
                    _ => self.folds(folds, loaded, &part, &mut all)?,
                }
            }
            Ok(())
        })?;
        Ok(all)
    }
    /// Rows at a time: whole groups.
    fn step(&self) -> usize {
        self.group * GROUPS_AT_A_TIME
    }
    fn open(&self, tile: &Tile, wanted: Wanted<'_>) -> Result<Open> {
        let sides = [&tile.rows, &tile.cols];
        // Matches are told to the budget when the batch is whole, as all matches of a device are: a
        // refusal here would look like one of its memory.
        let room = (&Nowhere as &dyn Sink, self.stop);
        self.sorted.open(sides, self.group, wanted, room)
    }
    fn folds(
        &self,
        folds: &[Points<'_>],
        loaded: &Loaded,
        tile: &Tile,
        all: &mut Folded,
    ) -> Result<()> {
        let open = self.open(tile, Wanted::Open)?;
        self.sorted.merge(all, open.settled);
        let runs = open.runs.as_slice();
        for (at, (points, state)) in folds.iter().zip(&mut all.states).enumerate() {
            let rows = (loaded, self.sorted);
            let seen = points.sweep_runs(self.device, rows, tile, runs, state)?;
            // Each fold leaves out the same pairs, and may have met a NaN of its own.
            if at == 0 {
                swept(&mut all.tally, open.pairs, &seen)?;
            } else if let Some(pair) = seen.first_nan {
                all.tally.note_nan(pair);
            }
        }
        Ok(())
    }
    fn nearest(
        &self,
        points: &Points<'_>,
        loaded: &Loaded,
        tile: &Tile,
        (all, home): (&mut Folded, &mut Home),
    ) -> Result<()> {
        let fold = points.keeps_nearest();
        let fold = fold.ok_or_else(|| Error::internal("neighbours of another fold"))?;
        let count = tile.rows.len();
        let lists = Lists {
            values: self.device.allocate(count * fold.k * 8)?,
            indices: self.device.allocate(count * fold.k * 4)?,
            worst: self.device.allocate(count * 8)?,
        };
        let rows = (loaded, self.sorted);
        let mut sweep = |wanted: Wanted<'_>, pass: usize| {
            let open = self.open(tile, wanted)?;
            let runs = open.runs.as_slice();
            let seen = points.sweep_lists(self.device, rows, tile, runs, (&lists, pass))?;
            swept(&mut all.tally, open.pairs, &seen)?;
            all.tally.merge(&open.settled.tally);
            Ok::<_, Error>(())
        };
        sweep(Wanted::Near, 1)?;
        let worst = home.values(count);
        self.device.read(&lists.worst, worst)?;
        // Every number is better than NaN.
        let limit = |worst: f64| if worst.is_nan() { f64::INFINITY } else { worst };
        let of_group = |rows: &[f64]| {
            rows.iter()
                .map(|v| limit(*v))
                .fold(f64::NEG_INFINITY, f64::max)
        };
        let worst: Vec<f64> = worst.par_chunks(self.group).map(of_group).collect();
        sweep(Wanted::Rest(&worst), 2)?;
        let found = self.found(&fold, &lists, &tile.rows, home)?;
        for state in &mut all.states {
            if let Some(state) = NearestState::within_mut(state) {
                state.take(&fold, found);
                return Ok(());
            }
        }
        Err(Error::internal("neighbours of another fold"))
    }
    /// The lists of all rows, in order.
    fn found(
        &self,
        fold: &Nearest,
        lists: &Lists,
        rows: &Range<usize>,
        home: &mut Home,
    ) -> Result<NearestState> {
        let (n, k) = (rows.len(), fold.k);
        self.device.read(&lists.values, home.values(n * k))?;
        self.device.read(&lists.indices, home.indices(n * k))?;
        let (values, indices) = (&home.values, &home.indices);
        let list = |row: usize| {
            let places = (0..k).map(|place| place * n + row);
            let some = places.filter(|at| indices[*at] != NONE);
            let mut list: Vec<_> = some
                .map(|at| (values[at], u64::from(indices[at])))
                .collect();
            // A heap has no order.
            list.sort_unstable_by(zipfold_core::fold::nearest::order);
            list
        };
        let found: Vec<_> = (0..n).into_par_iter().map(list).collect();
        Ok(NearestState::of_rows(rows.start, found))
    }
}

/// Adds `pairs` that a device swept, of which it left out what it has `seen`.
fn swept(tally: &mut Tally, pairs: u64, seen: &Tally) -> Result<()> {
    tally.beyond_cutoff += seen.beyond_cutoff;
    tally.nan += seen.nan;
    let counted = pairs.checked_sub(seen.beyond_cutoff + seen.nan);
    tally.counted += counted
        .ok_or_else(|| Error::internal("more pairs beyond the cut-off or NaN than were swept"))?;
    if let Some(pair) = seen.first_nan {
        tally.note_nan(pair);
    }
    Ok(())
}

impl Points<'_> {
    /// Folds the pairs of `runs` of groups of `group` rows, in a tile of the rows that are `sorted`.
    ///
    /// # Errors
    /// Those of the device.
    fn sweep_runs(
        &self,
        device: &Device,
        (loaded, sorted): (&Loaded, &dyn OpenPairs),
        tile: &Tile,
        runs: &[PanelRun],
        state: &mut State,
    ) -> Result<Tally> {
        let shares = self.shares(device, runs, false)?;
        if shares.blocks() == 0 {
            return Ok(Tally::default());
        }
        let list = shares.upload(device)?;
        let launch = self.launch_of_runs(device, (loaded, sorted), tile, (&list, &shares));
        // Sums that round are not pruned, so there are no leaves.
        self.fold(&launch?, (state, &mut vec![]))
    }
    /// Adds the pairs of `runs` to `lists` of the rows of a tile, in pass 1 or 2.
    ///
    /// # Errors
    /// Those of the device.
    fn sweep_lists(
        &self,
        device: &Device,
        rows: (&Loaded, &dyn OpenPairs),
        tile: &Tile,
        runs: &[PanelRun],
        (lists, pass_number): (&Lists, usize),
    ) -> Result<Tally> {
        // Two blocks must not keep the list of one row.
        let shares = self.shares(device, runs, true)?;
        if shares.blocks() == 0 {
            return Ok(Tally::default());
        }
        let list = shares.upload(device)?;
        let launch = Launch {
            span: pass_number,
            ..self.launch_of_runs(device, rows, tile, (&list, &shares))?
        };
        let tally = launch.tally()?;
        let memories = [&lists.values, &lists.indices, &lists.worst].map(Arg::Memory);
        launch.go(&launch.with(memories.to_vec(), &tally))?;
        launch.tallied(&tally)
    }
    /// The fold, where it keeps the nearest of every row.
    fn keeps_nearest(&self) -> Option<Nearest> {
        if let Fold::Nearest(f) = &self.job.folds[0] {
            Some(f.clone())
        } else {
            None
        }
    }
    /// The shares of thread blocks; `whole` groups where one block must take all runs of a group.
    fn shares(&self, device: &Device, runs: &[PanelRun], whole: bool) -> Result<Shares> {
        let blocks = self.listed_pass()?.shape.blocks;
        let wanted = Shares::wanted(device.facts.units, blocks);
        Ok(Shares::new(runs, whole, wanted))
    }
    fn listed_pass(&self) -> Result<&Pass> {
        match self.passes.as_slice() {
            [pass] if pass.shape.listed => Ok(pass),
            _ => Err(Error::internal("runs of panels for a kernel of all pairs")),
        }
    }
    fn launch_of_runs<'l>(
        &'l self,
        device: &'l Device,
        (loaded, sorted): (&'l Loaded, &'l dyn OpenPairs),
        tile: &'l Tile,
        (list, shares): (&'l RunList, &Shares),
    ) -> Result<Launch<'l>> {
        Ok(Launch {
            device,
            loaded,
            pass: self.listed_pass()?,
            anchors: &tile.rows,
            others: &tile.cols,
            span: tile.cols.len(),
            grid: Grid {
                x: shares.blocks() as u32,
                y: 1,
                threads: THREADS,
            },
            extra: &self.extra,
            weights: self.weights.as_ref(),
            sums: &self.sums,
            listed: Some((list, sorted)),
            given: self.given.as_ref(),
        })
    }
}
