//! Workers: a share is taken, computed, put into the store, and the next one is taken, until none is
//! left. A share that fails is noted with its error, and the others go on.

use super::files::{Files, Folder};
use super::lease::{Lease, LeaseAnswer, Who};
use super::manifest::Manifest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use zipfold_core::message::Wording;
use zipfold_core::{Blame, Budget, Error, Opt, Result};

/// How a worker goes about shares.
#[derive(Clone, Debug)]
pub struct Habits {
    /// Time without a beat after which a worker is taken to be lost.
    pub lease: Duration,
    /// Times that a share may fail, or lose its worker, before it is left alone.
    pub retries: u32,
    /// Whether to wait for shares that others work on, to take over those of lost workers.
    pub waits: bool,
    /// Shares after which to stop.
    pub most: usize,
    /// Whether an error of a share ends the work, and is not noted for others.
    pub ends_at_failure: bool,
}

/// Times between two looks at shares that others have.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Time before a share that failed is tried again: what failed for a moment, such as a network, may be
/// there again.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

impl Default for Habits {
    fn default() -> Self {
        Habits {
            lease: Duration::from_secs(60),
            retries: 3,
            waits: true,
            most: usize::MAX,
            ends_at_failure: false,
        }
    }
}

/// What a worker has done.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Worked {
    /// The shares that it has put into the store, by number from 1.
    pub done: Vec<usize>,
    /// The ones that failed, with their errors.
    pub failed: Vec<(usize, String)>,
}

impl Worked {
    /// Notes the last error of a share.
    fn fail(&mut self, index: usize, error: String) {
        self.failed.retain(|(share, _)| *share != index + 1);
        self.failed.push((index + 1, error));
    }
}

/// What is known of a share that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Its number, from 1.
    pub share: usize,
    /// How often it failed. That a machine had no room for it does not count.
    pub times: u32,
    /// Whether the last machine had no room for it.
    #[serde(default)]
    pub no_room: bool,
    /// The last error.
    pub error: String,
    /// The machine that had it.
    pub host: String,
}

/// What a worker says of a share that is done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DoneShare {
    /// Seconds, reading and planning apart.
    pub seconds: f64,
    /// Pairs of the share.
    pub pairs: u64,
    /// Bytes of its part.
    pub bytes: u64,
    /// The machine that computed it.
    pub host: String,
}

/// Puts the part of a share into the store, and what is told of it: how long it took since `start`.
///
/// # Errors
/// Those of the store.
pub(crate) fn put_part(
    files: &dyn Files,
    (index, bytes): (usize, &[u8]),
    (start, pairs): (Instant, u64),
    who: &Who,
) -> Result<()> {
    files.put_new(&part_name(index), bytes)?;
    let told = DoneShare {
        seconds: start.elapsed().as_secs_f64(),
        pairs,
        bytes: bytes.len() as u64,
        host: who.host.clone(),
    };
    let text = serde_json::to_vec(&told).unwrap_or_default();
    files.replace(&done_name(index), &text)?;
    files.remove(&failed_name(index))?;
    Ok(())
}

pub(crate) fn part_name(index: usize) -> String {
    format!("parts/{}", Manifest::share_name(index))
}

/// What the runs of the matches of a part lie next to.
pub(crate) fn matches_name(index: usize) -> String {
    format!("matches/{}", Manifest::share_name(index))
}

pub(crate) fn failed_name(index: usize) -> String {
    format!("failed/{}", Manifest::share_name(index))
}

pub(crate) fn done_name(index: usize) -> String {
    format!("told/{}", Manifest::share_name(index))
}

/// What came of a share.
enum Came {
    /// This worker has done it.
    Done,
    /// It was done already.
    There,
    /// Another worker is at it.
    Held,
    /// It failed often enough, with this error.
    LeftAlone(String),
    Failed(String),
    /// This machine has no room for it, with this error. It does not count as a try: another worker may
    /// have enough.
    NoRoom(String),
}

/// A worker at a store.
pub(crate) struct Worker<'a> {
    pub files: &'a dyn Files,
    /// Shares of the store.
    pub shares: usize,
    pub habits: &'a Habits,
    pub who: Who,
    /// Set to stop the work.
    pub stop: Option<&'a AtomicBool>,
    pub budget: &'a Budget,
    /// How errors that are noted name options.
    pub wording: Wording,
    /// Computes a share and puts its part into the store.
    pub compute: &'a dyn Fn(usize) -> Result<()>,
}

