//! Reads the keys of rows and the condition on them that a problem asks for.

use super::listed::{self, Taken};
use crate::conditions::{self, Condition};
use crate::data::Data;
use crate::error::{Error, Result};
use crate::keys::{NONE, RowKeys};
use crate::opt::Opt;
use crate::parts::{Keep, KeyParts, RowPairs, Within};
use crate::problem::{NanPolicy, Problem};
use crate::space::Space;
use crate::space::band::{MOST_COLUMNS, TimeSpan, Window};
use crate::table::Table;
use std::collections::HashMap;
use std::sync::Arc;

/// What a question says of the places and keys of its rows.
#[derive(Default)]
pub(super) struct Conditions {
    by: Option<RowKeys>,
    within: Option<Within>,
    pub(super) window: Window,
    batches: bool,
}

impl Conditions {
    /// Reads the groups and the conditions of `problem`.
    ///
    /// # Errors
    /// `Request` for texts that name no condition; those of [`read`] and [`span`].
    pub(super) fn read(problem: &Problem, data: &Data) -> Result<Conditions> {
        let mut kept = Conditions::default();
        if let Some(column) = &problem.by {
            kept.by = Some(read(column, Opt::By, data, problem.nan)?);
        }
        if let Some(column) = &problem.batch {
            kept.ask_alone(column, problem, data)?;
        }
        let conditions = problem
            .within
            .as_deref()
            .map(conditions::read)
            .transpose()?;
        for condition in conditions.into_iter().flatten() {
            kept.add(condition, problem, data)?;
        }
        Ok(kept)
    }
    /// Asks the question of the rows of each key alone.
    fn ask_alone(&mut self, column: &str, problem: &Problem, data: &Data) -> Result<()> {
        if self.by.is_some() {
            let e = Error::request("expected groups or batches, got both");
            return Err(e.at_place(Opt::Batch).remedy("one run for each"));
        }
        let keys = read(column, Opt::Batch, data, problem.nan)?;
        self.by = Some(keys.clone());
        let keep = Keep::Same;
        self.within = Some(Within { keys, keep });
        self.batches = true;
        Ok(())
    }
    fn add(&mut self, condition: Condition, problem: &Problem, data: &Data) -> Result<()> {
        match condition {
            Condition::Keys(keep, column) => {
                if self.batches {
                    let e = Error::request("expected batches or a condition on keys, got both");
                    return Err(e.at_place(Opt::Within).remedy("a column of both keys"));
                }
                if self.within.is_some() {
                    let e = Error::request("expected one condition on keys, got two");
                    return Err(e.at_place(Opt::Within).remedy("a column of both keys"));
                }
                let keys = keys(keep, column.as_deref(), self.by.as_ref(), problem, data)?;
                self.within = Some(Within { keys, keep });
            }
            Condition::Band(rows) => {
                let before = self.window.rows.unwrap_or(usize::MAX);
                self.window.rows = Some(rows.min(before));
            }
            Condition::Window(column, width) => self.window.spans.push(span(column, width, data)?),
            Condition::Earlier => self.window.earlier = true,
        }
        Ok(())
    }
    /// Returns whether rows have groups, or pairs a condition on keys.
    pub(super) fn has_keys(&self) -> bool {
        self.by.is_some() || self.within.is_some()
    }
    /// Returns whether each pair that is kept has an earlier row, which no result is credited to.
    pub(super) fn is_earlier(&self) -> bool {
        self.window.earlier
    }
    /// Returns the pairs of `space` that are kept, of a question without keys.
    ///
    /// # Errors
    /// `Request` for more columns than a band has.
    pub(super) fn space(&self, space: Space) -> Result<Space> {
        if self.window.is_open() {
            return Ok(space);
        }
        let (n, m) = (space.n, space.m);
        countable(m)?;
        let band = Some(self.window.band(0..n, m, |j| j));
        let kept = Space {
            band,
            ..space.clone()
        };
        // Bounds and devices serve a question whose band leaves nothing out.
        match kept.size()? == space.size()? {
            true => Ok(space),
            false => Ok(kept),
        }
    }
    /// Returns the parts of a question that lists its `pairs`, of which conditions keep some.
    ///
    /// # Errors
    /// `Request` for too many pairs or parts.
    pub(super) fn listed(self, pairs: RowPairs, taken: Taken, half: bool) -> Result<KeyParts> {
        let half = half && !taken.both;
        let same = |keys: &RowKeys, [i, j]: [usize; 2]| {
            let (a, b) = (keys.codes[0][i], keys.codes[1][j]);
            (a != NONE && b != NONE).then_some(a == b)
        };
        let keeps = |pair: [u32; 2]| {
            let [i, j] = pair.map(|row| row as usize);
            let keyed = self
                .within
                .as_ref()
                .is_none_or(|within| same(&within.keys, [i, j]) == Some(within.keep == Keep::Same));
            let grouped = self.by.as_ref().is_none_or(|by| same(by, [i, j]).is_some());
            keyed && grouped && self.window.holds(i, j)
        };
        let divided = listed::divide(pairs, taken, self.by.as_ref(), (half, keeps))?;
        let (listed, cut) = (divided.listed, (divided.list, divided.orders));
        let batches = self.batches;
        let parts = KeyParts::of_list((self.by, self.within, self.window), listed, cut, half)?;
        Ok(parts.with_batches(batches))
    }
    /// Returns the parts of a question with keys. `whole_rows` says that a row must have all of its
    /// pairs in one part.
    ///
    /// # Errors
    /// `Request` for too many parts.
    pub(super) fn parts(self, space: &Space, whole_rows: bool) -> Result<KeyParts> {
        let kept = (space, whole_rows);
        let parts = KeyParts::new(self.by, self.within, self.window, kept)?;
        Ok(parts.with_batches(self.batches))
    }
}

