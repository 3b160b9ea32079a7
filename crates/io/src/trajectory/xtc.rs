//! XTC, the compressed trajectories of GROMACS: big-endian records of XDR, positions as packed
//! integers.
//!
//! ```text
//! frame:  magic 1995 (2023: sizes of 64 bits) | atoms | step | time | box, 9 floats | atoms again
//!         ≤ 9 atoms: 3 floats each
//!         more:      precision | least, greatest integer by axis | small | size | bits
//! bits:   an atom in full (one number below the product of the three ranges)
//!         a flag; if set 5 bits: a run of atoms near it, and whether the next runs are packed closer
//!         the run: differences below magic(small), three packed into `small` bits
//! ```
//!
//! An atom of a run is relative to the one before it, the first one to the atom in full, which it
//! changes places with in the answer: of water the hydrogen is stored in full, since both others
//! are near it. Positions are the
//! integers times 1 / precision in single precision, as in the library of the format, so that every
//! program sees the same numbers. The description is that of the published library (xdrfile, BSD).

use super::Raw;
use super::bits::{Bits, bits_of, bits_of_three};
use crate::guard::{Source, check_claim};
use zipfold_core::{Budget, Elements, Error, Result, Table};

/// The first number of a frame, and the one of frames whose size has 64 bits.
const MAGIC: i32 = 1995;
const MAGIC_WIDE: i32 = 2023;
/// XtcFrames of this many atoms and fewer are not packed.
const PLAIN: usize = 9;
/// Bytes of a frame before its positions.
const HEADER: usize = 56;

/// Ranges of packed differences: roughly powers of the cubic root of 2, so that three of them take
/// as many bits as their place says.
const MAGIC_RANGES: [u32; 73] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 101, 128, 161, 203, 256,
    322, 406, 512, 645, 812, 1024, 1290, 1625, 2048, 2580, 3250, 4096, 5060, 6501, 8192, 10321,
    13003, 16384, 20642, 26007, 32768, 41285, 52015, 65536, 82570, 104031, 131072, 165140, 208063,
    262144, 330280, 416127, 524287, 660561, 832255, 1048576, 1321122, 1664510, 2097152, 2642245,
    3329021, 4194304, 5284491, 6658042, 8388607, 10568983, 13316085, 16777216,
];
/// The first range that is one.
const FIRST: usize = 9;

/// The frames of a file.
pub(super) struct XtcFrames {
    source: Source,
    budget: Budget,
    at: u64,
    packed: Vec<u8>,
}

/// What a frame says before its positions.
struct FrameHeader {
    atoms: usize,
    cell: [[f64; 3]; 3],
    wide: bool,
}

/// Where the packed positions of a frame are, and how they are packed.
struct Packed {
    precision: f32,
    least: [i32; 3],
    sizes: [u32; 3],
    small: usize,
    /// The first byte of the bits, and their number of bytes.
    from: u64,
    bytes: u64,
}

