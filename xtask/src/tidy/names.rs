//! Names that say something: of files, functions and types; and no path of one machine.

use super::{member, shipped};
use crate::Violation;
use crate::source::{Source, is_word};
use crate::tree::File;
use std::collections::{BTreeMap, BTreeSet};

const VAGUE: [&str; 9] = [
    "base", "util", "utils", "helper", "helpers", "misc", "common", "shared", "stuff",
];
const SOURCES: [&str; 6] = ["rs", "py", "c", "h", "cl", "cu"];

/// Names of functions that say nothing without the type before them.
const BARE: [&str; 3] = ["of", "at", "one"];
const TYPES: [&str; 4] = ["struct", "enum", "trait", "union"];

/// In halves, so that this file does not hold what it forbids.
const FOLDERS: [[&str; 2]; 4] = [
    ["/ho", "me/"],
    ["/ro", "ot/"],
    ["/wo", "rk/"],
    ["/Us", "ers/"],
];

/// Files and modules whose name says nothing about what they hold.
pub fn check_names(files: &[File]) -> Vec<Violation> {
    let vague = files
        .iter()
        .filter(|file| SOURCES.contains(&file.suffix()) && says_nothing(&file.path));
    vague
        .map(|file| {
            Violation::new(
                &file.path,
                1,
                "a name that says nothing: name it after what it holds",
            )
        })
        .collect()
}

fn says_nothing(path: &str) -> bool {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let mut parts = stem.rsplit('/');
    let name = parts.next().unwrap_or(stem);
    VAGUE.contains(&name)
        || (["mod", "__init__"].contains(&name) && parts.next().is_some_and(|p| VAGUE.contains(&p)))
}

/// Lines with an absolute path into somebody's folders.
pub fn check_paths(files: &[File]) -> Vec<Violation> {
    let folders = FOLDERS.map(|halves| halves.concat());
    let mut found = Vec::new();
    for file in files {
        for (number, line) in file.text.lines().enumerate() {
            if let Some(folder) = folders.iter().find(|folder| holds_absolute(line, folder)) {
                found.push(Violation::new(
                    &file.path,
                    number + 1,
                    format!("a path of one machine: {folder}"),
                ));
            }
        }
    }
    found
}

/// Whether `folder` is in `line` at the start of a path and not inside a longer one or an
/// address.
fn holds_absolute(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || "-_.~})]/*".contains(c)))
    })
}

/// Crates with bare names of functions, or with several types of one name.
pub fn check_items(files: &[File]) -> Vec<Violation> {
    let mut crates: BTreeMap<&str, [Vec<String>; 2]> = BTreeMap::new();
    for file in files.iter().filter(|file| shipped(&file.path)) {
        let [functions, types] = crates
            .entry(member(&file.path).unwrap_or_default())
            .or_default();
        let source = Source::new(&file.text);
        let named = items(&source, &["fn"]).into_iter();
        functions.extend(named.filter(|name| BARE.contains(&name.as_str())));
        types.extend(items(&source, &TYPES));
    }
    let check = |(name, [functions, types]): (&str, [Vec<String>; 2])| {
        let all: BTreeSet<&String> = types.iter().collect();
        check_crate(name, [functions.len(), types.len() - all.len()])
    };
    crates.into_iter().flat_map(check).collect()
}

fn check_crate(name: &str, found: [usize; 2]) -> Vec<Violation> {
    let what = [
        "functions called `of`, `at` or `one`",
        "types with the name of another type of the crate",
    ];
    let wrong = (0..2).filter(|at| found[*at] > 0);
    wrong
        .map(|at| {
            let text = format!("{} {}: rename what is new", found[at], what[at]);
            Violation::new(name, 1, text)
        })
        .collect()
}

/// The names after these keywords, outside tests.
fn items(source: &Source, keywords: &[&str]) -> Vec<String> {
    let tests = source.test_lines();
    let is_tested = |at: usize| {
        let line = source.line(at);
        tests
            .iter()
            .any(|(first, last)| (first..=last).contains(&&line))
    };
    let name = |at: usize| -> String {
        let first = source.next(at).unwrap_or(source.code.len());
        let bytes = source.code[first..]
            .iter()
            .take_while(|byte| is_word(**byte));
        bytes.map(|byte| char::from(*byte)).collect()
    };
    keywords
        .iter()
        .flat_map(|keyword| {
            source
                .words(keyword)
                .into_iter()
                .map(move |at| at + keyword.len())
        })
        .filter(|at| !is_tested(*at))
        .map(name)
        .filter(|name| !name.is_empty())
        .collect()
}
