//! The check of advisories finds what it should, in made-up files and in the project's own.

use xtask::advisories::{check, judge};

const LOCK: &str = r#"
[[package]]
name = "zlib"
version = "1.2.3"
source = "registry+https://github.com/rust-lang/crates.io-index"

[[package]]
name = "ours"
version = "0.1.0"
"#;

/// What the check says of `LOCK` under a copy that looked up `packages` and holds one advisory with
/// `more` lines.
fn said(packages: &str, more: &str) -> Vec<String> {
    let copy = format!(
        "copied = '2026-01-02'\nnewest = '2026-01-01'\npackages = [{packages}]\n[[advisory]]\nid = 'RUSTSEC-1'\n\
         package = 'zlib'\nkind = 'vulnerability'\ntitle = 'it breaks'\n{more}"
    );
    judge(LOCK, &copy)
        .unwrap()
        .breaches
        .iter()
        .map(|b| b.what.clone())
        .collect()
}

#[test]
fn open_advisories_and_unknown_packages_are_found() {
    let open = "zlib 1.2.3: RUSTSEC-1 (vulnerability): it breaks";
    assert_eq!(
        said("'zlib'", "patched = ['>= 1.2.4']\nunaffected = []"),
        [open]
    );
    assert_eq!(
        said("'zlib'", "patched = []\nunaffected = ['< 1.2.3']"),
        [open]
    );
    assert!(
        said(
            "'zlib'",
            "patched = ['>= 1.2.3, < 1.3.0', '>= 1.3.1']\nunaffected = []"
        )
        .is_empty()
    );
    assert!(said("'zlib'", "patched = []\nunaffected = ['< 1.3.0']").is_empty());
    assert!(
        said(
            "'zlib'",
            "patched = []\nunaffected = []\naccepted = 'is not called'"
        )
        .is_empty()
    );
    let vain = said(
        "'zlib'",
        "patched = ['>= 1']\nunaffected = []\naccepted = 'is not called'",
    );
    assert_eq!(
        vain,
        ["RUSTSEC-1: accepted, but no locked version is concerned"]
    );
    let unknown = said("", "patched = ['>= 1']\nunaffected = []");
    assert_eq!(
        unknown,
        ["zlib: nobody looked its advisories up: add them and its name"]
    );
    assert!(judge(LOCK, "copied = '2026-01-02'").is_err());
}

#[test]
fn no_dependency_has_an_open_advisory() {
    let found = check(&xtask::tree::root()).unwrap();
    assert!(found.breaches.is_empty(), "{:#?}", found.breaches);
}
