//! The checks of `cargo xtask tidy`. Each takes the files of the workspace and returns what it
//! found.

pub mod arrows;
pub mod calls;
pub mod circles;
pub mod density;
pub mod documents;
pub mod duties;
pub mod facade;
pub mod flags;
pub mod lengths;
pub mod lints;
pub mod measures;
pub mod names;
pub mod panics;
pub mod pseudocode;
pub mod safety;
pub mod wildcards;
pub mod words;

use crate::Violation;
use crate::tree::File;

/// Every breach that any check found, in the order of files and lines.
pub fn check(files: &[File]) -> Vec<Violation> {
    let checks = [
        arrows::check,
        calls::check,
        circles::check,
        density::check,
        documents::check,
        duties::check,
        facade::check,
        flags::check,
        lengths::check,
        lints::check,
        names::check_items,
        names::check_names,
        names::check_paths,
        crate::needs::check,
        pseudocode::check,
        safety::check_comments,
        safety::check_forbidden,
        wildcards::check,
        words::check,
    ];
    let mut found: Vec<Violation> = checks.iter().flat_map(|check| check(files)).collect();
    found.sort();
    found.dedup();
    found
}

/// The folder of a workspace member that a file belongs to, such as `crates/core`.
fn member(path: &str) -> Option<&str> {
    let depth = if path.starts_with("crates/") { 2 } else { 1 };
    let end = path.match_indices('/').nth(depth - 1)?.0;
    Some(&path[..end])
}

/// Whether a file is part of what a crate ships, as opposed to its tests, examples and benches.
fn shipped(path: &str) -> bool {
    path.ends_with(".rs")
        && member(path).is_some_and(|member| path[member.len()..].starts_with("/src/"))
        && !path.ends_with("/tests.rs")
        && !path.contains("/tests/")
}
