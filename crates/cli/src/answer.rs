//! Results to files: columns of DESIGN 10 by fold, formats by suffix.

use crate::args::RunArgs;
use crate::lists;
use crate::named::Names;
use std::path::Path;
use zipfold::core::fold::rows::{RowFold, RowState};
use zipfold::core::fold::{
    Closed, Fold, Histogram, HistogramState, Nearest, NearestState, RowOp, Select, SelectKind, SelectState, State,
};
use zipfold::core::problem::FoldSpec;
use zipfold::io::npz::NpzWriter;
use zipfold::io::{Column, OutputOptions, write_array, write_columns};
use zipfold::{Error, Job, Outcome, Output, Problem, Result};

/// Suffixes that promise what a share is not.
const TABLES: &[&str] = &[
    "csv", "tsv", "txt", "dat", "npy", "npz", "parquet", "arrow", "feather", "xyz", "extxyz", "json", "toml", "svg",
    "html", "gz", "xz",
];

/// Refuses outputs that could not be written, before any work.
pub fn refuse_early(path: &str, problem: &Problem, args: &RunArgs) -> Result<()> {
    let suffix = Path::new(path).extension().and_then(|e| e.to_str()).unwrap_or("").to_lowercase();
    let dense = problem.folds.iter().any(|f| matches!(f, FoldSpec::Matrix {} | FoldSpec::Condensed {}));
    if args.shard.is_some() {
        if dense {
            let e =
                Error::request("a matrix has no partial result: its shares would be as large as itself").at("--shard");
            return Err(e.remedy("give each share its own rows as x and all rows as y"));
        }
        if TABLES.contains(&suffix.as_str()) {
            let e = Error::request(format!("a share is a partial result, which '.{suffix}' does not say"));
            return Err(e.at(path.to_string()).remedy("another suffix, such as .part; `zipfold merge` writes tables"));
        }
        return refuse_place(path, args.force);
    }
    let verb = verb_of(problem);
    if path == "-" {
        return refuse_binary(verb);
    }
    let allowed = lists::suffixes(verb);
    if !allowed.contains(&suffix.as_str()) {
        let what = match suffix.as_str() {
            "" => "the name of the output has no extension, which selects the format".to_string(),
            _ => format!("{verb} writes no '.{suffix}' files"),
        };
        let e = Error::request(what).at(path.to_string());
        return Err(e.remedy(format!("a name that ends in one of {}", lists::dotted(allowed))));
    }
    refuse_place(path, args.force)
}

/// The verb that asks for what `problem` keeps first.
pub fn verb_of(problem: &Problem) -> &'static str {
    match problem.folds.first() {
        Some(FoldSpec::Matrix {} | FoldSpec::Condensed {}) | None => "dist",
        Some(FoldSpec::Reduce { .. }) => "reduce",
        Some(FoldSpec::Nearest { .. }) => "knn",
        Some(FoldSpec::Histogram { .. }) => "hist",
        Some(FoldSpec::Select { .. }) => "join",
    }
}

/// Bytes of arrays are nothing for a terminal.
fn refuse_binary(verb: &str) -> Result<()> {
    let binary = lists::WRITTEN.iter().any(|w| w.verb == verb && w.stream == "npy");
    if !binary || !crate::terminal::is_read() {
        return Ok(());
    }
    let e = Error::request(format!("'{verb} -o -' writes a NumPy array, and standard output is a terminal")).at("-o -");
    Err(e.remedy("leave out -o to see a table, or give -o FILE, or pipe it into another program"))
}

/// Refuses a picture that could not be drawn, before any work.
pub fn refuse_picture(path: &str, args: &RunArgs) -> Result<()> {
    if !path.ends_with(".svg") {
        return Err(Error::request("pictures are SVG").at(path.to_string()).remedy("a name that ends in .svg"));
    }
    refuse_place(path, args.force)
}

