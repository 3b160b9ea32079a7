//! What weights must be for every fold that takes them.

use crate::error::{Error, Result};
use crate::opt::Opt;
use crate::table::Table;

/// Refuses weights that are not one row for each of `rows`.
///
/// # Errors
/// `Input` where it has none, or those of other rows.
pub(super) fn check(table: &Table, rows: usize) -> Result<()> {
    if table.rows() == rows && table.cols() > 0 {
        return Ok(());
    }
    let what = format!(
        "weights of {} rows and {} columns for {rows} rows",
        table.rows(),
        table.cols()
    );
    Err(Error::input(what)
        .at_place(Opt::Weights)
        .remedy("one weight, or one row of weights, for each row"))
}
