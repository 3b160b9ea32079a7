//! Answers of folds as dictionaries of NumPy arrays; the Python half makes results of them.

use crate::errors::raise;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zipfold::internals::Job;
use zipfold::internals::core::fold::{Fold, Layout, Numbers, Role, Tally};
use zipfold::{Error, Outcome, Output};

/// Answer `at` of `job`.
pub(crate) fn result<'py>(
    py: Python<'py>,
    job: &Job,
    (outcome, at): (&mut Outcome, usize),
    told: &dyn Fn(Error) -> Error,
) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    // Matrices are moved, not copied.
    match outcome.outputs.get_mut(at) {
        Some(Output::F64(values)) => {
            return values_of(out, PyArray1::from_vec(py, std::mem::take(values)));
        }
        Some(Output::F32(values)) => {
            return values_of(out, PyArray1::from_vec(py, std::mem::take(values)));
        }
        _ => {}
    }
    let columns = outcome.columns(job, at);
    let Some(answer) = columns.map_err(|e| raise(py, &told(e)))? else {
        return Ok(out);
    };
    for column in answer.arrays() {
        let numbers = array(py, answer.all(column), column.role);
        out.set_item(&*column.name, numbers)?;
    }
    let beyond = PyDict::new(py);
    answer
        .beyond
        .iter()
        .try_for_each(|(what, pairs)| beyond.set_item(what, pairs))?;
    out.set_item("beyond", beyond)?;
    if let Some(groups) = &answer.groups {
        out.set_item("groups", groups.to_vec())?;
    }
    if let Some(axis) = &answer.param {
        let values = PyArray1::from_slice(py, &axis.values);
        out.set_item("param", (&axis.name, values))?;
    }
    let grouped = job.folds.get(at).and_then(Fold::grouped);
    let batches = grouped.is_some_and(|fold| fold.parts.batches);
    out.set_item("batches", batches)?;
    out.set_item("shape", &answer.shape)?;
    let layout = match answer.layout {
        Layout::Matrix => "matrix",
        Layout::Array(_) => "array",
        Layout::Lists => "lists",
        Layout::Table => "table",
    };
    out.set_item("layout", layout)?;
    let edges = answer.edges.iter();
    let edges = edges.map(|edges| PyArray1::from_slice(py, edges));
    out.set_item("edges", edges.collect::<Vec<_>>())?;
    Ok(out)
}

/// The numbers of a column.
fn array<'py>(py: Python<'py>, numbers: Numbers<'_>, role: Role) -> Bound<'py, PyAny> {
    match (numbers, role) {
        // Rows are counted in memory, so their numbers fit an i64, NumPy's own type of indices.
        (Numbers::U64(rows), Role::Row(_)) => {
            let rows = rows.iter().map(|row| *row as i64).collect();
            PyArray1::from_vec(py, rows).into_any()
        }
        (Numbers::U64(v), _) => PyArray1::from_vec(py, v.into_owned()).into_any(),
        (Numbers::I64(v), _) => PyArray1::from_vec(py, v.into_owned()).into_any(),
        (Numbers::F64(v), _) => PyArray1::from_vec(py, v.into_owned()).into_any(),
        (Numbers::F32(v), _) => PyArray1::from_vec(py, v.into_owned()).into_any(),
    }
}

fn values_of<'py, T: numpy::Element>(
    out: Bound<'py, PyDict>,
    values: Bound<'py, PyArray1<T>>,
) -> PyResult<Bound<'py, PyDict>> {
    out.set_item("values", values)?;
    Ok(out)
}

/// What happened to the pairs.
pub(crate) fn tally<'py>(py: Python<'py>, tally: &Tally) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("counted", tally.counted)?;
    out.set_item("beyond_cutoff", tally.beyond_cutoff)?;
    out.set_item("nan", tally.nan)?;
    Ok(out)
}
