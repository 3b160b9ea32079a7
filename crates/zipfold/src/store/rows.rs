//! The rows of a store by their places along the curve: a share reads the rows of its bands, and
//! nothing else of the inputs.
//!
//! ```text
//! place  0 … size − 1    rows/x000001     a file for each range of x, and of y where it is another
//!        size …          rows/x000002     table: which rows they are, their numbers, their weights
//! ```
//!
//! A metric that prepares whole tables (ranks, variances) needs all rows. Files then tell which rows
//! they are, and workers read the inputs.

use super::files::{ANEW, Files};
use super::sent::SentTable;
use crate::identity::Identity;
use crate::partial::{open_sealed, seal};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use zipfold_core::describe::describe_until;
use zipfold_core::{Budget, Data, Error, Job, Problem, Reservation, Result, Space, Table};
use zipfold_plan::squares::{PieceKind, SquareBand, Squares};

const MAGIC: &[u8; 8] = b"ZFROWS\x00\x01";
/// Times that the rows of a band are in memory at once: as they are read, as a question, in the
/// order of a piece, and as the engine sorts them.
pub(super) const COPIES: u64 = 4;

/// The rows of a range of places.
#[derive(Serialize, Deserialize)]
struct RowFile {
    /// The question whose rows they are.
    identity: Identity,
    /// The name of the file.
    name: String,
    /// Which rows of the question they are.
    rows: Vec<u32>,
    /// What they hold, unless whole tables are needed.
    held: Option<HeldRows>,
}

/// Rows with their weights.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct HeldRows {
    table: SentTable,
    /// The weights of each fold that has some.
    weights: Vec<Option<SentTable>>,
}

impl HeldRows {
    /// Rows of a side of `data`. Numbers of text stand for themselves in a formula.
    fn taken(data: &Data, side: usize, rows: &[u32]) -> Result<Self> {
        let sent = |table: &Table| {
            let table = table.of_rows(rows)?.without_words();
            Ok(SentTable::new(&table))
        };
        let weight = |both: &Option<[Table; 2]>| both.as_ref().map(|w| sent(&w[side]));
        let weights = data.weights.iter().map(|both| weight(both).transpose());
        let table = if side == 0 { &data.x } else { data.other() };
        Ok(HeldRows {
            table: sent(table)?,
            weights: weights.collect::<Result<_>>()?,
        })
    }
    /// The columns of both sides of `data`, without rows.
    pub(super) fn columns(data: &Data) -> Result<[Self; 2]> {
        Ok([Self::taken(data, 0, &[])?, Self::taken(data, 1, &[])?])
    }
    fn tables(self) -> Result<HeldTables> {
        let weights = self.weights.into_iter();
        let weights = weights.map(|table| table.map(SentTable::table).transpose());
        Ok((self.table.table()?, weights.collect::<Result<Vec<_>>>()?))
    }
}

/// A table, and the weights of its rows by fold.
type HeldTables = (Table, Vec<Option<Table>>);

/// The two sides of a question, by the letters of their files.
const SIDES: [char; 2] = ['x', 'y'];

fn name(side: usize, file: usize) -> String {
    format!("rows/{}{:06}", SIDES[side], file + 1)
}

/// Bytes of a row of x and of y with its weights.
pub(super) fn row_bytes(data: &Data) -> [u64; 2] {
    let of = |table: &Table| {
        let beside = table.attributes().map_or(0, Table::cols);
        ((table.cols() + beside) * table.precision().bytes()) as u64
    };
    [0, 1].map(|side| {
        let weights = data.weights.iter().flatten().map(|both| of(&both[side]));
        let table = if side == 0 { &data.x } else { data.other() };
        of(table) + weights.sum::<u64>() + size_of::<u32>() as u64
    })
}

/// The files that hold these places of a side.
fn files_of(squares: &Squares, side: usize, places: &Range<usize>) -> Range<usize> {
    let size = squares.sizes[side];
    places.start / size..places.end.div_ceil(size)
}

/// The side whose files have the rows of y.
fn second_side(space: &Space) -> usize {
    usize::from(!space.is_self())
}

