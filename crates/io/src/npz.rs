//! NPZ archives: reading one array of them (stored or deflated), writing several (stored).

use crate::atomic::Output;
use crate::guard::{Source, at_byte, check_claim, read_error};
use crate::npy::{Array, NpyElement, each_chunk, read_elements};
use crate::npy_header::{Header, header_bytes};
use crate::zip_directory::{Member, data_at, members};
use flate2::Crc;
use flate2::read::DeflateDecoder;
use std::io::{self, Read, Seek, SeekFrom, Write};
use zipfold_core::shown::short;
use zipfold_core::{Budget, Error, Result, Table};

/// Deflate packs no better than 1032 to 1; a larger claim is a lie.
const BEST_DEFLATE: u64 = 1032;

/// Elements that are summed and written together: they stay in the second-level cache from one to
/// the other.
const PART: usize = 1 << 15;

/// The names of the arrays in the archive `source`, without `.npy`.
///
/// # Errors
/// `Input` when the archive is damaged.
pub fn npz_names(source: &Source, budget: &Budget) -> Result<Vec<String>> {
    Ok(members(source, budget)?
        .iter()
        .map(|m| array_name(m).to_owned())
        .collect())
}

/// Reads the array `member` of the archive `source` (or its only one) as a table.
///
/// # Errors
/// `Request` when the choice is missing or there is no such array; `Input` when the file is damaged
/// or not numeric; `Resource` beyond the budget.
pub fn read_npz(source: &Source, member: Option<&str>, budget: &Budget) -> Result<Table> {
    let (member, place) = pick(source, member, budget)?;
    let (header, at) = member_header(source, &member, &place)?;
    let (rows, cols) = header.table_shape(&place)?;
    Table::new(
        rows,
        cols,
        member_elements(source, &member, &header, at, budget)?,
    )
}

/// Reads the array `member` of the archive `source` (or its only one) in any shape.
///
/// # Errors
/// As [`read_npz`].
pub fn read_npz_array(source: &Source, member: Option<&str>, budget: &Budget) -> Result<Array> {
    let (member, place) = pick(source, member, budget)?;
    let (header, at) = member_header(source, &member, &place)?;
    let elements = member_elements(source, &member, &header, at, budget)?;
    Ok(Array {
        shape: header.shape,
        elements,
    })
}

fn array_name(member: &Member) -> &str {
    member.name.strip_suffix(".npy").unwrap_or(&member.name)
}

fn pick(source: &Source, wanted: Option<&str>, budget: &Budget) -> Result<(Member, String)> {
    let mut all = members(source, budget)?;
    let found = match wanted {
        Some(name) => all
            .iter()
            .position(|m| array_name(m) == name || m.name == name),
        None => (all.len() == 1).then_some(0),
    };
    if let Some(at) = found {
        let member = all.swap_remove(at);
        let place = format!("{}:{}", source.name(), array_name(&member));
        return Ok((member, place));
    }
    let names: Vec<String> = all
        .iter()
        .take(20)
        .map(|m| short(array_name(m), 80))
        .collect();
    let what = match wanted {
        _ if all.is_empty() => {
            return Err(Error::input("the archive holds no array")
                .at_place(source.name())
                .remedy("numpy.savez(file, x=array)"));
        }
        Some(name) => format!("the archive has no array '{name}'"),
        None => format!("the archive holds {} arrays, and none is chosen", all.len()),
    };
    let remedy = format!("{}:NAME with one of {}", source.name(), names.join(", "));
    Err(Error::request(what).at_place(source.name()).remedy(remedy))
}

/// The header of a member and where its packed bytes begin.
fn member_header(source: &Source, member: &Member, place: &str) -> Result<(Header, u64)> {
    let at = data_at(source, member)?;
    let most = if member.deflated {
        member.packed.saturating_mul(BEST_DEFLATE)
    } else {
        member.packed
    };
    check_claim(
        at_byte(source.name(), at),
        &format!("array {}", array_name(member)),
        Some(member.size),
        most,
    )?;
    let header = Header::read(place, 0, member.size, |n| {
        let mut bytes = vec![0; n];
        open(source, member, at)
            .read_exact(&mut bytes)
            .map_err(|e| read_error(place, "cannot be read", &e))?;
        Ok(bytes)
    })?;
    Ok((header, at))
}

