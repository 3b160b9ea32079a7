//! `cargo xtask <command>`.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;
use xtask::{Violation, advisories, needs, tidy, tree};

const HELP: &str = "cargo xtask <command>

  tidy [FOLDER]   check layout, lengths, names, documentation and unsafe code of this or another checkout
  measures [FOLDER]  print sizes, density, comments, circles and catch-all arms of each crate as a table
  largest         list the functions of many tokens (the first number), depth or parameters (the two after it)
  advisories      check the locked dependencies against .ci/advisories.toml, a dated copy of RustSec's advisories
  needs WORDS     print the filter of nextest for a machine that has WORDS (opencl, nvrtc, …), and name the tests left out
  bench ARGS      run a definition of bench/definitions beside the peers (bench/run.py, by ZIPFOLD_PYTHON or python3)";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => run_tidy(&tree::root()),
        ["tidy", folder] => run_tidy(Path::new(folder)),
        ["measures"] => measures(&tree::root()),
        ["measures", folder] => measures(Path::new(folder)),
        ["largest"] => tree::files(&tree::root()).map(|files| {
            print!("{}", tidy::density::largest(&files));
            ExitCode::SUCCESS
        }),
        ["advisories"] => advisories::check(&tree::root()).map(|found| {
            println!("{}", found.summary);
            report(&found.breaches)
        }),
        ["needs", ref there @ ..] => filter(there),
        ["bench", ref rest @ ..] => bench(rest),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        _ => Err(format!("unknown command: {}\n\n{HELP}", words.join(" "))),
    };
    done.unwrap_or_else(|message| {
        eprintln!("{message}");
        ExitCode::from(2)
    })
}

/// Prints the measures of the crates of a checkout.
fn measures(root: &Path) -> Result<ExitCode, String> {
    print!("{}", tidy::measures::table(&tree::files(root)?));
    Ok(ExitCode::SUCCESS)
}

/// Prints the filter on standard output, the tests that it leaves out on standard error.
fn filter(there: &[&str]) -> Result<ExitCode, String> {
    let known = |word: &&&str| needs::WORDS.iter().all(|(w, _)| w != *word);
    if let Some(odd) = there.iter().find(known) {
        let words: Vec<&str> = needs::WORDS.iter().map(|(word, _)| *word).collect();
        return Err(format!("expected one of {}, got '{odd}'", words.join(", ")));
    }
    let tests = needs::all(&tree::files(&tree::root())?);
    let (filter, out) = needs::filter(&tests, there);
    for test in out {
        eprintln!("SKIPPED {}: needs {}", test.name, test.needs.join(", "));
    }
    println!("{filter}");
    Ok(ExitCode::SUCCESS)
}

/// Runs `bench/run.py` with `words`.
fn bench(words: &[&str]) -> Result<ExitCode, String> {
    let python = std::env::var_os("ZIPFOLD_PYTHON").unwrap_or_else(|| "python3".into());
    let script = tree::root().join("bench/run.py");
    let done = std::process::Command::new(&python)
        .arg(script)
        .args(words)
        .status();
    let done = done.map_err(|e| {
        format!(
            "{}: {e}\nset ZIPFOLD_PYTHON to a Python with NumPy",
            python.display()
        )
    })?;
    Ok(if done.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn run_tidy(root: &Path) -> Result<ExitCode, String> {
    let files = tree::files(root)?;
    for (package, count) in tidy::panics::count(&files) {
        eprintln!(
            "note: {package}: {count} unwrap/expect/panic outside tests without an INVARIANT: comment"
        );
    }
    Ok(report(&tidy::check(&files)))
}

fn report(found: &[Violation]) -> ExitCode {
    for violation in found {
        println!("{violation}");
    }
    if found.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
