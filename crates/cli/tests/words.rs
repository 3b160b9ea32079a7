//! Messages and documents name verbs that there are.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Texts of sources and documents below `folder`.
fn texts(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.')
                && !["target", "records", "data", "cases"].contains(&name.as_str())
            {
                texts(&path, found);
            }
        } else if [".rs", ".py", ".md"]
            .iter()
            .any(|suffix| name.ends_with(suffix))
        {
            found.push(path);
        }
    }
}

/// The words behind "`zipfold ", with a file that has each.
fn verbs(root: &Path) -> BTreeMap<String, PathBuf> {
    let mut files = vec![];
    ["crates", "python", "docs"]
        .iter()
        .for_each(|folder| texts(&root.join(folder), &mut files));
    for entry in fs::read_dir(root).unwrap() {
        files.push(entry.unwrap().path());
    }
    let mut found = BTreeMap::new();
    for path in files.into_iter().filter(|path| path.is_file()) {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        for rest in text.split("`zipfold ").skip(1) {
            let word: String = rest
                .chars()
                .take_while(|c| c.is_ascii_lowercase() || *c == '-')
                .collect();
            if !word.is_empty() && !word.starts_with('-') {
                found.entry(word).or_insert_with(|| path.clone());
            }
        }
    }
    found
}

#[test]
fn verbs_that_are_named_exist() {
    let verbs = verbs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    assert!(verbs.len() > 10, "{verbs:?}");
    for (verb, path) in verbs {
        let help = Command::new(env!("CARGO_BIN_EXE_zipfold"))
            .args([&verb, "--help"])
            .output()
            .unwrap();
        assert!(
            help.status.success(),
            "{} names `zipfold {verb}`, and there is no such verb",
            path.display()
        );
    }
}
