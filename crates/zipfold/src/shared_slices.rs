//! Slices of a sum-product in shares: any number of processes that ask the same question over one
//! folder share out its slices, and each of them ends with the answer.
//!
//! ```text
//! slices.json        the question and its plan as a key, and into how many shares slices are cut
//! leases/ parts/ …   as in every store
//!
//! until every part is there
//!     take a share: compute its slices, and put them one by one, not yet added
//! add the slices of all parts in their order: the bits of one process
//! ```

use crate::partial::{is_there, keep, open_sealed, read_sealed, seal};
use crate::sliced_plan::SlicedPlan;
use crate::slices::{Folded, RunKey, Slices};
use crate::store::kinds::{ANEW, OF_SLICES, QUESTION, STAGE, last_stage, taken};
use crate::store::{
    Attempt, Files, Folder, Habits, Manifest, Patient, Predicted, Status, Who, Worked, Worker,
    index_of, lacking, part_name, put_part,
};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use twox_hash::XxHash3_64;
use zipfold_core::message::{Wording, keys};
use zipfold_core::{Blame, Budget, Error, Opt, Result};
use zipfold_product::plan::Scalar;

const MAGIC: &[u8; 8] = b"ZFSLPRT\x02";
/// The version of the layout, and the file that makes a folder a store of slices.
const LAYOUT: u32 = 3;
const NAME: &str = OF_SLICES;
/// Predicted seconds of a share, and the slices that it has at most: a lost worker costs no more.
const SECONDS: f64 = 60.0;
const MOST: usize = 64;
/// Shares that a planned store may have: names have six digits.
const MOST_SHARES: usize = 999_999;
/// The part of the memory that the slices of a share may take.
const PART_OF_MEMORY: u64 = 8;
/// Time between two checkpoints inside a share.
const EVERY: Duration = Duration::from_secs(10);
/// What to do about a part that is not whole: a share whose part is there is done.
const AGAIN: &str =
    "remove this file, and ask the same question again, or have workers do its share again";
/// Time before a call of a folder that fails is tried again.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// What a process does at a store.
#[derive(Clone, Debug, Default)]
pub(crate) enum Role {
    /// Works on shares until all are done, and answers.
    #[default]
    Answer,
    /// Makes the plan, of this number of shares if that is said, and puts the question into the store.
    Plan(Option<usize>, Arc<StoredQuestion>),
    /// Works on shares alone.
    Work(Arc<Order>),
    /// Answers from the parts that are there, which are all.
    Merge,
}

/// A question as a store keeps it.
#[derive(Debug)]
pub(crate) struct StoredQuestion {
    pub(crate) bytes: Vec<u8>,
    /// A hash of them, by which the files of two planners have two names.
    pub(crate) hash: String,
}

/// What a worker is to do, and what it has done.
#[derive(Debug)]
pub(crate) struct Order {
    /// A share; shares until none is left if that is not said.
    pub(crate) share: Option<usize>,
    pub(crate) habits: Habits,
    /// Time between two checkpoints inside a share.
    pub(crate) every: Duration,
    /// How errors that are noted name options.
    pub(crate) wording: Wording,
    /// None before it has come to the shares.
    pub(crate) worked: Mutex<Option<Worked>>,
}

/// The folder where processes share out the slices of an inference.
#[derive(Clone, Debug)]
pub struct SliceStore {
    /// The folder, which is made where it is not there.
    path: PathBuf,
    /// Time without a sign of life after which a process is taken to be lost.
    lease: Duration,
    role: Role,
    /// The plan, where it is made.
    planned: Option<Arc<SlicedPlan>>,
}

impl SliceStore {
    /// The store in the folder `path`, at which every process ends with the answer. A process is
    /// taken to be lost when it gave no sign of life for the time of a `lease`.
    #[must_use]
    pub fn new(path: PathBuf, lease: Duration) -> Self {
        SliceStore {
            path,
            lease,
            role: Role::Answer,
            planned: None,
        }
    }
    /// The same, for a process with another role and the plan that it is to follow, if there is one.
    pub(crate) fn with(self, role: Role, planned: Option<Arc<SlicedPlan>>) -> Self {
        SliceStore {
            role,
            planned,
            ..self
        }
    }
    /// Whether a plan is made here alone.
    pub(crate) fn is_planned_alone(&self) -> bool {
        matches!(self.role, Role::Plan(..))
    }
    /// The plan that is followed.
    pub(crate) fn planned(&self) -> Option<&SlicedPlan> {
        self.planned.as_deref()
    }
    /// The store of one stage of several.
    pub(crate) fn of_stage(&self, stage: usize) -> Self {
        SliceStore {
            path: self.path.join(format!("{STAGE}{stage}")),
            ..self.clone()
        }
    }
}

