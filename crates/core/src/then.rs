//! Second stages: the results of rows, folded once more over the rows.
//!
//! ```text
//! knn -k 1        the nearest row of y of each row of x        i, j, value
//! then = "max"    the row that is farthest from its nearest    one i, j, value: Hausdorff's distance
//! then = "mean"   how far a row is from its nearest            one value: Chamfer's distance
//! ```
//!
//! Results that are kept apart stay apart: those of the ranks of neighbours, of the groups of the
//! other row, of the numbers of a vector. With groups of rows the rows of each group are folded alone,
//! so `by` gives a result for each pair of groups, and `batch` one for each batch.
//!
//! It is a stage of answers, and no engine knows it: it reads the columns of a fold, whoever
//! computed and merged them.

use crate::error::{Error, Result};
use crate::fold::{
    Column, Columns, Fold, Grouped, Layout, Numbers, ReduceAxis, ReduceOp, Role, quantile_among,
};
use crate::number::compensated;
use crate::opt::Opt;
use crate::pair::Side;
use crate::problem::NanPolicy;
use std::fmt;

/// What becomes of the results of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Then {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// The least, and its row.
    Min,
    /// The largest, and its row.
    Max,
    /// The value that this share of them does not exceed, interpolated as `numpy.quantile` does.
    Quantile(f64),
}

impl Then {
    /// Reads what `then` names.
    ///
    /// # Errors
    /// `Request` for another text.
    pub fn parse(text: &str) -> Result<Then> {
        let refused = |what: String| {
            let e = Error::request(what).at_place(Opt::Then);
            Err(e.remedy(Opt::Then.to("max")))
        };
        match (text, text.strip_prefix("quantile:")) {
            ("sum", _) => Ok(Then::Sum),
            ("mean", _) => Ok(Then::Mean),
            ("min", _) => Ok(Then::Min),
            ("max", _) => Ok(Then::Max),
            ("median", _) => Ok(Then::Quantile(0.5)),
            (_, Some(q)) => match q.parse::<f64>() {
                Ok(share) if (0.0..=1.0).contains(&share) => Ok(Then::Quantile(share)),
                _ => refused(format!("expected a quantile from 0 to 1, got '{q}'")),
            },
            _ => refused(format!(
                "expected sum, mean, min, max, median or quantile:Q, got '{text}'"
            )),
        }
    }
    /// Whether one of the rows has the result.
    fn is_of_a_row(self) -> bool {
        matches!(self, Then::Min | Then::Max)
    }
}

impl fmt::Display for Then {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Then::Sum => f.write_str("sum"),
            Then::Mean => f.write_str("mean"),
            Then::Min => f.write_str("min"),
            Then::Max => f.write_str("max"),
            Then::Quantile(q) => write!(f, "quantile:{q}"),
        }
    }
}

/// A second stage, ready for the answers of a question.
#[derive(Clone, Copy, Debug)]
pub struct SecondStage {
    then: Then,
    /// Whether results that are NaN are left out.
    skips: bool,
}

