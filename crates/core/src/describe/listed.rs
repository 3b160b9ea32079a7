//! Reads a list of pairs, and divides it into parts.
//!
//! ```text
//! listed (i, j)            sorted by i, then j          part: rows 2, 5 of x × listed rows of y
//! 5 1                      2 7                                 7 7 | 0 1
//! 2 7                      2 7                          2      ■ ■
//! 5 0                      5 0                          5            ■ ■
//! 2 7                      5 1
//! ```
//!
//! A part has some rows of x, and for each of their pairs a row of y of its own. So every row meets one
//! range of columns, which is a band, a pair that is listed twice is two columns, and all folds and
//! kernels of plain questions serve. Results along columns have parts the other way round: some rows
//! of y, and for each of their pairs a row of x.

use crate::data::Data;
use crate::error::{Error, Result};
use crate::fold::{Fold, JoinKind, Listed, ReduceAxis};
use crate::keys::RowKeys;
use crate::opt::Opt;
use crate::pair::Side;
use crate::parts::{PairList, Part, RowPairs, RowSet};
use crate::problem::Problem;
use crate::space::{Band, Domain, Space};
use crate::table::Table;
use std::ops::Range;

/// Pairs of a part: enough that its start does not matter, few enough that copies of its rows stay in
/// a cache.
const PAIRS: usize = 1 << 15;

/// Bytes that a pair takes while the list is sorted and divided: the list, that of both ways or of the
/// lower rows, the keys that are sorted, rows and places before and after they are sorted by group.
const PASSING: u64 = 56;

/// Bytes that a list takes, next to its table, while [`super::describe()`] divides it.
pub(super) fn passing_bytes(problem: &Problem, data: &Data) -> u64 {
    let ways = match problem.domain {
        Some(Domain::Diagonal) => 2,
        _ => 1,
    };
    let pairs = data.pairs.as_ref().map_or(0, Table::rows) as u64;
    pairs.saturating_mul(ways * PASSING)
}

/// Reads the pairs that `problem` lists.
///
/// # Errors
/// `Request` for other than two columns, and for more pairs than 32 bits count; `Input` for what is
/// not a row, with its place.
pub(super) fn read(problem: &Problem, data: &Data) -> Result<RowPairs> {
    let rows = [data.x.rows(), data.other().rows()];
    let (Some(input), Some(table)) = (&problem.pairs, &data.pairs) else {
        return Ok(RowPairs::default());
    };
    let names = ["x", if data.y.is_some() { "y" } else { "x" }];
    pairs_in(table, &input.name, (rows, names))
}

/// Reads the pairs in `table`, called `name`, of two tables with this many rows and these names.
fn pairs_in(table: &Table, name: &str, (rows, names): ([usize; 2], [&str; 2])) -> Result<RowPairs> {
    if table.cols() != 2 {
        let what = format!("expected two columns, rows i and j, got {}", table.cols());
        return Err(Error::request(what)
            .at_place(name.to_string())
            .remedy("a table of these two alone; a problem file chooses columns: pairs = { name = 'FILE', columns = ['i', 'j'] }"));
    }
    countable(table.rows())?;
    let number = |at: usize, side: usize| {
        let given = table.get(at, side);
        let row = given as u32;
        match f64::from(row) == given && (row as usize) < rows[side] {
            true => Ok(row),
            false => Err(no_row(
                given,
                rows[side],
                names[side],
                format!("{name}, row {at}"),
            )),
        }
    };
    let pair = |at: usize| Ok([number(at, 0)?, number(at, 1)?]);
    (0..table.rows()).map(pair).collect()
}

/// Refuses more pairs than 32 bits count.
fn countable(pairs: usize) -> Result<()> {
    match u32::try_from(pairs) {
        Ok(_) => Ok(()),
        Err(_) => {
            let e = Error::request(format!("{pairs} pairs")).at_place(Opt::Pairs);
            Err(e.limit(format!("{} pairs", u32::MAX)))
        }
    }
}

/// The refusal of a number beyond the rows, or of none.
fn no_row(given: f64, rows: usize, name: &str, place: String) -> Error {
    let what = match rows {
        0 => format!("expected a row of {name}, which has none, got {given}"),
        _ => format!(
            "expected a row of {name} from 0 to {}, got {given}",
            rows - 1
        ),
    };
    let e = Error::input(what).at_place(place);
    e.limit(format!("{name} has {rows} rows"))
}

