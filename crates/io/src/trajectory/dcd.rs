//! DCD, the trajectories of CHARMM and NAMD: records of Fortran in either byte order.
//!
//! ```text
//! record:  length | bytes | length          lengths of 4 bytes, or of 8
//! header:  "CORD" and 20 integers | titles | number of atoms
//! frame:   box, 6 doubles (if the header says so) | x of all atoms | y | z | a fourth number (likewise)
//! ```
//!
//! The header's number of frames is not used, because programs that are killed leave it wrong: the
//! size of the file decides. Boxes are lengths and angles in the order a, γ, b, β, α, c, or lengths
//! and cosines (NAMD), or since CHARMM 25 the symmetric matrix xx, xy, yy, xz, yz, zz, whose rows
//! are the vectors. Numbers that are neither angles nor cosines are a matrix for any version.

use super::Raw;
use crate::guard::{Source, check_claim};
use zipfold_core::{Budget, Elements, Error, PeriodicBox, Result, Table};

/// The frames of a file.
pub(super) struct DcdFrames {
    source: Source,
    budget: Budget,
    layout: Numbering,
    at: u64,
}

/// How numbers are written, and what a frame has.
#[derive(Clone, Copy)]
struct Numbering {
    little: bool,
    /// Bytes of the length of a record.
    marker: usize,
    atoms: u64,
    cell: bool,
    /// Whether boxes are matrices.
    matrix: bool,
    fourth: bool,
}

/// Bytes of the first record: a name and twenty integers.
const FIRST: u64 = 84;

/// The last version of CHARMM, as a header says it, whose boxes have angles.
const LAST_OF_ANGLES: u32 = 24;

impl Numbering {
    fn int(&self, raw: &[u8]) -> u64 {
        let take = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        match self.little {
            true => raw.iter().rev().fold(0, take),
            false => raw.iter().fold(0, take),
        }
    }
    fn float(&self, raw: &[u8]) -> f32 {
        f32::from_bits(self.int(raw) as u32)
    }
    fn double(&self, raw: &[u8]) -> f64 {
        f64::from_bits(self.int(raw))
    }
    /// Bytes of a frame; none beyond 2⁶⁴.
    fn frame(&self) -> Option<u64> {
        let around = 2 * self.marker as u64;
        let row = self.atoms.checked_mul(4)?.checked_add(around)?;
        let rows = row.checked_mul(3 + u64::from(self.fourth))?;
        rows.checked_add(if self.cell { 48 + around } else { 0 })
    }
    /// The byte order and the marker of a file that begins with these bytes.
    fn found(start: &[u8]) -> Option<Numbering> {
        let all = [(true, 4), (false, 4), (true, 8), (false, 8)];
        let layout = |(little, marker)| Numbering {
            little,
            marker,
            atoms: 0,
            cell: false,
            matrix: false,
            fourth: false,
        };
        all.into_iter().map(layout).find(|layout| {
            let (length, rest) = start.split_at(layout.marker);
            layout.int(length) == FIRST && (rest.starts_with(b"CORD") || rest.starts_with(b"VELD"))
        })
    }
}

