//! The pages of a Parquet column before they are decoded: what decoding them holds at one time.

use crate::foreign::damaged;
use crate::guard::{Source, check_claim};
use crate::packed::{Codec, Part, check};
use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;
use zipfold_core::{Error, Result};

/// The part of a page's header that says how large the page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PageHeader {
    /// 0 a data page, 2 a dictionary, 3 a data page of version 2.
    kind: i64,
    unpacked: i64,
    packed: i64,
    /// Bytes of version 2 before what is packed.
    levels: i64,
    /// Bytes of the header itself.
    len: usize,
}

/// A header is this long at most: it may hold the least and the greatest value of its page.
const LONGEST_HEADER: usize = 1 << 20;

/// Refuses codecs that are not built in.
fn check_codec(source: &Source, codec: Compression) -> Result<()> {
    match codec {
        Compression::BROTLI(_) | Compression::LZO => {
            let what =
                format!("expected pages packed by Snappy, Zstandard, gzip or LZ4, got {codec}");
            let e = Error::input(what).at_place(source.name().to_owned());
            Err(e.remedy("write the file with compression='zstd'"))
        }
        Compression::UNCOMPRESSED
        | Compression::SNAPPY
        | Compression::GZIP(_)
        | Compression::LZ4
        | Compression::ZSTD(_)
        | Compression::LZ4_RAW => Ok(()),
    }
}

/// Bytes that reading the column `chunk` holds at one time: its largest page and its dictionary,
/// packed and unpacked. `room` is what may be taken without looking closer.
///
/// # Errors
/// `Input` when a page claims more than is there, or holds more than it claims.
pub(crate) fn held(source: &Source, chunk: &ColumnChunkMetaData, room: u64) -> Result<u64> {
    check_codec(source, chunk.compression())?;
    let broken = |what: &str| damaged(source, "Parquet", what);
    let number = |v: i64| u64::try_from(v).map_err(|_| broken("an offset is negative"));
    let data = number(chunk.data_page_offset())?;
    let first = chunk
        .dictionary_page_offset()
        .filter(|at| *at > 0)
        .map(number)
        .transpose()?;
    let (mut at, packed) = (
        first.map_or(data, |d| d.min(data)),
        number(chunk.compressed_size())?,
    );
    let end = check_claim(
        source.name().to_owned(),
        "a column",
        at.checked_add(packed),
        source.size(),
    )?;
    let (mut page, mut dictionary) = (0, 0);
    let mut window = Vec::new();
    while at < end {
        let header =
            header(source, at, end, &mut window).ok_or_else(|| broken("the header of a page"))?;
        let (unpacked, packed) = (number(header.unpacked)?, number(header.packed)?);
        let body = at + header.len as u64;
        let past = check_claim(
            source.name().to_owned(),
            "a page",
            body.checked_add(packed),
            end,
        )?;
        let codec = match chunk.compression() {
            Compression::ZSTD(_) => Some(Codec::Zstd),
            Compression::GZIP(_) => Some(Codec::Gzip),
            Compression::LZ4 if starts_lz4(source, body) => Some(Codec::Lz4),
            _ => None,
        };
        if let Some(codec) = codec {
            let levels = number(header.levels)?.min(packed);
            let part = Part {
                source,
                at: body + levels,
                len: packed - levels,
            };
            check(part, codec, unpacked, room, "Parquet")?;
        }
        let takes = unpacked.saturating_add(packed);
        // A decoder of frames keeps a window of what it gave; a dictionary is kept decoded too.
        match header.kind {
            2 => {
                dictionary = takes
                    .saturating_add(unpacked.saturating_mul(2))
                    .max(dictionary)
            }
            _ => page = takes.saturating_add(unpacked / 2).max(page),
        }
        at = past;
    }
    Ok(page.saturating_add(dictionary))
}

fn starts_lz4(source: &Source, at: u64) -> bool {
    let mut magic = [0; 4];
    matches!(source.read_at(at, &mut magic), Ok(4)) && magic == [0x04, 0x22, 0x4d, 0x18]
}