/// Refuses more rows of y than 32 bits count.
fn countable(m: usize) -> Result<()> {
    match m > MOST_COLUMNS {
        false => Ok(()),
        true => Err(Error::request(format!("{m} rows of y"))
            .at_place(Opt::Within)
            .limit(format!("{MOST_COLUMNS} rows of y"))),
    }
}

/// The keys of `column`, or of the groups.
fn keys(
    keep: Keep,
    column: Option<&str>,
    by: Option<&RowKeys>,
    problem: &Problem,
    data: &Data,
) -> Result<RowKeys> {
    match (column, by) {
        (Some(column), Some(by)) if by.column == column => Ok(by.clone()),
        (Some(column), _) => read(column, Opt::Within, data, problem.nan),
        (None, Some(by)) => Ok(by.clone()),
        (None, None) => {
            let word = match keep {
                Keep::Same => "same",
                Keep::Other => "other",
            };
            let e = Error::request(format!("expected a column of keys, got '{word}' alone"));
            Err(e
                .at_place(Opt::Within)
                .remedy(Opt::Within.to(format!("{word}:COLUMN"))))
        }
    }
}

/// Reads the column of a window from both tables.
///
/// # Errors
/// `Request` if a table has no such column, or labels in it; `Input` for a value that is not finite
/// or below the one before.
fn span(column: String, width: f64, data: &Data) -> Result<TimeSpan> {
    let times = |table: &Table, side: &str| -> Result<Arc<[f64]>> {
        let at = place_in(table, &column, Opt::Within)?;
        if table.texts().contains(&at) {
            let what = format!("expected numbers in '{column}' of {side}, got labels");
            return Err(Error::request(what)
                .at_place(Opt::Within)
                .remedy("a column of numbers"));
        }
        let times: Arc<[f64]> = (0..table.rows()).map(|row| table.get(row, at)).collect();
        sorted(&times, &column, side)?;
        Ok(times)
    };
    let x = times(&data.x, "x")?;
    let y = match &data.y {
        Some(y) => times(y, "y")?,
        None => x.clone(),
    };
    Ok(TimeSpan {
        column,
        times: [x, y],
        width,
    })
}