/// The space of a question that lists its pairs: all pairs, of which parts have the listed ones.
///
/// # Errors
/// `Request` for domains that say which pairs are visited.
pub(super) fn space(problem: &Problem, data: &Data) -> Result<Space> {
    let domain = match (problem.domain, data.y.is_some()) {
        (None | Some(Domain::Cross), true) => Domain::Cross,
        (None | Some(Domain::Square | Domain::Cross | Domain::Diagonal), false) => Domain::Square,
        (Some(other), _) => {
            let other = format!("{other:?}").to_lowercase();
            let what = format!("expected no domain, since the pairs are listed, got {other}");
            return Err(Error::request(what).at_place(Opt::Domain).remedy(format!(
                "leave {} out; {} counts a pair of one table for both of its rows",
                Opt::Domain,
                Opt::Domain.to("diagonal")
            )));
        }
    };
    Ok(Space {
        domain,
        n: data.x.rows(),
        m: data.other().rows(),
        cutoff: problem.cutoff,
        band: None,
    })
}

/// The fold of listed pairs that a matrix becomes; others stay.
///
/// # Errors
/// `Request` for the condensed order, which has a place for all pairs.
pub(super) fn fold(fold: Fold) -> Result<Fold> {
    let Some(dense) = fold.dense() else {
        return Ok(fold);
    };
    if dense.condensed {
        let what = "expected a matrix, whose values are those of the listed pairs, got condensed";
        let e = Error::request(what).at_place(Opt::Pairs);
        return Err(e.remedy("ask for the matrix"));
    }
    Ok(Fold::Listed(Listed::of_pairs(dense.root)))
}

/// How the folds of a question take listed pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The side whose rows have results, and are complete in one part each.
    pub along: Side,
    /// Whether a result needs all pairs of its row.
    pub whole: bool,
    /// Whether a pair counts for both of its rows.
    pub both: bool,
}

/// Whether a pair (i, j) of half of the pairs counts for row j too.
fn credits_both(fold: &Fold) -> bool {
    match fold {
        Fold::Reduce(fold) => fold.axis != ReduceAxis::All,
        Fold::Join(fold) => fold.kind != JoinKind::Inner,
        Fold::Nearest(_) | Fold::Quantile(_) => true,
        Fold::Histogram(_)
        | Fold::Extremes(_)
        | Fold::Top(_)
        | Fold::Listed(_)
        | Fold::Dense(_)
        | Fold::Grouped(_) => false,
    }
}

impl Taken {
    /// How `folds` take the pairs; `half` says that a pair means (j, i) too.
    ///
    /// # Errors
    /// `Request` for folds that take them in different ways.
    pub(crate) fn by(folds: &[Fold], half: bool) -> Result<Taken> {
        let is_down =
            |fold: &Fold| matches!(fold, Fold::Reduce(fold) if fold.axis == ReduceAxis::Column);
        let is_unordered = |fold: &Fold| {
            matches!(
                fold,
                Fold::Histogram(_) | Fold::Extremes(_) | Fold::Listed(_)
            )
        };
        // Pairs that are found have an order, and are put together from any parts of a row.
        let is_loose = |fold: &Fold| {
            let inner = matches!(fold, Fold::Join(fold) if fold.kind == JoinKind::Inner);
            inner || is_unordered(fold) || matches!(fold, Fold::Top(_))
        };
        let down = folds.iter().any(is_down);
        if down && !folds.iter().all(|fold| is_down(fold) || is_unordered(fold)) {
            let e = Error::request("expected results by row or by column, got both");
            return Err(e.at_place(Opt::Pairs).remedy("one run for each fold"));
        }
        let both = half && folds.iter().any(credits_both);
        if both && !folds.iter().all(credits_both) {
            let what = "expected folds that take a pair for both of its rows, or for one, got each";
            let e = Error::request(what).at_place(Opt::Domain);
            return Err(e.remedy("one run for each fold"));
        }
        Ok(Taken {
            along: if down { Side::Y } else { Side::X },
            whole: !folds.iter().all(is_loose),
            both,
        })
    }
    /// Gives values of listed pairs the places that they have in these parts; others stay.
    pub(crate) fn placed(&self, fold: Fold) -> Fold {
        if let Fold::Listed(listed) = &fold {
            return Fold::Listed(listed.along(self.along));
        }
        fold
    }
}

/// Parts on their way.
struct Cutting<'a> {
    along: Side,
    whole: bool,
    /// The rows of each pair in the order of parts: the one that has the result, and the other.
    sorted: &'a [[u32; 2]],
    /// The rows that parts have results of, one part after another.
    heads: Vec<u32>,
    list: Vec<Part>,
}

