//! Tables: n rows of d numbers, as every reader makes them and every backend takes them.
//!
//! A table is row-major and of one type, f32 or f64. Next to the components a row may have
//! *attributes* (numbers that formulas read by name and distances ignore), columns of text (held as
//! numbers, see `pair/texts.rs`) and *labels* (words that name rows and take no part). Elements are
//! shared ([`Buffer`]), so a clone copies no data.
//!
//! ```text
//! columns  x y z  |  attributes  mass charge       width = 5, cols = 3
//! row      x.x x.y x.z are components; x.mass is an attribute; norm(x) is over three numbers
//! ```

use crate::budget::Budget;
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::labels::{Labels, Words};
use crate::opt::Opt;
use crate::shown::short;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The type in which values of pairs are computed.
///
/// Files of 16-bit floats are read as f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

impl Precision {
    /// Bytes of one value.
    #[doc(hidden)]
    pub fn bytes(self) -> usize {
        match self {
            Precision::F32 => 4,
            Precision::F64 => 8,
        }
    }
}

/// The elements of a table, row by row.
///
/// Two types only. Integers are exact in f64 up to 2⁵³, and readers convert them, so no kernel has
/// a version for each integer type.
#[derive(Clone, Debug)]
pub enum Elements {
    /// Single precision.
    F32(Buffer<f32>),
    /// Double precision; integers and text files become this.
    F64(Buffer<f64>),
}

