//! Rows of text cells becoming a table: header, column choice, numbers, and the messages when they
//! are wrong.

use crate::growing::Growing;
use crate::guard::at_line;
use crate::npy::too_large;
use crate::read_options::ReadOptions;
use crate::words::WordColumn;
use zipfold_core::budget::Tab;
use zipfold_core::columns::expand;
use zipfold_core::shown::short;
use zipfold_core::table::find_columns;
use zipfold_core::{Budget, Buffer, Elements, Error, Opt, Result, Table};

/// More columns than this in a text are taken for a wrong separator or a missing line end.
pub(crate) const MOST_COLUMNS: usize = 1 << 22;

/// Bytes that a column takes next to its numbers: its place, and what its name takes while it is
/// checked and kept.
const COLUMN: u64 = 24;
const NAME: u64 = 160;

/// Rows, and bytes of them, that are held at most until a column whose first cells are empty shows
/// whether it is text.
const HELD: usize = 1000;
const HELD_BYTES: u64 = 1 << 20;

/// Takes the rows of a text one by one.
pub(crate) struct TextRows<'a> {
    name: &'a str,
    options: &'a ReadOptions,
    names: Option<Vec<String>>,
    /// Number of cells of a row, and the line that said so.
    width: Option<(usize, u64)>,
    /// Rows of data, with their lines, that are not enough to decide which columns are text.
    held: Vec<(u64, Vec<Vec<u8>>)>,
    /// What these take, and which columns have shown a cell in them.
    held_bytes: u64,
    shown: Vec<bool>,
    /// For each cell of a row, its place in the table's row; decided at the first rows of data.
    places: Option<Vec<Option<usize>>>,
    words: Vec<WordsColumn>,
    budget: Budget,
    row: Vec<f64>,
    rows: usize,
    /// Empty lines since the last row.
    blanks: usize,
    values: Growing<f64>,
    columns: Tab,
}

/// A column of words.
struct WordsColumn {
    at: usize,
    /// Whether it was taken for text by its first cell: then a number in it is a mistake somewhere.
    guessed: bool,
    words: WordColumn,
}

/// What the columns of a text are for.
struct Roles {
    /// Columns of numbers, in the order of the table.
    numbers: Vec<usize>,
    /// Columns of words, and whether each was taken for text by its first cell.
    words: Vec<(usize, bool)>,
    /// Whether formulas compare a column of words with texts.
    compares: bool,
}

impl<'a> TextRows<'a> {
    pub(crate) fn new(name: &'a str, options: &'a ReadOptions, budget: &Budget) -> Self {
        let values = Growing::new(budget, format!("the rows of {name}"));
        TextRows {
            name,
            options,
            names: None,
            width: None,
            held: Vec::new(),
            held_bytes: 0,
            shown: Vec::new(),
            places: None,
            words: Vec::new(),
            budget: budget.clone(),
            row: Vec::new(),
            rows: 0,
            blanks: 0,
            values,
            columns: budget.tab(format!("the columns of {name}")),
        }
    }

    /// Takes an empty line: where rows have one cell, and another row follows, an empty cell.
    pub(crate) fn blank_line(&mut self) {
        self.blanks += usize::from(self.width.is_some_and(|(width, _)| width == 1));
    }

