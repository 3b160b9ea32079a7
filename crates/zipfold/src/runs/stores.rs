//! The runs of the joins of one job: matches go there when memory holds no more of them.

use super::facts::RunFacts;
use super::merge::{MatchRuns, in_memory};
use super::records::RecordForm;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use zipfold_core::fold::{JoinState, State};
use zipfold_core::{Budget, Error, Job, Opt, Result};
use zipfold_io::runs::{RunFolder, RunReader, RunWriter};

/// Bytes of matches that the file of a part holds itself.
pub(crate) const HELD_BY_PART: u64 = 1 << 21;

/// Where runs of a job lie, and whose they are.
#[derive(Clone, Debug)]
pub(crate) struct RunPlace {
    /// The folder, made when the first run is written.
    pub(crate) folder: PathBuf,
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
    place: Option<RunPlace>,
    held: Mutex<Option<Arc<RunFolder>>>,
    /// The number of the next run.
    next: AtomicUsize,
    budget: Budget,
}

impl MatchStores {
    /// The stores of the joins of `job`, without a run; none of them writes without a place.
    pub(crate) fn new(job: &Job, place: Option<RunPlace>, budget: &Budget) -> Self {
        let form = |fold| RecordForm::of_fold(fold, job).filter(|_| place.is_some());
        MatchStores {
            forms: job.folds.iter().map(form).collect(),
            place,
            held: Mutex::default(),
            next: AtomicUsize::new(1),
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
            let (Some(form), State::Join(state)) = (form, state) else {
                continue;
            };
            if !state.i.is_empty() && state.bytes() > most {
                runs.push((at, self.write(at, *form, state)?));
            }
        }
        Ok(runs)
    }
    fn write(&self, at: usize, form: RecordForm, state: &mut JoinState) -> Result<RunFacts> {
        let (folder, identity) = self.folder()?;
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
        runs.try_for_each(|run| zipfold_io::runs::sync(&folder.file(&run.name)))
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
        let State::Join(state) = state else {
            return Ok(None);
        };
        let Some(Some(form)) = self.forms.get(at) else {
            for part in &parts {
                part.hold_in(state)?;
            }
            return Ok(None);
        };
        if runs.is_empty() && parts.is_empty() && state.bytes() <= most {
            return Ok(None);
        }
        let mut runs = runs.to_vec();
        if !state.i.is_empty() {
            runs.push(self.write(at, *form, state)?);
        }
        let mut readers: Vec<RunReader> = vec![];
        parts
            .iter()
            .for_each(|part| readers.extend_from_slice(part.readers()));
        for (run, place) in runs.iter().zip(self.place.iter().cycle()) {
            readers.push(run.open(&place.folder, *form, &self.budget)?);
        }
        let place = || {
            let (folder, identity) = self.folder()?;
            Ok((folder.file(&self.name(at)), identity))
        };
        let merged = MatchRuns::new(readers, *form, &place, &self.budget)?;
        // A cascade may have made the folder.
        Ok(Some(merged.within(self.lock().clone())))
    }
}
