//! Attempts at a share: each living worker has a place of its own for what it keeps, whoever holds the
//! lease.
//!
//! ```text
//! running/000001            the checkpoint of the first one, its runs and matrices next to it
//! running/000001.held       there and locked while its worker lives
//! running/000001-1 …        those of another, where a worker that was taken to be lost lives on
//! ```

use super::files::Files;
use super::manifest::Manifest;
use crate::partial;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use zipfold_core::{Error, Result};
use zipfold_io::unfinished::Claim;

/// Workers that may be at one share at one time.
const MOST: usize = 16;

/// How the name ends of what the run of a part of a share keeps.
const PIECE: &str = "-piece";

/// The name of attempt `at` at share `index`.
fn name_of(index: usize, at: usize) -> String {
    let share = Manifest::share_name(index);
    match at {
        0 => share,
        _ => format!("{share}-{at}"),
    }
}

/// An attempt of this process at a share.
pub(crate) struct Attempt {
    /// The share, and the number of the attempt.
    at: (usize, usize),
    /// Where it keeps what it has, and where an earlier one that was lost may have.
    pub checkpoint: PathBuf,
    claim: Claim,
}

impl Attempt {
    /// The first attempt at share `index` whose worker does not live.
    ///
    /// # Errors
    /// `Request` where too many workers are at it; those of the folder.
    pub(crate) fn begin(files: &dyn Files, index: usize) -> Result<Self> {
        for at in 0..MOST {
            if let Some(attempt) = Attempt::ask(files, index, at)? {
                return Ok(attempt);
            }
        }
        let e = Error::request(format!("{MOST} workers are at share {}", index + 1));
        Err(e.remedy("wait for them"))
    }
    fn ask(files: &dyn Files, index: usize, at: usize) -> Result<Option<Self>> {
        let name = format!("running/{}", name_of(index, at));
        let claim = RefCell::new(None);
        files.made(&format!("{name}.held"), &|held| {
            claim.replace(Claim::ask(held)?);
            Ok(())
        })?;
        Ok(claim.into_inner().map(|claim| Attempt {
            at: (index, at),
            checkpoint: files.path(&name),
            claim,
        }))
    }
    /// Where the run of a part of a share keeps what it has.
    pub(super) fn of_piece(checkpoint: &Path) -> PathBuf {
        beside(checkpoint, PIECE)
    }
    /// Removes what all attempts of workers that do not live have kept: the share is done.
    pub(crate) fn end(self, files: &dyn Files) {
        self.discard();
        let Attempt {
            at: (index, own),
            claim,
            ..
        } = self;
        // What cannot be looked at takes room alone.
        let there = files.list("running").unwrap_or_default();
        let is_left = |at: &usize| {
            let name = name_of(index, *at);
            let mut rests = there.iter().filter_map(|file| file.strip_prefix(&*name));
            rests.any(|rest| rest.is_empty() || rest.starts_with('.') || rest.starts_with(PIECE))
        };
        for at in (0..MOST).filter(|at| *at != own).filter(is_left) {
            if let Ok(Some(lost)) = Attempt::ask(files, index, at) {
                lost.discard();
            }
        }
        drop(claim);
    }
    fn discard(&self) {
        partial::discard(&self.checkpoint);
        partial::discard(&Attempt::of_piece(&self.checkpoint));
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(suffix);
    name.into()
}
