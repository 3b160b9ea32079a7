//! Binary tables in FITS files (FITS Standard 4.0, section 7.3).
//!
//! ```text
//! file      units, each a header and data, both filled up to blocks of 2880 bytes
//! header    cards of 80 letters, KEYWORD = value / comment, to the card END
//! data      of a BINTABLE: NAXIS2 rows of NAXIS1 bytes, big-endian, then a heap
//! ```
//!
//! The first BINTABLE is read, or the one that `FILE.fits:NAME` names by its EXTNAME or by its
//! number among the units, from 0. Columns that hold no numbers (text, bits, complex numbers,
//! variable arrays) are left out, and refused where they are chosen. A column of several numbers is
//! as many columns, `NAME_0` and so on. TZERO, TSCAL and TNULL are applied.

use crate::guard::{Source, at_byte, read_error};
use crate::select::pick;
use std::io::Read;
use zipfold_core::budget::{Reservation, Tab};
use zipfold_core::{Budget, Elements, Error, Opt, Result, Table};

/// Bytes of a block.
const BLOCK: u64 = 2880;
/// Bytes of a card.
const CARD: usize = 80;
/// Blocks that a header may have: 999 columns have a dozen cards each at most.
const LONGEST_HEADER: u64 = 1000;
/// Units that are looked through.
const MOST_UNITS: usize = 10_000;
/// Columns that a table may have.
const MOST_FIELDS: usize = 999;
/// Numbers that a column of a row may have.
const MOST_REPEATS: usize = 1 << 16;
/// Bytes behind the name of a number of a column, as `_65535`, and of its own piece of memory.
const LONGEST_SUFFIX: usize = 24;
/// Bytes of rows that are read at a time.
const CHUNK: usize = 1 << 20;
/// Integers beyond this are not all numbers of f64.
const EXACT: u64 = 1 << 53;

/// The cards of a unit, and where its data are.
struct Unit {
    cards: Vec<(String, String)>,
    data_at: u64,
    /// Bytes of the data, without what fills the last block.
    len: u64,
}

/// How a number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stored {
    Truth,
    U8,
    I16,
    I32,
    I64,
    F32,
    F64,
}

/// A number of each row.
#[derive(Clone, Debug)]
struct Field {
    name: String,
    /// Where it is in a row.
    at: usize,
    stored: Stored,
    scale: f64,
    zero: f64,
    null: Option<i64>,
}

/// A column of numbers, before its fields are made.
struct FitsColumn {
    /// Its number, from 1.
    number: usize,
    /// Where it is in a row.
    at: usize,
    stored: Stored,
    repeat: usize,
}

/// The form of a table.
struct Form {
    row: usize,
    rows: usize,
    fields: Vec<Field>,
    data_at: u64,
    /// The memory of the fields.
    _held: Reservation,
}

/// Reads a binary table of `source`: the one that `member` names, or the first one.
///
/// # Errors
/// `Input` for a damaged file or one without a binary table, `Request` for a table or a column that
/// is not there, `Resource` beyond the budget.
pub fn read_fits(
    source: &Source,
    member: Option<&str>,
    columns: Option<&[String]>,
    budget: &Budget,
) -> Result<Table> {
    let unit = unit(source, member)?;
    let form = unit.form(source, budget)?;
    let names: Vec<String> = form.fields.iter().map(|field| field.name.clone()).collect();
    let chosen = match columns {
        Some(wanted) => {
            pick(wanted, Some(&names), names.len()).map_err(|e| e.at_place(source.name()))?
        }
        None => (0..names.len()).collect(),
    };
    if chosen.is_empty() {
        return Err(Error::input("the table has no column of numbers")
            .at_place(source.name())
            .remedy("another table: FILE.fits:NAME"));
    }
    let fields: Vec<&Field> = chosen.iter().map(|at| &form.fields[*at]).collect();
    let single = |field: &&Field| field.stored == Stored::F32 && field.is_plain();
    let named = fields.iter().map(|field| field.name.clone()).collect();
    let (rows, cols) = (form.rows, fields.len());
    let purpose = format!("the columns of {}", source.name());
    let total = rows.saturating_mul(cols);
    let elements = if fields.iter().all(single) {
        let mut items = budget.with_capacity::<f32>(total, &purpose)?;
        form.each((source, budget), &fields, &mut |v| {
            items.items.push(v as f32)
        })?;
        Elements::F32(items.into())
    } else {
        let mut items = budget.with_capacity::<f64>(total, &purpose)?;
        form.each((source, budget), &fields, &mut |v| items.items.push(v))?;
        Elements::F64(items.into())
    };
    Table::new(rows, cols, elements)?.with_names(named)
}

