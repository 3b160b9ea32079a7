//! GRO, the text of GROMACS: frames of a title, the number of atoms, atoms in fixed columns, a box.
//!
//! ```text
//! columns  0–4 residue number | 5–9 residue | 10–14 atom | 15–19 atom number | x | y | z | velocities
//! box      ax by cz, and of triclinic boxes ay az bx bz cx cy behind them
//! ```
//!
//! The width of a coordinate is the distance of two decimal points, as in GROMACS, so that files of
//! more digits are read too. Numbers of atoms are not used: they begin again after 99 999.

use super::atoms::{Atom, Atoms, Builder};
use super::{Raw, positions, serials};
use crate::growing::Growing;
use crate::guard::{Lines, Packing, Source};
use crate::text_rows::{number, show};
use zipfold_core::shown::short;
use zipfold_core::{Budget, Error, Result};

/// The first column of coordinates.
const COORDINATES: usize = 20;

/// The frames of a file.
pub(super) struct GroFrames {
    lines: Lines,
    budget: Budget,
    /// Bytes of the file; unknown when it is packed.
    size: Option<u64>,
}

impl GroFrames {
    pub(super) fn open(source: &Source, budget: &Budget) -> Result<GroFrames> {
        let size = (source.packing()? == Packing::Plain).then_some(source.size());
        Ok(GroFrames {
            lines: Lines::new(source, false, budget)?,
            budget: budget.clone(),
            size,
        })
    }
    fn wrong(&self, what: impl Into<String>) -> Error {
        let e = Error::input(what.into()).at_place(self.lines.place());
        e.remedy("a file as GROMACS writes it: title, number of atoms, atoms in fixed columns, box")
    }
    /// Reads the title and the number of atoms; none at the end of the file.
    fn head(&mut self) -> Result<Option<u64>> {
        if !self.lines.next()? {
            return Ok(None);
        }
        let titled = !self.lines.current().trim_ascii().is_empty();
        if !self.lines.next()? {
            // Empty lines may follow the last frame.
            return match titled {
                true => Err(self.wrong("expected a number of atoms, got the end of the file")),
                false => Ok(None),
            };
        }
        let text = String::from_utf8_lossy(self.lines.current().trim_ascii()).into_owned();
        if text.is_empty() && !titled {
            return Ok(None);
        }
        let count: u64 = text.parse().map_err(|_| {
            self.wrong(format!(
                "expected a number of atoms, got '{}'",
                short(&text, 40)
            ))
        })?;
        // An atom has three digits with their points behind its names.
        if self
            .size
            .is_some_and(|size| count.saturating_mul(COORDINATES as u64 + 6) > size)
        {
            let size = self.size.unwrap_or_default();
            return Err(self.wrong(format!(
                "the frame claims {count} atoms, but the file has {size} bytes"
            )));
        }
        Ok(Some(count))
    }
    /// Reads the next line of an atom, number `at` of `count`.
    fn atom_line(&mut self, at: u64, count: u64) -> Result<()> {
        match self.lines.next()? {
            true => Ok(()),
            false => Err(self.wrong(format!(
                "expected {count} atoms, got the end of the file after {at}"
            ))),
        }
    }
    pub(super) fn read_next(&mut self) -> Result<Option<Raw>> {
        let Some(count) = self.head()? else {
            return Ok(None);
        };
        let mut items = Growing::new(&self.budget, format!("a frame of {}", self.lines.name()));
        let mut width = 0;
        for at in 0..count {
            self.atom_line(at, count)?;
            if at == 0 {
                width = self.width()?;
            }
            items.extend(&self.place_of_atom(width)?)?;
        }
        if !self.lines.next()? {
            return Err(self.wrong("expected the line of the box, got the end of the file"));
        }
        let cell = self.cell()?;
        Ok(Some(Raw {
            positions: positions(items)?,
            cell: Some(cell),
            held: None,
        }))
    }
    /// The width of a coordinate: the distance of the first two decimal points.
    fn width(&self) -> Result<usize> {
        let rest = self.lines.current().get(COORDINATES..).unwrap_or_default();
        let points = || memchr::memchr_iter(b'.', rest);
        match (points().next(), points().nth(1)) {
            (Some(first), Some(second)) => Ok(second - first),
            _ => {
                Err(self.wrong("expected coordinates from column 21 on, got no two decimal points"))
            }
        }
    }
    fn place_of_atom(&self, width: usize) -> Result<[f64; 3]> {
        let line = self.lines.current();
        let mut place = [0.0; 3];
        for (axis, value) in place.iter_mut().enumerate() {
            let from = COORDINATES + axis * width;
            let field = line.get(from..from + width).unwrap_or_default();
            let parsed = number(field).filter(|v| v.is_finite());
            *value = parsed.ok_or_else(|| {
                let (name, columns) = (["x", "y", "z"][axis], (from + 1, from + width));
                self.wrong(format!(
                    "expected coordinate {name} in columns {} to {}, got '{}'",
                    columns.0,
                    columns.1,
                    show(field)
                ))
            })?;
        }
        Ok(place)
    }
    /// The box of the current line.
    fn cell(&self) -> Result<[[f64; 3]; 3]> {
        let line = self.lines.current();
        let words = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let read = |word: &[u8]| number(word).filter(|v| v.is_finite());
        let blanks: Option<Vec<f64>> = words.map(read).collect();
        let numbers = blanks.or_else(|| touching(line).map(read).collect());
        match numbers.as_deref() {
            Some([a, b, c]) => Ok([[*a, 0.0, 0.0], [0.0, *b, 0.0], [0.0, 0.0, *c]]),
            Some([ax, by, cz, ay, az, bx, bz, cx, cy]) => {
                Ok([[*ax, *ay, *az], [*bx, *by, *bz], [*cx, *cy, *cz]])
            }
            _ => Err(self.wrong(format!(
                "expected a box of 3 or 9 numbers, got '{}'",
                show(line)
            ))),
        }
    }
}

/// The numbers of a line without blanks between them: each has as many digits behind its point as
/// the last one.
fn touching(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let line = line.trim_ascii();
    let digits = line.iter().rev().position(|b| *b == b'.').unwrap_or(0);
    let mut rest = line;
    std::iter::from_fn(move || {
        let point = memchr::memchr(b'.', rest)?;
        let (word, after) = rest.split_at((point + 1 + digits).min(rest.len()));
        rest = after;
        Some(word)
    })
}

/// The atoms of the first frame.
pub(super) fn read_atoms(source: &Source, budget: &Budget) -> Result<Atoms> {
    let mut frames = GroFrames::open(source, budget)?;
    let mut builder = Builder::new(source.name(), budget);
    let count = frames.head()?.unwrap_or(0);
    for at in 0..count {
        frames.atom_line(at, count)?;
        let line = String::from_utf8_lossy(frames.lines.current());
        // Columns are bytes; a name with other letters has none of its own.
        let field = |from: usize, to: usize| line.get(from..to.min(line.len())).unwrap_or_default();
        builder.push(Atom {
            name: field(10, 15).trim(),
            residue_name: field(5, 10).trim(),
            residue_number: serials::number(field(0, 5)),
            ..Atom::default()
        })?;
    }
    builder.finish(source)
}
