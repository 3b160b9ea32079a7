//! Leases: who works on a share now. A lease is a file that its holder writes again and again; one
//! whose last beat is long ago belongs to a worker that was lost, and another takes it over.
//!
//! ```text
//! leases/000007      made only where it is not there: one worker has it
//!                    written again by its holder, a few times in the time of a lease
//!                    older than that: moved away, which succeeds for one worker, and made anew
//! ```
//!
//! Nothing depends on leases but time: a share is pure, and its part is put where there is none. Two
//! workers at one share compute the same bytes.

use super::files::Files;
use super::manifest::Manifest;
use serde::{Deserialize, Serialize};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;
use zipfold_core::{Budget, Result};

/// Beats in the time after which a lease is old.
const BEATS: u32 = 4;

/// A worker, by what tells it apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Who {
    /// Its machine.
    pub host: String,
    /// Its process there.
    pub process: u32,
    /// A number that no other worker has.
    pub number: String,
}

impl Who {
    /// This process.
    #[must_use]
    pub fn this() -> Self {
        Who {
            host: zipfold_io::store_files::host(),
            process: std::process::id(),
            number: format!("{:032x}", crate::partial::number()),
        }
    }
    /// A name for a file.
    #[must_use]
    pub fn name(&self) -> String {
        self.number.clone()
    }
}

/// The text of a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub who: Who,
    /// Workers that were lost at this share before.
    pub lost: u32,
    pub beat: u64,
}

impl Note {
    fn text(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
    pub(crate) fn read(files: &dyn Files, name: &str, budget: &Budget) -> Result<Option<Note>> {
        let bytes = files.get(name, budget)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}

/// The file of the lease of share `index`.
pub(crate) fn lease_name(index: usize) -> String {
    format!("leases/{}", Manifest::share_name(index))
}

/// A share that this worker has.
pub(crate) struct Lease {
    name: String,
    note: Note,
}

/// What came of the wish for a share.
pub(crate) enum LeaseAnswer {
    /// It is this worker's.
    Ours(Lease),
    /// Another worker is at it.
    Held,
}

impl Lease {
    /// Takes share `index`, unless another worker has had a beat within `life`.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn ask(
        files: &dyn Files,
        who: &Who,
        index: usize,
        life: Duration,
        budget: &Budget,
    ) -> Result<LeaseAnswer> {
        let name = lease_name(index);
        let mut note = Note {
            who: who.clone(),
            lost: 0,
            beat: 0,
        };
        if !files.put_new(&name, &note.text())? {
            let theirs = Note::read(files, &name, budget)?;
            // A store that fails after it has written says no to a second attempt.
            if theirs.as_ref().is_some_and(|theirs| theirs.who == *who) {
                return Ok(LeaseAnswer::Ours(Lease { name, note }));
            }
            if files.age(&name)?.is_some_and(|age| age < life) {
                return Ok(LeaseAnswer::Held);
            }
            // One worker alone moves the old lease away.
            let away = format!("clocks/{}.{}", Manifest::share_name(index), who.name());
            if files.take(&name, &away)? {
                let taken = Note::read(files, &away, budget)?;
                files.remove(&away)?;
                // Another worker was quicker since the look at the old one: its lease goes back.
                if let Some(taken) = taken.filter(|taken| theirs.as_ref() != Some(taken)) {
                    files.put_new(&name, &taken.text())?;
                    return Ok(LeaseAnswer::Held);
                }
                note.lost = theirs.map_or(0, |theirs| theirs.lost) + 1;
            }
            if !files.put_new(&name, &note.text())? {
                let theirs = Note::read(files, &name, budget)?;
                if theirs.is_none_or(|theirs| theirs.who != *who) {
                    return Ok(LeaseAnswer::Held);
                }
            }
        }
        Ok(LeaseAnswer::Ours(Lease { name, note }))
    }
    /// How many workers were lost at this share before.
    pub(crate) fn lost(&self) -> u32 {
        self.note.lost
    }
    /// Writes the lease, unless another worker has taken it over.
    fn beat(&mut self, files: &dyn Files, budget: &Budget) -> Result<bool> {
        let theirs = Note::read(files, &self.name, budget)?;
        if theirs.is_none_or(|theirs| theirs.who != self.note.who) {
            return Ok(false);
        }
        self.note.beat += 1;
        files.replace(&self.name, &self.note.text())?;
        Ok(true)
    }
    /// Does `work` while the lease is kept alive.
    pub(crate) fn during<T>(
        &mut self,
        files: &dyn Files,
        life: Duration,
        budget: &Budget,
        work: impl FnOnce() -> T,
    ) -> T {
        let (over, turn) = (Mutex::new(false), Condvar::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut guard = over.lock().unwrap_or_else(PoisonError::into_inner);
                while !*guard {
                    let waited = turn.wait_timeout(guard, life / BEATS);
                    guard = waited.unwrap_or_else(PoisonError::into_inner).0;
                    // A beat that fails is made up for by the next one, or the share is done twice.
                    if !*guard && matches!(self.beat(files, budget), Ok(false)) {
                        break;
                    }
                }
            });
            let end = End {
                over: &over,
                turn: &turn,
            };
            let result = work();
            drop(end);
            result
        })
    }
    /// Gives the share back, if it is still this worker's.
    pub(crate) fn end(self, files: &dyn Files, budget: &Budget) -> Result<()> {
        let theirs = Note::read(files, &self.name, budget)?;
        if theirs.is_some_and(|theirs| theirs.who == self.note.who) {
            files.remove(&self.name)?;
        }
        Ok(())
    }
}

/// Ends the beats, also where the work panics.
struct End<'a> {
    over: &'a Mutex<bool>,
    turn: &'a Condvar,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        *self.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.turn.notify_all();
    }
}
