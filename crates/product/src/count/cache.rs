//! What components came to, by what they are: two generations in bounded memory.

use super::hash::Map;

/// Bytes of an entry beyond its key, with its place in the map.
const EACH: usize = 72;

/// Values by key. A map that is half full becomes the old one, and the old one goes; what is found
/// there moves to the new one.
#[derive(Debug)]
pub(super) struct Cache<V> {
    new: Map<Box<[u8]>, V>,
    old: Map<Box<[u8]>, V>,
    bytes: [usize; 2],
    most: usize,
    /// Whether nothing was let go yet.
    pub whole: bool,
}

impl<V: Copy> Cache<V> {
    /// A cache of at most `most` bytes.
    pub(super) fn new(most: usize) -> Self {
        Cache {
            new: Map::default(),
            old: Map::default(),
            bytes: [0; 2],
            most: most / 2,
            whole: true,
        }
    }
    /// What is known for `key`.
    pub(super) fn get(&mut self, key: &[u8]) -> Option<V> {
        if let Some(found) = self.new.get(key) {
            return Some(*found);
        }
        let (key, found) = self.old.remove_entry(key)?;
        self.put(key, found);
        Some(found)
    }
    /// Keeps a value.
    pub(super) fn put(&mut self, key: Box<[u8]>, value: V) {
        self.bytes[0] += EACH + key.len();
        if self.bytes[0] > self.most {
            self.whole &= self.old.is_empty();
            self.old = std::mem::take(&mut self.new);
            self.bytes = [EACH + key.len(), self.bytes[0]];
        }
        self.new.insert(key, value);
    }
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        *self = Cache {
            whole: false,
            ..Cache::new(2 * self.most)
        };
    }
    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes[0] + self.bytes[1]
    }
}

/// Writes sorted numbers as differences, seven bits a byte.
pub(super) fn pack(numbers: &[u32], out: &mut Vec<u8>) {
    out.clear();
    let mut last = 0;
    for n in numbers {
        let mut left = n - last;
        last = *n;
        while left >= 128 {
            out.push(left as u8 | 128);
            left >>= 7;
        }
        out.push(left as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_keys_of_their_own() {
        let packed = |numbers: &[u32]| {
            let mut out = Vec::new();
            pack(numbers, &mut out);
            out
        };
        assert_eq!(packed(&[3, 3, 130, 400]), [3, 0, 127, 142, 2]);
        let all: [&[u32]; 5] = [&[], &[0], &[0, 0], &[128], &[0, 128]];
        let keys: std::collections::BTreeSet<Vec<u8>> = all.iter().map(|n| packed(n)).collect();
        assert_eq!(keys.len(), all.len());
    }

    #[test]
    fn a_full_cache_lets_the_oldest_go() {
        let mut cache = Cache::new(20 * (EACH + 1));
        let key = |n: u8| -> Box<[u8]> { Box::new([n]) };
        (0..15).for_each(|n| cache.put(key(n), n));
        // Ten fit half; what is read moves to the new half.
        assert_eq!((cache.get(&[2]), cache.get(&[14])), (Some(2), Some(14)));
        assert!(cache.whole && cache.bytes() <= 20 * (EACH + 1));
        (20..27).for_each(|n| cache.put(key(n), n));
        assert_eq!((cache.get(&[2]), cache.get(&[3])), (Some(2), None));
        assert!(!cache.whole);
    }
}
