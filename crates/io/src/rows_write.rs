//! Tables that are written while their rows are found: CSV, TSV and Parquet, some rows at a time.
//!
//! A number that is missing (NaN) and an absent word are nulls: empty cells of text, nulls of
//! Parquet. The file appears when the last row is written, or not at all.

use crate::atomic::{Output, OutputOptions};
pub use crate::cells::{CellKind, Cells};
use crate::csv_write::word;
use crate::read::{is_packed, suffix};
use std::io::{self, Write};
use zipfold_core::{Error, Opt, Result};

/// The suffixes that rows are written to while they are found.
pub const STREAMED: &[&str] = &["csv", "tsv", "parquet"];

/// Returns whether rows are written to `path` while they are found.
pub fn is_streamed(path: &str) -> bool {
    let suffix = if is_packed(path) { None } else { suffix(path) };
    path == "-" || suffix.is_some_and(|suffix| STREAMED.contains(&suffix.as_str()))
}

/// A file that takes rows.
pub struct RowsWriter {
    form: RowsForm,
}

/// How it is written.
enum RowsForm {
    /// Cells with a separator between them.
    Text(Output, u8),
    /// A row group for each call.
    #[cfg(feature = "parquet")]
    Parquet(Box<crate::parquet_rows::ParquetRows>),
}

impl RowsWriter {
    /// Begins the file `path` (`-` is CSV to standard output) with these columns. `notes` go into
    /// `#` lines of text and the metadata of Parquet.
    ///
    /// # Errors
    /// `Request` for another suffix, an existing file without `force`, or a folder that cannot be
    /// written; `Resource` when the disk is full.
    pub fn create(
        path: &str,
        columns: &[(String, CellKind)],
        notes: &[String],
        options: OutputOptions,
    ) -> Result<RowsWriter> {
        let suffix = match path {
            "-" => Some("csv".to_owned()),
            path if is_packed(path) => None,
            path => suffix(path),
        };
        let separator = match suffix.as_deref() {
            Some("csv") => b',',
            Some("tsv") => b'\t',
            Some("parquet") => return parquet(path, columns, notes, options),
            _ => {
                let e = Error::request("rows are not written to a file of this suffix");
                return Err(e
                    .at_place(path)
                    .limit(".csv .tsv .parquet")
                    .remedy(format!("{} with one of these suffixes", Opt::Output)));
            }
        };
        let mut out = Output::create(path, options)?;
        let written = notes
            .iter()
            .flat_map(|note| note.lines())
            .try_for_each(|line| writeln!(out, "# {line}"))
            .and_then(|()| header(&mut out, separator, columns));
        written.map_err(|e| out.error(&e))?;
        let form = RowsForm::Text(out, separator);
        Ok(RowsWriter { form })
    }
    /// Writes more rows: the cells of every column, all of one length.
    ///
    /// # Errors
    /// `Resource` when the disk is full; `Internal` when the columns differ in length.
    pub fn push(&mut self, columns: &[Cells]) -> Result<()> {
        let rows = columns.first().map_or(0, Cells::len);
        if columns.iter().any(|cells| cells.len() != rows) {
            return Err(Error::internal("columns of different lengths"));
        }
        match &mut self.form {
            RowsForm::Text(out, separator) => {
                let written = (0..rows).try_for_each(|row| line(out, *separator, columns, row));
                written.map_err(|e| out.error(&e))
            }
            #[cfg(feature = "parquet")]
            RowsForm::Parquet(file) => file.push(columns, rows),
        }
    }
    /// Completes the file, which then appears under its name.
    ///
    /// # Errors
    /// `Resource` when the disk is full.
    pub fn finish(self) -> Result<()> {
        match self.form {
            RowsForm::Text(out, _) => out.commit(),
            #[cfg(feature = "parquet")]
            RowsForm::Parquet(file) => file.finish(),
        }
    }
}

#[cfg(feature = "parquet")]
fn parquet(
    path: &str,
    columns: &[(String, CellKind)],
    notes: &[String],
    options: OutputOptions,
) -> Result<RowsWriter> {
    let out = Output::create(path, options)?;
    let file = crate::parquet_rows::ParquetRows::create(out, columns, notes)?;
    let form = RowsForm::Parquet(Box::new(file));
    Ok(RowsWriter { form })
}

#[cfg(not(feature = "parquet"))]
fn parquet(
    path: &str,
    _: &[(String, CellKind)],
    _: &[String],
    _: OutputOptions,
) -> Result<RowsWriter> {
    Err(crate::read::without_feature(path))
}

fn header(out: &mut Output, separator: u8, columns: &[(String, CellKind)]) -> io::Result<()> {
    for (at, (name, _)) in columns.iter().enumerate() {
        if at > 0 {
            out.write_all(&[separator])?;
        }
        word(out, separator, at, name)?;
    }
    out.write_all(b"\n")
}

fn line(out: &mut Output, separator: u8, columns: &[Cells], row: usize) -> io::Result<()> {
    for (at, cells) in columns.iter().enumerate() {
        if at > 0 {
            out.write_all(&[separator])?;
        }
        match cells {
            Cells::Numbers(values) | Cells::Whole(values) if values[row].is_nan() => {
                null(out, columns.len())?;
            }
            Cells::Numbers(values) => write!(out, "{:?}", values[row])?,
            Cells::Whole(values) => write!(out, "{}", values[row] as i64)?,
            Cells::Words(..) => match cells.word(row) {
                "" => null(out, columns.len())?,
                text => word(out, separator, at, text)?,
            },
        }
    }
    out.write_all(b"\n")
}

/// An empty cell; two quotes where it is the only one, because readers skip empty lines.
fn null(out: &mut Output, columns: usize) -> io::Result<()> {
    match columns {
        1 => out.write_all(b"\"\""),
        _ => Ok(()),
    }
}
