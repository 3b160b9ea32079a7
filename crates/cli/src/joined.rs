//! Rows with columns by name, as `join` and `crossmatch` answer.

use crate::args::RunArgs;
use crate::described::{Answered, some};
use zipfold::internals::destination::{LISTS, refuse_place, refuse_suffix};
use zipfold::internals::report::Shown;
use zipfold::internals::tables::JoinedRows;
use zipfold::io::OutputOptions;
use zipfold::{Error, Result};

/// Rows that are in their file already, where there is one.
pub(crate) struct Joined {
    /// The rows.
    pub(crate) rows: JoinedRows,
}

impl Answered for Joined {
    fn shown(&self) -> &dyn Shown {
        &self.rows
    }
    fn json(&self) -> serde_json::Value {
        self.rows.json()
    }
    /// The rows were written while they were found.
    fn save(&self, _: &str, _: OutputOptions) -> Result<()> {
        Ok(())
    }
    fn lines(&self) -> String {
        self.rows.lines()
    }
    fn visited(&self) -> String {
        some(self.rows.rows, "row")
    }
    fn pairs(&self) -> u64 {
        self.rows.pairs
    }
}

/// Refuses outputs that rows cannot be written to, before any work.
pub(crate) fn refuse_early(run: &RunArgs) -> Result<()> {
    if run.plot.is_some() {
        let e = Error::request("rows with columns by name have no picture").at_place("--plot");
        return Err(e.remedy("-o for the rows"));
    }
    match run.output.as_deref() {
        Some("-") | None => Ok(()),
        Some(path) => {
            refuse_suffix(path, LISTS)?;
            refuse_place(path, run.how_written())
        }
    }
}
