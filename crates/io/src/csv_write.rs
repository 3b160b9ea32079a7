//! Writing named columns as CSV or TSV.

use crate::atomic::Output;
use crate::write::Column;
use std::io::{self, Write};
use zipfold_core::{Error, Result};

/// Writes a header and rows, below `comments` each behind `# `.
///
/// # Errors
/// `Resource` when the disk is full; `Internal` when the columns differ in length.
pub fn write_csv(mut out: Output, separator: u8, columns: &[(&str, Column<'_>)], comments: &[String]) -> Result<()> {
    let rows = columns.first().map_or(0, |(_, c)| c.len());
    if let Some((name, column)) = columns.iter().find(|(_, c)| c.len() != rows) {
        return Err(
            Error::internal(format!("column {name} has {} rows, the first has {rows}", column.len())).at(out.name())
        );
    }
    let written = comment_lines(&mut out, comments)
        .and_then(|()| header(&mut out, separator, columns))
        .and_then(|()| (0..rows).try_for_each(|row| line(&mut out, separator, columns, row)));
    written.map_err(|e| out.error(&e))?;
    out.commit()
}

/// Writes rows without a header, as NumPy's `savetxt` does: the 2-D form of an array in row-major order.
///
/// # Errors
/// `Resource` when the disk is full.
pub fn write_csv_rows(mut out: Output, separator: u8, cols: usize, items: Column<'_>) -> Result<()> {
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

fn comment_lines(out: &mut Output, comments: &[String]) -> io::Result<()> {
    comments.iter().flat_map(|c| c.lines()).try_for_each(|line| writeln!(out, "# {line}"))
}

fn header(out: &mut Output, separator: u8, columns: &[(&str, Column<'_>)]) -> io::Result<()> {
    for (at, (name, _)) in columns.iter().enumerate() {
        if at > 0 {
            out.write_all(&[separator])?;
        }
        let special = name.bytes().any(|b| b == separator || matches!(b, b'"' | b'\n' | b'\r'))
            || (at == 0 && name.starts_with('#'));
        if special { write!(out, "\"{}\"", name.replace('"', "\"\""))? } else { out.write_all(name.as_bytes())? }
    }
    out.write_all(b"\n")
}

fn line(out: &mut Output, separator: u8, columns: &[(&str, Column<'_>)], row: usize) -> io::Result<()> {
    for (at, (_, column)) in columns.iter().enumerate() {
        cell(out, separator, at, *column, row)?;
    }
    out.write_all(b"\n")
}

/// The shortest text that reads back as the same number.
fn cell(out: &mut Output, separator: u8, at: usize, column: Column<'_>, row: usize) -> io::Result<()> {
    if at > 0 {
        out.write_all(&[separator])?;
    }
    match column {
        Column::U64(items) => write!(out, "{}", items[row]),
        Column::I64(items) => write!(out, "{}", items[row]),
        Column::F64(items) => write!(out, "{:?}", items[row]),
        Column::F32(items) => write!(out, "{:?}", items[row]),
    }
}
