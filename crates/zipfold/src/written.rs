//! Answers to files: the columns of each fold, in the format that the suffix names.

use crate::outcome::{Outcome, Output as Given};
use crate::row_names::RowNames;
use crate::runs::MatchRuns;
use std::io::Write;
use zipfold_core::fold::{
    Accumulate, Column as FoldColumn, Columns, Fold, Join, JoinState, Layout, Numbers, Role,
};
use zipfold_core::{Error, Job, Result, Side, Words};
use zipfold_io::npz::NpzWriter;
use zipfold_io::write::ColumnsWriter;
use zipfold_io::{Column, Output, OutputOptions, write_array, write_columns};

/// Writes every fold's result; several folds get a number before the suffix.
pub fn write(
    path: &str,
    job: &Job,
    outcome: &Outcome,
    names: &RowNames,
    options: OutputOptions,
) -> Result<Vec<String>> {
    let many = job.answers() > 1;
    let mut written = vec![];
    for at in 0..job.answers() {
        let name = if many {
            numbered(path, at)
        } else {
            path.to_string()
        };
        let fold = &job.folds[at];
        if let (Some(join), Some(Given::Runs(runs))) = (fold.inner_join(), outcome.outputs.get(at))
        {
            let matches = WrittenMatches { join, runs, job };
            matches.write(&name, outcome, names, options)?;
        } else if let Some(columns) = outcome.columns(job, at)? {
            match name == "-" && is_array(fold) {
                true => array(&name, &columns, names, options)?,
                false => write_one(&name, job, &columns, outcome, names, options)?,
            }
        }
        written.push(name);
    }
    Ok(written)
}

/// Whether standard output gets the values alone, as a NumPy array, also where a file may be a table:
/// of listed pairs and of batches.
fn is_array(fold: &Fold) -> bool {
    let inner = fold.grouped().map_or(fold, |grouped| &grouped.inner);
    fold.shows_nan() || matches!(inner, Fold::Reduce(_) | Fold::Quantile(_))
}

fn numbered(path: &str, at: usize) -> String {
    match path.rsplit_once('.') {
        Some((stem, suffix)) => format!("{stem}.{at}.{suffix}"),
        None => format!("{path}.{at}"),
    }
}

/// Writes the answer of one fold.
pub fn write_one(
    path: &str,
    job: &Job,
    answer: &Columns<'_>,
    outcome: &Outcome,
    names: &RowNames,
    options: OutputOptions,
) -> Result<()> {
    let arrays = path.ends_with(".npy") || path.ends_with(".npz");
    let apart = answer.groups.is_some() || answer.param.is_some();
    if let (Layout::Array(of), true, false) = (answer.layout, apart, arrays) {
        return by_group(path, answer, (names, of.unwrap_or(Side::X)), options);
    }
    if path.ends_with(".csr.npz") {
        let pairs = answer.layout == Layout::Table && job.then.is_none();
        return match pairs {
            true => csr(path, answer, (job.space.n, job.space.m), options),
            false => Err(pairless(path)),
        };
    }
    match answer.layout {
        // One number, in a format of tables.
        Layout::Array(None) if path.ends_with(".npz") || path.ends_with(".parquet") => {
            table(path, answer, outcome, names, options)
        }
        // The values of listed pairs, in their order.
        Layout::Table if path.ends_with(".npy") => array(path, answer, names, options),
        Layout::Matrix | Layout::Array(_) => array(path, answer, names, options),
        Layout::Lists if path.ends_with(".npz") => {
            let named = answer.arrays().map(|column| (&*column.name, column));
            archive(path, answer, named, options)
        }
        Layout::Table if path.ends_with(".npz") && answer.is_made() => {
            let columns = answer.columns.iter();
            let named = columns.map(|column| (&*column.header, column));
            archive(path, answer, named, options)
        }
        Layout::Table if ColumnsWriter::takes(path) && answer.is_made() && answer.lines() > 0 => {
            long_table(path, answer, outcome, names, options)
        }
        Layout::Lists | Layout::Table => table(path, answer, outcome, names, options),
    }
}

