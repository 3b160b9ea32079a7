//! Functions that a reader holds in the head: few tokens, shallow, few parameters. Lines do not
//! tell, since a formatter makes them.
//!
//! What was above before the rule is counted by crate, and may only become less.

use super::{lengths, member, shipped};
use crate::Violation;
use crate::source::{Source, is_word};
use crate::tree::File;
use std::collections::BTreeMap;

/// The most tokens of a function, and of nine in ten of a crate.
pub(super) const TOKENS: usize = 600;
const MOST_HAVE: usize = 200;
/// Braces within braces of a body.
const DEPTH: usize = 5;
/// Parameters, `self` apart.
const PARAMETERS: usize = 6;

/// By crate: functions of too many tokens, too deep and of too many parameters, and the tokens that
/// nine in ten stay within, in whole tens.
const LEFT: &[(&str, [usize; 4])] = &[
    ("crates/cli", [0, 0, 0, 290]),
    ("crates/core", [0, 0, 0, 250]),
    ("crates/cpu", [0, 0, 0, 330]),
    ("crates/gpu", [0, 0, 0, 310]),
    ("crates/io", [0, 0, 0, 310]),
    ("crates/plan", [0, 0, 0, 300]),
    ("crates/product", [0, 0, 0, 320]),
    ("crates/testkit", [0, 0, 0, 290]),
    ("crates/vector", [0, 0, 0, 200]),
    ("crates/zipfold", [0, 0, 0, 310]),
    ("python", [0, 0, 0, 320]),
    ("xtask", [0, 0, 0, 250]),
];

/// Crates with more such functions than were left.
pub fn check(files: &[File]) -> Vec<Violation> {
    let mut crates: BTreeMap<&str, Vec<Measure>> = BTreeMap::new();
    for file in files.iter().filter(|file| shipped(&file.path)) {
        crates
            .entry(member(&file.path).unwrap_or_default())
            .or_default()
            .extend(measures(file));
    }
    crates
        .into_iter()
        .flat_map(|(name, functions)| check_crate(name, &functions))
        .collect()
}

/// A function, and what it has of each.
pub(super) struct Measure {
    path: String,
    line: usize,
    name: String,
    pub tokens: usize,
    depth: usize,
    parameters: usize,
}

impl Measure {
    pub(super) fn is_deep(&self) -> bool {
        self.depth > DEPTH
    }
}

fn check_crate(name: &str, functions: &[Measure]) -> Vec<Violation> {
    let left = LEFT
        .iter()
        .find(|(known, _)| *known == name)
        .map_or([0, 0, 0, MOST_HAVE], |(_, left)| *left);
    let mut tokens: Vec<usize> = functions.iter().map(|f| f.tokens).collect();
    tokens.sort_unstable();
    let most_have = tokens.get(tokens.len() * 9 / 10).copied().unwrap_or(0);
    let over = |test: &dyn Fn(&Measure) -> bool| functions.iter().filter(|f| test(f)).count();
    let found = [
        over(&|f| f.tokens > TOKENS),
        over(&|f| f.depth > DEPTH),
        over(&|f| f.parameters > PARAMETERS),
        most_have.next_multiple_of(10).max(MOST_HAVE),
    ];
    if found == left {
        return vec![];
    }
    let what = [
        "functions above 600 tokens",
        "functions deeper than 5",
        "functions of more than 6 parameters",
        "tokens",
    ];
    let tell = |at: usize| {
        let (found, left) = (found[at], left[at]);
        let advice = if found < left {
            "write the lower number"
        } else {
            "make them smaller"
        };
        Violation::new(
            name,
            1,
            format!("{found} {}, {left} are allowed: {advice}", what[at]),
        )
    };
    let mut all: Vec<Violation> = (0..4)
        .filter(|at| found[*at] != left[*at])
        .map(tell)
        .collect();
    let worse = |f: &&Measure| {
        (f.tokens > TOKENS && found[0] > left[0])
            || (f.depth > DEPTH && found[1] > left[1])
            || (f.parameters > PARAMETERS && found[2] > left[2])
    };
    all.extend(functions.iter().filter(worse).map(|f| {
        let numbers = format!(
            "{} tokens, depth {}, {} parameters",
            f.tokens, f.depth, f.parameters
        );
        Violation::new(&f.path, f.line, format!("`{}` has {numbers}", f.name))
    }));
    all
}

