//! The chosen columns of a table, copied within the budget.

use crate::text_rows::find_column;
use zipfold_core::{Budget, Buffer, Elements, Error, Result, Table};

/// Only the `wanted` columns of `table`, in their order; all of them when nothing is chosen.
pub(crate) fn select(table: Table, wanted: Option<&[String]>, name: &str, budget: &Budget) -> Result<Table> {
    let Some(wanted) = wanted else { return Ok(table) };
    let picked = pick(wanted, table.names(), table.cols()).map_err(|e| e.at(name))?;
    let elements = match table.elements() {
        Elements::F32(items) => Elements::F32(copy(items, table.cols(), &picked, name, budget)?),
        Elements::F64(items) => Elements::F64(copy(items, table.cols(), &picked, name, budget)?),
    };
    let chosen = Table::new(table.rows(), picked.len(), elements)?;
    match table.names() {
        Some(names) => chosen.with_names(picked.iter().map(|at| names[*at].clone()).collect()),
        None => Ok(chosen),
    }
}

/// The numbers of the `wanted` columns, each once.
pub(crate) fn pick(wanted: &[String], names: Option<&[String]>, count: usize) -> Result<Vec<usize>> {
    let mut picked = Vec::with_capacity(wanted.len());
    for column in wanted {
        let at = find_column(column, names, count)?;
        if picked.contains(&at) {
            let what = format!("column '{column}' is chosen twice");
            return Err(Error::request(what).remedy("name each column once in --columns"));
        }
        picked.push(at);
    }
    if picked.is_empty() {
        return Err(Error::request("no column is chosen").remedy("name at least one in --columns"));
    }
    Ok(picked)
}

fn copy<T: Copy + Send + Sync + 'static>(
    items: &[T],
    cols: usize,
    picked: &[usize],
    name: &str,
    budget: &Budget,
) -> Result<Buffer<T>> {
    let rows = items.len() / cols.max(1);
    let mut out = budget.with_capacity(rows * picked.len(), &format!("the chosen columns of {name}"))?;
    for row in items.chunks_exact(cols.max(1)) {
        out.items.extend(picked.iter().map(|at| row[*at]));
    }
    Ok(out.into())
}
