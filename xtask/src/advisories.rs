//! Holds the locked dependencies to a dated copy of RustSec's advisories, `.ci/advisories.toml`: no
//! network is asked, so that the answer of a commit stays the same.

use crate::Violation;
use semver::{Version, VersionReq};
use serde::Deserialize;
use std::path::Path;

/// The copy, relative to the root of the workspace.
pub const COPY: &str = ".ci/advisories.toml";

/// The dated copy: facts of the advisories about the packages that were looked up.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Copy {
    copied: String,
    newest: String,
    packages: Vec<String>,
    #[serde(default)]
    advisory: Vec<Advisory>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advisory {
    id: String,
    package: String,
    kind: String,
    patched: Vec<String>,
    unaffected: Vec<String>,
    title: String,
    /// Why the dependency stays although the advisory is about it.
    #[serde(default)]
    accepted: Option<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    source: Option<String>,
}

/// What the copy says of `Cargo.lock`.
pub struct Findings {
    /// One line: when the copy was made, and how much it holds.
    pub summary: String,
    /// Locked versions that an advisory is about, packages that nobody looked up, and advisories
    /// accepted in vain.
    pub breaches: Vec<Violation>,
}

/// Reads both files below `root`. Errors when one of them cannot be read.
pub fn check(root: &Path) -> Result<Findings, String> {
    let text = |path: &str| {
        std::fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
    };
    judge(&text("Cargo.lock")?, &text(COPY)?)
}

/// What the `copy` says of the packages of `lock`.
pub fn judge(lock: &str, copy: &str) -> Result<Findings, String> {
    let lock: Lock = toml::from_str(lock).map_err(|error| format!("Cargo.lock: {error}"))?;
    let copy: Copy = toml::from_str(copy).map_err(|error| format!("{COPY}: {error}"))?;
    let mut breaches = Vec::new();
    let mut breach = |path, what: String| breaches.push(Violation::new(path, 1, what));
    let foreign = || {
        lock.package
            .iter()
            .filter(|package| package.source.is_some())
    };
    for package in foreign().filter(|package| !copy.packages.contains(&package.name)) {
        breach(
            COPY,
            format!(
                "{}: nobody looked its advisories up: add them and its name",
                package.name
            ),
        );
    }
    for advisory in &copy.advisory {
        let about = || foreign().filter(|package| package.name == advisory.package);
        let mut met = None;
        for package in about() {
            if advisory.is_about(&package.version)? {
                met = Some(package);
            }
        }
        let Advisory {
            id, kind, title, ..
        } = advisory;
        match (met, &advisory.accepted) {
            (Some(package), None) => {
                breach(
                    "Cargo.lock",
                    format!(
                        "{} {}: {id} ({kind}): {title}",
                        package.name, package.version
                    ),
                );
            }
            (None, Some(_)) => breach(
                COPY,
                format!("{id}: accepted, but no locked version is concerned"),
            ),
            _ => {}
        }
    }
    let Copy {
        copied,
        newest,
        packages,
        advisory,
    } = &copy;
    let (count, all) = (advisory.len(), packages.len());
    Ok(Findings {
        summary: format!(
            "{count} advisories about {all} packages, copied {copied}, newest of {newest}"
        ),
        breaches,
    })
}

impl Advisory {
    /// Whether a version is neither patched nor unaffected.
    fn is_about(&self, version: &str) -> Result<bool, String> {
        let version: Version = version
            .parse()
            .map_err(|error| format!("Cargo.lock: {version}: {error}"))?;
        for range in self.patched.iter().chain(&self.unaffected) {
            let range: VersionReq = range
                .parse()
                .map_err(|error| format!("{COPY}: {}: {range}: {error}", self.id))?;
            if range.matches(&version) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