/// Whether something is there that is written into, not replaced: a pipe, a device.
pub fn is_special(path: &str) -> bool {
    Path::new(path).metadata().is_ok_and(|facts| !facts.is_file() && !facts.is_dir())
}

/// Refuses a place that exists already, or is in no folder.
pub fn refuse_place(path: &str, force: bool) -> Result<()> {
    // A link to nothing is there too.
    if Path::new(path).symlink_metadata().is_ok() && !force && !is_special(path) {
        return Err(Error::request("the output exists").at(path.to_string()).remedy("--force replaces it"));
    }
    let folder = Path::new(path).parent().filter(|p| !p.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => {
            Err(Error::request("the folder does not exist").at(folder.to_string_lossy()).remedy("make it first"))
        }
        _ => Ok(()),
    }
}

/// Writes every fold's result; several folds get a number before the suffix.
pub fn write(path: &str, job: &Job, outcome: &Outcome, names: &Names, options: OutputOptions) -> Result<Vec<String>> {
    let many = outcome.outputs.len() > 1;
    let mut written = vec![];
    for (at, (fold, output)) in job.folds.iter().zip(&outcome.outputs).enumerate() {
        let name = if many { numbered(path, at) } else { path.to_string() };
        write_one(&name, job, fold, output, outcome, names, options)?;
        written.push(name);
    }
    Ok(written)
}

fn numbered(path: &str, at: usize) -> String {
    match path.rsplit_once('.') {
        Some((stem, suffix)) => format!("{stem}.{at}.{suffix}"),
        None => format!("{path}.{at}"),
    }
}

/// Writes the result of one fold.
pub fn write_one(
    path: &str,
    job: &Job,
    fold: &Fold,
    output: &Output,
    outcome: &Outcome,
    names: &Names,
    options: OutputOptions,
) -> Result<()> {
    let shape = match fold {
        Fold::Matrix { .. } => vec![job.space.n, job.space.m],
        _ => vec![job.space.n * job.space.n.saturating_sub(1) / 2],
    };
    match (fold, output) {
        (_, Output::Stored) => Ok(()),
        (_, Output::F32(v)) => array(path, &shape, Column::F32(v), names, options),
        (_, Output::F64(v)) => array(path, &shape, Column::F64(v), names, options),
        (Fold::Rows(f), Output::State(State::Rows(s))) => rows(path, f, s, options),
        (Fold::Nearest(f), Output::State(State::Nearest(s))) => nearest(path, job, f, s, names, options),
        (Fold::Histogram(f), Output::State(State::Histogram(s))) => histogram(path, f, s, outcome, options),
        (Fold::Select(f), Output::State(State::Select(s))) => select(path, job, f, s, names, options),
        _ => Err(Error::internal("a fold and its state do not fit")),
    }
}

/// A matrix, in text with the names of its rows and columns where they have any.
fn array(path: &str, shape: &[usize], values: Column<'_>, names: &Names, options: OutputOptions) -> Result<()> {
    match (names.side(0), names.side(1), shape) {
        (Some(x), Some(y), [_, _]) if path.ends_with(".csv") || path.ends_with(".tsv") => {
            zipfold::io::write::write_matrix(path, [x.first(), y.first()], values, options)
        }
        _ => write_array(path, shape, values, options),
    }
}

/// One row per row; indices are integers.
fn rows(path: &str, fold: &RowFold, state: &RowState, options: OutputOptions) -> Result<()> {
    let values = state.finish(fold);
    let width = fold.out_width();
    let rows = values.len() / width.max(1);
    let integers = matches!(fold.op, RowOp::Argmin | RowOp::Argmax | RowOp::Count);
    let shape = if width == 1 { vec![rows] } else { vec![rows, width] };
    if integers {
        let whole: Vec<i64> = values.iter().map(|v| *v as i64).collect();
        return write_array(path, &shape, Column::I64(&whole), options);
    }
    write_array(path, &shape, Column::F64(&values), options)
}

