//! A `match` over folds, strategies or nodes of a formula names every one of them: behind a
//! catch-all arm a new one vanishes without a word.

use crate::Violation;
use crate::source::{Source, is_word};
use crate::tree::File;

/// Enumerations whose every variant a `match` names.
pub(super) struct Rule {
    names: &'static [&'static str],
    /// What their variants are, in a message.
    what: &'static str,
    /// What to do instead.
    instead: &'static str,
    /// Files with matches from before the rule, and how many: a number may only fall. A file that
    /// is not here has none.
    left: &'static [(&'static str, usize)],
}

pub(super) const FOLDS: Rule = Rule {
    names: &["Fold", "FoldSpec"],
    what: "folds",
    instead: "name every fold, or ask `Accumulate` and `Traits`",
    left: LEFT,
};

pub(super) const STRATEGIES: Rule = Rule {
    names: &["Strategy"],
    what: "strategies",
    instead: "name every strategy, or ask a method of `Strategy`",
    left: LEFT_OF_STRATEGIES,
};

pub(super) const NODES: Rule = Rule {
    names: &["Node"],
    what: "nodes of a formula",
    instead: "name every kind of node, or ask a method of `Node`",
    left: LEFT_OF_NODES,
};

const LEFT: &[(&str, usize)] = &[];

const LEFT_OF_STRATEGIES: &[(&str, usize)] = &[];

const LEFT_OF_NODES: &[(&str, usize)] = &[
    ("crates/core/src/describe/pair.rs", 1),
    ("crates/core/src/pair/interval_bounds.rs", 3),
    ("crates/core/src/pair/eval.rs", 6),
    ("crates/core/src/pair/images.rs", 1),
    ("crates/core/src/pair/lower.rs", 3),
    ("crates/core/src/pair/parse.rs", 2),
    ("crates/core/src/pair/recognise.rs", 10),
    ("crates/core/src/pair/sign.rs", 2),
    ("crates/core/src/pair/symmetry.rs", 1),
    ("crates/core/src/pair/texts.rs", 2),
    ("crates/core/src/pair/trace.rs", 1),
    ("crates/core/src/pair/tree.rs", 6),
    ("crates/core/src/pair/truth.rs", 1),
    ("crates/core/src/space/half.rs", 1),
    ("crates/cpu/src/jit/steps.rs", 1),
    ("crates/cpu/src/pairs/program.rs", 4),
    ("crates/gpu/src/emit/pair.rs", 7),
    ("crates/gpu/src/emit/join.rs", 2),
    ("crates/plan/src/cost/formula.rs", 1),
    ("crates/plan/src/device.rs", 1),
    ("crates/plan/src/device/rounding.rs", 6),
    ("crates/plan/src/device/sweeps.rs", 1),
    ("crates/plan/src/kernels.rs", 2),
    ("crates/plan/src/prune/reach.rs", 11),
];

/// Matches with a catch-all arm, in files that have more of them than are left over.
pub fn check(files: &[File]) -> Vec<Violation> {
    files
        .iter()
        .filter(|file| super::shipped(&file.path))
        .flat_map(check_file)
        .collect()
}

fn check_file(file: &File) -> Vec<Violation> {
    let source = Source::new(&file.text);
    [FOLDS, STRATEGIES, NODES]
        .iter()
        .flat_map(|rule| check_rule(rule, file, &source))
        .collect()
}

fn check_rule(rule: &Rule, file: &File, source: &Source) -> Vec<Violation> {
    let found = rule.catch_all(source);
    let left = rule.left.iter().find(|(path, _)| *path == file.path);
    let left = left.map_or(0, |(_, left)| *left);
    if found.len() == left {
        return Vec::new();
    }
    let what = rule.what;
    if found.len() < left {
        let what = format!(
            "{} matches over {what} have a catch-all arm, {left} are allowed: write the lower number",
            found.len()
        );
        return vec![Violation::new(&file.path, 1, what)];
    }
    let what = format!(
        "a `match` over {what} has a catch-all arm: {}",
        rule.instead
    );
    let tell = |line: usize| Violation::new(&file.path, line, what.clone());
    found.into_iter().map(tell).collect()
}

impl Rule {
    /// The lines of matches that have a catch-all arm, outside tests.
    pub(super) fn catch_all(&self, source: &Source) -> Vec<usize> {
        let tests = source.test_lines();
        let shipped = |line: &usize| {
            !tests
                .iter()
                .any(|(first, last)| (first..=last).contains(&line))
        };
        let matches = source.words("match").into_iter();
        matches
            .filter(|at| self.is_bad(source, *at))
            .map(|at| source.line(at))
            .filter(shipped)
            .collect()
    }
    fn is_bad(&self, source: &Source, at: usize) -> bool {
        let Some(open) = source.body(at + "match".len()) else {
            return false;
        };
        let arms = source
            .closing(open)
            .map_or_else(Vec::new, |end| arms(&source.code[open + 1..end]));
        arms.iter().any(|arm| self.is_named(arm)) && arms.iter().any(|arm| is_catch_all(arm))
    }
    /// Whether a pattern names a variant.
    fn is_named(&self, pattern: &str) -> bool {
        let named = |name: &str| {
            let path = format!("{name}::");
            let starts = |at: usize| at == 0 || !is_word(pattern.as_bytes()[at - 1]);
            pattern.match_indices(&path).any(|(at, _)| starts(at))
        };
        self.names.iter().any(|name| named(name))
    }
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

/// Whether a pattern takes everything: `_`, a name, or a tuple of such, regardless of its guard.
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
        FOLDS.catch_all(&Source::new(text))
    }

    #[test]
    fn catch_all_arms_over_folds_are_found() {
        assert_eq!(
            lines("fn a(f: &Fold) {\n match f {\n Fold::Reduce(_) => 1,\n _ => 2,\n };\n}"),
            [2]
        );
        assert_eq!(
            lines("match (f, s) {\n (Fold::Reduce(f), S::A(s)) => { x }\n (fold, state) => y,\n}"),
            [1]
        );
        assert_eq!(
            lines(
                "match f { Fold::Reduce(f) => match g { _ => 1 }.abs(), other if is(other) => 3 }"
            ),
            [1]
        );
        assert_eq!(
            lines("match f { Fold::Reduce(f) => g.map(|v| (v, 1)), Fold::Dense(_) => 3 }"),
            NONE
        );
        assert_eq!(
            lines("match g { A => Fold::Reduce(f), _ => Fold::Dense(d) }"),
            NONE
        );
        assert_eq!(lines("match f { Unfold::Rows(f) => 1, _ => 2 }"), NONE);
        assert_eq!(lines("// match f { Fold::Reduce(f) => 1, _ => 2 }"), NONE);
        assert_eq!(
            lines("#[cfg(test)]\nmod tests {\n fn a() { match f { Fold::A => 1, _ => 2 } }\n}"),
            NONE
        );
    }
}
