//! What foreign decoders are wrapped in: their panics become errors, and they read only bytes that are there.

use crate::guard::Source;
use std::panic::{AssertUnwindSafe, catch_unwind};
use zipfold_core::{Error, Result};

/// Runs a foreign decoder of `source`; should hostile bytes make it panic, that is damage of the file.
pub(crate) fn contained<T>(source: &Source, format: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(damaged(source, format, "its parts contradict each other")))
}

/// The error for a file that a foreign decoder refuses.
pub(crate) fn damaged(source: &Source, format: &str, what: impl std::fmt::Display) -> Error {
    let mut what = format!("the {format} data are damaged: {what}");
    if let Some((cut, _)) = what.char_indices().nth(300) {
        what.truncate(cut);
    }
    Error::input(what)
        .at(format!("{} ({} bytes)", source.name(), source.size()))
        .remedy(format!("write the {format} file again, or convert it to .csv or .npy"))
}

/// The refusal of a column that holds no numbers; `others` are the columns that do.
pub(crate) fn not_numeric(source: &Source, column: &str, kind: &str, others: &[&str]) -> Error {
    let remedy = match others {
        [] => "convert the column to numbers".to_owned(),
        some => format!("--columns {}", some.join(",")),
    };
    Error::input(format!("column '{column}' holds {kind}, not numbers")).at(source.name()).remedy(remedy)
}