impl SecondStage {
    /// Returns the stage of a question about `folds`.
    ///
    /// # Errors
    /// `Request` for a text that names none, and for folds without results by row.
    pub(crate) fn asked(text: &str, folds: &[Fold], nan: NanPolicy) -> Result<SecondStage> {
        let then = Then::parse(text)?;
        if let Some(odd) = folds.iter().find(|fold| !has_results_of_rows(fold)) {
            let what = format!(
                "expected numbers by row for a second stage, got {}",
                odd.describe()
            );
            let e = Error::request(what).at_place(Opt::Then);
            return Err(e.remedy("results by row or column, neighbours, or quantiles"));
        }
        Ok(SecondStage {
            then,
            skips: nan == NanPolicy::Skip,
        })
    }
    /// Returns whether the answer is the worst of the best values of rows: the largest of the least
    /// ones, or with `largest` the least of the largest ones. A row that is known to be better than
    /// another one then changes nothing.
    pub fn wants_worst(self, largest: bool) -> bool {
        match largest {
            false => self.then == Then::Max,
            true => self.then == Then::Min,
        }
    }
    /// What it does, in words for `explain`.
    pub(crate) fn describe(self) -> String {
        match self.then {
            Then::Quantile(q) => format!("then the quantile {q} over rows"),
            other => format!("then the {other} over rows"),
        }
    }
    /// Returns the answer of `fold`, whose results by row are `answer`.
    pub(crate) fn apply<'o>(self, fold: &Fold, answer: &Columns<'_>) -> Columns<'o> {
        let rows = SetsOfRows::of_fold(fold, answer);
        let places = PlacesOfRow::of_answer(&rows, answer);
        let found: Vec<RowResult> = rows
            .sets
            .iter()
            .flat_map(|set| (0..places.count).map(move |place| (set, place)))
            .map(|(set, place)| self.fold(&places, set, place))
            .collect();
        self.columns(&rows, &places, &found, answer)
    }
    /// Folds the results of a set of rows at a place.
    fn fold(self, places: &PlacesOfRow<'_>, set: &FoldedRows, place: usize) -> RowResult {
        let line = |row: usize| row * places.count + place;
        let value = |row: usize| places.values.get(line(row));
        let kept = |row: &usize| !(self.skips && value(*row).is_nan());
        let rows = || set.rows().filter(kept);
        let of_row = |row: usize| {
            let other = places.others.as_ref().and_then(|j| j.row(line(row)));
            RowResult {
                value: value(row),
                row: Some(row),
                other,
            }
        };
        // As in NumPy, a NaN is the result, and the first one has it.
        if let Some(row) = rows().find(|row| value(*row).is_nan()) {
            return of_row(row);
        }
        let better = |a: usize, b: usize| {
            let beaten = match self.then == Then::Max {
                true => value(b) > value(a),
                false => value(b) < value(a),
            };
            if beaten { b } else { a }
        };
        let values = || rows().map(value);
        RowResult::alone(match self.then {
            Then::Min | Then::Max => return rows().reduce(better).map_or(RowResult::NONE, of_row),
            Then::Sum => compensated(values()),
            // Of no row 0 / 0: there is no mean.
            Then::Mean => compensated(values()) / values().count() as f64,
            Then::Quantile(q) => quantile_among(q, &mut values().collect::<Vec<f64>>()),
        })
    }
    /// The columns of what was found: the set of rows, the place, the rows that have the result.
    fn columns<'o>(
        self,
        rows: &SetsOfRows<'_>,
        places: &PlacesOfRow<'_>,
        found: &[RowResult],
        answer: &Columns<'_>,
    ) -> Columns<'o> {
        let values: Vec<f64> = found.iter().map(|found| found.value).collect();
        let mut shape: Vec<usize> = answer.shape[1..].to_vec();
        let mut columns = rows.names(places.count);
        if let Some(sets) = rows.grouped_by() {
            shape.insert(0, sets);
        }
        columns.extend(places.names(rows.sets.len()));
        if self.then.is_of_a_row() {
            let row = |of: fn(&RowResult) -> Option<usize>| -> Numbers<'static> {
                let row = |found: &RowResult| of(found).map_or(-1, |row| row as i64);
                found.iter().map(row).collect::<Vec<i64>>().into()
            };
            let (mine, its) = (rows.side, rows.side.other());
            let name = |side: Side| ["i", "j"][side as usize];
            columns.push(Column::new(
                name(mine),
                Role::Row(mine),
                row(|found| found.row),
            ));
            if places.others.is_some() {
                columns.push(Column::new(
                    name(its),
                    Role::Row(its),
                    row(|found| found.other),
                ));
            }
        }
        let layout = match columns.is_empty() {
            true => Layout::Array(None),
            false => Layout::Table,
        };
        if shape.is_empty() {
            shape.push(1);
        }
        columns.push(Column::new("values", Role::Value, values).called("value"));
        Columns {
            groups: answer.groups.clone().or_else(|| rows.group_names()),
            ..Columns::new(layout, shape, columns)
        }
    }
}

/// Whether a fold has numbers by row.
fn has_results_of_rows(fold: &Fold) -> bool {
    match fold {
        Fold::Reduce(f) => {
            f.axis != ReduceAxis::All && !matches!(f.op, ReduceOp::Argmin | ReduceOp::Argmax)
        }
        Fold::Nearest(_) | Fold::Quantile(_) => true,
        Fold::Grouped(f) => has_results_of_rows(&f.inner),
        Fold::Dense(_)
        | Fold::Extremes(_)
        | Fold::Histogram(_)
        | Fold::Join(_)
        | Fold::Listed(_)
        | Fold::Top(_) => false,
    }
}

/// What a set of rows has at a place.
#[derive(Clone, Copy)]
struct RowResult {
    value: f64,
    row: Option<usize>,
    other: Option<usize>,
}

impl RowResult {
    /// What no rows have.
    const NONE: RowResult = RowResult::alone(f64::NAN);
    const fn alone(value: f64) -> RowResult {
        RowResult {
            value,
            row: None,
            other: None,
        }
    }
}

/// Rows whose results are folded together, in ascending order.
enum FoldedRows {
    First(usize),
    Listed(Vec<u32>),
}

impl FoldedRows {
    fn rows(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        match self {
            FoldedRows::First(rows) => Box::new(0..*rows),
            FoldedRows::Listed(rows) => Box::new(rows.iter().map(|row| *row as usize)),
        }
    }
}

/// The rows that have results.
struct SetsOfRows<'a> {
    /// Whose they are.
    side: Side,
    /// Which are folded together.
    sets: Vec<FoldedRows>,
    /// The groups that the sets are.
    grouped: Option<&'a Grouped>,
    /// The quantiles that a row has.
    quantiles: &'a [f64],
}

