//! PDB: the lines ATOM and HETATM of fixed columns, in frames between MODEL and ENDMDL, and the box
//! of CRYST1.
//!
//! ```text
//! columns  7–11 serial | 13–16 name | 18–21 residue | 22 chain | 23–26 number | 27 insertion
//!          31–38 x | 39–46 y | 47–54 z | 77–78 element            (from 1, as the format counts)
//! ```
//!
//! A coordinate has three digits behind a point in its own column, and nothing else is read: a
//! serial number of six digits shifts a line, and its coordinates would be others. Serial numbers
//! matter to CONECT alone. They may be decimal, hybrid-36, hexadecimal or `*****`
//! ([`serials`]); what CONECT says of an unknown one is refused where bonds are
//! needed. A residue whose number is `****`
//! has the one after the last.

use super::atoms::{Atom, Atoms, Builder};
use super::{Raw, positions, serials};
use crate::growing::Growing;
use crate::guard::{Lines, Source};
use crate::text_rows::{number, show};
use std::collections::HashMap;
use zipfold_core::{Budget, Error, PeriodicBox, Result};

/// The columns of x, y and z, from 0.
const COORDINATES: [std::ops::Range<usize>; 3] = [30..38, 38..46, 46..54];
/// Digits behind the point.
const DIGITS: usize = 3;

/// The frames of a file.
pub(super) struct PdbFrames {
    lines: Lines,
    budget: Budget,
    /// The last box, which holds until there is another.
    cell: Option<[[f64; 3]; 3]>,
}

/// What a line begins.
enum LineKind {
    Atom,
    Cell,
    End,
    Bond,
    Other,
}

impl LineKind {
    fn of_line(line: &[u8]) -> LineKind {
        match line {
            [b'A', b'T', b'O', b'M', b' ' | b'0'..=b'9', ..]
            | [b'H', b'E', b'T', b'A', b'T', b'M', ..] => LineKind::Atom,
            [b'C', b'R', b'Y', b'S', b'T', b'1', ..] => LineKind::Cell,
            [b'C', b'O', b'N', b'E', b'C', b'T', ..] => LineKind::Bond,
            [b'E', b'N', b'D', b'M', b'D', b'L', ..] | [b'E', b'N', b'D'] => LineKind::End,
            [b'E', b'N', b'D', rest @ ..] if rest.trim_ascii().is_empty() => LineKind::End,
            _ => LineKind::Other,
        }
    }
}

impl PdbFrames {
    pub(super) fn open(source: &Source, budget: &Budget) -> Result<PdbFrames> {
        Ok(PdbFrames {
            lines: Lines::new(source, false, budget)?,
            budget: budget.clone(),
            cell: None,
        })
    }
    pub(super) fn read_next(&mut self) -> Result<Option<Raw>> {
        let mut items = Growing::new(&self.budget, format!("a frame of {}", self.lines.name()));
        // END and ENDMDL end a frame that has atoms; one follows the other in many files.
        while self.lines.next()? {
            match LineKind::of_line(self.lines.current()) {
                LineKind::Atom => items.extend(&self.place_of_atom()?)?,
                LineKind::Cell => self.cell = self.cell_of_line()?,
                LineKind::End if !items.is_empty() => break,
                LineKind::End | LineKind::Bond | LineKind::Other => {}
            }
        }
        match items.is_empty() {
            true => Ok(None),
            false => Ok(Some(Raw {
                positions: positions(items)?,
                cell: self.cell,
                held: None,
            })),
        }
    }
    fn place_of_atom(&self) -> Result<[f64; 3]> {
        let line = self.lines.current();
        let mut place = [0.0; 3];
        for (value, columns) in place.iter_mut().zip(COORDINATES) {
            let field = line.get(columns.clone()).unwrap_or_default();
            let point = columns.len() - DIGITS - 1;
            let parsed = number(field).filter(|v| v.is_finite() && field[point] == b'.');
            *value = parsed.ok_or_else(|| {
                let what = format!(
                    "expected a coordinate of {DIGITS} digits behind the point in columns {} to {}, got '{}'",
                    columns.start + 1,
                    columns.end,
                    show(field)
                );
                Error::input(what).at_place(self.lines.place()).remedy(
                    "write the file again: serial numbers beyond 99999 as hybrid-36, or the format GRO",
                )
            })?;
        }
        Ok(place)
    }
    /// The box of a line CRYST1. A unit cube is what files without a box have, such as those of NMR.
    fn cell_of_line(&self) -> Result<Option<[[f64; 3]; 3]>> {
        let line = self.lines.current();
        let field = |from: usize, to: usize| {
            number(line.get(from..to.min(line.len())).unwrap_or_default()).filter(|v| v.is_finite())
        };
        let lengths = [field(6, 15), field(15, 24), field(24, 33)];
        let angles = [field(33, 40), field(40, 47), field(47, 54)];
        let wrong = |what: String| {
            Error::input(what)
                .at_place(self.lines.place())
                .remedy("lengths in columns 7 to 33 and angles in 34 to 54")
        };
        let ([Some(a), Some(b), Some(c)], [Some(alpha), Some(beta), Some(gamma)]) =
            (lengths, angles)
        else {
            return Err(wrong(format!(
                "expected a box of three lengths and three angles, got '{}'",
                show(line)
            )));
        };
        let (lengths, angles) = ([a, b, c], [alpha, beta, gamma]);
        if lengths == [1.0; 3] || lengths == [0.0; 3] {
            return Ok(None);
        }
        if angles == [90.0; 3] {
            return Ok(Some([[a, 0.0, 0.0], [0.0, b, 0.0], [0.0, 0.0, c]]));
        }
        let cell = PeriodicBox::triclinic(lengths, angles)
            .map_err(|e| wrong(e.what().marked().to_string()))?;
        let mut vectors = [[0.0; 3]; 3];
        vectors.copy_from_slice(cell.vectors());
        Ok(Some(vectors))
    }
}

