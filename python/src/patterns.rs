//! Ripley's functions, co-occurrence and correlograms, as arrays.

use crate::errors::words;
use crate::jobs::{answered, explained, question};
use crate::options::Given;
use crate::tables::{InMemory, known};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zipfold::internals::correlogram::{Correlogram, Correlograms};
use zipfold::internals::pattern::{Cooccurrence, Occurrences, Ripley, RipleyAnswer, RipleyCurve};
use zipfold::internals::rdf::refuse;
use zipfold::io::OutputOptions;
use zipfold::{Message, Options, Result, Table};

/// A question about one table, in memory or a file.
trait OfTable: Sized + Send + Sync {
    type Answer: Send;
    fn read(text: &str) -> serde_json::Result<Self>;
    fn answer(&self, table: Option<Table>, options: &Options<'_>) -> Result<Self::Answer>;
    fn explain(&self, table: Option<Table>, options: &Options<'_>) -> Result<Message>;
    fn save(answer: &Self::Answer, path: &str, how: OutputOptions) -> Result<()>;
}

// The three questions have methods of the same names.
macro_rules! of_table {
    ($question:ty, $answer:ty) => {
        impl OfTable for $question {
            type Answer = $answer;
            fn read(text: &str) -> serde_json::Result<Self> {
                serde_json::from_str(text)
            }
            fn answer(&self, table: Option<Table>, options: &Options<'_>) -> Result<$answer> {
                match table {
                    Some(table) => self.of_table(table, options),
                    None => self.run(options),
                }
            }
            fn explain(&self, table: Option<Table>, options: &Options<'_>) -> Result<Message> {
                match table {
                    Some(table) => self.explain_table(table, options),
                    None => <$question>::explain(self, options),
                }
            }
            fn save(answer: &$answer, path: &str, how: OutputOptions) -> Result<()> {
                answer.save(path, how)
            }
        }
    };
}

of_table!(Ripley, RipleyAnswer);
of_table!(Cooccurrence, Occurrences);
of_table!(Correlogram, Correlograms);

fn ask<Q: OfTable>(
    py: Python<'_>,
    text: &str,
    table: Option<InMemory<'_>>,
    given: &Given,
    paths: (&[String], bool),
) -> PyResult<Q::Answer> {
    let asked = question(py, Q::read(text))?;
    let known = known(&[table])?;
    let answer = |options: &Options<'_>| asked.answer(known.first().cloned().flatten(), options);
    answered(py, given, paths, refuse, answer, Q::save)
}

fn told<Q: OfTable>(
    py: Python<'_>,
    text: &str,
    table: Option<InMemory<'_>>,
    given: &Given,
) -> PyResult<String> {
    let asked = question(py, Q::read(text))?;
    let known = known(&[table])?;
    explained(py, given, |options| {
        let told = asked.explain(known.first().cloned().flatten(), options);
        Ok(told?.told(words))
    })
}

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
    let answer = ask::<Ripley>(py, text, table, &given, (&paths, overwrite))?;
    let out = PyDict::new(py);
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
    let answer = ask::<Cooccurrence>(py, text, table, &given, (&paths, overwrite))?;
    let shape = [
        answer.kinds.len(),
        answer.kinds.len(),
        answer.edges.len() - 1,
    ];
    let out = PyDict::new(py);
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
    let answer = ask::<Correlogram>(py, text, table, &given, (&paths, overwrite))?;
    let units = answer.units.len();
    let shape = [units, units, answer.edges.len() - 1];
    let both = || (0..units * units).map(|at| (at / units, at % units));
    let values = both().flat_map(|(a, b)| answer.values(a, b)).collect();
    let expected = both().map(|(a, b)| answer.expected(a, b)).collect();
    let out = PyDict::new(py);
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
