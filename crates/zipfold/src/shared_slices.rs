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

use crate::partial::{open_sealed, seal};
use crate::slices::{Folded, RunKey, Slices};
use crate::store::kinds::{OF_SLICES, STAGE};
use crate::store::{
    DoneShare, Files, Folder, Lease, LeaseAnswer, Manifest, Patient, Predicted, Status, Who,
    done_name, part_name,
};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use zipfold_core::{Budget, Error, Opt, Result};
use zipfold_product::plan::Scalar;

const MAGIC: &[u8; 8] = b"ZFSLPRT\x01";
/// The version of the layout, and the file that makes a folder a store of slices.
const LAYOUT: u32 = 2;
const NAME: &str = OF_SLICES;
/// Predicted seconds of a share, and the slices that it has at most: a lost worker costs no more.
const SECONDS: f64 = 60.0;
const MOST: usize = 64;
/// What to do about a part that is not whole: a share whose part is there is done.
const AGAIN: &str = "remove this file, and ask the same question again";
/// Times between two looks at shares that others have.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The folder where processes share out the slices of an inference.
#[derive(Clone, Debug)]
pub struct SliceStore {
    /// The folder, which is made where it is not there.
    pub path: PathBuf,
    /// Time without a sign of life after which a process is taken to be lost.
    pub lease: Duration,
}

