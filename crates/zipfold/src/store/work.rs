//! Workers: a share is taken, computed, put into the store, and the next one is taken, until none is
//! left. A share that fails is noted with its error, and the others go on.

use super::attempt::Attempt;
use super::bands::BandInputs;
use super::checkpoint::continued;
use super::files::Files;
use super::lease::{Lease, LeaseAnswer, Who};
use super::manifest::Manifest;
use super::squares::{SquareShare, SquaresOfStore};
use crate::identity::Key;
use crate::options::{Options, Target};
use crate::partial::{self, Partial};
use crate::planned_question::PlannedQuestion;
use crate::query::{Query, Ready};
use crate::runs::folder_of;
use crate::sharding;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use zipfold_core::message::Wording;
use zipfold_core::{Blame, Budget, Data, Error, Opt, Result};

/// A question with its data, as every worker and the merge have it.
#[derive(Debug)]
pub struct Loaded {
    /// The plan of the store.
    pub manifest: Manifest,
    /// Its data, unless shares read their own rows.
    pub data: Option<Data>,
    /// Its squares, where shares are made of them.
    pub(crate) squares: Option<SquaresOfStore>,
    /// What workers have of the inputs, where shares read their own rows of x.
    pub(crate) bands: Option<BandInputs>,
}

impl Loaded {
    /// The data of the question.
    ///
    /// # Errors
    /// `Internal` if they were left out.
    pub fn all_data(&self) -> Result<&Data> {
        self.data.as_ref().ok_or_else(no_rows)
    }
}

impl Loaded {
    /// The question about all rows, where each share reads all of them: neither ranges of squares nor
    /// the rows of its band.
    ///
    /// # Errors
    /// Those of planning.
    pub(super) fn ready<'a>(&'a self, options: &'a Options<'a>) -> Result<Option<Ready<'a>>> {
        match (&self.squares, &self.bands, &self.data) {
            (None, None, Some(data)) => {
                let query = Query::new(&self.manifest.problem, data, options);
                query.ready().map(Some)
            }
            _ => Ok(None),
        }
    }
}

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

/// A store whose shares have no rows.
fn no_rows() -> Error {
    Error::internal("a store without its data")
}

/// A worker at a store.
pub(crate) struct Worker<'a> {
    pub files: &'a dyn Files,
    pub loaded: &'a Loaded,
    pub options: &'a Options<'a>,
    pub habits: &'a Habits,
    pub who: Who,
    /// The question about all rows, where each share reads all of them.
    pub prepared: Option<PlannedQuestion<'a>>,
    /// How errors that are noted name options.
    pub wording: Wording,
}

