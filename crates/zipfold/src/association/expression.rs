//! The table: rows by samples, with names and missing values.

use super::asked::Association;
use std::collections::HashMap;
use zipfold_core::budget::Reserved;
use zipfold_core::{Budget, Error, Opt, Result, Table, Words};
use zipfold_io::{ReadOptions, read_table};

/// Rows by samples; NaN is a missing value.
///
/// ```
/// use zipfold::Budget;
/// use zipfold::internals::association::{Association, Expression};
/// use zipfold::Table;
/// let table = Table::f64(2, 3, vec![1.0, f64::NAN, 2.0, 4.0, 4.0, 4.0])?;
/// let rows = Expression::new(&table, &Association::new("genes"), &Budget::new(1 << 20))?;
/// assert_eq!((rows.rows(), rows.samples(), rows.constant()), (2, 3, 1));
/// # Ok::<(), zipfold::Error>(())
/// ```
#[derive(Debug)]
pub struct Expression {
    pub(super) names: Words,
    pub(super) values: Reserved<f64>,
    pub(super) samples: usize,
    /// By row, whether it has pairs: it varies, and has enough samples.
    pub(super) varies: Vec<bool>,
    /// Rows whose values are all equal.
    constant: usize,
}

impl Expression {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.varies.len()
    }
    /// Number of samples.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.samples
    }
    /// Number of rows that never vary.
    #[must_use]
    pub fn constant(&self) -> usize {
        self.constant
    }
    /// Values that are missing.
    pub(super) fn missing(&self) -> usize {
        self.values.items.iter().filter(|v| v.is_nan()).count()
    }
    /// Reads the table of `asked`.
    ///
    /// # Errors
    /// Those of the reader and of [`Expression::new`].
    pub fn read(asked: &Association, budget: &Budget) -> Result<Self> {
        let options = ReadOptions {
            columns: asked.columns.clone(),
            ids: asked.ids.iter().cloned().collect(),
            ..ReadOptions::default()
        };
        let table = read_table(&asked.data, &options, budget)?;
        Expression::new(&table, asked, budget)
    }
    /// Takes the rows of `table`, or its columns.
    ///
    /// # Errors
    /// `Input` for rows without samples, for infinite values and for names that two rows have;
    /// `Resource` beyond the budget.
    pub fn new(table: &Table, asked: &Association, budget: &Budget) -> Result<Self> {
        let names = names(table, asked.transpose);
        some_samples(table, asked)?;
        unique(&names, &asked.data)?;
        let (values, samples) = gathered(table, asked, &names, budget)?;
        let mut varies = vec![false; names.rows()];
        let mut constant = 0;
        for (varies, row) in varies.iter_mut().zip(values.items.chunks(samples.max(1))) {
            let there = || row.iter().filter(|v| !v.is_nan());
            let flat = there().all(|v| Some(v) == there().next());
            *varies = !flat && there().count() >= asked.min_periods;
            constant += usize::from(flat);
        }
        Ok(Expression {
            names,
            values,
            samples,
            varies,
            constant,
        })
    }
    /// The values of the rows from `first` on, with their samples in another order.
    pub(super) fn permuted(&self, first: usize, order: &[usize]) -> Vec<f64> {
        let own = &self.values.items[first * self.samples..];
        let mut values = Vec::with_capacity(own.len());
        for row in own.chunks(self.samples.max(1)) {
            values.extend(order.iter().map(|at| row[*at]));
        }
        values
    }
}

/// The values of rows by samples, and the number of samples.
fn gathered(
    table: &Table,
    asked: &Association,
    names: &Words,
    budget: &Budget,
) -> Result<(Reserved<f64>, usize)> {
    let (rows, samples) = match asked.transpose {
        false => (table.rows(), table.cols()),
        true => (table.cols(), table.rows()),
    };
    let mut values = budget.vec(rows * samples, 0.0, "the values of all samples")?;
    for (row, line) in values.items.chunks_mut(samples.max(1)).enumerate() {
        for (sample, value) in line.iter_mut().enumerate() {
            *value = match asked.transpose {
                false => table.get(row, sample),
                true => table.get(sample, row),
            };
            if value.is_infinite() {
                let what = format!("expected numbers or missing values, got {value}");
                let place = format!("{}, {}, sample {sample}", asked.data, names.get(row));
                let remedy = "an empty cell where a value is missing";
                return Err(Error::input(what).at_place(place).remedy(remedy));
            }
        }
    }
    Ok((values, samples))
}

/// Names of what goes together: the words next to rows, or the names of columns; numbers where
/// there are none.
fn names(table: &Table, transpose: bool) -> Words {
    let numbered = |count: usize| -> Vec<String> { (0..count).map(|at| at.to_string()).collect() };
    let words = |names: &[String]| Words::from_words("name", names.iter().map(String::as_str));
    match (transpose, table.labels(), table.names()) {
        (true, _, Some(names)) => words(&names[..table.cols()]),
        (true, _, None) => words(&numbered(table.cols())),
        (false, Some(labels), _) => labels.first().clone(),
        (false, None, _) => words(&numbered(table.rows())),
    }
}

/// Refuses rows without samples: no pair of them has a value.
fn some_samples(table: &Table, asked: &Association) -> Result<()> {
    let (what, rows, samples) = match asked.transpose {
        false => ("columns of numbers", table.rows(), table.cols()),
        true => ("rows", table.cols(), table.rows()),
    };
    if rows == 0 || samples > 0 {
        return Ok(());
    }
    let got = format!("expected samples in {what}, got none for {rows} rows of the network");
    Err(Error::input(got)
        .at_place(asked.data.clone())
        .remedy("a table with at least one sample"))
}

/// Refuses a name that two rows have: an edge would not say which.
fn unique(names: &Words, place: &str) -> Result<()> {
    let mut seen = HashMap::new();
    for row in 0..names.rows() {
        if let Some(before) = seen.insert(names.get(row), row) {
            let name = names.get(row);
            let what =
                format!("expected names that differ, got '{name}' in rows {before} and {row}");
            return Err(Error::input(what)
                .at_place(place.to_string())
                .remedy(format!("rename one, or another column with {}", Opt::Ids)));
        }
    }
    Ok(())
}