fn open(source: &Source, member: &Member, at: u64) -> Box<dyn Read> {
    let packed = source.reader_at(at).take(member.packed);
    if member.deflated {
        Box::new(DeflateDecoder::new(packed).take(member.size))
    } else {
        Box::new(packed)
    }
}

fn member_elements(
    source: &Source,
    member: &Member,
    header: &Header,
    at: u64,
    budget: &Budget,
) -> Result<zipfold_core::Elements> {
    let place = format!("{}:{}", source.name(), array_name(member));
    let mut checked = Checked {
        reader: open(source, member, at),
        crc: Crc::new(),
    };
    let skipped = io::copy(&mut (&mut checked).take(header.data_at), &mut io::sink());
    skipped.map_err(|e| read_error(&place, "cannot be read", &e))?;
    let elements = read_elements(&mut checked, header, &place, 0, budget)?;
    io::copy(&mut checked, &mut io::sink())
        .map_err(|e| read_error(&place, "cannot be read", &e))?;
    if checked.crc.sum() != member.crc {
        return Err(Error::input("the checksum is wrong: the data are damaged")
            .at_place(at_byte(source.name(), at))
            .remedy("copy or make the file again"));
    }
    Ok(elements)
}

/// Sums what passes.
struct Checked<R> {
    reader: R,
    crc: Crc,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buf)?;
        self.crc.update(&buf[..n]);
        Ok(n)
    }
}

/// Writes arrays into an NPZ archive that `numpy.load` reads.
#[derive(Debug)]
pub struct NpzWriter {
    out: Output,
    at: u64,
    directory: Vec<u8>,
    members: u64,
}

impl NpzWriter {
    /// Starts the archive in `out`.
    pub fn new(out: Output) -> Self {
        NpzWriter {
            out,
            at: 0,
            directory: Vec::new(),
            members: 0,
        }
    }
    /// Adds the array `name` of `shape`.
    ///
    /// # Errors
    /// `Resource` when the disk is full; `Internal` when `items` do not fill `shape`.
    pub fn add<T: NpyElement>(&mut self, name: &str, shape: &[usize], items: &[T]) -> Result<()> {
        if shape.iter().product::<usize>() != items.len() {
            return Err(Error::internal(format!(
                "{} elements do not fill the array {name}",
                items.len()
            )));
        }
        self.add_parts(name, shape, |put| {
            items.chunks(PART).try_for_each(&mut *put)
        })
    }
    /// Adds the array `name` of `shape`, whose elements `each` hands over in order, a run after
    /// another; where the output is not a file it is asked twice.
    ///
    /// # Errors
    /// As [`NpzWriter::add`], and those of `each`.
    pub fn add_parts<T: NpyElement>(
        &mut self,
        name: &str,
        shape: &[usize],
        each: impl Fn(&mut dyn FnMut(&[T]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let header = header_bytes(T::DESCR, shape);
        let count = shape.iter().product::<usize>();
        let size = header.len() as u64 + (count * T::BYTES) as u64;
        let mut crc = Crc::new();
        crc.update(&header);
        // The checksum is before the data: in a file it is put there after them.
        let later = self.out.is_file();
        if !later {
            each(&mut |items| {
                each_chunk(items, |bytes| {
                    crc.update(bytes);
                    Ok(())
                })
                .map_err(|e| self.out.error(&e))
            })?;
        }
        let mut record = Record {
            name: format!("{name}.npy"),
            size,
            crc: crc.sum(),
            at: self.at,
        };
        self.put(&record.local())?;
        self.put(&header)?;
        let (out, mut seen) = (&mut self.out, 0);
        each(&mut |items| {
            seen += items.len();
            let written = each_chunk(items, |bytes| {
                if later {
                    crc.update(bytes);
                }
                out.write_all(bytes)
            });
            written.map_err(|e| out.error(&e))
        })?;
        if seen != count {
            return Err(Error::internal(format!(
                "{seen} elements do not fill the array {name}"
            )));
        }
        self.at += size - header.len() as u64;
        if later {
            record.crc = crc.sum();
            self.patch(&record)?;
        }
        self.directory.extend(record.entry());
        self.members += 1;
        Ok(())
    }
    /// Adds a word, as NumPy holds bytes: an array of no dimensions.
    ///
    /// # Errors
    /// `Resource` when the disk is full.
    pub fn add_word(&mut self, name: &str, word: &str) -> Result<()> {
        let mut bytes = header_bytes(&format!("|S{}", word.len()), &[]);
        bytes.extend_from_slice(word.as_bytes());
        let mut crc = Crc::new();
        crc.update(&bytes);
        let record = Record {
            name: format!("{name}.npy"),
            size: bytes.len() as u64,
            crc: crc.sum(),
            at: self.at,
        };
        self.put(&record.local())?;
        self.put(&bytes)?;
        self.directory.extend(record.entry());
        self.members += 1;
        Ok(())
    }
    /// Writes the checksum of `record` where its header begins, and goes on at the end.
    fn patch(&mut self, record: &Record) -> Result<()> {
        let patched = (self.out.seek(SeekFrom::Start(record.at + CRC_AT)))
            .and_then(|_| self.out.write_all(&record.crc.to_le_bytes()))
            .and_then(|()| self.out.seek(SeekFrom::Start(self.at)));
        patched.map(|_| ()).map_err(|e| self.out.error(&e))
    }
    /// Completes the archive.
    ///
    /// # Errors
    /// As [`Output::commit`].
    pub fn finish(mut self) -> Result<()> {
        let directory = std::mem::take(&mut self.directory);
        let end = end_records(self.members, directory.len() as u64, self.at);
        self.put(&directory)?;
        self.put(&end)?;
        self.out.commit()
    }
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes).map_err(|e| self.out.error(&e))
    }
}

