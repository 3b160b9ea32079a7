//! Networks from files and from arrays, questions about them, and the answers as arrays.

use crate::errors::{raise, words};
use crate::run::warn;
use crate::watch::attended;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::time::Duration;
use zipfold::Precision;
use zipfold::devices::DeviceSelector;
use zipfold::internals::io::{evidence, network as files};
use zipfold::internals::pool::within;
use zipfold::internals::slices::{self, SharedInference, SliceStore};
use zipfold::network::{self, Answer, Evidence, Factor, Kind, Names, Network, Task};
use zipfold::network::{Inferred, Settings};
use zipfold::{Budget, Error, Result};

/// A network as `(bayes, cards, variable names, state names, [(scope, values)])`.
type Arrays = (
    bool,
    Vec<usize>,
    Option<Vec<String>>,
    Option<Vec<Vec<String>>>,
    Vec<(Vec<usize>, Vec<f64>)>,
);

/// Where a network comes from.
#[derive(FromPyObject)]
pub(crate) enum Model {
    /// A file.
    File(PathBuf),
    /// Arrays.
    Arrays(Arrays),
}

impl Model {
    fn read(self, budget: &Budget) -> Result<Network> {
        let (bayes, cards, names, states, tables) = match self {
            Model::File(path) => return files::read_network(&path, budget),
            Model::Arrays(arrays) => arrays,
        };
        let factor = |(at, (scope, values)): (usize, (Vec<usize>, Vec<f64>))| {
            Factor::new(scope, values, &cards).map_err(|e| e.at_least(format!("factor {at}")))
        };
        let factors = tables
            .into_iter()
            .enumerate()
            .map(factor)
            .collect::<Result<_>>()?;
        let network = Network::new(
            if bayes { Kind::Bayes } else { Kind::Markov },
            cards.clone(),
            factors,
        )?;
        let Some(variables) = names else {
            return Ok(network);
        };
        let numbered = |c: &usize| (0..*c).map(|s| s.to_string()).collect();
        let states = states.unwrap_or_else(|| cards.iter().map(numbered).collect());
        network.with_names(Names { variables, states })
    }
}

/// How a network is asked: `(task, keep, samples, evidence file, observations, f32, memory, seed,
/// order seconds, limit, threads, device, store)`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Question {
    task: String,
    keep: Vec<String>,
    samples: usize,
    evidence: Option<PathBuf>,
    observed: Vec<(String, String)>,
    single: bool,
    memory: Option<u64>,
    seed: u64,
    order_seconds: Option<f64>,
    time_limit: f64,
    threads: usize,
    device: String,
    store: Option<PathBuf>,
}

impl Question {
    /// The question about `model`.
    fn about(&self, model: Model) -> Result<SharedInference> {
        let settings = self.settings()?;
        let budget = Budget::new(settings.memory);
        let network = model.read(&budget)?;
        let (seen, task) = (self.seen(&network, &budget)?, self.task(&network)?);
        Ok(SharedInference::new(
            (network, seen),
            (task, vec![]),
            settings,
        ))
    }
    fn settings(&self) -> Result<Settings> {
        Ok(Settings {
            memory: self.memory.unwrap_or_else(crate::options::available_memory),
            precision: if self.single {
                Precision::F32
            } else {
                Precision::F64
            },
            seed: self.seed,
            order_seconds: self.order_seconds,
            time_limit: self.time_limit,
            device: DeviceSelector::parse(&self.device)?,
            store: self
                .store
                .clone()
                .map(|path| SliceStore::new(path, Duration::from_secs(60))),
            ..Settings::default()
        })
    }
    fn seen(&self, model: &Network, budget: &Budget) -> Result<Evidence> {
        let mut seen = match &self.evidence {
            Some(path) => files::read_evidence(path, model, budget)?,
            None => Evidence::none(),
        };
        for (name, state) in &self.observed {
            evidence::observe(&mut seen, model, name, state).map_err(|e| e.at_least("evidence"))?;
        }
        Ok(seen)
    }
    fn task(&self, model: &Network) -> Result<Task> {
        let keep = self
            .keep
            .iter()
            .map(|k| model.find(k))
            .collect::<Result<Vec<_>>>();
        let keep = keep.map_err(|e| e.at_least("keep"))?;
        match self.task.as_str() {
            "pr" => Ok(Task::Pr),
            "mar" => Ok(Task::Mar),
            "map" | "mpe" => Ok(Task::Map),
            "mmap" if keep.is_empty() => Err(Error::request("mmap asks for no variable")
                .at_place("keep")
                .remedy("keep=[…], or the task 'map'")),
            "mmap" => Ok(Task::Mmap(keep)),
            "sum" => Ok(Task::Sum(keep)),
            "samples" => Ok(Task::Samples(self.samples)),
            other => Err(Error::request(format!("'{other}' is no task"))
                .at_place("task")
                .remedy("pr, mar, map, mmap, sum or samples")),
        }
    }
}