impl DcdFrames {
    pub(super) fn open(source: &Source, budget: &Budget) -> Result<DcdFrames> {
        let mut start = [0; 12];
        source.fill_at(0, &mut start)?;
        let Some(layout) = Numbering::found(&start) else {
            return Err(Error::input(
                "expected a record of 84 bytes that begins with CORD, got something else",
            )
            .at_place(format!("{}, byte 0", source.name()))
            .remedy("check that this is a DCD file"));
        };
        let mut frames = DcdFrames {
            source: source.clone(),
            budget: budget.clone(),
            layout,
            at: 0,
        };
        frames.header()?;
        Ok(frames)
    }
    /// The byte at which the next frame begins.
    pub(super) fn next_byte(&self) -> u64 {
        self.at
    }
    /// The place of the next record.
    fn place(&self) -> String {
        format!("{}, byte {}", self.source.name(), self.at)
    }
    /// Reads the records before the first frame.
    fn header(&mut self) -> Result<()> {
        let first = self.record(FIRST)?;
        let int = |k: usize| self.layout.int(&first[4 + 4 * k..8 + 4 * k]) as u32;
        if first.starts_with(b"VELD") {
            return Err(Error::input("expected positions, got velocities (VELD)")
                .at_place(self.source.name())
                .remedy("the file of coordinates of the same run"));
        }
        let (fixed, version) = (int(8), int(19));
        let (cell, fourth) = (version != 0 && int(10) != 0, version != 0 && int(11) != 0);
        if fixed != 0 {
            return Err(Error::input(format!(
                "expected no fixed atoms, got {fixed}: later frames leave them out"
            ))
            .at_place(self.source.name())
            .remedy("write the trajectory with all atoms in every frame"));
        }
        let titles = self.length()?;
        self.record(titles)?;
        let atoms = self.record(4)?;
        self.layout.atoms = self.layout.int(&atoms);
        (self.layout.cell, self.layout.fourth) = (cell, fourth);
        self.layout.matrix = version > LAST_OF_ANGLES;
        if self.layout.atoms == 0 {
            return Err(Error::input("expected at least one atom, got none")
                .at_place(self.source.name())
                .remedy("a file with atoms"));
        }
        Ok(())
    }
    /// The length of the next record, as it says.
    fn length(&self) -> Result<u64> {
        let mut raw = [0; 8];
        let marker = &mut raw[..self.layout.marker];
        self.source.fill_at(self.at, marker)?;
        Ok(self.layout.int(marker))
    }
    /// The next record, which has `length` bytes.
    fn record(&mut self, length: u64) -> Result<Vec<u8>> {
        let marker = self.layout.marker as u64;
        let real = self.source.size().saturating_sub(self.at);
        let whole = length.checked_add(2 * marker);
        check_claim(self.place(), "the record", whole, real)?;
        let said = self.length()?;
        if said != length {
            let what = format!("expected a record of {length} bytes, got one of {said}");
            return Err(Error::input(what)
                .at_place(self.place())
                .remedy("copy or make the file again: it is damaged"));
        }
        let _held = self.budget.reserve(length, "a record")?;
        let mut out = vec![0; length as usize];
        self.source.fill_at(self.at + marker, &mut out)?;
        self.at += marker + length;
        let again = self.length()?;
        if again != length {
            let what =
                format!("expected a record that ends with its length, {length}, got {again}");
            return Err(Error::input(what)
                .at_place(self.place())
                .remedy("copy or make the file again: it is damaged"));
        }
        self.at += marker;
        Ok(out)
    }
    pub(super) fn read_next(&mut self) -> Result<Option<Raw>> {
        let real = self.source.size() - self.at;
        if real == 0 {
            return Ok(None);
        }
        check_claim(self.place(), "the frame", self.layout.frame(), real)?;
        let layout = self.layout;
        let held = self.budget.reserve(layout.atoms * 12, "a frame")?;
        let cell = match layout.cell {
            true => self
                .record(48)
                .and_then(|raw| cell(&layout, &raw, &self.place()))?,
            false => None,
        };
        let atoms = layout.atoms as usize;
        let mut items = vec![0f32; atoms * 3];
        for axis in 0..3 {
            let raw = self.record(layout.atoms * 4)?;
            let places = items.iter_mut().skip(axis).step_by(3);
            places
                .zip(raw.chunks_exact(4))
                .for_each(|(place, raw)| *place = layout.float(raw));
        }
        if layout.fourth {
            self.record(layout.atoms * 4)?;
        }
        let positions = Table::new(atoms, 3, Elements::F32(items.into()))?;
        Ok(Some(Raw {
            positions,
            cell,
            held: Some(held),
        }))
    }
}

/// The box vectors of six doubles; none where all are 0.
fn cell(layout: &Numbering, raw: &[u8], place: &str) -> Result<Option<[[f64; 3]; 3]>> {
    let number = |k: usize| layout.double(&raw[8 * k..8 * k + 8]);
    let [a, gamma, b, beta, alpha, c] = std::array::from_fn(number);
    if [a, b, c].iter().all(|length| *length == 0.0) {
        return Ok(None);
    }
    let angles = [alpha, beta, gamma];
    let right = angles == [90.0; 3];
    let cosines = angles.iter().all(|v| v.abs() <= 1.0);
    let degrees = angles.iter().all(|v| (0.0..180.0).contains(v));
    if !right && (layout.matrix || !(cosines || degrees)) {
        return Ok(Some([
            [a, gamma, beta],
            [gamma, b, alpha],
            [beta, alpha, c],
        ]));
    }
    // 90° is exact either way: its cosine is 0.
    let in_degrees = |v: f64| {
        if cosines {
            90.0 - v.asin().to_degrees()
        } else {
            v
        }
    };
    let angles = angles.map(in_degrees);
    if angles == [90.0; 3] {
        return Ok(Some([[a, 0.0, 0.0], [0.0, b, 0.0], [0.0, 0.0, c]]));
    }
    let cell = PeriodicBox::triclinic([a, b, c], angles).map_err(|e| {
        let e = Error::input(e.what().marked()).at_place(place.to_string());
        e.remedy("lengths, and angles in degrees or as cosines, in the order a, gamma, b, beta, alpha, c")
    })?;
    let mut vectors = [[0.0; 3]; 3];
    vectors.copy_from_slice(cell.vectors());
    Ok(Some(vectors))
}