/// What all processes at a store agree on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlicePlan {
    layout: u32,
    /// The version of zipfold.
    version: String,
    /// What is run.
    key: RunKey,
    /// The instruction set, on which bits depend.
    arithmetic: String,
    /// How many slices there are.
    slices: usize,
    /// Into how many shares they are cut.
    shares: usize,
    /// Predicted seconds of all.
    seconds: f64,
    /// The hash of the question, where it is in the store.
    #[serde(default)]
    question: Option<String>,
}

impl SlicePlan {
    /// The plan in a folder; none where the folder has another kind of store, or nothing.
    ///
    /// # Errors
    /// `Input` when it is damaged or of another layout; those of the store.
    pub(crate) fn read(files: &dyn Files, budget: &Budget) -> Result<Option<Self>> {
        let Some(bytes) = files.get(NAME, budget)? else {
            return Ok(None);
        };
        let place = || files.path(NAME).to_string_lossy().into_owned();
        let plan: SlicePlan = serde_json::from_slice(&bytes)
            .map_err(|e| damaged(&e.to_string()).at_place(place()))?;
        if plan.layout == LAYOUT && !(1..=plan.slices.max(1)).contains(&plan.shares) {
            let what = format!("{} shares of {} slices", plan.shares, plan.slices);
            return Err(damaged(&what).at_place(place()));
        }
        if plan.layout != LAYOUT {
            let what = format!("a store of slices of layout {}", plan.layout);
            let e = Error::input(what).at_place(place());
            return Err(e.limit(format!("layout {LAYOUT}")).remedy("another folder"));
        }
        Ok(Some(plan))
    }
    /// Whether this ended a process because its plan was made.
    pub(crate) fn has_planned(e: &Error) -> bool {
        e.blame() == Blame::Interrupted && e.what().marked() == ENDED
    }
    /// The hash of the question, where workers have it from the store.
    pub(crate) fn question(&self) -> Option<&str> {
        self.question.as_deref()
    }
    /// How many shares there are.
    #[must_use]
    pub fn shares(&self) -> usize {
        self.shares
    }
    /// How many slices there are.
    #[must_use]
    pub fn slices(&self) -> usize {
        self.slices
    }
    /// Predicted seconds of all.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.seconds
    }
    /// How far the store is.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn status(
        &self,
        files: &dyn Files,
        life: Duration,
        budget: &Budget,
    ) -> Result<Status> {
        let predicted = Predicted {
            seconds: self.seconds,
            share_seconds: self.seconds / self.shares as f64,
            ..Predicted::default()
        };
        Status::read(files, (self.shares, &predicted), life, budget)
    }
    /// The slices of a share.
    fn range(&self, share: usize) -> Range<usize> {
        let (slices, shares) = (self.slices as u128, self.shares as u128);
        // At most the number of slices.
        let begin = |share: usize| (slices * share as u128 / shares) as usize;
        begin(share)..begin(share + 1)
    }
    /// What a part and a checkpoint of a share say of the question, the cut and the share: those of others are
    /// refused.
    fn of_share(&self, share: usize) -> String {
        let (key, shares, slices) = (self.key.text(), self.shares, self.slices);
        let text = format!("{key}; share {share} of {shares} over {slices} slices");
        format!("{:016x}", XxHash3_64::oneshot(text.as_bytes()))
    }
    /// What differs from `other`, if anything does, and how where there are words for it.
    fn difference(&self, other: &Self) -> Option<String> {
        let words = |plan: &'_ Self| {
            [
                ("the version of zipfold", plan.version.clone()),
                ("the task", plan.key.asked.clone()),
                ("the instruction set", plan.arithmetic.clone()),
            ]
        };
        let both = words(self).into_iter().zip(words(other));
        let mut odd = both.filter(|(mine, theirs)| mine.1 != theirs.1);
        if let Some(((what, here), (_, there))) = odd.next() {
            return Some(format!(
                "{what} is not the same: this process has {here}, the store was begun with {there}"
            ));
        }
        let what = match (
            self.key.plan == other.key.plan,
            self.key.tables == other.key.tables,
        ) {
            (true, true) if self.slices == other.slices => return None,
            (true, true) => "the slices are",
            (true, false) => "the numbers of the network or the evidence are",
            (false, _) => "the variables of the network, their order or the slices are",
        };
        Some(format!("{what} not those that the store was begun with"))
    }
}

