//! Libraries name no flags of the command: Python and Rust have none. A message names an option by
//! `Opt` of `core`, and each interface says it in its own words.

use crate::Violation;
use crate::source::Source;
use crate::tree::File;

/// The crates whose messages reach every interface.
const LIBRARIES: [&str; 8] = [
    "core", "plan", "io", "cpu", "gpu", "product", "vector", "zipfold",
];

/// Files that hand flags to a compiler of kernels.
const COMPILERS: [&str; 1] = ["crates/gpu/src/runtime/nvrtc.rs"];

/// Literals of libraries that name a flag or a verb of the command.
pub fn check(files: &[File]) -> Vec<Violation> {
    let library = |file: &&File| {
        let name = super::member(&file.path).and_then(|member| member.strip_prefix("crates/"));
        name.is_some_and(|name| LIBRARIES.contains(&name)) && super::shipped(&file.path)
    };
    files
        .iter()
        .filter(library)
        .filter(|file| !COMPILERS.contains(&file.path.as_str()))
        .flat_map(check_file)
        .collect()
}

fn check_file(file: &File) -> Vec<Violation> {
    let source = Source::new(&file.text);
    let tests = source.test_lines();
    let shipped = |line: &usize| {
        !tests
            .iter()
            .any(|(first, last)| (first..=last).contains(&line))
    };
    let tell = |line| {
        let what = "a library names a flag or a verb of the command: name the option by `Opt`";
        Violation::new(&file.path, line, what.to_owned())
    };
    literals(&file.text, &source)
        .filter(|(_, text)| names_flag(text))
        .map(|(at, _)| source.line(at))
        .filter(shipped)
        .map(tell)
        .collect()
}

/// Where literals begin, and what is between their quotes.
fn literals<'t>(text: &'t str, source: &'t Source) -> impl Iterator<Item = (usize, &'t str)> {
    let quotes: Vec<usize> = source
        .code
        .iter()
        .enumerate()
        .filter(|(_, b)| **b == b'"')
        .map(|(at, _)| at)
        .collect();
    let pairs: Vec<(usize, usize)> = quotes
        .chunks_exact(2)
        .map(|pair| (pair[0], pair[1]))
        .collect();
    pairs
        .into_iter()
        .filter_map(|(from, to)| Some((from, text.get(from + 1..to)?)))
}

/// Whether a text has a word such as `--range` or `-o`, or a verb of the command.
fn names_flag(text: &str) -> bool {
    let opens = |at: usize| {
        text[..at]
            .chars()
            .next_back()
            .is_none_or(|c| c.is_whitespace() || "(`'\"/".contains(c))
    };
    let long = |at: usize| text[at + 2..].starts_with(|c: char| c.is_ascii_lowercase());
    let short = |at: usize| {
        let mut after = text[at + 1..].chars();
        matches!(after.next(), Some('o' | 'k'))
            && !after
                .next()
                .is_some_and(|c| c.is_alphanumeric() || c == '_')
    };
    text.contains("`zipfold ")
        || text
            .match_indices("--")
            .any(|(at, _)| opens(at) && long(at))
        || text
            .match_indices('-')
            .any(|(at, _)| opens(at) && short(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check(&[File::new("crates/io/src/a.rs", text)])
            .iter()
            .map(|found| found.line)
            .collect()
    }

    #[test]
    fn flags_in_messages_are_found() {
        assert_eq!(
            lines("fn a() {\n e.at(\"--range\");\n e.remedy(\"another name with -o\")\n}"),
            [2, 3]
        );
        assert_eq!(
            lines(
                "const A: &str = r#\"try (--memory 1)\"#;\nconst B: &str = \"`zipfold devices` lists\";"
            ),
            [1, 2]
        );
        assert_eq!(
            lines(
                "// --range\nfn a() { e.at(\"a -- b\"); e.at(\"x-o\"); e.at('-'); e.at(\"-om --\") }"
            ),
            [0; 0]
        );
        assert_eq!(
            lines("#[cfg(test)]\nmod tests {\n const A: &str = \"--range\";\n}"),
            [0; 0]
        );
        assert!(
            check(&[File::new(
                "crates/cli/src/a.rs",
                "const A: &str = \"--range\";"
            )])
            .is_empty()
        );
    }
}
