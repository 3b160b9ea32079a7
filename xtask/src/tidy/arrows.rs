//! Dependencies between the crates point one way: `core ← plan ← {cpu, gpu} ← zipfold ← {cli,
//! python}`, `core ← io ← zipfold`, `core ← product ← {gpu, zipfold}` and `vector ← {cpu,
//! product}`.

use crate::Violation;
use crate::tree::File;

/// What each crate may use of the others. Crates absent here (testkit, xtask) may use anything.
const ARROWS: [(&str, &[&str]); 10] = [
    ("zipfold-core", &[]),
    ("zipfold-plan", &["zipfold-core"]),
    ("zipfold-vector", &[]),
    (
        "zipfold-cpu",
        &["zipfold-core", "zipfold-plan", "zipfold-vector"],
    ),
    ("zipfold-product", &["zipfold-core", "zipfold-vector"]),
    (
        "zipfold-gpu",
        &["zipfold-core", "zipfold-plan", "zipfold-product"],
    ),
    ("zipfold-io", &["zipfold-core"]),
    (
        "zipfold",
        &[
            "zipfold-core",
            "zipfold-plan",
            "zipfold-cpu",
            "zipfold-product",
            "zipfold-gpu",
            "zipfold-io",
        ],
    ),
    ("zipfold-cli", &["zipfold"]),
    ("zipfold-python", &["zipfold"]),
];
/// Crates bound by no arrow.
const FREE: [&str; 2] = ["zipfold-testkit", "xtask"];

/// Dependencies against the arrows. Those of tests are free: they reach no user.
pub fn check(files: &[File]) -> Vec<Violation> {
    let manifests = files.iter().filter(|file| file.name() == "Cargo.toml");
    manifests.flat_map(check_manifest).collect()
}

fn check_manifest(file: &File) -> Vec<Violation> {
    let Some((line, package)) = package(&file.text) else {
        return Vec::new();
    };
    if FREE.contains(&package.as_str()) {
        return Vec::new();
    }
    let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == package) else {
        let what = format!(
            "`{package}` has no place among the arrows of the workspace: give it one in xtask"
        );
        return vec![Violation::new(&file.path, line, what)];
    };
    let known = |name: &str| name == "zipfold" || name.starts_with("zipfold-");
    let used = dependencies(&file.text)
        .into_iter()
        .filter(|(_, name)| known(name) && !allowed.contains(&name.as_str()));
    used.map(|(line, name)| {
        Violation::new(
            &file.path,
            line,
            format!("`{package}` must not depend on `{name}`"),
        )
    })
    .collect()
}

/// The name of a package and its line.
fn package(text: &str) -> Option<(usize, String)> {
    let inside = keys(text).find(|key| key.section == "package" && key.name == "name")?;
    Some((inside.line, text_of(inside.value)))
}

/// The packages a manifest depends on outside tests, each with its line.
fn dependencies(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for key in keys(text) {
        let Some((table, rest)) = dependency_table(key.section) else {
            continue;
        };
        if table == "dev-dependencies" {
            continue;
        }
        if rest.is_empty() {
            let alias = key
                .value
                .split_once("package")
                .map(|(_, value)| text_of(value.trim_start().trim_start_matches('=')));
            found.push((
                key.line,
                alias.unwrap_or_else(|| key.name.split('.').next().unwrap_or(key.name).to_owned()),
            ));
        } else {
            found.push((
                key.line,
                if key.name == "package" {
                    text_of(key.value)
                } else {
                    rest.to_owned()
                },
            ));
        }
    }
    found
}

/// The table of dependencies that a section is, and the dependency it is about when it is about
/// one.
fn dependency_table(section: &str) -> Option<(&str, &str)> {
    let at = section.rfind("dependencies")?;
    let start = section[..at].rfind('.').map_or(0, |dot| dot + 1);
    (!section.starts_with("workspace")).then_some(())?;
    let end = at + "dependencies".len();
    Some((&section[start..end], section[end..].trim_start_matches('.')))
}

struct Key<'a> {
    section: &'a str,
    name: &'a str,
    value: &'a str,
    line: usize,
}

/// The keys of a manifest, one a line, with the section each is in.
fn keys(text: &str) -> impl Iterator<Item = Key<'_>> {
    let mut section = "";
    text.lines().enumerate().filter_map(move |(number, line)| {
        let line = line.trim();
        if let Some(head) = line
            .strip_prefix('[')
            .and_then(|rest| rest.split(']').next())
        {
            section = head.trim_start_matches('[').trim();
            return None;
        }
        let (name, value) = line.split_once('=').filter(|_| !line.starts_with('#'))?;
        Some(Key {
            section,
            name: name.trim().trim_matches('"'),
            value: value.trim(),
            line: number + 1,
        })
    })
}

/// What is between the first two quotes.
fn text_of(value: &str) -> String {
    value.split('"').nth(1).unwrap_or("").to_owned()
}
