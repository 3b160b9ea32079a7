//! Named metrics of the command against SciPy and scikit-learn: `crates/testkit/tests/scipy/metrics.py`, with the Python
//! that `ZIPFOLD_PYTHON` names.

use std::path::Path;
use std::process::Command;

/// Runs a script with the command as its argument; its last line sums up.
fn script(test: &str, name: &str) {
    let Some(python) = std::env::var_os("ZIPFOLD_PYTHON") else {
        println!("SKIPPED {test}: ZIPFOLD_PYTHON names no Python with SciPy and scikit-learn");
        return;
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/tests/scipy").join(name);
    let done = Command::new(python).arg(&path).arg(env!("CARGO_BIN_EXE_zipfold")).output().unwrap();
    let (out, errors) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    let bad: Vec<&str> = out.lines().filter(|l| l.contains("DISAGREES") || l.contains("FAILED")).collect();
    println!("{}", out.lines().last().unwrap_or(""));
    assert!(done.status.success(), "{}\n{errors}\n{}", bad.join("\n"), out.lines().last().unwrap_or(""));
}

#[test]
fn metrics_agree_with_scipy() {
    script("metrics_agree_with_scipy", "metrics.py");
}

#[test]
fn counts_and_joins_agree_with_scipy() {
    script("counts_and_joins_agree_with_scipy", "counts.py");
}