impl Cutting<'_> {
    /// Where the pairs of the row that begin with entry `at` end, before `end`.
    fn row_end(&self, at: usize, end: usize) -> usize {
        let [head, _] = self.sorted[at];
        let other = |next: &usize| self.sorted[*next][0] != head;
        (at..end).find(other).unwrap_or(end)
    }
    /// Cuts the sorted entries `all`, of rows with these groups, into parts.
    fn cell(&mut self, all: Range<usize>, groups: [u32; 2]) {
        let (mut start, mut at, mut starts) = (all.start, all.start, vec![]);
        while at < all.end {
            // Pairs that need not be together are cut within a row, too.
            let end = match self.whole {
                true => self.row_end(at, all.end),
                false => self.row_end(at, all.end.min(start + PAIRS)),
            };
            // A row goes to the next part unless it fits, or the part has none.
            if at > start && end - start > PAIRS {
                self.part(start..at, &std::mem::take(&mut starts), groups);
                start = at;
            }
            starts.push(at);
            at = end;
            if at - start >= PAIRS {
                self.part(start..at, &std::mem::take(&mut starts), groups);
                start = at;
            }
        }
        if start < all.end {
            self.part(start..all.end, &starts, groups);
        }
    }
    /// Adds the part of these entries, whose rows begin at the entries `starts`.
    fn part(&mut self, entries: Range<usize>, starts: &[usize], groups: [u32; 2]) {
        let first = self.heads.len();
        let heads = starts.iter().map(|at| self.sorted[*at][0]);
        self.heads.extend(heads);
        let heads = RowSet::listed(first..self.heads.len());
        let ends = starts.iter().skip(1).copied().chain([entries.end]);
        let first_entry = entries.start;
        let runs = starts.iter().zip(ends);
        let runs = runs.map(|(start, end)| start - first_entry..end - first_entry);
        let (rows, cols, band) = match self.along {
            Side::X => (heads, RowSet::listed(entries), Band::new(runs)),
            Side::Y => {
                let single = runs.enumerate();
                let single = single.flat_map(|(at, run)| run.map(move |_| at..at + 1));
                (RowSet::listed(entries), heads, Band::new(single))
            }
        };
        self.list.push(Part {
            rows,
            cols,
            domain: Domain::Cross,
            groups,
            band: Some(band),
        });
    }
}

/// What the list of a question becomes: its parts, the rows that these have on either side, and where
/// their pairs are in the list.
pub(crate) struct Divided {
    pub(crate) list: Vec<Part>,
    pub(crate) orders: [Vec<u32>; 2],
    pub(crate) listed: PairList,
}

/// Divides the pairs that `keeps` keeps into parts, apart by groups. `half` says that pairs have no
/// order.
///
/// # Errors
/// `Request` for more pairs than 32 bits count, both ways.
pub(crate) fn divide(
    listed: RowPairs,
    taken: Taken,
    by: Option<&RowKeys>,
    (half, keeps): (bool, impl Fn([u32; 2]) -> bool),
) -> Result<Divided> {
    let listed = match taken.both {
        true => both_ways(&listed)?,
        false => listed,
    };
    // Parts then have the pairs in the order in which answers name them, so ties within a part are
    // those of the question.
    let pairs = match half {
        true => lower_first(&listed),
        false => listed.clone(),
    };
    // The lower group first, where pairs have no order.
    let groups = |at: u32| {
        let [i, j] = pairs[at as usize].map(|row| row as usize);
        let [a, b] = by.map_or([0, 0], |by| [by.codes[0][i], by.codes[1][j]]);
        if half { [a.min(b), a.max(b)] } else { [a, b] }
    };
    let all = (0..pairs.len() as u32).filter(|at| keeps(pairs[*at as usize]));
    let (mut places, mut rows) = sorted(&pairs, all.collect(), taken.along);
    if by.is_some() {
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|at| groups(places[*at]));
        places = order.iter().map(|at| places[*at]).collect();
        rows = order.iter().map(|at| rows[*at]).collect();
    }
    let mut cutting = Cutting {
        along: taken.along,
        whole: taken.whole,
        sorted: &rows,
        heads: vec![],
        list: vec![],
    };
    let mut start = 0;
    for cell in places.chunk_by(|a, b| by.is_none() || groups(*a) == groups(*b)) {
        cutting.cell(start..start + cell.len(), groups(cell[0]));
        start += cell.len();
    }
    let Cutting { heads, list, .. } = cutting;
    let others = rows.iter().map(|row| row[1]).collect();
    let orders = match taken.along {
        Side::X => [heads, others],
        Side::Y => [others, heads],
    };
    let listed = PairList::new(listed, places, taken.along);
    Ok(Divided {
        list,
        orders,
        listed,
    })
}

