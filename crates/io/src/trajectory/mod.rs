//! Trajectories: frames of atoms with a periodic box each, read one after another.
//!
//! ```text
//! open:  suffix → kind → reader         xyz, gro, pdb: text, line by line
//!                                       dcd, xtc: records, byte by byte
//! next:  reader → Snapshot → checks     as many atoms as the first frame, finite coordinates,
//!                                       a box that is whole, or none
//! ```
//!
//! Memory is bounded by one frame. A reader stops at its first error, so that nothing after a
//! damaged place is taken for a frame. Lengths stay in the unit of the file ([`LengthUnit`]): a
//! conversion would round them.

pub mod atoms;
mod bits;
mod dcd;
mod gro;
mod pdb;
mod serials;
mod xtc;

pub use atoms::{AtomWords, Atoms};

use crate::guard::Source;
use crate::read::suffix;
use crate::xyz::read_xyz;
use zipfold_core::shown::short;
use zipfold_core::{Budget, Elements, Error, Reservation, Result, Table};

/// The unit of lengths in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthUnit {
    /// 10⁻¹⁰ m: PDB, DCD, XYZ.
    Angstrom,
    /// 10⁻⁹ m: the formats of GROMACS.
    Nanometre,
}

impl LengthUnit {
    /// The unit as axes and headers name it.
    pub fn symbol(self) -> &'static str {
        match self {
            LengthUnit::Angstrom => "Å",
            LengthUnit::Nanometre => "nm",
        }
    }
}

/// The formats of trajectories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrajectoryFormat {
    /// XYZ and extended XYZ.
    Xyz,
    /// GROMACS, text of fixed columns.
    Gro,
    /// Protein Data Bank, text of fixed columns.
    Pdb,
    /// CHARMM, NAMD: records of Fortran.
    Dcd,
    /// GROMACS, compressed.
    Xtc,
}

/// Suffixes and their kinds; `.gz` or `.xz` may follow those of text.
pub const SUFFIXES: &[(&str, TrajectoryFormat)] = &[
    ("xyz", TrajectoryFormat::Xyz),
    ("extxyz", TrajectoryFormat::Xyz),
    ("gro", TrajectoryFormat::Gro),
    ("pdb", TrajectoryFormat::Pdb),
    ("ent", TrajectoryFormat::Pdb),
    ("dcd", TrajectoryFormat::Dcd),
    ("xtc", TrajectoryFormat::Xtc),
];

impl TrajectoryFormat {
    /// The kind that the suffix of `path` names.
    ///
    /// # Errors
    /// `Request` where it names none.
    pub fn by_suffix(path: &str) -> Result<TrajectoryFormat> {
        let found = suffix(path).and_then(|suffix| {
            let same = |(name, _): &&(&str, TrajectoryFormat)| *name == suffix;
            SUFFIXES.iter().find(same).map(|(_, kind)| *kind)
        });
        found.ok_or_else(|| {
            let all: Vec<String> = SUFFIXES
                .iter()
                .map(|(name, _)| format!(".{name}"))
                .collect();
            Error::request("the suffix does not say which format of trajectories this is")
                .at_place(path)
                .remedy(format!("a name that ends in one of {}", all.join(" ")))
        })
    }
    /// What it is, in a line.
    pub fn about(self) -> &'static str {
        match self {
            TrajectoryFormat::Xyz => "XYZ and extended XYZ, in Å",
            TrajectoryFormat::Gro => "GROMACS, text of fixed columns, in nm",
            TrajectoryFormat::Pdb => "Protein Data Bank, frames between MODEL and ENDMDL, in Å",
            TrajectoryFormat::Dcd => {
                "CHARMM and NAMD, either byte order, in Å; a topology names its atoms"
            }
            TrajectoryFormat::Xtc => "GROMACS, compressed, in nm; a topology names its atoms",
        }
    }
    /// The unit of its lengths. XYZ says none; ångström is the custom.
    pub fn unit(self) -> LengthUnit {
        match self {
            TrajectoryFormat::Xyz | TrajectoryFormat::Pdb | TrajectoryFormat::Dcd => {
                LengthUnit::Angstrom
            }
            TrajectoryFormat::Gro | TrajectoryFormat::Xtc => LengthUnit::Nanometre,
        }
    }
    /// Whether a file of this kind names its atoms.
    pub fn names_atoms(self) -> bool {
        match self {
            TrajectoryFormat::Xyz | TrajectoryFormat::Gro | TrajectoryFormat::Pdb => true,
            TrajectoryFormat::Dcd | TrajectoryFormat::Xtc => false,
        }
    }
}

