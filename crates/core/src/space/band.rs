//! A band: which columns each row meets, next to what its domain says. The rows of a band meet one
//! range of columns each, and neither end of the range goes back from one row to the next.
//!
//! ```text
//! |i − j| ≤ 1        |t_i − t_j| ≤ w        j < i
//! ■ ■                ■ ■ ■
//! ■ ■ ■              ■ ■ ■                  ■
//!   ■ ■ ■            ■ ■ ■                  ■ ■
//!     ■ ■                  ■                ■ ■ ■
//! ```
//!
//! Because the ends never go back, the first and the last row of a block say which of its columns
//! no row meets, and which every row meets. So blocks are left out, taken whole or masked without a
//! look at their other rows.

use crate::hash::Hash;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The most columns of a band: their numbers have 32 bits.
pub const MOST_COLUMNS: usize = u32::MAX as usize;

/// For each row the columns that it meets.
///
/// A clone is cheap: it shares them.
#[derive(Clone, PartialEq)]
pub struct Band {
    ends: Arc<[[u32; 2]]>,
}

impl Band {
    /// Returns the band of rows that meet these columns; one that ends before it begins is empty.
    ///
    /// Beginnings and ends must not go back from one row to the next.
    pub fn new(ranges: impl Iterator<Item = Range<usize>>) -> Band {
        // An empty range ends where it begins, which keeps the order of ends.
        let ends = ranges.map(|range| [range.start as u32, range.end.max(range.start) as u32]);
        let ends: Arc<[[u32; 2]]> = ends.collect();
        let rises = |two: &[[u32; 2]]| two[0][0] <= two[1][0] && two[0][1] <= two[1][1];
        debug_assert!(ends.windows(2).all(rises), "a band that goes back");
        Band { ends }
    }
    /// Returns the columns that row `row` meets.
    pub fn of_row(&self, row: usize) -> Range<usize> {
        let [start, end] = self.ends[row];
        start as usize..end as usize
    }
    /// Returns the columns between the first and the last one that some of `rows` meets.
    pub fn hull(&self, rows: &Range<usize>) -> Range<usize> {
        match rows.is_empty() {
            true => 0..0,
            false => self.of_row(rows.start).start..self.of_row(rows.end - 1).end,
        }
    }
    /// Returns the columns that all of `rows` meet.
    pub fn inside(&self, rows: &Range<usize>) -> Range<usize> {
        match rows.is_empty() {
            true => 0..0,
            false => self.of_row(rows.end - 1).start..self.of_row(rows.start).end,
        }
    }
}

/// A few numbers, since a band may have millions of rows.
impl fmt::Debug for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hash = Hash::default();
        let ends = self.ends.iter().flatten();
        ends.for_each(|end| hash.word(u64::from(*end)));
        write!(f, "Band({} rows, {:032x})", self.ends.len(), hash.finish())
    }
}

/// Which pairs a question keeps by the places of their rows, before any value is computed.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// Only j < i.
    pub earlier: bool,
    /// Only |i − j| up to this.
    pub rows: Option<usize>,
    /// Only |t_i − t_j| up to a width, of sorted columns.
    pub spans: Vec<TimeSpan>,
}

/// A window of a sorted column.
#[derive(Clone, Debug)]
pub struct TimeSpan {
    /// The column.
    pub column: String,
    /// Its values for the rows of x and of y, which never fall; the same twice for one table.
    pub times: [Arc<[f64]>; 2],
    /// The largest difference.
    pub width: f64,
}