impl Worker<'_> {
    /// Refuses to work where numbers would come about in another way than planned.
    pub(crate) fn check(&self) -> Result<()> {
        let manifest = &self.loaded.manifest;
        let key = match (&self.loaded.squares, manifest.squares, &self.prepared) {
            (Some(squares), Some(counts), _) => {
                self.of_squares(squares, Path::new("")).key(counts)?
            }
            (_, _, Some(prepared)) => prepared.key(manifest.shares),
            (_, _, None) => {
                let bands = self.loaded.bands.as_ref().ok_or_else(no_rows)?;
                let few = bands.to_plan(manifest, self.budget())?;
                let explained = Query::new(&manifest.problem, &few, self.options).explain()?;
                Key::of_plan(&explained.job, &explained.plan, manifest.shares)
            }
        };
        match key.difference(&manifest.key) {
            None => Ok(()),
            Some((what, here, planned)) => {
                let e = Error::request(format!(
                    "{what} is not the same: this worker has {here}, the store was planned with {planned}"
                ));
                Err(e.remedy(format!(
                    "workers of one version and device, or a new store planned with {} for all of them",
                    Opt::Set.like("isa=avx2")
                )))
            }
        }
    }
    /// Works on share `index` alone. One that has a worker is waited for, and taken over if the
    /// worker is lost: schedulers start a task again at once.
    pub(crate) fn single(&self, index: usize) -> Result<Worked> {
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
    pub(crate) fn all(&self) -> Result<Worked> {
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
        let shares = self.loaded.manifest.shares;
        let parts = self.files.list("parts")?;
        let open = |index: &usize| parts.binary_search(&Manifest::share_name(*index)).is_err();
        let mut left: Vec<usize> = (0..shares).filter(open).collect();
        let seed = u64::from_str_radix(&self.who.number[..15], 16).unwrap_or(0);
        if !left.is_empty() {
            let first = seed as usize % left.len();
            left.rotate_left(first);
        }
        Ok(left)
    }
    fn stop(&self) -> Result<()> {
        match self
            .options
            .stop
            .is_some_and(|stop| stop.load(Ordering::Relaxed))
        {
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
    fn budget(&self) -> &Budget {
        &self.options.budget
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
        let mut lease = match Lease::ask(self.files, &self.who, index, life, self.budget())? {
            LeaseAnswer::Held => return Ok(Came::Held),
            LeaseAnswer::Ours(lease) => lease,
        };
        // It may have been done between the two looks.
        if self.is_there(index)? {
            lease.end(self.files, self.budget())?;
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
            lease.end(self.files, self.budget())?;
            return noted.map(|()| Came::LeftAlone(error));
        }
        let done = lease.during(self.files, life, self.budget(), || self.compute(index));
        let came = match done {
            Ok(()) => Ok(Came::Done),
            Err(e) if e.blame() == Blame::Interrupted => Err(e),
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
        lease.end(self.files, self.budget())?;
        came
    }
    fn is_there(&self, index: usize) -> Result<bool> {
        Ok(self.files.age(&part_name(index))?.is_some())
    }
    fn failure(&self, index: usize) -> Result<Failure> {
        let bytes = self.files.get(&failed_name(index), self.budget())?;
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
    /// Computes share `index` and puts its part into the store.
    fn compute(&self, index: usize) -> Result<()> {
        let start = Instant::now();
        let attempt = Attempt::begin(self.files, index)?;
        let checkpoint = &attempt.checkpoint;
        let part = match &self.loaded.squares {
            Some(squares) => self.of_squares(squares, checkpoint).compute(index)?,
            None => self.tiles(index, checkpoint)?,
        };
        let bytes = partial::encode(&part)?;
        // A part names its matches, so they are there first.
        let matches = matches_name(index);
        self.files
            .made(&matches, &|path| part.write_matches(path))?;
        self.files.put_new(&part_name(index), &bytes)?;
        let told = DoneShare {
            seconds: start.elapsed().as_secs_f64(),
            pairs: part.pairs,
            bytes: bytes.len() as u64,
            host: self.who.host.clone(),
        };
        let text = serde_json::to_vec(&told).unwrap_or_default();
        self.files.replace(&done_name(index), &text)?;
        self.files.remove(&failed_name(index))?;
        attempt.end(self.files);
        Ok(())
    }
    /// What computes shares of squares, and keeps what it has at `checkpoint`.
    fn of_squares<'w>(
        &'w self,
        squares: &'w SquaresOfStore,
        checkpoint: &'w Path,
    ) -> SquareShare<'w> {
        SquareShare {
            files: self.files,
            problem: &self.loaded.manifest.problem,
            data: self.loaded.data.as_ref().filter(|_| !squares.are_enough()),
            manifest: &self.loaded.manifest,
            squares,
            options: self.options,
            checkpoint,
        }
    }
    /// Computes the tiles of share `index`.
    fn tiles(&self, index: usize, checkpoint: &Path) -> Result<Partial> {
        let manifest = &self.loaded.manifest;
        let shard = (index, manifest.shares);
        let own = match &self.prepared {
            Some(_) => None,
            None => {
                let bands = self.loaded.bands.as_ref().ok_or_else(no_rows)?;
                Some(bands.of_share(manifest, index, self.budget())?)
            }
        };
        let run = |resume: bool| {
            let options = Options {
                shard: Some(shard),
                checkpoint: Some(checkpoint.to_owned()),
                resume,
                ..self.options.clone()
            };
            // Next to the checkpoint.
            let target = Target::Runs(folder_of(checkpoint), None);
            let outcome = match (&self.prepared, &own) {
                (Some(prepared), _) => prepared.run(&target, &options)?,
                (None, Some(data)) => {
                    let query = Query::new(&manifest.problem, data, &options);
                    query.run_to(&target)?.outcome
                }
                (None, None) => return Err(no_rows()),
            };
            sharding::part(&manifest.problem, &outcome, shard)
        };
        let part = continued(checkpoint, self.budget(), run)?;
        match (&own, manifest.hashes.first()) {
            // It is a part of the question about all rows.
            (Some(_), Some((_, hash))) => Ok(Partial {
                identity: part.identity.of_all_x(hash),
                ..part
            }),
            _ => Ok(part),
        }
    }
}
