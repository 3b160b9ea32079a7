//! Refusals of outputs that could not be written, before any work.

use crate::args::RunArgs;
use crate::lists;
use std::path::Path;
use zipfold::internals::io::Presence;
use zipfold::problem::FoldSpec;
use zipfold::{Error, Problem, Result};

/// Suffixes that promise what a shard is not.
const TABLES: &[&str] = &[
    "csv", "tsv", "txt", "dat", "npy", "npz", "parquet", "arrow", "feather", "xyz", "extxyz",
    "json", "toml", "svg", "html", "gz", "xz",
];

/// Refuses outputs that could not be written, before any work.
pub(crate) fn refuse_early(path: &str, problem: &Problem, args: &RunArgs) -> Result<()> {
    let suffix = Path::new(path)
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or("")
        .to_lowercase();
    if args.shard.is_some() {
        return refuse_shard(path, &suffix, problem, args.force);
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
        let e = Error::request(what).at_place(path.to_string());
        return Err(e.remedy(format!(
            "a name that ends in one of {}",
            lists::dotted(allowed)
        )));
    }
    refuse_place(path, args.force)
}

/// Refuses a shard of what has none, or in a file that promises a table.
fn refuse_shard(path: &str, suffix: &str, problem: &Problem, force: bool) -> Result<()> {
    let dense = |f: &FoldSpec| matches!(f, FoldSpec::Matrix {} | FoldSpec::Condensed {});
    if problem.folds.iter().any(dense) {
        let e = Error::request(
            "a matrix has no partial result: its shards would be as large as itself",
        )
        .at_place("--shard");
        return Err(e.remedy("give each shard its own rows as x and all rows as y"));
    }
    if TABLES.contains(&suffix) {
        let e = Error::request(format!(
            "a shard is a partial result, which '.{suffix}' does not say"
        ));
        return Err(e
            .at_place(path.to_string())
            .remedy("another suffix, such as .part; `zipfold merge` writes tables"));
    }
    refuse_place(path, force)
}

/// The verb that asks for what `problem` keeps first.
pub(crate) fn verb_of(problem: &Problem) -> &'static str {
    match problem.folds.first() {
        Some(FoldSpec::Matrix {} | FoldSpec::Condensed {}) | None => "dist",
        Some(FoldSpec::Reduce { .. } | FoldSpec::Quantile(_)) => "reduce",
        Some(FoldSpec::Nearest { .. }) => "knn",
        Some(FoldSpec::Histogram { .. }) => "hist",
        Some(FoldSpec::Top(_)) => "top",
        Some(FoldSpec::Join { .. }) => "join",
    }
}

/// Bytes of arrays are nothing for a terminal.
fn refuse_binary(verb: &str) -> Result<()> {
    let binary = lists::WRITTEN
        .iter()
        .any(|w| w.verb == verb && w.stream == "npy");
    if !binary || !crate::terminal::is_read() {
        return Ok(());
    }
    let e = Error::request(format!(
        "'{verb} -o -' writes a NumPy array, and standard output is a terminal"
    ))
    .at_place("-o -");
    Err(e.remedy("leave out -o to see a table, or give -o FILE, or pipe it into another program"))
}

/// Refuses a picture that could not be drawn, before any work.
pub(crate) fn refuse_picture(path: &str, args: &RunArgs) -> Result<()> {
    if !path.ends_with(".svg") {
        return Err(Error::request("pictures are SVG")
            .at_place(path.to_string())
            .remedy("a name that ends in .svg"));
    }
    refuse_place(path, args.force)
}

/// Whether something is there that is written into, not replaced: a pipe, a device.
pub(crate) fn is_special(path: &str) -> bool {
    Presence::behind(Path::new(path)) == Presence::Special
}

/// Refuses a place that exists already, or is in no folder.
pub(crate) fn refuse_place(path: &str, force: bool) -> Result<()> {
    // A link to nothing is there too.
    let is_there = Presence::itself(Path::new(path)) != Presence::Nothing;
    if is_there && !force && !is_special(path) {
        return Err(Error::request("the output exists")
            .at_place(path.to_string())
            .remedy("--force replaces it"));
    }
    let folder = Path::new(path)
        .parent()
        .filter(|p| !p.as_os_str().is_empty());
    match folder {
        Some(folder) if Presence::behind(folder) != Presence::Folder => {
            Err(Error::request("the folder does not exist")
                .at_place(folder.to_string_lossy())
                .remedy("make it first"))
        }
        _ => Ok(()),
    }
}
