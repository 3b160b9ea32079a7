//! A hash of numbers at the speed of memory: it tells data apart that differ by accident, not by an adversary's hand.

use crate::table::{Elements, Table};

/// Odd constants of the four lanes (digits of π).
const LANE: [u64; 4] = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345, 0xa409_3822_299f_31d1, 0x082e_fa98_ec4e_6c89];

/// Other constants, with which no lane begins: a product with a zero would forget what came before it.
const MIX: [u64; 4] = [0x4528_21e6_38d0_1377, 0xbe54_66cf_34e9_0c6c, 0xc0ac_29b7_c97c_50dd, 0x3f84_d5b5_b547_0917];

/// A hash under construction. What is added in two calls differs from the same in one.
#[derive(Clone, Copy, Debug)]
pub struct Hash([u64; 4]);

impl Default for Hash {
    fn default() -> Self {
        Hash(LANE)
    }
}

/// Both halves of the product, folded.
#[inline(always)]
fn mixed(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl Hash {
    #[inline(always)]
    fn block(&mut self, w: [u64; 8]) {
        for (k, lane) in self.0.iter_mut().enumerate() {
            *lane = mixed(w[2 * k] ^ MIX[k], w[2 * k + 1] ^ *lane);
        }
    }
    /// Mixes a word in.
    pub fn word(&mut self, word: u64) {
        self.0[0] = mixed(word ^ MIX[1], self.0[0] ^ MIX[2]);
        self.0.rotate_left(1);
    }
    /// Mixes a text in.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
    /// Mixes bytes in, and their number.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let word = |at: &[u8]| at.iter().rev().fold(0, |w, b| w << 8 | u64::from(*b));
        let blocks = bytes.chunks_exact(64);
        let rest = blocks.remainder();
        for block in blocks {
            let (words, _) = block.as_chunks::<8>();
            self.block(std::array::from_fn(|k| u64::from_le_bytes(words[k])));
        }
        rest.chunks(8).for_each(|w| self.word(word(w)));
        self.word(bytes.len() as u64);
    }
    /// Mixes numbers in by their bits, and how many they are.
    pub fn doubles(&mut self, items: &[f64]) {
        let (blocks, rest) = items.as_chunks::<8>();
        blocks.iter().for_each(|b| self.block(b.map(f64::to_bits)));
        rest.iter().for_each(|v| self.word(v.to_bits()));
        self.word(items.len() as u64);
    }
    /// Mixes numbers in by their bits, and how many they are.
    pub fn singles(&mut self, items: &[f32]) {
        let two = |a: f32, b: f32| u64::from(a.to_bits()) | u64::from(b.to_bits()) << 32;
        let (blocks, rest) = items.as_chunks::<16>();
        blocks.iter().for_each(|b| self.block(std::array::from_fn(|k| two(b[2 * k], b[2 * k + 1]))));
        rest.iter().for_each(|v| self.word(u64::from(v.to_bits())));
        self.word(items.len() as u64);
    }
    /// Mixes a table in: its shape, the type and bits of its elements, its names and what is beside it.
    pub fn table(&mut self, table: &Table) {
        self.word(table.rows() as u64);
        self.word(table.cols() as u64);
        match table.elements() {
            Elements::F32(items) => {
                self.word(4);
                self.singles(items);
            }
            Elements::F64(items) => {
                self.word(8);
                self.doubles(items);
            }
        }
        self.word(table.names().map_or(u64::MAX, |names| names.len() as u64));
        table.names().unwrap_or_default().iter().for_each(|name| self.text(name));
        match table.attributes() {
            Some(beside) => self.table(beside),
            None => self.word(0),
        }
        if let Some(words) = table.words() {
            (0..words.rows()).for_each(|at| self.text(words.get(at)));
            self.word(words.rows() as u64);
        }
    }
    /// The hash.
    pub fn finish(self) -> u64 {
        let [a, b, c, d] = self.0;
        mixed(mixed(a ^ MIX[3], b ^ MIX[0]) ^ c, mixed(c ^ MIX[1], d ^ MIX[2]) ^ a)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn of(add: impl Fn(&mut Hash)) -> u64 {
        let mut hash = Hash::default();
        add(&mut hash);
        hash.finish()
    }

    #[test]
    fn every_bit_length_and_place_counts() {
        for n in [0usize, 1, 7, 8, 9, 63, 64, 65, 200] {
            let mut seen = HashSet::new();
            let mut bytes = vec![0u8; n];
            assert!(seen.insert(of(|h| h.bytes(&bytes))));
            assert!(seen.insert(of(|h| h.bytes(&vec![0; n + 1]))));
            for at in 0..n * 8 {
                bytes[at / 8] ^= 1 << (at % 8);
                assert!(seen.insert(of(|h| h.bytes(&bytes))), "bit {at} of {n} bytes");
                bytes[at / 8] ^= 1 << (at % 8);
            }
        }
    }

    #[test]
    fn numbers_that_change_places_are_others() {
        for n in [2usize, 9, 40] {
            let items: Vec<f64> = (0..n).map(|v| v as f64).collect();
            let single: Vec<f32> = (0..n).map(|v| v as f32).collect();
            let (mut seen, mut small) = (HashSet::new(), HashSet::new());
            for a in 0..n {
                for b in a + 1..n {
                    let (mut other, mut less) = (items.clone(), single.clone());
                    other.swap(a, b);
                    less.swap(a, b);
                    assert!(seen.insert(of(|h| h.doubles(&other))) && small.insert(of(|h| h.singles(&less))));
                }
            }
        }
    }

    #[test]
    fn names_types_and_shapes_of_tables_count() {
        let table = |rows, cols| Table::f64(rows, cols, vec![1.0; 6]).unwrap();
        let names = |list: [&str; 2]| table(3, 2).with_names(list.map(String::from).to_vec()).unwrap();
        let beside = names(["a", "b"]).with_attributes(table(3, 2).with_names(vec!["c".into(), "d".into()]).unwrap());
        let all = [
            table(3, 2),
            table(2, 3),
            Table::f32(3, 2, vec![1.0; 6]).unwrap(),
            names(["a", "b"]),
            names(["b", "a"]),
            beside.unwrap(),
        ];
        let hashes: HashSet<u64> = all.iter().map(|t| of(|h| h.table(t))).collect();
        assert_eq!(hashes.len(), all.len());
    }
}
