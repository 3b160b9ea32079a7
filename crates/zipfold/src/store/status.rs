//! How far a store is.

use super::files::Files;
use super::lease::{Note, Who, lease_name};
use super::manifest::{Manifest, Predicted};
use super::worker::{DoneShare, Failure, done_name, failed_name};
use serde::Serialize;
use std::time::Duration;
use zipfold_core::{Budget, Result};

/// How far a store is.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// Shares in all.
    pub shares: usize,
    /// Shares whose parts are there.
    pub done: usize,
    /// Shares that are not, by number from 1.
    pub missing: Vec<usize>,
    /// Shares that workers are at.
    pub running: Vec<Running>,
    /// Shares that failed and are not done.
    pub failed: Vec<Failure>,
    /// Bytes of the parts.
    pub bytes: u64,
    /// Seconds of work of the shares that are done.
    pub seconds: f64,
    /// Seconds of work that the others will take, at the rate of those.
    pub seconds_left: f64,
    /// What the planner expected.
    pub predicted: Predicted,
}

/// A share that a worker is at.
#[derive(Clone, Debug, Serialize)]
pub struct Running {
    /// Its number, from 1.
    pub share: usize,
    /// The worker.
    pub worker: Who,
    /// Seconds since the worker gave a sign of life.
    pub quiet: f64,
    /// Whether that is so long ago that the share can be taken over.
    pub lost: bool,
}

impl Status {
    /// Looks at a store of this many shares, of which this was predicted.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn read(
        files: &dyn Files,
        (shares, predicted): (usize, &Predicted),
        life: Duration,
        budget: &Budget,
    ) -> Result<Status> {
        let there = files.list("parts")?;
        let is_done = |index: usize| there.binary_search(&Manifest::share_name(index)).is_ok();
        let missing: Vec<usize> = (0..shares).filter(|i| !is_done(*i)).collect();
        let (mut seconds, mut bytes, mut told) = (0.0, 0, 0);
        for index in (0..shares).filter(|index| is_done(*index)) {
            let text = files.get(&done_name(index), budget)?.unwrap_or_default();
            if let Ok(done) = serde_json::from_slice::<DoneShare>(&text) {
                seconds += done.seconds;
                bytes += done.bytes;
                told += 1;
            }
        }
        let (mut running, mut failed) = (vec![], vec![]);
        let (leases, failures) = (files.list("leases")?, files.list("failed")?);
        for index in &missing {
            let name = Manifest::share_name(*index);
            if leases.binary_search(&name).is_ok() {
                running.extend(self::running(files, *index, life, budget)?);
            }
            if failures.binary_search(&name).is_ok() {
                let text = files.get(&failed_name(*index), budget)?.unwrap_or_default();
                failed.extend(serde_json::from_slice::<Failure>(&text).ok());
            }
        }
        let each = match told {
            0 => predicted.share_seconds,
            _ => seconds / f64::from(told),
        };
        Ok(Status {
            shares,
            done: shares - missing.len(),
            seconds_left: each * missing.len() as f64,
            missing: missing.iter().map(|index| index + 1).collect(),
            running,
            failed,
            bytes,
            seconds,
            predicted: predicted.clone(),
        })
    }
}

fn running(
    files: &dyn Files,
    index: usize,
    life: Duration,
    budget: &Budget,
) -> Result<Option<Running>> {
    let name = lease_name(index);
    let (Some(note), Some(age)) = (Note::read(files, &name, budget)?, files.age(&name)?) else {
        return Ok(None);
    };
    Ok(Some(Running {
        share: index + 1,
        worker: note.who,
        quiet: age.as_secs_f64(),
        lost: age >= life,
    }))
}