impl Worker<'_> {
    /// Works on share `index` alone, or on shares until none is left.
    ///
    /// # Errors
    /// `Request` for a share that another worker has; those of the store; `Interrupted`.
    pub(crate) fn work(&self, index: Option<usize>) -> Result<Worked> {
        let worked = match index {
            Some(index) => self.single(index),
            None => self.all(),
        };
        // This worker alone asks for the time by it.
        let _ = self.files.remove(&Folder::clock_of(&self.who.name()));
        worked
    }
    /// Works on share `index` alone. One that has a worker is waited for, and taken over if the
    /// worker is lost: schedulers start a task again at once.
    fn single(&self, index: usize) -> Result<Worked> {
        let mut worked = Worked::default();
        let mut pause = FIRST_PAUSE;
        loop {
            match self.share(index, true)? {
                Came::Done => worked.done.push(index + 1),
                Came::There => {}
                Came::Failed(error) | Came::NoRoom(error) => {
                    worked.failed.push((index + 1, error));
                }
                Came::Held if self.habits.waits => {
                    self.wait(pause)?;
                    pause = self.longer(pause);
                    continue;
                }
                Came::Held | Came::LeftAlone(_) => {
                    let e = Error::request(format!("share {} has a worker", index + 1));
                    return Err(e.at_place(Opt::Share).remedy(
                        "another share; one whose worker is lost can be taken after the time of a lease",
                    ));
                }
            }
            return Ok(worked);
        }
    }
    /// The next pause between two looks.
    fn longer(&self, pause: Duration) -> Duration {
        (pause * 2).min(LONGEST_PAUSE).min(self.habits.lease / 4)
    }
    /// Works on shares until none is left.
    fn all(&self) -> Result<Worked> {
        let mut worked = Worked::default();
        let mut gave_up: Vec<usize> = vec![];
        // How often there was no room for a share here.
        let mut without_room: BTreeMap<usize, u32> = BTreeMap::new();
        let mut pause = FIRST_PAUSE;
        // Shares that were worked on here, well or not.
        let mut tried = 0;
        loop {
            let (mut moved, mut held, mut failed) = (false, false, false);
            for index in self.open()? {
                if tried >= self.habits.most {
                    return self.ended(worked);
                }
                if gave_up.contains(&index) {
                    continue;
                }
                self.stop()?;
                match self.share(index, false)? {
                    Came::Done => {
                        worked.done.push(index + 1);
                        (moved, tried) = (true, tried + 1);
                    }
                    Came::Held => held = true,
                    Came::There => moved = true,
                    Came::LeftAlone(error) => {
                        gave_up.push(index);
                        worked.fail(index, error);
                    }
                    Came::NoRoom(error) => {
                        worked.fail(index, error);
                        (failed, tried) = (true, tried + 1);
                        let times = without_room.entry(index).or_default();
                        *times += 1;
                        if *times >= self.habits.retries {
                            gave_up.push(index);
                        }
                    }
                    Came::Failed(error) => {
                        worked.fail(index, error);
                        (failed, tried) = (true, tried + 1);
                    }
                }
            }
            if moved || failed {
                pause = FIRST_PAUSE;
                if failed && tried < self.habits.most {
                    self.wait(AFTER_FAILURE)?;
                }
                continue;
            }
            if !held || !self.habits.waits {
                return self.ended(worked);
            }
            self.wait(pause)?;
            pause = self.longer(pause);
        }
    }
    /// What this worker did. A share that failed here, and that another one has done, has not failed.
    fn ended(&self, worked: Worked) -> Result<Worked> {
        let mut failed = worked.failed;
        if !failed.is_empty() {
            let open = self.open()?;
            failed.retain(|(share, _)| open.contains(&(share - 1)));
        }
        Ok(Worked { failed, ..worked })
    }
    /// The shares without a part. Workers begin at different places, so that they rarely meet.
    fn open(&self) -> Result<Vec<usize>> {
        let parts = self.files.list("parts")?;
        let open = |index: &usize| parts.binary_search(&Manifest::share_name(*index)).is_err();
        let mut left: Vec<usize> = (0..self.shares).filter(open).collect();
        let seed = u64::from_str_radix(&self.who.number[..15], 16).unwrap_or(0);
        if !left.is_empty() {
            let first = seed as usize % left.len();
            left.rotate_left(first);
        }
        Ok(left)
    }
    fn stop(&self) -> Result<()> {
        match self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            true => Err(Error::new(Blame::Interrupted, "interrupted")),
            false => Ok(()),
        }
    }
    /// Waits for others.
    fn wait(&self, pause: Duration) -> Result<()> {
        let end = Instant::now() + pause;
        while Instant::now() < end {
            self.stop()?;
            std::thread::sleep(FIRST_PAUSE.min(pause));
        }
        Ok(())
    }
    /// Takes share `index` and computes it; one that was `asked` for by its number is computed
    /// however often it failed.
    fn share(&self, index: usize, asked: bool) -> Result<Came> {
        if self.is_there(index)? {
            return Ok(Came::There);
        }
        let failure = self.failure(index)?;
        if !asked && failure.times >= self.habits.retries {
            return Ok(Came::LeftAlone(failure.error));
        }
        let life = self.habits.lease;
        let mut lease = match Lease::ask(self.files, &self.who, index, life, self.budget)? {
            LeaseAnswer::Held => return Ok(Came::Held),
            LeaseAnswer::Ours(lease) => lease,
        };
        // It may have been done between the two looks.
        if self.is_there(index)? {
            lease.end(self.files, self.budget)?;
            return Ok(Came::There);
        }
        if !asked && lease.lost() >= self.habits.retries {
            let times = lease.lost();
            let error = format!("its worker was lost {times} times");
            let failure = Failure {
                times,
                no_room: false,
                ..failure
            };
            let noted = self.note_failure(index, failure, &error);
            lease.end(self.files, self.budget)?;
            return noted.map(|()| Came::LeftAlone(error));
        }
        let done = lease.during(self.files, life, self.budget, || (self.compute)(index));
        let came = match done {
            Ok(()) => Ok(Came::Done),
            Err(e) if e.blame() == Blame::Interrupted || self.habits.ends_at_failure => Err(e),
            Err(e) => {
                let error = e.told(self.wording);
                let no_room = e.blame() == Blame::Resource;
                let failure = Failure {
                    times: failure.times + u32::from(!no_room),
                    no_room,
                    ..failure
                };
                let noted = self.note_failure(index, failure, &error);
                noted.map(|()| match no_room {
                    true => Came::NoRoom(error),
                    false => Came::Failed(error),
                })
            }
        };
        // Also where a full store took no note: a lease that stays looks like a lost worker.
        lease.end(self.files, self.budget)?;
        came
    }
    fn is_there(&self, index: usize) -> Result<bool> {
        Ok(self.files.age(&part_name(index))?.is_some())
    }
    fn failure(&self, index: usize) -> Result<Failure> {
        let bytes = self.files.get(&failed_name(index), self.budget)?;
        let known = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Ok(known.unwrap_or_default())
    }
    fn note_failure(&self, index: usize, failure: Failure, error: &str) -> Result<()> {
        let failure = Failure {
            share: index + 1,
            error: error.to_string(),
            host: self.who.host.clone(),
            ..failure
        };
        let text = serde_json::to_vec(&failure).unwrap_or_default();
        self.files.replace(&failed_name(index), &text)
    }
}