/// Numbers as the writers take them.
fn written<'a>(numbers: &'a Numbers<'_>) -> Column<'a> {
    match numbers {
        Numbers::U64(v) => Column::U64(v),
        Numbers::I64(v) => Column::I64(v),
        Numbers::F64(v) => Column::F64(v),
        Numbers::F32(v) => Column::F32(v),
    }
}

/// One array; a matrix in text has the names of its rows and columns where they have any.
fn array(path: &str, answer: &Columns<'_>, names: &RowNames, options: OutputOptions) -> Result<()> {
    let Some(values) = answer.of_array() else {
        return Err(Error::internal("an array without values"));
    };
    let values = answer.all(values);
    match (names.side(0), names.side(1), answer.layout) {
        (Some(x), Some(y), Layout::Matrix) if path.ends_with(".csv") || path.ends_with(".tsv") => {
            zipfold_io::write::write_matrix(path, [x.first(), y.first()], written(&values), options)
        }
        _ => write_array(path, &answer.shape, written(&values), options),
    }
}

/// Columns under their names as arrays, some rows at a time: lists are not held twice.
fn archive<'c, 'd: 'c>(
    path: &str,
    answer: &Columns<'_>,
    named: impl Iterator<Item = (&'c str, &'c FoldColumn<'d>)>,
    options: OutputOptions,
) -> Result<()> {
    let width = answer.shape.get(1).copied().unwrap_or(1).max(1);
    let lines = answer.lines();
    let some = (1usize << 15).div_ceil(width) * width;
    let parts = || {
        (0..lines)
            .step_by(some)
            .map(|start| start..(start + some).min(lines))
    };
    let mut archive = NpzWriter::new(Output::create(path, options)?);
    for (name, column) in named {
        macro_rules! add {
            ($kind:ident) => {
                archive.add_parts(name, &answer.shape, |put| {
                    parts().try_for_each(|lines| match column.part(&lines) {
                        Numbers::$kind(numbers) => put(&numbers),
                        _ => Err(Error::internal("a column of two types")),
                    })
                })?
            };
        }
        match column.part(&(0..0)) {
            Numbers::U64(_) => add!(U64),
            Numbers::I64(_) => add!(I64),
            Numbers::F64(_) => add!(F64),
            Numbers::F32(_) => add!(F32),
        }
    }
    archive.finish()
}

/// A line for each place of the grid, with the names of its rows.
fn table(
    path: &str,
    answer: &Columns<'_>,
    outcome: &Outcome,
    names: &RowNames,
    options: OutputOptions,
) -> Result<()> {
    let notes = notes(answer, outcome);
    with_columns(path, answer, names, |columns| {
        write_columns(path, columns, &notes, options)
    })
}

/// As [`table`], some lines at a time: columns that are made when they are read are not held whole.
fn long_table(
    path: &str,
    answer: &Columns<'_>,
    outcome: &Outcome,
    names: &RowNames,
    options: OutputOptions,
) -> Result<()> {
    let notes = notes(answer, outcome);
    // A line, for the names and types of columns.
    let mut file = None;
    with_columns(path, &answer.some_lines(&(0..1)), names, |columns| {
        file = Some(ColumnsWriter::create(path, columns, &notes, options)?);
        Ok(())
    })?;
    let Some(mut file) = file else {
        return Err(Error::internal("a table without a file"));
    };
    let (rows, lines) = (file.rows(), answer.lines());
    for start in (0..lines).step_by(rows) {
        let some = answer.some_lines(&(start..(start + rows).min(lines)));
        with_columns(path, &some, names, |columns| file.push(columns))?;
    }
    file.finish()
}

