//! States of folds as dictionaries of NumPy arrays; the Python half makes results of them.

use crate::errors::raise;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zipfold::core::fold::{Closed, Fold, Histogram, HistogramState, SelectState, State, Tally};
use zipfold::{Error, Output};

/// What fold `fold` gave.
pub fn result<'py>(py: Python<'py>, fold: &Fold, output: Output) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    match (fold, output) {
        (_, Output::F64(v)) => out.set_item("values", PyArray1::from_vec(py, v))?,
        (_, Output::F32(v)) => out.set_item("values", PyArray1::from_vec(py, v))?,
        (Fold::Rows(f), Output::State(State::Rows(s))) => {
            out.set_item("values", PyArray1::from_vec(py, s.finish(f)))?;
            out.set_item("counts", PyArray1::from_slice(py, s.counts()))?;
            out.set_item("width", f.out_width())?;
        }
        (Fold::Nearest(f), Output::State(State::Nearest(s))) => {
            let (indices, values) = s.finish(f);
            out.set_item("indices", PyArray1::from_vec(py, indices))?;
            out.set_item("values", PyArray1::from_vec(py, values))?;
        }
        (Fold::Histogram(f), Output::State(State::Histogram(s))) => histogram(py, &out, f, &s)?,
        (Fold::Select(_), Output::State(State::Select(s))) => select(py, &out, s)?,
        _ => return Err(raise(py, &Error::internal("a fold and its state do not belong together"))),
    }
    Ok(out)
}

fn histogram(py: Python<'_>, out: &Bound<'_, PyDict>, f: &Histogram, s: &HistogramState) -> PyResult<()> {
    let edges: Vec<_> = f.axes.iter().map(|a| PyArray1::from_slice(py, &a.edges)).collect();
    out.set_item("edges", edges)?;
    out.set_item("closed", if f.closed == Closed::Last { "last" } else { "half-open" })?;
    out.set_item("counts", PyArray1::from_slice(py, &s.counts))?;
    if let Some(weights) = s.weights() {
        out.set_item("weights", PyArray1::from_vec(py, weights))?;
    }
    if let Some(means) = s.means() {
        out.set_item("means", PyArray1::from_vec(py, means))?;
    }
    Ok(())
}

fn select(py: Python<'_>, out: &Bound<'_, PyDict>, s: SelectState) -> PyResult<()> {
    // Rows are counted in memory, so their numbers fit an i64, NumPy's own type of indices.
    out.set_item("i", PyArray1::from_vec(py, s.i.into_iter().map(|i| i as i64).collect()))?;
    out.set_item("j", PyArray1::from_vec(py, s.j.into_iter().map(|j| j as i64).collect()))?;
    out.set_item("values", PyArray1::from_vec(py, s.values))?;
    out.set_item("matched", PyArray1::from_vec(py, s.matched))
}

/// What happened to the cells.
pub fn tally<'py>(py: Python<'py>, tally: &Tally) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("counted", tally.counted)?;
    out.set_item("far", tally.far)?;
    out.set_item("nan", tally.nan)?;
    Ok(out)
}
