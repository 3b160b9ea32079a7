//! A `match` over folds names every fold: behind a catch-all arm a new fold's values vanish without
//! a word.

use crate::Violation;
use crate::source::{Source, is_word};
use crate::tree::File;

/// Enumerations whose every variant a `match` names.
const WHOLE: [&str; 2] = ["Fold", "FoldSpec"];

/// Files with matches from before the rule, and how many: a number may only fall. A file that is
/// not here has none.
const LEFT: &[(&str, usize)] = &[
    ("crates/cli/src/bench.rs", 1),
    ("crates/core/src/describe.rs", 1),
    ("crates/core/src/describe/weights.rs", 2),
    ("crates/core/src/meaning.rs", 1),
    ("crates/core/src/oracle.rs", 1),
    ("crates/core/src/problem.rs", 1),
    ("crates/core/src/space/half.rs", 1),
    ("crates/cpu/src/pairs/engine.rs", 1),
    ("crates/cpu/src/pairs/prune/boxes.rs", 1),
    ("crates/cpu/src/pairs/prune/form.rs", 1),
    ("crates/cpu/src/pairs/prune/range_search.rs", 1),
    ("crates/cpu/src/pairs/prune/sheet.rs", 4),
    ("crates/cpu/src/pairs/prune/verdict.rs", 1),
    ("crates/cpu/src/pairs/screen.rs", 1),
    ("crates/gpu/src/dense.rs", 1),
    ("crates/gpu/src/emit/strip.rs", 1),
    ("crates/gpu/src/host.rs", 1),
    ("crates/gpu/src/points.rs", 4),
    ("crates/plan/src/kernels.rs", 4),
    ("crates/plan/src/prune/estimate.rs", 2),
    ("crates/plan/src/prune/reach.rs", 1),
    ("crates/plan/src/screen.rs", 1),
    ("crates/plan/src/sweep.rs", 2),
    ("crates/testkit/src/compare.rs", 1),
    ("crates/testkit/src/runner.rs", 1),
    ("crates/zipfold/src/device.rs", 1),
    ("crates/zipfold/src/library.rs", 2),
    ("crates/zipfold/src/reading.rs", 2),
    ("crates/zipfold/src/run.rs", 2),
    ("python/src/options.rs", 1),
];

/// Matches over folds with a catch-all arm, in files that have more of them than are left over.
pub fn check(files: &[File]) -> Vec<Violation> {
    files
        .iter()
        .filter(|file| super::shipped(&file.path))
        .flat_map(check_file)
        .collect()
}

fn check_file(file: &File) -> Vec<Violation> {
    let found = catch_all(&Source::new(&file.text));
    let left = LEFT
        .iter()
        .find(|(path, _)| *path == file.path)
        .map_or(0, |(_, left)| *left);
    if found.len() == left {
        return Vec::new();
    }
    if found.len() < left {
        let what = format!(
            "{} matches over folds have a catch-all arm, {left} are allowed: write the lower number",
            found.len()
        );
        return vec![Violation::new(&file.path, 1, what)];
    }
    let what = "a `match` over folds has a catch-all arm: name every fold, or ask `Traits`";
    found
        .into_iter()
        .map(|line| Violation::new(&file.path, line, what.to_owned()))
        .collect()
}

/// The lines of matches over [`WHOLE`] that have a catch-all arm, outside tests.
pub(super) fn catch_all(source: &Source) -> Vec<usize> {
    let tests = source.test_lines();
    let shipped = |line: &usize| {
        !tests
            .iter()
            .any(|(first, last)| (first..=last).contains(&line))
    };
    let bad = |at: &usize| {
        let Some(open) = source.body(at + "match".len()) else {
            return false;
        };
        let arms = source
            .closing(open)
            .map_or_else(Vec::new, |end| arms(&source.code[open + 1..end]));
        arms.iter().any(|arm| names_whole(arm)) && arms.iter().any(|arm| is_catch_all(arm))
    };
    source
        .words("match")
        .into_iter()
        .filter(bad)
        .map(|at| source.line(at))
        .filter(shipped)
        .collect()
}

/// The patterns of the arms of a match, of the code between its braces.
fn arms(code: &[u8]) -> Vec<String> {
    let (mut found, mut pattern) = (Vec::new(), Some(0));
    let (mut depth, mut at) = (0i32, 0);
    while at < code.len() {
        match (code[at], pattern) {
            (b'(' | b'[' | b'{', _) => depth += 1,
            (b')' | b']' | b'}', _) => {
                depth -= 1;
                // The block of an arm ends it, unless an expression goes on.
                let next = code[at + 1..]
                    .iter()
                    .find(|byte| !byte.is_ascii_whitespace());
                if depth == 0
                    && code[at] == b'}'
                    && pattern.is_none()
                    && !matches!(next, Some(b'.' | b'?' | b','))
                {
                    pattern = Some(at + 1);
                }
            }
            (b'=', Some(start)) if depth == 0 && code.get(at + 1) == Some(&b'>') => {
                found.push(String::from_utf8_lossy(&code[start..at]).trim().to_owned());
                pattern = None;
                at += 1;
            }
            (b',', None) if depth == 0 => pattern = Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    found
}

fn names_whole(pattern: &str) -> bool {
    let named = |name: &str| {
        let path = format!("{name}::");
        let starts = |at: usize| at == 0 || !is_word(pattern.as_bytes()[at - 1]);
        pattern.match_indices(&path).any(|(at, _)| starts(at))
    };
    WHOLE.iter().any(|name| named(name))
}

/// Whether a pattern takes everything: `_`, a name, or a tuple of such, whatever its guard.
fn is_catch_all(pattern: &str) -> bool {
    let pattern = pattern.split(" if ").next().unwrap_or(pattern).trim();
    let plain = |c: char| {
        c == '_' || c == ',' || c == '(' || c == ')' || c.is_whitespace() || c.is_ascii_lowercase()
    };
    let literal = ["true", "false"].iter().any(|word| {
        pattern
            .split(|c: char| !c.is_ascii_lowercase())
            .any(|w| w == *word)
    });
    !pattern.is_empty() && pattern.chars().all(plain) && !literal
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    fn lines(text: &str) -> Vec<usize> {
        catch_all(&Source::new(text))
    }

    #[test]
    fn catch_all_arms_over_folds_are_found() {
        assert_eq!(
            lines("fn a(f: &Fold) {\n match f {\n Fold::Rows(_) => 1,\n _ => 2,\n };\n}"),
            [2]
        );
        assert_eq!(
            lines("match (f, s) {\n (Fold::Rows(f), S::A(s)) => { x }\n (fold, state) => y,\n}"),
            [1]
        );
        assert_eq!(
            lines("match f { Fold::Rows(f) => match g { _ => 1 }.abs(), other if is(other) => 3 }"),
            [1]
        );
        assert_eq!(
            lines("match f { Fold::Rows(f) => g.map(|v| (v, 1)), Fold::Dense(_) => 3 }"),
            NONE
        );
        assert_eq!(
            lines("match g { A => Fold::Rows(f), _ => Fold::Dense(d) }"),
            NONE
        );
        assert_eq!(lines("match f { Unfold::Rows(f) => 1, _ => 2 }"), NONE);
        assert_eq!(lines("// match f { Fold::Rows(f) => 1, _ => 2 }"), NONE);
        assert_eq!(
            lines("#[cfg(test)]\nmod tests {\n fn a() { match f { Fold::A => 1, _ => 2 } }\n}"),
            NONE
        );
    }
}