impl XtcFrames {
    pub(super) fn open(source: &Source, budget: &Budget) -> XtcFrames {
        XtcFrames {
            source: source.clone(),
            budget: budget.clone(),
            at: 0,
            packed: Vec::new(),
        }
    }
    /// The byte at which the next frame begins.
    pub(super) fn next_byte(&self) -> u64 {
        self.at
    }
    /// Passes over a frame.
    pub(super) fn pass_over(&mut self) -> Result<bool> {
        let Some(header) = self.header()? else {
            return Ok(false);
        };
        self.at = match header.atoms {
            0..=PLAIN => self.plain_end(&header)?,
            _ => self.packing(&header)?.end(),
        };
        Ok(true)
    }
    pub(super) fn read_next(&mut self) -> Result<Option<Raw>> {
        let Some(header) = self.header()? else {
            return Ok(None);
        };
        let bytes = header.atoms as u64 * 12;
        let name = self.source.name().to_string();
        let (items, end) = if header.atoms <= PLAIN {
            let end = self.plain_end(&header)?;
            let mut raw = vec![0; header.atoms * 12];
            self.source.fill_at(self.at + HEADER as u64, &mut raw)?;
            (raw.chunks_exact(4).map(float).collect(), end)
        } else {
            let packed = self.packing(&header)?;
            let held = self
                .budget
                .reserve(bytes + packed.bytes, &format!("a frame of {name}"))?;
            self.packed.resize(packed.bytes as usize, 0);
            self.source.fill_at(packed.from, &mut self.packed)?;
            let items =
                unpack(&packed, header.atoms, &self.packed).ok_or_else(|| self.damaged())?;
            drop(held);
            (items, packed.end())
        };
        let held = self.budget.reserve(bytes, &format!("a frame of {name}"))?;
        self.at = end;
        let positions = Table::new(header.atoms, 3, Elements::F32(items.into()))?;
        Ok(Some(Raw {
            positions,
            cell: Some(header.cell),
            held: Some(held),
        }))
    }
    /// The header of the next frame; none at the end of the file.
    fn header(&self) -> Result<Option<FrameHeader>> {
        if self.at == self.source.size() {
            return Ok(None);
        }
        let mut raw = [0; HEADER];
        self.source.fill_at(self.at, &mut raw)?;
        let int = |at: usize| int(&raw[at..at + 4]);
        let magic = int(0);
        if magic != MAGIC && magic != MAGIC_WIDE {
            let what = format!(
                "expected the number {MAGIC} or {MAGIC_WIDE} that begins a frame, got {magic}"
            );
            return Err(
                Error::input(what).remedy("copy or make the file again: it is damaged, or not XTC")
            );
        }
        let (atoms, again) = (int(4), int(52));
        let counted = usize::try_from(atoms)
            .ok()
            .filter(|count| *count > 0 && atoms == again);
        let Some(atoms) = counted else {
            let what = format!(
                "expected the same positive number of atoms twice, got {atoms} and {again}"
            );
            return Err(Error::input(what).remedy("copy or make the file again: it is damaged"));
        };
        let edge = |k: usize| f64::from(float(&raw[16 + 4 * k..20 + 4 * k]));
        let cell = std::array::from_fn(|row| std::array::from_fn(|k| edge(3 * row + k)));
        Ok(Some(FrameHeader {
            atoms,
            cell,
            wide: magic == MAGIC_WIDE,
        }))
    }
    /// Where a frame without packing ends.
    fn plain_end(&self, header: &FrameHeader) -> Result<u64> {
        let bytes = (HEADER + header.atoms * 12) as u64;
        let real = self.source.size() - self.at;
        check_claim(
            self.source.name().to_string(),
            "the frame",
            Some(bytes),
            real,
        )?;
        Ok(self.at + bytes)
    }
    /// How the positions of the next frame are packed.
    fn packing(&self, header: &FrameHeader) -> Result<Packed> {
        let (head, from) = (
            32 + if header.wide { 8 } else { 4 },
            self.at + HEADER as u64,
        );
        let mut raw = [0; 40];
        self.source.fill_at(from, &mut raw[..head])?;
        let three = |at: usize| std::array::from_fn(|k| int(&raw[at + 4 * k..at + 4 * k + 4]));
        let (least, most): ([i32; 3], [i32; 3]) = (three(4), three(16));
        let precision = float(&raw[..4]);
        let bytes = match header.wide {
            // INVARIANT: the slice has eight bytes.
            true => u64::from_be_bytes(raw[32..40].try_into().unwrap_or_default()),
            false => u64::try_from(int(&raw[32..36])).unwrap_or(u64::MAX),
        };
        let real = self.source.size() - from - head as u64;
        check_claim(
            self.source.name().to_string(),
            "the frame",
            Some(bytes),
            real,
        )?;
        let small = usize::try_from(int(&raw[28..32])).unwrap_or(usize::MAX);
        let size = |k: usize| u32::try_from(i64::from(most[k]) - i64::from(least[k]) + 1).ok();
        let sizes = [size(0), size(1), size(2)];
        let ranges = FIRST..MAGIC_RANGES.len();
        let ([Some(x), Some(y), Some(z)], true) = (sizes, ranges.contains(&small)) else {
            return Err(self.damaged());
        };
        // Even an atom that is like the one before it takes a bit.
        let fits = header.atoms as u64 <= bytes.saturating_mul(8);
        if !(precision > 0.0 && precision.is_finite() && fits && x.min(y).min(z) > 0) {
            return Err(self.damaged());
        }
        Ok(Packed {
            precision,
            least,
            sizes: [x, y, z],
            small,
            from: from + head as u64,
            bytes,
        })
    }
    fn damaged(&self) -> Error {
        Error::input("the packed positions are damaged").remedy("copy or make the file again")
    }
}

