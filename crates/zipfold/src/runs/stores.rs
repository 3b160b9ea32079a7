//! The runs of the joins of one job: matches go there when memory holds no more of them.

use super::facts::RunFacts;
use super::merge::{MatchRuns, in_memory};
use super::records::RecordForm;
use crate::written::rows_at_once;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use zipfold_core::fold::{Grouped, GroupedState, JoinState, Kept, State};
use zipfold_core::{Budget, Error, Job, Opt, Result};
use zipfold_io::runs::{RunFile, RunFolder, RunWriter};
use zipfold_plan::Plan;

/// Bytes of matches that the file of a part holds itself.
pub(crate) const HELD_BY_PART: u64 = 1 << 21;

/// Where runs of a job lie, and whose they are.
#[derive(Clone, Debug)]
pub(crate) struct RunPlace {
    /// The folder, made when the first run is written.
    pub(crate) folder: PathBuf,
    /// The file that the matches are written to in the end, if it is known.
    pub(crate) output: Option<String>,
    /// The file that refers to the runs: the folder stays while it is there.
    pub(crate) owner: Option<PathBuf>,
    /// The identity of the runs.
    pub(crate) identity: u128,
}

/// The runs of the joins of a job.
#[derive(Debug)]
pub(crate) struct MatchStores {
    /// By fold: how its matches are written, if they are.
    forms: Vec<Option<RecordForm>>,
    /// By fold: the parts whose matches it has, if it has parts.
    grouped: Vec<Option<Grouped>>,
    place: Option<RunPlace>,
    held: Mutex<Option<Arc<RunFolder>>>,
    /// The number of the next run.
    next: AtomicUsize,
    /// Matches in runs so far.
    written: AtomicU64,
    budget: Budget,
    /// What is free for the output: what is free before the work.
    free: u64,
    /// Rows of x.
    rows: usize,
}

