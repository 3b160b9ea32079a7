//! Tables in text: CSV, TSV, and columns separated by blanks; gzip is unpacked as it comes.

use crate::guard::{ShortLines, Source, at_line, next_line, read_error};
use crate::text_rows::TextRows;
use csv::{ByteRecord, ReaderBuilder};
use zipfold_core::{Budget, Error, Result, Table};

/// What separates the cells of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// One such byte; cells may be quoted.
    Byte(u8),
    /// Any number of blanks.
    Blanks,
}

/// Reads a table of numbers from text. A first row with a cell that is no number is the header (unless `header` says
/// otherwise); lines that start with `#` and empty lines are skipped; empty cells and NA are NaN.
///
/// # Errors
/// `Input` with line and column for what is no number, with line and both lengths for rows of different lengths, for a
/// file without rows; `Request` for columns that are not there; `Resource` beyond the budget.
pub fn read_csv(
    source: &Source,
    separator: Separator,
    columns: Option<&[String]>,
    header: Option<bool>,
    budget: &Budget,
) -> Result<Table> {
    let mut rows = TextRows::new(source.name(), columns, header, budget);
    match separator {
        Separator::Byte(byte) => separated(source, byte, &mut rows)?,
        Separator::Blanks => blanks(source, &mut rows)?,
    }
    rows.finish()
}

fn separated(source: &Source, byte: u8, rows: &mut TextRows<'_>) -> Result<()> {
    let text = ShortLines::new(source.text()?);
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(byte)
        .comment(Some(b'#'))
        .buffer_capacity(1 << 16)
        .from_reader(text);
    let mut record = ByteRecord::new();
    loop {
        let before = reader.position().line();
        match reader.read_byte_record(&mut record) {
            Ok(true) if record.len() == 1 && record[0].trim_ascii().is_empty() && rows.skips_blank() => {}
            Ok(true) => rows.take(record.position().map_or(before, csv::Position::line), record.iter())?,
            Ok(false) => return Ok(()),
            Err(e) => return Err(csv_error(source.name(), before, e)),
        }
    }
}

fn csv_error(name: &str, line: u64, error: csv::Error) -> Error {
    let place = at_line(name, line);
    match error.into_kind() {
        csv::ErrorKind::Io(e) => read_error(name, "cannot be read", &e).at(place),
        other => Error::input(format!("the text is damaged: {other:?}")).at(place).remedy("write the file again"),
    }
}

fn blanks(source: &Source, rows: &mut TextRows<'_>) -> Result<()> {
    let mut text = source.text()?;
    let mut bytes = Vec::new();
    let mut line = 0;
    loop {
        line += 1;
        let more = next_line(&mut *text, &mut bytes);
        if !more.map_err(|e| read_error(source.name(), "cannot be read", &e).at(at_line(source.name(), line)))? {
            return Ok(());
        }
        let content = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes).trim_ascii();
        if content.is_empty() || content[0] == b'#' {
            continue;
        }
        let cells = content.split(u8::is_ascii_whitespace).filter(|cell| !cell.is_empty());
        rows.take(line, cells)?;
    }
}
