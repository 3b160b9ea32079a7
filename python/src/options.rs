//! How a call is to be run: threads, memory, shard, progress.

use crate::errors::raise;
use crate::watch::Shared;
use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use zipfold::Overrides;
use zipfold::devices::{DeviceSelector, Runtime, list};
use zipfold::internals::core::renamed::{RENAMED, no_problem};
use zipfold::problem::{FoldSpec, Param};
use zipfold::{Budget, Data, Options, Progress, Result};

/// Pair-components below which a call is done before anybody could interrupt it.
const SHORT: f64 = 2e6;
/// Bytes that such a call may hold: its values take some MiB, a grid of bins may take more.
const SHORT_MEMORY: u64 = 2 << 30;

/// Arguments of a call that say how, not what: `(threads, memory, settings, shard, progress,
/// device)`.
#[derive(FromPyObject)]
pub(crate) struct Given(
    usize,
    Option<u64>,
    Option<BTreeMap<String, String>>,
    Option<(usize, usize)>,
    Option<Py<PyAny>>,
    PyBackedStr,
);

impl Given {
    /// Whether the work on `folds` over `data` takes less than a person notices, and its results
    /// little memory.
    pub(crate) fn is_short(&self, data: &Data, folds: &[FoldSpec]) -> bool {
        let (n, m, d) = (
            data.x.rows() as f64,
            data.other().rows() as f64,
            data.x.cols() as f64,
        );
        let columns = data
            .weights
            .iter()
            .flatten()
            .map(|w| w[0].cols().max(w[1].cols()) as f64);
        let results = folds
            .iter()
            .map(|fold| fold.numbers(data.x.rows(), data.other().rows()));
        (n * m).max(n + m) * (d + 8.0) < SHORT
            && results
                .chain(columns.map(|c| c * (n + m)))
                .all(|r| r < SHORT)
    }
    /// Told of progress.
    pub(crate) fn progress(&self) -> Option<&Py<PyAny>> {
        self.4.as_ref()
    }
    /// One balanced shard of the space.
    pub(crate) fn shard(&self) -> Option<(usize, usize)> {
        self.3
    }
    /// Bytes that the call may hold.
    pub(crate) fn memory(&self) -> u64 {
        self.1.unwrap_or_else(available_memory)
    }
    /// The options of a run. What is short has a budget that does not depend on the machine unless
    /// one was given: finding what is free takes longer.
    pub(crate) fn options<'a>(
        &self,
        shared: &'a Shared,
        tell: &'a (dyn Fn(Progress) + Sync),
        short: bool,
    ) -> Result<Options<'a>> {
        let budget = if short && self.1.is_none() {
            Budget::new(SHORT_MEMORY)
        } else {
            Budget::new(self.memory())
        };
        Ok(Options {
            threads: self.0,
            budget,
            overrides: Overrides::read(self.2.iter().flatten())?,
            shard: self.3,
            progress: Some(tell),
            stop: Some(&shared.stop),
            device: DeviceSelector::parse(&self.5)?,
            ..Options::default()
        })
    }
}

/// Named numbers and vectors of a metric or formula.
pub(crate) fn params(given: Option<&Bound<'_, PyDict>>) -> PyResult<BTreeMap<String, Param>> {
    let mut out = BTreeMap::new();
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        out.insert(name.clone(), param(&name, &value)?);
    }
    Ok(out)
}

fn param(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Param> {
    if let Ok(array) = value.cast::<PyArrayDyn<f64>>()
        && array.ndim() > 0
    {
        return Ok(Param::Vector(
            array.readonly().as_array().iter().copied().collect(),
        ));
    }
    if let Ok(number) = value.extract::<f64>() {
        return Ok(Param::Number(number));
    }
    if let Ok(word) = value.extract::<String>() {
        return Ok(Param::Word(word));
    }
    match value.extract::<Vec<f64>>() {
        Ok(numbers) => Ok(Param::Vector(numbers)),
        Err(_) => {
            let what = format!(
                "{name} is a number or an array of numbers, not {}",
                value.get_type().name()?
            );
            Err(PyTypeError::new_err(what))
        }
    }
}

/// Bytes that a call without a limit of its own may hold.
#[pyfunction]
pub(crate) fn available_memory() -> u64 {
    zipfold::internals::io::memory::usual()
}

/// Bytes of `"2GiB"`, `"500MB"`.
#[pyfunction]
pub(crate) fn parse_bytes(py: Python<'_>, text: &str) -> PyResult<u64> {
    zipfold::internals::core::budget::parse_bytes(text)
        .map_err(|e| raise(py, &e.at_place("memory").remedy("memory='2GiB'")))
}

/// Refuses what names no device; whether it is there shows when it is used.
#[pyfunction]
pub(crate) fn check_device(py: Python<'_>, name: &str) -> PyResult<()> {
    DeviceSelector::parse(name)
        .map(drop)
        .map_err(|e| raise(py, &e))
}

/// A device: its name in `device=`, what it is, bytes of memory, whether it is the host's
/// processor.
type Device = (String, String, u64, bool);

/// The devices there are, and for every runtime without any why.
#[pyfunction]
pub(crate) fn devices() -> (Vec<Device>, Vec<(String, String)>) {
    let (mut found, mut missing) = (vec![], vec![]);
    for runtime in [Runtime::Cuda, Runtime::OpenCl] {
        match list(runtime) {
            Ok(all) => found.extend(
                all.into_iter()
                    .map(|f| (f.id(), f.name.clone(), f.memory, f.host)),
            ),
            Err(e) => missing.push((runtime.name().to_string(), e.to_string())),
        }
    }
    (found, missing)
}

/// A problem from its JSON text.
pub(crate) fn problem(py: Python<'_>, text: &str) -> PyResult<zipfold::Problem> {
    serde_json::from_str(text).map_err(|e| raise(py, &no_problem(&e.to_string())))
}

/// Every word of earlier versions: where it was used, the word, and the word in its place.
#[pyfunction]
pub(crate) fn renamed() -> Vec<(&'static str, &'static str, &'static str)> {
    let all = RENAMED.iter();
    all.map(|word| (word.place.name(), word.old, word.new))
        .collect()
}
