//! Tests that need something which not every machine has. Such a test says so, `#[ignore = "needs
//! opencl, data"]`, so that runners count it as skipped where nobody requested it, and fails where
//! it is requested and the thing is missing.

use crate::Violation;
use crate::tree::File;

/// What tests may need.
pub const WORDS: [(&str, &str); 10] = [
    (
        "opencl",
        "an OpenCL device, or the device that ZIPFOLD_TEST_DEVICE names",
    ),
    ("nvrtc", "libnvrtc on LD_LIBRARY_PATH"),
    ("python", "ZIPFOLD_PYTHON with SciPy and scikit-learn"),
    ("pyagrum", "ZIPFOLD_PYTHON with pyAgrum and pytoulbar2"),
    ("data", "ZIPFOLD_DATA, the folder of real inputs"),
    ("long", "ZIPFOLD_LONG: minutes and gigabytes"),
    ("script", "the command `script`, which makes a terminal"),
    ("avx2", "a processor with AVX2"),
    ("avx512", "a processor with AVX-512"),
    ("mount", "the right to mount a file system in a name space"),
];

const MARK: &str = "#[ignore = \"needs ";

/// A test and what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The name of its function.
    pub name: String,
    /// Of [`WORDS`].
    pub needs: Vec<String>,
}

/// Every test of `files` that needs something.
pub fn all(files: &[File]) -> Vec<Test> {
    let rust = files
        .iter()
        .filter(|f| f.suffix() == "rs" && !f.path.starts_with("xtask/"));
    rust.flat_map(|f| of_text(&f.text)).collect()
}

fn of_text(text: &str) -> Vec<Test> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let marked = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, line.strip_prefix(MARK)?.strip_suffix("\"]")?)));
    marked
        .filter_map(|(at, needs)| {
            let function = lines[at..]
                .iter()
                .find_map(|line| line.strip_prefix("fn "))?;
            let name = function.split('(').next()?.to_owned();
            Some(Test {
                name,
                needs: needs.split(", ").map(str::to_owned).collect(),
            })
        })
        .collect()
}

/// The filter of nextest that leaves out the tests whose needs are not all in `there`, and those
/// tests.
pub fn filter<'t>(tests: &'t [Test], there: &[&str]) -> (String, Vec<&'t Test>) {
    let met = |test: &&Test| test.needs.iter().all(|need| there.contains(&need.as_str()));
    let out: Vec<&Test> = tests.iter().filter(|test| !met(test)).collect();
    let names: Vec<String> = out
        .iter()
        .map(|test| format!("test(/(^|::){}$/)", test.name))
        .collect();
    (
        if names.is_empty() {
            "all()".into()
        } else {
            format!("not ({})", names.join(" + "))
        },
        out,
    )
}

/// A test that prints that it was skipped has passed all the same; needs that nobody knows are
/// never met; and a filter goes by name, so that no other test may have the name of one with needs.
pub fn check(files: &[File]) -> Vec<Violation> {
    let mut found = clashes(files);
    for file in files
        .iter()
        .filter(|f| f.suffix() == "rs" && !f.path.starts_with("xtask/"))
    {
        for (at, line) in file.text.lines().enumerate() {
            if line.contains("println!(\"SKIPPED") {
                let what =
                    "a test that does nothing passes; expected #[ignore = \"needs …\"] above it";
                found.push(Violation::new(&file.path, at + 1, what));
            }
            let needs = line
                .trim()
                .strip_prefix(MARK)
                .and_then(|l| l.strip_suffix("\"]"));
            let unknown = |need: &&str| WORDS.iter().all(|(word, _)| word != need);
            for need in needs
                .into_iter()
                .flat_map(|n| n.split(", "))
                .filter(unknown)
            {
                found.push(Violation::new(
                    &file.path,
                    at + 1,
                    format!("'{need}' is none of the needs of xtask/src/needs.rs"),
                ));
            }
        }
    }
    found
}

/// Tests with needs whose name another test has.
fn clashes(files: &[File]) -> Vec<Violation> {
    let marked: Vec<String> = all(files).into_iter().map(|test| test.name).collect();
    let rust = files
        .iter()
        .filter(|f| f.suffix() == "rs" && !f.path.starts_with("xtask/"));
    let tests: Vec<(&File, usize, &str)> = rust
        .flat_map(|file| {
            let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
            let test = |at: &usize| lines[*at] == "#[test]";
            let places: Vec<usize> = (0..lines.len()).filter(test).collect();
            places.into_iter().filter_map(move |at| {
                let after = file.text.lines().enumerate().skip(at + 1);
                let (line, name) = after
                    .map(|(n, l)| (n, l.trim()))
                    .find_map(|(n, l)| Some((n, l.strip_prefix("fn ")?)))?;
                Some((file, line + 1, name.split('(').next()?))
            })
        })
        .collect();
    let named = |name: &str| tests.iter().filter(|(_, _, other)| *other == name).count();
    let twice = tests
        .iter()
        .filter(|(_, _, name)| marked.iter().any(|m| m == name) && named(name) > 1);
    twice
        .map(|(file, line, name)| {
            Violation::new(
                &file.path,
                *line,
                format!("two tests are called '{name}', and one of them has needs"),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "#[test]\n#[ignore = \"needs opencl, data\"]\nfn one() {}\n#[test]\nfn two() {}\n    #[ignore = \"needs nvrtc\"]\n    fn three() {}\n";

    #[test]
    fn tests_are_left_out_unless_all_their_needs_are_there() {
        let tests = all(&[File::new("crates/gpu/tests/a.rs", TEXT)]);
        assert_eq!(tests.len(), 2);
        assert_eq!(filter(&tests, &["opencl", "data", "nvrtc"]).0, "all()");
        let (text, out) = filter(&tests, &["opencl", "nvrtc"]);
        assert_eq!(text, "not (test(/(^|::)one$/))");
        assert_eq!(out[0].name, "one");
    }

    #[test]
    fn silent_skips_and_unknown_needs_are_found() {
        let odd = "println!(\"SKIPPED x\");\n#[ignore = \"needs luck\"]\nfn a() {}\n";
        assert_eq!(check(&[File::new("crates/io/tests/a.rs", odd)]).len(), 2);
        assert!(check(&[File::new("crates/io/tests/a.rs", TEXT)]).is_empty());
    }
}
