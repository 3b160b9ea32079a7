//! The rows of an answer: matches become cells, in memory or in a file.

use super::found::{MatchBatch, Taker};
use super::output::{OutputColumns, RowSink};
use crate::options::Options;
use crate::saved;
use zipfold_core::Result;
use zipfold_io::rows_write::{CellKind, Cells, RowsWriter, is_streamed};
use zipfold_io::{Column, OutputOptions};

/// A column of an answer.
///
/// ```
/// use zipfold::internals::io::rows_write::Cells;
/// use zipfold::internals::tables::JoinedColumn;
/// let column = JoinedColumn { name: "gap".into(), cells: Cells::Numbers(vec![0.5, f64::NAN]) };
/// assert_eq!(column.cells.len(), 2); // the second one is a null
/// ```
#[derive(Clone, Debug)]
pub struct JoinedColumn {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub cells: Cells,
}

/// The rows of a join of tables.
///
/// ```
/// use zipfold::internals::tables::{JoinedRows, TableJoin};
/// use zipfold::{Options, Table};
/// let day = |days: Vec<f64>| Table::f64(days.len(), 1, days)?.with_names(vec!["day".into()]);
/// let join = TableJoin { nearest: Some(1), ..TableJoin::new("visits", "tests") };
/// let tables = (day(vec![3.0, 9.0])?, Some(day(vec![1.0, 8.0])?));
/// let answer: JoinedRows = join.of_tables(tables, &Options::default())?;
/// assert_eq!((answer.rows, answer.names()), (2, vec!["x.day", "y.day", "value"]));
/// # Ok::<(), zipfold::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct JoinedRows {
    /// The columns; of rows that went to a file, without cells.
    pub columns: Vec<JoinedColumn>,
    /// Number of rows.
    pub rows: u64,
    /// Pairs that were visited.
    pub pairs: u64,
    /// The rules, in a line.
    #[doc(hidden)]
    pub rule: String,
}

/// The numbers of the rows of a join of tables.
///
/// ```
/// use zipfold::internals::tables::{MatchedRows, TableJoin};
/// use zipfold::{Options, Table};
/// let day = |days: Vec<f64>| Table::f64(days.len(), 1, days)?.with_names(vec!["day".into()]);
/// let join = TableJoin { on: vec!["day".into()], ..TableJoin::new("visits", "tests") };
/// let tables = (day(vec![3.0, 9.0])?, Some(day(vec![9.0, 9.0])?));
/// let found: MatchedRows = join.rows_of_tables(tables, &Options::default())?;
/// assert_eq!((found.i, found.j), (vec![1, 1], vec![0, 1]));
/// # Ok::<(), zipfold::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct MatchedRows {
    /// Rows of x.
    pub i: Vec<u64>,
    /// Rows of y; below 0 where there is none.
    pub j: Vec<i64>,
    /// The value of each, where one is asked.
    pub values: Vec<f64>,
    /// Values of the formulas of the output, in their order.
    pub formulas: Vec<Vec<f64>>,
    /// The columns of the output: its name, and the table (0, 1) and the name of a column there, or
    /// 2 and `formula` or `value`.
    pub columns: Vec<(String, usize, String)>,
    /// Pairs that were visited.
    pub pairs: u64,
}

/// Where the rows of an answer go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Destination<'a> {
    /// Into memory.
    Memory,
    /// The first ones into memory; the others are counted.
    First,
    /// Into a file.
    File(&'a str, OutputOptions),
}

/// Rows that a terminal shows.
const SHOWN: usize = 20;

/// What finds matches and hands them on; it returns the pairs visited.
pub(crate) type Finder<'f> = dyn Fn(&mut Taker<'_>) -> Result<u64> + 'f;

/// The rows of the matches that `finder` finds.
///
/// # Errors
/// Those of `finder`; `Resource` beyond the budget; those of the file system.
pub(crate) fn gathered(
    finder: &Finder<'_>,
    output: &OutputColumns<'_>,
    destination: Destination<'_>,
    rule: String,
    options: &Options<'_>,
) -> Result<JoinedRows> {
    let mut sink = match destination {
        Destination::File(path, how) if is_streamed(path) => {
            let notes = [rule.clone()];
            RowSink::File(RowsWriter::create(path, &output.columns, &notes, how)?)
        }
        Destination::Memory | Destination::File(..) => RowSink::Memory(vec![], vec![]),
        Destination::First => RowSink::First(vec![], SHOWN),
    };
    let mut rows = 0;
    let pairs = finder(&mut |found| {
        sink.take(output, found, &options.budget)?;
        rows += found.i.len() as u64;
        Ok(())
    })?;
    let streamed = matches!(sink, RowSink::File(_));
    let cells = match sink {
        RowSink::File(file) => {
            file.finish()?;
            vec![]
        }
        RowSink::Memory(cells, _) | RowSink::First(cells, _) => cells,
    };
    let cells = match cells.is_empty() {
        true => output.cells(&MatchBatch::default())?,
        false => cells,
    };
    let named = |((name, _), cells): (&(String, CellKind), Cells)| JoinedColumn {
        name: name.clone(),
        cells,
    };
    let answer = JoinedRows {
        columns: output.columns.iter().zip(cells).map(named).collect(),
        rows,
        pairs,
        rule,
    };
    match destination {
        Destination::File(path, how) if !streamed => answer.write(path, how)?,
        Destination::File(..) | Destination::Memory | Destination::First => {}
    }
    Ok(answer)
}

