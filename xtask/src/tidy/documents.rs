//! Documents tell the truth about files: a path between backticks is that of a file, and a decision
//! that is referred to has its number in DESIGN.md. A test that CI names exists.

use crate::Violation;
use crate::tree::File;

/// Suffixes of the paths that are looked for.
const SUFFIXES: [&str; 6] = ["rs", "c", "h", "py", "toml", "md"];

/// Records and the changelog speak of files as they were.
fn is_checked(path: &str) -> bool {
    path.ends_with(".md") && !path.starts_with("bench/") && path != "CHANGELOG.md"
}

/// Paths of files that do not exist, and numbers of decisions that do not.
pub fn check(files: &[File]) -> Vec<Violation> {
    let decisions = files
        .iter()
        .find(|file| file.path == "DESIGN.md")
        .map(|file| decisions(&file.text));
    let mut found = tests_of_ci(files);
    for file in files.iter().filter(|file| is_checked(&file.path)) {
        for (at, line) in file.text.lines().enumerate() {
            let dangling = quoted(line).filter(|path| is_path(path) && !exists(path, files));
            found.extend(dangling.map(|path| {
                Violation::new(&file.path, at + 1, format!("there is no file `{path}`"))
            }));
        }
    }
    let Some(decisions) = decisions else {
        return found;
    };
    for file in files
        .iter()
        .filter(|file| is_checked(&file.path) || file.path.ends_with(".rs"))
    {
        for (at, line) in file.text.lines().enumerate() {
            let odd = referred(line)
                .into_iter()
                .filter(|number| !decisions.contains(number));
            found.extend(odd.map(|n| {
                Violation::new(
                    &file.path,
                    at + 1,
                    format!("DESIGN.md has no decision D{n}"),
                )
            }));
        }
    }
    found
}

/// Tests in the filters of CI that are gone: a filter that finds none says nothing.
fn tests_of_ci(files: &[File]) -> Vec<Violation> {
    let is_there = |name: &str| {
        let begin = format!("fn {name}");
        let sources = files.iter().filter(|file| file.path.ends_with(".rs"));
        name.ends_with("::") || sources.into_iter().any(|file| file.text.contains(&begin))
    };
    let mut found = vec![];
    for file in files.iter().filter(|file| file.path == ".ci/run") {
        for (at, line) in file.text.lines().enumerate() {
            let named = line.split("test(").skip(1);
            let names = named.filter_map(|rest| rest.split_once(')').map(|(name, _)| name));
            found.extend(names.filter(|name| !is_there(name)).map(|name| {
                Violation::new(&file.path, at + 1, format!("there is no test '{name}…'"))
            }));
        }
    }
    found
}

/// What stands between pairs of backticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Whether `text` is a path of a file: folders and a name with a suffix that is looked for.
fn is_path(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    let suffix = text.rsplit_once('.').map_or("", |(_, suffix)| suffix);
    text.contains('/')
        && text.chars().all(plain)
        && SUFFIXES.contains(&suffix)
        && !text.starts_with(['.', '/'])
}

/// Whether a file has this path, from any folder on.
fn exists(path: &str, files: &[File]) -> bool {
    files.iter().any(|file| {
        file.path
            .strip_suffix(path)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    }) || files.iter().any(|file| is_within(&file.path, path))
}

/// Whether `path` leaves out the `src` of a crate: `plan/strategy.rs`, `core/src/fold/top.rs`.
fn is_within(file: &str, path: &str) -> bool {
    let short = file.replacen("/src/", "/", 1);
    short
        .strip_suffix(path)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// The numbers of decisions.
fn decisions(text: &str) -> Vec<u32> {
    let number = |line: &str| line.strip_prefix("### D")?.split_once('.')?.0.parse().ok();
    text.lines().filter_map(number).collect()
}

/// The numbers after `DESIGN D` or `DESIGN.md D`.
fn referred(line: &str) -> Vec<u32> {
    let of = |mark: &str| -> Vec<u32> {
        let after = line.split(mark).skip(1);
        after
            .filter_map(|rest| {
                rest.split(|c: char| !c.is_ascii_digit())
                    .next()?
                    .parse()
                    .ok()
            })
            .collect()
    };
    [of("DESIGN D"), of("DESIGN.md D")].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_numbers_that_dangle_are_found() {
        let files = [
            File::new(
                "crates/plan/src/strategy.rs",
                "// See DESIGN D2 and DESIGN D7.",
            ),
            File::new(
                "DESIGN.md",
                "### D2. Two\n\nIt is in `plan/src/strategy.rs`, not in `plan/src/family.rs`.",
            ),
            File::new("CHANGELOG.md", "`gone/away.rs`"),
            File::new(
                ".ci/run",
                "-E 'test(kernels::) + test(counts) + test(sums)'",
            ),
            File::new("crates/cpu/src/sums.rs", "fn sums_are_right() {}"),
            File::new(
                "README.md",
                "`points.csv`, `a/b` and `strategy.rs` are no paths; `plan/strategy.rs` is one.",
            ),
        ];
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        let named = ["'counts…'", "plan/src/family.rs", "D7"];
        let all = found.iter().zip(named);
        assert!(all.into_iter().all(|(f, n)| f.contains(n)), "{found:?}");
    }
}