/// Where the checksum is in the header of a member.
const CRC_AT: u64 = 14;

/// What the archive says of one member.
struct Record {
    name: String,
    size: u64,
    crc: u32,
    at: u64,
}

/// `value`, or the mark that says that a 64-bit field follows.
fn narrow(value: u64) -> [u8; 4] {
    u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes()
}

impl Record {
    /// Version, flags (names are UTF-8), method (stored), time and day (1980-01-01), checksum,
    /// sizes, length of the name.
    fn common(&self) -> Vec<u8> {
        let mut out = Vec::from([45, 0, 0, 8, 0, 0, 0, 0, 0x21, 0]);
        out.extend(self.crc.to_le_bytes());
        out.extend(narrow(self.size));
        out.extend(narrow(self.size));
        out.extend((self.name.len() as u16).to_le_bytes());
        out
    }
    fn extra(&self, with_place: bool) -> Vec<u8> {
        let mut wide = Vec::new();
        if self.size >= u64::from(u32::MAX) {
            wide.extend(self.size.to_le_bytes());
            wide.extend(self.size.to_le_bytes());
        }
        if with_place && self.at >= u64::from(u32::MAX) {
            wide.extend(self.at.to_le_bytes());
        }
        if wide.is_empty() {
            return wide;
        }
        let mut out = Vec::from([1, 0, wide.len() as u8, 0]);
        out.extend(wide);
        out
    }
    fn local(&self) -> Vec<u8> {
        let extra = self.extra(false);
        [
            b"PK\x03\x04",
            &self.common()[..],
            &(extra.len() as u16).to_le_bytes(),
            self.name.as_bytes(),
            &extra,
        ]
        .concat()
    }
    fn entry(&self) -> Vec<u8> {
        let extra = self.extra(true);
        let attributes = [0; 10]; // no comment, disk 0, no attributes
        let sizes = (extra.len() as u16).to_le_bytes();
        [
            b"PK\x01\x02\x2d\x03",
            &self.common()[..],
            &sizes,
            &attributes,
            &narrow(self.at),
            self.name.as_bytes(),
            &extra,
        ]
        .concat()
    }
}

/// The records that end an archive: with 64-bit fields only when they are needed.
fn end_records(members: u64, directory: u64, at: u64) -> Vec<u8> {
    let mut out = Vec::new();
    if members >= 0xffff || directory >= u64::from(u32::MAX) || at >= u64::from(u32::MAX) {
        out.extend(b"PK\x06\x06");
        out.extend(44u64.to_le_bytes());
        out.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        [members, members, directory, at]
            .iter()
            .for_each(|v| out.extend(v.to_le_bytes()));
        out.extend(b"PK\x06\x07\0\0\0\0");
        out.extend((at + directory).to_le_bytes());
        out.extend(1u32.to_le_bytes());
    }
    let count = u16::try_from(members).unwrap_or(u16::MAX).to_le_bytes();
    out.extend(
        [
            &b"PK\x05\x06\0\0\0\0"[..],
            &count,
            &count,
            &narrow(directory),
            &narrow(at),
            &[0; 2],
        ]
        .concat(),
    );
    out
}
