//! The domain of a question: which pairs (i, j) it visits, and how many.
//!
//! For n rows of x and m rows of y:
//!
//! ```text
//! cross      all n·m pairs of two inputs          triangle   i < j        n(n − 1)/2
//! square     all n² pairs of one input            diagonal   i ≤ j        n(n + 1)/2
//! ordered    i ≠ j                 n(n − 1)
//! ```
//!
//! Engines ask for the columns of a row inside a tile; they do not know the kinds of domains.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Which pairs (i, j) are visited.
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

/// A domain over n × m rows, optionally only where rows are near.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// The shape.
    pub domain: Domain,
    /// Rows of x.
    pub n: usize,
    /// Rows of y (equal to `n` for one input).
    pub m: usize,
    /// The cut-off: pairs whose difference is longer are not folded, and are counted as beyond it.
    pub cutoff: Option<f64>,
}

impl Space {
    /// Returns the largest squared length within the cut-off. Comparing squares decides as the root
    /// would.
    pub fn cutoff_squared(&self) -> Option<f64> {
        self.cutoff.map(crate::number::largest_square)
    }
    /// Returns whether x and y are one input.
    pub fn is_self(&self) -> bool {
        self.domain != Domain::Cross
    }
    /// Returns whether a pair represents (i, j) and (j, i).
    pub fn is_triangular(&self) -> bool {
        matches!(self.domain, Domain::Triangle | Domain::Diagonal)
    }
    /// Returns the number of pairs, computed in 128 bits.
    ///
    /// # Errors
    /// `Request` when it is beyond 2^64.
    pub fn size(&self) -> Result<u64> {
        let (n, m) = (self.n as u128, self.m as u128);
        let size = match self.domain {
            Domain::Cross | Domain::Square => n * m,
            Domain::Triangle => n * n.saturating_sub(1) / 2,
            Domain::Diagonal => n * (n + 1) / 2,
            Domain::Ordered => n * n.saturating_sub(1),
        };
        u64::try_from(size).map_err(|_| Error::request(format!("{size} pairs")).limit("2^64 pairs"))
    }
    /// Returns the columns of row `i` inside `cols`, as up to two ranges: `ordered` cuts out the
    /// diagonal.
    pub fn columns(&self, i: usize, cols: &Range<usize>) -> [Range<usize>; 2] {
        let none = cols.end..cols.end;
        match self.domain {
            Domain::Cross | Domain::Square => [cols.clone(), none],
            Domain::Triangle => [(i + 1).max(cols.start).min(cols.end)..cols.end, none],
            Domain::Diagonal => [i.max(cols.start).min(cols.end)..cols.end, none],
            Domain::Ordered if cols.contains(&i) => [cols.start..i, i + 1..cols.end],
            Domain::Ordered => [cols.clone(), none],
        }
    }
    /// Returns the number of pairs inside a block of rows and columns. Blocks away from the
    /// diagonal are whole or empty; the others are counted row by row, which is cheap because they
    /// are few.
    pub fn count(&self, rows: &Range<usize>, cols: &Range<usize>) -> u64 {
        let whole = rows.len() as u64 * cols.len() as u64;
        let apart = cols.start >= rows.end || cols.end <= rows.start;
        match self.domain {
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
        for domain in [
            Domain::Cross,
            Domain::Triangle,
            Domain::Diagonal,
            Domain::Ordered,
            Domain::Square,
        ] {
            for n in [0usize, 1, 2, 7, 33] {
                let m = if domain == Domain::Cross { n + 3 } else { n };
                let space = Space {
                    domain,
                    n,
                    m,
                    cutoff: None,
                };
                let blocks =
                    |len: usize| (0..len.div_ceil(4)).map(move |b| b * 4..(b * 4 + 4).min(len));
                let total: u64 = blocks(n)
                    .flat_map(|r| blocks(m).map(move |c| space.count(&r, &c)))
                    .sum();
                assert_eq!(total, space.size().unwrap(), "{domain:?} {n}");
            }
        }
    }
}
