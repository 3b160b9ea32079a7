//! Documents tell the truth about files: a path between backticks is that of a file, or of several
//! by braces (`cpu/{matrix,pack}.rs`), and the names behind it are in that file. A decision that is
//! referred to has its number in DESIGN.md, and no other decision has it. A test that CI names
//! exists.

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
            let paths = quoted(line).flat_map(spread).filter(|path| is_path(path));
            let dangling = paths.filter(|path| !exists(path, files));
            found.extend(dangling.map(|path| {
                Violation::new(&file.path, at + 1, format!("there is no file `{path}`"))
            }));
            found.extend(missing_names(line, files).into_iter().map(|(path, name)| {
                let what = format!("`{path}` has no `{name}`");
                Violation::new(&file.path, at + 1, what)
            }));
        }
    }
    let Some(decisions) = decisions else {
        return found;
    };
    let twice = (1..decisions.len()).filter(|at| decisions[..*at].contains(&decisions[*at]));
    found.extend(twice.map(|at| {
        let what = format!("there are two decisions D{}", decisions[at]);
        Violation::new("DESIGN.md", 1, what)
    }));
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

/// What is between pairs of backticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The paths that a path with one pair of braces is for, or the path itself.
fn spread(path: &str) -> Vec<String> {
    let braces = path
        .split_once('{')
        .and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    match braces {
        Some((before, (names, after))) => names
            .split(',')
            .map(|name| format!("{before}{name}{after}"))
            .collect(),
        None => vec![path.to_owned()],
    }
}

/// The names after a path, as in `core/src/error.rs`: `Display`, that its file lacks.
fn missing_names<'l>(line: &'l str, files: &[File]) -> Vec<(&'l str, &'l str)> {
    let pieces: Vec<&str> = line.split('`').collect();
    let mut found = vec![];
    let mut path = None;
    // Pieces with odd numbers are between backticks; the one before says what follows what.
    for at in (1..pieces.len()).step_by(2) {
        let (between, text) = (pieces[at - 1].trim(), pieces[at]);
        path = match path {
            _ if is_path(text) => Some(text),
            Some(path) if matches!(between, ":" | "," | "and") => Some(path),
            _ => None,
        };
        let name = text.rsplit("::").next().unwrap_or(text);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if let Some(path) = path
            && text != path
            && name.chars().all(plain)
            && files_of(path, files).all(|file| !has_word(&file.text, name))
        {
            found.push((path, text));
        }
    }
    found
}

/// Whether `word` is in `text` as a whole word.
fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(inside) && !text[at + word.len()..].starts_with(inside)
    })
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
    files_of(path, files).next().is_some()
}

/// The files with this path, from any folder on.
fn files_of<'f>(path: &str, files: &'f [File]) -> impl Iterator<Item = &'f File> {
    files.iter().filter(move |file| {
        let ends = |rest: &str| rest.is_empty() || rest.ends_with('/');
        file.path.strip_suffix(path).is_some_and(ends) || is_within(&file.path, path)
    })
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
                "### D2. Two\n\nIt is in `plan/src/strategy.rs`, not in `plan/src/family.rs`.\n### D2. Too",
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
            File::new(
                "ARCHITECTURE.md",
                "`cpu/src/{sums,means}.rs`: both; `cpu/src/sums.rs`: `sums_are_right`, `T::means` and `more`; `other`.",
            ),
        ];
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        let named = [
            "'counts…'",
            "plan/src/family.rs",
            "cpu/src/means.rs",
            "`cpu/src/sums.rs` has no `T::means`",
            "`cpu/src/sums.rs` has no `more`",
            "two decisions D2",
            "D7",
        ];
        assert_eq!(found.len(), named.len(), "{found:?}");
        let all = found.iter().zip(named);
        assert!(all.into_iter().all(|(f, n)| f.contains(n)), "{found:?}");
    }
}