impl Elements {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        match self {
            Elements::F32(b) => b.len(),
            Elements::F64(b) => b.len(),
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns whether all elements are finite.
    ///
    /// Engines ask it once for a table whose kernels take finite rows only.
    pub fn is_finite(&self) -> bool {
        // A chunk is folded without early exit, which vectorises; a bad element ends the search at
        // its chunk.
        const MANY: usize = 1024;
        match self {
            Elements::F32(b) => b
                .chunks(MANY)
                .all(|part| part.iter().fold(true, |all, v| all & v.is_finite())),
            Elements::F64(b) => b
                .chunks(MANY)
                .all(|part| part.iter().fold(true, |all, v| all & v.is_finite())),
        }
    }
    /// Returns the first element and every `step`-th after it.
    ///
    /// With the number of columns as the step it is one column.
    pub fn every(&self, step: usize) -> Vec<f64> {
        match self {
            Elements::F32(b) => b
                .iter()
                .step_by(step.max(1))
                .map(|v| f64::from(*v))
                .collect(),
            Elements::F64(b) => b.iter().step_by(step.max(1)).copied().collect(),
        }
    }
    /// Returns the elements in single precision, if they are.
    fn single(&self) -> Option<&[f32]> {
        match self {
            Elements::F32(items) => Some(items),
            Elements::F64(_) => None,
        }
    }
    /// Returns the elements in double precision, if they are.
    fn double(&self) -> Option<&[f64]> {
        match self {
            Elements::F64(items) => Some(items),
            Elements::F32(_) => None,
        }
    }
    /// Returns element `at` in f64.
    pub fn get(&self, at: usize) -> f64 {
        match self {
            Elements::F32(b) => f64::from(b[at]),
            Elements::F64(b) => b[at],
        }
    }
}

/// `rows` rows of `cols` numbers, row by row, with optional names, attributes, texts and labels.
///
/// Immutable once it is made: methods return another table that shares the elements.
#[derive(Clone, Debug)]
pub struct Table {
    rows: usize,
    cols: usize,
    elements: Elements,
    /// Names of the columns, then of the attributes. One list, so that a formula's place k is place
    /// k of a row with its attributes.
    names: Option<Arc<[String]>>,
    /// The attributes, a table with as many rows.
    attributes: Option<Arc<Table>>,
    /// Which columns and attributes are text.
    texts: Option<Arc<[usize]>>,
    /// What the numbers of text stand for, if that is known.
    words: Option<Words>,
    labels: Option<Labels>,
}

impl Table {
    /// A table of `rows` × `cols` over row-major `elements`.
    ///
    /// # Errors
    /// `Input` when the number of elements is not `rows * cols`.
    #[doc(hidden)]
    pub fn new(rows: usize, cols: usize, elements: Elements) -> Result<Self> {
        // Checked: a file may declare sizes whose product overflows.
        if rows.checked_mul(cols) != Some(elements.len()) {
            return Err(Error::input(format!(
                "{} numbers do not fill {rows} rows of {cols} columns",
                elements.len()
            )));
        }
        Ok(Table {
            rows,
            cols,
            elements,
            names: None,
            attributes: None,
            texts: None,
            words: None,
            labels: None,
        })
    }
    /// Returns a table in double precision.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub fn f64(rows: usize, cols: usize, items: Vec<f64>) -> Result<Self> {
        Self::new(rows, cols, Elements::F64(items.into()))
    }
    /// Returns a table in single precision.
    ///
    /// # Errors
    /// As [`Table::new`].
    pub fn f32(rows: usize, cols: usize, items: Vec<f32>) -> Result<Self> {
        Self::new(rows, cols, Elements::F32(items.into()))
    }
    /// Returns the table with its columns named.
    ///
    /// # Errors
    /// `Input` when there are not `cols` names, or two are equal.
    pub fn with_names(mut self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.cols {
            return Err(Error::input(format!(
                "{} names for {} columns",
                names.len(),
                self.cols
            )));
        }
        // Sorted references find equal names in n log n steps and copy no text.
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort();
        if let Some(twice) = sorted.windows(2).find(|w| w[0] == w[1]) {
            return Err(Error::input(format!(
                "two columns are named '{}'",
                twice[0]
            )));
        }
        self.names = Some(names.into());
        Ok(self)
    }
    /// Returns the table with attributes: formulas read them by name (`x.mass`), while the row
    /// itself and its differences leave them out. Components without names are called by their
    /// numbers.
    ///
    /// # Errors
    /// `Input` when the rows are not as many, or when an attribute has no name of its own.
    pub fn with_attributes(mut self, attributes: Table) -> Result<Self> {
        if attributes.rows != self.rows {
            let what = format!(
                "attributes of {} rows beside {} rows",
                attributes.rows, self.rows
            );
            return Err(Error::input(what).remedy("one number for each row"));
        }
        let Some(own) = attributes.names() else {
            return Err(Error::input("attributes without names"));
        };
        // Formulas refer to columns by place, so components need a name as soon as attributes have
        // one.
        let numbered = || (0..self.cols).map(|k| k.to_string()).collect();
        let mut names: Vec<String> = self
            .names()
            .map_or_else(numbered, |names| names[..self.cols].to_vec());
        // Names must decide: `x.mass` has one meaning.
        if let Some(twice) = own.iter().find(|name| names.contains(name)) {
            return Err(Error::input(format!(
                "a column and an attribute are both named '{twice}'"
            )));
        }
        names.extend_from_slice(own);
        // The numbers of text columns among the attributes are counted on after the components.
        let texts = self
            .texts()
            .iter()
            .copied()
            .chain(attributes.texts().iter().map(|k| k + self.cols))
            .collect();
        self.names = Some(names.into());
        self = self.with_texts(texts);
        self.attributes = Some(Arc::new(attributes));
        Ok(self)
    }
    /// Returns the table with words for its rows, which results carry.
    ///
    /// # Errors
    /// `Input` when the rows are not as many.
    #[doc(hidden)]
    pub fn with_labels(mut self, labels: Option<Labels>) -> Result<Self> {
        if let Some(odd) = labels
            .iter()
            .flat_map(Labels::columns)
            .find(|w| w.rows() != self.rows)
        {
            return Err(Error::input(format!(
                "{} words of '{}' beside {} rows",
                odd.rows(),
                odd.name,
                self.rows
            )));
        }
        self.labels = labels;
        Ok(self)
    }
    /// Returns the words that name rows.
    #[doc(hidden)]
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_ref()
    }
    /// Returns the table with names, attributes and texts of `other`, whose rows these are after a
    /// preparation.
    ///
    /// Labels stay behind: results take them from the table that the user gave.
    pub(crate) fn beside(mut self, other: &Table) -> Self {
        // A preparation keeps the shape; only then do names and attributes fit.
        if self.cols == other.cols && self.rows == other.rows {
            self.names = other.names.clone();
            self.attributes = other.attributes.clone();
            self.texts = other.texts.clone();
            self.words = other.words.clone();
        }
        self
    }
    /// Returns the table in which these columns (attributes are counted on after the columns) hold
    /// words, by their numbers in ascending order. A formula may compare them with each other and
    /// nothing else.
    #[doc(hidden)]
    pub fn with_texts(mut self, columns: Vec<usize>) -> Self {
        self.texts = (!columns.is_empty()).then(|| columns.into());
        self
    }
    /// Returns the columns and attributes that are text.
    #[doc(hidden)]
    pub fn texts(&self) -> &[usize] {
        self.texts.as_deref().unwrap_or(&[])
    }
    /// Returns the table, of which the numbers of text stand for `words` from 0 on.
    #[doc(hidden)]
    pub fn with_words(self, words: Words) -> Self {
        Table {
            words: Some(words),
            ..self
        }
    }
    /// Returns the table without what its numbers of text stand for.
    #[doc(hidden)]
    #[must_use]
    pub fn without_words(self) -> Self {
        Table {
            words: None,
            ..self
        }
    }
    /// Returns what the numbers of text stand for, if that is known.
    #[doc(hidden)]
    pub fn words(&self) -> Option<&Words> {
        self.words.as_ref()
    }
    /// Returns the table with one more attribute, whose name no formula can write. It marks rows
    /// without weight.
    pub(crate) fn with_mark(self, mark: Vec<f64>) -> Result<Self> {
        let (old, rows) = (self.attributes.clone(), self.rows);
        let wide = old.as_ref().map_or(0, |t| t.cols);
        // Attributes are row by row, so one more of them copies all.
        let mut items = Vec::with_capacity(rows * (wide + 1));
        for (row, mark) in mark.iter().enumerate() {
            items.extend((0..wide).map(|k| old.as_ref().map_or(f64::NAN, |t| t.get(row, k))));
            items.push(*mark);
        }
        let mut names: Vec<String> = old
            .and_then(|t| t.names.clone())
            .map_or_else(Vec::new, |n| n.to_vec());
        // A parenthesis cannot be part of a name in a formula.
        names.push(format!("({wide})"));
        // Only the names of components: `with_attributes` appends those of attributes again.
        let columns = self.names.clone().map(|n| n[..self.cols].to_vec());
        let marked = Table {
            names: columns.map(Into::into),
            attributes: None,
            ..self
        };
        marked.with_attributes(Table::f64(rows, wide + 1, items)?.with_names(names)?)
    }
    /// Returns the attributes.
    #[must_use]
    pub fn attributes(&self) -> Option<&Table> {
        self.attributes.as_deref()
    }
    /// Returns the numbers of a row: components, then attributes.
    ///
    /// Kernels read rows of this length; distances use the first [`Self::cols`] of them.
    #[doc(hidden)]
    pub fn width(&self) -> usize {
        self.cols + self.attributes().map_or(0, Table::cols)
    }
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// Number of columns (components of a row).
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }
    /// The elements, row-major.
    #[doc(hidden)]
    pub fn elements(&self) -> &Elements {
        &self.elements
    }
    /// Names of the columns, if the source had any, then of the attributes.
    #[must_use]
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }
    /// The precision of the elements.
    #[must_use]
    pub fn precision(&self) -> Precision {
        match self.elements {
            Elements::F32(_) => Precision::F32,
            Elements::F64(_) => Precision::F64,
        }
    }
    /// Returns element (`row`, `col`) in f64; attributes are counted on after the columns.
    ///
    /// For single elements. Loops read whole rows by [`Self::row_into`], which asks for the type
    /// once.
    #[must_use]
    pub fn get(&self, row: usize, col: usize) -> f64 {
        match self.attributes() {
            Some(beside) if col >= self.cols => beside.get(row, col - self.cols),
            _ => self.elements.get(row * self.cols + col),
        }
    }
    /// Copies row `row` in f64 into `out`, which is `cols` long, or `width` long for the attributes
    /// too.
    #[doc(hidden)]
    pub fn row_into(&self, row: usize, out: &mut [f64]) {
        // The length of `out` says whether attributes are wanted.
        if let (Some(attributes), true) = (self.attributes(), out.len() > self.cols) {
            attributes.row_into(row, &mut out[self.cols..]);
        }
        // Widening f32 is exact, so every engine that works in f64 sees the same numbers.
        let at = row * self.cols;
        match &self.elements {
            Elements::F32(b) => out
                .iter_mut()
                .zip(&b[at..at + self.cols])
                .for_each(|(o, v)| *o = f64::from(*v)),
            Elements::F64(b) => out[..self.cols].copy_from_slice(&b[at..at + self.cols]),
        }
    }
    /// Returns the position of the first NaN as (row, column); attributes are counted on after the
    /// columns.
    #[doc(hidden)]
    pub fn first_nan(&self) -> Option<(usize, usize)> {
        self.first_nan_component().or_else(|| {
            let (row, at) = self.attributes()?.first_nan()?;
            Some((row, self.cols + at))
        })
    }
    /// Returns what a NaN in column `col` is called in messages.
    #[doc(hidden)]
    pub fn missing(&self, col: usize) -> &'static str {
        if self.texts().contains(&col) {
            "a missing text (NaN) in the data"
        } else {
            "NaN in the data"
        }
    }
    /// Elements have one order, so the first one is the same for every number of threads.
    fn first_nan_component(&self) -> Option<(usize, usize)> {
        let at = match &self.elements {
            Elements::F32(b) => b.iter().position(|v| v.is_nan()),
            Elements::F64(b) => b.iter().position(|v| v.is_nan()),
        }?;
        Some((at / self.cols, at % self.cols))
    }
    /// Returns the table with only the named or numbered columns, in the order given (a copy within
    /// `budget`). Attributes are left out.
    ///
    /// # Errors
    /// `Request` when a column does not exist or is named twice; `Resource` when the budget does
    /// not hold the copy.
    #[doc(hidden)]
    pub fn select(&self, columns: &[String], budget: &Budget) -> Result<Self> {
        let picked = find_columns(columns, self.names(), self.cols)?;
        self.picked(&picked, budget, "the chosen columns")
    }
    /// Returns the table with only the numbered columns, in the order given (a copy within
    /// `budget`, for `purpose`).
    ///
    /// # Errors
    /// `Resource` when the budget does not hold the copy.
    #[doc(hidden)]
    pub fn picked(&self, columns: &[usize], budget: &Budget, purpose: &str) -> Result<Self> {
        // One generic loop for both types; the budget has reserved the room.
        fn copy<T: Copy + Send + Sync + 'static>(
            items: &[T],
            cols: usize,
            to: &mut Vec<T>,
            columns: &[usize],
        ) {
            items
                .chunks_exact(cols.max(1))
                .for_each(|row| to.extend(columns.iter().map(|at| row[*at])));
        }
        let total = self.rows.saturating_mul(columns.len());
        let elements = match &self.elements {
            Elements::F32(items) => {
                let mut out = budget.with_capacity(total, purpose)?;
                copy(items, self.cols, &mut out.items, columns);
                Elements::F32(out.into())
            }
            Elements::F64(items) => {
                let mut out = budget.with_capacity(total, purpose)?;
                copy(items, self.cols, &mut out.items, columns);
                Elements::F64(out.into())
            }
        };
        // A column of text is one in its new place, too.
        let texts = (0..columns.len())
            .filter(|k| self.texts().contains(&columns[*k]))
            .collect();
        let table = Table::new(self.rows, columns.len(), elements)?
            .with_texts(texts)
            .with_labels(self.labels.clone())?;
        match &self.names {
            Some(names) => table.with_names(columns.iter().map(|c| names[*c].clone()).collect()),
            None => Ok(table),
        }
    }
    /// Returns the table of these rows, in the order given, with their attributes.
    #[doc(hidden)]
    pub fn of_rows(&self, rows: &[u32]) -> Result<Self> {
        Table::gathered(&[self], rows.iter().map(|row| (0, *row)))
    }
    /// Returns the table of these rows, each by the number of its table and its row there, in the
    /// order given, with their attributes.
    ///
    /// # Errors
    /// `Input` where the tables have other columns than the first one; `Internal` without a table.
    #[doc(hidden)]
    pub fn gathered(
        tables: &[&Table],
        rows: impl Iterator<Item = (u32, u32)> + Clone,
    ) -> Result<Self> {
        fn copy<'t, T: Copy + 't>(
            items: &[&'t [T]],
            cols: usize,
            rows: impl Iterator<Item = (u32, u32)> + Clone,
        ) -> Vec<T> {
            let row = |(table, row): (u32, u32)| {
                &items[table as usize][row as usize * cols..(row as usize + 1) * cols]
            };
            let mut out = Vec::with_capacity(rows.clone().count() * cols);
            rows.for_each(|place| out.extend_from_slice(row(place)));
            out
        }
        let [first, others @ ..] = tables else {
            return Err(Error::internal("no table that rows are taken from"));
        };
        if others.iter().any(|table| !table.has_columns_of(first)) {
            return Err(Error::input("rows with different columns"));
        }
        let elements = match first.precision() {
            Precision::F32 => {
                let items: Vec<&[f32]> =
                    tables.iter().filter_map(|t| t.elements.single()).collect();
                Elements::F32(copy(&items, first.cols, rows.clone()).into())
            }
            Precision::F64 => {
                let items: Vec<&[f64]> =
                    tables.iter().filter_map(|t| t.elements.double()).collect();
                Elements::F64(copy(&items, first.cols, rows.clone()).into())
            }
        };
        let beside: Vec<&Table> = tables.iter().filter_map(|t| t.attributes()).collect();
        let attributes = match beside.is_empty() {
            true => None,
            false => Some(Arc::new(Table::gathered(&beside, rows.clone())?)),
        };
        Ok(Table {
            names: first.names.clone(),
            attributes,
            texts: first.texts.clone(),
            words: first.words.clone(),
            ..Table::new(rows.count(), first.cols, elements)?
        })
    }
    /// Returns whether the columns, their types and the attributes are those of `other`.
    fn has_columns_of(&self, other: &Table) -> bool {
        (self.cols, self.precision(), self.names(), self.texts())
            == (other.cols, other.precision(), other.names(), other.texts())
            && self.attributes().is_some() == other.attributes().is_some()
    }
    /// Returns the number of the column called `name`, or, without such a name, numbered so from 0.
    ///
    /// # Errors
    /// `Request` when there is none; the message lists the names there are.
    #[doc(hidden)]
    pub fn column(&self, name: &str) -> Result<usize> {
        let by_name = match &self.names {
            Some(names) => place_of(names, name)?,
            None => None,
        };
        let by_number = || name.parse::<usize>().ok().filter(|c| *c < self.cols);
        by_name.or_else(by_number).ok_or_else(|| {
            let have = these(self.names(), self.cols);
            Error::request(format!("no column '{name}'"))
                .remedy(format!("one of the columns there are: {have}"))
        })
    }
}

