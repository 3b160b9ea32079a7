//! A question about groups is a list of parts. A part is a plain question about some rows of x and
//! some rows of y.
//!
//! A label column (`by`) keeps the answers of groups apart, and a condition on keys (`within`)
//! keeps the pairs of equal or of different keys only. RowSet are sorted by group, then by key. Equal
//! keys are then ranges of rows, so pairs are kept or left out a rectangle at a time, and the cost
//! follows the pairs that are kept.
//!
//! ```text
//! by = kind, i < j                       within = same:sample, i < j
//!        H    O                                 s1   s2   s3
//!   H    ◥    ■                            s1   ◥
//!   O         ◥      3 parts               s2        ◥
//!                                          s3             ◥      3 parts
//! ```
//!
//! A window (`band`) keeps some columns of each row of a part. A list of pairs has parts with a band,
//! too (`describe/listed.rs`).
//!
//! A part has its own blocks and tiles, and the rows of a part are in ascending order. So its answer
//! is the one of the same question about these rows alone, with all its bits, and every strategy of
//! plain questions serves parts. `fold/grouped.rs` puts the answers together.

use crate::error::{Error, Result};
use crate::keys::RowKeys;
use crate::pair::Side;
use crate::space::{Domain, Space, Window};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

mod apart;
mod sorted;

use apart::Apart;
pub use sorted::Part;
pub(crate) use sorted::RowSet;
use sorted::{Cell, Sorted, few};

/// Which pairs a condition on keys keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Pairs of rows with the same key.
    Same,
    /// Pairs of rows with different keys.
    Other,
}

/// A condition on the keys of a pair.
#[derive(Clone, Debug)]
pub struct Within {
    /// The keys.
    pub keys: RowKeys,
    /// Which pairs stay.
    pub keep: Keep,
}

/// Pairs (i, j) by the numbers of their rows, in the order given.
pub type RowPairs = Arc<[[u32; 2]]>;

/// The pairs that a question lists, and where its parts have them.
#[derive(Clone, Debug)]
pub struct PairList {
    /// The pairs in the order given; where a pair counts for both of its rows, both ways.
    pub pairs: RowPairs,
    /// The places in `pairs` of those of all parts, one part after another.
    places: Vec<u32>,
    /// The side whose rows have results.
    along: Side,
}

impl PairList {
    pub(crate) fn new(pairs: RowPairs, places: Vec<u32>, along: Side) -> PairList {
        PairList {
            pairs,
            places,
            along,
        }
    }
    /// Returns the places in the list of the pairs of `part`, in its order of pairs.
    pub(crate) fn places(&self, part: &Part) -> &[u32] {
        let entries = match self.along {
            Side::X => &part.cols,
            Side::Y => &part.rows,
        };
        &self.places[entries.all.clone()]
    }
}

/// The parts of a question.
#[derive(Clone, Debug)]
pub struct KeyParts {
    /// The groups whose answers are kept apart.
    pub by: Option<RowKeys>,
    /// The condition on keys.
    pub within: Option<Within>,
    /// Which pairs are kept by the places of their rows.
    pub window: Window,
    /// Whether each group is a question of its own, with an answer of its own.
    pub batches: bool,
    /// The pairs, where the question lists them.
    pub listed: Option<PairList>,
    /// The parts, in the order in which they are computed and merged.
    pub list: Vec<Part>,
    /// The rows of x and of y, sorted by group and key.
    orders: [Vec<u32>; 2],
    /// Where the rows of each part begin if the rows of all parts follow one another.
    starts: Vec<usize>,
    /// Whether pairs (i, j) represent (j, i), so that groups are unordered pairs.
    pub half: bool,
    /// Whether the result of a row may come from several parts.
    pub several: bool,
}