    /// Takes the row of `cells` that is on `line`.
    pub(crate) fn take<'c>(
        &mut self,
        line: u64,
        cells: impl Iterator<Item = &'c [u8]> + Clone,
    ) -> Result<()> {
        let count = cells.clone().count();
        match self.width {
            None if count > MOST_COLUMNS => {
                Err(Error::input(format!("this row has {count} cells"))
                    .at_place(at_line(self.name, line))
                    .limit(format!("{MOST_COLUMNS} columns"))
                    .remedy("store so wide a table as .npy"))
            }
            None => self.first(line, count, cells),
            Some((width, _)) if width == count => {
                for _ in 0..std::mem::take(&mut self.blanks) {
                    self.row_of_data(line, std::iter::once(&b""[..]))?;
                }
                self.row_of_data(line, cells)
            }
            Some((width, first)) => Err(self.ragged(line, count, width, first)),
        }
    }

    /// Takes a row of data; until every column has shown a cell, or many rows have passed, it is
    /// held.
    fn row_of_data<'c>(
        &mut self,
        line: u64,
        cells: impl Iterator<Item = &'c [u8]> + Clone,
    ) -> Result<()> {
        if self.places.is_some() {
            return self.row(line, cells);
        }
        let mut width = 0;
        for (at, cell) in cells.clone().enumerate() {
            match self.shown.get_mut(at) {
                Some(shown) => *shown |= !is_missing(cell),
                None => self.shown.push(!is_missing(cell)),
            }
            width = at + 1;
        }
        let enough = self.held.len() == HELD
            || self.held_bytes >= HELD_BYTES
            || self.shown.iter().all(|shown| *shown);
        if enough && self.held.is_empty() {
            self.decide(width, Some(cells.clone()))?;
            return self.row(line, cells);
        }
        let bytes: u64 = cells.clone().map(|c| c.len() as u64 + COLUMN).sum();
        self.columns.add(bytes)?;
        self.held_bytes += bytes;
        self.held.push((line, cells.map(<[u8]>::to_vec).collect()));
        if enough { self.take_held() } else { Ok(()) }
    }

    /// Decides by the rows that are held, and takes them.
    fn take_held(&mut self) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        let Some(count) = held.first().map(|(_, row)| row.len()) else {
            return Ok(());
        };
        let shown = |at: usize| {
            held.iter()
                .map(|(_, row)| &row[at][..])
                .find(|cell| !is_missing(cell))
                .unwrap_or_default()
        };
        self.decide(count, Some((0..count).map(shown)))?;
        held.iter()
            .try_for_each(|(line, row)| self.row(*line, row.iter().map(Vec::as_slice)))
    }

    /// Takes the first row, which may be the header.
    fn first<'c>(
        &mut self,
        line: u64,
        count: usize,
        cells: impl Iterator<Item = &'c [u8]> + Clone,
    ) -> Result<()> {
        self.width = Some((count, line));
        self.columns.add(count as u64 * COLUMN)?;
        let header = match self.options.header {
            Some(said) => said,
            None => self.is_header(line, cells.clone())?,
        };
        if header {
            cells
                .clone()
                .try_for_each(|c| self.columns.add(NAME + 4 * c.len() as u64))?;
            self.names = Some(header_names(cells.clone()));
        }
        if header {
            return Ok(());
        }
        self.decide(count, None::<std::iter::Empty<&[u8]>>)?;
        self.row(line, cells)
    }

    /// Whether a first row is the header: some cell is not a number. Where all of those look like
    /// numbers with a slip of the pen, it is neither a header nor a row, and a row must not be
    /// lost.
    fn is_header<'c>(
        &self,
        line: u64,
        cells: impl Iterator<Item = &'c [u8]> + Clone,
    ) -> Result<bool> {
        let mut odd = cells
            .enumerate()
            .filter(|(_, c)| number(c).is_none())
            .peekable();
        let Some((column, cell)) = odd.peek().copied() else {
            return Ok(false);
        };
        if odd.any(|(_, c)| !like_number(c)) {
            return Ok(true);
        }
        let what = format!(
            "'{}' is not a number, and this first row is not a header of names either",
            show(cell)
        );
        Err(Error::input(what)
            .at_place(self.cell_place(line, column))
            .remedy(
                "correct the cell, or give every column a name that does not read like a number",
            ))
    }

    fn ragged(&self, line: u64, count: usize, width: usize, first: u64) -> Error {
        Error::input(format!("this row has {count} cells, the row on line {first} has {width}"))
            .at_place(at_line(self.name, line))
            .limit(format!("{width} cells in every row"))
            .remedy("fill empty cells with NaN, and check the separator against the suffix (.csv ',', .tsv tab, .txt blanks)")
    }

    /// Decides which cells of a row are numbers, and which are words: by the first cells below a
    /// header.
    fn decide<'c>(
        &mut self,
        count: usize,
        data: Option<impl Iterator<Item = &'c [u8]> + Clone>,
    ) -> Result<()> {
        let is_text = |cell: &[u8]| number(cell).is_none() && !like_number(cell);
        let text: Vec<bool> =
            data.map_or_else(|| vec![false; count], |cells| cells.map(is_text).collect());
        let head = at_line(self.name, self.width.map_or(1, |w| w.1));
        let roles = self.roles(&text).map_err(|e| e.at_place(head.clone()))?;
        if roles.numbers.is_empty() && count > 0 && !roles.compares {
            let e = Error::input("no column holds numbers, only words").at_place(head);
            return Err(e.remedy("give at least one column of numbers"));
        }
        if text.contains(&true) && self.reads_like_data(&roles.numbers) {
            return Err(self.not_a_header().at_place(head));
        }
        let mut places = vec![None; count];
        let numbers = roles.numbers.iter().enumerate();
        numbers.for_each(|(place, at)| places[*at] = Some(place));
        self.row = vec![0.0; roles.numbers.len()];
        self.places = Some(places);
        let name = |at: usize| {
            self.names
                .as_ref()
                .map_or_else(|| at.to_string(), |n| n[at].clone())
        };
        let column = |(at, guessed): (usize, bool)| WordsColumn {
            at,
            guessed,
            words: WordColumn::new(name(at), self.name, &self.budget)
                .of_words(self.options.has_words(&name(at))),
        };
        self.words = roles.words.into_iter().map(column).collect();
        Ok(())
    }

    /// What each column is for, where `text` says which begin with words.
    fn roles(&self, text: &[bool]) -> Result<Roles> {
        let count = text.len();
        let names = self.names.as_deref();
        let called =
            |list: &[String], at: usize| names.is_some_and(|names| list.contains(&names[at]));
        let wanted = self.options.columns.as_deref();
        let kept: Vec<bool> = (0..count)
            .map(|at| called(self.options.words.as_deref().unwrap_or_default(), at))
            .collect();
        let text: Vec<bool> = text.iter().zip(&kept).map(|(a, b)| *a || *b).collect();
        let compared: Vec<bool> = (0..count)
            .map(|at| text[at] && called(&self.options.texts, at))
            .collect();
        let chosen = match wanted {
            Some(wanted) => expand(wanted, names, count, &|at| text[at])?,
            None => (0..count).filter(|at| !text[*at]).collect(),
        };
        let said = match (&self.options.ids[..], wanted) {
            ([], None) => vec![],
            (ids, _) => find_columns(ids, names, count)?,
        };
        let all = wanted.is_none() && self.options.ids.is_empty();
        let mut is_id = vec![false; count];
        said.iter().for_each(|at| is_id[*at] = true);
        let guessed = (0..count).filter(|at| (all && text[*at] || compared[*at]) && !is_id[*at]);
        let words = said.iter().map(|at| (*at, false));
        Ok(Roles {
            words: words.chain(guessed.map(|at| (at, !kept[at]))).collect(),
            numbers: chosen
                .into_iter()
                .filter(|at| !compared[*at] && (wanted.is_some() || !is_id[*at]))
                .collect(),
            compares: compared.contains(&true),
        })
    }

    fn not_a_header(&self) -> Error {
        let names = self.names.iter().flatten().take(4);
        let first: Vec<String> = names.map(|n| short(n, 20)).collect();
        let what = format!(
            "the first row, '{},…', reads like data and not like the names of columns",
            first.join(",")
        );
        Error::input(what).remedy("write a line with the names of the columns before it")
    }

    /// Whether what was taken for the header has numbers for all columns of numbers, which do not
    /// just count them.
    fn reads_like_data(&self, chosen: &[usize]) -> bool {
        let Some(names) = &self.names else {
            return false;
        };
        let values: Option<Vec<f64>> = chosen.iter().map(|at| names[*at].parse().ok()).collect();
        let counts = |v: &[f64]| {
            v.iter().all(|v| v.fract() == 0.0) && v.windows(2).all(|w| w[1] == w[0] + 1.0)
        };
        values.is_some_and(|v| !v.is_empty() && !counts(&v))
    }

    /// Takes one row of data.
    fn row<'c>(&mut self, line: u64, cells: impl Iterator<Item = &'c [u8]> + Clone) -> Result<()> {
        for at in 0..self.words.len() {
            let cell = cells
                .clone()
                .nth(self.words[at].at)
                .unwrap_or_default()
                .trim_ascii();
            if self.words[at].guessed
                && !cell.is_empty()
                && number(cell).is_some_and(|v| !v.is_nan())
            {
                return Err(self.mixed(line, self.words[at].at, cell));
            }
            let is_number = !self.words[at].guessed && number(cell).is_some();
            self.words[at]
                .words
                .push_cell(&String::from_utf8_lossy(cell), is_number)?;
        }
        self.numbers(line, cells)
    }

    fn mixed(&self, line: u64, column: usize, cell: &[u8]) -> Error {
        let name = self.plain_name(column);
        let what = format!(
            "'{}' is a number, and the column began with words",
            show(cell)
        );
        Error::input(what)
            .at_place(self.cell_place(line, column))
            .remedy(format!(
                "{} leaves it out{}; or correct the cells",
                Opt::Columns.to(format!("!{name}")),
                self.kept_as_words(&name)
            ))
    }
    /// The other remedy for a column of words and numbers, where the caller can choose its words.
    fn kept_as_words(&self, name: &str) -> String {
        match self.options.words {
            Some(_) => format!(", {} keeps it as words", Opt::Ids.to(name)),
            None => String::new(),
        }
    }

    fn numbers<'c>(&mut self, line: u64, cells: impl Iterator<Item = &'c [u8]>) -> Result<()> {
        for (column, cell) in cells.enumerate() {
            let Some(place) = self.places.as_ref().and_then(|p| p[column]) else {
                continue;
            };
            match number(cell) {
                Some(value) if !is_coarse(cell, value) => self.row[place] = value,
                Some(value) if value.is_infinite() && !is_whole(cell) => {
                    let e = Error::input(format!("'{}' is beyond double precision", show(cell)));
                    let e = e.at_place(self.cell_place(line, column)).limit("1.8e308");
                    return Err(e.remedy("write inf where infinity is meant"));
                }
                Some(_) => {
                    return Err(too_large(&show(cell)).at_place(self.cell_place(line, column)));
                }
                None => return Err(self.not_a_number(line, column, cell)),
            }
        }
        self.rows += 1;
        self.values.extend(&self.row)
    }

    fn cell_place(&self, line: u64, column: usize) -> String {
        format!(
            "{}, column {}",
            at_line(self.name, line),
            self.column_name(column)
        )
    }
    fn column_name(&self, column: usize) -> String {
        match self.names.as_ref().and_then(|n| n.get(column)) {
            Some(name) => format!("'{}'", short(name, 80)),
            None => format!("{} (number {column} to {})", column + 1, Opt::Columns),
        }
    }
    fn plain_name(&self, column: usize) -> String {
        self.names
            .as_ref()
            .and_then(|n| n.get(column))
            .map_or_else(|| column.to_string(), |n| short(n, 80))
    }

    fn not_a_number(&self, line: u64, column: usize, cell: &[u8]) -> Error {
        let others = self
            .places
            .iter()
            .flatten()
            .enumerate()
            .any(|(c, place)| c != column && place.is_some());
        let name = self.plain_name(column);
        let remedy = match others {
            false => "correct the cell, or leave it empty where the value is missing".to_owned(),
            true => format!(
                "{} leaves this column out{}; or correct the cell",
                Opt::Columns.to(format!("!{name}")),
                self.kept_as_words(&name)
            ),
        };
        Error::input(format!("'{}' is not a number", show(cell)))
            .at_place(self.cell_place(line, column))
            .remedy(remedy)
    }

    /// The table of all rows taken.
    pub(crate) fn finish(mut self) -> Result<Table> {
        self.take_held()?;
        if let (Some((count, _)), None) = (self.width, &self.places) {
            self.decide(count, None::<std::iter::Empty<&[u8]>>)?;
        }
        if self.width.is_none() {
            return Err(Error::input("the file holds no rows")
                .at_place(self.name)
                .remedy("give a file with at least one row of numbers"));
        }
        let cols = self.row.len();
        let elements = Elements::F64(Buffer::new(
            self.values.finish()?.holding(self.columns.close()),
        ));
        let labels = WordColumn::finish(self.words.into_iter().map(|c| c.words).collect())?;
        let table = Table::new(self.rows, cols, elements)?.with_labels(labels)?;
        let Some(names) = self.names else {
            return Ok(table);
        };
        let mut chosen = vec![String::new(); cols];
        for (place, name) in self.places.iter().flatten().zip(names) {
            if let Some(place) = place {
                chosen[*place] = name;
            }
        }
        table.with_names(chosen).map_err(|e| {
            e.at_place(self.name)
                .remedy("give each column its own name in the header")
        })
    }
}