/// Lists the first names of columns there are, or their numbers. A table of genes has thousands;
/// twenty suffice to see what kind of names they are.
fn these(names: Option<&[String]>, count: usize) -> String {
    match names {
        Some(names) => {
            let more = if names.len() > 20 { ", …" } else { "" };
            names
                .iter()
                .take(20)
                .map(|n| short(n, 80))
                .collect::<Vec<_>>()
                .join(", ")
                + more
        }
        None => format!("0 to {}", count.saturating_sub(1)),
    }
}

/// Returns the numbers of the `wanted` columns, by name or (where no column is called so) by number
/// from 0, each once.
///
/// # Errors
/// `Request` when a column does not exist, is chosen twice, or shares its name.
pub fn find_columns(
    wanted: &[String],
    names: Option<&[String]>,
    count: usize,
) -> Result<Vec<usize>> {
    // Only wanted names are looked up: two equal names matter only if one of them is wanted.
    let wanted_names: HashSet<&str> = wanted.iter().map(String::as_str).collect();
    let mut by_name: HashMap<&str, usize> = HashMap::with_capacity(wanted.len());
    for (at, name) in names
        .unwrap_or_default()
        .iter()
        .enumerate()
        .filter(|(_, n)| wanted_names.contains(n.as_str()))
    {
        if let Some(first) = by_name.insert(name, at) {
            let what = format!("columns {first} and {at} are both called '{name}'");
            return Err(Error::request(what).remedy("pick the column by its number, from 0"));
        }
    }
    let mut seen = HashSet::with_capacity(wanted.len());
    let mut out = Vec::with_capacity(wanted.len());
    for column in wanted {
        let by_number = || column.parse::<usize>().ok().filter(|at| *at < count);
        let at = by_name
            .get(column.as_str())
            .copied()
            .or_else(by_number)
            .ok_or_else(|| {
                let have = these(names, count);
                Error::request(format!("there is no column '{column}'"))
                    .remedy(format!("{} with some of {have}", Opt::Columns))
            })?;
        if !seen.insert(at) {
            let what = format!("column '{column}' is chosen twice");
            return Err(
                Error::request(what).remedy(format!("name each column once in {}", Opt::Columns))
            );
        }
        out.push(at);
    }
    Ok(out)
}