/// One frame.
#[derive(Debug)]
pub struct Snapshot {
    /// Its number in the file, from 0.
    pub number: u64,
    /// Positions, n × 3, in the unit of the file; single precision where the file has that.
    pub positions: Table,
    /// The box vectors a, b, c; none where the file has no box.
    pub cell: Option<[[f64; 3]; 3]>,
    /// Where it begins: file, frame, and byte or line.
    pub place: String,
    _held: Option<Reservation>,
}

/// What a reader of one format gives: positions, box, and the budget that they hold.
struct Raw {
    positions: Table,
    cell: Option<[[f64; 3]; 3]>,
    held: Option<Reservation>,
}

/// The readers by format.
enum Reader {
    Xyz(crate::xyz::Frames),
    Gro(gro::GroFrames),
    Pdb(pdb::PdbFrames),
    Dcd(dcd::DcdFrames),
    Xtc(xtc::XtcFrames),
}

/// The frames of a file, one after another.
pub struct Trajectory {
    name: String,
    kind: TrajectoryFormat,
    reader: Reader,
    /// Frames read or passed over so far.
    number: u64,
    /// Atoms of the first frame.
    atoms: Option<usize>,
    /// What the points of the first frame are, in formats that say it in every frame.
    species: Option<Vec<String>>,
    done: bool,
}

impl Trajectory {
    /// The frames of `source`, a file of this kind.
    ///
    /// # Errors
    /// `Input` where its beginning is not one of this kind.
    pub fn open(source: &Source, kind: TrajectoryFormat, budget: &Budget) -> Result<Trajectory> {
        let reader = match kind {
            TrajectoryFormat::Xyz => Reader::Xyz(read_xyz(source, budget)?),
            TrajectoryFormat::Gro => Reader::Gro(gro::GroFrames::open(source, budget)?),
            TrajectoryFormat::Pdb => Reader::Pdb(pdb::PdbFrames::open(source, budget)?),
            TrajectoryFormat::Dcd => Reader::Dcd(dcd::DcdFrames::open(source, budget)?),
            TrajectoryFormat::Xtc => Reader::Xtc(xtc::XtcFrames::open(source, budget)),
        };
        Ok(Trajectory {
            name: source.name().to_string(),
            kind,
            reader,
            number: 0,
            atoms: None,
            species: None,
            done: false,
        })
    }
    /// The kind of the file.
    pub fn kind(&self) -> TrajectoryFormat {
        self.kind
    }
    /// The next frame; none after the last one.
    ///
    /// # Errors
    /// `Input` with the place of what is wrong: a frame that ends early, another number of atoms
    /// than the first frame's, a coordinate that is not finite, a box without volume. `Resource`
    /// beyond the budget.
    pub fn read_next(&mut self) -> Result<Option<Snapshot>> {
        if self.done {
            return Ok(None);
        }
        let place = self.place();
        let read = self.frame(&place).map_err(|e| self.in_frame(e, &place));
        self.done = !matches!(read, Ok(Some(_)));
        let Some(raw) = read? else { return Ok(None) };
        let checked = self.checked(raw, place);
        self.done = checked.is_err();
        self.number += 1;
        checked.map(Some)
    }
    /// Passes over the next frame, without unpacking it where the format allows; false after the
    /// last one.
    ///
    /// # Errors
    /// Those of [`Trajectory::read_next`].
    pub fn pass_over(&mut self) -> Result<bool> {
        if let (Reader::Xtc(frames), false) = (&mut self.reader, self.done) {
            let passed = frames.pass_over()?;
            self.done = !passed;
            self.number += u64::from(passed);
            return Ok(passed);
        }
        Ok(self.read_next()?.is_some())
    }
    /// The next frame of the reader.
    fn frame(&mut self, place: &str) -> Result<Option<Raw>> {
        match &mut self.reader {
            Reader::Xyz(frames) => {
                let Some(frame) = frames.next().transpose()? else {
                    return Ok(None);
                };
                same_species(&mut self.species, frame.species, place)?;
                Ok(Some(Raw {
                    positions: frame.positions,
                    cell: frame.lattice,
                    held: None,
                }))
            }
            Reader::Gro(frames) => frames.read_next(),
            Reader::Pdb(frames) => frames.read_next(),
            Reader::Dcd(frames) => frames.read_next(),
            Reader::Xtc(frames) => frames.read_next(),
        }
    }
    /// An error of a reader with its frame: between the file and the byte or line where the reader
    /// says these.
    fn in_frame(&self, error: Error, place: &str) -> Error {
        let said = error.place().map(|place| place.marked().to_string());
        let rest = said.as_ref().and_then(|said| said.strip_prefix(&self.name));
        match rest.filter(|rest| !rest.is_empty() && !rest.contains("frame")) {
            Some(rest) => error.at_place(format!("{}, frame {}{rest}", self.name, self.number)),
            None => error.at_place(place),
        }
    }
    /// Where the next frame begins.
    fn place(&self) -> String {
        let (name, number) = (&self.name, self.number);
        match &self.reader {
            Reader::Dcd(frames) => format!("{name}, frame {number}, byte {}", frames.next_byte()),
            Reader::Xtc(frames) => format!("{name}, frame {number}, byte {}", frames.next_byte()),
            Reader::Xyz(_) | Reader::Gro(_) | Reader::Pdb(_) => format!("{name}, frame {number}"),
        }
    }
    /// The checks that all formats share.
    fn checked(&mut self, raw: Raw, place: String) -> Result<Snapshot> {
        let count = raw.positions.rows();
        let first = *self.atoms.get_or_insert(count);
        if count != first {
            let what = format!("expected {first} atoms as in the first frame, got {count}");
            return Err(Error::input(what)
                .at_place(place)
                .remedy("split the file where the number of atoms changes"));
        }
        if !raw.positions.elements().is_finite() {
            let elements = raw.positions.elements();
            let at = (0..elements.len())
                .find(|at| !elements.get(*at).is_finite())
                .unwrap_or(0);
            let (atom, axis) = (at / 3, ["x", "y", "z"][at % 3]);
            let what = format!(
                "expected finite coordinates, got {} for {axis} of atom {atom}",
                elements.get(at)
            );
            return Err(Error::input(what)
                .at_place(place)
                .remedy("repair or leave out this frame"));
        }
        let cell = raw
            .cell
            .map(|cell| whole_cell(cell, &place))
            .transpose()?
            .flatten();
        Ok(Snapshot {
            number: self.number,
            positions: raw.positions,
            cell,
            place,
            _held: raw.held,
        })
    }
}

