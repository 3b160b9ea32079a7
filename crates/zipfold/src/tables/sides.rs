//! The columns of a table by name: numbers and words.

use crate::reading::number_texts;
use zipfold_core::problem::NamedColumns;
use zipfold_core::{
    Blame, Budget, Data, Elements, Error, Labels, Opt, Problem, Result, Table, Words,
};
use zipfold_io::rows_write::CellKind;
use zipfold_io::{ReadOptions, read_table};

/// The attribute that has the key of a row.
pub(crate) const KEY: &str = "key of the row";

/// A column among the numbers or among the words of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnPlace {
    /// Of numbers.
    Number(usize),
    /// Of words.
    Word(usize),
}

/// A table as it was given.
#[derive(Clone, Debug)]
pub struct SideTable {
    /// What messages call it.
    pub(crate) name: String,
    /// Its columns of numbers.
    pub(crate) table: Table,
    /// Their names.
    numbers: Vec<String>,
    /// Its columns of words.
    pub(crate) words: Vec<Words>,
}

impl SideTable {
    /// Reads the file `name`: the columns that are `needed`, or all of them. Cells of the columns
    /// `words` are words.
    ///
    /// # Errors
    /// Those of [`read_table`].
    pub(crate) fn read(
        name: &str,
        header: Option<bool>,
        (needed, words): (Option<Vec<String>>, Option<&[String]>),
        budget: &Budget,
    ) -> Result<SideTable> {
        let read = |columns: Option<Vec<String>>| {
            let options = ReadOptions {
                header,
                texts: columns.clone().unwrap_or_default(),
                columns,
                words: words.map(<[String]>::to_vec),
                ..ReadOptions::default()
            };
            read_table(name, &options, budget)
        };
        // Standard input is read once.
        let needed = needed.filter(|columns| name != "-" && !columns.is_empty());
        let table = match read(needed.clone()) {
            // A column that is not there is told with all that are.
            Err(e) if needed.is_some() && e.blame() == Blame::Request => read(None),
            read => read,
        };
        SideTable::new(name, table?)
    }
    /// A table whose words are its labels.
    ///
    /// # Errors
    /// `Resource` for more rows than can be numbered.
    pub(crate) fn new(name: &str, table: Table) -> Result<SideTable> {
        if u32::try_from(table.rows()).is_err() {
            let what = format!("expected fewer than 2^32 rows, got {}", table.rows());
            let e = Error::resource(what).at_place(name);
            return Err(e.remedy("parts of the table, one run each"));
        }
        let columns = table.labels().map_or(&[][..], Labels::columns);
        let words = columns.iter().filter(|w| w.text).cloned().collect();
        let numbered = || (0..table.cols()).map(|k| k.to_string()).collect();
        let numbers = table
            .names()
            .map_or_else(numbered, |names| names[..table.cols()].to_vec());
        Ok(SideTable {
            name: name.to_string(),
            table,
            numbers,
            words,
        })
    }
    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.table.rows()
    }
    /// Its columns: numbers, then words.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (&str, ColumnPlace)> {
        let numbers = self.numbers.iter().map(String::as_str).enumerate();
        let words = self.words.iter().map(|w| w.name.as_str()).enumerate();
        numbers
            .map(|(at, name)| (name, ColumnPlace::Number(at)))
            .chain(words.map(|(at, name)| (name, ColumnPlace::Word(at))))
    }
    /// The column called `name`.
    pub(crate) fn place(&self, name: &str) -> Option<ColumnPlace> {
        self.columns()
            .find(|(have, _)| *have == name)
            .map(|(_, place)| place)
    }
    /// The column called `name`, which `option` asks for.
    ///
    /// # Errors
    /// `Request` with the columns that there are.
    pub(crate) fn column(&self, name: &str, option: Opt) -> Result<ColumnPlace> {
        self.place(name).ok_or_else(|| self.no_column(name, option))
    }
    /// The refusal of a column that is not there.
    pub(crate) fn no_column(&self, name: &str, option: Opt) -> Error {
        let have: Vec<&str> = self.columns().map(|(name, _)| name).collect();
        let more = if have.len() > 20 { ", …" } else { "" };
        let some = have.iter().take(20).copied().collect::<Vec<_>>().join(", ");
        let near = zipfold_core::suggest::nearest(name, have.iter().copied());
        let near = near.map_or(String::new(), |near| format!("'{near}'; "));
        let what = format!("expected a column of {}, got '{name}'", self.name);
        Error::request(what)
            .at_place(option)
            .remedy(format!("{near}one of {some}{more}"))
    }
    /// What the cells of a column are in an output: numbers that are all whole stay whole.
    pub(crate) fn kind(&self, place: ColumnPlace) -> CellKind {
        const LARGEST: f64 = 9_007_199_254_740_992.0;
        let whole = |v: f64| v.is_nan() || v.fract() == 0.0 && v.abs() <= LARGEST;
        match place {
            ColumnPlace::Word(_) => CellKind::Word,
            ColumnPlace::Number(at) => {
                match (0..self.rows()).all(|row| whole(self.table.get(row, at))) {
                    true => CellKind::Whole,
                    false => CellKind::Number,
                }
            }
        }
    }
    /// The rows as an engine takes them: coordinates, then the columns `named` by formulas and the
    /// key of each row as attributes.
    fn arranged(&self, wanted: &Arranged<'_>, side: usize, budget: &Budget) -> Result<Table> {
        let coordinates = self.coordinates(wanted.coordinates, &wanted.keys[side])?;
        let picked = match coordinates.len() == self.table.cols() {
            true => self.table.clone(),
            false => self.table.picked(&coordinates, budget, "the coordinates")?,
        };
        // Without names and labels of the table that was read.
        let rows = Table::new(picked.rows(), picked.cols(), picked.elements().clone())?
            .with_names(self.names(&coordinates))?
            .with_labels(Labels::new(self.words.clone()))?;
        let is_attribute = |at: &usize| {
            wanted.named.columns[side].contains(&self.numbers[*at]) && !coordinates.contains(at)
        };
        let places: Vec<usize> = (0..self.table.cols()).filter(is_attribute).collect();
        let codes = wanted.codes.map(|codes| &codes[side][..]);
        match places.is_empty() && codes.is_none() {
            true => Ok(rows),
            false => rows.with_attributes(self.attributes(&places, codes, budget)?),
        }
    }
    /// The columns of numbers that are coordinates: those chosen, or all but the keys.
    fn coordinates(&self, chosen: Option<&[String]>, keys: &[String]) -> Result<Vec<usize>> {
        let Some(columns) = chosen else {
            let is_key = |at: &usize| keys.contains(&self.numbers[*at]);
            return Ok((0..self.table.cols()).filter(|at| !is_key(at)).collect());
        };
        let place = |name: &String| match self.column(name, Opt::Positions)? {
            ColumnPlace::Number(at) => Ok(at),
            ColumnPlace::Word(_) => {
                let what = format!("expected numbers for coordinates, got text in '{name}'");
                let e = Error::request(what).at_place(self.name.clone());
                Err(e.remedy(Opt::Positions.like("x,y")))
            }
        };
        columns.iter().map(place).collect()
    }
    /// Columns of numbers, and the key of each row.
    fn attributes(
        &self,
        places: &[usize],
        codes: Option<&[f64]>,
        budget: &Budget,
    ) -> Result<Table> {
        let width = places.len() + usize::from(codes.is_some());
        let total = self.rows().saturating_mul(width);
        let mut items = budget.with_capacity(total, "the columns that formulas name")?;
        for row in 0..self.rows() {
            let cells = places.iter().map(|at| self.table.get(row, *at));
            items.items.extend(cells);
            items.items.extend(codes.map(|codes| codes[row]));
        }
        let mut own = self.names(places);
        own.extend(codes.map(|_| KEY.to_string()));
        Table::new(self.rows(), width, Elements::F64(items.into()))?.with_names(own)
    }
    fn names(&self, places: &[usize]) -> Vec<String> {
        places.iter().map(|at| self.numbers[*at].clone()).collect()
    }
}