/// The refusal to merge without some shares of a store with the plan `name`, which can be merged
/// `partly` or not.
///
/// # Errors
/// Those of the store.
pub(crate) fn lacking(
    (files, name): (&dyn Files, &str),
    (missing, shares): (&[usize], usize),
    partly: bool,
    budget: &Budget,
) -> Result<Error> {
    let failed = files.list("failed")?;
    let mut failed_ones = missing.to_vec();
    failed_ones.retain(|n| failed.binary_search(&Manifest::share_name(n - 1)).is_ok());
    let mut what = format!(
        "{} of {shares} shares are there: missing {}",
        shares - missing.len(),
        crate::sharding::ranges_of(missing)
    );
    if let Some(first) = failed_ones.first() {
        let text = files.get(&failed_name(first - 1), budget)?;
        let failure = serde_json::from_slice::<Failure>(&text.unwrap_or_default());
        let error = failure.map_or(String::new(), |failure| failure.error);
        // Its remedy is on a line of its own, which a status shows.
        let error = error.lines().next().unwrap_or_default();
        let numbers = crate::sharding::ranges_of(&failed_ones);
        what += &format!("; failed {numbers}, share {first} with: {error}");
    }
    let e = Error::request(what).at_place(files.path(name).to_string_lossy().into_owned());
    Ok(match partly && missing.len() < shares {
        false => e.remedy("have workers do these shares"),
        true => e.remedy(format!(
            "have workers do these shares, or {} for what is there",
            Opt::Incomplete
        )),
    })
}
