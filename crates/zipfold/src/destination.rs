//! Files that an answer may go to: the suffixes that hold it, and refusals before any work.

use crate::options::Target;
#[cfg(feature = "plot")]
use crate::query::Query;
pub use crate::suffix::{is_page, is_picture, is_png};
use std::path::{Path, PathBuf};
#[cfg(feature = "plot")]
use zipfold_core::Message;
use zipfold_core::fold::{JoinKind, ReduceAxis};
use zipfold_core::opt::Opt;
use zipfold_core::problem::{FoldSpec, Problem};
use zipfold_core::{Error, Result};
use zipfold_io::{OutputOptions, Presence};

/// Suffixes that hold a matrix, or values of rows.
pub const ARRAYS: &[&str] = &["npy", "csv", "tsv"];
/// Suffixes that hold lists of equal length, or counts by bin.
pub const LISTS: &[&str] = &["npz", "csv", "tsv", "parquet"];
/// Suffixes that hold pairs.
pub const PAIRS: &[&str] = &["csv", "tsv", "npz", "csr.npz", "parquet"];

/// Suffixes that hold the values of listed pairs, or those of batches.
pub const VALUES: &[&str] = &["csv", "tsv", "npy", "npz", "parquet"];

/// Returns the suffixes of files that hold the result of `fold` of `problem`.
pub fn suffixes(problem: &Problem, fold: &FoldSpec) -> &'static [&'static str] {
    // A line for each batch, or for each value of a parameter.
    let lines = problem.batch.is_some() || problem.param.is_some();
    match fold {
        FoldSpec::Matrix {} | FoldSpec::Condensed {} if is_in_parts(problem) => VALUES,
        FoldSpec::Reduce { .. } | FoldSpec::Quantile(_) | FoldSpec::Nearest { .. }
            if problem.then.is_some() =>
        {
            VALUES
        }
        FoldSpec::Reduce { axis, .. } if *axis == ReduceAxis::All && lines => VALUES,
        FoldSpec::Matrix {}
        | FoldSpec::Condensed {}
        | FoldSpec::Reduce { .. }
        | FoldSpec::Quantile(_) => ARRAYS,
        FoldSpec::Nearest { .. } | FoldSpec::Histogram { .. } => LISTS,
        FoldSpec::Top(_) | FoldSpec::Join { .. } => PAIRS,
    }
}

/// Whether a matrix is a table of values: of listed pairs, or of batches.
fn is_in_parts(problem: &Problem) -> bool {
    problem.pairs.is_some() || problem.batch.is_some()
}

/// Returns where the result of `problem` goes that is written to `path` afterwards: into the file
/// itself where it is one matrix and an `.npy` file, so that it need not fit in memory. Matches of a
/// join that do not fit go to runs next to the file, which is written from them.
pub fn target(path: &str, problem: &Problem, options: OutputOptions) -> Target {
    let is_dense = !is_in_parts(problem)
        && matches!(
            problem.folds[..],
            [FoldSpec::Matrix {} | FoldSpec::Condensed {}]
        );
    // A pipe or a device takes the matrix in one go, from the beginning to the end.
    if is_dense && path.ends_with(".npy") && !is_special(path) {
        return Target::Npy(path.to_string(), options);
    }
    let has_matches = |fold: &FoldSpec| {
        matches!(
            fold,
            FoldSpec::Join {
                kind: JoinKind::Inner,
                ..
            }
        )
    };
    match problem.folds.iter().any(has_matches) && !is_picture(path) && !is_page(path) {
        true => Target::Runs(runs_beside(path), Some(path.to_string())),
        false => Target::Memory,
    }
}

/// Returns the folder for matches that memory does not hold, next to the output `path`; in that of
/// temporary files for a pipe.
pub fn runs_beside(path: &str) -> PathBuf {
    match path == "-" || is_special(path) {
        true => zipfold_io::runs::temporary(),
        false => zipfold_io::runs::beside(path),
    }
}