/// Answers a question about a network.
#[pyfunction]
pub(crate) fn infer<'py>(
    py: Python<'py>,
    model: Model,
    question: Question,
) -> PyResult<Bound<'py, PyDict>> {
    let done = attended(py, false, None, |shared| {
        within(question.threads, || {
            let asked = question.about(model)?;
            let settings = Settings {
                stop: Some(shared.stop.clone()),
                ..asked.settings.clone()
            };
            let done = network::infer(&asked.network, &asked.evidence, &asked.task, &settings)?;
            Ok((asked.network, done))
        })
    })?;
    let (model, done) = done.and_then(|r: Result<_>| r).map_err(|e| raise(py, &e))?;
    answer(py, &model, &done)
}

/// Plans a question about a network in the folder `store`: what a job takes of the plan, as JSON.
#[pyfunction]
pub(crate) fn infer_plan(
    py: Python<'_>,
    model: Model,
    question: Question,
    store: PathBuf,
    shares: Option<usize>,
) -> PyResult<String> {
    let done = attended(py, false, None, |shared| {
        within(question.threads, || {
            let mut asked = question.about(model)?;
            asked.settings.stop = Some(shared.stop.clone());
            let plan = asked.plan(&store, shares)?;
            Ok((plan.shares(), asked.settings.warnings.all()))
        })
    })?;
    let (shares, warnings) = done.and_then(|r: Result<_>| r).map_err(|e| raise(py, &e))?;
    warn(py, &warnings)?;
    Ok(serde_json::json!({"shares": shares, "inputs": [], "problem": {"folds": []}}).to_string())
}

/// Whether the folder is a store of an inference.
#[pyfunction]
pub(crate) fn store_is_of_inference(store: PathBuf) -> bool {
    slices::is_one(&store)
}

/// The answer of the parts of a store of an inference, with its task.
#[pyfunction]
pub(crate) fn infer_merge(
    py: Python<'_>,
    store: PathBuf,
    threads: usize,
) -> PyResult<(&'static str, Bound<'_, PyDict>)> {
    let done = attended(py, false, None, |shared| {
        within(threads, || {
            let budget = Budget::new(crate::options::available_memory());
            let mut asked = SharedInference::there(&store, &budget)?;
            asked.settings.stop = Some(shared.stop.clone());
            let done = asked.merge(&store)?;
            Ok((asked, done))
        })
    })?;
    let (asked, done) = done.and_then(|r: Result<_>| r).map_err(|e| raise(py, &e))?;
    let task = slices::name_of(&asked.task);
    Ok((task, answer(py, &asked.network, &done)?))
}

/// Adds how good the assignment of a search is.
fn tell_gap(out: &Bound<'_, PyDict>, done: &Inferred) -> PyResult<()> {
    let gap = done.plan.searched().and_then(|s| s.gap);
    out.set_item("upper", gap.map(|g| g.upper))?;
    out.set_item("proven", gap.is_none_or(|g| g.proven))
}

/// Adds the names of variables and of their states.
fn tell_names(out: &Bound<'_, PyDict>, model: &Network) -> PyResult<()> {
    let names: Vec<String> = (0..model.cards().len()).map(|v| model.name(v)).collect();
    let states = model.cards().iter().enumerate();
    let states: Vec<Vec<String>> = states
        .map(|(v, c)| (0..*c).map(|s| model.state(v, s)).collect())
        .collect();
    out.set_item("names", names)?;
    out.set_item("states", states)
}

/// Adds the values of an answer, and returns log10 of their scale.
fn tell_values(out: &Bound<'_, PyDict>, answer: &Answer) -> PyResult<f64> {
    let py = out.py();
    match answer {
        Answer::Impossible => Ok(f64::NEG_INFINITY),
        Answer::Pr(z) => Ok(*z),
        Answer::Mar(z, rows) => {
            let rows = rows.iter().map(|r| PyArray1::from_slice(py, r));
            out.set_item("marginals", rows.collect::<Vec<_>>())?;
            Ok(*z)
        }
        Answer::Map(z, states) => {
            let states = states.iter().copied().enumerate();
            out.set_item("assignment", states.collect::<Vec<_>>())?;
            Ok(*z)
        }
        Answer::Mmap(z, states) => {
            out.set_item("assignment", states.clone())?;
            Ok(*z)
        }
        Answer::Sum(vars, values, z) => {
            out.set_item("scope", vars.clone())?;
            out.set_item("values", PyArray1::from_slice(py, values))?;
            Ok(*z)
        }
        Answer::Samples(z, rows) => {
            out.set_item("samples", rows.clone())?;
            Ok(*z)
        }
    }
}

fn answer<'py>(py: Python<'py>, model: &Network, done: &Inferred) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    tell_names(&out, model)?;
    out.set_item("seconds", done.seconds.to_vec())?;
    out.set_item("peak_bytes", done.peak_bytes)?;
    let warnings = done.warnings.iter().map(|w| w.told(words));
    out.set_item("warnings", warnings.collect::<Vec<_>>())?;
    out.set_item("device", done.device.as_ref().map(|on| &on.device[..]))?;
    tell_gap(&out, done)?;
    out.set_item("impossible", done.answer == Answer::Impossible)?;
    let log10 = tell_values(&out, &done.answer)?;
    out.set_item("log10", log10)?;
    Ok(out)
}
