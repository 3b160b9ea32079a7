//! Kernels and planners of 200 lines and more begin with pseudocode: a reader who knows the loops
//! reads the code, and one who does not cannot tell an accident from a reason.

use super::shipped;
use crate::Violation;
use crate::source::Source;
use crate::tree::File;

/// Lines of code, tests and comments apart, from which a file begins with pseudocode.
const LINES: usize = 200;

/// Where kernels and planners are.
const FOLDERS: &[&str] = &[
    "crates/cpu/src/",
    "crates/product/src/branch/",
    "crates/product/src/cpu/",
    "crates/product/src/plan/",
    "crates/gpu/src/emit/",
];
/// Writers of kernels elsewhere, and files that launch them.
const FILES: &[&str] = &[
    "crates/gpu/src/contract.rs",
    "crates/gpu/src/dense.rs",
    "crates/gpu/src/engine.rs",
    "crates/gpu/src/host_fold.rs",
    "crates/gpu/src/paged.rs",
    "crates/gpu/src/points.rs",
    "crates/gpu/src/visit.rs",
];
/// Files that list instructions and hold no algorithm.
const LISTS: &[&str] = &[
    "crates/cpu/src/jit/arithmetic.rs",
    "crates/cpu/src/jit/encode.rs",
    "crates/cpu/src/jit/ir.rs",
];

/// Long files of kernels without a block of pseudocode in the documentation of their module.
pub fn check(files: &[File]) -> Vec<Violation> {
    let wanted = |path: &str| {
        (FOLDERS.iter().any(|folder| path.starts_with(folder)) || FILES.contains(&path))
            && !LISTS.contains(&path)
    };
    files
        .iter()
        .filter(|file| shipped(&file.path) && wanted(&file.path))
        .filter_map(|file| {
            let lines = code_lines(&Source::new(&file.text));
            (lines >= LINES && !begins_with_pseudocode(&file.text)).then(|| {
                let what = format!("{lines} lines without a ```text block of pseudocode in //!");
                Violation::new(&file.path, 1, what)
            })
        })
        .collect()
}

/// Lines with code outside tests.
fn code_lines(source: &Source) -> usize {
    let tests = source.test_lines();
    let tested = |line: &usize| {
        tests
            .iter()
            .any(|(first, end)| (first..=end).contains(&line))
    };
    (1..=source.lines())
        .filter(|line| !tested(line) && !source.code_line(*line).trim().is_empty())
        .count()
}

/// Whether the documentation of the module, the comments at the begin of the file, has a block.
fn begins_with_pseudocode(text: &str) -> bool {
    text.lines()
        .take_while(|line| line.starts_with("//!"))
        .any(|line| line.trim_start_matches("//!").trim() == "```text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_kernels_without_pseudocode_are_found() {
        let code = "fn a() {}\n".repeat(LINES);
        let begun =
            format!("//! Adds.\n//!\n//! ```text\n//! for i: sum += x[i]\n//! ```\n\n{code}");
        let later = format!("//! Adds.\n\n{code}/// ```text\n/// ```\nfn b() {{}}\n");
        let tests = format!("#[cfg(test)]\nmod tests {{\n{code}}}\n");
        let files = [
            File::new("crates/cpu/src/pairs/a.rs", &code),
            File::new("crates/cpu/src/pairs/b.rs", &begun),
            File::new("crates/product/src/plan/c.rs", &later),
            File::new("crates/gpu/src/emit/d.rs", &tests),
            File::new("crates/gpu/src/paged.rs", &code),
            File::new("crates/gpu/src/rows.rs", &code),
            File::new("crates/cpu/src/kernels/sums/tests.rs", &code),
            File::new(LISTS[0], &code),
        ];
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        let named = ["pairs/a.rs", "plan/c.rs", "gpu/src/paged.rs"];
        assert_eq!(found.len(), named.len(), "{found:?}");
        for (found, name) in found.iter().zip(named) {
            assert!(found.contains(name), "{found}");
        }
    }
}
