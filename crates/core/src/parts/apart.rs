//! Parts of pairs with different keys.
//!
//! Of few keys each has a part: its rows against all rows with other keys. These rows are laid out
//! once for each key. Many keys are therefore a tree. A node has some ranges of keys. Each range is a part
//! against the other rows of the node, and a node of its own. So a row is laid out once for each key
//! of one node and for each range of some others, and its result comes from a part for each level.
//!
//! ```text
//! a question:  [0, 300)  [300, 611) …       16 ranges, each against all others
//! [0, 300):    [0, 19)  [19, 40) …          16 ranges, each against the others of [0, 300)
//! [0, 19):     0  1  2 …                    19 keys, each against the others of [0, 19)
//! ```

use super::sorted::{Part, RowSet, Sorted, few};
use crate::error::Result;
use crate::space::Domain;
use std::ops::Range;

/// The most keys that each get a part against all others of their node.
const MOST_KEYS: usize = 64;
/// The ranges of a node with more keys.
const RANGES: usize = 16;

/// The parts of pairs with different keys, in the making.
pub(super) struct Apart<'a> {
    x: &'a Sorted,
    y: &'a Sorted,
    /// Whether one of (i, j) and (j, i) is kept: the one whose first row has the lower key.
    half: bool,
    list: Vec<Part>,
}

impl Apart<'_> {
    /// Returns whether the rows of a group have more keys than one node takes.
    pub(super) fn is_deep(x: &Sorted) -> bool {
        x.runs.iter().any(|run| run.len() > MOST_KEYS)
    }
    /// Returns the parts of each group of x with each group of y.
    ///
    /// # Errors
    /// `Request` for too many parts.
    pub(super) fn of_all_groups([x, y]: [&Sorted; 2], half: bool) -> Result<Vec<Part>> {
        let list = vec![];
        let mut apart = Apart { x, y, half, list };
        for rows in &x.runs {
            for cols in &y.runs {
                apart.node(rows.clone(), cols.clone())?;
            }
        }
        Ok(apart.list)
    }
    /// Appends the parts of a node: `rows` and `cols` are its cells of x and of y.
    fn node(&mut self, rows: Range<usize>, cols: Range<usize>) -> Result<()> {
        if rows.len() <= MOST_KEYS {
            for at in rows {
                let key = self.x.cells[at].key;
                let own = self.first_of_key(&cols, key)..self.first_of_key(&cols, key + 1);
                self.part(&(at..at + 1), &cols, own)?;
            }
            return Ok(());
        }
        let starts = self.ranges(&rows);
        // Keys of y alone belong to the range before them, or to the first one.
        let begin = |at: usize| match starts.get(at) {
            Some(_) if at == 0 => cols.start,
            Some(first) => self.first_of_key(&cols, self.x.cells[*first].key),
            None => cols.end,
        };
        let own: Vec<usize> = (0..=starts.len()).map(begin).collect();
        for (at, first) in starts.iter().enumerate() {
            let next = starts.get(at + 1).copied().unwrap_or(rows.end);
            let (rows, own) = (*first..next, own[at]..own[at + 1]);
            self.part(&rows, &cols, own.clone())?;
            self.node(rows, own)?;
        }
        Ok(())
    }
    /// Returns the first of these cells of y with at least this key.
    fn first_of_key(&self, cols: &Range<usize>, key: u32) -> usize {
        let cells = &self.y.cells[cols.clone()];
        cols.start + cells.partition_point(|cell| cell.key < key)
    }
    /// Returns where the ranges of a node begin. Rows and keys weigh as much, so that one key with
    /// most of the rows is not the only one of its range.
    fn ranges(&self, cells: &Range<usize>) -> Vec<usize> {
        let all = self.x.rows_of(cells);
        let of_key = all.len() as u64 / cells.len() as u64 + 1;
        let before = |at: usize| {
            (self.x.cells[at].rows.start - all.start) as u64 + (at - cells.start) as u64 * of_key
        };
        let total = all.len() as u64 + cells.len() as u64 * of_key;
        let (mut starts, mut next) = (vec![], 0);
        for at in cells.clone() {
            if before(at) * RANGES as u64 >= total * next {
                starts.push(at);
                next = before(at) * RANGES as u64 / total + 1;
            }
        }
        starts
    }
    /// Appends the part of the cells `rows` of x against the cells `cols` of y, without `own`.
    fn part(&mut self, rows: &Range<usize>, cols: &Range<usize>, own: Range<usize>) -> Result<()> {
        let y = self.y;
        let others: RowSet = match self.half {
            true => y.rows_of(&(own.end..cols.end)).into(),
            false => RowSet::from(y.rows_of(cols)).except(y.rows_of(&own)),
        };
        if others.len() == 0 {
            return Ok(());
        }
        let group = |of: &Sorted, cells: &Range<usize>| of.cells[cells.start].group;
        let groups = [group(self.x, rows), group(y, cols)];
        self.list.push(Part {
            rows: self.x.rows_of(rows).into(),
            cols: others,
            domain: Domain::Cross,
            groups: match self.half {
                true => [groups[0].min(groups[1]), groups[0].max(groups[1])],
                false => groups,
            },
            band: None,
        });
        few(&self.list)
    }
}
