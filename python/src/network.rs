//! Networks of rows that go together, as arrays.

use crate::errors::{raise, words};
use crate::jobs::{answered, explained, question};
use crate::options::Given;
use crate::shown::{ShownAnswer, save_or_page};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zipfold::internals::association::{
    Association, AssociationNetwork, Dense, Edges, Expression, ScaleFree, refuse,
};
use zipfold::{Options, Result, Table};

/// A table in memory: its rows, and the names of what goes together.
type InMemory<'py> = Option<(Bound<'py, PyAny>, Option<Vec<String>>)>;

/// Answers `text` (a question as JSON) about a file, or the table `known`; fills the matrices of all
/// pairs that are named; and writes the answer to each of `paths`.
#[pyfunction]
pub(crate) fn network<'py>(
    py: Python<'py>,
    text: &str,
    known: InMemory<'py>,
    matrices: Vec<String>,
    given: Given,
    out: (Vec<String>, bool),
) -> PyResult<Bound<'py, PyDict>> {
    let asked: Association = question(py, text)?;
    let known = table(known, asked.transpose)?;
    let mut filled = vec![];
    let answer = |options: &Options<'_>| {
        for name in &matrices {
            asked.refuse_matrix(dense(name))?;
        }
        let rows = rows(&asked, known.as_ref(), options)?;
        let network = asked.network(&rows, options)?;
        for name in &matrices {
            filled.push(asked.matrix(&rows, dense(name), network.power, options)?);
        }
        Ok(network)
    };
    let out = (out.0.as_slice(), out.1);
    let save = save_or_page("network", &asked, AssociationNetwork::save);
    let network = answered(py, &given, out, refuse, answer, save)?;
    let n = network.names.rows();
    let shown = ShownAnswer::new(py, "network", &asked, network.clone())?;
    let out = arrays(py, network)?;
    out.set_item("shown", Py::new(py, shown)?)?;
    let square = PyDict::new(py);
    for (name, matrix) in matrices.iter().zip(filled) {
        let array = PyArray1::from_vec(py, matrix.into_values()).reshape([n, n])?;
        square.set_item(name, array)?;
    }
    out.set_item("matrices", square)?;
    Ok(out)
}

/// The matrix of a name.
fn dense(name: &str) -> Dense {
    match name {
        "values" => Dense::Values,
        "weights" => Dense::Weights,
        _ => Dense::Overlaps,
    }
}

/// Says how the pairs of `text` would be computed.
#[pyfunction]
pub(crate) fn explain_network(
    py: Python<'_>,
    text: &str,
    known: InMemory<'_>,
    given: Given,
) -> PyResult<String> {
    let asked: Association = question(py, text)?;
    let known = table(known, asked.transpose)?;
    explained(py, &given, |options| {
        let rows = rows(&asked, known.as_ref(), options)?;
        Ok(asked.explain_rows(&rows, options)?.told(words))
    })
}

/// The rows of the file, or of a table in memory.
fn rows(asked: &Association, known: Option<&Table>, options: &Options<'_>) -> Result<Expression> {
    match known {
        Some(table) => Expression::new(table, asked, &options.budget),
        None => Expression::read(asked, &options.budget),
    }
}

/// A table with the names of its rows, or of its columns.
fn table(known: InMemory<'_>, transpose: bool) -> PyResult<Option<Table>> {
    let Some((array, names)) = known else {
        return Ok(None);
    };
    let table = crate::array::table(&array)?;
    let named = match names {
        None => Ok(table),
        Some(names) if transpose => table.with_names(names),
        Some(names) => {
            let words = zipfold::internals::core::Words::from_words(
                "name",
                names.iter().map(String::as_str),
            );
            table.with_labels(zipfold::internals::core::Labels::new(vec![words]))
        }
    };
    named.map(Some).map_err(|e| raise(array.py(), &e))
}

/// An answer as a dictionary of arrays.
fn arrays(py: Python<'_>, network: AssociationNetwork) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    let names = &network.names;
    let names: Vec<&str> = (0..names.rows()).map(|row| names.get(row)).collect();
    out.set_item("names", names)?;
    out.set_item("measure", network.measure.name())?;
    out.set_item("samples", network.samples)?;
    out.set_item("fits", fits(py, &network.fits)?)?;
    set_edges(py, &out, network.edges)?;
    out.set_item("tested", network.tested)?;
    out.set_item("constant", network.constant)?;
    out.set_item("power", network.power)?;
    out.set_item("pairs", network.pairs)?;
    Ok(out)
}

/// A number of a fit, and its name.
type FitColumn = (&'static str, fn(&ScaleFree) -> f64);

/// The fits of powers, by name.
fn fits<'py>(py: Python<'py>, all: &[ScaleFree]) -> PyResult<Bound<'py, PyDict>> {
    let fits = PyDict::new(py);
    let columns: [FitColumn; 6] = [
        ("power", |fit| fit.power),
        ("r2", |fit| fit.r2),
        ("slope", |fit| fit.slope),
        ("mean", |fit| fit.mean),
        ("median", |fit| fit.median),
        ("largest", |fit| fit.largest),
    ];
    for (name, get) in columns {
        let values = all.iter().map(get).collect();
        fits.set_item(name, PyArray1::from_vec(py, values))?;
    }
    Ok(fits)
}

/// Sets the columns of edges.
fn set_edges(py: Python<'_>, out: &Bound<'_, PyDict>, edges: Edges) -> PyResult<()> {
    out.set_item("i", PyArray1::from_vec(py, edges.i))?;
    out.set_item("j", PyArray1::from_vec(py, edges.j))?;
    out.set_item("values", PyArray1::from_vec(py, edges.values))?;
    out.set_item("counts", PyArray1::from_vec(py, edges.counts))?;
    for (name, values) in [("p", edges.p), ("q", edges.q), ("weights", edges.weights)] {
        out.set_item(name, values.map(|values| PyArray1::from_vec(py, values)))?;
    }
    Ok(())
}