/// Each pair and its reverse; a row paired with itself once.
///
/// # Errors
/// `Request` for more than 32 bits count.
fn both_ways(pairs: &[[u32; 2]]) -> Result<RowPairs> {
    let back = || pairs.iter().filter(|[i, j]| i != j).map(|[i, j]| [*j, *i]);
    countable(pairs.len() + back().count())?;
    Ok(pairs.iter().copied().chain(back()).collect())
}

/// Each pair with its lower row first.
fn lower_first(pairs: &[[u32; 2]]) -> RowPairs {
    pairs.iter().map(|[i, j]| [*i.min(j), *i.max(j)]).collect()
}

/// The places `all` of `pairs`, by row of the side `along`, then by the other row, then as given; and
/// these two rows of each.
fn sorted(pairs: &[[u32; 2]], all: Vec<u32>, along: Side) -> (Vec<u32>, Vec<[u32; 2]>) {
    let (head, other) = (along as usize, 1 - along as usize);
    let key = |at: &u32| [pairs[*at as usize][head], pairs[*at as usize][other]];
    // A list that is sorted is common, and passed over once.
    if all.is_sorted_by_key(key) {
        let rows = all.iter().map(key).collect();
        return (all, rows);
    }
    // Counted by row, since rows are few numbers next to one another; then the pairs of each, whose
    // other rows and places travel together.
    let count = all.iter().map(|at| key(at)[0] as usize + 1).max();
    let mut ends = vec![0usize; count.unwrap_or(0) + 1];
    all.iter().for_each(|at| ends[key(at)[0] as usize + 1] += 1);
    (1..ends.len()).for_each(|row| ends[row] += ends[row - 1]);
    let mut packed = vec![0u64; all.len()];
    for at in all {
        let [row, other] = key(&at);
        let end = &mut ends[row as usize];
        packed[*end] = u64::from(other) << 32 | u64::from(at);
        *end += 1;
    }
    let (mut start, mut rows) = (0, Vec::with_capacity(packed.len()));
    for (row, end) in ends.iter().take(ends.len() - 1).enumerate() {
        packed[start..*end].sort_unstable();
        let others = packed[start..*end]
            .iter()
            .map(|packed| (packed >> 32) as u32);
        rows.extend(others.map(|other| [row as u32, other]));
        start = *end;
    }
    let places = packed.iter().map(|packed| *packed as u32).collect();
    (places, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(along: Side, whole: bool) -> Taken {
        Taken {
            along,
            whole,
            both: false,
        }
    }

    /// Places of pairs are of 32 bits, also of both ways of each.
    #[test]
    fn more_pairs_than_32_bits_count_are_refused() {
        assert!(countable(u32::MAX as usize).is_ok());
        let e = countable(1 << 32).unwrap_err().to_string();
        assert!(e.contains("4294967296 pairs"), "{e}");
    }

    /// The pairs of all parts, by their places, are the list; rows of a part are those of its pairs.
    #[test]
    fn parts_have_each_pair_once() {
        let n = 300u32;
        let mut draw = crate::random::SplitMix::new(140);
        let mut number = |below: u32| draw.remainder(below as usize) as u32;
        let random: Vec<[u32; 2]> = (0..100_000).map(|_| [number(n), number(n)]).collect();
        let row: Vec<[u32; 2]> = (0..80_000).map(|_| [7, number(n)]).collect();
        for pairs in [vec![], vec![[3, 3]; 5], random, row] {
            for (side, whole) in [(Side::X, true), (Side::X, false), (Side::Y, true)] {
                let all = divide(
                    pairs.clone().into(),
                    taken(side, whole),
                    None,
                    (false, |_| true),
                )
                .unwrap();
                let mut seen = vec![false; pairs.len()];
                for part in &all.list {
                    let space = part.space(None);
                    let [rows, cols] = [
                        part.rows.list(&all.orders[0]),
                        part.cols.list(&all.orders[1]),
                    ];
                    assert_eq!([rows.len(), cols.len()], [space.n, space.m]);
                    assert!(whole || space.size().unwrap() <= PAIRS as u64);
                    let places = all.listed.places(part);
                    let mut entry = 0;
                    for (i, row) in rows.iter().enumerate() {
                        for j in space.columns(i, &(0..space.m)).into_iter().flatten() {
                            let at = places[entry] as usize;
                            assert_eq!([*row, cols[j]], pairs[at]);
                            assert!(!std::mem::replace(&mut seen[at], true));
                            entry += 1;
                        }
                    }
                    assert_eq!(entry, places.len());
                }
                assert!(seen.iter().all(|seen| *seen));
            }
        }
    }
}