/// The files that `band` reads, by side and number.
fn files_of_band(squares: &Squares, space: &Space, band: &SquareBand) -> BTreeSet<(usize, usize)> {
    let second = second_side(space);
    let x = files_of(squares, 0, &band.rows).map(|file| (0, file));
    let y = band.cols.iter();
    let y = y.flat_map(|places| files_of(squares, second, places));
    x.chain(y.map(|file| (second, file))).collect()
}

/// Rows of both sides in the files that the bands read, one band after another.
pub(super) fn rows_read(squares: &Squares) -> u64 {
    let bands = squares.bands.iter();
    bands.map(|band| band_bytes(squares, band, [1, 1])).sum()
}

/// The names of the files that `bands` read.
pub(super) fn names(squares: &Squares, space: &Space, bands: &[SquareBand]) -> Vec<String> {
    let read = bands.iter();
    let read = read.flat_map(|band| files_of_band(squares, space, band));
    let read: BTreeSet<(usize, usize)> = read.collect();
    read.into_iter()
        .map(|(side, file)| name(side, file))
        .collect()
}

/// Bytes of the files that `band` reads, with rows as long as `row` says.
pub(super) fn band_bytes(squares: &Squares, band: &SquareBand, row: [u64; 2]) -> u64 {
    let x = files_of(squares, 0, &band.rows).len() * squares.sizes[0];
    // Ranges ascend, so a file that two of them touch is counted once.
    let (mut y, mut next) = (0, 0);
    for places in &band.cols {
        let of_range = files_of(squares, 1, places);
        y += of_range.end.saturating_sub(of_range.start.max(next)) * squares.sizes[1];
        next = of_range.end;
    }
    row[0] * x as u64 + row[1] * y as u64
}

/// Puts the rows of `data` into the store, in files of `sizes` rows, along `orders`; without what
/// they hold unless that is enough.
///
/// # Errors
/// Those of the store.
pub(super) fn write(
    files: &dyn Files,
    (data, identity): (&Data, Identity),
    (orders, sizes): (&[Vec<u32>; 2], [usize; 2]),
    enough: bool,
) -> Result<()> {
    for (side, order) in orders.iter().enumerate() {
        for (file, rows) in order.chunks(sizes[side].max(1)).enumerate() {
            let held = || HeldRows::taken(data, side, rows);
            let file_of_rows = RowFile {
                identity,
                name: name(side, file),
                rows: rows.to_vec(),
                held: enough.then(held).transpose()?,
            };
            let payload =
                postcard::to_stdvec(&file_of_rows).map_err(|e| Error::internal(e.to_string()))?;
            files.replace(&file_of_rows.name, &seal(MAGIC, &payload))?;
        }
    }
    Ok(())
}

/// A file that was read.
#[derive(Debug)]
struct Known {
    rows: Vec<u32>,
    held: Option<HeldTables>,
    _room: Reservation,
}

impl Known {
    /// # Errors
    /// `Input` when the file is not there, damaged, of another question, or has rows beyond `most`.
    fn read(
        files: &dyn Files,
        (name, identity): (&str, Identity),
        (size, most): (usize, usize),
        budget: &Budget,
    ) -> Result<Known> {
        let place = files.path(name).to_string_lossy().into_owned();
        let Some(bytes) = files.get(name, budget)? else {
            return Err(Error::input("the rows of the store are not there")
                .at_place(place)
                .remedy(ANEW));
        };
        let room = budget.reserve(bytes.len() as u64, "the rows of a share")?;
        let found: RowFile = open_sealed(MAGIC, &bytes, &place).map_err(|e| e.remedy(ANEW))?;
        drop(bytes);
        let odd = || {
            let e = Error::input("the rows of the store are damaged");
            e.at_place(place.clone()).remedy(ANEW)
        };
        if (found.identity, &*found.name) != (identity, name) {
            let e = Error::input("rows of another question or of another place");
            return Err(e.at_place(place).remedy(ANEW));
        }
        if found.rows.len() != size || found.rows.iter().any(|row| *row as usize >= most) {
            return Err(odd());
        }
        let held = found.held.map(HeldRows::tables).transpose()?;
        if let Some((table, weights)) = &held {
            let all = std::iter::once(table).chain(weights.iter().flatten());
            if all.into_iter().any(|table| table.rows() != size) {
                return Err(odd());
            }
        }
        Ok(Known {
            rows: found.rows,
            held,
            _room: room,
        })
    }
}