/// The atoms of the first model, and the bonds of CONECT.
pub(super) fn read_atoms(source: &Source, budget: &Budget) -> Result<Atoms> {
    let mut lines = Lines::new(source, false, budget)?;
    let mut builder = Builder::new(source.name(), budget);
    let mut serials = Serials::new(source.name(), budget);
    let mut ended = false;
    while lines.next()? {
        let record = LineKind::of_line(lines.current());
        let text = String::from_utf8_lossy(lines.current());
        let field = |from: usize, to: usize| text.get(from..to.min(text.len())).unwrap_or_default();
        match record {
            LineKind::Atom if !ended => {
                serials.add(field(6, 11), builder.len() as u32)?;
                builder.push(atom(&field))?;
            }
            LineKind::End => ended = builder.len() > 0,
            LineKind::Bond => match serials.bonds(&field, &lines.place()) {
                Ok(pairs) => pairs.into_iter().try_for_each(|pair| builder.bond(pair))?,
                Err(e) => builder.odd_bond(e),
            },
            LineKind::Atom | LineKind::Cell | LineKind::Other => {}
        }
    }
    builder.finish(source)
}

/// The atom of a line.
fn atom<'t>(field: &impl Fn(usize, usize) -> &'t str) -> Atom<'t> {
    Atom {
        name: field(12, 16).trim(),
        element: element(field(76, 78).trim()),
        residue_name: field(17, 21).trim(),
        residue_number: serials::number(field(22, 26)),
        insertion: field(26, 27).trim(),
        chain: field(21, 22).trim(),
    }
}

/// An element of two letters at most; anything else in its columns is none.
fn element(text: &str) -> &str {
    if text.bytes().all(|b| b.is_ascii_alphabetic()) {
        text
    } else {
        ""
    }
}

/// Atoms by their serial numbers.
struct Serials {
    atoms: HashMap<i64, Option<u32>>,
    held: zipfold_core::budget::Tab,
}

impl Serials {
    fn new(name: &str, budget: &Budget) -> Serials {
        Serials {
            atoms: HashMap::new(),
            held: budget.tab(format!("the serial numbers of {name}")),
        }
    }
    /// Takes the serial number of an atom. One that two atoms have is none's.
    fn add(&mut self, field: &str, atom: u32) -> Result<()> {
        let Some(serial) = serials::number(field) else {
            return Ok(());
        };
        self.held.add(48)?;
        self.atoms
            .entry(serial)
            .and_modify(|found| *found = None)
            .or_insert(Some(atom));
        Ok(())
    }
    /// The bonds of a line CONECT.
    fn bonds<'t>(
        &self,
        field: &impl Fn(usize, usize) -> &'t str,
        place: &str,
    ) -> Result<Vec<[u32; 2]>> {
        let find = |text: &str| {
            let found =
                serials::number(text).and_then(|serial| self.atoms.get(&serial).copied().flatten());
            found.ok_or_else(|| {
                let what = format!(
                    "expected the serial number of one atom, got '{}'",
                    text.trim()
                );
                Error::input(what)
                    .at_place(place.to_string())
                    .remedy("leave out CONECT, and name bonds in a file of pairs of indices")
            })
        };
        let first = find(field(6, 11))?;
        let others = [(11, 16), (16, 21), (21, 26), (26, 31)];
        let there = others
            .iter()
            .map(|(from, to)| field(*from, *to))
            .filter(|text| !text.trim().is_empty());
        there.map(|text| Ok([first, find(text)?])).collect()
    }
}
