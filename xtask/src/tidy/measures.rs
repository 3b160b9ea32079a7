//! Measures of the code that crates ship, as a table: of this checkout, or of another one to
//! compare with.

use super::{circles, density, facade, member, shipped, wildcards};
use crate::source::Source;
use crate::tree::File;
use std::collections::BTreeMap;

/// What is measured, a column each.
const COLUMNS: [&str; 12] = [
    "crate",
    "files",
    "code lines",
    "comments %",
    "public items",
    "functions",
    "tokens p50",
    "p90",
    "> 600",
    "deeper than 5",
    "files in circles",
    "catch-all arms",
];

/// What is counted of a crate.
#[derive(Default)]
struct Crate {
    files: usize,
    code: usize,
    comments: usize,
    public: usize,
    tokens: Vec<usize>,
    deep: usize,
    circles: usize,
    wildcards: usize,
}

/// The table, in Markdown: a line for each crate, and one for all. Below it the items of the façade.
pub fn table(files: &[File]) -> String {
    let mut crates: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in files.iter().filter(|file| shipped(&file.path)) {
        crates
            .entry(member(&file.path).unwrap_or_default())
            .or_default()
            .push(file);
    }
    let mut all = Crate::default();
    let mut out = format!(
        "| {} |\n|{}\n",
        COLUMNS.join(" | "),
        "---|".repeat(COLUMNS.len())
    );
    for (name, files) in crates {
        let measured = Crate::measure(name, &files);
        out += &measured.line(name);
        all.add(measured);
    }
    out += &all.line("all");
    match facade::items(files).len() {
        0 => out,
        items => {
            out + &format!(
                "\nItems of the façade, which `zipfold` names outside `internals`: {items}\n"
            )
        }
    }
}

impl Crate {
    fn measure(name: &str, files: &[&File]) -> Crate {
        let mut out = Crate {
            files: files.len(),
            circles: circles::count(name, files),
            ..Crate::default()
        };
        for file in files {
            let source = Source::new(&file.text);
            out.wildcards += wildcards::FOLDS.catch_all(&source).len();
            out.wildcards += wildcards::STRATEGIES.catch_all(&source).len();
            let tests = source.test_lines();
            let tested = |line: &usize| {
                tests
                    .iter()
                    .any(|(first, last)| (first..=last).contains(&line))
            };
            for line in (1..=source.lines()).filter(|line| !tested(line)) {
                let code = source.code_line(line);
                out.code += usize::from(!code.trim().is_empty());
                out.comments += usize::from(
                    code.trim().is_empty() && !source.comment_line(line).trim().is_empty(),
                );
                out.public += usize::from(is_public(&code));
            }
            for measure in density::measures(file) {
                out.tokens.push(measure.tokens);
                out.deep += usize::from(measure.is_deep());
            }
        }
        out
    }
    fn add(&mut self, other: Crate) {
        self.files += other.files;
        self.code += other.code;
        self.comments += other.comments;
        self.public += other.public;
        self.tokens.extend(other.tokens);
        self.deep += other.deep;
        self.circles += other.circles;
        self.wildcards += other.wildcards;
    }
    fn line(&self, name: &str) -> String {
        let mut tokens = self.tokens.clone();
        tokens.sort_unstable();
        let at = |tenths: usize| tokens.get(tokens.len() * tenths / 10).copied().unwrap_or(0);
        let share = 100.0 * self.comments as f64 / (self.code + self.comments).max(1) as f64;
        let over = tokens
            .iter()
            .filter(|tokens| **tokens > density::TOKENS)
            .count();
        format!(
            "| {name} | {} | {} | {share:.1} | {} | {} | {} | {} | {over} | {} | {} | {} |\n",
            self.files,
            self.code,
            self.public,
            tokens.len(),
            at(5),
            at(9),
            self.deep,
            self.circles,
            self.wildcards
        )
    }
}

/// Whether a line of code begins an item that other crates see.
fn is_public(code: &str) -> bool {
    let Some(rest) = code.trim_start().strip_prefix("pub ") else {
        return false;
    };
    let words = [
        "fn ",
        "struct ",
        "enum ",
        "trait ",
        "const ",
        "static ",
        "type ",
        "union ",
        "unsafe fn ",
        "mod ",
    ];
    words.iter().any(|word| rest.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_kind() {
        let text = "//! A module.\n\n/// A function.\npub fn a() -> u8 {\n    1 // One.\n}\npub(crate) fn b() {}\n";
        let table = table(&[
            File::new("crates/core/src/a.rs", text),
            File::new("crates/core/tests/b.rs", text),
        ]);
        let all = table.lines().last().unwrap();
        assert_eq!(
            all,
            "| all | 1 | 4 | 33.3 | 1 | 2 | 10 | 10 | 0 | 0 | 0 | 0 |"
        );
    }
}