impl KeyParts {
    /// Returns the parts for these groups and this condition. `whole_rows` says that each row and
    /// group of y must have all of its pairs in one part.
    ///
    /// # Errors
    /// `Request` for too many parts.
    pub(crate) fn new(
        by: Option<RowKeys>,
        within: Option<Within>,
        window: Window,
        (space, whole_rows): (&Space, bool),
    ) -> Result<KeyParts> {
        let keys = within.as_ref().map(|within| &within.keys);
        let side = |side: usize, rows: usize| Sorted::new(by.as_ref(), keys, side, rows);
        let x = side(0, space.n);
        // One table is sorted once.
        let y = match space.is_self() {
            true => x.clone(),
            false => side(1, space.m),
        };
        let keep = within.as_ref().map(|w| w.keep);
        let orders = [&x.order[..], &y.order];
        let several = keep == Some(Keep::Other) && !whole_rows && Apart::is_deep(&x);
        let mut list = vec![];
        if several {
            let half = space.is_triangular();
            list = windowed(Apart::of_all_groups([&x, &y], half)?, &window, orders);
        } else {
            for cell in &x.cells {
                let mut made = vec![];
                others(cell, &y, keep, space, &mut made)?;
                list.extend(windowed(made, &window, orders));
                few(&list)?;
            }
        }
        let parts = KeyParts {
            by,
            within,
            window,
            batches: false,
            listed: None,
            list,
            orders: [x.order, y.order],
            starts: vec![],
            half: space.is_triangular(),
            several,
        };
        parts.counted()
    }
    /// Returns the parts `list` of a question that lists its pairs, whose rows are in `orders`.
    ///
    /// # Errors
    /// `Request` for too many parts.
    pub(crate) fn of_list(
        (by, within, window): (Option<RowKeys>, Option<Within>, Window),
        listed: PairList,
        (list, orders): (Vec<Part>, [Vec<u32>; 2]),
        half: bool,
    ) -> Result<KeyParts> {
        let parts = KeyParts {
            by,
            within,
            window,
            batches: false,
            listed: Some(listed),
            list,
            orders,
            starts: vec![],
            half,
            several: false,
        };
        parts.counted()
    }
    /// Returns the parts with where their rows begin.
    fn counted(mut self) -> Result<KeyParts> {
        few(&self.list)?;
        self.starts = vec![0];
        for part in &self.list {
            self.starts
                .push(self.starts[self.starts.len() - 1] + part.rows.len());
        }
        Ok(self)
    }
    /// Returns the parts of batches: each group is a question of its own.
    pub(crate) fn with_batches(self, batches: bool) -> KeyParts {
        KeyParts { batches, ..self }
    }
    /// Returns the number of groups, 1 if none were requested.
    pub fn groups(&self) -> usize {
        self.by.as_ref().map_or(1, RowKeys::len)
    }
    /// Returns whether pairs of rows with groups are left out.
    pub fn leaves_out(&self) -> bool {
        self.within.is_some() || !self.window.is_open() || self.listed.is_some()
    }
    /// Returns the rows of a side that are in a part, by group and key: rows without a group or a key
    /// are in none.
    pub fn members(&self, side: Side) -> &[u32] {
        &self.orders[side as usize]
    }
    /// Returns the rows of x of part `at`, ascending.
    pub fn rows(&self, at: usize) -> Vec<u32> {
        self.list[at].rows.list(&self.orders[0])
    }
    /// Returns the rows of y of part `at`, ascending.
    pub fn cols(&self, at: usize) -> Vec<u32> {
        self.list[at].cols.list(&self.orders[1])
    }
    /// Returns where the rows of part `at` begin if the rows of all parts follow one another. Tiles
    /// of parts count rows so, and columns from 0 in each part.
    pub fn start(&self, at: usize) -> usize {
        self.starts[at]
    }
    /// Returns the part that row `row` of [`Self::start`] belongs to.
    pub fn part_of(&self, row: usize) -> usize {
        // Parts have rows, so starts rise.
        self.starts.partition_point(|start| *start <= row) - 1
    }
    /// Counts the pairs of `cols` in the part and the `rows` that a tile has.
    pub fn count(&self, rows: &Range<usize>, cols: &Range<usize>) -> u64 {
        let at = self.part_of(rows.start);
        let start = self.starts[at];
        let rows = rows.start - start..rows.end - start;
        self.list[at].space(None).count(&rows, cols)
    }
    /// Counts the pairs of all parts.
    ///
    /// # Errors
    /// `Request` beyond 2^64.
    pub fn size(&self) -> Result<u64> {
        self.list.iter().try_fold(0u64, |sum, part| {
            let size = part.space(None).size()?;
            sum.checked_add(size)
                .ok_or_else(|| Error::request("too many pairs").limit("2^64 pairs"))
        })
    }
    /// Returns the rows of both sides with room between those of different parts, so that the ones of
    /// each part begin at a multiple of `step`. `is_self` says that both sides are one table, whose
    /// rows get one place. `None` for different keys, lists of pairs and windows.
    pub fn spread(&self, step: usize, is_self: bool) -> Option<Spread> {
        // Different keys: the rows of y may lie before those of x, where a half has no pairs.
        let other = self.within.as_ref().is_some_and(|w| w.keep == Keep::Other);
        if other || self.listed.is_some() || !self.window.is_open() {
            return None;
        }
        let sides = |part: &Part| [part.rows.range(), part.cols.range()];
        let ranges: Vec<[Option<Range<usize>>; 2]> = self.list.iter().map(sides).collect();
        let of_side = |side: usize| ranges.iter().map(move |of_part| of_part[side].clone());
        let [x, y] = if is_self {
            let both = Places::new(of_side(0).chain(of_side(1)), &self.orders[0], step)?;
            [both.clone(), both]
        } else {
            [
                Places::new(of_side(0), &self.orders[0], step)?,
                Places::new(of_side(1), &self.orders[1], step)?,
            ]
        };
        let place = |of_part: &[Option<Range<usize>>; 2]| {
            let [rows, cols] = of_part.each_ref().map(Option::as_ref);
            Some([x.place(rows?)?, y.place(cols?)?])
        };
        let starts = ranges.iter().map(place).collect::<Option<_>>()?;
        Some(Spread {
            rows: [x.rows, y.rows],
            starts,
        })
    }
    /// Returns the part with the most pairs, for which plans are made, and the one with the most of
    /// all others.
    pub fn largest(&self) -> [Option<usize>; 2] {
        let pairs = |at: &usize| self.list[*at].space(None).size().unwrap_or(u64::MAX);
        let most = |without: Option<usize>| {
            let others = (0..self.list.len()).filter(|at| Some(*at) != without);
            others.max_by_key(|at| (pairs(at), usize::MAX - at))
        };
        let first = most(None);
        [first, first.and_then(|first| most(Some(first)))]
    }
    /// Returns the bytes of a list of pairs and of the rows and bands of its parts; 0 without a list.
    pub fn listed_bytes(&self) -> u64 {
        let Some(listed) = &self.listed else { return 0 };
        let numbers = self.orders.iter().map(Vec::len).sum::<usize>() + listed.places.len();
        let banded = self.list.iter().filter(|part| part.band.is_some());
        let bands: usize = banded.map(|part| part.rows.len()).sum();
        let parts = self.list.len() * size_of::<Part>();
        (8 * (listed.pairs.len() + bands) + 4 * numbers + parts) as u64
    }
}

