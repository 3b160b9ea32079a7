//! What a file says of runs.

use super::records::RecordForm;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use zipfold_core::{Budget, Error, Result};
use zipfold_io::runs::{RunFile, is_name};

/// A run, as a checkpoint or a part names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Its file in the folder of runs.
    pub name: String,
    /// Whose it is.
    pub identity: u128,
    /// Its records.
    pub records: u64,
}

impl RunFacts {
    /// The run in its folder, which is looked at.
    ///
    /// # Errors
    /// `Input` when it is not there, damaged, or another's.
    pub(crate) fn open(&self, folder: &Path, form: RecordForm, budget: &Budget) -> Result<RunFile> {
        // A name from a file: it must not lead elsewhere.
        if !is_name(&self.name) {
            let e = Error::input("the name of a run of matches leads out of its folder");
            return Err(e.at_place(folder.to_string_lossy()));
        }
        let key = (self.identity, form.width(), self.records);
        RunFile::check(&folder.join(&self.name), key, budget)
    }
}

/// The folder of the runs that the file `path`, a checkpoint or a part, names.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(".runs");
    name.into()
}
