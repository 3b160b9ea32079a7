//! Results without an output file: tables and bars on a terminal, the whole of a short result
//! elsewhere.

use crate::terminal::{self, Table, print_line};
use zipfold::columns::Side;
use zipfold::columns::{Column, Columns, Layout, Numbers, Role};
use zipfold::internals::Job;
use zipfold::internals::core::figures;
use zipfold::internals::row_names::RowNames;
use zipfold::internals::written::{headers, write_one};
use zipfold::io::OutputOptions;
use zipfold::{Answer, Outcome, Result};

/// Numbers of a result that are printed whole.
const MOST: usize = 10_000;

/// Shows the result: within the window of a terminal, or whole where it is short.
pub(crate) fn preview(answer: &Answer<'_>) -> Result<()> {
    let (job, outcome, names) = (&answer.job, &answer.outcome, &answer.names);
    for at in 0..job.answers() {
        let Some(answer) = outcome.columns(job, at)? else {
            continue;
        };
        match terminal::is_read() {
            true => shown(&answer, names)?,
            false => whole(job, &answer, outcome, names)?,
        }
    }
    Ok(())
}

fn whole(job: &Job, answer: &Columns<'_>, outcome: &Outcome, names: &RowNames) -> Result<()> {
    let lines = answer.lines();
    if lines > MOST {
        return print_line(&format!(
            "{} numbers; give -o FILE to keep them",
            figures::grouped(lines as u64)
        ));
    }
    match (answer.layout, answer.columns.first()) {
        (Layout::Matrix | Layout::Array(_), Some(values)) => print_lines(answer, values),
        _ => write_one(
            "-",
            job,
            answer,
            outcome,
            names,
            OutputOptions {
                force: true,
                durable: false,
            },
        ),
    }
}

/// Prints all values, those of a row in a line.
fn print_lines(answer: &Columns<'_>, values: &Column<'_>) -> Result<()> {
    let width = answer.shape[1..].iter().product::<usize>().max(1);
    let values = answer.all(values);
    (0..answer.lines()).step_by(width).try_for_each(|start| {
        let line = (start..start + width).map(|at| text(&values, at));
        print_line(&line.collect::<Vec<_>>().join(","))
    })
}

/// A number with all its digits.
fn text(numbers: &Numbers<'_>, at: usize) -> String {
    match numbers {
        Numbers::U64(v) => v[at].to_string(),
        Numbers::I64(v) => v[at].to_string(),
        Numbers::F64(v) => v[at].to_string(),
        Numbers::F32(v) => v[at].to_string(),
    }
}

/// The row's name, or its number.
fn who(names: &RowNames, side: Side, row: usize) -> String {
    names
        .get(side as usize, row)
        .map_or_else(|| row.to_string(), str::to_string)
}

/// The answer within the window of a terminal.
fn shown(answer: &Columns<'_>, names: &RowNames) -> Result<()> {
    match (
        answer.layout,
        answer.columns.first(),
        answer.edges.as_slice(),
    ) {
        (Layout::Matrix, Some(values), _) => matrix(answer, values, names),
        (Layout::Array(lines), Some(values), _) => list(answer, values, lines, names),
        (_, _, [edges]) if answer.groups.is_none() && answer.param.is_none() => bars(answer, edges),
        _ => table(answer, names),
    }
}

fn matrix(answer: &Columns<'_>, values: &Column<'_>, names: &RowNames) -> Result<()> {
    let (n, m) = (answer.shape[0], answer.shape[1]);
    let values = answer.all(values);
    let head = std::iter::once(String::new())
        .chain((0..m).map(|j| who(names, Side::Y, j)))
        .collect();
    let cell = |r: usize, c: usize| match c {
        0 => who(names, Side::X, r),
        _ => figures::value(values.get(r * m + c - 1)),
    };
    Table {
        head,
        rows: n,
        cell: &cell,
        words: if names.side(0).is_some() { &[0] } else { &[] },
    }
    .print()
}