/// The numbers of the rows of the matches that `finder` finds.
///
/// # Errors
/// Those of `finder`; `Resource` beyond the budget.
pub(crate) fn numbers(
    finder: &Finder<'_>,
    output: &OutputColumns<'_>,
    options: &Options<'_>,
) -> Result<MatchedRows> {
    let mut out = MatchedRows {
        columns: output.described(),
        // A list for each formula, also where nothing matches.
        formulas: output.formula_values(&MatchBatch::default())?,
        ..MatchedRows::default()
    };
    let mut held = vec![];
    let pairs = finder(&mut |found| {
        let bytes = (found.i.len() * (24 + 8 * output.columns.len())) as u64;
        held.push(options.budget.reserve(bytes, "the rows of the join")?);
        out.i.extend(&found.i);
        out.j.extend(&found.j);
        out.values.extend(&found.values);
        let formulas = output.formula_values(found)?;
        let both = out.formulas.iter_mut().zip(formulas);
        both.for_each(|(to, from)| to.extend(from));
        Ok(())
    })?;
    out.pairs = pairs;
    Ok(out)
}

impl JoinedColumn {
    /// The column as writers of whole columns take it.
    fn written(&self) -> (String, Column<'_>) {
        let cells = match &self.cells {
            Cells::Numbers(values) | Cells::Whole(values) => Column::F64(values),
            Cells::Words(words, rows) => Column::Words(words, rows),
        };
        (self.name.clone(), cells)
    }
}

impl JoinedRows {
    /// Names of the columns.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|c| c.name.as_str()).collect()
    }
    /// Writes the rows in memory to `path`, with numbers of words where the format holds no words.
    ///
    /// # Errors
    /// Those of [`JoinedRows::write`].
    pub(crate) fn write_numbered(mut self, path: &str, how: OutputOptions) -> Result<()> {
        let columns = self.columns.iter_mut().filter(|_| path.ends_with(".npz"));
        for column in columns {
            if let Cells::Words(_, rows) = &column.cells {
                column.cells = Cells::Whole(rows.iter().map(|row| *row as f64).collect());
            }
        }
        self.write(path, how)
    }
    /// Writes the rows in memory to `path`, in the format of its suffix.
    ///
    /// # Errors
    /// `Request` for another suffix, or for an output that exists; those of the file system.
    pub fn write(&self, path: &str, how: OutputOptions) -> Result<()> {
        let notes = [self.rule.clone()];
        if is_streamed(path) {
            let kind = |c: &JoinedColumn| (c.name.clone(), c.cells.kind());
            let columns: Vec<(String, CellKind)> = self.columns.iter().map(kind).collect();
            let mut file = RowsWriter::create(path, &columns, &notes, how)?;
            let cells: Vec<Cells> = self.columns.iter().map(|c| c.cells.clone()).collect();
            file.push(&cells)?;
            return file.finish();
        }
        let columns = self.columns.iter().map(JoinedColumn::written);
        let columns: Vec<(String, Column<'_>)> = columns.collect();
        saved::write(path, &columns, &notes, how)
    }
    /// The first rows as lines of text, below the names of the columns.
    #[must_use]
    pub fn lines(&self) -> String {
        let rows = self.columns.first().map_or(0, |c| c.cells.len()).min(SHOWN);
        let mut lines = vec![String::new(); rows + 1];
        for (at, column) in self.columns.iter().enumerate() {
            let mut texts = vec![column.name.clone()];
            for row in 0..rows {
                let mut text = String::new();
                column.cells.show(row, &mut text);
                texts.push(text);
            }
            let wide = texts.iter().map(|t| t.chars().count()).max().unwrap_or(0);
            for (line, text) in lines.iter_mut().zip(texts) {
                let gap = if at == 0 { "" } else { "  " };
                *line += &format!("{gap}{text:<wide$}");
            }
        }
        let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n")
    }
    /// The answer as JSON: how many rows, the columns, and the rules.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "rows": self.rows,
            "pairs": self.pairs,
            "columns": self.names(),
            "rule": self.rule,
        })
    }
}

#[cfg(feature = "plot")]
impl JoinedRows {
    /// The answer with as many of its first rows as there are in memory and as a page shows, and with
    /// words that say how many these are.
    fn table_json(&self) -> serde_json::Value {
        let held = self.columns.first().map_or(0, |c| c.cells.len());
        let shown = held.min(crate::report::LINES);
        let mut value = self.json();
        value["rows shown"] = match (shown, self.rows) {
            (_, 0) => "none: nothing matched".into(),
            (0, all) => {
                format!("none of {all}: they went to their file while they were found").into()
            }
            (some, all) if some as u64 == all => "all".into(),
            (some, all) => format!("the first {some} of {all}").into(),
        };
        if shown == 0 {
            return value;
        }
        let mut columns = serde_json::Map::new();
        for column in &self.columns {
            let cells = (0..shown).map(|row| {
                let mut text = String::new();
                column.cells.show(row, &mut text);
                serde_json::Value::from(text)
            });
            columns.insert(column.name.clone(), cells.collect());
        }
        value["first rows"] = columns.into();
        value
    }
}

#[cfg(feature = "plot")]
impl crate::report::Shown for JoinedRows {
    fn numbers(&self) -> serde_json::Value {
        self.table_json()
    }
    fn picture(&self) -> Result<Option<String>> {
        Ok(None)
    }
}
