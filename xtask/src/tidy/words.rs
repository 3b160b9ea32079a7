//! Words that comments and documents leave to other languages: they hide who does what, and readers
//! from elsewhere do not find them in a dictionary in this sense.
//!
//! Comments of crates that had such words before the rule are counted; the numbers may only fall.

use super::{member, shipped};
use crate::Violation;
use crate::source::Source;
use crate::tree::File;
use std::collections::BTreeMap;

/// A phrase, and what to write instead.
const WORDS: &[(&str, &str)] = &[
    ("asked for", "requested"),
    ("beside", "next to, in addition to"),
    ("by hand", "explicitly"),
    ("drill", "fault, test"),
    ("is no", "is not a"),
    ("mended", "fixed, corrected"),
    ("seldom", "rarely"),
    ("so many", "this many, n"),
    ("stands", "is, means"),
    ("those that", "the ones that, or a noun"),
    ("whatever", "regardless of"),
];

/// By crate: places in comments that were there before the rule.
const LEFT: &[(&str, usize)] = &[
    ("crates/cli", 37),
    ("crates/gpu", 31),
    ("crates/product", 50),
    ("python", 7),
];

/// What makes "is no" plain: "is no larger".
const COMPARATIVES: &[&str] = &[
    "better", "earlier", "faster", "fewer", "greater", "higher", "larger", "later", "less",
    "longer", "lower", "more", "narrower", "nearer", "shorter", "slower", "smaller", "wider",
    "worse",
];

/// Documents with such a word, and crates whose comments have more than were left.
pub fn check(files: &[File]) -> Vec<Violation> {
    let mut found: Vec<Violation> = files
        .iter()
        .filter(|file| is_prose(&file.path))
        .flat_map(|file| places(file, file.text.lines().map(without_code)))
        .collect();
    let mut crates: BTreeMap<&str, Vec<Violation>> = BTreeMap::new();
    for file in files.iter().filter(|file| is_code(&file.path)) {
        let source = Source::new(&file.text);
        let comments = (1..=source.lines()).map(|line| without_code(&source.comment_line(line)));
        crates
            .entry(member(&file.path).unwrap_or_default())
            .or_default()
            .extend(places(file, comments));
    }
    for (name, places) in crates {
        let left = LEFT.iter().find(|(known, _)| *known == name);
        let left = left.map_or(0, |(_, left)| *left);
        if places.len() > left {
            let what = format!("{} such words in comments, {left} were left", places.len());
            found.push(Violation::new(name, 1, what));
            found.extend(places);
        }
    }
    found
}

/// Documents; records and the changelog keep the words of their day.
fn is_prose(path: &str) -> bool {
    path.ends_with(".md") && !path.starts_with("bench/") && path != "CHANGELOG.md"
}

/// Code that ships, but for this list.
fn is_code(path: &str) -> bool {
    shipped(path) && path != "xtask/src/tidy/words.rs"
}

fn places(file: &File, lines: impl Iterator<Item = String>) -> Vec<Violation> {
    let mut found = vec![];
    for (at, line) in lines.enumerate() {
        for (word, better) in WORDS.iter().filter(|(word, _)| has(&line, word)) {
            let what = format!("'{word}': write {better}");
            found.push(Violation::new(&file.path, at + 1, what));
        }
    }
    found
}

/// The line with what is between backticks or quotes blanked: names, paths and titles are not prose.
fn without_code(line: &str) -> String {
    let blank = |text: &str, mark: char| {
        let pieces = text.split(mark).enumerate();
        let kept = pieces.map(|(at, piece)| if at % 2 == 0 { piece } else { " " });
        kept.collect::<Vec<_>>().join(&mark.to_string())
    };
    blank(&blank(line, '`'), '"')
}

/// Whether a phrase is in a line as whole words. "There is no file" and "is no larger" are plain.
fn has(line: &str, word: &str) -> bool {
    let line = line.to_lowercase();
    let letter = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let whole = !before.ends_with(letter) && !after.starts_with(letter);
        whole && !(word == "is no" && is_plain(before, after))
    })
}

/// Whether "is no" follows "there", or precedes a comparative, or goes on from another line.
fn is_plain(before: &str, after: &str) -> bool {
    let next = after.split_whitespace().next().unwrap_or_default();
    let next = next.trim_end_matches(|c: char| !c.is_alphanumeric());
    let before = before.trim_end();
    before.is_empty()
        || before.ends_with("there")
        || before.ends_with("//")
        || next.is_empty()
        || COMPARATIVES.contains(&next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_documents_and_comments_alone() {
        let files = [
            File::new(
                "README.md",
                "It lies beside `beside.rs`.\nThere is no file, it is no larger.",
            ),
            File::new("bench/records/a/b.md", "made by hand"),
            File::new(
                "crates/new/src/a.rs",
                "// Takes so many rows.\nlet beside = \"whatever\";\n/// What is no number.\nfn f() {}\n",
            ),
            File::new("crates/new/tests/a.rs", "// by hand\n"),
        ];
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        let named = ["'beside'", "2 such words", "'so many'", "'is no'"];
        assert_eq!(found.len(), named.len(), "{found:?}");
        for (found, name) in found.iter().zip(named) {
            assert!(found.contains(name), "{found}");
        }
    }
}