impl SliceStore {
    /// The store of one stage of several.
    pub(crate) fn of_stage(&self, stage: usize) -> Self {
        SliceStore {
            path: self.path.join(format!("{STAGE}{stage}")),
            lease: self.lease,
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
            .map_err(|e| Error::input(format!("the plan is damaged: {e}")).at_place(place()))?;
        if plan.layout != LAYOUT || !(1..=plan.slices.max(1)).contains(&plan.shares) {
            let what = format!("a store of slices of layout {}", plan.layout);
            let e = Error::input(what).at_place(place());
            return Err(e.limit(format!("layout {LAYOUT}")).remedy("another folder"));
        }
        Ok(Some(plan))
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
        let begin = |share: usize| self.slices * share / self.shares;
        begin(share)..begin(share + 1)
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
            (true, true) => return None,
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
        folder.make(NAME)?;
        let files = Patient::new(folder, 6, FIRST_PAUSE);
        let plan = self.agreed(&files, slices)?;
        let worker = SliceWorker {
            files: &files,
            plan,
            life: self.store.lease,
            slices,
            who,
        };
        let worked = worker.all(&one).and_then(|()| worker.merged(merge));
        // This process alone tells the time by it.
        let _ = files.remove(&Folder::clock_of(&worker.who.name()));
        worked
    }
    /// The plan of the store: this one, or that of the process that came first, which must be the
    /// same.
    fn agreed(&self, files: &dyn Files, slices: &Slices<'_>) -> Result<SlicePlan> {
        let machine = zipfold_cpu::detect(1, 0);
        let each = self.seconds / slices.many.max(1) as f64;
        let together = ((SECONDS / each.max(f64::MIN_POSITIVE)) as usize).clamp(1, MOST);
        // At least a share for each of some processes.
        let shares = slices.many.div_ceil(together).max(MOST.min(slices.many));
        let own = SlicePlan {
            layout: LAYOUT,
            version: env!("CARGO_PKG_VERSION").into(),
            key: self.key.clone(),
            arithmetic: machine.isa.name().into(),
            slices: slices.many,
            shares,
            seconds: self.seconds,
        };
        let text = serde_json::to_vec_pretty(&own).map_err(|e| Error::internal(e.to_string()))?;
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

/// A process at a store of slices.
struct SliceWorker<'a> {
    files: &'a dyn Files,
    plan: SlicePlan,
    life: Duration,
    slices: &'a Slices<'a>,
    who: Who,
}

impl SliceWorker<'_> {
    /// Works on shares until every part is there.
    fn all(&self, one: &(impl Fn(usize, usize) -> Result<Option<Folded>> + Sync)) -> Result<()> {
        let mut pause = FIRST_PAUSE;
        loop {
            let open = self.open()?;
            if open.is_empty() {
                return Ok(());
            }
            let mut moved = false;
            for share in open {
                moved |= self.share(share, one)?;
            }
            if moved {
                pause = FIRST_PAUSE;
            } else {
                std::thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE).min(self.life / 4);
            }
        }
    }
    /// The shares without a part. Processes begin at different places, so that they rarely meet.
    fn open(&self) -> Result<Vec<usize>> {
        let parts = self.files.list("parts")?;
        let open = |share: &usize| parts.binary_search(&Manifest::share_name(*share)).is_err();
        let mut left: Vec<usize> = (0..self.plan.shares).filter(open).collect();
        let first = u64::from_str_radix(&self.who.number[..15], 16).unwrap_or(0);
        if !left.is_empty() {
            let first = first as usize % left.len();
            left.rotate_left(first);
        }
        Ok(left)
    }
    /// Takes a share and computes it, unless another process is at it; whether its part is there.
    fn share(
        &self,
        share: usize,
        one: &(impl Fn(usize, usize) -> Result<Option<Folded>> + Sync),
    ) -> Result<bool> {
        let (files, budget) = (self.files, self.slices.budget);
        let is_there = || Ok(files.age(&part_name(share))?.is_some());
        if is_there()? {
            return Ok(true);
        }
        let mut lease = match Lease::ask(files, &self.who, share, self.life, budget)? {
            LeaseAnswer::Held => return Ok(false),
            LeaseAnswer::Ours(lease) => lease,
        };
        // It may have been done between the two looks.
        let done = match is_there()? {
            true => Ok(()),
            false => lease.during(files, self.life, budget, || self.compute(share, one)),
        };
        lease.end(files, budget)?;
        done.map(|()| true)
    }
    /// Computes the slices of a share, and puts them into the store.
    fn compute(
        &self,
        share: usize,
        one: &(impl Fn(usize, usize) -> Result<Option<Folded>> + Sync),
    ) -> Result<()> {
        let (start, range) = (Instant::now(), self.plan.range(share));
        let found = Mutex::new(vec![None; range.len()]);
        let held = Mutex::new(self.slices.budget.tab("the slices of a share"));
        let kept = |lane: usize, at: usize| {
            let Some(folded) = one(lane, range.start + at)? else {
                return Ok(None);
            };
            let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
            held.add(folded.bytes())?;
            found.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(folded);
            Ok(Some(Folded::one_slice(Scalar::ONE, vec![], vec![])))
        };
        let own = Slices {
            many: range.len(),
            kept: None,
            ..*self.slices
        };
        own.fold(kept, |all, more| all.done += more.done)?;
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let found: Vec<Folded> = found.into_iter().flatten().collect();
        let payload = postcard::to_stdvec(&found).map_err(|e| Error::internal(e.to_string()))?;
        let bytes = seal(MAGIC, &payload);
        self.files.put_new(&part_name(share), &bytes)?;
        let told = DoneShare {
            seconds: start.elapsed().as_secs_f64(),
            pairs: 0,
            bytes: bytes.len() as u64,
            host: self.who.host.clone(),
        };
        let text = serde_json::to_vec(&told).unwrap_or_default();
        self.files.replace(&done_name(share), &text)
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
            let found: Vec<Folded> = open_sealed(MAGIC, &bytes, &place).map_err(broken)?;
            if found.len() != self.plan.range(share).len() {
                let e = Error::input("the part does not hold the slices of its share");
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

/// How far the store of slices in the folder `root` is; none where it is none.
///
/// # Errors
/// Those of the store.
pub fn status(root: &Path, life: Duration, budget: &Budget) -> Result<Option<Status>> {
    let who = Who::this();
    let folder = Folder::new(root, &who.name());
    let plan = SlicePlan::read(&folder, budget)?;
    let status = plan.map(|plan| plan.status(&folder, life, budget));
    let status = status.transpose();
    // It told the ages of leases.
    let _ = folder.remove(&Folder::clock_of(&who.name()));
    status
}