/// The rows of a band: which ones, and the question about them.
pub(super) struct BandRows {
    /// Rows of x and the other rows of y, ascending.
    pub rows: [Vec<u32>; 2],
    /// The question about these rows, or about all.
    job: Job,
    /// The numbers of the rows in it, where it is about these rows alone.
    places: Option<[Vec<u32>; 2]>,
    _room: Option<Reservation>,
}

impl BandRows {
    /// The rows of a piece in the question: of x, of y.
    pub(super) fn rows_of(&self, kind: PieceKind) -> [&[u32]; 2] {
        sides(&self.rows, kind)
    }
    /// A piece as a question of its own.
    ///
    /// # Errors
    /// `Internal` if its rows do not make tables.
    pub(super) fn question(&self, space: &Space, kind: PieceKind) -> Result<Job> {
        let rows = sides(self.places.as_ref().unwrap_or(&self.rows), kind);
        let domain = match kind {
            PieceKind::Own => space.domain,
            PieceKind::Others => zipfold_core::Domain::Cross,
        };
        self.job.of_rows(rows, domain)
    }
}

fn sides(both: &[Vec<u32>; 2], kind: PieceKind) -> [&[u32]; 2] {
    match kind {
        PieceKind::Own => [&both[0], &both[0]],
        PieceKind::Others => [&both[0], &both[1]],
    }
}

/// A row that was found: its number in the question, its file among those at hand, and its place
/// there.
type FoundRow = (u32, u32, u32);

