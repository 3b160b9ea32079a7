//! The directory of a ZIP archive (as NPZ files are), 64-bit sizes included, read without trust in
//! its sizes.

use crate::guard::{Source, at_byte, check_claim};
use std::collections::HashSet;
use zipfold_core::{Budget, Error, Result};

/// One member of an archive.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub name: String,
    /// The name as it is in the file.
    raw_name: Vec<u8>,
    pub deflated: bool,
    pub packed: u64,
    pub size: u64,
    pub crc: u32,
    local_at: u64,
}

/// Where the directory lies and how many entries it claims.
struct Place {
    at: u64,
    bytes: u64,
    entries: u64,
}

const END: &[u8] = b"PK\x05\x06";
const END_64: &[u8] = b"PK\x06\x06";
const LOCATOR_64: &[u8] = b"PK\x06\x07";
const ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

/// The members of the archive `source`.
pub(crate) fn members(source: &Source, budget: &Budget) -> Result<Vec<Member>> {
    let place = find_directory(source)?;
    let here = at_byte(source.name(), place.at);
    let end = place.at.checked_add(place.bytes);
    check_claim(here.clone(), "the archive's directory", end, source.size())?;
    // An entry takes at least 46 bytes.
    check_claim(
        here,
        "the list of members",
        place.entries.checked_mul(46),
        place.bytes,
    )?;
    // A member takes its name, and what a list of members and the names seen take for it.
    let members = place
        .entries
        .saturating_mul(4 * size_of::<Member>() as u64)
        .saturating_add(3 * place.bytes);
    let _members = budget.reserve(members, "the list of members of the archive")?;
    let mut bytes = budget.vec(place.bytes as usize, 0u8, "the directory of the archive")?;
    source.fill_at(place.at, &mut bytes.items)?;
    let mut rest = Fields {
        source,
        base: place.at,
        bytes: &bytes.items,
        at: 0,
    };
    let all = (0..place.entries)
        .map(|_| rest.entry())
        .collect::<Result<Vec<Member>>>()?;
    let mut seen = HashSet::with_capacity(all.len());
    match all.iter().find(|member| !seen.insert(member.name.as_str())) {
        None => Ok(all),
        Some(twice) => Err(
            Error::input(format!("two members are called '{}'", twice.name))
                .at_place(source.name())
                .remedy("write the archive again, with a name of its own for each array"),
        ),
    }
}

/// Where the packed bytes of `member` begin.
pub(crate) fn data_at(source: &Source, member: &Member) -> Result<u64> {
    let mut head = [0; 30];
    source.fill_at(member.local_at, &mut head)?;
    let mut fields = Fields {
        source,
        base: member.local_at,
        bytes: &head,
        at: 0,
    };
    fields.signature(LOCAL)?;
    fields.at = 6;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    fields.at = 14;
    let crc = fields.u32()?;
    fields.at = 26;
    let (name_len, extra_len) = (fields.u16()?, fields.u16()?);
    let begin = member.local_at + 30 + u64::from(name_len) + u64::from(extra_len);
    let mut name = vec![0; name_len.into()];
    source.fill_at(member.local_at + 30, &mut name)?;
    // With bit 3 the checksum follows the data, and is 0 here.
    let crc_fits = crc == member.crc || (crc == 0 && flags & 8 != 0);
    if name != member.raw_name || (method == 8) != member.deflated || !crc_fits {
        return Err(Error::input(format!(
            "the archive's directory and the member itself disagree about '{}'",
            member.name
        ))
        .at_place(at_byte(source.name(), member.local_at))
        .remedy("copy the file again, or write it with numpy.savez"));
    }
    check_claim(
        at_byte(source.name(), begin),
        &format!("member {}", member.name),
        begin.checked_add(member.packed),
        source.size(),
    )?;
    Ok(begin)
}

fn find_directory(source: &Source) -> Result<Place> {
    let tail_len = source.size().min(22 + 65535);
    let tail_at = source.size() - tail_len;
    let mut tail = vec![0; tail_len as usize];
    source.fill_at(tail_at, &mut tail)?;
    let found = (0..tail.len().saturating_sub(21)).rev().find(|at| {
        let comment = || usize::from(u16::from_le_bytes([tail[at + 20], tail[at + 21]]));
        tail[*at..].starts_with(END) && at + 22 + comment() <= tail.len()
    });
    let Some(at) = found else {
        return Err(Error::input(
            "this is not an NPZ file, or its end is missing: the archive's directory is not there",
        )
        .at_place(at_byte(source.name(), source.size()))
        .remedy("copy the file again, or write it with numpy.savez"));
    };
    let end_at = tail_at + at as u64;
    let mut fields = Fields {
        source,
        base: end_at,
        bytes: &tail[at..],
        at: 10,
    };
    let entries = u64::from(fields.u16()?);
    let bytes = u64::from(fields.u32()?);
    let begin = u64::from(fields.u32()?);
    if entries == 0xffff || bytes == 0xffff_ffff || begin == 0xffff_ffff {
        return find_directory_64(source, end_at);
    }
    // A writer that knew no sizes before, as one to a pipe, adds the records of 64 bits where none
    // are needed.
    adjoining(
        source,
        Place {
            at: begin,
            bytes,
            entries,
        },
        end_at,
    )
    .or_else(|error| {
        let mut signature = [0; 4];
        let before = end_at
            .checked_sub(20)
            .is_some_and(|at| source.fill_at(at, &mut signature).is_ok());
        if before && signature == LOCATOR_64 {
            find_directory_64(source, end_at)
        } else {
            Err(error)
        }
    })
}

