//! Stores: a question planned in shares, worked on, looked at, merged.

use crate::errors::{raise, words};
use crate::options::{Given, problem};
use crate::run::{Named, Weights, answer_or, data, warn};
use crate::watch::attended;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::time::Duration;
use zipfold::internals::core::message::Wording;
use zipfold::internals::destination;
use zipfold::internals::pool;
use zipfold::internals::problem_file::problem_file;
use zipfold::internals::slices::{self, SharedInference};
use zipfold::internals::store::{Habits, Manifest, ShareCount, Store};
use zipfold::io::OutputOptions;
use zipfold::{Budget, Error, Options, Result, Target};

fn json(py: Python<'_>, text: serde_json::Result<String>) -> PyResult<String> {
    text.map_err(|e| raise(py, &Error::internal(e.to_string())))
}

/// Plans a problem in shares by `plan`; the plan as JSON.
fn planned(
    py: Python<'_>,
    given: &Given,
    plan: impl FnOnce(&Options<'_>) -> Result<Manifest> + Send,
) -> PyResult<String> {
    let done = attended(py, false, given.progress(), |shared| {
        let tell = |p| shared.tell(p);
        let options = given.options(shared, &tell, false)?;
        let manifest = plan(&options)?;
        Ok((manifest, options.warnings.all()))
    })?;
    let (manifest, warnings) = done.map_err(|e| raise(py, &e))?;
    warn(py, &warnings)?;
    json(py, serde_json::to_string(&manifest))
}

/// Plans `text` (a problem as JSON) over rows that are sent by value; the plan as JSON.
#[pyfunction]
pub(crate) fn store_plan<'py>(
    py: Python<'py>,
    question: (&str, Named<'py>, Option<Named<'py>>, Weights<'py>),
    store: PathBuf,
    shares: Option<usize>,
    given: Given,
) -> PyResult<String> {
    let (asked, x, y, weights) = question;
    let (problem, data) = (problem(py, asked)?, data(&x, y.as_ref(), &weights)?);
    planned(py, &given, |options| {
        let planning = ShareCount { shares };
        let planned = Store::plan_sent(&store, (&problem, &data), planning, options)?;
        Ok(planned.1)
    })
}

/// Plans the problem in the file `path`, whose inputs workers read themselves; the plan as JSON.
#[pyfunction]
pub(crate) fn store_plan_file(
    py: Python<'_>,
    path: &str,
    store: PathBuf,
    shares: Option<usize>,
    given: Given,
) -> PyResult<String> {
    planned(py, &given, |options| {
        let problem = problem_file(path, &options.budget)?;
        let planning = ShareCount { shares };
        Ok(Store::plan(&store, &problem, planning, options)?.1)
    })
}

/// Works on share `number`, from 1, or on shares until none is left: what was done and what failed,
/// as JSON.
#[pyfunction]
pub(crate) fn store_work(
    py: Python<'_>,
    store: PathBuf,
    number: Option<usize>,
    habits: (f64, u32),
    given: Given,
) -> PyResult<String> {
    let (lease, retries) = habits;
    let habits = Habits {
        lease: life(py, lease)?,
        retries: retries.max(1),
        ..Habits::default()
    };
    let done = attended(py, false, given.progress(), |shared| {
        let tell = |p| shared.tell(p);
        let options = given.options(shared, &tell, false)?;
        if let Some(asked) = SharedInference::read(&store, &options.budget)? {
            let told = (words as Wording, Some(shared.stop.clone()));
            let every = options.checkpoint_every;
            let work = || asked.work(&store, number, (&habits, every), told);
            let worked = pool::within(options.threads, work)??;
            return Ok((worked, asked.settings.warnings.all()));
        }
        let store = Store::open(&store);
        let loaded = store.load_to_work(&options.budget)?;
        let worked = store.work(&loaded, number, (&habits, words), &options)?;
        Ok((worked, options.warnings.all()))
    })?;
    let (worked, warnings) = done.map_err(|e| raise(py, &e))?;
    warn(py, &warnings)?;
    json(py, serde_json::to_string(&worked))
}

/// The names of the files of the plan that share `number`, from 1, reads; none where it needs all.
#[pyfunction]
pub(crate) fn store_files_of_share(
    py: Python<'_>,
    store: PathBuf,
    number: usize,
) -> PyResult<Option<Vec<String>>> {
    let budget = Budget::new(zipfold::internals::io::memory::usual());
    let names = py.detach(|| Store::open(&store).files_of_share(number, &budget));
    names.map_err(|e| raise(py, &e))
}

/// The time after which a worker is lost, in seconds.
fn life(py: Python<'_>, seconds: f64) -> PyResult<Duration> {
    let life = Duration::try_from_secs_f64(seconds).ok();
    let life = life.filter(|life| *life >= Duration::from_secs(1));
    life.ok_or_else(|| {
        let e = Error::request(format!("expected seconds from 1 on, got {seconds}"));
        raise(py, &e.at_place("lease").remedy("lease=60"))
    })
}

/// How far a store is, as JSON.
#[pyfunction]
pub(crate) fn store_status(py: Python<'_>, store: PathBuf, lease: f64) -> PyResult<String> {
    let budget = Budget::new(zipfold::internals::io::memory::usual());
    let life = life(py, lease)?;
    let status = py.detach(|| match slices::status(&store, life, &budget)? {
        Some(of_slices) => Ok(of_slices),
        None => Store::open(&store).status(life, &budget),
    });
    let status = status.map_err(|e| raise(py, &e))?;
    json(py, serde_json::to_string(&status))
}

/// The answer of the parts of a store, and the shares that are missing.
#[pyfunction]
pub(crate) fn store_merge(
    py: Python<'_>,
    store: PathBuf,
    incomplete: bool,
    given: Given,
) -> PyResult<(Bound<'_, PyDict>, Vec<usize>)> {
    let store = Store::open(&store);
    let done = attended(py, false, None, |shared| {
        let tell = |p| shared.tell(p);
        let mut options = given.options(shared, &tell, false)?;
        let loaded = store.load(&options.budget)?;
        options.overrides = loaded.manifest.overrides()?.and(&options.overrides);
        let (answer, missing) = store.merge(&loaded, (&Target::Memory, incomplete), &options)?;
        let (problem, job, outcome) = (answer.problem.into_owned(), answer.job, answer.outcome);
        Ok((problem, job, outcome, missing))
    })?;
    let (problem, job, outcome, missing) = done.map_err(|e| raise(py, &e))?;
    let told = |e| store.made_again(e);
    Ok((answer_or(py, &problem, &job, outcome, &told)?, missing))
}

/// Writes the answer of the parts of a store to a file: its names, and the shares that are missing.
/// Matches need not fit in memory.
#[pyfunction]
pub(crate) fn store_save(
    py: Python<'_>,
    store: PathBuf,
    path: String,
    how: (bool, bool),
    given: Given,
) -> PyResult<(Vec<String>, Vec<usize>)> {
    let (incomplete, force) = how;
    let output = OutputOptions {
        force,
        ..OutputOptions::default()
    };
    let done = attended(py, false, None, |shared| {
        let tell = |p| shared.tell(p);
        let mut options = given.options(shared, &tell, false)?;
        let store = Store::open(&store);
        let manifest = store.manifest(&options.budget)?;
        destination::refuse(&path, &manifest.problem, output)?;
        let loaded = store.load(&options.budget)?;
        options.overrides = loaded.manifest.overrides()?.and(&options.overrides);
        let target = destination::target(&path, &loaded.manifest.problem, output);
        let (answer, missing) = store.merge(&loaded, (&target, incomplete), &options)?;
        let written = answer.save(&path, output);
        Ok((written.map_err(|e| store.made_again(e))?, missing))
    })?;
    done.map_err(|e| raise(py, &e))
}
