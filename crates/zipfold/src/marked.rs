//! Points with numbers and labels, from the columns of a table: what jobs about places take
//! (`variogram.rs`, `pattern.rs`, `correlogram.rs`, `silhouette.rs`).

use crate::tables::{ColumnPlace, SideTable};
use zipfold_core::fold::Columns;
use zipfold_core::problem::{Input, NanPolicy};
use zipfold_core::{Budget, Error, Opt, Result, Table, Words};

/// Labels in ascending order, and the number of that of each row.
pub(crate) type Labelled = (Vec<String>, Vec<u32>);

/// The labels of the rows in a column of text or of numbers.
///
/// # Errors
/// `Request` for a column that is not there; `Input` for a row without a label.
pub(crate) fn labelled(side: &SideTable, column: &str, option: Opt) -> Result<Labelled> {
    let place = side.column(column, option)?;
    let missing = |row: usize| {
        let what = format!("expected a label, got none in row {row} (from 0)");
        let e = Error::input(what).at_place(side.name.clone());
        e.remedy("leave the row out, or give it a label")
    };
    match place {
        ColumnPlace::Word(at) => of_words(&side.words[at]),
        ColumnPlace::Number(at) => {
            let value = |row: usize| side.table.get(row, at) + 0.0;
            of_numbers(&(0..side.rows()).map(value).collect::<Vec<f64>>())
        }
    }
    .map_err(missing)
}

/// Labels that are words; the row without one where there is such.
fn of_words(words: &Words) -> std::result::Result<Labelled, usize> {
    let all: Vec<&str> = (0..words.rows()).map(|row| words.get(row)).collect();
    if let Some(row) = all.iter().position(|word| word.is_empty()) {
        return Err(row);
    }
    let mut known = all.clone();
    known.sort_unstable();
    known.dedup();
    let code = |word: &&str| known.partition_point(|k| k < word) as u32;
    let codes = all.iter().map(code).collect();
    Ok((known.into_iter().map(String::from).collect(), codes))
}

/// Labels that are numbers; the row without one where there is such.
fn of_numbers(all: &[f64]) -> std::result::Result<Labelled, usize> {
    if let Some(row) = all.iter().position(|v| v.is_nan()) {
        return Err(row);
    }
    let mut known = all.to_vec();
    known.sort_unstable_by(f64::total_cmp);
    known.dedup();
    let code = |v: &f64| known.partition_point(|k| k < v) as u32;
    let codes = all.iter().map(code).collect();
    Ok((known.iter().map(f64::to_string).collect(), codes))
}

/// Columns of positions in a table: those chosen, or x, y and z, as far as there are such, without the
/// columns that are something else.
///
/// # Errors
/// `Request` for columns that are not there, or too many of them.
pub(crate) fn position_columns(
    side: &SideTable,
    chosen: Option<&[String]>,
    others: &[String],
) -> Result<Vec<String>> {
    let usual = ["x", "y", "z"];
    let names: Vec<String> = match chosen {
        Some(columns) => columns.to_vec(),
        None => {
            let find = |wanted: &&str| {
                let same = |(name, _): &(&str, ColumnPlace)| name.eq_ignore_ascii_case(wanted);
                let found = side.columns().find(same).map(|(name, _)| name.to_string());
                found.filter(|name| !others.contains(name))
            };
            usual.iter().map_while(find).collect()
        }
    };
    if !(1..=3).contains(&names.len()) {
        let what = format!("expected 1 to 3 columns of positions, got {}", names.len());
        let e = Error::request(what).at_place(Opt::Positions);
        return Err(e.remedy(Opt::Positions.like("x,y")));
    }
    Ok(names)
}

/// A column of numbers.
///
/// # Errors
/// `Request` for a column that is not there, or of text.
pub(crate) fn numbers(side: &SideTable, name: &str, option: Opt) -> Result<Vec<f64>> {
    match side.column(name, option)? {
        ColumnPlace::Number(at) => Ok((0..side.rows())
            .map(|row| side.table.get(row, at))
            .collect()),
        ColumnPlace::Word(_) => {
            let what = format!("expected a column of numbers, got text in '{name}'");
            Err(Error::request(what)
                .at_place(option)
                .remedy("a column of numbers"))
        }
    }
}

/// Refuses a number of these that is not finite, with its row.
///
/// # Errors
/// `Input`.
pub(crate) fn refuse_odd(values: &[f64], what: &str, name: &str) -> Result<()> {
    let fine = |v: f64| v.is_finite();
    expect(values, fine, &format!("finite {what}"), name).map_err(|e| e.remedy("leave the row out"))
}