/// An inference whose slices are shared out.
pub(crate) struct SharedRun<'a> {
    pub(crate) store: &'a SliceStore,
    /// What is run.
    pub(crate) key: RunKey,
    /// Predicted seconds of all slices.
    pub(crate) seconds: f64,
    /// The plan, where there is one that other processes can follow.
    pub(crate) plan: &'a dyn Fn() -> Option<SlicedPlan>,
    /// Bytes of what a slice gives.
    pub(crate) slice_bytes: u64,
}

impl SharedRun<'_> {
    /// What [`Slices::fold`] gives, by all processes at the store together.
    ///
    /// # Errors
    /// As [`Slices::fold`]; `Request` for a store of another question, or of another plan; those of
    /// the store.
    pub(crate) fn fold(
        &self,
        slices: &Slices<'_>,
        one: impl Fn(usize, usize) -> Result<Option<Folded>> + Sync,
        merge: impl Fn(&mut Folded, Folded) + Send,
    ) -> Result<Folded> {
        let who = Who::this();
        let folder = Folder::new(&self.store.path, &who.name());
        if let Role::Plan(..) = &self.store.role {
            // A refusal leaves nothing.
            self.shares(slices)?;
            slices.check_stop()?;
        }
        folder.make(NAME)?;
        let files = Patient::new(folder, 6, FIRST_PAUSE);
        let plan = self.agreed(&files, slices)?;
        let shares = SliceShares {
            files: &files,
            plan,
            slices,
            who,
        };
        match &self.store.role {
            Role::Plan(..) => Err(ended()),
            Role::Merge => shares.all_there().and_then(|()| shares.merged(merge)),
            Role::Answer => {
                let habits = Habits {
                    lease: self.store.lease,
                    // Another process may have room, or what it lacked.
                    retries: u32::MAX,
                    ends_at_failure: true,
                    ..Habits::default()
                };
                shares.work((None, &habits, keys), EVERY, &one)?;
                shares.merged(merge)
            }
            Role::Work(order) => {
                let index = order.share.map(|number| shares.index(number)).transpose()?;
                let worked =
                    shares.work((index, &order.habits, order.wording), order.every, &one)?;
                *order.worked.lock().unwrap_or_else(PoisonError::into_inner) = Some(worked);
                Err(ended())
            }
        }
    }
    /// Into how many shares the slices are cut.
    ///
    /// # Errors
    /// `Request` for a number that they do not give, or whose parts are beyond the memory.
    fn shares(&self, slices: &Slices<'_>) -> Result<usize> {
        let many = slices.many;
        let room = slices.budget.limit() / PART_OF_MEMORY / self.slice_bytes.max(1);
        let room = usize::try_from(room).unwrap_or(usize::MAX).max(1);
        let each = self.seconds / many.max(1) as f64;
        let minute = (SECONDS / each.max(f64::MIN_POSITIVE)) as usize;
        let (least, most) = (many.div_ceil(room), many.min(MOST_SHARES));
        match self.store.role {
            Role::Plan(Some(shares), _) if (least..=most).contains(&shares) => Ok(shares),
            Role::Plan(Some(shares), _) => {
                let e = Error::request(format!("expected shares, got {shares}"));
                let limit = format!(
                    "{least} to {most}: there are {many} slices, and a share has those of an eighth of the memory"
                );
                let e = e.at_place(Opt::Shares).limit(limit);
                Err(e.remedy(format!("leave it out, or more {}", Opt::Memory)))
            }
            Role::Plan(None, _) if least > most => {
                let e = Error::resource(format!("{many} slices take more than {most} shares"));
                Err(e.remedy(format!("more {}", Opt::Memory)))
            }
            Role::Plan(None, _) => Ok(many.div_ceil(minute.clamp(1, room)).min(most)),
            Role::Answer | Role::Work(_) | Role::Merge => {
                let together = minute.clamp(1, MOST.min(room));
                // At least a share for each of some processes.
                Ok(many.div_ceil(together).max(MOST.min(many)))
            }
        }
    }
    /// The plan of the store: this one, or that of the process that came first, which must be the
    /// same.
    fn agreed(&self, files: &dyn Files, slices: &Slices<'_>) -> Result<SlicePlan> {
        let machine = zipfold_cpu::detect(1, 0);
        let own = SlicePlan {
            layout: LAYOUT,
            version: env!("CARGO_PKG_VERSION").into(),
            key: self.key.clone(),
            arithmetic: machine.isa.name().into(),
            slices: slices.many,
            shares: self.shares(slices)?,
            seconds: self.seconds,
            question: match &self.store.role {
                Role::Plan(_, question) => Some(question.hash.clone()),
                Role::Answer | Role::Work(_) | Role::Merge => None,
            },
        };
        let text = serde_json::to_vec_pretty(&own).map_err(|e| Error::internal(e.to_string()))?;
        if let Role::Plan(_, question) = &self.store.role {
            let plan = (self.plan)().ok_or_else(|| Error::internal("slices without a plan"))?;
            files.put_new(&format!("{QUESTION}{}", question.hash), &question.bytes)?;
            plan.put(files, &question.hash)?;
            return match files.put_new(NAME, &text)? {
                true => Ok(own),
                false => Err(taken(&self.store.path)),
            };
        }
        if files.put_new(NAME, &text)? {
            return Ok(own);
        }
        let kept = SlicePlan::read(files, slices.budget)?;
        let kept = kept.ok_or_else(|| Error::input("the plan of the store is gone"))?;
        match own.difference(&kept) {
            None => Ok(kept),
            Some(what) => {
                let e = Error::request(what).at_place(files.path(NAME).to_string_lossy());
                Err(e.remedy(format!(
                    "the same question with the same {} on all machines, or another folder with {}",
                    Opt::Memory,
                    Opt::Store
                )))
            }
        }
    }
}

