//! Joins of tables by name, matches of catalogues and silhouettes, as arrays.

use crate::errors::words;
use crate::in_memory::{InMemory, known};
use crate::jobs::{self, answered, explained, question};
use crate::options::Given;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use zipfold::internals::crossmatch::CrossMatch;
use zipfold::internals::described::DeserializeOwned;
use zipfold::internals::destination::{LISTS, refuse_place, refuse_suffix};
use zipfold::internals::io::rows_write::Cells;
use zipfold::internals::silhouette::{Silhouette, Silhouettes};
use zipfold::internals::tables::{JoinedRows, MatchedRows, TableJoin};
use zipfold::io::OutputOptions;
use zipfold::{Budget, Error, Message, Options, Result, Table};

/// A question about two tables, or about one and itself.
trait OfTables: DeserializeOwned + Send + Sync {
    /// The tables: those in memory, the others from their files.
    fn tables(&self, known: [Option<Table>; 2], budget: &Budget) -> Result<Vec<Table>>;
    fn numbers(&self, tables: Vec<Table>, options: &Options<'_>) -> Result<MatchedRows>;
    fn rows(&self, tables: Vec<Table>, options: &Options<'_>) -> Result<JoinedRows>;
    fn write(
        &self,
        tables: Vec<Table>,
        to: (&str, OutputOptions),
        options: &Options<'_>,
    ) -> Result<JoinedRows>;
    fn explain(&self, tables: Vec<Table>, options: &Options<'_>) -> Result<Message>;
}

/// The first table, and the second where there is one.
fn one_or_two(tables: Vec<Table>) -> Result<(Table, Option<Table>)> {
    let mut tables = tables.into_iter();
    let first = tables.next();
    let first = first.ok_or_else(|| Error::internal("a question about no table"))?;
    Ok((first, tables.next()))
}

fn two(tables: Vec<Table>) -> Result<(Table, Table)> {
    match one_or_two(tables)? {
        (first, Some(second)) => Ok((first, second)),
        (_, None) => Err(Error::internal("a question about one table")),
    }
}

impl OfTables for TableJoin {
    fn tables(&self, known: [Option<Table>; 2], budget: &Budget) -> Result<Vec<Table>> {
        let (x, y) = self.read_beside(known, budget)?;
        Ok(std::iter::once(x).chain(y).collect())
    }
    fn numbers(&self, tables: Vec<Table>, options: &Options<'_>) -> Result<MatchedRows> {
        self.rows_of_tables(one_or_two(tables)?, options)
    }
    fn rows(&self, tables: Vec<Table>, options: &Options<'_>) -> Result<JoinedRows> {
        self.of_tables(one_or_two(tables)?, options)
    }
    fn write(
        &self,
        tables: Vec<Table>,
        (path, how): (&str, OutputOptions),
        options: &Options<'_>,
    ) -> Result<JoinedRows> {
        self.write_tables(one_or_two(tables)?, path, how, options)
    }
    fn explain(&self, tables: Vec<Table>, options: &Options<'_>) -> Result<Message> {
        self.explain_tables(one_or_two(tables)?, options)
    }
}

impl OfTables for CrossMatch {
    fn tables(&self, known: [Option<Table>; 2], budget: &Budget) -> Result<Vec<Table>> {
        let (x, y) = self.read_beside(known, budget)?;
        Ok(vec![x, y])
    }
    fn numbers(&self, tables: Vec<Table>, options: &Options<'_>) -> Result<MatchedRows> {
        self.rows_of_tables(two(tables)?, options)
    }
    fn rows(&self, tables: Vec<Table>, options: &Options<'_>) -> Result<JoinedRows> {
        self.of_tables(two(tables)?, options)
    }
    fn write(
        &self,
        tables: Vec<Table>,
        (path, how): (&str, OutputOptions),
        options: &Options<'_>,
    ) -> Result<JoinedRows> {
        self.write_tables(two(tables)?, path, how, options)
    }
    fn explain(&self, tables: Vec<Table>, options: &Options<'_>) -> Result<Message> {
        self.explain_tables(two(tables)?, options)
    }
}

/// The first two of the tables in memory.
fn pair_of(known: &[Option<Table>]) -> [Option<Table>; 2] {
    [0, 1].map(|at| known.get(at).cloned().flatten())
}

/// What an answer is: numbers of rows, cells, or how many rows went to files.
enum Answer {
    Numbers(MatchedRows),
    Rows(JoinedRows),
    Written(u64),
}

fn ask<'py, Q: OfTables>(
    py: Python<'py>,
    text: &str,
    tables: &[Option<InMemory<'py>>],
    given: Given,
    (paths, overwrite): (Vec<String>, bool),
) -> PyResult<Bound<'py, PyDict>> {
    let asked = question::<Q>(py, text)?;
    let in_memory = tables.iter().all(Option::is_some);
    let known = known(tables)?;
    let how = OutputOptions {
        force: overwrite,
        ..OutputOptions::default()
    };
    let answer = |options: &Options<'_>| {
        let tables = asked.tables(pair_of(&known), &options.budget)?;
        if paths.is_empty() {
            return match in_memory {
                true => asked.numbers(tables, options).map(Answer::Numbers),
                false => asked.rows(tables, options).map(Answer::Rows),
            };
        }
        let mut rows = 0;
        for path in &paths {
            rows = asked.write(tables.clone(), (path, how), options)?.rows;
        }
        Ok(Answer::Written(rows))
    };
    let answer = answered(
        py,
        &given,
        (&paths, overwrite),
        |path, how| {
            refuse_suffix(path, LISTS)?;
            refuse_place(path, how)
        },
        answer,
        |_, _, _| Ok(()),
    )?;
    let out = PyDict::new(py);
    match answer {
        Answer::Written(rows) => out.set_item("rows", rows)?,
        Answer::Rows(rows) => out.set_item("cells", cells(py, rows)?)?,
        Answer::Numbers(found) => {
            out.set_item("i", PyArray1::from_vec(py, found.i))?;
            out.set_item("j", PyArray1::from_vec(py, found.j))?;
            // No match has no values, but the column is there.
            let asked = found.columns.iter().any(|(_, _, what)| what == "value");
            let values = (asked || !found.values.is_empty()).then_some(found.values);
            out.set_item("values", values.map(|v| PyArray1::from_vec(py, v)))?;
            let formulas = found.formulas.into_iter();
            let formulas: Vec<_> = formulas.map(|v| PyArray1::from_vec(py, v)).collect();
            out.set_item("formulas", formulas)?;
            out.set_item("columns", found.columns)?;
            out.set_item("pairs", found.pairs)?;
        }
    }
    Ok(out)
}

/// Cells by the name of their column: arrays of numbers, lists of words.
fn cells(py: Python<'_>, rows: JoinedRows) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    for column in rows.columns {
        match &column.cells {
            Cells::Numbers(values) | Cells::Whole(values) => {
                out.set_item(&column.name, PyArray1::from_slice(py, values))?;
            }
            Cells::Words(_, rows) => {
                let word = |at: usize| Some(column.cells.word(at)).filter(|word| !word.is_empty());
                let all = (0..rows.len()).map(word).collect::<Vec<_>>();
                out.set_item(&column.name, PyList::new(py, all)?)?;
            }
        }
    }
    Ok(out)
}

