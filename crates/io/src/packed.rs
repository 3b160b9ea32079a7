//! What packed parts of Parquet and Arrow files unpack to, before their decoders are let at them:
//! those take what comes, regardless of the size that the file claims.

use crate::foreign::damaged;
use crate::guard::Source;
use std::io::Read;
use zipfold_core::Result;

/// How a part is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    /// Zstandard frames.
    Zstd,
    /// Gzip members.
    Gzip,
    /// LZ4 frames.
    Lz4,
}

/// Bytes of a part of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) source: &'a Source,
    pub(crate) at: u64,
    pub(crate) len: u64,
}

/// Times its own size that gzip, and LZ4, unpack to at most.
const GZIP: u64 = 1032;
const LZ4: u64 = 255;
/// The most that a block of Zstandard unpacks to.
const ZSTD_BLOCK: u64 = 128 << 10;

/// Refuses a part that unpacks to more than the `claimed` bytes. What cannot exceed `room` bytes is
/// not looked into.
pub(crate) fn check(
    part: Part<'_>,
    codec: Codec,
    claimed: u64,
    room: u64,
    format: &str,
) -> Result<()> {
    let most = match codec {
        Codec::Gzip => part.len.saturating_mul(GZIP),
        Codec::Lz4 => part.len.saturating_mul(LZ4),
        Codec::Zstd => zstd_most(part),
    };
    if most <= room || most <= claimed.saturating_add(ZSTD_BLOCK) {
        return Ok(());
    }
    let packed = part.source.reader_at(part.at).take(part.len);
    let found = match codec {
        Codec::Gzip => count(flate2::read::MultiGzDecoder::new(packed), claimed),
        Codec::Lz4 => count(lz4_flex::frame::FrameDecoder::new(packed), claimed),
        Codec::Zstd => {
            zstd::stream::read::Decoder::new(packed).and_then(|decoder| count(decoder, claimed))
        }
    };
    match found {
        Ok(found) if found > claimed => {
            let what = format!("a packed part claims {claimed} bytes and unpacks to more");
            Err(damaged(part.source, format, what))
        }
        // What is damaged otherwise its own decoder says.
        _ => Ok(()),
    }
}

/// Bytes that `reader` gives, counted no further than beyond `most`.
fn count(mut reader: impl Read, most: u64) -> std::io::Result<u64> {
    let mut chunk = vec![0; 1 << 16];
    let mut found = 0;
    while found <= most {
        match reader.read(&mut chunk)? {
            0 => break,
            n => found += n as u64,
        }
    }
    Ok(found)
}

/// The most that the blocks of Zstandard frames can unpack to, by their headers; all that can be
/// where they make no sense.
fn zstd_most(part: Part<'_>) -> u64 {
    zstd_blocks(part).unwrap_or(u64::MAX)
}

fn zstd_blocks(part: Part<'_>) -> Option<u64> {
    let end = part.at.checked_add(part.len)?;
    let (mut at, mut most) = (part.at, 0u64);
    while at < end {
        let word = number(part.source, at, 4)?;
        if word & 0xffff_fff0 == 0x184d_2a50 {
            at = at.checked_add(8 + number(part.source, at + 4, 4)?)?;
            continue;
        }
        if word != 0xfd2f_b528 {
            return None;
        }
        let flags = number(part.source, at + 4, 1)?;
        let single = flags >> 5 & 1;
        let size = [single, 2, 4, 8][(flags >> 6) as usize];
        let dictionary = [0, 1, 2, 4][(flags & 3) as usize];
        at += 5 + (1 - single) + dictionary + size;
        loop {
            let header = number(part.source, at, 3)?;
            let (last, kind, size) = (header & 1, header >> 1 & 3, header >> 3);
            let (packed, unpacked) = match kind {
                0 => (size, size),
                1 => (1, size),
                _ => (size, ZSTD_BLOCK),
            };
            most = most.checked_add(unpacked)?;
            at = at.checked_add(3 + packed)?;
            if at > end {
                return None;
            }
            if last == 1 {
                break;
            }
        }
        // The checksum of the frame.
        at += (flags >> 2 & 1) * 4;
    }
    Some(most)
}

/// The little-endian number in `len` bytes at `at`.
fn number(source: &Source, at: u64, len: usize) -> Option<u64> {
    let mut bytes = [0; 8];
    let n = source.read_at(at, &mut bytes[..len]).ok()?;
    (n == len).then(|| u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zipfold_core::Budget;

    fn checked(bytes: &[u8], codec: Codec, claimed: u64) -> bool {
        let budget = Budget::new(1 << 30);
        let source = Source::whole("a", &mut &bytes[..], &budget).unwrap();
        let part = Part {
            source: &source,
            at: 0,
            len: bytes.len() as u64,
        };
        check(part, codec, claimed, 1000, "test").is_ok()
    }

    #[test]
    fn what_unpacks_to_more_than_it_claims_is_found() {
        let plain = vec![7u8; 5 << 20];
        let frame = zstd::encode_all(&plain[..], 3).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(&plain).unwrap();
        let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
        lz4.write_all(&plain).unwrap();
        let all = [
            (Codec::Zstd, frame),
            (Codec::Gzip, gzip.finish().unwrap()),
            (Codec::Lz4, lz4.finish().unwrap()),
        ];
        for (codec, bytes) in all {
            assert!(checked(&bytes, codec, plain.len() as u64), "{codec:?}");
            assert!(
                !checked(&bytes, codec, plain.len() as u64 - 1_000_000),
                "{codec:?}"
            );
            assert!(!checked(&bytes, codec, 3000), "{codec:?}");
        }
    }

    #[test]
    fn blocks_bound_what_a_frame_unpacks_to() {
        let noise: Vec<u8> = (0..1_000_000u32)
            .map(|i| (i.wrapping_mul(2654435761) >> 13) as u8)
            .collect();
        let two = [
            zstd::encode_all(&noise[..], 1).unwrap(),
            zstd::encode_all(&noise[..10], 1).unwrap(),
        ]
        .concat();
        let budget = Budget::new(1 << 30);
        let source = Source::whole("a", &mut &two[..], &budget).unwrap();
        let most = zstd_most(Part {
            source: &source,
            at: 0,
            len: two.len() as u64,
        });
        assert!((1_000_010..20_000_000).contains(&most), "{most}");
        assert_eq!(
            zstd_most(Part {
                source: &source,
                at: 0,
                len: two.len() as u64 - 1
            }),
            u64::MAX
        );
    }
}
