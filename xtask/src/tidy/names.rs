//! File names that say something, and no path of one machine.

use crate::Violation;
use crate::tree::File;

const VAGUE: [&str; 9] = [
    "base", "util", "utils", "helper", "helpers", "misc", "common", "shared", "stuff",
];
const SOURCES: [&str; 6] = ["rs", "py", "c", "h", "cl", "cu"];

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

/// Whether `folder` stands in `line` at the start of a path and not inside a longer one or an
/// address.
fn holds_absolute(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || "-_.~})]/*".contains(c)))
    })
}