/// Runs `query` once and writes its results to each of `paths`: a picture to `.svg`, columns to
/// other suffixes. Returns the names of the files, and the warnings of the run.
///
/// # Errors
/// Those of [`refuse`], before the run; those of [`Query::run_to`] and [`Answer::save`].
///
/// [`Answer::save`]: crate::Answer::save
#[cfg(feature = "plot")]
pub fn save_to(
    query: &Query<'_>,
    paths: &[String],
    options: OutputOptions,
) -> Result<(Vec<String>, Vec<Message>)> {
    let problem = &query.problem;
    paths
        .iter()
        .try_for_each(|path| refuse(path, problem, options))?;
    let target = match paths {
        [path] => target(path, problem, options),
        _ => Target::Memory,
    };
    let answer = query.run_to(&target)?;
    let mut written = vec![];
    for path in paths {
        written.extend(answer.save(path, options)?);
    }
    Ok((written, answer.outcome.warnings))
}

/// Whether the output `path` is written into and not replaced: a pipe or a device.
pub fn is_special(path: &str) -> bool {
    Presence::behind(Path::new(path)) == Presence::Special
}

/// Refuses, before any work, a file that could not hold the results of `problem`: a picture for
/// `.svg`, a page for `.html`, columns for other suffixes.
///
/// # Errors
/// `Request` for a suffix that names no format of a result, and those of [`refuse_place`].
pub fn refuse(path: &str, problem: &Problem, options: OutputOptions) -> Result<()> {
    if !is_picture(path) && !is_page(path) {
        let mut folds = problem.folds.iter();
        folds.try_for_each(|fold| refuse_suffix(path, suffixes(problem, fold)))?;
    }
    refuse_place(path, options)
}

/// Refuses a file that could not hold columns with these suffixes, a picture, or a page.
///
/// # Errors
/// `Request`, and those of [`refuse_place`].
pub(crate) fn refuse_all(path: &str, suffixes: &[&str], options: OutputOptions) -> Result<()> {
    if !is_picture(path) && !is_page(path) {
        refuse_suffix(path, suffixes)?;
    }
    refuse_place(path, options)
}

/// Returns suffixes as people read them: `.npy .csv`.
pub fn dotted(suffixes: &[&str]) -> String {
    let dotted: Vec<String> = suffixes.iter().map(|s| format!(".{s}")).collect();
    dotted.join(" ")
}

/// Refuses the name of a file that does not end in one of `suffixes`.
///
/// # Errors
/// `Request`, with the suffixes.
pub fn refuse_suffix(path: &str, suffixes: &[&str]) -> Result<()> {
    let found = Path::new(path)
        .extension()
        .map(|e| e.to_string_lossy().to_lowercase());
    // A sparse matrix has another shape than an archive of columns.
    let found = match path.to_lowercase().ends_with(".csr.npz") {
        true => Some("csr.npz".to_string()),
        false => found,
    };
    let what = match found {
        Some(found) if suffixes.contains(&found.as_str()) => return Ok(()),
        Some(found) => format!("expected a suffix that names a format, got '.{found}'"),
        None => "expected a suffix, which names the format, got none".to_string(),
    };
    let remedy = format!("a name that ends in one of {}", dotted(suffixes));
    Err(Error::request(what).at_place(path).remedy(remedy))
}

/// Refuses a file that exists, unless it may be replaced, and one whose folder does not.
///
/// # Errors
/// `Request`.
pub fn refuse_place(path: &str, options: OutputOptions) -> Result<()> {
    // A link to nothing is there too.
    let is_there = Presence::itself(Path::new(path)) != Presence::Nothing;
    if is_there && !options.force && !is_special(path) {
        return Err(Error::request("the output exists")
            .at_place(path)
            .remedy(format!("{} replaces it", Opt::Force)));
    }
    let parent = Path::new(path).parent();
    match parent.filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) if Presence::behind(folder) != Presence::Folder => {
            Err(Error::request("the folder does not exist")
                .at_place(folder.to_string_lossy())
                .remedy("make it first"))
        }
        _ => Ok(()),
    }
}