/// Lists the functions that are larger than most may be, too deep or of too many parameters, by
/// crate and the largest first: a line for each.
pub fn largest(files: &[File]) -> String {
    let mut found: Vec<(&str, Measure)> = files
        .iter()
        .filter(|file| shipped(&file.path))
        .flat_map(|file| {
            let name = member(&file.path).unwrap_or_default();
            measures(file).into_iter().map(move |f| (name, f))
        })
        .filter(|(_, f)| f.tokens > MOST_HAVE || f.depth > DEPTH || f.parameters > PARAMETERS)
        .collect();
    found.sort_by_key(|(name, f)| (*name, std::cmp::Reverse(f.tokens)));
    found
        .iter()
        .map(|(_, f)| {
            let numbers = format!("{:5} {:2} {:2}", f.tokens, f.depth, f.parameters);
            format!("{numbers}  {}:{} {}\n", f.path, f.line, f.name)
        })
        .collect()
}

pub(super) fn measures(file: &File) -> Vec<Measure> {
    let source = Source::new(&file.text);
    let tests = source.test_lines();
    let of = |f: lengths::Function| {
        let line = source.line(f.at);
        let tested = tests
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&line));
        (!tested).then(|| Measure {
            path: file.path.clone(),
            line,
            tokens: tokens(&source.code[f.at..=f.close]),
            depth: depth(&source.code[f.open..=f.close]).saturating_sub(1),
            parameters: parameters(&source.code[f.at..f.open]),
            name: f.name,
        })
    };
    lengths::functions(&source)
        .into_iter()
        .filter_map(of)
        .collect()
}

/// Counts words and marks. The comma behind the last item of a list is the formatter's and is not
/// counted.
fn tokens(code: &[u8]) -> usize {
    let mut count = 0;
    let mut within = false;
    let mut comma = false;
    for byte in code {
        if byte.is_ascii_whitespace() {
            within = false;
            continue;
        }
        let word = is_word(*byte);
        let starts = !(word && within);
        let closes = comma && matches!(byte, b')' | b']' | b'}' | b'>');
        count += usize::from(starts) - usize::from(closes);
        comma = *byte == b',';
        within = word;
    }
    count
}

/// The most braces that are open at a time.
fn depth(code: &[u8]) -> usize {
    let (mut open, mut most) = (0usize, 0);
    for byte in code {
        match byte {
            b'{' => open += 1,
            b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

/// Parameters of a signature, `self` apart: its first parentheses outside angle brackets.
fn parameters(signature: &[u8]) -> usize {
    let (mut angle, mut inside, mut colons, mut previous) = (0usize, 0usize, 0, b' ');
    for (at, byte) in signature.iter().enumerate() {
        match byte {
            b'<' if inside <= 1 => angle += 1,
            b'>' if inside <= 1 && previous != b'-' => angle = angle.saturating_sub(1),
            b'(' | b'[' if angle == 0 || inside > 0 => inside += 1,
            b')' | b']' if inside > 0 => {
                inside -= 1;
                if inside == 0 {
                    break;
                }
            }
            b':' if inside == 1
                && angle == 0
                && previous != b':'
                && signature.get(at + 1) != Some(&b':') =>
            {
                colons += 1
            }
            _ => {}
        }
        previous = *byte;
    }
    colons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured() {
        let text = "fn a<T: Copy>(&self, (b, c): (usize, [T; 2]), d: &dyn Fn(usize) -> std::ops::Range<T>) -> u8 {\n    if b { for x in y { z(\"{ {\"); } }\n}\n";
        let [found] = &measures(&File::new("crates/core/src/a.rs", text))[..] else {
            panic!("one function")
        };
        assert_eq!((found.depth, found.parameters), (2, 2));
        assert_eq!(tokens(b"a_b += 12 ;"), 5);
        let long = format!("fn f() {{ {} }}", "a; ".repeat(400));
        let found = check(&[File::new("crates/new/src/a.rs", &long)]);
        assert!(
            found.iter().any(|v| v
                .to_string()
                .contains("`f` has 806 tokens, depth 0, 0 parameters")),
            "{found:?}"
        );
        let short = "fn g() { a; }\n".to_owned();
        let listed = largest(&[File::new("crates/new/src/a.rs", &(short + &long))]);
        assert_eq!(listed, "  806  0  0  crates/new/src/a.rs:2 f\n");
    }
}
