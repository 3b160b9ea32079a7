//! Holds every dependency to the licences that `deny.toml` allows, and to crates.io as the one
//! source.

use crate::Violation;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const CRATES_IO: [&str; 2] = [
    "registry+https://github.com/rust-lang/crates.io-index",
    "sparse+https://index.crates.io/",
];

/// Dependencies with a licence or a source that is not allowed. Errors when cargo or `deny.toml`
/// cannot be asked.
pub fn check(root: &Path) -> Result<Vec<Violation>, String> {
    let path = root.join("deny.toml");
    let deny =
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let allowed = allowed(&deny).ok_or("deny.toml: no `allow = [` in `[licenses]`")?;
    Ok(judge(&metadata(root)?, &allowed))
}

fn metadata(root: &Path) -> Result<Value, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = [
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--all-features",
    ];
    let output = Command::new(cargo)
        .args(arguments)
        .current_dir(root)
        .output();
    let output = output.map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

/// The list `allow` of the section `[licenses]`.
pub fn allowed(deny: &str) -> Option<Vec<String>> {
    let section = deny.split("\n[licenses]").nth(1)?;
    let list = section.split("\nallow = [").nth(1)?.split("\n]").next()?;
    let lines = list
        .lines()
        .map(|line| line.split('#').next().unwrap_or(line));
    Some(
        lines
            .filter_map(|line| line.split('"').nth(1))
            .map(str::to_owned)
            .collect(),
    )
}

/// What is wrong with the packages of `cargo metadata`.
pub fn judge(metadata: &Value, allowed: &[String]) -> Vec<Violation> {
    let packages = metadata["packages"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    packages
        .iter()
        .filter_map(|package| fault(package, allowed))
        .collect()
}

/// Packages without a source are members of the workspace.
fn fault(package: &Value, allowed: &[String]) -> Option<Violation> {
    let source = package["source"].as_str()?;
    let name = format!(
        "{} {}",
        package["name"].as_str()?,
        package["version"].as_str()?
    );
    let breach = |what: String| Some(Violation::new("Cargo.lock", 1, format!("{name}: {what}")));
    if !CRATES_IO.contains(&source) {
        return breach(format!("from {source}, not from crates.io"));
    }
    match package["license"].as_str() {
        None => breach("names no licence".to_owned()),
        Some(licence) if !permits(licence, allowed) => {
            breach(format!("licence {licence} is not allowed by deny.toml"))
        }
        Some(_) => None,
    }
}

/// Whether an SPDX expression can be met with allowed licences alone. What cannot be parsed is not
/// met.
pub fn permits(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    either(&words, &mut at, allowed) == Some(true) && at == words.len()
}

/// Alternatives; none when the words from `at` on are no expression.
fn either(words: &[&str], at: &mut usize, allowed: &[String]) -> Option<bool> {
    let mut met = both(words, at, allowed)?;
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= both(words, at, allowed)?;
    }
    Some(met)
}

fn both(words: &[&str], at: &mut usize, allowed: &[String]) -> Option<bool> {
    let mut met = one(words, at, allowed)?;
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(words, at, allowed)?;
    }
    Some(met)
}

fn one(words: &[&str], at: &mut usize, allowed: &[String]) -> Option<bool> {
    let word = words.get(*at)?;
    *at += 1;
    if *word == "(" {
        let met = either(words, at, allowed)?;
        (words.get(*at) == Some(&")")).then_some(())?;
        *at += 1;
        return Some(met);
    }
    if words.get(*at) != Some(&"WITH") {
        return Some(allowed.iter().any(|licence| licence == word));
    }
    let licence = format!("{word} WITH {}", words.get(*at + 1)?);
    *at += 2;
    Some(allowed.contains(&licence))
}