impl MatchStores {
    /// The stores of the joins of `job`, without a run; none of them writes without a place.
    pub(crate) fn new(job: &Job, place: Option<RunPlace>, budget: &Budget) -> Self {
        let form = |fold| RecordForm::of_fold(fold, job).filter(|_| place.is_some());
        MatchStores {
            forms: job.folds.iter().map(form).collect(),
            grouped: job
                .folds
                .iter()
                .map(|fold| fold.grouped().cloned())
                .collect(),
            place,
            held: Mutex::default(),
            next: AtomicUsize::new(1),
            written: AtomicU64::new(0),
            free: budget.free(),
            rows: job.space.n,
            budget: budget.clone(),
        }
    }
    /// Goes on with the runs that a checkpoint names, by fold.
    ///
    /// # Errors
    /// `Request` where they are not the ones that the run wrote.
    pub(crate) fn recall(&self, runs: &[Vec<RunFacts>]) -> Result<()> {
        let names: Vec<String> = runs.iter().flatten().map(|run| run.name.clone()).collect();
        let Some(place) = self.place.as_ref().filter(|_| !names.is_empty()) else {
            return Ok(());
        };
        let changed = |e: Error| {
            let again = Error::request(format!(
                "the matches of the checkpoint: {}",
                e.what().marked()
            ));
            let again = again.at_place(place.folder.to_string_lossy());
            again.remedy(format!("run it without {} to start again", Opt::Resume))
        };
        let folder = RunFolder::hold(&place.folder, &names, place.owner.as_deref())?;
        for (form, runs) in self.forms.iter().zip(runs) {
            for run in runs {
                let form =
                    form.ok_or_else(|| Error::internal("a run of a fold without matches"))?;
                if run.identity != place.identity {
                    return Err(changed(Error::input("they belong to another run")));
                }
                run.open(&place.folder, form, &self.budget)
                    .map_err(changed)?;
            }
        }
        let last = |name: &String| name.rsplit('-').next()?.parse::<usize>().ok();
        let last = names.iter().filter_map(last).max().unwrap_or(0);
        self.next.store(last + 1, Ordering::Relaxed);
        let written = runs.iter().flatten().map(|run| run.records).sum();
        self.written.store(written, Ordering::Relaxed);
        *self.lock() = Some(Arc::new(folder));
        Ok(())
    }
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<RunFolder>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// The refusal of matches that memory does not hold and no file takes.
    pub(crate) fn refused(&self, e: Error) -> Error {
        match self.place {
            None => in_memory(e),
            Some(_) => e,
        }
    }
    /// Whether the matches of some fold may be written.
    pub(crate) fn any(&self) -> bool {
        self.forms.iter().any(Option::is_some)
    }
    /// The folder, made and held when it is needed first.
    fn folder(&self) -> Result<(Arc<RunFolder>, u128)> {
        let Some(place) = &self.place else {
            return Err(Error::internal("runs of matches without a place"));
        };
        let mut held = self.lock();
        let folder = match &*held {
            Some(folder) => folder.clone(),
            None => {
                let made = RunFolder::hold(&place.folder, &[], place.owner.as_deref())?;
                held.insert(Arc::new(made)).clone()
            }
        };
        Ok((folder, place.identity))
    }
    /// A name that no run of fold `at` has.
    fn name(&self, at: usize) -> String {
        format!("{at}-{:06}", self.next.fetch_add(1, Ordering::Relaxed))
    }
    /// Writes the matches in `states`, by fold, of more than `most` bytes, each as a run, and takes
    /// them out of the states. Returns the runs with their folds.
    ///
    /// # Errors
    /// `Resource` when the disk is full.
    pub(crate) fn relieve(
        &self,
        states: &mut [State],
        most: u64,
    ) -> Result<Vec<(usize, RunFacts)>> {
        let mut runs = vec![];
        for (at, (form, state)) in self.forms.iter().zip(states).enumerate() {
            let Some(form) = form else {
                continue;
            };
            let bytes = bytes_of_matches(state);
            if bytes > 0 && bytes > most {
                let mut matches = self.taken(at, state);
                runs.push((at, self.write(at, *form, &mut matches)?));
            }
        }
        Ok(runs)
    }
    /// The matches of fold `at`, out of `state`, with the rows of the question.
    fn taken(&self, at: usize, state: &mut State) -> JoinState {
        match (self.grouped.get(at), state) {
            (_, State::Join(state)) => std::mem::take(state),
            (Some(Some(fold)), State::Grouped(state)) => fold.take_matches(state),
            _ => JoinState::default(),
        }
    }
    fn write(&self, at: usize, form: RecordForm, state: &mut JoinState) -> Result<RunFacts> {
        let (folder, identity) = self.folder()?;
        let found = state.i.len() as u64;
        let written = self.written.fetch_add(found, Ordering::Relaxed);
        self.check_output(form, written + found)?;
        let name = self.name(at);
        let records = form.sorted(state);
        let mut out = RunWriter::create(&folder.file(&name), identity, form.width(), false)?;
        out.push(&records)?;
        Ok(RunFacts {
            name,
            identity,
            records: out.finish()?,
        })
    }
    /// Bytes that the output takes at a time of this many matches.
    fn output_bytes(&self, form: RecordForm, matches: u64) -> u64 {
        let Some(path) = self.place.as_ref().and_then(|place| place.output.as_ref()) else {
            return 0;
        };
        let some = (rows_at_once(path) as u64).min(matches);
        let starts = match path.ends_with(".csr.npz") {
            true => MatchRuns::bytes_of_starts(self.rows),
            false => 0,
        };
        starts.saturating_add(some.saturating_mul(form.listed_bytes()))
    }
    /// Refuses an output that this many matches of a join cannot be written to within the memory, before
    /// more work is lost.
    ///
    /// # Errors
    /// `Resource`.
    fn check_output(&self, form: RecordForm, matches: u64) -> Result<()> {
        let bytes = self.output_bytes(form, matches);
        if bytes == 0 {
            return Ok(());
        }
        let all = bytes.saturating_add(MatchRuns::least_bytes(form));
        let room = Budget::new(self.free).reserve(all, "the rows that the output takes at a time");
        let remedy = format!("a .csv file, or a larger {}", Opt::Memory);
        room.map(|_| ()).map_err(|e| e.remedy(remedy))
    }
    /// As [`MatchStores::check_output`], of the matches that `plan` predicts, where `free` bytes were free
    /// before the run took some for its time.
    ///
    /// # Errors
    /// `Resource`.
    pub(crate) fn plan_output(
        &mut self,
        plan: &Plan,
        free: u64,
        shard: Option<(usize, usize)>,
    ) -> Result<()> {
        self.free = free;
        // A shard has its part of them, for another file.
        match plan
            .matches
            .filter(|matches| matches.written && shard.is_none())
        {
            Some(matches) => {
                let mut forms = self.forms.iter().flatten();
                forms.try_for_each(|form| self.check_output(*form, matches.predicted))
            }
            None => Ok(()),
        }
    }
    /// Waits until the disk has these runs, which a checkpoint will name.
    ///
    /// # Errors
    /// `Resource` when the disk fails.
    pub(crate) fn sync<'r>(&self, runs: impl Iterator<Item = &'r RunFacts>) -> Result<()> {
        let mut runs = runs.peekable();
        if runs.peek().is_none() {
            return Ok(());
        }
        let (folder, _) = self.folder()?;
        zipfold_io::runs::sync(runs.map(|run| folder.file(&run.name)))
    }
    /// The answer of fold `at`, which has these runs here, those of `parts` elsewhere, and the rest
    /// of its matches in `state`; none where all are in `state`, and take `most` bytes at most.
    ///
    /// # Errors
    /// `Input` for damaged runs; `Resource` when the disk is full.
    pub(crate) fn finish(
        &self,
        at: usize,
        (runs, parts): (&[RunFacts], Vec<MatchRuns>),
        state: &mut State,
        most: u64,
    ) -> Result<Option<MatchRuns>> {
        let Some(Some(form)) = self.forms.get(at) else {
            if !parts.is_empty() {
                let mut matches = self.taken(at, state);
                MatchRuns::hold_all(&parts, &mut matches)?;
                *state = self.held(at, matches);
            }
            return Ok(None);
        };
        let bytes = bytes_of_matches(state);
        if runs.is_empty() && parts.is_empty() && bytes <= most {
            return Ok(None);
        }
        let mut runs = runs.to_vec();
        let mut left = self.taken(at, state);
        if !left.i.is_empty() {
            runs.push(self.write(at, *form, &mut left)?);
        }
        let mut files: Vec<RunFile> = vec![];
        parts
            .iter()
            .for_each(|part| files.extend_from_slice(part.files()));
        for (run, place) in runs.iter().zip(self.place.iter().cycle()) {
            // A checkpoint may name it.
            let passes = place.owner.is_none();
            let file = run.open(&place.folder, *form, &self.budget)?;
            files.push(file.passing(passes));
        }
        let records = files.iter().map(RunFile::records).sum();
        let kept = self.output_bytes(*form, records);
        let place = || {
            let (folder, identity) = self.folder()?;
            Ok((folder.file(&self.name(at)), identity))
        };
        let merged = MatchRuns::new((files, *form), &place, &self.budget, kept)?;
        // A cascade may have made the folder.
        let folder = self.lock().clone();
        let nothing = self.held(at, JoinState::default());
        Ok(Some(merged.within(folder).of_fold(nothing)))
    }
    /// The state of fold `at` with these matches, which have the rows of the question.
    fn held(&self, at: usize, matches: JoinState) -> State {
        match self.grouped.get(at) {
            Some(Some(_)) if matches.i.is_empty() => State::Grouped(GroupedState::default()),
            Some(Some(_)) => State::Grouped(GroupedState::of_matches(matches)),
            _ => State::Join(matches),
        }
    }
}

/// Bytes of the matches that a state holds.
pub(crate) fn bytes_of_matches(state: &State) -> u64 {
    if let State::Grouped(grouped) = state {
        return grouped.states().map(bytes_of_matches).sum();
    }
    JoinState::within(state).map_or(0, JoinState::bytes)
}