/// The binary table that `member` names, or the first one.
fn unit(source: &Source, member: Option<&str>) -> Result<Unit> {
    let mut at = 0;
    let mut tables: Vec<String> = vec![];
    for number in 0..MOST_UNITS {
        if at >= source.size() {
            break;
        }
        let unit = Unit::read(source, at, number == 0)?;
        // The last block of the last unit may lack what fills it.
        let end = unit.data_at.checked_add(unit.len);
        let is_whole = end.is_some_and(|end| end <= source.size());
        let next = blocks(unit.len).and_then(|len| unit.data_at.checked_add(len));
        let Some(next) = next.filter(|_| is_whole) else {
            let what = format!("ends early: its data need {} bytes from here", unit.len);
            return Err(Error::input(what)
                .at_place(at_byte(source.name(), unit.data_at))
                .limit(format!("the file's {} bytes", source.size()))
                .remedy("copy or make the file again"));
        };
        if unit.text("XTENSION") == Some("BINTABLE") {
            let name = unit.text("EXTNAME").unwrap_or("");
            let wanted = member.is_none_or(|member| {
                member.eq_ignore_ascii_case(name) || member.parse() == Ok(number)
            });
            if wanted {
                return Ok(unit);
            }
            tables.push(format!("{number} '{name}'"));
        }
        at = next;
    }
    let e = match member {
        Some(member) => Error::request(format!("there is no binary table '{member}'")),
        None => Error::input("expected a binary table (BINTABLE), got none"),
    };
    Err(e.at_place(source.name()).remedy(format!(
        "one of the tables there are: {}",
        tables.join(", ")
    )))
}

/// `len` filled up to whole blocks.
fn blocks(len: u64) -> Option<u64> {
    len.div_ceil(BLOCK).checked_mul(BLOCK)
}