/// A line for each result; rows have their names.
fn list(
    answer: &Columns<'_>,
    values: &Column<'_>,
    lines: Option<Side>,
    names: &RowNames,
) -> Result<()> {
    let (rows, width) = (answer.shape[0], answer.shape[1..].iter().product::<usize>());
    let apart = (answer.groups.is_some() || answer.param.is_some()).then(|| headers(answer));
    let values = answer.all(values);
    if rows == 1 {
        let all: Vec<String> = (0..width)
            .map(|at| figures::value(values.get(at)))
            .collect();
        return print_line(&all.join("  "));
    }
    let named = lines.filter(|side| names.side(*side as usize).is_some());
    let value = |c: usize| match (&apart, width) {
        (Some(names), _) => names[c].clone(),
        (None, 1) => "value".to_string(),
        _ => format!("value {c}"),
    };
    let head = std::iter::once("row".to_string()).chain((0..width).map(value));
    let cell = |r: usize, c: usize| match (c, named) {
        (0, Some(side)) => who(names, side, r),
        (0, None) => r.to_string(),
        _ => figures::value(values.get(r * width + c - 1)),
    };
    Table {
        head: head.collect(),
        rows,
        cell: &cell,
        words: if named.is_some() { &[0] } else { &[] },
    }
    .print()
}

/// A bar for each bin of the only axis.
fn bars(answer: &Columns<'_>, edges: &[f64]) -> Result<()> {
    let counts = answer
        .with_role(Role::Count)
        .map(|column| answer.all(column));
    let counts: Vec<u64> = match &counts {
        Some(Numbers::U64(counts)) => counts.to_vec(),
        _ => vec![],
    };
    terminal::print_bars(&edges[..edges.len() - 1], &edges[1..], &counts)?;
    let beyond = |at: usize| answer.beyond.get(at).map_or(0, |(_, pairs)| *pairs);
    let (under, over) = (beyond(0), beyond(1));
    if under + over > 0 {
        let [under, over] = [under, over].map(figures::grouped);
        print_line(&format!(
            "{under} pairs below the first edge, {over} above the last"
        ))?;
    }
    Ok(())
}

/// A line for each place of the grid.
fn table(answer: &Columns<'_>, names: &RowNames) -> Result<()> {
    let numbers: Vec<(Role, Numbers<'_>)> = answer
        .columns
        .iter()
        .map(|c| (c.role, answer.all(c)))
        .collect();
    let cell = |r: usize, c: usize| match &numbers[c] {
        (Role::Row(side), rows) => rows
            .row(r)
            .map_or_else(|| "-".into(), |row| who(names, *side, row)),
        (Role::Rank | Role::Parameter, numbers) => text(numbers, r),
        (Role::Group(_), groups) => match (&answer.groups, groups.row(r)) {
            (Some(names), Some(group)) => names[group].clone(),
            _ => text(groups, r),
        },
        (Role::Count, Numbers::U64(counts)) => figures::grouped(counts[r]),
        (Role::Count | Role::From(_) | Role::To(_) | Role::Value, numbers) => {
            figures::value(numbers.get(r))
        }
    };
    let is_word = |role: &Role| {
        matches!(role, Role::Group(_))
            || matches!(role, Role::Row(side) if names.side(*side as usize).is_some())
    };
    let words: Vec<usize> = (0..numbers.len())
        .filter(|c| is_word(&numbers[*c].0))
        .collect();
    Table {
        head: answer.columns.iter().map(heading).collect(),
        rows: answer.lines(),
        cell: &cell,
        words: &words,
    }
    .print()
}

/// The heading of a column; edges have the number of their axis from the second on.
fn heading(column: &Column<'_>) -> String {
    let numbered = |what: &str, axis: usize| match axis {
        0 => what.into(),
        _ => format!("{what} {}", axis + 1),
    };
    match column.role {
        Role::From(axis) => numbered("from", axis),
        Role::To(axis) => numbered("to", axis),
        Role::Count => "pairs".into(),
        Role::Row(_) | Role::Group(_) | Role::Rank | Role::Parameter | Role::Value => {
            column.header.to_string()
        }
    }
}
