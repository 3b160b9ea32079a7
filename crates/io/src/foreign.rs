//! What foreign decoders are wrapped in: their panics become errors, and they read only bytes that
//! are there.

use crate::guard::Source;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;
use zipfold_core::shown::short;
use zipfold_core::{Error, Opt, Result};

thread_local! {
    /// Whether a foreign decoder runs on this thread, whose panics are damage of a file and
    /// nobody's business.
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Panics of foreign decoders are not told on standard error; all others are told as before.
fn hush() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !CONTAINED.get() {
                before(panic);
            }
        }));
    });
}

/// Runs a foreign decoder of `source`; should hostile bytes make it panic, that is damage of the
/// file.
pub(crate) fn contained<T>(
    source: &Source,
    format: &str,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    hush();
    let outer = CONTAINED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(outer);
    let done =
        done.unwrap_or_else(|_| Err(damaged(source, format, "its parts contradict each other")));
    done.map_err(|e| e.at_least(source.name()))
}

/// The error for a file that a foreign decoder refuses.
pub(crate) fn damaged(source: &Source, format: &str, what: impl std::fmt::Display) -> Error {
    Error::input(short(
        &format!("the {format} data are damaged: {what}"),
        300,
    ))
    .at_place(format!("{} ({} bytes)", source.name(), source.size()))
    .remedy(format!(
        "write the {format} file again, or convert it to .csv or .npy"
    ))
}

/// The refusal of a column that holds no numbers.
pub(crate) fn not_numeric(source: &Source, column: &str, kind: &str) -> Error {
    let column = short(column, 80);
    Error::input(format!("column '{column}' holds {kind}, not numbers"))
        .at_place(source.name())
        .remedy(format!(
            "{} to leave it out, or convert it to numbers",
            Opt::Columns.to(format!("!{column}"))
        ))
}