/// The rows of a question, those of each part together, from a multiple of a step on. Rows between
/// repeat the last one before them.
#[derive(Clone, Debug)]
pub struct Spread {
    /// Which row of x, and of y, each is.
    pub rows: [Vec<u32>; 2],
    /// By part: where its rows of x and of y begin.
    pub starts: Vec<[usize; 2]>,
}

/// Ranges of sorted rows, each from a multiple of a step on.
#[derive(Clone)]
struct Places {
    /// Where the rows of a range begin, by the place of its first sorted row and by its length.
    starts: BTreeMap<(usize, usize), usize>,
    rows: Vec<u32>,
}

impl Places {
    /// Returns the places of these ranges of `order`; `None` if one is missing, or two overlap.
    fn new(
        ranges: impl Iterator<Item = Option<Range<usize>>>,
        order: &[u32],
        step: usize,
    ) -> Option<Places> {
        let mut starts = BTreeMap::new();
        for range in ranges {
            let range = range?;
            starts.insert((range.start, range.len()), 0);
        }
        let (mut rows, mut end): (Vec<u32>, usize) = (vec![], 0);
        for ((first, length), start) in &mut starts {
            if *first < end {
                return None;
            }
            end = first + length;
            let last = rows.last().copied().unwrap_or(0);
            rows.resize(rows.len().next_multiple_of(step), last);
            *start = rows.len();
            rows.extend_from_slice(&order[*first..end]);
        }
        Some(Places { starts, rows })
    }
    fn place(&self, range: &Range<usize>) -> Option<usize> {
        self.starts.get(&(range.start, range.len())).copied()
    }
}

