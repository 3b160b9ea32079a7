//! Unsafe code: only where it is allowed, and never without its reason. Clippy asks for the reasons
//! of blocks and implementations (`undocumented_unsafe_blocks`); those of functions and traits,
//! which it asks for where they are public, all those in macros, and all those in files that allow
//! the lint are requested here.

use super::member;
use crate::Violation;
use crate::source::{Source, is_word};
use crate::tree::File;

/// How many lines above an `unsafe` its reason may start; an empty line ends the search.
const REACH: usize = 8;
/// The members that may hold unsafe code.
const ALLOWED: [&str; 5] = [
    "crates/cpu",
    "crates/gpu",
    "crates/product",
    "crates/vector",
    "python",
];

/// The lint of clippy that asks for reasons.
const LINT: &str = "undocumented_unsafe_blocks";
const BARE: &str = "`unsafe` without a `SAFETY:` comment above it";

/// Functions and traits without a `# Safety` section, and where clippy does not look any `unsafe`
/// without a `SAFETY:` comment. The functions of an `impl … for …` need none: their trait says what
/// callers owe.
pub fn check_comments(files: &[File]) -> Vec<Violation> {
    files
        .iter()
        .filter(|file| file.suffix() == "rs")
        .flat_map(check_file)
        .collect()
}

fn check_file(file: &File) -> Vec<Violation> {
    let source = Source::new(&file.text);
    let bodies = trait_impls(&source);
    let within = |at: usize| bodies.iter().any(|(a, b)| (*a..*b).contains(&at));
    let inherited = |at: usize| is_function(&source, at) && within(at);
    let found = source.words("unsafe").into_iter();
    let allowed = allows(file);
    let ours = |at: &usize| allowed || is_promise(&source, *at) || source.is_in_macro(*at);
    let bare = found.filter(|at| ours(at) && !is_pointer_type(&source, *at) && !inherited(*at));
    bare.filter(|at| !justified(&source, source.line(*at)))
        .map(|at| Violation::new(&file.path, source.line(at), BARE))
        .collect()
}

fn allows(file: &File) -> bool {
    file.text.contains(LINT)
}

/// Whether the `unsafe` at `at` belongs to a type such as `unsafe extern "C" fn(u8)`.
fn is_pointer_type(source: &Source, at: usize) -> bool {
    let text = String::from_utf8_lossy(&source.code[at..]);
    let words = text.trim_start_matches("unsafe").trim_start();
    let words = words
        .strip_prefix("extern")
        .map_or(words, |rest| rest.trim_start_matches([' ', '\n', '"']));
    let after = words.strip_prefix("fn").map(str::trim_start);
    after.is_some_and(|rest| rest.starts_with('('))
}

/// Whether the `unsafe` at `at` makes a function or a trait, whose users promise something.
fn is_promise(source: &Source, at: usize) -> bool {
    let after = source
        .next(at + "unsafe".len())
        .map_or(&[][..], |at| &source.code[at..]);
    is_function(source, at) || after.starts_with(b"trait ")
}

fn is_function(source: &Source, at: usize) -> bool {
    let after = source
        .next(at + "unsafe".len())
        .map_or(&[][..], |at| &source.code[at..]);
    after.starts_with(b"fn ") || after.starts_with(b"extern ")
}

/// Where the bodies of `impl … for …` open and close.
fn trait_impls(source: &Source) -> Vec<(usize, usize)> {
    let body = |at: usize| {
        let open = source.body(at)?;
        let head = String::from_utf8_lossy(&source.code[at..open]).into_owned();
        let of_trait = head.split_whitespace().any(|word| word == "for");
        of_trait
            .then(|| source.closing(open).map(|close| (open, close)))
            .flatten()
    };
    source.words("impl").into_iter().filter_map(body).collect()
}

fn justified(source: &Source, line: usize) -> bool {
    let reason = |line: usize| {
        let comment = source.comment_line(line);
        ["SAFETY:", "SAFETY ("]
            .iter()
            .any(|word| comment.contains(word))
            || comment.contains("# Safety")
    };
    if reason(line) {
        return true;
    }
    let mut code_lines = 0;
    for above in (1..line).rev() {
        let code = source.code_line(above);
        let comment = source.comment_line(above);
        if reason(above) {
            return true;
        }
        let attribute = code.trim_start().starts_with("#[");
        code_lines += usize::from(!code.trim().is_empty() && !attribute);
        if code_lines > REACH || (code.trim().is_empty() && comment.trim().is_empty()) {
            return false;
        }
    }
    false
}

/// Crates that should forbid unsafe code and do not.
pub fn check_forbidden(files: &[File]) -> Vec<Violation> {
    let bare = files
        .iter()
        .filter(|file| is_crate_root(&file.path) && !forbids(&file.text));
    bare.filter(|file| member(&file.path).is_some_and(|member| !ALLOWED.contains(&member)))
        .map(|file| {
            Violation::new(
                &file.path,
                1,
                "the crate does not say `#![forbid(unsafe_code)]`",
            )
        })
        .collect()
}

fn is_crate_root(path: &str) -> bool {
    let Some(member) = member(path) else {
        return false;
    };
    let inside = &path[member.len()..];
    inside == "/src/lib.rs"
        || inside == "/src/main.rs"
        || (inside.starts_with("/src/bin/") && inside.ends_with(".rs"))
}

fn forbids(text: &str) -> bool {
    let code = Source::new(text).code;
    let packed: Vec<u8> = code
        .into_iter()
        .filter(|byte| is_word(*byte) || b"#![()]".contains(byte))
        .collect();
    String::from_utf8_lossy(&packed).contains("#![forbid(unsafe_code)]")
}
