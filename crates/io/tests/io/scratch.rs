//! A folder that is removed when the test ends, and the questions tests ask of errors.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use zipfold_core::{Blame, Budget, Error, Result, Table};
use zipfold_io::{ReadOptions, read_table};

pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "zipfold-io-{}-{}",
            std::process::id(),
            SERIAL.fetch_add(1, Relaxed)
        );
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn read(path: &str) -> Result<Table> {
    read_table(path, &ReadOptions::default(), &Budget::new(1 << 26))
}

pub(crate) fn read_columns(path: &str, columns: &[&str]) -> Result<Table> {
    let columns = Some(columns.iter().map(ToString::to_string).collect());
    read_table(
        path,
        &ReadOptions {
            columns,
            ..ReadOptions::default()
        },
        &Budget::new(1 << 26),
    )
}

pub(crate) fn values(table: &Table) -> Vec<f64> {
    (0..table.elements().len())
        .map(|at| table.elements().get(at))
        .collect()
}

/// `bytes` in a file of this name are refused by `blame`, with all `words` in the message, a place
/// and a remedy.
#[track_caller]
pub(crate) fn refused(name: &str, bytes: &[u8], blame: Blame, words: &[&str]) -> Error {
    let scratch = Scratch::new();
    let error = read(&scratch.file(name, bytes)).expect_err("refused");
    explained(&error, blame, words);
    assert!(
        error.place().is_some_and(|p| p.to_string().contains(name)),
        "{error}"
    );
    error
}

#[track_caller]
pub(crate) fn explained(error: &Error, blame: Blame, words: &[&str]) {
    let text = error.to_string();
    assert_eq!(error.blame(), blame, "{text}");
    assert!(error.remedy_text().is_some(), "no remedy: {text}");
    assert!(error.place().is_some(), "no place: {text}");
    words
        .iter()
        .for_each(|w| assert!(text.contains(w), "'{w}' is not in: {text}"));
}