fn nearest(
    path: &str,
    job: &Job,
    fold: &Nearest,
    state: &NearestState,
    names: &Names,
    options: OutputOptions,
) -> Result<()> {
    let shape = [job.space.n, fold.k];
    if path.ends_with(".npz") {
        // Some rows at a time: the lists are not held twice.
        let some = (1usize << 15).div_ceil(fold.k);
        let parts = || (0..shape[0]).step_by(some).map(|start| start..(start + some).min(shape[0]));
        let mut archive = NpzWriter::new(zipfold::io::Output::create(path, options)?);
        archive.add_parts("indices", &shape, |put| parts().try_for_each(|rows| put(&state.indices_of(fold, &rows))))?;
        archive.add_parts("values", &shape, |put| parts().try_for_each(|rows| put(&state.values_of(fold, &rows))))?;
        return archive.finish();
    }
    let (indices, values) = state.finish(fold);
    let row: Vec<u64> = (0..indices.len()).map(|at| (at / fold.k) as u64).collect();
    let rank: Vec<u64> = (0..indices.len()).map(|at| (at % fold.k) as u64).collect();
    let i: Vec<i64> = if names.any() { row.iter().map(|i| *i as i64).collect() } else { vec![] };
    let beside = names.columns(path, [&i, &indices]);
    let mut columns = vec![
        ("i", Column::U64(&row)),
        ("rank", Column::U64(&rank)),
        ("j", Column::I64(&indices)),
        ("value", Column::F64(&values)),
    ];
    columns.extend(beside.iter().map(|(name, column)| (name.as_str(), *column)));
    write_columns(path, &columns, &[], options)
}

/// The bins of a histogram in order: for every axis lower and upper edges, and the cells of the grid.
pub struct Bins {
    /// By axis.
    pub lo: Vec<Vec<f64>>,
    /// By axis.
    pub hi: Vec<Vec<f64>>,
    /// Positions in the grid.
    pub cells: Vec<usize>,
}

/// The bins of `fold`, last axis fastest, without under and over.
pub fn bins(fold: &Histogram) -> Bins {
    let axes = &fold.axes;
    let total: usize = axes.iter().map(|a| a.bins()).product();
    let mut out = Bins { lo: vec![vec![]; axes.len()], hi: vec![vec![]; axes.len()], cells: vec![] };
    for at in 0..total {
        let mut rest = at;
        let mut index = vec![0; axes.len()];
        for a in (0..axes.len()).rev() {
            index[a] = rest % axes[a].bins();
            rest /= axes[a].bins();
        }
        out.cells.push(index.iter().zip(axes).fold(0, |cell, (i, a)| cell * (a.bins() + 2) + i + 1));
        for (a, i) in index.iter().enumerate() {
            out.lo[a].push(axes[a].edges[*i]);
            out.hi[a].push(axes[a].edges[*i + 1]);
        }
    }
    out
}

fn histogram(
    path: &str,
    fold: &Histogram,
    state: &HistogramState,
    outcome: &Outcome,
    options: OutputOptions,
) -> Result<()> {
    let bins = bins(fold);
    let counts: Vec<u64> = bins.cells.iter().map(|c| state.counts[*c]).collect();
    let pick = |all: Option<Vec<f64>>| all.map(|v| bins.cells.iter().map(|c| v[*c]).collect::<Vec<f64>>());
    let (weights, means) = (pick(state.weights()), pick(state.means()));
    let names: Vec<(String, String)> = (0..fold.axes.len())
        .map(|a| if a == 0 { ("lo".into(), "hi".into()) } else { (format!("lo{}", a + 1), format!("hi{}", a + 1)) })
        .collect();
    let mut columns = vec![];
    for (a, (lo, hi)) in names.iter().enumerate() {
        columns.push((lo.as_str(), Column::F64(&bins.lo[a])));
        columns.push((hi.as_str(), Column::F64(&bins.hi[a])));
    }
    columns.push(("count", Column::U64(&counts)));
    if let Some(w) = &weights {
        columns.push(("weight", Column::F64(w)));
    }
    if let Some(m) = &means {
        columns.push(("mean", Column::F64(m)));
    }
    write_columns(path, &columns, &histogram_notes(fold, state, outcome), options)
}

