//! Radial distribution functions of trajectories, as arrays.

use crate::errors::words;
use crate::jobs::{answered, explained, question};
use crate::options::Given;
use crate::shown::{ShownAnswer, save_or_page};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zipfold::Options;
use zipfold::internals::rdf::{Curve, Radial, Rdf, RdfAnswer, Scattering, refuse};

/// Answers `text` (a question as JSON), and writes the answer to each of `paths`: a picture to
/// `.svg`, columns to other suffixes.
#[pyfunction]
pub(crate) fn rdf<'py>(
    py: Python<'py>,
    text: &str,
    given: Given,
    paths: Vec<String>,
    overwrite: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let asked: Rdf = question(py, text)?;
    let (paths, count) = ((&paths[..], overwrite), |options: &Options<'_>| {
        asked.answer(options)
    });
    let save = save_or_page("rdf", &asked, RdfAnswer::save);
    let answer = answered(py, &given, paths, refuse, count, save)?;
    let shown = ShownAnswer::new(py, "rdf", &asked, answer.clone())?;
    let out = match answer {
        RdfAnswer::Functions(radial) => arrays(py, radial),
        RdfAnswer::Factors(factors) => factor_arrays(py, factors),
    }?;
    out.set_item("shown", Py::new(py, shown)?)?;
    Ok(out)
}

/// Structure factors as a dictionary of arrays.
fn factor_arrays(py: Python<'_>, factors: Scattering) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("k", PyArray1::from_vec(py, factors.k))?;
    out.set_item("frames", factors.frames)?;
    out.set_item("pairs", factors.pairs)?;
    out.set_item("unit", factors.unit)?;
    let mut curves = vec![];
    for curve in factors.curves {
        let one = PyDict::new(py);
        one.set_item("names", curve.names)?;
        one.set_item("atoms", curve.atoms)?;
        one.set_item("s", PyArray1::from_vec(py, curve.s))?;
        curves.push(one);
    }
    out.set_item("curves", curves)?;
    Ok(out)
}

/// An answer as a dictionary of arrays.
fn arrays(py: Python<'_>, radial: Radial) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    let edges = |k: usize| radial.bins.iter().map(|bin| bin[k]).collect();
    out.set_item("low", PyArray1::<f64>::from_vec(py, edges(0)))?;
    out.set_item("high", PyArray1::<f64>::from_vec(py, edges(1)))?;
    out.set_item("frames", radial.frames)?;
    out.set_item("pairs", radial.pairs)?;
    out.set_item("unit", radial.unit)?;
    out.set_item("r", PyArray1::from_vec(py, radial.r))?;
    let curves: Vec<_> = radial
        .curves
        .into_iter()
        .map(|one| curve(py, one))
        .collect::<PyResult<_>>()?;
    out.set_item("curves", curves)?;
    Ok(out)
}

/// A curve as a dictionary of arrays.
fn curve(py: Python<'_>, curve: Curve) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("names", curve.names)?;
    out.set_item("atoms", curve.atoms)?;
    out.set_item("g", PyArray1::from_vec(py, curve.g))?;
    out.set_item("n", PyArray1::from_vec(py, curve.n))?;
    out.set_item("counts", PyArray1::from_vec(py, curve.counts))?;
    Ok(out)
}

/// Says how the first frame of `text` would be counted.
#[pyfunction]
pub(crate) fn explain_rdf(py: Python<'_>, text: &str, given: Given) -> PyResult<String> {
    let asked: Rdf = question(py, text)?;
    explained(py, &given, |options| {
        Ok(asked.explain(options)?.told(words))
    })
}
