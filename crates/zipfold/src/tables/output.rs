//! From matches to the cells of an output, some matches at a time.

use super::found::MatchBatch;
use super::select::{Item, Source, named};
use super::sides::{ColumnPlace, SideTable};
use super::values::PairFormula;
use zipfold_core::pair::Param;
use zipfold_core::{Budget, Data, Opt, Result};
use zipfold_io::rows_write::{CellKind, Cells, RowsWriter};

use std::collections::BTreeMap;

/// The columns of an output.
pub(crate) struct OutputColumns<'a> {
    sides: [&'a SideTable; 2],
    items: Vec<Item>,
    /// Name and kind of each.
    pub(crate) columns: Vec<(String, CellKind)>,
    /// The formulas among them.
    formulas: Vec<Option<PairFormula>>,
    threads: usize,
}

impl<'a> OutputColumns<'a> {
    /// The columns that `items` ask for, of the rows of `data` as they were given.
    ///
    /// # Errors
    /// `Request` for equal names, and for formulas that are none.
    pub(crate) fn new(
        items: Vec<Item>,
        sides: [&'a SideTable; 2],
        data: &Data,
        params: &BTreeMap<String, Param>,
        threads: usize,
    ) -> Result<OutputColumns<'a>> {
        let names = named(&items)?;
        let kind = |item: &Item| match item.source {
            Source::Column(side, place) => sides[side].kind(place),
            Source::Formula(_) | Source::Value => CellKind::Number,
        };
        let columns = names.into_iter().zip(items.iter().map(kind)).collect();
        let called = [sides[0].name.as_str(), sides[1].name.as_str()];
        let formula = |item: &Item| match &item.source {
            Source::Formula(text) => {
                let formula = PairFormula::new(text, params, called, data)?;
                formula.check(text)?;
                Ok(Some(formula))
            }
            Source::Column(..) | Source::Value => Ok(None),
        };
        let formulas = items.iter().map(formula).collect::<Result<_>>()?;
        Ok(OutputColumns {
            sides,
            items,
            columns,
            formulas,
            threads,
        })
    }
    /// The cells of some matches, column by column.
    ///
    /// # Errors
    /// `Resource` when the system refuses threads.
    pub(crate) fn cells(&self, found: &MatchBatch) -> Result<Vec<Cells>> {
        let one = |(at, item): (usize, &Item)| {
            Ok(match &item.source {
                Source::Column(0, place) => {
                    let rows = found.i.iter().map(|i| *i as i64);
                    column(self.sides[0], *place, self.columns[at].1, rows)
                }
                Source::Column(_, place) => {
                    let rows = found.j.iter().copied();
                    column(self.sides[1], *place, self.columns[at].1, rows)
                }
                Source::Value => Cells::Numbers(found.values.clone()),
                Source::Formula(_) => match &self.formulas[at] {
                    Some(formula) => Cells::Numbers(formula.values(found, self.threads)?),
                    None => Cells::Numbers(vec![f64::NAN; found.i.len()]),
                },
            })
        };
        self.items.iter().enumerate().map(one).collect()
    }
    /// The columns: name, table, and column there; 2 and what it is of other columns.
    pub(crate) fn described(&self) -> Vec<(String, usize, String)> {
        let one = |(item, (name, _)): (&Item, &(String, CellKind))| match &item.source {
            Source::Column(side, place) => {
                let column = self.sides[*side].columns().find(|(_, at)| at == place);
                let column = column.map_or(String::new(), |(name, _)| name.to_string());
                (name.clone(), *side, column)
            }
            Source::Formula(_) => (name.clone(), 2, "formula".to_string()),
            Source::Value => (name.clone(), 2, "value".to_string()),
        };
        self.items.iter().zip(&self.columns).map(one).collect()
    }
    /// The values of the formulas of some matches.
    ///
    /// # Errors
    /// `Resource` when the system refuses threads.
    pub(crate) fn formula_values(&self, found: &MatchBatch) -> Result<Vec<Vec<f64>>> {
        let all = self.formulas.iter().flatten();
        all.map(|formula| formula.values(found, self.threads))
            .collect()
    }
}

/// The cells of a column, of these rows; nulls for rows below 0.
fn column(
    side: &SideTable,
    place: ColumnPlace,
    kind: CellKind,
    rows: impl Iterator<Item = i64>,
) -> Cells {
    match place {
        ColumnPlace::Word(at) => Cells::Words(side.words[at].clone(), rows.collect()),
        ColumnPlace::Number(at) => {
            let value = |row: i64| usize::try_from(row).map_or(f64::NAN, |r| side.table.get(r, at));
            let values = rows.map(value).collect();
            match kind {
                CellKind::Whole => Cells::Whole(values),
                CellKind::Number | CellKind::Word => Cells::Numbers(values),
            }
        }
    }
}

/// Where the rows of an output go.
pub(crate) enum RowSink {
    /// A file that is written while rows are found.
    File(RowsWriter),
    /// Memory: all rows, with what they take.
    Memory(Vec<Cells>, Vec<zipfold_core::Reservation>),
    /// Memory: the first rows alone.
    First(Vec<Cells>, usize),
}

impl RowSink {
    /// Takes rows.
    ///
    /// # Errors
    /// `Resource` beyond the budget, or when the disk is full.
    pub(crate) fn take(
        &mut self,
        output: &OutputColumns<'_>,
        found: &MatchBatch,
        budget: &Budget,
    ) -> Result<()> {
        match self {
            RowSink::File(file) => file.push(&output.cells(found)?),
            RowSink::Memory(all, held) => {
                let bytes = (found.i.len() * output.columns.len() * 8) as u64;
                held.push(budget.reserve(bytes, "the rows of the join").map_err(|e| {
                    e.remedy(format!(
                        "{} with .csv or .parquet writes rows while they are found",
                        Opt::Output
                    ))
                })?);
                append(all, output.cells(found)?);
                Ok(())
            }
            RowSink::First(all, most) => {
                let have = all.first().map_or(0, Cells::len);
                let more = most.saturating_sub(have).min(found.i.len());
                if more > 0 || all.is_empty() {
                    let part = MatchBatch {
                        i: found.i[..more].to_vec(),
                        j: found.j[..more].to_vec(),
                        values: found.values[..more.min(found.values.len())].to_vec(),
                    };
                    append(all, output.cells(&part)?);
                }
                Ok(())
            }
        }
    }
}

/// Adds cells to those of the same columns.
fn append(all: &mut Vec<Cells>, more: Vec<Cells>) {
    if all.is_empty() {
        *all = more;
        return;
    }
    for (to, from) in all.iter_mut().zip(more) {
        match (to, from) {
            (Cells::Numbers(to), Cells::Numbers(from)) | (Cells::Whole(to), Cells::Whole(from)) => {
                to.extend(from);
            }
            (Cells::Words(_, to), Cells::Words(_, from)) => to.extend(from),
            (Cells::Numbers(_) | Cells::Whole(_) | Cells::Words(..), _) => {}
        }
    }
}