fn told<Q: OfTables>(
    py: Python<'_>,
    text: &str,
    tables: &[Option<InMemory<'_>>],
    given: &Given,
) -> PyResult<String> {
    let asked = question::<Q>(py, text)?;
    let known = known(tables)?;
    explained(py, given, |options| {
        let tables = asked.tables(pair_of(&known), &options.budget)?;
        Ok(asked.explain(tables, options)?.told(words))
    })
}

/// Joins two tables, or one with itself, as `text` (a question as JSON) asks, and writes the rows to
/// each of `paths`.
#[pyfunction]
pub(crate) fn join_tables<'py>(
    py: Python<'py>,
    text: &str,
    tables: Vec<Option<InMemory<'py>>>,
    given: Given,
    paths: Vec<String>,
    overwrite: bool,
) -> PyResult<Bound<'py, PyDict>> {
    ask::<TableJoin>(py, text, &tables, given, (paths, overwrite))
}

/// Says how two tables would be joined.
#[pyfunction]
pub(crate) fn explain_join(
    py: Python<'_>,
    text: &str,
    tables: Vec<Option<InMemory<'_>>>,
    given: Given,
) -> PyResult<String> {
    told::<TableJoin>(py, text, &tables, &given)
}

/// Matches two catalogues by position, as `text` (a question as JSON) asks.
#[pyfunction]
pub(crate) fn crossmatch<'py>(
    py: Python<'py>,
    text: &str,
    tables: Vec<Option<InMemory<'py>>>,
    given: Given,
    paths: Vec<String>,
    overwrite: bool,
) -> PyResult<Bound<'py, PyDict>> {
    ask::<CrossMatch>(py, text, &tables, given, (paths, overwrite))
}

/// Says how two catalogues would be matched.
#[pyfunction]
pub(crate) fn explain_crossmatch(
    py: Python<'_>,
    text: &str,
    tables: Vec<Option<InMemory<'_>>>,
    given: Given,
) -> PyResult<String> {
    told::<CrossMatch>(py, text, &tables, &given)
}

/// Silhouettes of the rows of a table, as `text` (a question as JSON) asks.
#[pyfunction]
pub(crate) fn silhouette<'py>(
    py: Python<'py>,
    text: &str,
    table: Option<InMemory<'py>>,
    given: Given,
    paths: Vec<String>,
    overwrite: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let paths = (&paths[..], overwrite);
    let (answer, shown) = jobs::ask::<Silhouette>(
        py,
        ("silhouette", text),
        table,
        &given,
        paths,
        Silhouettes::save,
    )?;
    let out = PyDict::new(py);
    out.set_item("shown", Py::new(py, shown)?)?;
    out.set_item("mean", answer.mean)?;
    out.set_item("values", PyArray1::from_vec(py, answer.values))?;
    out.set_item("own", PyArray1::from_vec(py, answer.own))?;
    out.set_item("next", PyArray1::from_vec(py, answer.next))?;
    out.set_item("codes", PyArray1::from_vec(py, answer.codes))?;
    out.set_item("neighbours", PyArray1::from_vec(py, answer.neighbours))?;
    out.set_item("groups", answer.groups)?;
    let means = answer.by_group.iter().map(|(_, mean)| *mean).collect();
    out.set_item("by_group", PyArray1::from_vec(py, means))?;
    Ok(out)
}

/// Says how the distances of silhouettes would be summed.
#[pyfunction]
pub(crate) fn explain_silhouette(
    py: Python<'_>,
    text: &str,
    table: Option<InMemory<'_>>,
    given: Given,
) -> PyResult<String> {
    jobs::told::<Silhouette>(py, text, table, &given)
}