/// Refuses the first of these numbers that is not `fine`, with its row; what is done about it, the
/// caller says.
///
/// # Errors
/// `Input`.
pub(crate) fn expect(
    values: &[f64],
    fine: impl Fn(f64) -> bool,
    expected: &str,
    name: &str,
) -> Result<()> {
    match values.iter().position(|v| !fine(*v)) {
        None => Ok(()),
        Some(row) => {
            let value = values[row];
            let what = format!("expected {expected}, got {value} in row {row} (from 0)");
            Err(Error::input(what).at_place(name))
        }
    }
}

/// Refuses positions in a box of these sides whose squared distances are infinite, or 0 by underflow.
///
/// # Errors
/// `Input`.
pub(crate) fn refuse_squares(sides: &[f64], name: &str) -> Result<()> {
    let infinite = !sides.iter().map(|s| s * s).sum::<f64>().is_finite();
    let (low, high) = match infinite {
        true => return Err(no_squares("finite", name)),
        false => (
            f64::MIN_POSITIVE.sqrt(),
            sides.iter().copied().fold(0.0, f64::max),
        ),
    };
    match high > 0.0 && high < low {
        true => Err(no_squares("above 0", name)),
        false => Ok(()),
    }
}

fn no_squares(what: &str, name: &str) -> Error {
    let what = format!("expected positions whose squared distances are {what}");
    Error::input(what)
        .at_place(name)
        .remedy("positions in another unit")
}

/// A table of columns side by side, in double precision.
///
/// # Errors
/// `Resource` beyond the budget.
pub(crate) fn side_by_side(
    columns: &[(String, Vec<f64>)],
    budget: &Budget,
    purpose: &str,
) -> Result<Table> {
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    let mut items = budget.with_capacity(rows.saturating_mul(columns.len()), purpose)?;
    for row in 0..rows {
        items
            .items
            .extend(columns.iter().map(|(_, column)| column[row]));
    }
    let names = columns.iter().map(|(name, _)| name.clone()).collect();
    let elements = zipfold_core::Elements::F64(items.into());
    Table::new(rows, columns.len(), elements)?.with_names(names)
}

/// The policy of a job about rows that lack a number: an error, or left out.
///
/// # Errors
/// `Request` for another policy.
pub(crate) fn leaves_out(nan: NanPolicy) -> Result<bool> {
    match nan {
        NanPolicy::Error => Ok(false),
        NanPolicy::Skip => Ok(true),
        NanPolicy::Propagate => {
            let what = "expected rows without a number to be refused or left out";
            let e = Error::request(what).at_place(Opt::Nan);
            Err(e.remedy(Opt::Nan.to("skip")))
        }
    }
}

/// The input of a question, by the name of its table.
pub(crate) fn input(name: &str) -> Input {
    Input::named(name)
}

/// The numbers of a column of an answer, by its name.
///
/// # Errors
/// `Internal` where it is not there.
pub(crate) fn answered(columns: &Columns<'_>, name: &str) -> Result<Vec<f64>> {
    let column = columns.columns.iter().find(|column| column.name == name);
    let column = column.ok_or_else(|| Error::internal(format!("no column {name}")))?;
    let all = columns.all(column);
    Ok((0..all.len()).map(|at| all.get(at)).collect())
}

/// Edges at equal distances, those of `numpy.linspace`.
pub(crate) fn spaced(lo: f64, hi: f64, bins: usize) -> Vec<f64> {
    let step = (hi - lo) / bins as f64;
    let edge = |at: usize| match at == bins {
        true => hi,
        false => at as f64 * step + lo,
    };
    (0..=bins).map(edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side() -> SideTable {
        let names = ["X", "y", "z"].map(String::from).to_vec();
        let table = Table::f64(2, 3, vec![0.0, 1.0, 2.0, 3.0, 4.0, f64::NAN]).unwrap();
        SideTable::new("t", table.with_names(names).unwrap()).unwrap()
    }

    #[test]
    fn positions_are_the_usual_columns_that_are_nothing_else() {
        let side = side();
        let others = ["z".to_string()];
        assert_eq!(position_columns(&side, None, &others).unwrap(), ["X", "y"]);
        assert_eq!(position_columns(&side, None, &[]).unwrap().len(), 3);
        assert!(position_columns(&side, Some(&[]), &[]).is_err());
    }

    #[test]
    fn odd_numbers_are_told_with_their_row() {
        let z = numbers(&side(), "z", Opt::Value).unwrap();
        let e = refuse_odd(&z, "values", "t").unwrap_err().to_string();
        assert!(e.contains("got NaN in row 1"), "{e}");
    }
}