/// Returns the parts with the pairs that `window` keeps, where it keeps some.
fn windowed(list: Vec<Part>, window: &Window, [x, y]: [&[u32]; 2]) -> Vec<Part> {
    if window.is_open() {
        return list;
    }
    let with_band = |part: Part| {
        let (rows, cols) = (part.rows.list(x), part.cols.list(y));
        let rows = rows.iter().map(|row| *row as usize);
        let band = window.band(rows, cols.len(), |at| cols[at] as usize);
        let part = Part {
            band: Some(band),
            ..part
        };
        let some = part.space(None).size().is_ok_and(|size| size > 0);
        some.then_some(part)
    };
    list.into_iter().filter_map(with_band).collect()
}

/// Appends the parts of the rows `cell` of x.
fn others(
    cell: &Cell,
    y: &Sorted,
    keep: Option<Keep>,
    space: &Space,
    list: &mut Vec<Part>,
) -> Result<()> {
    let half = space.is_triangular();
    let mut add = |group: u32, cols: RowSet, is_self: bool| {
        let part = Part {
            rows: cell.rows.clone().into(),
            cols,
            band: None,
            domain: if is_self && space.is_self() {
                space.domain
            } else {
                Domain::Cross
            },
            groups: match half {
                true => [cell.group.min(group), cell.group.max(group)],
                false => [cell.group, group],
            },
        };
        // One row has no pair with itself in most domains.
        if part.space(None).size()? > 0 {
            list.push(part);
        }
        few(list)
    };
    match keep {
        None => {
            for run in &y.runs {
                let group = y.cells[run.start].group;
                if !half || group >= cell.group {
                    add(group, y.rows_of(run).into(), group == cell.group)?;
                }
            }
        }
        Some(Keep::Same) => {
            for at in y.with_key(cell.key) {
                let other = &y.cells[*at];
                if !half || other.group >= cell.group {
                    let cols = other.rows.clone().into();
                    add(other.group, cols, other.group == cell.group)?;
                }
            }
        }
        Some(Keep::Other) => {
            for run in &y.runs {
                let cells = &y.cells[run.clone()];
                let below = run.start + cells.partition_point(|c| c.key < cell.key);
                let above = run.start + cells.partition_point(|c| c.key <= cell.key);
                let group = cells[0].group;
                // Of (i, j) and (j, i) the one whose first row has the lower key.
                let cols = match half {
                    true => y.rows_of(&(above..run.end)).into(),
                    false => RowSet::from(y.rows_of(run)).except(y.rows_of(&(below..above))),
                };
                add(group, cols, false)?;
            }
        }
    }
    Ok(())
}

/// Returns the rows (i, j) of the question that pair `pair` of a part has. If pairs have no order
/// (`half`), the lower row comes first.
pub(crate) fn pair_of(half: bool, rows: &[u32], cols: &[u32], pair: (u64, u64)) -> (u64, u64) {
    let i = u64::from(rows[pair.0 as usize]);
    let j = u64::from(cols[pair.1 as usize]);
    if half && i > j { (j, i) } else { (i, j) }
}