/// What an engine needs of two tables.
#[derive(Clone, Debug)]
pub(crate) struct Arranged<'a> {
    /// The columns that are coordinates; all numbers but keys when `None`.
    pub(crate) coordinates: Option<&'a [String]>,
    /// The columns of keys of x and y.
    pub(crate) keys: [Vec<String>; 2],
    /// By row, the number of its key; NaN where it has none.
    pub(crate) codes: Option<&'a [Vec<f64>; 2]>,
    /// What formulas name.
    pub(crate) named: NamedColumns,
}

impl Arranged<'_> {
    /// The rows of x and of y (none for one table), words of formulas as numbers.
    ///
    /// # Errors
    /// `Request` for columns that there are not; `Resource` beyond the budget.
    pub(crate) fn data(
        &self,
        problem: &Problem,
        sides: [&SideTable; 2],
        budget: &Budget,
    ) -> Result<Data> {
        let mut x = sides[0].arranged(self, 0, budget)?;
        let mut y = match problem.y {
            Some(_) => Some(sides[1].arranged(self, 1, budget)?),
            None => None,
        };
        number_texts(problem, &self.named, &mut x, y.as_mut(), budget)?;
        let weights = vec![];
        Ok(Data {
            pairs: None,
            x,
            y,
            weights,
        })
    }
}
