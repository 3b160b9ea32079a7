//! Blosc containers (version 1), as Zarr keeps chunks: blocks that are packed one by one, whose bytes
//! were sorted by their place in an element.
//!
//! ```text
//! bytes 0 … 15     version, version of the codec, flags, bytes of an element,
//!                  bytes unpacked, bytes of a block, bytes packed (u32 each)
//! then             where each block begins (u32), unless all bytes are as they were
//! block            for each of its parts: bytes packed (u32), the part
//! ```

use super::unpack::{damaged, lz4, zlib, zstd};
use zipfold_core::{Error, Result};

const HEAD: usize = 16;
/// Flags: bytes were sorted, bytes are as they were, bits were sorted, blocks have one part.
const SHUFFLED: u8 = 1;
const STORED: u8 = 2;
const BITS: u8 = 4;
const WHOLE: u8 = 16;

/// The bytes of a container, of at most `most`.
///
/// # Errors
/// `Input` for damaged bytes; `Request` for codecs that are not read.
pub(super) fn unpacked(bytes: &[u8], most: usize) -> Result<Vec<u8>> {
    if bytes.len() < HEAD {
        return Err(damaged("a head of Blosc that ends early"));
    }
    let (flags, width) = (bytes[2], usize::from(bytes[3]).max(1));
    let [size, block, packed] = [4, 8, 12].map(|at| word(bytes, at).unwrap_or(0));
    if size > most || packed != bytes.len() || (block == 0 && size > 0) {
        return Err(damaged("a head of Blosc that does not fit the chunk"));
    }
    if flags & STORED != 0 {
        let stored = bytes.get(HEAD..HEAD + size);
        return stored
            .map(<[u8]>::to_vec)
            .ok_or_else(|| damaged("it ends early"));
    }
    if flags & BITS != 0 {
        let e = Error::request("expected bytes sorted by Blosc, got bits (bitshuffle)");
        return Err(e.remedy("chunks packed with shuffle=1 or 0"));
    }
    let mut out = Vec::with_capacity(size);
    for (number, first) in (0..size).step_by(block.max(1)).enumerate() {
        let length = block.min(size - first);
        let start = word(bytes, HEAD + 4 * number).ok_or_else(|| damaged("it ends early"))?;
        let split = flags & WHOLE == 0 && length == block && length.is_multiple_of(width);
        let parts = if split { width } else { 1 };
        let plain = block_of(bytes, start, (length, parts), flags >> 5)?;
        match flags & SHUFFLED != 0 && width > 1 {
            true => unsorted(&plain, width, &mut out),
            false => out.extend_from_slice(&plain),
        }
    }
    Ok(out)
}

/// The number at byte `at`.
fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
}

/// The block of `length` bytes in `parts` parts that begins at `start`.
fn block_of(
    bytes: &[u8],
    start: usize,
    (length, parts): (usize, usize),
    codec: u8,
) -> Result<Vec<u8>> {
    let early = || damaged("it ends early");
    let (mut at, mut plain) = (start, Vec::with_capacity(length));
    let size = length / parts;
    for _ in 0..parts {
        let packed = word(bytes, at).ok_or_else(early)?;
        let end = (at + 4).checked_add(packed).ok_or_else(early)?;
        let part = bytes.get(at + 4..end).ok_or_else(early)?;
        at = end;
        match packed == size {
            true => plain.extend_from_slice(part),
            false => {
                let found = match codec {
                    1 => lz4(part, size)?,
                    3 => zlib(part, size)?,
                    4 => zstd(part, size)?,
                    _ => {
                        let name = ["blosclz", "", "snappy"].get(usize::from(codec));
                        let name = name.copied().unwrap_or("another codec");
                        let e = Error::request(format!(
                            "expected a codec of Blosc that is read, got {name}"
                        ));
                        return Err(e
                            .limit("lz4, lz4hc, zlib, zstd")
                            .remedy("chunks packed by one of these"));
                    }
                };
                if found.len() != size {
                    return Err(damaged("a block of another size"));
                }
                plain.extend_from_slice(&found);
            }
        }
    }
    Ok(plain)
}

/// Appends the elements whose bytes were sorted by their place in an element.
fn unsorted(sorted: &[u8], width: usize, out: &mut Vec<u8>) {
    let count = sorted.len() / width;
    for at in 0..count {
        out.extend((0..width).map(|byte| sorted[byte * count + at]));
    }
    out.extend_from_slice(&sorted[count * width..]);
}