/// The box, or none where all its numbers are 0, by which GROMACS and CHARMM mean that there is
/// none.
fn whole_cell(cell: [[f64; 3]; 3], place: &str) -> Result<Option<[[f64; 3]; 3]>> {
    if cell.iter().flatten().all(|v| *v == 0.0) {
        return Ok(None);
    }
    let [a, b, c] = cell;
    let cross = [
        b[1] * c[2] - b[2] * c[1],
        b[2] * c[0] - b[0] * c[2],
        b[0] * c[1] - b[1] * c[0],
    ];
    let volume = (a[0] * cross[0] + a[1] * cross[1] + a[2] * cross[2]).abs();
    if volume.is_finite() && volume > 0.0 {
        return Ok(Some(cell));
    }
    let what = format!("expected a box with a volume, got one of volume {volume}");
    Err(Error::input(what)
        .at_place(place.to_string())
        .remedy("a box for the whole run, or frames that have one"))
}

/// Refuses a frame whose points are others than those of the first frame.
fn same_species(first: &mut Option<Vec<String>>, now: Vec<String>, place: &str) -> Result<()> {
    let Some(known) = first else {
        *first = Some(now);
        return Ok(());
    };
    // Another number of points is told by its own check.
    let odd = known.iter().zip(&now).position(|(known, now)| known != now);
    match odd {
        None => Ok(()),
        Some(at) => {
            let (known, now) = (short(&known[at], 20), short(&now[at], 20));
            let what =
                format!("expected '{known}' for point {at} as in the first frame, got '{now}'");
            Err(Error::input(what)
                .at_place(place.to_string())
                .remedy("write all frames with the same points in the same order"))
        }
    }
}

/// A table of positions in double precision.
fn positions(items: crate::growing::Growing<f64>) -> Result<Table> {
    let rows = items.len() / 3;
    Table::new(
        rows,
        3,
        Elements::F64(zipfold_core::Buffer::new(items.finish()?)),
    )
}

/// The atoms that `source`, a file of this kind, names: those of its first frame.
///
/// # Errors
/// `Request` for a kind that names no atoms; `Input` where the file is damaged.
pub fn read_atoms(source: &Source, kind: TrajectoryFormat, budget: &Budget) -> Result<Atoms> {
    match kind {
        TrajectoryFormat::Xyz => atoms::of_xyz(source, budget),
        TrajectoryFormat::Gro => gro::read_atoms(source, budget),
        TrajectoryFormat::Pdb => pdb::read_atoms(source, budget),
        TrajectoryFormat::Dcd | TrajectoryFormat::Xtc => Err(Error::request(
            "a file of this format does not name its atoms",
        )
        .at_place(source.name())
        .remedy("a topology in PDB, GRO or XYZ with the same atoms")),
    }
}