impl Packed {
    /// Where the next frame begins: opaque bytes of XDR are filled up to four.
    fn end(&self) -> u64 {
        self.from + self.bytes.div_ceil(4) * 4
    }
}

fn int(raw: &[u8]) -> i32 {
    raw.iter()
        .fold(0, |number, byte| number << 8 | i32::from(*byte))
}

fn float(raw: &[u8]) -> f32 {
    f32::from_bits(int(raw) as u32)
}

/// How differences of a run are packed: the place of their range among [`MAGIC_RANGES`].
struct Small(usize);

impl Small {
    fn range(&self) -> u32 {
        MAGIC_RANGES[self.0]
    }
    /// Half the range, which is added to differences so that they are positive.
    fn middle(&self) -> i32 {
        (self.range() / 2) as i32
    }
    /// A range smaller (−1), the same, or larger (1); none beyond the table.
    fn changed(&self, by: i32) -> Option<Small> {
        let place = self.0.checked_add_signed(by as isize)?;
        (FIRST..MAGIC_RANGES.len())
            .contains(&place)
            .then_some(Small(place))
    }
}

/// The positions of `atoms` atoms; none where the bits are not those of as many.
fn unpack(packed: &Packed, atoms: usize, bytes: &[u8]) -> Option<Vec<f32>> {
    let scale = 1.0 / packed.precision;
    let mut bits = Bits::new(bytes);
    let mut out = Vec::with_capacity(atoms * 3);
    let mut put = |place: [i32; 3]| out.extend(place.map(|v| v as f32 * scale));
    let add = |part: [u32; 3], to: [i32; 3]| -> [i32; 3] {
        std::array::from_fn(|k| (part[k] as i32).wrapping_add(to[k]))
    };
    // Ranges of more than 24 bits are stored axis by axis.
    let wide = packed.sizes.iter().any(|size| *size > 0xff_ffff);
    let each = packed.sizes.map(bits_of);
    let all = bits_of_three(packed.sizes);
    let mut small = Small(packed.small);
    let mut run = 0;
    let mut done = 0;
    while done < atoms {
        let part = match wide {
            true => each.map(|count| bits.take(count) as u32),
            false => bits.triple(all, packed.sizes),
        };
        let full = add(part, packed.least);
        done += 1;
        // Without the flag, the run is as long as the last one.
        let mut change = 0;
        if bits.take(1) == 1 {
            let code = bits.take(5) as usize;
            (run, change) = (code / 3, (code % 3) as i32 - 1);
        }
        if run > atoms - done || bits.is_overrun() {
            return None;
        }
        let sizes = [small.range(); 3];
        let middle = small.middle();
        let mut before = full;
        for at in 0..run {
            let difference = bits.triple(small.0 as u32, sizes);
            let place = add(difference, before.map(|v| v.wrapping_sub(middle)));
            put(place);
            // The atom in full comes second.
            if at == 0 {
                put(full);
            }
            before = place;
        }
        if run == 0 {
            put(full);
        }
        done += run;
        small = small.changed(change)?;
    }
    (!bits.is_overrun()).then_some(out)
}