impl Unit {
    /// Reads the header that begins at byte `at`.
    fn read(source: &Source, at: u64, first: bool) -> Result<Unit> {
        let bad = |what: &str, at: u64| {
            Error::input(format!("is no FITS file: {what}"))
                .at_place(at_byte(source.name(), at))
                .remedy("a file with a FITS header, not packed")
        };
        let mut cards: Vec<(String, String)> = vec![];
        for block in 0..LONGEST_HEADER {
            let from = at + block * BLOCK;
            let mut bytes = [0u8; BLOCK as usize];
            source.fill_at(from, &mut bytes)?;
            for (number, card) in bytes.chunks_exact(CARD).enumerate() {
                let place = from + (number * CARD) as u64;
                if !card.iter().all(|byte| (0x20..0x7f).contains(byte)) {
                    return Err(bad("a card of its header is no text", place));
                }
                let text = String::from_utf8_lossy(card);
                let key = text[..8].trim_end().to_string();
                if block == 0 && number == 0 {
                    let wanted = if first { "SIMPLE" } else { "XTENSION" };
                    if key != wanted {
                        return Err(bad(
                            &format!("its header does not begin with {wanted}"),
                            place,
                        ));
                    }
                }
                if key == "END" {
                    let mut unit = Unit {
                        cards,
                        data_at: from + BLOCK,
                        len: 0,
                    };
                    unit.len = unit
                        .data_len()
                        .ok_or_else(|| bad("its header gives the data no size", at))?;
                    return Ok(unit);
                }
                if &text[8..10] == "= " {
                    cards.push((key, value(&text[10..])));
                }
            }
        }
        Err(bad("its header does not end", at))
    }
    fn text(&self, key: &str) -> Option<&str> {
        let card = self.cards.iter().find(|(name, _)| name == key);
        card.map(|(_, value)| value.as_str())
    }
    fn number<T: std::str::FromStr>(&self, key: &str) -> Option<T> {
        self.text(key)?.parse().ok()
    }
    fn float(&self, key: &str) -> Option<f64> {
        // Double precision may have a D in place of an E.
        self.text(key)?.replace(['D', 'd'], "E").parse().ok()
    }
    /// Bytes of the data: |BITPIX| / 8 · GCOUNT · (PCOUNT + NAXIS1 · NAXIS2 · …).
    fn data_len(&self) -> Option<u64> {
        let axes: u64 = self.number("NAXIS")?;
        if axes == 0 {
            return Some(0);
        }
        if axes > 999 {
            return None;
        }
        let mut sides = (1..=axes).map(|axis| self.number::<u64>(&format!("NAXIS{axis}")));
        let elements = sides.try_fold(1u64, |all, side| all.checked_mul(side?))?;
        let beside = self.number("PCOUNT").unwrap_or(0);
        let groups = self.number("GCOUNT").unwrap_or(1);
        let width = self.number::<i64>("BITPIX")?.unsigned_abs() / 8;
        elements
            .checked_add(beside)?
            .checked_mul(groups)?
            .checked_mul(width)
    }
    fn bad(&self, source: &Source, what: String) -> Error {
        Error::input(what)
            .at_place(at_byte(source.name(), self.data_at))
            .remedy("a binary table by the FITS standard")
    }
    /// The form of a binary table.
    fn form(&self, source: &Source, budget: &Budget) -> Result<Form> {
        let number = |key: &str| {
            let found = self.number::<u64>(key);
            found.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
                let what = format!("expected a number as {key} of the table, got none");
                self.bad(source, what)
            })
        };
        let (row, rows, count) = (number("NAXIS1")?, number("NAXIS2")?, number("TFIELDS")?);
        if count > MOST_FIELDS {
            let what = format!("expected at most {MOST_FIELDS} columns, got {count}");
            return Err(self.bad(source, what));
        }
        let columns = self.columns(source, count, row)?;
        let bytes = (rows as u64).checked_mul(row as u64);
        if bytes.is_none_or(|len| len > self.len) {
            let what = format!("expected data of {rows} rows of {row} bytes, got fewer");
            return Err(self.bad(source, what));
        }
        let mut tab = budget.tab(format!("the names of the columns of {}", source.name()));
        let mut fields = vec![];
        for column in &columns {
            self.add_fields(source, column, (&mut tab, &mut fields))?;
        }
        Ok(Form {
            row,
            rows,
            fields,
            data_at: self.data_at,
            _held: tab.close(),
        })
    }
    /// The columns of numbers among `count`, which have `row` bytes together.
    fn columns(&self, source: &Source, count: usize, row: usize) -> Result<Vec<FitsColumn>> {
        let (mut columns, mut at) = (vec![], 0usize);
        for number in 1..=count {
            let form = self.text(&format!("TFORM{number}")).unwrap_or("");
            let known = parsed(form)
                .and_then(|(repeat, letter)| Some((repeat, kind(letter, repeat)?)))
                .ok_or_else(|| format!("expected a form of column {number}, got '{form}'"));
            let (repeat, (stored, width)) = known.map_err(|what| self.bad(source, what))?;
            if let Some(stored) = stored {
                if repeat > MOST_REPEATS {
                    let what = format!(
                        "expected at most {MOST_REPEATS} numbers in column {number}, got {repeat}"
                    );
                    return Err(self.bad(source, what));
                }
                columns.push(FitsColumn {
                    number,
                    at,
                    stored,
                    repeat,
                });
            }
            at = at
                .checked_add(width)
                .ok_or_else(|| self.bad(source, format!("column {number} is too wide")))?;
        }
        if at != row {
            let what = format!("expected columns of {row} bytes together, got {at}");
            return Err(self.bad(source, what));
        }
        Ok(columns)
    }
    /// Adds the numbers of a column to `fields`, and their memory to `tab`.
    fn add_fields(
        &self,
        source: &Source,
        column: &FitsColumn,
        (tab, fields): (&mut Tab, &mut Vec<Field>),
    ) -> Result<()> {
        let key = |key: &str| format!("{key}{}", column.number);
        let name = match self.text(&key("TTYPE")) {
            Some(name) if !name.is_empty() => name.to_string(),
            _ => format!("column{}", column.number),
        };
        let number = |key: String, default: f64| match self.text(&key) {
            None => Ok(default),
            Some(text) => self.float(&key).filter(|v| v.is_finite()).ok_or_else(|| {
                self.bad(source, format!("expected a number as {key}, got '{text}'"))
            }),
        };
        let (scale, zero) = (number(key("TSCAL"), 1.0)?, number(key("TZERO"), 0.0)?);
        let null = self.text(&key("TNULL")).map(|text| {
            text.parse::<i64>().map_err(|_| {
                let what = format!("expected an integer as {}, got '{text}'", key("TNULL"));
                self.bad(source, what)
            })
        });
        let null = null.transpose()?;
        // A name is kept with its field, among all names, and with the table.
        let text = size_of::<String>() + name.len() + LONGEST_SUFFIX;
        tab.add((column.repeat * (size_of::<Field>() + 3 * text)) as u64)?;
        fields.reserve(column.repeat);
        fields.extend((0..column.repeat).map(|k| Field {
            name: match column.repeat {
                1 => name.clone(),
                _ => format!("{name}_{k}"),
            },
            at: column.at + k * column.stored.bytes(),
            stored: column.stored,
            scale,
            zero,
            null,
        }));
        Ok(())
    }
}

/// The value of a card: of a text what is between its quotes.
fn value(card: &str) -> String {
    let card = card.trim();
    if let Some(rest) = card.strip_prefix('\'') {
        let mut text = String::new();
        let mut letters = rest.chars().peekable();
        while let Some(letter) = letters.next() {
            // Two quotes are one.
            if letter == '\'' && letters.next_if_eq(&'\'').is_none() {
                break;
            }
            text.push(letter);
        }
        return text.trim_end().to_string();
    }
    card.split('/').next().unwrap_or("").trim().to_string()
}

