//! Tables in text: CSV, TSV, and columns separated by blanks; what is packed is unpacked as it
//! comes.

use crate::growing::Growing;
use crate::guard::{LONGEST_LINE, Lines, Source};
use crate::read_options::ReadOptions;
use crate::text_rows::{MOST_COLUMNS, TextRows};
use zipfold_core::budget::human_bytes;
use zipfold_core::{Budget, Error, Result, Table};

/// What separates the cells of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// One such byte; cells may be quoted.
    Byte(u8),
    /// Any number of blanks.
    Blanks,
}

/// Reads a table of numbers from text. A first row with a cell that is not a number is the header
/// (unless the options say otherwise); lines that start with `#` are skipped; empty cells and NA
/// are NaN. An empty line is skipped, but between the rows of a CSV or TSV of one column it is an
/// empty cell.
///
/// # Errors
/// `Input` with line and column for what is not a number, with line and both lengths for rows of
/// different lengths, for a file without rows; `Request` for columns that are not there; `Resource`
/// beyond the budget.
pub fn read_csv(
    source: &Source,
    separator: Separator,
    options: &ReadOptions,
    budget: &Budget,
) -> Result<Table> {
    let mut rows = TextRows::new(source.name(), options, budget);
    match as_written(source, separator, budget)? {
        Separator::Byte(byte) => separated(source, byte, &mut rows, budget)?,
        Separator::Blanks => blanks(source, &mut rows, budget)?,
    }
    rows.finish()
}

/// The separator that the first row shows, where it is another than the suffix says: `;` in .csv,
/// commas in .txt.
fn as_written(source: &Source, separator: Separator, budget: &Budget) -> Result<Separator> {
    let mut lines = Lines::new(source, matches!(separator, Separator::Byte(_)), budget)?;
    while lines.next()? {
        let row = lines.current().trim_ascii();
        if row.is_empty() || row[0] == b'#' {
            continue;
        }
        let has = |byte: u8| row.contains(&byte);
        return Ok(match separator {
            Separator::Byte(b',') if !has(b',') && has(b';') => Separator::Byte(b';'),
            Separator::Blanks => [b',', b';']
                .into_iter()
                .find(|b| parts_cells(row, *b))
                .map_or(separator, Separator::Byte),
            other => other,
        });
    }
    Ok(separator)
}

/// Whether `byte` is after every word of `row` but the last: `1.5, 2.5` or `1.5,2.5`, not `a,b
/// 2`.
fn parts_cells(row: &[u8], byte: u8) -> bool {
    let words: Vec<&[u8]> = row
        .split(u8::is_ascii_whitespace)
        .filter(|w| !w.is_empty())
        .collect();
    let before = words.split_last().map_or(&[][..], |(_, before)| before);
    row.contains(&byte)
        && (before.iter().all(|w| w.ends_with(&[byte])) || words.iter().any(|w| *w == [byte]))
}

fn separated(source: &Source, byte: u8, rows: &mut TextRows<'_>, budget: &Budget) -> Result<()> {
    let mut record = CsvRow::new(source, byte, budget)?;
    while record.next()? {
        if record.is_blank() {
            rows.blank_line();
        } else {
            rows.take(record.line, record.cells())?;
        }
    }
    Ok(())
}

fn blanks(source: &Source, rows: &mut TextRows<'_>, budget: &Budget) -> Result<()> {
    let mut lines = Lines::new(source, false, budget)?;
    while lines.next()? {
        let content = lines.current().trim_ascii();
        if content.is_empty() || content[0] == b'#' {
            continue;
        }
        let cells = content
            .split(u8::is_ascii_whitespace)
            .filter(|cell| !cell.is_empty());
        rows.take(lines.number, cells)?;
    }
    Ok(())
}

/// The cells of one row after another; a quoted cell may hold separators, doubled quotes and line
/// ends.
struct CsvRow {
    lines: Lines,
    separator: u8,
    /// The row with its quotes taken away, where it has any.
    plain: Growing<u8>,
    quoted: bool,
    /// Where each cell ends in the row.
    ends: Growing<u32>,
    /// The line on which the row begins.
    line: u64,
}

