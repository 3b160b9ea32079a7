//! Rows sorted by group and key, and the parts that ranges of them make.

use crate::error::{Error, Result};
use crate::keys::{NONE, RowKeys};
use crate::opt::Opt;
use crate::space::{Band, Domain, Space};
use std::ops::Range;

/// The most parts of a question: each takes some microseconds and some hundred bytes.
const MOST_PARTS: usize = 1 << 24;

/// Some rows of one side: a range of the sorted rows, without another range inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowSet {
    pub(super) all: Range<usize>,
    without: Range<usize>,
    /// Whether the rows stay in the order that they have, some of them several times.
    as_listed: bool,
}

impl RowSet {
    /// Rows in the order of a list.
    pub(crate) fn listed(all: Range<usize>) -> RowSet {
        RowSet {
            as_listed: true,
            ..all.into()
        }
    }
    pub(super) fn len(&self) -> usize {
        self.all.len() - self.without.len()
    }
    /// Returns the rows but for those of a range inside them.
    pub(super) fn except(self, without: Range<usize>) -> RowSet {
        match without.is_empty() {
            true => self,
            false => RowSet { without, ..self },
        }
    }
    /// Lists the rows, in ascending order unless they are of a list.
    pub(crate) fn list(&self, order: &[u32]) -> Vec<u32> {
        let mut rows = order[self.all.start..self.without.start].to_vec();
        rows.extend_from_slice(&order[self.without.end..self.all.end]);
        if !self.as_listed {
            rows.sort_unstable();
        }
        rows
    }
}

impl RowSet {
    /// Returns the range that the rows are, where none is left out inside it.
    pub(super) fn range(&self) -> Option<Range<usize>> {
        self.without.is_empty().then(|| self.all.clone())
    }
}

impl From<Range<usize>> for RowSet {
    fn from(all: Range<usize>) -> RowSet {
        let without = all.end..all.end;
        RowSet {
            all,
            without,
            as_listed: false,
        }
    }
}

/// A part: rows of x with one group, and with one key or a range of keys, against rows of y with one
/// group.
#[derive(Clone, Debug)]
pub struct Part {
    pub(crate) rows: RowSet,
    pub(crate) cols: RowSet,
    /// Which of their pairs: [`Domain::Cross`], or the domain of the question if both sides have
    /// the same rows.
    pub domain: Domain,
    /// The groups of its rows of x and of y. In a triangular domain the lower group is first.
    pub groups: [u32; 2],
    /// The columns that each of its rows meets, by its own numbers of rows.
    pub band: Option<Band>,
}

impl Part {
    /// Returns whether a pair (i, j) means (j, i), too.
    pub(crate) fn is_half(&self) -> bool {
        matches!(self.domain, Domain::Triangle | Domain::Diagonal)
    }
    /// Returns the pairs of the part, by its own numbers of rows.
    pub fn space(&self, cutoff: Option<f64>) -> Space {
        Space {
            domain: self.domain,
            n: self.rows.len(),
            m: self.cols.len(),
            cutoff,
            band: self.band.clone(),
        }
    }
}

/// The rows of one side, sorted by group, then by key, then by row.
#[derive(Clone)]
pub(super) struct Sorted {
    pub(super) order: Vec<u32>,
    pub(super) cells: Vec<Cell>,
    /// The cells of each group that has rows.
    pub(super) runs: Vec<Range<usize>>,
    /// The cells by key, then by group.
    by_key: Vec<usize>,
}

/// The rows of a side with one group and one key.
#[derive(Clone)]
pub(super) struct Cell {
    pub(super) group: u32,
    pub(super) key: u32,
    pub(super) rows: Range<usize>,
}

impl Sorted {
    pub(super) fn new(
        by: Option<&RowKeys>,
        within: Option<&RowKeys>,
        side: usize,
        rows: usize,
    ) -> Sorted {
        let code =
            |keys: Option<&RowKeys>, row: u32| keys.map_or(0, |k| k.codes[side][row as usize]);
        let place = |row: u32| [code(by, row), code(within, row)];
        let order = match (by, within) {
            // Many rows of few groups: counted, not compared.
            (Some(by), None) => by_group(&by.codes[side], by.len()),
            _ => {
                // A row without a group or a key is in no part.
                let mut order: Vec<u32> = (0..rows as u32)
                    .filter(|row| !place(*row).contains(&NONE))
                    .collect();
                order.sort_by_key(|row| place(*row));
                order
            }
        };
        let mut cells: Vec<Cell> = vec![];
        for (at, row) in order.iter().enumerate() {
            let [group, key] = place(*row);
            match cells.last_mut() {
                Some(last) if (last.group, last.key) == (group, key) => last.rows.end = at + 1,
                _ => cells.push(Cell {
                    group,
                    key,
                    rows: at..at + 1,
                }),
            }
        }
        let mut runs: Vec<Range<usize>> = vec![];
        for at in 0..cells.len() {
            match runs.last_mut() {
                Some(run) if cells[run.start].group == cells[at].group => run.end = at + 1,
                _ => runs.push(at..at + 1),
            }
        }
        let mut by_key: Vec<usize> = (0..cells.len()).collect();
        by_key.sort_by_key(|at| (cells[*at].key, cells[*at].group));
        Sorted {
            order,
            cells,
            runs,
            by_key,
        }
    }
    /// The cells with this key, by group.
    pub(super) fn with_key(&self, key: u32) -> &[usize] {
        let place = |test: fn(u32, u32) -> bool| {
            self.by_key
                .partition_point(|at| test(self.cells[*at].key, key))
        };
        &self.by_key[place(|k, key| k < key)..place(|k, key| k <= key)]
    }
    /// The sorted rows that `cells` have.
    pub(super) fn rows_of(&self, cells: &Range<usize>) -> Range<usize> {
        if cells.is_empty() {
            return 0..0;
        }
        self.cells[cells.start].rows.start..self.cells[cells.end - 1].rows.end
    }
}

/// Returns the rows that have a group, by group.
fn by_group(codes: &[u32], groups: usize) -> Vec<u32> {
    let mut next = vec![0usize; groups + 1];
    let members = || codes.iter().enumerate().filter(|(_, code)| **code != NONE);
    members().for_each(|(_, code)| next[*code as usize + 1] += 1);
    (0..groups).for_each(|group| next[group + 1] += next[group]);
    let mut order = vec![0; next[groups]];
    for (row, code) in members() {
        let to = &mut next[*code as usize];
        order[*to] = row as u32;
        *to += 1;
    }
    order
}

/// Refuses more parts than there may be.
pub(super) fn few(list: &[Part]) -> Result<()> {
    if list.len() <= MOST_PARTS {
        return Ok(());
    }
    let e = Error::request(format!("more than {MOST_PARTS} pairs of groups"));
    Err(e
        .at_place(Opt::By)
        .limit(format!("{MOST_PARTS} pairs of groups that have rows"))
        .remedy("merge small groups"))
}
