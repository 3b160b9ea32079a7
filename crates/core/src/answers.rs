//! From what folds keep to the answers of a question: the axis of a parameter, and second stages.
//!
//! A question has an answer for each of its folds. With several values of a parameter an
//! answer is made of as many folds, whose columns are put together here; then rows may be folded once
//! more.
//!
//! ```text
//! by row             row 0: value 0, value 1, …   row 1: …     the second axis of the grid
//! tables, in all     all lines of value 0, of value 1, …       the first axis, a column in front
//! ```

use crate::describe::Job;
use crate::error::Result;
use crate::fold::{Column, Columns, Layout, Numbers, Role};
use crate::param_axis::ParamAxis;
use std::sync::Arc;

impl Job {
    /// Returns for how many values of a parameter it is asked: 1 without such a parameter.
    pub fn questions(&self) -> usize {
        self.param.as_ref().map_or(1, |axis| axis.len().max(1))
    }
    /// Returns how many answers there are: one for each fold that the problem asks for.
    pub fn answers(&self) -> usize {
        self.folds.len() / self.questions()
    }
    /// Returns answer `at`; `columns` gives those of a fold by its number, or none of a fold whose
    /// numbers are stored elsewhere.
    ///
    /// # Errors
    /// Those of `columns`.
    pub fn answer<'a>(
        &'a self,
        at: usize,
        columns: &dyn Fn(usize) -> Result<Option<Columns<'a>>>,
    ) -> Result<Option<Columns<'a>>> {
        let answers = self.answers();
        let folds = (0..self.questions()).map(|value| columns(value * answers + at));
        let folds: Option<Vec<Columns<'a>>> = folds.collect::<Result<_>>()?;
        let Some(mut folds) = folds.filter(|folds| !folds.is_empty()) else {
            return Ok(None);
        };
        let answer = match &self.param {
            None => folds.swap_remove(0),
            Some(axis) => along(axis, &folds),
        };
        Ok(Some(match self.then {
            None => answer,
            Some(stage) => stage.apply(&self.folds[at], &answer),
        }))
    }
    /// What a second stage does, in words.
    pub fn second_stage(&self) -> Option<String> {
        self.then.map(crate::then::SecondStage::describe)
    }
}

/// The answers for the values of a parameter as one.
fn along<'a>(axis: &Arc<ParamAxis>, answers: &[Columns<'a>]) -> Columns<'a> {
    let answer = match answers[0].layout {
        Layout::Array(Some(_)) | Layout::Lists => by_row(axis, answers),
        Layout::Array(None) | Layout::Matrix | Layout::Table => one_by_one(axis, answers),
    };
    let mut beyond = answers[0].beyond.clone();
    for more in &answers[1..] {
        let sums = beyond.iter_mut().zip(&more.beyond);
        sums.for_each(|((_, sum), (_, more))| *sum += more);
    }
    Columns {
        edges: answers[0].edges.clone(),
        beyond,
        rule: answers[0].rule,
        groups: answers[0].groups.clone(),
        param: Some(axis.clone()),
        ..answer
    }
}

/// Results by row: those of all values for a row, then those for the next one.
fn by_row<'a>(axis: &ParamAxis, answers: &[Columns<'a>]) -> Columns<'a> {
    let (first, count) = (&answers[0], answers.len());
    let rows = first.shape.first().copied().unwrap_or(0);
    let each = first.lines() / rows.max(1);
    let column = |at: usize| {
        let column = &first.columns[at];
        let mut all = first.all(column).into_owned().repeated(count);
        for (value, answer) in answers.iter().enumerate() {
            let numbers = answer.all(&answer.columns[at]);
            for row in 0..rows {
                let to = (row * count + value) * each;
                all.put(to, &numbers, row * each..(row + 1) * each);
            }
        }
        column.with_numbers(all)
    };
    let mut columns: Vec<Column<'a>> = (0..first.columns.len()).map(column).collect();
    if first.layout == Layout::Lists {
        let lines = 0..rows * count * each;
        let values: Vec<f64> = lines.map(|line| axis.values[line / each % count]).collect();
        columns.insert(1, parameter(axis, values));
    }
    let mut shape = first.shape.clone();
    shape.insert(1.min(shape.len()), count);
    Columns::new(first.layout, shape, columns)
}

/// All lines of the first value, then those of the second.
fn one_by_one<'a>(axis: &ParamAxis, answers: &[Columns<'a>]) -> Columns<'a> {
    let first = &answers[0];
    let column = |at: usize| {
        let none = first.columns[at].part(&(0..0)).into_owned();
        let all = answers
            .iter()
            .fold(none, |mut all: Numbers<'static>, answer| {
                all.append(&answer.all(&answer.columns[at]));
                all
            });
        first.columns[at].with_numbers(all)
    };
    let lines = answers.iter().zip(&axis.values);
    let values = lines.flat_map(|(answer, value)| std::iter::repeat_n(*value, answer.lines()));
    let mut columns = vec![parameter(axis, values.collect())];
    columns.extend((0..first.columns.len()).map(column));
    let alike = answers.iter().all(|answer| answer.shape == first.shape);
    let shape = match (alike, first.layout) {
        // One result of all pairs is a number for each value.
        (true, Layout::Array(None)) if first.lines() == 1 => vec![answers.len()],
        (true, _) => [&[answers.len()], &first.shape[..]].concat(),
        (false, _) => vec![answers.iter().map(Columns::lines).sum()],
    };
    Columns::new(Layout::Table, shape, columns)
}

/// The column of the values of a parameter.
fn parameter<'a>(axis: &ParamAxis, values: Vec<f64>) -> Column<'a> {
    Column::new(axis.name.clone(), Role::Parameter, values).as_index()
}

impl Columns<'_> {
    /// The column of the values of a parameter by their `codes`, if they are this axis of results by
    /// row.
    pub(crate) fn param_column(
        &self,
        axis: usize,
        codes: &dyn Fn() -> Vec<u64>,
    ) -> Option<Column<'static>> {
        let param = self.param.as_ref().filter(|_| axis == 1)?;
        let values = codes().into_iter().map(|code| param.values[code as usize]);
        Some(parameter(param, values.collect()))
    }
}
