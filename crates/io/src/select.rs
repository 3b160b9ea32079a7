//! The chosen columns of a table, copied within the budget.

use zipfold_core::columns::expand;
use zipfold_core::{Budget, Error, Opt, Result, Table};

/// Only the `wanted` columns of `table`, in their order; all of them when nothing is chosen.
pub(crate) fn select(
    table: Table,
    wanted: Option<&[String]>,
    name: &str,
    budget: &Budget,
) -> Result<Table> {
    let Some(wanted) = wanted else {
        return Ok(table);
    };
    let picked = pick(wanted, table.names(), table.cols()).map_err(|e| e.at_place(name))?;
    table.picked(&picked, budget, &format!("the chosen columns of {name}"))
}

/// The numbers of the `wanted` columns, each once.
pub(crate) fn pick(
    wanted: &[String],
    names: Option<&[String]>,
    count: usize,
) -> Result<Vec<usize>> {
    if wanted.is_empty() {
        return Err(Error::request("no column is chosen")
            .remedy(format!("name at least one in {}", Opt::Columns)));
    }
    expand(wanted, names, count, &|_| false)
}
