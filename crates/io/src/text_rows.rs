//! Rows of text cells becoming a table: header, column choice, numbers, and the messages when they are wrong.

use crate::growing::Growing;
use crate::guard::at_line;
use crate::npy::too_large;
use zipfold_core::table::place_of;
use zipfold_core::{Budget, Buffer, Elements, Error, Result, Table};

/// More columns than this in a text are taken for a wrong separator or a missing line end.
const MOST_COLUMNS: usize = 1 << 22;

/// Takes the rows of a text one by one.
pub(crate) struct TextRows<'a> {
    name: &'a str,
    wanted: Option<&'a [String]>,
    /// Whether the first row is a header; found out from its cells when not said.
    header: Option<bool>,
    names: Option<Vec<String>>,
    /// Number of cells of a row, and the line that said so.
    width: Option<(usize, u64)>,
    /// For each cell of a row, its place in the table's row.
    places: Vec<Option<usize>>,
    row: Vec<f64>,
    rows: usize,
    values: Growing<f64>,
}

impl<'a> TextRows<'a> {
    pub(crate) fn new(name: &'a str, wanted: Option<&'a [String]>, header: Option<bool>, budget: &Budget) -> Self {
        let values = Growing::new(budget, format!("the rows of {name}"));
        TextRows {
            name,
            wanted,
            header,
            names: None,
            width: None,
            places: Vec::new(),
            row: Vec::new(),
            rows: 0,
            values,
        }
    }

    /// Whether a line with one blank cell is no row but an empty line.
    pub(crate) fn skips_blank(&self) -> bool {
        self.width.is_none_or(|(width, _)| width != 1)
    }

    /// Takes the row of `cells` that stands on `line`.
    pub(crate) fn take<'c>(&mut self, line: u64, cells: impl Iterator<Item = &'c [u8]> + Clone) -> Result<()> {
        let count = cells.clone().count();
        match self.width {
            None if count > MOST_COLUMNS => Err(Error::input(format!("this row has {count} cells"))
                .at(at_line(self.name, line))
                .limit(format!("{MOST_COLUMNS} columns"))
                .remedy("store so wide a table as .npy")),
            None => {
                self.width = Some((count, line));
                let header = self.header.unwrap_or_else(|| cells.clone().any(|c| number(c).is_none()));
                if header {
                    self.names = Some(header_names(cells.clone()));
                }
                self.choose(line, count)?;
                if header {
                    return Ok(());
                }
                self.numbers(line, cells)
            }
            Some((width, _)) if width == count => self.numbers(line, cells),
            Some((width, first)) => Err(self.ragged(line, count, width, first)),
        }
    }

    fn ragged(&self, line: u64, count: usize, width: usize, first: u64) -> Error {
        Error::input(format!("this row has {count} cells, the row on line {first} has {width}"))
            .at(at_line(self.name, line))
            .limit(format!("{width} cells in every row"))
            .remedy("fill empty cells with NaN, and check the separator against the suffix (.csv ',', .tsv tab, .txt blanks)")
    }

    /// Decides which cells of a row are wanted.
    fn choose(&mut self, line: u64, count: usize) -> Result<()> {
        let Some(wanted) = self.wanted else {
            self.places = (0..count).map(Some).collect();
            self.row = vec![0.0; count];
            return Ok(());
        };
        self.places = vec![None; count];
        self.row = vec![0.0; wanted.len()];
        for (place, column) in wanted.iter().enumerate() {
            let at = find_column(column, self.names.as_deref(), count).map_err(|e| e.at(at_line(self.name, line)))?;
            if self.places[at].replace(place).is_some() {
                let what = format!("column '{column}' is chosen twice");
                return Err(Error::request(what)
                    .at(at_line(self.name, line))
                    .remedy("name each column once in --columns"));
            }
        }
        Ok(())
    }

    fn numbers<'c>(&mut self, line: u64, cells: impl Iterator<Item = &'c [u8]>) -> Result<()> {
        for (column, cell) in cells.enumerate() {
            let Some(place) = self.places[column] else { continue };
            match number(cell) {
                Some(value) if !is_coarse(cell, value) => self.row[place] = value,
                Some(_) => return Err(too_large(&show(cell)).at(self.cell_place(line, column))),
                None => return Err(self.not_a_number(line, column, cell)),
            }
        }
        self.rows += 1;
        self.values.extend(&self.row)
    }

    fn cell_place(&self, line: u64, column: usize) -> String {
        format!("{}, column {}", at_line(self.name, line), self.column_name(column))
    }
    fn column_name(&self, column: usize) -> String {
        self.names.as_ref().and_then(|n| n.get(column)).map_or_else(|| column.to_string(), |n| format!("'{n}'"))
    }

    fn not_a_number(&self, line: u64, column: usize, cell: &[u8]) -> Error {
        let others = (0..self.places.len()).filter(|c| *c != column && self.places[*c].is_some());
        let plain = |c: usize| self.names.as_ref().map_or_else(|| c.to_string(), |n| n[c].clone());
        let mut others: Vec<String> = others.map(plain).take(9).collect();
        if others.len() == 9 {
            others[8] = "…".to_owned();
        }
        let remedy = match others.is_empty() {
            true => "correct the cell, or leave it empty where the value is missing".to_owned(),
            false => format!("--columns {} to leave this column out, or correct the cell", others.join(",")),
        };
        Error::input(format!("'{}' is not a number", show(cell))).at(self.cell_place(line, column)).remedy(remedy)
    }

    /// The table of all rows taken.
    pub(crate) fn finish(self) -> Result<Table> {
        if self.width.is_none() {
            return Err(Error::input("the file holds no rows")
                .at(self.name)
                .remedy("give a file with at least one row of numbers"));
        }
        let cols = self.row.len();
        let elements = Elements::F64(Buffer::new(self.values.finish()?));
        let table = Table::new(self.rows, cols, elements)?;
        let Some(names) = self.names else { return Ok(table) };
        let mut chosen = vec![String::new(); cols];
        for (place, name) in self.places.iter().zip(names) {
            if let Some(place) = place {
                chosen[*place] = name;
            }
        }
        table.with_names(chosen).map_err(|e| e.at(self.name).remedy("give each column its own name in the header"))
    }
}