/// What a worker reads rows with.
pub(super) struct Reader<'a> {
    files: &'a dyn Files,
    problem: &'a Problem,
    squares: &'a Squares,
    space: Space,
    identity: Identity,
    /// The question about all rows, where whole tables are needed.
    whole: Option<&'a Job>,
    budget: &'a Budget,
    stop: &'a dyn Fn() -> bool,
    /// The files of the last band, by side and number.
    at_hand: BTreeMap<(usize, usize), Known>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(
        files: &'a dyn Files,
        (problem, whole): (&'a Problem, Option<&'a Job>),
        (squares, space, identity): (&'a Squares, Space, Identity),
        (budget, stop): (&'a Budget, &'a dyn Fn() -> bool),
    ) -> Self {
        Reader {
            files,
            problem,
            squares,
            space,
            identity,
            whole,
            budget,
            stop,
            at_hand: BTreeMap::new(),
        }
    }
    /// Reads the files of `band` that are not at hand, and lets go of the others.
    fn take(&mut self, band: &SquareBand) -> Result<()> {
        let wanted = files_of_band(self.squares, &self.space, band);
        self.at_hand.retain(|file, _| wanted.contains(file));
        for (side, file) in wanted {
            if self.at_hand.contains_key(&(side, file)) {
                continue;
            }
            let rows = if side == 0 {
                self.space.n
            } else {
                self.space.m
            };
            let size = self.squares.sizes[side];
            let size = size.min(rows.saturating_sub(file * size));
            let name = name(side, file);
            let known = Known::read(
                self.files,
                (&name, self.identity),
                (size, rows),
                self.budget,
            )?;
            self.at_hand.insert((side, file), known);
        }
        Ok(())
    }
    /// The rows at some places of a side, ascending, with the number of their file among those of
    /// the side at hand.
    fn found(&self, side: usize, all: &mut dyn Iterator<Item = &Range<usize>>) -> Vec<FoundRow> {
        let size = self.squares.sizes[side];
        let numbers: BTreeMap<usize, u32> = self
            .of_side(side)
            .enumerate()
            .map(|(number, ((_, file), _))| (*file, number as u32))
            .collect();
        let mut found = vec![];
        for places in all {
            for place in places.clone() {
                let (file, at) = (place / size, place % size);
                let row = self.at_hand[&(side, file)].rows[at];
                found.push((row, numbers[&file], at as u32));
            }
        }
        found.sort_unstable();
        found
    }
    /// The files of a side that are at hand, in order.
    fn of_side(&self, side: usize) -> impl Iterator<Item = (&(usize, usize), &Known)> {
        self.at_hand.range((side, 0)..(side + 1, 0))
    }
    /// The rows of `band`, with the question about them.
    ///
    /// # Errors
    /// `Input` for files that are not there or damaged; `Resource` when the budget has no room.
    pub(super) fn band(&mut self, band: &SquareBand) -> Result<BandRows> {
        self.take(band)?;
        let second = second_side(&self.space);
        let x = self.found(0, &mut std::iter::once(&band.rows));
        let y = self.found(second, &mut band.cols.iter());
        let rows = [&x, &y].map(|found| found.iter().map(|row| row.0).collect::<Vec<u32>>());
        if let Some(job) = self.whole {
            return Ok(BandRows {
                rows,
                job: job.clone(),
                places: None,
                _room: None,
            });
        }
        let bytes = self
            .at_hand
            .values()
            .map(|known| known._room.bytes())
            .sum::<u64>();
        let room = self
            .budget
            .reserve(bytes * (COPIES - 1), "the rows of a share")?;
        let (data, places) = match self.space.is_self() {
            true => {
                let mut all = [x.clone(), y.clone()].concat();
                all.sort_unstable();
                let place = |row: &FoundRow| all.partition_point(|other| other < row) as u32;
                let places = [&x, &y].map(|found| found.iter().map(place).collect());
                let (table, weights) = self.gathered(0, &all)?;
                let twice = |table: Option<Table>| table.map(|table| [table.clone(), table]);
                let data = Data {
                    pairs: None,
                    x: table,
                    y: None,
                    weights: weights.into_iter().map(twice).collect(),
                };
                (data, places)
            }
            false => {
                let (table, of_x) = self.gathered(0, &x)?;
                let (other, of_y) = self.gathered(second, &y)?;
                let both = of_x.into_iter().zip(of_y).map(|(x, y)| Some([x?, y?]));
                let data = Data {
                    pairs: None,
                    x: table,
                    y: Some(other),
                    weights: both.collect(),
                };
                (
                    data,
                    [&x, &y].map(|found| (0..found.len() as u32).collect()),
                )
            }
        };
        Ok(BandRows {
            rows,
            job: self.described(data)?,
            places: Some(places),
            _room: Some(room),
        })
    }
    /// The table of these rows of a side, and their weights by fold.
    fn gathered(&self, side: usize, rows: &[FoundRow]) -> Result<(Table, Vec<Option<Table>>)> {
        let lost = || Error::input("the rows of the store hold nothing");
        let held = self.of_side(side).map(|(_, known)| known.held.as_ref());
        let held: Vec<_> = held.collect::<Option<_>>().ok_or_else(lost)?;
        let places = rows.iter().map(|(_, file, at)| (*file, *at));
        let tables: Vec<&Table> = held.iter().map(|(table, _)| table).collect();
        let table = Table::gathered(&tables, places.clone())?;
        let folds = held.first().map_or(0, |(_, weights)| weights.len());
        let weights = (0..folds).map(|fold| {
            let of_fold = held
                .iter()
                .filter_map(|(_, weights)| weights.get(fold)?.as_ref());
            let of_fold: Vec<&Table> = of_fold.collect();
            let gathered = (!of_fold.is_empty()).then(|| Table::gathered(&of_fold, places.clone()));
            gathered.transpose()
        });
        Ok((table, weights.collect::<Result<_>>()?))
    }
    /// The question with these columns and no rows, about as many pairs as the squares are.
    ///
    /// # Errors
    /// Those of its description; `Input` without columns.
    pub(super) fn frame(&self, columns: Option<&[HeldRows; 2]>) -> Result<Job> {
        if let Some(job) = self.whole {
            return Ok(job.clone());
        }
        let lost = || Error::input("the squares of the store have no columns");
        let [x, y] = columns.cloned().ok_or_else(lost)?;
        let ((x, weights), (y, of_y)) = (x.tables()?, y.tables()?);
        let both = weights.into_iter().zip(of_y).map(|(x, y)| Some([x?, y?]));
        let data = Data {
            pairs: None,
            x,
            y: (!self.space.is_self()).then_some(y),
            weights: both.collect(),
        };
        Ok(Job {
            space: self.space.clone(),
            ..self.described(data)?
        })
    }
    /// The question about some rows, whose sums add up with those of all.
    fn described(&self, data: Data) -> Result<Job> {
        let job = describe_until(self.problem, data, self.stop)?;
        Ok(job.with_scales_of(&self.squares.states))
    }
}
