//! Counts of pairs of catalogues, as arrays.

use crate::errors::{raise, words};
use crate::jobs::{answered, explained, question};
use crate::options::Given;
use crate::shown::{ShownAnswer, save_or_page};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use zipfold::internals::paircount::{Correlation, PairCount, PairCounts};
use zipfold::internals::rdf::refuse;
use zipfold::{Options, Table};

/// Catalogues in memory by name: their rows, and the names of their columns.
type InMemory<'py> = BTreeMap<String, (Bound<'py, PyAny>, Option<Vec<String>>)>;

/// Answers `text` (a question as JSON) about files and the catalogues `known`, and writes the answer
/// to each of `paths`: a picture to `.svg`, columns to other suffixes.
#[pyfunction]
pub(crate) fn paircount<'py>(
    py: Python<'py>,
    text: &str,
    known: InMemory<'py>,
    given: Given,
    paths: Vec<String>,
    overwrite: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let (asked, known): (PairCount, _) = (question(py, text)?, tables(&known)?);
    let count = |options: &Options<'_>| {
        let tables = asked.read_beside(&|name| known.get(name).cloned(), &options.budget)?;
        asked.count(&tables, options)
    };
    let answer = answered(
        py,
        &given,
        (&paths, overwrite),
        refuse,
        count,
        save_or_page("paircount", &asked, PairCounts::save),
    )?;
    let shown = ShownAnswer::new(py, "paircount", &asked, answer.clone())?;
    let out = arrays(py, answer)?;
    out.set_item("shown", Py::new(py, shown)?)?;
    Ok(out)
}

/// Says how each term of `text` would be counted.
#[pyfunction]
pub(crate) fn explain_paircount(
    py: Python<'_>,
    text: &str,
    known: InMemory<'_>,
    given: Given,
) -> PyResult<String> {
    let (asked, known): (PairCount, _) = (question(py, text)?, tables(&known)?);
    explained(py, &given, |options| {
        let tables = asked.read_beside(&|name| known.get(name).cloned(), &options.budget)?;
        Ok(asked.explain_tables(&tables, options)?.told(words))
    })
}

fn tables(known: &InMemory<'_>) -> PyResult<BTreeMap<String, Table>> {
    let one = |(name, (array, names)): (&String, &(Bound<'_, PyAny>, Option<Vec<String>>))| {
        let table = crate::array::table(array)?;
        let table = match names {
            Some(names) => table
                .with_names(names.clone())
                .map_err(|e| raise(array.py(), &e))?,
            None => table,
        };
        Ok((name.clone(), table))
    };
    known.iter().map(one).collect()
}

/// An answer as a dictionary of arrays.
fn arrays(py: Python<'_>, answer: PairCounts) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    let shape: Vec<usize> = answer.edges.iter().map(|e| e.len() - 1).collect();
    let grid = |values: Vec<f64>| PyArray1::from_vec(py, values).reshape(shape.clone());
    out.set_item("axes", answer.axes.clone())?;
    let edges = answer.edges.iter().cloned();
    let edges: Vec<_> = edges.map(|e| PyArray1::from_vec(py, e)).collect();
    out.set_item("edges", edges)?;
    let terms = PyDict::new(py);
    for term in answer.terms {
        let one = PyDict::new(py);
        let counts = PyArray1::from_vec(py, term.counts).reshape(shape.clone())?;
        one.set_item("counts", counts)?;
        one.set_item("sums", grid(term.sums)?)?;
        one.set_item("total", term.total)?;
        terms.set_item(term.name, one)?;
    }
    out.set_item("terms", terms)?;
    out.set_item("xi", answer.xi.map(grid).transpose()?)?;
    let length: usize = answer.curves.iter().map(|c| c.values.len()).sum();
    set_curves(py, &out, answer.curves)?;
    let matrix = |values: Vec<f64>| {
        let rows = values.len() / length.max(1);
        PyArray1::from_vec(py, values).reshape([rows, length])
    };
    out.set_item("covariance", answer.covariance.map(matrix).transpose()?)?;
    let samples = answer.samples.map(|samples| samples.concat());
    out.set_item("samples", samples.map(matrix).transpose()?)?;
    out.set_item("regions", answer.regions)?;
    out.set_item("pairs", answer.pairs)?;
    Ok(out)
}

/// Sets the curves of an answer and their errors, by name.
fn set_curves(py: Python<'_>, out: &Bound<'_, PyDict>, all: Vec<Correlation>) -> PyResult<()> {
    let (curves, errors) = (PyDict::new(py), PyDict::new(py));
    for curve in all {
        if let Some(error) = curve.errors {
            errors.set_item(curve.name.as_str(), PyArray1::from_vec(py, error))?;
        }
        curves.set_item(curve.name, PyArray1::from_vec(py, curve.values))?;
    }
    out.set_item("curves", curves)?;
    out.set_item("errors", errors)
}