impl Window {
    /// Returns whether it leaves out no pair.
    pub fn is_open(&self) -> bool {
        !self.earlier && self.rows.is_none() && self.spans.is_empty()
    }
    /// Returns whether row `i` of x meets row `j` of y: the definition of a window.
    pub fn holds(&self, i: usize, j: usize) -> bool {
        (!self.earlier || j < i)
            && self.rows.is_none_or(|most| i.abs_diff(j) <= most)
            && self
                .spans
                .iter()
                .all(|span| (span.times[0][i] - span.times[1][j]).abs() <= span.width)
    }
    /// Returns the band of these rows of x over these rows of y, both in ascending order.
    pub fn band(
        &self,
        rows: impl Iterator<Item = usize>,
        cols: usize,
        col: impl Fn(usize) -> usize,
    ) -> Band {
        // Ends only move on, so all rows together pass over the columns once.
        let [mut start, mut end] = [0, 0];
        Band::new(rows.map(|i| {
            while start < cols && self.is_before(i, col(start)) {
                start += 1;
            }
            end = end.max(start);
            while end < cols && !self.is_behind(i, col(end)) {
                end += 1;
            }
            start..end
        }))
    }
    /// Whether row `j` of y, and all before it, lie before what row `i` and later ones meet.
    fn is_before(&self, i: usize, j: usize) -> bool {
        let early = |span: &TimeSpan| span.times[0][i] - span.times[1][j] > span.width;
        self.rows.is_some_and(|most| j.saturating_add(most) < i) || self.spans.iter().any(early)
    }
    /// Whether row `j` of y, and all after it, lie behind what row `i` meets.
    fn is_behind(&self, i: usize, j: usize) -> bool {
        let late = |span: &TimeSpan| span.times[1][j] - span.times[0][i] > span.width;
        (self.earlier && j >= i)
            || self.rows.is_some_and(|most| i.saturating_add(most) < j)
            || self.spans.iter().any(late)
    }
    /// Returns what it keeps, in words.
    pub fn words(&self) -> String {
        let mut words = vec![];
        if self.earlier {
            words.push("j < i".to_string());
        }
        words.extend(self.rows.map(|most| format!("|i − j| ≤ {most}")));
        let spans = self.spans.iter();
        words.extend(spans.map(|span| {
            let (column, width) = (&span.column, span.width);
            format!("|x.{column} − y.{column}| ≤ {width}")
        }));
        words.join(" and ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(x: &[f64], y: &[f64], width: f64) -> TimeSpan {
        TimeSpan {
            column: "t".into(),
            times: [x.into(), y.into()],
            width,
        }
    }

    /// All rows with all columns: a band keeps what a window keeps.
    fn check(window: &Window, n: usize, m: usize) {
        let band = window.band(0..n, m, |j| j);
        for i in 0..n {
            for j in 0..m {
                let kept = band.of_row(i).contains(&j);
                assert_eq!(kept, window.holds(i, j), "{window:?} {i} {j}");
            }
        }
        for rows in [0..n, n / 3..n, 0..n.min(1)] {
            let met = |i: usize| band.of_row(i);
            let each = |j: usize| rows.clone().all(|i| met(i).contains(&j));
            let some = |j: usize| rows.clone().any(|i| met(i).contains(&j));
            for j in (0..m).filter(|_| !rows.is_empty()) {
                assert_eq!(band.inside(&rows).contains(&j), each(j), "{rows:?} {j}");
                assert!(!some(j) || band.hull(&rows).contains(&j), "{rows:?} {j}");
            }
        }
    }

    #[test]
    fn a_band_keeps_what_its_window_keeps() {
        let times = [-4.0, -4.0, 0.0, 0.5, 0.5, 0.5, 3.0, 1e300, 1e300];
        for (n, m) in [(0, 0), (1, 1), (9, 9), (9, 4), (3, 9)] {
            for earlier in [false, true] {
                for rows in [None, Some(0), Some(2), Some(100), Some(usize::MAX)] {
                    for width in [None, Some(0.0), Some(3.5), Some(1e301)] {
                        let spans = width.map(|w| span(&times[..n], &times[9 - m..], w));
                        let spans = spans.into_iter().collect();
                        let window = Window {
                            earlier,
                            rows,
                            spans,
                        };
                        check(&window, n, m);
                    }
                }
            }
        }
    }
}
