//! The decoders of chunks, none of which gives more than a byte beyond what is wanted.

use std::io::Read;
use zipfold_core::{Error, Result};

/// The bytes of a Zstandard frame.
#[cfg(feature = "parquet")]
pub(super) fn zstd(bytes: &[u8], most: usize) -> Result<Vec<u8>> {
    let decoder = zstd::stream::read::Decoder::new(bytes).map_err(|e| damaged(&e.to_string()))?;
    all(decoder, most)
}

/// A block of LZ4 of this size.
#[cfg(feature = "parquet")]
pub(super) fn lz4(bytes: &[u8], size: usize) -> Result<Vec<u8>> {
    let mut out = vec![0; size];
    match lz4_flex::block::decompress_into(bytes, &mut out) {
        Ok(found) if found == size => Ok(out),
        Ok(found) => Err(damaged(&format!(
            "a block of {found} bytes, expected {size}"
        ))),
        Err(e) => Err(damaged(&e.to_string())),
    }
}

#[cfg(not(feature = "parquet"))]
pub(super) fn zstd(_: &[u8], _: usize) -> Result<Vec<u8>> {
    Err(without("zstd"))
}

#[cfg(not(feature = "parquet"))]
pub(super) fn lz4(_: &[u8], _: usize) -> Result<Vec<u8>> {
    Err(without("lz4"))
}

#[cfg(not(feature = "parquet"))]
fn without(codec: &str) -> Error {
    Error::request(format!("this build of zipfold does not unpack {codec}"))
        .remedy("a build with the feature `parquet`, or chunks packed by gzip")
}

/// The bytes of a zlib stream.
pub(super) fn zlib(bytes: &[u8], most: usize) -> Result<Vec<u8>> {
    all(flate2::read::ZlibDecoder::new(bytes), most)
}

/// All bytes that `reader` gives, no further than one beyond `most`.
pub(super) fn all(reader: impl Read, most: usize) -> Result<Vec<u8>> {
    let mut out = vec![];
    let read = reader.take(most as u64 + 1).read_to_end(&mut out);
    read.map_err(|e| damaged(&e.to_string()))?;
    Ok(out)
}

/// The refusal of bytes that do not unpack.
pub(super) fn damaged(what: &str) -> Error {
    Error::input(format!("a chunk is damaged: {what}")).remedy("make the array again")
}
