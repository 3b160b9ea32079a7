//! Tables of callers: numbers and text, in memory.

use crate::errors::raise;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use zipfold::Table;
use zipfold::internals::core::{Labels, Words};

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