/// `place` where its directory ends at `end`, at which the record that tells it begins. Else places
/// do not count from the start of the file, as in an archive that was written behind another, and
/// would be those of the other one.
fn adjoining(source: &Source, place: Place, end: u64) -> Result<Place> {
    if place.at.checked_add(place.bytes) == Some(end) {
        return Ok(place);
    }
    Err(Error::input(
        "the archive does not begin where the file does, or bytes of it are missing or too many",
    )
    .at_place(at_byte(source.name(), end))
    .remedy("copy the file again, or write it with numpy.savez"))
}

fn find_directory_64(source: &Source, end_at: u64) -> Result<Place> {
    let at = end_at
        .checked_sub(20)
        .ok_or_else(|| damaged(source, end_at))?;
    let mut locator = [0; 20];
    source.fill_at(at, &mut locator)?;
    let mut fields = Fields {
        source,
        base: at,
        bytes: &locator,
        at: 0,
    };
    fields.signature(LOCATOR_64)?;
    fields.at = 8;
    let at = fields.u64()?;
    let mut end = [0; 56];
    source.fill_at(at, &mut end)?;
    let mut fields = Fields {
        source,
        base: at,
        bytes: &end,
        at: 0,
    };
    fields.signature(END_64)?;
    fields.at = 32;
    adjoining(
        source,
        Place {
            entries: fields.u64()?,
            bytes: fields.u64()?,
            at: fields.u64()?,
        },
        at,
    )
}

fn damaged(source: &Source, at: u64) -> Error {
    Error::input("the archive's directory is damaged")
        .at_place(at_byte(source.name(), at))
        .remedy("copy or make the file again")
}

/// Little-endian fields one after another.
struct Fields<'a> {
    source: &'a Source,
    base: u64,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let bytes = self
            .at
            .checked_add(n)
            .and_then(|end| self.bytes.get(self.at..end));
        let bytes =
            bytes.ok_or_else(|| damaged(self.source, self.base.saturating_add(self.at as u64)))?;
        self.at += n;
        Ok(bytes)
    }
    fn number(&mut self, n: usize) -> Result<u64> {
        Ok(self
            .take(n)?
            .iter()
            .rev()
            .fold(0, |value, b| value << 8 | u64::from(*b)))
    }
    fn u16(&mut self) -> Result<u16> {
        Ok(self.number(2)? as u16)
    }
    fn u32(&mut self) -> Result<u32> {
        Ok(self.number(4)? as u32)
    }
    fn u64(&mut self) -> Result<u64> {
        self.number(8)
    }
    fn signature(&mut self, signature: &[u8]) -> Result<()> {
        let base = self.base.saturating_add(self.at as u64);
        if self.take(4)? == signature {
            Ok(())
        } else {
            Err(damaged(self.source, base))
        }
    }
    fn entry(&mut self) -> Result<Member> {
        let begin = self.base + self.at as u64;
        self.signature(ENTRY)?;
        self.take(4)?;
        let flags = self.u16()?;
        let method = self.u16()?;
        self.take(4)?;
        let crc = self.u32()?;
        let (packed, size) = (self.u32()?, self.u32()?);
        let (name_len, extra_len, comment_len) = (self.u16()?, self.u16()?, self.u16()?);
        self.take(8)?;
        let local_at = self.u32()?;
        let raw_name = self.take(name_len.into())?.to_vec();
        let name = String::from_utf8_lossy(&raw_name).into_owned();
        let extra = self.take(extra_len.into())?;
        self.take(comment_len.into())?;
        let refuse = |what: String, remedy: &str| {
            Err(Error::input(what)
                .at_place(at_byte(self.source.name(), begin))
                .remedy(remedy))
        };
        if flags & 1 != 0 {
            return refuse(
                format!("member {name} is encrypted"),
                "write it with numpy.savez",
            );
        }
        if method != 0 && method != 8 {
            let what =
                format!("member {name} is packed by method {method}, not stored or deflated");
            return refuse(what, "write it with numpy.savez or numpy.savez_compressed");
        }
        let mut wide = Fields {
            source: self.source,
            base: begin,
            bytes: zip64_extra(extra),
            at: 0,
        };
        let mut widen = |value: u32| {
            if value == u32::MAX {
                wide.u64()
            } else {
                Ok(u64::from(value))
            }
        };
        let (size, packed, local_at) = (widen(size)?, widen(packed)?, widen(local_at)?);
        check_claim(
            at_byte(self.source.name(), begin),
            &format!("member {name}"),
            Some(packed.max(local_at)),
            self.source.size(),
        )?;
        Ok(Member {
            name,
            raw_name,
            deflated: method == 8,
            packed,
            size,
            crc,
            local_at,
        })
    }
}

/// The body of the extra field that holds 64-bit sizes.
fn zip64_extra(mut extra: &[u8]) -> &[u8] {
    while let [a, b, c, d, rest @ ..] = extra {
        let len = usize::from(u16::from_le_bytes([*c, *d])).min(rest.len());
        if u16::from_le_bytes([*a, *b]) == 1 {
            return &rest[..len];
        }
        extra = &rest[len..];
    }
    &[]
}