/// The repeat and the letter of a form: `3E`, `D`, `1PE(5)`.
fn parsed(form: &str) -> Option<(usize, char)> {
    let digits = form.find(|c: char| !c.is_ascii_digit())?;
    let repeat = match &form[..digits] {
        "" => 1,
        digits => digits.parse().ok()?,
    };
    Some((repeat, form[digits..].chars().next()?))
}

/// How numbers of a letter are stored, none of what holds no numbers, and the bytes of the column.
fn kind(letter: char, repeat: usize) -> Option<(Option<Stored>, usize)> {
    let of = |stored: Stored| Some((Some(stored), repeat.checked_mul(stored.bytes())?));
    match letter {
        'L' => of(Stored::Truth),
        'B' => of(Stored::U8),
        'I' => of(Stored::I16),
        'J' => of(Stored::I32),
        'K' => of(Stored::I64),
        'E' => of(Stored::F32),
        'D' => of(Stored::F64),
        'A' => Some((None, repeat)),
        'X' => Some((None, repeat.div_ceil(8))),
        'C' | 'P' => Some((None, repeat.checked_mul(8)?)),
        'M' | 'Q' => Some((None, repeat.checked_mul(16)?)),
        _ => None,
    }
}

impl Stored {
    fn bytes(self) -> usize {
        match self {
            Stored::Truth | Stored::U8 => 1,
            Stored::I16 => 2,
            Stored::I32 | Stored::F32 => 4,
            Stored::I64 | Stored::F64 => 8,
        }
    }
}

impl Field {
    fn is_plain(&self) -> bool {
        self.scale == 1.0 && self.zero == 0.0
    }
    /// The number of a row; none of an integer that f64 does not hold.
    fn number(&self, row: &[u8]) -> Option<f64> {
        let whole = match self.stored {
            Stored::Truth => {
                return Some(match row[self.at] {
                    b'T' => 1.0,
                    b'F' => 0.0,
                    _ => f64::NAN,
                });
            }
            Stored::F32 => {
                let v = f32::from_be_bytes(bytes(row, self.at));
                return Some(self.scaled(f64::from(v)));
            }
            Stored::F64 => return Some(self.scaled(f64::from_be_bytes(bytes(row, self.at)))),
            Stored::U8 => i64::from(row[self.at]),
            Stored::I16 => i64::from(i16::from_be_bytes(bytes(row, self.at))),
            Stored::I32 => i64::from(i32::from_be_bytes(bytes(row, self.at))),
            Stored::I64 => i64::from_be_bytes(bytes(row, self.at)),
        };
        if self.null == Some(whole) {
            return Some(f64::NAN);
        }
        // Integers without a sign have their offset as TZERO: exact where the sum is.
        let offset = self.scale == 1.0 && self.zero.fract() == 0.0 && self.zero.abs() < 1e20;
        let shifted = match offset {
            true => i128::from(whole) + self.zero as i128,
            false => i128::from(whole),
        };
        let is_exact = shifted.unsigned_abs() <= u128::from(EXACT);
        is_exact.then_some(match offset {
            true => shifted as f64,
            false => self.scaled(whole as f64),
        })
    }
    fn scaled(&self, v: f64) -> f64 {
        match self.is_plain() {
            true => v,
            false => v * self.scale + self.zero,
        }
    }
}

/// The bytes of a number; fields are within rows.
fn bytes<const N: usize>(row: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&row[at..at + N]);
    out
}

impl Form {
    /// Hands the numbers of `fields` to `take`, row by row.
    fn each(
        &self,
        (source, budget): (&Source, &Budget),
        fields: &[&Field],
        take: &mut dyn FnMut(f64),
    ) -> Result<()> {
        let at_once = (CHUNK / self.row.max(1)).clamp(1, self.rows.max(1));
        let mut chunk = budget.vec(at_once * self.row, 0u8, "rows of a FITS table")?;
        let mut reader = source.reader_at(self.data_at);
        for first in (0..self.rows).step_by(at_once) {
            let rows = at_once.min(self.rows - first);
            let chunk = &mut chunk.items[..rows * self.row];
            reader
                .read_exact(chunk)
                .map_err(|e| read_error(source.name(), "cannot be read", &e))?;
            for (row, bytes) in chunk.chunks_exact(self.row.max(1)).enumerate() {
                for field in fields {
                    take(
                        field
                            .number(bytes)
                            .ok_or_else(|| too_large(source, field, first + row))?,
                    );
                }
            }
        }
        Ok(())
    }
}

fn too_large(source: &Source, field: &Field, row: usize) -> Error {
    let what = format!(
        "expected integers that double precision holds, got a larger one in column '{}', row {row} (from 0)",
        field.name
    );
    Error::input(what)
        .at_place(source.name())
        .limit("2^53")
        .remedy(format!("leave the column out with {}", Opt::Columns))
}
