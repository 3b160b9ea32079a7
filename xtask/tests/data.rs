//! The files of `data/` are those that its README describes and `data/make.py` makes.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use xtask::tree;

const LIMIT: u64 = 3 << 20;

fn sums() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(tree::root().join("data/SHA256SUMS")).unwrap();
    let pair = |line: &str| {
        line.split_once("  ")
            .map(|(sum, name)| (name.to_owned(), sum.to_owned()))
    };
    text.lines()
        .map(|line| pair(line).expect("`sum  name`"))
        .collect()
}

fn sum(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn checksums_agree() {
    let sums = sums();
    assert!(sums.len() >= 9, "SHA256SUMS lost files: {sums:?}");
    for (name, expected) in sums {
        assert_eq!(
            sum(&tree::root().join("data").join(&name)),
            expected,
            "data/{name} is not the file that was made"
        );
    }
}

#[test]
fn every_file_is_summed_described_and_small() {
    let readme = std::fs::read_to_string(tree::root().join("data/README.md")).unwrap();
    let sums = sums();
    let mut bytes = 0;
    for entry in std::fs::read_dir(tree::root().join("data")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        bytes += entry.metadata().unwrap().len();
        if ["csv", "txt", "xyz"]
            .iter()
            .any(|suffix| name.ends_with(suffix))
        {
            assert!(sums.contains_key(&name), "{name} is not in SHA256SUMS");
            assert!(
                readme.contains(&format!("`{name}`")),
                "{name} is not in data/README.md"
            );
        }
    }
    assert!(bytes < LIMIT, "data/ holds {bytes} bytes, above {LIMIT}");
}