impl CsvRow {
    fn new(source: &Source, separator: u8, budget: &Budget) -> Result<Self> {
        let room = |what: &str| format!("{what} of a row of {}", source.name());
        Ok(CsvRow {
            lines: Lines::new(source, true, budget)?,
            separator,
            plain: Growing::new(budget, room("the text")),
            quoted: false,
            ends: Growing::new(budget, room("the cells")),
            line: 0,
        })
    }

    /// Reads the next row that is not a comment; false at the end of the text.
    fn next(&mut self) -> Result<bool> {
        loop {
            if !self.lines.next()? {
                return Ok(false);
            }
            if self.lines.current().first() != Some(&b'#') {
                break;
            }
        }
        self.line = self.lines.number;
        self.ends.clear();
        self.quoted = memchr::memchr(b'"', self.lines.current()).is_some();
        if self.quoted {
            self.unquote()?;
            return Ok(true);
        }
        let text = self.lines.current();
        for at in memchr::memchr_iter(self.separator, text) {
            self.ends.push(at as u32)?;
            if self.ends.len() >= MOST_COLUMNS {
                return Err(self.too_many());
            }
        }
        self.ends.push(text.len() as u32)?;
        Ok(true)
    }

    /// Takes the quotes away, over as many lines as the row has.
    fn unquote(&mut self) -> Result<()> {
        self.plain.clear();
        let mut inside = false;
        // A quote opens only where a cell begins.
        let mut begins = true;
        loop {
            let line = self.lines.current();
            let mut at = 0;
            while at < line.len() {
                let byte = line[at];
                at += 1;
                match byte {
                    b'"' if inside && line.get(at) == Some(&b'"') => {
                        at += 1;
                        self.plain.push(b'"')?;
                    }
                    b'"' if inside => inside = false,
                    b'"' if begins => inside = true,
                    _ if byte == self.separator && !inside => {
                        self.ends.push(self.plain.len() as u32)?;
                        self.plain.push(byte)?;
                        begins = true;
                        continue;
                    }
                    _ => self.plain.push(byte)?,
                }
                begins = false;
            }
            if self.ends.len() >= MOST_COLUMNS {
                return Err(self.too_many());
            }
            if !inside {
                return self.ends.push(self.plain.len() as u32);
            }
            if self.plain.len() as u64 > LONGEST_LINE {
                let what = "a quoted cell is longer than any table has";
                let e = Error::input(what)
                    .at_place(self.place())
                    .limit(human_bytes(LONGEST_LINE));
                return Err(e.remedy("check that the cell's quotes are closed"));
            }
            self.plain.push(b'\n')?;
            if !self.lines.next()? {
                let e =
                    Error::input("a quoted cell of this row does not end").at_place(self.place());
                return Err(e.remedy("close the cell with a second quote"));
            }
        }
    }

    fn place(&self) -> String {
        crate::guard::at_line(self.lines.name(), self.line)
    }

    fn too_many(&self) -> Error {
        Error::input(format!("this row has more than {MOST_COLUMNS} cells"))
            .at_place(self.place())
            .limit(format!("{MOST_COLUMNS} columns"))
            .remedy("store so wide a table as .npy")
    }

    fn text(&self) -> &[u8] {
        if self.quoted {
            self.plain.as_ref()
        } else {
            self.lines.current()
        }
    }

    fn cells(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let (text, ends) = (self.text(), self.ends.as_ref());
        (0..ends.len()).map(move |k| {
            let start = if k == 0 { 0 } else { ends[k - 1] as usize + 1 };
            &text[start..ends[k] as usize]
        })
    }

    /// Whether the line holds nothing but blanks.
    fn is_blank(&self) -> bool {
        !self.quoted && self.ends.len() == 1 && self.text().trim_ascii().is_empty()
    }
}
