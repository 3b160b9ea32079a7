//! Tables of callers: numbers and text, in memory; numbers of files.

use crate::errors::raise;
use crate::options::Given;
use crate::watch::attended;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use zipfold::Table;
use zipfold::internals::core::{Elements, Labels, Words};
use zipfold::io::{ReadOptions, read_table};

/// A column of text: its name, the number of the word of each row (NaN for none), and the words.
type Text<'py> = (String, PyReadonlyArray1<'py, f64>, Vec<String>);
/// A table in memory: its numbers and their names, its columns of text, and the names of columns
/// that only an output has.
pub(crate) type InMemory<'py> = (Bound<'py, PyAny>, Vec<String>, Vec<Text<'py>>, Vec<String>);

/// Tables in memory; none for one that is a file.
pub(crate) fn known(tables: &[Option<InMemory<'_>>]) -> PyResult<Vec<Option<Table>>> {
    let one = |(array, names, texts, others): &InMemory<'_>| {
        let table = crate::array::table(array)?;
        let rows = table.rows();
        let text = |(name, codes, known): &Text<'_>| {
            let codes = codes.as_array();
            let word = |code: &f64| match code.is_nan() {
                true => "",
                false => known.get(*code as usize).map_or("", String::as_str),
            };
            Words::from_words(name, codes.iter().map(word))
        };
        let none = |name: &String| Words::from_words(name, std::iter::repeat_n("", rows));
        let labels = texts.iter().map(text).chain(others.iter().map(none));
        table
            .with_names(names.clone())
            .and_then(|table| table.with_labels(Labels::new(labels.collect())))
            .map_err(|e| raise(array.py(), &e))
    };
    let tables = tables.iter().map(|t| t.as_ref().map(one).transpose());
    tables.collect()
}

/// The numbers of the table in a file: these columns, or all.
#[pyfunction]
pub(crate) fn read_file<'py>(
    py: Python<'py>,
    path: &str,
    columns: Option<Vec<String>>,
    given: Given,
) -> PyResult<Bound<'py, PyAny>> {
    let options = ReadOptions {
        columns,
        ..ReadOptions::default()
    };
    let done = attended(py, false, None, |shared| {
        let tell = |p| shared.tell(p);
        let budget = given.options(shared, &tell, false)?.budget;
        let table = read_table(path, &options, &budget)?;
        // NumPy owns a copy, next to the table until this returns.
        let bytes = table.elements().len() * table.precision().bytes();
        let copy = budget.reserve(bytes as u64, "the array of the table")?;
        Ok((table, copy))
    })?;
    let (table, _copy) = done.map_err(|e| raise(py, &e))?;
    let shape = [table.rows(), table.cols()];
    Ok(match table.elements() {
        Elements::F32(items) => PyArray1::from_slice(py, items).reshape(shape)?.into_any(),
        Elements::F64(items) => PyArray1::from_slice(py, items).reshape(shape)?.into_any(),
    })
}
