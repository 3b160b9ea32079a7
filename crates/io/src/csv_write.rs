//! Writing named columns as CSV or TSV.

use crate::atomic::Output;
use crate::column::Column;
use std::borrow::Cow;
use std::io::{self, Write};
use zipfold_core::{Error, Result, Words};

/// A CSV or TSV file that takes rows.
pub(crate) struct CsvRows {
    out: Output,
    separator: u8,
}

impl CsvRows {
    /// Begins the file with a header of the names of `columns`, below `comments` each behind `# `.
    ///
    /// # Errors
    /// `Resource` when the disk is full.
    pub(crate) fn create(
        mut out: Output,
        separator: u8,
        columns: &[(&str, Column<'_>)],
        comments: &[String],
    ) -> Result<Self> {
        let written =
            comment_lines(&mut out, comments).and_then(|()| header(&mut out, separator, columns));
        written.map_err(|e| out.error(&e))?;
        Ok(CsvRows { out, separator })
    }
    /// Writes the rows of columns of one length.
    ///
    /// # Errors
    /// `Resource` when the disk is full; `Internal` when the columns differ in length.
    pub(crate) fn push(&mut self, columns: &[(&str, Column<'_>)]) -> Result<()> {
        let (out, separator) = (&mut self.out, self.separator);
        let rows = columns.first().map_or(0, |(_, c)| c.len());
        if let Some((name, column)) = columns.iter().find(|(_, c)| c.len() != rows) {
            return Err(Error::internal(format!(
                "column {name} has {} rows, the first has {rows}",
                column.len()
            ))
            .at_place(out.name()));
        }
        let written = (0..rows).try_for_each(|row| line(out, separator, columns, row));
        written.map_err(|e| out.error(&e))
    }
    /// Completes the file.
    ///
    /// # Errors
    /// `Resource` when the disk is full.
    pub(crate) fn finish(self) -> Result<()> {
        self.out.commit()
    }
}

/// Writes a header and rows, below `comments` each behind `# `.
///
/// # Errors
/// `Resource` when the disk is full; `Internal` when the columns differ in length.
pub fn write_csv(
    out: Output,
    separator: u8,
    columns: &[(&str, Column<'_>)],
    comments: &[String],
) -> Result<()> {
    let mut rows = CsvRows::create(out, separator, columns, comments)?;
    rows.push(columns)?;
    rows.finish()
}

/// Writes rows without a header, as NumPy's `savetxt` does: the 2-D form of an array in row-major
/// order.
///
/// # Errors
/// `Resource` when the disk is full.
pub fn write_csv_rows(
    mut out: Output,
    separator: u8,
    cols: usize,
    items: Column<'_>,
) -> Result<()> {
    let rows = items.len() / cols.max(1);
    let row = |out: &mut Output, row: usize| {
        for col in 0..cols {
            cell(out, separator, col, items, row * cols + col)?;
        }
        out.write_all(b"\n")
    };
    let written = (0..rows).try_for_each(|at| row(&mut out, at));
    written.map_err(|e| out.error(&e))?;
    out.commit()
}

/// Writes a matrix with the names of its columns above it and those of its rows before them.
///
/// # Errors
/// `Resource` when the disk is full.
pub fn write_named_rows(
    mut out: Output,
    separator: u8,
    names: [&Words; 2],
    items: Column<'_>,
) -> Result<()> {
    let [rows, columns] = names;
    let cols = columns.rows();
    let mut lines = || -> io::Result<()> {
        word(&mut out, separator, 0, &rows.name)?;
        for col in 0..cols {
            out.write_all(&[separator])?;
            word(&mut out, separator, 1, columns.get(col))?;
        }
        out.write_all(b"\n")?;
        for row in 0..rows.rows() {
            word(&mut out, separator, 0, rows.get(row))?;
            for col in 0..cols {
                // Never the first cell of a line.
                cell(&mut out, separator, 1, items, row * cols + col)?;
            }
            out.write_all(b"\n")?;
        }
        Ok(())
    };
    let written = lines();
    written.map_err(|e| out.error(&e))?;
    out.commit()
}

/// Cell `at` of a row, of text: quoted also where the first cell would make the row a comment.
pub(crate) fn word(out: &mut Output, separator: u8, at: usize, text: &str) -> io::Result<()> {
    let cell = text_cell(text, separator);
    match at == 0 && cell.starts_with('#') {
        true => write!(out, "\"{cell}\""),
        false => out.write_all(cell.as_bytes()),
    }
}

fn comment_lines(out: &mut Output, comments: &[String]) -> io::Result<()> {
    comments
        .iter()
        .flat_map(|c| c.lines())
        .try_for_each(|line| writeln!(out, "# {line}"))
}

fn header(out: &mut Output, separator: u8, columns: &[(&str, Column<'_>)]) -> io::Result<()> {
    for (at, (name, _)) in columns.iter().enumerate() {
        if at > 0 {
            out.write_all(&[separator])?;
        }
        word(out, separator, at, name)?;
    }
    out.write_all(b"\n")
}

/// A name or label as a cell: quoted where it must be, and with an apostrophe before what a
/// spreadsheet would take for a formula (`=`, `+`, `-`, `@`, a tab or a carriage return at its
/// start), unless it is a number.
pub fn text_cell(text: &str, separator: u8) -> Cow<'_, str> {
    let formula =
        text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    let quoted = text
        .bytes()
        .any(|b| b == separator || matches!(b, b'"' | b'\n' | b'\r'));
    match (formula, quoted) {
        (false, false) => Cow::Borrowed(text),
        (true, false) => Cow::Owned(format!("'{text}")),
        (_, true) => Cow::Owned(format!(
            "\"{}{}\"",
            if formula { "'" } else { "" },
            text.replace('"', "\"\"")
        )),
    }
}

fn line(
    out: &mut Output,
    separator: u8,
    columns: &[(&str, Column<'_>)],
    row: usize,
) -> io::Result<()> {
    for (at, (_, column)) in columns.iter().enumerate() {
        cell(out, separator, at, *column, row)?;
    }
    out.write_all(b"\n")
}

/// The shortest text that reads back as the same number.
fn cell(
    out: &mut Output,
    separator: u8,
    at: usize,
    column: Column<'_>,
    row: usize,
) -> io::Result<()> {
    if at > 0 {
        out.write_all(&[separator])?;
    }
    match column {
        Column::U64(items) => write!(out, "{}", items[row]),
        Column::I64(items) => write!(out, "{}", items[row]),
        Column::F64(items) => write!(out, "{:?}", items[row]),
        Column::F32(items) => write!(out, "{:?}", items[row]),
        Column::Words(words, rows) => word(
            out,
            separator,
            at,
            usize::try_from(rows[row]).map_or("", |r| words.get(r)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_a_formula() {
        assert_eq!(text_cell("rain", b','), "rain");
        assert_eq!(text_cell("=cmd|'/c calc'!A0", b','), "'=cmd|'/c calc'!A0");
        assert_eq!(text_cell("@a,b", b','), "\"'@a,b\"");
        assert_eq!(text_cell("+x", b','), "'+x");
        assert_eq!(text_cell("-1.5", b','), "-1.5");
        assert_eq!(text_cell("\tx", b','), "'\tx");
        assert_eq!(text_cell("say \"a\"", b','), "\"say \"\"a\"\"\"");
        assert_eq!(text_cell("a,b", b'\t'), "a,b");
    }
}
