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
//! A [`Band`] keeps some columns of each row. Engines ask for the columns of a row inside a tile, and
//! for the ones that some or all rows of a block meet; they do not know the kinds of domains.

use super::Band;
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
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// The shape.
    pub domain: Domain,
    /// Rows of x.
    pub n: usize,
    /// Rows of y (equal to `n` for one input).
    pub m: usize,
    /// The cut-off: pairs whose difference is longer are not folded, and are counted as beyond it.
    pub cutoff: Option<f64>,
    /// The columns that each row meets; all that the domain has without one.
    pub band: Option<Band>,
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
        if self.band.is_some() {
            return Ok(self.count(&(0..self.n), &(0..self.m)));
        }
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
        let all = match &self.band {
            None => cols.clone(),
            Some(band) => common(&band.of_row(i), cols),
        };
        let none = all.end..all.end;
        match self.domain {
            Domain::Cross | Domain::Square => [all, none],
            Domain::Triangle => [(i + 1).max(all.start).min(all.end)..all.end, none],
            Domain::Diagonal => [i.max(all.start).min(all.end)..all.end, none],
            Domain::Ordered if all.contains(&i) => [all.start..i, i + 1..all.end],
            Domain::Ordered => [all, none],
        }
    }
    /// Returns the columns between the first and the last one that some of `rows` may meet. Others
    /// hold no pair of these rows.
    pub fn met(&self, rows: &Range<usize>) -> Range<usize> {
        let first = if self.is_triangular() { rows.start } else { 0 };
        let all = first.min(self.m)..self.m;
        match &self.band {
            None => all,
            Some(band) => common(&band.hull(rows), &all),
        }
    }
    /// Returns the columns that all of `rows` meet. In `ordered` the diagonal is cut out of them.
    pub fn inside(&self, rows: &Range<usize>) -> Range<usize> {
        let first = if self.is_triangular() { rows.end } else { 0 };
        let all = first.min(self.m)..self.m;
        match &self.band {
            None => all,
            Some(band) => common(&band.inside(rows), &all),
        }
    }
    /// Returns whether no pair of a block is in the domain.
    pub fn is_empty(&self, rows: &Range<usize>, cols: &Range<usize>) -> bool {
        let met = self.met(rows);
        cols.end <= met.start || met.end <= cols.start
    }
    /// Returns whether every pair of a block is in the domain.
    pub fn is_whole(&self, rows: &Range<usize>, cols: &Range<usize>) -> bool {
        let inside = self.inside(rows);
        let apart = cols.start >= rows.end || cols.end <= rows.start;
        inside.start <= cols.start
            && cols.end <= inside.end
            && (apart || self.domain != Domain::Ordered)
    }
    /// Returns the number of pairs inside a block of rows and columns. Most blocks are whole or
    /// empty; the others are counted row by row, which is cheap because they are few.
    pub fn count(&self, rows: &Range<usize>, cols: &Range<usize>) -> u64 {
        if self.is_whole(rows, cols) {
            return rows.len() as u64 * cols.len() as u64;
        }
        if self.is_empty(rows, cols) {
            return 0;
        }
        let of_row = |i: usize| self.columns(i, cols).map(|r| r.len() as u64);
        rows.clone().flat_map(of_row).sum()
    }
}

/// The columns that two ranges share.
fn common(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    let end = a.end.min(b.end);
    a.start.max(b.start).min(end)..end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pairs of a block, one by one; what is said of the whole block agrees with them.
    fn counted(space: &Space, rows: &Range<usize>, cols: &Range<usize>) -> u64 {
        let of_row = |i: usize| space.columns(i, cols).map(|r| r.len() as u64);
        let pairs: u64 = rows.clone().flat_map(of_row).sum();
        let all = (rows.len() * cols.len()) as u64;
        assert_eq!(
            space.count(rows, cols),
            pairs,
            "{space:?} {rows:?} {cols:?}"
        );
        assert!(pairs == 0 || !space.is_empty(rows, cols));
        assert!(!space.is_whole(rows, cols) || pairs == all);
        pairs
    }

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
                let (open, near) = (None, |i: usize| i.saturating_sub(3)..(i + 2).min(m));
                for band in [open, Some(Band::new((0..n).map(near)))] {
                    let space = &Space {
                        domain,
                        n,
                        m,
                        cutoff: None,
                        band,
                    };
                    let blocks =
                        |len: usize| (0..len.div_ceil(4)).map(move |b| b * 4..(b * 4 + 4).min(len));
                    let total: u64 = blocks(n)
                        .flat_map(|r| blocks(m).map(move |c| counted(space, &r, &c)))
                        .sum();
                    assert_eq!(total, space.size().unwrap(), "{domain:?} {n}");
                }
            }
        }
    }
}