/// Hands on the columns of a table, with the names of its rows.
fn with_columns(
    path: &str,
    answer: &Columns<'_>,
    names: &RowNames,
    take: impl FnOnce(&[(&str, Column<'_>)]) -> Result<()>,
) -> Result<()> {
    let numbers: Vec<Numbers<'_>> = answer
        .columns
        .iter()
        .map(|column| answer.all(column))
        .collect();
    let rows = |side: Side| -> Vec<i64> {
        let found = answer
            .columns
            .iter()
            .position(|column| column.role == Role::Row(side) && names.any());
        let row = |numbers: &Numbers<'_>, line| numbers.row(line).map_or(-1, |row| row as i64);
        found.map_or_else(Vec::new, |at| {
            (0..answer.lines())
                .map(|line| row(&numbers[at], line))
                .collect()
        })
    };
    let (i, j) = (rows(Side::X), rows(Side::Y));
    let beside = if answer.with_role(Role::Row(Side::X)).is_some() {
        names.columns(path, [&i, &j])
    } else {
        vec![]
    };
    let groups = GroupNames::for_table(path, answer, &numbers);
    let mut columns: Vec<(&str, Column<'_>)> = answer
        .columns
        .iter()
        .zip(&numbers)
        .enumerate()
        .map(|(at, (column, numbers))| {
            let words = groups.column(at);
            (&*column.header, words.unwrap_or_else(|| written(numbers)))
        })
        .collect();
    columns.extend(beside.iter().map(|(name, column)| (name.as_str(), *column)));
    take(&columns)
}

/// Matches in sorted runs, on their way to a file: some at a time, with the bytes of an answer in
/// memory.
struct WrittenMatches<'a> {
    join: &'a Join,
    runs: &'a MatchRuns,
    job: &'a Job,
}

impl WrittenMatches<'_> {
    fn write(
        &self,
        path: &str,
        outcome: &Outcome,
        names: &RowNames,
        options: OutputOptions,
    ) -> Result<()> {
        if ColumnsWriter::takes(path) {
            return self.table(path, outcome, names, options);
        }
        if path.ends_with(".csr.npz") {
            return self.csr(path, options);
        }
        let mut archive = NpzWriter::new(Output::create(path, options)?);
        let shape = [self.runs.records() as usize];
        archive.add_parts("i", &shape, |put| self.rows(put, |some| &some.i))?;
        archive.add_parts("j", &shape, |put| self.rows(put, |some| &some.j))?;
        self.values(&mut archive, "value")?;
        archive.finish()
    }
    fn columns<'m>(&'m self, some: &'m JoinState) -> Columns<'m> {
        let (n, m) = (self.job.space.n, self.job.space.m);
        Accumulate::columns(self.join, some, n, m)
    }
    fn table(
        &self,
        path: &str,
        outcome: &Outcome,
        names: &RowNames,
        options: OutputOptions,
    ) -> Result<()> {
        // A match, for the names and types of its columns.
        let mut first = JoinState::default();
        (first.i, first.j) = (vec![0], vec![0]);
        first.values.extend(self.join.value.map(|_| 0.0));
        let head = self.columns(&first);
        let notes = notes(&head, outcome);
        let mut file = None;
        with_columns(path, &head, names, |columns| {
            file = Some(ColumnsWriter::create(path, columns, &notes, options)?);
            Ok(())
        })?;
        let Some(mut file) = file else {
            return Err(Error::internal("a table without a file"));
        };
        self.runs.each(file.rows(), &mut |some| {
            with_columns(path, &self.columns(some), names, |columns| {
                file.push(columns)
            })
        })?;
        file.finish()
    }
    /// Hands the rows of all matches to `put`.
    fn rows(
        &self,
        put: &mut dyn FnMut(&[u64]) -> Result<()>,
        side: impl Fn(&JoinState) -> &[u64],
    ) -> Result<()> {
        self.runs.each(ROWS, &mut |some| put(side(some)))
    }
    /// Adds the values of all matches, if they have some.
    fn values(&self, archive: &mut NpzWriter, name: &str) -> Result<()> {
        let shape = [self.runs.records() as usize];
        match self.join.value {
            None => Ok(()),
            Some(_) => archive.add_parts(name, &shape, |put| {
                self.runs.each(ROWS, &mut |some| put(&some.values))
            }),
        }
    }
    /// As [`csr`].
    fn csr(&self, path: &str, options: OutputOptions) -> Result<()> {
        let (n, m) = (self.job.space.n, self.job.space.m);
        let mut starts = self.runs.starts(n)?;
        let starts = &mut starts.items;
        self.runs.each(ROWS, &mut |some| {
            some.i.iter().for_each(|i| starts[*i as usize + 1] += 1);
            Ok(())
        })?;
        (0..n).for_each(|i| starts[i + 1] += starts[i]);
        let mut archive = NpzWriter::new(Output::create(path, options)?);
        archive.add("indptr", &[starts.len()], starts)?;
        let shape = [self.runs.records() as usize];
        archive.add_parts("indices", &shape, |put| {
            let mut signed: Vec<i64> = vec![];
            self.runs.each(ROWS, &mut |some| {
                signed.clear();
                signed.extend(some.j.iter().map(|j| *j as i64));
                put(&signed)
            })
        })?;
        archive.add("shape", &[2], &[n as i64, m as i64])?;
        archive.add_word("format", "csr")?;
        self.values(&mut archive, "data")?;
        archive.finish()
    }
}

/// Matches that are handed to an archive at a time.
const ROWS: usize = 1 << 16;

/// The most matches that the file `path` takes at a time; 0 of another output.
pub(crate) fn rows_at_once(path: &str) -> usize {
    match ColumnsWriter::takes(path) {
        true => ColumnsWriter::rows_of(path),
        false if path.ends_with(".npz") => ROWS,
        false => 0,
    }
}

/// The names of groups in place of their numbers. Archives of arrays hold no words, and keep the
/// numbers.
struct GroupNames {
    words: Words,
    /// By column of the answer: the groups of its lines.
    groups: Vec<Option<Vec<i64>>>,
}

impl GroupNames {
    fn for_table(path: &str, answer: &Columns<'_>, numbers: &[Numbers<'_>]) -> Self {
        let names = answer.groups.as_deref().unwrap_or_default();
        let of = |(column, numbers): (&FoldColumn<'_>, &Numbers<'_>)| {
            let named = matches!(column.role, Role::Group(_)) && !path.ends_with(".npz");
            let group = |line| numbers.row(line).map_or(-1, |group| group as i64);
            named.then(|| (0..numbers.len()).map(group).collect())
        };
        GroupNames {
            words: Words::from_words("", names.iter().map(String::as_str)),
            groups: answer.columns.iter().zip(numbers).map(of).collect(),
        }
    }
    /// The names in column `at`, if it is one of groups.
    fn column(&self, at: usize) -> Option<Column<'_>> {
        let groups = self.groups[at].as_ref()?;
        Some(Column::Words(&self.words, groups))
    }
}

