//! A crate exists for what it forbids: core and the planners do no I/O, start no threads and read
//! no clock; core knows no platform. The planner of sum-products searches on the threads of its
//! caller.

use super::shipped;
use crate::Violation;
use crate::source::Source;
use crate::tree::File;

const OUTSIDE: [&str; 8] = [
    "std::fs",
    "std::net",
    "std::thread",
    "std::time",
    "std::process",
    "std::env",
    "Instant::now",
    "SystemTime",
];
const PLATFORM: [&str; 3] = ["cfg(target_", "cfg!(target_", "std::arch"];
const THREADS: [&str; 1] = ["rayon"];
/// What each folder does not use.
const FORBIDDEN: [(&str, &[&[&str]]); 3] = [
    ("crates/core/", &[&OUTSIDE, &PLATFORM, &THREADS]),
    ("crates/plan/", &[&OUTSIDE, &THREADS]),
    ("crates/product/src/plan/", &[&OUTSIDE]),
];

/// Uses of the outside world in the crates that are pure.
pub fn check(files: &[File]) -> Vec<Violation> {
    files
        .iter()
        .filter(|file| shipped(&file.path))
        .flat_map(check_file)
        .collect()
}

fn check_file(file: &File) -> Vec<Violation> {
    let Some((_, forbidden)) = FORBIDDEN
        .iter()
        .find(|(folder, _)| file.path.starts_with(folder))
    else {
        return Vec::new();
    };
    let source = Source::new(&file.text);
    let tests = source.test_lines();
    let mut found = Vec::new();
    for line in
        (1..=source.lines()).filter(|line| !tests.iter().any(|(a, b)| (*a..=*b).contains(line)))
    {
        let code = source.code_line(line);
        if let Some(word) = forbidden
            .iter()
            .copied()
            .flatten()
            .find(|word| code.contains(**word))
        {
            found.push(Violation::new(
                &file.path,
                line,
                format!("`{word}` in a crate without I/O, threads, clock or platform"),
            ));
        }
    }
    found
}
