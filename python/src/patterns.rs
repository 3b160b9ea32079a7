//! Ripley's functions, co-occurrence and correlograms, as arrays.

use crate::in_memory::InMemory;
use crate::jobs::{ask, told};
use crate::options::Given;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zipfold::internals::correlogram::{Correlogram, Correlograms};
use zipfold::internals::pattern::{Cooccurrence, Occurrences, Ripley, RipleyAnswer, RipleyCurve};

/// Ripley's functions of the points of a table, as `text` (a question as JSON) asks.
#[pyfunction]
pub(crate) fn ripley<'py>(
    py: Python<'py>,
    text: &str,
    table: Option<InMemory<'py>>,
    given: Given,
    paths: Vec<String>,
    overwrite: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let (answer, shown) = ask::<Ripley>(
        py,
        ("ripley", text),
        table,
        &given,
        (&paths, overwrite),
        RipleyAnswer::save,
    )?;
    let out = PyDict::new(py);
    out.set_item("shown", Py::new(py, shown)?)?;
    out.set_item("kinds", answer.kinds)?;
    out.set_item("sizes", PyArray1::from_vec(py, answer.sizes))?;
    let window = PyArray1::from_vec(py, answer.window.concat());
    out.set_item("window", window.reshape([answer.window.len(), 2])?)?;
    out.set_item("edges", PyArray1::from_vec(py, answer.edges))?;
    out.set_item("theory", PyArray1::from_vec(py, answer.theory))?;
    out.set_item("simulations", answer.simulations)?;
    out.set_item("pairs", answer.pairs)?;
    let curves = answer.curves.into_iter();
    let curves: Vec<_> = curves.map(|one| curve(py, one)).collect::<PyResult<_>>()?;
    out.set_item("curves", curves)?;
    Ok(out)
}

/// A curve as a dictionary of arrays.
fn curve(py: Python<'_>, curve: RipleyCurve) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("kinds", curve.kinds)?;
    out.set_item("counts", PyArray1::from_vec(py, curve.counts))?;
    let numbers = [
        ("k", curve.k),
        ("l", curve.l),
        ("g", curve.g),
        ("k_low", curve.k_low),
        ("k_high", curve.k_high),
        ("g_low", curve.g_low),
        ("g_high", curve.g_high),
    ];
    for (name, values) in numbers {
        out.set_item(name, PyArray1::from_vec(py, values))?;
    }
    Ok(out)
}

/// Says how the pairs of points would be counted.
#[pyfunction]
pub(crate) fn explain_ripley(
    py: Python<'_>,
    text: &str,
    table: Option<InMemory<'_>>,
    given: Given,
) -> PyResult<String> {
    told::<Ripley>(py, text, table, &given)
}

/// Which kinds of the points of a table occur together, as `text` (a question as JSON) asks.
#[pyfunction]
pub(crate) fn cooccurrence<'py>(
    py: Python<'py>,
    text: &str,
    table: Option<InMemory<'py>>,
    given: Given,
    paths: Vec<String>,
    overwrite: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let (answer, shown) = ask::<Cooccurrence>(
        py,
        ("cooccurrence", text),
        table,
        &given,
        (&paths, overwrite),
        Occurrences::save,
    )?;
    let shape = [
        answer.kinds.len(),
        answer.kinds.len(),
        answer.edges.len() - 1,
    ];
    let out = PyDict::new(py);
    out.set_item("shown", Py::new(py, shown)?)?;
    let counts = PyArray1::from_vec(py, answer.all_counts);
    out.set_item("counts", counts.reshape(shape)?)?;
    let ratios = PyArray1::from_vec(py, answer.all_ratios);
    out.set_item("ratios", ratios.reshape(shape)?)?;
    out.set_item("kinds", answer.kinds)?;
    out.set_item("sizes", PyArray1::from_vec(py, answer.sizes))?;
    out.set_item("edges", PyArray1::from_vec(py, answer.edges))?;
    out.set_item("pairs", answer.pairs)?;
    Ok(out)
}

/// Says how the pairs of kinds would be counted.
#[pyfunction]
pub(crate) fn explain_cooccurrence(
    py: Python<'_>,
    text: &str,
    table: Option<InMemory<'_>>,
    given: Given,
) -> PyResult<String> {
    told::<Cooccurrence>(py, text, table, &given)
}

/// Correlograms of the spikes of a table, as `text` (a question as JSON) asks.
#[pyfunction]
pub(crate) fn correlogram<'py>(
    py: Python<'py>,
    text: &str,
    table: Option<InMemory<'py>>,
    given: Given,
    paths: Vec<String>,
    overwrite: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let (answer, shown) = ask::<Correlogram>(
        py,
        ("correlogram", text),
        table,
        &given,
        (&paths, overwrite),
        Correlograms::save,
    )?;
    let units = answer.units.len();
    let shape = [units, units, answer.edges.len() - 1];
    let both = || (0..units * units).map(|at| (at / units, at % units));
    let values = both().flat_map(|(a, b)| answer.values(a, b)).collect();
    let expected = both().map(|(a, b)| answer.expected(a, b)).collect();
    let out = PyDict::new(py);
    out.set_item("shown", Py::new(py, shown)?)?;
    out.set_item(
        "values",
        PyArray1::<f64>::from_vec(py, values).reshape(shape)?,
    )?;
    let expected = PyArray1::<f64>::from_vec(py, expected);
    out.set_item("expected", expected.reshape([units, units])?)?;
    let counts = PyArray1::from_vec(py, answer.all_counts);
    out.set_item("counts", counts.reshape(shape)?)?;
    out.set_item("units", answer.units)?;
    out.set_item("spikes", PyArray1::from_vec(py, answer.spikes))?;
    out.set_item("edges", PyArray1::from_vec(py, answer.edges))?;
    out.set_item("span", answer.span)?;
    out.set_item("pairs", answer.pairs)?;
    Ok(out)
}

/// Says how the pairs of spikes would be counted.
#[pyfunction]
pub(crate) fn explain_correlogram(
    py: Python<'_>,
    text: &str,
    table: Option<InMemory<'_>>,
    given: Given,
) -> PyResult<String> {
    told::<Correlogram>(py, text, table, &given)
}