/// Names of a header; a column without one is called by its number.
fn header_names<'c>(cells: impl Iterator<Item = &'c [u8]>) -> Vec<String> {
    let name = |(at, cell): (usize, &[u8])| {
        let text = String::from_utf8_lossy(cell);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() { at.to_string() } else { text.to_owned() }
    };
    cells.enumerate().map(name).collect()
}

/// The number of the column called `wanted`, or numbered so.
pub(crate) fn find_column(wanted: &str, names: Option<&[String]>, count: usize) -> Result<usize> {
    let by_name = match names {
        Some(names) => place_of(names, wanted)?,
        None => None,
    };
    let by_number = || wanted.parse::<usize>().ok().filter(|at| *at < count);
    by_name.or_else(by_number).ok_or_else(|| {
        let have = match names {
            Some(names) => names.iter().take(20).map(String::as_str).collect::<Vec<_>>().join(", "),
            None => format!("0 to {}", count.saturating_sub(1)),
        };
        Error::request(format!("there is no column '{wanted}'")).remedy(format!("--columns with some of {have}"))
    })
}

/// The number in `cell`; a missing value is NaN.
pub(crate) fn number(cell: &[u8]) -> Option<f64> {
    let cell = cell.trim_ascii();
    match cell {
        b"" | b"NA" | b"N/A" | b"na" | b"null" | b"NULL" | b"None" => Some(f64::NAN),
        _ => std::str::from_utf8(cell).ok()?.parse().ok(),
    }
}

/// Whether `cell` is a 64-bit integer that `value` only approximates.
fn is_coarse(cell: &[u8], value: f64) -> bool {
    if value.abs() < 9_007_199_254_740_992.0 || value.is_nan() {
        return false;
    }
    let text = std::str::from_utf8(cell.trim_ascii()).unwrap_or_default();
    text.parse::<i64>().is_ok_and(|exact| exact as i128 != value as i128)
        || text.parse::<u64>().is_ok_and(|exact| i128::from(exact) != value as i128)
}

/// `cell` for a message, cut to 40 characters.
fn show(cell: &[u8]) -> String {
    let text = String::from_utf8_lossy(&cell[..cell.len().min(200)]);
    let mut out: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).take(40).collect();
    if text.chars().count() > 40 {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_are_nan_and_text_is_nothing() {
        assert!(number(b" NA ").unwrap().is_nan());
        assert!(number(b"nan").unwrap().is_nan());
        assert_eq!(number(b" -1.5e3 "), Some(-1500.0));
        assert_eq!(number(b"1,5"), None);
        assert_eq!(number(b"\xff"), None);
    }

    #[test]
    fn integers_that_round_are_found() {
        assert!(is_coarse(b"9007199254740993", 9_007_199_254_740_992.0));
        assert!(!is_coarse(b"9007199254740992", 9_007_199_254_740_992.0));
        assert!(!is_coarse(b"1e300", 1e300));
    }
}
