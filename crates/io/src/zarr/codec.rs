//! The codecs of chunks.

use super::blosc;
use super::unpack::{all, zlib, zstd};
use serde_json::Value;
use zipfold_core::Result;

/// What bytes of a chunk went through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkCodec {
    Gzip,
    Zlib,
    Zstd,
    Blosc,
}

impl ChunkCodec {
    /// The ones that are read.
    pub(super) const KNOWN: &str = "bytes, gzip, zlib, zstd, blosc";
    /// The codec of this name.
    pub(super) fn named(name: &Value) -> Option<ChunkCodec> {
        Some(match name.as_str()? {
            "gzip" => ChunkCodec::Gzip,
            "zlib" => ChunkCodec::Zlib,
            "zstd" => ChunkCodec::Zstd,
            "blosc" => ChunkCodec::Blosc,
            _ => return None,
        })
    }
    /// What `bytes` unpack to: no further than one byte beyond `most`.
    ///
    /// # Errors
    /// `Input` for damaged bytes; `Request` for inner codecs that are not read.
    pub(super) fn unpacked(self, bytes: Vec<u8>, most: usize) -> Result<Vec<u8>> {
        match self {
            ChunkCodec::Gzip => all(flate2::read::MultiGzDecoder::new(&bytes[..]), most),
            ChunkCodec::Zlib => zlib(&bytes, most),
            ChunkCodec::Zstd => zstd(&bytes, most),
            ChunkCodec::Blosc => blosc::unpacked(&bytes, most),
        }
    }
}
