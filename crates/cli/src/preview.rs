//! Results without an output file: tables and bars on a terminal, the whole of a short result elsewhere.

use crate::answer::{bins, write_one};
use crate::named::Names;
use crate::terminal::{self, Table, print_line};
use zipfold::core::figures;
use zipfold::core::fold::rows::Along;
use zipfold::core::fold::{Fold, Histogram, HistogramState, SelectKind, SelectState, State};
use zipfold::io::OutputOptions;
use zipfold::{Job, Outcome, Output, Result};

/// Numbers of a result that are printed whole.
const MOST: usize = 10_000;

/// Shows the result: within the window of a terminal, or whole where it is short.
pub fn preview(job: &Job, outcome: &Outcome, names: &Names) -> Result<()> {
    for (fold, output) in job.folds.iter().zip(&outcome.outputs) {
        if terminal::is_read() {
            shown(job, fold, output, outcome, names)?;
        } else {
            whole(job, fold, output, outcome, names)?;
        }
    }
    Ok(())
}

fn whole(job: &Job, fold: &Fold, output: &Output, outcome: &Outcome, names: &Names) -> Result<()> {
    let items = match (fold, output) {
        (_, Output::F32(v)) => v.len(),
        (_, Output::F64(v)) => v.len(),
        (Fold::Histogram(h), _) => h.cells(),
        (Fold::Rows(f), _) if f.along == Along::All => 1,
        (Fold::Rows(_), _) => job.space.n,
        (Fold::Nearest(f), _) => job.space.n * f.k,
        (_, Output::State(State::Select(s))) => s.i.len().max(s.matched.len()),
        _ => 0,
    };
    if items > MOST {
        return print_line(&format!("{} numbers; give -o FILE to keep them", figures::grouped(items as u64)));
    }
    match (fold, output) {
        (_, Output::F64(v)) => print_matrix(job, fold, v.iter().map(f64::to_string)),
        (_, Output::F32(v)) => print_matrix(job, fold, v.iter().map(f32::to_string)),
        (Fold::Rows(f), Output::State(State::Rows(s))) => {
            let values = s.finish(f);
            let line = |line: &[f64]| print_line(&line.iter().map(f64::to_string).collect::<Vec<_>>().join(","));
            values.chunks(f.out_width().max(1)).try_for_each(line)
        }
        _ => write_one("-", job, fold, output, outcome, names, OutputOptions { force: true, durable: false }),
    }
}

fn print_matrix(job: &Job, fold: &Fold, values: impl Iterator<Item = String>) -> Result<()> {
    let width = if matches!(fold, Fold::Matrix { .. }) { job.space.m } else { 1 };
    let all: Vec<String> = values.collect();
    all.chunks(width.max(1)).try_for_each(|line| print_line(&line.join(",")))
}

/// The row's name, or its number.
fn who(names: &Names, side: usize, row: usize) -> String {
    names.get(side, row).map_or_else(|| row.to_string(), str::to_string)
}

fn shown(job: &Job, fold: &Fold, output: &Output, outcome: &Outcome, names: &Names) -> Result<()> {
    match (fold, output) {
        (Fold::Matrix { .. }, Output::F64(v)) => matrix(job, names, &|at| v[at]),
        (Fold::Matrix { .. }, Output::F32(v)) => matrix(job, names, &|at| f64::from(v[at])),
        (_, Output::F64(v)) => list(names, v.len(), 1, false, &|at| v[at]),
        (_, Output::F32(v)) => list(names, v.len(), 1, false, &|at| f64::from(v[at])),
        (Fold::Rows(f), Output::State(State::Rows(s))) => {
            let (values, width) = (s.finish(f), f.out_width().max(1));
            list(names, values.len() / width, width, f.along == Along::Row, &|at| values[at])
        }
        (Fold::Nearest(f), Output::State(State::Nearest(s))) => {
            let (indices, values) = s.finish(f);
            let cell = |r: usize, c: usize| match c {
                0 => who(names, 0, r / f.k.max(1)),
                1 => (r % f.k.max(1)).to_string(),
                2 => usize::try_from(indices[r]).map_or_else(|_| "-".into(), |j| who(names, 1, j)),
                _ => figures::value(values[r]),
            };
            let head = ["i", "rank", "j", "value"].map(String::from).to_vec();
            Table { head, rows: indices.len(), cell: &cell, words: &words(names) }.print()
        }
        (Fold::Histogram(f), Output::State(State::Histogram(s))) => histogram(f, s),
        (Fold::Select(f), Output::State(State::Select(s))) => select(f.kind, f.value.is_some(), s, names),
        _ => whole(job, fold, output, outcome, names),
    }
}

