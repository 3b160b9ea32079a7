//! Files of at most 900 lines, and functions of at most 100 in C, in Python and in the macros of
//! Rust. Clippy counts the lines of the other functions of Rust (`too_many_lines`).

use crate::Violation;
use crate::source::{Source, is_word};
use crate::tree::File;

/// The most lines a function may have, from its `fn` to its closing brace.
pub const FUNCTION: usize = 100;
/// The most lines a source file may have.
pub const FILE: usize = 900;

/// Functions and source files that are too long.
pub fn check(files: &[File]) -> Vec<Violation> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Violation> {
    let spans = match file.suffix() {
        "rs" => rust(&Source::new(&file.text)),
        "c" | "h" | "cl" | "cu" => c(&Source::new(&file.text)),
        "py" => python(&file.text),
        _ => return Vec::new(),
    };
    let long = spans.into_iter().filter(|span| span.lines > FUNCTION);
    let long = long.map(|span| {
        let what = format!("`{}` has {} lines, above {FUNCTION}", span.name, span.lines);
        Violation::new(&file.path, span.line, what)
    });
    long.chain(check_whole(file)).collect()
}

fn check_whole(file: &File) -> Option<Violation> {
    let lines = file.text.lines().count();
    (lines > FILE)
        .then(|| Violation::new(&file.path, lines, format!("{lines} lines, above {FILE}")))
}

struct Span {
    name: String,
    line: usize,
    lines: usize,
}

fn rust(source: &Source) -> Vec<Span> {
    functions(source)
        .into_iter()
        .filter(|f| source.is_in_macro(f.at))
        .map(|f| span(source, f.name, f.at, f.close))
        .collect()
}

/// A function of Rust: where its `fn` is, and the braces of its body.
pub(super) struct Function {
    pub name: String,
    pub at: usize,
    pub open: usize,
    pub close: usize,
}

/// All functions with a body.
pub(super) fn functions(source: &Source) -> Vec<Function> {
    source
        .words("fn")
        .into_iter()
        .filter_map(|at| rust_function(source, at))
        .collect()
}

/// The function whose `fn` is at `at`; none for the type of a function pointer or a declaration
/// without a body.
fn rust_function(source: &Source, at: usize) -> Option<Function> {
    let start = source.next(at + 2)?;
    let name = name_at(source, start);
    if name.is_empty() {
        return None;
    }
    let open = source.body(start)?;
    Some(Function {
        name,
        at,
        open,
        close: source.closing(open)?,
    })
}

fn name_at(source: &Source, start: usize) -> String {
    let bytes = source.code[start..]
        .iter()
        .take_while(|byte| is_word(**byte) || **byte == b'$');
    String::from_utf8_lossy(&bytes.copied().collect::<Vec<u8>>()).into_owned()
}

fn span(source: &Source, name: String, from: usize, to: usize) -> Span {
    let line = source.line(from);
    Span {
        name,
        line,
        lines: source.line(to) + 1 - line,
    }
}

/// Blocks that follow a closing parenthesis, outside any other such block: in C those are
/// functions.
fn c(source: &Source) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut end = 0;
    for at in (0..source.code.len()).filter(|at| source.code[*at] == b'{') {
        let before = source.code[..at]
            .iter()
            .rposition(|byte| !byte.is_ascii_whitespace());
        let Some(before) = before.filter(|before| at >= end && source.code[*before] == b')') else {
            continue;
        };
        let Some(close) = source.closing(at) else {
            continue;
        };
        spans.push(span(source, c_name(source, before), before, close));
        end = close;
    }
    spans
}

/// The name in front of the parentheses that close at `close`.
fn c_name(source: &Source, close: usize) -> String {
    let mut depth = 0;
    let open = (0..=close).rev().find(|at| {
        depth += match source.code[*at] {
            b')' => 1,
            b'(' => -1,
            _ => 0,
        };
        depth == 0
    });
    let head = &source.code[..open.unwrap_or(0)];
    let name: Vec<u8> = head
        .iter()
        .rev()
        .take_while(|byte| is_word(**byte))
        .copied()
        .collect();
    String::from_utf8_lossy(&name.into_iter().rev().collect::<Vec<u8>>()).into_owned()
}

/// From a `def` to the last line that is indented more than it.
fn python(text: &str) -> Vec<Span> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut spans = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let head = line.trim_start().trim_start_matches("async ");
        let Some(rest) = head.strip_prefix("def ") else {
            continue;
        };
        let inside = |l: &&str| {
            l.trim().is_empty() || indent(l) > indent(line) || l.trim_start().starts_with(')')
        };
        let block = lines[first + 1..].iter().take_while(|l| inside(l)).count();
        let blank = lines[first + 1..][..block]
            .iter()
            .rev()
            .take_while(|l| l.trim().is_empty())
            .count();
        let name = rest.split('(').next().unwrap_or(rest).to_owned();
        spans.push(Span {
            name,
            line: first + 1,
            lines: 1 + block - blank,
        });
    }
    spans
}