/// What the results of a row are called, that are kept apart by values of a parameter, groups and
/// places of a vector.
pub fn headers(answer: &Columns<'_>) -> Vec<String> {
    let axes = (1..answer.shape.len()).map(|axis| words_of(answer, axis));
    // Each word with each of the next axis.
    let joined = |words: Vec<String>, axis: Vec<String>| {
        let with = |word: String| {
            let both = axis.iter().map(|part| format!("{word} {part}"));
            both.collect::<Vec<String>>()
        };
        words.into_iter().flat_map(with).collect()
    };
    axes.reduce(joined).unwrap_or_default()
}

/// What the places of an axis of the results of a row are called.
fn words_of(answer: &Columns<'_>, axis: usize) -> Vec<String> {
    let of_groups = 1 + usize::from(answer.param.is_some());
    match (&answer.param, &answer.groups) {
        (Some(param), _) if axis == 1 => {
            let values = param.values.iter();
            values
                .map(|value| format!("{}={value:?}", param.name))
                .collect()
        }
        (_, Some(groups)) if axis == of_groups => groups.to_vec(),
        _ => (0..answer.shape[axis]).map(|at| at.to_string()).collect(),
    }
}

/// Results by row of the side `of` that are kept apart as a table: a line for each row, a column for
/// each group or value of a parameter.
fn by_group(
    path: &str,
    answer: &Columns<'_>,
    (names, of): (&RowNames, Side),
    options: OutputOptions,
) -> Result<()> {
    let Some(values) = answer.of_array() else {
        return Err(Error::internal("an array without values"));
    };
    let headers = headers(answer);
    let (rows, width) = (answer.shape[0], headers.len());
    let values = answer.all(values);
    let column =
        |at: usize| -> Vec<f64> { (0..rows).map(|row| values.get(row * width + at)).collect() };
    let columns: Vec<Vec<f64>> = (0..width).map(column).collect();
    let lines: Vec<i64> = (0..rows as i64).collect();
    let row = ["i", "j"][of as usize];
    let mut all: Vec<(&str, Column<'_>)> = vec![(row, Column::I64(&lines))];
    all.extend(
        headers
            .iter()
            .zip(&columns)
            .map(|(name, column)| (name.as_str(), Column::F64(column))),
    );
    let beside = names.columns_of(path, of, &lines);
    all.extend(beside.iter().map(|(name, column)| (name.as_str(), *column)));
    write_columns(path, &all, &[], options)
}

/// What is above a table: how to read its lines, and the pairs that are on none.
fn notes(answer: &Columns<'_>, outcome: &Outcome) -> Vec<String> {
    let mut notes: Vec<String> = answer
        .rule
        .iter()
        .map(|rule| format!("rule: {rule}"))
        .collect();
    if !answer.beyond.is_empty() {
        let beyond = answer
            .beyond
            .iter()
            .copied()
            .chain([("skipped", outcome.tally.beyond_cutoff + outcome.tally.nan)]);
        notes.push(
            beyond
                .map(|(what, pairs)| format!("{what}: {pairs}"))
                .collect::<Vec<_>>()
                .join("  "),
        );
    }
    notes
}

/// The rows that a column names.
fn rows_of(numbers: &Numbers<'_>) -> Vec<usize> {
    let all = 0..numbers.len();
    all.filter_map(|at| numbers.row(at)).collect()
}

/// Where each of `n` rows begins among matches that are sorted by `rows`, and where the last ends.
fn row_starts(rows: &[usize], n: usize) -> Vec<i64> {
    let mut starts = vec![0i64; n + 1];
    rows.iter().for_each(|i| starts[i + 1] += 1);
    (0..n).for_each(|i| starts[i + 1] += starts[i]);
    starts
}

fn pairless(path: &str) -> Error {
    let e = Error::request("a sparse matrix holds pairs, and this answer has none");
    e.at_place(path.to_string())
        .remedy("another suffix, such as .npz")
}

/// Matches by row, the arrays of a compressed sparse matrix: row i's are
/// `indices[indptr[i]..indptr[i + 1]]`.
fn csr(
    path: &str,
    answer: &Columns<'_>,
    (n, m): (usize, usize),
    options: OutputOptions,
) -> Result<()> {
    if answer.with_role(Role::Parameter).is_some() {
        let e = Error::request("a sparse matrix has no axis for the values of a parameter");
        return Err(e
            .at_place(path.to_string())
            .remedy("another suffix, such as .npz"));
    }
    let side = |side: Side| {
        answer
            .with_role(Role::Row(side))
            .map(|column| answer.all(column))
    };
    let (Some(i), Some(j)) = (side(Side::X), side(Side::Y)) else {
        return Err(pairless(path));
    };
    let indptr = row_starts(&rows_of(&i), n);
    let indices: Vec<i64> = rows_of(&j).into_iter().map(|j| j as i64).collect();
    let values = answer
        .with_role(Role::Value)
        .map(|column| answer.all(column));
    let values = values.as_ref().map(written);
    zipfold_io::write::write_sparse(path, [n, m], (&indptr, &indices), values, options)
}

/// Writes a text: its file is there whole or not at all.
///
/// # Errors
/// Those of the output.
pub fn write_text(path: &str, text: &str, options: OutputOptions) -> Result<()> {
    write_bytes(path, text.as_bytes(), options)
}

/// Writes bytes: their file is there whole or not at all.
///
/// # Errors
/// Those of the output.
pub(crate) fn write_bytes(path: &str, bytes: &[u8], options: OutputOptions) -> Result<()> {
    let mut out = Output::create(path, options)?;
    if let Err(e) = out.write_all(bytes) {
        return Err(out.error(&e));
    }
    out.commit()
}