/// The header of the page at `at`.
fn header(source: &Source, at: u64, end: u64, window: &mut Vec<u8>) -> Option<PageHeader> {
    let mut len = 256;
    loop {
        window.resize(len.min((end - at) as usize), 0);
        source.fill_at(at, window).ok()?;
        let mut thrift = Thrift {
            bytes: window,
            at: 0,
        };
        match thrift.page_header() {
            Some(found) => {
                return Some(PageHeader {
                    len: thrift.at,
                    ..found
                });
            }
            None if len < LONGEST_HEADER && (len as u64) < end - at => len *= 8,
            None => return None,
        }
    }
}

/// Thrift's compact protocol, as far as headers of pages need it.
struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Structures inside each other: headers have three.
const DEEPEST: usize = 8;

impl Thrift<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }
    fn varint(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            (shift < 64).then_some(())?;
        }
    }
    fn number(&mut self) -> Option<i64> {
        let v = self.varint()?;
        Some((v >> 1) as i64 ^ -((v & 1) as i64))
    }
    /// The next field of a structure: its number and kind; `None` inside at its end.
    fn field(&mut self, last: &mut i64) -> Option<Option<(i64, u8)>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Some(None);
        }
        *last = match byte >> 4 {
            0 => self.number()?,
            step => *last + i64::from(step),
        };
        Some(Some((*last, byte & 15)))
    }
    fn page_header(&mut self) -> Option<PageHeader> {
        let (mut out, mut last) = (PageHeader::default(), 0);
        while let Some((field, kind)) = self.field(&mut last)? {
            match (field, kind) {
                (1, 5) => out.kind = self.number()?,
                (2, 5) => out.unpacked = self.number()?,
                (3, 5) => out.packed = self.number()?,
                (8, 12) => out.levels = self.levels()?,
                _ => self.skip(kind, 0)?,
            }
        }
        Some(out)
    }
    /// The bytes of levels in the header of a data page of version 2.
    fn levels(&mut self) -> Option<i64> {
        let (mut bytes, mut last) = (0i64, 0);
        while let Some((field, kind)) = self.field(&mut last)? {
            match (field, kind) {
                (5 | 6, 5) => bytes = bytes.checked_add(self.number()?)?,
                _ => self.skip(kind, 0)?,
            }
        }
        Some(bytes)
    }
    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        (depth < DEEPEST).then_some(())?;
        match kind {
            1 | 2 => {}
            3 => self.at += 1,
            4..=6 => {
                self.varint()?;
            }
            7 => self.at += 8,
            8 => {
                let len = usize::try_from(self.varint()?).ok()?;
                self.at = self.at.checked_add(len)?;
            }
            9 | 10 => {
                let byte = self.byte()?;
                let many = if byte >> 4 == 15 {
                    self.varint()?
                } else {
                    u64::from(byte >> 4)
                };
                for _ in 0..many {
                    match byte & 15 {
                        1 | 2 => self.at += 1,
                        kind => self.skip(kind, depth + 1)?,
                    }
                    (self.at <= self.bytes.len()).then_some(())?;
                }
            }
            12 => {
                let mut last = 0;
                while let Some((_, kind)) = self.field(&mut last)? {
                    self.skip(kind, depth + 1)?;
                }
            }
            _ => return None,
        }
        (self.at <= self.bytes.len()).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_past_what_it_holds_beside_its_sizes() {
        // kind 3, 100 bytes unpacked, 50 packed, then a header of version 2 with levels of 4 and 2
        // bytes and statistics.
        let bytes = [
            0x15, 6, 0x15, 200, 1, 0x15, 100, 0x5c, 0x15, 2, 0x45, 8, 0x15, 4, 0x2c, 0x18, 2, 9, 9,
            0, 0, 0, 77,
        ];
        let mut thrift = Thrift {
            bytes: &bytes,
            at: 0,
        };
        let found = thrift.page_header().unwrap();
        assert_eq!(
            found,
            PageHeader {
                kind: 3,
                unpacked: 100,
                packed: 50,
                levels: 6,
                len: 0
            }
        );
        assert_eq!(thrift.at, bytes.len() - 1);
        for cut in 0..bytes.len() - 1 {
            assert_eq!(
                Thrift {
                    bytes: &bytes[..cut],
                    at: 0
                }
                .page_header(),
                None,
                "cut at {cut}"
            );
        }
    }
}