/// Names of a header; a column without one is called by its number.
fn header_names<'c>(cells: impl Iterator<Item = &'c [u8]>) -> Vec<String> {
    let name = |(at, cell): (usize, &[u8])| {
        let text = String::from_utf8_lossy(cell);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            at.to_string()
        } else {
            text.to_owned()
        }
    };
    cells.enumerate().map(name).collect()
}

/// The number in `cell`; a missing value is NaN.
pub(crate) fn number(cell: &[u8]) -> Option<f64> {
    let cell = cell.trim_ascii();
    match cell {
        b"" | b"NA" | b"N/A" | b"na" | b"null" | b"NULL" | b"None" => Some(f64::NAN),
        _ => std::str::from_utf8(cell).ok()?.parse().ok(),
    }
}

/// Whether nothing is in `cell`, which may be of text as well as a number.
fn is_missing(cell: &[u8]) -> bool {
    number(cell).is_some_and(f64::is_nan)
}

/// Whether `cell` is a whole number written with digits only.
fn is_whole(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    let digits = cell
        .strip_prefix(b"-")
        .or_else(|| cell.strip_prefix(b"+"))
        .unwrap_or(cell);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Whether `value` only approximates what `cell` says: a whole number with more digits than a
/// double has, or a number beyond all doubles that is not spelled as infinity.
pub(crate) fn is_coarse(cell: &[u8], value: f64) -> bool {
    if value.abs() < 9_007_199_254_740_992.0 || value.is_nan() {
        return false;
    }
    if !is_whole(cell) {
        return value.is_infinite() && !cell.to_ascii_lowercase().windows(3).any(|w| w == b"inf");
    }
    let digits = cell
        .trim_ascii()
        .iter()
        .skip_while(|b| !matches!(b, b'1'..=b'9'));
    !digits.copied().eq(format!("{:.0}", value.abs()).bytes())
}

/// Whether `cell` begins as a number does and has at most one letter: a slip of the pen rather than
/// a name.
fn like_number(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    let digits = cell
        .strip_prefix(b"-")
        .or_else(|| cell.strip_prefix(b"+"))
        .unwrap_or(cell);
    let digits = digits.strip_prefix(b".").unwrap_or(digits);
    let letters = cell
        .iter()
        .filter(|b| b.is_ascii_alphabetic() || !b.is_ascii())
        .count();
    digits.first().is_some_and(u8::is_ascii_digit) && (letters <= 1 || digits.starts_with(b"0x"))
}

/// `cell` for a message, cut to 40 characters.
pub(crate) fn show(cell: &[u8]) -> String {
    short(&String::from_utf8_lossy(&cell[..cell.len().min(200)]), 40)
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
        assert!(is_coarse(b"18446744073709551617", 18446744073709551616.0));
        assert!(!is_coarse(
            b" +018446744073709551616",
            18446744073709551616.0
        ));
        assert!(is_coarse(b"-18446744073709551617", -18446744073709551616.0));
        assert!(is_coarse(&[b'9'; 400], f64::INFINITY) && is_coarse(b"1e999", f64::INFINITY));
        assert!(!is_coarse(b"-Infinity", f64::NEG_INFINITY));
    }

    #[test]
    fn a_slip_of_the_pen_is_no_name() {
        let like: &[&[u8]] = &[
            b"0x10",
            b"5e",
            b"1_000",
            b"5%",
            b"-.5.",
            b"0xff",
            b"1.2.3",
            b"2020-01-01",
        ];
        let names: &[&[u8]] = &[b"x", b"1st", b"e5", b"", b"3dim", b"-", b".x"];
        like.iter()
            .for_each(|c| assert!(like_number(c), "{}", show(c)));
        names
            .iter()
            .for_each(|c| assert!(!like_number(c), "{}", show(c)));
    }
}
