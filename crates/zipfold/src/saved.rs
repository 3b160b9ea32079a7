//! What the answers of jobs have in common: whole runs, columns to files, pictures next to them.
//!
//! A job describes questions (`distribution.rs`, `paircount.rs`, `association.rs`). Its answer is a table of columns
//! with notes, and a picture.

#[cfg(feature = "plot")]
use crate::destination::is_picture;
use crate::destination::{LISTS, refuse_all};
use crate::options::Options;
use zipfold_core::{Error, Result};
use zipfold_io::{Column, OutputOptions, write_columns};

/// Refuses a shard and a checkpoint of a job, whose questions are many.
///
/// # Errors
/// `Request`, with the remedy.
pub(crate) fn whole(options: &Options<'_>, remedy: impl Into<String>) -> Result<()> {
    match options.shard.is_some() || options.checkpoint.is_some() {
        true => {
            let what = "expected a run over all questions of the job, got a shard or a checkpoint";
            Err(Error::request(what).remedy(remedy.into()))
        }
        false => Ok(()),
    }
}

/// Refuses, before any work, a file that could not hold the answer of a job: a picture for `.svg`,
/// a page for `.html`, columns for other suffixes.
///
/// # Errors
/// `Request`.
pub fn refuse(path: &str, options: OutputOptions) -> Result<()> {
    refuse_all(path, LISTS, options)
}

/// Writes columns by name in the format that the suffix of `path` names.
///
/// # Errors
/// `Request` for another suffix, or for an output that exists; those of the file system.
pub(crate) fn write(
    path: &str,
    columns: &[(String, Column<'_>)],
    notes: &[String],
    options: OutputOptions,
) -> Result<()> {
    let columns: Vec<(&str, Column<'_>)> = columns
        .iter()
        .map(|(name, column)| (name.as_str(), *column))
        .collect();
    write_columns(path, &columns, notes, options)
}

/// Writes the picture to a `path` that ends with `.svg`, the columns to any other.
///
/// # Errors
/// Those of `svg` and of `columns`.
#[cfg(feature = "plot")]
pub(crate) fn save(
    path: &str,
    options: OutputOptions,
    svg: impl FnOnce() -> Result<String>,
    columns: impl FnOnce() -> Result<()>,
) -> Result<()> {
    match is_picture(path) {
        true => crate::picture::write_picture(path, &svg()?, options),
        false => columns(),
    }
}
