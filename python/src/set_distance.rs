//! Distances of two sets of rows.

use crate::errors::words;
use crate::jobs::{answered, explained, question};
use crate::options::Given;
use crate::run::{Named, data};
use crate::shown::{ShownAnswer, save_or_page};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zipfold::Data;
use zipfold::internals::rdf::refuse;
use zipfold::internals::set_distance::{
    Directed, SetDistance, SetDistanceLine, SetDistances, SetMeasure,
};

/// The rows of both sets, where they are in memory.
type Sets<'py> = Option<(Named<'py>, Named<'py>)>;

/// The question and its rows in memory.
fn asked(
    py: Python<'_>,
    (measure, text): (&str, &str),
    sets: &Sets<'_>,
) -> PyResult<(SetDistance, Option<Data>)> {
    let mut asked: SetDistance = question(py, text)?;
    asked.measure = match measure {
        "chamfer" => SetMeasure::Chamfer,
        _ => SetMeasure::Hausdorff,
    };
    let rows = sets.as_ref();
    let rows = rows.map(|(x, y)| data(x, Some(y), &(vec![None], None)));
    Ok((asked, rows.transpose()?))
}

/// The distance of two sets of rows, as `text` (a question as JSON) asks.
#[pyfunction]
pub(crate) fn set_distance<'py>(
    py: Python<'py>,
    question: (String, String),
    sets: Sets<'py>,
    given: Given,
    paths: Vec<String>,
    overwrite: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let (asked, rows) = asked(py, (&question.0, &question.1), &sets)?;
    let name = asked.measure.name();
    let save = save_or_page(name, &asked, SetDistances::save);
    let answer = |options: &zipfold::Options<'_>| match &rows {
        Some(rows) => asked.of_data(rows, options),
        None => asked.run(options),
    };
    let answer = answered(py, &given, (&paths, overwrite), refuse, answer, save)?;
    let out = PyDict::new(py);
    let shown = ShownAnswer::new(py, name, &asked, answer.clone())?;
    out.set_item("shown", Py::new(py, shown)?)?;
    let value = |line: &SetDistanceLine| line.value;
    out.set_item("values", numbers(py, &answer, &value))?;
    out.set_item("rows", rows_of(py, &answer, &SetDistanceLine::rows)?)?;
    type Of = fn(&SetDistanceLine) -> Option<Directed>;
    let ways: [(&str, Of); 2] = [("forward", |l| l.forward), ("backward", |l| l.backward)];
    for (name, of) in ways {
        if answer.lines.iter().all(|line| of(line).is_none()) {
            continue;
        }
        let value = |line: &SetDistanceLine| of(line).map_or(f64::NAN, |way| way.value);
        let rows = |line: &SetDistanceLine| of(line).and_then(|way| way.rows);
        out.set_item(name, numbers(py, &answer, &value))?;
        out.set_item(format!("{name}_rows"), rows_of(py, &answer, &rows)?)?;
    }
    out.set_item("batches", answer.batches.map(|(_, labels)| labels))?;
    Ok(out)
}

fn numbers<'py>(
    py: Python<'py>,
    answer: &SetDistances,
    of: &dyn Fn(&SetDistanceLine) -> f64,
) -> Bound<'py, PyArray1<f64>> {
    PyArray1::from_vec(py, answer.lines.iter().map(of).collect())
}

/// A row of x and one of y for each distance; −1 where there is none.
fn rows_of<'py>(
    py: Python<'py>,
    answer: &SetDistances,
    of: &dyn Fn(&SetDistanceLine) -> Option<[usize; 2]>,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let row = |line: &SetDistanceLine| match of(line) {
        Some(rows) => rows.map(|row| row as i64).to_vec(),
        None => vec![-1, -1],
    };
    let rows: Vec<Vec<i64>> = answer.lines.iter().map(row).collect();
    // A shape of its own where there is no line.
    match rows.is_empty() {
        true => Ok(PyArray2::zeros(py, [0, 2], false)),
        false => Ok(PyArray2::from_vec2(py, &rows)?),
    }
}

/// Says how the rows would be searched.
#[pyfunction]
pub(crate) fn explain_set_distance(
    py: Python<'_>,
    question: (String, String),
    sets: Sets<'_>,
    given: Given,
) -> PyResult<String> {
    let (asked, rows) = asked(py, (&question.0, &question.1), &sets)?;
    explained(py, &given, |options| {
        let told = match &rows {
            Some(rows) => asked.explain_data(rows, options),
            None => asked.explain(options),
        };
        Ok(told?.told(words))
    })
}
