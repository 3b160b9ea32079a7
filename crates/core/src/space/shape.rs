//! Shapes of the space of cells and their sizes.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Which cells (i, j) are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Domain {
    /// All (i, j) of two inputs.
    Cross,
    /// i < j of one input; a fold by rows credits both rows.
    Triangle,
    /// i ≤ j of one input; a fold by rows credits both rows, the diagonal once.
    Diagonal,
    /// All (i, j) of one input, i ≠ j.
    Ordered,
    /// All (i, j) of one input, i = j included.
    Square,
}

/// A space: a shape over n × m cells, optionally only where rows are near.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// The shape.
    pub cells: Domain,
    /// Rows of x.
    pub n: usize,
    /// Rows of y (equal to `n` for one input).
    pub m: usize,
    /// Visit only cells whose difference is at most this long; the others are counted as skipped.
    pub near: Option<f64>,
}

impl Space {
    /// The largest squared length within the cut-off.
    pub fn near_square(&self) -> Option<f64> {
        self.near.map(crate::number::largest_square)
    }
    /// Whether x and y are one input.
    pub fn is_self(&self) -> bool {
        self.cells != Domain::Cross
    }
    /// Whether a cell stands for (i, j) and (j, i).
    pub fn is_triangular(&self) -> bool {
        matches!(self.cells, Domain::Triangle | Domain::Diagonal)
    }
    /// The number of cells.
    ///
    /// # Errors
    /// `Request` when it is beyond 2^64.
    pub fn size(&self) -> Result<u64> {
        let (n, m) = (self.n as u128, self.m as u128);
        let size = match self.cells {
            Domain::Cross | Domain::Square => n * m,
            Domain::Triangle => n * n.saturating_sub(1) / 2,
            Domain::Diagonal => n * (n + 1) / 2,
            Domain::Ordered => n * n.saturating_sub(1),
        };
        u64::try_from(size).map_err(|_| Error::request(format!("{size} cells")).limit("2^64 cells"))
    }
    /// The columns of row `i` inside `cols`, as up to two ranges (the diagonal may be cut out).
    pub fn columns(&self, i: usize, cols: &Range<usize>) -> [Range<usize>; 2] {
        let none = cols.end..cols.end;
        match self.cells {
            Domain::Cross | Domain::Square => [cols.clone(), none],
            Domain::Triangle => [(i + 1).max(cols.start).min(cols.end)..cols.end, none],
            Domain::Diagonal => [i.max(cols.start).min(cols.end)..cols.end, none],
            Domain::Ordered if cols.contains(&i) => [cols.start..i, i + 1..cols.end],
            Domain::Ordered => [cols.clone(), none],
        }
    }
    /// The number of cells inside a block of rows and columns.
    pub fn count(&self, rows: &Range<usize>, cols: &Range<usize>) -> u64 {
        let whole = rows.len() as u64 * cols.len() as u64;
        let apart = cols.start >= rows.end || cols.end <= rows.start;
        match self.cells {
            Domain::Cross | Domain::Square => whole,
            Domain::Ordered if apart => whole,
            Domain::Triangle | Domain::Diagonal if apart => {
                if cols.start >= rows.end {
                    whole
                } else {
                    0
                }
            }
            _ => rows
                .clone()
                .map(|i| {
                    self.columns(i, cols)
                        .iter()
                        .map(|r| r.len() as u64)
                        .sum::<u64>()
                })
                .sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_every_shape_add_up_to_its_size() {
        for cells in [
            Domain::Cross,
            Domain::Triangle,
            Domain::Diagonal,
            Domain::Ordered,
            Domain::Square,
        ] {
            for n in [0usize, 1, 2, 7, 33] {
                let m = if cells == Domain::Cross { n + 3 } else { n };
                let space = Space {
                    cells,
                    n,
                    m,
                    near: None,
                };
                let blocks =
                    |len: usize| (0..len.div_ceil(4)).map(move |b| b * 4..(b * 4 + 4).min(len));
                let total: u64 = blocks(n)
                    .flat_map(|r| blocks(m).map(move |c| space.count(&r, &c)))
                    .sum();
                assert_eq!(total, space.size().unwrap(), "{cells:?} {n}");
            }
        }
    }
}