fn histogram_notes(fold: &Histogram, state: &HistogramState, outcome: &Outcome) -> Vec<String> {
    let rule = match fold.closed {
        Closed::Last => "bins half-open, the last one closed (numpy.histogram)",
        Closed::HalfOpen => "bins half-open (Corrfunc)",
    };
    let tally = &outcome.tally;
    let inside: u64 = bins(fold).cells.iter().map(|c| state.counts[*c]).sum();
    let mut notes = vec![format!("rule: {rule}")];
    if fold.axes.len() == 1 {
        let last = state.counts.len() - 1;
        notes.push(format!(
            "under: {}  over: {}  skipped: {}",
            state.counts[0],
            state.counts[last],
            tally.far + tally.nan
        ));
    } else {
        notes.push(format!("outside: {}  skipped: {}", state.total() - inside, tally.far + tally.nan));
    }
    notes
}

fn select(
    path: &str,
    job: &Job,
    fold: &Select,
    state: &SelectState,
    names: &Names,
    options: OutputOptions,
) -> Result<()> {
    if fold.kind != SelectKind::Inner {
        let wanted = fold.kind == SelectKind::Semi;
        let rows: Vec<u64> =
            state.matched.iter().enumerate().filter(|(_, m)| **m == wanted).map(|(i, _)| i as u64).collect();
        let i: Vec<i64> = rows.iter().map(|i| *i as i64).collect();
        let beside = names.columns(path, [&i, &[]]);
        let mut columns = vec![("i", Column::U64(&rows))];
        columns.extend(beside.iter().map(|(name, column)| (name.as_str(), *column)));
        return write_columns(path, &columns, &[], options);
    }
    if path.ends_with(".csr.npz") {
        return csr(path, job, fold, state, options);
    }
    let mut columns = vec![("i", Column::U64(&state.i)), ("j", Column::U64(&state.j))];
    if fold.value.is_some() {
        columns.push(("value", Column::F64(&state.values)));
    }
    let whole = |items: &[u64]| items.iter().map(|i| *i as i64).collect::<Vec<i64>>();
    let (i, j) = if names.any() { (whole(&state.i), whole(&state.j)) } else { (vec![], vec![]) };
    let beside = names.columns(path, [&i, &j]);
    columns.extend(beside.iter().map(|(name, column)| (name.as_str(), *column)));
    write_columns(path, &columns, &[], options)
}

/// Matches by row, the arrays of a compressed sparse matrix: row i's are `indices[indptr[i]..indptr[i + 1]]`.
fn csr(path: &str, job: &Job, fold: &Select, state: &SelectState, options: OutputOptions) -> Result<()> {
    let (n, m) = (job.space.n, job.space.m);
    let mut indptr = vec![0i64; n + 1];
    state.i.iter().for_each(|i| indptr[*i as usize + 1] += 1);
    (0..n).for_each(|i| indptr[i + 1] += indptr[i]);
    let indices: Vec<i64> = state.j.iter().map(|j| *j as i64).collect();
    let shape = [n as i64, m as i64];
    let (rows, found, two) = ([n + 1], [indices.len()], [2]);
    let mut arrays = vec![
        ("indptr", &rows[..], Column::I64(&indptr)),
        ("indices", &found[..], Column::I64(&indices)),
        ("shape", &two[..], Column::I64(&shape)),
    ];
    if fold.value.is_some() {
        arrays.push(("data", &found[..], Column::F64(&state.values)));
    }
    zipfold::io::write::write_arrays(path, &arrays, options)
}
