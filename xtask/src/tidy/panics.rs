//! Counts, and does not forbid, what may panic outside tests without saying why it cannot.

use super::{member, shipped};
use crate::source::Source;
use crate::tree::File;
use std::collections::BTreeMap;

const PANICS: [&str; 6] = [
    ".unwrap()",
    ".expect(",
    "panic!(",
    "unreachable!(",
    "todo!(",
    "unimplemented!(",
];
/// How many lines above its `INVARIANT:` comment may stand.
const REACH: usize = 3;

/// For each member, how many such places there are; members without any are left out.
pub fn count(files: &[File]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for file in files.iter().filter(|file| shipped(&file.path)) {
        let places = places(&Source::new(&file.text));
        if let Some(member) = member(&file.path).filter(|_| places > 0) {
            *counts.entry(member.to_owned()).or_insert(0) += places;
        }
    }
    counts
}

fn places(source: &Source) -> usize {
    let tests = source.test_lines();
    let explained = |line: usize| {
        (line.saturating_sub(REACH)..=line)
            .any(|above| source.comment_line(above).contains("INVARIANT:"))
    };
    (1..=source.lines())
        .filter(|line| {
            !tests
                .iter()
                .any(|(first, last)| (*first..=*last).contains(line))
                && !explained(*line)
        })
        .map(|line| {
            PANICS
                .iter()
                .map(|panic| source.code_line(line).matches(panic).count())
                .sum::<usize>()
        })
        .sum()
}