/// The refusal of a question that one process answers.
pub(crate) fn whole() -> Error {
    let what = "expected an inference whose plan has slices, got one that has none to share out";
    Error::request(what).remedy(format!("answer it in one process, or less {}", Opt::Memory))
}

/// What ends a process that has no answer to give.
const ENDED: &str = "shares are planned or computed here, and give no answer";

fn ended() -> Error {
    Error::new(Blame::Interrupted, ENDED)
}

/// The shares of a store of slices.
struct SliceShares<'a> {
    files: &'a dyn Files,
    plan: SlicePlan,
    slices: &'a Slices<'a>,
    who: Who,
}

impl SliceShares<'_> {
    /// The index of share `number`.
    fn index(&self, number: usize) -> Result<usize> {
        index_of(number, self.plan.shares)
    }
    /// Refuses to answer while parts are missing.
    fn all_there(&self) -> Result<()> {
        let there = self.files.list("parts")?;
        let is_missing =
            |index: &usize| there.binary_search(&Manifest::share_name(*index)).is_err();
        let missing = (0..self.plan.shares)
            .filter(is_missing)
            .map(|index| index + 1);
        let missing: Vec<usize> = missing.collect();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(lacking(
                (self.files, NAME),
                (&missing, self.plan.shares),
                false,
                self.slices.budget,
            )?),
        }
    }
    /// Works on a share, or on shares until none is left.
    fn work(
        &self,
        (index, habits, wording): (Option<usize>, &Habits, Wording),
        every: Duration,
        one: &(impl Fn(usize, usize) -> Result<Option<Folded>> + Sync),
    ) -> Result<Worked> {
        let worker = Worker {
            files: self.files,
            shares: self.plan.shares,
            habits,
            who: self.who.clone(),
            stop: self.slices.stop,
            budget: self.slices.budget,
            wording,
            compute: &|share| self.compute(share, every, one),
        };
        worker.work(index)
    }
    /// Computes the slices of a share, and puts them into the store. The ones that are done are kept from
    /// time to time and at an error or an interruption, and the next worker goes on from there.
    fn compute(
        &self,
        share: usize,
        every: Duration,
        one: &(impl Fn(usize, usize) -> Result<Option<Folded>> + Sync),
    ) -> Result<()> {
        let (start, range) = (Instant::now(), self.plan.range(share));
        let attempt = Attempt::begin(self.files, share)?;
        let mut held = self.slices.budget.tab("the slices of a share");
        let slices = self.resumed((share, &attempt), range.len());
        held.add((slices.len() * size_of::<Option<Folded>>()) as u64)?;
        held.add(slices.iter().flatten().map(Folded::bytes).sum())?;
        let is_left = |at: &usize| slices[*at].is_none();
        let left: Vec<usize> = (0..range.len()).filter(is_left).collect();
        let found = Mutex::new((slices, held, Instant::now()));
        let kept = |lane: usize, at: usize| {
            let at = left[at];
            let Some(folded) = one(lane, range.start + at)? else {
                return Ok(None);
            };
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            let (slices, held, saved) = &mut *found;
            held.add(folded.bytes())?;
            slices[at] = Some(folded);
            if saved.elapsed() >= every {
                self.keep((share, &attempt), slices);
                *saved = Instant::now();
            }
            Ok(Some(Folded::one_slice(Scalar::ONE, vec![], vec![])))
        };
        let own = Slices {
            many: left.len(),
            kept: None,
            ..*self.slices
        };
        let done = match left.is_empty() {
            true => Ok(()),
            false => own.fold(kept, |all, more| all.done += more.done).map(drop),
        };
        let (found, _held, _) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Err(e) = done {
            self.keep((share, &attempt), &found);
            return Err(e);
        }
        let found: Vec<Folded> = found.into_iter().flatten().collect();
        self.put(share, &found, start)?;
        attempt.end(self.files);
        Ok(())
    }
    /// Puts the part of a share into the store, which took the time since `start`.
    fn put(&self, share: usize, found: &[Folded], start: Instant) -> Result<()> {
        let payload = postcard::to_stdvec(&(self.plan.of_share(share), found));
        let bytes = seal(MAGIC, &payload.map_err(|e| Error::internal(e.to_string()))?);
        put_part(self.files, (share, &bytes), (start, 0), &self.who)
    }
    /// Keeps the slices of a share that are done. Where that fails, they are computed again.
    fn keep(&self, (share, attempt): (usize, &Attempt), found: &[Option<Folded>]) {
        if found.iter().all(Option::is_none) {
            return;
        }
        let kept = (self.plan.of_share(share), found);
        if let Err(e) = keep(MAGIC, &attempt.checkpoint, &kept) {
            let what = e.what().marked();
            let text = format!("no checkpoint: {what}; the slices since the last one are lost");
            self.slices.warnings.add(text);
        }
    }
    /// The slices of a share that an interrupted worker has kept; none that cannot be read.
    fn resumed(&self, (share, attempt): (usize, &Attempt), slices: usize) -> Vec<Option<Folded>> {
        type Kept = (String, Vec<Option<Folded>>);
        let path = &attempt.checkpoint;
        let kept: Option<Kept> = match is_there(path) {
            Ok(true) => read_sealed(MAGIC, path, self.slices.budget).ok(),
            _ => None,
        };
        let is_own = |kept: &Kept| kept.0 == self.plan.of_share(share) && kept.1.len() == slices;
        let kept = kept.filter(is_own).map(|kept| kept.1);
        kept.unwrap_or_else(|| vec![None; slices])
    }
    /// The slices of all parts, added in their order.
    fn merged(&self, merge: impl Fn(&mut Folded, Folded)) -> Result<Folded> {
        let budget = self.slices.budget;
        let mut all: Option<Folded> = None;
        for share in 0..self.plan.shares {
            let name = part_name(share);
            let place = self.files.path(&name).to_string_lossy().into_owned();
            let bytes = self.files.get(&name, budget)?;
            let broken = |e: Error| e.at_place(place.clone()).remedy(AGAIN);
            let bytes = bytes.ok_or_else(|| {
                let e = Error::request("the part was removed meanwhile");
                e.at_place(place.clone())
                    .remedy("ask the same question again")
            })?;
            let _held = budget.reserve(bytes.len() as u64 * 4, "the slices of a share")?;
            let (of, found): (String, Vec<Folded>) =
                open_sealed(MAGIC, &bytes, &place).map_err(broken)?;
            if of != self.plan.of_share(share) || found.len() != self.plan.range(share).len() {
                let e = Error::input("the part is one of another question, or of another share");
                return Err(broken(e));
            }
            for slice in found {
                match &mut all {
                    None => all = Some(slice),
                    Some(all) => merge(all, slice),
                }
            }
        }
        all.ok_or_else(|| Error::internal("a plan without slices"))
    }
}

fn damaged(what: &str) -> Error {
    Error::input(format!("the plan is damaged: {what}")).remedy(ANEW)
}

/// How far the store of slices in the folder `root` is, at its last stage if it has stages; none where it
/// is none.
///
/// # Errors
/// Those of the store.
pub fn status(root: &Path, life: Duration, budget: &Budget) -> Result<Option<Status>> {
    let who = Who::this();
    let folder = Folder::new(root, &who.name());
    let plan = SlicePlan::read(&folder, budget)?;
    if plan.is_none()
        && let Some(stage) = last_stage(root)
    {
        let _ = folder.remove(&Folder::clock_of(&who.name()));
        return status(&stage, life, budget);
    }
    let status = plan.map(|plan| plan.status(&folder, life, budget));
    let status = status.transpose();
    // It told the ages of leases.
    let _ = folder.remove(&Folder::clock_of(&who.name()));
    status
}
