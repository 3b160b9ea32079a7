//! Licence expressions are read as SPDX means them, and packages that do not comply are named.

use serde_json::json;
use xtask::licences::{allowed, judge, permits};

fn list() -> Vec<String> {
    [
        "MIT",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "Unicode-3.0",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[test]
fn expressions_that_can_be_met() {
    for expression in [
        "MIT",
        "MIT OR GPL-3.0",
        "MIT/Apache-2.0",
        "(MIT OR GPL-3.0) AND Unicode-3.0",
        "GPL-2.0 OR MIT AND Apache-2.0",
        "Apache-2.0 WITH LLVM-exception OR GPL-2.0",
    ] {
        assert!(permits(expression, &list()), "{expression}");
    }
}

#[test]
fn expressions_that_cannot_be_met() {
    for expression in [
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR Apache-2.0) AND AGPL-3.0",
        "",
        "MIT OR",
        "(MIT",
        "MIT GPL-3.0",
        "MIT WITH Odd-exception",
        "mit",
    ] {
        assert!(!permits(expression, &list()), "{expression}");
    }
}

#[test]
fn the_list_is_read_from_the_file() {
    let text = "[graph]\nallow = [\n \"No\",\n]\n\n[licenses]\nx = 1\nallow = [\n    \"MIT\", # why\n    # \"GPL-3.0\",\n    \"ISC\",\n]\n";
    assert_eq!(
        allowed(text),
        Some(vec!["MIT".to_owned(), "ISC".to_owned()])
    );
    assert_eq!(allowed("[bans]\n"), None);
}

#[test]
fn packages_that_do_not_comply_are_named() {
    let io = "registry+https://github.com/rust-lang/crates.io-index";
    let package = |name: &str, source: Option<&str>, license: Option<&str>| json!({"name": name, "version": "1.0.0", "source": source, "license": license});
    let metadata = json!({"packages": [
        package("member", None, None),
        package("good", Some(io), Some("MIT")),
        package("copyleft", Some(io), Some("AGPL-3.0")),
        package("silent", Some(io), None),
        package("forked", Some("git+https://example.org/forked"), Some("MIT")),
    ]});
    let found: Vec<String> = judge(&metadata, &list())
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(found.len(), 3, "{found:?}");
    for (line, name) in found.iter().zip(["copyleft", "silent", "forked"]) {
        assert!(line.contains(name), "{line}");
    }
}