/// Returns the place of the only column called `name`.
///
/// It looks for a second one, because picking the first silently would read another column than the
/// user means.
///
/// # Errors
/// `Request` when several columns are called so.
pub fn place_of(names: &[String], name: &str) -> Result<Option<usize>> {
    let mut places = names
        .iter()
        .enumerate()
        .filter(|(_, have)| *have == name)
        .map(|(at, _)| at);
    match (places.next(), places.next()) {
        (Some(first), Some(second)) => {
            let what = format!("columns {first} and {second} are both called '{name}'");
            Err(Error::request(what).remedy("pick the column by its number, from 0"))
        }
        (first, _) => Ok(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(rows: usize, names: &[&str]) -> Table {
        let items = (0..rows * names.len()).map(|v| v as f64).collect();
        let names: Vec<String> = names.iter().map(|n| (*n).to_string()).collect();
        Table::f64(rows, names.len(), items)
            .unwrap()
            .with_names(names)
            .unwrap()
    }

    #[test]
    fn attributes_follow_the_components_of_a_row() {
        let table = Table::f64(2, 3, vec![7.0; 6])
            .unwrap()
            .with_attributes(named(2, &["mass", "kind"]))
            .unwrap();
        assert_eq!((table.cols(), table.width()), (3, 5));
        assert_eq!(table.names().unwrap(), ["0", "1", "2", "mass", "kind"]);
        let (mut row, mut whole) = ([0.0; 3], [0.0; 5]);
        table.row_into(1, &mut row);
        table.row_into(1, &mut whole);
        assert_eq!((row, whole), ([7.0; 3], [7.0, 7.0, 7.0, 2.0, 3.0]));
        assert_eq!((table.get(0, 2), table.get(1, 4)), (7.0, 3.0));
        assert_eq!(table.first_nan(), None);
    }

    #[test]
    fn attributes_that_do_not_fit_are_refused() {
        assert!(named(2, &["a"]).with_attributes(named(3, &["b"])).is_err());
        assert!(named(2, &["a"]).with_attributes(named(2, &["a"])).is_err());
        assert!(
            named(2, &["a"])
                .with_attributes(Table::f64(2, 1, vec![0.0; 2]).unwrap())
                .is_err()
        );
    }
}
