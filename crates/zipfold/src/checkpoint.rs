//! When a run keeps what it has, and what it does where that cannot be kept.

use crate::options::Options;
use crate::partial::{self, Partial};
use crate::places::{Places, Run, Typed};
use crate::warnings::Warnings;
use std::time::{Duration, Instant};
use zipfold_core::{Job, Result};
use zipfold_plan::Tile;

/// Keeps the checkpoints of one run.
pub(crate) struct Keeper<'a> {
    run: Run<'a>,
    every: Duration,
    saved: Instant,
    /// Tiles that the sums of the partial cover.
    recorded: usize,
    /// Runs of matches that the disk has, by fold.
    synced: Vec<usize>,
    warned: bool,
    warnings: Warnings,
}

impl<'a> Keeper<'a> {
    /// Of a run that has `merged` so far.
    pub(crate) fn new(run: Run<'a>, merged: &Partial, options: &Options<'_>) -> Self {
        let recorded = merged.tiles_done;
        Keeper {
            run,
            every: options.checkpoint_every,
            saved: Instant::now(),
            recorded,
            synced: merged.runs.iter().map(Vec::len).collect(),
            warned: false,
            warnings: options.warnings.clone(),
        }
    }
    /// Keeps `merged`, if it is time.
    ///
    /// # Errors
    /// `Resource` when what was written of the output does not reach the disk. A checkpoint that
    /// cannot be written is warned of, once, and the run goes on.
    pub(crate) fn now_and_then<T: Typed>(
        &mut self,
        job: &Job,
        tiles: &[Tile],
        all: &Places<T>,
        merged: &mut Partial,
    ) -> Result<()> {
        if self.run.checkpoint.is_none()
            || self.saved.elapsed() < self.every
            || merged.tiles_done == tiles.len()
        {
            return Ok(());
        }
        all.sync()?;
        if let Err(e) = self.keep(job, tiles, all, merged)
            && !std::mem::replace(&mut self.warned, true)
        {
            let place = e
                .place()
                .map(|place| format!("{}: ", place.marked()))
                .unwrap_or_default();
            self.warnings.add(format!(
                "no checkpoint: {place}{}; the run went on",
                e.what().marked()
            ));
        }
        self.saved = Instant::now();
        Ok(())
    }
    /// Keeps `merged` as the last thing that is done.
    ///
    /// # Errors
    /// Those of the disk.
    pub(crate) fn at_the_end<T: Typed>(
        &mut self,
        job: &Job,
        tiles: &[Tile],
        all: &Places<T>,
        merged: &mut Partial,
    ) -> Result<()> {
        if self.run.checkpoint.is_none() {
            return Ok(());
        }
        all.sync()?;
        self.keep(job, tiles, all, merged)
    }
    fn keep<T: Typed>(
        &mut self,
        job: &Job,
        tiles: &[Tile],
        all: &Places<T>,
        merged: &mut Partial,
    ) -> Result<()> {
        let Some(path) = self.run.checkpoint else {
            return Ok(());
        };
        let more = all.record(job, &tiles[self.recorded..merged.tiles_done], self.run)?;
        merged
            .sums
            .iter_mut()
            .zip(more)
            .for_each(|(sum, more)| *sum = sum.wrapping_add(more));
        self.recorded = merged.tiles_done;
        let fresh = merged.runs.iter().zip(&self.synced);
        let fresh = fresh.flat_map(|(runs, done)| runs.iter().skip(*done));
        all.stores.sync(fresh)?;
        self.synced = merged.runs.iter().map(Vec::len).collect();
        partial::keep_partial(path, merged)
    }
}