/// The columns of a table of pairs that are words where rows have names.
fn words(names: &Names) -> Vec<usize> {
    [(0, 0), (1, 2)].iter().filter(|(side, _)| names.side(*side).is_some()).map(|(_, column)| *column).collect()
}

fn matrix(job: &Job, names: &Names, get: &dyn Fn(usize) -> f64) -> Result<()> {
    let (n, m) = (job.space.n, job.space.m);
    let head = std::iter::once(String::new()).chain((0..m).map(|j| who(names, 1, j))).collect();
    let cell = |r: usize, c: usize| if c == 0 { who(names, 0, r) } else { figures::value(get(r * m + c - 1)) };
    Table { head, rows: n, cell: &cell, words: if names.side(0).is_some() { &[0] } else { &[] } }.print()
}

/// A line for each result; the rows of x have their names.
fn list(names: &Names, rows: usize, width: usize, of_x: bool, get: &dyn Fn(usize) -> f64) -> Result<()> {
    if rows == 1 {
        let all: Vec<String> = (0..width).map(|at| figures::value(get(at))).collect();
        return print_line(&all.join("  "));
    }
    let named = of_x && names.side(0).is_some();
    let mut head = vec!["row".to_string()];
    head.extend((0..width).map(|c| if width == 1 { "value".into() } else { format!("value {c}") }));
    let cell = |r: usize, c: usize| match c {
        0 if named => who(names, 0, r),
        0 => r.to_string(),
        _ => figures::value(get(r * width + c - 1)),
    };
    Table { head, rows, cell: &cell, words: if named { &[0] } else { &[] } }.print()
}

fn histogram(fold: &Histogram, state: &HistogramState) -> Result<()> {
    let bins = bins(fold);
    let counts: Vec<u64> = bins.cells.iter().map(|c| state.counts[*c]).collect();
    if fold.axes.len() > 1 {
        let axes = fold.axes.len();
        let names = |a: usize| {
            if a == 0 {
                ["from".to_string(), "to".into()]
            } else {
                [format!("from {}", a + 1), format!("to {}", a + 1)]
            }
        };
        let head = (0..axes).flat_map(names).chain(["pairs".to_string()]).collect();
        let cell = |r: usize, c: usize| match c {
            c if c == 2 * axes => figures::grouped(counts[r]),
            c if c % 2 == 0 => figures::value(bins.lo[c / 2][r]),
            c => figures::value(bins.hi[c / 2][r]),
        };
        return Table { head, rows: counts.len(), cell: &cell, words: &[] }.print();
    }
    terminal::print_bars(&bins.lo[0], &bins.hi[0], &counts)?;
    let (under, over) = (state.counts[0], state.counts[state.counts.len() - 1]);
    if under + over > 0 {
        print_line(&format!(
            "{} pairs below the first edge, {} above the last",
            figures::grouped(under),
            figures::grouped(over)
        ))?;
    }
    Ok(())
}

fn select(kind: SelectKind, valued: bool, state: &SelectState, names: &Names) -> Result<()> {
    if kind != SelectKind::Inner {
        let wanted = kind == SelectKind::Semi;
        let rows: Vec<usize> =
            state.matched.iter().enumerate().filter(|(_, m)| **m == wanted).map(|(i, _)| i).collect();
        let cell = |r: usize, _: usize| who(names, 0, rows[r]);
        let words: &[usize] = if names.side(0).is_some() { &[0] } else { &[] };
        return Table { head: vec!["i".into()], rows: rows.len(), cell: &cell, words }.print();
    }
    let mut head = vec!["i".to_string(), "j".into()];
    if valued {
        head.push("value".into());
    }
    let cell = |r: usize, c: usize| match c {
        0 => who(names, 0, state.i[r] as usize),
        1 => who(names, 1, state.j[r] as usize),
        _ => figures::value(state.values[r]),
    };
    let words: Vec<usize> = (0..2).filter(|side| names.side(*side).is_some()).collect();
    Table { head, rows: state.i.len(), cell: &cell, words: &words }.print()
}
