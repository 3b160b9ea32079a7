//! A fast hash for keys of a few words: multiply and rotate, as in the Rust compiler (FxHash).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by that hash.
pub(super) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Mixer>>;

/// The hash of what was written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mixer(u64);

impl Mixer {
    fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|w| self.mix(u64::from_le_bytes(*w)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last) ^ (rest.len() as u64) << 56);
    }
    fn write_u32(&mut self, word: u32) {
        self.mix(u64::from(word));
    }
    fn write_u64(&mut self, word: u64) {
        self.mix(word);
    }
    fn write_usize(&mut self, word: usize) {
        self.mix(word as u64);
    }
    fn finish(&self) -> u64 {
        // The low bits of a product depend on low bits alone.
        self.0 ^ (self.0 >> 32)
    }
}