impl<'a> SetsOfRows<'a> {
    fn of_fold(fold: &'a Fold, answer: &Columns<'_>) -> SetsOfRows<'a> {
        let side = match answer.layout {
            Layout::Array(Some(side)) => side,
            Layout::Array(None) | Layout::Lists | Layout::Matrix | Layout::Table => Side::X,
        };
        let grouped = fold.grouped().filter(|fold| fold.parts.by.is_some());
        let sets = match grouped.and_then(|fold| fold.parts.by.as_ref()) {
            None => vec![FoldedRows::First(answer.shape[0])],
            Some(keys) => {
                let mut rows = vec![vec![]; keys.len()];
                for (row, code) in keys.codes[side as usize].iter().enumerate() {
                    // A row without a label has no group.
                    if let Some(rows) = rows.get_mut(*code as usize) {
                        rows.push(row as u32);
                    }
                }
                rows.into_iter().map(FoldedRows::Listed).collect()
            }
        };
        let inner = fold.grouped().map_or(fold, |grouped| &grouped.inner);
        SetsOfRows {
            side,
            sets,
            grouped,
            quantiles: if let Fold::Quantile(f) = inner {
                &f.q
            } else {
                &[]
            },
        }
    }
    /// How many groups there are, if there are groups.
    fn grouped_by(&self) -> Option<usize> {
        self.grouped.map(|_| self.sets.len())
    }
    fn group_names(&self) -> Option<std::sync::Arc<[String]>> {
        let by = self.grouped?.parts.by.as_ref()?;
        Some(by.names.clone())
    }
    /// The column of the groups, each for `times` lines.
    fn names<'o>(&self, times: usize) -> Vec<Column<'o>> {
        let Some(fold) = self.grouped else {
            return vec![];
        };
        let sets = 0..self.sets.len() as u64;
        let groups: Vec<u64> = sets
            .flat_map(|set| std::iter::repeat_n(set, times))
            .collect();
        vec![fold.group_column(self.side, groups)]
    }
}

/// Where results of a row are kept apart.
struct PlacesOfRow<'a> {
    /// How many a row has.
    count: usize,
    /// Those of all rows.
    values: Numbers<'a>,
    /// The other row of each.
    others: Option<Numbers<'a>>,
    /// What tells them apart, by the first row.
    index: Vec<Column<'static>>,
}

impl<'a> PlacesOfRow<'a> {
    fn of_answer(rows: &SetsOfRows<'_>, answer: &'a Columns<'_>) -> PlacesOfRow<'a> {
        let count: usize = answer.shape[1..].iter().product();
        let is_value = |column: &&Column<'_>| {
            matches!(column.role, Role::Value | Role::Count) && !column.index
        };
        // The last one: places of lists are counts of nothing.
        let values = answer.columns.iter().rev().find(is_value);
        let others = answer.with_role(Role::Row(rows.side.other()));
        let index: Vec<Column<'static>> = answer
            .shape
            .iter()
            .enumerate()
            .skip(1)
            .filter_map(|(axis, _)| rows.index(answer, axis))
            .collect();
        PlacesOfRow {
            count,
            values: values.map_or_else(|| Vec::<f64>::new().into(), |column| answer.all(column)),
            others: others.map(|column| answer.all(column)),
            index,
        }
    }
    /// The columns that tell places apart, for as many sets of rows.
    fn names<'o>(&self, sets: usize) -> Vec<Column<'o>> {
        let of = |column: &Column<'static>| {
            let numbers = column.part(&(0..self.count)).repeated(sets);
            column.with_numbers(numbers)
        };
        self.index.iter().map(of).collect()
    }
}

impl SetsOfRows<'_> {
    /// The column of an axis of the results of a row, for the lines of a row; none of an axis without
    /// a name.
    fn index(&self, answer: &Columns<'_>, axis: usize) -> Option<Column<'static>> {
        let (len, stride): (usize, usize) = (
            answer.shape[axis],
            answer.shape[axis + 1..].iter().product(),
        );
        let count: usize = answer.shape[1..].iter().product();
        let codes = || -> Vec<u64> {
            let of = |line: usize| (line / stride.max(1) % len.max(1)) as u64;
            (0..count).map(of).collect()
        };
        if let Some(param) = answer.param_column(axis, &codes) {
            return Some(param);
        }
        let by = self.grouped.filter(|fold| !fold.parts.batches);
        let first = 1 + usize::from(answer.param.is_some());
        if let (Some(fold), true) = (by, axis == first) {
            return Some(fold.group_column(self.side.other(), codes()));
        }
        let last = axis + 1 == answer.shape.len();
        if last && self.quantiles.len() > 1 {
            let places = codes().into_iter();
            let quantiles: Vec<f64> = places.map(|at| self.quantiles[at as usize]).collect();
            return Some(Column::new("quantile", Role::Parameter, quantiles).as_index());
        }
        let ranks = answer.layout == Layout::Lists && last && len != 1;
        ranks.then(|| Column::new("rank", Role::Rank, codes()).as_index())
    }
}
