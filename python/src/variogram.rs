//! Variograms of values at places, as arrays.

use crate::in_memory::InMemory;
use crate::jobs::{ask, told};
use crate::options::Given;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zipfold::internals::variogram::{Direction, FittedModel, LagCurve, Variogram, Variograms};

/// Answers `text` (a question as JSON) about a table in memory or the file that it names, and writes
/// the answer to each of `paths`.
#[pyfunction]
pub(crate) fn variogram<'py>(
    py: Python<'py>,
    text: &str,
    table: Option<InMemory<'py>>,
    given: Given,
    paths: Vec<String>,
    overwrite: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let paths = (&paths[..], overwrite);
    let (answer, shown) = ask::<Variogram>(
        py,
        ("variogram", text),
        table,
        &given,
        paths,
        Variograms::save,
    )?;
    let out = PyDict::new(py);
    out.set_item("shown", Py::new(py, shown)?)?;
    out.set_item("edges", PyArray1::from_vec(py, answer.edges))?;
    out.set_item("variances", PyArray1::from_vec(py, answer.variances))?;
    out.set_item("rows", answer.rows)?;
    out.set_item("left_out", answer.left_out)?;
    out.set_item("pairs", answer.pairs)?;
    let all = answer.directions.into_iter();
    let all: Vec<_> = all.map(|one| direction(py, one)).collect::<PyResult<_>>()?;
    out.set_item("directions", all)?;
    Ok(out)
}

/// A direction as a dictionary of arrays.
fn direction(py: Python<'_>, direction: Direction) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("azimuth", direction.azimuth)?;
    out.set_item("counts", PyArray1::from_vec(py, direction.counts))?;
    out.set_item("distances", PyArray1::from_vec(py, direction.distances))?;
    let all = direction.curves.into_iter();
    let all: Vec<_> = all.map(|one| curve(py, one)).collect::<PyResult<_>>()?;
    out.set_item("curves", all)?;
    Ok(out)
}

/// A curve as a dictionary of arrays.
fn curve(py: Python<'_>, curve: LagCurve) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("name", curve.name)?;
    out.set_item("values", PyArray1::from_vec(py, curve.values))?;
    let all = curve.models.into_iter();
    let all: Vec<_> = all.map(|one| model(py, one)).collect::<PyResult<_>>()?;
    out.set_item("models", all)?;
    Ok(out)
}

/// A model as a dictionary.
fn model(py: Python<'_>, fit: FittedModel) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("model", fit.model.name())?;
    out.set_item("nugget", fit.nugget)?;
    out.set_item("sill", fit.sill)?;
    out.set_item("range", fit.range)?;
    out.set_item("practical_range", fit.practical_range)?;
    out.set_item("squares", fit.squares)?;
    out.set_item("is_settled", fit.is_settled)?;
    out.set_item("values", PyArray1::from_vec(py, fit.values))?;
    Ok(out)
}

/// Says how the pairs of each direction would be summed.
#[pyfunction]
pub(crate) fn explain_variogram(
    py: Python<'_>,
    text: &str,
    table: Option<InMemory<'_>>,
    given: Given,
) -> PyResult<String> {
    told::<Variogram>(py, text, table, &given)
}