/// Refuses values that are not finite, or fall.
fn sorted(times: &[f64], column: &str, side: &str) -> Result<()> {
    let at = |row: usize| format!("{}, '{column}' of {side}, row {row}", Opt::Within);
    if let Some(row) = times.iter().position(|time| !time.is_finite()) {
        let e = Error::input(format!(
            "expected a finite number in every row of a window's column, got {}",
            times[row]
        ));
        return Err(e.at_place(at(row)).remedy("leave out such rows"));
    }
    match times.windows(2).position(|two| two[0] > two[1]) {
        None => Ok(()),
        Some(row) => {
            let (before, here) = (times[row], times[row + 1]);
            let e = Error::input(format!(
                "expected a column in ascending order, got {here} after {before}"
            ));
            Err(e
                .at_place(at(row + 1))
                .remedy(format!("sort the rows of {side} by '{column}'")))
        }
    }
}

/// Reads the keys from the column called `column` of both tables; `option` requested it.
///
/// # Errors
/// `Request` if a table has no such column, or if one has labels and the other numbers; `Input`
/// for a row without a key, unless the policy skips it.
fn read(column: &str, option: Opt, data: &Data, nan: NanPolicy) -> Result<RowKeys> {
    let tables: Vec<&Table> = std::iter::once(&data.x).chain(data.y.as_ref()).collect();
    let places = tables
        .iter()
        .map(|table| place_in(table, column, option))
        .collect::<Result<Vec<_>>>()?;
    let texts: Vec<bool> = tables
        .iter()
        .zip(&places)
        .map(|(table, at)| table.texts().contains(at))
        .collect();
    if texts.windows(2).any(|w| w[0] != w[1]) {
        let what = format!("expected labels or numbers in both '{column}', got one of each");
        return Err(Error::request(what)
            .at_place(option)
            .remedy("write both columns the same way"));
    }
    let values: Vec<Vec<f64>> = tables
        .iter()
        .zip(&places)
        .map(|(table, at)| (0..table.rows()).map(|row| table.get(row, *at)).collect())
        .collect();
    if nan != NanPolicy::Skip {
        values
            .iter()
            .zip(["x", "y"])
            .try_for_each(|(values, side)| whole(values, side, column, option))?;
    }
    let known = distinct(&values);
    let code: HashMap<u64, u32> = known
        .iter()
        .enumerate()
        .map(|(at, value)| (value.to_bits(), at as u32))
        .collect();
    // −0 and 0 are one key; NaN has none.
    let code_of = |value: &f64| code.get(&(value + 0.0).to_bits()).copied().unwrap_or(NONE);
    let mut codes = values
        .iter()
        .map(|values| values.iter().map(code_of).collect::<Arc<[u32]>>());
    let x = codes.next().unwrap_or_default();
    let y = codes.next().unwrap_or_else(|| x.clone());
    let words = data.x.words().filter(|_| texts[0]);
    let name = |value: &f64| match words {
        Some(words) => words.get(*value as usize).to_string(),
        None => value.to_string(),
    };
    Ok(RowKeys {
        column: column.into(),
        names: known.iter().map(name).collect(),
        codes: [x, y],
    })
}

/// Returns the place of the column, attributes counted on after the components.
fn place_in(table: &Table, column: &str, option: Opt) -> Result<usize> {
    match table.names() {
        Some(_) => table.column(column).map_err(|e| e.at_place(option)),
        None => Err(Error::request(format!(
            "expected a column called '{column}', got columns without names"
        ))
        .at_place(option)
        .remedy(format!("name it among {}", Opt::Attributes))),
    }
}

/// Refuses a row without a key.
fn whole(values: &[f64], side: &str, column: &str, option: Opt) -> Result<()> {
    match values.iter().position(|value| value.is_nan()) {
        None => Ok(()),
        Some(row) => Err(Error::input("expected a key for every row, got none")
            .at_place(format!("{option}, '{column}' of {side}, row {row}"))
            .remedy(format!(
                "{} leaves out the pairs of such rows",
                Opt::Nan.to("skip")
            ))),
    }
}

/// The values of all tables, each once, in ascending order.
fn distinct(values: &[Vec<f64>]) -> Vec<f64> {
    let mut all: Vec<f64> = values
        .iter()
        .flatten()
        .filter(|value| !value.is_nan())
        .map(|value| value + 0.0)
        .collect();
    all.sort_unstable_by(f64::total_cmp);
    all.dedup();
    all
}
