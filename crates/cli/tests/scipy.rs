//! Named metrics of the command against SciPy and scikit-learn:
//! `crates/testkit/tests/scipy/metrics.py`, with the Python that `ZIPFOLD_PYTHON` names.

use std::path::Path;
use std::process::Command;

/// Runs a script with the command as its argument; its last line sums up.
fn script(name: &str) {
    let python = std::env::var_os("ZIPFOLD_PYTHON").expect("ZIPFOLD_PYTHON is set");
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testkit/tests/scipy")
        .join(name);
    let done = Command::new(python)
        .arg(&path)
        .arg(env!("CARGO_BIN_EXE_zipfold"))
        .output()
        .unwrap();
    let (out, errors) = (
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    let bad: Vec<&str> = out
        .lines()
        .filter(|l| l.contains("DISAGREES") || l.contains("FAILED"))
        .collect();
    println!("{}", out.lines().last().unwrap_or(""));
    assert!(
        done.status.success(),
        "{}\n{errors}\n{}",
        bad.join("\n"),
        out.lines().last().unwrap_or("")
    );
}

#[test]
#[ignore = "needs python"]
fn metrics_agree_with_scipy() {
    script("metrics.py");
}

#[test]
#[ignore = "needs python"]
fn counts_and_joins_agree_with_scipy() {
    script("counts.py");
}

#[test]
#[ignore = "needs python"]
fn joins_by_text_agree_with_pandas() {
    script("texts.py");
}
