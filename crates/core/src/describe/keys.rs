//! Reads the keys of rows and the condition on them that a problem asks for.

use crate::data::Data;
use crate::error::{Error, Result};
use crate::keys::{NONE, RowKeys};
use crate::opt::Opt;
use crate::parts::{Keep, KeyParts, Within};
use crate::problem::{NanPolicy, Problem};
use crate::space::Space;
use crate::table::Table;
use std::collections::HashMap;
use std::sync::Arc;

/// Returns the parts that `problem` asks for; none of a question without groups or conditions
/// on keys.
///
/// # Errors
/// `Request` for texts that name no condition, and for too many parts; those of [`RowKeys::read`].
pub(super) fn parts(problem: &Problem, data: &Data, space: &Space) -> Result<Option<KeyParts>> {
    let by = problem
        .by
        .as_ref()
        .map(|column| read(column, Opt::By, data, problem.nan))
        .transpose()?;
    let within = problem
        .within
        .as_ref()
        .map(|text| condition(text, by.as_ref(), problem, data))
        .transpose()?;
    if by.is_none() && within.is_none() {
        return Ok(None);
    }
    KeyParts::new(by, within, space).map(Some)
}

/// The condition that `text` asks for: `same` and `other` of the groups, `same:COLUMN`,
/// `block:COLUMN` (the same thing) and `other:COLUMN`.
fn condition(text: &str, by: Option<&RowKeys>, problem: &Problem, data: &Data) -> Result<Within> {
    let (word, column) = match text.split_once(':') {
        Some((word, column)) => (word, Some(column)),
        None => (text, None),
    };
    let keep = match (word, column) {
        ("same", _) | ("block", Some(_)) => Keep::Same,
        ("other", _) => Keep::Other,
        _ => {
            let e = Error::request(format!(
                "expected same, other, same:COLUMN, other:COLUMN or block:COLUMN, got '{text}'"
            ));
            return Err(e
                .at_place(Opt::Within)
                .remedy(Opt::Within.to("same:COLUMN")));
        }
    };
    let keys = match (column, by) {
        (Some(column), Some(by)) if by.column == column => by.clone(),
        (Some(column), _) => read(column, Opt::Within, data, problem.nan)?,
        (None, Some(by)) => by.clone(),
        (None, None) => {
            let e = Error::request(format!("expected a column of keys, got '{word}' alone"));
            return Err(e
                .at_place(Opt::Within)
                .remedy(Opt::Within.to(format!("{word}:COLUMN"))));
        }
    };
    Ok(Within { keys, keep })
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
