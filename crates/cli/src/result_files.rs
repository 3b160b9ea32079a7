//! Refusals of outputs that could not be written, before any work.

use crate::args::RunArgs;
use crate::lists;
use std::path::Path;
use zipfold::internals::core::opt::Opt;
use zipfold::internals::destination::{self, is_picture, refuse_place, refuse_suffix};
use zipfold::internals::picture::drawn_to;
use zipfold::io::OutputOptions;
use zipfold::problem::FoldSpec;
use zipfold::{Error, Problem, Result};

/// Suffixes that promise what a shard is not.
const TABLES: &[&str] = &[
    "csv", "tsv", "txt", "dat", "npy", "npz", "parquet", "arrow", "feather", "xyz", "extxyz",
    "json", "toml", "svg", "png", "html", "gz", "xz",
];

/// Refuses outputs that could not be written, before any work.
pub(crate) fn refuse_early(path: &str, problem: &Problem, args: &RunArgs) -> Result<()> {
    let suffix = Path::new(path)
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or("")
        .to_lowercase();
    if args.shard.is_some() {
        return refuse_shard(path, &suffix, args.how_written());
    }
    let verb = verb_of(problem);
    if path == "-" {
        return refuse_binary(verb);
    }
    let suffixes = match (problem.folds.first(), verb) {
        (Some(fold), "dist" | "reduce" | "knn") => destination::suffixes(problem, fold),
        _ => lists::suffixes(verb),
    };
    refuse_name(path, suffixes)?;
    refuse_place(path, args.how_written())
}

/// Refuses the name of a result that does not end in one of `suffixes`; that of a picture belongs to
/// another option.
pub(crate) fn refuse_name(path: &str, suffixes: &[&str]) -> Result<()> {
    refuse_suffix(path, suffixes).map_err(|e| match is_picture(path) {
        true => e.remedy(drawn_to(path)),
        false => e,
    })
}

/// Refuses a shard in a file that promises a table.
fn refuse_shard(path: &str, suffix: &str, how: OutputOptions) -> Result<()> {
    if TABLES.contains(&suffix) {
        let e = Error::request(format!(
            "a shard is a partial result, which '.{suffix}' does not say"
        ));
        return Err(e
            .at_place(path.to_string())
            .remedy("another suffix, such as .part; `zipfold merge` writes tables"));
    }
    refuse_place(path, how)
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
    if !is_picture(path) {
        return Err(Error::request("pictures are SVG or PNG")
            .at_place(path.to_string())
            .remedy(Opt::Plot.like("FILE.svg or FILE.png")));
    }
    refuse_place(path, args.how_written())
}
